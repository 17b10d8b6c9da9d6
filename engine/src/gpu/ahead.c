/* Tokens that the device chooses by itself (uocr_ahead_operators in backend.h).
 *
 * The device keeps the newest 1,024 ids in a ring, works out the repeat guard's bans, takes the best id that is left,
 * appends it and looks up its embedding, all from its own memory. One buffer holds choices, bans and ring. */
#include "gpu.h"

enum { MOST_ALLOWED = 1024, MOST_WINDOW = GPU_HISTORY, CHOICE_STEP = 256 };

struct uocr_ahead {
    gpu_backend *backend;
    uocr_ahead_rules rules;
    uocr_buffer *buffer;
    size_t steps;                    /* encoded so far */
    uint64_t submission[UOCR_AHEAD]; /* that each of the newest steps ends */
};

/* Places in the buffer, bytes. */
enum {
    AT_CHOICE = 0, /* UOCR_AHEAD of them */
    AT_BAN_COUNT = CHOICE_STEP * UOCR_AHEAD,
    AT_PARTS = 1024,
    AT_BANS = 4096,
    AT_HISTORY = AT_BANS + MOST_WINDOW * 4,
    BYTES = AT_HISTORY + sizeof(gpu_history),
};

/* So many bans can never leave nothing to choose. */
static bool takes(const uocr_ahead_rules *rules) {
    bool guard = rules->guard_size > 0;
    return rules->allow_count <= MOST_ALLOWED && (!guard || rules->guard_window <= MOST_WINDOW) &&
           rules->usable > (guard ? (size_t)rules->guard_window + 1 : 1);
}

static size_t bytes(void) { return uocr_memory_rounded(sizeof(uocr_ahead)) + uocr_memory_rounded(BYTES); }

static void destroy(uocr_ahead *a) {
    if (!a) return;
    gpu_backend *b = a->backend;
    b->base.buffer_destroy(&b->base, a->buffer);
    uocr_memory_free(b->memory, UOCR_MEMORY_TRANSIENT, a, sizeof *a);
}

static uocr_status create(uocr_backend *backend, const uocr_ahead_rules *rules, const int32_t *ids, size_t count,
                          uocr_ahead **out) {
    gpu_backend *b = gpu_of(backend);
    gpu_history history = {.count = (uint32_t)count};
    assert(takes(rules));
    uocr_ahead *a = uocr_memory_alloc(b->memory, UOCR_MEMORY_TRANSIENT, sizeof *a);
    *out = NULL;
    if (!a) return UOCR_OUT_OF_MEMORY;
    *a = (uocr_ahead){.backend = b, .rules = *rules};
    a->buffer = backend->buffer_create(backend, UOCR_MEMORY_TRANSIENT, BYTES);
    for (size_t i = count > GPU_HISTORY ? count - GPU_HISTORY : 0; i < count; i++)
        history.id[i % GPU_HISTORY] = ids[i];
    uocr_status status = a->buffer ? backend->write(backend, a->buffer, AT_HISTORY, &history, sizeof history)
                                   : UOCR_OUT_OF_MEMORY;
    if (status == UOCR_OK) *out = a;
    else destroy(a);
    return status;
}

static void history_argument(gpu_dispatch *d, uint32_t index, const uocr_ahead *a) {
    gpu_place(d, index, a->buffer, AT_HISTORY, sizeof(gpu_history));
}

static size_t choice_place(size_t step) { return AT_CHOICE + step % UOCR_AHEAD * CHOICE_STEP; }

static void choice_argument(gpu_dispatch *d, uint32_t index, const uocr_ahead *a, size_t step) {
    gpu_place(d, index, a->buffer, choice_place(step), sizeof(gpu_choice));
}

static uocr_status ban(uocr_ahead *a) {
    static const int32_t nothing = -1;
    gpu_guard_args args = {.size = a->rules.guard_size,
                           .cycle = a->rules.guard_cycle,
                           .window = a->rules.guard_window,
                           .allowed = a->rules.allow_count};
    gpu_dispatch d = gpu_kernel("guard_ban", 1, 32);
    history_argument(&d, 0, a);
    gpu_bytes(&d, 1, args.allowed ? a->rules.allow : &nothing,
              (args.allowed ? args.allowed : 1) * sizeof nothing);
    gpu_place(&d, 2, a->buffer, AT_BANS, MOST_WINDOW * sizeof(int32_t));
    gpu_place(&d, 3, a->buffer, AT_BAN_COUNT, sizeof(uint32_t));
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(a->backend, &d, sizeof(gpu_history), sizeof(uint32_t));
}

static uocr_status append(uocr_ahead *a) {
    gpu_dispatch d = gpu_kernel("history_append", 1, 32);
    choice_argument(&d, 0, a, a->steps);
    history_argument(&d, 1, a);
    return gpu_encode(a->backend, &d, sizeof(gpu_choice), 2 * sizeof(int32_t));
}

static uocr_status choose(uocr_ahead *a, uocr_tensor logits) {
    gpu_backend *b = a->backend;
    uocr_status status = gpu_begin(b);
    if (status == UOCR_OK && a->rules.guard_size > 0) status = ban(a);
    if (status == UOCR_OK)
        status = gpu_choose(b, &(gpu_choosing){.logits = logits,
                                               .usable = a->rules.usable,
                                               .forced = -1,
                                               .never = a->rules.never,
                                               .buffer = a->buffer,
                                               .parts = AT_PARTS,
                                               .choice = choice_place(a->steps),
                                               .ban_count = AT_BAN_COUNT,
                                               .bans = AT_BANS,
                                               .most_bans = MOST_WINDOW});
    if (status == UOCR_OK) status = append(a);
    if (status == UOCR_OK) status = gpu_submit(b, &a->submission[a->steps % UOCR_AHEAD]);
    a->steps += status == UOCR_OK;
    return status;
}

static uocr_status embed(uocr_ahead *a, const uocr_weight *table, uocr_tensor dst) {
    gpu_backend *b = a->backend;
    gpu_rows_args args = {1, (uint32_t)dst.cols, 0, (uint32_t)dst.stride, 0, 0};
    assert(a->steps > 0 && dst.rows == 1 && dst.cols == table->cols);
    gpu_dispatch d = gpu_kernel("embed_chosen", gpu_divide_up(dst.cols, 256), 256);
    uocr_status status = gpu_begin(b);
    if (status != UOCR_OK) return status;
    gpu_constant(&d, 0, table->dtype);
    gpu_constant(&d, 2, 0);
    gpu_weight(&d, 0, table);
    gpu_tensor(&d, 2, dst);
    choice_argument(&d, 3, a, a->steps - 1);
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(b, &d, gpu_matrix_bytes(table) / table->rows, dst.cols * sizeof(float));
}

static uocr_status read_choice(uocr_ahead *a, size_t step, uocr_choice *out) {
    gpu_choice chosen;
    assert(step < a->steps && step + UOCR_AHEAD >= a->steps);
    uocr_status status = gpu_read_after(a->backend, a->buffer, choice_place(step), &chosen, sizeof chosen,
                                        a->submission[step % UOCR_AHEAD]);
    if (status == UOCR_OK)
        *out = (uocr_choice){chosen.id, chosen.logprob, chosen.log_sum_exp, chosen.unguarded,
                             chosen.finite != 0};
    return status;
}

void gpu_install_ahead(uocr_backend *b) {
    static const uocr_ahead_operators operators = {takes, bytes, create, destroy, choose, embed, read_choice};
    b->ahead = &operators;
}
