/*
 * Following processes that live already. The programs of these tests know no spawner: a child is a stranger
 * to them until it is named.
 */
#include "probe/bpf/programs.h"

#include <pthread.h>

#include "cpu_group_fixture.h"

enum { THREADS = 4, BURN_MS = 15 };

/* What a process that the programs know nothing of is told to do, byte by byte through `gate`. */
static int gate[2];

static void await_byte(void)
{
    char byte;

    if (read(gate[0], &byte, 1) != 1)
        _exit(99);
}

static void let_go(void)
{
    assert_int_equal(write(gate[1], "x", 1), 1);
}

/* Instead of the shared ones: the reader functions of the fixture then read these. */
static struct bpf_programs *others;

static int own_setup(void **state)
{
    if (test_setup(state) != 0 || pipe(gate) != 0)
        return -1;
    others = NULL;
    if (fixture.programs) {
        others = fixture.programs;
        fixture.programs = programs_following_nobody();
        fixture.event_count = 0;
    }
    return 0;
}

static int own_teardown(void **state)
{
    (void)state;
    if (others) {
        bpf_programs_free(fixture.programs);
        fixture.programs = others;
    }
    (void)close(gate[0]);
    return close(gate[1]);
}

static void *burn(void *context)
{
    (void)context;
    burn_thread_ms(BURN_MS);
    await_byte();
    burn_thread_ms(BURN_MS);
    return NULL;
}

static void *burn_and_end(void *context)
{
    burn_thread_ms(BURN_MS);
    return context;
}

static void threads_then_child(void)
{
    pthread_t threads[THREADS - 1];

    (void)pthread_create(&threads[0], NULL, burn_and_end, NULL);
    (void)pthread_join(threads[0], NULL);
    *(volatile char *)(fixture.shared + 64) = 1;
    for (int i = 0; i < THREADS - 1; i++)
        (void)pthread_create(&threads[i], NULL, burn, NULL);
    (void)burn(NULL);
    for (int i = 0; i < THREADS - 1; i++)
        (void)pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(4);
    *(pid_t *)(void *)fixture.shared = child;
    (void)waitpid(child, NULL, 0);
    await_byte();
    _exit(6);
}

static void living_process_is_followed_from_now_on(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(threads_then_child);

    while (*(volatile char *)(fixture.shared + 64) == 0)
        (void)usleep(1000);
    await_rest(child, THREADS); /* each has burned, and waits for a byte */
    assert_int_equal(events_of(child, LIFECYCLE_FORK), 0);
    assert_int_equal(bpf_programs_follow(fixture.programs, &child, 1, NULL), 0);
    /* A second time changes nothing. */
    assert_int_equal(bpf_programs_follow(fixture.programs, &child, 1, NULL), 0);
    for (int i = 0; i < THREADS + 1; i++)
        let_go();
    const struct ended_child ended = child_end(child);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;
    const pid_t grandchild = *(pid_t *)(void *)fixture.shared;

    assert_int_equal(exit->exit.wait_status, ended.status);
    assert_false(exit->exit.is_whole);
    /* Also what a thread that had ended by then had used; wait4 adds the grandchild. */
    assert_true(agree((double)exit->exit.use.cpu_ns / 1e9, usage_cpu_seconds(&ended.usage), 2));
    assert_int_equal(event_of(grandchild, LIFECYCLE_FORK)->event.fork.parent, child);
    assert_int_equal(WEXITSTATUS(only_exit_of(grandchild)->event.exit.wait_status), 4);
    assert_true(event_of(grandchild, LIFECYCLE_EXIT)->event.exit.is_whole);
}

static void *burn_then_end_all(void *context)
{
    burn_thread_ms(BURN_MS);
    await_byte();
    (void)pthread_barrier_wait(context);
    _exit(3);
}

static void end_together(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;

    (void)pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS - 1; i++)
        (void)pthread_create(&thread, NULL, burn_then_end_all, &barrier);
    (void)burn_then_end_all(&barrier);
}

static void threads_that_end_together_are_all_counted(void **state)
{
    needs_programs();
    for (int round = 0; round < 10; round++) {
        (void)test_setup(state); /* a pid may be in use again: only this round's events count */
        in_group_begin();
        const pid_t child = in_group_start(end_together);

        await_rest(child, THREADS);
        assert_int_equal(bpf_programs_follow(fixture.programs, &child, 1, NULL), 0);
        for (int i = 0; i < THREADS; i++)
            let_go();
        const struct ended_child ended = child_end(child);
        const struct lifecycle_event *exit = &only_exit_of(child)->event;

        assert_int_equal(exit->exit.wait_status, ended.status);
        assert_true(in_group_agrees(exit->exit.use.cpu_ns));
    }
}

static void *last_thread(void *context)
{
    (void)context;
    await_byte();
    syscall(SYS_exit_group, 9);
    return NULL;
}

static void lose_the_first_thread(void)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, last_thread, NULL);
    syscall(SYS_exit, 0);
}

static void process_without_its_first_thread_is_followed_to_its_end(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(lose_the_first_thread);

    await_state(child, 'Z'); /* its first thread has left */
    assert_int_equal(bpf_programs_follow(fixture.programs, &child, 1, NULL), 0);
    let_go();
    /* Before it is waited for. */
    assert_int_equal(WEXITSTATUS(only_exit_of(child)->event.exit.wait_status), 9);
    assert_int_equal(WEXITSTATUS(child_end(child).status), 9);
}

static void pid_that_is_not_there_is_passed_over(void **state)
{
    (void)state;
    needs_programs();
    const pid_t gone = child_start(await_byte);

    let_go();
    (void)child_end(gone);
    assert_int_equal(bpf_programs_follow(fixture.programs, &gone, 1, NULL), 0);
    assert_int_equal(bpf_programs_follow(fixture.programs, NULL, 0, NULL), 0);
    assert_int_equal(events_of(gone, LIFECYCLE_EXIT), 0);
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(false);
}

#define own_test(name) cmocka_unit_test_setup_teardown(name, own_setup, own_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        own_test(living_process_is_followed_from_now_on),
        own_test(threads_that_end_together_are_all_counted),
        own_test(process_without_its_first_thread_is_followed_to_its_end),
        own_test(pid_that_is_not_there_is_passed_over),
    };

    return cmocka_run_group_tests(tests, setup, in_group_teardown);
}
