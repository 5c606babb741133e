/* What strace prints: tables of several versions, recorded, and lines of a full trace. */
#include "probe/strace/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "probe/strace/messages.h"

/* strace 6.1, of `true` */
static const char table_6_1[] = "% time     seconds  usecs/call     calls    errors syscall\n"
                                "------ ----------- ----------- --------- --------- ----------------\n"
                                " 29.23    0.000164          20         8           mmap\n"
                                " 12.83    0.000072          24         3           mprotect\n"
                                "  4.28    0.000024          24         1         1 access\n"
                                "  0.00    0.000000           0         1           execve\n"
                                "------ ----------- ----------- --------- --------- ----------------\n"
                                "100.00    0.000260          20        13         1 total\n";

/* strace 4.24: the last line has no usecs/call */
static const char table_4_24[] = "strace: Process 12 attached\n"
                                 "% time     seconds  usecs/call     calls    errors syscall\n"
                                 "------ ----------- ----------- --------- --------- ----------------\n"
                                 "  -nan    0.000000           0         7           read\n"
                                 "  -nan    0.000000           0        51        12 open\n"
                                 "------ ----------- ----------- --------- --------- ----------------\n"
                                 "100.00    0.000000                    58        12 total\n";

static const char table_without_errors[] = "% time     seconds  usecs/call     calls syscall\n"
                                           "------ ----------- ----------- --------- ----------------\n"
                                           "100.00   12.500000          62    200000 getppid\n"
                                           "------ ----------- ----------- --------- ----------------\n"
                                           "100.00   12.500000          62    200000 total\n";

static const char table_empty[] = "% time     seconds  usecs/call     calls    errors syscall\n"
                                  "------ ----------- ----------- --------- --------- ----------------\n"
                                  "------ ----------- ----------- --------- --------- ----------------\n"
                                  "100.00    0.000000                     0           total\n";

enum { SEEN_MAX = 16 };
static struct {
    struct strace_call calls[SEEN_MAX];
    int count;
} seen;

static void visit(void *context, const struct strace_call *call)
{
    (void)context;
    assert_true(seen.count < SEEN_MAX);
    seen.calls[seen.count++] = *call;
}

/* From a buffer of exactly its size: a byte too many is seen by the sanitizers. */
static int parse(const char *text, size_t length)
{
    char *exact = malloc(length ? length : 1);

    assert_non_null(exact);
    memcpy(exact, text, length);
    seen.count = 0;
    int code = strace_table_parse(exact, length, visit, NULL);
    free(exact);
    return code;
}

static void check_call(int index, const char *name, uint64_t count, uint64_t errors, double seconds)
{
    const struct strace_call *call = &seen.calls[index];

    assert_string_equal(call->name, name);
    assert_int_equal(call->count, count);
    assert_int_equal(call->errors, errors);
    assert_true(call->seconds > seconds - 1e-9 && call->seconds < seconds + 1e-9);
}

static void a_table_is_taken_apart(void **state)
{
    (void)state;
    assert_int_equal(parse(table_6_1, strlen(table_6_1)), 4);
    assert_int_equal(seen.count, 4);
    check_call(0, "mmap", 8, 0, 0.000164);
    check_call(1, "mprotect", 3, 0, 0.000072);
    check_call(2, "access", 1, 1, 0.000024);
    check_call(3, "execve", 1, 0, 0);
}

static void older_tables_and_messages_before_them_are_understood(void **state)
{
    (void)state;
    assert_int_equal(parse(table_4_24, strlen(table_4_24)), 2);
    check_call(0, "read", 7, 0, 0);
    check_call(1, "open", 51, 12, 0);
}

static void the_errors_column_may_be_missing(void **state)
{
    (void)state;
    assert_int_equal(parse(table_without_errors, strlen(table_without_errors)), 1);
    check_call(0, "getppid", 200000, 0, 12.5);
}

static void no_calls_are_no_failure(void **state)
{
    (void)state;
    assert_int_equal(parse("", 0), 0);
    assert_int_equal(parse(table_empty, strlen(table_empty)), 0);
    assert_int_equal(parse("strace: Process 12 attached\n", 28), 0);
}

static void several_tables_are_all_visited(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;

    strbuf_adds(&text, table_6_1);
    strbuf_adds(&text, "System call usage summary for 32 bit mode:\n");
    strbuf_adds(&text, table_without_errors);
    assert_int_equal(parse(text.data, text.length), 5);
    check_call(0, "mmap", 8, 0, 0.000164);
    check_call(4, "getppid", 200000, 0, 12.5);
    strbuf_fini(&text);
}

static void a_table_cut_off_anywhere_is_refused_as_a_whole(void **state)
{
    (void)state;
    size_t whole = strlen(table_6_1);

    for (size_t cut = 1; cut < whole; cut++) {
        assert_int_equal(parse(table_6_1, cut), -EBADMSG);
        assert_int_equal(seen.count, 0);
    }
}

static void lines_of_another_shape_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "  0.00    0.000000           0         1",
        "  0.00    0,000000           0         1           read",
        "  0.00    0.000000           0        -1           read",
        "  0.00    0.000000           0         1         2 read", /* more errors than calls */
        "  0.00    0.000000           0         1         0 re ad",
        "  0.00    0.000000           0         2           read", /* not what the last line says */
        "0.00 0.000000 0 1 a_name_longer_than_that_of_any_system_call_that_there_is_or_will_be",
        "",
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text,
                    "%% time     seconds  usecs/call     calls    errors syscall\n"
                    "------ ----------- ----------- --------- --------- ----------------\n%s\n"
                    "------ ----------- ----------- --------- --------- ----------------\n"
                    "100.00    0.000000           0         1           total\n",
                    rows[i]);
        assert_int_equal(parse(text.data, text.length), -EBADMSG);
        strbuf_fini(&text);
    }
}

static void the_real_strace_prints_such_a_table(void **state)
{
    (void)state;
    char text[16384];
    FILE *pipe = popen("strace -c -o /dev/stdout sh -c 'exit 3' 2>/dev/null", "re");

    assert_non_null(pipe);
    size_t length = fread(text, 1, sizeof(text), pipe);
    (void)pclose(pipe);
    if (length == 0) {
        print_message("no strace here, or it may not trace\n");
        skip();
    }
    seen.count = 0;
    assert_true(strace_table_parse(text, length, NULL, NULL) > 5);
    assert_int_equal(seen.count, 0);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_taken_apart),
        cmocka_unit_test(older_tables_and_messages_before_them_are_understood),
        cmocka_unit_test(the_errors_column_may_be_missing),
        cmocka_unit_test(no_calls_are_no_failure),
        cmocka_unit_test(several_tables_are_all_visited),
        cmocka_unit_test(a_table_cut_off_anywhere_is_refused_as_a_whole),
        cmocka_unit_test(lines_of_another_shape_are_refused),
        cmocka_unit_test(the_real_strace_prints_such_a_table),
        cmocka_unit_test(calls_of_a_full_trace_are_counted_once),
        cmocka_unit_test(answers_are_taken_for_the_processes_asked_for),
        cmocka_unit_test(a_refusal_is_told_with_its_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
