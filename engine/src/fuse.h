/* From two encoders' features to visual rows: concatenate, project, lay out with newlines and separators.
 *
 * Row order (the order of injection into the prompt): one page with crops: the crops' mosaic, the global
 * view, one separator. Several pages: each global view with its own separator. Every row of tokens ends in a
 * newline vector. */
#ifndef UOCR_SRC_FUSE_H
#define UOCR_SRC_FUSE_H

#include "arena.h"
#include "model.h"

enum { UOCR_CROP_SIZE = 640 }; /* pixels a side; the only size whose rows the model knows */

typedef struct uocr_layout { /* counts only */
    uint32_t pages, crop_cols, crop_rows;
    uint32_t global_side, crop_side; /* tokens a side of one view */
} uocr_layout;

enum { UOCR_ROW_GLOBAL = 0, UOCR_ROW_CROP = 1, UOCR_ROW_NEWLINE = -1, UOCR_ROW_SEPARATOR = -2 };
typedef struct uocr_layout_row {
    int32_t kind;  /* UOCR_ROW_* */
    int32_t part;  /* page or crop number; kind again for newlines and separators */
    int32_t token; /* row by row in the view's grid; kind again likewise */
} uocr_layout_row;

uint32_t uocr_layout_views(const uocr_layout *);
uint32_t uocr_layout_rows(const uocr_layout *);
bool uocr_layout_is_crop(const uocr_layout *, uint32_t view); /* crops come first */
uocr_layout_row uocr_layout_at(const uocr_layout *, uint32_t row);

typedef struct uocr_fuse {
    uocr_tensor features;  /* [side^2, net3]: SAM's, and CLIP's input */
    uocr_tensor both;      /* [side^2, clip width + net3]: CLIP first, SAM second */
    uocr_tensor projected; /* [side^2, hidden] */
} uocr_fuse;

void uocr_fuse_layout(const uocr_model *, size_t side, uocr_arena *, uocr_fuse *);
size_t uocr_fuse_workspace(const uocr_model *, size_t side);
/* Newlines and separators to their places in rows [visual rows, hidden]. */
uocr_status uocr_fuse_marks(const uocr_model *, const uocr_layout *, uocr_tensor rows);
/* What came out of one view. EMPTY: features of zeros, which a picture never gives: it did not reach the decoder. */
typedef enum uocr_sight { UOCR_SIGHT_GOOD, UOCR_SIGHT_NOT_FINITE, UOCR_SIGHT_EMPTY } uocr_sight;

/* clip [1 + side^2, width] with the class token first. */
uocr_status uocr_fuse_view(const uocr_model *, const uocr_fuse *, const uocr_layout *, uint32_t view,
                           uocr_tensor clip, uocr_tensor rows, uocr_sight *);

#endif
