#include "view/diff/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/colors.h"
#include "view/text_width.h"
#include "view/wrap.h"

enum { COLUMN_BEFORE, COLUMN_NOISE, COLUMN_NOW, COLUMN_CHANGE, COLUMN_COUNT };
enum { NAME_LEAST = 16, GAP = 2, INDENT = 2 };

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

static size_t columns_of(const char *text)
{
    return text_width(text, strlen(text));
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

/* Peaks of different methods, compared by the measure that both have. */
static void add_resident_remark(struct strbuf *out, const struct diff_rows *rows,
                                const struct comparison_field *field, size_t width)
{
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "    compared by %s now and %s before", field->resident_now, field->resident_before);
    if (rows->history)
        strbuf_addf(&line, " (%zu run%s)", field->past_count, field->past_count == 1 ? "" : "s");
    strbuf_adds(&line, ", the same measure: the largest sum of resident memory that a sample saw");
    add_headline_of(&line, "now", field->unit, field->alias_now, field->source_now, field->resident_now);
    if (!rows->history)
        add_headline_of(&line, "before", field->unit, field->alias_before, field->source_before,
                        field->resident_before);
    strbuf_addc(&line, '\n');
    wrap_lines(out, strbuf_text(&line), 4, width);
    out->failed = out->failed || line.failed;
    strbuf_fini(&line);
}

/* How it was compared, where the methods differ: a line of its own. */
static void add_remark(struct strbuf *out, const struct diff_rows *rows, const struct comparison_field *field,
                       size_t width)
{
    struct strbuf line = STRBUF_INIT;
    char amount[UNIT_TEXT_SIZE];

    if (!field->source_before || !field->source_now)
        return;
    if (field->resident_now) {
        add_resident_remark(out, rows, field, width);
        return;
    }
    if (field->state == COMPARISON_OTHER_METHOD) {
        strbuf_adds(&line, "    not compared: measured by ");
        text_printable(&line, field->source_before, strlen(field->source_before));
        strbuf_addf(&line, " before (%s) and by ", diff_amount(field->unit, field->alias_before, amount));
        text_printable(&line, field->source_now, strlen(field->source_now));
        strbuf_adds(&line, " now\n");
    } else {
        strbuf_adds(&line, "    compared by ");
        text_printable(&line, field->source_now, strlen(field->source_now));
        strbuf_adds(&line, "; measured by ");
        text_printable(&line, field->source_before, strlen(field->source_before));
        if (rows->history)
            strbuf_addf(&line, " in %zu of the runs before", field->by_key + field->other_method);
        else
            strbuf_addf(&line, " before (%s)", diff_amount(field->unit, field->alias_before, amount));
        if (field->other_method)
            strbuf_addf(&line, ", of which %zu cannot be compared", field->other_method);
        strbuf_addc(&line, '\n');
    }
    wrap_lines(out, strbuf_text(&line), 4, width);
    out->failed = out->failed || line.failed;
    strbuf_fini(&line);
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

static void add_right(struct strbuf *out, const char *text, size_t width)
{
    for (size_t columns = columns_of(text); columns < width + GAP; columns++)
        strbuf_addc(out, ' ');
    strbuf_adds(out, text);
}

static void add_name(struct strbuf *out, const char *name, size_t width)
{
    struct strbuf shown = STRBUF_INIT;

    text_printable(&shown, name, strlen(name));
    size_t columns = columns_of(strbuf_text(&shown));
    if (columns <= width) {
        strbuf_addf(out, "%s%*s", strbuf_text(&shown), (int)(width - columns), "");
    } else {
        strbuf_add(out, strbuf_text(&shown), text_head(strbuf_text(&shown), shown.length, width - 1));
        strbuf_adds(out, "…");
    }
    out->failed = out->failed || shown.failed;
    strbuf_fini(&shown);
}

struct layout {
    size_t name, column[COLUMN_COUNT];
};

static void lay_out(const struct diff_rows *rows, const struct cells *cells, const char *const *titles,
                    size_t width, struct layout *out)
{
    *out = (struct layout){.name = 1};
    for (int column = 0; column < COLUMN_COUNT; column++)
        out->column[column] = strlen(titles[column]);
    for (size_t i = 0; i < rows->count; i++) {
        size_t name = strlen(rows->fields[i]->name);
        if (name > out->name)
            out->name = name;
        for (int column = 0; column < COLUMN_COUNT; column++)
            if (columns_of(cells[i].text[column]) > out->column[column])
                out->column[column] = columns_of(cells[i].text[column]);
    }
    size_t numbers = 0;
    if (!rows->history)
        out->column[COLUMN_NOISE] = 0;
    for (int column = 0; column < COLUMN_COUNT; column++)
        numbers += out->column[column] ? out->column[column] + GAP : 0;
    if (width && INDENT + out->name + numbers > width && out->column[COLUMN_NOISE]) {
        numbers -= out->column[COLUMN_NOISE] + GAP;
        out->column[COLUMN_NOISE] = 0;
    }
    if (width && INDENT + out->name + numbers > width)
        out->name = width > INDENT + numbers + NAME_LEAST ? width - INDENT - numbers : NAME_LEAST;
}

static void print_row(struct strbuf *out, const struct diff_rows *rows, const struct comparison_field *field,
                      const struct cells *cells, const struct layout *layout, size_t width)
{
    const char *color = rows->colors ? color_of(field) : "";

    strbuf_adds(out, rows->marks && field->state == COMPARISON_CHANGED ? "* " : "  ");
    add_name(out, field->name, layout->name);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!layout->column[column])
            continue;
        bool colored = color[0] && column >= COLUMN_NOW;
        strbuf_adds(out, colored ? color : "");
        add_right(out, cells->text[column], layout->column[column]);
        strbuf_adds(out, colored ? COLOR_END : "");
    }
    /* nothing at the end of a line that cannot be seen */
    while (out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
    strbuf_addc(out, '\n');
    add_remark(out, rows, field, width);
}

void diff_rows_print(struct strbuf *out, const struct diff_rows *rows, size_t width)
{
    const char *const titles[COLUMN_COUNT] = {rows->history ? "median" : "before", "noise", "now", "change"};
    struct cells *cells = calloc(rows->count + 1, sizeof(*cells));
    struct layout layout;

    if (!cells) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < rows->count; i++)
        fill(rows->fields[i], &cells[i]);
    lay_out(rows, cells, titles, width, &layout);
    strbuf_addf(out, "  %*s%s", (int)layout.name, "", rows->colors ? COLOR_DIM : "");
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (layout.column[column])
            add_right(out, titles[column], layout.column[column]);
    strbuf_addf(out, "%s\n", rows->colors ? COLOR_END : "");
    for (size_t i = 0; i < rows->count; i++)
        print_row(out, rows, rows->fields[i], &cells[i], &layout, width);
    free(cells);
}
