/* Operators that go row by row: norms, copies, lookups, sums, and the check for Inf and NaN. */
#include "gpu.h"

enum { NORM_SIMDGROUPS = 4 };

static uint32_t threads_for(size_t cols) {
    size_t threads = (cols + 31) / 32 * 32;
    return (uint32_t)(threads > 256 ? 256 : threads < 32 ? 32 : threads);
}

static uocr_status norm_rows(gpu_backend *b, uocr_tensor x, const uocr_weight *w, const uocr_weight *bias,
                             float eps, uocr_tensor y) {
    gpu_norm_args args = {(uint32_t)x.rows, (uint32_t)x.cols, (uint32_t)x.stride, (uint32_t)y.stride, eps};
    gpu_dispatch d = gpu_kernel("norm_rows", gpu_divide_up(x.rows, NORM_SIMDGROUPS), NORM_SIMDGROUPS * 32);
    if (!x.rows) return UOCR_OK;
    gpu_constant(&d, 0, w->dtype);
    gpu_constant(&d, 1, bias == NULL);
    gpu_constant(&d, 2, bias ? bias->dtype : w->dtype);
    gpu_tensor(&d, 0, x);
    gpu_vector(&d, 1, w);
    gpu_vector(&d, 2, bias ? bias : w);
    gpu_tensor(&d, 3, y);
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(b, &d, gpu_extent(x) + gpu_matrix_bytes(w), gpu_extent(y));
}

uocr_status gpu_do_norm(gpu_backend *b, const gpu_put_off *n) {
    return norm_rows(b, n->x, &n->norm, NULL, n->eps, n->y);
}

static uocr_status rms_norm(uocr_backend *backend, uocr_tensor x, const uocr_weight *w, float eps,
                            uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    assert(x.cols == y.cols && x.rows == y.rows && w->cols == x.cols);
    if (status != UOCR_OK) return status;
    if (x.rows == 1 && !(x.buffer == y.buffer && x.offset == y.offset))
        b->later = (gpu_put_off){.what = GPU_NORM, .x = x, .y = y, .norm = *w, .eps = eps};
    else status = norm_rows(b, x, w, NULL, eps, y);
    return status == UOCR_OK
               ? gpu_end(b, "rms_norm", begun, gpu_matrix_bytes(w), 4.0 * (double)(x.rows * x.cols))
               : status;
}

static uocr_status layer_norm(uocr_backend *backend, uocr_tensor x, const uocr_weight *w,
                              const uocr_weight *bias, float eps, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    assert(x.cols == y.cols && x.rows == y.rows && w->cols == x.cols);
    if (status == UOCR_OK) status = norm_rows(b, x, w, bias, eps, y);
    return status == UOCR_OK
               ? gpu_end(b, "layer_norm", begun, gpu_matrix_bytes(w), 8.0 * (double)(x.rows * x.cols))
               : status;
}

/* Row numbers as an inline argument, or something in their place. */
static void list(gpu_dispatch *d, uint32_t index, const uint32_t *rows, size_t first, size_t count) {
    static const uint32_t none = 0;
    gpu_bytes(d, index, rows ? rows + first : &none, rows ? count * sizeof *rows : sizeof none);
}

static uocr_tensor past(uocr_tensor t, size_t first, const uint32_t *rows) {
    if (!rows) t = uocr_tensor_rows(t, first, t.rows - first);
    return t;
}

static uocr_status copy_rows(uocr_backend *backend, uocr_tensor src, const uint32_t *src_rows,
                             uocr_tensor dst, const uint32_t *dst_rows, size_t count) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t most = src_rows || dst_rows ? GPU_MOST_LIST : count, bytes = count * src.cols * sizeof(float);
    assert(src.cols == dst.cols);
    for (size_t first = 0; first < count && status == UOCR_OK; first += most) {
        size_t n = count - first < most ? count - first : most;
        uocr_tensor from = past(src, first, src_rows), to = past(dst, first, dst_rows);
        gpu_rows_args args = {(uint32_t)n,          (uint32_t)src.cols, (uint32_t)src.stride,
                              (uint32_t)dst.stride, src_rows != NULL,   dst_rows != NULL};
        gpu_dispatch d = gpu_kernel("copy_rows", (uint32_t)n, threads_for(src.cols));
        gpu_constant(&d, 2, 0);
        gpu_tensor(&d, 0, from);
        gpu_tensor(&d, 1, to);
        list(&d, 2, src_rows, first, n);
        list(&d, 3, dst_rows, first, n);
        gpu_bytes(&d, 4, &args, sizeof args);
        status = gpu_encode(b, &d, n * src.cols * sizeof(float), n * src.cols * sizeof(float));
    }
    return status == UOCR_OK ? gpu_end(b, "copy_rows", begun, bytes, 0) : status;
}

static uocr_status embed_rows(uocr_backend *backend, const uocr_weight *table, const uint32_t *table_rows,
                              uocr_tensor dst, const uint32_t *dst_rows, size_t count) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t most = table_rows || dst_rows ? GPU_MOST_LIST : count,
           row_bytes = gpu_matrix_bytes(table) / table->rows;
    assert(table->cols == dst.cols && (table_rows || dst_rows || count <= table->rows));
    for (size_t first = 0; first < count && status == UOCR_OK; first += most) {
        size_t n = count - first < most ? count - first : most;
        uint32_t rows[GPU_MOST_LIST];
        for (size_t i = 0; i < n && dst_rows && !table_rows; i++) rows[i] = (uint32_t)(first + i);
        gpu_rows_args args = {(uint32_t)n,          (uint32_t)dst.cols,     0,
                              (uint32_t)dst.stride, table_rows || dst_rows, dst_rows != NULL};
        gpu_dispatch d = gpu_kernel("embed_rows", (uint32_t)n, threads_for(dst.cols));
        gpu_constant(&d, 0, table->dtype);
        gpu_constant(&d, 2, 0);
        gpu_weight(&d, 0, table);
        gpu_tensor(&d, 2, past(dst, first, dst_rows));
        if (args.from_list) list(&d, 3, table_rows ? table_rows : rows, table_rows ? first : 0, n);
        else list(&d, 3, NULL, 0, 0);
        list(&d, 4, dst_rows, first, n);
        gpu_bytes(&d, 5, &args, sizeof args);
        status = gpu_encode(b, &d, n * row_bytes, n * dst.cols * sizeof(float));
    }
    return status == UOCR_OK ? gpu_end(b, "embed_rows", begun, count * row_bytes, 0) : status;
}

static uocr_status add(uocr_backend *backend, uocr_tensor x, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    gpu_rows_args args = {(uint32_t)x.rows, (uint32_t)x.cols, (uint32_t)x.stride, (uint32_t)y.stride, 0, 0};
    gpu_dispatch d = gpu_kernel("add_rows", (uint32_t)x.rows, threads_for(x.cols));
    assert(x.rows == y.rows && x.cols == y.cols);
    if (status != UOCR_OK || !x.rows) return status;
    gpu_constant(&d, 2, 0);
    gpu_tensor(&d, 0, x);
    gpu_tensor(&d, 1, y);
    gpu_bytes(&d, 2, &args, sizeof args);
    status = gpu_encode(b, &d, gpu_extent(x) + gpu_extent(y), gpu_extent(y));
    return status == UOCR_OK ? gpu_end(b, "add", begun, 0, (double)(x.rows * x.cols)) : status;
}

static uocr_status all_finite(uocr_backend *backend, uocr_tensor x, bool *finite) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uint32_t bad[GPU_FINITE_BLOCKS], groups = gpu_divide_up(x.rows, 4);
    uocr_status status = gpu_begin(b);
    gpu_rows_args args = {(uint32_t)x.rows, (uint32_t)x.cols, (uint32_t)x.stride, 0, 0, 0};
    *finite = true;
    if (status != UOCR_OK || !x.rows) return status;
    if (groups > GPU_FINITE_BLOCKS) groups = GPU_FINITE_BLOCKS;
    gpu_dispatch d = gpu_kernel("finite_rows", groups, 128);
    gpu_constant(&d, 2, 0);
    gpu_tensor(&d, 0, x);
    gpu_place(&d, 1, b->results, GPU_RESULT_FINITE, groups * sizeof *bad);
    gpu_bytes(&d, 2, &args, sizeof args);
    status = gpu_encode(b, &d, gpu_extent(x), groups * sizeof *bad);
    if (status == UOCR_OK)
        status = backend->read(backend, b->results, GPU_RESULT_FINITE, bad, groups * sizeof *bad);
    for (uint32_t i = 0; i < groups && status == UOCR_OK; i++) *finite &= bad[i] == 0;
    return status == UOCR_OK ? gpu_end(b, "all_finite", begun, 0, (double)(x.rows * x.cols)) : status;
}

void gpu_install_rows(uocr_backend *b) {
    b->layer_norm = layer_norm;
    b->rms_norm = rms_norm;
    b->copy_rows = copy_rows;
    b->embed_rows = embed_rows;
    b->add = add;
    b->all_finite = all_finite;
}
