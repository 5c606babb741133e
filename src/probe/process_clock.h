/*
 * The CPU clock of another process: nanoseconds of user + system time, threads summed, for any user's process
 * and for zombies, in less than a microsecond. The clock knows only a pid: the caller checks identity beside
 * it.
 */
#ifndef METRON_PROBE_PROCESS_CLOCK_H
#define METRON_PROBE_PROCESS_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

/* 0 and the time, or -ESRCH. */
int process_clock_read(pid_t pid, uint64_t *cpu_ns);

#endif
