/*
 * What reading 1,000 processes in one go costs, in system calls: one read for more than a hundred of them,
 * where their files take one each and more. `scripts/bench sample` has the time.
 */
#include <fcntl.h>

#include "bpf_fixture.h"

enum { PROCESSES = 1000, READ_AT_ONCE = 100, PASSES = 3 };

static void start_crowd(pid_t pids[PROCESSES], const int gate[2])
{
    char byte;

    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            (void)close(gate[1]);
            (void)!read(gate[0], &byte, 1);
            _exit(0);
        }
    }
}

/* How many times this process has called read(); UINT64_MAX where the kernel does not count. */
static uint64_t reads_so_far(void)
{
    char text[512];
    unsigned long long reads;
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "syscr: ");
    return line && sscanf(line, "syscr: %llu", &reads) == 1 ? reads : UINT64_MAX;
}

static void one_read_is_of_a_hundred_processes(void **state)
{
    (void)state;
    needs_programs();
    static pid_t pids[PROCESSES];
    const struct wire_task *tasks;
    int gate[2];

    if (reads_so_far() == UINT64_MAX) {
        print_message("skip: this kernel does not count the calls of a process (/proc/self/io)\n");
        skip();
    }
    assert_int_equal(pipe(gate), 0);
    start_crowd(pids, gate);
    const uint64_t before = reads_so_far();
    for (int i = 0; i < PASSES; i++)
        assert_int_equal(bpf_programs_read_tasks(fixture.programs, false, &tasks), PROCESSES);
    const uint64_t reads = reads_so_far() - before;
    (void)close(gate[1]);
    for (int i = 0; i < PROCESSES; i++)
        (void)child_end(pids[i]);
    (void)close(gate[0]);
    print_message("%d processes, %d times: %d reads\n", PROCESSES, PASSES, (int)reads);
    assert_in_range(reads, 1, PASSES * PROCESSES / READ_AT_ONCE);
}

static int setup(void **state)
{
    (void)state;
    return fixture_setup(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_read_is_of_a_hundred_processes, test_setup),
    };

    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
