/* Time, calls, bytes and arithmetic per operator, in a fixed table (no heap). Off unless enabled. */
#ifndef UOCR_SRC_PROFILE_H
#define UOCR_SRC_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "uocr.h"

enum { UOCR_PROFILE_COUNTS = 2 }; /* uocr_engine_options.profile: nothing is timed */

typedef struct uocr_profile {
    bool enabled;
    bool counts_alone; /* a back end that queues work need not wait after every operator */
    const char *phase; /* "vision", "prefill", "decode": static strings */
    uint32_t count;
    uocr_profile_row row[UOCR_PROFILE_ROWS];
} uocr_profile;

double uocr_now(void); /* seconds of the monotonic clock */
/* Adds one call of operator `name` under the present phase. */
void uocr_profile_add(uocr_profile *, const char *name, double seconds, uint64_t bytes, double flops);

#endif
