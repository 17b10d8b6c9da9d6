/* The GPU back end over CUDA, or over the device that only records which kernels are wanted.
 *
 *   run_cuda table fast|exact FAMILY   operators of one family against float64 references
 *   run_cuda speed                     GEMVs against the copy rate, the GEMM, attention
 *
 * Speed is measured on weights that change with every launch, so that they come from memory and from no cache. */
#include "gpu_table.h"

#include "device_cuda.h"

enum { MODEL_BYTES = 1 << 30, WARM = 8, TIMES = 200, MOST_WEIGHTS = 256 };

typedef struct bench {
    uocr_backend *backend;
    gpu_device *device;
    const uint8_t *model;
    double copy_rate;
    bool failed;
} bench;

static int open_backend(const uint8_t *model, size_t bytes, bool exact, uocr_memory *memory, gpu_device **device,
                        uocr_backend **backend) {
    static uocr_profile profile;
    uocr_config config = gpu_table_config();
    uocr_error error = {.size = sizeof error};
    if (gpu_device_open(model, bytes, device, &error) == UOCR_OK &&
        uocr_backend_gpu_create(&config, *device, exact ? UOCR_PRECISION_EXACT : UOCR_PRECISION_FAST, memory,
                                &profile, backend, &error) == UOCR_OK)
        return 1;
    printf("FAIL %s\n", error.message);
    return 0;
}

static int table(bool exact, const char *family) {
    uocr_memory memory = {.budget = (uint64_t)8 << 30};
    gpu_device *device;
    ops o = {.verify = true, .exact = true};
    if (!open_backend(NULL, 0, exact, &memory, &device, &o.backend)) return 1;
    if (strcmp(device->name, "record") == 0) o.verify = false; /* no references where nothing is computed */
    gpu_table_run(&o, exact, family);
    if (o.failures) printf("last failure of the device: %s\n", device->failure(device));
    printf("%s %s: %u checks, %u failures, largest error %.2f of its bound (%s)\n", exact ? "exact" : "fast", family,
           o.checks, o.failures, o.worst, o.worst_name);
    o.backend->destroy(o.backend);
    return o.failures ? 1 : 0;
}

/* ---- speed ---- */

/* Weight `turn` of as many as fit the model; returns how many there are. */
static size_t weight_at(const bench *b, uocr_dtype dtype, size_t rows, size_t cols, size_t turn, uocr_weight *w) {
    *w = (uocr_weight){dtype, b->model, dtype >= UOCR_Q8 ? b->model : NULL, rows, cols, 1};
    size_t payload = (gpu_payload_bytes(w) + 127) / 128 * 128, all = payload + (gpu_scale_bytes(w) + 127) / 128 * 128;
    size_t count = MODEL_BYTES / all < MOST_WEIGHTS ? MODEL_BYTES / all : MOST_WEIGHTS;
    w->payload = b->model + turn % count * all;
    if (w->scales) w->scales = w->payload + payload;
    return count;
}

static uocr_tensor tensor(bench *b, uocr_dtype dtype, size_t rows, size_t cols) {
    size_t bytes = rows * cols * gpu_element(dtype);
    return (uocr_tensor){b->backend->buffer_create(b->backend, UOCR_MEMORY_DECODER_SCRATCH, bytes), 0, dtype, rows,
                         cols, cols};
}

/* Seconds of the device for one of TIMES launches of `launch`, after some that warm up. */
static double seconds_of(bench *b, uocr_status (*launch)(bench *, const void *, size_t), const void *what) {
    uocr_status status = UOCR_OK;
    double before = 0;
    for (size_t i = 0; i < WARM + TIMES && status == UOCR_OK; i++) {
        if (i == WARM) {
            status = b->backend->finish(b->backend);
            before = b->device->seconds ? b->device->seconds(b->device) : 0;
        }
        if (status == UOCR_OK) status = launch(b, what, i);
    }
    if (status == UOCR_OK) status = b->backend->finish(b->backend);
    if (status != UOCR_OK) printf("FAIL %s\n", b->device->failure(b->device)), b->failed = true;
    return (b->device->seconds ? b->device->seconds(b->device) - before : 1) / TIMES;
}

typedef struct linear_case {
    const char *name;
    uocr_dtype dtype;
    size_t rows, out, in, parts;
    uocr_tensor x, y[GPU_PARTS];
} linear_case;

static uocr_status launch_linear(bench *b, const void *what, size_t turn) {
    const linear_case *c = what;
    uocr_weight w[GPU_PARTS];
    uocr_linear_part part[GPU_PARTS] = {{0}};
    for (size_t p = 0; p < c->parts; p++) {
        weight_at(b, c->dtype, c->out, c->in, turn * c->parts + p, &w[p]);
        part[p] = (uocr_linear_part){.weight = &w[p], .y = c->y[p]};
    }
    return b->backend->linear(b->backend, c->x, part, c->parts);
}

static void measure_linear(bench *b, linear_case c) {
    uocr_weight w;
    size_t count = weight_at(b, c.dtype, c.out, c.in, 0, &w);
    c.x = tensor(b, UOCR_F32, c.rows, c.in);
    for (size_t p = 0; p < c.parts; p++) c.y[p] = tensor(b, UOCR_F32, c.rows, c.out);
    double seconds = seconds_of(b, launch_linear, &c);
    size_t one = gpu_payload_bytes(&w) + gpu_scale_bytes(&w) + 4 * c.out;
    double bytes = (double)(c.parts * one + 4 * c.in);
    double flops = 2.0 * (double)(c.parts * c.rows * c.out * c.in);
    printf("%s %s %zu x %zu x %zu", c.name, dtype_name(c.dtype), c.rows, c.parts * c.out, c.in);
    if (c.rows == 1)
        printf(": %.1f us, %.0f GB/s, %.0f %% of the copy rate (%zu weights take turns)\n", seconds * 1e6,
               bytes / seconds / 1e9, 100 * bytes / seconds / b->copy_rate, count);
    else printf(": %.0f us, %.1f TFLOP/s\n", seconds * 1e6, flops / seconds / 1e12);
    b->backend->buffer_destroy(b->backend, c.x.buffer);
    for (size_t p = 0; p < c.parts; p++) b->backend->buffer_destroy(b->backend, c.y[p].buffer);
}

typedef struct attend_case {
    uocr_tensor q, y;
    uocr_kv kv;
} attend_case;

static uocr_status launch_decode(bench *b, const void *what, size_t turn) {
    const attend_case *c = what;
    (void)turn;
    return b->backend->attention_decode(b->backend, c->q, &c->kv, c->kv.slots, c->y);
}

static uocr_status launch_prefill(bench *b, const void *what, size_t turn) {
    const attend_case *c = what;
    (void)turn;
    return b->backend->attention_prefill(b->backend, c->q, &c->kv, 0, c->y);
}

static void measure_attention(bench *b, size_t rows, size_t slots) {
    enum { HEADS = 10, DIM = 128 };
    attend_case c = {.q = tensor(b, UOCR_F32, rows, HEADS * DIM), .y = tensor(b, UOCR_F32, rows, HEADS * DIM)};
    size_t room = b->backend->attention_workspace(b->backend, rows, slots, HEADS, DIM);
    uocr_buffer *workspace = b->backend->buffer_create(b->backend, UOCR_MEMORY_DECODER_SCRATCH, room ? room : 16);
    c.kv = (uocr_kv){tensor(b, UOCR_F16, HEADS * slots, DIM), tensor(b, UOCR_F32, HEADS * slots, DIM), HEADS, slots,
                     DIM};
    b->backend->bind_workspace(b->backend, workspace, room ? room : 16);
    double seconds = seconds_of(b, rows == 1 ? launch_decode : launch_prefill, &c);
    printf("attention of %zu rows over %zu keys, 10 heads of 128: %.1f us\n", rows, slots, seconds * 1e6);
    b->backend->bind_workspace(b->backend, NULL, 0);
    uocr_buffer *buffers[] = {c.q.buffer, c.y.buffer, workspace, c.kv.k.buffer, c.kv.v.buffer};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) b->backend->buffer_destroy(b->backend, buffers[i]);
}

static int speed(void) {
    static const linear_case cases[] = {
        {.name = "gemv", .dtype = UOCR_Q4, .rows = 1, .out = 32768, .in = 6848, .parts = 1},
        {.name = "gemv", .dtype = UOCR_Q8, .rows = 1, .out = 32768, .in = 6848, .parts = 1},
        {.name = "gemv", .dtype = UOCR_F16, .rows = 1, .out = 32768, .in = 6848, .parts = 1},
        {.name = "gemv, head", .dtype = UOCR_Q4, .rows = 1, .out = 129280, .in = 1280, .parts = 1},
        {.name = "gemv, dense down", .dtype = UOCR_Q4, .rows = 1, .out = 1280, .in = 6848, .parts = 1},
        {.name = "gemv, dense up", .dtype = UOCR_Q4, .rows = 1, .out = 6848, .in = 1280, .parts = 1},
        {.name = "gemv, q k v", .dtype = UOCR_Q8, .rows = 1, .out = 1280, .in = 1280, .parts = 3},
        {.name = "gemv, o", .dtype = UOCR_Q8, .rows = 1, .out = 1280, .in = 1280, .parts = 1},
        {.name = "gemv, o", .dtype = UOCR_F16, .rows = 1, .out = 1280, .in = 1280, .parts = 1},
        {.name = "gemm", .dtype = UOCR_F16, .rows = 1024, .out = 1280, .in = 6848, .parts = 1},
        {.name = "gemm", .dtype = UOCR_Q8, .rows = 1024, .out = 1280, .in = 6848, .parts = 1},
        {.name = "gemm", .dtype = UOCR_Q4, .rows = 1024, .out = 1280, .in = 6848, .parts = 1},
        {.name = "gemm, SAM's qkv", .dtype = UOCR_Q4, .rows = 4096, .out = 2304, .in = 768, .parts = 1},
    };
    uocr_memory memory = {.budget = (uint64_t)8 << 30};
    uint8_t *model = malloc(MODEL_BYTES);
    bench b = {.model = model};
    if (!model) return 2;
    uint64_t random = 1;
    for (size_t i = 0; i < MODEL_BYTES; i += 8) { /* scales below 2: no exponent is that of Inf */
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t bits = random & UINT64_C(0x3f3f3f3f3f3f3f3f);
        memcpy(model + i, &bits, sizeof bits);
    }
    if (!open_backend(model, MODEL_BYTES, false, &memory, &b.device, &b.backend)) return 1;
    b.copy_rate = gpu_cuda_copy_rate(b.device, MODEL_BYTES);
    printf("%s; a copy moves %.0f GB/s, read and written together\n", gpu_cuda_name(b.device), b.copy_rate / 1e9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) measure_linear(&b, cases[i]);
    measure_attention(&b, 1, 1153);
    measure_attention(&b, 1, 4096);
    measure_attention(&b, 320, 1113);
    b.backend->destroy(b.backend);
    free(model);
    return b.failed;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (count == 2 && strcmp(arguments[1], "speed") == 0) return speed();
    if (count == 4 && strcmp(arguments[1], "table") == 0)
        return table(strcmp(arguments[2], "exact") == 0, arguments[3]);
    printf("usage: run_cuda table fast|exact FAMILY, or run_cuda speed\n");
    return 2;
}
