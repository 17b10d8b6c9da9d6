#include "pixels.h"

#include <stdint.h>
#include <string.h>

static float round_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fffu + ((bits >> 16) & 1u);
    bits &= 0xffff0000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void uocr_pixel_table(float table[256]) {
    for (int p = 0; p < 256; p++) table[p] = round_to_bf16(((float)p / 255.0f - 0.5f) / 0.5f);
}
