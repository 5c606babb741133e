/*
 * usage: sharers [-p] BYTES WORKERS SECONDS
 *
 * WORKERS children and their parent have the same BYTES resident for SECONDS: one shared mapping that each of
 * them has touched or, with -p, private memory that the parent had written before it forked and that nobody
 * writes afterwards (copy on write). Prints "ready" once all have it. There are BYTES of memory, however many
 * processes count them. SECONDS "-": for a line on standard input.
 */
#include <stdbool.h>
#include <sys/mman.h>

#include "workload.h"

static void touch_all(char *memory, size_t bytes)
{
    volatile char *page = memory;

    for (size_t i = 0; i < bytes; i += 4096)
        page[i] = 1;
}

static void read_all(const char *memory, size_t bytes)
{
    const volatile char *page = memory;
    char sink;

    for (size_t i = 0; i < bytes; i += 4096)
        sink = page[i];
    (void)sink;
}

/* Says through `done` that it has the memory, then waits until the other end of `release` is closed. */
static _Noreturn void worker_main(const char *memory, size_t bytes, int done, int release)
{
    char byte = 'r';

    read_all(memory, bytes);
    if (write(done, &byte, 1) != 1)
        workload_fail("write");
    while (read(release, &byte, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *usage = "sharers [-p] BYTES WORKERS SECONDS";
    bool is_private = false;
    int option, done[2], release[2];
    char byte;

    while ((option = getopt(argc, argv, "p")) != -1) {
        if (option != 'p')
            workload_usage(usage);
        is_private = true;
    }
    if (argc - optind != 3)
        workload_usage(usage);
    size_t bytes = (size_t)argument_number(argv[optind]);
    long workers = argument_integer(argv[optind + 1]);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_ANONYMOUS | (is_private ? MAP_PRIVATE : MAP_SHARED), -1, 0);

    if (memory == MAP_FAILED || pipe(done) != 0 || pipe(release) != 0)
        workload_fail("sharers");
    touch_all(memory, bytes);
    for (long i = 0; i < workers; i++) {
        if (fork_checked() == 0) {
            (void)close(release[1]);
            worker_main(memory, bytes, done[1], release[0]);
        }
    }
    for (long i = 0; i < workers; i++)
        if (read(done[0], &byte, 1) != 1)
            workload_fail("read");
    (void)puts("ready");
    (void)fflush(stdout);
    hold(argv[optind + 2]);
    (void)close(release[1]);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}
