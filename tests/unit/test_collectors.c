/* Every real collector: its table is what the documents promise, and its readings are what is there. */
#include "collect/collectors.h"

#include "tree_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file.h"
#include "schema/registry.h"

static struct registry registry;

static int setup(void **state)
{
    (void)registry_init(&registry, collector_sources(), collector_count,
                        NULL); /* the first test says why not */
    return become_reaper(state);
}

static int teardown(void **state)
{
    (void)state;
    registry_fini(&registry);
    return 0;
}

/* ---- the tables ---- */

static void every_measurement_of_every_collector_is_legal(void **state)
{
    (void)state;
    unsigned count = 0;
    struct registry fresh;
    struct metron_error refused = {0};

    if (registry_init(&fresh, collector_sources(), collector_count, &refused) < 0)
        fail_msg("%s", refused.message);
    registry_fini(&fresh);
    for (size_t i = 0; i < collector_count; i++) {
        const struct source *source = &collectors[i]->source;
        assert_ptr_equal(collector_sources()[i], source);
        for (size_t j = 0; j < source->measurement_count; j++, count++) {
            struct metron_error error = {0};
            if (measurement_check(source, &source->measurements[j], &error) < 0)
                fail_msg("%s", error.message);
            assert_non_null(registry_find(&registry, source->measurements[j].key));
        }
    }
    assert_int_equal(count, registry.count);
    assert_true(count > 50);
}

static void every_collector_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < collector_count; i++) {
        const struct collector *collector = collectors[i];
        const struct source *source = &collector->source;
        uint64_t used = 0;

        assert_true(source->name && source->title && source->title[0]);
        assert_true(!collector->collect != !collector->read); /* one of the two */
        assert_true(!collector->open == !collector->close);
        for (size_t j = 0; j < source->measurement_count; j++)
            used |= UINT64_C(1) << source->measurements[j].field;
        for (unsigned field = 0; field < source->field_count; field++) {
            assert_true(source->fields[field] && source->fields[field][0]);
            assert_true((used >> field) & 1); /* nothing is read for nobody */
        }
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(collectors[j]->source.name, source->name);
    }
}

#define PER_PID(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                             \
    {                                                                                                        \
        KEY, SCOPE_PER_PID, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_NONE, REDUCE_##REDUCE        \
    }
#define SINGLE(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                              \
    {                                                                                                        \
        KEY, SCOPE_SINGLE, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_NONE, REDUCE_##REDUCE         \
    }
#define TOTAL(KEY, TYPE, UNIT, DERIVE, REDUCE)                                                               \
    {                                                                                                        \
        KEY, SCOPE_SINGLE, TYPE_##TYPE, UNIT_##UNIT, DERIVE_##DERIVE, COLLAPSE_SUM, REDUCE_##REDUCE          \
    }

/* The table of the specification. A total that parents inherit from their children is no sum over processes:
 * it comes from the ledger, as a single field. */
static const struct {
    const char *key;
    enum scope scope;
    enum type type;
    enum unit unit;
    enum derive derive;
    enum collapse collapse;
    enum reduce reduce;
} promised[] = {
    PER_PID("proc_rss", GAUGE, BYTES, NONE, MAX),
    TOTAL("proc_rss_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("proc_vsz", GAUGE, BYTES, NONE, MAX),
    TOTAL("proc_vsz_total", GAUGE, BYTES, NONE, MAX),
    PER_PID("proc_hwm", GAUGE, BYTES, NONE, MAX),
    SINGLE("proc_hwm_max", GAUGE, BYTES, NONE, LAST),
    PER_PID("proc_pdcpu", COUNTER, PERCENT, RATE, MAX),
    SINGLE("proc_pdcpu_total", COUNTER, PERCENT, RATE, MAX),
    SINGLE("proc_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    PER_PID("proc_etime", GAUGE, SECONDS, NONE, LAST),
    PER_PID("proc_stat", CATEGORICAL, NONE, NONE, TALLY),
    PER_PID("proc_cmd", LABEL, NONE, NONE, LAST),
    PER_PID("proc_ppid", LABEL, NONE, NONE, LAST),
    PER_PID("proc_start_time", LABEL, NONE, NONE, LAST),
    PER_PID("proc_threads", GAUGE, COUNT, NONE, MAX),
    TOTAL("proc_threads_total", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_fds", GAUGE, COUNT, NONE, MAX),
    TOTAL("proc_fds_total", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_fd_limit", GAUGE, COUNT, NONE, MAX),
    PER_PID("proc_minor_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_minor_faults_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_major_faults", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_major_faults_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_ctx_voluntary", COUNTER, COUNT, NONE, DELTA),
    TOTAL("proc_ctx_voluntary_total", COUNTER, COUNT, NONE, DELTA),
    PER_PID("proc_ctx_involuntary", COUNTER, COUNT, NONE, DELTA),
    TOTAL("proc_ctx_involuntary_total", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_processes", GAUGE, COUNT, NONE, MAX),
    SINGLE("proc_zombies", GAUGE, COUNT, NONE, MAX),
    SINGLE("proc_spawned", COUNTER, COUNT, NONE, DELTA),
    SINGLE("proc_exited", COUNTER, COUNT, NONE, DELTA),
    SINGLE("ledger_live_seconds", GAUGE, SECONDS, NONE, LAST),
    SINGLE("ledger_reaped_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("rusage_cpu_user_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("rusage_cpu_system_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("rusage_ctx_voluntary", COUNTER, COUNT, NONE, DELTA),
    SINGLE("rusage_ctx_involuntary", COUNTER, COUNT, NONE, DELTA),
    SINGLE("rusage_in_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("rusage_out_bytes", COUNTER, BYTES, NONE, DELTA),
    SINGLE("rusage_max_rss", GAUGE, BYTES, NONE, LAST),
    SINGLE("sys_mem_total", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_mem_used", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_mem_available", GAUGE, BYTES, NONE, MIN),
    SINGLE("sys_swap_used", GAUGE, BYTES, NONE, MAX),
    SINGLE("sys_load1", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_load5", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_load15", GAUGE, NONE, NONE, MAX),
    SINGLE("sys_cpu_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("sys_iowait_pct", COUNTER, PERCENT, RATE, MAX),
    SINGLE("self_cpu_seconds", COUNTER, SECONDS, NONE, DELTA),
    SINGLE("self_samples", COUNTER, COUNT, NONE, DELTA),
    SINGLE("self_missed_ticks", COUNTER, COUNT, NONE, DELTA),
    SINGLE("self_rss", GAUGE, BYTES, NONE, MAX),
    SINGLE("self_sample_seconds", GAUGE, SECONDS, NONE, MAX),
};

static void every_promised_key_is_there_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        const struct registry_entry *entry = registry_find(&registry, promised[i].key);
        if (!entry)
            fail_msg("there is no %s", promised[i].key);
        const struct measurement *m = entry->measurement;
        if (m->scope != promised[i].scope || m->type != promised[i].type || m->unit != promised[i].unit ||
            m->derive != promised[i].derive || m->collapse != promised[i].collapse ||
            m->reduce != promised[i].reduce)
            fail_msg("%s is %s %s %s derive %s collapse %s reduce %s", m->key, scope_name(m->scope),
                     type_name(m->type), unit_name(m->unit), derive_name(m->derive),
                     collapse_name(m->collapse), reduce_name(m->reduce));
    }
}

static void cpu_rates_are_cut_at_the_usable_cores(void **state)
{
    (void)state;
    assert_int_equal(registry_find(&registry, "proc_pdcpu")->measurement->ceiling, CEILING_USABLE_CORES);
    assert_int_equal(registry_find(&registry, "proc_pdcpu_total")->measurement->ceiling,
                     CEILING_USABLE_CORES);
}

static void a_sum_of_resident_memory_says_that_it_double_counts(void **state)
{
    (void)state;
    const char *meaning = registry_find(&registry, "proc_rss_total")->measurement->meaning;

    assert_non_null(strstr(meaning, "shared"));
    assert_non_null(strstr(meaning, "upper bound"));
}

/* ---- readings ---- */

static struct pass pass;
static struct loop_figures figures;
static struct collect_context context;

static const struct collector *collector_named(const char *name)
{
    for (size_t i = 0; i < collector_count; i++)
        if (strcmp(collectors[i]->source.name, name) == 0)
            return collectors[i];
    fail_msg("no collector is called %s", name);
    return NULL;
}

/* One pass of one collector, opened for `cost`. */
static void collect(const char *name, unsigned cost)
{
    const struct collector *collector = collector_named(name);
    void *state = NULL;

    pass_fini(&pass);
    assert_int_equal(pass_init(&pass, collector->source.field_count), 0);
    if (collector->open)
        assert_int_equal(collector->open(&context, cost, &state), 0);
    pass_begin(&pass, PASS_SAMPLE, clock_monotonic_ns());
    assert_int_equal((collector->collect ? collector->collect : collector->read)(state, &context, &pass), 0);
    if (collector->close)
        collector->close(state);
}

static const struct row *row_of(pid_t pid)
{
    for (size_t i = 0; i < pass.count; i++)
        if (pass.rows[i].subject.id == pid)
            return &pass.rows[i];
    fail_msg("no row of %d", (int)pid);
    return NULL;
}

static bool has(const struct row *row, const char *key)
{
    return row_has(row, registry_find(&registry, key)->measurement->field);
}

static double number(const struct row *row, const char *key)
{
    if (!has(row, key))
        fail_msg("%s was not read", key);
    return row->values[registry_find(&registry, key)->measurement->field].number;
}

static const char *text(const struct row *row, const char *key)
{
    if (!has(row, key))
        fail_msg("%s was not read", key);
    return row->values[registry_find(&registry, key)->measurement->field].text;
}

#define number_is(KEY, WANTED)                                                                               \
    do {                                                                                                     \
        double got_ = number(&pass.single, (KEY));                                                           \
        if (fabs(got_ - (WANTED)) > 1e-6)                                                                    \
            fail_msg("%s is %.9g", (KEY), got_);                                                             \
    } while (0)

static int readings_setup(void **state)
{
    context = (struct collect_context){.proc_root = "/proc", .figures = &figures};
    figures = (struct loop_figures){0};
    return watch_setup(state);
}

static int readings_teardown(void **state)
{
    pass_fini(&pass);
    return watch_teardown(state);
}

/* A root folder of our own, with the three files that sys reads. */
static char root[64];

static void put(const char *name, const char *bytes)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(file_replace(path, bytes, strlen(bytes), 0600), 0);
}

static void make_root(void)
{
    (void)snprintf(root, sizeof(root), "/tmp/metron-collectors-XXXXXX");
    assert_non_null(mkdtemp(root));
    context.proc_root = root;
    put("meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"
                   "SwapTotal:       500 kB\nSwapFree:        200 kB\n");
    put("loadavg", "1.50 2.25 3.75 2/345 6789\n");
    put("stat", "cpu  100 20 300 4000 55 6 7 8 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1700000000\n");
}

static void remove_root(void)
{
    static const char *const names[] = {"meminfo", "loadavg", "stat", ""};
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        (void)remove(path);
    }
}

static void sys_reads_the_machine(void **state)
{
    (void)state;
    const double tick = 1.0 / (double)clock_ticks_per_second();

    make_root();
    assert_null(collector_named("sys")->unavailable(&context));
    collect("sys", COST_SYSTEM);
    number_is("sys_mem_total", 1024000);
    number_is("sys_mem_available", 409600);
    number_is("sys_mem_used", 614400);
    number_is("sys_swap_used", 307200);
    number_is("sys_load1", 1.5);
    number_is("sys_load5", 2.25);
    number_is("sys_load15", 3.75);
    number_is("sys_cpu_pct", (100 + 20 + 300 + 6 + 7 + 8) * tick); /* guest is in user already */
    number_is("sys_iowait_pct", 55 * tick);
    assert_int_equal(pass.count, 0);
    remove_root();
}

static void what_the_machine_does_not_tell_is_absent(void **state)
{
    (void)state;
    char path[128];

    make_root();
    put("meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    (void)snprintf(path, sizeof(path), "%s/loadavg", root);
    assert_int_equal(unlink(path), 0);
    put("stat", "no such line\n");
    collect("sys", COST_SYSTEM);
    number_is("sys_mem_total", 1024000);
    number_is("sys_swap_used", 0);
    assert_false(has(&pass.single, "sys_mem_available"));
    assert_false(has(&pass.single, "sys_mem_used"));
    assert_false(has(&pass.single, "sys_load1"));
    assert_false(has(&pass.single, "sys_cpu_pct"));
    assert_false(has(&pass.single, "sys_iowait_pct"));
    remove_root();
    assert_non_null(collector_named("sys")->unavailable(&context)); /* and why, when there is nothing */
}

static void self_tells_our_own_cost(void **state)
{
    (void)state;
    collect("self", COST_NOTHING);
    assert_false(has(&pass.single, "self_sample_seconds")); /* there was no sample yet */
    figures = (struct loop_figures){.samples = 5, .missed_ticks = 2, .sample_seconds = 0.25};
    collect("self", COST_NOTHING);
    number_is("self_samples", 5);
    number_is("self_missed_ticks", 2);
    number_is("self_sample_seconds", 0.25);
    double rss = number(&pass.single, "self_rss");
    assert_true(rss > 500e3 && rss < 4e9);
    double before = number(&pass.single, "self_cpu_seconds");
    burn_process(0.05);
    collect("self", COST_NOTHING);
    double used = number(&pass.single, "self_cpu_seconds") - before;
    assert_true(used >= 0.04 && used < 0.2);
}

static void watch_tree(void **state)
{
    watch_begin(state);
    context.tree = watch.tree;
}

static void rusage_tells_what_was_reaped(void **state)
{
    watch_tree(state);
    const struct rusage usage = {.ru_utime = {1, 500000},
                                 .ru_stime = {0, 250000},
                                 .ru_maxrss = 2000,
                                 .ru_inblock = 3,
                                 .ru_oublock = 5,
                                 .ru_nvcsw = 7,
                                 .ru_nivcsw = 9};
    context.spawner_maxrss_bytes = 1000 * 1024;
    collect("rusage", COST_NOTHING);
    assert_false(has(&pass.single, "rusage_max_rss")); /* nobody was reaped */
    tree_reap(watch.tree, 1 << 21, 0, &usage);
    collect("rusage", COST_NOTHING);
    number_is("rusage_cpu_user_seconds", 1.5);
    number_is("rusage_cpu_system_seconds", 0.25);
    number_is("rusage_in_bytes", 3 * 512);
    number_is("rusage_out_bytes", 5 * 512);
    number_is("rusage_ctx_voluntary", 7);
    number_is("rusage_ctx_involuntary", 9);
    number_is("rusage_max_rss", 2000 * 1024);
    context.spawner_maxrss_bytes = 2000 * 1024; /* no more than what it inherited: not measured */
    collect("rusage", COST_NOTHING);
    assert_false(has(&pass.single, "rusage_max_rss"));
    collect("ledger", COST_STAT | COST_CLOCK);
    number_is("ledger_reaped_seconds", 1.75);
    number_is("ledger_live_seconds", 0);
}

enum { HELD_BYTES = 24 << 20, SPIKE_BYTES = 64 << 20, HELD_FILES = 10 };

static void *thread_that_waits(void *argument)
{
    (void)argument;
    wait_for_go(1);
    return NULL;
}

/* Known sizes: memory held, memory let go, files, threads, a limit, switches. */
static void body_known(void)
{
    pthread_t threads[2];
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
    for (size_t i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, thread_that_waits, NULL) != 0)
            _exit(1);
    burn_process(0.05);
    say();
    wait_for_go(1);
    _exit(0);
}

static void proc_reads_a_process_as_it_is(void **state)
{
    watch_tree(state);
    pid_t root_pid = start_root(body_known);
    await_said(1);
    sleep_seconds(0.05);
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
    assert_true(number(row, "proc_etime") >= 0.05 && number(row, "proc_etime") < 20);
    assert_true(number(row, "proc_minor_faults") >= (double)HELD_BYTES / (2 << 20));
    assert_true(number(row, "proc_ctx_voluntary") > 10);    /* of the waiting threads too */
    assert_non_null(strstr("S R", text(row, "proc_stat"))); /* it looks up now and then */
    assert_non_null(strstr(text(row, "proc_cmd"), "test_collectors"));
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
    collect("proc", COST_STAT | COST_FD);
    assert_true(has(row_of(root_pid), "proc_fds"));
    assert_false(has(row_of(root_pid), "proc_rss"));
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

static void body_ignores_its_children(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        say();
        wait_for_go(1);
        _exit(0);
    }
    say();
    wait_for_go(1);
}

static void a_parent_that_ignores_its_children_makes_cpu_not_conserved(void **state)
{
    watch_tree(state);
    assert_null(tree_cpu_missing(watch.tree));
    (void)start_root(body_ignores_its_children);
    await_said(2);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_non_null(strstr(tree_cpu_missing(watch.tree), "SIGCHLD"));
}

static void body_ignores_nobody(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    say();
    wait_for_go(1);
}

static void ignoring_children_without_having_any_loses_nothing(void **state)
{
    watch_tree(state);
    (void)start_root(body_ignores_nobody);
    await_said(1);
    tree_refresh(watch.tree);
    collect("proc", ~0U);
    assert_null(tree_cpu_missing(watch.tree));
}

#define READS(NAME)                                                                                          \
    {                                                                                                        \
#NAME, NAME, readings_setup, readings_teardown, &by_listings                                         \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_measurement_of_every_collector_is_legal),
        cmocka_unit_test(every_collector_is_complete),
        cmocka_unit_test(every_promised_key_is_there_as_promised),
        cmocka_unit_test(cpu_rates_are_cut_at_the_usable_cores),
        cmocka_unit_test(a_sum_of_resident_memory_says_that_it_double_counts),
        READS(sys_reads_the_machine),
        READS(what_the_machine_does_not_tell_is_absent),
        READS(self_tells_our_own_cost),
        READS(rusage_tells_what_was_reaped),
        READS(proc_reads_a_process_as_it_is),
        READS(what_nobody_selected_is_not_read),
        READS(a_zombie_has_no_memory_but_a_state),
        READS(the_largest_high_water_mark_outlives_its_process),
        READS(context_switches_do_not_fall_when_a_thread_ends),
        READS(a_parent_that_ignores_its_children_makes_cpu_not_conserved),
        READS(ignoring_children_without_having_any_loses_nothing),
    };

    (void)by_connector;
    (void)by_scan;
    return cmocka_run_group_tests(tests, setup, teardown);
}
