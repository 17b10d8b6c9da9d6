/* Norms, copies, lookups, sums, routing, the choice of the next token, and numbers at the edge. */
#include "ops_support.h"

static void one_norm(ops *o, size_t rows, size_t cols, bool rms, uocr_dtype dtype, uocr_dtype bias_dtype,
                     double offset, double eps) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "%s %zux%zu %s around %g", rms ? "rms_norm" : "layer_norm", rows, cols,
             dtype_name(dtype), offset);
    weight w = weight_random(o, dtype, 1, 1, cols, 2), b = weight_random(o, bias_dtype, 1, 1, cols, 1);
    uocr_tensor x = tensor_random(o, rows, cols, 3, 1), y = tensor_new(o, UOCR_F32, rows, cols, 1);
    double *v = tensor_values(o, x), *want = zeroed(rows * cols, 8), *bound = zeroed(rows * cols, 8);
    for (size_t i = 0; i < rows * cols; i++) v[i] = (float)(v[i] + offset);
    tensor_write(o, x, v);
    for (size_t r = 0; r < rows; r++) {
        const double *row = v + r * cols;
        double mean = 0, size = 0, square = 0;
        for (size_t i = 0; i < cols; i++) mean += row[i] / (double)cols, size += fabs(row[i]) / (double)cols;
        if (rms) mean = 0;
        for (size_t i = 0; i < cols; i++) square += (row[i] - mean) * (row[i] - mean) / (double)cols;
        double factor = 1 / sqrt(square + eps), mean_error = rms ? 0 : sum_bound(cols, size);
        for (size_t i = 0; i < cols; i++) {
            double normal = (row[i] - mean) * factor, bias = rms ? 0 : b.value[i];
            want[r * cols + i] = w.value[i] * normal + bias;
            /* The variance moves by the square of the mean's error and by twice its own rounding. */
            double relative = sum_bound(cols, 1) + mean_error * mean_error * factor * factor + 8 * EPS;
            bound[r * cols + i] = fabs(w.value[i]) * (fabs(normal) * relative +
                                                      (mean_error + 2 * EPS * fabs(row[i])) * factor) +
                                  2 * EPS * (fabs(bias) + fabs(want[r * cols + i]));
        }
    }
    if (rms) expect_ok(o, name, o->backend->rms_norm(o->backend, x, &w.view, (float)eps, y));
    else expect_ok(o, name, o->backend->layer_norm(o->backend, x, &w.view, &b.view, (float)eps, y));
    expect(o, name, y, o->verify ? want : NULL, bound);
    /* In place, the same numbers. */
    if (rms) expect_ok(o, name, o->backend->rms_norm(o->backend, x, &w.view, (float)eps, x));
    else expect_ok(o, name, o->backend->layer_norm(o->backend, x, &w.view, &b.view, (float)eps, x));
    expect(o, name, x, o->verify ? want : NULL, bound);
    free(v), free(want), free(bound);
    weight_free(&w), weight_free(&b);
    tensor_free(o, x), tensor_free(o, y);
}

static void copies(ops *o) {
    static const uint32_t from[4] = {3, 0, 3, 2}, to[4] = {5, 1, 0, 2};
    enum { COLS = 70, ROWS = 6 };
    double zero[ROWS * COLS] = {0};
    uocr_tensor x = tensor_random(o, 4, COLS, 2, 1), y = tensor_new(o, UOCR_F32, ROWS, COLS, 1);
    double *v = tensor_values(o, x), want[ROWS * COLS] = {0};
    tensor_write(o, y, want);
    for (size_t i = 0; i < 4; i++) memcpy(want + to[i] * COLS, v + from[i] * COLS, COLS * sizeof *want);
    expect_ok(o, "copy_rows", o->backend->copy_rows(o->backend, x, from, y, to, 4));
    expect(o, "copy_rows", y, o->verify ? want : NULL, zero);
    memcpy(want, v, 3 * COLS * sizeof *want);
    expect_ok(o, "copy_rows", o->backend->copy_rows(o->backend, x, NULL, y, NULL, 3));
    expect(o, "copy_rows, indices in order", y, o->verify ? want : NULL, zero);
    expect_ok(o, "copy_rows of none", o->backend->copy_rows(o->backend, x, NULL, y, NULL, 0));
    uocr_tensor z = tensor_random(o, 4, COLS, 0, 1);
    double *sum = tensor_values(o, z);
    for (size_t i = 0; i < 4 * COLS; i++) sum[i] = (float)sum[i] + (float)v[i];
    double rounding[4 * COLS];
    for (size_t i = 0; i < 4 * COLS; i++) rounding[i] = EPS * fabs(sum[i]);
    expect_ok(o, "add", o->backend->add(o->backend, x, z));
    expect(o, "add", z, o->verify ? sum : NULL, rounding);
    free(v), free(sum);
    tensor_free(o, x), tensor_free(o, y), tensor_free(o, z);
}

static void lookups(ops *o) {
    enum { COLS = 128, ROWS = 9 };
    static const uint32_t ids[4] = {8, 0, 5, 8}, to[4] = {1, 3, 0, 2};
    static const uocr_dtype types[4] = {UOCR_F32, UOCR_F16, UOCR_Q8, UOCR_Q4};
    double want[4 * COLS], zero[4 * COLS] = {0};
    for (int t = 0; t < 4; t++) { /* q times an f16 scale is exact in f32: no error allowed */
        weight table = weight_random(o, types[t], 1, ROWS, COLS, 1);
        uocr_tensor y = tensor_new(o, UOCR_F32, 4, COLS, 5);
        for (size_t i = 0; i < 4; i++)
            memcpy(want + to[i] * COLS, table.value + ids[i] * COLS, COLS * sizeof *want);
        expect_ok(o, "embed_rows", o->backend->embed_rows(o->backend, &table.view, ids, y, to, 4));
        expect(o, "embed_rows", y, o->verify ? want : NULL, zero);
        expect_ok(o, "embed_rows", o->backend->embed_rows(o->backend, &table.view, NULL, y, NULL, 4));
        expect(o, "embed_rows, indices in order", y, o->verify ? table.value : NULL, zero);
        weight_free(&table);
        tensor_free(o, y);
    }
}

static void finite_checks(ops *o) {
    static const double bad[3] = {INFINITY, -INFINITY, NAN};
    static const size_t cols[3] = {1, 13, 4096};
    for (size_t i = 0; i < 9; i++) {
        size_t rows = 5, n = rows * cols[i % 3];
        uocr_tensor x = tensor_random(o, rows, cols[i % 3], 3, 1e38);
        double *v = tensor_values(o, x);
        bool finite = false;
        v[0] = 0x1p-149, v[1] = 3.4e38;
        tensor_write(o, x, v);
        expect_ok(o, "all_finite", o->backend->all_finite(o->backend, x, &finite));
        expect_true(o, "huge and denormal numbers are finite", finite);
        v[(n * 7 / 9) % n] = bad[i / 3];
        tensor_write(o, x, v);
        expect_ok(o, "all_finite", o->backend->all_finite(o->backend, x, &finite));
        expect_true(o, "Inf and NaN are found", !finite);
        free(v);
        tensor_free(o, x);
    }
}

void test_rows(ops *o) {
    one_norm(o, 3, 1280, true, UOCR_F16, UOCR_F16, 0, 1e-6);
    one_norm(o, 70, 128, true, UOCR_F32, UOCR_F32, 0, 1e-6);
    one_norm(o, 1, 5, true, UOCR_F32, UOCR_F32, 100, 1e-6);
    one_norm(o, 2, 768, false, UOCR_F16, UOCR_F16, 0, 1e-6);
    one_norm(o, 600, 128, false, UOCR_F32, UOCR_F32, 3, 1e-5);
    one_norm(o, 4, 1024, false, UOCR_F32, UOCR_F32, 50, 1e-5);
    one_norm(o, 5, 67, false, UOCR_F16, UOCR_F16, -1, 1e-6);
    one_norm(o, 3, 96, false, UOCR_F32, UOCR_F16, 0, 1e-6);
    one_norm(o, 3, 96, false, UOCR_F16, UOCR_F32, 0, 1e-6);
    copies(o);
    lookups(o);
    finite_checks(o);
}

/* -- routing ------------------------------------------------------------------------------- */

static void one_route(ops *o, size_t rows, size_t hidden, size_t experts, size_t top_k, bool normalise,
                      bool ties) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "route %zux%zu top %zu of %zu normalise %d ties %d", rows, hidden, top_k,
             experts, normalise, ties);
    weight w = weight_random(o, UOCR_F32, 1, experts, hidden, 0.2);
    float scale = 1.5f;
    if (ties) /* all rows of the router alike: every probability is 1 / experts */
        for (size_t i = 0; i < experts; i++) {
            memcpy(w.payload + i * hidden * 4, w.payload, hidden * 4);
            memcpy(w.value + i * hidden, w.value, hidden * sizeof *w.value);
        }
    uocr_tensor x = tensor_random(o, rows, hidden, 1, 1), probs = tensor_new(o, UOCR_F32, rows, experts, 2);
    uocr_tensor ids = tensor_new(o, UOCR_I32, rows, top_k, 1),
                weights = tensor_new(o, UOCR_F32, rows, top_k, 0);
    double *v = tensor_values(o, x), *p = zeroed(rows * experts, 8), *bound = zeroed(rows * experts, 8);
    expect_ok(o, name,
              o->backend->route(o->backend, x, &w.view, top_k, normalise, scale, probs, ids, weights));
    if (o->verify) {
        product(v, &w, 0, rows, p, bound);
        for (size_t r = 0; r < rows; r++) {
            double sum = 0, worst = 0;
            for (size_t e = 0; e < experts; e++)
                worst = fmax(worst, sum_bound(hidden, bound[r * experts + e]));
            for (size_t e = 0; e < experts; e++) sum += p[r * experts + e] = exp(p[r * experts + e]);
            for (size_t e = 0; e < experts; e++) {
                p[r * experts + e] /= sum;
                bound[r * experts + e] = p[r * experts + e] * (expm1(2 * worst) + 64 * EPS);
            }
        }
    }
    expect(o, name, probs, o->verify ? p : NULL, bound);
    /* Order and weights follow exactly from the probabilities that came out. */
    double *got = tensor_values(o, probs), *want_ids = zeroed(rows * top_k, 8),
           *want = zeroed(rows * top_k, 8);
    double *zero = zeroed(rows * top_k, 8), *near = zeroed(rows * top_k, 8);
    for (size_t r = 0; r < rows; r++) {
        double total = 0;
        for (size_t k = 0; k < top_k; k++) {
            size_t best = experts;
            for (size_t e = 0; e < experts; e++) {
                bool taken = false;
                for (size_t j = 0; j < k; j++) taken |= want_ids[r * top_k + j] == (double)e;
                if (!taken && (best == experts || got[r * experts + e] > got[r * experts + best])) best = e;
            }
            want_ids[r * top_k + k] = (double)best;
            want[r * top_k + k] = got[r * experts + best];
            total += got[r * experts + best];
        }
        for (size_t k = 0; k < top_k; k++) {
            want[r * top_k + k] *= scale / (normalise ? total : 1);
            near[r * top_k + k] = 16 * EPS * want[r * top_k + k];
        }
    }
    expect(o, name, ids, o->verify ? want_ids : NULL, zero);
    expect(o, name, weights, o->verify ? want : NULL, near);
    free(v), free(p), free(bound), free(got), free(want_ids), free(want), free(zero), free(near);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, probs), tensor_free(o, ids), tensor_free(o, weights);
}

/* -- choice -------------------------------------------------------------------------------- */

static uocr_choice choose(ops *o, uocr_tensor logits, size_t usable, const int32_t *banned, size_t count,
                          int32_t forced) {
    uocr_choice choice = {0};
    expect_ok(o, "choose", o->backend->choose(o->backend, logits, usable, banned, count, forced, &choice));
    return choice;
}

static void choices(ops *o, size_t vocab, size_t usable) {
    uocr_tensor logits = tensor_random(o, 1, vocab, 0, 10);
    double *v = tensor_values(o, logits), sum = 0;
    int32_t first = (int32_t)(usable / 3), second = (int32_t)(usable - 1), third = (int32_t)(usable / 2);
    v[first] = v[second] = 20; /* a tie */
    v[third] = 19;
    if (usable < vocab) v[usable] = 100; /* a padding row: never chosen, not in the sum */
    tensor_write(o, logits, v);
    for (size_t i = 0; i < usable; i++) sum += exp(v[i] - 20);
    double lse = 20 + log(sum), bound = 8 * EPS * 40;
    uocr_choice c = choose(o, logits, usable, NULL, 0, -1);
    expect_true(o, "the lowest id wins a tie", c.id == first && c.unguarded == first && c.finite);
    expect_true(o, "log-sum-exp", fabs(c.log_sum_exp - lse) <= bound);
    expect_true(o, "log-probability", fabs(c.logprob - (20 - lse)) <= bound);
    int32_t both[3] = {second, first, 5};
    c = choose(o, logits, usable, both, 1, -1);
    expect_true(o, "a ban elsewhere changes nothing", c.id == first && c.unguarded == first);
    c = choose(o, logits, usable, both, 2, -1);
    expect_true(o, "the best that is not banned", c.id == third && c.unguarded == first);
    expect_true(o, "log-probability is raw under a ban", fabs(c.logprob - (19 - lse)) <= bound);
    c = choose(o, logits, usable, both, 3, third + 1);
    expect_true(o, "a forced id",
                c.id == third + 1 && fabs(c.logprob - (v[third + 1] - lse)) <= bound && c.unguarded == first);
    v[usable - 2] = NAN;
    tensor_write(o, logits, v);
    expect_true(o, "NaN is told", !choose(o, logits, usable, NULL, 0, -1).finite);
    v[usable - 2] = INFINITY;
    tensor_write(o, logits, v);
    expect_true(o, "Inf is told", !choose(o, logits, usable, NULL, 0, -1).finite);
    v[usable - 2] = 0;
    if (usable < vocab) {
        v[usable] = NAN;
        tensor_write(o, logits, v);
        expect_true(o, "padding rows are not looked at", choose(o, logits, usable, NULL, 0, -1).finite);
    }
    free(v);
    tensor_free(o, logits);
}

static void every_id_banned(ops *o) {
    static const int32_t banned[8] = {7, 6, 5, 4, 3, 2, 1, 0};
    uocr_tensor logits = tensor_random(o, 1, 8, 0, 3);
    uocr_choice c = choose(o, logits, 8, banned, 8, -1);
    expect_true(o, "with everything banned the best id is chosen",
                c.id == c.unguarded && c.id >= 0 && c.id < 8);
    tensor_free(o, logits);
}

void test_decoder(ops *o) {
    one_route(o, 1, 1280, 64, 6, false, false);
    one_route(o, 30, 128, 8, 3, false, false);
    one_route(o, 5, 256, 16, 4, true, false);
    one_route(o, 2, 64, 9, 9, true, true);
    one_route(o, 1, 64, 64, 6, false, true);
    if (!o->few) choices(o, 129280, 128827);
    choices(o, 512, 512);
    choices(o, 4099, 4097);
    choices(o, 40, 17);
    every_id_banned(o);
}

/* -- numbers at the edge ------------------------------------------------------------------- */

static void product_of(ops *o, const char *name, uocr_dtype dtype, size_t rows, size_t in, size_t out,
                       const double *x, const double *w, bool finite) {
    weight matrix = weight_of(dtype, out, in, w);
    uocr_tensor input = tensor_new(o, UOCR_F32, rows, in, 0), y = tensor_new(o, UOCR_F32, rows, out, 1);
    double *want = zeroed(rows * out, 8), *bound = zeroed(rows * out, 8);
    uocr_linear_part part = {.weight = &matrix.view, .y = y};
    tensor_write(o, input, x);
    double *seen = tensor_values(o, input);
    uocr_buffer *space = workspace(o, o->backend->linear_workspace(o->backend, rows, in));
    expect_ok(o, name, o->backend->linear(o->backend, input, &part, 1));
    if (finite && o->verify) product_bound(seen, &matrix, 0, rows, uses_int8(o, &matrix, rows), want, bound);
    expect(o, name, y, finite && o->verify ? want : NULL, bound);
    if (!finite) {
        bool clean = true;
        expect_ok(o, name, o->backend->all_finite(o->backend, y, &clean));
        expect_true(o, "Inf and NaN come out of a product they went into", !clean);
    }
    o->backend->buffer_destroy(o->backend, space);
    free(want), free(bound), free(seen);
    weight_free(&matrix);
    tensor_free(o, input), tensor_free(o, y);
}

/* Integers whose scales are 1: every product and sum is exact, so every instruction set must give the very
 * number. */
static void integers(ops *o, uocr_dtype dtype, size_t rows) {
    enum { IN = 256, OUT = 37, MOST = 5 };
    double x[MOST * IN], w[OUT * IN], want[MOST * OUT], zero[MOST * OUT] = {0};
    double most = dtype == UOCR_Q8 ? 127 : 8;
    for (size_t i = 0; i < rows * IN; i++) x[i] = i % UOCR_GROUP ? floor(uniform(o, -127, 128)) : -127;
    for (size_t i = 0; i < OUT * IN; i++) w[i] = i % UOCR_GROUP ? floor(uniform(o, 1 - most, most)) : -most;
    weight matrix = weight_of(dtype, OUT, IN, w);
    uocr_tensor input = tensor_new(o, UOCR_F32, rows, IN, 0), y = tensor_new(o, UOCR_F32, rows, OUT, 1);
    uocr_linear_part part = {.weight = &matrix.view, .y = y};
    tensor_write(o, input, x);
    uocr_buffer *space = workspace(o, o->backend->linear_workspace(o->backend, rows, IN));
    expect_ok(o, "integers", o->backend->linear(o->backend, input, &part, 1));
    product(x, &matrix, 0, rows, want, NULL);
    expect(o, "products of integers are exact", y, want, zero);
    o->backend->buffer_destroy(o->backend, space);
    weight_free(&matrix);
    tensor_free(o, input), tensor_free(o, y);
}

void test_bad_numbers(ops *o) {
    enum { IN = 192, OUT = 20, MOST = 3 };
    static const uocr_dtype types[4] = {UOCR_F32, UOCR_F16, UOCR_Q8, UOCR_Q4};
    static const double poison[3] = {NAN, INFINITY, -INFINITY};
    double x[MOST * IN], w[OUT * IN];
    for (size_t rows = 1; rows <= 5; rows += 4) integers(o, UOCR_Q8, rows), integers(o, UOCR_Q4, rows);
    for (int t = 0; t < 4; t++)
        for (size_t rows = 1; rows <= MOST; rows += 2) {
            for (size_t i = 0; i < rows * IN; i++) x[i] = 0;
            for (size_t i = 0; i < OUT * IN; i++) w[i] = uniform(o, -1, 1);
            product_of(o, "an input of zeros", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < rows * IN; i++) x[i] = 0.7;
            product_of(o, "an input of equal values", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < rows * IN; i++) x[i] = uniform(o, -1, 1) * 0x1p-130; /* f32 denormals */
            product_of(o, "an input of denormals", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < rows * IN; i++)
                x[i] = uniform(o, -1, 1) * (i % 64 ? 1e-6 : 1e6); /* outliers */
            product_of(o, "an outlier in every group", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < rows * IN; i++) x[i] = uniform(o, -1, 1);
            for (size_t i = 0; i < OUT * IN; i++) w[i] = i % 3 ? 0 : uniform(o, -1, 1) * (i / 64 % 2);
            product_of(o, "groups of zero weights", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < OUT * IN; i++) w[i] = i / 64 % 2 ? -0.5 : 0.5;
            product_of(o, "groups of equal weights", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < OUT * IN; i++)
                w[i] = uniform(o, -1, 1) * 0x1p-21; /* f16 scales are denormals */
            product_of(o, "scales that are f16 denormals", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < OUT * IN; i++)
                w[i] = uniform(o, -1, 1) * 60000; /* q4 scale 7500, f16 near its end */
            product_of(o, "weights near the end of f16", types[t], rows, IN, OUT, x, w, true);
            for (size_t i = 0; i < OUT * IN; i++) w[i] = uniform(o, 0.1, 1);
            for (int p = 0; p < 3; p++) {
                x[IN / 2 + p] = poison[p];
                product_of(o, "not finite", types[t], rows, IN, OUT, x, w, false);
                x[IN / 2 + p] = 0.5;
            }
        }
}
