/* Every operator of the GPU back end over the CPU's table of shapes (gpu_table.h), its kernels run by the host device.
 *
 *   test_gpu_ops           both precisions, three orders of lanes, bit-equal
 *   test_gpu_ops --small   at most 16 rows and one order: for a library with the checker */
#include "gpu_table.h"

#include "gpu/device_host.h"

enum { SMALL_ROWS = 16 };

/* One back end's whole life; returns the number of failures. */
static unsigned run(bool exact, uint32_t order, const char *only, uint64_t *digest) {
    uocr_config config = gpu_table_config();
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
    gpu_table_run(&o, exact, only);
    *digest = o.digest;
    if (order == MSL_FORWARD) test_cancel(&o);
    if (order == MSL_FORWARD && !only) gpu_table_profiled(&o);
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
