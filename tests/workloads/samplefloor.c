/*
 * usage: samplefloor COUNT INTERVAL ROUNDS
 *
 * The least that sampling can cost here: COUNT sleeping children, and every INTERVAL seconds the CPU clock
 * and the stat file, kept open, of each is read and thrown away, ROUNDS times. Prints the CPU milliseconds of
 * one round. A machine's speed and mood are in it as they are in metron's own figures of the same minute.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "workload.h"

int main(int argc, char **argv)
{
    if (argc != 4)
        workload_usage("samplefloor COUNT INTERVAL ROUNDS");
    long count = argument_integer(argv[1]);
    double interval = argument_number(argv[2]);
    long rounds = argument_integer(argv[3]);
    pid_t *pids = calloc((size_t)count, sizeof(*pids));
    int *files = calloc((size_t)count, sizeof(*files));
    struct rlimit limit;

    if (!pids || !files || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        workload_fail("samplefloor");
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    for (long i = 0; i < count; i++) {
        char path[64];
        pids[i] = fork();
        if (pids[i] == 0)
            for (;;)
                pause();
        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pids[i]);
        files[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (pids[i] < 0 || files[i] < 0)
            workload_fail("samplefloor");
    }

    char text[1024];
    struct timespec now;
    double before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long round = 0; round < rounds; round++) {
        sleep_seconds(interval);
        for (long i = 0; i < count; i++) {
            /* the process CPU clock of a pid, as clock_getcpuclockid(3) makes it */
            clockid_t clock = (clockid_t)((~(unsigned)pids[i] << 3) | 2U);
            if (clock_gettime(clock, &now) != 0 || pread(files[i], text, sizeof(text), 0) <= 0)
                workload_fail("read");
        }
    }
    (void)printf("%.4f\n", 1e3 * (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / (double)rounds);
    for (long i = 0; i < count; i++)
        (void)kill(pids[i], SIGKILL);
    return 0;
}
