/* Counting the processors this process may use: affinity, and control groups described by files. */
#include "processors.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include "check.h"

static char folder[] = "/tmp/uocr-processors-XXXXXX";

/* Writes `text` to a file below the test's folder; makes the folders on the way. */
static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + sizeof folder; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    if (CHECK(file != NULL)) {
        fputs(text, file);
        fclose(file);
    }
}

/* The quota that holds for a process whose membership file has this text, below the mount called `mount`. */
static uint32_t quota(const char *membership, const char *mount) {
    char file[512], root[512];
    put("membership", membership);
    snprintf(file, sizeof file, "%s/membership", folder);
    snprintf(root, sizeof root, "%s/%s", folder, mount);
    return uocr_cgroup_processors(file, root);
}

static void version_2_groups_limit_by_quota_over_period(void) {
    put("two/whole/cpu.max", "200000 100000\n");
    put("two/part/cpu.max", "250000 100000\n");
    put("two/half/cpu.max", "50000 100000\n");
    put("two/sliver/cpu.max", "1000 100000\n");
    put("two/free/cpu.max", "max 100000\n");
    put("two/odd/cpu.max", "garbage\n");
    CHECK_EQUAL(quota("0::/whole\n", "two"), 2);
    CHECK_EQUAL(quota("0::/part\n", "two"), 3); /* two and a half: three threads can use it */
    CHECK_EQUAL(quota("0::/half\n", "two"), 1); /* half a processor: one thread */
    CHECK_EQUAL(quota("0::/sliver\n", "two"), 1);
    CHECK_EQUAL(quota("0::/free\n", "two"), 0);
    CHECK_EQUAL(quota("0::/odd\n", "two"), 0);
}

static void the_smallest_quota_of_a_group_and_its_parents_counts(void) {
    put("nested/cpu.max", "max 100000\n");
    put("nested/a/cpu.max", "300000 100000\n");
    put("nested/a/b/cpu.max", "800000 100000\n");
    CHECK_EQUAL(quota("0::/a/b\n", "nested"), 3);
    CHECK_EQUAL(quota("0::/a/not-here\n", "nested"), 3); /* as seen from inside a container */
    CHECK_EQUAL(quota("0::/\n", "nested"), 0);
    put("top/cpu.max", "100000 100000\n");
    CHECK_EQUAL(quota("0::/any/thing\n", "top"), 1);
}

static void version_1_groups_limit_the_cpu_controller_only(void) {
    put("one/cpu/job/cpu.cfs_quota_us", "150000\n");
    put("one/cpu/job/cpu.cfs_period_us", "50000\n");
    put("one/cpu/free/cpu.cfs_quota_us", "-1\n");
    put("one/cpu/free/cpu.cfs_period_us", "100000\n");
    CHECK_EQUAL(quota("5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n", "one"), 3);
    CHECK_EQUAL(quota("4:cpuacct,cpu:/job\n", "one"), 3);
    CHECK_EQUAL(quota("4:cpu:/free\n", "one"), 0);
    CHECK_EQUAL(quota("3:cpuset:/job\n2:cpuacct:/job\n", "one"), 0);
}

static uint64_t memory(const char *membership, const char *mount) {
    char file[512], root[512];
    put("membership", membership);
    snprintf(file, sizeof file, "%s/membership", folder);
    snprintf(root, sizeof root, "%s/%s", folder, mount);
    return uocr_cgroup_memory(file, root);
}

static void memory_is_limited_by_the_smallest_group_in_both_versions(void) {
    put("mem/memory.max", "max\n");
    put("mem/box/memory.max", "4294967296\n");
    put("mem/box/job/memory.max", "6442450944\n");
    put("mem/odd/memory.max", "garbage\n");
    CHECK_EQUAL(memory("0::/box/job\n", "mem"), UINT64_C(4294967296));
    CHECK_EQUAL(memory("0::/box/not-here\n", "mem"), UINT64_C(4294967296));
    CHECK_EQUAL(memory("0::/\n", "mem"), 0);
    CHECK_EQUAL(memory("0::/odd\n", "mem"), 0);
    put("old/memory/job/memory.limit_in_bytes", "2147483648\n");
    put("old/memory/free/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK_EQUAL(memory("4:cpu,cpuacct:/x\n7:memory:/job\n0::/\n", "old"), UINT64_C(2147483648));
    CHECK_EQUAL(memory("7:memory:/free\n", "old"), 0);
    CHECK_EQUAL(uocr_cgroup_memory("/nonexistent/membership", folder), 0);
}

static void usable_memory_is_at_most_the_machine_s(void) {
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    CHECK(uocr_usable_memory() > 0);
    CHECK(uocr_usable_memory() <= all);
}

static void what_cannot_be_read_is_no_limit(void) {
    CHECK_EQUAL(quota("", "two"), 0);
    CHECK_EQUAL(quota("no colons here\n", "two"), 0);
    CHECK_EQUAL(quota("0::/whole\n", "not-mounted"), 0);
    CHECK_EQUAL(uocr_cgroup_processors("/nonexistent/membership", folder), 0);
}

static void affinity_counts(void) {
    CHECK(uocr_processors() >= 1);
#if defined(__linux__)
    cpu_set_t before, one;
    if (!CHECK(sched_getaffinity(0, sizeof before, &before) == 0)) return;
    CHECK(uocr_processors() <= (uint32_t)CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
    CHECK_EQUAL(uocr_processors(), 1);
    sched_setaffinity(0, sizeof before, &before);
#endif
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    version_2_groups_limit_by_quota_over_period();
    the_smallest_quota_of_a_group_and_its_parents_counts();
    version_1_groups_limit_the_cpu_controller_only();
    what_cannot_be_read_is_no_limit();
    affinity_counts();
    memory_is_limited_by_the_smallest_group_in_both_versions();
    usable_memory_is_at_most_the_machine_s();

    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
    return check_result();
}
