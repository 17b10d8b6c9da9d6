/* See model_file.h. The order of the checks is the order of docs/model-format.md, "Reading it safely": each
 * step uses only numbers that an earlier one has checked.
 *
 * Out of reach: another program that shortens the file while it is mapped makes the system raise SIGBUS at
 * the next read of a lost page. Writers of this format therefore never change a file in place; they replace
 * it by rename. */
#include "model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "model_config.h"
#include "sha256.h"
#include "status.h"

_Static_assert(sizeof(size_t) == 8, "a model of several gigabytes needs a 64-bit address space");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are used as they lie in the file");

enum {
    HEADER_BYTES = 256,
    SECTION_BYTES = 64,
    DIRECTORY_HEADER_BYTES = 32,
    ENTRY_BYTES = 128,
    SECTION_ALIGNMENT = 16384,
    PAYLOAD_ALIGNMENT = 128,
    FORMAT = 1,
    FIXED_SECTIONS = 5, /* kinds 1..5, in this order, before the payload */
};
enum { KIND_CONFIG = 1, KIND_FRONT_END, KIND_DIRECTORY, KIND_TOKENIZER, KIND_PROVENANCE, KIND_PAYLOAD = 16 };
static const uint8_t MAGIC[8] = {'U', 'O', 'C', 'R', '\r', '\n', 0x1A, '\n'};

#define FETCH "convert or download it again."
#define MAX_ELEMENTS (UINT64_C(1) << 40)

typedef struct section {
    uint32_t kind;
    uint64_t offset, bytes;
} section;

static section section_at(const uint8_t *base, uint64_t index) {
    const uint8_t *p = base + HEADER_BYTES + index * SECTION_BYTES;
    return (section){uocr_load_u32(p), uocr_load_u64(p + 8), uocr_load_u64(p + 16)};
}

static bool hash_matches(const uint8_t *bytes, uint64_t count, const uint8_t expected[UOCR_SHA256_BYTES]) {
    uint8_t digest[UOCR_SHA256_BYTES];
    uocr_sha256_of(bytes, count, digest);
    return memcmp(digest, expected, sizeof digest) == 0;
}

/* ---- header and section table ---- */

static uocr_status check_magic(const uint8_t *bytes, uint64_t count, const char *path, uocr_error *error) {
    if (count >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0) return UOCR_OK;
    if (count >= 8 && memcmp(bytes, MAGIC, 4) == 0) {
        if (uocr_load_u32(bytes + 4) == 1)
            return uocr_fail(
                error, UOCR_MODEL_FILE, 1, FORMAT,
                "The model file %s was made by another program (a 'UOCR' container of version 1); convert "
                "the original checkpoint with 'uocr convert'.",
                path);
        return uocr_fail(
            error, UOCR_MODEL_FILE, 0, 0,
            "The model file %s begins like a model file but its line ends were altered, as by a transfer "
            "in text mode; copy it again in binary mode.",
            path);
    }
    return uocr_fail(error, UOCR_MODEL_FILE, count, HEADER_BYTES,
                     "%s (%" PRIu64
                     " bytes) is not a .uocr model file; make one from a checkpoint with "
                     "'uocr convert'.",
                     path, count);
}

static uocr_status check_header(const uint8_t *bytes, uint64_t count, const char *path, uocr_error *error) {
    uocr_status status = check_magic(bytes, count, path, error);
    if (status != UOCR_OK) return status;
    if (count < HEADER_BYTES)
        return uocr_fail(error, UOCR_MODEL_FILE, count, HEADER_BYTES,
                         "The model file %s is cut short: %" PRIu64
                         " bytes, and the header alone has %d; " FETCH,
                         path, count, HEADER_BYTES);

    uint32_t version = uocr_load_u32(bytes + 8); /* before the hash: a later format may place it elsewhere */
    if (version > FORMAT)
        return uocr_fail(
            error, UOCR_MODEL_FILE, version, FORMAT,
            "The model file %s has format %u and this program reads up to format %d; update the program.",
            path, version, FORMAT);
    if (version != FORMAT || !hash_matches(bytes, 224, bytes + 224))
        return uocr_fail(error, UOCR_MODEL_FILE, 0, 0, "The header of the model file %s was altered; " FETCH,
                         path);

    uint64_t length = uocr_load_u64(bytes + 16);
    if (count != length)
        return uocr_fail(error, UOCR_MODEL_FILE, count, length,
                         "The model file %s %s: it has %" PRIu64 " bytes and its header says %" PRIu64
                         "; " FETCH,
                         path, count < length ? "is cut short" : "has bytes after its end", count, length);

    uint32_t sections = uocr_load_u32(bytes + 24), profile = uocr_load_u32(bytes + 28);
    const struct {
        const char *name;
        uint64_t value, minimum, maximum;
    } fields[] = {
        {"header bytes", uocr_load_u32(bytes + 12), HEADER_BYTES, HEADER_BYTES},
        {"section count", sections, FIXED_SECTIONS, UOCR_MOST_SECTIONS},
        {"profile", profile, 0, 3},
        {"section table offset", uocr_load_u64(bytes + 32), HEADER_BYTES, HEADER_BYTES},
        {"bytes past a whole number of 16,384-byte units", count % SECTION_ALIGNMENT, 0, 0},
        {"reserved header values", !uocr_all_zero(bytes + 40, 8) || !uocr_all_zero(bytes + 112, 112), 0, 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < fields[i].minimum || fields[i].value > fields[i].maximum)
            return uocr_fail(error, UOCR_MODEL_FILE, fields[i].value, fields[i].maximum,
                             "The model file %s has %s %" PRIu64 ", allowed are %" PRIu64 " to %" PRIu64
                             "; " FETCH,
                             path, fields[i].name, fields[i].value, fields[i].minimum, fields[i].maximum);

    uint64_t table_bytes = (uint64_t)sections * SECTION_BYTES;
    if (table_bytes > count - HEADER_BYTES)
        return uocr_fail(error, UOCR_MODEL_FILE, HEADER_BYTES + table_bytes, count,
                         "The section table of the model file %s ends at byte %" PRIu64 " of %" PRIu64
                         "; " FETCH,
                         path, HEADER_BYTES + table_bytes, count);
    if (!hash_matches(bytes + HEADER_BYTES, table_bytes, bytes + 48))
        return uocr_fail(error, UOCR_MODEL_FILE, 0, 0,
                         "The section table of the model file %s was altered; " FETCH, path);
    return UOCR_OK;
}

static uocr_status check_sections(const uint8_t *bytes, uint64_t count, const char *path, uocr_error *error) {
    const uint64_t sections = uocr_load_u32(bytes + 24);
    uint64_t free_from = HEADER_BYTES + sections * SECTION_BYTES;
    for (uint64_t i = 0; i < sections; i++) {
        const uint8_t *entry = bytes + HEADER_BYTES + i * SECTION_BYTES;
        section s = section_at(bytes, i);
        uint32_t expected = i < FIXED_SECTIONS ? (uint32_t)i + 1 : KIND_PAYLOAD;
        if (s.kind != expected)
            return uocr_fail(error, UOCR_MODEL_FILE, s.kind, expected,
                             "Section %" PRIu64 " of the model file %s has kind %u instead of %u; " FETCH, i,
                             path, s.kind, expected);
        if (s.offset % SECTION_ALIGNMENT != 0 || s.offset < free_from || s.offset > count ||
            s.bytes > count - s.offset)
            return uocr_fail(error, UOCR_MODEL_FILE, s.offset, count,
                             "Section %" PRIu64 " of the model file %s lies at byte %" PRIu64 " with %" PRIu64
                             " bytes, which does not fit the %" PRIu64
                             " bytes of the file or the sections before it; " FETCH,
                             i, path, s.offset, s.bytes, count);
        if (uocr_load_u64(entry + 24) != 0 || (s.kind != KIND_PAYLOAD && uocr_load_u32(entry + 4) != 0) ||
            (s.kind == KIND_PAYLOAD && !uocr_all_zero(entry + 32, UOCR_SHA256_BYTES)))
            return uocr_fail(
                error, UOCR_MODEL_FILE, i, 0,
                "Section %" PRIu64 " of the model file %s has a value in a reserved place; " FETCH, i, path);
        if (s.kind != KIND_PAYLOAD && !hash_matches(bytes + s.offset, s.bytes, entry + 32))
            return uocr_fail(error, UOCR_MODEL_FILE, i, 0,
                             "Section %" PRIu64 " of the model file %s was altered; " FETCH, i, path);
        free_from = s.offset + s.bytes;
    }
    return UOCR_OK;
}

/* ---- tensor directory ---- */

/* A name for messages: what is not printable ASCII becomes '?'. */
typedef struct shown_name {
    char text[80];
} shown_name;
static shown_name show(const char *name, size_t count) {
    shown_name shown = {{0}};
    for (size_t i = 0; i < count && i < sizeof shown.text - 1; i++)
        shown.text[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    return shown;
}

static uint64_t padded_product(const uint64_t shape[4], uint32_t rank) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < 4; i++) {
        if (shape[i] == 0 || (i >= rank && shape[i] != 1) || shape[i] > MAX_ELEMENTS / product) return 0;
        product *= shape[i];
    }
    return product;
}

/* Bytes that a tensor of this type must have. */
static void expected_bytes(uocr_dtype dtype, uint64_t elements, uint64_t *payload, uint64_t *scales) {
    *payload = dtype == UOCR_F32   ? elements * 4
               : dtype == UOCR_F16 ? elements * 2
               : dtype == UOCR_Q8  ? elements
                                   : elements / 2;
    *scales = dtype == UOCR_Q8 || dtype == UOCR_Q4 ? elements / UOCR_GROUP * 2 : 0;
}

/* Is [offset, offset + bytes) inside the section and aligned? */
static bool lies_inside(section s, uint64_t offset, uint64_t bytes) {
    return offset % PAYLOAD_ALIGNMENT == 0 && offset >= s.offset && offset - s.offset <= s.bytes &&
           bytes <= s.bytes - (offset - s.offset);
}

/* Compares names as bytes; a shorter name comes before a longer one that begins with it. */
static int compare_names(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static const uint8_t *entry_at(const uocr_model_file *file, uint64_t index) {
    return file->directory + index * ENTRY_BYTES;
}

static void load_shape(const uint8_t *entry, uint64_t shape[4]) {
    for (int i = 0; i < 4; i++) shape[i] = uocr_load_u64(entry + 24 + 8 * i);
}

/* An entry that has been checked. */
static void read_entry(const uocr_model_file *file, uint64_t index, uocr_file_tensor *t) {
    const uint8_t *p = entry_at(file, index);
    uint64_t scale_offset = uocr_load_u64(p + 72);
    *t = (uocr_file_tensor){
        .name = file->names + uocr_load_u32(p),
        .name_bytes = uocr_load_u32(p + 4),
        .dtype = (uocr_dtype)uocr_load_u32(p + 8),
        .rank = uocr_load_u32(p + 16),
        .payload = file->base + uocr_load_u64(p + 56),
        .payload_bytes = uocr_load_u64(p + 64),
        .scales = scale_offset == 0 ? NULL : file->base + scale_offset,
        .scale_bytes = uocr_load_u64(p + 80),
        .section = uocr_load_u32(p + 88),
        .sha256 = p + 96,
        .index = index,
    };
    load_shape(p, t->shape);
}

static uocr_status check_entry(const uocr_model_file *file, uint64_t index, uocr_error *error) {
    const uint8_t *p = entry_at(file, index);
    shown_name name = show(file->names + uocr_load_u32(p), uocr_load_u32(p + 4));
    const uint32_t sections = uocr_load_u32(file->base + 24);
    const struct {
        const char *name;
        uint32_t value, minimum, maximum;
    } fields[] = {
        {"type", uocr_load_u32(p + 8), UOCR_F32, UOCR_Q4},
        {"layout", uocr_load_u32(p + 12), 0, 0},
        {"rank", uocr_load_u32(p + 16), 1, 4},
        {"reason", uocr_load_u32(p + 20), 0, 3},
        {"section", uocr_load_u32(p + 88), FIXED_SECTIONS, sections - 1},
        {"reserved value", uocr_load_u32(p + 92), 0, 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < fields[i].minimum || fields[i].value > fields[i].maximum)
            return uocr_fail(error, UOCR_MODEL_FILE, fields[i].value, fields[i].maximum,
                             "Tensor %s of the model file %s has %s %u, allowed are %u to %u; " FETCH,
                             name.text, file->path, fields[i].name, fields[i].value, fields[i].minimum,
                             fields[i].maximum);

    const uocr_dtype dtype = (uocr_dtype)uocr_load_u32(p + 8);
    const uint32_t rank = uocr_load_u32(p + 16);
    const bool quantised = dtype == UOCR_Q8 || dtype == UOCR_Q4;
    uint64_t shape[4];
    load_shape(p, shape);
    uint64_t elements = padded_product(shape, rank);
    if (elements == 0 || (quantised && (rank < 2 || shape[rank - 1] % UOCR_GROUP != 0)))
        return uocr_fail(error, UOCR_MODEL_FILE, shape[rank - 1], quantised ? UOCR_GROUP : 0,
                         "Tensor %s of the model file %s has the shape %" PRIu64 " x %" PRIu64 " x %" PRIu64
                         " x %" PRIu64 ", which is impossible for its type and rank %u; " FETCH,
                         name.text, file->path, shape[0], shape[1], shape[2], shape[3], rank);

    uint64_t payload = uocr_load_u64(p + 56), payload_bytes = uocr_load_u64(p + 64), payload_needed;
    uint64_t scales = uocr_load_u64(p + 72), scale_bytes = uocr_load_u64(p + 80), scales_needed;
    expected_bytes(dtype, elements, &payload_needed, &scales_needed);
    if (payload_bytes != payload_needed || scale_bytes != scales_needed)
        return uocr_fail(error, UOCR_MODEL_FILE, payload_bytes, payload_needed,
                         "Tensor %s of the model file %s has %" PRIu64 " + %" PRIu64
                         " bytes and its shape needs %" PRIu64 " + %" PRIu64 "; " FETCH,
                         name.text, file->path, payload_bytes, scale_bytes, payload_needed, scales_needed);

    section s = section_at(file->base, uocr_load_u32(p + 88));
    bool scales_fit = quantised ? lies_inside(s, scales, scale_bytes) : scales == 0;
    if (!lies_inside(s, payload, payload_bytes) || !scales_fit)
        return uocr_fail(
            error, UOCR_MODEL_FILE, payload, s.offset + s.bytes,
            "Tensor %s of the model file %s lies at bytes %" PRIu64 " and %" PRIu64
            ", outside its section (%" PRIu64 " to %" PRIu64 ") or not on a multiple of %d; " FETCH,
            name.text, file->path, payload, scales, s.offset, s.offset + s.bytes, PAYLOAD_ALIGNMENT);
    return UOCR_OK;
}

static uocr_status check_name(const uocr_model_file *file, uint64_t index, uint64_t names_bytes,
                              uocr_error *error) {
    const uint8_t *p = entry_at(file, index);
    uint32_t offset = uocr_load_u32(p), bytes = uocr_load_u32(p + 4);
    if (bytes < 1 || bytes > 255 || offset > names_bytes || bytes > names_bytes - offset)
        return uocr_fail(error, UOCR_MODEL_FILE, offset, names_bytes,
                         "The name of tensor %" PRIu64
                         " in the model file %s lies at byte %u with %u bytes of %" PRIu64 "; " FETCH,
                         index, file->path, offset, bytes, names_bytes);
    if (index == 0) return UOCR_OK;
    const uint8_t *before = p - ENTRY_BYTES;
    if (compare_names(file->names + uocr_load_u32(before), uocr_load_u32(before + 4), file->names + offset,
                      bytes) >= 0)
        return uocr_fail(error, UOCR_MODEL_FILE, index, 0,
                         "Tensor %s of the model file %s is out of order or occurs twice; " FETCH,
                         show(file->names + offset, bytes).text, file->path);
    return UOCR_OK;
}

static uocr_status check_directory(uocr_model_file *file, uocr_error *error) {
    section s = section_at(file->base, KIND_DIRECTORY - 1);
    const uint8_t *p = file->base + s.offset;
    uint64_t room = s.bytes < DIRECTORY_HEADER_BYTES ? 0 : s.bytes - DIRECTORY_HEADER_BYTES;
    uint64_t entries = room == 0 ? 0 : uocr_load_u32(p);
    if (entries == 0 || entries > room / ENTRY_BYTES || uocr_load_u32(p + 4) != ENTRY_BYTES)
        return uocr_fail(error, UOCR_MODEL_FILE, entries, room / ENTRY_BYTES,
                         "The tensor directory of the model file %s has %" PRIu64 " entries in %" PRIu64
                         " bytes; " FETCH,
                         file->path, entries, s.bytes);

    uint64_t names = uocr_load_u64(p + 8), names_bytes = uocr_load_u64(p + 16);
    uint64_t entries_end = DIRECTORY_HEADER_BYTES + entries * ENTRY_BYTES;
    if (names < entries_end || names > s.bytes || names_bytes > s.bytes - names || uocr_load_u64(p + 24) != 0)
        return uocr_fail(error, UOCR_MODEL_FILE, names, s.bytes,
                         "The tensor names of the model file %s lie at byte %" PRIu64 " with %" PRIu64
                         " bytes, outside the directory's %" PRIu64 "; " FETCH,
                         file->path, names, names_bytes, s.bytes);

    file->tensor_count = entries;
    file->directory = p + DIRECTORY_HEADER_BYTES;
    file->names = (const char *)p + names;

    uocr_sha256 identity;
    uocr_sha256_begin(&identity);
    for (uint64_t i = 0; i < entries; i++) {
        uocr_status status = check_name(file, i, names_bytes, error);
        if (status == UOCR_OK) status = check_entry(file, i, error);
        if (status != UOCR_OK) return status;
        uocr_sha256_add(&identity, entry_at(file, i) + 96, UOCR_SHA256_BYTES);
    }
    uint8_t digest[UOCR_SHA256_BYTES];
    uocr_sha256_end(&identity, digest);
    if (memcmp(digest, file->model_id, sizeof digest) != 0)
        return uocr_fail(error, UOCR_MODEL_FILE, 0, 0,
                         "The tensor hashes of the model file %s do not add up to its model id; " FETCH,
                         file->path);
    return UOCR_OK;
}

/* ---- the file ---- */

/* Keeps the end of a path that is too long for a message: the file name is what people look for. */
static void remember_path(uocr_model_file *file, const char *path) {
    const size_t room = 400, length = strlen(path);
    if (length < room) snprintf(file->path, sizeof file->path, "%s", path);
    else snprintf(file->path, sizeof file->path, "...%s", path + (length - room));
}

uocr_status uocr_model_file_parse(const uint8_t *bytes, uint64_t count, const char *path,
                                  uocr_model_file *file, uocr_error *error) {
    memset(file, 0, sizeof *file);
    remember_path(file, path);
    uocr_status status = check_header(bytes, count, file->path, error);
    if (status == UOCR_OK) status = check_sections(bytes, count, file->path, error);
    if (status != UOCR_OK) return status;

    file->base = bytes;
    file->bytes = count;
    file->profile = uocr_load_u32(bytes + 28);
    file->model_id = bytes + 80;
    static const uint32_t texts[] = {KIND_FRONT_END, KIND_TOKENIZER, KIND_PROVENANCE};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        section s = section_at(bytes, texts[i] - 1);
        file->text[texts[i]].data = bytes + s.offset;
        file->text[texts[i]].bytes = s.bytes;
    }

    section config = section_at(bytes, KIND_CONFIG - 1);
    if (config.bytes != UOCR_CONFIG_BYTES)
        return uocr_fail(error, UOCR_MODEL_FILE, config.bytes, UOCR_CONFIG_BYTES,
                         "The config record of the model file %s has %" PRIu64 " bytes instead of %d; " FETCH,
                         file->path, config.bytes, UOCR_CONFIG_BYTES);
    status = uocr_config_parse(bytes + config.offset, file->path, &file->config, error);
    return status == UOCR_OK ? check_directory(file, error) : status;
}

static uocr_status system_failure(const char *path, const char *what, int code, uocr_error *error) {
    return uocr_fail(error, UOCR_MODEL_FILE, (uint64_t)code, 0, "The model file %s cannot be %s: %s.", path,
                     what, strerror(code));
}

uocr_status uocr_model_file_open(const char *path, uocr_model_file *file, uocr_error *error) {
    memset(file, 0, sizeof *file);
    remember_path(file, path);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return system_failure(file->path, "opened", errno, error);

    struct stat info;
    int code = fstat(descriptor, &info) == 0 ? 0 : errno;
    if (code == 0 && (!S_ISREG(info.st_mode) || info.st_size == 0)) {
        close(descriptor);
        return uocr_fail(error, UOCR_MODEL_FILE, 0, HEADER_BYTES,
                         S_ISREG(info.st_mode) ? "The model file %s is empty; " FETCH
                                               : "%s is not a file; give the path of a .uocr model file.",
                         file->path);
    }
    void *base = MAP_FAILED;
    if (code == 0) {
        base = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
        if (base == MAP_FAILED) code = errno;
    }
    close(descriptor); /* the mapping holds the file */
    if (code != 0) return system_failure(file->path, "read", code, error);

    uocr_status status = uocr_model_file_parse(base, (uint64_t)info.st_size, path, file, error);
    if (status != UOCR_OK) {
        munmap(base, (size_t)info.st_size);
        file->base = NULL;
    }
    return status;
}

void uocr_model_file_close(uocr_model_file *file) {
    if (file->base != NULL) munmap((void *)(uintptr_t)file->base, (size_t)file->bytes);
    memset(file, 0, sizeof *file);
}

bool uocr_model_file_find(const uocr_model_file *file, const char *name, uocr_file_tensor *tensor) {
    const size_t bytes = strlen(name);
    uint64_t low = 0, high = file->tensor_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint8_t *p = entry_at(file, middle);
        int order = compare_names(file->names + uocr_load_u32(p), uocr_load_u32(p + 4), name, bytes);
        if (order == 0) {
            read_entry(file, middle, tensor);
            return true;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

uocr_status uocr_model_file_tensor(const uocr_model_file *file, uint64_t index, uocr_file_tensor *tensor) {
    if (index >= file->tensor_count) return UOCR_INVALID_ARGUMENT;
    read_entry(file, index, tensor);
    return UOCR_OK;
}

size_t uocr_model_file_sections(const uocr_model_file *file, uint64_t *offset, size_t room) {
    size_t payload = uocr_load_u32(file->base + 24) - FIXED_SECTIONS;
    for (size_t i = 0; i < payload && i < room; i++)
        offset[i] = section_at(file->base, FIXED_SECTIONS + i).offset;
    return payload;
}

static void advise(const uocr_model_file *file, int advice) {
    /* A hint; bytes that were not mapped by this program may refuse it, which changes nothing. */
    (void)posix_madvise((void *)(uintptr_t)file->base, (size_t)file->bytes, advice);
}

uocr_status uocr_model_file_verify(const uocr_model_file *file, uocr_error *error) {
    uocr_status status = UOCR_OK;
    advise(file, POSIX_MADV_SEQUENTIAL); /* read far ahead, once through */
    for (uint64_t i = 0; i < file->tensor_count && status == UOCR_OK; i++) {
        uocr_file_tensor t;
        read_entry(file, i, &t);
        uocr_sha256 hash;
        uint8_t digest[UOCR_SHA256_BYTES];
        uocr_sha256_begin(&hash);
        uocr_sha256_add(&hash, t.payload, t.payload_bytes);
        if (t.scales != NULL) uocr_sha256_add(&hash, t.scales, t.scale_bytes);
        uocr_sha256_end(&hash, digest);
        if (memcmp(digest, t.sha256, sizeof digest) != 0)
            status = uocr_fail(error, UOCR_MODEL_FILE, i, 0,
                               "The values of tensor %s in the model file %s were altered; " FETCH,
                               show(t.name, t.name_bytes).text, file->path);
    }
    advise(file, POSIX_MADV_NORMAL);
    return status;
}
