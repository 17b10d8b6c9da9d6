/* The inner loops of the CPU back end, one table per instruction set, chosen once when the back end is
 * created.
 *
 * Every table computes the same thing: integer parts are equal bit by bit, float parts differ only in the
 * order of sums and in fused multiply-adds. No kernel reads or writes outside the ranges named here. Pointers
 * need no more alignment than their element type. */
#ifndef UOCR_SRC_CPU_KERNELS_H
#define UOCR_SRC_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../backend.h"

enum {
    CPU_PANEL = 16,                                    /* output columns of one packed weight panel */
    CPU_MICRO_ROWS = 6,                                /* rows of x per call of `micro` */
    CPU_INT8_ROWS = 4,                                 /* rows of x per call of `micro_int8` */
    CPU_INT8_GROUP_BYTES = 2 * UOCR_GROUP * CPU_PANEL, /* at most, of one group in a panel of `pack_int8` */
};

/* micro_int8 by way of block(rows, ...), inlined once for each number of rows: with a constant the sums stay in
 * registers. */
#define CPU_BY_ROWS(rows, ...)                                                                               \
    do {                                                                                                     \
        switch (rows) {                                                                                      \
        case 4: block(4, __VA_ARGS__); break;                                                                \
        case 3: block(3, __VA_ARGS__); break;                                                                \
        case 2: block(2, __VA_ARGS__); break;                                                                \
        default: block(1, __VA_ARGS__); break;                                                               \
        }                                                                                                    \
    } while (0)

/* Rows of a weight matrix: row r starts at data + r * stride and its scales at scales + r * scale_stride
 * (bytes). */
typedef struct cpu_weight_rows {
    const uint8_t *data;
    size_t stride;
    const uint8_t *scales;
    size_t scale_stride;
} cpu_weight_rows;

/* Activations quantised per group of 64: x[i] ~ q[i] * scale[i / 64], q in -127..127, sum = the sum of a
 * group's q (weights are multiplied as unsigned numbers, and the products corrected by it). A group that
 * holds Inf or NaN gets the scale NaN, so that every result it enters is NaN. */
typedef struct cpu_quantized {
    int8_t *q;    /* [n] */
    float *scale; /* [n / 64] */
    int32_t *sum; /* [n / 64] */
} cpu_quantized;

typedef struct cpu_kernels {
    const char *name;
    size_t tile_work; /* multiply-adds of about 10 ms on a slow processor: tiles are not much larger */

    /* y[r * ldy + c] = (add ? y : 0) + sum over i < k of x[r * ldx + i] * panel[i * ldp + c], r < rows <= 6,
     * c < 16. One chain per element in the order of i, whatever `rows` is; y is added to its end, not its
     * beginning: a chain over 4,096 keys of nearly equal terms drifts (3e-7 of the norm was measured). */
    void (*micro)(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp, float *y,
                  size_t ldy, bool add);
    /* panel[i * 16 + c] = weight row c, element k0 + i; c < count <= 16, the other columns 0. By dtype f32,
     * f16, q8, q4; k0 and k are multiples of 64 for q8 and q4. */
    void (*pack[4])(const cpu_weight_rows *, size_t count, size_t k0, size_t k, float *panel);
    /* y[r] = weight row r . x, r < rows, each row's sum independent of the others. */
    void (*gemv[4])(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
    /* The same for q8 (0) and q4 (1) against quantised activations. */
    void (*gemv_int8[2])(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
    void (*quantize)(const float *x, size_t n, const cpu_quantized *out); /* n a multiple of 64 */
    /* Several rows of quantised activations, q8 (0) and q4 (1). Groups g0.. of count <= 16 weight rows, in
     * the table's own order, CPU_INT8_GROUP_BYTES or less each; scales[g * 16 + c], 0 for columns past count.
     */
    void (*pack_int8[2])(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                         float *scales);
    /* y[r * ldy + c] = (add ? y : 0) + sum over groups of (scale of w * scale of x) * integer product, r <
     * rows <= 4, c < 16; x[r] starts at the panel's first group. One chain per element in the order of
     * groups. */
    void (*micro_int8[2])(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add);
    /* y[c] += sum over r < rows of p[r] * v[r * stride + c], c < n; f32 and f16 values. */
    void (*mix_f32)(const float *v, size_t stride, size_t rows, size_t n, const float *p, float *y);
    void (*mix_f16)(const uint16_t *v, size_t stride, size_t rows, size_t n, const float *p, float *y);

    /* s[i] = s[i] * scale + (add + column[i]) (column NULL: nothing added); returns the largest. n >= 1. */
    float (*scores)(float *s, size_t n, float scale, float add, const float *column);
    float (*maximum)(const float *x, size_t n); /* n >= 1 */
    /* s[i] = exp(s[i] - max), 0 below -87; returns the sum. Relative error at most 2 ulp for arguments in
     * -87..0. */
    float (*exponentials)(float *s, size_t n, float max);
    void (*scale)(float *x, size_t n, float factor);
    /* y[i] = activation(y[i] + bias[i]); bias may be NULL. */
    void (*tail)(float *y, const float *bias, size_t n, uocr_activation activation);
    void (*silu_mul)(float *gate, const float *up, size_t n); /* gate = silu(gate) * up */
    void (*to_f16)(const float *x, size_t n, uint16_t *y);    /* round half even */
    void (*to_f32)(const uint16_t *x, size_t n, float *y);
} cpu_kernels;

extern const cpu_kernels cpu_kernels_portable;
#if defined(__x86_64__)
extern const cpu_kernels cpu_kernels_avx2;        /* needs AVX2, FMA and F16C */
extern const cpu_kernels cpu_kernels_avx512_vnni; /* and AVX-512 F, BW, VL and VNNI */
#elif defined(__aarch64__)
extern const cpu_kernels cpu_kernels_neon;         /* baseline: every aarch64 */
extern const cpu_kernels cpu_kernels_neon_dotprod; /* needs the dot product extension */
extern const cpu_kernels cpu_kernels_neon_i8mm;    /* and matrix products of bytes */
#endif

/* UOCR_SIMD_AUTO: the best table this machine can run; UOCR_SIMD_BASELINE: without what only newer processors
 * of the architecture have. */
const cpu_kernels *cpu_kernels_select(uint32_t simd);

/* Plain C, for tables that have nothing better. */
void cpu_portable_pack_int8_q8(const cpu_weight_rows *, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales);
void cpu_portable_pack_int8_q4(const cpu_weight_rows *, size_t count, size_t g0, size_t groups,
                               uint8_t *panel, float *scales);
void cpu_portable_micro_int8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                             const float *scales, float *y, size_t ldy, bool add);

/* Scalar conversions, exact in both directions (f32 to f16 rounds half even). */
uint16_t cpu_f32_to_f16(float value);
static inline float cpu_f16_to_f32(uint16_t half) {
    uint32_t bits = (half & 0x7fffu) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f; /* the exponents' zeros are that far apart; denormals come out right */
    memcpy(&bits, &value, sizeof bits);
    bits |= (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u; /* Inf and NaN */
    bits |= (uint32_t)(half & 0x8000u) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The scale of one group. */
static inline float cpu_group_scale(const uint8_t *scales, size_t group) {
    return cpu_f16_to_f32((uint16_t)(scales[2 * group] | scales[2 * group + 1] << 8));
}

#endif
