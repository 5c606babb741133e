/*
 * A process that runs already and is to be followed: whether that can be done and, if not, why; which process
 * it is; what it was started with.
 *
 * Its files tell; nothing is sent to it and nobody traces it.
 */
#ifndef METRON_PROBE_RUNNING_H
#define METRON_PROBE_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct running {
    pid_t pid;
    uint64_t start_ticks; /* field 22 of its stat: with the pid, which process */
    uid_t uid;
};

/* 0; or, with one line for people: -ESRCH: there is none, or it has ended; -EINVAL: it is a thread, or one of
 * the kernel's, or this process itself; -EPERM: another user's, who is named. */
int running_find(const char *proc_root, pid_t pid, struct running *out, struct metron_error *error);
/* Whether both are in the same group in every cgroup hierarchy; false too where that cannot be told. */
bool running_share_groups(const char *proc_root, pid_t a, pid_t b);

/* What it was started with: its arguments or its environment, each ended by NUL; at most so many bytes are
 * read. Owned by the caller; NULL: not to be had. */
#define RUNNING_TEXT_LIMIT ((size_t)256 * 1024)
char *running_read(const char *proc_root, pid_t pid, const char *file, size_t *length);
/* Its real user. False: it has ended, or cannot be seen. */
bool running_user(const char *proc_root, pid_t pid, uid_t *uid);
/* The name of a process whose real user is `uid`, as the kernel has it. False: it has ended, or cannot be
 * seen. */
#define RUNNING_NAME_SIZE 64
bool running_name(const char *proc_root, pid_t pid, uid_t uid, char out[RUNNING_NAME_SIZE]);
/* Its working folder; owned by the caller; NULL: not to be had. */
char *running_folder(const char *proc_root, pid_t pid);

#endif
