/* What the files of the CPU back end share: the back end itself, per-thread scratch, the matrix product. */
#ifndef UOCR_SRC_CPU_CPU_H
#define UOCR_SRC_CPU_CPU_H

#include <assert.h>
#include <string.h>

#include "../backend.h"
#include "../threads.h"
#include "kernels.h"

enum {
    CPU_BUFFERS = 1024, /* buffers alive at once */
    CPU_ALIGN = 64,
};

struct uocr_buffer {
    uint8_t *data; /* NULL: this place is free */
    size_t bytes;
    uint32_t category;
};

enum { CPU_ROPE_PAIRS = 128 }; /* half of the widest head that a model file may have */

/* How a position turns a head. Every layer turns a token alike, so this is worked out once a token. */
typedef struct cpu_rotation {
    size_t pairs, position; /* pairs 0: none yet */
    float theta;
    float frequency[CPU_ROPE_PAIRS], cosine[CPU_ROPE_PAIRS], sine[CPU_ROPE_PAIRS];
} cpu_rotation;

typedef struct cpu_backend {
    uocr_backend base; /* first: a uocr_backend * is a cpu_backend * */
    const cpu_kernels *kernels;
    uocr_memory *memory;
    uocr_pool *pool;
    bool exact;
    uint8_t *scratch; /* scratch_stride bytes for each thread, allocated once */
    size_t scratch_stride, scratch_bytes, counted_pool_bytes;
    uint8_t *workspace; /* bound by the caller, NULL without */
    size_t workspace_bytes;
    float pixel[256];
    cpu_rotation rotation; /* of the newest single row */
    uocr_buffer buffer[CPU_BUFFERS];
} cpu_backend;

static inline cpu_backend *cpu_of(uocr_backend *b) { return (cpu_backend *)(void *)b; }
static inline uint8_t *cpu_scratch(const cpu_backend *b, uint32_t worker) {
    return b->scratch + worker * b->scratch_stride;
}
static inline size_t cpu_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t cpu_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }
static inline size_t cpu_divide_up(size_t n, size_t by) { return (n + by - 1) / by; }
static inline float *cpu_f32(uocr_tensor t) { return (float *)(void *)(t.buffer->data + t.offset); }
static inline int32_t *cpu_i32(uocr_tensor t) { return (int32_t *)(void *)(t.buffer->data + t.offset); }

/* Bytes of `elements` weights of a type, without scales. */
static inline size_t cpu_weight_bytes(uocr_dtype dtype, size_t elements) {
    return dtype == UOCR_F32   ? 4 * elements
           : dtype == UOCR_F16 ? 2 * elements
           : dtype == UOCR_Q8  ? elements
                               : elements / 2;
}
static inline bool cpu_has_scales(uocr_dtype dtype) { return dtype == UOCR_Q8 || dtype == UOCR_Q4; }
/* Bytes read to go through a whole weight, for the profile. */
static inline uint64_t cpu_weight_traffic(const uocr_weight *w) {
    size_t n = w->rows * w->cols;
    return cpu_weight_bytes(w->dtype, n) + (cpu_has_scales(w->dtype) ? n / UOCR_GROUP * 2 : 0);
}

/* Rows first.. of matrix number `matrix`. */
static inline cpu_weight_rows cpu_rows_of(const uocr_weight *w, size_t matrix, size_t first) {
    size_t row = matrix * w->rows + first, stride = cpu_weight_bytes(w->dtype, w->cols);
    size_t scale_stride = cpu_has_scales(w->dtype) ? w->cols / UOCR_GROUP * 2 : 0;
    const uint8_t *scales = w->scales ? w->scales + row * scale_stride : NULL;
    return (cpu_weight_rows){w->payload + row * stride, stride, scales, scale_stride};
}

/* Elements [first, first + count) of row `row` as f32. Small tables and single rows only: plain C. */
void cpu_weight_read(const uocr_weight *, size_t row, size_t first, size_t count, float *out);

/* -- time, for the profile (nothing when it is off) ---------------------------------------- */
static inline double cpu_begin(const cpu_backend *b) {
    return b->base.profile && b->base.profile->enabled ? uocr_now() : 0;
}
static inline void cpu_end(cpu_backend *b, const char *name, double begun, uint64_t bytes, double flops) {
    if (b->base.profile && b->base.profile->enabled)
        uocr_profile_add(b->base.profile, name, uocr_now() - begun, bytes, flops);
}

/* -- workspace ----------------------------------------------------------------------------- */
/* Takes aligned pieces off the bound workspace; the *_workspace functions add up the same pieces. */
typedef struct cpu_arena {
    uint8_t *at, *end;
} cpu_arena;
static inline size_t cpu_piece(size_t bytes) { return cpu_round_up(bytes, CPU_ALIGN); }
static inline cpu_arena cpu_arena_begin(const cpu_backend *b) {
    return (cpu_arena){b->workspace, b->workspace + b->workspace_bytes};
}
static inline void *cpu_take(cpu_arena *a, size_t bytes) {
    uint8_t *piece = a->at;
    a->at += cpu_piece(bytes);
    assert(a->at <= a->end);
    return piece;
}
/* Quantised activations of rows x in. */
static inline size_t cpu_quantized_bytes(size_t rows, size_t in) {
    return cpu_piece(rows * in) + 2 * cpu_piece(rows * cpu_divide_up(in, UOCR_GROUP) * sizeof(float));
}
static inline cpu_quantized cpu_take_quantized(cpu_arena *a, size_t rows, size_t in) {
    cpu_quantized out;
    out.q = cpu_take(a, rows * in);
    out.scale = cpu_take(a, rows * cpu_divide_up(in, UOCR_GROUP) * sizeof(float));
    out.sum = cpu_take(a, rows * cpu_divide_up(in, UOCR_GROUP) * sizeof(int32_t));
    return out;
}
static inline cpu_quantized cpu_quantized_row(cpu_quantized x, size_t row, size_t in) {
    return (cpu_quantized){x.q + row * in, x.scale + row * (in / UOCR_GROUP),
                           x.sum + row * (in / UOCR_GROUP)};
}

/* -- matrix product (gemm.c) --------------------------------------------------------------- */
enum {
    CPU_GEMM_K = 256,   /* inputs per packed panel: the order of sums depends on it and on nothing else */
    CPU_GEMM_COLS = 64, /* output columns per tile: 64 x 256 f32 of packed weights stay in a 256 KB L2 */
    CPU_MLP_ROWS = 192, /* most rows per tile of a gated layer: one of its two products is kept in scratch */
    CPU_GEMM_ROWS = 96, /* rows of x that stay in L2 while panels pass */
};

/* out[i * k + j] = input element k0 + j of row row0 + i: patches, gathered rows. */
typedef void (*cpu_gather_fn)(const void *context, size_t row0, size_t rows, size_t k0, size_t k, float *out);

/* y = act(x W^T + bias), or y += x W^T + bias. */
typedef struct cpu_gemm {
    const float *x; /* [rows, weight.cols], or NULL: `gather` supplies it */
    size_t ldx;
    cpu_gather_fn gather;
    const void *context;
    cpu_quantized xq;        /* xq.q not NULL: instead of x, [rows, weight.cols]; weights are q8 or q4 */
    const uint32_t *xq_rows; /* row i of the product is row xq_rows[i] of xq; NULL: i */
    const uocr_weight *weight;
    size_t matrix;           /* of a stack */
    const uocr_weight *bias; /* NULL for none */
    uocr_activation activation;
    bool accumulate;
    float *y;
    size_t ldy;
    size_t y_row0, y_col0; /* y points at this row and column of the product, usually 0 and 0 */
} cpu_gemm;

size_t cpu_gemm_scratch(void); /* bytes of thread scratch cpu_gemm_block uses, whatever the activations */
/* Rows [row0, row0 + rows) and columns [col0, col0 + cols <= CPU_GEMM_COLS) of y. */
void cpu_gemm_block(const cpu_kernels *, const cpu_gemm *, size_t row0, size_t rows, size_t col0, size_t cols,
                    uint8_t *scratch);
size_t cpu_gemm_tile_rows(const cpu_kernels *, size_t k); /* rows of y per tile */
/* The whole product over the pool. */
uocr_status cpu_gemm_run(cpu_backend *, const cpu_gemm *, size_t rows);

/* The same with quantised activations, q8 and q4 weights only (gemm_int8.c). */
size_t cpu_gemm_int8_scratch(void);
void cpu_gemm_int8_block(const cpu_kernels *, const cpu_gemm *, size_t row0, size_t rows, size_t col0,
                         size_t cols, uint8_t *scratch);
uocr_status cpu_quantize_rows(cpu_backend *, const float *x, size_t ldx, size_t rows, size_t in,
                              cpu_quantized out);

/* -- products of one row (linear.c) -------------------------------------------------------- */
/* y[i] = row row0 + i of a matrix times x; xq is used instead where it is given and the weights are q8 or q4.
 */
void cpu_gemv_block(const cpu_kernels *, const uocr_weight *, size_t matrix, size_t row0, size_t rows,
                    const float *x, const cpu_quantized *xq, float *y);
size_t cpu_gemv_tile(const cpu_backend *, size_t rows); /* weight rows per tile, at most CPU_GEMV_ROWS */
enum { CPU_GEMV_ROWS = 1024 }; /* long runs of a matrix: memory loses its stride where another one begins */
static inline bool cpu_uses_int8(const cpu_backend *b, uocr_dtype dtype) {
    return !b->exact && cpu_has_scales(dtype);
}

/* -- operators, by file -------------------------------------------------------------------- */
void cpu_install_linear(uocr_backend *);
void cpu_install_rows(uocr_backend *);
void cpu_install_attention(uocr_backend *);
void cpu_install_attention_grid(uocr_backend *);
void cpu_install_vision(uocr_backend *);
void cpu_install_mlp(uocr_backend *);
void cpu_install_decoder(uocr_backend *);

size_t cpu_attention_scratch(const uocr_config *); /* bytes per thread */

#endif
