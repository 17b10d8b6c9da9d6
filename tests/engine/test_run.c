/* The step machine: order of events, feeding, cancelling, errors, and an engine that is as before afterwards.
 */
#include "run_support.h"

#include <pthread.h>

static char model[64];
static int32_t ids[TINY_PROMPT];

/* ---- the way of a run ---- */

static void a_page_passes_vision_prefill_and_decoding(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 2);
    uocr_plan plan = tiny_plan(ids, 1, 512, 2, 1);
    plan.max_new_tokens = 5;
    uocr_run *run = tiny_begin(engine, &plan);
    uocr_event event = {.size = sizeof event};
    uint32_t phase = UOCR_PHASE_VISION, done = 0, asked = 0, tokens = 0;
    double vision = 0;
    for (;;) {
        CHECK_EQUAL(uocr_run_step(run, &event, NULL), UOCR_OK);
        CHECK(event.phase >= phase);
        CHECK(event.kind == UOCR_EVENT_DONE || event.done >= (event.phase > phase ? 0 : done));
        CHECK(event.done <= event.total);
        CHECK(event.vision_s >= vision);
        phase = event.phase;
        done = event.done;
        vision = event.vision_s;
        if (event.kind == UOCR_EVENT_NEED_VIEW) {
            CHECK_EQUAL(event.phase, UOCR_PHASE_VISION);
            CHECK_EQUAL(event.view, asked);
            asked++;
            CHECK_EQUAL(tiny_feed(run, &plan, event.view, NULL), UOCR_OK);
        } else if (event.kind == UOCR_EVENT_PROGRESS && event.phase == UOCR_PHASE_VISION) {
            CHECK_EQUAL(event.view, asked - 1);
        } else if (event.kind == UOCR_EVENT_PROGRESS) {
            CHECK_EQUAL(event.total, plan.prompt_count);
        } else if (event.kind == UOCR_EVENT_TOKEN) {
            CHECK_EQUAL(event.phase, UOCR_PHASE_DECODE);
            CHECK_EQUAL(event.done, ++tokens);
            CHECK(event.token >= 0 && event.token < TINY_USABLE);
            CHECK(event.logprob <= 0 && event.logprob > -10);
        } else {
            break;
        }
    }
    CHECK_EQUAL(asked, 3);
    CHECK_EQUAL(tokens, 5);
    CHECK_EQUAL(event.finish, UOCR_FINISH_LENGTH);
    CHECK_EQUAL(event.total, 5);
    CHECK(event.prefill_s > 0 && event.decode_s > 0);
    for (int again = 0; again < 2; again++) { /* DONE is said as often as it is asked */
        CHECK_EQUAL(uocr_run_step(run, &event, NULL), UOCR_OK);
        CHECK_EQUAL(event.kind, UOCR_EVENT_DONE);
        CHECK_EQUAL(event.finish, UOCR_FINISH_LENGTH);
    }
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void a_view_asked_for_is_asked_for_again_until_it_is_fed(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
    uocr_run *run = tiny_begin(engine, &plan);
    uocr_event event = {.size = sizeof event};
    for (int again = 0; again < 3; again++) {
        CHECK_EQUAL(uocr_run_step(run, &event, NULL), UOCR_OK);
        CHECK_EQUAL(event.kind, UOCR_EVENT_NEED_VIEW);
        CHECK_EQUAL(event.view, 0);
    }
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void text_alone_needs_no_view(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    outcome out;
    plan.max_new_tokens = 3;
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.views, 0);
    CHECK_EQUAL(out.tokens, 3);
    uocr_engine_close(engine);
}

static void tokens_do_not_depend_on_the_number_of_threads_or_on_the_neighbours(void) {
    for (uint32_t precision = UOCR_PRECISION_FAST; precision <= UOCR_PRECISION_INTEGER; precision++) {
        outcome first, other;
        uocr_plan plan = tiny_plan(ids, 2, 512, 0, 0);
        for (uint32_t threads = 1; threads <= 3; threads++) {
            uocr_engine *engine = tiny_open(model, precision, threads);
            tiny_read(engine, &plan, threads == 1 ? &first : &other);
            if (threads > 1)
                check_same_tokens(&first, &other);
            tiny_read(engine, &plan, &other); /* a second run finds nothing of the first */
            check_same_tokens(&first, &other);
            uocr_engine_close(engine);
        }
    }
}

/* ---- feeding ---- */

static void only_the_view_that_was_asked_for_is_taken(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 512, 2, 1);
    uocr_run *run = tiny_begin(engine, &plan);
    uocr_event event = {.size = sizeof event};
    uocr_error error = {.size = sizeof error};
    uint8_t *pixels = tiny_pixels(0, 640, 1920);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 640, 640, 0, &error), UOCR_STATE); /* nobody asked */
    uocr_run_step(run, &event, &error);
    CHECK_EQUAL(uocr_run_feed_view(run, 1, pixels, 640, 640, 0, &error), UOCR_STATE);
    CHECK_CONTAINS(error.message, "asked for view 0");
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 512, 640, 0, &error), UOCR_INVALID_ARGUMENT);
    CHECK_CONTAINS(error.message, "512 x 640");
    CHECK_EQUAL(error.limit, 640);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 640, 639, 0, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(error.number, 639);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 640, 640, 1919, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, NULL, 640, 640, 0, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_feed_view(NULL, 0, pixels, 640, 640, 0, &error), UOCR_INVALID_ARGUMENT);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 640, 640, 1920, &error), UOCR_OK); /* still asked for */
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 640, 640, 0, &error), UOCR_STATE); /* not twice */
    free(pixels);
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void bytes_between_rows_do_not_matter(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
    uocr_event event = {.size = sizeof event};
    outcome tight, apart;
    tiny_read(engine, &plan, &tight);
    uocr_run *run = tiny_begin(engine, &plan);
    uint8_t *pixels = tiny_pixels(0, 512, 1777);
    uocr_run_step(run, &event, NULL);
    CHECK_EQUAL(uocr_run_feed_view(run, 0, pixels, 512, 512, 1777, NULL), UOCR_OK);
    free(pixels);
    tiny_drive(run, &plan, 0, &apart);
    uocr_run_end(run);
    check_same_tokens(&tight, &apart);
    uocr_engine_close(engine);
}

/* ---- cancelling ---- */

static void a_run_cancelled_after_any_step_gives_everything_back(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 2);
    uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
    uint64_t before = memory_now(engine);
    outcome whole, out;
    plan.max_new_tokens = 6;
    tiny_read(engine, &plan, &whole);
    CHECK_EQUAL(memory_now(engine), before);
    for (uint32_t steps = 0; steps < whole.steps; steps++) {
        uocr_event event = {.size = sizeof event};
        uocr_run *run = tiny_begin(engine, &plan);
        if (steps > 0)
            tiny_drive(run, &plan, steps, &out);
        uocr_run_cancel(run);
        CHECK_EQUAL(uocr_run_step(run, &event, NULL), UOCR_OK);
        CHECK_EQUAL(event.kind, UOCR_EVENT_DONE);
        /* after its last token a run is finished, whatever is said afterwards */
        CHECK_EQUAL(event.finish, steps + 1 < whole.steps ? UOCR_FINISH_CANCELLED : UOCR_FINISH_LENGTH);
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
    }
    tiny_read(engine, &plan, &out);
    check_same_tokens(&whole, &out);
    uocr_engine_close(engine);
}

static void *cancel_soon(void *run) {
    usleep(3000);
    uocr_run_cancel(run);
    return NULL;
}

static void a_run_is_cancelled_from_another_thread_while_it_steps(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 2);
    uocr_plan plan = tiny_plan(ids, 1, 640, 0, 0);
    uint64_t before = memory_now(engine);
    plan.max_new_tokens = 0; /* far longer than the other thread waits */
    plan.ignore_eos = 1;
    for (int round = 0; round < 5; round++) {
        pthread_t other;
        outcome out;
        uocr_run *run = tiny_begin(engine, &plan);
        CHECK_EQUAL(pthread_create(&other, NULL, cancel_soon, run), 0);
        tiny_drive(run, &plan, 0, &out);
        CHECK_EQUAL(out.status, UOCR_OK);
        CHECK_EQUAL(out.finish, UOCR_FINISH_CANCELLED);
        pthread_join(other, NULL);
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
    }
    uocr_run_cancel(NULL);
    uocr_run_end(NULL);
    uocr_engine_close(engine);
}

/* ---- one run an engine, several engines a file ---- */

static void a_second_run_is_refused_until_the_first_ends(void) {
    uocr_engine *engine = tiny_open(model, UOCR_PRECISION_EXACT, 1), *second;
    uocr_plan plan = tiny_plan(ids, 0, 0, 0, 0);
    uocr_error error = {.size = sizeof error};
    uocr_run *first = tiny_begin(engine, &plan), *refused = first;
    CHECK_EQUAL(uocr_run_begin(engine, &plan, &refused, &error), UOCR_BUSY);
    CHECK(refused == NULL);
    second = tiny_open(model, UOCR_PRECISION_EXACT, 1);
    outcome here, there;
    tiny_read(second, &plan, &there);
    tiny_drive(first, &plan, 0, &here);
    check_same_tokens(&here, &there);
    CHECK_EQUAL(uocr_run_begin(engine, &plan, &refused, &error), UOCR_BUSY); /* done is not ended */
    uocr_run_end(first);
    tiny_read(engine, &plan, &there);
    check_same_tokens(&here, &there);
    uocr_engine_close(second);
    uocr_engine_close(engine);
}

/* ---- values that are not finite ---- */

static void not_a_number_ends_the_run_and_is_placed(void) {
    static const struct {
        const char *tensor, *place;
        float poison;
    } cases[] = {
        {"sam_model.blocks.0.norm1.weight", "View 1 of 1", NAN},
        {"vision_model.pre_layrnorm.weight", "View 1 of 1", INFINITY},
        {"projector.layers.bias", "View 1 of 1", NAN},
        {"image_newline", "Decoder layer 0", NAN},
        {"layers.0.self_attn.v_proj.weight", "Decoder layer 0", NAN},
        {"layers.1.self_attn.k_proj.weight", "Decoder layer 1", NAN},
        {"layers.1.mlp.gate.weight", "Decoder layer 1", NAN},
        {"layers.1.mlp.shared_experts.up_proj.weight", "Decoder layer 1", INFINITY},
        {"norm.weight", "logits of generated token 0", NAN},
        {"lm_head.weight", "logits of generated token 0", INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        outcome out;
        uocr_event event = {.size = sizeof event};
        tiny_write(path, (tiny_options){.seed = 7, .spoiled = cases[i].tensor, .poison = cases[i].poison});
        uocr_engine *engine = tiny_open(path, UOCR_PRECISION_EXACT, 2);
        uocr_plan plan = tiny_plan(ids, 1, 512, 0, 0);
        uint64_t before = memory_now(engine);
        uocr_run *run = tiny_begin(engine, &plan);
        tiny_drive(run, &plan, 0, &out);
        if (!CHECK(out.status == UOCR_NON_FINITE))
            fprintf(stderr, "    %s\n", cases[i].tensor);
        CHECK_EQUAL(out.finish, UOCR_FINISH_ERROR);
        CHECK_CONTAINS(out.error.message, cases[i].place);
        CHECK_EQUAL(uocr_run_step(run, &event, &out.error), UOCR_STATE); /* the run is over */
        uocr_run_end(run);
        CHECK_EQUAL(memory_now(engine), before);
        plan = tiny_plan(ids, 0, 0, 0, 0); /* the engine goes on: text alone does not meet the encoders */
        tiny_read(engine, &plan, &out);
        CHECK_EQUAL(out.status, i < 4 ? UOCR_OK : UOCR_NON_FINITE);
        uocr_engine_close(engine);
        unlink(path);
    }
}

/* Random bytes among the weights: huge scales, infinities, anything. */
static void garbage_ends_in_tokens_or_in_a_clear_error(void) {
    static const uint32_t amounts[] = {1, 100, 2000, 100000};
    uint32_t finite = 0, refused = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        char path[64];
        outcome out;
        tiny_write(path, (tiny_options){.seed = seed, .garbage = amounts[seed % 4]});
        uocr_engine *engine = tiny_open(path, (uint32_t)(seed / 4 % 2), 2);
        uint64_t before = memory_now(engine);
        uocr_plan plan = tiny_plan(ids, seed % 3 == 0, 512, 0, 0);
        tiny_read(engine, &plan, &out);
        CHECK(out.status == UOCR_OK || out.status == UOCR_NON_FINITE);
        CHECK(out.status == UOCR_OK || strlen(out.error.message) > 0);
        *(out.status == UOCR_OK ? &finite : &refused) += 1;
        for (uint32_t t = 0; t < out.tokens; t++)
            CHECK(out.id[t] >= 0 && out.id[t] < TINY_USABLE);
        CHECK_EQUAL(memory_now(engine), before);
        uocr_engine_close(engine);
        unlink(path);
    }
    CHECK(finite > 4 && refused > 4); /* both ways were taken */
}

int main(void) {
    tiny_write(model, (tiny_options){.seed = 7});
    a_page_passes_vision_prefill_and_decoding();
    a_view_asked_for_is_asked_for_again_until_it_is_fed();
    text_alone_needs_no_view();
    tokens_do_not_depend_on_the_number_of_threads_or_on_the_neighbours();
    only_the_view_that_was_asked_for_is_taken();
    bytes_between_rows_do_not_matter();
    a_run_cancelled_after_any_step_gives_everything_back();
    a_run_is_cancelled_from_another_thread_while_it_steps();
    a_second_run_is_refused_until_the_first_ends();
    not_a_number_ends_the_run_and_is_placed();
    garbage_ends_in_tokens_or_in_a_clear_error();
    unlink(model);
    return check_result();
}
