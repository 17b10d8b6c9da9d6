/* See repeats.h. */
#include "repeats.h"

size_t uocr_repeats_bytes(uint32_t distances) {
    return (size_t)distances * (2 * sizeof(int32_t) + sizeof(uint32_t));
}

void uocr_repeats_begin(uocr_repeats *repeats, uint32_t distances, void *storage) {
    *repeats = (uocr_repeats){.distances = distances, .history = storage};
    repeats->run = (uint32_t *)(repeats->history + 2 * (size_t)distances);
}

/* Brings the runs of the first `count` distances up to date; returns the longest. No branches, so that it
 * becomes vector code. */
static uint32_t update_runs(uint32_t *restrict runs, const int32_t *restrict before, uint32_t count,
                            int32_t id) {
    uint32_t longest = 0;
    for (uint32_t i = 0; i < count; i++) { /* distance i + 1 */
        uint32_t run = (runs[i] + 1) & -(uint32_t)(before[i] == id);
        runs[i] = run;
        longest = run > longest ? run : longest;
    }
    return longest;
}

uint32_t uocr_repeats_push(uocr_repeats *repeats, int32_t id) {
    if (repeats->distances == 0) return 0;
    uint32_t longest = update_runs(repeats->run, repeats->history + repeats->newest, repeats->known, id);
    repeats->newest = (repeats->newest == 0 ? repeats->distances : repeats->newest) - 1;
    repeats->history[repeats->newest] = repeats->history[repeats->newest + repeats->distances] = id;
    if (repeats->known < repeats->distances) repeats->known++;
    return longest;
}
