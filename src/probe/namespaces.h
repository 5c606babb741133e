/*
 * Whether this process is in the initial namespace of a kind ("pid", "time", "user"): the kernel's events
 * speak of processes by their numbers there. Where it cannot be told, yes.
 */
#ifndef METRON_PROBE_NAMESPACES_H
#define METRON_PROBE_NAMESPACES_H

#include <stdbool.h>

bool in_initial_namespace(const char *kind);

#endif
