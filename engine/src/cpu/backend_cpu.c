/* The CPU back end: buffers are heap memory, operators run on the thread pool and are done when they return.
 */
#include "cpu.h"

#include "../pixels.h"
#include "../status.h"

static void destroy(uocr_backend *backend) {
    cpu_backend *b = cpu_of(backend);
    uocr_memory *memory = b->memory;
    if (b->pool) uocr_pool_destroy(b->pool);
    uocr_memory_uncount(memory, UOCR_MEMORY_TRANSIENT, b->counted_pool_bytes);
    if (b->scratch) uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, b->scratch, b->scratch_bytes);
    uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, b, sizeof *b);
}

static uocr_buffer *buffer_create(uocr_backend *backend, uint32_t category, size_t bytes) {
    cpu_backend *b = cpu_of(backend);
    for (size_t i = 0; i < CPU_BUFFERS; i++) {
        uocr_buffer *buffer = &b->buffer[i];
        if (buffer->data) continue;
        buffer->data = uocr_memory_alloc(b->memory, category, bytes);
        buffer->bytes = bytes;
        buffer->category = category;
        return buffer->data ? buffer : NULL;
    }
    return NULL;
}

static void buffer_destroy(uocr_backend *backend, uocr_buffer *buffer) {
    if (!buffer) return;
    uocr_memory_free(cpu_of(backend)->memory, buffer->category, buffer->data, buffer->bytes);
    *buffer = (uocr_buffer){0};
}

static uocr_status write_buffer(uocr_backend *backend, uocr_buffer *buffer, size_t offset, const void *source,
                                size_t bytes) {
    (void)backend;
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    if (bytes) memcpy(buffer->data + offset, source, bytes);
    return UOCR_OK;
}

static uocr_status read_buffer(uocr_backend *backend, uocr_buffer *buffer, size_t offset, void *target,
                               size_t bytes) {
    (void)backend;
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    if (bytes) memcpy(target, buffer->data + offset, bytes);
    return UOCR_OK;
}

static uocr_status finish(uocr_backend *backend) {
    (void)backend; /* nothing is ever queued */
    return UOCR_OK;
}

static void bind_workspace(uocr_backend *backend, uocr_buffer *buffer, size_t bytes) {
    cpu_backend *b = cpu_of(backend);
    assert(!buffer || bytes <= buffer->bytes);
    b->workspace = buffer ? buffer->data : NULL;
    b->workspace_bytes = buffer ? bytes : 0;
}

static void watch_cancel(uocr_backend *backend, const atomic_bool *flag) {
    uocr_pool_watch(cpu_of(backend)->pool, flag);
}

/* FAST keeps K in f16; V stays f32, because rounded values are what garbles long tables of digits. */
static uocr_dtype kv_dtype(const uocr_backend *backend, bool value) {
    return backend->precision == UOCR_PRECISION_EXACT || value ? UOCR_F32 : UOCR_F16;
}

static size_t scratch_needed(const uocr_config *config) {
    size_t gemm =
        cpu_gemm_scratch() + CPU_MLP_ROWS * CPU_GEMM_COLS * sizeof(float); /* swiglu: the block of `up` */
    size_t attention = cpu_attention_scratch(config);
    /* Rows held whole: norm weights and biases, sums of experts, adapter ranks, rotary tables. */
    size_t widest = config->hidden;
    if (config->sam_width > widest) widest = config->sam_width;
    if (config->sam_neck > widest) widest = config->sam_neck;
    if (config->clip_width > widest) widest = config->clip_width;
    size_t row = 2 * widest * sizeof(float), bytes = gemm > attention ? gemm : attention;
    return cpu_round_up(row > bytes ? row : bytes, 4096);
}

uocr_status uocr_backend_cpu_create(const uocr_config *config, uint32_t threads, uint32_t precision,
                                    uint32_t simd, uocr_memory *memory, uocr_profile *profile,
                                    uocr_backend **out, uocr_error *error) {
    *out = NULL;
    cpu_backend *b = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, sizeof *b);
    if (!b)
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, sizeof *b, 0,
                         "no memory for the CPU back end (%zu bytes)", sizeof *b);
    b->memory = memory;
    b->kernels = cpu_kernels_select(simd);
    b->exact = precision == UOCR_PRECISION_EXACT;
    uocr_pixel_table(b->pixel);
    uocr_backend *base = &b->base;
    base->name = "cpu";
    base->simd = b->kernels->name;
    base->precision = precision;
    base->profile = profile;
    base->destroy = destroy;
    base->buffer_create = buffer_create;
    base->buffer_destroy = buffer_destroy;
    base->write = write_buffer;
    base->read = read_buffer;
    base->finish = finish;
    base->bind_workspace = bind_workspace;
    base->watch_cancel = watch_cancel;
    base->kv_dtype = kv_dtype;
    cpu_install_linear(base);
    cpu_install_rows(base);
    cpu_install_attention(base);
    cpu_install_attention_grid(base);
    cpu_install_vision(base);
    cpu_install_mlp(base);
    cpu_install_decoder(base);

    uocr_status status = uocr_pool_create(threads, &b->pool, error);
    if (status != UOCR_OK) {
        destroy(base);
        return status;
    }
    b->counted_pool_bytes = uocr_pool_bytes(threads);
    uocr_memory_count(memory, UOCR_MEMORY_TRANSIENT, b->counted_pool_bytes);
    b->scratch_stride = scratch_needed(config);
    b->scratch_bytes = b->scratch_stride * threads;
    b->scratch = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, b->scratch_bytes);
    if (!b->scratch) {
        size_t bytes = b->scratch_bytes;
        destroy(base);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, bytes, 0,
                         "no memory for the scratch of %u threads (%zu bytes): ask for fewer threads",
                         threads, bytes);
    }
    *out = base;
    return UOCR_OK;
}
