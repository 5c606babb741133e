/* Who belongs to a target, and what the ledger holds of it: real processes, each way of finding them. */
#include "tree/tree.h"

#include "tree_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

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
    for (int i = 0; i < 5; i++)
        tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 3);
    assert_int_equal(tree_spawned(watch.tree), 3);
    assert_int_equal(who(root)->subject.serial, serial);
    assert_int_equal(who(root)->subject.born_ns, born_ns);
    assert_int_equal(who(root)->subject.incarnation, 1);
    assert_string_equal(who(root)->start_time, start_time);
    assert_int_equal(who(root)->passes, 6);
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

static void await_command_name(pid_t pid, const char *wanted)
{
    char path[32], name[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    for (int ms = 0; strcmp(name, wanted) != 0; ms++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
        (void)close(fd);
        if (ms > PATIENCE_MS || length <= 0)
            fail_msg("%d never became %s", (int)pid, wanted);
        name[length - 1] = '\0';
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
    await_command_name(root, "sh");
    sleep_seconds(0.02); /* the name is set before the arguments are */
    tree_refresh(watch.tree);
    assert_non_null(strstr(who(root)->command, "sleep 20; true"));
    assert_non_null(strstr(who(root)->command, "--api-token=***"));
    assert_null(strstr(who(root)->command, "hunter2"));
    assert_int_equal(who(root)->subject.serial, serial); /* another image, the same process */
    (void)tree_signal(watch.tree, SIGKILL);              /* the shell's own child has said nothing */
}

static void body_burn(void)
{
    burn_process(0.12);
    say();
    wait_for_go(1);
}

static void what_was_reaped_moves_from_the_living_to_the_gone(void **state)
{
    watch_begin(state);
    const struct ledger *ledger = tree_ledger(watch.tree);
    (void)start_root(body_burn);
    await_said(1);
    tree_refresh(watch.tree);
    double before = ledger->published.cpu_seconds;
    assert_true(before >= 0.12 && before < 0.5);
    assert_true(ledger->gone.cpu_seconds <= 0);
    assert_true(fabs(ledger->live.cpu_seconds - before) < 1e-9);
    let_go(1);
    await_reaped(1);
    assert_int_equal(tree_count(watch.tree), 0); /* at once: its pid may be somebody else's by now */
    tree_refresh(watch.tree);
    assert_true(ledger->live.cpu_seconds <= 0);
    assert_true(ledger->gone.cpu_seconds >= 0.12);
    assert_true(fabs(ledger->reaped_cpu_seconds - ledger->gone.cpu_seconds) < 1e-9);
    assert_true(ledger->published.cpu_seconds >= before && ledger->published.cpu_seconds < before + 0.1);
    assert_int_equal(ledger->reaped_count, 1);
    assert_true(ledger->published.minor_faults > 0);
}

static void body_waited_children(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn_process(0.05);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
    burn_process(0.05);
    say();
    wait_for_go(1);
}

static void children_that_their_parent_waited_for_are_counted_once(void **state)
{
    watch_begin(state);
    (void)start_root(body_waited_children);
    /* Passes see the children alive, and then as part of their parent. */
    for (int ms = 0; atomic_load(&shared->said) < 1 && ms < PATIENCE_MS; ms += 5) {
        tree_refresh(watch.tree);
        sleep_seconds(0.005);
    }
    tree_refresh(watch.tree);
    double alive = tree_ledger(watch.tree)->live.cpu_seconds;
    let_go(1);
    await_reaped(1);
    tree_refresh(watch.tree);
    double truth = children_cpu_seconds() - watch.children_before;
    assert_true(truth >= 0.2 && truth < 0.4);
    assert_true(fabs(cpu_published() - truth) < 0.011); /* a pass between two ticks */
    assert_true(fabs(alive - truth) < 0.04);
}

/* 200 children of 1 ms; every tenth leaves a child of its own behind that nobody but us will wait for. */
static void body_storm(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 10 == 0 && fork() == 0) {
                burn_process(0.002);
                _exit(0);
            }
            burn_process(0.001);
            _exit(0);
        }
        if (i % 5 != 0)
            (void)wait_checked(pid);
    }
    while (wait(NULL) > 0)
        ;
}

enum { STORM_PROCESSES = 1 + 200 + 20 };

static bool nobody_is_left(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void the_ledger_never_falls_and_conserves_a_fork_storm(void **state)
{
    watch_begin(state);
    (void)start_root(body_storm);
    double before = 0;
    unsigned passes = 0;
    for (int ms = 0; ms < PATIENCE_MS; ms += 4) {
        (void)reap_all();
        tree_refresh(watch.tree);
        passes++;
        assert_true(cpu_published() >= before);
        before = cpu_published();
        if (tree_count(watch.tree) == 0 && nobody_is_left())
            break;
        sleep_seconds(0.004);
    }
    double truth = children_cpu_seconds() - watch.children_before;
    assert_true(passes > 2);
    assert_true(truth > 0.2);
    if (fabs(cpu_published() - truth) > 0.01 * truth)
        fail_msg("the ledger has %.6f s, the kernel %.6f s", cpu_published(), truth);
    assert_int_equal(tree_spawned(watch.tree), tree_exited(watch.tree));
    if (method_of(state) == TREE_CONNECTOR && tree_events_lost(watch.tree) == 0)
        assert_int_equal(tree_spawned(watch.tree), STORM_PROCESSES);
    else
        assert_in_range(tree_spawned(watch.tree), 1, STORM_PROCESSES);
    assert_int_equal(tree_counts_all(watch.tree),
                     method_of(state) == TREE_CONNECTOR && tree_events_lost(watch.tree) == 0);
    assert_int_equal(tree_living(watch.tree), 0);
}

static int ask_for_pid(pid_t pid)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    int length = fd < 0 ? -1 : dprintf(fd, "%d", (int)pid - 1);

    if (fd >= 0)
        (void)close(fd);
    return length > 0 ? 0 : -1;
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

/* A /proc of our own, with processes as we write them. */
static char root[64];

static void put_stat(pid_t pid, const char *text)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%d", root, (int)pid);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%d/stat", root, (int)pid);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_process(pid_t pid, pid_t ppid, unsigned user_ticks, unsigned start_ticks)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "%d (made up) S %d 1 1 0 -1 4194560 10 20 0 0 %u 0 0 0 20 0 1 0 %u 4096 1 "
                   "18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                   (int)pid, (int)ppid, user_ticks, start_ticks);
    put_stat(pid, text);
}

static void remove_process(pid_t pid)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%d/stat", root, (int)pid);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/%d", root, (int)pid);
    (void)rmdir(path);
    (void)rmdir(root);
}

/* Follows process 4711 of that /proc. */
static void watch_recorded(enum tree_method method)
{
    struct tree_options options = tree_options_for(method);

    (void)snprintf(root, sizeof(root), "/tmp/metron-tree-XXXXXX");
    assert_non_null(mkdtemp(root));
    watch.facts.live = false;
    options.proc_root = root;
    options.kept_descriptors = 0; /* a file of ours, once open, would never say that the process is gone */
    options.start_ns = 0;         /* all that it used counts */
    options.reaps = options.read_clock = false;
    watch_with(&options, method);
    assert_int_equal(tree_add_root(watch.tree, 4711), 0);
}

static void a_process_that_cannot_be_read_costs_its_own_reading_and_nothing_more(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 500, 1000);
    tree_refresh(watch.tree);
    double used = 500.0 / (double)clock_ticks_per_second();
    assert_true(who(4711)->fresh);
    assert_true(fabs(tree_ledger(watch.tree)->live.cpu_seconds - used) < 1e-9);
    put_stat(4711, "not what the kernel writes");
    tree_refresh(watch.tree);
    assert_non_null(who(4711)); /* not dead: nothing says so */
    assert_false(who(4711)->fresh);
    assert_int_equal(tree_living(watch.tree), 1);
    assert_int_equal(tree_exited(watch.tree), 0);
    assert_true(fabs(tree_ledger(watch.tree)->live.cpu_seconds - used) < 1e-9);
    put_process(4711, 1, 700, 1000);
    tree_refresh(watch.tree);
    assert_true(who(4711)->fresh);
    assert_true(tree_ledger(watch.tree)->live.cpu_seconds > used);
    remove_process(4711);
    tree_refresh(watch.tree);
    assert_null(who(4711));
    assert_int_equal(tree_exited(watch.tree), 1);
}

static void another_start_time_is_another_process(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 500, 1000);
    tree_refresh(watch.tree);
    const uint64_t serial = who(4711)->subject.serial;
    put_process(4711, 1, 3, 1001);
    tree_refresh(watch.tree);
    assert_null(who(4711)); /* the one we knew is gone, whoever has its number */
    assert_int_equal(tree_exited(watch.tree), 1);
    assert_int_equal(tree_add_root(watch.tree, 4711), 0);
    tree_refresh(watch.tree);
    assert_true(who(4711)->subject.serial != serial);
    assert_int_equal(who(4711)->subject.incarnation, 2);
    assert_true(tree_ledger(watch.tree)->gone.cpu_seconds > 0); /* and what it did is kept */
    remove_process(4711);
}

static void children_of_whoever_has_an_ended_members_pid_are_not_ours(void **state)
{
    watch_recorded(method_of(state));
    put_process(4711, 1, 1, 1000);
    put_process(4712, 4711, 1, 1001);
    tree_refresh(watch.tree);
    assert_int_equal(tree_count(watch.tree), 2);
    put_process(4712, 1, 1, 2000); /* a stranger with the pid of our child that ended */
    put_process(4713, 4712, 1, 2001);
    put_process(4714, 4711, 1, 2002); /* a new child of our own */
    tree_refresh(watch.tree);
    tree_refresh(watch.tree);
    assert_null(who(4712));
    assert_null(who(4713));
    assert_non_null(who(4714));
    assert_int_equal(tree_count(watch.tree), 2);
    for (pid_t pid = 4711; pid <= 4714; pid++)
        remove_process(pid);
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

static void a_tree_without_a_root_folder_says_so(void **state)
{
    struct tree_options options = tree_options_for(TREE_LISTINGS);
    struct metron_error error = {0};

    (void)state;
    options.proc_root = "/nowhere/proc";
    assert_null(tree_new(&options, &error));
    assert_non_null(strstr(error.message, "/nowhere/proc"));
    assert_int_equal(error.code, -ENOENT);
}

static void the_reason_for_a_lesser_method_is_told(void **state)
{
    watch_begin(state);
    assert_int_equal(tree_events_fd(watch.tree), -1);
    assert_string_equal(tree_method_reason(watch.tree), "switched off");
    assert_false(tree_counts_all(watch.tree));
}

static void the_largest_high_water_mark_is_kept(void **state)
{
    watch_begin(state);
    tree_note_hwm(watch.tree, 300);
    tree_note_hwm(watch.tree, 500);
    tree_note_hwm(watch.tree, 400);
    assert_int_equal(tree_ledger(watch.tree)->hwm_bytes, 500);
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
        ALL_WAYS(what_was_reaped_moves_from_the_living_to_the_gone),
        ALL_WAYS(children_that_their_parent_waited_for_are_counted_once),
        ALL_WAYS(the_ledger_never_falls_and_conserves_a_fork_storm),
        ALL_WAYS(a_reused_pid_is_another_process),
        ALL_WAYS(a_main_thread_that_left_is_not_the_end_of_its_process),
        ONE_WAY(a_process_that_cannot_be_read_costs_its_own_reading_and_nothing_more, by_listings),
        ONE_WAY(another_start_time_is_another_process, by_listings),
        ONE_WAY(children_of_whoever_has_an_ended_members_pid_are_not_ours, by_scan),
        ALL_WAYS(descriptors_may_run_out),
        ONE_WAY(a_tree_without_a_root_folder_says_so, by_listings),
        ONE_WAY(the_reason_for_a_lesser_method_is_told, by_listings),
        ONE_WAY(the_largest_high_water_mark_is_kept, by_listings),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
