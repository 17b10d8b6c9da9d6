/* Every operator of the GPU back end over the CPU's table of shapes, against the same float64 references, its
 * kernels run by the host device.
 *
 *   test_gpu_ops           both precisions, three orders of lanes, bit-equal
 *   test_gpu_ops --small   at most 16 rows and one order: for a library with the checker
 *
 * Half tiles (FAST) are allowed the rounding of a product's inputs; float tiles (EXACT) nothing more than the
 * CPU. */
#include "ops_support.h"

#include "gpu/device_host.h"
#include "gpu/gpu.h"

void test_rope(ops *);

enum { SMALL_ROWS = 16 };

static uocr_config config_of_full_model(void) {
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

static void cancel(ops *o) {
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
static void profiled(ops *o) {
    uocr_profile *profile = o->backend->profile;
    gpu_counts before = uocr_backend_gpu_counts(o->backend);
    *profile = (uocr_profile){.enabled = true, .phase = "decode"};
    test_experts(o);
    profile->enabled = false;
    gpu_counts after = uocr_backend_gpu_counts(o->backend);
    uint64_t dispatches = 0, bytes = 0, experts = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        bool all = strcmp(profile->row[i].name, "decode/dispatches") == 0;
        dispatches += all ? profile->row[i].calls : 0;
        bytes += all ? profile->row[i].bytes : 0;
        experts += strcmp(profile->row[i].name, "decode/experts") == 0 ? profile->row[i].calls : 0;
    }
    expect_true(o, "the profile has every dispatch", dispatches == after.dispatches - before.dispatches);
    expect_true(o, "the profile has every byte",
                bytes == after.read + after.written - before.read - before.written);
    expect_true(o, "the profile has the operators", experts > 10);
}

static void run_all(ops *o, bool exact, const char *only) {
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

/* One back end's whole life; returns the number of failures. */
static unsigned run(bool exact, uint32_t order, const char *only, uint64_t *digest) {
    uocr_config config = config_of_full_model();
    uocr_error error = {.size = sizeof error};
    uocr_memory memory = {.budget = (uint64_t)8 << 30};
    static uocr_profile profile;
    gpu_device *device;
    ops o = {.verify = order == MSL_FORWARD, .exact = true};
    if (gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, exact ? UOCR_PRECISION_EXACT : UOCR_PRECISION_FAST, &memory,
                                &profile, &o.backend, &error) != UOCR_OK) {
        printf("FAIL %s\n", error.message);
        return 1;
    }
    gpu_host_order(device, order);
    run_all(&o, exact, only);
    *digest = o.digest;
    if (order == MSL_FORWARD) cancel(&o);
    if (order == MSL_FORWARD && !only) profiled(&o);
    if (o.failures) printf("last failure of the device: %s\n", device->failure(device));
    o.backend->destroy(o.backend);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++)
        if (memory.current[c] != 0) {
            printf("FAIL %llu bytes of category %u are left\n", (unsigned long long)memory.current[c], c);
            o.failures++;
        }
    printf("%s, lane order %u: %u checks, %u failures, largest error %.2f of its bound (%s)\n",
           exact ? "exact" : "fast", order, o.checks, o.failures, o.worst, o.worst_name);
    return o.failures;
}

int main(int count, char **arguments) {
    bool small = count > 1 && strcmp(arguments[1], "--small") == 0;
    const char *only = count > 2 ? arguments[2] : NULL;
    unsigned failures = 0;
    if (small) ops_most_rows = SMALL_ROWS;
    for (int exact = 0; exact < 2; exact++) {
        uint64_t first, other;
        failures += run(exact, MSL_FORWARD, only, &first);
        for (uint32_t order = MSL_REVERSE; order < MSL_ORDERS && !small; order++) {
            failures += run(exact, order, only, &other);
            if (other != first) {
                printf("FAIL results depend on the order of lanes\n");
                failures++;
            }
        }
    }
    return failures ? 1 : 0;
}
