/* See processors.h. */
#include "processors.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

enum { PATH_ROOM = 4096 };

/* The first line of a small file, without its newline. */
static bool read_line(const char *path, char *line, size_t room) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool read = fgets(line, (int)room, file) != NULL;
    fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

/* What one control group allows, 0 for no limit. */
typedef uint64_t limit_reader(const char *folder);

/* quota / period rounded up; 0 for no limit. */
static uint64_t whole_processors(int64_t quota, int64_t period) {
    if (quota <= 0 || period <= 0) return 0;
    int64_t whole = quota / period + (quota % period != 0);
    return whole > UINT32_MAX ? 0 : (uint64_t)whole;
}

/* Version 2: "max 100000" or "150000 100000" in cpu.max. */
static uint64_t quota_v2(const char *folder) {
    char path[PATH_ROOM + 32], line[128];
    int64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, line, sizeof line)) return 0;
    if (sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) != 2) return 0;
    return whole_processors(quota, period);
}

/* Version 1: two files, a quota of -1 means none. */
static uint64_t quota_v1(const char *folder) {
    char path[PATH_ROOM + 32], quota[128], period[128];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, period, sizeof period)) return 0;
    return whole_processors(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* Bytes in a file that holds one number; 0 when it says "max" or cannot be read. */
static uint64_t bytes_in(const char *folder, const char *name) {
    char path[PATH_ROOM + 32], line[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!read_line(path, line, sizeof line)) return 0;
    uint64_t bytes;
    return sscanf(line, "%" SCNu64, &bytes) == 1 ? bytes : 0;
}

static uint64_t memory_v2(const char *folder) { return bytes_in(folder, "memory.max"); }

/* Version 1 says "no limit" with a number near 2^63. */
static uint64_t memory_v1(const char *folder) {
    uint64_t bytes = bytes_in(folder, "memory.limit_in_bytes");
    return bytes < (UINT64_C(1) << 60) ? bytes : 0;
}

static uint64_t smaller(uint64_t limit, uint64_t other) {
    return limit == 0 || (other != 0 && other < limit) ? other : limit;
}

/* The smallest limit from `root` + `group` up to `root` itself. Inside a container the path of the group may
 * not exist below the mount; its parents up to the mount then say what applies. */
static uint64_t smallest_limit(const char *root, const char *group, limit_reader *read) {
    char folder[PATH_ROOM];
    int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (length < 0 || (size_t)length >= sizeof folder) return 0;

    const size_t root_length = strlen(root);
    uint64_t smallest = 0;
    for (;;) {
        smallest = smaller(smallest, read(folder));
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < root_length) return smallest;
        *slash = '\0';
    }
}

/* Is `word` one of the comma-separated words of `list`? */
static bool lists(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',')) {
        if (*p == ',') p++;
        if (strncmp(p, word, length) == 0 && (p[length] == ',' || p[length] == '\0')) return true;
    }
    return false;
}

/* The smallest limit of the groups that the file `membership` names, and their parents. Version 1 has a folder
 * for each `controller`. */
static uint64_t group_limit(const char *membership, const char *mount, const char *controller, limit_reader *v2,
                            limit_reader *v1) {
    FILE *file = fopen(membership, "r");
    if (file == NULL) return 0;
    uint64_t smallest = 0;
    char line[PATH_ROOM];
    while (fgets(line, sizeof line, file) != NULL) { /* "4:cpu,cpuacct:/group" or, version 2, "0::/group" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL) continue;
        *controllers++ = '\0';
        *group++ = '\0';

        if (*controllers == '\0') {
            smallest = smaller(smallest, smallest_limit(mount, group, v2));
        } else if (lists(controllers, controller)) {
            /* The folder has the name of one controller or of the pair, usually both through a link. */
            char root[PATH_ROOM];
            int length = snprintf(root, sizeof root, "%s/%s", mount, controller);
            if (length > 0 && (size_t)length < sizeof root)
                smallest = smaller(smallest, smallest_limit(root, group, v1));
        }
    }
    fclose(file);
    return smallest;
}

uint32_t uocr_cgroup_processors(const char *membership, const char *mount) {
    return (uint32_t)group_limit(membership, mount, "cpu", quota_v2, quota_v1);
}

uint64_t uocr_cgroup_memory(const char *membership, const char *mount) {
    return group_limit(membership, mount, "memory", memory_v2, memory_v1);
}

uint64_t uocr_usable_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
#if defined(__linux__)
    memory = smaller(memory, uocr_cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
#endif
    return memory;
}

#if defined(__linux__)
/* Processors in the affinity mask; 0 when it cannot be read. */
static uint32_t affinity_processors(void) {
    for (int room = 1024; room <= 1 << 16; room *= 2) { /* the kernel refuses a mask shorter than its own */
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (set == NULL) return 0;
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return (uint32_t)count;
    }
    return 0;
}
#endif

uint32_t uocr_processors(void) {
    uint32_t count = 0;
#if defined(__linux__)
    count = affinity_processors();
    uint32_t quota = uocr_cgroup_processors("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota != 0 && (count == 0 || quota < count)) count = quota;
#elif defined(__APPLE__)
    int fast = 0;
    size_t bytes = sizeof fast;
    if (sysctlbyname("hw.perflevel0.logicalcpu", &fast, &bytes, NULL, 0) == 0 && fast > 0)
        count = (uint32_t)fast;
#endif
    if (count == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online > 0 ? (uint32_t)online : 1;
    }
    return count;
}
