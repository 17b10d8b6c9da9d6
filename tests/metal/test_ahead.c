/* Tokens that the device chooses by itself, against the engine's own repeat guard: the same bans, the same
 * ids, two steps underway, embeddings of ids that the host has not seen. Logits are made so that the best ids
 * repeat. */
#include "ops_support.h"

#include "gpu/device_host.h"
#include "gpu/gpu.h"
#include "ngram.h"

enum { VOCAB = 1100, USABLE = 1037, COLS = 64, MOST_PROMPT = 1500 };

static unsigned choices_made; /* by kernels that have run */

static void count_choices(void *unused, const gpu_dispatch *dispatch, const msl_counts *counts) {
    (void)unused, (void)counts;
    choices_made += strcmp(dispatch->kernel, "choose_merge") == 0;
}

typedef struct guarded {
    uint32_t size, cycle, window;
    size_t prompt, steps;
    int32_t allow[2];
    uint32_t allow_count;
    int32_t never;
} guarded;

/* The largest of the usable logits that is not banned, and the largest of all. */
static int32_t best(const double *logits, const int32_t *banned, size_t count, int32_t never) {
    int32_t id = -1;
    for (int32_t i = 0; i < USABLE; i++) {
        bool out = i == never;
        for (size_t k = 0; k < count; k++) out |= banned[k] == i;
        if (!out && (id < 0 || logits[i] > logits[id])) id = i;
    }
    return id;
}

static void one_case(ops *o, const guarded *g, unsigned *acted) {
    uocr_backend *b = o->backend;
    uocr_memory memory = {.budget = (uint64_t)1 << 30};
    int32_t prompt[MOST_PROMPT];
    for (size_t i = 0; i < g->prompt; i++) prompt[i] = (int32_t)uniform(o, 0, 4);
    const uocr_ahead_operators *operators = b->ahead;
    uocr_ahead_rules rules = {USABLE, g->size, g->cycle, g->window, g->allow, g->allow_count, g->never};
    uocr_ahead *ahead = NULL;
    expect_ok(o, "create", operators->create(b, &rules, prompt, g->prompt, &ahead));
    uocr_ngram *ngram =
        g->size ? uocr_ngram_create(&memory, g->size, g->cycle, g->window, g->allow, g->allow_count) : NULL;
    weight table = weight_random(o, UOCR_Q8, 1, VOCAB, COLS, 1);
    uocr_tensor logits[UOCR_AHEAD], row[UOCR_AHEAD];
    double *values[UOCR_AHEAD], zero[COLS] = {0};
    choices_made = 0;
    if (ngram) uocr_ngram_push(ngram, prompt, g->prompt);
    for (size_t i = 0; i < UOCR_AHEAD; i++) row[i] = tensor_new(o, UOCR_F32, 1, COLS, 0);
    for (size_t step = 0; step < g->steps; step += UOCR_AHEAD) {
        for (size_t i = 0; i < UOCR_AHEAD; i++) { /* both are encoded before either is read */
            logits[i] = tensor_random(o, 1, VOCAB, 0, 1);
            values[i] = tensor_values(o, logits[i]);
            for (size_t k = 0; k < 4; k++) values[i][k] += 3; /* few ids, so that they repeat */
            tensor_write(o, logits[i], values[i]);
            expect_ok(o, "choose", operators->choose(ahead, logits[i]));
            expect_ok(o, "embed", operators->embed(ahead, &table.view, row[i]));
        }
        for (size_t i = 0; i < UOCR_AHEAD; i++) {
            uocr_choice choice = {0};
            size_t count = 0;
            const int32_t *banned = ngram ? uocr_ngram_banned(ngram, &count) : NULL;
            int32_t wanted = best(values[i], banned, count, g->never),
                    free_choice = best(values[i], NULL, 0, g->never);
            expect_ok(o, "read", operators->read(ahead, step + i, &choice));
            expect_true(o, "reading one step does not wait for the next", choices_made == step + i + 1);
            expect_true(o, "the id that the engine's own guard leaves", choice.id == wanted);
            expect_true(o, "the id without the guard", choice.unguarded == free_choice && choice.finite);
            *acted += choice.id != choice.unguarded;
            expect(o, "embedding of the chosen id", row[i], table.value + (size_t)wanted * COLS, zero);
            if (ngram) uocr_ngram_push(ngram, &wanted, 1);
            free(values[i]);
            tensor_free(o, logits[i]);
        }
    }
    for (size_t i = 0; i < UOCR_AHEAD; i++) tensor_free(o, row[i]);
    weight_free(&table);
    uocr_ngram_destroy(&memory, ngram);
    operators->destroy(ahead);
}

int main(void) {
    static const guarded cases[] = {
        {3, 3, 40, 30, 40, {0}, 0, -1},     {2, 2, 16, 5, 60, {1}, 1, -1},       {1, 1, 3, 0, 20, {0}, 0, -1},
        {5, 5, 1024, 1200, 20, {0}, 0, -1}, {4, 4, 128, 1030, 30, {2, 0}, 2, 3}, {0, 0, 0, 10, 12, {0}, 0, 1},
        {6, 6, 4, 50, 12, {0}, 0, -1},      {9, 3, 40, 30, 60, {0}, 0, -1},      {7, 3, 8, 1040, 60, {2}, 1, -1},
    };
    uocr_config config = {.head_dim = 64};
    uocr_error error = {.size = sizeof error};
    uocr_memory memory = {.budget = (uint64_t)1 << 30};
    static uocr_profile profile;
    gpu_device *device;
    unsigned acted = 0;
    ops o = {.verify = true, .exact = true, .random = 11};
    if (gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, UOCR_PRECISION_FAST, &memory, &profile, &o.backend,
                                &error) != UOCR_OK) {
        printf("FAIL %s\n", error.message);
        return 1;
    }
    gpu_host_observe(device, count_choices, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) one_case(&o, &cases[i], &acted);
    static const struct {
        const char *name;
        uocr_ahead_rules rules;
        bool taken;
    } limits[] = {
        {"the widest window", {.usable = 1026, .guard_size = 3, .guard_cycle = 3, .guard_window = 1024, .never = -1}, true},
        {"a window beyond the ring", {.usable = 5000, .guard_size = 3, .guard_window = 1025, .never = -1}, false},
        {"a window of a guard that is off", {.usable = 5000, .guard_window = 9000, .never = -1}, true},
        {"so few ids that all could be banned", {.usable = 41, .guard_size = 3, .guard_window = 40, .never = 1}, false},
        {"the most allowed ids", {.usable = 5000, .allow_count = 1024, .never = -1}, true},
        {"more allowed ids", {.usable = 5000, .allow_count = 1025, .never = -1}, false},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        expect_true(&o, limits[i].name, o.backend->ahead->takes(&limits[i].rules) == limits[i].taken);
    if (o.failures) printf("%s\n", device->failure(device));
    o.backend->destroy(o.backend);
    printf("%u checks, %u failures, the guard acted %u times\n", o.checks, o.failures, acted);
    return o.failures ? 1 : 0;
}
