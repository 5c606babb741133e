/* The columns of this build, and values of made-up rows by their names. */
#ifndef METRON_TESTS_COLUMNS_FIXTURE_H
#define METRON_TESTS_COLUMNS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "collect/collectors.h"
#include "schema/snapshot.h"

static inline const struct snapshot_columns *all_columns(void)
{
    static struct snapshot_columns columns;

    if (columns.process.count == 0 &&
        snapshot_columns_init(&columns, collector_sources(), collector_count) < 0)
        abort();
    return &columns;
}

static inline unsigned column_named(const struct columns *columns, const char *name)
{
    for (unsigned i = 0; i < columns->count; i++)
        if (strcmp(columns->of[i]->column, name) == 0)
            return i;
    abort();
}

/* Inner values: bytes, seconds, 1 = one core. */
static inline void set_value(struct snapshot_process *process, const char *name, double number)
{
    value_row_set(&process->values, column_named(&all_columns()->process, name), number);
}

static inline double get_value(const struct snapshot_process *process, const char *name)
{
    return process->values.numbers[column_named(&all_columns()->process, name)];
}

static inline void add_to_value(struct snapshot_process *process, const char *name, double number)
{
    set_value(process, name, get_value(process, name) + number);
}

static inline void remove_value(struct snapshot_process *process, const char *name)
{
    process->values.present &= ~(UINT64_C(1) << column_named(&all_columns()->process, name));
}

static inline void set_machine(struct snapshot *snapshot, const char *name, double number)
{
    value_row_set(&snapshot->machine, column_named(&all_columns()->machine, name), number);
}

/* So many GPUs, of which nothing is known yet. */
static inline void make_gpus(struct snapshot *snapshot, size_t count)
{
    snapshot->columns = all_columns();
    snapshot->gpus = snapshot_make_gpus(snapshot, count);
    if (!snapshot->gpus)
        abort();
    snapshot->gpu_count = count;
    for (size_t i = 0; i < count; i++)
        snapshot->gpus[i].index = (unsigned)i;
}

static inline void set_gpu(struct snapshot_gpu *gpu, const char *name, double number)
{
    value_row_set(&gpu->values, column_named(&all_columns()->device, name), number);
}

#endif
