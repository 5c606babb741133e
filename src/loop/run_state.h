/*
 * Inside loop/: what a run is made of; its loop (run_loop.c), and its parts that need none
 * (run_state.c, run_describe.c, and outcome.c for how it ended). Not for other rooms.
 */
#ifndef METRON_LOOP_RUN_STATE_H
#define METRON_LOOP_RUN_STATE_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <uv.h>

#include "launch/launch.h"
#include "loop/attach.h"
#include "loop/listening.h"
#include "loop/run.h"
#include "schema/record.h"
#include "store/run_folder.h"

enum run_phase { RUN_RUNNING, RUN_DRAINING };
enum { SURVIVORS_NAMED = 8 };

/* What is followed, as far as the loop asks. */
struct run_kind {
    bool stops;                                                /* answers SIGTSTP itself */
    void (*on_signal)(struct run *run, int number, bool sent); /* `sent`: by a process (relay.h) */
    void (*after_sample)(struct run *run);                     /* may be NULL */
    void (*stop)(struct run *run);                             /* the reader of the feed asks for it */
    void (*settle_end)(struct run *run);  /* when it ended, before the last readings; may be NULL */
    void (*set_outcome)(struct run *run); /* how it ended, once they are taken */
};

struct run {
    const struct run_kind *kind;
    struct run_options options;
    struct run_folder folder;
    bool warned[RUN_FILE_COUNT];
    struct rlimit open_files; /* as the caller had it */
    int kept_descriptors;
    struct tree_root *roots; /* attached: what options.attach names; owned */
    char **environment;      /* what the command gets; owned array, borrowed or owned strings */
    struct arena arena;      /* texts that `info` borrows */

    uv_loop_t loop;
    bool loop_open;
    uv_poll_t signal_poll, tick_poll, feed_poll, keyboard_poll, capture_poll;
    struct listening listening; /* to the kernel */
    uv_timer_t end_timer;       /* a command: the next round of ending the tree; attached: the time is up */
    int tick_fd, signal_fd;
    sigset_t signals_before; /* the mask, while signal_fd is open */

    struct tree *tree;
    struct sampler *sampler;
    struct oom_watch *oom;
    struct pace pace;
    uint64_t start_ns; /* monotonic: whoever was born before has a baseline */
    uint64_t begin_ns; /* the command was started; attached: the baselines were taken */
    uint64_t end_ns, next_headline_ns;
    struct launched launched;
    struct capture_process *capture; /* NULL: output is not captured */
    bool output_open;                /* it has not all been delivered */
    struct keyboard *keyboard;

    enum run_phase phase;
    bool root_ended;
    int root_status;
    bool ending;         /* asked to end the whole tree: by `request` */
    bool root_refused;   /* the last signal to end the command was not permitted */
    bool warned_refused; /* somebody's was not, and it was reported */
    unsigned interrupts, kill_rounds;
    struct received last, request; /* the newest signal to metron; why the tree is ended */
    uint64_t kill_ns;              /* monotonic: SIGTERM has had its time */
    uint64_t linger_ns; /* monotonic: until then exits are awaited that were under way; 0: the command runs */

    struct record record, summary;
    struct run_info info;
    struct run_survivor survivors[SURVIVORS_NAMED];
    struct attach_watch *watch; /* attached: the ends of the roots (attach.c) */
    bool discarded;
};

/* Says once per file that it cannot be written; `code` 0 is no failure. */
void run_warn_write(struct run *run, enum run_file which, int code);
/* Waits until all files are written, and says which are not whole. */
void run_finish_files(struct run *run);
/* The command could not be started: the record says so. */
void run_never_started(struct run *run, int code, const struct metron_error *error);
/* After a signal to end the tree: how many processes it was refused for. Warns of them, once. */
unsigned run_note_refused(struct run *run);
/* A signal to metron: where it came from, which the kernel knows only now. */
void run_note_signal(struct run *run, const struct signalfd_siginfo *taken);
/* Outcome and cause from the command's wait status. */
void run_set_outcome(struct run *run);
/* Everything but what is of a kind: signals, ticks, what the kernel tells. 0 or a negative errno. */
int run_start_loop(struct run *run);
/* The target runs: samples and reports from here on. `inherited_rss_bytes`: what its ru_maxrss began with. */
void run_begin(struct run *run, uint64_t begin_ns, uint64_t inherited_rss_bytes);
/* We were stopped, and go on. */
void run_resume(struct run *run);
/* The target, or our looking at it, ended at this moment (monotonic). */
void run_end_at(struct run *run, uint64_t end_ns);
/* Takes the last readings and writes the record. */
void run_finish(struct run *run);
void run_stop_loop(struct run *run);
/* Until then signals are taken, and nobody answers them: the files are being finished. */
void run_stop_signals(struct run *run);
/* Fills in run->info with what is known before it begins. 0 or a negative errno. */
int run_describe(struct run *run);
/* Where its files are. */
void run_describe_files(struct run *run);
/* What stands on its command line and in its environment, as far as it is recorded. */
int run_describe_command(struct run *run, char *const *argv);
int run_describe_environment(struct run *run, char *const *variables);
/* Attached: the roots for the tree, and what is known of them. 0 or a negative errno. */
int attach_choose_roots(struct run *run);
int attach_describe(struct run *run);
/* Watches a descriptor in the run's loop. 0 or a negative errno. */
int run_start_poll(struct run *run, uv_poll_t *poll, int fd, uv_poll_cb callback);
/* The command runs: loads our programs behind it, if that is to be, and gives up the privilege for it. */
void run_start_loading(struct run *run);
/* By which means it is measured: known at the start, and again when they have changed. */
void run_describe_method(struct run *run);
/* Members that are still alive at the end. */
void run_name_survivors(struct run *run);
/* Removes the files of a command that failed sooner than it should; `code`: it did not even start. */
void run_settle_files(struct run *run, int code);

#endif
