/* Every operator of the CPU back end over a table of shapes, against float64 references written here.
 *
 *   test_ops [--quick] [--few] [--vector] [--fast]
 *
 * Both precisions, with the best instruction set of this machine, with the baseline of its architecture where
 * that is another, and with plain C; outputs are bit-equal for 1, 2, 3 and 7 threads. --quick: one thread
 * only. --few: without the largest shapes. --vector: the best instruction set only. --fast: FAST alone. Exit status 1 when anything is wrong. */
#include "ops_support.h"

#include "cpu/kernels.h"
#include "memory.h"
#include "profile.h"

static uocr_config config_of_full_model(void) {
    return (uocr_config){.vocab_size = 129280,
                         .hidden = 1280,
                         .layers = 12,
                         .heads = 10,
                         .head_dim = 128,
                         .intermediate = 6848,
                         .moe_intermediate = 896,
                         .experts = 64,
                         .top_k = 6,
                         .sam_width = 768,
                         .sam_heads = 12,
                         .sam_window = 14,
                         .sam_patch = 16,
                         .sam_grid = 64,
                         .sam_neck = 256,
                         .clip_width = 1024,
                         .clip_heads = 16,
                         .clip_positions = 257};
}

static void run_all(ops *o) {
    o->random = 20240607;
    o->digest = 0;
    test_kernels(o);
    test_rows(o);
    test_decoder(o);
    test_rope(o);
    test_linear(o);
    test_experts(o);
    test_vision(o);
    test_attention(o);
    test_bad_numbers(o);
}

static bool begin(ops *o, uocr_memory *memory, uocr_profile *profile, uint32_t threads, uint32_t precision,
                  uint32_t simd) {
    uocr_config config = config_of_full_model();
    uocr_error error = {.size = sizeof error};
    memset(memory, 0, sizeof *memory);
    memory->budget = (uint64_t)8 << 30;
    o->exact = precision == UOCR_PRECISION_EXACT;
    o->integer = precision == UOCR_PRECISION_INTEGER;
    o->simd = simd;
    uocr_status status =
        uocr_backend_cpu_create(&config, threads, precision, simd, memory, profile, &o->backend, &error);
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

static bool asked(int count, char **arguments, const char *option) {
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], option) == 0) return true;
    return false;
}

/* One instruction set and precision. */
static void run_kind(uint32_t precision, uint32_t simd, bool few, bool quick, unsigned *checks,
                     unsigned *failures) {
    static const uint32_t more_threads[3] = {2, 3, 7};
    static uocr_profile profile;
    uocr_memory memory;
    ops o = {.verify = true, .few = few};
    char name[16];
    if (!begin(&o, &memory, &profile, 1, precision, simd)) exit(1);
    snprintf(name, sizeof name, "%s", o.backend->simd);
    profile = (uocr_profile){.enabled = true, .phase = "test"};
    run_all(&o);
    expect_true(&o, "operators are profiled when asked for", profile.count > 10);
    profile.enabled = false;
    test_cancel(&o);
    end(&o, &memory);
    for (size_t t = 0; t < 3 && !quick; t++) {
        ops again = {.verify = false, .few = few};
        if (!begin(&again, &memory, &profile, more_threads[t], precision, simd)) exit(1);
        run_all(&again);
        expect_true(&again, "results do not depend on the number of threads", again.digest == o.digest);
        o.failures += again.failures;
        o.checks += again.checks;
        end(&again, &memory);
    }
    printf("%s %s: %u checks, %u failures, largest error %.2f of its bound (%s)\n", name,
           precision_name(&o), o.checks, o.failures, o.worst, o.worst_name);
    *checks += o.checks;
    *failures += o.failures;
}

int main(int count, char **arguments) {
    bool quick = asked(count, arguments, "--quick"), few = asked(count, arguments, "--few");
    bool vector = asked(count, arguments, "--vector"), fast = asked(count, arguments, "--fast");
    unsigned checks = 0, failures = 0;
    const bool newer = cpu_kernels_select(UOCR_SIMD_AUTO) != cpu_kernels_select(UOCR_SIMD_BASELINE);
    run_kind(UOCR_PRECISION_FAST, UOCR_SIMD_AUTO, few, quick, &checks, &failures);
    if (!fast) run_kind(UOCR_PRECISION_INTEGER, UOCR_SIMD_AUTO, few, true, &checks, &failures);
    if (!fast) run_kind(UOCR_PRECISION_EXACT, UOCR_SIMD_AUTO, few, quick, &checks, &failures);
    if (!vector) {
        run_kind(UOCR_PRECISION_FAST, UOCR_SIMD_PORTABLE, few, quick, &checks, &failures);
        if (!fast) run_kind(UOCR_PRECISION_EXACT, UOCR_SIMD_PORTABLE, few, quick, &checks, &failures);
        /* Newer instructions only serve integer products: the float work of EXACT is the same. */
        if (newer) run_kind(UOCR_PRECISION_FAST, UOCR_SIMD_BASELINE, few, quick, &checks, &failures);
    }
    printf("%u checks held, %u failed\n", checks - failures, failures);
    return failures ? 1 : 0;
}
