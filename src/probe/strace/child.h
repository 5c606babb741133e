/*
 * Inside probe/strace/program.c: finding strace, and the child between fork and exec.
 */
#ifndef METRON_PROBE_STRACE_CHILD_H
#define METRON_PROBE_STRACE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/program_output.h"

/* Of the list of processes: one argument, for which the kernel's limit is 128 KiB. */
#define STRACE_LIST_SIZE ((size_t)128 * 1024)

/* Looks in the absolute folders of PATH. 0; -ENOENT: there is none; -EIO: broken on purpose. */
int strace_locate(char path[PROGRAM_PATH_SIZE], struct metron_error *error);

struct strace_child {
    char path[PROGRAM_PATH_SIZE];
    char zone[256]; /* "TZ=…", or "": unset */
    char *list;     /* STRACE_LIST_SIZE bytes, for the child to fill */
    bool counted;   /* else a full trace */
    pid_t parent;
    /* "12,13\n" comes through it: attach to these. Its end before that: do not. */
    int list_read, list_write;
    /* Its end: the kernel kills strace and its children. Nothing is ever written to it: for the kernel, that
     * would be a reason as well. */
    int gate_read, gate_write;
    int output, messages;
};

/* In the forked child, with all signals blocked. Does not return. */
void strace_child_main(const struct strace_child *child) __attribute__((noreturn));

#endif
