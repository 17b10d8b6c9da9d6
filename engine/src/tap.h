/* The hook through which uocr_inspect.h looks into the model floor. With no tap it costs one test. */
#ifndef UOCR_SRC_TAP_H
#define UOCR_SRC_TAP_H

#include "backend.h"

typedef struct uocr_tap uocr_tap; /* inspect.c */

enum { UOCR_TAP_PLAIN = -1 }; /* a stage without a number in its name */

/* One stage's values as they pass. The stage's name is `stage` followed by `number` unless that is
 * UOCR_TAP_PLAIN. */
typedef struct uocr_tap_value {
    const char *stage;
    int number;
    uint32_t index;    /* the view in vision, 0 elsewhere */
    uocr_tensor value; /* f32, f16 or i32 */
    size_t first;      /* these are rows first.. of */
    size_t total;      /* an array of total rows */
    uint32_t rank;     /* of the whole array, outermost first */
    uint32_t shape[4];
} uocr_tap_value;

uocr_status uocr_tap_store(uocr_tap *, uocr_backend *, const uocr_tap_value *);
void uocr_tap_destroy(uocr_tap *); /* NULL is fine */

/* [total, cols], these being rows first.. of it. */
static inline uocr_status uocr_tap_rows(uocr_tap *tap, uocr_backend *backend, const char *stage, int number,
                                        uint32_t index, uocr_tensor value, size_t first, size_t total) {
    if (!tap) {
        return UOCR_OK;
    }
    uocr_tap_value taken = {.stage = stage,
                            .number = number,
                            .index = index,
                            .value = value,
                            .first = first,
                            .total = total,
                            .rank = 2,
                            .shape = {(uint32_t)total, (uint32_t)value.cols, 1, 1}};
    return uocr_tap_store(tap, backend, &taken);
}

/* [side, side, cols]: a square map, channels last. */
static inline uocr_status uocr_tap_map(uocr_tap *tap, uocr_backend *backend, const char *stage, int number,
                                       uint32_t index, uocr_tensor value, size_t side) {
    if (!tap) {
        return UOCR_OK;
    }
    uocr_tap_value taken = {.stage = stage,
                            .number = number,
                            .index = index,
                            .value = value,
                            .first = 0,
                            .total = value.rows,
                            .rank = 3,
                            .shape = {(uint32_t)side, (uint32_t)side, (uint32_t)value.cols, 1}};
    return uocr_tap_store(tap, backend, &taken);
}

#endif
