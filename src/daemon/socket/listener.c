/*
 * Making and removing the socket's file.
 *
 * The lock is a POSIX record lock, which belongs to the process and ends with it. An flock() would be shared
 * with every child that has been forked and has not called exec yet, and so is the listening socket: after
 * the daemon was killed such a child can keep both for a moment, on a busy machine for long enough to be
 * taken for a living daemon. For the same reason a connection that succeeds proves nothing if the process
 * that called listen() is the one recorded in the lock file: the lock is ours now, so that process is dead.
 * The price of a record lock is that closing any descriptor of the file gives it up: the file is opened once.
 *
 * The lock file is removed too at the end, by the process that holds the lock. Another process may have
 * opened it before that, and then locks a file without a name: after taking the lock, check that the path
 * still leads to it.
 */
#include "daemon/socket/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

#define LOCK_TRIES 10
#define BACKLOG    1024 /* a client that does not wait is turned away by the kernel beyond it */

/* Asks whoever listens there for its pid: 0: it answers, but its pid is not to be seen; -ECONNREFUSED: nobody
 * does; -ENOENT; … */
static pid_t ask_listener(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    pid_t answer;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        answer = errno == EAGAIN ? 0 : -errno; /* EAGAIN: it listens, and many wait before us */
    else
        answer = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
    (void)close(fd);
    return answer;
}

static int refuse(const char *path, pid_t pid, struct metron_error *error)
{
    if (pid > 0)
        return error_set(error, -EADDRINUSE,
                         "socket '%s': a daemon with pid %d listens there already; stop it (metron daemon "
                         "stop) or set socket to another path",
                         path, (int)pid);
    return error_set(error, -EADDRINUSE,
                     "socket '%s': another daemon is there already, or just ending; stop it (metron daemon "
                     "stop) or set socket to another path",
                     path);
}

/* -- The lock -- */

static pid_t read_lock_pid(int fd)
{
    char text[32];
    long pid = file_read_fd(fd, text, sizeof(text)) > 0 ? strtol(text, NULL, 10) : 0;

    return pid > 0 && pid <= 1 << 22 ? (pid_t)pid : 0;
}

static bool lock_file(int fd)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &whole) == 0;
}

/* 0: locked; 1: it was removed under us, try again. */
static int try_lock(struct listener *listener, struct metron_error *error)
{
    struct stat file;
    int fd = open(listener->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int code = 0;

    if (fd < 0)
        return error_set(error, -errno, "lock file '%s': %s", listener->lock_path, strerror(errno));
    if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || (file.st_uid != geteuid() && file.st_uid != 0))
        code = error_set(error, -EPERM, "lock file '%s' is somebody else's; set socket to another path",
                         listener->lock_path);
    else if (!lock_file(fd))
        code = refuse(listener->path, read_lock_pid(fd), error);
    else if (!file_is_at(fd, listener->lock_path))
        code = 1;
    if (code != 0)
        (void)close(fd);
    else
        listener->lock_fd = fd;
    return code;
}

/* `dead`: the pid of the last daemon that held the lock; 0: not known. */
static int take_lock(struct listener *listener, pid_t *dead, struct metron_error *error)
{
    char pid[32];
    int code = 1;

    for (int i = 0; code == 1 && i < LOCK_TRIES; i++)
        code = try_lock(listener, error);
    if (code == 1)
        return refuse(listener->path, 0, error);
    if (code < 0)
        return code;
    *dead = read_lock_pid(listener->lock_fd);
    /* For the message of a second daemon, and for `dead` of the next: no harm if the disk is full. */
    int length = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(listener->lock_fd, 0) == 0)
        (void)file_write_all(listener->lock_fd, pid, (size_t)length);
    return 0;
}

/* -- The socket -- */

static int remove_stale(const char *path, const struct sockaddr_un *address, pid_t dead,
                        struct metron_error *error)
{
    struct stat file;

    if (lstat(path, &file) < 0)
        return errno == ENOENT ? 0 : error_set(error, -errno, "socket '%s': %s", path, strerror(errno));
    if (!S_ISSOCK(file.st_mode))
        return error_set(error, -EEXIST,
                         "'%s' is there and no socket; remove it or set socket to another path", path);

    pid_t pid = ask_listener(address);

    /* The pid of the dead daemon may be ours by now. */
    if (pid > 0 && pid == dead && pid != getpid())
        pid = -ECONNREFUSED;
    if (pid >= 0)
        return refuse(path, pid, error);
    if (pid != -ECONNREFUSED && pid != -ENOENT)
        return error_set(error, (int)pid, "socket '%s' cannot be asked who listens there: %s", path,
                         strerror((int)-pid));
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set(error, -errno, "socket '%s' is a dead daemon's and cannot be removed: %s", path,
                         strerror(errno));
    return 0;
}

static int give_to_group(const struct listener *listener, struct metron_error *error)
{
    if (!listener->has_group)
        return 0;
    if (lchown(listener->path, (uid_t)-1, listener->group) < 0 || chmod(listener->path, 0660) < 0)
        return error_set(error, -errno, "socket '%s' cannot be given to group %u: %s", listener->path,
                         (unsigned)listener->group, strerror(errno));
    return 0;
}

static int bind_and_listen(struct listener *listener, const struct sockaddr_un *address,
                           struct metron_error *error)
{
    struct stat file;

    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The file that bind makes takes its mode from the descriptor: it is never open to others, not even for
     * a moment, whatever the umask. */
    if (listener->fd < 0 || fchmod(listener->fd, 0600) < 0 ||
        bind(listener->fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return error_set(error, -errno, "socket '%s' cannot be made: %s", listener->path, strerror(errno));
    if (lstat(listener->path, &file) < 0)
        return error_set(error, -errno, "socket '%s': %s", listener->path, strerror(errno));
    listener->device = file.st_dev;
    listener->inode = file.st_ino;

    int code = give_to_group(listener, error);

    if (code < 0)
        return code;
    if (listen(listener->fd, BACKLOG) < 0)
        return error_set(error, -errno, "socket '%s': %s", listener->path, strerror(errno));
    return 0;
}

static int find_group(struct listener *listener, const char *name, struct metron_error *error)
{
    if (!name || !*name)
        return 0;

    /* The variant for threads wants a buffer for all members, of whom there may be thousands. */
    /* cppcheck-suppress getgrnamCalled ; before any thread */
    const struct group *group = getgrnam(name); /* NOLINT(concurrency-mt-unsafe) */

    if (!group)
        return error_set(error, -ENOENT, "there is no group '%s'; mend socket_group", name);
    listener->has_group = true;
    listener->group = group->gr_gid;
    return 0;
}

int listener_open(struct listener *listener, const char *path, const char *group, struct metron_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pid_t dead = 0;

    *listener = (struct listener){.fd = -1, .lock_fd = -1};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "socket '%s': longer than the kernel's limit of %zu bytes",
                         path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    listener->path = strdup(path);
    if (asprintf(&listener->lock_path, "%s.lock", path) < 0)
        listener->lock_path = NULL;
    if (!listener->path || !listener->lock_path) {
        listener_close(listener);
        return error_set(error, -ENOMEM, "no memory for the socket");
    }

    int code = find_group(listener, group, error);

    if (code == 0)
        code = take_lock(listener, &dead, error);
    if (code == 0)
        code = remove_stale(path, &address, dead, error);
    if (code == 0)
        code = bind_and_listen(listener, &address, error);
    if (code < 0)
        listener_close(listener);
    return code;
}

static bool socket_is_in_place(const struct listener *listener)
{
    struct stat file;

    return listener->path && listener->inode != 0 && lstat(listener->path, &file) == 0 &&
           file.st_dev == listener->device && file.st_ino == listener->inode;
}

bool listener_is_in_place(const struct listener *listener)
{
    return socket_is_in_place(listener) && file_is_at(listener->lock_fd, listener->lock_path);
}

/* The lock of a file that has no name any more keeps nobody away. */
static int mend_lock(struct listener *listener, struct metron_error *error)
{
    int old = listener->lock_fd;
    pid_t dead;

    if (file_is_at(old, listener->lock_path))
        return 0;
    int code = take_lock(listener, &dead, error);
    if (code == 0)
        (void)close(old);
    return code;
}

static int mend_socket(struct listener *listener, struct metron_error *error)
{
    struct listener fresh = *listener;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (socket_is_in_place(listener))
        return 0;
    memcpy(address.sun_path, listener->path, strlen(listener->path) + 1);
    fresh.fd = -1;
    fresh.inode = 0;
    int code = remove_stale(listener->path, &address, 0, error);
    if (code == 0)
        code = bind_and_listen(&fresh, &address, error);
    if (code == 0 && dup3(fresh.fd, listener->fd, O_CLOEXEC) < 0)
        code = error_set(error, -errno, "socket '%s': %s", listener->path, strerror(errno));
    if (code < 0) {
        listener_shut(&fresh);
        return code;
    }
    (void)close(fresh.fd);
    listener->device = fresh.device;
    listener->inode = fresh.inode;
    return 0;
}

int listener_mend(struct listener *listener, struct metron_error *error)
{
    int code = file_make_folders(listener->path, error);

    if (code == 0)
        code = mend_lock(listener, error);
    return code < 0 ? code : mend_socket(listener, error);
}

void listener_shut(struct listener *listener)
{
    if (socket_is_in_place(listener))
        (void)unlink(listener->path);
    listener->inode = 0;
    file_close(&listener->fd);
}

void listener_close(struct listener *listener)
{
    listener_shut(listener);
    if (listener->lock_path && listener->lock_fd >= 0) {
        if (file_is_at(listener->lock_fd, listener->lock_path))
            (void)unlink(listener->lock_path);
        (void)close(listener->lock_fd);
    }
    free(listener->path);
    free(listener->lock_path);
    *listener = (struct listener){.fd = -1, .lock_fd = -1};
}
