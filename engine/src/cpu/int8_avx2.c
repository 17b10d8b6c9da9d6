/* AVX2: several rows of quantised activations against packed panels of q8 and q4 weights.
 *
 * `maddubs` multiplies unsigned by signed bytes and adds pairs in 16 bits, which only holds if the unsigned
 * side is small. So weights are packed as unsigned nibbles: q4 is one plane of them, q8 (plus 128) two, the
 * high one counting 16 times. What was added to the weights is taken off again with the sum of x, in
 * integers: nothing is rounded before a group's scales. A plane of a group is 16 steps of [16 columns][4
 * inputs]. */
#if defined(__x86_64__)
#include "avx2.h"

enum { STEP = 4 * CPU_PANEL, STEPS = UOCR_GROUP / 4, PLANE = STEP * STEPS };

/* Eight rows of 32 bytes -> 8 steps of 8 columns. */
CPU_INLINE void store_steps(const __m256i row[8], uint8_t *out) {
    __m256i t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        u[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (size_t i = 0; i < 4; i++) {
        avx2_store_bytes(out + i * STEP, _mm256_permute2x128_si256(u[i], u[i + 4], 0x20));
        avx2_store_bytes(out + (i + 4) * STEP, _mm256_permute2x128_si256(u[i], u[i + 4], 0x31));
    }
}

CPU_INLINE void pack(const bool q4, const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                     uint8_t *panel, float *scales) {
    const __m256i mask = _mm256_set1_epi8(15), zero = _mm256_set1_epi8(q4 ? 8 : (char)128);
    const size_t bytes = q4 ? UOCR_GROUP / 2 : UOCR_GROUP;
    for (size_t g = 0; g < groups; g++, panel += q4 ? PLANE : 2 * PLANE, scales += CPU_PANEL)
        for (size_t c0 = 0; c0 < CPU_PANEL; c0 += 8) {
            __m256i first[8], second[8]; /* elements 0..31 and 32..63 of q8; low and high nibbles of q4 */
            for (size_t c = 0; c < 8; c++) {
                bool there = c0 + c < count;
                const uint8_t *row = w->data + (there ? c0 + c : 0) * w->stride + (g0 + g) * bytes;
                scales[c0 + c] = there ? cpu_group_scale(w->scales + (c0 + c) * w->scale_stride, g0 + g) : 0;
                first[c] = there ? avx2_load_bytes(row) : zero;
                second[c] = q4 ? _mm256_srli_epi16(first[c], 4) : there ? avx2_load_bytes(row + 32) : zero;
                if (!q4 && there) {
                    first[c] = _mm256_xor_si256(first[c], zero); /* plus 128 */
                    second[c] = _mm256_xor_si256(second[c], zero);
                }
            }
            for (int plane = 0; plane < (q4 ? 1 : 2); plane++) {
                uint8_t *out = panel + plane * PLANE + c0 * 4;
                __m256i low[8], high[8];
                for (int c = 0; c < 8; c++) {
                    __m256i a = plane ? _mm256_srli_epi16(first[c], 4) : first[c];
                    __m256i b = plane ? _mm256_srli_epi16(second[c], 4) : second[c];
                    low[c] = _mm256_and_si256(a, mask), high[c] = _mm256_and_si256(b, mask);
                }
                store_steps(low, out);
                store_steps(high, out + 8 * STEP);
            }
        }
}

void avx2_pack_int8_q8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                       float *scales) {
    pack(false, w, count, g0, groups, panel, scales);
}

void avx2_pack_int8_q4(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                       float *scales) {
    pack(true, w, count, g0, groups, panel, scales);
}

/* The empty assembly keeps its place among its like: without it compilers load the inputs of all rows first,
 * and there are not enough registers for that. */
CPU_INLINE __m256i four_inputs(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    __m256i v = _mm256_set1_epi32(four);
    __asm__ volatile("" : "+x"(v));
    return v;
}

CPU_INLINE __m256i add_pairs(__m256i sum, __m256i w, __m256i v) {
    sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(w, v));
    __asm__ volatile("" : "+x"(sum));
    return sum;
}

/* y += scales * (sum - offset), 8 columns. */
CPU_INLINE void finish(float *y, __m256i sum, int32_t offset, const float *scales, float xs) {
    __m256 v = _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(offset)));
    __m256 scale = _mm256_mul_ps(_mm256_loadu_ps(scales), _mm256_set1_ps(xs));
    _mm256_storeu_ps(y, _mm256_fmadd_ps(v, scale, _mm256_loadu_ps(y)));
}

/* `rows` is a constant where this is used. Sums are variables, not an array: compilers keep an array in
 * memory. */
CPU_INLINE void block(const size_t rows, const bool q4, size_t groups, const cpu_quantized *x,
                      const uint8_t *panel, const float *scales, float *y, size_t ldy, bool add) {
    const __m256i zero = _mm256_setzero_si256();
    for (size_t r = 0; r < rows && !add; r++) memset(y + r * ldy, 0, CPU_PANEL * sizeof(float));
    for (size_t g = 0; g < groups; g++, scales += CPU_PANEL) {
        const int8_t *q0 = x[0].q + g * UOCR_GROUP;
        const int8_t *q1 = x[rows > 1 ? 1 : 0].q + g * UOCR_GROUP;
        const int8_t *q2 = x[rows > 2 ? 2 : 0].q + g * UOCR_GROUP;
        const int8_t *q3 = x[rows > 3 ? 3 : 0].q + g * UOCR_GROUP;
        __m256i s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero, s30 = zero,
                s31 = zero;
        for (size_t half = 0; half < (q4 ? 2 : 4); half++) {
            const __m256i weight = _mm256_set1_epi16(half < 2 ? 1 : 16);
            __m256i a00 = zero, a01 = zero, a10 = zero, a11 = zero, a20 = zero, a21 = zero, a30 = zero,
                    a31 = zero;
            const size_t first = half % 2 * 32;
#pragma GCC unroll 8
            for (size_t i = first; i < first + 32;
                 i += 4, panel += STEP) { /* 8 * 2 * 15 * 127 fits 16 bits */
                const __m256i w0 = avx2_load_bytes(panel), w1 = avx2_load_bytes(panel + 32);
                __m256i v = four_inputs(q0 + i);
                a00 = add_pairs(a00, w0, v);
                a01 = add_pairs(a01, w1, v);
                if (rows > 1) {
                    v = four_inputs(q1 + i);
                    a10 = add_pairs(a10, w0, v);
                    a11 = add_pairs(a11, w1, v);
                }
                if (rows > 2) {
                    v = four_inputs(q2 + i);
                    a20 = add_pairs(a20, w0, v);
                    a21 = add_pairs(a21, w1, v);
                }
                if (rows > 3) {
                    v = four_inputs(q3 + i);
                    a30 = add_pairs(a30, w0, v);
                    a31 = add_pairs(a31, w1, v);
                }
            }
            s00 = _mm256_add_epi32(s00, _mm256_madd_epi16(a00, weight));
            s01 = _mm256_add_epi32(s01, _mm256_madd_epi16(a01, weight));
            if (rows > 1) {
                s10 = _mm256_add_epi32(s10, _mm256_madd_epi16(a10, weight));
                s11 = _mm256_add_epi32(s11, _mm256_madd_epi16(a11, weight));
            }
            if (rows > 2) {
                s20 = _mm256_add_epi32(s20, _mm256_madd_epi16(a20, weight));
                s21 = _mm256_add_epi32(s21, _mm256_madd_epi16(a21, weight));
            }
            if (rows > 3) {
                s30 = _mm256_add_epi32(s30, _mm256_madd_epi16(a30, weight));
                s31 = _mm256_add_epi32(s31, _mm256_madd_epi16(a31, weight));
            }
        }
        const int32_t offset = q4 ? 8 : 128;
        finish(y + 0 * ldy + 0, s00, offset * x[0].sum[g], scales + 0, x[0].scale[g]);
        finish(y + 0 * ldy + 8, s01, offset * x[0].sum[g], scales + 8, x[0].scale[g]);
        if (rows > 1) {
            finish(y + 1 * ldy + 0, s10, offset * x[1].sum[g], scales + 0, x[1].scale[g]);
            finish(y + 1 * ldy + 8, s11, offset * x[1].sum[g], scales + 8, x[1].scale[g]);
        }
        if (rows > 2) {
            finish(y + 2 * ldy + 0, s20, offset * x[2].sum[g], scales + 0, x[2].scale[g]);
            finish(y + 2 * ldy + 8, s21, offset * x[2].sum[g], scales + 8, x[2].scale[g]);
        }
        if (rows > 3) {
            finish(y + 3 * ldy + 0, s30, offset * x[3].sum[g], scales + 0, x[3].scale[g]);
            finish(y + 3 * ldy + 8, s31, offset * x[3].sum[g], scales + 8, x[3].scale[g]);
        }
    }
}

void avx2_micro_int8_q8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                        const float *scales, float *y, size_t ldy, bool add) {
    CPU_BY_ROWS(rows, false, groups, x, panel, scales, y, ldy, add);
}

void avx2_micro_int8_q4(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                        const float *scales, float *y, size_t ldy, bool add) {
    CPU_BY_ROWS(rows, true, groups, x, panel, scales, y, ldy, add);
}
#else
typedef int cpu_int8_avx2_is_for_x86_64; /* a file must not be empty */
#endif
