/*
 * How a run hears from the kernel: which source is in force, and the change from the cheap one to the better.
 *
 * By default the command starts at once, on the process connector where that answers, and our programs are
 * loaded behind it, if that is permitted and the command lasts long enough to be worth it. Where it was asked
 * for, they are in place before the command starts.
 */
#ifndef METRON_LOOP_KERNEL_EVENTS_H
#define METRON_LOOP_KERNEL_EVENTS_H

#include <stdbool.h>
#include <sys/resource.h>

#include "base/error.h"
#include "probe/bpf/programs.h"
#include "probe/lifecycle.h"
#include "tree/tree.h"

enum events_mode { EVENTS_AUTO, EVENTS_BPF, EVENTS_CONNECTOR, EVENTS_OFF };

struct kernel_events {
    enum events_mode mode;
    pid_t spawner;                     /* our programs tell of its children by themselves; 0: of nobody's */
    struct lifecycle *connector, *bpf; /* either, both or none */
    struct bpf_programs *programs;
    bool from_start; /* our programs were in place before the command */
    bool may_load;   /* they are not, but will be tried */
    struct bpf_start start;
    double loader_cpu_seconds;
    struct metron_error why_no_connector, why_no_bpf; /* code 0: it is there, or was not asked for */
};

struct kernel_events_options {
    enum events_mode mode;
    bool calls;        /* system calls will be counted: our programs are waited for, if they can be had */
    bool marked_calls; /* the same, of marked processes alone */
    bool look_only;    /* nothing is opened: only what could be */
    bool of_running;   /* what is followed runs already: nobody is told of for being our child */
};

/* 0; or, if a mode was demanded and cannot be had, a negative errno and why. */
int kernel_events_open(struct kernel_events *events, const struct kernel_events_options *options,
                       struct metron_error *error);
/* Safe on a zeroed struct. The tree that listens must be gone. */
void kernel_events_close(struct kernel_events *events);

/* What to listen to; NULL: nothing. */
struct lifecycle *kernel_events_source(const struct kernel_events *events);

/* Loading behind the command: begin (0, or not to be had: said in why_no_bpf), then, once the loader has
 * answered (bpf_start_is_answered), finish (0: they are in force and the tree listens; else they cannot be
 * had). Both descriptors that may have been polled are closed by it: `start.fd`, and the connector's where it
 * is not needed any more. */
int kernel_events_begin(struct kernel_events *events, struct tree *tree);
int kernel_events_finish(struct kernel_events *events, struct tree *tree);
/* Whether a child that was reaped is the loader. */
bool kernel_events_reaped(struct kernel_events *events, pid_t pid, const struct rusage *usage);
/* For who waits for no children at large: takes the loader, if it has ended. */
void kernel_events_reap(struct kernel_events *events, struct tree *tree);

/* All descriptors are open, the command runs: gives up the privilege that opening them took. */
void kernel_events_drop_privilege(struct kernel_events *events);

#endif
