/* y (+)= x W^T by Apple's own library, for halves. Objective-C, part of device_metal.m.
 *
 * Off unless UOCR_METAL_MPS=1: the library does not say how it rounds products of floats and halves, and a shape that
 * it does not like ends the program instead of returning an error. It is there to be measured against our kernel. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_MPS_H
#define UOCR_SRC_GPU_DEVICE_METAL_MPS_H

#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
#include <stdlib.h>

#include "device.h"

static inline int gpu_mps_wanted(void) {
    const char *text = getenv("UOCR_METAL_MPS");
    return text && strcmp(text, "1") == 0;
}

/* Rows of a buffer. */
static inline MPSMatrix *gpu_mps_matrix(id<MTLBuffer> buffer, size_t offset, uint32_t rows, uint32_t cols,
                                        size_t row_bytes, MPSDataType type) {
    MPSMatrixDescriptor *shape = [MPSMatrixDescriptor matrixDescriptorWithRows:rows
                                                                       columns:cols
                                                                      rowBytes:row_bytes
                                                                      dataType:type];
    return [[MPSMatrix alloc] initWithBuffer:buffer offset:offset descriptor:shape];
}

/* Of x, W and y, each in its buffer from its byte on. The command buffer has no encoder open. */
static inline void gpu_mps_encode(id<MTLDevice> device, id<MTLCommandBuffer> commands, const gpu_matrix_product *p,
                                  id<MTLBuffer> const buffer[3], const size_t at[3]) {
    const size_t f32 = sizeof(float), f16 = f32 / 2;
    MPSMatrixMultiplication *product = [[MPSMatrixMultiplication alloc] initWithDevice:device
                                                                         transposeLeft:NO
                                                                        transposeRight:YES
                                                                            resultRows:p->rows
                                                                         resultColumns:p->cols
                                                                       interiorColumns:p->depth
                                                                                 alpha:1
                                                                                  beta:p->accumulate ? 1 : 0];
    MPSMatrix *x = gpu_mps_matrix(buffer[0], at[0], p->rows, p->depth, p->x_stride * f32, MPSDataTypeFloat32);
    MPSMatrix *w = gpu_mps_matrix(buffer[1], at[1], p->cols, p->depth, p->depth * f16, MPSDataTypeFloat16);
    MPSMatrix *y = gpu_mps_matrix(buffer[2], at[2], p->rows, p->cols, p->y_stride * f32, MPSDataTypeFloat32);
    [product encodeToCommandBuffer:commands leftMatrix:x rightMatrix:w resultMatrix:y];
}

#endif
