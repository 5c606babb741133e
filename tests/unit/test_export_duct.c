/* The export to con-duct: its CPU, its totals and its first record. con-duct itself reads it in
 * tests/e2e/test_export.py. */
#include "publish/export_duct.h"

#include "export_fixture.h"

static void duct_pcpu_is_conserved_cpu_over_age(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const char *out = exported("duct", &ended);

    (void)state;
    /* By their rates 2 s + 0.5 s in the first window, but the ledger counted 1.5: 1.2 s in 2 s, 0.3 s in 1 s.
     */
    assert_non_null(strstr(out, "\"7\":{\"pcpu\":60,\"pmem\":12,\"rss\":120000,"));
    assert_non_null(strstr(out, "\"8\":{\"pcpu\":30,\"pmem\":8,\"rss\":80000,"));
    /* Then 1 s of 2 s more: 2.2 s in 4 s. */
    assert_non_null(strstr(out, "\"7\":{\"pcpu\":55"));
    assert_non_null(strstr(out, "\"etime\":\"00:04\",\"stat\":{\"R\":1,\"D\":1},\"cmd\":\"sh\"}"));
    assert_non_null(strstr(out, "\"totals\":{\"pmem\":20,\"pcpu\":90,\"rss\":200000,\"vsz\":null}"));
    const char *info = strbuf_text(&done.second);
    assert_non_null(strstr(info, "\"schema_version\":\"0.2.2\""));
    assert_non_null(strstr(info, "\"peak_rss\":200000,\"average_rss\":150000,\"peak_vsz\":null"));
    assert_non_null(strstr(info, "\"peak_pcpu\":90,"));
    assert_non_null(strstr(info, "\"usage\":\"p/usage.jsonl\",\"info\":\"p/info.json\",\"prefix\":\"p/\""));
}

/* A record of ten seconds for con-duct. */
static const char *duct_of(const struct recording *from, struct usage_value *values, size_t count)
{
    struct usage_record record = {
        .elapsed = 10, .wall = 1010, .num_samples = 10, .values = values, .count = count};

    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("duct"), from, "p/", NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    assert_int_equal(export_record(&done, &record), 0);
    assert_int_equal(export_end(&done), 0);
    return strbuf_text(&done.out);
}

/* It was 85 us old when it was sampled, and had used 3 ms when it ended at the age of 4 ms. */
static void duct_pcpu_of_what_has_ended_is_over_its_whole_life(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct usage_value values[] = {number(RSS_TOTAL, NULL, 1), number(RSS, "7", 1),
                                   number(ETIME, "7", 0.000085), number(AT_END, "7", 0.003),
                                   number(LIFETIME, "7", 0.004)};

    (void)state;
    assert_non_null(strstr(duct_of(&ended, values, COUNT(values)), "\"7\":{\"pcpu\":75,"));
    assert_non_null(strstr(strbuf_text(&done.second), "\"peak_pcpu\":75,"));
}

/* Two that followed each other, and one that lived beside both. */
static void duct_totals_add_only_what_lived_at_once(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct usage_value values[] = {
        number(RSS_TOTAL, NULL, 1),
        text(START, "6", "1970-01-01T00:16:40Z"),
        text(START, "7", "1970-01-01T00:16:41Z"),
        text(START, "8", "1970-01-01T00:16:45Z"),
        number(RSS, "6", 1),
        number(RSS, "7", 1),
        number(RSS, "8", 1),
        number(ETIME, "6", 10),
        number(ETIME, "7", 3.5),
        number(ETIME, "8", 3.5),
        number(AT_END, "7", 2.8),
        number(AT_END, "8", 3),
        number(LIFETIME, "7", 4.005), /* the clock ticks: not after the next began */
        number(LIFETIME, "8", 4),
        number(RATE, "6", 1),
    };

    (void)state;
    assert_non_null(
        strstr(duct_of(&ended, values, COUNT(values)), "\"totals\":{\"pmem\":0.0001,\"pcpu\":76,"));
}

static void duct_begins_with_the_run(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    static const char start[] = "{\"timestamp\":\"1970-01-01T00:16:40.000000+00:00\",\"num_samples\":0,"
                                "\"processes\":{},\"totals\":{\"pmem\":0,\"pcpu\":0,\"rss\":0,\"vsz\":0},"
                                "\"averages\":{}}\n{\"timestamp\":\"1970-01-01T00:16:42";

    (void)state;
    assert_memory_equal(exported("duct", &ended), start, sizeof(start) - 1);
    assert_non_null(strstr(strbuf_text(&done.second), "\"num_samples\":4,\"num_reports\":3,"));
}

static void duct_of_con_duct_is_refused(void **state)
{
    struct recording duct = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct metron_error error = {0};

    (void)state;
    duct.kind = RECORDING_DUCT;
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("duct"), &duct, "p/", &error), 0);
    assert_true(export_begin(&done, &error) < 0);
    assert_non_null(strstr(error.message, "con-duct's own"));
}

static void duct_age_is_as_ps_writes_it(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } ages[] = {{0.9, "00:00"},        {83, "01:23"},       {3600, "01:00:00"},
                {93784, "1-02:03:04"}, {INFINITY, "00:00"}, {-1, "00:00"}};
    struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT(ages); i++) {
        strbuf_reset(&out);
        duct_age(&out, ages[i].seconds);
        assert_string_equal(strbuf_text(&out), ages[i].text);
    }
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(duct_pcpu_is_conserved_cpu_over_age, free_it),
        cmocka_unit_test_teardown(duct_pcpu_of_what_has_ended_is_over_its_whole_life, free_it),
        cmocka_unit_test_teardown(duct_totals_add_only_what_lived_at_once, free_it),
        cmocka_unit_test_teardown(duct_begins_with_the_run, free_it),
        cmocka_unit_test_teardown(duct_of_con_duct_is_refused, free_it),
        cmocka_unit_test(duct_age_is_as_ps_writes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
