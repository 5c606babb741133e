/*
 * The listening socket, as a file: one daemon a path.
 *
 * A daemon holds a lock on PATH.lock as long as it lives, and takes it before it opens the path. Under the
 * lock, a socket that refuses connections, or that belongs to the daemon that held the lock last, was left
 * behind by a daemon that was killed, and is replaced. A socket that another process listens on is left
 * alone. So of two daemons that start at once one gets the path, and none removes the socket of another that
 * lives.
 *
 * One listener for each path in a process: the lock belongs to the process.
 */
#ifndef METRON_DAEMON_SOCKET_LISTENER_H
#define METRON_DAEMON_SOCKET_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct listener {
    char *path, *lock_path; /* owned */
    int fd;                 /* listening, non-blocking; -1: closed */
    int lock_fd;
    bool has_group;
    gid_t group;
    dev_t device; /* which file the socket is, so that only this one is removed */
    ino_t inode;
};

/* Mode 0600, or 0660 and of this group (NULL: none). -EADDRINUSE: another daemon has it, with its pid in the
 * message where it could be told; -ENOENT: there is no such group, or no such folder; -EEXIST: something that
 * is no socket is in the way; and others. */
int listener_open(struct listener *listener, const char *path, const char *group, struct metron_error *error);
/* Whether both files still have their names. If not, nobody can connect, or a second daemon could start:
 * listener_mend makes them anew, with the same descriptor. -EADDRINUSE: another daemon has them by now. */
bool listener_is_in_place(const struct listener *listener);
int listener_mend(struct listener *listener, struct metron_error *error);
/* Nobody can connect any more, and the path is free of it; no other daemon may take it yet. */
void listener_shut(struct listener *listener);
/* Both, and the lock is given up. Safe twice, and on one that could not be opened. */
void listener_close(struct listener *listener);

#endif
