/*
 * What a control group counts: the files of a target's group, kept open, read in one pass.
 *
 * Which files there are depends on the version of each hierarchy and on the kernel; a fact that no file tells
 * is absent. A peak that may be older than the run (an inherited group's) is a fact only once it has grown.
 */
#ifndef METRON_PROBE_CGROUP_READER_H
#define METRON_PROBE_CGROUP_READER_H

#include <stdint.h>

#include "probe/cgroup/target.h"

enum cgroup_fact {
    CGROUP_MEM_PEAK,          /* bytes charged, page cache included; over the run */
    CGROUP_MEM_INTERVAL_PEAK, /* the same since the reading before */
    CGROUP_MEM_CURRENT,
    CGROUP_MEM_ANON,
    CGROUP_MEM_SHMEM,
    CGROUP_MEM_FILE, /* page cache, shmem included */
    CGROUP_CPU_SECONDS,
    CGROUP_CPU_USER_SECONDS,
    CGROUP_CPU_SYSTEM_SECONDS,
    CGROUP_THROTTLED_SECONDS, /* of the nearest group with a quota, else of the one metron was started in; as
                               * are the next two */
    CGROUP_PERIODS,           /* of the quota, in which the group had something to run */
    CGROUP_THROTTLED_PERIODS, /* of those, in which the quota was used up */
    CGROUP_OOM_KILLS,
    CGROUP_OOM_EVENTS,
    CGROUP_READ_BYTES,
    CGROUP_WRITE_BYTES,
    CGROUP_PIDS_PEAK,
    CGROUP_PSI_CPU_SOME, /* seconds stalled, as are the next five */
    CGROUP_PSI_CPU_FULL,
    CGROUP_PSI_MEMORY_SOME,
    CGROUP_PSI_MEMORY_FULL,
    CGROUP_PSI_IO_SOME,
    CGROUP_PSI_IO_FULL,
    CGROUP_FACT_COUNT
};

#define CGROUP_FACT(FACT) (UINT32_C(1) << (FACT))

struct cgroup_facts {
    uint32_t present; /* CGROUP_FACT bits */
    double values[CGROUP_FACT_COUNT];
};

struct cgroup_reader;

/* Why each fact cannot be had from this target's group; NULL where it can. Looks, and opens nothing. */
void cgroup_reader_survey(const struct cgroup_target *target, const char *reasons[CGROUP_FACT_COUNT]);
/* Opens what tells the wanted facts; a file that cannot be opened costs its own facts. NULL for want of
 * memory.
 */
struct cgroup_reader *cgroup_reader_new(const struct cgroup_target *target, uint32_t wanted);
void cgroup_reader_read(struct cgroup_reader *reader, struct cgroup_facts *out);
void cgroup_reader_free(struct cgroup_reader *reader);

#endif
