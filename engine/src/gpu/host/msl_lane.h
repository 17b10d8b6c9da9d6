// The part of lanes.h that the run time shares with compiled kernels.
#ifndef MSL_LANE_H
#define MSL_LANE_H

#include <cstddef>

namespace msl {
struct uint3_t {
    unsigned x, y, z;
};
struct range { // a bound buffer
    void *pointer;
    size_t bytes;
};
struct lane { // what a lane can ask about
    uint3_t groups, group, threads, thread;
    unsigned index, count; // in the threadgroup
    const range *buffers;
    void *const *threadgroup;
};
typedef void (*resolve_fn)(void **lane_data); // for all 32 lanes, in lane order
typedef void (*entry_fn)(const lane &);
} // namespace msl

extern "C" {
void msl_meet(void *data, msl::resolve_fn, unsigned line); // a simdgroup operation of all 32 lanes
void msl_barrier(unsigned line);
void msl_simd_barrier(unsigned line);
void *msl_threadgroup_local(const void *key, size_t bytes, const char *name);
extern __attribute__((tls_model("initial-exec"))) thread_local unsigned msl_lane; // 0..31
void msl_register_kernel(const char *name, const char *file, msl::entry_fn, const short *codes,
                         const unsigned *sizes, unsigned count);
void msl_register_constant(const char *file, unsigned index, const char *name, unsigned *value);
}

#endif
