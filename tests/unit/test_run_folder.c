/* The files of a run: names, permissions, whole lines whatever the disk does. */
#include "store/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

static const bool everything[RUN_FILE_COUNT] = {true, true, true, true, true};
static const struct measurement measurement = {.key = "t_text", .type = TYPE_LABEL};

static char folder[64];
static struct run_folder run;
static struct registry registry;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-run-folder-XXXXXX");
    run_folder_init(&run, everything);
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];

    run_folder_close(&run);
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

static void open_run(const char *prefix, bool clobber)
{
    struct metron_error error = {0};

    if (run_folder_open(&run, at(prefix), clobber, false, &error) < 0)
        fail_msg("%s", error.message);
}

static mode_t mode_of(const char *name)
{
    struct stat status;

    assert_int_equal(stat(at(name), &status), 0);
    return status.st_mode & 07777;
}

static bool is_there(const char *name)
{
    return access(at(name), F_OK) == 0;
}

static const char *content_of(const char *name)
{
    static struct strbuf text;

    strbuf_fini(&text);
    assert_int_equal(file_read_all(AT_FDCWD, at(name), 1 << 24, &text), 0);
    return strbuf_text(&text);
}

static size_t entries_of(const char *name)
{
    DIR *stream = opendir(at(name));
    size_t count = 0;

    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(stream);
    return count;
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
    (void)close(fd);
}

/* ---- opening ---- */

static struct run_info info_with(const char *message)
{
    return (struct run_info){.metron_version = "1", .message = message, .registry = &registry};
}

static void files_are_private_whatever_the_umask(void **state)
{
    (void)state;
    static const char *const names[] = {"x_stdout", "x_stderr", "x_usage.jsonl", "x_events.jsonl"};
    const struct run_info info = info_with("x");
    mode_t before = umask(0);

    open_run("deep/er/x_", false);
    assert_int_equal(run_folder_write_info(&run, &info), 0);
    (void)umask(before);
    assert_int_equal(mode_of("deep"), 0700);
    assert_int_equal(mode_of("deep/er"), 0700);
    assert_int_equal(mode_of("deep/er/x_info.json"), 0600);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "deep/er/%s", names[i]);
        assert_int_equal(mode_of(name), 0600);
        assert_string_equal(run.paths[i], at(name));
        assert_int_equal(fcntl(run.fds[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    }
    assert_string_equal(run.paths[RUN_INFO], at("deep/er/x_info.json"));
    assert_int_equal(run.fds[RUN_INFO], -1);
}

static void a_prefix_that_ends_in_a_slash_is_a_folder(void **state)
{
    (void)state;
    open_run("mine/", false);
    assert_int_equal(mode_of("mine"), 0700);
    assert_true(is_there("mine/usage.jsonl"));
}

static void only_wanted_files_are_made(void **state)
{
    (void)state;
    const bool wanted[RUN_FILE_COUNT] = {[RUN_USAGE] = true};
    const struct record record = {0};
    const struct event event = {0};
    const struct run_info info = {0};
    size_t bytes = 0;

    run_folder_init(&run, wanted);
    assert_int_equal(run_folder_open(&run, at("x_"), false, false, NULL), 0);
    assert_true(is_there("x_usage.jsonl"));
    assert_false(is_there("x_stdout"));
    assert_false(is_there("x_info.json"));
    assert_null(run.paths[RUN_INFO]);
    /* what is not part of the run is written nowhere, without error */
    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_flush_events(&run), 0);
    assert_int_equal(run_folder_write_info(&run, &info), 0);
    assert_int_equal(run_folder_write_record(&run, &record, &bytes), 0);
    assert_int_equal(bytes, strlen(content_of("x_usage.jsonl")));
    assert_false(is_there("x_events.jsonl"));
}

static void an_existing_file_is_an_error_that_leaves_it_alone(void **state)
{
    (void)state;
    struct metron_error error = {0};

    put("x_usage.jsonl", "precious\n", 0644);
    assert_int_equal(run_folder_open(&run, at("x_"), false, false, &error), -EEXIST);
    assert_non_null(strstr(error.message, "x_usage.jsonl"));
    assert_non_null(strstr(error.message, "--clobber"));
    assert_string_equal(content_of("x_usage.jsonl"), "precious\n");
    assert_false(is_there("x_stdout")); /* what was made before is taken back */
    assert_false(is_there("x_stderr"));
    run_folder_close(&run); /* safe after a failure */
}

static void clobber_empties_what_is_there(void **state)
{
    (void)state;
    put("x_usage.jsonl", "old\n", 0600);
    put("x_info.json", "old\n", 0600);
    open_run("x_", true);
    assert_string_equal(content_of("x_usage.jsonl"), "");
    assert_string_equal(content_of("x_info.json"),
                        "old\n"); /* never half: it is there until it is replaced */
    const struct run_info info = info_with("new");
    assert_int_equal(run_folder_write_info(&run, &info), 0);
    assert_non_null(strstr(content_of("x_info.json"), "new"));
}

static void clobber_removes_what_is_not_part_of_this_run(void **state)
{
    (void)state;
    const bool wanted[RUN_FILE_COUNT] = {[RUN_USAGE] = true};

    put("x_stdout", "the older run's", 0600);
    put("x_info.json", "the older run's", 0600);
    run_folder_init(&run, wanted);
    assert_int_equal(run_folder_open(&run, at("x_"), true, false, NULL), 0);
    assert_false(is_there("x_stdout"));
    assert_false(is_there("x_info.json"));
}

static void info_is_not_there_until_it_is_whole(void **state)
{
    (void)state;
    struct metron_error error = {0};

    open_run("x_", false);
    assert_false(is_there("x_info.json"));
    run_folder_close(&run);
    run_folder_remove(&run);
    put("y_info.json", "precious", 0600); /* but it is looked for in time */
    assert_int_equal(run_folder_open(&run, at("y_"), false, false, &error), -EEXIST);
    assert_non_null(strstr(error.message, "y_info.json"));
    assert_string_equal(content_of("y_info.json"), "precious");
    assert_false(is_there("y_usage.jsonl"));
}

static void an_info_that_another_run_has_made_meanwhile_stays(void **state)
{
    (void)state;
    const bool wanted[RUN_FILE_COUNT] = {[RUN_INFO] = true};
    const struct run_info info = info_with("late");

    run_folder_init(&run, wanted);
    open_run("x_", false);
    put("x_info.json", "precious", 0600);
    assert_int_equal(run_folder_write_info(&run, &info), -EEXIST);
    run_folder_remove(&run);
    assert_string_equal(content_of("x_info.json"), "precious");
    open_run("y_", false); /* another name may be tried */
    assert_int_equal(run_folder_write_info(&run, &info), 0);
    assert_int_equal(run_folder_write_info(&run, &info), 0);
}

static void clobbered_files_become_private(void **state)
{
    (void)state;
    put("x_stdout", "old\n", 0644);
    put("x_usage.jsonl", "old\n", 0666);
    open_run("x_", true);
    assert_int_equal(mode_of("x_stdout"), 0600);
    assert_int_equal(mode_of("x_usage.jsonl"), 0600);
}

static void clobber_leaves_the_other_name_of_a_file_alone(void **state)
{
    (void)state;
    put("precious", "precious\n", 0644);
    assert_int_equal(link(at("precious"), at("x_stderr")), 0);
    open_run("x_", true);
    assert_string_equal(content_of("precious"), "precious\n");
    assert_int_equal(mode_of("precious"), 0644);
}

/* With --clobber, too: neither the links of /dev nor a device are a recording. */
static void what_is_no_regular_file_stays(void **state)
{
    (void)state;
    const bool wanted[RUN_FILE_COUNT] = {[RUN_USAGE] = true};
    struct metron_error error = {0};
    struct stat status;

    put("x_stdout", "older", 0600);
    assert_int_equal(symlink("/proc/self/fd/2", at("x_stderr")), 0);
    assert_int_equal(mkfifo(at("y_stdout"), 0600), 0);
    assert_int_equal(symlink(at("nowhere"), at("z_info.json")), 0);
    const char *const prefixes[] = {"x_", "y_", "z_"};
    for (size_t i = 0; i < 2 * sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (i == 3) /* what this run would not write, either */
            run_folder_init(&run, wanted);
        assert_int_equal(run_folder_open(&run, at(prefixes[i % 3]), true, false, &error), -EEXIST);
        assert_non_null(strstr(error.message, "is not a regular file"));
        run_folder_close(&run);
    }
    assert_string_equal(content_of("x_stdout"), "older"); /* nothing is removed before each is checked */
    assert_int_equal(lstat(at("x_stderr"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(at("y_stdout"), &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(lstat(at("z_info.json"), &status), 0);
    assert_false(is_there("x_usage.jsonl"));
}

/* Another user who can write to a folder on the way may exchange what is in it at any moment. */
static void a_default_folder_that_is_exchanged_keeps_its_files(void **state)
{
    (void)state;
    const struct run_info info = info_with("late");
    char from[PATH_MAX], private[PATH_MAX];

    (void)snprintf(private, sizeof(private), "%s", at("private"));
    assert_int_equal(run_folder_open(&run, at("own/logs/x_"), false, true, NULL), 0);
    assert_int_equal(mkdir(private, 0700), 0);
    assert_int_equal(mkdir(at("private/logs"), 0700), 0);
    put("private/logs/x_stdout", "precious", 0600);
    (void)snprintf(from, sizeof(from), "%s", at("own"));
    assert_int_equal(rename(from, at("moved")), 0);
    assert_int_equal(symlink(private, from), 0);
    assert_int_equal(run_folder_write_info(&run, &info), 0); /* made */
    assert_int_equal(run_folder_write_info(&run, &info), 0); /* replaced */
    assert_false(is_there("private/logs/x_info.json"));
    assert_non_null(strstr(content_of("moved/logs/x_info.json"), "late"));
    run_folder_remove(&run);
    assert_string_equal(content_of("private/logs/x_stdout"), "precious");
    assert_false(is_there("moved/logs/x_stdout"));
    assert_false(is_there("moved/logs/x_info.json"));
}

static void a_prefix_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    struct metron_error error = {0};

    put("file", "", 0600);
    assert_int_equal(run_folder_open(&run, at("file/x_"), false, false, &error), -ENOTDIR);
    assert_non_null(strstr(error.message, "file"));
    run_folder_close(&run);
    error.message[0] = '\0';
    assert_int_equal(mkdir(at("x_stderr"), 0700), 0);
    assert_int_equal(run_folder_open(&run, at("x_"), false, false, &error), -EEXIST);
    assert_non_null(strstr(error.message, "x_stderr"));
    assert_false(is_there("x_stdout"));
}

/* ---- writing ---- */

static void write_line(const char *text, int wanted)
{
    struct record_value value = {.text = text};
    struct record_entry entry = {.key = "t_text", .measurement = &measurement, .values = &value, .count = 1};
    const struct record record = {.entries = &entry, .count = 1};
    size_t bytes;

    assert_int_equal(run_folder_write_record(&run, &record, &bytes), wanted);
}

#define LINE(TEXT)                                                                                           \
    "{\"timestamp\":\"1970-01-01T00:00:00.000000+00:00\",\"elapsed\":0,\"num_samples\":0,"                   \
    "\"measurements\":{\"t_text\":\"" TEXT "\"}}\n"

static void each_record_is_one_line_at_once(void **state)
{
    (void)state;
    open_run("x_", false);
    write_line("one", 0);
    assert_string_equal(content_of("x_usage.jsonl"), LINE("one"));
    write_line("t\nwo", 0);
    assert_string_equal(content_of("x_usage.jsonl"), LINE("one") LINE("t\\nwo"));
}

static void events_are_gathered_and_written_at_a_flush(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .pid = 12};

    open_run("x_", false);
    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_string_equal(content_of("x_events.jsonl"), "");
    assert_int_equal(run_folder_flush_events(&run), 0);
    static const char line[] =
        "{\"timestamp\":\"1970-01-01T00:00:00.000000+00:00\",\"event_type\":\"spawn\",\"pid\":12,"
        "\"seen\":\"sampled\"}\n";
    char two[2 * sizeof(line)];
    (void)snprintf(two, sizeof(two), "%s%s", line, line);
    assert_string_equal(content_of("x_events.jsonl"), two);
    assert_int_equal(run_folder_flush_events(&run), 0); /* nothing is written twice */
    assert_string_equal(content_of("x_events.jsonl"), two);
}

static void events_from_before_the_files_are_open_are_written(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .pid = 12};

    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_flush_events(&run), 0);
    put("x_stdout", "another run's", 0600);
    assert_int_equal(run_folder_open(&run, at("x_"), false, false, NULL), -EEXIST);
    open_run("y_", false);
    assert_int_equal(run_folder_flush_events(&run), 0);
    assert_non_null(strstr(content_of("y_events.jsonl"), "\"pid\":12"));
}

static void many_events_do_not_pile_up_in_memory(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .pid = 12};

    open_run("x_", false);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(run_folder_add_event(&run, &event), 0);
        assert_in_range(run.events.length, 0, 64 * 1024);
    }
    size_t written = strlen(content_of("x_events.jsonl"));
    assert_true(written > 100000);
    assert_int_equal(content_of("x_events.jsonl")[written - 1], '\n');
}

static void info_is_replaced_as_a_whole(void **state)
{
    (void)state;
    struct run_info first = info_with("a first, much longer message than the second"),
                    second = info_with("second");
    struct stat before, after;

    open_run("x_", false);
    assert_int_equal(run_folder_write_info(&run, &first), 0);
    assert_non_null(strstr(content_of("x_info.json"), "a first, much longer"));
    assert_int_equal(stat(at("x_info.json"), &before), 0);
    assert_int_equal(run_folder_write_info(&run, &second), 0);
    const char *text = content_of("x_info.json");
    assert_non_null(strstr(text, "\"message\": \"second\""));
    assert_null(strstr(text, "first"));
    assert_string_equal(text + strlen(text) - 3, "\n}\n");
    assert_int_equal(stat(at("x_info.json"), &after), 0);
    assert_true(before.st_ino != after.st_ino); /* another file in its place, not the same one rewritten */
    assert_int_equal(mode_of("x_info.json"), 0600);
}

/* ---- a full disk: no file may grow past `bytes` ---- */

static struct rlimit file_limit;

static void disk_has(rlim_t bytes)
{
    struct rlimit limit = {bytes, file_limit.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void disk_has_room_again(void)
{
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &file_limit), 0);
}

static void a_line_cut_short_by_a_full_disk_is_taken_back(void **state)
{
    (void)state;
    open_run("x_", false);
    write_line("one", 0);
    disk_has(strlen(LINE("one")) + 20);
    write_line("two", -EFBIG);
    disk_has_room_again();
    assert_string_equal(content_of("x_usage.jsonl"), LINE("one"));
    write_line("three", 0); /* and it goes on where the last whole line ended */
    assert_string_equal(content_of("x_usage.jsonl"), LINE("one") LINE("three"));
}

static void events_cut_short_by_a_full_disk_are_taken_back(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_EXIT, .seen = SEEN_REAPED, .pid = 1};

    open_run("x_", false);
    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_flush_events(&run), 0);
    char whole[256];
    (void)snprintf(whole, sizeof(whole), "%s", content_of("x_events.jsonl"));
    disk_has(strlen(whole) + 150);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_flush_events(&run), -EFBIG);
    disk_has_room_again();
    assert_string_equal(content_of("x_events.jsonl"), whole);
    assert_int_equal(run_folder_add_event(&run, &event), 0);
    assert_int_equal(run_folder_flush_events(&run), 0);
    assert_int_equal(strlen(content_of("x_events.jsonl")), 2 * strlen(whole));
}

static void info_survives_a_full_disk(void **state)
{
    (void)state;
    struct run_info first = info_with("first"), second = info_with("second");

    open_run("x_", false);
    assert_int_equal(run_folder_write_info(&run, &first), 0);
    disk_has(50);
    assert_int_equal(run_folder_write_info(&run, &second), -EFBIG);
    disk_has_room_again();
    assert_non_null(strstr(content_of("x_info.json"), "\"message\": \"first\""));
}

static void the_last_info_has_space_of_its_own(void **state)
{
    (void)state;
    struct run_info first = info_with("first"), second = info_with("second"), last = info_with("last");

    last.ended = true;
    open_run("logs/y_", false);
    assert_int_equal(run_folder_write_info(&run, &last), 0);
    open_run("x_", false);
    assert_int_equal(run_folder_write_info(&run, &first), 0);
    if (run.reserved_fd < 0)
        skip(); /* the file system has no files without a name */
    disk_has(50);
    assert_int_equal(run_folder_write_info(&run, &second), -EFBIG); /* it takes none of that space */
    disk_has_room_again();
    assert_non_null(strstr(content_of("x_info.json"), "\"message\": \"first\""));
    disk_has(strlen(content_of("logs/y_info.json")) - 10); /* with its spaces it does not fit */
    assert_int_equal(run_folder_write_info(&run, &last), 0);
    disk_has_room_again();
    assert_non_null(strstr(content_of("x_info.json"), "\"message\":\"last\""));
    assert_int_equal(entries_of("."), 6); /* no temporary file is left beside five files and a folder */
}

/* ---- removing ---- */

static void removal_takes_the_files_of_this_run_alone(void **state)
{
    (void)state;
    struct run_info info = info_with("x");

    open_run("logs/x_", false);
    put("logs/y_stdout", "another run's", 0600);
    assert_int_equal(run_folder_write_info(&run, &info), 0);
    assert_int_equal(entries_of("logs"), 6);
    run_folder_remove(&run);
    assert_int_equal(entries_of("logs"), 1);
    assert_true(is_there("logs/y_stdout"));
}

static void removal_takes_the_prefixs_own_folder_when_it_is_empty(void **state)
{
    (void)state;
    open_run("logs/mine/", false);
    run_folder_remove(&run);
    assert_false(is_there("logs/mine"));
    assert_true(is_there("logs")); /* it may be others' too */
    run_folder_close(&run);
    open_run("logs/mine/", false);
    put("logs/mine/notes", "somebody else's", 0600);
    run_folder_remove(&run);
    assert_int_equal(entries_of("logs/mine"), 1);
}

static void closing_twice_is_safe(void **state)
{
    (void)state;
    open_run("x_", false);
    run_folder_close(&run);
    run_folder_close(&run);
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        assert_int_equal(run.fds[i], -1);
        assert_null(run.paths[i]);
    }
}

#define WITH_FOLDER(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(files_are_private_whatever_the_umask),
        WITH_FOLDER(a_prefix_that_ends_in_a_slash_is_a_folder),
        WITH_FOLDER(only_wanted_files_are_made),
        WITH_FOLDER(an_existing_file_is_an_error_that_leaves_it_alone),
        WITH_FOLDER(clobber_empties_what_is_there),
        WITH_FOLDER(clobber_removes_what_is_not_part_of_this_run),
        WITH_FOLDER(info_is_not_there_until_it_is_whole),
        WITH_FOLDER(an_info_that_another_run_has_made_meanwhile_stays),
        WITH_FOLDER(clobbered_files_become_private),
        WITH_FOLDER(clobber_leaves_the_other_name_of_a_file_alone),
        WITH_FOLDER(what_is_no_regular_file_stays),
        WITH_FOLDER(a_default_folder_that_is_exchanged_keeps_its_files),
        WITH_FOLDER(a_prefix_that_cannot_be_made_says_why),
        WITH_FOLDER(each_record_is_one_line_at_once),
        WITH_FOLDER(events_are_gathered_and_written_at_a_flush),
        WITH_FOLDER(events_from_before_the_files_are_open_are_written),
        WITH_FOLDER(many_events_do_not_pile_up_in_memory),
        WITH_FOLDER(info_is_replaced_as_a_whole),
        WITH_FOLDER(a_line_cut_short_by_a_full_disk_is_taken_back),
        WITH_FOLDER(events_cut_short_by_a_full_disk_are_taken_back),
        WITH_FOLDER(info_survives_a_full_disk),
        WITH_FOLDER(the_last_info_has_space_of_its_own),
        WITH_FOLDER(removal_takes_the_files_of_this_run_alone),
        WITH_FOLDER(removal_takes_the_prefixs_own_folder_when_it_is_empty),
        WITH_FOLDER(closing_twice_is_safe),
    };

    (void)setenv("TZ", "UTC", 1);
    (void)signal(SIGXFSZ, SIG_IGN); /* so that a full disk is an error, not a signal */
    (void)getrlimit(RLIMIT_FSIZE, &file_limit);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
