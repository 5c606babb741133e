#include "view/diff/rows.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/colors.h"
#include "view/table.h"

enum { COLUMN_BEFORE, COLUMN_NOISE, COLUMN_NOW, COLUMN_CHANGE, COLUMN_COUNT };
enum { NAME_LEAST = 18, REMARK_INDENT = 4 }; /* columns; the name with its mark */

struct cells {
    char text[COLUMN_COUNT][UNIT_TEXT_SIZE];
};

char *diff_amount(enum unit unit, double value, char out[UNIT_TEXT_SIZE])
{
    if (unit != UNIT_NONE)
        return unit_human(unit, value, out);
    (void)snprintf(out, UNIT_TEXT_SIZE, "%.6g", value);
    return out;
}

/* What would be shown as -0.0 is 0.0. */
static double shown_zero(double value)
{
    return fabs(value) < 0.05 ? 0 : value;
}

/* How many times `less` goes into `more`, which may be past any double. */
static void write_factor(const char *sign, double more, double less, char out[UNIT_TEXT_SIZE])
{
    double factor = more / less;

    if (factor >= 1e6)
        (void)snprintf(out, UNIT_TEXT_SIZE, "%s 10^%.0f", sign, floor(log10(more) - log10(less)));
    else
        (void)snprintf(out, UNIT_TEXT_SIZE, factor < 1000 ? "%s %.3g" : "%s %.0f", sign, factor);
}

static void write_difference(enum unit unit, double difference, char out[UNIT_TEXT_SIZE])
{
    char amount[UNIT_TEXT_SIZE];

    (void)snprintf(out, UNIT_TEXT_SIZE, "%s%.40s", difference > 0 ? "+" : "",
                   diff_amount(unit, difference, amount));
}

char *diff_change(enum unit unit, double before, double now, char out[UNIT_TEXT_SIZE])
{
    double ratio = now / before, percent = shown_zero(100 * (ratio - 1));

    if (unit == UNIT_PERCENT) {
        double points = shown_zero(now - before);
        (void)snprintf(out, UNIT_TEXT_SIZE, points == 0 ? "%.1f points" : "%+.1f points", points);
    } else if (before < 0 || now < 0) {
        write_difference(unit, now - before, out);
    } else if (before == 0 || now == 0) {
        (void)snprintf(out, UNIT_TEXT_SIZE, before == now ? "=" : now == 0 ? "to 0" : "from 0");
    } else if (ratio >= 2 || ratio <= 0.5) {
        write_factor(ratio >= 2 ? "x" : "÷", fmax(before, now), fmin(before, now), out);
    } else {
        (void)snprintf(out, UNIT_TEXT_SIZE, percent == 0 ? "%.1f %%" : "%+.1f %%", percent);
    }
    return out;
}

static void fill_change(const struct comparison_field *field, char out[UNIT_TEXT_SIZE])
{
    const struct change *change = &field->change;

    if (change->now == change->before)
        (void)snprintf(out, UNIT_TEXT_SIZE, "=");
    else if (strcmp(field->name, "exit_code") == 0)
        out[0] = '\0';
    else
        (void)diff_change(field->unit, change->before, change->now, out);
}

/* Of a percentage in points, of other amounts in percent of the median. */
static void fill_noise(const struct comparison_field *field, char out[UNIT_TEXT_SIZE])
{
    const struct change *change = &field->change;
    bool relative = change->before != 0 && field->unit != UNIT_NONE && field->unit != UNIT_PERCENT;
    double noise = relative ? 100 * change->noise / fabs(change->before) : change->noise;
    const char *unit = relative ? " %" : field->unit == UNIT_PERCENT ? " points" : "";

    if (noise >= 10 && noise < 1e6)
        (void)snprintf(out, UNIT_TEXT_SIZE, "± %.0f%s", noise, unit);
    else
        (void)snprintf(out, UNIT_TEXT_SIZE, "± %.2g%s", noise, unit);
}

static void fill(const struct comparison_field *field, struct cells *cells)
{
    bool compared = field->has_now && field->past_count > 0;

    *cells = (struct cells){.text = {"-", "", "-", ""}};
    if (field->past_count == 1)
        (void)diff_amount(field->unit, field->past[0], cells->text[COLUMN_BEFORE]);
    else if (compared)
        (void)diff_amount(field->unit, field->change.before, cells->text[COLUMN_BEFORE]);
    if (field->has_now)
        (void)diff_amount(field->unit, field->now, cells->text[COLUMN_NOW]);
    if (!compared)
        return;
    if (field->change.noise_known && strcmp(field->name, "exit_code") != 0)
        fill_noise(field, cells->text[COLUMN_NOISE]);
    fill_change(field, cells->text[COLUMN_CHANGE]);
}

static void add_headline_of(struct strbuf *line, const char *when, enum unit unit, double value,
                            const char *source, const char *compared_by)
{
    char amount[UNIT_TEXT_SIZE];

    if (strcmp(source, compared_by) == 0)
        return;
    strbuf_addf(line, "; its headline %s is %s by ", when, diff_amount(unit, value, amount));
    text_printable(line, source, strlen(source));
}

/* Peaks whose headlines came from other keys, compared by a measure that all have. */
static void add_measure_remark(struct strbuf *line, const struct diff_rows *rows,
                               const struct comparison_field *field)
{
    const bool one_name = strcmp(field->measure_now, field->measure_before) == 0;

    strbuf_addf(line, "    compared by %s", field->measure_now);
    if (!one_name)
        strbuf_addf(line, " now and %s before", field->measure_before);
    if (rows->history && field->other_method)
        strbuf_addf(line, " (%zu run%s)", field->past_count, field->past_count == 1 ? "" : "s");
    strbuf_addf(line, one_name ? " (%s)" : ", the same measure: %s", field->measure_meaning);
    add_headline_of(line, "now", field->unit, field->alias_now, field->source_now, field->measure_now);
    if (!field->source_before)
        return;
    if (!rows->history)
        add_headline_of(line, "before", field->unit, field->alias_before, field->source_before,
                        field->measure_before);
    else if (strcmp(field->source_before, field->measure_before) != 0) {
        strbuf_adds(line, "; the headline is by ");
        text_printable(line, field->source_before, strlen(field->source_before));
        strbuf_addf(line, " in %zu of the runs before", field->other_source);
    }
}

/* Where the methods differ, how it was compared. */
static void add_method_remark(struct strbuf *line, const struct diff_rows *rows,
                              const struct comparison_field *field)
{
    const bool is_compared = field->state != COMPARISON_OTHER_METHOD;
    char amount[UNIT_TEXT_SIZE];

    if (is_compared) {
        strbuf_adds(line, "    compared by ");
        text_printable(line, field->source_now, strlen(field->source_now));
    }
    strbuf_adds(line, is_compared ? "; measured by " : "    not compared: measured by ");
    text_printable(line, field->source_before, strlen(field->source_before));
    if (is_compared && rows->history)
        strbuf_addf(line, " in %zu of the runs before", field->by_key + field->other_method);
    else
        strbuf_addf(line, " before (%s)", diff_amount(field->unit, field->alias_before, amount));
    if (is_compared && field->other_method)
        strbuf_addf(line, ", of which %zu cannot be compared", field->other_method);
    if (!is_compared) {
        strbuf_adds(line, " and by ");
        text_printable(line, field->source_now, strlen(field->source_now));
        strbuf_adds(line, " now");
    }
}

static void add_remark(struct table *table, const struct diff_rows *rows,
                       const struct comparison_field *field)
{
    struct strbuf line = STRBUF_INIT;

    if (!field->measure_now && (!field->source_before || !field->source_now))
        return;
    (field->measure_now ? add_measure_remark : add_method_remark)(&line, rows, field);
    strbuf_addc(&line, '\n');
    table_text(table, strbuf_text(&line), REMARK_INDENT);
    strbuf_fini_part(&line, &table->texts);
}

/* More of what a run uses is red; whether more of any other number is good or bad nobody knows. */
static const char *color_of(const struct comparison_field *field)
{
    if (field->state != COMPARISON_CHANGED)
        return field->state == COMPARISON_SAME && field->kind == COMPARISON_MEASURED ? COLOR_DIM : "";
    if (field->kind != COMPARISON_HEADLINE)
        return COLOR_YELLOW;
    return field->change.now > field->change.before ? COLOR_RED : COLOR_GREEN;
}

/* With a star where it changed, if that is to be marked. */
static void add_name(struct table *table, const struct diff_rows *rows, const struct comparison_field *field)
{
    struct strbuf name = STRBUF_INIT;

    strbuf_adds(&name, rows->marks && field->state == COMPARISON_CHANGED ? "* " : "  ");
    text_printable(&name, field->name, strlen(field->name));
    table_add(table, strbuf_text(&name));
    strbuf_fini_part(&name, &table->texts);
}

void diff_rows_print(struct strbuf *out, const struct diff_rows *rows, size_t width)
{
    struct table_column columns[] = {
        {.fit = TABLE_CUT_END, .least = NAME_LEAST, .wants = SIZE_MAX},
        {.title = rows->history ? "median" : "before", .right = true},
        {.title = "noise", .right = true, .drop = 1, .left_out = !rows->history},
        {.title = "now", .right = true},
        {.title = "change", .right = true},
    };
    struct table table = {
        .columns = columns, .column_count = 1 + COLUMN_COUNT, .title_color = COLOR_DIM, .colors_gaps = true};
    struct cells cells;

    table_titles(&table);
    for (size_t i = 0; i < rows->count; i++) {
        const char *color = color_of(rows->fields[i]);
        fill(rows->fields[i], &cells);
        add_name(&table, rows, rows->fields[i]);
        for (int column = 0; column < COLUMN_COUNT; column++)
            table_add_cell(&table, cells.text[column], "", column >= COLUMN_NOW && color[0] ? color : NULL);
        add_remark(&table, rows, rows->fields[i]);
    }
    table_write(&table, out, width, rows->colors);
    table_fini(&table);
}
