/* AVX-512 with VNNI: quantised activations against q8 and q4 weights. `dpbusd` multiplies unsigned by signed
 * bytes and adds four products to 32 bits at once, so weights are used as unsigned numbers (q4 plus 8, q8
 * plus 128), and what was added to them is taken off again with the sum of x, in integers: nothing is rounded
 * before a group's scales.
 *
 * One row of activations is bound by memory: whole lines of 64 bytes are loaded at once, because a line
 * touched twice was measured to cost a quarter of the bandwidth. A line of q4 is two groups, low and high
 * nibbles, and x is put into the order of its halves first. */
#if defined(__x86_64__)
#include "avx2.h"

CPU_INLINE int32_t offset_of(bool q4) { return q4 ? 8 : 128; }
CPU_INLINE size_t group_bytes(bool q4) { return q4 ? UOCR_GROUP / 2 : UOCR_GROUP; }

/* -- one row of activations ---------------------------------------------------------------- */

enum { MOST = 128, HALF = UOCR_GROUP / 2 }; /* groups taken at a time: 8,192 inputs */

/* A line of 64 bytes and what meets it. q4: groups g and g + 1, inputs 0..31 of both against the low nibbles,
 * 32..63 of both against the high ones. q8: group g against `low`. */
typedef struct line {
    int8_t low[UOCR_GROUP], high[UOCR_GROUP];
    int32_t start[16]; /* what is taken off the integer product: lane 0 for g, lane 8 for g + 1 */
} line;

/* Groups of x as lines; returns how many. A missing second group is zeros. */
CPU_INLINE size_t lines_of(bool q4, const cpu_quantized *x, size_t g0, size_t groups, line *out) {
    size_t n = 0;
    for (size_t g = 0; g < groups; g += q4 ? 2 : 1, n++) {
        const bool two = q4 && g + 1 < groups;
        const int8_t *q = x->q + (g0 + g) * UOCR_GROUP;
        _mm512_storeu_si512(out[n].start, _mm512_setzero_si512());
        out[n].start[0] = -offset_of(q4) * x->sum[g0 + g];
        if (!q4) {
            memcpy(out[n].low, q, UOCR_GROUP);
            continue;
        }
        memcpy(out[n].low, q, HALF);
        memcpy(out[n].high, q + HALF, HALF);
        if (two) {
            memcpy(out[n].low + HALF, q + UOCR_GROUP, HALF);
            memcpy(out[n].high + HALF, q + UOCR_GROUP + HALF, HALF);
            out[n].start[8] = -offset_of(q4) * x->sum[g0 + g + 1];
        } else {
            memset(out[n].low + HALF, 0, HALF);
            memset(out[n].high + HALF, 0, HALF);
        }
    }
    return n;
}

/* The integer products of one line, in 16 lanes. */
CPU_INLINE __m512i multiply_line(bool q4, __m512i weights, const line *x) {
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512i dot = _mm512_loadu_si512(x->start);
    if (!q4) {
        weights = _mm512_xor_si512(weights, _mm512_set1_epi8((char)128));
        return _mm512_dpbusd_epi32(dot, weights, _mm512_loadu_si512(x->low));
    }
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(weights, 4), nibble);
    dot = _mm512_dpbusd_epi32(dot, _mm512_and_si512(weights, nibble), _mm512_loadu_si512(x->low));
    return _mm512_dpbusd_epi32(dot, high, _mm512_loadu_si512(x->high));
}

/* scale of w * scale of x for groups i.. of a chunk, at most 16, 0 past its end. */
CPU_INLINE __m512 multiply_scales(const uint16_t *scales, const float *xs, size_t i, size_t groups) {
    const __mmask16 there = (__mmask16)(groups - i < 16 ? (1u << (groups - i)) - 1 : 0xffff);
    __m512 s = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(there, scales + i));
    return _mm512_mul_ps(s, _mm512_maskz_loadu_ps(there, xs + i));
}

CPU_INLINE void int8_rows(const bool q4, const cpu_weight_rows *w, size_t rows, size_t k,
                          const cpu_quantized *x, float *y) {
    const size_t all = k / UOCR_GROUP;
    const size_t step = q4 ? 2 : 1; /* groups in a line */
    const __m512i next = _mm512_set1_epi32((int)step);
    const __m512i first = q4 ? _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(1), 1)
                             : _mm512_setzero_si512();
    line lines[MOST];
    for (size_t g0 = 0; g0 < all; g0 += MOST) {
        const size_t groups = all - g0 < MOST ? all - g0 : MOST, count = lines_of(q4, x, g0, groups, lines);
        const bool odd = q4 && groups % 2; /* the last line ends in its middle */
        uintptr_t asked = 0;
        for (size_t r = 0; r < rows; r++) {
            const uint8_t *q = w->data + r * w->stride + g0 * group_bytes(q4);
            const uint16_t *scales = (const uint16_t *)(const void *)(w->scales + r * w->scale_stride) + g0;
            __m512 sum = _mm512_setzero_ps();
            asked = avx2_ask_next_page(q, asked);
            for (size_t i = 0, n = 0; i < groups; i += 16) {
                __m512 scale = multiply_scales(scales, x->scale + g0, i, groups);
                __m512i lane = first;
                const size_t end = (i + 16) / step < count ? (i + 16) / step : count;
                for (; n < end; n++, q += UOCR_GROUP) {
                    const __mmask8 there = odd && n + 1 == count ? 0x0f : 0xff;
                    __m512i dot = multiply_line(q4, _mm512_maskz_loadu_epi64(there, q), lines + n);
                    sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_permutexvar_ps(lane, scale), sum);
                    lane = _mm512_add_epi32(lane, next);
                }
            }
            const float dot = _mm512_reduce_add_ps(sum);
            y[r] = g0 ? y[r] + dot : dot;
        }
    }
}

void avx512_gemv_int8_q8(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(false, w, rows, k, x, y);
}

void avx512_gemv_int8_q4(const cpu_weight_rows *w, size_t rows, size_t k, const cpu_quantized *x, float *y) {
    int8_rows(true, w, rows, k, x, y);
}

/* -- several rows of activations ----------------------------------------------------------- */

enum { STEP = 4 * CPU_PANEL, STEPS = UOCR_GROUP / 4 }; /* a group: 16 steps of [16 columns][4 inputs] */

/* The 64 weights of a group as unsigned bytes. */
CPU_INLINE __m512i load_group(bool q4, const uint8_t *q) {
    if (!q4) return _mm512_xor_si512(_mm512_loadu_si512(q), _mm512_set1_epi8((char)128));
    __m256i pair = avx2_load_bytes(q);
    __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(pair), _mm256_srli_epi16(pair, 4), 1);
    return _mm512_and_si512(both, _mm512_set1_epi8(15));
}

/* Sixteen rows of 16 x 4 bytes -> 16 steps: row and step change places. */
CPU_INLINE void store_steps(const __m512i row[16], uint8_t *out) {
    __m512i t[16], u[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) { /* u[i + j]: step 4 l + j of rows i.. i + 3, in 128-bit lane l */
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (size_t j = 0; j < 4; j++) {
        __m512i low01 = _mm512_shuffle_i32x4(u[j], u[j + 4], 0x44);
        __m512i low23 = _mm512_shuffle_i32x4(u[j + 8], u[j + 12], 0x44);
        __m512i high01 = _mm512_shuffle_i32x4(u[j], u[j + 4], 0xee);
        __m512i high23 = _mm512_shuffle_i32x4(u[j + 8], u[j + 12], 0xee);
        _mm512_storeu_si512(out + j * STEP, _mm512_shuffle_i32x4(low01, low23, 0x88));
        _mm512_storeu_si512(out + (4 + j) * STEP, _mm512_shuffle_i32x4(low01, low23, 0xdd));
        _mm512_storeu_si512(out + (8 + j) * STEP, _mm512_shuffle_i32x4(high01, high23, 0x88));
        _mm512_storeu_si512(out + (12 + j) * STEP, _mm512_shuffle_i32x4(high01, high23, 0xdd));
    }
}

CPU_INLINE void pack(bool q4, const cpu_weight_rows *w, size_t count, size_t g0, size_t groups,
                     uint8_t *panel, float *scales) {
    for (size_t g = g0; g < g0 + groups; g++, panel += STEPS * STEP, scales += CPU_PANEL) {
        __m512i row[CPU_PANEL];
        uint16_t half[CPU_PANEL];
        for (size_t c = 0; c < CPU_PANEL; c++) {
            const bool there = c < count;
            row[c] = there ? load_group(q4, w->data + c * w->stride + g * group_bytes(q4))
                           : _mm512_setzero_si512();
            half[c] = there ? ((const uint16_t *)(const void *)(w->scales + c * w->scale_stride))[g] : 0;
        }
        _mm512_storeu_ps(scales, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)half)));
        store_steps(row, panel);
    }
}

void avx512_pack_int8_q8(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                         float *scales) {
    pack(false, w, count, g0, groups, panel, scales);
}

void avx512_pack_int8_q4(const cpu_weight_rows *w, size_t count, size_t g0, size_t groups, uint8_t *panel,
                         float *scales) {
    pack(true, w, count, g0, groups, panel, scales);
}

CPU_INLINE __m512i four_inputs(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}

/* `rows` is a constant where this is used. */
CPU_INLINE void block(const size_t rows, const bool q4, size_t groups, const cpu_quantized *x,
                      const uint8_t *panel, const float *scales, float *y, size_t ldy, bool add) {
    __m512 sum[CPU_INT8_ROWS];
    for (size_t r = 0; r < rows; r++) sum[r] = add ? _mm512_loadu_ps(y + r * ldy) : _mm512_setzero_ps();
    for (size_t g = 0; g < groups; g++, scales += CPU_PANEL) {
        __m512i dot[CPU_INT8_ROWS];
        for (size_t r = 0; r < rows; r++) dot[r] = _mm512_set1_epi32(-offset_of(q4) * x[r].sum[g]);
#pragma GCC unroll 16
        for (size_t i = 0; i < UOCR_GROUP; i += 4, panel += STEP) {
            const __m512i w = _mm512_loadu_si512(panel);
            for (size_t r = 0; r < rows; r++)
                dot[r] = _mm512_dpbusd_epi32(dot[r], w, four_inputs(x[r].q + g * UOCR_GROUP + i));
        }
        for (size_t r = 0; r < rows; r++) {
            __m512 scale = _mm512_mul_ps(_mm512_loadu_ps(scales), _mm512_set1_ps(x[r].scale[g]));
            sum[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r]), scale, sum[r]);
        }
    }
    for (size_t r = 0; r < rows; r++) _mm512_storeu_ps(y + r * ldy, sum[r]);
}

void avx512_micro_int8_q8(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add) {
    CPU_BY_ROWS(rows, false, groups, x, panel, scales, y, ldy, add);
}

void avx512_micro_int8_q4(size_t rows, size_t groups, const cpu_quantized *x, const uint8_t *panel,
                          const float *scales, float *y, size_t ldy, bool add) {
    CPU_BY_ROWS(rows, true, groups, x, panel, scales, y, ldy, add);
}
#else
typedef int cpu_int8_avx512_is_for_x86_64; /* a file must not be empty */
#endif
