/* Attention of every kind, and the rotary positions and cache that it reads. */
#include "gpu.h"

#include <math.h>

static float scale_of(size_t head_dim) { return (float)(1.0 / sqrt((double)head_dim)); }

/* ---- many queries ---- */

/* The part that all kinds share. `window` 0: no relative position. */
static gpu_dispatch attention_kernel(const gpu_backend *b, uint32_t keys, size_t queries, size_t heads,
                                     size_t head_dim, size_t windows, size_t window) {
    size_t element = b->exact ? 4 : 2, width = (head_dim + 7) / 8 * 8;
    uint32_t simdgroups = b->exact ? 2 : 4; /* 8 queries each; float tiles leave room for half as many */
    gpu_dispatch d = gpu_kernel("attention", gpu_divide_up(queries, 8 * simdgroups), 32 * simdgroups);
    assert(head_dim % 4 == 0 && head_dim <= GPU_MOST_HEAD_DIM);
    d.groups[1] = (uint32_t)heads;
    d.groups[2] = (uint32_t)windows;
    gpu_constant(&d, 0, keys);
    gpu_constant(&d, 1, b->exact);
    gpu_constant(&d, 2, (uint32_t)(width / 8));
    gpu_constant(&d, 3, UOCR_F32);
    gpu_constant(&d, 4, UOCR_F32);
    d.threadgroup[0] = (uint32_t)(GPU_ATTEND_KEYS * width * element); /* 32 keys, or the queries */
    d.threadgroup[1] = (uint32_t)(8 * simdgroups * GPU_ATTEND_KEYS * sizeof(float));
    d.threadgroup[2] = (uint32_t)(8 * simdgroups * GPU_ATTEND_KEYS * element);
    d.threadgroup[3] = (uint32_t)(64 * simdgroups * sizeof(float));
    d.threadgroup[4] = (uint32_t)(window ? 8 * simdgroups * 2 * window * sizeof(float) : 16);
    return d;
}

static uocr_status attention_full(uocr_backend *backend, uocr_tensor qkv, size_t heads, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t d = qkv.cols / 3 / heads;
    gpu_attend_args args = {.queries = (uint32_t)qkv.rows,
                            .keys = (uint32_t)qkv.rows,
                            .heads = (uint32_t)heads,
                            .head_dim = (uint32_t)d,
                            .q_stride = (uint32_t)qkv.stride,
                            .y_stride = (uint32_t)y.stride,
                            .scale = scale_of(d)};
    assert(qkv.cols % (3 * heads) == 0 && y.rows == qkv.rows && 3 * y.cols == qkv.cols);
    if (status != UOCR_OK || !qkv.rows) return status;
    gpu_dispatch dispatch = attention_kernel(b, GPU_KEYS_ROWS, qkv.rows, heads, d, 1, 0);
    gpu_tensor(&dispatch, 0, qkv);
    for (uint32_t i = 1; i < 6; i++) gpu_same(&dispatch, i, 0);
    gpu_tensor(&dispatch, 6, y);
    gpu_bytes(&dispatch, 7, &args, sizeof args);
    uint64_t tiles = dispatch.groups[0];
    status = gpu_encode(b, &dispatch, gpu_extent(qkv) / 3 * (1 + 2 * tiles), gpu_extent(y));
    return status == UOCR_OK
               ? gpu_end(b, "attention_full", begun, 0, 4.0 * (double)(qkv.rows * qkv.rows * y.cols))
               : status;
}

static uocr_status attention_grid(uocr_backend *backend, uocr_tensor qkv, const uocr_weight *qkv_bias,
                                  uocr_tensor rel_h, uocr_tensor rel_w, size_t grid, size_t window,
                                  size_t heads, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t width = qkv.cols / 3, d = width / heads, across = (grid + window - 1) / window;
    gpu_attend_args args = {.keys = (uint32_t)(window * window),
                            .heads = (uint32_t)heads,
                            .head_dim = (uint32_t)d,
                            .q_stride = (uint32_t)qkv.stride,
                            .y_stride = (uint32_t)y.stride,
                            .grid = (uint32_t)grid,
                            .window = (uint32_t)window,
                            .windows = (uint32_t)across,
                            .rel_h_stride = (uint32_t)rel_h.stride,
                            .rel_w_stride = (uint32_t)rel_w.stride,
                            .bias_type = qkv_bias->dtype,
                            .scale = scale_of(d)};
    assert(qkv.rows == grid * grid && y.rows == qkv.rows && y.cols == width && width % heads == 0);
    assert(rel_h.rows == 2 * window - 1 && rel_w.rows == rel_h.rows && rel_h.cols == d);
    if (status != UOCR_OK) return status;
    gpu_dispatch dispatch =
        attention_kernel(b, GPU_KEYS_WINDOW, window * window, heads, d, across * across, window);
    gpu_tensor(&dispatch, 0, qkv);
    gpu_vector(&dispatch, 3, qkv_bias);
    gpu_same(&dispatch, 1, 0);
    gpu_same(&dispatch, 2, 0);
    gpu_tensor(&dispatch, 4, rel_h);
    gpu_tensor(&dispatch, 5, rel_w);
    gpu_tensor(&dispatch, 6, y);
    gpu_bytes(&dispatch, 7, &args, sizeof args);
    uint64_t tiles = dispatch.groups[0];
    status = gpu_encode(b, &dispatch, gpu_extent(qkv) / 3 * (1 + 2 * tiles), gpu_extent(y));
    return status == UOCR_OK ? gpu_end(b, window == grid ? "attention_global" : "attention_window", begun, 0,
                                       4.0 * (double)(grid * grid * window * window * width))
                             : status;
}

static size_t cache_bytes(const uocr_kv *kv, size_t slots) {
    return kv->heads * slots * kv->head_dim * (gpu_element(kv->k.dtype) + gpu_element(kv->v.dtype));
}

static uocr_status attention_prefill(uocr_backend *backend, uocr_tensor q, const uocr_kv *kv, size_t first,
                                     uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    gpu_attend_args args = {.queries = (uint32_t)q.rows,
                            .keys = (uint32_t)(first + q.rows),
                            .first = (uint32_t)first,
                            .heads = (uint32_t)kv->heads,
                            .head_dim = (uint32_t)kv->head_dim,
                            .q_stride = (uint32_t)q.stride,
                            .k_stride = (uint32_t)kv->k.stride,
                            .v_stride = (uint32_t)kv->v.stride,
                            .y_stride = (uint32_t)y.stride,
                            .slots = (uint32_t)kv->slots,
                            .scale = scale_of(kv->head_dim)};
    assert(first + q.rows <= kv->slots && q.cols == kv->heads * kv->head_dim);
    if (status != UOCR_OK || !q.rows) return status;
    gpu_dispatch d = attention_kernel(b, GPU_KEYS_CACHE, q.rows, kv->heads, kv->head_dim, 1, 0);
    gpu_constant(&d, 3, kv->k.dtype);
    gpu_constant(&d, 4, kv->v.dtype);
    gpu_tensor(&d, 0, q);
    gpu_tensor(&d, 1, kv->k);
    gpu_tensor(&d, 2, kv->v);
    for (uint32_t i = 3; i < 6; i++) gpu_same(&d, i, 0);
    gpu_tensor(&d, 6, y);
    gpu_bytes(&d, 7, &args, sizeof args);
    status = gpu_encode(b, &d, gpu_extent(q) + cache_bytes(kv, first + q.rows) * d.groups[0], gpu_extent(y));
    return status == UOCR_OK ? gpu_end(b, "attention_prefill", begun, cache_bytes(kv, first + q.rows),
                                       4.0 * (double)(q.rows * (first + q.rows) * q.cols))
                             : status;
}

/* ---- rotary positions ---- */

/* As the model was trained: frequencies are f32 numbers. */
const float *gpu_frequencies(gpu_backend *b, size_t head_dim, float theta) {
    if (b->frequency_dim != head_dim || b->frequency_theta != theta)
        for (size_t i = 0; i < head_dim / 2; i++)
            b->frequency[i] = 1.0f / (float)pow((double)theta, (double)((float)(2 * i) / (float)head_dim));
    b->frequency_dim = head_dim;
    b->frequency_theta = theta;
    return b->frequency;
}

static uocr_status rotate_rows(gpu_backend *b, const gpu_put_off *r) {
    const uocr_kv *kv = &r->kv;
    gpu_rope_args args = {.position0 = (uint32_t)r->position,
                          .slot0 = (uint32_t)r->slot,
                          .q_stride = (uint32_t)r->q.stride,
                          .k_stride = (uint32_t)r->k.stride,
                          .v_stride = (uint32_t)r->v.stride,
                          .slots = (uint32_t)kv->slots,
                          .head_dim = (uint32_t)kv->head_dim,
                          .k_cache_stride = (uint32_t)kv->k.stride,
                          .v_cache_stride = (uint32_t)kv->v.stride};
    gpu_dispatch d = gpu_kernel("rope_append", (uint32_t)r->q.rows, gpu_divide_up(kv->head_dim / 2, 32) * 32);
    d.groups[1] = (uint32_t)kv->heads;
    gpu_constant(&d, 0, kv->k.dtype);
    gpu_constant(&d, 1, kv->v.dtype);
    gpu_tensor(&d, 0, r->q);
    gpu_tensor(&d, 1, r->k);
    gpu_tensor(&d, 2, r->v);
    gpu_tensor(&d, 3, kv->k);
    gpu_tensor(&d, 4, kv->v);
    gpu_bytes(&d, 5, gpu_frequencies(b, kv->head_dim, r->theta), kv->head_dim / 2 * sizeof(float));
    gpu_bytes(&d, 6, &args, sizeof args);
    return gpu_encode(b, &d, 3 * gpu_extent(r->q), gpu_extent(r->q) + cache_bytes(kv, r->q.rows));
}

uocr_status gpu_do_rotation(gpu_backend *b, const gpu_put_off *r) { return rotate_rows(b, r); }

static uocr_status rope_append(uocr_backend *backend, uocr_tensor q, uocr_tensor k, uocr_tensor v,
                               const uocr_kv *kv, size_t position0, size_t slot0, float theta) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    gpu_put_off later = {.what = GPU_ROTATION,
                         .q = q,
                         .k = k,
                         .v = v,
                         .kv = *kv,
                         .position = position0,
                         .slot = slot0,
                         .theta = theta};
    assert(kv->head_dim % 2 == 0 && kv->head_dim <= GPU_MOST_HEAD_DIM);
    assert(slot0 + q.rows <= kv->slots && q.cols == kv->heads * kv->head_dim);
    if (status != UOCR_OK || !q.rows) return status;
    if (q.rows == 1) b->later = later;
    else status = rotate_rows(b, &later);
    return status == UOCR_OK ? gpu_end(b, "rope_append", begun, 0, 6.0 * (double)(q.rows * q.cols)) : status;
}

/* ---- one query ---- */

static size_t partial_bytes(size_t keys, size_t heads, size_t head_dim) {
    size_t blocks = (keys + GPU_DECODE_KEYS - 1) / GPU_DECODE_KEYS;
    return blocks > 1 ? heads * blocks * (head_dim + 2) * sizeof(float) : 0;
}

static size_t attention_workspace(const uocr_backend *b, size_t queries, size_t keys, size_t heads,
                                  size_t head_dim) {
    (void)b;
    return queries == 1 ? gpu_piece(partial_bytes(keys, heads, head_dim)) : 0;
}

static bool same_cache(const uocr_kv *a, const uocr_kv *b) {
    return a->k.buffer == b->k.buffer && a->k.offset == b->k.offset && a->v.buffer == b->v.buffer &&
           a->v.offset == b->v.offset;
}

static uocr_status combine(gpu_backend *b, const gpu_decode_args *args, gpu_argument partial, uocr_tensor y) {
    gpu_dispatch d = gpu_kernel("attention_combine", args->heads, gpu_divide_up(args->head_dim, 32) * 32);
    for (uint32_t i = 0; i < 3; i++) gpu_constant(&d, i, 0);
    d.argument[0] = partial;
    gpu_tensor(&d, 1, y);
    gpu_bytes(&d, 2, args, sizeof *args);
    return gpu_encode(b, &d, partial.bytes, gpu_extent(y));
}

static uocr_status attention_decode(uocr_backend *backend, uocr_tensor q, const uocr_kv *kv, size_t used,
                                    uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    gpu_put_off rotation;
    uocr_status status;
    float turn[GPU_MOST_HEAD_DIM];
    bool rotate = false;
    assert(used >= 1 && used <= kv->slots && q.rows == 1 && y.rows == 1);
    assert(kv->head_dim % 4 == 0 && kv->head_dim <= GPU_MOST_HEAD_DIM);
    if (b->later.what == GPU_ROTATION && same_cache(&b->later.kv, kv) && b->later.slot < used)
        rotate = gpu_take(b, GPU_ROTATION, q, &rotation, &status);
    else status = gpu_begin(b);
    if (status != UOCR_OK) return status;
    gpu_decode_args args = {.used = (uint32_t)used,
                            .blocks = gpu_divide_up(used, GPU_DECODE_KEYS),
                            .heads = (uint32_t)kv->heads,
                            .head_dim = (uint32_t)kv->head_dim,
                            .slots = (uint32_t)kv->slots,
                            .k_stride = (uint32_t)kv->k.stride,
                            .v_stride = (uint32_t)kv->v.stride,
                            .slot = rotate ? (uint32_t)rotation.slot : 0,
                            .scale = scale_of(kv->head_dim)};
    const float *frequency = gpu_frequencies(b, kv->head_dim, rotate ? rotation.theta : b->frequency_theta);
    for (size_t i = 0; i < kv->head_dim / 2; i++) {
        float angle = rotate ? (float)rotation.position * frequency[i] : 0;
        turn[2 * i] = (float)cos((double)angle);
        turn[2 * i + 1] = (float)sin((double)angle);
    }
    gpu_dispatch d = gpu_kernel("attention_decode", args.heads, GPU_DECODE_SIMDGROUPS * 32);
    d.groups[1] = args.blocks;
    gpu_constant(&d, 0, kv->k.dtype);
    gpu_constant(&d, 1, kv->v.dtype);
    gpu_constant(&d, 2, rotate);
    gpu_tensor(&d, 0, q);
    gpu_tensor(&d, 1, rotate ? rotation.k : q);
    gpu_tensor(&d, 2, rotate ? rotation.v : q);
    gpu_tensor(&d, 3, kv->k);
    gpu_tensor(&d, 4, kv->v);
    gpu_tensor(&d, 6, y);
    gpu_argument partial = d.argument[6];
    if (args.blocks > 1) {
        gpu_room room = gpu_room_begin(b);
        size_t bytes = partial_bytes(used, kv->heads, kv->head_dim);
        partial = gpu_place_argument(b->workspace, gpu_room_take(&room, bytes), bytes);
    }
    d.argument[5] = partial;
    gpu_bytes(&d, 7, turn, kv->head_dim * sizeof(float));
    gpu_bytes(&d, 8, &args, sizeof args);
    status = gpu_encode(b, &d, gpu_extent(q) * (rotate ? 3 : 1) + cache_bytes(kv, used),
                        partial.bytes + (rotate ? cache_bytes(kv, 1) : 0));
    if (status == UOCR_OK && args.blocks > 1) status = combine(b, &args, partial, y);
    return status == UOCR_OK ? gpu_end(b, "attention_decode", begun, cache_bytes(kv, used),
                                       4.0 * (double)(used * kv->heads * kv->head_dim))
                             : status;
}

void gpu_install_attention(uocr_backend *b) {
    b->attention_workspace = attention_workspace;
    b->attention_full = attention_full;
    b->attention_grid = attention_grid;
    b->attention_prefill = attention_prefill;
    b->attention_decode = attention_decode;
    b->rope_append = rope_append;
}
