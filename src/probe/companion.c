#include "probe/companion.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where metron has its privilege from its file, it must not pass it on to whatever a user put there. */
static bool is_trusted(const char *path)
{
    char folder[PATH_MAX];
    struct stat program, around;

    if (!getauxval(AT_SECURE))
        return true;
    (void)snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return stat(path, &program) == 0 && stat(folder, &around) == 0 && program.st_uid == 0 &&
           around.st_uid == 0 && !((program.st_mode | around.st_mode) & (S_IWGRP | S_IWOTH));
}

int companion_find(const char *name, char path[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - strlen(name) - 1);

    if (length > 0) {
        path[length] = '\0';
        char *slash = strrchr(path, '/');
        (void)memcpy(slash ? slash + 1 : path, name, strlen(name) + 1);
        if (access(path, X_OK) == 0 && is_trusted(path))
            return 0;
    }
    (void)snprintf(path, PATH_MAX, "%s/%s", METRON_LIBEXEC_DIR, name);
    return access(path, X_OK) == 0 && is_trusted(path) ? 0 : -ENOENT;
}
