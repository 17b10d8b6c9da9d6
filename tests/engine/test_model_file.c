/* Model files: what a good one gives, and one clear refusal for each thing that can be wrong with a bad
 * one. */
#include "model_file.h"

#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "model_builder.h"

static const char PATH[] = "folder/page.uocr";

/* The tiny model, fresh. */
static uint8_t *tiny(size_t *bytes) {
    static model_builder b;
    builder_begin(&b);
    return builder_finish(&b, bytes);
}

/* Refused, with the file's name and `part` in the sentence. */
static void check_refused(const uint8_t *bytes, size_t count, const char *part, const char *what) {
    uocr_model_file file;
    uocr_error error = {.size = sizeof error};
    if (!CHECK(uocr_model_file_parse(bytes, count, PATH, &file, &error) == UOCR_MODEL_FILE))
        fprintf(stderr, "    %s was accepted\n", what);
    CHECK_EQUAL(error.status, UOCR_MODEL_FILE);
    CHECK_CONTAINS(error.message, PATH);
    CHECK_CONTAINS(error.message, part);
    size_t length = strlen(error.message);
    CHECK(length > 0 && error.message[length - 1] == '.');
}

/* ---- good files ---- */

static void a_file_on_disk_gives_config_texts_and_tensors(void) {
    char path[] = "/tmp/uocr-model-XXXXXX";
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    int descriptor = mkstemp(path);
    CHECK(descriptor >= 0 && write(descriptor, made, bytes) == (ssize_t)bytes);
    close(descriptor);
    free(made);

    uocr_model_file file;
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(uocr_model_file_open(path, &file, &error), UOCR_OK);
    CHECK_EQUAL(file.bytes, bytes);
    CHECK_EQUAL(file.profile, 2);
    CHECK_EQUAL(file.config.vocab_size, 64);
    CHECK_EQUAL(file.config.image_id, 59);
    CHECK_EQUAL(file.config.head_dim, 16);
    CHECK_EQUAL(file.config.sam_global_mask, 2);
    CHECK_EQUAL(file.config.projector_in, 64);
    CHECK(!file.config.norm_topk);
    CHECK(file.config.rope_theta == 10000.0f && file.config.clip_eps == 1e-5f &&
          file.config.sam_eps == 1e-6f);
    CHECK(file.text[2].bytes == 16 && memcmp(file.text[2].data, "{\"name\": \"tiny\"}", 16) == 0);
    CHECK(file.text[4].bytes == 2 && memcmp(file.text[4].data, "{}", 2) == 0);
    CHECK(file.text[5].bytes == 18);

    uocr_file_tensor t;
    CHECK(uocr_model_file_find(&file, "layers.1.mlp.experts.down_proj.weight", &t));
    CHECK_EQUAL(t.dtype, UOCR_Q4);
    CHECK_EQUAL(t.rank, 3);
    CHECK(t.shape[0] == 4 && t.shape[1] == 32 && t.shape[2] == 64 && t.shape[3] == 1);
    CHECK_EQUAL(t.payload_bytes, 4 * 32 * 32);
    CHECK_EQUAL(t.scale_bytes, 4 * 32 * 2);
    CHECK_EQUAL(t.section, 6);
    CHECK((uintptr_t)t.payload % 128 == 0 && (uintptr_t)t.scales % 128 == 0);
    CHECK(!uocr_model_file_find(&file, "layers.1.mlp.experts.down_proj.weigh", &t));
    CHECK(!uocr_model_file_find(&file, "layers.1.mlp.experts.down_proj.weights", &t));
    CHECK(!uocr_model_file_find(&file, "", &t));
    for (uint64_t i = 0; i < file.tensor_count; i++) { /* each is found by its own name, at its own place */
        uocr_file_tensor again;
        char name[256] = {0};
        CHECK_EQUAL(uocr_model_file_tensor(&file, i, &t), UOCR_OK);
        memcpy(name, t.name, t.name_bytes);
        CHECK(uocr_model_file_find(&file, name, &again) && again.index == i && again.payload == t.payload);
        CHECK((t.scales != NULL) == (t.dtype == UOCR_Q8 || t.dtype == UOCR_Q4));
    }
    CHECK_EQUAL(uocr_model_file_tensor(&file, file.tensor_count, &t), UOCR_INVALID_ARGUMENT);

    uint64_t section[2] = {0, 1};
    CHECK_EQUAL(uocr_model_file_sections(&file, section, 1), 2); /* no more than there is room for */
    CHECK_EQUAL(section[1], 1);
    CHECK_EQUAL(uocr_model_file_sections(&file, section, 2), 2);
    CHECK(section[0] % UNIT == 0 && section[1] % UNIT == 0 && section[0] < section[1]);
    for (uint64_t i = 0; i < file.tensor_count; i++) {
        CHECK_EQUAL(uocr_model_file_tensor(&file, i, &t), UOCR_OK);
        CHECK_EQUAL(t.section, (uint64_t)(t.payload - file.base) < section[1] ? 5 : 6);
    }
    CHECK_EQUAL(uocr_model_file_verify(&file, &error), UOCR_OK);
    uocr_model_file_close(&file);
    CHECK(file.base == NULL);
    unlink(path);
}

static void altered_values_are_found_by_verify_and_named(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    static const char *const names[] = {"projector.layers.weight", "layers.0.mlp.down_proj.weight"};
    for (size_t i = 0; i < 2; i++) {
        uint8_t *entry = entry_of(made, names[i]);
        /* the last scale, and the first value */
        uint8_t *value =
            made + (i == 0 ? get_u64(entry + 72) + get_u64(entry + 80) - 1 : get_u64(entry + 56));
        *value ^= 1;
        uocr_model_file file;
        uocr_error error = {.size = sizeof error};
        CHECK_EQUAL(uocr_model_file_parse(made, bytes, PATH, &file, &error),
                    UOCR_OK); /* not looked at on opening */
        CHECK_EQUAL(uocr_model_file_verify(&file, &error), UOCR_MODEL_FILE);
        CHECK_CONTAINS(error.message, names[i]);
        *value ^= 1;
    }
    free(made);
}

/* ---- files that are something else ---- */

static void what_is_no_model_file_is_told_from_what_was_one(void) {
    static const struct {
        const char *bytes;
        size_t count;
        const char *part;
    } cases[] = {
        {"", 0, "is not a .uocr model file"},
        {"UOC", 3, "(3 bytes) is not a .uocr model file"},
        {"GGUF\x03\0\0\0 and so on", 20, "make one from a checkpoint with 'uocr convert'"},
        {"UOCR\x01\0\0\0\x70\0\0\0", 12, "was made by another program"},
        {"UOCR\n\x1a\n\x01\0\0\0", 11, "transfer in text mode"},
        {"UOCR\r\n\x1a\n\x01\0\0\0", 12, "cut short: 12 bytes, and the header alone has 256"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused((const uint8_t *)cases[i].bytes, cases[i].count, cases[i].part, cases[i].part);

    static const struct {
        const char *path, *part;
    } paths[] = {{"/nonexistent/model.uocr", "cannot be opened: No such file"},
                 {"/tmp", "/tmp is not a file"},
                 {"/dev/null", "is not a file"}};
    for (size_t i = 0; i < 3; i++) {
        uocr_model_file file;
        uocr_error error = {.size = sizeof error};
        CHECK_EQUAL(uocr_model_file_open(paths[i].path, &file, &error), UOCR_MODEL_FILE);
        CHECK_CONTAINS(error.message, paths[i].part);
    }
}

static void a_path_too_long_for_a_message_keeps_its_end(void) {
    char path[3000];
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 12, "/model.uocr", 12);
    uocr_model_file file;
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(uocr_model_file_parse((const uint8_t *)"", 0, path, &file, &error), UOCR_MODEL_FILE);
    CHECK_CONTAINS(error.message, "/model.uocr (0 bytes) is not a .uocr model file; make one");
}

/* ---- damaged files ---- */

static void a_file_cut_anywhere_is_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    for (size_t count = 0; count < bytes; count += 1 + count / 3) {
        uint8_t *cut = malloc(count + 1); /* its own block: the sanitizer sees a read past the cut */
        memcpy(cut, made, count);
        check_refused(cut, count, count < 8 ? "is not a .uocr model file" : "is cut short", "a cut file");
        free(cut);
    }
    uint8_t *longer = calloc(1, bytes + UNIT);
    memcpy(longer, made, bytes);
    check_refused(longer, bytes + UNIT, "has bytes after its end", "a longer file");
    free(longer);
    free(made);
}

static void a_flipped_bit_before_the_payload_is_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    uocr_model_file file;
    unsigned accepted = 0;
    for (size_t section = 0; section <= 5; section++) {
        uint8_t *from = section == 5 ? made : section_bytes(made, section);
        size_t count =
            section == 5 ? SECTION_TABLE + 64 * SECTIONS : get_u64(section_entry(made, section) + 16);
        for (size_t i = 0; i < count; i += section == 2 ? 7 : 1) { /* the directory is long and all alike */
            uint8_t bit = (uint8_t)(1 << i % 8);
            from[i] ^= bit;
            accepted += uocr_model_file_parse(made, bytes, PATH, &file, NULL) == UOCR_OK;
            from[i] ^= bit;
        }
    }
    CHECK_EQUAL(accepted, 0);
    CHECK_EQUAL(uocr_model_file_parse(made, bytes, PATH, &file, NULL), UOCR_OK);
    free(made);
}

static void damage_says_which_part_was_altered(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    const struct {
        uint8_t *at;
        const char *part;
    } cases[] = {
        {made + 30, "The header of the model file"},
        {section_entry(made, 2) + 20, "The section table of the model file"},
        {config_of(made) + 4, "Section 0 of the model file"},
        {section_bytes(made, 1), "Section 1 of the model file"},
        {section_bytes(made, 4), "Section 4 of the model file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        *cases[i].at ^= 1;
        check_refused(made, bytes, cases[i].part, cases[i].part);
        *cases[i].at ^= 1;
    }
    free(made);
}

/* ---- files that lie, with hashes that agree ---- */

typedef enum where { HEADER, TABLE_OF_0, TABLE_OF_1, TABLE_OF_5, CONFIG, DIRECTORY, EMBED, PROJECTOR } where;

static uint8_t *place(uint8_t *file, where w) {
    switch (w) {
    case HEADER:
        return file;
    case TABLE_OF_0:
        return section_entry(file, 0);
    case TABLE_OF_1:
        return section_entry(file, 1);
    case TABLE_OF_5:
        return section_entry(file, 5);
    case CONFIG:
        return config_of(file);
    case DIRECTORY:
        return directory_of(file);
    case EMBED:
        return entry_of(file, "embed_tokens.weight");
    case PROJECTOR:
        return entry_of(file, "projector.layers.weight");
    }
    abort();
}

static void every_wrong_number_is_refused_by_name(void) {
    const uint64_t far = UINT64_C(1) << 40, huge = UINT64_MAX - 100;
    const struct {
        where where;
        unsigned at, bytes;
        uint64_t value;
        const char *part;
    } cases[] = {
        {HEADER, AT_VERSION, 4, 2, "has format 2 and this program reads up to format 1; update the program"},
        {HEADER, AT_VERSION, 4, 0, "The header of the model file"},
        {HEADER, AT_HEADER_BYTES, 4, 255, "header bytes 255, allowed are 256 to 256"},
        {HEADER, AT_SECTIONS, 4, 4, "section count 4, allowed are 5 to 4096"},
        {HEADER, AT_SECTIONS, 4, 5000, "section count 5000"},
        {HEADER, AT_SECTIONS, 4, 4096, "Section 0 of the model file folder/page.uocr lies at byte 16384"},
        {HEADER, AT_PROFILE, 4, 4, "profile 4, allowed are 0 to 3"},
        {HEADER, AT_TABLE, 8, huge, "section table offset 18446744073709551515"},
        {HEADER, 40, 8, 1, "reserved header values"},
        {HEADER, 200, 1, 1, "reserved header values"},
        {TABLE_OF_0, 16, 8, 252,
         "config record of the model file folder/page.uocr has 252 bytes instead of 256"},
        {TABLE_OF_0, 16, 8, 257, "has 257 bytes instead of 256"},
        {TABLE_OF_1, 0, 4, 3, "has kind 3 instead of 2"},
        {TABLE_OF_5, 0, 4, 17, "has kind 17 instead of 16"},
        {TABLE_OF_1, 4, 4, 1, "Section 1 of the model file folder/page.uocr has a value in a reserved place"},
        {TABLE_OF_1, 8, 8, UNIT + 128, "lies at byte 16512"},
        {TABLE_OF_1, 8, 8, UNIT, "or the sections before it"}, /* over the config */
        {TABLE_OF_5, 8, 8, far, "lies at byte 1099511627776"},
        {TABLE_OF_5, 16, 8, huge, "with 18446744073709551515 bytes"},
        {TABLE_OF_5, 24, 8, 1, "Section 5"},
        {TABLE_OF_5, 40, 1, 1, "Section 5"},

        {CONFIG, 0, 4, 2, "config record version 2"},
        {CONFIG, 4, 4, 0xFFFFFFFF, "vocab_size 4294967295, allowed are 2 to 262144"},
        {CONFIG, 8, 4, 65, "usable_vocab above vocab_size: 65 over 64"},
        {CONFIG, 16, 4, 64, "eos id 64, which must be below its vocabulary of 64"},
        {CONFIG, 28, 4, 24, "hidden_size 24, which is not a multiple of 16"},
        {CONFIG, 28, 4, 48, "num_attention_heads x head_dim, which must equal hidden_size, 32 instead of 48"},
        {CONFIG, 32, 4, 65, "num_hidden_layers 65, allowed are 1 to 64"},
        {CONFIG, 52, 4, 0, "n_routed_experts 0"},
        {CONFIG, 56, 4, 5, "num_experts_per_tok above n_routed_experts: 5 over 4"},
        {CONFIG, 64, 4, 3, "first_k_dense_replace above num_hidden_layers: 3 over 2"},
        {CONFIG, 76, 4, 2, "norm_topk_prob 2"},
        {CONFIG, 84, 4, 0x7F800000, "rope_theta inf"},
        {CONFIG, 88, 4, 0x7FC00000, "rms_norm_eps nan"},
        {CONFIG, 88, 4, 0x80000000, "rms_norm_eps -0"},
        {CONFIG, 176, 4, 0, "SAM LayerNorm eps 0"},
        {CONFIG, 92, 4, 1, "reserved part of its config record at byte 92"},
        {CONFIG, 252, 4, 1, "reserved part of its config record at byte 212"},
        {CONFIG, 136, 4, 3, "SAM width 32 in 3 heads"},
        {CONFIG, 192, 4, 4, "CLIP width 32 in 4 heads"},
        {CONFIG, 148, 4, 14, "SAM patch 14"},
        {CONFIG, 164, 4, 48, "CLIP width, which must equal net_3 channels, 32 instead of 48"},
        {CONFIG, 168, 8, 4, "global past the last of 2 (mask 4)"},
        {CONFIG, 200, 4, 6, "CLIP positions, which must be 1 + a square, 6 instead of 10"},
        {CONFIG, 208, 4, 80,
         "projector input width, which must equal CLIP width + net_3 channels, 80 instead of 64"},

        {DIRECTORY, 0, 4, 0, "has 0 entries"},
        {DIRECTORY, 0, 4, 0xFFFFFFFF, "has 4294967295 entries"},
        {DIRECTORY, 4, 4, 64, "tensor directory"},
        {DIRECTORY, 8, 8, 32, "tensor names"},
        {DIRECTORY, 8, 8, huge, "tensor names"},
        {DIRECTORY, 16, 8, huge, "tensor names"},
        {DIRECTORY, 24, 8, 1, "tensor names"},
        {EMBED, 0, 4, 0xFFFFFFFF, "with 19 bytes of"},
        {EMBED, 4, 4, 0, "with 0 bytes of"},
        {EMBED, 4, 4, 256, "with 256 bytes of"},
        {EMBED, 8, 4, 4,
         "Tensor embed_tokens.weight of the model file folder/page.uocr has type 4, allowed are 0 to 3"},
        {EMBED, 8, 4, 2, "which is impossible for its type and rank 2"}, /* q8, 32 wide */
        {EMBED, 8, 4, 0, "has 4096 + 0 bytes and its shape needs 8192 + 0"},
        {EMBED, 12, 4, 1, "layout 1"},
        {EMBED, 16, 4, 0, "rank 0"},
        {EMBED, 16, 4, 5, "rank 5"},
        {EMBED, 16, 4, 1, "rank 1"}, /* its second size is not 1 */
        {EMBED, 20, 4, 4, "reason 4"},
        {EMBED, 24, 8, 0, "shape 0 x 32"},
        {EMBED, 24, 8, huge, "shape 18446744073709551515 x 32"},
        {EMBED, 24, 8, UINT64_C(1) << 59, "shape 576460752303423488 x 32"}, /* the product wraps to 0 */
        {EMBED, 40, 8, 2, "shape 64 x 32 x 2"},
        {EMBED, 56, 8, huge, "outside its section"},
        {EMBED, 56, 8, 0, "outside its section"},
        {EMBED, 64, 8, 4097, "has 4097 + 0 bytes"},
        {EMBED, 72, 8, 1, "outside its section"}, /* scales where none belong */
        {EMBED, 88, 4, 4, "section 4, allowed are 5 to 6"},
        {EMBED, 88, 4, 7, "section 7, allowed are 5 to 6"},
        {EMBED, 92, 4, 1, "reserved value 1"},
        {PROJECTOR, 72, 8, 0, "outside its section"},
        {PROJECTOR, 72, 8, huge, "outside its section"},
        {PROJECTOR, 80, 8, 0, "has 2048 + 0 bytes and its shape needs 2048 + 64"},
        {PROJECTOR, 88, 4, 6, "outside its section"},
    };
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    uint8_t *altered = malloc(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(altered, made, bytes);
        uint8_t *at = place(altered, cases[i].where) + cases[i].at;
        for (unsigned j = 0; j < cases[i].bytes; j++) at[j] = (uint8_t)(cases[i].value >> 8 * j);
        repair_hashes(altered, bytes);
        check_refused(altered, bytes, cases[i].part, cases[i].part);
    }
    free(altered);
    free(made);
}

static void a_section_table_longer_than_the_file_is_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes), *first_unit = malloc(UNIT);
    memcpy(first_unit, made, UNIT);
    put_u64(first_unit + AT_FILE_BYTES, UNIT);
    put_u32(first_unit + AT_SECTIONS, 4096);
    repair_hashes(first_unit, UNIT);
    check_refused(first_unit, UNIT, "ends at byte 262400 of 16384", "a table longer than its file");
    free(first_unit);
    free(made);
}

/* Payload or scales that begin before their section or end after it, if only by the last byte. */
static void a_tensor_outside_its_section_is_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes), *altered = malloc(bytes);
    const uint32_t count = get_u32(directory_of(made));
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned part = 56; part <= 72; part += 16) { /* payload, scales */
            memcpy(altered, made, bytes);
            uint8_t *entry = directory_of(altered) + 32 + 128 * (size_t)i;
            uint8_t *section = section_entry(altered, get_u32(entry + 88));
            uint64_t start = get_u64(section + 8), end = start + get_u64(section + 16),
                     size = get_u64(entry + part + 8);
            if (size == 0) continue; /* no scales */
            const uint64_t places[] = {start - 128, (end - size) / 128 * 128 + 128, end, UINT64_MAX - 127};
            for (size_t j = 0; j < 4; j++) {
                put_u64(entry + part, places[j]);
                repair_hashes(altered, bytes);
                check_refused(altered, bytes, "outside its section", "a tensor outside its section");
            }
        }
    }
    free(altered);
    free(made);
}

static void the_last_name_may_not_reach_past_the_names(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    uint8_t *last = directory_of(made) + 32 + 128 * (size_t)(get_u32(directory_of(made)) - 1);
    put_u32(last + 4, get_u32(last + 4) + 1);
    repair_hashes(made, bytes);
    check_refused(made, bytes, "The name of tensor", "a name that is too long");
    free(made);
}

static void tensors_that_share_a_name_are_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    uint8_t *first = directory_of(made) + 32; /* its name becomes the next one's */
    memcpy(first, first + 128, 8);
    repair_hashes(made, bytes);
    check_refused(made, bytes, "out of order or occurs twice", "a name used twice");
    free(made);
}

static void a_name_with_control_characters_is_shown_without_them(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    uint8_t *directory = directory_of(made), *entry = directory + 32;
    memcpy(directory + get_u64(directory + 8) + get_u32(entry), "\x1b[2J", 4);
    put_u32(entry + 12, 9);
    repair_hashes(made, bytes);
    check_refused(made, bytes, "Tensor ?[2J", "a name with an escape sequence");
    free(made);
}

static void a_model_id_that_is_not_of_these_tensors_is_refused(void) {
    size_t bytes;
    uint8_t *made = tiny(&bytes);
    made[AT_MODEL_ID] ^= 1;
    uocr_sha256_of(made, AT_HEADER_HASH, made + AT_HEADER_HASH);
    check_refused(made, bytes, "do not add up to its model id", "a wrong model id");
    free(made);
}

int main(void) {
    a_file_on_disk_gives_config_texts_and_tensors();
    altered_values_are_found_by_verify_and_named();
    what_is_no_model_file_is_told_from_what_was_one();
    a_path_too_long_for_a_message_keeps_its_end();
    a_file_cut_anywhere_is_refused();
    a_flipped_bit_before_the_payload_is_refused();
    damage_says_which_part_was_altered();
    every_wrong_number_is_refused_by_name();
    a_section_table_longer_than_the_file_is_refused();
    a_tensor_outside_its_section_is_refused();
    the_last_name_may_not_reach_past_the_names();
    tensors_that_share_a_name_are_refused();
    a_name_with_control_characters_is_shown_without_them();
    a_model_id_that_is_not_of_these_tensors_is_refused();
    return check_result();
}
