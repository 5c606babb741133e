/*
 * The file of the history: making it, opening it, and setting it aside when it is damaged.
 *
 * Whether it is sound is looked at when it is opened, for at most a second: damage in a large file that was
 * not found by then is found when the damaged page is used, and dealt with in the same way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/history/schema.h"
#include "store/history/state.h"

#define CHECK_NS           NS_PER_SECOND
#define CHECK_INSTRUCTIONS 10000 /* of SQLite's machine, between two looks at the clock */
#define ASIDE_TRIES        100

/* SQLite would make it with the mode that the umask leaves, readable to others. */
static int make_private(const char *path, struct metron_error *error)
{
    int code = file_make_folders(path, error);
    if (code < 0)
        return code;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        code = -errno;
        if (fd >= 0)
            (void)close(fd);
        return error_set(error, code, "history '%s': cannot be opened: %s; choose another path", path,
                         strerror(-code));
    }
    if (!S_ISREG(status.st_mode))
        code = error_set(error, -EINVAL, "history '%s' is not a plain file; choose another path", path);
    else if ((status.st_mode & 077) != 0)
        (void)fchmod(fd, 0600); /* another's file that we may write stays as it is */
    (void)close(fd);
    return code;
}

static int out_of_time(void *deadline)
{
    return clock_monotonic_ns() > *(const uint64_t *)deadline;
}

/* 0: nothing wrong was found. */
static int check_sound(sqlite3 *database)
{
    uint64_t deadline = clock_monotonic_ns() + CHECK_NS;
    sqlite3_stmt *compiled = NULL;

    sqlite3_progress_handler(database, CHECK_INSTRUCTIONS, out_of_time, &deadline);
    int result = sqlite3_prepare_v2(database, "PRAGMA quick_check(1)", -1, &compiled, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(compiled);
    int code = 0;
    if (result == SQLITE_ROW) {
        const char *answer = (const char *)sqlite3_column_text(compiled, 0);

        code = answer && strcmp(answer, "ok") == 0 ? 0 : -EBADMSG;
    } else if (result != SQLITE_INTERRUPT) {
        code = database_errno(database, sqlite3_extended_errcode(database));
    }
    (void)sqlite3_finalize(compiled);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    return code;
}

/* auto_vacuum counts only before the first table is made. A file that another program has put into another
 * journal mode is put back. */
static int configure(struct history *history, struct metron_error *error)
{
    sqlite3 *database = history->database;

    (void)sqlite3_extended_result_codes(database, 1);
    (void)sqlite3_busy_timeout(database, (int)history->options.busy_timeout_ms);
    if (database_run(database, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304;"
                               "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY") < 0)
        return database_failed(database, history->path, "cannot be opened", 0, error);
    return 0;
}

static int open_once(struct history *history, struct metron_error *error)
{
    int code = make_private(history->path, error);

    if (code < 0)
        return code;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(history->path, &history->database, flags, NULL) != SQLITE_OK)
        return database_failed(history->database, history->path, "cannot be opened", 0, error);
    /* First of all whether it is ours: another's file is not to be changed. */
    (void)sqlite3_busy_timeout(history->database, (int)history->options.busy_timeout_ms);
    code = schema_check(history->database, history->path, SCHEMA_VERSION, error);
    if (code == 0)
        code = configure(history, error);
    if (code == 0 && check_sound(history->database) == -EBADMSG)
        code = error_set(error, -EBADMSG, "history '%s': the file is damaged", history->path);
    if (code == 0)
        code = schema_migrate(history->database, history->path, schema_steps, SCHEMA_VERSION, error);
    return code;
}

void history_disconnect(struct history *history)
{
    for (size_t i = 0; i < SQL_COUNT; i++)
        statement_fini(&history->statements[i]);
    (void)sqlite3_close(history->database);
    history->database = NULL;
    history->loaded = false;
    jobs_forget(history);
    minutes_forget(history);
}

/* A name beside the file that is not taken, for it and its companions. */
static int free_name(const char *path, char **out)
{
    char stamp[CLOCK_ISO_SIZE];

    (void)clock_file_stamp(clock_wall(), stamp);
    for (int i = 1; i <= ASIDE_TRIES; i++) {
        if ((i == 1 ? asprintf(out, "%s.damaged-%s", path, stamp)
                    : asprintf(out, "%s.damaged-%s.%d", path, stamp, i)) < 0) {
            *out = NULL;
            return -ENOMEM;
        }
        if (faccessat(AT_FDCWD, *out, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
            return 0;
        free(*out);
        *out = NULL;
    }
    return -EEXIST;
}

/* The log first: without its file it means nothing, but a new file beside an old log would be damaged by it.
 */
static int rename_all(const char *path, const char *aside)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        char *from = NULL, *to = NULL;
        int code = 0;

        if (asprintf(&from, "%s%s", path, suffixes[i]) < 0) {
            from = NULL;
            code = -ENOMEM;
        }
        if (code == 0 && asprintf(&to, "%s%s", aside, suffixes[i]) < 0) {
            to = NULL;
            code = -ENOMEM;
        }
        if (code == 0 && rename(from, to) < 0 && (errno != ENOENT || suffixes[i][0] == '\0'))
            code = -errno;
        free(from);
        free(to);
        if (code < 0)
            return code;
    }
    return 0;
}

int history_put_aside(struct history *history, struct metron_error *error)
{
    char *aside = NULL;
    int code = free_name(history->path, &aside);

    history_disconnect(history);
    if (code == 0)
        code = rename_all(history->path, aside);
    if (code < 0) {
        free(aside);
        return error_set(error, code, "history '%s' is damaged and cannot be set aside: %s; move it away",
                         history->path, strerror(-code));
    }
    free(history->set_aside);
    history->set_aside = aside;
    history->set_aside_untold = true;
    return 0;
}

int history_connect(struct history *history, struct metron_error *error)
{
    int code = open_once(history, error);

    if (code == -EBADMSG) {
        code = history_put_aside(history, error);
        if (code == 0)
            code = open_once(history, error);
    }
    if (code < 0)
        history_disconnect(history);
    return code;
}
