// The next token on the device: the repeat guard over a ring of ids, the largest logit that is not banned,
// the history.
#include "common.h"

static inline bool is_banned(constant int *banned, uint count, uint id) {
    for (uint i = 0; i < count; i++)
        if (banned[i] == int(id)) return true;
    return false;
}

static inline bool is_listed(device const int *list, uint count, uint id) {
    for (uint i = 0; i < count; i++)
        if (list[i] == int(id)) return true;
    return false;
}

// The best of a simdgroup's lanes: largest value, lowest id among equals. id < 0: this lane has none.
static inline void best_of(thread float &value, thread int &id) {
    const float top = simd_max(id < 0 ? -INFINITY : value);
    const int lowest = simd_min(id >= 0 && value == top ? id : 0x7fffffff);
    id = lowest == 0x7fffffff ? -1 : lowest;
    value = top;
}

// A stretch of logits a threadgroup: largest, sum of exp(logit - largest), the best choice, the best that may be
// chosen. Ids from banned_list, written by guard_ban, and from the host's list may not.
kernel void
choose_blocks(device const float *logits [[buffer(0)]], constant int *banned [[buffer(1)]],
              device const int *banned_list [[buffer(2)]], device const uint *banned_count [[buffer(3)]],
              device gpu_choose_part *parts [[buffer(4)]], constant gpu_choose_args &args [[buffer(5)]],
              uint group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
              uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
              uint simdgroup [[simdgroup_index_in_threadgroup]],
              uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup gpu_choose_part found[32];
    const uint length = (args.usable + args.blocks - 1) / args.blocks;
    const uint first = group * length, end = min(first + length, args.usable), listed = banned_count[0];
    float largest = -INFINITY, best = -INFINITY, allowed = -INFINITY, sum = 0.0f;
    int id = -1, allowed_id = -1;
    uint odd = 0;
    for (uint i = first + index; i < end; i += threads) { // rising ids: the first of equals stays
        const float x = logits[i];
        odd |= isfinite(x) ? 0u : 1u;
        if (x > largest) largest = x;
        if (int(i) == args.never) continue;
        if (id < 0 || x > best) best = x, id = int(i);
        if ((allowed_id < 0 || x > allowed) && !is_banned(banned, args.banned, i) &&
            !is_listed(banned_list, listed, i))
            allowed = x, allowed_id = int(i);
    }
    largest = simd_max(largest);
    best_of(best, id);
    best_of(allowed, allowed_id);
    for (uint i = first + index; i < end; i += threads) sum += precise::exp(logits[i] - largest);
    sum = simd_sum(sum);
    odd = simd_max(odd);
    if (lane == 0) {
        found[simdgroup].largest = largest;
        found[simdgroup].sum = sum;
        found[simdgroup].best = best;
        found[simdgroup].allowed = allowed;
        found[simdgroup].id = id;
        found[simdgroup].allowed_id = allowed_id;
        found[simdgroup].finite = odd == 0 ? 1 : 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup != 0) return; // after the last threadgroup barrier
    largest = -INFINITY, best = -INFINITY, allowed = -INFINITY, sum = 0.0f, id = -1, allowed_id = -1, odd = 0;
    float mine = -INFINITY;
    if (lane < simdgroups) {
        mine = found[lane].largest;
        best = found[lane].best;
        allowed = found[lane].allowed;
        sum = found[lane].sum;
        id = found[lane].id;
        allowed_id = found[lane].allowed_id;
        odd = found[lane].finite ? 0 : 1;
    }
    largest = simd_max(mine);
    best_of(best, id);
    best_of(allowed, allowed_id);
    sum = simd_sum(sum == 0.0f ? 0.0f : sum * precise::exp(mine - largest));
    odd = simd_max(odd);
    if (lane == 0) {
        parts[group].largest = largest;
        parts[group].sum = sum;
        parts[group].best = best;
        parts[group].allowed = allowed;
        parts[group].id = id;
        parts[group].allowed_id = allowed_id;
        parts[group].finite = odd == 0 ? 1 : 0;
    }
}

// Puts the stretches together, one simdgroup. With everything banned the list cannot be kept.
kernel void choose_merge(device const float *logits [[buffer(0)]],
                         device const gpu_choose_part *parts [[buffer(1)]],
                         device gpu_choice *choice [[buffer(2)]],
                         constant gpu_choose_args &args [[buffer(3)]],
                         uint lane [[thread_index_in_simdgroup]]) {
    float largest = -INFINITY, best = -INFINITY, allowed = -INFINITY, sum = 0.0f;
    int id = -1, allowed_id = -1;
    uint odd = 0;
    for (uint i = lane; i < args.blocks; i += 32) {
        odd |= parts[i].finite ? 0u : 1u;
        largest = max(largest, parts[i].largest);
        if (parts[i].id >= 0 && (id < 0 || parts[i].best > best)) best = parts[i].best, id = parts[i].id;
        if (parts[i].allowed_id >= 0 && (allowed_id < 0 || parts[i].allowed > allowed))
            allowed = parts[i].allowed, allowed_id = parts[i].allowed_id;
    }
    largest = simd_max(largest);
    best_of(best, id);
    best_of(allowed, allowed_id);
    for (uint i = lane; i < args.blocks; i += 32)
        if (parts[i].sum != 0.0f) sum += parts[i].sum * precise::exp(parts[i].largest - largest);
    sum = simd_sum(sum);
    odd = simd_max(odd);
    if (lane != 0) return;
    const int unguarded = max(id, 0);
    const int chosen = args.forced >= 0 ? args.forced : allowed_id >= 0 ? allowed_id : unguarded;
    choice->id = chosen;
    choice->unguarded = unguarded;
    choice->log_sum_exp = largest + precise::log(sum);
    choice->logprob = (logits[chosen] - largest) - precise::log(sum);
    choice->finite = odd == 0 ? 1 : 0;
}

// ---- history and guard ----

// Appends the chosen id. One thread.
kernel void history_append(device const gpu_choice *choice [[buffer(0)]],
                           device gpu_history *history [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    history->id[history->count % GPU_HISTORY] = choice->id;
    history->count = history->count + 1;
}

// Bans every id that would complete an n-gram which the newest `window` ids already hold, as
// engine/src/ngram.c does: an n-gram that begins in the window and whose first size - 1 ids equal the newest
// size - 1 bans its last id; what repeats at once is banned after `cycle` ids. One simdgroup; the list is in
// order of place, without the ids that are always allowed, possibly with one id twice.
kernel void guard_ban(device const gpu_history *history [[buffer(0)]], constant int *allowed [[buffer(1)]],
                      device int *banned [[buffer(2)]], device uint *banned_count [[buffer(3)]],
                      constant gpu_guard_args &args [[buffer(4)]], uint lane [[thread_index_in_simdgroup]]) {
    const uint count = history->count, window = min(min(args.window, count), uint(GPU_HISTORY));
    uint found = 0;
    for (uint base = 0; base < window; base += 32) {
        const uint at = count - window + base + lane, distance = count - at; // of the id that may be banned
        const uint tail = (distance <= GPU_PERIOD ? args.cycle : args.size) - 1;
        bool match = base + lane < window && distance + args.size - 1 <= args.window && distance + tail <= window;
        for (uint i = 0; i < tail && match; i++)
            match = history->id[(at - tail + i) % GPU_HISTORY] == history->id[(count - tail + i) % GPU_HISTORY];
        int id = -1;
        if (match) {
            id = history->id[at % GPU_HISTORY];
            match = !is_banned(allowed, args.allowed, uint(id));
        }
        const uint mine = match ? 1 : 0, before = simd_prefix_exclusive_sum(mine);
        if (match) banned[found + before] = id;
        found += simd_sum(mine);
    }
    if (lane == 0) banned_count[0] = found;
}
