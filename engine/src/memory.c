/* See memory.h. */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 128 };

size_t uocr_memory_rounded(size_t bytes) {
    const size_t mask = ALIGNMENT - 1;
    if (bytes == 0) return ALIGNMENT; /* an empty buffer is still a block of its own */
    if (bytes > SIZE_MAX - mask)
        return SIZE_MAX & ~mask; /* no allocator grants it; never wraps to a small number */
    return (bytes + mask) & ~mask;
}

static void raise_peak(atomic_uint_fast64_t *peak, uint64_t value) {
    uint_fast64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (seen < value && !atomic_compare_exchange_weak_explicit(peak, &seen, value, memory_order_relaxed,
                                                                  memory_order_relaxed)) {}
}

static void subtract(atomic_uint_fast64_t *counter, uint64_t bytes) {
    uint_fast64_t before = atomic_fetch_sub_explicit(counter, bytes, memory_order_relaxed);
    assert(before >= bytes && "freed more than was allocated in this category");
    (void)before;
}

/* Takes `bytes` from the budget, or nothing. One compare-and-swap decides, so that threads that allocate at
 * the same time cannot pass the budget together. *total is the sum after the reservation. */
static int reserve(uocr_memory *memory, uint64_t bytes, uint64_t *total) {
    uint_fast64_t seen = atomic_load_explicit(&memory->current_total, memory_order_relaxed);
    do {
        if (seen > memory->budget || bytes > memory->budget - seen) return 0;
    } while (!atomic_compare_exchange_weak_explicit(&memory->current_total, &seen, seen + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    *total = seen + bytes;
    return 1;
}

static void count_category(uocr_memory *memory, uint32_t category, uint64_t bytes) {
    uint64_t now = atomic_fetch_add_explicit(&memory->current[category], bytes, memory_order_relaxed) + bytes;
    raise_peak(&memory->peak[category], now);
}

void *uocr_memory_alloc(uocr_memory *memory, uint32_t category, size_t bytes) {
    assert(category < UOCR_MEMORY_CATEGORIES);
    size_t rounded = uocr_memory_rounded(bytes);
    uint64_t total;
    if (!reserve(memory, rounded, &total)) return NULL;

    void *block = NULL;
    if (posix_memalign(&block, ALIGNMENT, rounded) != 0) {
        subtract(&memory->current_total, rounded);
        return NULL;
    }
    memset(block, 0, rounded);
    raise_peak(&memory->peak_total, total); /* only now: a refused block was never held */
    count_category(memory, category, rounded);
    return block;
}

void uocr_memory_free(uocr_memory *memory, uint32_t category, void *block, size_t bytes) {
    if (block == NULL) return;
    free(block);
    uocr_memory_uncount(memory, category, uocr_memory_rounded(bytes));
}

void uocr_memory_count(uocr_memory *memory, uint32_t category, uint64_t bytes) {
    assert(category < UOCR_MEMORY_CATEGORIES);
    uint64_t total = atomic_fetch_add_explicit(&memory->current_total, bytes, memory_order_relaxed) + bytes;
    raise_peak(&memory->peak_total, total);
    count_category(memory, category, bytes);
}

void uocr_memory_uncount(uocr_memory *memory, uint32_t category, uint64_t bytes) {
    assert(category < UOCR_MEMORY_CATEGORIES);
    subtract(&memory->current[category], bytes);
    subtract(&memory->current_total, bytes);
}

void uocr_memory_reset_peaks(uocr_memory *memory) {
    for (uint32_t i = 0; i < UOCR_MEMORY_CATEGORIES; i++)
        atomic_store_explicit(&memory->peak[i],
                              atomic_load_explicit(&memory->current[i], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&memory->peak_total,
                          atomic_load_explicit(&memory->current_total, memory_order_relaxed),
                          memory_order_relaxed);
}

void uocr_memory_report_fill(const uocr_memory *memory, uocr_memory_report *report) {
    for (uint32_t i = 0; i < UOCR_MEMORY_CATEGORIES; i++) {
        report->current[i] = atomic_load_explicit(&memory->current[i], memory_order_relaxed);
        report->peak[i] = atomic_load_explicit(&memory->peak[i], memory_order_relaxed);
    }
    report->current_total = atomic_load_explicit(&memory->current_total, memory_order_relaxed);
    report->peak_total = atomic_load_explicit(&memory->peak_total, memory_order_relaxed);
    report->budget = memory->budget;
    report->reserved = 0;
}
