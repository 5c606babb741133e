/*
 * The files of one process under PROC_ROOT/PID, through descriptors that stay open or without them.
 *
 * A kept descriptor is bound to its process: after that has ended it reads -ESRCH, whoever has the pid by
 * then. Without one the file is opened by number, and whether it is the same process is for the caller to
 * check (start time). `keep` asks for the descriptor to be kept; where the budget is spent, or the kernel
 * has no descriptor left, the file is opened, read and closed instead, without error.
 *
 * All functions return -ESRCH for a process that is gone, -EACCES for what this user may not see.
 */
#ifndef METRON_PROBE_PID_DIR_H
#define METRON_PROBE_PID_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/pid/files.h"
#include "probe/pid/reader.h"

enum pid_file {
    PID_FILE_STAT,
    PID_FILE_STATM,
    PID_FILE_STATUS,
    PID_FILE_CHILDREN, /* of the first thread */
    PID_FILE_CMDLINE,  /* the arguments, each ended by NUL; empty for a kernel thread or a zombie */
    PID_FILE_LIMITS,
    PID_FILE_IO,
    PID_FILE_SMAPS, /* smaps_rollup */
    PID_FILE_FD,    /* a folder: pid_dir_count_fds */
    PID_FILE_TASK,  /* a folder: the threads */
    PID_FILE_COUNT,
};

struct pid_dir {
    pid_t pid;
    int kept[PID_FILE_COUNT]; /* -1: not open */
};

/* Opens nothing. */
void pid_dir_init(struct pid_dir *dir, pid_t pid);
/* Closes what was kept and gives it back to the budget. May be called twice. */
void pid_dir_close(struct pid_dir *dir, struct pid_reader *reader);

/* Whom its folder belongs to: its effective user, or root if it hides (setuid, not dumpable). (uid_t)-1:
 * gone. */
uid_t pid_dir_owner(const struct pid_reader *reader, pid_t pid);

/* One read of a file from its beginning. Returns the length, `capacity` if there may be more; no NUL is
 * added. */
ssize_t pid_dir_read(struct pid_dir *dir, struct pid_reader *reader, enum pid_file which, bool keep,
                     char *buffer, size_t capacity);

/* status, parsed. `threads` (as stat told): above 1, the context switches are summed over all threads, else
 * the same read serves. Pass 1 where they are not wanted. Threads that ended are in no file. */
int pid_dir_status(struct pid_dir *dir, struct pid_reader *reader, uint32_t threads, bool keep,
                   struct pid_status *out);

/* Number of open file descriptors. */
int pid_dir_count_fds(struct pid_dir *dir, struct pid_reader *reader, bool keep, uint64_t *count);

/* Soft limit of open files, UINT64_MAX for unlimited. */
int pid_dir_open_file_limit(struct pid_dir *dir, struct pid_reader *reader, uint64_t *limit);

/* Visits the children of every thread (`threads` as stat told; each thread has its own listing). A child may
 * be visited more than once, and a living one may be missing while its siblings end: a listing is a hint, not
 * a census. `visit` may call these functions. Returns the number of visits, -EOPNOTSUPP where the kernel has
 * no such files, or another negative errno. */
int pid_dir_children(struct pid_dir *dir, struct pid_reader *reader, uint32_t threads, bool keep,
                     void (*visit)(void *context, pid_t pid), void *context);

#endif
