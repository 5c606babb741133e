#include "cmd/newest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "store/recording/reader.h"
#include "store/run_files.h"
#include "store/run_names.h"

char *standard_folder(const struct settings *settings)
{
    const char *prefix = settings_text(settings, SETTING_OUTPUT_PREFIX);
    size_t length = strcspn(prefix, "{");

    while (length > 0 && prefix[length - 1] != '/')
        length--;
    return length > 0 ? strndup(prefix, length) : strdup(".");
}

static int no_memory(struct metron_error *error)
{
    return error_set(error, -ENOMEM, "no memory for the list of runs");
}

typedef int finder(const char *name, const char *folder, struct run_list *found, struct metron_error *error);

/* Where no run of the standard folder has the name, that is the error. */
static int find_run(const struct settings *settings, const char *name, finder *find, struct run_list *found,
                    struct metron_error *error)
{
    static const char *const others[] = {DUCT_FOLDER, NULL};
    char *folder = standard_folder(settings);
    int code = folder ? find(name, folder, found, error) : no_memory(error);

    free(folder);
    if ((code != -ENOENT && code != -EBADMSG) || name[0] == '\0' || strchr(name, '/') ||
        run_names_place(name) > 0)
        return code;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct metron_error other = {0};
        int elsewhere = find(name, others[i], found, &other);
        if (elsewhere == -ENOTUNIQ)
            *error = other;
        if (elsewhere == 0 || elsewhere == -ENOTUNIQ)
            return elsewhere;
    }
    return code;
}

static bool lies_below(const char *path, const char *folder)
{
    size_t length;

    for (; strncmp(folder, "./", 2) == 0; folder += 2)
        ;
    for (length = strlen(folder); length > 0 && folder[length - 1] == '/';)
        length--;
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

bool run_has_known_id(const struct settings *settings, const char *info_path, const char *here)
{
    const char *path = info_path;

    if (here && lies_below(path, here))
        path += strlen(here) + 1;
    for (; strncmp(path, "./", 2) == 0; path += 2)
        ;
    if (strstr(path, "../"))
        return false;
    char *folder = standard_folder(settings);
    bool known = !strchr(path, '/') || lies_below(path, DUCT_FOLDER) ||
                 (folder && (lies_below(path, folder) || lies_below(info_path, folder)));
    free(folder);
    return known;
}

int add_named_runs(const struct settings *settings, struct run_list *list, const char *name, size_t *added,
                   struct metron_error *error)
{
    const size_t before = list->count;
    int code;

    if (name[0] == '\0' || run_list_is_name(name) || strpbrk(name, "*?["))
        code = run_list_add(list, name, added, error);
    else
        code = find_run(settings, name, run_names_find, list, error);
    if (added)
        *added = list->count - before;
    return code;
}

bool named_runs(const struct settings *settings, struct run_list *list, char **names, int count)
{
    struct metron_error error = {0};
    bool all_found = true;
    size_t added = 0;

    for (int i = 0; i < count; i++) {
        if (add_named_runs(settings, list, names[i], &added, &error) < 0) {
            log_error("%s", error.message);
            all_found = false;
        } else if (added == 0) {
            log_warning("no recorded run lies in '%s': nothing there is called …info.json", names[i]);
        }
    }
    return all_found;
}

bool word_is_run(const char *word)
{
    return strpbrk(word, "/*?[") || (*word >= '0' && *word <= '9') || run_names_place(word) > 0 ||
           run_names_is_id(word) || run_list_is_name(word);
}

/* Shorter for people; but where a file has the name of the prefix, that would be meant. */
static char *prefix_of(const char *info_path)
{
    char *prefix = strndup(info_path, (size_t)run_prefix_length(info_path));
    struct stat status;

    if (!prefix || prefix[0] == '\0' || (stat(prefix, &status) == 0 && !S_ISDIR(status.st_mode))) {
        free(prefix);
        prefix = strdup(info_path);
    }
    return prefix;
}

int named_run(const struct settings *settings, const char *name, char **path, struct metron_error *error)
{
    struct run_list found = {0};
    char *folder = NULL;
    int code = 0;

    *path = NULL;
    if (name && recording_is_named(name)) {
        *path = strdup(name);
        return *path ? 0 : no_memory(error);
    }
    code = find_run(settings, name ? name : "last", run_names_find_one, &found, error);
    folder = standard_folder(settings);
    if (code == -ENOENT && !name)
        code =
            error_set(error, code,
                      "which run? None is recorded in '%s'; name one, or record one: metron run -- COMMAND",
                      folder ? folder : "");
    else if (code == -EBADMSG && !name)
        code = error_set(error, code, "which run? Nothing in '%s' can be read; metron ls tells why",
                         folder ? folder : "");
    if (code == 0 && found.paths) {
        *path = prefix_of(found.paths[0]);
        code = *path ? 0 : no_memory(error);
    }
    if (code == 0 && !name)
        log_info("the newest run is taken: %s", *path);
    run_list_fini(&found);
    free(folder);
    return code;
}
