/*
 * From a path that a person names to the recording behind it.
 */
#include "store/recording/reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "store/recording/usage_only.h"
#include "store/run_files.h"

/* The info.json, there or not, of the run that has this usage file. */
static bool info_of_usage(const char *name, struct strbuf *info)
{
    ptrdiff_t length = run_prefix_length(name);

    if (length < 0 ||
        (!text_ends_with(name, run_file_names[RUN_USAGE]) && !text_ends_with(name, RUN_DUCT_USAGE_NAME)))
        return false;
    strbuf_add(info, name, (size_t)length);
    strbuf_adds(info, RUN_INFO_NAME);
    return true;
}

/* Whether there is an info.json, or a usage file that stands in for it. */
static bool is_run(const char *info)
{
    struct strbuf usage = STRBUF_INIT;
    bool there = access(info, F_OK) == 0 || recording_usage_beside(info, &usage);

    strbuf_fini(&usage);
    return there;
}

bool recording_usage_beside(const char *info, struct strbuf *usage)
{
    const char *const names[] = {run_file_names[RUN_USAGE], RUN_DUCT_USAGE_NAME};
    ptrdiff_t length = run_prefix_length(info);

    for (size_t i = 0; length >= 0 && i < 2; i++) {
        strbuf_reset(usage);
        strbuf_add(usage, info, (size_t)length);
        strbuf_adds(usage, names[i]);
        if (!usage->failed && access(strbuf_text(usage), F_OK) == 0)
            return true;
    }
    return false;
}

/* A folder that is no prefix itself, but holds one run: by its info.json, or, where there are none, by its
 * usage file. */
static size_t count_runs(DIR *entries, const char *folder, bool by_usage, struct strbuf *info)
{
    size_t count = 0;

    rewinddir(entries);
    /* cppcheck-suppress readdirCalled ; a stream of our own */
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct strbuf name = STRBUF_INIT;

        if (by_usage)
            (void)info_of_usage(entry->d_name, &name);
        else if (text_ends_with(entry->d_name, RUN_INFO_NAME))
            strbuf_adds(&name, entry->d_name);
        if (name.length > 0 && count++ == 0) {
            strbuf_reset(info);
            strbuf_addf(info, "%s%s%s", folder, text_ends_with(folder, "/") ? "" : "/", strbuf_text(&name));
        }
        strbuf_fini_part(&name, info);
    }
    return count;
}

static int find_only_run(const char *folder, struct strbuf *info, struct metron_error *error)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return error_set(error, -errno, "%s: %s", folder, strerror(errno));
    size_t count = count_runs(entries, folder, false, info);
    if (count == 0)
        count = count_runs(entries, folder, true, info);
    (void)closedir(entries);
    if (count == 1)
        return info->failed ? error_set(error, -ENOMEM, "%s: no memory to read it", folder) : 0;
    if (count == 0)
        return error_set(error, -ENOENT, "%s: no run in this folder: nothing in it ends in " RUN_INFO_NAME,
                         folder);
    return error_set(error, -ENOENT, "%s: %zu runs in this folder; name one of them", folder, count);
}

int recording_find(const char *path, struct strbuf *info, struct metron_error *error)
{
    struct stat status;
    ptrdiff_t prefix = run_prefix_length(path);
    bool there = stat(path, &status) == 0;

    if (!there && errno != ENOENT && errno != ENOTDIR)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (there && S_ISDIR(status.st_mode)) {
        strbuf_addf(info, "%s%s" RUN_INFO_NAME, path, text_ends_with(path, "/") ? "" : "/");
        if (!info->failed && !is_run(strbuf_text(info)))
            return find_only_run(path, info, error);
    } else if (prefix >= 0) {
        strbuf_add(info, path, (size_t)prefix);
        strbuf_adds(info, RUN_INFO_NAME);
    } else {
        strbuf_addf(info, "%s%s", path, there ? "" : RUN_INFO_NAME);
    }
    if (info->failed)
        return error_set(error, -ENOMEM, "%s: no memory to read it", path);
    if (is_run(strbuf_text(info)))
        return 0;
    if (there)
        return error_set(error, -ENOENT, "%s: its %s is not there, which a run is read from", path,
                         strbuf_text(info));
    return error_set(error, -ENOENT, "%s: there is no such run: no %s", path, strbuf_text(info));
}

bool recording_is_named(const char *path)
{
    struct strbuf info = STRBUF_INIT;
    int code = path[0] == '\0' ? 0 : recording_find(path, &info, NULL);

    strbuf_fini(&info);
    return code != -ENOENT || access(path, F_OK) == 0;
}

/* Reads a regular file whole. Its size is known beforehand, so this is one read. */
static int read_file(const char *path, struct strbuf *out, struct metron_error *error)
{
    struct stat status;
    int fd = file_open_regular(path, &status, error);

    if (fd < 0)
        return fd;
    int code =
        status.st_size > (off_t)RECORDING_INFO_MAX ? -EFBIG : strbuf_reserve(out, (size_t)status.st_size + 1);
    while (code == 0) {
        code = out->length > RECORDING_INFO_MAX ? -EFBIG : strbuf_reserve(out, 1);
        if (code < 0)
            break;

        ssize_t count = read(fd, out->data + out->length, out->capacity - out->length - 1);

        if (count > 0)
            out->length += (size_t)count;
        else if (count < 0 && errno != EINTR)
            code = error_set(error, -errno, "%s: %s", path, strerror(errno));
        if (count == 0 || out->length == (size_t)status.st_size)
            break;
    }
    (void)close(fd);
    if (code == -EFBIG)
        error_set(error, code, "%s: larger than the %zu MiB that an info.json may have", path,
                  RECORDING_INFO_MAX >> 20);
    else if (code == -ENOMEM)
        error_set(error, code, "%s: no memory to read it", path);
    return code;
}

/* Bytes of an info.json that is missing or empty are made up. `code`: what reading it came to. */
static int make_up(const char *file, int code, const struct recording_wish *wish, struct strbuf *bytes,
                   struct recording *out, struct metron_error *error)
{
    bool is_made = usage_only_info(file, wish ? wish->describe : NULL, bytes);
    if (!is_made && code < 0 && is_run(file))
        return error_set(error, -EBADMSG, "%s: missing, and no record can be read from the usage file", file);
    if (!is_made)
        return code < 0 ? code
                        : error_set(error, -EBADMSG, "%s: empty: nothing was recorded, or it was lost", file);
    return recording_parse(bytes->data, bytes->length, file, wish, out, error);
}

int recording_read(const char *path, const struct recording_wish *wish, struct recording *out,
                   struct metron_error *error)
{
    struct strbuf info = STRBUF_INIT, bytes = STRBUF_INIT;
    const char *file = path;
    int code = 0;

    *out = (struct recording){0};
    if (path[0] == '\0')
        return error_set(error, -ENOENT, "an empty path names no run");
    if (!text_ends_with(path, RUN_INFO_NAME)) { /* most are told exactly */
        code = recording_find(path, &info, error);
        file = strbuf_text(&info);
    }
    if (code == 0) {
        code = read_file(file, &bytes, error);
        if (code == -ENOENT || (code == 0 && bytes.length == 0))
            code = make_up(file, code, wish, &bytes, out, error);
        else if (code == 0)
            code = recording_parse(bytes.data, bytes.length, file, wish, out, error);
    }
    strbuf_fini(&info);
    strbuf_fini(&bytes);
    return code;
}
