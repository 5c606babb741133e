/*
 * The end of a run for a person: short, aligned, each number with the name of its method. `metron run` prints
 * it of what it has just measured, `metron ls -f summaries` of a recording: the facts are taken from either,
 * and written by one function, so that both say the same.
 */
#ifndef METRON_VIEW_RUN_SUMMARY_H
#define METRON_VIEW_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "schema/recording.h"
#include "schema/run_info.h"

enum { RUN_SUMMARY_SURVIVORS_MAX = 8 };

/* Texts are borrowed from where they were taken, NULL is absent; a number that was not measured is NAN. */
struct run_summary {
    enum recording_kind kind;
    enum recording_status status;
    bool has_exit_code;
    int exit_code;
    const char *cause;
    const struct run_attached *attached; /* to what; NULL: a command was started, or it is a recording */
    double wall_seconds;
    /* Of a recording only: who has just typed the command knows. */
    const char *command, *job, *message;
    double start_wall; /* unix seconds; 0: not told */

    struct headline_answer cpu, memory, charge, processes, stalls[STALL_COUNT];
    double cpus, memory_bytes; /* that it may use; 0: unknown */
    double processes_at_once;
    double read_bytes, written_bytes;
    const char *read_key, *written_key;
    const char *syscall_method, *hotspot;
    double syscalls, syscall_errors, syscalls_lost, hotspot_share;
    double waiting_share;                /* of the time in calls; NAN: not measured */
    const char *failing, *failing_error; /* the call that failed most, and how; NULL: not known */
    double failing_errors;
    bool syscalls_are_low;
    double own_cpu_seconds, own_rss_bytes, samples, missed_ticks;

    size_t survivors_in_all, survivor_count;
    struct {
        long long pid;
        char command[200]; /* as it is shown; "" if not told */
    } survivors[RUN_SUMMARY_SURVIVORS_MAX];

    const char *prefix; /* of its files; NULL: only info.json is known, `path` */
    const char *path;
    bool discarded;                    /* the files were removed again */
    const struct recording *recording; /* con-duct's own fields are told as they are; NULL: of a live run */
};

/* What is taken must outlive the summary. */
void run_summary_of_info(struct run_summary *summary, const struct run_info *info, bool discarded);
/* The recording must have been read with all its fields. */
void run_summary_of_recording(struct run_summary *summary, const struct recording *recording);
/* The share of its time that a recorded run waited, if it has that. */
struct headline_answer recorded_stall(const struct recording *recording, enum stall stall);
/* Lines are broken at `width` columns; 0: not at all. */
void run_summary_write(struct strbuf *out, const struct run_summary *summary, size_t width, bool colors);

#endif
