#include "probe/program_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int program_find(const char *name, char path[PROGRAM_PATH_SIZE])
{
    const char *folder = getenv("PATH");
    const size_t name_size = strlen(name) + 1;
    struct stat file;

    if (folder == NULL)
        folder = "/usr/bin:/bin";
    while (*folder != '\0') {
        size_t length = strcspn(folder, ":");

        /* A relative one would mean a program of whatever folder we are in. */
        if (*folder == '/' && length + 1 + name_size <= PROGRAM_PATH_SIZE) {
            memcpy(path, folder, length);
            path[length] = '/';
            memcpy(path + length + 1, name, name_size);
            if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0)
                return 0;
        }
        folder += length + (folder[length] == ':');
    }
    path[0] = '\0';
    return -ENOENT;
}

static void attributes_fill(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGKILL);
    (void)sigdelset(&all, SIGSTOP);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    (void)posix_spawnattr_setflags(attributes,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

/* Its standard output goes into `output`. */
static int spawn(const char *path, char *const argv[], char *const environment[], int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);

    if (code != 0)
        return -code;
    code = posix_spawnattr_init(&attributes);
    if (code != 0)
        goto out;
    attributes_fill(&attributes);
    code = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (code == 0)
        code = posix_spawn(pid, path, &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
out:
    (void)posix_spawn_file_actions_destroy(&actions);
    return -code;
}

int program_start(const char *path, char *const argv[], char *const environment[], pid_t *pid, int *output)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int code = spawn(path, argv, environment, ends[1], pid);
    (void)close(ends[1]);
    if (code < 0)
        (void)close(ends[0]);
    else
        *output = ends[0];
    return code;
}

int program_read(int output, uint64_t deadline_ns, size_t most, struct strbuf *text)
{
    char bytes[16384];

    for (;;) {
        struct pollfd waiting = {.fd = output, .events = POLLIN};

        if (clock_monotonic_ns() >= deadline_ns)
            return -ETIME;
        int ready = poll(&waiting, 1, clock_ms_until(deadline_ns));
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready <= 0)
            continue;
        ssize_t length = read(output, bytes, sizeof(bytes));
        if (length == 0)
            return text->failed ? -ENOMEM : 0;
        if (length < 0 && errno != EINTR)
            return -errno;
        if (length > 0)
            strbuf_add(text, bytes, (size_t)length);
        if (text->length > most)
            return -EFBIG;
    }
}

int program_wait(pid_t pid, uint64_t deadline_ns, int *status, struct rusage *usage)
{
    struct timespec pause = {.tv_nsec = 100000};

    for (;;) {
        pid_t found = wait4(pid, status, WNOHANG, usage);

        if (found == pid)
            return 0;
        if (found < 0 && errno != EINTR)
            return -errno;
        if (clock_monotonic_ns() >= deadline_ns)
            return -ETIME;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec *= 2;
    }
}
