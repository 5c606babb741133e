/*
 * Clocks and their text. Time zones change their offset only on quarters of an hour, so the offset is asked
 * of the C library once per quarter and thread; the date is then plain arithmetic.
 */
#include "base/clock.h"

#include <stdbool.h>
#include <unistd.h>

#define NS_PER_MS (NS_PER_SECOND / 1000)

#define QUARTER_SECONDS 900

static uint64_t read_clock_ns(clockid_t id)
{
    struct timespec now = {0};

    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_after_ms(int64_t milliseconds)
{
    return milliseconds < 0 ? UINT64_MAX : clock_monotonic_ns() + (uint64_t)milliseconds * NS_PER_MS;
}

int clock_ms_until(uint64_t end_ns)
{
    const uint64_t now_ns = clock_monotonic_ns();

    if (end_ns == UINT64_MAX)
        return -1;
    return now_ns < end_ns ? (int)((end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

int64_t clock_elapsed_ns(uint64_t from_ns, uint64_t to_ns)
{
    return (int64_t)(to_ns - from_ns);
}

uint64_t clock_thread_cpu_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_wall(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

struct timespec clock_wall_at(uint64_t monotonic_ns)
{
    struct timespec wall = clock_wall();
    int64_t ago_ns = clock_elapsed_ns(monotonic_ns, clock_monotonic_ns());
    int64_t nanoseconds = (int64_t)wall.tv_nsec - ago_ns % (int64_t)NS_PER_SECOND;

    wall.tv_sec -= ago_ns / (int64_t)NS_PER_SECOND + (nanoseconds < 0);
    wall.tv_nsec = nanoseconds + (nanoseconds < 0) * (int64_t)NS_PER_SECOND;
    return wall;
}

double clock_timespec_seconds(struct timespec time)
{
    return (double)time.tv_sec + (double)time.tv_nsec / (double)NS_PER_SECOND;
}

double clock_wall_seconds(void)
{
    return clock_timespec_seconds(clock_wall());
}

double clock_boot_seconds(void)
{
    return (double)read_clock_ns(CLOCK_BOOTTIME) / (double)NS_PER_SECOND;
}

int64_t clock_suspended_ns(void)
{
    /* Monotonic first and last: the time between the two reads must not look like a suspension. */
    uint64_t before = read_clock_ns(CLOCK_MONOTONIC);
    uint64_t boot = read_clock_ns(CLOCK_BOOTTIME);
    uint64_t after = read_clock_ns(CLOCK_MONOTONIC);
    int64_t suspended = (int64_t)(boot - (before + (after - before) / 2));

    return suspended < 0 ? 0 : suspended;
}

double clock_timeval_seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

long clock_ticks_per_second(void)
{
    static long ticks; /* every thread would store the same value */
    long known = __atomic_load_n(&ticks, __ATOMIC_RELAXED);

    if (known == 0) {
        known = sysconf(_SC_CLK_TCK);
        if (known <= 0)
            known = 100;
        __atomic_store_n(&ticks, known, __ATOMIC_RELAXED);
    }
    return known;
}

static int64_t divide_down(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static long offset_at(time_t seconds)
{
    static _Thread_local struct {
        int64_t quarter;
        long offset;
        bool known;
    } cache;
    int64_t quarter = divide_down(seconds, QUARTER_SECONDS);

    if (!cache.known || cache.quarter != quarter) {
        struct tm local;

        cache.offset = localtime_r(&seconds, &local) ? local.tm_gmtoff : 0;
        cache.quarter = quarter;
        cache.known = true;
    }
    return cache.offset;
}

/* Years 0 to 9999: a clock that is past them is broken, and its text must still fit. */
#define LOWEST_SECOND  (-62167219200 + 86400)
#define HIGHEST_SECOND (253402300799 - 86400)

struct date {
    int year, month, day, hour, minute, second;
};

/* Days since 1970 to a Gregorian date: years begin in March, so that the leap day is the last. Eras are 400
 * years, 146097 days. */
static struct date date_of(int64_t local_seconds)
{
    int64_t days = divide_down(local_seconds, 86400);
    int64_t second_of_day = local_seconds - days * 86400;
    int64_t shifted = days + 719468; /* since 0000-03-01 */
    int64_t era = divide_down(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;

    return (struct date){
        .year = (int)(year_of_era + era * 400 + (month <= 2)),
        .month = (int)month,
        .day = (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
        .hour = (int)(second_of_day / 3600),
        .minute = (int)(second_of_day / 60 % 60),
        .second = (int)(second_of_day % 60),
    };
}

static char *put_digits(char *at, long value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        at[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return at + width;
}

/* YYYY?MM?DDTHH?MM?SS with the given separators; the offset that was applied is returned in `offset`. */
static char *put_date(char *at, time_t seconds, char in_date, char in_time, long *offset)
{
    int64_t bounded = seconds < LOWEST_SECOND ? LOWEST_SECOND : seconds;

    if (bounded > HIGHEST_SECOND)
        bounded = HIGHEST_SECOND;
    *offset = offset_at((time_t)bounded);

    struct date date = date_of(bounded + *offset);

    at = put_digits(at, date.year, 4);
    *at++ = in_date;
    at = put_digits(at, date.month, 2);
    *at++ = in_date;
    at = put_digits(at, date.day, 2);
    *at++ = 'T';
    at = put_digits(at, date.hour, 2);
    *at++ = in_time;
    at = put_digits(at, date.minute, 2);
    *at++ = in_time;
    return put_digits(at, date.second, 2);
}

bool clock_local(double seconds, struct tm *out)
{
    if (!(seconds >= 0 && seconds < 1e11)) /* a larger one may be more than time_t holds */
        return false;

    time_t whole = (time_t)seconds;

    return localtime_r(&whole, out) != NULL;
}

const char *clock_local_text(double seconds, const char *format, char *out, size_t size)
{
    struct tm parts;

    if (!clock_local(seconds, &parts) || strftime(out, size, format, &parts) == 0)
        out[0] = '\0';
    return out;
}

char *clock_iso8601(struct timespec wall, int digits, char out[CLOCK_ISO_SIZE])
{
    long offset;
    char *at = put_date(out, wall.tv_sec, '-', ':', &offset);

    if (digits > 6)
        digits = 6;
    if (digits > 0) {
        /* Cut, not rounded: rounding could step into the next second. */
        long fraction = wall.tv_nsec / 1000;

        for (int i = digits; i < 6; i++)
            fraction /= 10;
        *at++ = '.';
        at = put_digits(at, fraction, digits);
    }

    long minutes = (offset < 0 ? -offset : offset) / 60;

    *at++ = offset < 0 ? '-' : '+';
    at = put_digits(at, minutes / 60, 2);
    *at++ = ':';
    at = put_digits(at, minutes % 60, 2);
    *at = '\0';
    return out;
}

char *clock_file_stamp(struct timespec wall, char out[CLOCK_ISO_SIZE])
{
    long offset;

    *put_date(out, wall.tv_sec, '.', '.', &offset) = '\0';
    return out;
}
