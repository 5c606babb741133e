/*
 * Files: whole reads, whole writes, atomic replacement. Nothing is synced to disk: metron's files are
 * records of a run, and waiting for a disk would be paid by the run.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP       16384
#define NAME_IN_TEMP    200 /* of NAME_MAX (255), so that the rest of a temporary name always fits */
#define TEMPORARY_NAMES 100
#define LINKS_MAX       40 /* on the way to a folder, as for the kernel */

void file_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

int file_write_all(int fd, const void *bytes, size_t length)
{
    const char *rest = bytes;

    while (length > 0) {
        ssize_t count = write(fd, rest, length);

        if (count >= 0) {
            rest += count;
            length -= (size_t)count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            /* Somebody who shares the descriptor (a terminal) made it non-blocking: wait as if not. */
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return -errno;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Reads from `offset` (or, if negative, from where the descriptor stands) until end of file or `capacity`. */
static ssize_t read_some(int fd, char *buffer, size_t capacity, off_t offset)
{
    size_t length = 0;

    while (length < capacity) {
        ssize_t count = offset < 0 ? read(fd, buffer + length, capacity - length)
                                   : pread(fd, buffer + length, capacity - length, offset + (off_t)length);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        length += (size_t)count;
    }
    return (ssize_t)length;
}

/* One byte of `capacity` is kept for the NUL; a full buffer is tried for one byte more. */
static ssize_t read_whole(int fd, char *buffer, size_t capacity, bool from_start)
{
    if (capacity == 0)
        return -EINVAL;

    ssize_t length = read_some(fd, buffer, capacity - 1, from_start ? 0 : -1);
    char more;

    if (length < 0) {
        buffer[0] = '\0';
        return length;
    }
    buffer[length] = '\0';
    if ((size_t)length == capacity - 1 && read_some(fd, &more, 1, from_start ? (off_t)length : -1) > 0)
        return -E2BIG;
    return length;
}

ssize_t file_read_fd(int fd, char *buffer, size_t capacity)
{
    return read_whole(fd, buffer, capacity, true);
}

static int open_for_reading(int dir_fd, const char *path)
{
    int fd;

    do {
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

ssize_t file_read(int dir_fd, const char *path, char *buffer, size_t capacity)
{
    int fd = open_for_reading(dir_fd, path);

    if (fd < 0)
        return fd;

    ssize_t length = read_whole(fd, buffer, capacity, false);

    (void)close(fd);
    return length;
}

int file_open_regular(const char *path, struct stat *status, struct metron_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = fd < 0 || fstat(fd, status) < 0 ? -errno : S_ISREG(status->st_mode) ? 0 : -EINVAL;

    if (code == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return error_set(error, code, "%s: %s", path, code == -EINVAL ? "not a regular file" : strerror(-code));
}

int file_read_all_fd(int fd, size_t limit, struct strbuf *out)
{
    size_t total = 0;

    for (;;) {
        if (strbuf_reserve(out, READ_STEP) < 0)
            return -ENOMEM;

        ssize_t count = read_some(fd, out->data + out->length, READ_STEP, -1);

        /* What was read past the last append is not part of the text. */
        if (count <= 0 || (size_t)count > limit - total) {
            out->data[out->length] = '\0';
            return count <= 0 ? (int)count : -EFBIG;
        }
        total += (size_t)count;
        out->length += (size_t)count;
        out->data[out->length] = '\0';
        if (count < READ_STEP)
            return 0;
    }
}

int file_read_all(int dir_fd, const char *path, size_t limit, struct strbuf *out)
{
    int fd = open_for_reading(dir_fd, path);

    if (fd < 0)
        return fd;

    int result = file_read_all_fd(fd, limit, out);

    (void)close(fd);
    return result;
}

/* "folder/name" -> "folder/.name.PID.tmp", ".name.PID-2.tmp", … */
static int temporary_name(const char *path, unsigned number, struct strbuf *out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (*name == '\0')
        return -EISDIR;
    strbuf_add(out, path, (size_t)(name - path));
    strbuf_addf(out, ".%.*s.%ld", NAME_IN_TEMP, name, (long)getpid());
    if (number > 1)
        strbuf_addf(out, "-%u", number);
    strbuf_adds(out, ".tmp");
    return out->failed ? -ENOMEM : 0;
}

int file_temporary_name(const char *path, struct strbuf *out)
{
    return temporary_name(path, 1, out);
}

/* A name that is taken stays: a killed process may have left it behind, but a process that runs in another
 * pid namespace or on another machine may have our pid, too, and still write to it. */
int file_open_temporary(int dir_fd, const char *path, mode_t mode, struct strbuf *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int code = -EEXIST;

    for (unsigned number = 1; number <= TEMPORARY_NAMES && code == -EEXIST; number++) {
        strbuf_reset(name);
        code = temporary_name(path, number, name);
        if (code < 0)
            return code;
        code = openat(dir_fd, name->data, flags, mode);
        if (code < 0)
            code = -errno;
    }
    return code;
}

/* A file system without hard links cannot do both at once. */
int file_rename_new(int dir_fd, const char *from, const char *to)
{
    if (linkat(dir_fd, from, dir_fd, to, 0) == 0) {
        (void)unlinkat(dir_fd, from, 0);
        return 0;
    }
    if (errno == EEXIST || faccessat(dir_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
}

static int write_whole(int dir_fd, const char *path, const void *bytes, size_t length, mode_t mode,
                       bool is_new)
{
    struct strbuf temporary = STRBUF_INIT;
    int result = file_open_temporary(dir_fd, path, mode, &temporary);

    if (result < 0)
        goto out;
    int fd = result;
    result = file_write_all(fd, bytes, length);
    /* Network file systems report a full disk or quota only here. */
    if (close(fd) < 0 && result == 0 && errno != EINTR)
        result = -errno;
    if (result == 0 && is_new)
        result = file_rename_new(dir_fd, temporary.data, path);
    else if (result == 0 && renameat(dir_fd, temporary.data, dir_fd, path) < 0)
        result = -errno;
    if (result < 0)
        (void)unlinkat(dir_fd, temporary.data, 0);
out:
    strbuf_fini(&temporary);
    return result;
}

int file_create(int dir_fd, const char *path, const void *bytes, size_t length, mode_t mode)
{
    return write_whole(dir_fd, path, bytes, length, mode, true);
}

int file_replace(int dir_fd, const char *path, const void *bytes, size_t length, mode_t mode)
{
    return write_whole(dir_fd, path, bytes, length, mode, false);
}

int file_open_nameless(int dir_fd, const char *path, mode_t mode)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    int fd = folder ? openat(dir_fd, folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;
    int code = fd < 0 ? -errno : fd;

    free(folder);
    return code;
}

int file_give_name(int fd, int dir_fd, const char *path)
{
    char link[64];

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, dir_fd, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int file_reserve(int dir_fd, const char *path, size_t bytes, mode_t mode)
{
    int fd = file_open_nameless(dir_fd, path, mode);

    if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes) < 0) {
        int code = -errno;

        (void)close(fd);
        return code;
    }
    return fd;
}

int file_replace_reserved(int fd, int dir_fd, const char *path, const void *bytes, size_t length)
{
    struct strbuf temporary = STRBUF_INIT;
    int code = file_write_all(fd, bytes, length);

    if (code == 0 && ftruncate(fd, (off_t)length) < 0)
        code = -errno;
    if (code < 0)
        return code;
    /* Only a file that has a name can replace another. */
    code = -EEXIST;
    for (unsigned number = 1; number <= TEMPORARY_NAMES && code == -EEXIST; number++) {
        strbuf_reset(&temporary);
        code = temporary_name(path, number, &temporary);
        if (code == 0)
            code = file_give_name(fd, dir_fd, strbuf_text(&temporary));
    }
    if (code == 0 && renameat(dir_fd, strbuf_text(&temporary), dir_fd, path) < 0) {
        code = -errno;
        (void)unlinkat(dir_fd, strbuf_text(&temporary), 0);
    }
    strbuf_fini(&temporary);
    return code;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat one, other;

    return a && b && stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool file_is_at(int fd, const char *path)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Whether another user has put this link into a folder that everybody can write: it could lead our files
 * anywhere. The kernel has the same rule (fs.protected_symlinks), but not on every machine. */
static bool is_planted_link(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat link, folder;

    if (lstat(path, &link) < 0 || !S_ISLNK(link.st_mode) || link.st_uid == 0 || link.st_uid == geteuid())
        return false;
    char *parent = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    bool is_shared =
        !parent || stat(parent, &folder) < 0 || (folder.st_mode & S_IWOTH && folder.st_uid != link.st_uid);
    free(parent);
    return is_shared;
}

/* `there`: the whole path is, so that none has to be made. */
static int make_folder(const char *folder, bool there, struct metron_error *error)
{
    if (is_planted_link(folder))
        return error_set(error, -EACCES,
                         "cannot write through %s: it is a link of another user, in a folder that everybody "
                         "can write",
                         folder);
    /* Asking first would race with others; a failure that left a folder there is none. */
    if (there || mkdir(folder, 0700) == 0)
        return 0;
    int code = errno;
    if (is_folder(folder))
        return 0;
    if (code == EEXIST)
        code = ENOTDIR;
    return error_set(error, -code, "cannot make folder %s: %s", folder, strerror(code));
}

int file_make_folders(const char *path, struct metron_error *error)
{
    const char *last = strrchr(path, '/');
    char *folder = NULL;
    int result = 0;

    if (!last || last == path)
        return 0;
    folder = strndup(path, (size_t)(last - path));
    if (!folder)
        return error_set(error, -ENOMEM, "cannot make the folder of %s: out of memory", path);

    const bool there = is_folder(folder);

    for (char *end = folder + 1; result == 0; end++) {
        if (*end != '/' && *end != '\0')
            continue;

        char kept = *end;

        *end = '\0';
        result = make_folder(folder, there, error);
        *end = kept;
        if (kept == '\0')
            break;
    }
    free(folder);
    return result;
}

/* An open folder or link: -EPERM if it belongs to another user than the caller or root. */
static int check_owner(int fd, struct stat *status)
{
    if (fd < 0 || fstat(fd, status) < 0)
        return -errno;
    return status->st_uid == geteuid() || status->st_uid == 0 ? 0 : -EPERM;
}

/* Puts the target of the link `name` before `rest`, the path that follows it. -EPERM: another user's link. */
static int put_target(int parent, const char *name, char rest[PATH_MAX])
{
    char target[PATH_MAX];
    struct stat status = {0};
    int link = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (link < 0)
        return -errno;
    int code = check_owner(link, &status);
    ssize_t length = code == 0 ? readlinkat(link, "", target, sizeof(target)) : 0;
    (void)close(link);
    if (code == 0 && length < 0)
        code = -ENOTDIR; /* it is no link */
    if (code < 0)
        return code;
    if ((size_t)length + strlen(rest) + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    memmove(rest + length + 1, rest, strlen(rest) + 1);
    memcpy(rest, target, (size_t)length);
    rest[length] = '/';
    return 0;
}

/* Opens the folder `name`, which must be the caller's or root's, as must every link on the way to it.
 * Somebody who can write to a folder on the way may exchange what is in it at any moment: so each component
 * is opened without following links, and checked once it is open. O_DIRECTORY lets an automounter mount. */
static int open_own(int parent, const char *name)
{
    char rest[PATH_MAX], part[NAME_MAX + 1];
    struct stat status = {0};
    int fd = openat(parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int code = fd < 0 ? -errno : 0;

    if (code == 0 && snprintf(rest, sizeof(rest), "%s", name) >= (int)sizeof(rest))
        code = -ENAMETOOLONG;
    for (int links = 0; code == 0 && rest[0] != '\0';) {
        size_t length = strcspn(rest, "/");
        const char *next = length > 0 ? part : "/"; /* a leading slash: from the root on */

        if (length > NAME_MAX) {
            code = -ENAMETOOLONG;
            break;
        }
        memcpy(part, rest, length);
        part[length] = '\0';
        size_t used = length + strspn(rest + length, "/");
        memmove(rest, rest + used, strlen(rest + used) + 1);

        int folder = openat(fd, next, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0) {
            (void)close(fd);
            fd = folder;
        } else if (errno == ENOTDIR || errno == ELOOP) {
            code = ++links > LINKS_MAX ? -ELOOP : put_target(fd, part, rest);
        } else {
            code = -errno;
        }
    }
    if (code == 0)
        code = check_owner(fd, &status);
    if (code < 0 && fd >= 0)
        (void)close(fd);
    return code < 0 ? code : fd;
}

/* The same, made if it is missing. `path` is for the message. */
static int open_or_make_own(int parent, const char *name, const char *path, struct metron_error *error)
{
    int code = mkdirat(parent, name, 0700) < 0 ? -errno : 0;
    int fd = open_own(parent, name);

    if (fd >= 0)
        return fd;
    if (fd == -EPERM)
        return error_set(error, -EACCES,
                         "%s, or a link on the way to it, belongs to another user; choose another "
                         "--output-prefix",
                         path);
    if (fd == -ENOENT && code == -EEXIST)
        return error_set(error, fd, "%s is a link to a folder that does not exist", path);
    if (fd != -ENOENT || code == -EEXIST)
        code = fd;
    return error_set(error, code, "cannot make folder %s: %s", path, strerror(-code));
}

int file_open_own_folder(const char *path, struct metron_error *error)
{
    char *folder = strdup(path);
    char *slash;

    if (!folder)
        return error_set(error, -ENOMEM, "cannot make the folder of %s: out of memory", path);
    int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        fd = error_set(error, -errno, "cannot open the folder of %s: %s", path, strerror(errno));
    for (char *name = folder; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        int parent = fd;

        if (slash == name)
            continue;
        *slash = '\0';
        fd = open_or_make_own(parent, name, folder, error);
        *slash = '/';
        (void)close(parent);
    }
    free(folder);
    return fd;
}
