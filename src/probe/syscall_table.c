#include "probe/syscall_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/syscall_names.h"

void syscall_table_fini(struct syscall_table *table)
{
    free(table->entries);
    free(table->failures);
    *table = (struct syscall_table){0};
}

void syscall_table_clear(struct syscall_table *table)
{
    table->count = table->failure_count = 0;
}

/* Where the name stands, or would stand; `found` says which. */
static size_t place_of(const struct syscall_table *table, const char *name, bool *found)
{
    size_t low = 0, high = table->count;

    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *there = table->entries[middle].name;
        int order = there == name ? 0 : strcmp(there, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add(struct syscall_table *table, const char *name, bool lasts, const struct syscall_totals *more)
{
    bool found;
    size_t place = place_of(table, name, &found);

    if (!found && !lasts) {
        name = syscall_name_keep(name);
        place = place_of(table, name, &found); /* where there is no room for names, many share one */
    }
    if (!found) {
        if (ARRAY_RESERVE(table->entries, table->capacity, table->count + 1) < 0)
            return -ENOMEM;
        memmove(&table->entries[place + 1], &table->entries[place],
                (table->count - place) * sizeof(table->entries[0]));
        table->entries[place] = (struct syscall_entry){.name = name};
        table->count++;
    }
    struct syscall_totals *totals = &table->entries[place].totals;
    totals->count += more->count;
    totals->errors += more->errors;
    totals->ns += more->ns;
    return 0;
}

int syscall_table_add(struct syscall_table *table, uint32_t number, const struct syscall_totals *more)
{
    return add(table, syscall_name(number), true, more);
}

int syscall_table_add_named(struct syscall_table *table, const char *name, const struct syscall_totals *more)
{
    return add(table, name, false, more);
}

int syscall_table_add_failure(struct syscall_table *table, const char *name, int error, uint64_t count)
{
    size_t i = 0;

    while (i < table->failure_count &&
           (table->failures[i].error != error ||
            (table->failures[i].name != name && strcmp(table->failures[i].name, name) != 0)))
        i++;
    if (i == table->failure_count) {
        if (ARRAY_RESERVE(table->failures, table->failure_capacity, i + 1) < 0)
            return -ENOMEM;
        table->failures[table->failure_count++] =
            (struct syscall_failure){.name = syscall_name_keep(name), .error = error};
    }
    table->failures[i].count += count;
    return 0;
}

int syscall_table_merge(struct syscall_table *table, const struct syscall_table *more)
{
    int code = 0;

    for (size_t i = 0; i < more->count; i++)
        if (add(table, more->entries[i].name, true, &more->entries[i].totals) < 0)
            code = -ENOMEM;
    for (size_t i = 0; i < more->failure_count; i++)
        if (syscall_table_add_failure(table, more->failures[i].name, more->failures[i].error,
                                      more->failures[i].count) < 0)
            code = -ENOMEM;
    return code;
}
