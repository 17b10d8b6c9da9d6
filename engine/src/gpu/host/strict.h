// Type check only: nothing here runs. Address spaces are real, so a pointer that changes its space does not
// compile.
#ifndef MSL_STRICT_H
#define MSL_STRICT_H

#define MSL_SPACE(n) __attribute__((address_space(n)))
#define MSL_CONSTANT(type, name, index) extern const type name
#define MSL_THREADGROUP(type, name, ...)                                                                     \
    typedef type name##_type __VA_ARGS__;                                                                    \
    auto &name = *(MSL_SPACE(3) name##_type *)nullptr

namespace metal {
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);

template <class T> T simd_sum(T);
template <class T> T simd_max(T);
template <class T> T simd_min(T);
template <class T> T simd_prefix_exclusive_sum(T);
template <class T> T simd_shuffle(T, ushort);
template <class T> T simd_broadcast(T, ushort);
template <class T> T simd_shuffle_xor(T, ushort);
template <class T> T simd_shuffle_down(T, ushort);
template <class T> T simd_shuffle_up(T, ushort);
bool simd_any(bool);
bool simd_all(bool);

template <class T, int R, int C> struct simdgroup_matrix {
    static_assert(R == 8 && C == 8, "only 8x8 exists");
    static_assert(is_float<T>, "matrices are of half or float");
    T element[2];
};
template <class T, int R, int C = R> simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T);
// Memory of a matrix: device or threadgroup, of its own element type.
template <class T>
void simdgroup_load(simdgroup_matrix<T, 8, 8> &, const MSL_SPACE(3) T *, ulong = 8, vec<ulong, 2> = 0,
                    bool = false);
template <class T>
void simdgroup_load(simdgroup_matrix<T, 8, 8> &, const MSL_SPACE(1) T *, ulong = 8, vec<ulong, 2> = 0,
                    bool = false);
template <class T> void simdgroup_store(const simdgroup_matrix<T, 8, 8> &, MSL_SPACE(3) T *, ulong = 8);
template <class T> void simdgroup_store(const simdgroup_matrix<T, 8, 8> &, MSL_SPACE(1) T *, ulong = 8);
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &, const simdgroup_matrix<A, 8, 8> &,
                                   const simdgroup_matrix<B, 8, 8> &, const simdgroup_matrix<C, 8, 8> &);
template <class D, class A, class B>
void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &, const simdgroup_matrix<A, 8, 8> &,
                        const simdgroup_matrix<B, 8, 8> &);
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
} // namespace metal

#endif
