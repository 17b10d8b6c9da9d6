/* Which pipeline is for a dispatch: a table by kernel, function constants and threads of a threadgroup. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_PIPELINES_H
#define UOCR_SRC_GPU_DEVICE_METAL_PIPELINES_H

#include <string.h>

#include "device.h"

enum { GPU_MOST_PIPELINES = 1 << 9 }; /* a power of two; one place stays free, so that a search ends */

typedef struct gpu_pipeline_key {
    const char *kernel; /* a string that stays; NULL: this place is free */
    uint32_t constants[GPU_MOST_CONSTANTS], constant_count, threads;
} gpu_pipeline_key;

static inline int gpu_pipeline_is_for(const gpu_pipeline_key *key, const gpu_dispatch *d) {
    return key->threads == d->threads && key->constant_count == d->constant_count &&
           strcmp(key->kernel, d->kernel) == 0 &&
           memcmp(key->constants, d->constants, d->constant_count * sizeof *d->constants) == 0;
}

/* The place of this dispatch's pipeline, or the free one where it belongs. */
static inline size_t gpu_pipeline_place(const gpu_pipeline_key key[GPU_MOST_PIPELINES], const gpu_dispatch *d) {
    uint32_t hash = 2166136261u ^ d->threads; /* FNV-1a */
    for (const char *c = d->kernel; *c; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
    for (uint32_t i = 0; i < d->constant_count; i++) hash = (hash ^ d->constants[i]) * 16777619u;
    size_t place = (hash ^ hash >> 16) % GPU_MOST_PIPELINES;
    while (key[place].kernel && !gpu_pipeline_is_for(&key[place], d)) place = (place + 1) % GPU_MOST_PIPELINES;
    return place;
}

static inline void gpu_pipeline_take(gpu_pipeline_key *key, const gpu_dispatch *d) {
    *key = (gpu_pipeline_key){.kernel = d->kernel, .constant_count = d->constant_count, .threads = d->threads};
    memcpy(key->constants, d->constants, sizeof key->constants);
}

#endif
