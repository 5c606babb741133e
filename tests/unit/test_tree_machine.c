/* Everybody of the machine, or of a user: who is seen, who is not, and when. */
#include <dirent.h>
#include <fcntl.h>

#include "another_user.h"
#include "machine_fixture.h"
#include "tree/members.h"

static bool read_text(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        (void)close(fd);
    text[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

enum { EXITING = 0x4, KERNEL_THREAD = 0x200000 }; /* PF_EXITING and PF_KTHREAD of the kernel */

/* The bits with which the kernel marks a process: field 9 of stat. */
static unsigned long marks_in(const char *stat)
{
    const char *rest = strrchr(stat, ')');

    for (int field = 2; rest && field < 9; field++)
        rest = strchr(rest + 1, ' ');
    return rest ? strtoul(rest, NULL, 10) : 0;
}

static bool is_kernel_thread(pid_t pid)
{
    char text[1024];

    return read_text(pid, "stat", text, sizeof(text)) && (marks_in(text) & KERNEL_THREAD);
}

/* -1: gone. */
static long user_of(pid_t pid)
{
    char text[4096], *line;

    if (!read_text(pid, "status", text, sizeof(text)) || !(line = strstr(text, "\nUid:")))
        return -1;
    return strtol(line + strlen("\nUid:"), NULL, 10);
}

/* Calls for every process in /proc; those that come and go meanwhile are nobody's. */
static void each_process(void (*visit)(pid_t pid))
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;

    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0)
            visit(pid);
    }
    (void)closedir(folder);
}

static void become_ordinary_user(void)
{
    if (!become_another_user() ||
        prctl(PR_SET_DUMPABLE, 1) != 0) /* its files in /proc are its own, as after exec */
        _exit(1);
}

/* ---- who is seen ---- */

static unsigned compared;

/* It was there before the pass and is there after it. */
static void compare(pid_t pid)
{
    char text[1024];
    const struct process *process = tree_find(watch.tree, pid);

    if (is_kernel_thread(pid)) {
        assert_null(process);
        return;
    }
    if (process) {
        compared++;
        return;
    }
    tree_refresh(watch.tree); /* born since: a look later it is seen */
    tree_refresh(watch.tree);
    /* One that is about to end has no memory any more, as a thread of the kernel. */
    if (!tree_find(watch.tree, pid) && read_text(pid, "stat", text, sizeof(text)) &&
        !(marks_in(text) & (EXITING | KERNEL_THREAD)))
        fail_msg("%d is not seen: %s", (int)pid, text);
}

static void everybody_is_seen_but_threads_of_the_kernel(void **state)
{
    if (geteuid() != 0) {
        print_message("skip: of root alone\n");
        skip();
    }
    (void)start(body_that_waits);
    await_said(1);
    watch_machine(state);
    compared = 0;
    each_process(compare);
    assert_true(compared >= 2);
    assert_non_null(tree_find(watch.tree, shared->pids[0]));
    assert_non_null(tree_find(watch.tree, getpid())); /* the one that looks as well */
    assert_non_null(tree_find(watch.tree, 1));        /* nobody's descendant */
    assert_int_equal(times_told(EVENT_SPAWN, 1), 0);  /* it began before */
    for (size_t i = 0; i < tree_count(watch.tree); i++)
        assert_false(is_kernel_thread(tree_process(watch.tree, i)->subject.id));
}

/* As an ordinary user, in a process of its own: how many of whom are seen. */
static void body_of_ordinary_user(void)
{
    struct tree_options options = tree_options_for(TREE_SCAN);
    struct metron_error error = {0};

    become_ordinary_user();
    if (fork() == 0) { /* orphaned: of nobody that this one knows */
        if (fork() == 0)
            body_that_waits();
        _exit(0);
    }
    (void)wait(NULL);
    wait_for_said(2);
    options.scope = TREE_OF_MACHINE;
    options.reaps = false;
    options.on_event = NULL;
    options.on_end = NULL;
    struct tree *tree = tree_new(&options, &error);
    if (!tree)
        _exit(2);
    for (int pass = 0; pass < 3; pass++) {
        tree_refresh(tree);
        for (size_t i = 0; i < tree_count(tree); i++) {
            long uid = user_of(tree_process(tree, i)->subject.id);
            (void)atomic_fetch_add(&shared->counts[uid == (long)another_user ? 0 : 1], uid >= 0);
        }
    }
    atomic_store(&shared->counts[2], tree_find(tree, shared->pids[0]) != NULL);
    atomic_store(&shared->counts[3], tree_take_in(tree, shared->pids[0]) != NULL);
    for (int i = 0; i < 2; i++)
        if (tree_find(tree, shared->pids[i]) && user_of(shared->pids[i]) == (long)another_user)
            atomic_store(&shared->counts[2], tree_find(tree, getppid()) ? 2 : 1);
    tree_free(tree);
    _exit(0);
}

static void an_ordinary_user_sees_its_own_alone(void **state)
{
    int status;

    (void)state;
    if (geteuid() != 0) {
        print_message("skip: only root can become somebody else\n");
        skip();
    }
    pid_t roots = start(body_that_waits); /* root's, and a stranger */
    await_said(1);
    pid_t pid = start(body_of_ordinary_user);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(shared->pids[0], roots);
    assert_true(atomic_load(&shared->counts[0]) >= 6); /* it and its child, in each of three passes */
    assert_int_equal(atomic_load(&shared->counts[1]), 0);
    assert_int_equal(atomic_load(&shared->counts[2]), 1); /* its child, not its parent */
    assert_int_equal(atomic_load(&shared->counts[3]), 0); /* a stranger's is not taken in */
}

/* It becomes another user's after it was seen to be root's. */
static void body_that_changes_its_user(void)
{
    say();
    wait_for_go(1);
    become_ordinary_user();
    say();
    wait_for_go(2);
}

static void body_that_sees_the_change(void)
{
    struct tree_options options = tree_options_for(TREE_SCAN);
    struct metron_error error = {0};

    become_ordinary_user();
    options.scope = TREE_OF_MACHINE;
    options.reaps = false;
    options.on_event = NULL;
    options.on_end = NULL;
    struct tree *tree = tree_new(&options, &error);
    if (!tree)
        _exit(2);
    tree_refresh(tree);
    if (tree_find(tree, shared->pids[0]))
        _exit(3);
    let_go(1);
    wait_for_said(2);
    tree_refresh(tree);
    bool found = tree_find(tree, shared->pids[0]) != NULL;
    tree_free(tree);
    _exit(found ? 0 : 4);
}

static void one_that_becomes_the_users_is_seen_within_a_pass(void **state)
{
    int status;

    (void)state;
    if (geteuid() != 0) {
        print_message("skip: only root can become somebody else\n");
        skip();
    }
    (void)start(body_that_changes_its_user);
    await_said(1);
    pid_t pid = start(body_that_sees_the_change);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* ---- when ---- */

static void body_that_starts_another(void)
{
    say();
    wait_for_go(1);
    if (fork() == 0) {
        (void)setsid();
        pid_t pid = fork();
        if (pid == 0) {
            wait_for_go(2);
            _exit(5);
        }
        atomic_store(&shared->counts[0], pid);
        _exit(0);
    }
    (void)wait(NULL);
    say();
    wait_for_go(3);
}

static void a_new_one_is_seen_within_a_pass_and_its_end_is_told(void **state)
{
    (void)start(body_that_starts_another);
    await_said(1);
    watch_machine(state);
    let_go(1);
    await_said(2);
    tree_refresh(watch.tree);
    pid_t pid = (pid_t)atomic_load(&shared->counts[0]);
    assert_non_null(tree_find(watch.tree, pid));
    assert_int_equal(times_told(EVENT_SPAWN, pid), 1);
    assert_int_equal(told_of(EVENT_SPAWN, pid)->seen, is_told(state) ? SEEN_EVENT : SEEN_SAMPLED);
    assert_true(told_of(EVENT_SPAWN, pid)->has_start);
    let_go(2);
    wait_for(pid); /* an orphan's, which came to us */
    refresh_until_gone(pid);
    assert_int_equal(times_told(EVENT_EXIT, pid), 1);
    const struct told *told = told_of(EVENT_EXIT, pid);
    assert_int_equal(told->has_status, is_told(state));
    if (is_told(state))
        assert_int_equal(WEXITSTATUS(told->wait_status), 5);
    assert_int_equal(told->has_use, method_of(state) == TREE_BPF);
}

static void body_exits_with_7(void)
{
    say();
    wait_for_go(1);
    _exit(7);
}

static void the_end_of_one_that_ran_already_is_told(void **state)
{
    pid_t pid = start(body_exits_with_7);

    await_said(1);
    watch_machine(state);
    assert_int_equal(times_told(EVENT_SPAWN, pid), 0);
    let_go(1);
    wait_for(pid);
    refresh_until_gone(pid);
    assert_int_equal(times_told(EVENT_EXIT, pid), 1);
    assert_int_equal(told_of(EVENT_EXIT, pid)->has_status, is_told(state));
    if (is_told(state))
        assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, pid)->wait_status), 7);
}

static void one_born_a_moment_ago_is_taken_in(void **state)
{
    watch_machine(state);
    pid_t pid = start(body_that_waits);

    await_said(1);
    const struct process *process = tree_take_in(watch.tree, pid);
    assert_non_null(process);
    assert_int_equal(process->subject.id, pid);
    assert_int_equal(process->stat.ppid, getpid());
    assert_true(process->start_ticks > 0);
    assert_ptr_equal(tree_take_in(watch.tree, pid), process);
    assert_ptr_equal(tree_find(watch.tree, pid), process);
    tree_refresh(watch.tree);
    assert_ptr_equal(tree_find(watch.tree, pid), process);
    assert_int_equal(times_told(EVENT_SPAWN, pid), 1);
}

static void one_that_is_gone_is_not_taken_in_and_its_end_is_told_once(void **state)
{
    watch_machine(state);
    pid_t pid = start(body_that_waits);

    await_said(1);
    assert_non_null(tree_take_in(watch.tree, pid));
    let_go(1);
    wait_for(pid);
    assert_null(tree_take_in(watch.tree, pid));
    refresh_until_gone(pid);
    assert_null(tree_take_in(watch.tree, pid));
    assert_null(tree_find(watch.tree, pid));
    assert_int_equal(times_told(EVENT_EXIT, pid), 1);
}

/* Born, ended and waited for before anybody looked; only the kernel knows of it. */
static void one_that_came_and_went_is_told_of_all_the_same(void **state)
{
    watch_machine(state);
    let_go(1);
    pid_t pid = start(body_exits_with_7);

    wait_for(pid);
    if (is_told(state)) /* the event of its exit is due; if it comes later still, the test is merely weaker */
        sleep_seconds(0.05);
    (void)tree_take_in(watch.tree, pid);
    refresh_until_gone(pid);
    assert_int_equal(times_told(EVENT_SPAWN, pid), is_told(state));
    assert_int_equal(times_told(EVENT_EXIT, pid), is_told(state));
    if (is_told(state))
        assert_int_equal(WEXITSTATUS(told_of(EVENT_EXIT, pid)->wait_status), 7);
}

/* How far the time that the tree tells is from the wall clock's, in seconds. */
static double apart(void)
{
    struct timespec told = tree_wall(watch.tree, clock_monotonic_ns()), now = clock_wall();

    return (double)(told.tv_sec - now.tv_sec) + (double)(told.tv_nsec - now.tv_nsec) / 1e9;
}

static void a_step_of_the_wall_clock_is_followed(void **state)
{
    watch_machine(state);
    for (int sign = -1; sign <= 1; sign += 2) {
        watch.tree->anchor_wall.tv_sec += sign * 3600; /* as if the clock had been set since */
        assert_near(apart(), sign * 3600.0, 1);
        tree_refresh(watch.tree);
        assert_near(apart(), 0, 0.4);
    }
    watch.tree->anchor_wall.tv_sec += 3600;
    watch.tree->anchor_suspended_ns -= (int64_t)(3600 * NS_PER_SECOND); /* an hour asleep, and no step */
    watch.tree->anchor_ns += 7200 * NS_PER_SECOND;
    const uint64_t anchor_ns = watch.tree->anchor_ns;
    tree_refresh(watch.tree);
    assert_int_equal(watch.tree->anchor_ns, anchor_ns);
}

static void a_run_keeps_the_wall_clock_that_it_began_with(void **state)
{
    watch_begin(state);
    watch.tree->anchor_wall.tv_sec -= 3600;
    tree_refresh(watch.tree);
    assert_near(apart(), -3600, 1);
}

enum { HELD_BYTES = 256 << 20 };

/* Its memory takes a while to be given back, and it has none meanwhile. */
static void body_that_has_much_to_give_back(void)
{
    char *memory = mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, HELD_BYTES);
    _exit(0);
}

/* Whether it is about to exit, without memory, and no zombie yet. */
static bool gives_back(pid_t pid)
{
    char text[4096];

    return read_text(pid, "status", text, sizeof(text)) && !strstr(text, "\nVmSize:") &&
           !strstr(text, "\nState:\tZ");
}

static void one_that_gives_its_memory_back_is_taken_in(void **state)
{
    bool caught = false;

    watch_machine(state);
    for (int tries = 0; tries < 250 && !caught; tries++) {
        pid_t pid = start(body_that_has_much_to_give_back);
        siginfo_t info = {0};

        while (!gives_back(pid) && info.si_pid != pid)
            assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        assert_non_null(tree_take_in(watch.tree, pid)); /* be it a zombie by now: nobody has waited for it */
        caught = info.si_pid != pid;
        wait_for(pid);
    }
    assert_true(caught);
}

static void nonsense_is_not_taken_in(void **state)
{
    watch_machine(state);
    assert_null(tree_take_in(watch.tree, 0));
    assert_null(tree_take_in(watch.tree, -1));
    assert_null(tree_take_in(watch.tree, INT32_MAX));
    if (is_kernel_thread(2))
        assert_null(tree_take_in(watch.tree, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_WAYS(everybody_is_seen_but_threads_of_the_kernel),
        ONE_WAY(an_ordinary_user_sees_its_own_alone, by_scan),
        ONE_WAY(one_that_becomes_the_users_is_seen_within_a_pass, by_scan),
        MACHINE_WAYS(a_new_one_is_seen_within_a_pass_and_its_end_is_told),
        MACHINE_WAYS(the_end_of_one_that_ran_already_is_told),
        MACHINE_WAYS(one_born_a_moment_ago_is_taken_in),
        MACHINE_WAYS(one_that_is_gone_is_not_taken_in_and_its_end_is_told_once),
        MACHINE_WAYS(one_that_came_and_went_is_told_of_all_the_same),
        ONE_WAY(a_step_of_the_wall_clock_is_followed, by_scan),
        ONE_WAY(a_run_keeps_the_wall_clock_that_it_began_with, by_scan),
        ONE_WAY(one_that_gives_its_memory_back_is_taken_in, by_scan),
        MACHINE_WAYS(nonsense_is_not_taken_in),
    };

    return cmocka_run_group_tests(tests, become_reaper, NULL);
}
