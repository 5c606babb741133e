/*
 * The program `ps` (procps), run for a list of processes, and what it prints.
 *
 * It is a child of ours while it runs: a caller that follows processes must know it as none of them, and is
 * told of its start and its end.
 */
#ifndef METRON_PROBE_PS_PROGRAM_H
#define METRON_PROBE_PS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "probe/program_output.h"

/* More processes than this are asked for in several runs: as one argument, their numbers must stay below the
 * kernel's 128 KiB. */
#define PS_RUN_PIDS 4000

/* One line of ps. */
struct ps_process {
    pid_t pid, ppid;
    char state; /* the first letter */
    uint64_t rss_bytes, vsize_bytes;
    double memory_fraction;   /* of the machine's memory, to a thousandth */
    uint64_t cpu_seconds;     /* used so far, cut to whole seconds */
    bool has_elapsed;         /* of a process just started, ps may print nonsense */
    uint64_t elapsed_seconds; /* since its start, cut likewise */
    const char *arguments;    /* of the command, blanks between them; points into the line, no NUL */
    size_t arguments_length;
};

/* A line without its newline. 0 or -EBADMSG. */
int ps_line_parse(const char *line, size_t length, struct ps_process *out);

/* The program, and what is kept from run to run. */
struct ps_program {
    char path[PROGRAM_PATH_SIZE];
    pid_t left_behind; /* a run that could not be ended in time, and was not waited for yet; 0: none */
    struct strbuf list, output;
};

struct ps_visitor {
    void (*on_start)(void *context, pid_t ps);                           /* right after the spawn */
    void (*on_end)(void *context, pid_t ps, const struct rusage *usage); /* waited for; NULL: by another */
    void (*on_process)(void *context, const struct ps_process *process); /* borrowed for the call */
    void *context;
};

/* Looks for `ps` in the folders of PATH, passing over those that are not absolute. 0; -ENOENT: there is none.
 */
int ps_program_init(struct ps_program *program);
void ps_program_fini(struct ps_program *program);
/* Runs it for `count` processes (those that are gone are left out by ps) and visits what it printed. It has
 * `limit_ns` in all. Signals, descriptors, environment and locale of the caller do not reach it. 0; -ETIME:
 * killed for being late; -ENOTSUP: it cannot do what is asked of it (busybox), or failed; -EBADMSG: what it
 * printed is not understood; -EBUSY: an earlier one is still there; another negative errno: no spawn. */
int ps_program_run(struct ps_program *program, const pid_t *pids, size_t count, uint64_t limit_ns,
                   const struct ps_visitor *visitor);

#endif
