/* See device_metal_files.h. Plain C, so that it is tested wherever the engine is. */
#include "device_metal_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool gpu_path_join(char path[GPU_PATH], const char *folder, const char *name) {
    int length = snprintf(path, GPU_PATH, "%s/%s", folder, name);
    return length > 0 && length < GPU_PATH;
}

bool gpu_kernel_folder(char folder[GPU_PATH]) {
    static const char here;
    const char *named = getenv("UOCR_METAL_KERNELS");
    Dl_info info;
    if (!named && (!dladdr(&here, &info) || !info.dli_fname)) return false;
    const char *path = named ? named : info.dli_fname;
    int length = snprintf(folder, GPU_PATH, "%s", path);
    if (length <= 0 || length >= GPU_PATH) return false;
    if (named) return true;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    else snprintf(folder, GPU_PATH, ".");
    return true;
}

static int is_source(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && dot != entry->d_name && strcmp(dot, ".metal") == 0;
}

void gpu_sources_find(const char *folder, gpu_sources *sources) {
    char inside[GPU_PATH];
    struct dirent **entries = NULL;
    sources->count = 0;
    if (!gpu_path_join(inside, folder, GPU_SOURCES_NAME)) return;
    int count = scandir(inside, &entries, is_source, alphasort);
    for (int i = 0; i < count; i++) {
        if (sources->count < GPU_MOST_SOURCES &&
            gpu_path_join(sources->path[sources->count], inside, entries[i]->d_name))
            sources->count++;
        free(entries[i]);
    }
    free(entries);
}

char *gpu_file_read(const char *path, size_t *bytes) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC), code = 0;
    struct stat info;
    char *text = NULL;
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &info) != 0) code = errno;
    else if (!S_ISREG(info.st_mode)) code = EINVAL;
    else if (!(text = malloc((size_t)info.st_size + 1))) code = ENOMEM;
    for (*bytes = 0; code == 0 && *bytes < (size_t)info.st_size;) {
        ssize_t got = read(descriptor, text + *bytes, (size_t)info.st_size - *bytes);
        if (got < 0) code = errno;
        if (got <= 0) break;
        *bytes += (size_t)got;
    }
    close(descriptor);
    if (code == 0) {
        text[*bytes] = 0;
        return text;
    }
    free(text);
    errno = code;
    return NULL;
}

/* Makes `folder`, whose parent is there. */
static bool make_folder(const char *folder) { return mkdir(folder, 0700) == 0 || errno == EEXIST; }

bool gpu_archive_path(char path[GPU_PATH], const uint8_t digest[UOCR_SHA256_BYTES]) {
    const char *named = getenv("UOCR_CACHE"), *home = getenv("HOME");
    char folder[GPU_PATH], inside[GPU_PATH], name[64];
    if (named && strlen(named) < sizeof folder) memcpy(folder, named, strlen(named) + 1);
    else if (named || !home || !gpu_path_join(folder, home, "Library/Caches/leggio")) return false;
    if (!make_folder(folder) || !gpu_path_join(inside, folder, "pipelines") || !make_folder(inside)) return false;
    for (size_t i = 0; i < 16; i++) snprintf(name + 2 * i, 3, "%02x", digest[i]);
    memcpy(name + 32, ".metalarchive", sizeof ".metalarchive");
    return gpu_path_join(path, inside, name);
}
