#include "daemon/calls/sheet_straces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "base/log.h"
#include "base/worker.h"
#include "daemon/wake_watch.h"
#include "probe/strace/program.h"
#include "probe/strace/target.h"

#define ATTACH_LIMIT_MS 5000
#define TRACER_STEP_NS  20000000
#define TRACER_STEPS    100
#define LOOK_MS         500 /* how soon it is seen that all of a sheet's processes have ended */
/* strace reads its processes from one argument, and each of them costs a stop: beyond these a sheet is too
 * large to be slowed down like that. */
#define PROCESSES_MAX 1024
/* At once; each is a process, a thread and some descriptors. */
#define STRACES_MAX 64

struct sheet_strace {
    struct sheet_straces *straces;
    struct call_book_key key;
    char *job_id;
    bool is_over;  /* the sheet has ended, or the daemon is about to */
    bool has_more; /* the reading under way has found some */
    pid_t *pids;
    size_t count;
    struct worker worker;
    struct strace_calls *calls;
    struct process_calls *processes; /* what was read of them */
    struct wake_watch *watch;        /* of its end; until then these are the thread's own: */
    struct strace_run *run;
    bool was_attached;
    struct metron_error error;
    struct sheet_strace *prev, *next;
};

struct sheet_straces {
    struct sheet_straces_options options;
    struct sheet_strace *first;
    size_t count;
    bool told_why, stopped;
};

static void release(void *owner)
{
    struct sheet_strace *strace = owner;

    process_calls_free(strace->processes);
    strace_calls_free(strace->calls);
    free(strace->pids);
    free(strace->job_id);
    free(strace);
}

/* Every sheet would have the same to say. */
static void tell_once(struct sheet_straces *straces, const struct metron_error *error)
{
    if (straces->told_why)
        log_debug("a sheet's system calls are not counted: %s", error->message);
    else
        log_warning("system calls of sheets are not counted by strace: %s", error->message);
    straces->told_why = true;
}

/* ---- in a thread of its own ---- */

/* The strace of the sheet before may be about to leave the same process. */
static int await_tracer(pid_t pid, struct metron_error *error)
{
    const struct timespec pause = {.tv_nsec = TRACER_STEP_NS};
    int code = strace_target_check("/proc", pid, error);

    for (int step = 0; code == -EBUSY && step < TRACER_STEPS; step++) {
        (void)nanosleep(&pause, NULL);
        code = strace_target_check("/proc", pid, error);
    }
    return code;
}

static int attach(struct sheet_strace *strace)
{
    struct metron_error *error = &strace->error;
    int code = await_tracer(strace->pids[0], error);

    if (code == 0)
        code = strace_start(strace->calls, &strace->run, error);
    if (code == 0)
        code = strace_release(strace->run, strace->pids, strace->count, error);
    if (code == 0)
        code = strace_wait_attached(strace->run, ATTACH_LIMIT_MS, error);
    return code;
}

/* One thread from the beginning to the end: the kernel kills strace with the thread that started it. */
static void trace(void *owner)
{
    struct sheet_strace *strace = owner;
    int code = attach(strace);
    bool is_over = code < 0;

    strace->was_attached = code == 0;
    while (!is_over && !strace_has_ended(strace->run))
        is_over = worker_wait(&strace->worker, LOOK_MS);
    if (code == 0)
        code = strace_stop(strace->run, &strace->error);
    strace->error.code = code < 0 ? code : 0;
    strace_free(strace->run);
    strace->run = NULL;
}

/* ---- in the loop's thread ---- */

/* A job that was forgotten meanwhile has no books any more. */
static bool take(void *owner, struct counted *counted, const char *name, const struct syscall_totals *more)
{
    struct sheet_strace *strace = owner;
    struct call_books *books = strace->straces->options.books;
    const struct call_book_key of_job = {strace->key.job, false, 0};
    struct syscall_table *sheet = call_books_find(books, strace->key);
    struct syscall_table *job = call_books_find(books, of_job);

    if (sheet && job) {
        (void)syscall_table_add_named(sheet, name, more);
        (void)syscall_table_add_named(job, name, more);
        strace->has_more = true;
    }
    counted->place.marked = true;
    return true;
}

static void take_counts(struct sheet_strace *strace, bool is_last)
{
    const struct sheet_straces_options *options = &strace->straces->options;

    strace->has_more = false;
    (void)process_calls_read(strace->processes);
    /* Of a sheet that runs the books are read at every tick. */
    if (strace->has_more && is_last)
        options->on_counted(options->owner, strace->key);
}

static void strace_finish(void *context)
{
    struct sheet_strace *strace = context;
    const struct metron_error *error = &strace->error;

    (void)worker_await(&strace->worker, -1);
    /* A process that has ended is nobody's trouble. */
    if (error->code && strace->was_attached)
        log_warning("system calls of sheet %lld of job '%s': %s", (long long)strace->key.sheet_num,
                    strace->job_id, error->message);
    else if (error->code && error->code != -ESRCH)
        tell_once(strace->straces, error);
    if (!strace->straces->stopped)
        take_counts(strace, true);
    DL_DELETE(strace->straces->first, strace);
    strace->straces->count--;
    wake_watch_free(strace->watch);
    (void)worker_free(&strace->worker);
}

struct sheet_straces *sheet_straces_new(const struct sheet_straces_options *options)
{
    struct sheet_straces *straces = calloc(1, sizeof(*straces));

    if (straces)
        straces->options = *options;
    return straces;
}

static bool is_traced(const struct sheet_straces *straces, struct call_book_key key)
{
    for (const struct sheet_strace *strace = straces->first; strace; strace = strace->next)
        if (!strace->is_over && memcmp(&strace->key, &key, sizeof(key)) == 0)
            return true;
    return false;
}

static void detach(struct sheet_strace *strace)
{
    strace->is_over = true;
    worker_stop(&strace->worker);
}

static void begin(struct sheet_straces *straces, struct call_book_key key, const char *job_id,
                  const pid_t *pids, size_t count)
{
    struct sheet_strace *strace = calloc(1, sizeof(*strace));
    const struct worker_options worker = {
        .name = "metron-strace", .run = trace, .release = release, .owner = strace};

    if (!strace)
        return;
    *strace = (struct sheet_strace){.straces = straces, .key = key, .job_id = strdup(job_id), .count = count};
    strace->pids = calloc(count, sizeof(*pids));
    if (strace->pids)
        (void)memcpy(strace->pids, pids, count * sizeof(*pids));
    strace->calls = strace_calls_new("/proc");
    const struct process_calls_options processes = {.tree = straces->options.tree,
                                                    .strace = strace->calls,
                                                    .all_are_ours = true,
                                                    .owner = strace,
                                                    .take = take};
    strace->processes = process_calls_new(&processes);
    if (!strace->job_id || !strace->pids || !strace->calls || !strace->processes ||
        worker_start(&strace->worker, &worker) < 0) {
        release(strace);
        return;
    }
    DL_APPEND(straces->first, strace);
    straces->count++;
    strace->watch = wake_watch_new(straces->options.loop, strace->worker.news_fd, strace_finish, strace);
    if (!strace->watch) /* no end to wait for: it is finished with all others */
        detach(strace);
}

/* As long as the job is known: later they are only found. */
static bool books_open(struct call_books *books, struct call_book_key key)
{
    const struct call_book_key of_job = {key.job, false, 0};

    return call_books_open(books, of_job) && call_books_open(books, key);
}

void sheet_straces_begin(struct sheet_straces *straces, struct call_book_key key, const char *job_id,
                         const pid_t *pids, size_t count)
{
    struct metron_error error;

    if (straces->stopped || count == 0 || is_traced(straces, key))
        return;
    if (straces->count >= STRACES_MAX || count > PROCESSES_MAX) {
        (void)error_set(&error, -E2BIG,
                        count > PROCESSES_MAX ? "a sheet has more than %d processes"
                                              : "%d sheets are counted already",
                        count > PROCESSES_MAX ? PROCESSES_MAX : STRACES_MAX);
        tell_once(straces, &error);
        return;
    }
    if (books_open(straces->options.books, key))
        begin(straces, key, job_id, pids, count);
}

void sheet_straces_end(struct sheet_straces *straces, struct call_book_key key)
{
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next)
        if (strace->key.job == key.job && (!key.has_sheet || strace->key.sheet_num == key.sheet_num))
            detach(strace);
}

void sheet_straces_fill(struct sheet_straces *straces, struct snapshot *snapshot)
{
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next) {
        take_counts(strace, strace->is_over);
        if (!strace->is_over)
            calls_fill(strace->processes, snapshot);
    }
}

void sheet_straces_stop(struct sheet_straces *straces)
{
    straces->stopped = true;
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next)
        detach(strace);
}

void sheet_straces_free(struct sheet_straces *straces)
{
    if (!straces)
        return;
    sheet_straces_stop(straces); /* all at once, then they are waited for */
    while (straces->first)
        strace_finish(straces->first);
    free(straces);
}
