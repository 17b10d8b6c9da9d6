// Simdgroups on a CPU: 32 lanes are 32 fibers of one thread, and every simdgroup operation or barrier is a
// meeting point. A lane that waits hands over to the next; when all lanes of the simdgroup wait at the same
// place, the operation is worked out for all of them at once. Lanes that wait at different places are an
// error with a line number.
//
// 8x8 simdgroup matrices: in fast mode lane 0 holds the whole matrix and does the work with vector
// instructions, the other lanes pass by; in checker mode (MSL_CHECK) each lane holds and moves its own two
// elements, so that the checker sees who touched what.
#ifndef MSL_LANES_H
#define MSL_LANES_H

#include "msl_lane.h"

#define MSL_LINE unsigned line = __builtin_LINE()

// What the binding of arguments reads is not the kernel's doing: the checker does not look.
#define MSL_UNWATCHED __attribute__((no_sanitize("thread")))

namespace msl {
// ---- arguments: codes written by translate.py ----
enum { CODE_BUFFER = 0, CODE_THREADGROUP = 100, CODE_BUILT_IN = 200 };
MSL_UNWATCHED inline uint3_t built_in(const lane &l, int code) {
    switch (code) {
    case 200:
        return {l.group.x * l.threads.x + l.thread.x, l.group.y * l.threads.y + l.thread.y,
                l.group.z * l.threads.z + l.thread.z}; // thread_position_in_grid
    case 201: return l.thread;                         // thread_position_in_threadgroup
    case 202: return {l.index, 0, 0};                  // thread_index_in_threadgroup
    case 203: return l.group;                          // threadgroup_position_in_grid
    case 204: return l.threads;                        // threads_per_threadgroup
    case 205: return l.groups;                         // threadgroups_per_grid
    case 206: return {l.index % 32, 0, 0};             // thread_index_in_simdgroup
    case 207: return {l.index / 32, 0, 0};             // simdgroup_index_in_threadgroup
    default: return {(l.count + 31) / 32, 0, 0};       // simdgroups_per_threadgroup
    }
}
template <class A> MSL_UNWATCHED inline A argument(const lane &l, int code) {
    if constexpr (std::is_pointer_v<A>)
        return (A)(code >= CODE_THREADGROUP ? l.threadgroup[code - CODE_THREADGROUP]
                                            : l.buffers[code].pointer);
    else if constexpr (std::is_reference_v<A>) return *(std::remove_reference_t<A> *)l.buffers[code].pointer;
    else if constexpr (metal::is_vector<A>) {
        uint3_t u = built_in(l, code);
        const unsigned v[3] = {u.x, u.y, u.z};
        A a;
        for (int i = 0; i < metal::vector_traits<A>::count; i++)
            a[i] = (typename metal::vector_traits<A>::element)v[i];
        return a;
    } else return (A)built_in(l, code).x;
}
template <class F> struct signature;
template <class... A> struct signature<void (*)(A...)> {
    template <auto F, size_t... I>
    MSL_UNWATCHED static void spread(const lane &l, const short *codes, std::index_sequence<I...>) {
        F(argument<A>(l, codes[I])...);
    }
    template <auto F, short... C> MSL_UNWATCHED static void call(const lane &l) {
        static constexpr short codes[] = {C...};
        spread<F>(l, codes, std::index_sequence_for<A...>{});
    }
    template <class X> static constexpr unsigned size() {
        return std::is_reference_v<X> ? (unsigned)sizeof(std::remove_reference_t<X>) : 0;
    }
    static constexpr unsigned sizes[] = {size<A>()...};
};
template <auto F, short... C> struct registered {
    registered(const char *name, const char *file) {
        static const short codes[] = {C...};
        typedef signature<decltype(F)> S;
        msl_register_kernel(name, file, &S::template call<F, C...>, codes, S::sizes, sizeof...(C));
    }
};
struct registered_constant {
    registered_constant(const char *file, unsigned index, const char *name, unsigned *value) {
        msl_register_constant(file, index, name, value);
    }
};
} // namespace msl

#define MSL_CONSTANT(type, name, index)                                                                      \
    static type name;                                                                                        \
    static msl::registered_constant name##_registered(MSL_FILE, index, #name, &name)
#define MSL_THREADGROUP(type, name, ...)                                                                     \
    typedef type name##_type __VA_ARGS__;                                                                    \
    static const int name##_key = 0;                                                                         \
    auto &name = *(name##_type *)msl_threadgroup_local(&name##_key, sizeof(name##_type), #name)

namespace metal {
inline void threadgroup_barrier(mem_flags, MSL_LINE) { msl_barrier(line); }
inline void simdgroup_barrier(mem_flags, MSL_LINE) { msl_simd_barrier(line); }

template <class T> struct exchanged {
    T value, result;
    unsigned index;
};
template <class T> inline T reduced(T v, void (*resolve)(void **), unsigned line) {
    exchanged<T> e{v, v, 0};
    msl_meet(&e, resolve, line);
    return e.result;
}
// Pairs as a butterfly: ((0+16)+(8+24))+..., one fixed order whatever the lane order.
#define MSL_REDUCE(name, expression)                                                                         \
    template <class T> inline T name(T v, MSL_LINE) {                                                        \
        return reduced<T>(                                                                                   \
            v,                                                                                               \
            [](void **lanes) {                                                                               \
                auto **e = (exchanged<T> **)lanes;                                                           \
                T t[32];                                                                                     \
                for (int i = 0; i < 32; i++) t[i] = e[i]->value;                                             \
                for (int step = 16; step > 0; step /= 2)                                                     \
                    for (int i = 0; i < step; i++) {                                                         \
                        T a = t[i], b = t[i + step];                                                         \
                        t[i] = (expression);                                                                 \
                    }                                                                                        \
                for (int i = 0; i < 32; i++) e[i]->result = t[0];                                            \
            },                                                                                               \
            line);                                                                                           \
    }
MSL_REDUCE(simd_sum, a + b)
MSL_REDUCE(simd_max, max(a, b))
MSL_REDUCE(simd_min, min(a, b))
#undef MSL_REDUCE

#define MSL_SHUFFLE(name, expression)                                                                        \
    template <class T> inline T name(T v, ushort n, MSL_LINE) {                                              \
        exchanged<T> e{v, v, n};                                                                             \
        msl_meet(                                                                                            \
            &e,                                                                                              \
            [](void **lanes) {                                                                               \
                auto **p = (exchanged<T> **)lanes;                                                           \
                for (int l = 0; l < 32; l++) {                                                               \
                    int n = (int)p[l]->index, from = (expression);                                           \
                    p[l]->result = from < 0 || from > 31 ? p[l]->value : p[from]->value;                     \
                }                                                                                            \
            },                                                                                               \
            line);                                                                                           \
        return e.result;                                                                                     \
    }
MSL_SHUFFLE(simd_shuffle, n)
MSL_SHUFFLE(simd_broadcast, n)
MSL_SHUFFLE(simd_shuffle_xor, l ^ n)
MSL_SHUFFLE(simd_shuffle_down, l + n)
MSL_SHUFFLE(simd_shuffle_up, l - n)
#undef MSL_SHUFFLE

template <class T> inline T simd_prefix_exclusive_sum(T v, MSL_LINE) {
    return reduced<T>(
        v,
        [](void **lanes) {
            auto **e = (exchanged<T> **)lanes;
            T sum = T(0);
            for (int i = 0; i < 32; i++) {
                e[i]->result = sum;
                sum += e[i]->value;
            }
        },
        line);
}
inline bool simd_any(bool b, MSL_LINE) { return simd_max<int>(b, line) != 0; }
inline bool simd_all(bool b, MSL_LINE) { return simd_min<int>(b, line) != 0; }

// ---- 8x8 matrices ----
#ifndef MSL_CHECK
template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "only 8x8 exists");
    vec<T, 8> row[8]; // lane 0's holds the matrix
};
typedef vec<float, 8> msl_row;
template <class T, int R, int C = R> inline simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T v) {
    simdgroup_matrix<T, R, C> m;
    if (msl_lane == 0)
        for (int r = 0; r < 8; r++) m.row[r] = v;
    return m;
}
template <class T>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const T *source, ulong stride = 8,
                           vec<ulong, 2> = vec<ulong, 2>(0ul), bool transposed = false) {
    if (msl_lane != 0) return;
    if (transposed) {
        for (int r = 0; r < 8; r++)
            for (int c = 0; c < 8; c++) m.row[r][c] = source[(size_t)c * stride + r];
    } else {
        for (int r = 0; r < 8; r++) memcpy(&m.row[r], source + (size_t)r * stride, 8 * sizeof(T));
    }
}
template <class T>
inline void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, T *target, ulong stride = 8) {
    if (msl_lane != 0) return;
    for (int r = 0; r < 8; r++) memcpy(target + (size_t)r * stride, &m.row[r], 8 * sizeof(T));
}
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                          const simdgroup_matrix<B, 8, 8> &b,
                                          const simdgroup_matrix<C, 8, 8> &c) {
    if (msl_lane != 0) return;
    msl_row right[8], out[8];
    for (int k = 0; k < 8; k++) right[k] = __builtin_convertvector(b.row[k], msl_row);
    for (int r = 0; r < 8; r++) {
        msl_row left = __builtin_convertvector(a.row[r], msl_row);
        out[r] = __builtin_convertvector(c.row[r], msl_row);
        for (int k = 0; k < 8; k++) out[r] = __builtin_elementwise_fma((msl_row)(left[k]), right[k], out[r]);
    }
    for (int r = 0; r < 8; r++) d.row[r] = __builtin_convertvector(out[r], vec<D, 8>);
}
#else
template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "only 8x8 exists");
    T element[2]; // lane l: row and columns of msl_row_of, msl_column_of
};
// As observed on Apple's devices; undocumented, and nothing here depends on it.
inline int msl_row_of(int l) { return (l / 16) * 4 + (l / 2) % 4; }
inline int msl_column_of(int l) { return (l / 8) % 2 * 4 + l % 2 * 2; }
template <class T, int R, int C = R> inline simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T v) {
    simdgroup_matrix<T, R, C> m;
    m.element[0] = m.element[1] = v;
    return m;
}
inline void msl_together(unsigned line) {
    char nothing;
    msl_meet(&nothing, [](void **) {}, line);
}
template <class T>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const T *source, ulong stride = 8,
                           vec<ulong, 2> = vec<ulong, 2>(0ul), bool transposed = false, MSL_LINE) {
    msl_together(line);
    size_t r = msl_row_of((int)msl_lane), c = msl_column_of((int)msl_lane);
    for (size_t i = 0; i < 2; i++)
        m.element[i] = transposed ? source[(c + i) * stride + r] : source[r * stride + c + i];
}
template <class T>
inline void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, T *target, ulong stride = 8, MSL_LINE) {
    msl_together(line);
    size_t r = msl_row_of((int)msl_lane), c = msl_column_of((int)msl_lane);
    for (size_t i = 0; i < 2; i++) target[r * stride + c + i] = m.element[i];
}
template <class D, class A, class B, class C> struct multiplied {
    const A *a;
    const B *b;
    const C *c;
    D d[2];
};
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                          const simdgroup_matrix<B, 8, 8> &b,
                                          const simdgroup_matrix<C, 8, 8> &c, MSL_LINE) {
    typedef multiplied<D, A, B, C> M;
    M m{a.element, b.element, c.element, {}};
    msl_meet(
        &m,
        [](void **lanes) {
            auto **p = (M **)lanes;
            float left[8][8], right[8][8], out[8][8];
            for (int l = 0; l < 32; l++)
                for (int i = 0; i < 2; i++) {
                    int r = msl_row_of(l), col = msl_column_of(l) + i;
                    left[r][col] = (float)p[l]->a[i];
                    right[r][col] = (float)p[l]->b[i];
                    out[r][col] = (float)p[l]->c[i];
                }
            for (int r = 0; r < 8; r++)
                for (int k = 0; k < 8; k++)
                    for (int col = 0; col < 8; col++)
                        out[r][col] = __builtin_fmaf(left[r][k], right[k][col], out[r][col]);
            for (int l = 0; l < 32; l++)
                for (int i = 0; i < 2; i++) p[l]->d[i] = (D)out[msl_row_of(l)][msl_column_of(l) + i];
        },
        line);
    d.element[0] = m.d[0];
    d.element[1] = m.d[1];
}
#endif
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                               const simdgroup_matrix<B, 8, 8> &b) {
    simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)));
}
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
} // namespace metal

#endif
