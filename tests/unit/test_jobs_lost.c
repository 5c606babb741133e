/* Jobs that nothing is left of are lost, after a restart at once, else after a minute; all others go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs_fixture.h"

#define LAST_HEARD 1700000100

static unsigned lost_count;
static char lost_name[16];

static void on_lost(void *context, const struct job *job)
{
    (void)context;
    lost_count++;
    (void)snprintf(lost_name, sizeof(lost_name), "%s", job->id);
}

/* As the daemon does with its first snapshot. */
static void first_tick(void)
{
    lost_count = 0;
    snapshot_release(snapshot);
    snapshot = snapshot_new(pool);
    assert_non_null(snapshot);
    tree_refresh(watch.tree);
    read_memory();
    jobs_settle_restored(jobs, (struct timespec){.tv_sec = LAST_HEARD}, on_lost, NULL);
    assert_int_equal(jobs_observe(jobs, snapshot), 0);
}

static struct job job_of(const char *name, pid_t pid, uint64_t start_ticks)
{
    return (struct job){.id = name,
                        .pid = pid,
                        .pid_start_ticks = start_ticks,
                        .started = {1700000000, 5},
                        .usage = {.present = USAGE_BIT(USAGE_CPU), .numbers = {[USAGE_CPU] = 5}}};
}

static void a_job_whose_process_is_gone_is_lost(void **state)
{
    begin(state);
    pid_t pid = start(body_that_waits);
    await_said(1);
    tree_refresh(watch.tree);
    uint64_t ticks = process_of(pid)->start_ticks;
    /* The pid is in use, by another process. */
    struct job_sheet sheets[] = {
        {.number = 1, .status = SHEET_COMPLETED, .tries = 1, .ended = {1700000050, 0}},
        {.number = 2, .status = SHEET_RUNNING, .pid = pid, .pid_start_ticks = ticks + 1, .tries = 1},
    };
    struct job gone = job_of("gone", pid, ticks + 1);
    gone.sheets = sheets;
    gone.sheet_count = 2;
    struct job living = job_of("living", pid, ticks);
    assert_int_equal(jobs_restore(jobs, &gone), 0);
    assert_int_equal(jobs_restore(jobs, &living), 0);
    first_tick();
    assert_int_equal(lost_count, 1);
    assert_string_equal(lost_name, "gone");
    assert_int_equal(found("gone")->status, JOB_LOST);
    assert_int_equal(found("gone")->ended.tv_sec, LAST_HEARD);
    assert_int_equal(found("gone")->sheets[0].status, SHEET_COMPLETED);
    assert_int_equal(found("gone")->sheets[0].ended.tv_sec, 1700000050);
    assert_int_equal(found("gone")->sheets[1].status, SHEET_LOST);
    assert_int_equal(found("gone")->sheets[1].ended.tv_sec, LAST_HEARD);
    assert_true(found("gone")->usage.numbers[USAGE_CPU] >= 5); /* what it had used is not forgotten */
    assert_non_null(changed("gone"));                          /* the store is told */
    assert_int_equal(changed("gone")->status, JOB_LOST);
    assert_int_equal(found("living")->status, JOB_RUNNING);
    assert_int_equal(jobs_running(jobs), 1);
    assert_int_equal(jobs_active_sheets(jobs), 0);
    let_go(1);
}

static void a_sheet_that_lives_keeps_its_job(void **state)
{
    begin(state);
    pid_t pid = start(body_that_waits);
    await_said(1);
    tree_refresh(watch.tree);
    uint64_t ticks = process_of(pid)->start_ticks;
    struct job_sheet sheet_of_job = {
        .number = 1, .status = SHEET_RUNNING, .pid = pid, .pid_start_ticks = ticks, .tries = 1};
    struct job job = job_of("a", 4000000, 77);
    job.sheets = &sheet_of_job;
    job.sheet_count = 1;
    assert_int_equal(jobs_restore(jobs, &job), 0);
    first_tick();
    assert_int_equal(lost_count, 0);
    assert_int_equal(found("a")->status, JOB_RUNNING);
    let_go(1);
}

/* It was acknowledged, and the daemon was killed before it took a snapshot: how long it ran is not known. */
static void the_time_without_a_daemon_is_no_part_of_a_lost_job(void **state)
{
    begin(state);
    jobs_note_boot(jobs, "this boot");
    assert_int_equal(start_job("now", 0), 0);
    struct job_usage usage = found("now")->usage;
    assert_true(usage_has(&usage, USAGE_BOOT_AT_START) && usage_has(&usage, USAGE_BOOT));
    struct job_sheet sheets[] = {
        {.number = 1,
         .status = SHEET_RUNNING,
         .pid = 4000000,
         .pid_start_ticks = 77,
         .tries = 1,
         .usage = usage},
        {.number = 2,
         .status = SHEET_RETRYING,
         .pid = 4000000,
         .pid_start_ticks = 77,
         .tries = 1,
         .usage = usage},
    };
    usage_set(&sheets[1].usage, USAGE_WALL, 3);
    struct job job = job_of("a", 4000000, 77), seen = job_of("seen", 4000000, 77);
    job.usage = seen.usage = usage;
    job.sheets = sheets;
    job.sheet_count = 2;
    usage_set(&seen.usage, USAGE_WALL, 4);
    assert_int_equal(jobs_restore(jobs, &job), 0);
    assert_int_equal(jobs_restore(jobs, &seen), 0);
    first_tick();
    assert_int_equal(lost_count, 2);
    assert_false(usage_has(&found("a")->usage, USAGE_WALL));
    assert_false(usage_has(&found("a")->sheets[0].usage, USAGE_WALL));
    assert_true(found("a")->sheets[1].usage.numbers[USAGE_WALL] == 3);
    assert_true(found("seen")->usage.numbers[USAGE_WALL] == 4);
}

/* Nobody saw who was born while the daemon was away; who goes on is not another one. */
static void what_was_missed_meanwhile_is_told(void **state)
{
    begin(state);
    pid_t pid = start(body_that_waits);
    await_said(1);
    tree_refresh(watch.tree);
    uint64_t ticks = process_of(pid)->start_ticks;
    struct job_sheet sheet_of_job = {
        .number = 1,
        .status = SHEET_RUNNING,
        .pid = pid,
        .pid_start_ticks = ticks,
        .tries = 1,
        .usage = {.numbers = {[USAGE_SPAWNED_IS_EXACT] = true, [USAGE_UNIQUE_PROCESSES] = 3}}};
    struct job job = job_of("a", pid, ticks);
    job.usage.numbers[USAGE_SPAWNED_IS_EXACT] = true;
    job.usage.numbers[USAGE_UNIQUE_PROCESSES] = 7;
    job.sheets = &sheet_of_job;
    job.sheet_count = 1;
    assert_int_equal(jobs_restore(jobs, &job), 0);
    first_tick();
    assert_int_equal(found("a")->usage.numbers[USAGE_UNIQUE_PROCESSES], 7);
    assert_int_equal(found("a")->sheets[0].usage.numbers[USAGE_UNIQUE_PROCESSES], 3);
    assert_false(found("a")->usage.numbers[USAGE_SPAWNED_IS_EXACT]);
    assert_false(found("a")->sheets[0].usage.numbers[USAGE_SPAWNED_IS_EXACT]);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0); /* another try of it */
    tick();
    assert_false(found("a")->sheets[0].usage.numbers[USAGE_SPAWNED_IS_EXACT]);
    let_go(1);
}

static void a_job_without_a_process_stays(void **state)
{
    begin(state);
    struct job never_told = job_of("told of none", 0, 0), never_seen = job_of("not seen", 4000000, 0);
    assert_int_equal(jobs_restore(jobs, &never_told), 0);
    assert_int_equal(jobs_restore(jobs, &never_seen), 0);
    first_tick();
    assert_int_equal(lost_count, 0);
    assert_int_equal(jobs_running(jobs), 2);
}

static void whoever_announced_a_lost_job_may_tell_how_it_ended(void **state)
{
    begin(state);
    struct job job = job_of("a", 4000000, 77);
    assert_int_equal(jobs_restore(jobs, &job), 0);
    first_tick();
    assert_int_equal(lost_count, 1);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), -ENOENT);
    assert_non_null(strstr(why.message, "job 'a' has ended and is lost"));
    assert_int_equal(finish("a"), 0);
    assert_int_equal(found("a")->status, JOB_COMPLETED);
    assert_int_equal(found("a")->ended.tv_sec, LAST_HEARD);
    tick();
    assert_non_null(changed("a"));
    assert_int_equal(changed("a")->status, JOB_COMPLETED);
    assert_int_equal(finish("a"), -ENOENT);
    assert_int_equal(jobs_running(jobs), 0);
}

/* ---- while the daemon runs ---- */

#define PATIENCE_NS (60 * NS_PER_SECOND)
#define AT(seconds) ((uint64_t)((seconds) * (double)NS_PER_SECOND) + 1)

/* A pass, at a time of our own. */
static void pass_at(double seconds)
{
    lost_count = 0;
    tick();
    jobs_lose_abandoned(jobs, AT(seconds), PATIENCE_NS, on_lost, NULL);
}

static int start_with_runner(const char *name, pid_t pid, pid_t runner)
{
    const struct job_start options = {.job_id = name, .pid = pid, .runner = runner, .owner = getuid()};

    return jobs_start(jobs, &options, NULL);
}

static pid_t start_waiting(void)
{
    pid_t pid = start(body_that_waits);

    await_said(1);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_job_is_lost_a_minute_after_its_last_process_exited(void **state)
{
    begin(state);
    pid_t pid = start_waiting();
    assert_int_equal(start_job("a", pid), 0);
    pass_at(0);
    pass_at(1000);
    assert_int_equal(lost_count, 0); /* it lives */
    struct timespec before = clock_wall();
    end(pid);
    pass_at(2000);
    struct timespec after = clock_wall();
    pass_at(2059.9);
    assert_int_equal(lost_count, 0);
    assert_int_equal(found("a")->status, JOB_RUNNING);
    pass_at(2060);
    assert_int_equal(lost_count, 1);
    assert_int_equal(found("a")->status, JOB_LOST);
    assert_in_range(found("a")->ended.tv_sec, before.tv_sec, after.tv_sec); /* not a minute later */
    assert_int_equal(jobs_running(jobs), 0);
    tick();
    assert_non_null(changed("a"));
    assert_int_equal(changed("a")->status, JOB_LOST);
    pass_at(9999);
    assert_int_equal(lost_count, 0); /* once */
    assert_int_equal(finish("a"), 0);
    assert_int_equal(found("a")->status, JOB_COMPLETED);
}

static void a_runner_that_lives_keeps_its_job(void **state)
{
    begin(state);
    pid_t pid = start_waiting(), runner = start_waiting();
    assert_int_equal(start_with_runner("both", pid, runner), 0);
    assert_int_equal(start_with_runner("runner", 0, runner), 0); /* as `run --job --sheet` does */
    assert_int_equal(found("both")->runner, runner);
    end(pid);
    pass_at(0);
    pass_at(1000);
    assert_int_equal(lost_count, 0);
    end(runner);
    pass_at(2000);
    assert_int_equal(lost_count, 0);
    pass_at(2060);
    assert_int_equal(lost_count, 2);
    assert_int_equal(found("both")->status, JOB_LOST);
    assert_int_equal(found("runner")->status, JOB_LOST);
}

static void the_runner_of_a_sheet_keeps_the_job(void **state)
{
    begin(state);
    pid_t pid = start_waiting(), runner = start_waiting();
    const struct sheet_start of_runner = {.runner = runner};
    assert_int_equal(start_job("a", pid), 0);
    assert_int_equal(jobs_sheet(jobs, "a", 1, SHEET_EVENT_STARTED, &of_runner, NULL, NULL), 0);
    assert_int_equal(found("a")->sheets[0].runner, runner);
    end(pid);
    pass_at(0);
    pass_at(1000);
    assert_int_equal(lost_count, 0);
    assert_int_equal(found("a")->sheets[0].status, SHEET_RUNNING);
    end(runner);
    pass_at(2000);
    pass_at(2060);
    assert_int_equal(lost_count, 1);
    assert_int_equal(found("a")->sheets[0].status, SHEET_LOST);
}

static void a_process_keeps_its_job_though_the_runner_has_exited(void **state)
{
    begin(state);
    pid_t pid = start_waiting(), runner = start_waiting();
    assert_int_equal(start_with_runner("a", pid, runner), 0);
    end(runner);
    pass_at(0);
    pass_at(1000);
    assert_int_equal(lost_count, 0);
    end(pid);
    pass_at(1001);
    pass_at(1061);
    assert_int_equal(lost_count, 1);
}

static void a_job_with_neither_pid_nor_runner_stays(void **state)
{
    begin(state);
    pid_t pid = start_waiting();
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    assert_int_equal(start_with_runner("not watched", 0, 4000000), 0);
    assert_int_equal(found("not watched")->runner, 0);
    end(pid);
    pass_at(0);
    pass_at(1000);
    assert_int_equal(lost_count, 0);
    assert_int_equal(found("a")->status, JOB_RUNNING);
    assert_int_equal(found("not watched")->status, JOB_RUNNING);
    /* Its sheet was announced with a process. */
    assert_int_equal(found("a")->sheets[0].status, SHEET_LOST);
    assert_int_equal(jobs_active_sheets(jobs), 0);
    tick();
    assert_int_equal(sheet("a", 1, SHEET_EVENT_FAILED, 0), 0);
    assert_int_equal(found("a")->sheets[0].status, SHEET_FAILED);
}

static void a_minute_begins_anew_if_somebody_came_meanwhile(void **state)
{
    begin(state);
    pid_t pid = start_waiting(), next = start_waiting();
    assert_int_equal(start_job("a", pid), 0);
    end(pid);
    pass_at(0);
    pass_at(50);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, next), 0);
    pass_at(70);
    assert_int_equal(lost_count, 0);
    end(next);
    pass_at(80);
    pass_at(139);
    assert_int_equal(lost_count, 0);
    pass_at(140);
    assert_int_equal(lost_count, 1);
    assert_int_equal(found("a")->sheets[0].status, SHEET_LOST);
}

static void a_sheet_that_will_be_tried_again_is_not_lost(void **state)
{
    begin(state);
    pid_t pid = start_waiting();
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    end(pid);
    pass_at(0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_RETRYING, 0), 0);
    pass_at(1000);
    assert_int_equal(found("a")->sheets[0].status, SHEET_RETRYING);
}

static void a_restored_job_whose_runner_lives_goes_on_and_is_lost_with_it(void **state)
{
    begin(state);
    pid_t runner = start_waiting();
    tree_refresh(watch.tree);
    struct job job = job_of("a", 4000000, 77), gone = job_of("gone", 0, 0);
    job.runner = runner;
    job.runner_start_ticks = process_of(runner)->start_ticks;
    gone.runner = runner;
    gone.runner_start_ticks = job.runner_start_ticks + 1; /* another process has its pid */
    assert_int_equal(jobs_restore(jobs, &job), 0);
    assert_int_equal(jobs_restore(jobs, &gone), 0);
    first_tick();
    assert_int_equal(lost_count, 1);
    assert_string_equal(lost_name, "gone");
    assert_int_equal(found("a")->status, JOB_RUNNING);
    end(runner);
    pass_at(0);
    pass_at(60);
    assert_int_equal(lost_count, 1);
    assert_string_equal(lost_name, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_WAYS(a_job_whose_process_is_gone_is_lost),
        JOB_WAYS(a_sheet_that_lives_keeps_its_job),
        JOB_WAYS(the_time_without_a_daemon_is_no_part_of_a_lost_job),
        JOB_WAYS(what_was_missed_meanwhile_is_told),
        JOB_WAYS(a_job_without_a_process_stays),
        JOB_WAYS(whoever_announced_a_lost_job_may_tell_how_it_ended),
        JOB_WAYS(a_job_is_lost_a_minute_after_its_last_process_exited),
        JOB_WAYS(a_runner_that_lives_keeps_its_job),
        JOB_WAYS(the_runner_of_a_sheet_keeps_the_job),
        JOB_WAYS(a_process_keeps_its_job_though_the_runner_has_exited),
        JOB_WAYS(a_job_with_neither_pid_nor_runner_stays),
        JOB_WAYS(a_minute_begins_anew_if_somebody_came_meanwhile),
        JOB_WAYS(a_sheet_that_will_be_tried_again_is_not_lost),
        JOB_WAYS(a_restored_job_whose_runner_lives_goes_on_and_is_lost_with_it),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
