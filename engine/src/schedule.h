/* The vision phase: one view after another through SAM, CLIP and the projector, a piece of work at a time.
 *
 * Views are encoded one by one, so that the workspace is that of the largest view however many there are, and
 * the host holds one view's bytes. Crops and global view may differ in size; tables and tensors are laid out
 * anew when it changes. */
#ifndef UOCR_SRC_SCHEDULE_H
#define UOCR_SRC_SCHEDULE_H

#include "clip.h"
#include "fuse.h"
#include "request.h"
#include "sam.h"

typedef struct uocr_vision {
    uocr_arena staging;   /* the bytes of one view */
    uocr_arena tensors;   /* fitted tables and activations of one view */
    uocr_arena workspace; /* of the operators */
    void *scratch;        /* host memory for fitting tables */
    size_t scratch_bytes;
    uocr_tensor rgb; /* [size^2, 3] u8 */
    uocr_sam sam;
    uocr_clip clip;
    uocr_fuse fuse;
    size_t fitted; /* view size that the tables are fitted to, 0: none */
    uint32_t view; /* being encoded or waited for */
    size_t piece;  /* of that view */
    bool fed;      /* its bytes are here */
} uocr_vision;

/* Sets the sizes of the arenas and of the scratch, without allocating. */
void uocr_vision_measure(const uocr_model *, const uocr_request *, uocr_vision *);
uocr_status uocr_vision_create(const uocr_model *, uocr_memory *, const uocr_request *, uocr_vision *);
void uocr_vision_destroy(const uocr_model *, uocr_memory *, uocr_vision *);

size_t uocr_vision_pieces(const uocr_config *); /* of one view */
/* rgb: size x size pixels of 3 bytes, `stride` bytes a row. */
uocr_status uocr_vision_feed(const uocr_model *, const uocr_request *, uocr_vision *, const uint8_t *rgb,
                             size_t stride);
/* The next piece of the view that was fed, and what its last piece added to rows [visual_rows, hidden]. */
uocr_status uocr_vision_step(const uocr_model *, const uocr_request *, uocr_vision *, uocr_tensor rows,
                             uocr_sight *);

#endif
