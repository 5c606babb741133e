/* The cap of the file and its log: what goes, and what stays whatever the cap. */
#include <sys/stat.h>

#include "history_fixture.h"

#define CAP       (1 << 20)
#define WORKSPACE 4000

static char workspace[WORKSPACE + 1];
static int reports; /* that the cap cannot be kept, less those that it can again */

static void open_capped(uint64_t cap)
{
    struct history_options options = {.path = path, .columns = all_columns(), .size_cap_bytes = cap};

    history_close(history);
    assert_int_equal(history_open(&options, &history, NULL), 0);
    memset(workspace, 'w', WORKSPACE);
    reports = 0;
}

static int64_t file_bytes(void)
{
    static const char *const suffixes[] = {"", "-wal"};
    int64_t bytes = 0;

    for (size_t i = 0; i < 2; i++) {
        struct stat status;
        char name[160];

        (void)snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        bytes += stat(name, &status) == 0 ? status.st_size : 0;
    }
    return bytes;
}

/* Ten of them in a second: no grace passes. */
static void put_soon(struct snapshot *snapshot, unsigned tick)
{
    struct metron_error error = {0};

    snapshot->wall.tv_sec += (time_t)(tick / 10);
    snapshot->wall.tv_nsec = 100000000 * (long)(tick % 10);
    snapshot->boot_seconds = 1000 + tick / 10.0;
    int code = history_write(history, snapshot, &error);
    if (code == 1 && error.code == -EFBIG)
        reports++;
    else if (code == 1 && error.code == 0)
        reports--;
    else
        assert_int_equal(code, 0);
    snapshot_release(snapshot);
}

static void put_job(unsigned number, enum job_status status)
{
    char name[16];
    struct job job = {.id = name,
                      .workspace = workspace,
                      .status = status,
                      .started = {1763190000 + number, 1},
                      .ended = {status == JOB_RUNNING ? 0 : 1763190001 + number, 0}};
    struct snapshot *snapshot = make(0, 0);

    (void)snprintf(name, sizeof(name), "j%u", number);
    snapshot->changed_jobs = &job;
    snapshot->changed_job_count = 1;
    assert_int_equal(history_write_jobs(history, snapshot, NULL), 0);
    snapshot_release(snapshot);
}

static void ended_jobs_go_the_oldest_first_and_leave_room_for_snapshots(void **state)
{
    (void)state;
    open_capped(CAP);
    put_job(0, JOB_RUNNING);
    for (unsigned i = 1; i <= 500; i++) {
        put_job(i, JOB_RUNNING);
        put_job(i, JOB_COMPLETED);
        assert_true(file_bytes() <= CAP);
        if (i % 10 == 0)
            put_soon(make(5, 0), i / 10);
        assert_true(file_bytes() <= CAP);
    }
    assert_int_equal(ask("SELECT count(*) FROM ticks"), 50);
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE name = 'j0' AND status = 'running'"), 1);
    int64_t count = ask("SELECT count(*) FROM jobs WHERE status = 'completed'");
    assert_in_range(count, 30, 250);
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE name = 'j500'"), 1);
    assert_int_equal(
        ask("SELECT 501 - min(CAST(substr(name, 2) AS INTEGER)) FROM jobs WHERE status = 'completed'"),
        count);
    assert_int_equal(reports, 0);
}

/* Its processes live on: they stay, without the name of the job. */
static void a_deleted_job_does_not_come_back_with_its_processes(void **state)
{
    (void)state;
    open_capped(CAP);
    put_job(0, JOB_RUNNING);
    put_job(0, JOB_COMPLETED);
    (void)ask("INSERT INTO jobs(name) VALUES('nameless') RETURNING id"); /* as older versions did */
    for (unsigned i = 1; i <= 300; i++) {
        struct snapshot *snapshot = make(2, 0);

        put_job(i, JOB_RUNNING);
        put_job(i, JOB_COMPLETED);
        snapshot->processes[1].job_id = "j0";
        put_soon(snapshot, i);
    }
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE name = 'j0' OR status IS NULL"), 0);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE job_id IS NOT NULL"), 0);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics"), 600);
}

static void running_jobs_stay_and_that_the_cap_is_exceeded_is_reported_once(void **state)
{
    (void)state;
    open_capped(CAP);
    for (unsigned i = 0; i < 300; i++) {
        put_job(i, JOB_RUNNING);
        if (i % 10 == 0)
            put_soon(make(5, 0), i / 10);
    }
    for (unsigned i = 30; i < 400; i++)
        put_soon(make(50, i), 0);
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE status = 'running'"), 300);
    assert_true(ask("SELECT count(*) FROM ticks") > 20);
    assert_true(file_bytes() < 300 * 9000 + CAP);
    assert_int_equal(reports, 1);
    for (unsigned i = 0; i < 300; i++)
        put_job(i, JOB_COMPLETED);
    put_soon(make(5, 0), 1010); /* a minute later, when the upkeep checks the size */
    while (history_maintain(history, wall_base + 101, 1, NULL) == 1)
        continue;
    put_soon(make(5, 0), 1011);
    put_soon(make(5, 0), 1012);
    assert_true(file_bytes() <= CAP);
    assert_int_equal(reports, 0);
}

static void processes_and_commands_go_with_their_snapshots(void **state)
{
    (void)state;
    open_capped(CAP);
    for (unsigned tick = 0; tick < 320; tick++) { /* so that it does not end just after it was emptied */
        struct snapshot *snapshot = make(50, 0);

        for (size_t i = 0; i < 50; i++) {
            struct snapshot_process *process = &snapshot->processes[i];

            process->serial = tick * 50 + i + 1;
            process->start_ticks += tick;
            process->command =
                arena_printf(&snapshot->arena, "%u %s", tick * 50 + (unsigned)i, workspace + WORKSPACE - 200);
        }
        put_soon(snapshot, tick);
        assert_true(file_bytes() <= CAP);
    }
    int64_t ticks = ask("SELECT count(*) FROM ticks");
    assert_in_range(ticks, 15, 200);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE command LIKE '%www%'"), ticks * 50);
    assert_int_equal(ask("SELECT count(*) FROM ticks AS t WHERE 50 !="
                         " (SELECT count(*) FROM process_metrics WHERE snapshot_id = t.id)"),
                     0);
}

/* Smaller than anything that is kept: it is not taken for none. */
static void a_cap_of_a_few_bytes_is_a_cap(void **state)
{
    (void)state;
    open_capped(5);
    for (unsigned tick = 0; tick < 30; tick++)
        put_soon(make(20, 0), tick);
    assert_int_equal(history_maintain(history, wall_base + 3, 5, NULL), 0);
    assert_in_range(ask("SELECT count(*) FROM ticks"), 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(ended_jobs_go_the_oldest_first_and_leave_room_for_snapshots),
        HISTORY_TEST(a_deleted_job_does_not_come_back_with_its_processes),
        HISTORY_TEST(running_jobs_stay_and_that_the_cap_is_exceeded_is_reported_once),
        HISTORY_TEST(processes_and_commands_go_with_their_snapshots),
        HISTORY_TEST(a_cap_of_a_few_bytes_is_a_cap),
    };

    return cmocka_run_group_tests_name("history_cap", tests, NULL, NULL);
}
