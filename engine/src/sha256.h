/* SHA-256 (FIPS 180-4), portable C. */
#ifndef UOCR_SRC_SHA256_H
#define UOCR_SRC_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { UOCR_SHA256_BYTES = 32 };

typedef struct uocr_sha256 {
    uint32_t state[8];
    uint64_t length;   /* bytes so far */
    uint8_t block[64]; /* the unfinished block */
} uocr_sha256;

void uocr_sha256_begin(uocr_sha256 *);
void uocr_sha256_add(uocr_sha256 *, const void *bytes, size_t count);
void uocr_sha256_end(uocr_sha256 *, uint8_t digest[UOCR_SHA256_BYTES]);
/* Begin, add, end. */
void uocr_sha256_of(const void *bytes, size_t count, uint8_t digest[UOCR_SHA256_BYTES]);

#endif
