/*
 * usage: within MOUNT FILE -- COMMAND [ARGUMENT...]
 *
 * Makes a group below the one it is in (cgroup v2, mounted at MOUNT), runs COMMAND in it, waits until nobody
 * lives there any more, writes the group's CPU time and its own, in microseconds, to FILE, removes the group
 * and exits as COMMAND did. So a count of it is had without its leaving the group it was started
 * in: what it uses is counted there as well. What it costs itself is in the count.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "workload.h"

static char group[4096];

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    if (length < 0)
        workload_fail(path);
    text[length] = '\0';
    (void)close(fd);
}

static void read_group_file(const char *name, char *text, size_t size)
{
    char path[sizeof(group) + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", group, name);
    read_text(path, text, size);
}

static void group_make(const char *mount)
{
    char text[8192];

    read_text("/proc/self/cgroup", text, sizeof(text));
    char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (line == NULL)
        workload_fail("no cgroup v2 in /proc/self/cgroup");
    char *path = strstr(line, "0::") + 3;
    path[strcspn(path, "\n")] = '\0';
    int length = snprintf(group, sizeof(group), "%s/%s/within-%d", mount, path, (int)getpid());
    if (length >= (int)sizeof(group) || mkdir(group, 0755) != 0)
        workload_fail(group);
}

/* The command begins in the group: what moving it there would cost is charged to nobody. */
static pid_t start_command(char **command)
{
    int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct clone_args arguments = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)fd};
    pid_t pid = fd < 0 ? -1 : (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

    if (pid < 0)
        workload_fail("clone3");
    if (pid == 0) {
        (void)execvp(command[0], command);
        workload_fail(command[0]);
    }
    return pid;
}

/* What this program itself has used is counted in the group above as well. */
static long long own_microseconds(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        workload_fail("getrusage");
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
}

static void write_usage(const char *path)
{
    char text[4096];

    read_group_file("cpu.stat", text, sizeof(text));
    const char *usage = strstr(text, "usage_usec ");
    if (usage == NULL)
        workload_fail("cpu.stat");
    FILE *file = fopen(path, "w");
    long long microseconds = strtoll(usage + strlen("usage_usec "), NULL, 10) + own_microseconds();
    if (file == NULL || fprintf(file, "%lld\n", microseconds) < 0 || fclose(file) != 0)
        workload_fail(path);
}

/* Told by the kernel: to look now and then would itself be counted in the group above. */
static void await_empty(void)
{
    char path[sizeof(group) + 64], text[256];

    (void)snprintf(path, sizeof(path), "%s/cgroup.events", group);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct pollfd changed = {.fd = fd, .events = POLLPRI};
    for (;;) {
        ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
        if (length < 0)
            workload_fail(path);
        text[length] = '\0';
        if (strstr(text, "populated 0") != NULL)
            break;
        (void)poll(&changed, 1, -1);
    }
    (void)close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 5 || strcmp(argv[3], "--") != 0)
        workload_usage("within MOUNT FILE -- COMMAND [ARGUMENT...]");
    group_make(argv[1]);
    int status = wait_checked(start_command(argv + 4));
    await_empty();
    write_usage(argv[2]);
    for (int i = 0; i < 100 && rmdir(group) != 0; i++)
        sleep_seconds(0.01);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
