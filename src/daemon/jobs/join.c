/*
 * How processes come to a job or a sheet: by a pid that was announced with it, by one that the store has from
 * before a restart, by a variable that they inherited. Their children follow by themselves (tree/groups.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/jobs/inner.h"
#include "probe/pid/environ.h"

bool part_adopt(struct jobs *jobs, struct part *part, pid_t pid, uint64_t *start_ticks)
{
    const struct process *process = tree_take_in(jobs->tree, pid);

    *start_ticks = 0;
    if (!process || group_adopt(jobs->tree, part->group, pid, MEMBER_BY_DESCENT) < 0)
        return false;
    *start_ticks = process->start_ticks;
    return true;
}

/* The process is still the one that it was; and if a group had counted for it, it is in that group. */
static enum own_cgroup part_restore(struct jobs *jobs, struct part *part, pid_t pid, uint64_t start_ticks,
                                    bool is_first, struct job_usage *usage)
{
    const struct process *process = pid && start_ticks ? tree_take_in(jobs->tree, pid) : NULL;

    if (!process || process->start_ticks != start_ticks)
        return OWN_CGROUP_NOT_TOLD;
    (void)group_adopt(jobs->tree, part->group, pid, MEMBER_BY_DESCENT);
    if (!(usage->has & (USAGE_HAS_CGROUP_CPU | USAGE_HAS_CGROUP_MEMORY)))
        return OWN_CGROUP_NOT_TOLD;
    return part_claim_cgroup(jobs, part, pid, is_first, usage);
}

static int restore_sheet(struct jobs *jobs, struct entry *entry, const struct job_sheet *sheet)
{
    size_t place;
    int code = sheet_find(entry, sheet->number, &place);

    if (code < 0)
        return code;
    struct job_sheet *kept = &entry->job.sheets[place];
    *kept = *sheet;
    kept->calls = NULL; /* the books have them */
    kept->call_count = 0;
    if (sheet->status != SHEET_RUNNING)
        return 0;
    struct part *part = &entry->sheets[place];
    part->group = group_new_sheet(jobs->tree, entry->part.group, sheet->number);
    if (!part->group)
        return -ENOMEM;
    jobs->active_sheets++;
    part->before = sheet->usage;
    kept->own_cgroup =
        part_restore(jobs, part, kept->pid, kept->pid_start_ticks, kept->tries == 1, &kept->usage);
    return 0;
}

int jobs_restore(struct jobs *jobs, const struct job *job)
{
    const struct job_start start = {.job_id = job->id,
                                    .workspace = job->workspace,
                                    .config_hash = job->config_hash,
                                    .has_total = job->has_total,
                                    .total_sheets = job->total_sheets,
                                    .pid = job->pid};
    int code = 0;

    if (job_check_name(job->id, NULL) < 0 || entry_find(jobs, job->id))
        return -EINVAL;
    struct entry *entry = entry_new(jobs, &start);
    if (!entry)
        return -ENOMEM;
    jobs->running++;
    entry->restored = true;
    entry->job.started = job->started;
    entry->job.pid_start_ticks = job->pid_start_ticks;
    entry->job.usage = entry->part.before = job->usage;
    entry->job.own_cgroup =
        part_restore(jobs, &entry->part, job->pid, job->pid_start_ticks, true, &entry->job.usage);
    for (size_t i = 0; i < job->sheet_count && code == 0; i++)
        code = restore_sheet(jobs, entry, &job->sheets[i]);
    entry_restore_calls(jobs, entry, job);
    return code;
}

static bool read_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && !*end;
}

/* Where one belongs that inherited the number of a sheet. One that nobody announced has begun by this; one
 * that has ended stays so. */
static struct group *sheet_group(struct jobs *jobs, struct entry *entry, int64_t number)
{
    size_t place;

    if (sheet_find(entry, number, &place) < 0)
        return entry->part.group;
    enum sheet_status status = entry->job.sheets[place].status;
    if (!entry->sheets[place].group && (status == SHEET_RUNNING || status == SHEET_RETRYING))
        entry->sheets[place].unannounced = sheet_begin(jobs, entry, place, 0, false) == 0;
    struct group *group = entry->sheets[place].group;
    return group ? group : entry->part.group;
}

void jobs_claim(struct jobs *jobs, struct process *process)
{
    struct strbuf *text = &jobs->scratch;

    /* Its variables change with its program alone. */
    if (process->image && process->names_no_job == process->image)
        return;
    if (jobs->running == 0 || pid_environ_read(tree_reader(jobs->tree), process->subject.id, text) < 0)
        return;
    const char *job_id = pid_environ_find(text->data, text->length, "METRON_JOB");
    const char *sheet = pid_environ_find(text->data, text->length, "METRON_SHEET");
    if (!job_id) {
        if (text->length > 0) /* none at all: it is in the middle of exec */
            process->names_no_job = process->image;
        return;
    }
    struct entry *entry = entry_find(jobs, job_id);
    if (!entry || entry->finished)
        return;
    struct group *group = entry->part.group;
    int64_t number;
    if (sheet && read_number(sheet, &number))
        group = sheet_group(jobs, entry, number);
    group_join(jobs->tree, group, process, MEMBER_BY_VARIABLE);
}

/* Those that inherited the name and ran before it was announced. */
void jobs_claim_all(struct jobs *jobs)
{
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        struct process *process = tree_process(jobs->tree, i);
        if (!process->group && !process->ended && process->passes > 0)
            jobs_claim(jobs, process);
    }
}
