/* The CPU back end with one row and with 32,768 rows, keys or slots: the most positions a model has.
 *
 * A row of a long input must be, bit by bit, what it is in a shorter one, and equal to a float64 reference
 * where it is looked at. Workspaces are exactly as large as the back end asks for. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "backend.h"
#include "check.h"

enum { MOST = 32768, IN = 64, OUT = 24, EXPERTS = 5, CHUNK = 1000 };

static uocr_backend *backend;
static uint64_t state = 7;

static float uniform(void) { return (float)((double)(check_random(&state) >> 11) * 0x1p-52 - 1); }

static void *room(size_t n) {
    void *block = calloc(n, 1);
    if (!block) abort();
    return block;
}

static uocr_tensor tensor(uocr_dtype dtype, size_t rows, size_t cols) {
    uocr_buffer *buffer = backend->buffer_create(backend, UOCR_MEMORY_DECODER_SCRATCH, rows * cols * 4);
    if (!buffer) abort();
    return (uocr_tensor){buffer, 0, dtype, rows, cols, cols};
}

static uocr_tensor random_tensor(size_t rows, size_t cols) {
    uocr_tensor t = tensor(UOCR_F32, rows, cols);
    float *x = room(rows * cols * 4);
    for (size_t i = 0; i < rows * cols; i++) x[i] = uniform();
    backend->write(backend, t.buffer, 0, x, rows * cols * 4);
    free(x);
    return t;
}

static float *values(uocr_tensor t) {
    float *x = room(t.rows * t.cols * 4);
    backend->read(backend, t.buffer, t.offset, x, t.rows * t.cols * 4);
    return x;
}

static void drop(uocr_tensor t) { backend->buffer_destroy(backend, t.buffer); }

static uocr_buffer *workspace(size_t bytes) {
    uocr_buffer *buffer = bytes ? backend->buffer_create(backend, UOCR_MEMORY_MOE_SCRATCH, bytes) : NULL;
    backend->bind_workspace(backend, buffer, bytes);
    return buffer;
}

static void unbind(uocr_buffer *buffer) {
    backend->bind_workspace(backend, NULL, 0);
    if (buffer) backend->buffer_destroy(backend, buffer);
}

/* q8 codes with one scale; the values as float64. */
typedef struct weight {
    uocr_weight view;
    double *value;
} weight;

static weight weight_of(size_t matrices, size_t rows, size_t cols) {
    size_t n = matrices * rows * cols;
    uint8_t *codes = room(n), *scales = room(n / UOCR_GROUP * 2);
    weight w = {{UOCR_Q8, codes, scales, rows, cols, matrices}, room(n * 8)};
    for (size_t i = 0; i < n; i++) {
        int q = (int)(check_random(&state) % 255) - 127;
        codes[i] = (uint8_t)(int8_t)q;
        w.value[i] = q * 0x1p-10;
    }
    for (size_t g = 0; g < n / UOCR_GROUP; g++) scales[2 * g + 1] = 0x14; /* 2^-10 */
    return w;
}

static void weight_free(weight *w) {
    free((void *)w->view.payload), free((void *)w->view.scales), free(w->value);
}

/* Rows [first, first + count) as a tensor of their own kind. */
static uocr_tensor part(uocr_tensor t, size_t first, size_t count) {
    return uocr_tensor_rows(t, first, count);
}

static bool same(uocr_tensor a, uocr_tensor b) {
    float *x = values(a), *y = values(b);
    bool equal = memcmp(x, y, a.rows * a.cols * 4) == 0;
    free(x), free(y);
    return equal;
}

/* -- operators over rows ------------------------------------------------------------------- */

static void multiply(uocr_tensor x, const weight *w, uocr_tensor y) {
    uocr_linear_part one = {.weight = &w->view, .y = y};
    uocr_buffer *space = workspace(backend->linear_workspace(backend, x.rows, x.cols));
    CHECK_EQUAL(backend->linear(backend, x, &one, 1), UOCR_OK);
    unbind(space);
}

static void a_product_of_many_rows(void) {
    uocr_tensor x = random_tensor(MOST, IN), y = tensor(UOCR_F32, MOST, OUT),
                again = tensor(UOCR_F32, MOST, OUT);
    weight w = weight_of(1, OUT, IN);
    multiply(x, &w, y);
    for (size_t first = 0; first < MOST;
         first += CHUNK) { /* the last has fewer, but never one: see linear.c */
        size_t count = MOST - first < CHUNK ? MOST - first : CHUNK;
        multiply(part(x, first, count), &w, part(again, first, count));
    }
    CHECK(same(y, again));
    float *xv = values(x), *yv = values(y);
    for (size_t r = 0; r < MOST; r += 4681) /* 7 rows, the last among them */
        for (size_t c = 0; c < OUT; c++) {
            double sum = 0;
            for (size_t i = 0; i < IN; i++) sum += xv[r * IN + i] * w.value[c * IN + i];
            CHECK(fabs(yv[r * OUT + c] - sum) < 1e-5);
        }
    free(xv), free(yv), weight_free(&w);
    drop(x), drop(y), drop(again);
}

static void norms_of_many_rows(void) {
    uocr_tensor x = random_tensor(MOST, IN), y = tensor(UOCR_F32, MOST, IN),
                again = tensor(UOCR_F32, MOST, IN);
    float ones[IN];
    for (size_t i = 0; i < IN; i++) ones[i] = 1;
    uocr_weight w = {UOCR_F32, (const uint8_t *)ones, NULL, 1, IN, 1};
    CHECK_EQUAL(backend->rms_norm(backend, x, &w, 1e-6f, y), UOCR_OK);
    for (size_t first = 0; first < MOST; first += CHUNK) {
        size_t count = MOST - first < CHUNK ? MOST - first : CHUNK;
        CHECK_EQUAL(backend->rms_norm(backend, part(x, first, count), &w, 1e-6f, part(again, first, count)),
                    UOCR_OK);
    }
    CHECK(same(y, again));
    bool finite = false;
    CHECK(backend->all_finite(backend, y, &finite) == UOCR_OK && finite);
    float bad = NAN; /* the very last value */
    backend->write(backend, y.buffer, ((size_t)MOST * IN - 1) * 4, &bad, 4);
    CHECK(backend->all_finite(backend, y, &finite) == UOCR_OK && !finite);
    drop(x), drop(y), drop(again);
}

static void route_and_mix(uocr_tensor x, const weight *router, const weight *gate, const weight *up,
                          const weight *down, uocr_tensor y) {
    uocr_tensor probs = tensor(UOCR_F32, x.rows, EXPERTS), ids = tensor(UOCR_I32, x.rows, 2);
    uocr_tensor weights = tensor(UOCR_F32, x.rows, 2);
    CHECK_EQUAL(backend->route(backend, x, &router->view, 2, true, 1, probs, ids, weights), UOCR_OK);
    uocr_buffer *space = workspace(backend->experts_workspace(backend, x.rows, 2, EXPERTS, IN, IN));
    CHECK_EQUAL(backend->experts(backend, x, ids, weights, &gate->view, &up->view, &down->view, y), UOCR_OK);
    unbind(space);
    drop(probs), drop(ids), drop(weights);
}

static void experts_of_many_rows(void) {
    uocr_tensor x = random_tensor(MOST, IN), y = random_tensor(MOST, IN), again = tensor(UOCR_F32, MOST, IN);
    weight router = weight_of(1, EXPERTS, IN), gate = weight_of(EXPERTS, IN, IN),
           up = weight_of(EXPERTS, IN, IN), down = weight_of(EXPERTS, IN, IN);
    CHECK_EQUAL(backend->copy_rows(backend, y, NULL, again, NULL, MOST), UOCR_OK); /* experts add to it */
    route_and_mix(x, &router, &gate, &up, &down, y);
    for (size_t first = 0; first < MOST; first += CHUNK) {
        size_t count = MOST - first < CHUNK ? MOST - first : CHUNK;
        route_and_mix(part(x, first, count), &router, &gate, &up, &down, part(again, first, count));
    }
    CHECK(same(y, again));
    weight_free(&router), weight_free(&gate), weight_free(&up), weight_free(&down);
    drop(x), drop(y), drop(again);
}

/* -- attention over many slots ------------------------------------------------------------- */

enum { HEADS = 2, HEAD_DIM = 64 };

/* q . k over every slot below `used`, softmax, times v; head `h` of one query. */
static void reference(const float *q, const double *k, const double *v, size_t used, double *y) {
    double *score = room(used * 8), most = -INFINITY, sum = 0;
    for (size_t s = 0; s < used; s++) {
        for (size_t d = 0; d < HEAD_DIM; d++) score[s] += q[d] * k[s * HEAD_DIM + d];
        score[s] /= 8; /* the root of HEAD_DIM */
        most = fmax(most, score[s]);
    }
    for (size_t s = 0; s < used; s++) sum += score[s] = exp(score[s] - most);
    for (size_t d = 0; d < HEAD_DIM; d++) {
        y[d] = 0;
        for (size_t s = 0; s < used; s++) y[d] += score[s] / sum * v[s * HEAD_DIM + d];
    }
    free(score);
}

/* What lies in the cache, as float64; f32 or f16. */
static double *cached(uocr_tensor t) {
    size_t n = t.rows * t.cols;
    double *out = room(n * 8);
    uint8_t *raw = room(n * 4);
    backend->read(backend, t.buffer, 0, raw, n * (t.dtype == UOCR_F16 ? 2 : 4));
    for (size_t i = 0; i < n; i++) {
        float f;
        uint16_t half;
        memcpy(&f, raw + 4 * i, 4), memcpy(&half, raw + 2 * i, 2);
        int exponent = half >> 10 & 31;
        double magnitude = exponent ? ldexp(1024 + (half & 1023), exponent - 25) : (half & 1023) * 0x1p-24;
        out[i] = t.dtype == UOCR_F16 ? (half & 0x8000 ? -magnitude : magnitude) : f;
    }
    free(raw);
    return out;
}

static void attention_over_many_slots(void) {
    enum { WIDTH = HEADS * HEAD_DIM, LAST = 3 };
    uocr_kv kv = {.heads = HEADS, .slots = MOST, .head_dim = HEAD_DIM};
    kv.k = tensor(backend->kv_dtype(backend, false), HEADS * MOST, HEAD_DIM);
    kv.v = tensor(backend->kv_dtype(backend, true), HEADS * MOST, HEAD_DIM);
    uocr_tensor q = random_tensor(MOST, WIDTH), k = random_tensor(MOST, WIDTH),
                v = random_tensor(MOST, WIDTH);
    CHECK_EQUAL(backend->rope_append(backend, q, k, v, &kv, 0, 0, 10000), UOCR_OK);
    uocr_tensor last = part(q, MOST - LAST, LAST), y = tensor(UOCR_F32, LAST, WIDTH),
                one = tensor(UOCR_F32, 1, WIDTH);
    uocr_buffer *space = workspace(backend->attention_workspace(backend, LAST, MOST, HEADS, HEAD_DIM));
    CHECK_EQUAL(backend->attention_prefill(backend, last, &kv, MOST - LAST, y), UOCR_OK);
    unbind(space);
    float *qv = values(last), *yv = values(y);
    double *kc = cached(kv.k), *vc = cached(kv.v), want[HEAD_DIM];
    bool close = true;
    for (size_t r = 0; r < LAST; r++)
        for (size_t h = 0; h < HEADS; h++) {
            reference(qv + r * WIDTH + h * HEAD_DIM, kc + h * MOST * HEAD_DIM, vc + h * MOST * HEAD_DIM,
                      MOST - LAST + r + 1, want);
            for (size_t d = 0; d < HEAD_DIM; d++)
                close &= fabs(yv[r * WIDTH + h * HEAD_DIM + d] - want[d]) < 1e-5;
        }
    CHECK(close && "causal attention over 32,768 keys");
    /* The last row again as a decoded token: K and V of its own slot are stored once more, unchanged. */
    uocr_tensor fresh = random_tensor(1, WIDTH);
    float *freshv = values(fresh);
    uocr_tensor kk = random_tensor(1, WIDTH), vv = random_tensor(1, WIDTH);
    CHECK_EQUAL(backend->rope_append(backend, fresh, kk, vv, &kv, 0, MOST - 1, 10000),
                UOCR_OK); /* position 0 turns nothing */
    space = workspace(backend->attention_workspace(backend, 1, MOST, HEADS, HEAD_DIM));
    CHECK_EQUAL(backend->attention_decode(backend, fresh, &kv, MOST, one), UOCR_OK);
    unbind(space);
    free(kc), free(vc);
    kc = cached(kv.k), vc = cached(kv.v);
    float *onev = values(one);
    close = true;
    for (size_t h = 0; h < HEADS; h++) {
        reference(freshv + h * HEAD_DIM, kc + h * MOST * HEAD_DIM, vc + h * MOST * HEAD_DIM, MOST, want);
        for (size_t d = 0; d < HEAD_DIM; d++) close &= fabs(onev[h * HEAD_DIM + d] - want[d]) < 1e-5;
    }
    CHECK(close && "one query over 32,768 slots");
    free(kc), free(vc), free(qv), free(yv), free(onev), free(freshv);
    drop(kv.k), drop(kv.v), drop(q), drop(k), drop(v), drop(y), drop(one), drop(fresh), drop(kk), drop(vv);
}

int main(void) {
    static uocr_memory memory;
    static uocr_profile profile;
    uocr_config config = {.hidden = IN,
                          .heads = HEADS,
                          .head_dim = HEAD_DIM,
                          .sam_width = 64,
                          .sam_heads = 1,
                          .sam_grid = 16,
                          .clip_width = 64,
                          .clip_heads = 1};
    uocr_error error = {.size = sizeof error};
    memory.budget = (uint64_t)2 << 30;
    for (int kind = 0; kind < 3; kind++) {
        const uint32_t simd = kind == 2 ? UOCR_SIMD_PORTABLE : UOCR_SIMD_AUTO;
        const uint32_t precision = kind == 1 ? UOCR_PRECISION_EXACT : UOCR_PRECISION_FAST;
        if (!CHECK(uocr_backend_cpu_create(&config, 2, precision, simd, &memory, &profile, &backend,
                                           &error) == UOCR_OK))
            return 1;
        a_product_of_many_rows();
        norms_of_many_rows();
        experts_of_many_rows();
        attention_over_many_slots();
        backend->destroy(backend);
        for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++) CHECK_EQUAL(memory.current[c], 0);
    }
    return check_result();
}
