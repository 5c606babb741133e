/*
 * /proc/PID/environ: the environment that a process was started with, NAME=value ended by NUL. What it has
 * changed since is not in it; what its children inherit is in theirs.
 */
#ifndef METRON_PROBE_PID_ENVIRON_H
#define METRON_PROBE_PID_ENVIRON_H

#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "probe/pid/reader.h"

#define PID_ENVIRON_MAX ((size_t)256 * 1024) /* more of it is not looked at */

/* Reads it into `out`, whose memory is used again. 0; -ESRCH; -EACCES: this user may not see it; -ENOMEM. */
int pid_environ_read(struct pid_reader *reader, pid_t pid, struct strbuf *out);
/* The value of a variable in such a text; NULL: it is not there, or is cut off. */
const char *pid_environ_find(const char *text, size_t length, const char *name);

#endif
