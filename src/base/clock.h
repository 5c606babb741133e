/*
 * Clocks. Intervals are monotonic nanoseconds; the wall clock is for labels only, so that a step of it
 * changes no rate.
 */
#ifndef METRON_BASE_CLOCK_H
#define METRON_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ULL

uint64_t clock_monotonic_ns(void);
/* So many milliseconds from now; negative: never, which is UINT64_MAX. */
uint64_t clock_after_ms(int64_t milliseconds);
/* Milliseconds until then, rounded up, as poll takes them; -1: never. */
int clock_ms_until(uint64_t end_ns);
/* From one monotonic time to another; negative: the other is earlier. Who began before the machine was
 * suspended for long was born before the monotonic clock began, which is below 0: never compare with < . */
int64_t clock_elapsed_ns(uint64_t from_ns, uint64_t to_ns);
/* CPU time of this thread: what it cost, however busy the machine was. */
uint64_t clock_thread_cpu_ns(void);
struct timespec clock_wall(void);
/* The same as unix seconds. */
double clock_wall_seconds(void);
double clock_timespec_seconds(struct timespec time);
/* Since the machine was booted, the time that it slept included; nobody can set it. */
double clock_boot_seconds(void);
/* The wall clock at an earlier monotonic time, if it was not set since. */
struct timespec clock_wall_at(uint64_t monotonic_ns);
/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC: the time this machine was suspended. */
int64_t clock_suspended_ns(void);
/* As getrusage and wait4 give times. */
double clock_timeval_seconds(struct timeval time);
/* Kernel ticks (USER_HZ, what /proc counts in) per second; read once. */
long clock_ticks_per_second(void);

/* Unix seconds as local time. False: no calendar shows it (before 1970, or after the year 5000). */
bool clock_local(double seconds, struct tm *out);
/* The same as text, by a format of strftime; "" where it cannot be shown. Returns `out`. */
const char *clock_local_text(double seconds, const char *format, char *out, size_t size);

/* Longest: 2026-11-15T07:42:53.123456+00:00 and NUL. */
#define CLOCK_ISO_SIZE 40
/* ISO-8601, local time with offset, with `digits` (0 to 6) of fraction. Returns `out`. */
char *clock_iso8601(struct timespec wall, int digits, char out[CLOCK_ISO_SIZE]);
/* 2026.11.15T07.42.53 (local time), as file names have it. Returns `out`. */
char *clock_file_stamp(struct timespec wall, char out[CLOCK_ISO_SIZE]);

#endif
