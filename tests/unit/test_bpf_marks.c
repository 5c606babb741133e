/*
 * System calls of marked processes alone: a child that is followed makes calls on request, marked and not.
 */
#include "probe/bpf/programs.h"

#include "bpf_fixture.h"

enum { CALLS = 500, CHILD_CALLS = 30 };

/* Answers each letter: c: calls, f: a child that makes some; e: executes this program, which goes on with it.
 */
static int serve(int gate, int answer)
{
    char letter, gate_text[16], answer_text[16];

    while (read(gate, &letter, 1) == 1) {
        for (int i = 0; letter == 'c' && i < CALLS; i++)
            (void)syscall(SYS_getppid);
        pid_t child = letter == 'f' ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : -1;
        if (child == 0) {
            for (int i = 0; i < CHILD_CALLS; i++)
                (void)syscall(SYS_getppid);
            syscall(SYS_exit_group, 0);
        }
        if (child > 0)
            (void)waitpid(child, NULL, 0);
        if (write(answer, &child, sizeof(child)) < 0)
            return 1;
        if (letter == 'e') {
            (void)snprintf(gate_text, sizeof(gate_text), "%d", gate);
            (void)snprintf(answer_text, sizeof(answer_text), "%d", answer);
            (void)execl("/proc/self/exe", "test_bpf_marks", gate_text, answer_text, (char *)NULL);
            return 127;
        }
    }
    return 0;
}

static struct {
    struct bpf_programs *programs; /* these count the calls of marked ones */
    pid_t pid;
    uint64_t id;
    int gate[2], answer[2];
} server;

static int server_setup(void **state)
{
    const struct bpf_start_options options = {.marked_calls = true, .loader_path = METRON_BPF_LOADER};
    struct bpf_start start;

    (void)state;
    if (!fixture.programs)
        return 0;
    if (pipe(server.gate) != 0 || pipe(server.answer) != 0)
        return -1;
    server.pid = fork();
    if (server.pid == 0) {
        die_with_parent();
        (void)close(server.gate[1]);
        _exit(serve(server.gate[0], server.answer[1]));
    }
    if (bpf_start(&start, &options, NULL) < 0 || bpf_start_finish(&start, true, &server.programs, NULL) < 0)
        return -1;
    (void)waitpid(start.pid, NULL, 0);
    return bpf_programs_follow(server.programs, &server.pid, 1, &server.id);
}

static int server_teardown(void **state)
{
    (void)state;
    if (!fixture.programs)
        return 0;
    (void)close(server.gate[1]);
    (void)waitpid(server.pid, NULL, 0);
    (void)close(server.gate[0]);
    (void)close(server.answer[0]);
    (void)close(server.answer[1]);
    bpf_programs_free(server.programs);
    return 0;
}

/* The child that it made, or -1. */
static pid_t ask(char letter)
{
    pid_t child = 0;

    assert_int_equal(write(server.gate[1], &letter, 1), 1);
    assert_int_equal(read(server.answer[0], &child, sizeof(child)), sizeof(child));
    return child;
}

struct sums {
    uint64_t own, others; /* getppid of the server, and of whoever else was counted */
    size_t entries;
};

static void add(void *context, const struct wire_call_key *key, const struct wire_call *call)
{
    struct sums *sums = context;

    sums->entries++;
    if (key->number != SYS_getppid)
        return;
    if (key->id == (uint32_t)server.id)
        sums->own += call->count;
    else
        sums->others += call->count;
}

static struct sums sums_now(void)
{
    struct sums sums = {0};

    assert_int_equal(bpf_programs_read_calls(server.programs, add, &sums), 0);
    return sums;
}

static void mark(bool marked)
{
    assert_int_equal(bpf_programs_mark(server.programs, &server.pid, 1, marked), 0);
}

static void who_is_followed_and_not_marked_is_not_counted(void **state)
{
    (void)state;
    needs_programs();
    ask('c');
    ask('f');
    assert_int_equal(sums_now().entries, 0);
}

static void who_is_marked_is_counted_exactly_and_so_are_its_children(void **state)
{
    (void)state;
    needs_programs();
    mark(true);
    ask('c');
    ask('f');
    ask('f');
    assert_int_equal(sums_now().own, CALLS);
    assert_int_equal(sums_now().others, 2 * CHILD_CALLS);
}

static void who_is_unmarked_is_counted_no_more(void **state)
{
    (void)state;
    needs_programs();
    mark(true);
    ask('c');
    mark(false);
    ask('c');
    ask('f');
    assert_int_equal(sums_now().own, CALLS);
    assert_int_equal(sums_now().others, 0);
    mark(true);
    ask('c');
    assert_int_equal(sums_now().own, 2 * CALLS);
}

static void a_mark_outlasts_exec_and_exec_marks_nobody(void **state)
{
    (void)state;
    needs_programs();
    ask('e');
    ask('c');
    assert_int_equal(sums_now().entries, 0);
    mark(true);
    ask('e');
    ask('c');
    assert_int_equal(sums_now().own, CALLS);
}

static void marking_one_that_is_gone_is_nothing(void **state)
{
    (void)state;
    needs_programs();
    const pid_t gone = ask('f');

    assert_int_equal(bpf_programs_mark(server.programs, &gone, 1, true), 0);
    assert_int_equal(sums_now().entries, 0);
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(false);
}

#define MARKS(test) cmocka_unit_test_setup_teardown(test, server_setup, server_teardown)

int main(int argc, char **argv)
{
    if (argc > 2)
        _exit(serve((int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10)));

    const struct CMUnitTest tests[] = {
        MARKS(who_is_followed_and_not_marked_is_not_counted),
        MARKS(who_is_marked_is_counted_exactly_and_so_are_its_children),
        MARKS(who_is_unmarked_is_counted_no_more),
        MARKS(a_mark_outlasts_exec_and_exec_marks_nobody),
        MARKS(marking_one_that_is_gone_is_nothing),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
