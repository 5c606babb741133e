/*
 * What jobs use: looked at after every pass, and put into the snapshot.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "daemon/calls/call_books.h"
#include "daemon/jobs/inner.h"

/* A job whose numbers alone have changed is told to the store so often. */
#define TELL_AGAIN_NS (5 * NS_PER_SECOND)

/* What clients report is at most this (job_usage_parse); sums of it have to stay whole numbers as well. */
static double add_up(double now, double before)
{
    return fmin(now + before, 0x1p53);
}

/* Books begin anew with the daemon, and with each try; what was used before is added. */
static void add_before(struct job_usage *now, const struct job_usage *before)
{
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (job_usage_columns[i].traits & USAGE_ADDS_UP && (usage_has(before, i) || before->numbers[i] != 0))
            usage_set(now, i, add_up(now->numbers[i], before->numbers[i]));
    usage_raise(now, USAGE_CPU_IS_LOW, before->numbers[USAGE_CPU_IS_LOW]);
}

void part_take(struct jobs *jobs, const struct part *part, struct job_usage *usage)
{
    struct job_usage now = {0};

    if (!part->group)
        return;
    group_usage(jobs->tree, part->group, &now);
    add_before(&now, &part->before);
    if (part->has_gap)
        usage_set(&now, USAGE_SPAWNED_IS_EXACT, false);
    /* It is known in two ways, and one may take the place of the other. */
    if (usage_has(usage, USAGE_CPU))
        usage_raise(&now, USAGE_CPU, usage->numbers[USAGE_CPU]);
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (usage_has(&now, i))
            usage_set(usage, i, now.numbers[i]);
    if (part->cgroup)
        job_cgroup_take(part->cgroup, usage);
    if (part->group->living)
        usage_raise(usage, USAGE_PEAK_PROCESSES, part->group->living);
    if (part->has_rss)
        usage_raise(usage, USAGE_PEAK_RSS, (double)part->rss_bytes);
    if (part->hwm_bytes)
        usage_raise(usage, USAGE_LARGEST_HWM, (double)part->hwm_bytes);
    if (usage_has(usage, USAGE_BOOT_AT_START))
        usage_set(usage, USAGE_WALL, clock_boot_seconds() - usage->numbers[USAGE_BOOT_AT_START]);
}

/* A runner knows its own try alone: what was used in those before is added, if that is known apart. */
static struct job_usage with_tries(const struct part *part, const struct job_usage *reported)
{
    struct job_usage sum = *reported;

    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (job_usage_columns[i].traits & USAGE_ADDS_UP && usage_has(reported, i) && !part->resumed)
            sum.numbers[i] = add_up(sum.numbers[i], part->before.numbers[i]);
    /* The daemon's own readings of the group go on from one try to the next. */
    usage_forget(&sum, USAGE_CGROUP_CPU);
    /* Only if it is known of every try. */
    if (part->resumed || !usage_has(&part->before, USAGE_EXIT_CPU))
        usage_forget(&sum, USAGE_EXIT_CPU);
    else if (usage_has(&sum, USAGE_EXIT_CPU))
        sum.numbers[USAGE_EXIT_CPU] =
            add_up(sum.numbers[USAGE_EXIT_CPU], part->before.numbers[USAGE_EXIT_CPU]);
    if (part->resumed || part->before.numbers[USAGE_CPU_IS_LOW] != 0)
        usage_set(&sum, USAGE_CPU_IS_LOW, true);
    sum.numbers[USAGE_SPAWNED_IS_EXACT] = 0;
    return sum;
}

void usage_begin(const struct jobs *jobs, struct job_usage *usage)
{
    usage_set(usage, USAGE_BOOT_AT_START, clock_boot_seconds());
    usage_set(usage, USAGE_BOOT, (double)jobs->boot);
}

bool part_is_covered(const struct part *part)
{
    return part->group ? part->group->came <= 1 : part->was_covered;
}

/* How its command ended is what its runner says, whatever was seen. */
static void take_outcome(struct job_usage *usage, const struct job_usage *reported)
{
    if (usage_has(reported, USAGE_EXIT_CODE) || usage_has(reported, USAGE_SIGNAL))
        usage_forget_outcome(usage);
}

/* What is reported after the end comes from a client that may have followed only a part, or another try. It
 * makes no exact value of a lower bound. */
static void forget_exactness(struct job_usage *reported)
{
    usage_forget(reported, USAGE_CGROUP_CPU);
    usage_forget(reported, USAGE_EXIT_CPU);
    usage_forget(reported, USAGE_SPAWNED_IS_EXACT);
    usage_set(reported, USAGE_CPU_IS_LOW, true);
}

void part_merge(const struct part *part, struct job_usage *usage, const struct job_usage *reported,
                bool is_again)
{
    struct job_usage sum = is_again ? with_tries(part, reported) : *reported;
    const struct job_usage seen = *usage;
    bool covered = part_is_covered(part);

    if (!part->group)
        forget_exactness(&sum);
    bool cpu_is_whole = covered && usage_has(&sum, USAGE_CPU) && sum.numbers[USAGE_CPU_IS_LOW] == 0;
    bool counts_are_whole = covered && sum.numbers[USAGE_SPAWNED_IS_EXACT] != 0;

    take_outcome(usage, reported);
    /* Nothing that either saw did not happen: no value falls. */
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (usage_has(&sum, i) && job_usage_columns[i].kind != USAGE_FLAG)
            usage_raise(usage, i, sum.numbers[i]);
    if (sum.numbers[USAGE_LEFT_CGROUP] != 0)
        usage_set(usage, USAGE_LEFT_CGROUP, true);
    if (!covered)
        usage_forget(usage, USAGE_EXIT_CPU);
    if (cpu_is_whole)
        usage_set(usage, USAGE_CPU_IS_LOW, false);
    else if (!usage_has(&seen, USAGE_CPU))
        usage_set(usage, USAGE_CPU_IS_LOW, true);
    if (counts_are_whole)
        usage_set(usage, USAGE_SPAWNED_IS_EXACT, true);
}

static void part_clear(struct part *part)
{
    part->rss_bytes = part->hwm_bytes = 0;
    part->has_rss = false;
    if (part->group)
        part->group->owner = part;
}

/* Every part that may have members. */
static void prepare_parts(struct jobs *jobs)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (entry->finished)
            continue;
        part_clear(&entry->part);
        for (size_t i = 0; i < entry->job.sheet_count; i++) {
            if (!entry->sheets[i].group)
                continue;
            part_clear(&entry->sheets[i]);
            entry->part.changed = entry->part.changed || entry->sheets[i].changed;
        }
    }
}

/* The memory of this instant, summed over the members of each part. */
static void add_memory(struct jobs *jobs)
{
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        const struct process *process = tree_process(jobs->tree, i);
        const struct process_files *files = &process->files;
        if (!process->fresh || process->stat.state == 'Z')
            continue;
        for (struct group *group = process->group; group; group = group->above) {
            struct part *part = group->closed ? NULL : group->owner;
            if (!part)
                continue;
            part->has_rss = part->has_rss || files->has_rss;
            part->rss_bytes += files->has_rss ? files->rss_bytes : 0;
            if (files->has_hwm && files->hwm_bytes > part->hwm_bytes)
                part->hwm_bytes = files->hwm_bytes;
        }
    }
}

static void take_usage(struct jobs *jobs)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (entry->finished)
            continue;
        part_take(jobs, &entry->part, &entry->job.usage);
        entry_take_calls(jobs, entry, false);
        for (size_t i = 0; i < entry->job.sheet_count; i++)
            part_take(jobs, &entry->sheets[i], &entry->job.sheets[i].usage);
    }
}

static void describe_progress(const struct entry *entry, struct snapshot_job *out)
{
    const struct job *job = &entry->job;

    out->status = job_status_names[job->status];
    out->has_total = job->has_total;
    out->total_sheets = job->total_sheets;
    for (size_t i = 0; i < job->sheet_count; i++) {
        if (job->sheets[i].status == SHEET_COMPLETED) {
            out->has_completed = true;
            out->last_completed_sheet = job->sheets[i].number;
        } else if (job->sheets[i].status == SHEET_RUNNING) {
            out->has_current = true;
            out->current_sheet = job->sheets[i].number;
        }
    }
}

static void tell_whole(struct entry *entry)
{
    entry->part.changed = true;
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        entry->sheets[i].changed = true;
}

static size_t count_changed(const struct entry *entry, bool with_running)
{
    size_t count = 0;

    for (size_t i = 0; i < entry->job.sheet_count; i++)
        count += entry->sheets[i].changed || (with_running && entry->sheets[i].group);
    return count;
}

/* The job as it is now, with those of its sheets that have changed. */
static int copy_job(struct jobs *jobs, struct snapshot *snapshot, struct entry *entry, bool with_running)
{
    struct job *copy = &snapshot->changed_jobs[snapshot->changed_job_count];
    struct job_sheet *sheets =
        arena_alloc(&snapshot->arena, (count_changed(entry, with_running) + 1) * sizeof(*sheets));

    if (!sheets)
        return -ENOMEM;
    *copy = entry->job;
    copy->sheets = sheets;
    copy->sheet_count = 0;
    copy->id = arena_strdup(&snapshot->arena, entry->job.id);
    if (entry->job.workspace)
        copy->workspace = arena_strdup(&snapshot->arena, entry->job.workspace);
    if (entry->job.config_hash)
        copy->config_hash = arena_strdup(&snapshot->arena, entry->job.config_hash);
    if (!copy->id || (entry->job.workspace && !copy->workspace) ||
        (entry->job.config_hash && !copy->config_hash) ||
        !calls_copy(&snapshot->arena, &copy->calls, copy->call_count))
        return -ENOMEM;
    if (copy->member_count > 0) {
        struct job_member *members = arena_alloc(&snapshot->arena, copy->member_count * sizeof(*members));
        if (!members)
            return -ENOMEM;
        copy->members = memcpy(members, copy->members, copy->member_count * sizeof(*members));
    }
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        if (entry->sheets[i].changed || (with_running && entry->sheets[i].group)) {
            struct job_sheet *sheet = &sheets[copy->sheet_count++];

            sheet_take_calls(jobs, entry, i);
            *sheet = entry->job.sheets[i];
            if (!calls_copy(&snapshot->arena, &sheet->calls, sheet->call_count))
                return -ENOMEM;
            entry->sheets[i].changed = false;
        }
    snapshot->changed_job_count++;
    return 0;
}

static int copy_if_changed(struct jobs *jobs, struct snapshot *snapshot, struct entry *entry)
{
    if (!entry->part.changed)
        return 0;
    if (copy_job(jobs, snapshot, entry, false) < 0) {
        tell_whole(entry);
        return -ENOMEM;
    }
    entry->part.changed = false;
    return 0;
}

/* Room for all of them, and those whose names are used again, which come before their successors. */
static int begin_copies(struct jobs *jobs, struct snapshot *snapshot)
{
    size_t count = HASH_COUNT(jobs->by_id) + jobs->replaced_count;
    int code = 0;

    snapshot->changed_jobs = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*snapshot->changed_jobs));
    if (!snapshot->changed_jobs)
        return -ENOMEM;
    for (struct entry *entry = jobs->replaced; entry && code == 0; entry = entry->next_replaced)
        code = copy_if_changed(jobs, snapshot, entry);
    return code;
}

int jobs_copy_changed(struct jobs *jobs, struct snapshot *snapshot)
{
    struct entry *entry, *next;
    int code = begin_copies(jobs, snapshot);

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (code == 0)
            code = copy_if_changed(jobs, snapshot, entry);
    }
    return code;
}

/* Into the snapshot: progress of each, and those that the store has to know of. */
static int tell(struct jobs *jobs, struct snapshot *snapshot)
{
    uint64_t now_ns = clock_monotonic_ns();
    size_t count = HASH_COUNT(jobs->by_id);
    struct entry *entry, *next;

    snapshot->jobs = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*snapshot->jobs));
    if (!snapshot->jobs || begin_copies(jobs, snapshot) < 0)
        return -ENOMEM;
    HASH_ITER (hh, jobs->by_id, entry, next) {
        bool due = !entry->finished && now_ns - entry->told_ns >= TELL_AGAIN_NS;
        struct snapshot_job *progress = &snapshot->jobs[snapshot->job_count];
        if (!entry->finished || entry->finished > jobs->finished_told) {
            progress->job_id = arena_strdup(&snapshot->arena, entry->job.id);
            if (!progress->job_id)
                return -ENOMEM;
            describe_progress(entry, progress);
            snapshot->job_count++;
        }
        if (!entry->part.changed && !due)
            continue;
        if (copy_job(jobs, snapshot, entry, due) < 0) {
            tell_whole(entry);
            return -ENOMEM;
        }
        entry->part.changed = false;
        entry->told_ns = now_ns;
    }
    jobs->finished_told = jobs->finished;
    return 0;
}

int jobs_observe(struct jobs *jobs, struct snapshot *snapshot)
{
    prepare_parts(jobs);
    add_memory(jobs);
    take_usage(jobs);
    jobs_note_members(jobs);
    snapshot->running_jobs = jobs->running;
    snapshot->active_sheets = jobs->active_sheets;
    return tell(jobs, snapshot);
}

void jobs_tell_again(struct jobs *jobs, const struct snapshot *snapshot)
{
    for (struct entry *entry = jobs->replaced; entry; entry = entry->next_replaced)
        tell_whole(entry);
    for (size_t i = 0; i < snapshot->changed_job_count; i++) {
        struct entry *entry = entry_find(jobs, snapshot->changed_jobs[i].id);
        if (entry)
            tell_whole(entry);
    }
}

void jobs_tell_running(struct jobs *jobs)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        entry->told_ns = 0;
    }
}

void jobs_tell_all(struct jobs *jobs)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        tell_whole(entry);
    }
}
