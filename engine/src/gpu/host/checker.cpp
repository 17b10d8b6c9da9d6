// Checker mode. Kernels are compiled with clang's thread-sanitizer instrumentation, whose hooks are ours:
// every load and store of a lane comes here before it happens.
//
// Every byte of a bound buffer and of threadgroup memory has two shadow cells, its last reader and its last
// writer: threadgroup, threadgroup barriers passed, simdgroup barriers passed, lane. Two accesses of which
// one writes are ordered when a barrier lies between them; otherwise they race, whatever order this run
// happened to take:
//   different threadgroups            never ordered within one launch
//   same threadgroup, other epoch     ordered by a threadgroup_barrier
//   same simdgroup, other simd epoch  ordered by a simdgroup_barrier
// Bytes of different threadgroups' loads are counted once each: what a cache per threadgroup would fetch.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "machine.h"

namespace msl {
namespace {

struct region {
    uintptr_t first, last;
    std::string name;
    int buffer; // -1: threadgroup memory
    std::vector<uint64_t> reader, writer;
    std::vector<uint8_t> filled;
};

constexpr size_t guard_bytes = 1 << 16; // past a buffer, within which an access is told as out of bounds
std::vector<std::unique_ptr<region>> regions;
size_t buffer_regions;
region *latest;
std::string reports;
int report_count;
msl_counts counted;

uint64_t cell(const machine &m) {
    return (uint64_t)(m.group_number + 1) << 40 | (uint64_t)(m.barrier_epoch & 0xffff) << 24 |
           (uint64_t)(m.fibers[m.current].simd_epoch & 0xfff) << 12 | (uint64_t)(m.current + 1);
}

bool races(const machine &m, uint64_t other, bool is_buffer) {
    if (!other) return false;
    uint64_t group = other >> 40, epoch = other >> 24 & 0xffff, simd_epoch = other >> 12 & 0xfff;
    int lane = (int)(other & 0xfff) - 1;
    if (group != m.group_number + 1) return is_buffer;
    if (lane == m.current || epoch != (m.barrier_epoch & 0xffff)) return false;
    return lane / 32 != m.current / 32 || simd_epoch == (m.fibers[m.current].simd_epoch & 0xfff);
}

void report(machine &m, const char *what, const std::string &where, size_t offset, void *pc, uint64_t other) {
    if (++report_count > 8) return;
    Dl_info info = {};
    dladdr(pc, &info);
    char text[400], with[40] = "";
    if (other) snprintf(with, sizeof with, " with lane %d", (int)(other & 0xfff) - 1);
    snprintf(text, sizeof text, "%s%s: %s+%zu, lane %d%s, threadgroup %u, code +0x%zx",
             reports.empty() ? "" : "; ", what, where.c_str(), offset, m.current, with, m.group_number,
             (size_t)((char *)pc - (char *)info.dli_fbase) - 1);
    reports += text;
}

region *region_at(uintptr_t a) {
    if (latest && a >= latest->first && a < latest->last) return latest;
    for (auto &r : regions)
        if (a >= r->first && a < r->last) return latest = r.get();
    return nullptr;
}

// Near a region, or inside threadgroup memory but between its parts.
const region *neighbour(const machine &m, uintptr_t a) {
    const region *near = nullptr;
    uintptr_t memory = (uintptr_t)m.memory, best = guard_bytes;
    for (auto &r : regions) {
        uintptr_t distance = a < r->first ? r->first - a : a - r->last;
        if (distance < best) best = distance, near = r.get();
    }
    return near && (near->buffer >= 0 || (a >= memory && a < memory + machine::memory_bytes)) ? near
                                                                                              : nullptr;
}

void access(uintptr_t a, size_t n, bool write, bool aligned, void *pc) {
    machine *m = this_machine();
    if (!m || m->current < 0) return;
    uintptr_t stacks = (uintptr_t)m->stacks;
    if (a >= stacks && a < stacks + MSL_LANES * machine::stack_bytes) {
        if ((int)((a - stacks) / machine::stack_bytes) != m->current)
            report(*m, "access to another lane's variables", "stack", 0, pc, 0);
        return;
    }
    region *r = region_at(a);
    if (!r || a + n > r->last) {
        const region *near = r ? r : neighbour(*m, a);
        if (!near) return; // constants of the program
        report(*m, write ? "OUT OF BOUNDS store" : "OUT OF BOUNDS load", near->name, a - near->first, pc, 0);
        m->fail("the kernel was stopped", 0);
        m->abandon();
    }
    if (aligned && n > 1 && a % n) report(*m, "MISALIGNED access", r->name, a - r->first, pc, 0);
    uint64_t me = cell(*m), group = me >> 40;
    for (size_t i = a - r->first, end = i + n; i < end; i++) {
        uint64_t &writer = r->writer[i], &reader = r->reader[i];
        if (races(*m, writer, r->buffer >= 0)) {
            report(*m, write ? "RACE: store after store" : "RACE: load after store", r->name, i, pc, writer);
            writer = 0;
            return;
        }
        if (write) {
            if (races(*m, reader, r->buffer >= 0)) {
                report(*m, "RACE: store after load", r->name, i, pc, reader);
                reader = 0;
                return;
            }
            if (r->buffer >= 0 && writer >> 40 != group) counted.stored++;
            writer = me;
            r->filled[i] = 1;
        } else {
            if (!r->filled[i]) {
                report(*m, "UNINITIALISED threadgroup memory", r->name, i, pc, 0);
                r->filled[i] = 1;
                return;
            }
            if (r->buffer >= 0 && reader >> 40 != group) counted.loaded++, counted.loaded_from[r->buffer]++;
            reader = me;
        }
    }
}

void add(void *pointer, size_t bytes, const char *name, int buffer) {
    auto r = std::make_unique<region>();
    r->first = (uintptr_t)pointer, r->last = r->first + bytes, r->name = name, r->buffer = buffer;
    r->reader.assign(bytes, 0), r->writer.assign(bytes, 0), r->filled.assign(bytes, buffer >= 0);
    regions.push_back(std::move(r));
    latest = nullptr;
}

} // namespace

// Two bindings of one buffer that overlap become one region, so that races between them are seen.
void check_begin(const msl_request &request) {
    regions.clear();
    latest = nullptr;
    reports.clear();
    report_count = 0;
    counted = {};
    for (int i = 0; i < MSL_BUFFERS; i++) {
        const msl_buffer &b = request.buffer[i];
        if (!b.pointer || !b.bytes) continue;
        uintptr_t first = (uintptr_t)b.pointer, last = first + b.bytes;
        std::string name = "buffer(" + std::to_string(i) + ")";
        int buffer = i;
        for (size_t j = 0; j < regions.size();) {
            region &r = *regions[j];
            if (first >= r.last || last <= r.first) {
                j++;
                continue;
            }
            if (r.first < first) first = r.first;
            if (r.last > last) last = r.last;
            name = r.name + "/" + name;
            buffer = r.buffer;
            regions.erase(regions.begin() + (long)j);
            j = 0;
        }
        add((void *)first, last - first, name.c_str(), buffer);
    }
    buffer_regions = regions.size();
}

void check_group() {
    regions.resize(buffer_regions);
    latest = nullptr;
}
void check_memory(void *pointer, size_t bytes, const char *name) { add(pointer, bytes, name, -1); }
void check_end(msl_counts *counts, std::string *out) {
    size_t peak = counts->threadgroup_bytes;
    *counts = counted;
    counts->threadgroup_bytes = peak;
    *out = reports;
    if (report_count > 8) *out += "; and more";
    regions.clear();
    latest = nullptr;
}

} // namespace msl

#define HERE __builtin_return_address(0)
#define HOOKS(n)                                                                                             \
    void __tsan_read##n(void *a) { msl::access((uintptr_t)a, n, false, true, HERE); }                        \
    void __tsan_write##n(void *a) { msl::access((uintptr_t)a, n, true, true, HERE); }                        \
    void __tsan_unaligned_read##n(void *a) { msl::access((uintptr_t)a, n, false, false, HERE); }             \
    void __tsan_unaligned_write##n(void *a) { msl::access((uintptr_t)a, n, true, false, HERE); }             \
    void __tsan_read_write##n(void *a) {                                                                     \
        msl::access((uintptr_t)a, n, false, true, HERE);                                                     \
        msl::access((uintptr_t)a, n, true, true, HERE);                                                      \
    }                                                                                                        \
    void __tsan_unaligned_read_write##n(void *a) {                                                           \
        msl::access((uintptr_t)a, n, false, false, HERE);                                                    \
        msl::access((uintptr_t)a, n, true, false, HERE);                                                     \
    }
extern "C" {
int msl_checks(void) { return 1; }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16) void __tsan_read_range(void *a, unsigned long n) {
    msl::access((uintptr_t)a, n, false, false, HERE);
}
void __tsan_write_range(void *a, unsigned long n) { msl::access((uintptr_t)a, n, true, false, HERE); }
void *__tsan_memcpy(void *to, const void *from, size_t n) {
    msl::access((uintptr_t)from, n, false, false, HERE);
    msl::access((uintptr_t)to, n, true, false, HERE);
    return memcpy(to, from, n);
}
void *__tsan_memset(void *to, int value, size_t n) {
    msl::access((uintptr_t)to, n, true, false, HERE);
    return memset(to, value, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n) {
    msl::access((uintptr_t)from, n, false, false, HERE);
    msl::access((uintptr_t)to, n, true, false, HERE);
    return memmove(to, from, n);
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
}
