/* What every part of the model floor is given: where to compute, the shapes, the weights, and who looks on.
 */
#ifndef UOCR_SRC_MODEL_H
#define UOCR_SRC_MODEL_H

#include "backend.h"
#include "model_file.h"
#include "tap.h"
#include "tensors.h"

typedef struct uocr_model {
    uocr_backend *backend;
    const uocr_config *config;
    const uocr_weights *weights;
    uocr_tap *tap; /* NULL: nobody looks on */
} uocr_model;

/* Leaves the enclosing function with the status of an operator that did not succeed. */
#define UOCR_TRY(call)                         \
    do {                                       \
        uocr_status uocr_try_status_ = (call); \
        if (uocr_try_status_ != UOCR_OK) {     \
            return uocr_try_status_;           \
        }                                      \
    } while (0)

static inline size_t uocr_max(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t uocr_min(size_t a, size_t b) { return a < b ? a : b; }

/* y = act(x W^T + b), or y += x W^T + b. */
static inline uocr_status uocr_dense_apply(uocr_backend *backend, uocr_tensor x, const uocr_dense *dense,
                                           uocr_tensor y, uocr_activation activation, bool accumulate) {
    uocr_linear_part part = {.weight = &dense->weight,
                             .bias = dense->bias.payload ? &dense->bias : NULL,
                             .y = y,
                             .activation = activation,
                             .accumulate = accumulate};
    return backend->linear(backend, x, &part, 1);
}

/* y = x W^T, or y += x W^T. */
static inline uocr_status uocr_matrix_apply(uocr_backend *backend, uocr_tensor x, const uocr_weight *weight,
                                            uocr_tensor y, bool accumulate) {
    uocr_linear_part part = {.weight = weight, .y = y, .activation = UOCR_IDENTITY, .accumulate = accumulate};
    return backend->linear(backend, x, &part, 1);
}

static inline uocr_status uocr_layer_norm_apply(uocr_backend *backend, uocr_tensor x, const uocr_norm *norm,
                                                float eps, uocr_tensor y) {
    return backend->layer_norm(backend, x, &norm->weight, &norm->bias, eps, y);
}

#endif
