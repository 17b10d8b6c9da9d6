/* The engine: one mapped model on one back end, and at most one open run. */
#ifndef UOCR_SRC_ENGINE_H
#define UOCR_SRC_ENGINE_H

#include <stdatomic.h>

#include "model.h"

struct uocr_engine {
    uocr_model_file file;
    uocr_weights weights;
    uocr_memory memory;
    uocr_profile profile;
    uocr_backend *backend;
    uint32_t threads;
    uint64_t idle_transient; /* bytes of UOCR_MEMORY_TRANSIENT while no run is open */
    atomic_bool busy;        /* a run is open */
};

static inline uocr_model uocr_engine_model(const uocr_engine *engine) {
    return (uocr_model){engine->backend, &engine->file.config, &engine->weights, NULL};
}

#endif
