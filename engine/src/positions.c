#include "positions.h"

#include <assert.h>
#include <math.h>

#include "model.h"
#include "tensors.h"

/* Keys' cubic with a = -0.5. torch uses -0.75 without antialias: another curve, not for this model. */
static double keys(double t) {
    const double a = -0.5;
    t = fabs(t);
    if (t < 1) {
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    }
    return t < 2 ? a * (((t - 5) * t + 8) * t - 4) : 0;
}

/* Scale and centre are rounded to f32 as torch rounds them: far along the axis that moves a weight by more
 * than all later arithmetic does. */
size_t uocr_bicubic_weights(size_t in, size_t out, size_t o, size_t *first,
                            double weights[UOCR_BICUBIC_TAPS]) {
    float scale = (float)in / (float)out, filter = scale > 1 ? scale : 1, support = 2 * filter;
    float centre = (float)((double)scale * ((double)o + 0.5));
    double from = (double)(centre - support) + 0.5, to = (double)(centre + support) + 0.5;
    size_t low = from > 0 ? (size_t)from : 0, high = uocr_min((size_t)to, in);
    size_t count = high - low;
    assert(count > 0 && count <= UOCR_BICUBIC_TAPS);
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        float place = (float)(low + j) - centre;
        weights[j] = keys((double)(float)(((double)place + 0.5) / (double)filter));
        sum += weights[j];
    }
    for (size_t j = 0; j < count; j++) {
        weights[j] /= sum;
    }
    *first = low;
    return count;
}

size_t uocr_grid_scratch(size_t side, size_t out, size_t cols) {
    return side * cols * sizeof(double) + out * cols * sizeof(float);
}

/* One row of the output grid at a time: first down the columns of the source, then along the row. */
uocr_status uocr_grid_resize(uocr_backend *backend, const uocr_weight *table, size_t first_row, size_t side,
                             size_t out, void *scratch, uocr_tensor target, size_t target_row) {
    size_t cols = table->cols;
    double *line = scratch;                     /* [side, cols] */
    float *row = (float *)(line + side * cols); /* [out, cols] */
    double weights[UOCR_BICUBIC_TAPS];
    assert(target.stride == cols && target.rows >= target_row + out * out);
    for (size_t y = 0; y < out; y++) {
        size_t first, taps = uocr_bicubic_weights(side, out, y, &first, weights);
        for (size_t i = 0; i < side * cols; i++) {
            line[i] = 0;
        }
        for (size_t t = 0; t < taps; t++) {
            for (size_t x = 0; x < side; x++) {
                for (size_t c = 0; c < cols; c++) {
                    size_t source = first_row + (first + t) * side + x;
                    line[x * cols + c] += weights[t] * (double)uocr_weight_at(table, source, c);
                }
            }
        }
        for (size_t x = 0; x < out; x++) {
            taps = uocr_bicubic_weights(side, out, x, &first, weights);
            for (size_t c = 0; c < cols; c++) {
                double sum = 0;
                for (size_t t = 0; t < taps; t++) {
                    sum += weights[t] * line[(first + t) * cols + c];
                }
                row[x * cols + c] = (float)sum;
            }
        }
        size_t offset = target.offset + (target_row + y * out) * cols * sizeof(float);
        UOCR_TRY(backend->write(backend, target.buffer, offset, row, out * cols * sizeof(float)));
    }
    return UOCR_OK;
}

uocr_status uocr_axis_resize(uocr_backend *backend, const uocr_weight *table, void *scratch,
                             uocr_tensor target) {
    size_t in = table->rows, out = target.rows, cols = table->cols;
    float *row = scratch, scale = (float)in / (float)out;
    assert(target.cols == cols && target.stride == cols);
    for (size_t o = 0; o < out; o++) {
        float place = fmaxf(0, scale * ((float)o + 0.5f) - 0.5f);
        size_t below = uocr_min((size_t)place, in - 1), above = uocr_min(below + 1, in - 1);
        float weight = place - (float)below;
        for (size_t c = 0; c < cols; c++) {
            row[c] =
                (1 - weight) * uocr_weight_at(table, below, c) + weight * uocr_weight_at(table, above, c);
        }
        UOCR_TRY(backend->write(backend, target.buffer, target.offset + o * cols * sizeof(float), row,
                                cols * sizeof(float)));
    }
    return UOCR_OK;
}
