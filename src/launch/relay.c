/*
 * Relaying signals: one pure decision, and the kill calls that carry it out.
 */
#include "launch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum relay_deed relay_decide(bool own_session, bool foreground, int signal)
{
    bool has_it_already = !own_session && foreground;

    switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGWINCH:
        return has_it_already ? RELAY_NOTHING : RELAY_PASS_ON;
    case SIGUSR1:
    case SIGUSR2:
        return RELAY_PASS_ON;
    case SIGCONT:
        /* A shell continues the whole group of a job; once more does no harm where it was not a shell. */
        return has_it_already ? RELAY_NOTHING : RELAY_PASS_ON;
    case SIGTSTP:
        return RELAY_SUSPEND;
    default:
        return RELAY_NOTHING;
    }
}

static bool in_foreground(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;

    bool foreground = tcgetpgrp(fd) == getpgrp();

    close(fd);
    return foreground;
}

/* To the command's process group if that is its own, else to the command alone: its group is ours. */
static int send_to_command(pid_t root, bool own_session, int signal)
{
    return kill(own_session ? -root : root, signal) == 0 ? 0 : -errno;
}

/* Stops this process as SIGTSTP by itself would have, had we no handler: a shell then reports "Stopped", and
 * in an orphaned group, where nobody could continue us, the kernel drops it. Returns when continued. */
static void stop_self(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t suspend, mask;

    sigemptyset(&suspend);
    sigaddset(&suspend, SIGTSTP);
    sigaction(SIGTSTP, &stop, &before);
    pthread_sigmask(SIG_UNBLOCK, &suspend, &mask);
    pthread_kill(pthread_self(), SIGTSTP); /* to this thread: in force before the call returns */
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTSTP, &before, NULL);
}

static int suspend_both(pid_t root, bool own_session, bool foreground)
{
    int code = 0;

    if (own_session)
        code = send_to_command(root, true, SIGSTOP);
    else if (!foreground)
        code = send_to_command(root, false, SIGTSTP);
    stop_self();
    /* Also where we did not stop: a command must not stay stopped with nobody to continue it. */
    if (code == 0)
        code = send_to_command(root, own_session, SIGCONT);
    return code;
}

int relay_signal(pid_t root, bool own_session, int signal)
{
    bool foreground = !own_session && in_foreground();

    switch (relay_decide(own_session, foreground, signal)) {
    case RELAY_PASS_ON:
        return send_to_command(root, own_session, signal);
    case RELAY_SUSPEND:
        return suspend_both(root, own_session, foreground);
    case RELAY_NOTHING:
        break;
    }
    return 0;
}
