/* The daemon's history, written and read back: what goes in comes out. What other programs see in the file is
 * looked at in tests/e2e/test_history_file.py. */
#include "history_fixture.h"

static void snapshot_comes_back_as_it_was(void **state)
{
    (void)state;
    static struct snapshot_call calls[] = {{"read", 40, 0.75}, {"write", 7, 0.25}};
    struct snapshot_job jobs[] = {
        {.job_id = "night", .has_total = true, .total_sheets = 7, .status = "running"}};
    struct job night = {.id = "night", .started = {1763190000, 1}};
    struct snapshot *snapshot = make(50, 0);

    snapshot->changed_jobs = &night;
    snapshot->changed_job_count = 1;
    for (size_t i = 0; i < 50; i++) {
        /* What the store keeps of it: */
        set_value(&snapshot->processes[i], "cpu_percent", (double)i / 1000);
        snapshot->processes[i].age_seconds = 1234.5 + (double)i;
    }
    snapshot->processes[3].calls = calls;
    snapshot->processes[3].call_count = 2;
    snapshot->processes[4].values.present = 0;
    snapshot->processes[4].has_age = snapshot->processes[4].has_sheet = false;
    snapshot->processes[5].state = 'Z';
    snapshot->zombie_count = 1;
    make_gpus(snapshot, 2);
    snapshot->gpus[1].index = 3;
    set_gpu(&snapshot->gpus[0], "utilization_pct", 0.375);
    set_gpu(&snapshot->gpus[1], "temperature_c", 61);
    snapshot->jobs = jobs;
    snapshot->job_count = 1;
    snapshot->pressure_level = "low";
    assert_int_equal(history_write(history, snapshot, NULL), 0);
    struct kept kept = read_back(0, 10);
    assert_int_equal(kept.count, 1);
    assert_same(snapshot, kept.snapshots[0]);
    assert_int_equal(kept.snapshots[0]->tick, 1);
    assert_int_equal(kept.snapshots[0]->processes[7].start_ticks, snapshot->processes[7].start_ticks);
    let_go(&kept);
    snapshot_release(snapshot);
}

/* The second has nothing but its memory. -1: none were read. */
static void put_gpus(unsigned tick, int count, double utilization, double celsius)
{
    struct snapshot *snapshot = make(1, tick);

    if (count >= 0)
        make_gpus(snapshot, (size_t)count);
    for (size_t i = 0; i < snapshot->gpu_count; i++) {
        set_gpu(&snapshot->gpus[i], "memory_used_mb", i == 0 ? 3221225472 : 1 << 30);
        set_gpu(&snapshot->gpus[i], "memory_total_mb", i == 0 ? 85899345920 : 1 << 30);
    }
    if (count > 0) {
        set_gpu(&snapshot->gpus[0], "utilization_pct", utilization);
        set_gpu(&snapshot->gpus[0], "temperature_c", celsius);
    }
    put(snapshot);
}

static void gpus_are_arrays_by_device_and_no_device_is_not_the_same_as_not_looked_at(void **state)
{
    (void)state;
    put_gpus(0, -1, 0, 0);
    put_gpus(12, 0, 0, 0); /* a minute later */
    put_gpus(24, 2, 0.25, 40);
    put_gpus(25, 2, 0.75, 44);
    put_gpus(48, -1, 0, 0);
    assert_int_equal(ask("SELECT count(*) FROM snapshots WHERE id IN (1, 5) AND gpu_count IS NULL"), 2);
    assert_int_equal(ask("SELECT gpu_count = 0 AND gpu_utilization_pct IS NULL FROM snapshots WHERE id = 2"),
                     1);
    assert_int_equal(ask("SELECT gpu_count = 2 AND gpu_utilization_pct = '[25]' AND gpu_memory_used_mb ="
                         " '[3072,1024]' AND gpu_temperature = '[40]' FROM snapshots WHERE id = 3"),
                     1);
    struct kept kept = read_back(0, 10);
    assert_null(kept.snapshots[0]->gpus);
    assert_non_null(kept.snapshots[1]->gpus);
    assert_int_equal(kept.snapshots[1]->gpu_count, 0);
    assert_int_equal(kept.snapshots[2]->gpu_count, 2);
    let_go(&kept);
    while (history_maintain(history, wall_base + 1000, 1, NULL) == 1)
        continue;
    assert_int_equal(ask("SELECT count(*) FROM snapshots_1m WHERE gpu_count = 0"), 1);
    /* (25 * 60 s + 75 * 5 s) / 65 s */
    assert_int_equal(ask("SELECT count(*) FROM snapshots_1m WHERE gpu_count = 2"
                         " AND gpu_utilization_pct = '[28.846]' AND gpu_utilization_pct_max = '[75]'"
                         " AND gpu_temperature_max = '[44]'"),
                     1);
}

static void snapshots_come_in_order_and_no_more_than_asked_for(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        put(make(3, i));
    struct kept kept = read_back(wall_base + 10, 4);
    assert_int_equal(kept.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kept.snapshots[i]->tick, 3 + i);
    assert_int_equal(kept.snapshots[0]->processes[1].serial, kept.snapshots[3]->processes[1].serial);
    let_go(&kept);
}

static void idle_process_gets_no_second_row(void **state)
{
    (void)state;
    put(make(20, 0));
    for (unsigned i = 1; i < 10; i++) {
        struct snapshot *snapshot = make(20, i);

        set_value(&snapshot->processes[7], "rss_mb", 4096.0 * (12345 + 7 + i));
        put(snapshot);
    }
    assert_int_equal(ask("SELECT count(*) FROM samples"), 29);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 200);
    assert_int_equal(ask("SELECT count(*) FROM processes"), 20);
}

static void row_holds_until_the_next_one_or_until_its_process_is_gone(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct snapshot *snapshot = make(i < 4 ? 3 : 2, i); /* the last one ends */

        if (i == 2)
            set_value(&snapshot->processes[0], "threads", 77);
        put(snapshot);
    }
    static const char held[] =
        "SELECT group_concat(pid || ':' || first_tick || '-' || nullif(last_tick, 2147483647), ' ') ="
        " '1000:1-2 1002:1-4 1000:3-3' FROM samples AS s JOIN processes AS p ON p.id = s.process";
    assert_int_equal(ask(held), 1);
    assert_int_equal(ask("SELECT count(*) FROM samples WHERE last_tick = 2147483647"), 2);
    reopen();
    put(make(3, 6));
    /* What held ended with the last snapshot of the daemon before, and all have other rows. */
    assert_int_equal(ask("SELECT count(*) FROM samples WHERE last_tick = 6"), 2);
    assert_int_equal(ask("SELECT count(*) FROM samples WHERE first_tick = 7 AND last_tick = 2147483647"), 3);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 4 * 3 + 2 * 2 + 3);
}

/* Among the rows from first_sample to last_sample are all of a snapshot, and few others. */
static void all_processes_have_a_row_among_the_last_few(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        struct snapshot *snapshot = make(10, i);

        for (size_t p = 0; p < 4; p++)
            set_value(&snapshot->processes[p], "rss_mb", 4096.0 * (i + 1));
        put(snapshot);
    }
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 1000);
    assert_in_range(ask("SELECT max(last_sample - first_sample) FROM ticks"), 40, 53);
    assert_true(ask("SELECT count(*) FROM samples") < 10 + 400 + 100);
}

static void state_alone_is_a_change_and_so_is_absence(void **state)
{
    (void)state;
    put(make(2, 0));
    struct snapshot *snapshot = make(2, 1);
    snapshot->processes[0].state = 'R';
    remove_value(&snapshot->processes[1], "open_fds");
    put(snapshot);
    put(make(2, 2));
    assert_int_equal(ask("SELECT count(*) FROM samples"), 6);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE open_fds IS NULL"), 1);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE state = 'R' AND snapshot_id = 2"), 1);
}

static void exec_and_reparenting_are_rows_of_one_process(void **state)
{
    (void)state;
    put(make(2, 0));
    for (unsigned i = 1; i < 4; i++) {
        struct snapshot *snapshot = make(2, i);

        snapshot->processes[0].image = 9;
        snapshot->processes[0].command = "other";
        if (i >= 2)
            snapshot->processes[0].ppid = 1;
        put(snapshot);
    }
    assert_int_equal(ask("SELECT count(*) FROM processes WHERE pid = 1000"), 3);
    assert_int_equal(ask("SELECT count(DISTINCT origin) FROM processes WHERE pid = 1000"), 1);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE command = 'other'"), 3);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE command = 'other' AND ppid = 1"), 2);
}

static void reused_pid_is_another_process(void **state)
{
    (void)state;
    put(make(2, 0));
    struct snapshot *snapshot = make(2, 1);
    snapshot->processes[1].serial = 77;
    snapshot->processes[1].start_ticks = 999999;
    snapshot->processes[1].age_seconds = 1;
    put(snapshot);
    assert_int_equal(ask("SELECT count(DISTINCT origin) FROM processes WHERE pid = 1001"), 2);
    assert_int_equal(ask("SELECT count(*) FROM processes WHERE pid = 1001 AND last_seen IS NULL"), 1);
}

static void ids_go_on_after_a_restart_and_all_are_opened_anew(void **state)
{
    (void)state;
    put(make(4, 0));
    put(make(4, 1));
    reopen();
    assert_int_equal(last_id(), 2);
    assert_int_equal(ask("SELECT count(*) FROM processes WHERE last_seen IS NULL"), 0);
    put(make(4, 2));
    assert_int_equal(last_id(), 3);
    assert_int_equal(ask("SELECT count(*) FROM processes"), 8);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 12);
}

static void text_that_is_no_utf8_is_stored_as_text(void **state)
{
    (void)state;
    struct snapshot *snapshot = make(1, 0);

    snapshot->processes[0].command = "bad \xff end";
    put(snapshot);
    assert_int_equal(ask("SELECT command = 'bad \\xff end' FROM process_metrics"), 1);
}

static int count_events(void *context, const struct history_event *event)
{
    struct strbuf *all = context;

    strbuf_add(all, event->json, event->json_length);
    strbuf_addc(all, '\n');
    return 0;
}

static void events_come_back_as_the_socket_has_them(void **state)
{
    (void)state;
    struct event_sender sender = {.pid = 12, .name = "sh"};
    struct event events[] = {
        {.type = EVENT_KILL,
         .seen = SEEN_EVENT,
         .wall = {1763192570, 500000000},
         .pid = 9,
         .signal_num = 9,
         .sender = &sender,
         .job_id = "night",
         .has_sheet = true,
         .sheet_num = 4,
         .command = "sleep 1"},
        {.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .wall = {1763192571, 0}, .pid = 10},
    };
    struct job night = {.id = "night", .started = {1763190000, 1}};
    struct snapshot *snapshot = make(1, 0);
    struct strbuf all = STRBUF_INIT;

    snapshot->changed_jobs = &night;
    snapshot->changed_job_count = 1;
    snapshot->events = events;
    snapshot->event_count = 2;
    put(snapshot);
    struct history_reader *reader = open_reader();
    struct metron_error error = {0};
    if (history_read_events(reader, 0, NULL, 10, count_events, &all, &error) < 0)
        fail_msg("%s", error.message);
    assert_string_equal(
        strbuf_text(&all),
        "{\"timestamp\":1763192570.5,\"event_type\":\"kill\",\"pid\":9,\"signal_num\":9,"
        "\"sheet_num\":4,\"job_id\":\"night\",\"sender_pid\":12,\"sender\":\"sh\","
        "\"seen\":\"event\",\"command\":\"sleep 1\"}\n"
        "{\"timestamp\":1763192571,\"event_type\":\"spawn\",\"pid\":10,\"seen\":\"sampled\"}\n");
    strbuf_reset(&all);
    assert_int_equal(history_read_events(reader, 0, "night", 10, count_events, &all, NULL), 0);
    assert_null(strstr(strbuf_text(&all), "spawn"));
    assert_non_null(strstr(strbuf_text(&all), "kill"));
    strbuf_reset(&all);
    assert_int_equal(history_read_events(reader, 0, NULL, 1, count_events, &all, NULL), 0);
    assert_non_null(strstr(strbuf_text(&all), "spawn"));
    assert_null(strstr(strbuf_text(&all), "kill"));
    strbuf_fini(&all);
    history_reader_close(reader);
}

struct course {
    double rss[32];
    double at[32];
    size_t count;
};

static int follow(void *context, double timestamp, const struct snapshot_process *process)
{
    struct course *course = context;

    assert_int_equal(process->pid, 1002);
    assert_true(process->command != NULL);
    course->at[course->count] = timestamp - wall_base;
    course->rss[course->count++] = get_value(process, "rss_mb");
    assert_true(process->age_seconds > 1236 + course->at[course->count - 1]);
    return 0;
}

static void history_of_a_process_has_every_snapshot_it_was_in(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct snapshot *snapshot = make(i < 10 ? 5 : 2, i); /* it ends */

        if (i >= 4 && i < 10)
            set_value(&snapshot->processes[2], "rss_mb", 4096.0 * i);
        put(snapshot);
    }
    struct history_reader *reader = open_reader();
    struct course course = {0};
    const struct history_span all = {0, 1e11, 100}, late = {wall_base + 9, 1e11, 100};
    const struct history_span part = {wall_base + 10, wall_base + 20, 100};
    assert_int_equal(history_read_process(reader, all_columns(), 1002, 0, &late, follow, &course, NULL), 0);
    assert_int_equal(course.count, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(course.at[i] == (i + 2) * 5);
        assert_true(course.rss[i] == (i < 2 ? 4096 * (12345 + 2) : 4096 * (i + 2)));
    }
    course.count = 0;
    assert_int_equal(
        history_read_process(reader, all_columns(), 1002, 123456 + 14, &all, follow, &course, NULL), 0);
    assert_int_equal(course.count, 10);
    course.count = 0;
    assert_int_equal(history_read_process(reader, all_columns(), 1002, 1, &all, follow, &course, NULL), 0);
    assert_int_equal(course.count, 0);
    assert_int_equal(history_read_process(reader, all_columns(), 1002, 0, &part, follow, &course, NULL), 0);
    assert_int_equal(course.count, 2);
    assert_true(course.at[0] == 10 && course.at[1] == 15);
    history_reader_close(reader);
}

static int stop_third(void *context)
{
    return ++*(int *)context >= 3;
}

static void reading_ends_when_it_is_cancelled(void **state)
{
    (void)state;
    const struct history_span all = {0, 1e11, 100};
    struct kept kept = {0};
    int asked = 0;

    put(make(4000, 0));
    struct history_reader *reader = open_reader();
    history_reader_watch(reader, stop_third, &asked);
    assert_int_equal(history_read_snapshots(reader, all_columns(), &all, pool, keep, &kept, NULL),
                     -ECANCELED);
    assert_int_equal(asked, 3);
    assert_int_equal(kept.count, 0);
    history_reader_close(reader);
}

static void history_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct history_reader *reader = NULL;
    struct metron_error error = {0};

    assert_int_equal(history_reader_open("/nowhere/monitor.db", &reader, &error), -ENOENT);
    assert_null(reader);
    assert_non_null(strstr(error.message, "/nowhere/monitor.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(snapshot_comes_back_as_it_was),
        HISTORY_TEST(gpus_are_arrays_by_device_and_no_device_is_not_the_same_as_not_looked_at),
        HISTORY_TEST(snapshots_come_in_order_and_no_more_than_asked_for),
        HISTORY_TEST(idle_process_gets_no_second_row),
        HISTORY_TEST(row_holds_until_the_next_one_or_until_its_process_is_gone),
        HISTORY_TEST(all_processes_have_a_row_among_the_last_few),
        HISTORY_TEST(state_alone_is_a_change_and_so_is_absence),
        HISTORY_TEST(exec_and_reparenting_are_rows_of_one_process),
        HISTORY_TEST(reused_pid_is_another_process),
        HISTORY_TEST(ids_go_on_after_a_restart_and_all_are_opened_anew),
        HISTORY_TEST(text_that_is_no_utf8_is_stored_as_text),
        HISTORY_TEST(events_come_back_as_the_socket_has_them),
        HISTORY_TEST(history_of_a_process_has_every_snapshot_it_was_in),
        HISTORY_TEST(reading_ends_when_it_is_cancelled),
        HISTORY_TEST(history_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
