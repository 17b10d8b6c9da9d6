/* Speed of the CPU operators in the full model's shapes, on random weights. Compiled together with every
 * source of engine/src and engine/src/cpu, with the flags of CMakeLists.txt.
 *
 *   bench_ops [threads] [--exact] [--portable | --baseline] [--cpu] [--products | --decoder | --vision]
 *
 * --cpu reads processor time instead of the clock: with one thread that is nearly independent of what else
 * runs.
 *
 * Every figure is the smallest of several repetitions. Weights of different layers are different memory, so
 * that they come from memory and not from a cache. Nothing here passes or fails. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "memory.h"

enum {
    HIDDEN = 1280,
    HEADS = 10,
    HEAD_DIM = 128,
    LAYERS = 12,
    EXPERTS = 64,
    TOP_K = 6,
    MOE = 896,
    SHARED = 1792,
    DENSE = 6848,
    VOCAB = 129280,
    PROMPT = 293,
    RING = 128,
};

static uocr_backend *backend;
static clockid_t which = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(uocr_status status) {
    if (status != UOCR_OK) {
        fprintf(stderr, "bench_ops: status %d\n", (int)status);
        exit(1);
    }
}

static void *filled(size_t bytes) {
    uint64_t *block = aligned_alloc(64, (bytes + 71) / 64 * 64), state = 88172645463325252u;
    if (!block) exit(2);
    for (size_t i = 0; i < bytes / 8 + 1; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        block[i] = state;
    }
    return block;
}

static uocr_weight weight(uocr_dtype dtype, size_t matrices, size_t rows, size_t cols) {
    size_t n = matrices * rows * cols;
    uocr_weight w = {dtype, NULL, NULL, rows, cols, matrices};
    if (dtype == UOCR_F16) {
        uint16_t *half = filled(2 * n);
        for (size_t i = 0; i < n; i++)
            half[i] = (uint16_t)((half[i] & 0x83ff) | 0x2400); /* 0.016..0.031, either sign */
        w.payload = (uint8_t *)half;
    } else if (dtype == UOCR_F32) {
        float *x = malloc(4 * n);
        for (size_t i = 0; i < n && x; i++)
            x[i] = 0.02f * (float)((int)(i * 2654435761u >> 16 & 255) - 128) / 128;
        w.payload = (uint8_t *)x;
    } else {
        uint16_t *scales = malloc(n / 32);
        for (size_t i = 0; i < n / 64 && scales; i++) scales[i] = 0x0c00; /* 2^-12 */
        w.payload = filled(dtype == UOCR_Q8 ? n : n / 2);
        w.scales = (uint8_t *)scales;
    }
    return w;
}

static uocr_tensor tensor(uocr_dtype dtype, size_t rows, size_t cols) {
    size_t bytes = rows * cols * (dtype == UOCR_F16 ? 2 : dtype == UOCR_U8 ? 1 : 4);
    uocr_buffer *buffer = backend->buffer_create(backend, UOCR_MEMORY_DECODER_SCRATCH, bytes);
    if (!buffer) exit(2);
    if (dtype == UOCR_F32) {
        float *x = malloc(bytes);
        for (size_t i = 0; i < rows * cols && x; i++)
            x[i] = (float)((int)(i * 2246822519u >> 15 & 1023) - 512) / 512;
        must(backend->write(backend, buffer, 0, x, bytes));
        free(x);
    }
    return (uocr_tensor){buffer, 0, dtype, rows, cols, cols};
}

/* -- measuring ----------------------------------------------------------------------------- */

typedef void (*work_fn)(void *);

static double smallest(work_fn work, void *argument, int repetitions) {
    double best = INFINITY;
    for (int i = 0; i < repetitions; i++) {
        double begun = now();
        work(argument);
        double seconds = now() - begun;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static double show(const char *name, double seconds, double flops, double bytes) {
    printf("%-34s %10.3f ms %8.1f GFLOP/s %7.1f GB/s\n", name, 1e3 * seconds, 1e-9 * flops / seconds,
           1e-9 * bytes / seconds);
    return seconds;
}

/* -- products ------------------------------------------------------------------------------ */

typedef struct matmul {
    uocr_tensor x, y;
    uocr_linear_part part;
    uocr_weight w;
} matmul;

static void multiply(void *argument) {
    matmul *m = argument;
    must(backend->linear(backend, m->x, &m->part, 1));
}

static double product(const char *name, uocr_dtype dtype, size_t rows, size_t in, size_t out,
                      uocr_activation activation) {
    static const char *types[] = {"f32", "f16", "q8", "q4"};
    char label[64];
    matmul m = {
        .x = tensor(UOCR_F32, rows, in), .y = tensor(UOCR_F32, rows, out), .w = weight(dtype, 1, out, in)};
    m.part = (uocr_linear_part){.weight = &m.w, .y = m.y, .activation = activation};
    double flops = 2.0 * (double)rows * (double)in * (double)out;
    double seconds = smallest(multiply, &m, flops > 1e9 ? 4 : 30);
    snprintf(label, sizeof label, "%s %zux%zux%zu %s", name, rows, in, out, types[dtype]);
    show(label, seconds, flops,
         (double)(in * out) * (dtype == UOCR_F32   ? 4
                               : dtype == UOCR_F16 ? 2
                               : dtype == UOCR_Q8  ? 1.03
                                                   : 0.53));
    backend->buffer_destroy(backend, m.x.buffer);
    backend->buffer_destroy(backend, m.y.buffer);
    free((void *)m.w.payload), free((void *)m.w.scales);
    return seconds;
}

/* -- decoder ------------------------------------------------------------------------------- */

typedef struct layer {
    uocr_weight norm, q, k, v, o, router, gate, up, down;
    uocr_kv kv;
} layer;

typedef struct decoder {
    layer layer[LAYERS];
    uocr_weight dense_gate, dense_up, dense_down, expert_gate, expert_up, expert_down, head;
    uocr_tensor x, h, q, k, v, y, probs, ids, weights, logits;
    size_t rows;
    double part[8];
} decoder;

static const char *parts[8] = {"norms",   "q, k, v, o",       "rope",        "attention", "route",
                               "experts", "shared and dense", "head, choose"};

static double lap(decoder *d, int part, double begun) {
    double t = now();
    d->part[part] += t - begun;
    return t;
}

static void decoder_pass(void *argument) {
    decoder *d = argument;
    double t = now();
    for (size_t l = 0; l < LAYERS; l++) {
        layer *p = &d->layer[l];
        uocr_linear_part qkv[3] = {
            {.weight = &p->q, .y = d->q}, {.weight = &p->k, .y = d->k}, {.weight = &p->v, .y = d->v}};
        uocr_linear_part o = {.weight = &p->o, .y = d->x, .accumulate = true};
        must(backend->rms_norm(backend, d->x, &p->norm, 1e-6f, d->h));
        t = lap(d, 0, t);
        must(backend->linear(backend, d->h, qkv, 3));
        t = lap(d, 1, t);
        size_t slot = d->rows == 1 ? PROMPT + 10 : 0;
        must(backend->rope_append(backend, d->q, d->k, d->v, &p->kv, slot, slot, 10000));
        t = lap(d, 2, t);
        if (d->rows == 1) must(backend->attention_decode(backend, d->q, &p->kv, PROMPT + RING, d->y));
        else must(backend->attention_prefill(backend, d->q, &p->kv, 0, d->y));
        t = lap(d, 3, t);
        must(backend->linear(backend, d->y, &o, 1));
        t = lap(d, 1, t);
        must(backend->rms_norm(backend, d->x, &p->norm, 1e-6f, d->h));
        t = lap(d, 0, t);
        if (l == 0) {
            must(backend->swiglu(backend, d->h, &d->dense_gate, &d->dense_up, &d->dense_down, d->x));
            t = lap(d, 6, t);
            continue;
        }
        must(backend->route(backend, d->h, &p->router, TOP_K, false, 1, d->probs, d->ids, d->weights));
        t = lap(d, 4, t);
        if (d->rows == 1) { /* every layer other experts: all layers share one stack here */
            int32_t ids[TOP_K];
            for (size_t k = 0; k < TOP_K; k++) ids[k] = (int32_t)((l * TOP_K + k) % EXPERTS);
            must(backend->write(backend, d->ids.buffer, 0, ids, sizeof ids));
        }
        must(backend->experts(backend, d->h, d->ids, d->weights, &d->expert_gate, &d->expert_up,
                              &d->expert_down, d->x));
        t = lap(d, 5, t);
        must(backend->swiglu(backend, d->h, &p->gate, &p->up, &p->down, d->x));
        t = lap(d, 6, t);
    }
    uocr_choice choice;
    uocr_tensor last = uocr_tensor_rows(d->h, d->rows - 1, 1);
    uocr_linear_part head = {.weight = &d->head, .y = d->logits};
    must(backend->linear(backend, last, &head, 1));
    must(backend->choose(backend, d->logits, 128827, NULL, 0, -1, &choice));
    lap(d, 7, t);
}

static void measure_decoder(uocr_dtype dtype) {
    static decoder d;
    uocr_dtype attention = dtype == UOCR_Q4 ? UOCR_Q8 : dtype;
    for (size_t l = 0; l < LAYERS; l++) {
        layer *p = &d.layer[l];
        p->norm = weight(UOCR_F16, 1, 1, HIDDEN);
        p->q = weight(attention, 1, HIDDEN, HIDDEN), p->k = weight(attention, 1, HIDDEN, HIDDEN);
        p->v = weight(attention, 1, HIDDEN, HIDDEN), p->o = weight(attention, 1, HIDDEN, HIDDEN);
        p->router = weight(UOCR_F16, 1, EXPERTS, HIDDEN);
        p->gate = weight(dtype, 1, SHARED, HIDDEN), p->up = weight(dtype, 1, SHARED, HIDDEN);
        p->down = weight(dtype, 1, HIDDEN, SHARED);
        p->kv = (uocr_kv){.heads = HEADS, .slots = PROMPT + RING, .head_dim = HEAD_DIM};
        p->kv.k = tensor(backend->kv_dtype(backend, false), HEADS * (PROMPT + RING), HEAD_DIM);
        p->kv.v = tensor(backend->kv_dtype(backend, true), HEADS * (PROMPT + RING), HEAD_DIM);
    }
    d.dense_gate = weight(dtype, 1, DENSE, HIDDEN), d.dense_up = weight(dtype, 1, DENSE, HIDDEN);
    d.dense_down = weight(dtype, 1, HIDDEN, DENSE);
    d.expert_gate = weight(dtype, EXPERTS, MOE, HIDDEN), d.expert_up = weight(dtype, EXPERTS, MOE, HIDDEN);
    d.expert_down = weight(dtype, EXPERTS, HIDDEN, MOE);
    d.head = weight(dtype, 1, VOCAB, HIDDEN);
    d.logits = tensor(UOCR_F32, 1, VOCAB);
    for (d.rows = 1; d.rows <= PROMPT; d.rows += PROMPT - 1) {
        d.x = tensor(UOCR_F32, d.rows, HIDDEN), d.h = tensor(UOCR_F32, d.rows, HIDDEN),
        d.q = tensor(UOCR_F32, d.rows, HIDDEN);
        d.k = tensor(UOCR_F32, d.rows, HIDDEN), d.v = tensor(UOCR_F32, d.rows, HIDDEN),
        d.y = tensor(UOCR_F32, d.rows, HIDDEN);
        d.probs = tensor(UOCR_F32, d.rows, EXPERTS), d.ids = tensor(UOCR_I32, d.rows, TOP_K);
        d.weights = tensor(UOCR_F32, d.rows, TOP_K);
        double best = INFINITY, part[8] = {0};
        for (int i = 0; i < (d.rows == 1 ? 20 : 3); i++) {
            memset(d.part, 0, sizeof d.part);
            double begun = now();
            decoder_pass(&d);
            double seconds = now() - begun;
            if (seconds < best) best = seconds, memcpy(part, d.part, sizeof part);
        }
        printf("%s %s: %.1f ms, %.1f tokens/s\n", d.rows == 1 ? "decode" : "prefill",
               dtype == UOCR_Q4 ? "q4" : "q8", 1e3 * best, (double)d.rows / best);
        for (int i = 0; i < 8; i++)
            printf("    %-18s %9.3f ms %5.1f %%\n", parts[i], 1e3 * part[i], 100 * part[i] / best);
    }
}

/* -- vision -------------------------------------------------------------------------------- */

typedef struct grid_work {
    uocr_tensor qkv, y, rel_h, rel_w;
    uocr_weight bias;
    size_t grid, window;
} grid_work;

static void attend_grid(void *argument) {
    grid_work *g = argument;
    must(backend->attention_grid(backend, g->qkv, &g->bias, g->rel_h, g->rel_w, g->grid, g->window, 12,
                                 g->y));
}

static void attend_full(void *argument) {
    grid_work *g = argument;
    must(backend->attention_full(backend, g->qkv, 16, g->y));
}

typedef struct conv_work {
    uocr_tensor x, y;
    uocr_weight w;
    size_t side, stride;
} conv_work;

static void convolve(void *argument) {
    conv_work *c = argument;
    must(backend->conv3x3(backend, c->x, c->side, c->side, c->stride, &c->w, c->y));
}

static double conv(size_t side, size_t in, size_t out, size_t stride) {
    char label[64];
    size_t rows = (side / stride) * (side / stride);
    conv_work c = {tensor(UOCR_F32, side * side, in), tensor(UOCR_F32, rows, out),
                   weight(UOCR_F16, 1, out, 9 * in), side, stride};
    snprintf(label, sizeof label, "conv3x3 %zux%zu %zu -> %zu", side, side, in, out);
    return show(label, smallest(convolve, &c, 3), 18.0 * (double)rows * (double)in * (double)out, 0);
}

static void measure_view(size_t grid, uocr_dtype dtype) {
    size_t tokens = grid * grid, clip = tokens / 16 + 1;
    grid_work g = {tensor(UOCR_F32, tokens, 3 * 768),
                   tensor(UOCR_F32, tokens, 768),
                   tensor(UOCR_F32, 2 * grid - 1, 64),
                   tensor(UOCR_F32, 2 * grid - 1, 64),
                   weight(UOCR_F16, 1, 1, 3 * 768),
                   grid,
                   grid};
    double global =
        show("attention_global", smallest(attend_grid, &g, 3), 4.0 * (double)(tokens * tokens) * 768, 0);
    g.window = 14, g.rel_h = tensor(UOCR_F32, 27, 64), g.rel_w = tensor(UOCR_F32, 27, 64);
    double window =
        show("attention_window", smallest(attend_grid, &g, 3), 4.0 * (double)(tokens * 196) * 768, 0);
    double sam = product("sam qkv", dtype, tokens, 768, 2304, UOCR_IDENTITY) +
                 product("sam proj", dtype, tokens, 768, 768, UOCR_IDENTITY) +
                 product("sam lin1 gelu", dtype, tokens, 768, 3072, UOCR_GELU_ERF) +
                 product("sam lin2", dtype, tokens, 3072, 768, UOCR_IDENTITY);
    double neck = product("neck", UOCR_F16, tokens, 768, 256, UOCR_IDENTITY) + conv(grid, 256, 256, 1) +
                  conv(grid, 256, 512, 2) + conv(grid / 2, 512, 1024, 2);
    double dense = product("clip qkv", dtype, clip, 1024, 3072, UOCR_IDENTITY) +
                   product("clip out", dtype, clip, 1024, 1024, UOCR_IDENTITY) +
                   product("clip fc1 gelu", dtype, clip, 1024, 4096, UOCR_GELU_QUICK) +
                   product("clip fc2", dtype, clip, 4096, 1024, UOCR_IDENTITY);
    grid_work f = {.qkv = tensor(UOCR_F32, clip, 3 * 1024), .y = tensor(UOCR_F32, clip, 1024)};
    double full = show("attention_full", smallest(attend_full, &f, 5), 4.0 * (double)(clip * clip) * 1024, 0);
    printf("view %zu: %.2f s (SAM linear %.2f, global %.2f, window %.2f, neck %.2f; CLIP linear %.2f, "
           "attention %.2f)\n",
           grid * 16, 12 * sam + 4 * global + 8 * window + neck + 24 * (dense + full), 12 * sam, 4 * global,
           8 * window, neck, 24 * dense, 24 * full);
}

int main(int count, char **arguments) {
    bool all = true, products = false, decoder = false, vision = false;
    uint32_t threads = 1, precision = UOCR_PRECISION_FAST, simd = UOCR_SIMD_AUTO;
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--exact")) precision = UOCR_PRECISION_EXACT;
        else if (!strcmp(arguments[i], "--portable")) simd = UOCR_SIMD_PORTABLE;
        else if (!strcmp(arguments[i], "--baseline")) simd = UOCR_SIMD_BASELINE;
        else if (!strcmp(arguments[i], "--cpu")) which = CLOCK_PROCESS_CPUTIME_ID;
        else if (!strcmp(arguments[i], "--products")) products = true, all = false;
        else if (!strcmp(arguments[i], "--decoder")) decoder = true, all = false;
        else if (!strcmp(arguments[i], "--vision")) vision = true, all = false;
        else threads = (uint32_t)atoi(arguments[i]);
    }
    static uocr_memory memory = {.budget = (uint64_t)16 << 30};
    static uocr_profile profile;
    uocr_config config = {.hidden = HIDDEN,
                          .heads = HEADS,
                          .head_dim = HEAD_DIM,
                          .sam_width = 768,
                          .sam_heads = 12,
                          .sam_grid = 64,
                          .clip_width = 1024,
                          .clip_heads = 16};
    uocr_error error = {.size = sizeof error};
    if (uocr_backend_cpu_create(&config, threads, precision, simd, &memory, &profile, &backend, &error) !=
        UOCR_OK) {
        fprintf(stderr, "bench_ops: %s\n", error.message);
        return 1;
    }
    size_t space = 256u << 20;
    uocr_buffer *workspace = backend->buffer_create(backend, UOCR_MEMORY_DECODER_SCRATCH, space);
    backend->bind_workspace(backend, workspace, space);
    printf("%s, %u threads, %s\n", backend->simd, threads,
           precision == UOCR_PRECISION_EXACT ? "exact" : "fast");
    for (uocr_dtype t = UOCR_F32; t <= UOCR_Q4 && (all || products); t++) {
        product("linear", t, 1024, 1280, 1280, UOCR_IDENTITY);
        product("linear", t, 28, 1280, 896, UOCR_IDENTITY);
        product("linear", t, 1, 1280, 65536, UOCR_IDENTITY);
    }
    if (all || decoder) measure_decoder(UOCR_Q4), measure_decoder(UOCR_Q8);
    if (all || vision) measure_view(64, UOCR_F16), measure_view(40, UOCR_F16);
    return 0;
}
