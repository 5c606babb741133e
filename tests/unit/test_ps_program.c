/* What ps prints, and running it: the real one, and stand-ins that hang, fail or talk nonsense. */
#include "probe/ps_program.h"

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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"

/* ---- lines ---- */

static int parse(const char *line, struct ps_process *out)
{
    /* Of exactly its size: a byte too many is seen. */
    char *copy = malloc(strlen(line) + 1);

    assert_non_null(copy);
    memcpy(copy, line, strlen(line));
    char *exact = realloc(copy, strlen(line) > 0 ? strlen(line) : 1);
    int status = ps_line_parse(exact, strlen(line), out);
    size_t arguments = status == 0 ? (size_t)(out->arguments - exact) : 0;
    free(exact);
    out->arguments = line + arguments;
    return status;
}

static bool arguments_are(const struct ps_process *process, const char *wanted)
{
    return process->arguments_length == strlen(wanted) &&
           memcmp(process->arguments, wanted, process->arguments_length) == 0;
}

static void a_line_is_taken_apart(void **state)
{
    (void)state;
    struct ps_process process;

    assert_int_equal(
        parse("15738 15714 SLl+  3984   5004 12.3       65   11545 bash -c 'a  b' /dev/fd/3", &process), 0);
    assert_int_equal(process.pid, 15738);
    assert_int_equal(process.ppid, 15714);
    assert_int_equal(process.state, 'S');
    assert_int_equal(process.rss_bytes, 3984 * 1024);
    assert_int_equal(process.vsize_bytes, 5004 * 1024);
    assert_true(process.memory_fraction > 0.12299 && process.memory_fraction < 0.12301);
    assert_int_equal(process.cpu_seconds, 65);
    assert_true(process.has_elapsed);
    assert_int_equal(process.elapsed_seconds, 11545);
    assert_true(arguments_are(&process, "bash -c 'a  b' /dev/fd/3"));
}

static void a_zombie_and_a_nameless_process_are_lines_too(void **state)
{
    (void)state;
    struct ps_process process;

    assert_int_equal(parse("  201   1 Z        0      0  0.0        0       1 [sh] <defunct>", &process), 0);
    assert_int_equal(process.state, 'Z');
    assert_true(arguments_are(&process, "[sh] <defunct>"));
    assert_int_equal(parse("1 0 S 1 1 100 0 1 ", &process), 0);
    assert_true(process.memory_fraction > 0.99999 && process.memory_fraction < 1.00001);
    assert_true(arguments_are(&process, ""));
    assert_int_equal(parse("1 0 S 1 1 0.0 0 1", &process), 0);
    assert_true(arguments_are(&process, ""));
}

static void an_age_below_zero_is_no_age(void **state)
{
    (void)state;
    struct ps_process process;

    assert_int_equal(parse("1 0 S 1 1 0.0 0 4294967295 sh", &process), 0);
    assert_false(process.has_elapsed);
    assert_int_equal(parse("1 0 S 1 1 0.0 0 18446744073709551615 sh", &process), 0);
    assert_false(process.has_elapsed);
}

static void lines_of_another_shape_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "   ",
        "  PID  PPID STAT   RSS    VSZ %MEM     TIME ELAPSED COMMAND",
        "0 0 S 1 1 0.0 0 1 sh",
        "99999999999 1 S 1 1 0.0 0 1 sh",
        "12 1 S 1 1 0,0 0 1 sh",
        "12 1 S 1k 1 0.0 0 1 sh",
        "12 1 S 1 1 0.0 0:01 1 sh",
        "12 1 S 1 1 0.0 0",
        "12 1 S 18446744073709551615 1 0.0 0 1 sh",
    };
    struct ps_process process;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(parse(lines[i], &process), -EBADMSG);
}

static void a_line_cut_off_is_refused_or_lacks_arguments_only(void **state)
{
    (void)state;
    static const char line[] = "15738 15714 Ss    3984   5004  0.0        0      26 bash";
    const size_t whole = strlen("15738 15714 Ss    3984   5004  0.0        0      2");

    for (size_t cut = 0; cut < sizeof(line); cut++) {
        char *prefix = strndup(line, cut);
        struct ps_process process;

        assert_non_null(prefix);
        assert_int_equal(parse(prefix, &process), cut < whole ? -EBADMSG : 0);
        free(prefix);
    }
}

/* ---- runs ---- */

enum { SEEN_MAX = 16 };

static struct {
    struct ps_program program;
    pid_t started, ended, group;
    bool blocks_signals;
    bool has_usage;
    double cpu_seconds;
    unsigned count;
    struct ps_process seen[SEEN_MAX];
    char arguments[SEEN_MAX][64];
    unsigned runs;
    char folder[64];
    char *path; /* PATH before the test */
} test;

static void on_start(void *context, pid_t pid)
{
    char path[64], text[4096];

    (void)context;
    assert_int_equal(test.started, test.ended); /* one at a time */
    test.started = pid;
    test.runs++;
    /* It may have ended by now, but it is there until it is waited for. */
    test.group = getpgid(pid);
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) > 0) {
        const char *blocked = strstr(text, "SigBlk:");
        test.blocks_signals = blocked && strtoull(blocked + strlen("SigBlk:"), NULL, 16) != 0;
    }
}

static void on_end(void *context, pid_t pid, const struct rusage *usage)
{
    (void)context;
    test.ended = pid;
    test.has_usage = usage != NULL;
    if (usage)
        test.cpu_seconds += clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
}

static void on_process(void *context, const struct ps_process *process)
{
    (void)context;
    if (test.count < SEEN_MAX) {
        test.seen[test.count] = *process;
        (void)snprintf(test.arguments[test.count], sizeof(test.arguments[0]), "%.*s",
                       (int)process->arguments_length, process->arguments);
    }
    test.count++;
}

static const struct ps_visitor visitor = {on_start, on_end, on_process, NULL};

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    test.path = strdup(getenv("PATH"));
    (void)snprintf(test.folder, sizeof(test.folder), "/tmp/metron-ps-XXXXXX");
    return mkdtemp(test.folder) && test.path ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char path[128];

    (void)setenv("PATH", test.path, 1);
    free(test.path);
    (void)snprintf(path, sizeof(path), "%s/ps", test.folder);
    (void)unlink(path);
    ps_program_fini(&test.program);
    return rmdir(test.folder);
}

/* A ps of our own making, the only one in PATH. */
static void stand_in(const char *script)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/ps", test.folder);
    assert_int_equal(file_replace(AT_FDCWD, path, script, strlen(script), 0700), 0);
    assert_int_equal(setenv("PATH", test.folder, 1), 0);
    ps_program_fini(&test.program);
    assert_int_equal(ps_program_init(&test.program), 0);
    assert_string_equal(test.program.path, path);
}

static pid_t start_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
        (void)pause();
        _exit(0);
    }
    return pid;
}

static void end_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int run(const pid_t *pids, size_t count, double seconds)
{
    return ps_program_run(&test.program, pids, count, (uint64_t)(seconds * (double)NS_PER_SECOND), &visitor);
}

static void the_real_ps_tells_of_a_child(void **state)
{
    (void)state;
    if (ps_program_init(&test.program) < 0) {
        print_message("no ps here\n");
        skip();
    }
    pid_t children[] = {start_child(), start_child()};
    pid_t asked[] = {children[0], 1 << 22, children[1]}; /* no process has the one in the middle */
    int status = run(asked, 3, 10);

    end_child(children[0]);
    end_child(children[1]);
    assert_int_equal(status, 0);
    assert_int_equal(test.count, 2);
    assert_int_equal(test.runs, 1);
    for (unsigned i = 0; i < 2; i++) {
        const struct ps_process *process = &test.seen[i];
        assert_true(process->pid == children[0] || process->pid == children[1]);
        assert_int_equal(process->ppid, getpid());
        assert_true(process->state == 'S' || process->state == 'R'); /* just before it sleeps */
        assert_true(process->rss_bytes > 0 && process->vsize_bytes >= process->rss_bytes);
        assert_true(process->memory_fraction >= 0 && process->memory_fraction < 1);
        /* Of one just born ps may think that it will start in the future. */
        assert_true(!process->has_elapsed || process->elapsed_seconds < 100);
        assert_true(strlen(test.arguments[i]) > 0);
    }
    assert_int_equal(test.ended, test.started);
    assert_true(test.has_usage && test.cpu_seconds > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left to wait for */
}

static void our_signals_and_the_keyboards_are_not_its(void **state)
{
    (void)state;
    const pid_t pids[] = {1};
    sigset_t all, before;

    if (ps_program_init(&test.program) < 0) {
        print_message("no ps here\n");
        skip();
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    int status = run(pids, 1, 10);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(status, 0);
    assert_false(test.blocks_signals);
    assert_int_equal(test.group, test.started);
}

static void nobody_alive_is_no_failure(void **state)
{
    (void)state;
    const pid_t gone[] = {1 << 22};

    if (ps_program_init(&test.program) < 0) {
        print_message("no ps here\n");
        skip();
    }
    assert_int_equal(run(gone, 1, 10), 0);
    assert_int_equal(test.count, 0);
    assert_int_equal(run(gone, 0, 10), 0); /* and for nobody it is not run at all */
    assert_int_equal(test.runs, 1);
}

static void many_are_asked_for_in_several_runs(void **state)
{
    (void)state;
    static pid_t pids[PS_RUN_PIDS * 2 + 1];

    /* Says how many it was asked for: its last argument, counted in commas. */
    stand_in("#!/bin/sh\nfor list; do :; done\nself=${list%%,*}\n"
             "echo \"$self 1 S 1 1 0.0 0 1 me\"\n"
             "printf '%s' \"$list\" | tr -cd , | { read commas; echo \"7 1 S ${#commas} 1 0.0 0 1 it\"; }\n");
    assert_int_equal(setenv("PATH", test.path, 1), 0);
    for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
        pids[i] = (pid_t)(4000000 + i);
    assert_int_equal(run(pids, sizeof(pids) / sizeof(pids[0]), 10), 0);
    assert_int_equal(test.runs, 3);
    assert_int_equal(test.count, 3);
    assert_int_equal(test.seen[0].rss_bytes / 1024, PS_RUN_PIDS);
    assert_int_equal(test.seen[1].rss_bytes / 1024, PS_RUN_PIDS);
    assert_int_equal(test.seen[2].rss_bytes / 1024, 1);
}

static void a_ps_that_hangs_is_killed(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    stand_in("#!/bin/sh\nread nothing\nexec /bin/sleep 600\n");
    uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(run(pids, 1, 0.2), -ETIME);
    double seconds = (double)(clock_monotonic_ns() - begin_ns) / (double)NS_PER_SECOND;
    assert_true(seconds >= 0.2);
    assert_int_equal(test.ended, test.started);
    assert_int_equal(kill(test.started, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void a_ps_that_closes_its_output_and_stays_is_killed(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    stand_in("#!/bin/sh\nexec >/dev/null\nexec /bin/sleep 60\n");
    assert_int_equal(run(pids, 1, 0.2), -ETIME);
    assert_int_equal(test.ended, test.started);
    assert_int_equal(test.program.left_behind, 0);
}

static void a_ps_without_the_options_is_no_empty_answer(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    stand_in("#!/bin/sh\necho 'ps: unrecognized option: w' >&2\nexit 1\n");
    assert_int_equal(run(pids, 1, 10), -ENOTSUP);
    assert_int_equal(test.ended, test.started);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    stand_in("#!/bin/sh\necho 'PID   USER     TIME  COMMAND'\n");
    assert_int_equal(run(pids, 1, 10), -EBADMSG);
    stand_in("#!/bin/sh\nprintf '7 1 S 1 1 0.0 0 1 no newline'\n");
    assert_int_equal(run(pids, 1, 10), -EBADMSG);
}

static void it_gets_nothing_of_our_surroundings(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    assert_int_equal(setenv("PS_FORMAT", "comm", 1), 0);
    stand_in("#!/bin/sh\nfor list; do :; done\necho \"${list%%,*} 1 S 1 1 0.0 0 1 me\"\n"
             "echo \"7 1 S 1 1 0.0 0 1 [$LC_ALL] [$PS_FORMAT] [$(/bin/readlink /proc/self/fd/0)] \"\\\n"
             "\"[$(/bin/readlink /proc/self/fd/2)]\"\n");
    int status = run(pids, 1, 10);
    (void)unsetenv("PS_FORMAT");
    assert_int_equal(status, 0);
    assert_int_equal(test.count, 1);
    assert_string_equal(test.arguments[0], "[C] [] [/dev/null] [/dev/null]");
}

static void one_left_behind_is_waited_for_first(void **state)
{
    (void)state;
    const pid_t pids[] = {1};

    stand_in("#!/bin/sh\nfor list; do :; done\necho \"${list%%,*} 1 S 1 1 0.0 0 1 me\"\n");
    pid_t stuck = start_child();
    test.program.left_behind = test.started = stuck;
    assert_int_equal(run(pids, 1, 10), -EBUSY);
    assert_int_equal(test.runs, 0);
    (void)kill(stuck, SIGKILL);
    for (int ms = 0; ms < 60000 && run(pids, 1, 10) == -EBUSY; ms++)
        (void)usleep(1000);
    assert_int_equal(test.program.left_behind, 0);
    assert_int_equal(test.runs, 1);
    assert_int_equal(waitpid(stuck, NULL, WNOHANG), -1);
}

static void it_is_looked_for_in_path_only(void **state)
{
    (void)state;
    char folder[4096];

    stand_in("#!/bin/sh\n");
    assert_non_null(getcwd(folder, sizeof(folder)));
    assert_int_equal(chdir(test.folder), 0);
    (void)setenv("PATH", ":.:/nonexistent", 1); /* all of them lead here, but for the last */
    int status = ps_program_init(&test.program);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(status, -ENOENT);
    (void)setenv("PATH", "", 1);
    assert_int_equal(ps_program_init(&test.program), -ENOENT);
    (void)snprintf(folder, sizeof(folder), "/nonexistent:%s:/bin", test.folder);
    (void)setenv("PATH", folder, 1);
    assert_int_equal(ps_program_init(&test.program), 0);
    (void)snprintf(folder, sizeof(folder), "%s/ps", test.folder);
    assert_string_equal(test.program.path, folder);
    assert_int_equal(chmod(folder, 0600), 0);
    (void)setenv("PATH", test.folder, 1);
    assert_int_equal(ps_program_init(&test.program), -ENOENT); /* no program, just a file */
}

#define RUN(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_taken_apart),
        cmocka_unit_test(a_zombie_and_a_nameless_process_are_lines_too),
        cmocka_unit_test(an_age_below_zero_is_no_age),
        cmocka_unit_test(lines_of_another_shape_are_refused),
        cmocka_unit_test(a_line_cut_off_is_refused_or_lacks_arguments_only),
        RUN(the_real_ps_tells_of_a_child),
        RUN(our_signals_and_the_keyboards_are_not_its),
        RUN(nobody_alive_is_no_failure),
        RUN(many_are_asked_for_in_several_runs),
        RUN(a_ps_that_hangs_is_killed),
        RUN(a_ps_that_closes_its_output_and_stays_is_killed),
        RUN(a_ps_without_the_options_is_no_empty_answer),
        RUN(nonsense_is_refused),
        RUN(it_gets_nothing_of_our_surroundings),
        RUN(one_left_behind_is_waited_for_first),
        RUN(it_is_looked_for_in_path_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
