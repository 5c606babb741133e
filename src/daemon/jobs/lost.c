/*
 * Jobs and sheets that ended, and nobody reported how.
 *
 * A job whose process or runner was seen has ended when neither its runner nor any of its processes lives.
 * Its runner, or another that began it, has a while to report how it ended; then it is lost, and ended when
 * the last of them was seen. A sheet likewise, unless another try of it is announced. A job that was
 * announced with neither stays as it is: its runner may go on with its next sheet.
 *
 * If that came to pass while no daemon ran, the job is lost with the first snapshot of the next one, and
 * ended when the daemon was last heard of, which is the last moment that it is known to have run.
 *
 * The end of a lost job or sheet may still be reported (jobs_finish, jobs_sheet).
 */
#include <math.h>

#include "base/clock.h"
#include "daemon/jobs/inner.h"

static bool lives(const struct jobs *jobs, pid_t pid, uint64_t start_ticks)
{
    const struct process *process = start_ticks ? tree_find(jobs->tree, pid) : NULL;

    return process && process->start_ticks == start_ticks && !process->ended && !process_is_zombie(process);
}

static bool is_sheet_abandoned(const struct jobs *jobs, const struct entry *entry, size_t place)
{
    const struct job_sheet *sheet = &entry->job.sheets[place];
    const struct group *group = entry->sheets[place].group;

    return group && sheet->status == SHEET_RUNNING && (sheet->pid_start_ticks || sheet->runner_start_ticks) &&
           group->living == 0 && !lives(jobs, sheet->runner, sheet->runner_start_ticks);
}

/* Also a runner that began only a sheet of it works for the job. */
static bool is_job_abandoned(const struct jobs *jobs, const struct entry *entry)
{
    const struct job *job = &entry->job;
    bool abandoned = (job->pid_start_ticks || job->runner_start_ticks) && entry->part.group->living == 0 &&
                     !lives(jobs, job->runner, job->runner_start_ticks);

    for (size_t i = 0; abandoned && i < job->sheet_count; i++)
        abandoned =
            !entry->sheets[i].group || !lives(jobs, job->sheets[i].runner, job->sheets[i].runner_start_ticks);
    return abandoned;
}

/* `boot`: when it ended, in seconds since boot; 0: when the previous daemon took its last reading, if it took
 * one. Else it is not known how long it ran: the time without a daemon is no part of it. */
static void end_wall(struct job_usage *usage, const struct job_usage *before, double boot)
{
    if (boot == 0 && usage_has(before, USAGE_WALL))
        usage_set(usage, USAGE_WALL, before->numbers[USAGE_WALL]);
    else if (boot == 0)
        usage_forget(usage, USAGE_WALL);
    else if (boot > 0 && usage_has(usage, USAGE_BOOT_AT_START))
        usage_set(usage, USAGE_WALL, fmax(0, boot - usage->numbers[USAGE_BOOT_AT_START]));
}

static void lose_sheet(struct jobs *jobs, struct entry *entry, size_t place, struct timespec ended,
                       double boot)
{
    struct job_sheet *sheet = &entry->job.sheets[place];
    const struct part *part = &entry->sheets[place];
    /* One between two tries has nothing to add to. */
    const struct job_usage before = part->group ? part->before : sheet->usage;

    sheet_end(jobs, entry, place, SHEET_LOST, NULL);
    end_wall(&sheet->usage, &before, boot);
    /* The clock may have been set back since. */
    sheet->ended = ended.tv_sec < sheet->started.tv_sec ? sheet->started : ended;
    entry->part.changed = true;
}

static void lose_job(struct jobs *jobs, struct entry *entry, struct timespec ended, double boot)
{
    const struct job_usage before = entry->part.before;
    struct job *job = &entry->job;

    for (size_t i = 0; i < job->sheet_count; i++)
        if (job->sheets[i].status == SHEET_RUNNING || job->sheets[i].status == SHEET_RETRYING)
            lose_sheet(jobs, entry, i, ended, boot);
    entry_finish(jobs, entry, JOB_LOST, NULL);
    end_wall(&job->usage, &before, boot);
    job->ended = ended.tv_sec < job->started.tv_sec ? job->started : ended;
}

void jobs_settle_restored(struct jobs *jobs, struct timespec last_heard, jobs_lost *lost, void *context)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (!entry->restored || entry->finished)
            continue;
        entry_resume(jobs, entry);
        if (!is_job_abandoned(jobs, entry))
            continue;
        lose_job(jobs, entry, last_heard, 0);
        lost(context, &entry->job);
    }
    jobs_forget_old(jobs);
}

/* Whether it has been so for long enough. */
static bool is_over(struct part *part, bool abandoned, uint64_t now_ns, uint64_t patience_ns)
{
    if (!abandoned) {
        part->abandoned_ns = 0;
    } else if (!part->abandoned_ns) {
        part->abandoned_ns = now_ns;
        part->abandoned = clock_wall();
        part->abandoned_boot = clock_boot_seconds();
    }
    return abandoned && now_ns - part->abandoned_ns >= patience_ns;
}

void jobs_lose_abandoned(struct jobs *jobs, uint64_t now_ns, uint64_t patience_ns, jobs_lost *lost,
                         void *context)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (entry->finished)
            continue;
        for (size_t i = 0; i < entry->job.sheet_count; i++)
            if (is_over(&entry->sheets[i], is_sheet_abandoned(jobs, entry, i), now_ns, patience_ns))
                lose_sheet(jobs, entry, i, entry->sheets[i].abandoned, entry->sheets[i].abandoned_boot);
        if (!is_over(&entry->part, is_job_abandoned(jobs, entry), now_ns, patience_ns))
            continue;
        lose_job(jobs, entry, entry->part.abandoned, entry->part.abandoned_boot);
        lost(context, &entry->job);
    }
    jobs_forget_old(jobs);
}
