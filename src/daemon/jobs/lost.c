/*
 * Jobs from before a restart that nothing is left of.
 *
 * A job whose process was seen, and that has no living process any more when the daemon comes back, has ended
 * while nobody watched: how, nobody can tell. It is lost, and ended when the daemon was last heard of, which
 * is the last moment that it is known to have run. A job that was announced without a process stays as it
 * is: whoever announced it may go on with its next sheet.
 *
 * Who announced a lost job may still tell how it ended (jobs_finish).
 */
#include "daemon/jobs/inner.h"

static bool nothing_is_left(const struct entry *entry)
{
    return entry->job.pid && entry->job.pid_start_ticks && entry->part.group &&
           entry->part.group->living == 0;
}

static void lose(struct jobs *jobs, struct entry *entry, struct timespec last_heard)
{
    struct job *job = &entry->job;

    entry_finish(jobs, entry, JOB_LOST);
    /* The clock may have been set back since. */
    struct timespec ended = last_heard.tv_sec < job->started.tv_sec ? job->started : last_heard;
    job->ended = ended;
    for (size_t i = 0; i < job->sheet_count; i++)
        if (job->sheets[i].status == SHEET_LOST)
            job->sheets[i].ended = ended;
}

void jobs_settle_restored(struct jobs *jobs, struct timespec last_heard,
                          void (*lost)(void *context, const struct job *job), void *context)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (!entry->restored || entry->finished)
            continue;
        entry_resume(jobs, entry);
        if (!nothing_is_left(entry))
            continue;
        lose(jobs, entry, last_heard);
        lost(context, &entry->job);
    }
}
