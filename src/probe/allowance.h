/*
 * What a target may use: CPUs by affinity and by the quotas of every group that can be seen above it, memory
 * by the machine's and by those groups' limits. Percentages are taken of this, not of the host.
 */
#ifndef METRON_PROBE_ALLOWANCE_H
#define METRON_PROBE_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/cgroup/place.h"
#include "probe/kernel.h"

#define ALLOWANCE_BY_SIZE 256

struct allowance {
    double cpus;                       /* min(affinity, quota / period): 1.5 is possible */
    char cpus_by[ALLOWANCE_BY_SIZE];   /* what sets it: "affinity", "quota of /slurm/job_1" */
    uint64_t memory_bytes;             /* min(RAM, limits); 0: unknown */
    char memory_by[ALLOWANCE_BY_SIZE]; /* "memory of the machine", "limit of /slurm/job_1" */
    uint64_t memory_limit_bytes;       /* the lowest limit of a group; CGROUP_NO_LIMIT (UINT64_MAX): none */
    bool ancestors_hidden;             /* groups above could not be seen: there may be lower limits */
};

/* Reads the limits of the place and of all its visible ancestors (v1: hierarchical_memory_limit of
 * memory.stat as well, which knows of hidden ones too). A limit that cannot be read is left out. */
void allowance_find(const struct cgroup_place *place, const struct kernel_facts *facts,
                    struct allowance *out);

#endif
