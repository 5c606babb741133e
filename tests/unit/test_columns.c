/* Columns: which measurements snapshots keep, how a value is stored and shown, and SQL written over them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "columns_fixture.h"
#include "schema/registry.h"
#include "store/history/sql.h"

static const char *const fields[] = {"a", "b", "c", "d"};
#define OF(KEY, SCOPE, TYPE, UNIT, REDUCE, ...)                                                              \
    {                                                                                                        \
        .key = (KEY), .scope = (SCOPE), .type = (TYPE), .unit = (UNIT), .reduce = (REDUCE), .meaning = "m",  \
        __VA_ARGS__                                                                                          \
    }
static const struct measurement measurements[] = {
    OF("x_bytes", SCOPE_PER_PID, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX, COLUMN("bytes_mb", "bytes")),
    OF("x_share", SCOPE_PER_PID, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX, COLUMN("share_percent", "share"),
       .derive = DERIVE_RATE),
    OF("x_not_kept", SCOPE_PER_PID, TYPE_GAUGE, UNIT_COUNT, REDUCE_MAX),
    OF("x_total", SCOPE_PER_PID, TYPE_COUNTER, UNIT_BYTES, REDUCE_DELTA, COLUMN("total", "total")),
    OF("x_load", SCOPE_SINGLE, TYPE_GAUGE, UNIT_NONE, REDUCE_MAX, COLUMN("load", "load_1")),
};
static const struct source source = {.name = "x",
                                     .title = "t",
                                     .fields = fields,
                                     .field_count = 4,
                                     .measurements = measurements,
                                     .measurement_count = 5};
static const struct source *const sources[] = {&source};

static struct snapshot_columns made(void)
{
    struct snapshot_columns columns;

    assert_int_equal(snapshot_columns_init(&columns, sources, 1), 0);
    return columns;
}

static void what_has_a_column_is_kept_in_the_order_of_the_registry(void **state)
{
    (void)state;
    const struct snapshot_columns columns = made();

    assert_int_equal(columns.process.count, 3);
    assert_string_equal(columns.process.of[0]->key, "x_bytes");
    assert_string_equal(columns.process.of[2]->key, "x_total");
    assert_int_equal(columns.machine.count, 1);
    assert_string_equal(columns.machine.of[0]->key, "x_load");
}

static void names_of_this_build_are_unique(void **state)
{
    (void)state;
    const struct columns *lists[] = {&all_columns()->process, &all_columns()->machine};

    for (size_t k = 0; k < 2; k++)
        for (unsigned i = 0; i < lists[k]->count; i++)
            for (unsigned j = 0; j < i; j++) {
                assert_string_not_equal(lists[k]->of[i]->column, lists[k]->of[j]->column);
                assert_string_not_equal(lists[k]->of[i]->stored, lists[k]->of[j]->stored);
            }
}

static void a_value_is_stored_whole_and_comes_back(void **state)
{
    (void)state;
    const struct snapshot_columns columns = made();
    const struct measurement *bytes = columns.process.of[0], *share = columns.process.of[1],
                             *total = columns.process.of[2], *load = columns.machine.of[0];

    assert_int_equal(column_store(bytes, 4096.0 * 3).whole, 12);
    assert_true(column_load(bytes, (union stored_value){.whole = 12}) == 4096 * 3);
    assert_int_equal(column_store(share, 0.1234).whole, 123); /* tenths of a percent */
    assert_true(fabs(column_load(share, (union stored_value){.whole = 123}) - 0.123) < 1e-12);
    assert_int_equal(column_store(total, 4097).whole, 4097);
    assert_int_equal(column_store(total, 1e300).whole, INT64_C(1) << 53);
    const struct measurement seconds = {.type = TYPE_COUNTER, .unit = UNIT_SECONDS};
    assert_true(column_is_real(&seconds) && column_store(&seconds, 0.25).real == 0.25);
    assert_true(column_is_real(load) && column_store(load, 0.07).real == 0.07);
    assert_true(column_has_mean(bytes) && column_has_mean(share) && !column_has_mean(total));
}

static void json_has_what_is_there(void **state)
{
    (void)state;
    const struct snapshot_columns columns = made();
    double numbers[3] = {1048576 * 1.5, 0.5, 7}, shown = 0;
    struct value_row row = {.present = 5, .numbers = numbers};
    struct strbuf text = STRBUF_INIT;
    struct json json;

    json_init(&json, &text, 0);
    json_object_begin(&json);
    value_row_json(&json, &columns.process, &row);
    json_object_end(&json);
    assert_string_equal(strbuf_text(&text), "{\"bytes_mb\":1.5,\"total\":7}");
    assert_true(value_row_find(&columns.process, &row, "bytes_mb", &shown) && shown == 1.5);
    assert_false(value_row_find(&columns.process, &row, "share_percent", &shown));
    value_row_set(&row, 1, 0.5);
    assert_true(value_row_find(&columns.process, &row, "share_percent", &shown) && shown == 50);
    strbuf_fini(&text);
}

static void expect_sql(const char *template, const char *expected)
{
    const struct snapshot_columns columns = made();
    struct strbuf sql = STRBUF_INIT;

    sql_expand(&sql, template, &columns);
    assert_string_equal(strbuf_text(&sql), expected);
    strbuf_fini(&sql);
}

static void a_template_names_every_column(void **state)
{
    (void)state;
    expect_sql("INSERT INTO samples(id{P, $s}) VALUES(?{P, ?})",
               "INSERT INTO samples(id, bytes, share, total) VALUES(?, ?, ?, ?)");
    expect_sql("a{p, $s REAL, $s_max $t}b",
               "a, bytes REAL, bytes_max INTEGER, share REAL, share_max INTEGERb");
    expect_sql("{P, $s$d AS $n}",
               ", bytes / 1024.0 AS bytes_mb, share / 10.0 AS share_percent, total AS total");
    expect_sql("ticks({M$s $t}{m, $s_max})", "ticks(load_1 REAL, load_1_max)");
    expect_sql("coalesce(x, '{}') {\"a\": '$[0]'} {P", "coalesce(x, '{}') {\"a\": '$[0]'} {P");
}

static int check(struct measurement measurement)
{
    struct source other = source;

    measurement.key = "x_y";
    measurement.meaning = "m";
    other.measurements = &measurement;
    other.measurement_count = 1;
    return measurement_check(&other, &measurement, NULL);
}

static void only_what_a_pass_has_read_may_have_a_column(void **state)
{
    (void)state;
    assert_int_equal(check((struct measurement){.unit = UNIT_COUNT, COLUMN("y", "y")}), 0);
    assert_int_equal(check((struct measurement){.unit = UNIT_COUNT, .column = "y"}), -EINVAL);
    assert_int_equal(
        check((struct measurement){.unit = UNIT_COUNT, .collapse = COLLAPSE_SUM, COLUMN("y", "y")}), -EINVAL);
    assert_int_equal(
        check((struct measurement){
            .scope = SCOPE_PER_PID, .type = TYPE_LABEL, .reduce = REDUCE_LAST, COLUMN("y", "y")}),
        -EINVAL);
}

static void the_choice_of_columns_leaves_out_what_cannot_be_read(void **state)
{
    (void)state;
    struct registry registry;
    const char *const reasons[64] = {"no file"}; /* as many as fields a source may have */

    assert_int_equal(registry_init(&registry, collector_sources(), collector_count, NULL), 0);
    registry_set_reasons(&registry, 0, reasons);
    registry_select_columns(&registry);
    assert_false(registry_find(&registry, "proc_rss")->selected);
    assert_true(registry_find(&registry, "proc_vsz")->selected);
    assert_false(registry_find(&registry, "proc_rss_total")->selected);
    registry_fini(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_a_column_is_kept_in_the_order_of_the_registry),
        cmocka_unit_test(names_of_this_build_are_unique),
        cmocka_unit_test(a_value_is_stored_whole_and_comes_back),
        cmocka_unit_test(json_has_what_is_there),
        cmocka_unit_test(a_template_names_every_column),
        cmocka_unit_test(only_what_a_pass_has_read_may_have_a_column),
        cmocka_unit_test(the_choice_of_columns_leaves_out_what_cannot_be_read),
    };

    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
