#include "admit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "run.h"
#include "status.h"

static uint64_t held(const uocr_arena *arena) {
    return arena->used > 0 ? uocr_memory_rounded(arena->used) : 0;
}

static void add_vision(const uocr_model *model, const uocr_request *request, uint64_t *category) {
    uocr_vision vision;
    uocr_arena features = {.category = UOCR_MEMORY_VISION_FEATURES};
    if (request->views == 0) {
        return;
    }
    uocr_vision_measure(model, request, &vision);
    uocr_arena_tensor(&features, UOCR_F32, request->visual_rows, model->config->hidden);
    category[UOCR_MEMORY_HOST_STAGING] += held(&vision.staging);
    category[UOCR_MEMORY_VISION_WORKSPACE] +=
        held(&vision.tensors) + held(&vision.workspace) + uocr_memory_rounded(vision.scratch_bytes);
    category[UOCR_MEMORY_VISION_FEATURES] += held(&features);
}

static void add_decoder(const uocr_model *model, const uocr_request *request, uint64_t *category) {
    uocr_decoder decoder = {0};
    uocr_decoder_layout(model, request->prompt, request->ring, &decoder);
    const uocr_decoder_memory *memory = &decoder.memory;
    const uocr_arena *arenas[] = {&memory->kv,  &memory->embeddings,    &memory->scratch, &memory->workspace,
                                  &memory->moe, &memory->moe_workspace, &memory->logits};
    for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) {
        category[arenas[i]->category] += held(arenas[i]);
    }
}

static void fill(const uocr_engine *engine, const uocr_request *request, uocr_memory_estimate *estimate) {
    uocr_model model = uocr_engine_model(engine);
    uint64_t *category = estimate->category;
    *estimate = (uocr_memory_estimate){.size = sizeof *estimate};
    category[UOCR_MEMORY_MODEL] = engine->file.bytes;
    category[UOCR_MEMORY_TRANSIENT] =
        engine->idle_transient + uocr_memory_rounded(uocr_run_bytes(request)) + uocr_sampler_bytes(request) +
        uocr_run_ahead_bytes(&model, request);
    add_vision(&model, request, category);
    add_decoder(&model, request, category);
    uint64_t both = category[UOCR_MEMORY_TRANSIENT] + category[UOCR_MEMORY_VISION_FEATURES];
    estimate->vision_peak =
        both + category[UOCR_MEMORY_HOST_STAGING] + category[UOCR_MEMORY_VISION_WORKSPACE];
    estimate->decoder_peak = both + category[UOCR_MEMORY_KV_CACHE] + category[UOCR_MEMORY_PROMPT_EMBEDDINGS] +
                             category[UOCR_MEMORY_DECODER_SCRATCH] + category[UOCR_MEMORY_MOE_SCRATCH] +
                             category[UOCR_MEMORY_LOGITS];
    estimate->total =
        category[UOCR_MEMORY_MODEL] +
        (estimate->vision_peak > estimate->decoder_peak ? estimate->vision_peak : estimate->decoder_peak);
    estimate->budget = engine->memory.budget;
    estimate->fits = estimate->total <= estimate->budget;
    estimate->visual_rows = request->visual_rows;
    estimate->views = request->views;
    estimate->max_new_tokens = request->max_new;
}

/* The same text around `pages` views of `size` pixels. False: the model has not enough positions. */
static bool with_pages(const uocr_engine *engine, const uocr_request *request, uint32_t pages, uint32_t size,
                       uocr_request *other) {
    *other = *request;
    other->layout =
        (uocr_layout){.pages = pages, .global_side = size / 64, .crop_side = request->layout.crop_side};
    other->global_size = size;
    other->views = pages;
    other->visual_rows = uocr_layout_rows(&other->layout);
    uint64_t prompt = (uint64_t)request->prompt - request->visual_rows + other->visual_rows;
    other->prompt = (uint32_t)prompt;
    return prompt < engine->file.config.max_positions;
}

static bool pages_fit(const uocr_engine *engine, const uocr_request *request, uint32_t pages, uint32_t size) {
    uocr_request other;
    uocr_memory_estimate estimate;
    if (!with_pages(engine, request, pages, size, &other)) {
        return false;
    }
    fill(engine, &other, &estimate);
    return estimate.fits;
}

/* From the most that the positions allow downwards: needs do not grow evenly, since prefill chunks are
 * balanced. */
static uint32_t most_pages(const uocr_engine *engine, const uocr_request *request) {
    uocr_layout one = {.pages = 1, .global_side = request->layout.global_side};
    if (request->layout.pages == 0) {
        return 0;
    }
    uint32_t pages = engine->file.config.max_positions / uocr_layout_rows(&one);
    while (pages > 0 && !pages_fit(engine, request, pages, request->global_size)) {
        pages--;
    }
    return pages;
}

void uocr_admit_estimate(const uocr_engine *engine, const uocr_request *request,
                         uocr_memory_estimate *estimate) {
    fill(engine, request, estimate);
    if (request->layout.crop_cols > 0) { /* crops belong to one page */
        estimate->most_pages_that_fit = estimate->fits;
    } else {
        estimate->most_pages_that_fit = most_pages(engine, request);
    }
}

typedef struct text {
    char bytes[900];
    size_t used;
} text;

__attribute__((format(printf, 2, 3))) static void append(text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(out->bytes + out->used, sizeof out->bytes - out->used, format, arguments);
    va_end(arguments);
    out->used = uocr_min(out->used + (size_t)(wanted > 0 ? wanted : 0), sizeof out->bytes - 1);
}

static double megabytes(uint64_t bytes) { return (double)bytes / 1e6; }

static void append_table(text *out, const uocr_memory_estimate *estimate) {
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++) {
        append(out, "%s %s %.1f", c == 0 ? "" : ",", uocr_memory_category_name(c),
               megabytes(estimate->category[c]));
    }
}

static void append_advice(const uocr_engine *engine, const uocr_request *request, text *out) {
    static const uint32_t sizes[] = {1280, 1024, 640, 512};
    const uint32_t pages = request->layout.pages, most = pages > 1 ? most_pages(engine, request) : 0;
    if (most > 0) {
        append(out, "At most %" PRIu32 " pages of %" PRIu32 " pixels fit in one pass.", most,
               request->global_size);
        return;
    }
    if (request->layout.crop_cols > 0 && pages_fit(engine, request, 1, request->global_size)) {
        append(out, "The page without its crops would fit.");
        return;
    }
    for (size_t i = 0; pages > 0 && i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] < request->global_size && pages_fit(engine, request, 1, sizes[i])) {
            append(out, "One view of %" PRIu32 " pixels would fit.", sizes[i]);
            return;
        }
    }
    append(out, "Raise the budget or use a model file with smaller weights (q8, q4).");
}

uocr_status uocr_admit(const uocr_engine *engine, const uocr_request *request, uocr_error *error) {
    uocr_memory_estimate estimate;
    text table = {.used = 0}, advice = {.used = 0};
    fill(engine, request, &estimate);
    if (estimate.fits) {
        return UOCR_OK;
    }
    append_table(&table, &estimate);
    append_advice(engine, request, &advice);
    return uocr_fail(
        error, UOCR_OVER_BUDGET, estimate.total, estimate.budget,
        "This plan needs %.1f MB of memory and the budget is %.1f MB (in MB:%s; vision and decoder "
        "do not add). %s",
        megabytes(estimate.total), megabytes(estimate.budget), table.bytes, advice.bytes);
}
