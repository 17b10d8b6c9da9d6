/* Gated feed-forward layers, for every row or for each row's experts; routing. */
#include "gpu.h"

/* ---- one row ---- */

/* Gate and up in one dispatch, down in another: the row's experts, the layer that all rows share, or both. */
typedef struct row_mlp {
    uocr_tensor x, y, ids, weights;
    const uocr_weight *gate, *up, *down; /* experts, NULL for none */
    const uocr_weight *shared_gate, *shared_up, *shared_down;
    const gpu_put_off *norm; /* before it, NULL for none */
} row_mlp;

static size_t row_mlp_bytes(size_t top_k, size_t intermediate, size_t shared) {
    return gpu_piece((top_k * intermediate + shared) * sizeof(float));
}

static uocr_status run_row(gpu_backend *b, const row_mlp *m) {
    const uocr_weight *gate = m->gate ? m->gate : m->shared_gate, *up = m->gate ? m->up : m->shared_up;
    const uocr_weight *down = m->gate ? m->down : m->shared_down;
    const uocr_weight *shared_gate = m->shared_gate ? m->shared_gate : gate,
                      *shared_up = m->shared_up ? m->shared_up : up;
    const uocr_weight *shared_down = m->shared_down ? m->shared_down : down;
    size_t top_k = m->gate ? m->ids.cols : 0, shared = m->shared_gate ? m->shared_gate->rows : 0;
    size_t intermediate = m->gate ? m->gate->rows : 0, places = top_k + (shared > 0);
    size_t widest = intermediate > shared ? intermediate : shared,
           h_bytes = (top_k * intermediate + shared) * sizeof(float);
    gpu_room room = gpu_room_begin(b);
    size_t h = gpu_room_take(&room, h_bytes);
    gpu_mlp_args args = {(uint32_t)m->x.cols, (uint32_t)intermediate, (uint32_t)shared,
                         m->norm ? m->norm->eps : 0};
    uint32_t constants[10] = {gate->dtype,
                              up->dtype,
                              down->dtype,
                              shared_gate->dtype,
                              shared_up->dtype,
                              shared_down->dtype,
                              (uint32_t)top_k,
                              shared > 0,
                              m->norm ? (uint32_t)m->norm->norm.dtype : GPU_NO_BIAS,
                              0};
    uint64_t first = m->x.cols * sizeof(float), second = h_bytes;
    if (m->gate) {
        first += top_k * (gpu_matrix_bytes(gate) + gpu_matrix_bytes(up));
        second += top_k * gpu_matrix_bytes(down);
    }
    if (shared) {
        first += gpu_matrix_bytes(shared_gate) + gpu_matrix_bytes(shared_up);
        second += gpu_matrix_bytes(shared_down);
    }
    gpu_dispatch d =
        gpu_kernel("row_gate_up", gpu_divide_up(widest, 2 * GPU_GEMV_SIMDGROUPS), GPU_GEMV_SIMDGROUPS * 32);
    d.groups[1] = (uint32_t)places;
    for (uint32_t i = 0; i < 10; i++) gpu_constant(&d, i, constants[i]);
    gpu_tensor(&d, 0, m->norm ? m->norm->x : m->x);
    gpu_weight(&d, 5, gate);
    gpu_weight(&d, 7, up);
    gpu_weight(&d, 9, shared_gate);
    gpu_weight(&d, 11, shared_up);
    if (m->norm) gpu_vector(&d, 1, &m->norm->norm);
    else gpu_same(&d, 1, 5);
    gpu_place(&d, 13, b->workspace, h, h_bytes);
    if (m->norm) gpu_tensor(&d, 2, m->norm->y);
    else gpu_same(&d, 2, 13);
    gpu_bytes(&d, 3, &args, sizeof args);
    if (m->gate) gpu_tensor(&d, 4, m->ids);
    else gpu_same(&d, 4, 0);
    uocr_status status = gpu_encode(b, &d, first, h_bytes);
    if (status != UOCR_OK) return status;

    gpu_dispatch e =
        gpu_kernel("row_down", gpu_divide_up(m->y.cols, 2 * GPU_GEMV_SIMDGROUPS), GPU_GEMV_SIMDGROUPS * 32);
    for (uint32_t i = 0; i < 10; i++) gpu_constant(&e, i, constants[i]);
    gpu_place(&e, 0, b->workspace, h, h_bytes);
    gpu_bytes(&e, 1, &args, sizeof args);
    if (m->gate) {
        gpu_tensor(&e, 2, m->ids);
        gpu_tensor(&e, 3, m->weights);
    } else {
        gpu_same(&e, 2, 0);
        gpu_same(&e, 3, 0);
    }
    gpu_weight(&e, 4, down);
    gpu_weight(&e, 6, shared_down);
    gpu_tensor(&e, 8, m->y);
    return gpu_encode(b, &e, second + m->y.cols * sizeof(float), m->y.cols * sizeof(float));
}

/* ---- many rows ---- */

static gpu_gemm_args product_args(size_t rows, const uocr_weight *w, size_t x_stride, size_t y_stride,
                                  bool accumulate) {
    return (gpu_gemm_args){.rows = (uint32_t)rows,
                           .cols = (uint32_t)w->rows,
                           .depth = (uint32_t)w->cols,
                           .x_stride = (uint32_t)x_stride,
                           .y_stride = (uint32_t)y_stride,
                           .accumulate = accumulate,
                           .bias_type = GPU_NO_BIAS};
}

static uocr_status swiglu_rows(gpu_backend *b, uocr_tensor x, const uocr_weight *gate, const uocr_weight *up,
                               const uocr_weight *down, uocr_tensor y) {
    size_t intermediate = gate->rows, h_bytes = x.rows * intermediate * sizeof(float);
    gpu_room room = gpu_room_begin(b);
    gpu_argument h = gpu_place_argument(b->workspace, gpu_room_take(&room, h_bytes), h_bytes);
    gpu_product first = {.args = product_args(x.rows, gate, x.stride, intermediate, false),
                         .weight = gate,
                         .second = up,
                         .x = gpu_tensor_argument(x),
                         .y = h};
    gpu_product second = {.args = product_args(x.rows, down, intermediate, y.stride, true),
                          .weight = down,
                          .x = h,
                          .y = gpu_tensor_argument(y)};
    uocr_status status = gpu_multiply(b, &first);
    return status == UOCR_OK ? gpu_multiply(b, &second) : status;
}

static size_t swiglu_workspace(const uocr_backend *b, size_t rows, size_t hidden, size_t intermediate) {
    (void)b, (void)hidden;
    return gpu_piece(rows * intermediate * sizeof(float));
}

static size_t experts_workspace(const uocr_backend *b, size_t rows, size_t top_k, size_t count, size_t hidden,
                                size_t intermediate) {
    size_t entries = rows * top_k;
    (void)b;
    return gpu_piece((count + 1) * sizeof(uint32_t)) + 2 * gpu_piece(entries * sizeof(uint32_t)) +
           gpu_piece(entries * intermediate * sizeof(float)) + gpu_piece(entries * hidden * sizeof(float));
}

static uocr_status sort(gpu_backend *b, uocr_tensor ids, size_t experts, gpu_argument start, gpu_argument row,
                        gpu_argument entry) {
    gpu_bucket_args args = {(uint32_t)ids.rows, (uint32_t)ids.cols, (uint32_t)experts, (uint32_t)ids.stride};
    gpu_dispatch d = gpu_kernel("bucket_rows", 1, gpu_divide_up(experts, 32) * 32);
    for (uint32_t i = 0; i < 10; i++) gpu_constant(&d, i, 0);
    gpu_tensor(&d, 0, ids);
    d.argument[1] = start;
    d.argument[2] = row;
    d.argument[3] = entry;
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(b, &d, gpu_extent(ids), start.bytes + row.bytes + entry.bytes);
}

static uocr_status combine(gpu_backend *b, const gpu_put_off *e, gpu_argument out, gpu_argument entry) {
    gpu_combine_args args = {(uint32_t)e->x.rows, (uint32_t)e->y.cols, (uint32_t)e->ids.cols,
                             (uint32_t)e->weights.stride, (uint32_t)e->y.stride};
    gpu_dispatch d = gpu_kernel("combine_rows", (uint32_t)e->x.rows, 128);
    for (uint32_t i = 0; i < 10; i++) gpu_constant(&d, i, 0);
    d.argument[0] = out;
    d.argument[1] = entry;
    gpu_tensor(&d, 2, e->weights);
    gpu_tensor(&d, 3, e->y);
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(b, &d, out.bytes + gpu_extent(e->y), gpu_extent(e->y));
}

static uocr_status experts_rows(gpu_backend *b, const gpu_put_off *e) {
    size_t rows = e->x.rows, entries = rows * e->ids.cols, experts = e->gate.matrices;
    size_t intermediate = e->gate.rows, hidden = e->y.cols;
    gpu_room room = gpu_room_begin(b);
    size_t sizes[5] = {(experts + 1) * sizeof(uint32_t), entries * sizeof(uint32_t),
                       entries * sizeof(uint32_t), entries * intermediate * sizeof(float),
                       entries * hidden * sizeof(float)};
    gpu_argument part[5]; /* start, row of entry, entry of pair, h, out */
    for (size_t i = 0; i < 5; i++)
        part[i] = gpu_place_argument(b->workspace, gpu_room_take(&room, sizes[i]), sizes[i]);
    /* A row names an expert once: no expert has more entries than there are rows. */
    gpu_product first = {.args = product_args(rows, &e->gate, e->x.stride, intermediate, false),
                         .source = GPU_SOURCE_GATHER,
                         .weight = &e->gate,
                         .second = &e->up,
                         .x = gpu_tensor_argument(e->x),
                         .y = part[3],
                         .list = part[1],
                         .start = part[0],
                         .experts = (uint32_t)experts};
    gpu_product second = {.args = product_args(rows, &e->down, intermediate, hidden, false),
                          .weight = &e->down,
                          .x = part[3],
                          .y = part[4],
                          .start = part[0],
                          .experts = (uint32_t)experts};
    uocr_status status = sort(b, e->ids, experts, part[0], part[1], part[2]);
    if (status == UOCR_OK) status = gpu_multiply(b, &first);
    if (status == UOCR_OK) status = gpu_multiply(b, &second);
    return status == UOCR_OK ? combine(b, e, part[4], part[2]) : status;
}

uocr_status gpu_do_experts(gpu_backend *b, const gpu_put_off *e) {
    row_mlp one = {.x = e->x,
                   .y = e->y,
                   .ids = e->ids,
                   .weights = e->weights,
                   .gate = &e->gate,
                   .up = &e->up,
                   .down = &e->down};
    return run_row(b, &one);
}

/* ---- operators ---- */

static double mlp_flops(size_t rows, const uocr_weight *gate) {
    return 6.0 * (double)(rows * gate->rows * gate->cols);
}

static uint64_t mlp_bytes(const uocr_weight *gate, const uocr_weight *up, const uocr_weight *down) {
    return gpu_matrix_bytes(gate) + gpu_matrix_bytes(up) + gpu_matrix_bytes(down);
}

static uocr_status swiglu(uocr_backend *backend, uocr_tensor x, const uocr_weight *gate,
                          const uocr_weight *up, const uocr_weight *down, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    gpu_put_off before;
    uocr_status status;
    row_mlp m = {.x = x, .y = y, .shared_gate = gate, .shared_up = up, .shared_down = down};
    assert(gate->cols == x.cols && up->cols == x.cols && up->rows == gate->rows);
    assert(down->cols == gate->rows && down->rows == y.cols && x.rows == y.rows);
    if (b->later.what == GPU_EXPERTS && gpu_same_row(b->later.y, y) &&
        row_mlp_bytes(b->later.ids.cols, b->later.gate.rows, gate->rows) <= b->workspace_bytes &&
        gpu_take(b, GPU_EXPERTS, x, &before, &status)) {
        m.ids = before.ids, m.weights = before.weights;
        m.gate = &before.gate, m.up = &before.up, m.down = &before.down;
    } else if (gpu_take(b, GPU_NORM, x, &before, &status)) m.norm = &before;
    if (status != UOCR_OK || !x.rows) return status;
    status = x.rows == 1 ? run_row(b, &m) : swiglu_rows(b, x, gate, up, down, y);
    return status == UOCR_OK ? gpu_end(b, "swiglu", begun, mlp_bytes(gate, up, down), mlp_flops(x.rows, gate))
                             : status;
}

static uocr_status experts(uocr_backend *backend, uocr_tensor x, uocr_tensor ids, uocr_tensor weights,
                           const uocr_weight *gate, const uocr_weight *up, const uocr_weight *down,
                           uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t used = x.rows * ids.cols < gate->matrices ? x.rows * ids.cols : gate->matrices;
    gpu_put_off later = {.what = GPU_EXPERTS,
                         .x = x,
                         .y = y,
                         .ids = ids,
                         .weights = weights,
                         .gate = *gate,
                         .up = *up,
                         .down = *down};
    assert(ids.rows == x.rows && weights.rows == x.rows && weights.cols == ids.cols);
    assert(gate->matrices <= GPU_MOST_EXPERTS);
    if (status != UOCR_OK || !x.rows) return status;
    if (x.rows == 1) b->later = later;
    else status = experts_rows(b, &later);
    return status == UOCR_OK ? gpu_end(b, "experts", begun, used * mlp_bytes(gate, up, down),
                                       mlp_flops(x.rows * ids.cols, gate))
                             : status;
}

static uocr_status route(uocr_backend *backend, uocr_tensor x, const uocr_weight *w, size_t top_k,
                         bool normalise, float scale, uocr_tensor probs, uocr_tensor ids,
                         uocr_tensor weights) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    gpu_put_off norm;
    uocr_status status;
    bool fused = gpu_take(b, GPU_NORM, x, &norm, &status);
    assert(w->cols == x.cols && w->rows == probs.cols && top_k <= w->rows);
    assert(w->rows <= GPU_MOST_EXPERTS && top_k <= GPU_MOST_TOP_K);
    if (status != UOCR_OK || !x.rows) return status;
    gpu_route_args args = {.experts = (uint32_t)w->rows,
                           .cols = (uint32_t)x.cols,
                           .top_k = (uint32_t)top_k,
                           .normalise = normalise,
                           .x_stride = (uint32_t)x.stride,
                           .probs_stride = (uint32_t)probs.stride,
                           .ids_stride = (uint32_t)ids.stride,
                           .weights_stride = (uint32_t)weights.stride,
                           .scale = scale,
                           .eps = fused ? norm.eps : 0};
    /* One row is one threadgroup: then as many simdgroups as there can be. */
    gpu_dispatch d = gpu_kernel("route", (uint32_t)x.rows, x.rows == 1 ? 1024 : 256);
    for (uint32_t i = 0; i < 8; i++) gpu_constant(&d, i, 0);
    gpu_constant(&d, 8, fused ? (uint32_t)norm.norm.dtype : GPU_NO_BIAS);
    gpu_constant(&d, 9, w->dtype);
    gpu_tensor(&d, 0, fused ? norm.x : x);
    gpu_weight(&d, 3, w);
    if (fused) gpu_vector(&d, 1, &norm.norm);
    else gpu_same(&d, 1, 3);
    gpu_tensor(&d, 2, fused ? norm.y : probs);
    gpu_tensor(&d, 5, probs);
    gpu_tensor(&d, 6, ids);
    gpu_tensor(&d, 7, weights);
    gpu_bytes(&d, 8, &args, sizeof args);
    status = gpu_encode(b, &d, x.rows * gpu_matrix_bytes(w) + gpu_extent(x),
                        gpu_extent(probs) + gpu_extent(ids) + gpu_extent(weights));
    return status == UOCR_OK
               ? gpu_end(b, "route", begun, gpu_matrix_bytes(w), 2.0 * (double)(x.rows * w->rows * w->cols))
               : status;
}

void gpu_install_mlp(uocr_backend *b) {
    b->swiglu = swiglu;
    b->swiglu_workspace = swiglu_workspace;
    b->experts = experts;
    b->experts_workspace = experts_workspace;
    b->route = route;
}
