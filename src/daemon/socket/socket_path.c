/*
 * Finding the socket. Names under /tmp can be taken by anybody first: the folder there counts only if it is a
 * folder (no link to one), belongs to the user, and is closed to everybody else.
 */
#include "daemon/socket/socket_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_NAME "metron.sock"

struct socket_place socket_place_own(void)
{
    return (struct socket_place){
        .uid = geteuid(),
        .runtime_folder = getenv("XDG_RUNTIME_DIR"),
        .temporary_folder = "/tmp",
        .system_folder = "/run/metron",
    };
}

static int set_path(char out[SOCKET_PATH_SIZE], const char *folder, const char *name,
                    struct metron_error *error)
{
    int length = snprintf(out, SOCKET_PATH_SIZE, "%s%s%s", folder, *name ? "/" : "", name);

    if (length < 0 || (size_t)length >= SOCKET_PATH_SIZE)
        return error_set(error, -ENAMETOOLONG,
                         "socket '%s%s%s': longer than the kernel's limit of %zu bytes; set socket to a "
                         "shorter path",
                         folder, *name ? "/" : "", name, SOCKET_PATH_SIZE - 1);
    return 0;
}

/* The XDG base directory specification: absolute, and the user's own. A shell that became another user keeps
 * the variable of the one before. */
static bool runtime_folder_counts(const struct socket_place *place)
{
    struct stat folder;

    return place->runtime_folder && place->runtime_folder[0] == '/' &&
           stat(place->runtime_folder, &folder) == 0 && S_ISDIR(folder.st_mode) &&
           folder.st_uid == place->uid;
}

static int private_folder(const struct socket_place *place, char out[SOCKET_PATH_SIZE],
                          struct metron_error *error)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "metron-%lu", (unsigned long)place->uid);
    return set_path(out, place->temporary_folder, name, error);
}

static int check_private_folder(const struct socket_place *place, const char *path,
                                struct metron_error *error)
{
    struct stat folder;

    if (lstat(path, &folder) < 0)
        return error_set(error, -errno, "folder '%s': %s", path, strerror(errno));
    if (!S_ISDIR(folder.st_mode) || folder.st_uid != place->uid || (folder.st_mode & 077) != 0)
        return error_set(error, -EPERM,
                         "'%s' is not a folder of your own that is closed to others; remove it, or set "
                         "XDG_RUNTIME_DIR or socket",
                         path);
    return 0;
}

/* `mode` holds for a folder that is made now. */
static int make_folder(const char *path, mode_t mode, struct metron_error *error)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return error_set(error, -errno, "folder '%s' for the socket cannot be made: %s", path,
                         strerror(errno));
    return 0;
}

int socket_path_listen(const struct socket_place *place, const char *chosen, char out[SOCKET_PATH_SIZE],
                       struct metron_error *error)
{
    char folder[SOCKET_PATH_SIZE];
    int code;

    if (chosen && *chosen)
        return set_path(out, chosen, "", error);
    if (place->uid == 0) {
        /* Open to all, since members of the socket's group must come by; the socket itself is not. */
        code = make_folder(place->system_folder, 0755, error);
        return code < 0 ? code : set_path(out, place->system_folder, SOCKET_NAME, error);
    }
    if (runtime_folder_counts(place))
        return set_path(out, place->runtime_folder, SOCKET_NAME, error);
    code = private_folder(place, folder, error);
    if (code == 0)
        code = make_folder(folder, 0700, error);
    if (code == 0)
        code = check_private_folder(place, folder, error);
    return code < 0 ? code : set_path(out, folder, SOCKET_NAME, error);
}

/* Whether the user has a place of its own; its path in `out`. */
static bool find_user_path(const struct socket_place *place, char out[SOCKET_PATH_SIZE])
{
    char folder[SOCKET_PATH_SIZE];

    if (place->uid == 0)
        return false;
    if (runtime_folder_counts(place))
        return set_path(out, place->runtime_folder, SOCKET_NAME, NULL) == 0;
    return private_folder(place, folder, NULL) == 0 && check_private_folder(place, folder, NULL) == 0 &&
           set_path(out, folder, SOCKET_NAME, NULL) == 0;
}

int socket_path_list(const struct socket_place *place, const char *chosen,
                     char out[SOCKET_PATHS_MAX][SOCKET_PATH_SIZE], struct metron_error *error)
{
    int count = 0;
    int code;

    if (chosen && *chosen) {
        code = set_path(out[0], chosen, "", error);
        return code < 0 ? code : 1;
    }
    if (find_user_path(place, out[0]))
        count++;
    code = set_path(out[count], place->system_folder, SOCKET_NAME, error);
    return code < 0 ? code : count + 1;
}
