#include "daemon/calls/sheet_straces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "probe/strace/program.h"
#include "probe/strace/target.h"

#define ATTACH_LIMIT_MS 5000
#define TRACER_STEP_NS  20000000
#define TRACER_STEPS    100
/* strace reads its processes from one argument, and each of them costs a stop: beyond these a sheet is too
 * large to be slowed down like that. */
#define PROCESSES_MAX 1024
/* At once; each is a process and some descriptors. */
#define STRACES_MAX 64

enum state { ATTACHING, ATTACHED, DETACHING };

struct sheet_strace {
    struct sheet_straces *straces;
    struct call_book_key key;
    enum state state;
    bool is_over; /* the sheet has ended while strace attached */
    pid_t *pids;
    size_t count;
    uv_work_t work;
    /* While a thread is at it, the thread's: */
    struct strace_run *run;
    struct metron_error error;
    struct syscall_table table;
    struct sheet_strace *next;
};

struct sheet_straces {
    struct sheet_straces_options options;
    struct sheet_strace *first;
    size_t count;
    bool told_why, stopped;
};

struct sheet_straces *sheet_straces_new(const struct sheet_straces_options *options)
{
    struct sheet_straces *straces = calloc(1, sizeof(*straces));

    if (straces)
        straces->options = *options;
    return straces;
}

static void strace_dispose(struct sheet_strace *strace)
{
    syscall_table_fini(&strace->table);
    free(strace->pids);
    free(strace);
}

static void strace_forget(struct sheet_strace *strace)
{
    struct sheet_strace **link = &strace->straces->first;

    while (*link != strace)
        link = &(*link)->next;
    *link = strace->next;
    strace->straces->count--;
    strace_dispose(strace);
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

/* ---- in a thread ---- */

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

static void work_attach(uv_work_t *work)
{
    struct sheet_strace *strace = work->data;
    struct metron_error *error = &strace->error;
    int code = await_tracer(strace->pids[0], error);

    if (code == 0)
        code = strace_start(STRACE_SUMMARY, &strace->run, error);
    if (code == 0)
        code = strace_release(strace->run, strace->pids, strace->count, error);
    if (code == 0)
        code = strace_wait_attached(strace->run, ATTACH_LIMIT_MS, error);
    error->code = code < 0 ? code : 0;
    if (code < 0) {
        strace_free(strace->run);
        strace->run = NULL;
    }
}

static void visit_line(void *context, const struct strace_call *call)
{
    struct sheet_strace *strace = context;
    const struct syscall_totals totals = {call->count, call->errors, (uint64_t)(call->seconds * 1e9)};

    (void)syscall_table_add_named(&strace->table, call->name, &totals);
}

static void work_detach(uv_work_t *work)
{
    struct sheet_strace *strace = work->data;
    int code = strace_stop(strace->run, visit_line, strace, &strace->error);

    strace->error.code = code < 0 ? code : 0;
    strace_free(strace->run);
    strace->run = NULL;
}

/* ---- in the loop's thread ---- */

static void take_counts(struct sheet_strace *strace)
{
    const struct sheet_straces_options *options = &strace->straces->options;
    const struct call_book_key of_job = {strace->key.job, false, 0};
    struct syscall_table *sheet = call_books_open(options->books, strace->key);
    struct syscall_table *job = call_books_open(options->books, of_job);

    if (sheet)
        (void)syscall_table_merge(sheet, &strace->table);
    if (job)
        (void)syscall_table_merge(job, &strace->table);
    options->on_counted(options->owner, strace->key);
}

static void after_detach(uv_work_t *work, int status)
{
    struct sheet_strace *strace = work->data;

    (void)status;
    if (strace->error.code)
        tell_once(strace->straces, &strace->error);
    else if (!strace->straces->stopped)
        take_counts(strace);
    strace_forget(strace);
}

static void detach(struct sheet_strace *strace)
{
    if (strace->state != ATTACHED)
        return;
    strace->state = DETACHING;
    if (uv_queue_work(strace->straces->options.loop, &strace->work, work_detach, after_detach) < 0)
        strace->state = ATTACHED; /* at the next look */
}

static void after_attach(uv_work_t *work, int status)
{
    struct sheet_strace *strace = work->data;

    (void)status;
    if (strace->error.code) {
        /* One that has ended is nobody's trouble. */
        if (strace->error.code != -ESRCH)
            tell_once(strace->straces, &strace->error);
        strace_forget(strace);
        return;
    }
    strace->state = ATTACHED;
    if (strace->is_over)
        detach(strace);
}

static bool is_traced(const struct sheet_straces *straces, struct call_book_key key)
{
    for (const struct sheet_strace *strace = straces->first; strace; strace = strace->next)
        if (!strace->is_over && memcmp(&strace->key, &key, sizeof(key)) == 0)
            return true;
    return false;
}

void sheet_straces_begin(struct sheet_straces *straces, struct call_book_key key, const pid_t *pids,
                         size_t count)
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
    struct sheet_strace *strace = calloc(1, sizeof(*strace));
    pid_t *copy = calloc(count, sizeof(*copy));
    if (!strace || !copy) {
        free(strace);
        free(copy);
        return;
    }
    (void)memcpy(copy, pids, count * sizeof(*copy));
    strace->straces = straces;
    strace->key = key;
    strace->pids = copy;
    strace->count = count;
    strace->work.data = strace;
    strace->next = straces->first;
    straces->first = strace;
    straces->count++;
    if (uv_queue_work(straces->options.loop, &strace->work, work_attach, after_attach) < 0)
        strace_forget(strace);
}

void sheet_straces_end(struct sheet_straces *straces, struct call_book_key key)
{
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next) {
        if (strace->key.job != key.job || (key.has_sheet && strace->key.sheet_num != key.sheet_num))
            continue;
        strace->is_over = true;
        detach(strace);
    }
}

void sheet_straces_look(struct sheet_straces *straces)
{
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next)
        if (strace->state == ATTACHED && (strace->is_over || strace_has_ended(strace->run)))
            detach(strace);
}

void sheet_straces_stop(struct sheet_straces *straces)
{
    straces->stopped = true;
    for (struct sheet_strace *strace = straces->first; strace; strace = strace->next) {
        strace->is_over = true;
        detach(strace);
    }
}

void sheet_straces_free(struct sheet_straces *straces)
{
    if (!straces)
        return;
    for (struct sheet_strace *strace = straces->first, *next; strace; strace = next) {
        next = strace->next;
        strace_free(strace->run);
        strace_dispose(strace);
    }
    free(straces);
}
