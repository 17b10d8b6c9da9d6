/* AVX2 and FMA: softmax rows, activations, conversions. The polynomials are those of the portable table. */
#if defined(__x86_64__)
#include "rows_avx2.h"

#include "avx2.h"
#include "polynomials.h"

#define SPLAT(x) _mm256_set1_ps(x)

/* exp of CPU_EXP_MIN..CPU_EXP_MAX */
CPU_INLINE __m256 exp_vector(__m256 x) {
    __m256 shifted = _mm256_fmadd_ps(x, SPLAT(CPU_LOG2E), SPLAT(0x1.8p23f));
    __m256 n = _mm256_sub_ps(shifted, SPLAT(0x1.8p23f));
    __m256 r = _mm256_fnmadd_ps(n, SPLAT(CPU_LN2_LOW), _mm256_fnmadd_ps(n, SPLAT(CPU_LN2_HIGH), x));
    __m256 q = _mm256_fmadd_ps(SPLAT(CPU_E4), r, SPLAT(CPU_E3));
    q = _mm256_fmadd_ps(q, r, SPLAT(CPU_E2));
    q = _mm256_fmadd_ps(q, r, SPLAT(CPU_E1));
    q = _mm256_fmadd_ps(q, r, SPLAT(CPU_E0));
    __m256 value = _mm256_add_ps(SPLAT(1), _mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r));
    __m256i power =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(value, _mm256_castsi256_ps(power));
}

/* min and max return their second operand when one is NaN: NaN passes through. */
CPU_INLINE __m256 clamp(__m256 x, float low, float high) {
    return _mm256_min_ps(SPLAT(high), _mm256_max_ps(SPLAT(low), x));
}

CPU_INLINE __m256 sigmoid(__m256 x) {
    __m256 e = exp_vector(clamp(_mm256_sub_ps(_mm256_setzero_ps(), x), CPU_EXP_MIN, CPU_EXP_MAX));
    return _mm256_div_ps(SPLAT(1), _mm256_add_ps(SPLAT(1), e));
}

CPU_INLINE __m256 erf_vector(__m256 z) {
    const __m256 sign_bit = SPLAT(-0.0f);
    __m256 a = _mm256_andnot_ps(sign_bit, z), u = _mm256_mul_ps(z, z);
    __m256 s = _mm256_fmadd_ps(SPLAT(CPU_S6), u, SPLAT(CPU_S5));
    s = _mm256_fmadd_ps(s, u, SPLAT(CPU_S4));
    s = _mm256_fmadd_ps(s, u, SPLAT(CPU_S3));
    s = _mm256_fmadd_ps(s, u, SPLAT(CPU_S2));
    s = _mm256_fmadd_ps(s, u, SPLAT(CPU_S1));
    s = _mm256_mul_ps(_mm256_fmadd_ps(s, u, SPLAT(CPU_S0)), z);
    __m256 b = _mm256_min_ps(SPLAT(4), a); /* erf(4) is 1 in f32; NaN passes */
    __m256 l = _mm256_fmadd_ps(SPLAT(CPU_L6), b, SPLAT(CPU_L5));
    l = _mm256_fmadd_ps(l, b, SPLAT(CPU_L4));
    l = _mm256_fmadd_ps(l, b, SPLAT(CPU_L3));
    l = _mm256_fmadd_ps(l, b, SPLAT(CPU_L2));
    l = _mm256_fmadd_ps(l, b, SPLAT(CPU_L1));
    l = _mm256_fmadd_ps(l, b, SPLAT(CPU_L0));
    l = _mm256_sub_ps(SPLAT(1), exp_vector(_mm256_sub_ps(_mm256_setzero_ps(), l)));
    l = _mm256_or_ps(l, _mm256_and_ps(z, sign_bit));
    return _mm256_blendv_ps(l, s, _mm256_cmp_ps(a, SPLAT(1), _CMP_LT_OQ));
}

float avx2_maximum(const float *x, size_t n) {
    if (n < 8) return avx2_max(avx2_load_tail(x, n, x[0]));
    __m256 best = _mm256_loadu_ps(x);
    for (size_t i = 8; i + 8 <= n; i += 8) best = _mm256_max_ps(_mm256_loadu_ps(x + i), best);
    return avx2_max(_mm256_max_ps(_mm256_loadu_ps(x + n - 8), best));
}

float avx2_scores(float *s, size_t n, float scale, float add, const float *column) {
    const __m256 factor = SPLAT(scale), plus = SPLAT(add);
    __m256 best = SPLAT(-__builtin_inff());
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 extra = column ? _mm256_add_ps(plus, _mm256_loadu_ps(column + i)) : plus;
        __m256 v = _mm256_fmadd_ps(_mm256_loadu_ps(s + i), factor, extra);
        _mm256_storeu_ps(s + i, v);
        best = _mm256_max_ps(v, best);
    }
    if (i < n) {
        __m256 extra = column ? _mm256_add_ps(plus, avx2_load_tail(column + i, n - i, column[i])) : plus;
        __m256 v = _mm256_fmadd_ps(avx2_load_tail(s + i, n - i, s[i]), factor, extra);
        avx2_store_tail(s + i, n - i, v);
        best = _mm256_max_ps(v, best); /* the other lanes repeat the first */
    }
    return avx2_max(best);
}

CPU_INLINE __m256 exp_or_zero(__m256 x) {
    __m256 there = _mm256_cmp_ps(x, SPLAT(CPU_EXP_MIN), _CMP_NLT_UQ); /* NaN stays */
    return _mm256_and_ps(there, exp_vector(clamp(x, CPU_EXP_MIN, CPU_EXP_MAX)));
}

float avx2_exponentials(float *s, size_t n, float max) {
    const __m256 largest = SPLAT(max);
    __m256 sum = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 e = exp_or_zero(_mm256_sub_ps(_mm256_loadu_ps(s + i), largest));
        _mm256_storeu_ps(s + i, e);
        sum = _mm256_add_ps(sum, e);
    }
    if (i < n) {
        __m256 e = exp_or_zero(_mm256_sub_ps(avx2_load_tail(s + i, n - i, -__builtin_inff()), largest));
        avx2_store_tail(s + i, n - i, e);
        sum = _mm256_add_ps(sum, e);
    }
    return avx2_sum(sum);
}

void avx2_scale(float *x, size_t n, float factor) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), SPLAT(factor)));
    for (; i < n; i++) x[i] *= factor;
}

CPU_INLINE __m256 activated(__m256 v, uocr_activation activation) {
    if (activation == UOCR_GELU_ERF) {
        __m256 t = erf_vector(_mm256_mul_ps(v, SPLAT(CPU_SQRT_HALF)));
        return _mm256_mul_ps(_mm256_mul_ps(SPLAT(0.5f), v), _mm256_add_ps(SPLAT(1), t));
    }
    if (activation == UOCR_GELU_QUICK)
        return _mm256_mul_ps(v, sigmoid(_mm256_mul_ps(v, SPLAT(CPU_QUICK_GELU))));
    return v;
}

CPU_INLINE void tail_of(float *y, const float *bias, size_t n, uocr_activation activation) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(y + i);
        if (bias) v = _mm256_add_ps(v, _mm256_loadu_ps(bias + i));
        _mm256_storeu_ps(y + i, activated(v, activation));
    }
    if (i < n) {
        __m256 v = avx2_load_tail(y + i, n - i, 0);
        if (bias) v = _mm256_add_ps(v, avx2_load_tail(bias + i, n - i, 0));
        avx2_store_tail(y + i, n - i, activated(v, activation));
    }
}

void avx2_tail(float *y, const float *bias, size_t n, uocr_activation activation) {
    if (activation == UOCR_GELU_ERF) tail_of(y, bias, n, UOCR_GELU_ERF);
    else if (activation == UOCR_GELU_QUICK) tail_of(y, bias, n, UOCR_GELU_QUICK);
    else tail_of(y, bias, n, UOCR_IDENTITY);
}

void avx2_silu_mul(float *gate, const float *up, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 g = _mm256_loadu_ps(gate + i);
        _mm256_storeu_ps(gate + i, _mm256_mul_ps(_mm256_mul_ps(g, sigmoid(g)), _mm256_loadu_ps(up + i)));
    }
    if (i < n) {
        __m256 g = avx2_load_tail(gate + i, n - i, 0);
        avx2_store_tail(gate + i, n - i,
                        _mm256_mul_ps(_mm256_mul_ps(g, sigmoid(g)), avx2_load_tail(up + i, n - i, 0)));
    }
}

void avx2_to_f16(const float *x, size_t n, uint16_t *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) y[i] = cpu_f32_to_f16(x[i]);
}

void avx2_to_f32(const uint16_t *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, avx2_load_f16(x + i));
    for (; i < n; i++) y[i] = cpu_f16_to_f32(x[i]);
}
#else
typedef int cpu_rows_avx2_is_for_x86_64;
#endif
