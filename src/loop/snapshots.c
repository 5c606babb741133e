#include "loop/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree/groups.h"

const char snapshot_measurements[] =
    "proc_pdcpu,proc_rss,proc_vsz,proc_threads,proc_fds,sys_mem_total,sys_mem_available,sys_mem_used,"
    "sys_load1,sys_load5,sys_load15,self_rss,self_cpu_seconds,self_missed_ticks";

static void set_cpu(struct snapshot_process *process, double value)
{
    process->cpu = value;
}

static void set_rss(struct snapshot_process *process, double value)
{
    process->rss_bytes = (uint64_t)value;
}

static void set_vms(struct snapshot_process *process, double value)
{
    process->vms_bytes = (uint64_t)value;
}

static void set_threads(struct snapshot_process *process, double value)
{
    process->threads = (uint32_t)value;
}

static void set_fds(struct snapshot_process *process, double value)
{
    process->open_fds = (uint32_t)value;
}

static const struct {
    const char *key;
    enum process_has has;
    void (*set)(struct snapshot_process *process, double value);
} of_processes[] = {
    {"proc_pdcpu", PROCESS_HAS_CPU, set_cpu}, {"proc_rss", PROCESS_HAS_RSS, set_rss},
    {"proc_vsz", PROCESS_HAS_VMS, set_vms},   {"proc_threads", PROCESS_HAS_THREADS, set_threads},
    {"proc_fds", PROCESS_HAS_FDS, set_fds},
};

/* What the tree itself knows of a member. */
static int describe(struct snapshot *snapshot, const struct process *process, uint64_t now_ns,
                    struct snapshot_process *out)
{
    const struct group *group = process->group;

    *out = (struct snapshot_process){
        .serial = process->subject.serial,
        .image = process->image,
        .pid = process->subject.id,
        .ppid = process->stat.ppid,
        .start_ticks = process->start_ticks,
        .state = process->stat.state,
        .has = PROCESS_HAS_AGE,
        .age_seconds = (double)(int64_t)(now_ns - process->subject.born_ns) / (double)NS_PER_SECOND,
        .membership = process->membership,
    };
    if (process->has_io) {
        out->has |= PROCESS_HAS_IO;
        out->read_bytes = process->io.read_bytes;
        out->write_bytes = process->io.write_bytes;
    }
    if (group && group->has_sheet) {
        out->has |= PROCESS_HAS_SHEET;
        out->sheet_num = group->sheet_num;
    }
    if (process->command && !(out->command = arena_strdup(&snapshot->arena, process->command)))
        return -ENOMEM;
    if (group && !(out->job_id = arena_strdup(&snapshot->arena, group->job_id)))
        return -ENOMEM;
    snapshot->zombie_count += out->state == 'Z';
    return 0;
}

static int compare_serial(const void *left, const void *right)
{
    const uint64_t *serial = left;
    const struct snapshot_process *process = right;
    return (*serial > process->serial) - (*serial < process->serial);
}

/* Values come in the order of their subjects' serials, as processes do; the odd one is looked for. */
static void take_values(struct snapshot *snapshot, const struct record_entry *entry, size_t field)
{
    struct snapshot_process *at = snapshot->processes, *end = at + snapshot->process_count;

    for (size_t i = 0; i < entry->count; i++) {
        const uint64_t serial = entry->values[i].subject.serial;
        while (at < end && at->serial < serial)
            at++;
        struct snapshot_process *process = at;
        if (at == end || at->serial != serial)
            process = bsearch(&serial, snapshot->processes, snapshot->process_count, sizeof(*process),
                              compare_serial);
        if (!process)
            continue; /* it ended within the tick */
        of_processes[field].set(process, entry->values[i].number);
        process->has |= (unsigned)of_processes[field].has;
    }
}

static int compare_pid(const void *left, const void *right)
{
    const struct snapshot_process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Of two processes with one pid the later one counts: the other has ended. */
static void sort_by_pid(struct snapshot *snapshot)
{
    if (snapshot->process_count)
        qsort(snapshot->processes, snapshot->process_count, sizeof(*snapshot->processes), compare_pid);
}

static int fill_processes(struct snapshot *snapshot, const struct tree *tree, const struct record *record)
{
    const uint64_t now_ns =
        clock_monotonic_ns(); /* ages are as of the snapshot, whenever its process was read */
    size_t count = tree_count(tree);
    int code = 0;

    snapshot->processes = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*snapshot->processes));
    if (!snapshot->processes)
        return -ENOMEM;
    for (size_t i = 0; i < count && code == 0; i++) {
        const struct process *process = tree_process(tree, i);
        if (process->fresh && !process->ended)
            code = describe(snapshot, process, now_ns, &snapshot->processes[snapshot->process_count++]);
    }
    for (size_t i = 0; i < sizeof(of_processes) / sizeof(of_processes[0]) && code == 0; i++) {
        const struct record_entry *entry = record_find(record, of_processes[i].key);
        if (entry)
            take_values(snapshot, entry, i);
    }
    sort_by_pid(snapshot);
    return code;
}

static bool take_bytes(const struct record *record, const char *key, uint64_t *out)
{
    double number;

    if (!record_number(record, key, &number))
        return false;
    *out = (uint64_t)number;
    return true;
}

int snapshot_fill(struct snapshot *snapshot, const struct tree *tree, const struct record *record)
{
    if (take_bytes(record, "sys_mem_total", &snapshot->memory_total_bytes) &&
        take_bytes(record, "sys_mem_available", &snapshot->memory_available_bytes) &&
        take_bytes(record, "sys_mem_used", &snapshot->memory_used_bytes))
        snapshot->has |= SNAPSHOT_HAS_MEMORY;
    if (record_number(record, "sys_load1", &snapshot->load[0]) &&
        record_number(record, "sys_load5", &snapshot->load[1]) &&
        record_number(record, "sys_load15", &snapshot->load[2]))
        snapshot->has |= SNAPSHOT_HAS_LOAD;
    if (take_bytes(record, "self_rss", &snapshot->own_rss_bytes))
        snapshot->has |= SNAPSHOT_HAS_OWN_RSS;
    snapshot->daemon_pid = getpid();
    snapshot->wall = record->wall;
    return fill_processes(snapshot, tree, record);
}
