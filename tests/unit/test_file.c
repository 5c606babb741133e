/* Files: whole reads and writes, limits, atomic replacement, folders. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static int folder_fd = -1;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-file-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];

    (void)close(folder_fd);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static void put(const char *name, const char *bytes, size_t length)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, bytes, length), 0);
    (void)close(fd);
}

static const char *path_of(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static size_t entries_in_folder(void)
{
    char command[128];
    char text[16] = "";

    (void)snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
    FILE *list = popen(command, "r");

    assert_non_null(list);
    assert_non_null(fgets(text, sizeof(text), list));
    assert_int_equal(pclose(list), 0);
    return strtoul(text, NULL, 10);
}

static void small_files_are_read_whole(void **state)
{
    (void)state;
    char buffer[16];

    put("a", "one\0two", 7);
    assert_int_equal(file_read(folder_fd, "a", buffer, sizeof(buffer)), 7);
    assert_memory_equal(buffer, "one\0two", 8);
    put("empty", "", 0);
    assert_int_equal(file_read(folder_fd, "empty", buffer, sizeof(buffer)), 0);
    assert_string_equal(buffer, "");
}

static void a_file_that_just_fits_is_not_too_big(void **state)
{
    (void)state;
    char buffer[8];

    put("seven", "1234567", 7);
    assert_int_equal(file_read(folder_fd, "seven", buffer, sizeof(buffer)), 7);
    put("eight", "12345678", 8);
    assert_int_equal(file_read(folder_fd, "eight", buffer, sizeof(buffer)), -E2BIG);
    assert_string_equal(buffer, "1234567");
    assert_int_equal(file_read(folder_fd, "eight", buffer, 0), -EINVAL);
}

static void descriptors_are_read_from_their_start_each_time(void **state)
{
    (void)state;
    char buffer[8];

    put("a", "abc", 3);
    int fd = openat(folder_fd, "a", O_RDONLY | O_CLOEXEC);

    assert_int_equal(file_read_fd(fd, buffer, sizeof(buffer)), 3);
    assert_int_equal(file_read_fd(fd, buffer, sizeof(buffer)), 3);
    assert_string_equal(buffer, "abc");
    assert_int_equal(file_read_fd(fd, buffer, 3), -E2BIG);
    assert_string_equal(buffer, "ab");
    (void)close(fd);
    assert_int_equal(file_read_fd(fd, buffer, sizeof(buffer)), -EBADF);
}

static void kernel_files_are_read(void **state)
{
    (void)state;
    static char buffer[65536];
    ssize_t length = file_read(AT_FDCWD, "/proc/self/status", buffer, sizeof(buffer));

    assert_true(length > 0);
    assert_int_equal(strlen(buffer), length);
    assert_non_null(strstr(buffer, "\nPid:"));
}

static void missing_files_say_so(void **state)
{
    (void)state;
    char buffer[8];
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(file_read(folder_fd, "none", buffer, sizeof(buffer)), -ENOENT);
    assert_int_equal(file_read_all(folder_fd, "none", 100, &out), -ENOENT);
    assert_int_equal(file_read(AT_FDCWD, folder, buffer, sizeof(buffer)), -EISDIR);
    strbuf_fini(&out);
}

static void large_files_are_read_up_to_the_limit(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    struct strbuf out = STRBUF_INIT;
    char *bytes = malloc(SIZE);

    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 7);
    put("large", bytes, SIZE);

    strbuf_adds(&out, "before");
    assert_int_equal(file_read_all(folder_fd, "large", SIZE, &out), 0);
    assert_int_equal(out.length, SIZE + 6);
    assert_memory_equal(out.data + 6, bytes, SIZE);
    strbuf_reset(&out);
    assert_int_equal(file_read_all(folder_fd, "large", SIZE - 1, &out), -EFBIG);
    assert_true(out.length < SIZE);
    assert_int_equal(out.data[out.length], '\0');
    strbuf_reset(&out);
    put("step", bytes, 16384);
    assert_int_equal(file_read_all(folder_fd, "step", 16384, &out), 0);
    assert_int_equal(out.length, 16384);
    strbuf_fini(&out);
    free(bytes);
}

static void a_pipe_made_non_blocking_gets_every_byte(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    int ends[2];
    char *bytes = calloc(1, SIZE);

    assert_non_null(bytes);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    pid_t reader = fork();

    if (reader == 0) {
        static char chunk[65536];
        size_t total = 0;

        (void)close(ends[1]);
        (void)fcntl(ends[0], F_SETFL, 0);
        for (ssize_t count; (count = read(ends[0], chunk, sizeof(chunk))) > 0;)
            total += (size_t)count;
        _exit(total == SIZE ? 0 : 1);
    }
    (void)close(ends[0]);
    assert_int_equal(file_write_all(ends[1], bytes, SIZE), 0);
    (void)close(ends[1]);

    int status;

    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    free(bytes);
}

static void write_errors_are_returned(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "x", 1), -ENOSPC);
    assert_int_equal(file_write_all(fd, "", 0), 0);
    (void)close(fd);
}

static void replacement_is_private_and_leaves_nothing_beside(void **state)
{
    (void)state;
    struct stat status;
    char buffer[16];

    put("info", "old", 3);
    assert_int_equal(file_replace(AT_FDCWD, path_of("info"), "newer", 5, 0600), 0);
    assert_int_equal(file_read(folder_fd, "info", buffer, sizeof(buffer)), 5);
    assert_string_equal(buffer, "newer");
    assert_int_equal(fstatat(folder_fd, "info", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(entries_in_folder(), 1);
}

static void failed_replacement_keeps_the_old_file(void **state)
{
    (void)state;
    /* A folder cannot be replaced by a file: rename fails after the temporary was written. */
    assert_int_equal(mkdirat(folder_fd, "info", 0700), 0);
    assert_int_equal(file_replace(AT_FDCWD, path_of("info"), "x", 1, 0600), -EISDIR);
    assert_int_equal(entries_in_folder(), 1);
    assert_int_equal(file_replace(AT_FDCWD, path_of("none/info"), "x", 1, 0600), -ENOENT);
    assert_int_equal(file_replace(AT_FDCWD, path_of("info/"), "x", 1, 0600), -EISDIR);
}

static void a_temporary_of_another_is_no_obstacle_and_no_trap(void **state)
{
    (void)state;
    char name[64];
    char buffer[16];

    put("victim", "safe", 4);
    (void)snprintf(name, sizeof(name), ".info.%ld.tmp", (long)getpid());
    assert_int_equal(symlinkat("victim", folder_fd, name), 0);
    assert_int_equal(file_replace(AT_FDCWD, path_of("info"), "new", 3, 0600), 0);
    assert_int_equal(file_read(folder_fd, "victim", buffer, sizeof(buffer)), 4);
    assert_string_equal(buffer, "safe");
    assert_int_equal(entries_in_folder(), 3); /* a process with our pid in another container may need it */
}

static void a_new_file_is_whole_private_and_alone(void **state)
{
    (void)state;
    struct stat status;
    char buffer[16];

    assert_int_equal(file_create(AT_FDCWD, path_of("info"), "new", 3, 0600), 0);
    assert_int_equal(file_read(folder_fd, "info", buffer, sizeof(buffer)), 3);
    assert_string_equal(buffer, "new");
    assert_int_equal(fstatat(folder_fd, "info", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_nlink, 1);
    assert_int_equal(entries_in_folder(), 1);
}

static void a_new_file_takes_the_place_of_none(void **state)
{
    (void)state;
    char buffer[16];

    put("info", "old", 3);
    assert_int_equal(symlinkat("nowhere", folder_fd, "link"), 0);
    assert_int_equal(file_create(AT_FDCWD, path_of("info"), "new", 3, 0600), -EEXIST);
    assert_int_equal(file_create(AT_FDCWD, path_of("link"), "new", 3, 0600), -EEXIST);
    assert_int_equal(file_read(folder_fd, "info", buffer, sizeof(buffer)), 3);
    assert_string_equal(buffer, "old");
    assert_int_equal(entries_in_folder(), 2);
}

static void reserved_space_has_no_name_until_it_replaces_a_file(void **state)
{
    (void)state;
    struct stat status;
    char buffer[16];
    int fd = file_reserve(AT_FDCWD, path_of("info"), 8192, 0600);

    if (fd == -EOPNOTSUPP || fd == -EISDIR)
        skip();
    put("info", "old", 3);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_blocks * 512 >= 8192);
    assert_int_equal(entries_in_folder(), 1);
    assert_int_equal(file_replace_reserved(fd, AT_FDCWD, path_of("info"), "newer", 5), 0);
    assert_int_equal(file_read(folder_fd, "info", buffer, sizeof(buffer)), 5);
    assert_string_equal(buffer, "newer");
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_nlink, 1);
    assert_int_equal(entries_in_folder(), 1);
    (void)close(fd);
    assert_int_equal(file_reserve(AT_FDCWD, path_of("none/info"), 8192, 0600), -ENOENT);
}

static void the_longest_name_can_be_replaced(void **state)
{
    (void)state;
    char path[400];
    size_t start = (size_t)snprintf(path, sizeof(path), "%s/", folder);

    memset(path + start, 'n', 255);
    path[start + 255] = '\0';
    assert_int_equal(file_replace(AT_FDCWD, path, "x", 1, 0600), 0);
    assert_int_equal(access(path, R_OK), 0);
}

static void missing_folders_are_made_private(void **state)
{
    (void)state;
    struct stat status;

    assert_int_equal(file_make_folders(path_of("x/y//z/prefix_"), NULL), 0);
    assert_int_equal(fstatat(folder_fd, "x/y/z", &status, 0), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(fstatat(folder_fd, "x/y/z/prefix_", &status, 0), -1);
    assert_int_equal(file_make_folders(path_of("x/y//z/prefix_"), NULL), 0); /* again */
    assert_int_equal(file_make_folders(path_of("x/new/"), NULL), 0);
    assert_int_equal(fstatat(folder_fd, "x/new", &status, 0), 0);
    assert_int_equal(file_make_folders("no_slash", NULL), 0);
    assert_int_equal(file_make_folders("/file", NULL), 0);
}

static void a_file_in_the_way_is_named(void **state)
{
    (void)state;
    struct metron_error error = {0};

    put("file", "x", 1);
    assert_int_equal(file_make_folders(path_of("file/sub/prefix_"), &error), -ENOTDIR);
    assert_non_null(strstr(error.message, "/file"));
    assert_non_null(strstr(error.message, "Not a directory"));
}

/* A folder that everybody can write, with a link of another user in it. */
static void a_link_that_another_user_has_planted_is_not_followed(void **state)
{
    (void)state;
    struct metron_error error = {0};
    struct stat status;

    if (geteuid() != 0) {
        print_message("# only root can make a link of another user: not tested\n");
        return;
    }
    assert_int_equal(mkdirat(folder_fd, "shared", 0700), 0);
    assert_int_equal(mkdirat(folder_fd, "private", 0700), 0);
    assert_int_equal(symlinkat("../private", folder_fd, "shared/.metron"), 0);
    assert_int_equal(fchmodat(folder_fd, "shared", 01777, 0), 0);
    assert_int_equal(file_make_folders(path_of("shared/.metron/logs/x_"), &error), 0); /* one's own */
    if (fchownat(folder_fd, "shared/.metron", 4711, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0) {
        print_message("# no other user in this namespace: not tested\n");
        return;
    }
    assert_int_equal(file_make_folders(path_of("shared/.metron/logs/x_"), &error), -EACCES); /* it is there */
    assert_non_null(strstr(error.message, "shared/.metron"));
    assert_int_equal(file_make_folders(path_of("shared/.metron/new/x_"), NULL), -EACCES);
    assert_int_equal(file_make_folders(path_of("shared/.metron//x_"), NULL), -EACCES);
    assert_int_equal(fstatat(folder_fd, "private/new", &status, 0), -1);
    /* Who may write into the folder is trusted there: its owner, and a group of colleagues. */
    assert_int_equal(fchownat(folder_fd, "shared", 4711, (gid_t)-1, 0), 0);
    assert_int_equal(file_make_folders(path_of("shared/.metron/new/x_"), NULL), 0);
    assert_int_equal(fchownat(folder_fd, "shared", 0, (gid_t)-1, 0), 0);
    assert_int_equal(fchmodat(folder_fd, "shared", 0770, 0), 0);
    assert_int_equal(file_make_folders(path_of("shared/.metron/new/x_"), NULL), 0);
}

static void own_folders_are_opened_through_own_links(void **state)
{
    (void)state;
    struct metron_error error = {0};
    struct stat status;
    int fd = file_open_own_folder(path_of("x/y//z/prefix_"), NULL);

    assert_true(fd >= 0 && fstatat(fd, "../z", &status, 0) == 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_true(file_is_at(fd, path_of("x/y/z")));
    (void)close(fd);
    assert_int_equal(symlinkat("x/y", folder_fd, "link"), 0);
    fd = file_open_own_folder(path_of("link/new/prefix_"), NULL);
    assert_true(file_is_at(fd, path_of("x/y/new")));
    (void)close(fd);
    assert_int_equal(symlinkat(path_of("link/../y/./"), folder_fd, "absolute"), 0);
    fd = file_open_own_folder(path_of("absolute/new/prefix_"), NULL);
    assert_true(file_is_at(fd, path_of("x/y/new")));
    (void)close(fd);
    assert_int_equal(symlinkat("loop", folder_fd, "loop"), 0);
    assert_int_equal(file_open_own_folder(path_of("loop/prefix_"), &error), -ELOOP);
    assert_int_equal(symlinkat("nowhere", folder_fd, "dangling"), 0);
    assert_int_equal(file_open_own_folder(path_of("dangling/prefix_"), &error), -ENOENT);
    assert_non_null(strstr(error.message, "/dangling is a link to a folder that does not exist"));
    put("file", "x", 1);
    assert_int_equal(file_open_own_folder(path_of("file/prefix_"), &error), -ENOTDIR);
    assert_non_null(strstr(error.message, "/file: Not a directory"));
    fd = file_open_own_folder("no_slash", NULL);
    assert_true(file_is_at(fd, "."));
    (void)close(fd);
}

/* Neither a folder nor a link on the way, nor the folder that such a link leads to. */
static void a_folder_of_another_user_is_never_our_own(void **state)
{
    (void)state;
    static const char *const names[] = {"folder", "link", "led", "twice"};
    struct metron_error error;

    assert_int_equal(mkdirat(folder_fd, "folder", 0700), 0);
    assert_int_equal(mkdirat(folder_fd, "private", 0700), 0);
    assert_int_equal(symlinkat("private", folder_fd, "link"), 0);
    assert_int_equal(symlinkat("folder", folder_fd, "led"), 0);
    assert_int_equal(symlinkat("./link", folder_fd, "twice"), 0);
    if (fchownat(folder_fd, "folder", 4711, (gid_t)-1, 0) < 0 ||
        fchownat(folder_fd, "link", 4711, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0) {
        print_message("# only root can make a folder of another user: not tested\n");
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "%s/new/x_", names[i]);
        assert_int_equal(file_open_own_folder(path_of(path), &error), -EACCES);
        assert_non_null(strstr(error.message, "belongs to another user"));
        assert_non_null(strstr(error.message, names[i]));
    }
    assert_int_equal(faccessat(folder_fd, "private/new", F_OK, 0), -1);
    assert_int_equal(faccessat(folder_fd, "folder/new", F_OK, 0), -1);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static void links_lead_to_the_same_file(void **state)
{
    (void)state;
    char first[PATH_MAX], link[PATH_MAX];

    put("a", "x", 1);
    put("b", "x", 1);
    (void)snprintf(first, sizeof(first), "%s", path_of("a"));
    (void)snprintf(link, sizeof(link), "%s", path_of("link"));
    assert_int_equal(symlink(first, link), 0);
    assert_true(file_is_same(first, link));
    assert_true(file_is_same(first, first));
    assert_false(file_is_same(first, path_of("b")));
    assert_false(file_is_same(first, path_of("nothing")));
    assert_false(file_is_same(first, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(small_files_are_read_whole),
        WITH_FOLDER(a_file_that_just_fits_is_not_too_big),
        WITH_FOLDER(descriptors_are_read_from_their_start_each_time),
        WITH_FOLDER(kernel_files_are_read),
        WITH_FOLDER(missing_files_say_so),
        WITH_FOLDER(large_files_are_read_up_to_the_limit),
        WITH_FOLDER(a_pipe_made_non_blocking_gets_every_byte),
        WITH_FOLDER(write_errors_are_returned),
        WITH_FOLDER(replacement_is_private_and_leaves_nothing_beside),
        WITH_FOLDER(failed_replacement_keeps_the_old_file),
        WITH_FOLDER(a_temporary_of_another_is_no_obstacle_and_no_trap),
        WITH_FOLDER(a_new_file_is_whole_private_and_alone),
        WITH_FOLDER(a_new_file_takes_the_place_of_none),
        WITH_FOLDER(reserved_space_has_no_name_until_it_replaces_a_file),
        WITH_FOLDER(the_longest_name_can_be_replaced),
        WITH_FOLDER(missing_folders_are_made_private),
        WITH_FOLDER(a_file_in_the_way_is_named),
        WITH_FOLDER(a_link_that_another_user_has_planted_is_not_followed),
        WITH_FOLDER(own_folders_are_opened_through_own_links),
        WITH_FOLDER(a_folder_of_another_user_is_never_our_own),
        WITH_FOLDER(links_lead_to_the_same_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
