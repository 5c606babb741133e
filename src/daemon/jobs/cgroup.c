/*
 * Control groups of jobs. A process is in one group of each hierarchy; which of these were made for the job,
 * nobody tells. The deepest one is taken for the job's, and with it those of the same name (or the same run
 * of metron) in the other hierarchies: `metron run` in a step of a batch system has a leaf of its own for
 * memory, while its CPU is counted in the step's group, where others are.
 */
#include "daemon/jobs/cgroup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "daemon/jobs/inner.h"
#include "probe/allowance.h"
#include "probe/cgroup/files.h"
#include "probe/cgroup/leaf.h"
#include "probe/pid/stat.h"
#include "tree/members.h"

/* Each costs up to four descriptors. */
#define GROUPS_MAX 1024

/* What a group counts, and what it becomes of its part. Counters go on where the group of an earlier try
 * stood. A quota may be that of a group above, which is older: its periods count from now on. */
static const struct {
    enum cgroup_fact fact;
    enum job_usage_value value;
    enum { OF_GROUP, FROM_NOW_ON, PEAK } kind;
} counted[JOB_CGROUP_COUNTED] = {
    {CGROUP_CPU_SECONDS, USAGE_CGROUP_CPU, OF_GROUP},
    {CGROUP_OOM_KILLS, USAGE_OOM_KILLS, OF_GROUP},
    {CGROUP_MEM_PEAK, USAGE_PEAK_CGROUP, PEAK},
    {CGROUP_PERIODS, USAGE_CPU_PERIODS, FROM_NOW_ON},
    {CGROUP_THROTTLED_PERIODS, USAGE_CPU_THROTTLED_PERIODS, FROM_NOW_ON},
};

/* The hierarchies that count or list something; of groups equally deep the first is taken. */
static const enum cgroup_controller looked_at[] = {CGROUP_UNIFIED, CGROUP_MEMORY, CGROUP_CPUACCT,
                                                   CGROUP_PIDS};
#define LOOKED_AT (sizeof(looked_at) / sizeof(looked_at[0]))
static const int counting_cpu[] = {CGROUP_UNIFIED, CGROUP_CPUACCT};

/* process->listed of one that was found in a group below: it is not looked for again. */
#define LISTED_BELOW UINT64_MAX

/* ---- which group it is ---- */

/* Whether the group at `inner` is the one at `outer` or below it, both as /proc has them. */
static bool is_path_within(const char *inner, const char *outer)
{
    size_t length = strcmp(outer, "/") == 0 ? 0 : strlen(outer);

    return strncmp(inner, outer, length) == 0 && (inner[length] == '\0' || inner[length] == '/');
}

/* Why a group cannot be a job's alone; NULL: it may be. */
static const char *why_shared(const struct cgroup_spot *spot, const struct cgroup_spot *daemon)
{
    if (!spot->version)
        return spot->reason;
    if (spot->is_root)
        return "it is in the root group, which holds the whole machine";
    if (daemon->version && is_path_within(daemon->path, spot->path))
        return "the daemon is in its group, or below it";
    return NULL;
}

static unsigned depth(const char *path)
{
    unsigned count = 0;

    for (; *path; path++)
        count += path[0] == '/' && path[1] != '\0';
    return count;
}

static const char *last_name(const char *path)
{
    return strrchr(path, '/') + 1; /* every path begins with a slash */
}

/* Whether the group in this hierarchy is the same as the one that was found to be its own. */
static bool is_own(const struct cgroup_place *place, const struct cgroup_place *daemon, int controller,
                   const struct cgroup_spot *own)
{
    const struct cgroup_spot *spot = &place->spots[controller];

    if (why_shared(spot, &daemon->spots[controller]))
        return false;
    const char *name = last_name(spot->path), *own_name = last_name(own->path);
    return strcmp(name, own_name) == 0 || cgroup_leaf_has_same_maker(name, own_name);
}

/* The deepest group that may be its alone, or that of the same name in the hierarchy that counts CPU; NULL,
 * and why not. */
static const struct cgroup_spot *find_own(const struct cgroup_place *place, const struct cgroup_place *daemon,
                                          const char **why)
{
    const struct cgroup_spot *deepest = NULL, *refused = NULL;

    *why = place->spots[CGROUP_UNIFIED].reason;
    for (size_t i = 0; i < LOOKED_AT; i++) {
        const struct cgroup_spot *spot = &place->spots[looked_at[i]];
        const char *shared = why_shared(spot, &daemon->spots[looked_at[i]]);
        const struct cgroup_spot **best = shared ? &refused : &deepest;
        if (!spot->version || (*best && depth(spot->path) <= depth((*best)->path)))
            continue;
        *best = spot;
        if (shared)
            *why = shared;
    }
    for (size_t i = 0; deepest && i < ARRAY_LENGTH(counting_cpu); i++)
        if (is_own(place, daemon, counting_cpu[i], deepest))
            return &place->spots[counting_cpu[i]];
    return deepest;
}

/* As probe/cgroup/reader.h wants it: an own leaf in every hierarchy where the group is the job's. */
static struct cgroup_reader *open_reader(const struct cgroup_place *place, const struct cgroup_place *daemon,
                                         const struct cgroup_spot *own)
{
    struct cgroup_target target = {.scope = CGROUP_SCOPE_OWN, .place = *place};

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        if (is_own(place, daemon, i, own))
            target.leaves[i].folder = place->spots[i].folder; /* borrowed: this target is never closed */
        else
            target.reasons[i] = "the group is not the job's alone";
    }
    uint32_t wanted = 0;
    for (size_t i = 0; i < JOB_CGROUP_COUNTED; i++)
        wanted |= CGROUP_FACT(counted[i].fact);
    return cgroup_reader_new(&target, wanted);
}

static struct job_cgroup *open_group(const struct cgroup_place *place, const struct cgroup_place *daemon,
                                     struct metron_error *error)
{
    const char *why;
    const struct cgroup_spot *own = find_own(place, daemon, &why);
    struct job_cgroup *cgroup = own ? calloc(1, sizeof(*cgroup)) : NULL;

    if (!cgroup) {
        (void)error_set(error, own ? -ENOMEM : -EBUSY, "%s", own ? "no memory" : why);
        return NULL;
    }
    struct allowance allowance;
    allowance_find(place, &(struct kernel_facts){0}, &allowance);
    cgroup->memory_limit_bytes = allowance.memory_limit_bytes;
    int code = cgroup_members_open(&cgroup->members, own->folder, own->version);
    cgroup->counts_all = true;
    cgroup->folder = strdup(own->folder);
    cgroup->reader = open_reader(place, daemon, own);
    if (code == 0 && cgroup->folder && cgroup->reader)
        return cgroup;
    (void)error_set(error, code ? code : -ENOMEM, "its group cannot be read: %s",
                    strerror(code ? -code : ENOMEM));
    job_cgroup_close(cgroup);
    return NULL;
}

struct job_cgroup *job_cgroup_open(const char *proc_root, const char *root_prefix, pid_t pid,
                                   struct metron_error *error)
{
    struct cgroup_place place = {0}, daemon = {0};
    struct job_cgroup *cgroup = NULL;

    if (cgroup_place_find(proc_root, root_prefix, pid, &place) < 0 ||
        cgroup_place_find(proc_root, root_prefix, 0, &daemon) < 0)
        (void)error_set(error, -ENOMEM, "no memory");
    else
        cgroup = open_group(&place, &daemon, error);
    cgroup_place_fini(&daemon);
    cgroup_place_fini(&place);
    return cgroup;
}

void job_cgroup_close(struct job_cgroup *cgroup)
{
    if (!cgroup)
        return;
    cgroup_members_close(&cgroup->members);
    cgroup_reader_free(cgroup->reader);
    free(cgroup->folder);
    free(cgroup);
}

/* ---- what it counts ---- */

void job_cgroup_go_on(struct job_cgroup *cgroup, const struct job_usage *usage, bool is_first)
{
    struct cgroup_facts facts;

    /* All that the first one ever counted is its own; also where the daemon was away meanwhile. */
    cgroup->counts_all = is_first || usage_has(usage, USAGE_CGROUP_CPU);
    cgroup_reader_read(cgroup->reader, &facts);
    for (size_t i = 0; i < JOB_CGROUP_COUNTED; i++)
        if ((counted[i].kind == FROM_NOW_ON || (counted[i].kind == OF_GROUP && !is_first)) &&
            facts.present & CGROUP_FACT(counted[i].fact))
            cgroup->earlier[i] = usage->numbers[counted[i].value] - facts.values[counted[i].fact];
}

void job_cgroup_take(const struct job_cgroup *cgroup, struct job_usage *usage)
{
    struct cgroup_facts facts;

    if (!cgroup->counts_all)
        return;
    cgroup_reader_read(cgroup->reader, &facts);
    for (size_t i = 0; i < JOB_CGROUP_COUNTED; i++) {
        if (!(facts.present & CGROUP_FACT(counted[i].fact)))
            continue;
        double number = cgroup->earlier[i] + facts.values[counted[i].fact];
        if (counted[i].kind == PEAK)
            usage_raise(usage, counted[i].value, number);
        else
            usage_set(usage, counted[i].value, number);
    }
    if (cgroup->was_left)
        usage_set(usage, USAGE_LEFT_CGROUP, true);
    if (cgroup->memory_limit_bytes != CGROUP_NO_LIMIT)
        usage_set(usage, USAGE_MEMORY_LIMIT, (double)cgroup->memory_limit_bytes);
}

/* ---- whose it is ---- */

/* Somebody else's already; a job and one of its sheets may have the same. */
static const struct job_cgroup *find_other(const struct jobs *jobs, const struct job_cgroup *cgroup,
                                           const struct group *group)
{
    for (const struct job_cgroup *other = jobs->cgroups; other; other = other->next)
        if (strcmp(other->folder, cgroup->folder) == 0 && !group_is_within(group, other->group) &&
            !group_is_within(other->group, group))
            return other;
    return NULL;
}

/* Whether a process that nobody announced may join by the group. Who began the job named a process in it, and
 * need not be the one who made the group: it may hold processes of other users. Root's jobs take all of them.
 */
static bool may_join(struct jobs *jobs, const struct process *process, uid_t owner)
{
    return owner == 0 || jobs_may_join(jobs, process, owner);
}

static uid_t owner_of(const struct jobs *jobs, const struct group *group)
{
    const struct entry *entry = entry_find(jobs, group->job_id);

    return entry ? entry->job.owner : 0;
}

struct foreign {
    struct jobs *jobs;
    const struct group *group;
    uid_t owner;
    bool is_found;
};

static void find_foreign(void *context, pid_t pid)
{
    struct foreign *foreign = context;
    const struct process *process = foreign->is_found ? NULL : tree_find(foreign->jobs->tree, pid);

    if (!process && !foreign->is_found) /* it may be younger than the last pass */
        process = tree_take_in(foreign->jobs->tree, pid);
    if (process && !process->ended && !group_is_within(process->group, foreign->group))
        foreign->is_found = !may_join(foreign->jobs, process, foreign->owner);
}

/* Then what it counts is not the job's alone. */
static bool has_foreign(struct jobs *jobs, const struct job_cgroup *cgroup, const struct group *group)
{
    struct foreign foreign = {jobs, group, owner_of(jobs, group), false};
    struct strbuf listed = STRBUF_INIT; /* not the scratch: one that is taken in may need that */

    (void)cgroup_members_read(&cgroup->members, &listed, find_foreign, &foreign);
    strbuf_fini(&listed);
    return foreign.is_found;
}

static struct job_cgroup *open_checked(struct jobs *jobs, const struct part *part, pid_t pid,
                                       struct metron_error *error)
{
    if (jobs->cgroup_count >= GROUPS_MAX) {
        (void)error_set(error, -ENOSPC, "%d groups are read already", GROUPS_MAX);
        return NULL;
    }
    struct job_cgroup *cgroup = job_cgroup_open("/proc", "", pid, error);
    if (!cgroup)
        return NULL;
    const struct job_cgroup *other = find_other(jobs, cgroup, part->group);
    if (!other && !has_foreign(jobs, cgroup, part->group))
        return cgroup;
    if (other)
        (void)error_set(error, -EBUSY, "the group belongs to job '%s'", other->group->job_id);
    else
        (void)error_set(error, -EBUSY, "processes of other users are in it");
    job_cgroup_close(cgroup);
    return NULL;
}

void part_release_cgroup(struct jobs *jobs, struct part *part)
{
    struct job_cgroup **link = &jobs->cgroups;

    if (!part->cgroup)
        return;
    while (*link != part->cgroup)
        link = &(*link)->next;
    *link = part->cgroup->next;
    jobs->cgroup_count--;
    part->cgroup->group->cgroup = NULL;
    job_cgroup_close(part->cgroup);
    part->cgroup = NULL;
}

/* Another try without a group: what groups counted before is not all of it any more. */
static void forget_counts(struct part *part, struct job_usage *usage)
{
    for (size_t i = 0; i < JOB_CGROUP_COUNTED; i++) {
        usage->present &= ~USAGE_BIT(counted[i].value);
        part->before.present &= ~USAGE_BIT(counted[i].value);
        usage->numbers[counted[i].value] = 0;
    }
    usage->present &= ~USAGE_BIT(USAGE_MEMORY_LIMIT);
    part->before.present &= ~USAGE_BIT(USAGE_MEMORY_LIMIT);
    usage_forget(usage, USAGE_LEFT_CGROUP);
}

enum own_cgroup part_claim_cgroup(struct jobs *jobs, struct part *part, pid_t pid, bool is_first,
                                  struct job_usage *usage)
{
    struct metron_error error;

    if (part->cgroup)
        job_cgroup_take(part->cgroup, usage);
    part_release_cgroup(jobs, part);
    struct job_cgroup *cgroup = open_checked(jobs, part, pid, &error);
    if (!cgroup) {
        log_warning("job '%s': the control group of process %d is not its own: %s", part->group->job_id,
                    (int)pid, error.message);
        forget_counts(part, usage);
        return OWN_CGROUP_REFUSED;
    }
    job_cgroup_go_on(cgroup, usage, is_first);
    if (!cgroup->counts_all)
        forget_counts(part, usage);
    cgroup->group = part->group;
    part->group->cgroup = cgroup;
    cgroup->next = jobs->cgroups;
    jobs->cgroups = cgroup;
    jobs->cgroup_count++;
    part->cgroup = cgroup;
    return OWN_CGROUP_HELD;
}

enum own_cgroup part_do_without_cgroup(struct jobs *jobs, struct part *part, struct job_usage *usage)
{
    part_release_cgroup(jobs, part);
    forget_counts(part, usage);
    return OWN_CGROUP_NOT_TOLD;
}

/* ---- who is in it ---- */

struct joining {
    struct jobs *jobs;
    const struct job_cgroup *cgroup;
    uid_t owner;
};

/* One that no job has; or that is the job's, and now known to be of this sheet. */
static void join_member(void *context, pid_t pid)
{
    const struct joining *joining = context;
    struct group *group = joining->cgroup->group;
    struct process *process = tree_find(joining->jobs->tree, pid);

    if (!process || process->ended || process->passes == 0)
        return;
    process->listed = joining->cgroup->listing;
    if (process->group == group)
        return;
    bool may = process->group ? group_is_within(group, process->group)
                              : may_join(joining->jobs, process, joining->owner);
    if (may)
        group_join(joining->jobs->tree, group, process, MEMBER_BY_CGROUP);
}

static void look_into(struct jobs *jobs, struct job_cgroup *cgroup)
{
    struct joining joining = {jobs, cgroup, owner_of(jobs, cgroup->group)};

    cgroup->listing = ++jobs->listings;
    (void)cgroup_members_read(&cgroup->members, &jobs->scratch, join_member, &joining);
}

/* ---- who has left it ---- */

/* Asks the process itself. One that exits is shown in the root group of v1, wherever it was. */
static bool is_outside(struct jobs *jobs, const struct job_cgroup *cgroup, struct process *process)
{
    struct cgroup_place place;
    struct pid_stat stat;
    bool is_known = false, is_inside = false;

    if (cgroup_place_find("/proc", "", process->subject.id, &place) < 0)
        return false;
    for (size_t i = 0; i < LOOKED_AT; i++) {
        const struct cgroup_spot *spot = &place.spots[looked_at[i]];
        is_known = is_known || spot->version;
        is_inside = is_inside || (spot->version && is_path_within(spot->folder, cgroup->folder));
    }
    cgroup_place_fini(&place);
    if (is_inside)
        process->listed = LISTED_BELOW;
    return is_known && !is_inside && member_read_stat(jobs->tree, process, &stat) == 0 && stat.state != 'Z' &&
           !(stat.flags & PID_EXITING);
}

/* A sheet's group may lie in its job's. */
static void look_for(struct jobs *jobs, struct process *process)
{
    const struct job_cgroup *listed_in = NULL;

    for (struct group *group = process->group; group; group = group->above) {
        struct job_cgroup *cgroup = group->cgroup;
        if (!cgroup || cgroup->was_left || process->listed == LISTED_BELOW)
            continue;
        if (process->listed == cgroup->listing)
            listed_in = cgroup;
        else if (!listed_in || !is_path_within(listed_in->folder, cgroup->folder))
            cgroup->was_left = is_outside(jobs, cgroup, process);
    }
}

void jobs_end_pass(struct jobs *jobs)
{
    jobs_begin_found(jobs);
    for (struct job_cgroup *cgroup = jobs->cgroups; cgroup; cgroup = cgroup->next)
        look_into(jobs, cgroup);
    for (size_t i = 0; jobs->cgroups && i < tree_count(jobs->tree); i++) {
        struct process *process = tree_process(jobs->tree, i);
        if (process->group && !process->ended && process->passes > 0 && !process_is_zombie(process))
            look_for(jobs, process);
    }
}
