/* Attention over whole sequences: CLIP (full), the prompt (causal, over the cache), one token (over the
 * cache). */
#include <math.h>

#include "attend.h"

enum {
    DECODE_KEYS = 512
}; /* keys per tile of attention_decode; fixed, so that sums do not depend on threads */

/* K and V of one head as rows with a stride, f32 or f16. */
typedef struct head_rows {
    const cpu_kernels *kernels;
    const uint8_t *k, *v;
    uocr_dtype k_type, v_type;
    size_t k_stride, v_stride, head_dim; /* elements */
} head_rows;

static void fetch_rows(const void *context, bool value, size_t key, size_t count, float *out, size_t stride) {
    const head_rows *h = context;
    const uint8_t *base = value ? h->v : h->k;
    uocr_dtype type = value ? h->v_type : h->k_type;
    size_t step = value ? h->v_stride : h->k_stride;
    for (size_t i = 0; i < count; i++) {
        if (type == UOCR_F32)
            memcpy(out + i * stride, base + (key + i) * step * sizeof(float), h->head_dim * sizeof(float));
        else
            h->kernels->to_f32((const uint16_t *)(const void *)base + (key + i) * step, h->head_dim,
                               out + i * stride);
    }
}

/* First element of (row, column) of a tensor of f32 or f16. */
static const uint8_t *element_at(uocr_tensor t, size_t row, size_t column) {
    return t.buffer->data + t.offset + (row * t.stride + column) * (t.dtype == UOCR_F32 ? 4 : 2);
}

static head_rows cache_head(const cpu_kernels *kernels, const uocr_kv *kv, size_t head) {
    return (head_rows){kernels,
                       element_at(kv->k, head * kv->slots, 0),
                       element_at(kv->v, head * kv->slots, 0),
                       kv->k.dtype,
                       kv->v.dtype,
                       kv->k.stride,
                       kv->v.stride,
                       kv->head_dim};
}

typedef struct sequence_job {
    const cpu_backend *backend;
    uocr_tensor q, y;
    const uocr_kv *kv; /* NULL: q holds q, k and v side by side */
    size_t heads, head_dim, tile_rows, row_tiles, keys, first;
} sequence_job;

static void sequence_tile(void *argument, size_t tile, uint32_t worker) {
    const sequence_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t head = tile / job->row_tiles, row0 = tile % job->row_tiles * job->tile_rows, d = job->head_dim;
    size_t width = job->heads * d, rows = cpu_min(job->tile_rows, job->q.rows - row0);
    cpu_attend_scratch s = cpu_attend_scratch_at(cpu_scratch(job->backend, worker), d, 0);
    head_rows source;
    if (job->kv) source = cache_head(kernels, job->kv, head);
    else
        source = (head_rows){kernels,
                             element_at(job->q, 0, width + head * d),
                             element_at(job->q, 0, 2 * width + head * d),
                             UOCR_F32,
                             UOCR_F32,
                             job->q.stride,
                             job->q.stride,
                             d};
    for (size_t r = 0; r < rows; r++)
        memcpy(s.q + r * s.width, element_at(job->q, row0 + r, head * d), d * sizeof(float));
    cpu_attend attend = {.queries = rows,
                         .keys = job->keys,
                         .head_dim = d,
                         .scale = (float)(1.0 / sqrt((double)d)),
                         .causal = job->kv != NULL,
                         .first = job->first + row0,
                         .fetch = fetch_rows,
                         .context = &source};
    cpu_attend_block(kernels, &attend, &s);
    for (size_t r = 0; r < rows; r++)
        memcpy(cpu_f32(job->y) + (row0 + r) * job->y.stride + head * d, s.out + r * s.width,
               d * sizeof(float));
}

static uocr_status run_sequence(cpu_backend *b, const char *name, sequence_job *job, uint64_t bytes) {
    double begun = cpu_begin(b);
    if (!job->q.rows) return UOCR_OK;
    job->backend = b;
    job->tile_rows = cpu_attend_tile(b->kernels, job->q.rows, job->keys, job->head_dim);
    job->row_tiles = cpu_divide_up(job->q.rows, job->tile_rows);
    assert(cpu_attend_scratch_bytes(job->head_dim, 0) <= b->scratch_stride);
    uocr_status status = uocr_pool_run(b->pool, job->row_tiles * job->heads, sequence_tile, job);
    cpu_end(b, name, begun, bytes, 4.0 * (double)(job->q.rows * job->keys * job->heads * job->head_dim));
    return status;
}

static uocr_status attention_full(uocr_backend *backend, uocr_tensor qkv, size_t heads, uocr_tensor y) {
    sequence_job job = {.q = qkv, .y = y, .heads = heads, .head_dim = qkv.cols / 3 / heads, .keys = qkv.rows};
    assert(qkv.cols % (3 * heads) == 0 && y.rows == qkv.rows && 3 * y.cols == qkv.cols);
    return run_sequence(cpu_of(backend), "attention_full", &job, 0);
}

static uint64_t cache_traffic(const uocr_kv *kv, size_t slots) {
    size_t element = (kv->k.dtype == UOCR_F32 ? 4 : 2) + (kv->v.dtype == UOCR_F32 ? 4 : 2);
    return (uint64_t)kv->heads * slots * kv->head_dim * element;
}

static uocr_status attention_prefill(uocr_backend *backend, uocr_tensor q, const uocr_kv *kv, size_t first,
                                     uocr_tensor y) {
    sequence_job job = {.q = q,
                        .y = y,
                        .kv = kv,
                        .heads = kv->heads,
                        .head_dim = kv->head_dim,
                        .keys = first + q.rows,
                        .first = first};
    assert(first + q.rows <= kv->slots && q.cols == kv->heads * kv->head_dim);
    return run_sequence(cpu_of(backend), "attention_prefill", &job, cache_traffic(kv, first + q.rows));
}

/* -- one query ----------------------------------------------------------------------------- */

typedef struct decode_job {
    const cpu_backend *backend;
    const uocr_kv *kv;
    const float *q;
    float *partial; /* [heads, blocks, head_dim + 2]: weighted values, their largest score, sum of
                       exponentials */
    size_t used, blocks;
} decode_job;

static void decode_tile(void *argument, size_t tile, uint32_t worker) {
    const decode_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t head = tile / job->blocks, key0 = tile % job->blocks * DECODE_KEYS,
           n = cpu_min(DECODE_KEYS, job->used - key0);
    size_t d = job->kv->head_dim;
    const uocr_kv *kv = job->kv;
    float *out = job->partial + tile * (d + 2), score[DECODE_KEYS];
    size_t row = head * kv->slots + key0;
    (void)worker;
    cpu_weight_rows k = {element_at(kv->k, row, 0), kv->k.stride * (kv->k.dtype == UOCR_F32 ? 4 : 2), NULL,
                         0};
    kernels->gemv[kv->k.dtype](&k, n, d, job->q + head * d, score);
    out[d] = kernels->scores(score, n, (float)(1.0 / sqrt((double)d)), 0, NULL);
    out[d + 1] = kernels->exponentials(score, n, out[d]);
    memset(out, 0, d * sizeof(float));
    const void *v = element_at(kv->v, row, 0);
    if (kv->v.dtype == UOCR_F32) kernels->mix_f32(v, kv->v.stride, n, d, score, out);
    else kernels->mix_f16(v, kv->v.stride, n, d, score, out);
}

static size_t attention_workspace(const uocr_backend *b, size_t queries, size_t keys, size_t heads,
                                  size_t head_dim) {
    (void)b;
    (void)
        queries; /* only attention_decode needs it; the same for all, so that one answer serves every call */
    return cpu_piece(heads * cpu_divide_up(keys, DECODE_KEYS) * (head_dim + 2) * sizeof(float));
}

static uocr_status attention_decode(uocr_backend *backend, uocr_tensor q, const uocr_kv *kv, size_t used,
                                    uocr_tensor y) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    size_t d = kv->head_dim, blocks = cpu_divide_up(used, DECODE_KEYS);
    cpu_arena arena = cpu_arena_begin(b);
    decode_job job = {b, kv, cpu_f32(q), NULL, used, blocks};
    assert(used >= 1 && used <= kv->slots && q.rows == 1 && y.rows == 1);
    job.partial = cpu_take(&arena, kv->heads * blocks * (d + 2) * sizeof(float));
    uocr_status status = uocr_pool_run(b->pool, kv->heads * blocks, decode_tile, &job);
    for (size_t h = 0; h < kv->heads && status == UOCR_OK; h++) {
        const float *part = job.partial + h * blocks * (d + 2);
        float *out = cpu_f32(y) + h * d, largest = part[d], sum = 0;
        for (size_t i = 1; i < blocks; i++) largest = fmaxf(largest, part[i * (d + 2) + d]);
        memset(out, 0, d * sizeof(float));
        for (size_t i = 0; i < blocks; i++) {
            const float *p = part + i * (d + 2);
            float factor = expf(p[d] - largest);
            sum += factor * p[d + 1];
            for (size_t c = 0; c < d; c++) out[c] += factor * p[c];
        }
        b->kernels->scale(out, d, 1.0f / sum);
    }
    cpu_end(b, "attention_decode", begun, cache_traffic(kv, used), 4.0 * (double)(used * kv->heads * d));
    return status;
}

void cpu_install_attention(uocr_backend *b) {
    b->attention_workspace = attention_workspace;
    b->attention_full = attention_full;
    b->attention_prefill = attention_prefill;
    b->attention_decode = attention_decode;
}
