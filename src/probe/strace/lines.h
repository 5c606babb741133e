/*
 * Lines that strace prints, one for each system call, taken apart: each on its own, without memory of the
 * lines before.
 */
#ifndef METRON_PROBE_STRACE_LINES_H
#define METRON_PROBE_STRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STRACE_NAME_SIZE 64

enum strace_line_kind {
    STRACE_LINE_OTHER,      /* a signal, a remark, or not understood */
    STRACE_LINE_BEGUN,      /* a call that has not returned, or never will */
    STRACE_LINE_RETURNED,   /* a call that has */
    STRACE_LINE_EXITED,     /* the thread has ended */
    STRACE_LINE_SUPERSEDED, /* by another thread, which has executed a program and has this number from now on
                             */
};

struct strace_line {
    enum strace_line_kind kind;
    pid_t thread;
    char name[STRACE_NAME_SIZE]; /* of a call */
    bool makes_task;             /* it is clone, fork or vfork in one of their forms, */
    bool makes_thread; /* and what it says of the flags makes the new task a thread of this process */
    uint64_t ns;       /* RETURNED: from its beginning to its end; */
    bool failed;       /* with an error, */
    int error;         /* which; 0: not known */
    pid_t other;       /* RETURNED by a call that makes a task: its number, 0: none;
                          SUPERSEDED: the number that thread had until now */
};

/* `text` without its newline; any bytes. */
void strace_line_parse(const char *text, size_t length, struct strace_line *line);

/* Counts the calls in a full trace as it passes by, in pieces of any size. Begin with zeroes. */
struct strace_counter {
    uint64_t calls;
    enum { STRACE_AT_WORD, STRACE_IN_NUMBER, STRACE_IN_REST } place;
};
void strace_counter_add(struct strace_counter *counter, const char *bytes, size_t length);

#endif
