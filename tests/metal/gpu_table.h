/* The CPU's table of operators, run over a GPU back end against the same float64 references.
 *
 * Half tiles (FAST) are allowed the rounding of a product's inputs; float tiles (EXACT) nothing more than the CPU. */
#ifndef TESTS_METAL_GPU_TABLE_H
#define TESTS_METAL_GPU_TABLE_H

#include "ops_support.h"

#include "gpu/gpu.h"

/* The full model's shapes, as far as a back end looks at them. */
uocr_config gpu_table_config(void);
/* Every family of operators, or the one called `only`; ends with activations at the edge of half. */
void gpu_table_run(ops *, bool exact, const char *only);
/* With the profile on, the numbers are the same and every kernel is counted. */
void gpu_table_profiled(ops *);

#endif
