/*
 * What a signal sent to metron does to the command, so that both together behave as the command alone would
 * under a shell.
 *
 * - A signal that a process sent to metron (kill, sigqueue, tgkill) was meant for the command: metron passes
 *   it on, whatever it is, to the command's whole process group.
 * - The kernel's own signals are about metron, but for those of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z, a
 * change of size), which go to the foreground process group and to nobody else, and for the alarm, which a
 * process sets for the program it becomes. A command in a session of its own is never in that group and gets
 * them from metron; in metron's own session (--mode current-session) it has them already.
 * - The command's group in its new session is orphaned (no member's parent is in the same session but another
 *   group), and the kernel drops SIGTSTP, SIGTTIN and SIGTTOU for an orphaned group where they would stop it,
 *   because nobody could continue it. metron can and will, so it uses SIGSTOP, which is never dropped.
 *
 * With a pty, typed keys reach the command through its terminal (keyboard.h), and a change of size by
 * terminal_copy_size: then SIGWINCH is not relayed.
 */
#ifndef METRON_LAUNCH_RELAY_H
#define METRON_LAUNCH_RELAY_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum relay_action {
    RELAY_NOTHING, /* not a signal to relay, or the command has it already */
    RELAY_PASS_ON, /* the command gets the same signal */
    RELAY_SUSPEND, /* the command is stopped, then metron stops itself; both go on together */
};

/* The signals that metron takes: all but those it cannot, those of its own faults, those that stop it in the
 * background of a terminal, and those that its parent ignored: they stay ignored, for the command as
 * well. */
void relay_signals(sigset_t *set);
/* Whether a process sent it, from si_code and si_pid. A broken pipe and a file at its limit are sent to
 * metron by itself. */
bool relay_was_sent(int code, pid_t sender);

/* The decision alone: `own_session`: the command is in a session of its own; `sent`: by a process. */
enum relay_action relay_decide(bool own_session, bool sent, int signal);

/* Decides and does it. `root` is the command, not yet reaped. RELAY_SUSPEND returns when metron was continued
 * and the command with it; a keyboard must have been suspended before (keyboard_suspend). 0, or -ESRCH when
 * there is nobody to send to. SIGTERM and SIGHUP end the whole tree: not for here, RELAY_NOTHING. */
int relay_signal(pid_t root, bool own_session, bool sent, int signal);

#endif
