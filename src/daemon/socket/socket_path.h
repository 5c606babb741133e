/*
 * Where the daemon's socket is.
 *
 *   root               /run/metron/metron.sock
 *   a user             $XDG_RUNTIME_DIR/metron.sock
 *   … without one      /tmp/metron-UID/metron.sock, in a folder that only this user can enter
 *
 * A client tries the user's, then root's. The setting `socket` names another one, and then only that counts.
 */
#ifndef METRON_DAEMON_SOCKET_SOCKET_PATH_H
#define METRON_DAEMON_SOCKET_SOCKET_PATH_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

#define SOCKET_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path) /* with its NUL */
#define SOCKET_PATHS_MAX 2

/* What the rules are applied to. */
struct socket_place {
    uid_t uid;
    const char *runtime_folder;   /* $XDG_RUNTIME_DIR; NULL: none */
    const char *temporary_folder; /* "/tmp" */
    const char *system_folder;    /* "/run/metron" */
};

/* Of this process. Borrowed from the environment. */
struct socket_place socket_place_own(void);

/* Where a daemon of this user listens; its folder is made where it is ours to make. `chosen`: the setting;
 * NULL or "": none. -EPERM: the folder is there and not safe; -ENAMETOOLONG; what making it gave. */
int socket_path_listen(const struct socket_place *place, const char *chosen, char out[SOCKET_PATH_SIZE],
                       struct metron_error *error);
/* Where clients look, in this order. Returns how many there are, at least one; -ENAMETOOLONG. Nothing is
 * made, and none of them need be there. A folder under /tmp that is somebody else's is left out. */
int socket_path_list(const struct socket_place *place, const char *chosen,
                     char out[SOCKET_PATHS_MAX][SOCKET_PATH_SIZE], struct metron_error *error);

#endif
