/* A plan after validation: every number checked against the model, every default filled in. */
#ifndef UOCR_SRC_REQUEST_H
#define UOCR_SRC_REQUEST_H

#include "fuse.h"
#include "model_file.h"

typedef struct uocr_request {
    uocr_layout layout;
    uint32_t global_size; /* pixels a side, 0 without pages */
    uint32_t views, visual_rows;
    uint32_t prompt, first_visual; /* tokens; place of the first image id */
    uint32_t max_new, ring;
    uint32_t usable; /* ids below this may be chosen */
    bool ignore_eos;
    uint32_t ngram_size, ngram_cycle, ngram_window, allow_count;
    uint32_t loop_hits, loop_history, loop_period;
    const int32_t *prompt_ids, *allow; /* the caller's until uocr_run_begin copies them */
} uocr_request;

/* `plan` may be of an older or newer caller: its size field counts. Names the field, its value and what is
 * allowed. */
uocr_status uocr_request_check(const uocr_config *, const uocr_plan *plan, uocr_request *, uocr_error *);
/* Pixels a side. */
uint32_t uocr_request_view_size(const uocr_request *, uint32_t view);

#endif
