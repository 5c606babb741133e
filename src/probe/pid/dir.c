/*
 * Reading one process. A sample of a thousand processes is a few thousand of these reads, so each is one
 * system call where a descriptor is kept: pread at offset 0 makes the kernel write the file anew.
 *
 * Paths are made by hand ("4711/task/4711/children") and opened relative to the root folder.
 */
#include "probe/pid/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/breakage.h"
#include "probe/digits.h"
#include "probe/numbers_dir.h"

#define PATH_SIZE         80
#define SCRATCH_TEXT_SIZE 16384

/* A seq_file hands out at most one page a read, in whole records. A read that leaves more of the smallest
 * page free than the longest record of a listing (a pid and a space) has therefore reached the end, and the
 * second read that would say so is saved. */
#define LAST_READ_BELOW (4096 - 16)

static const struct {
    const char *name;
    int flags;
} files[PID_FILE_COUNT] = {
    [PID_FILE_STAT] = {"/stat", O_RDONLY},
    [PID_FILE_STATM] = {"/statm", O_RDONLY},
    [PID_FILE_STATUS] = {"/status", O_RDONLY},
    [PID_FILE_CHILDREN] = {NULL, O_RDONLY}, /* below task/, with the pid in its path twice */
    [PID_FILE_CMDLINE] = {"/cmdline", O_RDONLY},
    [PID_FILE_LIMITS] = {"/limits", O_RDONLY},
    [PID_FILE_IO] = {"/io", O_RDONLY},
    [PID_FILE_SMAPS] = {"/smaps_rollup", O_RDONLY},
    [PID_FILE_FD] = {"/fd", O_RDONLY | O_DIRECTORY},
    [PID_FILE_TASK] = {"/task", O_RDONLY | O_DIRECTORY},
};

static void task_path(char path[PATH_SIZE], pid_t pid, pid_t tid, const char *name)
{
    char *at = digits_write(path, (uint64_t)pid);

    at = stpcpy(at, "/task/");
    at = digits_write(at, (uint64_t)tid);
    stpcpy(at, name);
}

static void file_path(char path[PATH_SIZE], pid_t pid, enum pid_file which)
{
    if (which == PID_FILE_CHILDREN)
        task_path(path, pid, pid, "/children");
    else
        stpcpy(digits_write(path, (uint64_t)pid), files[which].name);
}

/* The descriptor of a file: the kept one, or a new one. file_release keeps or closes it. */
static int file_acquire(struct pid_dir *dir, struct pid_reader *reader, enum pid_file which)
{
    char path[PATH_SIZE];
    int flags = files[which].flags;

    if (dir->kept[which] >= 0)
        return dir->kept[which];
    if (breakage_has(which == PID_FILE_CHILDREN ? "children" : files[which].name + 1))
        return -EIO;
    /* Asking only for the size of fd/ needs no permission to list it. */
    if (which == PID_FILE_FD && reader->fd_count_in_size)
        flags = O_PATH | O_DIRECTORY;
    file_path(path, dir->pid, which);
    return pid_reader_open(reader, path, flags);
}

static void file_release(struct pid_dir *dir, struct pid_reader *reader, enum pid_file which, bool keep,
                         int fd)
{
    if (dir->kept[which] == fd)
        return;
    if (keep && reader->budget.left > 0) {
        dir->kept[which] = fd;
        reader->budget.left--;
    } else {
        pid_reader_close(reader, fd);
    }
}

static ssize_t read_at(int fd, char *buffer, size_t capacity, size_t offset)
{
    ssize_t length;

    do {
        length = pread(fd, buffer, capacity, (off_t)offset);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    return length;
}

void pid_dir_init(struct pid_dir *dir, pid_t pid)
{
    dir->pid = pid;
    for (size_t i = 0; i < PID_FILE_COUNT; i++)
        dir->kept[i] = -1;
}

void pid_dir_close(struct pid_dir *dir, struct pid_reader *reader)
{
    for (size_t i = 0; i < PID_FILE_COUNT; i++) {
        if (dir->kept[i] < 0)
            continue;
        close(dir->kept[i]);
        dir->kept[i] = -1;
        reader->budget.left++;
    }
}

ssize_t pid_dir_read(struct pid_dir *dir, struct pid_reader *reader, enum pid_file which, bool keep,
                     char *buffer, size_t capacity)
{
    int fd = file_acquire(dir, reader, which);
    ssize_t length;

    if (fd < 0)
        return fd;
    length = read_at(fd, buffer, capacity, 0);
    /* A file of a process that is gone is of no more use. */
    file_release(dir, reader, which, keep && length >= 0, fd);
    return length;
}

/* The buffers are taken out of the reader while they are in use, so that a visitor may read other processes:
 * only then does a second set come into being, and goes again. */
static struct pid_scratch scratch_borrow(struct pid_reader *reader)
{
    struct pid_scratch scratch = reader->scratch;

    reader->scratch = (struct pid_scratch){0};
    return scratch;
}

static void scratch_return(struct pid_reader *reader, const struct pid_scratch *scratch)
{
    free(reader->scratch.text);
    free(reader->scratch.tids);
    reader->scratch = *scratch;
}

/* Reads a whole file into the scratch text, behind the first `start` bytes; `reads` is how many reads it
 * took. Returns its length. */
static ssize_t whole_read(int fd, struct pid_scratch *scratch, size_t start, unsigned *reads)
{
    size_t used = 0;
    ssize_t length;

    *reads = 0;
    do {
        size_t end = start + used;

        if (scratch->text_capacity - end < LAST_READ_BELOW &&
            ARRAY_RESERVE(scratch->text, scratch->text_capacity, end + SCRATCH_TEXT_SIZE) < 0)
            return -ENOMEM;
        length = read_at(fd, scratch->text + end, scratch->text_capacity - end, used);
        if (length < 0)
            return length;
        used += (size_t)length;
        *reads += length > 0;
    } while (length >= LAST_READ_BELOW);
    return (ssize_t)used;
}

struct tid_list {
    struct pid_scratch *scratch;
    size_t count;
    bool failed;
};

static void tid_add(void *context, pid_t tid)
{
    struct tid_list *list = context;
    struct pid_scratch *scratch = list->scratch;

    if (ARRAY_RESERVE(scratch->tids, scratch->tids_capacity, list->count + 1) < 0)
        list->failed = true;
    else
        scratch->tids[list->count++] = tid;
}

/* Lists the threads into the scratch; returns their number. The folder is closed or kept before any of their
 * files is opened: one descriptor at a time. */
static ssize_t threads_list(struct pid_dir *dir, struct pid_reader *reader, bool keep,
                            struct pid_scratch *scratch)
{
    struct tid_list list = {.scratch = scratch};
    int fd = file_acquire(dir, reader, PID_FILE_TASK);
    int status;

    if (fd < 0)
        return fd;
    status = numbers_dir_visit(fd, tid_add, &list);
    file_release(dir, reader, PID_FILE_TASK, keep && status >= 0, fd);
    if (status < 0)
        return status == -ENOENT ? -ESRCH : status;
    return list.failed ? -ENOMEM : (ssize_t)list.count;
}

/* The switches of all threads in place of those of the first, which `out` holds. A thread that ends
 * meanwhile is left out, as are all that ended before. */
static int switches_sum(struct pid_dir *dir, struct pid_reader *reader, bool keep,
                        struct pid_scratch *scratch, struct pid_status *out)
{
    ssize_t count = threads_list(dir, reader, keep, scratch);

    for (ssize_t i = 0; i < count; i++) {
        char path[PATH_SIZE];
        struct pid_status thread;
        unsigned reads;
        ssize_t length;
        int fd;

        if (scratch->tids[i] == dir->pid)
            continue;
        task_path(path, dir->pid, scratch->tids[i], "/status");
        fd = pid_reader_open(reader, path, O_RDONLY);
        if (fd < 0)
            continue;
        length = whole_read(fd, scratch, 0, &reads);
        pid_reader_close(reader, fd);
        if (length < 0 || pid_status_parse(scratch->text, (size_t)length, &thread) < 0)
            continue;
        out->voluntary_switches += thread.voluntary_switches;
        out->involuntary_switches += thread.involuntary_switches;
    }
    return count < 0 ? (int)count : 0;
}

int pid_dir_status(struct pid_dir *dir, struct pid_reader *reader, uint32_t threads, bool keep,
                   struct pid_status *out)
{
    struct pid_scratch scratch;
    unsigned reads;
    ssize_t length;
    int status;
    int fd = file_acquire(dir, reader, PID_FILE_STATUS);

    if (fd < 0)
        return fd;
    scratch = scratch_borrow(reader);
    length = whole_read(fd, &scratch, 0, &reads);
    file_release(dir, reader, PID_FILE_STATUS, keep && length >= 0, fd);
    status = length < 0 ? (int)length : pid_status_parse(scratch.text, (size_t)length, out);
    if (status == 0 && threads > 1 && out->has_switches)
        status = switches_sum(dir, reader, keep, &scratch, out);
    scratch_return(reader, &scratch);
    return status;
}

int pid_dir_count_fds(struct pid_dir *dir, struct pid_reader *reader, bool keep, uint64_t *count)
{
    struct stat folder;
    int fd, status;

    if (reader->fd_count_in_size && !keep && dir->kept[PID_FILE_FD] < 0 && !breakage_has("fd")) {
        char path[PATH_SIZE];

        file_path(path, dir->pid, PID_FILE_FD);
        if (fstatat(reader->root_fd, path, &folder, 0) < 0)
            return errno == ENOENT ? -ESRCH : -errno;
        *count = (uint64_t)folder.st_size;
        return 0;
    }
    fd = file_acquire(dir, reader, PID_FILE_FD);
    if (fd < 0)
        return fd;
    if (reader->fd_count_in_size) {
        status = fstat(fd, &folder) < 0 ? -errno : 0;
        *count = status == 0 ? (uint64_t)folder.st_size : 0;
    } else {
        status = numbers_dir_visit(fd, NULL, NULL);
        *count = status > 0 ? (uint64_t)status : 0;
    }
    file_release(dir, reader, PID_FILE_FD, keep && status >= 0, fd);
    if (status < 0)
        return status == -ENOENT ? -ESRCH : status;
    return 0;
}

int pid_dir_open_file_limit(struct pid_dir *dir, struct pid_reader *reader, uint64_t *limit)
{
    char text[4096];
    struct rlimit files_limit;
    ssize_t length;

    /* The call is cheaper, but only for processes of the same user; the file is everybody's. */
    if (reader->live && !breakage_has("limits") &&
        prlimit(dir->pid, RLIMIT_NOFILE, NULL, &files_limit) == 0) {
        *limit = files_limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : files_limit.rlim_cur;
        return 0;
    }
    length = pid_dir_read(dir, reader, PID_FILE_LIMITS, false, text, sizeof(text));
    return length < 0 ? (int)length : pid_limits_parse(text, (size_t)length, limit);
}

/* One listing into the scratch text. One that took more than a read may have skipped children, because the
 * kernel finds its place again by counting (get_children_pid() in fs/proc/array.c) and siblings that ended
 * have moved it: it is read again, and both stand one behind the other. */
static ssize_t listing_read(int fd, struct pid_scratch *scratch)
{
    unsigned reads;
    ssize_t length = whole_read(fd, scratch, 0, &reads), again;

    if (length < 0 || reads <= 1)
        return length;
    again = whole_read(fd, scratch, (size_t)length, &reads);
    return again < 0 ? length : length + again;
}

static int listing_visit(ssize_t length, const struct pid_scratch *scratch,
                         void (*visit)(void *context, pid_t pid), void *context)
{
    return length < 0 ? (int)length : pid_children_parse(scratch->text, (size_t)length, visit, context);
}

/* Every thread's listing in turn, its file closed before the visits: they may need the descriptor. */
static int threads_visit(struct pid_dir *dir, struct pid_reader *reader, bool keep,
                         struct pid_scratch *scratch, void (*visit)(void *context, pid_t pid), void *context)
{
    ssize_t count = threads_list(dir, reader, keep, scratch);
    int visits = 0;

    for (ssize_t i = 0; i < count; i++) {
        char path[PATH_SIZE];
        ssize_t length;
        int fd, found;

        task_path(path, dir->pid, scratch->tids[i], "/children");
        fd = pid_reader_open(reader, path, O_RDONLY);
        if (fd < 0)
            continue;
        length = listing_read(fd, scratch);
        pid_reader_close(reader, fd);
        found = listing_visit(length, scratch, visit, context);
        if (found > 0)
            visits += found;
    }
    return count < 0 ? (int)count : visits;
}

int pid_dir_children(struct pid_dir *dir, struct pid_reader *reader, uint32_t threads, bool keep,
                     void (*visit)(void *context, pid_t pid), void *context)
{
    struct pid_scratch scratch;
    int visits;

    if (!reader->has_children_files)
        return -EOPNOTSUPP;
    scratch = scratch_borrow(reader);
    if (threads > 1) {
        visits = threads_visit(dir, reader, keep, &scratch, visit, context);
    } else {
        int fd = file_acquire(dir, reader, PID_FILE_CHILDREN);
        ssize_t length = fd;

        if (fd >= 0) {
            length = listing_read(fd, &scratch);
            file_release(dir, reader, PID_FILE_CHILDREN, keep && length >= 0, fd);
        }
        visits = listing_visit(length, &scratch, visit, context);
    }
    scratch_return(reader, &scratch);
    return visits;
}

uid_t pid_dir_owner(const struct pid_reader *reader, pid_t pid)
{
    char path[16];
    struct stat found;

    (void)snprintf(path, sizeof(path), "%d", (int)pid);
    return fstatat(reader->root_fd, path, &found, 0) == 0 ? found.st_uid : (uid_t)-1;
}
