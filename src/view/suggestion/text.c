#include "view/suggestion/text.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "view/colors.h"
#include "view/wrap.h"

enum { REASON_COLUMN = 25, WARNING_COLUMN = 11 };

static const struct {
    const char *one, *many; /* of a run, of several */
} ends[PAST_END_COUNT] = {
    [PAST_SUCCEEDED] = {"succeeded", "succeeded"},
    [PAST_FAILED] = {"failed", "failed"},
    [PAST_SIGNALLED] = {"was ended by a signal", "were ended by a signal"},
    [PAST_OUT_OF_MEMORY] = {"was killed for want of memory", "were killed for want of memory"},
    [PAST_OUT_OF_TIME] = {"ran out of its time", "ran out of their time"},
    [PAST_RUNNING] = {"still runs", "still run"},
    [PAST_LOST] = {"is lost", "are lost"},
    [PAST_UNKNOWN] = {"does not tell how it ended", "do not tell how they ended"},
    [PAST_NOT_STARTED] = {"was never started", "were never started"},
    [PAST_ATTACHED] = {"is of a part only (metron attach)", "are of a part only (metron attach)"},
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Exactly: a suggestion is what will be requested, "1.125 GiB" and not "1.13 GiB". */
void suggestion_memory(struct strbuf *out, double bytes)
{
    static const double gib = 1073741824.0;

    if (bytes >= gib)
        strbuf_addf(out, "%.10g GiB", bytes / gib);
    else
        strbuf_addf(out, "%.10g MiB", bytes / MEBIBYTE);
}

/* -- How many runs -- */

static void add_runs(struct strbuf *out, const struct suggestion *suggestion, size_t unreadable)
{
    const char *separator = ": ";
    size_t left = 0;

    for (int end = 0; end < PAST_END_COUNT; end++)
        left += suggestion->ended[end];
    left -= suggestion->counted;
    strbuf_addf(out, "What to request, rounded up, from %zu run%s", suggestion->counted,
                plural(suggestion->counted));
    if (left + unreadable > 0)
        strbuf_addf(out, "; %zu left out", left + unreadable);
    for (int end = 0; end < PAST_END_COUNT; end++) {
        size_t count = suggestion->ended[end];
        bool is_left = suggestion->none_succeeded
                           ? end == PAST_RUNNING || end == PAST_LOST || end == PAST_NOT_STARTED
                           : end != PAST_SUCCEEDED;
        if (count == 0 || !is_left)
            continue;
        strbuf_addf(out, "%s%zu %s", separator, count, count == 1 ? ends[end].one : ends[end].many);
        separator = ", ";
    }
    if (unreadable)
        strbuf_addf(out, "%s%zu could not be read", separator, unreadable);
    strbuf_addc(out, '\n');
}

/* -- The three numbers -- */

struct resource {
    const char *label;
    const struct suggested *suggested;
    enum unit unit;
    const char *one, *largest, *all; /* what the values are: "peak", "largest peak", "peaks" */
    double margin;
    bool is_lower_bound;
    const double *busy; /* of CPUs: see struct suggestion */
};

static void add_reason_line(struct strbuf *out)
{
    strbuf_addf(out, "\n%*s", REASON_COLUMN, "");
}

/* "cores in use: 0 for 3 % of the time, 1 for 20 %, 3-4 for 77 %" */
static void add_busy(struct strbuf *out, const double *busy)
{
    static const double least = 0.005; /* rounds to 0 % */
    const char *after = " of the time";
    double all = 0;

    for (size_t group = 0; group < PARALLELISM_GROUPS; group++)
        all += busy[group];
    for (size_t group = 0; group < PARALLELISM_GROUPS; group++) {
        size_t first = parallelism_group_first(group), last = parallelism_group_last(group);
        if (!(busy[group] >= least * all) || all <= 0)
            continue;
        if (*after)
            add_reason_line(out);
        strbuf_addf(out, *after ? "cores in use: %zu" : ", %zu", first);
        if (last > first)
            strbuf_addf(out, "-%zu", last);
        strbuf_addf(out, " for %.0f %%%s", 100 * busy[group] / all, after);
        after = "";
    }
}

/* "enough for 9 of 10 runs to take at most 10 % longer (they need 1 to 8)" */
static void add_cpus_base(struct strbuf *out, const struct resource *resource)
{
    const struct suggested *suggested = resource->suggested;

    strbuf_addf(out, "enough for %zu of %zu run%s to take at most %.0f %% longer", suggested->fitting,
                suggested->runs, plural(suggested->runs), 100 * PARALLELISM_LONGER);
    if (suggested->smallest < suggested->largest)
        strbuf_addf(out, " (they need %.0f to %.0f)", suggested->smallest, suggested->largest);
    add_busy(out, resource->busy);
}

static void add_base(struct strbuf *out, const struct resource *resource)
{
    const struct suggested *suggested = resource->suggested;

    if (resource->unit == UNIT_NONE) {
        add_cpus_base(out, resource);
        return;
    }
    if (suggested->runs == 1)
        strbuf_addf(out, "the %s of one run", resource->one);
    else if (suggested->quantile >= 1)
        strbuf_addf(out, "the %s of %zu runs", resource->largest, suggested->runs);
    else
        strbuf_addf(out, "the %.0fth percentile of the %s of %zu runs", 100 * suggested->quantile,
                    resource->all, suggested->runs);
    unit_add(out, ", ", resource->unit, suggested->base, "");
    if (suggested->runs > 1 && suggested->quantile < 1) {
        unit_add(out, " (", resource->unit, suggested->smallest, "");
        unit_add(out, " to ", resource->unit, suggested->largest, ")");
    }
    if (resource->margin > 0)
        strbuf_addf(out, ", plus %.4g %%", 100 * resource->margin);
}

static void add_floor(struct strbuf *out, const struct resource *resource)
{
    const struct suggested *suggested = resource->suggested;

    strbuf_addf(out, "%.4g times", suggested->floor / suggested->floor_of);
    unit_add(out, " ", resource->unit, suggested->floor_of,
             suggested->floor_by == FLOOR_LIMIT ? ", the limit that ended a run"
                                                : ", what a run held when it was killed");
    if (suggested->floor_source) {
        strbuf_adds(out, " (by ");
        text_printable(out, suggested->floor_source, strlen(suggested->floor_source));
        strbuf_addc(out, ')');
    }
    if (suggested->runs)
        unit_add(out, "; without it ", resource->unit, suggested->base * (1 + resource->margin), "");
}

/* What was requested; CPUs as they were written. */
static void add_amount(struct strbuf *out, const char *before, enum unit unit, double value)
{
    if (unit == UNIT_NONE)
        strbuf_addf(out, "%s%.10g", before, value);
    else
        unit_add(out, before, unit, value, "");
}

static void add_requested(struct strbuf *out, const struct resource *resource)
{
    const struct suggestion_requested *requested = &resource->suggested->requested;

    if (!requested->runs)
        return;
    add_reason_line(out);
    if (requested->runs == 1)
        strbuf_adds(out, "one run");
    else
        strbuf_addf(out, "%zu runs", requested->runs);
    add_amount(out, " had requested ", resource->unit, requested->lowest);
    if (requested->highest > requested->lowest)
        add_amount(out, " to ", resource->unit, requested->highest);
    strbuf_addf(out, " and used %.0f %%", 100 * requested->used_median);
    if (requested->runs > 1)
        strbuf_addf(out, " (%.0f to %.0f %%)", 100 * requested->used_lowest, 100 * requested->used_highest);
}

/* Exactly, as it will be requested. */
static void add_time(struct strbuf *out, double seconds)
{
    long long minutes = (long long)(seconds / 60), days = minutes / 1440, hours = minutes / 60 % 24;

    if (days)
        strbuf_addf(out, "%lld d ", days);
    if (days || hours)
        strbuf_addf(out, "%lld h ", hours);
    strbuf_addf(out, days || hours ? "%02lld min" : "%lld min", minutes % 60);
}

static void add_value(struct strbuf *out, const struct resource *resource)
{
    if (resource->unit == UNIT_BYTES)
        suggestion_memory(out, resource->suggested->value);
    else if (resource->unit == UNIT_SECONDS)
        add_time(out, resource->suggested->value);
    else
        strbuf_addf(out, "%.0f%s", resource->suggested->value, resource->is_lower_bound ? " or more" : "");
}

static bool is_same_source(const struct suggestion_source *a, const struct suggestion_source *b)
{
    return a->source == b->source || (a->source && b->source && strcmp(a->source, b->source) == 0);
}

/* Runs with this source, whatever their notes; 0 if an earlier line has them. */
static size_t runs_of_source(const struct suggestion *suggestion, size_t which)
{
    size_t runs = 0;

    for (size_t i = 0; i < suggestion->source_count; i++) {
        if (!is_same_source(&suggestion->sources[i], &suggestion->sources[which]))
            continue;
        if (i < which)
            return 0;
        runs += suggestion->sources[i].runs;
    }
    return runs;
}

static void add_source_name(struct strbuf *out, const struct suggestion_source *source)
{
    if (source->source)
        text_printable(out, source->source, strlen(source->source));
    else
        strbuf_adds(out, "(not told)");
}

/* By which keys the peaks were measured, and which of them are no more than bounds or estimates. */
static void add_sources(struct strbuf *out, const struct suggestion *suggestion)
{
    const char *separator = "measured by ";
    size_t all = suggestion->more_sources;

    if (!suggestion->source_count)
        return;
    for (size_t i = 0; i < suggestion->source_count; i++)
        all += suggestion->sources[i].runs;
    add_reason_line(out);
    for (size_t i = 0; i < suggestion->source_count; i++) {
        size_t runs = runs_of_source(suggestion, i);
        if (!runs)
            continue;
        strbuf_adds(out, separator);
        add_source_name(out, &suggestion->sources[i]);
        if (runs < all)
            strbuf_addf(out, " (%zu run%s)", runs, plural(runs));
        separator = ", ";
    }
    if (suggestion->more_sources)
        strbuf_addf(out, " and others (%zu)", suggestion->more_sources);
    for (size_t i = 0; i < suggestion->source_count; i++) {
        const struct suggestion_source *source = &suggestion->sources[i];
        if (!source->note || (source->bound != BOUND_UPPER && source->bound != BOUND_ABOUT))
            continue;
        add_reason_line(out);
        add_source_name(out, source);
        strbuf_adds(out, " is ");
        text_printable(out, source->note, strlen(source->note));
    }
}

static void add_resource(struct strbuf *out, const struct resource *resource, bool colors)
{
    const struct suggested *suggested = resource->suggested;
    struct strbuf value = STRBUF_INIT;

    strbuf_addf(out, "  %-8s", resource->label);
    if (!suggested->has) {
        strbuf_addf(out, "%-*sno run has measured it", REASON_COLUMN - 10, "-");
        return;
    }
    add_value(&value, resource);
    strbuf_addf(out, "%s%-*s%s", colors ? COLOR_BOLD : "", REASON_COLUMN - 10, strbuf_text(&value),
                colors ? COLOR_END : "");
    strbuf_fini_part(&value, out);
    if (suggested->raised)
        add_floor(out, resource);
    else
        add_base(out, resource);
    if (suggested->fitting < suggested->runs && resource->unit != UNIT_NONE) {
        add_reason_line(out);
        strbuf_addf(out, "enough for %zu of %zu runs", suggested->fitting, suggested->runs);
    }
    add_requested(out, resource);
}

static void add_resources(struct strbuf *out, const struct suggestion *suggestion, bool colors)
{
    const struct resource memory = {"memory", &suggestion->memory, UNIT_BYTES, "peak", "largest peak",
                                    "peaks",  suggestion->margin,  false,      NULL};
    const struct resource cpus = {.label = "CPUs",
                                  .suggested = &suggestion->cpus,
                                  .is_lower_bound = suggestion->cpus_are_lower_bound,
                                  .busy = suggestion->busy};
    const struct resource wall = {
        "time",       &suggestion->wall,  UNIT_SECONDS, "wall time", "longest wall time",
        "wall times", suggestion->margin, false,        NULL};

    add_resource(out, &memory, colors);
    add_sources(out, suggestion);
    strbuf_addc(out, '\n');
    add_resource(out, &cpus, colors);
    strbuf_addc(out, '\n');
    add_resource(out, &wall, colors);
    strbuf_addc(out, '\n');
}

/* -- What to be careful about -- */

static void add_marked_lines(struct strbuf *out, const char *line, const char *mark, bool colors)
{
    if (*line)
        strbuf_addc(out, '\n');
    while (*line) {
        size_t length = strcspn(line, "\n");
        strbuf_addf(out, "  %s%s:%s ", colors ? COLOR_YELLOW : "", mark, colors ? COLOR_END : "");
        strbuf_add(out, line, length);
        strbuf_addc(out, '\n');
        line += length + (line[length] == '\n');
    }
}

/* Each line with the consumer's comment before it. */
static void add_commented(struct strbuf *out, const char *text, const char *comment)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        strbuf_add(out, comment, length ? strlen(comment) : strcspn(comment, " "));
        strbuf_add(out, text, length);
        strbuf_addc(out, '\n');
        text += length + (text[length] == '\n');
    }
}

void suggestion_text(struct strbuf *out, const struct suggestion *suggestion, size_t unreadable,
                     enum suggestion_consumer consumer, size_t width, bool colors)
{
    const char *comment = suggestion_comment(consumer);
    struct strbuf title = STRBUF_INIT, numbers = STRBUF_INIT, marked = STRBUF_INIT;
    struct strbuf warnings = STRBUF_INIT, assumptions = STRBUF_INIT;
    struct strbuf wrapped = STRBUF_INIT;
    size_t room = width > strlen(comment) ? width - strlen(comment) : 0;

    colors = colors && consumer == SUGGESTION_FOR_PEOPLE; /* what is pasted is plain */
    add_runs(&title, suggestion, unreadable);
    strbuf_addc(&title, '\n');
    add_resources(&numbers, suggestion, colors);
    suggestion_warnings(&warnings, suggestion);
    add_marked_lines(&marked, strbuf_text(&warnings), "warning", colors);
    suggestion_assumptions(&assumptions, suggestion, consumer);
    add_marked_lines(&marked, strbuf_text(&assumptions), "assumed", colors);
    wrap_lines(&wrapped, strbuf_text(&title), 2, room);
    wrap_lines(&wrapped, strbuf_text(&numbers), REASON_COLUMN, room);
    wrap_lines(&wrapped, strbuf_text(&marked), WARNING_COLUMN, room);
    if (consumer == SUGGESTION_FOR_PEOPLE) {
        strbuf_adds(out, strbuf_text(&wrapped));
    } else {
        add_commented(out, strbuf_text(&wrapped), comment);
        suggestion_lines(out, suggestion, consumer);
    }
    strbuf_fini_part(&title, out);
    strbuf_fini_part(&numbers, out);
    strbuf_fini_part(&warnings, out);
    strbuf_fini_part(&assumptions, out);
    strbuf_fini_part(&marked, out);
    strbuf_fini_part(&wrapped, out);
}
