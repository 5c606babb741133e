/* What `metron daemon` is called and takes: for the command, and for the program that it becomes. */
#ifndef METRON_CMD_DAEMON_DESCRIPTION_H
#define METRON_CMD_DAEMON_DESCRIPTION_H

#include "settings/options.h"

extern const struct command_description daemon_description;

#endif
