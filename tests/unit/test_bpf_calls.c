/*
 * System calls counted in the kernel: children that execute this very program make a known number of them.
 */
#include "probe/bpf/programs.h"

#include <pthread.h>

#include "bpf_fixture.h"

enum { CALLS = 1000, FAILURES = 77, FORKS = 5, THREADS = 3, THREAD_CALLS = 100, SLEEP_MS = 20 };
enum { COMPAT_CALLS = 30, COMPAT_GETPPID = 64, COMPAT_BIT = 0x10000 };
enum { TABLE_SIZE = 131072, DIFFERENT = TABLE_SIZE + 5000, FIRST_UNKNOWN = 0x20000 };

static void *call_in_thread(void *context)
{
    for (int i = 0; i < THREAD_CALLS; i++)
        (void)syscall(SYS_getppid);
    return context;
}

/* What the program does when it is executed for it. */
static int make_calls(const char *what)
{
    if (strcmp(what, "plain") == 0) {
        for (int i = 0; i < CALLS; i++)
            (void)syscall(SYS_getppid);
        for (int i = 0; i < FAILURES; i++)
            (void)close(-1);
        (void)usleep(SLEEP_MS * 1000);
    } else if (strcmp(what, "forks") == 0) {
        for (int i = 0; i < FORKS; i++) {
            pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

            if (child == 0) {
                for (int k = 0; k < i; k++)
                    (void)syscall(SYS_getppid);
                syscall(SYS_exit_group, 0);
            }
            (void)waitpid(child, NULL, 0);
        }
    } else if (strcmp(what, "many") == 0) {
        for (long number = 0; number < DIFFERENT; number++)
            (void)syscall(FIRST_UNKNOWN + number);
#ifdef __x86_64__
    } else if (strcmp(what, "compat") == 0) {
        for (int i = 0; i < COMPAT_CALLS; i++) {
            long result;
            __asm__ volatile("int $0x80" : "=a"(result) : "a"(COMPAT_GETPPID) : "memory");
        }
#endif
    } else if (strcmp(what, "threads") == 0) {
        pthread_t threads[THREADS];

        for (int i = 0; i < THREADS; i++)
            (void)pthread_create(&threads[i], NULL, call_in_thread, NULL);
        for (int i = 0; i < THREADS; i++)
            (void)pthread_join(threads[i], NULL);
    }
    return 0;
}

static const char *wanted;

static void execute_own_program(void)
{
    for (int i = 0; i < 50; i++)
        (void)syscall(SYS_getsid, 0); /* before the first program: metron's own preparations */
    (void)execl("/proc/self/exe", "test_bpf_calls", wanted, (char *)NULL);
    _exit(127);
}

static pid_t run(const char *what)
{
    wanted = what;
    const pid_t child = child_start(execute_own_program);

    assert_int_equal(child_end(child).status, 0);
    (void)event_of(child, LIFECYCLE_EXIT);
    return child;
}

struct sums {
    uint64_t count, errors, ns;
    int error; /* of the last entry */
};

struct question {
    struct wire_call_key key;
    struct sums sum;
    size_t entries; /* of this process, whichever call */
};

static void look(void *context, const struct wire_call_key *key, const struct wire_call *call)
{
    struct question *question = context;

    if (key->id != question->key.id)
        return;
    question->entries++;
    if (key->number != question->key.number)
        return;
    question->sum.count += call->count;
    question->sum.errors += key->error ? call->count : 0;
    question->sum.error = key->error ? (int)key->error : question->sum.error;
    question->sum.ns += call->ns;
}

static struct question ask(pid_t pid, long number)
{
    struct question question = {
        .key = {.id = (uint32_t)event_of(pid, LIFECYCLE_FORK)->event.id, .number = (uint32_t)number}};

    assert_int_equal(bpf_programs_read_calls(fixture.programs, look, &question), 0);
    return question;
}

static struct sums calls_of(pid_t pid, long number)
{
    return ask(pid, number).sum;
}

static void known_calls_are_counted_exactly(void **state)
{
    (void)state;
    needs_programs();
    const uint64_t begin_ns = clock_monotonic_ns();
    const pid_t child = run("plain");
    const uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
    const struct sums plain = calls_of(child, SYS_getppid);

    assert_int_equal(plain.count, CALLS);
    assert_int_equal(plain.errors, 0);
    assert_true(plain.ns > 0 && plain.ns < taken_ns);
    assert_int_equal(calls_of(child, SYS_close).errors, FAILURES);
    assert_int_equal(calls_of(child, SYS_close).error, EBADF);
    assert_int_equal(calls_of(child, SYS_execve).count, 1);
    assert_int_equal(calls_of(child, SYS_execve).errors, 0);
}

static void time_of_a_call_is_from_its_begin_to_its_return(void **state)
{
    (void)state;
    needs_programs();
    const uint64_t begin_ns = clock_monotonic_ns();
    const pid_t child = run("plain");
    const uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
    const struct sums sleep = calls_of(child, SYS_clock_nanosleep);

    assert_int_equal(sleep.count, 1);
    assert_true(sleep.ns >= SLEEP_MS * UINT64_C(1000000) && sleep.ns < taken_ns);
}

static void calls_before_the_first_program_do_not_count(void **state)
{
    (void)state;
    needs_programs();
    assert_int_equal(calls_of(run("plain"), SYS_getsid).count, 0);
}

/* Their clone returns twice, once in the child. What never returns is not counted. */
static void forked_children_count_for_themselves(void **state)
{
    (void)state;
    needs_programs();
    const pid_t parent = run("forks");
    size_t children = 0;

    assert_int_equal(calls_of(parent, SYS_clone).count, FORKS);
    assert_int_equal(calls_of(parent, SYS_getppid).count, 0);
    for (size_t i = 0; i < fixture.event_count; i++) {
        const struct lifecycle_event event = fixture.events[i].event;

        if (event.what != LIFECYCLE_FORK || event.fork.parent != parent)
            continue;
        assert_int_equal(calls_of(event.pid, SYS_clone).count, 0);
        assert_int_equal(calls_of(event.pid, SYS_getppid).count, children);
        assert_int_equal(calls_of(event.pid, SYS_exit_group).count, 0);
        children++;
    }
    assert_int_equal(children, FORKS);
}

static void threads_count_for_their_process(void **state)
{
    (void)state;
    needs_programs();
    assert_int_equal(calls_of(run("threads"), SYS_getppid).count, THREADS * THREAD_CALLS);
}

static void call_until_killed(void)
{
    while (*(volatile char *)fixture.shared == 0)
        (void)usleep(500);
    for (int i = 0; i < CALLS; i++)
        (void)syscall(SYS_getppid);
    syscall(SYS_getsid, 0);
    *(volatile char *)fixture.shared = 2;
    for (;;)
        (void)pause();
}

static void process_followed_late_counts_from_then_on(void **state)
{
    (void)state;
    needs_programs();
    const struct bpf_start_options options = {.calls = true, .loader_path = METRON_BPF_LOADER};
    struct bpf_programs *programs = NULL, *others = fixture.programs;
    const pid_t child = child_start(call_until_killed);
    struct bpf_start start;
    struct question question = {.key = {.id = 1, .number = SYS_getppid}};

    assert_int_equal(bpf_start(&start, &options, NULL), 0);
    assert_int_equal(bpf_start_finish(&start, true, &programs, NULL), 0);
    (void)waitpid(start.pid, NULL, 0);
    fixture.programs = programs;
    assert_int_equal(bpf_programs_follow(programs, &child, 1, NULL), 0);
    *(volatile char *)fixture.shared = 1;
    while (*(volatile char *)fixture.shared != 2)
        (void)usleep(500);
    int code = bpf_programs_read_calls(programs, look, &question);
    fixture.programs = others;
    bpf_programs_free(programs);
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)child_end(child);
    assert_int_equal(code, 0);
    assert_int_equal(question.sum.count, CALLS);
}

static void forgotten_entry_is_gone_and_the_others_stay(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = run("plain");
    const struct question before = ask(child, SYS_getppid);

    assert_true(before.entries > 3);
    bpf_programs_forget_call(fixture.programs, &before.key);
    assert_int_equal(calls_of(child, SYS_getppid).count, 0);
    assert_int_equal(ask(child, SYS_close).entries, before.entries - 1);
}

/* More entries than one reading of the table takes. */
static void large_table_is_read_whole(void **state)
{
    (void)state;
    needs_programs();
    enum { CHILDREN = 60 };
    pid_t children[CHILDREN];

    for (int i = 0; i < CHILDREN; i++)
        children[i] = run("forks");
    for (int i = 0; i < CHILDREN; i++)
        assert_int_equal(calls_of(children[i], SYS_clone).count, FORKS);
    assert_int_equal(bpf_programs_calls_lost(fixture.programs), 0);
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(true);
}

static void calls_of_32_bit_have_numbers_of_their_own(void **state)
{
    (void)state;
    needs_programs();
#ifdef __x86_64__
    const pid_t child = run("compat");

    assert_int_equal(calls_of(child, COMPAT_BIT | COMPAT_GETPPID).count, COMPAT_CALLS);
    assert_int_equal(calls_of(child, COMPAT_GETPPID).count, 0);
#else
    print_message("skip calls_of_32_bit_have_numbers_of_their_own: only x86 is told apart\n");
    skip();
#endif
}

/* The last: it fills the table. */
static void calls_that_do_not_fit_are_counted(void **state)
{
    (void)state;
    needs_programs();
    assert_int_equal(bpf_programs_calls_lost(fixture.programs), 0);
    const struct question question = ask(run("many"), FIRST_UNKNOWN);
    const uint64_t lost = bpf_programs_calls_lost(fixture.programs);

    assert_true(lost >= DIFFERENT - TABLE_SIZE);
    assert_true(question.entries > 0 && question.entries <= TABLE_SIZE);
    /* Each was made once: it has an entry or is counted as lost; so are the program's own. */
    assert_true(question.entries + lost >= DIFFERENT && question.entries + lost < DIFFERENT + 1000);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        _exit(make_calls(argv[1])); /* a sanitizer makes calls of its own at the end of main */

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(known_calls_are_counted_exactly, test_setup),
        cmocka_unit_test_setup(time_of_a_call_is_from_its_begin_to_its_return, test_setup),
        cmocka_unit_test_setup(calls_before_the_first_program_do_not_count, test_setup),
        cmocka_unit_test_setup(forked_children_count_for_themselves, test_setup),
        cmocka_unit_test_setup(threads_count_for_their_process, test_setup),
        cmocka_unit_test_setup(process_followed_late_counts_from_then_on, test_setup),
        cmocka_unit_test_setup(forgotten_entry_is_gone_and_the_others_stay, test_setup),
        cmocka_unit_test_setup(large_table_is_read_whole, test_setup),
        cmocka_unit_test_setup(calls_of_32_bit_have_numbers_of_their_own, test_setup),
        cmocka_unit_test_setup(calls_that_do_not_fit_are_counted, test_setup),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
