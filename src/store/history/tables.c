/*
 * Copies the views of the format into plain tables of another file. SQLite does it alone, so memory is
 * bounded by its page caches.
 *
 * The database is opened read-only (mode=ro) and read in one transaction, so the daemon may go on writing. A
 * reader of a WAL database makes its log (-wal, -shm) where there is none, and cannot remove it again. A
 * daemon that ended properly leaves no log: then the file alone is the whole history, and it is read as one
 * that never changes (immutable=1), which makes nothing, and needs no permission to write to the folder. If
 * the file was changed meanwhile or has a log now, a daemon was started: all is read again, with the log.
 *
 * The database may be damaged or hostile, and its views are text in it: they can read, and no more. SQLite's
 * heap is limited, and a query that does not end can be stopped.
 */
#include "store/history/tables.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "store/history/reader_state.h"

#define HEAP_BYTES        (INT64_C(64) << 20)
#define STOP_INSTRUCTIONS 1000 /* of SQLite's machine, between two reads of `stop` */

/* In the order of enum history_table. Rows are appended in the order of their ids: process_metrics gives the
 * snapshots in order, and sorts those of each. */
static const struct {
    const char *name, *columns, *order;
} definitions[HISTORY_TABLES] = {
    {"snapshots",
     "id INTEGER PRIMARY KEY, timestamp REAL, daemon_pid INTEGER, system_memory_total_mb REAL,"
     " system_memory_available_mb REAL, system_memory_used_mb REAL, daemon_rss_mb REAL, child_count INTEGER,"
     " zombie_count INTEGER, load_avg_1 REAL, load_avg_5 REAL, load_avg_15 REAL, gpu_count INTEGER,"
     " gpu_utilization_pct TEXT, gpu_memory_used_mb TEXT, gpu_temperature TEXT, pressure_level TEXT,"
     " running_jobs INTEGER, active_sheets INTEGER",
     "id"},
    {"process_metrics",
     "id INTEGER PRIMARY KEY, snapshot_id INTEGER, pid INTEGER, ppid INTEGER, command TEXT, state TEXT,"
     " cpu_percent REAL, rss_mb REAL, vms_mb REAL, threads INTEGER, open_fds INTEGER, age_seconds REAL,"
     " job_id TEXT, sheet_num INTEGER, syscall_counts TEXT, syscall_time_pct TEXT",
     "snapshot_id, id"},
    {"process_events",
     "id INTEGER PRIMARY KEY, timestamp REAL, pid INTEGER, event_type TEXT, exit_code INTEGER,"
     " signal_num INTEGER, job_id TEXT, sheet_num INTEGER, details TEXT",
     "id"},
};

/* The names in "NAME TYPE, NAME TYPE, …". */
static void add_names(struct strbuf *out, const char *columns)
{
    for (const char *at = columns; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        strbuf_addf(out, "%s%.*s", at == columns ? "" : ", ", (int)strcspn(at, " "), at);
    }
}

static int write_table(sqlite3 *database, enum history_table table, int *rows)
{
    struct strbuf sql = STRBUF_INIT;

    strbuf_addf(&sql, "CREATE TABLE output.%s(%s)", definitions[table].name, definitions[table].columns);
    int code = sql.failed ? -ENOMEM : database_run(database, strbuf_text(&sql));
    strbuf_reset(&sql);
    strbuf_addf(&sql, "INSERT INTO output.%s SELECT ", definitions[table].name);
    add_names(&sql, definitions[table].columns);
    strbuf_addf(&sql, " FROM main.%s ORDER BY %s", definitions[table].name, definitions[table].order);
    if (code == 0)
        code = sql.failed ? -ENOMEM : database_run(database, strbuf_text(&sql));
    *rows = code == 0 ? sqlite3_changes(database) : 0;
    strbuf_fini(&sql);
    return code;
}

/* A path may have any bytes; "file://" would begin the name of a host. */
static void add_uri(struct strbuf *out, const char *path, const char *query)
{
    strbuf_adds(out, "file:");
    for (; *path; path++)
        strbuf_addf(out, isalnum((unsigned char)*path) ? "%c" : "%%%02X", (unsigned char)*path);
    strbuf_adds(out, query);
}

static int attach(sqlite3 *database, const char *path)
{
    struct strbuf sql = STRBUF_INIT;

    strbuf_adds(&sql, "ATTACH '");
    add_uri(&sql, path, "?mode=rw");
    strbuf_adds(&sql, "' AS output");
    int code = sql.failed ? -ENOMEM : database_run(database, strbuf_text(&sql));
    strbuf_fini(&sql);
    return code;
}

/* Whether SQLite has opened the file that was opened here: another program may have replaced it. SQLite's
 * name for it has no links in it: a link in its place may have been there while SQLite opened it alone. */
static bool is_in_place(sqlite3 *database, const char *schema, int fd)
{
    const char *path = sqlite3_db_filename(database, schema);
    int moved = 0;

    (void)sqlite3_file_control(database, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved && path && file_is_at(fd, path);
}

static int is_stopped(void *stop)
{
    return *(const volatile sig_atomic_t *)stop != 0;
}

/* TRUSTED_SCHEMA stays on: without it SQLite 3.40 refuses its own JSON functions to views. It is about
 * functions that a program adds, and here there are none. */
static void distrust(sqlite3 *database, const volatile sig_atomic_t *stop)
{
    (void)sqlite3_hard_heap_limit64(HEAP_BYTES);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_progress_handler(database, STOP_INSTRUCTIONS, is_stopped, (void *)stop);
}

/* Of what failed last: was it the file that is written? */
static bool failed_to_write(sqlite3 *database, int code)
{
    const int known = sqlite3_extended_errcode(database);

    return code == -ENOSPC || known == SQLITE_IOERR_WRITE || known == SQLITE_IOERR_FSYNC ||
           known == SQLITE_IOERR_TRUNCATE;
}

static int failed(const struct history_tables *tables, sqlite3 *database, int code,
                  struct metron_error *error)
{
    if (failed_to_write(database, code))
        return error_set(error, code, "cannot write '%s': %s; make room, or choose another folder",
                         tables->name, strerror(-code));
    if (code == -EIO && (sqlite3_errcode(database) & 0xFF) != SQLITE_IOERR)
        code = -EBADMSG; /* a view is missing, or has other columns or ids */
    return database_failed(database, tables->database, "cannot be read", code, error);
}

static int copy(const struct history_tables *tables, sqlite3 *database, int source_fd,
                int rows[HISTORY_TABLES], struct metron_error *error)
{
    int code = attach(database, tables->path);

    if (code == 0 &&
        (!is_in_place(database, "main", source_fd) || !is_in_place(database, "output", tables->fd)))
        return error_set(error, -EAGAIN, "'%s' or '%s' was replaced while it was opened; try again",
                         tables->database, tables->name);
    /* Nothing is to be rolled back or to survive a crash: then the file is thrown away. */
    if (code == 0)
        code = database_run(database,
                            "PRAGMA output.journal_mode = MEMORY; PRAGMA output.synchronous = OFF; BEGIN");
    for (int table = 0; table < HISTORY_TABLES && code == 0; table++)
        code = write_table(database, (enum history_table)table, &rows[table]);
    if (code == 0)
        code = database_run(database, "COMMIT");
    return code < 0 ? failed(tables, database, code, error) : 0;
}

static int copy_once(const struct history_tables *tables, int source_fd, const char *query,
                     int rows[HISTORY_TABLES], struct metron_error *error)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX; /* `query` has mode=ro */
    struct history_reader *reader = NULL;
    struct strbuf uri = STRBUF_INIT;
    sqlite3 *database = NULL;
    int code;

    add_uri(&uri, tables->database, query);
    if (uri.failed) {
        code = error_set(error, -ENOMEM, "out of memory");
    } else if (sqlite3_open_v2(strbuf_text(&uri), &database, flags, NULL) != SQLITE_OK) {
        code = database_failed(database, tables->database, "cannot be opened", 0, error);
        (void)sqlite3_close(database);
    } else {
        distrust(database, tables->stop);
        code = reader_over(database, tables->database, &reader, error);
    }
    if (code == 0)
        code = copy(tables, database, source_fd, rows, error);
    history_reader_close(reader);
    strbuf_fini(&uri);
    return code;
}

static int open_source(const char *path, struct metron_error *error)
{
    struct stat status = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    int code = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;

    if (code == -ENOENT)
        (void)error_set(error, code, "history '%s' does not exist; 'metron daemon' writes one", path);
    else if (code == -ELOOP)
        (void)error_set(error, code, "history '%s' is a symbolic link; name the file it leads to", path);
    else if (code < 0)
        (void)error_set(error, code, "history '%s' cannot be opened: %s; only its owner can export it", path,
                        strerror(-code));
    else if (!S_ISREG(status.st_mode))
        code = error_set(error, -EINVAL, "history '%s' is not a plain file", path);
    else if (status.st_uid != geteuid() && status.st_uid != 0)
        code = error_set(error, -EPERM, "history '%s' belongs to user %u; export it as that user", path,
                         (unsigned)status.st_uid);
    if (code == 0)
        return fd;
    file_close(&fd);
    return code;
}

/* Whether there is more to the database than the file. */
static bool has_log(const char *database)
{
    static const char *const logs[] = {"-wal", "-journal"};
    struct strbuf name = STRBUF_INIT;
    struct stat status;
    bool has = false;

    for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]) && !has; i++) {
        strbuf_reset(&name);
        strbuf_addf(&name, "%s%s", database, logs[i]);
        has = name.failed || (stat(strbuf_text(&name), &status) == 0 && status.st_size > 0);
    }
    strbuf_fini(&name);
    return has;
}

static bool has_changed(int fd, const struct stat *before)
{
    struct stat now;

    return fstat(fd, &now) < 0 || now.st_size != before->st_size ||
           memcmp(&now.st_mtim, &before->st_mtim, sizeof(now.st_mtim)) != 0;
}

int history_write_tables(const struct history_tables *tables, int rows[HISTORY_TABLES],
                         struct metron_error *error)
{
    /* Closed last: with any descriptor of the file the process loses its locks, which are SQLite's. */
    int fd = open_source(tables->database, error);
    struct stat before;
    int code;

    if (fd < 0)
        return fd;
    bool is_whole = fstat(fd, &before) == 0 && !has_log(tables->database);
    if (is_whole) {
        code = copy_once(tables, fd, "?mode=ro&immutable=1", rows, error);
        is_whole = !has_log(tables->database) && !has_changed(fd, &before);
    }
    if (!is_whole) {
        code = ftruncate(tables->fd, 0) < 0 ? error_set(error, -errno, "cannot write '%s'", tables->name) : 0;
        if (code == 0)
            code = copy_once(tables, fd, "?mode=ro", rows, error);
    }
    file_close(&fd);
    return code;
}
