/*
 * The line of /proc/PID/stat. As do_task_stat() in fs/proc/array.c writes it (field numbers as in proc(5)):
 *
 *   4711 (comm) S 4700 4711 4700 34816 4711 4194304 1204 88210 3 12 40 9 301 77 20 0 4 0 81205 ...
 *   1    2      3 4    5    6    7     8    9       10   11    12 13 14 15 16 17  18 19 20 21 22
 *
 * pid comm state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime
 * priority nice num_threads itrealvalue starttime vsize rss rsslim startcode endcode startstack kstkesp
 * kstkeip signal blocked sigignore sigcatch wchan nswap cnswap exit_signal processor rt_priority policy
 * delayacct_blkio_ticks … exit_code
 *
 * comm is written as it is, whatever bytes the process chose; no later field can hold a ')', so the last one
 * in the text ends it. Kernels only ever added fields at the end: those up to rss (24) are needed, startstack
 * (28), sigignore (33) and delayacct_blkio_ticks (42) are taken if the line goes that far. A text that was
 * cut off is told from a short line by its missing newline, and refused: half a number is a wrong number.
 */
#include "probe/pid/stat.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "probe/digits.h"

enum {
    FIELD_PPID = 4,
    FIELD_SESSION = 6,
    FIELD_FLAGS = 9,
    FIELD_MINOR_FAULTS = 10,
    FIELD_CHILD_MINOR_FAULTS,
    FIELD_MAJOR_FAULTS,
    FIELD_CHILD_MAJOR_FAULTS,
    FIELD_USER_TICKS,
    FIELD_SYSTEM_TICKS,
    FIELD_CHILD_USER_TICKS,
    FIELD_CHILD_SYSTEM_TICKS,
    FIELD_THREADS = 20,
    FIELD_START_TICKS = 22,
    FIELD_VSIZE,
    FIELD_RSS,
    FIELD_START_STACK = 28,
    FIELD_IGNORED_SIGNALS = 33,
    FIELD_BLOCKED_TICKS = 42,
    FIELD_COUNT,
};

/* ppid, pgrp, session (-1 in a process just being released), tty_nr, tpgid, priority, nice and exit_signal
 * are ints and may be negative; a minus sign anywhere else is no stat line. */
#define BIT(FIELD)    (UINT64_C(1) << (FIELD))
#define SIGNED_FIELDS (BIT(4) | BIT(5) | BIT(6) | BIT(7) | BIT(8) | BIT(18) | BIT(19) | BIT(38))

/* The numbers from ppid on, each ended by a space or by the newline that ends the line. Returns 0 if all
 * needed ones are there whole; those past the end of an older kernel's line stay as they were. */
static int fields_read(const char *at, const char *end, int64_t fields[FIELD_COUNT])
{
    for (unsigned field = FIELD_PPID; field < FIELD_COUNT; field++) {
        uint64_t value;
        bool negative = at < end && *at == '-';

        if (negative && !(SIGNED_FIELDS >> field & 1))
            return -EBADMSG;
        at = digits_read(at + negative, end, &value);
        if (at == NULL || at == end)
            return -EBADMSG;
        if ((SIGNED_FIELDS >> field & 1) && value > INT32_MAX)
            return -EBADMSG;
        /* Values past 63 bits (rsslim's "unlimited") keep their bits. */
        fields[field] = negative ? -(int64_t)value : (int64_t)value;
        if (*at == '\n')
            return field >= FIELD_RSS ? 0 : -EBADMSG;
        if (*at++ != ' ')
            return -EBADMSG;
    }
    return 0;
}

int pid_stat_parse(const char *text, size_t length, struct pid_stat *out)
{
    int64_t fields[FIELD_COUNT];
    const char *end = text + length;
    const char *comm_end = length > 0 ? memrchr(text, ')', length) : NULL;
    const char *comm;
    size_t comm_length;
    uint64_t pid;
    int status;

    if (comm_end == NULL)
        return -EBADMSG;
    comm = digits_read(text, comm_end, &pid);
    if (comm == NULL || pid > INT32_MAX || comm_end - comm < 2 || comm[0] != ' ' || comm[1] != '(')
        return -EBADMSG;
    comm += 2;
    comm_length = (size_t)(comm_end - comm);
    /* ") S " and at least one digit */
    if (end - comm_end < 5 || comm_end[1] != ' ' || comm_end[3] != ' ')
        return -EBADMSG;

    fields[FIELD_START_STACK] = fields[FIELD_IGNORED_SIGNALS] = fields[FIELD_BLOCKED_TICKS] = 0;
    status = fields_read(comm_end + 4, end, fields);
    if (status < 0)
        return status;
    if ((uint64_t)fields[FIELD_THREADS] > UINT32_MAX)
        return -EBADMSG;

    if (comm_length >= sizeof(out->comm))
        comm_length = sizeof(out->comm) - 1;
    memcpy(out->comm, comm, comm_length);
    out->comm[comm_length] = '\0';
    out->pid = (int32_t)pid;
    out->state = comm_end[2];
    out->ppid = (int32_t)fields[FIELD_PPID];
    out->session = (int32_t)fields[FIELD_SESSION];
    out->flags = (uint32_t)fields[FIELD_FLAGS];
    out->minor_faults = (uint64_t)fields[FIELD_MINOR_FAULTS];
    out->child_minor_faults = (uint64_t)fields[FIELD_CHILD_MINOR_FAULTS];
    out->major_faults = (uint64_t)fields[FIELD_MAJOR_FAULTS];
    out->child_major_faults = (uint64_t)fields[FIELD_CHILD_MAJOR_FAULTS];
    out->user_ticks = (uint64_t)fields[FIELD_USER_TICKS];
    out->system_ticks = (uint64_t)fields[FIELD_SYSTEM_TICKS];
    out->child_user_ticks = (uint64_t)fields[FIELD_CHILD_USER_TICKS];
    out->child_system_ticks = (uint64_t)fields[FIELD_CHILD_SYSTEM_TICKS];
    out->threads = (uint32_t)fields[FIELD_THREADS];
    out->start_ticks = (uint64_t)fields[FIELD_START_TICKS];
    out->vsize_bytes = (uint64_t)fields[FIELD_VSIZE];
    out->rss_pages = (uint64_t)fields[FIELD_RSS];
    out->start_stack = (uint64_t)fields[FIELD_START_STACK];
    out->ignored_signals = (uint64_t)fields[FIELD_IGNORED_SIGNALS];
    out->blocked_ticks = (uint64_t)fields[FIELD_BLOCKED_TICKS];
    return 0;
}
