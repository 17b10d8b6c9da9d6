/* Learned position tables fitted to a view's size, as torch does it: on the host, once per view size and run.
 */
#ifndef UOCR_SRC_POSITIONS_H
#define UOCR_SRC_POSITIONS_H

#include "backend.h"

enum { UOCR_BICUBIC_TAPS = 64 }; /* most source samples under one output sample: shrinking up to 15 times */

/* Antialiased bicubic (Keys, a = -0.5), half-pixel centres: the weights of source samples *first.. for output
 * sample `o` of `out`, summing to 1. Returns how many. */
size_t uocr_bicubic_weights(size_t in, size_t out, size_t o, size_t *first,
                            double weights[UOCR_BICUBIC_TAPS]);

/* Rows first_row.. of the table are a side x side grid; resizes it to out x out rows of `target` (f32), with
 * `scratch` of uocr_grid_scratch bytes. */
size_t uocr_grid_scratch(size_t side, size_t out, size_t cols);
uocr_status uocr_grid_resize(uocr_backend *, const uocr_weight *table, size_t first_row, size_t side,
                             size_t out, void *scratch, uocr_tensor target, size_t target_row);

/* Relative positions along one axis: linear between rows, half-pixel, no antialias. Fills all rows of
 * `target` (f32); `scratch` holds one row of floats. */
uocr_status uocr_axis_resize(uocr_backend *, const uocr_weight *table, void *scratch, uocr_tensor target);

#endif
