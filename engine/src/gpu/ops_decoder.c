/* The choice of the next token. */
#include "gpu.h"

/* Ids that do not fit an inline argument go into device memory. */
static uocr_status send_bans(uocr_backend *backend, const int32_t *banned, size_t count) {
    gpu_backend *b = gpu_of(backend);
    uint32_t number = (uint32_t)count;
    uocr_status status = backend->write(backend, b->results, GPU_RESULT_BANS, banned, count * sizeof *banned);
    return status == UOCR_OK
               ? backend->write(backend, b->results, GPU_RESULT_BAN_COUNT, &number, sizeof number)
               : status;
}

/* Two kernels: stretches of logits, and their best together. */
uocr_status gpu_choose(gpu_backend *b, const gpu_choosing *c) {
    static const int32_t nothing = -1;
    gpu_choose_args args = {(uint32_t)c->usable, (uint32_t)c->banned_count, GPU_CHOOSE_BLOCKS, c->forced, c->never};
    gpu_dispatch d = gpu_kernel("choose_blocks", GPU_CHOOSE_BLOCKS, 256);
    gpu_tensor(&d, 0, c->logits);
    gpu_bytes(&d, 1, args.banned ? c->banned : &nothing, (args.banned ? args.banned : 1) * sizeof nothing);
    gpu_place(&d, 2, c->buffer, c->bans, c->most_bans * sizeof(int32_t));
    gpu_place(&d, 3, c->buffer, c->ban_count, sizeof(uint32_t));
    gpu_place(&d, 4, c->buffer, c->parts, GPU_CHOOSE_BLOCKS * sizeof(gpu_choose_part));
    gpu_bytes(&d, 5, &args, sizeof args);
    uocr_status status = gpu_encode(b, &d, c->usable * sizeof(float), d.argument[4].bytes);
    if (status != UOCR_OK) return status;
    gpu_dispatch m = gpu_kernel("choose_merge", 1, 32);
    gpu_tensor(&m, 0, c->logits);
    m.argument[1] = d.argument[4];
    gpu_place(&m, 2, c->buffer, c->choice, sizeof(gpu_choice));
    gpu_bytes(&m, 3, &args, sizeof args);
    return gpu_encode(b, &m, d.argument[4].bytes, sizeof(gpu_choice));
}

static uocr_status choose(uocr_backend *backend, uocr_tensor logits, size_t usable, const int32_t *banned,
                          size_t banned_count, int32_t forced, uocr_choice *out) {
    gpu_backend *b = gpu_of(backend);
    double begun = gpu_clock(b);
    gpu_choice chosen;
    size_t listed = banned_count < GPU_MOST_LIST ? banned_count : GPU_MOST_LIST, more = banned_count - listed;
    gpu_choosing choosing = {.logits = logits,
                             .usable = usable,
                             .banned = banned,
                             .banned_count = listed,
                             .forced = forced,
                             .never = -1,
                             .buffer = b->results,
                             .parts = GPU_RESULT_PARTS,
                             .choice = GPU_RESULT_CHOICE,
                             .ban_count = GPU_RESULT_BAN_COUNT,
                             .bans = GPU_RESULT_BANS,
                             .most_bans = more ? more : 1};
    assert(logits.rows == 1 && usable >= 1 && usable <= logits.cols && forced < (int32_t)logits.cols);
    assert(more <= GPU_MOST_BANS);
    uocr_status status = gpu_begin(b);
    if (status == UOCR_OK && more) status = send_bans(backend, banned + listed, more);
    if (status == UOCR_OK) status = gpu_choose(b, &choosing);
    if (status == UOCR_OK)
        status = backend->read(backend, b->results, GPU_RESULT_CHOICE, &chosen, sizeof chosen);
    if (status == UOCR_OK && more) status = send_bans(backend, banned, 0);
    if (status != UOCR_OK) return status;
    *out = (uocr_choice){chosen.id, chosen.logprob, chosen.log_sum_exp, chosen.unguarded, chosen.finite != 0};
    return gpu_end(b, "choose", begun, 0, 2.0 * (double)usable);
}

void gpu_install_decoder(uocr_backend *b) { b->choose = choose; }
