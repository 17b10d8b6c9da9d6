/* Patch embedding and 3x3 convolutions: products whose input rows are cut out on the fly. */
#include "gpu.h"

static uocr_status patch_embed(uocr_backend *backend, uocr_tensor rgb, size_t size, size_t patch,
                               const uocr_weight *w, const uocr_weight *bias, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t side = size / patch, rows = side * side;
    gpu_product p = {.args = {.rows = (uint32_t)rows,
                              .cols = (uint32_t)w->rows,
                              .depth = (uint32_t)w->cols,
                              .y_stride = (uint32_t)y.stride,
                              .bias_type = gpu_bias_type(bias),
                              .width = (uint32_t)size,
                              .step = (uint32_t)patch},
                     .source = GPU_SOURCE_PATCH,
                     .weight = w,
                     .bias = bias,
                     .x = gpu_tensor_argument(rgb),
                     .y = gpu_tensor_argument(y)};
    assert(rgb.dtype == UOCR_U8 && rgb.stride == rgb.cols && size % patch == 0);
    assert(w->cols == 3 * patch * patch && y.rows == rows && y.cols == w->rows);
    if (status == UOCR_OK) status = gpu_multiply(b, &p);
    return status == UOCR_OK ? gpu_end(b, "patch_embed", begun, gpu_matrix_bytes(w),
                                       2.0 * (double)(rows * w->rows * w->cols))
                             : status;
}

static size_t conv_workspace(const uocr_backend *b, size_t height, size_t width, size_t in, size_t out) {
    (void)b, (void)height, (void)width, (void)in, (void)out; /* neighbourhoods live in threadgroup memory */
    return 0;
}

static uocr_status conv3x3(uocr_backend *backend, uocr_tensor x, size_t height, size_t width, size_t stride,
                           const uocr_weight *w, uocr_tensor y) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    uocr_status status = gpu_begin(b);
    size_t out_width = (width + stride - 1) / stride, rows = out_width * ((height + stride - 1) / stride);
    gpu_product p = {.args = {.rows = (uint32_t)rows,
                              .cols = (uint32_t)w->rows,
                              .depth = (uint32_t)w->cols,
                              .x_stride = (uint32_t)x.stride,
                              .y_stride = (uint32_t)y.stride,
                              .bias_type = GPU_NO_BIAS,
                              .height = (uint32_t)height,
                              .width = (uint32_t)width,
                              .channels = (uint32_t)x.cols,
                              .step = (uint32_t)stride,
                              .out_width = (uint32_t)out_width},
                     .source = GPU_SOURCE_CONV,
                     .weight = w,
                     .x = gpu_tensor_argument(x),
                     .y = gpu_tensor_argument(y)};
    assert(x.rows == height * width && w->cols == 9 * x.cols && y.rows == rows && y.cols == w->rows);
    if (status == UOCR_OK) status = gpu_multiply(b, &p);
    return status == UOCR_OK
               ? gpu_end(b, "conv3x3", begun, gpu_matrix_bytes(w), 2.0 * (double)(rows * w->rows * w->cols))
               : status;
}

void gpu_install_vision(uocr_backend *b) {
    b->conv_workspace = conv_workspace;
    b->patch_embed = patch_embed;
    b->conv3x3 = conv3x3;
}
