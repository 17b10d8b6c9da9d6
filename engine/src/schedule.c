#include "schedule.h"

/* Tables live as long as the view size; SAM's activations and CLIP's take turns in the same place. */
static void layout(const uocr_model *model, size_t size, uocr_vision *vision) {
    uocr_arena *arena = &vision->tensors;
    size_t side = size / model->config->sam_patch / 4, shared, end;
    arena->used = 0;
    uocr_sam_layout_tables(model, size, arena, &vision->sam);
    uocr_clip_layout_tables(model, side, arena, &vision->clip);
    uocr_fuse_layout(model, side, arena, &vision->fuse);
    shared = arena->used;
    uocr_sam_layout(model, arena, &vision->sam);
    end = arena->used;
    arena->used = shared;
    uocr_clip_layout(model, arena, &vision->clip);
    arena->used = uocr_max(end, arena->used);
}

static void measure_size(const uocr_model *model, size_t size, uocr_vision *vision) {
    size_t side = size / model->config->sam_patch / 4, largest = vision->tensors.used;
    vision->staging.used = 0;
    vision->rgb = uocr_arena_tensor(&vision->staging, UOCR_U8, size * size, 3);
    layout(model, size, vision);
    vision->tensors.used = uocr_max(largest, vision->tensors.used);
    uocr_arena_reserve(&vision->workspace, uocr_sam_workspace(model, size));
    uocr_arena_reserve(&vision->workspace, uocr_clip_workspace(model, side));
    uocr_arena_reserve(&vision->workspace, uocr_fuse_workspace(model, side));
    vision->scratch_bytes = uocr_max(vision->scratch_bytes, uocr_sam_scratch(model, size));
    vision->scratch_bytes = uocr_max(vision->scratch_bytes, uocr_clip_scratch(model, side));
}

void uocr_vision_measure(const uocr_model *model, const uocr_request *request, uocr_vision *vision) {
    *vision = (uocr_vision){.staging.category = UOCR_MEMORY_HOST_STAGING,
                            .tensors.category = UOCR_MEMORY_VISION_WORKSPACE,
                            .workspace.category = UOCR_MEMORY_VISION_WORKSPACE};
    size_t crop = request->layout.crop_cols > 0 ? UOCR_CROP_SIZE : 0;
    if (request->views == 0) {
        return;
    }
    if (crop > 0) {
        measure_size(model, uocr_min(crop, request->global_size), vision);
    }
    measure_size(model, uocr_max(crop, request->global_size),
                 vision); /* last: staging is that of the larger */
}

uocr_status uocr_vision_create(const uocr_model *model, uocr_memory *memory, const uocr_request *request,
                               uocr_vision *vision) {
    uocr_vision_measure(model, request, vision);
    UOCR_TRY(uocr_arena_create(&vision->staging, model->backend));
    UOCR_TRY(uocr_arena_create(&vision->tensors, model->backend));
    UOCR_TRY(uocr_arena_create(&vision->workspace, model->backend));
    vision->scratch = uocr_memory_alloc(memory, UOCR_MEMORY_VISION_WORKSPACE, vision->scratch_bytes);
    return vision->scratch ? UOCR_OK : UOCR_OUT_OF_MEMORY;
}

void uocr_vision_destroy(const uocr_model *model, uocr_memory *memory, uocr_vision *vision) {
    uocr_memory_free(memory, UOCR_MEMORY_VISION_WORKSPACE, vision->scratch, vision->scratch_bytes);
    vision->scratch = NULL;
    uocr_arena_destroy(&vision->workspace, model->backend);
    uocr_arena_destroy(&vision->tensors, model->backend);
    uocr_arena_destroy(&vision->staging, model->backend);
}

size_t uocr_vision_pieces(const uocr_config *config) {
    return uocr_sam_pieces(config) + uocr_clip_pieces(config) + 1;
}

uocr_status uocr_vision_feed(const uocr_model *model, const uocr_request *request, uocr_vision *vision,
                             const uint8_t *rgb, size_t stride) {
    uocr_backend *backend = model->backend;
    size_t size = uocr_request_view_size(request, vision->view), row = 3 * size;
    vision->rgb = (uocr_tensor){vision->staging.buffer, 0, UOCR_U8, size * size, 3, 3};
    if (stride == row) {
        UOCR_TRY(backend->write(backend, vision->staging.buffer, 0, rgb, size * row));
    } else {
        for (size_t y = 0; y < size; y++) {
            UOCR_TRY(backend->write(backend, vision->staging.buffer, y * row, rgb + y * stride, row));
        }
    }
    vision->fed = true;
    return UOCR_OK;
}

static uocr_status fit(const uocr_model *model, size_t size, uocr_vision *vision) {
    if (vision->fitted == size) {
        return UOCR_OK;
    }
    layout(model, size, vision);
    vision->fitted = 0; /* until both succeed */
    UOCR_TRY(uocr_sam_fit(model, &vision->sam, vision->scratch));
    UOCR_TRY(uocr_clip_fit(model, &vision->clip, vision->scratch));
    vision->fitted = size;
    return UOCR_OK;
}

uocr_status uocr_vision_step(const uocr_model *model, const uocr_request *request, uocr_vision *vision,
                             uocr_tensor rows, uocr_sight *sight) {
    size_t sam = uocr_sam_pieces(model->config), clip = uocr_clip_pieces(model->config),
           piece = vision->piece;
    uint32_t view = vision->view;
    *sight = UOCR_SIGHT_GOOD;
    model->backend->bind_workspace(model->backend, vision->workspace.buffer, vision->workspace.bytes);
    if (view == 0 && piece == 0) {
        UOCR_TRY(uocr_fuse_marks(model, &request->layout, rows));
    }
    if (piece < sam) {
        UOCR_TRY(fit(model, uocr_request_view_size(request, view), vision));
        UOCR_TRY(uocr_sam_piece(model, &vision->sam, piece, view, vision->rgb, vision->fuse.features));
    } else if (piece < sam + clip) {
        UOCR_TRY(uocr_clip_piece(model, &vision->clip, piece - sam, view, vision->fuse.features));
    } else {
        UOCR_TRY(uocr_fuse_view(model, &vision->fuse, &request->layout, view, vision->clip.x, rows, sight));
    }
    vision->piece++;
    if (vision->piece == uocr_vision_pieces(model->config)) {
        vision->piece = 0;
        vision->view++;
        vision->fed = false;
    }
    return UOCR_OK;
}
