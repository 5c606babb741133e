/*
 * Finding the programs that metron is shipped with: metron-bpf, metron-plot, metron-history.
 */
#ifndef METRON_PROBE_COMPANION_H
#define METRON_PROBE_COMPANION_H

#include <limits.h>

/* Beside metron itself (a build folder), or where it was installed. 0, or -ENOENT. Where metron has privilege
 * from its file, only a program that root alone can replace is taken. */
int companion_find(const char *name, char path[PATH_MAX]);

#endif
