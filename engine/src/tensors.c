/* See tensors.h. What a model must contain is data: one row for each tensor of a part, with its name, its
 * place in uocr_weights and its shape in terms of the config. */
#include "tensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "status.h"

/* What a row of the tables may be stored as, and how it becomes rows x cols. */
typedef enum kind {
    MATRIX, /* [out, in], any type */
    TABLE,  /* [..., width] f32 or f16: positions, router; all but the last axis are rows */
    VECTOR, /* [n] f32 or f16, one row */
    CONV,   /* [out, kh, kw, in] f32 or f16; in * kh * kw are columns */
    STACK,  /* [matrices, out, in], any type */
} kind;

/* Sizes that occur in shapes, computed from the config for one layer. */
typedef enum size_name {
    NONE,
    ONE,
    THREE,
    VOCAB,
    HIDDEN,
    DENSE,
    EXPERTS,
    EXPERT,
    SHARED,
    PATCH,
    GRID,
    SAM,
    SAM_3,
    SAM_MLP,
    SAM_HEAD,
    SAM_SPAN,
    NECK,
    NET2,
    NET3,
    CLIP,
    CLIP_3,
    CLIP_MLP,
    CLIP_POSITIONS,
    FUSED,
    SIZE_NAMES
} size_name;

typedef struct role {
    const char *name; /* after the prefix of the part */
    size_t place;     /* of the uocr_weight in the part's struct */
    kind kind;
    uint8_t shape[4]; /* size_name, NONE past the rank */
} role;

#define W(member) offsetof(uocr_weights, member)
static const role whole_model[] = {
    {"embed_tokens.weight", W(embed), MATRIX, {VOCAB, HIDDEN}},
    {"lm_head.weight", W(head), MATRIX, {VOCAB, HIDDEN}},
    {"norm.weight", W(final_norm.weight), VECTOR, {HIDDEN}},
    {"projector.layers.weight", W(projector.weight), MATRIX, {HIDDEN, FUSED}},
    {"projector.layers.bias", W(projector.bias), VECTOR, {HIDDEN}},
    {"image_newline", W(newline), VECTOR, {HIDDEN}},
    {"view_separator", W(separator), VECTOR, {HIDDEN}},
    {"sam_model.pos_embed", W(sam_pos), TABLE, {GRID, GRID, SAM}},
    {"sam_model.patch_embed.proj.weight", W(patch_embed.weight), CONV, {SAM, PATCH, PATCH, THREE}},
    {"sam_model.patch_embed.proj.bias", W(patch_embed.bias), VECTOR, {SAM}},
    {"sam_model.neck.0.weight", W(neck0), CONV, {NECK, ONE, ONE, SAM}},
    {"sam_model.neck.1.weight", W(neck1.weight), VECTOR, {NECK}},
    {"sam_model.neck.1.bias", W(neck1.bias), VECTOR, {NECK}},
    {"sam_model.neck.2.weight", W(neck2), CONV, {NECK, THREE, THREE, NECK}},
    {"sam_model.neck.3.weight", W(neck3.weight), VECTOR, {NECK}},
    {"sam_model.neck.3.bias", W(neck3.bias), VECTOR, {NECK}},
    {"sam_model.net_2.weight", W(net_2), CONV, {NET2, THREE, THREE, NECK}},
    {"sam_model.net_3.weight", W(net_3), CONV, {NET3, THREE, THREE, NET2}},
    {"vision_model.embeddings.class_embedding", W(clip_class), VECTOR, {CLIP}},
    {"vision_model.embeddings.position_embedding.weight", W(clip_pos), TABLE, {CLIP_POSITIONS, CLIP}},
    {"vision_model.pre_layrnorm.weight", W(clip_pre.weight), VECTOR, {CLIP}}, /* the checkpoint's spelling */
    {"vision_model.pre_layrnorm.bias", W(clip_pre.bias), VECTOR, {CLIP}},
};
#undef W

#define W(member) offsetof(uocr_sam_block, member)
static const role sam_block[] = {
    {"norm1.weight", W(norm1.weight), VECTOR, {SAM}},
    {"norm1.bias", W(norm1.bias), VECTOR, {SAM}},
    {"attn.qkv.weight", W(qkv.weight), MATRIX, {SAM_3, SAM}},
    {"attn.qkv.bias", W(qkv.bias), VECTOR, {SAM_3}},
    {"attn.proj.weight", W(proj.weight), MATRIX, {SAM, SAM}},
    {"attn.proj.bias", W(proj.bias), VECTOR, {SAM}},
    {"attn.rel_pos_h", W(rel_pos_h), TABLE, {SAM_SPAN, SAM_HEAD}},
    {"attn.rel_pos_w", W(rel_pos_w), TABLE, {SAM_SPAN, SAM_HEAD}},
    {"norm2.weight", W(norm2.weight), VECTOR, {SAM}},
    {"norm2.bias", W(norm2.bias), VECTOR, {SAM}},
    {"mlp.lin1.weight", W(lin1.weight), MATRIX, {SAM_MLP, SAM}},
    {"mlp.lin1.bias", W(lin1.bias), VECTOR, {SAM_MLP}},
    {"mlp.lin2.weight", W(lin2.weight), MATRIX, {SAM, SAM_MLP}},
    {"mlp.lin2.bias", W(lin2.bias), VECTOR, {SAM}},
};
#undef W

#define W(member) offsetof(uocr_clip_layer, member)
static const role clip_layer[] = {
    {"layer_norm1.weight", W(norm1.weight), VECTOR, {CLIP}},
    {"layer_norm1.bias", W(norm1.bias), VECTOR, {CLIP}},
    {"self_attn.qkv_proj.weight", W(qkv.weight), MATRIX, {CLIP_3, CLIP}},
    {"self_attn.qkv_proj.bias", W(qkv.bias), VECTOR, {CLIP_3}},
    {"self_attn.out_proj.weight", W(out.weight), MATRIX, {CLIP, CLIP}},
    {"self_attn.out_proj.bias", W(out.bias), VECTOR, {CLIP}},
    {"layer_norm2.weight", W(norm2.weight), VECTOR, {CLIP}},
    {"layer_norm2.bias", W(norm2.bias), VECTOR, {CLIP}},
    {"mlp.fc1.weight", W(fc1.weight), MATRIX, {CLIP_MLP, CLIP}},
    {"mlp.fc1.bias", W(fc1.bias), VECTOR, {CLIP_MLP}},
    {"mlp.fc2.weight", W(fc2.weight), MATRIX, {CLIP, CLIP_MLP}},
    {"mlp.fc2.bias", W(fc2.bias), VECTOR, {CLIP}},
};
#undef W

#define W(member) offsetof(uocr_decoder_layer, member)
static const role decoder_layer[] = {
    {"input_layernorm.weight", W(input_norm.weight), VECTOR, {HIDDEN}},
    {"post_attention_layernorm.weight", W(post_norm.weight), VECTOR, {HIDDEN}},
    {"self_attn.q_proj.weight", W(q), MATRIX, {HIDDEN, HIDDEN}},
    {"self_attn.k_proj.weight", W(k), MATRIX, {HIDDEN, HIDDEN}},
    {"self_attn.v_proj.weight", W(v), MATRIX, {HIDDEN, HIDDEN}},
    {"self_attn.o_proj.weight", W(o), MATRIX, {HIDDEN, HIDDEN}},
};
static const role dense_mlp[] = {
    {"mlp.gate_proj.weight", W(gate), MATRIX, {DENSE, HIDDEN}},
    {"mlp.up_proj.weight", W(up), MATRIX, {DENSE, HIDDEN}},
    {"mlp.down_proj.weight", W(down), MATRIX, {HIDDEN, DENSE}},
};
static const role experts_mlp[] = {
    {"mlp.gate.weight", W(router), TABLE, {EXPERTS, HIDDEN}},
    {"mlp.shared_experts.gate_proj.weight", W(gate), MATRIX, {SHARED, HIDDEN}},
    {"mlp.shared_experts.up_proj.weight", W(up), MATRIX, {SHARED, HIDDEN}},
    {"mlp.shared_experts.down_proj.weight", W(down), MATRIX, {HIDDEN, SHARED}},
    {"mlp.experts.gate_proj.weight", W(expert_gate), STACK, {EXPERTS, EXPERT, HIDDEN}},
    {"mlp.experts.up_proj.weight", W(expert_up), STACK, {EXPERTS, EXPERT, HIDDEN}},
    {"mlp.experts.down_proj.weight", W(expert_down), STACK, {EXPERTS, HIDDEN, EXPERT}},
};
#undef W

/* The most tensors a config within its limits can call for. */
#define COUNT(table) (sizeof(table) / sizeof *(table))
enum {
    MAX_TENSORS = COUNT(whole_model) + UOCR_MAX_SAM_BLOCKS * COUNT(sam_block) +
    UOCR_MAX_CLIP_LAYERS * COUNT(clip_layer) + UOCR_MAX_LAYERS * (COUNT(decoder_layer) + COUNT(experts_mlp))
};

typedef struct binding {
    const uocr_model_file *file;
    uocr_error *error;
    uint64_t size[SIZE_NAMES];
    uint64_t bound;                      /* tensors so far */
    uint8_t used[(MAX_TENSORS + 7) / 8]; /* by place in the directory */
} binding;

#define REMEDY "convert the checkpoint again."

static void fill_sizes(binding *b, const uocr_config *c) {
    const uint64_t sizes[SIZE_NAMES] = {
        [ONE] = 1,
        [THREE] = 3,
        [VOCAB] = c->vocab_size,
        [HIDDEN] = c->hidden,
        [DENSE] = c->intermediate,
        [EXPERTS] = c->experts,
        [EXPERT] = c->moe_intermediate,
        [SHARED] = (uint64_t)c->shared_experts * c->moe_intermediate,
        [PATCH] = c->sam_patch,
        [GRID] = c->sam_grid,
        [SAM] = c->sam_width,
        [SAM_3] = 3 * (uint64_t)c->sam_width,
        [SAM_MLP] = c->sam_mlp,
        [SAM_HEAD] = c->sam_width / c->sam_heads,
        [NECK] = c->sam_neck,
        [NET2] = c->sam_net2,
        [NET3] = c->sam_net3,
        [CLIP] = c->clip_width,
        [CLIP_3] = 3 * (uint64_t)c->clip_width,
        [CLIP_MLP] = c->clip_mlp,
        [CLIP_POSITIONS] = c->clip_positions,
        [FUSED] = c->projector_in,
    }; /* SAM_SPAN differs from block to block */
    memcpy(b->size, sizes, sizeof sizes);
}

static void describe(const uint64_t *shape, uint32_t rank, char text[100]) {
    int used = 0;
    for (uint32_t i = 0; i < rank; i++)
        used += snprintf(text + used, 100 - (size_t)used, "%s%" PRIu64, i == 0 ? "" : " x ", shape[i]);
}

/* Rows and columns of a tensor whose shape has been checked. */
static uocr_weight as_weight(const uocr_file_tensor *t, kind kind) {
    uocr_weight w = {
        .dtype = t->dtype, .payload = t->payload, .scales = t->scales, .rows = 1, .cols = 1, .matrices = 1};
    switch (kind) {
    case VECTOR:
        w.cols = t->shape[0];
        break;
    case CONV:
        w.rows = t->shape[0];
        w.cols = t->shape[1] * t->shape[2] * t->shape[3];
        break;
    case STACK:
        w.matrices = t->shape[0];
        w.rows = t->shape[1];
        w.cols = t->shape[2];
        break;
    case MATRIX:
    case TABLE:
        for (uint32_t i = 0; i + 1 < t->rank; i++) w.rows *= t->shape[i];
        w.cols = t->shape[t->rank - 1];
        break;
    }
    return w;
}

static uocr_status bind_one(binding *b, const char *prefix, const role *r, void *part) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, r->name);
    uocr_file_tensor t;
    if (!uocr_model_file_find(b->file, name, &t))
        return uocr_fail(b->error, UOCR_MODEL_FILE, 0, 0, "The model file %s has no tensor %s; " REMEDY,
                         b->file->path, name);

    uint64_t shape[4];
    uint32_t rank = 0;
    for (; rank < 4 && r->shape[rank] != NONE; rank++) shape[rank] = b->size[r->shape[rank]];
    if (t.rank != rank || memcmp(t.shape, shape, rank * sizeof *shape) != 0) {
        char found[100], expected[100];
        describe(t.shape, t.rank, found);
        describe(shape, rank, expected);
        return uocr_fail(
            b->error, UOCR_MODEL_FILE, t.shape[0], shape[0],
            "Tensor %s of the model file %s has the shape %s and its config calls for %s; " REMEDY, name,
            b->file->path, found, expected);
    }
    bool any_type = r->kind == MATRIX || r->kind == STACK;
    if (!any_type && t.dtype != UOCR_F32 && t.dtype != UOCR_F16)
        return uocr_fail(
            b->error, UOCR_MODEL_FILE, t.dtype, UOCR_F16,
            "Tensor %s of the model file %s is quantised (type %d), but norms, biases, convolutions, router "
            "and positions must be f32 or f16; " REMEDY,
            name, b->file->path, (int)t.dtype);

    *(uocr_weight *)((char *)part + r->place) = as_weight(&t, r->kind);
    b->used[t.index / 8] |= (uint8_t)(1u << t.index % 8);
    b->bound++;
    return UOCR_OK;
}

static uocr_status bind_all(binding *b, const char *prefix, const role *roles, size_t count, void *part) {
    uocr_status status = UOCR_OK;
    for (size_t i = 0; i < count && status == UOCR_OK; i++) status = bind_one(b, prefix, &roles[i], part);
    return status;
}

static uocr_status bind_decoder_layer(binding *b, uint32_t index, uocr_decoder_layer *layer) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "layers.%u.", index);
    layer->moe = index >= b->file->config.first_dense;
    uocr_status status = bind_all(b, prefix, decoder_layer, COUNT(decoder_layer), layer);
    if (status != UOCR_OK) return status;
    return layer->moe ? bind_all(b, prefix, experts_mlp, COUNT(experts_mlp), layer)
                      : bind_all(b, prefix, dense_mlp, COUNT(dense_mlp), layer);
}

static uocr_status bind_sam_block(binding *b, uint32_t index, uocr_sam_block *block) {
    const uocr_config *c = &b->file->config;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "sam_model.blocks.%u.", index);
    block->global = c->sam_global_mask >> index & 1;
    b->size[SAM_SPAN] = 2 * (uint64_t)(block->global ? c->sam_grid : c->sam_window) - 1;
    return bind_all(b, prefix, sam_block, COUNT(sam_block), block);
}

static uocr_status bind_clip_layer(binding *b, uint32_t index, uocr_clip_layer *layer) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "vision_model.transformer.layers.%u.", index);
    return bind_all(b, prefix, clip_layer, COUNT(clip_layer), layer);
}

/* A tensor that nothing uses is a sign of a wrong config, and would be paid for in memory. */
static uocr_status refuse_unused(const binding *b) {
    if (b->bound == b->file->tensor_count) return UOCR_OK;
    uint64_t first = 0;
    while (b->used[first / 8] >> first % 8 & 1) first++;
    uocr_file_tensor t;
    uocr_model_file_tensor(b->file, first, &t);
    char name[80] = {0};
    for (uint32_t i = 0; i < t.name_bytes && i < sizeof name - 1; i++)
        name[i] = t.name[i] >= ' ' && t.name[i] <= '~' ? t.name[i] : '?';
    return uocr_fail(b->error, UOCR_MODEL_FILE, b->file->tensor_count, b->bound,
                     "The model file %s has %" PRIu64 " tensors where its config calls for %" PRIu64
                     "; the first unknown one is %s; " REMEDY,
                     b->file->path, b->file->tensor_count, b->bound, name);
}

uocr_status uocr_weights_bind(const uocr_model_file *file, uocr_weights *weights, uocr_error *error) {
    const uocr_config *c = &file->config;
    assert(c->layers <= UOCR_MAX_LAYERS && c->sam_blocks <= UOCR_MAX_SAM_BLOCKS &&
           c->clip_layers <= UOCR_MAX_CLIP_LAYERS);
    memset(weights, 0, sizeof *weights);
    if (file->tensor_count > MAX_TENSORS)
        return uocr_fail(error, UOCR_MODEL_FILE, file->tensor_count, MAX_TENSORS,
                         "The model file %s has %" PRIu64 " tensors, allowed are %d; " REMEDY, file->path,
                         file->tensor_count, (int)MAX_TENSORS);

    binding b = {.file = file, .error = error};
    fill_sizes(&b, c);
    uocr_status status = bind_all(&b, "", whole_model, COUNT(whole_model), weights);
    for (uint32_t i = 0; i < c->sam_blocks && status == UOCR_OK; i++)
        status = bind_sam_block(&b, i, &weights->sam[i]);
    for (uint32_t i = 0; i < c->clip_layers && status == UOCR_OK; i++)
        status = bind_clip_layer(&b, i, &weights->clip[i]);
    for (uint32_t i = 0; i < c->layers && status == UOCR_OK; i++)
        status = bind_decoder_layer(&b, i, &weights->layer[i]);
    return status == UOCR_OK ? refuse_unused(&b) : status;
}

float uocr_weight_at(const uocr_weight *w, size_t row, size_t col) {
    const size_t index = row * w->cols + col;
    switch (w->dtype) {
    case UOCR_F32:
        return uocr_load_f32(w->payload + 4 * index);
    case UOCR_F16:
        return uocr_load_f16(w->payload + 2 * index);
    case UOCR_Q8:
        return (float)(int8_t)w->payload[index] * uocr_load_f16(w->scales + 2 * (index / UOCR_GROUP));
    case UOCR_Q4: { /* two halves of a group side by side in its 32 bytes */
        size_t group = index / UOCR_GROUP, place = index % UOCR_GROUP;
        uint8_t pair = w->payload[group * (UOCR_GROUP / 2) + place % (UOCR_GROUP / 2)];
        int q = (place < UOCR_GROUP / 2 ? pair & 15 : pair >> 4) - 8;
        return (float)q * uocr_load_f16(w->scales + 2 * group);
    }
    default:
        assert(!"a weight is f32, f16, q8 or q4");
        return 0;
    }
}
