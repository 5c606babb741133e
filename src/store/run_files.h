/*
 * What the files of a run are called behind its prefix; and back, from such a file to the prefix.
 */
#ifndef METRON_STORE_RUN_FILES_H
#define METRON_STORE_RUN_FILES_H

#include <stddef.h>

enum run_file { RUN_STDOUT, RUN_STDERR, RUN_USAGE, RUN_EVENTS, RUN_INFO, RUN_FILE_COUNT };

#define RUN_INFO_NAME       "info.json"
#define RUN_DUCT_USAGE_NAME "usage.json" /* what older con-duct calls its usage.jsonl */

extern const char *const run_file_names[RUN_FILE_COUNT];

/* How long the prefix is of a path that ends as a file of a run does, be it there or not; -1: it does not. */
ptrdiff_t run_prefix_length(const char *path);

#endif
