/*
 * On the screen of a report: one table of the processes that matter, those largest by CPU, by memory and by
 * I/O together; and one of those whose end was not told, from samples. Programs get the three orders apart
 * (tops.c).
 */
#include <string.h>

#include "view/report/report.h"

enum { ROWS = 6, FIRST = 3, DEPTH = REPORT_ENDS_MAX };

/* One process, by where it stands in one of the orders. */
struct pick {
    enum report_use use;
    size_t index;
    bool is_first[REPORT_USE_COUNT]; /* among the first three by that use */
};

struct orders {
    size_t counts[REPORT_USE_COUNT];
    const struct report_end (*ends)[REPORT_ENDS_MAX];        /* either */
    const struct report_process (*sampled)[REPORT_ENDS_MAX]; /* or */
};

static bool is_same(const struct orders *orders, const struct pick *pick, enum report_use use, size_t index)
{
    if (orders->sampled)
        return strcmp(orders->sampled[pick->use][pick->index].subject, orders->sampled[use][index].subject) ==
               0;
    const struct report_end *a = &orders->ends[pick->use][pick->index], *b = &orders->ends[use][index];
    /* A pid may come back. */
    return a->pid == b->pid && a->cpu_seconds == b->cpu_seconds && a->lifetime_seconds == b->lifetime_seconds;
}

/* con-duct's pcpu puts processes in order, but how much CPU they used is not shown: no mark for that. */
static bool is_seen(const struct orders *orders, enum report_use use, size_t index)
{
    return !orders->sampled || use != REPORT_USE_CPU || orders->sampled[use][index].cpu_seconds > 0;
}

/* The first by each use, then the second by each, until the table is full. */
static size_t pick_largest(const struct orders *orders, struct pick picks[ROWS])
{
    size_t count = 0;

    for (size_t index = 0; index < DEPTH; index++)
        for (int use = 0; use < REPORT_USE_COUNT; use++) {
            size_t at = 0;
            if (index >= orders->counts[use])
                continue;
            while (at < count && !is_same(orders, &picks[at], (enum report_use)use, index))
                at++;
            if (at == ROWS)
                continue;
            if (at == count)
                picks[count++] = (struct pick){.use = (enum report_use)use, .index = index};
            picks[at].is_first[use] |= index < FIRST && is_seen(orders, (enum report_use)use, index);
        }
    return count;
}

/* "CM": among the first three by CPU and by memory. */
static const char *marks(struct report_page *page, const struct pick *pick)
{
    static const char letters[] = "CMI";
    char text[REPORT_USE_COUNT + 1] = "";
    size_t used = 0;

    for (int use = 0; use < REPORT_USE_COUNT; use++)
        if (pick->is_first[use])
            text[used++] = letters[use];
    return report_text_of(page, "%s", text);
}

static const char *title_of(struct report_page *page, const char *what, size_t count)
{
    return count > FIRST ? report_text_of(page, "%s (C, M, I: first 3 by CPU, memory, I/O):", what)
                         : report_text_of(page, "%s:", what);
}

/* What is not known, or was not enough to be seen, leaves the order as it is. */
static double cpu_of(const struct orders *orders, const struct pick *pick)
{
    double seconds = orders->sampled ? orders->sampled[pick->use][pick->index].cpu_seconds
                                     : orders->ends[pick->use][pick->index].cpu_seconds;
    return seconds > 0 ? seconds : 0;
}

static void sort_by_cpu(const struct orders *orders, struct pick *picks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && cpu_of(orders, &picks[j]) > cpu_of(orders, &picks[j - 1]); j--) {
            struct pick moved = picks[j];
            picks[j] = picks[j - 1];
            picks[j - 1] = moved;
        }
}

/* -- Those whose end was told -- */

void report_largest_ends(struct report_section *section, const struct report_events *events)
{
    struct report_page *page = section->page;
    struct orders orders = {.ends = events->tops};
    struct pick picks[ROWS];

    memcpy(orders.counts, events->top_counts, sizeof(orders.counts));
    size_t count = pick_largest(&orders, picks);
    sort_by_cpu(&orders, picks, count);
    struct report_item *table =
        report_ends_table(section, "", title_of(page, "By the kernel's word at their end", count), count);
    if (!table)
        return;
    table->for_people = true;
    for (size_t i = 0; i < count; i++)
        report_add_end(table, &events->tops[picks[i].use][picks[i].index],
                       count > FIRST ? marks(page, &picks[i]) : NULL);
}

/* -- Those that were only sampled -- */

static struct report_value value_of(const struct report_process *process, ptrdiff_t slot)
{
    return slot >= 0 && process->has[slot] ? report_number(process->values[slot]) : (struct report_value){0};
}

enum sampled_column { TOP, CPU, RATE, MEMORY, READ, WRITTEN, AGE, PID, COMMAND, COLUMNS };

/* The columns, and in which slot of a process each of them is; NULL for want of memory. */
static const struct report_column *sampled_columns(struct report_page *page,
                                                   const struct report_processes *processes,
                                                   ptrdiff_t slots[COLUMNS])
{
    static const struct report_column titles[COLUMNS] = {
        [TOP] = {"", "", UNIT_NONE, NULL, REPORT_CUT},
        [CPU] = {"", "CPU, ABOUT", UNIT_SECONDS, NULL, REPORT_CUT},
        [RATE] = {"", "AT MOST", UNIT_PERCENT, NULL, REPORT_LUXURY},
        [MEMORY] = {"", "", UNIT_BYTES, NULL, REPORT_CUT},
        [READ] = {"", "READ", UNIT_BYTES, NULL, REPORT_CUT},
        [WRITTEN] = {"", "WRITTEN", UNIT_BYTES, NULL, REPORT_CUT},
        [AGE] = {"", "AGE", UNIT_SECONDS, NULL, REPORT_LUXURY},
        [PID] = {"", "PID", UNIT_NONE, NULL, REPORT_CUT},
        [COMMAND] = {"", "COMMAND", UNIT_NONE, NULL, REPORT_COMMAND},
    };
    const struct report_process_key *keys;
    const struct recorded_key *rate = report_processes_rate_key(processes);
    size_t key_count = report_processes_keys(processes, &keys);
    struct report_column *columns = arena_alloc(&page->arena, sizeof(titles));

    if (!columns) {
        page->failed = true;
        return NULL;
    }
    memcpy(columns, titles, sizeof(titles));
    if (report_processes_counted(processes))
        columns[CPU].title = "CPU";
    slots[RATE] = -1;
    for (size_t i = 0; rate && i < key_count; i++)
        if (keys[i].key == rate)
            slots[RATE] = (ptrdiff_t)i;
    slots[MEMORY] = report_processes_slot(processes, TOPIC_MEMORY_MARK, NULL);
    if (slots[MEMORY] < 0)
        slots[MEMORY] = report_processes_slot(processes, TOPIC_MEMORY, NULL);
    slots[READ] = report_processes_slot(processes, TOPIC_IO_READ, NULL);
    slots[WRITTEN] = report_processes_slot(processes, TOPIC_IO_WRITE, NULL);
    /* Under its own name: a high-water mark is not what one sample saw. */
    if (slots[MEMORY] >= 0)
        columns[MEMORY].title = report_column_title(page, keys[slots[MEMORY]].key);
    return columns;
}

void report_largest_sampled(struct report_section *section, const struct report_processes *processes,
                            const char *title)
{
    struct report_page *page = section->page;
    struct report_process tops[REPORT_USE_COUNT][REPORT_ENDS_MAX];
    struct orders orders = {.sampled = tops};
    struct pick picks[ROWS];
    ptrdiff_t slots[COLUMNS];
    bool moved = false;

    for (int use = 0; use < REPORT_USE_COUNT; use++)
        orders.counts[use] =
            report_processes_top(processes, (enum report_use)use, tops[use], REPORT_ENDS_MAX);
    size_t count = pick_largest(&orders, picks);
    const struct report_column *columns = count ? sampled_columns(page, processes, slots) : NULL;
    if (!columns)
        return;
    sort_by_cpu(&orders, picks, count);
    struct report_item *table =
        report_add_table(section, "", title_of(page, title, count), columns, COLUMNS, count);
    if (!table)
        return;
    table->for_people = true;
    for (size_t i = 0; i < count; i++) {
        const struct report_process *process = &tops[picks[i].use][picks[i].index];
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        if (count > FIRST)
            row[TOP] = report_text(marks(page, &picks[i]));
        if (process->cpu_seconds >= 0)
            row[CPU] = report_number(process->cpu_seconds);
        for (int column = RATE; column <= WRITTEN; column++)
            row[column] = value_of(process, slots[column]);
        if (process->age >= 0)
            row[AGE] = report_number(process->age);
        row[PID] = report_text(process->subject);
        row[COMMAND] = report_text(process->command);
        moved |= row[READ].number > 0 || row[WRITTEN].number > 0;
    }
    struct report_item *remark =
        moved ? report_add_remark(section,
                                  "READ and WRITTEN of a parent include those of the children it waited for.")
              : NULL;
    if (remark)
        remark->for_people = true;
}
