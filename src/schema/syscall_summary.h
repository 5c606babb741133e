/*
 * The system calls of a whole run, from the amounts in its summary (syscall_*_total): which call the time
 * went to, how much of it was waiting, and which call failed.
 */
#ifndef METRON_SCHEMA_SYSCALL_SUMMARY_H
#define METRON_SCHEMA_SYSCALL_SUMMARY_H

#include <stdbool.h>

#include "base/json.h"
#include "schema/record.h"

/* Over all calls; what was not measured is negative. */
struct syscall_sums {
    double count, errors, seconds;
    double waiting_seconds; /* of those, in calls that wait */
};

/* The call that failed most often. */
struct syscall_failing {
    const char *name; /* the record's */
    double errors;
    const char *error; /* the most frequent one of it: "ENOENT"; NULL: not known; the record's */
};

/* False: no system calls were counted in this run. */
bool syscall_sums(const struct record *summary, struct syscall_sums *out);
/* Whether a call of this name does nothing but wait: for events, a lock, a child (vfork: until it executes),
 * a time. A read may wait as well, of a pipe; that cannot be known. */
bool syscall_waits(const char *name);
/* `state` of an amount by call and error, "openat ENOENT": its error if it is of this call, else NULL. */
const char *syscall_error_of(const char *state, const char *call);
/* False: nothing failed, or it was not counted. */
bool syscall_failing(const struct record *summary, struct syscall_failing *out);
/* The call with the largest share (0 to 1) of the time spent in system calls; `name` is the record's. False:
 * no time was measured. */
bool syscall_hotspot(const struct record *summary, const char **name, double *share);
/* Inside an object: count, errors, seconds, waiting_seconds, working_seconds, hotspot, most_errors and
 * by_call, the largest time first. */
void syscall_summary_json(struct json *json, const struct record *summary);

#endif
