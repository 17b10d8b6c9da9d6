/* Row functions of the AVX2 table, see kernels.h. */
#ifndef UOCR_SRC_CPU_ROWS_AVX2_H
#define UOCR_SRC_CPU_ROWS_AVX2_H

#include "kernels.h"

float avx2_scores(float *s, size_t n, float scale, float add, const float *column);
float avx2_maximum(const float *x, size_t n);
float avx2_exponentials(float *s, size_t n, float max);
void avx2_scale(float *x, size_t n, float factor);
void avx2_tail(float *y, const float *bias, size_t n, uocr_activation activation);
void avx2_silu_mul(float *gate, const float *up, size_t n);
void avx2_to_f16(const float *x, size_t n, uint16_t *y);
void avx2_to_f32(const uint16_t *x, size_t n, float *y);

#endif
