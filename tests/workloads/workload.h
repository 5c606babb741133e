/*
 * What the workloads share: burning a known amount of CPU, sleeping, reading arguments.
 *
 * A workload is a small program whose cost is known beforehand, by its own CPU clock and not by the wall, so
 * that a loaded machine changes how long it takes but not what it uses. Workloads print nothing unless their
 * usage comment says so.
 */
#ifndef METRON_TESTS_WORKLOAD_H
#define METRON_TESTS_WORKLOAD_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline _Noreturn void workload_fail(const char *what)
{
    perror(what);
    _exit(99);
}

static inline _Noreturn void workload_usage(const char *usage)
{
    (void)fprintf(stderr, "usage: %s\n", usage);
    exit(98);
}

static inline double clock_seconds(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        workload_fail("clock_gettime");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Spins until `clock` (a CPU clock) reaches `until_seconds`. */
static inline void burn_until(clockid_t clock, double until_seconds)
{
    volatile uint64_t sink = 0;

    while (clock_seconds(clock) < until_seconds)
        for (unsigned i = 0; i < 4000; i++)
            sink = sink + i;
}

/* The whole process has used this much since it was forked, or since its last use of the clock. */
static inline void burn_process(double seconds)
{
    burn_until(CLOCK_PROCESS_CPUTIME_ID, clock_seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds);
}

static inline void burn_thread(double seconds)
{
    burn_until(CLOCK_THREAD_CPUTIME_ID, clock_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds);
}

static inline void sleep_seconds(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static inline double argument_number(const char *text);

/* For so many seconds; "-": for a line on standard input, or its end. So a test can wait for a sample. */
static inline void hold(const char *seconds)
{
    char byte = 0;

    if (strcmp(seconds, "-") != 0) {
        sleep_seconds(argument_number(seconds));
        return;
    }
    while (byte != '\n') {
        ssize_t length = read(STDIN_FILENO, &byte, 1);
        if (length == 0 || (length < 0 && errno != EINTR))
            break;
    }
}

static inline double argument_number(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || value < 0) {
        (void)fprintf(stderr, "not a number: %s\n", text);
        exit(98);
    }
    return value;
}

static inline long argument_integer(const char *text)
{
    return (long)argument_number(text);
}

static inline pid_t fork_checked(void)
{
    pid_t pid = fork();

    if (pid < 0)
        workload_fail("fork");
    return pid;
}

static inline int wait_checked(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

#endif
