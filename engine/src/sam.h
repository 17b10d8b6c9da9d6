/* The SAM encoder: a windowed vision transformer over 16-pixel patches, then a convolutional neck that leaves
 * a sixteenth of the tokens. One view at a time, cut into pieces of bounded work. */
#ifndef UOCR_SRC_SAM_H
#define UOCR_SRC_SAM_H

#include "arena.h"
#include "model.h"

typedef struct uocr_sam {
    size_t size, grid; /* pixels and patches a side */
    uocr_tensor table; /* [grid^2, width] positions fitted to this size; unused where the stored table fits */
    uocr_tensor rel_h[UOCR_MAX_SAM_BLOCKS], rel_w[UOCR_MAX_SAM_BLOCKS]; /* [2 * side - 1, head_dim] */
    uocr_tensor x, h;         /* [grid^2, width]: residual stream; normed rows, then attention output */
    uocr_tensor qkv;          /* [grid^2, 3 * width] */
    uocr_tensor mlp;          /* [rows, mlp], a block of rows at a time; shares the place of qkv */
    uocr_tensor neck0, neck2; /* [grid^2, neck], in the place of qkv too */
    uocr_tensor net2;         /* [(grid / 2)^2, net2] */
} uocr_sam;

/* Tensors that last as long as the view size (the fitted tables), then those of one view. */
void uocr_sam_layout_tables(const uocr_model *, size_t size, uocr_arena *, uocr_sam *);
void uocr_sam_layout(const uocr_model *, uocr_arena *, uocr_sam *);
size_t uocr_sam_workspace(const uocr_model *, size_t size); /* bytes the operators need */
size_t uocr_sam_scratch(const uocr_model *, size_t size);   /* host bytes that uocr_sam_fit needs */

/* Fits the position tables to the view size. */
uocr_status uocr_sam_fit(const uocr_model *, const uocr_sam *, void *scratch);

/* Pieces: patches and positions, two halves of every block, the neck, the two strided convolutions. */
size_t uocr_sam_pieces(const uocr_config *);
/* rgb [size^2, 3] u8; features [(grid / 4)^2, net3] are complete after the last piece. */
uocr_status uocr_sam_piece(const uocr_model *, const uocr_sam *, size_t piece, uint32_t view, uocr_tensor rgb,
                           uocr_tensor features);

#endif
