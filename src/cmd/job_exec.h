/*
 * metron job exec: a sheet of a running job, as a command in a control group of its own.
 */
#ifndef METRON_CMD_JOB_EXEC_H
#define METRON_CMD_JOB_EXEC_H

#include "settings/settings.h"

/* `command` is NULL-terminated. Returns the exit code: the command's own, as a shell has it. */
int job_exec(const struct settings *settings, const char *job, long long sheet, char **command);

#endif
