/* What only our programs in the kernel tell: who sent a signal, what became of it, and what a process had
 * used when it ended. Real processes, compared with what wait4 says of them. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <sys/mman.h>

enum { MIB = 1048576 };

static sigset_t only(int number)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    return set;
}

static void body_waits(void)
{
    say();
    wait_for_go(1);
}

/* ---- signals ---- */

static void body_murder(void)
{
    pid_t victim = fork();

    if (victim == 0) {
        say();
        wait_for_go(OVER);
        _exit(0);
    }
    wait_for_said(1);
    if (fork() == 0) {
        (void)prctl(PR_SET_NAME, "the killer");
        (void)kill(victim, SIGKILL);
        say();
        wait_for_go(1);
        _exit(0);
    }
    (void)wait_checked(victim);
    say();
    wait_for_go(1);
}

static void the_sender_of_a_kill_is_told(void **state)
{
    watch_begin(state);
    (void)start_root(body_murder);
    await_said(3);
    tree_refresh(watch.tree);
    tree_drain(watch.tree); /* what the kernel has yet to tell */
    pid_t victim = shared->pids[0];
    pid_t killer = who(shared->pids[1])->stat.ppid == getpid() ? shared->pids[2] : shared->pids[1];
    const struct told *told = told_of(EVENT_KILL, victim);
    assert_non_null(told);
    assert_int_equal(WTERMSIG(told->wait_status), SIGKILL);
    assert_true(told->has_sender);
    assert_int_equal(told->sender, killer);
    assert_string_equal(told->sender_name, "the killer");
    assert_int_equal(times_told(EVENT_KILL, victim), 1);
    assert_int_equal(times_told(EVENT_EXIT, victim), 1);
    assert_int_equal(times_told(EVENT_SIGNAL, victim), 0);
    assert_true(told < told_of(EVENT_EXIT, victim));
    assert_false(told_of(EVENT_EXIT, victim)->has_sender);
    assert_int_equal(tree_killed(watch.tree), 1);
}

static void a_kill_of_ours_has_us_as_sender(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_waits);
    await_said(1);
    assert_int_equal(kill(root, SIGTERM), 0);
    await_reaped(1);
    const struct told *told = told_of(EVENT_KILL, root);
    assert_non_null(told);
    assert_int_equal(WTERMSIG(told->wait_status), SIGTERM);
    assert_true(told->has_sender);
    assert_int_equal(told->sender, getpid());
    assert_int_equal(times_told(EVENT_SIGNAL, root), 0);
}

static void body_faults(void)
{
    const struct rlimit none = {0, 0};
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
    *page = 1;
}

static void a_fault_has_the_kernel_as_sender(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_faults);
    await_reaped(1);
    const struct told *told = told_of(EVENT_KILL, root);
    assert_non_null(told);
    assert_int_equal(WTERMSIG(told->wait_status), SIGSEGV);
    assert_true(told->has_sender);
    assert_int_equal(told->sender, 0);
    assert_string_equal(told->sender_name, "");
}

static void on_usr1(int number)
{
    (void)number;
}

static void body_handles_one_and_ignores_one(void)
{
    (void)signal(SIGUSR1, on_usr1);
    (void)signal(SIGUSR2, SIG_IGN);
    say();
    wait_for_go(1);
    _exit(4);
}

static void a_handled_signal_is_told_and_is_no_kill(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_handles_one_and_ignores_one);
    await_said(1);
    assert_int_equal(kill(root, SIGUSR2), 0);
    assert_int_equal(kill(root, SIGUSR1), 0);
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1); /* of the ignored one there is nothing to tell */
    const struct told *told = told_of(EVENT_SIGNAL, root);
    assert_int_equal(told->signal_num, SIGUSR1);
    assert_int_equal(told->sender, getpid());
    assert_true(told_of(EVENT_SPAWN, root) && told_of(EVENT_SPAWN, root) < told);
    let_go(1);
    await_reaped(1);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(times_told(EVENT_KILL, root), 0);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 4);
}

static void body_blocks_one(void)
{
    sigset_t set = only(SIGTERM);

    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    say();
    wait_for_go(1);
    if (!is_over() && atomic_load(&shared->counts[0]) == 0)
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(6);
}

/* Starts one that blocks SIGTERM, and sends it. */
static pid_t watch_blocked(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_blocks_one);
    await_said(1);
    assert_int_equal(kill(root, SIGTERM), 0);
    tree_refresh(watch.tree);
    /* It has not killed, so far. */
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(times_told(EVENT_KILL, root), 0);
    return root;
}

static void a_blocked_signal_that_kills_later_is_a_kill_besides(void **state)
{
    pid_t root = watch_blocked(state);

    let_go(1);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(times_told(EVENT_KILL, root), 1);
    assert_int_equal(told_of(EVENT_KILL, root)->sender, getpid());
}

static void a_blocked_signal_that_kills_nobody_is_a_signal(void **state)
{
    pid_t root = watch_blocked(state);

    atomic_store(&shared->counts[0], 1); /* it ends without unblocking it */
    let_go(1);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_KILL, root), 0);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(told_of(EVENT_SIGNAL, root)->signal_num, SIGTERM);
    assert_int_equal(told_of(EVENT_SIGNAL, root)->sender, getpid());
    assert_true(told_of(EVENT_SIGNAL, root) < told_of(EVENT_EXIT, root));
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 6);
}

static void a_signal_that_is_blocked_to_the_end_of_the_run_is_told_once(void **state)
{
    pid_t root = watch_blocked(state);

    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(told_of(EVENT_SIGNAL, root)->signal_num, SIGTERM);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(times_told(EVENT_KILL, root) + times_told(EVENT_EXIT, root), 0);
}

static void sigkill_overtakes_what_has_not_killed(void **state)
{
    pid_t root = watch_blocked(state);

    assert_int_equal(kill(root, SIGKILL), 0);
    await_reaped(1);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(told_of(EVENT_SIGNAL, root)->signal_num, SIGTERM);
    assert_int_equal(times_told(EVENT_KILL, root), 1);
    assert_int_equal(WTERMSIG(told_of(EVENT_KILL, root)->wait_status), SIGKILL);
    assert_true(told_of(EVENT_KILL, root)->has_sender);
    assert_true(told_of(EVENT_SIGNAL, root) < told_of(EVENT_KILL, root));
}

static void body_leaves_a_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        say();
        wait_for_go(OVER);
        _exit(0);
    }
    wait_for_said(1);
    (void)kill(pid, SIGKILL);
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    say();
    wait_for_go(1);
}

static void a_kill_is_told_once_however_long_the_zombie_stays(void **state)
{
    watch_begin(state);
    (void)start_root(body_leaves_a_zombie);
    await_said(2);
    pid_t zombie = shared->pids[0];
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_int_equal(tree_zombies(watch.tree), 1);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_KILL, zombie), 1);
    assert_int_equal(times_told(EVENT_EXIT, zombie), 1);
    assert_int_equal(times_told(EVENT_SIGNAL, zombie), 0);
}

static void an_event_of_another_process_with_this_pid_is_not_taken(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_handles_one_and_ignores_one);
    await_said(1);
    tree_refresh(watch.tree);
    const uint64_t kernel_id = who(root)->kernel_id;
    assert_true(kernel_id > 0);
    who(root)->kernel_id = kernel_id + 1000; /* as if we knew another by this pid */
    assert_int_equal(kill(root, SIGUSR1), 0);
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 0);
    who(root)->kernel_id = 0; /* known from elsewhere, and begun at another time */
    who(root)->start_ticks += 2;
    assert_int_equal(kill(root, SIGUSR1), 0);
    tree_read_events(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 0);
    who(root)->start_ticks -= 2;
    assert_int_equal(kill(root, SIGUSR1), 0);
    tree_read_events(watch.tree);
    assert_int_equal(times_told(EVENT_SIGNAL, root), 1);
    assert_int_equal(who(root)->kernel_id, kernel_id);
}

/* ---- what was used ---- */

static void body_uses(void)
{
    const size_t bytes = 24 * MIB;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(95);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    (void)munmap(memory, bytes); /* the peak is told, not what it has at the end */
    burn_process(0.08);
}

static void what_a_process_used_is_told_with_its_exit(void **state)
{
    struct rusage usage;
    int status;

    watch_begin(state);
    const uint64_t begin_ns = clock_monotonic_ns();
    pid_t root = start_root(body_uses);
    assert_int_equal(wait4(root, &status, 0, &usage), root);
    const double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    tree_reap(watch.tree, root, status, &usage);
    tree_drain(watch.tree);
    const struct told *told = told_of(EVENT_EXIT, root);
    assert_non_null(told);
    assert_int_equal(told->seen, SEEN_EVENT);
    assert_true(told->has_use);
    const double cpu = clock_timeval_seconds(usage.ru_utime) + clock_timeval_seconds(usage.ru_stime);
    /* wait4 counts up to when it became a zombie, the kernel's word until it left the CPU. */
    if (fabs(told->use.cpu_seconds - cpu) > 0.002)
        fail_msg("%.6f s were told, wait4 has %.6f s", told->use.cpu_seconds, cpu);
    assert_int_equal(told->use.minor_faults, usage.ru_minflt);
    assert_int_equal(told->use.major_faults, usage.ru_majflt);
    assert_int_equal(told->use.read_bytes, usage.ru_inblock * 512);
    assert_int_equal(told->use.write_bytes, usage.ru_oublock * 512);
    assert_in_range(told->use.max_rss_bytes, 24 * MIB, 24 * MIB + (uint64_t)usage.ru_maxrss * 1024);
    assert_true(told->use.lifetime_seconds >= 0.08 && told->use.lifetime_seconds <= seconds + 0.1);
    assert_true(tree_ledger(watch.tree)->hwm_bytes >= 24 * MIB);
}

static void body_three_generations(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid > 0) {
            (void)wait_checked(pid);
            burn_process(0.03);
            say();
            _exit(0);
        }
    }
    burn_process(0.03);
    say();
}

static void everybody_that_ended_is_listed_with_its_own_use(void **state)
{
    watch_begin(state);
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    (void)start_root(body_three_generations);
    await_said(3);
    await_reaped(1);
    const struct ended_sum ended = tree_ended_sum(watch.tree), *sum = &ended;
    double listed = 0;
    assert_int_equal(tree_ended_count(watch.tree), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ended *ended = tree_ended(watch.tree, i);
        const double cpu = (double)ended->use.cpu_ns / 1e9;
        assert_int_equal(ended->subject.id, shared->pids[i]); /* in the order in which they ended */
        assert_true(ended->subject.serial > 0 && ended->kernel_id > 0);
        assert_true(cpu >= 0.03 && cpu < 0.055); /* its own, not its children's */
        assert_true(ended->max_rss_bytes > 0);
        assert_true(ended->lifetime_seconds >= 0.03);
        listed += cpu;
    }
    assert_true(sum->is_whole);
    assert_int_equal(sum->processes, 3);
    assert_true(fabs((double)sum->use.cpu_ns / 1e9 - listed) < 1e-6);
    assert_true(fabs(listed - (children_cpu_seconds() - watch.children_before)) < 0.005);
    tree_forget_ended(watch.tree);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    assert_int_equal(tree_ended_sum(watch.tree).processes, 3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_ended_count(watch.tree), 0);
    assert_true(tree_living_cpu_seconds(watch.tree) <= 0);
}

static void body_ignores_its_children(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 10; i++)
        if (fork() == 0) {
            burn_process(0.02);
            say();
            _exit(i);
        }
    (void)wait(NULL); /* until there are no more: the kernel takes them */
    say();
    wait_for_go(1);
}

static void children_whose_parent_ignores_them_are_told_with_what_they_used(void **state)
{
    double cpu = 0;

    watch_begin(state);
    (void)start_root(body_ignores_its_children);
    await_said(11);
    for (int ms = 0; tree_exited(watch.tree) < 10 && ms < PATIENCE_MS; ms++) {
        tree_refresh(watch.tree);
        sleep_seconds(0.001);
    }
    tree_refresh(watch.tree);
    for (int i = 0; i < 10; i++) {
        const struct told *told = told_of(EVENT_EXIT, shared->pids[i]);
        assert_int_equal(times_told(EVENT_EXIT, shared->pids[i]), 1);
        assert_true(told->has_use && told->has_status);
        cpu += told->use.cpu_seconds;
    }
    assert_true(cpu >= 0.2 && cpu < 0.3);
    assert_int_equal(tree_ended_sum(watch.tree).processes, 10);
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_count(watch.tree), 1);
    tree_settle(watch.tree);
    assert_true(tree_ended_sum(watch.tree).is_whole);
}

static void body_ends_at_once(void)
{
    _exit(5);
}

static void every_short_child_is_told_once_and_whole(void **state)
{
    enum { CHILDREN = 300 };
    struct rusage usage;
    int status;

    watch_begin(state);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = start(body_ends_at_once);
        assert_int_equal(wait4(pid, &status, 0, &usage), pid);
        tree_reap(watch.tree, pid, status, &usage);
    }
    tree_drain(watch.tree);
    assert_int_equal(tree_count(watch.tree), 0);
    assert_int_equal(tree_spawned(watch.tree), CHILDREN);
    assert_int_equal(tree_exited(watch.tree), CHILDREN);
    assert_int_equal(watch.told_count, 2 * CHILDREN);
    for (size_t i = 0; i < watch.told_count; i++) {
        assert_int_equal(watch.told[i].seen, SEEN_EVENT);
        assert_int_equal(watch.told[i].has_use, watch.told[i].type == EVENT_EXIT);
    }
    assert_true(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(watch.ended, CHILDREN);
}

/* A process leaves its CPU a moment after it can be waited for, and only then its end is told. So short a
 * moment cannot be made longer; but that it was waited for can be said too early. */
static void who_is_reaped_before_the_word_on_it_is_told_once_and_whole(void **state)
{
    const struct rusage nothing = {0};

    watch_begin(state);
    pid_t root = start_root(body_waits);
    await_said(1);
    tree_refresh(watch.tree);
    assert_true(who(root)->fresh);
    tree_reap(watch.tree, root, 0, &nothing);
    assert_true(who(root)->was_reaped);
    assert_false(who(root)->fresh); /* there is nothing to be read of it any more */
    tree_refresh(watch.tree);
    assert_false(who(root)->fresh);
    assert_int_equal(tree_living(watch.tree), 0);
    assert_int_equal(tree_command_alive(watch.tree), 0);
    assert_int_equal(times_told(EVENT_EXIT, root), 0);
    who(root)->missing_ns -= TREE_AWAIT_NS; /* it is long enough ago */
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_false(told_of(EVENT_EXIT, root)->has_use);
    assert_null(who(root));

    pid_t other = start(body_waits);
    await_said(2);
    tree_refresh(watch.tree);
    tree_reap(watch.tree, other, 0, &nothing);
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 0);
    let_go(1);
    (void)wait_checked(other);
    tree_drain(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 1);
    assert_int_equal(told_of(EVENT_EXIT, other)->seen, SEEN_EVENT);
    assert_true(told_of(EVENT_EXIT, other)->has_use);
    assert_null(who(other));
    tree_refresh(watch.tree);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, other), 1);
    assert_int_equal(tree_exited(watch.tree), 2);
}

static void body_waits_for_a_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn_process(0.1);
        say();
        wait_for_go(1);
        _exit(0);
    }
    (void)wait_checked(pid);
    say();
    wait_for_go(2);
}

static void who_is_gone_before_the_word_on_it_is_not_counted_twice(void **state)
{
    watch_begin(state);
    (void)start_root(body_waits_for_a_child);
    await_said(1);
    pid_t child = shared->pids[0];
    tree_refresh(watch.tree);
    const uint64_t kernel_id = who(child)->kernel_id;
    who(child)->kernel_id = kernel_id + 1000; /* the word on it will be taken for another's */
    let_go(1);
    await_said(2);
    sleep_seconds(0.01);
    tree_refresh(watch.tree);
    assert_non_null(who(child)); /* awaited */
    assert_false(who(child)->fresh);
    assert_int_equal(times_told(EVENT_EXIT, child), 0);
    assert_int_equal(tree_command_alive(watch.tree), 1); /* its parent */
    if (cpu_published() > 0.15)
        fail_msg("%.3f s of 0.1 s", cpu_published()); /* its parent has inherited it */
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, child), 1);
    assert_int_equal(told_of(EVENT_EXIT, child)->seen, SEEN_SAMPLED);
    assert_null(who(child));
}

static void who_is_awaited_at_the_end_of_the_run_is_told_then(void **state)
{
    const struct rusage nothing = {0};

    watch_begin(state);
    pid_t root = start_root(body_waits);
    await_said(1);
    tree_refresh(watch.tree);
    tree_reap(watch.tree, root, 0, &nothing);
    tree_drain(watch.tree); /* in vain */
    assert_int_equal(times_told(EVENT_EXIT, root), 0);
    tree_settle(watch.tree);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_int_equal(told_of(EVENT_EXIT, root)->seen, SEEN_REAPED);
    assert_false(tree_ended_sum(watch.tree).is_whole);
    assert_int_equal(tree_count(watch.tree), 0); /* nobody is left to be called a survivor */
}

static void who_is_never_told_of_is_told_by_us(void **state)
{
    siginfo_t info;
    pid_t zombie = start(body_ends_at_once);

    assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
    needs_programs();
    programs_load(); /* it has ended already */
    watch_begin(state);
    tree_unignore(watch.tree, zombie); /* it was there before the tree */
    assert_int_equal(tree_add_root(watch.tree, zombie), 0);
    assert_int_equal(reap_all(), 1);
    assert_int_equal(times_told(EVENT_EXIT, zombie), 0);
    tree_refresh(watch.tree);
    who(zombie)->missing_ns -= TREE_AWAIT_NS;
    tree_refresh(watch.tree);
    assert_null(who(zombie));
    assert_int_equal(times_told(EVENT_EXIT, zombie), 1);
    assert_int_equal(told_of(EVENT_EXIT, zombie)->seen, SEEN_REAPED);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, zombie)->wait_status), 5);
    assert_false(told_of(EVENT_EXIT, zombie)->has_use);
    assert_false(tree_ended_sum(watch.tree).is_whole);
}

static void body_executes(void)
{
    (void)execl("/bin/sh", "sh", "-c", "exit 3", "--password=hunter2", (char *)NULL);
}

static void a_program_that_no_pass_saw_is_told_with_its_command(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_executes);
    await_reaped(1);
    assert_int_equal(watch.told_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(watch.told[i].pid, root);
        assert_non_null(strstr(watch.told[i].command, "sh -c"));
        assert_non_null(strstr(watch.told[i].command, "--password=***"));
    }
    assert_int_equal(WEXITSTATUS(watch.told[1].wait_status), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE_WAY(the_sender_of_a_kill_is_told, by_bpf),
        ONE_WAY(a_kill_of_ours_has_us_as_sender, by_bpf),
        ONE_WAY(a_fault_has_the_kernel_as_sender, by_bpf),
        ONE_WAY(a_handled_signal_is_told_and_is_no_kill, by_bpf),
        ONE_WAY(a_blocked_signal_that_kills_later_is_a_kill_besides, by_bpf),
        ONE_WAY(a_blocked_signal_that_kills_nobody_is_a_signal, by_bpf),
        ONE_WAY(a_signal_that_is_blocked_to_the_end_of_the_run_is_told_once, by_bpf),
        ONE_WAY(sigkill_overtakes_what_has_not_killed, by_bpf),
        ONE_WAY(a_kill_is_told_once_however_long_the_zombie_stays, by_bpf),
        ONE_WAY(an_event_of_another_process_with_this_pid_is_not_taken, by_bpf),
        ONE_WAY(what_a_process_used_is_told_with_its_exit, by_bpf),
        ONE_WAY(everybody_that_ended_is_listed_with_its_own_use, by_bpf),
        ONE_WAY(children_whose_parent_ignores_them_are_told_with_what_they_used, by_bpf),
        ONE_WAY(every_short_child_is_told_once_and_whole, by_bpf),
        ONE_WAY(who_is_gone_before_the_word_on_it_is_not_counted_twice, by_bpf),
        ONE_WAY(who_is_awaited_at_the_end_of_the_run_is_told_then, by_bpf),
        ONE_WAY(who_is_reaped_before_the_word_on_it_is_told_once_and_whole, by_bpf),
        ONE_WAY(who_is_never_told_of_is_told_by_us, by_bpf),
        ONE_WAY(a_program_that_no_pass_saw_is_told_with_its_command, by_bpf),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
