/* Patch embedding and 3x3 convolutions: matrix products whose input rows are patches cut out on the fly. */
#include "cpu.h"

typedef struct patch_source {
    const uint8_t *rgb;
    const float *pixel;
    size_t size, patch;
} patch_source;

static void gather_patches(const void *context, size_t row0, size_t rows, size_t k0, size_t k, float *out) {
    const patch_source *s = context;
    size_t line = 3 * s->patch, side = s->size / s->patch;
    for (size_t r = 0; r < rows; r++) {
        size_t y = (row0 + r) / side * s->patch, x = (row0 + r) % side * s->patch;
        for (size_t i = 0; i < k;) {
            size_t within = (k0 + i) % line, count = cpu_min(line - within, k - i);
            const uint8_t *source = s->rgb + ((y + (k0 + i) / line) * s->size + x) * 3 + within;
            for (size_t j = 0; j < count; j++) out[r * k + i + j] = s->pixel[source[j]];
            i += count;
        }
    }
}

static uocr_status patch_embed(uocr_backend *backend, uocr_tensor rgb, size_t size, size_t patch,
                               const uocr_weight *w, const uocr_weight *bias, uocr_tensor y) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    patch_source source = {rgb.buffer->data + rgb.offset, b->pixel, size, patch};
    size_t rows = (size / patch) * (size / patch);
    cpu_gemm gemm = {.gather = gather_patches,
                     .context = &source,
                     .weight = w,
                     .bias = bias,
                     .y = cpu_f32(y),
                     .ldy = y.stride};
    assert(rgb.dtype == UOCR_U8 && rgb.stride == rgb.cols && size % patch == 0);
    assert(w->cols == 3 * patch * patch && y.rows == rows && y.cols == w->rows);
    uocr_status status = cpu_gemm_run(b, &gemm, rows);
    cpu_end(b, "patch_embed", begun, cpu_weight_traffic(w), 2.0 * (double)(rows * w->rows * w->cols));
    return status;
}

typedef struct conv_source {
    uocr_tensor x;
    size_t height, width, stride, out_width;
} conv_source;

static void gather_conv(const void *context, size_t row0, size_t rows, size_t k0, size_t k, float *out) {
    const conv_source *s = context;
    size_t in = s->x.cols;
    for (size_t r = 0; r < rows; r++) {
        size_t top = (row0 + r) / s->out_width * s->stride, left = (row0 + r) % s->out_width * s->stride;
        for (size_t i = 0; i < k;) {
            size_t tap = (k0 + i) / in, within = (k0 + i) % in, count = cpu_min(in - within, k - i);
            size_t y = top + tap / 3, x = left + tap % 3; /* one more than the pixel: the padding */
            float *target = out + r * k + i;
            if (y < 1 || y > s->height || x < 1 || x > s->width) memset(target, 0, count * sizeof(float));
            else
                memcpy(target, cpu_f32(s->x) + ((y - 1) * s->width + x - 1) * s->x.stride + within,
                       count * sizeof(float));
            i += count;
        }
    }
}

static size_t conv_workspace(const uocr_backend *b, size_t height, size_t width, size_t in, size_t out) {
    (void)b, (void)height, (void)width, (void)in, (void)out; /* patches live in thread scratch */
    return 0;
}

static uocr_status conv3x3(uocr_backend *backend, uocr_tensor x, size_t height, size_t width, size_t stride,
                           const uocr_weight *w, uocr_tensor y) {
    cpu_backend *b = cpu_of(backend);
    double begun = cpu_begin(b);
    conv_source source = {x, height, width, stride, cpu_divide_up(width, stride)};
    size_t rows = source.out_width * cpu_divide_up(height, stride);
    cpu_gemm gemm = {
        .gather = gather_conv, .context = &source, .weight = w, .y = cpu_f32(y), .ldy = y.stride};
    assert(x.rows == height * width && w->cols == 9 * x.cols && y.rows == rows && y.cols == w->rows);
    uocr_status status = cpu_gemm_run(b, &gemm, rows);
    cpu_end(b, "conv3x3", begun, cpu_weight_traffic(w), 2.0 * (double)(rows * w->rows * w->cols));
    return status;
}

void cpu_install_vision(uocr_backend *b) {
    b->conv_workspace = conv_workspace;
    b->patch_embed = patch_embed;
    b->conv3x3 = conv3x3;
}
