/* What a compiled library of kernels offers to the host device (device_host.c), which loads it at run time.
 *
 * The library is made by kernel_library.py from metal/ *.metal: fast, or with the checker. */
#ifndef UOCR_SRC_GPU_HOST_LIBRARY_H
#define UOCR_SRC_GPU_HOST_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MSL_BUFFERS = 31, MSL_THREADGROUPS = 8, MSL_LANES = 1024, MSL_THREADGROUP_BYTES = 32768 };
enum { MSL_FORWARD = 0, MSL_REVERSE, MSL_SHUFFLED, MSL_ORDERS }; /* in which lanes and simdgroups run */

typedef struct msl_buffer {
    void *pointer; /* NULL: not bound */
    size_t bytes;
} msl_buffer;

typedef struct msl_request {
    const char *kernel;
    const uint32_t *constants; /* value of function constant i */
    uint32_t constant_count;
    uint32_t groups[3], threads[3];
    msl_buffer buffer[MSL_BUFFERS];
    size_t threadgroup[MSL_THREADGROUPS]; /* bytes of each threadgroup argument */
    uint32_t order;                       /* MSL_FORWARD.. */
    uint32_t workers;                     /* host threads; the checker uses one */
} msl_request;

typedef struct msl_counts {            /* of the last launch; loads and stores only with the checker */
    uint64_t loaded, stored;           /* bytes, each byte once a threadgroup */
    uint64_t loaded_from[MSL_BUFFERS]; /* the same by buffer */
    size_t threadgroup_bytes;          /* the most a threadgroup used */
} msl_counts;

/* NULL when all went well, else one sentence, valid until the next launch: the first error, or the checker's
 * reports. */
const char *msl_launch(const msl_request *, msl_counts *);
int msl_has_kernel(const char *name);
int msl_checks(void); /* 1: built with the checker */

#ifdef __cplusplus
}
#endif
#endif
