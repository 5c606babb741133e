/*
 * Inside loop/: what a run is made of, and its parts that need no event loop (run_state.c, and outcome.c for
 * how it ended). Not for other rooms.
 */
#ifndef METRON_LOOP_RUN_STATE_H
#define METRON_LOOP_RUN_STATE_H

#include <sys/resource.h>
#include <uv.h>

#include "launch/launch.h"
#include "loop/run.h"
#include "loop/ticker.h"
#include "schema/record.h"
#include "store/run_folder.h"

enum run_phase { RUN_RUNNING, RUN_DRAINING };
enum { CAPTURE_COUNT = 2, SIGNAL_COUNT = 10, SURVIVORS_NAMED = 8 };

struct run {
    struct run_options options;
    struct run_folder folder;
    bool warned[RUN_FILE_COUNT];
    struct rlimit open_files; /* as the caller had it */
    int kept_descriptors;
    char **environment; /* what the command gets; owned array, borrowed or owned strings */
    struct arena arena; /* texts that `info` borrows */

    uv_loop_t loop;
    bool loop_open;
    uv_signal_t signals[SIGNAL_COUNT];
    uv_poll_t tick_poll, keyboard_poll, capture_polls[CAPTURE_COUNT];
    uv_poll_t events_poll; /* the source of events that the run began with, */
    uv_poll_t ring_poll;   /* the one that took over, */
    uv_poll_t load_poll;   /* and, before that, its loading */
    uv_timer_t kill_timer, events_pause, load_timer;
    int tick_fd;
    uint64_t events_pause_ms;

    struct tree *tree;
    struct sampler *sampler;
    struct oom_watch *oom;
    struct ticker ticker;
    uint64_t start_ns, end_ns, next_report_ns;
    struct launched launched;
    struct capture *captures[CAPTURE_COUNT];
    unsigned captures_open;
    struct keyboard *keyboard;

    enum run_phase phase;
    bool root_ended;
    int root_status;
    bool ending; /* asked to end the whole tree */
    unsigned interrupts, kill_rounds;
    uint64_t kill_ns; /* monotonic: SIGTERM has had its time */

    struct record record, summary;
    struct run_info info;
    struct run_survivor survivors[SURVIVORS_NAMED];
    bool oom_struck; /* the OOM killer had to do with how it ended */
    bool discarded;
};

/* Says once per file that it cannot be written; `code` 0 is no failure. */
void run_warn_write(struct run *run, enum run_file which, int code);
/* The command could not be started: the record says so. */
void run_never_started(struct run *run, int code, const struct metron_error *error);
/* Exit code, signal and cause from the command's wait status. */
void run_set_outcome(struct run *run);
/* Watches a descriptor in the run's loop. 0 or a negative errno. */
int run_start_poll(struct run *run, uv_poll_t *poll, int fd, uv_poll_cb callback);
/* Takes the kernel's events from now on, if it tells any. 0 or a negative errno. */
int run_start_listening(struct run *run);
/* The command runs: loads our programs behind it, if that is to be, and gives up the privilege for it. */
void run_start_loading(struct run *run);
/* By which means it is measured: known at the start, and again when they have changed. */
void run_describe_method(struct run *run);
/* Members that are still alive at the end. */
void run_name_survivors(struct run *run);
/* Removes the files of a command that failed sooner than it should; `code`: it did not even start. */
void run_settle_files(struct run *run, int code);

#endif
