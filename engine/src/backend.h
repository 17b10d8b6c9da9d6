/* The operator table: everything the model's mathematics needs from a machine, and the only way it gets it.
 *
 * The floors above (sam.c, clip.c, fuse.c, decoder.c, sample.c) are written once in these terms. A back end fills the
 * table; it is right when every operator agrees with the CPU's over tests/engine/test_ops. A back end may queue work:
 * values are visible to the host only after `read` or `finish`.
 *
 * Conventions
 *  - Activations are row-major tensors [rows, cols] of f32 in back-end buffers, contiguous unless `stride` says more.
 *    Residual streams are always f32.
 *  - Weights are views of the mapped file, [out, in] row-major, f32, f16, q8 or q4 (docs/model-format.md); they are
 *    dequantised inside the operators, never into memory.
 *  - Operators return UOCR_OK, UOCR_CANCELLED (the flag was raised; outputs are undefined) or UOCR_BACKEND.
 *  - Shapes have been checked by the caller; a violation is a bug, caught by assert in debug builds.
 *  - No operator allocates: what it needs beside its arguments comes from the workspace bound by bind_workspace, whose
 *    size is asked beforehand with the *_workspace functions (0 when a back end needs none).
 *  - y may alias x only where said. */
#ifndef UOCR_SRC_BACKEND_H
#define UOCR_SRC_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "model_file.h"
#include "profile.h"
#include "uocr.h"

typedef struct uocr_backend uocr_backend;
typedef struct uocr_buffer uocr_buffer; /* owned by the back end: host memory on the CPU, a device buffer on a GPU */

typedef struct uocr_tensor {
    uocr_buffer *buffer;
    size_t offset; /* bytes, a multiple of 16 */
    uocr_dtype dtype;
    size_t rows, cols;
    size_t stride; /* elements from row to row, >= cols */
} uocr_tensor;

typedef struct uocr_weight {
    uocr_dtype dtype;      /* f32, f16, q8, q4 */
    const uint8_t *payload; /* in the mapping */
    const uint8_t *scales;  /* f16 [rows, cols / 64], NULL without */
    size_t rows, cols;     /* of one matrix */
    size_t matrices;       /* stacked (experts), 1 otherwise */
} uocr_weight;

typedef enum uocr_activation { UOCR_IDENTITY = 0, UOCR_GELU_ERF, UOCR_GELU_QUICK } uocr_activation;

/* One product that shares its input with others: y = act(x W^T + bias), or y += ... */
typedef struct uocr_linear_part {
    const uocr_weight *weight; /* [out, in] */
    const uocr_weight *bias;   /* [out] f32 or f16 as a 1 x out matrix, NULL for none */
    uocr_tensor y;             /* [rows, out] f32 */
    uocr_activation activation;
    bool accumulate; /* y += result: residual connections; with UOCR_IDENTITY only */
    /* Optional low-rank pair: y += scale * (x A^T) B^T before the activation. A [rank, in], B [out, rank]; NULL for none. */
    const uocr_weight *adapter_a, *adapter_b;
    float adapter_scale;
} uocr_linear_part;

/* K and V of one decoder layer: slots 0..prompt-1 are the prompt, prompt..prompt+ring-1 the ring of generated tokens. */
typedef struct uocr_kv {
    uocr_tensor k, v; /* [heads * slots, head_dim], head-major; f32, or f16 under FAST */
    size_t heads, slots, head_dim;
} uocr_kv;

typedef struct uocr_choice {
    int32_t id;
    float logprob;     /* logits[id] - log_sum_exp */
    float log_sum_exp; /* over ids below `usable` */
    int32_t unguarded; /* the id without the ban list: differs from id when the guard acted */
    bool finite;       /* every logit below `usable` is finite */
} uocr_choice;

/* Tokens that a back end chooses by itself, so that between one and the next nothing waits for the host: choice, bans of
 *  the repeat guard and embedding stay with it. Greedy only. The host reads choices as it likes, in their order, at
 * most UOCR_AHEAD - 1 behind what was encoded; what was encoded beyond the last token is thrown away. */
enum { UOCR_AHEAD = 2 };

typedef struct uocr_ahead uocr_ahead;

typedef struct uocr_ahead_rules { /* what may be chosen */
    size_t usable;                 /* ids below this */
    uint32_t guard_size, guard_cycle, guard_window; /* of the repeat guard (ngram.h); size 0: off */
    const int32_t *allow;              /* ids that the guard never bans; must outlive the object */
    uint32_t allow_count;
    int32_t never; /* an id that is no choice at all, -1: none. uocr_choice.unguarded is never this one */
} uocr_ahead_rules;

typedef struct uocr_ahead_operators {
    bool (*takes)(const uocr_ahead_rules *); /* false: beyond its limits */
    size_t (*bytes)(void);                   /* of UOCR_MEMORY_TRANSIENT */
    uocr_status (*create)(uocr_backend *, const uocr_ahead_rules *, const int32_t *prompt, size_t count, uocr_ahead **);
    void (*destroy)(uocr_ahead *);
    uocr_status (*choose)(uocr_ahead *, uocr_tensor logits); /* encodes the choice of step 0, 1, ... */
    /* Encodes the embedding of the newest choice into dst [1, cols]. */
    uocr_status (*embed)(uocr_ahead *, const uocr_weight *table, uocr_tensor dst);
    uocr_status (*read)(uocr_ahead *, size_t step, uocr_choice *); /* waits for that step alone */
} uocr_ahead_operators;

struct uocr_backend {
    const char *name; /* "cpu" */
    const char *simd; /* "portable", "avx2", "neon"; "" on a GPU */
    uint32_t precision; /* UOCR_PRECISION_* */
    uint64_t working_set; /* bytes that the machine can hold at once, 0: not known */
    uocr_profile *profile;

    const uocr_ahead_operators *ahead; /* NULL: none */

    void (*destroy)(uocr_backend *);

    /* -- memory ------------------------------------------------------------------------------------------------ */
    uocr_buffer *(*buffer_create)(uocr_backend *, uint32_t category, size_t bytes); /* NULL: out of memory or budget */
    void (*buffer_destroy)(uocr_backend *, uocr_buffer *);
    uocr_status (*write)(uocr_backend *, uocr_buffer *, size_t offset, const void *source, size_t bytes);
    uocr_status (*read)(uocr_backend *, uocr_buffer *, size_t offset, void *target, size_t bytes); /* waits */
    uocr_status (*finish)(uocr_backend *); /* waits for all queued work; reports its errors */
    /* What failed last, for people; "" when nothing did. NULL: a back end that cannot fail. */
    const char *(*failure)(const uocr_backend *);
    void (*bind_workspace)(uocr_backend *, uocr_buffer *, size_t bytes); /* NULL unbinds */
    void (*watch_cancel)(uocr_backend *, const atomic_bool *);
    uocr_dtype (*kv_dtype)(const uocr_backend *, bool value); /* of the K (false) and V (true) caches */

    /* -- workspace an operator needs, bytes -------------------------------------------------------------------- */
    size_t (*linear_workspace)(const uocr_backend *, size_t rows, size_t in);
    size_t (*experts_workspace)(const uocr_backend *, size_t rows, size_t top_k, size_t experts, size_t hidden,
                                size_t intermediate);
    size_t (*swiglu_workspace)(const uocr_backend *, size_t rows, size_t hidden, size_t intermediate);
    size_t (*attention_workspace)(const uocr_backend *, size_t queries, size_t keys, size_t heads, size_t head_dim);
    size_t (*conv_workspace)(const uocr_backend *, size_t height, size_t width, size_t in, size_t out);

    /* -- common ------------------------------------------------------------------------------------------------ */
    /* Up to 3 products of the same x [rows, in]. */
    uocr_status (*linear)(uocr_backend *, uocr_tensor x, const uocr_linear_part *parts, size_t count);
    /* y = w * ((x - mean) / sqrt(var + eps)) + b per row, population variance. y may be x. */
    uocr_status (*layer_norm)(uocr_backend *, uocr_tensor x, const uocr_weight *w, const uocr_weight *b, float eps,
                              uocr_tensor y);
    /* y = w * x / sqrt(mean(x^2) + eps) per row. y may be x. */
    uocr_status (*rms_norm)(uocr_backend *, uocr_tensor x, const uocr_weight *w, float eps, uocr_tensor y);
    /* dst[dst_rows[i]] = src[src_rows[i]], i < count; NULL index means i. Rows of cols f32. */
    uocr_status (*copy_rows)(uocr_backend *, uocr_tensor src, const uint32_t *src_rows, uocr_tensor dst,
                             const uint32_t *dst_rows, size_t count);
    /* The same from a weight table [n, cols] (embedding lookup, newline, separator, class token). */
    uocr_status (*embed_rows)(uocr_backend *, const uocr_weight *table, const uint32_t *table_rows, uocr_tensor dst,
                              const uint32_t *dst_rows, size_t count);
    /* y += x, same shape. */
    uocr_status (*add)(uocr_backend *, uocr_tensor x, uocr_tensor y);
    /* *finite = every value of x is finite. Waits. */
    uocr_status (*all_finite)(uocr_backend *, uocr_tensor x, bool *finite);

    /* -- vision ------------------------------------------------------------------------------------------------ */
    /* rgb u8 [size * size, 3] -> y [(size/patch)^2, out]: pixels through the normalising table, one row of the weight
     * [out, patch * patch * 3] per output channel, bias. */
    uocr_status (*patch_embed)(uocr_backend *, uocr_tensor rgb, size_t size, size_t patch, const uocr_weight *w,
                               const uocr_weight *bias, uocr_tensor y);
    /* SAM attention over a grid x grid map. qkv [grid^2, 3 * width] (q, k, v; head-major inside each); windows of
     * `window` (window == grid: global). The map is padded to whole windows at the bottom and right with tokens whose
     * q, k, v equal `qkv_bias`, and they are not masked. Decomposed relative position with the unscaled q:
     * rel_h, rel_w [2 * window - 1, head_dim] f32. y [grid^2, width]. */
    uocr_status (*attention_grid)(uocr_backend *, uocr_tensor qkv, const uocr_weight *qkv_bias, uocr_tensor rel_h,
                                  uocr_tensor rel_w, size_t grid, size_t window, size_t heads, uocr_tensor y);
    /* Full attention, qkv [tokens, 3 * width], scale 1/sqrt(head_dim). y [tokens, width]. */
    uocr_status (*attention_full)(uocr_backend *, uocr_tensor qkv, size_t heads, uocr_tensor y);
    /* 3x3, zero padding 1. x [height * width, in] channels last, w [out, 3*3*in], y [(h/stride) * (w/stride), out]
     * (rounded up), no bias. */
    uocr_status (*conv3x3)(uocr_backend *, uocr_tensor x, size_t height, size_t width, size_t stride,
                           const uocr_weight *w, uocr_tensor y);

    /* -- decoder ----------------------------------------------------------------------------------------------- */
    /* Rotates q and k [rows, heads * head_dim] (half-split pairs, angle = position * theta^(-2i/d), f32) for positions
     * position0 + row; q in place; k and v are stored in slots slot0 + row of the cache (converted to its type).
     * Nobody reads q again but attention: where attention_decode follows at once, a back end may leave q as it was. */
    uocr_status (*rope_append)(uocr_backend *, uocr_tensor q, uocr_tensor k, uocr_tensor v, const uocr_kv *,
                               size_t position0, size_t slot0, float theta);
    /* Causal: query row r sees slots 0..first+r. y [rows, heads * head_dim]. */
    uocr_status (*attention_prefill)(uocr_backend *, uocr_tensor q, const uocr_kv *, size_t first, uocr_tensor y);
    /* One query over slots 0..used-1. */
    uocr_status (*attention_decode)(uocr_backend *, uocr_tensor q, const uocr_kv *, size_t used, uocr_tensor y);
    /* y += down( silu(gate x) * (up x) ). */
    uocr_status (*swiglu)(uocr_backend *, uocr_tensor x, const uocr_weight *gate, const uocr_weight *up,
                          const uocr_weight *down, uocr_tensor y);
    /* probs = softmax(x W^T) in f32 [rows, experts]; the top_k largest by falling weight, lowest id first among
     * equals: ids i32 [rows, top_k], weights f32 [rows, top_k] (renormalised if `normalise`), times scale. */
    uocr_status (*route)(uocr_backend *, uocr_tensor x, const uocr_weight *w, size_t top_k, bool normalise, float scale,
                         uocr_tensor probs, uocr_tensor ids, uocr_tensor weights);
    /* y += sum over a row's experts of weight * down_e( silu(gate_e x) * (up_e x) ), summed in the order of ids. */
    uocr_status (*experts)(uocr_backend *, uocr_tensor x, uocr_tensor ids, uocr_tensor weights, const uocr_weight *gate,
                           const uocr_weight *up, const uocr_weight *down, uocr_tensor y);
    /* The next token from one row of logits [1, vocab]: the largest below `usable` that is not banned, lowest id among
     * equals; `forced` >= 0 overrides. Waits. */
    uocr_status (*choose)(uocr_backend *, uocr_tensor logits, size_t usable, const int32_t *banned, size_t banned_count,
                          int32_t forced, uocr_choice *);
};

/* The CPU back end. `threads` as in uocr_engine_options after defaulting; heap goes through `memory`. */
uocr_status uocr_backend_cpu_create(const uocr_config *, uint32_t threads, uint32_t precision, uint32_t simd,
                                    uocr_memory *, uocr_profile *, uocr_backend **, uocr_error *);

/* The GPU back end over the device that is linked in, where there is one (UOCR_GPU is defined). */
uocr_status uocr_backend_gpu_open(const uocr_model_file *, uint32_t precision, uocr_memory *, uocr_profile *,
                                  uocr_backend **, uocr_error *);

/* Whole rows [first, first + rows) of a tensor. */
static inline uocr_tensor uocr_tensor_rows(uocr_tensor t, size_t first, size_t rows) {
    size_t element = t.dtype == UOCR_F32 || t.dtype == UOCR_I32 ? 4 : t.dtype == UOCR_F16 ? 2 : 1;
    t.offset += first * t.stride * element;
    t.rows = rows;
    return t;
}

#endif
