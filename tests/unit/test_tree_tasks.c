/*
 * All members read in one go: the same as from /proc, which a second tree reads at the same moment, and which
 * is read here once more by other means.
 */
#include "tree_tasks_fixture.h"

#include <sys/utsname.h>

enum { TICK_NS = 10000000 };

static struct process *same_in_reference(const struct process *process)
{
    for (size_t i = 0; i < tree_count(reference); i++)
        if (tree_process(reference, i)->subject.id == process->subject.id)
            return tree_process(reference, i);
    fail_msg("%d is in one tree alone", (int)process->subject.id);
    return NULL;
}

#define same(FIELD, PROCESS, OTHER)                                                                          \
    do {                                                                                                     \
        if ((PROCESS)->FIELD != (OTHER)->FIELD)                                                              \
            fail_msg("%s of %d is %llu, from /proc %llu", #FIELD, (int)(PROCESS)->subject.id,                \
                     (unsigned long long)(PROCESS)->FIELD, (unsigned long long)(OTHER)->FIELD);              \
    } while (0)

static void identity_and_counts_are_those_of_proc(const struct process *process, const struct process *other)
{
    same(start_ticks, process, other);
    same(stat.ppid, process, other);
    same(stat.state, process, other);
    same(stat.threads, process, other);
    same(stat.vsize_bytes, process, other);
    same(stat.start_stack, process, other);
    same(stat.minor_faults, process, other);
    same(stat.major_faults, process, other);
    same(stat.child_minor_faults, process, other);
    same(stat.child_major_faults, process, other);
    same(stat.child_user_ticks, process, other);
    same(stat.child_system_ticks, process, other);
    same(stat.blocked_ticks, process, other);
    assert_string_equal(process->stat.comm, other->stat.comm);
    assert_string_equal(process->ppid_text, other->ppid_text);
    same(has_io, process, other);
    same(io.rchar, process, other);
    same(io.wchar, process, other);
    same(io.syscr, process, other);
    same(io.syscw, process, other);
    same(io.read_bytes, process, other);
    same(io.write_bytes, process, other);
    same(has_heir, process, other);
    same(of_command, process, other);
    if (process->command && other->command)
        assert_string_equal(process->command, other->command);
}

/* Who sleeps has not used a nanosecond more; who runs is told as of its last tick. */
static void cpu_is_that_of_proc(const struct process *process, const struct process *other)
{
    const int64_t more = (int64_t)(other->cpu_ns - process->cpu_ns);

    if (process->subject.id != family->pids[BUSY]) {
        same(cpu_ns, process, other);
        return;
    }
    assert_true(more >= -(int64_t)TICK_NS);
    assert_true(more <= (int64_t)(other->stat_ns - process->stat_ns) + TICK_NS);
}

static void all_members_are_as_proc_tells_them(void **state)
{
    atomic_store(&family->has_busy, true);
    watch_family(state, body_family);
    for (int i = 0; i < 3; i++) {
        tree_refresh(watch.tree);
        tree_refresh(reference);
    }
    assert_true(is_read_in_one_go(watch.tree));
    assert_false(is_read_in_one_go(reference));
    assert_int_equal(tree_count(watch.tree), 1 + atomic_load(&family->members));
    assert_int_equal(tree_count(watch.tree), tree_count(reference));
    assert_int_equal(tree_living(watch.tree), tree_living(reference));
    assert_int_equal(tree_zombies(watch.tree), 1);
    for (size_t i = 0; i < tree_count(watch.tree); i++) {
        const struct process *process = tree_process(watch.tree, i);
        assert_true(process->by_tasks && process->fresh);
        if (process->subject.id != family->pids[BUSY])
            identity_and_counts_are_those_of_proc(process, same_in_reference(process));
        cpu_is_that_of_proc(process, same_in_reference(process));
    }
    assert_int_equal(who(family->pids[WITH_THREADS])->stat.threads, 4);
    assert_int_equal(who(family->pids[WITHOUT_MAIN_THREAD])->stat.state, 'Z');
    assert_int_equal(who(family->pids[WITHOUT_MAIN_THREAD])->stat.threads, 2);
    assert_int_equal(who(family->pids[STOPPED])->stat.state, 'T');
    assert_int_equal(who(family->pids[ZOMBIE])->stat.state, 'Z');
    assert_true(who(family->pids[WITH_THREADS])->cpu_ns >= 50000000); /* the ended thread's, too */
    assert_true(who(family->pids[WITH_A_PAST])->stat.child_user_ticks +
                    who(family->pids[WITH_A_PAST])->stat.child_system_ticks >=
                5);
    assert_int_equal(who(family->pids[WITH_IO])->io.wchar, 100 * 512);
}

static void the_ledger_is_that_of_proc(void **state)
{
    watch_family(state, body_family);
    for (int i = 0; i < 2; i++) {
        tree_refresh(watch.tree);
        tree_refresh(reference);
    }
    assert_true(is_read_in_one_go(watch.tree));
    const struct ledger_sum *ours = &tree_ledger(watch.tree)->live, *theirs = &tree_ledger(reference)->live;
    if (fabs(ours->cpu_seconds - theirs->cpu_seconds) > 0.01)
        fail_msg("the ledger has %.6f s, from /proc %.6f s", ours->cpu_seconds, theirs->cpu_seconds);
    assert_true(ours->cpu_seconds > 0.12); /* threads, the past, the zombie */
    for (size_t i = 0; i < LEDGER_COUNT; i++)
        assert_int_equal(ours->counts[i], theirs->counts[i]);
}

/* A line of /proc/PID/status (or of a thread's) as a number; -1: there is none. */
static long long status_line(const char *path, const char *name)
{
    char line[256];
    long long value = -1;
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            value = strtoll(line + strlen(name) + 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return value;
}

/* From Linux 6.17 on /proc adds up the parts of every CPU, as we do; before that it leaves some out. */
static uint64_t memory_slack(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    assert_int_equal(uname(&name), 0);
    (void)sscanf(name.release, "%d.%d", &major, &minor); /* NOLINT(cert-err34-c) */
    return major > 6 || (major == 6 && minor >= 17) ? 0 : (uint64_t)get_nprocs() * 64 * 4096 * 3;
}

static void near(const char *what, pid_t pid, uint64_t value, long long wanted, uint64_t slack)
{
    const uint64_t other = (uint64_t)wanted;

    if (wanted < 0 || (value > other ? value - other : other - value) > slack)
        fail_msg("%s of %d is %llu, from /proc %lld", what, (int)pid, (unsigned long long)value, wanted);
}

static void memory_and_switches_are_those_of_proc(void **state)
{
    watch_family(state, body_family);
    for (int i = 0; i < 2; i++)
        tree_refresh(watch.tree);
    for (size_t i = 0; i < tree_count(watch.tree); i++) {
        const struct process *process = tree_process(watch.tree, i);
        const pid_t pid = process->subject.id;
        char path[64];
        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        assert_true(process->by_tasks);
        const bool has_memory = status_line(path, "VmRSS") >= 0;
        assert_int_equal(process->files.has_rss, has_memory);
        assert_int_equal(process->files.has_hwm, has_memory);
        if (has_memory) {
            near("rss", pid, process->files.rss_bytes, status_line(path, "VmRSS") * 1024, memory_slack());
            near("hwm", pid, process->files.hwm_bytes, status_line(path, "VmHWM") * 1024, memory_slack());
        }
        assert_true(process->files.has_switches);
        if (process->stat.threads == 1) {
            near("voluntary switches", pid, process->files.voluntary_switches,
                 status_line(path, "voluntary_ctxt_switches"), 0);
            near("involuntary switches", pid, process->files.involuntary_switches,
                 status_line(path, "nonvoluntary_ctxt_switches"), 0);
        }
        assert_true(process->files.has_fd_limit);
    }
    const struct process *large = who(family->pids[WITH_MEMORY]);
    assert_true(large->files.hwm_bytes >= large->files.rss_bytes + 7 * MIB);
    assert_true(tree_ledger(watch.tree)->hwm_bytes >= 12 * MIB);
    assert_false(who(family->pids[ZOMBIE])->files.has_rss);
}

static void few_members_are_read_from_their_files(void **state)
{
    watch_twice(state);
    atomic_store(&family->members, KINDS);
    (void)start_root(body_family);
    await_said(1);
    tree_refresh(watch.tree);
    assert_false(is_read_in_one_go(watch.tree));
    assert_true(who(family->pids[WITH_IO])->fresh);
}

static void a_small_part_of_the_machine_is_read_from_its_files(void **state)
{
    /* The root and the others, four more threads among them; the zombie has none that is to be read. */
    enum { THREADS = 1 + MEMBERS + 4 - 1 };

    watch_family(state, body_family);
    tree_refresh(watch.tree);
    assert_true(is_read_in_one_go(watch.tree));
    hand.threads = 4 * THREADS + 1;
    tree_refresh(watch.tree);
    assert_false(is_read_in_one_go(watch.tree));
    assert_true(who(family->pids[WITH_IO])->fresh);
    hand.threads = 4 * THREADS;
    tree_refresh(watch.tree);
    assert_true(is_read_in_one_go(watch.tree));
}

static ssize_t fails(struct bpf_programs *programs, const struct wire_task **tasks)
{
    (void)programs;
    (void)tasks;
    return -EPERM;
}

static void what_cannot_be_read_in_one_go_is_read_from_its_files(void **state)
{
    watch_family(state, body_family);
    tree_refresh(watch.tree);
    hand.read_tasks = fails;
    tree_refresh(watch.tree);
    assert_false(is_read_in_one_go(watch.tree));
    assert_int_equal(tree_living(watch.tree), MEMBERS); /* the zombie is none, the root is one */
}

static void io_that_nobody_asked_for_is_not_told(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.read_io = false;
    watch_with(&options, method_of(state));
    tree_use_tasks(watch.tree, kernel_side.programs);
    atomic_store(&family->members, MEMBERS);
    (void)start_root(body_family);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(is_read_in_one_go(watch.tree));
    assert_false(tree_has_io(watch.tree));
    assert_int_equal(tree_ledger(watch.tree)->live.counts[LEDGER_WCHAR], 0);
}

/* ---- members that come and go ---- */

static void body_family_and_storm(void)
{
    start_family();
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 10 == 0 && fork() == 0) {
                burn_process(0.003);
                _exit(0);
            }
            burn_process(0.002);
            _exit(0);
        }
        if (i % 5 != 0)
            (void)wait_checked(pid);
    }
    for (int kind = 0; kind < KINDS; kind++)
        (void)kill(family->pids[kind], SIGKILL);
    /* The sleepers go with it. */
}

static void what_comes_and_goes_is_conserved(void **state)
{
    unsigned by_tasks = 0;
    siginfo_t info;

    watch_twice(state);
    tree_free(reference);
    reference = NULL;
    atomic_store(&family->members, MEMBERS);
    atomic_store(&family->has_busy, true);
    (void)start_root(body_family_and_storm);
    double before = 0;
    for (int ms = 0; waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0; ms++) {
        if (ms > PATIENCE_MS)
            fail_msg("they do not end");
        (void)reap_all();
        tree_refresh(watch.tree);
        by_tasks += is_read_in_one_go(watch.tree) ? 1 : 0;
        assert_true(cpu_published() >= before);
        before = cpu_published();
        sleep_seconds(0.001);
    }
    tree_drain(watch.tree);
    tree_refresh(watch.tree);
    const double truth = children_cpu_seconds() - watch.children_before;
    const double told = (double)tree_ended_sum(watch.tree).use.cpu_ns / 1e9;
    assert_true(by_tasks > 3);
    assert_int_equal(tree_count(watch.tree), 0);
    if (fabs(cpu_published() - truth) > 0.01 * truth)
        fail_msg("the ledger has %.6f s, the kernel %.6f s", cpu_published(), truth);
    if (fabs(told - truth) > 0.02 * truth)
        fail_msg("%.6f s were told at the ends, the kernel has %.6f s", told, truth);
    assert_int_equal(tree_spawned(watch.tree), tree_exited(watch.tree));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASKS(all_members_are_as_proc_tells_them),
        TASKS(the_ledger_is_that_of_proc),
        TASKS(memory_and_switches_are_those_of_proc),
        TASKS(few_members_are_read_from_their_files),
        TASKS(a_small_part_of_the_machine_is_read_from_its_files),
        TASKS(what_cannot_be_read_in_one_go_is_read_from_its_files),
        TASKS(io_that_nobody_asked_for_is_not_told),
        TASKS(what_comes_and_goes_is_conserved),
    };

    return cmocka_run_group_tests(tests, tasks_group_setup, NULL);
}
