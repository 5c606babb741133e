/*
 * The target's control group: an own leaf, or the group metron was started in (cgroup_scope says which). What
 * is read, and from which files of v1 and v2, is in probe/cgroup/reader.c; this is the table of what becomes
 * of it.
 */
#include "collect/collector.h"

#include <errno.h>

#include "probe/cgroup/files.h"
#include "probe/cgroup/reader.h"

/* The first fields are the facts of the reader, by the same numbers. */
enum { MEM_ANON_SHMEM = CGROUP_FACT_COUNT, MEM_LIMIT, SCOPE, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [CGROUP_MEM_PEAK] = "memory.peak; v1: memory.max_usage_in_bytes",
    [CGROUP_MEM_INTERVAL_PEAK] = "the same, reset at each reading",
    [CGROUP_MEM_CURRENT] = "memory.current; v1: memory.usage_in_bytes",
    [CGROUP_MEM_ANON] = "memory.stat: anon; v1: total_rss",
    [CGROUP_MEM_SHMEM] = "memory.stat: shmem; v1: total_shmem",
    [CGROUP_MEM_FILE] = "memory.stat: file; v1: total_cache",
    [CGROUP_CPU_SECONDS] = "cpu.stat: usage_usec; v1: cpuacct.usage",
    [CGROUP_CPU_USER_SECONDS] = "cpu.stat: user_usec; v1: cpuacct.usage_user",
    [CGROUP_CPU_SYSTEM_SECONDS] = "cpu.stat: system_usec; v1: cpuacct.usage_sys",
    [CGROUP_THROTTLED_SECONDS] = "cpu.stat: throttled_usec; v1: throttled_time",
    [CGROUP_PERIODS] = "cpu.stat: nr_periods",
    [CGROUP_THROTTLED_PERIODS] = "cpu.stat: nr_throttled",
    [CGROUP_OOM_KILLS] = "memory.events: oom_kill; v1: memory.oom_control",
    [CGROUP_OOM_EVENTS] = "memory.events: oom",
    [CGROUP_READ_BYTES] = "io.stat: rbytes; v1: blkio.throttle.io_service_bytes_recursive",
    [CGROUP_WRITE_BYTES] = "io.stat: wbytes; v1: blkio.throttle.io_service_bytes_recursive",
    [CGROUP_PIDS_PEAK] = "pids.peak",
    [CGROUP_PSI_CPU_SOME] = "cpu.pressure: some total",
    [CGROUP_PSI_CPU_FULL] = "cpu.pressure: full total",
    [CGROUP_PSI_MEMORY_SOME] = "memory.pressure: some total",
    [CGROUP_PSI_MEMORY_FULL] = "memory.pressure: full total",
    [CGROUP_PSI_IO_SOME] = "io.pressure: some total",
    [CGROUP_PSI_IO_FULL] = "io.pressure: full total",
    [MEM_ANON_SHMEM] = "memory.stat: anon + shmem",
    [MEM_LIMIT] = "lowest memory.max of the group and those above; v1: hierarchical_memory_limit",
    [SCOPE] = "own or inherited",
};

#define LEVEL(KEY, TOPIC, FIELD, MEANING, ...)                                                               \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX, COST_CGROUP, MEANING,   \
                __VA_ARGS__)
#define COUNT(KEY, TOPIC, FIELD, UNIT, MEANING)                                                              \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST_CGROUP, MEANING)
#define STALL(KEY, TOPIC, FIELD, MEANING)                                                                    \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX, COST_CGROUP,        \
                MEANING, .derive = DERIVE_RATE, .ceiling = CEILING_ONE)

static const struct measurement measurements[] = {
    MEASUREMENT(
        "cgroup_mem_peak", TOPIC_MEMORY_MARK, CGROUP_MEM_PEAK, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES,
        REDUCE_LAST, COST_CGROUP,
        "largest charge of the group so far, page cache included, kept by the kernel: an upper bound of "
        "what the target needs; of an inherited group only if it grew while we looked",
        .bound = BOUND_UPPER),
    MEASUREMENT("cgroup_mem_interval_peak", TOPIC_MEMORY_PART, CGROUP_MEM_INTERVAL_PEAK, SCOPE_SINGLE,
                TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX, COST_CGROUP,
                "largest charge of the group within the interval, page cache included, kept by the kernel: a "
                "spike between samples is not lost",
                .bound = BOUND_UPPER, .kept = true),
    LEVEL("cgroup_mem_current", TOPIC_MEMORY_PART, CGROUP_MEM_CURRENT,
          "charge of the group, page cache included", .bound = BOUND_UPPER),
    LEVEL("cgroup_mem_anon", TOPIC_MEMORY_PART, CGROUP_MEM_ANON,
          "anonymous memory of the group: heaps and stacks"),
    LEVEL("cgroup_mem_shmem", TOPIC_MEMORY_PART, CGROUP_MEM_SHMEM,
          "shared memory and tmpfs files charged to the group"),
    LEVEL("cgroup_mem_file", TOPIC_MEMORY_PART, CGROUP_MEM_FILE,
          "page cache charged to the group, shmem included"),
    LEVEL(
        "cgroup_mem_anon_shmem", TOPIC_MEMORY, MEM_ANON_SHMEM,
        "memory of the group that cannot be dropped: anonymous + shared, each page once; sampled, the kernel "
        "keeps no peak of it"),
    LEVEL("cgroup_mem_limit", TOPIC_MEMORY_LIMIT, MEM_LIMIT,
          "lowest memory limit of the group and those above it, as it was at the start; absent without one"),
    COUNT("cgroup_cpu_seconds", TOPIC_CPU, CGROUP_CPU_SECONDS, UNIT_SECONDS,
          "CPU seconds of everybody who was in the group: nobody escapes"),
    COUNT("cgroup_cpu_user_seconds", TOPIC_CPU_USER, CGROUP_CPU_USER_SECONDS, UNIT_SECONDS,
          "user part of it"),
    COUNT("cgroup_cpu_system_seconds", TOPIC_CPU_SYSTEM, CGROUP_CPU_SYSTEM_SECONDS, UNIT_SECONDS,
          "system part of it"),
    COUNT("cgroup_cpu_throttled_seconds", TOPIC_CPU_THROTTLED, CGROUP_THROTTLED_SECONDS, UNIT_SECONDS,
          "seconds that a CPU quota held tasks back, summed over CPUs; of the nearest group with a quota, "
          "which may hold others too"),
    COUNT("cgroup_cpu_periods", TOPIC_OTHER, CGROUP_PERIODS, UNIT_COUNT,
          "periods of the CPU quota in which the group had something to run; of the same group"),
    COUNT("cgroup_cpu_throttled_periods", TOPIC_OTHER, CGROUP_THROTTLED_PERIODS, UNIT_COUNT,
          "of those, periods in which the quota was used up and tasks were held back"),
    COUNT("cgroup_oom_kills", TOPIC_PROCESS_OOM_KILLS, CGROUP_OOM_KILLS, UNIT_COUNT,
          "processes of the group killed by the OOM killer"),
    COUNT("cgroup_oom_events", TOPIC_OTHER, CGROUP_OOM_EVENTS, UNIT_COUNT,
          "times that an allocation failed at a limit of the group"),
    COUNT("cgroup_io_read_bytes", TOPIC_IO_READ, CGROUP_READ_BYTES, UNIT_BYTES,
          "bytes that the group read from devices"),
    COUNT("cgroup_io_write_bytes", TOPIC_IO_WRITE, CGROUP_WRITE_BYTES, UNIT_BYTES,
          "bytes that the group wrote to devices; v1 counts only direct writes for the writer"),
    MEASUREMENT("cgroup_pids_peak", TOPIC_THREAD, CGROUP_PIDS_PEAK, SCOPE_SINGLE, TYPE_GAUGE, UNIT_COUNT,
                REDUCE_LAST, COST_CGROUP,
                "most tasks (threads included) of the group at once, kept by the kernel"),
    STALL("cgroup_psi_cpu_some_pct", TOPIC_STALL_CPU, CGROUP_PSI_CPU_SOME,
          "share of time in which some task of the group waited for a CPU"),
    STALL("cgroup_psi_cpu_full_pct", TOPIC_STALL, CGROUP_PSI_CPU_FULL,
          "share of time in which all runnable tasks of the group waited for a CPU (a quota, or others)"),
    STALL("cgroup_psi_memory_some_pct", TOPIC_STALL_MEMORY, CGROUP_PSI_MEMORY_SOME,
          "share of time in which some task of the group waited for memory"),
    STALL("cgroup_psi_memory_full_pct", TOPIC_STALL, CGROUP_PSI_MEMORY_FULL,
          "share of time in which all tasks of the group waited for memory"),
    STALL("cgroup_psi_io_some_pct", TOPIC_STALL_IO, CGROUP_PSI_IO_SOME,
          "share of time in which some task of the group waited for I/O"),
    STALL("cgroup_psi_io_full_pct", TOPIC_STALL, CGROUP_PSI_IO_FULL,
          "share of time in which all tasks of the group waited for I/O"),
    MEASUREMENT("cgroup_scope", TOPIC_OTHER, SCOPE, SCOPE_SINGLE, TYPE_LABEL, UNIT_NONE, REDUCE_LAST,
                COST_CGROUP,
                "own: a leaf made for this target; inherited: the group metron was started in, or that a "
                "process was in which it attached to; it may hold others"),
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    const struct cgroup_target *target = context->cgroup;
    static const char none[] = "no control group is looked at";

    if (!target || target->scope == CGROUP_SCOPE_NONE) {
        for (unsigned field = 0; field < FIELD_COUNT; field++)
            reasons[field] = target && target->why_not_own ? target->why_not_own : none;
        return;
    }
    cgroup_reader_survey(target, reasons);
    reasons[MEM_ANON_SHMEM] = reasons[CGROUP_MEM_ANON] ? reasons[CGROUP_MEM_ANON] : reasons[CGROUP_MEM_SHMEM];
    if (!context->allowance || context->allowance->memory_limit_bytes == CGROUP_NO_LIMIT)
        reasons[MEM_LIMIT] = "no group that can be seen has a memory limit";
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    uint32_t wanted = context->selected & (CGROUP_FACT(CGROUP_FACT_COUNT) - 1);

    (void)cost;
    if (!context->cgroup)
        return -ENOENT;
    if (context->selected >> MEM_ANON_SHMEM & 1)
        wanted |= CGROUP_FACT(CGROUP_MEM_ANON) | CGROUP_FACT(CGROUP_MEM_SHMEM);
    *state = cgroup_reader_new(context->cgroup, wanted);
    return *state ? 0 : -ENOMEM;
}

static void close_state(void *state)
{
    cgroup_reader_free(state);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct row *row = &pass->single;
    struct cgroup_facts facts;

    cgroup_reader_read(state, &facts);
    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++)
        if (facts.present & CGROUP_FACT(fact))
            row_number(row, fact, facts.values[fact]);
    if (row_has(row, CGROUP_MEM_ANON) && row_has(row, CGROUP_MEM_SHMEM))
        row_number(row, MEM_ANON_SHMEM, facts.values[CGROUP_MEM_ANON] + facts.values[CGROUP_MEM_SHMEM]);
    if (context->allowance && context->allowance->memory_limit_bytes != CGROUP_NO_LIMIT)
        row_number(row, MEM_LIMIT, (double)context->allowance->memory_limit_bytes);
    row_text(row, SCOPE, context->cgroup->scope == CGROUP_SCOPE_OWN ? "own" : "inherited");
    return 0;
}

const struct collector collector_cgroup = {
    .source = SOURCE("cgroup",
                     "the target's control group, v1 or v2: an own leaf, or the one metron was started in"),
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
