/* Facts about the machine: against other ways to the same number, and from recorded trees. */
#include "probe/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void facts_of_this_machine_agree_with_the_c_library(void **state)
{
    (void)state;
    struct kernel_facts facts;
    struct utsname names;
    struct sysinfo info;

    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_int_equal(uname(&names), 0);
    assert_int_equal(sysinfo(&info), 0);
    assert_true(facts.live);
    assert_int_equal(facts.page_bytes, getpagesize());
    assert_int_equal(facts.ticks_per_second, sysconf(_SC_CLK_TCK));
    assert_int_equal(facts.online_cpus, get_nprocs());
    assert_string_equal(facts.release, names.release);
    assert_string_equal(facts.hostname, names.nodename);
    assert_int_equal(strlen(facts.boot_id), 36);
    assert_true(facts.pid_max > getpid());
    assert_int_equal(facts.memory_bytes / 1024, (uint64_t)info.totalram * info.mem_unit / 1024);
}

static void usable_cpus_follow_the_affinity(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();

    if (child == 0) {
        struct kernel_facts facts;
        cpu_set_t set, one;
        size_t cpu = 0;

        if (sched_getaffinity(0, sizeof(set), &set) < 0)
            _exit(77); /* more CPUs than a cpu_set_t holds */
        if (kernel_facts_read("/proc", &facts) < 0 || facts.usable_cpus != (unsigned)CPU_COUNT(&set))
            _exit(1);
        while (!CPU_ISSET(cpu, &set))
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) < 0)
            _exit(77);
        if (kernel_facts_read("/proc", &facts) < 0 || facts.usable_cpus != 1)
            _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip %s: the affinity cannot be changed here\n", __func__);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The truth is told by opening descriptors: does the size follow? */
static void descriptor_count_in_size_is_what_it_says(void **state)
{
    (void)state;
    struct kernel_facts facts;
    struct stat before, after;
    int fds[5];

    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_int_equal(stat("/proc/self/fd", &before), 0);
    for (size_t i = 0; i < 5; i++)
        fds[i] = open("/dev/null", O_RDONLY);
    assert_int_equal(stat("/proc/self/fd", &after), 0);
    for (size_t i = 0; i < 5; i++)
        close(fds[i]);
    assert_int_equal(facts.fd_count_in_size, after.st_size == before.st_size + 5);
}

static void children_files_are_found_where_they_are(void **state)
{
    (void)state;
    struct kernel_facts facts;

    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_int_equal(facts.has_children_files, access("/proc/thread-self/children", R_OK) == 0);
}

static void recorded_tree_has_its_own_facts(void **state)
{
    (void)state;
    struct kernel_facts facts;

    assert_int_equal(kernel_facts_read(METRON_FIXTURES "/linux-4.18/proc", &facts), 0);
    assert_false(facts.live);
    assert_false(facts.fd_count_in_size);
    assert_true(facts.has_children_files);
    assert_string_equal(facts.release, "4.18.0-553.el8_10.x86_64");
    assert_string_equal(facts.hostname, "oldhost");
    assert_string_equal(facts.boot_id, "11111111-2222-3333-4444-555555555555");
    assert_int_equal(facts.pid_max, 32768);
    assert_int_equal(facts.memory_bytes, 16266544ULL * 1024);
}

static void trailing_slash_is_the_same_folder(void **state)
{
    (void)state;
    struct kernel_facts facts;

    assert_int_equal(kernel_facts_read("/proc/", &facts), 0);
    assert_true(facts.live);
}

static void empty_folder_leaves_facts_unknown(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_kernel_XXXXXX";
    struct kernel_facts facts;

    assert_non_null(mkdtemp(folder));
    assert_int_equal(kernel_facts_read(folder, &facts), 0);
    rmdir(folder);
    assert_false(facts.live || facts.has_children_files || facts.fd_count_in_size);
    assert_int_equal(facts.pid_max, 0);
    assert_int_equal(facts.memory_bytes, 0);
    assert_string_equal(facts.boot_id, "");
    assert_string_equal(facts.hostname, "");
    assert_true(facts.usable_cpus >= 1 && facts.page_bytes >= 4096);
}

static void missing_folder_is_an_error(void **state)
{
    (void)state;
    struct kernel_facts facts;

    assert_int_equal(kernel_facts_read(METRON_FIXTURES "/no-such-folder", &facts), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_this_machine_agree_with_the_c_library),
        cmocka_unit_test(usable_cpus_follow_the_affinity),
        cmocka_unit_test(descriptor_count_in_size_is_what_it_says),
        cmocka_unit_test(children_files_are_found_where_they_are),
        cmocka_unit_test(recorded_tree_has_its_own_facts),
        cmocka_unit_test(trailing_slash_is_the_same_folder),
        cmocka_unit_test(empty_folder_leaves_facts_unknown),
        cmocka_unit_test(missing_folder_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
