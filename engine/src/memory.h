/* All heap of the engine, counted by category against one budget.
 *
 * A uocr_memory belongs to an engine. Counters are atomics: reports may be read from any thread while a run allocates.
 * Every block is 128-byte aligned (vector loads, device copies) and zeroed. */
#ifndef UOCR_SRC_MEMORY_H
#define UOCR_SRC_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "uocr.h"

typedef struct uocr_memory {
    atomic_uint_fast64_t current[UOCR_MEMORY_CATEGORIES];
    atomic_uint_fast64_t peak[UOCR_MEMORY_CATEGORIES];
    atomic_uint_fast64_t current_total, peak_total;
    uint64_t budget; /* bytes, everything included */
} uocr_memory;

/* What uocr_memory_alloc takes from the budget for a request: the size rounded up to 128 bytes. The estimate uses the
 * same function, so that promise and allocation cannot differ. */
size_t uocr_memory_rounded(size_t bytes);

void *uocr_memory_alloc(uocr_memory *, uint32_t category, size_t bytes); /* NULL: over budget or out of memory */
void uocr_memory_free(uocr_memory *, uint32_t category, void *block, size_t bytes); /* the size that was asked for */

/* Memory that is not on the heap (views of the mapped file). */
void uocr_memory_count(uocr_memory *, uint32_t category, uint64_t bytes);
void uocr_memory_uncount(uocr_memory *, uint32_t category, uint64_t bytes);

void uocr_memory_reset_peaks(uocr_memory *);
void uocr_memory_report_fill(const uocr_memory *, uocr_memory_report *);

#endif
