// One host thread that runs threadgroups: its fibers, its threadgroup memory, what its lanes wait for.
#ifndef MSL_MACHINE_H
#define MSL_MACHINE_H

#include <cstdint>
#include <string>
#include <vector>

#include "library.h"
#include "msl_lane.h"

namespace msl {

enum class waits : uint8_t { nothing, operation, simd_barrier, barrier, returned };

struct fiber {
    void *stack; // saved stack pointer
    waits state;
    unsigned line;
    void *data;
    resolve_fn resolve;
    lane self;
    unsigned simd_epoch; // simdgroup barriers passed: the checker's order within a simdgroup
};

struct local { // threadgroup memory handed out in the running threadgroup
    const void *key;
    void *pointer;
};

class machine {
  public:
    machine();
    ~machine();
    machine(const machine &) = delete;
    machine &operator=(const machine &) = delete;

    // Runs one threadgroup. False: `error` says why.
    bool run(const msl_request &, entry_fn, unsigned number, unsigned order);

    // Called by lanes.
    void meet(void *data, resolve_fn, unsigned line);
    void wait(waits, unsigned line);
    void *threadgroup_memory(const void *key, size_t bytes, const char *name);
    void fail(const char *what, unsigned line);
    [[noreturn]] void abandon(); // the running lane cannot go on
    [[noreturn]] void lane_main();

    std::string error;
    fiber fibers[MSL_LANES];
    int current = -1; // running lane
    unsigned group_number = 0, barrier_epoch = 0;
    char *stacks;
    static constexpr size_t stack_bytes = 128 << 10;
    char *memory; // threadgroup memory
    static constexpr size_t memory_bytes = 256 << 10;
    size_t peak = 0; // threadgroup bytes

  private:
    void place(const msl_request &, unsigned number, unsigned order);
    void prepare(int lane);
    void next();
    bool run_simdgroup(int first, int last);
    bool settle_barrier();

    entry_fn entry;
    void *scheduler;
    int lanes, simd_first, simd_last;
    int order_of[MSL_LANES], place_of[MSL_LANES], simd_order[MSL_LANES / 32];
    size_t memory_used, memory_counted;
    local locals[32];
    int local_count;
    uint64_t random = 88172645463325252ull;
};

machine *this_machine(); // of the calling host thread, NULL outside a launch
void use_machine(machine *);

// The checker; empty functions without it.
void check_begin(const msl_request &);
void check_group();                                        // a new threadgroup starts
void check_memory(void *, size_t bytes, const char *name); // threadgroup memory appears
void check_end(msl_counts *, std::string *reports);

} // namespace msl

#endif
