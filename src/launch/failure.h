/*
 * Why a command could not be run, in a shell's words.
 */
#ifndef METRON_LAUNCH_FAILURE_H
#define METRON_LAUNCH_FAILURE_H

#include "base/error.h"

/* `command` is argv[0], `code` the negative errno of execvpe. Checks the file (or, for a bare name, along
 * PATH) to distinguish what exec reports with one errno. Returns the code that fits best, for
 * launch_failure_exit_code. */
int failure_explain(const char *command, int code, struct metron_error *error);

#endif
