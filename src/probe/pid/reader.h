/*
 * What all readers of process files share: the root folder, how many descriptors may be kept open, and a
 * buffer for what is longer than a line. Not for use by two threads at once.
 */
#ifndef METRON_PROBE_PID_READER_H
#define METRON_PROBE_PID_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "probe/kernel.h"

/* How many more descriptors may be kept open. Falls to 0 when the kernel refuses one; grows again as
 * processes end. */
struct fd_budget {
    int left;
};

struct pid_scratch { /* inner: growing buffers, lent out while a listing is visited */
    char *text;
    size_t text_capacity;
    pid_t *tids;
    size_t tids_capacity;
};

struct pid_reader {
    int root_fd;    /* of the root folder, O_PATH */
    int reserve_fd; /* given up for a moment when no descriptor is left, so that reading goes on */
    bool live;      /* system calls that take a pid mean the same processes as the root folder */
    bool fd_count_in_size;
    bool has_children_files;
    struct fd_budget budget;
    struct pid_scratch scratch;
};

/* `kept_descriptors`: how many may be kept open in all, beside two of the reader's own; 0 opens and closes
 * every file each time. `facts` were read from the same root and are not kept. 0 or a negative errno. */
int pid_reader_init(struct pid_reader *reader, const char *proc_root, const struct kernel_facts *facts,
                    int kept_descriptors);
/* Safe on a reader that failed to start, and twice. Every pid_dir must have been closed. */
void pid_reader_fini(struct pid_reader *reader);

/* Opens a path below the root, giving up the reserve if no other descriptor is left. Returns it or a negative
 * errno; -ESRCH where the path is not there. Close it with pid_reader_close before opening another. */
int pid_reader_open(struct pid_reader *reader, const char *path, int flags);
void pid_reader_close(struct pid_reader *reader, int fd);

#endif
