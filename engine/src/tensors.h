/* The model's weights by role: every tensor found in the file by name, its shape checked against the config. */
#ifndef UOCR_SRC_TENSORS_H
#define UOCR_SRC_TENSORS_H

#include "backend.h"
#include "model_file.h"

enum { UOCR_MAX_LAYERS = 64, UOCR_MAX_SAM_BLOCKS = 64, UOCR_MAX_CLIP_LAYERS = 64 };

typedef struct uocr_norm { uocr_weight weight, bias; } uocr_norm; /* bias.payload NULL for RMS norms */
typedef struct uocr_dense { uocr_weight weight, bias; } uocr_dense; /* bias.payload NULL for none */

typedef struct uocr_sam_block {
    uocr_norm norm1, norm2;
    uocr_dense qkv, proj, lin1, lin2;
    uocr_weight rel_pos_h, rel_pos_w; /* [2 * side - 1, head_dim] */
    bool global;
} uocr_sam_block;

typedef struct uocr_clip_layer {
    uocr_norm norm1, norm2;
    uocr_dense qkv, out, fc1, fc2;
} uocr_clip_layer;

typedef struct uocr_decoder_layer {
    uocr_norm input_norm, post_norm;
    uocr_weight q, k, v, o;
    bool moe;
    uocr_weight gate, up, down; /* dense layer, or the shared experts of a MoE layer */
    uocr_weight router;         /* [experts, hidden] */
    uocr_weight expert_gate, expert_up, expert_down; /* stacked */
} uocr_decoder_layer;

typedef struct uocr_weights {
    uocr_dense patch_embed;
    uocr_weight sam_pos; /* [grid * grid, width] */
    uocr_sam_block sam[UOCR_MAX_SAM_BLOCKS];
    uocr_weight neck0, neck2, net_2, net_3;
    uocr_norm neck1, neck3;
    uocr_weight clip_class, clip_pos; /* [1, width], [positions, width] */
    uocr_norm clip_pre;
    uocr_clip_layer clip[UOCR_MAX_CLIP_LAYERS];
    uocr_dense projector;
    uocr_weight newline, separator; /* [1, hidden] */
    uocr_weight embed, head;        /* [vocab, hidden] */
    uocr_norm final_norm;
    uocr_decoder_layer layer[UOCR_MAX_LAYERS];
} uocr_weights;

/* Binds every tensor the config calls for. Missing, misshapen or extra tensors are one clear error. */
uocr_status uocr_weights_bind(const uocr_model_file *, uocr_weights *, uocr_error *);
/* One weight element as f32 (small host-side tables only: positions, relative positions). */
float uocr_weight_at(const uocr_weight *, size_t row, size_t col);

#endif
