/* Speed of the CPU operators in the full model's shapes, on random weights. Compiled with the back
 * end's sources and the flags of CMakeLists.txt (bench/roofline/build.py does).
 *
 *   operators [THREADS] [--decoder] [--vision] [--exact | --integer]
 *             [--portable | --baseline] [--cpu] [--quick] [--json]
 *
 * --cpu reads processor time instead of the clock: with one thread that is nearly independent of what else
 * runs.
 * --quick: one repetition. --json: a line of JSON an operator instead of a table.
 *
 * A pass (one decoded token, a prompt, a view) runs operator by operator; the figures are those of the
 * fastest pass. Operations and bytes are what the engine's own profile counts. Weights lie in mapped files,
 * as those of a model do, and those of different layers are different memory. Nothing here passes or fails.
 */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
    USABLE = 128827,
    PROMPT = 293, /* before the token that is decoded */
    PREFILL = 300,
    RING = 128, /* slots are enough for either prompt */
    SAM = 768,
    SAM_HEADS = 12,
    SAM_BLOCKS = 12,
    GLOBAL_BLOCKS = 4,
    WINDOW = 14,
    CHUNK = 1024, /* rows of SAM's MLP at a time, as in sam.c */
    CLIP = 1024,
    CLIP_HEADS = 16,
    CLIP_LAYERS = 24,
    NECK = 256,
    MOST_ROWS = 32,
};

static uocr_backend *backend;
static uocr_profile profile = {.enabled = true};
static clockid_t which = CLOCK_MONOTONIC;
static bool json, quick, integer_vision;

static double now(void) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "operators: %s\n", what);
    exit(1);
}

static void must(uocr_status status) {
    if (status != UOCR_OK) die("an operator failed");
}

/* -- a pass and its rows ------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    bool integer; /* 8-bit activations */
    unsigned calls;
    double seconds, bytes, flops;
} row;

typedef struct pass {
    row rows[MOST_ROWS];
    size_t count;
    double at; /* when the last operator ended */
} pass;

static void pass_begin(pass *p) {
    p->count = 0;
    profile.count = 0;
    p->at = now();
}

/* What has run since the last lap was `name`; it stands for `times` calls as long. */
static row *lap(pass *p, const char *name, bool integer, unsigned times) {
    double seconds = now() - p->at;
    size_t i = 0;
    while (i < p->count && strcmp(p->rows[i].name, name) != 0) i++;
    if (i == p->count) {
        if (p->count == MOST_ROWS) die("too many operators in a pass");
        p->rows[p->count++] = (row){.name = name, .integer = integer};
    }
    row *r = &p->rows[i];
    r->calls += times;
    r->seconds += times * seconds;
    for (uint32_t k = 0; k < profile.count; k++) {
        r->bytes += times * (double)profile.row[k].bytes;
        r->flops += times * profile.row[k].flops;
    }
    profile.count = 0;
    p->at = now();
    return r;
}

static double pass_seconds(const pass *p) {
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) sum += p->rows[i].seconds;
    return sum;
}

static void print_pass(const char *title, const pass *p) {
    double all = pass_seconds(p);
    if (!json) printf("%s: %.2f ms\n", title, 1e3 * all);
    for (size_t i = 0; i < p->count; i++) {
        const row *r = &p->rows[i];
        if (json)
            printf(
                "{\"pass\": \"%s\", \"operator\": \"%s\", \"integer\": %s, \"calls\": %u, \"seconds\": %.9f, "
                "\"bytes\": %.0f, \"flops\": %.0f}\n",
                title, r->name, r->integer ? "true" : "false", r->calls, r->seconds, r->bytes, r->flops);
        else
            printf("    %-24s %3u x %9.3f ms  %5.1f %%  %7.1f GB/s %8.1f GFLOP/s\n", r->name, r->calls,
                   1e3 * r->seconds, 100 * r->seconds / all, 1e-9 * r->bytes / r->seconds,
                   1e-9 * r->flops / r->seconds);
    }
    fflush(stdout);
}

typedef void (*pass_fn)(void *, pass *);

static void measure(const char *title, pass_fn fn, void *argument, int repetitions) {
    static pass best, here;
    best.count = 0;
    for (int i = 0; i < (quick ? 1 : repetitions); i++) {
        pass_begin(&here);
        fn(argument, &here);
        if (best.count == 0 || pass_seconds(&here) < pass_seconds(&best)) best = here;
    }
    print_pass(title, &best);
}

/* -- random data --------------------------------------------------------------------------- */

/* `bytes` of a mapped file, with what `fill` writes to each block; kept until the program ends. */
static const uint8_t *mapped(size_t bytes, void (*fill)(uint8_t *block, size_t n)) {
    static uint8_t block[1 << 20];
    char name[512];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/uocr-operators-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(name);
    if (file < 0) die("no temporary file can be made; set TMPDIR");
    unlink(name);
    for (size_t done = 0; done < bytes;) {
        size_t n = bytes - done < sizeof block ? bytes - done : sizeof block;
        fill(block, n);
        if (write(file, block, n) != (ssize_t)n) die("the temporary file cannot be written; set TMPDIR");
        done += n;
    }
    uint8_t *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) die("the temporary file cannot be mapped");
    close(file);
    return memory;
}

static void fill_codes(uint8_t *block, size_t n) {
    static uint64_t state = 88172645463325252u;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        memcpy(block + i, &state, 8);
    }
    for (size_t i = n & ~(size_t)7; i < n; i++) block[i] = (uint8_t)i;
}

static void fill_halves(uint8_t *block, size_t n) { /* 0.016 to 0.031, either sign */
    fill_codes(block, n);
    for (size_t i = 0; i + 2 <= n; i += 2) block[i + 1] = (uint8_t)((block[i + 1] & 0x83) | 0x24);
}

static void fill_scales(uint8_t *block, size_t n) { /* 2^-12 */
    for (size_t i = 0; i + 2 <= n; i += 2) block[i] = 0, block[i + 1] = 0x0c;
}

static uocr_weight weight(uocr_dtype dtype, size_t matrices, size_t rows, size_t cols) {
    size_t n = matrices * rows * cols;
    uocr_weight w = {dtype, NULL, NULL, rows, cols, matrices};
    if (dtype == UOCR_F16) {
        w.payload = mapped(2 * n, fill_halves);
    } else {
        w.payload = mapped(dtype == UOCR_Q8 ? n : n / 2, fill_codes);
        w.scales = mapped(n / UOCR_GROUP * 2, fill_scales);
    }
    return w;
}

static uocr_tensor tensor(uocr_dtype dtype, size_t rows, size_t cols) {
    size_t bytes = rows * cols * (dtype == UOCR_F16 ? 2 : dtype == UOCR_U8 ? 1 : 4);
    uocr_buffer *buffer = backend->buffer_create(backend, UOCR_MEMORY_DECODER_SCRATCH, bytes);
    if (!buffer) die("out of memory");
    if (dtype == UOCR_F32) {
        float *x = malloc(bytes);
        if (!x) die("out of memory");
        for (size_t i = 0; i < rows * cols; i++)
            x[i] = (float)((int)(i * 2246822519u >> 15 & 1023) - 512) / 512;
        must(backend->write(backend, buffer, 0, x, bytes));
        free(x);
    }
    return (uocr_tensor){buffer, 0, dtype, rows, cols, cols};
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
    bool integer_mlp, integer_attention;
} decoder;

static void decoder_pass(void *argument, pass *p) {
    decoder *d = argument;
    for (size_t l = 0; l < LAYERS; l++) {
        layer *w = &d->layer[l];
        uocr_linear_part qkv[3] = {
            {.weight = &w->q, .y = d->q}, {.weight = &w->k, .y = d->k}, {.weight = &w->v, .y = d->v}};
        uocr_linear_part o = {.weight = &w->o, .y = d->x, .accumulate = true};
        must(backend->rms_norm(backend, d->x, &w->norm, 1e-6f, d->h));
        lap(p, "norm", false, 1);
        must(backend->linear(backend, d->h, qkv, 3));
        lap(p, "q, k, v", d->integer_attention, 1);
        size_t slot = d->rows == 1 ? PROMPT + 10 : 0;
        must(backend->rope_append(backend, d->q, d->k, d->v, &w->kv, slot, slot, 10000));
        lap(p, "rope, append", false, 1);
        if (d->rows == 1) must(backend->attention_decode(backend, d->q, &w->kv, PROMPT + RING, d->y));
        else must(backend->attention_prefill(backend, d->q, &w->kv, 0, d->y));
        row *attention = lap(p, "attention", false, 1);
        /* The profile counts every pair of query and key; those after the query are not needed. */
        if (d->rows > 1) attention->flops -= 2.0 * HIDDEN * (double)(d->rows * (d->rows - 1));
        must(backend->linear(backend, d->y, &o, 1));
        lap(p, "attention output", d->integer_attention, 1);
        must(backend->rms_norm(backend, d->x, &w->norm, 1e-6f, d->h));
        lap(p, "norm", false, 1);
        if (l == 0) {
            must(backend->swiglu(backend, d->h, &d->dense_gate, &d->dense_up, &d->dense_down, d->x));
            lap(p, "dense layer", d->integer_mlp, 1);
            continue;
        }
        must(backend->route(backend, d->h, &w->router, TOP_K, false, 1, d->probs, d->ids, d->weights));
        lap(p, "router", false, 1);
        int32_t ids[PREFILL * TOP_K]; /* all layers share one stack of experts: each token takes others */
        for (size_t r = 0; r < d->rows; r++)
            for (size_t k = 0; k < TOP_K; k++)
                ids[r * TOP_K + k] = (int32_t)(((l + r) * TOP_K + k) % EXPERTS);
        must(backend->write(backend, d->ids.buffer, 0, ids, d->rows * TOP_K * sizeof *ids));
        p->at = now();
        must(backend->experts(backend, d->h, d->ids, d->weights, &d->expert_gate, &d->expert_up,
                              &d->expert_down, d->x));
        lap(p, "experts", d->integer_mlp, 1);
        must(backend->swiglu(backend, d->h, &w->gate, &w->up, &w->down, d->x));
        lap(p, "shared experts", d->integer_mlp, 1);
    }
    uocr_choice choice;
    uocr_linear_part head = {.weight = &d->head, .y = d->logits};
    must(backend->rms_norm(backend, d->x, &d->layer[0].norm, 1e-6f, d->h));
    lap(p, "norm", false, 1);
    must(backend->linear(backend, uocr_tensor_rows(d->h, d->rows - 1, 1), &head, 1));
    lap(p, "head", d->integer_mlp, 1);
    must(backend->choose(backend, d->logits, USABLE, NULL, 0, -1, &choice));
    lap(p, "choose", false, 1);
}

static void measure_decoder(uocr_dtype dtype, bool exact) {
    static decoder d;
    const uocr_dtype attention = dtype == UOCR_Q4 ? UOCR_Q8 : dtype; /* the type policy */
    for (size_t l = 0; l < LAYERS; l++) {
        layer *w = &d.layer[l];
        w->norm = weight(UOCR_F16, 1, 1, HIDDEN);
        w->q = weight(attention, 1, HIDDEN, HIDDEN), w->k = weight(attention, 1, HIDDEN, HIDDEN);
        w->v = weight(attention, 1, HIDDEN, HIDDEN), w->o = weight(attention, 1, HIDDEN, HIDDEN);
        w->router = weight(UOCR_F16, 1, EXPERTS, HIDDEN);
        w->gate = weight(dtype, 1, SHARED, HIDDEN), w->up = weight(dtype, 1, SHARED, HIDDEN);
        w->down = weight(dtype, 1, HIDDEN, SHARED);
        w->kv = (uocr_kv){.heads = HEADS, .slots = PROMPT + RING, .head_dim = HEAD_DIM};
        w->kv.k = tensor(backend->kv_dtype(backend, false), HEADS * (PROMPT + RING), HEAD_DIM);
        w->kv.v = tensor(backend->kv_dtype(backend, true), HEADS * (PROMPT + RING), HEAD_DIM);
    }
    d.dense_gate = weight(dtype, 1, DENSE, HIDDEN), d.dense_up = weight(dtype, 1, DENSE, HIDDEN);
    d.dense_down = weight(dtype, 1, HIDDEN, DENSE);
    d.expert_gate = weight(dtype, EXPERTS, MOE, HIDDEN), d.expert_up = weight(dtype, EXPERTS, MOE, HIDDEN);
    d.expert_down = weight(dtype, EXPERTS, HIDDEN, MOE);
    d.head = weight(dtype, 1, VOCAB, HIDDEN);
    d.logits = tensor(UOCR_F32, 1, VOCAB);
    for (int prefill = 0; prefill < 2; prefill++) {
        char title[32];
        d.rows = prefill ? PREFILL : 1;
        d.integer_mlp = !exact;
        d.integer_attention = !exact && !prefill; /* several rows against q8 keep f32 activations */
        uocr_tensor *wide[6] = {&d.x, &d.h, &d.q, &d.k, &d.v, &d.y};
        for (int i = 0; i < 6; i++) *wide[i] = tensor(UOCR_F32, d.rows, HIDDEN);
        d.probs = tensor(UOCR_F32, d.rows, EXPERTS), d.ids = tensor(UOCR_I32, d.rows, TOP_K);
        d.weights = tensor(UOCR_F32, d.rows, TOP_K);
        snprintf(title, sizeof title, "%s %s", prefill ? "prefill" : "decode",
                 dtype == UOCR_Q4 ? "q4" : "q8");
        measure(title, decoder_pass, &d, prefill ? 3 : 20);
    }
}

/* -- vision -------------------------------------------------------------------------------- */

typedef struct dense {
    uocr_weight weight, bias;
} dense;

static dense dense_of(size_t rows, size_t cols) {
    return (dense){weight(UOCR_Q8, 1, rows, cols), weight(UOCR_F16, 1, 1, rows)}; /* the type policy */
}

typedef struct view {
    size_t grid;
    uocr_weight patch, patch_bias;
    dense sam_qkv, sam_out, sam_in, sam_down, clip_qkv, clip_out, clip_in, clip_down, projector;
    uocr_weight sam_norm, neck_norm, clip_norm, neck0, neck2, net_2, net_3;
    uocr_tensor rgb, x, h, qkv, mlp, axis[2], window_axis[2], narrow, narrower, half, quarter;
    uocr_tensor clip_x, clip_h, clip_qkv_y, clip_mlp, features, out;
} view;

static void product(pass *p, const char *name, uocr_tensor x, const dense *w, uocr_tensor y,
                    uocr_activation activation, unsigned times) {
    uocr_linear_part part = {.weight = &w->weight, .bias = &w->bias, .y = y, .activation = activation};
    must(backend->linear(backend, x, &part, 1));
    lap(p, name, integer_vision, times);
}

static void normalise(pass *p, const char *name, uocr_tensor x, const uocr_weight *w, uocr_tensor y,
                      unsigned times) {
    must(backend->layer_norm(backend, x, w, w, 1e-6f, y));
    lap(p, name, false, times);
}

/* Each operator once, counted as often as a view needs it. */
static void view_pass(void *argument, pass *p) {
    view *v = argument;
    const size_t grid = v->grid, tokens = grid * grid;
    const double chunks = (double)tokens / (double)v->mlp.rows;
    uocr_tensor chunk = uocr_tensor_rows(v->h, 0, v->mlp.rows);
    const unsigned mlp_calls = (unsigned)lround(SAM_BLOCKS * chunks);
    must(backend->patch_embed(backend, v->rgb, grid * 16, 16, &v->patch, &v->patch_bias, v->x));
    lap(p, "patches", false, 1);
    normalise(p, "SAM norm", v->x, &v->sam_norm, v->h, 2 * SAM_BLOCKS);
    product(p, "SAM q, k, v", v->h, &v->sam_qkv, v->qkv, UOCR_IDENTITY, SAM_BLOCKS);
    must(backend->attention_grid(backend, v->qkv, &v->sam_qkv.bias, v->axis[0], v->axis[1], grid, grid,
                                 SAM_HEADS, v->h));
    lap(p, "SAM attention, global", false, GLOBAL_BLOCKS);
    must(backend->attention_grid(backend, v->qkv, &v->sam_qkv.bias, v->window_axis[0], v->window_axis[1],
                                 grid, WINDOW, SAM_HEADS, v->h));
    lap(p, "SAM attention, windows", false, SAM_BLOCKS - GLOBAL_BLOCKS);
    product(p, "SAM output", v->h, &v->sam_out, v->x, UOCR_IDENTITY, SAM_BLOCKS);
    product(p, "SAM MLP in, gelu", chunk, &v->sam_in, v->mlp, UOCR_GELU_ERF, mlp_calls);
    product(p, "SAM MLP out", v->mlp, &v->sam_down, chunk, UOCR_IDENTITY, mlp_calls);
    uocr_linear_part neck = {.weight = &v->neck0, .y = v->narrow};
    must(backend->linear(backend, v->x, &neck, 1));
    lap(p, "neck 1x1", false, 1);
    normalise(p, "neck norm", v->narrow, &v->neck_norm, v->narrow, 2);
    must(backend->conv3x3(backend, v->narrow, grid, grid, 1, &v->neck2, v->narrower));
    lap(p, "neck 3x3", false, 1);
    must(backend->conv3x3(backend, v->narrower, grid, grid, 2, &v->net_2, v->half));
    lap(p, "net_2 3x3, stride 2", false, 1);
    must(backend->conv3x3(backend, v->half, grid / 2, grid / 2, 2, &v->net_3, v->quarter));
    lap(p, "net_3 3x3, stride 2", false, 1);
    normalise(p, "CLIP norm", v->clip_x, &v->clip_norm, v->clip_h, 2 * CLIP_LAYERS + 1);
    product(p, "CLIP q, k, v", v->clip_h, &v->clip_qkv, v->clip_qkv_y, UOCR_IDENTITY, CLIP_LAYERS);
    must(backend->attention_full(backend, v->clip_qkv_y, CLIP_HEADS, v->clip_h));
    lap(p, "CLIP attention", false, CLIP_LAYERS);
    product(p, "CLIP output", v->clip_h, &v->clip_out, v->clip_x, UOCR_IDENTITY, CLIP_LAYERS);
    product(p, "CLIP MLP in, gelu", v->clip_x, &v->clip_in, v->clip_mlp, UOCR_GELU_QUICK, CLIP_LAYERS);
    product(p, "CLIP MLP out", v->clip_mlp, &v->clip_down, v->clip_h, UOCR_IDENTITY, CLIP_LAYERS);
    product(p, "projector", v->features, &v->projector, v->out, UOCR_IDENTITY, 1);
}

static void measure_view(size_t grid) {
    const size_t tokens = grid * grid, visual = tokens / 16, clip = visual + 1;
    view v = {.grid = grid,
              .patch = weight(UOCR_F16, 1, SAM, 3 * 16 * 16),
              .patch_bias = weight(UOCR_F16, 1, 1, SAM),
              .sam_qkv = dense_of(3 * SAM, SAM),
              .sam_out = dense_of(SAM, SAM),
              .sam_in = dense_of(4 * SAM, SAM),
              .sam_down = dense_of(SAM, 4 * SAM),
              .clip_qkv = dense_of(3 * CLIP, CLIP),
              .clip_out = dense_of(CLIP, CLIP),
              .clip_in = dense_of(4 * CLIP, CLIP),
              .clip_down = dense_of(CLIP, 4 * CLIP),
              .projector = dense_of(HIDDEN, 2 * CLIP),
              .sam_norm = weight(UOCR_F16, 1, 1, SAM),
              .neck_norm = weight(UOCR_F16, 1, 1, NECK),
              .clip_norm = weight(UOCR_F16, 1, 1, CLIP),
              .neck0 = weight(UOCR_F16, 1, NECK, SAM),
              .neck2 = weight(UOCR_F16, 1, NECK, 9 * NECK),
              .net_2 = weight(UOCR_F16, 1, 2 * NECK, 9 * NECK),
              .net_3 = weight(UOCR_F16, 1, CLIP, 9 * 2 * NECK),
              .rgb = tensor(UOCR_U8, grid * 16 * grid * 16, 3),
              .x = tensor(UOCR_F32, tokens, SAM),
              .h = tensor(UOCR_F32, tokens, SAM),
              .qkv = tensor(UOCR_F32, tokens, 3 * SAM),
              .mlp = tensor(UOCR_F32, tokens < CHUNK ? tokens : CHUNK, 4 * SAM),
              .narrow = tensor(UOCR_F32, tokens, NECK),
              .narrower = tensor(UOCR_F32, tokens, NECK),
              .half = tensor(UOCR_F32, tokens / 4, 2 * NECK),
              .quarter = tensor(UOCR_F32, visual, CLIP),
              .clip_x = tensor(UOCR_F32, clip, CLIP),
              .clip_h = tensor(UOCR_F32, clip, CLIP),
              .clip_qkv_y = tensor(UOCR_F32, clip, 3 * CLIP),
              .clip_mlp = tensor(UOCR_F32, clip, 4 * CLIP),
              .features = tensor(UOCR_F32, visual, 2 * CLIP),
              .out = tensor(UOCR_F32, visual, HIDDEN)};
    char title[32];
    for (int i = 0; i < 2; i++) {
        v.axis[i] = tensor(UOCR_F32, 2 * grid - 1, SAM / SAM_HEADS);
        v.window_axis[i] = tensor(UOCR_F32, 2 * WINDOW - 1, SAM / SAM_HEADS);
    }
    snprintf(title, sizeof title, "view %zu%s", grid * 16, integer_vision ? " INTEGER" : "");
    measure(title, view_pass, &v, 3);
}

int main(int count, char **arguments) {
    bool decoder = false, vision = false;
    uint32_t threads = 1, precision = UOCR_PRECISION_FAST, simd = UOCR_SIMD_AUTO;
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        if (!strcmp(argument, "--exact")) precision = UOCR_PRECISION_EXACT;
        else if (!strcmp(argument, "--integer")) precision = UOCR_PRECISION_INTEGER;
        else if (!strcmp(argument, "--portable")) simd = UOCR_SIMD_PORTABLE;
        else if (!strcmp(argument, "--baseline")) simd = UOCR_SIMD_BASELINE;
        else if (!strcmp(argument, "--cpu")) which = CLOCK_PROCESS_CPUTIME_ID;
        else if (!strcmp(argument, "--decoder")) decoder = true;
        else if (!strcmp(argument, "--vision")) vision = true;
        else if (!strcmp(argument, "--json")) json = true;
        else if (!strcmp(argument, "--quick")) quick = true;
        else if (atoi(argument) > 0) threads = (uint32_t)atoi(argument);
        else die("an option is not known: see the top of operators.c");
    }
    static uocr_memory memory = {.budget = (uint64_t)16 << 30};
    uocr_config config = {.hidden = HIDDEN,
                          .heads = HEADS,
                          .head_dim = HEAD_DIM,
                          .sam_width = SAM,
                          .sam_heads = SAM_HEADS,
                          .sam_grid = 64,
                          .clip_width = CLIP,
                          .clip_heads = CLIP_HEADS};
    uocr_error error = {.size = sizeof error};
    if (uocr_backend_cpu_create(&config, threads, precision, simd, &memory, &profile, &backend, &error) !=
        UOCR_OK)
        die(error.message);
    size_t space = 256u << 20;
    uocr_buffer *workspace = backend->buffer_create(backend, UOCR_MEMORY_DECODER_SCRATCH, space);
    if (!workspace) die("out of memory");
    backend->bind_workspace(backend, workspace, space);
    const bool exact = precision == UOCR_PRECISION_EXACT;
    integer_vision = precision == UOCR_PRECISION_INTEGER;
    if (json)
        printf("{\"simd\": \"%s\", \"threads\": %u, \"exact\": %s}\n", backend->simd, threads,
               exact ? "true" : "false");
    else printf("%s, %u threads, %s\n", backend->simd, threads, exact ? "exact" : "fast");
    if (decoder || !vision) measure_decoder(UOCR_Q4, exact), measure_decoder(UOCR_Q8, exact);
    if (vision || !decoder) measure_view(64), measure_view(40);
    return 0;
}
