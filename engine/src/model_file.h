/* The mapped model file: header, sections, config record and tensor directory, checked before anything is used.
 * The format is docs/model-format.md. No byte outside the mapping is ever read, whatever the file says. */
#ifndef UOCR_SRC_MODEL_FILE_H
#define UOCR_SRC_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uocr.h"

typedef enum uocr_dtype { UOCR_F32 = 0, UOCR_F16 = 1, UOCR_Q8 = 2, UOCR_Q4 = 3, UOCR_I32 = 16, UOCR_U8 = 17 } uocr_dtype;
enum { UOCR_GROUP = 64 }; /* weights that share one scale, along the input */
enum { UOCR_MOST_SECTIONS = 4096 };

/* The config record, kind 1, field by field. Every value has been checked against sane limits (see model_file.c), so
 * that products of any four of them fit 64 bits. */
typedef struct uocr_config {
    uint32_t vocab_size, usable_vocab, bos_id, eos_id, pad_id, image_id;
    uint32_t hidden, layers, heads, head_dim, intermediate, moe_intermediate;
    uint32_t experts, top_k, shared_experts, first_dense, max_positions, ring_window;
    bool norm_topk;
    float routed_scale, rope_theta, rms_eps;
    uint32_t sam_width, sam_blocks, sam_heads, sam_mlp, sam_window, sam_patch, sam_grid, sam_neck, sam_net2, sam_net3;
    uint64_t sam_global_mask;
    float sam_eps, neck_eps;
    uint32_t clip_width, clip_layers, clip_heads, clip_mlp, clip_positions;
    float clip_eps;
    uint32_t projector_in;
} uocr_config;

typedef struct uocr_file_tensor { /* one directory entry, pointers into the mapping */
    const char *name; /* not NUL-terminated */
    uint32_t name_bytes;
    uocr_dtype dtype;
    uint32_t rank;
    uint64_t shape[4];
    const uint8_t *payload;
    uint64_t payload_bytes;
    const uint8_t *scales; /* f16, NULL without */
    uint64_t scale_bytes;
    uint32_t section;
    const uint8_t *sha256;
    uint64_t index; /* place in the directory */
} uocr_file_tensor;

typedef struct uocr_model_file {
    char path[1024]; /* for messages, cut if longer */
    const uint8_t *base;
    uint64_t bytes;
    uint32_t profile;
    const uint8_t *model_id; /* 32 bytes */
    uocr_config config;
    uint64_t tensor_count;
    const uint8_t *directory; /* first entry */
    const char *names;
    struct { const uint8_t *data; uint64_t bytes; } text[6]; /* by section kind: 2 front end, 4 tokenizer, 5 provenance */
} uocr_model_file;

/* Maps and checks. On failure nothing stays mapped. */
uocr_status uocr_model_file_open(const char *path, uocr_model_file *, uocr_error *);
void uocr_model_file_close(uocr_model_file *);
/* Binary search by name. False: no such tensor. */
bool uocr_model_file_find(const uocr_model_file *, const char *name, uocr_file_tensor *);
uocr_status uocr_model_file_tensor(const uocr_model_file *, uint64_t index, uocr_file_tensor *);
/* Where the payload's sections (layers) begin, ascending: the first `room` of them into offset. How many there are. */
size_t uocr_model_file_sections(const uocr_model_file *, uint64_t *offset, size_t room);
uocr_status uocr_model_file_verify(const uocr_model_file *, uocr_error *); /* payload hashes */
/* The same checks on bytes already in memory (fuzzing). The bytes must outlive the struct. */
uocr_status uocr_model_file_parse(const uint8_t *bytes, uint64_t count, const char *path, uocr_model_file *, uocr_error *);

#endif
