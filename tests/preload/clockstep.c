/*
 * LD_PRELOAD=clockstep.so CLOCKSTEP_WHEN=FILE CLOCKSTEP_BY=SECONDS COMMAND
 *
 * COMMAND sees the wall clock step by CLOCKSTEP_BY (negative: back) once FILE exists. Every other clock is
 * left alone, and so is the machine: a real step would be everybody's. What the kernel itself stamps (files,
 * btime) does not step.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What is to be added to the wall clock now. */
static time_t step(void)
{
    const char *when = getenv("CLOCKSTEP_WHEN"), *by = getenv("CLOCKSTEP_BY");
    int error = errno;
    time_t added = when != NULL && by != NULL && access(when, F_OK) == 0 ? (time_t)strtol(by, NULL, 10) : 0;

    errno = error;
    return added;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int code = (int)syscall(SYS_clock_gettime, clock, now);

    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += step();
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
