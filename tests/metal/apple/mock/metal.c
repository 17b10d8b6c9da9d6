/* Apple's Metal without its command buffers; see mock.h. New memory is full of rubbish, so that nobody takes it for
 * zeros. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

enum { RUBBISH = 0xA5, ALIGNMENT = 256 };
enum { SHARED = 0, PRIVATE = 32, UNTRACKED = 256, MISS_FAILS = 4 };

mock_faults mock_fault;
mock_counts mock_count;

/* ---- buffers ---- */

static void *buffer_contents(buffer *self) {
    if (self->options & PRIVATE) mock_complain("the contents of private memory are asked for");
    return self->options & PRIVATE ? NULL : self->data;
}
static void buffer_dealloc(mock_object *any) {
    buffer *self = (buffer *)(void *)any;
    if (!self->owned) return;
    *(self->options & PRIVATE ? &mock_count.private_bytes : &mock_count.shared_bytes) -= self->bytes;
    free(self->data);
}
static const mock_method buffer_methods[] = {MOCK_METHOD("contents", buffer_contents), {0}};
static mock_class buffer_class = {NULL, "MTLBuffer", sizeof(buffer), buffer_methods, buffer_dealloc};

static buffer *buffer_new(void *data, size_t bytes, unsigned long options) {
    if (bytes == 0) mock_complain("a buffer of no bytes");
    if (mock_fault.buffers_left && --mock_fault.buffers_left == 0) return NULL;
    buffer *made = (buffer *)(void *)mock_new(&buffer_class);
    *made = (buffer){made->object, data, bytes, options, !data};
    if (data) return made;
    made->data = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    memset(made->data, RUBBISH, bytes);
    *(options & PRIVATE ? &mock_count.private_bytes : &mock_count.shared_bytes) += bytes;
    return made;
}

/* ---- functions and pipelines ---- */

static void values_set(values *self, MOCK_SELECTOR, const void *data, unsigned long type, unsigned long from,
                       unsigned long count) {
    if (type != 33 || from + count > 32) mock_complain("function constants of type %lu", type);
    memcpy(self->value + from, data, count * sizeof(uint32_t));
    self->count = from + count;
}
/* A range is two words: passed like two arguments. */
static const mock_method values_methods[] = {MOCK_METHOD("setConstantValues:type:withRange:", values_set), {0}};
MOCK_CLASS(MTLFunctionConstantValues, values, values_methods, NULL, NULL);

static void function_dealloc(mock_object *any) {
    function *self = (function *)(void *)any;
    free(self->name);
    mock_let_go(self->constants);
}
static mock_class function_class = {NULL, "MTLFunction", sizeof(function), NULL, function_dealloc};

typedef struct wanted {
    mock_object object;
    function *function;
    bool multiple;
    unsigned long threads;
    mock_array *archives;
} wanted;
static void wanted_function(wanted *self, MOCK_SELECTOR, void *value) { mock_set(&self->function, value); }
static void wanted_archives(wanted *self, MOCK_SELECTOR, void *value) { mock_set(&self->archives, value); }
static void wanted_multiple(wanted *self, MOCK_SELECTOR, bool value) { self->multiple = value; }
static void wanted_threads(wanted *self, MOCK_SELECTOR, unsigned long value) { self->threads = value; }
static void wanted_dealloc(mock_object *any) {
    mock_let_go(((wanted *)(void *)any)->function);
    mock_let_go(((wanted *)(void *)any)->archives);
}
static const mock_method wanted_methods[] = {
    MOCK_METHOD("setComputeFunction:", wanted_function), MOCK_METHOD("setBinaryArchives:", wanted_archives),
    MOCK_METHOD("setThreadGroupSizeIsMultipleOfThreadExecutionWidth:", wanted_multiple),
    MOCK_METHOD("setMaxTotalThreadsPerThreadgroup:", wanted_threads), {0}};
MOCK_CLASS(MTLComputePipelineDescriptor, wanted, wanted_methods, NULL, wanted_dealloc);

static unsigned long state_threads(state *self) {
    (void)self;
    return mock_fault.most_threads ? mock_fault.most_threads : 1024;
}
static unsigned long state_width(state *self) {
    (void)self;
    return mock_fault.simd_width ? mock_fault.simd_width : 32;
}
static unsigned long state_memory(state *self) {
    (void)self;
    return mock_fault.static_threadgroup;
}
static void state_dealloc(mock_object *any) { mock_let_go(((state *)(void *)any)->function); }
static const mock_method state_methods[] = {MOCK_METHOD("maxTotalThreadsPerThreadgroup", state_threads),
                                            MOCK_METHOD("threadExecutionWidth", state_width),
                                            MOCK_METHOD("staticThreadgroupMemoryLength", state_memory), {0}};
static mock_class state_class = {NULL, "MTLComputePipelineState", sizeof(state), state_methods, state_dealloc};

/* An archive holds names of kernels, one a line. */
typedef struct archive { mock_object object; char kernels[1 << 15]; } archive;
static bool archive_add(archive *self, MOCK_SELECTOR, wanted *pipeline, void *error) {
    (void)error;
    mock_count.added_to_archive++;
    strcat(strcat(self->kernels, pipeline->function->name), "\n");
    return true;
}
static bool archive_save(archive *self, MOCK_SELECTOR, mock_object *url, void *error) {
    int file = open(mock_path(url), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t bytes = strlen(self->kernels);
    bool written = file >= 0 && write(file, self->kernels, mock_fault.archive_unwritable ? 1 : bytes) >= 0;
    if (file >= 0) close(file);
    if (mock_fault.archive_unwritable) mock_error(error, 4, "the disk is full");
    mock_count.saved += written && !mock_fault.archive_unwritable;
    return written && !mock_fault.archive_unwritable;
}
static const mock_method archive_methods[] = {
    MOCK_METHOD("addComputePipelineFunctionsWithDescriptor:error:", archive_add),
    MOCK_METHOD("serializeToURL:error:", archive_save), {0}};
static mock_class archive_class = {NULL, "MTLBinaryArchive", sizeof(archive), archive_methods, NULL};

typedef struct archive_wanted { mock_object object; mock_object *url; } archive_wanted;
static void archive_url(archive_wanted *self, MOCK_SELECTOR, void *url) { mock_set(&self->url, url); }
static void archive_wanted_dealloc(mock_object *any) { mock_let_go(((archive_wanted *)(void *)any)->url); }
static const mock_method archive_wanted_methods[] = {MOCK_METHOD("setUrl:", archive_url), {0}};
MOCK_CLASS(MTLBinaryArchiveDescriptor, archive_wanted, archive_wanted_methods, NULL, archive_wanted_dealloc);

typedef struct options { mock_object object; unsigned long language; bool fast; } options;
static void options_language(options *self, MOCK_SELECTOR, unsigned long version) { self->language = version; }
static void options_fast(options *self, MOCK_SELECTOR, bool fast) { self->fast = fast; }
static const mock_method options_methods[] = {MOCK_METHOD("setLanguageVersion:", options_language),
                                              MOCK_METHOD("setFastMathEnabled:", options_fast), {0}};
MOCK_CLASS(MTLCompileOptions, options, options_methods, NULL, NULL);

typedef struct library { mock_object object; mock_array *names; } library;
static mock_array *library_names(library *self) { return self->names; }
static function *library_function(library *self, MOCK_SELECTOR, mock_string *name, values *constants, void *error) {
    (void)self;
    if (mock_fault.function_error && strcmp(mock_fault.function_error, name->text) == 0) {
        mock_error(error, 2, "function constant 3 is not set");
        return NULL;
    }
    function *made = (function *)(void *)mock_new(&function_class);
    made->name = strdup(name->text);
    mock_set(&made->constants, constants);
    return made;
}
static void library_dealloc(mock_object *any) { mock_let_go(((library *)(void *)any)->names); }
static const mock_method library_methods[] = {
    MOCK_METHOD("functionNames", library_names),
    MOCK_METHOD("newFunctionWithName:constantValues:error:", library_function), {0}};
static mock_class library_class = {NULL, "MTLLibrary", sizeof(library), library_methods, library_dealloc};

/* Of every "kernel void NAME(" in the text. */
static library *library_from(const char *text) {
    library *made = (library *)(void *)mock_new(&library_class);
    made->names = mock_array_new();
    for (const char *at = text; (at = strstr(at, "kernel void")) != NULL;) {
        char name[64];
        at += strlen("kernel void");
        at += strspn(at, " \n");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "("), at);
        mock_string *string = mock_string_new(name);
        mock_array_add(made->names, string);
        mock_let_go(string);
    }
    return made;
}

/* ---- the device ---- */

typedef struct device { mock_object object; bool fits; } device;
static mock_string *device_name(device *self) {
    return mock_autoreleased(mock_string_new(self->fits ? "Apple M1" : "Intel UHD"));
}
static bool device_family(device *self, MOCK_SELECTOR, long family) {
    return self->fits && ((family == 5001 && !mock_fault.no_metal3) || (family == 1007 && !mock_fault.no_apple7));
}
static uint64_t device_working_set(device *self) {
    (void)self;
    return UINT64_C(10) << 30;
}
static unsigned long device_largest(device *self) {
    (void)self;
    return mock_fault.largest_buffer ? mock_fault.largest_buffer : 1ul << 30;
}
static unsigned long device_threadgroup(device *self) {
    (void)self;
    return 32768;
}
static mock_object *device_queue(device *self) {
    (void)self;
    return mock_fault.no_queue ? NULL : mock_queue();
}
static buffer *device_buffer(device *self, MOCK_SELECTOR, unsigned long bytes, unsigned long how) {
    if (bytes > device_largest(self)) mock_complain("a buffer of %lu bytes is too long", bytes);
    return bytes > device_largest(self) ? NULL : buffer_new(NULL, bytes, how);
}
static buffer *device_copy(device *self, MOCK_SELECTOR, const void *data, unsigned long bytes, unsigned long how) {
    buffer *made = device_buffer(self, NULL, bytes, how);
    if (made) memcpy(made->data, data, bytes);
    return made;
}
static buffer *device_view(device *self, MOCK_SELECTOR, void *data, unsigned long bytes, unsigned long how,
                           void *deallocator) {
    unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
    if ((uintptr_t)data % page != 0 || bytes % page != 0 || bytes > device_largest(self) || deallocator)
        mock_complain("a view of %lu bytes at %p is not of whole pages, or too long", bytes, data);
    if (how != (SHARED | UNTRACKED)) mock_complain("a view with the options %lu", how);
    buffer *made = buffer_new(data, bytes, how);
    if (made) mock_count.views++, mock_count.view_bytes += bytes;
    return made;
}
static library *device_source(device *self, MOCK_SELECTOR, mock_string *source, options *how, void *error) {
    (void)self;
    mock_count.language = (unsigned)how->language;
    mock_count.fast_math += how->fast;
    if (mock_fault.source_error && strstr(source->text, mock_fault.source_error)) {
        mock_error(error, 3, "program_source:\ngemm.metal:12:3: error: unknown type");
        return NULL;
    }
    mock_count.compiled++;
    return library_from(source->text);
}
static library *device_library(device *self, MOCK_SELECTOR, mock_object *url, void *error) {
    char text[1 << 16];
    FILE *file = fopen(mock_path(url), "r");
    (void)self;
    if (!file || mock_fault.library_damaged) {
        if (file) fclose(file);
        mock_error(error, 1, "invalid library file");
        return NULL;
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return library_from(text);
}
static state *device_state(device *self, MOCK_SELECTOR, wanted *how, unsigned long option, void *reflection,
                           void *error) {
    const char *name = how->function->name;
    archive *kept = how->archives ? (archive *)(void *)how->archives->item[0] : NULL;
    bool known = kept && strstr(kept->kernels, name);
    (void)self;
    if (reflection) mock_complain("nobody wants a reflection");
    if (option == MISS_FAILS && !known) return NULL;
    if (mock_fault.pipeline_error && strcmp(mock_fault.pipeline_error, name) == 0) {
        mock_error(error, 3, "too many registers");
        return NULL;
    }
    if (!how->multiple) mock_complain("a pipeline that is not told of whole simdgroups");
    state *made = (state *)(void *)mock_new(&state_class);
    mock_set(&made->function, how->function);
    made->threads = how->threads;
    mock_count.pipelines++;
    mock_count.from_archive += option == MISS_FAILS;
    return made;
}
static archive *device_archive(device *self, MOCK_SELECTOR, archive_wanted *how, void *error) {
    (void)self;
    if (mock_fault.no_archive || (how->url && mock_fault.archive_damaged)) {
        mock_error(error, 1, "invalid archive");
        return NULL;
    }
    archive *made = (archive *)(void *)mock_new(&archive_class);
    FILE *file = how->url ? fopen(mock_path(how->url), "r") : NULL;
    if (file) {
        made->kernels[fread(made->kernels, 1, sizeof made->kernels - 1, file)] = 0;
        fclose(file);
    }
    return made;
}
static const mock_method device_methods[] = {
    MOCK_METHOD("name", device_name),
    MOCK_METHOD("supportsFamily:", device_family),
    MOCK_METHOD("recommendedMaxWorkingSetSize", device_working_set),
    MOCK_METHOD("maxBufferLength", device_largest),
    MOCK_METHOD("maxThreadgroupMemoryLength", device_threadgroup),
    MOCK_METHOD("newCommandQueue", device_queue),
    MOCK_METHOD("newBufferWithLength:options:", device_buffer),
    MOCK_METHOD("newBufferWithBytes:length:options:", device_copy),
    MOCK_METHOD("newBufferWithBytesNoCopy:length:options:deallocator:", device_view),
    MOCK_METHOD("newLibraryWithSource:options:error:", device_source),
    MOCK_METHOD("newLibraryWithURL:error:", device_library),
    MOCK_METHOD("newComputePipelineStateWithDescriptor:options:reflection:error:", device_state),
    MOCK_METHOD("newBinaryArchiveWithDescriptor:error:", device_archive),
    {0}};
static mock_class device_class = {NULL, "MTLDevice", sizeof(device), device_methods, NULL};

static device *device_new(bool fits) {
    device *made = (device *)(void *)mock_new(&device_class);
    made->fits = fits;
    return made;
}
mock_object *MTLCreateSystemDefaultDevice(void) {
    return mock_fault.no_device || mock_fault.no_default_device ? NULL : &device_new(!mock_fault.no_apple7)->object;
}
mock_array *MTLCopyAllDevices(void) {
    mock_array *all = mock_array_new();
    for (int fits = 0; fits < 2 && !mock_fault.no_device; fits++) {
        device *one = device_new(fits && !mock_fault.no_apple7);
        mock_array_add(all, one);
        mock_let_go(one);
    }
    return all;
}
