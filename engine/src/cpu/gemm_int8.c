/* The matrix product with quantised activations: weights packed once per tile as bytes, sums of a group
 * exact.
 *
 * Every element of y is one chain over the groups of 64 in order: it does not depend on tiles, threads or how
 * many rows are computed together. */
#include "cpu.h"

enum { GROUPS = 8 }; /* packed at a time: 64 columns x 512 inputs in at most 64 KB */

typedef struct int8_scratch {
    uint8_t panel[CPU_GEMM_COLS / CPU_PANEL][GROUPS * CPU_INT8_GROUP_BYTES];
    float scales[CPU_GEMM_COLS / CPU_PANEL][GROUPS * CPU_PANEL];
    float edge[CPU_INT8_ROWS * CPU_PANEL]; /* a panel with fewer than 16 columns */
    float bias[CPU_GEMM_COLS];
} int8_scratch;

size_t cpu_gemm_int8_scratch(void) { return sizeof(int8_scratch); }

/* Row `row` of the activations, from group g0 on. */
static cpu_quantized row_at(const cpu_gemm *g, size_t row, size_t g0) {
    cpu_quantized x = cpu_quantized_row(g->xq, g->xq_rows ? g->xq_rows[row] : row, g->weight->cols);
    return (cpu_quantized){x.q + g0 * UOCR_GROUP, x.scale + g0, x.sum + g0};
}

static void multiply_rows(const cpu_kernels *kernels, const cpu_gemm *g, size_t row, size_t rows, size_t g0,
                          size_t groups, const uint8_t *panel, const float *scales, float *y, size_t cols,
                          bool add, float *edge) {
    cpu_quantized x[CPU_INT8_ROWS];
    bool q4 = g->weight->dtype == UOCR_Q4;
    for (size_t i = 0; i < rows; i++) x[i] = row_at(g, row + i, g0);
    if (cols == CPU_PANEL) {
        kernels->micro_int8[q4](rows, groups, x, panel, scales, y, g->ldy, add);
        return;
    }
    for (size_t i = 0; i < rows && add; i++)
        memcpy(edge + i * CPU_PANEL, y + i * g->ldy, cols * sizeof(float));
    kernels->micro_int8[q4](rows, groups, x, panel, scales, edge, CPU_PANEL, add);
    for (size_t i = 0; i < rows; i++) memcpy(y + i * g->ldy, edge + i * CPU_PANEL, cols * sizeof(float));
}

void cpu_gemm_int8_block(const cpu_kernels *kernels, const cpu_gemm *g, size_t row0, size_t rows, size_t col0,
                         size_t cols, uint8_t *scratch) {
    int8_scratch *s = (int8_scratch *)(void *)scratch;
    size_t all = g->weight->cols / UOCR_GROUP;
    float *y = g->y + (row0 - g->y_row0) * g->ldy + (col0 - g->y_col0);
    for (size_t g0 = 0; g0 < all; g0 += GROUPS) {
        size_t groups = cpu_min(GROUPS, all - g0);
        for (size_t c = 0; c < cols; c += CPU_PANEL) {
            cpu_weight_rows w = cpu_rows_of(g->weight, g->matrix, col0 + c);
            uint8_t *panel = s->panel[c / CPU_PANEL];
            float *scales = s->scales[c / CPU_PANEL];
            size_t n = cpu_min(CPU_PANEL, cols - c);
            kernels->pack_int8[g->weight->dtype == UOCR_Q4](&w, n, g0, groups, panel, scales);
            for (size_t r = 0; r < rows; r += CPU_INT8_ROWS)
                multiply_rows(kernels, g, row0 + r, cpu_min(CPU_INT8_ROWS, rows - r), g0, groups, panel,
                              scales, y + r * g->ldy + c, n, g->accumulate || g0 > 0, s->edge);
        }
    }
    if (!g->bias && g->activation == UOCR_IDENTITY) return;
    if (g->bias) cpu_weight_read(g->bias, 0, col0, cols, s->bias);
    for (size_t i = 0; i < rows; i++)
        kernels->tail(y + i * g->ldy, g->bias ? s->bias : NULL, cols, g->activation);
}

typedef struct quantize_job {
    const cpu_backend *backend;
    const float *x;
    size_t ldx, rows, in;
    cpu_quantized out;
} quantize_job;

enum { QUANTIZE_ROWS = 16 };

static void quantize_tile(void *argument, size_t tile, uint32_t worker) {
    const quantize_job *job = argument;
    (void)worker;
    for (size_t row = tile * QUANTIZE_ROWS; row < cpu_min((tile + 1) * QUANTIZE_ROWS, job->rows); row++) {
        cpu_quantized out = cpu_quantized_row(job->out, row, job->in);
        job->backend->kernels->quantize(job->x + row * job->ldx, job->in, &out);
    }
}

uocr_status cpu_quantize_rows(cpu_backend *b, const float *x, size_t ldx, size_t rows, size_t in,
                              cpu_quantized out) {
    quantize_job job = {b, x, ldx, rows, in, out};
    return uocr_pool_run(b->pool, cpu_divide_up(rows, QUANTIZE_ROWS), quantize_tile, &job);
}
