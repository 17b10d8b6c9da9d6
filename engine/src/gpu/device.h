/* The narrow waist of the GPU back end: buffers, kernels by name, dispatches in order, waiting. Everything
 * above is portable C; below lie Apple's Metal, or a CPU that runs the same kernels for the tests.
 *
 * Dispatches run in the order of their encoding, each seeing what those before it wrote. They may run any
 * time after `encode` and have run after `wait`. The host reads and writes buffers only when nothing that
 * touches them is underway: `write` and `read` wait by themselves.
 *
 * A submission that fails leaves undefined what it wrote. Whoever waits for it first is told, once; work that is
 * encoded after that starts afresh. A device does not try again by itself: half of the work may have been done.
 * The floor above repeats a whole piece of work, once (run.c).
 *
 * A device compiles kernels without fast mathematics: Inf and NaN must stay what they are. */
#ifndef UOCR_SRC_GPU_DEVICE_H
#define UOCR_SRC_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "../status.h"
#include "uocr.h"

enum {
    GPU_MOST_ARGUMENTS = 16,
    GPU_MOST_CONSTANTS = 12,
    GPU_MOST_THREADGROUP = 5,
    GPU_MOST_INLINE = 4096, /* bytes of one inline argument */
};

typedef struct gpu_device gpu_device;
typedef struct gpu_memory gpu_memory; /* a buffer */

typedef enum gpu_kind { GPU_UNUSED = 0, GPU_BUFFER, GPU_WEIGHT, GPU_INLINE } gpu_kind;

typedef struct gpu_argument { /* of buffer index i, its place in the array */
    gpu_kind kind;
    gpu_memory *memory; /* GPU_BUFFER */
    size_t offset;      /* bytes, a multiple of 4 */
    const void *data;   /* GPU_WEIGHT: in the mapped model; GPU_INLINE: copied at once */
    size_t bytes;       /* that the kernel may touch */
} gpu_argument;

typedef struct gpu_dispatch {
    const char *kernel;
    uint32_t constants[GPU_MOST_CONSTANTS]; /* function constant i; all of the kernel's file, used or not */
    uint32_t constant_count;
    gpu_argument argument[GPU_MOST_ARGUMENTS];
    uint32_t threadgroup[GPU_MOST_THREADGROUP]; /* bytes of threadgroup argument i, a multiple of 16 */
    uint32_t groups[3], threads;                /* threads: of a threadgroup, a multiple of 32 */
} gpu_dispatch;

/* y (+)= x W^T: x [rows, depth] and y [rows, cols] of floats, W [cols, depth] of halves without gaps. */
typedef struct gpu_matrix_product {
    gpu_argument x, w, y;
    uint32_t rows, cols, depth;
    uint32_t x_stride, y_stride; /* floats from row to row */
    uint32_t accumulate;         /* 1: onto y */
} gpu_matrix_product;

struct gpu_device {
    const char *name;              /* "metal", "host" */
    uint64_t working_set;          /* bytes that it can hold at once, 0: unknown */
    void (*destroy)(gpu_device *); /* every buffer has been destroyed */

    /* The mapped model's layers begin at these bytes of it, ascending; no tensor crosses one. Called once, before
     * any weight is used; NULL: the device wants no such thing. */
    uocr_status (*lay_out)(gpu_device *, const uint64_t *section, size_t count);

    /* Zeroed, `category` of memory.h; NULL: out of memory. */
    gpu_memory *(*create)(gpu_device *, uint32_t category, size_t bytes);
    void (*release)(gpu_device *, gpu_memory *);
    uocr_status (*write)(gpu_device *, gpu_memory *, size_t offset, const void *source, size_t bytes);
    uocr_status (*read)(gpu_device *, gpu_memory *, size_t offset, void *target, size_t bytes);

    /* Copies the description; the kernel is looked up and specialised at its first use. UOCR_BACKEND: no such
     * kernel, or a shape beyond the device; `failure` says which. */
    uocr_status (*encode)(gpu_device *, const gpu_dispatch *);
    /* What is encoded starts to run. *number (NULL: nobody asks) is of this submission, 1, 2, ...; where nothing is
     * encoded, of the newest one. */
    uocr_status (*submit)(gpu_device *, uint64_t *number);
    uocr_status (*wait)(gpu_device *); /* submits, waits for all; an error of any of them */
    /* Waits for submission `number` and those before it alone, then reads. Later ones stay underway; the caller sees
     * to it that they do not write these bytes. */
    uocr_status (*read_after)(gpu_device *, gpu_memory *, size_t offset, void *target, size_t bytes, uint64_t number);
    const char *(*failure)(gpu_device *); /* one sentence on the last error, "" for none */
    /* That the device itself was at work, of all that has been waited for; NULL: it cannot tell. */
    double (*seconds)(gpu_device *);
    /* Encodes a product by the maker's own library; NULL: there is none, or nobody asked for it. */
    uocr_status (*multiply)(gpu_device *, const gpu_matrix_product *);
};

/* Exactly one device is linked in. The mapped model [base, base + bytes) is used without a copy; NULL: none
 * yet (tests). */
uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **, uocr_error *);

#endif
