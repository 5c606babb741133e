/*
 * The log of snapshots.
 *
 * The file is looked at before each line, because it is not ours alone: if it was removed, renamed or
 * replaced, the line goes to a new one; if it was cut, it goes to where the end is now.
 *
 * A line is there as a whole or not at all. What a write left unfinished, on a full disk, is cut off at once;
 * what a crash left unfinished is cut off when the file is next opened. It is cut off rather than ended with
 * a newline, so that a reader need not reckon with half a snapshot in the middle of the file. Cut is only
 * what begins as our lines do: if somebody named a file of another kind, its last line is ended, not taken
 * away.
 *
 * A lock on the file keeps a second daemon from cutting off what the first one is just writing.
 *
 * Nothing is synced: this is a log to read along. What must survive a crash of the machine is in the
 * database.
 */
#include "store/snapshot_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"

#define LINE_START   "{\"timestamp\":"
#define SEARCH_BYTES 65536

struct snapshot_log {
    struct arena names;
    const char *path, *older, *oldest; /* PATH, PATH.1, PATH.2 */
    uint64_t limit_bytes;
    int fd; /* -1: to be opened */
    struct strbuf line;
};

struct snapshot_log *snapshot_log_new(const char *path, uint64_t limit_bytes)
{
    struct snapshot_log *log = calloc(1, sizeof(*log));

    if (!log)
        return NULL;
    log->fd = -1;
    log->limit_bytes = limit_bytes ? limit_bytes : SNAPSHOT_LOG_LIMIT_BYTES;
    log->path = arena_strdup(&log->names, path);
    log->older = arena_printf(&log->names, "%s.1", path);
    log->oldest = arena_printf(&log->names, "%s.2", path);
    if (!log->path || !log->older || !log->oldest) {
        snapshot_log_free(log);
        return NULL;
    }
    return log;
}

static void log_close(struct snapshot_log *log)
{
    if (log->fd >= 0)
        (void)close(log->fd);
    log->fd = -1;
}

void snapshot_log_free(struct snapshot_log *log)
{
    if (!log)
        return;
    log_close(log);
    strbuf_fini(&log->line);
    arena_fini(&log->names);
    free(log);
}

/* -- Opening -- */

/* Whether what stands after the last newline is the beginning of one of our lines. */
static bool is_ours(int fd, off_t tail, off_t size)
{
    char start[sizeof(LINE_START) - 1];
    size_t wanted = size - tail < (off_t)sizeof(start) ? (size_t)(size - tail) : sizeof(start);

    return pread(fd, start, wanted, tail) == (ssize_t)wanted && memcmp(start, LINE_START, wanted) == 0;
}

/* Finds where the line begins that the file ends in, from its end backwards. */
static int find_tail(int fd, off_t size, off_t *tail)
{
    char block[SEARCH_BYTES];

    for (*tail = size; *tail > 0;) {
        size_t length = *tail < SEARCH_BYTES ? (size_t)*tail : SEARCH_BYTES;
        ssize_t count = pread(fd, block, length, *tail - (off_t)length);

        if (count != (ssize_t)length)
            return count < 0 ? -errno : -EIO;

        const char *newline = memrchr(block, '\n', length);

        if (newline) {
            *tail -= (off_t)length - (newline + 1 - block);
            return 0;
        }
        *tail -= (off_t)length;
    }
    return 0;
}

static int mend_tail(int fd, off_t size)
{
    off_t tail;
    int code = find_tail(fd, size, &tail);

    if (code < 0 || tail == size)
        return code;
    if (!is_ours(fd, tail, size))
        return file_write_all(fd, "\n", 1);
    return ftruncate(fd, tail) < 0 ? -errno : 0;
}

/* What was opened may be anything that lies there under this name. */
static int check_file(const struct snapshot_log *log, int fd, struct metron_error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set(error, -errno, "cannot look at %s: %s", log->path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(error, -EINVAL, "%s is no plain file: move it away, or name another log", log->path);
    if (status.st_uid != geteuid())
        return error_set(
            error, -EPERM,
            "%s belongs to user %u, who would read everything: move it away, or name another log", log->path,
            (unsigned)status.st_uid);
    /* Some network file systems have no locks: then it goes without. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return error_set(error, -EBUSY, "%s is in use by another metron: name another log", log->path);
    if ((status.st_mode & 077) != 0 && fchmod(fd, 0600) < 0)
        return error_set(error, -errno, "cannot make %s private: %s", log->path, strerror(errno));
    int code = mend_tail(fd, status.st_size);
    return code < 0 ? error_set(error, code, "cannot mend the end of %s: %s", log->path, strerror(-code)) : 0;
}

static int log_open(struct snapshot_log *log, struct metron_error *error)
{
    int code = file_make_folders(log->path, error);

    if (code < 0)
        return code;

    /* Non-blocking: a pipe of that name has no reader. It means nothing for a plain file. */
    int fd =
        open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);

    if (fd < 0 && errno == ELOOP)
        return error_set(error, -ELOOP, "%s is a symbolic link: name the file it leads to", log->path);
    if (fd < 0)
        return error_set(error, -errno, "cannot open %s: %s", log->path, strerror(errno));
    code = check_file(log, fd, error);
    if (code < 0)
        (void)close(fd);
    else
        log->fd = fd;
    return code;
}

/* -- Writing -- */

/* Whether the file that is open is still the one that PATH leads to; its size. */
static bool is_in_place(const struct snapshot_log *log, off_t *size)
{
    struct stat opened, named;

    if (log->fd < 0 || fstat(log->fd, &opened) < 0 || stat(log->path, &named) < 0)
        return false;
    *size = opened.st_size;
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static int ensure_open(struct snapshot_log *log, off_t *size, struct metron_error *error)
{
    if (is_in_place(log, size))
        return 0;
    log_close(log);
    int code = log_open(log, error);
    if (code < 0)
        return code;
    *size = lseek(log->fd, 0, SEEK_END);
    return *size < 0 ? error_set(error, -errno, "cannot look at %s: %s", log->path, strerror(errno)) : 0;
}

/* A file that cannot be set aside is not written to either: it would grow without end. */
static int rotate(struct snapshot_log *log, off_t *size, struct metron_error *error)
{
    if ((rename(log->older, log->oldest) < 0 && errno != ENOENT) || rename(log->path, log->older) < 0)
        return error_set(error, -errno, "cannot rotate %s, which is full: %s", log->path, strerror(errno));
    return ensure_open(log, size, error);
}

static int write_line(struct snapshot_log *log, off_t size, struct metron_error *error)
{
    int code = file_write_all(log->fd, log->line.data, log->line.length);

    if (code == 0)
        return 0;
    /* If this fails as well, opening the file mends it. */
    (void)!ftruncate(log->fd, size);
    log_close(log);
    return error_set(error, code, "cannot write %s: %s", log->path, strerror(-code));
}

int snapshot_log_write(void *log_given, const struct snapshot *snapshot, struct metron_error *error)
{
    struct snapshot_log *log = log_given;
    struct json json;
    off_t size = 0;

    strbuf_reset(&log->line);
    json_init(&json, &log->line, 0);
    snapshot_json(&json, snapshot, NULL);
    strbuf_addc(&log->line, '\n');
    if (log->line.failed)
        return error_set(error, -ENOMEM, "no memory for a line of %s", log->path);

    int code = ensure_open(log, &size, error);

    if (code == 0 && size > 0 && (uint64_t)size + log->line.length > log->limit_bytes)
        code = rotate(log, &size, error);
    if (code == 0)
        code = write_line(log, size, error);
    if (capacity_is_spare(log->line.capacity, log->line.length))
        strbuf_fini(&log->line); /* a line that was far longer took it */
    return code;
}
