/*
 * What strace prints, taken apart: the table of `strace -c`, and the lines of a full trace, which are only
 * counted.
 */
#ifndef METRON_PROBE_STRACE_TABLE_H
#define METRON_PROBE_STRACE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define STRACE_NAME_SIZE 64

/* One line of the table: a system call of all the traced processes together. */
struct strace_call {
    char name[STRACE_NAME_SIZE];
    uint64_t count;
    uint64_t errors; /* of them, failed */
    double seconds;  /* in all; strace rounds to a microsecond, so many short calls may show as 0 */
};

/* Visits each line of every table in the text: there are two where processes of 32 and of 64 bit were traced,
 * and a name may then come twice. What stands around the tables is passed over; a text without a table holds
 * no calls, which is how strace tells that there were none. Returns the number of lines visited, or -EBADMSG
 * for a table that is cut off or not understood: then nothing was visited. `visit` may be NULL. */
int strace_table_parse(const char *text, size_t length,
                       void (*visit)(void *context, const struct strace_call *call), void *context);

/* Counts the calls in a full trace as it passes by, in pieces of any size. Begin with zeroes. */
struct strace_counter {
    uint64_t calls;
    enum { STRACE_AT_WORD, STRACE_IN_NUMBER, STRACE_IN_REST } place;
};
void strace_counter_add(struct strace_counter *counter, const char *bytes, size_t length);

#endif
