/* Jobs and sheets: what is refused, how they go from state to state, what the store is told. */
#include "jobs_fixture.h"

/* A machine of this process alone: no job here has processes, and at the end of each job the tree looks at
 * all that there are. */
static void begin_alone(void **state)
{
    begin_at(state, "/proc/self/task");
}

/* ---- what is refused ---- */

static void a_job_that_runs_is_not_started_again(void **state)
{
    begin_alone(state);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(jobs_running(jobs), 1);
    assert_int_equal(start_job("a", 0), -EEXIST);
    assert_int_equal(why.code, -EEXIST);
    assert_non_null(strstr(why.message, "'a'"));
    assert_int_equal(jobs_running(jobs), 1);
    assert_int_equal(found("a")->status, JOB_RUNNING);
    assert_true(found("a")->started.tv_sec > 1000000000);
    assert_int_equal(found("a")->ended.tv_sec, 0);
}

static void bad_names_and_counts_are_refused(void **state)
{
    char name[JOB_ID_MAX + 2];

    begin_alone(state);
    memset(name, 'x', sizeof(name));
    name[JOB_ID_MAX + 1] = '\0';
    assert_int_equal(start_job(name, 0), -EINVAL);
    assert_int_equal(start_job("", 0), -EINVAL);
    assert_int_equal(start_job("a\nb", 0), -EINVAL);
    assert_int_equal(start_job("a\x7f", 0), -EINVAL);
    assert_int_equal(why.code, -EINVAL);
    for (int i = 0; i < 2; i++) {
        const struct job_start start_options = {
            .job_id = "a", .has_total = true, .total_sheets = i ? 100001 : -1};
        assert_int_equal(jobs_start(jobs, &start_options, &why), -EINVAL);
    }
    assert_int_equal(jobs_running(jobs), 0);
    name[JOB_ID_MAX] = '\0';
    assert_int_equal(start_job(name, 0), 0);
    assert_int_equal(start_job("köln & \"quotes\" / ..", 0), 0);
    assert_int_equal(jobs_running(jobs), 2);
    const struct job_start total = {.job_id = "t", .has_total = true, .total_sheets = 100000};
    assert_int_equal(jobs_start(jobs, &total, &why), 0);
    assert_int_equal(found("t")->total_sheets, 100000);
}

static void a_job_that_is_not_there_is_told_from_one_that_has_ended(void **state)
{
    begin_alone(state);
    assert_int_equal(finish("a"), -ENOENT);
    assert_non_null(strstr(why.message, "no job 'a'"));
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), -ENOENT);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(finish("a"), 0);
    assert_int_equal(finish("a"), -ENOENT);
    assert_non_null(strstr(why.message, "has ended"));
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), -ENOENT);
    assert_null(jobs_find(jobs, "b"));
    assert_int_equal(found("a")->status, JOB_COMPLETED);
    assert_true(found("a")->ended.tv_sec > 0);
}

static void there_is_an_end_to_jobs_and_sheets(void **state)
{
    char name[16];

    begin_alone(state);
    for (int i = 0; i < 4096; i++) {
        (void)snprintf(name, sizeof(name), "j%d", i);
        assert_int_equal(start_job(name, 0), 0);
    }
    assert_int_equal(start_job("one more", 0), -ENOSPC);
    assert_int_equal(finish("j0"), 0);
    assert_int_equal(start_job("one more", 0), 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(sheet("j1", i ^ 1, SHEET_EVENT_RETRYING, 0), 0); /* in any order */
    assert_int_equal(sheet("j1", -5, SHEET_EVENT_STARTED, 0), -ENOSPC);
    assert_non_null(strstr(why.message, "-5"));
    assert_int_equal(sheet("j1", 77, SHEET_EVENT_STARTED, 0), 0); /* it is there */
    assert_int_equal(found("j1")->sheet_count, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(sheet("j2", i, SHEET_EVENT_RETRYING, 0), 0);
    assert_int_equal(sheet("j3", 1, SHEET_EVENT_STARTED, 0), -ENOSPC); /* of all together */
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(found("j1")->sheets[i].number, i);
}

static void finished_jobs_are_remembered_for_a_while(void **state)
{
    char name[16];
    unsigned remembered = 0;

    begin_alone(state);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "j%d", i);
        assert_int_equal(start_job(name, 0), 0);
        if (i % 100 == 0)
            tick();
        assert_int_equal(finish(name), 0);
    }
    assert_non_null(jobs_find(jobs, "j299")); /* the store was not told of it */
    tick();
    assert_int_equal(start_job("last", 0), 0);
    assert_int_equal(finish("last"), 0);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "j%d", i);
        remembered += jobs_find(jobs, name) != NULL;
    }
    assert_int_equal(remembered, 255);
    assert_null(jobs_find(jobs, "j0"));
    assert_non_null(jobs_find(jobs, "j299"));
    assert_int_equal(jobs_running(jobs), 0);
}

static void jobs_that_nobody_stores_do_not_pile_up(void **state)
{
    begin_alone(state);
    for (int i = 0; i < 4096; i++) {
        assert_int_equal(start_job("again", 0), 0);
        assert_int_equal(finish("again"), 0);
    }
    assert_int_equal(start_job("again", 0), -ENOSPC);
    tick();
    assert_int_equal(snapshot->changed_job_count, 4096); /* each of them is told */
    assert_int_equal(start_job("again", 0), 0);
}

/* Those that changed are handed to the store between two ticks, as commits.c does. */
static void commit(void)
{
    snapshot_release(snapshot);
    snapshot = snapshot_new(pool);
    assert_non_null(snapshot);
    assert_int_equal(jobs_copy_changed(jobs, snapshot), 0);
    if (refused)
        jobs_tell_again(jobs, snapshot);
    else
        jobs_told(jobs);
}

static void jobs_that_are_stored_do_not_pile_up(void **state)
{
    char name[16];

    begin_alone(state);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof(name), "j%d", i);
        assert_int_equal(start_job(name, 0), 0);
        assert_int_equal(finish(name), 0);
        assert_int_equal(start_job("again", 0), 0);
        assert_int_equal(finish("again"), 0);
        if (i % 1000 == 999)
            commit();
    }
    /* And none is let go that the store did not take. */
    refused = true;
    for (int i = 0, code = 0; code == 0; i++) {
        assert_true(i < 5000);
        (void)snprintf(name, sizeof(name), "k%d", i);
        code = start_job(name, 0);
        assert_int_equal(code == 0 ? finish(name) : code, code == 0 ? 0 : -ENOSPC);
        if (i % 1000 == 999)
            commit();
    }
    assert_non_null(strstr(why.message, "not stored"));
    assert_non_null(jobs_find(jobs, "k0"));
    refused = false;
    commit();
    assert_int_equal(start_job("more", 0), 0);
}

/* ---- sheets ---- */

static void sheets_go_from_state_to_state(void **state)
{
    begin_alone(state);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 2, SHEET_EVENT_STARTED, 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), 0);
    assert_int_equal(jobs_active_sheets(jobs), 2);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_RETRYING, 0), 0);
    assert_int_equal(found("a")->sheets[0].status, SHEET_RETRYING);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), 0);
    assert_int_equal(found("a")->sheets[0].tries, 2);
    assert_int_equal(jobs_active_sheets(jobs), 2);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0); /* said twice */
    assert_int_equal(jobs_active_sheets(jobs), 1);
    assert_int_equal(sheet("a", 9, SHEET_EVENT_FAILED, 0), 0); /* never told to have begun */
    assert_int_equal(jobs_active_sheets(jobs), 1);
    const struct job *job = found("a");
    assert_int_equal(job->sheet_count, 3);
    assert_int_equal(job->sheets[0].status, SHEET_COMPLETED);
    assert_int_equal(job->sheets[2].status, SHEET_FAILED);
    assert_true(job->sheets[0].ended.tv_sec > 0 && job->sheets[2].ended.tv_sec > 0);
    assert_int_equal(job->sheets[1].ended.tv_sec, 0);
    tick();
    assert_int_equal(snapshot->job_count, 1);
    assert_true(snapshot->jobs[0].has_completed && snapshot->jobs[0].has_current);
    assert_int_equal(snapshot->jobs[0].last_completed_sheet, 1);
    assert_int_equal(snapshot->jobs[0].current_sheet, 2);
    assert_false(snapshot->jobs[0].has_total);
    assert_int_equal(finish("a"), 0);
    assert_int_equal(jobs_active_sheets(jobs), 0);
    assert_int_equal(found("a")->sheets[1].status, SHEET_LOST); /* nobody told how it ended */
    assert_int_equal(found("a")->sheets[0].status, SHEET_COMPLETED);
}

static void names_of_events_are_exact(void **state)
{
    enum sheet_event event = SHEET_EVENT_RETRYING;

    (void)state;
    assert_true(sheet_event_of("sheet.started", 13, &event));
    assert_int_equal(event, SHEET_EVENT_STARTED);
    assert_true(sheet_event_of("sheet.completed", 15, &event));
    assert_int_equal(event, SHEET_EVENT_COMPLETED);
    assert_true(sheet_event_of("sheet.failed", 12, &event));
    assert_true(sheet_event_of("sheet.retrying", 14, &event));
    assert_int_equal(event, SHEET_EVENT_RETRYING);
    assert_false(sheet_event_of("sheet.startedX", 14, &event));
    assert_false(sheet_event_of("sheet.start", 11, &event));
    assert_false(sheet_event_of("", 0, &event));
}

/* ---- what the store is told ---- */

static void changed_jobs_are_told_once_with_their_changed_sheets(void **state)
{
    const struct job_start with_texts = {
        .job_id = "a", .workspace = "/w", .config_hash = "h", .has_total = true, .total_sheets = 3};

    begin_alone(state);
    assert_int_equal(jobs_start(jobs, &with_texts, &why), 0);
    assert_int_equal(start_job("b", 0), 0);
    tick();
    assert_int_equal(snapshot->changed_job_count, 2);
    assert_int_equal(snapshot->running_jobs, 2);
    assert_string_equal(changed("a")->workspace, "/w");
    assert_string_equal(changed("a")->config_hash, "h");
    assert_null(changed("b")->workspace);
    tick();
    assert_int_equal(snapshot->changed_job_count, 0);
    assert_int_equal(snapshot->job_count, 2); /* progress is in every one */
    for (int i = 1; i <= 2; i++)
        assert_int_equal(sheet("a", i, SHEET_EVENT_STARTED, 0), 0);
    tick();
    assert_int_equal(snapshot->changed_job_count, 1);
    assert_int_equal(changed("a")->sheet_count, 2);
    assert_int_equal(snapshot->active_sheets, 2);
    assert_int_equal(sheet("a", 2, SHEET_EVENT_COMPLETED, 0), 0);
    tick();
    assert_int_equal(changed("a")->sheet_count, 1);
    assert_int_equal(changed("a")->sheets[0].number, 2);
    assert_int_equal(changed("a")->sheets[0].status, SHEET_COMPLETED);
    jobs_tell_again(jobs, snapshot); /* it was lost */
    assert_int_equal(finish("b"), 0);
    tick();
    assert_int_equal(snapshot->changed_job_count, 2);
    assert_true(changed("a")->sheet_count >= 1);
    assert_int_equal(changed("b")->status, JOB_COMPLETED);
    assert_int_equal(snapshot->job_count, 2); /* it has ended since the one before */
    assert_string_equal(snapshot->jobs[1].status, "completed");
    tick();
    assert_int_equal(snapshot->changed_job_count, 0);
    assert_int_equal(snapshot->job_count, 1);
}

static void long_texts_are_refused(void **state)
{
    char text[4098];
    struct job_start options = {.job_id = "a", .owner = getuid()};

    begin_alone(state);
    memset(text, 'x', sizeof(text));
    text[4097] = '\0';
    options.workspace = text;
    assert_int_equal(jobs_start(jobs, &options, &why), -EINVAL);
    assert_non_null(strstr(why.message, "workspace"));
    options.workspace = text + 1;
    options.config_hash = text + 4097 - 256;
    assert_int_equal(jobs_start(jobs, &options, &why), -EINVAL);
    assert_non_null(strstr(why.message, "config_hash"));
    options.config_hash++;
    assert_int_equal(jobs_start(jobs, &options, &why), 0);
}

static void all_names_used_again_fit_into_a_snapshot(void **state)
{
    const char *const names[] = {"a", "b", "c"};

    begin_alone(state);
    for (int i = 0; i < 3; i++)
        assert_true(start_job(names[i], 0) == 0 && finish(names[i]) == 0);
    tick();
    jobs_tell_again(jobs, snapshot); /* that they have ended is to be told once more, */
    for (int i = 0; i < 3; i++)
        assert_int_equal(start_job(names[i], 0), 0); /* and their names are used again */
    tick();
    assert_int_equal(snapshot->changed_job_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(snapshot->changed_jobs[i].id, names[i % 3]);
        assert_int_equal(snapshot->changed_jobs[i].status, i < 3 ? JOB_COMPLETED : JOB_RUNNING);
    }
}

static void a_name_used_again_is_told_until_the_store_takes_it(void **state)
{
    begin_alone(state);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, 0), 0);
    assert_int_equal(finish("a"), 0);
    assert_int_equal(start_job("a", 0), 0);
    refused = true;
    for (int i = 0; i < 3; i++) {
        refused = i < 2;
        tick();
        assert_int_equal(snapshot->changed_job_count, 2);
        assert_int_equal(snapshot->changed_jobs[0].status, JOB_COMPLETED);
        assert_int_equal(snapshot->changed_jobs[0].sheet_count, 1);
        assert_int_equal(snapshot->changed_jobs[1].status, JOB_RUNNING);
    }
    tick();
    assert_int_equal(snapshot->changed_job_count, 0);
}

static void a_store_that_begins_anew_is_told_all(void **state)
{
    begin_alone(state);
    assert_int_equal(start_job("a", 0), 0);
    for (int i = 1; i <= 2; i++)
        assert_int_equal(sheet("a", i, SHEET_EVENT_STARTED, 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0);
    assert_int_equal(start_job("b", 0), 0);
    assert_int_equal(finish("b"), 0);
    tick();
    assert_int_equal(snapshot->job_count, 2);
    tick();
    assert_int_equal(snapshot->changed_job_count, 0);
    jobs_tell_all(jobs);
    tick();
    assert_int_equal(snapshot->changed_job_count, 2);
    assert_int_equal(changed("a")->sheet_count, 2);
    assert_int_equal(changed("b")->status, JOB_COMPLETED);
    assert_int_equal(snapshot->job_count, 1); /* it has ended before */
}

static unsigned visited;

static void count_visit(void *context, const struct job *job)
{
    assert_ptr_equal(context, &visited);
    assert_non_null(job->id);
    visited++;
}

static void all_jobs_are_visited(void **state)
{
    begin_alone(state);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(start_job("b", 0), 0);
    assert_int_equal(finish("b"), 0);
    visited = 0;
    jobs_visit(jobs, count_visit, &visited);
    assert_int_equal(visited, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_JOB(a_job_that_runs_is_not_started_again, by_scan),
        ONE_JOB(bad_names_and_counts_are_refused, by_scan),
        ONE_JOB(a_job_that_is_not_there_is_told_from_one_that_has_ended, by_scan),
        ONE_JOB(there_is_an_end_to_jobs_and_sheets, by_scan),
        ONE_JOB(finished_jobs_are_remembered_for_a_while, by_scan),
        ONE_JOB(jobs_that_nobody_stores_do_not_pile_up, by_scan),
        ONE_JOB(jobs_that_are_stored_do_not_pile_up, by_scan),
        ONE_JOB(sheets_go_from_state_to_state, by_scan),
        ONE_JOB(names_of_events_are_exact, by_scan),
        ONE_JOB(changed_jobs_are_told_once_with_their_changed_sheets, by_scan),
        ONE_JOB(long_texts_are_refused, by_scan),
        ONE_JOB(all_names_used_again_fit_into_a_snapshot, by_scan),
        ONE_JOB(a_name_used_again_is_told_until_the_store_takes_it, by_scan),
        ONE_JOB(a_store_that_begins_anew_is_told_all, by_scan),
        ONE_JOB(all_jobs_are_visited, by_scan),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
