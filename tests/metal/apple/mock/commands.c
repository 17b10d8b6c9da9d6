/* Command buffers, encoders and matrix products; see mock.h. Command buffers run when somebody waits for them, so that
 * what is read too early is wrong. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/host/library.h"
#include "parts.h"

enum { MOST_CALLS = 1 << 16, ARGUMENTS = 31, PAST = 256 };
enum { COMPLETED = 4, FAILED = 5 };

int mock_order;
void (*mock_at_wait)(void);
mock_dispatch mock_last;
static char calls[MOST_CALLS], launch_error[4096];
static size_t calls_at;

static void called(const char *what, const char *detail) {
    if (calls_at + 128 > sizeof calls) return; /* long runs: only their beginning */
    calls_at += (size_t)snprintf(calls + calls_at, 128, "%s%s%s%s", calls_at ? " " : "", what, detail ? ":" : "",
                                 detail ? detail : "");
}
const char *mock_log(void) { return calls; }
const char *mock_last_launch_error(void) { return launch_error; }
void mock_forget(void) { calls[calls_at = 0] = 0; }

/* ---- command buffers ---- */

typedef struct step { /* a dispatch, copy, fill or product with what it uses, retained */
    struct step *next;
    state *state;
    buffer *from[ARGUMENTS];
    size_t offset[ARGUMENTS], bytes[ARGUMENTS], threadgroup[8], length;
    uint8_t *inlined[ARGUMENTS];
    unsigned long groups[3], threads;
    int kind, value; /* 'd', 'c' 0 to 1, 'f' 0, 'm' 0 times 1 onto 2 */
    unsigned long rows, cols, depth, row_bytes[3];
    double beta;
} step;

typedef struct commands {
    mock_object object;
    step *first, **last;
    mock_object *encoder; /* open */
    bool committed, done;
    long fails_with;
    double begin, end;
    struct commands *next; /* underway */
} commands;
static commands *underway, **underway_end = &underway;
static double clock_of_gpu = 1;

typedef struct encoder {
    mock_object object;
    commands *commands;
    step *made; /* the dispatch in the making; arguments stay for the next */
    bool ended;
} encoder;

static step *step_add(commands *to, const step *like, int kind) {
    step *s = calloc(1, sizeof *s);
    if (like) *s = *like;
    s->next = NULL;
    s->kind = kind;
    if (s->state) mock_retain(s->state);
    for (size_t i = 0; i < ARGUMENTS; i++) {
        mock_retain(s->from[i]);
        if (!s->inlined[i]) continue;
        uint8_t *copy = calloc(1, s->bytes[i] + PAST);
        s->inlined[i] = memcpy(copy, s->inlined[i], s->bytes[i]);
    }
    *to->last = s;
    to->last = &s->next;
    return s;
}

static void step_free(step *s) {
    mock_let_go(s->state);
    for (size_t i = 0; i < ARGUMENTS; i++) mock_let_go(s->from[i]), free(s->inlined[i]);
    free(s);
}

static void multiply(const step *s) {
    for (unsigned long r = 0; r < s->rows; r++)
        for (unsigned long c = 0; c < s->cols; c++) {
            const float *x = (const float *)(const void *)(s->from[0]->data + s->offset[0] + r * s->row_bytes[0]);
            const _Float16 *w = (const _Float16 *)(const void *)(s->from[1]->data + s->offset[1] + c * s->row_bytes[1]);
            float *y = (float *)(void *)(s->from[2]->data + s->offset[2] + r * s->row_bytes[2]) + c, sum = 0;
            for (unsigned long k = 0; k < s->depth; k++) sum += x[k] * (float)w[k];
            *y = sum + (s->beta == 0 ? 0 : (float)s->beta * *y);
        }
}

static void launch(const step *s) {
    static const char *(*run)(const msl_request *, msl_counts *);
    const char *path = getenv("UOCR_HOST_KERNELS");
    if (!path) return;
    void *kernels = run ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!run) *(void **)&run = dlsym(kernels, "msl_launch");
    msl_request request = {.kernel = s->state->function->name, .constants = s->state->function->constants->value,
                           .constant_count = (uint32_t)s->state->function->constants->count,
                           .threads = {(uint32_t)s->threads, 1, 1}, .order = (uint32_t)mock_order,
                           .workers = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
    for (size_t i = 0; i < 3; i++) request.groups[i] = (uint32_t)s->groups[i];
    for (size_t i = 0; i < ARGUMENTS; i++) {
        if (s->inlined[i]) request.buffer[i] = (msl_buffer){s->inlined[i], s->bytes[i]};
        else if (s->from[i]) request.buffer[i] = (msl_buffer){s->from[i]->data + s->offset[i],
                                                              s->from[i]->bytes - s->offset[i]};
    }
    for (size_t i = 0; i < 8; i++) request.threadgroup[i] = s->threadgroup[i];
    msl_counts counts;
    const char *error = run(&request, &counts);
    if (error) mock_complain("%s", error), snprintf(launch_error, sizeof launch_error, "%s", error);
}

static void step_run(const step *s) {
    if (s->kind == 'c')
        memcpy(s->from[1]->data + s->offset[1], s->from[0]->data + s->offset[0], s->length);
    if (s->kind == 'f') memset(s->from[0]->data + s->offset[0], s->value, s->length);
    if (s->kind == 'm') multiply(s);
    if (s->kind == 'd') launch(s);
}

static void commands_finish(commands *self) {
    for (step *s = self->first, *next; s; s = next) {
        next = s->next;
        if (!self->fails_with) step_run(s);
        step_free(s);
    }
    self->first = NULL;
    self->done = true;
    self->begin = clock_of_gpu - 0.25; /* begins while the one before still runs */
    self->end = clock_of_gpu += 0.75;
    mock_count.finished++;
}

static void commands_commit(commands *self) {
    if (self->committed) mock_complain("a command buffer is committed twice");
    if (self->encoder) mock_complain("a command buffer is committed with its encoder open");
    if (mock_activities == 0) mock_complain("work begins, and the Mac may fall asleep");
    self->committed = true;
    self->next = NULL;
    *underway_end = mock_retain(self);
    underway_end = &self->next;
    mock_count.committed++;
    if (mock_fault.command_buffer_fails && --mock_fault.command_buffer_fails == 0)
        self->fails_with = mock_fault.command_buffers_fail_with;
    size_t flying = mock_count.committed - mock_count.finished;
    if (flying > mock_count.in_flight_at_most) mock_count.in_flight_at_most = flying;
    if (flying > 64) mock_complain("%zu command buffers are underway: a queue takes 64, then it waits", flying);
    called("commit", NULL);
}

static void commands_wait(commands *self) {
    if (!self->committed) mock_complain("somebody waits for a command buffer that was not committed");
    called("wait", NULL);
    if (mock_at_wait) mock_at_wait();
    while (!self->done && underway) {
        commands *first = underway;
        underway = first->next;
        if (!underway) underway_end = &underway;
        commands_finish(first);
        mock_let_go(first);
    }
}

static unsigned long commands_status(commands *self) {
    return !self->done ? 2 : self->fails_with ? FAILED : COMPLETED;
}
static void *commands_error(commands *self) {
    void *error = NULL;
    if (self->done && self->fails_with) mock_error(&error, self->fails_with, "Caused GPU\nHang Error");
    return error;
}
static double commands_begin(commands *self) { return self->begin; }
static double commands_end(commands *self) { return self->end; }
static void commands_dealloc(mock_object *any) {
    commands *self = (commands *)(void *)any;
    if (self->encoder) mock_complain("a command buffer goes with its encoder open");
    for (step *s = self->first, *next; s; s = next) next = s->next, step_free(s);
}

static encoder *encoder_open(commands *self, mock_class *class, const char *what) {
    if (mock_fault.no_encoder) return NULL;
    if (self->encoder) mock_complain("a second encoder is opened in a command buffer");
    if (self->committed) mock_complain("an encoder is opened after the commit");
    encoder *made = (encoder *)(void *)mock_new(class);
    made->commands = mock_retain(self);
    made->made = calloc(1, sizeof *made->made);
    self->encoder = &made->object;
    called(what, NULL);
    return mock_autoreleased(made);
}
static void encoder_end(encoder *self) {
    if (self->ended) mock_complain("an encoder is ended twice");
    self->ended = true;
    self->commands->encoder = NULL;
    called("end", NULL);
}
static void encoder_dealloc(mock_object *any) {
    encoder *self = (encoder *)(void *)any;
    if (!self->ended) mock_complain("an encoder goes without endEncoding");
    step_free(self->made);
    mock_let_go(self->commands);
}

/* ---- compute ---- */

static void free_place(step *s, unsigned long i) {
    mock_let_go(s->from[i]);
    free(s->inlined[i]);
    s->from[i] = NULL;
    s->inlined[i] = NULL;
}
static void compute_state(encoder *self, MOCK_SELECTOR, state *value) { mock_set(&self->made->state, value); }
static void compute_bytes(encoder *self, MOCK_SELECTOR, const void *data, unsigned long bytes, unsigned long i) {
    if (bytes == 0 || bytes > 4096 || i >= ARGUMENTS) mock_complain("setBytes of %lu bytes at %lu", bytes, i);
    free_place(self->made, i);
    self->made->inlined[i] = memcpy(calloc(1, bytes), data, bytes);
    self->made->bytes[i] = bytes;
}
static void compute_buffer(encoder *self, MOCK_SELECTOR, buffer *from, unsigned long offset, unsigned long i) {
    if (!from || offset >= from->bytes || offset % 4 != 0 || i >= ARGUMENTS)
        mock_complain("setBuffer at %lu of %zu bytes, place %lu", offset, from ? from->bytes : 0, i);
    free_place(self->made, i);
    self->made->from[i] = mock_retain(from);
    self->made->offset[i] = offset;
}
static void compute_threadgroup(encoder *self, MOCK_SELECTOR, unsigned long bytes, unsigned long i) {
    if (bytes == 0 || bytes % 16 != 0 || i >= 8) mock_complain("threadgroup memory of %lu bytes at %lu", bytes, i);
    self->made->threadgroup[i] = bytes;
}
static void remember(const step *s) {
    mock_last = (mock_dispatch){.kernel = s->state->function->name, .threads = s->threads};
    memcpy(mock_last.constants, s->state->function->constants->value, sizeof mock_last.constants);
    memcpy(mock_last.groups, s->groups, sizeof mock_last.groups);
    memcpy(mock_last.threadgroup, s->threadgroup, sizeof mock_last.threadgroup);
    for (size_t i = 0; i < ARGUMENTS; i++)
        mock_last.place[i] = s->from[i] ? s->from[i]->data + s->offset[i] : s->inlined[i];
}
typedef struct size { unsigned long width, height, depth; } size;
static void compute_dispatch(encoder *self, MOCK_SELECTOR, size groups, size threads) {
    step *s = self->made;
    if (!s->state || self->ended) {
        mock_complain("a dispatch without a pipeline, or after the end");
        return;
    }
    if (threads.height != 1 || threads.depth != 1 || threads.width == 0 || threads.width > s->state->threads ||
        groups.width == 0 || groups.height == 0 || groups.depth == 0)
        mock_complain("%s: %lu x %lu x %lu threadgroups of %lu threads, its pipeline takes %lu",
                      s->state->function->name, groups.width, groups.height, groups.depth, threads.width,
                      s->state->threads);
    if (threads.width % 32 != 0) mock_complain("%lu threads are not whole simdgroups", threads.width);
    s->groups[0] = groups.width, s->groups[1] = groups.height, s->groups[2] = groups.depth;
    s->threads = threads.width;
    remember(step_add(self->commands, s, 'd'));
    memset(s->threadgroup, 0, sizeof s->threadgroup); /* of this dispatch alone, so that a missing one is seen */
    mock_count.dispatches++;
    called("dispatch", s->state->function->name);
}
static const mock_method compute_methods[] = {
    MOCK_METHOD("setComputePipelineState:", compute_state), MOCK_METHOD("setBytes:length:atIndex:", compute_bytes),
    MOCK_METHOD("setBuffer:offset:atIndex:", compute_buffer),
    MOCK_METHOD("setThreadgroupMemoryLength:atIndex:", compute_threadgroup),
    MOCK_METHOD("dispatchThreadgroups:threadsPerThreadgroup:", compute_dispatch),
    MOCK_METHOD("endEncoding", encoder_end), {0}};
static mock_class compute_class = {NULL, "MTLComputeCommandEncoder", sizeof(encoder), compute_methods,
                                   encoder_dealloc};

/* ---- copies ---- */

static void check_range(const buffer *b, unsigned long offset, unsigned long bytes) {
    if (offset % 4 != 0 || bytes % 4 != 0 || bytes == 0 || offset > b->bytes || bytes > b->bytes - offset)
        mock_complain("%lu bytes at %lu of a buffer of %zu are copied or filled", bytes, offset, b->bytes);
}
static void blit_copy(encoder *self, MOCK_SELECTOR, buffer *from, unsigned long from_at, buffer *to,
                      unsigned long to_at, unsigned long bytes) {
    check_range(from, from_at, bytes);
    check_range(to, to_at, bytes);
    step s = {.from = {from, to}, .offset = {from_at, to_at}, .length = bytes};
    step_add(self->commands, &s, 'c');
    mock_count.copies++;
}
static void blit_fill(encoder *self, MOCK_SELECTOR, buffer *to, unsigned long from, unsigned long bytes,
                      uint8_t value) {
    check_range(to, from, bytes);
    step s = {.from = {to}, .offset = {from}, .length = bytes, .value = value};
    step_add(self->commands, &s, 'f');
    mock_count.fills++;
}
static const mock_method blit_methods[] = {
    MOCK_METHOD("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", blit_copy),
    MOCK_METHOD("fillBuffer:range:value:", blit_fill), MOCK_METHOD("endEncoding", encoder_end), {0}};
static mock_class blit_class = {NULL, "MTLBlitCommandEncoder", sizeof(encoder), blit_methods, encoder_dealloc};

static encoder *commands_compute(commands *self) { return encoder_open(self, &compute_class, "compute"); }
static encoder *commands_blit(commands *self) { return encoder_open(self, &blit_class, "blit"); }
static const mock_method commands_methods[] = {
    MOCK_METHOD("computeCommandEncoder", commands_compute), MOCK_METHOD("blitCommandEncoder", commands_blit),
    MOCK_METHOD("commit", commands_commit), MOCK_METHOD("waitUntilCompleted", commands_wait),
    MOCK_METHOD("status", commands_status), MOCK_METHOD("error", commands_error),
    MOCK_METHOD("GPUStartTime", commands_begin), MOCK_METHOD("GPUEndTime", commands_end), {0}};
static mock_class commands_class = {NULL, "MTLCommandBuffer", sizeof(commands), commands_methods, commands_dealloc};

static commands *queue_commands(mock_object *self) {
    (void)self;
    if (mock_fault.no_command_buffer) return NULL;
    commands *made = (commands *)(void *)mock_new(&commands_class);
    made->last = &made->first;
    return mock_autoreleased(made);
}
static const mock_method queue_methods[] = {MOCK_METHOD("commandBuffer", queue_commands), {0}};
static mock_class queue_class = {NULL, "MTLCommandQueue", sizeof(mock_object), queue_methods, NULL};

mock_object *mock_queue(void) { return mock_new(&queue_class); }

/* ---- products ---- */

typedef struct shape { mock_object object; unsigned long rows, cols, row_bytes; uint32_t type; } shape;
extern mock_class _OBJC_CLASS_MPSMatrixDescriptor;
static shape *shape_of(mock_class *class, MOCK_SELECTOR, unsigned long rows, unsigned long cols,
                       unsigned long row_bytes, uint32_t type) {
    shape *made = (shape *)(void *)mock_new(class);
    *made = (shape){made->object, rows, cols, row_bytes, type};
    return mock_autoreleased(made);
}
static const mock_method shape_methods[] = {{0}};
static const mock_method shape_class[] = {MOCK_METHOD("matrixDescriptorWithRows:columns:rowBytes:dataType:", shape_of),
                                          {0}};
MOCK_CLASS(MPSMatrixDescriptor, shape, shape_methods, shape_class, NULL);

typedef struct matrix { mock_object object; buffer *from; unsigned long offset; shape *shape; } matrix;
static matrix *matrix_init(matrix *self, MOCK_SELECTOR, buffer *from, unsigned long offset, shape *of) {
    unsigned long element = of->type == 0x10000020 ? 4 : of->type == 0x10000010 ? 2 : 0;
    if (!element || of->row_bytes < of->cols * element || offset + of->rows * of->row_bytes > from->bytes)
        mock_complain("a matrix of %lu x %lu in rows of %lu bytes, at %lu of %zu", of->rows, of->cols, of->row_bytes,
                      offset, from->bytes);
    mock_set(&self->from, from);
    mock_set(&self->shape, of);
    self->offset = offset;
    return self;
}
static void matrix_dealloc(mock_object *any) {
    mock_let_go(((matrix *)(void *)any)->from);
    mock_let_go(((matrix *)(void *)any)->shape);
}
static const mock_method matrix_methods[] = {MOCK_METHOD("initWithBuffer:offset:descriptor:", matrix_init), {0}};
MOCK_CLASS(MPSMatrix, matrix, matrix_methods, NULL, matrix_dealloc);

typedef struct product { mock_object object; unsigned long rows, cols, depth; double beta; } product;
static product *product_init(product *self, MOCK_SELECTOR, void *device, bool left, bool right, unsigned long rows,
                             unsigned long cols, unsigned long depth, double alpha, double beta) {
    if (!device || left || !right || alpha != 1) mock_complain("a product of another kind than x W^T");
    *self = (product){self->object, rows, cols, depth, beta};
    return self;
}
static void product_encode(product *self, MOCK_SELECTOR, commands *to, matrix *x, matrix *w, matrix *y) {
    if (to->encoder) mock_complain("a product is encoded with an encoder open");
    if (x->shape->rows != self->rows || x->shape->cols != self->depth || w->shape->rows != self->cols ||
        w->shape->cols != self->depth || y->shape->rows != self->rows || y->shape->cols != self->cols)
        mock_complain("matrices that do not fit their product");
    step s = {.from = {x->from, w->from, y->from}, .offset = {x->offset, w->offset, y->offset}, .rows = self->rows,
              .cols = self->cols, .depth = self->depth, .beta = self->beta,
              .row_bytes = {x->shape->row_bytes, w->shape->row_bytes, y->shape->row_bytes}};
    step_add(to, &s, 'm');
    mock_count.products++;
    called("product", NULL);
}
static const mock_method product_methods[] = {
    MOCK_METHOD("initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",
                product_init),
    MOCK_METHOD("encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", product_encode), {0}};
MOCK_CLASS(MPSMatrixMultiplication, product, product_methods, NULL, NULL);
