/*
 * How much of the time tasks of the whole machine waited for CPU, memory or storage: /proc/pressure.
 *
 * The running totals of the files are read and made into rates, so that a share belongs to exactly the time
 * between two samples. The machine's `full` of the CPU is always 0, and no measurement.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/breakage.h"
#include "probe/kept_file.h"
#include "probe/pressure.h"

enum { CPU_SOME, MEMORY_SOME, MEMORY_FULL, IO_SOME, IO_FULL, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [CPU_SOME] = "pressure/cpu: some, total",       [MEMORY_SOME] = "pressure/memory: some, total",
    [MEMORY_FULL] = "pressure/memory: full, total", [IO_SOME] = "pressure/io: some, total",
    [IO_FULL] = "pressure/io: full, total",
};

#define STALL(KEY, STORED, TOPIC, FIELD, MEANING)                                                            \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX, COST_PRESSURE,      \
                MEANING, .derive = DERIVE_RATE, .ceiling = CEILING_ONE, COLUMN(KEY, STORED))

static const struct measurement measurements[] = {
    STALL("psi_cpu_some_pct", "psi_cpu_some", TOPIC_STALL_MACHINE_CPU, CPU_SOME,
          "share of the time in which any task of the machine waited for a CPU"),
    STALL("psi_memory_some_pct", "psi_memory_some", TOPIC_STALL_MACHINE_MEMORY, MEMORY_SOME,
          "share of the time in which a task of the machine waited for memory (reclaim, swap, thrashing)"),
    STALL("psi_memory_full_pct", "psi_memory_full", TOPIC_STALL_MACHINE, MEMORY_FULL,
          "share of the time in which all tasks of the machine that had work waited for memory"),
    STALL("psi_io_some_pct", "psi_io_some", TOPIC_STALL_MACHINE_IO, IO_SOME,
          "share of the time in which a task of the machine waited for storage"),
    STALL("psi_io_full_pct", "psi_io_full", TOPIC_STALL_MACHINE, IO_FULL,
          "share of the time in which all tasks of the machine that had work waited for storage"),
};

enum { RESOURCE_COUNT = 3, NO_FIELD = FIELD_COUNT };

static const struct {
    const char *name;
    unsigned char some, full;
} resources[RESOURCE_COUNT] = {
    {"cpu", CPU_SOME, NO_FIELD},
    {"memory", MEMORY_SOME, MEMORY_FULL},
    {"io", IO_SOME, IO_FULL},
};

struct psi_state {
    struct kept_file files[RESOURCE_COUNT];
};

static int open_file(struct kept_file *file, const char *proc_root, const char *name)
{
    char path[512];

    *file = (struct kept_file)KEPT_FILE_NONE;
    if (breakage_has("pressure"))
        return -EIO;
    if (snprintf(path, sizeof(path), "%s/pressure/%s", proc_root, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    return kept_file_open(file, path);
}

static int read_file(const struct kept_file *file, struct pressure *pressure)
{
    char text[PRESSURE_SIZE];
    ssize_t length = kept_file_read(file, text, sizeof(text));

    return length < 0 ? (int)length : pressure_parse(text, (size_t)length, pressure);
}

static const char *reason_of(int code)
{
    switch (code) {
    case -ENOENT:
        return "the kernel tells no pressure: before Linux 4.20, built without CONFIG_PSI, or not switched "
               "on (psi=1 at boot)";
    case -EOPNOTSUPP:
        return "the kernel tells no pressure: it is not switched on (psi=1 at boot)";
    default:
        return "/proc/pressure cannot be read";
    }
}

static void survey(const struct collect_context *context, const char *reasons[])
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        struct pressure pressure = {0};
        struct kept_file file;
        int code = open_file(&file, context->proc_root, resources[i].name);

        if (code == 0)
            code = read_file(&file, &pressure);
        kept_file_close(&file);
        if (!pressure.has_some)
            reasons[resources[i].some] = reason_of(code);
        if (!pressure.has_full && resources[i].full != NO_FIELD)
            reasons[resources[i].full] = reason_of(code);
    }
}

static void close_state(void *state)
{
    struct psi_state *psi = state;

    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        kept_file_close(&psi->files[i]);
    free(psi);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct psi_state *psi = malloc(sizeof(*psi));

    (void)cost;
    if (!psi)
        return -ENOMEM;
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        (void)open_file(&psi->files[i], context->proc_root, resources[i].name);
    *state = psi;
    return 0;
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    const struct psi_state *psi = state;

    (void)context;
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        struct pressure pressure = {0};

        if (read_file(&psi->files[i], &pressure) < 0)
            continue;
        if (pressure.has_some)
            row_number(&pass->single, resources[i].some, pressure.some_seconds);
        if (pressure.has_full && resources[i].full != NO_FIELD)
            row_number(&pass->single, resources[i].full, pressure.full_seconds);
    }
    return 0;
}

const struct collector collector_psi = {
    .source = SOURCE("psi", "/proc/pressure/{cpu,memory,io}: the stalls of the whole machine"),
    .of_machine = true,
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
