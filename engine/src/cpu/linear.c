/* Linear layers: up to three products of the same input, with bias, activation, residual and low-rank pair in
 * the tail. */
#include "cpu.h"

void cpu_gemv_block(const cpu_kernels *kernels, const uocr_weight *w, size_t matrix, size_t row0, size_t rows,
                    const float *x, const cpu_quantized *xq, float *y) {
    cpu_weight_rows source = cpu_rows_of(w, matrix, row0);
    if (xq && cpu_has_scales(w->dtype)) kernels->gemv_int8[w->dtype - UOCR_Q8](&source, rows, w->cols, xq, y);
    else kernels->gemv[w->dtype](&source, rows, w->cols, x, y);
}

size_t cpu_gemv_tile(const cpu_backend *b, size_t rows) {
    /* Enough tiles that threads finish together, large enough that handing them out costs nothing. */
    size_t tile = rows / (8 * uocr_pool_threads(b->pool));
    tile = cpu_round_up(tile ? tile : 1, 8);
    return tile < 16 ? 16 : tile > CPU_GEMV_ROWS ? CPU_GEMV_ROWS : tile;
}

typedef struct linear_job {
    const cpu_backend *backend;
    const uocr_linear_part *parts;
    cpu_gemm gemm[3];
    size_t count, rows, tile_rows, row_tiles, tile_cols;
    size_t first_tile[4]; /* part p owns tiles first_tile[p].. */
    const float *x;
    size_t ldx;
    const cpu_quantized *xq;
} linear_job;

static size_t part_of(const linear_job *job, size_t tile) {
    size_t part = 0;
    while (tile >= job->first_tile[part + 1]) part++;
    return part;
}

static void gemm_tile(void *argument, size_t tile, uint32_t worker) {
    const linear_job *job = argument;
    size_t part = part_of(job, tile);
    tile -= job->first_tile[part];
    size_t row0 = tile % job->row_tiles * job->tile_rows, col0 = tile / job->row_tiles * CPU_GEMM_COLS;
    cpu_gemm_block(job->backend->kernels, &job->gemm[part], row0, cpu_min(job->tile_rows, job->rows - row0),
                   col0, cpu_min(CPU_GEMM_COLS, job->parts[part].weight->rows - col0),
                   cpu_scratch(job->backend, worker));
}

static void gemv_tile(void *argument, size_t tile, uint32_t worker) {
    const linear_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t part = part_of(job, tile);
    const cpu_gemm *g = &job->gemm[part];
    size_t row0 = (tile - job->first_tile[part]) * job->tile_cols,
           rows = cpu_min(job->tile_cols, g->weight->rows - row0);
    float product[CPU_GEMV_ROWS], bias[CPU_GEMV_ROWS], *y = g->y + row0;
    (void)worker;
    cpu_gemv_block(kernels, g->weight, 0, row0, rows, job->x, job->xq, product);
    if (g->accumulate)
        for (size_t i = 0; i < rows; i++) product[i] = y[i] + product[i];
    if (g->bias) cpu_weight_read(g->bias, 0, row0, rows, bias);
    if (g->bias || g->activation != UOCR_IDENTITY)
        kernels->tail(product, g->bias ? bias : NULL, rows, g->activation);
    memcpy(y, product, rows * sizeof(float));
}

/* y (+)= scale * (x A^T) B^T, a row a tile: adapters are small. */
typedef struct adapter_job {
    const cpu_backend *backend;
    uocr_tensor x;
    const uocr_linear_part *part;
} adapter_job;

enum { ADAPTER_CHUNK = 64 };

static void adapter_tile(void *argument, size_t row, uint32_t worker) {
    const adapter_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    const uocr_weight *a = job->part->adapter_a, *b = job->part->adapter_b;
    float *low = (float *)(void *)cpu_scratch(job->backend, worker), out[ADAPTER_CHUNK];
    float *y = cpu_f32(job->part->y) + row * job->part->y.stride;
    cpu_gemv_block(kernels, a, 0, 0, a->rows, cpu_f32(job->x) + row * job->x.stride, NULL, low);
    kernels->scale(low, a->rows, job->part->adapter_scale);
    for (size_t c = 0; c < b->rows; c += ADAPTER_CHUNK) {
        size_t n = cpu_min(ADAPTER_CHUNK, b->rows - c);
        cpu_gemv_block(kernels, b, 0, c, n, low, NULL, out);
        for (size_t i = 0; i < n; i++) y[c + i] = job->part->accumulate ? y[c + i] + out[i] : out[i];
    }
}

/* Several rows against q8 keep f32 activations unless integers are asked for: they are those of vision and of
 * attention, which 8 bits disturb by about 0.7 % of a visual row. Whether a model bears that, a gate says; a
 * view then takes half the time on processors with dot products of bytes. */
static bool quantises(const cpu_backend *b, uocr_dtype dtype, size_t rows) {
    return cpu_uses_int8(b, dtype) &&
           (rows == 1 || dtype == UOCR_Q4 || b->base.precision == UOCR_PRECISION_INTEGER);
}

static size_t linear_workspace(const uocr_backend *b, size_t rows, size_t in) {
    return b->precision == UOCR_PRECISION_EXACT ? 0 : cpu_quantized_bytes(rows, in);
}

static uocr_status linear(uocr_backend *backend, uocr_tensor x, const uocr_linear_part *parts, size_t count) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b), flops = 0;
    uint64_t bytes = 0;
    linear_job job = {
        .backend = b, .parts = parts, .count = count, .rows = x.rows, .x = cpu_f32(x), .ldx = x.stride};
    cpu_quantized quantized;
    assert(count >= 1 && count <= 3);
    if (!x.rows) return UOCR_OK;
    for (size_t p = 0; p < count; p++) {
        const uocr_linear_part *part = &parts[p];
        const uocr_weight *w = part->weight;
        assert(w->cols == x.cols && w->rows == part->y.cols && part->y.rows == x.rows);
        assert(part->activation == UOCR_IDENTITY ||
               !part->accumulate); /* a residual is added to the plain product */
        bool adapted = part->adapter_a && part->adapter_b;
        if (adapted) { /* first, so that the product goes on from it and the activation sees the sum */
            assert(part->adapter_a->rows * sizeof(float) <= b->scratch_stride);
            adapter_job adapter = {b, x, part};
            uocr_status status = uocr_pool_run(b->pool, x.rows, adapter_tile, &adapter);
            if (status != UOCR_OK) return status;
        }
        job.gemm[p] = (cpu_gemm){.x = job.x,
                                 .ldx = job.ldx,
                                 .weight = w,
                                 .bias = part->bias,
                                 .activation = part->activation,
                                 .accumulate = part->accumulate || adapted,
                                 .y = cpu_f32(part->y),
                                 .ldy = part->y.stride};
        if (quantises(b, w->dtype, x.rows)) {
            if (!job.xq) { /* once for all parts */
                cpu_arena arena = cpu_arena_begin(b);
                quantized = cpu_take_quantized(&arena, x.rows, x.cols);
                uocr_status status = cpu_quantize_rows(b, job.x, job.ldx, x.rows, x.cols, quantized);
                if (status != UOCR_OK) return status;
                job.xq = &quantized;
            }
            job.gemm[p].xq = quantized;
        }
        bytes += cpu_weight_traffic(w);
        flops += 2.0 * (double)(w->rows * w->cols * x.rows);
    }
    size_t all = 0;
    for (size_t p = 0; p < count; p++) all += parts[p].weight->rows;
    job.tile_rows = cpu_gemm_tile_rows(b->kernels, x.cols);
    job.row_tiles = x.rows == 1 ? 1 : cpu_divide_up(x.rows, job.tile_rows);
    job.tile_cols = x.rows == 1 ? cpu_gemv_tile(b, all) : CPU_GEMM_COLS;
    for (size_t p = 0; p < count; p++)
        job.first_tile[p + 1] =
            job.first_tile[p] + job.row_tiles * cpu_divide_up(parts[p].weight->rows, job.tile_cols);
    uocr_status status =
        uocr_pool_run(b->pool, job.first_tile[count], x.rows == 1 ? gemv_tile : gemm_tile, &job);
    cpu_end(b, "linear", begun, bytes, flops);
    return status;
}

void cpu_install_linear(uocr_backend *b) {
    b->linear = linear;
    b->linear_workspace = linear_workspace;
}
