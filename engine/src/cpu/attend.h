/* Softmax attention of a block of queries over all their keys, the core of every attention operator. */
#ifndef UOCR_SRC_CPU_ATTEND_H
#define UOCR_SRC_CPU_ATTEND_H

#include "cpu.h"

enum {
    CPU_ATTEND_QUERIES = 96, /* queries per tile: each block of keys is packed once for them */
    CPU_ATTEND_KEYS = 256,   /* keys per step of the online softmax */
};

/* Copies keys [key, key + count) (or values) of one head as f32 rows of `stride` floats. */
typedef void (*cpu_fetch_fn)(const void *context, bool value, size_t key, size_t count, float *out,
                             size_t stride);

/* Pieces of a thread's scratch. `width` is head_dim rounded up to whole panels. */
typedef struct cpu_attend_scratch {
    size_t width;
    float *q;               /* [96, width] queries, filled by the caller */
    float *out;             /* [96, width] results */
    float *scores;          /* [96, 256] */
    float *panel;           /* 256 keys, packed */
    float *rows;            /* [256, width] keys, then values */
    float *bias_h, *bias_w; /* [96, side] for attention_grid, NULL without */
} cpu_attend_scratch;

typedef struct cpu_attend {
    size_t queries, keys, head_dim;
    float scale;
    bool causal; /* query r sees keys 0..first + r */
    size_t first;
    size_t side; /* with bias: key t lies at (t / side, t % side) */
    cpu_fetch_fn fetch;
    const void *context;
} cpu_attend;

size_t cpu_attend_scratch_bytes(size_t head_dim, size_t side); /* side 0: no bias */
cpu_attend_scratch cpu_attend_scratch_at(uint8_t *scratch, size_t head_dim, size_t side);
void cpu_attend_block(const cpu_kernels *, const cpu_attend *, cpu_attend_scratch *);

/* Queries per tile: few enough for `tile_work`, and so that tiles of `total` queries are even. */
static inline size_t cpu_attend_tile(const cpu_kernels *kernels, size_t total, size_t keys, size_t head_dim) {
    size_t most = kernels->tile_work / (2 * keys * head_dim + 1);
    most = cpu_min(most, CPU_ATTEND_QUERIES) / CPU_MICRO_ROWS * CPU_MICRO_ROWS;
    if (!most) most = CPU_MICRO_ROWS;
    size_t tiles = cpu_divide_up(total, most);
    return tiles ? cpu_round_up(cpu_divide_up(total, tiles), CPU_MICRO_ROWS) : CPU_MICRO_ROWS;
}

#endif
