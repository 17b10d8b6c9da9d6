/* NEON: softmax rows, activations, conversions. The polynomials are those of the portable table. */
#if defined(__aarch64__)
#include "neon.h"
#include "polynomials.h"

#define SPLAT(x) vdupq_n_f32(x)

/* a * b + c */
CPU_INLINE float32x4_t fma4(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }

/* exp of CPU_EXP_MIN..CPU_EXP_MAX */
CPU_INLINE float32x4_t exp_vector(float32x4_t x) {
    float32x4_t shifted = fma4(x, SPLAT(CPU_LOG2E), SPLAT(0x1.8p23f));
    float32x4_t n = vsubq_f32(shifted, SPLAT(0x1.8p23f));
    float32x4_t r = vfmsq_f32(vfmsq_f32(x, n, SPLAT(CPU_LN2_HIGH)), n, SPLAT(CPU_LN2_LOW));
    float32x4_t q = fma4(SPLAT(CPU_E4), r, SPLAT(CPU_E3));
    q = fma4(q, r, SPLAT(CPU_E2));
    q = fma4(q, r, SPLAT(CPU_E1));
    q = fma4(q, r, SPLAT(CPU_E0));
    float32x4_t value = vaddq_f32(SPLAT(1), fma4(vmulq_f32(r, r), q, r));
    int32x4_t power = vshlq_n_s32(vaddq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(127)), 23);
    return vmulq_f32(value, vreinterpretq_f32_s32(power));
}

/* NEON's min and max return NaN when one operand is NaN. */
CPU_INLINE float32x4_t clamp(float32x4_t x, float low, float high) {
    return vminq_f32(SPLAT(high), vmaxq_f32(SPLAT(low), x));
}

CPU_INLINE float32x4_t sigmoid(float32x4_t x) {
    return vdivq_f32(SPLAT(1),
                     vaddq_f32(SPLAT(1), exp_vector(clamp(vnegq_f32(x), CPU_EXP_MIN, CPU_EXP_MAX))));
}

CPU_INLINE float32x4_t erf_vector(float32x4_t z) {
    float32x4_t a = vabsq_f32(z), u = vmulq_f32(z, z);
    float32x4_t s = fma4(SPLAT(CPU_S6), u, SPLAT(CPU_S5));
    s = fma4(s, u, SPLAT(CPU_S4));
    s = fma4(s, u, SPLAT(CPU_S3));
    s = fma4(s, u, SPLAT(CPU_S2));
    s = fma4(s, u, SPLAT(CPU_S1));
    s = vmulq_f32(fma4(s, u, SPLAT(CPU_S0)), z);
    float32x4_t b = vminq_f32(SPLAT(4), a); /* erf(4) is 1 in f32 */
    float32x4_t l = fma4(SPLAT(CPU_L6), b, SPLAT(CPU_L5));
    l = fma4(l, b, SPLAT(CPU_L4));
    l = fma4(l, b, SPLAT(CPU_L3));
    l = fma4(l, b, SPLAT(CPU_L2));
    l = fma4(l, b, SPLAT(CPU_L1));
    l = fma4(l, b, SPLAT(CPU_L0));
    l = vsubq_f32(SPLAT(1), exp_vector(vnegq_f32(l)));
    l = vbslq_f32(vcltq_f32(z, SPLAT(0)), vnegq_f32(l), l);
    return vbslq_f32(vcltq_f32(a, SPLAT(1)), s, l);
}

float neon_maximum(const float *x, size_t n) {
    if (n < 4) return vmaxvq_f32(neon_load_tail(x, n, x[0]));
    float32x4_t best = vld1q_f32(x);
    for (size_t i = 4; i + 4 <= n; i += 4) best = vmaxq_f32(vld1q_f32(x + i), best);
    return vmaxvq_f32(vmaxq_f32(vld1q_f32(x + n - 4), best));
}

float neon_scores(float *s, size_t n, float scale, float add, const float *column) {
    const float32x4_t factor = SPLAT(scale), plus = SPLAT(add);
    float32x4_t best = SPLAT(-__builtin_inff());
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float32x4_t extra = column ? vaddq_f32(plus, vld1q_f32(column + i)) : plus;
        float32x4_t v = fma4(vld1q_f32(s + i), factor, extra);
        vst1q_f32(s + i, v);
        best = vmaxq_f32(v, best);
    }
    if (i < n) {
        float32x4_t extra = column ? vaddq_f32(plus, neon_load_tail(column + i, n - i, column[i])) : plus;
        float32x4_t v = fma4(neon_load_tail(s + i, n - i, s[i]), factor, extra);
        neon_store_tail(s + i, n - i, v);
        best = vmaxq_f32(v, best); /* the other lanes repeat the first */
    }
    return vmaxvq_f32(best);
}

CPU_INLINE float32x4_t exp_or_zero(float32x4_t x) {
    uint32x4_t below = vcltq_f32(x, SPLAT(CPU_EXP_MIN)); /* not for NaN, which stays */
    float32x4_t e = exp_vector(clamp(x, CPU_EXP_MIN, CPU_EXP_MAX));
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(e), below));
}

float neon_exponentials(float *s, size_t n, float max) {
    float32x4_t sum = SPLAT(0);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float32x4_t e = exp_or_zero(vsubq_f32(vld1q_f32(s + i), SPLAT(max)));
        vst1q_f32(s + i, e);
        sum = vaddq_f32(sum, e);
    }
    if (i < n) {
        float32x4_t e = exp_or_zero(vsubq_f32(neon_load_tail(s + i, n - i, -__builtin_inff()), SPLAT(max)));
        neon_store_tail(s + i, n - i, e);
        sum = vaddq_f32(sum, e);
    }
    return vaddvq_f32(sum);
}

void neon_scale(float *x, size_t n, float factor) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(x + i, vmulq_n_f32(vld1q_f32(x + i), factor));
    for (; i < n; i++) x[i] *= factor;
}

CPU_INLINE float32x4_t activated(float32x4_t v, uocr_activation activation) {
    if (activation == UOCR_GELU_ERF) {
        float32x4_t t = erf_vector(vmulq_n_f32(v, CPU_SQRT_HALF));
        return vmulq_f32(vmulq_n_f32(v, 0.5f), vaddq_f32(SPLAT(1), t));
    }
    if (activation == UOCR_GELU_QUICK) return vmulq_f32(v, sigmoid(vmulq_n_f32(v, CPU_QUICK_GELU)));
    return v;
}

void neon_tail(float *y, const float *bias, size_t n, uocr_activation activation) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float32x4_t v = vld1q_f32(y + i);
        if (bias) v = vaddq_f32(v, vld1q_f32(bias + i));
        vst1q_f32(y + i, activated(v, activation));
    }
    if (i < n) {
        float32x4_t v = neon_load_tail(y + i, n - i, 0);
        if (bias) v = vaddq_f32(v, neon_load_tail(bias + i, n - i, 0));
        neon_store_tail(y + i, n - i, activated(v, activation));
    }
}

void neon_silu_mul(float *gate, const float *up, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float32x4_t g = vld1q_f32(gate + i);
        vst1q_f32(gate + i, vmulq_f32(vmulq_f32(g, sigmoid(g)), vld1q_f32(up + i)));
    }
    if (i < n) {
        float32x4_t g = neon_load_tail(gate + i, n - i, 0);
        neon_store_tail(gate + i, n - i,
                        vmulq_f32(vmulq_f32(g, sigmoid(g)), neon_load_tail(up + i, n - i, 0)));
    }
}

void neon_to_f16(const float *x, size_t n, uint16_t *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
    for (; i < n; i++) y[i] = cpu_f32_to_f16(x[i]);
}

void neon_to_f32(const uint16_t *x, size_t n, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, neon_load_f16(x + i));
    for (; i < n; i++) y[i] = cpu_f16_to_f32(x[i]);
}
#else
typedef int cpu_rows_neon_is_for_aarch64; /* a file must not be empty */
#endif
