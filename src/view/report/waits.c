/* Sections of a report: stalls, input and output. */
#include <math.h>
#include <string.h>

#include "view/report/methods.h"
#include "view/report/report.h"
#include "view/run_summary.h"

enum { PAIRS_MAX = 8, WAITS = STALL_COUNT };

/* The machine is told beside the target where it waited so many percent of the time more or less. */
#define MACHINE_DIFFERS 10.0

/* Percent of the time in which some process waited, and the keys. */
struct waits {
    double percent[WAITS]; /* -1: not measured */
    const char *names[WAITS];
};

/* The shares that the recording tells; false: it tells none, as of a run that goes on. */
static bool headline_waits(const struct recording *recording, struct waits *out, const char **note)
{
    bool any = false;

    *out = (struct waits){.percent = {-1, -1, -1}};
    for (size_t i = 0; i < WAITS; i++) {
        const struct headline_answer share = recorded_stall(recording, (enum stall)i);
        if (!share.has)
            continue;
        any = true;
        out->percent[i] = 100 * share.value;
        out->names[i] = share.source;
        *note = *note ? *note : share.note.text;
    }
    return any;
}

/* The means by topic, of which that of CPU is the first; false: none was measured. */
static bool measured_waits(const struct report_measures *measures, enum topic cpu, struct waits *out)
{
    bool any = false;

    *out = (struct waits){.percent = {-1, -1, -1}};
    for (size_t i = 0; i < WAITS; i++) {
        const struct report_measure *mean = report_measure_of(measures, (enum topic)(cpu + i), "ave");
        if (!mean)
            continue;
        any = true;
        out->percent[i] = mean->value;
        out->names[i] = mean->name;
    }
    return any;
}

static void say_waits(struct report_section *section, const char *label, const struct waits *waits,
                      const char *note)
{
    static const char *const words[WAITS] = {"CPU", "memory", "I/O"};
    const char *names[WAITS], *line = NULL;
    size_t count = 0;

    for (size_t i = 0; i < WAITS; i++) {
        if (waits->percent[i] < 0)
            continue;
        line = report_text_of(section->page, "%s%s%s %s", line ? line : "", line ? ", " : "", words[i],
                              report_human(section->page, UNIT_PERCENT, waits->percent[i]));
        if (waits->names[i])
            names[count++] = waits->names[i];
    }
    report_say(section, label, line, report_names(section->page, names, count))->note = note;
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
    struct waits first, own, machine;
    bool has_own = measured_waits(&evidence->measures, TOPIC_STALL_CPU, &own);
    bool has_machine = measured_waits(&evidence->measures, TOPIC_STALL_MACHINE_CPU, &machine);
    const char *note = NULL;

    if (!headline_waits(evidence->recording, &first, &note)) {
        first = has_own ? own : machine;
        note = has_own ? NULL : note_of_machine.text;
    }
    say_waits(section, "waited for", &first, note);
    if (has_machine && !is_same(&machine, &first) && differ(&machine, &first))
        say_waits(section, "the machine", &machine, NULL);
}

void report_stalls(struct report_page *page, const struct report_evidence *evidence)
{
    struct report_section *section =
        report_section_add(page, "stall", "Stalls (share of the time in which some process waited)");

    for (size_t i = 0; i < WAITS; i++) {
        const struct headline_answer share = recorded_stall(evidence->recording, (enum stall)i);
        if (share.has)
            report_add_number(section, stall_name((enum stall)i), NULL, UNIT_PERCENT, 100 * share.value,
                              share.source, share.note.text);
    }
    say_stalls(section, evidence);
    report_add_measures(section, &evidence->measures, "pressure", TOPIC_STALL, UNIT_PERCENT);
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
    size_t count = report_pairs(measures, TOPIC_IO_READ, TOPIC_IO_WRITE, UNIT_BYTES, pairs, PAIRS_MAX),
           agreed = 0;
    const char *others = NULL;

    while (count > 1 && !has_ended && is_nothing(&pairs[count - 1]))
        count--;
    for (size_t i = 1; i < count; i++) {
        if (!report_pairs_agree(&pairs[0], &pairs[i]))
            continue;
        others = report_list(page, others, report_pair_source(&pairs[i]), false);
        agreed++;
    }
    for (size_t i = 0; i < count; i++) {
        if (i && report_pairs_agree(&pairs[0], &pairs[i]))
            continue;
        struct report_item *item =
            report_say(section, i ? report_text_of(page, "by %s", report_pair_source(&pairs[i])) : "storage",
                       report_pair_text(page, &pairs[i]), report_pair_key(page, &pairs[i]));
        if (i == 0 && others)
            item->note = report_text_of(page, "%s agree%s", others, agreed == 1 ? "s" : "");
    }
}

static void say_io(struct report_section *section, const struct report_measures *measures, bool has_ended)
{
    struct report_page *page = section->page;
    struct report_pair pair;

    say_storage(section, measures, has_ended);
    if (report_pairs(measures, TOPIC_IO_READ_CALLS, TOPIC_IO_WRITE_CALLS, UNIT_BYTES, &pair, 1))
        report_say(section, "by calls", report_pair_text(page, &pair), report_pair_key(page, &pair))->note =
            "cache and pipes too";
    if (report_pairs(measures, TOPIC_IO_READ, TOPIC_IO_WRITE, UNIT_BYTES_PER_SECOND, &pair, 1) &&
        !is_nothing(&pair))
        (void)report_say(section, "fastest", report_pair_text(page, &pair), report_pair_key(page, &pair));
}

void report_io(struct report_page *page, const struct report_evidence *evidence)
{
    struct report_section *section = report_section_add(page, "io", "Input and output");

    say_io(section, &evidence->measures, evidence->recording->status == RECORDING_ENDED);
    report_add_measures(section, &evidence->measures, "moved", TOPIC_IO, UNIT_BYTES);
    report_add_measures(section, &evidence->measures, "rates", TOPIC_IO, UNIT_BYTES_PER_SECOND);
    report_add_conserved(section, evidence->recording, "io_is_conserved",
                         "the counters of some processes that ended could not be read");
}
