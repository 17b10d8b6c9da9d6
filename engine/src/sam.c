#include "sam.h"

#include "positions.h"

/* Rows of the MLP's hidden layer that exist at once: its whole would be the largest tensor of the encoder by
 * far. */
enum { MLP_ROWS = 1024 };

static bool table_fits(const uocr_model *model, const uocr_sam *sam) {
    return sam->grid == model->config->sam_grid;
}

static size_t attention_side(const uocr_model *model, const uocr_sam *sam, size_t block) {
    return model->weights->sam[block].global ? sam->grid : model->config->sam_window;
}

void uocr_sam_layout_tables(const uocr_model *model, size_t size, uocr_arena *arena, uocr_sam *sam) {
    const uocr_config *config = model->config;
    size_t head_dim = config->sam_width / config->sam_heads;
    sam->size = size;
    sam->grid = size / config->sam_patch;
    for (size_t b = 0; b < config->sam_blocks; b++) {
        size_t rows = 2 * attention_side(model, sam, b) - 1;
        sam->rel_h[b] = uocr_arena_tensor(arena, UOCR_F32, rows, head_dim);
        sam->rel_w[b] = uocr_arena_tensor(arena, UOCR_F32, rows, head_dim);
    }
    sam->table = uocr_arena_tensor(arena, UOCR_F32, table_fits(model, sam) ? 0 : sam->grid * sam->grid,
                                   config->sam_width);
}

void uocr_sam_layout(const uocr_model *model, uocr_arena *arena, uocr_sam *sam) {
    const uocr_config *config = model->config;
    size_t tokens = sam->grid * sam->grid, half = (sam->grid + 1) / 2;
    sam->x = uocr_arena_tensor(arena, UOCR_F32, tokens, config->sam_width);
    sam->h = uocr_arena_tensor(arena, UOCR_F32, tokens, config->sam_width);
    size_t shared = arena->used, end;
    sam->qkv = uocr_arena_tensor(arena, UOCR_F32, tokens, 3 * (size_t)config->sam_width);
    end = arena->used;
    arena->used = shared;
    sam->mlp = uocr_arena_tensor(arena, UOCR_F32, uocr_min(tokens, MLP_ROWS), config->sam_mlp);
    end = uocr_max(end, arena->used);
    arena->used = shared;
    sam->neck0 = uocr_arena_tensor(arena, UOCR_F32, tokens, config->sam_neck);
    sam->neck2 = uocr_arena_tensor(arena, UOCR_F32, tokens, config->sam_neck);
    sam->net2 = uocr_arena_tensor(arena, UOCR_F32, half * half, config->sam_net2);
    arena->used = uocr_max(end, arena->used);
}

size_t uocr_sam_workspace(const uocr_model *model, size_t size) {
    const uocr_config *config = model->config;
    uocr_backend *backend = model->backend;
    size_t grid = size / config->sam_patch, tokens = grid * grid, window = config->sam_window;
    size_t padded = (grid + window - 1) / window * window;
    size_t head_dim = config->sam_width / config->sam_heads, heads = config->sam_heads;
    size_t bytes = backend->linear_workspace(backend, tokens, config->sam_width);
    bytes = uocr_max(bytes, backend->linear_workspace(backend, uocr_min(tokens, MLP_ROWS), config->sam_mlp));
    bytes = uocr_max(bytes, backend->attention_workspace(backend, tokens, tokens, heads, head_dim));
    bytes = uocr_max(
        bytes, backend->attention_workspace(backend, padded * padded, window * window, heads, head_dim));
    bytes = uocr_max(bytes, backend->conv_workspace(backend, grid, grid, config->sam_neck, config->sam_neck));
    bytes = uocr_max(bytes, backend->conv_workspace(backend, grid, grid, config->sam_neck, config->sam_net2));
    return uocr_max(bytes, backend->conv_workspace(backend, (grid + 1) / 2, (grid + 1) / 2, config->sam_net2,
                                                   config->sam_net3));
}

size_t uocr_sam_scratch(const uocr_model *model, size_t size) {
    const uocr_config *config = model->config;
    size_t axis = config->sam_width / config->sam_heads * sizeof(float), grid = size / config->sam_patch;
    return grid == config->sam_grid
               ? axis
               : uocr_max(axis, uocr_grid_scratch(config->sam_grid, grid, config->sam_width));
}

uocr_status uocr_sam_fit(const uocr_model *model, const uocr_sam *sam, void *scratch) {
    for (size_t b = 0; b < model->config->sam_blocks; b++) {
        const uocr_sam_block *block = &model->weights->sam[b];
        UOCR_TRY(uocr_axis_resize(model->backend, &block->rel_pos_h, scratch, sam->rel_h[b]));
        UOCR_TRY(uocr_axis_resize(model->backend, &block->rel_pos_w, scratch, sam->rel_w[b]));
    }
    if (table_fits(model, sam)) {
        return UOCR_OK;
    }
    return uocr_grid_resize(model->backend, &model->weights->sam_pos, 0, model->config->sam_grid, sam->grid,
                            scratch, sam->table, 0);
}

size_t uocr_sam_pieces(const uocr_config *config) { return 1 + 2 * (size_t)config->sam_blocks + 2; }

static uocr_status embed(const uocr_model *model, const uocr_sam *sam, uocr_tensor rgb) {
    uocr_backend *backend = model->backend;
    const uocr_dense *patch = &model->weights->patch_embed;
    UOCR_TRY(backend->patch_embed(backend, rgb, sam->size, model->config->sam_patch, &patch->weight,
                                  &patch->bias, sam->x));
    if (!table_fits(model, sam)) {
        return backend->add(backend, sam->table, sam->x);
    }
    UOCR_TRY(backend->embed_rows(backend, &model->weights->sam_pos, NULL, sam->h, NULL, sam->h.rows));
    return backend->add(backend, sam->h, sam->x);
}

static uocr_status attend(const uocr_model *model, const uocr_sam *sam, size_t b) {
    uocr_backend *backend = model->backend;
    const uocr_sam_block *block = &model->weights->sam[b];
    UOCR_TRY(uocr_layer_norm_apply(backend, sam->x, &block->norm1, model->config->sam_eps, sam->h));
    UOCR_TRY(uocr_dense_apply(backend, sam->h, &block->qkv, sam->qkv, UOCR_IDENTITY, false));
    UOCR_TRY(backend->attention_grid(backend, sam->qkv, &block->qkv.bias, sam->rel_h[b], sam->rel_w[b],
                                     sam->grid, attention_side(model, sam, b), model->config->sam_heads,
                                     sam->h));
    return uocr_dense_apply(backend, sam->h, &block->proj, sam->x, UOCR_IDENTITY, true);
}

static uocr_status transform(const uocr_model *model, const uocr_sam *sam, size_t b) {
    uocr_backend *backend = model->backend;
    const uocr_sam_block *block = &model->weights->sam[b];
    UOCR_TRY(uocr_layer_norm_apply(backend, sam->x, &block->norm2, model->config->sam_eps, sam->h));
    for (size_t first = 0; first < sam->x.rows; first += MLP_ROWS) {
        size_t rows = uocr_min(MLP_ROWS, sam->x.rows - first);
        uocr_tensor hidden = uocr_tensor_rows(sam->mlp, 0, rows);
        UOCR_TRY(uocr_dense_apply(backend, uocr_tensor_rows(sam->h, first, rows), &block->lin1, hidden,
                                  UOCR_GELU_ERF, false));
        UOCR_TRY(uocr_dense_apply(backend, hidden, &block->lin2, uocr_tensor_rows(sam->x, first, rows),
                                  UOCR_IDENTITY, true));
    }
    return UOCR_OK;
}

/* The neck's LayerNorm2d is a layer norm over channels, which lie together. */
static uocr_status neck(const uocr_model *model, const uocr_sam *sam) {
    uocr_backend *backend = model->backend;
    const uocr_weights *weights = model->weights;
    float eps = model->config->neck_eps;
    UOCR_TRY(uocr_matrix_apply(backend, sam->x, &weights->neck0, sam->neck0, false));
    UOCR_TRY(uocr_layer_norm_apply(backend, sam->neck0, &weights->neck1, eps, sam->neck0));
    UOCR_TRY(backend->conv3x3(backend, sam->neck0, sam->grid, sam->grid, 1, &weights->neck2, sam->neck2));
    return uocr_layer_norm_apply(backend, sam->neck2, &weights->neck3, eps, sam->neck2);
}

static uocr_status compress(const uocr_model *model, const uocr_sam *sam, uint32_t view,
                            uocr_tensor features) {
    uocr_backend *backend = model->backend;
    size_t half = (sam->grid + 1) / 2;
    UOCR_TRY(
        backend->conv3x3(backend, sam->neck2, sam->grid, sam->grid, 2, &model->weights->net_2, sam->net2));
    UOCR_TRY(uocr_tap_map(model->tap, backend, "sam/net_2", UOCR_TAP_PLAIN, view, sam->net2, half));
    UOCR_TRY(backend->conv3x3(backend, sam->net2, half, half, 2, &model->weights->net_3, features));
    return uocr_tap_map(model->tap, backend, "sam/net_3", UOCR_TAP_PLAIN, view, features, (half + 1) / 2);
}

uocr_status uocr_sam_piece(const uocr_model *model, const uocr_sam *sam, size_t piece, uint32_t view,
                           uocr_tensor rgb, uocr_tensor features) {
    size_t blocks = model->config->sam_blocks;
    if (piece == 0) {
        UOCR_TRY(embed(model, sam, rgb));
        return uocr_tap_map(model->tap, model->backend, "sam/embed", UOCR_TAP_PLAIN, view, sam->x, sam->grid);
    }
    if (piece <= 2 * blocks) {
        size_t b = (piece - 1) / 2;
        if (piece % 2 == 1) {
            return attend(model, sam, b);
        }
        UOCR_TRY(transform(model, sam, b));
        return uocr_tap_map(model->tap, model->backend, "sam/block", (int)b, view, sam->x, sam->grid);
    }
    if (piece == 2 * blocks + 1) {
        UOCR_TRY(neck(model, sam));
        return uocr_tap_map(model->tap, model->backend, "sam/neck", UOCR_TAP_PLAIN, view, sam->neck2,
                            sam->grid);
    }
    return compress(model, sam, view, features);
}
