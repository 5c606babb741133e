/*
 * LD_PRELOAD=clockstep.so CLOCKSTEP_AFTER=SECONDS CLOCKSTEP_BY=SECONDS COMMAND
 *
 * COMMAND sees the wall clock step by CLOCKSTEP_BY (negative: back) once CLOCKSTEP_AFTER seconds have passed
 * since it first asked for any time. Every other clock is left alone, and so is the machine: a real step
 * would be everybody's. What the kernel itself stamps (files, btime) does not step.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double number_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtod(text, NULL) : 0;
}

static double seconds_of(const struct timespec *time)
{
    return (double)time->tv_sec + (double)time->tv_nsec / 1e9;
}

/* What is to be added to the wall clock now. Racing threads at worst agree on a start a moment apart. */
static time_t step(void)
{
    static double start;
    struct timespec now;

    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    if (start <= 0)
        start = seconds_of(&now);
    return seconds_of(&now) - start >= number_of("CLOCKSTEP_AFTER") ? (time_t)number_of("CLOCKSTEP_BY") : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    time_t added = step();
    int code = (int)syscall(SYS_clock_gettime, clock, now);

    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += added;
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *now, int base)
{
    return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}
