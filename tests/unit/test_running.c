/* Processes that run already: which they are, and why some cannot be followed. */
#include "probe/running.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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

#include "probe/pid/stat.h"
#include "probe/user_name.h"

static pid_t child;

static int start_child(void **state)
{
    int ready[2];
    char byte;

    (void)state;
    if (pipe2(ready, O_CLOEXEC) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        static char *const argv[] = {"sleep", "60", NULL};
        static char *const variables[] = {"COLOUR=blue", "EMPTY=", NULL};
        (void)close(ready[0]);
        if (chdir("/tmp") != 0)
            _exit(1);
        (void)execve("/bin/sleep", argv, variables);
        _exit(127);
    }
    (void)close(ready[1]); /* of the child it is closed at exec, or at its end */
    ssize_t count = read(ready[0], &byte, 1);
    (void)close(ready[0]);
    return child > 0 && count == 0 ? 0 : -1;
}

static int end_child(void **state)
{
    (void)state;
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    child = 0;
    return 0;
}

static uint64_t start_of(pid_t pid)
{
    char path[64], text[PID_STAT_SIZE];
    struct pid_stat stat;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    assert_int_equal(pid_stat_parse(text, length, &stat), 0);
    return stat.start_ticks;
}

static void a_process_is_known_by_its_start(void **state)
{
    struct running running;
    struct metron_error error = {0};

    (void)state;
    assert_int_equal(running_find("/proc", child, &running, &error), 0);
    assert_int_equal(running.pid, child);
    assert_int_equal(running.start_ticks, start_of(child));
    assert_int_equal(running.uid, getuid());
    assert_true(running_share_groups("/proc", child, getpid()));
    assert_false(running_share_groups("/proc", child, 4194304));
}

static void what_it_was_started_with_is_read(void **state)
{
    size_t length;

    (void)state;
    char *arguments = running_read("/proc", child, "cmdline", &length);
    assert_non_null(arguments);
    assert_int_equal(length, sizeof("sleep\0"
                                    "60"));
    assert_memory_equal(arguments,
                        "sleep\0"
                        "60",
                        length);
    free(arguments);
    char *variables = running_read("/proc", child, "environ", &length);
    assert_non_null(variables);
    assert_int_equal(length, sizeof("COLOUR=blue\0"
                                    "EMPTY="));
    free(variables);
    char *folder = running_folder("/proc", child);
    assert_string_equal(folder, "/tmp");
    free(folder);
    assert_null(running_read("/proc", 4194304, "cmdline", &length));
    assert_int_equal(length, 0);
    assert_null(running_folder("/proc", 4194304));
    char name[RUNNING_NAME_SIZE];
    assert_true(running_name("/proc", child, getuid(), name));
    assert_string_equal(name, "sleep");
    assert_false(
        running_name("/proc", child, getuid() + 1, name)); /* another process that has the pid by now */
    assert_false(running_name("/proc", 4194304, getuid(), name));
}

static void one_that_cannot_be_followed_is_an_error_that_says_why(void **state)
{
    struct running running;
    struct metron_error error = {0};

    (void)state;
    assert_int_equal(running_find("/proc", 4194304, &running, &error), -ESRCH);
    assert_string_equal(error.message, "there is no process 4194304");
    assert_int_equal(running_find("/proc", getpid(), &running, &error), -EINVAL);
    assert_non_null(strstr(error.message, "metron itself"));
    assert_int_equal(kill(child, SIGKILL), 0);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(running_find("/proc", child, &running, &error), -ESRCH);
    assert_non_null(strstr(error.message, "has ended"));
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Both have no memory: the flags tell them apart. */
static void one_that_is_exiting_is_no_thread_of_the_kernel(void **state)
{
    char root[] = "/tmp/test_running_XXXXXX", folder[64], status[128];
    struct running running;
    struct metron_error error = {0};

    (void)state;
    assert_int_equal(running_find(METRON_FIXTURES "/linux-6.18/proc", 2, &running, &error), -EINVAL);
    assert_non_null(strstr(error.message, "is a thread of the kernel"));

    assert_non_null(mkdtemp(root));
    (void)snprintf(folder, sizeof(folder), "%s/4711", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(status, sizeof(status), "Name:\tmake\nTgid:\t4711\nUid:\t%u\t%u\t%u\t%u\n", geteuid(),
                   geteuid(), geteuid(), geteuid());
    write_file(folder, "status", status);
    write_file(folder, "stat",
               "4711 (make) R 1 4711 4711 0 -1 4194316 120 0 0 0 5 2 0 0 20 0 1 0 17 0 0 "
               "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    assert_int_equal(running_find(root, 4711, &running, &error), 0);
    assert_int_equal(running.start_ticks, 17);
    (void)snprintf(status, sizeof(status), "rm -r %s", root);
    assert_int_equal(system(status), 0);
}

static void names_of_users_come_from_the_table_of_users(void **state)
{
    char name[USER_NAME_SIZE];

    (void)state;
    assert_true(user_name_find(0, name));
    assert_string_equal(name, "root");
    assert_false(user_name_find(4000000000U, name));
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_is_known_by_its_start, start_child, end_child),
        cmocka_unit_test_setup_teardown(what_it_was_started_with_is_read, start_child, end_child),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_followed_is_an_error_that_says_why, start_child,
                                        end_child),
        cmocka_unit_test(one_that_is_exiting_is_no_thread_of_the_kernel),
        cmocka_unit_test(names_of_users_come_from_the_table_of_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
