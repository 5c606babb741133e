/*
 * /proc/PID/smaps_rollup: what a process holds of the memory of the machine, shared pages divided among those
 * who map them. Bytes in, struct out.
 */
#ifndef METRON_PROBE_SMAPS_H
#define METRON_PROBE_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SMAPS_SIZE 2048 /* a buffer this long holds every rollup: about 25 lines of 28 bytes */

struct smaps {
    uint64_t rss_bytes;  /* Rss: all of it, shared or not; no hugetlbfs pages */
    uint64_t pss_bytes;  /* Pss: each page divided by the number of its mappings; no hugetlbfs pages */
    uint64_t uss_bytes;  /* Private_Clean + Private_Dirty + Private_Hugetlb: what ends with the process */
    uint64_t swap_bytes; /* SwapPss: like Pss, of pages that are in swap */
};

/* 0, or -EBADMSG if it is not a whole rollup. */
int smaps_parse(const char *text, size_t length, struct smaps *out);

/* Of a living process. -ESRCH, -ENOENT: it has ended; -EACCES: it is another user's. From any thread. */
int smaps_read(pid_t pid, struct smaps *out);

/* Whether two living processes have one address space, as a child of vfork() or posix_spawn() has its
 * parent's until it executes: the rollup of each then holds all of it, and a sum of both would count it
 * twice. False where the kernel does not tell (no CONFIG_KCMP, not permitted). */
bool smaps_is_shared(pid_t one, pid_t other);

#endif
