/* See threads.h.
 *
 * One job at a time. `gate` holds, in one word, the number of the job, whether it may still be joined, and
 * how many workers are inside it. A worker joins by compare-and-swap, so a worker that wakes up late finds
 * the gate shut and is not waited for: on a busy machine a small job costs what the caller alone needs, not
 * the time to wake everybody. Workers look for the next job for a moment before they sleep, because operators
 * follow each other within microseconds. */
#include "threads.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "processors.h"
#include "profile.h"
#include "status.h"

enum { MAX_THREADS = 256, STACK_BYTES = 1 << 20 };
#define SPIN_SECONDS 200e-6

/* gate: job number << 32 | OPEN | workers inside */
#define GATE_OPEN (UINT64_C(1) << 31)
#define GATE_WORKERS (GATE_OPEN - 1)
#define GATE_JOB(gate) ((uint32_t)((gate) >> 32))

typedef struct worker {
    uocr_pool *pool;
    uint32_t index;
    pthread_t thread;
} worker;

struct uocr_pool {
    uint32_t threads; /* the caller included */
    const atomic_bool *cancel;

    /* The job. Written by the caller while the gate is shut and nobody is inside. */
    uocr_tile_fn fn;
    void *argument;
    size_t tiles;
    atomic_size_t next;    /* tile to hand out */
    atomic_bool cancelled; /* a tile was not run */
    atomic_bool busy;      /* inside uocr_pool_run: nesting is a bug */

    _Atomic uint64_t gate;
    atomic_bool stop;

    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint sleepers;      /* workers that wait on `wake` */
    atomic_bool caller_sleeps; /* the caller waits on `done` */
    worker workers[];          /* threads - 1 */
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Spins until `ready` or the time is up. Gives the processor away now and then: with more threads than
 * processors the one that is waited for may need this very processor. */
static bool spin_until(bool (*ready)(uocr_pool *, uint32_t), uocr_pool *pool, uint32_t job) {
    const double limit = uocr_now() + SPIN_SECONDS;
    for (;;) {
        for (int i = 0; i < 64; i++) {
            if (ready(pool, job)) return true;
            pause_briefly();
        }
        sched_yield();
        if (uocr_now() > limit) return ready(pool, job);
    }
}

/* Takes tiles until there are none left or the cancel flag is up. */
static void work(uocr_pool *pool, uint32_t worker_index) {
    const atomic_bool *cancel = pool->cancel;
    for (;;) {
        size_t tile = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (tile >= pool->tiles) return;
        if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
            atomic_store_explicit(&pool->cancelled, true, memory_order_relaxed);
            return;
        }
        pool->fn(pool->argument, tile, worker_index);
    }
}

/* ---- workers ---- */

static bool job_is_newer(uocr_pool *pool, uint32_t seen) {
    return GATE_JOB(atomic_load(&pool->gate)) != seen || atomic_load(&pool->stop);
}

static void wait_for_job(uocr_pool *pool, uint32_t seen) {
    if (spin_until(job_is_newer, pool, seen)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1); /* before the last look at the gate: see open_gate */
    while (!job_is_newer(pool, seen)) pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* True when this worker is inside the newest job. *seen is that job's number either way. */
static bool join(uocr_pool *pool, uint32_t *seen) {
    uint64_t gate = atomic_load(&pool->gate);
    do {
        *seen = GATE_JOB(gate);
        if (!(gate & GATE_OPEN)) return false;
    } while (!atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1));
    return true;
}

static void leave(uocr_pool *pool) {
    uint64_t before = atomic_fetch_sub(&pool->gate, 1);
    bool last = (before & GATE_WORKERS) == 1 && !(before & GATE_OPEN);
    if (last && atomic_load(&pool->caller_sleeps)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void *worker_main(void *argument) {
    worker *self = argument;
    uocr_pool *pool = self->pool;
    uint32_t seen = 0;
    while (wait_for_job(pool, seen), !atomic_load(&pool->stop)) {
        if (!join(pool, &seen)) continue;
        work(pool, self->index);
        leave(pool);
    }
    return NULL;
}

/* ---- caller ---- */

static void open_gate(uocr_pool *pool) {
    uint64_t job = GATE_JOB(atomic_load(&pool->gate));
    atomic_store(&pool->gate, (uint64_t)(uint32_t)(job + 1) << 32 | GATE_OPEN);
    /* Sequentially consistent on both sides: either a worker's last look sees this job, or its count is seen
     * here. */
    if (atomic_load(&pool->sleepers) != 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

static bool nobody_inside(uocr_pool *pool, uint32_t unused) {
    (void)unused;
    return (atomic_load(&pool->gate) & GATE_WORKERS) == 0;
}

/* Nobody joins any more; returns when everybody has left. */
static void shut_gate(uocr_pool *pool) {
    atomic_fetch_and(&pool->gate, ~GATE_OPEN);
    if (spin_until(nobody_inside, pool, 0)) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true); /* before the last look at the gate: see leave */
    while (!nobody_inside(pool, 0)) pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

uocr_status uocr_pool_run(uocr_pool *pool, size_t tiles, uocr_tile_fn fn, void *argument) {
    bool nested = atomic_exchange(&pool->busy, true);
    assert(!nested && "a tile, or a second thread, ran a job on a pool that is at work");
    (void)nested;

    pool->fn = fn;
    pool->argument = argument;
    pool->tiles = tiles;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->cancelled, false, memory_order_relaxed);

    const bool share = pool->threads > 1 && tiles > 1;
    if (share) open_gate(pool);
    work(pool, 0);
    if (share) shut_gate(pool);

    bool cancelled = atomic_load_explicit(&pool->cancelled, memory_order_relaxed);
    atomic_store(&pool->busy, false);
    return cancelled ? UOCR_CANCELLED : UOCR_OK;
}

void uocr_pool_watch(uocr_pool *pool, const atomic_bool *cancel) { pool->cancel = cancel; }

uint32_t uocr_pool_threads(const uocr_pool *pool) { return pool->threads; }

/* ---- life ---- */

size_t uocr_pool_bytes(uint32_t threads) {
    return sizeof(uocr_pool) + (threads > 1 ? threads - 1 : 0) * sizeof(worker);
}

uint32_t uocr_pool_default_threads(void) {
    uint32_t count = uocr_processors();
    return count < MAX_THREADS ? count : MAX_THREADS;
}

static void stop_workers(uocr_pool *pool, uint32_t started) {
    atomic_store(&pool->stop, true);
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < started; i++) pthread_join(pool->workers[i].thread, NULL);
}

static void destroy_parts(uocr_pool *pool) {
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Starts workers until all run or the system refuses one; returns how many run. */
static uint32_t start_workers(uocr_pool *pool) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals belong to the program's own threads, but for those that a fault here raises. */
    sigset_t block, before;
    sigfillset(&block);
    sigdelset(&block, SIGSEGV);
    sigdelset(&block, SIGBUS);
    sigdelset(&block, SIGFPE);
    sigdelset(&block, SIGILL);
    pthread_sigmask(SIG_SETMASK, &block, &before);

    uint32_t started = 0;
    for (; started < pool->threads - 1; started++) {
        worker *w = &pool->workers[started];
        w->pool = pool;
        w->index = started + 1; /* the caller is worker 0 */
        if (pthread_create(&w->thread, &attributes, worker_main, w) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

uocr_status uocr_pool_create(uint32_t threads, uocr_pool **out, uocr_error *error) {
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return uocr_fail(
            error, UOCR_INVALID_ARGUMENT, threads, MAX_THREADS,
            "%u threads were asked for; choose 1 to %d, or 0 for as many as this process may use.", threads,
            MAX_THREADS);
    uocr_pool *pool = calloc(1, uocr_pool_bytes(threads));
    if (pool == NULL)
        return uocr_fail(
            error, UOCR_OUT_OF_MEMORY, uocr_pool_bytes(threads), 0,
            "The system refused %zu bytes for %u threads; close other programs or ask for fewer threads.",
            uocr_pool_bytes(threads), threads);
    pool->threads = threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);

    uint32_t started = start_workers(pool);
    if (started < threads - 1) {
        stop_workers(pool, started);
        destroy_parts(pool);
        return uocr_fail(error, UOCR_OUT_OF_MEMORY, threads, started + 1,
                         "The system started only %u of %u threads; ask for fewer threads.", started + 1,
                         threads);
    }
    *out = pool;
    return UOCR_OK;
}

void uocr_pool_destroy(uocr_pool *pool) {
    if (pool == NULL) return;
    stop_workers(pool, pool->threads - 1);
    destroy_parts(pool);
}
