/* What tests may ask of the host device beyond device.h. */
#ifndef UOCR_SRC_GPU_DEVICE_HOST_H
#define UOCR_SRC_GPU_DEVICE_HOST_H

#include "device.h"
#include "host/library.h"

/* Called after every dispatch with what it did. */
typedef void (*gpu_host_observer)(void *observer, const gpu_dispatch *, const msl_counts *);
void gpu_host_observe(gpu_device *, gpu_host_observer, void *observer);
int gpu_host_checks(gpu_device *);                 /* 1: the library has the checker */
void gpu_host_order(gpu_device *, uint32_t order); /* MSL_FORWARD.. */

#endif
