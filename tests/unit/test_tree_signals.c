/* Signals as our programs in the kernel tell them: who sent one, and what became of it. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <sys/mman.h>

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
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
