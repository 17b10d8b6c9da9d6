/* See gpu_table.h. */
#include "gpu_table.h"

void test_rope(ops *);

uocr_config gpu_table_config(void) {
    return (uocr_config){.vocab_size = 129280,
                         .hidden = 1280,
                         .layers = 12,
                         .heads = 10,
                         .head_dim = 128,
                         .experts = 64,
                         .top_k = 6,
                         .sam_width = 768,
                         .sam_heads = 12,
                         .clip_width = 1024,
                         .clip_heads = 16};
}

/* An adapter, a raised flag, an outlier beyond half: each in its own words. */
static void beyond_half(ops *o, bool exact) {
    enum { ROWS = 3, IN = 64, OUT = 40 };
    weight w = weight_random(o, UOCR_F16, 1, OUT, IN, 1);
    uocr_tensor x = tensor_random(o, ROWS, IN, 0, 60000), y = tensor_new(o, UOCR_F32, ROWS, OUT, 0);
    uocr_linear_part part = {.weight = &w.view, .y = y};
    bool finite = false;
    workspace(o, 0);
    expect_ok(o, "the edge of half", o->backend->linear(o->backend, x, &part, 1));
    expect_ok(o, "the edge of half", o->backend->all_finite(o->backend, y, &finite));
    expect_true(o, "activations at the edge of half stay finite", finite);
    double *values = tensor_values(o, x);
    values[5] = 70000;
    tensor_write(o, x, values);
    expect_ok(o, "beyond half", o->backend->linear(o->backend, x, &part, 1));
    expect_ok(o, "beyond half", o->backend->all_finite(o->backend, y, &finite));
    expect_true(o, "beyond half is Inf where tiles are half, and is told", finite == exact);
    free(values);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
}

static void expect_lost(ops *o, const char *what, uocr_status status, uocr_tensor y) {
    bool finite = true;
    expect_ok(o, what, status);
    expect_ok(o, what, o->backend->all_finite(o->backend, y, &finite));
    expect_true(o, what, !finite);
}

/* One value that is no number, anywhere in an input, is still to be seen in the output. */
static void not_finite_stays_so(ops *o) {
    enum { ROWS = 3, IN = 64, EXPERTS = 6, TOP_K = 2, HEADS = 2 };
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    uocr_backend *b = o->backend;
    weight w = weight_random(o, UOCR_F32, 1, IN, IN, 1), norm = weight_random(o, UOCR_F32, 1, 1, IN, 1);
    weight router = weight_random(o, UOCR_F32, 1, EXPERTS, IN, 1);
    uocr_tensor y = tensor_new(o, UOCR_F32, ROWS, IN, 0), probs = tensor_new(o, UOCR_F32, ROWS, EXPERTS, 0);
    uocr_tensor ids = tensor_new(o, UOCR_I32, ROWS, TOP_K, 0), weights = tensor_new(o, UOCR_F32, ROWS, TOP_K, 0);
    uocr_tensor x = tensor_random(o, ROWS, IN, 0, 1), qkv = tensor_random(o, ROWS, 3 * IN, 0, 1);
    uocr_buffer *room = workspace(o, b->swiglu_workspace(b, ROWS, IN, IN));
    double *values = tensor_values(o, x), *wide = tensor_values(o, qkv), *clean = tensor_values(o, x);
    for (size_t p = 0; p < 3; p++) {
        values[IN + 5] = poison[p], wide[3 * IN + 7] = poison[p];
        tensor_write(o, x, values), tensor_write(o, qkv, wide);
        expect_lost(o, "rms_norm of no number", b->rms_norm(b, x, &norm.view, 1e-6f, y), y);
        expect_lost(o, "layer_norm of no number", b->layer_norm(b, x, &norm.view, &norm.view, 1e-6f, y), y);
        uocr_linear_part part = {.weight = &w.view, .y = y, .activation = UOCR_GELU_ERF};
        expect_lost(o, "linear of no number", b->linear(b, x, &part, 1), y);
        uocr_tensor row = uocr_tensor_rows(x, 1, 1), out = uocr_tensor_rows(y, 1, 1);
        part.y = out;
        expect_lost(o, "linear of a row with no number", b->linear(b, row, &part, 1), out);
        expect_lost(o, "route of no number", b->route(b, x, &router.view, TOP_K, true, 1, probs, ids, weights),
                    weights);
        tensor_write(o, y, clean); /* it adds to what is there */
        expect_lost(o, "swiglu of no number", b->swiglu(b, x, &w.view, &w.view, &w.view, y), y);
        expect_lost(o, "attention of no number", b->attention_full(b, qkv, HEADS, y), y);
    }
    values[IN + 5] = 0.5;
    tensor_write(o, x, values);
    ((float *)(void *)router.payload)[IN + 3] = NAN; /* of one expert that need not be chosen */
    expect_lost(o, "route by no number", b->route(b, x, &router.view, TOP_K, false, 1, probs, ids, weights), weights);
    free(values), free(wide), free(clean);
    b->buffer_destroy(b, room);
    workspace(o, 0);
    weight_free(&w), weight_free(&norm), weight_free(&router);
    tensor_free(o, x), tensor_free(o, y), tensor_free(o, probs), tensor_free(o, ids), tensor_free(o, weights);
    tensor_free(o, qkv);
}

/* With the profile on, the numbers are the same and every kernel is counted. */
void gpu_table_profiled(ops *o) {
    uocr_profile *profile = o->backend->profile;
    gpu_counts before = uocr_backend_gpu_counts(o->backend);
    *profile = (uocr_profile){.enabled = true, .phase = "decode"};
    test_experts(o);
    profile->enabled = false;
    gpu_counts after = uocr_backend_gpu_counts(o->backend);
    uint64_t dispatches = 0, buffers = 0, read = 0, written = 0, experts = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        const uocr_profile_row *row = &profile->row[i];
        bool all = strcmp(row->name, "decode/dispatches") == 0;
        dispatches += all ? row->calls : 0;
        read += all ? row->bytes : 0;
        written += strcmp(row->name, "decode/written") == 0 ? row->bytes : 0;
        buffers += strcmp(row->name, "decode/command buffers") == 0 ? row->calls : 0;
        experts += strcmp(row->name, "decode/experts") == 0 ? row->calls : 0;
    }
    expect_true(o, "the profile has every dispatch", dispatches == after.dispatches - before.dispatches);
    expect_true(o, "the profile has every byte",
                read == after.read - before.read && written == after.written - before.written);
    expect_true(o, "the profile has every command buffer", buffers == after.encoders - before.encoders);
    expect_true(o, "the profile has the operators", experts > 10);
}

void gpu_table_run(ops *o, bool exact, const char *only) {
    o->random = 20240607;
    o->digest = 0;
    ops_tile_error = exact ? 0 : 0x1p-10;
    struct {
        const char *name;
        void (*run)(ops *);
    } families[] = {{"rows", test_rows},          {"decoder", test_decoder}, {"rope", test_rope},
                    {"linear", test_linear},      {"experts", test_experts}, {"vision", test_vision},
                    {"attention", test_attention}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!only || strcmp(only, families[i].name) == 0) {
            double begun = uocr_now();
            families[i].run(o);
            if (getenv("VERBOSE")) printf("%s: %.1f s\n", families[i].name, uocr_now() - begun);
        }
    if (exact && !only) test_bad_numbers(o); /* numbers that only f32 can hold */
    beyond_half(o, exact);
    if (!only || strcmp(only, "decoder") == 0) not_finite_stays_so(o);
}
