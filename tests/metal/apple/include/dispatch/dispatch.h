/* What the Metal device uses of Apple's libdispatch. That its names are right shows when ziglang links them: it has the
 * names of Apple's C library. */
#ifndef UOCR_TESTS_DISPATCH_H
#define UOCR_TESTS_DISPATCH_H

#include <stdint.h>

typedef struct dispatch_queue_s *dispatch_queue_t;
typedef uint64_t dispatch_time_t;
typedef void (*dispatch_function_t)(void *);
#define DISPATCH_TIME_NOW 0ull
#define NSEC_PER_SEC 1000000000ull
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t nanoseconds);
dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context, dispatch_function_t work);

#endif
