/* Starting commands, with real processes: what the command finds, and what comes back when it cannot start.
 */
#include "launch/launch.h"

#include "launch_fixture.h"

#include <signal.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "launch/reap.h"
#include "launch/signals.h"

static void output_and_exit_status_come_back(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    int status = run_shell("echo hello; exit 3", (struct launch_options){.new_session = true}, text);

    assert_string_equal(text, "hello\n");
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void unknown_command_is_127(void **state)
{
    struct metron_error error;
    (void)state;
    int code = failure_of("metron-no-such-command", &error);

    assert_int_equal(code, -ENOENT);
    assert_int_equal(launch_failure_exit_code(code), 127);
    assert_string_equal(error.message, "'metron-no-such-command': command not found");
    assert_int_equal(launch_failure_exit_code(failure_of("", &error)), 127);
    assert_string_equal(error.message, "'': command not found");
    assert_int_equal(launch_failure_exit_code(failure_of("/no/such/file", &error)), 127);
    assert_string_equal(error.message, "'/no/such/file': No such file or directory");
}

static void file_that_may_not_be_run_is_126(void **state)
{
    struct metron_error error;
    char expected[600];
    (void)state;
    const char *path = make_file("plain", "echo no\n", 0644);

    assert_int_equal(launch_failure_exit_code(failure_of(path, &error)), 126);
    (void)snprintf(expected, sizeof(expected), "'%s': Permission denied", path);
    assert_string_equal(error.message, expected);
    assert_int_equal(launch_failure_exit_code(failure_of(folder, &error)), 126);
    (void)snprintf(expected, sizeof(expected), "'%s': Is a directory", folder);
    assert_string_equal(error.message, expected);
}

static void bare_name_along_path_is_judged_as_a_shell_does(void **state)
{
    struct metron_error error;
    char *path = strdup(getenv("PATH"));
    char name[64];
    (void)state;
    (void)make_file("metron-plain", "echo no\n", 0644);
    (void)snprintf(name, sizeof(name), "%s/metron-folder", folder);
    assert_int_equal(mkdir(name, 0755), 0);

    (void)setenv("PATH", folder, 1);
    assert_int_equal(failure_of("metron-plain", &error), -EACCES);
    assert_int_equal(failure_of("metron-folder", &error), -ENOENT);
    assert_string_equal(error.message, "'metron-folder': command not found");
    (void)setenv("PATH", path, 1);
    free(path);
}

static void missing_interpreter_is_named(void **state)
{
    struct metron_error error;
    (void)state;

    assert_int_equal(
        launch_failure_exit_code(failure_of(make_file("bad", "#! /no/such/python -u\n", 0755), &error)), 127);
    assert_non_null(strstr(error.message, "bad': its interpreter '/no/such/python' is missing"));
    assert_int_equal(failure_of(make_file("dos", "#!/bin/sh\r\necho\r\n", 0755), &error), -ENOENT);
    assert_non_null(strstr(error.message, "DOS line ends"));
}

static void script_without_interpreter_line_is_run_by_sh(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    char *argv[] = {(char *)make_file("script", "echo \"ran $1\"\n", 0755), "it", NULL};

    assert_int_equal(run((struct launch_options){.argv = argv}, text), 0);
    assert_string_equal(text, "ran it\n");
}

static void nasty_names_run_and_are_told_safely(void **state)
{
    static const char *const names[] = {"a\nb", "\033[31mred", "q'\"`$(x)", "\xff\xfe", "-c", "  "};
    char text[TEXT_BYTES];
    struct metron_error error;
    char missing[64];
    (void)state;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *argv[] = {(char *)make_file(names[i], "#!/bin/sh\nprintf %s \"$0\"\n", 0755), NULL};

        assert_int_equal(run((struct launch_options){.argv = argv}, text), 0);
        assert_string_equal(text, argv[0]);
        (void)snprintf(missing, sizeof(missing), "./no-%s", names[i]);
        assert_int_equal(failure_of(missing, &error), -ENOENT);
        for (const char *byte = error.message; *byte; byte++)
            assert_in_range((unsigned char)*byte, 0x20, 0x7e);
    }
}

static void failed_start_leaves_nothing_behind(void **state)
{
    struct metron_error error;
    int before = count_descriptors();
    char *argv[] = {"metron-no-such-command", NULL};
    struct launch_options options = {.argv = argv, .pty = true};
    struct launched launched;
    (void)state;

    (void)failure_of("metron-no-such-command", &error);
    assert_int_equal(launch_start(&options, &launched, NULL), -ENOENT);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void command_gets_no_descriptor_of_ours(void **state)
{
    char text[TEXT_BYTES];
    char expected[TEXT_BYTES] = "";
    size_t length = 0;
    (void)state;

    /* What the test itself was given open is the caller's, and passes. stdout is there in any case. */
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (fd == STDOUT_FILENO || (flags >= 0 && !(flags & FD_CLOEXEC)))
            length += (size_t)snprintf(expected + length, TEXT_BYTES - length, "%d\n", fd);
    }
    assert_int_equal(run_shell("ls -v /proc/$$/fd; :",
                               (struct launch_options){.new_session = true, .pipe_stderr = false}, text),
                     0);
    assert_string_equal(text, expected);
}

static void on_signal(int number)
{
    (void)number;
}

static unsigned long long status_field(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    assert_non_null(line);
    return strtoull(line + strlen(name), NULL, 16);
}

#define BIT(number) (1ULL << ((number)-1))

/* nohup-like: ignored by the caller, handled by metron; and the other way round. */
static void signals_are_as_the_caller_had_them(void **state)
{
    char text[TEXT_BYTES];
    char *argv[] = {"grep", "Sig", "/proc/self/status", NULL};
    sigset_t blocked, before;
    (void)state;

    (void)signal(SIGHUP, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    launch_signals_save();
    assert_true(launch_signal_was_ignored(SIGHUP));
    assert_false(launch_signal_was_ignored(SIGINT));

    (void)signal(SIGHUP, on_signal);
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGPIPE, SIG_IGN);
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    assert_int_equal(run((struct launch_options){.argv = argv, .new_session = true}, text), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);

    unsigned long long ignored = status_field(text, "SigIgn:");

    assert_true(ignored & BIT(SIGHUP));
    assert_false(ignored & (BIT(SIGPIPE) | BIT(SIGINT)));
    assert_int_equal(status_field(text, "SigBlk:"), BIT(SIGUSR2));
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    launch_signals_save();
}

static void ignored_sigchld_costs_no_exit_status(void **state)
{
    char text[TEXT_BYTES];
    char *argv[] = {"grep", "SigIgn", "/proc/self/status", NULL};
    (void)state;

    (void)signal(SIGCHLD, SIG_IGN);
    launch_signals_save();
    assert_int_equal(WEXITSTATUS(run_shell("exit 4", (struct launch_options){0}, text)), 4);
    assert_int_equal(run((struct launch_options){.argv = argv}, text), 0);
    assert_true(status_field(text, "SigIgn:") & BIT(SIGCHLD));
    launch_signals_save();
}

static void session_is_new_only_when_asked(void **state)
{
    char text[TEXT_BYTES];
    char *argv[] = {"cat", "/proc/self/stat", NULL};
    int pid, parent, group, session;
    (void)state;

    assert_int_equal(run((struct launch_options){.argv = argv, .new_session = true}, text), 0);
    assert_int_equal(sscanf(text, "%d (cat) %*c %d %d %d", &pid, &parent, &group, &session), 4);
    assert_int_equal(session, pid);
    assert_int_equal(group, pid);
    assert_int_equal(parent, getpid());

    assert_int_equal(run((struct launch_options){.argv = argv}, text), 0);
    assert_int_equal(sscanf(text, "%d (cat) %*c %d %d %d", &pid, &parent, &group, &session), 4);
    assert_int_equal(session, getsid(0));
    assert_int_equal(group, getpgrp());
}

static void environment_and_limit_are_the_given_ones(void **state)
{
    char text[TEXT_BYTES];
    char *environment[] = {"ONLY=this", NULL};
    char *argv[] = {"env", NULL};
    struct rlimit raised, limit;
    (void)state;

    assert_int_equal(run((struct launch_options){.argv = argv, .environment = environment}, text), 0);
    assert_string_equal(text, "ONLY=this\n");
    (void)setenv("METRON_TEST", "own", 1);
    assert_int_equal(run_shell("echo $METRON_TEST", (struct launch_options){0}, text), 0);
    assert_string_equal(text, "own\n");

    getrlimit(RLIMIT_NOFILE, &raised);
    limit = (struct rlimit){.rlim_cur = 123, .rlim_max = raised.rlim_max};
    assert_int_equal(run_shell("ulimit -n", (struct launch_options){.open_files = &limit}, text), 0);
    assert_string_equal(text, "123\n");
}

static void earlier_size_of_ours_is_not_the_commands(void **state)
{
    const size_t bytes = 256UL << 20;
    char *argv[] = {"/bin/true", NULL};
    struct launch_options options = {.argv = argv, .new_session = true};
    struct launched launched;
    struct rusage own;
    struct reaped reaped;
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;

    assert_ptr_not_equal(block, MAP_FAILED);
    memset(block, 1, bytes);
    munmap(block, bytes);
    getrusage(RUSAGE_SELF, &own);
    assert_true((size_t)own.ru_maxrss * 1024 >= bytes);
    assert_int_equal(launch_start(&options, &launched, NULL), 0);
    while (launch_reap(launched.pid, &reaped) == 0)
        usleep(1000);
    assert_true((size_t)reaped.usage.ru_maxrss * 1024 < bytes / 2);
    assert_in_range(launched.inherited_rss_bytes, 1, (size_t)reaped.usage.ru_maxrss * 1024);
}

static void start_is_stamped_just_before(void **state)
{
    char *argv[] = {"true", NULL};
    struct launch_options options = {.argv = argv};
    struct launched launched;
    uint64_t before_ns = clock_monotonic_ns();
    struct timespec before = clock_wall();
    (void)state;

    assert_int_equal(launch_start(&options, &launched, NULL), 0);
    assert_in_range(launched.start_ns, before_ns, clock_monotonic_ns());
    assert_in_range(launched.start_wall.tv_sec, before.tv_sec, clock_wall().tv_sec);
    assert_int_equal(wait_for(launched.pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_status_come_back),
        cmocka_unit_test(unknown_command_is_127),
        cmocka_unit_test(file_that_may_not_be_run_is_126),
        cmocka_unit_test(bare_name_along_path_is_judged_as_a_shell_does),
        cmocka_unit_test(missing_interpreter_is_named),
        cmocka_unit_test(script_without_interpreter_line_is_run_by_sh),
        cmocka_unit_test(nasty_names_run_and_are_told_safely),
        cmocka_unit_test(failed_start_leaves_nothing_behind),
        cmocka_unit_test(command_gets_no_descriptor_of_ours),
        cmocka_unit_test(signals_are_as_the_caller_had_them),
        cmocka_unit_test(ignored_sigchld_costs_no_exit_status),
        cmocka_unit_test(session_is_new_only_when_asked),
        cmocka_unit_test(environment_and_limit_are_the_given_ones),
        cmocka_unit_test(earlier_size_of_ours_is_not_the_commands),
        cmocka_unit_test(start_is_stamped_just_before),
    };

    launch_signals_save();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
