/* Counted memory: categories, peaks, and a budget that threads cannot pass together. */
#include "memory.h"

#include <pthread.h>
#include <stdbool.h>

#include "check.h"

enum { KV = UOCR_MEMORY_KV_CACHE, LOGITS = UOCR_MEMORY_LOGITS };

static uocr_memory_report report_of(const uocr_memory *memory) {
    uocr_memory_report report = {.size = sizeof report};
    uocr_memory_report_fill(memory, &report);
    return report;
}

static void sizes_are_rounded_up_to_128_bytes(void) {
    CHECK_EQUAL(uocr_memory_rounded(0), 128);
    CHECK_EQUAL(uocr_memory_rounded(1), 128);
    CHECK_EQUAL(uocr_memory_rounded(128), 128);
    CHECK_EQUAL(uocr_memory_rounded(129), 256);
    CHECK(uocr_memory_rounded(SIZE_MAX) > SIZE_MAX - 128);
    CHECK(uocr_memory_rounded(SIZE_MAX - 126) > SIZE_MAX - 128);
}

static void blocks_are_zeroed_and_aligned(void) {
    uocr_memory memory = {.budget = 1 << 20};
    for (size_t bytes = 0; bytes < 2000; bytes += 111) {
        uint8_t *block = uocr_memory_alloc(&memory, KV, bytes);
        CHECK(block != NULL && (uintptr_t)block % 128 == 0);
        bool zero = true;
        for (size_t i = 0; i < uocr_memory_rounded(bytes); i++) zero &= block[i] == 0;
        CHECK(zero);
        memset(block, 0xFF, uocr_memory_rounded(bytes));
        uocr_memory_free(&memory, KV, block, bytes);
    }
    CHECK_EQUAL(report_of(&memory).current_total, 0);
}

static void each_category_has_its_own_current_and_peak(void) {
    uocr_memory memory = {.budget = 10000};
    void *kv = uocr_memory_alloc(&memory, KV, 1000); /* 1024 */
    void *logits = uocr_memory_alloc(&memory, LOGITS, 256);
    uocr_memory_free(&memory, KV, kv, 1000);
    uocr_memory_report report = report_of(&memory);
    CHECK_EQUAL(report.current[KV], 0);
    CHECK_EQUAL(report.peak[KV], 1024);
    CHECK_EQUAL(report.current[LOGITS], 256);
    CHECK_EQUAL(report.peak[LOGITS], 256);
    CHECK_EQUAL(report.current_total, 256);
    CHECK_EQUAL(report.peak_total, 1280);
    CHECK_EQUAL(report.budget, 10000);

    uocr_memory_reset_peaks(&memory);
    report = report_of(&memory);
    CHECK_EQUAL(report.peak[KV], 0);
    CHECK_EQUAL(report.peak[LOGITS], 256);
    CHECK_EQUAL(report.peak_total, 256);
    uocr_memory_free(&memory, LOGITS, logits, 256);
}

static void what_is_over_budget_is_refused_and_leaves_no_trace(void) {
    uocr_memory memory = {.budget = 1024};
    void *half = uocr_memory_alloc(&memory, KV, 512);
    CHECK(half != NULL);
    CHECK(uocr_memory_alloc(&memory, LOGITS, 513) == NULL);
    CHECK(uocr_memory_alloc(&memory, LOGITS, SIZE_MAX) == NULL);
    uocr_memory_report report = report_of(&memory);
    CHECK_EQUAL(report.peak_total, 512);
    CHECK_EQUAL(report.peak[LOGITS], 0);
    void *rest = uocr_memory_alloc(&memory, LOGITS, 512);
    CHECK(rest != NULL);
    uocr_memory_free(&memory, KV, half, 512);
    uocr_memory_free(&memory, LOGITS, rest, 512);
    uocr_memory_free(&memory, LOGITS, NULL, 512); /* nothing to free, nothing counted */
    CHECK_EQUAL(report_of(&memory).current_total, 0);
}

static void mapped_views_take_from_the_budget(void) {
    uocr_memory memory = {.budget = 4096};
    uocr_memory_count(&memory, UOCR_MEMORY_MODEL, 4000);
    CHECK(uocr_memory_alloc(&memory, KV, 128) == NULL);
    CHECK_EQUAL(report_of(&memory).current[UOCR_MEMORY_MODEL], 4000);
    uocr_memory_uncount(&memory, UOCR_MEMORY_MODEL, 4000);
    CHECK_EQUAL(report_of(&memory).current_total, 0);
    CHECK_EQUAL(report_of(&memory).peak_total, 4000);

    uocr_memory_count(&memory, UOCR_MEMORY_MODEL, 5000); /* more than the budget: nothing fits beside it */
    CHECK(uocr_memory_alloc(&memory, KV, 1) == NULL);
}

enum { THREADS = 8, ROUNDS = 2000, BLOCK = 1024, BLOCKS_THAT_FIT = 5 };

static void *allocate_and_free(void *argument) {
    uocr_memory *memory = argument;
    for (int i = 0; i < ROUNDS; i++) {
        void *block = uocr_memory_alloc(memory, LOGITS, BLOCK);
        uocr_memory_free(memory, LOGITS, block, BLOCK);
    }
    return NULL;
}

static void threads_together_stay_within_the_budget(void) {
    uocr_memory memory = {.budget = BLOCKS_THAT_FIT * BLOCK};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, allocate_and_free, &memory);
    for (int i = 0; i < 1000; i++) CHECK(report_of(&memory).current_total <= memory.budget);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    uocr_memory_report report = report_of(&memory);
    CHECK(report.peak_total <= memory.budget && report.peak_total >= BLOCK);
    CHECK_EQUAL(report.current_total, 0);
    CHECK_EQUAL(report.current[LOGITS], 0);
}

int main(void) {
    sizes_are_rounded_up_to_128_bytes();
    blocks_are_zeroed_and_aligned();
    each_category_has_its_own_current_and_peak();
    what_is_over_budget_is_refused_and_leaves_no_trace();
    mapped_views_take_from_the_budget();
    threads_together_stay_within_the_budget();
    return check_result();
}
