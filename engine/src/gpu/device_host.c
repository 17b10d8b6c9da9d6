/* The host device: runs the kernels on this machine's CPU, from a library that host/kernel_library.py made.
 * For tests only.
 *
 * Dispatches wait in a queue until `wait`, so that work which is read too early shows as wrong numbers. The
 * library's path is in the environment: UOCR_HOST_KERNELS; UOCR_HOST_ORDER (0 forward, 1 reverse, 2 shuffled)
 * says in which order lanes run, UOCR_HOST_WORKERS how many threads work. */
#include "device_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { QUEUE = 4096, FAILURE = 4096, PAGE = 4096, GUARD = 1 << 16, ALIGNMENT = 128, PADDING = 256 };

struct gpu_memory {
    uint8_t *data;
    size_t bytes;
    uint8_t *base; /* of the mapping, guards included */
    size_t mapped;
};

typedef struct queued {
    gpu_dispatch dispatch;
    uint64_t submission;
    void *copies[GPU_MOST_ARGUMENTS]; /* of inline arguments */
} queued;

typedef struct host_device {
    gpu_device base; /* first */
    void *library;
    const char *(*launch)(const msl_request *, msl_counts *);
    int (*has_kernel)(const char *);
    uint32_t order, workers;
    queued *queue;
    size_t first, count; /* next to run, end of the queue */
    uint64_t submissions; /* so far; what is encoded now belongs to the next */
    gpu_host_observer observe;
    void *observer;
    char failure[FAILURE];
} host_device;

static host_device *host_of(gpu_device *device) { return (host_device *)(void *)device; }

static uocr_status failed(host_device *h, const char *why) {
    snprintf(h->failure, sizeof h->failure, "%s", why);
    return UOCR_BACKEND;
}

/* Between pages that nobody may touch, its end against the second: a kernel that leaves a buffer faults, and
 * never lands in another one. */
static gpu_memory *create(gpu_device *device, uint32_t category, size_t bytes) {
    (void)device, (void)category;
    gpu_memory *memory = calloc(1, sizeof *memory);
    size_t inside = (bytes + PAGE - 1) / PAGE * PAGE + (bytes == 0) * PAGE, all = inside + 2 * GUARD;
    if (!memory) return NULL;
    uint8_t *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED || mprotect(base + GUARD, inside, PROT_READ | PROT_WRITE) != 0) {
        if (base != MAP_FAILED) munmap(base, all);
        free(memory);
        return NULL;
    }
    *memory = (gpu_memory){base + GUARD + (inside - bytes) / ALIGNMENT * ALIGNMENT, bytes, base, all};
    return memory;
}

static void release(gpu_device *device, gpu_memory *memory) {
    (void)device;
    munmap(memory->base, memory->mapped);
    free(memory);
}

static void drop(queued *q) {
    for (size_t a = 0; a < GPU_MOST_ARGUMENTS; a++) free(q->copies[a]);
}

static void drop_queue(host_device *h) {
    while (h->first < h->count) drop(&h->queue[h->first++]);
    h->first = h->count = 0;
}

static uocr_status run_one(host_device *h, const queued *q) {
    const gpu_dispatch *d = &q->dispatch;
    msl_request request = {.kernel = d->kernel,
                           .constants = d->constants,
                           .constant_count = d->constant_count,
                           .groups = {d->groups[0], d->groups[1], d->groups[2]},
                           .threads = {d->threads, 1, 1},
                           .order = h->order,
                           .workers = h->workers};
    msl_counts counts;
    for (size_t i = 0; i < GPU_MOST_ARGUMENTS; i++) {
        const gpu_argument *a = &d->argument[i];
        void *pointer = a->kind == GPU_BUFFER   ? a->memory->data + a->offset
                        : a->kind == GPU_WEIGHT ? (void *)(uintptr_t)a->data
                                                : q->copies[i];
        if (a->kind != GPU_UNUSED) request.buffer[i] = (msl_buffer){pointer, a->bytes};
        if (a->kind == GPU_BUFFER &&
            (a->offset > a->memory->bytes || a->bytes > a->memory->bytes - a->offset)) {
            snprintf(h->failure, sizeof h->failure, "%s: buffer(%zu) ends past its memory", d->kernel, i);
            return UOCR_BACKEND;
        }
    }
    for (size_t i = 0; i < GPU_MOST_THREADGROUP; i++) request.threadgroup[i] = d->threadgroup[i];
    const char *error = h->launch(&request, &counts);
    if (h->observe) h->observe(h->observer, d, &counts);
    return error ? failed(h, error) : UOCR_OK;
}

/* Nothing runs before somebody waits for it. A failure takes all that is queued with it. */
static uocr_status run_through(host_device *h, uint64_t submission) {
    uocr_status status = UOCR_OK;
    while (h->first < h->count && h->queue[h->first].submission <= submission && status == UOCR_OK) {
        status = run_one(h, &h->queue[h->first]);
        drop(&h->queue[h->first++]);
    }
    if (status != UOCR_OK || h->first == h->count) drop_queue(h);
    return status;
}

static uocr_status submit(gpu_device *device, uint64_t *number) {
    host_device *h = host_of(device);
    h->submissions += h->count > h->first && h->queue[h->count - 1].submission > h->submissions;
    if (number) *number = h->submissions;
    return UOCR_OK;
}

static uocr_status wait_for_all(gpu_device *device) {
    submit(device, NULL);
    return run_through(host_of(device), UINT64_MAX);
}

static uocr_status encode(gpu_device *device, const gpu_dispatch *dispatch) {
    host_device *h = host_of(device);
    if (!h->has_kernel(dispatch->kernel)) {
        snprintf(h->failure, sizeof h->failure, "the library has no kernel %s", dispatch->kernel);
        return UOCR_BACKEND;
    }
    if (h->count == QUEUE) {
        uocr_status status = wait_for_all(device);
        if (status != UOCR_OK) return status;
    }
    queued *q = &h->queue[h->count];
    *q = (queued){.dispatch = *dispatch, .submission = h->submissions + 1};
    for (size_t i = 0; i < GPU_MOST_ARGUMENTS; i++) {
        const gpu_argument *a = &dispatch->argument[i];
        if (a->kind != GPU_INLINE) continue;
        if (a->bytes > GPU_MOST_INLINE || posix_memalign(&q->copies[i], ALIGNMENT, a->bytes + PADDING) != 0) {
            drop(q);
            return failed(h, "an inline argument is too long");
        }
        memcpy(q->copies[i], a->data, a->bytes);
    }
    h->count++;
    return UOCR_OK;
}

static uocr_status write_memory(gpu_device *device, gpu_memory *memory, size_t offset, const void *source,
                                size_t bytes) {
    uocr_status status = wait_for_all(device);
    if (bytes) memcpy(memory->data + offset, source, bytes);
    return status;
}

static uocr_status read_memory(gpu_device *device, gpu_memory *memory, size_t offset, void *target,
                               size_t bytes) {
    uocr_status status = wait_for_all(device);
    if (bytes) memcpy(target, memory->data + offset, bytes);
    return status;
}

static uocr_status read_after(gpu_device *device, gpu_memory *memory, size_t offset, void *target, size_t bytes,
                              uint64_t number) {
    uocr_status status = run_through(host_of(device), number);
    if (bytes) memcpy(target, memory->data + offset, bytes);
    return status;
}

static const char *failure(gpu_device *device) { return host_of(device)->failure; }

static void destroy(gpu_device *device) {
    host_device *h = host_of(device);
    if (h->queue) drop_queue(h);
    free(h->queue);
    free(h); /* the library stays: its threads may still be leaving */
}

void gpu_host_observe(gpu_device *device, gpu_host_observer observe, void *observer) {
    host_of(device)->observe = observe;
    host_of(device)->observer = observer;
}

void gpu_host_order(gpu_device *device, uint32_t order) { host_of(device)->order = order; }

int gpu_host_checks(gpu_device *device) {
    int (*checks)(void);
    *(void **)&checks = dlsym(host_of(device)->library, "msl_checks");
    return checks();
}

static uint32_t number_of(const char *variable, uint32_t otherwise) {
    const char *text = getenv(variable);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    (void)base, (void)bytes; /* a pointer into the mapping is good as it is */
    const char *path = getenv("UOCR_HOST_KERNELS");
    *out = NULL;
    if (!path) return uocr_fail(error, UOCR_BACKEND, 0, 0, "UOCR_HOST_KERNELS names no library of kernels.");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return uocr_fail(error, UOCR_BACKEND, 0, 0, "The kernels cannot be loaded: %s.", dlerror());
    host_device *h = calloc(1, sizeof *h);
    queued *queue = malloc(QUEUE * sizeof *queue);
    if (!h || !queue) {
        free(h);
        free(queue);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, QUEUE * sizeof *queue, 0,
                         "No memory for the host device.");
    }
    h->library = library;
    *(void **)&h->launch = dlsym(library, "msl_launch");
    *(void **)&h->has_kernel = dlsym(library, "msl_has_kernel");
    h->queue = queue;
    h->order = number_of("UOCR_HOST_ORDER", MSL_FORWARD);
    h->workers = number_of("UOCR_HOST_WORKERS", (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
    h->base = (gpu_device){.name = "host",
                           .destroy = destroy,
                           .create = create,
                           .release = release,
                           .write = write_memory,
                           .read = read_memory,
                           .encode = encode,
                           .submit = submit,
                           .wait = wait_for_all,
                           .read_after = read_after,
                           .failure = failure};
    if (!h->launch || !h->has_kernel) {
        destroy(&h->base);
        return uocr_fail(error, UOCR_BACKEND, 0, 0, "%s is not a library of kernels.", path);
    }
    *out = &h->base;
    return UOCR_OK;
}
