/* Memory: the promise made before a run against what the run takes, refusal before any allocation, and peaks
 * that do not grow with the output. */
#include "run_support.h"

static char model[64];
static int32_t ids[TINY_PROMPT];

typedef struct case_of_plan {
    uint32_t pages, size, cols, rows, ring, ngram, window, history, ignore_eos;
} case_of_plan;

static const case_of_plan cases[] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 1},         {1, 512, 0, 0, 0, 0, 0, 0, 1},    {1, 640, 0, 0, 5, 3, 40, 64, 1},
    {1, 1024, 0, 0, 0, 35, 128, 256, 0}, {1, 1280, 0, 0, 0, 0, 0, 256, 0}, {1, 1024, 2, 1, 100, 0, 0, 0, 1},
    {1, 512, 1, 3, 0, 35, 1024, 256, 0}, {1, 640, 3, 2, 0, 0, 0, 0, 0},    {3, 512, 0, 0, 1, 2, 1024, 64, 1},
    {5, 640, 0, 0, 0, 35, 1024, 256, 1},
};

static uocr_plan plan_of(const case_of_plan *c) {
    uocr_plan plan = tiny_plan(ids, c->pages, c->size, c->cols, c->rows);
    plan.ring_window = c->ring;
    plan.ngram_size = c->ngram;
    plan.ngram_window = c->window;
    plan.loop_history = c->history;
    plan.loop_guard_hits = c->history / 2;
    plan.loop_period_max = 94;
    plan.ignore_eos = c->ignore_eos;
    return plan;
}

static uocr_memory_estimate estimate_of(uocr_engine *engine, const uocr_plan *plan) {
    uocr_memory_estimate estimate = {.size = sizeof estimate};
    CHECK_EQUAL(uocr_estimate(engine, plan, &estimate, NULL), UOCR_OK);
    return estimate;
}

static uocr_memory_report report_of(uocr_engine *engine) {
    uocr_memory_report report = {.size = sizeof report};
    uocr_engine_memory(engine, &report);
    return report;
}

static void check_promise(const uocr_memory_estimate *promised, const uocr_memory_report *taken) {
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++) {
        uint64_t slack = promised->category[c] / 50 > 65536 ? promised->category[c] / 50 : 65536;
        int held = taken->peak[c] <= promised->category[c] && promised->category[c] - taken->peak[c] <= slack;
        if (!CHECK(held)) {
            fprintf(stderr, "    %s: %llu promised, %llu taken\n", uocr_memory_category_name(c),
                    (unsigned long long)promised->category[c], (unsigned long long)taken->peak[c]);
        }
    }
    CHECK(taken->peak_total <= promised->total);
    CHECK(promised->total - taken->peak_total <= promised->total / 50 + 65536);
}

static void every_run_takes_what_was_promised(void) {
    for (uint32_t precision = UOCR_PRECISION_FAST; precision <= UOCR_PRECISION_INTEGER; precision++) {
        uocr_engine *engine = tiny_open(model, precision, 2);
        uint64_t before = memory_now(engine);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (precision != UOCR_PRECISION_EXACT && i % 3 != 0)
                continue; /* the encoders do not differ */
            uocr_plan plan = plan_of(&cases[i]);
            uocr_memory_estimate promised = estimate_of(engine, &plan);
            uocr_memory_report taken;
            outcome out;
            CHECK_EQUAL(memory_now(engine), before); /* an estimate takes nothing */
            tiny_read(engine, &plan, &out);
            CHECK(out.finish == UOCR_FINISH_LENGTH || out.finish == UOCR_FINISH_EOS ||
                  out.finish == UOCR_FINISH_LOOP);
            taken = report_of(engine);
            check_promise(&promised, &taken);
            CHECK_EQUAL(taken.current_total, before);
            CHECK_EQUAL(promised.fits, 1);
            CHECK_EQUAL(promised.visual_rows, plan.prompt_count - 4);
            CHECK_EQUAL(promised.views, plan.pages + plan.crop_cols * plan.crop_rows);
        }
        uocr_engine_close(engine);
    }
}

static void vision_and_decoder_take_turns(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 1024, 0, 0);
    uocr_memory_estimate e = estimate_of(engine, &plan);
    uint64_t sum = 0, file = e.category[UOCR_MEMORY_MODEL];
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++)
        sum += e.category[c];
    CHECK(e.vision_peak > e.decoder_peak); /* for a model as small as this */
    CHECK_EQUAL(e.total, file + e.vision_peak);
    CHECK_EQUAL(e.vision_peak + e.decoder_peak,
                sum - file + e.category[UOCR_MEMORY_TRANSIENT] + e.category[UOCR_MEMORY_VISION_FEATURES]);
    uocr_engine_close(engine);
}

/* Workspace and staging are those of one view, however many there are; crops cost the rows they add. */
static void more_views_need_no_more_workspace(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan one = tiny_plan(ids, 1, 512, 0, 0);
    uocr_memory_estimate single = estimate_of(engine, &one);
    uocr_plan many = tiny_plan(ids, 6, 512, 0, 0);
    uocr_memory_estimate several = estimate_of(engine, &many);
    CHECK_EQUAL(single.category[UOCR_MEMORY_VISION_WORKSPACE],
                several.category[UOCR_MEMORY_VISION_WORKSPACE]);
    CHECK_EQUAL(single.category[UOCR_MEMORY_HOST_STAGING], several.category[UOCR_MEMORY_HOST_STAGING]);
    uint64_t more = 5 * 73 * 32 * sizeof(float);
    CHECK_EQUAL(several.category[UOCR_MEMORY_VISION_FEATURES] - single.category[UOCR_MEMORY_VISION_FEATURES],
                more);
    uocr_engine_close(engine);
}

static void long_outputs_need_no_more_memory_than_short_ones(void) {
    char path[64];
    tiny_write(path, (tiny_options){.seed = 7, .positions = 11000});
    uocr_engine *engine = tiny_open(path, UOCR_PRECISION_EXACT, 1);
    static const uint32_t lengths[] = {100, 10000};
    uocr_memory_report taken[2];
    for (int i = 0; i < 2; i++) {
        outcome out;
        uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
        plan.max_new_tokens = lengths[i];
        plan.ignore_eos = 1;
        plan.ngram_size = 35;
        plan.ngram_window = 128;
        uocr_memory_estimate promised = estimate_of(engine, &plan);
        tiny_read(engine, &plan, &out);
        CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
        CHECK_EQUAL(out.tokens, lengths[i]);
        taken[i] = report_of(engine);
        check_promise(&promised, &taken[i]);
    }
    CHECK(memcmp(taken[0].peak, taken[1].peak, sizeof taken[0].peak) == 0);
    CHECK_EQUAL(taken[0].peak_total, taken[1].peak_total);
    uocr_engine_close(engine);
    unlink(path);
}

/* ---- budgets ---- */

static uint64_t needed(const uocr_plan *plan) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uint64_t total = estimate_of(engine, plan).total;
    uocr_engine_close(engine);
    return total;
}

static uocr_status begin_within(uint64_t budget, const uocr_plan *plan, uocr_error *error) {
    uocr_engine_options options = tiny_engine_options(model, UOCR_PRECISION_EXACT, 1);
    uocr_engine *engine = NULL;
    uocr_run *run = NULL;
    outcome out;
    options.memory_budget = budget;
    uocr_status status = uocr_engine_open(&options, &engine, error);
    if (status != UOCR_OK)
        return status;
    uint64_t before = memory_now(engine);
    uocr_memory_report old = report_of(engine);
    status = uocr_run_begin(engine, plan, &run, error);
    if (status == UOCR_OK) {
        tiny_drive(run, plan, 0, &out);
        CHECK_EQUAL(out.status, UOCR_OK);
        CHECK(report_of(engine).peak_total <= budget);
    } else {
        CHECK(run == NULL);
        CHECK_EQUAL(report_of(engine).peak_total, old.peak_total); /* refused before any allocation */
    }
    uocr_run_end(run);
    CHECK_EQUAL(memory_now(engine), before);
    uocr_engine_close(engine);
    return status;
}

static void the_budget_is_kept_to_the_byte(void) {
    uocr_plan plan = tiny_plan(ids, 1, 640, 0, 0);
    uint64_t total = needed(&plan);
    uocr_error error = {.size = sizeof error};
    plan.max_new_tokens = 3;
    CHECK_EQUAL(begin_within(total, &plan, &error), UOCR_OK);
    CHECK_EQUAL(begin_within(total - 1, &plan, &error), UOCR_OVER_BUDGET);
    CHECK_EQUAL(error.status, UOCR_OVER_BUDGET);
    CHECK_EQUAL(error.number, total);
    CHECK_EQUAL(error.limit, total - 1);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++)
        CHECK_CONTAINS(error.message, uocr_memory_category_name(c));
    CHECK_CONTAINS(error.message, "One view of 512 pixels would fit");
}

static void the_refusal_says_what_would_fit(void) {
    uocr_error error = {.size = sizeof error};
    uocr_plan small = tiny_plan(ids, 1, 512, 0, 0);
    uint64_t smallest = needed(&small);
    CHECK_EQUAL(begin_within(smallest - 1, &small, &error), UOCR_OVER_BUDGET);
    CHECK_CONTAINS(error.message, "smaller weights");

    uocr_plan crops = tiny_plan(ids, 1, 512, 2, 2);
    CHECK_EQUAL(begin_within(smallest, &crops, &error), UOCR_OVER_BUDGET);
    CHECK_CONTAINS(error.message, "without its crops would fit");

    static int32_t other[TINY_PROMPT];
    uocr_plan eight = tiny_plan(other, 8, 512, 0, 0), nine = tiny_plan(ids, 9, 512, 0, 0);
    uint64_t eight_pages = needed(&eight);
    CHECK_EQUAL(begin_within(eight_pages, &nine, &error), UOCR_OVER_BUDGET);
    CHECK_CONTAINS(error.message, "At most 8 pages of 512 pixels fit");
}

static void the_most_pages_that_fit_do_fit_and_one_more_does_not(void) {
    static int32_t other[TINY_PROMPT];
    uocr_plan one = tiny_plan(ids, 1, 512, 0, 0), eight = tiny_plan(other, 8, 512, 0, 0);
    uocr_engine_options options = tiny_engine_options(model, UOCR_PRECISION_EXACT, 1);
    uocr_engine *engine;
    options.memory_budget = needed(&eight) + 100;
    CHECK_EQUAL(uocr_engine_open(&options, &engine, NULL), UOCR_OK);
    CHECK_EQUAL(estimate_of(engine, &one).most_pages_that_fit, 8);
    CHECK_EQUAL(estimate_of(engine, &eight).most_pages_that_fit, 8);
    uocr_plan text = tiny_plan(other, 0, 0, 0, 0);
    CHECK_EQUAL(estimate_of(engine, &text).most_pages_that_fit, 0);
    uocr_plan crops = tiny_plan(other, 1, 512, 2, 1);
    CHECK_EQUAL(estimate_of(engine, &crops).most_pages_that_fit, estimate_of(engine, &crops).fits);
    uocr_engine_close(engine);
    engine = tiny_open(model, UOCR_PRECISION_EXACT,
                       1); /* with room enough, the positions decide: (4096 - 4) / 73 */
    CHECK_EQUAL(estimate_of(engine, &one).most_pages_that_fit, 56);
    uocr_engine_close(engine);
}

static void a_budget_below_the_model_is_refused_at_open(void) {
    uocr_engine_options options = tiny_engine_options(model, UOCR_PRECISION_EXACT, 1);
    uocr_engine *engine = (uocr_engine *)1;
    uocr_error error = {.size = sizeof error};
    uocr_engine *open = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_model_info info = {.size = sizeof info};
    CHECK_EQUAL(uocr_engine_info(open, &info, NULL), UOCR_OK);
    CHECK_EQUAL(report_of(open).current[UOCR_MEMORY_MODEL], info.file_bytes);
    uint64_t idle = memory_now(open);
    uocr_engine_close(open);
    uint64_t budgets[] = {1, info.file_bytes - 1, info.file_bytes + 4096};
    for (int i = 0; i < 3; i++) {
        options.memory_budget = budgets[i];
        CHECK_EQUAL(uocr_engine_open(&options, &engine, &error), UOCR_OVER_BUDGET);
        CHECK(engine == NULL);
        CHECK_EQUAL(error.limit, budgets[i]);
        CHECK_CONTAINS(error.message, "budget");
    }
    options.memory_budget = idle;
    CHECK_EQUAL(uocr_engine_open(&options, &engine, &error), UOCR_OK);
    uocr_engine_close(engine);
}

int main(void) {
    tiny_write(model, (tiny_options){.seed = 7});
    every_run_takes_what_was_promised();
    vision_and_decoder_take_turns();
    more_views_need_no_more_workspace();
    long_outputs_need_no_more_memory_than_short_ones();
    the_budget_is_kept_to_the_byte();
    the_refusal_says_what_would_fit();
    the_most_pages_that_fit_do_fit_and_one_more_does_not();
    a_budget_below_the_model_is_refused_at_open();
    unlink(model);
    return check_result();
}
