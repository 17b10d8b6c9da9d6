/* The inner loops in plain C: what every other instruction set is compared with, and what machines without
 * one run. Loops over fixed small counts are written so that compilers vectorise them for the baseline of the
 * target. */
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "polynomials.h"

enum { LANES = 8 }; /* independent partial sums of a dot product, added pairwise at the end */

uint16_t cpu_f32_to_f16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu)); /* NaN, made quiet */
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
    if (magnitude <
        0x38800000u) { /* below 2^-14: adding 0.5 leaves the rounded denormal in the last bits of 0.5 */
        float shifted;
        memcpy(&shifted, &magnitude, sizeof shifted);
        shifted += 0.5f;
        memcpy(&bits, &shifted, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

/* -- products ------------------------------------------------------------------------------ */

/* Four floats that compilers keep in one register, whatever the machine has (a GNU C extension). */
typedef float float4 __attribute__((vector_size(16)));

static inline float4 load4(const float *x) {
    float4 v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void store4(float *y, float4 v) { memcpy(y, &v, sizeof v); }

static void micro_rows2(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp,
                        float *y, size_t ldy, bool add) {
    const float *x1 = rows > 1 ? x + ldx : x;
    float4 a0 = {0}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (size_t i = 0; i < k; i++, panel += ldp) {
        const float4 p0 = load4(panel), p1 = load4(panel + 4), p2 = load4(panel + 8), p3 = load4(panel + 12);
        const float v = x[i], w = x1[i];
        a0 += v * p0, a1 += v * p1, a2 += v * p2, a3 += v * p3;
        b0 += w * p0, b1 += w * p1, b2 += w * p2, b3 += w * p3;
    }
    /* y joins at the end: see micro in kernels.h */
    if (add) a0 += load4(y), a1 += load4(y + 4), a2 += load4(y + 8), a3 += load4(y + 12);
    store4(y, a0), store4(y + 4, a1), store4(y + 8, a2), store4(y + 12, a3);
    if (rows < 2) return;
    y += ldy;
    if (add) b0 += load4(y), b1 += load4(y + 4), b2 += load4(y + 8), b3 += load4(y + 12);
    store4(y, b0), store4(y + 4, b1), store4(y + 8, b2), store4(y + 12, b3);
}

static void micro(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp, float *y,
                  size_t ldy, bool add) {
    for (size_t r = 0; r < rows; r += 2)
        micro_rows2(rows - r < 2 ? 1 : 2, k, x + r * ldx, ldx, panel, ldp, y + r * ldy, ldy, add);
}

/* Element k0 + i of one row, i < k, as f32. */
typedef void (*unpack_fn)(const uint8_t *row, const uint8_t *scales, size_t k0, size_t k, float *out);

static void unpack_f32(const uint8_t *row, const uint8_t *scales, size_t k0, size_t k, float *out) {
    (void)scales;
    memcpy(out, row + 4 * k0, 4 * k);
}

static void unpack_f16(const uint8_t *row, const uint8_t *scales, size_t k0, size_t k, float *out) {
    (void)scales;
    const uint16_t *half = (const uint16_t *)row + k0;
    for (size_t i = 0; i < k; i++) out[i] = cpu_f16_to_f32(half[i]);
}

static void unpack_q8(const uint8_t *row, const uint8_t *scales, size_t k0, size_t k, float *out) {
    for (size_t g = 0; g < k; g += UOCR_GROUP) {
        float scale = cpu_group_scale(scales, (k0 + g) / UOCR_GROUP);
        const int8_t *q = (const int8_t *)row + k0 + g;
        for (size_t i = 0; i < UOCR_GROUP; i++) out[g + i] = (float)q[i] * scale;
    }
}

static void unpack_q4(const uint8_t *row, const uint8_t *scales, size_t k0, size_t k, float *out) {
    for (size_t g = 0; g < k; g += UOCR_GROUP) {
        float scale = cpu_group_scale(scales, (k0 + g) / UOCR_GROUP);
        const uint8_t *q = row + (k0 + g) / 2;
        for (size_t i = 0; i < UOCR_GROUP / 2; i++) {
            out[g + i] = (float)((q[i] & 15) - 8) * scale;
            out[g + i + UOCR_GROUP / 2] = (float)((q[i] >> 4) - 8) * scale;
        }
    }
}

static void pack_rows(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel,
                      unpack_fn unpack) {
    float row[UOCR_GROUP];
    for (size_t i0 = 0; i0 < k; i0 += UOCR_GROUP) {
        size_t n = k - i0 < UOCR_GROUP ? k - i0 : UOCR_GROUP;
        float *out = panel + i0 * CPU_PANEL;
        for (size_t c = 0; c < CPU_PANEL; c++) {
            if (c < count) unpack(w->data + c * w->stride, w->scales + c * w->scale_stride, k0 + i0, n, row);
            else memset(row, 0, sizeof row);
            for (size_t i = 0; i < n; i++) out[i * CPU_PANEL + c] = row[i];
        }
    }
}

static void pack_f32(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_rows(w, count, k0, k, panel, unpack_f32);
}
static void pack_f16(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_rows(w, count, k0, k, panel, unpack_f16);
}
static void pack_q8(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_rows(w, count, k0, k, panel, unpack_q8);
}
static void pack_q4(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_rows(w, count, k0, k, panel, unpack_q4);
}

static float sum_lanes(const float lane[LANES]) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static void gemv_rows(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y,
                      unpack_fn unpack) {
    float row[UOCR_GROUP];
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *data = w->data + r * w->stride, *scales = w->scales + r * w->scale_stride;
        float lane[LANES] = {0};
        for (size_t i0 = 0; i0 < k; i0 += UOCR_GROUP) {
            size_t n = k - i0 < UOCR_GROUP ? k - i0 : UOCR_GROUP, i = 0;
            unpack(data, scales, i0, n, row);
            for (; i + LANES <= n; i += LANES)
                for (size_t j = 0; j < LANES; j++) lane[j] += row[i + j] * x[i0 + i + j];
            for (; i < n; i++) lane[i % LANES] += row[i] * x[i0 + i];
        }
        y[r] = sum_lanes(lane);
    }
}

static void gemv_f32(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_rows(w, rows, k, x, y, unpack_f32);
}
static void gemv_f16(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_rows(w, rows, k, x, y, unpack_f16);
}
static void gemv_q8(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_rows(w, rows, k, x, y, unpack_q8);
}
static void gemv_q4(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_rows(w, rows, k, x, y, unpack_q4);
}

static void gemv_int8_q8(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *scales = w->scales + r * w->scale_stride;
        const int8_t *q = (const int8_t *)(w->data + r * w->stride);
        float sum = 0;
        for (size_t g = 0; g < k / UOCR_GROUP; g++) {
            int32_t dot = 0;
            for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP; i++) dot += (int32_t)q[i] * x->q[i];
            sum += (float)dot * (cpu_group_scale(scales, g) * x->scale[g]);
        }
        y[r] = sum;
    }
}

static void gemv_int8_q4(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *scales = w->scales + r * w->scale_stride, *q = w->data + r * w->stride;
        float sum = 0;
        for (size_t g = 0; g < k / UOCR_GROUP; g++) {
            const int8_t *low = x->q + g * UOCR_GROUP, *high = low + UOCR_GROUP / 2;
            int32_t dot = 0;
            for (size_t i = 0; i < UOCR_GROUP / 2; i++) {
                uint8_t pair = q[g * UOCR_GROUP / 2 + i];
                dot += (pair & 15) * low[i] + (pair >> 4) * high[i];
            }
            float scale = cpu_group_scale(scales, g);
            sum += (float)(dot - 8 * x->sum[g]) * (scale * x->scale[g]);
        }
        y[r] = sum;
    }
}

static void quantize(const float *x, size_t n, const cpu_quantized *out) {
    for (size_t g = 0; g < n / UOCR_GROUP; g++) {
        const float *v = x + g * UOCR_GROUP;
        int8_t *q = out->q + g * UOCR_GROUP;
        float largest = 0, poison = 0; /* poison becomes NaN when a value is not finite */
        for (size_t i = 0; i < UOCR_GROUP; i++) {
            float magnitude = fabsf(v[i]);
            if (magnitude > largest) largest = magnitude;
            poison += v[i] * 0.0f;
        }
        /* A group too small to invert its scale counts as zeros: it is below 1e-36. */
        float scale = largest / 127.0f, inverse = scale > 0x1p-120f ? 1.0f / scale : 0.0f;
        int32_t sum = 0;
        if (poison != poison) scale = poison, inverse = 0;
        for (size_t i = 0; i < UOCR_GROUP; i++) {
            q[i] = poison != poison ? 0 : (int8_t)lrintf(v[i] * inverse);
            sum += q[i];
        }
        out->scale[g] = scale;
        out->sum[g] = sum;
    }
}

/* A group of a panel is 16 rows of 64 signed bytes. */
static void pack_int8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                      float *scales, bool q4) {
    for (size_t g = 0; g < groups; g++)
        for (size_t c = 0; c < CPU_PANEL; c++) {
            int8_t *out = (int8_t *)panel + (g * CPU_PANEL + c) * UOCR_GROUP;
            const uint8_t *row = w->data + c * w->stride + (g0 + g) * UOCR_GROUP / (q4 ? 2 : 1);
            scales[g * CPU_PANEL + c] =
                c < count ? cpu_group_scale(w->scales + c * w->scale_stride, g0 + g) : 0;
            if (c >= count) memset(out, 0, UOCR_GROUP);
            else if (!q4) memcpy(out, row, UOCR_GROUP);
            else
                for (size_t i = 0; i < UOCR_GROUP / 2; i++) {
                    out[i] = (int8_t)((row[i] & 15) - 8);
                    out[i + UOCR_GROUP / 2] = (int8_t)((row[i] >> 4) - 8);
                }
        }
}

void cpu_portable_pack_int8_q8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales) {
    pack_int8(w, count, g0, groups, panel, scales, false);
}

void cpu_portable_pack_int8_q4(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales) {
    pack_int8(w, count, g0, groups, panel, scales, true);
}

void cpu_portable_micro_int8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                             const float *scales, float *y, size_t ldy, bool add) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < CPU_PANEL; c++) {
            float sum = add ? y[r * ldy + c] : 0;
            for (size_t g = 0; g < groups; g++) {
                const int8_t *w = (const int8_t *)panel + (g * CPU_PANEL + c) * UOCR_GROUP,
                             *q = x[r].q + g * UOCR_GROUP;
                int32_t dot = 0;
                for (size_t i = 0; i < UOCR_GROUP; i++) dot += (int32_t)w[i] * q[i];
                sum += (float)dot * (scales[g * CPU_PANEL + c] * x[r].scale[g]);
            }
            y[r * ldy + c] = sum;
        }
}

static void mix_f32(const float *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c++) y[c] += p[r] * v[r * stride + c];
}

static void mix_f16(const uint16_t *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c++) y[c] += p[r] * cpu_f16_to_f32(v[r * stride + c]);
}

/* -- rows ---------------------------------------------------------------------------------- */

static float maximum(const float *x, size_t n) {
    float best = x[0];
    for (size_t i = 1; i < n; i++) best = x[i] > best ? x[i] : best;
    return best;
}

static float scores(float *s, size_t n, float scale, float add, const float *column) {
    if (column)
        for (size_t i = 0; i < n; i++) s[i] = s[i] * scale + (add + column[i]);
    else
        for (size_t i = 0; i < n; i++) s[i] = s[i] * scale + add;
    return maximum(s, n);
}

static inline float exp_f32(float x) {                                  /* x in CPU_EXP_MIN..CPU_EXP_MAX */
    float shifted = x * CPU_LOG2E + 0x1.8p23f, n = shifted - 0x1.8p23f; /* rounds to the nearest integer */
    float r = x - n * CPU_LN2_HIGH - n * CPU_LN2_LOW;
    float q = CPU_E0 + r * (CPU_E1 + r * (CPU_E2 + r * (CPU_E3 + r * CPU_E4)));
    uint32_t bits;
    float power, value = 1.0f + (r + r * r * q);
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23; /* the low bits of shifted are n */
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

static inline float clamp(float x, float low, float high) { /* NaN passes */
    return x < low ? low : x > high ? high : x;
}

static float exponentials(float *s, size_t n, float max) {
    float lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        float x = s[i] - max;
        s[i] = x < CPU_EXP_MIN ? 0.0f : exp_f32(x > CPU_EXP_MAX ? CPU_EXP_MAX : x);
        lane[i % LANES] += s[i];
    }
    return sum_lanes(lane);
}

static void scale_row(float *x, size_t n, float factor) {
    for (size_t i = 0; i < n; i++) x[i] *= factor;
}

static inline float erf_f32(float z) {
    float a = fabsf(z), value;
    if (a < 1.0f) {
        float u = z * z;
        return z * (CPU_S0 +
                    u * (CPU_S1 + u * (CPU_S2 + u * (CPU_S3 + u * (CPU_S4 + u * (CPU_S5 + u * CPU_S6))))));
    }
    if (!(a < 4.0f)) value = a != a ? a : 1.0f;
    else
        value =
            1.0f -
            exp_f32(-(CPU_L0 +
                      a * (CPU_L1 + a * (CPU_L2 + a * (CPU_L3 + a * (CPU_L4 + a * (CPU_L5 + a * CPU_L6)))))));
    return z < 0 ? -value : value;
}

static inline float sigmoid(float x) { return 1.0f / (1.0f + exp_f32(clamp(-x, CPU_EXP_MIN, CPU_EXP_MAX))); }

static void tail(float *y, const float *bias, size_t n, uocr_activation activation) {
    if (bias)
        for (size_t i = 0; i < n; i++) y[i] += bias[i];
    if (activation == UOCR_GELU_ERF)
        for (size_t i = 0; i < n; i++) y[i] = 0.5f * y[i] * (1.0f + erf_f32(y[i] * CPU_SQRT_HALF));
    else if (activation == UOCR_GELU_QUICK)
        for (size_t i = 0; i < n; i++) y[i] *= sigmoid(CPU_QUICK_GELU * y[i]);
}

static void silu_mul(float *gate, const float *up, size_t n) {
    for (size_t i = 0; i < n; i++) gate[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

static void to_f16(const float *x, size_t n, uint16_t *y) {
    for (size_t i = 0; i < n; i++) y[i] = cpu_f32_to_f16(x[i]);
}

static void to_f32(const uint16_t *x, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = cpu_f16_to_f32(x[i]);
}

const cpu_kernels cpu_kernels_portable = {
    .name = "portable",
    .tile_work = 24u << 20,
    .micro = micro,
    .pack = {pack_f32, pack_f16, pack_q8, pack_q4},
    .gemv = {gemv_f32, gemv_f16, gemv_q8, gemv_q4},
    .gemv_int8 = {gemv_int8_q8, gemv_int8_q4},
    .quantize = quantize,
    .pack_int8 = {cpu_portable_pack_int8_q8, cpu_portable_pack_int8_q4},
    .micro_int8 = {cpu_portable_micro_int8, cpu_portable_micro_int8},
    .mix_f32 = mix_f32,
    .mix_f16 = mix_f16,
    .scores = scores,
    .maximum = maximum,
    .exponentials = exponentials,
    .scale = scale_row,
    .tail = tail,
    .silu_mul = silu_mul,
    .to_f16 = to_f16,
    .to_f32 = to_f32,
};
