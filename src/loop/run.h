/*
 * One run: a command goes in, a record comes out. (Or processes that run already: loop/attach.h.)
 *
 * run_prepare finds out everything that can go wrong before the command starts; where no record can be
 * written it warns, and the command runs all the same. run_execute starts the command, follows it until it
 * ends, and writes the record, whatever happens to the command. The rest of metron's work (what to print,
 * what to exit with) is the caller's, from the info that is left behind.
 */
#ifndef METRON_LOOP_RUN_H
#define METRON_LOOP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/collector.h"
#include "loop/kernel_events.h"
#include "loop/pace.h"
#include "loop/syscall_counts.h"
#include "schema/registry.h"
#include "schema/run_info.h"

enum run_wait { RUN_WAIT_ROOT, RUN_WAIT_TREE };

struct attach_target;
struct feed;
struct secrets;

struct run_options {
    char *const *argv;                  /* NULL-terminated command; or NULL, and */
    const struct attach_target *attach; /* processes that run already (loop/attach.h) */
    const char *prefix_pattern;
    bool prefix_is_default;                  /* nobody chose it: a run whose name is taken gets another */
    bool clobber;                            /* of a prefix that was chosen */
    bool capture_stdout, capture_stderr;     /* recorded in files */
    bool show_stdout, show_stderr;           /* passed on to our own */
    bool record_samples, record_summary;     /* usage.jsonl and events.jsonl; info.json */
    const char *message, *job, *config_hash; /* NULL: none */
    bool has_sheet;
    int64_t sheet;
    bool new_session; /* else: follow the session we are in */
    enum run_wait wait;
    bool pty;
    struct pace_options pace;
    double fail_time;                 /* seconds */
    const char *environment_prefixes; /* comma-separated */
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    double kill_after;               /* seconds between SIGTERM and SIGKILL */
    struct kernel_events *events;    /* how the kernel is listened to */
    struct syscall_counts *syscalls; /* who counts system calls; NULL: nobody */
    const char *why_no_syscalls;     /* they were asked for and cannot be counted; NULL otherwise */
    const struct collect_context
        *context;                     /* the machine and the target's control group, as they were found */
    const struct registry *registry;  /* with its selection */
    struct run_collector *collectors; /* their failures are filled in */
    size_t collector_count;
    const char *metron_version;
    struct feed *feed;                            /* who is told of it (loop/feed.h); NULL: nobody */
    void (*on_started)(void *context, pid_t pid); /* the command runs; may be NULL */
    void *started_context;
};

struct run;

/* 0, or a negative errno and why: nothing has been started, and nothing is left of it. */
int run_prepare(const struct run_options *options, struct run **out, struct metron_error *error);
/* Starts and follows the command to its end. 0, or the errno of a command that could not be started (its exit
 * code is in the info all the same). */
int run_execute(struct run *run, struct metron_error *error);
/* The command could not be started, and is run in another way: nothing is left of this one. */
void run_withdraw(struct run *run);
/* What is known of the run; complete once run_execute has returned. Borrowed from the run. */
const struct run_info *run_get_info(const struct run *run);
/* The files were removed: the command failed sooner than --fail-time. */
bool run_was_discarded(const struct run *run);
/* The caller's limit of open files is in force again. */
void run_free(struct run *run);

#endif
