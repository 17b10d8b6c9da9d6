/* See model_config.h. The limits are wide enough for any model of this family and narrow enough that the
 * product of any four different fields fits 64 bits (at most 2^18 ids x 2^16 positions x 2^14 x 2^14), so
 * that sizes are computed without overflow everywhere above. */
#include "model_config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "bytes.h"
#include "status.h"

typedef struct integer_field {
    const char *name; /* as in docs/model-format.md */
    uint16_t at;      /* offset in the record */
    uint16_t field;   /* offset in uocr_config */
    uint32_t minimum, maximum;
    uint32_t multiple; /* 16 for widths of rows: an f16 row begins on 32 bytes, an f32 row on 64 */
} integer_field;

#define FIELD(member) offsetof(uocr_config, member)

static const integer_field integers[] = {
    {"vocab_size", 4, FIELD(vocab_size), 2, 1 << 18, 1},
    {"usable_vocab", 8, FIELD(usable_vocab), 1, 1 << 18, 1},
    {"bos id", 12, FIELD(bos_id), 0, (1 << 18) - 1, 1},
    {"eos id", 16, FIELD(eos_id), 0, (1 << 18) - 1, 1},
    {"pad id", 20, FIELD(pad_id), 0, (1 << 18) - 1, 1},
    {"image id", 24, FIELD(image_id), 0, (1 << 18) - 1, 1},
    {"hidden_size", 28, FIELD(hidden), 16, 8192, 16},
    {"num_hidden_layers", 32, FIELD(layers), 1, 64, 1},
    {"num_attention_heads", 36, FIELD(heads), 1, 256, 1},
    {"head_dim", 40, FIELD(head_dim), 16, 256, 16},
    {"intermediate_size", 44, FIELD(intermediate), 16, 1 << 14, 16},
    {"moe_intermediate_size", 48, FIELD(moe_intermediate), 16, 8192, 16},
    {"n_routed_experts", 52, FIELD(experts), 1, 1024, 1},
    {"num_experts_per_tok", 56, FIELD(top_k), 1, 64, 1},
    {"n_shared_experts", 60, FIELD(shared_experts), 1, 64, 1},
    {"first_k_dense_replace", 64, FIELD(first_dense), 0, 64, 1},
    {"max_position_embeddings", 68, FIELD(max_positions), 16, 1 << 16, 1},
    {"sliding_window", 72, FIELD(ring_window), 1, 1 << 14, 1},
    {"SAM width", 128, FIELD(sam_width), 16, 8192, 16},
    {"SAM blocks", 132, FIELD(sam_blocks), 1, 64, 1},
    {"SAM heads", 136, FIELD(sam_heads), 1, 256, 1},
    {"SAM MLP width", 140, FIELD(sam_mlp), 16, 1 << 14, 16},
    {"SAM window", 144, FIELD(sam_window), 1, 128, 1},
    {"SAM patch", 148, FIELD(sam_patch), 16, 16, 1}, /* the rows of a view are counted with it */
    {"SAM grid", 152, FIELD(sam_grid), 1, 256, 1},
    {"SAM neck channels", 156, FIELD(sam_neck), 16, 8192, 16},
    {"net_2 channels", 160, FIELD(sam_net2), 16, 8192, 16},
    {"net_3 channels", 164, FIELD(sam_net3), 16, 8192, 16},
    {"CLIP width", 184, FIELD(clip_width), 16, 8192, 16},
    {"CLIP layers", 188, FIELD(clip_layers), 1, 64, 1},
    {"CLIP heads", 192, FIELD(clip_heads), 1, 256, 1},
    {"CLIP MLP width", 196, FIELD(clip_mlp), 16, 1 << 14, 16},
    {"CLIP positions", 200, FIELD(clip_positions), 2, 1 + 64 * 64, 1},
    {"projector input width", 208, FIELD(projector_in), 32, 1 << 14, 16},
};

typedef struct float_field {
    const char *name;
    uint16_t at, field;
    float minimum, maximum;
} float_field;

static const float_field floats[] = {
    {"routed_scaling_factor", 80, FIELD(routed_scale), 1e-3f, 1e3f},
    {"rope_theta", 84, FIELD(rope_theta), 1.0f, 1e9f},
    {"rms_norm_eps", 88, FIELD(rms_eps), 1e-12f, 0.1f},
    {"SAM LayerNorm eps", 176, FIELD(sam_eps), 1e-12f, 0.1f},
    {"neck LayerNorm2d eps", 180, FIELD(neck_eps), 1e-12f, 0.1f},
    {"CLIP LayerNorm eps", 204, FIELD(clip_eps), 1e-12f, 0.1f},
};

enum { AT_VERSION = 0, AT_NORM_TOPK = 76, AT_GLOBAL_MASK = 168 };
static const struct {
    uint16_t at, bytes;
} reserved[] = {{92, 36}, {212, 44}};

#define REMEDY "convert the checkpoint again or download the file again."

static uocr_status read_integers(const uint8_t *record, const char *path, uocr_config *config,
                                 uocr_error *error) {
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        const integer_field *f = &integers[i];
        uint32_t value = uocr_load_u32(record + f->at);
        if (value < f->minimum || value > f->maximum)
            return uocr_fail(error, UOCR_MODEL_FILE, value, value < f->minimum ? f->minimum : f->maximum,
                             "The model file %s has %s %u, allowed are %u to %u; " REMEDY, path, f->name,
                             value, f->minimum, f->maximum);
        if (value % f->multiple != 0)
            return uocr_fail(error, UOCR_MODEL_FILE, value, f->multiple,
                             "The model file %s has %s %u, which is not a multiple of %u; " REMEDY, path,
                             f->name, value, f->multiple);
        memcpy((uint8_t *)config + f->field, &value, sizeof value);
    }
    return UOCR_OK;
}

static uocr_status read_floats(const uint8_t *record, const char *path, uocr_config *config,
                               uocr_error *error) {
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        const float_field *f = &floats[i];
        float value = uocr_load_f32(record + f->at);
        if (!isfinite(value) || value < f->minimum || value > f->maximum)
            return uocr_fail(error, UOCR_MODEL_FILE, uocr_load_u32(record + f->at), 0,
                             "The model file %s has %s %g, allowed are %g to %g; " REMEDY, path, f->name,
                             (double)value, (double)f->minimum, (double)f->maximum);
        memcpy((uint8_t *)config + f->field, &value, sizeof value);
    }
    return UOCR_OK;
}

/* What must hold between fields. */
static uocr_status check_relations(const uocr_config *c, const char *path, uocr_error *error) {
    const struct {
        const char *name;
        uint32_t id;
    } ids[] = {
        {"bos id", c->bos_id}, {"eos id", c->eos_id}, {"pad id", c->pad_id}, {"image id", c->image_id}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id >= c->vocab_size)
            return uocr_fail(error, UOCR_MODEL_FILE, ids[i].id, c->vocab_size,
                             "The model file %s has %s %u, which must be below its vocabulary of %u; " REMEDY,
                             path, ids[i].name, ids[i].id, c->vocab_size);

    const struct {
        const char *name;
        uint64_t value, limit;
    } at_most[] = {
        {"usable_vocab above vocab_size:", c->usable_vocab, c->vocab_size},
        {"num_experts_per_tok above n_routed_experts:", c->top_k, c->experts},
        {"first_k_dense_replace above num_hidden_layers:", c->first_dense, c->layers},
        {"a shared expert width above the limit:", (uint64_t)c->shared_experts * c->moe_intermediate,
         1 << 14},
    };
    for (size_t i = 0; i < sizeof at_most / sizeof *at_most; i++)
        if (at_most[i].value > at_most[i].limit)
            return uocr_fail(error, UOCR_MODEL_FILE, at_most[i].value, at_most[i].limit,
                             "The model file %s has %s %" PRIu64 " over %" PRIu64 "; " REMEDY, path,
                             at_most[i].name, at_most[i].value, at_most[i].limit);

    uint32_t clip_grid = 1;
    while (clip_grid * clip_grid + 1 < c->clip_positions) clip_grid++;
    const struct {
        const char *name;
        uint32_t value, expected;
    } equal[] = {
        {"num_attention_heads x head_dim, which must equal hidden_size,", c->heads * c->head_dim, c->hidden},
        {"CLIP width, which must equal net_3 channels,", c->clip_width, c->sam_net3},
        {"projector input width, which must equal CLIP width + net_3 channels,", c->projector_in,
         c->clip_width + c->sam_net3},
        {"CLIP positions, which must be 1 + a square,", c->clip_positions, clip_grid * clip_grid + 1},
    };
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (equal[i].value != equal[i].expected)
            return uocr_fail(error, UOCR_MODEL_FILE, equal[i].value, equal[i].expected,
                             "The model file %s has %s %u instead of %u; " REMEDY, path, equal[i].name,
                             equal[i].value, equal[i].expected);

    const struct {
        const char *name;
        uint32_t width, heads;
    } encoders[] = {{"SAM", c->sam_width, c->sam_heads}, {"CLIP", c->clip_width, c->clip_heads}};
    for (size_t i = 0; i < 2; i++) {
        uint32_t width = encoders[i].width, heads = encoders[i].heads, head = width / heads;
        if (width % heads != 0 || head < 16 || head > 256 || head % 16 != 0)
            return uocr_fail(error, UOCR_MODEL_FILE, width, heads,
                             "The model file %s has %s width %u in %u heads, which must be 16, 32, 48 ... "
                             "256 wide; " REMEDY,
                             path, encoders[i].name, width, heads);
    }

    if (c->sam_blocks < 64 && c->sam_global_mask >> c->sam_blocks != 0)
        return uocr_fail(error, UOCR_MODEL_FILE, c->sam_global_mask, c->sam_blocks,
                         "The model file %s marks SAM blocks as global past the last of %u (mask %" PRIx64
                         "); " REMEDY,
                         path, c->sam_blocks, c->sam_global_mask);
    return UOCR_OK;
}

uocr_status uocr_config_parse(const uint8_t record[UOCR_CONFIG_BYTES], const char *path, uocr_config *config,
                              uocr_error *error) {
    memset(config, 0, sizeof *config);
    uint32_t version = uocr_load_u32(record + AT_VERSION);
    if (version != 1)
        return uocr_fail(
            error, UOCR_MODEL_FILE, version, 1,
            "The model file %s has config record version %u and this program reads version 1; %s", path,
            version, version > 1 ? "update the program." : REMEDY);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!uocr_all_zero(record + reserved[i].at, reserved[i].bytes))
            return uocr_fail(
                error, UOCR_MODEL_FILE, reserved[i].at, 0,
                "The model file %s has a value in the reserved part of its config record at byte %u; " REMEDY,
                path, reserved[i].at);

    uocr_status status = read_integers(record, path, config, error);
    if (status == UOCR_OK) status = read_floats(record, path, config, error);
    if (status != UOCR_OK) return status;

    uint32_t norm_topk = uocr_load_u32(record + AT_NORM_TOPK);
    if (norm_topk > 1)
        return uocr_fail(error, UOCR_MODEL_FILE, norm_topk, 1,
                         "The model file %s has norm_topk_prob %u, allowed are 0 and 1; " REMEDY, path,
                         norm_topk);
    config->norm_topk = norm_topk == 1;
    config->sam_global_mask = uocr_load_u64(record + AT_GLOBAL_MASK);
    return check_relations(config, path, error);
}
