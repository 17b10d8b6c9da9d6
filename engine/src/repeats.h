/* How long the newest ids have repeated what stood d places before them, for every distance d at once.
 *
 * run[d-1] is the number of newest ids that each equal the id d places earlier. One pushed id updates all of
 * them in one pass over the last ids, so nothing is ever searched: the repeat guard and the loop verdict both
 * read this table. */
#ifndef UOCR_SRC_REPEATS_H
#define UOCR_SRC_REPEATS_H

#include <stddef.h>
#include <stdint.h>

typedef struct uocr_repeats {
    uint32_t distances; /* 1..distances are watched */
    uint32_t known;     /* ids pushed so far, at most distances */
    uint32_t newest;    /* place of the newest id in history */
    int32_t *history;   /* [2 * distances] newest first and stored twice, so that the last ids are always
                           contiguous */
    uint32_t *run;      /* [distances] */
} uocr_repeats;

size_t uocr_repeats_bytes(uint32_t distances); /* of the storage, a multiple of 4 */
/* `storage` is zeroed, aligned to 4 bytes and outlives the struct. */
void uocr_repeats_begin(uocr_repeats *, uint32_t distances, void *storage);
/* Returns the longest run, 0 if the newest id occurs at no watched distance. */
uint32_t uocr_repeats_push(uocr_repeats *, int32_t id);
/* The id `distance` - 1 places before the newest; distance in 1..known. */
static inline int32_t uocr_repeats_id(const uocr_repeats *repeats, uint32_t distance) {
    return repeats->history[repeats->newest + distance - 1];
}

#endif
