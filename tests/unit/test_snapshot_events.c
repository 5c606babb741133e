/* Events of a snapshot: copied whole, counted in bytes, and given back with the storm that brought them. */
#include "schema/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct snapshot_pool *pool;

static int setup(void **state)
{
    (void)state;
    pool = snapshot_pool_new();
    return pool ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    snapshot_pool_free(pool);
    return 0;
}

static void an_event_is_copied_with_all_that_it_points_to(void **state)
{
    char command[] = "sleep 1", job[] = "night", start[] = "2026-11-15T22:45:38.85+00:00", name[] = "kill";
    struct event_sender sender = {42, name};
    struct event_use use = {.cpu_seconds = 1.5, .minor_faults = 76};
    struct event event = {.type = EVENT_EXIT,
                          .pid = 7,
                          .command = command,
                          .job_id = job,
                          .start_time = start,
                          .sender = &sender,
                          .use = &use};
    struct snapshot *snapshot = snapshot_new(pool);

    (void)state;
    assert_int_equal(snapshot_add_event(snapshot, &event), 0);
    size_t bytes = event_bytes(&event);
    (void)memset(command, 'x', sizeof(command) - 1);
    (void)memset(job, 'x', sizeof(job) - 1);
    (void)memset(start, 'x', sizeof(start) - 1);
    (void)memset(name, 'x', sizeof(name) - 1);
    sender.pid = 0;
    use = (struct event_use){0};
    event = (struct event){.type = EVENT_SPAWN, .pid = 8};
    assert_int_equal(snapshot_add_event(snapshot, &event), 0);
    assert_int_equal(snapshot->event_count, 2);
    const struct event *kept = &snapshot->events[0];
    assert_int_equal(kept->pid, 7);
    assert_string_equal(kept->command, "sleep 1");
    assert_string_equal(kept->job_id, "night");
    assert_string_equal(kept->start_time, "2026-11-15T22:45:38.85+00:00");
    assert_int_equal(kept->sender->pid, 42);
    assert_string_equal(kept->sender->name, "kill");
    assert_true(kept->use->cpu_seconds == 1.5);
    assert_int_equal(kept->use->minor_faults, 76);
    assert_null(snapshot->events[1].command);
    assert_null(snapshot->events[1].use);
    assert_int_equal(snapshot->event_bytes, bytes + sizeof(struct event));
    assert_true(bytes >= sizeof(struct event) + sizeof(use) + 8 + 6 + 29 + 5);
    snapshot_release(snapshot);
}

static struct snapshot *stormy(size_t count)
{
    struct snapshot *snapshot = snapshot_new(pool);
    char command[64];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(command, sizeof(command), "/usr/bin/true %zu", i);
        assert_int_equal(snapshot_add_event(snapshot, &(struct event){.pid = (pid_t)i, .command = command}),
                         0);
    }
    return snapshot;
}

static void many_events_take_little_more_than_their_bytes(void **state)
{
    (void)state;
    struct snapshot *snapshot = stormy(20000);

    assert_int_equal(snapshot->event_count, 20000);
    for (size_t i = 0; i < 20000; i++)
        assert_int_equal(snapshot->events[i].pid, i);
    assert_string_equal(snapshot->events[19999].command, "/usr/bin/true 19999");
    /* The list is at most twice as long as it need be, a text is rounded up. */
    assert_true(snapshot_bytes(snapshot) >= snapshot->event_bytes);
    assert_true(snapshot_bytes(snapshot) < 2 * snapshot->event_bytes + 65536);
    snapshot_release(snapshot);
}

static void a_snapshot_that_comes_back_has_no_events(void **state)
{
    (void)state;
    snapshot_release(stormy(10));
    struct snapshot *again = snapshot_new(pool);

    assert_int_equal(again->event_count, 0);
    assert_int_equal(again->event_bytes, 0);
    assert_int_equal(again->told_count, 0);
    assert_null(again->events);
    assert_int_equal(snapshot_add_event(again, &(struct event){.pid = 3}), 0);
    assert_int_equal(again->events[0].pid, 3);
    snapshot_release(again);
}

/* Four of them at once, a few MiB each, and then none is needed. */
static void a_storm_leaves_little_memory_behind(void **state)
{
    struct snapshot *held[4];
    size_t left = 0;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        held[i] = stormy(40000);
    size_t one = snapshot_bytes(held[0]);
    for (size_t i = 0; i < 4; i++)
        snapshot_release(held[i]);
    for (size_t i = 0; i < 4; i++) {
        held[i] = snapshot_new(pool);
        left += snapshot_bytes(held[i]);
    }
    assert_true(one > (size_t)4 << 20);
    assert_true(left < one); /* of all four */
    for (size_t i = 0; i < 4; i++)
        snapshot_release(held[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_copied_with_all_that_it_points_to),
        TEST(many_events_take_little_more_than_their_bytes),
        TEST(a_snapshot_that_comes_back_has_no_events),
        TEST(a_storm_leaves_little_memory_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
