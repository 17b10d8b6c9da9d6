/* Apple's GPU under device.h: the only Objective-C, with automatic reference counting.
 *
 * Order. One command buffer is one submission, and one serial compute encoder is one command buffer: Metal starts a
 * dispatch of such an encoder when those before it have finished, with their writes visible, which is what device.h
 * promises. Almost every dispatch needs what the last one wrote, so an encoder that runs them side by side would need
 * a barrier at nearly every one of them. Between command buffers Metal tracks the buffers that dispatches write;
 * views of the model are never written and are left out of that.
 *
 * Submissions are committed at once; the host waits for one only when it wants its results, so the next token is
 * encoded while the last one runs. Memory that only kernels touch is private to the device, the rest is shared. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "device_metal_awake.h"
#include "device_metal_errors.h"
#include "device_metal_files.h"
#include "device_metal_mps.h"
#include "device_metal_pipelines.h"
#include "device_metal_views.h"

enum {
    SIMD_WIDTH = 32,
    IN_FLIGHT = 32,    /* submissions; half of what a command queue takes */
    STAGING = 1 << 20, /* bytes between the host and private memory at a time */
    FAILURE = 960,     /* fits a uocr_error */
};
#define VIEW_BYTES (UINT64_C(512) << 20)

struct gpu_memory {
    id<MTLBuffer> buffer;
    size_t bytes;
    bool shared;
};

typedef struct metal_device {
    gpu_device base; /* first */
    const uint8_t *mapping;
    uint64_t mapped;
    id<MTLDevice> device;
    id<MTLCommandQueue> queue;

    id<MTLLibrary> library[GPU_MOST_SOURCES]; /* one from uocr.metallib, or one a source */
    size_t libraries;
    gpu_pipeline_key key[GPU_MOST_PIPELINES];
    id<MTLComputePipelineState> pipeline[GPU_MOST_PIPELINES]; /* of the key in the same place */
    size_t pipelines;
    id<MTLBinaryArchive> archive; /* of pipelines, nil: none can be kept */
    char archive_path[GPU_PATH];
    bool archive_read, archive_grew;

    gpu_view *view; /* of the mapping, `views` of them, each with its buffer */
    id<MTLBuffer> __strong *view_buffer;
    size_t views;

    id<MTLCommandBuffer> open; /* what is encoded and not submitted, nil: nothing */
    id<MTLComputeCommandEncoder> encoder;
    id<MTLCommandBuffer> flying[IN_FLIGHT]; /* submission s in place (s - 1) % IN_FLIGHT */
    uint64_t submissions, finished;
    gpu_awake *awake;
    double busy, last_end; /* seconds */
    bool lost;
    char failure[FAILURE];
} metal_device;

static metal_device *metal_of(gpu_device *device) { return (metal_device *)(void *)device; }

__attribute__((format(printf, 2, 3))) static uocr_status failed(metal_device *m, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(m->failure, sizeof m->failure, format, values);
    va_end(values);
    return UOCR_BACKEND;
}

static NSString *string_of(const char *text) { return [NSString stringWithUTF8String:text]; }
static NSURL *url_of(const char *path) { return [NSURL fileURLWithPath:string_of(path)]; }

/* ---- submissions ---- */

/* Waits for one committed command buffer; says what became of it. */
static uocr_status outcome(metal_device *m, id<MTLCommandBuffer> buffer) {
    gpu_awake_wait(m->awake, 1);
    [buffer waitUntilCompleted];
    gpu_awake_wait(m->awake, -1);
    double begin = buffer.GPUStartTime > m->last_end ? buffer.GPUStartTime : m->last_end, end = buffer.GPUEndTime;
    if (end > begin) m->busy += end - begin, m->last_end = end; /* neighbours may overlap */
    if (buffer.status == MTLCommandBufferStatusCompleted) return UOCR_OK;
    NSError *error = buffer.error;
    char text[GPU_WORDS];
    m->lost |= gpu_is_lost(error.code);
    return failed(m, "Work on the GPU failed: %s (%s, code %ld).", gpu_cause(error.code), gpu_words(error, text),
                  error.code);
}

static void end_encoder(metal_device *m) {
    [m->encoder endEncoding];
    m->encoder = nil;
}

/* After a failure nothing that is underway is worth anything. */
static void drop_all(metal_device *m) {
    for (; m->finished < m->submissions; m->finished++) {
        [m->flying[m->finished % IN_FLIGHT] waitUntilCompleted];
        m->flying[m->finished % IN_FLIGHT] = nil;
    }
    end_encoder(m);
    m->open = nil;
}

/* Waits for submission `number` and those before it. */
static uocr_status wait_through(metal_device *m, uint64_t number) {
    uocr_status status = UOCR_OK;
    while (status == UOCR_OK && m->finished < number && m->finished < m->submissions) {
        status = outcome(m, m->flying[m->finished % IN_FLIGHT]);
        m->flying[m->finished++ % IN_FLIGHT] = nil;
    }
    if (status != UOCR_OK) drop_all(m);
    return status;
}

static uocr_status submit(gpu_device *device, uint64_t *number) {
    metal_device *m = metal_of(device);
    uocr_status status = UOCR_OK;
    @autoreleasepool {
        if (m->open && m->submissions - m->finished == IN_FLIGHT) status = wait_through(m, m->finished + 1);
        if (m->open) {
            end_encoder(m);
            [m->open commit];
            m->flying[m->submissions++ % IN_FLIGHT] = m->open;
            m->open = nil;
        }
    }
    if (number) *number = m->submissions;
    return status;
}

static uocr_status wait_for_all(gpu_device *device) {
    uocr_status status = submit(device, NULL);
    @autoreleasepool {
        return status == UOCR_OK ? wait_through(metal_of(device), UINT64_MAX) : status;
    }
}

/* Copies and fills, at once. */
static uocr_status run_now(metal_device *m, id<MTLCommandBuffer> commands, id<MTLBlitCommandEncoder> encoder) {
    [encoder endEncoding];
    gpu_awake_touch(m->awake);
    [commands commit];
    return outcome(m, commands);
}

/* ---- memory ---- */

/* Categories that the host neither fills nor looks at, but for tests and taps. */
static bool device_only(uint32_t category) {
    return category == UOCR_MEMORY_KV_CACHE || category == UOCR_MEMORY_DECODER_SCRATCH ||
           category == UOCR_MEMORY_MOE_SCRATCH;
}

static bool clear(metal_device *m, gpu_memory *memory, size_t length) {
    if (memory->shared) {
        memset(memory->buffer.contents, 0, length);
        return true;
    }
    id<MTLCommandBuffer> commands = [m->queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
    [encoder fillBuffer:memory->buffer range:NSMakeRange(0, length) value:0];
    return run_now(m, commands, encoder) == UOCR_OK;
}

static void release(gpu_device *device, gpu_memory *memory) {
    (void)device; /* command buffers hold what they use */
    memory->buffer = nil;
    free(memory);
}

static gpu_memory *create(gpu_device *device, uint32_t category, size_t bytes) {
    metal_device *m = metal_of(device);
    size_t length = bytes ? (bytes + 15) / 16 * 16 : 16;
    gpu_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return NULL;
    @autoreleasepool {
        memory->bytes = bytes;
        memory->shared = !device_only(category);
        MTLResourceOptions mode = memory->shared ? MTLResourceStorageModeShared : MTLResourceStorageModePrivate;
        if (length <= m->device.maxBufferLength)
            memory->buffer = [m->device newBufferWithLength:length options:mode];
        if (memory->buffer && clear(m, memory, length)) return memory;
    }
    release(device, memory);
    return NULL;
}

static uocr_status blit(metal_device *m, id<MTLBuffer> from, size_t from_at, id<MTLBuffer> to, size_t to_at,
                        size_t bytes) {
    id<MTLCommandBuffer> commands = [m->queue commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
    [encoder copyFromBuffer:from sourceOffset:from_at toBuffer:to destinationOffset:to_at size:bytes];
    return run_now(m, commands, encoder);
}

/* Between the host and private memory, in pieces through a shared one; copies are of whole words. Either `target` or
 * `source` is NULL. */
static uocr_status transfer(metal_device *m, gpu_memory *memory, size_t offset, uint8_t *target,
                            const uint8_t *source, size_t bytes) {
    const size_t room = bytes + 8 < STAGING ? bytes + 8 : STAGING; /* 8: for parts of words at both ends */
    id<MTLBuffer> staging = [m->device newBufferWithLength:room options:MTLResourceStorageModeShared];
    if (!staging) return failed(m, "The GPU has no memory for a copy of %zu bytes.", room);
    uocr_status status = UOCR_OK;
    for (size_t done = 0; done < bytes && status == UOCR_OK;) {
        size_t at = offset + done, begin = at / 4 * 4, left = bytes - done;
        size_t count = left < room - 8 ? left : room - 8, whole = (at + count + 3) / 4 * 4 - begin;
        uint8_t *host = (uint8_t *)staging.contents + (at - begin);
        status = blit(m, memory->buffer, begin, staging, 0, whole);
        if (status != UOCR_OK) break;
        if (target) {
            memcpy(target + done, host, count);
        } else {
            memcpy(host, source + done, count);
            status = blit(m, staging, 0, memory->buffer, begin, whole);
        }
        done += count;
    }
    return status;
}

static uocr_status write_memory(gpu_device *device, gpu_memory *memory, size_t offset, const void *source,
                                size_t bytes) {
    uocr_status status = wait_for_all(device);
    if (status != UOCR_OK || !bytes) return status;
    @autoreleasepool {
        if (!memory->shared) return transfer(metal_of(device), memory, offset, NULL, source, bytes);
        memcpy((uint8_t *)memory->buffer.contents + offset, source, bytes);
    }
    return UOCR_OK;
}

static uocr_status read_after(gpu_device *device, gpu_memory *memory, size_t offset, void *target, size_t bytes,
                              uint64_t number) {
    @autoreleasepool {
        uocr_status status = wait_through(metal_of(device), number);
        if (status != UOCR_OK || !bytes) return status;
        if (!memory->shared) return transfer(metal_of(device), memory, offset, target, NULL, bytes);
        memcpy(target, (const uint8_t *)memory->buffer.contents + offset, bytes);
    }
    return UOCR_OK;
}

static uocr_status read_memory(gpu_device *device, gpu_memory *memory, size_t offset, void *target, size_t bytes) {
    uocr_status status = wait_for_all(device);
    return status == UOCR_OK ? read_after(device, memory, offset, target, bytes, 0) : status;
}

static uocr_status lay_out(gpu_device *device, const uint64_t *section, size_t count) {
    metal_device *m = metal_of(device);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), most = m->device.maxBufferLength;
    if (most > VIEW_BYTES) most = VIEW_BYTES;
    size_t views = gpu_views_cut(m->mapped, section, count, page, most, NULL, 0);
    m->view = calloc(views, sizeof *m->view);
    m->view_buffer = (__strong id *)calloc(views, sizeof *m->view_buffer);
    if (!m->view || !m->view_buffer || (uintptr_t)m->mapping % page != 0)
        return failed(m, "The model cannot be laid out for the GPU: no memory for %zu views.", views);
    gpu_views_cut(m->mapped, section, count, page, most, m->view, views);
    for (; m->views < views; m->views++) {
        gpu_view v = m->view[m->views];
        void *bytes = (void *)(uintptr_t)(m->mapping + v.offset);
        MTLResourceOptions mode = MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
        id<MTLBuffer> buffer = [m->device newBufferWithBytesNoCopy:bytes length:v.bytes options:mode deallocator:nil];
        if (!buffer)
            return failed(m, "The GPU cannot use %.1f MB of the model as they lie in memory; close other programs or "
                             "use the cpu back end.", (double)v.bytes / 1e6);
        m->view_buffer[m->views] = buffer;
    }
    return UOCR_OK;
}

/* ---- pipelines ---- */

static id<MTLFunction> function_for(metal_device *m, const gpu_dispatch *d) {
    NSString *name = string_of(d->kernel);
    MTLFunctionConstantValues *values = [MTLFunctionConstantValues new];
    if (d->constant_count)
        [values setConstantValues:d->constants type:MTLDataTypeUInt withRange:NSMakeRange(0, d->constant_count)];
    for (size_t i = 0; i < m->libraries; i++) {
        if (![m->library[i].functionNames containsObject:name]) continue;
        NSError *error = nil;
        id<MTLFunction> function = [m->library[i] newFunctionWithName:name constantValues:values error:&error];
        char text[GPU_WORDS];
        if (!function) failed(m, "Kernel %s cannot be specialised: %s.", d->kernel, gpu_words(error, text));
        return function;
    }
    failed(m, "The kernels have no function %s; install the program again.", d->kernel);
    return nil;
}

static id<MTLComputePipelineState> state_for(metal_device *m, MTLComputePipelineDescriptor *wanted,
                                             MTLPipelineOption options, NSError **error) {
    return [m->device newComputePipelineStateWithDescriptor:wanted options:options reflection:nil error:error];
}

static id<MTLComputePipelineState> specialise(metal_device *m, const gpu_dispatch *d) {
    MTLComputePipelineDescriptor *wanted = [MTLComputePipelineDescriptor new];
    id<MTLFunction> function = function_for(m, d);
    if (!function) return nil;
    wanted.computeFunction = function;
    wanted.threadGroupSizeIsMultipleOfThreadExecutionWidth = YES;
    wanted.maxTotalThreadsPerThreadgroup = d->threads; /* the compiler keeps to registers for so many */
    NSError *error = nil;
    id<MTLComputePipelineState> state = nil;
    char text[GPU_WORDS];
    if (m->archive) {
        wanted.binaryArchives = [NSArray arrayWithObject:m->archive];
        if (m->archive_read) state = state_for(m, wanted, MTLPipelineOptionFailOnBinaryArchiveMiss, &error);
        if (!state) m->archive_grew |= [m->archive addComputePipelineFunctionsWithDescriptor:wanted error:nil];
    }
    if (!state) state = state_for(m, wanted, MTLPipelineOptionNone, &error);
    if (!state)
        failed(m, "Kernel %s cannot be made for this GPU: %s.", d->kernel, gpu_words(error, text));
    else if (state.threadExecutionWidth != SIMD_WIDTH || state.maxTotalThreadsPerThreadgroup < d->threads)
        failed(m, "Kernel %s needs %u threads in simdgroups of %d; this GPU offers %lu in simdgroups of %lu.",
               d->kernel, d->threads, SIMD_WIDTH, state.maxTotalThreadsPerThreadgroup, state.threadExecutionWidth);
    else return state;
    return nil;
}

/* Found or made; nil: failed, and said. */
static id<MTLComputePipelineState> pipeline_for(metal_device *m, const gpu_dispatch *d) {
    size_t place = gpu_pipeline_place(m->key, d);
    if (m->key[place].kernel) return m->pipeline[place];
    if (m->pipelines == GPU_MOST_PIPELINES - 1) {
        failed(m, "The model needs more than %zu kinds of kernels.", m->pipelines);
        return nil;
    }
    m->pipeline[place] = specialise(m, d);
    if (!m->pipeline[place]) return nil;
    gpu_pipeline_take(&m->key[place], d);
    m->pipelines++;
    return m->pipeline[place];
}

/* ---- dispatches ---- */

/* Where argument i of kernel lies; nil: failed, and said. Weights outside of the mapping, which only tests have, are
 * copied. */
static id<MTLBuffer> place_of(metal_device *m, const char *kernel, size_t i, const gpu_argument *a, size_t *offset) {
    if (a->kind == GPU_BUFFER) {
        *offset = a->offset;
        if (a->offset <= a->memory->bytes && a->bytes <= a->memory->bytes - a->offset) return a->memory->buffer;
        failed(m, "%s: buffer(%zu) ends past its memory", kernel, i);
        return nil;
    }
    uint64_t at = (uint64_t)((uintptr_t)a->data - (uintptr_t)m->mapping);
    const gpu_view *view = m->mapping ? gpu_view_of(m->view, m->views, at, a->bytes) : NULL;
    *offset = view ? (size_t)(at - view->offset) : 0;
    if (view) return m->view_buffer[view - m->view];
    if (!m->mapping) return [m->device newBufferWithBytes:a->data length:a->bytes options:MTLResourceStorageModeShared];
    failed(m, "A tensor of %.1f MB lies in no view of the model; this GPU takes tensors of up to %.1f MB.",
           (double)a->bytes / 1e6, (double)m->device.maxBufferLength / 2e6);
    return nil;
}

static uocr_status open_commands(metal_device *m) {
    if (m->lost) return failed(m, "The GPU was lost; open the engine again, or use the cpu back end.");
    if (!m->open) m->open = [m->queue commandBuffer];
    if (!m->open) return failed(m, "The GPU takes no more work.");
    gpu_awake_touch(m->awake);
    return UOCR_OK;
}

static uocr_status bind(metal_device *m, const gpu_dispatch *d) {
    for (size_t i = 0; i < GPU_MOST_ARGUMENTS; i++) {
        const gpu_argument *a = &d->argument[i];
        size_t offset = 0;
        if (a->kind == GPU_UNUSED) continue;
        if (a->kind == GPU_INLINE) {
            if (a->bytes > GPU_MOST_INLINE) return failed(m, "%s: an inline argument is too long", d->kernel);
            [m->encoder setBytes:a->data length:a->bytes atIndex:i];
            continue;
        }
        id<MTLBuffer> buffer = place_of(m, d->kernel, i, a, &offset);
        if (!buffer) return UOCR_BACKEND;
        [m->encoder setBuffer:buffer offset:offset atIndex:i];
    }
    for (size_t i = 0; i < GPU_MOST_THREADGROUP; i++)
        if (d->threadgroup[i]) [m->encoder setThreadgroupMemoryLength:d->threadgroup[i] atIndex:i];
    return UOCR_OK;
}

static uocr_status encode(gpu_device *device, const gpu_dispatch *d) {
    metal_device *m = metal_of(device);
    @autoreleasepool {
        id<MTLComputePipelineState> state = pipeline_for(m, d);
        if (!state) return UOCR_BACKEND;
        size_t threadgroup = state.staticThreadgroupMemoryLength, most = m->device.maxThreadgroupMemoryLength;
        for (size_t i = 0; i < GPU_MOST_THREADGROUP; i++) threadgroup += d->threadgroup[i];
        if (threadgroup > most)
            return failed(m, "Kernel %s needs %zu bytes of threadgroup memory and this GPU has %zu.", d->kernel,
                          threadgroup, most);
        if (open_commands(m) != UOCR_OK) return UOCR_BACKEND;
        if (!m->encoder) m->encoder = [m->open computeCommandEncoder];
        if (!m->encoder) return failed(m, "The GPU takes no more work.");
        [m->encoder setComputePipelineState:state];
        if (bind(m, d) != UOCR_OK) return UOCR_BACKEND;
        [m->encoder dispatchThreadgroups:MTLSizeMake(d->groups[0], d->groups[1], d->groups[2])
                   threadsPerThreadgroup:MTLSizeMake(d->threads, 1, 1)];
    }
    return UOCR_OK;
}

static uocr_status multiply(gpu_device *device, const gpu_matrix_product *p) {
    metal_device *m = metal_of(device);
    const gpu_argument *argument[] = {&p->x, &p->w, &p->y};
    @autoreleasepool {
        id<MTLBuffer> buffer[3];
        size_t at[3];
        for (size_t i = 0; i < 3; i++)
            if (!(buffer[i] = place_of(m, "multiply", i, argument[i], &at[i]))) return UOCR_BACKEND;
        if (open_commands(m) != UOCR_OK) return UOCR_BACKEND;
        end_encoder(m);
        gpu_mps_encode(m->device, m->open, p, buffer, at);
    }
    return UOCR_OK;
}

static const char *failure(gpu_device *device) { return metal_of(device)->failure; }
static double seconds(gpu_device *device) { return metal_of(device)->busy; }

/* ---- opening and closing ---- */

/* The kernels multiply 8 x 8 matrices in a simdgroup: Apple's GPUs can since the M1. A Mac that has one has no
 * second GPU to choose or to spare; Macs with two have none that will do. */
static bool fits(id<MTLDevice> device) {
    return [device supportsFamily:MTLGPUFamilyMetal3] && [device supportsFamily:MTLGPUFamilyApple7];
}

static uocr_status choose_device(metal_device *m) {
    id<MTLDevice> first = MTLCreateSystemDefaultDevice();
    if (!first || !fits(first)) { /* a session without a screen has no default */
        NSArray<id<MTLDevice>> *all = MTLCopyAllDevices();
        for (NSUInteger i = 0; i < all.count; i++) {
            id<MTLDevice> device = [all objectAtIndex:i];
            if (!first || (fits(device) && !fits(first))) first = device;
        }
    }
    if (!first) return failed(m, "Metal offers this program no GPU; use the cpu back end.");
    if (!fits(first))
        return failed(m, "The GPU of this Mac (%s) has no Metal 3 with simdgroup matrices, which needs an M1 or newer; "
                         "use the cpu back end.", first.name.UTF8String);
    m->device = first;
    m->base.working_set = first.recommendedMaxWorkingSetSize;
    m->queue = [first newCommandQueue];
    return m->queue ? UOCR_OK : failed(m, "The GPU gives this program no command queue; use the cpu back end.");
}

static uocr_status load(metal_device *m, const char *path, bool compiled, uocr_sha256 *hash) {
    NSError *error = nil;
    size_t bytes = 0;
    char text[GPU_WORDS], *data = gpu_file_read(path, &bytes);
    if (!data) return failed(m, "The kernels in %s cannot be read: %s.", path, strerror(errno));
    uocr_sha256_add(hash, data, bytes);
    MTLCompileOptions *options = [MTLCompileOptions new];
    options.languageVersion = MTLLanguageVersion3_0;
    options.fastMathEnabled = NO; /* Inf and NaN must stay what they are */
    id<MTLLibrary> library = compiled
                                 ? [m->device newLibraryWithURL:url_of(path) error:&error]
                                 : [m->device newLibraryWithSource:string_of(data) options:options error:&error];
    free(data);
    if (!library)
        return failed(m, "The kernels in %s cannot be used on this GPU: %s; install the program again.", path,
                      gpu_words(error, text));
    m->library[m->libraries++] = library;
    return UOCR_OK;
}

static uocr_status load_kernels(metal_device *m, uocr_sha256 *hash) {
    char folder[GPU_PATH], path[GPU_PATH];
    if (!gpu_kernel_folder(folder) || !gpu_path_join(path, folder, GPU_LIBRARY_NAME))
        return failed(m, "The folder of the kernels cannot be found; install the program again.");
    if (access(path, F_OK) == 0) return load(m, path, true, hash);
    gpu_sources sources;
    gpu_sources_find(folder, &sources);
    if (!sources.count)
        return failed(m, "Neither %s nor %s/*.metal lies in %s; install the program again.", GPU_LIBRARY_NAME,
                      GPU_SOURCES_NAME, folder);
    uocr_status status = UOCR_OK;
    for (size_t i = 0; i < sources.count && status == UOCR_OK; i++) status = load(m, sources.path[i], false, hash);
    return status;
}

/* Pipelines that an earlier run has made of the same kernels, for the same GPU and system. Without them, all are made
 * anew: what cannot be read or written is no error. */
static void open_archive(metal_device *m, uocr_sha256 *hash) {
    const char *gpu = m->device.name.UTF8String,
               *system = [NSProcessInfo processInfo].operatingSystemVersionString.UTF8String;
    uint8_t digest[UOCR_SHA256_BYTES];
    uocr_sha256_add(hash, gpu, strlen(gpu) + 1);
    uocr_sha256_add(hash, system, strlen(system) + 1);
    uocr_sha256_end(hash, digest);
    if (!gpu_archive_path(m->archive_path, digest)) return;
    MTLBinaryArchiveDescriptor *wanted = [MTLBinaryArchiveDescriptor new];
    if (access(m->archive_path, R_OK) == 0) {
        wanted.url = url_of(m->archive_path);
        m->archive = [m->device newBinaryArchiveWithDescriptor:wanted error:nil];
        m->archive_read = m->archive != nil;
        wanted.url = nil;
    }
    if (!m->archive) m->archive = [m->device newBinaryArchiveWithDescriptor:wanted error:nil];
}

/* The file takes its name when it is complete. */
static void save_archive(metal_device *m) {
    char partial[GPU_PATH + 32];
    if (!m->archive_grew) return;
    snprintf(partial, sizeof partial, "%s.%ld.partial", m->archive_path, (long)getpid());
    if (![m->archive serializeToURL:url_of(partial) error:nil] || rename(partial, m->archive_path) != 0)
        unlink(partial);
}

static void destroy(gpu_device *device) {
    metal_device *m = metal_of(device);
    @autoreleasepool {
        drop_all(m);
        gpu_awake_close(m->awake);
        save_archive(m);
        for (size_t i = 0; i < m->libraries; i++) m->library[i] = nil;
        for (size_t i = 0; i < GPU_MOST_PIPELINES; i++) m->pipeline[i] = nil;
        for (size_t i = 0; i < m->views; i++) m->view_buffer[i] = nil;
        m->archive = nil;
        m->queue = nil;
        m->device = nil;
    }
    free(m->view_buffer);
    free(m->view);
    free(m);
}

uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    metal_device *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m) m->awake = gpu_awake_create();
    if (!m || !m->awake) {
        free(m);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, sizeof *m, 0, "No memory for the Metal device.");
    }
    m->mapping = base;
    m->mapped = base ? bytes : 0;
    m->base = (gpu_device){.name = "metal",
                           .destroy = destroy,
                           .lay_out = lay_out,
                           .create = create,
                           .release = release,
                           .write = write_memory,
                           .read = read_memory,
                           .encode = encode,
                           .submit = submit,
                           .wait = wait_for_all,
                           .read_after = read_after,
                           .failure = failure,
                           .seconds = seconds,
                           .multiply = gpu_mps_wanted() ? multiply : NULL};
    @autoreleasepool {
        uocr_sha256 hash;
        uocr_sha256_begin(&hash);
        uocr_status status = choose_device(m);
        if (status == UOCR_OK) status = load_kernels(m, &hash);
        if (status != UOCR_OK) {
            uocr_fail(error, status, 0, 0, "%s", m->failure);
            destroy(&m->base);
            return status;
        }
        open_archive(m, &hash);
    }
    *out = &m->base;
    return UOCR_OK;
}
