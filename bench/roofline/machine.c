/* The limits of this machine: bytes read a second, and arithmetic a second, with 1..n threads.
 *
 *   machine [--small] THREADS...
 *
 * Prints a line of JSON a measurement: {"kind", "name", "threads", "value"}; kind "read" in bytes, "f32" and
 * "int8" in operations a second (a multiply-add is two). Every figure is the best of several repetitions: a
 * limit is what was reached once, not what is usual. --small: little memory and few repetitions, to see that
 * it runs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { MOST_THREADS = 256, PAGE = 4096, L1 = 16384 };

static size_t memory_bytes = (size_t)1 << 30;
static int repetitions = 9;
static double least_seconds = 0.08; /* of one arithmetic repetition */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "machine: %s\n", what);
    exit(1);
}

/* -- threads that begin together ----------------------------------------------------------- */

typedef struct part {
    const uint8_t *data; /* of this thread */
    size_t bytes;
    long rounds; /* of arithmetic */
    uint64_t sink;
} part;

typedef void (*part_fn)(part *);

typedef struct team {
    part_fn fn;
    part part[MOST_THREADS];
    unsigned threads;
    atomic_uint ready;
} team;

typedef struct member {
    team *team;
    unsigned index;
    double begun, ended;
    pthread_t thread;
} member;

static void *member_main(void *argument) {
    member *self = argument;
    atomic_fetch_add(&self->team->ready, 1);
    while (atomic_load(&self->team->ready) < self->team->threads) {
    }
    self->begun = now();
    self->team->fn(&self->team->part[self->index]);
    self->ended = now();
    return NULL;
}

/* Seconds from the first that begins to the last that ends. */
static double together(team *t) {
    static member members[MOST_THREADS];
    atomic_store(&t->ready, 0);
    for (unsigned i = 0; i < t->threads; i++) {
        members[i] = (member){.team = t, .index = i};
        if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0)
            die("a thread was refused");
    }
    double begun = 1e300, ended = 0;
    for (unsigned i = 0; i < t->threads; i++) {
        pthread_join(members[i].thread, NULL);
        begun = members[i].begun < begun ? members[i].begun : begun;
        ended = members[i].ended > ended ? members[i].ended : ended;
    }
    return ended - begun;
}

static void print(const char *kind, const char *name, unsigned threads, double value) {
    printf("{\"kind\": \"%s\", \"name\": \"%s\", \"threads\": %u, \"value\": %.6g}\n", kind, name, threads,
           value);
    fflush(stdout);
}

/* -- reading ------------------------------------------------------------------------------- */

/* One stream, 64 bytes a step, by 8-byte words: the compiler may widen it. */
static void read_words(part *p) {
    uint64_t sum[8] = {0};
    for (size_t i = 0; i + 64 <= p->bytes; i += 64)
        for (size_t k = 0; k < 8; k++) {
            uint64_t word;
            memcpy(&word, p->data + i + 8 * k, 8);
            sum[k] ^= word;
        }
    for (size_t k = 0; k < 8; k++) p->sink ^= sum[k];
}

/* `streams` places at once, as rows of a matrix are read; `ahead` bytes are prefetched, 0 for none. */
static inline __attribute__((always_inline)) void read_streams(part *p, size_t streams, size_t ahead) {
    const size_t each = p->bytes / streams / 128 * 128;
#if defined(__x86_64__)
    __m128i sum[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
#else
    uint64_t sum[4] = {0};
#endif
    for (size_t i = 0; i < each; i += 64)
        for (size_t s = 0; s < streams; s++) {
            const uint8_t *at = p->data + s * each + i;
            if (ahead) __builtin_prefetch(at + ahead);
            for (size_t k = 0; k < 4; k++) {
#if defined(__x86_64__)
                sum[k] = _mm_xor_si128(sum[k], _mm_loadu_si128((const void *)(at + 16 * k)));
#else
                uint64_t word[2];
                memcpy(word, at + 16 * k, 16);
                sum[k] ^= word[0] ^ word[1];
#endif
            }
        }
#if defined(__x86_64__)
    for (size_t k = 0; k < 4; k++) p->sink ^= (uint64_t)_mm_cvtsi128_si64(sum[k]);
#else
    for (size_t k = 0; k < 4; k++) p->sink ^= sum[k];
#endif
}
static void read_one(part *p) { read_streams(p, 1, 0); }
static void read_one_ahead(part *p) { read_streams(p, 1, 2048); }
static void read_four(part *p) { read_streams(p, 4, 0); }
static void read_four_ahead(part *p) { read_streams(p, 4, 1024); }

/* The best of all patterns over this memory. */
static void measure_read(const char *name, const uint8_t *memory, unsigned threads) {
    static const part_fn patterns[] = {read_words, read_one, read_one_ahead, read_four, read_four_ahead};
    double best = 0;
    for (size_t f = 0; f < sizeof patterns / sizeof *patterns; f++)
        for (int r = 0; r < repetitions / 2 + 1; r++) {
            static team t;
            const size_t each = memory_bytes / threads / PAGE * PAGE;
            t.fn = patterns[f], t.threads = threads;
            for (unsigned i = 0; i < threads; i++)
                t.part[i] = (part){.data = memory + i * each, .bytes = each};
            double rate = (double)(each * threads) / together(&t);
            best = rate > best ? rate : best;
        }
    print("read", name, threads, best);
}

static uint8_t *anonymous(bool large_pages) {
    uint8_t *memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("the system refused memory");
#if defined(MADV_HUGEPAGE)
    madvise(memory, memory_bytes, large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
    (void)large_pages;
#endif
    for (size_t i = 0; i < memory_bytes; i += 8) memcpy(memory + i, &i, 8);
    return memory;
}

/* A file as the engine maps a model file, in the page cache and with every page met once. */
static uint8_t *mapped_file(void) {
    char name[512];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/uocr-machine-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(name);
    if (file < 0) die("no temporary file can be made; set TMPDIR");
    unlink(name);
    static uint8_t block[1 << 20];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (uint8_t)(i * 2654435761u >> 7);
    for (size_t done = 0; done < memory_bytes; done += sizeof block)
        if (write(file, block, sizeof block) != (ssize_t)sizeof block)
            die("the temporary file cannot be written");
    uint8_t *memory = mmap(NULL, memory_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) die("the temporary file cannot be mapped");
    close(file);
    volatile uint8_t met = 0;
    for (size_t i = 0; i < memory_bytes; i += PAGE) met ^= memory[i];
    return memory;
}

/* -- arithmetic: as many independent chains as hide the latency ----------------------------- */

enum { CHAINS = 12 };

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void f32_avx2(part *p) {
    __m256 sum[CHAINS], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
    for (int i = 0; i < CHAINS; i++) sum[i] = _mm256_set1_ps((float)i);
    for (long r = 0; r < p->rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sum[i] = _mm256_fmadd_ps(sum[i], x, y);
        __asm__ volatile("" : "+x"(x));
    }
    for (int i = 0; i < CHAINS; i++) p->sink += (uint64_t)(int64_t)_mm256_cvtss_f32(sum[i]);
}

__attribute__((target("avx512f"))) static void f32_avx512(part *p) {
    __m512 sum[CHAINS], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
    for (int i = 0; i < CHAINS; i++) sum[i] = _mm512_set1_ps((float)i);
    for (long r = 0; r < p->rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sum[i] = _mm512_fmadd_ps(sum[i], x, y);
        __asm__ volatile("" : "+v"(x));
    }
    for (int i = 0; i < CHAINS; i++) p->sink += (uint64_t)(int64_t)_mm512_cvtss_f32(sum[i]);
}

/* Weights come from the first cache, as in a product: bytes, pairs of 16 bits, sums of 32 bits. */
static int8_t weights[L1] __attribute__((aligned(64)));

__attribute__((target("avx2"))) static void int8_avx2(part *p) {
    __m256i sum[8], x = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    for (int i = 0; i < 8; i++) sum[i] = _mm256_setzero_si256();
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+x"(x));
        for (size_t at = 0; at < L1; at += 256)
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) {
                __m256i w = _mm256_load_si256((const void *)(weights + at + 32 * i));
                sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), ones));
            }
    }
    for (int i = 0; i < 8; i++) p->sink += (uint64_t)_mm256_cvtsi256_si32(sum[i]);
}

/* Sums of four 16-bit pairs before they are widened: what 4-bit weights allow. */
__attribute__((target("avx2"))) static void int8_avx2_narrow(part *p) {
    __m256i sum[4], x = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    for (int i = 0; i < 4; i++) sum[i] = _mm256_setzero_si256();
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+x"(x));
        for (size_t at = 0; at < L1; at += 512)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                __m256i pair = _mm256_setzero_si256();
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++)
                    pair = _mm256_add_epi16(
                        pair, _mm256_maddubs_epi16(x, _mm256_load_si256((const void *)(weights + at +
                                                                                       128 * i + 32 * k))));
                sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(pair, ones));
            }
    }
    for (int i = 0; i < 4; i++) p->sink += (uint64_t)_mm256_cvtsi256_si32(sum[i]);
}

__attribute__((target("avx512f,avx512vl,avx512vnni"))) static void int8_vnni_256(part *p) {
    __m256i sum[16], x = _mm256_set1_epi8(3);
    for (int i = 0; i < 16; i++) sum[i] = _mm256_setzero_si256();
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+x"(x));
        for (size_t at = 0; at < L1; at += 512)
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                sum[i] =
                    _mm256_dpbusd_epi32(sum[i], x, _mm256_load_si256((const void *)(weights + at + 32 * i)));
    }
    for (int i = 0; i < 16; i++) p->sink += (uint64_t)_mm256_cvtsi256_si32(sum[i]);
}

__attribute__((target("avx512f,avx512vnni"))) static void int8_vnni_512(part *p) {
    __m512i sum[16], x = _mm512_set1_epi8(3);
    for (int i = 0; i < 16; i++) sum[i] = _mm512_setzero_si512();
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+v"(x));
        for (size_t at = 0; at < L1; at += 1024)
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                sum[i] =
                    _mm512_dpbusd_epi32(sum[i], x, _mm512_load_si512((const void *)(weights + at + 64 * i)));
    }
    for (int i = 0; i < 16; i++) p->sink += (uint64_t)_mm512_cvtsi512_si32(sum[i]);
}

__attribute__((target("avxvnni"))) static void int8_avx_vnni(part *p) {
    __m256i sum[12], x = _mm256_set1_epi8(3);
    for (int i = 0; i < 12; i++) sum[i] = _mm256_setzero_si256();
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+x"(x));
        for (size_t at = 0; at + 384 <= L1; at += 384)
#pragma GCC unroll 12
            for (int i = 0; i < 12; i++)
                sum[i] = _mm256_dpbusd_avx_epi32(sum[i], x,
                                                 _mm256_load_si256((const void *)(weights + at + 32 * i)));
    }
    for (int i = 0; i < 12; i++) p->sink += (uint64_t)_mm256_cvtsi256_si32(sum[i]);
}
#elif defined(__aarch64__)
static void f32_neon(part *p) {
    float32x4_t sum[CHAINS], x = vdupq_n_f32(0.999f), y = vdupq_n_f32(1e-3f);
    for (int i = 0; i < CHAINS; i++) sum[i] = vdupq_n_f32((float)i);
    for (long r = 0; r < p->rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sum[i] = vfmaq_f32(y, sum[i], x);
        __asm__ volatile("" : "+w"(x));
    }
    for (int i = 0; i < CHAINS; i++) p->sink += (uint64_t)(int64_t)vgetq_lane_f32(sum[i], 0);
}

#if defined(__ARM_FEATURE_DOTPROD)
static int8_t weights[L1] __attribute__((aligned(64)));

static void int8_dotprod(part *p) {
    int32x4_t sum[16];
    int8x16_t x = vdupq_n_s8(3);
    for (int i = 0; i < 16; i++) sum[i] = vdupq_n_s32(0);
    for (long r = 0; r < p->rounds; r++) {
        __asm__ volatile("" : "+w"(x));
        for (size_t at = 0; at < L1; at += 256)
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++) sum[i] = vdotq_s32(sum[i], x, vld1q_s8(weights + at + 16 * i));
    }
    for (int i = 0; i < 16; i++) p->sink += (uint64_t)vgetq_lane_s32(sum[i], 0);
}
#endif
#endif

/* `operations` of one round. */
__attribute__((unused)) static void measure_arithmetic(const char *kind, const char *name, part_fn fn,
                                                       double operations, unsigned threads) {
    static team t;
    long rounds = 64;
    double best = 0;
    t.fn = fn, t.threads = threads;
    for (int r = 0; r < repetitions;) {
        for (unsigned i = 0; i < threads; i++) t.part[i] = (part){.rounds = rounds};
        double seconds = together(&t);
        if (seconds < least_seconds) { /* too short to time */
            rounds *= 2;
            continue;
        }
        double rate = operations * (double)rounds * threads / seconds;
        best = rate > best ? rate : best;
        r++;
    }
    print(kind, name, threads, best);
}

static void measure_all_arithmetic(unsigned threads) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    memset(weights, 1, sizeof weights);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        measure_arithmetic("f32", "AVX2 FMA", f32_avx2, CHAINS * 8 * 2, threads);
        measure_arithmetic("int8", "AVX2 maddubs", int8_avx2, L1 * 2.0, threads);
        measure_arithmetic("int8", "AVX2 maddubs, 16-bit sums", int8_avx2_narrow, L1 * 2.0, threads);
    }
    if (__builtin_cpu_supports("avxvnni"))
        measure_arithmetic("int8", "AVX-VNNI", int8_avx_vnni, L1 / 384 * 384 * 2.0, threads);
    if (__builtin_cpu_supports("avx512f"))
        measure_arithmetic("f32", "AVX-512 FMA", f32_avx512, CHAINS * 16 * 2, threads);
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
        measure_arithmetic("int8", "AVX-512 VNNI, 256 bits", int8_vnni_256, L1 * 2.0, threads);
        measure_arithmetic("int8", "AVX-512 VNNI", int8_vnni_512, L1 * 2.0, threads);
    }
#elif defined(__aarch64__)
    measure_arithmetic("f32", "NEON FMA", f32_neon, CHAINS * 4 * 2, threads);
#if defined(__ARM_FEATURE_DOTPROD)
    memset(weights, 1, sizeof weights);
    measure_arithmetic("int8", "NEON dotprod", int8_dotprod, L1 * 2.0, threads);
#endif
#else
    (void)threads;
#endif
}

int main(int count, char **arguments) {
    unsigned threads[16];
    size_t asked = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--small") == 0) {
            memory_bytes = (size_t)32 << 20, repetitions = 2, least_seconds = 0.002;
        } else {
            int n = atoi(arguments[i]);
            if (n < 1 || n > MOST_THREADS || asked == sizeof threads / sizeof *threads)
                die("give up to 16 numbers of threads, each from 1 to 256");
            threads[asked++] = (unsigned)n;
        }
    }
    if (!asked) die("give one or more numbers of threads");
    static const char *names[3] = {"anonymous memory, large pages", "anonymous memory, 4 KB pages",
                                   "mapped file"};
    for (int kind = 0; kind < 3; kind++) {
        uint8_t *memory = kind == 2 ? mapped_file() : anonymous(kind == 0);
        for (size_t i = 0; i < asked; i++) measure_read(names[kind], memory, threads[i]);
        munmap(memory, memory_bytes);
    }
    for (size_t i = 0; i < asked; i++) measure_all_arithmetic(threads[i]);
    return 0;
}
