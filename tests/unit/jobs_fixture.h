/* Jobs of a tree of the whole machine, for the tests of daemon/jobs: started, looked at and ended with it. */
#ifndef METRON_TESTS_JOBS_FIXTURE_H
#define METRON_TESTS_JOBS_FIXTURE_H

#include "base/error.h"
#include "daemon/jobs/jobs.h"
#include "machine_fixture.h"

static struct jobs *jobs;
static struct snapshot_pool *pool;
static struct snapshot *snapshot; /* the latest */
static struct metron_error why;
static bool refused;               /* the store does not take what it is told of */
static double found_after_seconds; /* the next process that is found keeps the look waiting so long, once */

static pid_t kill_when_claimed; /* this one ends as soon as it was found; 0: none, or done */

static inline void on_found(void *context, struct process *process)
{
    const double wait_seconds = found_after_seconds;

    (void)context;
    found_after_seconds = 0; /* others of this machine may fork without end */
    if (wait_seconds > 0)
        sleep_seconds(wait_seconds);
    if (jobs)
        jobs_claim(jobs, process);
    if (kill_when_claimed && process->subject.id == kill_when_claimed) {
        assert_int_equal(kill(kill_when_claimed, SIGKILL), 0);
        wait_for(kill_when_claimed);
        kill_when_claimed = 0;
    }
}

static inline void begin_at(void **state, const char *proc_root)
{
    if (method_of(state) == TREE_BPF && has_children())
        programs_load();
    struct tree_options options = tree_options_for(method_of(state));
    options.proc_root = proc_root;
    options.on_found = on_found;
    watch_machine_with(state, options);
    jobs = jobs_new(watch.tree);
    pool = snapshot_pool_new();
    assert_non_null(jobs);
    assert_non_null(pool);
}

static inline void begin(void **state)
{
    begin_at(state, "/proc");
}

static inline int jobs_teardown(void **state)
{
    snapshot_release(snapshot);
    snapshot_pool_free(pool);
    jobs_free(jobs);
    jobs = NULL;
    snapshot = NULL;
    pool = NULL;
    found_after_seconds = 0;
    refused = false;
    return watch_teardown(state);
}

/* What collect/proc.c does at every tick, as far as memory goes. */
static inline void read_memory(void)
{
    for (size_t i = 0; i < tree_count(watch.tree); i++) {
        struct process *process = tree_process(watch.tree, i);
        process->files.has_rss = process->group && process->stat.state != 'Z';
        process->files.rss_bytes = process->stat.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
}

static inline void tick(void)
{
    snapshot_release(snapshot);
    snapshot = snapshot_new(pool);
    assert_non_null(snapshot);
    tree_refresh(watch.tree);
    jobs_end_pass(jobs);
    read_memory();
    assert_int_equal(jobs_observe(jobs, snapshot), 0);
    if (refused)
        jobs_tell_again(jobs, snapshot);
    else
        jobs_told(jobs);
}

static inline int start_job(const char *name, pid_t pid)
{
    const struct job_start start_options = {.job_id = name, .pid = pid, .owner = getuid()};

    why = (struct metron_error){0};
    return jobs_start(jobs, &start_options, &why);
}

static inline int sheet(const char *name, int64_t number, enum sheet_event event, pid_t pid)
{
    why = (struct metron_error){0};
    return jobs_sheet(jobs, name, number, event, &(struct sheet_start){.pid = pid}, NULL, &why);
}

static inline int finish(const char *name)
{
    why = (struct metron_error){0};
    return jobs_finish(jobs, name, JOB_COMPLETED, NULL, &why);
}

static inline const struct job *changed(const char *name)
{
    for (size_t i = 0; i < snapshot->changed_job_count; i++)
        if (strcmp(snapshot->changed_jobs[i].id, name) == 0)
            return &snapshot->changed_jobs[i];
    return NULL;
}

static inline const struct job *found(const char *name)
{
    const struct job *job = jobs_find(jobs, name);

    assert_non_null(job);
    return job;
}

static inline const struct process *process_of(pid_t pid)
{
    const struct process *process = tree_find(watch.tree, pid);

    assert_non_null(process);
    return process;
}

#define ONE_JOB(NAME, WAY)                                                                                   \
    {                                                                                                        \
#NAME "_" #WAY, NAME, watch_setup, jobs_teardown, &(WAY)                                             \
    }
#define JOB_WAYS(NAME) ONE_JOB(NAME, by_bpf), ONE_JOB(NAME, by_connector), ONE_JOB(NAME, by_scan)

#endif
