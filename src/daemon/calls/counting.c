#include "daemon/calls/counting.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/log.h"
#include "daemon/calls/call_books.h"
#include "daemon/calls/member_calls.h"
#include "daemon/calls/sheet_straces.h"
#include "probe/strace/program.h"
#include "tree/groups.h"

struct counting {
    struct tree *tree;
    struct jobs *jobs;
    struct call_books *books;
    struct member_calls *members;  /* either, */
    struct sheet_straces *straces; /* or, or none of the two */
    pid_t *pids;                   /* scratch */
    size_t pid_capacity;
};

static void on_counted(void *owner, struct call_book_key key)
{
    struct counting *counting = owner;
    jobs_calls_counted(counting->jobs, key);
}

static bool open_method(struct counting *counting, uv_loop_t *loop, const struct kernel_events *events)
{
    struct metron_error error;

    if (events->programs) {
        counting->members = member_calls_new(counting->tree, events->programs, counting->books);
        return counting->members;
    }
    const struct sheet_straces_options options = {.loop = loop,
                                                  .tree = counting->tree,
                                                  .books = counting->books,
                                                  .owner = counting,
                                                  .on_counted = on_counted};
    if (strace_available(&error) < 0) {
        log_warning("system calls of jobs are not counted: programs in the kernel cannot be had, and %s",
                    error.message);
        return true;
    }
    log_info("system calls of sheets are counted by strace, which slows them down: %s",
             events->why_no_bpf.code ? events->why_no_bpf.message : "programs in the kernel cannot be had");
    counting->straces = sheet_straces_new(&options);
    return counting->straces;
}

struct counting *counting_new(uv_loop_t *loop, struct tree *tree, struct jobs *jobs,
                              const struct kernel_events *events)
{
    struct counting *counting = calloc(1, sizeof(*counting));

    if (!counting)
        return NULL;
    counting->tree = tree;
    counting->jobs = jobs;
    counting->books = call_books_new();
    if (!counting->books || !open_method(counting, loop, events)) {
        counting_free(counting);
        return NULL;
    }
    jobs_keep_calls(jobs, counting->books);
    return counting;
}

void counting_free(struct counting *counting)
{
    if (!counting)
        return;
    jobs_keep_calls(counting->jobs, NULL);
    member_calls_free(counting->members);
    sheet_straces_free(counting->straces);
    call_books_free(counting->books);
    free(counting->pids);
    free(counting);
}

void counting_stop(struct counting *counting)
{
    if (counting && counting->straces)
        sheet_straces_stop(counting->straces);
}

const char *counting_method(const struct counting *counting)
{
    if (!counting || (!counting->members && !counting->straces))
        return NULL;
    return counting->members ? "bpf" : "strace";
}

void counting_settle(struct counting *counting)
{
    if (counting && counting->members)
        member_calls_take(counting->members);
}

void counting_job(struct counting *counting, const char *job_id)
{
    uint64_t serial;

    if (!counting)
        return;
    if (counting->members)
        member_calls_mark(counting->members);
    jobs_take_calls(counting->jobs, job_id);
    const struct job *job = jobs_find(counting->jobs, job_id);
    if (counting->straces && job && job->status != JOB_RUNNING &&
        jobs_serial(counting->jobs, job_id, &serial))
        sheet_straces_end(counting->straces, (struct call_book_key){.job = serial});
}

/* The announced process, then the others of its sheet; 0 if it is not there. */
static size_t list_processes(struct counting *counting, pid_t pid)
{
    const struct process *first = tree_find(counting->tree, pid);
    size_t count = 0;

    if (!first || !first->group ||
        ARRAY_RESERVE(counting->pids, counting->pid_capacity, tree_count(counting->tree) + 1) < 0)
        return 0;
    counting->pids[count++] = pid;
    for (size_t i = 0; i < tree_count(counting->tree); i++) {
        const struct process *process = tree_process(counting->tree, i);
        if (process != first && process->group == first->group && !process->ended &&
            !process_is_zombie(process))
            counting->pids[count++] = (pid_t)process->subject.id;
    }
    return count;
}

void counting_sheet(struct counting *counting, const char *job_id, int64_t sheet_num, enum sheet_event event,
                    pid_t pid)
{
    struct call_book_key key = {.has_sheet = true, .sheet_num = sheet_num};

    counting_job(counting, job_id);
    if (!counting || !counting->straces || !jobs_serial(counting->jobs, job_id, &key.job))
        return;
    size_t count = event == SHEET_EVENT_STARTED && pid ? list_processes(counting, pid) : 0;
    if (count > 0)
        sheet_straces_begin(counting->straces, key, job_id, counting->pids, count);
    else if (event == SHEET_EVENT_COMPLETED || event == SHEET_EVENT_FAILED)
        sheet_straces_end(counting->straces, key);
}

void counting_end(struct counting *counting, const struct process *process)
{
    if (counting && counting->members)
        member_calls_end(counting->members, process);
}

void counting_tick(struct counting *counting, struct snapshot *snapshot)
{
    if (counting && counting->members) {
        member_calls_take(counting->members);
        member_calls_mark(counting->members);
        member_calls_fill(counting->members, snapshot);
    } else if (counting && counting->straces) {
        sheet_straces_fill(counting->straces, snapshot);
    }
}
