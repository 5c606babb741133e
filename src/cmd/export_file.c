#include "cmd/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static int complain(const struct export_file *file, int code, struct metron_error *error)
{
    return error_set(error, code, "cannot write %s: %s",
                     file->path.length ? strbuf_text(&file->path) : "to stdout", strerror(-code));
}

static int open_temporary(struct export_file *file, const struct stat *old, mode_t mode,
                          struct metron_error *error)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;

    int code = file->path.failed ? -ENOMEM : file_temporary_name(strbuf_text(&file->path), &file->temporary);

    if (code < 0)
        return complain(file, code, error);
    file->fd = file_open_nameless(AT_FDCWD, strbuf_text(&file->path), mode);
    file->nameless = file->fd >= 0;
    if (file->fd < 0)
        file->fd = open(strbuf_text(&file->temporary), flags, mode);
    if (file->fd < 0 && errno == EEXIST) {
        /* Left behind by a killed process that had our pid. */
        (void)unlink(strbuf_text(&file->temporary));
        file->fd = open(strbuf_text(&file->temporary), flags, mode);
    }
    if (file->fd < 0) {
        code = -errno;
        strbuf_reset(&file->temporary);
        return complain(file, code, error);
    }
    /* Whoever could read the old one can read the new one. */
    if (old)
        (void)fchmod(file->fd, old->st_mode & 0777);
    return 0;
}

/* Gives a file without a name its temporary one: only that can be renamed over another file. */
static int give_name(struct export_file *file)
{
    (void)unlink(strbuf_text(&file->temporary));
    int code = file_give_name(file->fd, AT_FDCWD, strbuf_text(&file->temporary));
    file->nameless = code < 0;
    return code;
}

int export_file_open(struct export_file *file, const char *path, bool must_be_new, mode_t mode,
                     struct metron_error *error)
{
    struct stat status;

    if (!path || strcmp(path, "-") == 0) {
        file->fd = STDOUT_FILENO;
        return 0;
    }
    bool there = stat(path, &status) == 0;
    /* Through links: the link stays one. */
    char *real = there ? realpath(path, NULL) : NULL;
    strbuf_adds(&file->path, real ? real : path);
    free(real);
    if (there && S_ISDIR(status.st_mode))
        return complain(file, -EISDIR, error);
    if (there && must_be_new)
        return error_set(error, -EEXIST, "%s exists: remove it, or choose another prefix", path);
    if (!there || S_ISREG(status.st_mode))
        return open_temporary(file, there ? &status : NULL, mode, error);
    file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd < 0 ? complain(file, -errno, error) : 0;
}

bool export_file_replaces(const struct export_file *file, const char *path)
{
    return file->path.length > 0 && file_is_same(strbuf_text(&file->path), path);
}

int export_file_write(struct export_file *file, struct strbuf *text, struct metron_error *error)
{
    struct strbuf shown = STRBUF_INIT;
    int code;

    if (isatty(file->fd)) {
        text_printable_lines(&shown, strbuf_text(text), text->length);
        code = shown.failed ? -ENOMEM : file_write_all(file->fd, strbuf_text(&shown), shown.length);
    } else {
        code = file_write_all(file->fd, strbuf_text(text), text->length);
    }
    strbuf_fini(&shown);
    strbuf_reset(text);
    return code < 0 ? complain(file, code, error) : 0;
}

int export_file_commit(struct export_file *file, struct metron_error *error)
{
    if (file->fd == STDOUT_FILENO || file->fd < 0)
        return 0;
    int code = file->nameless ? give_name(file) : 0;

    /* Network file systems report a full disk or quota only here. */
    if (close(file->fd) < 0 && errno != EINTR && code == 0)
        code = -errno;
    file->fd = -1;
    if (code == 0 && file->temporary.length > 0 &&
        rename(strbuf_text(&file->temporary), strbuf_text(&file->path)) < 0)
        code = -errno;
    if (code < 0)
        return complain(file, code, error);
    strbuf_reset(&file->temporary);
    return 0;
}

void export_file_fini(struct export_file *file)
{
    if (file->fd >= 0 && file->fd != STDOUT_FILENO)
        (void)close(file->fd);
    if (file->temporary.length > 0 && !file->nameless)
        (void)unlink(strbuf_text(&file->temporary));
    strbuf_fini(&file->path);
    strbuf_fini(&file->temporary);
    file->fd = -1;
}
