/* The files of cgroups: recorded layouts, cut off anywhere, hostile, and what kernels are known to get wrong.
 */
#include "probe/cgroup/files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "probe/cgroup/group.h"

#define LAYOUTS METRON_FIXTURES "/cgroup/"
#define SCOPE   "v2-6.12/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f2.scope/"
#define TASK    "v1-batch/sys/fs/cgroup/memory/slurm/uid_1000/job_42/step_0/task_0/"

static size_t fixture_read(const char *path, char *text, size_t capacity)
{
    char whole[512];
    ssize_t length;

    (void)snprintf(whole, sizeof(whole), "%s%s", LAYOUTS, path);
    length = file_read(AT_FDCWD, whole, text, capacity);
    assert_true(length > 0);
    return (size_t)length;
}

/* Of exactly its size, so that a sanitiser sees a read of one byte too many. */
static char *exact_copy(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

/* What was visited, as one line of text each. */
struct visits {
    char text[8192];
    size_t length;
};

static void note_membership(void *context, const struct cgroup_membership *line)
{
    struct visits *visits = context;

    visits->length += (size_t)snprintf(visits->text + visits->length, sizeof(visits->text) - visits->length,
                                       "%u|%.*s|%.*s\n", line->hierarchy, (int)line->controllers_length,
                                       line->controllers, (int)line->path_length, line->path);
    assert_true(visits->length < sizeof(visits->text));
}

static void note_mount(void *context, const struct cgroup_mount *mount)
{
    struct visits *visits = context;

    visits->length +=
        (size_t)snprintf(visits->text + visits->length, sizeof(visits->text) - visits->length,
                         "%d|%s|%s|%s\n", mount->version, mount->root, mount->point, mount->options);
    assert_true(visits->length < sizeof(visits->text));
}

static int membership(const char *text, size_t length, struct visits *visits)
{
    char *copy = exact_copy(text, length);
    int status;

    memset(visits, 0, sizeof(*visits));
    status = cgroup_membership_parse(copy, length, note_membership, visits);
    free(copy);
    return status;
}

static int mounts(const char *text, size_t length, struct visits *visits)
{
    char *copy = exact_copy(text, length);
    int status;

    memset(visits, 0, sizeof(*visits));
    status = cgroup_mounts_parse(copy, length, note_mount, visits);
    free(copy);
    return status;
}

static void membership_of_a_hybrid_host_has_all_hierarchies(void **state)
{
    (void)state;
    char text[4096];
    struct visits visits;
    size_t length = fixture_read("hybrid-6.18/proc/self/cgroup", text, sizeof(text));

    assert_int_equal(membership(text, length, &visits), 10);
    assert_string_equal(visits.text, "9|name=systemd|/\n8|pids|/\n7|blkio|/\n6|freezer|/\n5|devices|/\n"
                                     "4|memory|/jobs/55d64081\n3|cpuset|/\n2|cpuacct|/\n1|cpu|/\n0||/\n");
}

static void membership_path_may_hold_colons_and_spaces(void **state)
{
    (void)state;
    char text[4096];
    struct visits visits;
    size_t length = fixture_read("escapes/proc/self/cgroup", text, sizeof(text));

    assert_int_equal(membership(text, length, &visits), 1);
    assert_string_equal(visits.text, "0||/my jobs/night shift: 2\n");
}

static void membership_cut_off_never_names_another_group(void **state)
{
    (void)state;
    char text[4096];
    struct visits whole, visits;
    size_t length = fixture_read("v1-batch/proc/self/cgroup", text, sizeof(text));

    assert_int_equal(membership(text, length, &whole), 12);
    for (size_t cut = 0; cut < length; cut++) {
        int status = membership(text, cut, &visits);

        if (cut > 0 && text[cut - 1] != '\n')
            assert_int_equal(status, -EBADMSG);
        /* The lines before the cut are whole. */
        assert_memory_equal(visits.text, whole.text, visits.length);
        assert_true(visits.length == 0 || visits.text[visits.length - 1] == '\n');
    }
}

static void membership_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"\n",         "0:/\n",        "0::\n", "0::user\n",
                                        "x::/\n",     ":memory:/\n",  "0\n",   "99999999999:cpu:/\n",
                                        "-1:cpu:/\n", "4 memory /a\n"};
    static const char with_nul[] = "0::/a\0b\n";
    struct visits visits;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(membership(texts[i], strlen(texts[i]), &visits), -EBADMSG);
        assert_int_equal(visits.length, 0);
    }
    assert_int_equal(membership(with_nul, sizeof(with_nul) - 1, &visits), -EBADMSG);
    assert_int_equal(membership("", 0, &visits), 0);
}

static void mounts_of_other_file_systems_are_passed_over(void **state)
{
    (void)state;
    char text[4096];
    struct visits visits;
    size_t length = fixture_read("v2-6.12/proc/self/mountinfo", text, sizeof(text));

    assert_int_equal(mounts(text, length, &visits), 1);
    assert_string_equal(visits.text, "2|/|/sys/fs/cgroup|rw,nsdelegate,memory_recursiveprot\n");
}

static void mounts_with_escapes_and_an_empty_source_are_read(void **state)
{
    (void)state;
    char text[4096];
    struct visits visits;
    size_t length = fixture_read("escapes/proc/self/mountinfo", text, sizeof(text));

    assert_int_equal(mounts(text, length, &visits), 2);
    assert_string_equal(visits.text, "2|/my jobs|/mnt/control groups|rw\n2|/my jobs/night|/mnt/other|rw\n");
}

static void mounts_of_a_container_show_their_roots(void **state)
{
    (void)state;
    char text[4096];
    struct visits visits;
    size_t length = fixture_read("container-v1/proc/self/mountinfo", text, sizeof(text));

    assert_int_equal(mounts(text, length, &visits), 8);
    assert_non_null(
        strstr(visits.text, "1|/docker/9f1c2b7e5a40|/sys/fs/cgroup/cpu,cpuacct|rw,cpu,cpuacct\n"));
}

static void only_true_escapes_are_undone(void **state)
{
    (void)state;
    /* A backslash, a digit too few, no octal digit, past 255, and a NUL that would end the text. */
    static const char text[] = "30 23 0:27 /a\\134b /m\\04/\\089/\\777/\\000/\\ rw - cgroup2 x rw\n";
    static const char comma[] = "30 23 0:27 / /m rw - cgroup x rw,release_agent=/x\\054memory\n";
    struct visits visits;

    assert_int_equal(mounts(text, sizeof(text) - 1, &visits), 1);
    assert_string_equal(visits.text, "2|/a\\b|/m\\04/\\089/\\777/\\000/\\|rw\n");
    assert_int_equal(mounts(comma, sizeof(comma) - 1, &visits), 1);
    assert_string_equal(visits.text, "1|/|/m|rw,release_agent=/x\\054memory\n");
}

static void lines_that_are_no_mounts_do_not_matter(void **state)
{
    (void)state;
    static const char text[] = "36 35 0:52 / /merged rw - overlay overlay rw,lowerdir=/a\n"
                               "b - c\n"
                               "cgroup\n"
                               "\n"
                               "37 35 0:52 / /x rw - cgroups cgroup rw,memory\n"
                               "38 35 0:52 / /y rw - fuse.x - cgroup2 rw\n"
                               "39 35 0:53 / /sys/fs/cgroup rw shared:1 master:2 - cgroup2 none rw\n";
    struct visits visits;

    assert_int_equal(mounts(text, sizeof(text) - 1, &visits), 1);
    assert_string_equal(visits.text, "2|/|/sys/fs/cgroup|rw\n");
}

static void cgroup_lines_that_lack_fields_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {" - cgroup2 cgroup2 rw\n",
                                        "30 23 0:27 / - cgroup2 cgroup2 rw\n",
                                        "30 23 0:27 root /point rw - cgroup2 cgroup2 rw\n",
                                        "30 23 0:27 / point rw - cgroup2 cgroup2 rw\n",
                                        "30 23 0:27 / /point rw - cgroup2\n",
                                        "30 23 0:27 / /point rw - cgroup2 cgroup2\n",
                                        "30 23 0:27 / /point rw - cgroup2 cgroup2 rw"};
    struct visits visits;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(mounts(texts[i], strlen(texts[i]), &visits), -EBADMSG);
    assert_int_equal(mounts("", 0, &visits), 0);
}

static void mounts_cut_off_are_refused_or_whole(void **state)
{
    (void)state;
    char text[4096];
    struct visits whole, visits;
    size_t length = fixture_read("hybrid-6.18/proc/self/mountinfo", text, sizeof(text));

    assert_int_equal(mounts(text, length, &whole), 10);
    for (size_t cut = 0; cut < length; cut++) {
        int status = mounts(text, cut, &visits);

        assert_int_equal(status<0, cut> 0 && text[cut - 1] != '\n');
        assert_memory_equal(visits.text, whole.text, visits.length);
    }
}

static void list_has_whole_words_only(void **state)
{
    (void)state;
    static const char list[] = "rw,cpu,cpuacct,name=memory";

    assert_true(cgroup_list_has(list, sizeof(list) - 1, "cpu"));
    assert_true(cgroup_list_has(list, sizeof(list) - 1, "cpuacct"));
    assert_true(cgroup_list_has(list, sizeof(list) - 1, "rw"));
    assert_false(cgroup_list_has(list, sizeof(list) - 1, "memory"));
    assert_false(cgroup_list_has(list, sizeof(list) - 1, "cpuset"));
    assert_false(cgroup_list_has(list, strlen("rw,cpu,cpuac"), "cpuacct"));
    assert_false(cgroup_list_has("", 0, "cpu"));
}

static void keys_are_found_by_their_whole_name(void **state)
{
    (void)state;
    /* memory.stat has file and file_mapped, anon and inactive_anon. */
    static const char *const keys[] = {"file", "anon", "shmem", "nothing", "pgmajfault"};
    uint64_t values[] = {1, 2, 3, 4, 5};
    char text[8192];
    size_t length = fixture_read(SCOPE "memory.stat", text, sizeof(text));

    assert_int_equal(cgroup_keyed_parse(text, length, keys, 5, values), 1 | 2 | 4 | 16);
    assert_int_equal(values[0], 104857600);
    assert_int_equal(values[1], 201326592);
    assert_int_equal(values[2], 1048576);
    assert_int_equal(values[3], 4);
    assert_int_equal(values[4], 27);
    assert_int_equal(cgroup_keyed_parse("file_mapped 5\nfile 6\nfiles 7\n", 28, keys, 1, values), 1);
    assert_int_equal(values[0], 6);
}

static void v1_totals_are_not_taken_for_the_group_s_own(void **state)
{
    (void)state;
    static const char *const keys[] = {"total_rss", "rss", "hierarchical_memory_limit", "total_shmem"};
    uint64_t values[4];
    char text[8192];
    size_t length = fixture_read(TASK "memory.stat", text, sizeof(text));

    assert_int_equal(cgroup_keyed_parse(text, length, keys, 4, values), 15);
    assert_int_equal(values[0], 4286578688);
    assert_int_equal(values[1], 4286578688);
    assert_int_equal(values[2], 8589934592);
    assert_int_equal(values[3], 524288000);
}

static void keyed_text_cut_off_has_fewer_keys_never_other_values(void **state)
{
    (void)state;
    static const char *const keys[] = {"usage_usec", "system_usec", "throttled_usec"};
    char text[4096];
    size_t length = fixture_read("container-v2/sys/fs/cgroup/cpu.stat", text, sizeof(text));
    uint64_t expected[3];

    assert_int_equal(cgroup_keyed_parse(text, length, keys, 3, expected), 7);
    assert_int_equal(expected[2], 3051220);
    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = exact_copy(text, cut);
        uint64_t values[3];
        int found = cgroup_keyed_parse(prefix, cut, keys, 3, values);

        free(prefix);
        assert_true(found >= 0);
        for (int i = 0; i < 3; i++)
            if ((found & 1 << i) != 0)
                assert_int_equal(values[i], expected[i]);
        assert_int_equal((found & 1) != 0, cut > strlen("usage_usec 11865300"));
    }
}

static void keyed_value_that_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"oom max\n", "oom \n", "oom -1\n", "oom 1 2\n", "oom 1x\n"};
    static const char *const keys[] = {"oom"}, *many[32];
    uint64_t values[32] = {7};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(cgroup_keyed_parse(texts[i], strlen(texts[i]), keys, 1, values), -EBADMSG);
    /* Of others it does not matter, and the first of two counts. */
    assert_int_equal(cgroup_keyed_parse("low max\noom 3\noom x\n", 20, keys, 1, values), 1);
    assert_int_equal(values[0], 3);
    assert_int_equal(cgroup_keyed_parse("oom\n\noom", 8, keys, 1, values), 0);
    for (size_t i = 0; i < 32; i++)
        many[i] = "oom";
    assert_int_equal(cgroup_keyed_parse("oom 1\n", 6, many, 31, values), 1);
    assert_int_equal(cgroup_keyed_parse("oom 1\n", 6, many, 32, values), -EINVAL);
}

static void no_limit_is_one_value_however_it_is_written(void **state)
{
    (void)state;
    static const char *const texts[] = {"max\n", "9223372036854771712\n" /* pages of 4 KiB */,
                                        "9223372036854710272\n" /* of 64 KiB */, "9223372036854775807\n",
                                        "18446744073709551615\n"};
    uint64_t value;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(cgroup_number_parse(texts[i], strlen(texts[i]), &value), 0);
        assert_true(value == CGROUP_NO_LIMIT);
    }
    assert_int_equal(cgroup_number_parse("1073741824\n", 11, &value), 0);
    assert_int_equal(value, 1073741824);
    /* 293 years of CPU are no limit's absence: a large machine has that in months. */
    assert_int_equal(cgroup_number_parse("9223372036854775808\n", 20, &value), 0);
    assert_true(value == UINT64_C(1) << 63);
    assert_true(cgroup_limit_of(9223372036854771712U) == CGROUP_NO_LIMIT);
    assert_int_equal(cgroup_limit_of(4096), 4096);
}

static void numbers_cut_off_or_malformed_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          "\n",   "12",    "max",    "ma\n",
                                        "maximum\n", "-1\n", "12 \n", "12\n\n", "0x10\n"};
    uint64_t value = 77;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size_t length = strlen(texts[i]);
        char *copy = exact_copy(texts[i], length);

        assert_int_equal(cgroup_number_parse(copy, length, &value), -EBADMSG);
        free(copy);
    }
    assert_int_equal(value, 77);
}

static void quota_of_minus_one_is_no_limit(void **state)
{
    (void)state;
    uint64_t quota;

    assert_int_equal(cgroup_quota_parse("-1\n", 3, &quota), 0);
    assert_true(quota == CGROUP_NO_LIMIT);
    assert_int_equal(cgroup_quota_parse("150000\n", 7, &quota), 0);
    assert_int_equal(quota, 150000);
    assert_int_equal(cgroup_quota_parse("-1", 2, &quota), -EBADMSG);
    assert_int_equal(cgroup_quota_parse("-2\n", 3, &quota), -EBADMSG);
}

static void cpu_max_has_quota_and_period(void **state)
{
    (void)state;
    static const char text[] = "150000 100000\n";
    static const char *const others[] = {"max\n",     "150000 0\n",  "150000 \n",        " 100000\n",
                                         "max max\n", "-1 100000\n", "150000  100000\n", "1 2 3\n"};
    uint64_t quota, period;

    for (size_t cut = 0; cut < sizeof(text); cut++) {
        char *prefix = exact_copy(text, cut);

        assert_int_equal(cgroup_cpu_max_parse(prefix, cut, &quota, &period),
                         cut == sizeof(text) - 1 ? 0 : -EBADMSG);
        free(prefix);
    }
    assert_int_equal(quota, 150000);
    assert_int_equal(period, 100000);
    assert_int_equal(cgroup_cpu_max_parse("max 100000\n", 11, &quota, &period), 0);
    assert_true(quota == CGROUP_NO_LIMIT);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(cgroup_cpu_max_parse(others[i], strlen(others[i]), &quota, &period), -EBADMSG);
}

static void io_is_summed_over_devices(void **state)
{
    (void)state;
    char text[4096];
    uint64_t read_bytes, write_bytes;
    size_t length =
        fixture_read("v2-5.10/sys/fs/cgroup/system.slice/batch.service/io.stat", text, sizeof(text));

    assert_int_equal(cgroup_io_stat_parse(text, length, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 1459200 + 90430464);
    assert_int_equal(write_bytes, 314773504 + 299008000);
    assert_int_equal(cgroup_io_stat_parse("", 0, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes + write_bytes, 0);
}

/* "7:7 7:6 259:0 rbytes=…" and "252:0 " at the end: devices without I/O, whose newline the kernel forgets. */
static void devices_without_io_do_not_hide_the_others(void **state)
{
    (void)state;
    static const char unknown[] = "(unknown) rbytes=5 wbytes=6\n8:0 rbytes=10 wbytes=20 cost.usage=3\n";
    char text[4096];
    uint64_t read_bytes, write_bytes;
    size_t length = fixture_read("container-v2/sys/fs/cgroup/io.stat", text, sizeof(text));

    assert_int_equal(cgroup_io_stat_parse(text, length, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 8196096);
    assert_int_equal(write_bytes, 40960);
    assert_int_equal(cgroup_io_stat_parse("252:0 ", 6, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 0);
    assert_int_equal(cgroup_io_stat_parse(unknown, sizeof(unknown) - 1, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 10);
    assert_int_equal(write_bytes, 20);
}

static void io_cut_off_or_malformed_is_refused(void **state)
{
    (void)state;
    static const char text[] = "8:0 rbytes=10 wbytes=20 rios=1 wios=2\n";
    static const char *const others[] = {"8:0 rbytes=x wbytes=1\n", "rbytes=1 wbytes=2\n", "8:0 rbytes\n",
                                         "8: rbytes=1\n",           "sda rbytes=1\n",      "8:0 Read 5\n"};
    uint64_t read_bytes, write_bytes;

    for (size_t cut = 1; cut < sizeof(text); cut++) {
        char *prefix = exact_copy(text, cut);
        bool whole = cut == strlen("8:0 ") || cut == sizeof(text) - 1;

        assert_int_equal(cgroup_io_stat_parse(prefix, cut, &read_bytes, &write_bytes), whole ? 0 : -EBADMSG);
        free(prefix);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(cgroup_io_stat_parse(others[i], strlen(others[i]), &read_bytes, &write_bytes),
                         -EBADMSG);
}

static void blkio_counts_reads_and_writes_once(void **state)
{
    (void)state;
    char text[4096];
    uint64_t read_bytes, write_bytes;
    size_t length = fixture_read("v1-batch/sys/fs/cgroup/blkio/system.slice/slurmd.service/"
                                 "blkio.throttle.io_service_bytes_recursive",
                                 text, sizeof(text));

    assert_int_equal(cgroup_blkio_parse(text, length, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 2 * 1459200);
    assert_int_equal(write_bytes, 2 * 314773504);
    assert_int_equal(cgroup_blkio_parse("Total 0\n", 8, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes + write_bytes, 0);
    assert_int_equal(cgroup_blkio_parse("", 0, &read_bytes, &write_bytes), 0);
    /* Only the total is its end: cut anywhere before it, sums would be too low. */
    for (size_t cut = 1; cut < length; cut++) {
        char *prefix = exact_copy(text, cut);

        assert_int_equal(cgroup_blkio_parse(prefix, cut, &read_bytes, &write_bytes), -EBADMSG);
        free(prefix);
    }
}

static void blkio_of_hidden_devices_is_left_out(void **state)
{
    (void)state;
    static const char text[] =
        "(unknown) Read 5\n259:0 Read 7\n259:0 Write 18446744073709551615\n259:1 Write 9\n"
        "Total 21\n";
    static const char *const others[] = {"8:0 Read\nTotal 1\n",   "8:0 Read x\nTotal 1\n", "8:0\nTotal 1\n",
                                         "sda Read 1\nTotal 1\n", "\nTotal 1\n",           "Total\n"};
    uint64_t read_bytes, write_bytes;

    assert_int_equal(cgroup_blkio_parse(text, sizeof(text) - 1, &read_bytes, &write_bytes), 0);
    assert_int_equal(read_bytes, 7);
    assert_true(write_bytes == UINT64_MAX); /* no wrap */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(cgroup_blkio_parse(others[i], strlen(others[i]), &read_bytes, &write_bytes),
                         -EBADMSG);
}

static void group_word_is_found_whole(void **state)
{
    (void)state;
    const char *folder = LAYOUTS "v2-6.12/sys/fs/cgroup";

    assert_true(cgroup_group_word(folder, "cgroup.controllers", "cpuset")); /* the first */
    assert_true(cgroup_group_word(folder, "cgroup.controllers", "memory"));
    assert_true(cgroup_group_word(folder, "cgroup.controllers", "misc")); /* the last */
    assert_false(cgroup_group_word(folder, "cgroup.controllers", "mem"));
    assert_false(cgroup_group_word(folder, "cgroup.controllers", "set"));
    assert_false(cgroup_group_word(folder, "cgroup.controllers", "memory hugetlb"));
    assert_false(cgroup_group_word(folder, "no-such-file", "memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(membership_of_a_hybrid_host_has_all_hierarchies),
        cmocka_unit_test(membership_path_may_hold_colons_and_spaces),
        cmocka_unit_test(membership_cut_off_never_names_another_group),
        cmocka_unit_test(membership_that_is_none_is_refused),
        cmocka_unit_test(mounts_of_other_file_systems_are_passed_over),
        cmocka_unit_test(mounts_with_escapes_and_an_empty_source_are_read),
        cmocka_unit_test(mounts_of_a_container_show_their_roots),
        cmocka_unit_test(only_true_escapes_are_undone),
        cmocka_unit_test(lines_that_are_no_mounts_do_not_matter),
        cmocka_unit_test(cgroup_lines_that_lack_fields_are_refused),
        cmocka_unit_test(mounts_cut_off_are_refused_or_whole),
        cmocka_unit_test(list_has_whole_words_only),
        cmocka_unit_test(group_word_is_found_whole),
        cmocka_unit_test(keys_are_found_by_their_whole_name),
        cmocka_unit_test(v1_totals_are_not_taken_for_the_group_s_own),
        cmocka_unit_test(keyed_text_cut_off_has_fewer_keys_never_other_values),
        cmocka_unit_test(keyed_value_that_is_no_number_is_refused),
        cmocka_unit_test(no_limit_is_one_value_however_it_is_written),
        cmocka_unit_test(numbers_cut_off_or_malformed_are_refused),
        cmocka_unit_test(quota_of_minus_one_is_no_limit),
        cmocka_unit_test(cpu_max_has_quota_and_period),
        cmocka_unit_test(io_is_summed_over_devices),
        cmocka_unit_test(devices_without_io_do_not_hide_the_others),
        cmocka_unit_test(io_cut_off_or_malformed_is_refused),
        cmocka_unit_test(blkio_counts_reads_and_writes_once),
        cmocka_unit_test(blkio_of_hidden_devices_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
