/*
 * A command in our own session and process group, with our own stdin, stdout and stderr: nothing stands
 * between it and the terminal. Signals to us are relayed; we wait for its end.
 */
#ifndef METRON_LAUNCH_FOREGROUND_H
#define METRON_LAUNCH_FOREGROUND_H

#include <sys/resource.h>

#include "base/error.h"
#include "launch/launch.h"

/* Starts the command (`new_session`, `pty` and pipes are not for here) and returns when it has ended: its
 * status as wait4(2) has it in *wait_status, and what it and those that it waited for used in *usage.
 * `on_ended` is called in between, while it is a zombie. A negative errno: it could not be started, and why.
 * The signals that are relayed stay blocked: the caller should exit soon after it. */
int foreground_run(const struct launch_options *options, void (*on_ended)(void *context, pid_t pid),
                   void *context, int *wait_status, struct rusage *usage, struct metron_error *error);

/* What a shell makes of it: the exit code, or 128 and the number of the signal. */
int foreground_exit_code(int wait_status);

#endif
