// Linear layers of one row: up to three products of the same input in one dispatch, after an RMS norm where
// one comes before them; bias, activation and residual in the tail.
#include "gemv.h"

constant uint TYPE_0 [[function_constant(0)]]; // of the weights
constant uint TYPE_1 [[function_constant(1)]];
constant uint TYPE_2 [[function_constant(2)]];
constant uint NORM_TYPE [[function_constant(3)]]; // of the norm's weight, GPU_NO_BIAS: no norm

static inline void gemv_part(uint type, device const uchar *payload, device const half *scales,
                             device const uchar *bias, device float *y, constant gpu_gemv_part &part,
                             thread const input_row &x, uint cols, uint group, uint simdgroup, uint lane) {
    const uint row0 = ((group - part.first_group) * GPU_GEMV_SIMDGROUPS + simdgroup) * GPU_GEMV_ROWS;
    if (row0 >= part.rows) return; // the whole simdgroup
    const uint count = min(uint(GPU_GEMV_ROWS), part.rows - row0);
    float sum[GPU_GEMV_ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
    typed_products<GPU_GEMV_ROWS>(type, payload, scales, x, cols, row0, count, lane, sum);
    for (uint r = 0; r < GPU_GEMV_ROWS; r++) {
        const float product = simd_sum(sum[r]);
        if (lane == 0 && r < count) {
            float v = part.accumulate ? y[row0 + r] + product : product;
            if (part.bias_type != GPU_NO_BIAS) v += vector_at(bias, part.bias_type, row0 + r);
            y[row0 + r] = activate(part.activation, v);
        }
    }
}

kernel void gemv(device const float *x [[buffer(0)]], device const uchar *norm [[buffer(1)]],
                 device float *normal [[buffer(2)]], constant gpu_gemv_args &args [[buffer(3)]],
                 device const uchar *payload0 [[buffer(4)]], device const half *scales0 [[buffer(5)]],
                 device const uchar *bias0 [[buffer(6)]], device float *y0 [[buffer(7)]],
                 device const uchar *payload1 [[buffer(8)]], device const half *scales1 [[buffer(9)]],
                 device const uchar *bias1 [[buffer(10)]], device float *y1 [[buffer(11)]],
                 device const uchar *payload2 [[buffer(12)]], device const half *scales2 [[buffer(13)]],
                 device const uchar *bias2 [[buffer(14)]], device float *y2 [[buffer(15)]],
                 uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    input_row row = {x, norm, NORM_TYPE, 1.0f};
    if (NORM_TYPE != GPU_NO_BIAS) {
        row.factor = rms_factor(x, args.cols, args.eps, lane);
        if (group == 0 && simdgroup == 0) // others may want the normed row too
            for (uint i = lane; i < args.cols; i += 32) normal[i] = row.at(i);
    }
    if (args.parts > 2 && group >= args.part[2].first_group)
        gemv_part(TYPE_2, payload2, scales2, bias2, y2, args.part[2], row, args.cols, group, simdgroup, lane);
    else if (args.parts > 1 && group >= args.part[1].first_group)
        gemv_part(TYPE_1, payload1, scales1, bias1, y1, args.part[1], row, args.cols, group, simdgroup, lane);
    else
        gemv_part(TYPE_0, payload0, scales0, bias0, y0, args.part[0], row, args.cols, group, simdgroup, lane);
}

// y (+)= scale * (x A^T) B^T, one threadgroup a row of x: low-rank pairs are small.
constant uint A_TYPE [[function_constant(4)]];
constant uint B_TYPE [[function_constant(5)]];

kernel void adapter(device const float *x [[buffer(0)]], device const uchar *a [[buffer(1)]],
                    device const half *a_scales [[buffer(2)]], device const uchar *b [[buffer(3)]],
                    device const half *b_scales [[buffer(4)]], device float *y [[buffer(5)]],
                    constant gpu_adapter_args &args [[buffer(6)]],
                    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]],
                    uint index [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]]) {
    threadgroup float low[GPU_MOST_RANK];
    const input_row row = {x + ulong(group) * args.x_stride, a, GPU_NO_BIAS, 1.0f};
    for (uint r = simdgroup; r < args.rank; r += simdgroups) {
        float sum[1] = {0.0f};
        typed_products<1>(A_TYPE, a, a_scales, row, args.depth, r, 1, lane, sum);
        const float product = simd_sum(sum[0]);
        if (lane == 0) low[r] = product * args.scale;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    device float *target = y + ulong(group) * args.y_stride;
    for (uint c = index; c < args.cols; c += threads) {
        float sum = 0.0f;
        for (uint r = 0; r < args.rank; r++) sum += low[r] * weight_at(b, b_scales, B_TYPE, args.rank, c, r);
        target[c] = args.accumulate ? target[c] + sum : sum;
    }
}
