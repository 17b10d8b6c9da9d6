/* NEON: packed panels, the 6 x 16 block of the matrix product, weighted sums, and the tables. */
#if defined(__aarch64__)
#include "neon.h"

/* -- 6 x 16 block: 24 of 32 registers hold sums -------------------------------------------- */

typedef float32x4x4_t row16; /* 16 columns of one row */

CPU_INLINE row16 zero16(void) {
    const float32x4_t zero = vdupq_n_f32(0);
    return (row16){{zero, zero, zero, zero}};
}

CPU_INLINE row16 load16(const float *x) {
    return (row16){{vld1q_f32(x), vld1q_f32(x + 4), vld1q_f32(x + 8), vld1q_f32(x + 12)}};
}

CPU_INLINE void store16(float *y, row16 v) {
    vst1q_f32(y, v.val[0]), vst1q_f32(y + 4, v.val[1]), vst1q_f32(y + 8, v.val[2]),
        vst1q_f32(y + 12, v.val[3]);
}

CPU_INLINE row16 add16(row16 sum, float x, row16 p) {
    return (row16){{vfmaq_n_f32(sum.val[0], p.val[0], x), vfmaq_n_f32(sum.val[1], p.val[1], x),
                    vfmaq_n_f32(sum.val[2], p.val[2], x), vfmaq_n_f32(sum.val[3], p.val[3], x)}};
}

CPU_INLINE row16 sum16(row16 a, row16 b) {
    return (row16){{vaddq_f32(a.val[0], b.val[0]), vaddq_f32(a.val[1], b.val[1]),
                    vaddq_f32(a.val[2], b.val[2]), vaddq_f32(a.val[3], b.val[3])}};
}

/* Sums are variables, not an array: compilers keep an array in memory. `rows` is a constant where this is
 * used. */
CPU_INLINE void micro_block(const size_t rows, size_t k, const float *x, size_t ldx, const float *panel,
                            size_t ldp, float *y, size_t ldy, bool add) {
    row16 a = zero16(), b = a, c = a, d = a, e = a, f = a;
    for (size_t i = 0; i < k; i++, x++, panel += ldp) {
        const row16 p = load16(panel);
        a = add16(a, x[0], p);
        if (rows > 1) b = add16(b, x[1 * ldx], p);
        if (rows > 2) c = add16(c, x[2 * ldx], p);
        if (rows > 3) d = add16(d, x[3 * ldx], p);
        if (rows > 4) e = add16(e, x[4 * ldx], p);
        if (rows > 5) f = add16(f, x[5 * ldx], p);
    }
    if (add) { /* y joins at the end: see micro in kernels.h */
        a = sum16(load16(y), a);
        if (rows > 1) b = sum16(load16(y + 1 * ldy), b);
        if (rows > 2) c = sum16(load16(y + 2 * ldy), c);
        if (rows > 3) d = sum16(load16(y + 3 * ldy), d);
        if (rows > 4) e = sum16(load16(y + 4 * ldy), e);
        if (rows > 5) f = sum16(load16(y + 5 * ldy), f);
    }
    store16(y, a);
    if (rows > 1) store16(y + 1 * ldy, b);
    if (rows > 2) store16(y + 2 * ldy, c);
    if (rows > 3) store16(y + 3 * ldy, d);
    if (rows > 4) store16(y + 4 * ldy, e);
    if (rows > 5) store16(y + 5 * ldy, f);
}

static void micro(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp, float *y,
                  size_t ldy, bool add) {
    switch (rows) {
    case 6: micro_block(6, k, x, ldx, panel, ldp, y, ldy, add); break;
    case 5: micro_block(5, k, x, ldx, panel, ldp, y, ldy, add); break;
    case 4: micro_block(4, k, x, ldx, panel, ldp, y, ldy, add); break;
    case 3: micro_block(3, k, x, ldx, panel, ldp, y, ldy, add); break;
    case 2: micro_block(2, k, x, ldx, panel, ldp, y, ldy, add); break;
    default: micro_block(1, k, x, ldx, panel, ldp, y, ldy, add); break;
    }
}

/* -- packing: 4 rows x 4 elements at a time, dequantised in registers and transposed ------- */

CPU_INLINE void store_transposed(const float32x4_t row[4], size_t n, float *panel) {
    float32x4_t a = vtrn1q_f32(row[0], row[1]), b = vtrn2q_f32(row[0], row[1]);
    float32x4_t c = vtrn1q_f32(row[2], row[3]), d = vtrn2q_f32(row[2], row[3]);
    vst1q_f32(panel, vcombine_f32(vget_low_f32(a), vget_low_f32(c)));
    if (n > 1) vst1q_f32(panel + CPU_PANEL, vcombine_f32(vget_low_f32(b), vget_low_f32(d)));
    if (n > 2) vst1q_f32(panel + 2 * CPU_PANEL, vcombine_f32(vget_high_f32(a), vget_high_f32(c)));
    if (n > 3) vst1q_f32(panel + 3 * CPU_PANEL, vcombine_f32(vget_high_f32(b), vget_high_f32(d)));
}

/* Elements [i, i + n) of one row as f32, n <= 4. */
CPU_INLINE float32x4_t load_plain(const uint8_t *row, bool half, size_t i, size_t n) {
    const uint16_t *w16 = (const uint16_t *)(const void *)row + i;
    const float *w32 = (const float *)(const void *)row + i;
    if (n == 4) return half ? neon_load_f16(w16) : vld1q_f32(w32);
    return half ? neon_load_f16_tail(w16, n) : neon_load_tail(w32, n, 0);
}

CPU_INLINE void pack_plain(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel,
                           bool half) {
    for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 4)
        for (size_t i = 0; i < k; i += 4) {
            size_t n = k - i < 4 ? k - i : 4;
            float32x4_t row[4];
            for (size_t c = 0; c < 4; c++)
                row[c] = c0 + c < count ? load_plain(w->data + (c0 + c) * w->stride, half, k0 + i, n)
                                        : vdupq_n_f32(0);
            store_transposed(row, n, panel + i * CPU_PANEL + c0);
        }
}

static void pack_f32(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_plain(w, count, k0, k, panel, false);
}

static void pack_f16(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_plain(w, count, k0, k, panel, true);
}

CPU_INLINE void pack_grouped(bool q4, const cpu_weight_rows *w, size_t count, size_t k0, size_t k,
                             float *panel) {
    for (size_t i = 0; i < k; i += 16)
        for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 4) {
            float32x4_t v[4][4]; /* [row][16 elements] */
            for (size_t c = 0; c < 4; c++) {
                bool there = c0 + c < count; /* rows that do not exist read row 0 with scale 0 */
                const uint8_t *q = w->data + (there ? c0 + c : 0) * w->stride;
                const uint8_t *scales = w->scales + (there ? c0 + c : 0) * w->scale_stride;
                float scale = there ? neon_group_scale(scales, (k0 + i) / UOCR_GROUP) : 0;
                neon_widen(q4 ? neon_load_q4(q, k0 + i) : vld1q_s8((const int8_t *)q + k0 + i), v[c]);
                for (size_t j = 0; j < 4; j++) v[c][j] = vmulq_n_f32(v[c][j], scale);
            }
            for (size_t j = 0; j < 4; j++) {
                float32x4_t row[4] = {v[0][j], v[1][j], v[2][j], v[3][j]};
                store_transposed(row, 4, panel + (i + 4 * j) * CPU_PANEL + c0);
            }
        }
}

static void pack_q8(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_grouped(false, w, count, k0, k, panel);
}

static void pack_q4(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_grouped(true, w, count, k0, k, panel);
}

/* -- weighted sums of rows ----------------------------------------------------------------- */

CPU_INLINE float32x4_t load_value(const void *v, bool half, size_t at) {
    return half ? neon_load_f16((const uint16_t *)v + at) : vld1q_f32((const float *)v + at);
}

/* Every column is one chain over the rows. */
CPU_INLINE void mix(const void *v, bool half, size_t stride, size_t rows, size_t n, const float *p,
                    float *y) {
    size_t c = 0;
    for (; c + 16 <= n; c += 16) {
        row16 sum = load16(y + c);
        for (size_t r = 0; r < rows; r++) {
            size_t at = r * stride + c;
            row16 x = {{load_value(v, half, at), load_value(v, half, at + 4), load_value(v, half, at + 8),
                        load_value(v, half, at + 12)}};
            sum = add16(sum, p[r], x);
        }
        store16(y + c, sum);
    }
    for (; c + 4 <= n; c += 4) {
        float32x4_t sum = vld1q_f32(y + c);
        for (size_t r = 0; r < rows; r++) sum = vfmaq_n_f32(sum, load_value(v, half, r * stride + c), p[r]);
        vst1q_f32(y + c, sum);
    }
    for (; c < n; c++)
        for (size_t r = 0; r < rows; r++) {
            size_t at = r * stride + c;
            y[c] += p[r] * (half ? cpu_f16_to_f32(((const uint16_t *)v)[at]) : ((const float *)v)[at]);
        }
}

static void mix_f32(const float *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    mix(v, false, stride, rows, n, p, y);
}

static void mix_f16(const uint16_t *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    mix(v, true, stride, rows, n, p, y);
}

#define COMMON_ENTRIES                                                                                       \
    .micro = micro, .pack = {pack_f32, pack_f16, pack_q8, pack_q4},                                          \
    .gemv = {neon_gemv_f32, neon_gemv_f16, neon_gemv_q8, neon_gemv_q4}, .quantize = neon_quantize,           \
    .mix_f32 = mix_f32, .mix_f16 = mix_f16, .scores = neon_scores, .maximum = neon_maximum,                  \
    .exponentials = neon_exponentials, .scale = neon_scale, .tail = neon_tail, .silu_mul = neon_silu_mul,    \
    .to_f16 = neon_to_f16, .to_f32 = neon_to_f32

const cpu_kernels cpu_kernels_neon = {
    .name = "neon",
    .tile_work = 96u << 20,
    COMMON_ENTRIES,
    .gemv_int8 = {neon_gemv_int8_q8, neon_gemv_int8_q4},
    .pack_int8 = {cpu_portable_pack_int8_q8, cpu_portable_pack_int8_q4},
    .micro_int8 = {cpu_portable_micro_int8, cpu_portable_micro_int8},
};

const cpu_kernels cpu_kernels_neon_dotprod = {
    .name = "neon+dotprod",
    .tile_work = 96u << 20,
    COMMON_ENTRIES,
    .gemv_int8 = {neon_dotprod_gemv_int8_q8, neon_dotprod_gemv_int8_q4},
    .pack_int8 = {neon_dotprod_pack_int8_q8, neon_dotprod_pack_int8_q4},
    .micro_int8 = {neon_dotprod_micro_int8, neon_dotprod_micro_int8},
};

const cpu_kernels cpu_kernels_neon_i8mm = {
    .name = "neon+i8mm",
    .tile_work = 96u << 20,
    COMMON_ENTRIES,
    .gemv_int8 = {neon_dotprod_gemv_int8_q8, neon_dotprod_gemv_int8_q4},
    .pack_int8 = {neon_i8mm_pack_int8_q8, neon_i8mm_pack_int8_q4},
    .micro_int8 = {neon_i8mm_micro_int8, neon_i8mm_micro_int8},
};
#else
typedef int cpu_kernels_neon_is_for_aarch64;
#endif
