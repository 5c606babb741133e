/*
 * Terminals: the user's, and the pseudo-terminal that a command gets with --pty.
 */
#ifndef METRON_LAUNCH_TERMINAL_H
#define METRON_LAUNCH_TERMINAL_H

#include <stdbool.h>

#include "base/error.h"

/* Opens a pseudo-terminal, size and modes taken from the user's terminal if there is one (else 80 x 24). Both
 * descriptors are above 2, CLOEXEC and the caller's to close; the master is non-blocking. */
int terminal_open(int *master_fd, int *slave_fd, struct metron_error *error);
/* Which of our stdin, stdout, stderr is a terminal: the first of 0, 1, 2; -1 if none. */
int terminal_of_user(void);
/* Whether `fd` is our controlling terminal with another process group in its foreground: we are a background
 * job of a shell. False for anything that is not our controlling terminal. */
bool terminal_in_background(int fd);
/* Gives the pseudo-terminal `master_fd` the size of the terminal `tty_fd`. If it differs from the size
 * before, the kernel sends SIGWINCH to the foreground group there: the command needs no other notice. */
void terminal_copy_size(int tty_fd, int master_fd);

#endif
