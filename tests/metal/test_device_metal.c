/* The Metal device over a mock of Apple's Metal: order, sizes, alignment, every error, and nothing left behind.
 *
 *   test_device_metal FOLDER       an empty folder of its own */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apple/mock/mock.h"
#include "check.h"
#include "gpu/device.h"

enum { PAGE = 16384 };
static char folder[512];
static mock_faults none;
static double now = 100; /* seconds */
double uocr_now(void) { return now; }

static const char *inside(const char *name) {
    static char path[4][1024];
    static unsigned at;
    snprintf(path[at %= 4], sizeof path[0], "%s/%s", folder, name);
    return path[at++];
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(inside(name), "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_sources(void) {
    put("uocr-kernels/one.metal", "kernel void alpha(device float *x) {}\nkernel void beta(device float *x) {}\n");
    put("uocr-kernels/two.metal", "kernel void gamma(device float *x) {}\n");
    put("uocr-kernels/notes.txt", "kernel void omega() {}\n");
}

static gpu_device *opened(const void *base, size_t bytes) {
    gpu_device *device = NULL;
    uocr_error error = {.size = sizeof error};
    if (gpu_device_open(base, bytes, &device, &error) != UOCR_OK) printf("%s\n", error.message);
    CHECK(device != NULL);
    return device;
}

/* All that was made is gone, the Mac may sleep, and Metal had nothing to object. */
static void closed(gpu_device *device) {
    if (device) device->destroy(device);
    mock_do_what_is_due();
    if (!CHECK(mock_alive() == 0)) mock_print_alive();
    CHECK_EQUAL(mock_activities, 0);
    CHECK_EQUAL(mock_count.private_bytes + mock_count.shared_bytes, 0);
    CHECK_EQUAL(mock_complaints(), 0);
    mock_fault = none;
    mock_count = (mock_counts){0};
    mock_forget();
}

static gpu_dispatch of(const char *kernel, gpu_memory *memory, size_t offset, size_t bytes) {
    return (gpu_dispatch){.kernel = kernel, .groups = {3, 2, 1}, .threads = 64,
                          .argument = {{.kind = GPU_BUFFER, .memory = memory, .offset = offset, .bytes = bytes}}};
}

static uocr_status encode(gpu_device *device, const char *kernel, gpu_memory *memory) {
    gpu_dispatch d = of(kernel, memory, 0, 64);
    return device->encode(device, &d);
}

/* ---- when all goes well ---- */

static void opening_takes_the_gpu_and_compiles_metal_3_without_fast_mathematics(void) {
    gpu_device *device = opened(NULL, 0);
    CHECK(strcmp(device->name, "metal") == 0 && device->multiply == NULL);
    CHECK_EQUAL(device->working_set, UINT64_C(10) << 30);
    CHECK_EQUAL(mock_count.compiled, 2);
    CHECK_EQUAL(mock_count.language, 3 << 16);
    CHECK_EQUAL(mock_count.fast_math, 0);
    CHECK(strcmp(device->failure(device), "") == 0);
    closed(device);
}

static void a_compiled_library_is_taken_before_the_sources(void) {
    put("uocr.metallib", "kernel void alpha()");
    gpu_device *device = opened(NULL, 0);
    CHECK_EQUAL(mock_count.compiled, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
    CHECK_EQUAL(encode(device, "gamma", memory), UOCR_BACKEND);
    CHECK_CONTAINS(device->failure(device), "have no function gamma; install the program again.");
    device->release(device, memory);
    unlink(inside("uocr.metallib"));
    closed(device);
}

static void a_submission_is_one_serial_encoder_and_runs_while_the_next_is_encoded(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    uint64_t number = 9;
    char seen[64];
    CHECK(device->submit(device, &number) == UOCR_OK && number == 0);
    CHECK_EQUAL(mock_activities, 0);
    CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
    CHECK_EQUAL(encode(device, "gamma", memory), UOCR_OK);
    CHECK_EQUAL(mock_activities, 1);
    CHECK(device->submit(device, &number) == UOCR_OK && number == 1);
    CHECK_EQUAL(encode(device, "beta", memory), UOCR_OK);
    CHECK(device->submit(device, &number) == UOCR_OK && number == 2);
    CHECK(device->submit(device, &number) == UOCR_OK && number == 2); /* nothing new */
    CHECK(strcmp(mock_log(), "compute dispatch:alpha dispatch:gamma end commit compute dispatch:beta end commit") == 0);
    mock_forget();
    CHECK_EQUAL(device->read_after(device, memory, 0, seen, 64, 1), UOCR_OK);
    CHECK(strcmp(mock_log(), "wait") == 0 && mock_count.finished == 1 && mock_activities == 1);
    CHECK_EQUAL(device->read_after(device, memory, 0, seen, 64, 1), UOCR_OK); /* has been waited for */
    CHECK(strcmp(mock_log(), "wait") == 0);
    CHECK_EQUAL(encode(device, "beta", memory), UOCR_OK);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    CHECK(strcmp(mock_log(), "wait compute dispatch:beta end commit wait wait") == 0);
    CHECK_EQUAL(mock_count.finished, 3);
    CHECK(device->seconds(device) == 1.0 + 0.75 + 0.75); /* each begins 0.25 before the one before it ends */
    device->release(device, memory);
    closed(device);
}

static void arguments_arrive_in_their_places(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_LOGITS, 4096);
    static const float weight[5] = {1, 2, 3, 4, 5};
    uint32_t args[3] = {7, 8, 9};
    gpu_dispatch d = of("alpha", memory, 1024, 3072);
    d.constants[0] = 11, d.constants[1] = 12, d.constant_count = 2;
    d.argument[2] = (gpu_argument){.kind = GPU_INLINE, .data = args, .bytes = sizeof args};
    d.argument[15] = (gpu_argument){.kind = GPU_WEIGHT, .data = weight, .bytes = sizeof weight};
    d.threadgroup[0] = 256, d.threadgroup[2] = 16;
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    args[0] = 0; /* copied at once */
    CHECK(strcmp(mock_last.kernel, "alpha") == 0);
    CHECK(mock_last.constants[0] == 11 && mock_last.constants[1] == 12 && mock_last.constants[2] == 0);
    CHECK(mock_last.groups[0] == 3 && mock_last.groups[1] == 2 && mock_last.groups[2] == 1 && mock_last.threads == 64);
    CHECK(mock_last.threadgroup[0] == 256 && mock_last.threadgroup[1] == 0 && mock_last.threadgroup[2] == 16);
    CHECK(mock_last.place[0] && mock_last.place[1] == NULL);
    CHECK(mock_last.place[2] && *(const uint32_t *)mock_last.place[2] == 7);
    CHECK(mock_last.place[15] && memcmp(mock_last.place[15], weight, sizeof weight) == 0);
    const uint8_t *first = mock_last.place[0];
    d.argument[0].offset = 0;
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    CHECK(first - (const uint8_t *)mock_last.place[0] == 1024);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    device->release(device, memory);
    closed(device);
}

static void a_pipeline_is_made_once_for_its_kernel_constants_and_threads(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    gpu_dispatch d = of("alpha", memory, 0, 64);
    for (int round = 0; round < 3; round++) CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    CHECK_EQUAL(mock_count.pipelines, 1);
    d.constant_count = 1;
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    d.constants[0] = 1;
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    d.threads = 128;
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    d.kernel = "beta";
    CHECK_EQUAL(device->encode(device, &d), UOCR_OK);
    CHECK_EQUAL(mock_count.pipelines, 5);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    for (uint32_t i = 2; i < 600 && d.constants[0] + 1 == i; i++) { /* until the table is full */
        d.constants[0] = i;
        if (device->encode(device, &d) != UOCR_OK) break;
    }
    CHECK_EQUAL(mock_count.pipelines, 511);
    CHECK_CONTAINS(device->failure(device), "more than 511 kinds of kernels");
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    device->release(device, memory);
    closed(device);
}

static void memory_is_zeroed_and_private_where_only_kernels_use_it(void) {
    static const struct { uint32_t category; bool private; } cases[] = {
        {UOCR_MEMORY_KV_CACHE, true},          {UOCR_MEMORY_PROMPT_EMBEDDINGS, false},
        {UOCR_MEMORY_VISION_WORKSPACE, false}, {UOCR_MEMORY_VISION_FEATURES, false},
        {UOCR_MEMORY_HOST_STAGING, false},     {UOCR_MEMORY_DECODER_SCRATCH, true},
        {UOCR_MEMORY_MOE_SCRATCH, true},       {UOCR_MEMORY_LOGITS, false},
        {UOCR_MEMORY_TRANSIENT, false}};
    enum { BYTES = (2 << 20) + 5 };
    uint8_t *seen = malloc(BYTES), *wanted = calloc(1, BYTES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_device *device = opened(NULL, 0);
        gpu_memory *memory = device->create(device, cases[i].category, BYTES);
        CHECK((mock_count.private_bytes > 0) == cases[i].private && (mock_count.shared_bytes > 0) != cases[i].private);
        CHECK_EQUAL(device->read(device, memory, 0, seen, BYTES), UOCR_OK);
        CHECK(memcmp(seen, wanted, BYTES) == 0);
        for (size_t at = 0; at < 7; at++)
            for (size_t bytes = 0; bytes < 6; bytes++) { /* words, and parts of them */
                uint8_t some[8];
                for (size_t b = 0; b < bytes; b++) wanted[at + b] = some[b] = (uint8_t)(17 * at + 5 * bytes + b + 1);
                CHECK_EQUAL(device->write(device, memory, at, some, bytes), UOCR_OK);
                CHECK_EQUAL(device->read(device, memory, 0, seen, 16), UOCR_OK);
                CHECK(memcmp(seen, wanted, 16) == 0);
            }
        for (size_t b = 0; b < BYTES; b++) wanted[b] = (uint8_t)(b * 2654435761u >> 13);
        CHECK_EQUAL(device->write(device, memory, 3, wanted + 3, BYTES - 3), UOCR_OK);
        CHECK_EQUAL(device->read(device, memory, 1, seen + 1, BYTES - 1), UOCR_OK);
        CHECK(memcmp(seen + 7, wanted + 7, BYTES - 7) == 0);
        memset(wanted, 0, BYTES);
        device->release(device, memory);
        memory = device->create(device, cases[i].category, 0); /* of nothing is a buffer too */
        CHECK(memory != NULL);
        device->release(device, memory);
        closed(device);
    }
    free(seen), free(wanted);
}

static void weights_are_used_where_the_model_is_mapped(void) {
    const size_t bytes = 16 * PAGE;
    const uint64_t layer[] = {2 * PAGE, 5 * PAGE, 7 * PAGE}; /* the last is longer than a view may be */
    uint8_t *model = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mock_fault.largest_buffer = 4 * PAGE;
    gpu_device *device = opened(model, bytes);
    CHECK_EQUAL(device->lay_out(device, layer, 3), UOCR_OK);
    CHECK_EQUAL(mock_count.views, 6); /* two layers, one layer in four pieces */
    CHECK(mock_count.view_bytes >= 14 * PAGE && mock_count.shared_bytes == 0); /* nothing is copied */
    const struct { size_t at, bytes; bool fits; } cases[] = {
        {2 * PAGE, 3 * PAGE, true}, {5 * PAGE + 128, PAGE, true}, {7 * PAGE, 2 * PAGE, true},
        {8 * PAGE + 128, 2 * PAGE, true}, {15 * PAGE, PAGE, true}, {15 * PAGE, PAGE + 1, false}, {0, 64, false},
        {7 * PAGE, 5 * PAGE, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_dispatch d = {.kernel = "alpha", .groups = {1, 1, 1}, .threads = 32,
                          .argument = {{.kind = GPU_WEIGHT, .data = model + cases[i].at, .bytes = cases[i].bytes}}};
        CHECK_EQUAL(device->encode(device, &d), cases[i].fits ? UOCR_OK : UOCR_BACKEND);
        if (cases[i].fits) CHECK(mock_last.place[0] == model + cases[i].at);
        else CHECK_CONTAINS(device->failure(device), "lies in no view of the model");
    }
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    closed(device);
    munmap(model, bytes);
}

static void no_more_submissions_are_underway_than_a_queue_takes(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    for (uint64_t i = 1; i <= 200; i++) {
        uint64_t number;
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
        CHECK(device->submit(device, &number) == UOCR_OK && number == i);
    }
    CHECK_EQUAL(mock_count.in_flight_at_most, 32);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    CHECK_EQUAL(mock_count.finished, 200);
    device->release(device, memory);
    closed(device);
}

static void products_of_halves_go_to_apples_library_when_asked_for(void) {
    setenv("UOCR_METAL_MPS", "1", 1);
    gpu_device *device = opened(NULL, 0);
    unsetenv("UOCR_METAL_MPS");
    enum { ROWS = 5, COLS = 7, DEPTH = 16, STRIDE = 20 };
    static _Float16 w[COLS * DEPTH];
    float x[ROWS * STRIDE], y[ROWS * COLS], seen[ROWS * COLS];
    for (size_t i = 0; i < COLS * DEPTH; i++) w[i] = (_Float16)((int)(i * 7 % 11) - 5);
    for (size_t i = 0; i < ROWS * STRIDE; i++) x[i] = (float)((int)(i * 5 % 13) - 6);
    gpu_memory *in = device->create(device, UOCR_MEMORY_TRANSIENT, sizeof x),
               *out = device->create(device, UOCR_MEMORY_TRANSIENT, sizeof y);
    CHECK_EQUAL(device->write(device, in, 0, x, sizeof x), UOCR_OK);
    gpu_matrix_product p = {.x = {.kind = GPU_BUFFER, .memory = in, .bytes = sizeof x},
                            .w = {.kind = GPU_WEIGHT, .data = w, .bytes = sizeof w},
                            .y = {.kind = GPU_BUFFER, .memory = out, .bytes = sizeof y},
                            .rows = ROWS, .cols = COLS, .depth = DEPTH, .x_stride = STRIDE, .y_stride = COLS};
    mock_forget();
    CHECK_EQUAL(encode(device, "alpha", in), UOCR_OK);
    CHECK_EQUAL(device->multiply(device, &p), UOCR_OK);
    p.accumulate = 1;
    CHECK_EQUAL(device->multiply(device, &p), UOCR_OK);
    CHECK_EQUAL(encode(device, "beta", out), UOCR_OK);
    CHECK_EQUAL(device->read(device, out, 0, seen, sizeof seen), UOCR_OK);
    CHECK(strcmp(mock_log(), "compute dispatch:alpha end product product compute dispatch:beta end commit wait") == 0);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLS; c++) {
            float sum = 0;
            for (size_t k = 0; k < DEPTH; k++) sum += x[r * STRIDE + k] * (float)w[c * DEPTH + k];
            CHECK(seen[r * COLS + c] == 2 * sum);
        }
    p.y.bytes++; /* past its memory */
    CHECK_EQUAL(device->multiply(device, &p), UOCR_BACKEND);
    device->release(device, in);
    device->release(device, out);
    closed(device);
}

static void while_somebody_waits(void) {
    now += 1000; /* longer than any rest */
    mock_do_what_is_due();
    CHECK_EQUAL(mock_activities, 1);
}

static void the_mac_stays_awake_under_work_and_not_much_longer(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    CHECK_EQUAL(mock_activities, 0);
    for (int token = 0; token < 50; token++) { /* a second each: nobody may sleep in between */
        CHECK(encode(device, "alpha", memory) == UOCR_OK && device->wait(device) == UOCR_OK);
        now += 1;
        if (token % 10 == 9) mock_do_what_is_due();
        CHECK_EQUAL(mock_activities, 1);
    }
    CHECK(encode(device, "alpha", memory) == UOCR_OK && device->submit(device, NULL) == UOCR_OK);
    now += 11; /* paused, with a token underway that nobody waits for */
    mock_do_what_is_due();
    CHECK_EQUAL(mock_activities, 0);
    mock_at_wait = while_somebody_waits;
    CHECK(encode(device, "alpha", memory) == UOCR_OK && device->wait(device) == UOCR_OK);
    mock_at_wait = NULL;
    CHECK_EQUAL(mock_activities, 1);
    mock_do_what_is_due();
    CHECK_EQUAL(mock_activities, 0);
    device->release(device, memory);
    closed(device);
}

/* ---- pipelines that are kept ---- */

static unsigned run_once(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    CHECK(encode(device, "alpha", memory) == UOCR_OK && encode(device, "gamma", memory) == UOCR_OK);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    device->release(device, memory);
    device->destroy(device);
    unsigned kept = mock_count.from_archive * 100 + mock_count.added_to_archive * 10 + mock_count.saved;
    closed(NULL);
    return kept;
}

static unsigned files_kept(const char *ending) {
    DIR *open_folder = opendir(inside("cache/pipelines"));
    unsigned count = 0;
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder)) != NULL;) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        count += entry->d_name[0] != '.' && length >= tail && strcmp(entry->d_name + length - tail, ending) == 0;
    }
    if (open_folder) closedir(open_folder);
    return count;
}

static void pipelines_are_kept_for_the_next_run(void) {
    CHECK_EQUAL(run_once(), 0 * 100 + 2 * 10 + 1);
    CHECK_EQUAL(run_once(), 2 * 100 + 0 * 10 + 0);
    mock_fault.archive_damaged = true;
    CHECK_EQUAL(run_once(), 0 * 100 + 2 * 10 + 1); /* as if there were none, and written anew */
    CHECK_EQUAL(run_once(), 2 * 100);
    put("uocr-kernels/two.metal", "kernel void gamma(device half *x) {}\n");
    mock_fault.archive_unwritable = true;
    CHECK_EQUAL(run_once(), 2 * 10); /* other kernels are another archive */
    CHECK_EQUAL(files_kept(".metalarchive"), 1);
    CHECK_EQUAL(files_kept(""), 1); /* nothing half written is left */
    CHECK_EQUAL(run_once(), 2 * 10 + 1);
    CHECK_EQUAL(files_kept(".metalarchive"), 2);
    mock_fault.no_archive = true;
    CHECK_EQUAL(run_once(), 0);
    setenv("UOCR_CACHE", "/dev/null/nowhere", 1);
    CHECK_EQUAL(run_once(), 0);
    unsetenv("UOCR_CACHE");
    setenv("HOME", folder, 1);
    CHECK_EQUAL(run_once(), 0); /* no Library/Caches in it */
    CHECK(mkdir(inside("Library"), 0700) == 0 && mkdir(inside("Library/Caches"), 0700) == 0);
    CHECK_EQUAL(run_once(), 2 * 10 + 1);
    CHECK_EQUAL(run_once(), 2 * 100);
    CHECK(access(inside("Library/Caches/leggio/pipelines"), F_OK) == 0);
    setenv("UOCR_CACHE", inside("cache"), 1);
    put_sources();
}

/* ---- when it does not ---- */

static void refused(const char *why) {
    gpu_device *device = (gpu_device *)(void *)&none;
    uocr_error error = {.size = sizeof error};
    CHECK_EQUAL(gpu_device_open(NULL, 0, &device, &error), UOCR_BACKEND);
    CHECK(device == NULL && error.status == UOCR_BACKEND);
    CHECK_CONTAINS(error.message, why);
    size_t length = strlen(error.message);
    CHECK(length > 0 && error.message[length - 1] == '.' && strchr(error.message, '\n') == NULL);
    closed(NULL);
}

static void a_mac_that_will_not_do_is_refused_in_a_sentence(void) {
    mock_fault.no_device = true;
    refused("Metal offers this program no GPU; use the cpu back end.");
    mock_fault.no_apple7 = true;
    refused("The GPU of this Mac (Intel UHD) has no Metal 3 with simdgroup matrices, which needs an M1 or newer");
    mock_fault.no_metal3 = true;
    refused("has no Metal 3");
    mock_fault.no_queue = true;
    refused("no command queue");
    mock_fault.no_default_device = true; /* a session without a screen: the one of all that fits */
    closed(opened(NULL, 0));
}

static void kernels_that_will_not_do_are_refused_in_a_sentence(void) {
    mock_fault.source_error = "gamma";
    refused("uocr-kernels/two.metal cannot be used on this GPU: program_source: gemm.metal:12:3: error: unknown type; "
            "install the program again.");
    put("uocr.metallib", "kernel void alpha()");
    mock_fault.library_damaged = true;
    refused("uocr.metallib cannot be used on this GPU: invalid library file; install the program again.");
    unlink(inside("uocr.metallib"));
    CHECK(mkdir(inside("uocr.metallib"), 0700) == 0);
    refused("uocr.metallib cannot be read: Invalid argument.");
    rmdir(inside("uocr.metallib"));
    setenv("UOCR_METAL_KERNELS", inside("cache"), 1);
    refused("Neither uocr.metallib nor uocr-kernels/*.metal lies in ");
    char longest[1100];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    setenv("UOCR_METAL_KERNELS", longest, 1);
    refused("The folder of the kernels cannot be found");
    unsetenv("UOCR_METAL_KERNELS"); /* beside the code itself, where there are none */
    refused("Neither uocr.metallib nor uocr-kernels/*.metal lies in ");
    setenv("UOCR_METAL_KERNELS", folder, 1);
}

static void a_dispatch_that_the_gpu_cannot_take_is_told_and_the_next_one_runs(void) {
    static const struct {
        mock_faults fault;
        uint32_t threadgroup;
        size_t offset, inlined;
        const char *kernel, *why;
    } cases[] = {
        {.kernel = "omega", .why = "The kernels have no function omega; install the program again."},
        {.fault.function_error = "alpha", .why = "Kernel alpha cannot be specialised: function constant 3 is not set."},
        {.fault.pipeline_error = "alpha", .why = "Kernel alpha cannot be made for this GPU: too many registers."},
        {.fault.most_threads = 32, .why = "Kernel alpha needs 64 threads in simdgroups of 32; this GPU offers 32 in"},
        {.fault.simd_width = 16, .why = "this GPU offers 1024 in simdgroups of 16."},
        {.fault.static_threadgroup = 1024, .threadgroup = 31760, .why = "needs 32784 bytes of threadgroup memory and "
                                                                        "this GPU has 32768."},
        {.fault.no_command_buffer = true, .why = "The GPU takes no more work."},
        {.fault.no_encoder = true, .why = "The GPU takes no more work."},
        {.offset = 4, .why = "alpha: buffer(0) ends past its memory"},
        {.inlined = 4097, .why = "alpha: an inline argument is too long"},
    };
    static const uint8_t bytes[5000];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_device *device = opened(NULL, 0);
        gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
        gpu_dispatch d = of(cases[i].kernel ? cases[i].kernel : "alpha", memory, cases[i].offset, 64);
        d.threadgroup[1] = cases[i].threadgroup;
        if (cases[i].inlined)
            d.argument[1] = (gpu_argument){.kind = GPU_INLINE, .data = bytes, .bytes = cases[i].inlined};
        mock_fault = cases[i].fault;
        CHECK_EQUAL(device->encode(device, &d), UOCR_BACKEND);
        CHECK_CONTAINS(device->failure(device), cases[i].why);
        mock_fault = none;
        CHECK_EQUAL(device->wait(device), UOCR_OK);
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
        CHECK_EQUAL(device->wait(device), UOCR_OK);
        CHECK_EQUAL(mock_count.dispatches, 1);
        device->release(device, memory);
        closed(device);
    }
}

static void memory_that_is_not_there_is_null_or_an_error(void) {
    gpu_device *device = opened(NULL, 0);
    CHECK(device->create(device, UOCR_MEMORY_KV_CACHE, (size_t)3 << 30) == NULL); /* more than one buffer holds */
    mock_fault.buffers_left = 1;
    CHECK(device->create(device, UOCR_MEMORY_LOGITS, 64) == NULL);
    mock_fault.command_buffer_fails = 1, mock_fault.command_buffers_fail_with = 8; /* while it is cleared */
    CHECK(device->create(device, UOCR_MEMORY_KV_CACHE, 64) == NULL);
    mock_fault.no_command_buffer = true;
    CHECK(device->create(device, UOCR_MEMORY_KV_CACHE, 64) == NULL);
    mock_fault = none;
    gpu_memory *memory = device->create(device, UOCR_MEMORY_KV_CACHE, 64);
    char seen[64] = {0};
    mock_fault.buffers_left = 1;
    CHECK_EQUAL(device->read(device, memory, 0, seen, 64), UOCR_BACKEND);
    CHECK_CONTAINS(device->failure(device), "no memory for a copy");
    for (unsigned n = 1; n <= 2; n++) { /* there, and back */
        mock_fault.command_buffer_fails = n, mock_fault.command_buffers_fail_with = 8;
        CHECK_EQUAL(device->write(device, memory, 0, seen, 64), UOCR_BACKEND);
        CHECK_CONTAINS(device->failure(device), "there was not enough memory, close other programs");
    }
    CHECK_EQUAL(device->write(device, memory, 0, seen, 64), UOCR_OK);
    device->release(device, memory);
    closed(device);

    uint8_t *model = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t layer[] = {PAGE, 2 * PAGE, 3 * PAGE};
    mock_fault.largest_buffer = 2 * PAGE;
    device = opened(model, 4 * PAGE);
    mock_fault.buffers_left = 2;
    CHECK_EQUAL(device->lay_out(device, layer, 3), UOCR_BACKEND);
    CHECK_CONTAINS(device->failure(device), "The GPU cannot use 0.0 MB of the model as they lie in memory");
    closed(device);
    mock_fault.largest_buffer = 2 * PAGE;
    device = opened(model + 64, 3 * PAGE);
    CHECK_EQUAL(device->lay_out(device, layer, 1), UOCR_BACKEND); /* not at a page */
    closed(device);
    munmap(model, 4 * PAGE);
}

static void a_command_buffer_that_fails_is_told_once_and_work_starts_afresh(void) {
    static const struct { unsigned code; const char *why; } cases[] = {
        {1, "Work on the GPU failed: an error of the GPU or its driver (Caused GPU Hang Error, code 1)."},
        {2, "it ran too long and was stopped"},
        {7, "does not let this program use the GPU now"},
        {8, "there was not enough memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_device *device = opened(NULL, 0);
        gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
        char seen[64];
        uint64_t number;
        mock_fault.command_buffer_fails = 2, mock_fault.command_buffers_fail_with = cases[i].code;
        for (int submission = 0; submission < 4; submission++)
            CHECK(encode(device, "alpha", memory) == UOCR_OK && device->submit(device, &number) == UOCR_OK);
        CHECK_EQUAL(encode(device, "beta", memory), UOCR_OK); /* not submitted: dropped with the rest */
        CHECK_EQUAL(device->read_after(device, memory, 0, seen, 64, 1), UOCR_OK);
        CHECK_EQUAL(device->read_after(device, memory, 0, seen, 64, 3), UOCR_BACKEND);
        CHECK_CONTAINS(device->failure(device), cases[i].why);
        CHECK(mock_count.committed == 4 && mock_count.finished == 4);
        CHECK_EQUAL(device->read_after(device, memory, 0, seen, 64, 4), UOCR_OK); /* told once */
        CHECK_EQUAL(device->wait(device), UOCR_OK);
        CHECK(encode(device, "alpha", memory) == UOCR_OK && device->submit(device, &number) == UOCR_OK);
        CHECK_EQUAL(number, 5);
        CHECK_EQUAL(device->wait(device), UOCR_OK);
        mock_fault.command_buffer_fails = 1; /* the writer is told too */
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
        CHECK_EQUAL(device->write(device, memory, 0, seen, 64), UOCR_BACKEND);
        device->release(device, memory);
        closed(device);
    }
}

static void a_failure_is_told_by_submit_when_it_has_to_wait(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    mock_fault.command_buffer_fails = 1, mock_fault.command_buffers_fail_with = 2;
    uocr_status status = UOCR_OK;
    int submissions = 0;
    for (; status == UOCR_OK && submissions < 100; submissions++) {
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
        status = device->submit(device, NULL);
    }
    CHECK(status == UOCR_BACKEND && submissions == 33 && mock_count.committed == 32);
    CHECK_EQUAL(device->wait(device), UOCR_OK);
    device->release(device, memory);
    closed(device);
}

static void a_gpu_that_is_lost_takes_no_more_work(void) {
    static const unsigned codes[] = {4, 11};
    for (size_t i = 0; i < 2; i++) {
        gpu_device *device = opened(NULL, 0);
        gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
        mock_fault.command_buffer_fails = 1, mock_fault.command_buffers_fail_with = codes[i];
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_OK);
        CHECK_EQUAL(device->wait(device), UOCR_BACKEND);
        CHECK_CONTAINS(device->failure(device), "the GPU is lost to this program");
        CHECK_EQUAL(encode(device, "alpha", memory), UOCR_BACKEND);
        CHECK_CONTAINS(device->failure(device), "open the engine again, or use the cpu back end.");
        CHECK_EQUAL(device->wait(device), UOCR_OK);
        device->release(device, memory);
        closed(device);
    }
}

static void work_that_nobody_waits_for_is_dropped_at_the_end(void) {
    gpu_device *device = opened(NULL, 0);
    gpu_memory *memory = device->create(device, UOCR_MEMORY_TRANSIENT, 64);
    for (int i = 0; i < 3; i++)
        CHECK(encode(device, "alpha", memory) == UOCR_OK && device->submit(device, NULL) == UOCR_OK);
    CHECK_EQUAL(encode(device, "beta", memory), UOCR_OK);
    device->release(device, memory); /* command buffers hold what they use */
    device->destroy(device);
    CHECK(mock_count.committed == 3 && mock_count.finished == 3);
    closed(NULL);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    snprintf(folder, sizeof folder, "%s", arguments[1]);
    CHECK(mkdir(inside("uocr-kernels"), 0700) == 0);
    setenv("UOCR_METAL_KERNELS", folder, 1);
    setenv("UOCR_CACHE", inside("cache"), 1);
    put_sources();
    opening_takes_the_gpu_and_compiles_metal_3_without_fast_mathematics();
    pipelines_are_kept_for_the_next_run();
    a_compiled_library_is_taken_before_the_sources();
    a_submission_is_one_serial_encoder_and_runs_while_the_next_is_encoded();
    arguments_arrive_in_their_places();
    a_pipeline_is_made_once_for_its_kernel_constants_and_threads();
    memory_is_zeroed_and_private_where_only_kernels_use_it();
    weights_are_used_where_the_model_is_mapped();
    no_more_submissions_are_underway_than_a_queue_takes();
    the_mac_stays_awake_under_work_and_not_much_longer();
    products_of_halves_go_to_apples_library_when_asked_for();
    a_mac_that_will_not_do_is_refused_in_a_sentence();
    kernels_that_will_not_do_are_refused_in_a_sentence();
    a_dispatch_that_the_gpu_cannot_take_is_told_and_the_next_one_runs();
    memory_that_is_not_there_is_null_or_an_error();
    a_command_buffer_that_fails_is_told_once_and_work_starts_afresh();
    a_failure_is_told_by_submit_when_it_has_to_wait();
    a_gpu_that_is_lost_takes_no_more_work();
    work_that_nobody_waits_for_is_dropped_at_the_end();
    return check_result();
}
