// What several kernels share: weights as numbers, activations.
#ifndef UOCR_METAL_COMMON_H
#define UOCR_METAL_COMMON_H

#include <metal_stdlib>
using namespace metal;

#include "arguments.h"

constant constexpr uint F32 = 0;
constant constexpr uint F16 = 1;
constant constexpr uint Q8 = 2;
constant constexpr uint Q4 = 3;
constant constexpr uint GROUP = 64; // weights that share a scale

// Element i of a vector of f32 or f16: norm weights, biases.
static inline float vector_at(device const uchar *data, uint type, uint i) {
    return type == F32 ? ((device const float *)data)[i] : float(((device const half *)data)[i]);
}

static inline float4 vector4_at(device const uchar *data, uint type, uint i) {
    return type == F32 ? float4(((device const packed_float4 *)(data + 4 * ulong(i)))[0])
                       : float4(((device const packed_half4 *)(data + 2 * ulong(i)))[0]);
}

// Element (row, col) of a weight of any type.
static inline float weight_at(device const uchar *payload, device const half *scales, uint type, uint cols,
                              uint row, uint col) {
    const ulong i = ulong(row) * cols + col;
    if (type == F32) return ((device const float *)payload)[i];
    if (type == F16) return float(((device const half *)payload)[i]);
    const float scale = float(scales[i / GROUP]);
    if (type == Q8) return float(((device const char *)payload)[i]) * scale;
    const uint within = col % GROUP;
    const uchar pair = payload[i / GROUP * (GROUP / 2) + within % (GROUP / 2)];
    return float(int(within < GROUP / 2 ? pair & 15 : pair >> 4) - 8) * scale;
}

// Bytes of `elements` weights, without scales.
static inline ulong weight_bytes(uint type, ulong elements) {
    return type == F32 ? 4 * elements : type == F16 ? 2 * elements : type == Q8 ? elements : elements / 2;
}

// Our own polynomials (see engine/src/cpu/polynomials.h); the language has no erf.
static inline float error_function(float x) {
    const float z = fabs(x), u = z * z;
    if (z < 1.0f) {
        float p = 7.85386073e-5f;
        p = fma(p, u, -0.000801019371f);
        p = fma(p, u, 0.00518832775f);
        p = fma(p, u, -0.0268538129f);
        p = fma(p, u, 0.112835854f);
        p = fma(p, u, -0.376126260f);
        return x * fma(p, u, 1.12837911f);
    }
    float p = -0.000185574070f;
    p = fma(p, z, 0.00293960795f);
    p = fma(p, z, -0.0218053199f);
    p = fma(p, z, 0.103037372f);
    p = fma(p, z, 0.638225675f);
    p = fma(p, z, 1.12704003f);
    p = fma(p, z, 0.000353718759f);
    const float erf = z < 4.0f ? 1.0f - precise::exp(-p) : 1.0f;
    return x < 0.0f ? -erf : x != x ? x : erf;
}

static inline float silu(float x) { return x / (1.0f + precise::exp(-x)); }

// uocr_activation: 0 none, 1 GELU with erf, 2 quick GELU.
static inline float activate(uint activation, float x) {
    if (activation == 1) return 0.5f * x * (1.0f + error_function(x * 0.707106781f));
    if (activation == 2) return x / (1.0f + precise::exp(-1.702f * x));
    return x;
}

#endif
