/*
 * usage: hog [-c EXIT_CODE] BYTES
 *
 * Offers itself to the OOM killer (oom_score_adj 1000), then touches BYTES of private memory and leaves with
 * 0. -c: a child does so; this process exits with EXIT_CODE if the child was killed with SIGKILL, with 97 if
 * not.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "workload.h"

static void offer_itself(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, "1000", 4) != 4 || close(fd) != 0)
        workload_fail("oom_score_adj");
}

static void take(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        workload_fail("mmap");
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)memory)[i] = 1;
}

int main(int argc, char **argv)
{
    const char *exit_code = NULL;
    int option;

    while ((option = getopt(argc, argv, "c:")) != -1) {
        if (option != 'c')
            workload_usage("hog [-c EXIT_CODE] BYTES");
        exit_code = optarg;
    }
    if (argc - optind != 1)
        workload_usage("hog [-c EXIT_CODE] BYTES");
    size_t bytes = (size_t)argument_number(argv[optind]);
    pid_t pid = exit_code != NULL ? fork_checked() : 0;

    if (pid == 0) {
        offer_itself();
        take(bytes);
        return 0;
    }
    int status = wait_checked(pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? (int)argument_integer(exit_code) : 97;
}
