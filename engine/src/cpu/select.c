/* Which inner loops this machine can run. */
#include "kernels.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_ASIMDDP
#define HWCAP_ASIMDDP (1u << 20)
#endif
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

const cpu_kernels *cpu_kernels_select(uint32_t simd) {
    if (simd == UOCR_SIMD_PORTABLE) return &cpu_kernels_portable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_portable;
}
