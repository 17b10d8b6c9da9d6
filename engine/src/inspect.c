/* Looking inside a run: captured stages, given rows, forced tokens. See uocr_inspect.h. */
#include "uocr_inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "bytes.h"
#include "pixels.h"
#include "run.h"
#include "status.h"

/* ---- stages ---- */

enum { NOT_NUMBERED, SAM_BLOCKS, CLIP_LAYERS, LAYERS, MIXTURE_LAYERS };
static const struct {
    const char *name;
    int numbered;
} families[] = {
    {"sam/embed", NOT_NUMBERED},
    {"sam/block", SAM_BLOCKS},
    {"sam/neck", NOT_NUMBERED},
    {"sam/net_2", NOT_NUMBERED},
    {"sam/net_3", NOT_NUMBERED},
    {"clip/embed", NOT_NUMBERED},
    {"clip/pre_ln", NOT_NUMBERED},
    {"clip/block", CLIP_LAYERS},
    {"proj", NOT_NUMBERED},
    {"rows", NOT_NUMBERED},
    {"embeds", NOT_NUMBERED},
    {"layer", LAYERS},
    {"final_norm", NOT_NUMBERED},
    {"logits", NOT_NUMBERED},
    {"router_probs", MIXTURE_LAYERS},
    {"router_ids", MIXTURE_LAYERS},
    {"router_weights", MIXTURE_LAYERS},
    {"cache_k", LAYERS},
    {"cache_v", LAYERS},
};
enum { FAMILIES = sizeof families / sizeof *families, NO_FAMILY = FAMILIES };

/* One captured array. */
typedef struct capture {
    struct capture *next;
    size_t bytes; /* of this block */
    uint32_t family, number, index, rank, shape[4];
    size_t count;
    float values[];
} capture;

struct uocr_tap {
    uocr_memory *memory;
    uint64_t wanted[FAMILIES]; /* bit n: the stage with number n, bit 0 where there is none */
    capture *captures;
};

static uint32_t numbers(const uocr_config *config, uint32_t family) {
    int numbered = families[family].numbered;
    return numbered == SAM_BLOCKS     ? config->sam_blocks
           : numbered == CLIP_LAYERS  ? config->clip_layers
           : numbered == NOT_NUMBERED ? 1
                                      : config->layers;
}

/* "layer3" -> family of "layer", 3. */
static uint32_t parse_stage(const uocr_config *config, const char *stage, uint32_t *number) {
    for (uint32_t f = 0; f < FAMILIES; f++) {
        size_t length = strlen(families[f].name);
        if (strncmp(stage, families[f].name, length) != 0) {
            continue;
        }
        const char *digits = stage + length;
        *number = 0;
        if (families[f].numbered == NOT_NUMBERED) {
            if (*digits == '\0') {
                return f;
            }
            continue;
        }
        size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > 2 || digits[count] != '\0') {
            continue;
        }
        *number = (uint32_t)strtoul(digits, NULL, 10);
        bool dense = families[f].numbered == MIXTURE_LAYERS && *number < config->first_dense;
        return *number < numbers(config, f) && !dense ? f : NO_FAMILY;
    }
    return NO_FAMILY;
}

static capture *find(const uocr_tap *tap, uint32_t family, uint32_t number, uint32_t index) {
    for (capture *c = tap->captures; c; c = c->next) {
        if (c->family == family && c->number == number && c->index == index) {
            return c;
        }
    }
    return NULL;
}

static void discard(uocr_tap *tap, capture *gone) {
    capture **link = &tap->captures;
    while (*link != gone) {
        link = &(*link)->next;
    }
    *link = gone->next;
    uocr_memory_free(tap->memory, UOCR_MEMORY_TRANSIENT, gone, gone->bytes);
}

void uocr_tap_destroy(uocr_tap *tap) {
    if (!tap) {
        return;
    }
    while (tap->captures) {
        discard(tap, tap->captures);
    }
    uocr_memory_free(tap->memory, UOCR_MEMORY_TRANSIENT, tap, sizeof *tap);
}

/* Reads rows of any type as f32 to `out`. Narrow values are read into the far end of their place and widened
 * forwards. */
static uocr_status read_rows(uocr_backend *backend, uocr_tensor t, float *out) {
    size_t element = uocr_dtype_bytes(t.dtype), row_bytes = t.cols * element, count = t.rows * t.cols;
    uint8_t *narrow = (uint8_t *)out + count * (sizeof *out - element);
    size_t reads = t.stride == t.cols ? 1 : t.rows,
           bytes = t.stride == t.cols ? t.rows * row_bytes : row_bytes;
    for (size_t r = 0; r < reads; r++) {
        UOCR_TRY(
            backend->read(backend, t.buffer, t.offset + r * t.stride * element, narrow + r * bytes, bytes));
    }
    for (size_t i = 0; t.dtype != UOCR_F32 && i < count; i++) {
        out[i] = t.dtype == UOCR_F16 ? uocr_load_f16(narrow + 2 * i)
                                     : (float)(int32_t)uocr_load_u32(narrow + 4 * i);
    }
    return UOCR_OK;
}

uocr_status uocr_tap_store(uocr_tap *tap, uocr_backend *backend, const uocr_tap_value *taken) {
    uint32_t family = 0, number = taken->number == UOCR_TAP_PLAIN ? 0 : (uint32_t)taken->number;
    while (strcmp(families[family].name, taken->stage) != 0) {
        family++;
    }
    if (!(tap->wanted[family] >> number & 1)) {
        return UOCR_OK;
    }
    size_t count = taken->total * taken->value.cols;
    capture *c = find(tap, family, number, taken->index);
    if (c && c->count != count) {
        discard(tap, c);
        c = NULL;
    }
    if (!c) {
        size_t bytes = sizeof *c + count * sizeof *c->values;
        c = uocr_memory_alloc(tap->memory, UOCR_MEMORY_TRANSIENT, bytes);
        if (!c) {
            return UOCR_OUT_OF_MEMORY;
        }
        *c = (capture){.next = tap->captures,
                       .bytes = bytes,
                       .family = family,
                       .number = number,
                       .index = taken->index,
                       .count = count};
        tap->captures = c;
    }
    c->rank = taken->rank;
    memcpy(c->shape, taken->shape, sizeof c->shape);
    return read_rows(backend, taken->value, c->values + taken->first * taken->value.cols);
}

/* ---- the interface ---- */

static uocr_status missing(uocr_error *error, const char *what) {
    return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0, "%s is NULL.", what);
}

static uocr_status want(uocr_run *run, uint32_t family, uint32_t number, uocr_error *error) {
    uocr_tap *tap = run->model.tap;
    if (run->phase == UOCR_PHASE_DONE || (run->phase == UOCR_PHASE_PREFILL && run->decoding)) {
        return uocr_fail(error, UOCR_STATE, 0, 0,
                         "Stages are asked for before prefill begins or between tokens.");
    }
    if (!tap) {
        tap = uocr_memory_alloc(&run->engine->memory, UOCR_MEMORY_TRANSIENT, sizeof *tap);
        if (!tap) {
            return uocr_fail(error, UOCR_OUT_OF_MEMORY, sizeof *tap, 0, "No memory is left for captures.");
        }
        tap->memory = &run->engine->memory;
        run->model.tap = tap;
    }
    tap->wanted[family] |= UINT64_C(1) << number;
    return UOCR_OK;
}

uocr_status uocr_inspect_capture(uocr_run *run, const char *stage, uocr_error *error) {
    uint32_t number, family;
    if (!run || !stage) {
        return missing(error, run ? "stage" : "run");
    }
    family = parse_stage(run->model.config, stage, &number);
    if (family == NO_FAMILY) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, 0, 0, "This model has no stage called \"%.64s\".",
                         stage);
    }
    return want(run, family, number, error);
}

uocr_status uocr_inspect_fetch(uocr_run *run, const char *stage, uint32_t index, float *out, size_t capacity,
                               size_t *count, uint32_t *rank, uint32_t shape[4], uocr_error *error) {
    uint32_t number, family;
    if (!run || !stage || !count || !rank || !shape) {
        return missing(error, !run ? "run" : !stage ? "stage" : "count, rank or shape");
    }
    family = parse_stage(run->model.config, stage, &number);
    const capture *c =
        family == NO_FAMILY || !run->model.tap ? NULL : find(run->model.tap, family, number, index);
    if (!c) {
        return uocr_fail(error, UOCR_STATE, index, 0,
                         "Nothing was captured for stage \"%.64s\" with index %" PRIu32 " so far.", stage,
                         index);
    }
    *count = c->count;
    *rank = c->rank;
    memcpy(shape, c->shape, sizeof c->shape);
    if (out && capacity < c->count) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, capacity, c->count,
                         "Stage \"%.64s\" holds %zu values; there is room for %zu.", stage, c->count,
                         capacity);
    }
    if (out) {
        memcpy(out, c->values, c->count * sizeof *out);
    }
    return UOCR_OK;
}

uocr_status uocr_inspect_all_logits(uocr_run *run, uocr_error *error) {
    uint32_t number, family;
    if (!run) {
        return missing(error, "run");
    }
    if (run->phase > UOCR_PHASE_PREFILL) {
        return uocr_fail(error, UOCR_STATE, 0, 0,
                         "The logits of all prompt tokens are asked for before prefill.");
    }
    if (run->all_logits) {
        return UOCR_OK;
    }
    family = parse_stage(run->model.config, "logits", &number);
    UOCR_TRY(want(run, family, number, error));
    run->head.category = UOCR_MEMORY_TRANSIENT;
    uocr_arena_tensor(&run->head, UOCR_F32, UOCR_HEAD_ROWS, run->model.config->vocab_size);
    if (uocr_arena_create(&run->head, run->model.backend) != UOCR_OK) {
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, run->head.bytes, 0,
                         "No memory is left for %d rows of logits.", UOCR_HEAD_ROWS);
    }
    run->all_logits = true;
    return UOCR_OK;
}

uocr_status uocr_inspect_set_rows(uocr_run *run, const float *rows, size_t count, uocr_error *error) {
    if (!run || !rows) {
        return missing(error, run ? "rows" : "run");
    }
    size_t expected = (size_t)run->request.visual_rows * run->model.config->hidden;
    if (run->started || run->rows_given) {
        return uocr_fail(error, UOCR_STATE, 0, 0, "Visual rows are given once, before the first step.");
    }
    if (count != expected || count == 0) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, count, expected,
                         "%zu values were given; this plan has %" PRIu32 " visual rows of %" PRIu32
                         " values.",
                         count, run->request.visual_rows, run->model.config->hidden);
    }
    size_t zeros = 0;
    while (zeros < count && rows[zeros] == 0) {
        zeros++;
    }
    if (zeros == count) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, count, 0,
                         "All %zu values of the visual rows are 0: no picture gives that.", count);
    }
    uocr_status status = uocr_run_make_rows(run);
    if (status == UOCR_OK) {
        status = run->model.backend->write(run->model.backend, run->rows.buffer, run->rows.offset, rows,
                                           count * sizeof *rows);
    }
    if (status != UOCR_OK) {
        return uocr_fail(error, status, count, 0, "The visual rows could not be stored.");
    }
    run->rows_given = true;
    return UOCR_OK;
}

uocr_status uocr_inspect_force_token(uocr_run *run, int32_t id, uocr_error *error) {
    if (!run) {
        return missing(error, "run");
    }
    if (id < 0 || (uint32_t)id >= run->request.usable) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, (uint64_t)(uint32_t)id, run->request.usable - 1,
                         "Id %" PRId32 " cannot be forced; ids are 0 to %" PRIu32 ".", id,
                         run->request.usable - 1);
    }
    run->forced = id;
    return UOCR_OK;
}

uocr_status uocr_inspect_bans(uocr_run *run, int32_t *ids, size_t capacity, size_t *count,
                              uocr_error *error) {
    if (!run || !count) {
        return missing(error, run ? "count" : "run");
    }
    *count = run->sampler.guard_bans;
    if (ids && capacity < *count) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, capacity, *count,
                         "%zu ids are banned; there is room for %zu.", *count, capacity);
    }
    if (ids && *count > 0) {
        memcpy(ids, run->sampler.banned, *count * sizeof *ids);
    }
    return UOCR_OK;
}

uocr_status uocr_inspect_layout(uocr_engine *engine, const uocr_plan *plan, int32_t *out, size_t capacity,
                                size_t *count, uocr_error *error) {
    uocr_request request;
    if (!engine || !count) {
        return missing(error, engine ? "count" : "engine");
    }
    UOCR_TRY(uocr_request_check(&engine->file.config, plan, &request, error));
    *count = (size_t)request.visual_rows * 3;
    if (out && capacity < *count) {
        return uocr_fail(error, UOCR_INVALID_ARGUMENT, capacity, *count,
                         "The layout has %zu numbers; there is room for %zu.", *count, capacity);
    }
    for (uint32_t row = 0; out && row < request.visual_rows; row++) {
        uocr_layout_row at = uocr_layout_at(&request.layout, row);
        out[3 * row] = at.kind;
        out[3 * row + 1] = at.part;
        out[3 * row + 2] = at.token;
    }
    return UOCR_OK;
}

void uocr_inspect_pixel_table(float table[256]) { uocr_pixel_table(table); }
