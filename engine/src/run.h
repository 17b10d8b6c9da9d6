/* A run: one plan on its way from views to tokens, a piece of work at a time. */
#ifndef UOCR_SRC_RUN_H
#define UOCR_SRC_RUN_H

#include "decoder.h"
#include "engine.h"
#include "request.h"
#include "sample.h"
#include "schedule.h"

struct uocr_run {
    uocr_engine *engine;
    uocr_model model;
    uocr_request request; /* its ids lie in the block of this run */
    size_t bytes;         /* of that block */
    atomic_bool cancel;   /* raised from any thread, lowered never */
    uint32_t phase, finish;
    bool started; /* a step was made */
    bool failed;  /* with an error: no step is possible any more */

    uocr_arena features; /* rows [visual rows, hidden]: from the first view to the end of prefill */
    uocr_tensor rows;
    bool rows_given; /* by uocr_inspect_set_rows */
    uocr_vision vision;
    bool seeing; /* vision holds memory */
    uocr_decoder decoder;
    bool decoding; /* decoder holds memory */

    size_t prefilled, layer; /* prompt rows that passed all layers; next layer of the rows after them */
    uint32_t generated;
    int32_t newest; /* token */
    int32_t forced; /* next token by uocr_inspect_force_token, -1: none */
    uocr_sampler sampler;
    uocr_ahead *ahead;  /* the back end chooses tokens by itself; NULL: the host does */
    uint32_t encoded;   /* steps that the back end was given, the last perhaps in part */
    uint32_t repeated_phase, repeated; /* the piece of work that was done again: its phase and number */

    bool all_logits; /* of every prompt row */
    uocr_arena head; /* their blocks */
    double seconds[UOCR_PHASE_DONE];
};

/* The block that holds the run and its ids. */
size_t uocr_run_bytes(const uocr_request *);
/* Room for the visual rows; both the vision phase and given rows fill it. */
uocr_status uocr_run_make_rows(uocr_run *);

/* decode.c: the next token. */
uocr_status uocr_run_decode(uocr_run *, uocr_event *, uocr_error *);
/* What the back end has done beyond the newest token is thrown away; the host chooses from now on. */
void uocr_run_stop_ahead(uocr_run *);
/* After a failure: whether the newest token's cache is such that it can be chosen again, by the host. */
bool uocr_run_decode_again(uocr_run *);
/* Bytes of UOCR_MEMORY_TRANSIENT for it. */
size_t uocr_run_ahead_bytes(const uocr_model *, const uocr_request *);

#endif
