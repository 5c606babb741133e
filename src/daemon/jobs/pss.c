#include "daemon/jobs/pss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/worker.h"
#include "daemon/jobs/inner.h"
#include "daemon/wake_watch.h"
#include "probe/privilege.h"
#include "probe/smaps.h"

#define PERIOD_NS      (10 * NS_PER_SECOND)
#define IDLE_PERIOD_NS (600 * NS_PER_SECOND) /* of a job that has not run */
#define PAUSE_FACTOR   100                   /* one per cent of the time */
/* How much larger than at any pass before a job must be for a pass out of turn. */
#define GROWTH 1.05
/* By how much the members of a job may change during a pass. */
#define TOLERANCE 0.02
#define FEW_BYTES (1024.0 * 1024)
#define END_MS    300 /* for the process that is being read */

struct pss_member {
    pid_t pid, ppid;
    uint64_t group_serial; /* of the part that it is in */
    uint64_t rss_bytes;    /* as of the tick */
    int code;              /* of the reading */
    bool is_shared;        /* it has its parent's memory, until it executes a program */
    struct smaps held;
};

/* One pass over one job. While a thread is at it, the members are the thread's. */
struct jobs_pss {
    uv_loop_t *loop;
    struct jobs *jobs;
    struct worker worker; /* its news: it has read */
    bool is_started;
    struct wake_watch *watch;
    bool busy;  /* the thread reads */
    bool ready; /* it has read, and the tick that follows decides */
    struct pss_member *members;
    size_t count, capacity;
    char job_id[JOB_ID_MAX + 1];
    uint64_t group_serial;
    struct pss_look look; /* as of the beginning of the pass */
    uint64_t cpu_ns;      /* what the reading took */
    uint64_t not_before_ns;
};

/* ---- in the thread ---- */

static void read_members(struct jobs_pss *pss)
{
    uint64_t begin_ns = clock_thread_cpu_ns();

    for (size_t i = 0; i < pss->count && !worker_is_stopping(&pss->worker); i++) {
        struct pss_member *member = &pss->members[i];
        member->is_shared = smaps_is_shared(member->pid, member->ppid);
        member->code = member->is_shared ? 0 : smaps_read(member->pid, &member->held);
    }
    pss->cpu_ns = clock_thread_cpu_ns() - begin_ns;
}

static void run(void *owner)
{
    struct jobs_pss *pss = owner;

    (void)privilege_drop(NULL, NULL); /* capabilities are each thread's own, and smaps needs another one */
    while (worker_wait(&pss->worker, -1) && !worker_is_stopping(&pss->worker)) {
        read_members(pss);
        worker_notify(&pss->worker);
    }
}

/* ---- in the loop ---- */

static struct entry *entry_of_pass(const struct jobs_pss *pss)
{
    struct entry *entry = entry_find(pss->jobs, pss->job_id);
    return entry && !entry->finished && entry->group_serial == pss->group_serial ? entry : NULL;
}

enum verdict { PSS_IS_SUM, PSS_HAS_HOLE, PSS_IS_TORN };

/* Pages that go from one owner to several meanwhile would be counted as both, or as less than they are. One
 * that has ended took with it what it held alone; if that was little, the sum is as good as any. */
static enum verdict judge(const struct jobs_pss *pss, const struct entry *entry)
{
    double seen = 0, moved = 0, vanished = 0;

    for (size_t i = 0; i < pss->count; i++) {
        const struct pss_member *member = &pss->members[i];
        if (member->code == -ESRCH || member->code == -ENOENT) {
            vanished += (double)member->rss_bytes;
        } else if (member->code < 0) {
            return PSS_HAS_HOLE;
        } else if (!member->is_shared) {
            seen += (double)member->held.rss_bytes;
            moved += (double)member->held.rss_bytes - (double)member->rss_bytes;
        }
    }
    double tolerance = TOLERANCE * seen + FEW_BYTES;
    bool torn = entry->part.group->joined != pss->look.joined || vanished > tolerance || moved > tolerance ||
                -moved > tolerance;
    return torn ? PSS_IS_TORN : PSS_IS_SUM;
}

/* `all`: those of every sheet as well. */
static void take_sum(const struct jobs_pss *pss, uint64_t group_serial, bool all, struct job_usage *usage)
{
    uint64_t sum = 0;
    bool any = false;

    for (size_t i = 0; i < pss->count; i++) {
        const struct pss_member *member = &pss->members[i];
        if (!all && member->group_serial != group_serial)
            continue;
        any = any || member->code == 0;
        sum += member->code == 0 && !member->is_shared ? member->held.pss_bytes : 0;
    }
    if (!any)
        return;
    usage_raise(usage, USAGE_PEAK_PSS, (double)sum);
}

static void settle(struct jobs_pss *pss)
{
    struct entry *entry = entry_of_pass(pss);
    enum verdict verdict = entry ? judge(pss, entry) : PSS_IS_TORN;

    pss->ready = false;
    if (verdict == PSS_IS_TORN)
        return; /* it is tried again as soon as there is time for it */
    entry->pss = pss->look;
    entry->pss.rss_bytes = entry->part.rss_bytes;
    if (verdict == PSS_HAS_HOLE)
        return;
    take_sum(pss, 0, true, &entry->job.usage);
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        if (entry->sheets[i].group)
            take_sum(pss, entry->sheets[i].group->serial, false, &entry->job.sheets[i].usage);
}

static void on_read(void *context)
{
    struct jobs_pss *pss = context;

    pss->busy = false;
    pss->ready = true;
    pss->not_before_ns = clock_monotonic_ns() + PAUSE_FACTOR * pss->cpu_ns;
    if (!tree_counts_all(pss->jobs->tree))
        return; /* who was born meanwhile is known after the next pass over the tree */
    tree_read_events(pss->jobs->tree);
    settle(pss);
}

static struct pss_look look_of(const struct part *part)
{
    const struct group *group = part->group;

    return (struct pss_look){.rss_bytes = part->rss_bytes,
                             .cpu_seconds = group->ledger.live.cpu_seconds,
                             .joined = group->joined,
                             .exited = group->exited};
}

bool jobs_pss_is_due(uint64_t since_ns, const struct pss_look *before, const struct pss_look *now)
{
    bool is_idle = now->cpu_seconds == before->cpu_seconds && now->joined == before->joined &&
                   now->exited == before->exited;

    return since_ns >= (is_idle ? IDLE_PERIOD_NS : PERIOD_NS) ||
           (double)now->rss_bytes > GROWTH * (double)before->rss_bytes;
}

/* The job that has waited longest of those whose turn it is; NULL: none. */
static struct entry *next_job(const struct jobs *jobs, uint64_t now_ns)
{
    struct entry *entry, *next, *chosen = NULL;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (entry->finished || !entry->part.has_rss)
            continue;
        const struct pss_look look = look_of(&entry->part);
        bool due = jobs_pss_is_due(now_ns - entry->pss_tried_ns, &entry->pss, &look);
        if (due && (!chosen || entry->pss_tried_ns < chosen->pss_tried_ns))
            chosen = entry;
    }
    return chosen;
}

static bool list_members(struct jobs_pss *pss, const struct entry *entry)
{
    struct tree *tree = pss->jobs->tree;

    if (ARRAY_RESERVE(pss->members, pss->capacity, entry->part.group->living) < 0)
        return false;
    pss->count = 0;
    for (size_t i = 0; i < tree_count(tree) && pss->count < pss->capacity; i++) {
        const struct process *process = tree_process(tree, i);
        if (process->ended || process_is_zombie(process) ||
            !group_is_within(process->group, entry->part.group))
            continue;
        pss->members[pss->count++] = (struct pss_member){.pid = process->subject.id,
                                                         .ppid = process->stat.ppid,
                                                         .group_serial = process->group->serial,
                                                         .rss_bytes = process->files.rss_bytes};
    }
    return pss->count > 0;
}

static void release(void *owner)
{
    struct jobs_pss *pss = owner;

    free(pss->members);
    free(pss);
}

/* With the first job that is read. */
static bool start(struct jobs_pss *pss)
{
    const struct worker_options options = {
        .name = "metron-pss", .run = run, .release = release, .owner = pss};

    pss->is_started = pss->is_started || worker_start(&pss->worker, &options) == 0;
    if (pss->is_started && !pss->watch)
        pss->watch = wake_watch_new(pss->loop, pss->worker.news_fd, on_read, pss);
    return pss->watch;
}

void jobs_pss_tick(struct jobs_pss *pss)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (pss->ready)
        settle(pss);
    if (pss->busy || now_ns < pss->not_before_ns)
        return;
    struct entry *entry = next_job(pss->jobs, now_ns);
    if (!entry)
        return;
    entry->pss_tried_ns = now_ns;
    if (!list_members(pss, entry) || !start(pss))
        return;
    (void)strncpy(pss->job_id, entry->job.id, sizeof(pss->job_id) - 1);
    pss->job_id[sizeof(pss->job_id) - 1] = '\0';
    pss->group_serial = entry->group_serial;
    pss->look = look_of(&entry->part);
    pss->busy = true;
    worker_wake(&pss->worker);
}

/* ---- begin and end ---- */

struct jobs_pss *jobs_pss_new(uv_loop_t *loop, struct jobs *jobs)
{
    struct jobs_pss *pss = calloc(1, sizeof(*pss));

    if (pss)
        *pss = (struct jobs_pss){.loop = loop, .jobs = jobs};
    return pss;
}

void jobs_pss_free(struct jobs_pss *pss)
{
    if (!pss)
        return;
    wake_watch_free(pss->watch);
    if (!pss->is_started) {
        release(pss);
        return;
    }
    worker_stop(&pss->worker);
    (void)worker_await(&pss->worker, END_MS); /* one that is stuck in the kernel is left behind */
    (void)worker_free(&pss->worker);
}
