/* Structs whose size the caller states: an older caller's is shorter, a newer one's longer. */
#ifndef UOCR_SRC_ABI_H
#define UOCR_SRC_ABI_H

#include <stdint.h>
#include <string.h>

/* Every struct of the interface begins with its size in bytes, as the caller knows it. */
static inline uint32_t uocr_abi_size(const void *theirs) {
    uint32_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

/* Reads a caller's struct into one of ours; fields the caller does not know are 0. Structs grow by 8 bytes at a time, so
 * that no version ends inside a field: a size that does is cut to the field before it, never half a pointer. */
static inline void uocr_abi_read(void *ours, uint32_t our_size, const void *theirs) {
    uint32_t size = uocr_abi_size(theirs);
    if (size < our_size) {
        size -= size % 8;
    }
    memset(ours, 0, our_size);
    memcpy(ours, theirs, size < our_size ? size : our_size);
}

/* Writes as much of ours as the caller's struct holds; its size field stays. */
static inline void uocr_abi_write(void *theirs, const void *ours, uint32_t our_size) {
    uint32_t size = uocr_abi_size(theirs), bytes = size < our_size ? size : our_size;
    if (bytes > sizeof size) {
        memcpy((char *)theirs + sizeof size, (const char *)ours + sizeof size, bytes - sizeof size);
    }
}

#endif
