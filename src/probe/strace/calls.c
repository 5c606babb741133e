#include "probe/strace/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "probe/strace/lines.h"
#include "probe/strace/target.h"

/* A line is shorter by far: strace decodes none of a call's arguments but the flags of clone. */
#define LINE_SIZE 1024
/* Threads that live at a time, and processes that are kept: more than strace could follow at any speed. */
#define TASKS_MAX     65536
#define PROCESSES_MAX 65536
/* After so many readings a process whose clone was not reported (one of another pid namespace) is one. */
#define UNSURE_READINGS 3
#define CHILDREN_KEPT   64

struct process {
    pid_t pid;
    uint32_t id;
    struct syscall_table more; /* since the last reading */
    size_t tasks;              /* living, as far as is known */
    bool exited;
    bool awaits_exec;
    bool unsure; /* it may be a thread of another process */
    unsigned readings;
    UT_hash_handle hh;
};

struct task {
    pid_t tid;
    struct process *process;
    bool makes_thread; /* the flags of the clone that it is in say so */
    UT_hash_handle hh;
};

struct strace_calls {
    pthread_mutex_t lock; /* of all that follows */
    const char *proc_root;
    struct task *tasks;
    struct process *processes; /* by id */
    size_t unsure_count;
    size_t thread_makers;          /* tasks in a clone that makes a thread */
    pid_t children[CHILDREN_KEPT]; /* the latest that clone has returned before they did anything */
    size_t child_count;
    uint64_t attached_ns;
    uint64_t lost;
    bool closed;
    char line[LINE_SIZE]; /* one that is not complete yet */
    size_t length;
};

struct strace_calls *strace_calls_new(const char *proc_root)
{
    struct strace_calls *calls = calloc(1, sizeof(*calls));

    if (!calls)
        return NULL;
    calls->proc_root = proc_root;
    (void)pthread_mutex_init(&calls->lock, NULL);
    return calls;
}

static void process_release(struct process *process)
{
    syscall_table_fini(&process->more);
    free(process);
}

static void process_free(struct strace_calls *calls, struct process *process)
{
    HASH_DEL(calls->processes, process); /* NOLINT(clang-analyzer-*): it is in the table */
    calls->unsure_count -= process->unsure;
    process_release(process);
}

static void set_makes_thread(struct strace_calls *calls, struct task *task, bool makes_thread)
{
    calls->thread_makers += makes_thread;
    calls->thread_makers -= task->makes_thread;
    task->makes_thread = makes_thread;
}

static void task_free(struct strace_calls *calls, struct task *task)
{
    set_makes_thread(calls, task, false);
    task->process->tasks--;
    HASH_DEL(calls->tasks, task); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
    free(task);
}

static void tasks_free(struct strace_calls *calls, const struct process *process)
{
    struct task *task, *next;

    HASH_ITER (hh, calls->tasks, task, next)
        if (!process || task->process == process)
            task_free(calls, task);
}

void strace_calls_free(struct strace_calls *calls)
{
    if (!calls)
        return;
    tasks_free(calls, NULL);
    HASH_FREE_ALL(calls->processes, process_release);
    (void)pthread_mutex_destroy(&calls->lock);
    free(calls);
}

/* ---- whose thread it is ---- */

static struct task *task_find(const struct strace_calls *calls, pid_t tid)
{
    struct task *task;

    HASH_FIND(hh, calls->tasks, &tid, sizeof(tid), task);
    return task;
}

static struct task *task_add(struct strace_calls *calls, pid_t tid, struct process *process)
{
    struct task *task = NULL;

    if (process && HASH_COUNT(calls->tasks) < TASKS_MAX)
        HASH_FIND_OR_ADD(calls->tasks, tid, &tid, task);
    if (task) {
        task->process = process;
        process->tasks++;
    }
    return task;
}

/* With its main thread, or NULL. */
static struct process *process_add(struct strace_calls *calls, pid_t pid)
{
    static _Atomic uint32_t last_id;
    struct process *process = NULL;
    uint32_t id = ++last_id;

    if (HASH_COUNT(calls->processes) < PROCESSES_MAX)
        HASH_FIND_OR_ADD(calls->processes, id, &id, process);
    if (!process)
        return NULL;
    process->pid = pid;
    if (task_add(calls, pid, process))
        return process;
    process_free(calls, process);
    return NULL;
}

static void set_unsure(struct strace_calls *calls, struct process *process, bool unsure)
{
    calls->unsure_count += unsure;
    calls->unsure_count -= process->unsure;
    process->unsure = unsure;
}

static struct process *process_of(struct strace_calls *calls, pid_t pid)
{
    struct task *task = task_find(calls, pid);

    if (task && task->process->pid == pid)
        return task->process;
    if (task) /* a thread had that number, and its exit was not reported */
        task_free(calls, task);
    return process_add(calls, pid);
}

static bool is_child(const struct strace_calls *calls, pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_KEPT; i++)
        if (calls->children[i] == pid)
            return true;
    return false;
}

/* The first line of this task. If it is a thread whose clone has not returned, the line of that clone has
 * begun before: strace prints what it has of a line before it begins another. */
static struct task *task_discover(struct strace_calls *calls, pid_t tid)
{
    const pid_t pid = strace_target_process(calls->proc_root, tid);
    struct process *process = process_of(calls, pid > 0 ? pid : tid);

    if (process && pid <= 0 && calls->thread_makers > 0 && !is_child(calls, tid))
        set_unsure(calls, process, true);
    return pid > 0 && pid != tid ? task_add(calls, tid, process) : task_find(calls, tid);
}

/* What was taken for a process is a thread of this one. */
static void process_join(struct strace_calls *calls, struct process *thread, struct process *process)
{
    struct task *task, *next;

    if (syscall_table_merge(&process->more, &thread->more) < 0)
        calls->lost++;
    process->tasks += thread->tasks;
    if (thread->tasks > 0)
        HASH_ITER (hh, calls->tasks, task, next)
            if (task->process == thread)
                task->process = process;
    process_free(calls, thread);
}

static struct process *unsure_find(struct strace_calls *calls, pid_t pid)
{
    struct process *process, *next;

    if (calls->unsure_count > 0)
        HASH_ITER (hh, calls->processes, process, next)
            if (process->pid == pid && process->unsure)
                return process;
    return NULL;
}

/* A clone has returned. */
static void task_made(struct strace_calls *calls, const struct task *maker, pid_t tid)
{
    struct process *unsure = unsure_find(calls, tid);

    if (maker->makes_thread && unsure && unsure != maker->process)
        process_join(calls, unsure, maker->process);
    else if (unsure)
        set_unsure(calls, unsure, false);
    else if (maker->makes_thread && !task_find(calls, tid))
        (void)task_add(calls, tid, maker->process);
    else if (!maker->makes_thread)
        calls->children[calls->child_count++ % CHILDREN_KEPT] = tid;
}

static void task_exited(struct strace_calls *calls, struct task *task)
{
    struct process *process = task->process;
    bool is_main = task->tid == process->pid;

    task_free(calls, task);
    process->exited |= is_main;
    if (is_main && process->tasks > 0)
        tasks_free(calls, process);
}

/* ---- lines ---- */

static void call_returned(struct strace_calls *calls, struct task *task, const struct strace_line *line)
{
    struct process *process = task->process;
    const struct syscall_totals one = {1, line->failed, line->ns};

    process->awaits_exec = process->awaits_exec && strncmp(line->name, "execve", strlen("execve")) != 0;
    if (!process->awaits_exec && syscall_table_add_named(&process->more, line->name, &one) < 0)
        calls->lost++;
    else if (!process->awaits_exec && line->error)
        (void)syscall_table_add_failure(&process->more, line->name, line->error, 1);
    if (line->other)
        task_made(calls, task, line->other);
    set_makes_thread(calls, task, false);
}

static void line_take(struct strace_calls *calls, const char *text, size_t length)
{
    struct strace_line line;

    strace_line_parse(text, length, &line);
    if (line.kind == STRACE_LINE_OTHER)
        return;
    struct task *task = task_find(calls, line.thread);
    if (!task && line.kind != STRACE_LINE_SUPERSEDED)
        task = task_discover(calls, line.thread);
    if (!task) {
        calls->lost += line.kind == STRACE_LINE_RETURNED;
        return;
    }
    set_makes_thread(calls, task, line.makes_task && (line.makes_thread || task->makes_thread));
    if (line.kind == STRACE_LINE_RETURNED)
        call_returned(calls, task, &line);
    else if (line.kind == STRACE_LINE_EXITED)
        task_exited(calls, task);
    else if (line.kind == STRACE_LINE_SUPERSEDED && (task = task_find(calls, line.other)) &&
             task->tid != task->process->pid)
        task_free(calls, task);
}

void strace_calls_add(struct strace_calls *calls, const char *bytes, size_t length)
{
    const char *end = bytes + length;

    (void)pthread_mutex_lock(&calls->lock);
    while (bytes < end) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        const size_t piece = (size_t)((stop ? stop : end) - bytes);
        const size_t room = LINE_SIZE - calls->length;

        if (stop && calls->length == 0) {
            line_take(calls, bytes, piece < LINE_SIZE ? piece : LINE_SIZE);
        } else {
            memcpy(calls->line + calls->length, bytes, piece < room ? piece : room);
            calls->length += piece < room ? piece : room;
            if (stop)
                line_take(calls, calls->line, calls->length);
        }
        if (stop)
            calls->length = 0;
        bytes += piece + (stop != NULL);
    }
    (void)pthread_mutex_unlock(&calls->lock);
}

void strace_calls_know(struct strace_calls *calls, pid_t thread, pid_t process)
{
    (void)pthread_mutex_lock(&calls->lock);
    if (!calls->attached_ns)
        calls->attached_ns = clock_monotonic_ns();
    struct process *known = process_of(calls, process);
    if (!task_find(calls, thread))
        (void)task_add(calls, thread, known);
    (void)pthread_mutex_unlock(&calls->lock);
}

void strace_calls_from_exec(struct strace_calls *calls, pid_t process)
{
    (void)pthread_mutex_lock(&calls->lock);
    struct process *known = process_of(calls, process);
    if (known)
        known->awaits_exec = true;
    (void)pthread_mutex_unlock(&calls->lock);
}

void strace_calls_close(struct strace_calls *calls)
{
    struct process *process, *next;

    (void)pthread_mutex_lock(&calls->lock);
    calls->closed = true;
    tasks_free(calls, NULL);
    HASH_ITER (hh, calls->processes, process, next)
        process->exited = true;
    (void)pthread_mutex_unlock(&calls->lock);
}

/* ---- reading ---- */

uint32_t strace_calls_id(struct strace_calls *calls, pid_t pid, uint32_t after)
{
    struct process *process, *next;
    uint32_t id = 0;

    (void)pthread_mutex_lock(&calls->lock);
    HASH_ITER (hh, calls->processes, process, next)
        if (process->pid == pid && process->id > after && (!id || process->id < id))
            id = process->id;
    (void)pthread_mutex_unlock(&calls->lock);
    return id;
}

uint64_t strace_calls_attached_ns(struct strace_calls *calls)
{
    (void)pthread_mutex_lock(&calls->lock);
    uint64_t attached_ns = calls->attached_ns;
    (void)pthread_mutex_unlock(&calls->lock);
    return attached_ns;
}

bool strace_calls_follows(struct strace_calls *calls, uint32_t id)
{
    struct process *process;

    (void)pthread_mutex_lock(&calls->lock);
    HASH_FIND(hh, calls->processes, &id, sizeof(id), process);
    bool follows = process && !process->exited;
    (void)pthread_mutex_unlock(&calls->lock);
    return follows;
}

bool strace_calls_is_closed(struct strace_calls *calls)
{
    (void)pthread_mutex_lock(&calls->lock);
    bool closed = calls->closed;
    (void)pthread_mutex_unlock(&calls->lock);
    return closed;
}

void strace_calls_read(struct strace_calls *calls, strace_calls_visit *visit, void *context)
{
    struct process *process, *next;

    (void)pthread_mutex_lock(&calls->lock);
    HASH_ITER (hh, calls->processes, process, next) {
        if (process->unsure && ++process->readings < UNSURE_READINGS && !calls->closed)
            continue;
        set_unsure(calls, process, false);
        if (process->more.count > 0)
            visit(context, process->id, process->pid, &process->more);
        syscall_table_clear(&process->more);
        if (process->exited)
            process_free(calls, process);
    }
    (void)pthread_mutex_unlock(&calls->lock);
}

uint64_t strace_calls_lost(struct strace_calls *calls)
{
    (void)pthread_mutex_lock(&calls->lock);
    uint64_t lost = calls->lost;
    (void)pthread_mutex_unlock(&calls->lock);
    return lost;
}
