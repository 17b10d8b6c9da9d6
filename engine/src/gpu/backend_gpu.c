/* The GPU back end: memory, dispatches in the making, work put off, creation. Operators are in ops_*.c. */
#include "gpu.h"

#include "../pixels.h"

enum {
    SUBMIT_EVERY = 64
}; /* dispatches of one command buffer at most: the first run while the rest is encoded */

/* ---- dispatches in the making ---- */

gpu_dispatch gpu_kernel(const char *name, uint32_t groups, uint32_t threads) {
    return (gpu_dispatch){.kernel = name, .groups = {groups, 1, 1}, .threads = threads};
}

void gpu_constant(gpu_dispatch *d, uint32_t index, uint32_t value) {
    assert(index < GPU_MOST_CONSTANTS);
    d->constants[index] = value;
    if (d->constant_count <= index) d->constant_count = index + 1;
}

void gpu_bytes(gpu_dispatch *d, uint32_t index, const void *data, size_t bytes) {
    assert(index < GPU_MOST_ARGUMENTS && bytes <= GPU_MOST_INLINE);
    d->argument[index] = (gpu_argument){.kind = GPU_INLINE, .data = data, .bytes = bytes};
}

gpu_argument gpu_place_argument(uocr_buffer *buffer, size_t offset, size_t bytes) {
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    return (gpu_argument){.kind = GPU_BUFFER, .memory = buffer->memory, .offset = offset, .bytes = bytes};
}

gpu_argument gpu_tensor_argument(uocr_tensor t) {
    return gpu_place_argument(t.buffer, t.offset, gpu_extent(t));
}

void gpu_place(gpu_dispatch *d, uint32_t index, uocr_buffer *buffer, size_t offset, size_t bytes) {
    d->argument[index] = gpu_place_argument(buffer, offset, bytes);
}

void gpu_tensor(gpu_dispatch *d, uint32_t index, uocr_tensor t) {
    d->argument[index] = gpu_tensor_argument(t);
}

void gpu_vector(gpu_dispatch *d, uint32_t index, const uocr_weight *w) {
    d->argument[index] =
        (gpu_argument){.kind = GPU_WEIGHT, .data = w->payload, .bytes = gpu_payload_bytes(w)};
}

void gpu_weight(gpu_dispatch *d, uint32_t index, const uocr_weight *w) {
    gpu_vector(d, index, w);
    d->argument[index + 1] =
        (gpu_argument){.kind = GPU_WEIGHT, .data = w->scales, .bytes = gpu_scale_bytes(w)};
    if (!w->scales) gpu_same(d, index + 1, index);
}

void gpu_same(gpu_dispatch *d, uint32_t index, uint32_t as) { d->argument[index] = d->argument[as]; }

static uocr_status encoded(gpu_backend *b, uocr_status status, uint64_t read, uint64_t written) {
    b->counts.dispatches++;
    b->counts.encoders += b->encoded == 0;
    b->counts.read += read;
    b->counts.written += written;
    if (b->base.profile) {
        uocr_profile_add(b->base.profile, "dispatches", 0, read, 0);
        uocr_profile_add(b->base.profile, "written", 0, written, 0);
        if (b->encoded == 0) uocr_profile_add(b->base.profile, "command buffers", 0, 0, 0);
    }
    if (status == UOCR_OK && ++b->encoded == SUBMIT_EVERY) {
        b->encoded = 0;
        status = b->device->submit(b->device, NULL);
    }
    b->broken = status != UOCR_OK;
    return status;
}

uocr_status gpu_encode(gpu_backend *b, const gpu_dispatch *d, uint64_t read, uint64_t written) {
    return b->broken ? UOCR_BACKEND : encoded(b, b->device->encode(b->device, d), read, written);
}

uocr_status gpu_encode_product(gpu_backend *b, const gpu_matrix_product *p, uint64_t read, uint64_t written) {
    return b->broken ? UOCR_BACKEND : encoded(b, b->device->multiply(b->device, p), read, written);
}

uocr_status gpu_wait(gpu_backend *b) {
    uocr_status status = b->device->wait(b->device);
    b->encoded = 0;
    if (b->broken) status = UOCR_BACKEND;
    b->broken = false;
    return status;
}

uocr_status gpu_submit(gpu_backend *b, uint64_t *number) {
    uocr_status status = b->broken ? UOCR_BACKEND : gpu_settle(b);
    if (status == UOCR_OK) status = b->device->submit(b->device, number);
    b->encoded = 0;
    b->broken |= status != UOCR_OK;
    return status;
}

uocr_status gpu_read_after(gpu_backend *b, uocr_buffer *buffer, size_t offset, void *target, size_t bytes,
                           uint64_t number) {
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    if (b->broken) return UOCR_BACKEND;
    uocr_status status = b->device->read_after(b->device, buffer->memory, offset, target, bytes, number);
    b->broken = status != UOCR_OK;
    return status;
}

/* ---- work put off ---- */

uocr_status gpu_settle(gpu_backend *b) {
    gpu_put_off later = b->later;
    b->later.what = GPU_NOTHING;
    switch (later.what) {
    case GPU_NORM: return gpu_do_norm(b, &later);
    case GPU_ROTATION: return gpu_do_rotation(b, &later);
    case GPU_EXPERTS: return gpu_do_experts(b, &later);
    default: return UOCR_OK;
    }
}

static uocr_status check_cancel(const gpu_backend *b) {
    return b->cancel && atomic_load_explicit(b->cancel, memory_order_relaxed) ? UOCR_CANCELLED : UOCR_OK;
}

bool gpu_take(gpu_backend *b, gpu_later what, uocr_tensor x, gpu_put_off *taken, uocr_status *status) {
    const gpu_put_off *later = &b->later;
    uocr_tensor wanted = what == GPU_ROTATION ? later->q : what == GPU_EXPERTS ? later->x : later->y;
    if (later->what != what || !gpu_same_row(wanted, x)) {
        *status = gpu_begin(b);
        return false;
    }
    *taken = *later;
    b->later.what = GPU_NOTHING;
    *status = check_cancel(b);
    return true;
}

uocr_status gpu_begin(gpu_backend *b) {
    uocr_status status = check_cancel(b);
    return status == UOCR_OK ? gpu_settle(b) : status;
}

/* The device's own seconds where it tells them: without what the host takes to encode and to wait. */
double gpu_clock(const gpu_backend *b) {
    if (!b->base.profile || !b->base.profile->enabled || b->base.profile->counts_alone) return 0;
    return b->device->seconds ? b->device->seconds(b->device) : uocr_now();
}

/* Work that is put off is timed with the operator that takes it. */
uocr_status gpu_end(gpu_backend *b, const char *name, double begun, uint64_t bytes, double flops) {
    if (!b->base.profile || !b->base.profile->enabled) return UOCR_OK;
    bool wait = b->later.what == GPU_NOTHING && !b->base.profile->counts_alone;
    uocr_status status = wait ? gpu_wait(b) : UOCR_OK;
    uocr_profile_add(b->base.profile, name, gpu_clock(b) - begun, bytes, flops);
    return status;
}

/* ---- memory ---- */

/* The back end's own count of device memory; the budget is kept here because the heap's allocator never sees
 * it. */
static bool within_budget(const gpu_backend *b, size_t bytes) {
    uint64_t held = atomic_load(&b->memory->current_total);
    return held <= b->memory->budget && uocr_memory_rounded(bytes) <= b->memory->budget - held;
}

static uocr_buffer *buffer_create(uocr_backend *backend, uint32_t category, size_t bytes) {
    gpu_backend *b = gpu_of(backend);
    if (!within_budget(b, bytes)) return NULL;
    for (size_t i = 0; i < GPU_BUFFERS; i++) {
        uocr_buffer *buffer = &b->buffer[i];
        if (buffer->memory) continue;
        *buffer = (uocr_buffer){b->device->create(b->device, category, bytes), bytes, category};
        if (!buffer->memory) return NULL;
        uocr_memory_count(b->memory, category, uocr_memory_rounded(bytes));
        return buffer;
    }
    return NULL;
}

static void buffer_destroy(uocr_backend *backend, uocr_buffer *buffer) {
    gpu_backend *b = gpu_of(backend);
    if (!buffer) return;
    if (b->later.what != GPU_NOTHING) b->broken |= gpu_settle(b) != UOCR_OK;
    b->broken |= gpu_wait(b) != UOCR_OK;
    b->device->release(b->device, buffer->memory);
    uocr_memory_uncount(b->memory, buffer->category, uocr_memory_rounded(buffer->bytes));
    *buffer = (uocr_buffer){0};
}

static uocr_status write_buffer(uocr_backend *backend, uocr_buffer *buffer, size_t offset, const void *source,
                                size_t bytes) {
    gpu_backend *b = gpu_of(backend);
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    uocr_status status = gpu_settle(b);
    b->encoded = 0;
    return status == UOCR_OK ? b->device->write(b->device, buffer->memory, offset, source, bytes) : status;
}

static uocr_status read_buffer(uocr_backend *backend, uocr_buffer *buffer, size_t offset, void *target,
                               size_t bytes) {
    gpu_backend *b = gpu_of(backend);
    assert(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
    uocr_status status = gpu_settle(b);
    b->encoded = 0;
    return status == UOCR_OK ? b->device->read(b->device, buffer->memory, offset, target, bytes) : status;
}

static uocr_status finish(uocr_backend *backend) {
    gpu_backend *b = gpu_of(backend);
    uocr_status settled = gpu_settle(b), waited = gpu_wait(b);
    return settled != UOCR_OK ? settled : waited;
}

static void bind_workspace(uocr_backend *backend, uocr_buffer *buffer, size_t bytes) {
    gpu_backend *b = gpu_of(backend);
    assert(!buffer || bytes <= buffer->bytes);
    if (b->later.what == GPU_EXPERTS) b->broken |= gpu_settle(b) != UOCR_OK; /* it works in the old one */
    b->workspace = buffer;
    b->workspace_bytes = buffer ? bytes : 0;
}

static void watch_cancel(uocr_backend *backend, const atomic_bool *flag) { gpu_of(backend)->cancel = flag; }

/* As on the CPU: FAST keeps K in f16; V stays f32, because rounded values are what garbles long tables of
 * digits. */
static uocr_dtype kv_dtype(const uocr_backend *backend, bool value) {
    return backend->precision == UOCR_PRECISION_EXACT || value ? UOCR_F32 : UOCR_F16;
}

static const char *failure(const uocr_backend *backend) {
    gpu_device *device = gpu_of((uocr_backend *)(uintptr_t)backend)->device;
    return device->failure(device);
}

/* ---- creation ---- */

static void destroy(uocr_backend *backend) {
    gpu_backend *b = gpu_of(backend);
    gpu_device *device = b->device;
    uocr_memory *memory = b->memory;
    b->later.what = GPU_NOTHING;
    if (b->results) buffer_destroy(backend, b->results);
    device->destroy(device);
    uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, b, sizeof *b);
}

/* Limits of the kernels (metal/arguments.h). A window's relative positions and its keys share 32 KB of
 * threadgroup memory: sides of 80 tokens with heads of 64. */
static uocr_status check_shapes(const uocr_config *c, uocr_error *error) {
    enum { LARGEST_VIEW = 1280, MOST_SIDE = 80, MOST_SAM_HEAD = 64 };
    const struct {
        const char *what;
        uint32_t value, most, multiple;
    } limits[] = {
        {"the decoder's head width", c->head_dim, GPU_MOST_HEAD_DIM, 4},
        {"SAM's head width", c->sam_heads ? c->sam_width / c->sam_heads : 0, MOST_SAM_HEAD, 4},
        {"CLIP's head width", c->clip_heads ? c->clip_width / c->clip_heads : 0, GPU_MOST_HEAD_DIM, 4},
        {"the side of SAM's windows", c->sam_window, MOST_SIDE, 1},
        {"the side of a view in SAM's tokens", c->sam_patch ? LARGEST_VIEW / c->sam_patch : 0, MOST_SIDE, 1},
        {"the number of experts", c->experts, GPU_MOST_EXPERTS, 1},
        {"the number of experts a token", c->top_k, GPU_MOST_TOP_K, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].value > limits[i].most || limits[i].value % limits[i].multiple != 0)
            return uocr_fail(error, UOCR_BACKEND, limits[i].value, limits[i].most,
                             "On the GPU %s may be at most %u and a multiple of %u; this model's is %u. Use "
                             "the cpu back end.",
                             limits[i].what, limits[i].most, limits[i].multiple, limits[i].value);
    return UOCR_OK;
}

uocr_status uocr_backend_gpu_create(const uocr_config *config, gpu_device *device, uint32_t precision,
                                    uocr_memory *memory, uocr_profile *profile, uocr_backend **out,
                                    uocr_error *error) {
    *out = NULL;
    uocr_status status = check_shapes(config, error);
    if (status != UOCR_OK) {
        device->destroy(device);
        return status;
    }
    gpu_backend *b = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, sizeof *b);
    if (!b) {
        device->destroy(device);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, sizeof *b, 0,
                         "no memory for the GPU back end (%zu bytes)", sizeof *b);
    }
    uocr_backend *base = &b->base;
    b->device = device;
    b->memory = memory;
    b->exact = precision == UOCR_PRECISION_EXACT;
    uocr_pixel_table(b->pixel);
    base->name = device->name;
    base->simd = "";
    base->precision = precision;
    base->working_set = device->working_set;
    base->profile = profile;
    base->destroy = destroy;
    base->buffer_create = buffer_create;
    base->buffer_destroy = buffer_destroy;
    base->write = write_buffer;
    base->read = read_buffer;
    base->finish = finish;
    base->failure = failure;
    base->bind_workspace = bind_workspace;
    base->watch_cancel = watch_cancel;
    base->kv_dtype = kv_dtype;
    gpu_install_linear(base);
    gpu_install_rows(base);
    gpu_install_attention(base);
    gpu_install_vision(base);
    gpu_install_mlp(base);
    gpu_install_decoder(base);
    gpu_install_ahead(base);
    b->results = buffer_create(base, UOCR_MEMORY_TRANSIENT, GPU_RESULT_BYTES);
    if (!b->results) {
        destroy(base);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, GPU_RESULT_BYTES, 0,
                         "no memory on the GPU for results (%zu bytes)", (size_t)GPU_RESULT_BYTES);
    }
    *out = base;
    return UOCR_OK;
}

uocr_status uocr_backend_gpu_open(const uocr_model_file *file, uint32_t precision, uocr_memory *memory,
                                  uocr_profile *profile, uocr_backend **out, uocr_error *error) {
    gpu_device *device;
    *out = NULL;
    uocr_status status = gpu_device_open(file->base, file->bytes, &device, error);
    if (status != UOCR_OK) return status;
    uint64_t section[UOCR_MOST_SECTIONS];
    if (device->lay_out &&
        device->lay_out(device, section, uocr_model_file_sections(file, section, UOCR_MOST_SECTIONS)) != UOCR_OK) {
        status = uocr_fail(error, UOCR_BACKEND, 0, 0, "%s", device->failure(device));
        device->destroy(device);
        return status;
    }
    return uocr_backend_gpu_create(&file->config, device, precision, memory, profile, out, error);
}

gpu_counts uocr_backend_gpu_counts(const uocr_backend *backend) {
    return gpu_of((uocr_backend *)(uintptr_t)backend)->counts;
}
