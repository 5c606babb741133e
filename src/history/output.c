#include "history/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* What SQLite keeps beside a database. */
static const char *const companions[] = {"-wal", "-shm", "-journal"};

static int complain(const struct output *output, int code, struct metron_error *error)
{
    if (code == -EEXIST)
        return error_set(error, code, "'%s' exists; --clobber replaces it", output->path);
    return error_set(error, code, "cannot write '%s': %s", output->path, strerror(-code));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Whether both paths are, or would be, one file: also where neither exists. */
static bool is_same(const char *a, const char *b)
{
    struct strbuf folder_a = STRBUF_INIT, folder_b = STRBUF_INIT;

    strbuf_addf(&folder_a, "%.*s.", (int)(name_of(a) - a), a);
    strbuf_addf(&folder_b, "%.*s.", (int)(name_of(b) - b), b);
    bool same = file_is_same(a, b) || (strcmp(name_of(a), name_of(b)) == 0 &&
                                       file_is_same(strbuf_text(&folder_a), strbuf_text(&folder_b)));
    strbuf_fini(&folder_a);
    strbuf_fini(&folder_b);
    return same;
}

/* The database and its log are never replaced; and where another database has left a log, SQLite would play
 * it into the new file. */
static int check_companions(const struct output *output, const char *database, struct metron_error *error)
{
    struct strbuf name = STRBUF_INIT;
    bool is_source = is_same(output->path, database);
    int code = 0;

    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]) && code == 0; i++) {
        strbuf_reset(&name);
        strbuf_addf(&name, "%s%s", database, companions[i]);
        is_source = is_source || is_same(output->path, strbuf_text(&name));
        strbuf_reset(&name);
        strbuf_addf(&name, "%s%s", output->path, companions[i]);
        if (faccessat(AT_FDCWD, strbuf_text(&name), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            code = error_set(error, -EBUSY,
                             "'%s' exists: a program has '%s' open, or was killed; end or remove it, or "
                             "choose another name",
                             strbuf_text(&name), output->path);
    }
    if (is_source)
        code = error_set(error, -EINVAL, "'%s' is the history itself, or part of it; choose another name",
                         output->path);
    strbuf_fini(&name);
    return code;
}

static int check_existing(const struct output *output, struct metron_error *error)
{
    struct stat status;

    if (lstat(output->path, &status) < 0)
        return 0;
    /* It may be everybody's, such as /dev/stdout. */
    if (S_ISLNK(status.st_mode))
        return error_set(error, -EINVAL, "'%s' is a symbolic link; name a file, or remove the link",
                         output->path);
    if (!S_ISREG(status.st_mode))
        return error_set(error, -EINVAL, "'%s' is not a plain file; choose another name", output->path);
    return output->clobber ? 0 : complain(output, -EEXIST, error);
}

int output_open(struct output *output, const char *path, bool clobber, const char *database,
                struct metron_error *error)
{
    *output = (struct output){.path = path, .clobber = clobber, .fd = -1};
    int code = check_companions(output, database, error);
    if (code == 0)
        code = check_existing(output, error);
    if (code < 0)
        return code;
    output->fd = file_open_temporary(AT_FDCWD, path, 0600, &output->temporary);
    return output->fd < 0 ? complain(output, output->fd, error) : 0;
}

int output_commit(struct output *output, struct metron_error *error)
{
    const char *temporary = strbuf_text(&output->temporary);
    int code = fsync(output->fd) < 0 ? -errno : 0;

    /* Network file systems report a full disk or quota only here. */
    if (close(output->fd) < 0 && errno != EINTR && code == 0)
        code = -errno;
    output->fd = -1;
    if (code == 0 && !output->clobber)
        code = file_rename_new(AT_FDCWD, temporary, output->path);
    else if (code == 0 && rename(temporary, output->path) < 0)
        code = -errno;
    if (code < 0)
        (void)unlink(temporary);
    return code < 0 ? complain(output, code, error) : 0;
}

void output_fini(struct output *output)
{
    if (output->fd >= 0)
        (void)unlink(strbuf_text(&output->temporary));
    file_close(&output->fd);
    strbuf_fini(&output->temporary);
}
