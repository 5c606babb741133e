/* Sections of a report: stalls, input and output. */
#include <math.h>
#include <string.h>

#include "view/report/choose.h"
#include "view/report/methods.h"
#include "view/report/report.h"

enum { PAIRS_MAX = 8, WAITS = 3 };

/* The machine is told beside the target where it waited so many percent of the time more or less. */
#define MACHINE_DIFFERS 10.0

/* Means of one source: percent of the time in which some process waited. */
struct waits {
    const char *source;
    double percent[WAITS]; /* -1: not measured */
    const char *names[WAITS];
};

static const char *const wait_parts[WAITS] = {"cpu", "memory", "io"};
enum { SHARE, SOURCE, NOTE };
static const char *const wait_fields[WAITS][3] = {
    {"stall.cpu.share", "stall.cpu.source", "stall.cpu.note"},
    {"stall.memory.share", "stall.memory.source", "stall.memory.note"},
    {"stall.io.share", "stall.io.source", "stall.io.note"},
};

/* The shares that the recording tells; false: it tells none, as of a run that goes on. */
static bool headline_waits(const struct recording *recording, struct waits *out, const char **note)
{
    bool any = false;

    *out = (struct waits){.percent = {-1, -1, -1}};
    for (size_t i = 0; i < WAITS; i++) {
        double share;
        if (!recording_number(recording, wait_fields[i][SHARE], &share))
            continue;
        any = true;
        out->percent[i] = 100 * share;
        out->names[i] = recording_text(recording, wait_fields[i][SOURCE]);
        *note = *note ? *note : recording_text(recording, wait_fields[i][NOTE]);
    }
    return any;
}

/* The means of each source; returns how many sources there are. */
static size_t measured_waits(const struct report_measures *measures, struct waits *out, size_t limit)
{
    size_t count = 0;

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        const char *source = measure->key->source;
        if (!report_is_stall(measure) || !measure->statistic || strcmp(measure->statistic, "ave") != 0 ||
            !strstr(measure->name, "some"))
            continue;
        size_t at = 0;
        while (at < count && strcmp(out[at].source, source) != 0)
            at++;
        if (at == limit)
            continue;
        if (at == count)
            out[count++] = (struct waits){.source = source, .percent = {-1, -1, -1}};
        for (size_t part = 0; part < WAITS; part++)
            if (strstr(measure->name, wait_parts[part]) && out[at].percent[part] < 0) {
                out[at].percent[part] = measure->value;
                out[at].names[part] = measure->name;
            }
    }
    return count;
}

static void say_waits(struct report_section *section, const char *label, const struct waits *waits,
                      const char *note)
{
    static const char *const words[WAITS] = {"CPU", "memory", "I/O"};
    const char *names[WAITS], *line = NULL;
    size_t count = 0;
    char text[UNIT_TEXT_SIZE];

    for (size_t i = 0; i < WAITS; i++) {
        if (waits->percent[i] < 0)
            continue;
        line = report_text_of(section->page, "%s%s%s %s", line ? line : "", line ? ", " : "", words[i],
                              unit_human(UNIT_PERCENT, waits->percent[i], text));
        if (waits->names[i])
            names[count++] = waits->names[i];
    }
    struct report_item *item = report_say(section, label, line, report_names(section->page, names, count));
    if (item)
        item->note = note;
}

static bool differ(const struct waits *a, const struct waits *b)
{
    for (size_t i = 0; i < WAITS; i++)
        if (a->percent[i] >= 0 && b->percent[i] >= 0 &&
            fabs(a->percent[i] - b->percent[i]) >= MACHINE_DIFFERS)
            return true;
    return false;
}

static bool is_same(const struct waits *a, const struct waits *b)
{
    for (size_t i = 0; i < WAITS; i++)
        if (a->names[i] && b->names[i] && strcmp(a->names[i], b->names[i]) == 0)
            return true;
    return false;
}

static void say_stalls(struct report_section *section, const struct report_evidence *evidence)
{
    enum { SOURCES_MAX = 4 };
    struct waits all[SOURCES_MAX], first;
    size_t count = measured_waits(&evidence->measures, all, SOURCES_MAX);
    const char *note = NULL;

    if (!headline_waits(evidence->recording, &first, &note)) {
        if (!count)
            return;
        first = all[0];
        if (strcmp(first.source, "psi") == 0)
            note = "of the whole machine";
    }
    say_waits(section, "waited for", &first, note);
    for (size_t i = 0; i < count; i++)
        if (!is_same(&all[i], &first) && differ(&all[i], &first))
            say_waits(section,
                      strcmp(all[i].source, "psi") == 0
                          ? "the machine"
                          : report_text_of(section->page, "by %s", all[i].source),
                      &all[i], NULL);
}

void report_stalls(struct report_page *page, const struct report_evidence *evidence)
{
    static const struct report_column columns[] = {
        {"mean", "MEAN", UNIT_PERCENT, NULL, REPORT_CUT},
        {"peak", "PEAK", UNIT_PERCENT, NULL, REPORT_CUT},
        {"key", "KEY", UNIT_NONE, NULL, REPORT_CUT},
    };
    struct report_section *section =
        report_section_add(page, "stall", "Stalls (share of the time in which some process waited)");
    double share;

    if (!section)
        return;
    for (size_t i = 0; i < WAITS; i++) {
        if (!recording_number(evidence->recording, wait_fields[i][SHARE], &share))
            continue;
        report_sourced(
            report_for_programs(report_add_number(section, wait_parts[i], "", UNIT_PERCENT, 100 * share)),
            recording_text(evidence->recording, wait_fields[i][SOURCE]),
            recording_text(evidence->recording, wait_fields[i][NOTE]));
    }
    say_stalls(section, evidence);
    report_for_programs(report_add_means(section, &evidence->measures, "pressure", columns, report_is_stall));
}

static bool is_nothing(const struct report_pair *pair)
{
    return !(pair->read && pair->read->value > 0) && !(pair->written && pair->written->value > 0);
}

/* What storage moved, by the first method; a method that says otherwise has a line of its own, but not one
 * that cannot know yet, as nothing was waited for. */
static void say_storage(struct report_section *section, const struct report_measures *measures,
                        bool has_ended)
{
    struct report_page *page = section->page;
    struct report_pair pairs[PAIRS_MAX];
    size_t count = report_pairs(measures, report_is_moved, "char", true, pairs, PAIRS_MAX), agreed = 0;
    const char *others = NULL;

    while (count > 1 && !has_ended && is_nothing(&pairs[count - 1]))
        count--;
    for (size_t i = 1; i < count; i++) {
        if (!report_pairs_agree(&pairs[0], &pairs[i]))
            continue;
        const struct report_measure *one = pairs[i].read ? pairs[i].read : pairs[i].written;
        others = report_list(page, others, one->key->source, false);
        agreed++;
    }
    for (size_t i = 0; i < count; i++) {
        if (i && report_pairs_agree(&pairs[0], &pairs[i]))
            continue;
        const struct report_measure *one = pairs[i].read ? pairs[i].read : pairs[i].written;
        struct report_item *item =
            report_say(section, i ? report_text_of(page, "by %s", one->key->source) : "storage",
                       report_pair_text(page, &pairs[i]), report_pair_key(page, &pairs[i]));
        if (item && i == 0 && others)
            item->note = report_text_of(page, "%s agree%s", others, agreed == 1 ? "s" : "");
    }
}

static void say_io(struct report_section *section, const struct report_measures *measures, bool has_ended)
{
    struct report_page *page = section->page;
    struct report_pair pair;

    say_storage(section, measures, has_ended);
    if (report_pairs(measures, report_is_moved, "char", false, &pair, 1)) {
        struct report_item *item =
            report_say(section, "by calls", report_pair_text(page, &pair), report_pair_key(page, &pair));
        if (item)
            item->note = "cache and pipes too";
    }
    if (report_pairs(measures, report_is_speed, "rate", false, &pair, 1) && !is_nothing(&pair))
        (void)report_say(section, "fastest", report_pair_text(page, &pair), report_pair_key(page, &pair));
}

void report_io(struct report_page *page, const struct report_evidence *evidence)
{
    static const struct report_column moved[] = {
        {"value", "BYTES", UNIT_BYTES, NULL, REPORT_CUT},
        {"key", "KEY", UNIT_NONE, NULL, REPORT_CUT},
        {"field", "READ FROM", UNIT_NONE, NULL, REPORT_PROSE},
    };
    static const struct report_column speeds[] = {
        {"mean", "MEAN", UNIT_BYTES_PER_SECOND, NULL, REPORT_CUT},
        {"peak", "PEAK", UNIT_BYTES_PER_SECOND, NULL, REPORT_CUT},
        {"key", "KEY", UNIT_NONE, NULL, REPORT_CUT},
    };
    struct report_section *section = report_section_add(page, "io", "Input and output");
    const struct recorded_field *conserved =
        recording_field(evidence->recording, "provenance.io_is_conserved");

    if (!section)
        return;
    say_io(section, &evidence->measures, evidence->recording->status == RECORDING_ENDED);
    report_for_programs(report_add_measures(section, &evidence->measures, "moved", moved, report_is_moved));
    report_for_programs(report_add_means(section, &evidence->measures, "rates", speeds, report_is_speed));
    if (conserved && conserved->kind == FIELD_BOOLEAN) {
        struct report_item *item =
            report_add_boolean(section, "io_is_conserved", "incomplete", conserved->number != 0);
        if (item) {
            item->say = "the counters of some processes that ended could not be read";
            item->for_programs = conserved->number != 0;
        }
    }
}
