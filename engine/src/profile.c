/* See profile.h. */
#include "profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

double uocr_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The row called `name`, made if there is room; when the table is full the last row collects the rest. */
static uocr_profile_row *row_named(uocr_profile *profile, const char *name) {
    for (uint32_t i = 0; i < profile->count; i++)
        if (strcmp(profile->row[i].name, name) == 0) return &profile->row[i];
    if (profile->count == UOCR_PROFILE_ROWS) return &profile->row[UOCR_PROFILE_ROWS - 1];

    uocr_profile_row *row = &profile->row[profile->count++];
    memset(row, 0, sizeof *row);
    if (profile->count == UOCR_PROFILE_ROWS) name = "other";
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

void uocr_profile_add(uocr_profile *profile, const char *name, double seconds, uint64_t bytes, double flops) {
    if (profile == NULL || !profile->enabled) return;
    char full[sizeof profile->row[0].name];
    if (profile->phase != NULL) snprintf(full, sizeof full, "%s/%s", profile->phase, name);
    else snprintf(full, sizeof full, "%s", name);

    uocr_profile_row *row = row_named(profile, full);
    row->calls++;
    row->seconds += seconds;
    row->bytes += bytes;
    row->flops += flops;
}
