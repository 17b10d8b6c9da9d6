/* The loop verdict: when it comes, to the step, and when it must not. */
#include "loop.h"

#include "check.h"

static uocr_memory memory = {.budget = UINT64_MAX};

/* The first step, counted from 1, at which the verdict falls; 0 if it never does. */
static unsigned verdict_on_ids(uint32_t history, uint32_t period_max, unsigned steps,
                               int32_t (*id)(unsigned step)) {
    uocr_loop_options options = {.history = history, .period_max = period_max};
    uocr_loop *loop = uocr_loop_create(&memory, &options);
    unsigned verdict = 0;
    for (unsigned step = 0; step < steps && verdict == 0; step++)
        if (uocr_loop_step(loop, id(step), false)) verdict = step + 1;
    uocr_loop_destroy(&memory, loop);
    return verdict;
}

static unsigned verdict_on_guard(uint32_t history, uint32_t hits, unsigned steps,
                                 bool (*acted)(unsigned step)) {
    uocr_loop_options options = {.guarded = true, .history = history, .hits = hits};
    uocr_loop *loop = uocr_loop_create(&memory, &options);
    unsigned verdict = 0;
    for (unsigned step = 0; step < steps && verdict == 0; step++)
        if (uocr_loop_step(loop, 5, acted(step))) verdict = step + 1;
    uocr_loop_destroy(&memory, loop);
    return verdict;
}

static int32_t same(unsigned step) { return (void)step, 7; }
static int32_t period_94(unsigned step) { return (int32_t)(step % 94); }
static int32_t period_95(unsigned step) { return (int32_t)(step % 95); }
static int32_t all_different(unsigned step) { return (int32_t)step; }
static int32_t text_then_period_10(unsigned step) { return (int32_t)(step < 400 ? step + 100 : step % 10); }
static int32_t broken_every_200(unsigned step) { return step % 200 == 199 ? 1000 + (int32_t)step : 7; }
static int32_t period_990(unsigned step) { return (int32_t)(step % 990); }

static void ids_that_repeat_for_the_whole_history_are_a_loop(void) {
    /* Each of the last 256 ids equals the one a period before: one period and 256 ids. */
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, same), 257);
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, period_94), 94 + 256);
    CHECK_EQUAL(verdict_on_ids(256, 990, 2000, period_990), 990 + 256);
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, text_then_period_10), 400 + 10 + 256);
    CHECK_EQUAL(verdict_on_ids(4, 2, 2000, same), 5);
}

static void ids_that_do_not_are_none(void) {
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, period_95), 0);
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, all_different), 0);
    CHECK_EQUAL(verdict_on_ids(256, 94, 2000, broken_every_200), 0);
    CHECK_EQUAL(verdict_on_ids(256, 989, 3000, period_990), 0);
}

static bool always(unsigned step) { return (void)step, true; }
static bool never(unsigned step) { return (void)step, false; }
static bool every_32(unsigned step) { return step % 32 == 31; }
static bool every_37(unsigned step) { return step % 37 == 36; }
static bool seven_and_one_late(unsigned step) { return step < 7 || step == 256; }
static bool seven_and_one_in_time(unsigned step) { return step < 7 || step == 255; }

static void a_guard_that_acts_often_enough_is_a_loop(void) {
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, always), 8);
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, every_32), 256);
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, seven_and_one_in_time), 256);
    CHECK_EQUAL(verdict_on_guard(1, 1, 2000, always), 1);
}

static void a_guard_that_acts_less_often_is_none(void) {
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, never), 0); /* the ids repeat, the guard decides */
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, every_37), 0);
    CHECK_EQUAL(verdict_on_guard(256, 8, 2000, seven_and_one_late), 0); /* the first has left the history */
}

static void it_holds_the_memory_it_announced(void) {
    static const uocr_loop_options options[] = {{true, 256, 8, 0}, {false, 256, 0, 94}, {false, 256, 0, 990}};
    for (size_t i = 0; i < 3; i++) {
        uocr_memory counted = {.budget = UINT64_MAX};
        uocr_loop *loop = uocr_loop_create(&counted, &options[i]);
        CHECK_EQUAL(counted.current[UOCR_MEMORY_TRANSIENT], uocr_loop_bytes(&options[i]));
        uocr_loop_destroy(&counted, loop);
        CHECK_EQUAL(counted.current_total, 0);
    }
    uocr_memory small = {.budget = 128};
    CHECK(uocr_loop_create(&small, &options[2]) == NULL);
    uocr_loop_destroy(&small, NULL);
}

int main(void) {
    ids_that_repeat_for_the_whole_history_are_a_loop();
    ids_that_do_not_are_none();
    a_guard_that_acts_often_enough_is_a_loop();
    a_guard_that_acts_less_often_is_none();
    it_holds_the_memory_it_announced();
    CHECK_EQUAL(memory.current_total, 0);
    return check_result();
}
