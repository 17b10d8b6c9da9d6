/* Files of the Metal device: where the kernels lie, and where its pipelines are kept from one run to the next. */
#ifndef UOCR_SRC_GPU_DEVICE_METAL_FILES_H
#define UOCR_SRC_GPU_DEVICE_METAL_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "../sha256.h"

enum { GPU_PATH = 1024, GPU_MOST_SOURCES = 32 };
#define GPU_LIBRARY_NAME "uocr.metallib"
#define GPU_SOURCES_NAME "uocr-kernels"

typedef struct gpu_sources {
    size_t count;
    char path[GPU_MOST_SOURCES][GPU_PATH];
} gpu_sources;

/* The folder with uocr.metallib or uocr-kernels/: that of the environment (UOCR_METAL_KERNELS), else where the library
 * lies that holds this code. */
bool gpu_kernel_folder(char folder[GPU_PATH]);
/* `name` inside `folder`. False: the path would be too long. */
bool gpu_path_join(char path[GPU_PATH], const char *folder, const char *name);
/* The *.metal files of folder/uocr-kernels, by name. */
void gpu_sources_find(const char *folder, gpu_sources *);
/* All of a file, followed by a NUL; the caller frees it. NULL: it cannot be read, errno says why. */
char *gpu_file_read(const char *path, size_t *bytes);
/* Where pipelines are kept that are made of what has this hash: $UOCR_CACHE or ~/Library/Caches/leggio, then
 * pipelines/. Makes the folders. False: there is no such place. */
bool gpu_archive_path(char path[GPU_PATH], const uint8_t digest[UOCR_SHA256_BYTES]);

#endif
