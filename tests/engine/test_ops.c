/* Every operator of the CPU back end over a table of shapes, against float64 references written here.
 *
 *   test_ops            all tests
 *   test_ops --quick    without other thread counts
 *
 * Both precisions, the best instruction set of this machine and plain C. Outputs are bit-equal for 1, 2, 3 and 7
 * threads. Exit status 1 when anything is wrong. */
#include "ops_support.h"

#include "memory.h"
#include "profile.h"

void test_rope(ops *);

static uocr_config config_of_full_model(void) {
    return (uocr_config){.vocab_size = 129280, .hidden = 1280, .layers = 12, .heads = 10, .head_dim = 128,
                         .intermediate = 6848, .moe_intermediate = 896, .experts = 64, .top_k = 6,
                         .sam_width = 768, .sam_heads = 12, .sam_window = 14, .sam_patch = 16, .sam_grid = 64,
                         .sam_neck = 256, .clip_width = 1024, .clip_heads = 16, .clip_positions = 257};
}

static void run_all(ops *o) {
    o->random = 20240607;
    o->digest = 0;
    test_rows(o);
    test_decoder(o);
    test_rope(o);
    test_linear(o);
    test_experts(o);
    test_vision(o);
    test_attention(o);
    test_bad_numbers(o);
}

static void cancel(ops *o) {
    atomic_bool flag = true;
    weight w = weight_random(o, UOCR_F32, 1, 64, 64, 1);
    uocr_tensor x = tensor_random(o, 4, 64, 0, 1), y = tensor_random(o, 4, 64, 0, 1);
    uocr_linear_part part = {.weight = &w.view, .y = y};
    workspace(o, 0);
    o->backend->watch_cancel(o->backend, &flag);
    expect_true(o, "a raised flag cancels", o->backend->linear(o->backend, x, &part, 1) == UOCR_CANCELLED);
    atomic_store(&flag, false);
    expect_ok(o, "a lowered flag does not", o->backend->linear(o->backend, x, &part, 1));
    o->backend->watch_cancel(o->backend, NULL);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
}

static bool begin(ops *o, uocr_memory *memory, uocr_profile *profile, uint32_t threads, uint32_t precision, uint32_t simd) {
    uocr_config config = config_of_full_model();
    uocr_error error = {.size = sizeof error};
    memset(memory, 0, sizeof *memory);
    memory->budget = (uint64_t)8 << 30;
    o->exact = precision == UOCR_PRECISION_EXACT;
    uocr_status status = uocr_backend_cpu_create(&config, threads, precision, simd, memory, profile, &o->backend, &error);
    if (status == UOCR_OK) return true;
    printf("FAIL cannot create the back end: %s\n", error.message);
    return false;
}

static void end(ops *o, const uocr_memory *memory) {
    o->backend->destroy(o->backend);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++)
        if (memory->current[c] != 0) {
            printf("FAIL %llu bytes of category %u are left\n", (unsigned long long)memory->current[c], c);
            o->failures++;
        }
}

int main(int count, char **arguments) {
    static const uint32_t more_threads[3] = {2, 3, 7};
    bool quick = count > 1 && strcmp(arguments[1], "--quick") == 0;
    unsigned failures = 0;
    for (uint32_t simd = UOCR_SIMD_AUTO; simd <= UOCR_SIMD_PORTABLE; simd++)
        for (uint32_t precision = UOCR_PRECISION_FAST; precision <= UOCR_PRECISION_EXACT; precision++) {
            ops o = {.verify = true};
            uocr_memory memory;
            static uocr_profile profile;
            if (!begin(&o, &memory, &profile, 1, precision, simd)) return 1;
            profile = (uocr_profile){.enabled = true, .phase = "test"};
            run_all(&o);
            expect_true(&o, "operators are profiled when asked for", profile.count > 10);
            profile.enabled = false;
            cancel(&o);
            char name[16];
            snprintf(name, sizeof name, "%s", o.backend->simd);
            uint64_t digest = o.digest;
            end(&o, &memory);
            for (size_t t = 0; t < 3 && !quick; t++) {
                ops again = {.verify = false};
                if (!begin(&again, &memory, &profile, more_threads[t], precision, simd)) return 1;
                run_all(&again);
                expect_true(&again, "results do not depend on the number of threads", again.digest == digest);
                o.failures += again.failures;
                o.checks += again.checks;
                end(&again, &memory);
            }
            printf("%s %s: %u checks, %u failures, largest error %.2f of its bound (%s)\n", name,
                   precision == UOCR_PRECISION_EXACT ? "exact" : "fast", o.checks, o.failures, o.worst, o.worst_name);
            failures += o.failures;
        }
    return failures ? 1 : 0;
}
