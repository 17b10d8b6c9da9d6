/* Every inner loop of every vector table of this machine against its twin in plain C, over shapes with tails
 * of every kind and over inputs that hurt: denormals, zeros, equal values, outliers, the ends of f16.
 *
 * What is whole numbers, conversion or one rounding must be equal bit by bit; sums may differ by their order
 * and by fused multiply-adds, within a bound. Outputs have a guard behind them that must survive. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"
#include "cpu/kernels.h"

#define EPS 0x1p-24

enum { GUARD = 40, MOST = 6848 + GUARD, GUARD_BYTE = 0x5a };

static const cpu_kernels *twin;
static uint64_t state = 20240913;

static double uniform(double low, double high) {
    return low + (high - low) * (double)(check_random(&state) >> 11) * 0x1p-53;
}

/* Rounding of a sum of n terms whose magnitudes add up to `size`, on both sides. */
static double sum_bound(size_t n, double size) { return (4 + 8 * sqrt((double)n)) * EPS * 2 * size + 1e-37; }

/* -- inputs -------------------------------------------------------------------------------- */

enum { NORMAL, DENORMAL, ZEROS, EQUAL, OUTLIERS, LARGE, KINDS };

static float number(int kind, size_t i) {
    switch (kind) {
    case DENORMAL: return (float)(uniform(-1, 1) * 0x1p-130);
    case ZEROS: return i % 2 ? 0.0f : -0.0f;
    case EQUAL: return 0.7f;
    case OUTLIERS: return (float)(uniform(-1, 1) * (i % UOCR_GROUP ? 1e-6 : 1e6));
    case LARGE: return (float)(uniform(-1, 1) * 1e18);
    default: return (float)uniform(-2, 2);
    }
}

static void fill(int kind, float *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = number(kind, i);
}

static void guard(void *end) { memset(end, GUARD_BYTE, GUARD); }

static bool guarded(const void *end) {
    const uint8_t *bytes = end;
    for (size_t i = 0; i < GUARD; i++)
        if (bytes[i] != GUARD_BYTE) return false;
    return true;
}

static bool equal_bits(const float *a, const float *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* -- weights ------------------------------------------------------------------------------- */

typedef struct matrix {
    uint8_t *payload, *scales;
    float *value; /* [rows, cols] */
    cpu_weight_rows rows;
} matrix;

/* f16 bits of scales: usual, the smallest denormal, the smallest normal, the largest, zero, negative. */
static const uint16_t SCALES[] = {0x2c00, 0x0001, 0x0400, 0x7bff, 0x0000, 0xac00, 0x83ff};

/* `edges`: scales of every kind above, and f16 weights at the type's ends; else usual ones. */
static matrix matrix_of(uocr_dtype dtype, size_t rows, size_t cols, bool edges) {
    const size_t n = rows * cols, bytes = dtype == UOCR_F32   ? 4 * n
                                          : dtype == UOCR_F16 ? 2 * n
                                          : dtype == UOCR_Q8  ? n
                                                              : n / 2;
    const bool grouped = dtype == UOCR_Q8 || dtype == UOCR_Q4;
    matrix m = {malloc(bytes), grouped ? malloc(n / UOCR_GROUP * 2) : NULL, malloc(n * sizeof(float)), {0}};
    if (!m.payload || !m.value) abort();
    for (size_t g = 0; grouped && g < n / UOCR_GROUP; g++) {
        uint16_t scale = edges ? SCALES[g % (sizeof SCALES / sizeof *SCALES)] : 0x2c00;
        memcpy(m.scales + 2 * g, &scale, 2);
    }
    for (size_t i = 0; i < n; i++) {
        if (dtype == UOCR_F32) {
            float value = number(NORMAL, i);
            memcpy(m.payload + 4 * i, &value, 4);
            m.value[i] = value;
        } else if (dtype == UOCR_F16) {
            uint16_t half = edges ? SCALES[i % 7] : cpu_f32_to_f16(number(NORMAL, i));
            memcpy(m.payload + 2 * i, &half, 2);
            m.value[i] = cpu_f16_to_f32(half);
        } else {
            int most = dtype == UOCR_Q8 ? 127 : 7, low = dtype == UOCR_Q8 ? -127 : -8;
            int q = (int)floor(uniform(low, most + 0.999));
            size_t at = i % UOCR_GROUP;
            if (dtype == UOCR_Q8) m.payload[i] = (uint8_t)(int8_t)q;
            else if (at < 32) m.payload[i / UOCR_GROUP * 32 + at] = (uint8_t)(q + 8);
            else m.payload[i / UOCR_GROUP * 32 + at - 32] |= (uint8_t)((q + 8) << 4);
            m.value[i] = (float)q * cpu_group_scale(m.scales, i / UOCR_GROUP);
        }
    }
    m.rows = (cpu_weight_rows){m.payload, bytes / rows, m.scales, grouped ? cols / UOCR_GROUP * 2 : 0};
    return m;
}

static void matrix_free(matrix *m) { free(m->payload), free(m->scales), free(m->value); }

static bool fits(uocr_dtype dtype, size_t cols) {
    return dtype == UOCR_F32 || dtype == UOCR_F16 || cols % UOCR_GROUP == 0;
}

/* -- products ------------------------------------------------------------------------------ */

static const size_t DEPTHS[] = {1, 2, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 128, 192, 257, 896, 1280, 6848};
static const size_t ROWS[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17};

/* |a - b| within rounding of the row's sum; not finite on both sides counts as equal. */
static bool close_sum(float a, float b, const float *w, const float *x, size_t n) {
    double size = 0;
    for (size_t i = 0; i < n; i++) size += fabs((double)w[i] * x[i]);
    if (!(size < 3e38)) return true; /* may or may not overflow on the way */
    return fabs((double)a - b) <= sum_bound(n, size);
}

static void gemv(const cpu_kernels *k, uocr_dtype dtype, size_t rows, size_t depth, int kind, bool edges) {
    static float x[MOST], a[64 + GUARD / 4], b[64];
    matrix m = matrix_of(dtype, rows, depth, edges);
    bool close = true, alone = true;
    fill(kind, x, depth);
    guard(a + rows);
    k->gemv[dtype](&m.rows, rows, depth, x, a);
    twin->gemv[dtype](&m.rows, rows, depth, x, b);
    for (size_t r = 0; r < rows; r++) {
        cpu_weight_rows row = {m.rows.data + r * m.rows.stride, m.rows.stride,
                               m.rows.scales ? m.rows.scales + r * m.rows.scale_stride : NULL,
                               m.rows.scale_stride};
        float one;
        k->gemv[dtype](&row, 1, depth, x, &one);
        close &= close_sum(a[r], b[r], m.value + r * depth, x, depth);
        alone &= memcmp(&one, &a[r], sizeof one) == 0;
    }
    CHECK(close && "products of a row are those of plain code");
    CHECK(alone && "a row's product does not depend on the rows beside it");
    CHECK(guarded(a + rows));
    matrix_free(&m);
}

typedef struct quantized {
    cpu_quantized view;
    int8_t q[MOST];
    float scale[MOST / UOCR_GROUP];
    int32_t sum[MOST / UOCR_GROUP];
} quantized;

static void quantize(const cpu_kernels *k, const float *x, size_t n, quantized *out) {
    out->view = (cpu_quantized){out->q, out->scale, out->sum};
    k->quantize(x, n, &out->view);
}

static void gemv_int8(const cpu_kernels *k, uocr_dtype dtype, size_t rows, size_t depth, int kind,
                      bool edges) {
    static float x[MOST], rounded[MOST], a[64 + GUARD / 4], b[64];
    static quantized q, other;
    matrix m = matrix_of(dtype, rows, depth, edges);
    bool close = true;
    fill(kind, x, depth);
    quantize(k, x, depth, &q), quantize(twin, x, depth, &other);
    CHECK(memcmp(q.q, other.q, depth) == 0 && equal_bits(q.scale, other.scale, depth / UOCR_GROUP) &&
          memcmp(q.sum, other.sum, depth / UOCR_GROUP * sizeof *q.sum) == 0);
    for (size_t i = 0; i < depth; i++) rounded[i] = (float)q.q[i] * q.scale[i / UOCR_GROUP];
    guard(a + rows);
    k->gemv_int8[dtype == UOCR_Q4](&m.rows, rows, depth, &q.view, a);
    twin->gemv_int8[dtype == UOCR_Q4](&m.rows, rows, depth, &q.view, b);
    for (size_t r = 0; r < rows;
         r++) { /* nibbles plus 8 are corrected afterwards: terms up to 16 times larger */
        const double factor = 16;
        double size = 0;
        for (size_t i = 0; i < depth; i++) size += fabs((double)m.value[r * depth + i] * rounded[i]);
        if (size < 1e36)
            close &= fabs((double)a[r] - b[r]) <= sum_bound(depth / UOCR_GROUP + 8, factor * size);
    }
    CHECK(close && "integer products of a row are those of plain code");
    CHECK(guarded(a + rows));
    matrix_free(&m);
}

static void packed_products(const cpu_kernels *k, uocr_dtype dtype, size_t count, size_t depth) {
    static float panel[2][MOST * CPU_PANEL], x[CPU_MICRO_ROWS * MOST],
        y[2][CPU_MICRO_ROWS * CPU_PANEL + GUARD / 4];
    matrix m = matrix_of(dtype, count, depth, false);
    k->pack[dtype](&m.rows, count, 0, depth, panel[0]);
    twin->pack[dtype](&m.rows, count, 0, depth, panel[1]);
    bool same = true;
    for (size_t i = 0; i < depth * CPU_PANEL; i++) /* zeros past the last column may have either sign */
        same &= i % CPU_PANEL < count ? equal_bits(panel[0] + i, panel[1] + i, 1)
                                      : panel[0][i] == 0 && panel[1][i] == 0;
    CHECK(same && "panels are equal bit by bit");
    fill(NORMAL, x, CPU_MICRO_ROWS * depth);
    for (size_t rows = 1; rows <= CPU_MICRO_ROWS; rows++) {
        bool close = true;
        const bool add = rows % 2;
        for (size_t i = 0; i < CPU_MICRO_ROWS * CPU_PANEL; i++) y[0][i] = y[1][i] = 0.25f;
        guard(y[0] + rows * CPU_PANEL);
        k->micro(rows, depth, x, depth, panel[0], CPU_PANEL, y[0], CPU_PANEL, add);
        twin->micro(rows, depth, x, depth, panel[0], CPU_PANEL, y[1], CPU_PANEL, add);
        for (size_t i = 0; i < rows * CPU_PANEL; i++) {
            double size = 0.25;
            for (size_t d = 0; d < depth; d++)
                size += fabs((double)x[i / CPU_PANEL * depth + d] * panel[0][d * CPU_PANEL + i % CPU_PANEL]);
            close &= fabs((double)y[0][i] - y[1][i]) <= sum_bound(depth, size);
        }
        CHECK(close && "packed products are those of plain code");
        CHECK(guarded(y[0] + rows * CPU_PANEL));
    }
    matrix_free(&m);
}

static void packed_integers(const cpu_kernels *k, uocr_dtype dtype, size_t count, size_t groups, int kind) {
    const size_t depth = groups * UOCR_GROUP, which = dtype == UOCR_Q4;
    static uint8_t panel[2][MOST / UOCR_GROUP * CPU_INT8_GROUP_BYTES];
    static float scales[2][MOST / UOCR_GROUP * CPU_PANEL], x[MOST], y[2][CPU_INT8_ROWS * CPU_PANEL];
    static quantized q[CPU_INT8_ROWS];
    cpu_quantized views[CPU_INT8_ROWS];
    matrix m = matrix_of(dtype, count, depth, false);
    for (size_t r = 0; r < CPU_INT8_ROWS; r++) {
        fill(kind, x, depth);
        quantize(twin, x, depth, &q[r]);
        views[r] = q[r].view;
    }
    k->pack_int8[which](&m.rows, count, 0, groups, panel[0], scales[0]);
    twin->pack_int8[which](&m.rows, count, 0, groups, panel[1], scales[1]);
    CHECK(equal_bits(scales[0], scales[1], groups * CPU_PANEL));
    for (size_t rows = 1; rows <= CPU_INT8_ROWS; rows++) {
        bool close = true;
        k->micro_int8[which](rows, groups, views, panel[0], scales[0], y[0], CPU_PANEL, false);
        twin->micro_int8[which](rows, groups, views, panel[1], scales[1], y[1], CPU_PANEL, false);
        for (size_t i = 0; i < rows * CPU_PANEL; i++) {
            double size = 0;
            for (size_t d = 0; d < depth && i % CPU_PANEL < count; d++)
                size += fabs((double)m.value[i % CPU_PANEL * depth + d] * q[i / CPU_PANEL].q[d] *
                             q[i / CPU_PANEL].scale[d / UOCR_GROUP]);
            close &= fabs((double)y[0][i] - y[1][i]) <= sum_bound(groups + 8, 16 * size);
        }
        CHECK(close && "packed integer products are those of plain code");
    }
    matrix_free(&m);
}

/* A scale that is Inf or NaN must not end as a number, whatever the codes: the run finds it and stops. */
static void scales_that_are_no_numbers(const cpu_kernels *k, uocr_dtype dtype) {
    enum { DEPTH = 3 * UOCR_GROUP, COUNT = 4 };
    static const uint16_t bad[3] = {0x7c00, 0xfc00, 0x7e00};
    static float x[DEPTH], y[CPU_INT8_ROWS * CPU_PANEL], panel[DEPTH * CPU_PANEL], scales[3 * CPU_PANEL];
    static uint8_t packed[3 * CPU_INT8_GROUP_BYTES];
    static quantized q;
    fill(NORMAL, x, DEPTH);
    quantize(k, x, DEPTH, &q);
    for (int i = 0; i < 3; i++) {
        matrix m = matrix_of(dtype, COUNT, DEPTH, false);
        memcpy(m.scales + m.rows.scale_stride + 2, &bad[i], 2); /* the second group of the second row */
        k->gemv[dtype](&m.rows, COUNT, DEPTH, x, y);
        CHECK(isfinite(y[0]) && !isfinite(y[1]) && isfinite(y[2]));
        k->gemv_int8[dtype == UOCR_Q4](&m.rows, COUNT, DEPTH, &q.view, y);
        CHECK(isfinite(y[0]) && !isfinite(y[1]) && isfinite(y[2]));
        k->pack[dtype](&m.rows, COUNT, 0, DEPTH, panel);
        k->micro(1, DEPTH, x, DEPTH, panel, CPU_PANEL, y, CPU_PANEL, false);
        CHECK(isfinite(y[0]) && !isfinite(y[1]) && isfinite(y[2]));
        k->pack_int8[dtype == UOCR_Q4](&m.rows, COUNT, 0, 3, packed, scales);
        k->micro_int8[dtype == UOCR_Q4](1, 3, &q.view, packed, scales, y, CPU_PANEL, false);
        CHECK(isfinite(y[0]) && !isfinite(y[1]) && isfinite(y[2]));
        matrix_free(&m);
    }
}

static void products(const cpu_kernels *k) {
    scales_that_are_no_numbers(k, UOCR_Q8), scales_that_are_no_numbers(k, UOCR_Q4);
    for (uocr_dtype dtype = UOCR_F32; dtype <= UOCR_Q4; dtype++)
        for (size_t d = 0; d < sizeof DEPTHS / sizeof *DEPTHS; d++) {
            if (!fits(dtype, DEPTHS[d])) continue;
            for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++) {
                const int kind = (int)((d + r) % KINDS);
                gemv(k, dtype, ROWS[r], DEPTHS[d], kind, (d + r) % 2);
                if (dtype >= UOCR_Q8) gemv_int8(k, dtype, ROWS[r], DEPTHS[d], kind, (d + r) % 2);
            }
            for (size_t count = 1; count <= CPU_PANEL; count += 5)
                packed_products(k, dtype, count, DEPTHS[d]);
        }
    for (uocr_dtype dtype = UOCR_Q8; dtype <= UOCR_Q4; dtype++)
        for (size_t groups = 1; groups <= 21; groups += 5)
            for (int kind = 0; kind < KINDS; kind++)
                packed_integers(k, dtype, 1 + (groups * 7 + (size_t)kind) % 16, groups, kind);
}

/* -- rows ---------------------------------------------------------------------------------- */

enum { WIDEST = 200 };

static bool within(const float *a, const float *b, size_t n, double relative, double absolute) {
    for (size_t i = 0; i < n; i++) {
        bool nan = isnan(a[i]) && isnan(b[i]);
        if (!nan && a[i] != b[i] && !(fabs((double)a[i] - b[i]) <= relative * fabs((double)b[i]) + absolute))
            return false;
    }
    return true;
}

static void rows_of(const cpu_kernels *k, size_t n, int kind) {
    static float x[WIDEST], bias[WIDEST], a[WIDEST + GUARD / 4], b[WIDEST + GUARD / 4];
    static uint16_t half[2][WIDEST + GUARD / 2];
    fill(kind, x, n), fill(NORMAL, bias, n);
    CHECK(k->maximum(x, n) == twin->maximum(x, n));

    guard(half[0] + n);
    k->to_f16(x, n, half[0]), twin->to_f16(x, n, half[1]);
    CHECK(memcmp(half[0], half[1], n * 2) == 0 && guarded(half[0] + n));
    guard(a + n);
    k->to_f32(half[0], n, a), twin->to_f32(half[0], n, b);
    CHECK(equal_bits(a, b, n) && guarded(a + n));

    memcpy(a, x, n * 4), memcpy(b, x, n * 4);
    k->scale(a, n, 0.3f), twin->scale(b, n, 0.3f);
    CHECK(equal_bits(a, b, n) && guarded(a + n));

    for (int column = 0; column < 2; column++) {
        memcpy(a, x, n * 4), memcpy(b, x, n * 4);
        float most = k->scores(a, n, 0.125f, 0.5f, column ? bias : NULL);
        float other = twin->scores(b, n, 0.125f, 0.5f, column ? bias : NULL);
        CHECK(within(a, b, n, 4 * EPS, 16 * EPS) && within(&most, &other, 1, 4 * EPS, 16 * EPS) &&
              guarded(a + n));
    }

    float most = twin->maximum(x, n);
    memcpy(a, x, n * 4), memcpy(b, x, n * 4);
    float sum = k->exponentials(a, n, most), other = twin->exponentials(b, n, most);
    CHECK(within(a, b, n, 8 * EPS, 0) && within(&sum, &other, 1, 32 * EPS, 0) && guarded(a + n));

    for (uocr_activation act = UOCR_IDENTITY; act <= UOCR_GELU_QUICK; act++)
        for (int biased = 0; biased < 2; biased++) {
            memcpy(a, x, n * 4), memcpy(b, x, n * 4);
            k->tail(a, biased ? bias : NULL, n, act), twin->tail(b, biased ? bias : NULL, n, act);
            double largest = 2; /* error follows the argument's, not the result's */
            for (size_t i = 0; i < n; i++)
                largest = fmax(largest, fabs((double)x[i]) < 100 ? fabs((double)x[i]) : 0);
            CHECK(within(a, b, n, 16 * EPS, 16 * EPS * largest) && guarded(a + n));
        }

    memcpy(a, x, n * 4), memcpy(b, x, n * 4);
    k->silu_mul(a, bias, n), twin->silu_mul(b, bias, n);
    CHECK(within(a, b, n, 32 * EPS, 1e-37) && guarded(a + n));
}

static void mixes(const cpu_kernels *k, size_t rows, size_t n) {
    static float v[17 * WIDEST], p[17], a[WIDEST + GUARD / 4], b[WIDEST];
    static uint16_t half[17 * WIDEST];
    fill(NORMAL, v, rows * n), fill(NORMAL, p, rows);
    twin->to_f16(v, rows * n, half);
    for (int f16 = 0; f16 < 2; f16++) {
        for (size_t i = 0; i < n; i++) a[i] = b[i] = 0.5f;
        guard(a + n);
        if (f16) k->mix_f16(half, n, rows, n, p, a), twin->mix_f16(half, n, rows, n, p, b);
        else k->mix_f32(v, n, rows, n, p, a), twin->mix_f32(v, n, rows, n, p, b);
        CHECK(within(a, b, n, 0, sum_bound(rows, 4.0 * (double)rows + 0.5)) && guarded(a + n));
    }
}

static void rows(const cpu_kernels *k) {
    static const size_t widths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 200};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (int kind = 0; kind < KINDS; kind++) rows_of(k, widths[w], kind);
        for (size_t r = 1; r <= 17; r += 4) mixes(k, r, widths[w]);
    }
}

int main(void) {
    const cpu_kernels *best = cpu_kernels_select(UOCR_SIMD_AUTO),
                      *baseline = cpu_kernels_select(UOCR_SIMD_BASELINE);
    twin = cpu_kernels_select(UOCR_SIMD_PORTABLE);
    const cpu_kernels *tables[3] = {best, baseline, twin};
    for (int t = 0; t < 3; t++) {
        if (t == 1 && baseline == best) continue;
        if (t < 2 && tables[t] == twin) continue; /* no vector code here: plain code against itself, below */
        printf("%s\n", tables[t]->name);
        products(tables[t]);
        rows(tables[t]);
    }
    return check_result();
}
