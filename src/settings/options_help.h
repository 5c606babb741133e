/*
 * The texts about a command's options, from the same table that parses them: --help, --usage, the man page.
 */
#ifndef METRON_SETTINGS_OPTIONS_HELP_H
#define METRON_SETTINGS_OPTIONS_HELP_H

#include "base/strbuf.h"
#include "settings/options.h"

/* Usage line, description, options by group with their defaults, examples; at most 80 columns. */
void options_help(const struct command_description *command, struct strbuf *out);
/* "Usage: metron run [OPTION...] [--] COMMAND..." and a newline. */
void options_usage(const struct command_description *command, struct strbuf *out);
/* The same as a page of section 1 in roff, metron-NAME(1). `version` as in "metron 0.1.0". */
void options_man(const struct command_description *command, const char *version, struct strbuf *out);

#endif
