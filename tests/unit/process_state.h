/* States of processes and of their threads, from /proc: for tests that wait until a process has come to rest,
 * or until a thread is gone. */
#ifndef METRON_TESTS_PROCESS_STATE_H
#define METRON_TESTS_PROCESS_STATE_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "probe/pid/stat.h"

enum { PATIENCE_MS = 60000 }; /* only ends a hang */

/* As in ps: 'S' sleeps, 'T' is stopped, 'Z' has ended. `task` is a folder of /proc; '?': it is missing. */
static inline char task_state(const char *task)
{
    char path[96], text[PID_STAT_SIZE];
    struct pid_stat stat;

    (void)snprintf(path, sizeof(path), "%s/stat", task);
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));
    return length > 0 && pid_stat_parse(text, (size_t)length, &stat) == 0 ? stat.state : '?';
}

/* The state of the process's main thread. */
static inline char state_of(pid_t pid)
{
    char task[32];

    (void)snprintf(task, sizeof(task), "/proc/%d", (int)pid);
    return task_state(task);
}

static inline void await_state(pid_t pid, char wanted)
{
    for (int ms = 0; state_of(pid) != wanted; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("%d is in state %c, not %c", (int)pid, state_of(pid), wanted);
        (void)usleep(1000);
    }
}

/* The kernel sets the state of a thread before the thread leaves its CPU, and may preempt it in between: its
 * clock and its count of switches then move once more. A reader of `syscall` waits for that; it gets
 * "running" if the thread has not even begun to leave. */
static inline bool is_off_cpu(const char *task)
{
    char path[96], text[256];

    (void)snprintf(path, sizeof(path), "%s/syscall", task);
    return file_read(AT_FDCWD, path, text, sizeof(text)) <= 0 || text[0] != 'r';
}

/* Whether the process has so many threads, and each of them sleeps, is stopped or has ended. */
static inline bool is_at_rest(pid_t pid, unsigned threads)
{
    char folder[32], task[64];
    unsigned resting = 0, all = 0;

    (void)snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(folder);
    for (const struct dirent *entry; tasks && (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(task, sizeof(task), "%s/%.16s", folder, entry->d_name);
        all++;
        resting += strchr("STZ", task_state(task)) && is_off_cpu(task);
    }
    if (tasks)
        (void)closedir(tasks);
    return all == threads && resting == threads;
}

/* From then on nothing that /proc tells of the process changes, until somebody wakes it. */
static inline void await_rest(pid_t pid, unsigned threads)
{
    for (int ms = 0; !is_at_rest(pid, threads); ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("%d does not come to rest with %u threads", (int)pid, threads);
        (void)usleep(1000);
    }
}

/* How many threads this process has, give or take a constant. */
static inline unsigned thread_count(void)
{
    struct stat task;

    assert_int_equal(stat("/proc/self/task", &task), 0);
    return (unsigned)task.st_nlink;
}

#endif
