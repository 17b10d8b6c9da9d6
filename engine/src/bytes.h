/* Little-endian numbers at any address. */
#ifndef UOCR_SRC_BYTES_H
#define UOCR_SRC_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t uocr_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t uocr_load_u64(const uint8_t *p) {
    return (uint64_t)uocr_load_u32(p) | (uint64_t)uocr_load_u32(p + 4) << 32;
}

static inline float uocr_load_f32(const uint8_t *p) {
    uint32_t bits = uocr_load_u32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE half precision, subnormals, infinities and NaN included. */
static inline float uocr_load_f16(const uint8_t *p) {
    uint32_t half = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3FF;
    if (exponent == 0) { /* zero or subnormal: fraction x 2^-24, exact in f32 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int uocr_all_zero(const uint8_t *p, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (p[i] != 0) return 0;
    return 1;
}

#endif
