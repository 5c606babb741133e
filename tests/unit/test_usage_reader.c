/* usage.jsonl read back: the numbers are those that Python's json finds in the same files. */
#include "store/recording/usage_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "store/recording/line_reader.h"
#include "store/recording/usage_values.h"
#include "usage_fixture.h"

/* -- metron's -- */

static void values_are_as_in_the_file(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "metron-ended");
    struct usage_reader *reader = open_run(&run, NULL);
    const struct usage_record *record;
    size_t records = 0;

    while (usage_reader_next(reader, &record) == 1) {
        if (++records != 4)
            continue;
        assert_true(record->elapsed == 2.000428589);
        assert_near(record->wall, 1794766902.975354);
        assert_int_equal(record->num_samples, 5);
        assert_true(find(&run, record, "proc_rss_total", NULL)->number == 107360256);
        assert_true(find(&run, record, "proc_ave_rss_total", NULL)->number == 107360256);
        assert_true(find(&run, record, "proc_rss", "31829")->number == 32137216);
        assert_string_equal(find(&run, record, "proc_stat", "31829")->text, "{\"R\":1,\"S\":4}");
        assert_int_equal(find(&run, record, "proc_stat", "31829")->kind, FIELD_JSON);
        assert_string_equal(find(&run, record, "proc_cmd", "31845")->text, "python3 simulate.py 4.5");
        assert_int_equal(find(&run, record, "proc_cmd", "31845")->kind, FIELD_TEXT);
        assert_null(find(&run, record, "proc_rss", "1"));
    }
    assert_int_equal(records, 9);
    assert_int_equal(usage_reader_damaged(reader, NULL), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void only_wanted_keys_are_there(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "metron-ended");
    bool *wanted = calloc(run.key_count, sizeof(*wanted));

    assert_non_null(wanted);
    wanted[recording_key_index(&run, "proc_rss_total")] = true;
    wanted[recording_key_index(&run, "sys_cpu_pct")] = true;

    struct usage_reader *reader = open_run(&run, wanted);
    const struct usage_record *record;
    size_t totals = 0, shares = 0;

    free(wanted); /* the reader has its own */
    while (usage_reader_next(reader, &record) == 1) {
        totals += find(&run, record, "proc_rss_total", NULL) != NULL;
        shares += find(&run, record, "sys_cpu_pct", NULL) != NULL;
        assert_in_range(record->count, 1, 2);
    }
    assert_int_equal(totals, 9);
    assert_in_range(shares, 8, 9);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void tallies_of_a_single_key_are_json(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "metron-syscalls");
    struct usage_reader *reader = open_run(&run, NULL);
    const struct usage_record *record;

    assert_int_equal(usage_reader_next(reader, &record), 1);

    const struct usage_value *value = find(&run, record, "syscall_counts_total", NULL);

    assert_int_equal(value->kind, FIELD_JSON);
    assert_memory_equal(value->text, "{\"newfstatat\":359,", 18);
    usage_reader_free(reader);
    recording_fini(&run);
}

/* -- Made up -- */

static void keys_in_any_order_and_unknown_ones_are_taken_right(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct usage_reader *reader =
        open_text(&run, "{\"measurements\": {\"t_name\": \"x\", \"t_new\": {\"a\": [1]}, \"t_ave_all\": 2, "
                        "\"t_all\": 3, \"t_rss\": {\"7#2\": 5, \"7\": 4}}, \"new\": [], \"num_samples\": 3, "
                        "\"elapsed\": 1.5}\n");
    const struct usage_record *record;

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_true(record->elapsed == 1.5 && record->num_samples == 3);
    assert_int_equal(record->count, 5);
    assert_string_equal(find(&run, record, "t_name", NULL)->text, "x");
    assert_true(find(&run, record, "t_ave_all", NULL)->number == 2);
    assert_true(find(&run, record, "t_all", NULL)->number == 3);
    assert_true(find(&run, record, "t_rss", "7")->number == 4);
    assert_true(find(&run, record, "t_rss", "7#2")->number == 5);
    assert_int_equal(usage_reader_next(reader, &record), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

/* Backwards, so that none stands where it is expected, and among names that are no keys. */
static void every_key_of_a_registry_is_told_from_others(void **state)
{
    (void)state;
    struct recording run = read_run(RECORDINGS "metron-ended");
    struct strbuf text = STRBUF_INIT;
    const struct usage_record *record;
    size_t numbers = 0;

    strbuf_adds(&text, "{\"elapsed\": 1, \"measurements\": {\"\": 0");
    for (size_t i = run.key_count; i-- > 0;) {
        const struct recorded_key *key = &run.keys[i];

        strbuf_addf(&text, ", \"%sx\": -1, \"x%s\": -1, \"%.*s~\": -1", key->key, key->key,
                    (int)strlen(key->key) - 1, key->key);
        if (key->scope == SCOPE_SINGLE && (key->type == TYPE_GAUGE || key->type == TYPE_COUNTER)) {
            strbuf_addf(&text, ", \"%s\": %zu", key->key, i);
            numbers++;
        }
    }
    strbuf_adds(&text, "}}\n");

    struct usage_reader *reader = open_text(&run, strbuf_text(&text));

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_int_equal(record->count, numbers);
    for (size_t i = 0; i < record->count; i++)
        assert_true(record->values[i].number == (double)record->values[i].key);
    usage_reader_free(reader);
    strbuf_fini(&text);
    recording_fini(&run);
}

static void a_record_without_elapsed_is_placed_by_its_timestamp(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct usage_reader *reader =
        open_text(&run, "{\"timestamp\": \"2026-01-01T00:00:02.5Z\", \"measurements\": {}}\n");
    const struct usage_record *record;

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_near(record->elapsed, 2.5);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void damaged_lines_are_passed_over_and_counted(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct usage_reader *reader = open_text(&run, "{\"elapsed\": 1, \"measurements\": {\"t_all\": 1}}\n"
                                                  "\n"
                                                  "{\"elapsed\": 2, \"measurements\": {\"t_all\": }}\n"
                                                  "\x01\x02\xff binary\n"
                                                  "[1, 2]\n"
                                                  "{\"elapsed\": 3}\n"
                                                  "{\"measurements\": {\"t_all\": 3}}\n"
                                                  "{\"elapsed\": 4, \"measurements\": {\"t_all\": 4}}\r\n"
                                                  "{\"elapsed\": 5, \"measurements\": {\"t_all\": 5}} x\n"
                                                  "{\"elapsed\": 6, \"measurements\": {\"t_all\": 6}}\n"
                                                  "{\"elapsed\": 7, \"measurements\": {\"t_al");
    const struct usage_record *record;
    static const double elapsed[] = {1, 4, 6};
    size_t first;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(usage_reader_next(reader, &record), 1);
        assert_true(record->elapsed == elapsed[i]);
        assert_true(find(&run, record, "t_all", NULL)->number == elapsed[i]);
    }
    assert_int_equal(usage_reader_next(reader, &record), 0);
    assert_int_equal(usage_reader_damaged(reader, &first), 7);
    assert_int_equal(first, 3);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void a_whole_last_line_without_its_newline_counts(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct usage_reader *reader = open_text(&run, "{\"elapsed\": 1, \"measurements\": {}}");
    const struct usage_record *record;

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_int_equal(usage_reader_next(reader, &record), 0);
    assert_int_equal(usage_reader_damaged(reader, NULL), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void a_value_of_another_kind_than_its_type_is_passed_over(void **state)
{
    (void)state;
    static const char *const keys[] = {"t_rss", "t_all", "t_name", "t_state"};
    static const char *const values[] = {"1",  "\"x\"", "{\"7\": 1}", "{\"7\": \"x\"}", "{\"7\": {\"R\": 1}}",
                                         "[]", "null",  "true",       "{\"7\": [1]}",   "{\"7\": null}"};
    /* By key, the values that are right. */
    static const unsigned right[] = {1u << 2, 1u << 0, 1u << 1,
                                     1u << 2 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 9};
    struct recording run = parse_run(registry);
    const struct usage_record *record;
    char line[256];

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            (void)snprintf(line, sizeof(line),
                           "{\"elapsed\": 1, \"measurements\": {\"%s\": %s, \"t_ave_all\": 9}}", keys[k],
                           values[v]);

            struct usage_reader *reader = open_text(&run, line);

            assert_int_equal(usage_reader_next(reader, &record), 1);
            if ((record->count == 2) != (right[k] >> v & 1))
                fail_msg("%s: %s", keys[k], values[v]);
            assert_true(find(&run, record, "t_ave_all", NULL)->number == 9);
            usage_reader_free(reader);
        }
    recording_fini(&run);
}

static void wrong_types_around_the_values_are_no_record_or_passed_over(void **state)
{
    (void)state;
    static const char *const words[] = {"timestamp", "elapsed", "num_samples", "measurements"};
    static const char *const values[] = {"1", "-1", "1e400", "\"x\"", "{}", "[[]]", "null", "true"};
    struct recording runs[] = {parse_run(registry), parse_run(duct_info)};
    const struct usage_record *record;
    char line[256];

    for (size_t r = 0; r < 2; r++) {
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
                (void)snprintf(line, sizeof(line),
                               "{\"%s\": %s, \"processes\": %s, \"totals\": %s, \"averages\": %s}\n",
                               words[w], values[v], values[v], values[v], values[v]);

                struct usage_reader *reader = open_text(&runs[r], line);
                int code = usage_reader_next(reader, &record);

                assert_int_equal(code, 0);
                assert_int_equal(usage_reader_damaged(reader, NULL), 1);
                usage_reader_free(reader);
            }
        recording_fini(&runs[r]);
    }
}

static void nesting_past_the_limit_is_a_damaged_line(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct strbuf text = STRBUF_INIT;
    const struct usage_record *record;

    for (int depth = 62; depth <= 65; depth++) {
        strbuf_reset(&text);
        strbuf_adds(&text, "{\"elapsed\": 1, \"measurements\": {\"t_unknown\": ");
        for (int i = 0; i < depth; i++)
            strbuf_addc(&text, '[');
        for (int i = 0; i < depth; i++)
            strbuf_addc(&text, ']');
        strbuf_adds(&text, "}}\n");

        struct usage_reader *reader = open_text(&run, strbuf_text(&text));

        assert_int_equal(usage_reader_next(reader, &record), depth + 2 <= JSON_DEPTH_MAX);
        usage_reader_free(reader);
    }
    strbuf_fini(&text);
    recording_fini(&run);
}

/* -- Long lines and files -- */

static char folder[] = "/tmp/metron-usage-XXXXXX";
static char usage_path[64];

static struct usage_reader *open_file(struct recording *run)
{
    run->usage_path = usage_path;
    return open_run(run, NULL);
}

static void write_run_of(FILE *file, char byte, size_t count)
{
    static char block[1 << 16];

    memset(block, byte, sizeof(block));
    for (; count > sizeof(block); count -= sizeof(block))
        assert_int_equal(fwrite(block, 1, sizeof(block), file), sizeof(block));
    assert_int_equal(fwrite(block, 1, count, file), count);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(usage_path, sizeof(usage_path), "%s/usage.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(usage_path) | rmdir(folder);
}

static void lines_longer_than_a_piece_are_read_and_those_past_the_limit_are_not(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    const size_t lengths[] = {100, 3 << 20, LINE_MAX_BYTES + 10, (size_t)1 << 20, 17};
    const struct usage_record *record;
    FILE *file = fopen(usage_path, "w");
    size_t first;

    assert_non_null(file);
    for (size_t i = 0; i < 5; i++) {
        (void)fprintf(file, "{\"elapsed\": %zu, \"measurements\": {\"t_name\": \"", i);
        write_run_of(file, 'x', lengths[i]);
        (void)fprintf(file, "\"}}\n");
    }
    assert_int_equal(fclose(file), 0);

    struct usage_reader *reader = open_file(&run);

    for (size_t i = 0; i < 5; i++) {
        if (lengths[i] > LINE_MAX_BYTES)
            continue;
        assert_int_equal(usage_reader_next(reader, &record), 1);
        assert_true(record->elapsed == (double)i);
        assert_int_equal(strlen(find(&run, record, "t_name", NULL)->text), lengths[i]);
    }
    assert_int_equal(usage_reader_next(reader, &record), 0);
    assert_int_equal(usage_reader_damaged(reader, &first), 1);
    assert_int_equal(first, 3);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void a_file_that_is_one_endless_line_is_one_damaged_line(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    const struct usage_record *record;
    FILE *file = fopen(usage_path, "w");
    size_t first;

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(usage_path, (off_t)LINE_MAX_BYTES * 3), 0);

    struct usage_reader *reader = open_file(&run);

    assert_int_equal(usage_reader_next(reader, &record), 0);
    assert_int_equal(usage_reader_damaged(reader, &first), 1);
    assert_int_equal(first, 1);
    usage_reader_free(reader);
    recording_fini(&run);
}

/* The lines fall on every place relative to the end of a piece. */
static void no_line_is_lost_at_the_end_of_a_piece(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    const struct usage_record *record;
    FILE *file = fopen(usage_path, "w");
    const int lines = 60000;

    assert_non_null(file);
    for (int i = 0; i < lines; i++)
        (void)fprintf(file, "{\"elapsed\": %d, \"measurements\": {\"t_all\": %d}}\n", i, i * 7);
    assert_int_equal(fclose(file), 0);

    struct usage_reader *reader = open_file(&run);

    for (int i = 0; i < lines; i++) {
        assert_int_equal(usage_reader_next(reader, &record), 1);
        assert_true(record->elapsed == i && record->count == 1 && record->values[0].number == i * 7);
    }
    assert_int_equal(usage_reader_next(reader, &record), 0);
    usage_reader_free(reader);
    recording_fini(&run);
}

/* The newline is the last byte of a piece, the first of the next, and the second. */
static void a_newline_on_either_side_of_the_end_of_a_piece_is_seen(void **state)
{
    (void)state;
    const size_t piece = (size_t)1 << 20;

    for (size_t length = piece - 1; length <= piece + 1; length++) {
        FILE *file = fopen(usage_path, "w");
        struct line_reader lines;
        struct json_text line;

        assert_non_null(file);
        write_run_of(file, 'x', length);
        (void)fprintf(file, "\nnext");
        assert_int_equal(fclose(file), 0);
        assert_int_equal(line_reader_open(&lines, usage_path, NULL), 0);
        assert_int_equal(line_reader_next(&lines, &line), 1);
        assert_int_equal(line.length, length);
        assert_int_equal(line_reader_next(&lines, &line), 1);
        assert_true(json_text_is(&line, "next"));
        assert_int_equal(line_reader_next(&lines, &line), 0);
        line_reader_fini(&lines);
    }
}

static void a_record_with_too_many_values_is_passed_over(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    const struct usage_record *record;
    FILE *file = fopen(usage_path, "w");

    assert_non_null(file);
    (void)fprintf(file, "{\"elapsed\": 1, \"measurements\": {\"t_rss\": {\"0\": 1");
    for (size_t i = 0; i < USAGE_VALUES_MAX; i++)
        (void)fprintf(file, ",\"1\":1");
    (void)fprintf(file, "}}}\n{\"elapsed\": 2, \"measurements\": {}}\n");
    assert_int_equal(fclose(file), 0);

    struct usage_reader *reader = open_file(&run);

    assert_int_equal(usage_reader_next(reader, &record), 1);
    assert_true(record->elapsed == 2 && record->count == 0);
    assert_int_equal(usage_reader_damaged(reader, NULL), 1);
    usage_reader_free(reader);
    recording_fini(&run);
}

static void a_run_without_a_usage_file_says_so(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    struct usage_reader *reader;
    struct metron_error error = {0};

    run.usage_path = NULL;
    assert_int_equal(usage_reader_open(&run, NULL, &reader, &error), -ENOENT);
    assert_non_null(strstr(error.message, "no usage.jsonl"));
    assert_null(reader);
    run.usage_path = "/nowhere/usage.jsonl";
    assert_int_equal(usage_reader_open(&run, NULL, &reader, &error), -ENOENT);
    run.usage_path = "/";
    assert_int_equal(usage_reader_open(&run, NULL, &reader, &error), -EINVAL);
    assert_non_null(strstr(error.message, "not a regular file"));
    recording_fini(&run);
}

static void a_record_without_a_timestamp_has_the_time_of_its_run(void **state)
{
    (void)state;
    struct recording run = parse_run(registry);
    const struct usage_record *record;

    for (int told = 0; told < 2; told++) {
        run.start_wall = told ? 1000 : 0;
        struct usage_reader *reader = open_text(&run, "{\"elapsed\": 1.5, \"measurements\": {}}\n");
        assert_int_equal(usage_reader_next(reader, &record), 1);
        assert_true(record->wall == (told ? 1001.5 : 0));
        usage_reader_free(reader);
    }
    recording_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_as_in_the_file),
        cmocka_unit_test(only_wanted_keys_are_there),
        cmocka_unit_test(tallies_of_a_single_key_are_json),
        cmocka_unit_test(keys_in_any_order_and_unknown_ones_are_taken_right),
        cmocka_unit_test(every_key_of_a_registry_is_told_from_others),
        cmocka_unit_test(a_record_without_elapsed_is_placed_by_its_timestamp),
        cmocka_unit_test(a_record_without_a_timestamp_has_the_time_of_its_run),
        cmocka_unit_test(damaged_lines_are_passed_over_and_counted),
        cmocka_unit_test(a_whole_last_line_without_its_newline_counts),
        cmocka_unit_test(a_value_of_another_kind_than_its_type_is_passed_over),
        cmocka_unit_test(wrong_types_around_the_values_are_no_record_or_passed_over),
        cmocka_unit_test(nesting_past_the_limit_is_a_damaged_line),
        cmocka_unit_test(lines_longer_than_a_piece_are_read_and_those_past_the_limit_are_not),
        cmocka_unit_test(a_file_that_is_one_endless_line_is_one_damaged_line),
        cmocka_unit_test(no_line_is_lost_at_the_end_of_a_piece),
        cmocka_unit_test(a_newline_on_either_side_of_the_end_of_a_piece_is_seen),
        cmocka_unit_test(a_record_with_too_many_values_is_passed_over),
        cmocka_unit_test(a_run_without_a_usage_file_says_so),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
