/* Small helpers of the NEON files. Baseline aarch64 has everything used here but the integer dot product. */
#ifndef UOCR_SRC_CPU_NEON_H
#define UOCR_SRC_CPU_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "kernels.h"

#define CPU_INLINE static inline __attribute__((always_inline))

/* A function may use an extension that the file is not compiled for; it is called where the processor has it. */
#if defined(__clang__)
#define NEON_WITH(extension) __attribute__((target(extension)))
#else
#define NEON_WITH(extension) __attribute__((target("arch=armv8.2-a+" extension)))
#endif

/* The last n < 4 elements of a row, the other lanes `fill`; never reads past them. */
CPU_INLINE float32x4_t neon_load_tail(const float *x, size_t n, float fill) {
    float lane[4] = {fill, fill, fill, fill};
    memcpy(lane, x, n * sizeof(float));
    return vld1q_f32(lane);
}

CPU_INLINE void neon_store_tail(float *y, size_t n, float32x4_t v) {
    float lane[4];
    vst1q_f32(lane, v);
    memcpy(y, lane, n * sizeof(float));
}

CPU_INLINE float32x4_t neon_load_f16(const uint16_t *x) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
}

CPU_INLINE float32x4_t neon_load_f16_tail(const uint16_t *x, size_t n) {
    uint16_t lane[4] = {0};
    memcpy(lane, x, n * sizeof(uint16_t));
    return neon_load_f16(lane);
}

CPU_INLINE float neon_group_scale(const uint8_t *scales, size_t group) {
    uint16_t half;
    memcpy(&half, scales + 2 * group, sizeof half);
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

/* Sixteen signed bytes as f32. */
CPU_INLINE void neon_widen(int8x16_t q, float32x4_t out[4]) {
    int16x8_t low = vmovl_s8(vget_low_s8(q)), high = vmovl_s8(vget_high_s8(q));
    out[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
    out[1] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(low)));
    out[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
    out[3] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)));
}

/* Sixteen weights starting at element `at` of a row of q4, without the plus 8. */
CPU_INLINE int8x16_t neon_load_q4(const uint8_t *row, size_t at) {
    size_t within = at % UOCR_GROUP;
    uint8x16_t pair = vld1q_u8(row + at / UOCR_GROUP * (UOCR_GROUP / 2) + within % (UOCR_GROUP / 2));
    uint8x16_t q = within < UOCR_GROUP / 2 ? vandq_u8(pair, vdupq_n_u8(15)) : vshrq_n_u8(pair, 4);
    return vsubq_s8(vreinterpretq_s8_u8(q), vdupq_n_s8(8));
}

/* rows_neon.c */
float neon_scores(float *s, size_t n, float scale, float add, const float *column);
float neon_maximum(const float *x, size_t n);
float neon_exponentials(float *s, size_t n, float max);
void neon_scale(float *x, size_t n, float factor);
void neon_tail(float *y, const float *bias, size_t n, uocr_activation activation);
void neon_silu_mul(float *gate, const float *up, size_t n);
void neon_to_f16(const float *x, size_t n, uint16_t *y);
void neon_to_f32(const uint16_t *x, size_t n, float *y);
/* gemv_neon.c */
void neon_gemv_f32(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void neon_gemv_f16(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void neon_gemv_q8(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void neon_gemv_q4(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void neon_gemv_int8_q8(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void neon_gemv_int8_q4(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void neon_quantize(const float *x, size_t n, const cpu_quantized *out);
/* dotprod_neon.c: the same with the integer dot product instruction */
void neon_dotprod_gemv_int8_q8(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x,
                               float *y);
void neon_dotprod_gemv_int8_q4(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x,
                               float *y);
void neon_dotprod_pack_int8_q8(const cpu_weight_rows *, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales);
void neon_dotprod_pack_int8_q4(const cpu_weight_rows *, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales);
void neon_dotprod_micro_int8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                             const float *scales, float *y, size_t ldy, bool add);

/* i8mm_neon.c: several rows with the matrix product of bytes */
void neon_i8mm_pack_int8_q8(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                            float *scales);
void neon_i8mm_pack_int8_q4(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                            float *scales);
void neon_i8mm_micro_int8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add);

#endif
