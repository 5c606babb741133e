/*
 * The facts about kernel and machine. Each is found by asking the thing itself: a distribution's kernel has
 * other features than its version number says.
 */
#include "probe/kernel.h"

#include <errno.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/digits.h"
#include "probe/numbers_dir.h"
#include "probe/pid/stat.h"

#define CPU_SET_LIMIT (1 << 20) /* more CPUs than any kernel can be built for */

/* The affinity mask as a count. cpu_set_t ends at 1,024 CPUs and the kernel refuses (EINVAL) a mask shorter
 * than its own: so it grows until it is taken. */
unsigned kernel_usable_cpus(pid_t pid)
{
    for (size_t cpus = 1024; cpus <= CPU_SET_LIMIT; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        int count = 0;
        bool again;

        if (set == NULL)
            break;
        again = sched_getaffinity(pid, size, set) < 0 && errno == EINVAL;
        if (!again)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (!again)
            return count > 0 ? (unsigned)count : 1;
    }
    return 1;
}

/* The first line of a file, without its newline; "" if it cannot be had or does not fit. */
static void line_read(int root_fd, const char *path, char *out, size_t capacity)
{
    if (file_read(root_fd, path, out, capacity) < 0)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* Linux 6.2 and later give the number of descriptors as the size of PID/fd; before, it is 0. Compared with a
 * listing of our own, which holds at least the descriptor that it is read through. Another thread may open
 * or close one between the two: hence the second try. */
static bool fd_count_in_size_probe(int root_fd)
{
    int fd = openat(root_fd, "self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool equal = false;

    if (fd < 0)
        return false;
    for (int try = 0; try < 2 && !equal; try++) {
        struct stat status;

        equal = fstat(fd, &status) == 0 && status.st_size > 0 &&
                status.st_size == numbers_dir_visit(fd, NULL, NULL);
    }
    close(fd);
    return equal;
}

/* From Linux 5.14 a setting tells, and it is off by default. Before, it was on unless the kernel was built or
 * started without it: then even the first process, which waited for the disk at boot, shows nothing. */
static bool delay_accounting_probe(int root_fd)
{
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    ssize_t length;

    line_read(root_fd, "sys/kernel/task_delayacct", text, sizeof(text));
    if (text[0])
        return text[0] == '1';
    length = file_read(root_fd, "1/stat", text, sizeof(text));
    return length > 0 && pid_stat_parse(text, (size_t)length, &stat) == 0 && stat.blocked_ticks > 0;
}

/* self is a link to our pid, and a process's first thread has the same number. */
static bool children_files_probe(int root_fd)
{
    char self[24], path[80];
    ssize_t length = readlinkat(root_fd, "self", self, sizeof(self) - 1);

    if (length <= 0)
        return false;
    self[length] = '\0';
    snprintf(path, sizeof(path), "%s/task/%s/children", self, self);
    return faccessat(root_fd, path, R_OK, 0) == 0;
}

#if defined(__x86_64__) || defined(__i386__)
/* From the CPU itself, as the kernel has it: from Linux 4.15 to 5.17 opening cpuinfo interrupts all CPUs, to
 * measure their frequencies, and may take 10 ms. */
static bool cpu_model_ask(char out[SYSTEM_NAME_SIZE])
{
    enum { FIRST = 0x80000002, LAST = 0x80000004 };
    unsigned words[3][4];
    char text[sizeof("model name:\n") + sizeof(words)];

    for (unsigned leaf = FIRST; leaf <= (unsigned)LAST; leaf++) {
        unsigned *to = words[leaf - FIRST];
        if (!__get_cpuid(leaf, &to[0], &to[1], &to[2], &to[3]))
            return false;
    }
    int length = snprintf(text, sizeof(text), "model name:%.*s\n", (int)sizeof(words), (const char *)words);
    return cpuinfo_parse(text, (size_t)length, out) == 0;
}
#else
static bool cpu_model_ask(char out[SYSTEM_NAME_SIZE])
{
    (void)out;
    return false;
}
#endif

/* The first CPU is in the first lines of a long file. */
static void cpu_model_read(int root_fd, bool live, char out[SYSTEM_NAME_SIZE])
{
    char text[4096];

    if (live && cpu_model_ask(out))
        return;
    ssize_t length = file_read(root_fd, "cpuinfo", text, sizeof(text));
    if (length == -E2BIG)
        length = sizeof(text) - 1;
    if (length <= 0 || cpuinfo_parse(text, (size_t)length, out) < 0)
        out[0] = '\0';
}

/* As os-release(5) says, the second where the first is not there. */
static void os_name_read(char out[SYSTEM_NAME_SIZE])
{
    static const char *const paths[] = {"/etc/os-release", "/usr/lib/os-release"};
    char text[4096];

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        ssize_t length = file_read(AT_FDCWD, paths[i], text, sizeof(text));
        if (length > 0 && os_release_parse(text, (size_t)length, out) == 0)
            return;
    }
    out[0] = '\0';
}

static bool is_live(const char *proc_root)
{
    size_t length = strlen(proc_root);

    while (length > 1 && proc_root[length - 1] == '/')
        length--;
    return length == 5 && memcmp(proc_root, "/proc", 5) == 0;
}

int kernel_facts_read(const char *proc_root, struct kernel_facts *out)
{
    char text[4096];
    struct meminfo memory;
    uint64_t pid_max;
    struct utsname names;
    ssize_t length;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int root_fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root_fd < 0)
        return -errno;
    *out = (struct kernel_facts){
        .live = is_live(proc_root),
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
        .ticks_per_second = sysconf(_SC_CLK_TCK),
        .usable_cpus = kernel_usable_cpus(0),
        .online_cpus = online > 0 ? (unsigned)online : 1,
        .has_children_files = children_files_probe(root_fd),
        .delay_accounting = delay_accounting_probe(root_fd),
    };
    /* In a recorded tree a folder's size is the file system's affair. */
    out->fd_count_in_size = out->live && fd_count_in_size_probe(root_fd);

    line_read(root_fd, "sys/kernel/random/boot_id", out->boot_id, sizeof(out->boot_id));
    line_read(root_fd, "sys/kernel/osrelease", out->release, sizeof(out->release));
    line_read(root_fd, "sys/kernel/hostname", out->hostname, sizeof(out->hostname));
    line_read(root_fd, "sys/kernel/pid_max", text, sizeof(text));
    if (digits_read(text, text + strlen(text), &pid_max) != NULL && pid_max <= INT32_MAX)
        out->pid_max = (pid_t)pid_max;
    cpu_model_read(root_fd, out->live, out->cpu_model);
    if (!out->live) {
        line_read(root_fd, "sys/kernel/arch", out->architecture, sizeof(out->architecture)); /* Linux 6.1 */
    } else {
        os_name_read(out->os_name);
        if (uname(&names) == 0)
            (void)snprintf(out->architecture, sizeof(out->architecture), "%s", names.machine);
    }
    length = file_read(root_fd, "meminfo", text, sizeof(text));
    if (length > 0 && meminfo_parse(text, (size_t)length, &memory) == 0)
        out->memory_bytes = memory.total;
    close(root_fd);
    return 0;
}
