/* What the measurements may ask of the CUDA device beyond device.h. */
#ifndef TESTS_METAL_CUDA_DEVICE_CUDA_H
#define TESTS_METAL_CUDA_DEVICE_CUDA_H

#include "gpu/device.h"

const char *gpu_cuda_name(gpu_device *);
/* Bytes a second, read and written together, of a copy within device memory. */
double gpu_cuda_copy_rate(gpu_device *, size_t bytes);

#endif
