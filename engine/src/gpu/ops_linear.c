/* Matrix products: linear layers of one row (gemv) and of many (gemm). */
#include "gpu.h"

/* Whether the device's own library can make this product: plain halves, no gaps between rows, nothing in the tail. */
static bool for_the_library(const gpu_backend *b, const gpu_product *p) {
    return b->device->multiply && !b->exact && p->weight->dtype == UOCR_F16 && !p->second && !p->experts && !p->bias &&
           p->source == GPU_SOURCE_ROWS && p->args.activation == UOCR_IDENTITY && p->args.x_stride == p->args.depth &&
           p->args.y_stride == p->args.cols;
}

static uocr_status multiply_by_library(gpu_backend *b, const gpu_product *p) {
    gpu_dispatch w = {0};
    gpu_vector(&w, 0, p->weight);
    gpu_matrix_product product = {.x = p->x,
                                  .w = w.argument[0],
                                  .y = p->y,
                                  .rows = p->args.rows,
                                  .cols = p->args.cols,
                                  .depth = p->args.depth,
                                  .x_stride = p->args.x_stride,
                                  .y_stride = p->args.y_stride,
                                  .accumulate = p->args.accumulate};
    uint64_t out = (uint64_t)p->args.rows * p->args.cols * sizeof(float);
    return gpu_encode_product(b, &product, product.w.bytes + product.x.bytes + (p->args.accumulate ? out : 0), out);
}

/* y is not read where nothing accumulates; every tile of x passes once for each 32 columns of y. */
uocr_status gpu_multiply(gpu_backend *b, const gpu_product *p) {
    if (for_the_library(b, p)) return multiply_by_library(b, p);
    const uocr_weight *w = p->weight, *second = p->second;
    bool float_tiles = b->exact || w->dtype == UOCR_F32 || (second && second->dtype == UOCR_F32);
    size_t element = float_tiles ? 4 : 2;
    uint32_t row_tiles = gpu_divide_up(p->args.rows, GPU_TILE_ROWS),
             col_tiles = gpu_divide_up(p->args.cols, GPU_TILE_COLS);
    gpu_dispatch d = gpu_kernel("gemm", col_tiles, 128);
    d.groups[1] = row_tiles;
    d.groups[2] = p->experts ? p->experts : 1;
    gpu_constant(&d, 0, w->dtype);
    gpu_constant(&d, 1, float_tiles);
    gpu_constant(&d, 2, p->source);
    gpu_constant(&d, 3, second != NULL);
    gpu_constant(&d, 4, p->experts > 0);
    gpu_constant(&d, 5, second ? second->dtype : w->dtype);
    d.argument[0] = p->x;
    gpu_weight(&d, 1, w);
    if (p->bias) gpu_vector(&d, 3, p->bias);
    else gpu_same(&d, 3, 1);
    d.argument[4] = p->y;
    gpu_bytes(&d, 5, &p->args, sizeof p->args);
    gpu_weight(&d, 6, second ? second : w);
    d.argument[8] = p->list.kind != GPU_UNUSED ? p->list : p->x;
    d.argument[9] = p->start.kind != GPU_UNUSED ? p->start : p->x;
    gpu_bytes(&d, 10, b->pixel, sizeof b->pixel);
    d.threadgroup[0] = (uint32_t)(GPU_TILE_ROWS * GPU_TILE_K * element);
    d.threadgroup[1] = (uint32_t)(GPU_TILE_COLS * GPU_TILE_K * element * (second ? 2 : 1));
    d.threadgroup[2] = GPU_TILE_ROWS * GPU_TILE_COLS * sizeof(float);
    uint64_t weights = gpu_payload_bytes(w) + gpu_scale_bytes(w) +
                       (second ? gpu_payload_bytes(second) + gpu_scale_bytes(second) : 0);
    uint64_t out = (uint64_t)p->args.rows * p->args.cols * sizeof(float);
    return gpu_encode(b, &d,
                      weights * (p->experts ? 1 : row_tiles) + (uint64_t)p->x.bytes * col_tiles +
                          (p->args.accumulate ? out : 0),
                      out);
}

static size_t linear_workspace(const uocr_backend *b, size_t rows, size_t in) {
    (void)b, (void)rows, (void)in; /* tiles live in threadgroup memory */
    return 0;
}

static uocr_status adapt(gpu_backend *b, uocr_tensor x, const uocr_linear_part *part) {
    const uocr_weight *a = part->adapter_a, *up = part->adapter_b;
    assert(a->cols == x.cols && up->rows == part->y.cols && up->cols == a->rows && a->rows <= GPU_MOST_RANK);
    gpu_adapter_args args = {.rows = (uint32_t)x.rows,
                             .depth = (uint32_t)x.cols,
                             .rank = (uint32_t)a->rows,
                             .cols = (uint32_t)up->rows,
                             .x_stride = (uint32_t)x.stride,
                             .y_stride = (uint32_t)part->y.stride,
                             .accumulate = part->accumulate,
                             .scale = part->adapter_scale};
    gpu_dispatch d = gpu_kernel("adapter", (uint32_t)x.rows, 128);
    for (uint32_t i = 0; i < 4; i++) gpu_constant(&d, i, 0);
    gpu_constant(&d, 4, a->dtype);
    gpu_constant(&d, 5, up->dtype);
    gpu_tensor(&d, 0, x);
    gpu_weight(&d, 1, a);
    gpu_weight(&d, 3, up);
    gpu_tensor(&d, 5, part->y);
    gpu_bytes(&d, 6, &args, sizeof args);
    return gpu_encode(b, &d, x.rows * (gpu_matrix_bytes(a) + gpu_matrix_bytes(up)), gpu_extent(part->y));
}

static bool adapted(const uocr_linear_part *part) { return part->adapter_a && part->adapter_b; }

static uocr_status one_row(gpu_backend *b, uocr_tensor x, const uocr_linear_part *parts, size_t count,
                           const gpu_put_off *norm) {
    gpu_gemv_args args = {.cols = (uint32_t)x.cols, .parts = (uint32_t)count, .eps = norm ? norm->eps : 0};
    uint32_t groups = 0;
    uint64_t read = x.cols * sizeof(float), written = norm ? x.cols * sizeof(float) : 0;
    gpu_dispatch d = gpu_kernel("gemv", 0, GPU_GEMV_SIMDGROUPS * 32);
    for (uint32_t p = 0; p < GPU_PARTS; p++) {
        const uocr_linear_part *part = &parts[p < count ? p : 0]; /* unused places repeat the first */
        const uocr_weight *w = part->weight;
        gpu_constant(&d, p, w->dtype);
        gpu_weight(&d, 4 + 4 * p, w);
        if (part->bias) gpu_vector(&d, 6 + 4 * p, part->bias);
        else gpu_same(&d, 6 + 4 * p, 4 + 4 * p);
        gpu_tensor(&d, 7 + 4 * p, part->y);
        args.part[p] = (gpu_gemv_part){.rows = (uint32_t)w->rows,
                                       .first_group = groups,
                                       .activation = part->activation,
                                       .accumulate = part->accumulate || adapted(part),
                                       .bias_type = gpu_bias_type(part->bias)};
        if (p >= count) continue;
        groups += gpu_divide_up(w->rows, GPU_GEMV_SIMDGROUPS * GPU_GEMV_ROWS);
        read += gpu_matrix_bytes(w);
        written += w->rows * sizeof(float);
    }
    d.groups[0] = groups;
    gpu_constant(&d, 3, norm ? (uint32_t)norm->norm.dtype : GPU_NO_BIAS);
    gpu_constant(&d, 4, 0);
    gpu_constant(&d, 5, 0);
    gpu_tensor(&d, 0, norm ? norm->x : x);
    if (norm) gpu_vector(&d, 1, &norm->norm);
    else gpu_same(&d, 1, 4);
    gpu_tensor(&d, 2, norm ? norm->y : parts[0].y);
    gpu_bytes(&d, 3, &args, sizeof args);
    return gpu_encode(b, &d, read, written);
}

static uocr_status many_rows(gpu_backend *b, uocr_tensor x, const uocr_linear_part *part) {
    const uocr_weight *w = part->weight;
    gpu_product product = {.args = {.rows = (uint32_t)x.rows,
                                    .cols = (uint32_t)w->rows,
                                    .depth = (uint32_t)w->cols,
                                    .x_stride = (uint32_t)x.stride,
                                    .y_stride = (uint32_t)part->y.stride,
                                    .activation = part->activation,
                                    .accumulate = part->accumulate || adapted(part),
                                    .bias_type = gpu_bias_type(part->bias)},
                           .source = GPU_SOURCE_ROWS,
                           .weight = w,
                           .bias = part->bias,
                           .x = gpu_tensor_argument(x),
                           .y = gpu_tensor_argument(part->y)};
    return gpu_multiply(b, &product);
}

static uocr_status linear(uocr_backend *backend, uocr_tensor x, const uocr_linear_part *parts, size_t count) {
    gpu_backend *b = gpu_of(backend);
    gpu_put_off norm;
    uocr_status status;
    double flops = 0, begun = gpu_clock(b);
    uint64_t bytes = 0;
    bool any_adapter = false;
    assert(count >= 1 && count <= GPU_PARTS);
    for (size_t p = 0; p < count; p++) {
        assert(parts[p].weight->cols == x.cols && parts[p].weight->rows == parts[p].y.cols &&
               parts[p].y.rows == x.rows);
        assert(parts[p].activation == UOCR_IDENTITY || !parts[p].accumulate);
        any_adapter |= adapted(&parts[p]);
        bytes += gpu_matrix_bytes(parts[p].weight);
        flops += 2.0 * (double)(x.rows * parts[p].weight->rows * x.cols);
    }
    bool fused = !any_adapter && gpu_take(b, GPU_NORM, x, &norm, &status);
    if (any_adapter) status = gpu_begin(b);
    for (size_t p = 0; p < count && status == UOCR_OK && x.rows; p++)
        if (adapted(&parts[p])) status = adapt(b, x, &parts[p]);
    if (status != UOCR_OK || !x.rows) return status;
    if (x.rows == 1) status = one_row(b, x, parts, count, fused ? &norm : NULL);
    else
        for (size_t p = 0; p < count && status == UOCR_OK; p++) status = many_rows(b, x, &parts[p]);
    return status == UOCR_OK ? gpu_end(b, "linear", begun, bytes, flops) : status;
}

void gpu_install_linear(uocr_backend *b) {
    b->linear = linear;
    b->linear_workspace = linear_workspace;
}
