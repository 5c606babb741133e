/* Lines that strace prints, taken apart and counted by process; and what it says while it attaches. */
#include "probe/strace/calls.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/strace/lines.h"
#include "probe/strace/messages.h"

/* ---- one line ---- */

/* From a buffer of exactly its size: a byte too many is seen by the sanitizers. */
static struct strace_line parse(const char *text, size_t length)
{
    char *exact = malloc(length ? length : 1);
    struct strace_line line;

    assert_non_null(exact);
    memcpy(exact, text, length);
    strace_line_parse(exact, length, &line);
    free(exact);
    return line;
}

static void a_line_is_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct strace_line line;
    } cases[] = {
        {"7627 getppid() = 0x1dcb <0.000007>",
         {.kind = STRACE_LINE_RETURNED, .thread = 7627, .name = "getppid", .ns = 7000}},
        {"7627  getppid()             = 7627 <1.500000>",
         {.kind = STRACE_LINE_RETURNED, .thread = 7627, .name = "getppid", .ns = 1500000000}},
        {"1 read(0, 0x7f52, 0x1 <unfinished ...>", {.kind = STRACE_LINE_BEGUN, .thread = 1, .name = "read"}},
        {"1 <... read resumed>) = 0x1 <0.000000250>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "read", .ns = 250}},
        {"1 openat(0xffffff9c, 0x7f52, 0, 0) = -1 ENOENT (No such file or directory) <0.000013>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 1,
          .name = "openat",
          .ns = 13000,
          .failed = true,
          .error = ENOENT}},
        {"1 openat(0xffffff9c, 0x7f52, 0, 0) = -1 (errno 2) <0.000013>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 1,
          .name = "openat",
          .ns = 13000,
          .failed = true,
          .error = ENOENT}},
        {"1 openat(0x1) = -1 (errno 99999) <0.000013>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "openat", .ns = 13000, .failed = true}},
        {"1 openat(0x1) = -1 EUNHEARDOF (Never heard of) <0.000013>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "openat", .ns = 13000, .failed = true}},
        {"1 openat(0x1) = -1 <0.000013>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "openat", .ns = 13000}},
        {"1 futex(0x1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.000001>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 1,
          .name = "futex",
          .ns = 1000,
          .failed = true,
          .error = 512}},
        {"1 lseek(0x1, 0, 0) = 0xffffffffffffffff <0.000001>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "lseek", .ns = 1000}},
        {"1 exit_group(0) = ?", {.kind = STRACE_LINE_BEGUN, .thread = 1, .name = "exit_group"}},
        {"1 read(0,  <detached ...>", {.kind = STRACE_LINE_BEGUN, .thread = 1, .name = "read"}},
        {"1 read(0x3, 0x7ffd, 0x1) = ? <unavailable>",
         {.kind = STRACE_LINE_BEGUN, .thread = 1, .name = "read"}},
        {"1 execve(0x1, 0x2, 0x3 <pid changed to 7 ...>",
         {.kind = STRACE_LINE_BEGUN, .thread = 1, .name = "execve"}},
        {"1 restart_syscall(<... resuming interrupted read ...>) = 0 <0.100000>",
         {.kind = STRACE_LINE_RETURNED, .thread = 1, .name = "restart_syscall", .ns = 100000000}},
        {"9 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SYSVSEM, stack=0x7f} => {parent_tid=[10]}, 88) = 10 "
         "<0.000033>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 9,
          .name = "clone3",
          .makes_task = true,
          .makes_thread = true,
          .ns = 33000,
          .other = 10}},
        {"9 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD <unfinished ...>",
         {.kind = STRACE_LINE_BEGUN, .thread = 9, .name = "clone", .makes_task = true}},
        {"9 <... clone resumed>, child_tidptr=0x7f) = 11 <0.000415>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 9,
          .name = "clone",
          .makes_task = true,
          .makes_thread = false,
          .ns = 415000,
          .other = 11}},
        {"9 vfork() = 0x1f <0.000415>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 9,
          .name = "vfork",
          .makes_task = true,
          .makes_thread = false,
          .ns = 415000,
          .other = 31}},
        {"9 fork() = -1 EAGAIN (Resource temporarily unavailable) <0.000415>",
         {.kind = STRACE_LINE_RETURNED,
          .thread = 9,
          .name = "fork",
          .makes_task = true,
          .makes_thread = false,
          .ns = 415000,
          .failed = true,
          .error = EAGAIN}},
        {"5 +++ exited with 3 +++", {.kind = STRACE_LINE_EXITED, .thread = 5}},
        {"5 +++ killed by SIGSEGV (core dumped) +++", {.kind = STRACE_LINE_EXITED, .thread = 5}},
        {"5 +++ superseded by execve in pid 6 +++",
         {.kind = STRACE_LINE_SUPERSEDED, .thread = 5, .other = 6}},
        {"5 --- SIGCHLD {si_signo=SIGCHLD, si_pid=6, si_utime=0} ---",
         {.kind = STRACE_LINE_OTHER, .thread = 5}},
        {"5 --- stopped by SIGSTOP ---", {.kind = STRACE_LINE_OTHER, .thread = 5}},
        {"strace: Process 5 attached", {.kind = STRACE_LINE_OTHER}},
        {"[ Process PID=5 runs in 32 bit mode. ]", {.kind = STRACE_LINE_OTHER}},
        {"99999999999 getppid() = 1 <0.000001>", {.kind = STRACE_LINE_OTHER}},
        {"0 getppid() = 1 <0.000001>", {.kind = STRACE_LINE_OTHER}},
        {"", {.kind = STRACE_LINE_OTHER}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct strace_line *wanted = &cases[i].line;
        const struct strace_line line = parse(cases[i].text, strlen(cases[i].text));

        if (line.kind != wanted->kind || strcmp(line.name, wanted->name) != 0 || line.ns != wanted->ns ||
            line.failed != wanted->failed || line.error != wanted->error || line.other != wanted->other ||
            line.makes_task != wanted->makes_task || line.makes_thread != wanted->makes_thread ||
            line.thread != wanted->thread)
            fail_msg("%s: kind %d, thread %d, name '%s', ns %llu, failed %d, other %d", cases[i].text,
                     (int)line.kind, (int)line.thread, line.name, (unsigned long long)line.ns, line.failed,
                     (int)line.other);
    }
}

static void a_line_cut_off_anywhere_has_not_returned(void **state)
{
    (void)state;
    static const char text[] =
        "9 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} => {parent_tid=[10]}, 88) = 10 <0.000033>";

    for (size_t length = 0; length + 1 < sizeof(text); length++) {
        const struct strace_line line = parse(text, length);
        assert_int_not_equal(line.kind, STRACE_LINE_RETURNED);
    }
}

/* ---- by process ---- */

static struct strace_calls *calls;
static struct {
    char text[4096];
    size_t length;
    unsigned ids;
} seen;

static int begin(void **state)
{
    (void)state;
    calls = strace_calls_new("/nonexistent"); /* every thread has gone by the time it is looked for */
    return calls ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    strace_calls_free(calls);
    return 0;
}

static void visit(void *context, uint32_t id, pid_t process, const struct syscall_table *more)
{
    (void)context;
    assert_true(id > 0);
    seen.ids++;
    for (size_t i = 0; i < more->count; i++)
        seen.length += (size_t)snprintf(seen.text + seen.length, sizeof(seen.text) - seen.length,
                                        "%d %s %llu/%llu\n", (int)process, more->entries[i].name,
                                        (unsigned long long)more->entries[i].totals.count,
                                        (unsigned long long)more->entries[i].totals.errors);
    for (size_t i = 0; i < more->failure_count; i++)
        seen.length += (size_t)snprintf(seen.text + seen.length, sizeof(seen.text) - seen.length,
                                        "%d %s error %d: %llu\n", (int)process, more->failures[i].name,
                                        more->failures[i].error, (unsigned long long)more->failures[i].count);
    assert_true(seen.length < sizeof(seen.text));
}

/* What was counted since the last time: "PID NAME COUNT/ERRORS" each, "PID NAME error NUMBER: COUNT". */
static const char *counted(void)
{
    memset(&seen, 0, sizeof(seen));
    strace_calls_read(calls, visit, NULL);
    return seen.text;
}

static void write_lines(const char *text)
{
    strace_calls_add(calls, text, strlen(text));
}

static void calls_are_their_process_s_in_pieces_of_any_size(void **state)
{
    static const char text[] = "\n\n7 getppid() = 1 <0.000001>\n7 getppid( <unfinished ...>\n"
                               "8 read(0, 0, 0) = -1 EBADF (Bad file descriptor) <0.000001>\n"
                               "7 <... getppid resumed>) = 1 <0.000001>\n7 --- SIGCHLD {si_pid=8} ---\n"
                               "8 exit_group(0) = ?\n8 +++ exited with 0 +++\n7 getppid() = 1 <0.0";

    for (size_t piece = 1; piece < sizeof(text); piece++) {
        (void)begin(state);
        strace_calls_know(calls, 7, 7);
        strace_calls_know(calls, 8, 8);
        for (size_t at = 0; at + 1 < sizeof(text); at += piece)
            strace_calls_add(calls, text + at, sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece);
        assert_string_equal(counted(), "7 getppid 2/0\n8 read 1/1\n8 read error 9: 1\n");
        write_lines("00001>\n");
        assert_string_equal(counted(), "7 getppid 1/0\n");
        assert_string_equal(counted(), "");
        strace_calls_free(calls);
    }
    calls = NULL;
}

static void threads_that_ran_before_are_known_from_the_start(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    strace_calls_know(calls, 9, 7);
    strace_calls_know(calls, 8, 7);
    write_lines("9 getppid() = 1 <0.000001>\n9 exit(0) = ?\n9 +++ exited with 0 +++\n"
                "8 getppid() = 1 <0.000001>\n7 getppid() = 1 <0.000001>\n");
    assert_string_equal(counted(), "7 getppid 3/0\n");
}

static void a_new_thread_is_its_maker_s(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    write_lines("7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} => {parent_tid=[8]}, 88) = 8 <0.000033>\n"
                "8 getppid() = 1 <0.000001>\n"
                "8 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} <unfinished ...>\n"
                "7 getppid() = 1 <0.000001>\n"
                "8 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9 <0.000033>\n"
                "9 getppid() = 1 <0.000001>\n");
    assert_string_equal(counted(), "7 clone3 2/0\n7 getppid 3/0\n");
}

/* And may have ended by then. */
static void a_thread_that_is_faster_than_its_maker_s_clone_is_found_in_the_end(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    write_lines("7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} <unfinished ...>\n"
                "8 getppid() = 1 <0.000001>\n8 exit(0) = ?\n8 +++ exited with 0 +++\n");
    assert_string_equal(counted(), "");
    write_lines("7 <... clone3 resumed> => {parent_tid=[8]}, 88) = 8 <0.000033>\n");
    assert_string_equal(counted(), "7 clone3 1/0\n7 getppid 1/0\n");
}

static void a_child_is_a_process(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    write_lines("7 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n8 getppid() = 7 <0.000001>\n"
                "7 <... clone resumed>) = 8 <0.000415>\n8 getppid() = 7 <0.000001>\n");
    assert_string_equal(counted(), "7 clone 1/0\n8 getppid 2/0\n");
}

static void a_child_that_has_gone_when_its_line_is_read_is_one_at_once(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    write_lines("7 clone(child_stack=NULL, flags=SIGCHLD) = 8 <0.000415>\n"
                "7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} <unfinished ...>\n"
                "8 getppid() = 7 <0.000001>\n8 +++ exited with 0 +++\n");
    assert_string_equal(counted(), "7 clone 1/0\n8 getppid 1/0\n");
    write_lines("7 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9 <0.000033>\n"
                "10 getppid() = 7 <0.000001>\n10 +++ exited with 0 +++\n"); /* of another pid namespace */
    assert_string_equal(counted(), "7 clone3 1/0\n10 getppid 1/0\n");
}

/* In another pid namespace clone gives another number. */
static void one_whose_clone_is_never_reported_becomes_a_process(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    write_lines("7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f} <unfinished ...>\n");
    write_lines("8 getppid() = 7 <0.000001>\n8 +++ exited with 0 +++\n");
    assert_string_equal(counted(), "");
    assert_string_equal(counted(), "");
    assert_string_equal(counted(), "8 getppid 1/0\n");
    write_lines("9 getppid() = 7 <0.000001>\n");
    strace_calls_close(calls);
    assert_string_equal(counted(), "9 getppid 1/0\n"); /* nothing more will come */
}

static void a_pid_in_use_again_is_another_process(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    const uint32_t first = strace_calls_id(calls, 7, 0);
    assert_true(strace_calls_follows(calls, first));
    write_lines("7 getppid() = 1 <0.000001>\n7 +++ exited with 0 +++\n");
    assert_int_equal(strace_calls_id(calls, 7, 0), first);
    assert_int_equal(strace_calls_id(calls, 7, first), 0);
    assert_false(strace_calls_follows(calls, first));
    strace_calls_know(calls, 7, 7);
    write_lines("7 getppid() = 1 <0.000001>\n7 getppid() = 1 <0.000001>\n");
    const uint32_t second = strace_calls_id(calls, 7, first);
    assert_true(second > first && strace_calls_follows(calls, second));
    assert_int_equal(strace_calls_id(calls, 7, 0), first);
    (void)counted();
    assert_int_equal(seen.ids, 2);
    assert_int_equal(strace_calls_id(calls, 7, 0), second);
}

static void a_thread_that_executes_a_program_takes_over_the_process(void **state)
{
    (void)state;
    strace_calls_know(calls, 7, 7);
    strace_calls_know(calls, 8, 7);
    strace_calls_know(calls, 9, 7);
    write_lines("8 execve(0x1, 0x2, 0x3 <pid changed to 7 ...>\n7 +++ superseded by execve in pid 8 +++\n"
                "9 +++ exited with 0 +++\n"
                "7 <... execve resumed>) = 0 <0.000001>\n7 getppid() = 1 <0.000001>\n");
    assert_string_equal(counted(), "7 execve 1/0\n7 getppid 1/0\n");
    strace_calls_know(calls, 8, 8); /* that number is free again */
    write_lines("8 getppid() = 1 <0.000001>\n");
    assert_string_equal(counted(), "8 getppid 1/0\n");
}

static void what_comes_before_the_program_is_not_counted(void **state)
{
    (void)state;
    strace_calls_from_exec(calls, 7);
    write_lines("7 read(0x4, 0x7f, 0x1) = 0 <0.000001>\n7 getpid() = 7 <0.000001>\n");
    write_lines("7 execve(0x4, 0x7f, 0x1) = 0 <0.000001>\n7 read(0x4, 0x7f, 0x1) = 0 <0.000001>\n");
    assert_string_equal(counted(), "7 execve 1/0\n7 read 1/0\n");
}

static void what_is_no_line_of_strace_counts_for_nothing(void **state)
{
    (void)state;
    static char long_line[100000];

    memset(long_line, 'x', sizeof(long_line));
    memcpy(long_line, "7 getppid(", 10);
    strace_calls_know(calls, 7, 7);
    strace_calls_add(calls, long_line, sizeof(long_line));
    write_lines(") = 1 <0.000001>\n7 getpid() = 7 <0.000001>\n");
    assert_string_equal(counted(), "7 getpid 1/0\n");
    assert_int_equal(strace_calls_lost(calls), 0);
}

/* ---- a full trace ---- */

static uint64_t count_in_pieces(const char *text, size_t piece)
{
    struct strace_counter counter = {0};
    size_t length = strlen(text);

    for (size_t at = 0; at < length; at += piece)
        strace_counter_add(&counter, text + at, length - at < piece ? length - at : piece);
    return counter.calls;
}

static void calls_of_a_full_trace_are_counted_once(void **state)
{
    (void)state;
    static const char text[] =
        "7627  14:50:06.798624 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0}, 0x7ffd) = 0 <0.010177>\n"
        "7626  14:50:06.800000 read(0,  <unfinished ...>\n"
        "7627  14:50:06.809215 exit_group(0)     = ?\n"
        "7627  14:50:06.809550 +++ exited with 0 +++\n"
        "7626  14:50:06.809576 <... read resumed>\"a line\\nwrite(1)\", 100) = 7 <0.025811>\n"
        "7626  14:50:06.809595 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7627} ---\n"
        "7626  14:50:06.809700 _llseek(3, 0, NULL, SEEK_SET";

    for (size_t piece = 1; piece <= sizeof(text); piece++)
        assert_int_equal(count_in_pieces(text, piece), 4);
}

/* ---- what it says while it attaches ---- */

static void say(struct strace_messages *messages, const char *text)
{
    strace_messages_add(messages, text, strlen(text));
}

static void answers_are_taken_for_the_processes_asked_for(void **state)
{
    (void)state;
    const pid_t pids[] = {12, 13, 14};
    struct strace_messages messages = {0};

    assert_int_equal(strace_messages_init(&messages, pids, 3), 0);
    say(&messages, "strace: Process 99 attached\nstrace: Process 12 atta");
    assert_int_equal(messages.waiting, 3);
    assert_false(messages.attached);
    say(&messages, "ched with 3 threads\n");
    assert_true(messages.attached && !messages.refused);
    assert_int_equal(messages.waiting, 2);
    say(&messages, "Process 13 attached\nProcess 13 attached\n"); /* as older ones say it */
    assert_int_equal(messages.waiting, 1);
    say(&messages, "strace: attach: ptrace(PTRACE_SEIZE, 14): No such process\n");
    assert_int_equal(messages.waiting, 0);
    assert_true(messages.attached && !messages.refused);
    strace_messages_fini(&messages);
}

static void a_refusal_is_told_with_its_kind(void **state)
{
    (void)state;
    const pid_t pids[] = {12};
    struct strace_messages messages = {0};

    assert_int_equal(strace_messages_init(&messages, pids, 1), 0);
    say(&messages, "strace: attach: ptrace(PTRACE_SEIZE, 12): Operation not permitted\n");
    assert_true(messages.refused && !messages.attached);
    assert_int_equal(messages.refusal, STRACE_NOT_PERMITTED);
    assert_string_equal(messages.last, "attach: ptrace(PTRACE_SEIZE, 12): Operation not permitted");
    assert_int_equal(strace_messages_init(&messages, pids, 1), 0);
    say(&messages, "strace: attach: ptrace(PTRACE_ATTACH, 12): No such process\n");
    assert_int_equal(messages.refusal, STRACE_NO_PROCESS);
    strace_messages_fini(&messages);
}

#define OF_PROCESSES(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_taken_apart),
        cmocka_unit_test(a_line_cut_off_anywhere_has_not_returned),
        cmocka_unit_test(calls_are_their_process_s_in_pieces_of_any_size),
        OF_PROCESSES(threads_that_ran_before_are_known_from_the_start),
        OF_PROCESSES(a_new_thread_is_its_maker_s),
        OF_PROCESSES(a_thread_that_is_faster_than_its_maker_s_clone_is_found_in_the_end),
        OF_PROCESSES(a_child_is_a_process),
        OF_PROCESSES(a_child_that_has_gone_when_its_line_is_read_is_one_at_once),
        OF_PROCESSES(one_whose_clone_is_never_reported_becomes_a_process),
        OF_PROCESSES(a_pid_in_use_again_is_another_process),
        OF_PROCESSES(a_thread_that_executes_a_program_takes_over_the_process),
        OF_PROCESSES(what_comes_before_the_program_is_not_counted),
        OF_PROCESSES(what_is_no_line_of_strace_counts_for_nothing),
        cmocka_unit_test(calls_of_a_full_trace_are_counted_once),
        cmocka_unit_test(answers_are_taken_for_the_processes_asked_for),
        cmocka_unit_test(a_refusal_is_told_with_its_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
