/*
 * Points in time as recordings write them. By hand and not with strptime: a usage file has one a line.
 */
#include "schema/recording.h"

/* Exactly `count` digits; -1: they are not. */
static int take_digits(const char **at, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if ((*at)[i] < '0' || (*at)[i] > '9')
            return -1;
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += count;
    return value;
}

/* Days since 1970-01-01 of the Gregorian calendar: years that begin in March have their leap day at the end.
 */
static int64_t days_since_epoch(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static bool take_date(const char **at, int64_t *days)
{
    int year = take_digits(at, 4);

    if (year < 0 || *(*at)++ != '-')
        return false;

    int month = take_digits(at, 2);

    if (month < 1 || month > 12 || *(*at)++ != '-')
        return false;

    int day = take_digits(at, 2);

    if (day < 1 || day > 31)
        return false;
    *days = days_since_epoch(year, month, day);
    return true;
}

static bool take_clock(const char **at, double *seconds)
{
    int hour = take_digits(at, 2);

    if (hour < 0 || hour > 23 || *(*at)++ != ':')
        return false;

    int minute = take_digits(at, 2);

    if (minute < 0 || minute > 59 || *(*at)++ != ':')
        return false;

    int second = take_digits(at, 2);

    if (second < 0 || second > 60)
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    if (**at == '.') {
        double numerator = 0, scale = 1;

        for ((*at)++; **at >= '0' && **at <= '9'; (*at)++)
            if (scale < 1e15) {
                numerator = numerator * 10 + (**at - '0');
                scale *= 10;
            }
        *seconds += numerator / scale;
    }
    return true;
}

/* "+01:00", "+0100", "Z"; without one it is UTC. */
static bool take_offset(const char **at, int *seconds)
{
    *seconds = 0;
    if (**at == 'Z') {
        (*at)++;
        return true;
    }
    if (**at != '+' && **at != '-')
        return true;

    int sign = *(*at)++ == '-' ? -1 : 1;
    int hours = take_digits(at, 2);

    if (hours < 0 || hours > 23)
        return false;
    if (**at == ':')
        (*at)++;

    int minutes = take_digits(at, 2);

    if (minutes < 0 || minutes > 59)
        return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool recording_parse_time(const char *text, double *out)
{
    int64_t days;
    double seconds;
    int offset;

    if (!take_date(&text, &days) || (*text != 'T' && *text != ' '))
        return false;
    text++;
    if (!take_clock(&text, &seconds) || !take_offset(&text, &offset) || *text != '\0')
        return false;
    *out = (double)(days * 86400 - offset) + seconds;
    return true;
}
