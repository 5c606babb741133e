/* The processes of jobs and sheets: who belongs to them, what they use, also over a restart. */
#include "jobs_fixture.h"
#include "probe/process_clock.h"

/* ---- what they use ---- */

static void a_sheet_has_what_was_used_until_it_ended(void **state)
{
    begin(state);
    pid_t pid = start(body_burn_at_every_step);
    await_said(1);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    assert_true(found("a")->sheets[0].pid_start_ticks > 0);
    step(1);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0); /* no tick in between */
    assert_near(found("a")->sheets[0].usage.numbers[USAGE_CPU], STEP, look);
    step(2); /* of the job, of no sheet that runs */
    tick();
    assert_near(found("a")->usage.numbers[USAGE_CPU], 2 * STEP, look);
    assert_near(found("a")->sheets[0].usage.numbers[USAGE_CPU], STEP, look);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0); /* once more: both count */
    step(3);
    assert_int_equal(finish("a"), 0);
    assert_near(found("a")->usage.numbers[USAGE_CPU], 3 * STEP, look);
    assert_near(found("a")->sheets[0].usage.numbers[USAGE_CPU], 2 * STEP, look);
    assert_int_equal(found("a")->usage.numbers[USAGE_UNIQUE_PROCESSES], 1);
    assert_true(found("a")->usage.present & USAGE_BIT(USAGE_CPU));
    assert_false(found("a")->usage.present & (USAGE_BIT(USAGE_CGROUP_CPU) | USAGE_BIT(USAGE_PEAK_PSS)));
}

/* A look that costs is not repeated before ten times its cost has passed. The cost is the CPU time of this
 * thread: had the wait counted, the last look would come too early and miss what was burnt. */
static void a_look_that_waited_has_cost_nothing(void **state)
{
    begin(state);
    pid_t pid = start(body_burn_at_every_step);
    await_said(1);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    start(body_that_waits);
    await_said(2);
    uint64_t begin_ns = clock_thread_cpu_ns();
    found_after_seconds = 0.1;
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0);
    assert_true(found_after_seconds == 0);
    assert_int_equal(sheet("a", 2, SHEET_EVENT_STARTED, pid), 0);
    double cost_seconds = (double)(clock_thread_cpu_ns() - begin_ns) / (double)NS_PER_SECOND;
    let_go(1);
    await_said(3);
    sleep_seconds(10 * cost_seconds);
    assert_int_equal(sheet("a", 2, SHEET_EVENT_COMPLETED, 0), 0);
    assert_near(found("a")->sheets[1].usage.numbers[USAGE_CPU], STEP, look);
}

/* Holds 40 MB, then gives them back. */
static void body_that_swells(void)
{
    size_t size = (size_t)40 << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(memory, 1, size);
    say();
    wait_for_go(1);
    (void)munmap(memory, size);
    say();
    wait_for_go(2);
}

static void peaks_never_fall(void **state)
{
    const uint64_t size = (uint64_t)40 << 20;

    begin(state);
    pid_t pid = start(body_that_swells);
    await_said(1);
    assert_int_equal(start_job("a", pid), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    assert_false(found("a")->usage.present & USAGE_BIT(USAGE_PEAK_RSS)); /* nobody has looked */
    tick();
    uint64_t peak = (uint64_t)found("a")->usage.numbers[USAGE_PEAK_RSS];
    assert_true(found("a")->usage.present & USAGE_BIT(USAGE_PEAK_RSS));
    assert_true(peak >= size);
    assert_int_equal(found("a")->sheets[0].usage.numbers[USAGE_PEAK_RSS], peak);
    let_go(1);
    await_said(2);
    for (int i = 0; i < 3; i++) {
        tick();
        assert_true(process_of(pid)->files.rss_bytes < peak - size / 2);
        assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_RSS], peak);
        assert_int_equal(found("a")->sheets[0].usage.numbers[USAGE_PEAK_RSS], peak);
    }
    assert_int_equal(finish("a"), 0);
    assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_RSS], peak);
    assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_PROCESSES], 1);
}

/* ---- who belongs ---- */

static void body_in_its_time(void)
{
    wait_for_go(1);
    burn_process(0.1);
    say();
    wait_for_go(2);
}

/* A pid that nobody has now can only become ours by being given to another process. */
static void a_job_of_a_process_that_is_not_there_is_refused(void **state)
{
    begin(state);
    pid_t pid = start(body_that_waits);
    await_said(1);
    let_go(1);
    wait_for(pid);
    assert_int_equal(start_job("a", pid), -ESRCH);
    assert_non_null(strstr(why.message, "there is no process"));
    assert_int_equal(jobs_running(jobs), 0);
    assert_int_equal(start_job("a", getpid()), 0);
}

static void a_process_that_is_not_watched_is_told_from_one_that_is_not_there(void **state)
{
    begin(state);
    pid_t pid = start(body_that_waits);
    await_said(1);
    tree_ignore(watch.tree, pid);
    assert_int_equal(start_job("a", pid), -ESRCH);
    assert_non_null(strstr(why.message, "is not watched"));
    tree_unignore(watch.tree, pid);
    assert_int_equal(start_job("a", pid), 0);
    assert_ptr_equal(jobs_of_process(jobs, pid), found("a"));
}

/* Its process may have ended before it was told of: the sheet has begun all the same. */
static void a_sheet_of_a_process_that_is_not_there_has_nobody(void **state)
{
    begin(state);
    assert_int_equal(start_job("a", 0), 0);
    pid_t pid = start(body_that_waits);
    await_said(1);
    let_go(1);
    wait_for(pid);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    tick();
    assert_int_equal(found("a")->sheets[0].status, SHEET_RUNNING);
    assert_int_equal(found("a")->sheets[0].pid, pid);
    assert_int_equal(found("a")->sheets[0].pid_start_ticks, 0);
    assert_int_equal(found("a")->sheets[0].usage.numbers[USAGE_UNIQUE_PROCESSES], 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_COMPLETED, 0), 0);
}

static char variables[2][64];
/* A job that no other test that runs beside this one names: the whole machine is watched. */
static char mine[32];

static void begin_mine(void **state)
{
    (void)snprintf(mine, sizeof(mine), "mine-%d", (int)getpid());
    begin(state);
}

/* It has the environment of this process until it executes a program. */
static void body_with_variables(void)
{
    char *const environment[] = {variables[0], variables[1][0] ? variables[1] : NULL, NULL};

    say();
    wait_for_go(1);
    (void)execle("/bin/sleep", "sleep", "60", NULL, environment);
    _exit(127);
}

/* The kernel gives it a new name first, and its variables a moment later. */
static bool has_variables(pid_t pid)
{
    char path[64], text[16] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    return length > 0 && strncmp(text, "METRON_JOB=", strlen("METRON_JOB=")) == 0;
}

/* The kernel brings the clock of another process that runs up to date at its own ticks only: until then a
 * pass takes it for one that has not run, and lets its files be. */
static bool clock_has_moved(pid_t pid)
{
    uint64_t cpu_ns = 0;

    return process_clock_read(pid, &cpu_ns) == 0 && cpu_ns != process_of(pid)->cpu_ns;
}

static pid_t start_with(const char *job, const char *sheet_text)
{
    (void)snprintf(variables[0], sizeof(variables[0]), "METRON_JOB=%s", job);
    variables[1][0] = '\0';
    if (sheet_text)
        (void)snprintf(variables[1], sizeof(variables[1]), "METRON_SHEET=%s", sheet_text);
    pid_t pid = start(body_with_variables);
    for (int ms = 0; atomic_load(&shared->go) > 0 && !has_variables(pid) && ms < PATIENCE_MS; ms++)
        sleep_seconds(0.001);
    return pid;
}

static void whoever_has_the_variable_is_of_the_job(void **state)
{
    begin_mine(state);
    let_go(1);
    pid_t early = start_with(mine, NULL), stranger = start(body_in_its_time);
    tick(); /* seen before the job is announced */
    assert_null(jobs_of_process(jobs, early));
    assert_int_equal(start_job(mine, 0), 0);
    assert_ptr_equal(jobs_of_process(jobs, early), found(mine));
    assert_int_equal(process_of(early)->membership, MEMBER_BY_VARIABLE);
    assert_int_equal(sheet(mine, 3, SHEET_EVENT_STARTED, 0), 0);
    pid_t of_sheet = start_with(mine, "3"), of_none = start_with("b", NULL), odd = start_with(mine, "3x");
    tick();
    assert_null(jobs_of_process(jobs, stranger));
    assert_ptr_equal(jobs_of_process(jobs, of_sheet), found(mine));
    assert_true(process_of(of_sheet)->group->has_sheet);
    assert_int_equal(process_of(of_sheet)->group->sheet_num, 3);
    assert_null(jobs_of_process(jobs, of_none));
    assert_ptr_equal(jobs_of_process(jobs, odd), found(mine));
    assert_false(process_of(odd)->group->has_sheet);
    assert_int_equal(found(mine)->sheet_count, 1);
    assert_int_equal(sheet(mine, 3, SHEET_EVENT_COMPLETED, 0), 0);
    pid_t late = start_with(mine, "3");
    tick();
    assert_ptr_equal(jobs_of_process(jobs, late), found(mine));
    assert_false(process_of(late)->group->has_sheet); /* it has ended, and stays so */
    assert_int_equal(found(mine)->sheets[0].status, SHEET_COMPLETED);
    assert_int_equal(found(mine)->sheets[0].tries, 1);
    assert_int_equal(finish(mine), 0);
}

static void another_users_process_does_not_join_by_the_variable(void **state)
{
    begin_mine(state);
    let_go(1);
    const struct job_start of_another = {.job_id = mine, .owner = getuid() + 1};
    pid_t early = start_with(mine, NULL);
    tick();
    assert_int_equal(jobs_start(jobs, &of_another, &why), 0);
    pid_t late = start_with(mine, "3");
    tick();
    assert_null(jobs_of_process(jobs, early));
    assert_null(jobs_of_process(jobs, late));
    assert_int_equal(found(mine)->sheet_count, 0);
    assert_int_equal(finish(mine), 0);
}

static void a_member_of_the_job_has_inherited_its_sheet(void **state)
{
    begin_mine(state);
    let_go(1);
    assert_int_equal(start_job(mine, getpid()), 0);
    assert_int_equal(sheet(mine, 2, SHEET_EVENT_STARTED, 0), 0);
    pid_t of_sheet = start_with(mine, "2"), of_job = start_with(mine, NULL), of_none = start_with("b", "2");
    tick();
    assert_true(process_of(of_sheet)->group->has_sheet);
    assert_int_equal(process_of(of_sheet)->group->sheet_num, 2);
    assert_int_equal(process_of(of_sheet)->membership, MEMBER_BY_VARIABLE);
    assert_false(process_of(of_job)->group->has_sheet);
    assert_false(process_of(of_none)->group->has_sheet);
    assert_ptr_equal(jobs_of_process(jobs, of_none), found(mine));
    assert_int_equal(found(mine)->sheet_count, 1);
    assert_int_equal(finish(mine), 0);
}

/* A parent whose child has inherited the variables of the job, as the children of a job's command have. */
static void body_with_a_child_of_the_job(void)
{
    if (fork() == 0)
        body_with_variables();
    say();
    (void)wait(NULL);
}

/* The same of a grandchild, whose parent has exited. */
static void body_with_an_orphan_of_the_job(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (fork() == 0)
            body_with_variables();
        _exit(0);
    }
    (void)wait_checked(pid);
    say();
    wait_for_go(2);
}

/* Starts the body, and the job with it; returns the one with the variables, which nobody has read before. */
static pid_t start_job_with(void (*body)(void), const char *sheet_variable, pid_t *pid)
{
    (void)snprintf(variables[0], sizeof(variables[0]), "METRON_JOB=%s", mine);
    (void)snprintf(variables[1], sizeof(variables[1]), "%s", sheet_variable);
    let_go(1);
    *pid = start(body);
    await_said(2);
    pid_t descendant = shared->pids[shared->pids[0] == *pid];
    for (int ms = 0; !has_variables(descendant) && ms < PATIENCE_MS; ms++)
        sleep_seconds(0.001);
    assert_int_equal(start_job(mine, *pid), 0);
    tick();
    return descendant;
}

static void a_descendant_of_the_announced_process_did_not_come_from_elsewhere(void **state)
{
    pid_t pid;

    begin_mine(state);
    pid_t orphan = start_job_with(body_with_an_orphan_of_the_job, "", &pid);
    const struct group *job = process_of(pid)->group;
    assert_ptr_equal(process_of(orphan)->group, job);
    assert_int_equal(process_of(orphan)->membership, MEMBER_BY_DESCENT);
    assert_int_equal(job->came, 1);
    assert_false(job->is_found);
    assert_int_equal(found(mine)->usage.numbers[USAGE_SPAWNED_IS_EXACT], 1);
    assert_int_equal(finish(mine), 0);
}

static void a_descendant_of_the_announced_process_has_inherited_its_sheet(void **state)
{
    pid_t pid;

    begin_mine(state);
    pid_t child = start_job_with(body_with_a_child_of_the_job, "METRON_SHEET=2", &pid);
    const struct group *job = process_of(pid)->group;
    assert_true(process_of(child)->group->has_sheet);
    assert_int_equal(process_of(child)->group->sheet_num, 2);
    assert_ptr_equal(process_of(child)->group->above, job);
    assert_int_equal(job->came, 1);
    assert_false(job->is_found);
    assert_int_equal(found(mine)->usage.numbers[USAGE_SPAWNED_IS_EXACT], is_told(state));
    assert_int_equal(found(mine)->usage.numbers[USAGE_UNIQUE_PROCESSES], 2);
    if (is_told(state))
        assert_int_equal(found(mine)->usage.numbers[USAGE_SPAWNED], 0); /* born before the job */
    assert_int_equal(finish(mine), 0);
}

/* The process is found when it is announced, and the sheet whose number it has comes before all others. */
static void a_sheet_that_begins_meanwhile_is_not_mistaken_for_the_announced_one(void **state)
{
    enum { SHEETS = 8 }; /* as many as there is room for at first */

    begin_mine(state);
    let_go(1);
    assert_int_equal(start_job(mine, 0), 0);
    for (int i = 1; i < SHEETS; i++)
        assert_int_equal(sheet(mine, i, SHEET_EVENT_STARTED, 0), 0);
    pid_t pid = start_with(mine, "0");
    assert_int_equal(sheet(mine, SHEETS, SHEET_EVENT_STARTED, pid), 0);
    const struct job *job = found(mine);
    assert_int_equal(job->sheet_count, SHEETS + 1);
    assert_int_equal(job->sheets[0].number, 0);
    assert_int_equal(job->sheets[0].pid_start_ticks, 0);
    assert_int_equal(job->sheets[SHEETS].number, SHEETS);
    assert_int_equal(job->sheets[SHEETS].pid, pid);
    assert_int_equal(job->sheets[SHEETS].pid_start_ticks, process_of(pid)->start_ticks);
    assert_int_equal(process_of(pid)->group->sheet_num, SHEETS);
    tick();
    assert_int_equal(process_of(pid)->group->sheet_num, SHEETS);
    assert_int_equal(finish(mine), 0);
}

/* The second one begins a sheet with that. */
static void whoever_ends_within_the_pass_that_found_it_is_counted(void **state)
{
    begin_mine(state);
    let_go(1);
    assert_int_equal(start_job(mine, 0), 0);
    kill_when_claimed = start_with(mine, NULL);
    tick();
    assert_int_equal(kill_when_claimed, 0);
    assert_int_equal(found(mine)->usage.numbers[USAGE_SPAWNED], 1);
    double cpu_seconds = found(mine)->usage.numbers[USAGE_CPU];
    assert_true(cpu_seconds > 0);
    kill_when_claimed = start_with(mine, "5");
    tick();
    assert_int_equal(kill_when_claimed, 0);
    assert_int_equal(found(mine)->sheet_count, 1);
    assert_int_equal(found(mine)->sheets[0].usage.numbers[USAGE_UNIQUE_PROCESSES], 1);
    assert_int_equal(found(mine)->usage.numbers[USAGE_UNIQUE_PROCESSES], 2);
    assert_true(found(mine)->usage.numbers[USAGE_CPU] >= cpu_seconds);
    assert_int_equal(finish(mine), 0);
}

static void a_sheet_that_began_with_its_process_is_announced_later(void **state)
{
    begin_mine(state);
    let_go(1);
    assert_int_equal(start_job(mine, 0), 0);
    pid_t pid = start_with(mine, "5");
    tick();
    assert_true(process_of(pid)->group->has_sheet);
    assert_int_equal(found(mine)->sheets[0].tries, 1);
    assert_int_equal(sheet(mine, 5, SHEET_EVENT_STARTED, pid), 0);
    assert_int_equal(found(mine)->sheets[0].tries, 1); /* the same try */
    assert_int_equal(found(mine)->sheets[0].pid, pid);
    assert_int_equal(sheet(mine, 5, SHEET_EVENT_STARTED, pid), 0);
    assert_int_equal(found(mine)->sheets[0].tries, 2);
    assert_int_equal(finish(mine), 0);
}

static void the_variable_counts_although_it_was_seen_before_it_had_it(void **state)
{
    begin_mine(state);
    assert_int_equal(start_job(mine, 0), 0);
    pid_t pid = start_with(mine, "5");
    await_said(1);
    tick();
    assert_null(jobs_of_process(jobs, pid));
    let_go(1);
    for (int ms = 0; (!has_variables(pid) || !clock_has_moved(pid)) && ms < PATIENCE_MS; ms++)
        sleep_seconds(0.001);
    tick();
    assert_ptr_equal(jobs_of_process(jobs, pid), found(mine));
    assert_int_equal(found(mine)->sheet_count, 1); /* a sheet that nobody announced has begun by this */
    assert_int_equal(found(mine)->sheets[0].number, 5);
    assert_int_equal(found(mine)->sheets[0].status, SHEET_RUNNING);
    assert_int_equal(jobs_active_sheets(jobs), 1);
    assert_non_null(changed(mine));
    assert_int_equal(changed(mine)->sheet_count, 1);
}

static void a_name_used_again_is_another_job(void **state)
{
    begin(state);
    pid_t pid = start(body_burn_at_every_step);
    await_said(1);
    assert_int_equal(start_job("a", pid), 0);
    assert_int_equal(sheet("a", 1, SHEET_EVENT_STARTED, pid), 0);
    step(1);
    assert_int_equal(finish("a"), 0);
    assert_ptr_equal(jobs_of_process(jobs, pid), found("a")); /* it lives on in it */
    struct timespec started = found("a")->started;
    sleep_seconds(0.002);
    assert_int_equal(start_job("a", 0), 0);
    assert_int_equal(found("a")->sheet_count, 0);
    assert_null(jobs_of_process(jobs, pid)); /* that was another one */
    assert_int_equal(jobs_running(jobs), 1);
    tick();
    /* Both are told, the one before first: it had ended between two ticks. */
    assert_int_equal(snapshot->changed_job_count, 2);
    assert_int_equal(snapshot->changed_jobs[0].status, JOB_COMPLETED);
    assert_int_equal(snapshot->changed_jobs[0].started.tv_nsec, started.tv_nsec);
    assert_int_equal(snapshot->changed_jobs[0].sheet_count, 1);
    assert_near(snapshot->changed_jobs[0].usage.numbers[USAGE_CPU], STEP, look);
    assert_int_equal(snapshot->changed_jobs[1].status, JOB_RUNNING);
    assert_near(found("a")->usage.numbers[USAGE_CPU], 0, 0.001);
    tick();
    assert_int_equal(snapshot->changed_job_count, 0);
    step(2);
    tick();
    assert_near(found("a")->usage.numbers[USAGE_CPU], 0, 0.001);
}

static void a_job_from_before_a_restart_goes_on(void **state)
{
    begin(state);
    pid_t pid = start(body_burn_at_every_step);
    await_said(1);
    uint64_t ticks = tree_take_in(watch.tree, pid)->start_ticks;
    const struct job_usage usage = {.present = USAGE_BIT(USAGE_CPU) | USAGE_BIT(USAGE_PEAK_RSS) |
                                               USAGE_BIT(USAGE_PEAK_PSS),
                                    .numbers = {[USAGE_CPU] = 5,
                                                [USAGE_PEAK_RSS] = (uint64_t)1 << 40,
                                                [USAGE_PEAK_PSS] = 17,
                                                [USAGE_SPAWNED] = 4,
                                                [USAGE_EXITED] = 3,
                                                [USAGE_UNIQUE_PROCESSES] = 5,
                                                [USAGE_PEAK_PROCESSES] = 9}};
    struct job_sheet sheets[] = {
        {.number = 1,
         .status = SHEET_COMPLETED,
         .tries = 1,
         .usage = {.present = USAGE_BIT(USAGE_CPU), .numbers = {[USAGE_CPU] = 3}}},
        {.number = 2, .status = SHEET_RUNNING, .pid = pid, .pid_start_ticks = ticks, .tries = 1},
        {.number = 3, .status = SHEET_RUNNING, .pid = pid, .pid_start_ticks = ticks + 1, .tries = 1},
    };
    const struct job job = {.id = "a",
                            .workspace = "/w",
                            .started = {1700000000, 5},
                            .usage = usage,
                            .sheets = sheets,
                            .sheet_count = 3};
    assert_int_equal(jobs_restore(jobs, &job), 0);
    assert_true(jobs_restore(jobs, &job) < 0); /* it is there */
    assert_int_equal(start_job("a", 0), -EEXIST);
    assert_int_equal(jobs_running(jobs), 1);
    assert_int_equal(jobs_active_sheets(jobs), 2);
    assert_ptr_equal(jobs_of_process(jobs, pid), found("a"));
    assert_int_equal(tree_find(watch.tree, pid)->group->sheet_num, 2); /* the pid alone is not enough */
    step(1);
    tick();
    assert_near(found("a")->usage.numbers[USAGE_CPU], 5 + STEP, look);
    assert_near(found("a")->sheets[0].usage.numbers[USAGE_CPU], 3, 0.001);
    assert_near(found("a")->sheets[1].usage.numbers[USAGE_CPU], STEP, look);
    assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_RSS], (uint64_t)1 << 40);
    assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_PSS], 17);
    assert_int_equal(found("a")->usage.numbers[USAGE_PEAK_PROCESSES], 9);
    assert_int_equal(found("a")->usage.numbers[USAGE_EXITED], 3);
    assert_int_equal(found("a")->started.tv_sec, 1700000000);
    const struct job bad = {.id = "bad\tname"};
    assert_true(jobs_restore(jobs, &bad) < 0);
    assert_int_equal(finish("a"), 0);
    assert_near(found("a")->usage.numbers[USAGE_CPU], 5 + STEP, look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_WAYS(a_sheet_has_what_was_used_until_it_ended),
        JOB_WAYS(a_look_that_waited_has_cost_nothing),
        JOB_WAYS(peaks_never_fall),
        JOB_WAYS(a_job_of_a_process_that_is_not_there_is_refused),
        JOB_WAYS(a_process_that_is_not_watched_is_told_from_one_that_is_not_there),
        JOB_WAYS(a_sheet_of_a_process_that_is_not_there_has_nobody),
        JOB_WAYS(whoever_has_the_variable_is_of_the_job),
        JOB_WAYS(another_users_process_does_not_join_by_the_variable),
        JOB_WAYS(a_member_of_the_job_has_inherited_its_sheet),
        ONE_JOB(a_descendant_of_the_announced_process_did_not_come_from_elsewhere, by_bpf),
        ONE_JOB(a_descendant_of_the_announced_process_did_not_come_from_elsewhere, by_connector),
        JOB_WAYS(a_descendant_of_the_announced_process_has_inherited_its_sheet),
        JOB_WAYS(a_sheet_that_begins_meanwhile_is_not_mistaken_for_the_announced_one),
        JOB_WAYS(whoever_ends_within_the_pass_that_found_it_is_counted),
        JOB_WAYS(a_sheet_that_began_with_its_process_is_announced_later),
        JOB_WAYS(the_variable_counts_although_it_was_seen_before_it_had_it),
        JOB_WAYS(a_name_used_again_is_another_job),
        JOB_WAYS(a_job_from_before_a_restart_goes_on),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
