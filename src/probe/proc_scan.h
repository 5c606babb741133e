/*
 * All processes of the machine: the folders of PROC_ROOT whose names are numbers. It costs what the machine
 * costs, not what the target costs: for attaching, and for when events were lost.
 */
#ifndef METRON_PROBE_PROC_SCAN_H
#define METRON_PROBE_PROC_SCAN_H

#include <sys/types.h>

#include "probe/pid/reader.h"

/* Calls `visit` for every pid, in the order of the kernel (ascending). Returns their number or a negative
 * errno. */
int proc_scan(struct pid_reader *reader, void (*visit)(void *context, pid_t pid), void *context);

#endif
