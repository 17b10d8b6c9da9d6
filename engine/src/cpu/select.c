/* Which inner loops this machine can run. */
#include "kernels.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1u << 20)
#endif
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM (1u << 13)
#endif

static bool has_dotprod(void) { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
static bool has_i8mm(void) { return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>

static bool has(const char *feature) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(feature, &value, &size, NULL, 0) == 0 && value == 1;
}
static bool has_dotprod(void) { return has("hw.optional.arm.FEAT_DotProd"); }
static bool has_i8mm(void) { return has("hw.optional.arm.FEAT_I8MM"); }
#elif defined(__aarch64__)
static bool has_dotprod(void) { return false; }
static bool has_i8mm(void) { return false; }
#endif

const cpu_kernels *cpu_kernels_select(uint32_t simd) {
    if (simd == UOCR_SIMD_PORTABLE) return &cpu_kernels_portable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        return &cpu_kernels_portable;
    bool vnni = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    return vnni && simd == UOCR_SIMD_AUTO ? &cpu_kernels_avx512_vnni : &cpu_kernels_avx2;
#elif defined(__aarch64__)
    if (simd != UOCR_SIMD_AUTO || !has_dotprod()) return &cpu_kernels_neon;
    return has_i8mm() ? &cpu_kernels_neon_i8mm : &cpu_kernels_neon_dotprod;
#else
    return &cpu_kernels_portable;
#endif
}
