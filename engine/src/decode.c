/* The decode phase of a run: one token after another.
 *
 * Two ways to the same tokens. The ordinary one: the host reads each choice before it feeds it back. Ahead: a back end
 * that can (uocr_ahead_operators) chooses and feeds back by itself, and the host reads one token behind it. Step s is
 * the choice of token s (0, 1, ...); before it, token s - 1 is fed back. */
#include "run.h"

#include <inttypes.h>

#include "status.h"

/* The row of x that a token is chosen from: the prompt's last, later that of the token before. */
static size_t row_of(const uocr_run *run, size_t step) {
    return step > 0 ? 0 : (run->request.prompt - 1) % uocr_prefill_rows(run->request.prompt);
}

/* The token in row 0 of x through all layers. */
static uocr_status pass_layers(uocr_run *run, size_t step) {
    uocr_span span = uocr_decoder_step_span(&run->decoder, step);
    for (size_t l = 0; l < run->model.config->layers; l++) {
        UOCR_TRY(uocr_decoder_pass(&run->model, &run->decoder, l, &span));
    }
    return UOCR_OK;
}

static uocr_status make_logits(uocr_run *run, size_t step) {
    UOCR_TRY(uocr_decoder_norm(&run->model, &run->decoder, row_of(run, step), 1));
    return uocr_decoder_head(&run->model, &run->decoder, row_of(run, step), run->decoder.logits);
}

/* ---- the host chooses ---- */

static uocr_status feed_newest(uocr_run *run) {
    uocr_tensor none = {0};
    UOCR_TRY(uocr_decoder_embed(&run->model, &run->decoder, &run->newest, 0, 1, 1, none));
    return pass_layers(run, run->generated);
}

static uocr_status tap_head(uocr_run *run) {
    bool prompt = run->generated == 0; /* prefill has shown the norm, and all logits if they were asked for */
    uocr_tap *tap = run->model.tap;
    uocr_backend *backend = run->model.backend;
    if (!prompt) {
        UOCR_TRY(uocr_tap_rows(tap, backend, "final_norm", UOCR_TAP_PLAIN, 0,
                               uocr_tensor_rows(run->decoder.h, 0, 1), 0, 1));
    }
    if (prompt && run->all_logits) {
        return UOCR_OK;
    }
    return uocr_tap_rows(tap, backend, "logits", UOCR_TAP_PLAIN, 0, run->decoder.logits, 0, 1);
}

static uocr_status choose_here(uocr_run *run, uocr_pick *pick) {
    if (run->generated > 0) {
        UOCR_TRY(feed_newest(run));
    }
    UOCR_TRY(make_logits(run, run->generated));
    UOCR_TRY(tap_head(run));
    return uocr_sampler_next(&run->model, &run->request, &run->sampler, run->decoder.logits, run->forced, pick);
}

/* ---- the back end chooses ---- */

size_t uocr_run_ahead_bytes(const uocr_model *model, const uocr_request *request) {
    const uocr_ahead_operators *ahead = model->backend->ahead;
    uocr_ahead_rules rules = uocr_sampler_rules(model, request);
    return ahead && ahead->takes(&rules) ? ahead->bytes() : 0;
}

/* Whoever looks inside a run or forces its tokens gets the ordinary way. */
static uocr_status enter_ahead(uocr_run *run) {
    const uocr_ahead_operators *ahead = run->model.backend->ahead;
    if (run->generated > 0 || run->model.tap || run->forced >= 0 || run->ahead ||
        uocr_run_ahead_bytes(&run->model, &run->request) == 0) {
        return UOCR_OK;
    }
    uocr_ahead_rules rules = uocr_sampler_rules(&run->model, &run->request);
    return ahead->create(run->model.backend, &rules, run->request.prompt_ids, run->request.prompt, &run->ahead);
}

void uocr_run_stop_ahead(uocr_run *run) {
    if (run->ahead) {
        run->model.backend->ahead->destroy(run->ahead);
        run->ahead = NULL;
        run->encoded = 0;
    }
}

/* The step beyond the one that failed may have stored its key and value, over the oldest of a full ring, and it puts
 * its embedding where the first row of the prompt was. */
bool uocr_run_decode_again(uocr_run *run) {
    bool beyond = run->encoded > run->generated + 1;
    uocr_run_stop_ahead(run);
    return !beyond || (run->generated == 0 ? row_of(run, 0) > 0 : run->generated < run->decoder.ring);
}

static uocr_status encode_step(uocr_run *run) {
    const uocr_ahead_operators *ahead = run->model.backend->ahead;
    size_t step = run->encoded++; /* counted as soon as it begins: half a step may run too */
    if (step > 0) {
        UOCR_TRY(ahead->embed(run->ahead, &run->model.weights->embed, uocr_tensor_rows(run->decoder.x, 0, 1)));
        UOCR_TRY(pass_layers(run, step));
    }
    UOCR_TRY(make_logits(run, step));
    return ahead->choose(run->ahead, run->decoder.logits);
}

/* The step after the one that is waited for is already with the back end. It feeds back a token that the host has
 * told about when the next step begins, so that stopping between steps leaves the cache as the ordinary way does. */
static uocr_status choose_ahead(uocr_run *run, uocr_pick *pick) {
    uocr_choice choice;
    size_t most = uocr_min(run->generated + UOCR_AHEAD, run->request.max_new);
    while (run->encoded < most) {
        UOCR_TRY(encode_step(run));
    }
    UOCR_TRY(run->model.backend->ahead->read(run->ahead, run->generated, &choice));
    uocr_sampler_chosen(&run->model, &run->request, &run->sampler, &choice, pick);
    return UOCR_OK;
}

/* ---- either way ---- */

static uint32_t verdict(const uocr_run *run) {
    if ((uint32_t)run->newest == run->model.config->eos_id) {
        return UOCR_FINISH_EOS;
    }
    if (run->sampler.loops) {
        return UOCR_FINISH_LOOP;
    }
    return run->generated == run->request.max_new ? UOCR_FINISH_LENGTH : UOCR_FINISH_NONE;
}

uocr_status uocr_run_decode(uocr_run *run, uocr_event *event, uocr_error *error) {
    uocr_pick pick;
    if (run->model.tap || run->forced >= 0) {
        uocr_run_stop_ahead(run);
    }
    UOCR_TRY(enter_ahead(run));
    UOCR_TRY(run->ahead ? choose_ahead(run, &pick) : choose_here(run, &pick));
    if (!pick.finite) {
        return uocr_fail(error, UOCR_NON_FINITE, run->generated, 0,
                         "The logits of generated token %" PRIu32 " are not finite (Inf or NaN); "
                         "the model file may be damaged: verify it.",
                         run->generated);
    }
    run->forced = -1;
    run->newest = pick.id;
    run->generated++;
    run->finish = verdict(run);
    event->kind = UOCR_EVENT_TOKEN;
    event->token = pick.id;
    event->logprob = pick.logprob;
    event->guard_acted = pick.guard_acted;
    event->done = run->generated;
    event->total = run->request.max_new;
    return UOCR_OK;
}
