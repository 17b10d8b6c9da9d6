/* NEON: one row of activations against rows of weights, as they lie in the file. */
#if defined(__aarch64__)
#include <math.h>

#include "neon.h"

/* -- f32 activations ----------------------------------------------------------------------- */

CPU_INLINE float32x4_t load_weight(const uint8_t *row, bool half, size_t i) {
    return half ? neon_load_f16((const uint16_t *)(const void *)row + i)
                : vld1q_f32((const float *)(const void *)row + i);
}

CPU_INLINE float dot_plain(const uint8_t *row, bool half, size_t k, const float *x) {
    float32x4_t a = vdupq_n_f32(0), b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 16 <= k; i += 16) {
        a = vfmaq_f32(a, load_weight(row, half, i), vld1q_f32(x + i));
        b = vfmaq_f32(b, load_weight(row, half, i + 4), vld1q_f32(x + i + 4));
        c = vfmaq_f32(c, load_weight(row, half, i + 8), vld1q_f32(x + i + 8));
        d = vfmaq_f32(d, load_weight(row, half, i + 12), vld1q_f32(x + i + 12));
    }
    for (; i + 4 <= k; i += 4) a = vfmaq_f32(a, load_weight(row, half, i), vld1q_f32(x + i));
    if (i < k) {
        const uint16_t *w16 = (const uint16_t *)(const void *)row + i;
        const float *w32 = (const float *)(const void *)row + i;
        float32x4_t w = half ? neon_load_f16_tail(w16, k - i) : neon_load_tail(w32, k - i, 0);
        b = vfmaq_f32(b, w, neon_load_tail(x + i, k - i, 0));
    }
    return vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d)));
}

void neon_gemv_f32(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) y[r] = dot_plain(w->data + r * w->stride, false, k, x);
}

void neon_gemv_f16(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) y[r] = dot_plain(w->data + r * w->stride, true, k, x);
}

CPU_INLINE void gemv_grouped(bool q4, const cpu_weight_rows *w, size_t rows, size_t k, const float *x,
                             float *y) {
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *q = w->data + r * w->stride, *scales = w->scales + r * w->scale_stride;
        float32x4_t sum = vdupq_n_f32(0);
        for (size_t g = 0; g < k; g += UOCR_GROUP) {
            float32x4_t a = vdupq_n_f32(0), b = a, c = a, d = a, v[4];
            for (size_t i = g; i < g + UOCR_GROUP; i += 16) {
                neon_widen(q4 ? neon_load_q4(q, i) : vld1q_s8((const int8_t *)q + i), v);
                a = vfmaq_f32(a, v[0], vld1q_f32(x + i));
                b = vfmaq_f32(b, v[1], vld1q_f32(x + i + 4));
                c = vfmaq_f32(c, v[2], vld1q_f32(x + i + 8));
                d = vfmaq_f32(d, v[3], vld1q_f32(x + i + 12));
            }
            float32x4_t all = vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d));
            sum = vfmaq_n_f32(sum, all, neon_group_scale(scales, g / UOCR_GROUP));
        }
        y[r] = vaddvq_f32(sum);
    }
}

void neon_gemv_q8(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_grouped(false, w, rows, k, x, y);
}

void neon_gemv_q4(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    gemv_grouped(true, w, rows, k, x, y);
}

/* -- 8-bit activations --------------------------------------------------------------------- */

/* sum + products of 16 pairs of bytes: at most 2 * 127 * 127 in 16 bits before they are widened. */
CPU_INLINE int32x4_t dot_16(int32x4_t sum, int8x16_t w, int8x16_t x) {
    int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)),
              high = vmull_s8(vget_high_s8(w), vget_high_s8(x));
    return vpadalq_s16(vpadalq_s16(sum, low), high);
}

CPU_INLINE void int8_rows(bool q4, const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x,
                          float *y) {
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *q = w->data + r * w->stride, *scales = w->scales + r * w->scale_stride;
        float32x4_t sum = vdupq_n_f32(0);
        for (size_t g = 0; g < k / UOCR_GROUP; g++) {
            int32x4_t dot = vdupq_n_s32(0);
            for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP; i += 16)
                dot = dot_16(dot, q4 ? neon_load_q4(q, i) : vld1q_s8((const int8_t *)q + i),
                             vld1q_s8(x->q + i));
            sum = vfmaq_n_f32(sum, vcvtq_f32_s32(dot), neon_group_scale(scales, g) * x->scale[g]);
        }
        y[r] = vaddvq_f32(sum);
    }
}

void neon_gemv_int8_q8(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(false, w, rows, k, x, y);
}

void neon_gemv_int8_q4(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(true, w, rows, k, x, y);
}

/* Bit by bit what the portable table computes. */
void neon_quantize(const float *x, size_t n, const cpu_quantized *out) {
    for (size_t g = 0; g < n / UOCR_GROUP; g++) {
        const float *v = x + g * UOCR_GROUP;
        int8_t *q = out->q + g * UOCR_GROUP;
        float32x4_t largest = vdupq_n_f32(0), poison = largest;
        for (size_t i = 0; i < UOCR_GROUP; i += 4) {
            float32x4_t e = vld1q_f32(v + i);
            largest = vmaxnmq_f32(vabsq_f32(e), largest);
            poison = vaddq_f32(poison, vmulq_n_f32(e, 0));
        }
        float scale = vmaxvq_f32(largest) / 127.0f, inverse = scale > 0x1p-120f ? 1.0f / scale : 0.0f;
        float bad = vaddvq_f32(poison);
        if (bad != bad) scale = bad, inverse = 0;
        int32x4_t total = vdupq_n_s32(0);
        for (size_t i = 0; i < UOCR_GROUP; i += 16) {
            int32x4_t part[4];
            for (size_t j = 0; j < 4; j++) {
                part[j] = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(v + i + 4 * j),
                                                     inverse)); /* half even; NaN gives 0 */
                if (bad != bad) part[j] = vdupq_n_s32(0);
                total = vaddq_s32(total, part[j]);
            }
            int16x8_t low = vcombine_s16(vmovn_s32(part[0]), vmovn_s32(part[1]));
            int16x8_t high = vcombine_s16(vmovn_s32(part[2]), vmovn_s32(part[3]));
            vst1q_s8(q + i, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        }
        out->scale[g] = scale;
        out->sum[g] = vaddvq_s32(total);
    }
}
#else
typedef int cpu_gemv_neon_is_for_aarch64;
#endif
