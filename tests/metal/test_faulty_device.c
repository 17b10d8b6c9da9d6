/* Runs over a device that fails: once, and the run goes on with the same tokens; for good, and the run ends with one
 * clear error, the engine closes, nothing is left behind. The device is the host's, with functions of its own in
 * places. */
#include <stdbool.h>

#define gpu_device_open host_device_open
#include "gpu/device_host.c"
#undef gpu_device_open

#include "run_support.h"

#include "bytes.h"
#include "engine.h"
#include "gpu/gpu.h"
#include "uocr_inspect.h"

static char lively[64];
static int32_t ids[TINY_PROMPT];

/* ---- the fault ---- */

typedef enum fault_kind {
    NO_FAULT,
    LOST_WORK,    /* a submission fails half done, and what follows it is gone */
    REFUSED,      /* a dispatch is not taken; what was encoded before it runs */
    NO_MEMORY,    /* a buffer cannot be made */
    NO_KERNEL,    /* the kernel is not in the library */
    BAD_SOURCE,   /* its source does not compile */
    NEW_LIBRARY,  /* no fault: products of halves are the device's own */
    SMALL_DEVICE, /* holds little at once */
    NO_DEVICE,
} fault_kind;

static struct {
    fault_kind kind;
    uint32_t countdown; /* until it strikes, in events of its kind */
    bool lasting;       /* and every time after that */
    uint32_t struck;
    const char *kernel; /* NO_KERNEL, BAD_SOURCE */
    uint32_t products;
    gpu_device real; /* the device's own functions */
} fault;

static bool strikes(fault_kind kind) {
    if (fault.kind != kind || (fault.countdown > 0 && --fault.countdown > 0)) return false;
    if (fault.struck && !fault.lasting) return false;
    fault.struck++;
    return true;
}

/* Half of what is queued runs, the rest never does. */
static uocr_status lose_work(gpu_device *device) {
    host_device *h = host_of(device);
    for (size_t i = h->first, end = h->first + (h->count - h->first) / 2; i < end; i++) run_one(h, &h->queue[i]);
    drop_queue(h);
    return failed(h, "The GPU has stopped: internal error 14 of a command buffer");
}

static bool loses(gpu_device *device) {
    return host_of(device)->count > host_of(device)->first && strikes(LOST_WORK);
}

static uocr_status faulty_wait(gpu_device *device) {
    return loses(device) ? lose_work(device) : fault.real.wait(device);
}

static uocr_status faulty_read(gpu_device *device, gpu_memory *m, size_t offset, void *target, size_t bytes) {
    return loses(device) ? lose_work(device) : fault.real.read(device, m, offset, target, bytes);
}

static uocr_status faulty_write(gpu_device *device, gpu_memory *m, size_t offset, const void *source, size_t bytes) {
    return loses(device) ? lose_work(device) : fault.real.write(device, m, offset, source, bytes);
}

static uocr_status faulty_read_after(gpu_device *device, gpu_memory *m, size_t offset, void *target, size_t bytes,
                                     uint64_t number) {
    return loses(device) ? lose_work(device) : fault.real.read_after(device, m, offset, target, bytes, number);
}

static gpu_memory *faulty_create(gpu_device *device, uint32_t category, size_t bytes) {
    return strikes(NO_MEMORY) ? NULL : fault.real.create(device, category, bytes);
}

static uocr_status faulty_encode(gpu_device *device, const gpu_dispatch *dispatch) {
    bool mine = fault.kernel && strcmp(dispatch->kernel, fault.kernel) == 0;
    host_device *h = host_of(device);
    if (strikes(REFUSED)) return failed(h, "The GPU takes no more work");
    if (mine && strikes(NO_KERNEL)) return failed(h, "the library has no kernel that was asked for");
    if (mine && strikes(BAD_SOURCE)) return failed(h, "the kernels do not compile: 12:3: error: no such type");
    return fault.real.encode(device, dispatch);
}

/* Float64, in the place of the maker's library. */
static uocr_status product_of_halves(gpu_device *device, const gpu_matrix_product *p) {
    uocr_status status = fault.real.wait(device);
    const float *x = (const float *)(void *)(p->x.memory->data + p->x.offset);
    float *y = (float *)(void *)(p->y.memory->data + p->y.offset);
    CHECK(p->w.kind == GPU_WEIGHT && p->w.bytes == (size_t)2 * p->cols * p->depth && p->rows > 1);
    for (uint32_t r = 0; r < p->rows; r++)
        for (uint32_t c = 0; c < p->cols; c++) {
            double sum = p->accumulate ? (double)y[r * p->y_stride + c] : 0;
            for (uint32_t k = 0; k < p->depth; k++) {
                const uint8_t *w = (const uint8_t *)p->w.data + 2 * ((size_t)c * p->depth + k);
                sum += (double)x[r * p->x_stride + k] * (double)uocr_load_f16(w);
            }
            y[r * p->y_stride + c] = (float)sum;
        }
    fault.products++;
    return status;
}

uocr_status gpu_device_open(const void *base, size_t bytes, gpu_device **out, uocr_error *error) {
    if (fault.kind == NO_DEVICE) return uocr_fail(error, UOCR_BACKEND, 0, 0, "There is no GPU.");
    uocr_status status = host_device_open(base, bytes, out, error);
    if (status != UOCR_OK) return status;
    fault.real = **out;
    (*out)->wait = faulty_wait;
    (*out)->read = faulty_read;
    (*out)->write = faulty_write;
    (*out)->read_after = faulty_read_after;
    (*out)->create = faulty_create;
    (*out)->encode = faulty_encode;
    if (fault.kind == NEW_LIBRARY) (*out)->multiply = product_of_halves;
    if (fault.kind == SMALL_DEVICE) (*out)->working_set = (uint64_t)1 << 28;
    return UOCR_OK;
}

/* ---- runs ---- */

static void read_page(uocr_engine *engine, const uocr_plan *plan, bool ordinary, outcome *out) {
    uocr_run *run = tiny_begin(engine, plan);
    if (ordinary) CHECK_EQUAL(uocr_inspect_capture(run, "logits", NULL), UOCR_OK);
    tiny_drive(run, plan, 0, out);
    uocr_run_end(run);
}

static uocr_plan plan_of(uint32_t pages, uint32_t ring) {
    uocr_plan plan = tiny_plan(ids, pages, pages ? 512 : 0, 0, 0);
    plan.ignore_eos = 1;
    plan.max_new_tokens = 10;
    plan.ring_window = ring;
    return plan;
}

static void strike(fault_kind kind, uint32_t countdown, bool lasting) {
    fault.kind = kind;
    fault.countdown = countdown;
    fault.lasting = lasting;
    fault.struck = 0;
}

/* Wherever work is lost once, the tokens are those of a sound device. */
static void work_lost_once_is_done_again(uint32_t pages, uint32_t ring, bool ordinary, uint32_t step) {
    static outcome sound, out;
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_FAST, 1);
    uocr_plan plan = plan_of(pages, ring);
    uint64_t before = memory_now(engine);
    uint32_t places = 0;
    strike(NO_FAULT, 0, false);
    read_page(engine, &plan, ordinary, &sound);
    CHECK_EQUAL(sound.status, UOCR_OK);
    for (uint32_t countdown = 1;; countdown += step, places++) {
        strike(LOST_WORK, countdown, false);
        read_page(engine, &plan, ordinary, &out);
        if (!fault.struck) break;
        CHECK_EQUAL(out.status, UOCR_OK);
        CHECK_EQUAL(out.finish, UOCR_FINISH_LENGTH);
        check_same_tokens(&sound, &out);
        CHECK_EQUAL(memory_now(engine), before);
    }
    CHECK(places > 5);
    uocr_engine_close(engine);
}

/* Behind a ring that has turned, a step that may have overwritten its oldest key cannot be taken back: the run says so
 * and does not guess. */
static void tokens_are_right_or_not_given_at_all(fault_kind kind) {
    static outcome sound, out;
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_FAST, 1);
    uocr_plan plan = plan_of(0, 3);
    plan.max_new_tokens = 7;
    uint32_t refused = 0, repeated = 0;
    strike(NO_FAULT, 0, false);
    read_page(engine, &plan, false, &sound);
    for (uint32_t countdown = 1;; countdown += kind == REFUSED ? 3 : 1) {
        strike(kind, countdown, false);
        read_page(engine, &plan, false, &out);
        if (!fault.struck) break;
        refused += out.status == UOCR_BACKEND;
        repeated += out.status == UOCR_OK;
        CHECK(memcmp(out.id, sound.id, out.tokens * sizeof *out.id) == 0);
        CHECK_EQUAL(out.tokens == sound.tokens, out.status == UOCR_OK);
    }
    CHECK(refused > 2 && repeated > 3);
    uocr_engine_close(engine);
}

/* What never works is told once, in one sentence, and the engine stays good for when it works again. */
static void a_lasting_fault_is_one_clear_error(fault_kind kind, uint32_t countdown, const char *kernel,
                                               uocr_status status, const char *says) {
    static outcome out;
    strike(NO_FAULT, 0, false);
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_FAST, 1);
    uocr_plan plan = plan_of(1, 0);
    uint64_t before = memory_now(engine);
    fault.kernel = kernel;
    strike(kind, countdown, true);
    read_page(engine, &plan, false, &out);
    CHECK(fault.struck > 0);
    CHECK_EQUAL(out.status, status);
    CHECK_EQUAL(out.error.status, status);
    CHECK_CONTAINS(out.error.message, says);
    CHECK_EQUAL(memory_now(engine), before);
    strike(NO_FAULT, 0, false);
    read_page(engine, &plan, false, &out);
    CHECK_EQUAL(out.status, UOCR_OK);
    CHECK_EQUAL(out.tokens, plan.max_new_tokens);
    uocr_engine_close(engine);
}

static uocr_status open_as(uint32_t backend, uint64_t budget, uocr_engine **engine, uocr_error *error) {
    uocr_engine_options options = tiny_engine_options(lively, UOCR_PRECISION_FAST, 1);
    options.backend = backend;
    options.memory_budget = budget;
    *engine = NULL;
    return uocr_engine_open(&options, engine, error);
}

static void the_working_set_bounds_the_budget(void) {
    enum { SET = 1 << 28 };
    uocr_error error = {.size = sizeof error};
    uocr_memory_report report = {.size = sizeof report};
    uocr_engine *engine;
    strike(SMALL_DEVICE, 0, false);
    CHECK_EQUAL(open_as(UOCR_BACKEND_METAL, 0, &engine, &error), UOCR_OK);
    uocr_engine_memory(engine, &report);
    CHECK_EQUAL(report.budget, SET);
    uocr_engine_close(engine);
    CHECK_EQUAL(open_as(UOCR_BACKEND_METAL, SET, &engine, &error), UOCR_OK);
    uocr_engine_close(engine);
    CHECK_EQUAL(open_as(UOCR_BACKEND_METAL, (uint64_t)SET + 1, &engine, &error), UOCR_OVER_BUDGET);
    CHECK(engine == NULL);
    CHECK_EQUAL(error.number, SET + 1);
    CHECK_EQUAL(error.limit, SET);
    CHECK_CONTAINS(error.message, "268.4 MB");
    strike(NO_FAULT, 0, false);
}

static void no_memory_at_open_is_told(void) {
    uocr_error error = {.size = sizeof error};
    uocr_engine *engine;
    strike(NO_MEMORY, 1, true);
    CHECK(open_as(UOCR_BACKEND_METAL, 0, &engine, &error) != UOCR_OK);
    CHECK(engine == NULL && fault.struck > 0);
    CHECK_CONTAINS(error.message, "memory");
    strike(NO_FAULT, 0, false);
}

static void check_opens_on(uint32_t asked, const char *name) {
    uocr_error error = {.size = sizeof error};
    uocr_model_info info = {.size = sizeof info};
    uocr_engine *engine;
    outcome out;
    uocr_plan plan = plan_of(0, 0);
    CHECK_EQUAL(open_as(asked, 0, &engine, &error), UOCR_OK);
    CHECK_EQUAL(uocr_engine_info(engine, &info, &error), UOCR_OK);
    CHECK(strcmp(info.backend, name) == 0);
    tiny_read(engine, &plan, &out);
    CHECK_EQUAL(out.tokens, plan.max_new_tokens);
    uocr_engine_close(engine);
}

/* This program is built as for Apple's systems, where the GPU comes first. */
static void the_gpu_comes_first_where_it_opens(void) {
    uocr_error error = {.size = sizeof error};
    uocr_engine *engine;
    strike(NO_FAULT, 0, false);
    check_opens_on(UOCR_BACKEND_AUTO, "host");
    check_opens_on(UOCR_BACKEND_CPU, "cpu");
    strike(NO_DEVICE, 0, false);
    check_opens_on(UOCR_BACKEND_AUTO, "cpu");
    CHECK_EQUAL(open_as(UOCR_BACKEND_METAL, 0, &engine, &error), UOCR_BACKEND);
    CHECK(engine == NULL);
    CHECK_CONTAINS(error.message, "There is no GPU.");
    strike(NO_MEMORY, 1, true);
    check_opens_on(UOCR_BACKEND_AUTO, "cpu");
    strike(NO_FAULT, 0, false);
}

static void the_makers_library_takes_products_of_halves(void) {
    static outcome ours, theirs;
    uocr_plan plan = plan_of(1, 0);
    strike(NO_FAULT, 0, false);
    uocr_engine *engine = tiny_open(lively, UOCR_PRECISION_FAST, 1);
    read_page(engine, &plan, false, &ours);
    uocr_engine_close(engine);
    strike(NEW_LIBRARY, 0, false);
    engine = tiny_open(lively, UOCR_PRECISION_FAST, 1);
    read_page(engine, &plan, false, &theirs);
    uocr_engine_close(engine);
    CHECK(fault.products > 0);
    CHECK_EQUAL(theirs.status, UOCR_OK);
    CHECK_EQUAL(ours.id[0], theirs.id[0]);
    CHECK(fabsf(ours.logprob[0] - theirs.logprob[0]) < 0.05f);
    fault.products = 0;
    engine = tiny_open(lively, UOCR_PRECISION_EXACT, 1);
    read_page(engine, &plan, false, &theirs);
    CHECK_EQUAL(fault.products, 0); /* not where every digit counts */
    uocr_engine_close(engine);
    strike(NO_FAULT, 0, false);
}

int main(void) {
    tiny_write(lively, (tiny_options){.seed = 7});
    work_lost_once_is_done_again(0, 0, false, 1);
    work_lost_once_is_done_again(0, 3, true, 1);
    work_lost_once_is_done_again(1, 0, false, 3);
    tokens_are_right_or_not_given_at_all(LOST_WORK);
    tokens_are_right_or_not_given_at_all(REFUSED);
    static const struct {
        fault_kind kind;
        uint32_t countdown;
        const char *kernel;
        uocr_status status;
        const char *says;
    } faults[] = {
        {LOST_WORK, 2, NULL, UOCR_BACKEND, "The host back end failed during vision: The GPU has stopped"},
        {LOST_WORK, 20, NULL, UOCR_BACKEND, "The host back end failed during decode: The GPU has stopped"},
        {NO_MEMORY, 2, NULL, UOCR_OUT_OF_MEMORY, "The system refused memory for vision"},
        {NO_KERNEL, 1, "gemm", UOCR_BACKEND, "failed during vision: the library has no kernel"},
        {NO_KERNEL, 1, "rope_append", UOCR_BACKEND, "failed during prefill: the library has no kernel"},
        {BAD_SOURCE, 1, "history_append", UOCR_BACKEND, "failed during decode: the kernels do not compile: 12:3"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        a_lasting_fault_is_one_clear_error(faults[i].kind, faults[i].countdown, faults[i].kernel, faults[i].status,
                                           faults[i].says);
    the_working_set_bounds_the_budget();
    no_memory_at_open_is_told();
    the_gpu_comes_first_where_it_opens();
    the_makers_library_takes_products_of_halves();
    unlink(lively);
    return check_result();
}
