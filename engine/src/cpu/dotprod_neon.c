/* NEON with the dot product extension (ARMv8.2 and later; every Apple processor): integer products only. */
#if defined(__aarch64__)
#include "neon.h"

#define WITH_DOTPROD __attribute__((target("dotprod")))

WITH_DOTPROD static inline int32x4_t group(bool q4, const uint8_t *row, size_t at, const int8_t *x) {
    int32x4_t a = vdupq_n_s32(0), b = a;
    if (q4) {
        /* Two loads give four quarters of the group: low nibbles are elements 0..31, high nibbles 32..63. */
        const uint8x16_t mask = vdupq_n_u8(15);
        const int8x16_t eight = vdupq_n_s8(8);
        uint8x16_t p = vld1q_u8(row + at / 2), r = vld1q_u8(row + at / 2 + 16);
        a = vdotq_s32(a, vsubq_s8(vreinterpretq_s8_u8(vandq_u8(p, mask)), eight), vld1q_s8(x));
        b = vdotq_s32(b, vsubq_s8(vreinterpretq_s8_u8(vandq_u8(r, mask)), eight), vld1q_s8(x + 16));
        a = vdotq_s32(a, vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(p, 4)), eight), vld1q_s8(x + 32));
        b = vdotq_s32(b, vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(r, 4)), eight), vld1q_s8(x + 48));
    } else {
        const int8_t *q = (const int8_t *)row + at;
        a = vdotq_s32(a, vld1q_s8(q), vld1q_s8(x));
        b = vdotq_s32(b, vld1q_s8(q + 16), vld1q_s8(x + 16));
        a = vdotq_s32(a, vld1q_s8(q + 32), vld1q_s8(x + 32));
        b = vdotq_s32(b, vld1q_s8(q + 48), vld1q_s8(x + 48));
    }
    return vaddq_s32(a, b);
}

WITH_DOTPROD static inline void int8_rows(bool q4, const cpu_weight_rows *w, size_t rows, size_t k,
                                          const cpu_quantized *x, float *y) {
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *q = w->data + r * w->stride, *scales = w->scales + r * w->scale_stride;
        float32x4_t sum = vdupq_n_f32(0);
        for (size_t g = 0; g < k / UOCR_GROUP; g++) {
            int32x4_t dot = group(q4, q, g * UOCR_GROUP, x->q + g * UOCR_GROUP);
            sum = vfmaq_n_f32(sum, vcvtq_f32_s32(dot), neon_group_scale(scales, g) * x->scale[g]);
        }
        y[r] = vaddvq_f32(sum);
    }
}

WITH_DOTPROD void neon_dotprod_gemv_int8_q8(const cpu_weight_rows *w, size_t rows, size_t k,
                                            const cpu_quantized *x, float *y) {
    int8_rows(false, w, rows, k, x, y);
}

WITH_DOTPROD void neon_dotprod_gemv_int8_q4(const cpu_weight_rows *w, size_t rows, size_t k,
                                            const cpu_quantized *x, float *y) {
    int8_rows(true, w, rows, k, x, y);
}
#else
typedef int cpu_dotprod_neon_is_for_aarch64;
#endif
