/* Weights by role: bound when the file holds what the config calls for, one clear refusal when it does
 * not. */
#include "tensors.h"

#include <math.h>
#include <stdbool.h>

#include "bytes.h"
#include "check.h"
#include "model_builder.h"

static model_builder builder;
static uocr_weights weights;

/* Builds, parses and binds; the bytes stay alive until the next call. */
static uocr_status bind(uocr_error *error) {
    static uint8_t *bytes;
    static uocr_model_file file;
    size_t count;
    free(bytes);
    bytes = builder_finish(&builder, &count);
    uocr_status status = uocr_model_file_parse(bytes, count, "tiny.uocr", &file, error);
    return status == UOCR_OK ? uocr_weights_bind(&file, &weights, error) : status;
}

static bool has_shape(const uocr_weight *w, uocr_dtype dtype, size_t matrices, size_t rows, size_t cols) {
    return w->payload != NULL && w->dtype == dtype && w->matrices == matrices && w->rows == rows &&
           w->cols == cols && (w->scales != NULL) == (dtype == UOCR_Q8 || dtype == UOCR_Q4);
}

static void every_role_gets_its_tensor_as_rows_and_columns(void) {
    uocr_error error = {.size = sizeof error};
    builder_begin(&builder);
    if (!CHECK(bind(&error) == UOCR_OK)) fprintf(stderr, "    %s\n", error.message);
    CHECK(has_shape(&weights.embed, UOCR_F16, 1, 64, 32));
    CHECK(has_shape(&weights.head, UOCR_F16, 1, 64, 32) && weights.head.payload != weights.embed.payload);
    CHECK(has_shape(&weights.projector.weight, UOCR_Q8, 1, 32, 64));
    CHECK(has_shape(&weights.projector.bias, UOCR_F32, 1, 1, 32));
    CHECK(has_shape(&weights.newline, UOCR_F32, 1, 1, 32));
    CHECK(has_shape(&weights.patch_embed.weight, UOCR_F16, 1, 32, 16 * 16 * 3));
    CHECK(has_shape(&weights.sam_pos, UOCR_F32, 1, 4 * 4, 32));
    CHECK(has_shape(&weights.net_3, UOCR_F16, 1, 32, 3 * 3 * 16));
    CHECK(has_shape(&weights.neck0, UOCR_F16, 1, 64, 32));
    CHECK(has_shape(&weights.clip_pos, UOCR_F32, 1, 5, 32));
    CHECK(has_shape(&weights.clip[0].qkv.weight, UOCR_F16, 1, 96, 32));
    CHECK(has_shape(&weights.clip[0].fc2.weight, UOCR_Q8, 1, 32, 64));
    CHECK(!weights.sam[0].global && weights.sam[1].global);
    CHECK(has_shape(&weights.sam[0].rel_pos_h, UOCR_F32, 1, 2 * 3 - 1, 16));
    CHECK(has_shape(&weights.sam[1].rel_pos_w, UOCR_F32, 1, 2 * 4 - 1, 16));

    const uocr_decoder_layer *dense = &weights.layer[0], *moe = &weights.layer[1];
    CHECK(!dense->moe && moe->moe);
    CHECK(has_shape(&dense->gate, UOCR_F16, 1, 64, 32) && has_shape(&dense->down, UOCR_Q4, 1, 32, 64));
    CHECK(dense->router.payload == NULL && dense->expert_gate.payload == NULL);
    CHECK(has_shape(&moe->router, UOCR_F32, 1, 4, 32));
    CHECK(has_shape(&moe->down, UOCR_Q8, 1, 32, 64));
    CHECK(has_shape(&moe->expert_gate, UOCR_F16, 4, 64, 32) &&
          has_shape(&moe->expert_down, UOCR_Q4, 4, 32, 64));
    CHECK(moe->input_norm.bias.payload == NULL && weights.final_norm.bias.payload == NULL);
    CHECK(weights.layer[2].q.payload == NULL && weights.sam[2].qkv.weight.payload == NULL);
}

static void check_refused(const char *name, const char *part) {
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(bind(&error), UOCR_MODEL_FILE);
    CHECK_CONTAINS(error.message, "tiny.uocr");
    CHECK_CONTAINS(error.message, name);
    CHECK_CONTAINS(error.message, part);
}

static void a_missing_tensor_is_named_whichever_it_is(void) {
    builder_begin(&builder);
    const size_t count = builder.count;
    for (size_t i = 0; i < count; i++) {
        char name[160];
        builder_begin(&builder);
        memcpy(name, builder.tensors[i].name, sizeof name);
        builder_remove(&builder, name);
        check_refused(name, "has no tensor");
    }
}

static void a_wrong_shape_is_told_beside_the_right_one(void) {
    builder_begin(&builder);
    builder_tensor(&builder, "layers.1.mlp.experts.up_proj.weight")->shape[0] = 5;
    check_refused("layers.1.mlp.experts.up_proj.weight",
                  "the shape 5 x 64 x 32 and its config calls for 4 x 64 x 32");

    builder_begin(&builder);
    builder_tensor(&builder, "sam_model.blocks.1.attn.rel_pos_h")->shape[0] = 5; /* of a windowed block */
    check_refused("sam_model.blocks.1.attn.rel_pos_h", "5 x 16 and its config calls for 7 x 16");

    builder_begin(&builder);
    builder_tensor(&builder, "norm.weight")->rank = 2; /* 32 x 1 is not a vector */
    check_refused("norm.weight", "32 x 1 and its config calls for 32");

    builder_begin(&builder); /* all tensors are right for one layer fewer */
    put_u32(builder.config + 188, 2);
    check_refused("vision_model.transformer.layers.1.layer_norm1.weight", "has no tensor");
}

static void an_unknown_tensor_is_named(void) {
    builder_begin(&builder);
    builder_add(&builder, "layers.0.self_attn.q_proj.bias", B_F32, 1, 32, 1, 1, 1);
    check_refused("layers.0.self_attn.q_proj.bias", "the first unknown one is");

    builder_begin(&builder);
    builder_add(&builder, "a\x01tensor", B_F32, 1, 32, 1, 1, 1);
    check_refused("a?tensor", "the first unknown one is");
}

static void only_matrices_may_be_quantised(void) {
    static const char *const names[] = {"sam_model.neck.2.weight",
                                        "sam_model.net_2.weight"}; /* 64 channels in */
    for (size_t i = 0; i < 2; i++) {
        builder_begin(&builder);
        builder_tensor(&builder, names[i])->dtype = B_Q8;
        check_refused(names[i], "is quantised (type 2), but norms, biases, convolutions");
    }
}

static void one_element_of_each_type_has_its_value(void) {
    uint8_t f32[8], f16[4] = {0x00, 0x3C, 0x01, 0x80}; /* 1, -2^-24 */
    put_f32(f32, 1.5f);
    put_f32(f32 + 4, -2.0f);
    uocr_weight w = {.dtype = UOCR_F32, .payload = f32, .rows = 2, .cols = 1, .matrices = 1};
    CHECK(uocr_weight_at(&w, 0, 0) == 1.5f && uocr_weight_at(&w, 1, 0) == -2.0f);
    w = (uocr_weight){.dtype = UOCR_F16, .payload = f16, .rows = 1, .cols = 2, .matrices = 1};
    CHECK(uocr_weight_at(&w, 0, 0) == 1.0f && uocr_weight_at(&w, 0, 1) == -0x1p-24f);

    uint8_t q8[2 * 64] = {0}, q4[2 * 32], scales[4] = {0x00, 0x38, 0x00, 0x40}; /* 0.5, 2 */
    q8[3] = 0x81;                                                               /* -127 */
    q8[64 + 63] = 100;
    w = (uocr_weight){
        .dtype = UOCR_Q8, .payload = q8, .scales = scales, .rows = 2, .cols = 64, .matrices = 1};
    CHECK(uocr_weight_at(&w, 0, 3) == -63.5f && uocr_weight_at(&w, 1, 63) == 200.0f &&
          uocr_weight_at(&w, 1, 0) == 0);

    memset(q4, 0x88, sizeof q4); /* every q is 0 */
    q4[5] = 0x0F;                /* low half: element 5 is 7; high half: element 37 is -8 */
    q4[32 + 31] = 0x98;          /* element 63 of the second group is 1 */
    w = (uocr_weight){
        .dtype = UOCR_Q4, .payload = q4, .scales = scales, .rows = 1, .cols = 128, .matrices = 1};
    CHECK(uocr_weight_at(&w, 0, 5) == 3.5f && uocr_weight_at(&w, 0, 37) == -4.0f);
    CHECK(uocr_weight_at(&w, 0, 127) == 2.0f && uocr_weight_at(&w, 0, 64) == 0);
}

/* All 65,536 halves against the definition of the format. */
static void half_precision_reads_exactly(void) {
    unsigned wrong = 0;
    for (uint32_t half = 0; half < 1 << 16; half++) {
        uint8_t bytes[2] = {(uint8_t)half, (uint8_t)(half >> 8)};
        float found = uocr_load_f16(bytes), sign = half & 0x8000 ? -1 : 1;
        uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
        if (exponent == 31) {
            wrong += fraction != 0 ? found == found : found != sign * INFINITY;
            continue;
        }
        float expected = exponent == 0 ? (float)fraction * 0x1p-24f : (float)(1024 + fraction) * 0x1p-25f;
        for (uint32_t i = 0; i < exponent; i++) expected *= 2;
        wrong += found != sign * expected;
    }
    CHECK_EQUAL(wrong, 0);
}

int main(void) {
    every_role_gets_its_tensor_as_rows_and_columns();
    a_missing_tensor_is_named_whichever_it_is();
    a_wrong_shape_is_told_beside_the_right_one();
    an_unknown_tensor_is_named();
    only_matrices_may_be_quantised();
    one_element_of_each_type_has_its_value();
    half_precision_reads_exactly();
    return check_result();
}
