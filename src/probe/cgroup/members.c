/*
 * cgroup.procs, cgroup_procs_show() in kernel/cgroup/cgroup.c and cgroup_pidlist_show() in cgroup-v1.c: a
 * number a line. v2 writes 0 for a process of another pid namespace; v1 leaves it out.
 *
 * v1 makes the list when the file is first read and gives the same one again until nobody has read it for a
 * second (cgroup_pidlist_start()): an open descriptor that is read more often never sees a newcomer. So there
 * the file is opened each time, which makes a new list.
 */
#include "probe/cgroup/members.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/cgroup/group.h"
#include "probe/digits.h"

#define READ_STEP 4096

int cgroup_members_open(struct cgroup_members *members, const char *folder, int version)
{
    char path[CGROUP_PATH_SIZE];

    *members = (struct cgroup_members)CGROUP_MEMBERS_NONE;
    if (!cgroup_group_path(folder, "cgroup.procs", path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (version == 2) {
        members->fd = fd;
        return 0;
    }
    (void)close(fd);
    members->path = strdup(path);
    return members->path ? 0 : -ENOMEM;
}

/* The kernel gives such a file in pieces of about a page: it ends where nothing more comes. */
static int read_whole(int fd, struct strbuf *out)
{
    ssize_t count;

    strbuf_reset(out);
    do {
        if (strbuf_reserve(out, READ_STEP) < 0)
            return -ENOMEM;
        count = pread(fd, out->data + out->length, READ_STEP, (off_t)out->length);
        if (count > 0)
            out->length += (size_t)count;
    } while (count > 0 || (count < 0 && errno == EINTR));
    return count < 0 ? -errno : 0;
}

static int visit_pids(const struct strbuf *text, void (*visit)(void *context, pid_t pid), void *context)
{
    const char *at = text->data, *end = at + text->length;
    uint64_t pid;
    int count = 0;

    /* The last line counts only with its end: half a number is another process. */
    while (at < end && (at = digits_read(at, end, &pid)) != NULL && at < end && *at++ == '\n') {
        if (pid == 0 || pid > INT_MAX)
            continue;
        visit(context, (pid_t)pid);
        count++;
    }
    return count;
}

int cgroup_members_read(const struct cgroup_members *members, struct strbuf *scratch,
                        void (*visit)(void *context, pid_t pid), void *context)
{
    int fd = members->path ? open(members->path, O_RDONLY | O_CLOEXEC) : members->fd;

    if (fd < 0) /* a group of v1 that is gone has no file */
        return members->path && errno == ENOENT ? -ENODEV : -EBADF;
    int code = read_whole(fd, scratch);
    if (members->path)
        (void)close(fd);
    return code < 0 ? code : visit_pids(scratch, visit, context);
}

void cgroup_members_close(struct cgroup_members *members)
{
    if (members->fd >= 0)
        (void)close(members->fd);
    free(members->path);
    *members = (struct cgroup_members)CGROUP_MEMBERS_NONE;
}
