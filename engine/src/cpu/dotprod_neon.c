/* NEON with the dot product extension (ARMv8.2 and later; every Apple processor): integer products only. */
#if defined(__aarch64__)
#include "neon.h"

#define WITH_DOTPROD NEON_WITH("dotprod")

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
/* -- several rows: a group of a panel is 16 steps of [16 columns][4 inputs], signed bytes --- */

enum { STEP = 4 * CPU_PANEL };

CPU_INLINE void pack(bool q4, const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                     uint8_t *panel, float *scales) {
    for (size_t g = 0; g < groups; g++, panel += UOCR_GROUP * CPU_PANEL, scales += CPU_PANEL)
        for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 4)
            for (size_t i = 0; i < UOCR_GROUP; i += 16) { /* 4 rows x 4 steps, transposed */
                int32x4_t row[4];
                for (size_t c = 0; c < 4; c++) {
                    bool there = c0 + c < count;
                    const uint8_t *q = w->data + (there ? c0 + c : 0) * w->stride;
                    size_t at = (g0 + g) * UOCR_GROUP + i;
                    int8x16_t bytes = q4 ? neon_load_q4(q, at) : vld1q_s8((const int8_t *)q + at);
                    row[c] = vreinterpretq_s32_s8(there ? bytes : vdupq_n_s8(0));
                    scales[c0 + c] =
                        there ? neon_group_scale(w->scales + (c0 + c) * w->scale_stride, g0 + g) : 0;
                }
                int32x4_t a = vtrn1q_s32(row[0], row[1]), b = vtrn2q_s32(row[0], row[1]);
                int32x4_t c = vtrn1q_s32(row[2], row[3]), d = vtrn2q_s32(row[2], row[3]);
                int32_t *out = (int32_t *)(void *)(panel + i / 4 * STEP) + c0;
                vst1q_s32(out, vcombine_s32(vget_low_s32(a), vget_low_s32(c)));
                vst1q_s32(out + CPU_PANEL, vcombine_s32(vget_low_s32(b), vget_low_s32(d)));
                vst1q_s32(out + 2 * CPU_PANEL, vcombine_s32(vget_high_s32(a), vget_high_s32(c)));
                vst1q_s32(out + 3 * CPU_PANEL, vcombine_s32(vget_high_s32(b), vget_high_s32(d)));
            }
}

void neon_dotprod_pack_int8_q8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales) {
    pack(false, w, count, g0, groups, panel, scales);
}

void neon_dotprod_pack_int8_q4(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales) {
    pack(true, w, count, g0, groups, panel, scales);
}

typedef int32x4x4_t sums16; /* 16 columns of one row */

/* One step: 4 inputs, number `lane` of the 16 in x, for 16 columns. */
#define ADD_STEP(sum, x, lane)                                                                               \
    sum.val[0] = vdotq_laneq_s32(sum.val[0], w0, x, lane);                                                   \
    sum.val[1] = vdotq_laneq_s32(sum.val[1], w1, x, lane);                                                   \
    sum.val[2] = vdotq_laneq_s32(sum.val[2], w2, x, lane);                                                   \
    sum.val[3] = vdotq_laneq_s32(sum.val[3], w3, x, lane)
#define ALL_ROWS(lane)                                                                                       \
    do {                                                                                                     \
        const int8_t *p = (const int8_t *)panel + (lane) * STEP;                                             \
        const int8x16_t w0 = vld1q_s8(p), w1 = vld1q_s8(p + 16);                                             \
        const int8x16_t w2 = vld1q_s8(p + 32), w3 = vld1q_s8(p + 48);                                        \
        ADD_STEP(a, x0, lane);                                                                               \
        if (rows > 1) {                                                                                      \
            ADD_STEP(b, x1, lane);                                                                           \
        }                                                                                                    \
        if (rows > 2) {                                                                                      \
            ADD_STEP(c, x2, lane);                                                                           \
        }                                                                                                    \
        if (rows > 3) {                                                                                      \
            ADD_STEP(d, x3, lane);                                                                           \
        }                                                                                                    \
    } while (0)

/* y (+)= scales * xs * sum, 16 columns. */
CPU_INLINE void finish(float *y, bool add, sums16 sum, const float *scales, float xs) {
    for (size_t j = 0; j < 4; j++) {
        float32x4_t before = add ? vld1q_f32(y + 4 * j) : vdupq_n_f32(0);
        float32x4_t scale = vmulq_n_f32(vld1q_f32(scales + 4 * j), xs);
        vst1q_f32(y + 4 * j, vfmaq_f32(before, vcvtq_f32_s32(sum.val[j]), scale));
    }
}

/* `rows` is a constant where this is used. */
WITH_DOTPROD static inline void block(const size_t rows, size_t groups, const cpu_quantized *x,
                                      const uint8_t *panel, const float *scales, float *y, size_t ldy,
                                      bool add) {
    const int32x4_t zero = vdupq_n_s32(0);
    for (size_t g = 0; g < groups; g++, scales += CPU_PANEL, add = true) {
        sums16 a = {{zero, zero, zero, zero}}, b = a, c = a, d = a;
        for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP; i += 16, panel += 4 * STEP) {
            const int8x16_t x0 = vld1q_s8(x[0].q + i), x1 = vld1q_s8(x[rows > 1 ? 1 : 0].q + i);
            const int8x16_t x2 = vld1q_s8(x[rows > 2 ? 2 : 0].q + i),
                            x3 = vld1q_s8(x[rows > 3 ? 3 : 0].q + i);
            ALL_ROWS(0);
            ALL_ROWS(1);
            ALL_ROWS(2);
            ALL_ROWS(3);
        }
        finish(y, add, a, scales, x[0].scale[g]);
        if (rows > 1) finish(y + ldy, add, b, scales, x[1].scale[g]);
        if (rows > 2) finish(y + 2 * ldy, add, c, scales, x[2].scale[g]);
        if (rows > 3) finish(y + 3 * ldy, add, d, scales, x[3].scale[g]);
    }
}

WITH_DOTPROD void neon_dotprod_micro_int8(size_t rows, size_t groups, const cpu_quantized *x,
                                          const uint8_t *panel, const float *scales, float *y, size_t ldy,
                                          bool add) {
    CPU_BY_ROWS(rows, groups, x, panel, scales, y, ldy, add);
}
#else
typedef int cpu_dotprod_neon_is_for_aarch64;
#endif
