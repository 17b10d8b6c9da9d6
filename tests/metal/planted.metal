// Sixteen faults, each on a line that says so: the strict check must find exactly these lines.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct sizes {
    uint n;
};

void fill(threadgroup float *t) { t[0] = 0.0f; }
float first_of(float *p) { return *p; } // FAULT 1: no address space
uint forever(uint n) { return n == 0 ? 0 : forever(n - 1); } // FAULT 2: recursion

kernel void planted(device float *d [[buffer(0)]], constant sizes &args [[buffer(1)]],
                    device const half *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float t[64];
    device float *p = t; // FAULT 3: threadgroup memory as device memory
    threadgroup float *q = (threadgroup float *)d; // FAULT 4: a cast from one space to another
    thread float *g = d; // FAULT 5: device memory as the thread's
    fill(d); // FAULT 6: a device pointer for a threadgroup parameter
    args.n = 3; // FAULT 7: constants cannot be written
    c[0] = half(1.0h); // FAULT 8: neither can const memory
    double z = 1.0f; // FAULT 9: there is no double
    float4 v = float4(1.0f, 2.0f); // FAULT 10: two components for four
    float2 s = v.xyz; // FAULT 11: three components for two
    float3 u = float3(v.xy + v.yzw, 0.0f); // FAULT 12: two plus three components
    float4 w = float4(half4(v)) * half4(v); // FAULT 13: float times half
    d[0] = simd_sum(); // FAULT 14: nothing to sum
    threadgroup_barrier(); // FAULT 15: which memory?
    simdgroup_half8x8 m;
    simdgroup_load(m, t, 8); // FAULT 16: a matrix of half from memory of float
}
