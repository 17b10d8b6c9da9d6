/* Makes small model files in memory, right or wrong on purpose, from docs/model-format.md alone.
 *
 *     model_builder b;
 *     builder_begin(&b);                  the config and tensors of a tiny model
 *     ... change b.config, b.tensors ...
 *     uint8_t *file = builder_finish(&b, &bytes);
 *
 * repair_hashes makes an altered file consistent again, so that a reader meets the alteration and not its
 * hash. */
#ifndef UOCR_TESTS_MODEL_BUILDER_H
#define UOCR_TESTS_MODEL_BUILDER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

enum { B_F32 = 0, B_F16 = 1, B_Q8 = 2, B_Q4 = 3 };
enum { BUILDER_TENSORS = 160, UNIT = 16384, SECTION_TABLE = 256, SECTIONS = 7 };

/* Places of fields, in bytes; see the tables of docs/model-format.md. */
enum {
    AT_VERSION = 8,
    AT_HEADER_BYTES = 12,
    AT_FILE_BYTES = 16,
    AT_SECTIONS = 24,
    AT_PROFILE = 28,
    AT_TABLE = 32,
    AT_TABLE_HASH = 48,
    AT_MODEL_ID = 80,
    AT_HEADER_HASH = 224
};

typedef struct built_tensor {
    char name[160];
    uint32_t dtype, rank, section; /* section 5 or 6 */
    uint64_t shape[4];
} built_tensor;

typedef struct model_builder {
    uint8_t config[256];
    built_tensor tensors[BUILDER_TENSORS];
    size_t count;
} model_builder;

static inline void put_u32(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> 8 * i);
}
static inline void put_u64(uint8_t *p, uint64_t x) {
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(x >> 8 * i);
}
static inline void put_f32(uint8_t *p, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_u32(p, bits);
}
static inline uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t get_u64(const uint8_t *p) { return get_u32(p) | (uint64_t)get_u32(p + 4) << 32; }

static inline built_tensor *builder_add(model_builder *b, const char *name, uint32_t dtype, uint32_t rank,
                                        uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3) {
    if (b->count == BUILDER_TENSORS) abort();
    built_tensor *t = &b->tensors[b->count++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->dtype = dtype;
    t->rank = rank;
    t->section = strncmp(name, "layers.", 7) == 0 ? 6 : 5;
    const uint64_t shape[4] = {d0, d1, d2, d3};
    memcpy(t->shape, shape, sizeof shape);
    return t;
}

static inline built_tensor *builder_tensor(model_builder *b, const char *name) {
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->tensors[i].name, name) == 0) return &b->tensors[i];
    fprintf(stderr, "the test model has no tensor %s\n", name);
    abort();
}

static inline void builder_remove(model_builder *b, const char *name) {
    *builder_tensor(b, name) = b->tensors[b->count - 1];
    b->count--;
}

/* The tiny model: hidden 32 in 2 heads, a dense and a MoE layer of 4 experts, SAM 32 wide with a windowed and
 * a global block and a neck of 64 channels, CLIP 32 wide with one layer. */
static inline void builder_config(uint8_t *c) {
    static const struct {
        uint16_t at;
        uint32_t value;
    } integers[] = {
        {0, 1},   {4, 64},   {8, 60},   {12, 0},   {16, 1},   {20, 2},   {24, 59}, {28, 32},
        {32, 2},  {36, 2},   {40, 16},  {44, 64},  {48, 64},  {52, 4},   {56, 2},  {60, 1},
        {64, 1},  {68, 512}, {72, 16},  {76, 0},   {128, 32}, {132, 2},  {136, 2}, {140, 64},
        {144, 3}, {148, 16}, {152, 4},  {156, 64}, {160, 16}, {164, 32}, {168, 2}, {184, 32},
        {188, 1}, {192, 2},  {196, 64}, {200, 5},  {208, 64},
    };
    memset(c, 0, 256);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        put_u32(c + integers[i].at, integers[i].value);
    put_f32(c + 80, 1.0f);
    put_f32(c + 84, 10000.0f);
    put_f32(c + 88, 1e-6f);
    put_f32(c + 176, 1e-6f);
    put_f32(c + 180, 1e-6f);
    put_f32(c + 204, 1e-5f);
}

static inline void builder_linear(model_builder *b, const char *prefix, const char *name, uint32_t dtype,
                                  uint64_t out, uint64_t in, int bias) {
    char full[160];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    builder_add(b, full, dtype, 2, out, in, 1, 1);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    if (bias) builder_add(b, full, B_F32, 1, out, 1, 1, 1);
}

static inline void builder_norm(model_builder *b, const char *prefix, const char *name, uint64_t width,
                                int bias) {
    char full[160];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    builder_add(b, full, B_F32, 1, width, 1, 1, 1);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    if (bias) builder_add(b, full, B_F16, 1, width, 1, 1, 1);
}

static inline void builder_begin(model_builder *b) {
    memset(b, 0, sizeof *b);
    builder_config(b->config);
    builder_linear(b, "", "embed_tokens", B_F16, 64, 32, 0);
    builder_linear(b, "", "lm_head", B_F16, 64, 32, 0);
    builder_norm(b, "", "norm", 32, 0);
    builder_linear(b, "", "projector.layers", B_Q8, 32, 64, 1);
    builder_add(b, "image_newline", B_F32, 1, 32, 1, 1, 1);
    builder_add(b, "view_separator", B_F16, 1, 32, 1, 1, 1);

    builder_add(b, "sam_model.pos_embed", B_F32, 3, 4, 4, 32, 1);
    builder_add(b, "sam_model.patch_embed.proj.weight", B_F16, 4, 32, 16, 16, 3);
    builder_add(b, "sam_model.patch_embed.proj.bias", B_F32, 1, 32, 1, 1, 1);
    for (int i = 0; i < 2; i++) {
        char prefix[40], name[160];
        snprintf(prefix, sizeof prefix, "sam_model.blocks.%d.", i);
        uint64_t span = i == 1 ? 7 : 5; /* 2 x side - 1: the grid of 4, the window of 3 */
        builder_norm(b, prefix, "norm1", 32, 1);
        builder_linear(b, prefix, "attn.qkv", B_F16, 96, 32, 1);
        builder_linear(b, prefix, "attn.proj", B_F16, 32, 32, 1);
        for (int axis = 0; axis < 2; axis++) {
            snprintf(name, sizeof name, "%sattn.rel_pos_%c", prefix, "hw"[axis]);
            builder_add(b, name, B_F32, 2, span, 16, 1, 1);
        }
        builder_norm(b, prefix, "norm2", 32, 1);
        builder_linear(b, prefix, "mlp.lin1", B_F16, 64, 32, 1);
        builder_linear(b, prefix, "mlp.lin2", B_Q4, 32, 64, 1);
    }
    builder_add(b, "sam_model.neck.0.weight", B_F16, 4, 64, 1, 1, 32);
    builder_norm(b, "sam_model.", "neck.1", 64, 1);
    builder_add(b, "sam_model.neck.2.weight", B_F16, 4, 64, 3, 3, 64);
    builder_norm(b, "sam_model.", "neck.3", 64, 1);
    builder_add(b, "sam_model.net_2.weight", B_F16, 4, 16, 3, 3, 64);
    builder_add(b, "sam_model.net_3.weight", B_F16, 4, 32, 3, 3, 16);

    builder_add(b, "vision_model.embeddings.class_embedding", B_F32, 1, 32, 1, 1, 1);
    builder_add(b, "vision_model.embeddings.position_embedding.weight", B_F32, 2, 5, 32, 1, 1);
    builder_norm(b, "vision_model.", "pre_layrnorm", 32, 1);
    static const char clip[] = "vision_model.transformer.layers.0.";
    builder_norm(b, clip, "layer_norm1", 32, 1);
    builder_linear(b, clip, "self_attn.qkv_proj", B_F16, 96, 32, 1);
    builder_linear(b, clip, "self_attn.out_proj", B_F16, 32, 32, 1);
    builder_norm(b, clip, "layer_norm2", 32, 1);
    builder_linear(b, clip, "mlp.fc1", B_F16, 64, 32, 1);
    builder_linear(b, clip, "mlp.fc2", B_Q8, 32, 64, 1);

    for (int i = 0; i < 2; i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "layers.%d.", i);
        builder_norm(b, prefix, "input_layernorm", 32, 0);
        builder_norm(b, prefix, "post_attention_layernorm", 32, 0);
        static const char *const projections[] = {"q", "k", "v", "o"};
        for (int j = 0; j < 4; j++) {
            char name[40];
            snprintf(name, sizeof name, "self_attn.%s_proj", projections[j]);
            builder_linear(b, prefix, name, B_F16, 32, 32, 0);
        }
    }
    builder_linear(b, "layers.0.", "mlp.gate_proj", B_F16, 64, 32, 0);
    builder_linear(b, "layers.0.", "mlp.up_proj", B_F16, 64, 32, 0);
    builder_linear(b, "layers.0.", "mlp.down_proj", B_Q4, 32, 64, 0);
    builder_linear(b, "layers.1.", "mlp.gate", B_F32, 4, 32, 0);
    builder_linear(b, "layers.1.", "mlp.shared_experts.gate_proj", B_F16, 64, 32, 0);
    builder_linear(b, "layers.1.", "mlp.shared_experts.up_proj", B_F16, 64, 32, 0);
    builder_linear(b, "layers.1.", "mlp.shared_experts.down_proj", B_Q8, 32, 64, 0);
    builder_add(b, "layers.1.mlp.experts.gate_proj.weight", B_F16, 3, 4, 64, 32, 1);
    builder_add(b, "layers.1.mlp.experts.up_proj.weight", B_F16, 3, 4, 64, 32, 1);
    builder_add(b, "layers.1.mlp.experts.down_proj.weight", B_Q4, 3, 4, 32, 64, 1);
}

/* ---- the file ---- */

/* The section table's entry; sections 0..4 are kinds 1..5, 5 and 6 payload. */
static inline uint8_t *section_entry(uint8_t *file, size_t index) {
    return file + SECTION_TABLE + 64 * index;
}
static inline uint8_t *section_bytes(uint8_t *file, size_t index) {
    return file + get_u64(section_entry(file, index) + 8);
}
static inline uint8_t *config_of(uint8_t *file) { return section_bytes(file, 0); }
static inline uint8_t *directory_of(uint8_t *file) { return section_bytes(file, 2); }

/* The directory entry of a tensor. */
static inline uint8_t *entry_of(uint8_t *file, const char *name) {
    uint8_t *directory = directory_of(file);
    uint8_t *names = directory + get_u64(directory + 8);
    for (uint32_t i = 0; i < get_u32(directory); i++) {
        uint8_t *entry = directory + 32 + 128 * (size_t)i;
        if (get_u32(entry + 4) == strlen(name) && memcmp(names + get_u32(entry), name, strlen(name)) == 0)
            return entry;
    }
    fprintf(stderr, "the test model has no tensor %s\n", name);
    abort();
}

static inline void hash_tensor(const uint8_t *file, uint8_t *entry) {
    uocr_sha256 hash;
    uocr_sha256_begin(&hash);
    uocr_sha256_add(&hash, file + get_u64(entry + 56), get_u64(entry + 64));
    uocr_sha256_add(&hash, file + get_u64(entry + 72), get_u64(entry + 80));
    uocr_sha256_end(&hash, entry + 96);
}

/* Recomputes the model id, the hashes of sections 1..5, of the section table and of the header, as far as the
 * numbers in the file let it: what they say may be nonsense. */
static inline void repair_hashes(uint8_t *file, size_t bytes) {
    if (bytes < SECTION_TABLE) return;
    const uint64_t sections = get_u32(file + AT_SECTIONS);
    if (sections <= (bytes - SECTION_TABLE) / 64) {
        for (uint64_t i = 0; i < sections; i++) {
            uint8_t *entry = section_entry(file, i);
            uint64_t offset = get_u64(entry + 8), used = get_u64(entry + 16);
            if (get_u32(entry) > 5 || offset > bytes || used > bytes - offset) continue;
            uocr_sha256_of(file + offset, used, entry + 32);
            if (get_u32(entry) != 3 || used < 32) continue;
            uint64_t count = get_u32(file + offset);
            if (count > (used - 32) / 128) continue;
            uocr_sha256 identity;
            uocr_sha256_begin(&identity);
            for (uint64_t j = 0; j < count; j++)
                uocr_sha256_add(&identity, file + offset + 32 + 128 * j + 96, 32);
            uocr_sha256_end(&identity, file + AT_MODEL_ID);
        }
        uocr_sha256_of(file + SECTION_TABLE, 64 * sections, file + AT_TABLE_HASH);
    }
    uocr_sha256_of(file, AT_HEADER_HASH, file + AT_HEADER_HASH);
}

static inline int compare_built(const void *a, const void *b) {
    return strcmp(((const built_tensor *)a)->name, ((const built_tensor *)b)->name);
}

static inline uint64_t elements_of(const built_tensor *t) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < t->rank; i++) product *= t->shape[i];
    return product;
}

static inline uint64_t rounded(uint64_t x, uint64_t unit) { return (x + unit - 1) / unit * unit; }

/* Payload and scale bytes of a tensor. */
static inline void tensor_bytes(const built_tensor *t, uint64_t *payload, uint64_t *scales) {
    uint64_t elements = elements_of(t);
    *payload = t->dtype == B_F32   ? 4 * elements
               : t->dtype == B_F16 ? 2 * elements
               : t->dtype == B_Q8  ? elements
                                   : elements / 2;
    *scales = t->dtype >= B_Q8 ? elements / 64 * 2 : 0;
}

/* A complete file on the heap. Every f32 is 0.5, f16 and scales 0.25, quantised bytes count up: all finite.
 */
static inline uint8_t *builder_finish(model_builder *b, size_t *bytes) {
    static const char front_end[] = "{\"name\": \"tiny\"}", tokenizer[] = "{}",
                      provenance[] = "{\"source\": \"test\"}";
    qsort(b->tensors, b->count, sizeof *b->tensors, compare_built);
    uint64_t names_bytes = 0, payload_room[2] = {0, 0};
    for (size_t i = 0; i < b->count; i++) {
        uint64_t payload, scales;
        tensor_bytes(&b->tensors[i], &payload, &scales);
        names_bytes += strlen(b->tensors[i].name);
        payload_room[b->tensors[i].section - 5] += rounded(payload, 128) + rounded(scales, 128);
    }

    const uint64_t used[SECTIONS] = {256,
                                     sizeof front_end - 1,
                                     32 + 128 * b->count + names_bytes,
                                     sizeof tokenizer - 1,
                                     sizeof provenance - 1,
                                     payload_room[0],
                                     payload_room[1]};
    uint64_t offset[SECTIONS], end = UNIT;
    for (int i = 0; i < SECTIONS; i++) {
        offset[i] = end;
        end += rounded(used[i], UNIT);
    }
    uint8_t *file = calloc(1, end);
    memcpy(file, "UOCR\r\n\x1a\n", 8);
    put_u32(file + AT_VERSION, 1);
    put_u32(file + AT_HEADER_BYTES, 256);
    put_u64(file + AT_FILE_BYTES, end);
    put_u32(file + AT_SECTIONS, SECTIONS);
    put_u32(file + AT_PROFILE, 2);
    put_u64(file + AT_TABLE, SECTION_TABLE);
    for (uint32_t i = 0; i < SECTIONS; i++) {
        uint8_t *entry = section_entry(file, i);
        put_u32(entry, i < 5 ? i + 1 : 16);
        put_u32(entry + 4, i == 6 ? 100 : 0);
        put_u64(entry + 8, offset[i]);
        put_u64(entry + 16, used[i]);
    }
    memcpy(file + offset[0], b->config, 256);
    memcpy(file + offset[1], front_end, used[1]);
    memcpy(file + offset[3], tokenizer, used[3]);
    memcpy(file + offset[4], provenance, used[4]);

    uint8_t *directory = file + offset[2];
    put_u32(directory, (uint32_t)b->count);
    put_u32(directory + 4, 128);
    put_u64(directory + 8, 32 + 128 * b->count);
    put_u64(directory + 16, names_bytes);
    uint8_t *names = directory + 32 + 128 * b->count;
    uint32_t name_at = 0;
    uint64_t next[2] = {offset[5], offset[6]};
    for (size_t i = 0; i < b->count; i++) {
        const built_tensor *t = &b->tensors[i];
        uint8_t *entry = directory + 32 + 128 * i;
        uint64_t payload, scales, *free_at = &next[t->section - 5];
        tensor_bytes(t, &payload, &scales);
        memcpy(names + name_at, t->name, strlen(t->name));
        put_u32(entry, name_at);
        put_u32(entry + 4, (uint32_t)strlen(t->name));
        name_at += (uint32_t)strlen(t->name);
        put_u32(entry + 8, t->dtype);
        put_u32(entry + 16, t->rank);
        for (int j = 0; j < 4; j++) put_u64(entry + 24 + 8 * j, t->shape[j]);
        put_u64(entry + 56, *free_at);
        put_u64(entry + 64, payload);
        for (uint64_t j = 0; j < payload; j++) {
            uint8_t *value = file + *free_at + j;
            if (t->dtype == B_F32 && j % 4 == 0) put_f32(value, 0.5f);
            if (t->dtype == B_F16 && j % 2 == 1) *value = 0x34; /* 0.25 */
            if (t->dtype >= B_Q8) *value = (uint8_t)j;
        }
        *free_at += rounded(payload, 128);
        if (scales != 0) {
            put_u64(entry + 72, *free_at);
            put_u64(entry + 80, scales);
            for (uint64_t j = 1; j < scales; j += 2) file[*free_at + j] = 0x34;
            *free_at += rounded(scales, 128);
        }
        put_u32(entry + 88, t->section);
        hash_tensor(file, entry);
    }
    repair_hashes(file, end);
    *bytes = end;
    return file;
}

#endif
