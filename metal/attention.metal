// Attention of many queries: the prompt over the cache (causal), CLIP (every key), SAM (windows of a grid
// with decomposed relative position). Online softmax over tiles of 32 keys; a simdgroup owns 8 queries, its
// sums stay in registers.
#include <metal_simdgroup_matrix>
#include "cache.h"

constant uint KEYS [[function_constant(0)]];        // GPU_KEYS_*
constant uint FLOAT_TILES [[function_constant(1)]]; // 1: float, 0: half
constant uint DIM_TILES [[function_constant(2)]];   // head_dim / 8, rounded up
constant uint K_TYPE [[function_constant(3)]];      // of the caches
constant uint V_TYPE [[function_constant(4)]];

constant constexpr uint TILE = GPU_ATTEND_KEYS;
constant constexpr uint MOST_TILES = GPU_MOST_HEAD_DIM / 8;

struct attention_input {
    device const float *qkv; // q alone for a cache
    device const uchar *k_cache;
    device const uchar *v_cache;
    device const uchar *padding; // q, k, v of a token outside the picture
    uint head, row0, col0;       // of the window
    uint across;                 // queries in a row of the window
};

// Row of q and of y of a query.
static inline ulong query_row(thread const attention_input &in, constant gpu_attend_args &args, uint query) {
    if (KEYS != GPU_KEYS_WINDOW) return query;
    return ulong(in.row0 + query / in.across) * args.grid + in.col0 + query % in.across;
}

// Four elements of a key (value 1) or value (value 2).
static inline float4 key_part(thread const attention_input &in, constant gpu_attend_args &args, uint value,
                              uint key, uint c) {
    if (KEYS == GPU_KEYS_CACHE) {
        const ulong slot = ulong(in.head) * args.slots + key;
        return value == 1 ? cached(in.k_cache, K_TYPE, slot * args.k_stride + c)
                          : cached(in.v_cache, V_TYPE, slot * args.v_stride + c);
    }
    const uint column = (value * args.heads + in.head) * args.head_dim + c;
    ulong row = key;
    if (KEYS == GPU_KEYS_WINDOW) {
        const uint y = in.row0 + key / args.window, x = in.col0 + key % args.window;
        if (y >= args.grid || x >= args.grid) return vector4_at(in.padding, args.bias_type, column);
        row = ulong(y) * args.grid + x;
    }
    return float4(((device const packed_float4 *)(in.qkv + row * args.q_stride + column))[0]);
}

template <typename T>
static inline void stage(thread const attention_input &in, constant gpu_attend_args &args, uint value,
                         uint first, uint end, uint rows, uint index, uint threads, threadgroup T *tile) {
    const uint width = 8 * DIM_TILES;
    for (uint t = index; t < rows * width / 4; t += threads) {
        const uint r = t / (width / 4), c = t % (width / 4) * 4;
        float4 v = float4(0.0f);
        if (first + r < end && c < args.head_dim) {
            if (value == 0)
                v = float4(((device const packed_float4 *)(in.qkv +
                                                           query_row(in, args, first + r) * args.q_stride +
                                                           in.head * args.head_dim + c))[0]);
            else v = key_part(in, args, value, first + r, c);
        }
        for (uint i = 0; i < 4; i++) tile[r * width + c + i] = T(v[i]);
    }
}

// bias[query][0..window-1] = q . rel_h[offset], then the same for columns. The unscaled q, in f32.
static inline void stage_bias(thread const attention_input &in, constant gpu_attend_args &args,
                              device const float *rel_h, device const float *rel_w, uint first, uint end,
                              uint rows, uint index, uint threads, threadgroup float *bias) {
    for (uint t = index; t < rows * 2 * args.window; t += threads) {
        const uint query = first + t / (2 * args.window), o = t % (2 * args.window);
        float sum = 0.0f;
        if (query < end) {
            const bool column = o >= args.window;
            const uint at = column ? query % in.across : query / in.across,
                       key = column ? o - args.window : o;
            device const float *rel = column ? rel_w + ulong(at + args.window - 1 - key) * args.rel_w_stride
                                             : rel_h + ulong(at + args.window - 1 - key) * args.rel_h_stride;
            device const float *q =
                in.qkv + query_row(in, args, query) * args.q_stride + in.head * args.head_dim;
            for (uint i = 0; i < args.head_dim; i += 4)
                sum += dot(float4(((device const packed_float4 *)(q + i))[0]),
                           float4(((device const packed_float4 *)(rel + i))[0]));
        }
        bias[t] = sum;
    }
}

template <typename T>
static inline void attend(thread const attention_input &in, constant gpu_attend_args &args, device float *y,
                          device const float *rel_h, device const float *rel_w, uint first, uint end,
                          uint index, uint threads, uint lane, uint simdgroup, uint simdgroups,
                          threadgroup T *tile, threadgroup float *scores, threadgroup T *weights,
                          threadgroup float *diagonal, threadgroup float *bias) {
    const uint width = 8 * DIM_TILES, row = lane / 4, part = lane % 4; // this lane: 8 columns of one row
    const uint query = first + 8 * simdgroup + row;
    threadgroup float *my_scores = scores + (8 * simdgroup) * TILE;
    threadgroup T *my_weights = weights + (8 * simdgroup) * TILE;
    threadgroup float *my_diagonal = diagonal + 64 * simdgroup;
    threadgroup const float *my_bias = bias + (8 * simdgroup + row) * 2 * args.window;
    simdgroup_matrix<T, 8, 8> q[MOST_TILES];
    simdgroup_float8x8 out[MOST_TILES];

    stage<T>(in, args, 0, first, end, 8 * simdgroups, index, threads, tile);
    if (KEYS == GPU_KEYS_WINDOW)
        stage_bias(in, args, rel_h, rel_w, first, end, 8 * simdgroups, index, threads, bias);
    my_diagonal[lane] = 0.0f;
    my_diagonal[lane + 32] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < DIM_TILES; i++) {
        simdgroup_load(q[i], tile + 8 * simdgroup * width + 8 * i, width);
        out[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float largest = -INFINITY, total = 0.0f; // of this lane's columns
    const uint seen = KEYS == GPU_KEYS_CACHE ? min(args.keys, args.first + query + 1) : args.keys;
    const uint keys = KEYS == GPU_KEYS_CACHE ? min(args.keys, args.first + end) : args.keys;
    for (uint k0 = 0; k0 < keys; k0 += TILE) {
        stage<T>(in, args, 1, k0, keys, TILE, index, threads, tile);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < TILE; j += 8) {
            simdgroup_float8x8 s = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            for (uint i = 0; i < DIM_TILES; i++) {
                simdgroup_matrix<T, 8, 8> k;
                simdgroup_load(k, tile + j * width + 8 * i, width, ulong2(0), true);
                simdgroup_multiply_accumulate(s, q[i], k, s);
            }
            simdgroup_store(s, my_scores + j, TILE);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        float s[8], best = -INFINITY, sum = 0.0f;
        for (uint i = 0; i < 8; i++) {
            const uint c = 8 * part + i, key = k0 + c;
            s[i] = my_scores[row * TILE + c] * args.scale;
            if (KEYS == GPU_KEYS_WINDOW && key < seen)
                s[i] += my_bias[key / args.window] + my_bias[args.window + key % args.window];
            if (key < seen) best = max(best, s[i]);
        }
        best = max(best, simd_shuffle_xor(best, 1));
        best = max(best, simd_shuffle_xor(best, 2));
        best = max(best, largest);
        const float factor = best == largest ? 1.0f : precise::exp(largest - best);
        for (uint i = 0; i < 8; i++) {
            const float w = k0 + 8 * part + i < seen ? precise::exp(s[i] - best) : 0.0f;
            my_weights[row * TILE + 8 * part + i] = T(w);
            sum += w;
        }
        total = total * factor + sum;
        largest = best;
        if (part == 0) my_diagonal[row * 8 + row] = factor;
        threadgroup_barrier(mem_flags::mem_threadgroup); // keys have been read, weights are there

        stage<T>(in, args, 2, k0, keys, TILE, index, threads, tile);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // A tile's sum is made by itself and added once: 4096 keys added one by one would lose the last
        // digits.
        simdgroup_float8x8 shrink;
        simdgroup_matrix<T, 8, 8> p[TILE / 8];
        simdgroup_load(shrink, my_diagonal, 8);
        for (uint j = 0; j < TILE / 8; j++) simdgroup_load(p[j], my_weights + 8 * j, TILE);
        for (uint i = 0; i < DIM_TILES; i++) {
            simdgroup_float8x8 sum_of_tile = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            for (uint j = 0; j < TILE / 8; j++) {
                simdgroup_matrix<T, 8, 8> v;
                simdgroup_load(v, tile + 8 * j * width + 8 * i, width);
                simdgroup_multiply_accumulate(sum_of_tile, p[j], v, sum_of_tile);
            }
            simdgroup_multiply_accumulate(out[i], shrink, out[i], sum_of_tile);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    total += simd_shuffle_xor(total, 1);
    total += simd_shuffle_xor(total, 2);
    for (uint i = 0; i < DIM_TILES; i += 4) { // 32 columns at a time through the room of the scores
        for (uint j = 0; j < 4 && i + j < DIM_TILES; j++)
            simdgroup_store(out[i + j], my_scores + 8 * j, TILE);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (query < end)
            for (uint j = 0; j < 8; j++) {
                const uint c = 8 * i + 8 * part + j;
                if (c < args.head_dim)
                    y[query_row(in, args, query) * args.y_stride + in.head * args.head_dim + c] =
                        my_scores[row * TILE + 8 * part + j] / total;
            }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// Threadgroup (tile of queries, head, window).
kernel void
attention(device const float *qkv [[buffer(0)]], device const uchar *k_cache [[buffer(1)]],
          device const uchar *v_cache [[buffer(2)]], device const uchar *padding [[buffer(3)]],
          device const float *rel_h [[buffer(4)]], device const float *rel_w [[buffer(5)]],
          device float *y [[buffer(6)]], constant gpu_attend_args &args [[buffer(7)]],
          threadgroup uchar *tile [[threadgroup(0)]], threadgroup float *scores [[threadgroup(1)]],
          threadgroup uchar *weights [[threadgroup(2)]], threadgroup float *diagonal [[threadgroup(3)]],
          threadgroup float *bias [[threadgroup(4)]], uint3 group [[threadgroup_position_in_grid]],
          uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
          uint simdgroup [[simdgroup_index_in_threadgroup]], uint simdgroups [[simdgroups_per_threadgroup]]) {
    attention_input in = {qkv, k_cache, v_cache, padding, group.y, 0, 0, 1};
    uint queries = args.queries;
    if (KEYS == GPU_KEYS_WINDOW) { // queries are the window's tokens that lie in the picture
        in.row0 = group.z / args.windows * args.window;
        in.col0 = group.z % args.windows * args.window;
        in.across = min(args.window, args.grid - in.col0);
        queries = min(args.window, args.grid - in.row0) * in.across;
    }
    const uint first = group.x * 8 * simdgroups;
    if (first >= queries) return; // the whole threadgroup
    const uint end = min(first + 8 * simdgroups, queries);
    if (FLOAT_TILES)
        attend<float>(in, args, y, rel_h, rel_w, first, end, index, 32 * simdgroups, lane, simdgroup,
                      simdgroups, (threadgroup float *)tile, scores, (threadgroup float *)weights, diagonal,
                      bias);
    else
        attend<half>(in, args, y, rel_h, rel_w, first, end, index, 32 * simdgroups, lane, simdgroup,
                     simdgroups, (threadgroup half *)tile, scores, (threadgroup half *)weights, diagonal,
                     bias);
}
