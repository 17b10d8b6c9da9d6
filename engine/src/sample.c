#include "sample.h"

#include <string.h>

/* Room for every id the guard can ban at once, and eos. */
static size_t banned_bytes(const uocr_request *request) {
    return ((size_t)request->ngram_window + 1) * sizeof(int32_t);
}

static uocr_loop_options loop_options(const uocr_request *request) {
    return (uocr_loop_options){.guarded = request->ngram_size > 0,
                               .history = request->loop_history,
                               .hits = request->loop_hits,
                               .period_max = request->loop_period};
}

size_t uocr_sampler_bytes(const uocr_request *request) {
    uocr_loop_options options = loop_options(request);
    size_t bytes = uocr_memory_rounded(banned_bytes(request));
    if (request->ngram_size > 0) {
        bytes += uocr_ngram_bytes(request->ngram_size, request->ngram_window, request->allow_count);
    }
    return request->loop_history > 0 ? bytes + uocr_loop_bytes(&options) : bytes;
}

uocr_status uocr_sampler_create(uocr_memory *memory, const uocr_request *request, uocr_sampler *sampler) {
    uocr_loop_options options = loop_options(request);
    *sampler = (uocr_sampler){0};
    sampler->banned = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, banned_bytes(request));
    if (request->ngram_size > 0) {
        sampler->guard = uocr_ngram_create(memory, request->ngram_size, request->ngram_cycle, request->ngram_window,
                                           request->allow, request->allow_count);
    }
    if (request->loop_history > 0) {
        sampler->loop = uocr_loop_create(memory, &options);
    }
    if (!sampler->banned || (request->ngram_size > 0 && !sampler->guard) ||
        (request->loop_history > 0 && !sampler->loop)) {
        uocr_sampler_destroy(memory, request, sampler);
        return UOCR_OUT_OF_MEMORY;
    }
    if (sampler->guard) {
        uocr_ngram_push(sampler->guard, request->prompt_ids, request->prompt);
    }
    return UOCR_OK;
}

void uocr_sampler_destroy(uocr_memory *memory, const uocr_request *request, uocr_sampler *sampler) {
    uocr_loop_destroy(memory, sampler->loop);
    uocr_ngram_destroy(memory, sampler->guard);
    uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, sampler->banned, banned_bytes(request));
    *sampler = (uocr_sampler){0};
}

static bool bans(const uocr_sampler *sampler, int32_t id) {
    for (size_t i = 0; i < sampler->guard_bans; i++) {
        if (sampler->banned[i] == id) {
            return true;
        }
    }
    return false;
}

/* Lists what may not be chosen. Returns how many ids; if that were all of them, the guard is lifted for this
 * step. */
static size_t list_bans(const uocr_model *model, const uocr_request *request, uocr_sampler *sampler) {
    size_t count = 0, within = 0;
    if (sampler->guard) {
        const int32_t *ids = uocr_ngram_banned(sampler->guard, &count);
        memcpy(sampler->banned, ids, count * sizeof *ids);
    }
    sampler->guard_bans = count;
    int32_t eos = (int32_t)model->config->eos_id;
    if (request->ignore_eos && !bans(sampler, eos)) {
        sampler->banned[count++] = eos;
    }
    for (size_t i = 0; i < count; i++) {
        within += (uint32_t)sampler->banned[i] < request->usable;
    }
    if (within < request->usable) {
        return count;
    }
    sampler->guard_bans = 0;
    sampler->banned[0] = eos;
    return request->ignore_eos && request->usable > 1 ? 1 : 0;
}

/* Takes a token into the history. `best` is what would have been chosen without the guard. */
static void account(uocr_sampler *sampler, const uocr_choice *choice, int32_t best, uocr_pick *pick) {
    *pick = (uocr_pick){.id = choice->id, .logprob = choice->logprob, .finite = choice->finite};
    if (!choice->finite) {
        return;
    }
    pick->guard_acted = bans(sampler, best);
    if (sampler->guard) {
        uocr_ngram_push(sampler->guard, &pick->id, 1);
    }
    sampler->loops = sampler->loop && uocr_loop_step(sampler->loop, pick->id, pick->guard_acted);
}

uocr_status uocr_sampler_next(const uocr_model *model, const uocr_request *request, uocr_sampler *sampler,
                              uocr_tensor logits, int32_t forced, uocr_pick *pick) {
    uocr_backend *backend = model->backend;
    int32_t eos = (int32_t)model->config->eos_id;
    uocr_choice choice, without_eos;
    size_t count = list_bans(model, request, sampler);
    UOCR_TRY(backend->choose(backend, logits, request->usable, sampler->banned, count, forced, &choice));
    int32_t best = choice.unguarded;
    if (choice.finite && sampler->guard_bans > 0 && request->ignore_eos && best == eos) {
        /* eos was no choice to begin with */
        UOCR_TRY(backend->choose(backend, logits, request->usable, &eos, 1, -1, &without_eos));
        best = without_eos.id;
    }
    account(sampler, &choice, best, pick);
    return UOCR_OK;
}

uocr_ahead_rules uocr_sampler_rules(const uocr_model *model, const uocr_request *request) {
    return (uocr_ahead_rules){.usable = request->usable,
                              .guard_size = request->ngram_size,
                              .guard_cycle = request->ngram_cycle,
                              .guard_window = request->ngram_window,
                              .allow = request->allow,
                              .allow_count = request->allow_count,
                              .never = request->ignore_eos ? (int32_t)model->config->eos_id : -1};
}

void uocr_sampler_chosen(const uocr_model *model, const uocr_request *request, uocr_sampler *sampler,
                         const uocr_choice *choice, uocr_pick *pick) {
    list_bans(model, request, sampler); /* the host keeps its own: for what the guard did, and for inspection */
    account(sampler, choice, choice->unguarded, pick);
}
