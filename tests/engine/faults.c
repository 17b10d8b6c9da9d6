/* Faults on purpose, to show that the sanitizers of the other programs are awake.
 *
 * Usage: faults read|overflow|race    Ends with status 0 when nothing notices. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int shared;

static void *count_up(void *unused) {
    for (int i = 0; i < 1000; i++) shared++;
    return unused;
}

int main(int count, char **arguments) {
    const char *fault = count > 1 ? arguments[1] : "";
    if (strcmp(fault, "read") == 0) {
        volatile size_t size = 16; /* unknown to the compiler: only the running program can tell */
        volatile char *block = calloc(1, size);
        printf("%d\n", block[size]); /* one past the end */
        free((void *)block);
    } else if (strcmp(fault, "overflow") == 0) {
        volatile int number = INT_MAX;
        printf("%d\n", number + 1);
    } else if (strcmp(fault, "race") == 0) {
        pthread_t other;
        pthread_create(&other, NULL, count_up, NULL);
        count_up(NULL);
        pthread_join(other, NULL);
        printf("%d\n", shared);
    }
    return 0;
}
