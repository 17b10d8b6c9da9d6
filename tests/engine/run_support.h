/* What the tests of whole runs share: a tiny random model in a temporary file, plans over it, made-up pages,
 * and a loop that steps a run to its end. Uses the public interface alone. */
#ifndef UOCR_TESTS_RUN_SUPPORT_H
#define UOCR_TESTS_RUN_SUPPORT_H

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "model_builder.h"
#include "uocr.h"

#ifndef TINY_BACKEND /* tests of other back ends compile these programs for theirs */
#define TINY_BACKEND UOCR_BACKEND_AUTO
#endif

enum { TINY_IMAGE = 59, TINY_USABLE = 60, TINY_VOCAB = 64, TINY_EOS = 1, TINY_PROMPT = 4096 };

/* ---- the model ---- */

static inline float tiny_uniform(uint64_t *state, float amplitude) {
    return amplitude * (float)((double)(check_random(state) >> 11) / 0x1p52 - 1);
}

/* Rounds towards zero; normal numbers and zero only. */
static inline uint16_t tiny_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 112;
    return exponent <= 0
               ? 0
               : (uint16_t)(bits >> 16 & 0x8000) | (uint16_t)(exponent << 10) | (bits >> 13 & 0x3FF);
}

static inline void tiny_put(uint8_t *payload, uint32_t dtype, uint64_t i, float value) {
    uint16_t half = tiny_half(value);
    if (dtype == B_F32) {
        put_f32(payload + 4 * i, value);
    } else {
        payload[2 * i] = (uint8_t)half;
        payload[2 * i + 1] = (uint8_t)(half >> 8);
    }
}

/* Random weights that keep activations near 1: norms about 1, matrices by their width, lively embeddings. */
static inline void tiny_fill(uint8_t *file, const built_tensor *t, uint64_t *state) {
    uint8_t *entry = entry_of(file, t->name);
    uint8_t *payload = file + get_u64(entry + 56), *scales = file + get_u64(entry + 72);
    uint64_t elements = elements_of(t);
    int norm = t->rank == 1 && strstr(t->name, ".weight") != NULL, vector = t->rank == 1;
    int lively = strstr(t->name, "embed_tokens") || strstr(t->name, "lm_head");
    float width = (float)(elements / t->shape[0]);
    float amplitude = vector ? 0.1f : lively ? 1.0f : 1.7f / sqrtf(width);
    for (uint64_t i = 0; t->dtype <= B_F16 && i < elements; i++) {
        tiny_put(payload, t->dtype, i, (norm ? 1.0f : 0.0f) + tiny_uniform(state, amplitude));
    }
    for (uint64_t i = 0; t->dtype == B_Q8 && i < elements; i++) {
        payload[i] = (uint8_t)(int8_t)((int)(check_random(state) % 255) - 127);
    }
    for (uint64_t i = 0; t->dtype == B_Q4 && i < elements / 2; i++)
        payload[i] = (uint8_t)check_random(state);
    for (uint64_t i = 0; t->dtype >= B_Q8 && i < elements / 64; i++) {
        tiny_put(scales, B_F16, i, amplitude / (t->dtype == B_Q8 ? 127.0f : 8.0f));
    }
}

typedef struct tiny_options {
    uint64_t seed;       /* 0: the constant weights of the builder, which repeat one token for ever */
    uint32_t positions;  /* 0: 4096 */
    uint32_t eos;        /* UINT32_MAX: id 0; 0: TINY_EOS */
    const char *spoiled; /* tensor whose first element becomes `poison` */
    float poison;
    uint32_t garbage; /* payload bytes replaced by random ones, anywhere */
} tiny_options;

/* Writes the model to a new temporary file and its name to path[64]. */
static inline void tiny_write(char *path, tiny_options options) {
    static model_builder builder;
    size_t bytes;
    builder_begin(&builder);
    put_u32(builder.config + 68, options.positions ? options.positions : 4096);
    put_u32(builder.config + 16, options.eos == UINT32_MAX ? 0 : options.eos ? options.eos : TINY_EOS);
    uint8_t *file = builder_finish(&builder, &bytes);
    uint64_t state = options.seed;
    for (size_t i = 0; i < builder.count; i++) {
        const built_tensor *t = &builder.tensors[i];
        uint8_t *entry = entry_of(file, t->name), *payload = file + get_u64(entry + 56);
        if (options.seed != 0)
            tiny_fill(file, t, &state);
        if (options.spoiled && strcmp(t->name, options.spoiled) == 0) {
            uint16_t half = isnan(options.poison) ? 0x7E00 : 0x7C00;
            if (t->dtype == B_F32)
                put_f32(payload, options.poison);
            if (t->dtype == B_F16)
                payload[0] = (uint8_t)half, payload[1] = (uint8_t)(half >> 8);
            CHECK(t->dtype <= B_F16);
        }
        for (uint32_t j = 0; j < options.garbage; j++) {
            uint64_t place = check_random(&state) % get_u64(entry + 64);
            if (j % builder.count == i)
                payload[place] = (uint8_t)check_random(&state);
        }
        hash_tensor(file, entry);
    }
    repair_hashes(file, bytes);
    const char *folder = getenv("TMPDIR");
    snprintf(path, 64, "%s/uocr-test-XXXXXX", folder && strlen(folder) < 40 ? folder : "/tmp");
    int descriptor = mkstemp(path);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!out || fwrite(file, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        abort();
    }
    free(file);
}

/* ---- engine and plan ---- */

static inline uocr_engine_options tiny_engine_options(const char *path, uint32_t precision,
                                                      uint32_t threads) {
    return (uocr_engine_options){
        .size = sizeof(uocr_engine_options), .backend = TINY_BACKEND, .precision = precision, .threads = threads,
        .model_path = path};
}

static inline uocr_engine *tiny_open(const char *path, uint32_t precision, uint32_t threads) {
    uocr_engine_options options = tiny_engine_options(path, precision, threads);
    uocr_error error = {.size = sizeof error};
    uocr_engine *engine = NULL;
    if (uocr_engine_open(&options, &engine, &error) != UOCR_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    return engine;
}

static inline uint32_t tiny_rows(uint32_t pages, uint32_t size, uint32_t cols, uint32_t rows) {
    uint32_t side = size / 64;
    return pages * (side * (side + 1) + 1) + 10 * rows * (rows ? 10 * cols + 1 : 0);
}

/* A plan of counts with a prompt that suits it: bos, the image ids, three words. `ids` has TINY_PROMPT
 * places. */
static inline uocr_plan tiny_plan(int32_t *ids, uint32_t pages, uint32_t size, uint32_t cols, uint32_t rows) {
    uint32_t visual = tiny_rows(pages, size, cols, rows), count = 0;
    if (visual + 4 > TINY_PROMPT)
        abort();
    ids[count++] = 0;
    for (uint32_t i = 0; i < visual; i++)
        ids[count++] = TINY_IMAGE;
    for (int32_t word = 20; word < 23; word++)
        ids[count++] = word;
    return (uocr_plan){.size = sizeof(uocr_plan),
                       .pages = pages,
                       .global_size = size,
                       .crop_cols = cols,
                       .crop_rows = rows,
                       .prompt_count = count,
                       .prompt_ids = ids,
                       .max_new_tokens = 40};
}

static inline uocr_run *tiny_begin(uocr_engine *engine, const uocr_plan *plan) {
    uocr_error error = {.size = sizeof error};
    uocr_run *run = NULL;
    if (uocr_run_begin(engine, plan, &run, &error) != UOCR_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    return run;
}

/* ---- running ---- */

/* The made-up picture of a view, of `stride` bytes a row; free it. */
static inline uint8_t *tiny_pixels(uint32_t view, uint32_t size, size_t stride) {
    uint8_t *pixels = malloc(stride * size);
    uint64_t state = 1000 + view;
    memset(pixels, 0xEE, stride * size); /* padding that no result may depend on */
    for (uint32_t y = 0; y < size; y++)
        for (uint32_t x = 0; x < 3 * size; x++)
            pixels[y * stride + x] = (uint8_t)check_random(&state);
    return pixels;
}

static inline uocr_status tiny_feed(uocr_run *run, const uocr_plan *plan, uint32_t view, uocr_error *error) {
    uint32_t size = view < plan->crop_cols * plan->crop_rows ? 640 : plan->global_size;
    uint8_t *pixels = tiny_pixels(view, size, 3 * size);
    uocr_status status = uocr_run_feed_view(run, view, pixels, size, size, 0, error);
    free(pixels);
    return status;
}

typedef struct outcome {
    uocr_status status; /* of the last step */
    uocr_error error;
    uint32_t finish, steps, views, tokens, guard_hits;
    int32_t id[512]; /* the first 512 tokens */
    float logprob[512];
} outcome;

/* Steps to the end, feeding views, at most `limit` steps (0: no limit). */
static inline void tiny_drive(uocr_run *run, const uocr_plan *plan, uint32_t limit, outcome *out) {
    uocr_event event = {.size = sizeof event};
    memset(out, 0, sizeof *out);
    out->error.size = sizeof out->error;
    while (out->finish == UOCR_FINISH_NONE && (limit == 0 || out->steps < limit)) {
        out->status = uocr_run_step(run, &event, &out->error);
        out->finish = event.finish;
        out->steps++;
        if (out->status != UOCR_OK)
            return;
        if (event.kind == UOCR_EVENT_NEED_VIEW) {
            CHECK_EQUAL(event.view, out->views);
            CHECK_EQUAL(tiny_feed(run, plan, event.view, &out->error), UOCR_OK);
            out->views++;
        } else if (event.kind == UOCR_EVENT_TOKEN) {
            if (out->tokens < 512) {
                out->id[out->tokens] = event.token;
                out->logprob[out->tokens] = event.logprob;
            }
            out->tokens++;
            out->guard_hits += event.guard_acted;
        }
    }
}

/* Begins, drives to the end, ends. */
static inline void tiny_read(uocr_engine *engine, const uocr_plan *plan, outcome *out) {
    uocr_run *run = tiny_begin(engine, plan);
    tiny_drive(run, plan, 0, out);
    uocr_run_end(run);
}

static inline void check_same_tokens(const outcome *a, const outcome *b) {
    CHECK_EQUAL(a->tokens, b->tokens);
    CHECK(memcmp(a->id, b->id, sizeof a->id) == 0);
    CHECK(memcmp(a->logprob, b->logprob, sizeof a->logprob) == 0);
}

static inline uint64_t memory_now(const uocr_engine *engine) {
    uocr_memory_report report = {.size = sizeof report};
    uocr_engine_memory(engine, &report);
    return report.current_total;
}

#endif
