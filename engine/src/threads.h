/* A pool of worker threads that runs tiles of work; the caller works too.
 *
 * Tiles are handed out by an atomic counter. Results must not depend on which worker ran a tile, so that no result
 * depends on the number of threads. A raised cancel flag is seen before every tile (a tile is at most about 20 ms). */
#ifndef UOCR_SRC_THREADS_H
#define UOCR_SRC_THREADS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "uocr.h"

typedef struct uocr_pool uocr_pool;
typedef void (*uocr_tile_fn)(void *argument, size_t tile, uint32_t worker); /* worker in 0..threads-1 */

uint32_t uocr_pool_default_threads(void); /* processors this process may use, affinity and cgroup quota included */
uocr_status uocr_pool_create(uint32_t threads, uocr_pool **, uocr_error *); /* threads 1..256 */
void uocr_pool_destroy(uocr_pool *);
uint32_t uocr_pool_threads(const uocr_pool *);
size_t uocr_pool_bytes(uint32_t threads); /* heap it holds, for the memory report; stacks apart */

/* Watched until changed; NULL for none. */
void uocr_pool_watch(uocr_pool *, const atomic_bool *cancel);
/* Runs fn for tiles 0..tiles-1 and returns when all are done: UOCR_OK, or UOCR_CANCELLED with some tiles not run. */
uocr_status uocr_pool_run(uocr_pool *, size_t tiles, uocr_tile_fn fn, void *argument);

#endif
