#include "keeper/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "store/state_folder.h"

static int find_one(char **out, const char *chosen, const char *name, const char *setting,
                    struct metron_error *error)
{
    struct strbuf path = STRBUF_INIT;
    int code = 0;

    if (chosen && strcmp(chosen, "off") == 0)
        return 0;
    if (chosen)
        strbuf_adds(&path, chosen);
    else
        code = state_folder_file(&path, name);
    if (code == 0 && (path.failed || !(*out = strdup(strbuf_text(&path)))))
        code = -ENOMEM;
    strbuf_fini(&path);
    if (code == -ENOENT)
        return error_set(error, code, "there is no home folder for %s: name one with --%s, or --%s off", name,
                         setting, setting);
    return code < 0 ? error_set(error, code, "no memory for a path") : 0;
}

static int find_traces(struct keeper_paths *paths, struct metron_error *error)
{
    const char *beside = paths->database ? paths->database : paths->log_file;
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    int length = slash ? (int)(slash - beside) + 1 : 0;

    if (beside && asprintf(&paths->traces, "%.*straces", length, beside) < 0) {
        paths->traces = NULL;
        return error_set(error, -ENOMEM, "no memory for a path");
    }
    return 0;
}

int keeper_paths_find(struct keeper_paths *paths, const struct settings *settings, struct metron_error *error)
{
    int code = find_one(&paths->database, settings_text(settings, SETTING_DATABASE), STATE_DATABASE,
                        "database", error);
    if (code == 0)
        code = find_one(&paths->log_file, settings_text(settings, SETTING_LOG_FILE), "monitor.jsonl",
                        "log-file", error);
    return code < 0 ? code : find_traces(paths, error);
}

void keeper_paths_fini(struct keeper_paths *paths)
{
    free(paths->database);
    free(paths->log_file);
    free(paths->traces);
    *paths = (struct keeper_paths){0};
}
