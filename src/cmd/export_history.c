#include "cmd/export_history.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "probe/companion.h"
#include "store/state_folder.h"

bool export_history_check(const struct settings *settings, int operands)
{
    static const enum setting_id of_runs[] = {SETTING_OUTPUT, SETTING_EXPORT_FORMAT},
                                 of_history[] = {SETTING_DATABASE, SETTING_CLOBBER};
    const char *file = settings_text(settings, SETTING_HISTORY);
    const bool is_history = file != NULL;
    const enum setting_id *wrong = is_history ? of_runs : of_history;

    /* A file of that name would be hard to get rid of, and an option is more likely meant. */
    if (is_history && file[0] == '-') {
        log_error(
            "export: --history needs the name of a file, and '%s' looks like an option; ./%s would be one",
            file, file);
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        if (settings_origin(settings, wrong[i]) == SETTING_ORIGIN_COMMAND_LINE) {
            log_error(is_history ? "export: --%s is for a run, and --history writes the daemon's history; "
                                   "leave one out"
                                 : "export: --%s is for the daemon's history; add --history FILE.db",
                      settings_table[wrong[i]].name);
            return false;
        }
    if (is_history && operands > 0) {
        log_error("export: --history writes the daemon's history and takes no run; --database PATH names "
                  "another history");
        return false;
    }
    return true;
}

/* The user's, or where there is none the system's, as the daemon's clients find the socket. */
static int find_database(const struct settings *settings, struct strbuf *out, struct metron_error *error)
{
    const char *chosen = settings_text(settings, SETTING_DATABASE);

    if (chosen && strcmp(chosen, "off") == 0)
        return error_set(error, -ENOENT,
                         "the daemon keeps no history: database = off (%s); --database PATH names a history",
                         settings_origin_text(settings, SETTING_DATABASE));
    if (chosen) {
        strbuf_adds(out, chosen);
        return out->failed ? error_set(error, -ENOMEM, "out of memory") : 0;
    }
    int code = state_folder_file(out, STATE_DATABASE);
    if (code == -ENOMEM)
        return error_set(error, code, "out of memory");
    if (code == 0 && (access(strbuf_text(out), F_OK) == 0 || errno != ENOENT))
        return 0;
    if (access(STATE_FOLDER_OF_ROOT "/" STATE_DATABASE, R_OK) == 0) {
        strbuf_reset(out);
        strbuf_adds(out, STATE_FOLDER_OF_ROOT "/" STATE_DATABASE);
        return out->failed ? error_set(error, -ENOMEM, "out of memory") : 0;
    }
    code = -errno;
    if (out->length == 0)
        return error_set(error, code,
                         "HOME is not set, and '%s' cannot be read (%s); --database PATH names a history",
                         STATE_FOLDER_OF_ROOT "/" STATE_DATABASE, strerror(-code));
    return error_set(error, code,
                     "there is no history in '%s', and '%s' cannot be read (%s); 'metron daemon' writes one, "
                     "--database PATH names another",
                     strbuf_text(out), STATE_FOLDER_OF_ROOT "/" STATE_DATABASE, strerror(-code));
}

int export_history(const struct settings *settings)
{
    const bool clobber = settings_flag(settings, SETTING_CLOBBER);
    size_t log_level = settings_choice(settings, SETTING_LOG_LEVEL);
    char path[PATH_MAX], level[24];
    struct strbuf database = STRBUF_INIT;
    struct metron_error error = {0};

    if (settings_flag(settings, SETTING_QUIET) && log_level > LOG_LEVEL_WARNING)
        log_level = LOG_LEVEL_WARNING;
    (void)snprintf(level, sizeof(level), "%zu", log_level);
    if (companion_find("metron-history", path) < 0) {
        log_error("this build of metron exports no history (metron-history is not installed beside it; it "
                  "needs SQLite)");
    } else if (find_database(settings, &database, &error) < 0) {
        log_error("%s", error.message);
    } else {
        char *const arguments[] = {(char *)"metron-history",
                                   level,
                                   (char *)settings_text(settings, SETTING_HISTORY),
                                   (char *)(clobber ? "clobber" : "new"),
                                   database.data,
                                   NULL};
        (void)execv(path, arguments);
        log_error("cannot start %s: %s", path, strerror(errno));
    }
    strbuf_fini(&database);
    return EXIT_TROUBLE;
}
