/* Finding recorded runs. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/run_files.h"
#include "store/runs.h"

static char folder[64];
static struct run_list list;

static const char *at(const char *name)
{
    static char path[4][512];
    static size_t next;
    char *out = path[next++ % 4];

    (void)snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
    return out;
}

static void make_file(const char *name)
{
    int fd = open(at(name), O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    (void)close(fd);
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(at(name), 0700), 0);
}

static int set_up(void **state)
{
    (void)state;
    (void)strcpy(folder, "/tmp/metron-runs-XXXXXX");
    list = (struct run_list){0};
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    run_list_fini(&list);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What was found, without the folder, each with a blank behind. */
static const char *found(void)
{
    static char text[4096];

    text[0] = '\0';
    for (size_t i = 0; i < list.count; i++) {
        strcat(text, list.paths[i] + strlen(folder) + 1);
        strcat(text, " ");
    }
    return text;
}

static void add(const char *path)
{
    struct metron_error error = {0};

    if (run_list_add(&list, path, NULL, &error) < 0)
        fail_msg("%s", error.message);
    run_list_sort(&list);
}

static void a_folder_is_searched_with_all_below_it(void **state)
{
    size_t added;

    (void)state;
    make_folder("a");
    make_folder("a/b");
    make_folder("a/.hidden");
    make_file("a/info.json");
    make_file("a/usage.jsonl");
    make_file("a/b/r1_info.json");
    make_file("a/b/r1_stdout");
    make_file("a/.hidden/x_info.json");
    make_file("a/info.json.bak");
    assert_int_equal(run_list_add(&list, at("a"), &added, NULL), 0);
    assert_int_equal(added, 3);
    run_list_sort(&list);
    assert_string_equal(found(), "a/.hidden/x_info.json a/b/r1_info.json a/info.json ");
}

static void any_file_of_a_run_and_its_prefix_name_it(void **state)
{
    (void)state;
    make_file("r1_info.json");
    make_file("r1_usage.jsonl");
    make_file("r1_stdout");
    make_file("r2_info.json");
    make_file("r2_usage.json");
    add(at("r1_usage.jsonl"));
    add(at("r1_stdout"));
    add(at("r1_"));
    add(at("r1_info.json"));
    add(at("r2_usage.json"));
    assert_string_equal(found(), "r1_info.json r2_info.json ");
}

static void the_name_of_a_file_leads_to_the_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "logs/r1_%s", run_file_names[i]);
        assert_int_equal(run_prefix_length(path), strlen("logs/r1_"));
        assert_int_equal(run_prefix_length(run_file_names[i]), 0);
    }
    assert_int_equal(run_prefix_length("r1_" RUN_DUCT_USAGE_NAME), 3);
    assert_int_equal(run_prefix_length("r1_"), -1);
    assert_int_equal(run_prefix_length("r1_info.json.bak"), -1);
    assert_int_equal(run_prefix_length(""), -1);
}

static void globs_find_runs_and_files_of_runs(void **state)
{
    (void)state;
    make_file("r1_info.json");
    make_file("r1_stdout");
    make_file("r2_info.json");
    make_file("s_info.json");
    make_folder("r3");
    make_file("r3/info.json");
    add(at("r*"));
    assert_string_equal(found(), "r1_info.json r2_info.json r3/info.json ");
}

static void a_name_with_stars_that_is_there_is_no_glob(void **state)
{
    (void)state;
    make_file("a[1]_info.json");
    make_file("a1_info.json");
    add(at("a[1]_info.json"));
    assert_string_equal(found(), "a[1]_info.json ");
}

static void a_prefix_with_stars_that_is_there_is_no_glob(void **state)
{
    (void)state;
    make_file("a[1]_info.json");
    make_file("a1_info.json");
    make_file("b*_info.json");
    make_file("b1_info.json");
    add(at("a[1]_"));
    add(at("b*_"));
    assert_string_equal(found(), "a[1]_info.json b*_info.json ");
    make_file("c1_stdout");
    make_file("c1_info.json");
    add(at("c[1]_*")); /* no such name: a glob */
    assert_string_equal(found(), "a[1]_info.json b*_info.json c1_info.json ");
}

static void a_path_that_was_found_twice_stays_once(void **state)
{
    (void)state;
    make_folder("a");
    make_file("a/info.json");
    add(at("a"));
    add(at("a/"));
    add(at("a//"));
    add(at("a/info.json"));
    assert_string_equal(found(), "a/info.json ");
}

static void links_to_folders_are_not_followed_but_links_to_files_are_runs(void **state)
{
    (void)state;
    make_folder("a");
    make_file("a/data");
    assert_int_equal(symlink(".", at("a/loop")), 0);
    assert_int_equal(symlink(".", at("a/loop_info.json")), 0);
    assert_int_equal(symlink("data", at("a/annexed_info.json")), 0);
    assert_int_equal(symlink("nothing", at("a/dangling_info.json")), 0); /* the reader names it */
    add(at("a"));
    assert_string_equal(found(), "a/annexed_info.json a/dangling_info.json ");
}

static void what_is_not_there_is_told(void **state)
{
    struct metron_error error = {0};
    size_t added = 7;

    (void)state;
    assert_int_equal(run_list_add(&list, at("nothing"), &added, &error), -ENOENT);
    assert_non_null(strstr(error.message, "nothing"));
    assert_int_equal(added, 0);
    assert_int_equal(run_list_add(&list, at("no*"), &added, &error), -ENOENT);
    assert_int_equal(list.count, 0);
    make_folder("empty");
    assert_int_equal(run_list_add(&list, at("empty"), &added, &error), 0);
    assert_int_equal(added, 0);
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_int_equal(run_list_add(&list, at("pipe"), &added, &error), -EINVAL);
}

static void deeper_than_the_limit_is_told_and_the_rest_is_found(void **state)
{
    struct metron_error error = {0};
    char path[1024];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/d", folder);
    for (int i = 0; i < 70; i++) {
        assert_int_equal(mkdir(path, 0700), 0);
        strcat(path, "/d");
    }
    make_file("d/info.json");
    assert_int_equal(run_list_add(&list, folder, NULL, &error), -ELOOP);
    assert_string_equal(found(), "d/info.json ");
}

static void a_folder_that_may_not_be_read_is_told_and_the_rest_is_found(void **state)
{
    struct metron_error error = {0};

    (void)state;
    if (geteuid() == 0) {
        print_message(
            "skip a_folder_that_may_not_be_read_is_told_and_the_rest_is_found: root may read all\n");
        skip();
    }
    make_folder("open");
    make_file("open/info.json");
    make_folder("closed");
    assert_int_equal(chmod(at("closed"), 0), 0);
    int code = run_list_add(&list, folder, NULL, &error);
    (void)chmod(at("closed"), 0700);
    assert_int_equal(code, -EACCES);
    assert_non_null(strstr(error.message, "closed"));
    assert_string_equal(found(), "open/info.json ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_searched_with_all_below_it),
        TEST(any_file_of_a_run_and_its_prefix_name_it),
        TEST(the_name_of_a_file_leads_to_the_prefix),
        TEST(globs_find_runs_and_files_of_runs),
        TEST(a_name_with_stars_that_is_there_is_no_glob),
        TEST(a_prefix_with_stars_that_is_there_is_no_glob),
        TEST(a_path_that_was_found_twice_stays_once),
        TEST(links_to_folders_are_not_followed_but_links_to_files_are_runs),
        TEST(what_is_not_there_is_told),
        TEST(deeper_than_the_limit_is_told_and_the_rest_is_found),
        TEST(a_folder_that_may_not_be_read_is_told_and_the_rest_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
