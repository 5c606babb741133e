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
#include "store/run_files.h"

/* A folder that is no prefix itself, but holds one run. */
static int find_only_run(const char *folder, struct strbuf *info, struct metron_error *error)
{
    DIR *entries = opendir(folder);
    size_t count = 0;

    if (!entries)
        return error_set(error, -errno, "%s: %s", folder, strerror(errno));
    /* cppcheck-suppress readdirCalled ; a stream of our own */
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!text_ends_with(entry->d_name, RUN_INFO_NAME))
            continue;
        if (count++ == 0) {
            strbuf_reset(info);
            strbuf_addf(info, "%s%s%s", folder, text_ends_with(folder, "/") ? "" : "/", entry->d_name);
        }
    }
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
        if (!info->failed && access(strbuf_text(info), F_OK) < 0)
            return find_only_run(path, info, error);
    } else if (prefix >= 0) {
        strbuf_add(info, path, (size_t)prefix);
        strbuf_adds(info, RUN_INFO_NAME);
    } else {
        strbuf_addf(info, "%s%s", path, there ? "" : RUN_INFO_NAME);
    }
    if (info->failed)
        return error_set(error, -ENOMEM, "%s: no memory to read it", path);
    if (access(strbuf_text(info), F_OK) == 0)
        return 0;
    if (there)
        return error_set(error, -ENOENT, "%s: its %s is not there, which a run is read from", path,
                         strbuf_text(info));
    return error_set(error, -ENOENT, "%s: there is no such run: no %s", path, strbuf_text(info));
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
    if (code == 0)
        code = read_file(file, &bytes, error);
    if (code == 0 && bytes.length == 0)
        code = error_set(error, -EBADMSG, "%s: empty: nothing was recorded, or it was lost", file);
    if (code == 0)
        code = recording_parse(bytes.data, bytes.length, file, wish, out, error);
    strbuf_fini(&info);
    strbuf_fini(&bytes);
    return code;
}
