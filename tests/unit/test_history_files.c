/* The files of a history that is open: whose they are, who else has them, and that somebody removed them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "another_user.h"
#include "history_fixture.h"

static const char *beside(const char *suffix)
{
    static char name[160];

    (void)snprintf(name, sizeof(name), "%s%s", path, suffix);
    return name;
}

static void remove_all(void)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(beside("-wal")), 0);
    assert_int_equal(unlink(beside("-shm")), 0);
}

/* Writes a snapshot; returns what history_write does, with its message. */
static int put_and_say(unsigned tick, struct metron_error *error)
{
    struct snapshot *snapshot = make(5, tick);
    int code = history_write(history, snapshot, error);

    snapshot_release(snapshot);
    return code;
}

static void removed_file_is_reported_once_and_made_anew(void **state)
{
    struct metron_error error = {0};

    (void)state;
    put(make(5, 0));
    remove_all();
    assert_int_equal(put_and_say(1, &error), 1);
    assert_non_null(strstr(error.message, "removed"));
    assert_int_equal(put_and_say(2, &error), 0);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 2);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 10);
}

static void removed_folder_is_made_anew(void **state)
{
    char aside[160];

    (void)state;
    put(make(5, 0));
    (void)snprintf(aside, sizeof(aside), "%s/aside", folder);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(rename(path, aside), 0);
    *slash = '/';
    assert_int_equal(put_and_say(1, NULL), 1);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 1);
}

static void renamed_file_has_all_that_was_written(void **state)
{
    char aside[160];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        put(make(5, i));
    (void)snprintf(aside, sizeof(aside), "%s", beside(".aside"));
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(put_and_say(3, NULL), 1);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 1);
    history_close(history);
    history = NULL;
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 3);
}

static void removed_log_costs_nothing(void **state)
{
    static const char *const suffixes[] = {"-wal", "-shm"};
    struct metron_error error = {0};

    (void)state;
    put(make(5, 0));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(unlink(beside(suffixes[i])), 0);
        assert_int_equal(put_and_say(i + 1, &error), 1);
        assert_non_null(strstr(error.message, "log"));
    }
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 3);
    assert_int_equal(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

static int open_another(struct metron_error *error)
{
    const struct history_options options = {.path = path, .columns = all_columns(), .busy_timeout_ms = 20};
    struct history *another = NULL;
    int code = history_open(&options, &another, error);

    history_close(another);
    return code;
}

static void file_that_is_in_use_is_refused(void **state)
{
    struct metron_error error = {0};

    (void)state;
    assert_int_equal(open_another(&error), -EBUSY);
    assert_non_null(strstr(error.message, "another metron"));
    put(make(5, 0));
    history_close(history);
    history = NULL;
    assert_int_equal(open_another(&error), 0);
}

/* Another daemon was faster to make it: it is that one's. */
static void file_that_another_daemon_made_meanwhile_is_left_to_it(void **state)
{
    const struct history_options options = {.path = path, .columns = all_columns(), .busy_timeout_ms = 20};
    struct history *another = NULL;
    struct metron_error error = {0};

    (void)state;
    put(make(5, 0));
    remove_all();
    assert_int_equal(history_open(&options, &another, &error), 0);
    struct snapshot *snapshot = make(3, 1);
    assert_int_equal(history_write(another, snapshot, &error), 0);
    assert_int_equal(put_and_say(1, &error), -EBUSY);
    assert_int_equal(history_write(another, snapshot, &error), 0);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 2);
    snapshot_release(snapshot);
    history_close(another);
    assert_int_equal(put_and_say(2, &error), 1);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 3);
}

static void symbolic_link_is_refused(void **state)
{
    struct metron_error error = {0};
    char other[160];

    (void)state;
    history_close(history);
    history = NULL;
    (void)snprintf(other, sizeof(other), "%s", beside(".other"));
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(open_another(&error), -ELOOP);
    assert_non_null(strstr(error.message, "symbolic link"));
}

static void make_theirs(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, another_user, another_user), 0);
    (void)close(fd);
}

static void file_of_another_user_is_refused_and_so_are_those_beside_it(void **state)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    struct metron_error error = {0};

    (void)state;
    if (geteuid() != 0)
        skip();
    history_close(history);
    history = NULL;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        assert_int_equal(unlink(path), 0);
        make_theirs(beside(suffixes[i]));
        assert_int_equal(open_another(&error), -EPERM);
        assert_non_null(strstr(error.message, beside(suffixes[i])));
        assert_int_equal(unlink(beside(suffixes[i])), 0);
        assert_int_equal(open_another(&error), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(removed_file_is_reported_once_and_made_anew),
        HISTORY_TEST(removed_folder_is_made_anew),
        HISTORY_TEST(renamed_file_has_all_that_was_written),
        HISTORY_TEST(removed_log_costs_nothing),
        HISTORY_TEST(file_that_is_in_use_is_refused),
        HISTORY_TEST(file_that_another_daemon_made_meanwhile_is_left_to_it),
        HISTORY_TEST(symbolic_link_is_refused),
        HISTORY_TEST(file_of_another_user_is_refused_and_so_are_those_beside_it),
    };

    return cmocka_run_group_tests_name("history_files", tests, NULL, NULL);
}
