/* con-duct's usage files read back: the numbers are those that Python's json finds in the same files, and the
 * rate is held against what the command is known to have done. */
#include "store/recording/usage_values.h"

#include "base/strbuf.h"
#include "usage_fixture.h"

static void values_of_con_duct_are_as_in_the_file(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "duct-0.2.0");
    struct usage_reader *reader = open_run(&run, NULL);
    const struct usage_record *record;

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_near(record->wall, 1794766988.996807);
    assert_near(record->elapsed, 1794766988.996807 - 1794766988.4283724);
    assert_int_equal(record->num_samples, 5);
    assert_true(find(&run, record, "total_rss", NULL)->number == 107319296);
    assert_true(find(&run, record, "total_pcpu", NULL)->number == 37.2);
    assert_true(find(&run, record, "average_rss", NULL)->number == 69211750.4);
    assert_true(find(&run, record, "pcpu", "13909")->number == 25.0);
    assert_true(find(&run, record, "pmem", "13893")->number == 0.1);
    assert_true(find(&run, record, "vsz", "13888")->number == 16199680);
    assert_true(find(&run, record, "etime", "13888")->number == 0);
    assert_string_equal(find(&run, record, "stat", "13893")->text, "{\"S\": 4, \"R\": 1}");
    assert_string_equal(find(&run, record, "cmd", "13893")->text, "python3 simulate.py 3.2");
    assert_null(find(&run, record, "pcpu_rate", "13888"));
    assert_null(find(&run, record, "total_pcpu_rate", NULL));
    for (int i = 0; i < 5; i++)
        assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_int_equal(usage_reader_next(reader, &record), 0);
    assert_int_equal(usage_reader_damaged(reader, NULL), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

/* The command was busy for six seconds and then idle for six: pcpu never says so, the rate does. */
static void the_rate_of_con_duct_follows_what_the_process_did(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "duct-jsonl");
    struct usage_reader *reader = open_run(&run, NULL);
    const struct usage_record *record;
    size_t busy = 0, idle = 0;

    while (usage_reader_next(reader, &record) == 1) {
        const struct usage_value *rate = find(&run, record, "pcpu_rate", "25388");
        const struct usage_value *total = find(&run, record, "total_pcpu_rate", NULL);

        assert_true((rate == NULL) == (total == NULL));
        if (!rate)
            continue;
        assert_true(rate->span == total->span || busy == 0); /* the first total begins with the run */
        if (record->elapsed < 6.5) {
            assert_true(rate->number > 90 && rate->number < 110);
            assert_true(total->number > 90 && total->number < 110);
            busy++;
        } else if (record->elapsed > 8) {
            assert_true(rate->number >= 0 && rate->number < 10);
            assert_true(total->number >= 0 && total->number < 10);
            assert_true(find(&run, record, "pcpu", "25388")->number > 50);
            idle++;
        }
    }
    assert_int_equal(busy, 6);
    assert_int_equal(idle, 4);
    usage_reader_free(reader);
    recording_fini(&run);
}

static struct usage_reader *open_duct(const struct recording *run, const char *const (*rows)[4],
                                      struct strbuf *text)
{
    for (; (*rows)[0]; rows++)
        strbuf_addf(
            text,
            "{\"timestamp\": \"2026-01-01T%sZ\", \"processes\": {\"%s\": {\"pcpu\": %s, \"etime\": \"%s\", "
            "\"timestamp\": \"2026-01-01T%sZ\"}}}\n",
            (*rows)[0], (*rows)[1], (*rows)[2], (*rows)[3], (*rows)[0]);
    return open_text(run, strbuf_text(text));
}

/* The rates of one process, record by record; NAN where there is none. */
static void assert_rates(const char *const (*rows)[4], const double *rates)
{
    struct recording run = parse_run(duct_info);
    struct strbuf text = STRBUF_INIT;
    struct usage_reader *reader = open_duct(&run, rows, &text);
    const struct usage_record *record;

    for (size_t i = 0; rows[i][0]; i++) {
        assert_int_equal(usage_reader_next(reader, &record), 1);

        const struct usage_value *rate = find(&run, record, "pcpu_rate", rows[i][1]);

        if (isnan(rates[i]) != (rate == NULL))
            fail_msg("row %zu: %s", i, rate ? "a rate" : "no rate");
        if (rate)
            assert_near(rate->number, rates[i]);
    }
    usage_reader_free(reader);
    strbuf_fini(&text);
    recording_fini(&run);
}

static void a_rate_needs_time_and_the_same_process(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"00:01:00", "7", "50.0", "01:00"}, /* 30 s */
        {"00:01:10", "7", "50.0", "01:10"}, /* 35 s: half a core */
        {"00:01:10", "7", "50.0", "01:10"}, /* no time has passed */
        {"00:01:20", "7", "43.7", "01:20"}, /* 34.96 s: less than rounding, so none */
        {"00:01:30", "7", "10.0", "01:30"}, /* 9 s: cannot be */
        {"00:01:40", "7", "20.0", "01:40"}, /* 20 s, 11 s more: from the new start on */
        {"00:01:50", "7", "90.0", "00:05"}, /* another process with this pid */
        {"00:02:00", "7", "90.0", "00:15"},
        {"00:09:00", "7", "90.0", "02:00"}, /* another one, that is older than the last was */
        {NULL, NULL, NULL, NULL},
    };
    static const double rates[] = {50, 50, NAN, 0, NAN, 110, 90, 90, 90};

    assert_rates(rows, rates);
}

static void what_ps_cannot_mean_is_no_etime(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"00:01:00", "7", "50.0", "441077234-00:18:40"},
        {"00:01:10", "7", "50.0", "00:10"},
        {"00:01:20", "7", "50.0", "00:20"},
        {NULL, NULL, NULL, NULL},
    };
    static const double rates[] = {NAN, 50, 50};

    assert_rates(rows, rates);
}

/* Of a process that is a day old, 0.1 % are 86 seconds: a minute says nothing, half an hour does. */
static void an_old_process_is_looked_at_over_a_longer_time(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"10:00:00", "7", "50.0", "1-00:00:00"},
        {"10:01:00", "7", "50.1", "1-00:01:00"},
        {"10:02:00", "7", "50.0", "1-00:02:00"},
        {"10:30:00", "7", "50.0", "1-00:30:00"},
        {NULL, NULL, NULL, NULL},
    };
    static const double rates[] = {NAN, NAN, NAN, 50};

    assert_rates(rows, rates);
}

static void many_processes_are_told_apart(void **state)
{
    (void)state;
    struct recording run = parse_run(duct_info);
    struct strbuf text = STRBUF_INIT;
    const struct usage_record *record;
    const int count = 3000;

    for (int second = 10; second <= 30; second += 10) {
        strbuf_addf(&text, "{\"timestamp\": \"2026-01-01T00:00:%d+00:00\", \"processes\": {", second);
        for (int pid = 1; pid <= count; pid++)
            strbuf_addf(&text,
                        "%s\"%d\": {\"timestamp\": \"2026-01-01T00:00:%d+00:00\", \"etime\": \"00:%d\","
                        " \"pcpu\": %d}",
                        pid > 1 ? ", " : "", pid, second, second, pid % 100);
        strbuf_adds(&text, "}}\n");
    }

    struct usage_reader *reader = open_text(&run, strbuf_text(&text));

    for (int i = 0; i < 3; i++) {
        assert_int_equal(usage_reader_next(reader, &record), 1);
        assert_near(find(&run, record, "pcpu_rate", "2999")->number, 99);
        assert_near(find(&run, record, "pcpu_rate", "17")->number, 17);
        assert_near(find(&run, record, "total_pcpu_rate", NULL)->number, 30 * 4950);
    }
    usage_reader_free(reader);
    strbuf_fini(&text);
    recording_fini(&run);
}

/* The value of a key in each of four records, and the time that it is of; NAN where there is none. */
static void assert_values(const char *lines, const char *key, const char *subject, const double values[4],
                          const double spans[4])
{
    struct recording run = parse_run(duct_info);
    struct usage_reader *reader = open_text(&run, lines);
    const struct usage_record *record;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(usage_reader_next(reader, &record), 1);
        const struct usage_value *value = find(&run, record, key, subject);

        if (isnan(values[i]) != (value == NULL))
            fail_msg("%s, record %d: %s", key, i, value ? "a value" : "no value");
        if (value)
            assert_near(value->number, values[i]);
        if (value && spans)
            assert_near(value->span, spans[i]);
    }
    assert_int_equal(usage_reader_next(reader, &record), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

#define AT(TIME) "{\"timestamp\": \"2026-01-01T" TIME "Z\", \"processes\": {"
#define OF(PID, TIME, PCPU, ETIME)                                                                           \
    "\"" PID "\": {\"timestamp\": \"2026-01-01T" TIME "Z\", \"pcpu\": " PCPU ", \"etime\": \"" ETIME "\"}"
#define END "}}\n"

/* Four records of a minute in the third hour of a run: no rate can be made of each, one of all. 1.2 % of 3 h
 * were used before them, 3 h 04 x 2 % after. */
static const char old_lines[] = AT("00:00:00") OF("7", "00:00:00", "0.0", "00:00") END                    /**/
    AT("03:00:00") OF("7", "03:00:00", "1.2", "03:00:00") END                                             /**/
        AT("03:02:00") OF("7", "03:02:00", "1.6", "03:02:00") ", " OF("8", "03:02:00", "50", "02:00") END /**/
            AT("03:04:00") OF("7", "03:04:00", "2.0", "03:04:00") END;

static void a_rate_carries_the_time_it_is_of(void **state)
{
    (void)state;
    static const double rates[] = {NAN, 1.2, NAN, 100 * (220.8 - 129.6) / 240};
    static const double spans[] = {0, 10800, 0, 240};

    assert_values(old_lines, "pcpu_rate", "7", rates, spans);
}

/* Not a rate times the length of one record. */
static void seconds_of_a_process_are_those_it_was_last_seen_with(void **state)
{
    (void)state;
    static const double old[] = {NAN, 129.6, 174.72 - 129.6, 220.8 - 174.72};
    static const double young[] = {NAN, NAN, 60, NAN};

    assert_values(old_lines, "pcpu_seconds", "7", old, NULL);
    assert_values(old_lines, "pcpu_seconds", "8", young, NULL);
}

static void the_total_has_those_that_have_ended(void **state)
{
    (void)state;
    static const double totals[] = {NAN, 1.2, NAN, 100 * (220.8 - 129.6 + 60) / 240};
    static const double spans[] = {0, 10800, 0, 240};

    assert_values(old_lines, "total_pcpu_rate", NULL, totals, spans);
}

/* The second process has used something within its first second: how much is not known in the second record,
 * and the third has it. */
static void a_total_is_absent_where_it_is_unknown(void **state)
{
    (void)state;
    static const char lines[] = AT("00:00:02") OF("7", "00:00:02", "0.0", "00:02") END                  /**/
        AT("00:00:03") OF("7", "00:00:03", "0.0", "00:03") ", " OF("8", "00:00:03", "0.0", "00:00") END /**/
            AT("00:00:04") OF("7", "00:00:04", "0.0", "00:04") ", " OF("8", "00:00:04", "90.0", "00:01")
                END /**/
                    AT("00:00:05")
                        OF("7", "00:00:05", "0.0", "00:05") ", " OF("8", "00:00:05", "90.0", "00:02") END;
    static const double totals[] = {0, NAN, 45, 90};
    static const double spans[] = {2, 0, 2, 1};

    assert_values(lines, "total_pcpu_rate", NULL, totals, spans);
}

/* All that one was seen of is that it had lived for less than a second: it may have used that much. */
static void a_total_waits_for_what_may_be_missing(void **state)
{
    (void)state;
    static const char lines[] = AT("00:00:01") OF("8", "00:00:01", "90.0", "00:00") END /**/
        AT("00:00:02") OF("7", "00:00:02", "50.0", "00:02") END                         /**/
            AT("00:00:04") OF("7", "00:00:04", "50.0", "00:04") END                     /**/
                AT("00:00:10") OF("7", "00:00:10", "50.0", "00:10") END;
    static const double totals[] = {NAN, NAN, NAN, 50};
    static const double spans[] = {0, 0, 0, 10};

    assert_values(lines, "total_pcpu_rate", NULL, totals, spans);
}

/* A shell that is two hours old when the run begins: what it used before is nobody's to know. */
static void what_was_used_before_the_run_is_not_counted(void **state)
{
    (void)state;
    static const char lines[] = AT("00:00:10") OF("7", "00:00:10", "50.0", "02:00:10") END /**/
        AT("00:05:00") OF("7", "00:05:00", "50.0", "02:05:00") END                         /**/
            AT("00:10:00") OF("7", "00:10:00", "50.0", "02:10:00") END                     /**/
                AT("00:10:01") "\"x\": {}" END;
    static const double seconds[] = {NAN, 145, 150, NAN};
    static const double totals[] = {NAN, 50, 50, NAN};

    assert_values(lines, "pcpu_seconds", "7", seconds, NULL);
    assert_values(lines, "total_pcpu_rate", NULL, totals, NULL);
}

static void etimes_are_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } right[] = {{"00:00", 0}, {"05:06", 306}, {"01:02:03", 3723}, {"1-02:03:04", 93784}};
    static const char *const wrong[] = {"",          "5",      "05:6",  "05:06:07:08", "1-05:06",
                                        "-01:02:03", "05:06x", "x5:06", "1-2-05:06",   "441077234-00:18:40",
                                        "05:",       "::"};
    double seconds;

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_true(duct_parse_etime(right[i].text, &seconds));
        assert_true(seconds == right[i].seconds);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (duct_parse_etime(wrong[i], &seconds))
            fail_msg("'%s' is %g", wrong[i], seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_con_duct_are_as_in_the_file),
        cmocka_unit_test(the_rate_of_con_duct_follows_what_the_process_did),
        cmocka_unit_test(a_rate_needs_time_and_the_same_process),
        cmocka_unit_test(what_ps_cannot_mean_is_no_etime),
        cmocka_unit_test(an_old_process_is_looked_at_over_a_longer_time),
        cmocka_unit_test(many_processes_are_told_apart),
        cmocka_unit_test(a_rate_carries_the_time_it_is_of),
        cmocka_unit_test(seconds_of_a_process_are_those_it_was_last_seen_with),
        cmocka_unit_test(the_total_has_those_that_have_ended),
        cmocka_unit_test(a_total_is_absent_where_it_is_unknown),
        cmocka_unit_test(a_total_waits_for_what_may_be_missing),
        cmocka_unit_test(what_was_used_before_the_run_is_not_counted),
        cmocka_unit_test(etimes_are_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
