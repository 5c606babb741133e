#include "loop/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree/groups.h"

/* What the tree itself knows of a member. */
static int describe(struct snapshot *snapshot, const struct process *process, uint64_t now_ns,
                    struct snapshot_process *out)
{
    const struct group *group = process->group;

    *out = (struct snapshot_process){
        .values = out->values,
        .serial = process->subject.serial,
        .image = process->image,
        .pid = process->subject.id,
        .ppid = process->stat.ppid,
        .start_ticks = process->start_ticks,
        .state = process->stat.state,
        .has_age = true,
        .age_seconds = (double)(int64_t)(now_ns - process->subject.born_ns) / (double)NS_PER_SECOND,
        .membership = process->membership,
        .command_is_truncated = process->command_is_truncated,
    };
    if (group && group->has_sheet) {
        out->has_sheet = true;
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

/* The process with this serial. They are in the order of their serials, as rows of a pass and values of a
 * record are: it is at `at` or after it, but for the odd one, which is searched for. NULL: it ended within
 * the tick. */
static struct snapshot_process *find_serial(struct snapshot *snapshot, uint64_t serial, size_t *at)
{
    while (*at < snapshot->process_count && snapshot->processes[*at].serial < serial)
        ++*at;
    if (*at < snapshot->process_count && snapshot->processes[*at].serial == serial)
        return &snapshot->processes[*at];
    return bsearch(&serial, snapshot->processes, snapshot->process_count, sizeof(*snapshot->processes),
                   compare_serial);
}

static void take_rate(struct snapshot *snapshot, const struct record_entry *entry, unsigned column)
{
    size_t at = 0;

    for (size_t i = 0; entry && i < entry->count; i++) {
        struct snapshot_process *process = find_serial(snapshot, entry->values[i].subject.serial, &at);
        if (process)
            value_row_set(&process->values, column, entry->values[i].number);
    }
}

/* The columns from `first` to before `end` are of the source of this pass. */
static void take_row(const struct columns *columns, unsigned first, unsigned end, const struct row *from,
                     struct value_row *to)
{
    for (unsigned i = first; i < end; i++) {
        const struct measurement *measurement = columns->of[i];
        if (measurement->derive == DERIVE_NONE && row_has(from, measurement->field))
            value_row_set(to, i, from->values[measurement->field].number);
    }
}

static unsigned end_of_source(const struct columns *columns, unsigned first)
{
    unsigned end = first + 1;

    while (end < columns->count && columns->source[end] == columns->source[first])
        end++;
    return end;
}

static void take_processes(struct snapshot *snapshot, const struct sampler *sampler,
                           const struct record *record)
{
    const struct columns *columns = &snapshot->columns->process;

    for (unsigned first = 0, end; first < columns->count; first = end) {
        const struct pass *pass = sampler_pass(sampler, columns->source[first]);
        size_t at = 0;

        end = end_of_source(columns, first);
        for (size_t i = 0; pass && i < pass->count; i++) {
            struct snapshot_process *process = find_serial(snapshot, pass->rows[i].subject.serial, &at);
            if (process)
                take_row(columns, first, end, &pass->rows[i], &process->values);
        }
    }
    for (unsigned i = 0; i < columns->count; i++)
        if (columns->of[i]->derive == DERIVE_RATE)
            take_rate(snapshot, record_find(record, columns->of[i]->key), i);
}

static void take_machine(struct snapshot *snapshot, const struct sampler *sampler,
                         const struct record *record)
{
    const struct columns *columns = &snapshot->columns->machine;

    for (unsigned i = 0; i < columns->count; i++) {
        const struct measurement *measurement = columns->of[i];
        const struct pass *pass = sampler_pass(sampler, columns->source[i]);
        const struct record_entry *rate =
            measurement->derive == DERIVE_RATE ? record_find(record, measurement->key) : NULL;

        if (rate)
            value_row_set(&snapshot->machine, i, rate->values[0].number);
        else if (pass)
            take_row(columns, i, i + 1, &pass->single, &snapshot->machine);
    }
}

/* Devices have one source. Without a reading of it the snapshot says nothing of them. */
static int take_gpus(struct snapshot *snapshot, const struct sampler *sampler)
{
    const struct columns *columns = &snapshot->columns->device;
    const struct pass *pass = columns->count ? sampler_pass(sampler, columns->source[0]) : NULL;

    if (!pass)
        return 0;
    snapshot->gpus = snapshot_make_gpus(snapshot, pass->count);
    if (!snapshot->gpus)
        return -ENOMEM;
    snapshot->gpu_count = pass->count;
    for (size_t i = 0; i < pass->count; i++) {
        snapshot->gpus[i].index = (unsigned)pass->rows[i].subject.id;
        take_row(columns, 0, columns->count, &pass->rows[i], &snapshot->gpus[i].values);
    }
    return 0;
}

static int compare_pid(const void *left, const void *right)
{
    const struct snapshot_process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Of two processes with one pid the later one counts: the other has ended. They are in order already until
 * the kernel begins anew with its pids. */
static void sort_by_pid(struct snapshot *snapshot)
{
    size_t sorted = 1;

    while (sorted < snapshot->process_count &&
           snapshot->processes[sorted - 1].pid < snapshot->processes[sorted].pid)
        sorted++;
    if (sorted < snapshot->process_count)
        qsort(snapshot->processes, snapshot->process_count, sizeof(*snapshot->processes), compare_pid);
}

static int describe_processes(struct snapshot *snapshot, const struct tree *tree)
{
    const uint64_t now_ns =
        clock_monotonic_ns(); /* ages are as of the snapshot, whenever its process was read */
    size_t count = tree_count(tree);
    int code = 0;

    snapshot->processes = snapshot_make_processes(snapshot, count);
    if (!snapshot->processes)
        return -ENOMEM;
    for (size_t i = 0; i < count && code == 0; i++) {
        const struct process *process = tree_process(tree, i);
        if (process->fresh && !process->ended)
            code = describe(snapshot, process, now_ns, &snapshot->processes[snapshot->process_count++]);
    }
    return code;
}

int snapshot_fill(struct snapshot *snapshot, const struct tree *tree, const struct sampler *sampler,
                  const struct record *record)
{
    int code = describe_processes(snapshot, tree);

    snapshot->daemon_pid = getpid();
    snapshot->wall = record->wall;
    take_machine(snapshot, sampler, record);
    take_processes(snapshot, sampler, record);
    sort_by_pid(snapshot);
    return code < 0 ? code : take_gpus(snapshot, sampler);
}
