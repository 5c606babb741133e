/*
 * What the records tell of single processes: for each the sum of its counters and the largest of its levels,
 * over all records it is in. The topics of the recording's keys say which are taken: CPU, memory held, bytes
 * moved.
 *
 * The CPU of a process is the sum of its own CPU seconds where the recording has them. Where it has only the
 * largest rate in each window, it is estimated as that rate x the time it was there: good enough to tell
 * which was the hungriest, and never shown without the word.
 */
#ifndef METRON_VIEW_REPORT_PROCESSES_H
#define METRON_VIEW_REPORT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/recording.h"
#include "view/report/commands.h"

/* More processes than this are not ranked, and it is told. */
#define REPORT_PROCESSES_MAX    200000
#define REPORT_PROCESS_KEYS_MAX 12

enum report_use { REPORT_USE_CPU, REPORT_USE_MEMORY, REPORT_USE_IO, REPORT_USE_COUNT };

/* The keys of single processes that are looked at. */
struct report_process_keys {
    struct {
        const struct recorded_key *key;
        enum report_use use;
    } items[REPORT_PROCESS_KEYS_MAX];
    size_t count;
    const struct recorded_key *rate;    /* that CPU seconds are estimated from; NULL: there is none */
    const struct recorded_key *counted; /* the CPU seconds of a process; NULL: they are rate x time */
};

/* One process; everything borrowed. */
struct report_process {
    const char *subject;    /* "4711", "4711#2" */
    const char *start_time; /* NULL: unknown */
    struct report_command command;
    double values[REPORT_PROCESS_KEYS_MAX];
    bool has[REPORT_PROCESS_KEYS_MAX];
    double age;         /* seconds, when last seen; -1: not told */
    double cpu_seconds; /* counted, or an estimate: see report_process_keys; -1: neither */
};

struct report_processes;

/* NULL for want of memory. */
struct report_processes *report_processes_new(const struct recording *recording);
void report_processes_free(struct report_processes *processes);
/* Which keys it needs of each record (or-ed). */
void report_processes_want(const struct report_processes *processes, bool *wanted);
/* A record that is `seconds` long. */
void report_processes_add(struct report_processes *processes, const struct usage_record *record,
                          double seconds);
/* The process of this pid and start time (NULL: unknown); NULL: it is in no record. */
const struct report_process *report_processes_find(const struct report_processes *processes, int64_t pid,
                                                   const char *start_time);
/* What this process used was told exactly at its end: it is left out of the ranking, for memory only if its
 * largest RSS was told as well. */
void report_processes_told(struct report_processes *processes, int64_t pid, const char *start_time,
                           bool rss_is_told);

/* The first of the keys that has this topic, and that `process` (NULL: any) has a value of; -1: none. */
ptrdiff_t report_processes_slot(const struct report_processes *processes, enum topic topic,
                                const struct report_process *process);
const struct report_process_keys *report_processes_keys(const struct report_processes *processes);
/* Whether there were more than are ranked. */
bool report_processes_are_too_many(const struct report_processes *processes);
/* The `limit` largest by one use, of those that used any and were not told exactly; returns how many. */
size_t report_processes_top(const struct report_processes *processes, enum report_use use,
                            struct report_process *out, size_t limit);

#endif
