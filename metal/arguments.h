/* Arguments of the kernels, as the host fills them and the kernels read them. Included by C and by Metal.
 *
 * Counts and strides are in elements, positions in tokens. Weight types are uocr_dtype: 0 f32, 1 f16, 2 q8, 3
 * q4. */
#ifndef UOCR_METAL_ARGUMENTS_H
#define UOCR_METAL_ARGUMENTS_H

#ifndef __METAL_VERSION__
#include <stdint.h>
#endif

#define GPU_PARTS 3     /* products of one input in one dispatch */
#define GPU_GEMV_ROWS 4 /* weight rows of one simdgroup */
#define GPU_GEMV_SIMDGROUPS 4
#define GPU_TILE_ROWS 64 /* of y */
#define GPU_TILE_COLS 32
#define GPU_TILE_K 32
#define GPU_ATTEND_KEYS 32  /* keys of one tile */
#define GPU_DECODE_KEYS 256 /* keys of one threadgroup of attention_decode */
#define GPU_DECODE_SIMDGROUPS 8
#define GPU_MOST_HEAD_DIM 128
#define GPU_MOST_EXPERTS 256
#define GPU_MOST_TOP_K 16
#define GPU_MOST_RANK 256
#define GPU_CHOOSE_BLOCKS 64 /* threadgroups that look at logits */
#define GPU_FINITE_BLOCKS 64
#define GPU_HISTORY 1024 /* ids on the device: prompt tail and output */
#define GPU_PERIOD 4     /* of what repeats at once, at most (UOCR_NGRAM_PERIOD) */

/* What rows of a matrix product are made of. */
#define GPU_SOURCE_ROWS 0
#define GPU_SOURCE_GATHER 1 /* row numbers from a list */
#define GPU_SOURCE_PATCH 2  /* pixels of a patch through the normalising table */
#define GPU_SOURCE_CONV 3   /* 3x3 neighbourhood, zero padding */

/* Where keys and values lie. */
#define GPU_KEYS_CACHE 0  /* head-major slots, causal */
#define GPU_KEYS_ROWS 1   /* q, k, v side by side, every key seen */
#define GPU_KEYS_WINDOW 2 /* the same over a grid cut into windows, with relative position */

typedef struct gpu_rows_args { /* copy_rows, embed_rows, add_rows, finite_rows */
    uint32_t rows, cols, x_stride, y_stride;
    uint32_t from_list, to_list; /* 1: row numbers come from a list */
} gpu_rows_args;

typedef struct gpu_norm_args {
    uint32_t rows, cols, x_stride, y_stride;
    float eps;
} gpu_norm_args;

typedef struct gpu_gemv_part {
    uint32_t rows;        /* of the weight */
    uint32_t first_group; /* threadgroup that starts it */
    uint32_t activation, accumulate;
    uint32_t bias_type; /* weight type, GPU_NO_BIAS for none */
} gpu_gemv_part;
#define GPU_NO_BIAS 255

typedef struct gpu_gemv_args {
    uint32_t cols, parts;
    float eps; /* of the norm before it */
    gpu_gemv_part part[GPU_PARTS];
} gpu_gemv_args;

typedef struct gpu_gemm_args {
    uint32_t rows, cols, depth; /* of y, and inputs of a product */
    uint32_t x_stride, y_stride;
    uint32_t activation, accumulate, bias_type;
    uint32_t height, width, channels,
        step;           /* conv: of the input map; patch: width is the picture's side, step the patch's */
    uint32_t out_width; /* rows of y in one row of the map */
} gpu_gemm_args;

typedef struct gpu_adapter_args {
    uint32_t rows, depth, rank, cols, x_stride, y_stride, accumulate;
    float scale;
} gpu_adapter_args;

typedef struct gpu_mlp_args { /* one row through gate, up and down */
    uint32_t hidden, intermediate, shared_intermediate;
    float eps;
} gpu_mlp_args;

typedef struct gpu_bucket_args {
    uint32_t rows, top_k, experts, ids_stride;
} gpu_bucket_args;

typedef struct gpu_combine_args {
    uint32_t rows, cols, top_k, weights_stride, y_stride;
} gpu_combine_args;

typedef struct gpu_route_args {
    uint32_t experts, cols, top_k, normalise;
    uint32_t x_stride, probs_stride, ids_stride, weights_stride;
    float scale, eps;
} gpu_route_args;

typedef struct gpu_rope_args {
    uint32_t position0, slot0;
    uint32_t q_stride, k_stride, v_stride;
    uint32_t slots, head_dim, k_cache_stride, v_cache_stride;
} gpu_rope_args;

typedef struct gpu_attend_args {
    uint32_t queries, keys, first; /* causal: query r sees keys 0..first + r */
    uint32_t heads, head_dim;
    uint32_t q_stride, k_stride, v_stride, y_stride;
    uint32_t slots;                 /* cache */
    uint32_t grid, window, windows; /* sides; windows in a row of the grid */
    uint32_t rel_h_stride, rel_w_stride;
    uint32_t bias_type; /* of the padding token */
    float scale;
} gpu_attend_args;

typedef struct gpu_decode_args {
    uint32_t used, blocks, heads, head_dim, slots, k_stride, v_stride;
    uint32_t slot; /* new key's, when rotation is part of it */
    uint32_t position;
    float scale;
} gpu_decode_args;

typedef struct gpu_choose_args {
    uint32_t usable, banned, blocks;
    int32_t forced; /* -1: none */
    int32_t never;  /* an id that is no choice at all, with or without the guard; -1: none */
} gpu_choose_args;

typedef struct gpu_choice { /* what choose_merge writes */
    int32_t id, unguarded;
    float logprob, log_sum_exp;
    uint32_t finite;
} gpu_choice;

typedef struct gpu_choose_part { /* of one threadgroup of choose_blocks */
    float largest, sum;  /* of all logits: sum of exp(logit - largest) */
    float best, allowed; /* of ids that are a choice, and of those that are not banned */
    int32_t id, allowed_id;
    uint32_t finite;
} gpu_choose_part;

typedef struct gpu_guard_args {
    uint32_t size, cycle, window; /* n-gram, the same at distances up to GPU_PERIOD, newest ids that are searched */
    uint32_t allowed;      /* ids that are never banned */
} gpu_guard_args;

typedef struct gpu_history { /* ring of the newest ids */
    uint32_t count;          /* ids ever written; id i lies at i % GPU_HISTORY */
    int32_t id[GPU_HISTORY];
} gpu_history;

#endif
