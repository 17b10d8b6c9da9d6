#include "decoder.h"

static void layout_cache(const uocr_model *model, uocr_decoder *decoder) {
    const uocr_config *config = model->config;
    size_t slots = decoder->prompt + decoder->ring, rows = config->heads * slots;
    for (size_t l = 0; l < config->layers; l++) {
        decoder->kv[l] = (uocr_kv){
            .k = uocr_arena_tensor(&decoder->memory.kv, model->backend->kv_dtype(model->backend, false), rows,
                                   config->head_dim),
            .v = uocr_arena_tensor(&decoder->memory.kv, model->backend->kv_dtype(model->backend, true), rows,
                                   config->head_dim),
            .heads = config->heads,
            .slots = slots,
            .head_dim = config->head_dim,
        };
    }
}

static void layout_workspaces(const uocr_model *model, uocr_decoder *decoder) {
    const uocr_config *config = model->config;
    uocr_backend *backend = model->backend;
    uocr_decoder_memory *memory = &decoder->memory;
    size_t rows = uocr_prefill_rows(decoder->prompt), slots = decoder->prompt + decoder->ring;
    size_t attention = (size_t)config->heads * config->head_dim, widest = uocr_max(config->hidden, attention);
    size_t dense = uocr_max(config->intermediate, (size_t)config->shared_experts * config->moe_intermediate);
    uocr_arena_reserve(&memory->workspace, backend->linear_workspace(backend, rows, widest));
    uocr_arena_reserve(&memory->workspace, backend->attention_workspace(backend, rows, decoder->prompt,
                                                                        config->heads, config->head_dim));
    uocr_arena_reserve(&memory->workspace,
                       backend->attention_workspace(backend, 1, slots, config->heads, config->head_dim));
    uocr_arena_reserve(&memory->moe_workspace, backend->linear_workspace(backend, rows, config->hidden));
    uocr_arena_reserve(&memory->moe_workspace,
                       backend->swiglu_workspace(backend, rows, config->hidden, dense));
    if (config->first_dense < config->layers) {
        uocr_arena_reserve(&memory->moe_workspace,
                           backend->experts_workspace(backend, rows, config->top_k, config->experts,
                                                      config->hidden, config->moe_intermediate));
    }
}

void uocr_decoder_layout(const uocr_model *model, size_t prompt, size_t ring, uocr_decoder *decoder) {
    const uocr_config *config = model->config;
    uocr_decoder_memory *memory = &decoder->memory;
    size_t rows = uocr_prefill_rows(prompt), attention = (size_t)config->heads * config->head_dim;
    memory->kv.category = UOCR_MEMORY_KV_CACHE;
    memory->embeddings.category = UOCR_MEMORY_PROMPT_EMBEDDINGS;
    memory->scratch.category = memory->workspace.category = UOCR_MEMORY_DECODER_SCRATCH;
    memory->moe.category = memory->moe_workspace.category = UOCR_MEMORY_MOE_SCRATCH;
    memory->logits.category = UOCR_MEMORY_LOGITS;
    decoder->prompt = prompt;
    decoder->ring = ring;
    layout_cache(model, decoder);
    layout_workspaces(model, decoder);
    decoder->x = uocr_arena_tensor(&memory->embeddings, UOCR_F32, rows, config->hidden);
    decoder->h = uocr_arena_tensor(&memory->scratch, UOCR_F32, rows, config->hidden);
    decoder->q = uocr_arena_tensor(&memory->scratch, UOCR_F32, rows, attention);
    decoder->k = uocr_arena_tensor(&memory->scratch, UOCR_F32, rows, attention);
    decoder->v = uocr_arena_tensor(&memory->scratch, UOCR_F32, rows, attention);
    decoder->y = uocr_arena_tensor(&memory->scratch, UOCR_F32, rows, attention);
    decoder->probs = uocr_arena_tensor(&memory->moe, UOCR_F32, rows, config->experts);
    decoder->ids = uocr_arena_tensor(&memory->moe, UOCR_I32, rows, config->top_k);
    decoder->weights = uocr_arena_tensor(&memory->moe, UOCR_F32, rows, config->top_k);
    decoder->logits = uocr_arena_tensor(&memory->logits, UOCR_F32, 1, config->vocab_size);
}

uocr_status uocr_decoder_create(const uocr_model *model, size_t prompt, size_t ring, uocr_decoder *decoder) {
    uocr_decoder_memory *memory = &decoder->memory;
    *decoder = (uocr_decoder){0};
    uocr_decoder_layout(model, prompt, ring, decoder);
    UOCR_TRY(uocr_arena_create(&memory->kv, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->embeddings, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->scratch, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->workspace, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->moe, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->moe_workspace, model->backend));
    UOCR_TRY(uocr_arena_create(&memory->logits, model->backend));
    uocr_decoder_layout(model, prompt, ring, decoder);
    return UOCR_OK;
}

void uocr_decoder_destroy(const uocr_model *model, uocr_decoder *decoder) {
    uocr_decoder_memory *memory = &decoder->memory;
    uocr_arena_destroy(&memory->logits, model->backend);
    uocr_arena_destroy(&memory->moe_workspace, model->backend);
    uocr_arena_destroy(&memory->moe, model->backend);
    uocr_arena_destroy(&memory->workspace, model->backend);
    uocr_arena_destroy(&memory->scratch, model->backend);
    uocr_arena_destroy(&memory->embeddings, model->backend);
    uocr_arena_destroy(&memory->kv, model->backend);
}

uocr_status uocr_decoder_embed(const uocr_model *model, const uocr_decoder *decoder, const int32_t *ids,
                               size_t first, size_t rows, size_t first_visual, uocr_tensor visual) {
    uocr_backend *backend = model->backend;
    uint32_t id[UOCR_PREFILL_MOST], target[UOCR_PREFILL_MOST];
    size_t text = 0, end_visual = first_visual + visual.rows;
    for (size_t i = 0; i < rows; i++) {
        if (first + i < first_visual || first + i >= end_visual) {
            id[text] = (uint32_t)ids[first + i];
            target[text++] = (uint32_t)i;
        }
    }
    if (text > 0) {
        UOCR_TRY(backend->embed_rows(backend, &model->weights->embed, id, decoder->x, target, text));
    }
    size_t from = uocr_max(first, first_visual), to = uocr_min(first + rows, end_visual);
    if (from < to) {
        UOCR_TRY(backend->copy_rows(backend, uocr_tensor_rows(visual, from - first_visual, to - from), NULL,
                                    uocr_tensor_rows(decoder->x, from - first, to - from), NULL, to - from));
    }
    return UOCR_OK;
}

/* Prefill shows its rows as part of the whole prompt, a decode step shows its one row. */
static uocr_status tap(const uocr_model *model, const uocr_decoder *decoder, const char *stage, size_t l,
                       const uocr_span *span, uocr_tensor value) {
    bool prefill = span->used == 0;
    return uocr_tap_rows(model->tap, model->backend, stage, (int)l, 0, value, prefill ? span->position : 0,
                         prefill ? decoder->prompt : 1);
}

static uocr_status tap_cache(const uocr_model *model, const uocr_decoder *decoder, size_t l, size_t used) {
    const uocr_kv *kv = &decoder->kv[l];
    uocr_tap_value value = {.number = (int)l,
                            .total = kv->heads * used,
                            .rank = 3,
                            .shape = {(uint32_t)kv->heads, (uint32_t)used, (uint32_t)kv->head_dim, 1}};
    for (size_t head = 0; model->tap && head < kv->heads; head++) {
        value.first = head * used;
        value.stage = "cache_k";
        value.value = uocr_tensor_rows(kv->k, head * kv->slots, used);
        UOCR_TRY(uocr_tap_store(model->tap, model->backend, &value));
        value.stage = "cache_v";
        value.value = uocr_tensor_rows(kv->v, head * kv->slots, used);
        UOCR_TRY(uocr_tap_store(model->tap, model->backend, &value));
    }
    return UOCR_OK;
}

static uocr_status attend(const uocr_model *model, const uocr_decoder *decoder, size_t l,
                          const uocr_span *span) {
    const uocr_decoder_layer *layer = &model->weights->layer[l];
    const uocr_kv *kv = &decoder->kv[l];
    uocr_backend *backend = model->backend;
    uocr_tensor x = uocr_tensor_rows(decoder->x, 0, span->rows);
    uocr_tensor h = uocr_tensor_rows(decoder->h, 0, span->rows);
    uocr_tensor q = uocr_tensor_rows(decoder->q, 0, span->rows);
    uocr_tensor k = uocr_tensor_rows(decoder->k, 0, span->rows);
    uocr_tensor v = uocr_tensor_rows(decoder->v, 0, span->rows);
    uocr_tensor y = uocr_tensor_rows(decoder->y, 0, span->rows);
    uocr_linear_part parts[3] = {
        {.weight = &layer->q, .y = q}, {.weight = &layer->k, .y = k}, {.weight = &layer->v, .y = v}};
    UOCR_TRY(backend->rms_norm(backend, x, &layer->input_norm.weight, model->config->rms_eps, h));
    UOCR_TRY(backend->linear(backend, h, parts, 3));
    UOCR_TRY(
        backend->rope_append(backend, q, k, v, kv, span->position, span->slot, model->config->rope_theta));
    UOCR_TRY(tap_cache(model, decoder, l, span->used > 0 ? span->used : span->position + span->rows));
    if (span->used > 0) {
        UOCR_TRY(backend->attention_decode(backend, q, kv, span->used, y));
    } else {
        UOCR_TRY(backend->attention_prefill(backend, q, kv, span->position, y));
    }
    return uocr_matrix_apply(backend, y, &layer->o, x, true);
}

static uocr_status mix_experts(const uocr_model *model, const uocr_decoder *decoder, size_t l,
                               const uocr_span *span) {
    const uocr_config *config = model->config;
    const uocr_decoder_layer *layer = &model->weights->layer[l];
    uocr_backend *backend = model->backend;
    uocr_tensor x = uocr_tensor_rows(decoder->x, 0, span->rows);
    uocr_tensor h = uocr_tensor_rows(decoder->h, 0, span->rows);
    uocr_tensor probs = uocr_tensor_rows(decoder->probs, 0, span->rows);
    uocr_tensor ids = uocr_tensor_rows(decoder->ids, 0, span->rows);
    uocr_tensor weights = uocr_tensor_rows(decoder->weights, 0, span->rows);
    UOCR_TRY(backend->route(backend, h, &layer->router, config->top_k, config->norm_topk,
                            config->routed_scale, probs, ids, weights));
    UOCR_TRY(tap(model, decoder, "router_probs", l, span, probs));
    UOCR_TRY(tap(model, decoder, "router_ids", l, span, ids));
    UOCR_TRY(tap(model, decoder, "router_weights", l, span, weights));
    UOCR_TRY(backend->experts(backend, h, ids, weights, &layer->expert_gate, &layer->expert_up,
                              &layer->expert_down, x));
    return backend->swiglu(backend, h, &layer->gate, &layer->up, &layer->down, x);
}

uocr_status uocr_decoder_pass(const uocr_model *model, const uocr_decoder *decoder, size_t l,
                              const uocr_span *span) {
    const uocr_decoder_layer *layer = &model->weights->layer[l];
    const uocr_decoder_memory *memory = &decoder->memory;
    uocr_backend *backend = model->backend;
    uocr_tensor x = uocr_tensor_rows(decoder->x, 0, span->rows);
    uocr_tensor h = uocr_tensor_rows(decoder->h, 0, span->rows);
    backend->bind_workspace(backend, memory->workspace.buffer, memory->workspace.bytes);
    UOCR_TRY(attend(model, decoder, l, span));
    UOCR_TRY(backend->rms_norm(backend, x, &layer->post_norm.weight, model->config->rms_eps, h));
    backend->bind_workspace(backend, memory->moe_workspace.buffer, memory->moe_workspace.bytes);
    if (layer->moe) {
        UOCR_TRY(mix_experts(model, decoder, l, span));
    } else {
        UOCR_TRY(backend->swiglu(backend, h, &layer->gate, &layer->up, &layer->down, x));
    }
    return tap(model, decoder, "layer", l, span, x);
}

uocr_status uocr_decoder_norm(const uocr_model *model, const uocr_decoder *decoder, size_t first,
                              size_t rows) {
    return model->backend->rms_norm(model->backend, uocr_tensor_rows(decoder->x, first, rows),
                                    &model->weights->final_norm.weight, model->config->rms_eps,
                                    uocr_tensor_rows(decoder->h, first, rows));
}

uocr_status uocr_decoder_head(const uocr_model *model, const uocr_decoder *decoder, size_t first,
                              uocr_tensor logits) {
    uocr_backend *backend = model->backend;
    backend->bind_workspace(backend, decoder->memory.workspace.buffer, decoder->memory.workspace.bytes);
    return uocr_matrix_apply(backend, uocr_tensor_rows(decoder->h, first, logits.rows), &model->weights->head,
                             logits, false);
}

uocr_span uocr_decoder_step_span(const uocr_decoder *decoder, size_t step) {
    return (uocr_span){.rows = 1,
                       .position = decoder->prompt + step - 1,
                       .slot = decoder->prompt + (step - 1) % decoder->ring,
                       .used = decoder->prompt + uocr_min(step, decoder->ring)};
}
