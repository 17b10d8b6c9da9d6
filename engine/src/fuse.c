#include "fuse.h"

enum { BATCH = 128 }; /* row numbers handed to the back end at a time */

uint32_t uocr_layout_views(const uocr_layout *layout) {
    return layout->crop_cols * layout->crop_rows + layout->pages;
}

bool uocr_layout_is_crop(const uocr_layout *layout, uint32_t view) {
    return view < layout->crop_cols * layout->crop_rows;
}

static uint32_t mosaic_rows(const uocr_layout *layout) {
    return layout->crop_rows * layout->crop_side * (layout->crop_cols * layout->crop_side + 1);
}

uint32_t uocr_layout_rows(const uocr_layout *layout) {
    uint32_t page = layout->global_side * (layout->global_side + 1) + 1;
    return layout->crop_cols * layout->crop_rows > 0 ? mosaic_rows(layout) + page : layout->pages * page;
}

uocr_layout_row uocr_layout_at(const uocr_layout *layout, uint32_t row) {
    static const uocr_layout_row newline = {UOCR_ROW_NEWLINE, UOCR_ROW_NEWLINE, UOCR_ROW_NEWLINE};
    static const uocr_layout_row separator = {UOCR_ROW_SEPARATOR, UOCR_ROW_SEPARATOR, UOCR_ROW_SEPARATOR};
    uint32_t mosaic = layout->crop_cols * layout->crop_rows > 0 ? mosaic_rows(layout) : 0;
    if (row < mosaic) {
        uint32_t side = layout->crop_side, width = layout->crop_cols * side + 1;
        uint32_t y = row / width, x = row % width;
        if (x == width - 1) {
            return newline;
        }
        return (uocr_layout_row){UOCR_ROW_CROP, (int32_t)(y / side * layout->crop_cols + x / side),
                                 (int32_t)(y % side * side + x % side)};
    }
    uint32_t side = layout->global_side, page_rows = side * (side + 1) + 1;
    uint32_t page = (row - mosaic) / page_rows, inside = (row - mosaic) % page_rows;
    if (inside == page_rows - 1) {
        return separator;
    }
    uint32_t y = inside / (side + 1), x = inside % (side + 1);
    if (x == side) {
        return newline;
    }
    return (uocr_layout_row){UOCR_ROW_GLOBAL, (int32_t)page, (int32_t)(y * side + x)};
}

void uocr_fuse_layout(const uocr_model *model, size_t side, uocr_arena *arena, uocr_fuse *fuse) {
    const uocr_config *config = model->config;
    size_t tokens = side * side;
    fuse->features = uocr_arena_tensor(arena, UOCR_F32, tokens, config->sam_net3);
    fuse->both = uocr_arena_tensor(arena, UOCR_F32, tokens, (size_t)config->clip_width + config->sam_net3);
    fuse->projected = uocr_arena_tensor(arena, UOCR_F32, tokens, config->hidden);
}

size_t uocr_fuse_workspace(const uocr_model *model, size_t side) {
    return model->backend->linear_workspace(model->backend, side * side, model->config->projector_in);
}

static uocr_status place_mark(const uocr_model *model, const uocr_layout *layout, int32_t kind,
                              const uocr_weight *vector, uocr_tensor rows) {
    static const uint32_t zeros[BATCH];
    uint32_t target[BATCH];
    size_t count = 0;
    uint32_t total = uocr_layout_rows(layout);
    for (uint32_t row = 0; row < total; row++) {
        if (uocr_layout_at(layout, row).kind == kind) {
            target[count++] = row;
        }
        if (count == BATCH || (row + 1 == total && count > 0)) {
            UOCR_TRY(model->backend->embed_rows(model->backend, vector, zeros, rows, target, count));
            count = 0;
        }
    }
    return UOCR_OK;
}

uocr_status uocr_fuse_marks(const uocr_model *model, const uocr_layout *layout, uocr_tensor rows) {
    UOCR_TRY(place_mark(model, layout, UOCR_ROW_NEWLINE, &model->weights->newline, rows));
    return place_mark(model, layout, UOCR_ROW_SEPARATOR, &model->weights->separator, rows);
}

static uocr_status place_view(const uocr_model *model, const uocr_layout *layout, uint32_t view,
                              uocr_tensor projected, uocr_tensor rows) {
    bool crop = uocr_layout_is_crop(layout, view);
    int32_t kind = crop ? UOCR_ROW_CROP : UOCR_ROW_GLOBAL;
    int32_t part = (int32_t)(crop ? view : view - layout->crop_cols * layout->crop_rows);
    uint32_t source[BATCH], target[BATCH], total = uocr_layout_rows(layout);
    size_t count = 0;
    for (uint32_t row = 0; row < total; row++) {
        uocr_layout_row at = uocr_layout_at(layout, row);
        if (at.kind == kind && at.part == part) {
            source[count] = (uint32_t)at.token;
            target[count++] = row;
        }
        if (count == BATCH || (row + 1 == total && count > 0)) {
            UOCR_TRY(model->backend->copy_rows(model->backend, projected, source, rows, target, count));
            count = 0;
        }
    }
    return UOCR_OK;
}

/* Columns first.. of a tensor, `cols` of them. */
static uocr_tensor columns(uocr_tensor t, size_t first, size_t cols) {
    t.offset += first * uocr_dtype_bytes(t.dtype);
    t.cols = cols;
    return t;
}

/* Whether row 0 of a contiguous f32 tensor holds zeros only. Waits. */
static uocr_status first_row_is_zero(uocr_backend *backend, uocr_tensor t, bool *zero) {
    float part[256];
    *zero = true;
    for (size_t c = 0; *zero && c < t.cols; c += 256) {
        size_t n = t.cols - c < 256 ? t.cols - c : 256;
        UOCR_TRY(backend->read(backend, t.buffer, t.offset + c * sizeof *part, part, n * sizeof *part));
        for (size_t i = 0; i < n; i++) {
            *zero = *zero && part[i] == 0;
        }
    }
    return UOCR_OK;
}

uocr_status uocr_fuse_view(const uocr_model *model, const uocr_fuse *fuse, const uocr_layout *layout,
                           uint32_t view, uocr_tensor clip, uocr_tensor rows, uocr_sight *sight) {
    uocr_backend *backend = model->backend;
    size_t tokens = fuse->both.rows, width = clip.cols;
    UOCR_TRY(backend->copy_rows(backend, uocr_tensor_rows(clip, 1, tokens), NULL,
                                columns(fuse->both, 0, width), NULL, tokens));
    UOCR_TRY(backend->copy_rows(backend, fuse->features, NULL,
                                columns(fuse->both, width, fuse->features.cols), NULL, tokens));
    UOCR_TRY(uocr_dense_apply(backend, fuse->both, &model->weights->projector, fuse->projected, UOCR_IDENTITY,
                              false));
    UOCR_TRY(uocr_tap_rows(model->tap, backend, "proj", UOCR_TAP_PLAIN, view, fuse->projected, 0, tokens));
    bool finite, zero;
    UOCR_TRY(backend->all_finite(backend, fuse->projected, &finite));
    UOCR_TRY(first_row_is_zero(backend, fuse->projected, &zero));
    *sight = !finite ? UOCR_SIGHT_NOT_FINITE : zero ? UOCR_SIGHT_EMPTY : UOCR_SIGHT_GOOD;
    return place_view(model, layout, view, fuse->projected, rows);
}
