#include "probe/own_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/breakage.h"
#include "probe/numbers_dir.h"

#define TRIES 8

/* In exactly one call of read: it will be in the counters of this thread. */
static int read_io(const char *path, struct pid_io *out, size_t *length)
{
    char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, text, sizeof(text));
    (void)close(fd);
    *length = got > 0 ? (size_t)got : 0;
    return got <= 0 ? -EIO : pid_io_parse(text, (size_t)got, out);
}

static void add(struct pid_io *to, const struct pid_io *io)
{
    to->rchar += io->rchar;
    to->wchar += io->wchar;
    to->syscr += io->syscr;
    to->syscw += io->syscw;
    to->read_bytes += io->read_bytes;
    to->write_bytes += io->write_bytes;
}

/* The other threads, summed. */
struct others {
    struct pid_io io;
    unsigned count;
    pid_t self;
    bool failed;
};

static void visit_thread(void *context, pid_t tid)
{
    struct others *others = context;
    struct pid_io io = {0};
    size_t length = 0;
    char path[64];

    if (tid == others->self)
        return;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/io", (int)tid);
    if (read_io(path, &io, &length) < 0) {
        others->failed = true;
        return;
    }
    add(&others->io, &io);
    others->count++;
}

static struct others look_at_others(void)
{
    struct others others = {.self = gettid()};
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || numbers_dir_visit(fd, visit_thread, &others) < 0)
        others.failed = true;
    if (fd >= 0)
        (void)close(fd);
    return others;
}

int own_io_of_children(struct pid_io *out, unsigned *threads)
{
    struct pid_io thread = {0}, whole = {0};
    size_t length = 0, ignored = 0;
    int code;

    if (breakage_has("io"))
        return -EIO;
    for (int try = 0; try < TRIES; try++) {
        struct others before = look_at_others();
        code = read_io("/proc/thread-self/io", &thread, &length);
        if (code == 0)
            code = read_io("/proc/self/io", &whole, &ignored);
        if (code < 0)
            return code;
        struct others after = look_at_others();
        if (before.failed || after.failed || before.count != after.count ||
            memcmp(&before.io, &after.io, sizeof(after.io)) != 0)
            continue;
        /* This thread's own reading of the first file is in the second one already. */
        thread.rchar += length;
        thread.syscr++;
        add(&thread, &after.io);
        *out = pid_io_minus(&whole, &thread);
        *threads = after.count + 1;
        return 0;
    }
    return -EAGAIN;
}
