/*
 * Jobs that go on under another daemon: what their processes used while none watched.
 *
 * With its usage the store has the members of each job and what they used until then (struct job_member).
 * After the first pass of the next daemon the same processes are found again by pid and start time, also
 * those that have another parent by now, and the difference is added. All that a member of now has used
 * counts if it was born meanwhile.
 *
 * A member that has exited was counted as far as the store knew it. If a living member waited for it, that
 * one's counters have all of it, and what was counted already is taken off again. They have it in kernel
 * ticks, each of user and system time rounded down, while its own clock was read to the nanosecond: what was
 * counted may show only later. So much is taken off of each member that has waited for children. CPU is a
 * lower bound then, as it is where a member exited at all, or was not known to the store.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "daemon/jobs/inner.h"

/* The store knows no members: members of now joined at a time that nobody knows. */
#define NEVER_NOTED (UINT64_C(1) << 62)

/* ---- for the daemon that is started next ---- */

static uint64_t ticks_since_boot(void)
{
    uint64_t boot_ns = clock_monotonic_ns() + (uint64_t)clock_suspended_ns();

    return boot_ns / (NS_PER_SECOND / (uint64_t)clock_ticks_per_second());
}

static double child_cpu_seconds(const struct pid_stat *stat)
{
    return (double)(stat->child_user_ticks + stat->child_system_ticks) / (double)clock_ticks_per_second();
}

static const struct group *top_group(const struct process *process)
{
    const struct group *group = process->group;

    while (group && group->above)
        group = group->above;
    return group;
}

/* False: out of memory. What is missing then is a lower bound after a restart, and nothing worse. */
static bool add_member(struct entry *entry, const struct process *process)
{
    if (ARRAY_RESERVE(entry->members, entry->member_capacity, entry->job.member_count + 1) < 0)
        return false;
    entry->job.members = entry->members;
    struct ledger_sum used = process->baseline;
    ledger_add(&used, process->counted);
    entry->members[entry->job.member_count++] =
        (struct job_member){.pid = process->subject.id,
                            .start_ticks = process->start_ticks,
                            .cpu_seconds = used.cpu_seconds,
                            .child_cpu_seconds = child_cpu_seconds(&process->stat),
                            .read_bytes = used.counts[LEDGER_READ_BYTES],
                            .write_bytes = used.counts[LEDGER_WRITE_BYTES],
                            .has_sheet = process->group->has_sheet,
                            .sheet_num = process->group->sheet_num};
    return true;
}

void jobs_note_members(struct jobs *jobs)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (entry->finished)
            continue;
        entry->job.member_count = 0;
        entry->job.members_ticks = ticks_since_boot();
        entry->noted_ns = clock_monotonic_ns();
    }
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        const struct process *process = tree_process(jobs->tree, i);
        const struct group *group = top_group(process);
        struct part *part = group && !group->closed ? group->owner : NULL;
        if (part && process->passes > 0 && !process->ended)
            (void)add_member((struct entry *)((char *)part - offsetof(struct entry, part)), process);
    }
}

void entry_note_joined(struct jobs *jobs, struct entry *entry)
{
    if (entry->job.members_ticks == 0)
        entry->job.members_ticks = ticks_since_boot();
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        const struct process *process = tree_process(jobs->tree, i);
        if (top_group(process) == entry->part.group && process->passes > 0 && !process->ended &&
            clock_elapsed_ns(entry->noted_ns, process->joined_ns) > 0)
            (void)add_member(entry, process);
    }
    entry->noted_ns = clock_monotonic_ns();
}

void entry_forget_members(struct entry *entry)
{
    free(entry->members);
    entry->members = NULL;
    entry->job.members = NULL;
    entry->job.member_count = entry->member_capacity = 0;
    entry->job.members_ticks = 0;
}

/* ---- after a restart ---- */

/* Of one process the oldest first: it may have joined a sheet after the job's usage was taken. */
static int compare_members(const void *left, const void *right)
{
    const struct job_member *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start_ticks != b->start_ticks)
        return a->start_ticks < b->start_ticks ? -1 : 1;
    return (a->cpu_seconds > b->cpu_seconds) - (a->cpu_seconds < b->cpu_seconds);
}

int entry_restore_members(struct entry *entry, const struct job *job)
{
    entry->job.members_ticks = job->members_ticks ? job->members_ticks : NEVER_NOTED;
    if (job->member_count == 0)
        return 0;
    entry->members = malloc(job->member_count * sizeof(*entry->members));
    if (!entry->members)
        return -ENOMEM;
    memcpy(entry->members, job->members, job->member_count * sizeof(*entry->members));
    qsort(entry->members, job->member_count, sizeof(*entry->members), compare_members);
    entry->job.members = entry->members;
    entry->job.member_count = entry->member_capacity = job->member_count;
    return 0;
}

static bool is_same(const struct job_member *member, const struct process *process)
{
    return process && member->pid == process->subject.id && member->start_ticks == process->start_ticks;
}

/* Whether the member counts for this part, and is the first of its process that does. */
static bool is_of_part(const struct entry *entry, const struct group *group, size_t place)
{
    const struct job_member *member = &entry->members[place];
    bool mine = !group->has_sheet || (member->has_sheet && member->sheet_num == group->sheet_num);

    for (size_t i = place; mine && i > 0; i--) {
        const struct job_member *before = &entry->members[i - 1];
        if (before->pid != member->pid || before->start_ticks != member->start_ticks)
            break;
        mine = group->has_sheet && !(before->has_sheet && before->sheet_num == group->sheet_num);
    }
    return mine;
}

/* What the store has of a process of this part; NULL: nothing. */
static const struct job_member *find_member(const struct entry *entry, const struct group *group,
                                            const struct process *process)
{
    size_t low = 0, high = entry->job.member_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry->members[middle].pid < process->subject.id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < entry->job.member_count && entry->members[low].pid == process->subject.id; low++)
        if (is_same(&entry->members[low], process) && is_of_part(entry, group, low))
            return &entry->members[low];
    return NULL;
}

/* Earlier members that are not in the job: their parents have exited. */
static void take_in_orphans(struct jobs *jobs, struct entry *entry)
{
    for (size_t i = 0; i < entry->job.member_count; i++) {
        const struct job_member *member = &entry->members[i];
        const struct process *process = tree_find(jobs->tree, member->pid);
        struct group *group = entry->part.group;
        size_t place;

        if (!is_same(member, process) || process->ended || group_is_within(process->group, group))
            continue;
        if (member->has_sheet && sheet_find(jobs, entry, member->sheet_num, &place) == 0 &&
            entry->sheets[place].group)
            group = entry->sheets[place].group;
        (void)group_adopt(jobs->tree, group, member->pid, MEMBER_BY_DESCENT);
    }
}

/* Between the last word of the daemon before and the moment when its members joined under this one. */
struct meanwhile {
    struct ledger_sum used;    /* by members of now */
    struct ledger_sum counted; /* what the store has of members that have exited */
    double inherited_seconds;  /* what members of now have inherited, */
    double hidden_seconds;     /* and what of it may show only later */
    bool is_low;
};

static struct ledger_sum sum_of(const struct job_member *member)
{
    return (struct ledger_sum){
        .cpu_seconds = member->cpu_seconds,
        .counts = {[LEDGER_READ_BYTES] = member->read_bytes, [LEDGER_WRITE_BYTES] = member->write_bytes}};
}

static void add_process(struct meanwhile *out, const struct entry *entry, const struct process *process,
                        const struct job_member *member)
{
    struct ledger_sum joined_with = process->baseline;

    ledger_add(&joined_with, process->group_baseline);
    if (member) {
        double inherited = child_cpu_seconds(&process->stat) - member->child_cpu_seconds;
        out->inherited_seconds += inherited > 0 ? inherited : 0;
        if (process->stat.child_minor_faults > 0) /* there is no child without one */
            out->hidden_seconds += 2.0 / (double)clock_ticks_per_second();
        joined_with = ledger_minus(joined_with, sum_of(member));
    } else if (process->start_ticks < entry->job.members_ticks) {
        out->is_low = true; /* it joined later, and what it used before is unknown */
        return;
    }
    ledger_add(&out->used, joined_with);
}

static struct meanwhile look_back(const struct jobs *jobs, const struct entry *entry,
                                  const struct group *group)
{
    struct meanwhile found = {0};
    struct ledger_sum living = {0};

    for (size_t i = 0; i < entry->job.member_count; i++)
        if (is_of_part(entry, group, i))
            ledger_add(&found.counted, sum_of(&entry->members[i]));
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        const struct process *process = tree_process(jobs->tree, i);
        if (process->ended || process->passes == 0 || !group_is_within(process->group, group))
            continue;
        const struct job_member *member = find_member(entry, group, process);
        add_process(&found, entry, process, member);
        if (member)
            ledger_add(&living, sum_of(member));
    }
    for (size_t i = 0; i < entry->job.member_count && !found.is_low; i++) {
        const struct process *process = tree_find(jobs->tree, entry->members[i].pid);
        found.is_low = is_of_part(entry, group, i) &&
                       !(is_same(&entry->members[i], process) && group_is_within(process->group, group));
    }
    found.counted = ledger_minus(found.counted, living);
    found.is_low = found.is_low || found.hidden_seconds > 0;
    return found;
}

static double without(uint64_t bytes, uint64_t counted)
{
    return bytes > counted ? (double)(bytes - counted) : 0;
}

/* `counted`: of all members of the job that have exited. One of a sheet's may have inherited from another's.
 * What is reported never falls (part_take), though less than nothing may be added here. */
static void part_add(struct part *part, const struct meanwhile *found, const struct ledger_sum *counted)
{
    struct job_usage *before = &part->before;
    double again = found->inherited_seconds + found->hidden_seconds;

    if (again > counted->cpu_seconds)
        again = counted->cpu_seconds;
    before->numbers[USAGE_CPU] += found->used.cpu_seconds - again - found->hidden_seconds;
    before->numbers[USAGE_READ] +=
        without(found->used.counts[LEDGER_READ_BYTES], counted->counts[LEDGER_READ_BYTES]);
    before->numbers[USAGE_WRITTEN] +=
        without(found->used.counts[LEDGER_WRITE_BYTES], counted->counts[LEDGER_WRITE_BYTES]);
    usage_raise(before, USAGE_CPU_IS_LOW, found->is_low);
}

/* After the first pass under another daemon: who goes on was counted before. */
static void forget_joined(struct part *part)
{
    double *unique = &part->before.numbers[USAGE_UNIQUE_PROCESSES];

    *unique -= fmin(*unique, (double)part->group->joined);
}

/* Its usage is as of now; so are its members. */
static void take_again(struct jobs *jobs, struct entry *entry)
{
    part_take(jobs, &entry->part, &entry->job.usage);
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        part_take(jobs, &entry->sheets[i], &entry->job.sheets[i].usage);
    entry_forget_members(entry);
    entry->noted_ns = 0;
    entry_note_joined(jobs, entry);
}

void entry_resume(struct jobs *jobs, struct entry *entry)
{
    if (!entry->restored)
        return;
    entry->restored = false;
    take_in_orphans(jobs, entry);
    const struct meanwhile of_job = look_back(jobs, entry, entry->part.group);
    part_add(&entry->part, &of_job, &of_job.counted);
    forget_joined(&entry->part);
    for (size_t i = 0; i < entry->job.sheet_count; i++) {
        struct part *part = &entry->sheets[i];
        if (!part->group)
            continue;
        const struct meanwhile of_sheet = look_back(jobs, entry, part->group);
        part_add(part, &of_sheet, &of_job.counted);
        forget_joined(part);
    }
    take_again(jobs, entry);
}
