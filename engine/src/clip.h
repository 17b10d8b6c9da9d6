/* The CLIP encoder: a plain transformer over SAM's features, a class token in front. */
#ifndef UOCR_SRC_CLIP_H
#define UOCR_SRC_CLIP_H

#include "arena.h"
#include "model.h"

typedef struct uocr_clip {
    size_t side;       /* feature map, tokens a side */
    uocr_tensor table; /* [1 + side^2, width] fitted positions; unused where the stored table fits */
    uocr_tensor x, h;  /* [1 + side^2, width] */
    uocr_tensor qkv;   /* [1 + side^2, 3 * width] */
    uocr_tensor mlp;   /* [1 + side^2, mlp], in the place of qkv */
} uocr_clip;

void uocr_clip_layout_tables(const uocr_model *, size_t side, uocr_arena *, uocr_clip *);
void uocr_clip_layout(const uocr_model *, uocr_arena *, uocr_clip *);
size_t uocr_clip_workspace(const uocr_model *, size_t side);
size_t uocr_clip_scratch(const uocr_model *, size_t side);
uocr_status uocr_clip_fit(const uocr_model *, const uocr_clip *, void *scratch);

/* Pieces: tokens, positions and the first norm; every layer. */
size_t uocr_clip_pieces(const uocr_config *);
/* features [side^2, width]: SAM's. After the last piece the residual stream lies in clip->x, class token
 * first. */
uocr_status uocr_clip_piece(const uocr_model *, const uocr_clip *, size_t piece, uint32_t view,
                            uocr_tensor features);

#endif
