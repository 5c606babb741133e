/*
 * Files about the whole machine: /proc/meminfo, /proc/loadavg, /proc/stat, /proc/cpuinfo, /etc/os-release.
 * Bytes in, struct out.
 */
#ifndef METRON_PROBE_SYSTEM_FILES_H
#define METRON_PROBE_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct meminfo { /* bytes */
    uint64_t total, free, available, swap_total, swap_free;
    bool has_available; /* from Linux 3.14 */
};
int meminfo_parse(const char *text, size_t length, struct meminfo *out);

struct loadavg {
    double load1, load5, load15;
};
int loadavg_parse(const char *text, size_t length, struct loadavg *out);

struct system_stat { /* the "cpu " line, USER_HZ ticks; guest is already in user */
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    uint64_t boot_time; /* btime: seconds since the epoch, 0 if absent */
};
int system_stat_parse(const char *text, size_t length, struct system_stat *out);

#define SYSTEM_NAME_SIZE 128 /* what is longer is cut */
/* What the first CPU is called, from the beginning of cpuinfo. Where it has no name, as on most aarch64, the
 * numbers of its implementer and part: "implementer 0x41, part 0xd0c". -EBADMSG: there is neither. */
int cpuinfo_parse(const char *text, size_t length, char out[SYSTEM_NAME_SIZE]);
/* PRETTY_NAME of os-release(5), which is the whole file. -EBADMSG: there is none. */
int os_release_parse(const char *text, size_t length, char out[SYSTEM_NAME_SIZE]);

#endif
