/*
 * Our programs inside the kernel: loading them, and reading what they tell.
 *
 * They are loaded by a program of their own, metron-bpf, beside metron: it takes tens of milliseconds and
 * some ten megabytes, which metron neither waits for nor keeps; and the privilege it needs is needed there
 * alone. It sends descriptors (bpf/handover.h) and ends. While metron holds them the programs are attached;
 * when it ends, however that comes, they are gone.
 *
 * Needs CAP_BPF and CAP_PERFMON (or root), the initial pid namespace, and a kernel that describes its types
 * (BTF).
 */
#ifndef METRON_PROBE_BPF_PROGRAMS_H
#define METRON_PROBE_BPF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "probe/lifecycle.h"

struct bpf_programs;

/* Why they cannot be had here; NULL: they may be tried. Cheap: no program is loaded. The text lives as long
 * as the program. */
const char *bpf_programs_why_not(void);

struct bpf_start_options {
    pid_t spawner;     /* its children and all their descendants are followed; 0: nobody, until bpf_follow */
    bool calls;        /* count system calls as well, */
    bool marked_calls; /* or only those of processes that are marked (bpf_programs_mark) */
    bool gently;       /* others need the CPU more: nobody waits */
    const char *loader_path; /* of metron-bpf; NULL: beside this program, else where it was installed */
};

/* Being loaded. */
struct bpf_start {
    pid_t pid; /* of metron-bpf; 0: not running */
    int fd;    /* readable when it has answered; -1: none */
};

/* Starts loading. 0 or a negative errno and why. The caller reaps `pid` (bpf_start_reap, or on its own). */
int bpf_start(struct bpf_start *start, const struct bpf_start_options *options, struct metron_error *error);
/* Whether the answer is there, or the loader has ended without one. */
bool bpf_start_is_answered(const struct bpf_start *start);
/* Takes the answer; waits for it if `wait`, else -EAGAIN where there is none yet. 0 and the programs, or a
 * negative errno and why they could not be loaded. The socket is closed unless -EAGAIN. */
int bpf_start_finish(struct bpf_start *start, bool wait, struct bpf_programs **out,
                     struct metron_error *error);
/* Gives it up: kills metron-bpf if it has not answered. Safe on a zeroed struct. */
void bpf_start_cancel(struct bpf_start *start);

void bpf_programs_free(struct bpf_programs *programs);
/* Whether they can be read with the privilege that is left. */
bool bpf_programs_work(const struct bpf_programs *programs);

/* Events: see probe/lifecycle.h. */
int bpf_programs_events_fd(const struct bpf_programs *programs);
void bpf_programs_read_events(struct bpf_programs *programs, lifecycle_visit *visit, void *context);
/* Events and processes that did not fit. */
uint64_t bpf_programs_lost(const struct bpf_programs *programs);
/* CPU that they took inside the target's processes, in seconds, as far as they count it themselves. */
double bpf_programs_cpu_seconds(const struct bpf_programs *programs);
/* Follows processes that live already, and whatever they start; their ids come back, 0 where there is none
 * (`ids` may be NULL). 0 or a negative errno. */
int bpf_programs_follow(struct bpf_programs *programs, const pid_t *pids, size_t count, uint64_t *ids);
/* With marked_calls: counts the system calls of these, and of whatever they start, from now on; or no more.
 * Those that are gone are passed over. 0 or a negative errno. */
int bpf_programs_mark(struct bpf_programs *programs, const pid_t *pids, size_t count, bool marked);

/* Reads all followed processes (or all of the machine's) in one go; the tasks, borrowed until the next call:
 * a first thread and the other threads of its process in any order. Returns how many, or a negative errno. */
ssize_t bpf_programs_read_tasks(struct bpf_programs *programs, bool everybody,
                                const struct wire_task **tasks);

/* Visits the calls of every process so far: key.id is the low half of a process's id. 0 or a negative errno.
 */
typedef void bpf_call_visit(void *context, const struct wire_call_key *key, const struct wire_call *call);
int bpf_programs_read_calls(struct bpf_programs *programs, bpf_call_visit *visit, void *context);
/* Makes room: the entry is not needed any more. */
void bpf_programs_forget_call(struct bpf_programs *programs, const struct wire_call_key *key);
uint64_t bpf_programs_calls_lost(const struct bpf_programs *programs);

#endif
