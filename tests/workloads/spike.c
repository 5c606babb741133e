/*
 * usage: spike [-c] [-o FILE] BYTES MILLISECONDS [AFTER_SECONDS]
 *
 * Touches BYTES of private memory, holds them MILLISECONDS, gives them back, lives on AFTER_SECONDS.
 * Either time may be "-": for a line on standard input.
 * -c: a child does it, and has ended before the parent goes on living.
 * -o: FILE is made once the memory is given back.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "workload.h"

static void spike(size_t bytes, const char *hold_seconds)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        workload_fail("mmap");
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)memory)[i] = 1;
    hold(hold_seconds);
    (void)munmap(memory, bytes);
}

int main(int argc, char **argv)
{
    const char *usage = "spike [-c] [-o FILE] BYTES MILLISECONDS [AFTER_SECONDS]";
    const char *path = NULL;
    bool in_child = false;
    int option;

    while ((option = getopt(argc, argv, "co:")) != -1) {
        if (option == 'c')
            in_child = true;
        else if (option == 'o')
            path = optarg;
        else
            workload_usage(usage);
    }
    if (argc - optind < 2)
        workload_usage(usage);
    size_t bytes = (size_t)argument_number(argv[optind]);
    char hold_seconds[32] = "-";
    if (strcmp(argv[optind + 1], "-") != 0)
        (void)snprintf(hold_seconds, sizeof(hold_seconds), "%.3f", argument_number(argv[optind + 1]) / 1e3);

    if (!in_child) {
        spike(bytes, hold_seconds);
    } else {
        pid_t pid = fork_checked();
        if (pid == 0) {
            spike(bytes, hold_seconds);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
    if (path != NULL && open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
        workload_fail(path);
    if (argc - optind > 2)
        hold(argv[optind + 2]);
    return 0;
}
