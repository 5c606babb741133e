/*
 * The files of cgroups: bytes in, struct out. No file is opened here.
 */
#ifndef METRON_PROBE_CGROUP_FILES_H
#define METRON_PROBE_CGROUP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_NO_LIMIT UINT64_MAX

/* One line of /proc/PID/cgroup, "4:memory,hugetlb:/slurm/job_1" or "0::/user.slice"; `controllers` and `path`
 * point into the text and are not NUL-terminated. */
struct cgroup_membership {
    unsigned hierarchy; /* 0: v2 */
    const char *controllers;
    size_t controllers_length;
    const char *path;
    size_t path_length;
};
/* Calls `visit` for each line. Returns the number visited, or -EBADMSG. */
int cgroup_membership_parse(const char *text, size_t length,
                            void (*visit)(void *context, const struct cgroup_membership *line),
                            void *context);

/* One cgroup line of mountinfo; the texts are unescaped copies, NUL-terminated, valid during the visit. */
struct cgroup_mount {
    int version;       /* 1 or 2 */
    const char *root;  /* which part of the hierarchy is mounted: "/" is all of it */
    const char *point; /* where */
    const char
        *options; /* of the file system: "rw,cpu,cpuacct"; escapes are kept, so that a comma separates */
};
/* Other file systems are passed over. Returns the number visited, or -EBADMSG / -ENOMEM. */
int cgroup_mounts_parse(const char *text, size_t length,
                        void (*visit)(void *context, const struct cgroup_mount *mount), void *context);
/* Whether `name` is one of a comma-separated list. */
bool cgroup_list_has(const char *list, size_t length, const char *name);

/* "key number\n" lines (memory.stat, cpu.stat, memory.events, memory.oom_control): values[i] is what stands
 * behind keys[i], and left as it was where the key is not there. Returns a bit set of those found (bit i), or
 * -EBADMSG. At most 31 keys. */
int cgroup_keyed_parse(const char *text, size_t length, const char *const *keys, size_t count,
                       uint64_t *values);
/* A single number, or "max": CGROUP_NO_LIMIT. v1 writes "no limit" as a number near 2^63: also
 * CGROUP_NO_LIMIT.
 */
int cgroup_number_parse(const char *text, size_t length, uint64_t *value);
/* The same meaning for a limit that was read by key (hierarchical_memory_limit). */
uint64_t cgroup_limit_of(uint64_t number);
/* v1's cpu.cfs_quota_us: "-1" is no limit. */
int cgroup_quota_parse(const char *text, size_t length, uint64_t *quota);
/* v2's cpu.max, "max 100000" or "150000 100000": quota (CGROUP_NO_LIMIT) and period in microseconds. */
int cgroup_cpu_max_parse(const char *text, size_t length, uint64_t *quota, uint64_t *period);
/* Sums over devices. v2's io.stat "8:0 rbytes=1 wbytes=2 …", v1's blkio.throttle.io_service_bytes_recursive
 * "8:0 Read 1\n8:0 Write 2\n…Total 3". An empty text is 0 bytes: no I/O yet. Rows of devices that the
 * kernel cannot name, "(unknown)" (the hidden paths of NVMe multipath), are left out. */
int cgroup_io_stat_parse(const char *text, size_t length, uint64_t *read_bytes, uint64_t *write_bytes);
int cgroup_blkio_parse(const char *text, size_t length, uint64_t *read_bytes, uint64_t *write_bytes);

#endif
