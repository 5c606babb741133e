/*
 * Reading processes in one call: what the reader of tasks tells, field by field, against /proc's account of
 * the same processes. They sleep while they are compared, so that both must say the same.
 */
#include "probe/bpf/programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/utsname.h>

#include "bpf_fixture.h"
#include "probe/pid/files.h"
#include "probe/pid/stat.h"

enum { SLEEPING = 1, STOPPED = 4, ZOMBIE = 0x20 }; /* the kernel's bits */

static int ready[2]; /* children say here that they have done what they were to do */

/* Until it is killed. */
static void sleep_long(void)
{
    (void)!write(ready[1], "x", 1);
    for (;;)
        (void)pause();
}

static void await_ready(size_t count)
{
    char byte;

    for (size_t i = 0; i < count; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
}

/* Until the child and its descendants have done what they were to do, `count` times in all, and each of its
 * threads sleeps. */
static void await_sleep(pid_t child, size_t count, unsigned threads)
{
    await_ready(count);
    await_rest(child, threads);
}

static void kill_child(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    (void)child_end(child);
}

/* A process as all its records together tell it. */
static bool task_find(pid_t pid, bool everybody, struct wire_task *out)
{
    const struct wire_task *tasks = NULL;
    const ssize_t count = bpf_programs_read_tasks(fixture.programs, everybody, &tasks);
    struct wire_task sum = {0}, first = {0};

    assert_true(count >= 0);
    for (ssize_t i = 0; i < count; i++) {
        if (tasks[i].pid != (uint32_t)pid)
            continue;
        if (tasks[i].is_first)
            first = tasks[i];
        sum.cpu_ns += tasks[i].cpu_ns;
        sum.minor_faults += tasks[i].minor_faults;
        sum.major_faults += tasks[i].major_faults;
        sum.voluntary_switches += tasks[i].voluntary_switches;
        sum.involuntary_switches += tasks[i].involuntary_switches;
        sum.io.rchar += tasks[i].io.rchar;
        sum.io.wchar += tasks[i].io.wchar;
        sum.io.syscr += tasks[i].io.syscr;
        sum.io.syscw += tasks[i].io.syscw;
        sum.io.read_bytes += tasks[i].io.read_bytes;
        sum.io.write_bytes += tasks[i].io.write_bytes;
    }
    memcpy(&first.cpu_ns, &sum.cpu_ns,
           offsetof(struct wire_task, start_ns) - offsetof(struct wire_task, cpu_ns));
    *out = first;
    return first.is_first != 0;
}

static const char *proc_text(pid_t pid, const char *file)
{
    static char text[8192];
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    assert_true(file_read(AT_FDCWD, path, text, sizeof(text)) > 0);
    return text;
}

static struct pid_stat proc_stat(pid_t pid)
{
    struct pid_stat stat;
    const char *text = proc_text(pid, "stat");

    assert_int_equal(pid_stat_parse(text, strlen(text), &stat), 0);
    return stat;
}

static struct pid_status proc_status(pid_t pid)
{
    struct pid_status status;
    const char *text = proc_text(pid, "status");

    assert_int_equal(pid_status_parse(text, strlen(text), &status), 0);
    return status;
}

/* Voluntary and other switches of all living threads. */
static uint64_t proc_switches(pid_t pid)
{
    char path[64];
    uint64_t sum = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            const struct pid_status status = proc_status((pid_t)strtol(entry->d_name, NULL, 10));

            sum += status.voluntary_switches + status.involuntary_switches;
        }
    (void)closedir(folder);
    return sum;
}

static uint64_t process_clock_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec now;

    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* From Linux 6.17 on /proc adds up what each CPU has counted. */
static bool statm_is_exact(void)
{
    struct utsname name;
    int major = 0, minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 17));
}

static void check_memory(const struct wire_task *task, pid_t pid)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const char *rollup = strstr(proc_text(pid, "smaps_rollup"), "Rss:");
    struct pid_statm statm;

    /* The page tables themselves, counted. */
    assert_non_null(rollup);
    assert_int_equal(task->rss_bytes, strtoull(rollup + 4, NULL, 10) * 1024);
    const char *text = proc_text(pid, "statm");
    assert_int_equal(pid_statm_parse(text, strlen(text), &statm), 0);
    assert_int_equal(task->vsize_bytes, statm.size_pages * page);
    if (statm_is_exact()) {
        assert_int_equal(task->rss_bytes, statm.resident_pages * page);
        assert_int_equal(task->hwm_bytes, proc_status(pid).hwm_bytes);
    } else {
        assert_true(agree((double)task->hwm_bytes, (double)proc_status(pid).hwm_bytes, 10));
    }
}

/* Everything that /proc tells too, of a process that sleeps. */
static struct wire_task check_against_proc(pid_t pid)
{
    const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
    struct wire_task task;
    struct pid_io io;

    assert_true(task_find(pid, false, &task));
    const struct pid_stat stat = proc_stat(pid);
    const uint64_t stat_ns = (stat.user_ticks + stat.system_ticks) * tick_ns;
    assert_int_equal(task.parent, stat.ppid);
    assert_int_equal(task.start_ns / tick_ns, stat.start_ticks);
    assert_int_equal(task.threads, stat.threads);
    assert_int_equal(task.vsize_bytes, stat.vsize_bytes);
    assert_int_equal(task.start_stack, stat.start_stack);
    assert_int_equal(task.minor_faults, stat.minor_faults);
    assert_int_equal(task.major_faults, stat.major_faults);
    assert_int_equal(task.children_minor_faults, stat.child_minor_faults);
    assert_int_equal(task.children_major_faults, stat.child_major_faults);
    assert_int_equal(task.children_user_ns / tick_ns, stat.child_user_ticks);
    assert_int_equal(task.children_system_ns / tick_ns, stat.child_system_ticks);
    assert_string_equal(task.comm, stat.comm);
    assert_int_equal(task.cpu_ns, process_clock_ns(pid));
    /* Both times are rounded down to a tick there. */
    assert_true(task.cpu_ns >= stat_ns && task.cpu_ns - stat_ns < 2 * tick_ns);
    const char *text = proc_text(pid, "io");
    assert_int_equal(pid_io_parse(text, strlen(text), &io), 0);
    assert_memory_equal(&task.io, &io, sizeof(io));
    if (stat.state != 'Z')
        check_memory(&task, pid);
    return task;
}

static void just_sleep(void)
{
    (void)prctl(PR_SET_NAME, "a (sleeper) x");
    (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 777, .rlim_max = 1000});
    sleep_long();
}

static void sleeper_is_as_proc_has_it(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(just_sleep);

    await_sleep(child, 1, 1);
    const struct wire_task task = check_against_proc(child);
    assert_int_equal(task.state & 0xff, SLEEPING);
    assert_int_equal(task.exit_state, 0);
    assert_int_equal(task.parent, getpid());
    assert_int_equal(task.open_files_limit, 777);
    assert_int_equal(task.ignores_sigchld, 0);
    assert_int_equal(task.start_ns, event_of(child, LIFECYCLE_FORK)->event.start_ns);
    assert_int_equal(task.voluntary_switches + task.involuntary_switches, proc_switches(child));
    kill_child(child);
    assert_false(task_find(child, false, &(struct wire_task){0}));
}

static void *burn_and_sleep(void *context)
{
    (void)context;
    burn_thread_ms(10);
    sleep_long();
    return NULL;
}

static void burn_in_threads(void)
{
    pthread_t thread;

    for (int i = 0; i < 3; i++)
        (void)pthread_create(&thread, NULL, burn_and_sleep, NULL);
    (void)burn_and_sleep(NULL);
}

static void threads_are_summed(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(burn_in_threads);

    await_sleep(child, 4, 4);
    const struct wire_task task = check_against_proc(child);
    assert_int_equal(task.threads, 4);
    assert_true(task.cpu_ns >= 40000000);
    assert_int_equal(task.voluntary_switches + task.involuntary_switches, proc_switches(child));
    kill_child(child);
}

static void *burn_and_end(void *context)
{
    burn_thread_ms(10);
    return context;
}

static void burn_in_ended_threads(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        (void)pthread_create(&threads[i], NULL, burn_and_end, NULL);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    sleep_long();
}

static void ended_threads_are_counted(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(burn_in_ended_threads);

    await_sleep(child, 1, 1);
    const struct wire_task task = check_against_proc(child);
    assert_int_equal(task.threads, 1);
    assert_true(task.cpu_ns >= 20000000);
    kill_child(child);
}

static void hold_memory(void)
{
    (void)munmap(touch_memory(16 << 20), 16 << 20);
    (void)touch_memory(8 << 20);
    sleep_long();
}

static void memory_is_what_the_page_tables_hold(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(hold_memory);

    await_sleep(child, 1, 1);
    const struct wire_task task = check_against_proc(child);
    assert_true(task.rss_bytes >= 8 << 20 && task.rss_bytes < 16 << 20);
    assert_true((double)task.hwm_bytes >= (16 << 20) * 0.98);
    kill_child(child);
}

static void use_files(void)
{
    static char block[40000];
    char path[] = "/var/tmp/metron-bpf-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0 || unlink(path) != 0 || write(fd, block, sizeof(block)) < 0 ||
        pread(fd, block, 12345, 0) != 12345)
        _exit(99);
    sleep_long();
}

static void io_is_as_proc_has_it(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(use_files);

    await_sleep(child, 1, 1);
    const struct wire_task task = check_against_proc(child);
    assert_true(task.io.wchar >= 40000 && task.io.rchar >= 12345 && task.io.write_bytes >= 36864);
    kill_child(child);
}

static void have_children(void)
{
    (void)setpgid(0, 0);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();

        if (child == 0) {
            burn_thread_ms(25);
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
    }
    (void)signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        die_with_parent();
        sleep_long();
    }
    sleep_long();
}

static void children_waited_for_are_counted_and_ignored_ones_told(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(have_children);

    await_sleep(child, 2, 1);
    const struct wire_task task = check_against_proc(child);
    assert_true(task.children_user_ns + task.children_system_ns >= 50000000);
    assert_int_equal(task.ignores_sigchld, 1);
    assert_int_equal(kill(-child, SIGKILL), 0);
    (void)child_end(child);
    (void)waitpid(-child, NULL, 0); /* its child is ours now */
}

static void end_now(void)
{
    burn_thread_ms(5);
}

static void zombie_keeps_its_use_and_has_no_memory(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(end_now);
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    (void)event_of(child, LIFECYCLE_EXIT);
    const struct wire_task task = check_against_proc(child);
    assert_int_equal(task.exit_state & ZOMBIE, ZOMBIE);
    assert_int_equal(task.rss_bytes + task.vsize_bytes + task.hwm_bytes, 0);
    assert_true(task.cpu_ns >= 5000000);
    assert_int_equal(task.cpu_ns, event_of(child, LIFECYCLE_EXIT)->event.exit.use.cpu_ns);
    (void)child_end(child);
}

static void stopped_one_is_told_to_be(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(sleep_long);

    await_ready(1);
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    await_rest(child, 1);
    assert_int_equal(check_against_proc(child).state & 0xff, STOPPED);
    kill_child(child);
}

static void burn_long(void)
{
    (void)!write(ready[1], "x", 1);
    burn_thread_ms(10000);
}

static void running_one_is_known_to_a_tick(void **state)
{
    (void)state;
    needs_programs();
    const pid_t child = child_start(burn_long);
    struct wire_task task;

    await_ready(1);
    (void)usleep(50000);
    const uint64_t before_ns = process_clock_ns(child);
    assert_true(task_find(child, false, &task));
    const uint64_t after_ns = process_clock_ns(child);
    kill_child(child);
    assert_true(task.cpu_ns <= after_ns);
    assert_true(task.cpu_ns + NS_PER_SECOND / (uint64_t)clock_ticks_per_second() >= before_ns);
    assert_int_equal(task.exit_state, 0);
}

static void others_are_read_only_when_everybody_is(void **state)
{
    (void)state;
    needs_programs();
    struct wire_task task;

    assert_false(task_find(fixture.stranger, false, &task));
    assert_false(task_find(getpid(), false, &task));
    assert_true(task_find(fixture.stranger, true, &task));
    assert_int_equal(task.parent, getpid());
    assert_true(task_find(getpid(), true, &task));
    assert_int_equal(task.parent, getppid());
    assert_true(task_find(2, true, &task)); /* a thread of the kernel: no memory */
    assert_int_equal(task.vsize_bytes + task.rss_bytes, 0);
}

enum { CHILDREN = 2000 };

static bool is_whole(const struct wire_task *task, uint64_t start_ns)
{
    return task->is_first == 1 && task->parent == (uint32_t)getpid() && task->threads == 1 &&
           task->start_ns == start_ns && task->rss_bytes > 0 && task->pad == 0;
}

/* How many of the children are told, once each and as their births were. */
static size_t whole_records(const pid_t children[CHILDREN], const struct wire_task *tasks, ssize_t count)
{
    size_t found = 0;

    bpf_programs_read_events(fixture.programs, keep_event, NULL);
    for (int child = 0; child < CHILDREN; child++) {
        uint64_t start_ns = 0;
        size_t told = 0, whole = 0;

        for (size_t i = 0; i < fixture.event_count; i++)
            if (fixture.events[i].event.pid == children[child])
                start_ns = fixture.events[i].event.start_ns;
        for (ssize_t i = 0; i < count; i++)
            if (tasks[i].pid == (uint32_t)children[child]) {
                told++;
                whole += is_whole(&tasks[i], start_ns);
            }
        found += told == 1 && whole == 1;
        if (told != 1 || whole != 1)
            print_message("%d: %zu records, %zu of them whole\n", (int)children[child], told, whole);
    }
    return found;
}

static void every_record_of_many_is_whole(void **state)
{
    (void)state;
    needs_programs();
    static pid_t children[CHILDREN];
    const struct wire_task *tasks = NULL;
    int gate[2];
    char byte;

    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            (void)close(gate[1]);
            (void)!read(gate[0], &byte, 1);
            _exit(0);
        }
    }
    const ssize_t count = bpf_programs_read_tasks(fixture.programs, false, &tasks);
    const size_t whole = whole_records(children, tasks, count);
    (void)close(gate[1]);
    for (int i = 0; i < CHILDREN; i++)
        (void)child_end(children[i]);
    (void)close(gate[0]);
    assert_int_equal(whole, CHILDREN);
}

static int setup(void **state)
{
    (void)state;
    return pipe(ready) == 0 ? fixture_setup(false) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sleeper_is_as_proc_has_it, test_setup),
        cmocka_unit_test_setup(threads_are_summed, test_setup),
        cmocka_unit_test_setup(ended_threads_are_counted, test_setup),
        cmocka_unit_test_setup(memory_is_what_the_page_tables_hold, test_setup),
        cmocka_unit_test_setup(io_is_as_proc_has_it, test_setup),
        cmocka_unit_test_setup(children_waited_for_are_counted_and_ignored_ones_told, test_setup),
        cmocka_unit_test_setup(zombie_keeps_its_use_and_has_no_memory, test_setup),
        cmocka_unit_test_setup(stopped_one_is_told_to_be, test_setup),
        cmocka_unit_test_setup(running_one_is_known_to_a_tick, test_setup),
        cmocka_unit_test_setup(others_are_read_only_when_everybody_is, test_setup),
        cmocka_unit_test_setup(every_record_of_many_is_whole, test_setup),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
