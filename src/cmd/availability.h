/* What can be measured on this machine, and what the target may use of it: found out once, shared by every
 * command that shows or selects measurements. */
#ifndef METRON_CMD_AVAILABILITY_H
#define METRON_CMD_AVAILABILITY_H

#include "base/error.h"
#include "collect/collector.h"
#include "loop/attach.h"
#include "loop/kernel_events.h"
#include "loop/syscall_counts.h"
#include "probe/allowance.h"
#include "probe/cgroup/target.h"
#include "probe/kernel.h"
#include "schema/registry.h"
#include "schema/run_info.h"

enum { AVAILABILITY_MAX = 32 }; /* collectors */

struct availability_options {
    const char *proc_root;
    enum cgroup_mode cgroup_mode;
    bool look_only; /* nothing is made or changed: only a run makes a control group */
    struct collect_tuning tuning;
    enum events_mode events;
    bool syscalls;                      /* they are to be counted */
    bool job_calls;                     /* the daemon counts those of its jobs */
    bool machine;                       /* everybody is watched, and ran before */
    bool session;                       /* the target is the session we are in: it was there before */
    const struct attach_target *attach; /* or processes that run already; NULL: none */
};

struct availability {
    struct registry registry;                       /* with the reasons of what cannot be measured */
    struct run_collector sources[AVAILABILITY_MAX]; /* in the registry's order */
    bool opt_in[AVAILABILITY_MAX];
    struct kernel_facts facts;
    struct allowance allowance;
    struct cgroup_target cgroup;
    struct kernel_events events;
    struct syscall_counts *syscalls; /* NULL: not asked for, or they cannot be counted: */
    struct metron_error why_no_syscalls;
    struct availability_options options;
    struct collect_context context; /* what collectors may look at; the parts above */
};

/* Looks at the machine, checks the whole table of measurements and asks every collector. */
int availability_init(struct availability *availability, const struct availability_options *options,
                      struct metron_error *error);
/* Safe on a zeroed struct. Removes the control group that was made. */
void availability_fini(struct availability *availability);
/* Selects by `--measurements`, and metron's own cost whatever that says. */
int availability_select(struct availability *availability, const char *list, struct metron_error *error);

#endif
