/* Section of a report: time and CPU. */
#include <math.h>
#include <string.h>

#include "view/report/methods.h"
#include "view/report/report.h"

enum { METHODS_MAX = 16 };

static void say_cores(struct report_section *section, const struct report_evidence *evidence, double average,
                      const struct report_measure *peak)
{
    const struct recording *recording = evidence->recording;
    const char *by = recording_text(recording, "system.may_use.cpus_by");
    struct report_page *page = section->page;
    double cpus = 0;

    const char *text = report_text_of(page, "%.2f on average", average);
    if (peak)
        text = report_text_of(page, "%s, %.2f at most", text, peak->value / 100);
    if (recording_number(recording, "system.may_use.cpus", &cpus))
        text = report_text_of(page, "%s, of the %.4g it may use%s%s%s", text, cpus, by ? " (" : "",
                              by ? by : "", by ? ")" : "");
    (void)report_say(section, "cores", text, NULL);
}

static void add_cores(struct report_section *section, const struct report_evidence *evidence, double seconds,
                      double wall)
{
    const struct recording *recording = evidence->recording;
    const struct report_measure *peak = report_measure_of(&evidence->measures, TOPIC_CPU, "peak");
    double cpus = 0;

    if (wall > 0) {
        report_add_number(section, "cores_average", NULL, UNIT_NONE, seconds / wall, "cpu_seconds / wall",
                          NULL);
        say_cores(section, evidence, seconds / wall, peak);
    }
    if (peak)
        report_add_number(section, "cores_peak", NULL, UNIT_NONE, peak->value / 100, peak->name,
                          "between two samples");
    if (recording_number(recording, "system.may_use.cpus", &cpus))
        report_add_number(section, "cores_may_use", NULL, UNIT_NONE, cpus,
                          recording_text(recording, "system.may_use.cpus_by"), NULL);
}

/* "873 ms: 467 ms user, 406 ms system" */
static const char *cpu_text(struct report_page *page, const struct report_evidence *evidence, double seconds,
                            const char *source, const struct report_cpu_total *totals, size_t count)
{
    const struct report_measure *throttled =
        report_measure_of(&evidence->measures, TOPIC_CPU_THROTTLED, NULL);
    const struct report_cpu_total *own = NULL;

    for (size_t i = 0; i < count && source; i++)
        if (totals[i].key && strcmp(totals[i].key, source) == 0)
            own = &totals[i];
    const char *text = report_human(page, UNIT_SECONDS, seconds);
    if (own && own->user >= 0)
        text =
            report_text_of(page, "%s: %s user, %s system", text, report_human(page, UNIT_SECONDS, own->user),
                           report_human(page, UNIT_SECONDS, own->system));
    if (throttled && throttled->value > 0)
        text = report_text_of(page, "%s; held back by its quota for %s", text,
                              report_human(page, UNIT_SECONDS, throttled->value));
    return text;
}

/* The headline's method first. */
static void headline_first(struct report_cpu_total *totals, size_t count, const char *source)
{
    for (size_t i = 1; i < count; i++)
        if (source && totals[i].key && strcmp(totals[i].key, source) == 0) {
            struct report_cpu_total headline = totals[i];
            memmove(&totals[1], &totals[0], i * sizeof(*totals));
            totals[0] = headline;
        }
}

static void say_totals(struct report_section *section, const struct report_evidence *evidence,
                       const char *others, double furthest)
{
    double survivors;

    if (others && furthest <= REPORT_AGREE)
        report_sayf(section, "the same by", "%s, within %.1f %%", others,
                    fmax(0.1, ceil(furthest * 1000 - 1e-9) / 10));
    else if (others && recording_number(evidence->recording, "survivors.count", &survivors) && survivors > 0)
        report_sayf(section, "methods", "differ: some know only those that ended, and %.0f outlived it",
                    survivors);
}

/* What each method says: a line where they agree, a table where they do not. In a run that has no end one
 * without any CPU says nothing: nothing was waited for yet. */
static void add_totals(struct report_section *section, const struct report_evidence *evidence, double seconds,
                       const char *source, struct report_cpu_total *totals, size_t count)
{
    static const struct report_column columns[] = {
        {"value", "CPU", UNIT_SECONDS, NULL, REPORT_CUT},
        {"difference", "DIFFERS BY", UNIT_PERCENT, "from cpu_seconds above", REPORT_CUT},
        {"key", "METHOD", UNIT_NONE, NULL, REPORT_CUT},
    };
    const bool has_ended = evidence->recording->status == RECORDING_ENDED;
    const char *others = NULL;
    double furthest = 0;

    headline_first(totals, count, source);
    for (size_t i = 0; i < count; i++) {
        if ((totals[i].key && source && strcmp(totals[i].key, source) == 0) ||
            (!has_ended && !(totals[i].seconds > 0)))
            continue;
        others = report_list(section->page, others, totals[i].source, i + 1 == count);
        furthest = fmax(furthest, report_difference(totals[i].seconds, seconds));
    }
    say_totals(section, evidence, others, furthest);
    struct report_item *table = report_add_table(section, "totals", NULL, columns, 3, count);
    table->for_programs = furthest <= REPORT_AGREE;
    table->hides_zero_rows = !has_ended;
    for (size_t i = 0; i < count; i++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        row[0] = report_number(totals[i].seconds);
        if (seconds > 0 && !(totals[i].key && source && strcmp(totals[i].key, source) == 0))
            row[1] = report_number(100 * (totals[i].seconds - seconds) / seconds);
        row[2] = report_text(totals[i].key);
    }
}

static void add_cpu(struct report_section *section, const struct report_evidence *evidence, double wall)
{
    struct report_cpu_total totals[METHODS_MAX];
    size_t count = report_cpu_totals(section->page, &evidence->measures, totals, METHODS_MAX);
    const char *source = NULL, *note = NULL;
    double seconds;

    if (!report_cpu_seconds(evidence, &seconds, &source, &note))
        return;
    report_add_number(section, "cpu_seconds", NULL, UNIT_SECONDS, seconds, source, note);
    struct report_item *item =
        report_say(section, "CPU", cpu_text(section->page, evidence, seconds, source, totals, count), source);
    if (evidence->recording->status == RECORDING_ENDED)
        item->note = note; /* that figures go up to the last record was said */
    add_cores(section, evidence, seconds, wall);
    add_totals(section, evidence, seconds, source, totals, count);
}

void report_cpu(struct report_page *page, const struct report_evidence *evidence)
{
    struct report_section *section = report_section_add(page, "cpu", "Time and CPU");
    double wall = 0;

    if (report_wall(evidence, &wall))
        report_add_number(section, "wall", "wall time", UNIT_SECONDS, wall, NULL,
                          evidence->recording->status == RECORDING_ENDED ? NULL : "up to the last record");
    add_cpu(section, evidence, wall);
    report_add_duct_fields(section, evidence->recording, TOPIC_CPU);
    report_add_conserved(section, evidence->recording, "cpu_is_conserved",
                         recording_field(evidence->recording, "attached.children")
                             ? "some processes ended, and what they used since their last sample is not known"
                             : "the kernel dropped CPU of processes that ended");
    report_add_measures(section, &evidence->measures, "methods", TOPIC_CPU, UNIT_SECONDS);
    report_add_measures(section, &evidence->measures, "context_switches", TOPIC_SWITCH, UNIT_COUNT);
}
