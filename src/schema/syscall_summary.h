/*
 * The system calls of a whole run, from the amounts in its summary (syscall_*_total): the question is which
 * call the time went to.
 */
#ifndef METRON_SCHEMA_SYSCALL_SUMMARY_H
#define METRON_SCHEMA_SYSCALL_SUMMARY_H

#include <stdbool.h>

#include "base/json.h"
#include "schema/record.h"

/* Over all calls; what was not measured is negative. */
struct syscall_sums {
    double count, errors, seconds;
};

/* False: no system calls were counted in this run. */
bool syscall_sums(const struct record *summary, struct syscall_sums *out);
/* The call with the largest share (0 to 1) of the time spent in system calls; `name` is the record's. False:
 * no time was measured. */
bool syscall_hotspot(const struct record *summary, const char **name, double *share);
/* Inside an object: count, errors, seconds, hotspot and by_call, the largest time first. */
void syscall_summary_json(struct json *json, const struct record *summary);

#endif
