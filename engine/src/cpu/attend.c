/* Scores, softmax and weighted sum in blocks of 256 keys, with a running maximum and sum per query (online
 * softmax).
 *
 * Key blocks start at multiples of 256 whatever the tile, so a query's result depends neither on threads nor
 * on which queries share its tile. Nothing is masked with infinities: a causal row takes part with as many
 * keys as it sees. */
#include "attend.h"

#include <math.h>

static size_t floats_of(size_t head_dim, size_t side) {
    size_t width = cpu_round_up(head_dim, CPU_PANEL);
    return 2 * CPU_ATTEND_QUERIES * width + CPU_ATTEND_QUERIES * CPU_ATTEND_KEYS +
           2 * CPU_ATTEND_KEYS * width + 2 * CPU_ATTEND_QUERIES * side;
}

size_t cpu_attend_scratch_bytes(size_t head_dim, size_t side) {
    return floats_of(head_dim, side) * sizeof(float);
}

cpu_attend_scratch cpu_attend_scratch_at(uint8_t *scratch, size_t head_dim, size_t side) {
    cpu_attend_scratch s = {.width = cpu_round_up(head_dim, CPU_PANEL)};
    s.q = (float *)(void *)scratch;
    s.out = s.q + CPU_ATTEND_QUERIES * s.width;
    s.scores = s.out + CPU_ATTEND_QUERIES * s.width;
    s.panel = s.scores + CPU_ATTEND_QUERIES * CPU_ATTEND_KEYS;
    s.rows = s.panel + CPU_ATTEND_KEYS * s.width;
    s.bias_h = side ? s.rows + CPU_ATTEND_KEYS * s.width : NULL;
    s.bias_w = side ? s.bias_h + CPU_ATTEND_QUERIES * side : NULL;
    return s;
}

/* Scales the raw products of one query, adds the relative-position terms; returns the largest. */
static float finish_scores(const cpu_kernels *kernels, const cpu_attend *a, const cpu_attend_scratch *s,
                           size_t query, size_t key0, size_t n) {
    float *row = s->scores + query * CPU_ATTEND_KEYS;
    if (!s->bias_h) return kernels->scores(row, n, a->scale, 0, NULL);
    const float *bias_h = s->bias_h + query * a->side, *bias_w = s->bias_w + query * a->side;
    float largest = -INFINITY;
    for (size_t i = 0; i < n;) {
        size_t column = (key0 + i) % a->side, count = cpu_min(a->side - column, n - i);
        float best = kernels->scores(row + i, count, a->scale, bias_h[(key0 + i) / a->side], bias_w + column);
        largest = best > largest ? best : largest;
        i += count;
    }
    return largest;
}

void cpu_attend_block(const cpu_kernels *kernels, const cpu_attend *a, cpu_attend_scratch *s) {
    float largest[CPU_ATTEND_QUERIES], sum[CPU_ATTEND_QUERIES];
    size_t width = s->width, keys = a->causal ? cpu_min(a->keys, a->first + a->queries) : a->keys;
    for (size_t r = 0; r < a->queries; r++) largest[r] = -INFINITY, sum[r] = 0;
    memset(s->out, 0, a->queries * width * sizeof(float));
    if (width > a->head_dim)
        memset(s->rows, 0, CPU_ATTEND_KEYS * width * sizeof(float)); /* columns past it stay 0 */
    for (size_t k0 = 0; k0 < keys; k0 += CPU_ATTEND_KEYS) {
        size_t n = cpu_min(CPU_ATTEND_KEYS, keys - k0);
        a->fetch(a->context, false, k0, n, s->rows, width);
        for (size_t c = 0; c < n; c += CPU_PANEL) {
            cpu_weight_rows rows = {(const uint8_t *)(s->rows + c * width), width * sizeof(float), NULL, 0};
            kernels->pack[UOCR_F32](&rows, cpu_min(CPU_PANEL, n - c), 0, a->head_dim, s->panel);
            for (size_t r = 0; r < a->queries; r += CPU_MICRO_ROWS)
                kernels->micro(cpu_min(CPU_MICRO_ROWS, a->queries - r), a->head_dim, s->q + r * width, width,
                               s->panel, CPU_PANEL, s->scores + r * CPU_ATTEND_KEYS + c, CPU_ATTEND_KEYS,
                               false);
        }
        for (size_t r = 0; r < a->queries; r++) {
            float *row = s->scores + r * CPU_ATTEND_KEYS;
            size_t seen = !a->causal ? n : a->first + r < k0 ? 0 : cpu_min(n, a->first + r + 1 - k0);
            if (seen) {
                float best = finish_scores(kernels, a, s, r, k0, seen);
                if (best > largest[r]) {
                    if (k0) {
                        float factor = expf(largest[r] - best);
                        sum[r] *= factor;
                        kernels->scale(s->out + r * width, width, factor);
                    }
                    largest[r] = best;
                }
                sum[r] += kernels->exponentials(row, seen, largest[r]);
            }
            memset(row + seen, 0, (n - seen) * sizeof(float));
        }
        a->fetch(a->context, true, k0, n, s->rows, width);
        for (size_t r = 0; r < a->queries; r += CPU_MICRO_ROWS)
            for (size_t c = 0; c < width; c += CPU_PANEL)
                kernels->micro(cpu_min(CPU_MICRO_ROWS, a->queries - r), n, s->scores + r * CPU_ATTEND_KEYS,
                               CPU_ATTEND_KEYS, s->rows + c, width, s->out + r * width + c, width, true);
    }
    for (size_t r = 0; r < a->queries; r++) kernels->scale(s->out + r * width, width, 1.0f / sum[r]);
}

size_t cpu_attention_scratch(const uocr_config *config) {
    enum { LARGEST_GRID = 80 }; /* views of 1280 pixels, patches of 16 */
    size_t sam = config->sam_heads ? config->sam_width / config->sam_heads : 0;
    size_t clip = config->clip_heads ? config->clip_width / config->clip_heads : 0;
    size_t side = config->sam_window > LARGEST_GRID ? config->sam_window : LARGEST_GRID;
    size_t vision = cpu_attend_scratch_bytes(sam, side), plain = cpu_attend_scratch_bytes(clip, 0);
    size_t decoder = cpu_attend_scratch_bytes(config->head_dim, 0);
    vision = vision > plain ? vision : plain;
    return vision > decoder ? vision : decoder;
}
