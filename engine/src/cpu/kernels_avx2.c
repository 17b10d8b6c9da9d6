/* AVX2, FMA and F16C: packed panels, the 6 x 16 block of the matrix product, weighted sums, and the table. */
#if defined(__x86_64__)
#include "avx2.h"
#include "rows_avx2.h"

/* -- 6 x 16 block: 12 accumulators, 2 panel vectors, 1 broadcast: 15 of 16 registers ------- */

/* Accumulators are variables, not an array: compilers keep an array in memory. `rows` is a constant where
 * this is used. */
CPU_INLINE void micro_block(const size_t rows, size_t k, const float *x, size_t ldx, const float *panel,
                            size_t ldp, float *y, size_t ldy, bool add) {
    const __m256 zero = _mm256_setzero_ps();
    __m256 a0 = zero, a1 = zero, b0 = zero, b1 = zero, c0 = zero, c1 = zero;
    __m256 d0 = zero, d1 = zero, e0 = zero, e1 = zero, f0 = zero, f1 = zero;
    for (size_t i = 0; i < k; i++, x++, panel += ldp) {
        const __m256 p0 = _mm256_loadu_ps(panel), p1 = _mm256_loadu_ps(panel + 8);
        __m256 v = _mm256_broadcast_ss(x);
        a0 = _mm256_fmadd_ps(v, p0, a0), a1 = _mm256_fmadd_ps(v, p1, a1);
        if (rows > 1) {
            v = _mm256_broadcast_ss(x + 1 * ldx);
            b0 = _mm256_fmadd_ps(v, p0, b0), b1 = _mm256_fmadd_ps(v, p1, b1);
        }
        if (rows > 2) {
            v = _mm256_broadcast_ss(x + 2 * ldx);
            c0 = _mm256_fmadd_ps(v, p0, c0), c1 = _mm256_fmadd_ps(v, p1, c1);
        }
        if (rows > 3) {
            v = _mm256_broadcast_ss(x + 3 * ldx);
            d0 = _mm256_fmadd_ps(v, p0, d0), d1 = _mm256_fmadd_ps(v, p1, d1);
        }
        if (rows > 4) {
            v = _mm256_broadcast_ss(x + 4 * ldx);
            e0 = _mm256_fmadd_ps(v, p0, e0), e1 = _mm256_fmadd_ps(v, p1, e1);
        }
        if (rows > 5) {
            v = _mm256_broadcast_ss(x + 5 * ldx);
            f0 = _mm256_fmadd_ps(v, p0, f0), f1 = _mm256_fmadd_ps(v, p1, f1);
        }
    }
    if (add) { /* y joins at the end: see micro in kernels.h */
        a0 = _mm256_add_ps(_mm256_loadu_ps(y), a0), a1 = _mm256_add_ps(_mm256_loadu_ps(y + 8), a1);
        if (rows > 1) {
            b0 = _mm256_add_ps(_mm256_loadu_ps(y + 1 * ldy), b0);
            b1 = _mm256_add_ps(_mm256_loadu_ps(y + 1 * ldy + 8), b1);
        }
        if (rows > 2) {
            c0 = _mm256_add_ps(_mm256_loadu_ps(y + 2 * ldy), c0);
            c1 = _mm256_add_ps(_mm256_loadu_ps(y + 2 * ldy + 8), c1);
        }
        if (rows > 3) {
            d0 = _mm256_add_ps(_mm256_loadu_ps(y + 3 * ldy), d0);
            d1 = _mm256_add_ps(_mm256_loadu_ps(y + 3 * ldy + 8), d1);
        }
        if (rows > 4) {
            e0 = _mm256_add_ps(_mm256_loadu_ps(y + 4 * ldy), e0);
            e1 = _mm256_add_ps(_mm256_loadu_ps(y + 4 * ldy + 8), e1);
        }
        if (rows > 5) {
            f0 = _mm256_add_ps(_mm256_loadu_ps(y + 5 * ldy), f0);
            f1 = _mm256_add_ps(_mm256_loadu_ps(y + 5 * ldy + 8), f1);
        }
    }
    _mm256_storeu_ps(y, a0), _mm256_storeu_ps(y + 8, a1);
    if (rows > 1) _mm256_storeu_ps(y + 1 * ldy, b0), _mm256_storeu_ps(y + 1 * ldy + 8, b1);
    if (rows > 2) _mm256_storeu_ps(y + 2 * ldy, c0), _mm256_storeu_ps(y + 2 * ldy + 8, c1);
    if (rows > 3) _mm256_storeu_ps(y + 3 * ldy, d0), _mm256_storeu_ps(y + 3 * ldy + 8, d1);
    if (rows > 4) _mm256_storeu_ps(y + 4 * ldy, e0), _mm256_storeu_ps(y + 4 * ldy + 8, e1);
    if (rows > 5) _mm256_storeu_ps(y + 5 * ldy, f0), _mm256_storeu_ps(y + 5 * ldy + 8, f1);
}

void avx2_micro(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp, float *y,
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

/* -- packing: 8 rows x 8 elements at a time, dequantised in registers and transposed ------- */

CPU_INLINE void store_transposed(const __m256 row[8], size_t n, float *panel) {
    __m256 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (size_t i = 0; i < 4; i++) {
        if (i < n) _mm256_storeu_ps(panel + i * CPU_PANEL, _mm256_permute2f128_ps(u[i], u[i + 4], 0x20));
        if (i + 4 < n)
            _mm256_storeu_ps(panel + (i + 4) * CPU_PANEL, _mm256_permute2f128_ps(u[i], u[i + 4], 0x31));
    }
}

/* Elements [i, i + n) of one row as f32, n <= 8. */
CPU_INLINE __m256 load_f32(const uint8_t *row, size_t i, size_t n) {
    const float *x = (const float *)(const void *)row + i;
    return n == 8 ? _mm256_loadu_ps(x) : avx2_load_tail(x, n, 0);
}

CPU_INLINE __m256 load_f16(const uint8_t *row, size_t i, size_t n) {
    const uint16_t *x = (const uint16_t *)(const void *)row + i;
    return n == 8 ? avx2_load_f16(x) : avx2_load_f16_tail(x, n);
}

CPU_INLINE void pack_plain(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel,
                           bool half) {
    for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 8)
        for (size_t i = 0; i < k; i += 8) {
            size_t n = k - i < 8 ? k - i : 8;
            __m256 row[8];
            for (size_t c = 0; c < 8; c++) {
                const uint8_t *data = w->data + (c0 + c) * w->stride;
                if (c0 + c >= count) row[c] = _mm256_setzero_ps();
                else row[c] = half ? load_f16(data, k0 + i, n) : load_f32(data, k0 + i, n);
            }
            store_transposed(row, n, panel + i * CPU_PANEL + c0);
        }
}

void avx2_pack_f32(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_plain(w, count, k0, k, panel, false);
}

void avx2_pack_f16(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    pack_plain(w, count, k0, k, panel, true);
}

/* The scales of 8 rows for one group; 0 for rows that do not exist, which then read row 0. */
CPU_INLINE void group_scales(const cpu_weight_rows *w, size_t c0, size_t count, size_t group, __m256 scale[8],
                             const uint8_t *data[8]) {
    for (size_t c = 0; c < 8; c++) {
        bool there = c0 + c < count;
        const uint8_t *s = w->scales + (there ? c0 + c : 0) * w->scale_stride + 2 * group;
        data[c] = w->data + (there ? c0 + c : 0) * w->stride;
        scale[c] =
            there ? _mm256_set1_ps(_cvtsh_ss((unsigned short)(s[0] | s[1] << 8))) : _mm256_setzero_ps();
    }
}

void avx2_pack_q8(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    for (size_t g = 0; g < k; g += UOCR_GROUP)
        for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 8) {
            const uint8_t *data[8];
            __m256 scale[8], row[8];
            group_scales(w, c0, count, (k0 + g) / UOCR_GROUP, scale, data);
            for (size_t i = 0; i < UOCR_GROUP; i += 8) {
                for (size_t c = 0; c < 8; c++)
                    row[c] = _mm256_mul_ps(avx2_load_i8((const int8_t *)data[c] + k0 + g + i), scale[c]);
                store_transposed(row, 8, panel + (g + i) * CPU_PANEL + c0);
            }
        }
}

void avx2_pack_q4(const cpu_weight_rows *w, size_t count, size_t k0, size_t k, float *panel) {
    const __m256i mask = _mm256_set1_epi32(15), eight = _mm256_set1_epi32(8);
    for (size_t g = 0; g < k; g += UOCR_GROUP)
        for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 8) {
            const uint8_t *data[8];
            __m256 scale[8], low[8], high[8];
            group_scales(w, c0, count, (k0 + g) / UOCR_GROUP, scale, data);
            for (size_t i = 0; i < UOCR_GROUP / 2; i += 8) {
                for (size_t c = 0; c < 8; c++) {
                    __m128i bytes =
                        _mm_loadl_epi64((const __m128i *)(const void *)(data[c] + (k0 + g) / 2 + i));
                    __m256i pair = _mm256_cvtepu8_epi32(bytes);
                    __m256i a = _mm256_sub_epi32(_mm256_and_si256(pair, mask), eight);
                    __m256i b = _mm256_sub_epi32(_mm256_srli_epi32(pair, 4), eight);
                    low[c] = _mm256_mul_ps(_mm256_cvtepi32_ps(a), scale[c]);
                    high[c] = _mm256_mul_ps(_mm256_cvtepi32_ps(b), scale[c]);
                }
                store_transposed(low, 8, panel + (g + i) * CPU_PANEL + c0);
                store_transposed(high, 8, panel + (g + i + UOCR_GROUP / 2) * CPU_PANEL + c0);
            }
        }
}

/* -- weighted sums of rows ----------------------------------------------------------------- */

CPU_INLINE __m256 load_value(const void *v, bool half, size_t at) {
    return half ? avx2_load_f16((const uint16_t *)v + at) : _mm256_loadu_ps((const float *)v + at);
}

/* 64 columns; every column is one chain over the rows. */
CPU_INLINE void mix_64(const void *v, bool half, size_t stride, size_t rows, const float *p, float *y) {
    __m256 a = _mm256_loadu_ps(y);
    __m256 b = _mm256_loadu_ps(y + 8);
    __m256 c = _mm256_loadu_ps(y + 16);
    __m256 d = _mm256_loadu_ps(y + 24);
    __m256 e = _mm256_loadu_ps(y + 32);
    __m256 f = _mm256_loadu_ps(y + 40);
    __m256 g = _mm256_loadu_ps(y + 48);
    __m256 h = _mm256_loadu_ps(y + 56);
    for (size_t r = 0, at = 0; r < rows; r++, at += stride) {
        const __m256 w = _mm256_broadcast_ss(p + r);
        a = _mm256_fmadd_ps(w, load_value(v, half, at), a);
        b = _mm256_fmadd_ps(w, load_value(v, half, at + 8), b);
        c = _mm256_fmadd_ps(w, load_value(v, half, at + 16), c);
        d = _mm256_fmadd_ps(w, load_value(v, half, at + 24), d);
        e = _mm256_fmadd_ps(w, load_value(v, half, at + 32), e);
        f = _mm256_fmadd_ps(w, load_value(v, half, at + 40), f);
        g = _mm256_fmadd_ps(w, load_value(v, half, at + 48), g);
        h = _mm256_fmadd_ps(w, load_value(v, half, at + 56), h);
    }
    _mm256_storeu_ps(y, a);
    _mm256_storeu_ps(y + 8, b);
    _mm256_storeu_ps(y + 16, c);
    _mm256_storeu_ps(y + 24, d);
    _mm256_storeu_ps(y + 32, e);
    _mm256_storeu_ps(y + 40, f);
    _mm256_storeu_ps(y + 48, g);
    _mm256_storeu_ps(y + 56, h);
}

CPU_INLINE void mix_8(const void *v, bool half, size_t stride, size_t rows, const float *p, float *y) {
    __m256 a = _mm256_loadu_ps(y);
    for (size_t r = 0; r < rows; r++)
        a = _mm256_fmadd_ps(_mm256_broadcast_ss(p + r), load_value(v, half, r * stride), a);
    _mm256_storeu_ps(y, a);
}

CPU_INLINE void mix(const void *v, bool half, size_t stride, size_t rows, size_t n, const float *p,
                    float *y) {
    size_t c = 0, element = half ? sizeof(uint16_t) : sizeof(float);
    for (; c + 64 <= n; c += 64) mix_64((const uint8_t *)v + c * element, half, stride, rows, p, y + c);
    for (; c + 8 <= n; c += 8) mix_8((const uint8_t *)v + c * element, half, stride, rows, p, y + c);
    for (; c < n; c++)
        for (size_t r = 0; r < rows; r++)
            y[c] += p[r] * (half ? cpu_f16_to_f32(((const uint16_t *)v)[r * stride + c])
                                 : ((const float *)v)[r * stride + c]);
}

void avx2_mix_f32(const float *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    mix(v, false, stride, rows, n, p, y);
}

void avx2_mix_f16(const uint16_t *v, size_t stride, size_t rows, size_t n, const float *p, float *y) {
    mix(v, true, stride, rows, n, p, y);
}

/* clang-format off */
#define AVX2_FLOAT                                                                                  \
    .tile_work = 192u << 20,                                                                        \
    .micro = avx2_micro,                                                                            \
    .pack = {avx2_pack_f32, avx2_pack_f16, avx2_pack_q8, avx2_pack_q4},                             \
    .gemv = {avx2_gemv_f32, avx2_gemv_f16, avx2_gemv_q8, avx2_gemv_q4},                             \
    .quantize = avx2_quantize,                                                                      \
    .mix_f32 = avx2_mix_f32,                                                                        \
    .mix_f16 = avx2_mix_f16,                                                                        \
    .scores = avx2_scores,                                                                          \
    .maximum = avx2_maximum,                                                                        \
    .exponentials = avx2_exponentials,                                                              \
    .scale = avx2_scale,                                                                            \
    .tail = avx2_tail,                                                                              \
    .silu_mul = avx2_silu_mul,                                                                      \
    .to_f16 = avx2_to_f16,                                                                          \
    .to_f32 = avx2_to_f32
/* clang-format on */

const cpu_kernels cpu_kernels_avx2 = {
    .name = "avx2",
    AVX2_FLOAT,
    .gemv_int8 = {avx2_gemv_int8_q8, avx2_gemv_int8_q4},
    .pack_int8 = {avx2_pack_int8_q8, avx2_pack_int8_q4},
    .micro_int8 = {avx2_micro_int8_q8, avx2_micro_int8_q4},
};

/* Float work is the same: these processors multiply floats no faster in 512 bits. */
const cpu_kernels cpu_kernels_avx512_vnni = {
    .name = "avx512-vnni",
    AVX2_FLOAT,
    .gemv_int8 = {avx512_gemv_int8_q8, avx512_gemv_int8_q4},
    .pack_int8 = {avx512_pack_int8_q8, avx512_pack_int8_q4},
    .micro_int8 = {avx512_micro_int8_q8, avx512_micro_int8_q4},
};
#else
typedef int cpu_kernels_avx2_is_for_x86_64; /* a file must not be empty */
#endif
