/* From logits to the next token: greedy, under the repeat guard, watched for loops. */
#ifndef UOCR_SRC_SAMPLE_H
#define UOCR_SRC_SAMPLE_H

#include "loop.h"
#include "model.h"
#include "ngram.h"
#include "request.h"

typedef struct uocr_sampler {
    uocr_ngram *guard; /* NULL: off */
    uocr_loop *loop;   /* NULL: no verdict */
    int32_t *banned; /* of the newest step: guard_bans by the guard, then eos where it is not to be chosen */
    size_t guard_bans, banned_bytes;
    bool loops; /* the verdict after the newest token */
} uocr_sampler;

typedef struct uocr_pick {
    int32_t id;
    float logprob;    /* raw: before the guard, over the ids that may be chosen at all */
    bool guard_acted; /* without the guard another id would have been best */
    bool finite;
} uocr_pick;

size_t uocr_sampler_bytes(const uocr_request *); /* of UOCR_MEMORY_TRANSIENT */
uocr_status uocr_sampler_create(uocr_memory *, const uocr_request *,
                                uocr_sampler *); /* or UOCR_OUT_OF_MEMORY */
void uocr_sampler_destroy(uocr_memory *, const uocr_request *, uocr_sampler *);
/* logits [1, vocab]. forced >= 0 takes that id instead of the best. */
uocr_status uocr_sampler_next(const uocr_model *, const uocr_request *, uocr_sampler *, uocr_tensor logits,
                              int32_t forced, uocr_pick *);
/* What a back end may choose by itself under the same rules (uocr_ahead_operators), and a token that it chose so. */
uocr_ahead_rules uocr_sampler_rules(const uocr_model *, const uocr_request *);
void uocr_sampler_chosen(const uocr_model *, const uocr_request *, uocr_sampler *, const uocr_choice *, uocr_pick *);

#endif
