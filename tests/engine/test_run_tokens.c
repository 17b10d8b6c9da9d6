/* Which token is chosen and why the output ends: greedy choice, probability, repeat guard, loop verdict; and
 * what the inspection interface shows of it. */
#include "run_support.h"

#include "uocr_inspect.h"

static char lively[64];   /* random weights */
static char constant[64]; /* every logit is the same: the lowest id that may be chosen wins */
static char ending[64];   /* the same with eos as id 0 */
static int32_t ids[TINY_PROMPT];

static void fetch(uocr_run *run, const char *stage, float *out, size_t capacity, size_t *count,
                  uint32_t shape[4]) {
    uint32_t rank;
    uocr_error error = {.size = sizeof error};
    if (uocr_inspect_fetch(run, stage, 0, out, capacity, count, &rank, shape, &error) != UOCR_OK) {
        CHECK_CONTAINS(error.message, "no error");
    }
}

/* ---- the choice and its probability ---- */

static void the_best_id_is_chosen_and_told_with_its_raw_probability(void) {
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    for (uint32_t padding = 0; padding < 2; padding++) {
        uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
        uocr_event event = {.size = sizeof event};
        uint32_t usable = padding ? TINY_VOCAB : TINY_USABLE, shape[4], tokens = 0;
        plan.allow_padding_ids = padding;
        plan.ngram_size = 1; /* the guard bans; the probability ignores it */
        plan.ngram_window = 8;
        uocr_run *run = tiny_begin(engine, &plan);
        CHECK_EQUAL(uocr_inspect_capture(run, "logits", NULL), UOCR_OK);
        while (uocr_run_step(run, &event, NULL) == UOCR_OK && event.kind != UOCR_EVENT_DONE) {
            if (event.kind != UOCR_EVENT_TOKEN)
                continue;
            float logits[TINY_VOCAB];
            int32_t banned[8], best = -1, unguarded = 0;
            size_t count, bans;
            double sum = 0;
            fetch(run, "logits", logits, TINY_VOCAB, &count, shape);
            CHECK_EQUAL(uocr_inspect_bans(run, banned, 8, &bans, NULL), UOCR_OK);
            for (uint32_t i = 0, b = 0; i < usable; i++) {
                sum += exp((double)logits[i]);
                if (logits[i] > logits[unguarded])
                    unguarded = (int32_t)i;
                while (b < bans && banned[b] < (int32_t)i)
                    b++;
                if (b < bans && banned[b] == (int32_t)i)
                    continue;
                if (best < 0 || logits[i] > logits[best])
                    best = (int32_t)i;
            }
            CHECK_EQUAL(event.token, best);
            CHECK_EQUAL(event.guard_acted, best != unguarded);
            CHECK(fabs((double)event.logprob - ((double)logits[best] - log(sum))) < 2e-6);
            tokens++;
        }
        CHECK_EQUAL(tokens, plan.max_new_tokens);
        uocr_run_end(run);
    }
    uocr_engine_close(engine);
}

static void eos_ends_the_output_unless_it_is_ignored(void) {
    uocr_engine *engine = tiny_open(ending, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    outcome out;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_EOS);
    CHECK_EQUAL(out.tokens, 1);
    CHECK_EQUAL(out.id[0], 0); /* eos itself is told */
    plan.max_new_tokens = 1;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_EOS); /* at the last place eos still counts as the end */
    plan.ignore_eos = 1;
    plan.max_new_tokens = 20;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
    CHECK_EQUAL(out.tokens, 20);
    for (uint32_t i = 0; i < 20; i++)
        CHECK_EQUAL(out.id[i], 1);
    uocr_engine_close(engine);
}

static void ignoring_eos_is_not_the_work_of_the_guard(void) {
    uocr_engine *engine = tiny_open(ending, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    outcome out;
    plan.ignore_eos = 1;
    plan.ngram_size = 1;
    plan.ngram_window = 3;
    tiny_read(engine, &plan, &out);
    /* 20, 21, 22 are banned at first; then the last three ids, so that 1, 2, 3, 4 go round */
    for (uint32_t i = 0; i < out.tokens; i++)
        CHECK_EQUAL(out.id[i], 1 + i % 4);
    CHECK_EQUAL(out.guard_hits, out.tokens - out.tokens / 4); /* not where 1 was free */
    uocr_engine_close(engine);
}

/* ---- the guard ---- */

static void guarded_ids_are_those_outside_the_window(void) {
    uocr_engine *engine = tiny_open(constant, UOCR_PRECISION_EXACT, 1);
    static const uint32_t windows[] = {1, 5, 64, 200};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
        int32_t history[256];
        uint32_t length = plan.prompt_count, hits = 0;
        outcome out;
        plan.ngram_size = 1;
        plan.ngram_window = windows[w];
        plan.max_new_tokens = 100;
        memcpy(history, ids, length * sizeof *ids);
        uocr_run *run = tiny_begin(engine, &plan);
        CHECK_EQUAL(uocr_inspect_force_token(run, 30, NULL), UOCR_OK); /* so that eos, id 1, is never first */
        tiny_drive(run, &plan, 0, &out);
        uocr_run_end(run);
        for (uint32_t t = 0; t < out.tokens; t++) {
            uint8_t banned[TINY_VOCAB] = {0};
            uint32_t from = length > windows[w] ? length - windows[w] : 0;
            int32_t expected = 0;
            for (uint32_t i = from; i < length; i++)
                banned[history[i]] = 1;
            while (expected < TINY_USABLE && banned[expected])
                expected++;
            if (expected == TINY_USABLE)
                expected = 0; /* every id is banned: the guard is lifted for this step */
            else
                hits += banned[0];
            if (t == 0)
                expected = 30;
            CHECK_EQUAL(out.id[t], expected);
            history[length++] = out.id[t];
            if (expected == TINY_EOS)
                break;
        }
        CHECK_EQUAL(out.guard_hits, hits);
    }
    uocr_engine_close(engine);
}

static void allowed_ids_are_never_banned(void) {
    uocr_engine *engine = tiny_open(constant, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    static const int32_t allow[] = {40, 0};
    outcome out;
    plan.ngram_size = 1;
    plan.ngram_window = 64;
    plan.guard_allow = allow;
    plan.guard_allow_count = 2;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.tokens, 40);
    CHECK_EQUAL(out.guard_hits, 0);
    for (uint32_t i = 0; i < 40; i++)
        CHECK_EQUAL(out.id[i], 0);
    uocr_engine_close(engine);
}

/* ---- loops ---- */

static void repeating_output_ends_as_a_loop(void) {
    uocr_engine *engine = tiny_open(constant, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    outcome out;
    plan.loop_history = 16;
    plan.loop_period_max = 4;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LOOP);
    CHECK_EQUAL(out.tokens, 17); /* one id, and 16 that repeat it */
    plan.loop_history = 0;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
    uocr_engine_close(engine);
    engine = tiny_open(ending, UOCR_PRECISION_EXACT, 1);
    plan.ignore_eos = 1;
    plan.ngram_size = 1;
    plan.ngram_window = 3; /* acts on three steps of four from the second on */
    plan.loop_history = 16;
    plan.loop_guard_hits = 9;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.finish, UOCR_FINISH_LOOP);
    CHECK_EQUAL(out.guard_hits, 9);
    CHECK_EQUAL(out.tokens, 12);
    uocr_engine_close(engine);
}

/* ---- inspection ---- */

static void captures_have_the_shapes_of_their_stages(void) {
    static const struct {
        const char *stage;
        uint32_t rank, shape[3];
    } stages[] = {
        {"sam/embed", 3, {32, 32, 32}},      {"sam/block0", 3, {32, 32, 32}},
        {"sam/block1", 3, {32, 32, 32}},     {"sam/neck", 3, {32, 32, 64}},
        {"sam/net_2", 3, {16, 16, 16}},      {"sam/net_3", 3, {8, 8, 32}},
        {"clip/embed", 2, {65, 32, 1}},      {"clip/pre_ln", 2, {65, 32, 1}},
        {"clip/block0", 2, {65, 32, 1}},     {"proj", 2, {64, 32, 1}},
        {"rows", 2, {146, 32, 1}},           {"embeds", 2, {150, 32, 1}},
        {"layer0", 2, {150, 32, 1}},         {"layer1", 2, {150, 32, 1}},
        {"final_norm", 2, {150, 32, 1}},     {"logits", 2, {1, 64, 1}},
        {"router_probs1", 2, {150, 4, 1}},   {"router_ids1", 2, {150, 2, 1}},
        {"router_weights1", 2, {150, 2, 1}}, {"cache_k0", 3, {2, 150, 16}},
        {"cache_v1", 3, {2, 150, 16}},
    };
    enum { STAGES = sizeof stages / sizeof *stages };
    for (uint32_t precision = UOCR_PRECISION_FAST; precision <= UOCR_PRECISION_INTEGER; precision++) {
        uocr_engine *engine = tiny_open(lively, precision, 1);
        uocr_plan plan = tiny_plan(ids, 2, 512, 0, 0);
        uocr_event event = {.size = sizeof event};
        uint64_t before = memory_now(engine);
        outcome plain;
        plan.ring_window = 3;
        plan.max_new_tokens = 6;
        tiny_read(engine, &plan, &plain);
        uocr_run *run = tiny_begin(engine, &plan);
        for (size_t i = 0; i < STAGES; i++)
            CHECK_EQUAL(uocr_inspect_capture(run, stages[i].stage, NULL), UOCR_OK);
        uint32_t tokens = 0;
        while (uocr_run_step(run, &event, NULL) == UOCR_OK && event.kind != UOCR_EVENT_DONE) {
            if (event.kind == UOCR_EVENT_NEED_VIEW)
                tiny_feed(run, &plan, event.view, NULL);
            if (event.kind != UOCR_EVENT_TOKEN)
                continue;
            for (size_t i = 0; i < STAGES; i++) {
                uint32_t rank, shape[4], used = 150 + (tokens < 3 ? tokens : 3);
                size_t count;
                CHECK_EQUAL(
                    uocr_inspect_fetch(run, stages[i].stage, i < 10, NULL, 0, &count, &rank, shape, NULL),
                    UOCR_OK);
                CHECK_EQUAL(rank, stages[i].rank);
                int cache = strncmp(stages[i].stage, "cache", 5) == 0, decoder = i >= 12 && !cache;
                CHECK_EQUAL(shape[0], tokens > 0 && decoder ? 1 : stages[i].shape[0]);
                CHECK_EQUAL(shape[1], cache ? used : stages[i].shape[1]);
                CHECK_EQUAL(count, (size_t)shape[0] * shape[1] * (rank == 3 ? shape[2] : 1));
            }
            CHECK_EQUAL(event.token, plain.id[tokens]);
            CHECK(event.logprob == plain.logprob[tokens]); /* looking changes nothing */
            tokens++;
        }
        CHECK_EQUAL(tokens, 6);
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
        uocr_engine_close(engine);
    }
}

static void rows_can_be_given_instead_of_views(void) {
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 512, 2, 1);
    size_t count, total = (size_t)(plan.prompt_count - 4) * 32;
    float *rows = malloc(total * sizeof *rows);
    uint32_t shape[4];
    outcome seen, given;
    uocr_error error = {.size = sizeof error};
    uocr_run *run = tiny_begin(engine, &plan);
    uocr_inspect_capture(run, "rows", NULL);
    tiny_drive(run, &plan, 0, &seen);
    fetch(run, "rows", rows, total, &count, shape);
    CHECK_EQUAL(count, total);
    uocr_run_end(run);
    run = tiny_begin(engine, &plan);
    CHECK_EQUAL(uocr_inspect_set_rows(run, rows, total - 1, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(error.limit, total);
    CHECK_EQUAL(uocr_inspect_set_rows(run, rows, total, &error), UOCR_OK);
    CHECK_EQUAL(uocr_inspect_set_rows(run, rows, total, &error), UOCR_STATE); /* once */
    tiny_drive(run, &plan, 0, &given);
    CHECK_EQUAL(given.views, 0);
    check_same_tokens(&seen, &given);
    uocr_run_end(run);
    run = tiny_begin(engine, &plan);
    tiny_drive(run, &plan, 1, &given);
    CHECK_EQUAL(uocr_inspect_set_rows(run, rows, total, &error), UOCR_STATE); /* too late */
    uocr_run_end(run);
    free(rows);
    uocr_engine_close(engine);
}

static void all_logits_end_with_those_of_the_first_token(void) {
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    float every[40 * TINY_VOCAB], last[TINY_VOCAB];
    size_t count;
    uint32_t shape[4];
    outcome out;
    for (int i = 1; i < 40; i++)
        ids[i] = 2 + i;
    plan.prompt_count = 40; /* more than one block of rows */
    plan.max_new_tokens = 1;
    for (int all = 0; all < 2; all++) {
        uocr_run *run = tiny_begin(engine, &plan);
        CHECK_EQUAL(all ? uocr_inspect_all_logits(run, NULL) : uocr_inspect_capture(run, "logits", NULL),
                    UOCR_OK);
        tiny_drive(run, &plan, 0, &out);
        fetch(run, "logits", all ? every : last, all ? 40 * TINY_VOCAB : TINY_VOCAB, &count, shape);
        CHECK_EQUAL(shape[0], all ? 40 : 1);
        CHECK_EQUAL(uocr_inspect_all_logits(run, NULL), UOCR_STATE); /* too late */
        uocr_run_end(run);
    }
    for (int i = 0; i < TINY_VOCAB; i++)
        CHECK(fabsf(every[39 * TINY_VOCAB + i] - last[i]) < 1e-5f);
    CHECK(fabsf(every[5] - last[5]) > 1e-3f); /* and begin with others */
    uocr_engine_close(engine);
}

static void a_forced_token_is_told_with_its_own_probability_and_fed_back(void) {
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    outcome free_run, forced;
    plan.ignore_eos = 1;
    tiny_read(engine, &plan, &free_run);
    uocr_run *run = tiny_begin(engine, &plan);
    uint32_t shape[4];
    float logits[TINY_VOCAB];
    size_t count;
    double sum = 0;
    int32_t other = free_run.id[0] == 9 ? 10 : 9;
    uocr_inspect_capture(run, "logits", NULL);
    CHECK_EQUAL(uocr_inspect_force_token(run, TINY_USABLE, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_inspect_force_token(run, -1, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_inspect_force_token(run, other, NULL), UOCR_OK);
    tiny_drive(run, &plan, 3, &forced); /* two layers and a token */
    CHECK_EQUAL(forced.tokens, 1);
    CHECK_EQUAL(forced.id[0], other);
    fetch(run, "logits", logits, TINY_VOCAB, &count, shape);
    for (int i = 0; i < TINY_USABLE; i++)
        sum += exp((double)logits[i]);
    CHECK(fabs((double)forced.logprob[0] - ((double)logits[other] - log(sum))) < 2e-6);
    tiny_drive(run, &plan, 0, &forced);
    CHECK_EQUAL(forced.tokens, 39);
    CHECK(memcmp(forced.logprob, free_run.logprob + 1, 39 * sizeof(float)) !=
          0); /* another past, another text */
    uocr_run_end(run);
    run = tiny_begin(engine, &plan);
    uocr_inspect_force_token(run, TINY_EOS, NULL);
    tiny_drive(run, &plan, 0, &forced);
    CHECK_EQUAL(forced.finish, UOCR_FINISH_EOS);
    CHECK_EQUAL(forced.tokens, 1);
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void stages_that_do_not_exist_or_have_not_passed_are_refused(void) {
    static const char *const unknown[] = {
        "",      "layer",       "layer2",  "layer-1",     "layer01x",         "sam/block2",
        "rows0", "router_ids0", "cache_k", "clip/block1", "layer999999999999"};
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    uocr_error error = {.size = sizeof error};
    uocr_run *run = tiny_begin(engine, &plan);
    uint32_t rank, shape[4];
    size_t count;
    float few[3];
    outcome out;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK_EQUAL(uocr_inspect_capture(run, unknown[i], &error), UOCR_INVALID_ARGUMENT);
        CHECK_CONTAINS(error.message, unknown[i]);
    }
    CHECK_EQUAL(uocr_inspect_capture(run, "layer1", &error), UOCR_OK);
    CHECK_EQUAL(uocr_inspect_fetch(run, "layer1", 0, NULL, 0, &count, &rank, shape, &error), UOCR_STATE);
    tiny_drive(run, &plan, 1, &out); /* in the middle of prefill some rows would be missing */
    CHECK_EQUAL(uocr_inspect_capture(run, "layer0", &error), UOCR_STATE);
    tiny_drive(run, &plan, 2, &out);
    CHECK_EQUAL(uocr_inspect_fetch(run, "layer1", 0, few, 3, &count, &rank, shape, &error),
                UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(error.number, 3);
    CHECK_EQUAL(error.limit, 4 * 32);
    CHECK_EQUAL(uocr_inspect_fetch(run, "layer1", 1, NULL, 0, &count, &rank, shape, &error), UOCR_STATE);
    CHECK_EQUAL(uocr_inspect_fetch(run, "layer0", 0, NULL, 0, &count, &rank, shape, &error), UOCR_STATE);
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void the_layout_places_crops_then_the_page_then_one_separator(void) {
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 512, 2, 1);
    static int32_t at[3 * TINY_PROMPT];
    size_t count;
    static const struct {
        uint32_t row;
        int32_t kind, part, token;
    } places[] = {{0, 1, 0, 0},    {9, 1, 0, 9},      {10, 1, 1, 0},     {19, 1, 1, 9},  {20, -1, -1, -1},
                  {21, 1, 0, 10},  {208, 1, 1, 99},   {209, -1, -1, -1}, {210, 0, 0, 0}, {218, -1, -1, -1},
                  {280, 0, 0, 63}, {281, -1, -1, -1}, {282, -2, -2, -2}};
    CHECK_EQUAL(uocr_inspect_layout(engine, &plan, NULL, 0, &count, NULL), UOCR_OK);
    CHECK_EQUAL(count, 3 * 283);
    CHECK_EQUAL(uocr_inspect_layout(engine, &plan, at, count - 1, &count, NULL), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_inspect_layout(engine, &plan, at, count, &count, NULL), UOCR_OK);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CHECK_EQUAL(at[3 * places[i].row], places[i].kind);
        CHECK_EQUAL(at[3 * places[i].row + 1], places[i].part);
        CHECK_EQUAL(at[3 * places[i].row + 2], places[i].token);
    }
    plan = tiny_plan(ids, 2, 512, 0, 0);
    CHECK_EQUAL(uocr_inspect_layout(engine, &plan, at, 3 * TINY_PROMPT, &count, NULL), UOCR_OK);
    CHECK_EQUAL(at[3 * 72], -2); /* each page ends in a separator */
    CHECK_EQUAL(at[3 * 73 + 1], 1);
    CHECK_EQUAL(at[3 * 145], -2);
    uocr_engine_close(engine);
}

int main(void) {
    tiny_write(lively, (tiny_options){.seed = 7});
    tiny_write(constant, (tiny_options){.seed = 0});
    tiny_write(ending, (tiny_options){.seed = 0, .eos = UINT32_MAX});
    the_best_id_is_chosen_and_told_with_its_raw_probability();
    eos_ends_the_output_unless_it_is_ignored();
    ignoring_eos_is_not_the_work_of_the_guard();
    guarded_ids_are_those_outside_the_window();
    allowed_ids_are_never_banned();
    repeating_output_ends_as_a_loop();
    captures_have_the_shapes_of_their_stages();
    rows_can_be_given_instead_of_views();
    all_logits_end_with_those_of_the_first_token();
    a_forced_token_is_told_with_its_own_probability_and_fed_back();
    stages_that_do_not_exist_or_have_not_passed_are_refused();
    the_layout_places_crops_then_the_page_then_one_separator();
    unlink(lively);
    unlink(constant);
    unlink(ending);
    return check_result();
}
