/* The language model: pre-norm layers of multi-head attention and a dense or mixture-of-experts MLP.
 *
 * Attention over the prompt is fully causal. A generated token sees every prompt slot and the newest `ring`
 * generated tokens, itself included; it overwrites the oldest slot of the ring while its position keeps
 * growing. */
#ifndef UOCR_SRC_DECODER_H
#define UOCR_SRC_DECODER_H

#include "arena.h"
#include "model.h"

enum {
    UOCR_PREFILL_MOST = 320, /* prompt rows that pass through the layers together at most: more use an expert
                                for more rows each time it is read, and need more scratch */
    UOCR_HEAD_ROWS = 32 /* rows whose logits exist at once when those of the whole prompt are asked for */
};

/* Rows of a prompt's chunks: as few chunks as there can be, and all about the same, because a chunk of a few
 * rows reads nearly as many experts as a full one. The last may be shorter. */
static inline size_t uocr_prefill_rows(size_t prompt) {
    size_t chunks = (prompt + UOCR_PREFILL_MOST - 1) / UOCR_PREFILL_MOST;
    return (prompt + chunks - 1) / chunks;
}

typedef struct uocr_decoder_memory { /* one arena per memory category, measured and then made */
    uocr_arena kv, embeddings, scratch, workspace, moe, moe_workspace, logits;
} uocr_decoder_memory;

typedef struct uocr_decoder {
    size_t prompt, ring; /* tokens */
    uocr_kv kv[UOCR_MAX_LAYERS];
    uocr_tensor x;                   /* [rows, hidden]: residual stream; prompt embeddings at first */
    uocr_tensor h;                   /* [rows, hidden]: normed */
    uocr_tensor q, k, v;             /* [rows, heads * head_dim] */
    uocr_tensor y;                   /* [rows, heads * head_dim]: attention output */
    uocr_tensor probs, ids, weights; /* [rows, experts], [rows, top_k] twice */
    uocr_tensor logits;              /* [1, vocab] */
    uocr_decoder_memory memory;
} uocr_decoder;

/* One pass of consecutive rows through a layer. */
typedef struct uocr_span {
    size_t rows;
    size_t position; /* absolute, of the first row; in prefill also its slot */
    size_t slot;     /* of the first row */
    size_t used;     /* decode: slots that are filled once this row's own is; 0: prefill */
} uocr_span;

/* Lays everything out for prompts of `prompt` tokens: measures while the arenas have no buffers, binds when
 * they do. */
void uocr_decoder_layout(const uocr_model *, size_t prompt, size_t ring, uocr_decoder *);
uocr_status uocr_decoder_create(const uocr_model *, size_t prompt, size_t ring, uocr_decoder *);
void uocr_decoder_destroy(const uocr_model *, uocr_decoder *);

/* Prompt rows first.. into x: embeddings of their ids, visual rows where first_visual <= row < + visual.rows.
 */
uocr_status uocr_decoder_embed(const uocr_model *, const uocr_decoder *, const int32_t *ids, size_t first,
                               size_t rows, size_t first_visual, uocr_tensor visual);
uocr_status uocr_decoder_pass(const uocr_model *, const uocr_decoder *, size_t layer, const uocr_span *);
/* Final norm of rows first.. of x into h, and the logits [rows, vocab] of such rows. */
uocr_status uocr_decoder_norm(const uocr_model *, const uocr_decoder *, size_t first, size_t rows);
uocr_status uocr_decoder_head(const uocr_model *, const uocr_decoder *, size_t first, uocr_tensor logits);
/* Where and what generated token `step` (1, 2, ...) is when it is fed back. */
uocr_span uocr_decoder_step_span(const uocr_decoder *, size_t step);

#endif
