/*
 * What our programs tell of processes as it happens, from this machine's kernel: births, programs, deaths and
 * signals of children whose fate is known, against what wait4 and /proc say of the same processes.
 */
#include "probe/bpf/programs.h"

#include <fcntl.h>
#include <pthread.h>

#include "cpu_group_fixture.h"
#include "probe/pid/files.h"
#include "probe/pid/stat.h"

static void execute_shell(void)
{
    execl("/bin/sh", "sh", "-c", "exit 7", "an argument", "", (char *)NULL);
    _exit(127);
}

static void child_is_told_from_birth_to_death(void **state)
{
    (void)state;
    needs_programs();
    static const char arguments[] = "sh\0-c\0exit 7\0an argument\0";
    const uint64_t before_ns = clock_monotonic_ns();
    const pid_t child = child_start(execute_shell);

    assert_int_equal(WEXITSTATUS(child_end(child).status), 7);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;
    const struct lifecycle_event *fork = &event_of(child, LIFECYCLE_FORK)->event;
    const struct kept_event *exec = event_of(child, LIFECYCLE_EXEC);
    assert_int_equal(fork->fork.parent, getpid());
    assert_int_equal(exec->event.exec.length, sizeof(arguments));
    assert_false(exec->event.exec.is_truncated);
    assert_memory_equal(exec->text, arguments, sizeof(arguments));
    assert_int_equal(WEXITSTATUS(exit->exit.wait_status), 7);
    assert_true(exit->exit.has_use && exit->exit.is_whole);
    assert_true(fork->id != 0 && exec->event.id == fork->id && exit->id == fork->id);
    assert_true(exec->event.start_ns == fork->start_ns && exit->start_ns == fork->start_ns);
    assert_true(exit->exit.lifetime_ns > exit->stamp_ns - fork->stamp_ns);
    assert_true(fork->stamp_ns < exec->event.stamp_ns && exec->event.stamp_ns < exit->stamp_ns);
    assert_true(before_ns < fork->stamp_ns && exit->stamp_ns < clock_monotonic_ns());
    assert_true(exit->exit.lifetime_ns < clock_monotonic_ns() - before_ns);
}

static void execute_with_many_arguments(void)
{
    static char text[9000];
    char *arguments[] = {"true", text, text, NULL};

    memset(text, 'x', sizeof(text) - 1);
    execv("/bin/true", arguments);
    _exit(127);
}

static void long_command_line_is_cut(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(execute_with_many_arguments);

    (void)child_end(child);
    const struct kept_event *exec = event_of(child, LIFECYCLE_EXEC);
    assert_int_equal(exec->event.exec.length, WIRE_ARGUMENTS_MAX - 1);
    assert_true(exec->event.exec.is_truncated);
    assert_memory_equal(exec->text, "true\0xxxx", 9);
}

static void pause_forever(void)
{
    for (;;)
        (void)pause();
}

static void kill_the_child(void)
{
    (void)prctl(PR_SET_NAME, "the killer");
    (void)kill(*(pid_t *)(void *)fixture.shared, SIGKILL);
}

static void killer_is_named(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(pause_forever);

    *(pid_t *)(void *)fixture.shared = child;
    const pid_t killer = child_start(kill_the_child);
    (void)child_end(killer);
    assert_int_equal(WTERMSIG(child_end(child).status), SIGKILL);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;
    const struct kept_event *sent = event_of(child, LIFECYCLE_SIGNAL);
    assert_int_equal(sent->event.signal.number, SIGKILL);
    assert_int_equal(sent->event.signal.sender, killer);
    assert_string_equal(sent->text, "the killer");
    assert_true(sent->event.signal.deadly);
    assert_true(WIFSIGNALED(exit->exit.wait_status) && WTERMSIG(exit->exit.wait_status) == SIGKILL);
}

static void ignore_it(int number)
{
    (void)number;
}

static void receive_and_crash(void)
{
    (void)signal(SIGUSR1, ignore_it);
    (void)raise(SIGUSR1);
    (void)signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
    *(volatile char *)mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}

static void handled_signal_is_not_deadly_and_a_crash_is_the_kernels(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(receive_and_crash);
    const struct lifecycle_event *handled = NULL, *crash = NULL;

    assert_int_equal(WTERMSIG(child_end(child).status), SIGSEGV);
    assert_int_equal(WTERMSIG(only_exit_of(child)->event.exit.wait_status), SIGSEGV);
    for (size_t i = 0; i < fixture.event_count; i++) {
        const struct lifecycle_event *event = &fixture.events[i].event;

        if (event->pid == child && event->what == LIFECYCLE_SIGNAL)
            *(event->signal.number == SIGUSR1 ? &handled : &crash) = event;
    }
    assert_non_null(handled);
    assert_false(handled->signal.deadly);
    assert_int_equal(handled->signal.sender, child);
    assert_non_null(crash);
    assert_true(crash->signal.deadly);
    assert_int_equal(crash->signal.number, SIGSEGV);
    assert_int_equal(crash->signal.sender, 0);
}

/* As a daemon does it: the session, the parent and its parent are all gone. */
static void become_daemon(void)
{
    if (setsid() > 0 && fork() == 0) {
        if (fork() == 0) {
            *(pid_t *)(void *)fixture.shared = getpid();
            (void)usleep(2000);
            _exit(3);
        }
        _exit(0);
    }
    (void)wait(NULL);
}

static void daemon_is_still_followed(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(become_daemon);

    (void)child_end(child);
    (void)only_exit_of(child);
    const volatile pid_t *place = (volatile pid_t *)(void *)fixture.shared;
    while (*place == 0) /* it need not have run yet */
        (void)usleep(1000);
    const pid_t far = *place;
    assert_int_not_equal(far, child);
    assert_int_equal(WEXITSTATUS(child_end(far).status), 3);
    (void)event_of(far, LIFECYCLE_FORK);
    assert_int_equal(WEXITSTATUS(only_exit_of(far)->event.exit.wait_status), 3);
}

static void *outlive_the_first(void *context)
{
    (void)context;
    burn_thread_ms(5);
    (void)usleep(5000);
    syscall(SYS_exit, 5); /* this thread alone, which is the last */
    return NULL;
}

static void leave_threads_behind(void)
{
    pthread_t thread;

    for (int i = 0; i < 3; i++)
        (void)pthread_create(&thread, NULL, outlive_the_first, NULL);
    burn_thread_ms(5);
    syscall(SYS_exit, 0);
}

static void process_ends_once_though_its_first_thread_left_before(void **state)
{
    (void)state;
    needs_programs();
    in_group_begin();
    const pid_t child = in_group_start(leave_threads_behind);
    const struct ended_child ended = child_end(child);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;

    assert_int_equal(events_of(child, LIFECYCLE_FORK), 1);
    assert_int_equal(exit->exit.wait_status, ended.status);
    assert_true(in_group_agrees(exit->exit.use.cpu_ns));
}

static void *burn_and_end_all(void *context)
{
    burn_thread_ms(3);
    (void)pthread_barrier_wait(context);
    _exit(3);
}

static void end_together(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;

    (void)pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++)
        (void)pthread_create(&thread, NULL, burn_and_end_all, &barrier);
    (void)burn_and_end_all(&barrier);
}

static void threads_that_end_together_are_all_counted(void **state)
{
    (void)state;
    needs_programs();
    for (int round = 0; round < 20; round++) {
        in_group_begin();
        const pid_t child = in_group_start(end_together);
        const struct ended_child ended = child_end(child);
        const struct lifecycle_event *exit = &only_exit_of(child)->event;

        assert_int_equal(exit->exit.wait_status, ended.status);
        assert_true(in_group_agrees(exit->exit.use.cpu_ns));
    }
}

static void *execute_true(void *context)
{
    (void)context;
    burn_thread_ms(10);
    execl("/bin/true", "true", (char *)NULL);
    return NULL;
}

static void execute_in_a_thread(void)
{
    pthread_t thread;

    burn_thread_ms(10);
    (void)pthread_create(&thread, NULL, execute_true, NULL);
    pause_forever();
}

static void thread_that_executes_takes_over_the_process(void **state)
{
    (void)state;
    needs_programs();
    in_group_begin();
    const pid_t child = in_group_start(execute_in_a_thread);
    const struct ended_child ended = child_end(child);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;
    const struct kept_event *exec = event_of(child, LIFECYCLE_EXEC);

    assert_true(WIFEXITED(ended.status));
    assert_int_equal(exit->exit.wait_status, ended.status);
    assert_string_equal(exec->text, "true");
    assert_int_equal(exec->event.start_ns, exit->start_ns);
    assert_true(in_group_agrees(exit->exit.use.cpu_ns));
}

static void process_of_others_is_not_told(void **state)
{
    (void)state;
    needs_programs();
    const pid_t other = stranger_forks();

    (void)child_end(child_start(execute_shell)); /* what happened before it has been told by now */
    (void)usleep(10000);
    bpf_programs_read_events(fixture.programs, keep_event, NULL);
    for (size_t i = 0; i < fixture.event_count; i++) {
        assert_int_not_equal(fixture.events[i].event.pid, other);
        assert_int_not_equal(fixture.events[i].event.pid, fixture.stranger);
        assert_int_not_equal(fixture.events[i].event.pid, getpid());
    }
}

static void burn_and_fault(void)
{
    burn_thread_ms(50);
    (void)touch_memory(3 << 20);
    for (int i = 0; i < 10; i++)
        (void)usleep(100);
}

static void ended_child_keeps_what_it_used(void **state)
{
    (void)state;
    needs_programs();
    in_group_begin();
    const pid_t child = in_group_start(burn_and_fault);
    const struct ended_child ended = child_end(child);
    const struct lifecycle_use *use = &only_exit_of(child)->event.exit.use;
    const uint64_t voluntary = (uint64_t)ended.usage.ru_nvcsw, forced = (uint64_t)ended.usage.ru_nivcsw;

    assert_true(use->cpu_ns >= 50000000);
    assert_true(in_group_agrees(use->cpu_ns));
    assert_int_equal(use->minor_faults, ended.usage.ru_minflt);
    assert_int_equal(use->major_faults, ended.usage.ru_majflt);
    /* wait4 may come before its last switch. */
    assert_true(voluntary >= 10 && use->voluntary_switches + use->involuntary_switches >= voluntary + forced);
    assert_true(use->voluntary_switches + use->involuntary_switches <= voluntary + forced + 1);
}

static void leave_own_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, fixture.shared, 4095) < 0)
        _exit(99);
}

/* On a file system that lies on storage, not in memory. */
static void write_and_read(void)
{
    static char block[1 << 16];
    char path[] = "/var/tmp/metron-bpf-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        _exit(99);
    (void)unlink(path);
    for (int i = 0; i < 5; i++)
        if (write(fd, block, sizeof(block)) < 0)
            _exit(98);
    (void)fsync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (off_t i = 0; i < 3; i++)
        if (pread(fd, block, sizeof(block), i * (off_t)sizeof(block)) < 0)
            _exit(97);
    leave_own_file("/proc/self/io");
}

static void io_is_what_the_child_read_of_itself(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(write_and_read);
    struct pid_io own;

    assert_int_equal(child_end(child).status, 0);
    const struct pid_io *io = &only_exit_of(child)->event.exit.use.io;
    const size_t length = strlen(fixture.shared);
    assert_int_equal(pid_io_parse(fixture.shared, length, &own), 0);
    assert_true(own.wchar >= 5 << 16 && own.rchar >= 3 << 16);
    /* The reading of the file came on top of it. */
    assert_int_equal(io->rchar, own.rchar + length);
    assert_int_equal(io->syscr, own.syscr + 1);
    assert_int_equal(io->wchar, own.wchar);
    assert_int_equal(io->syscw, own.syscw);
    assert_int_equal(io->read_bytes, own.read_bytes);
    assert_int_equal(io->write_bytes, own.write_bytes);
    assert_true(io->write_bytes >= 5 << 16);
}

enum { PEAK_BYTES = 64 << 20 };

static void hold_and_leave(void)
{
    (void)touch_memory(PEAK_BYTES);
    leave_own_file("/proc/self/status");
}

static void hold_and_give_back(void)
{
    (void)munmap(touch_memory(PEAK_BYTES), PEAK_BYTES);
    leave_own_file("/proc/self/status");
}

static void check_peak(void (*body)(void))
{
    const pid_t child = child_start(body);
    struct pid_status own;

    assert_int_equal(child_end(child).status, 0);
    const struct lifecycle_event *exit = &only_exit_of(child)->event;
    assert_int_equal(pid_status_parse(fixture.shared, strlen(fixture.shared), &own), 0);
    if (exit->exit.peak_bytes == 0) {
        print_message("skip: before Linux 6.16 the memory of a process is gone when it is told to end\n");
        skip();
    }
    assert_true((double)exit->exit.peak_bytes >= PEAK_BYTES * 0.99);
    assert_true(agree((double)exit->exit.peak_bytes, (double)own.hwm_bytes, 1));
}

static void peak_is_the_most_it_held(void **state)
{
    (void)state;
    needs_programs();
    check_peak(hold_and_leave);
}

static void peak_outlives_what_was_given_back(void **state)
{
    (void)state;
    needs_programs();
    check_peak(hold_and_give_back);
}

static void end_at_once(void)
{
    burn_thread_ms(1);
}

struct told {
    size_t births, ends;
    uint64_t cpu_ns;
};

static struct told told_so_far(void)
{
    struct told told = {0};

    bpf_programs_read_events(fixture.programs, keep_event, NULL);
    for (size_t i = 0; i < fixture.event_count; i++) {
        const struct lifecycle_event *event = &fixture.events[i].event;

        told.births += event->what == LIFECYCLE_FORK;
        if (event->what == LIFECYCLE_EXIT) {
            told.ends++;
            told.cpu_ns += event->exit.use.cpu_ns;
        }
    }
    return told;
}

/* Beside a fork storm pids come again within the test: events are counted, not looked up by pid. */
static void every_short_child_is_told(void **state)
{
    (void)state;
    needs_programs();
    enum { CHILDREN = 300 };
    const uint64_t lost = bpf_programs_lost(fixture.programs);

    in_group_begin();
    for (int i = 0; i < CHILDREN; i++)
        (void)child_end(in_group_start(end_at_once));
    struct told told = told_so_far();
    for (int ms = 0; told.ends < CHILDREN && ms < PATIENCE_MS; ms++) {
        (void)usleep(1000);
        told = told_so_far();
    }
    assert_int_equal(told.births, CHILDREN);
    assert_int_equal(told.ends, CHILDREN);
    assert_int_equal(bpf_programs_lost(fixture.programs), lost);
    assert_true(in_group_agrees(told.cpu_ns));
}

static size_t signals_seen;

static void count_signals(void *context, const struct lifecycle_event *event)
{
    (void)context;
    signals_seen += event->what == LIFECYCLE_SIGNAL;
}

/* Signals are the cheapest events to make: more of them than fit, while nobody reads. */
static void lost_events_are_counted_and_the_next_are_told(void **state)
{
    (void)state;
    needs_programs();
    enum { SENT = 70000 };
    const uint64_t lost_before = bpf_programs_lost(fixture.programs);
    sigset_t blocked, before;

    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    const pid_t child = child_start(pause_forever);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)event_of(child, LIFECYCLE_FORK);
    for (int i = 0; i < SENT; i++)
        assert_int_equal(kill(child, SIGUSR1), 0);
    const uint64_t lost = bpf_programs_lost(fixture.programs) - lost_before;
    signals_seen = 0;
    bpf_programs_read_events(fixture.programs, count_signals, NULL);
    assert_true(lost > 0);
    assert_int_equal(signals_seen + lost, SENT);
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)child_end(child);
    assert_int_equal(WTERMSIG(only_exit_of(child)->event.exit.wait_status), SIGKILL);
    assert_int_equal(bpf_programs_lost(fixture.programs) - lost_before, lost);
}

static void own_cost_is_counted(void **state)
{
    (void)state;
    needs_programs();
    const double before = bpf_programs_cpu_seconds(fixture.programs);
    const uint64_t begin_ns = clock_monotonic_ns();

    for (int i = 0; i < 20; i++)
        (void)child_end(child_start(end_at_once));
    const double cost = bpf_programs_cpu_seconds(fixture.programs) - before;
    const double elapsed = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    /* Seconds, and no other unit: less than all CPUs have had. */
    assert_true(cost > 0 && cost < elapsed * (double)sysconf(_SC_NPROCESSORS_ONLN));
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(child_is_told_from_birth_to_death, test_setup),
        cmocka_unit_test_setup(long_command_line_is_cut, test_setup),
        cmocka_unit_test_setup(killer_is_named, test_setup),
        cmocka_unit_test_setup(handled_signal_is_not_deadly_and_a_crash_is_the_kernels, test_setup),
        cmocka_unit_test_setup(daemon_is_still_followed, test_setup),
        cmocka_unit_test_setup(process_ends_once_though_its_first_thread_left_before, test_setup),
        cmocka_unit_test_setup(threads_that_end_together_are_all_counted, test_setup),
        cmocka_unit_test_setup(thread_that_executes_takes_over_the_process, test_setup),
        cmocka_unit_test_setup(process_of_others_is_not_told, test_setup),
        cmocka_unit_test_setup(ended_child_keeps_what_it_used, test_setup),
        cmocka_unit_test_setup(io_is_what_the_child_read_of_itself, test_setup),
        cmocka_unit_test_setup(peak_is_the_most_it_held, test_setup),
        cmocka_unit_test_setup(peak_outlives_what_was_given_back, test_setup),
        cmocka_unit_test_setup(every_short_child_is_told, test_setup),
        cmocka_unit_test_setup(lost_events_are_counted_and_the_next_are_told, test_setup),
        cmocka_unit_test_setup(own_cost_is_counted, test_setup),
    };

    return cmocka_run_group_tests(tests, setup, in_group_teardown);
}
