/* What a test program needs: CHECK in its many forms, and an exit status that says whether all of them held.
 *
 * A failed check prints its place and both values and the program goes on, so that one run shows all that is
 * wrong. */
#ifndef UOCR_TESTS_CHECK_H
#define UOCR_TESTS_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Atomic unsigned long check_held, check_failed; /* threads of a test check too */

static inline int check_that(int holds, const char *file, int line, const char *text) {
    if (holds) {
        check_held++;
    } else {
        check_failed++;
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    }
    return holds;
}

static inline void check_equal(uint64_t found, uint64_t expected, const char *file, int line,
                               const char *text) {
    if (!check_that(found == expected, file, line, text))
        fprintf(stderr, "    found %llu, expected %llu\n", (unsigned long long)found,
                (unsigned long long)expected);
}

static inline void check_contains(const char *text, const char *part, const char *file, int line) {
    if (!check_that(strstr(text, part) != NULL, file, line, "the text contains the part"))
        fprintf(stderr, "    text: %s\n    part: %s\n", text, part);
}

#define CHECK(condition) check_that((condition) != 0, __FILE__, __LINE__, #condition)
#define CHECK_EQUAL(found, expected) \
    check_equal((uint64_t)(found), (uint64_t)(expected), __FILE__, __LINE__, #found " == " #expected)
#define CHECK_CONTAINS(text, part) check_contains(text, part, __FILE__, __LINE__)

/* For the end of main. A program that checked nothing has failed. */
static inline int check_result(void) {
    printf("%lu checks held, %lu failed\n", check_held, check_failed);
    return check_failed != 0 || check_held == 0;
}

/* splitmix64: the same numbers on every machine. */
static inline uint64_t check_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

#endif
