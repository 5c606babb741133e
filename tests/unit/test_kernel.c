/* Facts about the machine: against other ways to the same number, and from recorded trees. */
#include "probe/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

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
    assert_string_equal(facts.architecture, names.machine);
    assert_int_equal(strlen(facts.boot_id), 36);
    assert_true(facts.pid_max > getpid());
    assert_int_equal(facts.memory_bytes / 1024, (uint64_t)info.totalram * info.mem_unit / 1024);
}

/* However it is found out: as the kernel calls it. */
static void the_model_of_the_cpu_is_what_cpuinfo_says(void **state)
{
    (void)state;
    char text[4096], name[SYSTEM_NAME_SIZE] = "";
    struct kernel_facts facts;
    ssize_t length = file_read(AT_FDCWD, "/proc/cpuinfo", text, sizeof(text));

    if (length == -E2BIG)
        length = sizeof(text) - 1;
    if (length > 0 && cpuinfo_parse(text, (size_t)length, name) < 0)
        name[0] = '\0';
    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_string_equal(facts.cpu_model, name);
}

static void the_os_is_what_a_shell_reads_in_os_release(void **state)
{
    (void)state;
    static const char script[] = "[ -e /etc/os-release ] && . /etc/os-release || . /usr/lib/os-release\n"
                                 "printf %s \"$PRETTY_NAME\"";
    char name[SYSTEM_NAME_SIZE] = "";
    struct kernel_facts facts;
    FILE *shell = popen(script, "r");

    assert_non_null(shell);
    (void)fread(name, 1, sizeof(name) - 1, shell);
    (void)pclose(shell);
    assert_int_equal(kernel_facts_read("/proc", &facts), 0);
    assert_string_equal(facts.os_name, name);
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

/* A /proc with a setting and a first process that waited for its disk so long; NULL: no such file. */
static bool counts_delays(const char *setting, const char *blocked_ticks)
{
    static const char *const folders[] = {"sys", "sys/kernel", "1"};
    char root[] = "/tmp/test_kernel_XXXXXX", path[128], text[512];
    struct kernel_facts facts;

    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/sys/kernel/task_delayacct", root);
    if (setting)
        assert_int_equal(file_replace(AT_FDCWD, path, setting, strlen(setting), 0600), 0);
    (void)snprintf(text, sizeof(text),
                   "1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9 4096 11 25 26 27 28 29 "
                   "30 31 32 0 34 35 36 37 17 39 40 41 %s 43\n",
                   blocked_ticks ? blocked_ticks : "");
    (void)snprintf(path, sizeof(path), "%s/1/stat", root);
    if (blocked_ticks)
        assert_int_equal(file_replace(AT_FDCWD, path, text, strlen(text), 0600), 0);
    assert_int_equal(kernel_facts_read(root, &facts), 0);
    (void)snprintf(text, sizeof(text), "rm -rf '%s'", root);
    assert_int_equal(system(text), 0);
    return facts.delay_accounting;
}

static void delays_are_counted_where_the_setting_says_so(void **state)
{
    (void)state;
    assert_true(counts_delays("1\n", NULL));
    assert_true(counts_delays("1\n", "0"));
    assert_false(counts_delays("0\n", NULL));
    assert_false(counts_delays("0\n", "500")); /* it was on for a while; new tasks count nothing */
}

static void before_there_was_a_setting_the_first_process_tells(void **state)
{
    (void)state;
    assert_true(counts_delays(NULL, "500"));
    assert_false(counts_delays(NULL, "0"));
    assert_false(counts_delays(NULL, NULL));
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
    /* that has neither of the files, and what this machine runs is no fact about it */
    assert_string_equal(facts.architecture, "");
    assert_string_equal(facts.cpu_model, "");
    assert_string_equal(facts.os_name, "");
    assert_int_equal(kernel_facts_read(METRON_FIXTURES "/linux-6.18/proc", &facts), 0);
    assert_string_equal(facts.architecture, "x86_64");
    assert_string_equal(facts.cpu_model, "AMD EPYC");
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
    assert_false(facts.live || facts.has_children_files || facts.fd_count_in_size || facts.delay_accounting);
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
        cmocka_unit_test(the_model_of_the_cpu_is_what_cpuinfo_says),
        cmocka_unit_test(the_os_is_what_a_shell_reads_in_os_release),
        cmocka_unit_test(usable_cpus_follow_the_affinity),
        cmocka_unit_test(descriptor_count_in_size_is_what_it_says),
        cmocka_unit_test(children_files_are_found_where_they_are),
        cmocka_unit_test(delays_are_counted_where_the_setting_says_so),
        cmocka_unit_test(before_there_was_a_setting_the_first_process_tells),
        cmocka_unit_test(recorded_tree_has_its_own_facts),
        cmocka_unit_test(trailing_slash_is_the_same_folder),
        cmocka_unit_test(empty_folder_leaves_facts_unknown),
        cmocka_unit_test(missing_folder_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
