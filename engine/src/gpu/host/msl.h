// The part of the Metal Shading Language that our kernels use, for clang on an ordinary CPU.
//
// Kernels are compiled unchanged but for translate.py's few rewrites. Vectors are clang's extended vectors,
// which have the language's swizzles and its strictness: operands of different element types do not mix. Two
// uses:
//   running    address spaces vanish; lanes.h supplies simdgroup operations, one fiber a lane;
//   MSL_STRICT type check only: device, constant and threadgroup are real address spaces, so that a pointer
//   that
//              changes its space does not compile.
#ifndef MSL_H
#define MSL_H

#define __METAL_VERSION__ 300

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

typedef _Float16 half;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace metal {
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));

template <class V> struct vector_traits {
    typedef V element;
    static constexpr int count = 1;
};
template <class T, int N> struct vector_traits<T __attribute__((ext_vector_type(N)))> {
    typedef T element;
    static constexpr int count = N;
};
template <class V> inline constexpr bool is_vector = vector_traits<V>::count > 1;
template <class T> inline constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, half>;

// What `float4(...)` means: a splat, a conversion, or parts one after another that fill the vector exactly.
template <class T, int N, class A> inline void append(vec<T, N> &v, int &at, A a) {
    if constexpr (is_vector<A>) {
        for (int i = 0; i < vector_traits<A>::count; i++) v[at++] = (T)a[i];
    } else v[at++] = (T)a;
}
template <class T, int N, class... A> inline vec<T, N> make(A... a) {
    constexpr int parts = (0 + ... + vector_traits<A>::count);
    constexpr bool splat = sizeof...(A) == 1 && parts == 1;
    static_assert(splat || parts == N, "vector constructor: wrong number of components");
    if constexpr (splat) return ((T)a, ...);
    else if constexpr (sizeof...(A) == 1) return (__builtin_convertvector(a, vec<T, N>), ...);
    else {
        vec<T, N> v;
        int at = 0;
        (append<T, N>(v, at, a), ...);
        return v;
    }
}
} // namespace metal

#define MSL_VECTORS(T, name)                                                                                 \
    typedef T name##2 __attribute__((ext_vector_type(2)));                                                   \
    typedef T name##3 __attribute__((ext_vector_type(3)));                                                   \
    typedef T name##4 __attribute__((ext_vector_type(4)));                                                   \
    typedef T packed_##name##2 __attribute__((ext_vector_type(2), aligned(sizeof(T))));                      \
    typedef T packed_##name##4 __attribute__((ext_vector_type(4), aligned(sizeof(T))));
MSL_VECTORS(char, char)
MSL_VECTORS(unsigned char, uchar)
MSL_VECTORS(short, short)
MSL_VECTORS(unsigned short, ushort)
MSL_VECTORS(int, int)
MSL_VECTORS(unsigned int, uint)
MSL_VECTORS(unsigned long, ulong)
MSL_VECTORS(half, half)
MSL_VECTORS(float, float)
#undef MSL_VECTORS

namespace metal {
// ---- arithmetic functions, element by element ----
#define MSL_UNARY(name, call)                                                                                \
    template <class V> inline V name(V a) {                                                                  \
        typedef typename vector_traits<V>::element T;                                                        \
        static_assert(is_float<T>, #name " of a type that is not floating point");                           \
        if constexpr (is_vector<V>) {                                                                        \
            for (int i = 0; i < vector_traits<V>::count; i++) a[i] = (T)call((float)a[i]);                   \
            return a;                                                                                        \
        } else return (T)call((float)a);                                                                     \
    }
MSL_UNARY(exp, __builtin_expf)
MSL_UNARY(log, __builtin_logf)
MSL_UNARY(sqrt, __builtin_sqrtf)
MSL_UNARY(sin, __builtin_sinf)
MSL_UNARY(cos, __builtin_cosf)
MSL_UNARY(fabs, __builtin_fabsf)
MSL_UNARY(rsqrt, 1.0f / __builtin_sqrtf)
#undef MSL_UNARY

template <class T> inline T min(T a, T b) { return b < a ? b : a; }
template <class T> inline T max(T a, T b) { return a < b ? b : a; }
template <class T> inline T fma(T a, T b, T c) {
    static_assert(std::is_same_v<T, float>, "fma of float");
    return __builtin_fmaf(a, b, c);
}
template <class T> inline T copysign(T a, T b) { return __builtin_copysignf(a, b); }
template <class V> inline typename vector_traits<V>::element dot(V a, V b) {
    static_assert(is_vector<V>, "dot of vectors");
    V product = a * b;
    typename vector_traits<V>::element sum = product[0];
    for (int i = 1; i < vector_traits<V>::count; i++) sum += product[i];
    return sum;
}
inline bool isfinite(float x) { return x - x == 0.0f; }
namespace precise {
using metal::cos;
using metal::exp;
using metal::log;
using metal::sin;
} // namespace precise

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
} // namespace metal

#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif

#ifdef MSL_STRICT
#include "strict.h"
#else
#include "lanes.h"
#endif

// ---- spellings that a header of the language must own; nothing is included after them ----
#define char2(...) metal::make<char, 2>(__VA_ARGS__)
#define char4(...) metal::make<char, 4>(__VA_ARGS__)
#define uchar2(...) metal::make<unsigned char, 2>(__VA_ARGS__)
#define uchar4(...) metal::make<unsigned char, 4>(__VA_ARGS__)
#define int2(...) metal::make<int, 2>(__VA_ARGS__)
#define int4(...) metal::make<int, 4>(__VA_ARGS__)
#define uint2(...) metal::make<unsigned int, 2>(__VA_ARGS__)
#define uint4(...) metal::make<unsigned int, 4>(__VA_ARGS__)
#define ulong2(...) metal::make<unsigned long, 2>(__VA_ARGS__)
#define half2(...) metal::make<half, 2>(__VA_ARGS__)
#define half4(...) metal::make<half, 4>(__VA_ARGS__)
#define float2(...) metal::make<float, 2>(__VA_ARGS__)
#define float3(...) metal::make<float, 3>(__VA_ARGS__)
#define float4(...) metal::make<float, 4>(__VA_ARGS__)

#define kernel
#ifdef MSL_STRICT
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#define thread
#else
#define device
#define constant const
#define threadgroup
#define thread
#endif

#endif
