/* Memory of one category, laid out before it exists.
 *
 * A layout function hands out tensors from an arena. Called with an arena that has no buffer it measures;
 * called again, after the buffer of that size was made, it binds. So what the estimate promises and what a
 * run allocates come from the same lines of code. */
#ifndef UOCR_SRC_ARENA_H
#define UOCR_SRC_ARENA_H

#include "backend.h"

enum { UOCR_ARENA_ALIGN = 128 };

typedef struct uocr_arena {
    uint32_t category;
    uocr_buffer *buffer; /* NULL while measuring */
    size_t used;         /* bytes handed out */
    size_t bytes;        /* of the buffer */
} uocr_arena;

static inline size_t uocr_dtype_bytes(uocr_dtype dtype) {
    return dtype == UOCR_F32 || dtype == UOCR_I32 ? 4 : dtype == UOCR_F16 ? 2 : 1;
}

static inline uocr_tensor uocr_arena_tensor(uocr_arena *arena, uocr_dtype dtype, size_t rows, size_t cols) {
    uocr_tensor tensor = {arena->buffer, arena->used, dtype, rows, cols, cols};
    size_t bytes = rows * cols * uocr_dtype_bytes(dtype);
    arena->used += (bytes + UOCR_ARENA_ALIGN - 1) / UOCR_ARENA_ALIGN * UOCR_ARENA_ALIGN;
    return tensor;
}

/* Bytes that operators use between their arguments; bound whole with bind_workspace. */
static inline void uocr_arena_reserve(uocr_arena *arena, size_t bytes) {
    arena->used = arena->used > bytes ? arena->used : bytes;
}

static inline uocr_status uocr_arena_create(uocr_arena *arena, uocr_backend *backend) {
    arena->bytes = arena->used;
    arena->used = 0;
    if (arena->bytes > 0) {
        arena->buffer = backend->buffer_create(backend, arena->category, arena->bytes);
    }
    return arena->bytes == 0 || arena->buffer ? UOCR_OK : UOCR_OUT_OF_MEMORY;
}

static inline void uocr_arena_destroy(uocr_arena *arena, uocr_backend *backend) {
    if (arena->buffer) {
        backend->buffer_destroy(backend, arena->buffer);
    }
    *arena = (uocr_arena){.category = arena->category};
}

#endif
