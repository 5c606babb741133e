/*
 * usage: bursts FILE THREADS BURSTS BURST_SECONDS GAP_SECONDS
 *
 * THREADS threads (the main one included), kept on two CPUs, burn together for BURST_SECONDS of wall time,
 * then sleep GAP_SECONDS, BURSTS times. FILE gets the truth: lines "THREAD MONOTONIC_NS CPU_NS", each
 * thread's own CPU clock at the start and the end of each burst and after every millisecond of CPU in it. A
 * thread's clock is exact for the thread that reads it; between two lines it is known to that millisecond.
 * SIGTERM ends it early, with the truth until then.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "workload.h"

#define MAX_THREADS 16
#define MARK_NS     1000000

struct mark {
    int64_t monotonic_ns, cpu_ns;
};

struct burner {
    struct mark *marks;
    size_t count, capacity;
};

static struct burner burners[MAX_THREADS];
static long threads, bursts;
static int64_t start_ns, burst_ns, gap_ns;
static volatile sig_atomic_t is_ended;

static void on_sigterm(int number)
{
    (void)number;
    is_ended = 1;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        workload_fail("clock_gettime");
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct mark burner_mark(struct burner *burner)
{
    struct mark mark = {.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                        .monotonic_ns = clock_ns(CLOCK_MONOTONIC)};

    if (burner->count < burner->capacity)
        burner->marks[burner->count++] = mark;
    return mark;
}

static void burst(struct burner *burner, int64_t until_ns)
{
    struct mark last = burner_mark(burner);
    volatile uint64_t sink = 0;

    while (!is_ended && clock_ns(CLOCK_MONOTONIC) < until_ns) {
        for (unsigned i = 0; i < 4000; i++)
            sink = sink + i;
        if (clock_ns(CLOCK_THREAD_CPUTIME_ID) - last.cpu_ns >= MARK_NS)
            last = burner_mark(burner);
    }
    (void)burner_mark(burner);
}

static void *burner_main(void *argument)
{
    for (long i = 0; i < bursts && !is_ended; i++) {
        int64_t begin_ns = start_ns + i * (burst_ns + gap_ns);
        struct timespec begin = {.tv_sec = begin_ns / 1000000000, .tv_nsec = begin_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL) == EINTR)
            ;
        burst(argument, begin_ns + burst_ns);
    }
    return NULL;
}

/* Two of the CPUs we may use, so that the kernel is behind by at most two ticks at any moment. */
static void keep_on_two_cpus(void)
{
    cpu_set_t usable, two;

    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
        workload_fail("sched_getaffinity");
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, &usable))
            CPU_SET(cpu, &two);
    if (sched_setaffinity(0, sizeof(two), &two) != 0)
        workload_fail("sched_setaffinity");
}

static void write_truth(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL)
        workload_fail(path);
    for (long i = 0; i < threads; i++)
        for (size_t k = 0; k < burners[i].count; k++)
            (void)fprintf(file, "%ld %lld %lld\n", i, (long long)burners[i].marks[k].monotonic_ns,
                          (long long)burners[i].marks[k].cpu_ns);
    if (fclose(file) != 0)
        workload_fail(path);
}

int main(int argc, char **argv)
{
    const char *usage = "bursts FILE THREADS BURSTS BURST_SECONDS GAP_SECONDS";
    pthread_t others[MAX_THREADS];

    if (argc != 6)
        workload_usage(usage);
    threads = argument_integer(argv[2]);
    bursts = argument_integer(argv[3]);
    burst_ns = (int64_t)(argument_number(argv[4]) * 1e9);
    gap_ns = (int64_t)(argument_number(argv[5]) * 1e9);
    if (threads < 1 || threads > MAX_THREADS)
        workload_usage(usage);
    if (signal(SIGTERM, on_sigterm) == SIG_ERR)
        workload_fail("signal");
    keep_on_two_cpus();
    for (long i = 0; i < threads; i++) {
        burners[i].capacity = (size_t)bursts * (size_t)(burst_ns / MARK_NS + 3);
        burners[i].marks = calloc(burners[i].capacity, sizeof(*burners[i].marks));
        if (burners[i].marks == NULL)
            workload_fail("calloc");
    }
    start_ns = clock_ns(CLOCK_MONOTONIC) + gap_ns;
    for (long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, burner_main, &burners[i]) != 0)
            workload_fail("pthread_create");
    (void)burner_main(&burners[0]);
    for (long i = 1; i < threads; i++)
        (void)pthread_join(others[i], NULL);
    sleep_seconds((double)gap_ns / 1e9);
    write_truth(argv[1]);
    return 0;
}
