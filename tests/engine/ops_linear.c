/* Matrix products: linear, swiglu, experts, route, and products whose rows are cut on the fly (vision). */
#include "ops_support.h"

static const uocr_dtype TYPES[4] = {UOCR_F32, UOCR_F16, UOCR_Q8, UOCR_Q4};

static bool fits_type(uocr_dtype dtype, size_t in) {
    return dtype == UOCR_F32 || dtype == UOCR_F16 || in % UOCR_GROUP == 0;
}

/* A bound on the activation's change per change of its argument: |gelu'| <= 1.13, |quick'| <= 1.1, plus
 * rounding. */
static double activate(uocr_activation activation, double x) {
    if (activation == UOCR_GELU_ERF) return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    if (activation == UOCR_GELU_QUICK) return x / (1 + exp(-1.702 * x));
    return x;
}

typedef struct linear_case {
    size_t rows, in, out;
} linear_case;

static void one_linear(ops *o, linear_case c, uocr_dtype dtype, uocr_activation activation, bool biased,
                       bool accumulate, size_t rank) {
    char name[96];
    c.rows = fewer(c.rows);
    snprintf(name, sizeof name, "linear %zux%zux%zu %s act %d bias %d accumulate %d rank %zu", c.rows, c.in,
             c.out, dtype_name(dtype), (int)activation, biased, accumulate, rank);
    weight w = weight_random(o, dtype, 1, c.out, c.in, 0.1), bias = {0}, a = {0}, b = {0};
    uocr_tensor x = tensor_random(o, c.rows, c.in, 4, 2), y = tensor_random(o, c.rows, c.out, 3, 1);
    double *xv = tensor_values(o, x), *before = tensor_values(o, y);
    uocr_linear_part part = {.weight = &w.view, .y = y, .activation = activation, .accumulate = accumulate};
    if (biased) {
        bias = weight_random(o, rank ? UOCR_F16 : UOCR_F32, 1, 1, c.out, 1);
        part.bias = &bias.view;
    }
    if (rank) {
        a = weight_random(o, UOCR_F16, 1, rank, c.in, 0.1);
        b = weight_random(o, UOCR_F32, 1, c.out, rank, 0.1);
        part.adapter_a = &a.view, part.adapter_b = &b.view, part.adapter_scale = 0.5f;
    }
    uocr_buffer *space = workspace(o, o->backend->linear_workspace(o->backend, c.rows, c.in));
    expect_ok(o, name, o->backend->linear(o->backend, x, &part, 1));
    if (o->verify) {
        size_t n = c.rows * c.out;
        double *want = zeroed(n, sizeof *want), *bound = zeroed(n, sizeof *bound);
        product_bound(xv, &w, 0, c.rows, uses_int8(o, &w, c.rows), want, bound);
        if (rank) {
            double *low = zeroed(c.rows * rank, 8), *low_size = zeroed(c.rows * rank, 8);
            product(xv, &a, 0, c.rows, low, low_size);
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < rank; k++) {
                    double wb = 0.5 * b.value[i % c.out * rank + k];
                    want[i] += wb * low[i / c.out * rank + k];
                    bound[i] += fabs(wb) * (sum_bound(c.in, low_size[i / c.out * rank + k]) +
                                            sum_bound(rank, fabs(low[i / c.out * rank + k])));
                }
            free(low), free(low_size);
        }
        for (size_t i = 0; i < n; i++) {
            double sum = want[i] + (biased ? bias.value[i % c.out] : 0);
            double size = fabs(want[i]) + (biased ? fabs(bias.value[i % c.out]) : 0);
            want[i] = activate(activation, sum) + (accumulate ? before[i] : 0);
            bound[i] = 1.13 * bound[i] + 8 * EPS * (size + (accumulate ? fabs(before[i]) : 0) + fabs(sum));
        }
        expect(o, name, y, want, bound);
        free(want), free(bound);
    } else expect(o, name, y, NULL, NULL);
    o->backend->buffer_destroy(o->backend, space);
    free(xv), free(before);
    weight_free(&w), weight_free(&bias), weight_free(&a), weight_free(&b);
    tensor_free(o, x), tensor_free(o, y);
}

/* Three products of one input in one call, of different types and widths: q, k and v of a decoder layer. */
static void three_parts(ops *o, size_t rows) {
    enum { IN = 128 };
    static const size_t out[3] = {192, 65, 17};
    static const uocr_dtype dtype[3] = {UOCR_Q8, UOCR_F16, UOCR_Q4};
    weight w[3];
    uocr_linear_part parts[3] = {{0}, {0}, {0}};
    uocr_tensor x = tensor_random(o, rows, IN, 0, 1);
    double *xv = tensor_values(o, x);
    for (int p = 0; p < 3; p++) {
        w[p] = weight_random(o, dtype[p], 1, out[p], IN, 0.3);
        parts[p].weight = &w[p].view;
        parts[p].y = tensor_new(o, UOCR_F32, rows, out[p], 1);
    }
    uocr_buffer *space = workspace(o, o->backend->linear_workspace(o->backend, rows, IN));
    expect_ok(o, "three parts", o->backend->linear(o->backend, x, parts, 3));
    for (int p = 0; p < 3; p++) {
        double *want = zeroed(rows * out[p], 8), *bound = zeroed(rows * out[p], 8);
        product_bound(xv, &w[p], 0, rows, uses_int8(o, &w[p], rows), want, bound);
        expect(o, "three parts", parts[p].y, o->verify ? want : NULL, bound);
        free(want), free(bound);
        weight_free(&w[p]);
        tensor_free(o, parts[p].y);
    }
    o->backend->buffer_destroy(o->backend, space);
    free(xv);
    tensor_free(o, x);
}

void test_linear(ops *o) {
    /* Depths of the full model (head and attention 1280, dense 6848, experts 896, shared 1792, SAM 768 and
     * 3072, CLIP 1024 and 4096, projector 2048), of the small models, and tails of every kind. */
    static const linear_case cases[] = {
        {1, 1280, 130}, {7, 1280, 130},  {1, 6848, 67},  {2, 6848, 67},  {1, 896, 1280},  {13, 896, 80},
        {1, 1792, 70},  {3, 1792, 70},   {1, 768, 2304}, {97, 768, 66},  {5, 3072, 64},   {1, 3072, 33},
        {1, 1024, 129}, {101, 1024, 48}, {6, 4096, 31},  {1, 4096, 16},  {4, 2048, 65},   {1, 128, 512},
        {40, 128, 384}, {1, 64, 128},    {65, 64, 128},  {1, 256, 1024}, {12, 256, 192},  {1, 384, 128},
        {1, 63, 1},     {2, 65, 17},     {1, 7, 5},      {6, 1, 3},      {200, 320, 100}, {1, 257, 15},
        {9, 1000, 47},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int t = 0; t < 4; t++) {
            linear_case c = cases[i];
            if (o->few && c.rows * c.in * c.out > 100000) c.out = c.out < 21 ? c.out : 21;
            if (o->few && c.in > 500) c.rows = c.rows < 7 ? c.rows : 7;
            if (fits_type(TYPES[t], c.in)) one_linear(o, c, TYPES[t], UOCR_IDENTITY, false, false, 0);
        }
    for (int t = 0; t < 4; t++)
        for (size_t rows = 1; rows <= 8; rows += 7) {
            linear_case c = {rows, 192, 77};
            one_linear(o, c, TYPES[t], UOCR_GELU_ERF, true, false, 0);
            one_linear(o, c, TYPES[t], UOCR_GELU_QUICK, true, false, 0);
            one_linear(o, c, TYPES[t], UOCR_GELU_QUICK, false, false, 0);
            one_linear(o, c, TYPES[t], UOCR_IDENTITY, true, true, 0);
            one_linear(o, c, TYPES[t], UOCR_IDENTITY, true, true, 8);
            one_linear(o, c, TYPES[t], UOCR_GELU_ERF, true, false, 3);
        }
    three_parts(o, 1);
    three_parts(o, 19);
}

/* -- gated layers -------------------------------------------------------------------------- */

/* y += factor * down(silu(gate x) * up x) of expert m for one row, and what rounding can do to it. */
static void gated(const ops *o, const double *x, const weight *gate, const weight *up, const weight *down,
                  size_t m, double factor, double *y, double *bound) {
    size_t hidden = gate->view.cols, n = gate->view.rows;
    double *g = zeroed(n, 8), *g_bound = zeroed(n, 8), *u = zeroed(n, 8), *u_bound = zeroed(n, 8);
    double *h = zeroed(n, 8), *h_bound = zeroed(n, 8), *out = zeroed(hidden, 8),
           *out_bound = zeroed(hidden, 8);
    bool int8_down = uses_int8(o, down, 1); /* whatever the number of rows */
    product_bound(x, gate, m, 1, uses_int8(o, gate, 1), g, g_bound);
    product_bound(x, up, m, 1, uses_int8(o, up, 1), u, u_bound);
    for (size_t i = 0; i < n; i++) {
        double s = g[i] / (1 + exp(-g[i]));
        h[i] = s * u[i];
        /* |silu'| <= 1.1; exp, division and two products round. */
        h_bound[i] = 1.1 * g_bound[i] * (fabs(u[i]) + u_bound[i]) + fabs(s) * u_bound[i] +
                     16 * EPS * (fabs(h[i]) + fabs(g[i] * u[i]));
    }
    product_bound(h, down, m, 1, int8_down, out, out_bound);
    if (int8_down) { /* the step follows the largest value of a group, which may be off as well */
        double *exact = zeroed(hidden, 8), *wider = zeroed(hidden, 8), *far = zeroed(n, 8);
        for (size_t i = 0; i < n; i++) far[i] = fabs(h[i]) + h_bound[i];
        int8_error(h, down, m, 1, exact);
        int8_error(far, down, m, 1, wider);
        for (size_t i = 0; i < hidden; i++) out_bound[i] += wider[i] - exact[i];
        free(exact), free(wider), free(far);
    }
    for (size_t c = 0; c < hidden; c++) {
        double carried = 0;
        for (size_t i = 0; i < n; i++) carried += fabs(down->value[(m * hidden + c) * n + i]) * h_bound[i];
        y[c] += factor * out[c];
        bound[c] += fabs(factor) * (out_bound[c] + carried + 4 * EPS * fabs(out[c])) + 4 * EPS * fabs(y[c]);
    }
    free(g), free(g_bound), free(u), free(u_bound), free(h), free(h_bound), free(out), free(out_bound);
}

/* gate and down of one type, up of another: the file may mix them. */
static void one_swiglu(ops *o, size_t rows, size_t hidden, size_t intermediate, uocr_dtype dtype,
                       uocr_dtype up_type) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "swiglu %zux%zux%zu %s", rows, hidden, intermediate, dtype_name(dtype));
    weight gate = weight_random(o, dtype, 1, intermediate, hidden, 0.2),
           up = weight_random(o, up_type, 1, intermediate, hidden, 0.2);
    weight down =
        weight_random(o, fits_type(dtype, intermediate) ? dtype : UOCR_F16, 1, hidden, intermediate, 0.2);
    uocr_tensor x = tensor_random(o, rows, hidden, 2, 1), y = tensor_random(o, rows, hidden, 5, 1);
    double *xv = tensor_values(o, x), *want = tensor_values(o, y), *bound = zeroed(rows * hidden, 8);
    uocr_buffer *space = workspace(o, o->backend->swiglu_workspace(o->backend, rows, hidden, intermediate));
    expect_ok(o, name, o->backend->swiglu(o->backend, x, &gate.view, &up.view, &down.view, y));
    for (size_t r = 0; r < rows && o->verify; r++)
        gated(o, xv + r * hidden, &gate, &up, &down, 0, 1, want + r * hidden, bound + r * hidden);
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(xv), free(want), free(bound);
    weight_free(&gate), weight_free(&up), weight_free(&down);
    tensor_free(o, x), tensor_free(o, y);
}

static void one_experts(ops *o, size_t rows, size_t hidden, size_t intermediate, size_t count, size_t top_k,
                        uocr_dtype dtype, bool all_to_one) {
    char name[96];
    rows = fewer(rows);
    snprintf(name, sizeof name, "experts %zux%zux%zu top %zu of %zu %s", rows, hidden, intermediate, top_k,
             count, dtype_name(dtype));
    weight gate = weight_random(o, dtype, count, intermediate, hidden, 0.2),
           up = weight_random(o, dtype, count, intermediate, hidden, 0.2);
    weight down =
        weight_random(o, fits_type(dtype, intermediate) ? dtype : UOCR_F16, count, hidden, intermediate, 0.2);
    uocr_tensor x = tensor_random(o, rows, hidden, 0, 1), y = tensor_random(o, rows, hidden, 1, 1);
    uocr_tensor ids = tensor_new(o, UOCR_I32, rows, top_k, 1), weights = tensor_random(o, rows, top_k, 2, 1);
    double *idv = zeroed(rows * top_k, 8), *wv = tensor_values(o, weights);
    for (size_t r = 0; r < rows; r++) { /* distinct ids, first drawn by chance */
        size_t first = all_to_one ? count - 1 : (size_t)uniform(o, 0, (double)count);
        for (size_t k = 0; k < top_k; k++) idv[r * top_k + k] = (double)((first + 3 * k) % count);
    }
    tensor_write(o, ids, idv);
    double *xv = tensor_values(o, x), *want = tensor_values(o, y), *bound = zeroed(rows * hidden, 8);
    uocr_buffer *space =
        workspace(o, o->backend->experts_workspace(o->backend, rows, top_k, count, hidden, intermediate));
    expect_ok(o, name, o->backend->experts(o->backend, x, ids, weights, &gate.view, &up.view, &down.view, y));
    for (size_t r = 0; r < rows && o->verify; r++)
        for (size_t k = 0; k < top_k; k++)
            gated(o, xv + r * hidden, &gate, &up, &down, (size_t)idv[r * top_k + k], wv[r * top_k + k],
                  want + r * hidden, bound + r * hidden);
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(xv), free(want), free(bound), free(idv), free(wv);
    weight_free(&gate), weight_free(&up), weight_free(&down);
    tensor_free(o, x), tensor_free(o, y), tensor_free(o, ids), tensor_free(o, weights);
}

void test_experts(ops *o) {
    for (int t = 0; t < 4; t++) {
        one_swiglu(o, 1, 1280, o->few ? 64 : 192, TYPES[t], TYPES[t]);
        if (!o->few) one_swiglu(o, 2, 1280, 64, TYPES[t], TYPES[t]);
        one_swiglu(o, 1, 128, 384, TYPES[t], TYPES[t]);
        one_swiglu(o, 23, 128, 100, TYPES[t], TYPES[t]); /* down has no whole groups: f16 */
        one_swiglu(o, 1, 64, 128, TYPES[t], TYPES[3 - t]);
        one_swiglu(o, 6, 64, 128, TYPES[t], TYPES[3 - t]);
        one_experts(o, 1, 128, 64, 8, 3, TYPES[t], false);
        if (!o->few) one_experts(o, 1, 1280, 128, 7, 6, TYPES[t], false);
        one_experts(o, 40, 128, 64, 8, 3, TYPES[t], false);
        one_experts(o, 9, 256, 128, 16, 4, TYPES[t], false);
        one_experts(o, 220, 64, 64, 5, 1, TYPES[t], true); /* one bucket of several tiles, the others empty */
        one_experts(o, 2, 64, 70, 3, 3, TYPES[t], false);
    }
}

/* -- rows cut on the fly ------------------------------------------------------------------- */

static double bf16(double x) { /* round half even to 8 significant bits */
    int exponent;
    if (x == 0) return 0;
    frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(x, 8 - exponent)), exponent - 8);
}

static void one_patch_embed(ops *o, size_t size, size_t patch, size_t out, uocr_dtype dtype) {
    char name[96];
    snprintf(name, sizeof name, "patch_embed %zu/%zu -> %zu %s", size, patch, out, dtype_name(dtype));
    size_t side = size / patch, depth = 3 * patch * patch, rows = side * side;
    weight w = weight_random(o, dtype, 1, out, depth, 0.1), bias = weight_random(o, UOCR_F32, 1, 1, out, 1);
    uocr_tensor rgb = tensor_new(o, UOCR_U8, size * size, 3, 0), y = tensor_new(o, UOCR_F32, rows, out, 2);
    double *bytes = zeroed(size * size * 3, 8), *want = zeroed(rows * out, 8), *bound = zeroed(rows * out, 8);
    double *x = zeroed(rows * depth, 8);
    for (size_t i = 0; i < size * size * 3; i++) bytes[i] = floor(uniform(o, 0, 256));
    tensor_write(o, rgb, bytes);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < depth; i++) {
            size_t row = r / side * patch + i / (3 * patch), col = r % side * patch + i / 3 % patch;
            float p = (float)bytes[(row * size + col) * 3 + i % 3];
            x[r * depth + i] = bf16((double)((p / 255.0f - 0.5f) / 0.5f));
        }
    expect_ok(o, name, o->backend->patch_embed(o->backend, rgb, size, patch, &w.view, &bias.view, y));
    if (o->verify) {
        product(x, &w, 0, rows, want, bound);
        for (size_t i = 0; i < rows * out; i++) {
            bound[i] = sum_bound(depth, bound[i] + fabs(bias.value[i % out]));
            want[i] += bias.value[i % out];
        }
    }
    expect(o, name, y, o->verify ? want : NULL, bound);
    free(bytes), free(want), free(bound), free(x);
    weight_free(&w), weight_free(&bias);
    tensor_free(o, rgb), tensor_free(o, y);
}

static void one_conv(ops *o, size_t height, size_t width, size_t in, size_t out, size_t stride,
                     uocr_dtype dtype) {
    char name[96];
    snprintf(name, sizeof name, "conv3x3 %zux%zux%zu -> %zu /%zu %s", height, width, in, out, stride,
             dtype_name(dtype));
    size_t rows_out = (height + stride - 1) / stride, cols_out = (width + stride - 1) / stride,
           rows = rows_out * cols_out;
    weight w = weight_random(o, dtype, 1, out, 9 * in, 0.2);
    uocr_tensor x = tensor_random(o, height * width, in, 1, 1), y = tensor_new(o, UOCR_F32, rows, out, 2);
    double *xv = tensor_values(o, x), *patches = zeroed(rows * 9 * in, 8);
    double *want = zeroed(rows * out, 8), *bound = zeroed(rows * out, 8);
    for (size_t r = 0; r < rows; r++)
        for (size_t tap = 0; tap < 9; tap++) {
            long i = (long)(r / cols_out * stride + tap / 3) - 1,
                 j = (long)(r % cols_out * stride + tap % 3) - 1;
            if (i < 0 || j < 0 || i >= (long)height || j >= (long)width) continue;
            memcpy(patches + (r * 9 + tap) * in, xv + ((size_t)i * width + (size_t)j) * in,
                   in * sizeof *patches);
        }
    uocr_buffer *space = workspace(o, o->backend->conv_workspace(o->backend, height, width, in, out));
    expect_ok(o, name, o->backend->conv3x3(o->backend, x, height, width, stride, &w.view, y));
    if (o->verify) {
        product(patches, &w, 0, rows, want, bound);
        for (size_t i = 0; i < rows * out; i++) bound[i] = sum_bound(9 * in, bound[i]);
    }
    expect(o, name, y, o->verify ? want : NULL, bound);
    o->backend->buffer_destroy(o->backend, space);
    free(xv), free(patches), free(want), free(bound);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
}

void test_vision(ops *o) {
    one_patch_embed(o, 64, 16, 70, UOCR_F32);
    one_patch_embed(o, 64, 16, 33, UOCR_F16);
    one_patch_embed(o, 160, 16, 16, UOCR_F16);
    one_patch_embed(o, 24, 8, 5, UOCR_F32);
    one_conv(o, 8, 8, 64, 64, 1, UOCR_F32);
    one_conv(o, 8, 8, 256, 40, 2, UOCR_F16);
    one_conv(o, 5, 5, 128, 33, 2, UOCR_F32);
    one_conv(o, 12, 10, 10, 7, 1, UOCR_F16);
    one_conv(o, 1, 1, 3, 2, 2, UOCR_F32);
}

/* A product stops where the flag says so, and runs where it does not. */
void test_cancel(ops *o) {
    atomic_bool flag = true;
    weight w = weight_random(o, UOCR_F32, 1, 64, 64, 1);
    uocr_tensor x = tensor_random(o, 4, 64, 0, 1), y = tensor_random(o, 4, 64, 0, 1);
    uocr_linear_part part = {.weight = &w.view, .y = y};
    workspace(o, 0);
    o->backend->watch_cancel(o->backend, &flag);
    expect_true(o, "a raised flag cancels", o->backend->linear(o->backend, x, &part, 1) == UOCR_CANCELLED);
    atomic_store(&flag, false);
    expect_ok(o, "a lowered flag does not", o->backend->linear(o->backend, x, &part, 1));
    o->backend->watch_cancel(o->backend, NULL);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
}
