/*
 * On the screen of a report: one table of the processes that matter, those largest by CPU, by memory and by
 * I/O together; and one of those whose end was not told, from samples. Programs get the three orders apart
 * (tops.c).
 */
#include <math.h>
#include <string.h>

#include "view/report/report.h"

enum { ROWS = 6, FIRST = 3, DEPTH = REPORT_ENDS_MAX };
enum { TOP, CPU, RATE, MEMORY, READ, WRITTEN, SECONDS, NUMBERS, PID = NUMBERS, COMMAND, COLUMNS };

/* One process. */
struct candidate {
    double numbers[NUMBERS]; /* by column; NAN: not known */
    struct report_value pid;
    const char *command;             /* NULL: not told */
    bool is_first[REPORT_USE_COUNT]; /* among the first three by that use */
};

/* The largest by each use. */
struct orders {
    struct candidate items[REPORT_USE_COUNT][DEPTH];
    size_t counts[REPORT_USE_COUNT];
};

static double known(double number)
{
    return number >= 0 ? number : NAN;
}

/* A pid may come back. */
static bool is_same(const struct candidate *a, const struct candidate *b)
{
    return a->pid.kind == REPORT_TEXT ? strcmp(a->pid.text, b->pid.text) == 0
                                      : a->pid.number == b->pid.number && a->numbers[CPU] == b->numbers[CPU];
}

/* The first by each use, then the second by each, until the table is full. */
static size_t pick_largest(const struct orders *orders, struct candidate picks[ROWS])
{
    size_t count = 0;

    for (size_t index = 0; index < DEPTH; index++)
        for (int use = 0; use < REPORT_USE_COUNT; use++) {
            const struct candidate *next = &orders->items[use][index];
            size_t at = 0;
            if (index >= orders->counts[use])
                continue;
            while (at < count && !is_same(&picks[at], next))
                at++;
            if (at == ROWS)
                continue;
            if (at == count)
                picks[count++] = *next;
            /* con-duct's pcpu puts processes in order, but how much CPU they used is not shown: no mark. */
            picks[at].is_first[use] |= index < FIRST && (use != REPORT_USE_CPU || next->numbers[CPU] > 0);
        }
    return count;
}

/* "CM": among the first three by CPU and by memory. */
static const char *marks(struct report_page *page, const struct candidate *pick)
{
    static const char letters[] = "CMI";
    char text[REPORT_USE_COUNT + 1] = "";
    size_t used = 0;

    for (int use = 0; use < REPORT_USE_COUNT; use++)
        if (pick->is_first[use])
            text[used++] = letters[use];
    return report_text_of(page, "%s", text);
}

/* What is not known leaves the order as it is. */
static void sort_by_cpu(struct candidate *picks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && fmax(picks[j].numbers[CPU], 0) > fmax(picks[j - 1].numbers[CPU], 0);
             j--) {
            struct candidate moved = picks[j];
            picks[j] = picks[j - 1];
            picks[j - 1] = moved;
        }
}

/* Returns whether one of them moved bytes. */
static bool add_table(struct report_section *section, const struct orders *orders, const char *what,
                      const char *const titles[COLUMNS])
{
    static const enum unit units[COLUMNS] = {
        [CPU] = UNIT_SECONDS, [RATE] = UNIT_PERCENT,  [MEMORY] = UNIT_BYTES,
        [READ] = UNIT_BYTES,  [WRITTEN] = UNIT_BYTES, [SECONDS] = UNIT_SECONDS,
    };
    struct report_page *page = section->page;
    struct candidate picks[ROWS];
    size_t count = pick_largest(orders, picks);
    struct report_column *columns = count ? report_alloc(page, COLUMNS * sizeof(*columns)) : NULL;
    bool moved = false;

    if (!columns)
        return false;
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (struct report_column){"", titles[i] ? titles[i] : "", units[i], NULL,
                                            i == RATE || i == SECONDS ? REPORT_LUXURY
                                            : i == COMMAND            ? REPORT_COMMAND
                                                                      : REPORT_CUT};
    sort_by_cpu(picks, count);
    struct report_item *table = report_add_table(
        section, "",
        report_text_of(page, "%s%s:", what, count > FIRST ? " (C, M, I: first 3 by CPU, memory, I/O)" : ""),
        columns, COLUMNS, count);
    for (size_t i = 0; i < count; i++) {
        struct report_value *row = report_add_row(table);
        if (!row)
            return false;
        table->for_people = true;
        if (count > FIRST)
            row[TOP] = report_text(marks(page, &picks[i]));
        for (int column = CPU; column < NUMBERS; column++)
            row[column] = report_number(picks[i].numbers[column]);
        row[PID] = picks[i].pid;
        row[COMMAND] = report_text(picks[i].command);
        moved |= row[READ].number > 0 || row[WRITTEN].number > 0;
    }
    return moved;
}

void report_largest_ends(struct report_section *section, const struct report_events *events)
{
    static const char *const titles[COLUMNS] = {
        [CPU] = "CPU",       [MEMORY] = "PEAK RSS", [READ] = "READ",      [WRITTEN] = "WRITTEN",
        [SECONDS] = "LIVED", [PID] = "PID",         [COMMAND] = "COMMAND"};
    struct orders orders = {0};

    memcpy(orders.counts, events->top_counts, sizeof(orders.counts));
    for (int use = 0; use < REPORT_USE_COUNT; use++)
        for (size_t i = 0; i < orders.counts[use]; i++) {
            const struct report_end *end = &events->tops[use][i];
            orders.items[use][i] =
                (struct candidate){.numbers = {[CPU] = end->cpu_seconds,
                                               [RATE] = NAN,
                                               [MEMORY] = end->max_rss > 0 ? end->max_rss : NAN,
                                               [READ] = end->read_bytes,
                                               [WRITTEN] = end->write_bytes,
                                               [SECONDS] = known(end->lifetime_seconds)},
                                   .pid = report_number((double)end->pid),
                                   .command = end->command.text};
        }
    (void)add_table(section, &orders, "By the kernel's word at their end", titles);
}

void report_largest_sampled(struct report_section *section, const struct report_processes *processes,
                            const char *title)
{
    const struct report_process_keys *keys = report_processes_keys(processes);
    struct orders orders = {0};
    ptrdiff_t slots[NUMBERS];

    for (int column = 0; column < NUMBERS; column++)
        slots[column] = -1;
    for (size_t i = 0; i < keys->count; i++)
        if (keys->items[i].key == keys->rate)
            slots[RATE] = (ptrdiff_t)i;
    slots[MEMORY] = report_processes_slot(processes, TOPIC_MEMORY_MARK, NULL);
    if (slots[MEMORY] < 0)
        slots[MEMORY] = report_processes_slot(processes, TOPIC_MEMORY, NULL);
    slots[READ] = report_processes_slot(processes, TOPIC_IO_READ, NULL);
    slots[WRITTEN] = report_processes_slot(processes, TOPIC_IO_WRITE, NULL);
    for (int use = 0; use < REPORT_USE_COUNT; use++) {
        struct report_process tops[DEPTH];
        orders.counts[use] = report_processes_top(processes, (enum report_use)use, tops, DEPTH);
        for (size_t i = 0; i < orders.counts[use]; i++) {
            struct candidate *item = &orders.items[use][i];
            *item = (struct candidate){.pid = report_text(tops[i].subject), .command = tops[i].command.text};
            for (int column = 0; column < NUMBERS; column++)
                item->numbers[column] =
                    slots[column] >= 0 && tops[i].has[slots[column]] ? tops[i].values[slots[column]] : NAN;
            item->numbers[CPU] = known(tops[i].cpu_seconds);
            item->numbers[SECONDS] = known(tops[i].age);
        }
    }
    /* Memory under its own name: a high-water mark is not what one sample saw. */
    const char *const titles[COLUMNS] = {
        [CPU] = keys->counted && keys->counted->bound != BOUND_ABOUT ? "CPU" : "CPU, ABOUT",
        [RATE] = "AT MOST",
        [MEMORY] =
            slots[MEMORY] < 0 ? "" : report_column_title(section->page, keys->items[slots[MEMORY]].key),
        [READ] = "READ",
        [WRITTEN] = "WRITTEN",
        [SECONDS] = "AGE",
        [PID] = "PID",
        [COMMAND] = "COMMAND"};
    if (add_table(section, &orders, title, titles))
        report_add_remark(section,
                          "READ and WRITTEN of a parent include those of the children it waited for.")
            ->for_people = true;
}
