// The part of the Metal Shading Language that our kernels use, for nvcc: a simdgroup is a warp, a threadgroup a block.
//
// Kernels are compiled unchanged but for translate.py's few rewrites, once for each set of function constants that
// is asked for (check.py writes those sources): constants are compile-time numbers here as on Apple's GPUs.
#ifndef MSL_CUDA_H
#define MSL_CUDA_H

#define __METAL_VERSION__ 300

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>

#include <cuda_fp16.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define MSL_DEVICE __device__ __forceinline__

namespace metal {
// ---- vectors ----
// A load of a vector is one wide load: the compiler makes none from its elements.
template <int BYTES> struct words;
template <> struct words<2> { typedef unsigned short type; };
template <> struct words<4> { typedef unsigned int type; };
template <> struct words<8> { typedef ::uint2 type; };
template <> struct words<16> { typedef ::uint4 type; };

template <class T, int N> struct packed { // at the alignment of its elements
    T element[N];
};

template <class T, int N> struct vec {
    static_assert(N == 4, "vectors of 2, 3 and 4");
    alignas(N * sizeof(T)) T element[N];
    vec() = default;
    MSL_DEVICE vec(const vec &v) { *this = v; }
    MSL_DEVICE vec &operator=(const vec &v) {
        typedef typename words<N * sizeof(T)>::type wide;
        *reinterpret_cast<wide *>(element) = *reinterpret_cast<const wide *>(v.element);
        return *this;
    }
    MSL_DEVICE explicit vec(T v) {
        for (int i = 0; i < N; i++) element[i] = v;
    }
    template <class S> MSL_DEVICE explicit vec(const vec<S, N> &v) {
        for (int i = 0; i < N; i++) element[i] = (T)v[i];
    }
    template <class S> MSL_DEVICE explicit vec(const packed<S, N> &v) {
        for (int i = 0; i < N; i++) element[i] = (T)v.element[i];
    }
    MSL_DEVICE T &operator[](int i) { return element[i]; }
    MSL_DEVICE T operator[](int i) const { return element[i]; }
};
template <class T> struct vec<T, 2> {
    T x, y;
    vec() = default;
    MSL_DEVICE explicit vec(T v) : x(v), y(v) {}
    MSL_DEVICE vec(T a, T b) : x(a), y(b) {}
};
template <class T> struct vec<T, 3> {
    T x, y, z;
};

#define MSL_OPERATOR(op)                                                                                     \
    template <class T, int N> MSL_DEVICE vec<T, N> operator op(const vec<T, N> &a, const vec<T, N> &b) {     \
        vec<T, N> r;                                                                                         \
        for (int i = 0; i < N; i++) r[i] = (T)(a[i] op b[i]);                                                \
        return r;                                                                                            \
    }                                                                                                        \
    template <class T, int N> MSL_DEVICE vec<T, N> operator op(const vec<T, N> &a, T b) {                    \
        return a op vec<T, N>(b);                                                                            \
    }
MSL_OPERATOR(+)
MSL_OPERATOR(-)
MSL_OPERATOR(*)
MSL_OPERATOR(&)
MSL_OPERATOR(>>)
#undef MSL_OPERATOR

template <class T, int N> MSL_DEVICE T dot(const vec<T, N> &a, const vec<T, N> &b) {
    T sum = a[0] * b[0];
    for (int i = 1; i < N; i++) sum += a[i] * b[i];
    return sum;
}

namespace precise {
MSL_DEVICE float exp(float x) { return ::expf(x); }
MSL_DEVICE float log(float x) { return ::logf(x); }
MSL_DEVICE float sin(float x) { return ::sinf(x); }
MSL_DEVICE float cos(float x) { return ::cosf(x); }
} // namespace precise

// ---- simdgroups ----
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
MSL_DEVICE void threadgroup_barrier(mem_flags) { __syncthreads(); }
MSL_DEVICE void simdgroup_barrier(mem_flags) { __syncwarp(); }
constexpr unsigned ALL_LANES = 0xffffffffu;
MSL_DEVICE int lane_of() { return (int)(threadIdx.x % 32); }

template <class T> MSL_DEVICE T simd_shuffle_xor(T v, ushort n) { return __shfl_xor_sync(ALL_LANES, v, n); }
template <class T> MSL_DEVICE T simd_sum(T v) {
    for (int step = 16; step > 0; step /= 2) v += simd_shuffle_xor(v, (ushort)step);
    return v;
}
template <class T> MSL_DEVICE T simd_max(T v) {
    for (int step = 16; step > 0; step /= 2) v = max(v, simd_shuffle_xor(v, (ushort)step));
    return v;
}
template <class T> MSL_DEVICE T simd_min(T v) {
    for (int step = 16; step > 0; step /= 2) v = min(v, simd_shuffle_xor(v, (ushort)step));
    return v;
}
template <class T> MSL_DEVICE T simd_prefix_exclusive_sum(T v) {
    T sum = v;
    for (int step = 1; step < 32; step *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane_of() >= step) sum += before;
    }
    return sum - v;
}

// ---- 8x8 matrices: lane l holds row l / 4, columns 2 * (l % 4) and the next, as mma's accumulators lie ----
template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "only 8x8 exists");
    T element[2];
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<__half, 8, 8> simdgroup_half8x8;

template <class T, int R, int C = R> MSL_DEVICE simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T v) {
    simdgroup_matrix<T, R, C> m;
    m.element[0] = m.element[1] = v;
    return m;
}
template <class T>
MSL_DEVICE void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const T *source, ulong stride = 8,
                               vec<ulong, 2> = vec<ulong, 2>(0ul), bool transposed = false) {
    const ulong r = (ulong)(lane_of() / 4), c = (ulong)(lane_of() % 4 * 2);
    for (ulong i = 0; i < 2; i++)
        m.element[i] = transposed ? source[(c + i) * stride + r] : source[r * stride + c + i];
}
template <class T>
MSL_DEVICE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, T *target, ulong stride = 8) {
    const ulong r = (ulong)(lane_of() / 4), c = (ulong)(lane_of() % 4 * 2);
    for (ulong i = 0; i < 2; i++) target[r * stride + c + i] = m.element[i];
}

MSL_DEVICE unsigned msl_pair(const __half *h) {
    return (unsigned)__half_as_ushort(h[0]) | (unsigned)__half_as_ushort(h[1]) << 16;
}
// Halves on tensor cores, whose smallest product has 16 rows: the upper 8 stay zero.
MSL_DEVICE void msl_multiply(float *d, const __half *a, const __half *b, const float *c) {
    unsigned transposed;
    float unused0, unused1;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(msl_pair(b)));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(unused0), "=f"(unused1)
                 : "r"(msl_pair(a)), "r"(0), "r"(transposed), "f"(c[0]), "f"(c[1]), "f"(0.0f), "f"(0.0f));
}
// Floats one by one: tensor cores would round them.
MSL_DEVICE void msl_multiply(float *d, const float *a, const float *b, const float *c) {
    float sum[2] = {c[0], c[1]};
    const int row = lane_of() / 4, column = lane_of() % 4;
    for (int k = 0; k < 8; k++) {
        const float left = __shfl_sync(ALL_LANES, a[k % 2], row * 4 + k / 2);
        for (int i = 0; i < 2; i++) sum[i] += left * __shfl_sync(ALL_LANES, b[i], k * 4 + column);
    }
    d[0] = sum[0];
    d[1] = sum[1];
}
template <class T>
MSL_DEVICE void simdgroup_multiply_accumulate(simdgroup_float8x8 &d, const simdgroup_matrix<T, 8, 8> &a,
                                              const simdgroup_matrix<T, 8, 8> &b, const simdgroup_float8x8 &c) {
    float sum[2];
    msl_multiply(sum, a.element, b.element, c.element);
    d.element[0] = sum[0];
    d.element[1] = sum[1];
}
} // namespace metal

// ---- arguments and the table of kernels ----
namespace msl {
enum { BUFFERS = 16, THREADGROUPS = 5, INLINE_BYTES = 2048 };
struct parameters {
    const void *buffer[BUFFERS]; // NULL: inline, at place[i]
    unsigned place[BUFFERS], threadgroup[THREADGROUPS];
    alignas(16) unsigned char bytes[INLINE_BYTES]; // of inline arguments
};
extern __shared__ __align__(128) unsigned char threadgroup_memory[];

MSL_DEVICE unsigned along(dim3 v, int i) { return i == 0 ? v.x : i == 1 ? v.y : v.z; }
MSL_DEVICE dim3 at(::uint3 v) { return dim3(v.x, v.y, v.z); }
template <int CODE> MSL_DEVICE unsigned built_in(int i) { // numbered by translate.py
    if constexpr (CODE == 200) return along(at(blockIdx), i) * along(blockDim, i) + along(at(threadIdx), i);
    else if constexpr (CODE == 201) return along(at(threadIdx), i);
    else if constexpr (CODE == 202) return threadIdx.x;
    else if constexpr (CODE == 203) return along(at(blockIdx), i);
    else if constexpr (CODE == 204) return along(blockDim, i);
    else if constexpr (CODE == 205) return along(gridDim, i);
    else if constexpr (CODE == 206) return threadIdx.x % 32;
    else if constexpr (CODE == 207) return threadIdx.x / 32;
    else return (blockDim.x + 31) / 32;
}
template <class A, int CODE> struct argument {
    static MSL_DEVICE A of(const parameters &) { return built_in<CODE>(0); }
};
template <int CODE> struct argument<metal::vec<unsigned, 2>, CODE> {
    static MSL_DEVICE metal::vec<unsigned, 2> of(const parameters &) {
        return {built_in<CODE>(0), built_in<CODE>(1)};
    }
};
template <int CODE> struct argument<metal::vec<unsigned, 3>, CODE> {
    static MSL_DEVICE metal::vec<unsigned, 3> of(const parameters &) {
        return {built_in<CODE>(0), built_in<CODE>(1), built_in<CODE>(2)};
    }
};
template <class T, int CODE> struct argument<T *, CODE> {
    static MSL_DEVICE T *of(const parameters &p) {
        if constexpr (CODE >= 100) return (T *)(threadgroup_memory + p.threadgroup[CODE - 100]);
        else return (T *)(p.buffer[CODE] ? p.buffer[CODE] : p.bytes + p.place[CODE]);
    }
};
template <class T, int CODE> struct argument<T &, CODE> {
    static MSL_DEVICE T &of(const parameters &p) { return *argument<T *, CODE>::of(p); }
};

template <class F> struct signature;
template <class... A> struct signature<void (*)(A...)> {
    template <auto KERNEL, int... CODES> static MSL_DEVICE void call(const parameters &p) {
        KERNEL(argument<A, CODES>::of(p)...);
    }
};
template <auto KERNEL, int... CODES> __global__ void entry(const __grid_constant__ parameters p) {
    signature<decltype(KERNEL)>::template call<KERNEL, CODES...>(p);
}
// "name constant constant ..." -> entry; filled before main by the sources that check.py writes.
inline std::map<std::string, const void *> &kernels() {
    static std::map<std::string, const void *> table;
    return table;
}
template <auto KERNEL, int... CODES> struct registered {
    explicit registered(const char *key) { kernels()[key] = (const void *)&entry<KERNEL, CODES...>; }
};
} // namespace msl

// The spellings of the language; no system header may follow. check.py takes out the word `device`, which is the
// compiler's own name of an attribute.
#ifdef MSL_KERNELS
#define half __half
#define char4 metal::vec<signed char, 4>
#define uchar4 metal::vec<uchar, 4>
#define half4 metal::vec<__half, 4>
#define float2 metal::vec<float, 2>
#define float4 metal::vec<float, 4>
#define packed_half4 metal::packed<__half, 4>
#define packed_float4 metal::packed<float, 4>
#define uint2 metal::vec<uint, 2>
#define uint3 metal::vec<uint, 3>
#define ulong2 metal::vec<ulong, 2>
#define MSL_CONSTANT(type, name, index) static constexpr type name = MSL_VALUE_##index
#define MSL_THREADGROUP(type, name, ...) __shared__ type name __VA_ARGS__
#define inline __device__ __inline__
#define kernel __device__
#define constant const
#define threadgroup
#define thread
#endif

#endif
