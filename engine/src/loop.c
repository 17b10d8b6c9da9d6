/* See loop.h. */
#include "loop.h"

#include <assert.h>

#include "repeats.h"

struct uocr_loop {
    uocr_loop_options options;
    /* guard on: a ring of the last `history` steps and the number of hits in it */
    uint8_t *acted; /* [history] */
    uint32_t next, hits;
    /* guard off */
    uocr_repeats repeats;
};

static size_t block_bytes(const uocr_loop_options *options) {
    return sizeof(uocr_loop) +
           (options->guarded ? options->history : uocr_repeats_bytes(options->period_max));
}

size_t uocr_loop_bytes(const uocr_loop_options *options) { return uocr_memory_rounded(block_bytes(options)); }

uocr_loop *uocr_loop_create(uocr_memory *memory, const uocr_loop_options *options) {
    assert(options->history >= 1 && options->history <= UOCR_LOOP_MAX_HISTORY);
    assert(options->guarded ? options->hits >= 1 && options->hits <= options->history
                            : options->period_max >= 1 && options->period_max <= UOCR_LOOP_MAX_PERIOD);
    uocr_loop *loop = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, block_bytes(options));
    if (loop == NULL) return NULL;
    loop->options = *options;
    if (options->guarded) loop->acted = (uint8_t *)(loop + 1);
    else uocr_repeats_begin(&loop->repeats, options->period_max, loop + 1);
    return loop;
}

void uocr_loop_destroy(uocr_memory *memory, uocr_loop *loop) {
    if (loop != NULL) uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, loop, block_bytes(&loop->options));
}

bool uocr_loop_step(uocr_loop *loop, int32_t id, bool guard_acted) {
    if (!loop->options.guarded) return uocr_repeats_push(&loop->repeats, id) >= loop->options.history;

    loop->hits += guard_acted;
    loop->hits -= loop->acted[loop->next]; /* the step that leaves the history */
    loop->acted[loop->next] = guard_acted;
    loop->next = (loop->next + 1) % loop->options.history;
    return loop->hits >= loop->options.hits;
}
