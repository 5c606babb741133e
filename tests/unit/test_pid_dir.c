/*
 * The files of one process: recorded trees, kept and unkept descriptors, no descriptors left, processes that
 * end, threads that fork, listings longer than a page; and the scan of all processes.
 */
#include "probe/pid/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/numbers_dir.h"
#include "probe/pid/stat.h"
#include "probe/proc_scan.h"

#define NEWER METRON_FIXTURES "/linux-6.18/proc"
#define OLDER METRON_FIXTURES "/linux-4.18/proc"

static struct pid_reader reader_of(const char *root, int kept_descriptors)
{
    struct kernel_facts facts;
    struct pid_reader reader;

    assert_int_equal(kernel_facts_read(root, &facts), 0);
    assert_int_equal(pid_reader_init(&reader, root, &facts, kept_descriptors), 0);
    return reader;
}

enum { SEEN_MAX = 65536 }; /* more than a busy machine has */

struct seen {
    pid_t pids[SEEN_MAX];
    int count;
};

static void remember(void *context, pid_t pid)
{
    struct seen *seen = context;

    assert_true(seen->count < SEEN_MAX);
    seen->pids[seen->count++] = pid;
}

static bool was_seen(const struct seen *seen, pid_t pid)
{
    for (int i = 0; i < seen->count; i++)
        if (seen->pids[i] == pid)
            return true;
    return false;
}

/* A child that waits to be killed. */
static pid_t child_start(void)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(child > 0);
    return child;
}

static void child_end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void recorded_process_is_read(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 10);
    struct pid_dir dir;
    struct pid_stat stat;
    struct pid_status status;
    uint64_t number = 0;
    char text[PID_STAT_SIZE];
    ssize_t length;

    pid_dir_init(&dir, 19135);
    length = pid_dir_read(&dir, &reader, PID_FILE_STAT, false, text, sizeof(text));
    assert_true(length > 0);
    assert_int_equal(pid_stat_parse(text, (size_t)length, &stat), 0);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &number), 0);
    assert_int_equal(number, 3);
    assert_int_equal(pid_dir_open_file_limit(&dir, &reader, &number), 0);
    assert_int_equal(number, 20000);
    assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_CMDLINE, false, text, sizeof(text)), 11);
    assert_string_equal(text, "./subjects");
    assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_CMDLINE, false, text, 3), 3);

    assert_int_equal(pid_dir_status(&dir, &reader, 1, true, &status), 0);
    assert_int_equal(status.hwm_bytes, 1608 * 1024);
    assert_int_equal(status.voluntary_switches, 5);
    pid_dir_close(&dir, &reader);
    assert_int_equal(reader.budget.left, 10);

    pid_dir_init(&dir, 19139);
    assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_CMDLINE, false, text, sizeof(text)), 0);
    assert_int_equal(pid_dir_count_fds(&dir, &reader, false, &number), 0);
    assert_int_equal(number, 0);
    pid_reader_fini(&reader);
}

static void older_kernel_is_read(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(OLDER, 10);
    struct pid_dir dir;
    struct pid_status status;
    struct seen seen = {.count = 0};
    uint64_t limit = 0;

    pid_dir_init(&dir, 1200);
    assert_int_equal(pid_dir_status(&dir, &reader, 1, true, &status), 0);
    assert_int_equal(status.involuntary_switches, 64);
    assert_int_equal(pid_dir_open_file_limit(&dir, &reader, &limit), 0);
    assert_int_equal(limit, 1024);
    assert_int_equal(pid_dir_children(&dir, &reader, 1, true, remember, &seen), 1);
    assert_int_equal(seen.pids[0], 1300);
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

static void switches_and_children_of_all_threads_count(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 10);
    struct pid_dir dir;
    struct pid_status status;
    struct seen first = {.count = 0}, all = {.count = 0};

    pid_dir_init(&dir, 19135);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(pid_dir_status(&dir, &reader, 3, round > 0, &status), 0);
        assert_int_equal(status.voluntary_switches, 17);
        assert_int_equal(status.involuntary_switches, 13);
        assert_int_equal(status.hwm_bytes, 1608 * 1024);
    }
    assert_int_equal(pid_dir_children(&dir, &reader, 1, true, remember, &first), 2);
    assert_int_equal(pid_dir_children(&dir, &reader, 3, true, remember, &all), 3);
    assert_true(was_seen(&all, 19138) && was_seen(&all, 19139) && was_seen(&all, 19142));
    assert_false(was_seen(&first, 19142));
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

static void missing_process_is_gone(void **state)
{
    (void)state;
    static const char *const roots[] = {NEWER, "/proc"};

    for (size_t i = 0; i < 2; i++) {
        struct pid_reader reader = reader_of(roots[i], 10);
        struct pid_dir dir;
        struct pid_status status;
        struct seen seen = {.count = 0};
        uint64_t number;
        char text[64];

        pid_dir_init(&dir, 0x1FFFFFF); /* past any pid_max */
        assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text)), -ESRCH);
        assert_int_equal(pid_dir_status(&dir, &reader, 5, true, &status), -ESRCH);
        assert_int_equal(pid_dir_count_fds(&dir, &reader, false, &number), -ESRCH);
        assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &number), -ESRCH);
        assert_int_equal(pid_dir_open_file_limit(&dir, &reader, &number), -ESRCH);
        assert_int_equal(pid_dir_children(&dir, &reader, 1, true, remember, &seen), -ESRCH);
        assert_int_equal(pid_dir_children(&dir, &reader, 2, true, remember, &seen), -ESRCH);
        assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_CMDLINE, false, text, sizeof(text)), -ESRCH);
        assert_int_equal(reader.budget.left, 10);
        pid_dir_close(&dir, &reader);
        pid_reader_fini(&reader);
    }
}

static void kept_descriptor_knows_that_its_process_is_gone(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 20);
    struct pid_dir dir;
    struct pid_status status;
    struct seen seen = {.count = 0};
    uint64_t number;
    char text[PID_STAT_SIZE];
    pid_t child = child_start();

    pid_dir_init(&dir, child);
    assert_true(pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text)) > 0);
    assert_true(pid_dir_read(&dir, &reader, PID_FILE_STATM, true, text, sizeof(text)) > 0);
    assert_int_equal(pid_dir_status(&dir, &reader, 1, true, &status), 0);
    assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &number), 0);
    assert_int_equal(pid_dir_children(&dir, &reader, 1, true, remember, &seen), 0);
    assert_int_equal(reader.budget.left, 15);
    child_end(child);
    assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text)), -ESRCH);
    assert_int_equal(pid_dir_read(&dir, &reader, PID_FILE_STATM, true, text, sizeof(text)), -ESRCH);
    assert_int_equal(pid_dir_status(&dir, &reader, 1, true, &status), -ESRCH);
    assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &number), -ESRCH);
    pid_dir_close(&dir, &reader);
    assert_int_equal(reader.budget.left, 20);
    pid_dir_close(&dir, &reader);
    assert_int_equal(reader.budget.left, 20);
    pid_reader_fini(&reader);
    pid_reader_fini(&reader);
}

static void kept_descriptor_reads_anew_each_time(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 5);
    struct pid_dir dir;
    struct pid_stat stat;
    char text[PID_STAT_SIZE];

    pid_dir_init(&dir, getpid());
    for (int round = 0; round < 3; round++) {
        const char name[] = {'r', ')', ' ', '(', (char)('0' + round), '\0'};
        ssize_t length;

        assert_int_equal(prctl(PR_SET_NAME, name), 0);
        length = pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text));
        assert_true(length > 0);
        assert_int_equal(pid_stat_parse(text, (size_t)length, &stat), 0);
        assert_string_equal(stat.comm, name);
        assert_int_equal(reader.budget.left, 4);
    }
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

static void nothing_is_kept_when_not_asked_or_not_allowed(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 1);
    struct pid_dir dir;
    char text[PID_STAT_SIZE];

    pid_dir_init(&dir, getpid());
    assert_true(pid_dir_read(&dir, &reader, PID_FILE_STAT, false, text, sizeof(text)) > 0);
    assert_int_equal(reader.budget.left, 1);
    assert_int_equal(dir.kept[PID_FILE_STAT], -1);
    assert_true(pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text)) > 0);
    assert_int_equal(reader.budget.left, 0);
    assert_true(pid_dir_read(&dir, &reader, PID_FILE_STATM, true, text, sizeof(text)) > 0);
    assert_int_equal(reader.budget.left, 0);
    assert_int_equal(dir.kept[PID_FILE_STATM], -1);
    pid_dir_close(&dir, &reader);
    assert_int_equal(reader.budget.left, 1);
    pid_reader_fini(&reader);
}

/* With every descriptor of the program in use, each kind of reading still works. */
static void reading_goes_on_without_free_descriptors(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 1000);
    struct rlimit limit, low;
    struct pid_dir dir;
    struct pid_status status;
    struct seen seen = {.count = 0};
    uint64_t number = 0;
    char text[PID_STAT_SIZE];
    int next = dup(0), scanned;

    assert_true(next >= 0);
    close(next); /* the lowest free one: no more than those below it */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(dup(0), -1);

    pid_dir_init(&dir, getpid());
    for (int round = 0; round < 3; round++) {
        assert_true(pid_dir_read(&dir, &reader, PID_FILE_STAT, true, text, sizeof(text)) > 0);
        assert_true(pid_dir_read(&dir, &reader, PID_FILE_STATM, true, text, sizeof(text)) > 0);
        assert_int_equal(pid_dir_status(&dir, &reader, 2, true, &status), 0);
        assert_int_equal(pid_dir_count_fds(&dir, &reader, true, &number), 0);
        assert_true(pid_dir_children(&dir, &reader, 2, true, remember, &seen) >= 0);
        scanned = proc_scan(&reader, remember, &seen);
        assert_true(scanned > 0);
        assert_int_equal(reader.budget.left, 0);
        assert_true(reader.reserve_fd >= 0);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

static void descriptors_are_counted_both_ways(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 10);
    bool ways[] = {reader.fd_count_in_size, false};

    for (size_t i = 0; i < 2; i++) {
        struct pid_dir dir;
        uint64_t before = 0, after = 0;
        int fds[7];

        reader.fd_count_in_size = ways[i];
        pid_dir_init(&dir, getpid());
        for (int round = 0; round < 2; round++) { /* not kept, then kept */
            assert_int_equal(pid_dir_count_fds(&dir, &reader, round > 0, &before), 0);
            for (size_t fd = 0; fd < 7; fd++)
                fds[fd] = open("/dev/null", O_RDONLY);
            assert_int_equal(pid_dir_count_fds(&dir, &reader, round > 0, &after), 0);
            for (size_t fd = 0; fd < 7; fd++)
                close(fds[fd]);
            assert_int_equal(after, before + 7);
        }
        pid_dir_close(&dir, &reader);
    }
    pid_reader_fini(&reader);
}

static void open_file_limit_is_the_process_own(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 0);
    struct pid_dir dir;
    struct rlimit limit = {.rlim_cur = 123, .rlim_max = 456};
    uint64_t number = 0;
    pid_t child = child_start();

    assert_int_equal(prlimit(child, RLIMIT_NOFILE, &limit, NULL), 0);
    pid_dir_init(&dir, child);
    assert_int_equal(pid_dir_open_file_limit(&dir, &reader, &number), 0);
    assert_int_equal(number, 123);
    reader.live = false; /* the file says the same */
    number = 0;
    assert_int_equal(pid_dir_open_file_limit(&dir, &reader, &number), 0);
    assert_int_equal(number, 123);
    child_end(child);
    pid_reader_fini(&reader);
}

static pthread_barrier_t barrier;
static pid_t thread_child;

static void *forking_thread(void *unused)
{
    thread_child = child_start();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

static void child_of_a_thread_is_found(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of("/proc", 10);
    struct pid_dir dir;
    struct seen seen = {.count = 0};
    struct pid_status first, all;
    pthread_t thread;
    int found;

    if (!reader.has_children_files) {
        pid_reader_fini(&reader);
        print_message("skip %s: the kernel lacks CONFIG_PROC_CHILDREN\n", __func__);
        skip();
    }
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, forking_thread, NULL), 0);
    pthread_barrier_wait(&barrier);
    pid_dir_init(&dir, getpid());
    found = pid_dir_children(&dir, &reader, 2, true, remember, &seen);
    assert_int_equal(pid_dir_status(&dir, &reader, 1, true, &first), 0);
    assert_int_equal(pid_dir_status(&dir, &reader, 2, true, &all), 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_true(found >= 1);
    assert_true(was_seen(&seen, thread_child));
    /* The thread went to sleep at the barrier at least once. */
    assert_true(all.voluntary_switches + all.involuntary_switches >
                first.voluntary_switches + first.involuntary_switches);
    kill(thread_child, SIGKILL);
    waitpid(thread_child, NULL, 0);
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

/* The kernel gives a listing page by page. */
static void listing_longer_than_a_page_is_read_whole(void **state)
{
    (void)state;
    enum { CHILDREN = 1000 };
    struct pid_reader reader = reader_of("/proc", 10);
    struct pid_dir dir;
    struct seen seen = {.count = 0};
    static pid_t children[CHILDREN];
    int found;

    if (!reader.has_children_files) {
        pid_reader_fini(&reader);
        print_message("skip %s: the kernel lacks CONFIG_PROC_CHILDREN\n", __func__);
        skip();
    }
    for (int i = 0; i < CHILDREN; i++)
        children[i] = child_start();
    pid_dir_init(&dir, getpid());
    found = pid_dir_children(&dir, &reader, 1, true, remember, &seen);
    for (int i = 0; i < CHILDREN; i++)
        kill(children[i], SIGKILL);
    for (int i = 0; i < CHILDREN; i++)
        waitpid(children[i], NULL, 0);
    assert_int_equal(found, seen.count);
    for (int i = 0; i < CHILDREN; i++)
        assert_true(was_seen(&seen, children[i]));
    assert_int_equal(found, 2 * CHILDREN); /* took more than one read: repeated */
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

struct walk {
    struct pid_reader *reader;
    struct seen seen;
};

static void walk_down(void *context, pid_t pid)
{
    struct walk *walk = context;
    struct pid_dir dir;
    struct pid_status status;

    remember(&walk->seen, pid);
    pid_dir_init(&dir, pid);
    assert_int_equal(pid_dir_status(&dir, walk->reader, 3, false, &status), 0);
    assert_true(pid_dir_children(&dir, walk->reader, pid == 19135 ? 3 : 1, false, walk_down, walk) >= 0);
    pid_dir_close(&dir, walk->reader);
}

static void visitor_may_read_other_processes(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 0);
    struct walk walk = {.reader = &reader, .seen = {.count = 0}};

    walk_down(&walk, 19135);
    assert_int_equal(walk.seen.count, 4);
    assert_true(was_seen(&walk.seen, 19138) && was_seen(&walk.seen, 19139) && was_seen(&walk.seen, 19142));
    pid_reader_fini(&reader);
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 10);
    struct pid_scratch first = {0};
    struct pid_dir dir;

    pid_dir_init(&dir, 19135);
    for (int round = 0; round < 5; round++) {
        struct seen seen = {.count = 0};
        struct pid_status status;

        assert_int_equal(pid_dir_status(&dir, &reader, 3, true, &status), 0);
        assert_int_equal(pid_dir_children(&dir, &reader, 3, true, remember, &seen), 3);
        if (round == 0)
            first = reader.scratch;
        assert_memory_equal(&reader.scratch, &first, sizeof(first));
    }
    pid_dir_close(&dir, &reader);
    pid_reader_fini(&reader);
}

static void kernel_without_children_files_says_so(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 0);
    struct pid_dir dir;
    struct seen seen = {.count = 0};

    reader.has_children_files = false;
    pid_dir_init(&dir, 19135);
    assert_int_equal(pid_dir_children(&dir, &reader, 3, false, remember, &seen), -EOPNOTSUPP);
    pid_reader_fini(&reader);
}

static void scan_finds_every_process(void **state)
{
    (void)state;
    struct pid_reader reader = reader_of(NEWER, 0);
    struct seen recorded = {.count = 0}, live = {.count = 0};
    pid_t child = child_start();
    int found;

    assert_int_equal(proc_scan(&reader, remember, &recorded), 5);
    assert_true(was_seen(&recorded, 2) && was_seen(&recorded, 19142));
    pid_reader_fini(&reader);

    reader = reader_of("/proc", 0);
    found = proc_scan(&reader, remember, &live);
    assert_int_equal(found, live.count);
    assert_true(was_seen(&live, getpid()) && was_seen(&live, child));
    for (int i = 1; i < live.count; i++)
        assert_true(live.pids[i] > live.pids[i - 1]);
    child_end(child);
    pid_reader_fini(&reader);
}

static void names_that_are_no_pids_are_passed_over(void **state)
{
    (void)state;
    static const char *const names[] = {
        "7", "2147483647", "2147483648", "4294967303", "18446744073709551623", "12x", "x12", "-7", "self"};
    char folder[] = "/tmp/metron-numbers-XXXXXX";
    struct seen seen = {0};

    assert_non_null(mkdtemp(folder));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(mkdirat(fd, names[i], 0700), 0);
    int counted = numbers_dir_visit(fd, NULL, NULL), visited = numbers_dir_visit(fd, remember, &seen);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlinkat(fd, names[i], AT_REMOVEDIR);
    (void)close(fd);
    (void)rmdir(folder);
    assert_int_equal(counted, 2);
    assert_int_equal(visited, 2);
    assert_true(seen.count == 2 && was_seen(&seen, 7) && was_seen(&seen, INT_MAX));
}

static void reader_of_no_folder_is_an_error(void **state)
{
    (void)state;
    struct pid_reader reader;
    const struct kernel_facts facts = {.live = false};

    assert_int_equal(pid_reader_init(&reader, NEWER "/no-such-folder", &facts, 1), -ENOENT);
    pid_reader_fini(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_process_is_read),
        cmocka_unit_test(older_kernel_is_read),
        cmocka_unit_test(switches_and_children_of_all_threads_count),
        cmocka_unit_test(missing_process_is_gone),
        cmocka_unit_test(kept_descriptor_knows_that_its_process_is_gone),
        cmocka_unit_test(kept_descriptor_reads_anew_each_time),
        cmocka_unit_test(nothing_is_kept_when_not_asked_or_not_allowed),
        cmocka_unit_test(reading_goes_on_without_free_descriptors),
        cmocka_unit_test(descriptors_are_counted_both_ways),
        cmocka_unit_test(open_file_limit_is_the_process_own),
        cmocka_unit_test(child_of_a_thread_is_found),
        cmocka_unit_test(listing_longer_than_a_page_is_read_whole),
        cmocka_unit_test(visitor_may_read_other_processes),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(kernel_without_children_files_says_so),
        cmocka_unit_test(scan_finds_every_process),
        cmocka_unit_test(names_that_are_no_pids_are_passed_over),
        cmocka_unit_test(reader_of_no_folder_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
