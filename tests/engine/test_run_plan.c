/* What the interface refuses and how it says so; callers built against shorter or longer structs; small
 * queries. */
#include "run_support.h"

#include <stddef.h>

static char model[64];
static int32_t ids[TINY_PROMPT];
static uocr_engine *engine;

/* ---- plans ---- */

static void check_refused(const uocr_plan *plan, uint64_t number, uint64_t limit, const char *part) {
    uocr_memory_estimate estimate = {.size = sizeof estimate};
    uocr_error error = {.size = sizeof error};
    uocr_run *run = NULL;
    CHECK_EQUAL(uocr_estimate(engine, plan, &estimate, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(error.status, UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(error.number, number);
    CHECK_EQUAL(error.limit, limit);
    CHECK_CONTAINS(error.message, part);
    CHECK_EQUAL(uocr_run_begin(engine, plan, &run, NULL), UOCR_INVALID_ARGUMENT);
    CHECK(run == NULL);
}

static void views_that_the_model_does_not_know_are_refused(void) {
    static const struct {
        uint32_t pages, size, cols, rows;
        uint64_t number, limit;
        const char *part;
    } bad[] = {
        {1, 0, 0, 0, 0, 1280, "global_size is 0"},
        {1, 448, 0, 0, 448, 1280, "global_size is 448"},
        {1, 1000, 0, 0, 1000, 1280, "multiple of 64"},
        {1, 1344, 0, 0, 1344, 1280, "from 512 to 1280"},
        {1, 512, 2, 0, 0, 32, "crop grid is 2 x 0"},
        {1, 512, 1, 1, 1, 32, "crop grid is 1 x 1"},
        {1, 512, 3, 11, 33, 32, "crop grid is 3 x 11"},
        {1, 512, 65536, 65536, 65536ull * 65536, 32, "crop grid is 65536 x 65536"},
        {2, 512, 2, 1, 2, 1, "exactly 1 page, not 2"},
        {0, 512, 2, 1, 0, 1, "exactly 1 page, not 0"},
        {4097, 512, 0, 0, 4097, 4096, "4097 pages"},
    };
    uocr_plan good = tiny_plan(ids, 1, 512, 0, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uocr_plan plan = good;
        plan.pages = bad[i].pages;
        plan.global_size = bad[i].size;
        plan.crop_cols = bad[i].cols;
        plan.crop_rows = bad[i].rows;
        check_refused(&plan, bad[i].number, bad[i].limit, bad[i].part);
    }
}

static void prompts_that_do_not_suit_the_views_are_refused(void) {
    uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
    plan.prompt_count = 0;
    check_refused(&plan, 0, 0, "no prompt ids");
    plan = tiny_plan(ids, 1, 512, 0, 0);
    plan.prompt_ids = NULL;
    check_refused(&plan, 0, 0, "no prompt ids");
    plan = tiny_plan(ids, 1, 512, 0, 0);
    ids[74] = 64;
    check_refused(&plan, 64, 63, "Prompt id 74 is 64");
    ids[74] = -1;
    check_refused(&plan, UINT32_MAX, 63, "Prompt id 74 is -1");
    ids[74] = TINY_IMAGE;
    check_refused(&plan, 74, 73, "74 image ids");
    plan = tiny_plan(ids, 1, 512, 0, 0);
    ids[73] = 5;
    ids[75] = TINY_IMAGE; /* as many as there should be, but one too late */
    check_refused(&plan, 75, 73, "interrupted");
    plan = tiny_plan(ids, 1, 640, 0, 0);
    plan.global_size = 512;
    check_refused(&plan, 111, 73, "111 image ids");
    plan = tiny_plan(ids, 0, 0, 0, 0);
    ids[1] = TINY_IMAGE;
    check_refused(&plan, 1, 0, "1 image ids");
    for (int i = 0; i < TINY_PROMPT; i++)
        ids[i] = 20;
    plan.prompt_count = 4096;
    check_refused(&plan, 4096, 4095, "4096 tokens");
}

static void guards_out_of_range_are_refused(void) {
    const uocr_plan good = tiny_plan(ids, 0, 0, 0, 0);
    static const int32_t allow[] = {3, 64};
    uocr_plan plan = good;
    plan.ring_window = 4097;
    check_refused(&plan, 4097, 4096, "ring_window is 4097");
    plan = good;
    plan.ngram_size = 35;
    check_refused(&plan, 0, 65536, "ngram_window is 0");
    plan.ngram_window = 65537;
    check_refused(&plan, 65537, 65536, "ngram_window is 65537");
    plan.ngram_window = 128;
    plan.guard_allow_count = 1;
    check_refused(&plan, 1, 64, "guard_allow_count is 1");
    plan.guard_allow = allow;
    plan.guard_allow_count = 2;
    check_refused(&plan, 64, 63, "guard_allow id 1 is 64");
    plan.guard_allow_count = 0;
    plan.loop_history = 16385;
    check_refused(&plan, 16385, 16384, "loop_history is 16385");
    plan.loop_history = 256;
    check_refused(&plan, 0, 256, "loop_guard_hits is 0");
    plan.loop_guard_hits = 257;
    check_refused(&plan, 257, 256, "loop_guard_hits is 257");
    plan.ngram_size = 0;
    check_refused(&plan, 0, 16384, "loop_period_max is 0");
    plan.loop_period_max = 16385;
    check_refused(&plan, 16385, 16384, "loop_period_max is 16385");
}

static void new_tokens_are_bounded_by_the_positions_left(void) {
    uocr_memory_estimate estimate = {.size = sizeof estimate};
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0); /* 4 tokens of 4096 */
    static const uint32_t asked[] = {0, 1, 4092, 4093, UINT32_MAX}, given[] = {4092, 1, 4092, 4092, 4092};
    for (int i = 0; i < 5; i++) {
        plan.max_new_tokens = asked[i];
        CHECK_EQUAL(uocr_estimate(engine, &plan, &estimate, NULL), UOCR_OK);
        CHECK_EQUAL(estimate.max_new_tokens, given[i]);
    }
}

static void the_last_position_is_used_and_none_beyond(void) {
    outcome out;
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    for (int i = 0; i < TINY_PROMPT; i++)
        ids[i] = 20 + i % 30;
    plan.prompt_count = 4090;
    plan.max_new_tokens = 0;
    plan.ignore_eos = 1;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.tokens, 6);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
}

/* ---- structs of other sizes ---- */

static void an_older_caller_is_understood(void) {
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    uocr_memory_estimate estimate;
    uocr_error error;
    memset(&estimate, 0xAB, sizeof estimate);
    plan.ngram_size = 35; /* beyond the size it states: not read, so that its missing window is no fault */
    plan.size = offsetof(uocr_plan, ring_window);
    estimate.size = offsetof(uocr_memory_estimate, budget);
    CHECK_EQUAL(uocr_estimate(engine, &plan, &estimate, NULL), UOCR_OK);
    CHECK_EQUAL(estimate.fits, 1);
    CHECK(estimate.total > 0 && estimate.size == offsetof(uocr_memory_estimate, budget));
    CHECK_EQUAL(estimate.budget, 0xABABABABABABABABull); /* not ours to write */

    memset(&error, 0xAB, sizeof error);
    error.size = offsetof(uocr_error, message) + 20;
    plan.prompt_count = 0;
    CHECK_EQUAL(uocr_estimate(engine, &plan, &estimate, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(strlen(error.message), 19);
    CHECK_EQUAL((uint8_t)error.message[20], 0xAB);
}

static void a_newer_caller_is_understood(void) {
    struct {
        uocr_event event;
        uint64_t later;
    } newer;
    struct {
        uocr_plan plan;
        uint64_t later;
    } newer_plan;
    memset(&newer, 0xAB, sizeof newer);
    memset(&newer_plan, 0xAB, sizeof newer_plan);
    newer.event.size = sizeof newer;
    newer_plan.plan = tiny_plan(ids, 0, 0, 0, 0);
    newer_plan.plan.size = sizeof newer_plan;
    uocr_run *run = tiny_begin(engine, &newer_plan.plan);
    CHECK_EQUAL(uocr_run_step(run, &newer.event, NULL), UOCR_OK);
    CHECK_EQUAL(newer.event.kind, UOCR_EVENT_PROGRESS);
    CHECK_EQUAL(newer.event.size, sizeof newer);
    CHECK_EQUAL(newer.later, 0xABABABABABABABABull);
    uocr_run_end(run);
}

static void a_size_that_was_never_set_is_refused(void) {
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    uocr_memory_estimate estimate = {.size = sizeof estimate};
    uocr_memory_estimate unset = {0};
    uocr_engine_options options = {.model_path = model};
    uocr_engine *other = NULL;
    uocr_model_info info = {0};
    uocr_event event = {0};
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(uocr_estimate(engine, &plan, &unset, &error), UOCR_INVALID_ARGUMENT);
    CHECK_CONTAINS(error.message, "size");
    uocr_run *run = tiny_begin(engine, &plan);
    CHECK_EQUAL(uocr_run_step(run, &event, &error), UOCR_INVALID_ARGUMENT);
    uocr_run_end(run);
    plan.size = 0;
    CHECK_EQUAL(uocr_estimate(engine, &plan, &estimate, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_engine_open(&options, &other, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_engine_info(engine, &info, &error), UOCR_INVALID_ARGUMENT);
    uocr_engine_memory(engine, &(uocr_memory_report){0}); /* writes nothing */
}

static void null_is_refused_everywhere(void) {
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    uocr_memory_estimate estimate = {.size = sizeof estimate};
    uocr_model_info info = {.size = sizeof info};
    uocr_event event = {.size = sizeof event};
    uocr_run *run;
    CHECK_EQUAL(uocr_engine_open(NULL, NULL, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_engine_info(NULL, &info, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_engine_verify(NULL, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_estimate(NULL, &plan, &estimate, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_estimate(engine, NULL, &estimate, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_estimate(engine, &plan, NULL, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_begin(engine, &plan, NULL, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_begin(NULL, &plan, &run, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_begin(engine, NULL, &run, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_step(NULL, &event, NULL), UOCR_INVALID_ARGUMENT);
    CHECK(uocr_engine_text(NULL, UOCR_TEXT_FRONT_END, NULL) == NULL);
    uocr_engine_memory(NULL, NULL);
    uocr_engine_profile(NULL, NULL);
    uocr_engine_profile_reset(NULL);
    uocr_engine_close(NULL);
}

/* ---- options and queries ---- */

static void options_out_of_range_are_refused(void) {
    static const struct {
        uocr_engine_options options;
        uocr_status status;
        const char *part;
    } bad[] = {
        {{.model_path = NULL}, UOCR_INVALID_ARGUMENT, "model_path"},
        {{.model_path = model, .backend = 3}, UOCR_INVALID_ARGUMENT, "Back end 3"},
        {{.model_path = model, .backend = UOCR_BACKEND_METAL}, UOCR_BACKEND, "not in this build"},
        {{.model_path = model, .precision = 3}, UOCR_INVALID_ARGUMENT, "Precision 3"},
        {{.model_path = model, .simd = 3}, UOCR_INVALID_ARGUMENT, "simd 3"},
        {{.model_path = model, .threads = 257}, UOCR_INVALID_ARGUMENT, "257 threads"},
        {{.model_path = "/nowhere/at/all.uocr"}, UOCR_MODEL_FILE, "/nowhere/at/all.uocr"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uocr_engine_options options = bad[i].options;
        uocr_engine *other = engine;
        uocr_error error = {.size = sizeof error};
        options.size = sizeof options;
        CHECK_EQUAL(uocr_engine_open(&options, &other, &error), bad[i].status);
        CHECK(other == NULL);
        CHECK_CONTAINS(error.message, bad[i].part);
    }
}

static void the_engine_says_what_it_is(void) {
    uocr_model_info info = {.size = sizeof info};
    size_t bytes = 0;
    CHECK_EQUAL(uocr_abi_version(), UOCR_ABI_VERSION);
    CHECK_CONTAINS(uocr_version(), ".");
    CHECK_EQUAL(uocr_engine_info(engine, &info, NULL), UOCR_OK);
    CHECK_EQUAL(info.vocab_size, TINY_VOCAB);
    CHECK_EQUAL(info.usable_vocab, TINY_USABLE);
    CHECK_EQUAL(info.image_id, TINY_IMAGE);
    CHECK_EQUAL(info.layers, 2);
    CHECK_EQUAL(info.experts, 4);
    CHECK_EQUAL(info.max_positions, 4096);
    CHECK_EQUAL(info.threads, 1);
    CHECK(strcmp(info.backend, "cpu") == 0);
    CHECK(strlen(info.simd) > 0);
    CHECK(info.parameters > 100000 && info.parameters < info.file_bytes);
    CHECK(memcmp(uocr_engine_text(engine, UOCR_TEXT_FRONT_END, &bytes), "{\"name\": \"tiny\"}", 16) == 0);
    CHECK_EQUAL(bytes, 16);
    CHECK(uocr_engine_text(engine, 3, &bytes) == NULL && bytes == 0);
    CHECK_EQUAL(uocr_engine_verify(engine, NULL), UOCR_OK);
    CHECK(uocr_memory_category_name(UOCR_MEMORY_CATEGORIES) == NULL);
    for (uint32_t a = 0; a < UOCR_MEMORY_CATEGORIES; a++)
        for (uint32_t b = 0; b < a; b++)
            CHECK(strcmp(uocr_memory_category_name(a), uocr_memory_category_name(b)) != 0);
}

static void the_profile_names_operators_by_phase_when_it_is_on(void) {
    uocr_engine_options options = tiny_engine_options(model, UOCR_PRECISION_EXACT, 1);
    uocr_engine *timed;
    outcome out;
    uocr_profile_report report = {.size = sizeof report};
    uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
    plan.max_new_tokens = 3;
    options.profile = 1;
    CHECK_EQUAL(uocr_engine_open(&options, &timed, NULL), UOCR_OK);
    tiny_read(timed, &plan, &out);
    uocr_engine_profile(timed, &report);
    int vision = 0, prefill = 0, decode = 0;
    for (uint32_t i = 0; i < report.count; i++) {
        CHECK(report.row[i].calls > 0 && report.row[i].seconds >= 0);
        vision += strncmp(report.row[i].name, "vision/", 7) == 0;
        prefill += strncmp(report.row[i].name, "prefill/", 8) == 0;
        decode += strncmp(report.row[i].name, "decode/", 7) == 0;
    }
    CHECK(vision > 3 && prefill > 3 && decode > 3);
    CHECK_EQUAL(vision + prefill + decode, report.count);
    uocr_engine_profile_reset(timed);
    uocr_engine_profile(timed, &report);
    CHECK_EQUAL(report.count, 0);
    uocr_engine_close(timed);
    tiny_read(engine, &plan, &out); /* off unless asked for */
    uocr_engine_profile(engine, &report);
    CHECK_EQUAL(report.count, 0);
}

int main(void) {
    tiny_write(model, (tiny_options){.seed = 7});
    engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    views_that_the_model_does_not_know_are_refused();
    prompts_that_do_not_suit_the_views_are_refused();
    guards_out_of_range_are_refused();
    new_tokens_are_bounded_by_the_positions_left();
    the_last_position_is_used_and_none_beyond();
    an_older_caller_is_understood();
    a_newer_caller_is_understood();
    a_size_that_was_never_set_is_refused();
    null_is_refused_everywhere();
    options_out_of_range_are_refused();
    the_engine_says_what_it_is();
    the_profile_names_operators_by_phase_when_it_is_on();
    uocr_engine_close(engine);
    unlink(model);
    return check_result();
}
