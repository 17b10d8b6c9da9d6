/* Reads altered model files: each must be refused in words or be readable to the last byte, never crash.
 *
 * Usage: fuzz_model_file FILE SEED COUNT    ("-": the tiny model of model_builder.h)
 *
 * A mutant is the file with a few bits, bytes or numbers changed, pieces copied over each other, or its end
 * cut off. Most mutants then get hashes that agree, up to a random depth, so that the checks behind the
 * hashes are met. The bytes lie between two pages that may not be touched and end exactly where the second
 * begins: a read past either end stops the program, with or without a sanitizer. */
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "model_builder.h"
#include "tensors.h"

/* ---- memory between two forbidden pages ---- */

typedef struct fence {
    uint8_t *first, *end; /* usable bytes */
} fence;

static fence fence_of(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    uint8_t *base = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, room, PROT_READ | PROT_WRITE) != 0) {
        perror("memory for the mutants");
        exit(2);
    }
    return (fence){base + page, base + page + room};
}

/* ---- the mutator ---- */

typedef struct fuzz {
    const uint8_t *original;
    size_t bytes;
    uint8_t *mutant; /* ends at the fence */
    uint64_t random;
} fuzz;

static uint64_t below(fuzz *f, uint64_t limit) { return check_random(&f->random) % limit; }

/* The start or the end of a section, or a little beside it: where bounds are decided. */
static uint64_t section_border(fuzz *f) {
    uint8_t *entry =
        section_entry((uint8_t *)(uintptr_t)f->original, below(f, get_u32(f->original + AT_SECTIONS)));
    uint64_t border = get_u64(entry + 8) + (below(f, 3) != 0 ? get_u64(entry + 16) : 0);
    return below(f, 2) == 0 ? f->bytes - 128 * below(f, 4) : (border / 128 + below(f, 5) - 2) * 128;
}

/* A number that is likely to be at some border. */
static uint64_t telling_number(fuzz *f, uint64_t present) {
    static const uint64_t borders[] = {0, 1, 2, 3, 5, 16, 63, 64, 127, 128, 255, 256, 16383, 16384};
    switch (below(f, 10)) {
    case 0:
        return borders[below(f, sizeof borders / sizeof *borders)];
    case 1:
        return present + 1 + below(f, 3) * 63;
    case 2:
        return present - 1 - below(f, 3) * 63;
    case 3:
        return UINT64_C(1) << below(f, 64);
    case 4:
        return UINT64_MAX - below(f, 300);
    case 5:
        return present ^ UINT64_C(1) << below(f, 64);
    case 6:
        return check_random(&f->random);
    default:
        return section_border(f);
    }
}

static void change_u32(fuzz *f, uint8_t *at) { put_u32(at, (uint32_t)telling_number(f, get_u32(at))); }
static void change_u64(fuzz *f, uint8_t *at) { put_u64(at, telling_number(f, get_u64(at))); }

/* A field of the header, the section table, the config or the directory, whole. The places come from the
 * unaltered file: earlier changes to this mutant may have made its own numbers nonsense. */
static void change_a_field(fuzz *f) {
    uint8_t *original = (uint8_t *)(uintptr_t)f->original;
    uint8_t *directory = f->mutant + (directory_of(original) - original);
    uint8_t *entry = directory + 32 + 128 * below(f, get_u32(directory_of(original)));
    uint8_t *table = f->mutant + SECTION_TABLE + 64 * below(f, get_u32(original + AT_SECTIONS));
    uint8_t *config = f->mutant + (config_of(original) - original);
    switch (below(f, 8)) {
    case 0:
        change_u32(f, f->mutant + 8 + 4 * below(f, 8)); /* version .. table offset */
        break;
    case 1:
        if (below(f, 2) == 0) change_u32(f, table + 4 * below(f, 2));
        else change_u64(f, table + 8 + 8 * below(f, 2));
        break;
    case 2:
        change_u32(f, config + 4 * below(f, 64));
        break;
    case 3:
        if (below(f, 2) == 0) change_u32(f, directory + 4 * below(f, 2));
        else change_u64(f, directory + 8 + 8 * below(f, 3));
        break;
    case 4:
        change_u32(f, entry + 4 * below(f, 6)); /* name, type, layout, rank, reason */
        break;
    case 5:
        change_u64(f, entry + 24 + 8 * below(f, 4)); /* shape */
        break;
    case 6:
        change_u64(f, entry + 56 + 8 * below(f, 4)); /* payload, scales */
        break;
    default:
        change_u32(f, entry + 88); /* section */
        break;
    }
}

/* A tensor of another size or type, with payload and scale bytes to match, and now and then in another place:
 * only its bounds, or the model's config, can tell that it is wrong. */
static void change_a_tensor(fuzz *f) {
    uint8_t *original = (uint8_t *)(uintptr_t)f->original;
    uint8_t *directory = f->mutant + (directory_of(original) - original);
    uint8_t *entry = directory + 32 + 128 * below(f, get_u32(directory_of(original)));
    uint32_t axis = (uint32_t)below(f, 4);
    if (below(f, 2) == 0) put_u64(entry + 24 + 8 * axis, UINT64_C(1) << below(f, 64));
    else change_u64(f, entry + 24 + 8 * axis);
    if (below(f, 4) == 0) put_u32(entry + 8, (uint32_t)below(f, 4));

    built_tensor t = {.dtype = get_u32(entry + 8), .rank = 4};
    for (int i = 0; i < 4; i++) t.shape[i] = get_u64(entry + 24 + 8 * i);
    uint64_t payload, scales;
    tensor_bytes(&t, &payload, &scales);
    put_u64(entry + 64, payload);
    put_u64(entry + 80, scales);
    if (axis >= get_u32(entry + 16)) put_u32(entry + 16, axis + 1);
    if (below(f, 2) == 0) put_u64(entry + (below(f, 2) == 0 ? 56 : 72), section_border(f));
}

/* Something before the payload: that is where a reader takes its numbers from. */
static size_t somewhere(fuzz *f) {
    uint8_t *original = (uint8_t *)(uintptr_t)f->original;
    size_t payload = get_u64(section_entry(original, 5) + 8);
    return below(f, 8) == 0 ? below(f, f->bytes) : below(f, payload);
}

static void copy_a_piece(fuzz *f) {
    static const size_t sizes[] = {4, 8, 32, 64, 128};
    size_t size = sizes[below(f, 5)];
    uint8_t *original = (uint8_t *)(uintptr_t)f->original;
    uint8_t *directory = f->mutant + (directory_of(original) - original);
    uint32_t entries = get_u32(directory_of(original));
    uint8_t *to = size == 128  ? directory + 32 + 128 * below(f, entries)
                  : size == 64 ? f->mutant + SECTION_TABLE + 64 * below(f, get_u32(original + AT_SECTIONS))
                               : f->mutant + somewhere(f) / 4 * 4;
    uint8_t *from = size == 128  ? directory + 32 + 128 * below(f, entries)
                    : size == 64 ? f->mutant + SECTION_TABLE + 64 * below(f, get_u32(original + AT_SECTIONS))
                                 : f->mutant + somewhere(f) / 4 * 4;
    if (to + size <= f->mutant + f->bytes && from + size <= f->mutant + f->bytes) memmove(to, from, size);
}

static size_t cut(fuzz *f) {
    size_t left = below(f, 2) == 0 ? below(f, f->bytes) : below(f, f->bytes / UNIT) * UNIT;
    if (left >= SECTION_TABLE && below(f, 2) == 0) put_u64(f->mutant + AT_FILE_BYTES, left);
    return left;
}

static void change_anything(fuzz *f) {
    switch (below(f, 4)) {
    case 0:
        f->mutant[somewhere(f)] ^= (uint8_t)(1 << below(f, 8));
        break;
    case 1:
        f->mutant[somewhere(f)] = (uint8_t)below(f, 256);
        break;
    case 2:
        copy_a_piece(f);
        break;
    default:
        change_a_field(f);
        break;
    }
}

/* Changes the mutant in place; returns how many of its bytes are left. */
static size_t mutate(fuzz *f) {
    uint64_t kind = below(f, 20);
    if (kind < 10) {
        change_a_field(f); /* alone: a second change would often be refused first */
    } else if (kind < 14) {
        change_a_tensor(f);
    } else {
        for (uint64_t changes = 1 + below(f, 3); changes > 0; changes--) change_anything(f);
    }
    return kind < 18 ? f->bytes : cut(f);
}

/* Makes hashes agree: nothing, the header's alone, or all of them. */
static void repair(fuzz *f, uint8_t *mutant, size_t bytes) {
    uint64_t depth = below(f, 8);
    if (depth == 0 || bytes < SECTION_TABLE) return;
    if (depth == 1) uocr_sha256_of(mutant, AT_HEADER_HASH, mutant + AT_HEADER_HASH);
    else repair_hashes(mutant, bytes);
}

/* ---- the reader under test ---- */

enum { REFUSED, UNBOUND, BOUND, OUTCOMES };

static volatile uint8_t seen; /* so that no read is left out */

static void touch(const uint8_t *bytes, uint64_t count) {
    if (count == 0) return;
    seen = bytes[0];
    seen = bytes[count - 1];
}

static void touch_all(const uocr_model_file *file) {
    for (uint64_t i = 0; i < file->tensor_count; i++) {
        uocr_file_tensor t;
        uocr_model_file_tensor(file, i, &t);
        touch((const uint8_t *)t.name, t.name_bytes);
        touch(t.payload, t.payload_bytes);
        built_tensor shaped = {.dtype = t.dtype, .rank = 4}; /* as far as its shape says, too */
        memcpy(shaped.shape, t.shape, sizeof shaped.shape);
        uint64_t payload, scales;
        tensor_bytes(&shaped, &payload, &scales);
        touch(t.payload, payload);
        if (t.scales != NULL) touch(t.scales, scales);
        touch(t.sha256, UOCR_SHA256_BYTES);
        if (t.scales != NULL) touch(t.scales, t.scale_bytes);
    }
    for (size_t kind = 0; kind < sizeof file->text / sizeof *file->text; kind++)
        touch(file->text[kind].data, file->text[kind].bytes);
    touch(file->model_id, UOCR_SHA256_BYTES);
}

static int outcome_of(const uint8_t *bytes, size_t count, uocr_error *error) {
    static uocr_weights weights;
    uocr_model_file file;
    *error = (uocr_error){.size = sizeof *error};
    uocr_status status = uocr_model_file_parse(bytes, count, "mutant.uocr", &file, error);
    int outcome = REFUSED;
    if (status == UOCR_OK) {
        touch_all(&file);
        status = uocr_weights_bind(&file, &weights, error);
        outcome = status == UOCR_OK ? BOUND : UNBOUND;
    }
    if (status != UOCR_OK &&
        !CHECK(status == UOCR_MODEL_FILE && strstr(error->message, "mutant.uocr") != NULL))
        fprintf(stderr, "    status %d: %s\n", status, error->message);
    if (outcome == BOUND)
        seen = uocr_weight_at(&weights.embed, weights.embed.rows - 1, weights.embed.cols - 1) > 0;
    return outcome;
}

/* ---- reading and reporting ---- */

static uint8_t *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *content = malloc(*bytes);
    if (content == NULL || fread(content, 1, *bytes, file) != *bytes) exit(2);
    fclose(file);
    return content;
}

/* Which of the reader's floors refused: shows that the deep ones were reached. */
static const char *const floors[] = {"header", "section table", "Section",   "config record", "directory",
                                     "name",   "Tensor",        "calls for", "has no tensor", "cut short"};
enum { FLOORS = sizeof floors / sizeof *floors };

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: fuzz_model_file FILE|- SEED COUNT\n");
        return 2;
    }
    static model_builder tiny;
    fuzz f = {.random = strtoull(arguments[2], NULL, 10)};
    const unsigned long mutants = strtoul(arguments[3], NULL, 10);
    builder_begin(&tiny);
    uint8_t *original =
        strcmp(arguments[1], "-") == 0 ? builder_finish(&tiny, &f.bytes) : read_file(arguments[1], &f.bytes);
    f.original = original;
    fence area = fence_of(f.bytes);
    f.mutant = area.end - f.bytes;
    memcpy(f.mutant, original, f.bytes);

    uocr_error error;
    CHECK_EQUAL(outcome_of(f.mutant, f.bytes, &error), BOUND);
    unsigned long outcomes[OUTCOMES] = {0}, refusals[FLOORS] = {0};
    for (unsigned long i = 0; i < mutants; i++) {
        size_t left = mutate(&f);
        uint8_t *start = area.end - left;
        if (left != f.bytes) memmove(start, f.mutant, left);
        repair(&f, start, left);
        int outcome = outcome_of(start, left, &error);
        outcomes[outcome]++;
        for (int j = 0; j < FLOORS && outcome != BOUND; j++)
            refusals[j] += strstr(error.message, floors[j]) != NULL;
        memcpy(f.mutant, original, f.bytes);
    }
    printf("%lu mutants: %lu refused by the file's checks, %lu by the model's, %lu read\n", mutants,
           outcomes[REFUSED], outcomes[UNBOUND], outcomes[BOUND]);
    for (int j = 0; j < FLOORS; j++) printf("  %6lu %s\n", refusals[j], floors[j]);
    free(original);
    return check_result();
}
