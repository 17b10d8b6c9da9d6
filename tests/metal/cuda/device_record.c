/* A device that runs nothing: it writes down which kernels with which function constants are asked for, so that they
 * can be compiled before a GPU is at hand. One line each, "name constant constant ...", into the file that
 * GPU_RECORD names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_cuda.h"

enum { MOST = 4096, KEY = 128 };

struct gpu_memory {
    int nothing;
};

typedef struct recorder {
    gpu_device base; /* first */
    char key[MOST][KEY];
    size_t count;
} recorder;

static recorder *recorder_of(gpu_device *device) { return (recorder *)(void *)device; }

static void destroy(gpu_device *device) {
    recorder *r = recorder_of(device);
    FILE *file = fopen(getenv("GPU_RECORD"), "a");
    for (size_t i = 0; file && i < r->count; i++) fprintf(file, "%s\n", r->key[i]);
    if (!file || fclose(file) != 0) exit(2);
    free(r);
}

static gpu_memory *create(gpu_device *device, uint32_t category, size_t bytes) {
    (void)device, (void)category, (void)bytes;
    return calloc(1, sizeof(gpu_memory));
}

static void release(gpu_device *device, gpu_memory *memory) {
    (void)device;
    free(memory);
}

static uocr_status write_memory(gpu_device *device, gpu_memory *memory, size_t offset, const void *source,
                                size_t bytes) {
    (void)device, (void)memory, (void)offset, (void)source, (void)bytes;
    return UOCR_OK;
}

static uocr_status read_memory(gpu_device *device, gpu_memory *memory, size_t offset, void *target, size_t bytes) {
    (void)device, (void)memory, (void)offset;
    memset(target, 0, bytes);
    return UOCR_OK;
}

static uocr_status read_after(gpu_device *device, gpu_memory *memory, size_t offset, void *target, size_t bytes,
                              uint64_t number) {
    (void)number;
    return read_memory(device, memory, offset, target, bytes);
}

static uocr_status encode(gpu_device *device, const gpu_dispatch *dispatch) {
    recorder *r = recorder_of(device);
    char key[KEY];
    int used = snprintf(key, sizeof key, "%s", dispatch->kernel);
    for (uint32_t i = 0; i < dispatch->constant_count; i++)
        used += snprintf(key + used, sizeof key - (size_t)used, " %u", dispatch->constants[i]);
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->key[i], key) == 0) return UOCR_OK;
    if (r->count == MOST) return UOCR_BACKEND;
    memcpy(r->key[r->count++], key, sizeof key);
    return UOCR_OK;
}

static uocr_status submit(gpu_device *device, uint64_t *number) {
    (void)device;
    if (number) *number = 1;
    return UOCR_OK;
}

static uocr_status wait_for_all(gpu_device *device) {
    (void)device;
    return UOCR_OK;
}

static const char *failure(gpu_device *device) {
    (void)device;
    return "";
}

/* As device_cuda.h has them, so that the same programs link. */
const char *gpu_cuda_name(gpu_device *device) { return device->name; }
double gpu_cuda_copy_rate(gpu_device *device, size_t bytes) {
    (void)device, (void)bytes;
    return 1;
}

uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    (void)base, (void)bytes;
    recorder *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r || !getenv("GPU_RECORD")) {
        free(r);
        return uocr_fail(error, UOCR_BACKEND, 0, 0, "GPU_RECORD names no file.");
    }
    r->base = (gpu_device){.name = "record",
                           .destroy = destroy,
                           .create = create,
                           .release = release,
                           .write = write_memory,
                           .read = read_memory,
                           .encode = encode,
                           .submit = submit,
                           .wait = wait_for_all,
                           .read_after = read_after,
                           .failure = failure};
    *out = &r->base;
    return UOCR_OK;
}
