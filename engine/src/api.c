/* Opening, describing and closing an engine; the rest of uocr.h that is not a run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "admit.h"
#include "engine.h"
#include "processors.h"
#include "request.h"
#include "status.h"
#include "threads.h"

enum { MOST_THREADS = 256 };

uint32_t uocr_abi_version(void) { return UOCR_ABI_VERSION; }

const char *uocr_version(void) { return UOCR_VERSION_STRING; }

const char *uocr_memory_category_name(uint32_t category) {
    static const char *const names[UOCR_MEMORY_CATEGORIES] = {
        "model views",  "KV cache",        "prompt embeddings", "vision workspace", "vision features",
        "host staging", "decoder scratch", "MoE scratch",       "logits",           "transient"};
    return category < UOCR_MEMORY_CATEGORIES ? names[category] : NULL;
}

/* 80 % of what this process may use of the machine. */
static uint64_t default_budget(void) {
    uint64_t memory = uocr_usable_memory();
    return memory > 0 ? memory / 5 * 4 : UINT64_MAX;
}

static uocr_status check_options(const uocr_engine_options *options, uocr_error *error) {
    if (!options->model_path) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0, "model_path is NULL; name a .uocr file.");
    }
    if (options->backend > UOCR_BACKEND_METAL) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, options->backend, UOCR_BACKEND_METAL,
                         "Back end %" PRIu32 " is unknown; use auto (0), cpu (1) or metal (2).",
                         options->backend);
    }
#ifndef UOCR_GPU
    if (options->backend == UOCR_BACKEND_METAL) {
        return uocr_fail(error, UOCR_BACKEND, UOCR_BACKEND_METAL, 0,
                         "The Metal back end is not in this build; use the cpu back end.");
    }
#endif
    if (options->precision > UOCR_PRECISION_INTEGER) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, options->precision, UOCR_PRECISION_INTEGER,
                         "Precision %" PRIu32 " is unknown; use fast (0), exact (1) or integer (2).",
                         options->precision);
    }
    if (options->simd > UOCR_SIMD_BASELINE) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, options->simd, UOCR_SIMD_BASELINE,
                         "simd %" PRIu32 " is unknown; use auto (0), portable (1) or baseline (2).", options->simd);
    }
    if (options->threads > MOST_THREADS) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, options->threads, MOST_THREADS,
                         "%" PRIu32
                         " threads were asked for; at most %d, or 0 for as many as there are processors.",
                         options->threads, MOST_THREADS);
    }
    return UOCR_OK;
}

static uocr_status open_cpu(uocr_engine *engine, const uocr_engine_options *options, uocr_error *error) {
    return uocr_backend_cpu_create(&engine->file.config, engine->threads, options->precision, options->simd,
                                   &engine->memory, &engine->profile, &engine->backend, error);
}

/* The GPU where it was asked for, or where it comes first. */
static bool wants_gpu(const uocr_engine_options *options) {
#ifdef UOCR_GPU_FIRST
    return options->backend != UOCR_BACKEND_CPU;
#else
    return options->backend == UOCR_BACKEND_METAL;
#endif
}

#ifdef UOCR_GPU
/* What a GPU can hold at once is the budget, and no budget is larger. */
static uocr_status bound_budget(uocr_engine *engine, uint64_t asked, uocr_error *error) {
    uint64_t working_set = engine->backend->working_set;
    if (working_set > 0 && asked > working_set) {
        return uocr_fail(error, UOCR_OVER_BUDGET, asked, working_set,
                         "The memory budget is %.1f MB and this GPU holds at most %.1f MB at once; lower it, or "
                         "use the cpu back end.",
                         (double)asked / 1e6, (double)working_set / 1e6);
    }
    engine->memory.budget = asked > 0 ? asked : working_set > 0 ? working_set : default_budget();
    return UOCR_OK;
}

/* Where the GPU only comes first, what keeps it from opening is no error. */
static uocr_status open_gpu(uocr_engine *engine, const uocr_engine_options *options, uocr_error *error) {
    bool must = options->backend == UOCR_BACKEND_METAL;
    uocr_status status = uocr_backend_gpu_open(&engine->file, options->precision, &engine->memory, &engine->profile,
                                               &engine->backend, must ? error : NULL);
    if (status != UOCR_OK) {
        return must ? status : UOCR_OK;
    }
    return bound_budget(engine, options->memory_budget, error);
}
#endif

static uocr_status model_fits(const uocr_engine *engine, uocr_error *error) {
    uint64_t held = engine->file.bytes + sizeof *engine, budget = engine->memory.budget;
    return held <= budget ? UOCR_OK
                          : uocr_fail(error, UOCR_OVER_BUDGET, held, budget,
                                      "%s alone takes %.1f MB and the memory budget is %.1f MB; raise it or use a file "
                                      "with smaller weights (q8, q4).",
                                      engine->file.path, (double)held / 1e6, (double)budget / 1e6);
}

/* A back end that finds no room within the budget: said with the numbers. */
static uocr_status no_room(const uocr_engine *engine, const char *advice, uocr_error *error) {
    uint64_t held = engine->file.bytes + sizeof *engine, budget = engine->memory.budget;
    return uocr_fail(error, UOCR_OVER_BUDGET, held, budget,
                     "%s takes %.1f MB, which leaves too little of the memory budget of %.1f MB for %s.",
                     engine->file.path, (double)held / 1e6, (double)budget / 1e6, advice);
}

static uocr_status open_backend(uocr_engine *engine, const uocr_engine_options *options, uocr_error *error) {
#ifdef UOCR_GPU
    if (wants_gpu(options)) {
        uocr_status opened = open_gpu(engine, options, error);
        if (opened == UOCR_OUT_OF_MEMORY && options->memory_budget > 0) {
            return no_room(engine, "the GPU back end; raise it or use the cpu back end", error);
        }
        UOCR_TRY(opened);
        if (engine->backend) {
            return UOCR_OK;
        }
        engine->memory.budget = options->memory_budget > 0 ? options->memory_budget : default_budget();
        UOCR_TRY(model_fits(engine, error));
    }
#endif
    uocr_status status = open_cpu(engine, options, error);
    char threads[80];
    snprintf(threads, sizeof threads, "%" PRIu32 " threads; raise it or ask for fewer threads", engine->threads);
    return status == UOCR_OUT_OF_MEMORY ? no_room(engine, threads, error) : status;
}

static uocr_status start(uocr_engine *engine, const uocr_engine_options *options, uocr_error *error) {
    UOCR_TRY(uocr_model_file_open(options->model_path, &engine->file, error));
    UOCR_TRY(uocr_weights_bind(&engine->file, &engine->weights, error));
    engine->profile.enabled = options->profile != 0;
    engine->profile.counts_alone = options->profile == UOCR_PROFILE_COUNTS;
    engine->threads = options->threads > 0 ? options->threads : uocr_pool_default_threads();
    engine->memory.budget = options->memory_budget > 0 ? options->memory_budget
                            : wants_gpu(options)       ? UINT64_MAX /* its working set, once it is open */
                                                       : default_budget();
    UOCR_TRY(model_fits(engine, error));
    uocr_memory_count(&engine->memory, UOCR_MEMORY_MODEL, engine->file.bytes);
    uocr_memory_count(&engine->memory, UOCR_MEMORY_TRANSIENT, sizeof *engine);
    UOCR_TRY(open_backend(engine, options, error));
    UOCR_TRY(model_fits(engine, error));
    engine->idle_transient = atomic_load(&engine->memory.current[UOCR_MEMORY_TRANSIENT]);
    return UOCR_OK;
}

static void stop(uocr_engine *engine) {
    if (engine->backend) {
        engine->backend->destroy(engine->backend);
    }
    uocr_model_file_close(&engine->file);
    free(engine);
}

uocr_status uocr_engine_open(const uocr_engine_options *theirs, uocr_engine **out, uocr_error *error) {
    uocr_engine_options options;
    if (!theirs || !out || uocr_abi_size(theirs) <= sizeof theirs->size) {
        return uocr_fail(
            error, UOCR_INVALID_ARGUMENT, 0, sizeof options,
            "uocr_engine_open needs a place for the engine and options whose size field is set to "
            "sizeof(uocr_engine_options).");
    }
    *out = NULL;
    uocr_abi_read(&options, sizeof options, theirs);
    UOCR_TRY(check_options(&options, error));
    uocr_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, sizeof *engine, 0,
                         "The system refused memory for an engine.");
    }
    uocr_status status = start(engine, &options, error);
    if (status != UOCR_OK) {
        stop(engine);
        return status;
    }
    *out = engine;
    return UOCR_OK;
}

void uocr_engine_close(uocr_engine *engine) {
    if (engine && !atomic_load(&engine->busy)) { /* memory that leaks is kinder than a run on freed memory */
        stop(engine);
    }
}

static uint64_t stored_parameters(const uocr_model_file *file) {
    uint64_t parameters = 0;
    for (uint64_t i = 0; i < file->tensor_count; i++) {
        uocr_file_tensor tensor;
        uocr_model_file_tensor(file, i, &tensor);
        parameters += tensor.shape[0] * tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
    }
    return parameters;
}

uocr_status uocr_engine_info(const uocr_engine *engine, uocr_model_info *out, uocr_error *error) {
    if (!engine || !out || uocr_abi_size(out) <= sizeof out->size) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, sizeof *out,
                         "uocr_engine_info needs an engine and an info whose size field is set.");
    }
    const uocr_config *config = &engine->file.config;
    uocr_model_info info = {.profile = engine->file.profile,
                            .vocab_size = config->vocab_size,
                            .usable_vocab = config->usable_vocab,
                            .bos_id = config->bos_id,
                            .eos_id = config->eos_id,
                            .pad_id = config->pad_id,
                            .image_id = config->image_id,
                            .hidden_size = config->hidden,
                            .layers = config->layers,
                            .heads = config->heads,
                            .head_dim = config->head_dim,
                            .experts = config->experts,
                            .experts_per_token = config->top_k,
                            .max_positions = config->max_positions,
                            .ring_window = config->ring_window,
                            .threads = engine->threads,
                            .file_bytes = engine->file.bytes,
                            .parameters = stored_parameters(&engine->file),
                            .budget = engine->memory.budget};
    snprintf(info.backend, sizeof info.backend, "%s", engine->backend->name);
    snprintf(info.simd, sizeof info.simd, "%s", engine->backend->simd);
    memcpy(info.model_id, engine->file.model_id, sizeof info.model_id);
    uocr_abi_write(out, &info, sizeof info);
    return UOCR_OK;
}

const char *uocr_engine_text(const uocr_engine *engine, uint32_t which, size_t *bytes) {
    bool known = engine && (which == UOCR_TEXT_FRONT_END || which == UOCR_TEXT_TOKENIZER ||
                            which == UOCR_TEXT_PROVENANCE);
    if (bytes) {
        *bytes = known ? engine->file.text[which].bytes : 0;
    }
    return known ? (const char *)engine->file.text[which].data : NULL;
}

uocr_status uocr_engine_verify(uocr_engine *engine, uocr_error *error) {
    if (!engine) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0, "uocr_engine_verify needs an engine.");
    }
    return uocr_model_file_verify(&engine->file, error);
}

uocr_status uocr_estimate(uocr_engine *engine, const uocr_plan *plan, uocr_memory_estimate *out,
                          uocr_error *error) {
    uocr_request request;
    uocr_memory_estimate estimate;
    if (!engine || !out || uocr_abi_size(out) <= sizeof out->size) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, sizeof *out,
                         "uocr_estimate needs an engine and an estimate whose size field is set.");
    }
    UOCR_TRY(uocr_request_check(&engine->file.config, plan, &request, error));
    uocr_admit_estimate(engine, &request, &estimate);
    uocr_abi_write(out, &estimate, sizeof estimate);
    return UOCR_OK;
}

void uocr_engine_memory(const uocr_engine *engine, uocr_memory_report *out) {
    uocr_memory_report report;
    if (engine && out) {
        uocr_memory_report_fill(&engine->memory, &report);
        uocr_abi_write(out, &report, sizeof report);
    }
}

void uocr_engine_profile(const uocr_engine *engine, uocr_profile_report *out) {
    if (!engine || !out) {
        return;
    }
    uocr_profile_report report = {.count = engine->profile.count};
    memcpy(report.row, engine->profile.row, sizeof report.row);
    uocr_abi_write(out, &report, sizeof report);
}

void uocr_engine_profile_reset(uocr_engine *engine) {
    if (engine) {
        engine->profile.count = 0;
    }
}
