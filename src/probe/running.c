#include "probe/running.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/pid/files.h"
#include "probe/pid/stat.h"
#include "probe/user_name.h"

enum { STATUS_SIZE = 4096, CGROUP_SIZE = 8192 };

static ssize_t read_file(const char *proc_root, pid_t pid, const char *file, char *text, size_t capacity)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%d/%s", proc_root, (int)pid, file);
    ssize_t length = file_read(AT_FDCWD, path, text, capacity);
    return length == -E2BIG ? (ssize_t)capacity - 1 : length;
}

static int there_is_none(pid_t pid, struct metron_error *error)
{
    /* Signal 0 is none: it asks whether one could be sent. /proc may hide what others run (hidepid). */
    if (kill(pid, 0) < 0 && errno == EPERM)
        return error_set(error, -EPERM,
                         "process %d is another user's, and hidden from this one: run metron as that user or "
                         "as root",
                         (int)pid);
    return error_set(error, -ESRCH, "there is no process %d", (int)pid);
}

/* Of another user's process too little can be read to tell what it uses. */
static bool may_be_read(const char *proc_root, pid_t pid, uid_t uid)
{
    char text[256];

    if (uid == geteuid())
        return true;
    ssize_t length = read_file(proc_root, pid, "io", text, sizeof(text));
    return length >= 0 || (length == -ENOENT && geteuid() == 0);
}

static int belongs_to_other(pid_t pid, uid_t uid, struct metron_error *error)
{
    char name[USER_NAME_SIZE];

    if (!user_name_find(uid, name))
        return error_set(error, -EPERM,
                         "process %d belongs to another user (uid %u): run metron as that user or as root",
                         (int)pid, (unsigned)uid);
    return error_set(error, -EPERM, "process %d belongs to %s (uid %u): run metron as that user or as root",
                     (int)pid, name, (unsigned)uid);
}

int running_find(const char *proc_root, pid_t pid, struct running *out, struct metron_error *error)
{
    char text[STATUS_SIZE];
    struct pid_stat stat;
    struct pid_identity identity;

    if (pid == getpid())
        return error_set(error, -EINVAL, "process %d is metron itself", (int)pid);
    ssize_t length = read_file(proc_root, pid, "status", text, sizeof(text));
    if (length == -ENOENT || length == -ESRCH)
        return there_is_none(pid, error);
    if (length < 0 || pid_identity_parse(text, (size_t)length, &identity) < 0)
        return error_set(error, length < 0 ? (int)length : -EBADMSG,
                         "process %d: its status cannot be read: %s", (int)pid,
                         strerror(length < 0 ? (int)-length : EBADMSG));
    if (identity.leader != pid)
        return error_set(error, -EINVAL, "%d is a thread of process %d: give that number", (int)pid,
                         (int)identity.leader);
    length = read_file(proc_root, pid, "stat", text, sizeof(text));
    if (length < 0 || pid_stat_parse(text, (size_t)length, &stat) < 0 ||
        ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1))
        return error_set(error, -ESRCH, "process %d has ended", (int)pid);
    if (stat.flags & PID_KERNEL_THREAD)
        return error_set(error, -EINVAL, "process %d (%s) is a thread of the kernel, not a process", (int)pid,
                         stat.comm);
    if (!may_be_read(proc_root, pid, identity.uid))
        return belongs_to_other(pid, identity.uid, error);
    *out = (struct running){.pid = pid, .start_ticks = stat.start_ticks, .uid = identity.uid};
    return 0;
}

bool running_share_groups(const char *proc_root, pid_t a, pid_t b)
{
    char one[CGROUP_SIZE], other[CGROUP_SIZE];
    ssize_t length = read_file(proc_root, a, "cgroup", one, sizeof(one));

    return length > 0 && read_file(proc_root, b, "cgroup", other, sizeof(other)) == length &&
           memcmp(one, other, (size_t)length) == 0;
}

char *running_read(const char *proc_root, pid_t pid, const char *file, size_t *length)
{
    char *text = malloc(RUNNING_TEXT_LIMIT);
    ssize_t count = text ? read_file(proc_root, pid, file, text, RUNNING_TEXT_LIMIT) : -ENOMEM;

    *length = 0;
    if (count <= 0) {
        free(text);
        return NULL;
    }
    *length = (size_t)count;
    return text; /* with a NUL behind the last byte */
}

bool running_user(const char *proc_root, pid_t pid, uid_t *uid)
{
    char text[STATUS_SIZE];
    struct pid_identity identity;

    ssize_t length = read_file(proc_root, pid, "status", text, sizeof(text));
    if (length <= 0 || pid_identity_parse(text, (size_t)length, &identity) < 0)
        return false;
    *uid = identity.uid;
    return true;
}

bool running_name(const char *proc_root, pid_t pid, uid_t uid, char out[RUNNING_NAME_SIZE])
{
    char text[STATUS_SIZE];
    struct pid_stat stat;
    uid_t its_uid;

    if (!running_user(proc_root, pid, &its_uid) || its_uid != uid)
        return false;
    ssize_t length = read_file(proc_root, pid, "stat", text, sizeof(text));
    if (length <= 0 || pid_stat_parse(text, (size_t)length, &stat) < 0)
        return false;
    _Static_assert(RUNNING_NAME_SIZE >= sizeof(stat.comm), "room for the name");
    (void)memcpy(out, stat.comm, sizeof(stat.comm));
    return true;
}

char *running_folder(const char *proc_root, pid_t pid)
{
    char path[PATH_MAX], folder[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%d/cwd", proc_root, (int)pid);
    ssize_t length = readlink(path, folder, sizeof(folder) - 1);
    if (length <= 0)
        return NULL;
    folder[length] = '\0';
    return strdup(folder);
}
