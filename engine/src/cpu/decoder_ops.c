/* The decoder's small operators: rotary positions and the cache, routing, the choice of the next token. */
#include <math.h>

#include "cpu.h"

/* -- rope ---------------------------------------------------------------------------------- */

enum { ROPE_ROWS = 16 };

typedef struct rope_job {
    const cpu_backend *backend;
    uocr_tensor q, k, v;
    const uocr_kv *kv;
    size_t position0, slot0;
    float theta;
    cpu_rotation *kept; /* of a single row; NULL: each tile has its own */
} rope_job;

/* As the model was trained: frequencies and angles are f32 numbers. */
static void rotate_to(cpu_rotation *r, size_t head_dim, float theta, size_t position) {
    const size_t pairs = head_dim / 2;
    const bool same = r->pairs == pairs && r->theta == theta;
    if (same && r->position == position) return;
    for (size_t i = 0; i < pairs && !same; i++)
        r->frequency[i] = 1.0f / (float)pow((double)theta, (double)((float)(2 * i) / (float)head_dim));
    for (size_t i = 0; i < pairs; i++) {
        float angle = (float)position * r->frequency[i];
        r->cosine[i] = (float)cos((double)angle);
        r->sine[i] = (float)sin((double)angle);
    }
    r->pairs = pairs, r->theta = theta, r->position = position;
}

static void store(const cpu_kernels *kernels, uocr_tensor cache, size_t row, const float *x, size_t n) {
    size_t at = row * cache.stride;
    if (cache.dtype == UOCR_F32) memcpy(cpu_f32(cache) + at, x, n * sizeof(float));
    else kernels->to_f16(x, n, (uint16_t *)(void *)(cache.buffer->data + cache.offset) + at);
}

static void rope_tile(void *argument, size_t tile, uint32_t worker) {
    const rope_job *job = argument;
    const uocr_kv *kv = job->kv;
    size_t d = kv->head_dim, half = d / 2, end = cpu_min((tile + 1) * ROPE_ROWS, job->q.rows);
    cpu_rotation own = {.pairs = 0}, *rotation = job->kept ? job->kept : &own;
    (void)worker;
    for (size_t r = tile * ROPE_ROWS; r < end; r++) {
        rotate_to(rotation, d, job->theta, job->position0 + r);
        const float *cosine = rotation->cosine, *sine = rotation->sine;
        for (size_t h = 0; h < kv->heads; h++) {
            float *q = cpu_f32(job->q) + r * job->q.stride + h * d,
                  *k = cpu_f32(job->k) + r * job->k.stride + h * d;
            for (size_t i = 0; i < half; i++) {
                float a = q[i], b = q[i + half], c = k[i], e = k[i + half];
                q[i] = a * cosine[i] - b * sine[i];
                q[i + half] = b * cosine[i] + a * sine[i];
                k[i] = c * cosine[i] - e * sine[i];
                k[i + half] = e * cosine[i] + c * sine[i];
            }
            size_t row = h * kv->slots + job->slot0 + r;
            store(job->backend->kernels, kv->k, row, k, d);
            store(job->backend->kernels, kv->v, row, cpu_f32(job->v) + r * job->v.stride + h * d, d);
        }
    }
}

static uocr_status rope_append(uocr_backend *backend, uocr_tensor q, uocr_tensor k, uocr_tensor v,
                               const uocr_kv *kv, size_t position0, size_t slot0, float theta) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    rope_job job = {b, q, k, v, kv, position0, slot0, theta, q.rows == 1 ? &b->rotation : NULL};
    assert(kv->head_dim % 2 == 0 && kv->head_dim <= 2 * CPU_ROPE_PAIRS);
    assert(slot0 + q.rows <= kv->slots && q.cols == kv->heads * kv->head_dim);
    uocr_status status = uocr_pool_run(b->pool, cpu_divide_up(q.rows, ROPE_ROWS), rope_tile, &job);
    cpu_end(b, "rope_append", begun, 0, 6.0 * (double)(q.rows * q.cols));
    return status;
}

/* -- route --------------------------------------------------------------------------------- */

typedef struct route_job {
    uocr_tensor probs, ids, weights;
    size_t top_k;
    bool normalise;
    float scale;
} route_job;

static void route_row(const route_job *job, size_t r) {
    size_t experts = job->probs.cols;
    float *p = cpu_f32(job->probs) + r * job->probs.stride,
          *weights = cpu_f32(job->weights) + r * job->weights.stride;
    int32_t *ids = cpu_i32(job->ids) + r * job->ids.stride;
    float largest = p[0], sum = 0;
    for (size_t i = 1; i < experts; i++) largest = p[i] > largest ? p[i] : largest;
    for (size_t i = 0; i < experts; i++) sum += p[i] = (float)exp((double)(p[i] - largest));
    for (size_t i = 0; i < experts; i++) p[i] /= sum;
    float total = 0;
    for (size_t k = 0; k < job->top_k; k++) {
        size_t best = experts;
        for (size_t i = 0; i < experts; i++) {
            bool taken = false;
            for (size_t j = 0; j < k; j++) taken |= ids[j] == (int32_t)i;
            if (!taken && (best == experts || p[i] > p[best])) best = i;
        }
        ids[k] = (int32_t)best;
        total += p[best];
    }
    for (size_t k = 0; k < job->top_k; k++)
        weights[k] = p[ids[k]] / (job->normalise ? total + 1e-20f : 1.0f) * job->scale;
}

static void route_tile(void *argument, size_t row, uint32_t worker) {
    (void)worker;
    route_row(argument, row);
}

static uocr_status route(uocr_backend *backend, uocr_tensor x, const uocr_weight *w, size_t top_k,
                         bool normalise, float scale, uocr_tensor probs, uocr_tensor ids,
                         uocr_tensor weights) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    route_job job = {probs, ids, weights, top_k, normalise, scale};
    uocr_status status = UOCR_OK;
    assert(w->cols == x.cols && w->rows == probs.cols && top_k <= w->rows);
    if (x.rows == 1) {
        cpu_gemv_block(b->kernels, w, 0, 0, w->rows, cpu_f32(x), NULL, cpu_f32(probs));
        route_row(&job, 0);
    } else {
        cpu_gemm gemm = {
            .x = cpu_f32(x), .ldx = x.stride, .weight = w, .y = cpu_f32(probs), .ldy = probs.stride};
        status = cpu_gemm_run(b, &gemm, x.rows);
        if (status == UOCR_OK) status = uocr_pool_run(b->pool, x.rows, route_tile, &job);
    }
    cpu_end(b, "route", begun, cpu_weight_traffic(w), 2.0 * (double)(x.rows * w->rows * w->cols));
    return status;
}

/* -- choose -------------------------------------------------------------------------------- */

enum { CHOOSE_BLOCK = 4096 }; /* logits per tile; fixed, so that the sum does not depend on threads */

typedef struct choose_part {
    double sum; /* of exp(logit - largest) */
    float largest;
    int32_t id;
    bool finite;
} choose_part;

typedef struct choose_job {
    const cpu_backend *backend;
    const float *logits;
    size_t usable;
    choose_part *part;
} choose_job;

static void choose_tile(void *argument, size_t tile, uint32_t worker) {
    const choose_job *job = argument;
    const cpu_kernels *kernels = job->backend->kernels;
    size_t first = tile * CHOOSE_BLOCK, n = cpu_min(CHOOSE_BLOCK, job->usable - first);
    const float *x = job->logits + first;
    float *copy = (float *)(void *)cpu_scratch(job->backend, worker);
    choose_part *part = &job->part[tile];
    part->largest = kernels->maximum(x, n);
    part->id = (int32_t)first;
    part->finite = true;
    for (size_t i = n; i-- > 0;)
        if (x[i] == part->largest) part->id = (int32_t)(first + i);
    for (size_t i = 0; i < n; i++) part->finite &= isfinite(x[i]) != 0;
    memcpy(copy, x, n * sizeof(float));
    part->sum = 0;
    for (size_t i = 0; i < n; i += 256)
        part->sum += kernels->exponentials(copy + i, cpu_min(256, n - i), part->largest);
}

static bool is_banned(const int32_t *banned, size_t count, int32_t id) {
    for (size_t i = 0; i < count; i++)
        if (banned[i] == id) return true;
    return false;
}

/* The largest logit that is not banned, lowest id among equals; -1 when all are. */
static int32_t best_allowed(const float *logits, size_t usable, const int32_t *banned, size_t count) {
    int32_t best = -1;
    for (size_t i = 0; i < usable; i++)
        if ((best < 0 || logits[i] > logits[best]) && !is_banned(banned, count, (int32_t)i))
            best = (int32_t)i;
    return best;
}

static uocr_status choose(uocr_backend *backend, uocr_tensor logits, size_t usable, const int32_t *banned,
                          size_t banned_count, int32_t forced, uocr_choice *out) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    enum { MOST_BLOCKS = 1024 };
    choose_part part[MOST_BLOCKS];
    choose_job job = {b, cpu_f32(logits), usable, part};
    size_t blocks = cpu_divide_up(usable, CHOOSE_BLOCK);
    assert(logits.rows == 1 && usable >= 1 && usable <= logits.cols && blocks <= MOST_BLOCKS);
    uocr_status status = uocr_pool_run(b->pool, blocks, choose_tile, &job);
    if (status != UOCR_OK) return status;
    size_t best = 0;
    double sum = 0;
    bool finite = part[0].finite;
    for (size_t i = 1; i < blocks; i++) {
        if (part[i].largest > part[best].largest) best = i;
        finite &= part[i].finite;
    }
    for (size_t i = 0; i < blocks; i++)
        sum += part[i].sum * exp((double)part[i].largest - (double)part[best].largest);
    double log_sum_exp = (double)part[best].largest + log(sum);
    int32_t id = part[best].id;
    if (is_banned(banned, banned_count, id)) {
        int32_t allowed = best_allowed(job.logits, usable, banned, banned_count);
        if (allowed >= 0) id = allowed; /* with everything banned the ban list cannot be kept */
    }
    if (forced >= 0) id = forced;
    assert((size_t)id < logits.cols);
    *out = (uocr_choice){id, (float)((double)job.logits[id] - log_sum_exp), (float)log_sum_exp, part[best].id,
                         finite};
    cpu_end(b, "choose", begun, 0, 2.0 * (double)usable);
    return UOCR_OK;
}

void cpu_install_decoder(uocr_backend *b) {
    b->rope_append = rope_append;
    b->route = route;
    b->choose = choose;
}
