/* Gated feed-forward layers: y += down( silu(gate x) * (up x) ), for one weight set or for each row's
 * experts.
 *
 * One row streams the weights it needs once. Several rows are sorted by expert, multiplied bucket by bucket,
 * and summed row by row in the order of their ids, so that no result depends on threads. */
#include "cpu.h"

/* The work of one call. A plain swiglu is one expert that every row uses with weight 1. */
typedef struct mlp_job {
    const cpu_backend *backend;
    const uocr_weight *gate, *up, *down;
    uocr_tensor x, y;
    const int32_t *ids;   /* [rows, top_k], NULL for swiglu */
    const float *weights; /* [rows, top_k] */
    size_t ids_stride, weights_stride, top_k;
    size_t hidden, intermediate;
    float *h;   /* [rows * top_k, intermediate], in bucket order */
    float *out; /* [rows * top_k, hidden], in bucket order; swiglu: only for one row */
    /* Buckets: entries [start[e], start[e + 1]) of expert e. */
    uint32_t *start; /* [experts + 1] */
    uint32_t *row;   /* row of x of each entry */
    uint32_t *entry; /* [rows * top_k]: entry of (row, place) */
    size_t experts, col_tiles;
    cpu_quantized xq, hq; /* of x and of h, where products use them */
    bool int8_gate, int8_up, int8_down;
    size_t tile_rows;
} mlp_job;

/* -- one row ------------------------------------------------------------------------------- */

static size_t expert_of(const mlp_job *job, size_t place) { return job->ids ? (size_t)job->ids[place] : 0; }
static float weight_of(const mlp_job *job, size_t place) { return job->weights ? job->weights[place] : 1.0f; }

static void row_gate_tile(void *argument, size_t tile, uint32_t worker) {
    const mlp_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t place = tile / job->col_tiles, row0 = tile % job->col_tiles * job->tile_rows;
    size_t rows = cpu_min(job->tile_rows, job->intermediate - row0), expert = expert_of(job, place);
    float *gate = job->h + place * job->intermediate + row0, up[CPU_GEMV_ROWS];
    const float *x = cpu_f32(job->x);
    (void)worker;
    cpu_gemv_block(kernels, job->gate, expert, row0, rows, x, job->int8_gate ? &job->xq : NULL, gate);
    cpu_gemv_block(kernels, job->up, expert, row0, rows, x, job->int8_up ? &job->xq : NULL, up);
    kernels->silu_mul(gate, up, rows);
}

/* Rows of one expert's down: whole matrices are read one after another, and summed afterwards. */
static void row_down_tile(void *argument, size_t tile, uint32_t worker) {
    const mlp_job *job = argument;
    size_t place = tile / job->col_tiles, row0 = tile % job->col_tiles * job->tile_rows;
    size_t rows = cpu_min(job->tile_rows, job->hidden - row0);
    cpu_quantized hq = job->hq;
    (void)worker;
    if (job->int8_down) hq = cpu_quantized_row(job->hq, place, job->intermediate);
    cpu_gemv_block(job->backend->kernels, job->down, expert_of(job, place), row0, rows,
                   job->h + place * job->intermediate, job->int8_down ? &hq : NULL,
                   job->out + place * job->hidden + row0);
}

static uocr_status run_row(cpu_backend *b, mlp_job *job, cpu_arena *arena) {
    job->h = cpu_take(arena, job->top_k * job->intermediate * sizeof(float));
    if (job->int8_gate || job->int8_up) {
        job->xq = cpu_take_quantized(arena, 1, job->hidden);
        b->kernels->quantize(cpu_f32(job->x), job->hidden, &job->xq);
    }
    job->tile_rows = cpu_gemv_tile(b, job->intermediate * job->top_k);
    job->col_tiles = cpu_divide_up(job->intermediate, job->tile_rows);
    uocr_status status = uocr_pool_run(b->pool, job->col_tiles * job->top_k, row_gate_tile, job);
    if (status != UOCR_OK) return status;
    if (job->int8_down) {
        job->hq = cpu_take_quantized(arena, job->top_k, job->intermediate);
        b->kernels->quantize(job->h, job->top_k * job->intermediate, &job->hq);
    }
    job->out = cpu_take(arena, job->top_k * job->hidden * sizeof(float));
    job->tile_rows = cpu_gemv_tile(b, job->hidden * job->top_k);
    job->col_tiles = cpu_divide_up(job->hidden, job->tile_rows);
    status = uocr_pool_run(b->pool, job->col_tiles * job->top_k, row_down_tile, job);
    if (status != UOCR_OK) return status;
    float *y = cpu_f32(job->y), *sum = job->out; /* the first expert's place takes the sum */
    b->kernels->scale(sum, job->hidden, weight_of(job, 0));
    for (size_t place = 1; place < job->top_k; place++) {
        const float *out = job->out + place * job->hidden, weight = weight_of(job, place);
        for (size_t i = 0; i < job->hidden; i++) sum[i] += weight * out[i];
    }
    for (size_t i = 0; i < job->hidden; i++) y[i] += sum[i];
    return UOCR_OK;
}

/* -- several rows -------------------------------------------------------------------------- */

static void sort_rows(mlp_job *job, size_t rows) {
    memset(job->start, 0, (job->experts + 1) * sizeof *job->start);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < job->top_k; k++) {
            assert((size_t)job->ids[r * job->ids_stride + k] < job->experts);
            job->start[job->ids[r * job->ids_stride + k] + 1]++;
        }
    for (size_t e = 0; e < job->experts; e++) job->start[e + 1] += job->start[e];
    /* start[e] walks through its bucket and ends where the next begins; then everything is moved back one
     * place. */
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < job->top_k; k++) {
            uint32_t at = job->start[job->ids[r * job->ids_stride + k]]++;
            job->row[at] = (uint32_t)r;
            job->entry[r * job->top_k + k] = at;
        }
    for (size_t e = job->experts; e > 0; e--) job->start[e] = job->start[e - 1];
    job->start[0] = 0;
}

static void gather_rows(const void *context, size_t row0, size_t rows, size_t k0, size_t k, float *out) {
    const mlp_job *job = context;
    for (size_t i = 0; i < rows; i++)
        memcpy(out + i * k, cpu_f32(job->x) + job->row[row0 + i] * job->x.stride + k0, k * sizeof(float));
}

/* Row tiles are cut per expert: finds tile number `tile` of those of one column. */
typedef struct bucket_tile {
    size_t expert, first, rows;
} bucket_tile;

static bucket_tile find_bucket_tile(const mlp_job *job, size_t tile) {
    for (size_t e = 0;; e++) {
        size_t count = job->start[e + 1] - job->start[e], tiles = cpu_divide_up(count, job->tile_rows);
        if (tile < tiles) {
            size_t first = tile * job->tile_rows;
            return (bucket_tile){e, job->start[e] + first, cpu_min(job->tile_rows, count - first)};
        }
        tile -= tiles;
    }
}

static size_t count_bucket_tiles(const mlp_job *job) {
    size_t tiles = 0;
    for (size_t e = 0; e < job->experts; e++)
        tiles += cpu_divide_up(job->start[e + 1] - job->start[e], job->tile_rows);
    return tiles;
}

static void gate_tile(void *argument, size_t tile, uint32_t worker) {
    const mlp_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    uint8_t *scratch = cpu_scratch(job->backend, worker);
    float *up = (float *)(void *)(scratch + cpu_gemm_scratch()); /* [tile_rows, CPU_GEMM_COLS] */
    bucket_tile t = find_bucket_tile(job, tile / job->col_tiles);
    size_t col0 = tile % job->col_tiles * CPU_GEMM_COLS,
           cols = cpu_min(CPU_GEMM_COLS, job->intermediate - col0);
    cpu_gemm gemm = {.gather = gather_rows,
                     .context = job,
                     .weight = job->gate,
                     .matrix = t.expert,
                     .y = job->h,
                     .ldy = job->intermediate};
    if (!job->ids) gemm.x = cpu_f32(job->x), gemm.ldx = job->x.stride;
    gemm.xq_rows = job->ids ? job->row : NULL;
    if (job->int8_gate) gemm.xq = job->xq;
    cpu_gemm_block(kernels, &gemm, t.first, t.rows, col0, cols, scratch);
    gemm.weight = job->up;
    gemm.xq = job->int8_up ? job->xq : (cpu_quantized){0};
    gemm.y = up;
    gemm.ldy = CPU_GEMM_COLS;
    gemm.y_row0 = t.first;
    gemm.y_col0 = col0;
    cpu_gemm_block(kernels, &gemm, t.first, t.rows, col0, cols, scratch);
    for (size_t r = 0; r < t.rows; r++)
        kernels->silu_mul(job->h + (t.first + r) * job->intermediate + col0, up + r * CPU_GEMM_COLS, cols);
}

static void down_tile(void *argument, size_t tile, uint32_t worker) {
    const mlp_job *job = argument;
    bucket_tile t = find_bucket_tile(job, tile / job->col_tiles);
    size_t col0 = tile % job->col_tiles * CPU_GEMM_COLS;
    cpu_gemm gemm = {.x = job->h,
                     .ldx = job->intermediate,
                     .weight = job->down,
                     .matrix = t.expert,
                     .y = job->out,
                     .ldy = job->hidden};
    if (job->int8_down) gemm.xq = job->hq;
    if (!job->ids) gemm.y = cpu_f32(job->y), gemm.ldy = job->y.stride, gemm.accumulate = true;
    cpu_gemm_block(job->backend->kernels, &gemm, t.first, t.rows, col0,
                   cpu_min(CPU_GEMM_COLS, job->hidden - col0), cpu_scratch(job->backend, worker));
}

static void combine_tile(void *argument, size_t row, uint32_t worker) {
    const mlp_job *job = argument;
    float *y = cpu_f32(job->y) + row * job->y.stride;
    float *sum = (float *)(void *)cpu_scratch(job->backend, worker);
    memset(sum, 0, job->hidden * sizeof(float));
    for (size_t k = 0; k < job->top_k; k++) {
        const float *out = job->out + job->entry[row * job->top_k + k] * job->hidden;
        float weight = job->weights[row * job->weights_stride + k];
        for (size_t i = 0; i < job->hidden; i++) sum[i] += weight * out[i];
    }
    for (size_t i = 0; i < job->hidden; i++) y[i] += sum[i];
}

static uocr_status run_rows(cpu_backend *b, mlp_job *job, cpu_arena *arena) {
    size_t rows = job->x.rows, entries = rows * job->top_k;
    uint32_t everything[2] = {0, (uint32_t)rows};
    job->h = cpu_take(arena, entries * job->intermediate * sizeof(float));
    if (job->ids) {
        job->start = cpu_take(arena, (job->experts + 1) * sizeof *job->start);
        job->row = cpu_take(arena, entries * sizeof *job->row);
        job->entry = cpu_take(arena, entries * sizeof *job->entry);
        job->out = cpu_take(arena, entries * job->hidden * sizeof(float));
        sort_rows(job, rows);
    } else job->start = everything;
    uocr_status status = UOCR_OK;
    if (job->int8_gate || job->int8_up) {
        job->xq = cpu_take_quantized(arena, rows, job->hidden);
        status = cpu_quantize_rows(b, cpu_f32(job->x), job->x.stride, rows, job->hidden, job->xq);
        if (status != UOCR_OK) return status;
    }
    size_t deepest = job->intermediate > job->hidden ? job->intermediate : job->hidden;
    job->tile_rows = cpu_min(CPU_MLP_ROWS, cpu_gemm_tile_rows(b->kernels, deepest));
    assert(cpu_gemm_scratch() + job->tile_rows * CPU_GEMM_COLS * sizeof(float) <= b->scratch_stride);
    size_t row_tiles = count_bucket_tiles(job);
    job->col_tiles = cpu_divide_up(job->intermediate, CPU_GEMM_COLS);
    status = uocr_pool_run(b->pool, row_tiles * job->col_tiles, gate_tile, job);
    if (status != UOCR_OK) return status;
    if (job->int8_down) {
        job->hq = cpu_take_quantized(arena, entries, job->intermediate);
        status = cpu_quantize_rows(b, job->h, job->intermediate, entries, job->intermediate, job->hq);
        if (status != UOCR_OK) return status;
    }
    job->col_tiles = cpu_divide_up(job->hidden, CPU_GEMM_COLS);
    status = uocr_pool_run(b->pool, row_tiles * job->col_tiles, down_tile, job);
    if (status != UOCR_OK || !job->ids) return status;
    return uocr_pool_run(b->pool, rows, combine_tile, job);
}

/* -- operators ----------------------------------------------------------------------------- */

static uocr_status run(cpu_backend *b, const char *name, mlp_job *job) {
    double begun = cpu_begin(b);
    cpu_arena arena = cpu_arena_begin(b);
    size_t rows = job->x.rows;
    if (!rows) return UOCR_OK;
    job->backend = b;
    job->hidden = job->x.cols;
    job->intermediate = job->gate->rows;
    assert(job->gate->cols == job->hidden && job->up->cols == job->hidden &&
           job->up->rows == job->intermediate);
    assert(job->down->cols == job->intermediate && job->down->rows == job->hidden &&
           job->y.cols == job->hidden);
    assert(job->hidden * sizeof(float) <= b->scratch_stride);
    job->int8_gate = cpu_uses_int8(b, job->gate->dtype);
    job->int8_up = cpu_uses_int8(b, job->up->dtype);
    job->int8_down = cpu_uses_int8(b, job->down->dtype);
    uocr_status status = rows == 1 ? run_row(b, job, &arena) : run_rows(b, job, &arena);
    uint64_t one =
        cpu_weight_traffic(job->gate) + cpu_weight_traffic(job->up) + cpu_weight_traffic(job->down);
    cpu_end(b, name, begun, one * (job->ids ? cpu_min(rows * job->top_k, job->experts) : 1),
            6.0 * (double)(rows * job->top_k * job->hidden * job->intermediate));
    return status;
}

static uocr_status swiglu(uocr_backend *backend, uocr_tensor x, const uocr_weight *gate,
                          const uocr_weight *up, const uocr_weight *down, uocr_tensor y) {
    mlp_job job = {.gate = gate, .up = up, .down = down, .x = x, .y = y, .top_k = 1, .experts = 1};
    return run(cpu_of(backend), "swiglu", &job);
}

static uocr_status experts(uocr_backend *backend, uocr_tensor x, uocr_tensor ids, uocr_tensor weights,
                           const uocr_weight *gate, const uocr_weight *up, const uocr_weight *down,
                           uocr_tensor y) {
    mlp_job job = {.gate = gate,
                   .up = up,
                   .down = down,
                   .x = x,
                   .y = y,
                   .ids = cpu_i32(ids),
                   .weights = cpu_f32(weights),
                   .ids_stride = ids.stride,
                   .weights_stride = weights.stride,
                   .top_k = ids.cols,
                   .experts = gate->matrices};
    assert(ids.rows == x.rows && weights.rows == x.rows && weights.cols == ids.cols);
    return run(cpu_of(backend), "experts", &job);
}

static size_t swiglu_workspace(const uocr_backend *b, size_t rows, size_t hidden, size_t intermediate) {
    size_t bytes = cpu_piece(rows * intermediate * sizeof(float)) + cpu_piece(hidden * sizeof(float));
    if (b->precision != UOCR_PRECISION_EXACT)
        bytes += cpu_quantized_bytes(rows, hidden) + cpu_quantized_bytes(rows, intermediate);
    return bytes;
}

static size_t experts_workspace(const uocr_backend *b, size_t rows, size_t top_k, size_t count, size_t hidden,
                                size_t intermediate) {
    size_t entries = rows * top_k;
    size_t bytes = cpu_piece(entries * intermediate * sizeof(float)) +
                   cpu_piece((count + 1) * sizeof(uint32_t)) + 2 * cpu_piece(entries * sizeof(uint32_t)) +
                   cpu_piece(entries * hidden * sizeof(float));
    if (b->precision != UOCR_PRECISION_EXACT)
        bytes += cpu_quantized_bytes(rows, hidden) + cpu_quantized_bytes(entries, intermediate);
    return bytes;
}

void cpu_install_mlp(uocr_backend *b) {
    b->swiglu = swiglu;
    b->swiglu_workspace = swiglu_workspace;
    b->experts = experts;
    b->experts_workspace = experts_workspace;
}
