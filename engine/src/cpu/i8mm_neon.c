/* NEON with the matrix products of bytes (ARMv8.6; Apple processors since the M2): several rows of quantised
 * activations. One instruction multiplies two rows by two columns over eight inputs. A row alone has no use
 * for it and keeps the dot product. */
#if defined(__aarch64__)
#include "neon.h"

#define WITH_I8MM NEON_WITH("i8mm")

enum { INPUTS = 8, STEP = INPUTS * CPU_PANEL, PAIRS = CPU_PANEL / 2 };

/* A group of a panel is 8 steps of [8 pairs of columns][2 columns][8 inputs], signed bytes. */
CPU_INLINE void pack(bool q4, const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                     uint8_t *panel, float *scales) {
    for (size_t g = g0; g < g0 + groups; g++, panel += UOCR_GROUP * CPU_PANEL, scales += CPU_PANEL)
        for (size_t c = 0; c < CPU_PANEL; c++) {
            const bool there = c < count;
            const uint8_t *q = w->data + (there ? c : 0) * w->stride;
            int8_t *out = (int8_t *)panel + c * INPUTS;
            scales[c] = there ? neon_group_scale(w->scales + c * w->scale_stride, g) : 0;
            for (size_t i = 0; i < UOCR_GROUP; i += 2 * INPUTS, out += 2 * STEP) {
                int8x16_t bytes = vdupq_n_s8(0);
                if (there && q4) bytes = neon_load_q4(q, g * UOCR_GROUP + i);
                else if (there) bytes = vld1q_s8((const int8_t *)q + g * UOCR_GROUP + i);
                vst1_s8(out, vget_low_s8(bytes));
                vst1_s8(out + STEP, vget_high_s8(bytes));
            }
        }
}

void neon_i8mm_pack_int8_q8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                            float *scales) {
    pack(false, w, count, g0, groups, panel, scales);
}

void neon_i8mm_pack_int8_q4(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                            float *scales) {
    pack(true, w, count, g0, groups, panel, scales);
}

/* y (+)= scales * xs * sum, 16 columns of the first or the second row of a pair. */
CPU_INLINE void finish(float *y, bool add, const int32x4_t sum[PAIRS], bool second, const float *scales,
                       float xs) {
    for (size_t p = 0; p < PAIRS; p += 2) {
        int32x4_t four = second ? vcombine_s32(vget_high_s32(sum[p]), vget_high_s32(sum[p + 1]))
                                : vcombine_s32(vget_low_s32(sum[p]), vget_low_s32(sum[p + 1]));
        float32x4_t before = add ? vld1q_f32(y + 2 * p) : vdupq_n_f32(0);
        float32x4_t scale = vmulq_n_f32(vld1q_f32(scales + 2 * p), xs);
        vst1q_f32(y + 2 * p, vfmaq_f32(before, vcvtq_f32_s32(four), scale));
    }
}

/* `pairs` of rows is a constant where this is used; a row without a partner is its own. */
WITH_I8MM static inline void block(const size_t pairs, size_t rows, size_t groups, const cpu_quantized *x,
                                   const uint8_t *panel, const float *scales, float *y, size_t ldy, bool add) {
    for (size_t g = 0; g < groups; g++, scales += CPU_PANEL, add = true) {
        int32x4_t sum[2][PAIRS];
        for (size_t p = 0; p < PAIRS; p++) sum[0][p] = sum[1][p] = vdupq_n_s32(0);
        for (size_t i = g * UOCR_GROUP; i < (g + 1) * UOCR_GROUP; i += INPUTS, panel += STEP) {
            int8x16_t two[2];
            for (size_t r = 0; r < pairs; r++) {
                const size_t first = 2 * r, second = 2 * r + 1 < rows ? 2 * r + 1 : first;
                two[r] = vcombine_s8(vld1_s8(x[first].q + i), vld1_s8(x[second].q + i));
            }
            for (size_t p = 0; p < PAIRS; p++) {
                const int8x16_t w = vld1q_s8((const int8_t *)panel + p * 2 * INPUTS);
                for (size_t r = 0; r < pairs; r++) sum[r][p] = vmmlaq_s32(sum[r][p], two[r], w);
            }
        }
        for (size_t r = 0; r < rows; r++)
            finish(y + r * ldy, add, sum[r / 2], r % 2 != 0, scales, x[r].scale[g]);
    }
}

WITH_I8MM void neon_i8mm_micro_int8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                                    const float *scales, float *y, size_t ldy, bool add) {
    if (rows > 2) block(2, rows, groups, x, panel, scales, y, ldy, add);
    else block(1, rows, groups, x, panel, scales, y, ldy, add);
}
#else
typedef int cpu_i8mm_neon_is_for_aarch64;
#endif
