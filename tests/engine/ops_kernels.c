/* The inner loops that must agree bit by bit whatever the instruction set, and the accuracy of the functions.
 */
#include "cpu/kernels.h"
#include "ops_support.h"

static bool same_bits(const cpu_quantized *a, const cpu_quantized *b, size_t n) {
    for (size_t g = 0; g < n / UOCR_GROUP; g++) {
        bool nan = isnan(a->scale[g]) && isnan(b->scale[g]);
        if (a->sum[g] != b->sum[g] || (!nan && memcmp(&a->scale[g], &b->scale[g], 4))) return false;
    }
    return memcmp(a->q, b->q, n) == 0;
}

static void quantise(ops *o, const cpu_kernels *kernels, const float *x, size_t n, const char *what) {
    enum { MOST = 1280 };
    int8_t q[2][MOST];
    float scale[2][MOST / UOCR_GROUP];
    int32_t sum[2][MOST / UOCR_GROUP];
    cpu_quantized a = {q[0], scale[0], sum[0]}, b = {q[1], scale[1], sum[1]};
    kernels->quantize(x, n, &a);
    cpu_kernels_portable.quantize(x, n, &b);
    expect_true(o, what, same_bits(&a, &b, n));
    for (size_t g = 0; g < n / UOCR_GROUP; g++) {
        double largest = 0;
        bool finite = true, close = true;
        for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP; i++) {
            largest = fmax(largest, fabs((double)x[i]));
            finite &= isfinite(x[i]) != 0;
        }
        for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP && finite; i++)
            close &= fabs(x[i] - (double)q[0][i] * scale[0][g]) <= largest / 254 * 1.0001 + 0x1p-113;
        expect_true(o, "a value is at most half a step from its 8 bits", close);
        expect_true(o, "a group that is not finite is marked", finite == !isnan(scale[0][g]));
    }
}

static void quantised_groups(ops *o, const cpu_kernels *kernels) {
    enum { N = 1280 };
    float x[N];
    for (int exponent = -145; exponent <= 120; exponent += 5) {
        for (size_t i = 0; i < N; i++) x[i] = (float)ldexp(uniform(o, -1, 1), exponent);
        quantise(o, kernels, x, N, "8-bit groups of every size are equal bit by bit");
    }
    for (size_t i = 0; i < N; i++) x[i] = (float)(i / UOCR_GROUP % 3) - 1;
    quantise(o, kernels, x, N, "groups of equal values");
    for (size_t i = 0; i < N; i++) x[i] = (float)((int)(i % 509) - 254) / 2; /* halves: ties of rounding */
    quantise(o, kernels, x, N, "ties round to even");
    x[70] = NAN, x[200] = INFINITY, x[1000] = -INFINITY;
    quantise(o, kernels, x, N, "groups that are not finite");
}

static void half_floats(ops *o, const cpu_kernels *kernels) {
    enum { N = 65536 };
    uint16_t *half = zeroed(N, sizeof *half), *back = zeroed(N, sizeof *back);
    float *value = zeroed(N, sizeof *value);
    bool exact = true, same = true;
    for (size_t i = 0; i < N; i++) half[i] = (uint16_t)i;
    kernels->to_f32(half, N, value);
    kernels->to_f16(value, N, back);
    for (size_t i = 0; i < N; i++) {
        bool nan = isnan(f16_value((uint16_t)i));
        exact &= nan ? isnan(value[i]) != 0
                     : value[i] == (float)f16_value((uint16_t)i) && !signbit(value[i]) == !(i & 0x8000);
        same &= nan ? isnan(f16_value(back[i])) != 0 : back[i] == i;
    }
    expect_true(o, "every f16 is read exactly", exact);
    expect_true(o, "every f16 survives f32", same);
    for (size_t i = 0; i < N; i++) value[i] = (float)ldexp(uniform(o, -1, 1), (int)(i % 48) - 30);
    value[0] = 65519.996f, value[1] = 65520, value[2] = 0x1p-25f, value[3] = 0x1.000002p-25f, value[4] = 2049,
    value[5] = 2051;
    kernels->to_f16(value, N - 3, back);
    for (size_t i = 0; i < N - 3; i++) same &= back[i] == f16_of(value[i]);
    expect_true(o, "f32 rounds to the nearest f16, half to even", same);
    free(half), free(back), free(value);
}

static double ulp(double x) { /* of f32 at x */
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void functions(ops *o, const cpu_kernels *kernels) {
    enum { N = 20011 };
    float *x = zeroed(N, sizeof *x), *y = zeroed(N, sizeof *y);
    double worst = 0, sum = 0, size = 0;
    for (size_t i = 0; i < N; i++) x[i] = y[i] = (float)(-87.0 * (double)i / (N - 1));
    double total = kernels->exponentials(y, N, 0);
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(y[i] - exp((double)x[i])) / ulp(exp((double)x[i]))), sum += y[i];
    expect_true(o, "exp is good to 2 ulp", worst <= 2);
    expect_true(o, "the sum of exponentials", fabs(total - sum) <= 1e-4 * sum);
    float edge[9] = {-87.5f, -1000, -INFINITY, 0, -86.9f, -88, -0.0f, -1e-30f, -200};
    kernels->exponentials(edge, 9, 0);
    expect_true(o, "exp far below is 0, near 0 is 1",
                edge[0] == 0 && edge[1] == 0 && edge[2] == 0 && edge[3] == 1 && edge[4] > 0 && edge[5] == 0 &&
                    edge[6] == 1 && edge[7] == 1 && edge[8] == 0);
    worst = 0;
    for (size_t i = 0; i < N; i++) x[i] = y[i] = (float)(-12 + 24.0 * (double)i / (N - 1));
    kernels->tail(y, NULL, N, UOCR_GELU_ERF);
    for (size_t i = 0; i < N; i++) {
        double v = x[i], want = 0.5 * v * (1 + erf(v / sqrt(2.0)));
        worst = fmax(worst, fabs(y[i] - want) / (fabs(v) * EPS + 1e-30));
    }
    expect_true(o, "gelu is good to 4 roundings of its argument", worst <= 4);
    worst = 0;
    memcpy(y, x, N * sizeof *y);
    kernels->tail(y, NULL, N, UOCR_GELU_QUICK);
    for (size_t i = 0; i < N; i++) {
        double v = x[i], want = v / (1 + exp(-1.702 * v));
        size = fabs(want) * (8 + 2 * fabs(1.702 * v)) * EPS +
               1e-30; /* exp turns rounding of its argument into relative error */
        worst = fmax(worst, fabs(y[i] - want) / size);
    }
    expect_true(o, "quick gelu", worst <= 1);
    float far[3] = {-1e30f, 1e30f, NAN};
    kernels->tail(far, NULL, 3, UOCR_GELU_ERF);
    expect_true(o, "gelu at the ends", far[0] == 0 && far[1] == 1e30f && isnan(far[2]));
    free(x), free(y);
}

/* Integer products with scales of 1 are exact: of one row and of packed panels, whatever the number of rows
 * and columns. */
static void integer_products(ops *o, const cpu_kernels *kernels, uocr_dtype dtype) {
    enum { IN = 3 * UOCR_GROUP, COLS = CPU_PANEL, ROWS = CPU_INT8_ROWS };
    const double most = dtype == UOCR_Q8 ? 127 : 8;
    const size_t kind = dtype == UOCR_Q4, stride = kind ? IN / 2 : IN;
    double w[COLS * IN];
    float x[ROWS * IN], y[ROWS * COLS], scales[IN / UOCR_GROUP * CPU_PANEL];
    uint8_t *panel = zeroed(IN / UOCR_GROUP, CPU_INT8_GROUP_BYTES);
    for (size_t i = 0; i < COLS * IN; i++) w[i] = i % UOCR_GROUP ? floor(uniform(o, 1 - most, most)) : -most;
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = (float)(i % UOCR_GROUP ? floor(uniform(o, -127, 128)) : 127);
    for (size_t i = 0; i < IN; i++) x[i] = 127; /* one row of the largest sums */
    cpu_quantized q[ROWS];
    for (size_t r = 0; r < ROWS; r++) {
        q[r] = (cpu_quantized){zeroed(IN, 1), zeroed(IN / UOCR_GROUP, 4), zeroed(IN / UOCR_GROUP, 4)};
        kernels->quantize(x + r * IN, IN, &q[r]);
    }
    for (size_t cols = 1; cols <= COLS; cols++) {
        weight matrix = weight_of(dtype, cols, IN, w);
        cpu_weight_rows rows = {matrix.payload, stride, matrix.scales, IN / UOCR_GROUP * 2};
        bool same = true, one_row = true;
        kernels->pack_int8[kind](&rows, cols, 0, IN / UOCR_GROUP, panel, scales);
        for (size_t count = 1; count <= ROWS; count++) {
            for (size_t i = 0; i < ROWS * COLS; i++) y[i] = 5;
            kernels->micro_int8[kind](count, IN / UOCR_GROUP, q, panel, scales, y, COLS, cols % 2 == 0);
            for (size_t i = 0; i < ROWS * COLS; i++) {
                double sum = cols % 2 == 0 || i / COLS >= count ? 5 : 0;
                for (size_t k = 0; k < IN && i % COLS < cols && i / COLS < count; k++)
                    sum += w[i % COLS * IN + k] * (double)x[i / COLS * IN + k];
                same &= y[i] == (float)sum;
            }
        }
        for (size_t r = 0; r < ROWS; r++) {
            kernels->gemv_int8[kind](&rows, cols, IN, &q[r], y);
            for (size_t c = 0; c < cols; c++) {
                double sum = 0;
                for (size_t k = 0; k < IN; k++) sum += w[c * IN + k] * (double)x[r * IN + k];
                one_row &= y[c] == (float)sum;
            }
        }
        expect_true(o, "integer products of a panel are exact", same);
        expect_true(o, "integer products of a row are exact", one_row);
        weight_free(&matrix);
    }
    for (size_t r = 0; r < ROWS; r++) free(q[r].q), free(q[r].scale), free(q[r].sum);
    free(panel);
}

void test_kernels(ops *o) {
    const cpu_kernels *kernels = cpu_kernels_select(o->simd);
    expect_true(o, "the back end names the instruction set it uses",
                strcmp(kernels->name, o->backend->simd) == 0);
    quantised_groups(o, kernels);
    half_floats(o, kernels);
    functions(o, kernels);
    integer_products(o, kernels, UOCR_Q8);
    integer_products(o, kernels, UOCR_Q4);
}
