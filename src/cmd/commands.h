/*
 * The commands of metron: one file each, one line each in main.c.
 */
#ifndef METRON_CMD_COMMANDS_H
#define METRON_CMD_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "settings/options.h"
#include "settings/settings.h"

struct secrets;

struct metron_command {
    const struct command_description *description;
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

extern const struct metron_command command_run, command_measurements, command_doctor, command_trace,
    command_ls, command_pp, command_plot, command_diff, command_suggest, command_report, command_export,
    command_attach, command_daemon, command_job, command_events, command_rm, command_gc;

/* Exit codes that are metron's own. */
enum { EXIT_OK = 0, EXIT_TROUBLE = 1, EXIT_WRONG_USAGE = 2 };

/* Settings from files, environment and the command line, and the log set up by them. Returns true if the
 * command shall go on; else *exit_code is what to end with (help was printed, or an error). */
bool command_begin(const struct command_description *description, int argc, char **argv,
                   struct settings *settings, int *first_operand, int *exit_code);
/* Why it failed: on stderr, or to whoever is fed (--feed). */
void command_failed(const struct metron_error *error);
/* The secrets that are masked. They change whenever command_begin reads settings. */
const struct secrets *command_secrets(void);
/* Columns of the terminal that `fd` is; 0 if it is none. */
size_t command_width(int fd);
/* The same of stdout; into a file or a pipe what COLUMNS says, else `otherwise`. */
size_t command_page_width(size_t otherwise);
/* Whether to colour what goes to `fd`. */
bool command_colors(const struct settings *settings, int fd);
/* Writes a whole text to stdout: EXIT_OK or EXIT_TROUBLE, and why. Of a reader that went away (head) nothing
 * is said, also where SIGPIPE is ignored. */
int command_print(const char *text, size_t length);
/* The same for data of others that programs read, too (CSV, an answer of the daemon): a terminal gets it with
 * control characters made visible, a file or a pipe as it is. */
int command_print_data(const char *text, size_t length);

#endif
