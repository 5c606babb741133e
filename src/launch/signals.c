/*
 * Through exec only two things about signals pass: the mask, and which ones are ignored (handlers become the
 * default). So one set of each is all there is to remember.
 */
#include "launch/signals.h"

#include <stddef.h>

static struct {
    bool saved;
    sigset_t mask;
    sigset_t ignored;
} caller;

void launch_signals_save(void)
{
    struct sigaction action;

    sigemptyset(&caller.ignored);
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigaddset(&caller.ignored, number);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &caller.mask);
    caller.saved = true;

    /* With SIGCHLD ignored the kernel reaps our children itself and wait4 finds none. */
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_UNBLOCK, &child, NULL);
    if (sigismember(&caller.ignored, SIGCHLD) == 1)
        signal(SIGCHLD, SIG_DFL);
}

bool launch_signal_was_ignored(int signal)
{
    return caller.saved && sigismember(&caller.ignored, signal) == 1;
}

void launch_signals_restore(const sigset_t *otherwise)
{
    struct sigaction action;

    for (int number = 1; caller.saved && number < NSIG; number++) {
        bool ignored = sigismember(&caller.ignored, number) == 1;

        /* A handler need not be undone, exec does that; but no handler of ours may run once the mask is
         * lifted: libuv's would write into a pipe that the child shares with metron. */
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == (ignored ? SIG_IGN : SIG_DFL))
            continue;
        action = (struct sigaction){.sa_handler = ignored ? SIG_IGN : SIG_DFL};
        sigaction(number, &action, NULL);
    }
    pthread_sigmask(SIG_SETMASK, caller.saved ? &caller.mask : otherwise, NULL);
}
