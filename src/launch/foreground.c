/*
 * No loop is needed for this: signals are blocked, and taken one by one as they come.
 *
 * What a terminal sends (Ctrl-C, Ctrl-Z, hangup) goes to its whole foreground group, the command included;
 * what a process sends to us is for the command (relay.h). SIGTERM and SIGHUP are the command's to decide on,
 * as if the sender had addressed it.
 */
#include "launch/foreground.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "launch/reap.h"
#include "launch/relay.h"

static void hand_on(pid_t pid, const siginfo_t *signal)
{
    if (signal->si_signo == SIGTERM || signal->si_signo == SIGHUP)
        (void)kill(pid, signal->si_signo);
    else
        (void)relay_signal(pid, false, relay_was_sent(signal->si_code, signal->si_pid), signal->si_signo);
}

int foreground_run(const struct launch_options *options, void (*on_ended)(void *context, pid_t pid),
                   void *context, int *wait_status, struct rusage *usage, struct metron_error *error)
{
    struct launched launched;
    struct reaped reaped;
    siginfo_t taken;
    sigset_t set;
    int ended;

    relay_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    int code = launch_start(options, &launched, error);
    if (code < 0)
        return code;
    while ((ended = launch_ended(launched.pid)) == 0) {
        if (sigwaitinfo(&set, &taken) > 0)
            hand_on(launched.pid, &taken);
    }
    if (ended > 0) {
        on_ended(context, launched.pid);
        ended = launch_reap(launched.pid, &reaped);
    }
    if (ended < 0)
        return error_set(error, ended, "cannot wait for the command: %s", strerror(-ended));
    *wait_status = reaped.wait_status;
    *usage = reaped.usage;
    return 0;
}

int foreground_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
