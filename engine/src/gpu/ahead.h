/* Tokens that the device chooses by itself: nothing waits for the host between one and the next.
 *
 * The device keeps the newest 1,024 ids in a ring, works out the repeat guard's bans, takes the best id that
 * is left, appends it and looks up its embedding, all from its own memory. The host reads a choice when it
 * wants to; two may be underway, and what was encoded past the last token is thrown away with its results. */
#ifndef UOCR_SRC_GPU_AHEAD_H
#define UOCR_SRC_GPU_AHEAD_H

#include "../backend.h"

enum { UOCR_GPU_AHEAD = 2, UOCR_GPU_MOST_ALLOWED = 1024, UOCR_GPU_MOST_WINDOW = 1024 };

typedef struct uocr_gpu_ahead uocr_gpu_ahead;

typedef struct uocr_gpu_guard {
    uint32_t size, window; /* of the repeat guard; size 0: off; window at most UOCR_GPU_MOST_WINDOW */
    const int32_t
        *allow; /* ids that are never banned, at most UOCR_GPU_MOST_ALLOWED; must outlive the object */
    uint32_t allow_count;
    int32_t never; /* an id that is not to be chosen at all, -1: none */
} uocr_gpu_guard;

size_t uocr_gpu_ahead_bytes(void); /* of UOCR_MEMORY_TRANSIENT */
/* Starts with these ids: the prompt. NULL: over budget, out of memory, or a guard beyond the limits above. */
uocr_gpu_ahead *uocr_gpu_ahead_create(uocr_backend *, uocr_memory *, const uocr_gpu_guard *,
                                      const int32_t *ids, size_t count);
void uocr_gpu_ahead_destroy(uocr_gpu_ahead *);
/* Encodes the choice from one row of logits, and its id into the history. Step i keeps its result until step
 * i + UOCR_GPU_AHEAD. */
uocr_status uocr_gpu_ahead_choose(uocr_gpu_ahead *, uocr_tensor logits, size_t usable);
/* Encodes the embedding of the newest choice into dst [1, cols]. */
uocr_status uocr_gpu_ahead_embed(uocr_gpu_ahead *, const uocr_weight *table, uocr_tensor dst);
/* The choice of step 0, 1, ...; waits for it, and not for the step after it. */
uocr_status uocr_gpu_ahead_read(uocr_gpu_ahead *, size_t step, uocr_choice *);

#endif
