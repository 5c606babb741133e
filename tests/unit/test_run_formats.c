/* Listings of runs in the formats for programs. */
#include "listing_fixture.h"

static void add_text_run(const char *name, enum field_kind kind, const char *value, double number)
{
    struct recorded_field field = {.name = name, .kind = kind, .text = value, .number = number};
    struct recording recording = {.path = "p", .fields = &field, .field_count = 1};

    if (listing.column_count == 0)
        assert_int_equal(run_columns_add_named(&listing, name, false, false, false), 0);
    assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
}

static void csv_is_quoted_as_rfc_4180_wants_it(void **state)
{
    (void)state;
    add_text_run("a,b", FIELD_TEXT, "plain", 0);
    add_text_run("a,b", FIELD_TEXT, "say \"x\", please", 0);
    add_text_run("a,b", FIELD_TEXT, "two\nlines", 0);
    add_text_run("a,b", FIELD_JSON, "[\n  1,\n  \"a b\"\n]", 0);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text), "\"a,b\"\n"
                                            "plain\n"
                                            "\"say \"\"x\"\", please\"\n"
                                            "\"two\nlines\"\n"
                                            "\"[1, \"\"a b\"\"]\"\n");
}

static void json_of_a_field_is_copied_or_becomes_a_text(void **state)
{
    (void)state;
    add_text_run("x", FIELD_JSON, "{\"a\": [1, 2.50, true, null, {}], \"b\\u0041\": \"\\n\"}", 0);
    add_text_run("x", FIELD_JSON, "[1 2]", 0);
    add_text_run("x", FIELD_JSON, "[1.2.3]", 0);
    run_list_jsonl(&text, &listing);
    assert_string_equal(strbuf_text(&text), "{\"x\": {\"a\": [1, 2.5, true, null, {}], \"bA\": \"\\n\"}}\n"
                                            "{\"x\": \"[1 2]\"}\n"
                                            "{\"x\": \"[1.2.3]\"}\n");
}

static void yaml_escapes_what_yaml_does_not_let_stand(void **state)
{
    (void)state;
    add_text_run("x", FIELD_TEXT, "\x7f\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\xc3\xa9: # ok", 0);
    add_text_run("x", FIELD_NUMBER, NULL, 1e300);
    add_text_run("x", FIELD_NUMBER, NULL, 1.5e-7);
    add_text_run("x", FIELD_BOOLEAN, NULL, 1);
    run_list_yaml(&text, &listing);
    assert_string_equal(strbuf_text(&text), "- x: \"\\u007f\\u0085\\u2028\\ufeff\xc3\xa9: # ok\"\n"
                                            "- x: 1.0e+300\n"
                                            "- x: 1.5e-07\n"
                                            "- x: true\n");
}

static void yaml_names_that_are_words_are_quoted(void **state)
{
    (void)state;
    add_text_run("yes", FIELD_BOOLEAN, NULL, 0);
    run_list_yaml(&text, &listing);
    assert_string_equal(strbuf_text(&text), "- \"yes\": false\n");
}

static void nothing_is_still_a_whole_document(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_named(&listing, "wall", false, false, false), 0);
    run_list_json(&text, &listing);
    run_list_yaml(&text, &listing);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text), "[]\n[]\nwall\n");
}

static void numbers_are_read_back_as_they_were(void **state)
{
    static const double values[] = {
        0,    -0.0,  1,       0.1,     1.0 / 3,  9007199254740991.0, 82542919.68,
        1e22, 1e300, DBL_MIN, DBL_MAX, 4.9e-324, 97396817.92000002,  1794766974.1290178};
    char number[JSON_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_true(strtod(json_number_text(values[i], number), NULL) == values[i]);
    assert_string_equal(json_number_text(86134784, number), "86134784");
    assert_string_equal(json_number_text(-0.0, number), "0");
    assert_string_equal(json_number_text(0.1, number), "0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(csv_is_quoted_as_rfc_4180_wants_it),        TEST(json_of_a_field_is_copied_or_becomes_a_text),
        TEST(yaml_escapes_what_yaml_does_not_let_stand), TEST(yaml_names_that_are_words_are_quoted),
        TEST(nothing_is_still_a_whole_document),         TEST(numbers_are_read_back_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
