/* Tokens that the back end chooses by itself against those that the host chooses: the same run both ways. Looking at
 * the logits is what makes a run take the ordinary way. */
#include "run_support.h"

#include <stdbool.h>

#include "engine.h"
#include "gpu/device_host.h"
#include "gpu/gpu.h"
#include "uocr_inspect.h"

enum { MOST = 512, MOST_BANS = 64 };

static char lively[64], constant[64], ending[64]; /* as in tests/engine/test_run_tokens.c */
static int32_t ids[TINY_PROMPT];

/* ---- what the device did ---- */

static struct {
    uint32_t appended;  /* choices that went into the device's history */
    uint32_t chosen;    /* choices in all */
    uint32_t countdown; /* dispatches until the run below is cancelled, 0: it is not */
    uocr_run *run;
} seen;

static void observe(void *unused, const gpu_dispatch *dispatch, const msl_counts *counts) {
    (void)unused, (void)counts;
    seen.appended += strcmp(dispatch->kernel, "history_append") == 0;
    seen.chosen += strcmp(dispatch->kernel, "choose_merge") == 0;
    if (seen.countdown && --seen.countdown == 0) uocr_run_cancel(seen.run);
}

static uocr_engine *open_watched(const char *path) {
    uocr_engine *engine = tiny_open(path, UOCR_PRECISION_FAST, 1);
    CHECK(strcmp(engine->backend->name, "host") == 0);
    gpu_host_observe(gpu_of(engine->backend)->device, observe, NULL);
    return engine;
}

/* ---- one run ---- */

static bool went_well(uocr_status status, const uocr_error *error) {
    if (status != UOCR_OK) CHECK_CONTAINS(error->message, "no error");
    return status == UOCR_OK;
}

typedef struct told { /* everything that the interface tells of a run */
    uint32_t tokens, finish;
    int32_t id[MOST];
    float logprob[MOST];
    uint32_t acted[MOST];
    size_t bans[MOST];
    int32_t banned[MOST][MOST_BANS];
    uocr_memory_report memory;
} told;

typedef struct forcing { /* after so many tokens the next one is this; 0: none is forced */
    uint32_t after;
    int32_t id;
} forcing;

static void follow(uocr_engine *engine, const uocr_plan *plan, bool ordinary, forcing force, told *t) {
    uocr_event event = {.size = sizeof event};
    uocr_error error = {.size = sizeof error};
    uocr_run *run = tiny_begin(engine, plan);
    memset(t, 0, sizeof *t);
    t->memory.size = sizeof t->memory;
    if (ordinary) CHECK_EQUAL(uocr_inspect_capture(run, "logits", NULL), UOCR_OK);
    while (event.kind != UOCR_EVENT_DONE) {
        if (!went_well(uocr_run_step(run, &event, &error), &error)) break;
        if (event.kind == UOCR_EVENT_NEED_VIEW) tiny_feed(run, plan, event.view, &error);
        if (event.kind != UOCR_EVENT_TOKEN || t->tokens == MOST) continue;
        t->id[t->tokens] = event.token;
        t->logprob[t->tokens] = event.logprob;
        t->acted[t->tokens] = event.guard_acted;
        CHECK_EQUAL(uocr_inspect_bans(run, t->banned[t->tokens], MOST_BANS, &t->bans[t->tokens], NULL), UOCR_OK);
        t->tokens++;
        if (force.after && t->tokens == force.after)
            CHECK_EQUAL(uocr_inspect_force_token(run, force.id, NULL), UOCR_OK);
    }
    t->finish = event.finish;
    uocr_engine_memory(engine, &t->memory);
    uocr_run_end(run);
}

static void check_same(const told *a, const told *b) {
    CHECK_EQUAL(a->tokens, b->tokens);
    CHECK_EQUAL(a->finish, b->finish);
    CHECK(memcmp(a->id, b->id, sizeof a->id) == 0);
    CHECK(memcmp(a->logprob, b->logprob, sizeof a->logprob) == 0);
    CHECK(memcmp(a->acted, b->acted, sizeof a->acted) == 0);
    CHECK(memcmp(a->bans, b->bans, sizeof a->bans) == 0);
    CHECK(memcmp(a->banned, b->banned, sizeof a->banned) == 0);
}

/* What was promised is taken to the byte: nothing captured, nothing spare. */
static void check_promise(uocr_engine *engine, const uocr_plan *plan, const told *t) {
    uocr_memory_estimate promised = {.size = sizeof promised};
    CHECK_EQUAL(uocr_estimate(engine, plan, &promised, NULL), UOCR_OK);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++) CHECK_EQUAL(t->memory.peak[c], promised.category[c]);
}

/* ---- the same tokens ---- */

typedef struct variant {
    const char *path;
    bool ahead; /* whether the back end takes it */
    uint32_t pages, tokens, ring, ngram_size, ngram_window, allow, ignore_eos, padding, history, hits, period;
    uint32_t finish;
    forcing force;
} variant;

static void both_ways_give_the_same(const variant *v) {
    static const int32_t allowed[] = {20, 21, 5, 6};
    static told ahead, ordinary;
    uocr_engine *engine = open_watched(v->path);
    uocr_plan plan = tiny_plan(ids, v->pages, v->pages ? 512 : 0, 0, 0);
    uint64_t before = memory_now(engine);
    plan.max_new_tokens = v->tokens;
    plan.ring_window = v->ring;
    plan.ngram_size = v->ngram_size;
    plan.ngram_window = v->ngram_window;
    plan.guard_allow = allowed;
    plan.guard_allow_count = v->allow;
    plan.ignore_eos = v->ignore_eos;
    plan.allow_padding_ids = v->padding;
    plan.loop_history = v->history;
    plan.loop_guard_hits = v->hits;
    plan.loop_period_max = v->period;
    memset(&seen, 0, sizeof seen);
    follow(engine, &plan, false, v->force, &ahead);
    /* Work past the last token was thrown away: the device chose at most one more than was told. */
    if (v->ahead && !v->force.after) {
        CHECK(seen.appended == ahead.tokens || seen.appended == ahead.tokens + 1);
        CHECK(ahead.tokens < v->tokens || seen.appended == v->tokens);
    }
    CHECK_EQUAL(seen.appended > 0, v->ahead);
    if (!v->force.after) check_promise(engine, &plan, &ahead);
    memset(&seen, 0, sizeof seen);
    follow(engine, &plan, true, v->force, &ordinary);
    CHECK_EQUAL(seen.appended, 0);
    check_same(&ahead, &ordinary);
    CHECK_EQUAL(ahead.finish, v->finish);
    CHECK_EQUAL(memory_now(engine), before);
    uocr_engine_close(engine);
}

static void every_variant_gives_the_same(void) {
    const variant variants[] = {
        {lively, true, .tokens = 1, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        {lively, true, .tokens = 2, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        {lively, true, .tokens = 40, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        {lively, true, .pages = 1, .tokens = 12, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        /* the ring turns many times */
        {lively, true, .tokens = 100, .ring = 7, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        {lively, true, .tokens = 30, .ring = 1, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        /* the guard */
        {lively, true, .tokens = 60, .ngram_size = 1, .ngram_window = 20, .ignore_eos = 1,
         .finish = UOCR_FINISH_LENGTH},
        {constant, true, .tokens = 60, .ngram_size = 3, .ngram_window = 50, .allow = 4, .ignore_eos = 1,
         .finish = UOCR_FINISH_LENGTH},
        {ending, true, .tokens = 40, .ngram_size = 1, .ngram_window = 3, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        {constant, true, .tokens = 60, .ngram_size = 2, .ngram_window = 58, .ignore_eos = 1,
         .finish = UOCR_FINISH_LENGTH},
        /* so many bans that they might be all: the ordinary way */
        {constant, false, .tokens = 80, .ngram_size = 1, .ngram_window = 64, .ignore_eos = 1,
         .finish = UOCR_FINISH_LENGTH},
        {lively, true, .tokens = 30, .padding = 1, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH},
        /* ends */
        {ending, true, .tokens = 20, .finish = UOCR_FINISH_EOS},
        {ending, true, .tokens = 1, .finish = UOCR_FINISH_EOS},
        {constant, true, .tokens = 60, .ignore_eos = 1, .history = 9, .hits = 1, .period = 5,
         .finish = UOCR_FINISH_LOOP},
        {constant, true, .tokens = 60, .ngram_size = 2, .ngram_window = 40, .ignore_eos = 1, .history = 30, .hits = 6,
         .period = 5, .finish = UOCR_FINISH_LOOP},
        /* a forced token in the middle: the host takes over */
        {lively, true, .tokens = 20, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH, .force = {6, 33}},
        {lively, true, .tokens = 40, .ring = 5, .ngram_size = 1, .ngram_window = 9, .ignore_eos = 1,
         .finish = UOCR_FINISH_LENGTH, .force = {17, 33}},
        {lively, true, .tokens = 20, .ignore_eos = 1, .finish = UOCR_FINISH_LENGTH, .force = {1, 33}},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) both_ways_give_the_same(&variants[i]);
}

/* ---- the end that comes from outside ---- */

static uocr_plan guarded_plan(void) {
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    plan.ignore_eos = 1;
    plan.ngram_size = 2;
    plan.ngram_window = 30;
    plan.ring_window = 6;
    return plan;
}

/* While a kernel runs, at every place of two tokens. */
static void a_cancelled_run_gives_everything_back_whatever_is_underway(void) {
    static told whole, again;
    uocr_engine *engine = open_watched(lively);
    uocr_plan plan = guarded_plan();
    uint64_t before = memory_now(engine);
    memset(&seen, 0, sizeof seen);
    follow(engine, &plan, false, (forcing){0}, &whole);
    for (uint32_t countdown = 30; countdown < 110; countdown += 3) {
        uocr_event event = {.size = sizeof event};
        uocr_error error = {.size = sizeof error};
        uocr_run *run = tiny_begin(engine, &plan);
        uint32_t tokens = 0;
        memset(&seen, 0, sizeof seen);
        seen.run = run;
        seen.countdown = countdown;
        while (event.kind != UOCR_EVENT_DONE) {
            if (!went_well(uocr_run_step(run, &event, &error), &error)) break;
            if (event.kind == UOCR_EVENT_TOKEN) CHECK_EQUAL(event.token, whole.id[tokens++]);
        }
        CHECK_EQUAL(event.finish, UOCR_FINISH_CANCELLED);
        CHECK(tokens < whole.tokens);
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
    }
    seen.countdown = 0;
    follow(engine, &plan, false, (forcing){0}, &again);
    check_same(&whole, &again);
    uocr_engine_close(engine);
}

static void a_run_that_is_ended_in_the_middle_gives_everything_back(void) {
    uocr_engine *engine = open_watched(lively);
    uocr_plan plan = guarded_plan();
    uint64_t before = memory_now(engine);
    for (uint32_t tokens = 1; tokens < 9; tokens++) {
        outcome out;
        uocr_run *run = tiny_begin(engine, &plan);
        while (tiny_drive(run, &plan, 1, &out), out.tokens == 0) continue; /* to the first token */
        tiny_drive(run, &plan, tokens, &out);
        CHECK_EQUAL(out.tokens, tokens);
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
    }
    uocr_engine_close(engine);
}

/* ---- numbers that do not fit ---- */

static void read_spoiled(uint32_t precision, const char *tensor, float poison, outcome *out) {
    char path[64];
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    tiny_write(path, (tiny_options){.seed = 7, .spoiled = tensor, .poison = poison});
    uocr_engine *engine = tiny_open(path, precision, 1);
    uint64_t before = memory_now(engine);
    plan.ignore_eos = 1;
    tiny_read(engine, &plan, out);
    CHECK_EQUAL(memory_now(engine), before);
    uocr_engine_close(engine);
    unlink(path);
}

/* Activations of ten million: floats hold them, the half tiles of FAST do not. Never silent text. */
static void what_half_cannot_hold_ends_the_run(void) {
    outcome out;
    read_spoiled(UOCR_PRECISION_EXACT, "layers.0.input_layernorm.weight", 1e7f, &out);
    CHECK_EQUAL(out.status, UOCR_OK);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
    read_spoiled(UOCR_PRECISION_FAST, "layers.0.input_layernorm.weight", 1e7f, &out);
    CHECK_EQUAL(out.status, UOCR_NON_FINITE);
    CHECK_EQUAL(out.finish, UOCR_FINISH_ERROR);
    CHECK_EQUAL(out.tokens, 0);
    CHECK_CONTAINS(out.error.message, "Decoder layer 0");
}

static void logits_that_are_not_finite_are_told_by_a_device_that_chooses(void) {
    outcome out;
    read_spoiled(UOCR_PRECISION_FAST, "norm.weight", NAN, &out);
    CHECK_EQUAL(out.status, UOCR_NON_FINITE);
    CHECK_CONTAINS(out.error.message, "The logits of generated token 0 are not finite");
}

int main(void) {
    tiny_write(lively, (tiny_options){.seed = 7});
    tiny_write(constant, (tiny_options){0});
    tiny_write(ending, (tiny_options){.eos = UINT32_MAX});
    every_variant_gives_the_same();
    a_cancelled_run_gives_everything_back_whatever_is_underway();
    a_run_that_is_ended_in_the_middle_gives_everything_back();
    what_half_cannot_hold_ends_the_run();
    logits_that_are_not_finite_are_told_by_a_device_that_chooses();
    unlink(lively);
    unlink(constant);
    unlink(ending);
    return check_result();
}
