/* libuocr: reads a page picture with an Unlimited-OCR model file, entirely on this machine.
 *
 *   open an engine -> estimate a plan -> begin a run -> step it until DONE -> end it -> close the engine
 *
 * The caller pulls: every uocr_run_step does one bounded piece of work and returns an event. There are no callbacks.
 * Every struct that crosses this interface begins with `size`, set by the caller to sizeof of its own version.
 * Sizes are bytes, times are seconds, log-probabilities are natural logarithms. Nothing here is thread-safe except
 * where "from any thread" is written. SPDX-License-Identifier: Apache-2.0 */
#ifndef UOCR_H
#define UOCR_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define UOCR_API
#else
#define UOCR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define UOCR_ABI_VERSION 1

typedef int32_t uocr_status;
enum {
    UOCR_OK = 0,
    UOCR_INVALID_ARGUMENT = 1, /* an option or plan contradicts itself or the model */
    UOCR_MODEL_FILE = 2,       /* the model file is missing, truncated, altered, foreign or from the future */
    UOCR_OVER_BUDGET = 3,      /* refused before any allocation; number = needed, limit = budget */
    UOCR_OUT_OF_MEMORY = 4,    /* the system refused memory that the budget allowed */
    UOCR_BUSY = 5,             /* another run is open on this engine */
    UOCR_BACKEND = 6,          /* the back end is not available or failed */
    UOCR_NON_FINITE = 7,       /* Inf or NaN in the network: the run ended with UOCR_FINISH_ERROR */
    UOCR_STATE = 8,            /* the call does not fit the state of the run */
    UOCR_CANCELLED = 9,        /* internal to a step; a cancelled run reports UOCR_FINISH_CANCELLED */
};

typedef struct uocr_error { /* filled when a call returns anything but UOCR_OK; may be NULL */
    uint32_t size;
    uocr_status status;
    uint64_t number;    /* the value that was wrong, 0 if none */
    uint64_t limit;     /* the value that was allowed, 0 if none */
    char message[1008]; /* one sentence, UTF-8, NUL-terminated */
} uocr_error;

/* ---- engine ---- */

typedef struct uocr_engine uocr_engine;

enum { UOCR_BACKEND_AUTO = 0, UOCR_BACKEND_CPU = 1, UOCR_BACKEND_METAL = 2 };
enum {
    UOCR_PRECISION_FAST = 0, /* f16 K cache, integer activations in the decoder */
    UOCR_PRECISION_EXACT = 1, /* f32 activations, f32 K and V, fixed summation order: the reference */
    UOCR_PRECISION_INTEGER = 2 /* FAST, and so in vision: where a gate allows it */
};
enum { UOCR_SIMD_AUTO = 0, UOCR_SIMD_PORTABLE = 1, UOCR_SIMD_BASELINE = 2 }; /* plain C; AVX2 or NEON alone */

typedef struct uocr_engine_options {
    uint32_t size;
    uint32_t backend;
    uint32_t precision;
    uint32_t threads; /* 0: as many as this process may use; at most 256 */
    uint32_t simd;
    uint32_t profile;       /* 1: time every operator (slower); 2: count alone */
    uint64_t memory_budget; /* bytes for everything including the mapped model; 0: 80 % of this machine's memory */
    const char *model_path; /* UTF-8 */
} uocr_engine_options;

typedef struct uocr_model_info {
    uint32_t size;
    uint32_t profile; /* 0 f32, 1 f16, 2 q8, 3 q4 */
    uint32_t vocab_size, usable_vocab, bos_id, eos_id, pad_id, image_id;
    uint32_t hidden_size, layers, heads, head_dim, experts, experts_per_token;
    uint32_t max_positions, ring_window;
    uint32_t threads; /* in use */
    char backend[16]; /* "cpu", "metal" */
    char simd[16]; /* the instruction set: "avx2" */
    uint64_t file_bytes; /* mapped */
    uint64_t parameters; /* stored in the file */
    uint64_t budget; /* bytes in force */
    uint8_t model_id[32]; /* identity of the weights */
} uocr_model_info;

/* Text sections of the model file, valid until close. */
enum { UOCR_TEXT_FRONT_END = 2, UOCR_TEXT_TOKENIZER = 4, UOCR_TEXT_PROVENANCE = 5 };

UOCR_API uint32_t uocr_abi_version(void);
UOCR_API const char *uocr_version(void);
UOCR_API uocr_status uocr_engine_open(const uocr_engine_options *, uocr_engine **, uocr_error *);
UOCR_API void uocr_engine_close(uocr_engine *); /* no run may be open */
UOCR_API uocr_status uocr_engine_info(const uocr_engine *, uocr_model_info *, uocr_error *);
UOCR_API const char *uocr_engine_text(const uocr_engine *, uint32_t which, size_t *bytes); /* not NUL-terminated */
UOCR_API uocr_status uocr_engine_verify(uocr_engine *, uocr_error *); /* every payload hash; reads the whole file */

/* ---- plan, estimate ---- */

/* A plan is counts only: it can be estimated and admitted before any page is rasterised.
 * Views are numbered in the order of their visual rows: crops row by row, then the global view; or page by page. */
typedef struct uocr_plan {
    uint32_t size;
    uint32_t pages;       /* global views: 1, or n for one pass over n pages; 0: text only */
    uint32_t global_size; /* pixels a side: a multiple of 64, 512..1280 */
    uint32_t crop_cols, crop_rows; /* grid of 640-pixel crops, 0 x 0 for none; only with pages == 1 */
    uint32_t prompt_count;
    const int32_t *prompt_ids; /* image ids in one run, exactly as many as there are visual rows */
    uint32_t max_new_tokens;   /* 0: up to the model's last position */
    uint32_t ring_window;      /* 0: the model's */
    uint32_t ignore_eos;       /* non-zero: never choose eos (measuring) */
    uint32_t allow_padding_ids; /* non-zero: ids the tokenizer cannot emit take part */
    uint32_t ngram_size, ngram_window; /* repeat guard over prompt and output; size 0: off */
    uint32_t guard_allow_count;        /* ids the guard never bans */
    const int32_t *guard_allow;
    uint32_t loop_guard_hits; /* verdict "loop": the guard acted so often in loop_history steps */
    uint32_t loop_history;    /* 0: no verdict. Usual: 8 of 256 */
    uint32_t loop_period_max; /* guard off: longest period of the last loop_history ids. Usual: 94, 990 */
    uint32_t ngram_cycle;     /* as ngram_size, for 1 to 4 ids that repeat at once; 0: off */
} uocr_plan;

enum {
    UOCR_MEMORY_MODEL = 0, /* views of the mapped file */
    UOCR_MEMORY_KV_CACHE,
    UOCR_MEMORY_PROMPT_EMBEDDINGS,
    UOCR_MEMORY_VISION_WORKSPACE,
    UOCR_MEMORY_VISION_FEATURES,
    UOCR_MEMORY_HOST_STAGING,    /* one view as bytes */
    UOCR_MEMORY_DECODER_SCRATCH,
    UOCR_MEMORY_MOE_SCRATCH,
    UOCR_MEMORY_LOGITS,
    UOCR_MEMORY_TRANSIENT,       /* threads, packing panels, book-keeping */
    UOCR_MEMORY_CATEGORIES
};
UOCR_API const char *uocr_memory_category_name(uint32_t category); /* NULL past the last */

typedef struct uocr_memory_estimate {
    uint32_t size;
    uint32_t fits; /* 1: total <= budget */
    uint64_t category[UOCR_MEMORY_CATEGORIES]; /* peak of each; they do not all peak at once */
    uint64_t vision_peak, decoder_peak; /* without the model views */
    uint64_t total;                     /* model views + the larger of the two */
    uint64_t budget;
    uint32_t visual_rows;
    uint32_t max_new_tokens; /* after clamping to the model's positions */
    uint32_t views;
    uint32_t most_pages_that_fit; /* with this view size; 0: not even one */
} uocr_memory_estimate;

typedef struct uocr_memory_report {
    uint32_t size;
    uint32_t reserved;
    uint64_t current[UOCR_MEMORY_CATEGORIES], peak[UOCR_MEMORY_CATEGORIES]; /* peaks since the last run began */
    uint64_t current_total, peak_total, budget;
} uocr_memory_report;

UOCR_API uocr_status uocr_estimate(uocr_engine *, const uocr_plan *, uocr_memory_estimate *, uocr_error *);
UOCR_API void uocr_engine_memory(const uocr_engine *, uocr_memory_report *); /* from any thread */

/* ---- run ---- */

typedef struct uocr_run uocr_run;

enum { UOCR_PHASE_VISION = 0, UOCR_PHASE_PREFILL = 1, UOCR_PHASE_DECODE = 2, UOCR_PHASE_DONE = 3 };
enum {
    UOCR_EVENT_NEED_VIEW = 0, /* feed view `view`, then step again */
    UOCR_EVENT_PROGRESS = 1,  /* a piece of vision or prefill is done */
    UOCR_EVENT_TOKEN = 2,     /* one token was chosen */
    UOCR_EVENT_DONE = 3       /* nothing more to do: `finish` says why */
};
enum {
    UOCR_FINISH_NONE = 0,
    UOCR_FINISH_EOS = 1,
    UOCR_FINISH_LENGTH = 2,
    UOCR_FINISH_LOOP = 3,
    UOCR_FINISH_CANCELLED = 4,
    UOCR_FINISH_ERROR = 5
};

typedef struct uocr_event {
    uint32_t size;
    uint32_t kind, phase, finish;
    uint32_t done, total;  /* vision: pieces; prefill: prompt tokens; decode: generated tokens and their limit */
    uint32_t view;         /* NEED_VIEW: which; vision PROGRESS: the view being encoded */
    int32_t token;         /* TOKEN: the id, eos included */
    uint32_t guard_acted;  /* TOKEN: the repeat guard changed the choice */
    float logprob;         /* TOKEN: raw, before the guard, over ids the tokenizer can emit */
    double vision_s, prefill_s, decode_s; /* so far */
} uocr_event;

UOCR_API uocr_status uocr_run_begin(uocr_engine *, const uocr_plan *, uocr_run **, uocr_error *);
/* One bounded piece of work. After an error status the run is over: end it; the engine stays usable. */
UOCR_API uocr_status uocr_run_step(uocr_run *, uocr_event *, uocr_error *);
/* 8-bit RGB, `stride` bytes a row (0: tightly packed), width == height == the view's size. Copied before returning. */
UOCR_API uocr_status uocr_run_feed_view(uocr_run *, uint32_t view, const uint8_t *rgb, uint32_t width, uint32_t height,
                                        size_t stride, uocr_error *);
UOCR_API void uocr_run_cancel(uocr_run *); /* from any thread; the step in flight returns within one tile of work */
UOCR_API void uocr_run_end(uocr_run *);    /* frees everything the run held, whatever its state */

/* ---- profile ---- */

#define UOCR_PROFILE_ROWS 64
typedef struct uocr_profile_row {
    char name[32]; /* operator, with the phase before a slash: "decode/experts" */
    uint64_t calls, bytes; /* bytes of weights, K and V read */
    double seconds, flops;
} uocr_profile_row;
typedef struct uocr_profile_report {
    uint32_t size;
    uint32_t count;
    uocr_profile_row row[UOCR_PROFILE_ROWS];
} uocr_profile_report;
UOCR_API void uocr_engine_profile(const uocr_engine *, uocr_profile_report *); /* since open or reset */
UOCR_API void uocr_engine_profile_reset(uocr_engine *);

#ifdef __cplusplus
}
#endif
#endif
