#include "store/run_removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "store/run_files.h"

/* Those of run_files.h in the order of their removal; a run has only some. From USAGE on each is enough to
 * list it. */
static const char *const names[] = {"stdout",      "stderr",     "events.jsonl", RUN_DUCT_USAGE_NAME,
                                    "usage.jsonl", RUN_INFO_NAME};

enum { USAGE = 3, NAME_COUNT = sizeof(names) / sizeof(names[0]) };
_Static_assert(NAME_COUNT == RUN_FILE_COUNT + 1, "every file of a run, and con-duct's");

/* The folder that the files lie in, and what their names begin with. */
struct place {
    int fd;
    const char *begin;
    size_t begin_length;
    const char *path; /* of info.json */
};

static int open_place(struct place *place, const char *info_path, struct metron_error *error)
{
    const char *slash = strrchr(info_path, '/');
    const ptrdiff_t prefix = run_prefix_length(info_path);
    char *folder = slash ? strndup(info_path, (size_t)(slash - info_path) + 1) : strdup(".");

    *place = (struct place){.fd = -1, .begin = slash ? slash + 1 : info_path, .path = info_path};
    if (!folder)
        return error_set(error, -ENOMEM, "%s: no memory to remove it", info_path);
    if (prefix < place->begin - info_path || strcmp(info_path + prefix, RUN_INFO_NAME) != 0) {
        free(folder);
        return error_set(error, -EINVAL,
                         "%s: it does not end in " RUN_INFO_NAME ", so which files belong to it is not known",
                         info_path);
    }
    place->begin_length = (size_t)(prefix - (place->begin - info_path));
    place->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return place->fd < 0 ? error_set(error, -errno, "%s: %s", info_path, strerror(errno)) : 0;
}

static void close_place(struct place *place)
{
    if (place->fd >= 0)
        (void)close(place->fd);
}

static bool make_name(const struct place *place, size_t index, struct strbuf *name)
{
    strbuf_reset(name);
    strbuf_add(name, place->begin, place->begin_length);
    strbuf_adds(name, names[index]);
    return !name->failed;
}

/* 1: it is there and may be removed; 0: it is not there. */
static int check_file(const struct place *place, const struct strbuf *name, struct stat *status,
                      struct metron_error *error)
{
    const int folder_length = (int)(place->begin - place->path);
    const char *file = strbuf_text(name);

    if (fstatat(place->fd, file, status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0
                               : error_set(error, -errno, "%.*s%s: %s", folder_length, place->path, file,
                                           strerror(errno));
    if (S_ISLNK(status->st_mode))
        return error_set(error, -ELOOP,
                         "%.*s%s is a link, which no run has made; nothing of this run is removed",
                         folder_length, place->path, file);
    if (!S_ISREG(status->st_mode))
        return error_set(error, -EINVAL, "%.*s%s is no file; nothing of this run is removed", folder_length,
                         place->path, file);
    if (status->st_uid != geteuid())
        return error_set(error, -EPERM, "%.*s%s belongs to another user; nothing of this run is removed",
                         folder_length, place->path, file);
    return 1;
}

/* Counts the files, and removes them if asked to: all up to the first that cannot be. */
static int walk(const struct place *place, bool removes, struct run_removal *out, struct metron_error *error)
{
    struct strbuf name = STRBUF_INIT;
    bool any = false;
    int code = 0;

    for (size_t i = 0; i < NAME_COUNT && code >= 0; i++) {
        struct stat status = {0};
        code = make_name(place, i, &name)
                   ? check_file(place, &name, &status, error)
                   : error_set(error, -ENOMEM, "%s: no memory to remove it", place->path);
        any |= code > 0 && i >= USAGE;
        if (code == 0 && !any && i + 1 == NAME_COUNT)
            code = error_set(error, -ENOENT, "%s is not there any more", place->path);
        if (code > 0 && removes && unlinkat(place->fd, strbuf_text(&name), 0) < 0)
            code = error_set(error, -errno, "cannot remove %.*s%s: %s", (int)(place->begin - place->path),
                             place->path, strbuf_text(&name), strerror(errno));
        if (code <= 0)
            continue;
        out->files++;
        out->bytes += (uint64_t)status.st_size;
        out->device = (uint64_t)status.st_dev; /* at last those of info.json, or of what stands in for it */
        out->inode = (uint64_t)status.st_ino;
    }
    strbuf_fini(&name);
    return code < 0 ? code : 0;
}

int run_removal_survey(const char *info_path, struct run_removal *out, struct metron_error *error)
{
    struct place place;

    *out = (struct run_removal){0};
    int code = open_place(&place, info_path, error);
    if (code == 0)
        code = walk(&place, false, out, error);
    close_place(&place);
    return code;
}

int run_remove(const char *info_path, const struct run_removal *surveyed, struct run_removal *out,
               struct metron_error *error)
{
    struct run_removal all = {0};
    struct place place;

    *out = (struct run_removal){0};
    int code = open_place(&place, info_path, error);
    if (code == 0)
        code = walk(&place, false, &all, error);
    if (code == 0 && (all.device != surveyed->device || all.inode != surveyed->inode))
        code = error_set(error, -ESTALE, "%s is another run by now; it is not removed", info_path);
    if (code == 0)
        code = walk(&place, true, out, error);
    close_place(&place);
    return code;
}

bool run_is_of_another_user(const char *info_path)
{
    struct stat status;

    return lstat(info_path, &status) == 0 && status.st_uid != geteuid();
}
