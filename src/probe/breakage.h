/*
 * Readers that are made to fail on purpose, so that a test can see what a failure costs: its own readings and
 * nothing else (setting `break-readers`). Set once, before anything is read.
 */
#ifndef METRON_PROBE_BREAKAGE_H
#define METRON_PROBE_BREAKAGE_H

#include <stdbool.h>

/* Comma-separated names, borrowed for good; NULL: none. */
void breakage_set(const char *list);
/* Whether the reader of this name fails: a file's own name ("statm", "smaps_rollup"), "clock", "connector",
 * "pressure", "cgroup" or "ps". */
bool breakage_has(const char *reader);
/* 0, or the first name of the list that no reader has, with its length. */
const char *breakage_unknown(const char *list, unsigned *length);

#endif
