/* Small helpers of the AVX2 files. Only included where __AVX2__, __FMA__ and __F16C__ are on. */
#ifndef UOCR_SRC_CPU_AVX2_H
#define UOCR_SRC_CPU_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#define CPU_INLINE static inline __attribute__((always_inline))

CPU_INLINE float avx2_sum(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

CPU_INLINE float avx2_max(__m256 v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* The last n < 8 elements of a row, the other lanes `fill`; never reads past them. */
CPU_INLINE __m256 avx2_load_tail(const float *x, size_t n, float fill) {
    float lane[8];
    _mm256_storeu_ps(lane, _mm256_set1_ps(fill));
    memcpy(lane, x, n * sizeof(float));
    return _mm256_loadu_ps(lane);
}

CPU_INLINE void avx2_store_tail(float *y, size_t n, __m256 v) {
    float lane[8];
    _mm256_storeu_ps(lane, v);
    memcpy(y, lane, n * sizeof(float));
}

CPU_INLINE __m256 avx2_load_f16(const uint16_t *x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
}

CPU_INLINE __m256 avx2_load_f16_tail(const uint16_t *x, size_t n) {
    uint16_t lane[8] = {0};
    memcpy(lane, x, n * sizeof(uint16_t));
    return avx2_load_f16(lane);
}

/* Eight signed bytes as f32. */
CPU_INLINE __m256 avx2_load_i8(const int8_t *q) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)q)));
}

CPU_INLINE __m256i avx2_load_bytes(const void *bytes) { return _mm256_loadu_si256((const __m256i *)bytes); }

CPU_INLINE void avx2_store_bytes(void *bytes, __m256i v) { _mm256_storeu_si256((__m256i *)bytes, v); }

/* Processors prefetch a stream only within its page of 4 KB, and start anew in the next. Asking for the first
 * lines of the page after while this one is read keeps a matrix one stream. `asked`: what this returned
 * last. */
CPU_INLINE uintptr_t avx2_ask_next_page(const uint8_t *at, uintptr_t asked) {
    enum { PAGE = 4096, AHEAD = 3072, LINE = 64 };
    const uintptr_t page = ((uintptr_t)at + AHEAD) & ~(uintptr_t)(PAGE - 1);
    if (page != asked) {
        _mm_prefetch((const char *)page, _MM_HINT_T0);
        _mm_prefetch((const char *)page + LINE, _MM_HINT_T0);
    }
    return page;
}

/* kernels_avx2.c */
void avx2_micro(size_t rows, size_t k, const float *x, size_t ldx, const float *panel, size_t ldp, float *y,
                size_t ldy, bool add);
void avx2_pack_f32(const cpu_weight_rows *, size_t count, size_t k0, size_t k, float *panel);
void avx2_pack_f16(const cpu_weight_rows *, size_t count, size_t k0, size_t k, float *panel);
void avx2_pack_q8(const cpu_weight_rows *, size_t count, size_t k0, size_t k, float *panel);
void avx2_pack_q4(const cpu_weight_rows *, size_t count, size_t k0, size_t k, float *panel);
void avx2_mix_f32(const float *v, size_t stride, size_t rows, size_t n, const float *p, float *y);
void avx2_mix_f16(const uint16_t *v, size_t stride, size_t rows, size_t n, const float *p, float *y);
/* gemv_avx2.c */
void avx2_gemv_f32(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void avx2_gemv_f16(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void avx2_gemv_q8(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void avx2_gemv_q4(const cpu_weight_rows *, size_t rows, size_t k, const float *x, float *y);
void avx2_gemv_int8_q8(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void avx2_gemv_int8_q4(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void avx2_quantize(const float *x, size_t n, const cpu_quantized *out);
/* int8_avx2.c */
void avx2_pack_int8_q8(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                       float *scales);
void avx2_pack_int8_q4(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                       float *scales);
void avx2_micro_int8_q8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                        const float *scales, float *y, size_t ldy, bool add);
void avx2_micro_int8_q4(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                        const float *scales, float *y, size_t ldy, bool add);
/* int8_avx512.c */
void avx512_gemv_int8_q8(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void avx512_gemv_int8_q4(const cpu_weight_rows *, size_t rows, size_t k, const cpu_quantized *x, float *y);
void avx512_pack_int8_q8(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                         float *scales);
void avx512_pack_int8_q4(const cpu_weight_rows *, size_t count, size_t g0, size_t groups, uint8_t *panel,
                         float *scales);
void avx512_micro_int8_q8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add);
void avx512_micro_int8_q4(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add);

#endif
