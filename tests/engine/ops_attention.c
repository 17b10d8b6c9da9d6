/* Attention of every kind, and the rotary positions and cache it reads. */
#include "ops_support.h"

/* One query against keys: out = sum softmax(scale q.k + extra) v, bound from what rounding can do to each
 * part. key_error: relative rounding of stored keys (f16 cache), value_error likewise. */
static void attend(const double *q, const double *k, const double *v, const double *extra,
                   const double *extra_bound, size_t keys, size_t d, double key_error, double value_error,
                   double *out, double *bound) {
    double *score = zeroed(keys, 8), scale = 1 / sqrt((double)d), largest = -INFINITY, worst = 0, sum = 0;
    for (size_t t = 0; t < keys; t++) {
        double dot = 0, size = 0;
        for (size_t i = 0; i < d; i++) dot += q[i] * k[t * d + i], size += fabs(q[i] * k[t * d + i]);
        score[t] = scale * dot + (extra ? extra[t] : 0);
        double error = scale * (sum_bound(d, size) + key_error * size) + (extra ? extra_bound[t] : 0) +
                       8 * EPS * (fabs(scale * dot) + (extra ? fabs(extra[t]) : 0));
        if (error > worst) worst = error;
        if (score[t] > largest) largest = score[t];
    }
    for (size_t t = 0; t < keys; t++) sum += score[t] = exp(score[t] - largest);
    for (size_t i = 0; i < d; i++) {
        double value = 0, size = 0;
        for (size_t t = 0; t < keys; t++) {
            value += score[t] / sum * v[t * d + i];
            size += score[t] / sum * fabs(v[t * d + i]);
        }
        out[i] = value;
        /* exp(s +- e) changes every weight by at most e^(2e) - 1; differences from the maximum round at 2^-24
         * of up to 87; exp itself is good to 2 ulp. */
        bound[i] = size * (expm1(2 * worst) + value_error + 200 * EPS) + sum_bound(keys, size);
    }
    free(score);
}

static double *columns(const double *x, size_t rows, size_t stride, size_t first, size_t count) {
    double *out = zeroed(rows * count, 8);
    for (size_t r = 0; r < rows; r++) memcpy(out + r * count, x + r * stride + first, count * sizeof *out);
    return out;
}

static void one_full(ops *o, size_t tokens, size_t heads, size_t d, double amplitude) {
    char name[96];
    tokens = ops_most_rows < tokens ? 4 * ops_most_rows : tokens;
    snprintf(name, sizeof name, "attention_full %zu tokens %zux%zu", tokens, heads, d);
    size_t width = heads * d;
    uocr_tensor qkv = tensor_random(o, tokens, 3 * width, 0, amplitude),
                y = tensor_new(o, UOCR_F32, tokens, width, 4);
    double *x = tensor_values(o, qkv), *want = zeroed(tokens * width, 8), *bound = zeroed(tokens * width, 8);
    uocr_buffer *space = workspace(o, o->backend->attention_workspace(o->backend, tokens, tokens, heads, d));
    expect_ok(o, name, o->backend->attention_full(o->backend, qkv, heads, y));
    for (size_t h = 0; h < heads && o->verify; h++) {
        double *k = columns(x, tokens, 3 * width, width + h * d, d),
               *v = columns(x, tokens, 3 * width, 2 * width + h * d, d);
        for (size_t r = 0; r < tokens; r++)
            attend(x + r * 3 * width + h * d, k, v, NULL, NULL, tokens, d, 0, 0, want + r * width + h * d,
                   bound + r * width + h * d);
        free(k), free(v);
    }
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(x), free(want), free(bound);
    tensor_free(o, qkv), tensor_free(o, y);
}

static void one_grid(ops *o, size_t grid, size_t window, size_t heads, size_t d) {
    char name[96];
    snprintf(name, sizeof name, "attention_grid %zu window %zu %zux%zu", grid, window, heads, d);
    size_t width = heads * d, tokens = grid * grid, offsets = 2 * window - 1, keys = window * window;
    uocr_tensor qkv = tensor_random(o, tokens, 3 * width, 2, 1.5),
                y = tensor_new(o, UOCR_F32, tokens, width, 0);
    uocr_tensor rel_h = tensor_random(o, offsets, d, 0, 0.5), rel_w = tensor_random(o, offsets, d, 3, 0.5);
    weight bias = weight_random(o, UOCR_F16, 1, 1, 3 * width, 1);
    double *x = tensor_values(o, qkv), *th = tensor_values(o, rel_h), *tw = tensor_values(o, rel_w);
    double *want = zeroed(tokens * width, 8), *bound = zeroed(tokens * width, 8);
    double *k = zeroed(keys * d, 8), *v = zeroed(keys * d, 8), *extra = zeroed(keys, 8),
           *extra_bound = zeroed(keys, 8);
    uocr_buffer *space = workspace(o, o->backend->attention_workspace(o->backend, tokens, keys, heads, d));
    expect_ok(o, name,
              o->backend->attention_grid(o->backend, qkv, &bias.view, rel_h, rel_w, grid, window, heads, y));
    for (size_t t = 0; t < tokens && o->verify; t++)
        for (size_t h = 0; h < heads; h++) {
            size_t row = t / grid, col = t % grid, top = row / window * window, left = col / window * window;
            const double *q = x + t * 3 * width + h * d;
            for (size_t s = 0; s < keys; s++) {
                size_t i = s / window, j = s % window;
                const double *source = top + i < grid && left + j < grid
                                           ? x + ((top + i) * grid + left + j) * 3 * width
                                           : bias.value;
                memcpy(k + s * d, source + width + h * d, d * sizeof *k);
                memcpy(v + s * d, source + 2 * width + h * d, d * sizeof *v);
                const double *a = th + (row - top + window - 1 - i) * d,
                             *b = tw + (col - left + window - 1 - j) * d;
                double sum = 0, size = 0;
                for (size_t c = 0; c < d; c++) {
                    sum += q[c] * a[c] + q[c] * b[c];
                    size += fabs(q[c] * a[c]) + fabs(q[c] * b[c]);
                }
                extra[s] = sum, extra_bound[s] = sum_bound(d, size);
            }
            attend(q, k, v, extra, extra_bound, keys, d, 0, 0, want + t * width + h * d,
                   bound + t * width + h * d);
        }
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(x), free(th), free(tw), free(want), free(bound), free(k), free(v), free(extra), free(extra_bound);
    weight_free(&bias);
    tensor_free(o, qkv), tensor_free(o, y), tensor_free(o, rel_h), tensor_free(o, rel_w);
}

/* -- cache --------------------------------------------------------------------------------- */

static uocr_kv cache_new(ops *o, size_t heads, size_t slots, size_t d) {
    uocr_kv kv = {.heads = heads, .slots = slots, .head_dim = d};
    kv.k = tensor_new(o, o->backend->kv_dtype(o->backend, false), heads * slots, d, 0);
    kv.v = tensor_new(o, o->backend->kv_dtype(o->backend, true), heads * slots, d, 0);
    return kv;
}

static void cache_fill(ops *o, uocr_kv *kv, double amplitude) {
    size_t n = kv->heads * kv->slots * kv->head_dim;
    double *values = zeroed(n, 8);
    for (size_t i = 0; i < n; i++) values[i] = uniform(o, -amplitude, amplitude);
    tensor_write(o, kv->k, values);
    for (size_t i = 0; i < n; i++) values[i] = uniform(o, -amplitude, amplitude);
    tensor_write(o, kv->v, values);
    free(values);
}

static void one_cached(ops *o, size_t heads, size_t d, size_t slots, size_t first, size_t rows, bool decode) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "attention_%s %zux%zu slots %zu first %zu rows %zu",
             decode ? "decode" : "prefill", heads, d, slots, first, rows);
    size_t width = heads * d;
    uocr_kv kv = cache_new(o, heads, slots, d);
    cache_fill(o, &kv, 1.5);
    uocr_tensor q = tensor_random(o, rows, width, 1, 1.5), y = tensor_new(o, UOCR_F32, rows, width, 2);
    double *qv = tensor_values(o, q), *k = tensor_values(o, kv.k), *v = tensor_values(o, kv.v);
    double *want = zeroed(rows * width, 8), *bound = zeroed(rows * width, 8);
    uocr_buffer *space = workspace(o, o->backend->attention_workspace(o->backend, rows, slots, heads, d));
    if (decode) expect_ok(o, name, o->backend->attention_decode(o->backend, q, &kv, first + 1, y));
    else expect_ok(o, name, o->backend->attention_prefill(o->backend, q, &kv, first, y));
    for (size_t r = 0; r < rows && o->verify; r++)
        for (size_t h = 0; h < heads; h++)
            attend(qv + r * width + h * d, k + h * slots * d, v + h * slots * d, NULL, NULL, first + r + 1, d,
                   0, 0, want + r * width + h * d, bound + r * width + h * d);
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(qv), free(k), free(v), free(want), free(bound);
    tensor_free(o, q), tensor_free(o, y), tensor_free(o, kv.k), tensor_free(o, kv.v);
}

void test_attention(ops *o) {
    one_full(o, 257, 1, 64, 1);
    one_full(o, 65, 2, 64, 1);
    one_full(o, 1, 3, 64, 1);
    one_full(o, 300, 1, 20, 2);
    one_full(o, 97, 1, 64, 12); /* scores in the hundreds: the softmax is nearly a choice */
    one_grid(o, 14, 14, 1, 64);
    one_grid(o, 16, 14, 2, 64); /* windows of 2 rows or columns, the rest padding */
    one_grid(o, 17, 17, 1, 64); /* global: 289 keys */
    one_grid(o, 5, 2, 3, 16);
    one_grid(o, 4, 7, 1, 24); /* a window larger than the picture */
    one_cached(o, 2, 128, 300, 0, 300, false);
    one_cached(o, 1, 64, 400, 130, 150, false); /* a later chunk of a prompt */
    one_cached(o, 3, 64, 40, 7, 1, false);
    one_cached(o, 2, 64, 20, 0, 20, false);
    one_cached(o, 2, 128, 405, 404, 1, true);
    one_cached(o, 10, 128, 64, 0, 1, true);
    one_cached(o, 2, 64, 1100, 1023, 1, true); /* exactly two blocks of keys */
    one_cached(o, 1, 64, 1100, 1024, 1, true);
    one_cached(o, 1, 40, 5, 3, 1, true);
}

/* -- rotary positions ---------------------------------------------------------------------- */

static void one_rope(ops *o, size_t rows, size_t heads, size_t d, size_t position0, size_t slot0,
                     size_t slots) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "rope_append %zu rows %zux%zu position %zu slot %zu", rows, heads, d,
             position0, slot0);
    size_t width = heads * d, half = d / 2;
    uocr_kv kv = cache_new(o, heads, slots, d);
    cache_fill(o, &kv, 1);
    uocr_tensor q = tensor_random(o, rows, width, 0, 2), k = tensor_random(o, rows, width, 1, 2),
                v = tensor_random(o, rows, width, 0, 2);
    double *qv = tensor_values(o, q), *kv0 = tensor_values(o, k), *vv = tensor_values(o, v);
    double *want_q = zeroed(rows * width, 8), *bound_q = zeroed(rows * width, 8);
    double *want_k = tensor_values(o, kv.k), *want_v = tensor_values(o, kv.v);
    double *bound_k = zeroed(heads * slots * d, 8), *bound_v = zeroed(heads * slots * d, 8);
    bool half_k = kv.k.dtype == UOCR_F16, half_v = kv.v.dtype == UOCR_F16;
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < d; i++) {
                double angle = (double)(position0 + r) * pow(10000, -2.0 * (double)(i % half) / (double)d);
                double c = cos(angle), s = i < half ? -sin(angle) : sin(angle);
                size_t at = r * width + h * d + i, pair = r * width + h * d + (i + half) % d;
                size_t slot = (h * slots + slot0 + r) * d + i;
                /* Frequencies and angles are f32: three roundings of the angle, then the rotation's own. */
                double turn = angle * 4 * EPS + 4 * EPS;
                want_q[at] = qv[at] * c + qv[pair] * s;
                bound_q[at] = (fabs(qv[at]) + fabs(qv[pair])) * turn;
                want_k[slot] = kv0[at] * c + kv0[pair] * s;
                bound_k[slot] = (fabs(kv0[at]) + fabs(kv0[pair])) * turn +
                                (half_k ? 0x1p-11 * fabs(want_k[slot]) + 0x1p-25 : 0);
                want_v[slot] = half_v ? f16_value(f16_of(vv[at])) : vv[at];
            }
    expect_ok(o, name, o->backend->rope_append(o->backend, q, k, v, &kv, position0, slot0, 10000));
    expect(o, name, q, o->verify ? want_q : NULL, bound_q);
    expect(o, name, kv.k, o->verify ? want_k : NULL, bound_k); /* other slots: unchanged, bound 0 */
    expect(o, name, kv.v, o->verify ? want_v : NULL, bound_v);
    free(qv), free(kv0), free(vv), free(want_q), free(bound_q), free(want_k), free(want_v), free(bound_k),
        free(bound_v);
    tensor_free(o, q), tensor_free(o, k), tensor_free(o, v), tensor_free(o, kv.k), tensor_free(o, kv.v);
}

void test_rope(ops *o) {
    one_rope(o, 1, 10, 128, 405, 277, 405);
    one_rope(o, 40, 2, 64, 0, 0, 56);
    one_rope(o, 17, 2, 64, 300, 23, 40);
    one_rope(o, 1, 2, 64, 32767, 0, 3);
    one_rope(o, 3, 1, 6, 11, 1, 5);
}
