/* Operators put off until the next one comes: the same numbers as one by one, in fewer dispatches.
 *
 * A decoder step of three layers (dense, then experts with a shared layer) runs twice over the host device:
 * with `finish` after every operator, which settles what was put off, and without. The residual row and the
 * cache must agree, and the normed rows too, which fused kernels leave behind. Every dispatch is watched:
 * weights must be read once. */
#include "ops_support.h"

#include "gpu/device_host.h"
#include "gpu/gpu.h"

enum {
    HIDDEN = 128,
    HEADS = 2,
    DIM = 64,
    DENSE = 192,
    INNER = 64,
    EXPERTS = 8,
    TOP_K = 3,
    SHARED = 128,
    LAYERS = 3
};

typedef struct layer {
    weight norm1, norm2, q, k, v, o, gate, up, down, router, expert_gate, expert_up, expert_down;
} layer;

typedef struct step {
    ops o;
    layer layers[LAYERS];
    uocr_kv kv[LAYERS];
    uocr_tensor x, h, q, k, v, y, probs, ids, weights;
    size_t slots, used, dispatches, weighed;
    bool one_by_one;
} step;

static bool msl_watched; /* the library has the checker */

static void make_layers(step *s) {
    ops *o = &s->o;
    for (int l = 0; l < LAYERS; l++) {
        layer *w = &s->layers[l];
        uocr_dtype type = l == 2 ? UOCR_Q4 : UOCR_Q8;
        w->norm1 = weight_random(o, UOCR_F32, 1, 1, HIDDEN, 1);
        w->norm2 = weight_random(o, UOCR_F16, 1, 1, HIDDEN, 1);
        w->q = weight_random(o, type, 1, HEADS * DIM, HIDDEN, 0.1);
        w->k = weight_random(o, UOCR_F16, 1, HEADS * DIM, HIDDEN, 0.1);
        w->v = weight_random(o, UOCR_F32, 1, HEADS * DIM, HIDDEN, 0.1);
        w->o = weight_random(o, type, 1, HIDDEN, HEADS * DIM, 0.1);
        size_t inner = l == 0 ? DENSE : SHARED;
        w->gate = weight_random(o, UOCR_Q8, 1, inner, HIDDEN, 0.1);
        w->up = weight_random(o, UOCR_Q8, 1, inner, HIDDEN, 0.1);
        w->down = weight_random(o, UOCR_Q8, 1, HIDDEN, inner, 0.1);
        w->router = weight_random(o, UOCR_F32, 1, EXPERTS, HIDDEN, 0.3);
        w->expert_gate = weight_random(o, type, EXPERTS, INNER, HIDDEN, 0.1);
        w->expert_up = weight_random(o, type, EXPERTS, INNER, HIDDEN, 0.1);
        w->expert_down = weight_random(o, type, EXPERTS, HIDDEN, INNER, 0.1);
    }
}

static void free_layers(step *s) {
    for (int l = 0; l < LAYERS; l++) {
        weight *all = (weight *)&s->layers[l];
        for (size_t i = 0; i < sizeof(layer) / sizeof(weight); i++) weight_free(&all[i]);
    }
}

static void then(step *s, uocr_status status) {
    expect_ok(&s->o, "operator", status);
    if (s->one_by_one) expect_ok(&s->o, "finish", s->o.backend->finish(s->o.backend));
}

static void run_layer(step *s, int l) {
    uocr_backend *b = s->o.backend;
    layer *w = &s->layers[l];
    uocr_linear_part parts[3] = {{.weight = &w->q.view, .y = s->q},
                                 {.weight = &w->k.view, .y = s->k},
                                 {.weight = &w->v.view, .y = s->v}};
    uocr_linear_part out = {.weight = &w->o.view, .y = s->x, .accumulate = true};
    then(s, b->rms_norm(b, s->x, &w->norm1.view, 1e-6f, s->h));
    then(s, b->linear(b, s->h, parts, 3));
    then(s, b->rope_append(b, s->q, s->k, s->v, &s->kv[l], 700, s->used - 1, 10000));
    then(s, b->attention_decode(b, s->q, &s->kv[l], s->used, s->y));
    then(s, b->linear(b, s->y, &out, 1));
    then(s, b->rms_norm(b, s->x, &w->norm2.view, 1e-6f, s->h));
    if (l > 0) {
        then(s, b->route(b, s->h, &w->router.view, TOP_K, true, 1, s->probs, s->ids, s->weights));
        then(s, b->experts(b, s->h, s->ids, s->weights, &w->expert_gate.view, &w->expert_up.view,
                           &w->expert_down.view, s->x));
    }
    then(s, b->swiglu(b, s->h, &w->gate.view, &w->up.view, &w->down.view, s->x));
}

/* Bytes of weights that a dispatch must read: experts' payloads and scales lie in the arguments first..last.
 */
static void count_weights(void *observer, const gpu_dispatch *d, const msl_counts *counts) {
    static const struct {
        const char *kernel;
        size_t begin, first, last;
    } kernels[] = {{"gemv", 4, 1, 0}, {"row_gate_up", 5, 5, 8}, {"row_down", 4, 4, 5}};
    step *s = observer;
    s->dispatches++;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && counts->loaded; i++) {
        if (strcmp(d->kernel, kernels[i].kernel) != 0) continue;
        uint64_t loaded = 0, floor = 0;
        for (size_t a = kernels[i].begin; a < GPU_MOST_ARGUMENTS; a++) {
            const gpu_argument *w = &d->argument[a];
            /* Places that are not used repeat an argument that is; the checker counts them under the first.
             */
            size_t seen = 0, first = kernels[i].begin;
            if (w->kind != GPU_WEIGHT) continue;
            while (d->argument[seen].data != w->data) seen++;
            while (d->argument[first].data != w->data) first++;
            if (first < a) continue;
            bool experts = a >= kernels[i].first && a <= kernels[i].last && d->constants[6] > 0;
            loaded += counts->loaded_from[seen];
            floor += experts ? w->bytes / EXPERTS * TOP_K : w->bytes;
        }
        if (loaded != floor)
            printf("%s: %llu bytes of weights loaded, %llu are needed\n", d->kernel,
                   (unsigned long long)loaded, (unsigned long long)floor);
        expect_true(&s->o, "every active weight is read once", loaded == floor);
        s->weighed++;
    }
}

/* Runs the step; the caller frees the values. */
static double *run_step(step *s, bool exact, bool one_by_one, size_t used, double **cache,
                        size_t *dispatches) {
    uocr_config config = {
        .hidden = HIDDEN, .heads = HEADS, .head_dim = DIM, .experts = EXPERTS, .top_k = TOP_K};
    uocr_error error = {.size = sizeof error};
    static uocr_memory memory;
    static uocr_profile profile;
    gpu_device *device;
    memory = (uocr_memory){.budget = (uint64_t)1 << 30};
    *s = (step){.o = {.verify = true, .exact = true, .random = 5},
                .slots = used + 3,
                .used = used,
                .one_by_one = one_by_one};
    ops *o = &s->o;
    if (gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, exact ? UOCR_PRECISION_EXACT : UOCR_PRECISION_FAST, &memory,
                                &profile, &o->backend, &error) != UOCR_OK) {
        printf("FAIL %s\n", error.message);
        exit(1);
    }
    gpu_host_observe(device, count_weights, s);
    msl_watched = gpu_host_checks(device);
    uocr_backend *b = o->backend;
    make_layers(s);
    s->x = tensor_random(o, 1, HIDDEN, 0, 1);
    for (int l = 0; l < LAYERS; l++) {
        s->kv[l] = (uocr_kv){.heads = HEADS, .slots = s->slots, .head_dim = DIM};
        s->kv[l].k = tensor_new(o, b->kv_dtype(b, false), HEADS * s->slots, DIM, 0);
        s->kv[l].v = tensor_random(o, HEADS * s->slots, DIM, 0, 1);
        uocr_tensor random = tensor_random(o, HEADS * s->slots, DIM, 0, 1);
        double *values = tensor_values(o, random);
        tensor_write(o, s->kv[l].k, values);
        free(values);
        tensor_free(o, random);
    }
    s->h = tensor_new(o, UOCR_F32, 1, HIDDEN, 0);
    s->q = tensor_new(o, UOCR_F32, 1, HEADS * DIM, 0);
    s->k = tensor_new(o, UOCR_F32, 1, HEADS * DIM, 0);
    s->v = tensor_new(o, UOCR_F32, 1, HEADS * DIM, 0);
    s->y = tensor_new(o, UOCR_F32, 1, HEADS * DIM, 0);
    s->probs = tensor_new(o, UOCR_F32, 1, EXPERTS, 0);
    s->ids = tensor_new(o, UOCR_I32, 1, TOP_K, 0);
    s->weights = tensor_new(o, UOCR_F32, 1, TOP_K, 0);
    uocr_buffer *space = workspace(o, 1 << 16);
    gpu_counts before = uocr_backend_gpu_counts(b);
    for (int l = 0; l < LAYERS; l++) run_layer(s, l);
    expect_ok(o, "finish", b->finish(b));
    *dispatches = uocr_backend_gpu_counts(b).dispatches - before.dispatches;
    expect_true(o, "the back end counts what the device runs", *dispatches == s->dispatches);
    double *x = tensor_values(o, s->x), *h = tensor_values(o, s->h), *k = tensor_values(o, s->kv[2].k);
    double *out = zeroed(2 * HIDDEN, sizeof *out);
    memcpy(out, x, HIDDEN * sizeof *out);
    memcpy(out + HIDDEN, h, HIDDEN * sizeof *out);
    *cache = k;
    free(x), free(h);
    uocr_tensor all[] = {s->x, s->h, s->q, s->k, s->v, s->y, s->probs, s->ids, s->weights};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_free(o, all[i]);
    for (int l = 0; l < LAYERS; l++) tensor_free(o, s->kv[l].k), tensor_free(o, s->kv[l].v);
    b->buffer_destroy(b, space);
    free_layers(s);
    b->destroy(b);
    return out;
}

static unsigned compare(bool exact, size_t used, size_t fused_dispatches) {
    step s;
    double *cache_a, *cache_b;
    size_t apart, together;
    unsigned failures;
    double *a = run_step(&s, exact, true, used, &cache_a, &apart);
    failures = s.o.failures;
    double *b = run_step(&s, exact, false, used, &cache_b, &together);
    double worst = 0, worst_cache = 0;
    for (size_t i = 0; i < 2 * HIDDEN; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    for (size_t i = 0; i < HEADS * s.slots * DIM; i++)
        worst_cache = fmax(worst_cache, fabs(cache_a[i] - cache_b[i]));
    /* Values are about 1; K in half may round to either neighbour. */
    expect_true(&s.o, "the residual and normed rows agree", worst < (exact ? 1e-5 : 2e-3) && worst == worst);
    expect_true(&s.o, "the cache agrees", worst_cache < (exact ? 1e-5 : 2e-3));
    expect_true(&s.o, "fewer dispatches", together == fused_dispatches && together < apart);
    expect_true(&s.o, "weights were counted wherever loads are", msl_watched == (s.weighed > 0));
    printf("%s, %zu keys: %zu dispatches one by one, %zu together; rows differ by %.1e, cache by %.1e\n",
           exact ? "exact" : "fast", used, apart, together, worst, worst_cache);
    free(a), free(b), free(cache_a), free(cache_b);
    return failures + s.o.failures;
}

/* Every expert that a chunk of the prompt uses is read once: its rows share the tiles of its weights. */
static void count_experts(void *observer, const gpu_dispatch *d, const msl_counts *counts) {
    step *s = observer;
    if (strcmp(d->kernel, "gemm") != 0 || !counts->loaded) return;
    bool gated = d->constants[3] != 0;
    uint64_t loaded = 0, whole = 0;
    for (size_t a = 0; a < GPU_MOST_ARGUMENTS; a++) {
        bool weights = a == 1 || a == 2 || (gated && (a == 6 || a == 7));
        if (!weights) continue;
        loaded += counts->loaded_from[a];
        whole += d->argument[a].bytes;
    }
    expect_true(&s->o, "an expert is read once", loaded == whole / EXPERTS * s->used);
    s->weighed++;
}

static unsigned prefill_experts(void) {
    enum { ROWS = 48 };
    uocr_config config = {
        .hidden = HIDDEN, .heads = HEADS, .head_dim = DIM, .experts = EXPERTS, .top_k = TOP_K};
    uocr_error error = {.size = sizeof error};
    uocr_memory memory = {.budget = (uint64_t)1 << 30};
    static uocr_profile profile;
    gpu_device *device;
    step s = {.o = {.verify = true, .exact = true, .random = 9}, .used = EXPERTS - 1};
    ops *o = &s.o;
    if (gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, UOCR_PRECISION_FAST, &memory, &profile, &o->backend,
                                &error) != UOCR_OK)
        return 1;
    gpu_host_observe(device, count_experts, &s);
    weight gate = weight_random(o, UOCR_Q4, EXPERTS, INNER, HIDDEN, 1),
           up = weight_random(o, UOCR_Q4, EXPERTS, INNER, HIDDEN, 1);
    weight down = weight_random(o, UOCR_Q8, EXPERTS, HIDDEN, INNER, 1);
    uocr_tensor x = tensor_random(o, ROWS, HIDDEN, 0, 1), y = tensor_random(o, ROWS, HIDDEN, 0, 1);
    uocr_tensor ids = tensor_new(o, UOCR_I32, ROWS, TOP_K, 0), weights = tensor_random(o, ROWS, TOP_K, 0, 1);
    double id[ROWS * TOP_K]; /* all experts but the last, each by at most 64 rows */
    for (size_t i = 0; i < ROWS * TOP_K; i++) id[i] = (double)(i % (EXPERTS - 1));
    tensor_write(o, ids, id);
    uocr_buffer *space =
        workspace(o, o->backend->experts_workspace(o->backend, ROWS, TOP_K, EXPERTS, HIDDEN, INNER));
    expect_ok(o, "experts",
              o->backend->experts(o->backend, x, ids, weights, &gate.view, &up.view, &down.view, y));
    expect_ok(o, "finish", o->backend->finish(o->backend));
    expect_true(o, "both products were weighed wherever loads are",
                s.weighed == (gpu_host_checks(device) ? 2 : 0));
    tensor_free(o, x), tensor_free(o, y), tensor_free(o, ids), tensor_free(o, weights);
    weight_free(&gate), weight_free(&up), weight_free(&down);
    o->backend->buffer_destroy(o->backend, space);
    o->backend->destroy(o->backend);
    return o->failures;
}

int main(void) {
    unsigned failures = prefill_experts();
    for (int exact = 0; exact < 2; exact++) {
        failures += compare(exact, 40, 5 + 2 * 6);  /* one block of keys */
        failures += compare(exact, 300, 6 + 2 * 7); /* two blocks: one kernel more a layer */
    }
    return failures ? 1 : 0;
}
