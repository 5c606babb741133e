/*
 * Running strace: the real one on children of known calls, and stand-ins that hang or fail.
 *
 * program.c is compiled into the test, which so counts how often strace was seen asleep.
 */
#include "probe/strace/target.h"

static long switches_seen(const char *proc_root, pid_t pid);
#define strace_target_switches switches_seen
#include "probe/strace/program.c" /* NOLINT(bugprone-suspicious-include) */
#undef strace_target_switches

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "another_user.h"
#include "base/clock.h"
#include "base/file.h"
#include "process_state.h"

enum { CALLS = 1000, FAILURES = 200, LIMIT_MS = 60000 };

static struct {
    struct strace_run *run;
    struct strace_calls *calls;
    struct metron_error error;
    uint64_t getppid, failed_dup, all;
    double getppid_seconds, sleep_seconds;
    char folder[64];
    char *path; /* PATH before the test */
    int gate;   /* write end: lets the child go */
    bool *done; /* the child has made its calls; shared with it, atomic */
    long switches;
    int asleep, longest_sleep; /* looks at strace in a row that found no switch since the one before */
} test;

/* What strace_stop() sees of strace, and how often it has seen nothing happen. */
static long switches_seen(const char *proc_root, pid_t pid)
{
    const long before = test.switches;

    test.switches = strace_target_switches(proc_root, pid);
    test.asleep = test.switches >= 0 && test.switches == before ? test.asleep + 1 : 0;
    if (test.asleep > test.longest_sleep)
        test.longest_sleep = test.asleep;
    return test.switches;
}

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    test.switches = -1;
    test.calls = strace_calls_new("/proc");
    test.done = mmap(NULL, sizeof(*test.done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (test.done == MAP_FAILED)
        return -1;
    test.path = strdup(getenv("PATH"));
    (void)snprintf(test.folder, sizeof(test.folder), "/tmp/metron-strace-XXXXXX");
    return mkdtemp(test.folder) && test.path ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char path[128];

    strace_free(test.run);
    strace_calls_free(test.calls);
    (void)munmap(test.done, sizeof(*test.done));
    (void)setenv("PATH", test.path, 1);
    free(test.path);
    (void)snprintf(path, sizeof(path), "%s/strace", test.folder);
    (void)unlink(path);
    return rmdir(test.folder);
}

/* A strace of our own making, the only one in PATH. */
static void stand_in(const char *script)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/strace", test.folder);
    assert_int_equal(file_replace(AT_FDCWD, path, script, strlen(script), 0700), 0);
    assert_int_equal(setenv("PATH", test.folder, 1), 0);
}

static void visit(void *context, uint32_t id, pid_t pid, const struct syscall_table *table)
{
    (void)context;
    (void)id;
    (void)pid;
    for (size_t i = 0; i < table->count; i++) {
        const struct syscall_entry *call = &table->entries[i];
        const double seconds = (double)call->totals.ns / (double)NS_PER_SECOND;

        test.all += call->totals.count;
        if (strcmp(call->name, "getppid") == 0) {
            test.getppid += call->totals.count;
            test.getppid_seconds += seconds;
        }
        if (strcmp(call->name, "dup") == 0)
            test.failed_dup += call->totals.errors;
        if (strstr(call->name, "nanosleep"))
            test.sleep_seconds += seconds;
    }
}

static int stop(void)
{
    int code = strace_stop(test.run, &test.error);

    strace_calls_read(test.calls, visit, NULL);
    return code;
}

static void make_calls(void)
{
    for (int i = 0; i < CALLS; i++)
        (void)syscall(SYS_getppid);
    for (int i = 0; i < FAILURES; i++)
        (void)syscall(SYS_dup, -1);
    (void)usleep(100000);
}

/* A child that makes the known calls once it is let go, and then as `after` says: ends, or goes on living. */
static pid_t start_child(bool lives_on, bool with_grandchild)
{
    int ends[2];
    char byte;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        if (with_grandchild) {
            pid_t grandchild = fork();
            if (grandchild == 0) {
                make_calls();
                _exit(0);
            }
            (void)waitpid(grandchild, NULL, 0);
        }
        make_calls();
        __atomic_store_n(test.done, true, __ATOMIC_RELEASE);
        while (lives_on)
            (void)usleep(1000);
        _exit(0);
    }
    (void)close(ends[0]);
    test.gate = ends[1];
    return pid;
}

static void end_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* strace attached to the child, the child let go. Skips where tracing cannot be had. */
static void attach(pid_t pid)
{
    int code = strace_start(test.calls, &test.run, &test.error);

    if (code == 0)
        code = strace_release(test.run, &pid, 1, &test.error);
    if (code == 0)
        code = strace_wait_attached(test.run, LIMIT_MS, &test.error);
    if (code == -ENOENT || code == -EPERM) {
        end_child(pid);
        print_message("%s\n", test.error.message);
        skip();
    }
    assert_int_equal(code, 0);
    assert_int_equal(strace_target_tracer("/proc", pid), strace_pid(test.run));
    (void)close(test.gate);
}

static void nobody_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void calls_of_a_process_that_ends_are_counted_exactly(void **state)
{
    (void)state;
    const uint64_t begin_ns = clock_monotonic_ns();
    pid_t pid = start_child(false, false);

    attach(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    const double taken = (double)(clock_monotonic_ns() - begin_ns) / (double)NS_PER_SECOND;
    assert_int_equal(stop(), 0);
    assert_int_equal(test.getppid, CALLS);
    assert_int_equal(test.failed_dup, FAILURES);
    /* From beginning to end, not only what was spent on a CPU. */
    assert_true(test.sleep_seconds > 0.09 && test.sleep_seconds < taken);
    assert_non_null(strace_usage(test.run));
    nobody_is_left();
}

static void children_born_later_are_counted_too(void **state)
{
    (void)state;
    pid_t pid = start_child(false, true);

    attach(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(stop(), 0);
    assert_int_equal(test.getppid, 2 * CALLS);
    assert_int_equal(test.failed_dup, 2 * FAILURES);
}

static void a_process_that_lives_on_is_let_go(void **state)
{
    (void)state;
    pid_t pid = start_child(true, false);

    attach(pid);
    while (!__atomic_load_n(test.done, __ATOMIC_ACQUIRE))
        (void)usleep(1000);
    assert_int_equal(stop(), 0);
    assert_int_equal(strace_target_tracer("/proc", pid), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* neither ended nor stopped */
    end_child(pid);
    assert_int_equal(test.getppid, CALLS);
    nobody_is_left();
}

static void one_that_the_caller_has_waited_for_is_not_waited_for_again(void **state)
{
    (void)state;
    pid_t pid = start_child(false, false);
    int status;
    struct rusage usage;

    attach(pid);
    assert_false(strace_reaped(test.run, pid, 0, NULL));
    for (int left = 2; left > 0; left--) { /* as a sub-reaper does it: whoever comes */
        pid_t found = wait4(-1, &status, 0, &usage);
        assert_true(found > 0);
        assert_int_equal(strace_reaped(test.run, found, status, &usage), found != pid);
    }
    assert_int_equal(stop(), 0);
    assert_int_equal(test.getppid, CALLS);
}

static void a_second_tracer_is_refused_by_name(void **state)
{
    (void)state;
    struct strace_run *second = NULL;
    pid_t pid = start_child(true, false);
    char wanted[64];

    attach(pid);
    assert_int_equal(strace_start(test.calls, &second, &test.error), 0);
    assert_int_equal(strace_release(second, &pid, 1, &test.error), -EBUSY);
    (void)snprintf(wanted, sizeof(wanted), "by process %d (strace)", (int)strace_pid(test.run));
    assert_non_null(strstr(test.error.message, wanted));
    strace_free(second);
    assert_int_equal(strace_target_tracer("/proc", pid), strace_pid(test.run)); /* the first is undisturbed */
    assert_int_equal(stop(), 0);
    end_child(pid);
    nobody_is_left();
}

/* Until they are listed no thread may go on, so not a line of strace's may fit. */
static void nothing_fits_into_the_pipe_before_it_is_read(void **state)
{
    (void)state;
    char path[64];

    stand_in("#!/bin/sh\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", test.run->output_fd);
    struct pollfd polled = {.fd = open(path, O_WRONLY | O_CLOEXEC), .events = POLLOUT};
    assert_true(polled.fd >= 0);
    assert_int_equal(poll(&polled, 1, 0), 0);
    (void)close(polled.fd);
}

static void nobody_is_followed_by_one_that_was_killed(void **state)
{
    (void)state;
    pid_t pid = start_child(true, false);
    const uint64_t end_ns = clock_after_ms(LIMIT_MS);

    attach(pid);
    assert_true(strace_calls_follows(test.calls, strace_calls_id(test.calls, pid, 0)));
    (void)kill(strace_pid(test.run), SIGKILL);
    while (!strace_calls_is_closed(test.calls) && clock_monotonic_ns() < end_ns)
        (void)usleep(1000);
    assert_true(strace_calls_is_closed(test.calls));
    assert_false(strace_calls_follows(test.calls, strace_calls_id(test.calls, pid, 0)));
    end_child(pid);
    assert_int_equal(stop(), -EIO);
}

static void another_users_process_is_refused_with_the_reason(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can become another user here\n");
        skip();
    }
    pid_t tester = fork();
    assert_true(tester >= 0);
    if (tester == 0) {
        struct metron_error error = {0};
        struct strace_run *run = NULL;
        const pid_t pid = 1;

        if (!become_another_user())
            _exit(1);
        int code = strace_start(test.calls, &run, &error);
        if (code == -ENOENT)
            _exit(77);
        if (code == 0)
            code = strace_release(run, &pid, 1, &error);
        if (code == 0)
            code = strace_wait_attached(run, LIMIT_MS, &error);
        strace_free(run);
        _exit(code == -EPERM && strstr(error.message, "it is another user's") ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(tester, &status, 0), tester);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Only the first one has to be there. */
static void a_process_that_is_gone_is_told(void **state)
{
    (void)state;
    pid_t pids[] = {getpid(), start_child(false, false), getpid()};

    end_child(pids[1]);
    (void)close(test.gate);
    stand_in("#!/bin/sh\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, pids, 2, &test.error), 0);
    assert_int_equal(test.error.code, 0);
    strace_free(test.run);
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, pids + 1, 2, &test.error), -ESRCH);
    assert_non_null(strstr(test.error.message, "there is no process"));
}

static void a_missing_strace_is_told(void **state)
{
    (void)state;
    (void)setenv("PATH", test.folder, 1);
    assert_int_equal(strace_available(&test.error), -ENOENT);
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), -ENOENT);
    assert_null(test.run);
    assert_non_null(strstr(test.error.message, "strace is not installed"));
    nobody_is_left();
}

static void one_that_fails_is_told_in_its_own_words(void **state)
{
    (void)state;
    pid_t self = getpid();

    stand_in("#!/bin/sh\necho 'strace: the moon is full' >&2\nexit 1\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, &self, 1, &test.error), 0);
    assert_int_equal(strace_wait_attached(test.run, LIMIT_MS, &test.error), -EIO);
    assert_non_null(strstr(test.error.message, "the moon is full"));
}

/* Until the stand-in has made a file of this name; only then does it ignore signals. */
static void await_file(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", test.folder, name);
    while (unlink(path) != 0)
        (void)usleep(1000);
}

static void one_that_hangs_is_killed_in_the_end(void **state)
{
    (void)state;
    pid_t self = getpid();

    stand_in("#!/bin/sh\ntrap '' INT\n: > \"${0%/*}/ready\"\nwhile :; do /bin/sleep 0.1; done\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, &self, 1, &test.error), 0);
    await_file("ready");
    assert_int_equal(strace_wait_attached(test.run, 200, &test.error), -ETIME);
    assert_int_equal(stop(), -ETIME);
    nobody_is_left();
}

/* It ignores the signal as well, and does nothing that one could wait for. What it counted is complete. */
static void one_that_stands_still_is_killed_at_once(void **state)
{
    (void)state;
    pid_t self = getpid();

    stand_in("#!/bin/sh\ntrap '' INT\n: > \"${0%/*}/ready\"\n"
             "for pid; do :; done; echo \"Process $pid attached\" >&2; exec /bin/sleep 600\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, &self, 1, &test.error), 0);
    await_file("ready");
    assert_int_equal(strace_wait_attached(test.run, LIMIT_MS, &test.error), 0);
    await_rest(strace_pid(test.run), 1);
    assert_int_equal(stop(), 0);
    assert_int_equal(test.longest_sleep, LOOKS_AT_SLEEP);
    nobody_is_left();
}

/* Starts programs over and over: posix_spawn waits, as vfork does, until each has been executed. */
static pid_t start_spawner(void)
{
    char *const command[] = {"true", NULL};
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        for (pid_t child; posix_spawn(&child, "/bin/true", NULL, NULL, command, environ) == 0;)
            (void)waitpid(child, NULL, 0);
        _exit(1);
    }
    return pid;
}

enum { ROUNDS = 12 };

/* strace that is told to end while one waits so, and the other stands before strace, would never do it. */
static void one_that_stands_still_with_its_targets_is_killed_at_once(void **state)
{
    (void)state;
    unsigned stuck = 0;

    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = start_spawner();

        test.gate = -1;
        attach(pid);
        (void)usleep(10000 + 700U * (unsigned)i); /* any moment will do */
        test.switches = -1;
        assert_int_equal(stop(), 0); /* what was called until then is counted */
        assert_true(test.longest_sleep <= LOOKS_AT_SLEEP);
        stuck += WTERMSIG(test.run->wait_status) == SIGKILL;
        strace_free(test.run);
        test.run = NULL;
        assert_int_equal(strace_target_tracer("/proc", pid), 0);
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        end_child(pid);
    }
    print_message("# %u of %d stood still\n", stuck, ROUNDS);
    nobody_is_left();
}

/* It forks a child, as strace does when it starts. */
static const char forks_a_child[] = "#!/bin/sh\n"
                                    "/bin/sleep 600 &\n"
                                    "echo $! > \"${0%/*}/made\"\n"
                                    "/bin/mv \"${0%/*}/made\" \"${0%/*}/child\"\n"
                                    "wait\n";

/* The pid of that child. */
static pid_t await_child_of_strace(void)
{
    char path[128], text[32];
    ssize_t length;

    (void)snprintf(path, sizeof(path), "%s/child", test.folder);
    while ((length = file_read(AT_FDCWD, path, text, sizeof(text))) <= 0)
        (void)usleep(1000);
    (void)unlink(path);
    return (pid_t)strtol(text, NULL, 10);
}

/* Waits for it, up to 20 seconds, which only a hang would take, and for what else has become ours. */
static void await_orphans(pid_t pid)
{
    int tries = 0;

    while (waitpid(pid, NULL, WNOHANG) == 0 && tries < 20000) {
        (void)usleep(1000);
        tries++;
    }
    if (tries == 20000) /* else it was waited for, and another process may have its pid */
        (void)kill(pid, SIGKILL);
    assert_true(tries < 20000);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void children_of_strace_end_with_the_process_that_started_it(void **state)
{
    (void)state;
    stand_in(forks_a_child);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    pid_t tester = fork();
    assert_true(tester >= 0);
    if (tester == 0) {
        pid_t self = getpid();

        if (strace_start(test.calls, &test.run, &test.error) == 0 &&
            strace_release(test.run, &self, 1, &test.error) == 0)
            (void)strace_wait_attached(test.run, LIMIT_MS, &test.error);
        _exit(1);
    }
    pid_t child = await_child_of_strace();
    end_child(tester);
    await_orphans(child);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    nobody_is_left();
}

static void children_of_a_strace_that_was_killed_end_too(void **state)
{
    (void)state;
    pid_t self = getpid();

    stand_in(forks_a_child);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    assert_int_equal(strace_release(test.run, &self, 1, &test.error), 0);
    pid_t child = await_child_of_strace();
    assert_int_equal(kill(strace_pid(test.run), SIGKILL), 0);
    assert_int_equal(stop(), -EIO);
    await_orphans(child);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    nobody_is_left();
}

static void one_never_released_goes_quietly(void **state)
{
    (void)state;
    char ran[128];

    stand_in("#!/bin/sh\necho ran > \"${0%/*}/ran\"\n");
    assert_int_equal(strace_start(test.calls, &test.run, &test.error), 0);
    strace_free(test.run);
    test.run = NULL;
    (void)snprintf(ran, sizeof(ran), "%s/ran", test.folder);
    assert_int_equal(access(ran, F_OK), -1);
    nobody_is_left();
}

static void a_thread_is_no_process(void **state)
{
    (void)state;
    char folder[128], path[256];
    static const char text[] = "Name:\tworker\nState:\tS (sleeping)\nTgid:\t40\nPid:\t41\nTracerPid:\t0\n";

    (void)snprintf(folder, sizeof(folder), "%s/41/task/41/", test.folder);
    assert_int_equal(file_make_folders(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%sstatus", folder);
    assert_int_equal(file_replace(AT_FDCWD, path, text, strlen(text), 0600), 0);
    assert_int_equal(strace_target_check(test.folder, 41, &test.error), -EINVAL);
    assert_non_null(strstr(test.error.message, "41 is a thread of process 40"));
    (void)unlink(path);
    (void)rmdir(folder);
    (void)snprintf(path, sizeof(path), "%s/41/task", test.folder);
    (void)rmdir(path);
    (void)snprintf(path, sizeof(path), "%s/41", test.folder);
    (void)rmdir(path);
}

static void yama_is_named(void **state)
{
    (void)state;
    char command[512];

    (void)snprintf(
        command, sizeof(command),
        "mkdir -p %1$s/41/task/41 %1$s/sys/kernel/yama && "
        "printf 'Name:\\tx\\nState:\\tS (sleeping)\\nTgid:\\t41\\nTracerPid:\\t0\\nUid:\\t%2$d\\n' "
        "> %1$s/41/task/41/status && echo 1 > %1$s/sys/kernel/yama/ptrace_scope",
        test.folder, (int)geteuid());
    assert_int_equal(system(command), 0);
    int code = strace_target_refused(test.folder, 41, &test.error);
    (void)snprintf(command, sizeof(command), "rm -r %s/41 %s/sys", test.folder, test.folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(code, -EPERM);
    assert_non_null(strstr(test.error.message, "kernel.yama.ptrace_scope is 1"));
}

#define RUN(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(calls_of_a_process_that_ends_are_counted_exactly),
        RUN(children_born_later_are_counted_too),
        RUN(a_process_that_lives_on_is_let_go),
        RUN(one_that_the_caller_has_waited_for_is_not_waited_for_again),
        RUN(a_second_tracer_is_refused_by_name),
        RUN(nothing_fits_into_the_pipe_before_it_is_read),
        RUN(nobody_is_followed_by_one_that_was_killed),
        RUN(another_users_process_is_refused_with_the_reason),
        RUN(a_process_that_is_gone_is_told),
        RUN(a_missing_strace_is_told),
        RUN(one_that_fails_is_told_in_its_own_words),
        RUN(one_that_hangs_is_killed_in_the_end),
        RUN(one_that_stands_still_is_killed_at_once),
        RUN(one_that_stands_still_with_its_targets_is_killed_at_once),
        RUN(children_of_strace_end_with_the_process_that_started_it),
        RUN(children_of_a_strace_that_was_killed_end_too),
        RUN(one_never_released_goes_quietly),
        RUN(a_thread_is_no_process),
        RUN(yama_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
