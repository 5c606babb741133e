#include "view/list/columns.h"

#include <string.h>

#define TEXT_LIMIT 4096 /* bytes of a text that a table keeps of each run */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct listing_column usual_table[] = {
    {.name = "id", .title = "ID", .kind = COLUMN_ID},
    {.name = "start_time", .title = "START", .field = "start_time", .kind = COLUMN_START},
    {.name = "exit_code", .title = "EXIT", .field = "exit_code", .kind = COLUMN_OUTCOME},
    {.name = "wall", .title = "WALL", .field = "wall"},
    {.name = "cpu_seconds", .title = "CPU", .field = "cpu_seconds"},
    {.name = "peak_memory", .title = "MEMORY", .field = "peak_memory"},
    {.name = "processes", .title = "PROCS", .field = "processes", .drop = 3},
    {.name = "job", .title = "JOB", .field = "job", .drop = 2, .drop_if_same = true, .drop_else = 5},
    {.name = "run", .title = "RUN", .kind = COLUMN_PREFIX, .drop = 4},
    {.name = "command", .title = "COMMAND", .field = "command"},
};

static const struct listing_column group_table[] = {
    {.name = "runs", .title = "RUNS", .kind = COLUMN_RUNS},
    {.name = "min_start_time",
     .title = "START",
     .over = "FIRST",
     .field = "start_time",
     .kind = COLUMN_START,
     .drop = 1,
     .fold = FOLD_MIN},
    {.name = "worst_exit_code",
     .title = "EXIT",
     .over = "WORST",
     .field = "exit_code",
     .kind = COLUMN_OUTCOME,
     .fold = FOLD_WORST},
    {.name = "max_wall", .title = "WALL", .over = "MAX", .field = "wall", .fold = FOLD_MAX},
    {.name = "sum_cpu_seconds", .title = "CPU", .over = "SUM", .field = "cpu_seconds", .fold = FOLD_SUM},
    {.name = "max_peak_memory", .title = "MEMORY", .over = "MAX", .field = "peak_memory", .fold = FOLD_MAX},
    {.name = "sum_peak_memory",
     .title = "MEMORY",
     .over = "SUM",
     .field = "peak_memory",
     .drop = 2,
     .fold = FOLD_SUM},
    {.name = "command", .title = "COMMAND", .field = "command"},
};

static const char *const group_data[] = {"runs",
                                         "failed",
                                         "min_start_time",
                                         "worst_exit_code",
                                         "max_wall",
                                         "sum_cpu_seconds",
                                         "max_peak_memory",
                                         "sum_peak_memory",
                                         "sum_processes",
                                         "command",
                                         NULL};

const char *const *run_columns_usual_fields(void)
{
    static const char *const names[] = {"start_time",  "status",      "exit_code", "wall",
                                        "cpu_seconds", "peak_memory", "processes", "job",
                                        "command",     "prefix",      "id",        NULL};
    return names;
}

int run_columns_add_named(struct run_listing *listing, const char *name, bool grouped, bool table,
                          bool hidden)
{
    static const struct {
        const char *prefix;
        enum listing_fold fold;
    } folds[] = {{"sum_", FOLD_SUM}, {"max_", FOLD_MAX}, {"min_", FOLD_MIN}, {"worst_", FOLD_WORST}};
    struct listing_column column = {
        .name = name, .field = name, .hidden = hidden, .limit = table && !hidden ? TEXT_LIMIT : 0};

    if (grouped && (strcmp(name, "runs") == 0 || strcmp(name, "failed") == 0)) {
        column.kind = strcmp(name, "runs") == 0 ? COLUMN_RUNS : COLUMN_FAILED;
        column.field = NULL;
    }
    for (size_t i = 0; grouped && i < COUNT(folds); i++) {
        size_t length = strlen(folds[i].prefix);
        if (strncmp(name, folds[i].prefix, length) == 0 && name[length]) {
            column.field = name + length;
            column.fold = folds[i].fold;
        }
    }
    return run_listing_add_column(listing, column);
}

static int add_to_table(struct run_listing *listing, struct listing_column column)
{
    column.limit = TEXT_LIMIT;
    return run_listing_add_column(listing, column);
}

int run_columns_add_usual(struct run_listing *listing, bool table)
{
    int code = 0;

    for (size_t i = 0; table && i < COUNT(usual_table) && code == 0; i++)
        code = add_to_table(listing, usual_table[i]);
    for (const char *const *name = run_columns_usual_fields(); !table && *name && code == 0; name++)
        code = run_columns_add_named(listing, *name, false, false, false);
    return code;
}

int run_columns_add_group(struct run_listing *listing, const char *field, bool table)
{
    const char *title = strcmp(field, "job") == 0 ? "JOB" : strcmp(field, "command") == 0 ? "COMMAND" : NULL;
    int code = run_listing_add_column(listing,
                                      (struct listing_column){.name = field, .title = title, .field = field});

    /* What they are grouped by has its column already. */
    for (size_t i = 0; table && i < COUNT(group_table) && code == 0; i++)
        if (strcmp(group_table[i].name, field) != 0)
            code = add_to_table(listing, group_table[i]);
    for (const char *const *name = group_data; !table && *name && code == 0; name++)
        if (strcmp(*name, field) != 0)
            code = run_columns_add_named(listing, *name, true, false, false);
    return code;
}

bool run_columns_knows(const char *field)
{
    static const char *const others[] = {"wall_clock_time", "end_time", "message", "cause",
                                         "signal",          "sheet",    "status",  "working_directory",
                                         "config_hash",     NULL};

    for (const char *const *name = run_columns_usual_fields(); *name; name++)
        if (strcmp(*name, field) == 0)
            return true;
    for (const char *const *name = others; *name; name++)
        if (strcmp(*name, field) == 0)
            return true;
    return recorded_alias_part(field) != NULL;
}

static bool is_empty(const struct run_listing *listing, size_t column)
{
    for (size_t i = 0; i < listing->count; i++)
        if (listing->rows[i]->cells[column].there)
            return false;
    return true;
}

void run_columns_hide_empty(struct run_listing *listing)
{
    const ptrdiff_t command = run_listing_column(listing, "command");

    for (size_t i = 0; i < listing->column_count; i++) {
        struct listing_column *column = &listing->columns[i];
        const bool may_go = column->drop > 0 || (listing->grouped && (ptrdiff_t)i == command);
        if (column->kind == COLUMN_FIELD && may_go && is_empty(listing, i))
            column->hidden = true;
    }
}
