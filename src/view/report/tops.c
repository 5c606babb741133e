/* Section of a report: the processes and programs that used most. */
#include <string.h>

#include "view/report/report.h"

enum { ROWS = 5, PROGRAM_ROWS = 8, PROGRAMS_FROM = 12 };

/* What the kernel told at the end of each process: exact, of the process itself, all its threads, no
 * children. */
static void add_ends(struct report_section *section, const struct report_events *events, enum report_use use,
                     const char *name)
{
    static const struct report_column columns[] = {
        {"cpu_seconds", "", UNIT_SECONDS, "exit event", REPORT_CUT},
        {"max_rss", "", UNIT_BYTES, "exit event", REPORT_CUT},
        {"read_bytes", "", UNIT_BYTES, "exit event", REPORT_CUT},
        {"write_bytes", "", UNIT_BYTES, "exit event", REPORT_CUT},
        {"lifetime_seconds", "", UNIT_SECONDS, "exit event", REPORT_CUT},
        {"pid", "", UNIT_NONE, NULL, REPORT_CUT},
        REPORT_COMMAND_COLUMNS("", NULL, REPORT_CUT),
    };
    struct report_item *table = report_for_programs(
        report_add_table(section, name, NULL, columns, sizeof(columns) / sizeof(columns[0]), ROWS));

    for (size_t i = 0; i < events->top_counts[use]; i++) {
        const struct report_end *end = &events->tops[use][i];
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        row[0] = report_number(end->cpu_seconds);
        if (end->max_rss > 0)
            row[1] = report_number(end->max_rss);
        row[2] = report_number(end->read_bytes);
        row[3] = report_number(end->write_bytes);
        if (end->lifetime_seconds >= 0)
            row[4] = report_number(end->lifetime_seconds);
        row[5] = report_number((double)end->pid);
        report_command_cells(&row[6], end->command);
    }
}

/* "io_read_bytes" -> "READ_BYTES"; what was told at the end keeps its name: it stands beside what was
 * sampled. */
const char *report_column_title(struct report_page *page, const struct recorded_key *key)
{
    size_t source = strlen(key->source);
    bool is_prefix = strncmp(key->key, key->source, source) == 0 && key->key[source] == '_' &&
                     strcmp(key->source, "exit") != 0;
    char *title = (char *)report_text_of(page, "%s", is_prefix ? key->key + source + 1 : key->key);

    for (char *at = title; at && *at; at++)
        *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
    return title;
}

/* The keys of one use, as columns; returns how many, and the slots they are in. */
static size_t key_columns(struct report_page *page, const struct report_processes *processes,
                          enum report_use use, struct report_column *columns, size_t *slots)
{
    const struct report_process_keys *keys = report_processes_keys(processes);
    size_t count = 0;

    for (size_t i = 0; i < keys->count; i++) {
        if (keys->items[i].use != use)
            continue;
        const struct recorded_key *key = keys->items[i].key;
        const char *source = key->note ? report_text_of(page, "%s: %s", key->key, key->note) : key->key;
        columns[count] =
            (struct report_column){key->key, report_column_title(page, key), key->unit, source, REPORT_CUT};
        slots[count++] = i;
    }
    return count;
}

static void add_sampled(struct report_section *section, const struct report_processes *processes,
                        enum report_use use, const char *name)
{
    enum { OTHERS = 5 }; /* estimate, age, pid, command in two */
    static const struct report_column command[] = {REPORT_COMMAND_COLUMNS("COMMAND", NULL, REPORT_CUT)};
    struct report_page *page = section->page;
    struct report_process tops[ROWS];
    size_t slots[REPORT_PROCESS_KEYS_MAX];
    size_t rows = report_processes_top(processes, use, tops, ROWS);
    const struct report_process_keys *keys = report_processes_keys(processes);
    struct report_column *columns = report_alloc(page, (REPORT_PROCESS_KEYS_MAX + OTHERS) * sizeof(*columns));
    size_t count = 0;

    if (!columns)
        return;
    if (keys->rate && use == REPORT_USE_CPU && !keys->counted)
        columns[count++] = (struct report_column){
            "cpu_seconds_estimate", "CPU, ABOUT", UNIT_SECONDS,
            report_text_of(page,
                           "an estimate: the largest %s of each record x the time it was seen to be there",
                           keys->rate->key),
            REPORT_CUT};
    size_t before = count;
    count += key_columns(page, processes, use, columns + count, slots);
    size_t behind = count;
    columns[count++] = (struct report_column){"age", "AGE", UNIT_SECONDS, "when last seen", REPORT_CUT};
    columns[count++] = (struct report_column){"process", "PID", UNIT_NONE, NULL, REPORT_CUT};
    memcpy(&columns[count], command, sizeof(command));
    count += sizeof(command) / sizeof(command[0]);
    struct report_item *table =
        report_for_programs(report_add_table(section, name, NULL, columns, count, ROWS));
    for (size_t i = 0; i < rows; i++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        if (before && tops[i].cpu_seconds >= 0)
            row[0] = report_number(tops[i].cpu_seconds);
        for (size_t j = before; j < behind; j++)
            if (tops[i].has[slots[j - before]])
                row[j] = report_number(tops[i].values[slots[j - before]]);
        if (tops[i].age >= 0)
            row[behind] = report_number(tops[i].age);
        row[behind + 1] = report_text(tops[i].subject);
        report_command_cells(&row[behind + 2], tops[i].command);
    }
}

static void add_programs(struct report_section *section, const struct report_events *events)
{
    enum { COLUMNS = 8 };
    static const struct report_column columns[COLUMNS] = {
        {"cpu_seconds", "CPU", UNIT_SECONDS, "exit events, summed", REPORT_CUT},
        {"cpu_share", "", UNIT_PERCENT, "of the CPU of all that ended", REPORT_CUT},
        {"max_rss", "LARGEST", UNIT_BYTES, "exit events, the largest process", REPORT_CUT},
        {"read_bytes", "READ", UNIT_BYTES, "exit events, summed", REPORT_CUT},
        {"write_bytes", "WRITTEN", UNIT_BYTES, "exit events, summed", REPORT_CUT},
        {"processes", "ENDED", UNIT_COUNT, "exit events", REPORT_CUT},
        {"failed", "FAILED", UNIT_COUNT, "exit events: code other than 0, or a signal", REPORT_CUT},
        {"program", "PROGRAM", UNIT_NONE, NULL, REPORT_CUT},
    };
    struct report_program tops[PROGRAM_ROWS];
    size_t count = report_programs_top(events, tops, PROGRAM_ROWS);

    /* One process each is what the other tables show, and of a few the largest tell enough. */
    if (events->ended <= report_programs_count(events) || events->ended < 2)
        return;
    struct report_item *table =
        report_add_table(section, "programs",
                         count < report_programs_count(events)
                             ? report_text_of(section->page, "Programs, the first %zu of %zu:", count,
                                              report_programs_count(events))
                             : "Programs:",
                         columns, COLUMNS, count);
    table->for_programs = events->ended < PROGRAMS_FROM;
    for (size_t i = 0; i < count; i++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        if (tops[i].with_use) {
            row[0] = report_number(tops[i].cpu_seconds);
            if (events->cpu_seconds > 0)
                row[1] = report_number(100 * tops[i].cpu_seconds / events->cpu_seconds);
            if (tops[i].max_rss > 0)
                row[2] = report_number(tops[i].max_rss);
            row[3] = report_number(tops[i].read_bytes);
            row[4] = report_number(tops[i].write_bytes);
        }
        row[5] = report_number((double)tops[i].ended);
        row[6] = report_number((double)tops[i].failed);
        row[7] = report_text(tops[i].name[0] ? tops[i].name : REPORT_NOT_TOLD);
    }
}

/* "8 (proc_spawned), 8 ended; up to 7 births/s; lived 929 µs to 4.16 s" */
static void say_count(struct report_section *section, const struct report_evidence *evidence)
{
    const struct report_events *events = &evidence->events;
    const struct recorded_field *headline = recording_field(evidence->recording, "processes");
    struct report_page *page = section->page;
    bool has_headline = headline && headline->kind == FIELD_NUMBER;
    const char *text;

    if (has_headline)
        text = report_text_of(page, "%s%s%s%s", report_human(page, UNIT_COUNT, headline->number),
                              headline->source ? " (" : "", headline->source ? headline->source : "",
                              headline->source ? ")" : "");
    else if (events->count)
        text = report_text_of(page, "%s seen", report_human(page, UNIT_COUNT, (double)events->spawned));
    else
        return;
    if (events->count)
        text =
            report_text_of(page, "%s, %s ended", text, report_human(page, UNIT_COUNT, (double)events->ended));
    /* All in one second is what the counts say already. */
    if (events->spawn_rate_peak > 1 && events->spawn_rate_peak < (double)events->spawned)
        text = report_text_of(page, "%s; up to %s births/s", text,
                              report_human(page, UNIT_COUNT, events->spawn_rate_peak));
    if (events->lives_timed > 1) {
        const char *from = report_human(page, UNIT_SECONDS, events->shortest.seconds);
        const char *to = report_human(page, UNIT_SECONDS, events->longest.seconds);
        bool is_range = strcmp(from, to) != 0;
        text =
            report_text_of(page, "%s; lived %s%s%s", text, from, is_range ? " to " : "", is_range ? to : "");
    }
    struct report_item *item = report_say(section, "in all", text, NULL);
    item->note = has_headline ? headline->note : NULL;
    if (events->births_sampled)
        item->note = "noticed in samples: there may have been others";
}

void report_top_processes(struct report_page *page, const struct report_evidence *evidence)
{
    static const struct {
        enum report_use use;
        const char *name, *sampled_name;
    } tables[] = {
        {REPORT_USE_CPU, "by_cpu", "by_cpu_sampled"},
        {REPORT_USE_MEMORY, "by_memory", "by_memory_sampled"},
        {REPORT_USE_IO, "by_io", "by_io_sampled"},
    };
    struct report_section *section = report_section_add(page, "processes", "Processes");

    say_count(section, evidence);
    report_largest_ends(section, &evidence->events);
    report_largest_sampled(section, evidence->processes,
                           evidence->events.with_use ? "Of those whose end was not told, from samples"
                                                     : "From samples");
    add_programs(section, &evidence->events);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        add_ends(section, &evidence->events, tables[i].use, tables[i].name);
        add_sampled(section, evidence->processes, tables[i].use, tables[i].sampled_name);
    }
    if (report_processes_are_too_many(evidence->processes))
        (void)report_add_remark(section,
                                report_text_of(page, "Only the first %d processes of the records are ranked.",
                                               REPORT_PROCESSES_MAX));
}
