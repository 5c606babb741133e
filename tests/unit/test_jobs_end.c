/* How jobs and sheets ended, and what is reported of them after that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs_fixture.h"

static pid_t start_waiting(void)
{
    pid_t pid = start(body_that_waits);

    await_said(1);
    return pid;
}

static bool is_low(const struct job_usage *usage)
{
    double seconds;
    bool low = false;

    assert_non_null(job_usage_cpu(usage, &seconds, &low));
    return low;
}

static struct job_usage usage_of(double cpu_seconds, bool low)
{
    struct job_usage usage = {0};

    usage_set(&usage, USAGE_CPU, cpu_seconds);
    usage_set(&usage, USAGE_CPU_IS_LOW, low);
    usage_set(&usage, USAGE_SPAWNED_IS_EXACT, !low);
    return usage;
}

static void end_sheet(int64_t number, const struct job_usage *reported)
{
    assert_int_equal(
        jobs_sheet(jobs, "a", number, SHEET_EVENT_COMPLETED, &(struct sheet_start){0}, reported, NULL), 0);
}

/* The daemon is another one since, and did not see all of it; a client that comes later did not either. */
static void a_second_end_makes_nothing_exact(void **state)
{
    begin(state);
    const struct job_usage low = usage_of(5, true);
    struct job_usage whole = usage_of(6, false);
    usage_set(&whole, USAGE_EXIT_CPU, 6);
    usage_set(&whole, USAGE_CGROUP_CPU, 6);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), 0);
    end_sheet(1, &low);
    const struct job_usage *usage = &found("a")->sheets[0].usage;
    assert_true(is_low(usage));
    end_sheet(1, &whole);
    assert_true(is_low(usage));
    assert_true(usage->numbers[USAGE_CPU] == 6); /* nothing that was reported is forgotten */
    assert_true(usage->numbers[USAGE_SPAWNED_IS_EXACT] == 0);
}

static void an_exact_end_stays_exact(void **state)
{
    begin(state);
    struct job_usage whole = usage_of(6, false);
    usage_set(&whole, USAGE_EXIT_CPU, 6);
    pid_t pid = start_waiting();
    assert_int_equal(start_job("a", pid), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    end_sheet(1, &whole);
    end_sheet(1, &whole);
    const struct job_usage *usage = &found("a")->sheets[0].usage;
    assert_false(is_low(usage));
    assert_true(usage->numbers[USAGE_SPAWNED_IS_EXACT] != 0);
    assert_true(usage->numbers[USAGE_EXIT_CPU] == 6);
    let_go(1);
}

static void ignore_lost(void *context, const struct job *job)
{
    (void)context;
    (void)job;
}

static void the_end_of_a_lost_job_makes_nothing_exact(void **state)
{
    begin(state);
    struct job_usage whole = usage_of(6, false);
    usage_set(&whole, USAGE_EXIT_CPU, 6);
    const struct job job = {.id = "a",
                            .pid = 4000000,
                            .pid_start_ticks = 77,
                            .started = {1700000000, 5},
                            .usage = usage_of(5, true)};
    assert_int_equal(jobs_restore(jobs, &job), 0);
    tick();
    jobs_settle_restored(jobs, (struct timespec){.tv_sec = 1700000100}, ignore_lost, NULL);
    assert_int_equal(found("a")->status, JOB_LOST);
    assert_int_equal(jobs_finish(jobs, "a", JOB_COMPLETED, &whole, NULL), 0);
    assert_int_equal(found("a")->status, JOB_COMPLETED);
    assert_true(is_low(&found("a")->usage));
    assert_true(found("a")->usage.numbers[USAGE_SPAWNED_IS_EXACT] == 0);
}

/* As the tree has it once it has exited. */
static void note_end(pid_t pid, int wait_status)
{
    struct process ended = *process_of(pid);

    ended.has_status = true;
    ended.wait_status = wait_status;
    jobs_note_end(jobs, &ended);
}

static void a_command_ended_in_one_way_and_the_store_hears_of_it(void **state)
{
    begin(state);
    pid_t pid = start_waiting();
    assert_int_equal(start_job("a", pid), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    tick();
    tick();
    assert_null(changed("a"));
    note_end(pid, 3 << 8);
    tick();
    assert_non_null(changed("a"));
    assert_int_equal(changed("a")->sheet_count, 1);
    assert_true(changed("a")->usage.numbers[USAGE_EXIT_CODE] == 3);
    note_end(pid, SIGKILL);
    const struct job_usage *of_job = &found("a")->usage, *of_sheet = &found("a")->sheets[0].usage;
    assert_false(usage_has(of_job, USAGE_EXIT_CODE) || usage_has(of_sheet, USAGE_EXIT_CODE));
    assert_true(of_job->numbers[USAGE_SIGNAL] == SIGKILL && of_sheet->numbers[USAGE_SIGNAL] == SIGKILL);
    let_go(1);
}

/* The runner's 128+N, and the signal that the kernel reports a moment later. */
static void how_a_sheet_ended_is_what_its_runner_reported(void **state)
{
    begin(state);
    pid_t pid = start_waiting();
    struct job_usage reported = {0};
    usage_set(&reported, USAGE_EXIT_CODE, 137);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    end_sheet(1, &reported);
    note_end(pid, SIGKILL);
    const struct job_usage *usage = &found("a")->sheets[0].usage;
    assert_true(usage->numbers[USAGE_EXIT_CODE] == 137);
    assert_false(usage_has(usage, USAGE_SIGNAL));
    let_go(1);
}

static int by_runner(enum sheet_event event, pid_t runner)
{
    return jobs_sheet(jobs, "a", 1, event, &(struct sheet_start){.runner = runner}, NULL, NULL);
}

static void who_descends_from_the_runner_of_a_sheet_does_not_change_it(void **state)
{
    begin(state);
    pid_t within = start_waiting();
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(by_runner(SHEET_EVENT_STARTED, getpid()), 0);
    assert_int_equal(by_runner(SHEET_EVENT_STARTED, within), -EPERM);
    assert_int_equal(by_runner(SHEET_EVENT_RETRYING, within), -EPERM);
    assert_int_equal(by_runner(SHEET_EVENT_FAILED, within), -EPERM);
    const struct job_sheet *it = &found("a")->sheets[0];
    assert_int_equal(it->status, SHEET_RUNNING);
    assert_int_equal(it->runner, getpid());
    assert_int_equal(it->tries, 1);
    assert_int_equal(by_runner(SHEET_EVENT_COMPLETED, getpid()), 0);
    assert_int_equal(by_runner(SHEET_EVENT_STARTED, within), 0);
    assert_int_equal(it->tries, 2);
    assert_int_equal(by_runner(SHEET_EVENT_COMPLETED, getpid()), 0); /* the other way round it may */
    let_go(1);
}

/* ---- a run within a run that is faster to announce its sheet ---- */

static pid_t family[3]; /* the command of the outer run, the inner one, and its command */

static void body_of_family(void)
{
    for (int i = 0; i < 2 && fork() == 0; i++)
        ;
    body_that_waits();
}

static void start_family(void)
{
    family[0] = start(body_of_family);
    await_said(3);
    tick();
    for (int child = 1; child < 3; child++)
        for (int i = 0; i < 3; i++)
            if (process_of(shared->pids[i])->stat.ppid == family[child - 1])
                family[child] = shared->pids[i];
}

static void announce(int64_t number, pid_t pid, pid_t runner)
{
    const struct sheet_start options = {.pid = pid, .runner = runner};

    assert_int_equal(jobs_sheet(jobs, "a", number, SHEET_EVENT_STARTED, &options, NULL, NULL), 0);
}

static void a_sheet_that_was_announced_before_the_one_around_it_is_within(void **state)
{
    begin(state);
    start_family();
    assert_int_equal(start_job("a", 0), 0);
    announce(2, family[2], family[1]);
    announce(1, family[0], getpid());
    tick();
    for (int i = 0; i < 3; i++)
        assert_int_equal(process_of(family[i])->group->sheet_num, i < 2 ? 1 : 2);
    assert_false(usage_has(&found("a")->sheets[0].usage, USAGE_IS_WITHIN));
    assert_true(usage_has(&found("a")->sheets[1].usage, USAGE_IS_WITHIN));
    let_go(1);
}

static void the_outer_run_of_a_sheet_takes_it_over(void **state)
{
    begin(state);
    start_family();
    assert_int_equal(start_job("a", 0), 0);
    announce(1, family[2], family[1]);
    announce(1, family[0], getpid());
    const struct job_sheet *it = &found("a")->sheets[0];
    assert_int_equal(it->runner, getpid());
    assert_int_equal(it->tries, 1);
    assert_int_equal(by_runner(SHEET_EVENT_COMPLETED, family[1]), -EPERM);
    assert_int_equal(it->status, SHEET_RUNNING);
    let_go(1);
}

static void the_outer_run_of_a_job_takes_it_over(void **state)
{
    begin(state);
    start_family();
    const struct job_start inner = {.job_id = "a", .pid = family[2], .runner = family[1]},
                           outer = {.job_id = "a", .pid = family[0], .runner = getpid()};
    assert_int_equal(jobs_start(jobs, &inner, &why), 0);
    assert_int_equal(jobs_start(jobs, &outer, &why), 1);
    assert_int_equal(jobs_start(jobs, &inner, &why), -EEXIST);
    tick();
    assert_int_equal(found("a")->runner, getpid());
    assert_int_equal(found("a")->pid, family[0]);
    assert_int_equal(jobs_running(jobs), 1);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(jobs_of_process(jobs, family[i]), found("a"));
    let_go(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_WAYS(a_second_end_makes_nothing_exact),
        JOB_WAYS(an_exact_end_stays_exact),
        JOB_WAYS(the_end_of_a_lost_job_makes_nothing_exact),
        JOB_WAYS(a_command_ended_in_one_way_and_the_store_hears_of_it),
        JOB_WAYS(how_a_sheet_ended_is_what_its_runner_reported),
        JOB_WAYS(who_descends_from_the_runner_of_a_sheet_does_not_change_it),
        JOB_WAYS(a_sheet_that_was_announced_before_the_one_around_it_is_within),
        JOB_WAYS(the_outer_run_of_a_sheet_takes_it_over),
        JOB_WAYS(the_outer_run_of_a_job_takes_it_over),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
