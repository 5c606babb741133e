/*
 * What a signal sent to metron does to the command, so that both together behave as the command alone would
 * under a shell.
 *
 * Who gets what, by the kernel's rules:
 * - Ctrl-C, Ctrl-\, Ctrl-Z and a change of size send a signal to the foreground process group of the terminal
 *   and to nobody else. A command in a session of its own is never in that group: metron hands them on, to
 *   the command's whole process group, as the terminal would have.
 * - In metron's own session (--mode current-session) the command is in metron's group and has got the
 *   terminal's signal already. Who sent it cannot be asked, so: if we are in the foreground of our terminal
 * it came from there and is not sent again; if not, it came from kill(2) to metron alone and is handed on to
 *   the command.
 * - The command's group in its new session is orphaned (no member's parent is in the same session but another
 *   group), and the kernel drops SIGTSTP, SIGTTIN and SIGTTOU for an orphaned group where they would stop it,
 *   because nobody could continue it. metron can and will, so it uses SIGSTOP, which is never dropped.
 *
 * With a pty, typed keys reach the command through its terminal (keyboard.h), and a change of size by
 * terminal_copy_size: then SIGWINCH is not relayed.
 */
#ifndef METRON_LAUNCH_RELAY_H
#define METRON_LAUNCH_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

enum relay_deed {
    RELAY_NOTHING, /* not a signal to hand on, or the command has it already */
    RELAY_PASS_ON, /* the command gets the same signal */
    RELAY_SUSPEND, /* the command is stopped, then metron stops itself; both go on together */
};

/* The decision alone: `own_session`: the command is in a session of its own; `foreground`: metron is in the
 * foreground group of its controlling terminal. */
enum relay_deed relay_decide(bool own_session, bool foreground, int signal);

/* Decides and does it. `root` is the command, not yet reaped. RELAY_SUSPEND returns when metron was continued
 * and the command with it; a keyboard must have been suspended before (keyboard_suspend). 0, or -ESRCH when
 * there is nobody to send to. SIGTERM and SIGHUP end the whole tree: not for here, RELAY_NOTHING. */
int relay_signal(pid_t root, bool own_session, int signal);

#endif
