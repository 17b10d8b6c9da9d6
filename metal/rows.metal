// Rows: copies, lookups, sums, norms, and the check for Inf and NaN.
#include "common.h"

constant uint TABLE_TYPE [[function_constant(0)]]; // embed_rows; norm weight of norm_rows
constant uint RMS [[function_constant(1)]];        // norm_rows: 1 RMS norm, 0 layer norm
constant uint BIAS_TYPE [[function_constant(2)]];  // of norm_rows' bias

// One threadgroup a row.
kernel void copy_rows(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      constant uint *from [[buffer(2)]], constant uint *to [[buffer(3)]],
                      constant gpu_rows_args &args [[buffer(4)]], uint row [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]]) {
    device const float *source = x + ulong(args.from_list ? from[row] : row) * args.x_stride;
    device float *target = y + ulong(args.to_list ? to[row] : row) * args.y_stride;
    for (uint i = thread_index; i < args.cols; i += threads) target[i] = source[i];
}

kernel void embed_rows(device const uchar *payload [[buffer(0)]], device const half *scales [[buffer(1)]],
                       device float *y [[buffer(2)]], constant uint *from [[buffer(3)]],
                       constant uint *to [[buffer(4)]], constant gpu_rows_args &args [[buffer(5)]],
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint threads [[threads_per_threadgroup]]) {
    const uint source = args.from_list ? from[row] : row;
    device float *target = y + ulong(args.to_list ? to[row] : row) * args.y_stride;
    for (uint i = thread_index; i < args.cols; i += threads)
        target[i] = weight_at(payload, scales, TABLE_TYPE, args.cols, source, i);
}

// The embedding of the token that the device chose itself.
kernel void embed_chosen(device const uchar *payload [[buffer(0)]], device const half *scales [[buffer(1)]],
                         device float *y [[buffer(2)]], device const gpu_choice *choice [[buffer(3)]],
                         constant gpu_rows_args &args [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i < args.cols) y[i] = weight_at(payload, scales, TABLE_TYPE, args.cols, uint(choice->id), i);
}

kernel void add_rows(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                     constant gpu_rows_args &args [[buffer(2)]], uint row [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]]) {
    for (uint i = thread_index; i < args.cols; i += threads)
        y[ulong(row) * args.y_stride + i] += x[ulong(row) * args.x_stride + i];
}

// bad[threadgroup] = 1 when one of its rows holds Inf or NaN.
kernel void finite_rows(device const float *x [[buffer(0)]], device uint *bad [[buffer(1)]],
                        constant gpu_rows_args &args [[buffer(2)]],
                        uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint found[32];
    uint seen = 0;
    for (uint row = group * simdgroups + simdgroup; row < args.rows; row += groups * simdgroups)
        for (uint i = lane; i < args.cols; i += 32)
            seen |= isfinite(x[ulong(row) * args.x_stride + i]) ? 0u : 1u;
    seen = simd_max(seen);
    if (lane == 0) found[simdgroup] = seen;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        const uint any = simd_max(lane < simdgroups ? found[lane] : 0u);
        if (lane == 0) bad[group] = any;
    }
}

// One simdgroup a row: no barrier, and y may be x.
kernel void norm_rows(device const float *x [[buffer(0)]], device const uchar *weight [[buffer(1)]],
                      device const uchar *bias [[buffer(2)]], device float *y [[buffer(3)]],
                      constant gpu_norm_args &args [[buffer(4)]], uint group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]]) {
    const uint row = group * simdgroups + simdgroup;
    if (row >= args.rows) return; // the whole simdgroup
    device const float *source = x + ulong(row) * args.x_stride;
    device float *target = y + ulong(row) * args.y_stride;
    float mean = 0.0f, square = 0.0f;
    if (RMS == 0) {
        for (uint i = lane; i < args.cols; i += 32) mean += source[i];
        mean = simd_sum(mean) / float(args.cols);
    }
    for (uint i = lane; i < args.cols; i += 32) square += (source[i] - mean) * (source[i] - mean);
    const float factor = 1.0f / sqrt(simd_sum(square) / float(args.cols) + args.eps);
    for (uint i = lane; i < args.cols; i += 32) {
        const float normal = vector_at(weight, TABLE_TYPE, i) * ((source[i] - mean) * factor);
        target[i] = RMS == 0 ? normal + vector_at(bias, BIAS_TYPE, i) : normal;
    }
}
