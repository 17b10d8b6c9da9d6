/* Operators that go row by row: norms, copies, lookups, sums, and the check for Inf and NaN. */
#include <math.h>

#include "cpu.h"

enum { LANES = 8, TILE_FLOATS = 1 << 16 };

void cpu_weight_read(const uocr_weight *w, size_t row, size_t first, size_t count, float *out) {
    cpu_weight_rows source = cpu_rows_of(w, 0, row);
    for (size_t i = 0; i < count; i++) {
        size_t c = first + i, in_group = c % UOCR_GROUP;
        if (w->dtype == UOCR_F32) memcpy(out + i, source.data + 4 * c, 4);
        else if (w->dtype == UOCR_F16)
            out[i] = cpu_f16_to_f32(((const uint16_t *)(const void *)source.data)[c]);
        else {
            float scale = cpu_group_scale(source.scales, c / UOCR_GROUP);
            if (w->dtype == UOCR_Q8) out[i] = (float)((const int8_t *)source.data)[c] * scale;
            else {
                uint8_t pair = source.data[c / UOCR_GROUP * (UOCR_GROUP / 2) + in_group % (UOCR_GROUP / 2)];
                out[i] = (float)((in_group < UOCR_GROUP / 2 ? pair & 15 : pair >> 4) - 8) * scale;
            }
        }
    }
}

typedef struct rows_job {
    const cpu_backend *backend;
    uocr_tensor x, y;
    const uocr_weight *w, *b;
    float eps;
    const uint32_t *from, *to;
    size_t count, tile_rows;
    void (*row)(const struct rows_job *, size_t row, float *scratch);
    atomic_bool *finite;
} rows_job;

static void rows_tile(void *argument, size_t tile, uint32_t worker) {
    const rows_job *job = argument;
    float *scratch = (float *)(void *)cpu_scratch(job->backend, worker);
    size_t first = tile * job->tile_rows, end = cpu_min(first + job->tile_rows, job->count);
    if (job->w && job->y.cols) { /* norms: weight and bias once per tile */
        cpu_weight_read(job->w, 0, 0, job->y.cols, scratch);
        if (job->b) cpu_weight_read(job->b, 0, 0, job->y.cols, scratch + job->y.cols);
    }
    for (size_t r = first; r < end; r++) job->row(job, r, scratch);
}

/* One row a tile would cost more than the row; a single tile runs on the calling thread alone. */
static uocr_status run_rows(cpu_backend *b, rows_job *job, size_t cols) {
    if (!job->count) return UOCR_OK;
    job->tile_rows = TILE_FLOATS / (cols ? cols : 1);
    if (!job->tile_rows) job->tile_rows = 1;
    return uocr_pool_run(b->pool, cpu_divide_up(job->count, job->tile_rows), rows_tile, job);
}

static float sum_lanes(const float lane[LANES]) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Sum of (x - mean)^2, or of x - mean. Eight partial sums, the same on every instruction set. */
static float sum_squares(const float *x, size_t n, float mean) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += (x[i + j] - mean) * (x[i + j] - mean);
    for (; i < n; i++) lane[i % LANES] += (x[i] - mean) * (x[i] - mean);
    return sum_lanes(lane);
}

static float sum_plain(const float *x, size_t n) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += x[i + j];
    for (; i < n; i++) lane[i % LANES] += x[i];
    return sum_lanes(lane);
}

static void layer_norm_row(const rows_job *job, size_t r, float *scratch) {
    size_t n = job->x.cols;
    const float *x = cpu_f32(job->x) + r * job->x.stride, *w = scratch, *bias = scratch + n;
    float *y = cpu_f32(job->y) + r * job->y.stride;
    float mean = sum_plain(x, n) / (float)n, variance = sum_squares(x, n, mean) / (float)n;
    float factor = 1.0f / sqrtf(variance + job->eps);
    for (size_t i = 0; i < n; i++) y[i] = w[i] * ((x[i] - mean) * factor) + bias[i];
}

static void rms_norm_row(const rows_job *job, size_t r, float *scratch) {
    size_t n = job->x.cols;
    const float *x = cpu_f32(job->x) + r * job->x.stride, *w = scratch;
    float *y = cpu_f32(job->y) + r * job->y.stride;
    float factor = 1.0f / sqrtf(sum_squares(x, n, 0) / (float)n + job->eps);
    for (size_t i = 0; i < n; i++) y[i] = w[i] * (x[i] * factor);
}

static uocr_status norm(uocr_backend *backend, const char *name, rows_job job) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    job.backend = b;
    job.count = job.x.rows;
    assert(job.x.cols == job.y.cols && 2 * job.x.cols * sizeof(float) <= b->scratch_stride);
    uocr_status status = run_rows(b, &job, job.x.cols);
    cpu_end(b, name, begun, cpu_weight_traffic(job.w), 8.0 * (double)(job.x.rows * job.x.cols));
    return status;
}

static uocr_status layer_norm(uocr_backend *backend, uocr_tensor x, const uocr_weight *w,
                              const uocr_weight *b, float eps, uocr_tensor y) {
    return norm(backend, "layer_norm",
                (rows_job){.x = x, .y = y, .w = w, .b = b, .eps = eps, .row = layer_norm_row});
}

static uocr_status rms_norm(uocr_backend *backend, uocr_tensor x, const uocr_weight *w, float eps,
                            uocr_tensor y) {
    return norm(backend, "rms_norm", (rows_job){.x = x, .y = y, .w = w, .eps = eps, .row = rms_norm_row});
}

static void copy_row(const rows_job *job, size_t i, float *scratch) {
    size_t from = job->from ? job->from[i] : i, to = job->to ? job->to[i] : i;
    (void)scratch;
    memcpy(cpu_f32(job->y) + to * job->y.stride, cpu_f32(job->x) + from * job->x.stride,
           job->x.cols * sizeof(float));
}

static uocr_status copy_rows(uocr_backend *backend, uocr_tensor src, const uint32_t *src_rows,
                             uocr_tensor dst, const uint32_t *dst_rows, size_t count) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    assert(src.cols == dst.cols);
    rows_job job = {
        .backend = b, .x = src, .y = dst, .from = src_rows, .to = dst_rows, .count = count, .row = copy_row};
    uocr_status status = run_rows(b, &job, src.cols);
    cpu_end(b, "copy_rows", begun, 0, 0);
    return status;
}

typedef struct embed_job {
    const uocr_weight *table;
    const uint32_t *from, *to;
    uocr_tensor dst;
} embed_job;

static void embed_tile(void *argument, size_t i, uint32_t worker) {
    const embed_job *job = argument;
    size_t from = job->from ? job->from[i] : i, to = job->to ? job->to[i] : i;
    (void)worker;
    assert(from < job->table->rows && to < job->dst.rows);
    cpu_weight_read(job->table, from, 0, job->table->cols, cpu_f32(job->dst) + to * job->dst.stride);
}

static uocr_status embed_rows(uocr_backend *backend, const uocr_weight *table, const uint32_t *table_rows,
                              uocr_tensor dst, const uint32_t *dst_rows, size_t count) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    embed_job job = {table, table_rows, dst_rows, dst};
    assert(table->cols == dst.cols);
    uocr_status status = uocr_pool_run(b->pool, count, embed_tile, &job);
    cpu_end(b, "embed_rows", begun, table->rows ? cpu_weight_traffic(table) / table->rows * count : 0, 0);
    return status;
}

static void add_row(const rows_job *job, size_t r, float *scratch) {
    const float *x = cpu_f32(job->x) + r * job->x.stride;
    float *y = cpu_f32(job->y) + r * job->y.stride;
    (void)scratch;
    for (size_t i = 0; i < job->x.cols; i++) y[i] += x[i];
}

static uocr_status add(uocr_backend *backend, uocr_tensor x, uocr_tensor y) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    rows_job job = {.backend = b, .x = x, .y = y, .count = x.rows, .row = add_row};
    assert(x.rows == y.rows && x.cols == y.cols);
    uocr_status status = run_rows(b, &job, x.cols);
    cpu_end(b, "add", begun, 0, (double)(x.rows * x.cols));
    return status;
}

static void finite_row(const rows_job *job, size_t r, float *scratch) {
    const float *x = cpu_f32(job->x) + r * job->x.stride;
    float lane[LANES] = {0}; /* Inf * 0 and NaN * 0 are NaN and stay so */
    size_t i = 0;
    (void)scratch;
    for (; i + LANES <= job->x.cols; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += x[i + j] * 0.0f;
    for (; i < job->x.cols; i++) lane[i % LANES] += x[i] * 0.0f;
    if (sum_lanes(lane) != 0.0f) atomic_store_explicit(job->finite, false, memory_order_relaxed);
}

static uocr_status all_finite(uocr_backend *backend, uocr_tensor x, bool *finite) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    atomic_bool flag = true;
    rows_job job = {.backend = b, .x = x, .count = x.rows, .row = finite_row, .finite = &flag};
    uocr_status status = run_rows(b, &job, x.cols);
    *finite = atomic_load(&flag);
    cpu_end(b, "all_finite", begun, 0, (double)(x.rows * x.cols));
    return status;
}

void cpu_install_rows(uocr_backend *b) {
    b->layer_norm = layer_norm;
    b->rms_norm = rms_norm;
    b->copy_rows = copy_rows;
    b->embed_rows = embed_rows;
    b->add = add;
    b->all_finite = all_finite;
}
