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

void gpu_table_cancel(ops *o) {
    atomic_bool flag = true;
    weight w = weight_random(o, UOCR_F32, 1, 64, 64, 1);
    uocr_tensor x = tensor_random(o, 4, 64, 0, 1), y = tensor_random(o, 4, 64, 0, 1);
    uocr_linear_part part = {.weight = &w.view, .y = y};
    o->backend->watch_cancel(o->backend, &flag);
    expect_true(o, "a raised flag cancels", o->backend->linear(o->backend, x, &part, 1) == UOCR_CANCELLED);
    atomic_store(&flag, false);
    expect_ok(o, "a lowered flag does not", o->backend->linear(o->backend, x, &part, 1));
    o->backend->watch_cancel(o->backend, NULL);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
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
}
