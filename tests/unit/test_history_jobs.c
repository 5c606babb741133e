/* Jobs and sheets in the history: as they were, also after a restart. */
#include "history_fixture.h"

static int take_job(void *context, const struct job *job)
{
    struct strbuf *all = context;
    struct json json;

    json_init(&json, all, 0);
    job_json(&json, job);
    return 0;
}

static const struct snapshot_call sheet_calls[] = {{"read", 40, 0.75}, {"write", 7, 0.25}};
static struct job_sheet sheets[] = {
    {.number = 1,
     .status = SHEET_COMPLETED,
     .own_cgroup = OWN_CGROUP_HELD,
     .started = {1763190000, 123456789},
     .ended = {1763190005, 1},
     .tries = 2,
     .usage = {.present =
                   USAGE_BIT(USAGE_CGROUP_CPU) | USAGE_BIT(USAGE_PEAK_CGROUP) | USAGE_BIT(USAGE_OOM_KILLS),
               .numbers = {[USAGE_CGROUP_CPU] = 0.75, [USAGE_PEAK_CGROUP] = 1 << 20, [USAGE_OOM_KILLS] = 3}},
     .calls = sheet_calls,
     .call_count = 2},
    {.number = 2,
     .status = SHEET_RUNNING,
     .own_cgroup = OWN_CGROUP_REFUSED,
     .pid = 44,
     .started = {1763190006, 0},
     .tries = 1,
     .usage = {.present = USAGE_BIT(USAGE_PEAK_RSS) | USAGE_BIT(USAGE_READ) | USAGE_BIT(USAGE_WRITTEN),
               .numbers = {[USAGE_PEAK_RSS] = 4096, [USAGE_READ] = 5, [USAGE_WRITTEN] = 6}}},
};
static struct job job = {
    .id = "night",
    .workspace = "/srv/w",
    .has_total = true,
    .total_sheets = 7,
    .status = JOB_RUNNING,
    .pid = 43,
    .own_cgroup = OWN_CGROUP_HELD,
    .started = {1763190000, 987654321},
    .usage = {.present = USAGE_BIT(USAGE_CPU) | USAGE_BIT(USAGE_PEAK_PSS),
              .numbers = {[USAGE_CPU] = 1.5,
                          [USAGE_PEAK_PSS] = 8192,
                          [USAGE_SPAWNED] = 4,
                          [USAGE_EXITED] = 2,
                          [USAGE_SPAWNED_IS_EXACT] = true,
                          [USAGE_UNIQUE_PROCESSES] = 5,
                          [USAGE_PEAK_PROCESSES] = 3}},
    .sheets = sheets,
    .sheet_count = 2,
};

/* One has ended, and its name is used again before the next snapshot. */
static void two_of_one_name_keep_their_calls_apart(void **state)
{
    (void)state;
    static const struct snapshot_call old_calls[] = {{"read", 1, 0.5}}, new_calls[] = {{"write", 2, 0.25}};
    struct job both[] = {
        {.id = "night",
         .status = JOB_COMPLETED,
         .started = {1763190000, 1},
         .calls = old_calls,
         .call_count = 1},
        {.id = "night",
         .status = JOB_RUNNING,
         .started = {1763190001, 2},
         .calls = new_calls,
         .call_count = 1},
    };
    struct snapshot *snapshot = make(0, 0);

    snapshot->changed_jobs = both;
    snapshot->changed_job_count = 2;
    put(snapshot);
    assert_int_equal(
        ask("SELECT count(*) FROM jobs WHERE status = 'completed' AND hotspots LIKE '{\"read\"%'"), 1);
    assert_int_equal(
        ask("SELECT count(*) FROM jobs WHERE status = 'running' AND hotspots LIKE '{\"write\"%'"), 1);
}

static void write_job(struct job *changed)
{
    struct snapshot *snapshot = make(0, 0);

    snapshot->changed_jobs = changed;
    snapshot->changed_job_count = 1;
    assert_int_equal(history_write_jobs(history, snapshot, NULL), 0);
    snapshot_release(snapshot);
}

/* Between two snapshots, and out of order: the one that has ended is written again after its successor. */
static void a_job_that_is_written_again_keeps_its_row(void **state)
{
    (void)state;
    struct job old = {.id = "night", .started = {1763190000, 1}},
               next = {.id = "night", .started = {1763190009, 2}};
    struct job *const written[] = {&old, &next, &old, &next};

    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        old.status = i == 2 ? JOB_FAILED : JOB_COMPLETED;
        write_job(written[i]);
    }
    assert_int_equal(ask("SELECT count(*) FROM jobs"), 2);
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE id = 1 AND status = 'failed'"), 1);
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE id = 2 AND status = 'running'"), 1);
    assert_int_equal(ask("SELECT count(*) FROM ticks"), 0);
}

static void what_happened_to_a_job_is_written_with_it(void **state)
{
    (void)state;
    struct job job = {.id = "night", .started = {1763190000, 1}};
    const struct event event = {
        .type = EVENT_OF_JOB, .name = "job.started", .job_id = "night", .wall = {1763190000, 1}};
    struct snapshot *snapshot = make(0, 0);

    snapshot->changed_jobs = &job;
    snapshot->changed_job_count = 1;
    assert_int_equal(snapshot_add_event(snapshot, &event), 0);
    assert_int_equal(history_write_jobs(history, snapshot, NULL), 0);
    snapshot_release(snapshot);
    assert_int_equal(
        ask("SELECT count(*) FROM process_events WHERE job_id = 'night' AND event_type = 'job.started'"), 1);
    assert_int_equal(ask("SELECT count(*) FROM ticks"), 0);
}

/* How the first one ended was never stored. */
static void of_one_name_only_the_last_one_runs_on(void **state)
{
    (void)state;
    struct strbuf found = STRBUF_INIT;
    struct job old = {.id = "night", .started = {1763190000, 1}},
               next = {.id = "night", .started = {1763190009, 2}};
    struct job other = {.id = "day", .started = {1763190003, 0}};

    for (int i = 0; i < 3; i++) {
        struct snapshot *snapshot = make(0, (unsigned)i);
        snapshot->changed_jobs = i == 0 ? &old : i == 1 ? &other : &next;
        snapshot->changed_job_count = 1;
        put(snapshot);
    }
    reopen();
    struct history_reader *reader = open_reader();
    assert_int_equal(history_read_running_jobs(reader, take_job, &found, NULL), 0);
    assert_null(strstr(strbuf_text(&found), "\"started\":1763190000."));
    assert_non_null(strstr(strbuf_text(&found), "\"started\":1763190009"));
    assert_non_null(strstr(strbuf_text(&found), "\"job_id\":\"day\""));
    assert_int_equal(
        ask("SELECT count(*) FROM jobs WHERE status = 'lost' AND ended_ns = 1763190009000000002"), 1);
    history_reader_close(reader);
    strbuf_fini(&found);
}

static int take_members(void *context, const struct job *found)
{
    const struct job_member *members = found->members;

    *(unsigned *)context += 1;
    assert_int_equal(found->runner, 41);
    assert_int_equal(found->runner_start_ticks, 77);
    assert_true(found->usage.numbers[USAGE_CPU_IS_LOW]);
    assert_int_equal(found->members_ticks, 123456);
    assert_int_equal(found->member_count, 2);
    assert_int_equal(members[0].pid, 43);
    assert_int_equal(members[0].start_ticks, 99);
    assert_true(members[0].cpu_seconds == 1.25 && members[0].child_cpu_seconds == 0.5);
    assert_int_equal(members[0].read_bytes, 8);
    assert_int_equal(members[0].write_bytes, 9);
    assert_false(members[0].has_sheet);
    assert_true(members[1].has_sheet);
    assert_int_equal(members[1].sheet_num, -3);
    assert_int_equal(found->sheets[0].runner, 42);
    assert_int_equal(found->sheets[0].runner_start_ticks, 78);
    return 0;
}

/* From where the next daemon counts on, and whether somebody is left to report the end. */
static void the_members_and_the_runner_of_a_job_are_kept(void **state)
{
    (void)state;
    struct job_member members[] = {{43, 99, 1.25, 0.5, 8, 9, false, 0}, {44, 100, 0, 0, 0, 0, true, -3}};
    struct job_sheet of_runner = {.number = -3, .tries = 1, .runner = 42, .runner_start_ticks = 78};
    struct job running = {.id = "night",
                          .started = {1763190000, 1},
                          .runner = 41,
                          .runner_start_ticks = 77,
                          .usage = {.numbers = {[USAGE_CPU_IS_LOW] = true}},
                          .sheets = &of_runner,
                          .sheet_count = 1,
                          .members = members,
                          .member_count = 2,
                          .members_ticks = 123456};
    struct snapshot *snapshot = make(0, 0);
    unsigned found = 0;

    snapshot->changed_jobs = &running;
    snapshot->changed_job_count = 1;
    put(snapshot);
    reopen();
    struct history_reader *reader = open_reader();
    assert_int_equal(history_read_running_jobs(reader, take_members, &found, NULL), 0);
    assert_int_equal(found, 1);
    history_reader_close(reader);
}

static void members_are_written_when_they_change_and_go_with_the_job(void **state)
{
    (void)state;
    struct job_member member = {.pid = 43, .start_ticks = 99, .cpu_seconds = 1};
    struct job running = {
        .id = "night", .started = {1763190000, 1}, .members = &member, .member_count = 1, .members_ticks = 5};

    write_job(&running);
    running.members_ticks = 6;
    write_job(&running);
    assert_int_equal(ask("SELECT json_extract(members, '$[0]') FROM job_members"), 5);
    member.cpu_seconds = 2;
    write_job(&running);
    assert_int_equal(ask("SELECT json_extract(members, '$[0]') FROM job_members"), 6);
    running.status = JOB_COMPLETED;
    write_job(&running);
    assert_int_equal(ask("SELECT count(*) FROM job_members"), 0);
}

static int take_owner(void *context, const struct job *found)
{
    *(uid_t *)context = found->owner;
    return 0;
}

static void whose_a_job_is_is_kept(void **state)
{
    (void)state;
    struct job of_user = {.id = "night", .started = {1763190000, 1}, .owner = 4711};
    struct snapshot *snapshot = make(0, 0);
    uid_t owner = 0;

    snapshot->changed_jobs = &of_user;
    snapshot->changed_job_count = 1;
    put(snapshot);
    reopen();
    struct history_reader *reader = open_reader();
    assert_int_equal(history_read_running_jobs(reader, take_owner, &owner, NULL), 0);
    assert_int_equal(owner, 4711);
    history_reader_close(reader);
}

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

/* A daemon that does not count them knows nothing of those that one before it counted. */
static void calls_of_a_sheet_stay_where_they_are_not_counted_any_more(void **state)
{
    (void)state;
    struct history_reader *reader = open_reader();
    struct history_profile profile;
    struct arena arena = {0};

    put_job(&job, 0, 0);
    sheets[0].calls = NULL;
    put_job(&job, 0, 1);
    sheets[0].calls = sheet_calls;
    assert_int_equal(history_read_profile(reader, "night", &arena, &profile, NULL), 0);
    assert_int_equal(profile.job.sheets[0].call_count, 2);
    assert_int_equal(profile.job.sheets[0].calls[0].count, 40);
    assert_null(profile.job.sheets[1].calls);
    arena_fini(&arena);
    history_reader_close(reader);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(running_jobs_come_back_whole_after_a_restart),
        HISTORY_TEST(two_of_one_name_keep_their_calls_apart),
        HISTORY_TEST(a_job_that_is_written_again_keeps_its_row),
        HISTORY_TEST(what_happened_to_a_job_is_written_with_it),
        HISTORY_TEST(the_members_and_the_runner_of_a_job_are_kept),
        HISTORY_TEST(members_are_written_when_they_change_and_go_with_the_job),
        HISTORY_TEST(of_one_name_only_the_last_one_runs_on),
        HISTORY_TEST(whose_a_job_is_is_kept),
        HISTORY_TEST(calls_of_a_sheet_stay_where_they_are_not_counted_any_more),
        HISTORY_TEST(profile_has_the_calls_of_all_processes_of_the_last_job),
    };

    return cmocka_run_group_tests_name("history_jobs", tests, NULL, NULL);
}
