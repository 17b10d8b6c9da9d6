#include "clip.h"

#include "positions.h"

static size_t stored_side(const uocr_config *config) {
    size_t side = 1;
    while (side * side + 1 < config->clip_positions) {
        side++;
    }
    return side;
}

void uocr_clip_layout_tables(const uocr_model *model, size_t side, uocr_arena *arena, uocr_clip *clip) {
    bool fits = side == stored_side(model->config);
    clip->side = side;
    clip->table = uocr_arena_tensor(arena, UOCR_F32, fits ? 0 : 1 + side * side, model->config->clip_width);
}

void uocr_clip_layout(const uocr_model *model, uocr_arena *arena, uocr_clip *clip) {
    size_t tokens = 1 + clip->side * clip->side, width = model->config->clip_width, end;
    clip->x = uocr_arena_tensor(arena, UOCR_F32, tokens, width);
    clip->h = uocr_arena_tensor(arena, UOCR_F32, tokens, width);
    size_t shared = arena->used;
    clip->qkv = uocr_arena_tensor(arena, UOCR_F32, tokens, 3 * width);
    end = arena->used;
    arena->used = shared;
    clip->mlp = uocr_arena_tensor(arena, UOCR_F32, tokens, model->config->clip_mlp);
    arena->used = uocr_max(end, arena->used);
}

size_t uocr_clip_workspace(const uocr_model *model, size_t side) {
    const uocr_config *config = model->config;
    uocr_backend *backend = model->backend;
    size_t tokens = 1 + side * side;
    size_t bytes = backend->linear_workspace(backend, tokens, uocr_max(config->clip_width, config->clip_mlp));
    return uocr_max(bytes, backend->attention_workspace(backend, tokens, tokens, config->clip_heads,
                                                        config->clip_width / config->clip_heads));
}

size_t uocr_clip_scratch(const uocr_model *model, size_t side) {
    size_t stored = stored_side(model->config), width = model->config->clip_width;
    return side == stored ? 0 : uocr_max(width * sizeof(float), uocr_grid_scratch(stored, side, width));
}

uocr_status uocr_clip_fit(const uocr_model *model, const uocr_clip *clip, void *scratch) {
    const uocr_weight *stored = &model->weights->clip_pos;
    float *row = scratch;
    if (clip->table.rows == 0) {
        return UOCR_OK;
    }
    for (size_t c = 0; c < stored->cols; c++) { /* the class token's position is not part of the grid */
        row[c] = uocr_weight_at(stored, 0, c);
    }
    UOCR_TRY(model->backend->write(model->backend, clip->table.buffer, clip->table.offset, row,
                                   stored->cols * sizeof(float)));
    return uocr_grid_resize(model->backend, stored, 1, stored_side(model->config), clip->side, scratch,
                            clip->table, 1);
}

size_t uocr_clip_pieces(const uocr_config *config) { return 1 + (size_t)config->clip_layers; }

static uocr_status embed(const uocr_model *model, const uocr_clip *clip, uint32_t view,
                         uocr_tensor features) {
    uocr_backend *backend = model->backend;
    const uocr_weights *weights = model->weights;
    uocr_tensor positions = clip->table;
    UOCR_TRY(backend->embed_rows(backend, &weights->clip_class, NULL, clip->x, NULL, 1));
    UOCR_TRY(backend->copy_rows(backend, features, NULL, uocr_tensor_rows(clip->x, 1, features.rows), NULL,
                                features.rows));
    if (positions.rows == 0) {
        positions = clip->h;
        UOCR_TRY(backend->embed_rows(backend, &weights->clip_pos, NULL, positions, NULL, positions.rows));
    }
    UOCR_TRY(backend->add(backend, positions, clip->x));
    UOCR_TRY(
        uocr_tap_rows(model->tap, backend, "clip/embed", UOCR_TAP_PLAIN, view, clip->x, 0, clip->x.rows));
    UOCR_TRY(uocr_layer_norm_apply(backend, clip->x, &weights->clip_pre, model->config->clip_eps, clip->x));
    return uocr_tap_rows(model->tap, backend, "clip/pre_ln", UOCR_TAP_PLAIN, view, clip->x, 0, clip->x.rows);
}

uocr_status uocr_clip_piece(const uocr_model *model, const uocr_clip *clip, size_t piece, uint32_t view,
                            uocr_tensor features) {
    uocr_backend *backend = model->backend;
    float eps = model->config->clip_eps;
    if (piece == 0) {
        return embed(model, clip, view, features);
    }
    const uocr_clip_layer *layer = &model->weights->clip[piece - 1];
    UOCR_TRY(uocr_layer_norm_apply(backend, clip->x, &layer->norm1, eps, clip->h));
    UOCR_TRY(uocr_dense_apply(backend, clip->h, &layer->qkv, clip->qkv, UOCR_IDENTITY, false));
    UOCR_TRY(backend->attention_full(backend, clip->qkv, model->config->clip_heads, clip->h));
    UOCR_TRY(uocr_dense_apply(backend, clip->h, &layer->out, clip->x, UOCR_IDENTITY, true));
    UOCR_TRY(uocr_layer_norm_apply(backend, clip->x, &layer->norm2, eps, clip->h));
    UOCR_TRY(uocr_dense_apply(backend, clip->h, &layer->fc1, clip->mlp, UOCR_GELU_QUICK, false));
    UOCR_TRY(uocr_dense_apply(backend, clip->mlp, &layer->fc2, clip->x, UOCR_IDENTITY, true));
    return uocr_tap_rows(model->tap, backend, "clip/block", (int)piece - 1, view, clip->x, 0, clip->x.rows);
}
