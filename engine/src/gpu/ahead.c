/* See ahead.h. One buffer holds choices, bans and the ring of ids. */
#include "ahead.h"

#include "gpu.h"

struct uocr_gpu_ahead {
    gpu_backend *backend;
    uocr_memory *memory;
    uocr_gpu_guard guard;
    uocr_buffer *buffer;
    size_t steps;                       /* encoded so far */
    uint64_t submission[UOCR_GPU_AHEAD]; /* that each of the newest steps ends */
};

/* Places in the buffer, bytes. */
enum {
    AT_CHOICE = 0, /* UOCR_GPU_AHEAD of them, 256 bytes each */
    AT_BAN_COUNT = 256 * UOCR_GPU_AHEAD,
    AT_PARTS = 1024,
    AT_BANS = 4096,
    AT_HISTORY = AT_BANS + UOCR_GPU_MOST_WINDOW * 4,
    BYTES = AT_HISTORY + sizeof(gpu_history),
};

size_t uocr_gpu_ahead_bytes(void) {
    return uocr_memory_rounded(sizeof(uocr_gpu_ahead)) + uocr_memory_rounded(BYTES);
}

uocr_gpu_ahead *uocr_gpu_ahead_create(uocr_backend *backend, uocr_memory *memory, const uocr_gpu_guard *guard,
                                      const int32_t *ids, size_t count) {
    gpu_history history = {.count = (uint32_t)count};
    if (guard->window > UOCR_GPU_MOST_WINDOW || guard->allow_count > UOCR_GPU_MOST_ALLOWED) return NULL;
    uocr_gpu_ahead *a = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, sizeof *a);
    if (!a) return NULL;
    *a = (uocr_gpu_ahead){.backend = gpu_of(backend), .memory = memory, .guard = *guard};
    a->buffer = backend->buffer_create(backend, UOCR_MEMORY_TRANSIENT, BYTES);
    for (size_t i = count > GPU_HISTORY ? count - GPU_HISTORY : 0; i < count; i++)
        history.id[i % GPU_HISTORY] = ids[i];
    if (!a->buffer || backend->write(backend, a->buffer, AT_HISTORY, &history, sizeof history) != UOCR_OK) {
        uocr_gpu_ahead_destroy(a);
        return NULL;
    }
    return a;
}

void uocr_gpu_ahead_destroy(uocr_gpu_ahead *a) {
    if (!a) return;
    a->backend->base.buffer_destroy(&a->backend->base, a->buffer);
    uocr_memory_free(a->memory, UOCR_MEMORY_TRANSIENT, a, sizeof *a);
}

static void history_argument(gpu_dispatch *d, uint32_t index, const uocr_gpu_ahead *a) {
    gpu_place(d, index, a->buffer, AT_HISTORY, sizeof(gpu_history));
}

static void choice_argument(gpu_dispatch *d, uint32_t index, const uocr_gpu_ahead *a, size_t step) {
    gpu_place(d, index, a->buffer, AT_CHOICE + step % UOCR_GPU_AHEAD * 256, sizeof(gpu_choice));
}

static uocr_status ban(uocr_gpu_ahead *a) {
    static const int32_t nothing = -1;
    gpu_guard_args args = {a->guard.size, a->guard.window, a->guard.allow_count};
    gpu_dispatch d = gpu_kernel("guard_ban", 1, 32);
    history_argument(&d, 0, a);
    gpu_bytes(&d, 1, args.allowed ? a->guard.allow : &nothing,
              (args.allowed ? args.allowed : 1) * sizeof nothing);
    gpu_place(&d, 2, a->buffer, AT_BANS, UOCR_GPU_MOST_WINDOW * sizeof(int32_t));
    gpu_place(&d, 3, a->buffer, AT_BAN_COUNT, sizeof(uint32_t));
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(a->backend, &d, sizeof(gpu_history), sizeof(uint32_t));
}

static uocr_status append(uocr_gpu_ahead *a) {
    gpu_dispatch d = gpu_kernel("history_append", 1, 32);
    choice_argument(&d, 0, a, a->steps);
    history_argument(&d, 1, a);
    return gpu_encode(a->backend, &d, sizeof(gpu_choice), 2 * sizeof(int32_t));
}

uocr_status uocr_gpu_ahead_choose(uocr_gpu_ahead *a, uocr_tensor logits, size_t usable) {
    gpu_backend *b = a->backend;
    uocr_status status = gpu_begin(b);
    if (status == UOCR_OK && a->guard.size > 0) status = ban(a);
    if (status == UOCR_OK)
        status = gpu_choose(b, &(gpu_choosing){.logits = logits,
                                               .usable = usable,
                                               .banned = &a->guard.never,
                                               .banned_count = a->guard.never >= 0,
                                               .forced = -1,
                                               .buffer = a->buffer,
                                               .parts = AT_PARTS,
                                               .choice = AT_CHOICE + a->steps % UOCR_GPU_AHEAD * 256,
                                               .ban_count = AT_BAN_COUNT,
                                               .bans = AT_BANS,
                                               .most_bans = UOCR_GPU_MOST_WINDOW});
    if (status == UOCR_OK) status = append(a);
    if (status == UOCR_OK) status = gpu_submit(b, &a->submission[a->steps % UOCR_GPU_AHEAD]);
    a->steps += status == UOCR_OK;
    return status;
}

uocr_status uocr_gpu_ahead_embed(uocr_gpu_ahead *a, const uocr_weight *table, uocr_tensor dst) {
    gpu_backend *b = a->backend;
    gpu_rows_args args = {1, (uint32_t)dst.cols, 0, (uint32_t)dst.stride, 0, 0};
    assert(a->steps > 0 && dst.rows == 1 && dst.cols == table->cols);
    gpu_dispatch d = gpu_kernel("embed_chosen", gpu_divide_up(dst.cols, 256), 256);
    uocr_status status = gpu_begin(b);
    if (status != UOCR_OK) return status;
    gpu_constant(&d, 0, table->dtype);
    gpu_constant(&d, 1, 0);
    gpu_weight(&d, 0, table);
    gpu_tensor(&d, 2, dst);
    choice_argument(&d, 3, a, a->steps - 1);
    gpu_bytes(&d, 4, &args, sizeof args);
    return gpu_encode(b, &d, gpu_matrix_bytes(table) / table->rows, dst.cols * sizeof(float));
}

uocr_status uocr_gpu_ahead_read(uocr_gpu_ahead *a, size_t step, uocr_choice *out) {
    gpu_choice chosen;
    assert(step < a->steps && step + UOCR_GPU_AHEAD >= a->steps);
    size_t place = step % UOCR_GPU_AHEAD;
    uocr_status status = gpu_read_after(a->backend, a->buffer, AT_CHOICE + place * 256, &chosen, sizeof chosen,
                                        a->submission[place]);
    if (status == UOCR_OK)
        *out = (uocr_choice){chosen.id, chosen.logprob, chosen.log_sum_exp, chosen.unguarded,
                             chosen.finite != 0};
    return status;
}
