/* The part of `metron export` that writes the daemon's history. */
#ifndef METRON_CMD_EXPORT_HISTORY_H
#define METRON_CMD_EXPORT_HISTORY_H

#include <stdbool.h>

#include "settings/settings.h"

/* Whether the options given go together. Else what is wrong was logged. */
bool export_history_check(const struct settings *settings, int operands);
/* Becomes metron-history (--history). Returns only if that cannot be: the exit code. */
int export_history(const struct settings *settings);

#endif
