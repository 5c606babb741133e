/* Who belongs to a target: real processes, each way of finding them. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <fcntl.h>
#include <pthread.h>

static void body_generations(void)
{
    say();
    for (int i = 0; i < 2; i++) {
        sleep_seconds(0.02); /* another tick: another start time */
        pid_t pid = fork();
        if (pid != 0)
            break;
        say();
    }
    wait_for_go(1);
}

static void grandchildren_are_found(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_generations);
    await_said(3);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 3);
    assert_int_equal(tree_living(watch.tree), 3);
    assert_int_equal(tree_spawned(watch.tree), 3);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_int_equal(shared->pids[0], root);
    /* parents stand before their children: the ledger depends on it */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(place_of(shared->pids[i]), i);
    assert_int_equal(who(shared->pids[1])->stat.ppid, shared->pids[0]);
    assert_int_equal(who(shared->pids[2])->stat.ppid, shared->pids[1]);
    assert_true(who(shared->pids[2])->of_command);
}

static void members_are_kept_from_pass_to_pass(void **state)
{
    const uint64_t started_ns = clock_monotonic_ns();

    watch_begin(state);
    pid_t root = start_root(body_generations);
    await_said(3);
    tree_refresh(watch.tree);
    const uint64_t serial = who(root)->subject.serial, born_ns = who(root)->subject.born_ns;
    char start_time[CLOCK_ISO_SIZE];
    (void)snprintf(start_time, sizeof(start_time), "%s", who(root)->start_time);
    assert_true(start_time[0] != '\0');
    assert_true(born_ns >= started_ns && born_ns <= clock_monotonic_ns());
    for (int i = 0; i < 5; i++) {
        const uint64_t before_ns = clock_monotonic_ns();
        tree_refresh(watch.tree);
        assert_true(who(root)->fresh &&
                    who(root)->stat_ns >= before_ns); /* it is looked after in every pass */
    }
    assert_int_equal(tree_count(watch.tree), 3);
    assert_int_equal(tree_spawned(watch.tree), 3);
    assert_int_equal(who(root)->subject.serial, serial);
    assert_int_equal(who(root)->subject.born_ns, born_ns);
    assert_int_equal(who(root)->subject.incarnation, 1);
    assert_string_equal(who(root)->start_time, start_time);
}

static void body_escape(void)
{
    pid_t middle = fork();

    if (middle == 0) {
        (void)setsid();
        if (fork() == 0) {
            while (getppid() != atomic_load(&shared->counts[0]) && !is_over())
                sleep_seconds(0.001);
            say();
            wait_for_go(1);
        }
        _exit(0);
    }
    (void)wait_checked(middle);
    say();
    wait_for_go(1);
}

static void a_child_that_escapes_by_setsid_and_double_fork_is_found(void **state)
{
    watch_begin(state);
    atomic_store(&shared->counts[0], getpid()); /* whom the daemon waits to have as its parent */
    (void)start_root(body_escape);
    await_said(2);
    pid_t daemon_pid = 0;
    for (int i = 0; i < 2; i++)
        if (getsid(shared->pids[i]) != getsid(0))
            daemon_pid = shared->pids[i];
    assert_true(daemon_pid > 0);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 2);
    assert_non_null(who(daemon_pid));
    assert_int_equal(who(daemon_pid)->stat.ppid, getpid());
    assert_true(who(daemon_pid)->of_command);
}

static void body_leave_a_child(void)
{
    say();
    if (fork() == 0) {
        say();
        wait_for_go(2);
        _exit(0);
    }
    wait_for_go(1);
}

static void an_orphan_is_adopted_and_stays_the_same_process(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_leave_a_child);
    await_said(2);
    pid_t child = shared->pids[1];
    tree_refresh(watch.tree);
    const uint64_t serial = who(child)->subject.serial;
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_null(who(root));
    assert_int_equal(tree_count(watch.tree), 1);
    assert_int_equal(who(child)->subject.serial, serial);
    assert_int_equal(who(child)->stat.ppid, getpid());
    assert_int_equal(strtol(who(child)->ppid_text, NULL, 10), getpid());
    assert_int_equal(tree_exited(watch.tree), 1);
    let_go(2);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 0);
    assert_int_equal(tree_living(watch.tree), 0);
    assert_int_equal(tree_exited(watch.tree), 2);
}

static void body_orphan_unseen(void)
{
    if (fork() == 0) {
        say();
        wait_for_go(1);
    }
}

static void an_orphan_whose_parent_was_never_seen_is_found(void **state)
{
    watch_begin(state);
    (void)start_root(body_orphan_unseen);
    await_said(1);
    await_reaped(1); /* the command is gone before the first pass */
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 1);
    assert_non_null(who(shared->pids[0]));
}

static void body_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        burn_process(0.08);
        _exit(0);
    }
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    shared->pids[1] = pid;
    say();
    wait_for_go(1);
}

static void a_zombie_is_counted_until_it_is_reaped(void **state)
{
    watch_begin(state);
    (void)start_root(body_zombie);
    await_said(1);
    pid_t zombie = shared->pids[1];
    tree_refresh(watch.tree);
    assert_int_equal(tree_zombies(watch.tree), 1);
    assert_int_equal(tree_living(watch.tree), 1);
    assert_int_equal(tree_count(watch.tree), 2);
    assert_int_equal(who(zombie)->stat.state, 'Z');
    assert_true(tree_ledger(watch.tree)->live.cpu_seconds >= 0.08);
    let_go(1);
    await_reaped(2); /* the command leaves without waiting: its zombie becomes ours */
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 0);
    assert_int_equal(tree_zombies(watch.tree), 0);
    assert_true(fabs(cpu_published() - (children_cpu_seconds() - watch.children_before)) < 0.002);
}

static void *thread_that_forks(void *argument)
{
    (void)argument;
    pid_t pid = fork();

    if (pid == 0) {
        say();
        wait_for_go(1);
        _exit(0);
    }
    wait_for_go(1);
    return NULL;
}

static void body_thread_forks(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_that_forks, NULL) != 0)
        _exit(1);
    wait_for_said(1);
    say();
    (void)pthread_join(thread, NULL);
}

static void the_child_of_a_thread_is_found(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_thread_forks);
    await_said(2);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 2);
    assert_int_equal(who(root)->stat.threads, 2);
    assert_non_null(who(shared->pids[0]));
    assert_int_equal(who(shared->pids[0])->stat.ppid, root);
}

static void body_exec(void)
{
    say();
    wait_for_go(1);
    (void)execl("/bin/sh", "sh", "-c", "sleep 20; true", "--api-token=hunter2", (char *)NULL);
}

/* Its arguments, of which this is the first: the kernel sets them after the name of the program. */
static void await_program(pid_t pid, const char *wanted)
{
    char path[32], arguments[4096] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    for (int ms = 0; strcmp(arguments, wanted) != 0; ms++) {
        if (ms > PATIENCE_MS || file_read(AT_FDCWD, path, arguments, sizeof(arguments)) < 0)
            fail_msg("%d never became %s", (int)pid, wanted);
        sleep_seconds(0.001);
    }
}

static void exec_is_noticed_and_secrets_are_masked(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_exec);
    await_said(1);
    tree_refresh(watch.tree);
    const uint64_t serial = who(root)->subject.serial;
    assert_non_null(strstr(who(root)->command, "test_tree"));
    let_go(1);
    await_program(root, "sh");
    tree_refresh(watch.tree);
    assert_non_null(strstr(who(root)->command, "sleep 20; true"));
    assert_non_null(strstr(who(root)->command, "--api-token=***"));
    assert_null(strstr(who(root)->command, "hunter2"));
    assert_int_equal(who(root)->subject.serial, serial); /* another image, the same process */
    (void)tree_signal(watch.tree, SIGKILL);              /* the shell's own child has said nothing */
}

/* Two processes with one pid, one after the other; pids[2] is 0 if that could not be had. */
static void body_reuse(void)
{
    for (int i = 0; i < 20 && !is_over(); i++) {
        pid_t first = fork();
        if (first == 0) {
            burn_process(0.02);
            shared->pids[1] = getpid();
            atomic_store(&shared->counts[0], 1);
            while (atomic_load(&shared->counts[0]) == 1 && !is_over())
                sleep_seconds(0.001);
            _exit(0);
        }
        while (atomic_load(&shared->counts[0]) != 2 && !is_over())
            sleep_seconds(0.001);
        (void)wait_checked(first);
        sleep_seconds(0.03);
        pid_t second = ask_for_pid(first) == 0 ? fork() : -1;
        if (second == 0) {
            wait_for_go(1);
            _exit(0);
        }
        if (second == first || second < 0) {
            shared->pids[2] = second == first ? second : 0;
            break;
        }
        (void)kill(second, SIGKILL);
        (void)wait_checked(second);
        atomic_store(&shared->counts[0], 0);
    }
    say();
    atomic_store(&shared->counts[0], 3);
    wait_for_go(1);
}

static void a_reused_pid_is_another_process(void **state)
{
    watch_begin(state);
    (void)start_root(body_reuse);
    uint64_t serial = 0, start_ticks = 0;
    unsigned exits = 0;
    for (int ms = 0; atomic_load(&shared->counts[0]) != 3 && ms < PATIENCE_MS; ms++) {
        if (atomic_load(&shared->counts[0]) == 1) {
            tree_refresh(watch.tree);
            tree_refresh(watch.tree);
            assert_non_null(who(shared->pids[1]));
            serial = who(shared->pids[1])->subject.serial;
            start_ticks = who(shared->pids[1])->start_ticks;
            exits = times_told(EVENT_EXIT, shared->pids[1]);
            atomic_store(&shared->counts[0], 2);
        }
        sleep_seconds(0.001);
    }
    pid_t pid = shared->pids[2];
    if (pid <= 0) {
        print_message("no pid can be had twice here (ns_last_pid is for root)\n");
        skip();
    }
    tree_refresh(watch.tree);
    tree_refresh(watch.tree); /* a listing may show it only after the old one is gone */
    assert_int_equal(pid, shared->pids[1]);
    const struct process *second = who(pid);
    assert_non_null(second);
    assert_true(second->subject.serial != serial);
    assert_true(second->start_ticks > start_ticks);
    assert_true(second->subject.incarnation >= 2);
    assert_true(second->cpu_ns < 20000000); /* what the first had used is not its own */
    assert_int_equal(times_told(EVENT_EXIT, pid), exits + 1);
    assert_int_equal(tree_count(watch.tree), 2);
}

static void *thread_that_stays(void *argument)
{
    char path[64], text[512] = "", *state;

    (void)argument;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    do { /* until the main thread has really gone */
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, text, sizeof(text) - 1);
        (void)close(fd);
        text[length > 0 ? length : 0] = '\0';
        state = strrchr(text, ')');
    } while (!state || state[2] != 'Z');
    say();
    wait_for_go(1);
    _exit(7);
}

static void body_leader_leaves(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_that_stays, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void a_main_thread_that_left_is_not_the_end_of_its_process(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_leader_leaves);
    await_said(1);
    tree_refresh(watch.tree);
    assert_non_null(who(root));
    assert_int_equal(who(root)->stat.state, 'Z');
    assert_int_equal(tree_living(watch.tree), 1);
    assert_int_equal(tree_zombies(watch.tree), 0);
    assert_int_equal(tree_exited(watch.tree), 0);
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 0);
    assert_int_equal(times_told(EVENT_EXIT, root), 1);
    assert_true(told_of(EVENT_EXIT, root)->has_status);
    assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, root)->wait_status), 7);
}

/* A program of ours, as ps would be: it uses CPU, writes, and ends when told. */
static void body_helper(void)
{
    burn_process(0.05);
    say();
    wait_for_go(1);
    _exit(3);
}

static void body_stays(void)
{
    say();
    wait_for_go(2);
}

static void a_program_that_we_run_ourselves_is_no_member(void **state)
{
    watch_begin(state);
    pid_t root = start_root(body_stays);
    pid_t helper = start(body_helper);
    tree_ignore(watch.tree, helper);
    await_said(2);
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_null(who(helper));
    assert_non_null(who(root));
    let_go(1);
    assert_int_equal(WEXITSTATUS(wait_checked(helper)), 3);
    tree_unignore(watch.tree, helper);
    tree_refresh(watch.tree);
    assert_null(who(helper));
    assert_int_equal(tree_count(watch.tree), 1);
    assert_int_equal(tree_spawned(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_int_equal(times_told(EVENT_SPAWN, helper) + times_told(EVENT_EXIT, helper), 0);
    assert_true(cpu_published() < 0.04);
    assert_false(tree_has_strangers(watch.tree)); /* its pid may be anybody's now */
    pid_t later = start(body_stays);              /* whatever else becomes our child was the target's */
    await_said(3);
    tree_refresh(watch.tree);
    assert_non_null(who(later));
}

static void a_program_of_ours_that_was_over_before_any_pass_is_never_told(void **state)
{
    watch_begin(state);
    (void)start_root(body_stays);
    let_go(1);
    pid_t helper = start(body_helper);
    tree_ignore(watch.tree, helper);
    assert_int_equal(WEXITSTATUS(wait_checked(helper)), 3);
    tree_unignore(watch.tree, helper); /* what the kernel told of it has not been read yet */
    tree_refresh(watch.tree);
    assert_int_equal(times_told(EVENT_SPAWN, helper) + times_told(EVENT_EXIT, helper), 0);
    assert_int_equal(tree_spawned(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0);
}

static void a_program_of_ours_that_is_reaped_with_the_others_is_not_booked(void **state)
{
    watch_begin(state);
    (void)start_root(body_stays);
    pid_t helper = start(body_helper);
    tree_ignore(watch.tree, helper);
    await_said(2);
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    assert_null(who(helper));
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_int_equal(tree_ledger(watch.tree)->reaped_count, 0);
    assert_true(cpu_published() < 0.04);
}

static void descriptors_may_run_out(void **state)
{
    struct tree_options options = tree_options_for(method_of(state));

    options.kept_descriptors = 0;
    watch_with(&options, method_of(state));
    (void)start_root(body_generations);
    await_said(3);
    for (int i = 0; i < 3; i++)
        tree_refresh(watch.tree);
    assert_int_equal(tree_living(watch.tree), 3);
}

static void the_reason_for_a_lesser_method_is_told(void **state)
{
    watch_begin(state);
    assert_string_equal(tree_method_reason(watch.tree), "switched off");
    assert_false(tree_counts_all(watch.tree));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL_WAYS(grandchildren_are_found),
        ALL_WAYS(members_are_kept_from_pass_to_pass),
        ALL_WAYS(a_child_that_escapes_by_setsid_and_double_fork_is_found),
        ALL_WAYS(an_orphan_is_adopted_and_stays_the_same_process),
        ALL_WAYS(an_orphan_whose_parent_was_never_seen_is_found),
        ALL_WAYS(a_zombie_is_counted_until_it_is_reaped),
        ALL_WAYS(the_child_of_a_thread_is_found),
        ALL_WAYS(exec_is_noticed_and_secrets_are_masked),
        ALL_WAYS(a_reused_pid_is_another_process),
        ALL_WAYS(a_main_thread_that_left_is_not_the_end_of_its_process),
        ALL_WAYS(a_program_that_we_run_ourselves_is_no_member),
        ALL_WAYS(a_program_of_ours_that_was_over_before_any_pass_is_never_told),
        ALL_WAYS(a_program_of_ours_that_is_reaped_with_the_others_is_not_booked),
        ALL_WAYS(descriptors_may_run_out),
        ONE_WAY(the_reason_for_a_lesser_method_is_told, by_listings),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
