/* Work for a counter of instructions, allocations and system calls; see test_performance_ratios.py.
 *
 *   count_work run MODEL THREADS PROMPT FROM TO
 *   count_work gemv TABLE
 *   count_work allocations MODEL
 *   count_work calls MODEL
 *   count_work one-call MODEL
 *
 * run: the steps after token FROM up to token TO are in counted_steps.
 *
 * gemv: one q4 product of one row is in counted_gemv. TABLE is "portable" or "baseline", the vector table
 * that valgrind can run.
 *
 * allocations: prints the heap calls in 200 decode steps after the first 10.
 *
 * calls: prints what killed the same steps when system calls kill, 0 for nothing. one-call: with one call
 * made on purpose. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "cpu/kernels.h"
#include "uocr.h"

enum { WARM = 10, STEPS = 200 };

/* -- heap calls ---------------------------------------------------------------------------- */

#if defined(__GLIBC__)
/* The program's own definitions come before the C library's. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);
static atomic_ulong heap_calls;

void *malloc(size_t n) {
    atomic_fetch_add(&heap_calls, 1);
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    atomic_fetch_add(&heap_calls, 1);
    return __libc_calloc(n, size);
}
void *realloc(void *block, size_t n) {
    atomic_fetch_add(&heap_calls, 1);
    return __libc_realloc(block, n);
}
void *aligned_alloc(size_t alignment, size_t n) {
    atomic_fetch_add(&heap_calls, 1);
    return __libc_memalign(alignment, n);
}
int posix_memalign(void **out, size_t alignment, size_t n) {
    atomic_fetch_add(&heap_calls, 1);
    *out = __libc_memalign(alignment, n);
    return *out ? 0 : 12; /* ENOMEM */
}
void free(void *block) {
    if (block) atomic_fetch_add(&heap_calls, 1);
    __libc_free(block);
}
static unsigned long heap_calls_now(void) { return atomic_load(&heap_calls); }
#endif

static void die(const char *what) {
    fprintf(stderr, "count_work: %s\n", what);
    exit(1);
}

/* -- runs ---------------------------------------------------------------------------------- */

static uocr_engine *open_engine(const char *path, uint32_t threads) {
    uocr_engine_options options = {
        .size = sizeof options, .threads = threads, .simd = UOCR_SIMD_BASELINE, .model_path = path};
    uocr_engine *engine;
    uocr_error error = {.size = sizeof error};
    if (uocr_engine_open(&options, &engine, &error) != UOCR_OK) die(error.message);
    return engine;
}

/* The guard is on, as readers use it: its history is part of a token's path. Ring and guard are short, so
 * that both are full after few tokens. */
static uocr_run *begin(uocr_engine *engine, uint32_t prompt, uint32_t tokens) {
    static int32_t ids[4096];
    if (prompt < 1 || prompt > 4096) die("a prompt has 1 to 4096 ids");
    for (uint32_t i = 0; i < prompt; i++) ids[i] = (int32_t)(2 + i * 37 % 300);
    uocr_plan plan = {.size = sizeof plan,
                      .prompt_count = prompt,
                      .prompt_ids = ids,
                      .max_new_tokens = tokens,
                      .ignore_eos = 1,
                      .ring_window = 16,
                      .ngram_size = 8,
                      .ngram_window = 32};
    uocr_run *run;
    uocr_error error = {.size = sizeof error};
    if (uocr_run_begin(engine, &plan, &run, &error) != UOCR_OK) die(error.message);
    return run;
}

static void step_to(uocr_run *run, uint32_t token) {
    uocr_event event = {.size = sizeof event};
    uocr_error error = {.size = sizeof error};
    while (event.kind != UOCR_EVENT_TOKEN || event.done < token) {
        if (event.kind == UOCR_EVENT_DONE) die("the run ended early");
        if (uocr_run_step(run, &event, &error) != UOCR_OK) die(error.message);
    }
}

/* Found by its name from outside. */
__attribute__((noinline)) void counted_steps(uocr_run *run, uint32_t token);
void counted_steps(uocr_run *run, uint32_t token) { step_to(run, token); }

static void whole_run(const char *path, uint32_t threads, uint32_t prompt, uint32_t from, uint32_t to) {
    uocr_engine *engine = open_engine(path, threads);
    uocr_run *run = begin(engine, prompt, to);
    if (from) step_to(run, from);
    counted_steps(run, to);
    uocr_run_end(run);
    uocr_engine_close(engine);
}

static void count_allocations(const char *path) {
#if defined(__GLIBC__)
    uocr_engine *engine = open_engine(path, 2);
    uocr_run *run = begin(engine, 8, WARM + STEPS);
    step_to(run, WARM);
    unsigned long before = heap_calls_now();
    if (before == 0) die("the heap calls of opening were not counted");
    step_to(run, WARM + STEPS);
    printf("%lu\n", heap_calls_now() - before);
    uocr_run_end(run);
    uocr_engine_close(engine);
#else
    (void)path;
    printf("unknown\n");
#endif
}

#if defined(__linux__)
/* From now on every system call but the end of the process and reading the clock kills. False: not allowed
 * here. */
static int forbid_calls(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#endif

/* In a child: prints 0, or the signal that killed it. `one_too_many`: it makes a call on purpose. */
static void count_calls(const char *path, int one_too_many) {
#if defined(__linux__)
    pid_t child = fork();
    if (child < 0) die("no child can be started");
    if (child == 0) {
        uocr_engine *engine = open_engine(path, 1);
        uocr_run *run = begin(engine, 8, WARM + STEPS);
        step_to(run, WARM);
        if (!forbid_calls()) _exit(2);
        step_to(run, WARM + STEPS);
        if (one_too_many) getppid();
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child) die("the child is lost");
    if (WIFSIGNALED(status)) printf("%d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) == 2) printf("unknown\n");
    else printf("%d\n", WEXITSTATUS(status));
#else
    (void)path, (void)one_too_many;
    printf("unknown\n");
#endif
}

/* -- one product --------------------------------------------------------------------------- */

__attribute__((noinline)) void counted_gemv(const cpu_kernels *, const cpu_weight_rows *, size_t rows,
                                            size_t in, const cpu_quantized *, float *y);
void counted_gemv(const cpu_kernels *kernels, const cpu_weight_rows *weights, size_t rows, size_t in,
                  const cpu_quantized *x, float *y) {
    kernels->gemv_int8[1](weights, rows, in, x, y);
}

static void gemv(const char *table) {
    enum { ROWS = 128, IN = 1280, GROUPS = IN / UOCR_GROUP };
    static uint8_t weights[ROWS * IN / 2], scales[ROWS * GROUPS * 2];
    static float x[IN], y[ROWS], scale[GROUPS];
    static int8_t q[IN];
    static int32_t sum[GROUPS];
    const cpu_kernels *kernels =
        cpu_kernels_select(strcmp(table, "portable") ? UOCR_SIMD_BASELINE : UOCR_SIMD_PORTABLE);
    for (size_t i = 0; i < sizeof weights; i++) weights[i] = (uint8_t)(i * 37);
    for (size_t i = 0; i < sizeof scales; i += 2) scales[i + 1] = 0x2c;
    for (size_t i = 0; i < IN; i++) x[i] = (float)(i % 17) - 8;
    cpu_quantized quantized = {q, scale, sum};
    cpu_weight_rows rows = {weights, IN / 2, scales, GROUPS * 2};
    kernels->quantize(x, IN, &quantized);
    counted_gemv(kernels, &rows, ROWS, IN, &quantized, y);
    printf("%s\n", kernels->name);
}

int main(int count, char **arguments) {
    if (count == 7 && !strcmp(arguments[1], "run"))
        whole_run(arguments[2], (uint32_t)atoi(arguments[3]), (uint32_t)atoi(arguments[4]),
                  (uint32_t)atoi(arguments[5]), (uint32_t)atoi(arguments[6]));
    else if (count == 3 && !strcmp(arguments[1], "gemv")) gemv(arguments[2]);
    else if (count == 3 && !strcmp(arguments[1], "allocations")) count_allocations(arguments[2]);
    else if (count == 3 && !strcmp(arguments[1], "calls")) count_calls(arguments[2], 0);
    else if (count == 3 && !strcmp(arguments[1], "one-call")) count_calls(arguments[2], 1);
    else die("see the top of count_work.c");
    return 0;
}
