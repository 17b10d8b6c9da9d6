/* Errors: one sentence into the caller's struct, the status as return value. */
#ifndef UOCR_SRC_STATUS_H
#define UOCR_SRC_STATUS_H

#include "uocr.h"

/* Fills *error (which may be NULL) and returns `status`, so that callers write `return uocr_fail(...)`.
 * `number` is the value that was wrong and `limit` the value that was allowed; 0 where there is none. */
__attribute__((format(printf, 5, 6))) uocr_status uocr_fail(uocr_error *error, uocr_status status, uint64_t number,
                                                            uint64_t limit, const char *format, ...);

#endif
