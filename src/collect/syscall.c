/*
 * System calls by name, of each process and of the target: how many, how long, how many failed.
 *
 * Somebody else counts (context->syscalls: BPF, else strace); here the counts become readings. They are
 * cumulative, and the totals are counts of their own, not sums over processes: they hold the calls of
 * processes that the tree never saw.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "probe/error_names.h"
#include "probe/syscall_table.h"

enum { COUNTS, SECONDS, ERRORS, QUANTITIES };
/* Of a process, then of the target, and last by error. */
enum { FAILURES = 2 * QUANTITIES, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [COUNTS] = "calls of the process",
    [SECONDS] = "seconds in calls of the process",
    [ERRORS] = "failed calls of the process",
    [QUANTITIES + COUNTS] = "calls of the target",
    [QUANTITIES + SECONDS] = "seconds in calls of the target",
    [QUANTITIES + ERRORS] = "failed calls of the target",
    [FAILURES] = "errors of the target's calls",
};

#define CALLS(KEY, TOPIC, QUANTITY, UNIT, MEANING, MEANING_TOTAL)                                            \
    MEASUREMENT(KEY, TOPIC, (QUANTITY), SCOPE_PER_PID, TYPE_CATEGORICAL, UNIT, REDUCE_TALLY, COST_SYSCALLS,  \
                MEANING),                                                                                    \
        MEASUREMENT(KEY "_total", TOPIC, QUANTITIES + (QUANTITY), SCOPE_SINGLE, TYPE_CATEGORICAL, UNIT,      \
                    REDUCE_TALLY, COST_SYSCALLS, MEANING_TOTAL)

static const struct measurement measurements[] = {
    CALLS("syscall_counts", TOPIC_SYSCALL, COUNTS, UNIT_COUNT,
          "system calls of the process that returned, by name",
          "system calls of the whole target that returned, by name"),
    CALLS("syscall_seconds", TOPIC_SYSCALL, SECONDS, UNIT_SECONDS,
          "seconds from entry to return of the process's system calls, waiting included, threads summed, by "
          "name",
          "seconds from entry to return of the whole target's system calls, waiting included, by name"),
    CALLS("syscall_errors", TOPIC_SYSCALL_ERRORS, ERRORS, UNIT_COUNT,
          "system calls of the process that returned an error, by name",
          "system calls of the whole target that returned an error, by name"),
    MEASUREMENT("syscall_error_names_total", TOPIC_SYSCALL_ERROR_NAMES, FAILURES, SCOPE_SINGLE,
                TYPE_CATEGORICAL, UNIT_COUNT, REDUCE_TALLY, COST_SYSCALLS,
                "system calls of the whole target that returned an error, by name and error: "
                "\"openat ENOENT\""),
};

struct syscall_state {
    uint64_t selected;  /* a bit per field */
    struct arena arena; /* what the rows of this pass point to */
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    if (!context->syscalls)
        survey_all(&collector_syscall.source, "asked for with --syscalls summary", reasons);
}

static void close_state(void *state)
{
    struct syscall_state *syscalls = state;

    arena_fini(&syscalls->arena);
    free(syscalls);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct syscall_state *syscalls = calloc(1, sizeof(*syscalls));

    (void)cost;
    if (!syscalls)
        return -ENOMEM;
    syscalls->selected = context->selected;
    *state = syscalls;
    return 0;
}

static double quantity_of(const struct syscall_totals *totals, unsigned quantity)
{
    switch (quantity) {
    case COUNTS:
        return (double)totals->count;
    case SECONDS:
        return (double)totals->ns / (double)NS_PER_SECOND;
    default:
        return (double)totals->errors;
    }
}

/* One field: the amounts of one quantity. For want of memory it is absent this time. */
static void fill_field(struct syscall_state *syscalls, struct row *row, unsigned field,
                       const struct syscall_table *table)
{
    struct amounts *amounts = arena_alloc(&syscalls->arena, sizeof(*amounts));
    struct amount *items = arena_alloc(&syscalls->arena, (table->count + 1) * sizeof(*items));

    if (!amounts || !items)
        return;
    amounts->items = items;
    for (size_t i = 0; i < table->count; i++) {
        double value = quantity_of(&table->entries[i].totals, field % QUANTITIES);
        if (value > 0)
            items[amounts->count++] = (struct amount){table->entries[i].name, value};
    }
    row_amounts(row, field, amounts);
}

/* What failed and how; those whose error is not known are not there. */
static void fill_failures(struct syscall_state *syscalls, struct row *row, const struct syscall_table *table)
{
    struct amounts *amounts = arena_alloc(&syscalls->arena, sizeof(*amounts));
    struct amount *items = arena_alloc(&syscalls->arena, (table->failure_count + 1) * sizeof(*items));
    char name[ERROR_NAME_SIZE];

    if (!amounts || !items)
        return;
    amounts->items = items;
    for (size_t i = 0; i < table->failure_count; i++) {
        const struct syscall_failure *failure = &table->failures[i];
        const char *state =
            arena_printf(&syscalls->arena, "%s %s", failure->name, error_name(failure->error, name));
        if (state)
            items[amounts->count++] = (struct amount){state, (double)failure->count};
    }
    row_amounts(row, FAILURES, amounts);
}

static void fill_row(struct syscall_state *syscalls, struct row *row, unsigned first_field,
                     const struct syscall_table *table)
{
    for (unsigned field = first_field; field < first_field + QUANTITIES; field++)
        if (syscalls->selected & (UINT64_C(1) << field))
            fill_field(syscalls, row, field, table);
}

struct reading {
    struct syscall_state *syscalls;
    struct pass *pass;
};

/* That one has ended is the tree's to say (on_end), not this row's: others may still read the zombie. */
static void read_process(void *visitor, const struct subject *subject, const struct syscall_table *table)
{
    const struct reading *reading = visitor;
    struct row *row = pass_row(reading->pass, subject);

    if (row)
        fill_row(reading->syscalls, row, 0, table);
}

static bool wants_processes(const struct syscall_state *syscalls)
{
    return syscalls->selected & ((UINT64_C(1) << QUANTITIES) - 1);
}

static int read_calls(void *state, const struct collect_context *context, struct pass *pass)
{
    struct syscall_state *syscalls = state;
    const struct syscall_source *source = context->syscalls;

    arena_reset(&syscalls->arena);
    if (!source)
        return COLLECT_NOT_DUE;
    int code = source->update(source->context);
    if (code < 0)
        return code;
    const struct syscall_table *whole = source->of_target(source->context);
    if (whole)
        fill_row(syscalls, &pass->single, QUANTITIES, whole);
    if (whole && (syscalls->selected & (UINT64_C(1) << FAILURES)))
        fill_failures(syscalls, &pass->single, whole);
    if (whole && wants_processes(syscalls))
        source->each(source->context, read_process, &(struct reading){syscalls, pass});
    return 0;
}

const struct collector collector_syscall = {
    .source = SOURCE("syscall", "every system call as it happens: BPF, else strace"),
    .survey = survey,
    .open = open_state,
    .read = read_calls,
    .close = close_state,
};
