// Products of weight rows with one row of inputs, a simdgroup at a time.
#ifndef UOCR_METAL_GEMV_H
#define UOCR_METAL_GEMV_H

#include "common.h"

// The input row, RMS-normalised on the way where a norm comes before the product (norm_type < 2).
struct input_row {
    device const float *x;
    device const uchar *norm;
    uint norm_type; // GPU_NO_BIAS: no norm
    float factor;

    inline float at(uint i) const {
        return norm_type == GPU_NO_BIAS ? x[i] : x[i] * factor * vector_at(norm, norm_type, i);
    }
    inline float4 at4(uint i) const {
        const float4 v = float4(((device const packed_float4 *)(x + i))[0]);
        return norm_type == GPU_NO_BIAS ? v : v * factor * vector4_at(norm, norm_type, i);
    }
};

// 1 / RMS of a row. Every simdgroup works it out by itself: cheaper than a barrier.
static inline float rms_factor(device const float *x, uint cols, float eps, uint lane) {
    float square = 0.0f;
    for (uint i = lane; i < cols; i += 32) square += x[i] * x[i];
    return 1.0f / sqrt(simd_sum(square) / float(cols) + eps);
}

// sum[r] += this lane's share of row row0 + r times the input, r < count; the sums beyond are of no use. Scales lie
// beside quantised rows. Past the end, quantised rows repeat the last instead of being left out: without a branch the
// loads of all rows, which are small, are underway together.
template <uint TYPE, uint ROWS>
static inline void row_products(device const uchar *payload, device const half *scales,
                                thread const input_row &x, uint cols, ulong row0, uint count, uint lane,
                                thread float *sum) {
    if (TYPE ==
        Q4) { // 8 lanes a group: 4 bytes are weights j.. of the first half of the group and j.. of the second
        const uint j = 4 * (lane % 8);
        for (uint g = lane / 8; g < cols / GROUP; g += 4) {
            const float4 low = x.at4(g * GROUP + j), high = x.at4(g * GROUP + GROUP / 2 + j);
            const float zero = -8.0f * (dot(low, float4(1.0f)) + dot(high, float4(1.0f)));
            for (uint r = 0; r < ROWS; r++) {
                const ulong group = (row0 + min(r, count - 1)) * (cols / GROUP) + g;
                const uchar4 q = ((device const uchar4 *)(payload + group * (GROUP / 2) + j))[0];
                sum[r] += float(scales[group]) *
                          (dot(float4(q & uchar4(15)), low) + dot(float4(q >> uchar4(4)), high) + zero);
            }
        }
    } else if (TYPE == Q8) {
        for (uint i = 4 * lane; i < cols; i += 128) {
            const float4 v = x.at4(i);
            for (uint r = 0; r < ROWS; r++) {
                const ulong at = (row0 + min(r, count - 1)) * cols + i;
                const char4 q = ((device const char4 *)(payload + at))[0];
                sum[r] += float(scales[at / GROUP]) * dot(float4(q), v);
            }
        }
    } else {
        const uint whole = cols / 4 * 4;
        for (uint i = 4 * lane; i < whole; i += 128) {
            const float4 v = x.at4(i);
            for (uint r = 0; r < ROWS; r++) {
                if (r >= count) break;
                const ulong at = (row0 + r) * cols + i;
                if (TYPE == F16)
                    sum[r] += dot(float4(((device const packed_half4 *)(payload + 2 * at))[0]), v);
                else sum[r] += dot(float4(((device const packed_float4 *)(payload + 4 * at))[0]), v);
            }
        }
        const uint i = whole + lane;
        if (i < cols) {
            const float v = x.at(i);
            for (uint r = 0; r < ROWS; r++) {
                if (r >= count) break;
                const ulong at = (row0 + r) * cols + i;
                sum[r] += v * (TYPE == F16 ? float(((device const half *)payload)[at])
                                           : ((device const float *)payload)[at]);
            }
        }
    }
}

// The same for a type that is a function constant.
template <uint ROWS>
static inline void typed_products(uint type, device const uchar *payload, device const half *scales,
                                  thread const input_row &x, uint cols, ulong row0, uint count, uint lane,
                                  thread float *sum) {
    if (type == Q4) row_products<Q4, ROWS>(payload, scales, x, cols, row0, count, lane, sum);
    else if (type == Q8) row_products<Q8, ROWS>(payload, scales, x, cols, row0, count, lane, sum);
    else if (type == F16) row_products<F16, ROWS>(payload, scales, x, cols, row0, count, lane, sum);
    else row_products<F32, ROWS>(payload, scales, x, cols, row0, count, lane, sum);
}

#endif
