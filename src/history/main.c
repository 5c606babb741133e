/*
 * metron-history: writes the daemon's history as plain tables.
 *
 *     metron-history LOG_LEVEL FILE new|clobber DATABASE
 *
 * A program of its own because SQLite takes longer to load than metron may take to start. `metron export
 * --history` starts it with everything decided; the log level is a number (enum log_level). It needs no
 * daemon, and reads the database while one writes it. Whatever happens, a signal included, nothing is left
 * of a file that did not become whole.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "history/output.h"
#include "store/history/tables.h"

enum argument { LEVEL = 1, OUTPUT, EXISTING, DATABASE, ARGUMENT_COUNT };

static volatile sig_atomic_t stopped_by; /* the signal; 0: none */

static void on_signal(int number)
{
    stopped_by = number;
}

/* One that is ignored stays so: SIGHUP under nohup; and SIGXFSZ, which metron ignores. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
}

/* SQLite sorts where the file will be: there must be room for it anyway. */
static void sort_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

    if (folder)
        (void)setenv("SQLITE_TMPDIR", folder, 1);
    free(folder);
}

static int export_history(char **arguments, struct metron_error *error)
{
    struct output output = OUTPUT_INIT;
    int rows[HISTORY_TABLES];

    sort_beside(arguments[OUTPUT]);
    int code = output_open(&output, arguments[OUTPUT], strcmp(arguments[EXISTING], "clobber") == 0,
                           arguments[DATABASE], error);
    const struct history_tables tables = {.database = arguments[DATABASE],
                                          .path = strbuf_text(&output.temporary),
                                          .fd = output.fd,
                                          .name = arguments[OUTPUT],
                                          .stop = &stopped_by};
    if (code == 0)
        code = history_write_tables(&tables, rows, error);
    if (code == 0 && stopped_by)
        code = error_set(error, -EINTR, "stopped");
    if (code == 0)
        code = output_commit(&output, error);
    if (code == 0)
        log_info("%s: %d snapshots, %d rows of processes and %d events, from %s", arguments[OUTPUT],
                 rows[HISTORY_SNAPSHOTS], rows[HISTORY_PROCESSES], rows[HISTORY_EVENTS], arguments[DATABASE]);
    output_fini(&output);
    return code;
}

int main(int argc, char **argv)
{
    struct metron_error error = {0};

    log_setup(LOG_LEVEL_INFO, false);
    if (argc != ARGUMENT_COUNT) {
        log_error("metron-history is for 'metron export --history' to call; see 'metron export --help'");
        return 2;
    }
    log_setup((enum log_level)strtol(argv[LEVEL], NULL, 10), false);
    catch_signals();
    int code = export_history(argv, &error);
    if (code < 0 && stopped_by) {
        (void)signal(stopped_by, SIG_DFL); /* the caller sees which signal ended it */
        (void)raise(stopped_by);
    }
    if (code < 0)
        log_error("%s", error.message);
    return code < 0;
}
