/*
 * The lowest of all that bounds a target, found by walking from its group up to the top that can be seen.
 *
 * A v2 group need not have a controller for its ancestors' limits to bind it: so v2 is walked from the group
 * itself, not from a controller's spot. The real root of a hierarchy is never read: it takes no limits.
 */
#include "probe/allowance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cgroup/files.h"
#include "probe/cgroup/group.h"

/* A group on the way up. */
struct walk {
    const struct cgroup_spot *spot;
    char *folder;         /* owned */
    size_t folder_length; /* of the group's own folder, where the walk began */
};

static bool walk_begin(struct walk *walk, const struct cgroup_spot *spot)
{
    walk->spot = spot;
    walk->folder_length = strlen(spot->folder);
    walk->folder = strdup(spot->folder);
    return walk->folder != NULL;
}

/* Whether the walk stands on a group that may have limits. */
static bool walk_counts(const struct walk *walk)
{
    return walk->spot->ancestors_hidden || strlen(walk->folder) > walk->spot->top_length;
}

/* "quota of /slurm/job_1": the path of the group the walk stands on. One that does not fit loses its first
 * components, which tell least. */
static void walk_name(const struct walk *walk, const char *what, char *out)
{
    size_t what_length = strlen(what), room = ALLOWANCE_BY_SIZE - 1 - what_length;
    size_t length = strlen(walk->spot->path) - (walk->folder_length - strlen(walk->folder));
    const char *path = walk->spot->path;

    if (length == 0) {
        path = "/";
        length = 1;
    }
    if (length <= room) {
        (void)snprintf(out, ALLOWANCE_BY_SIZE, "%s%.*s", what, (int)length, path);
        return;
    }

    size_t kept = room - 3;
    const char *tail = path + length - kept, *slash = memchr(tail, '/', kept);

    if (slash != NULL) {
        kept -= (size_t)(slash - tail);
        tail = slash;
    }
    (void)snprintf(out, ALLOWANCE_BY_SIZE, "%s...%.*s", what, (int)kept, tail);
}

static void quota_apply(const struct walk *walk, int version, struct allowance *out)
{
    double cpus;

    if (!cgroup_group_quota(walk->folder, version, &cpus) || cpus >= out->cpus)
        return;
    out->cpus = cpus;
    walk_name(walk, "quota of ", out->cpus_by);
}

static void limit_apply(const struct walk *walk, uint64_t limit, struct allowance *out, char *by)
{
    if (limit >= out->memory_limit_bytes)
        return;
    out->memory_limit_bytes = limit;
    walk_name(walk, "limit of ", by);
}

/*
 * v1's memory.stat names the limit in force, hidden ancestors counted, and those not that do not bind: before
 * Linux 5.11 a group without memory.use_hierarchy left its children alone. So where that can be read it is
 * the limit, and the groups are asked only whose it is.
 */
static void memory_v1(const struct cgroup_spot *spot, struct allowance *out, char *by)
{
    struct walk walk;
    uint64_t in_force = 0, limit;

    if (spot->is_root || !walk_begin(&walk, spot))
        return;
    bool told = cgroup_group_key(walk.folder, "memory.stat", "hierarchical_memory_limit", &in_force);
    in_force = cgroup_limit_of(in_force);
    if (!told)
        out->ancestors_hidden |= spot->ancestors_hidden;
    if (told && in_force != CGROUP_NO_LIMIT) {
        out->memory_limit_bytes = in_force;
        (void)snprintf(by, ALLOWANCE_BY_SIZE, "limit of a group that cannot be seen");
    }
    if (!told || in_force != CGROUP_NO_LIMIT) {
        do {
            if (!walk_counts(&walk) || !cgroup_group_number(walk.folder, "memory.limit_in_bytes", &limit))
                continue;
            if (!told) {
                limit_apply(&walk, limit, out, by);
            } else if (limit == in_force) {
                walk_name(&walk, "limit of ", by);
                break;
            }
        } while (cgroup_spot_ascend(spot, walk.folder));
    }
    free(walk.folder);
}

static void cpus_v1(const struct cgroup_spot *spot, struct allowance *out)
{
    struct walk walk;

    out->ancestors_hidden |= spot->ancestors_hidden;
    if (spot->is_root || !walk_begin(&walk, spot))
        return;
    do {
        if (walk_counts(&walk))
            quota_apply(&walk, 1, out);
    } while (cgroup_spot_ascend(spot, walk.folder));
    free(walk.folder);
}

/* Both in one walk; either may be v1's on a hybrid host. */
static void unified_limits(const struct cgroup_spot *spot, bool cpu, bool memory, struct allowance *out,
                           char *by)
{
    struct walk walk;
    uint64_t limit;

    out->ancestors_hidden |= spot->ancestors_hidden;
    if (spot->is_root || !walk_begin(&walk, spot))
        return;
    do {
        if (!walk_counts(&walk))
            continue;
        if (cpu)
            quota_apply(&walk, 2, out);
        if (memory && cgroup_group_number(walk.folder, "memory.max", &limit))
            limit_apply(&walk, limit, out, by);
    } while (cgroup_spot_ascend(spot, walk.folder));
    free(walk.folder);
}

void allowance_find(const struct cgroup_place *place, const struct kernel_facts *facts, struct allowance *out)
{
    const struct cgroup_spot *cpu = &place->spots[CGROUP_CPU], *memory = &place->spots[CGROUP_MEMORY];
    const struct cgroup_spot *unified = &place->spots[CGROUP_UNIFIED];
    char limit_by[ALLOWANCE_BY_SIZE] = "";

    *out = (struct allowance){
        .cpus = facts->usable_cpus,
        .cpus_by = "affinity",
        .memory_bytes = facts->memory_bytes,
        .memory_limit_bytes = CGROUP_NO_LIMIT,
    };
    if (facts->memory_bytes > 0)
        (void)snprintf(out->memory_by, sizeof(out->memory_by), "memory of the machine");

    if (cpu->version == 1)
        cpus_v1(cpu, out);
    if (memory->version == 1)
        memory_v1(memory, out, limit_by);
    if (unified->version == 2 && (cpu->version != 1 || memory->version != 1))
        unified_limits(unified, cpu->version != 1, memory->version != 1, out, limit_by);
    /* A group that is known but not to be seen may have limits too. */
    out->ancestors_hidden |=
        (cpu->version == 0 && cpu->ancestors_hidden) || (memory->version == 0 && memory->ancestors_hidden);

    if (out->memory_limit_bytes != CGROUP_NO_LIMIT &&
        (facts->memory_bytes == 0 || out->memory_limit_bytes < facts->memory_bytes)) {
        out->memory_bytes = out->memory_limit_bytes;
        memcpy(out->memory_by, limit_by, sizeof(limit_by));
    }
}
