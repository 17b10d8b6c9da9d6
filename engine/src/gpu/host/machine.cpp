// Fibers and threadgroups; see machine.h. x86-64 System V.
#include "machine.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

extern "C" void msl_switch(void **save, void *to);
asm(R"(
.text
.globl msl_switch
.type msl_switch,@function
msl_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size msl_switch,.-msl_switch
)");

thread_local unsigned msl_lane;

namespace msl {
namespace {
__attribute__((tls_model("initial-exec"))) thread_local machine *mine;
void enter_lane() { mine->lane_main(); }
} // namespace

machine *this_machine() { return mine; }
void use_machine(machine *m) { mine = m; }

static char *pages(size_t bytes) {
    void *p =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) abort();
    return (char *)p;
}

machine::machine() : stacks(pages(MSL_LANES * stack_bytes)), memory(pages(memory_bytes)) {}
machine::~machine() {
    munmap(stacks, MSL_LANES * stack_bytes);
    munmap(memory, memory_bytes);
}

void machine::fail(const char *what, unsigned line) {
    if (!error.empty()) return;
    char text[300];
    const fiber *f = current >= 0 ? &fibers[current] : nullptr;
    snprintf(text, sizeof text, "%s (line %u, lane %d, threadgroup %u)", what,
             line ? line
             : f  ? f->line
                  : 0,
             current, group_number);
    error = text;
}

// The running lane waits or is done: the next lane of the simdgroup that can run, else the scheduler.
void machine::next() {
    int from = current;
    for (int i = place_of[from] + 1; i < simd_last; i++) {
        int to = order_of[i];
        if (fibers[to].state != waits::nothing) continue;
        current = to;
        msl_lane = (unsigned)to % 32;
        msl_switch(&fibers[from].stack, fibers[to].stack);
        return;
    }
    current = -1;
    msl_switch(&fibers[from].stack, scheduler);
}

void machine::lane_main() {
    entry(fibers[current].self);
    fibers[current].state = waits::returned;
    next();
    abort();
}

void machine::abandon() {
    msl_switch(&fibers[current].stack, scheduler);
    abort();
}

void machine::meet(void *data, resolve_fn resolve, unsigned line) {
    fiber &f = fibers[current];
    f.data = data;
    f.resolve = resolve;
    wait(waits::operation, line);
}

void machine::wait(waits what, unsigned line) {
    fibers[current].state = what;
    fibers[current].line = line;
    next();
}

void *machine::threadgroup_memory(const void *key, size_t bytes, const char *name) {
    for (int i = 0; i < local_count; i++)
        if (locals[i].key == key) return locals[i].pointer;
    memory_used = (memory_used + 255) & ~(size_t)255;
    memory_counted += (bytes + 15) & ~(size_t)15;
    if (memory_counted > MSL_THREADGROUP_BYTES || local_count == 32 ||
        memory_used + bytes + 512 > memory_bytes) {
        fail("threadgroup memory exceeds 32768 bytes", 0);
        abandon();
    }
    void *p = memory + memory_used;
    memory_used += bytes + 256; // a gap that the checker watches
    locals[local_count++] = {key, p};
    memset(p, 0xff, bytes); // NaN in every type
    check_memory(p, bytes, name);
    if (memory_counted > peak) peak = memory_counted;
    return p;
}

void machine::prepare(int i) {
    // Stack tops differ from lane to lane, or they would fall on the same cache sets.
    uintptr_t top =
        ((uintptr_t)(stacks + (size_t)(i + 1) * stack_bytes) - (size_t)(i % 61) * 1088) & ~(uintptr_t)15;
    void **s = (void **)top;
    *--s = nullptr;
    *--s = (void *)enter_lane;
    for (int k = 0; k < 6; k++) *--s = nullptr;
    fibers[i].stack = s;
    fibers[i].state = waits::nothing;
    fibers[i].simd_epoch = 0;
    fibers[i].line = 0;
}

void machine::place(const msl_request &request, unsigned number, unsigned order) {
    const uint32_t *t = request.threads, *g = request.groups;
    int simdgroups = (lanes + 31) / 32;
    for (int i = 0; i < lanes; i++) {
        lane &self = fibers[i].self;
        self.groups = {g[0], g[1], g[2]};
        self.group = {number % g[0], number / g[0] % g[1], number / g[0] / g[1]};
        self.threads = {t[0], t[1], t[2]};
        self.thread = {(unsigned)i % t[0], (unsigned)i / t[0] % t[1], (unsigned)i / t[0] / t[1]};
        self.index = (unsigned)i;
        self.count = (unsigned)lanes;
        order_of[i] = i;
        prepare(i);
    }
    for (int s = 0; s < simdgroups; s++) simd_order[s] = order == MSL_FORWARD ? s : simdgroups - 1 - s;
    for (int s = 0; s < simdgroups; s++) {
        int first = s * 32, last = first + 32;
        for (int i = first; i < last && order == MSL_REVERSE; i++) order_of[i] = last - 1 - (i - first);
        for (int i = last - 1; i > first && order == MSL_SHUFFLED; i--) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            std::swap(order_of[i], order_of[first + (int)(random % (uint64_t)(i - first + 1))]);
        }
        for (int i = first; i < last; i++) place_of[order_of[i]] = i;
    }
}

// Runs the simdgroup until every lane waits at a threadgroup barrier or has returned.
bool machine::run_simdgroup(int first, int last) {
    simd_first = first, simd_last = last;
    for (;;) {
        for (int i = first; i < last; i++) {
            int lane = order_of[i];
            if (fibers[lane].state != waits::nothing) continue;
            current = lane;
            msl_lane = (unsigned)lane % 32;
            msl_switch(&scheduler, fibers[lane].stack);
            break;
        }
        if (!error.empty()) return false;
        int waiting = -1, at_barrier = 0, returned = 0;
        bool mixed = false;
        void *data[32];
        for (int i = first; i < last; i++) {
            const fiber &f = fibers[i];
            if (f.state == waits::barrier) at_barrier++;
            else if (f.state == waits::returned) returned++;
            else {
                if (waiting < 0) waiting = i;
                const fiber &w = fibers[waiting];
                mixed |= f.state != w.state || f.line != w.line ||
                         (f.state == waits::operation && f.resolve != w.resolve);
                data[i - first] = f.data;
            }
        }
        if (waiting < 0) {
            if (at_barrier && returned) {
                fail("threadgroup_barrier after some lanes of the simdgroup returned", 0);
                return false;
            }
            return true;
        }
        current = waiting;
        if (mixed) fail("simdgroup diverged: lanes wait at different operations", 0);
        else if (at_barrier)
            fail("simdgroup diverged: some lanes at a threadgroup_barrier, others at a simdgroup operation",
                 0);
        else if (returned) fail("simdgroup operation after some lanes of the simdgroup returned", 0);
        else if (fibers[waiting].state == waits::operation) {
            current = -1; // the checker does not look at what the operation itself reads
            fibers[waiting].resolve(data);
        }
        if (!error.empty()) return false;
        for (int i = first; i < last; i++) {
            if (fibers[i].state == waits::simd_barrier) fibers[i].simd_epoch++;
            fibers[i].state = waits::nothing;
        }
        current = -1;
    }
}

// All lanes wait at one threadgroup barrier: they go on. None does: the threadgroup is done (false).
bool machine::settle_barrier() {
    int first = -1, waiting = 0;
    for (int i = 0; i < lanes; i++) {
        if (fibers[i].state != waits::barrier) continue;
        if (first < 0) first = i;
        waiting++;
        if (fibers[i].line != fibers[first].line) {
            current = i;
            fail("lanes wait at different threadgroup_barriers", 0);
            return false;
        }
    }
    if (!waiting) return false;
    if (waiting < lanes) {
        current = first;
        fail("threadgroup_barrier not reached by all threads", 0);
        return false;
    }
    barrier_epoch++;
    for (int i = 0; i < lanes; i++) fibers[i].state = waits::nothing;
    return true;
}

bool machine::run(const msl_request &request, entry_fn kernel, unsigned number, unsigned order) {
    static const char argument_key[MSL_THREADGROUPS] = {};
    static const char *const argument_name[MSL_THREADGROUPS] = {
        "threadgroup(0)", "threadgroup(1)", "threadgroup(2)", "threadgroup(3)",
        "threadgroup(4)", "threadgroup(5)", "threadgroup(6)", "threadgroup(7)"};
    range buffers[MSL_BUFFERS];
    void *arguments[MSL_THREADGROUPS] = {};
    entry = kernel;
    lanes = (int)(request.threads[0] * request.threads[1] * request.threads[2]);
    group_number = number;
    barrier_epoch = 0;
    memory_used = 256, memory_counted = 0, local_count = 0;
    error.clear();
    check_group();
    for (int i = 0; i < MSL_THREADGROUPS; i++) {
        if (!request.threadgroup[i]) continue;
        if (memory_counted + request.threadgroup[i] > MSL_THREADGROUP_BYTES) {
            fail("threadgroup memory exceeds 32768 bytes", 0);
            return false;
        }
        arguments[i] = threadgroup_memory(&argument_key[i], request.threadgroup[i], argument_name[i]);
    }
    for (int i = 0; i < MSL_BUFFERS; i++) buffers[i] = {request.buffer[i].pointer, request.buffer[i].bytes};
    place(request, number, order);
    for (int i = 0; i < lanes; i++) {
        fibers[i].self.buffers = buffers;
        fibers[i].self.threadgroup = arguments;
    }
    do {
        for (int s = 0; s < lanes / 32; s++)
            if (!run_simdgroup(simd_order[s] * 32, simd_order[s] * 32 + 32)) return false;
    } while (settle_barrier());
    current = -1;
    return error.empty();
}

} // namespace msl

extern "C" void msl_meet(void *data, msl::resolve_fn resolve, unsigned line) {
    msl::this_machine()->meet(data, resolve, line);
}
extern "C" void msl_barrier(unsigned line) { msl::this_machine()->wait(msl::waits::barrier, line); }
extern "C" void msl_simd_barrier(unsigned line) { msl::this_machine()->wait(msl::waits::simd_barrier, line); }
extern "C" void *msl_threadgroup_local(const void *key, size_t bytes, const char *name) {
    return msl::this_machine()->threadgroup_memory(key, bytes, name);
}
