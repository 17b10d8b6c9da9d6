/* See repeats.h. */
#include "repeats.h"

size_t uocr_repeats_bytes(uint32_t distances) {
    return (size_t)distances * (2 * sizeof(int32_t) + sizeof(uint32_t));
}

void uocr_repeats_begin(uocr_repeats *repeats, uint32_t distances, void *storage) {
    *repeats = (uocr_repeats){.distances = distances, .history = storage};
    repeats->run = (uint32_t *)(repeats->history + 2 * (size_t)distances);
}

uint32_t uocr_repeats_push(uocr_repeats *repeats, int32_t id) {
    const int32_t *before = repeats->history + repeats->newest;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < repeats->known;
         i++) { /* distance i + 1; no branches, so that it becomes vector code */
        uint32_t run = (repeats->run[i] + 1) & -(uint32_t)(before[i] == id);
        repeats->run[i] = run;
        longest = run > longest ? run : longest;
    }
    if (repeats->distances == 0) return 0;
    repeats->newest = (repeats->newest == 0 ? repeats->distances : repeats->newest) - 1;
    repeats->history[repeats->newest] = repeats->history[repeats->newest + repeats->distances] = id;
    if (repeats->known < repeats->distances) repeats->known++;
    return longest;
}
