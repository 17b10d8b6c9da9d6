// Rotation of half-split pairs by position.
#ifndef UOCR_METAL_ROTATE_H
#define UOCR_METAL_ROTATE_H

#include "cache.h"

// Cosine and sine. As the model was trained, the angle is an f32 product; the frequency comes from the host,
// where powers are exact enough for positions of 32768.
static inline float2 turn_of(uint position, float frequency) {
    const float angle = float(position) * frequency;
    return float2(precise::cos(angle), precise::sin(angle));
}

static inline float2 turned(float2 pair, float2 turn) {
    return float2(pair.x * turn.x - pair.y * turn.y, pair.y * turn.x + pair.x * turn.y);
}

#endif
