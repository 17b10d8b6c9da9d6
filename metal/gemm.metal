// y = x W^T for many rows: tiles of 64 x 32 x 32 on 8x8 simdgroup matrices, four simdgroups of 32 x 16 each.
//
// Rows of x are rows of a buffer, rows from a list (experts), patches of a picture or 3x3 neighbourhoods of a
// map; weights of any type are dequantised once a tile, into threadgroup memory. Tiles are half with float
// accumulators, or float.
#include <metal_simdgroup_matrix>
#include "common.h"

constant uint WEIGHT_TYPE [[function_constant(0)]];
constant uint FLOAT_TILES [[function_constant(1)]]; // 1: float, 0: half
constant uint SOURCE [[function_constant(2)]];      // GPU_SOURCE_*
constant uint GATED [[function_constant(3)]];       // 1: a second weight, y = silu(first) * second
constant uint EXPERTS [[function_constant(4)]];     // 1: threadgroup z is an expert with its own rows
constant uint SECOND_TYPE [[function_constant(5)]]; // of the second weight, WEIGHT_TYPE where there is none

constant constexpr uint THREADS = 128;
constant constexpr uint M = GPU_TILE_ROWS;
constant constexpr uint N = GPU_TILE_COLS;
constant constexpr uint K = GPU_TILE_K;

// Where the rows of x come from.
struct row_source {
    device const float *x;
    device const uchar *rgb;
    device const uint *list; // row numbers, GPU_SOURCE_GATHER
    constant float *pixel;   // 256 values a byte can mean
};

static inline float element_of(thread const row_source &s, constant gpu_gemm_args &args, uint row, uint k) {
    if (SOURCE == GPU_SOURCE_PATCH) {
        const uint side = args.width / args.step, line = 3 * args.step;
        const uint top = row / side * args.step + k / line, left = row % side * args.step;
        return s.pixel[s.rgb[(ulong(top) * args.width + left) * 3 + k % line]];
    }
    if (SOURCE == GPU_SOURCE_CONV) {
        const uint tap = k / args.channels;
        const uint top = row / args.out_width * args.step + tap / 3; // one more than the pixel's: the padding
        const uint left = row % args.out_width * args.step + tap % 3;
        if (top < 1 || top > args.height || left < 1 || left > args.width) return 0.0f;
        return s.x[(ulong(top - 1) * args.width + left - 1) * args.x_stride + k % args.channels];
    }
    return s.x[ulong(SOURCE == GPU_SOURCE_GATHER ? s.list[row] : row) * args.x_stride + k];
}

// Four consecutive inputs of a row, zeros past the end.
static inline float4 inputs_of(thread const row_source &s, constant gpu_gemm_args &args, uint row, uint rows,
                               uint k) {
    float4 v = float4(0.0f);
    if (row >= rows || k >= args.depth) return v;
    if (SOURCE <= GPU_SOURCE_GATHER && k + 4 <= args.depth) {
        const ulong at = ulong(SOURCE == GPU_SOURCE_GATHER ? s.list[row] : row) * args.x_stride + k;
        return float4(((device const packed_float4 *)(s.x + at))[0]);
    }
    if (SOURCE == GPU_SOURCE_CONV && args.channels % 4 == 0) {
        const uint tap = k / args.channels;
        const uint top = row / args.out_width * args.step + tap / 3;
        const uint left = row % args.out_width * args.step + tap % 3;
        if (top < 1 || top > args.height || left < 1 || left > args.width) return v;
        const ulong at = (ulong(top - 1) * args.width + left - 1) * args.x_stride + k % args.channels;
        return float4(((device const packed_float4 *)(s.x + at))[0]);
    }
    for (uint i = 0; i < 4 && k + i < args.depth; i++) v[i] = element_of(s, args, row, k + i);
    return v;
}

// Input number of column c of tile step k0: in order, except that a q4 tile takes both nibbles of 16 bytes,
// so that every byte is read once. The two halves of such a tile lie 32 inputs apart.
static inline uint input_number(uint k0, uint c) {
    if (WEIGHT_TYPE != Q4 && SECOND_TYPE != Q4) return k0 + c;
    return k0 / GROUP * GROUP + (k0 % GROUP) / 2 + (c < K / 2 ? c : c + GROUP / 2 - K / 2);
}

template <typename T>
static inline void stage_inputs(thread const row_source &s, constant gpu_gemm_args &args, uint row0,
                                uint rows, uint k0, uint thread_index, threadgroup T *tile) {
    for (uint t = thread_index; t < M * K / 4; t += THREADS) {
        const uint r = t / (K / 4), c = t % (K / 4) * 4;
        const float4 v = inputs_of(s, args, row0 + r, rows, input_number(k0, c));
        for (uint i = 0; i < 4; i++) tile[r * K + c + i] = T(v[i]);
    }
}

// 32 weight rows x 32 inputs: each thread a quarter of one row.
template <typename T>
static inline void stage_weights(uint type, device const uchar *payload, device const half *scales,
                                 constant gpu_gemm_args &args, ulong matrix_row, uint col0, uint k0,
                                 uint thread_index, threadgroup T *tile) {
    const uint n = thread_index / 4, part = thread_index % 4;
    threadgroup T *out = tile + n * K;
    const bool inside = col0 + n < args.cols;
    const ulong row = matrix_row + col0 + n;
    if (type == Q4) {
        const ulong group = row * (args.depth / GROUP) + k0 / GROUP;
        uchar4 q = uchar4(0x88);
        float scale = 0.0f;
        if (inside) {
            q = ((device const uchar4 *)(payload + group * (GROUP / 2) + k0 % GROUP / 2 + 4 * part))[0];
            scale = float(scales[group]);
        }
        for (uint i = 0; i < 4; i++) {
            out[4 * part + i] = T(float(int(q[i] & 15) - 8) * scale);
            out[K / 2 + 4 * part + i] = T(float(int(q[i] >> 4) - 8) * scale);
        }
        return;
    }
    for (uint c = 8 * part; c < 8 * part + 8; c += 4) {
        float4 v = float4(0.0f);
        const uint k = input_number(k0, c);
        const ulong at = row * args.depth + k;
        if (inside && k + 4 <= args.depth) {
            if (type == Q8) v = float4(((device const char4 *)(payload + at))[0]) * float(scales[at / GROUP]);
            else if (type == F16) v = float4(((device const packed_half4 *)(payload + 2 * at))[0]);
            else v = float4(((device const packed_float4 *)(payload + 4 * at))[0]);
        } else if (inside)
            for (uint i = 0; i < 4 && k + i < args.depth; i++)
                v[i] = vector_at(payload + weight_bytes(type, row * args.depth), type, k + i);
        for (uint i = 0; i < 4; i++) out[c + i] = T(v[i]);
    }
}

// One step: 32 x 16 of y by this simdgroup.
template <typename T>
static inline void multiply(threadgroup const T *inputs, threadgroup const T *weights, uint simdgroup,
                            thread simdgroup_float8x8 (&y)[4][2]) {
    const uint r0 = simdgroup / 2 * 32, c0 = simdgroup % 2 * 16;
    for (uint k = 0; k < K; k += 8) {
        simdgroup_matrix<T, 8, 8> left[4], right[2];
        for (uint i = 0; i < 4; i++) simdgroup_load(left[i], inputs + (r0 + 8 * i) * K + k, K);
        for (uint j = 0; j < 2; j++)
            simdgroup_load(right[j], weights + (c0 + 8 * j) * K + k, K, ulong2(0), true);
        for (uint i = 0; i < 4; i++)
            for (uint j = 0; j < 2; j++) simdgroup_multiply_accumulate(y[i][j], left[i], right[j], y[i][j]);
    }
}

static inline void unload(thread simdgroup_float8x8 (&y)[4][2], uint simdgroup, threadgroup float *out) {
    const uint r0 = simdgroup / 2 * 32, c0 = simdgroup % 2 * 16;
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 2; j++) simdgroup_store(y[i][j], out + (r0 + 8 * i) * N + c0 + 8 * j, N);
}

template <typename T>
static inline void
product(thread const row_source &source, device const uchar *payload, device const half *scales,
        device const uchar *payload2, device const half *scales2, device const uchar *bias, device float *y,
        constant gpu_gemm_args &args, ulong matrix_row, uint row0, uint rows, uint col0, uint thread_index,
        uint simdgroup, threadgroup T *inputs, threadgroup T *weights, threadgroup float *out) {
    simdgroup_float8x8 first[4][2], second[4][2];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 2; j++) {
            first[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            if (GATED) second[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    for (uint k0 = 0; k0 < args.depth; k0 += K) {
        stage_inputs<T>(source, args, row0, rows, k0, thread_index, inputs);
        stage_weights<T>(WEIGHT_TYPE, payload, scales, args, matrix_row, col0, k0, thread_index, weights);
        if (GATED)
            stage_weights<T>(SECOND_TYPE, payload2, scales2, args, matrix_row, col0, k0, thread_index,
                             weights + N * K);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        multiply<T>(inputs, weights, simdgroup, first);
        if (GATED) multiply<T>(inputs, weights + N * K, simdgroup, second);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float gate[M * N / THREADS];
    unload(first, simdgroup, out);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (GATED) {
        for (uint i = 0; i < M * N / THREADS; i++) gate[i] = silu(out[thread_index + i * THREADS]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        unload(second, simdgroup, out);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < M * N / THREADS; i++) {
        const uint t = thread_index + i * THREADS, r = row0 + t / N, c = col0 + t % N;
        if (r >= rows || c >= args.cols) continue;
        device float *target = y + ulong(r) * args.y_stride + c;
        float v = GATED ? gate[i] * out[t] : out[t];
        if (args.accumulate) v += target[0];
        if (args.bias_type != GPU_NO_BIAS) v += vector_at(bias, args.bias_type, c);
        target[0] = activate(args.activation, v);
    }
}

[[max_total_threads_per_threadgroup(128)]]
kernel void gemm(device const float *x [[buffer(0)]], device const uchar *payload [[buffer(1)]],
                 device const half *scales [[buffer(2)]], device const uchar *bias [[buffer(3)]],
                 device float *y [[buffer(4)]], constant gpu_gemm_args &args [[buffer(5)]],
                 device const uchar *payload2 [[buffer(6)]], device const half *scales2 [[buffer(7)]],
                 device const uint *list [[buffer(8)]], device const uint *start [[buffer(9)]],
                 constant float *pixel [[buffer(10)]], threadgroup uchar *inputs [[threadgroup(0)]],
                 threadgroup uchar *weights [[threadgroup(1)]], threadgroup float *out [[threadgroup(2)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint thread_index [[thread_index_in_threadgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    const row_source source = {x, (device const uchar *)x, list, pixel};
    const uint first = EXPERTS ? start[group.z] : 0, rows = EXPERTS ? start[group.z + 1] : args.rows;
    const uint row0 = first + group.y * M, col0 = group.x * N;
    const ulong matrix_row = EXPERTS ? ulong(group.z) * args.cols : 0;
    if (row0 >= rows) return; // the whole threadgroup: an expert with fewer rows
    if (FLOAT_TILES)
        product<float>(source, payload, scales, payload2, scales2, bias, y, args, matrix_row, row0, rows,
                       col0, thread_index, simdgroup, (threadgroup float *)inputs,
                       (threadgroup float *)weights, out);
    else
        product<half>(source, payload, scales, payload2, scales2, bias, y, args, matrix_row, row0, rows, col0,
                      thread_index, simdgroup, (threadgroup half *)inputs, (threadgroup half *)weights, out);
}
