/*
 * A folder is walked with a list of folders still to be read, not by recursion. What cannot be read there
 * does not end the walk: the first of such folders is the error, and what was found in the others is in the
 * list.
 */
#include "store/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "store/recording/reader.h"
#include "store/run_files.h"

#define DEPTH_MAX 64

/* Takes `path` over, also when it fails. */
static int add_path(struct run_list *list, char *path)
{
    if (!path)
        return -ENOMEM;
    if (ARRAY_RESERVE(list->paths, list->capacity, list->count + 1) < 0) {
        free(path);
        return -ENOMEM;
    }
    list->paths[list->count++] = path;
    return 0;
}

static char *join(const char *folder, const char *name)
{
    size_t length = strlen(folder);
    char *path = NULL;

    while (length > 1 && folder[length - 1] == '/')
        length--;
    bool root = length == 1 && folder[0] == '/';
    return asprintf(&path, "%.*s%s%s", (int)length, folder, root ? "" : "/", name) < 0 ? NULL : path;
}

/* A folder that is still to be read, and how deep it lies. */
struct pending {
    char *path; /* owned */
    int depth;
};

struct walk {
    struct run_list *list;
    bool goes_below;         /* into the folders in it */
    struct pending *pending; /* owned */
    size_t count, capacity;
    struct metron_error *error;
    int code; /* of the first trouble */
};

static void note_trouble(struct walk *walk, int code, const char *path, const char *reason)
{
    if (walk->code == 0)
        walk->code = error_set(walk->error, code, "cannot search '%s': %s", path, reason);
}

/* Takes `path` over. */
static int push(struct walk *walk, char *path, int depth)
{
    if (!path)
        return -ENOMEM;
    if (ARRAY_RESERVE(walk->pending, walk->capacity, walk->count + 1) < 0) {
        free(path);
        return -ENOMEM;
    }
    walk->pending[walk->count++] = (struct pending){path, depth};
    return 0;
}

enum entry { ENTRY_OTHER, ENTRY_FOLDER, ENTRY_RUN };

/* Whether it is the usage file of a run that has no info.json beside it. */
static bool stands_alone(int fd, const char *name)
{
    ptrdiff_t length = run_prefix_length(name);
    struct stat status;
    char *info = NULL;

    if (length < 0 ||
        (!text_ends_with(name, run_file_names[RUN_USAGE]) && !text_ends_with(name, RUN_DUCT_USAGE_NAME)))
        return false;
    if (asprintf(&info, "%.*s" RUN_INFO_NAME, (int)length, name) < 0)
        return false;
    bool alone = fstatat(fd, info, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
    free(info);
    return alone;
}

/* A link to a folder is not followed, so that no walk goes in circles. Whatever else has the name of a
 * recording is one until it is read: a link that leads nowhere (git-annex makes such) has to be named, not
 * left out. */
static enum entry kind_of(int fd, const struct dirent *entry)
{
    struct stat status;
    bool named = text_ends_with(entry->d_name, RUN_INFO_NAME), link = entry->d_type == DT_LNK;

    if (entry->d_type == DT_UNKNOWN && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        link = S_ISLNK(status.st_mode);
        if (S_ISDIR(status.st_mode))
            return ENTRY_FOLDER;
    }
    if (entry->d_type == DT_DIR)
        return ENTRY_FOLDER;
    if (named && link && fstatat(fd, entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode))
        return ENTRY_OTHER;
    return named ? ENTRY_RUN : ENTRY_OTHER;
}

/* Of a file that is there: itself, or the info.json that belongs to it. Whether that one is there and fit is
 * the reader's to say. */
static int add_file(struct run_list *list, const char *path)
{
    ptrdiff_t length = run_prefix_length(path);
    char *info = NULL;

    if (length < 0)
        return add_path(list, strdup(path));
    return add_path(list, asprintf(&info, "%.*s" RUN_INFO_NAME, (int)length, path) < 0 ? NULL : info);
}

/* The path of a usage file, which is taken over, as that of the info.json that is missing. */
static int add_alone(struct run_list *list, char *usage)
{
    int code = usage ? add_file(list, usage) : -ENOMEM;

    free(usage);
    return code;
}

static int take_entry(struct walk *walk, int fd, const struct pending *folder, const struct dirent *entry)
{
    const char *name = entry->d_name;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    enum entry kind = kind_of(fd, entry);
    if (kind == ENTRY_RUN)
        return add_path(walk->list, join(folder->path, name));
    if (kind == ENTRY_OTHER && stands_alone(fd, name))
        return add_alone(walk->list, join(folder->path, name));
    if (kind != ENTRY_FOLDER || !walk->goes_below)
        return 0;
    if (folder->depth < DEPTH_MAX)
        return push(walk, join(folder->path, name), folder->depth + 1);
    note_trouble(walk, -ELOOP, folder->path, "folders are nested too deep; name the deeper one");
    return 0;
}

static int read_folder(struct walk *walk, const struct pending *folder)
{
    const struct dirent *entry;
    int code = 0;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (folder->depth > 0 ? O_NOFOLLOW : 0);
    int fd = open(folder->path, flags);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

    if (!stream) {
        code = -errno;
        if (fd >= 0)
            (void)close(fd);
        /* One that was removed since its name was read is none that could not be read. */
        if (code != -ENOENT || folder->depth == 0)
            note_trouble(walk, code, folder->path, strerror(-code));
        return code == -ENOMEM ? code : 0;
    }
    for (;;) {
        errno = 0;
        /* cppcheck-suppress readdirCalled ; a stream of our own */
        entry = readdir(stream);
        if (!entry)
            break;
        code = take_entry(walk, fd, folder, entry);
        if (code < 0)
            break;
    }
    if (code == 0 && errno)
        note_trouble(walk, -errno, folder->path, strerror(errno));
    (void)closedir(stream);
    return code;
}

static int add_folder(struct run_list *list, const char *path, bool goes_below, struct metron_error *error)
{
    struct walk walk = {.list = list, .goes_below = goes_below, .error = error};
    int code = push(&walk, strdup(path), 0);

    while (code == 0 && walk.count > 0) {
        struct pending folder = walk.pending[--walk.count];
        code = read_folder(&walk, &folder);
        free(folder.path);
    }
    while (walk.count > 0)
        free(walk.pending[--walk.count].path);
    free(walk.pending);
    return code < 0 ? error_set(error, code, "no memory for the list of runs") : walk.code;
}

/* Whether a usage file stands in for this info.json, which is missing. */
static bool has_usage(const char *info)
{
    struct strbuf usage = STRBUF_INIT;
    bool has = recording_usage_beside(info, &usage);

    strbuf_fini(&usage);
    return has;
}

/* A path that is no glob, or one that a glob has found. */
static int add_plain(struct run_list *list, const char *path, struct metron_error *error)
{
    struct stat status;
    char *info = NULL;

    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return add_folder(list, path, true, error);
        if (!S_ISREG(status.st_mode))
            return error_set(error, -EINVAL, "'%s' is neither a file nor a folder", path);
        return add_file(list, path) < 0 ? error_set(error, -ENOMEM, "no memory for the list of runs") : 0;
    }
    int code = -errno;
    if (asprintf(&info, "%s" RUN_INFO_NAME, path) < 0)
        return error_set(error, -ENOMEM, "no memory for the list of runs");
    bool is_run = stat(info, &status) == 0 ? S_ISREG(status.st_mode) : has_usage(info);
    if (code == -ENOENT && is_run)
        return add_path(list, info) < 0 ? error_set(error, -ENOMEM, "no memory for the list of runs") : 0;
    free(info);
    if (code == -ENOENT)
        return error_set(error, code, "'%s': there is no such file or folder, and no run with this prefix",
                         path);
    return error_set(error, code, "'%s': %s", path, strerror(-code));
}

static int add_glob(struct run_list *list, const char *pattern, struct metron_error *error)
{
    struct metron_error one = {0};
    glob_t found = {0};
    int first = 0;
    int code = glob(pattern, GLOB_NOSORT, NULL, &found);

    if (code == GLOB_NOMATCH)
        first = error_set(error, -ENOENT, "'%s': nothing matches", pattern);
    else if (code != 0)
        first = error_set(error, code == GLOB_NOSPACE ? -ENOMEM : -EIO, "'%s': cannot be searched", pattern);
    for (size_t i = 0; code == 0 && i < found.gl_pathc; i++) {
        int added = add_plain(list, found.gl_pathv[i], &one);
        if (added < 0 && first == 0)
            first = error_set(error, added, "%s", one.message);
    }
    globfree(&found);
    return first;
}

int run_list_take(struct run_list *list, const char *path)
{
    return add_path(list, strdup(path));
}

int run_list_add_here(struct run_list *list, struct metron_error *error)
{
    return add_folder(list, ".", false, error);
}

bool run_list_is_name(const char *path)
{
    char *info = NULL;

    if (access(path, F_OK) == 0)
        return true;
    if (asprintf(&info, "%s" RUN_INFO_NAME, path) < 0)
        return false;
    bool there = access(info, F_OK) == 0 || has_usage(info);
    free(info);
    return there;
}

int run_list_add(struct run_list *list, const char *path, size_t *added, struct metron_error *error)
{
    size_t before = list->count;
    bool is_glob = strpbrk(path, "*?[") && !run_list_is_name(path);
    int code = is_glob ? add_glob(list, path, error) : add_plain(list, path, error);

    if (added)
        *added = list->count - before;
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void run_list_sort(struct run_list *list)
{
    size_t kept = 0;

    if (list->count == 0)
        return;
    qsort(list->paths, list->count, sizeof(*list->paths), by_name);
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(list->paths[kept], list->paths[i]) == 0)
            free(list->paths[i]);
        else
            list->paths[++kept] = list->paths[i];
    }
    list->count = kept + 1;
}

void run_list_prefetch(const struct run_list *list, size_t index)
{
    static const size_t ahead = 32;

    for (size_t i = index == 0 ? 1 : index + ahead; i <= index + ahead && i < list->count; i++) {
        int fd = open(list->paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
        (void)close(fd);
    }
}

void run_list_fini(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct run_list){0};
}
