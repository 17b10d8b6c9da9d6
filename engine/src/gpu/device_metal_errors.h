/* Metal's errors in words. Objective-C, part of device_metal.m. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_ERRORS_H
#define UOCR_SRC_GPU_DEVICE_METAL_ERRORS_H

#import <Metal/Metal.h>
#include <stdio.h>

enum { GPU_WORDS = 480 };

/* What the system says of an error, on one line, cut where it is too long. */
static inline const char *gpu_words(NSError *error, char text[GPU_WORDS]) {
    const char *said = error.localizedDescription.UTF8String;
    snprintf(text, GPU_WORDS, "%s", said && *said ? said : "no reason is given");
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    return text;
}

/* Why a command buffer failed, by the code of its error. */
static inline const char *gpu_cause(NSInteger code) {
    switch (code) {
    case MTLCommandBufferErrorTimeout: return "it ran too long and was stopped";
    case MTLCommandBufferErrorOutOfMemory: return "there was not enough memory, close other programs";
    case MTLCommandBufferErrorNotPermitted: return "the system does not let this program use the GPU now";
    case MTLCommandBufferErrorAccessRevoked:
    case MTLCommandBufferErrorDeviceRemoved: return "the GPU is lost to this program";
    default: return "an error of the GPU or its driver";
    }
}

/* After such an error no work of this process is taken any more. */
static inline bool gpu_is_lost(NSInteger code) {
    return code == MTLCommandBufferErrorAccessRevoked || code == MTLCommandBufferErrorDeviceRemoved;
}

#endif
