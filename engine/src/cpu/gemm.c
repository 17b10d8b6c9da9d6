/* The matrix product: weights dequantised once per tile into packed panels, rows of x read as they lie.
 *
 * Every element of y is one chain of sums in the order of the inputs, cut every CPU_GEMM_K: it does not
 * depend on tiles, threads or how many rows are computed together. */
#include "cpu.h"

enum { MOST_ROWS = 1344 }; /* per tile: beyond, packing is cheap already and threads wait for each other */

typedef struct gemm_scratch {
    float panel[CPU_GEMM_COLS * CPU_GEMM_K];
    float gathered[CPU_GEMM_ROWS * CPU_GEMM_K];
    float edge[CPU_MICRO_ROWS * CPU_PANEL]; /* a panel with fewer than 16 columns */
    float bias[CPU_GEMM_COLS];
} gemm_scratch;

size_t cpu_gemm_scratch(void) {
    size_t quantized = cpu_gemm_int8_scratch();
    return sizeof(gemm_scratch) > quantized ? sizeof(gemm_scratch) : quantized;
}

size_t cpu_gemm_tile_rows(const cpu_kernels *kernels, size_t k) {
    size_t rows = kernels->tile_work / (CPU_GEMM_COLS * (k ? k : 1));
    rows = (rows > MOST_ROWS ? MOST_ROWS : rows) / CPU_GEMM_ROWS * CPU_GEMM_ROWS;
    return rows ? rows : CPU_GEMM_ROWS;
}

static void multiply_panel(const cpu_kernels *kernels, const float *x, size_t ldx, size_t rows, size_t k,
                           const float *panel, float *y, size_t ldy, size_t cols, bool add, float *edge) {
    for (size_t r = 0; r < rows; r += CPU_MICRO_ROWS) {
        size_t n = cpu_min(CPU_MICRO_ROWS, rows - r);
        float *out = y + r * ldy;
        if (cols == CPU_PANEL) {
            kernels->micro(n, k, x + r * ldx, ldx, panel, CPU_PANEL, out, ldy, add);
            continue;
        }
        for (size_t i = 0; i < n && add; i++)
            memcpy(edge + i * CPU_PANEL, out + i * ldy, cols * sizeof(float));
        kernels->micro(n, k, x + r * ldx, ldx, panel, CPU_PANEL, edge, CPU_PANEL, add);
        for (size_t i = 0; i < n; i++) memcpy(out + i * ldy, edge + i * CPU_PANEL, cols * sizeof(float));
    }
}

void cpu_gemm_block(const cpu_kernels *kernels, const cpu_gemm *g, size_t row0, size_t rows, size_t col0,
                    size_t cols, uint8_t *scratch) {
    if (g->xq.q) {
        cpu_gemm_int8_block(kernels, g, row0, rows, col0, cols, scratch);
        return;
    }
    gemm_scratch *s = (gemm_scratch *)(void *)scratch;
    size_t depth = g->weight->cols;
    for (size_t k0 = 0; k0 < depth; k0 += CPU_GEMM_K) {
        size_t k = cpu_min(CPU_GEMM_K, depth - k0);
        bool add = g->accumulate || k0 > 0, last = k0 + k == depth;
        for (size_t c = 0; c < cols; c += CPU_PANEL) {
            cpu_weight_rows w = cpu_rows_of(g->weight, g->matrix, col0 + c);
            kernels->pack[g->weight->dtype](&w, cpu_min(CPU_PANEL, cols - c), k0, k, s->panel + c * k);
        }
        if (last && g->bias) cpu_weight_read(g->bias, 0, col0, cols, s->bias);
        for (size_t r = 0; r < rows; r += CPU_GEMM_ROWS) {
            size_t n = cpu_min(CPU_GEMM_ROWS, rows - r);
            const float *x = g->x ? g->x + (row0 + r) * g->ldx + k0 : s->gathered;
            size_t ldx = g->x ? g->ldx : k;
            float *y = g->y + (row0 + r - g->y_row0) * g->ldy + (col0 - g->y_col0);
            if (!g->x) g->gather(g->context, row0 + r, n, k0, k, s->gathered);
            for (size_t c = 0; c < cols; c += CPU_PANEL)
                multiply_panel(kernels, x, ldx, n, k, s->panel + c * k, y + c, g->ldy,
                               cpu_min(CPU_PANEL, cols - c), add, s->edge);
            if (last && (g->bias || g->activation != UOCR_IDENTITY))
                for (size_t i = 0; i < n; i++)
                    kernels->tail(y + i * g->ldy, g->bias ? s->bias : NULL, cols, g->activation);
        }
    }
}

typedef struct gemm_job {
    const cpu_backend *backend;
    const cpu_gemm *gemm;
    size_t rows, tile_rows, row_tiles;
} gemm_job;

static void gemm_tile(void *argument, size_t tile, uint32_t worker) {
    const gemm_job *job = argument;
    size_t row0 = tile % job->row_tiles * job->tile_rows, col0 = tile / job->row_tiles * CPU_GEMM_COLS;
    cpu_gemm_block(job->backend->kernels, job->gemm, row0, cpu_min(job->tile_rows, job->rows - row0), col0,
                   cpu_min(CPU_GEMM_COLS, job->gemm->weight->rows - col0), cpu_scratch(job->backend, worker));
}

uocr_status cpu_gemm_run(cpu_backend *b, const cpu_gemm *gemm, size_t rows) {
    gemm_job job = {b, gemm, rows, cpu_gemm_tile_rows(b->kernels, gemm->weight->cols), 0};
    job.row_tiles = cpu_divide_up(rows, job.tile_rows);
    return uocr_pool_run(b->pool, job.row_tiles * cpu_divide_up(gemm->weight->rows, CPU_GEMM_COLS), gemm_tile,
                         &job);
}
