/*
 * Reads the CPU clock of a process.
 *
 * The clock's number is made from the pid as the kernel does it (MAKE_PROCESS_CPUCLOCK in
 * include/linux/posix-timers.h): the complement of the pid above three bits, of which 2 is CPUCLOCK_SCHED,
 * the scheduler's own count, and the third says "thread" when set. clock_getcpuclockid(3) computes the same
 * number but asks clock_getres whether the process exists, a second system call for an answer that
 * clock_gettime gives too.
 */
#include "probe/process_clock.h"

#include <errno.h>
#include <time.h>

#include "probe/breakage.h"

#define CPUCLOCK_SCHED 2U

int process_clock_read(pid_t pid, uint64_t *cpu_ns)
{
    struct timespec time;

    if (pid <= 0) /* 0 would mean the caller itself */
        return -ESRCH;
    if (breakage_has("clock"))
        return -EIO;
    if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | CPUCLOCK_SCHED), &time) < 0)
        return -ESRCH; /* the kernel says EINVAL: no such clock */
    *cpu_ns = (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
    return 0;
}
