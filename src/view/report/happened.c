/* Sections of a report: what happened, as the events tell it; anomalies. */
#include <signal.h>
#include <string.h>

#include "view/report/report.h"

enum { ROWS = 8, ROWS_SHOWN = 3, CODES = 4 };

/* Counts and lives: on the screen they are one line above the processes. */
static void add_processes(struct report_section *section, const struct report_evidence *evidence)
{
    const struct report_events *events = &evidence->events;
    const struct recorded_field *headline = recording_field(evidence->recording, "processes");
    const char *note = NULL;

    if (headline && headline->kind == FIELD_NUMBER)
        report_add_number(section, "processes", NULL, UNIT_COUNT, headline->number, headline->source,
                          headline->note);
    if (!events->count)
        return;
    if (events->births_sampled)
        note = report_text_of(section->page, "%llu of them noticed in a sample: there may have been others",
                              (unsigned long long)events->births_sampled);
    report_add_number(section, "spawned", NULL, UNIT_COUNT, (double)events->spawned, NULL, note);
    report_add_number(section, "ended", NULL, UNIT_COUNT, (double)events->ended, NULL, NULL);
    if (events->spawn_rate_peak <= 1)
        return;
    report_add_number(section, "spawned_in_busiest_second", NULL, UNIT_COUNT, events->spawn_rate_peak, NULL,
                      NULL);
    report_add_number(section, "busiest_second", NULL, UNIT_SECONDS, events->spawn_rate_peak_at, NULL,
                      "seconds after the start");
}

static void add_life(struct report_section *section, const struct report_events *events,
                     const struct report_life *life, const char *name, const char *command)
{
    if (life->seconds < 0 || events->lives_timed < 2)
        return;
    report_add_number(section, name, NULL, UNIT_SECONDS, life->seconds, NULL,
                      events->lives_are_exact ? NULL : "by when it was noticed");
    (void)report_add_text(section, command, NULL, life->command.text);
    if (life->command.is_truncated)
        (void)report_for_programs(
            report_add_boolean(section, report_text_of(section->page, "%s_truncated", command), NULL, true));
}

static void say_others(struct report_section *section, uint64_t count)
{
    if (count)
        report_sayf(section, "", "and %llu other%s", (unsigned long long)count, count == 1 ? "" : "s");
}

/* "SIGKILL" */
static const char *signal_text(struct report_page *page, int number)
{
    const char *name = number > 0 && number < 128 ? sigabbrev_np(number) : NULL;
    return name ? report_text_of(page, "SIG%s", name) : report_text_of(page, "signal %d", number);
}

/* For programs: failures by exit code, or signals by who sent them. A column that no row has is not drawn. */
static struct report_item *add_group_table(struct report_section *section, const char *name, size_t rows)
{
    static const struct report_column columns[] = {
        {"count", "", UNIT_COUNT, "events", REPORT_CUT},
        {"exit_code", "", UNIT_NONE, NULL, REPORT_CUT},
        {"signal", "", UNIT_NONE, NULL, REPORT_CUT},
        {"sender", "", UNIT_NONE, NULL, REPORT_CUT},
        {"program", "", UNIT_NONE, NULL, REPORT_CUT},
        REPORT_COMMAND_COLUMNS("", "of the first", REPORT_CUT),
    };
    return report_for_programs(
        report_add_table(section, name, NULL, columns, sizeof(columns) / sizeof(columns[0]), rows));
}

static void add_group_row(struct report_item *table, const struct report_group *group, const char *signal)
{
    struct report_value *row = report_add_row(table);

    if (!row)
        return;
    row[0] = report_number((double)group->count);
    if (signal)
        row[2] = report_text(signal);
    else
        row[1] = report_number(group->number);
    row[3] = report_told(group->who);
    row[4] = report_told(group->whom);
    report_command_cells(&row[5], group->first);
}

/* "50 of grep with code 1, first: " or "58 with code 1 (51), 2 (7): ", and the command behind it. */
static void say_group(struct report_section *section, const char *label, const struct report_group *group,
                      const char *how)
{
    const char *count = report_human(section->page, UNIT_COUNT, (double)group->count);
    bool is_named = group->whom[0] != '\0';

    report_say_command(section, label,
                       report_text_of(section->page, "%s%s%s %s%s: ", count, is_named ? " of " : "",
                                      group->whom, how, is_named && group->count > 1 ? ", first" : ""),
                       group->first.text);
}

/* "with code 1", "with code 1 (51), 2 (7), …" */
static const char *codes_text(struct report_page *page, const struct report_group *codes, size_t count)
{
    const char *text = report_text_of(page, "with code %d", codes[0].number);

    for (size_t i = 0; i < count && count > 1; i++) {
        if (i + 1 == CODES)
            return report_text_of(page, "%s, …", text);
        text = i ? report_text_of(page, "%s, %d (%llu)", text, codes[i].number,
                                  (unsigned long long)codes[i].count)
                 : report_text_of(page, "%s (%llu)", text, (unsigned long long)codes[i].count);
    }
    return text;
}

/* The programs that failed most first: a line each on the screen, a row for each of their exit codes. */
static void add_failures(struct report_section *section, const struct report_events *events)
{
    struct report_group tops[ROWS], codes[CODES];
    size_t count = report_groups_top(events->failing, NULL, tops, ROWS);
    struct report_item *table = add_group_table(section, "failures", count * CODES);
    uint64_t others = report_groups_total(events->failing);
    /* That the command itself failed is its outcome. */
    bool is_outcome = events->root_failed && others == 1;

    for (size_t i = 0; i < count; i++) {
        size_t code_count = report_groups_top(events->failures, tops[i].whom, codes, CODES);
        for (size_t j = 0; j < code_count; j++)
            add_group_row(table, &codes[j], NULL);
        if (i >= ROWS_SHOWN || is_outcome || !code_count)
            continue;
        others -= tops[i].count;
        say_group(section, i ? "" : "failed", &tops[i], codes_text(section->page, codes, code_count));
    }
    if (!is_outcome)
        say_others(section, others);
}

/* `label` NULL: for programs only. */
static void add_signals(struct report_section *section, const struct report_groups *groups, const char *name,
                        const char *label)
{
    struct report_page *page = section->page;
    struct report_group tops[ROWS];
    size_t count = report_groups_top(groups, NULL, tops, ROWS);
    struct report_item *table = add_group_table(section, name, count);
    uint64_t others = report_groups_total(groups);

    for (size_t i = 0; i < count; i++) {
        const char *signal = signal_text(page, tops[i].number);
        add_group_row(table, &tops[i], signal);
        if (!label || i >= ROWS_SHOWN)
            continue;
        others -= tops[i].count;
        say_group(section, i ? "" : label, &tops[i],
                  report_text_of(page, "by %s%s%s", signal, tops[i].who[0] ? " from " : "", tops[i].who));
    }
    if (label)
        say_others(section, others);
}

static void add_ooms(struct report_section *section, const struct report_evidence *evidence)
{
    static const struct report_column columns[] = {
        {"at", "", UNIT_SECONDS, "seconds since the start", REPORT_CUT},
        {"pid", "", UNIT_NONE, NULL, REPORT_CUT},
        REPORT_COMMAND_COLUMNS("", NULL, REPORT_CUT),
    };
    const struct report_notable *ooms = evidence->events.ooms;
    const uint64_t count = evidence->events.oom_count;
    const double start = evidence->recording->start_wall;
    struct report_item *table = report_for_programs(
        report_add_table(section, "ooms", NULL, columns, sizeof(columns) / sizeof(columns[0]),
                         count < REPORT_NOTABLE_MAX ? count : REPORT_NOTABLE_MAX));
    for (size_t i = 0; i < count; i++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            break;
        bool is_timed = start > 0 && ooms[i].wall >= start;
        if (is_timed)
            row[0] = report_number(ooms[i].wall - start);
        if (ooms[i].pid)
            row[1] = report_number((double)ooms[i].pid);
        report_command_cells(&row[2], ooms[i].command);
        if (i < ROWS_SHOWN)
            report_say_command(
                section, i ? "" : "OOM killer",
                report_text_of(section->page, "chose pid %lld%s%s: ", (long long)ooms[i].pid,
                               is_timed ? " after " : "",
                               is_timed ? report_human(section->page, UNIT_SECONDS, row[0].number) : ""),
                row[2].text);
    }
    say_others(section, count > ROWS_SHOWN ? count - ROWS_SHOWN : 0);
}

void report_happened(struct report_page *page, const struct report_evidence *evidence)
{
    const struct report_events *events = &evidence->events;
    const struct report_measure *zombies =
        report_measure_of(&evidence->measures, TOPIC_PROCESS_ZOMBIES, "peak");
    struct report_section *section = report_section_add(page, "events", "What happened");

    add_processes(section, evidence);
    add_life(section, events, &events->shortest, "shortest_life", "shortest_life_command");
    add_life(section, events, &events->longest, "longest_life", "longest_life_command");
    if (zombies)
        report_add_number(section, "zombies", zombies->value > 0 ? "zombies" : NULL, UNIT_COUNT,
                          zombies->value, zombies->name, "at once");
    add_failures(section, events);
    /* That the command itself was killed, and by whom, is its outcome. */
    bool is_outcome = events->root_killer_is_told && report_groups_total(events->kills) == 1;
    add_signals(section, events->kills, "kills", is_outcome ? NULL : "killed");
    add_signals(section, events->signals, "signals", "signalled");
    add_ooms(section, evidence);
}

void report_anomalies(struct report_page *page, const struct report_evidence *evidence)
{
    enum { AT, SEVERITY, TYPE, PID, COMMAND, TRUNCATED, DESCRIPTION, COLUMNS };
    static const struct report_column columns[COLUMNS] = {
        [AT] = {"at", "AFTER", UNIT_SECONDS, "seconds since the start", REPORT_CUT},
        [SEVERITY] = {"severity", "SEVERITY", UNIT_NONE, NULL, REPORT_CUT},
        [TYPE] = {"anomaly_type", "ANOMALY", UNIT_NONE, NULL, REPORT_CUT},
        [PID] = {"pid", "PID", UNIT_NONE, NULL, REPORT_CUT},
        [COMMAND] = REPORT_COMMAND_COLUMNS("COMMAND", NULL, REPORT_LUXURY),
        [DESCRIPTION] = {"description", "DESCRIPTION", UNIT_NONE, NULL, REPORT_PROSE},
    };
    const struct report_notable *anomalies = evidence->events.anomalies;
    const uint64_t count = evidence->events.anomaly_count;
    const double start = evidence->recording->start_wall;
    const size_t rows = count < REPORT_NOTABLE_MAX ? count : REPORT_NOTABLE_MAX;
    struct report_section *section = report_section_add(page, "anomalies", "Anomalies");
    struct report_item *table = report_add_table(section, "found", NULL, columns, COLUMNS, rows);

    /* cppcheck-suppress knownConditionTrueFalse ; rows is 0 only sometimes */
    for (size_t i = 0; i < rows; i++) {
        const struct report_notable *one = &anomalies[i];
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        if (start > 0 && one->wall >= start)
            row[AT] = report_number(one->wall - start);
        row[SEVERITY] = report_told(one->severity);
        row[TYPE] = report_told(one->type);
        if (one->pid)
            row[PID] = report_number((double)one->pid);
        report_command_cells(&row[COMMAND], one->command);
        row[DESCRIPTION] = report_told(one->description);
    }
    if (count > rows)
        (void)report_add_remark(section, report_text_of(page, "These are the first %zu of %llu.", rows,
                                                        (unsigned long long)count));
}
