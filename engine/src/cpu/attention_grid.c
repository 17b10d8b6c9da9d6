/* SAM attention: windows over a grid of tokens, with decomposed relative position. */
#include <math.h>

#include "attend.h"

typedef struct grid_job {
    const cpu_backend *backend;
    uocr_tensor qkv, rel_h, rel_w, y;
    const uocr_weight *bias; /* q, k and v of a padding token */
    size_t grid, window, windows, heads, head_dim, width;
    size_t tiles_per_head; /* of the largest window */
} grid_job;

typedef struct window_source {
    const grid_job *job;
    size_t row0, col0, head;
} window_source;

static void fetch_window(const void *context, bool value, size_t key, size_t count, float *out,
                         size_t stride) {
    const window_source *s = context;
    const grid_job *job = s->job;
    size_t d = job->head_dim, column = (value ? 2 : 1) * job->width + s->head * d;
    const float *qkv = cpu_f32(job->qkv);
    for (size_t i = 0; i < count; i++) {
        size_t row = s->row0 + (key + i) / job->window, col = s->col0 + (key + i) % job->window;
        if (row < job->grid && col < job->grid)
            memcpy(out + i * stride, qkv + (row * job->grid + col) * job->qkv.stride + column,
                   d * sizeof(float));
        else cpu_weight_read(job->bias, 0, column, d, out + i * stride);
    }
}

/* products[r, o] = q[r] . table[o] for all offsets o (into the scores, which are free yet). */
static void table_products(const cpu_kernels *kernels, const cpu_attend_scratch *s, uocr_tensor table,
                           size_t queries, size_t head_dim) {
    for (size_t o = 0; o < table.rows; o += CPU_PANEL) {
        cpu_weight_rows rows = {(const uint8_t *)(cpu_f32(table) + o * table.stride),
                                table.stride * sizeof(float), NULL, 0};
        kernels->pack[UOCR_F32](&rows, cpu_min(CPU_PANEL, table.rows - o), 0, head_dim, s->panel);
        for (size_t r = 0; r < queries; r += CPU_MICRO_ROWS)
            kernels->micro(cpu_min(CPU_MICRO_ROWS, queries - r), head_dim, s->q + r * s->width, s->width,
                           s->panel, CPU_PANEL, s->scores + r * CPU_ATTEND_KEYS + o, CPU_ATTEND_KEYS, false);
    }
}

static void grid_tile(void *argument, size_t tile, uint32_t worker) {
    const grid_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t part = tile % job->tiles_per_head, head = tile / job->tiles_per_head % job->heads;
    size_t at = tile / job->tiles_per_head / job->heads, d = job->head_dim, side = job->window;
    window_source source = {job, at / job->windows * side, at % job->windows * side, head};
    /* Only tokens of the picture are queries; padding tokens are keys like any other. */
    size_t height = cpu_min(side, job->grid - source.row0), across = cpu_min(side, job->grid - source.col0);
    size_t total = height * across, tile_rows = cpu_attend_tile(kernels, total, side * side, d);
    size_t first = part * tile_rows;
    if (first >= total) return;
    size_t queries = cpu_min(tile_rows, total - first);
    cpu_attend_scratch s = cpu_attend_scratch_at(cpu_scratch(job->backend, worker), d, side);
    const float *qkv = cpu_f32(job->qkv);
    for (size_t r = 0; r < queries; r++) {
        size_t row = source.row0 + (first + r) / across, col = source.col0 + (first + r) % across;
        memcpy(s.q + r * s.width, qkv + (row * job->grid + col) * job->qkv.stride + head * d,
               d * sizeof(float));
    }
    /* Key row i' is at offset i - i' of query row i, stored at i - i' + side - 1; columns likewise. */
    table_products(kernels, &s, job->rel_h, queries, d);
    for (size_t r = 0; r < queries; r++)
        for (size_t i = 0; i < side; i++)
            s.bias_h[r * side + i] = s.scores[r * CPU_ATTEND_KEYS + (first + r) / across + side - 1 - i];
    table_products(kernels, &s, job->rel_w, queries, d);
    for (size_t r = 0; r < queries; r++)
        for (size_t j = 0; j < side; j++)
            s.bias_w[r * side + j] = s.scores[r * CPU_ATTEND_KEYS + (first + r) % across + side - 1 - j];
    cpu_attend attend = {.queries = queries,
                         .keys = side * side,
                         .head_dim = d,
                         .scale = (float)(1.0 / sqrt((double)d)),
                         .side = side,
                         .fetch = fetch_window,
                         .context = &source};
    cpu_attend_block(kernels, &attend, &s);
    for (size_t r = 0; r < queries; r++) {
        size_t row = source.row0 + (first + r) / across, col = source.col0 + (first + r) % across;
        memcpy(cpu_f32(job->y) + (row * job->grid + col) * job->y.stride + head * d, s.out + r * s.width,
               d * sizeof(float));
    }
}

static uocr_status attention_grid(uocr_backend *backend, uocr_tensor qkv, const uocr_weight *qkv_bias,
                                  uocr_tensor rel_h, uocr_tensor rel_w, size_t grid, size_t window,
                                  size_t heads, uocr_tensor y) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    size_t width = qkv.cols / 3, total = window * window;
    grid_job job = {b,
                    qkv,
                    rel_h,
                    rel_w,
                    y,
                    qkv_bias,
                    grid,
                    window,
                    cpu_divide_up(grid, window),
                    heads,
                    width / heads,
                    width,
                    cpu_divide_up(total, cpu_attend_tile(b->kernels, total, total, width / heads))};
    assert(qkv.rows == grid * grid && y.rows == grid * grid && y.cols == width && width % heads == 0);
    assert(rel_h.rows == 2 * window - 1 && rel_w.rows == rel_h.rows && rel_h.cols == job.head_dim);
    assert(rel_h.rows <= CPU_ATTEND_KEYS &&
           cpu_attend_scratch_bytes(job.head_dim, window) <= b->scratch_stride);
    uocr_status status =
        uocr_pool_run(b->pool, job.windows * job.windows * heads * job.tiles_per_head, grid_tile, &job);
    cpu_end(b, window == grid ? "attention_global" : "attention_window", begun, 0,
            4.0 * (double)(grid * grid * total * width));
    return status;
}

void cpu_install_attention_grid(uocr_backend *b) { b->attention_grid = attention_grid; }
