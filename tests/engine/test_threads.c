/* The thread pool: every tile once, cancelling, and no lost wake-up however jobs and sleeps fall.
 *
 * Usage: test_threads [nested]    "nested" runs a job inside a job, a bug that must end the program. */
#include "threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

enum { MOST_TILES = 1000 };

static uocr_pool *pool_of(uint32_t threads) {
    uocr_pool *pool = NULL;
    uocr_error error = {.size = sizeof error};
    if (!CHECK(uocr_pool_create(threads, &pool, &error) == UOCR_OK)) exit(1);
    return pool;
}

typedef struct tally {
    uocr_pool *pool;
    atomic_uint runs[MOST_TILES];
    uint64_t plain[MOST_TILES]; /* not atomic: the end of a job must make it visible to the caller */
    atomic_bool bad_worker;
} tally;

static void count_tile(void *argument, size_t tile, uint32_t worker) {
    tally *t = argument;
    atomic_fetch_add_explicit(&t->runs[tile], 1, memory_order_relaxed);
    t->plain[tile] += tile + 1;
    if (worker >= uocr_pool_threads(t->pool)) atomic_store(&t->bad_worker, true);
}

static void every_tile_runs_exactly_once(void) {
    static const uint32_t threads[] = {1, 2, 3, 8};
    static const size_t tiles[] = {0, 1, 2, 7, MOST_TILES};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        uocr_pool *pool = pool_of(threads[i]);
        CHECK_EQUAL(uocr_pool_threads(pool), threads[i]);
        for (size_t j = 0; j < sizeof tiles / sizeof *tiles; j++) {
            tally *t = calloc(1, sizeof *t);
            t->pool = pool;
            for (uint64_t round = 1; round <= 3; round++) {
                CHECK_EQUAL(uocr_pool_run(pool, tiles[j], count_tile, t), UOCR_OK);
                bool right = true;
                for (size_t k = 0; k < MOST_TILES; k++) {
                    uint64_t expected = k < tiles[j] ? round : 0;
                    right &= atomic_load(&t->runs[k]) == expected && t->plain[k] == expected * (k + 1);
                }
                CHECK(right);
            }
            CHECK(!atomic_load(&t->bad_worker));
            free(t);
        }
        uocr_pool_destroy(pool);
    }
}

static void add_one(void *argument, size_t tile, uint32_t worker) {
    (void)tile, (void)worker;
    atomic_fetch_add((atomic_ulong *)argument, 1);
}

/* Pauses shorter and longer than the time workers spin: some jobs find them awake, some asleep, some in
 * between. */
static void many_small_jobs_never_hang(void) {
    uocr_pool *pool = pool_of(4);
    atomic_ulong sum = 0;
    unsigned long expected = 0;
    uint64_t random = 7;
    for (int job = 0; job < 4000; job++) {
        size_t tiles = 1 + check_random(&random) % 9;
        expected += tiles;
        uocr_pool_run(pool, tiles, add_one, &sum);
        if (job % 8 == 0) {
            struct timespec pause = {0, (long)(check_random(&random) % 600000)};
            nanosleep(&pause, NULL);
        }
    }
    CHECK_EQUAL(atomic_load(&sum), expected);
    uocr_pool_destroy(pool);
}

typedef struct canceller {
    atomic_bool flag;
    atomic_ulong run;
    unsigned long raise_after;
} canceller;

static void raise_flag(void *argument, size_t tile, uint32_t worker) {
    (void)tile, (void)worker;
    canceller *c = argument;
    if (atomic_fetch_add(&c->run, 1) + 1 == c->raise_after) atomic_store(&c->flag, true);
}

static void a_raised_flag_stops_a_job_within_a_tile_of_each_thread(void) {
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        uocr_pool *pool = pool_of(threads);
        canceller c = {.raise_after = 10};
        uocr_pool_watch(pool, &c.flag);
        CHECK_EQUAL(uocr_pool_run(pool, 100000, raise_flag, &c), UOCR_CANCELLED);
        CHECK(atomic_load(&c.run) >= 10 && atomic_load(&c.run) < 100000);
        if (threads == 1) CHECK_EQUAL(atomic_load(&c.run), 10);

        unsigned long before = atomic_load(&c.run);
        CHECK_EQUAL(uocr_pool_run(pool, 5, raise_flag, &c), UOCR_CANCELLED); /* still up: nothing starts */
        CHECK_EQUAL(atomic_load(&c.run), before);
        CHECK_EQUAL(uocr_pool_run(pool, 0, raise_flag, &c), UOCR_OK); /* nothing to do was left undone */

        atomic_store(&c.flag, false); /* and the pool is as good as new */
        c.raise_after = 0;
        CHECK_EQUAL(uocr_pool_run(pool, 5, raise_flag, &c), UOCR_OK);
        CHECK_EQUAL(atomic_load(&c.run), before + 5);
        atomic_store(&c.flag, true);
        uocr_pool_watch(pool, NULL);
        CHECK_EQUAL(uocr_pool_run(pool, 5, raise_flag, &c), UOCR_OK);
        uocr_pool_destroy(pool);
    }
}

static void *run_jobs_on_an_own_pool(void *argument) {
    uocr_pool *pool = pool_of(3);
    for (int i = 0; i < 500; i++) uocr_pool_run(pool, 5, add_one, argument);
    uocr_pool_destroy(pool);
    return NULL;
}

static void pools_of_several_engines_do_not_meet(void) {
    atomic_ulong sums[3] = {0};
    pthread_t callers[3];
    for (int i = 0; i < 3; i++) pthread_create(&callers[i], NULL, run_jobs_on_an_own_pool, &sums[i]);
    for (int i = 0; i < 3; i++) pthread_join(callers[i], NULL);
    for (int i = 0; i < 3; i++) CHECK_EQUAL(atomic_load(&sums[i]), 2500);
}

static void thread_counts_outside_1_to_256_are_refused(void) {
    static const uint32_t wrong[] = {0, 257, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        uocr_pool *pool;
        uocr_error error = {.size = sizeof error};
        CHECK_EQUAL(uocr_pool_create(wrong[i], &pool, &error), UOCR_INVALID_ARGUMENT);
        CHECK(pool == NULL);
        CHECK_EQUAL(error.number, wrong[i]);
        CHECK_EQUAL(error.limit, 256);
    }
    uocr_pool_destroy(NULL);
    uint32_t usual = uocr_pool_default_threads();
    CHECK(usual >= 1 && usual <= 256);
    CHECK(uocr_pool_bytes(256) > uocr_pool_bytes(1) && uocr_pool_bytes(256) < 64 << 10);
}

static void run_again(void *argument, size_t tile, uint32_t worker) {
    (void)tile, (void)worker;
    uocr_pool_run(argument, 1, run_again, argument);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "nested") == 0) {
        run_again(pool_of(1), 0, 0);
        return 0;
    }
    every_tile_runs_exactly_once();
    many_small_jobs_never_hang();
    a_raised_flag_stops_a_job_within_a_tile_of_each_thread();
    pools_of_several_engines_do_not_meet();
    thread_counts_outside_1_to_256_are_refused();
    return check_result();
}
