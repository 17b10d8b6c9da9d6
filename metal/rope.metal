// Rotary positions, and the new keys and values into their slots of the cache.
#include "rotate.h"

constant uint K_TYPE [[function_constant(0)]]; // of the caches
constant uint V_TYPE [[function_constant(1)]];

// Threadgroup (row, head), thread i for elements i and i + head_dim / 2.
kernel void rope_append(device float *q [[buffer(0)]], device const float *k [[buffer(1)]],
                        device const float *v [[buffer(2)]], device uchar *k_cache [[buffer(3)]],
                        device uchar *v_cache [[buffer(4)]], constant float *frequency [[buffer(5)]],
                        constant gpu_rope_args &args [[buffer(6)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint i [[thread_index_in_threadgroup]]) {
    const uint half_dim = args.head_dim / 2, row = group.x, head = group.y;
    if (i >= half_dim) return;
    const float2 turn = turn_of(args.position0 + row, frequency[i]);
    device float *query = q + ulong(row) * args.q_stride + head * args.head_dim;
    device const float *key = k + ulong(row) * args.k_stride + head * args.head_dim;
    device const float *value = v + ulong(row) * args.v_stride + head * args.head_dim;
    const float2 a = turned(float2(query[i], query[i + half_dim]), turn);
    const float2 b = turned(float2(key[i], key[i + half_dim]), turn);
    query[i] = a.x;
    query[i + half_dim] = a.y;
    const ulong slot = ulong(head) * args.slots + args.slot0 + row;
    store(k_cache, K_TYPE, slot * args.k_cache_stride + i, b.x);
    store(k_cache, K_TYPE, slot * args.k_cache_stride + i + half_dim, b.y);
    store(v_cache, V_TYPE, slot * args.v_cache_stride + i, value[i]);
    store(v_cache, V_TYPE, slot * args.v_cache_stride + i + half_dim, value[i + half_dim]);
}
