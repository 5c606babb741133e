/* The daemon's history, written and read back: what goes in comes out, through failures and restarts. What
 * other programs see in the file is looked at in tests/e2e/test_history_file.py. */
#include "store/history/history.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "snapshot_fixture.h"
#include "store/history/database.h"
#include "store/history/reader.h"

static char folder[64];
static char path[128];
static struct snapshot_pool *pool;
static struct history *history;
static double wall_base = 1763192573.25;

static void open_history(void)
{
    struct metron_error error = {0};
    struct history_options options = {.path = path, .busy_timeout_ms = 20};

    if (history_open(&options, &history, &error) < 0)
        fail_msg("%s", error.message);
}

static void reopen(void)
{
    history_close(history);
    open_history();
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-history-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/state/monitor.db", folder);
    pool = snapshot_pool_new();
    open_history();
    return pool ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];

    history_close(history);
    history = NULL;
    snapshot_pool_free(pool);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static struct snapshot *make(size_t count, unsigned tick)
{
    struct snapshot *snapshot = snapshot_of(pool, count);

    assert_non_null(snapshot);
    snapshot->wall.tv_sec += (time_t)tick * 5;
    snapshot->uptime_seconds = tick * 5;
    snapshot->has = SNAPSHOT_HAS_LOAD;
    snapshot->load[0] = 0.5;
    for (size_t i = 0; i < count; i++)
        snapshot->processes[i].age_seconds += tick * 5;
    return snapshot;
}

static void put(struct snapshot *snapshot)
{
    struct metron_error error = {0};

    if (history_write(history, snapshot, &error) < 0)
        fail_msg("%s", error.message);
    snapshot_release(snapshot);
}

static struct history_reader *open_reader(void)
{
    struct history_reader *reader = NULL;
    struct metron_error error = {0};

    if (history_reader_open(path, &reader, &error) < 0)
        fail_msg("%s", error.message);
    return reader;
}

static int64_t ask(const char *sql)
{
    sqlite3 *database = NULL;
    int64_t answer = -1;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(database_number(database, sql, &answer), 0);
    (void)sqlite3_close(database);
    return answer;
}

/* Snapshots that a visitor keeps. */
struct kept {
    struct snapshot *snapshots[16];
    size_t count;
};

static int keep(void *context, struct snapshot *snapshot)
{
    struct kept *kept = context;

    assert_true(kept->count < 16);
    kept->snapshots[kept->count++] = snapshot_hold(snapshot);
    return 0;
}

static struct kept read_back(double since, size_t limit)
{
    struct history_reader *reader = open_reader();
    struct kept kept = {0};
    struct metron_error error = {0};

    if (history_read_snapshots(reader, since, limit, pool, keep, &kept, &error) < 0)
        fail_msg("%s", error.message);
    history_reader_close(reader);
    return kept;
}

static void let_go(struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        snapshot_release(kept->snapshots[i]);
}

/* As JSON, which holds every field; the daemon's numbers of its processes are others. */
static void assert_same(const struct snapshot *a, const struct snapshot *b)
{
    struct strbuf texts[2] = {STRBUF_INIT, STRBUF_INIT};
    const struct snapshot *both[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        struct json json;

        json_init(&json, &texts[i], 0);
        snapshot_json(&json, both[i], NULL);
    }
    assert_string_equal(strbuf_text(&texts[0]), strbuf_text(&texts[1]));
    strbuf_fini(&texts[0]);
    strbuf_fini(&texts[1]);
}

static void snapshot_comes_back_as_it_was(void **state)
{
    (void)state;
    static struct snapshot_call calls[] = {{"read", 40, 0.75}, {"write", 7, 0.25}};
    struct snapshot_gpu gpus[] = {{.index = 1, .has_utilization = true, .utilization = 0.375},
                                  {.index = 3, .has_temperature = true, .temperature_celsius = 61}};
    struct snapshot_job jobs[] = {
        {.job_id = "night", .has_total = true, .total_sheets = 7, .status = "running"}};
    struct snapshot *snapshot = make(50, 0);

    for (size_t i = 0; i < 50; i++) {
        snapshot->processes[i].cpu = (double)i / 1000; /* what the store keeps of it */
        snapshot->processes[i].age_seconds = 1234.5 + (double)i;
    }
    snapshot->processes[3].calls = calls;
    snapshot->processes[3].call_count = 2;
    snapshot->processes[4].has = 0;
    snapshot->processes[5].state = 'Z';
    snapshot->zombie_count = 1;
    snapshot->gpus = gpus;
    snapshot->gpu_count = 2;
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

static void put_gpus(unsigned tick, struct snapshot_gpu *gpus, size_t count)
{
    struct snapshot *snapshot = make(1, tick);

    snapshot->gpus = gpus;
    snapshot->gpu_count = count;
    put(snapshot);
}

static void gpus_are_arrays_by_device_and_no_device_is_not_the_same_as_not_looked_at(void **state)
{
    struct snapshot_gpu gpus[] = {
        {0, true, true, true, 0.25, 3221225472, 85899345920, 40},
        {.index = 1, .has_memory = true, .memory_used_bytes = 1 << 30, .memory_total_bytes = 1 << 30},
    };

    (void)state;
    put_gpus(0, NULL, 0);
    put_gpus(12, gpus, 0); /* a minute later */
    put_gpus(24, gpus, 2);
    gpus[0].utilization = 0.75;
    gpus[0].temperature_celsius = 44;
    put_gpus(25, gpus, 2);
    put_gpus(48, NULL, 0);
    assert_int_equal(ask("SELECT count(*) FROM snapshots WHERE id IN (1, 5) AND gpu_count IS NULL"), 2);
    assert_int_equal(ask("SELECT gpu_count = 0 AND gpu_utilization_pct IS NULL FROM snapshots WHERE id = 2"),
                     1);
    assert_int_equal(ask("SELECT gpu_count = 2 AND gpu_utilization_pct = '[25,null]' AND gpu_memory_used_mb ="
                         " '[3072,1024]' AND gpu_temperature = '[40,null]' FROM snapshots WHERE id = 3"),
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
    assert_int_equal(
        ask("SELECT count(*) FROM snapshots_1m WHERE gpu_count = 2"
            " AND gpu_utilization_pct = '[28.846,null]' AND gpu_utilization_pct_max = '[75,null]'"
            " AND gpu_temperature_max = '[44,null]'"),
        1);
}

static void newest_snapshots_come_last_and_no_more_than_asked_for(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        put(make(3, i));
    struct kept kept = read_back(wall_base + 10, 4);
    assert_int_equal(kept.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kept.snapshots[i]->tick, 5 + i);
    assert_int_equal(kept.snapshots[0]->processes[1].serial, kept.snapshots[3]->processes[1].serial);
    let_go(&kept);
}

static void idle_process_gets_no_second_row(void **state)
{
    (void)state;
    put(make(20, 0));
    for (unsigned i = 1; i < 10; i++) {
        struct snapshot *snapshot = make(20, i);

        snapshot->processes[7].rss_bytes += i * 4096ULL;
        put(snapshot);
    }
    assert_int_equal(ask("SELECT count(*) FROM samples"), 29);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 200);
    assert_int_equal(ask("SELECT count(*) FROM processes"), 20);
}

static void state_alone_is_a_change_and_so_is_absence(void **state)
{
    (void)state;
    put(make(2, 0));
    struct snapshot *snapshot = make(2, 1);
    snapshot->processes[0].state = 'R';
    snapshot->processes[1].has &= ~(unsigned)PROCESS_HAS_FDS;
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

static void failed_write_leaves_nothing_and_the_next_is_whole(void **state)
{
    (void)state;
    sqlite3 *other = NULL;
    struct metron_error error = {0};

    put(make(10, 0));
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(database_run(other, "BEGIN IMMEDIATE"), 0);
    struct snapshot *refused = make(12, 1);
    refused->processes[3].rss_bytes += 4096;
    assert_int_equal(history_write(history, refused, &error), -EBUSY);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(database_run(other, "ROLLBACK"), 0);
    (void)sqlite3_close(other);
    struct snapshot *next = make(12, 2);
    next->processes[3].rss_bytes += 4096;
    assert_int_equal(history_write(history, next, &error), 0);
    assert_int_equal(history_last_id(history), 2);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 2);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE snapshot_id = 2"), 12);
    assert_int_equal(ask("SELECT count(*) FROM samples"), 13);
    snapshot_release(refused);
    snapshot_release(next);
}

/* A trigger that refuses stands for a disk that is full in the middle of a transaction. */
static void write_that_fails_half_way_is_undone(void **state)
{
    (void)state;
    struct event event = {.type = EVENT_OOM, .pid = 5, .job_id = "new job"};
    struct snapshot *snapshot = make(10, 1);

    put(make(5, 0));
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 1);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(database_run(other, "CREATE TRIGGER refuse BEFORE INSERT ON ticks BEGIN"
                                         " SELECT raise(ABORT, 'no'); END"),
                     0);
    snapshot->events = &event;
    snapshot->event_count = 1;
    assert_true(history_write(history, snapshot, NULL) < 0);
    assert_true(history_write(history, snapshot, NULL) < 0);
    assert_int_equal(ask("SELECT count(*) FROM processes") + ask("SELECT count(*) FROM events"), 5);
    assert_int_equal(database_run(other, "DROP TRIGGER refuse"), 0);
    (void)sqlite3_close(other);
    assert_int_equal(history_write(history, snapshot, NULL), 0);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE snapshot_id = 2"), 10);
    assert_int_equal(ask("SELECT count(*) FROM process_events WHERE job_id = 'new job'"), 1);
    snapshot_release(snapshot);
}

static void set_file_limit(rlim_t limit)
{
    struct rlimit limits;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
    limits.rlim_cur = limit < limits.rlim_max ? limit : limits.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void snapshot_that_found_no_room_leaves_no_gap(void **state)
{
    (void)state;
    struct snapshot_job jobs[] = {{.job_id = "night", .status = "running"}};
    struct metron_error error = {0};
    struct snapshot *snapshot = make(500, 1);

    (void)signal(SIGXFSZ, SIG_IGN);
    put(make(3, 0));
    snapshot->jobs = jobs;
    snapshot->job_count = 1;
    set_file_limit(256 * 1024);
    int code = 0;
    for (int i = 0; i < 100 && code == 0; i++) {
        snapshot->processes[i].rss_bytes += 4096;
        code = history_write(history, snapshot, &error);
        jobs[0].job_id = "day"; /* the last one tells of a new one */
    }
    int64_t written = history_last_id(history);
    assert_int_equal(code, -ENOSPC);
    jobs[0].job_id = "noon";
    assert_int_equal(history_write(history, snapshot, &error), -ENOSPC);
    set_file_limit(RLIM_INFINITY);
    assert_int_equal(history_write(history, snapshot, &error), 0);
    assert_int_equal(history_last_id(history), written + 1);
    assert_int_equal(ask("SELECT max(id) = count(*) FROM snapshots"), 1);
    struct kept kept = read_back(0, 1);
    assert_int_equal(kept.snapshots[0]->job_count, 1);
    assert_string_equal(kept.snapshots[0]->jobs[0].job_id, "noon");
    assert_int_equal(kept.snapshots[0]->process_count, 500);
    let_go(&kept);
    snapshot_release(snapshot);
}

static void ids_go_on_after_a_restart_and_all_are_opened_anew(void **state)
{
    (void)state;
    put(make(4, 0));
    put(make(4, 1));
    reopen();
    assert_int_equal(history_last_id(history), 2);
    assert_int_equal(ask("SELECT count(*) FROM processes WHERE last_seen IS NULL"), 0);
    put(make(4, 2));
    assert_int_equal(history_last_id(history), 3);
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
    struct snapshot *snapshot = make(1, 0);
    struct strbuf all = STRBUF_INIT;

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
    uint64_t rss[32];
    double at[32];
    size_t count;
};

static int follow(void *context, double timestamp, const struct snapshot_process *process)
{
    struct course *course = context;

    assert_int_equal(process->pid, 1002);
    assert_true(process->command != NULL);
    course->at[course->count] = timestamp - wall_base;
    course->rss[course->count++] = process->rss_bytes;
    assert_true(process->age_seconds > 1236 + course->at[course->count - 1]);
    return 0;
}

static void history_of_a_process_has_every_snapshot_it_was_in(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct snapshot *snapshot = make(i < 10 ? 5 : 2, i); /* it ends */

        if (i >= 4 && i < 10)
            snapshot->processes[2].rss_bytes = 4096ULL * i;
        put(snapshot);
    }
    struct history_reader *reader = open_reader();
    struct course course = {0};
    assert_int_equal(history_read_process(reader, 1002, 0, wall_base + 9, 100, follow, &course, NULL), 0);
    assert_int_equal(course.count, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(course.at[i] == (i + 2) * 5);
        assert_int_equal(course.rss[i], i < 2 ? 4096 * (12345 + 2) : 4096 * (i + 2));
    }
    course.count = 0;
    assert_int_equal(history_read_process(reader, 1002, 123456 + 14, 0, 100, follow, &course, NULL), 0);
    assert_int_equal(course.count, 10);
    course.count = 0;
    assert_int_equal(history_read_process(reader, 1002, 1, 0, 100, follow, &course, NULL), 0);
    assert_int_equal(course.count, 0);
    history_reader_close(reader);
}

static int take_job(void *context, const struct job *job)
{
    struct strbuf *all = context;
    struct json json;

    json_init(&json, all, 0);
    job_json(&json, job);
    return 0;
}

static struct job_sheet sheets[] = {
    {.number = 1,
     .status = SHEET_COMPLETED,
     .started = {1763190000, 123456789},
     .ended = {1763190005, 1},
     .tries = 2},
    {.number = 2,
     .status = SHEET_RUNNING,
     .pid = 44,
     .started = {1763190006, 0},
     .tries = 1,
     .usage =
         {.has = USAGE_HAS_RSS | USAGE_HAS_IO, .peak_rss_bytes = 4096, .read_bytes = 5, .write_bytes = 6}},
};
static struct job job = {
    .id = "night",
    .workspace = "/srv/w",
    .has_total = true,
    .total_sheets = 7,
    .status = JOB_RUNNING,
    .pid = 43,
    .started = {1763190000, 987654321},
    .usage = {.has = USAGE_HAS_CPU | USAGE_HAS_PSS,
              .cpu_seconds = 1.5,
              .peak_pss_bytes = 8192,
              .spawned = 4,
              .exited = 2,
              .spawned_is_exact = true,
              .unique_processes = 5,
              .peak_processes = 3},
    .sheets = sheets,
    .sheet_count = 2,
};

static void put_job(const struct job *changed, size_t count, unsigned tick)
{
    struct snapshot *snapshot = make(count, tick);
    static struct snapshot_call calls[] = {{"write", 7, 0.25}, {"read", 40, 0.75}};

    snapshot->changed_jobs = (struct job *)changed;
    snapshot->changed_job_count = changed ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        snapshot->processes[i].calls = calls;
        snapshot->processes[i].call_count = 2;
    }
    put(snapshot);
}

static void running_jobs_come_back_whole_after_a_restart(void **state)
{
    (void)state;
    struct strbuf wanted = STRBUF_INIT, found = STRBUF_INIT;

    put_job(&job, 4, 0);
    reopen();
    struct history_reader *reader = open_reader();
    (void)take_job(&wanted, &job);
    assert_int_equal(history_read_running_jobs(reader, take_job, &found, NULL), 0);
    assert_string_equal(strbuf_text(&wanted), strbuf_text(&found));
    strbuf_reset(&found);
    job.status = JOB_LOST; /* the daemon tells of the same one again: no second row */
    put_job(&job, 4, 1);
    assert_int_equal(history_read_running_jobs(reader, take_job, &found, NULL), 0);
    assert_int_equal(found.length, 0);
    assert_int_equal(ask("SELECT count(*) FROM jobs"), 1);
    job.status = JOB_RUNNING;
    history_reader_close(reader);
    strbuf_fini(&wanted);
    strbuf_fini(&found);
}

static void profile_has_the_calls_of_all_processes_of_the_last_job(void **state)
{
    (void)state;
    struct history_reader *reader = open_reader();
    struct history_profile profile;
    struct arena arena = {0};
    struct job again = job;

    put_job(&job, 6, 0); /* three of them are its */
    assert_int_equal(history_read_profile(reader, "night", &arena, &profile, NULL), 0);
    assert_int_equal(profile.job.sheet_count, 2);
    assert_int_equal(profile.call_count, 2);
    assert_string_equal(profile.calls[0].name, "read");
    assert_int_equal(profile.calls[0].count, 120);
    assert_true(profile.calls[0].seconds == 2.25);
    again.status = JOB_COMPLETED;
    again.ended = (struct timespec){1763190100, 0};
    put_job(&again, 6, 1);
    assert_int_equal(history_read_profile(reader, "night", &arena, &profile, NULL), 0);
    assert_int_equal(profile.job.status, JOB_COMPLETED);
    assert_int_equal(profile.calls[0].count, 120);
    again = (struct job){.id = "night", .started = {1763190200, 0}};
    put_job(&again, 0, 2); /* another of its name */
    assert_int_equal(history_read_profile(reader, "night", &arena, &profile, NULL), 0);
    assert_int_equal(profile.job.sheet_count, 0);
    assert_int_equal(profile.call_count, 0);
    struct metron_error error = {0};
    assert_int_equal(history_read_profile(reader, "day", &arena, &profile, &error), -ENOENT);
    assert_non_null(strstr(error.message, "day"));
    arena_fini(&arena);
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
        cmocka_unit_test_setup_teardown(snapshot_comes_back_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(
            gpus_are_arrays_by_device_and_no_device_is_not_the_same_as_not_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(newest_snapshots_come_last_and_no_more_than_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(idle_process_gets_no_second_row, setup, teardown),
        cmocka_unit_test_setup_teardown(state_alone_is_a_change_and_so_is_absence, setup, teardown),
        cmocka_unit_test_setup_teardown(exec_and_reparenting_are_rows_of_one_process, setup, teardown),
        cmocka_unit_test_setup_teardown(reused_pid_is_another_process, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_write_leaves_nothing_and_the_next_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(write_that_fails_half_way_is_undone, setup, teardown),
        cmocka_unit_test_setup_teardown(snapshot_that_found_no_room_leaves_no_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_go_on_after_a_restart_and_all_are_opened_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(text_that_is_no_utf8_is_stored_as_text, setup, teardown),
        cmocka_unit_test_setup_teardown(events_come_back_as_the_socket_has_them, setup, teardown),
        cmocka_unit_test_setup_teardown(history_of_a_process_has_every_snapshot_it_was_in, setup, teardown),
        cmocka_unit_test_setup_teardown(running_jobs_come_back_whole_after_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(profile_has_the_calls_of_all_processes_of_the_last_job, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(history_that_is_not_there_is_an_error, setup, teardown),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
