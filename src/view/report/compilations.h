/*
 * The slowest compilations of a build, by source file: what compilers took, one process each.
 *
 * The work of gcc or clang counts once: where it starts compilers of its own these count, else it does.
 * What only assembles or links (as, collect2, ld) does not.
 */
#ifndef METRON_VIEW_REPORT_COMPILATIONS_H
#define METRON_VIEW_REPORT_COMPILATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/report/commands.h"

enum { REPORT_COMPILATIONS_MAX = 10 };

struct report_compilation {
    int64_t pid;
    double wall_seconds;
    double cpu_seconds, max_rss; /* of its exit event; cpu_seconds -1, max_rss 0: unknown */
    double sampled_cpu_seconds;  /* of its samples, without those; -1: it has none */
    struct report_command command;
};

struct report_compilations {
    struct report_compilation slowest[REPORT_COMPILATIONS_MAX];
    size_t slowest_count;
    uint64_t count, with_cpu;
    double cpu_seconds; /* of those with_cpu */
};

/* Whether such a command is one to count. `has_started_others`: compilers of its own. */
bool report_compilation_counts(const char *command, bool has_started_others);
/* Whether it is a compiler, or a part of one, so that the process that started it is not to be counted. */
bool report_compilation_is_part(const char *command);
/* Takes one that has ended; the command is copied. */
void report_compilations_add(struct report_compilations *compilations, const struct report_compilation *one);
void report_compilations_fini(struct report_compilations *compilations);

#endif
