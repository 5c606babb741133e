/* meminfo, loadavg and stat of the machine: recorded, older, cut off anywhere, another locale. */
#include "probe/system_files.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

static size_t fixture_read(const char *path, char *text, size_t capacity)
{
    ssize_t length = file_read(AT_FDCWD, path, text, capacity);

    assert_true(length > 0);
    return (size_t)length;
}

static char *exact_copy(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static void meminfo_is_in_bytes(void **state)
{
    (void)state;
    char text[4096];
    struct meminfo memory;
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/meminfo", text, sizeof(text));

    assert_int_equal(meminfo_parse(text, length, &memory), 0);
    assert_int_equal(memory.total, 16266544ULL * 1024);
    assert_int_equal(memory.free, 9112092ULL * 1024);
    assert_true(memory.has_available);
    assert_int_equal(memory.available, 14021300ULL * 1024);
    assert_int_equal(memory.swap_total, 8388604ULL * 1024);
    assert_int_equal(memory.swap_free, 8380412ULL * 1024);
}

static void meminfo_of_this_machine_is_plausible(void **state)
{
    (void)state;
    char text[8192];
    struct meminfo memory;
    size_t length = fixture_read("/proc/meminfo", text, sizeof(text));

    assert_int_equal(meminfo_parse(text, length, &memory), 0);
    assert_true(memory.total > memory.free && memory.free > 0);
    assert_true(!memory.has_available || memory.available <= memory.total);
}

static void meminfo_without_available_says_so(void **state)
{
    (void)state;
    static const char text[] = "MemTotal:  100 kB\nMemFree:  50 kB\nSwapCached:  1 kB\nSwapTotal:  7 kB\n"
                               "SwapFree:  6 kB\n";
    struct meminfo memory;

    assert_int_equal(meminfo_parse(text, sizeof(text) - 1, &memory), 0);
    assert_false(memory.has_available);
    assert_int_equal(memory.available, 0);
    assert_int_equal(memory.swap_free, 6 * 1024);
}

static void meminfo_cut_off_is_refused_or_right(void **state)
{
    (void)state;
    char text[4096];
    size_t length = fixture_read(METRON_FIXTURES "/linux-6.18/proc/meminfo", text, sizeof(text));
    size_t whole = (size_t)(strchr(strstr(text, "SwapFree:"), '\n') - text) + 1;
    struct meminfo expected;

    assert_int_equal(meminfo_parse(text, length, &expected), 0);
    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = exact_copy(text, cut);
        struct meminfo memory;
        int status = meminfo_parse(prefix, cut, &memory);

        free(prefix);
        assert_int_equal(status, cut < whole ? -EBADMSG : 0);
        if (status == 0)
            assert_true(memory.total == expected.total && memory.available == expected.available &&
                        memory.swap_free == expected.swap_free);
    }
}

static void meminfo_value_that_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char text[] = "MemTotal:  lots kB\nMemFree:  50 kB\nSwapTotal:  7 kB\nSwapFree:  6 kB\n";
    struct meminfo memory;

    assert_int_equal(meminfo_parse(text, sizeof(text) - 1, &memory), -EBADMSG);
}

static void load_averages_are_read(void **state)
{
    (void)state;
    static const char text[] = "1.07 0.50 12.30 3/412 1300\n";
    struct loadavg load;

    assert_int_equal(loadavg_parse(text, sizeof(text) - 1, &load), 0);
    assert_true(load.load1 > 1.0699 && load.load1 < 1.0701);
    assert_true(load.load5 > 0.4999 && load.load5 < 0.5001);
    assert_true(load.load15 > 12.2999 && load.load15 < 12.3001);
}

static void load_averages_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char text[] = "1.07 0.50 12.30 3/412 1300\n";
    struct loadavg load;

    /* Where one with a decimal comma is installed it is used; the parser must not care. */
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        (void)setlocale(LC_ALL, "C.UTF-8");
    assert_int_equal(loadavg_parse(text, sizeof(text) - 1, &load), 0);
    assert_true(load.load1 > 1.0699 && load.load1 < 1.0701);
    (void)setlocale(LC_ALL, "C");
}

static void load_averages_cut_off_or_malformed_are_refused(void **state)
{
    (void)state;
    static const char text[] = "1.07 0.50 12.30 3/412 1300\n";
    static const char *const others[] = {"1,07 0,50 12,30 3/412 1300\n", "1.7 0.50 12.30 3/412 1\n",
                                         "1.x7 0.50 12.30 3/412 1\n", "nan 0.50 12.30 3/412 1\n"};
    struct loadavg load;

    for (size_t cut = 0; cut < sizeof(text); cut++) {
        char *prefix = exact_copy(text, cut);
        int status = loadavg_parse(prefix, cut, &load);

        free(prefix);
        assert_int_equal(status, cut <= strlen("1.07 0.50 12.30") ? -EBADMSG : 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(loadavg_parse(others[i], strlen(others[i]), &load), -EBADMSG);
}

static void cpu_line_and_boot_time_are_read(void **state)
{
    (void)state;
    char text[4096];
    struct system_stat stat;
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/stat", text, sizeof(text));

    assert_int_equal(system_stat_parse(text, length, &stat), 0);
    assert_int_equal(stat.user, 84211);
    assert_int_equal(stat.nice, 301);
    assert_int_equal(stat.system, 20944);
    assert_int_equal(stat.idle, 7261120);
    assert_int_equal(stat.iowait, 3912);
    assert_int_equal(stat.irq, 1203);
    assert_int_equal(stat.softirq, 988);
    assert_int_equal(stat.steal, 44);
    assert_int_equal(stat.boot_time, 1539000000);
}

static void columns_that_old_kernels_lack_are_zero(void **state)
{
    (void)state;
    static const char four[] = "cpu  10 20 30 40\nbtime 5\n";
    static const char three[] = "cpu  10 20 30\n";
    struct system_stat stat;

    assert_int_equal(system_stat_parse(four, sizeof(four) - 1, &stat), 0);
    assert_int_equal(stat.idle, 40);
    assert_int_equal(stat.iowait, 0);
    assert_int_equal(stat.boot_time, 5);
    assert_int_equal(system_stat_parse(three, sizeof(three) - 1, &stat), -EBADMSG);
}

static void stat_cut_off_keeps_a_whole_cpu_line(void **state)
{
    (void)state;
    char text[4096];
    size_t length = fixture_read(METRON_FIXTURES "/linux-4.18/proc/stat", text, sizeof(text));
    size_t first_line = (size_t)(strchr(text, '\n') - text) + 1;
    size_t boot_time = (size_t)(strchr(strstr(text, "btime"), '\n') - text) + 1;

    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = exact_copy(text, cut);
        struct system_stat stat;
        int status = system_stat_parse(prefix, cut, &stat);

        free(prefix);
        assert_int_equal(status, cut < first_line ? -EBADMSG : 0);
        if (status == 0) {
            assert_int_equal(stat.steal, 44);
            assert_int_equal(stat.boot_time, cut < boot_time ? 0 : 1539000000);
        }
    }
}

struct name_case {
    const char *text, *name; /* NULL: no name */
};

static void check_names(int (*parse)(const char *text, size_t length, char out[SYSTEM_NAME_SIZE]),
                        const struct name_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[SYSTEM_NAME_SIZE] = "";
        size_t length = strlen(cases[i].text);
        char *text = exact_copy(cases[i].text, length);

        assert_int_equal(parse(text, length, name), cases[i].name ? 0 : -EBADMSG);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        free(text);
    }
}

static void a_cpu_is_called_what_its_architecture_calls_it(void **state)
{
    static const struct name_case cases[] = {
        {"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
         "model name\t: AMD EPYC 7763 64-Core Processor  \nstepping\t: 1\n\nprocessor\t: 1\n",
         "AMD EPYC 7763 64-Core Processor"},
        {"processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
         "CPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n",
         "implementer 0x41, part 0xd0c"},
        {"processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nCPU implementer\t: 0x41\nCPU part\t: "
         "0xd03\n",
         "ARMv7 Processor rev 4 (v7l)"},
        {"processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2200.000000MHz\n\n",
         "POWER9, altivec supported"},
        {"system type\t\t: generic\nprocessor\t\t: 0\ncpu model\t\t: Loongson-3 V0.4  FPU V0.1\n\n",
         "Loongson-3 V0.4  FPU V0.1"},
        {"processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n\n", "sifive,u74-mc"},
        {"vendor_id       : IBM/S390\n# processors    : 2\n", NULL},
        {"processor\t: 0\nCPU implementer\t: 0x41\n\nCPU part\t: 0xd0c\n", NULL}, /* of another CPU */
        {"processor\t: 0\nmodel name\t: AMD EP", NULL},                           /* cut off */
        {"processor\t: 0\nmodel name\t: \n\n", NULL},
        {"model name", NULL},
        {"", NULL},
    };

    (void)state;
    check_names(cpuinfo_parse, cases, sizeof(cases) / sizeof(cases[0]));
}

static void a_long_name_is_cut(void **state)
{
    char text[512] = "model name\t: ", name[SYSTEM_NAME_SIZE];

    (void)state;
    memset(text + strlen(text), 'x', 400);
    strcat(text, "\n");
    assert_int_equal(cpuinfo_parse(text, strlen(text), name), 0);
    assert_int_equal(strlen(name), SYSTEM_NAME_SIZE - 1);
    memcpy(text, "PRETTY_NAME=", 12);
    assert_int_equal(os_release_parse(text, strlen(text), name), 0);
    assert_int_equal(strlen(name), SYSTEM_NAME_SIZE - 1);
}

static void the_name_of_an_os_is_read_as_a_shell_does(void **state)
{
    static const struct name_case cases[] = {
        {"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n",
         "Debian GNU/Linux 12 (bookworm)"},
        {"# a comment\n\nNAME=Fedora\nPRETTY_NAME='Fedora Linux 40'", "Fedora Linux 40"}, /* no end of line */
        {"PRETTY_NAME=Alpine\n", "Alpine"},
        {"PRETTY_NAME=\"a \\\"b\\\" \\$c \\\\\"\n", "a \"b\" $c \\"},
        {"PRETTY_NAME='a \\b'\n", "a \\b"},
        {"PRETTY_NAME=\"never closed\nNAME=x\n", "never closed"},
        {"PRETTY_NAME=\"\"\n", NULL},
        {"PRETTY_NAME=\n", NULL},
        {"PRETTY_NAME=", NULL},
        {"MY_PRETTY_NAME=x\nNAME=y\n", NULL},
        {"", NULL},
    };

    (void)state;
    check_names(os_release_parse, cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_is_called_what_its_architecture_calls_it),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(the_name_of_an_os_is_read_as_a_shell_does),
        cmocka_unit_test(meminfo_is_in_bytes),
        cmocka_unit_test(meminfo_of_this_machine_is_plausible),
        cmocka_unit_test(meminfo_without_available_says_so),
        cmocka_unit_test(meminfo_cut_off_is_refused_or_right),
        cmocka_unit_test(meminfo_value_that_is_no_number_is_refused),
        cmocka_unit_test(load_averages_are_read),
        cmocka_unit_test(load_averages_do_not_depend_on_the_locale),
        cmocka_unit_test(load_averages_cut_off_or_malformed_are_refused),
        cmocka_unit_test(cpu_line_and_boot_time_are_read),
        cmocka_unit_test(columns_that_old_kernels_lack_are_zero),
        cmocka_unit_test(stat_cut_off_keeps_a_whole_cpu_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
