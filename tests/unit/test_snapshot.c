/* Snapshots: the pool they live in, and their JSON, which Python's json reads back. */
#include "schema/snapshot.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "snapshot_fixture.h"

static struct snapshot_pool *pool;
static struct strbuf text;

static int setup(void **state)
{
    (void)state;
    pool = snapshot_pool_new();
    text = (struct strbuf)STRBUF_INIT;
    return pool ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    snapshot_pool_free(pool);
    strbuf_fini(&text);
    return 0;
}

static const char *json_of(const struct snapshot *snapshot, const char *job_id)
{
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    snapshot_json(&json, snapshot, job_id);
    return strbuf_text(&text);
}

/* -- The pool -- */

static void a_snapshot_comes_back_empty_with_its_memory(void **state)
{
    (void)state;
    struct snapshot *first = snapshot_of(pool, 100);

    assert_non_null(first);
    first->running_jobs = 3;
    first->pressure_level = "low";
    const size_t bytes = snapshot_bytes(first);
    const double *memory = first->machine.numbers; /* the first that was taken of it */
    snapshot_release(first);

    struct snapshot *second = snapshot_new(pool);

    assert_ptr_equal(second, first);
    assert_int_equal(second->references, 1);
    assert_int_equal(second->process_count, 0);
    assert_null(second->processes);
    assert_null(second->pressure_level);
    assert_int_equal(second->running_jobs, 0);
    assert_int_equal(snapshot_bytes(second), bytes);
    assert_ptr_equal(arena_alloc(&second->arena, 16), memory);
    snapshot_release(second);
    snapshot_release(NULL);
}

/* Sanitizers have a heap of their own, of which the C library knows nothing. */
static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    if (info.uordblks + info.hblkhd == 0) {
        print_message("# the size of this heap cannot be asked for\n");
        skip();
    }
    return info.uordblks + info.hblkhd;
}

static void a_steady_daemon_allocates_nothing(void **state)
{
    (void)state;
    struct snapshot *latest = NULL, *queued = NULL;
    size_t after_warm_up = heap_bytes();

    /* One to fill, one to answer from, one on its way to the disk. */
    for (int i = 0; i < 1000; i++) {
        struct snapshot *next = snapshot_of(pool, 500);

        assert_non_null(next);
        snapshot_release(queued);
        queued = latest ? snapshot_hold(latest) : NULL;
        snapshot_release(latest);
        latest = next;
        if (i == 10)
            after_warm_up = heap_bytes();
    }
    assert_int_equal(heap_bytes(), after_warm_up);
    snapshot_release(queued);
    snapshot_release(latest);
}

static void one_that_was_once_huge_becomes_small_again(void **state)
{
    (void)state;
    struct snapshot *huge = snapshot_of(pool, 20000);

    assert_true(snapshot_bytes(huge) > 20000 * sizeof(struct snapshot_process));
    snapshot_release(huge);
    for (int i = 0; i < 2; i++)
        snapshot_release(snapshot_of(pool, 10));

    struct snapshot *small = snapshot_of(pool, 10);

    assert_true(snapshot_bytes(small) < 500000);
    snapshot_release(small);
}

static void a_slowly_growing_machine_does_not_pile_up_memory(void **state)
{
    (void)state;
    /* Each array is a little too large for the memory of the one before. */
    for (size_t count = 2000; count < 2200; count++)
        snapshot_release(snapshot_of(pool, count));

    struct snapshot *snapshot = snapshot_of(pool, 2200);

    assert_true(snapshot_bytes(snapshot) < 8800 * (sizeof(struct snapshot_process) + 128));
    snapshot_release(snapshot);
}

static void a_burst_of_snapshots_is_given_back(void **state)
{
    (void)state;
    struct snapshot *burst[64];
    const size_t before = heap_bytes();

    for (size_t i = 0; i < 64; i++)
        assert_non_null(burst[i] = snapshot_of(pool, 1000));
    const size_t during = heap_bytes() - before;
    for (size_t i = 0; i < 64; i++)
        snapshot_release(burst[i]);
    assert_true(heap_bytes() - before < during / 8);
}

static void snapshots_of_a_crowd_do_not_stay_below_small_ones(void **state)
{
    (void)state;
    struct snapshot *crowd[3];
    const size_t before = heap_bytes();

    for (size_t i = 0; i < 3; i++)
        assert_non_null(crowd[i] = snapshot_of(pool, 4000));
    for (size_t i = 0; i < 3; i++)
        snapshot_release(crowd[i]);
    const size_t kept = heap_bytes() - before;
    for (int i = 0; i < 5; i++)
        snapshot_release(snapshot_of(pool, 10));
    assert_true(heap_bytes() - before <= kept / 2);
}

static void snapshots_outlive_their_pool(void **state)
{
    (void)state;
    struct snapshot_pool *mortal = snapshot_pool_new();
    struct snapshot *one = snapshot_of(mortal, 3);
    struct snapshot *other = snapshot_of(mortal, 3);

    snapshot_release(snapshot_of(mortal, 3)); /* one that is in the pool when it goes */
    snapshot_pool_free(mortal);
    assert_int_equal(snapshot_find(one, 1002)->pid, 1002);
    snapshot_release(one);
    assert_int_equal(snapshot_find(snapshot_hold(other), 1000)->pid, 1000);
    snapshot_release(other);
    snapshot_release(other);
    snapshot_pool_free(NULL);
}

static void *use_and_release(void *given)
{
    for (int i = 0; i < 2000; i++) {
        struct snapshot *own = snapshot_of(pool, 5);

        if (!own || own->references != 1)
            return own;
        snapshot_release(snapshot_hold(own));
        snapshot_release(own);
        snapshot_release(snapshot_hold(given));
    }
    return NULL;
}

static void threads_may_share_a_pool_and_a_snapshot(void **state)
{
    (void)state;
    struct snapshot *shared = snapshot_of(pool, 5);
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_release, shared), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(shared->references, 1);
    snapshot_release(shared);
}

/* -- Looking into it -- */

static void a_process_is_found_by_its_pid(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_of(pool, 101);

    for (pid_t pid = 1000; pid <= 1100; pid++)
        assert_int_equal(snapshot_find(snapshot, pid)->pid, pid);
    assert_null(snapshot_find(snapshot, 999));
    assert_null(snapshot_find(snapshot, 1101));
    snapshot->process_count = 0;
    assert_null(snapshot_find(snapshot, 1000));
    snapshot_release(snapshot);
}

static void the_hotspot_is_the_call_that_took_most_time(void **state)
{
    (void)state;
    static const struct snapshot_call calls[] = {{"read", 10, 0.45}, {"futex", 900, 0.3}, {"write", 1, 0.25}};
    static const struct snapshot_call timeless[] = {{"getpid", 10, 0}};
    struct snapshot_process process = {.calls = calls, .call_count = 3};
    char hotspot[32];

    assert_true(snapshot_hotspot(&process, hotspot, sizeof(hotspot)));
    assert_string_equal(hotspot, "read 45%");
    assert_false(snapshot_hotspot(&process, hotspot, 8)); /* cut, it would say 45 */
    process.call_count = 0;
    assert_false(snapshot_hotspot(&process, hotspot, sizeof(hotspot)));
    process = (struct snapshot_process){.calls = timeless, .call_count = 1};
    assert_false(snapshot_hotspot(&process, hotspot, sizeof(hotspot)));
    process.calls = NULL;
    assert_false(snapshot_hotspot(&process, hotspot, sizeof(hotspot)));
    assert_string_equal(hotspot, "");
}

static void how_membership_is_known_has_a_name(void **state)
{
    (void)state;
    assert_null(membership_name(MEMBER_OF_NONE));
    assert_string_equal(membership_name(MEMBER_BY_CGROUP), "cgroup");
    assert_string_equal(membership_name(MEMBER_BY_EVENTS), "events");
    assert_string_equal(membership_name(MEMBER_BY_DESCENT), "descent");
    assert_string_equal(membership_name(MEMBER_BY_VARIABLE), "variable");
}

/* -- JSON -- */

static void what_was_not_measured_is_left_out(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_new(pool);

    assert_int_equal(snapshot_set_columns(snapshot, all_columns()), 0);
    struct snapshot_process *process = snapshot_make_processes(snapshot, 1);
    process->pid = 5;
    process->ppid = 1;
    process->start_ticks = 9;
    process->values.numbers[0] = 1; /* without its bit */
    snapshot->wall.tv_sec = 1763192573;
    snapshot->daemon_pid = 77;
    snapshot->processes = process;
    snapshot->process_count = 1;
    assert_string_equal(
        json_of(snapshot, NULL),
        "{\"timestamp\":1763192573,\"daemon_pid\":77,\"processes\":[{\"pid\":5,\"ppid\":1,\"start_ticks\":9}]"
        ","
        "\"zombie_pids\":[],\"zombie_count\":0,\"running_jobs\":0,\"active_sheets\":0,\"job_progress\":[],"
        "\"conductor_uptime_seconds\":0}");
    set_value(process, "cpu_percent", NAN);
    process->has_age = true;
    process->age_seconds = INFINITY;
    snapshot->uptime_seconds = NAN;
    assert_null(strstr(json_of(snapshot, NULL), "cpu_percent"));
    assert_null(strstr(strbuf_text(&text), "seconds"));
    snapshot_release(snapshot);
}

/* Has Python read it, and check it: its words, after `d = json.load(stdin)`. */
static void python_says(const char *json, const char *check)
{
    char command[4096];
    FILE *python;

    if (system("python3 -c 'import json'") != 0) {
        print_message("# there is no python3 here\n");
        skip();
    }
    (void)snprintf(command, sizeof(command),
                   "python3 -c '\nimport json, sys\n"
                   "def no(x): raise ValueError(x)\n"
                   "d = json.load(sys.stdin, parse_constant=no)\n%s'",
                   check);
    python = popen(command, "w");
    assert_non_null(python);
    assert_int_equal(fputs(json, python) < 0, 0);
    assert_int_equal(pclose(python), 0);
}

/* Everything measured, with numbers that a reader can tell apart. */
static struct snapshot *whole_snapshot(void)
{
    static const struct snapshot_call calls[] = {{"read", 10, 0.5}, {"write", 4, 0.25}};
    static struct snapshot_job jobs[2];
    struct snapshot *snapshot = snapshot_of(pool, 2);

    set_machine(snapshot, "system_memory_total_mb", 0x1p34);
    set_machine(snapshot, "system_memory_available_mb", 10 * 0x1p30);
    set_machine(snapshot, "system_memory_used_mb", 6 * 0x1p30);
    set_machine(snapshot, "daemon_rss_mb", 12 * 1048576 + 524288);
    set_machine(snapshot, "load_avg_1", 1.25);
    set_machine(snapshot, "load_avg_5", 0.5);
    set_machine(snapshot, "load_avg_15", 0.07);
    snapshot->pressure_level = "low";
    snapshot->running_jobs = 1;
    snapshot->active_sheets = 2;
    make_gpus(snapshot, 2);
    set_gpu(&snapshot->gpus[1], "utilization_pct", 0.375);
    set_gpu(&snapshot->gpus[1], "memory_used_mb", 1048576);
    set_gpu(&snapshot->gpus[1], "memory_total_mb", 1 << 30);
    set_gpu(&snapshot->gpus[1], "temperature_c", 61);
    jobs[0] = (struct snapshot_job){"night", true, true, true, 9, 3, 4, "running"};
    jobs[1] = (struct snapshot_job){.job_id = "n\"\n\xff", .status = "failed"};
    snapshot->jobs = jobs;
    snapshot->job_count = 2;
    snapshot->zombie_count = 1;
    snapshot->processes[0].state = 'Z';
    snapshot->processes[0].command = "a\"b\\c\t\x01\xc3\xa9\xff"
                                     "d";
    set_value(&snapshot->processes[1], "cpu_percent", 1.5);
    snapshot->processes[1].calls = calls;
    snapshot->processes[1].call_count = 2;
    return snapshot;
}

static void the_json_has_the_names_of_the_format(void **state)
{
    (void)state;
    struct snapshot *snapshot = whole_snapshot();

    python_says(
        json_of(snapshot, NULL),
        "p, q = d.pop(\"processes\")\n"
        "assert d == {\"timestamp\": 1763192573.25, \"daemon_pid\": 77, \"system_memory_total_mb\": 16384,\n"
        " \"system_memory_available_mb\": 10240, \"system_memory_used_mb\": 6144, \"daemon_rss_mb\": 12.5,\n"
        " \"load_avg_1\": 1.25, \"load_avg_5\": 0.5, \"load_avg_15\": 0.07, \"pressure_level\": \"low\",\n"
        " \"running_jobs\": 1, \"active_sheets\": 2, \"zombie_count\": 1, \"zombie_pids\": [1000],\n"
        " \"gpus\": [{\"index\": 0}, {\"index\": 1, \"utilization_pct\": 37.5, \"memory_used_mb\": 1,\n"
        "  \"memory_total_mb\": 1024, \"temperature_c\": 61}], \"job_progress\": [{\"job_id\": \"night\",\n"
        "  \"total_sheets\": 9, \"last_completed_sheet\": 3, \"current_sheet\": 4, \"status\": "
        "\"running\"},\n"
        "  {\"job_id\": \"n\\\"\\n\\\\xff\", \"status\": \"failed\"}], \"conductor_uptime_seconds\": 12.5}, "
        "d\n"
        "assert p == {\"pid\": 1000, \"ppid\": 999, \"command\": \"a\\\"b\\\\c\\t\\x01\\u00e9\\\\xffd\", "
        "\"state\": "
        "\"Z\",\n"
        " \"cpu_percent\": 0, \"rss_mb\": 48.223, \"vms_mb\": 4822.527, \"threads\": 4, \"open_fds\": 17,\n"
        " \"age_seconds\": 1234.56, \"start_ticks\": 123456, \"read_bytes\": 0, \"write_bytes\": 0}, p\n"
        "assert round(q.pop(\"rss_mb\") * 256) == 12346 and round(q.pop(\"vms_mb\") * 256) == 1234568\n"
        "command = q.pop(\"command\")\n"
        "assert q == {\"pid\": 1001, \"ppid\": 1000, \"state\": \"S\", \"cpu_percent\": 150, \"threads\": "
        "4,\n"
        " \"open_fds\": 17, \"age_seconds\": 1235.56, \"start_ticks\": 123463, \"read_bytes\": 151552,\n"
        " \"write_bytes\": 45056, \"job_id\": \"night\", \"sheet_num\": 1, \"membership\": \"events\",\n"
        " \"syscall_counts\": {\"read\": 10, \"write\": 4},\n"
        " \"syscall_time_pct\": {\"read\": 66.67, \"write\": 33.33}}, q\n");
    snapshot_release(snapshot);
}

static void one_job_has_its_own_processes_only(void **state)
{
    (void)state;
    struct snapshot *snapshot = whole_snapshot();

    python_says(json_of(snapshot, "night"),
                "assert [p[\"pid\"] for p in d[\"processes\"]] == [1001], d\n"
                "assert [j[\"job_id\"] for j in d[\"job_progress\"]] == [\"night\"], d\n"
                "assert d[\"zombie_pids\"] == [] and d[\"zombie_count\"] == 0, d\n"
                "assert d[\"system_memory_total_mb\"] == 16384 and d[\"active_sheets\"] == 2, d\n");
    python_says(json_of(snapshot, "unheard of"),
                "assert d[\"processes\"] == d[\"job_progress\"] == d[\"zombie_pids\"] == [], d\n");
    snapshot_release(snapshot);
}

static void calls_without_time_have_no_shares(void **state)
{
    (void)state;
    static const struct snapshot_call calls[] = {{"getpid", 3, 0}};
    struct snapshot *snapshot = snapshot_of(pool, 1);

    snapshot->processes[0].calls = calls;
    snapshot->processes[0].call_count = 1;
    assert_non_null(strstr(json_of(snapshot, NULL), "\"syscall_counts\":{\"getpid\":3}}"));
    snapshot->processes[0].call_count = 0; /* counted, and there were none */
    assert_non_null(strstr(json_of(snapshot, NULL), "\"syscall_counts\":{}}"));
    snapshot_release(snapshot);
}

static void four_thousand_processes_are_written(void **state)
{
    (void)state;
    struct snapshot *snapshot = snapshot_of(pool, 4000);

    (void)json_of(snapshot, NULL);
    const size_t length = text.length, capacity = text.capacity;
    (void)json_of(snapshot, NULL);
    assert_int_equal(text.length, length);
    assert_int_equal(text.capacity, capacity);
    assert_in_range(length / 4000, 1, 400); /* bytes each */
    snapshot_release(snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_snapshot_comes_back_empty_with_its_memory),
        TEST(a_steady_daemon_allocates_nothing),
        TEST(one_that_was_once_huge_becomes_small_again),
        TEST(a_slowly_growing_machine_does_not_pile_up_memory),
        TEST(a_burst_of_snapshots_is_given_back),
        TEST(snapshots_of_a_crowd_do_not_stay_below_small_ones),
        TEST(snapshots_outlive_their_pool),
        TEST(threads_may_share_a_pool_and_a_snapshot),
        TEST(a_process_is_found_by_its_pid),
        TEST(the_hotspot_is_the_call_that_took_most_time),
        TEST(how_membership_is_known_has_a_name),
        TEST(what_was_not_measured_is_left_out),
        TEST(the_json_has_the_names_of_the_format),
        TEST(one_job_has_its_own_processes_only),
        TEST(calls_without_time_have_no_shares),
        TEST(four_thousand_processes_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
