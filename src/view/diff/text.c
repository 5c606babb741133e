/*
 * The headline first, changed or not; then what else changed: by how many times, the largest factor first,
 * and after these the percentages, by points; then the facts, and last what is of the whole machine. Of one
 * source, which often says the same several times, only a few are shown. Numbers
 * stand in columns that are as wide as they need to be; where the screen is too narrow the noise is left out,
 * and then names are cut.
 */
#include "view/diff/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "view/colors.h"
#include "view/diff/facts.h"
#include "view/diff/rows.h"
#include "view/wrap.h"

enum { FACTORS_SHOWN = 15, POINTS_SHOWN = 5, OF_A_SOURCE_SHOWN = 3, FACTS_SHOWN = 12 };

bool diff_wants(const char *fields, const char *name)
{
    char glob[LIMIT_FIELD_SIZE];

    while (fields && *fields) {
        size_t length = strcspn(fields, ",");
        const char *begin = fields + strspn(fields, " ");
        size_t inner = begin < fields + length ? (size_t)(fields + length - begin) : 0;
        while (inner > 0 && begin[inner - 1] == ' ')
            inner--;
        if (inner > 0 && inner < sizeof(glob)) {
            memcpy(glob, begin, inner);
            glob[inner] = '\0';
            if (text_glob(glob, name))
                return true;
        }
        fields += length + (fields[length] == ',');
    }
    return !fields;
}

static void add_printable(struct strbuf *out, const char *text)
{
    text_printable(out, text, strlen(text));
}

static void add_title(struct strbuf *out, const struct diff_page *page)
{
    strbuf_adds(out, "now     ");
    add_printable(out, page->now);
    strbuf_adds(out, "\nbefore  ");
    if (page->history)
        strbuf_addf(out, "%zu run%s: ", page->comparison->earlier, page->comparison->earlier == 1 ? "" : "s");
    add_printable(out, page->before);
    if (page->left_out)
        strbuf_addf(out, " (%zu more did not succeed and %s not counted)", page->left_out,
                    page->left_out == 1 ? "is" : "are");
    strbuf_addc(out, '\n');
}

static void add_rule(struct strbuf *out, const struct comparison *comparison, size_t width)
{
    static const char floors[] = "10 ms, 1 MiB, 64 KiB/s, 1 point of percent or a count of 5";
    struct strbuf rule = STRBUF_INIT;

    strbuf_addc(&rule, '\n');
    if (comparison->earlier >= CHANGE_ENOUGH)
        strbuf_addf(
            &rule,
            "* changed: beyond all %zu runs before, and farther from their median than %.1f times their "
            "deviation (the robust one, or the standard one where that is less), 2 %% and %s\n",
            comparison->earlier, change_deviations(comparison->earlier), floors);
    else
        strbuf_addf(
            &rule,
            "* changed: by more than 5 %% and more than %s; how large the noise is, so few runs do not "
            "tell%s\n",
            floors, comparison->earlier == 1 ? ": --against compares with many" : "");
    wrap_lines(out, strbuf_text(&rule), 2, width);
    strbuf_fini_part(&rule, out);
}

/* So far that nothing is farther: from or to 0, or across it. */
static double size_of_change(const struct comparison_field *field)
{
    double ratio = field->change.now / field->change.before;

    if (field->unit == UNIT_PERCENT)
        return fabs(field->change.now - field->change.before);
    return ratio > 0 && isfinite(ratio) ? fabs(log(ratio)) : INFINITY;
}

/* As the column `change` shows it. */
static int by_size(const void *a, const void *b)
{
    const struct comparison_field *left = *(const struct comparison_field *const *)a;
    const struct comparison_field *right = *(const struct comparison_field *const *)b;
    bool left_points = left->unit == UNIT_PERCENT, right_points = right->unit == UNIT_PERCENT;
    double left_size = size_of_change(left), right_size = size_of_change(right);

    if (left_points != right_points)
        return left_points ? 1 : -1;
    if (left_size != right_size)
        return left_size < right_size ? 1 : -1;
    if (left->change.distance != right->change.distance)
        return left->change.distance < right->change.distance ? 1 : -1;
    return left < right ? -1 : 1; /* as the recording has them */
}

/* Those of sorted fields that are shown come first, in their order: how many. */
static size_t fold(const struct comparison_field **fields, size_t count)
{
    size_t shown = 0, of_kind[2] = {0}; /* factors, points */

    for (size_t i = 0; i < count; i++) {
        const struct comparison_field *field = fields[i];
        bool is_points = field->unit == UNIT_PERCENT;
        size_t of_source = 0;

        for (size_t j = 0; j < shown; j++)
            of_source += (fields[j]->unit == UNIT_PERCENT) == is_points && field->family &&
                         fields[j]->family && strcmp(fields[j]->family, field->family) == 0;
        if (of_source >= OF_A_SOURCE_SHOWN ||
            of_kind[is_points] >= (is_points ? POINTS_SHOWN : FACTORS_SHOWN))
            continue;
        of_kind[is_points]++;
        fields[shown++] = field;
    }
    return shown;
}

/* Those of one kind that are wanted; without a list of fields only what changed. */
static size_t select_fields(const struct diff_page *page, enum comparison_kind kind, bool machine,
                            const struct comparison_field **out, size_t *of)
{
    const struct comparison *comparison = page->comparison;
    size_t count = 0;

    *of = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_field *field = &comparison->fields[i];
        if (field->kind != kind || field->machine != machine || !diff_wants(page->fields, field->name) ||
            (field->repeats && !page->fields))
            continue;
        *of += field->past_count > 0 && field->has_now;
        if (page->fields || kind == COMPARISON_HEADLINE || field->state == COMPARISON_CHANGED)
            out[count++] = field;
    }
    return count;
}

/* In the order of how they matter, not of the recording. */
static void order_headline(const struct comparison_field **fields, size_t count)
{
    static const char *const order[] = {"wall", "cpu_seconds", "peak_memory", "processes", "exit_code"};
    size_t done = 0;

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        for (size_t j = done; j < count; j++)
            if (strcmp(fields[j]->name, order[i]) == 0) {
                const struct comparison_field *moved = fields[done];
                fields[done++] = fields[j];
                fields[j] = moved;
            }
}

/* What to know about the numbers above, each note once with all that it is about. */
static void add_notes(struct strbuf *out, const struct comparison_field *const *fields, size_t count,
                      size_t width)
{
    struct strbuf lines = STRBUF_INIT;

    for (size_t i = 0; i < count; i++) {
        const char *note = fields[i]->note;
        bool told = !note;
        for (size_t j = 0; j < i && !told; j++)
            told = fields[j]->note && strcmp(fields[j]->note, note) == 0;
        if (told)
            continue;
        strbuf_adds(&lines, "    ");
        for (size_t j = i; j < count; j++)
            if (fields[j]->note && strcmp(fields[j]->note, note) == 0) {
                strbuf_adds(&lines, j > i ? ", " : "");
                add_printable(&lines, fields[j]->name);
            }
        strbuf_adds(&lines, ": ");
        add_printable(&lines, note);
        strbuf_addc(&lines, '\n');
    }
    wrap_lines(out, strbuf_text(&lines), 4, width);
    strbuf_fini_part(&lines, out);
}

static void add_headline(struct strbuf *out, const struct diff_page *page,
                         const struct comparison_field **chosen, size_t width, bool colors)
{
    size_t of;
    size_t count = select_fields(page, COMPARISON_HEADLINE, false, chosen, &of);
    const struct diff_rows rows = {.history = page->comparison->earlier >= CHANGE_ENOUGH,
                                   .marks = true,
                                   .colors = colors,
                                   .fields = chosen,
                                   .count = count};

    if (!count)
        return;
    order_headline(chosen, count);
    strbuf_addc(out, '\n');
    diff_rows_print(out, &rows, width);
    add_notes(out, chosen, count, width);
}

/* How many of these changed, and in which order they stand. */
static void add_measured_title(struct strbuf *out, const struct diff_page *page, bool machine, size_t count,
                               size_t of, size_t shown, size_t width)
{
    struct strbuf line = STRBUF_INIT;

    if (page->fields)
        strbuf_adds(&line, machine ? "The machine at that time\n" : "");
    else if (machine)
        strbuf_addf(&line, "The machine at that time: %zu of %zu numbers changed\n", count, of);
    else
        strbuf_addf(&line, "%zu of %zu other numbers changed%s%s\n", count, of,
                    count > 1 ? ", the largest factors first, then percentages by points" : "",
                    count > shown ? "; a few of each source" : "");
    strbuf_addc(out, '\n');
    wrap_lines(out, strbuf_text(&line), 2, width);
    strbuf_fini_part(&line, out);
}

static void add_measured(struct strbuf *out, const struct diff_page *page, bool machine,
                         const struct comparison_field **chosen, size_t width, bool colors)
{
    size_t of;
    size_t count = select_fields(page, COMPARISON_MEASURED, machine, chosen, &of), shown = count;

    if (count == 0 && (page->fields || machine))
        return;
    if (!page->fields) {
        qsort(chosen, count, sizeof(*chosen), by_size);
        shown = fold(chosen, count);
    }
    add_measured_title(out, page, machine, count, of, shown, width);
    const struct diff_rows rows = {.history = page->comparison->earlier >= CHANGE_ENOUGH,
                                   .marks = page->fields != NULL,
                                   .colors = colors,
                                   .fields = chosen,
                                   .count = shown};
    if (shown)
        diff_rows_print(out, &rows, width);
    if (count > shown)
        strbuf_addf(out, "  and %zu more; -F '*' shows all\n", count - shown);
    add_notes(out, chosen, shown, width);
}

static void add_facts(struct strbuf *out, const struct diff_page *page,
                      const struct comparison_field **chosen, size_t width)
{
    size_t of;
    size_t count = select_fields(page, COMPARISON_FACT, false, chosen, &of);
    size_t shown = !page->fields && count > FACTS_SHOWN ? FACTS_SHOWN : count;

    if (!count)
        return;
    strbuf_adds(out, page->fields ? "\n" : "\nChanged as well\n");
    diff_facts_print(out, chosen, shown, width);
    if (count > shown)
        strbuf_addf(out, "  and %zu more\n", count - shown);
}

/* What only one side has cannot have changed; that it is so may surprise. */
static void add_one_sided(struct strbuf *out, const struct diff_page *page, size_t width)
{
    size_t before = 0, now = 0;

    for (size_t i = 0; i < page->comparison->count; i++) {
        const struct comparison_field *field = &page->comparison->fields[i];
        if (field->kind == COMPARISON_FACT)
            continue;
        before += field->state == COMPARISON_ONLY_BEFORE;
        now += field->state == COMPARISON_ONLY_NOW;
    }
    if (before + now == 0 || page->fields)
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "\nNot compared: %zu numbers that only the run now has, %zu that only %s before %s\n",
                now, before, page->comparison->earlier == 1 ? "the one" : "those",
                page->comparison->earlier == 1 ? "has" : "have");
    wrap_lines(out, strbuf_text(&line), 2, width);
    strbuf_fini_part(&line, out);
}

/* -- Limits -- */

void diff_limit_text(struct strbuf *out, const struct diff_limit *limit)
{
    const struct limit_numbers *numbers = &limit->numbers;
    char text[UNIT_TEXT_SIZE];

    if (limit->result == LIMIT_NOT_JUDGED) {
        strbuf_addf(out, "FAIL: %s: cannot be judged: %s", limit->limit->text, limit->reason.message);
        return;
    }
    strbuf_addf(out, "%s: %s: ", limit->result == LIMIT_PASSED ? "FAIL" : "ok", limit->limit->text);
    if (numbers->has_before)
        strbuf_addf(out, "%s before, ", diff_amount(numbers->unit, numbers->before, text));
    strbuf_addf(out, "%s now", diff_amount(numbers->unit, numbers->now, text));
    if (numbers->has_before && numbers->unit != UNIT_NONE)
        strbuf_addf(out, " (%s)", diff_change(numbers->unit, numbers->before, numbers->now, text));
}

static void add_limits(struct strbuf *out, const struct diff_page *page, size_t width, bool colors)
{
    struct strbuf lines = STRBUF_INIT;

    if (page->limit_count)
        strbuf_adds(&lines, "\nLimits\n");
    for (size_t i = 0; i < page->limit_count; i++) {
        strbuf_addf(&lines, "  %s",
                    !colors                                ? ""
                    : page->limits[i].result == LIMIT_KEPT ? COLOR_GREEN
                                                           : COLOR_RED);
        diff_limit_text(&lines, &page->limits[i]);
        strbuf_addf(&lines, "%s\n", colors ? COLOR_END : "");
    }
    wrap_lines(out, strbuf_text(&lines), 4, width);
    strbuf_fini_part(&lines, out);
}

void diff_text(struct strbuf *out, const struct diff_page *page, size_t width, bool colors)
{
    const struct comparison_field **chosen = calloc(page->comparison->count + 1, sizeof(*chosen));

    if (!chosen) {
        out->failed = true;
        return;
    }
    add_title(out, page);
    add_headline(out, page, chosen, width, colors);
    add_measured(out, page, false, chosen, width, colors);
    add_facts(out, page, chosen, width);
    add_measured(out, page, true, chosen, width, colors);
    add_rule(out, page->comparison, width);
    add_one_sided(out, page, width);
    add_limits(out, page, width, colors);
    free(chosen);
}
