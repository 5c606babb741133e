/*
 * The file of the history: making it, opening it, noticing that it was removed, and setting it aside when it
 * is damaged.
 *
 * SQLite opens a file by its name, whatever that is. The file is therefore opened here first: it and its
 * companions must be plain files of our user's, who would otherwise read every command line, or have written
 * what we read. A lock on it keeps a second daemon away. It is an flock, which has nothing to do with the
 * locks of SQLite; they are the process's, and closing any descriptor of the file would give them up: this
 * one is closed after SQLite's.
 *
 * Whether it is sound is looked at when it is opened, for at most a second: damage in a large file that was
 * not found by then is found when the damaged page is used, and dealt with in the same way.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/history/schema.h"
#include "store/history/state.h"

#define CHECK_NS           NS_PER_SECOND
#define CHECK_INSTRUCTIONS 10000 /* of SQLite's machine, between two looks at the clock */
#define ASIDE_TRIES        100

#define LOCK_PAUSE_NS 10000000

/* What SQLite puts beside the file: the log and its index, in the order of history->companions, and what
 * another mode of its journal leaves. */
static const char *const companions[] = {"-wal", "-shm", "-journal"};

static int check_owner(const char *path, const struct stat *status, struct metron_error *error)
{
    if (!S_ISREG(status->st_mode))
        return error_set(error, -EINVAL, "history '%s' is not a plain file; choose another path", path);
    if (status->st_uid != geteuid())
        return error_set(error, -EPERM,
                         "history '%s' belongs to user %u, who would read everything; move it away, or "
                         "choose another path",
                         path, (unsigned)status->st_uid);
    return 0;
}

/* False: there is none, or its name is too long for SQLite too. */
static bool companion_stat(const char *path, size_t which, char name[PATH_MAX], struct stat *status)
{
    return snprintf(name, PATH_MAX, "%s%s", path, companions[which]) < PATH_MAX && lstat(name, status) == 0;
}

/* The inode of a companion; 0: there is none. */
static int companion_find(const char *path, size_t which, ino_t *inode, struct metron_error *error)
{
    char name[PATH_MAX];
    struct stat status;
    bool there = companion_stat(path, which, name, &status);

    *inode = there ? status.st_ino : 0;
    return there ? check_owner(name, &status, error) : 0;
}

int64_t history_log_bytes(const struct history *history)
{
    char name[PATH_MAX];
    struct stat status;

    return companion_stat(history->path, 0, name, &status) ? status.st_size : 0;
}

static int check_companions(const char *path, struct metron_error *error)
{
    int code = 0;
    ino_t inode;

    for (size_t i = 0; i < sizeof(companions) / sizeof(*companions) && code == 0; i++)
        code = companion_find(path, i, &inode, error);
    return code;
}

/* A child of a daemon that was killed may hold it for a moment, until it calls exec. */
static bool lock_file(int fd, unsigned timeout_ms)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    uint64_t deadline = clock_monotonic_ns() + timeout_ms * (NS_PER_SECOND / 1000);

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return true; /* some network file systems have no locks: it works without */
        if (clock_monotonic_ns() >= deadline)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* SQLite would make it with the mode that the umask leaves, readable to others. */
static int open_private(struct history *history, struct metron_error *error)
{
    const char *path = history->path;
    struct stat status;
    int code = file_make_folders(path, error);

    if (code < 0)
        return code;
    history->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (history->fd < 0 && errno == ELOOP)
        return error_set(error, -ELOOP, "history '%s' is a symbolic link; name the file it leads to", path);
    if (history->fd < 0 || fstat(history->fd, &status) < 0) {
        code = -errno;
        return error_set(error, code, "history '%s': cannot be opened: %s; choose another path", path,
                         strerror(-code));
    }
    code = check_owner(path, &status, error);
    if (code == 0)
        code = check_companions(path, error);
    if (code == 0 && !lock_file(history->fd, history->options.busy_timeout_ms))
        code = error_set(error, -EBUSY,
                         "history '%s' is in use by another metron daemon; stop that, or choose another path",
                         path);
    if (code == 0 && (status.st_mode & 077) != 0)
        (void)fchmod(history->fd, 0600);
    return code;
}

/* Whether SQLite has opened the file that was checked. */
static int check_opened(const struct history *history, struct metron_error *error)
{
    int moved = 0;

    (void)sqlite3_file_control(history->database, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved || !file_is_at(history->fd, history->path))
        return error_set(error, -EAGAIN, "history '%s' was replaced while it was opened; try again",
                         history->path);
    return 0;
}

static int out_of_time(void *deadline)
{
    return clock_monotonic_ns() > *(const uint64_t *)deadline;
}

static bool is_damaged(sqlite3 *database)
{
    uint64_t deadline = clock_monotonic_ns() + CHECK_NS;
    sqlite3_stmt *compiled = NULL;

    sqlite3_progress_handler(database, CHECK_INSTRUCTIONS, out_of_time, &deadline);
    int code = database_prepare(database, "PRAGMA quick_check(1)", &compiled);
    if (code == 0)
        code = database_step(database, compiled);
    const char *answer = code == 1 ? (const char *)sqlite3_column_text(compiled, 0) : NULL;
    bool damaged = code == 1 ? !answer || strcmp(answer, "ok") != 0 : code == -EBADMSG;
    (void)sqlite3_finalize(compiled);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    return damaged;
}

/* The log goes into the file once it has so many pages, and does not stay larger. */
static int limit_log(const struct history *history)
{
    int64_t most = retention_log_limit(&history->options), page = 0;
    char sql[128];
    int code = database_number(history->database, "PRAGMA page_size", &page);

    if (code < 0)
        return code;
    (void)snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit = %lld; PRAGMA wal_autocheckpoint = %lld",
                   (long long)most, (long long)(most > page ? most / page : 1));
    return database_run(history->database, sql);
}

/* auto_vacuum counts only before the first table is made. A file that another program has put into another
 * journal mode is put back. */
static int configure(struct history *history, struct metron_error *error)
{
    sqlite3 *database = history->database;

    (void)sqlite3_extended_result_codes(database, 1);
    (void)sqlite3_busy_timeout(database, (int)history->options.busy_timeout_ms);
    if (database_run(database, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096") < 0 ||
        limit_log(history) < 0)
        return database_failed(database, history->path, "cannot be opened", 0, error);
    return 0;
}

static int open_once(struct history *history, struct metron_error *error)
{
    int code = open_private(history, error);

    if (code < 0)
        return code;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(history->path, &history->database, flags, NULL) != SQLITE_OK)
        return database_failed(history->database, history->path, "cannot be opened", 0, error);
    code = check_opened(history, error);
    if (code < 0)
        return code;
    /* First of all whether it is ours: another's file is not to be changed. */
    (void)sqlite3_busy_timeout(history->database, (int)history->options.busy_timeout_ms);
    code = schema_check(history->database, history->path, SCHEMA_VERSION, error);
    if (code == 0)
        code = configure(history, error);
    if (code == 0 && is_damaged(history->database))
        code = error_set(error, -EBADMSG, "history '%s': the file is damaged", history->path);
    if (code == 0)
        code = schema_migrate(history->database, history->path, schema_steps, SCHEMA_VERSION,
                              history->options.columns, &history->options.upgrade, error);
    /* Not before: bringing up a large file sorts all of it, which has no room in memory. */
    if (code == 0 && database_run(history->database, "PRAGMA temp_store = MEMORY") < 0)
        code = database_failed(history->database, history->path, "cannot be opened", 0, error);
    /* By now SQLite has opened them. */
    for (size_t i = 0; i < 2 && code == 0; i++)
        code = companion_find(history->path, i, &history->companions[i], error);
    return code;
}

void history_disconnect(struct history *history)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        (void)sqlite3_finalize(history->statements[i].compiled);
        history->statements[i].compiled = NULL;
    }
    (void)sqlite3_close(history->database);
    history->database = NULL;
    if (history->fd >= 0)
        (void)close(history->fd);
    history->fd = -1;
    history->loaded = false;
    jobs_forget(history);
    minutes_forget(history);
}

static bool companions_are_in_place(const struct history *history)
{
    for (size_t i = 0; i < 2; i++) {
        ino_t inode;

        if (companion_find(history->path, i, &inode, NULL) < 0 || inode != history->companions[i])
            return false;
    }
    return true;
}

bool history_is_in_place(const struct history *history)
{
    return file_is_at(history->fd, history->path) && companions_are_in_place(history);
}

void history_leave(struct history *history)
{
    bool in_place = file_is_at(history->fd, history->path);

    /* The log has what the file lacks still. Whose it is now is not known if both are gone. */
    if (in_place || companions_are_in_place(history))
        (void)sqlite3_wal_checkpoint_v2(history->database, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
    /* SQLite would remove the log of this name, which may be that of another file by now. */
    if (!in_place)
        (void)sqlite3_db_config(history->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    history_disconnect(history);
    (void)error_set(&history->remark, -ENOENT, "%s",
                    in_place ? "its log (-wal or -shm) was removed; it is opened anew"
                             : "it was removed or replaced while in use; a new one is begun");
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
    size_t count = sizeof(companions) / sizeof(*companions);

    for (size_t i = 0; i <= count; i++) {
        const char *suffix = i < count ? companions[i] : "";
        char from[PATH_MAX], to[PATH_MAX];

        if (snprintf(from, sizeof(from), "%s%s", path, suffix) >= (int)sizeof(from) ||
            snprintf(to, sizeof(to), "%s%s", aside, suffix) >= (int)sizeof(to))
            return -ENAMETOOLONG;
        if (rename(from, to) < 0 && (errno != ENOENT || i == count))
            return -errno;
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
    (void)error_set(&history->remark, -EBADMSG, "it was damaged; it is kept as '%s', a new one is begun",
                    aside);
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
