/* The repeat guard against its definition, against a plain search, and against reference cases given as a
 * file.
 *
 * Usage: test_ngram [CASES]. A case is one line of numbers: size window allow-count allowed... id-count
 * ids... banned-count banned... */
#include "ngram.h"

#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

static uocr_memory memory = {.budget = UINT64_MAX};

static bool is_banned(uocr_ngram *guard, const int32_t *expected, size_t expected_count) {
    size_t count;
    const int32_t *banned = uocr_ngram_banned(guard, &count);
    return count == expected_count && (count == 0 || memcmp(banned, expected, count * sizeof *banned) == 0);
}

static void a_worked_example(void) { /* size 3, window 6: after 5 6 the 7 would repeat 5 6 7 */
    static const int32_t ids[] = {5, 6, 7, 5, 6}, seven[] = {7};
    uocr_ngram *guard = uocr_ngram_create(&memory, 3, 3, 6, NULL, 0);
    for (size_t i = 0; i < 4; i++) {
        uocr_ngram_push(guard, &ids[i], 1);
        CHECK(is_banned(guard, NULL, 0));
    }
    uocr_ngram_push(guard, &ids[4], 1);
    CHECK(is_banned(guard, seven, 1));
    CHECK(is_banned(guard, seven, 1)); /* asking changes nothing */
    uocr_ngram_destroy(&memory, guard);
}

static void allowed_ids_are_never_banned(void) {
    static const int32_t ids[] = {1, 9, 1, 4, 1}, allow[] = {9, 3, 9}, four[] = {4};
    uocr_ngram *guard = uocr_ngram_create(&memory, 2, 2, 100, allow, 3);
    uocr_ngram_push(guard, ids, 5);
    CHECK(is_banned(guard, four, 1));
    uocr_ngram_destroy(&memory, guard);
}

static void size_one_bans_each_id_of_the_window_once(void) {
    static const int32_t ids[] = {8, 3, 5, 3, 9, 5}, window_of_4[] = {3, 5, 9};
    uocr_ngram *guard = uocr_ngram_create(&memory, 1, 1, 4, NULL, 0);
    CHECK(is_banned(guard, NULL, 0));
    uocr_ngram_push(guard, ids, 6);
    CHECK(is_banned(guard, window_of_4, 3));
    uocr_ngram_destroy(&memory, guard);
}

static void a_window_below_the_size_never_bans(void) {
    static const int32_t ids[] = {1, 1, 1, 1, 1, 1, 1, 1};
    uocr_ngram *guard = uocr_ngram_create(&memory, 6, 6, 5, NULL, 0);
    uocr_ngram_push(guard, ids, 8);
    CHECK(is_banned(guard, NULL, 0));
    uocr_ngram_destroy(&memory, guard);
}

static void what_repeats_at_once_ends_sooner(void) { /* size 9, cycle 4: four of a kind, two pairs */
    static const int32_t run[] = {7, 7, 7, 7}, pairs[] = {1, 2, 1, 2, 1}, seven[] = {7}, two[] = {2};
    static const int32_t apart[] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5};
    uocr_ngram *guard = uocr_ngram_create(&memory, 9, 4, 40, NULL, 0);
    uocr_ngram_push(guard, run, 3);
    CHECK(is_banned(guard, NULL, 0));
    uocr_ngram_push(guard, run, 1);
    CHECK(is_banned(guard, seven, 1));
    uocr_ngram_push(guard, pairs, 4);
    CHECK(is_banned(guard, NULL, 0));
    uocr_ngram_push(guard, pairs, 1);
    CHECK(is_banned(guard, two, 1));
    uocr_ngram_push(guard, apart, 11);
    CHECK(is_banned(guard, NULL, 0)); /* a period of 6 is none of these */
    uocr_ngram_destroy(&memory, guard);
}

static int ascending(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The definition, by search: every earlier copy of the last size - 1 ids that begins inside the window; for ids that
 * stood at most UOCR_NGRAM_PERIOD places earlier, of the last cycle - 1. */
static size_t search(const int32_t *ids, size_t length, size_t size, size_t cycle, size_t window, int32_t *banned) {
    size_t count = 0, kept = 0;
    for (size_t distance = 1; distance <= length && distance + size - 1 <= window; distance++) {
        size_t n = distance <= UOCR_NGRAM_PERIOD ? cycle : size, place = length - distance;
        if (place + 1 >= n && memcmp(ids + place + 1 - n, ids + length + 1 - n, (n - 1) * sizeof *ids) == 0)
            banned[count++] = ids[place];
    }
    qsort(banned, count, sizeof *banned, ascending);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || banned[kept - 1] != banned[i]) banned[kept++] = banned[i];
    return kept;
}

static void every_step_equals_a_plain_search(void) {
    static const struct {
        uint32_t size, cycle, window, vocabulary;
    } settings[] = {
        {1, 1, 1, 4},  {1, 1, 40, 50}, {2, 2, 2, 3},   {2, 2, 9, 4},    {3, 3, 6, 2},     {3, 3, 50, 3},
        {5, 5, 33, 2}, {8, 8, 300, 2}, {35, 35, 128, 1}, {9, 4, 60, 2}, {12, 5, 14, 2}, {35, 16, 128, 1},
    };
    enum { LENGTH = 700 };
    static int32_t ids[LENGTH], expected[LENGTH];
    uint64_t random = 3;
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        uocr_ngram *guard =
            uocr_ngram_create(&memory, settings[s].size, settings[s].cycle, settings[s].window, NULL, 0);
        bool equal = true;
        size_t bans = 0;
        for (size_t i = 0; i < LENGTH; i++) {
            ids[i] = (int32_t)(check_random(&random) % settings[s].vocabulary);
            uocr_ngram_push(guard, &ids[i], 1);
            size_t count = search(ids, i + 1, settings[s].size, settings[s].cycle, settings[s].window, expected);
            equal &= is_banned(guard, expected, count);
            bans += count;
        }
        CHECK(equal);
        CHECK(bans > 0);
        uocr_ngram_destroy(&memory, guard);
    }
}

static void it_holds_the_memory_it_announced(void) {
    static const uint32_t sizes[] = {1, 35, 35}, windows[] = {1024, 128, 1024}, allowed[] = {0, 2, 100};
    for (size_t i = 0; i < 3; i++) {
        static const int32_t allow[100];
        uocr_memory counted = {.budget = UINT64_MAX};
        uocr_ngram *guard = uocr_ngram_create(&counted, sizes[i], sizes[i], windows[i], allow, allowed[i]);
        CHECK_EQUAL(counted.current[UOCR_MEMORY_TRANSIENT],
                    uocr_ngram_bytes(sizes[i], windows[i], allowed[i]));
        uocr_ngram_destroy(&counted, guard);
        CHECK_EQUAL(counted.current_total, 0);
    }
    uocr_memory small = {.budget = 1024};
    CHECK(uocr_ngram_create(&small, 35, 35, 1024, NULL, 0) == NULL);
    uocr_ngram_destroy(&small, NULL);
}

static size_t read_list(FILE *file, int32_t *list, size_t room) {
    size_t count;
    if (fscanf(file, "%zu", &count) != 1 || count > room) exit(2);
    for (size_t i = 0; i < count; i++)
        if (fscanf(file, "%d", &list[i]) != 1) exit(2);
    return count;
}

static void reference_cases_have_their_bans(const char *path) {
    static int32_t allow[100], ids[4096], banned[4096];
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL)) return;
    uint32_t size, window;
    unsigned cases = 0;
    while (fscanf(file, "%u %u", &size, &window) == 2) {
        size_t allowed = read_list(file, allow, 100), length = read_list(file, ids, 4096);
        size_t expected = read_list(file, banned, 4096);
        uocr_ngram *guard = uocr_ngram_create(&memory, size, size, window, allow, (uint32_t)allowed);
        uocr_ngram_push(guard, ids, length);
        if (!CHECK(is_banned(guard, banned, expected))) fprintf(stderr, "    case %u of %s\n", cases, path);
        uocr_ngram_destroy(&memory, guard);
        cases++;
    }
    fclose(file);
    printf("%u reference cases\n", cases);
    CHECK(cases > 0);
}

int main(int count, char **arguments) {
    a_worked_example();
    allowed_ids_are_never_banned();
    size_one_bans_each_id_of_the_window_once();
    a_window_below_the_size_never_bans();
    what_repeats_at_once_ends_sooner();
    every_step_equals_a_plain_search();
    it_holds_the_memory_it_announced();
    if (count > 1) reference_cases_have_their_bans(arguments[1]);
    CHECK_EQUAL(memory.current_total, 0);
    return check_result();
}
