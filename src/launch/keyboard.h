/*
 * With a pty: what is typed goes to the command. The user's terminal is put into raw mode, so that every key,
 * Ctrl-C among them, travels as a byte and the command's own terminal decides what it means.
 *
 * Two things are read from the keys on the way, because raw mode would otherwise take them from the user:
 * Ctrl-C typed twice (the user wants out), and Ctrl-Z (the user wants the shell back).
 */
#ifndef METRON_LAUNCH_KEYBOARD_H
#define METRON_LAUNCH_KEYBOARD_H

#include <stdatomic.h>
#include <termios.h>

#include "base/error.h"

struct keyboard;

/* What the keyboard did to the user's terminal, to be restored if metron is killed. */
struct keyboard_terminal {
    atomic_bool raw;      /* its modes are ours */
    struct termios found; /* then: the user's */
};

enum keyboard_request {
    /* Ctrl-C twice within a second, while the command's terminal turns it into a signal. Both were passed on.
     */
    KEYBOARD_INTERRUPTED_TWICE = 1,
    /* Ctrl-Z while the command's terminal would turn it into a signal to the command's own group. That group
     * is orphaned (relay.h) and could not be stopped so; the byte was not passed on. */
    KEYBOARD_SUSPEND = 2,
};

/* Puts the terminal `tty_fd` into raw mode and copies it to the pty `master_fd` (non-blocking; see
 * terminal_open) in a thread of its own. Both are borrowed, as is `terminal`. Only one keyboard at a time. */
int keyboard_start(int tty_fd, int master_fd, struct keyboard_terminal *terminal, struct keyboard **out,
                   struct metron_error *error);
/* Readable while there are requests to take; borrowed. */
int keyboard_request_fd(const struct keyboard *keyboard);
/* The requests (enum keyboard_request, or-ed) since the last call; 0 if none. */
unsigned keyboard_take_requests(struct keyboard *keyboard);
/* Before metron stops: the terminal as it was found, no key is read any more. NULL is allowed here and below.
 */
void keyboard_suspend(struct keyboard *keyboard);
/* After SIGCONT: raw mode again and the size of the terminal taken over. In the background (`bg`) nothing is
 * touched; the keyboard takes the terminal by itself when it is given back (`fg`). */
void keyboard_resume(struct keyboard *keyboard);
/* Stops, restores the terminal, frees. If exit() comes first it restores the terminal too.
 */
void keyboard_finish(struct keyboard *keyboard);

#endif
