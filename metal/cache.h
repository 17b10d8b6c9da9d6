// Elements of the key and value caches, float or half.
#ifndef UOCR_METAL_CACHE_H
#define UOCR_METAL_CACHE_H

#include "common.h"

static inline float4 cached(device const uchar *data, uint type, ulong i) {
    return type == F32 ? float4(((device const packed_float4 *)(data + 4 * i))[0])
                       : float4(((device const packed_half4 *)(data + 2 * i))[0]);
}

static inline void store(device uchar *data, uint type, ulong i, float v) {
    if (type == F32) ((device float *)data)[i] = v;
    else ((device half *)data)[i] = half(v);
}

#endif
