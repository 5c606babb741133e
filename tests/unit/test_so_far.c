/* What a run that still runs has used so far, from the end of its usage.jsonl. */
#include "store/recording/so_far.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "schema/recording.h"

#define RECORD(VALUES) "{\"timestamp\":\"x\",\"elapsed\":1,\"measurements\":{" VALUES "}}\n"

static char path[] = "/tmp/metron-so-far-XXXXXX";

static bool so_far_of(const char *text, struct so_far *out)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return so_far_read(path, out);
}

static void is(const struct so_far_answer *answer, double value, const char *source, enum bound bound)
{
    assert_true(answer->has);
    assert_true(answer->value == value);
    assert_string_equal(answer->source, source);
    assert_non_null(strstr(answer->note->text, "so far"));
    assert_int_equal(answer->note->bound, bound);
}

static void cpu_of_all_records_is_added_up(void **state)
{
    (void)state;
    struct so_far so_far;

    assert_true(so_far_of(
        RECORD("\"proc_cpu_seconds\":1.5,\"cgroup_cpu_seconds\":9,\"cgroup_scope\":\"inherited\"")
            RECORD("\"proc_cpu_seconds\":2,\"cgroup_cpu_seconds\":9,\"cgroup_scope\":\"inherited\""),
        &so_far));
    is(&so_far.cpu_seconds, 3.5, "proc_cpu_seconds", BOUND_NONE);
    assert_false(so_far.peak_memory.has); /* never 0 */
}

static void the_own_group_counts_best(void **state)
{
    (void)state;
    struct so_far so_far;

    assert_true(so_far_of(RECORD("\"proc_cpu_seconds\":1,\"cgroup_cpu_seconds\":2,\"cgroup_scope\":\"own\""),
                          &so_far));
    is(&so_far.cpu_seconds, 2, "cgroup_cpu_seconds", BOUND_NONE);
}

static void of_memory_the_largest_that_was_surely_held_is_told(void **state)
{
    (void)state;
    static const char mark[] =
        RECORD("\"proc_hwm_max\":50,\"cgroup_mem_anon_shmem\":90,\"cgroup_scope\":\"inherited\"")
            RECORD("\"proc_hwm_max\":60");
    static const char group[] =
        RECORD("\"proc_hwm_max\":50,\"cgroup_mem_anon_shmem\":90,\"cgroup_scope\":\"own\"")
            RECORD("\"cgroup_mem_anon_shmem\":70,\"cgroup_scope\":\"own\"");
    static const char shares[] =
        RECORD("\"proc_hwm_max\":50,\"smaps_pss_total\":80,\"smaps_rss_total\":95,\"proc_rss_total\":100");
    /* Read only while the tree was small. */
    static const char early[] =
        RECORD("\"proc_hwm_max\":50,\"smaps_pss_total\":80,\"smaps_rss_total\":85,\"proc_rss_total\":100");
    struct so_far so_far;

    assert_true(so_far_of(mark, &so_far));
    is(&so_far.peak_memory, 60, "proc_hwm_max", BOUND_LOWER);
    assert_true(so_far_of(group, &so_far));
    is(&so_far.peak_memory, 90, "cgroup_peak_mem_anon_shmem", BOUND_NONE);
    assert_true(so_far_of(shares, &so_far));
    is(&so_far.peak_memory, 80, "smaps_peak_pss_total", BOUND_NONE);
    assert_true(so_far_of(early, &so_far));
    is(&so_far.peak_memory, 50, "proc_hwm_max", BOUND_LOWER);
}

static void a_line_that_is_being_written_is_not_missed_and_a_damaged_one_is(void **state)
{
    (void)state;
    struct so_far so_far;

    assert_true(so_far_of(
        RECORD("\"proc_cpu_seconds\":1") "{\"timestamp\":\"x\",\"measurements\":{\"proc_cpu", &so_far));
    is(&so_far.cpu_seconds, 1, "proc_cpu_seconds", BOUND_NONE);
    assert_true(
        so_far_of(RECORD("\"proc_cpu_seconds\":1") "\x01\n" RECORD("\"proc_cpu_seconds\":1"), &so_far));
    is(&so_far.cpu_seconds, 2, "proc_cpu_seconds", BOUND_LOWER);
}

static void of_a_long_file_only_the_end_is_looked_at_and_that_is_told(void **state)
{
    (void)state;
    static const char record[] = RECORD(
        "\"proc_cpu_seconds\":1,\"ledger_live_seconds\":500,\"cgroup_cpu_seconds\":1,\"smaps_pss_total\":70,"
        "\"proc_hwm_max\":60,\"cgroup_scope\":\"own\"");
    const size_t count = 20000; /* some 3 MiB */
    struct strbuf text = STRBUF_INIT;
    struct so_far so_far;

    for (size_t i = 0; i < count; i++)
        strbuf_adds(&text, record);
    assert_true(so_far_of(strbuf_text(&text), &so_far));
    /* What those had that lived at the first record looked at, and the records after it. */
    size_t looked_at = ((size_t)1 << 20) / strlen(record);
    is(&so_far.cpu_seconds, 500 + (double)looked_at - 1, "proc_cpu_seconds", BOUND_LOWER);
    assert_true(looked_at > 1000 && looked_at < count / 2);
    is(&so_far.peak_memory, 70, "smaps_peak_pss_total", BOUND_LOWER);
    strbuf_fini(&text);
}

static void without_a_record_nothing_is_known(void **state)
{
    (void)state;
    struct so_far so_far;

    assert_false(so_far_of("", &so_far));
    assert_false(so_far_of("{}\n[]\n{\"measurements\":3}\n", &so_far));
    assert_false(so_far.cpu_seconds.has || so_far.peak_memory.has);
    assert_false(so_far_read("/nowhere/usage.jsonl", &so_far));
    assert_false(so_far_read("/tmp", &so_far));
    /* A record of something else is one, but tells nothing here. */
    assert_true(so_far_of(RECORD("\"proc_cpu_seconds\":\"many\",\"x\":[1]"), &so_far));
    assert_false(so_far.cpu_seconds.has || so_far.peak_memory.has);
}

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_of_all_records_is_added_up),
        cmocka_unit_test(the_own_group_counts_best),
        cmocka_unit_test(of_memory_the_largest_that_was_surely_held_is_told),
        cmocka_unit_test(a_line_that_is_being_written_is_not_missed_and_a_damaged_one_is),
        cmocka_unit_test(of_a_long_file_only_the_end_is_looked_at_and_that_is_told),
        cmocka_unit_test(without_a_record_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
