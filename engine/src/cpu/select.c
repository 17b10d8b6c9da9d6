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
    return &cpu_kernels_portable;
}
