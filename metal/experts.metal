// Gated feed-forward layers of one row, sorting of rows by expert, and the weighted sum of what the experts
// say.
#include "gemv.h"

constant uint GATE_TYPE [[function_constant(0)]]; // of the experts
constant uint UP_TYPE [[function_constant(1)]];
constant uint DOWN_TYPE [[function_constant(2)]];
constant uint SHARED_GATE_TYPE [[function_constant(3)]]; // of the layer that every row passes
constant uint SHARED_UP_TYPE [[function_constant(4)]];
constant uint SHARED_DOWN_TYPE [[function_constant(5)]];
constant uint TOP_K [[function_constant(6)]];     // experts of the row, 0: the shared layer alone
constant uint SHARED [[function_constant(7)]];    // 1: with the shared layer
constant uint NORM_TYPE [[function_constant(8)]]; // of an RMS norm before it, GPU_NO_BIAS: none

constant constexpr uint ROWS = 2; // weight rows of one simdgroup, of gate and of up

static inline void gate_and_up(uint gate_type, uint up_type, device const uchar *gate,
                               device const half *gate_scales, device const uchar *up,
                               device const half *up_scales, thread const input_row &x, uint cols, uint rows,
                               ulong matrix, uint row0, uint lane, device float *h) {
    const uint count = min(ROWS, rows - row0);
    float g[ROWS] = {0.0f, 0.0f}, u[ROWS] = {0.0f, 0.0f};
    typed_products<ROWS>(gate_type, gate, gate_scales, x, cols, matrix * rows + row0, count, lane, g);
    typed_products<ROWS>(up_type, up, up_scales, x, cols, matrix * rows + row0, count, lane, u);
    for (uint r = 0; r < ROWS; r++) {
        const float a = simd_sum(g[r]), b = simd_sum(u[r]);
        if (lane == 0 && r < count) h[row0 + r] = silu(a) * b;
    }
}

// h = silu(gate x) * (up x), for the row's experts one after another in h, then the shared layer.
// Threadgroup y is the place: 0..TOP_K-1 an expert, TOP_K the shared layer.
kernel void row_gate_up(device const float *x [[buffer(0)]], device const uchar *norm [[buffer(1)]],
                        device float *normal [[buffer(2)]], constant gpu_mlp_args &args [[buffer(3)]],
                        device const uint *ids [[buffer(4)]], device const uchar *gate [[buffer(5)]],
                        device const half *gate_scales [[buffer(6)]], device const uchar *up [[buffer(7)]],
                        device const half *up_scales [[buffer(8)]],
                        device const uchar *shared_gate [[buffer(9)]],
                        device const half *shared_gate_scales [[buffer(10)]],
                        device const uchar *shared_up [[buffer(11)]],
                        device const half *shared_up_scales [[buffer(12)]], device float *h [[buffer(13)]],
                        uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    const uint place = group.y, row0 = (group.x * GPU_GEMV_SIMDGROUPS + simdgroup) * ROWS;
    input_row row = {x, norm, NORM_TYPE, 1.0f};
    if (NORM_TYPE != GPU_NO_BIAS) {
        row.factor = rms_factor(x, args.hidden, args.eps, lane);
        if (group.x == 0 && group.y == 0 && simdgroup == 0)
            for (uint i = lane; i < args.hidden; i += 32) normal[i] = row.at(i);
    }
    if (place < TOP_K) {
        if (row0 >= args.intermediate) return; // the whole simdgroup
        gate_and_up(GATE_TYPE, UP_TYPE, gate, gate_scales, up, up_scales, row, args.hidden, args.intermediate,
                    ids[place], row0, lane, h + place * args.intermediate);
    } else {
        if (row0 >= args.shared_intermediate) return;
        gate_and_up(SHARED_GATE_TYPE, SHARED_UP_TYPE, shared_gate, shared_gate_scales, shared_up,
                    shared_up_scales, row, args.hidden, args.shared_intermediate, 0, row0, lane,
                    h + TOP_K * args.intermediate);
    }
}

// y += sum over experts, in the order of ids, of weight * down h, then the shared layer's.
kernel void row_down(device const float *h [[buffer(0)]], constant gpu_mlp_args &args [[buffer(1)]],
                     device const uint *ids [[buffer(2)]], device const float *weights [[buffer(3)]],
                     device const uchar *down [[buffer(4)]], device const half *down_scales [[buffer(5)]],
                     device const uchar *shared_down [[buffer(6)]],
                     device const half *shared_down_scales [[buffer(7)]], device float *y [[buffer(8)]],
                     uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    const uint row0 = (group * GPU_GEMV_SIMDGROUPS + simdgroup) * ROWS;
    if (row0 >= args.hidden) return; // the whole simdgroup
    const uint count = min(ROWS, args.hidden - row0);
    float total[ROWS] = {0.0f, 0.0f};
    for (uint place = 0; place < TOP_K; place++) {
        const input_row row = {h + place * args.intermediate, down, GPU_NO_BIAS, 1.0f};
        const float weight = weights[place];
        float sum[ROWS] = {0.0f, 0.0f};
        typed_products<ROWS>(DOWN_TYPE, down, down_scales, row, args.intermediate,
                             ulong(ids[place]) * args.hidden + row0, count, lane, sum);
        for (uint r = 0; r < ROWS; r++) total[r] += weight * sum[r];
    }
    if (SHARED) {
        const input_row row = {h + TOP_K * args.intermediate, shared_down, GPU_NO_BIAS, 1.0f};
        typed_products<ROWS>(SHARED_DOWN_TYPE, shared_down, shared_down_scales, row, args.shared_intermediate,
                             row0, count, lane, total);
    }
    for (uint r = 0; r < ROWS; r++) {
        const float sum = simd_sum(total[r]);
        if (lane == 0 && r < count) y[row0 + r] += sum;
    }
}

// Sorts (row, place) pairs by expert, one threadgroup, thread e for expert e: start [experts + 1], row of
// each entry, and the entry of each pair. Every thread walks the list itself, so the order is that of the
// rows and needs no atomics.
kernel void bucket_rows(device const uint *ids [[buffer(0)]], device uint *start [[buffer(1)]],
                        device uint *row_of [[buffer(2)]], device uint *entry_of [[buffer(3)]],
                        constant gpu_bucket_args &args [[buffer(4)]],
                        uint expert [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint of_simdgroup[32];
    uint count = 0;
    for (uint r = 0; r < args.rows; r++)
        for (uint k = 0; k < args.top_k; k++) count += ids[r * args.ids_stride + k] == expert ? 1 : 0;
    const uint before = simd_prefix_exclusive_sum(count);
    if (lane == 31) of_simdgroup[simdgroup] = before + count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint at = before;
    for (uint s = 0; s < simdgroup; s++) at += of_simdgroup[s];
    if (expert >= args.experts) return; // after the last barrier
    start[expert] = at;
    if (expert + 1 == args.experts) start[args.experts] = at + count;
    for (uint r = 0; r < args.rows && count > 0; r++)
        for (uint k = 0; k < args.top_k; k++)
            if (ids[r * args.ids_stride + k] == expert) {
                row_of[at] = r;
                entry_of[r * args.top_k + k] = at++;
            }
}

// y[row] += sum over places, in their order, of weight * out[entry].
kernel void combine_rows(device const float *out [[buffer(0)]], device const uint *entry_of [[buffer(1)]],
                         device const float *weights [[buffer(2)]], device float *y [[buffer(3)]],
                         constant gpu_combine_args &args [[buffer(4)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint index [[thread_index_in_threadgroup]],
                         uint threads [[threads_per_threadgroup]]) {
    for (uint c = index; c < args.cols; c += threads) {
        float sum = 0.0f;
        for (uint k = 0; k < args.top_k; k++)
            sum += weights[row * args.weights_stride + k] *
                   out[ulong(entry_of[row * args.top_k + k]) * args.cols + c];
        y[ulong(row) * args.y_stride + c] += sum;
    }
}

// ---- routing ----
constant uint ROUTER_TYPE [[function_constant(9)]];

// probs = softmax(x W^T), the top_k largest by falling weight, lowest id first among equals. One threadgroup
// a row.
kernel void route(device const float *x [[buffer(0)]], device const uchar *norm [[buffer(1)]],
                  device float *normal [[buffer(2)]], device const uchar *payload [[buffer(3)]],
                  device const half *scales [[buffer(4)]], device float *probs [[buffer(5)]],
                  device uint *ids [[buffer(6)]], device float *weights [[buffer(7)]],
                  constant gpu_route_args &args [[buffer(8)]], uint group [[threadgroup_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                  uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float p[GPU_MOST_EXPERTS];
    input_row row = {x + ulong(group) * args.x_stride, norm, NORM_TYPE, 1.0f};
    if (NORM_TYPE != GPU_NO_BIAS) {
        row.factor = rms_factor(row.x, args.cols, args.eps, lane);
        if (simdgroup == 0)
            for (uint i = lane; i < args.cols; i += 32) normal[i] = row.at(i);
    }
    for (uint e = simdgroup; e < args.experts; e += simdgroups) {
        float sum[1] = {0.0f};
        typed_products<1>(ROUTER_TYPE, payload, scales, row, args.cols, e, 1, lane, sum);
        const float logit = simd_sum(sum[0]);
        if (lane == 0) p[e] = logit;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup != 0) return; // after the last threadgroup barrier
    float largest = -INFINITY, sum = 0.0f;
    for (uint e = lane; e < args.experts; e += 32) largest = max(largest, p[e]);
    largest = simd_max(largest);
    for (uint e = lane; e < args.experts; e += 32) {
        p[e] = precise::exp(p[e] - largest);
        sum += p[e];
    }
    sum = simd_sum(sum);
    for (uint e = lane; e < args.experts; e += 32) {
        p[e] = p[e] / sum;
        probs[ulong(group) * args.probs_stride + e] = p[e];
    }
    float total = 0.0f, mine = 0.0f;
    uint my_id = 0;
    for (uint k = 0; k < args.top_k; k++) { // lane k keeps the k-th
        float best = -1.0f;
        uint id = args.experts;
        for (uint e = lane; e < args.experts; e += 32) // a lane sees its own e only, in rising order
            if (p[e] > best) best = p[e], id = e;
        const float top = simd_max(best);
        const uint chosen = simd_min(best == top ? id : args.experts);
        if (chosen % 32 == lane && chosen < args.experts) p[chosen] = -2.0f;
        total += top;
        if (lane == k) { // probabilities that are NaN choose any, and their weight is NaN
            mine = chosen < args.experts ? top : sum;
            my_id = chosen < args.experts ? chosen : k;
        }
    }
    if (lane < args.top_k) {
        ids[ulong(group) * args.ids_stride + lane] = my_id;
        weights[ulong(group) * args.weights_stride + lane] =
            mine / (args.normalise ? total + 1e-20f : 1.0f) * args.scale;
    }
}
