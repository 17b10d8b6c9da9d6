/* Keeps the Mac awake, and this process at full speed, while work is underway. Objective-C, part of device_metal.m.
 *
 * The activity ends 10 to 20 seconds after the last work, and not between one token and the next: a Mac whose user
 * has long been away falls asleep the moment nobody objects. A run that is paused lets it go the same way. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_AWAKE_H
#define UOCR_SRC_GPU_DEVICE_METAL_AWAKE_H

#import <Foundation/Foundation.h>
#include <dispatch/dispatch.h>
#include <pthread.h>
#include <stdlib.h>

#include "../profile.h"

enum { GPU_REST_SECONDS = 10 };

typedef struct gpu_awake {
    pthread_mutex_t lock;
    id<NSObject> activity; /* nil: the Mac may sleep */
    double until;          /* by uocr_now */
    unsigned waiting;      /* callers that wait for the device */
    bool checking, closed; /* a check is on its way; the device has gone */
} gpu_awake;

static inline void gpu_awake_end(gpu_awake *a) {
    if (a->activity) [[NSProcessInfo processInfo] endActivity:a->activity];
    a->activity = nil;
}

static inline void gpu_awake_free(gpu_awake *a) {
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* On a thread of the system's, every 10 seconds while the activity is held. */
static void gpu_awake_check(void *context) {
    gpu_awake *a = context;
    pthread_mutex_lock(&a->lock);
    bool closed = a->closed;
    a->checking = !closed && (a->waiting || uocr_now() < a->until);
    @autoreleasepool {
        if (a->checking)
            dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, GPU_REST_SECONDS * NSEC_PER_SEC),
                             dispatch_get_global_queue(0, 0), a, gpu_awake_check);
        else gpu_awake_end(a);
    }
    pthread_mutex_unlock(&a->lock);
    if (closed) gpu_awake_free(a);
}

static inline gpu_awake *gpu_awake_create(void) {
    gpu_awake *a = calloc(1, sizeof *a);
    if (a && pthread_mutex_init(&a->lock, NULL) != 0) free(a), a = NULL;
    return a;
}

/* There is work. */
static inline void gpu_awake_touch(gpu_awake *a) {
    pthread_mutex_lock(&a->lock);
    a->until = uocr_now() + GPU_REST_SECONDS;
    if (!a->activity)
        a->activity = [[NSProcessInfo processInfo]
            beginActivityWithOptions:NSActivityUserInitiated
                              reason:[NSString stringWithUTF8String:"Reading pages"]];
    bool check = !a->checking;
    a->checking = true;
    pthread_mutex_unlock(&a->lock);
    if (check)
        dispatch_after_f(dispatch_time(DISPATCH_TIME_NOW, GPU_REST_SECONDS * NSEC_PER_SEC),
                         dispatch_get_global_queue(0, 0), a, gpu_awake_check);
}

/* 1: somebody waits for the device now, -1: no longer. */
static inline void gpu_awake_wait(gpu_awake *a, int change) {
    pthread_mutex_lock(&a->lock);
    a->waiting += (unsigned)change;
    pthread_mutex_unlock(&a->lock);
}

static inline void gpu_awake_close(gpu_awake *a) {
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    gpu_awake_end(a);
    bool checking = a->checking;
    a->closed = true; /* the check that is on its way takes the rest */
    pthread_mutex_unlock(&a->lock);
    if (!checking) gpu_awake_free(a);
}

#endif
