/* The machine as a whole: /proc/meminfo, /proc/loadavg and the cpu line of /proc/stat. */
#include "collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/breakage.h"
#include "probe/kept_file.h"
#include "probe/system_files.h"

enum {
    MEM_TOTAL,
    MEM_USED,
    MEM_AVAILABLE,
    SWAP_USED,
    LOAD1,
    LOAD5,
    LOAD15,
    CPU_SECONDS,
    IOWAIT_SECONDS,
    FIELD_COUNT
};

static const char *const fields[FIELD_COUNT] = {
    [MEM_TOTAL] = "meminfo.MemTotal",
    [MEM_USED] = "meminfo.MemTotal - MemAvailable",
    [MEM_AVAILABLE] = "meminfo.MemAvailable",
    [SWAP_USED] = "meminfo.SwapTotal - SwapFree",
    [LOAD1] = "loadavg, 1 minute",
    [LOAD5] = "loadavg, 5 minutes",
    [LOAD15] = "loadavg, 15 minutes",
    [CPU_SECONDS] = "stat.cpu: user + nice + system + irq + softirq + steal",
    [IOWAIT_SECONDS] = "stat.cpu: iowait",
};

#define SYSTEM_LEVEL(KEY, FIELD, UNIT, REDUCE, MEANING, ...)                                                 \
    MEASUREMENT(KEY, TOPIC_MACHINE, FIELD, SCOPE_SINGLE, TYPE_GAUGE, UNIT, REDUCE, COST_SYSTEM, MEANING,     \
                __VA_ARGS__)
#define SYSTEM_RATE(KEY, TOPIC, FIELD, MEANING, ...)                                                         \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX, COST_SYSTEM,        \
                MEANING, .derive = DERIVE_RATE, .ceiling = CEILING_ONLINE_CORES, __VA_ARGS__)

static const struct measurement measurements[] = {
    SYSTEM_LEVEL("sys_mem_total", MEM_TOTAL, UNIT_BYTES, REDUCE_MAX, "memory of the machine",
                 COLUMN("system_memory_total_mb", "memory_total")),
    SYSTEM_LEVEL("sys_mem_used", MEM_USED, UNIT_BYTES, REDUCE_MAX,
                 "memory of the machine that could not be had without swapping: total - available",
                 COLUMN("system_memory_used_mb", "memory_used")),
    SYSTEM_LEVEL("sys_mem_available", MEM_AVAILABLE, UNIT_BYTES, REDUCE_MIN,
                 "memory that the machine could still give without swapping, the kernel's estimate",
                 .bound = BOUND_ABOUT, COLUMN("system_memory_available_mb", "memory_available")),
    SYSTEM_LEVEL("sys_swap_used", SWAP_USED, UNIT_BYTES, REDUCE_MAX, "swap in use on the machine"),
    SYSTEM_LEVEL("sys_load1", LOAD1, UNIT_NONE, REDUCE_MAX, "load average over 1 minute",
                 COLUMN("load_avg_1", "load_1")),
    SYSTEM_LEVEL("sys_load5", LOAD5, UNIT_NONE, REDUCE_MAX, "load average over 5 minutes",
                 COLUMN("load_avg_5", "load_5")),
    SYSTEM_LEVEL("sys_load15", LOAD15, UNIT_NONE, REDUCE_MAX, "load average over 15 minutes",
                 COLUMN("load_avg_15", "load_15")),
    SYSTEM_RATE("sys_cpu_pct", TOPIC_MACHINE_CPU, CPU_SECONDS,
                "CPU in use on the whole machine, 100 = one core"),
    SYSTEM_RATE("sys_iowait_pct", TOPIC_MACHINE, IOWAIT_SECONDS,
                "cores idle while a task waits for I/O, 100 = one core; the kernel calls it unreliable",
                .bound = BOUND_ABOUT),
};

struct sys_state {
    struct kept_file meminfo, loadavg, stat;
};

/* `reader` is what the file is called among the readers that can be broken. */
static void open_file(struct kept_file *file, const char *proc_root, const char *name, const char *reader)
{
    char path[512];

    *file = (struct kept_file)KEPT_FILE_NONE;
    if (!breakage_has(reader) && snprintf(path, sizeof(path), "%s/%s", proc_root, name) < (int)sizeof(path))
        (void)kept_file_open(file, path);
}

static void close_state(void *state)
{
    struct sys_state *sys = state;

    kept_file_close(&sys->meminfo);
    kept_file_close(&sys->loadavg);
    kept_file_close(&sys->stat);
    free(sys);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct sys_state *sys = malloc(sizeof(*sys));
    (void)cost;
    if (!sys)
        return -ENOMEM;
    open_file(&sys->meminfo, context->proc_root, "meminfo", "meminfo");
    open_file(&sys->loadavg, context->proc_root, "loadavg", "loadavg");
    open_file(&sys->stat, context->proc_root, "stat", "cpu");
    *state = sys;
    return 0;
}

static void read_memory(const struct kept_file *file, struct row *row)
{
    char text[8192];
    struct meminfo memory;
    ssize_t length = kept_file_read(file, text, sizeof(text));

    if (length <= 0 || meminfo_parse(text, (size_t)length, &memory) < 0)
        return;
    row_number(row, MEM_TOTAL, (double)memory.total);
    row_number(row, SWAP_USED, (double)(memory.swap_total - memory.swap_free));
    if (!memory.has_available)
        return;
    row_number(row, MEM_AVAILABLE, (double)memory.available);
    row_number(row, MEM_USED, (double)(memory.total - memory.available));
}

static void read_load(const struct kept_file *file, struct row *row)
{
    char text[128];
    struct loadavg load;
    ssize_t length = kept_file_read(file, text, sizeof(text));

    if (length <= 0 || loadavg_parse(text, (size_t)length, &load) < 0)
        return;
    row_number(row, LOAD1, load.load1);
    row_number(row, LOAD5, load.load5);
    row_number(row, LOAD15, load.load15);
}

static void read_cpu(const struct kept_file *file, struct row *row)
{
    char text[1024];
    struct system_stat stat;
    /* Only the first line is wanted: one read of its length, since the rest (every CPU, every interrupt) is
     * slow. */
    ssize_t length = kept_file_read(file, text, sizeof(text));
    const double tick = 1.0 / (double)clock_ticks_per_second();

    if (length <= 0 || system_stat_parse(text, (size_t)length, &stat) < 0)
        return;
    row_number(row, CPU_SECONDS,
               (double)(stat.user + stat.nice + stat.system + stat.irq + stat.softirq + stat.steal) * tick);
    row_number(row, IOWAIT_SECONDS, (double)stat.iowait * tick);
}

static void read_files(const struct sys_state *sys, struct row *row)
{
    read_memory(&sys->meminfo, row);
    read_load(&sys->loadavg, row);
    read_cpu(&sys->stat, row);
}

static void survey(const struct collect_context *context, const char *reasons[])
{
    union value values[FIELD_COUNT];
    struct row row = {.values = values};
    void *state = NULL;

    if (open_state(context, 0, &state) < 0)
        return;
    read_files(state, &row);
    close_state(state);
    for (unsigned field = 0; field < FIELD_COUNT; field++)
        if (!row_has(&row, field))
            reasons[field] = field <= SWAP_USED ? "/proc/meminfo cannot be read, or lacks it"
                             : field <= LOAD15  ? "/proc/loadavg cannot be read"
                                                : "/proc/stat cannot be read";
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    (void)context;
    read_files(state, &pass->single);
    return 0;
}

const struct collector collector_sys = {
    .source = SOURCE("sys", "/proc/meminfo, /proc/loadavg, /proc/stat"),
    .of_machine = true,
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
