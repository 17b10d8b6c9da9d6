/* What the files of the GPU back end share: the back end itself, dispatches in the making, work put off.
 *
 * Put off: an operator of one row whose result the next operator is sure to want becomes part of that
 * operator's kernel when it comes, and is done by itself when anything else comes. So a decoder layer takes 7
 * dispatches instead of 12:
 *   - rms_norm, then linear, route or swiglu: one kernel, which leaves the normed row behind as well;
 *   - rope_append, then attention_decode: one kernel; the rotated q is then not written back;
 *   - experts, then swiglu into the same row: one kernel for gate and up, one for down. */
#ifndef UOCR_SRC_GPU_GPU_H
#define UOCR_SRC_GPU_GPU_H

#include <assert.h>
#include <string.h>

#include "../../../metal/arguments.h"
#include "../backend.h"
#include "device.h"

enum { GPU_BUFFERS = 1024 /* alive at once */ };

struct uocr_buffer {
    gpu_memory *memory; /* NULL: this place is free */
    size_t bytes;
    uint32_t category;
};

typedef struct gpu_counts { /* of what was encoded */
    uint64_t dispatches, encoders;
    uint64_t read, written; /* bytes: every operand once a kernel, weights once for every 64 rows */
} gpu_counts;

typedef enum gpu_later { GPU_NOTHING = 0, GPU_NORM, GPU_ROTATION, GPU_EXPERTS } gpu_later;

typedef struct gpu_put_off {
    gpu_later what;
    uocr_tensor x, y, q, k, v, ids, weights;
    uocr_weight norm, gate, up, down;
    uocr_kv kv;
    size_t position, slot;
    float eps, theta;
} gpu_put_off;

typedef struct gpu_backend {
    uocr_backend base; /* first: a uocr_backend * is a gpu_backend * */
    gpu_device *device;
    uocr_memory *memory;
    const atomic_bool *cancel; /* NULL: nobody can */
    bool exact;
    uocr_buffer *workspace; /* bound by the caller */
    size_t workspace_bytes;
    uocr_buffer *results; /* what kernels tell the host, and the parts of a choice */
    float pixel[256];
    float frequency[GPU_MOST_HEAD_DIM / 2], frequency_theta; /* of rotary pairs */
    size_t frequency_dim;
    gpu_put_off later;
    gpu_counts counts;
    size_t encoded; /* dispatches since the last submit */
    bool broken;    /* a dispatch failed: all that follows fails too, until finish has told */
    uocr_buffer buffer[GPU_BUFFERS];
} gpu_backend;

/* Places in `results`, bytes. */
enum {
    GPU_RESULT_CHOICE = 0,
    GPU_RESULT_FINITE = 256,
    GPU_RESULT_BAN_COUNT = 512,
    GPU_RESULT_PARTS = 1024,
    GPU_RESULT_BANS = 4096, /* ids that are banned beyond those of an inline argument */
    GPU_MOST_BANS = (1 << 16) + 1,
    GPU_RESULT_BYTES = GPU_RESULT_BANS + GPU_MOST_BANS * sizeof(int32_t),
    GPU_MOST_LIST = GPU_MOST_INLINE / sizeof(uint32_t),
};

static inline gpu_backend *gpu_of(uocr_backend *b) { return (gpu_backend *)(void *)b; }
static inline uint32_t gpu_divide_up(size_t n, size_t by) { return (uint32_t)((n + by - 1) / by); }
static inline size_t gpu_element(uocr_dtype dtype) {
    return dtype == UOCR_F32 || dtype == UOCR_I32 ? 4 : dtype == UOCR_F16 ? 2 : 1;
}
static inline size_t gpu_piece(size_t bytes) { return (bytes + 127) / 128 * 128; }
/* Bytes of a tensor from its first to its last element. */
static inline size_t gpu_extent(uocr_tensor t) {
    return t.rows ? ((t.rows - 1) * t.stride + t.cols) * gpu_element(t.dtype) : 0;
}
static inline size_t gpu_payload_bytes(const uocr_weight *w) {
    size_t n = w->matrices * w->rows * w->cols;
    return w->dtype == UOCR_F32 ? 4 * n : w->dtype == UOCR_F16 ? 2 * n : w->dtype == UOCR_Q8 ? n : n / 2;
}
static inline size_t gpu_scale_bytes(const uocr_weight *w) {
    return w->scales ? w->matrices * w->rows * w->cols / UOCR_GROUP * 2 : 0;
}
/* Bytes of one matrix with its scales. */
static inline size_t gpu_matrix_bytes(const uocr_weight *w) {
    return (gpu_payload_bytes(w) + gpu_scale_bytes(w)) / w->matrices;
}

/* ---- dispatches in the making ---- */
gpu_dispatch gpu_kernel(const char *name, uint32_t groups, uint32_t threads); /* groups along x */
void gpu_constant(gpu_dispatch *, uint32_t index, uint32_t value);
void gpu_bytes(gpu_dispatch *, uint32_t index, const void *data, size_t bytes); /* alive until encoded */
void gpu_tensor(gpu_dispatch *, uint32_t index, uocr_tensor);
void gpu_vector(gpu_dispatch *, uint32_t index, const uocr_weight *); /* payload alone */
void gpu_weight(gpu_dispatch *, uint32_t index,
                const uocr_weight *); /* payload at index, scales at index + 1 */
void gpu_place(gpu_dispatch *, uint32_t index, uocr_buffer *, size_t offset, size_t bytes);
void gpu_same(gpu_dispatch *, uint32_t index, uint32_t as); /* an argument that this call does not use */
/* Sends it. `read` and `written`: bytes for the counters. */
uocr_status gpu_encode(gpu_backend *, const gpu_dispatch *, uint64_t read, uint64_t written);
/* The same for a product by the device's own library, where it has one. */
uocr_status gpu_encode_product(gpu_backend *, const gpu_matrix_product *, uint64_t read, uint64_t written);
uocr_status gpu_wait(gpu_backend *);
/* Work that the host will look at while what comes after it is underway: where it ends, and its results. */
uocr_status gpu_submit(gpu_backend *, uint64_t *number);
uocr_status gpu_read_after(gpu_backend *, uocr_buffer *, size_t offset, void *target, size_t bytes, uint64_t number);

/* ---- work put off ---- */
/* Does what is put off, unless it is `what` for row x: then true, and *taken is the caller's to do. */
bool gpu_take(gpu_backend *, gpu_later what, uocr_tensor x, gpu_put_off *taken, uocr_status *);
uocr_status gpu_settle(gpu_backend *);
static inline bool gpu_same_row(uocr_tensor a, uocr_tensor b) {
    return a.buffer == b.buffer && a.offset == b.offset && a.rows == 1 && b.rows == 1 && a.cols == b.cols;
}

/* ---- operators ---- */
/* Every operator: settled, not cancelled; on leaving, timed when asked for. */
uocr_status gpu_begin(gpu_backend *);
double gpu_clock(const gpu_backend *);
uocr_status gpu_end(gpu_backend *, const char *name, double begun, uint64_t bytes, double flops);

/* Room in the bound workspace. */
typedef struct gpu_room {
    uocr_buffer *buffer;
    size_t at, end;
} gpu_room;
static inline gpu_room gpu_room_begin(const gpu_backend *b) {
    return (gpu_room){b->workspace, 0, b->workspace_bytes};
}
static inline size_t gpu_room_take(gpu_room *room, size_t bytes) {
    size_t at = room->at;
    room->at += gpu_piece(bytes);
    assert(room->buffer && room->at <= room->end);
    return at;
}

/* Multiplication of many rows, shared by linear, swiglu, experts, patches and convolutions. */
typedef struct gpu_product {
    gpu_gemm_args args;
    uint32_t source;
    const uocr_weight *weight, *second, *bias; /* second: gated */
    gpu_argument x, y, list, start;            /* list, start: experts */
    uint32_t experts;                          /* 0: one matrix; rows are then of the fullest expert */
    double flops;
} gpu_product;
gpu_argument gpu_tensor_argument(uocr_tensor);
gpu_argument gpu_place_argument(uocr_buffer *, size_t offset, size_t bytes);
uocr_status gpu_multiply(gpu_backend *, const gpu_product *);
static inline uint32_t gpu_bias_type(const uocr_weight *bias) {
    return bias ? (uint32_t)bias->dtype : GPU_NO_BIAS;
}

/* The choice of a token: places in `buffer`, bytes, for its parts, its result, and bans that are already
 * there. */
typedef struct gpu_choosing {
    uocr_tensor logits;
    size_t usable;
    const int32_t *banned; /* by the host, an inline argument */
    size_t banned_count;
    int32_t forced, never; /* -1: none; never: no choice even without bans */
    uocr_buffer *buffer;
    size_t parts, choice, ban_count, bans, most_bans;
} gpu_choosing;
uocr_status gpu_choose(gpu_backend *, const gpu_choosing *);

uocr_status gpu_do_norm(gpu_backend *, const gpu_put_off *);
uocr_status gpu_do_rotation(gpu_backend *, const gpu_put_off *);
uocr_status gpu_do_experts(gpu_backend *, const gpu_put_off *);
/* Cosines and sines, or frequencies, of rotary pairs. */
const float *gpu_frequencies(gpu_backend *, size_t head_dim, float theta);

void gpu_install_linear(uocr_backend *);
void gpu_install_rows(uocr_backend *);
void gpu_install_attention(uocr_backend *);
void gpu_install_vision(uocr_backend *);
void gpu_install_mlp(uocr_backend *);
void gpu_install_decoder(uocr_backend *);
void gpu_install_ahead(uocr_backend *);

/* ---- for the floor above ---- */
/* The back end over a device, which becomes its own: destroyed with it, also when this fails. A model whose
 * shapes the kernels do not take is refused. */
uocr_status uocr_backend_gpu_create(const uocr_config *, gpu_device *, uint32_t precision, uocr_memory *,
                                    uocr_profile *, uocr_backend **, uocr_error *);
gpu_counts uocr_backend_gpu_counts(const uocr_backend *);

#endif
