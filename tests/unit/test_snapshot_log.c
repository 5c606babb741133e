/* The log of snapshots: whole lines whatever happens to the file, the disk and the folder; private; bounded.
 */
#include "store/snapshot_log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "snapshot_fixture.h"

static char folder[64];
static struct snapshot_pool *pool;
static struct snapshot_log *writer;
static struct metron_error error;
static struct strbuf content;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-snapshot-log-XXXXXX");
    pool = snapshot_pool_new();
    writer = NULL;
    return pool && mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];

    snapshot_log_free(writer);
    snapshot_pool_free(pool);
    strbuf_fini(&content);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

/* A path below the test's own folder. */
static const char *at(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void open_log(const char *name, uint64_t limit)
{
    snapshot_log_free(writer);
    writer = snapshot_log_new(at(name), limit);
    assert_non_null(writer);
}

/* A line that says `number`, 200 bytes or so for each process. */
static int write_number(unsigned number, size_t processes)
{
    struct snapshot *snapshot = snapshot_of(pool, processes);

    error = (struct metron_error){0};
    snapshot->running_jobs = number;
    int code = snapshot_log_write(writer, snapshot, &error);
    snapshot_release(snapshot);
    assert_int_equal(error.code, code);
    return code;
}

static void write_well(unsigned number)
{
    if (write_number(number, 1) < 0)
        fail_msg("%s", error.message);
}

static const char *read_back(const char *name)
{
    strbuf_reset(&content);
    assert_int_equal(file_read_all(AT_FDCWD, at(name), 100000000, &content), 0);
    return strbuf_text(&content);
}

/* The numbers of its lines, as "1 2 3 "; every line must be whole. */
static const char *numbers_in(const char *name)
{
    static char numbers[4096];
    size_t length = 0;

    numbers[0] = '\0';
    for (const char *line = read_back(name); *line;) {
        const char *end = strchr(line, '\n');

        assert_non_null(end);
        const char *jobs = memmem(line, (size_t)(end - line), "\"running_jobs\":", 15);
        assert_memory_equal(line, "{\"timestamp\":1763192573.25,", 26);
        assert_non_null(jobs);
        assert_int_equal(end[-1], '}');
        length +=
            (size_t)snprintf(numbers + length, sizeof(numbers) - length, "%ld ", strtol(jobs + 15, NULL, 10));
        line = end + 1;
    }
    return numbers;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "we");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

static void one_line_per_snapshot_in_a_private_file(void **state)
{
    (void)state;
    struct stat status;

    open_log("a/b/monitor.jsonl", 0);
    write_well(1);
    write_well(2);
    assert_string_equal(numbers_in("a/b/monitor.jsonl"), "1 2 ");
    assert_int_equal(stat(at("a/b/monitor.jsonl"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(at("a/b"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    open_log("a/b/monitor.jsonl", 0); /* the next start goes on */
    write_well(3);
    assert_string_equal(numbers_in("a/b/monitor.jsonl"), "1 2 3 ");
}

static void a_line_is_what_daemon_top_says(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_of(pool, 3);
    struct strbuf text = STRBUF_INIT;
    struct json json;

    json_init(&json, &text, 0);
    snapshot_json(&json, snapshot, NULL);
    strbuf_addc(&text, '\n');
    open_log("log", 0);
    assert_int_equal(snapshot_log_write(writer, snapshot, &error), 0);
    assert_string_equal(read_back("log"), strbuf_text(&text));
    strbuf_fini(&text);
    snapshot_release(snapshot);
}

static void a_full_file_is_set_aside_twice(void **state)
{
    (void)state;
    open_log("log", 0);
    write_well(1);
    const uint64_t line = strlen(read_back("log"));
    open_log("log", 3 * line);
    for (unsigned i = 2; i <= 11; i++)
        write_well(i);
    /* a file of exactly the limit is not over it */
    assert_string_equal(numbers_in("log"), "10 11 ");
    assert_string_equal(numbers_in("log.1"), "7 8 9 ");
    assert_string_equal(numbers_in("log.2"), "4 5 6 ");
    assert_int_equal(access(at("log.3"), F_OK), -1);
}

static void a_line_larger_than_the_limit_has_a_file_of_its_own(void **state)
{
    (void)state;
    open_log("log", 100);
    write_well(1);
    write_well(2);
    assert_string_equal(numbers_in("log"), "2 ");
    assert_string_equal(numbers_in("log.1"), "1 ");
}

static void what_cannot_be_set_aside_does_not_grow(void **state)
{
    (void)state;
    open_log("log", 1000);
    assert_int_equal(mkdir(at("log.1"), 0700), 0);
    assert_int_equal(mkdir(at("log.1/x"), 0700), 0);
    put("log.2", "");
    write_well(1);
    assert_true(write_number(2, 9) < 0);
    assert_non_null(strstr(error.message, "cannot rotate"));
    assert_string_equal(numbers_in("log"), "1 ");
    assert_int_equal(rmdir(at("log.1/x")), 0);
    assert_int_equal(rmdir(at("log.1")), 0);
    assert_int_equal(write_number(3, 9), 0);
    assert_string_equal(numbers_in("log"), "3 ");
}

static void a_removed_file_is_made_anew(void **state)
{
    (void)state;
    open_log("f/log", 0);
    write_well(1);
    assert_int_equal(unlink(at("f/log")), 0);
    write_well(2);
    assert_string_equal(numbers_in("f/log"), "2 ");
    assert_int_equal(unlink(at("f/log")), 0);
    assert_int_equal(rmdir(at("f")), 0);
    write_well(3);
    assert_string_equal(numbers_in("f/log"), "3 ");
}

static void somebody_else_may_rotate_or_cut_it(void **state)
{
    (void)state;
    open_log("log", 0);
    write_well(1);
    assert_int_equal(rename(at("log"), at("old")), 0);
    write_well(2);
    put("new", "");
    assert_int_equal(rename(at("new"), at("log")), 0);
    write_well(3);
    assert_string_equal(numbers_in("old"), "1 ");
    assert_string_equal(numbers_in("log"), "3 ");
    assert_int_equal(truncate(at("log"), 0), 0);
    write_well(4);
    assert_string_equal(numbers_in("log"), "4 ");
}

static void half_a_line_of_a_crash_is_cut_off(void **state)
{
    (void)state;
    open_log("log", 0);
    write_well(1);
    const size_t first = strlen(read_back("log"));
    assert_int_equal(write_number(2, 1000), 0); /* longer than what is searched at once */
    const size_t both = strlen(read_back("log"));
    char *whole = strdup(strbuf_text(&content));

    assert_non_null(whole);
    const size_t ends[] = {both - 1,
                           both - 100000,
                           both - 65536 - 1,
                           first + 65536,
                           first + 100,
                           first + 13,
                           first + 1,
                           first,
                           first - 1,
                           14,
                           13,
                           12,
                           1,
                           0};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char kept = whole[ends[i]];

        snapshot_log_free(writer);
        writer = NULL;
        whole[ends[i]] = '\0';
        put("log", whole);
        whole[ends[i]] = kept;
        open_log("log", 0);
        write_well(9);
        assert_string_equal(numbers_in("log"), ends[i] >= first ? "1 9 " : "9 ");
    }
    free(whole);
}

static void a_foreign_last_line_is_ended_not_cut(void **state)
{
    (void)state;
    put("log", "my notes\nof today");
    open_log("log", 0);
    write_well(1);
    assert_memory_equal(read_back("log"), "my notes\nof today\n{\"timestamp\":", 31);
}

static void a_full_disk_leaves_whole_lines_and_is_got_over(void **state)
{
    (void)state;
    struct rlimit before, little;

    open_log("log", 0);
    write_well(1);
    write_well(2);
    /* The limit on a file's size acts as a disk that is full after half a line. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = strlen(read_back("log")) + 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int first = write_number(3, 1), second = write_number(4, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(first, -EFBIG);
    assert_int_equal(second, -EFBIG);
    assert_non_null(strstr(error.message, "/log: File too large"));
    assert_string_equal(numbers_in("log"), "1 2 ");
    write_well(5);
    assert_string_equal(numbers_in("log"), "1 2 5 ");
}

static void a_folder_that_cannot_be_made_is_told_and_got_over(void **state)
{
    (void)state;
    put("f", "");
    open_log("f/log", 0);
    assert_int_equal(write_number(1, 1), -ENOTDIR);
    assert_non_null(strstr(error.message, folder));
    assert_int_equal(unlink(at("f")), 0);
    write_well(2);
    assert_string_equal(numbers_in("f/log"), "2 ");
}

static void what_is_no_plain_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    open_log("pipe", 0);
    assert_int_equal(write_number(1, 1), -EINVAL);
    put("there", "");
    assert_int_equal(symlink(at("there"), at("link")), 0);
    open_log("link", 0);
    assert_int_equal(write_number(1, 1), -ELOOP);
    assert_string_equal(read_back("there"), "");
    assert_int_equal(mkdir(at("folder"), 0700), 0);
    open_log("folder", 0);
    assert_int_equal(write_number(1, 1), -EISDIR);
}

static void a_file_that_all_could_read_becomes_private(void **state)
{
    (void)state;
    struct stat status;

    put("log", "");
    assert_int_equal(chmod(at("log"), 0644), 0);
    open_log("log", 0);
    write_well(1);
    assert_int_equal(stat(at("log"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void another_users_file_is_refused(void **state)
{
    (void)state;
    put("log", "");
    if (chown(at("log"), 65534, 65534) < 0) {
        print_message("# only root can give a file away\n");
        skip();
    }
    open_log("log", 0);
    assert_int_equal(write_number(1, 1), -EPERM);
    assert_non_null(strstr(error.message, "belongs to user 65534"));
    assert_string_equal(read_back("log"), "");
}

static void two_metrons_do_not_share_a_log(void **state)
{
    (void)state;
    struct snapshot_log *first = snapshot_log_new(at("log"), 0);
    struct snapshot *snapshot = snapshot_of(pool, 1);

    assert_int_equal(snapshot_log_write(first, snapshot, &error), 0);
    open_log("log", 0);
    assert_int_equal(write_number(1, 1), -EBUSY);
    snapshot_log_free(first);
    snapshot_release(snapshot);
    write_well(2);
    assert_string_equal(numbers_in("log"), "0 2 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_line_per_snapshot_in_a_private_file),
        TEST(a_line_is_what_daemon_top_says),
        TEST(a_full_file_is_set_aside_twice),
        TEST(a_line_larger_than_the_limit_has_a_file_of_its_own),
        TEST(what_cannot_be_set_aside_does_not_grow),
        TEST(a_removed_file_is_made_anew),
        TEST(somebody_else_may_rotate_or_cut_it),
        TEST(half_a_line_of_a_crash_is_cut_off),
        TEST(a_foreign_last_line_is_ended_not_cut),
        TEST(a_full_disk_leaves_whole_lines_and_is_got_over),
        TEST(a_folder_that_cannot_be_made_is_told_and_got_over),
        TEST(what_is_no_plain_file_is_refused),
        TEST(a_file_that_all_could_read_becomes_private),
        TEST(another_users_file_is_refused),
        TEST(two_metrons_do_not_share_a_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
