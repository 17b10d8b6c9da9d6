// The waist of the GPU back end over CUDA: for tests, never part of the product. Kernels were compiled beforehand,
// once for each set of function constants that the tests ask for.
//
// Dispatches are launches on one stream, so they run in order. What the host writes is gathered and sent before the
// next launch; weights outside the mapped model are copied for each launch that uses them.
#include "msl.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "device_cuda.h"
}

struct gpu_memory {
    uint8_t *data;
    size_t bytes;
    std::vector<uint8_t> pending; // written by the host from `pending_at` on, not yet sent
    size_t pending_at;
};

namespace {

struct submission {
    uint64_t number;
    cudaEvent_t begun, ended;
};

struct cuda_device {
    gpu_device base; // first
    cudaStream_t stream;
    uint8_t *model; // device copy of [host, host + bytes)
    const uint8_t *host;
    size_t bytes;
    std::vector<gpu_memory *> written; // with something pending
    std::vector<submission> underway;
    cudaEvent_t begun; // of what is encoded and not submitted, null: nothing
    uint64_t submissions;
    double seconds;
    cudaError_t lost; // the first error: CUDA keeps failing after a kernel did
    char name[256], failure[512];
};

cuda_device *device_of(gpu_device *device) { return reinterpret_cast<cuda_device *>(device); }

uocr_status told(cuda_device *d, cudaError_t error, const char *what) {
    if (error == cudaSuccess) return UOCR_OK;
    snprintf(d->failure, sizeof d->failure, "%s: %s", what, cudaGetErrorString(error));
    d->lost = error;
    return UOCR_BACKEND;
}

// What the host wrote goes to the device, in order with the launches.
uocr_status send(cuda_device *d) {
    uocr_status status = UOCR_OK;
    for (gpu_memory *m : d->written) {
        if (status == UOCR_OK)
            status = told(d, cudaMemcpyAsync(m->data + m->pending_at, m->pending.data(), m->pending.size(),
                                             cudaMemcpyHostToDevice, d->stream), "a write");
        m->pending.clear();
    }
    d->written.clear();
    return status;
}

uocr_status submit(gpu_device *device, uint64_t *number) {
    cuda_device *d = device_of(device);
    uocr_status status = UOCR_OK;
    if (d->begun) {
        submission s = {++d->submissions, d->begun, nullptr};
        d->begun = nullptr;
        status = told(d, cudaEventCreate(&s.ended), "an event");
        if (status == UOCR_OK) status = told(d, cudaEventRecord(s.ended, d->stream), "an event");
        d->underway.push_back(s);
    }
    if (number) *number = d->submissions;
    return status;
}

uocr_status wait_through(cuda_device *d, uint64_t number) {
    uocr_status status = send(d);
    size_t done = 0;
    for (; done < d->underway.size() && d->underway[done].number <= number; done++) {
        submission &s = d->underway[done];
        float milliseconds = 0;
        uocr_status one = told(d, cudaEventSynchronize(s.ended), "a submission");
        if (one == UOCR_OK) one = told(d, cudaEventElapsedTime(&milliseconds, s.begun, s.ended), "a time");
        d->seconds += milliseconds * 1e-3;
        cudaEventDestroy(s.begun);
        cudaEventDestroy(s.ended);
        if (status == UOCR_OK) status = one;
    }
    d->underway.erase(d->underway.begin(), d->underway.begin() + (long)done);
    if (status == UOCR_OK && number == UINT64_MAX) status = told(d, cudaStreamSynchronize(d->stream), "the stream");
    return status;
}

uocr_status wait_for_all(gpu_device *device) {
    uocr_status submitted = submit(device, nullptr), waited = wait_through(device_of(device), UINT64_MAX);
    return submitted == UOCR_OK ? waited : submitted;
}

gpu_memory *create(gpu_device *device, uint32_t, size_t bytes) {
    gpu_memory *m = new gpu_memory{nullptr, bytes, {}, 0};
    size_t room = bytes ? bytes : 1;
    cudaStream_t stream = device_of(device)->stream;
    if (cudaMalloc(&m->data, room) == cudaSuccess && cudaMemsetAsync(m->data, 0, room, stream) == cudaSuccess) return m;
    delete m;
    return nullptr;
}

void release(gpu_device *device, gpu_memory *m) {
    send(device_of(device));
    cudaFree(m->data);
    delete m;
}

uocr_status write_memory(gpu_device *device, gpu_memory *m, size_t offset, const void *source, size_t bytes) {
    cuda_device *d = device_of(device);
    const uint8_t *from = static_cast<const uint8_t *>(source);
    uocr_status status = d->underway.empty() && !d->begun ? UOCR_OK : wait_for_all(device);
    if (!bytes || status != UOCR_OK) return status;
    if (!m->pending.empty() && offset != m->pending_at + m->pending.size()) status = send(d);
    if (m->pending.empty()) {
        m->pending_at = offset;
        d->written.push_back(m);
    }
    m->pending.insert(m->pending.end(), from, from + bytes);
    return status;
}

uocr_status fetch(cuda_device *d, gpu_memory *m, size_t offset, void *target, size_t bytes) {
    memset(target, 0, bytes);
    if (!bytes) return UOCR_OK;
    // A copy on another stream than the launches': it waits for nothing.
    return told(d, cudaMemcpy(target, m->data + offset, bytes, cudaMemcpyDeviceToHost), "a read");
}

uocr_status read_memory(gpu_device *device, gpu_memory *m, size_t offset, void *target, size_t bytes) {
    uocr_status waited = wait_for_all(device), status = fetch(device_of(device), m, offset, target, bytes);
    return waited == UOCR_OK ? status : waited;
}

uocr_status read_after(gpu_device *device, gpu_memory *m, size_t offset, void *target, size_t bytes,
                       uint64_t number) {
    uocr_status waited = wait_through(device_of(device), number);
    uocr_status status = fetch(device_of(device), m, offset, target, bytes);
    return waited == UOCR_OK ? status : waited;
}

// Bytes that the kernel reads and nobody else has: weights of a test, long inline arguments. Freed in stream order.
const void *lend(cuda_device *d, const void *data, size_t bytes, std::vector<void *> &lent, uocr_status &status) {
    void *copy = nullptr;
    if (status == UOCR_OK) status = told(d, cudaMallocAsync(&copy, bytes, d->stream), "memory for an argument");
    if (status == UOCR_OK)
        status = told(d, cudaMemcpyAsync(copy, data, bytes, cudaMemcpyHostToDevice, d->stream), "an argument");
    if (copy) lent.push_back(copy);
    return copy;
}

uocr_status bind(cuda_device *d, const gpu_dispatch *dispatch, msl::parameters &p, std::vector<void *> &lent) {
    uocr_status status = UOCR_OK;
    unsigned used = 0;
    for (unsigned i = 0; i < GPU_MOST_ARGUMENTS; i++) {
        const gpu_argument &a = dispatch->argument[i];
        const uint8_t *data = static_cast<const uint8_t *>(a.data);
        unsigned room = (unsigned)(a.bytes + 15) / 16 * 16;
        if (a.kind == GPU_BUFFER) {
            if (a.offset > a.memory->bytes || a.bytes > a.memory->bytes - a.offset) {
                snprintf(d->failure, sizeof d->failure, "%s: buffer(%u) ends past its memory", dispatch->kernel, i);
                return UOCR_BACKEND;
            }
            p.buffer[i] = a.memory->data + a.offset;
        } else if (a.kind == GPU_WEIGHT && data >= d->host && d->host && data + a.bytes <= d->host + d->bytes)
            p.buffer[i] = d->model + (data - d->host);
        else if (a.kind == GPU_WEIGHT || (a.kind == GPU_INLINE && used + room > msl::INLINE_BYTES))
            p.buffer[i] = lend(d, data, a.bytes, lent, status);
        else if (a.kind == GPU_INLINE) {
            memcpy(p.bytes + used, data, a.bytes);
            p.place[i] = used;
            used += room;
        }
    }
    return status;
}

uocr_status encode(gpu_device *device, const gpu_dispatch *dispatch) {
    cuda_device *d = device_of(device);
    std::string key = dispatch->kernel;
    for (uint32_t i = 0; i < dispatch->constant_count; i++) key += " " + std::to_string(dispatch->constants[i]);
    auto found = msl::kernels().find(key);
    if (d->lost != cudaSuccess) return UOCR_BACKEND;
    if (found == msl::kernels().end()) {
        snprintf(d->failure, sizeof d->failure, "nobody compiled the kernel %s", key.c_str());
        return UOCR_BACKEND;
    }
    msl::parameters p = {};
    std::vector<void *> lent;
    unsigned threadgroup = 0;
    uocr_status status = send(d);
    if (status == UOCR_OK && !d->begun) {
        status = told(d, cudaEventCreate(&d->begun), "an event");
        if (status == UOCR_OK) status = told(d, cudaEventRecord(d->begun, d->stream), "an event");
    }
    if (status == UOCR_OK) status = bind(d, dispatch, p, lent);
    for (unsigned i = 0; i < GPU_MOST_THREADGROUP; i++) {
        p.threadgroup[i] = threadgroup;
        threadgroup += (dispatch->threadgroup[i] + 127) / 128 * 128;
    }
    void *arguments[] = {&p};
    dim3 groups(dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
    if (status == UOCR_OK)
        status = told(d, cudaLaunchKernel(found->second, groups, dim3(dispatch->threads), arguments, threadgroup,
                                          d->stream), key.c_str());
    for (void *copy : lent) cudaFreeAsync(copy, d->stream);
    // A test that looks for a kernel which breaks the device is told which one it was.
    if (status == UOCR_OK && getenv("GPU_CUDA_STEP")) status = told(d, cudaStreamSynchronize(d->stream), key.c_str());
    return status;
}

const char *failure(gpu_device *device) { return device_of(device)->failure; }
double seconds(gpu_device *device) { return device_of(device)->seconds; }

void destroy(gpu_device *device) {
    cuda_device *d = device_of(device);
    wait_for_all(device);
    if (d->model) cudaFree(d->model);
    cudaStreamDestroy(d->stream);
    delete d;
}

} // namespace

extern "C" const char *gpu_cuda_name(gpu_device *device) { return device_of(device)->name; }

extern "C" double gpu_cuda_copy_rate(gpu_device *device, size_t bytes) {
    enum { TIMES = 10 };
    cuda_device *d = device_of(device);
    void *from = nullptr, *to = nullptr;
    cudaEvent_t begun, ended;
    float milliseconds = 0;
    cudaEventCreate(&begun);
    cudaEventCreate(&ended);
    bool made = cudaMalloc(&from, bytes) == cudaSuccess && cudaMalloc(&to, bytes) == cudaSuccess;
    for (int i = 0; made && i <= TIMES; i++) {
        if (i == 1) cudaEventRecord(begun, d->stream); // the first copy warms up
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, d->stream);
    }
    cudaEventRecord(ended, d->stream);
    made = made && cudaEventSynchronize(ended) == cudaSuccess;
    if (made) cudaEventElapsedTime(&milliseconds, begun, ended);
    cudaFree(from);
    cudaFree(to);
    cudaEventDestroy(begun);
    cudaEventDestroy(ended);
    return made ? 2.0 * (double)TIMES * (double)bytes / (milliseconds * 1e-3) : 0;
}

extern "C" uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    cudaDeviceProp properties;
    *out = nullptr;
    cudaError_t status = cudaGetDeviceProperties(&properties, 0);
    if (status != cudaSuccess)
        return uocr_fail(error, UOCR_BACKEND, 0, 0, "No CUDA device answers: %s.", cudaGetErrorString(status));
    cuda_device *d = new cuda_device{};
    d->base.name = "cuda";
    d->base.working_set = properties.totalGlobalMem;
    d->base.destroy = destroy;
    d->base.create = create;
    d->base.release = release;
    d->base.write = write_memory;
    d->base.read = read_memory;
    d->base.encode = encode;
    d->base.submit = submit;
    d->base.wait = wait_for_all;
    d->base.read_after = read_after;
    d->base.failure = failure;
    d->base.seconds = seconds;
    snprintf(d->name, sizeof d->name, "%s, compute capability %d.%d", properties.name, properties.major,
             properties.minor);
    d->host = static_cast<const uint8_t *>(base);
    d->bytes = bytes;
    status = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess && bytes) status = cudaMalloc(&d->model, bytes);
    if (status == cudaSuccess && bytes) status = cudaMemcpy(d->model, base, bytes, cudaMemcpyHostToDevice);
    if (status != cudaSuccess) {
        destroy(&d->base);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, bytes, 0, "The CUDA device takes no model of %zu bytes: %s.",
                         bytes, cudaGetErrorString(status));
    }
    *out = &d->base;
    return UOCR_OK;
}
