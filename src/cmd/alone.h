/*
 * A command that metron cannot measure: without descriptors, memory or another process metron
 * becomes the command, which then runs as if metron had never been there.
 */
#ifndef METRON_CMD_ALONE_H
#define METRON_CMD_ALONE_H

#include "base/error.h"

/* `error`: why it cannot be measured. Signals are as the caller had them; the environment is ours. Returns
 * only if the command cannot be run: what to exit with, and why. */
int run_alone(char *const *argv, struct metron_error *error);

#endif
