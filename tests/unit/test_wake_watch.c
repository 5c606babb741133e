/* Threads that wake a loop, and loops that end before their threads. */
#include "daemon/wake_watch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/worker.h"

static uv_loop_t loop;
static uv_idle_t idle; /* a loop without anything to wait for looks at nothing */
static int fd, go_fd;
static unsigned woken;

static void on_wake(void *context)
{
    woken += *(unsigned *)context;
}

static void *poke(void *context)
{
    (void)context;
    (void)wake_wait(go_fd, -1);
    wake_poke(fd);
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    woken = 0;
    fd = wake_open();
    go_fd = wake_open();
    return fd < 0 || go_fd < 0 ? -1 : uv_loop_init(&loop);
}

static int teardown(void **state)
{
    (void)state;
    (void)close(fd);
    (void)close(go_fd);
    return uv_loop_close(&loop);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

static void on_idle(uv_idle_t *handle)
{
    (void)handle;
}

static void a_thread_wakes_the_loop(void **state)
{
    (void)state;
    unsigned weight = 3;
    pthread_t thread;
    struct wake_watch *watch = wake_watch_new(&loop, fd, on_wake, &weight);

    assert_non_null(watch);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0); /* the loop does not stay for it */
    assert_int_equal(pthread_create(&thread, NULL, poke, NULL), 0);
    wake_poke(go_fd);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(uv_idle_init(&loop, &idle), 0);
    assert_int_equal(uv_idle_start(&idle, on_idle), 0);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(woken, 3);
    uv_close((uv_handle_t *)&idle, NULL);
    wake_watch_free(watch);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
}

static void a_loop_that_has_ended_is_not_woken_and_its_owner_still_is(void **state)
{
    (void)state;
    unsigned weight = 3;
    pthread_t thread;
    struct wake_watch *watch = wake_watch_new(&loop, fd, on_wake, &weight);

    assert_non_null(watch);
    assert_int_equal(pthread_create(&thread, NULL, poke, NULL), 0);
    uv_walk(&loop, close_handle, NULL); /* as the daemon does */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    wake_watch_free(watch);
    assert_false(wake_wait(fd, 0));
    wake_poke(go_fd);
    assert_true(wake_wait(fd, 10000));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(woken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_wakes_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_loop_that_has_ended_is_not_woken_and_its_owner_still_is, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
