/*
 * Straces of sheets: what they keep waiting, what they count, and for whom.
 *
 * sheet_straces.c is compiled into the test, which so can hold those that are about to attach.
 */
#include "probe/strace/target.h"

static int target_check(const char *proc_root, pid_t pid, struct metron_error *error);
#define strace_target_check target_check
#include "daemon/calls/sheet_straces.c" /* NOLINT(bugprone-suspicious-include) */
#undef strace_target_check

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "probe/strace/program.h"

enum { POOL = 4, PATIENCE_MS = 60000 };

static struct {
    uv_loop_t loop;
    uv_timer_t life; /* a loop without anything to wait for looks at nothing */
    struct tree *tree;
    struct kernel_facts facts;
    struct call_books *books;
    struct sheet_straces *straces;
    pid_t child;
    uint64_t *calls; /* of the child, so far; shared with it */
    unsigned counted;
    bool answered;
    char warning[512];
    bool is_held; /* atomic: nobody attaches, and all who would wait */
} test;

static int target_check(const char *proc_root, pid_t pid, struct metron_error *error)
{
    bool was_held = false;

    while (__atomic_load_n(&test.is_held, __ATOMIC_ACQUIRE)) {
        was_held = true;
        (void)usleep(1000);
    }
    return was_held ? error_set(error, -ESRCH, "too late") : strace_target_check(proc_root, pid, error);
}

static void on_counted(void *owner, struct call_book_key key)
{
    (void)owner;
    (void)key;
    test.counted++;
}

/* Calls getppid for as long as it lives. */
static pid_t start_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
    while (pid == 0) {
        (void)syscall(SYS_getppid);
        __atomic_add_fetch(test.calls, 1, __ATOMIC_RELEASE);
        (void)usleep(1000);
    }
    return pid;
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
}

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    test.calls = mmap(NULL, sizeof(*test.calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (test.calls == MAP_FAILED)
        return -1;
    test.child = start_child();
    test.books = call_books_new();
    if (kernel_facts_read("/proc", &test.facts) < 0)
        return -1;
    const struct tree_options tree = {
        .proc_root = "/proc", .facts = &test.facts, .start_ns = clock_monotonic_ns()};
    test.tree = tree_new(&tree, NULL);
    if (!test.tree || !test.books || uv_loop_init(&test.loop) < 0 ||
        uv_timer_init(&test.loop, &test.life) < 0 ||
        uv_timer_start(&test.life, on_timer, PATIENCE_MS, PATIENCE_MS) < 0)
        return -1;
    const struct sheet_straces_options options = {
        .loop = &test.loop, .tree = test.tree, .books = test.books, .on_counted = on_counted};
    test.straces = sheet_straces_new(&options);
    return test.straces ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    (void)kill(test.child, SIGKILL);
    (void)waitpid(test.child, NULL, 0);
    sheet_straces_free(test.straces);
    uv_close((uv_handle_t *)&test.life, NULL);
    (void)uv_run(&test.loop, UV_RUN_DEFAULT);
    call_books_free(test.books);
    tree_free(test.tree);
    (void)munmap(test.calls, sizeof(*test.calls));
    return uv_loop_close(&test.loop);
}

/* Skips where nobody may trace, or there is nothing to trace with. */
static void needs_strace(void)
{
    struct metron_error error = {.message = "no process may be traced here"};

    if (strace_available(&error) < 0 || ptrace(PTRACE_SEIZE, test.child, NULL, NULL) != 0) {
        print_message("skip: %s\n", error.message);
        skip();
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, test.child, NULL, NULL), 0);
    assert_int_equal(waitpid(test.child, NULL, 0), test.child);
    assert_int_equal(ptrace(PTRACE_DETACH, test.child, NULL, NULL), 0);
}

static struct call_book_key sheet_of(uint64_t job, int64_t sheet_num)
{
    return (struct call_book_key){job, true, sheet_num};
}

static void run_loop_once(void)
{
    (void)uv_run(&test.loop, UV_RUN_NOWAIT);
    (void)usleep(1000);
}

static void await_traced(bool wanted)
{
    for (int ms = 0; (strace_target_tracer("/proc", test.child) > 0) != wanted; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("%s", wanted ? "strace does not come" : "strace does not leave");
        run_loop_once();
    }
}

/* Until the child has made some calls more. */
static void await_calls(void)
{
    const uint64_t begin = __atomic_load_n(test.calls, __ATOMIC_ACQUIRE);

    for (int ms = 0; __atomic_load_n(test.calls, __ATOMIC_ACQUIRE) < begin + 3; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("the child makes no calls");
        run_loop_once();
    }
}

static void await_counted(void)
{
    for (int ms = 0; test.counted == 0; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("nothing was counted");
        run_loop_once();
    }
}

static bool has_calls(struct call_book_key key)
{
    const struct syscall_table *table = call_books_find(test.books, key);

    for (size_t i = 0; table && i < table->count; i++)
        if (strcmp(table->entries[i].name, "getppid") == 0)
            return true;
    return false;
}

static void a_sheet_and_its_job_have_the_calls(void **state)
{
    (void)state;
    needs_strace();
    sheet_straces_begin(test.straces, sheet_of(1, 7), "job", &test.child, 1);
    await_traced(true);
    await_calls();
    sheet_straces_end(test.straces, sheet_of(1, 7));
    await_counted();
    assert_true(has_calls(sheet_of(1, 7)));
    assert_true(has_calls((struct call_book_key){.job = 1}));
    assert_int_equal(strace_target_tracer("/proc", test.child), 0);
    assert_int_equal(test.counted, 1);
}

static void processes_that_end_are_counted_without_being_told(void **state)
{
    (void)state;
    needs_strace();
    sheet_straces_begin(test.straces, sheet_of(1, 7), "job", &test.child, 1);
    await_traced(true);
    await_calls();
    (void)kill(test.child, SIGKILL);
    await_counted();
    assert_true(has_calls(sheet_of(1, 7)));
}

static void keep_warning(void *context, enum log_level level, const char *message)
{
    if (level == LOG_LEVEL_WARNING)
        (void)snprintf(context, sizeof(test.warning), "%s", message);
}

static void a_warning_names_the_sheet_and_the_job(void **state)
{
    (void)state;
    needs_strace();
    /* It may be killed before it has attached: then nothing was counted, which has another warning. */
    for (int i = 0; !strstr(test.warning, "system calls of sheet 7 of job 'job': "); i++) {
        assert_true(i < 100);
        if (i > 0) {
            assert_int_equal(teardown(state), 0);
            assert_int_equal(setup(state), 0);
        }
        log_set_sink(keep_warning, test.warning);
        sheet_straces_begin(test.straces, sheet_of(1, 7), "job", &test.child, 1);
        await_traced(true);
        await_calls();
        assert_int_equal(kill(strace_target_tracer("/proc", test.child), SIGKILL), 0);
        await_traced(false);
        sheet_straces_free(test.straces);
        test.straces = NULL;
        log_set_sink(NULL, NULL);
    }
}

static void the_calls_of_a_job_that_was_forgotten_meanwhile_are_nobodys(void **state)
{
    (void)state;
    needs_strace();
    sheet_straces_begin(test.straces, sheet_of(1, 7), "job", &test.child, 1);
    await_traced(true);
    await_calls();
    sheet_straces_end(test.straces, (struct call_book_key){.job = 1});
    call_books_forget(test.books, 1);
    await_traced(false);
    sheet_straces_begin(test.straces, sheet_of(2, 7), "job", &test.child, 1);
    await_traced(true);
    await_calls();
    sheet_straces_end(test.straces, sheet_of(2, 7));
    await_counted();
    assert_int_equal(test.counted, 1);
    assert_true(has_calls(sheet_of(2, 7)));
    assert_null(call_books_find(test.books, sheet_of(1, 7)));
    assert_null(call_books_find(test.books, (struct call_book_key){.job = 1}));
}

static void the_end_leaves_nobody_traced(void **state)
{
    (void)state;
    needs_strace();
    sheet_straces_begin(test.straces, sheet_of(1, 7), "job", &test.child, 1);
    sheet_straces_free(test.straces); /* perhaps before it has attached */
    test.straces = NULL;
    assert_int_equal(strace_target_tracer("/proc", test.child), 0);
    assert_int_equal(kill(test.child, 0), 0);
    assert_int_equal(test.counted, 0);
}

static void answer(uv_work_t *work)
{
    (void)work;
}

static void on_answered(uv_work_t *work, int status)
{
    (void)work;
    (void)status;
    test.answered = true;
}

/* If they had the threads of the pool, the answer would never come. */
static void clients_do_not_wait_for_those_that_attach(void **state)
{
    (void)state;
    uv_work_t work;

    __atomic_store_n(&test.is_held, true, __ATOMIC_RELEASE);
    for (int64_t sheet = 0; sheet < 8 * POOL; sheet++)
        sheet_straces_begin(test.straces, sheet_of(1, sheet), "job", &test.child, 1);
    assert_int_equal(uv_queue_work(&test.loop, &work, answer, on_answered), 0);
    for (int ms = 0; !test.answered && ms < PATIENCE_MS; ms++)
        run_loop_once();
    const bool answered = test.answered;
    __atomic_store_n(&test.is_held, false, __ATOMIC_RELEASE);
    while (!test.answered)
        run_loop_once();
    assert_true(answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sheet_and_its_job_have_the_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_that_end_are_counted_without_being_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_warning_names_the_sheet_and_the_job, setup, teardown),
        cmocka_unit_test_setup_teardown(the_calls_of_a_job_that_was_forgotten_meanwhile_are_nobodys, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_end_leaves_nobody_traced, setup, teardown),
        cmocka_unit_test_setup_teardown(clients_do_not_wait_for_those_that_attach, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
