/*
 * Options of a command, made from the table of settings: parsing them with argp into settings. What --help
 * prints is in options_help.h.
 *
 * Parsing stops at the first operand, so that the options of a command that metron runs stay that command's;
 * unless the description lets options stand anywhere.
 * Nothing is printed and nothing exits: errors are one line in `error`.
 */
#ifndef METRON_SETTINGS_OPTIONS_H
#define METRON_SETTINGS_OPTIONS_H

#include "base/error.h"
#include "settings/settings.h"

struct command_description {
    const char *name;        /* "run" */
    const char *summary;     /* one line, no full stop: "run a command and record what it used" */
    const char *usage;       /* what follows "metron run" in the usage line: "[OPTION...] [--] COMMAND..." */
    const char *description; /* paragraphs, separated by empty lines; a blank at its begin: a table */
    const char *examples;    /* lines; those that begin with a blank are commands, the others text */
    enum command command;    /* which settings are its options */
    bool options_anywhere;   /* options may follow operands; else they end at the first operand */
    bool numbers_are_operands; /* -1 and -2 are no options */
    /* Whether a word behind a list (SETTING_WORDS) is an operand, not an item; NULL: there are no such lists.
     */
    bool (*is_operand)(const char *word);
};

enum options_result {
    OPTIONS_PARSED = 0,
    OPTIONS_HELP = 1,  /* --help or -h was there: print options_help and exit 0 */
    OPTIONS_USAGE = 2, /* --usage was there: print options_usage and exit 0 */
};

/* `argv[0]` is the command's own name. *first_operand is the index of the first operand, argc if there is
 * none. Returns an options_result, or -EINVAL (wrong usage), -ENOMEM. */
int options_parse(const struct command_description *command, int argc, char **argv, struct settings *settings,
                  int *first_operand, struct metron_error *error);

#endif
