/* The collector that runs ps: its readings, who is no member, and what of a command line is told. */
#include "collect/collectors.h"

#include <fcntl.h>

#include "tree_fixture.h"

#include "base/file.h"

extern const struct collector collector_ps;

static struct {
    struct pass pass;
    struct loop_figures figures;
    struct collect_context context;
    void *state;
    char folder[64];
    char *path; /* PATH before the test */
} with;

static unsigned field_of(const char *key)
{
    const struct source *source = &collector_ps.source;

    for (size_t i = 0; i < source->measurement_count; i++)
        if (strcmp(source->measurements[i].key, key) == 0)
            return source->measurements[i].field;
    fail_msg("no key %s", key);
    return 0;
}

static const struct row *row_of(pid_t pid)
{
    for (size_t i = 0; i < with.pass.count; i++)
        if (with.pass.rows[i].subject.id == pid)
            return &with.pass.rows[i];
    return NULL;
}

static bool has(pid_t pid, const char *key)
{
    return row_of(pid) && row_has(row_of(pid), field_of(key));
}

static double number(pid_t pid, const char *key)
{
    if (!has(pid, key))
        fail_msg("%s of %d was not read", key, (int)pid);
    return row_of(pid)->values[field_of(key)].number;
}

static const char *text(pid_t pid, const char *key)
{
    if (!has(pid, key))
        fail_msg("%s of %d was not read", key, (int)pid);
    return row_of(pid)->values[field_of(key)].text;
}

static int setup(void **state)
{
    memset(&with, 0, sizeof(with));
    with.context = (struct collect_context){.proc_root = "/proc", .figures = &with.figures};
    with.path = strdup(getenv("PATH"));
    (void)snprintf(with.folder, sizeof(with.folder), "/tmp/metron-ps-XXXXXX");
    if (!mkdtemp(with.folder) || !with.path || pass_init(&with.pass, collector_ps.source.field_count) < 0)
        return -1;
    return watch_setup(state);
}

static int teardown(void **state)
{
    char path[128];

    if (with.state)
        collector_ps.close(with.state);
    pass_fini(&with.pass);
    (void)setenv("PATH", with.path, 1);
    free(with.path);
    (void)snprintf(path, sizeof(path), "%s/ps", with.folder);
    (void)unlink(path);
    (void)rmdir(with.folder);
    return watch_teardown(state);
}

/* A ps of our own making, the only one in PATH: says a line about who asks, then `lines`. */
static void stand_in(const char *lines)
{
    char path[128], script[1024];

    (void)snprintf(path, sizeof(path), "%s/ps", with.folder);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\nfor list; do :; done\necho \"${list%%%%,*} 1 S 1 1 0.0 0 1 me\"\n"
                   "/bin/cat <<'END'\n%sEND\n",
                   lines);
    assert_int_equal(file_replace(AT_FDCWD, path, script, strlen(script), 0700), 0);
    assert_int_equal(setenv("PATH", with.folder, 1), 0);
}

static void watch_tree(void **state)
{
    const char *reasons[64] = {NULL};

    collector_ps.survey(&with.context, reasons);
    if (reasons[0]) {
        print_message("%s\n", reasons[0]);
        skip();
    }
    watch_begin(state);
    with.context.tree = watch.tree;
    assert_int_equal(collector_ps.open(&with.context, COST_PS, &with.state), 0);
}

/* On a busy machine ps may be late: it is asked again. */
static int look(void)
{
    int code;

    do {
        pass_begin(&with.pass, PASS_SAMPLE, clock_monotonic_ns());
        code = collector_ps.collect(with.state, &with.context, &with.pass);
    } while (code == -ETIME);
    return code;
}

static void body_wait(void)
{
    say();
    wait_for_go(OVER);
}

static void body_family(void)
{
    if (fork() == 0) {
        body_wait();
        _exit(0);
    }
    if (fork() == 0) {
        say();
        _exit(0); /* a zombie */
    }
    body_wait();
}

static void ps_tells_of_every_member_and_nobody_else(void **state)
{
    watch_tree(state);
    (void)start_root(body_family);
    await_said(3);
    for (int ms = 0; ms < PATIENCE_MS && tree_zombies(watch.tree) == 0; ms++) {
        sleep_seconds(0.001);
        tree_refresh(watch.tree);
    }
    assert_int_equal(tree_count(watch.tree), 3);
    uint64_t spawned = tree_spawned(watch.tree);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(look(), 0);
        assert_int_equal(with.pass.count, 3);
        tree_refresh(watch.tree);
        assert_int_equal(tree_count(watch.tree), 3); /* ps is none of them */
    }
    assert_int_equal(tree_spawned(watch.tree), spawned);
    assert_int_equal(tree_ledger(watch.tree)->reaped_count, 0);
    assert_true(with.figures.helper_cpu_seconds > 0);

    const double page = (double)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < 3; i++) {
        const struct process *process = tree_process(watch.tree, i);
        pid_t pid = process->subject.id;
        /* Who waits here is awake at times. */
        assert_non_null(strchr(process->stat.state == 'Z' ? "Z" : "SRD", text(pid, "ps_stat")[0]));
        assert_int_equal(strlen(text(pid, "ps_stat")), 1);
        double cpu = (double)(process->stat.user_ticks + process->stat.system_ticks) /
                     (double)clock_ticks_per_second();
        assert_true(fabs(number(pid, "ps_cpu_seconds") - cpu) <= 1);
        assert_true(number(pid, "ps_etime") <= 60);
        assert_int_equal(has(pid, "ps_rss"), process->stat.state != 'Z');
        assert_int_equal(has(pid, "ps_pmem"), process->stat.state != 'Z');
        if (process->stat.state == 'Z')
            continue;
        assert_true(fabs(number(pid, "ps_rss") - (double)process->stat.rss_pages * page) < 1 << 20);
        assert_true(fabs(number(pid, "ps_vsz") - (double)process->stat.vsize_bytes) < 1024);
        assert_true(number(pid, "ps_pmem") >= 0 && number(pid, "ps_pmem") < 1);
        assert_non_null(strstr(text(pid, "ps_cmd"), "test_collect_ps"));
    }
}

static void body_busy(void)
{
    burn_process(1.1); /* ps tells whole seconds */
    body_wait();
}

static void ps_tells_the_cpu_seconds_of_a_busy_member(void **state)
{
    watch_tree(state);
    pid_t root = start_root(body_busy);
    await_said(1);
    tree_refresh(watch.tree);
    assert_int_equal(look(), 0);
    assert_true(number(root, "ps_cpu_seconds") >= 1 && number(root, "ps_cpu_seconds") < 2.1);
}

static void for_nobody_it_is_not_run(void **state)
{
    watch_tree(state);
    assert_int_equal(look(), 0);
    assert_int_equal(with.pass.count, 0);
    assert_true(with.figures.helper_cpu_seconds < 1e-9);
}

/* What ps_cmd becomes where ps prints `arguments`. */
static const char *told_as(pid_t pid, const char *arguments)
{
    char line[512];

    (void)snprintf(line, sizeof(line), "%d 1 R 2 3 1.5 4 0 %s\n", (int)pid, arguments);
    stand_in(line);
    assert_int_equal(look(), 0);
    return text(pid, "ps_cmd");
}

static void what_looks_secret_is_masked_to_the_end(void **state)
{
    stand_in("");
    watch_tree(state);
    pid_t root = start_root(body_wait);
    await_said(1);
    tree_refresh(watch.tree);
    assert_string_equal(told_as(root, "make -j 2  all"), "make -j 2  all");
    assert_string_equal(told_as(root, "db --password correct horse battery --port 5"), "db --password ***");
    assert_string_equal(told_as(root, "db --password *correct"), "db --password ***");
    assert_string_equal(told_as(root, "curl https://me:hush@host/a b"), "curl https://me:***");
    assert_string_equal(told_as(root, "env API_TOKEN=a b c"), "env API_TOKEN=***");
    assert_string_equal(told_as(root, "x --max-tokens 5 \\ \t"), "x --max-tokens 5 \\ \\x09");
    assert_true(fabs(number(root, "ps_rss") - 2048) < 1 && fabs(number(root, "ps_vsz") - 3072) < 1);
    assert_true(fabs(number(root, "ps_pmem") - 0.015) < 1e-9);
    assert_true(fabs(number(root, "ps_cpu_seconds") - 4) < 1e-9);
}

static void strangers_and_reused_pids_are_left_out(void **state)
{
    char lines[256];

    stand_in("");
    watch_tree(state);
    pid_t root = start_root(body_wait);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(who(root)->subject.born_ns > 0);
    (void)snprintf(lines, sizeof(lines), "1 0 S 2 3 1.5 4 9 init\n%d 1 S 2 3 0.0 4 0 sh\n", (int)root);
    stand_in(lines);
    assert_int_equal(look(), 0);
    assert_int_equal(with.pass.count, 1);
    assert_non_null(row_of(root));
    who(root)->subject.born_ns -= 10 * NS_PER_SECOND; /* ten seconds old, and ps sees one that just began */
    assert_int_equal(look(), 0);
    assert_int_equal(with.pass.count, 0);
    who(root)->subject.born_ns = (uint64_t)-1; /* before the machine was suspended for longer than it ran */
    assert_int_equal(look(), 0);
    assert_int_equal(with.pass.count, 0);
}

static void a_failing_ps_fails_the_pass_and_no_more(void **state)
{
    char path[128];
    static const char script[] = "#!/bin/sh\nexit 1\n";

    stand_in("");
    watch_tree(state);
    (void)start_root(body_wait);
    await_said(1);
    tree_refresh(watch.tree);
    (void)snprintf(path, sizeof(path), "%s/ps", with.folder);
    assert_int_equal(file_replace(AT_FDCWD, path, script, sizeof(script) - 1, 0700), 0);
    assert_int_equal(look(), -ENOTSUP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(look(), -ENOENT);
    stand_in("");
    assert_int_equal(look(), 0);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 1);
}

static void a_survey_says_whether_there_is_one(void **state)
{
    (void)state;
    const char *reasons[64] = {NULL};

    stand_in("");
    collector_ps.survey(&with.context, reasons);
    assert_null(reasons[0]);
    with.context.proc_root = "/elsewhere";
    collector_ps.survey(&with.context, reasons);
    assert_non_null(reasons[0]);
    with.context.proc_root = "/proc";
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    collector_ps.survey(&with.context, reasons);
    for (unsigned i = 0; i < collector_ps.source.field_count; i++)
        assert_non_null(strstr(reasons[i], "PATH"));
    assert_true(collector_ps.opt_in);
}

#define BY(WAY, NAME)                                                                                        \
    {                                                                                                        \
#NAME "_" #WAY, NAME, setup, teardown, &(WAY)                                                        \
    }
#define LIVE(NAME) BY(by_listings, NAME)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(ps_tells_of_every_member_and_nobody_else),
        BY(by_connector, ps_tells_of_every_member_and_nobody_else),
        BY(by_scan, ps_tells_of_every_member_and_nobody_else),
        LIVE(ps_tells_the_cpu_seconds_of_a_busy_member),
        LIVE(for_nobody_it_is_not_run),
        LIVE(what_looks_secret_is_masked_to_the_end),
        LIVE(strangers_and_reused_pids_are_left_out),
        LIVE(a_failing_ps_fails_the_pass_and_no_more),
        LIVE(a_survey_says_whether_there_is_one),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
