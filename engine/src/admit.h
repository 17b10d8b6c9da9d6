/* What a plan will need, category by category, and whether it may begin. */
#ifndef UOCR_SRC_ADMIT_H
#define UOCR_SRC_ADMIT_H

#include "engine.h"
#include "request.h"

/* Computed by the layout functions that a run allocates with. */
void uocr_admit_estimate(const uocr_engine *, const uocr_request *, uocr_memory_estimate *);
/* UOCR_OK, or UOCR_OVER_BUDGET with the table, the budget and what would fit. */
uocr_status uocr_admit(const uocr_engine *, const uocr_request *, uocr_error *);

#endif
