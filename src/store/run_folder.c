#include "store/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define EVENTS_BUFFER_BYTES ((size_t)64 * 1024)

static void add_value(struct strbuf *out, const char *value)
{
    for (; *value; value++)
        strbuf_addc(out, *value == '/' ? '_' : *value);
}

/* One placeholder, its braces left off. */
static int expand_name(const char *name, const struct prefix_values *values, struct strbuf *out,
                       struct metron_error *error)
{
    char stamp[CLOCK_ISO_SIZE];

    if (strcmp(name, "datetime") == 0) {
        strbuf_adds(out, clock_file_stamp(values->wall, stamp));
    } else if (strcmp(name, "pid") == 0) {
        strbuf_addf(out, "%d", (int)values->pid);
        if (values->number > 1)
            strbuf_addf(out, "-%u", values->number);
    } else if (strcmp(name, "host") == 0) {
        add_value(out, values->host);
    } else if (strcmp(name, "job") == 0) {
        if (!values->job)
            return error_set(error, -EINVAL,
                             "output prefix: {job} stands for the job's name, and --job is not given");
        add_value(out, values->job);
    } else if (strncmp(name, "env:", 4) == 0) {
        const char *value = getenv(name + 4);
        if (!value)
            return error_set(error, -EINVAL, "output prefix: {%s}: the environment has no %s", name,
                             name + 4);
        add_value(out, value);
    } else {
        return error_set(
            error, -EINVAL,
            "output prefix: {%s} is not known; there are {datetime}, {pid}, {host}, {job}, {env:NAME}", name);
    }
    return 0;
}

/* Ends a folder's name that begins at `start` and has a value in it. Whatever the value is, this stays the
 * name of a folder: "." and ".." are places elsewhere, and a path that begins with no name begins at the
 * root. */
static void end_folder(struct strbuf *out, size_t start)
{
    size_t length = out->length - start;

    if (out->failed || length > 2 || strspn(strbuf_text(out) + start, ".") != length)
        return;
    out->length = start;
    strbuf_adds(out, length == 2 ? "__" : "_");
}

int run_folder_expand(const char *pattern, const struct prefix_values *values, struct strbuf *out,
                      struct metron_error *error)
{
    size_t folder = out->length; /* where the name between two slashes begins */
    bool has_value = false;

    for (const char *c = pattern; *c; c++) {
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            strbuf_addc(out, *c++);
            continue;
        }
        const char *end = *c == '{' ? strchr(c, '}') : NULL;
        if (*c == '}' || (*c == '{' && !end))
            return error_set(error, -EINVAL,
                             "output prefix: '%c' at position %zu has no partner; write it twice", *c,
                             (size_t)(c - pattern) + 1);
        if (*c == '/' && has_value)
            end_folder(out, folder);
        if (!end) {
            strbuf_addc(out, *c);
            folder = *c == '/' ? out->length : folder;
            has_value = has_value && *c != '/';
            continue;
        }
        has_value = true;
        char name[128];
        size_t length = (size_t)(end - c) - 1;
        if (length >= sizeof(name))
            return error_set(error, -EINVAL, "output prefix: the placeholder at position %zu is too long",
                             (size_t)(c - pattern) + 1);
        memcpy(name, c + 1, length);
        name[length] = '\0';
        int code = expand_name(name, values, out, error);
        if (code < 0)
            return code;
        c = end;
    }
    return out->failed ? error_set(error, -ENOMEM, "no memory for the output prefix") : 0;
}

void run_folder_init(struct run_folder *folder, const bool wanted[RUN_FILE_COUNT])
{
    *folder = (struct run_folder){.reserved_fd = -1, .folder_fd = AT_FDCWD};
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        folder->wanted[i] = wanted[i];
        folder->fds[i] = -1;
    }
}

/* The name of a file as seen from `folder_fd`. */
static const char *name_of(const struct run_folder *folder, const char *path)
{
    const char *slash = strrchr(path, '/');

    return folder->folder_fd != AT_FDCWD && slash ? slash + 1 : path;
}

/* Forgets the files, which stay. */
static void close_files(struct run_folder *folder)
{
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        if (folder->fds[i] >= 0)
            (void)close(folder->fds[i]);
        folder->fds[i] = -1;
        folder->lengths[i] = 0;
        free(folder->paths[i]);
        folder->paths[i] = NULL;
    }
    if (folder->reserved_fd >= 0)
        (void)close(folder->reserved_fd);
    folder->reserved_fd = -1;
    if (folder->folder_fd >= 0)
        (void)close(folder->folder_fd);
    folder->folder_fd = AT_FDCWD;
    free(folder->prefix);
    folder->prefix = NULL;
    folder->has_info = folder->made_folder = false;
}

static int not_regular(const char *path, struct metron_error *error)
{
    return error_set(error, -EEXIST, "'%s' is not a regular file; choose another --output-prefix", path);
}

/* Removes the files of an older run, or none if anything else has one of their names: a link or a device
 * (/dev/stdout) is not metron's. An info.json that will be replaced as a whole stays until then. */
static int remove_older(const struct run_folder *folder, struct metron_error *error)
{
    struct strbuf path = STRBUF_INIT;
    struct stat status;
    int code = 0;

    for (size_t i = 0; i < 2UL * RUN_FILE_COUNT && code == 0; i++) { /* first all are checked */
        size_t which = i % RUN_FILE_COUNT;

        strbuf_reset(&path);
        strbuf_addf(&path, "%s%s", folder->prefix, run_file_names[which]);
        if (path.failed)
            code = error_set(error, -ENOMEM, "no memory for the output files");
        else if (fstatat(folder->folder_fd, name_of(folder, path.data), &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        else if (!S_ISREG(status.st_mode))
            code = not_regular(path.data, error);
        else if (i >= RUN_FILE_COUNT && !(which == RUN_INFO && folder->wanted[RUN_INFO]) &&
                 unlinkat(folder->folder_fd, name_of(folder, path.data), 0) < 0 && errno != ENOENT)
            code = error_set(error, -errno, "cannot remove '%s': %s", path.data, strerror(errno));
    }
    strbuf_fini(&path);
    return code;
}

/* info.json comes whole or not at all, with the first write: here it is only looked for. */
static int make_file(struct run_folder *folder, enum run_file which, bool clobber)
{
    const char *name = name_of(folder, folder->paths[which]);

    if (which == RUN_INFO) {
        folder->has_info = clobber;
        return !clobber && faccessat(folder->folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST : 0;
    }
    int fd = openat(folder->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    folder->fds[which] = fd;
    return 0;
}

static int make_files(struct run_folder *folder, bool clobber, struct metron_error *error)
{
    int code = 0;

    for (size_t i = 0; i < RUN_FILE_COUNT && code == 0; i++) {
        char *path = NULL;
        if (!folder->wanted[i])
            continue;
        if (asprintf(&path, "%s%s", folder->prefix, run_file_names[i]) < 0)
            return error_set(error, -ENOMEM, "no memory for the output files");
        folder->paths[i] = path;
        code = make_file(folder, (enum run_file)i, clobber);
        struct stat status;
        if (code == -EEXIST &&
            fstatat(folder->folder_fd, name_of(folder, path), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            !S_ISREG(status.st_mode))
            (void)not_regular(path, error);
        else if (code == -EEXIST)
            (void)error_set(error, code,
                            "'%s' is there already; choose another --output-prefix or use --clobber", path);
        else if (code < 0)
            (void)error_set(error, code, "cannot make '%s': %s", path, strerror(-code));
        if (code < 0) {
            free(path);
            folder->paths[i] = NULL; /* not ours to remove */
        }
    }
    return code;
}

int run_folder_open(struct run_folder *folder, const char *prefix, bool clobber, bool is_default,
                    struct metron_error *error)
{
    size_t length = strlen(prefix);
    int code;

    close_files(folder);
    folder->prefix = strdup(prefix);
    if (!folder->prefix)
        return error_set(error, -ENOMEM, "no memory for the output files");
    folder->made_folder = length > 1 && prefix[length - 1] == '/' && access(prefix, F_OK) != 0;
    code = (is_default ? file_open_own_folder : file_make_folders)(prefix, error);
    if (code >= 0 && is_default)
        folder->folder_fd = code;
    if (code >= 0)
        code = clobber ? remove_older(folder, error) : 0;
    if (code == 0)
        code = make_files(folder, clobber, error);
    if (code < 0) {
        run_folder_remove(folder);
        close_files(folder);
    }
    return code;
}

/* Appends whole lines, or leaves the file as it was. */
static int append_lines(struct run_folder *folder, enum run_file which, const struct strbuf *lines)
{
    int fd = folder->fds[which];
    int code = file_write_all(fd, lines->data, lines->length);
    if (code < 0) {
        if (ftruncate(fd, folder->lengths[which]) == 0)
            (void)lseek(fd, folder->lengths[which], SEEK_SET);
        return code;
    }
    folder->lengths[which] += (off_t)lines->length;
    return 0;
}

/* In whichever thread writes. */
static int write_text(void *context, unsigned which, const struct strbuf *text)
{
    struct run_folder *folder = context;

    if (which != RUN_INFO)
        return append_lines(folder, which, text);
    return (folder->has_info ? file_replace : file_create)(
        folder->folder_fd, name_of(folder, folder->paths[RUN_INFO]), text->data, text->length, 0600);
}

static int put_text(struct run_folder *folder, enum run_file which, const struct strbuf *text)
{
    if (text->failed)
        return -ENOMEM;
    return folder->queue ? write_queue_put(folder->queue, which, text, which == RUN_INFO)
                         : write_text(folder, which, text);
}

void run_folder_write_behind(struct run_folder *folder, void (*begin)(void))
{
    const struct write_queue_options options = {.write = write_text, .context = folder, .begin = begin};

    _Static_assert(WRITE_QUEUE_CHANNELS >= RUN_FILE_COUNT, "a channel for each file");
    if (folder->write_behind_tried || !folder->prefix)
        return;
    folder->write_behind_tried = true;
    folder->queue = write_queue_new(&options);
}

void run_folder_finish(struct run_folder *folder, int codes[RUN_FILE_COUNT], uint64_t dropped[RUN_FILE_COUNT])
{
    int found[WRITE_QUEUE_CHANNELS] = {0};
    uint64_t counts[WRITE_QUEUE_CHANNELS] = {0};

    if (folder->queue)
        write_queue_finish(folder->queue, found, counts);
    folder->queue = NULL;
    memcpy(codes, found, RUN_FILE_COUNT * sizeof(*codes));
    memcpy(dropped, counts, RUN_FILE_COUNT * sizeof(*dropped));
}

int run_folder_write_record(struct run_folder *folder, const struct record *record, size_t *bytes)
{
    struct json json;

    if (folder->fds[RUN_USAGE] < 0)
        return 0;
    strbuf_reset(&folder->text);
    json_init(&json, &folder->text, 0);
    record_json(&json, record);
    strbuf_addc(&folder->text, '\n');
    *bytes = folder->text.length;
    return put_text(folder, RUN_USAGE, &folder->text);
}

static void make_info(struct run_folder *folder, const struct run_info *info, int indent)
{
    struct json json;

    strbuf_reset(&folder->text);
    json_init(&json, &folder->text, indent);
    run_info_json(&json, info);
    strbuf_addc(&folder->text, '\n');
}

/* Without spaces and line ends, so that the last info.json fits the space that is reserved for it. */
static int write_reserved(struct run_folder *folder, const struct run_info *info)
{
    make_info(folder, info, 0);
    int code = folder->text.failed ? -ENOMEM : 0;
    if (code == 0)
        code = file_replace_reserved(folder->reserved_fd, folder->folder_fd,
                                     name_of(folder, folder->paths[RUN_INFO]), folder->text.data,
                                     folder->text.length);
    (void)close(folder->reserved_fd);
    folder->reserved_fd = -1;
    return code;
}

int run_folder_write_info(struct run_folder *folder, const struct run_info *info)
{
    const char *path = folder->paths[RUN_INFO];

    if (!path)
        return 0;
    make_info(folder, info, 2);
    int code = put_text(folder, RUN_INFO, &folder->text);
    if (code < 0 && info->ended && !folder->queue && folder->reserved_fd >= 0 &&
        write_reserved(folder, info) == 0)
        code = 0;
    if (code < 0 || folder->queue)
        return code;
    folder->has_info = true;
    /* The last one is larger. */
    for (size_t times = 2; !info->ended && times > 0 && folder->reserved_fd < 0; times--)
        folder->reserved_fd =
            file_reserve(folder->folder_fd, name_of(folder, path), times * folder->text.length, 0600);
    return 0;
}

int run_folder_add_event(struct run_folder *folder, const struct event *event)
{
    struct json json;

    if (!folder->wanted[RUN_EVENTS])
        return 0;
    json_init(&json, &folder->events, 0);
    event_json(&json, event);
    strbuf_addc(&folder->events, '\n');
    return folder->events.length >= EVENTS_BUFFER_BYTES ? run_folder_flush_events(folder) : 0;
}

int run_folder_flush_events(struct run_folder *folder)
{
    if (folder->fds[RUN_EVENTS] < 0 || folder->events.length == 0)
        return 0;
    int code = put_text(folder, RUN_EVENTS, &folder->events);
    strbuf_reset(&folder->events);
    return code;
}

void run_folder_remove(struct run_folder *folder)
{
    for (size_t i = 0; i < RUN_FILE_COUNT; i++)
        if (folder->paths[i] && (i != RUN_INFO || folder->has_info))
            (void)unlinkat(folder->folder_fd, name_of(folder, folder->paths[i]), 0);
    if (folder->made_folder)
        (void)rmdir(folder->prefix);
}

void run_folder_close(struct run_folder *folder)
{
    int codes[RUN_FILE_COUNT];
    uint64_t dropped[RUN_FILE_COUNT];

    run_folder_finish(folder, codes, dropped);
    close_files(folder);
    strbuf_fini(&folder->text);
    strbuf_fini(&folder->events);
}
