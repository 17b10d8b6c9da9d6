// Attention of one query over the cache: a threadgroup takes 256 keys of one head, 8 lanes a key; what the
// threadgroups of a head found is put together by a second kernel when there are several.
#include "rotate.h"

constant uint K_TYPE [[function_constant(0)]]; // of the caches
constant uint V_TYPE [[function_constant(1)]];
constant uint ROTATE
    [[function_constant(2)]]; // 1: q and the new key still have to be turned, key and value stored

constant constexpr uint PARTIALS = GPU_DECODE_SIMDGROUPS * 4; // groups of 8 lanes
constant constexpr uint CHUNKS = GPU_MOST_HEAD_DIM / 32;      // of 4 elements, of one lane

// Elements c..c+3 of a head's row, turned: element i and i + d / 2 are a pair, turn[i] its cosine and sine.
static inline float4 turned_part(device const float *x, constant float *turn, uint d, uint c) {
    float4 v;
    for (uint e = 0; e < 4; e++) {
        const uint at = c + e, i = at < d / 2 ? at : at - d / 2;
        const float2 pair = turned(float2(x[i], x[i + d / 2]), float2(turn[2 * i], turn[2 * i + 1]));
        v[e] = at < d / 2 ? pair.x : pair.y;
    }
    return v;
}

// The same as the cache keeps it.
static inline float4 rounded(uint type, float4 v) { return type == F32 ? v : float4(half4(v)); }

kernel void attention_decode(device const float *q [[buffer(0)]], device const float *k [[buffer(1)]],
                             device const float *v [[buffer(2)]], device uchar *k_cache [[buffer(3)]],
                             device uchar *v_cache [[buffer(4)]], device float *partial [[buffer(5)]],
                             device float *y [[buffer(6)]], constant float *turn [[buffer(7)]],
                             constant gpu_decode_args &args [[buffer(8)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint index [[thread_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[PARTIALS * GPU_MOST_HEAD_DIM];
    threadgroup float bests[PARTIALS];
    threadgroup float totals[PARTIALS];
    const uint head = group.x, block = group.y, d = args.head_dim, part = lane % 8, place = lane / 8;
    const uint first = block * GPU_DECODE_KEYS, end = min(first + GPU_DECODE_KEYS, args.used);
    float4 query[CHUNKS], out[CHUNKS];
    for (uint i = 0; i < CHUNKS; i++) {
        const uint c = 32 * i + 4 * part;
        out[i] = float4(0.0f);
        query[i] = float4(0.0f);
        if (c < d)
            query[i] = ROTATE ? turned_part(q + head * d, turn, d, c)
                              : float4(((device const packed_float4 *)(q + head * d + c))[0]);
    }
    float best = -INFINITY, total = 0.0f;
    for (uint base = first + 4 * simdgroup; base < end; base += 4 * GPU_DECODE_SIMDGROUPS) {
        const uint key = base + place;
        const bool valid = key < end, fresh = ROTATE && key == args.slot;
        const ulong at = ulong(head) * args.slots + key;
        float score = 0.0f;
        if (valid)
            for (uint i = 0; i < CHUNKS; i++) {
                const uint c = 32 * i + 4 * part;
                if (c >= d) break;
                float4 element;
                if (fresh) { // this group of lanes alone touches the new slot
                    element = rounded(K_TYPE, turned_part(k + head * d, turn, d, c));
                    for (uint e = 0; e < 4; e++)
                        store(k_cache, K_TYPE, at * args.k_stride + c + e, element[e]);
                } else element = cached(k_cache, K_TYPE, at * args.k_stride + c);
                score += dot(query[i], element);
            }
        score += simd_shuffle_xor(score, 1);
        score += simd_shuffle_xor(score, 2);
        score += simd_shuffle_xor(score, 4);
        if (valid) {
            score *= args.scale;
            const float higher = max(best, score);
            const float factor = best == higher ? 1.0f : precise::exp(best - higher);
            const float weight = precise::exp(score - higher);
            total = total * factor + weight;
            best = higher;
            for (uint i = 0; i < CHUNKS; i++) {
                const uint c = 32 * i + 4 * part;
                if (c >= d) break;
                float4 element;
                if (fresh) {
                    element = rounded(V_TYPE, float4(((device const packed_float4 *)(v + head * d + c))[0]));
                    for (uint e = 0; e < 4; e++)
                        store(v_cache, V_TYPE, at * args.v_stride + c + e, element[e]);
                } else element = cached(v_cache, V_TYPE, at * args.v_stride + c);
                out[i] = out[i] * factor + element * weight;
            }
        }
    }
    const uint mine = 4 * simdgroup + place;
    if (part == 0) {
        bests[mine] = best;
        totals[mine] = total;
    }
    for (uint i = 0; i < CHUNKS; i++)
        for (uint e = 0; e < 4; e++) sums[mine * GPU_MOST_HEAD_DIM + 32 * i + 4 * part + e] = out[i][e];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float highest = -INFINITY, sum = 0.0f, all = 0.0f;
    for (uint i = 0; i < PARTIALS; i++) highest = max(highest, bests[i]);
    for (uint i = 0; i < PARTIALS; i++) {
        // A group that saw no key has no say; scores that are all NaN stay NaN.
        const float factor = totals[i] == 0.0f ? 0.0f : precise::exp(bests[i] - highest);
        all += factor * totals[i];
        if (index < d) sum += factor * sums[i * GPU_MOST_HEAD_DIM + index];
    }
    device float *target = partial + (ulong(head) * args.blocks + block) * (d + 2);
    if (index >= d) return; // after the last barrier
    if (args.blocks == 1) y[head * d + index] = sum / all;
    else {
        target[index] = sum;
        if (index == 0) {
            target[d] = highest;
            target[d + 1] = all;
        }
    }
}

// One threadgroup a head.
kernel void attention_combine(device const float *partial [[buffer(0)]], device float *y [[buffer(1)]],
                              constant gpu_decode_args &args [[buffer(2)]],
                              uint head [[threadgroup_position_in_grid]],
                              uint index [[thread_index_in_threadgroup]]) {
    const uint d = args.head_dim;
    device const float *from = partial + ulong(head) * args.blocks * (d + 2);
    if (index >= d) return;
    float highest = -INFINITY, sum = 0.0f, total = 0.0f;
    for (uint i = 0; i < args.blocks; i++) highest = max(highest, from[i * (d + 2) + d]);
    for (uint i = 0; i < args.blocks; i++) {
        const float factor = precise::exp(from[i * (d + 2) + d] - highest);
        total += factor * from[i * (d + 2) + d + 1];
        sum += factor * from[i * (d + 2) + index];
    }
    y[head * d + index] = sum / total;
}
