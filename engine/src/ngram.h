/* The repeat guard: no n-gram of `size` ids may come again while its first copy began within the last
 * `window` ids of prompt and output. What repeats at once, with a period of at most UOCR_NGRAM_PERIOD ids, may go
 * on for `cycle` ids. */
#ifndef UOCR_SRC_NGRAM_H
#define UOCR_SRC_NGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum { UOCR_NGRAM_MAX_WINDOW = 1 << 16, UOCR_NGRAM_PERIOD = 4 };

typedef struct uocr_ngram uocr_ngram;

/* Bytes of UOCR_MEMORY_TRANSIENT that a guard holds, rounded as uocr_memory_alloc does. */
size_t uocr_ngram_bytes(uint32_t size, uint32_t window, uint32_t allow_count);
/* size >= 1, cycle in 1..size, window at most UOCR_NGRAM_MAX_WINDOW; a window below `size` never bans. `allow`
 * lists ids that are never banned, in any order, and is copied. NULL: over budget or out of memory. */
uocr_ngram *uocr_ngram_create(uocr_memory *, uint32_t size, uint32_t cycle, uint32_t window, const int32_t *allow,
                              uint32_t allow_count);
void uocr_ngram_destroy(uocr_memory *, uocr_ngram *);
/* The prompt, then each chosen id. */
void uocr_ngram_push(uocr_ngram *, const int32_t *ids, size_t count);
/* Ids that may not come next: ascending, each once; valid until the next call. */
const int32_t *uocr_ngram_banned(uocr_ngram *, size_t *count);

#endif
