/* One small case of a kernel, for libraries with a fault put in on purpose: prints what the device says of
 * it.
 *
 *   test_seeded gemv | gemm | decode | attention */
#include "ops_support.h"

#include "gpu/device_host.h"
#include "gpu/gpu.h"

static uocr_status gemv(ops *o, size_t rows, size_t in, size_t out) {
    weight w = weight_random(o, UOCR_Q4, 1, out, in, 0.1);
    uocr_tensor x = tensor_random(o, rows, in, 0, 1), y = tensor_new(o, UOCR_F32, rows, out, 0);
    uocr_linear_part part = {.weight = &w.view, .y = y};
    uocr_status status = o->backend->linear(o->backend, x, &part, 1);
    if (status == UOCR_OK) status = o->backend->finish(o->backend);
    double *got = tensor_values(o, y), *xv = tensor_values(o, x), *want = zeroed(rows * out, 8);
    double *size = zeroed(rows * out, 8);
    product(xv, &w, 0, rows, want, size);
    for (size_t i = 0; i < rows * out; i++) size[i] *= 0x1p-9;
    if (status == UOCR_OK) expect(o, "product", y, want, size);
    free(got), free(xv), free(want), free(size);
    weight_free(&w);
    tensor_free(o, x), tensor_free(o, y);
    return status;
}

static uocr_status attend(ops *o, bool one) {
    enum { HEADS = 2, DIM = 64, SLOTS = 300, FIRST = 270, ROWS = 20 };
    size_t rows = one ? 1 : ROWS;
    uocr_kv kv = {.heads = HEADS, .slots = SLOTS, .head_dim = DIM};
    kv.k = tensor_new(o, UOCR_F32, HEADS * SLOTS, DIM, 0);
    kv.v = tensor_random(o, HEADS * SLOTS, DIM, 0, 1);
    uocr_tensor q = tensor_random(o, rows, HEADS * DIM, 0, 1),
                y = tensor_new(o, UOCR_F32, rows, HEADS * DIM, 0);
    double *zeros = zeroed(HEADS * SLOTS * DIM, 8); /* keys of zero: the mean of the values */
    tensor_write(o, kv.k, zeros);
    uocr_buffer *space = workspace(o, o->backend->attention_workspace(o->backend, rows, SLOTS, HEADS, DIM));
    uocr_status status = one ? o->backend->attention_decode(o->backend, q, &kv, FIRST + 1, y)
                             : o->backend->attention_prefill(o->backend, q, &kv, FIRST, y);
    if (status == UOCR_OK) status = o->backend->finish(o->backend);
    double *v = tensor_values(o, kv.v), *want = zeroed(rows * HEADS * DIM, 8),
           *bound = zeroed(rows * HEADS * DIM, 8);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < HEADS * DIM; i++) {
            size_t keys = FIRST + r + 1;
            for (size_t t = 0; t < keys; t++)
                want[r * HEADS * DIM + i] += v[(i / DIM * SLOTS + t) * DIM + i % DIM] / (double)keys;
            bound[r * HEADS * DIM + i] = 1e-3;
        }
    if (status == UOCR_OK) expect(o, "mean of values", y, want, bound);
    free(zeros), free(v), free(want), free(bound);
    tensor_free(o, q), tensor_free(o, y), tensor_free(o, kv.k), tensor_free(o, kv.v);
    o->backend->buffer_destroy(o->backend, space);
    return status;
}

int main(int count, char **arguments) {
    uocr_config config = {.head_dim = 64};
    uocr_error error = {.size = sizeof error};
    uocr_memory memory = {.budget = (uint64_t)1 << 30};
    static uocr_profile profile;
    gpu_device *device;
    ops o = {.verify = true, .exact = true, .random = 7};
    if (count != 2 || gpu_device_open(NULL, 0, &device, &error) != UOCR_OK ||
        uocr_backend_gpu_create(&config, device, UOCR_PRECISION_FAST, &memory, &profile, &o.backend,
                                &error) != UOCR_OK) {
        printf("cannot start: %s\n", error.message);
        return 2;
    }
    const char *what = arguments[1];
    uocr_status status = strcmp(what, "gemv") == 0     ? gemv(&o, 1, 640, 37)
                         : strcmp(what, "gemm") == 0   ? gemv(&o, 70, 64, 40)
                         : strcmp(what, "decode") == 0 ? attend(&o, true)
                                                       : attend(&o, false);
    printf("%s\n", status == UOCR_OK ? "nothing to report" : device->failure(device));
    o.backend->destroy(o.backend);
    return o.failures ? 1 : 0;
}
