/*
 * Reading settings files. inih parses; this hands it the text line by line, and so knows the line of every
 * key, and knows that no line is longer than inih takes (it would be split in silence).
 *
 * The file in the working folder could have been put there by anybody whose folder one works in, and the one
 * in HOME is another user's where sudo kept HOME. Each is read only if it, its folder and a link to that
 * folder belong to the caller or root. The local one must not be a link, and nobody else may be able to write
 * it. All this is asked of open descriptors, not of names.
 */
#include "settings/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/suggest.h"

#define FILE_BYTES_MAX (1 << 20)
#define LONG_LINE      16384
#define SHORT_LINE     200

/* Debian's inih can be told at run time to take long lines; elsewhere these do not exist, and lines are
 * short. */
/* NOLINTBEGIN(readability-redundant-declaration) */
extern bool ini_use_stack __attribute__((weak));
extern int ini_initial_alloc __attribute__((weak));
/* NOLINTEND(readability-redundant-declaration) */

struct reading {
    struct settings *settings;
    const char *path;
    bool local;
    const char *at; /* next byte to hand out */
    const char *end;
    int line;                     /* the one handed out last, from 1 */
    int line_of[SETTING_COUNT];   /* where a key was set in this file, 0 if not yet */
    int failed_line;              /* of the first refused key */
    struct metron_error *failure; /* and why */
};

/* fgets over the text. Blanks at a line's start are dropped: inih would take such a line for a continuation
 * of the value before it. */
static char *next_line(char *out, int size, void *stream)
{
    struct reading *reading = stream;
    size_t length = 0;

    if (reading->at == reading->end)
        return NULL;
    reading->line++;
    while (reading->at < reading->end && (*reading->at == ' ' || *reading->at == '\t'))
        reading->at++;
    while (reading->at < reading->end && length + 1 < (size_t)size) {
        char byte = *reading->at++;

        out[length++] = byte;
        if (byte == '\n')
            break;
    }
    out[length] = '\0';
    return out;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct reading *reading, int code, const char *format,
                                                        ...)
{
    struct strbuf reason = STRBUF_INIT;
    va_list arguments;

    if (reading->failed_line != 0)
        return 0;
    va_start(arguments, format);
    strbuf_vaddf(&reason, format, arguments);
    va_end(arguments);
    reading->failed_line = reading->line;
    (void)error_set(reading->failure, code, "%s:%d: %s", reading->path, reading->line, strbuf_text(&reason));
    strbuf_fini(&reason);
    return 0;
}

static int refuse_key(struct reading *reading, const char *key)
{
    struct suggest suggest;
    char nearest[SUGGEST_TEXT_SIZE];
    char keys[SETTING_COUNT][SETTING_KEY_SIZE];

    suggest_init(&suggest, key);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (!(settings_table[id].traits & SETTING_OPTION_ONLY))
            suggest_offer(&suggest, setting_key(&settings_table[id], keys[id]));
    }
    return refuse(reading, -EINVAL, "unknown key '%.128s'%s", key, suggest_text(&suggest, "", nearest));
}

static int take_value(struct reading *reading, int id, const char *key, const char *value, bool wanted)
{
    const struct setting *setting = &settings_table[id];
    struct metron_error reason = {0};
    struct strbuf where = STRBUF_INIT;
    int result;

    if (reading->local && (setting->traits & SETTING_NOT_LOCAL))
        return refuse(reading, -EINVAL, "%s cannot be set in the working folder, only in a file of yours",
                      key);
    if (reading->line_of[id] > 0)
        return refuse(reading, -EINVAL, "%s is already set on line %d", key, reading->line_of[id]);
    strbuf_addf(&where, "%s:%d", reading->path, reading->line);
    if (where.failed) {
        result = error_set(&reason, -ENOMEM, "out of memory");
    } else if (wanted) {
        reading->line_of[id] = reading->line;
        result = settings_set_id(reading->settings, (enum setting_id)id, value, SETTING_ORIGIN_FILE,
                                 where.data, &reason);
    } else {
        /* Another command's: checked all the same, so that a mistake shows at once, then thrown away. */
        struct settings scratch = {0};

        result = settings_set_id(&scratch, (enum setting_id)id, value, SETTING_ORIGIN_FILE, NULL, &reason);
        settings_fini(&scratch);
    }
    strbuf_fini(&where);
    return result < 0 ? refuse(reading, result, "%s: %s", key, reason.message) : 1;
}

/* inih's handler: nonzero to go on. */
static int take_key(void *user, const char *section, const char *key, const char *value)
{
    struct reading *reading = user;
    unsigned command = command_of_section(section);

    if (section[0] != '\0' && command == 0)
        return refuse(reading, -EINVAL,
                      "key '%s' is in the unknown section [%s]; keys stand in no section or in [run]", key,
                      section);

    int id = setting_find(key, false);

    if (id < 0 || (settings_table[id].traits & SETTING_OPTION_ONLY))
        return refuse_key(reading, key);
    if (command != 0 && !(settings_table[id].commands & command))
        return refuse(reading, -EINVAL, "key '%s' is not a setting of [%s]", key, section);
    return take_value(reading, id, key, value, command == 0 || (command & reading->settings->commands));
}

/* What inih cannot tell us about: NUL bytes (it would stop there) and lines it would split. */
static int check_lines(const char *text, size_t length, size_t longest, const char *path,
                       struct metron_error *error)
{
    int line = 1;
    size_t start = 0;

    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] == '\0')
            return error_set(error, -EINVAL, "%s:%d: holds a NUL byte: this is not a text file", path, line);
        if (i < length && text[i] != '\n')
            continue;
        if (i - start > longest)
            return error_set(error, -EINVAL, "%s:%d: the line is longer than %zu bytes", path, line, longest);
        start = i + 1;
        line++;
    }
    return 0;
}

int settings_load_text(struct settings *settings, const char *text, size_t length, const char *path,
                       bool local, struct metron_error *error)
{
    size_t longest = SHORT_LINE - 3; /* for \r, \n and NUL */

    if (&ini_use_stack && &ini_initial_alloc) {
        ini_use_stack = false;
        ini_initial_alloc = LONG_LINE;
        longest = LONG_LINE - 3;
    }

    int result = check_lines(text, length, longest, path, error);

    if (result < 0)
        return result;

    struct metron_error failure = {0};
    struct reading reading = {
        .settings = settings,
        .path = path,
        .local = local,
        .at = text,
        .end = text + length,
        .failure = &failure,
    };
    int bad_line = ini_parse_stream(next_line, &reading, take_key, &reading);

    if (bad_line < 0)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    if (bad_line == 0)
        return 0;
    if (reading.failed_line == bad_line)
        return error_set(error, failure.code, "%s", failure.message);

    size_t start = 0, end = 0;

    for (int line = 0; line < bad_line && end < length; line++) {
        start = line == 0 ? 0 : end + 1;
        for (end = start; end < length && text[end] != '\n';)
            end++;
    }
    return error_set(error, -EINVAL, "%s:%d: '%.*s' is not of the form 'key = value'", path, bad_line,
                     (int)(end - start), text + start);
}

static void notice(struct settings *settings, const char *path, const char *why)
{
    if (settings->notice_count < SETTINGS_NOTICES_MAX)
        (void)error_set(&settings->notices[settings->notice_count++], -EACCES, "%s is ignored: %s", path,
                        why);
}

/* One of the three, and whom it is trusted from besides root. */
struct source {
    const char *path;
    enum { OF_SYSTEM, OF_USER, OF_FOLDER } kind;
    uid_t owner;
};

static bool is_of_another(const struct stat *status, uid_t owner)
{
    return status->st_uid != owner && status->st_uid != 0;
}

/* NULL, or why the open file may not be trusted. */
static const char *distrust(int fd, const struct source *source)
{
    struct stat status;

    if (source->kind == OF_SYSTEM)
        return NULL;
    if (fstat(fd, &status) < 0 || (source->kind == OF_FOLDER && !S_ISREG(status.st_mode)))
        return "it is not a plain file";
    if (is_of_another(&status, source->owner))
        return "it belongs to another user";
    if (source->kind == OF_FOLDER && status.st_mode & (S_IWGRP | S_IWOTH))
        return "others than its owner can write it";
    return NULL;
}

/* Opens the folder of a file, or leaves *why: a reason to ignore the file. */
static int open_folder(const char *folder, uid_t owner, const char **why)
{
    struct stat status;
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

    if (lstat(folder, &status) < 0)
        return -errno;
    if (!S_ISLNK(status.st_mode))
        flags |= O_NOFOLLOW; /* nor one that takes its place now */
    else if (is_of_another(&status, owner))
        *why = "its folder is a link of another user";

    int fd = open(folder, flags);

    if (fd < 0)
        return -errno;
    if (!*why && fstat(fd, &status) == 0 && is_of_another(&status, owner))
        *why = "its folder belongs to another user";
    return fd;
}

/* The open file, or a negative errno; *why: it is not to be read. */
static int open_file(const struct source *source, const char **why)
{
    /* Non-blocking: a FIFO in the place of the file must not hold us. */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    const char *slash = strrchr(source->path, '/');
    int code;

    if (source->kind == OF_SYSTEM || !slash) {
        code = open(source->path, flags);
        if (code < 0)
            code = -errno;
        return code;
    }

    char *folder = strndup(source->path, slash > source->path ? (size_t)(slash - source->path) : 1);
    int folder_fd = folder ? open_folder(folder, source->owner, why) : -ENOMEM;

    free(folder);
    if (folder_fd < 0)
        return folder_fd;

    code = openat(folder_fd, slash + 1, flags | (source->kind == OF_FOLDER ? O_NOFOLLOW : 0));
    if (code < 0)
        code = -errno;
    (void)close(folder_fd);
    return code;
}

static int load_file(struct settings *settings, const struct source *source, struct metron_error *error)
{
    const char *path = source->path, *why = NULL;
    struct strbuf text = STRBUF_INIT;
    int result = 0;

    if (!path)
        return 0;

    int fd = open_file(source, &why);

    if (!why && fd == -ELOOP && source->kind == OF_FOLDER)
        why = "it is a link";
    if (!why && fd >= 0)
        why = distrust(fd, source);
    if (why && fd != -ENOENT && fd != -ENOTDIR) {
        notice(settings, path, why);
        goto out;
    }
    if (fd < 0) {
        /* Said only where the file can be seen: behind a closed folder (another user's home) there may be
         * none. */
        if (fd == -EACCES || fd == -EPERM) {
            if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0)
                notice(settings, path, strerror(EACCES));
        } else if (fd != -ENOENT && fd != -ENOTDIR)
            result = error_set(error, fd, "cannot read %s: %s", path, strerror(-fd));
        goto out;
    }
    result = file_read_all_fd(fd, FILE_BYTES_MAX, &text);
    if (result == -EFBIG)
        (void)error_set(error, result, "%s is larger than 1 MiB: this is not a settings file", path);
    else if (result < 0)
        (void)error_set(error, result, "cannot read %s: %s", path, strerror(-result));
    else
        result = settings_load_text(settings, strbuf_text(&text), text.length, path,
                                    source->kind == OF_FOLDER, error);
out:
    if (fd >= 0)
        (void)close(fd);
    strbuf_fini(&text);
    return result;
}

void settings_places_init(struct settings_places *places, char buffer[SETTINGS_PATH_SIZE])
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = 0;

    *places = (struct settings_places){
        .system_file = "/etc/metron/metron.conf",
        .local_file = ".metron/metron.conf",
        .owner = geteuid(),
    };
    /* The XDG base directory specification: a relative path is to be ignored. */
    if (config && config[0] == '/')
        length = snprintf(buffer, SETTINGS_PATH_SIZE, "%s/metron/metron.conf", config);
    else if (home && home[0] == '/')
        length = snprintf(buffer, SETTINGS_PATH_SIZE, "%s/.config/metron/metron.conf", home);
    if (length > 0 && length < SETTINGS_PATH_SIZE)
        places->user_file = buffer;
}

int settings_load_files(struct settings *settings, const struct settings_places *places,
                        struct metron_error *error)
{
    const struct source sources[] = {
        {places->system_file, OF_SYSTEM, 0},
        {places->user_file, OF_USER, places->owner},
        {places->local_file, OF_FOLDER, places->owner},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]) && result == 0; i++)
        result = load_file(settings, &sources[i], error);
    return result;
}
