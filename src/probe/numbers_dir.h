/*
 * Folders whose entries are numbers: /proc itself, PID/task, PID/fd.
 */
#ifndef METRON_PROBE_NUMBERS_DIR_H
#define METRON_PROBE_NUMBERS_DIR_H

#include <sys/types.h>

/* Lists an open folder from its beginning, calling `visit` (may be NULL: only count) for each entry whose
 * name is a whole number that fits pid_t; others are passed over. Returns how many there were or a negative
 * errno. */
int numbers_dir_visit(int fd, void (*visit)(void *context, pid_t number), void *context);

#endif
