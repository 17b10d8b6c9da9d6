/* Is the output going round in circles? Two signs, one for each state of the repeat guard:
 *  - guard on: it had to change the choice in at least `hits` of the last `history` steps;
 *  - guard off: each of the last `history` ids equals the id `period` places before it, for one period up to
 *    `period_max`. Only generated ids count: a prompt repeats its image id by design. */
#ifndef UOCR_SRC_LOOP_H
#define UOCR_SRC_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum { UOCR_LOOP_MAX_HISTORY = 1 << 14, UOCR_LOOP_MAX_PERIOD = 1 << 14 };

typedef struct uocr_loop uocr_loop;

typedef struct uocr_loop_options {
    bool guarded;
    uint32_t history;    /* steps, 1..UOCR_LOOP_MAX_HISTORY */
    uint32_t hits;       /* guarded: 1..history */
    uint32_t period_max; /* not guarded: 1..UOCR_LOOP_MAX_PERIOD */
} uocr_loop_options;

/* Bytes of UOCR_MEMORY_TRANSIENT that it holds, rounded as uocr_memory_alloc does. */
size_t uocr_loop_bytes(const uocr_loop_options *);
uocr_loop *uocr_loop_create(uocr_memory *,
                            const uocr_loop_options *); /* NULL: over budget or out of memory */
void uocr_loop_destroy(uocr_memory *, uocr_loop *);
/* After each generated id: true when the output loops. */
bool uocr_loop_step(uocr_loop *, int32_t id, bool guard_acted);

#endif
