/* libuocr, for checking only: look inside a run. UNSTABLE: may change with any release.
 *
 * The same run, the same code path; a capture copies a stage's values as f32 when the stage passes. Used by the golden
 * check, the quality gate and scoring. SPDX-License-Identifier: Apache-2.0
 *
 * Stages and shapes (`index` is the view in vision, 0 elsewhere):
 *   sam/embed  sam/block{b}          [G, G, width]       residual stream, G = size / 16
 *   sam/neck  sam/net_2  sam/net_3   [h, w, channels]    channels last
 *   clip/embed  clip/pre_ln  clip/block{c}  [T, width]   class token is row 0
 *   proj                             [g*g, hidden]       projector output
 *   rows                             [visual_rows, hidden]  laid out, in injection order
 *   embeds                           [prompt, hidden]    decoder input
 *   layer{l}                         [rows, hidden]      residual stream after decoder layer l
 *   final_norm  logits               [rows, hidden | vocab]
 *   router_probs{l}                  [rows, experts]     full softmax; l is the decoder layer
 *   router_ids{l}  router_weights{l} [rows, top_k]       by falling weight, lowest id first among equals
 *   cache_k{l}  cache_v{l}           [heads, slots in use, head_dim]
 * Decoder stages hold all prompt rows after prefill and one row after each decode step. logits of prefill hold the last
 * prompt row unless uocr_inspect_all_logits was called. */
#ifndef UOCR_INSPECT_H
#define UOCR_INSPECT_H

#include "uocr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ask for a stage before it runs; several may be asked for. The copies count as UOCR_MEMORY_TRANSIENT. */
UOCR_API uocr_status uocr_inspect_capture(uocr_run *, const char *stage, uocr_error *);
/* The newest values of a captured stage: *count floats, *rank <= 4, shape outermost first. out may be NULL to ask for the size. */
UOCR_API uocr_status uocr_inspect_fetch(uocr_run *, const char *stage, uint32_t index, float *out, size_t capacity,
                                        size_t *count, uint32_t *rank, uint32_t shape[4], uocr_error *);
/* logits of every prompt row, not only the last. Before prefill. */
UOCR_API uocr_status uocr_inspect_all_logits(uocr_run *, uocr_error *);
/* Visual rows [visual_rows, hidden] instead of encoding views. Before the first step. */
UOCR_API uocr_status uocr_inspect_set_rows(uocr_run *, const float *rows, size_t count, uocr_error *);
/* The next chosen token is `id` (teacher forcing); its reported log-probability is the model's own for that id. */
UOCR_API uocr_status uocr_inspect_force_token(uocr_run *, int32_t id, uocr_error *);
/* Ids banned by the repeat guard in the newest step, ascending. */
UOCR_API uocr_status uocr_inspect_bans(uocr_run *, int32_t *ids, size_t capacity, size_t *count, uocr_error *);
/* [rows, 3] int32 of every visual row of a plan: (0, page, token) of a global view, (1, crop, token) of a crop,
 * (-1, -1, -1) newline, (-2, -2, -2) separator; token counts row by row in its view's grid. */
UOCR_API uocr_status uocr_inspect_layout(uocr_engine *, const uocr_plan *, int32_t *out, size_t capacity, size_t *count,
                                         uocr_error *);
/* The 256 normalised pixel values in use. */
UOCR_API void uocr_inspect_pixel_table(float table[256]);

#ifdef __cplusplus
}
#endif
#endif
