/* proc and io: readings of real processes, and what becomes of them when a reader fails. */
#include "collectors_fixture.h"

#include "tree/members.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { HELD_BYTES = 24 << 20, SPIKE_BYTES = 64 << 20, HELD_FILES = 10, MANY_FILES = 70, SLEEPS = 20 };

static void *thread_that_waits(void *argument)
{
    for (int i = 0; i < SLEEPS; i++)
        sleep_seconds(0.001);
    (void)pthread_barrier_wait(argument);
    wait_for_go(1);
    return NULL;
}

/* Known sizes: memory held, memory let go, files, threads, a limit, switches. */
static void body_known(void)
{
    pthread_t threads[2];
    pthread_barrier_t slept;
    const struct rlimit limit = {123, 456};
    char *spike = mmap(NULL, SPIKE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *held = mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (spike == MAP_FAILED || held == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        _exit(1);
    memset(spike, 1, SPIKE_BYTES);
    (void)munmap(spike, SPIKE_BYTES);
    memset(held, 1, HELD_BYTES);
    for (int fd = 0; fd < 1024; fd++)
        (void)close(fd);
    for (int i = 0; i < HELD_FILES; i++)
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)pthread_barrier_init(&slept, NULL, 3);
    for (size_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, thread_that_waits, &slept) != 0)
            _exit(1);
    burn_process(0.05);
    (void)pthread_barrier_wait(&slept);
    say();
    wait_for_go(1);
    _exit(0);
}

static void proc_reads_a_process_as_it_is(void **state)
{
    const uint64_t begin_ns = clock_monotonic_ns();
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    const struct row *row = row_of(root_pid);
    assert_int_equal(row->stamp_ns, who(root_pid)->stat_ns);
    assert_in_range(number(row, "proc_rss"), HELD_BYTES, HELD_BYTES + (200 << 20));
    assert_true(number(row, "proc_vsz") >= number(row, "proc_rss"));
    assert_true(number(row, "proc_hwm") >= SPIKE_BYTES);
    assert_int_equal(number(row, "proc_threads"), 3);
    assert_int_equal(number(row, "proc_fds"), HELD_FILES);
    assert_int_equal(number(row, "proc_fd_limit"), 123);
    assert_true(number(row, "proc_pdcpu") >= 0.05 && number(row, "proc_pdcpu") < 5);
    const double since = (double)(clock_monotonic_ns() - begin_ns) / 1e9; /* starts are known to a tick */
    assert_true(number(row, "proc_etime") >= 0.05 && number(row, "proc_etime") <= since + 0.02);
    assert_true(number(row, "proc_minor_faults") >= (double)HELD_BYTES / (2 << 20));
    assert_true(number(row, "proc_ctx_voluntary") >= SLEEPS); /* of the other threads */
    assert_non_null(strstr("S R", text(row, "proc_stat")));   /* it looks up now and then */
    assert_non_null(strstr(text(row, "proc_cmd"), "test_collectors_proc"));
    assert_int_equal(strtol(text(row, "proc_ppid"), NULL, 10), getpid());
    assert_string_equal(text(row, "proc_start_time"), who(root_pid)->start_time);
    number_is("proc_processes", 1);
    number_is("proc_zombies", 0);
    number_is("proc_spawned", 1);
    number_is("proc_exited", 0);
    assert_true(number(&pass.single, "proc_hwm_max") >= SPIKE_BYTES);
    assert_true(number(&pass.single, "proc_cpu_seconds") >= 0.05);
    collect("ledger", COST_STAT | COST_CLOCK);
    assert_true(number(&pass.single, "ledger_live_seconds") >= 0.05);
}

static void what_nobody_selected_is_not_read(void **state)
{
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", COST_STAT);
    const struct row *row = row_of(root_pid);
    assert_true(has(row, "proc_vsz"));
    assert_false(has(row, "proc_rss"));
    assert_false(has(row, "proc_hwm"));
    assert_false(has(row, "proc_ctx_voluntary"));
    assert_false(has(row, "proc_fds"));
    assert_false(has(row, "proc_fd_limit"));
    assert_false(has(row, "proc_cmd"));
    assert_false(has(&pass.single, "proc_hwm_max"));
    /* The process wakes up now and then; if it has not run since, it is not read again. */
    for (int ms = 0; ms < PATIENCE_MS && !has(row_of(root_pid), "proc_fds"); ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
        collect("proc", COST_STAT | COST_FD);
    }
    assert_true(has(row_of(root_pid), "proc_fds"));
    assert_false(has(row_of(root_pid), "proc_rss"));
}

/* The kernel's iterator reads a process (tree/tasks.c), and fills in nothing but what stat has. */
static void what_the_latest_reading_did_not_fill_is_absent(void **state)
{
    static const char *const keys[] = {"proc_rss", "proc_hwm", "proc_ctx_voluntary", "proc_fd_limit"};
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_true(has(row_of(root_pid), keys[i]));
    struct process *process = tree_find(watch.tree, root_pid);
    const struct pid_stat stat = process->stat;
    assert_int_equal(member_take(watch.tree, process, &stat, process->cpu_ns, clock_monotonic_ns()), 0);
    process->by_tasks = true;
    collect("proc", ~0U);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_false(has(row_of(root_pid), keys[i]));
    assert_int_equal(number(row_of(root_pid), "proc_fds"), HELD_FILES); /* it has not run since */
}

static void body_with_many_files(void)
{
    for (int i = 0; i < MANY_FILES; i++)
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    say();
    wait_for_go(1);
    _exit(0);
}

/* One reading, after which the process has used this share of a core since the one before. */
static const struct row *row_after_using(pid_t pid, uint64_t cpu_ns, uint64_t elapsed_ns)
{
    struct process *process = tree_find(watch.tree, pid);

    assert_non_null(process);
    process->look_again = true;
    tree_refresh(watch.tree);
    process->last_cpu_ns = process->cpu_ns - cpu_ns;
    process->last_ns = process->stat_ns - elapsed_ns;
    collect("proc", ~0U);
    return row_of(pid);
}

static void of_the_whole_machine_costly_files_are_read_where_they_matter(void **state)
{
    watch_tree(state);
    context.of_machine = true;
    pid_t root_pid = start_root(body_with_many_files);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_false(has(row_of(root_pid), "proc_ctx_voluntary")); /* nobody knows yet how busy it is */
    assert_true(number(row_of(root_pid), "proc_fd_limit") >= MANY_FILES);
    assert_false(has(row_after_using(root_pid, 100, 201), "proc_ctx_voluntary"));
    assert_true(has(row_after_using(root_pid, 101, 201), "proc_ctx_voluntary"));
    assert_false(has(row_of(root_pid), "proc_hwm"));
    let_go(1);
}

static void a_limit_that_is_far_away_is_not_read_of_the_whole_machine(void **state)
{
    watch_tree(state);
    context.of_machine = true;
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_int_equal(number(row_of(root_pid), "proc_fds"), HELD_FILES);
    assert_false(has(row_of(root_pid), "proc_fd_limit"));
}

static void body_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    shared->pids[1] = pid;
    say();
    wait_for_go(1);
}

static void a_zombie_has_no_memory_but_a_state(void **state)
{
    watch_tree(state);
    (void)start_root(body_zombie);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    const struct row *row = row_of(shared->pids[1]);
    assert_string_equal(text(row, "proc_stat"), "Z");
    assert_true(has(row, "proc_pdcpu"));
    assert_false(has(row, "proc_rss"));
    assert_false(has(row, "proc_vsz"));
    assert_false(has(row, "proc_hwm"));
    assert_false(has(row, "proc_threads"));
    assert_false(has(row, "proc_fds"));
    number_is("proc_processes", 1);
    number_is("proc_zombies", 1);
}

static void the_largest_high_water_mark_outlives_its_process(void **state)
{
    watch_tree(state);
    (void)start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    double largest = number(&pass.single, "proc_hwm_max");
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_int_equal(pass.count, 0);
    number_is("proc_hwm_max", largest);
    number_is("proc_exited", 1);
}

static void *thread_of_many_waits(void *argument)
{
    (void)argument;
    for (int i = 0; i < 200; i++)
        sleep_seconds(0.0001);
    say();
    wait_for_go(1);
    return NULL;
}

static void body_thread_ends(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_of_many_waits, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(1);
    say();
    (void)pause(); /* no more switches than these */
}

static void context_switches_do_not_fall_when_a_thread_ends(void **state)
{
    watch_tree(state);
    pid_t root_pid = start_root(body_thread_ends);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    double before = number(row_of(root_pid), "proc_ctx_voluntary");
    assert_true(before >= 200);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    assert_int_equal(who(root_pid)->stat.threads, 1);
    collect("proc", ~0U);
    assert_true(number(row_of(root_pid), "proc_ctx_voluntary") >= before);
}

static void resident_memory_is_told_in_percent_of_what_may_be_used(void **state)
{
    watch_tree(state);
    allowance.memory_bytes = UINT64_C(64) * HELD_BYTES;
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    assert_null(reason_of("proc_pmem"));
    collect("proc", COST_STATM);
    const struct row *row = row_of(root_pid);
    /* a share inside; percent is made at the edge */
    assert_true(fabs(number(row, "proc_pmem") - number(row, "proc_rss") / (64.0 * HELD_BYTES)) < 1e-12);
    assert_true(number(row, "proc_pmem") >= 1 / 64.0);
}

static void percent_of_what_nobody_knows_is_absent(void **state)
{
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    allowance.memory_bytes = 0;
    assert_non_null(reason_of("proc_pmem"));
    collect("proc", COST_STATM);
    assert_false(has(row_of(root_pid), "proc_pmem"));
    assert_true(has(row_of(root_pid), "proc_rss"));
    context.allowance = NULL;
    assert_non_null(reason_of("proc_pmem"));
    collect("proc", COST_STATM);
    assert_false(has(row_of(root_pid), "proc_pmem"));
}

static void a_broken_reader_costs_its_own_readings(void **state)
{
    static const struct {
        const char *reader, *absent[2], *present[3];
    } cases[] = {
        {"statm", {"proc_rss", "proc_pmem"}, {"proc_vsz", "proc_hwm", "proc_fds"}},
        {"status", {"proc_hwm", "proc_ctx_voluntary"}, {"proc_rss", "proc_vsz", "proc_fds"}},
        {"fd", {"proc_fds"}, {"proc_rss", "proc_fd_limit", "proc_hwm"}},
        {"limits", {"proc_fd_limit"}, {"proc_rss", "proc_fds", "proc_cmd"}},
    };
    watch_tree(state);
    allowance.memory_bytes = 1 << 30;
    pid_t root_pid = start_root(body_known);
    await_said(1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* Descriptors that were kept open would go on to work: a tree of its own for each. */
        tree_free(watch.tree);
        watch.tree = NULL;
        watch_tree(state);
        assert_int_equal(tree_add_root(watch.tree, root_pid), 0);
        breakage_set(cases[i].reader);
        tree_refresh(watch.tree);
        collect("proc", ~0U);
        const struct row *row = row_of(root_pid);
        for (size_t j = 0; j < 2 && cases[i].absent[j]; j++) {
            if (has(row, cases[i].absent[j]))
                fail_msg("%s in spite of %s", cases[i].absent[j], cases[i].reader);
            assert_non_null(strstr(reason_of(cases[i].absent[j]), cases[i].reader));
        }
        for (size_t j = 0; j < 3; j++) {
            assert_true(has(row, cases[i].present[j]));
            assert_null(reason_of(cases[i].present[j]));
        }
    }
}

static void without_command_lines_there_is_the_name(void **state)
{
    breakage_set("cmdline");
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_non_null(strstr(reason_of("proc_cmd"), "cmdline"));
    assert_non_null(strstr(text(row_of(root_pid), "proc_cmd"), "[test_")); /* its name, as ps has it */
    assert_true(has(row_of(root_pid), "proc_rss"));
}

static void without_the_cpu_clock_rates_come_from_ticks(void **state)
{
    breakage_set("clock");
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(who(root_pid)->cpu_ns, 0);
    collect("proc", ~0U);
    const double tick = 1.0 / (double)clock_ticks_per_second();
    assert_true(number(row_of(root_pid), "proc_pdcpu") >= 0.05 - tick); /* it burnt 50 ms */
    assert_true(number(&pass.single, "proc_cpu_seconds") >= 0.05 - tick);
}

static void a_proc_that_is_not_there_is_the_reason_for_every_key(void **state)
{
    (void)state;
    context.proc_root = "/nowhere";
    assert_non_null(strstr(reason_of("proc_vsz"), "/proc is not mounted"));
    assert_non_null(strstr(reason_of("proc_rss"), "/proc is not mounted"));
    assert_non_null(strstr(reason_of("proc_fds"), "/proc is not mounted"));
    assert_non_null(reason_of("proc_processes"));
    assert_non_null(reason_of("io_rchar"));
}

/* ---- io ---- */

static void body_writes(void)
{
    static const char block[1000];
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (int i = 0; i < 30; i++)
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            _exit(1);
    (void)close(fd);
    say();
    wait_for_go(1);
}

static void io_tells_what_a_process_and_the_tree_did(void **state)
{
    watch_tree(state);
    collect_as("io", COST_IO, PASS_SEED);
    number_is("io_wchar_total", 0); /* before the command nothing was done: a true 0 */
    pid_t root_pid = start_root(body_writes);
    await_said(1);
    tree_refresh(watch.tree);
    collect("io", COST_IO);
    const struct row *row = row_of(root_pid);
    assert_int_equal(row->stamp_ns, who(root_pid)->stat_ns);
    assert_int_equal(number(row, "io_wchar"), 30000);
    assert_int_equal(number(row, "io_syscw"), 30);
    assert_int_equal(number(row, "io_rchar"), 0);
    assert_int_equal(number(row, "io_write_bytes"), 0); /* none of it reached storage */
    number_is("io_wchar_total", 30000);
    number_is("io_syscw_total", 30);
    number_is("io_read_bytes_total", 0);
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    collect_as("io", COST_IO, PASS_FINAL);
    assert_int_equal(pass.count, 0);
    number_is("io_wchar_total", 30000); /* it has ended; what it did has not */
}

static void io_that_cannot_be_read_is_absent_not_zero(void **state)
{
    breakage_set("io");
    assert_non_null(strstr(reason_of("io_wchar"), "/proc/PID/io"));
    assert_non_null(reason_of("io_wchar_total"));
    assert_non_null(reason_of("io_write_rate_total"));
    watch_tree(state);
    pid_t root_pid = start_root(body_writes);
    await_said(1);
    tree_refresh(watch.tree);
    collect("io", COST_IO);
    assert_false(has(row_of(root_pid), "io_wchar"));
    assert_false(has(row_of(root_pid), "io_write_bytes"));
    assert_false(has(&pass.single, "io_wchar_total"));
    assert_false(has(&pass.single, "io_write_bytes_total"));
}

static void waits_for_storage_are_told_only_where_the_kernel_counts_them(void **state)
{
    (void)state;
    facts.delay_accounting = false;
    assert_non_null(strstr(reason_of("io_blocked_pct"), "task_delayacct"));
    facts.delay_accounting = true;
    assert_null(reason_of("io_blocked_pct"));
    assert_null(reason_of("io_wchar"));
}

static void a_wait_for_storage_is_in_seconds(void **state)
{
    watch_tree(state);
    pid_t root_pid = start_root(body_writes);
    await_said(1);
    tree_refresh(watch.tree);
    facts.delay_accounting = true;
    who(root_pid)->stat.blocked_ticks = 3 * (uint64_t)clock_ticks_per_second();
    collect("io", COST_STAT);
    assert_true(fabs(number(row_of(root_pid), "io_blocked_pct") - 3) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        READS(proc_reads_a_process_as_it_is),
        READS(what_nobody_selected_is_not_read),
        READS(what_the_latest_reading_did_not_fill_is_absent),
        READS(of_the_whole_machine_costly_files_are_read_where_they_matter),
        READS(a_limit_that_is_far_away_is_not_read_of_the_whole_machine),
        READS(a_zombie_has_no_memory_but_a_state),
        READS(the_largest_high_water_mark_outlives_its_process),
        READS(context_switches_do_not_fall_when_a_thread_ends),
        READS(resident_memory_is_told_in_percent_of_what_may_be_used),
        READS(percent_of_what_nobody_knows_is_absent),
        READS(a_broken_reader_costs_its_own_readings),
        READS(without_command_lines_there_is_the_name),
        READS(without_the_cpu_clock_rates_come_from_ticks),
        READS(a_proc_that_is_not_there_is_the_reason_for_every_key),
        READS(io_tells_what_a_process_and_the_tree_did),
        READS(io_that_cannot_be_read_is_absent_not_zero),
        READS(waits_for_storage_are_told_only_where_the_kernel_counts_them),
        READS(a_wait_for_storage_is_in_seconds),
    };

    (void)by_connector;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
