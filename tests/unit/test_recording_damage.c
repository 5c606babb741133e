/* info.json that is elsewhere, damaged, another program's or hostile: a clear word, and no crash. */
#include "store/recording/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_reader.h"
#include "base/strbuf.h"
#include "recording_fixture.h"

/* -- Paths -- */

static void any_file_of_a_run_leads_to_it(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "metron-ranks/rank1_info.json", "metron-ranks/rank1_usage.jsonl", "metron-ranks/rank1_events.jsonl",
        "metron-ranks/rank1_stdout",    "metron-ranks/rank1_stderr",      "metron-ranks/rank1_",
    };
    static const char *const folders[] = {"metron-ended", "metron-ended/", "metron-ended/usage.jsonl",
                                          "metron-ended/stderr"};
    char path[512];

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        (void)snprintf(path, sizeof(path), RECORDINGS "%s", paths[i]);

        struct recording run = read_whole(path);

        assert_string_equal(run.path, RECORDINGS "metron-ranks/rank1_info.json");
        assert_string_equal(run.usage_path, RECORDINGS "metron-ranks/rank1_usage.jsonl");
        recording_fini(&run);
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), RECORDINGS "%s", folders[i]);

        struct recording run = read_whole(path);

        assert_string_equal(run.path, RECORDINGS "metron-ended/info.json");
        recording_fini(&run);
    }
}

static void assert_refused(const char *path, int expected, const char *said)
{
    struct recording run;
    struct metron_error error = {0};
    int code = recording_read(path, &whole, &run, &error);

    if (code != expected || !strstr(error.message, said))
        fail_msg("%s: %d, %s", path, code, error.message);
    assert_null(run.fields);
    recording_fini(&run);
}

static void what_names_no_run_is_told(void **state)
{
    (void)state;
    char folder[] = "/tmp/metron-recording-XXXXXX";
    char path[64];

    assert_refused(RECORDINGS "metron-nothing", -ENOENT, "no such run");
    assert_refused(RECORDINGS "metron-ranks", -ENOENT, "3 runs in this folder");
    assert_refused("", -ENOENT, "empty path");
    assert_refused("/dev/null/info.json", -ENOTDIR, "Not a directory");
    assert_non_null(mkdtemp(folder));
    assert_refused(folder, -ENOENT, "no run in this folder");
    (void)snprintf(path, sizeof(path), "%s/info.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, -EINVAL, "not a regular file");
    assert_int_equal(unlink(path), 0);

    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_refused(path, -EBADMSG, "empty");
    assert_int_equal(truncate(path, (off_t)RECORDING_INFO_MAX + 1), 0);
    assert_refused(path, -EFBIG, "16 MiB");
    assert_int_equal(truncate(path, 4096), 0); /* NUL bytes */
    assert_refused(path, -EBADMSG, "no recording of metron or con-duct");
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/usage.jsonl", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_refused(path, -EBADMSG, "missing, and no record can be read from the usage file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* -- Bad input -- */

static void another_schema_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct metron_error error = {0};

    assert_int_equal(parse_code("{\"schema_version\": \"2.0\", \"metron_version\": \"3.1\"}", &error),
                     -ENOTSUP);
    assert_non_null(strstr(error.message, "schema 2.0"));
    assert_non_null(strstr(error.message, "3.1"));
    assert_int_equal(parse_code("{\"schema_version\": \"1.9\", \"metron_version\": \"1\"}", &error), 0);
    assert_int_equal(parse_code("{\"schema_version\": \"10.0\", \"metron_version\": \"1\"}", &error),
                     -ENOTSUP);
    assert_int_equal(parse_code("{\"schema_version\": \"0.1.1\", \"duct_version\": \"0.5.0\"}", &error),
                     -ENOTSUP);
    assert_non_null(strstr(error.message, "0.1.1"));
    assert_int_equal(parse_code("{\"schema_version\": \"0.3.0\", \"duct_version\": \"9\"}", &error),
                     -ENOTSUP);
    assert_int_equal(parse_code("{\"schema_version\": \"0.2.9\", \"duct_version\": \"9\"}", &error), 0);
    assert_int_equal(parse_code("{\"metron_version\": \"1\"}", &error), -EBADMSG);
    assert_int_equal(parse_code("{\"schema_version\": 1.0, \"metron_version\": \"1\"}", &error), -EBADMSG);
    assert_int_equal(parse_code("{\"duct_version\": \"1\"}", &error), -EBADMSG);
}

static void what_is_no_recording_is_refused_with_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"{}", "neither metron_version nor duct_version"},
        {"{\"name\": \"left-pad\", \"version\": \"1.0\"}", "neither"},
        {"[1, 2]", "no recording of metron or con-duct"},
        {"17", "no recording of metron or con-duct"},
        {"not JSON\n", "no recording of metron or con-duct"},
        {"root:x:0:0::/root:/bin/sh\n", "no recording of metron or con-duct"},
        {"{not JSON}\n", "damaged: line 1, column 2"},
        {"{\"metron_version\": \"1\",\n \"schema_version\": 1.0.0}", "line 2"},
        {"{\"metron_version\": \"1\"", "damaged"},
        {METRON("") "x", "behind the end"},
        {"\x7f"
         "ELF\x02\x01\x01",
         "no recording of metron or con-duct"},
    };
    struct metron_error error;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        error = (struct metron_error){0};
        assert_int_equal(parse_code(cases[i].text, &error), -EBADMSG);
        if (!strstr(error.message, cases[i].said) || !strstr(error.message, "/nowhere/info.json"))
            fail_msg("%s", error.message);
    }
}

static void cut_off_anywhere_it_is_damaged(void **state)
{
    (void)state;
    struct recording run;
    struct strbuf text = STRBUF_INIT;
    char block[4096];
    FILE *file = fopen(RECORDINGS "duct-0.2.2/" DUCT "info.json", "r");

    assert_non_null(file);
    for (size_t count; (count = fread(block, 1, sizeof(block), file)) > 0;)
        strbuf_add(&text, block, count);
    assert_int_equal(fclose(file), 0);
    while (text.length > 0 && text.data[text.length - 1] != '}')
        text.length--;
    assert_int_equal(recording_parse(text.data, text.length, "info.json", &whole, &run, NULL), 0);
    recording_fini(&run);
    for (size_t length = 0; length < text.length; length++) {
        /* In a block of exactly that size, so that a byte too many is seen. */
        char *copy = malloc(length + 1);

        assert_non_null(copy);
        memcpy(copy, text.data, length);
        assert_int_equal(recording_parse(copy, length, "info.json", &whole, &run, NULL), -EBADMSG);
        free(copy);
    }
    strbuf_fini(&text);
}

/* Wherever a value stands, another kind of value is passed over. */
static void wrong_types_are_passed_over(void **state)
{
    (void)state;
    static const char *const names[] = {
        "status",       "recorder",          "command", "arguments",   "start_time", "system",    "env",
        "output_paths", "headline",          "stall",   "peak_memory", "syscalls",   "survivors", "job",
        "provenance",   "execution_summary",
    };
    static const char *const inner[] = {
        "recorder\": {\"pid",
        "recorder\": {\"start_ticks",
        "recorder\": {\"boot_id",
        "headline\": {\"cpu_seconds",
        "headline\": {\"peak_memory_bytes",
        "provenance\": {\"measurements",
        "provenance\": {\"collectors",
        "execution_summary\": {\"start_time",
        "execution_summary\": {\"wall_clock_time",
        "execution_summary\": {\"proc_peak_rss_total",
    };
    static const char *const words[] = {"source", "field", "unit", "scope", "type", "reduce"};
    static const char *const values[] = {
        "17",   "-1e300", "\"text\"",       "true", "null", "[]", "[[1]]", "{}", "{\"a\": {\"b\": 1}}",
        "\"\"", "0.5",    "{\"value\": []}"};
    struct asked asked = {.answer = true};
    const struct recording_wish wish = {.keys = true, .lives = lives, .context = &asked, .now = 1};
    struct recording run;
    char text[512];

    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            (void)snprintf(text, sizeof(text), METRON(", \"status\": \"running\", \"%s\": %s"), names[i],
                           values[v]);
            assert_int_equal(parse(text, &wish, &run, NULL), 0);
            recording_fini(&run);
        }
        for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
            (void)snprintf(text, sizeof(text), METRON(", \"status\": \"running\", \"%s\": %s}"), inner[i],
                           values[v]);
            assert_int_equal(parse(text, &wish, &run, NULL), 0);
            recording_fini(&run);
        }
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            (void)snprintf(text, sizeof(text),
                           METRON(", \"provenance\": {\"measurements\": {\"proc_rss\": {\"%s\": %s}}}"),
                           words[i], values[v]);
            assert_int_equal(parse(text, &wish, &run, NULL), 0);
            assert_int_equal(recording_key_index(&run, "proc_rss"), 0);
            recording_fini(&run);
        }
    }
    assert_int_equal(
        parse(METRON(", \"execution_summary\": {\"exit_code\": \"three\", \"cause\": 4}"), &wish, &run, NULL),
        0);
    assert_null(recording_text(&run, "cause"));

    double number;

    assert_false(recording_number(&run, "exit_code", &number));
    recording_fini(&run);
}

static void deep_nesting_has_an_end(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;
    struct recording run;

    for (int depth = 10; depth <= 200; depth += 10) {
        strbuf_reset(&text);
        strbuf_adds(&text, "{\"schema_version\": \"1.0\", \"metron_version\": \"1\"");
        for (int i = 0; i < depth; i++)
            strbuf_adds(&text, ", \"a\": {\"b\": 1");
        for (int i = 0; i <= depth; i++)
            strbuf_addc(&text, '}');

        int code = parse(strbuf_text(&text), &whole, &run, NULL);

        assert_int_equal(code, depth + 1 > JSON_DEPTH_MAX ? -EBADMSG : 0);
        if (code == 0)
            assert_int_equal(recording_field(&run, "a.a.a.a.a.a.a")->kind, FIELD_JSON);
        recording_fini(&run);
    }
    strbuf_fini(&text);
}

static void too_many_fields_are_refused(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;
    struct metron_error error = {0};

    strbuf_adds(&text, "{\"schema_version\": \"1.0\", \"metron_version\": \"1\", \"env\": {\"a\": 1");
    for (int i = 0; i < 5000; i++)
        strbuf_addf(&text, ", \"a%d\": 1", i);
    strbuf_adds(&text, "}}");
    assert_int_equal(parse_code(strbuf_text(&text), &error), -EFBIG);
    assert_non_null(strstr(error.message, "4096 fields"));
    strbuf_fini(&text);
}

static void names_and_texts_with_escapes_are_decoded(void **state)
{
    (void)state;
    struct recording run;

    assert_int_equal(
        parse(
            METRON(", \"env\": {\"A\\u00e9\\\"\": \"x\\ny\"}, \"execution_summary\": {\"a\\tb\": \"c\\td\"}"),
            &whole, &run, NULL),
        0);
    assert_text(&run, "env.A\xc3\xa9\"", "x\ny");
    assert_text(&run, "a\tb", "c\td");
    recording_fini(&run);

    static const char nameless[] = "{\"\": {\"\": {\"\": 7}}, \"execution_summary\": {\"\": \"x\"},"
                                   " \"schema_version\": \"1.0\", \"metron_version\": \"1\"}";

    assert_int_equal(parse(nameless, &whole, &run, NULL), 0);
    assert_number(&run, "..", 7, UNIT_NONE);
    assert_text(&run, "", "x");
    recording_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_file_of_a_run_leads_to_it),
        cmocka_unit_test(what_names_no_run_is_told),
        cmocka_unit_test(another_schema_is_refused_with_a_reason),
        cmocka_unit_test(what_is_no_recording_is_refused_with_the_place),
        cmocka_unit_test(cut_off_anywhere_it_is_damaged),
        cmocka_unit_test(wrong_types_are_passed_over),
        cmocka_unit_test(deep_nesting_has_an_end),
        cmocka_unit_test(too_many_fields_are_refused),
        cmocka_unit_test(names_and_texts_with_escapes_are_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
