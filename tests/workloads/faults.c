/*
 * usage: faults [-c CHILDREN] PAGES [AFTER_SECONDS]
 *
 * Touches PAGES pages of private memory, each once, with huge pages off: one minor fault each. With -c that
 * is done by CHILDREN children, one after the other, PAGES each, and the parent waits for them.
 */
#include <sys/mman.h>

#include "workload.h"

static void touch(long pages)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (size_t)pages * page_bytes;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        workload_fail("mmap");
    (void)madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += page_bytes)
        memory[i] = 1;
}

int main(int argc, char **argv)
{
    long children = 0;
    int option;

    while ((option = getopt(argc, argv, "c:")) != -1) {
        if (option != 'c')
            workload_usage("faults [-c CHILDREN] PAGES [AFTER_SECONDS]");
        children = argument_integer(optarg);
    }
    if (argc - optind < 1)
        workload_usage("faults [-c CHILDREN] PAGES [AFTER_SECONDS]");
    long pages = argument_integer(argv[optind]);
    if (children == 0)
        touch(pages);
    for (long i = 0; i < children; i++) {
        pid_t pid = fork_checked();
        if (pid == 0) {
            touch(pages);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
    if (argc - optind > 1)
        sleep_seconds(argument_number(argv[optind + 1]));
    return 0;
}
