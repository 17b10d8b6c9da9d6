/* Harness of test_ops: random data from fixed seeds, weights of every type with their exact values in
 * float64, comparison against a bound per element, and a digest of every output for thread-count
 * independence. */
#ifndef TESTS_ENGINE_OPS_SUPPORT_H
#define TESTS_ENGINE_OPS_SUPPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

/* Unit roundoff of f32: a rounded operation is off by at most this, relative. */
#define EPS 0x1p-24

typedef struct ops {
    uocr_backend *backend;
    bool exact, integer; /* precision; neither: FAST */
    uint32_t simd; /* UOCR_SIMD_* */
    bool few;        /* leave out the largest shapes: for emulated processors */
    bool verify;     /* false: only run and digest (other thread counts) */
    uint64_t digest; /* of every output so far, in order */
    uint64_t random;
    double worst; /* largest error / bound seen */
    char worst_name[96];
    unsigned checks, failures;
} ops;

static inline const char *precision_name(const ops *o) {
    return o->exact ? "exact" : o->integer ? "integer" : "fast";
}

typedef struct weight {
    uocr_weight view;
    double *value; /* [matrices * rows * cols], exactly what the payload means */
    uint8_t *payload, *scales;
} weight;

/* Relative rounding of a product's two inputs together: 0, or 2^-10 for a back end whose tiles are half. */
extern double ops_tile_error;
/* Cases with more rows are cut to this many: where every step is watched, rows are dear. */
extern size_t ops_most_rows;
size_t fewer(size_t rows);

double uniform(ops *, double low, double high);
/* Shapes without a whole number of groups cannot be q8 or q4; asking for that is a bug of the test. */
weight weight_random(ops *, uocr_dtype, size_t matrices, size_t rows, size_t cols, double amplitude);
weight weight_of(uocr_dtype, size_t rows, size_t cols, const double *values); /* rounded to the type */
void weight_free(weight *);
const char *dtype_name(uocr_dtype);
double f16_value(uint16_t);
uint16_t f16_of(double);

/* A tensor in its own buffer, rows `gap` elements longer than cols; the gap holds a pattern that must
 * survive. */
uocr_tensor tensor_new(ops *, uocr_dtype, size_t rows, size_t cols, size_t gap);
uocr_tensor tensor_random(ops *, size_t rows, size_t cols, size_t gap, double amplitude);
void tensor_free(ops *, uocr_tensor);
/* Values as float64, [rows, cols]; the caller frees. */
double *tensor_values(ops *, uocr_tensor);
void tensor_write(ops *, uocr_tensor, const double *values);

/* A workspace of exactly `bytes`, bound; NULL for 0 bytes. */
uocr_buffer *workspace(ops *, size_t bytes);

/* Every |got - want| <= bound, and the gap untouched. want NULL when not verifying. */
void expect(ops *, const char *what, uocr_tensor got, const double *want, const double *bound);
void expect_true(ops *, const char *what, bool);
void expect_ok(ops *, const char *what, uocr_status);

/* Error bound of an f32 sum of n products whose magnitudes add up to `magnitude`: chains are at most 256 + n
 * / 256 long in any order the kernels use. Rounding errors of a chain of length c add up like a random walk,
 * c^(1/2) EPS, times 8 for certainty. */
double sum_bound(size_t n, double magnitude);
/* y[r, o] = x[r] . w[o] and its magnitude sum |x| |w|; matrix m. */
void product(const double *x, const weight *w, size_t m, size_t rows, double *y, double *magnitude);
/* What quantising x per group of 64 to 8 bits can do to x[r] . w[o]: half a step per element. */
void int8_error(const double *x, const weight *w, size_t m, size_t rows, double *error);
/* Whether `linear` uses integer activations for this product. */
bool uses_int8(const ops *, const weight *w, size_t rows);
/* y and the bound of a linear product, with integer activations or without. */
void product_bound(const double *x, const weight *w, size_t m, size_t rows, bool int8, double *y,
                   double *bound);

void *zeroed(size_t count, size_t size);

void test_linear(ops *);
void test_experts(ops *);
void test_attention(ops *);
void test_vision(ops *);
void test_rows(ops *);
void test_decoder(ops *);
void test_bad_numbers(ops *);
void test_cancel(ops *);
void test_rope(ops *);
void test_kernels(ops *);

#endif
