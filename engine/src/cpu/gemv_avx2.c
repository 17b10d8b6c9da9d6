/* AVX2, FMA and F16C: one row of activations against rows of weights, as they lie in the file. */
#if defined(__x86_64__)
#include "avx2.h"

/* -- f32 activations ----------------------------------------------------------------------- */

CPU_INLINE __m256 load_weight(const uint8_t *row, bool half, size_t i) {
    return half ? avx2_load_f16((const uint16_t *)(const void *)row + i)
                : _mm256_loadu_ps((const float *)(const void *)row + i);
}

CPU_INLINE float dot_plain(const uint8_t *row, bool half, size_t k, const float *x) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 32 <= k; i += 32) {
        a = _mm256_fmadd_ps(load_weight(row, half, i), _mm256_loadu_ps(x + i), a);
        b = _mm256_fmadd_ps(load_weight(row, half, i + 8), _mm256_loadu_ps(x + i + 8), b);
        c = _mm256_fmadd_ps(load_weight(row, half, i + 16), _mm256_loadu_ps(x + i + 16), c);
        d = _mm256_fmadd_ps(load_weight(row, half, i + 24), _mm256_loadu_ps(x + i + 24), d);
    }
    for (; i + 8 <= k; i += 8) a = _mm256_fmadd_ps(load_weight(row, half, i), _mm256_loadu_ps(x + i), a);
    if (i < k) {
        const uint16_t *w16 = (const uint16_t *)(const void *)row + i;
        const float *w32 = (const float *)(const void *)row + i;
        __m256 w = half ? avx2_load_f16_tail(w16, k - i) : avx2_load_tail(w32, k - i, 0);
        b = _mm256_fmadd_ps(w, avx2_load_tail(x + i, k - i, 0), b);
    }
    return avx2_sum(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
}

void avx2_gemv_f32(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) y[r] = dot_plain(w->data + r * w->stride, false, k, x);
}

void avx2_gemv_f16(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) y[r] = dot_plain(w->data + r * w->stride, true, k, x);
}

CPU_INLINE __m256 scale_of(const uint8_t *scales, size_t group) {
    return _mm256_set1_ps(_cvtsh_ss((unsigned short)(scales[2 * group] | scales[2 * group + 1] << 8)));
}

void avx2_gemv_q8(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    for (size_t r = 0; r < rows; r++) {
        const int8_t *q = (const int8_t *)(w->data + r * w->stride);
        const uint8_t *scales = w->scales + r * w->scale_stride;
        __m256 sum = _mm256_setzero_ps();
        for (size_t g = 0; g < k; g += UOCR_GROUP) {
            __m256 a = _mm256_setzero_ps(), b = _mm256_setzero_ps();
            for (size_t i = g; i < g + UOCR_GROUP; i += 16) {
                a = _mm256_fmadd_ps(avx2_load_i8(q + i), _mm256_loadu_ps(x + i), a);
                b = _mm256_fmadd_ps(avx2_load_i8(q + i + 8), _mm256_loadu_ps(x + i + 8), b);
            }
            sum = _mm256_fmadd_ps(_mm256_add_ps(a, b), scale_of(scales, g / UOCR_GROUP), sum);
        }
        y[r] = avx2_sum(sum);
    }
}

void avx2_gemv_q4(const cpu_weight_rows *w, size_t rows, size_t k, const float *x, float *y) {
    const __m256i mask = _mm256_set1_epi32(15), eight = _mm256_set1_epi32(8);
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *q = w->data + r * w->stride, *scales = w->scales + r * w->scale_stride;
        __m256 sum = _mm256_setzero_ps();
        for (size_t g = 0; g < k; g += UOCR_GROUP) {
            __m256 a = _mm256_setzero_ps(), b = _mm256_setzero_ps();
            for (size_t i = 0; i < UOCR_GROUP / 2; i += 8) {
                __m256i pair =
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(q + g / 2 + i)));
                __m256i low = _mm256_sub_epi32(_mm256_and_si256(pair, mask), eight);
                __m256i high = _mm256_sub_epi32(_mm256_srli_epi32(pair, 4), eight);
                a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), _mm256_loadu_ps(x + g + i), a);
                b = _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), _mm256_loadu_ps(x + g + UOCR_GROUP / 2 + i), b);
            }
            sum = _mm256_fmadd_ps(_mm256_add_ps(a, b), scale_of(scales, g / UOCR_GROUP), sum);
        }
        y[r] = avx2_sum(sum);
    }
}

/* -- 8-bit activations --------------------------------------------------------------------- */

enum { CHUNK = 32 }; /* groups whose scales are multiplied out at a time */

/* out[g] = scale of w * scale of x; returns `correction` + 8 * sum of out times the sums of x (q4), in some
 * lanes. */
CPU_INLINE __m256 multiply_scales(const uint16_t *scales, size_t groups, const float *xs, const int32_t *xsum,
                                  bool q4, float *out, __m256 correction) {
    size_t i = 0;
    for (; i + 8 <= groups; i += 8) {
        __m256 p = _mm256_mul_ps(avx2_load_f16(scales + i), _mm256_loadu_ps(xs + i));
        _mm256_storeu_ps(out + i, p);
        if (!q4) continue;
        __m256i eight = _mm256_slli_epi32(avx2_load_bytes(xsum + i), 3);
        correction = _mm256_fmadd_ps(p, _mm256_cvtepi32_ps(eight), correction);
    }
    if (i + 4 <= groups) {
        __m128 s = _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)(scales + i)));
        __m128 p = _mm_mul_ps(s, _mm_loadu_ps(xs + i));
        __m128i eight = _mm_slli_epi32(_mm_loadu_si128((const __m128i *)(const void *)(xsum + i)), 3);
        _mm_storeu_ps(out + i, p);
        p = _mm_mul_ps(p, _mm_cvtepi32_ps(eight));
        if (q4) correction = _mm256_add_ps(correction, _mm256_zextps128_ps256(p));
        i += 4;
    }
    for (; i < groups; i++) {
        out[i] = _cvtsh_ss(scales[i]) * xs[i];
        __m128 p = _mm_set_ss(out[i] * (float)(8 * xsum[i]));
        if (q4) correction = _mm256_add_ps(correction, _mm256_zextps128_ps256(p));
    }
    return correction;
}

/* Eight sums of 8 products of a group of 64, as 32-bit integers. */
CPU_INLINE __m256i group_q8(const uint8_t *q, const int8_t *xq) {
    const __m256i one = _mm256_set1_epi16(1);
    __m256i x0 = avx2_load_bytes(xq), x1 = avx2_load_bytes(xq + 32);
    /* |x| * (w with the sign of x): at most 2 * 127 * 127, no 16-bit saturation. */
    __m256i p0 = _mm256_maddubs_epi16(_mm256_abs_epi8(x0), _mm256_sign_epi8(avx2_load_bytes(q), x0));
    __m256i p1 = _mm256_maddubs_epi16(_mm256_abs_epi8(x1), _mm256_sign_epi8(avx2_load_bytes(q + 32), x1));
    return _mm256_add_epi32(_mm256_madd_epi16(p0, one), _mm256_madd_epi16(p1, one));
}

CPU_INLINE __m256i group_q4(const uint8_t *q, const int8_t *xq) {
    const __m256i one = _mm256_set1_epi16(1), mask = _mm256_set1_epi8(15);
    __m256i pair = avx2_load_bytes(q);
    __m256i low = _mm256_and_si256(pair, mask), high = _mm256_and_si256(_mm256_srli_epi16(pair, 4), mask);
    /* At most 4 * 15 * 127 in 16 bits. */
    __m256i p = _mm256_add_epi16(_mm256_maddubs_epi16(low, avx2_load_bytes(xq)),
                                 _mm256_maddubs_epi16(high, avx2_load_bytes(xq + 32)));
    return _mm256_madd_epi16(p, one);
}

/* sum + scale * dot of one group. */
CPU_INLINE __m256 add_group(bool q4, const uint8_t *q, const int8_t *xq, const float *scale, __m256 sum) {
    __m256i dot = q4 ? group_q4(q, xq) : group_q8(q, xq);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_broadcast_ss(scale), sum);
}

/* Row by row: a matrix is one stream from its first byte to its last, which is what memory delivers fastest;
 * four rows side by side took twice as long, and asking ahead for every line was slower than asking for the
 * first two of a page. */
CPU_INLINE void int8_rows(bool q4, const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x,
                          float *y) {
    const size_t bytes = q4 ? UOCR_GROUP / 2 : UOCR_GROUP, all = k / UOCR_GROUP;
    uintptr_t asked = 0;
    for (size_t r = 0; r < rows; r++) {
        const uint8_t *q = w->data + r * w->stride;
        const uint16_t *scales = (const uint16_t *)(const void *)(w->scales + r * w->scale_stride);
        __m256 a = _mm256_setzero_ps(), b = a, correction = a;
        float product[CHUNK];
        for (size_t g0 = 0; g0 < all; g0 += CHUNK) {
            const size_t groups = all - g0 < CHUNK ? all - g0 : CHUNK;
            const int8_t *xq = x->q + g0 * UOCR_GROUP;
            asked = avx2_ask_next_page(q, asked);
            correction =
                multiply_scales(scales + g0, groups, x->scale + g0, x->sum + g0, q4, product, correction);
            size_t g = 0;
            for (; g + 2 <= groups; g += 2, q += 2 * bytes, xq += 2 * UOCR_GROUP) {
                a = add_group(q4, q, xq, product + g, a);
                b = add_group(q4, q + bytes, xq + UOCR_GROUP, product + g + 1, b);
            }
            if (g < groups) {
                a = add_group(q4, q, xq, product + g, a);
                q += bytes;
            }
        }
        y[r] = avx2_sum(_mm256_sub_ps(_mm256_add_ps(a, b), correction));
    }
}

void avx2_gemv_int8_q8(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(false, w, rows, k, x, y);
}

void avx2_gemv_int8_q4(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(true, w, rows, k, x, y);
}

/* Bit by bit what the portable table computes. */
void avx2_quantize(const float *x, size_t n, const cpu_quantized *out) {
    const __m256 sign_bit = _mm256_set1_ps(-0.0f);
    for (size_t g = 0; g < n / UOCR_GROUP; g++) {
        const float *v = x + g * UOCR_GROUP;
        __m256 largest = _mm256_setzero_ps(), poison = _mm256_setzero_ps();
        for (size_t i = 0; i < UOCR_GROUP; i += 8) {
            __m256 e = _mm256_loadu_ps(v + i);
            largest = _mm256_max_ps(_mm256_andnot_ps(sign_bit, e), largest);
            poison = _mm256_add_ps(poison, _mm256_mul_ps(e, _mm256_setzero_ps()));
        }
        float scale = avx2_max(largest) / 127.0f, inverse = scale > 0x1p-120f ? 1.0f / scale : 0.0f,
              bad = avx2_sum(poison);
        if (bad != bad) scale = bad, inverse = 0;
        __m256i total = _mm256_setzero_si256();
        for (size_t i = 0; i < UOCR_GROUP; i += 32) {
            __m256i q[4];
            for (size_t j = 0; j < 4; j++) {
                __m256 e = _mm256_mul_ps(_mm256_loadu_ps(v + i + 8 * j), _mm256_set1_ps(inverse));
                q[j] = bad != bad ? _mm256_setzero_si256() : _mm256_cvtps_epi32(e);
                total = _mm256_add_epi32(total, q[j]);
            }
            /* Packing works in halves of 128 bits: put the 32-bit pieces back in order. */
            __m256i bytes =
                _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
            bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
            _mm256_storeu_si256((__m256i *)(void *)(out->q + g * UOCR_GROUP + i), bytes);
        }
        __m128i t = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
        t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0x4e));
        t = _mm_add_epi32(t, _mm_shuffle_epi32(t, 0xb1));
        out->scale[g] = scale;
        out->sum[g] = _mm_cvtsi128_si32(t);
    }
}
#else
typedef int cpu_gemv_avx2_is_for_x86_64;
#endif
