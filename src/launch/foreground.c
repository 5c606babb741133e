/*
 * No loop is needed for this: signals are blocked, and taken one by one as they come.
 *
 * What a terminal sends (Ctrl-C, Ctrl-Z, hangup) goes to its whole foreground group, the command included;
 * relay.h knows when it must be handed on all the same. SIGTERM and SIGHUP are the command's to decide on, as
 * if they had been sent to it.
 */
#include "launch/foreground.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include "launch/reap.h"
#include "launch/relay.h"
#include "launch/signals.h"

static const int handed_on[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGTSTP,
                                SIGCONT, SIGWINCH, SIGUSR1, SIGUSR2};

/* What whoever started us had ignored (nohup, a shell's background job) stays so, for the command as well. */
static void block_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
        if (!launch_signal_was_ignored(handed_on[i]))
            (void)sigaddset(set, handed_on[i]);
    (void)pthread_sigmask(SIG_BLOCK, set, NULL);
}

static void hand_on(pid_t pid, int number)
{
    if (number == SIGTERM || number == SIGHUP)
        (void)kill(pid, number);
    else if (number != SIGCHLD)
        (void)relay_signal(pid, false, number);
}

int foreground_run(const struct launch_options *options, int *wait_status, struct metron_error *error)
{
    struct launched launched;
    struct reaped reaped;
    sigset_t set;
    int ended;

    block_signals(&set);
    int code = launch_start(options, &launched, error);
    if (code < 0)
        return code;
    while ((ended = launch_reap(launched.pid, &reaped)) == 0) {
        int number = sigwaitinfo(&set, NULL);
        if (number > 0)
            hand_on(launched.pid, number);
    }
    if (ended < 0)
        return error_set(error, ended, "cannot wait for the command: %s", strerror(-ended));
    *wait_status = reaped.wait_status;
    return 0;
}

int foreground_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
