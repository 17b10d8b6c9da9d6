/* How many processors and how much memory this process may use: the affinity mask and the limits of its control
 * group, not the size of the machine. */
#ifndef UOCR_SRC_PROCESSORS_H
#define UOCR_SRC_PROCESSORS_H

#include <stdint.h>

/* At least 1. On Apple processors: the fast cores only, because a tile on a slow core makes all others wait.
 */
uint32_t uocr_processors(void);

/* The CPU quota of a Linux control group in whole processors, rounded up; 0 when there is none.
 * `membership` is a file like /proc/self/cgroup, `mount` a folder like /sys/fs/cgroup; the smallest quota of
 * the group and its parents counts, in both versions of the interface. */
uint32_t uocr_cgroup_processors(const char *membership, const char *mount);

/* Bytes: the machine's memory, or less where the control group allows less; 0 when nothing is known. */
uint64_t uocr_usable_memory(void);

/* The memory limit of a Linux control group in bytes; 0 when there is none. Arguments as above. */
uint64_t uocr_cgroup_memory(const char *membership, const char *mount);

#endif
