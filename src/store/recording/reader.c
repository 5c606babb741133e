/*
 * From a path that a person names to the recording behind it.
 */
#include "store/recording/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"

#define INFO "info.json"

/* The length of `path` without the name of a file of a run; 0 and *found = false: it has none. */
static size_t prefix_length(const char *path, bool *found)
{
    static const char *const names[] = {INFO,           "usage.jsonl", "usage.json",
                                        "events.jsonl", "stdout",      "stderr"};
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (text_ends_with(path, names[i])) {
            *found = true;
            return length - strlen(names[i]);
        }
    *found = false;
    return 0;
}

/* A folder that is no prefix itself, but holds one run. */
static int find_only_run(const char *folder, struct strbuf *info, struct metron_error *error)
{
    DIR *entries = opendir(folder);
    size_t count = 0;

    if (!entries)
        return error_set(error, -errno, "%s: %s", folder, strerror(errno));
    /* cppcheck-suppress readdirCalled ; a stream of our own */
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!text_ends_with(entry->d_name, INFO))
            continue;
        if (count++ == 0) {
            strbuf_reset(info);
            strbuf_addf(info, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entry->d_name);
        }
    }
    (void)closedir(entries);
    if (count == 1)
        return 0;
    if (count == 0)
        return error_set(error, -ENOENT, "%s: no run in this folder: nothing in it ends in " INFO, folder);
    return error_set(error, -ENOENT, "%s: %zu runs in this folder; name one of them", folder, count);
}

/* The info.json that is meant by `path`. */
static int resolve(const char *path, struct strbuf *info, struct metron_error *error)
{
    struct stat status;
    bool of_run;
    size_t prefix = prefix_length(path, &of_run);
    bool there = stat(path, &status) == 0;

    if (!there && errno != ENOENT && errno != ENOTDIR)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (there && S_ISDIR(status.st_mode)) {
        strbuf_addf(info, "%s%s" INFO, path, path[strlen(path) - 1] == '/' ? "" : "/");
        return access(strbuf_text(info), F_OK) == 0 ? 0 : find_only_run(path, info, error);
    }
    if (of_run) {
        strbuf_add(info, path, prefix);
        strbuf_adds(info, INFO);
    } else {
        strbuf_addf(info, "%s%s", path, there ? "" : INFO);
    }
    if (access(strbuf_text(info), F_OK) == 0)
        return 0;
    if (there)
        return error_set(error, -ENOENT, "%s: its %s is not there, which a run is read from", path,
                         strbuf_text(info));
    return error_set(error, -ENOENT, "%s: there is no such run: no %s", path, strbuf_text(info));
}

/* Reads a regular file whole. Its size is known beforehand, so this is one read and one more that finds the
 * end. */
static int read_file(const char *path, struct strbuf *out, struct metron_error *error)
{
    struct stat status;
    /* Not to wait for the writer of a pipe that somebody named info.json. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = 0;

    if (fd < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) < 0)
        code = error_set(error, -errno, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        code = error_set(error, -EINVAL, "%s: not a regular file", path);
    else if (status.st_size > (off_t)RECORDING_INFO_MAX)
        code = -EFBIG;
    else
        code = strbuf_reserve(out, (size_t)status.st_size + 1);
    while (code == 0) {
        code = out->length > RECORDING_INFO_MAX ? -EFBIG : strbuf_reserve(out, 1);
        if (code < 0)
            break;

        ssize_t count = read(fd, out->data + out->length, out->capacity - out->length - 1);

        if (count == 0)
            break;
        if (count > 0)
            out->length += (size_t)count;
        else if (errno != EINTR)
            code = error_set(error, -errno, "%s: %s", path, strerror(errno));
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
    int code;

    *out = (struct recording){0};
    if (path[0] == '\0')
        return error_set(error, -ENOENT, "an empty path names no run");
    code = text_ends_with(path, INFO) ? 1 : resolve(path, &info, error);
    if (code < 0)
        goto out;
    if (info.failed) {
        code = error_set(error, -ENOMEM, "%s: no memory to read it", path);
        goto out;
    }

    const char *file = code == 1 ? path : strbuf_text(&info);

    code = read_file(file, &bytes, error);
    if (code == 0 && bytes.length == 0)
        code = error_set(error, -EBADMSG, "%s: empty: nothing was recorded, or it was lost", file);
    if (code == 0)
        code = recording_parse(bytes.data, bytes.length, file, wish, out, error);
out:
    strbuf_fini(&info);
    strbuf_fini(&bytes);
    return code;
}
