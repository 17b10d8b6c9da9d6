/* Every operator of the GPU back end on this machine's own GPU, over the CPU's table of shapes and against the same
 * float64 references; each precision twice, and both times must give the same bits.
 *
 *   operators [FAMILY]      kernels from $UOCR_METAL_KERNELS */
#include "gpu_table.h"

/* One back end's whole life; returns the number of failures. */
static unsigned run(bool exact, const char *only, uint64_t *digest) {
    uocr_config config = gpu_table_config();
    uocr_error error = {.size = sizeof error};
    uocr_memory memory = {.budget = (uint64_t)8 << 30};
    static uocr_profile profile;
    gpu_device *device = NULL;
    ops o = {.verify = true, .exact = true};
    if (gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, exact ? UOCR_PRECISION_EXACT : UOCR_PRECISION_FAST, &memory,
                                &profile, &o.backend, &error) != UOCR_OK) {
        printf("FAIL %s\n", error.message);
        return 1;
    }
    gpu_table_run(&o, exact, only);
    *digest = o.digest;
    test_cancel(&o);
    if (!only) gpu_table_profiled(&o);
    if (o.failures) printf("last failure of the device: %s\n", device->failure(device));
    o.backend->destroy(o.backend);
    for (uint32_t c = 0; c < UOCR_MEMORY_CATEGORIES; c++)
        if (memory.current[c] != 0) {
            printf("FAIL %llu bytes of category %u are left\n", (unsigned long long)memory.current[c], c);
            o.failures++;
        }
    printf("%s: %u checks, %u failures, largest error %.3f of its bound (%s)\n", exact ? "exact" : "fast",
           o.checks, o.failures, o.worst, o.worst_name);
    return o.failures;
}

int main(int count, char **arguments) {
    const char *only = count > 1 ? arguments[1] : NULL;
    unsigned failures = 0;
    for (int exact = 0; exact < 2; exact++) {
        uint64_t first = 0, second = 1;
        failures += run(exact, only, &first);
        failures += run(exact, only, &second);
        if (first != second) {
            printf("FAIL two runs of %s differ\n", exact ? "exact" : "fast");
            failures++;
        }
    }
    return failures ? 1 : 0;
}
