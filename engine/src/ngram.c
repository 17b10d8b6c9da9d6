/* See ngram.h.
 *
 * With S the ids so far, L their number, n = size, W = window: the ids S[i + n - 1] are banned for all
 * max(0, L - W) <= i < L - n + 1 where S[i .. i + n - 2] equals the last n - 1 ids. Seen by distance d = L -
 * n + 1 - i, that is 1 <= d <= W - n + 1 where the last n - 1 ids each equal the id d places earlier: the
 * table of repeats.h. The banned id is the one d - 1 places before the newest. Ids older than W never matter,
 * so none are kept. For the shortest distances n is `cycle`. */
#include "ngram.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "repeats.h"

struct uocr_ngram {
    uint32_t size, cycle, allow_count;
    size_t bytes; /* of this block */
    uocr_repeats repeats;
    int32_t *banned; /* [distances] */
    int32_t *allow;  /* [allow_count] ascending */
};

static uint32_t distances(uint32_t size, uint32_t window) { return window < size ? 0 : window - size + 1; }

static size_t block_bytes(uint32_t size, uint32_t window, uint32_t allow_count) {
    uint32_t d = distances(size, window);
    return sizeof(uocr_ngram) + uocr_repeats_bytes(d) + ((size_t)d + allow_count) * sizeof(int32_t);
}

size_t uocr_ngram_bytes(uint32_t size, uint32_t window, uint32_t allow_count) {
    return uocr_memory_rounded(block_bytes(size, window, allow_count));
}

/* Moves the id at `place` down until no child in the heap of `count` ids is larger. */
static void sift(int32_t *heap, size_t place, size_t count) {
    const int32_t id = heap[place];
    for (size_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && heap[child + 1] > heap[child]) child++;
        if (heap[child] <= id) break;
        heap[place] = heap[child];
    }
    heap[place] = id;
}

/* Heap sort: in place, and never slow whatever ids a caller gives. */
static void sort_ascending(int32_t *ids, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sift(ids, i, count);
    for (size_t end = count; end-- > 1;) {
        int32_t largest = ids[0];
        ids[0] = ids[end];
        ids[end] = largest;
        sift(ids, 0, end);
    }
}

static bool is_allowed(const uocr_ngram *guard, int32_t id) {
    size_t low = 0, high = guard->allow_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (guard->allow[middle] < id) low = middle + 1;
        else high = middle;
    }
    return low < guard->allow_count && guard->allow[low] == id;
}

uocr_ngram *uocr_ngram_create(uocr_memory *memory, uint32_t size, uint32_t cycle, uint32_t window,
                              const int32_t *allow, uint32_t allow_count) {
    assert(cycle >= 1 && cycle <= size && window <= UOCR_NGRAM_MAX_WINDOW);
    const size_t bytes = block_bytes(size, window, allow_count);
    uocr_ngram *guard = uocr_memory_alloc(memory, UOCR_MEMORY_TRANSIENT, bytes);
    if (guard == NULL) return NULL;

    const uint32_t d = distances(size, window);
    int32_t *storage = (int32_t *)(guard + 1);
    guard->size = size;
    guard->cycle = cycle;
    guard->bytes = bytes;
    uocr_repeats_begin(&guard->repeats, d, storage);
    guard->banned = storage + uocr_repeats_bytes(d) / sizeof *storage;
    guard->allow = guard->banned + d;
    guard->allow_count = allow_count;
    if (allow_count > 0) memcpy(guard->allow, allow, allow_count * sizeof *allow);
    sort_ascending(guard->allow, allow_count);
    return guard;
}

void uocr_ngram_destroy(uocr_memory *memory, uocr_ngram *guard) {
    if (guard != NULL) uocr_memory_free(memory, UOCR_MEMORY_TRANSIENT, guard, guard->bytes);
}

void uocr_ngram_push(uocr_ngram *guard, const int32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) uocr_repeats_push(&guard->repeats, ids[i]);
}

const int32_t *uocr_ngram_banned(uocr_ngram *guard, size_t *count) {
    const uocr_repeats *repeats = &guard->repeats;
    size_t found = 0;
    for (uint32_t d = 1; d <= repeats->known; d++) {
        uint32_t size = d <= UOCR_NGRAM_PERIOD ? guard->cycle : guard->size;
        if (repeats->run[d - 1] + 1 < size) continue;
        int32_t id = uocr_repeats_id(repeats, d);
        if (!is_allowed(guard, id)) guard->banned[found++] = id;
    }
    sort_ascending(guard->banned, found);

    size_t kept = 0;
    for (size_t i = 0; i < found; i++)
        if (kept == 0 || guard->banned[kept - 1] != guard->banned[i])
            guard->banned[kept++] = guard->banned[i];
    *count = kept;
    return guard->banned;
}
