/*
 * Relaying signals: one pure decision, and the kill calls that carry it out.
 */
#include "launch/relay.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "launch/signals.h"

/* What a fault of our own, or of a library, raises. */
static bool is_fault(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGTRAP || signal == SIGSYS || signal == SIGABRT;
}

void relay_signals(sigset_t *set)
{
    (void)sigfillset(set); /* without those that the C library keeps to itself */
    for (int number = 1; number < NSIG; number++)
        if (is_fault(number) || number == SIGKILL || number == SIGSTOP || number == SIGTTIN ||
            number == SIGTTOU || (number != SIGCHLD && launch_signal_was_ignored(number)))
            (void)sigdelset(set, number);
}

bool relay_was_sent(int code, pid_t sender)
{
    return (code == SI_USER || code == SI_QUEUE || code == SI_TKILL) && sender != getpid();
}

enum relay_action relay_decide(bool own_session, bool sent, int signal)
{
    switch (signal) {
    case SIGCHLD:
    case SIGTERM:
    case SIGHUP:
        return RELAY_NOTHING;
    case SIGTSTP:
        return RELAY_SUSPEND;
    case SIGALRM:
        return RELAY_PASS_ON;
    case SIGINT:
    case SIGQUIT:
    case SIGWINCH:
        return sent || own_session ? RELAY_PASS_ON : RELAY_NOTHING;
    default:
        return sent ? RELAY_PASS_ON : RELAY_NOTHING;
    }
}

/* To the command's process group if that is its own, else to the command alone: its group is ours. */
static int send_to_command(pid_t root, bool own_session, int signal)
{
    return kill(own_session ? -root : root, signal) == 0 ? 0 : -errno;
}

/* Stops this process as SIGTSTP does without a handler: a shell then reports "Stopped", and
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

/* Drops the SIGCONT that continued us. It is blocked, and would be relayed: the command has one from us by
 * then. */
static void drop_continue(void)
{
    const struct timespec now = {0};
    sigset_t continued;

    sigemptyset(&continued);
    sigaddset(&continued, SIGCONT);
    (void)sigtimedwait(&continued, NULL, &now);
}

static int suspend_both(pid_t root, bool own_session, bool sent)
{
    int code = 0;

    if (own_session)
        code = send_to_command(root, true, SIGSTOP);
    else if (sent)
        code = send_to_command(root, false, SIGTSTP);
    stop_self();
    drop_continue();
    /* Also where we did not stop: a command must not stay stopped with nobody to continue it. */
    if (code == 0)
        code = send_to_command(root, own_session, SIGCONT);
    return code;
}

int relay_signal(pid_t root, bool own_session, bool sent, int signal)
{
    switch (relay_decide(own_session, sent, signal)) {
    case RELAY_PASS_ON:
        return send_to_command(root, own_session, signal);
    case RELAY_SUSPEND:
        return suspend_both(root, own_session, sent);
    case RELAY_NOTHING:
        break;
    }
    return 0;
}
