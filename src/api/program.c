/*
 * Finding, starting and burying the program metron.
 *
 * It is waited for through a descriptor of the process, not by its number: a host that waits for any child
 * may have buried it before us, and given its number to a child of its own.
 */
#include "api/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* The folder that the library was loaded from. */
static int own_folder(char folder[PATH_MAX])
{
    static const char here = 0;
    Dl_info info;
    char *slash;

    if (!dladdr(&here, &info) || !realpath(info.dli_fname, folder) || !(slash = strrchr(folder, '/')))
        return -ENOENT;
    *slash = '\0';
    return 0;
}

static bool is_program(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

int program_find(char path[PATH_MAX], struct metron_error *error)
{
    char folder[PATH_MAX];

    if (own_folder(folder) == 0) {
        /* An installed tree may lie below another folder than it was made for. */
        bool installed = text_ends_with(folder, METRON_LIB_DIR);
        size_t above = installed ? strlen(folder) - strlen(METRON_LIB_DIR) : strlen(folder);
        int length =
            snprintf(path, PATH_MAX, "%.*s%s/metron", (int)above, folder, installed ? METRON_BIN_DIR : "");

        if (length < PATH_MAX && is_program(path))
            return 0;
    }
    (void)snprintf(path, PATH_MAX, "%s/metron", METRON_BIN_DIR);
    if (is_program(path))
        return 0;
    return error_set(error, -ENOSYS, "the program metron is not installed: it is not at '%s'", path);
}

int program_start(const char *path, char *const argv[], int fd, struct program *out,
                  struct metron_error *error)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code == 0) {
        /* Onto itself: it stays open there, and closed to whatever else this process starts meanwhile. */
        code = posix_spawn_file_actions_adddup2(&actions, fd, fd);
        if (code == 0)
            code = posix_spawn(&out->pid, path, &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (code != 0)
        return error_set(error, -code, "'%s' cannot be started: %s", path, strerror(code));
    out->pid_fd = (int)syscall(SYS_pidfd_open, out->pid, 0);
    return 0;
}

void program_finish(struct program *program)
{
    siginfo_t ended;

    while (waitid(program->pid_fd >= 0 ? P_PIDFD : P_PID,
                  (id_t)(program->pid_fd >= 0 ? program->pid_fd : program->pid), &ended, WEXITED) < 0 &&
           errno == EINTR)
        ;
    file_close(&program->pid_fd);
}
