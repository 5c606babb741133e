/*
 * Section of a report: how many cores were busy, over time. People get it where there is something to see:
 * the run lasted a while, was recorded often enough, and had more than one core busy at some time.
 */
#include "view/report/report.h"

#define SHORTEST    1.0   /* second */
#define FEWEST      4     /* records */
#define LEAST_SHARE 0.005 /* of the time, for a row on the screen: rounds to 0 % */
#define MOST_FEWER  16    /* CPUs, for the table of what fewer of them would cost */

static double percent_of(const struct parallelism *parallelism, double seconds)
{
    return 100 * seconds / parallelism->seconds;
}

/* Exact numbers of cores for programs, groups of them for people. */
static void add_busy(struct report_section *section, const struct parallelism *parallelism)
{
    static const struct report_column columns[] = {
        {"cores", "", UNIT_NONE, NULL, REPORT_CUT},
        {"seconds", "", UNIT_SECONDS, NULL, REPORT_CUT},
        {"share", "", UNIT_PERCENT, NULL, REPORT_CUT},
    };
    const size_t most = parallelism_most(parallelism);
    struct report_item *table =
        report_for_programs(report_add_table(section, "busy_cores", NULL, columns, 3, most + 1));

    for (size_t cores = 0; cores <= most; cores++) {
        double seconds = parallelism_busy(parallelism, cores);
        struct report_value *row = seconds > 0 ? report_add_row(table) : NULL;
        if (!row)
            continue;
        row[0] = report_number((double)cores);
        row[1] = report_number(seconds);
        row[2] = report_number(percent_of(parallelism, seconds));
    }
}

static void say_busy(struct report_section *section, const struct parallelism *parallelism)
{
    static const struct report_column columns[] = {
        {"", "BUSY CORES", UNIT_NONE, NULL, REPORT_CUT},
        {"", "TIME", UNIT_SECONDS, NULL, REPORT_CUT},
        {"", "SHARE", UNIT_PERCENT, NULL, REPORT_CUT},
    };
    struct report_item *table = report_add_table(section, "", NULL, columns, 3, PARALLELISM_GROUPS);

    table->for_people = true;
    for (size_t group = 0; group < PARALLELISM_GROUPS; group++) {
        const size_t first = parallelism_group_first(group), last = parallelism_group_last(group);
        double seconds = 0;
        for (size_t cores = first; cores <= last && cores <= parallelism_most(parallelism); cores++)
            seconds += parallelism_busy(parallelism, cores);
        struct report_value *row =
            seconds >= LEAST_SHARE * parallelism->seconds ? report_add_row(table) : NULL;
        if (!row)
            continue;
        row[0] = report_text(report_text_of(section->page, first < last ? "%zu-%zu" : "%zu", first, last));
        row[1] = report_number(seconds);
        row[2] = report_number(percent_of(parallelism, seconds));
    }
}

/* How much longer it would take with fewer CPUs. */
static void add_fewer(struct report_section *section, const struct parallelism *parallelism)
{
    static const struct report_column columns[] = {
        {"cpus", "", UNIT_NONE, NULL, REPORT_CUT},
        {"longer", "", UNIT_PERCENT, NULL, REPORT_CUT},
    };
    struct report_item *table =
        report_for_programs(report_add_table(section, "with_cpus", NULL, columns, 2, MOST_FEWER));

    for (size_t cpus = 1; cpus <= MOST_FEWER && cpus <= parallelism_most(parallelism); cpus++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        row[0] = report_number((double)cpus);
        row[1] = report_number(100 * (parallelism_stretch(parallelism, cpus) - 1));
    }
}

/* When it was serial: at its begin, its end, or in between. */
static void add_parts(struct report_section *section, const struct parallelism *parallelism, bool is_shown)
{
    static const struct report_column columns[] = {{"cores", "", UNIT_NONE, NULL, REPORT_CUT}};
    struct report_item *table =
        report_for_programs(report_add_table(section, "tenths", NULL, columns, 1, PARALLELISM_PARTS));
    const char *line = "";

    for (size_t i = 0; i < PARALLELISM_PARTS && parallelism->part > 0; i++) {
        double cores = parallelism->cpu_of_parts[i] / parallelism->part;
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        row[0] = report_number(cores);
        line = report_text_of(section->page, "%s%s%.1f", line, i ? " " : "", cores);
    }
    if (is_shown && parallelism->part > 0)
        report_say(section, "each tenth", line, NULL)->note = "busy cores on average";
}

static const char *enough_text(struct report_page *page, const struct parallelism *parallelism, size_t enough)
{
    const char *text = report_text_of(page, "%zu CPU%s", enough, enough == 1 ? "" : "s");

    if (enough == 1)
        return text;
    return report_text_of(
        page, "%s; with %zu it would take %s longer", text, enough - 1,
        report_human(page, UNIT_PERCENT, 100 * (parallelism_stretch(parallelism, enough - 1) - 1)));
}

void report_parallelism(struct report_page *page, const struct report_evidence *evidence)
{
    const struct parallelism *parallelism = &evidence->parallelism;
    struct report_section *section = report_section_add(page, "parallelism", "Busy cores over time");
    const bool is_shown = parallelism->seconds >= SHORTEST && parallelism->records >= FEWEST &&
                          parallelism_most(parallelism) > 1;
    const double serial = parallelism_busy(parallelism, 1);
    const struct cpu_shortage shortage = report_cpu_shortage(evidence);
    const size_t enough = parallelism->records ? parallelism_enough(parallelism) : 0;

    if (parallelism->records == 0)
        return;
    report_add_number(section, "serial_seconds", NULL, UNIT_SECONDS, serial, NULL, "at about one busy core");
    report_add_number(section, "serial_share", NULL, UNIT_PERCENT, percent_of(parallelism, serial), NULL,
                      NULL);
    report_add_number(section, "cpus_enough", NULL, UNIT_NONE, (double)enough, NULL, NULL);
    report_add_number(section, "longest_record", NULL, UNIT_SECONDS, parallelism->longest, NULL, NULL);
    if (is_shown) {
        say_busy(section, parallelism);
        report_sayf(section, "serial part", "%s, %s of the time", report_human(page, UNIT_SECONDS, serial),
                    report_human(page, UNIT_PERCENT, percent_of(parallelism, serial)))
            ->note = "at about one busy core";
    }
    add_parts(section, parallelism, is_shown);
    if (is_shown) {
        (void)report_say(section, "enough", enough_text(page, parallelism, enough), NULL);
        (void)report_sayf(section, "resolution", "records of up to %s; what is shorter is averaged",
                          report_human(page, UNIT_SECONDS, parallelism->longest));
    }
    if (cpu_shortage_is_long(&shortage))
        report_add_remark(section,
                          "It waited for a CPU, or a quota held it back: it might have kept more cores "
                          "busy, and the serial part may be none.")
            ->for_programs = !is_shown;
    else if (cpu_shortage_is_possible(&shortage))
        report_add_remark(section, "It ran on busy CPUs and may have waited for one: it might have kept more "
                                   "cores busy, and the serial part may be none.")
            ->for_programs = !is_shown;
    add_busy(section, parallelism);
    add_fewer(section, parallelism);
}
