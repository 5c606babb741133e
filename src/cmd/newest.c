#include "cmd/newest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "store/recording/reader.h"
#include "store/run_files.h"

bool named_runs(struct run_list *list, char **paths, int count)
{
    struct metron_error error = {0};
    bool all_found = true;
    size_t added = 0;

    for (int i = 0; i < count; i++) {
        if (run_list_add(list, paths[i], &added, &error) < 0) {
            log_error("%s", error.message);
            all_found = false;
        } else if (added == 0) {
            log_warning("no recorded run lies in '%s': nothing there is called …info.json", paths[i]);
        }
    }
    return all_found;
}

char *standard_folder(const struct settings *settings)
{
    const char *prefix = settings_text(settings, SETTING_OUTPUT_PREFIX);
    size_t length = strcspn(prefix, "{");

    while (length > 0 && prefix[length - 1] != '/')
        length--;
    return length > 0 ? strndup(prefix, length) : strdup(".");
}

/* Which of them began last; -1: none can be read. By what they say, because a name may be anything and the
 * time of a file is that of its copy. */
static ptrdiff_t find_last(const struct run_list *runs, size_t *unread)
{
    static const char *const fields[] = {"start_time", NULL};
    const struct recording_wish wish = {.fields = fields, .info_only = true};
    ptrdiff_t last = -1;
    double last_start = -1;

    *unread = 0;
    for (size_t i = 0; i < runs->count; i++) {
        struct recording recording;
        if (recording_read(runs->paths[i], &wish, &recording, NULL) < 0) {
            ++*unread;
            continue;
        }
        if (recording.start_wall >= last_start) {
            last_start = recording.start_wall;
            last = (ptrdiff_t)i;
        }
        recording_fini(&recording);
    }
    return last;
}

static int choose(const struct run_list *runs, const char *folder, char **path, struct metron_error *error)
{
    size_t unread;
    ptrdiff_t last = find_last(runs, &unread);

    if (last < 0 && unread == 0)
        return error_set(
            error, -ENOENT,
            "which run? None is recorded in '%s'; name one, or record one: metron run -- COMMAND", folder);
    if (last < 0)
        return error_set(error, -EBADMSG, "which run? Nothing in '%s' can be read; metron ls tells why",
                         folder);
    if (unread > 0)
        log_warning("%zu of %zu runs in '%s' cannot be read; metron ls tells why", unread, runs->count,
                    folder);
    *path = strndup(runs->paths[last], (size_t)run_prefix_length(runs->paths[last]));
    if (!*path)
        return error_set(error, -ENOMEM, "no memory for the list of runs");
    log_info("the newest run is taken: %s", *path);
    return 0;
}

int newest_run(const struct settings *settings, char **path, struct metron_error *error)
{
    struct run_list runs = {0};
    struct metron_error trouble = {0};
    char *folder = standard_folder(settings);
    int code = 0;

    *path = NULL;
    if (!folder)
        return error_set(error, -ENOMEM, "no memory for the list of runs");
    if (access(folder, F_OK) == 0 && run_list_add(&runs, folder, NULL, &trouble) < 0 && runs.count == 0)
        code = error_set(error, trouble.code, "%s", trouble.message);
    else if (trouble.code < 0)
        log_warning("%s", trouble.message);
    run_list_sort(&runs);
    if (code == 0)
        code = choose(&runs, folder, path, error);
    run_list_fini(&runs);
    free(folder);
    return code;
}
