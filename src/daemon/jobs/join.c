/*
 * How processes come to a job or a sheet: by a pid that was announced with it, by one that the store has from
 * before a restart, by a variable that they inherited. Their children follow by themselves (tree/groups.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/jobs/inner.h"
#include "probe/pid/dir.h"
#include "probe/pid/environ.h"
#include "probe/pid/files.h"

#define STATUS_SIZE   2048 /* its first lines are enough */
#define ANCESTORS_MAX 1024 /* more of them are not asked for */

bool jobs_take_in(struct jobs *jobs, struct group *group, pid_t pid, uint64_t *start_ticks)
{
    const struct process *process = tree_take_in(jobs->tree, pid);

    *start_ticks = 0;
    if (!process || group_adopt(jobs->tree, group, pid, MEMBER_BY_DESCENT) < 0)
        return false;
    *start_ticks = process->start_ticks;
    return true;
}

/* False: the process is not there any more, or another one has its number. */
static bool take_in_again(struct jobs *jobs, struct group *group, pid_t pid, uint64_t start_ticks)
{
    const struct process *process = pid && start_ticks ? tree_take_in(jobs->tree, pid) : NULL;

    if (!process || process->start_ticks != start_ticks)
        return false;
    (void)group_adopt(jobs->tree, group, pid, MEMBER_BY_DESCENT);
    return true;
}

/* If a group had counted for it, its process is in that group. */
static enum own_cgroup claim_again(struct jobs *jobs, struct part *part, pid_t pid, bool is_first,
                                   struct job_usage *usage)
{
    if (!usage_has(usage, USAGE_CGROUP_CPU) && !usage_has(usage, USAGE_PEAK_CGROUP))
        return OWN_CGROUP_NOT_TOLD;
    return part_claim_cgroup(jobs, part, pid, is_first, usage);
}

/* Of another boot it is not known how long ago it began: that clock has begun anew. */
static void forget_other_boot(const struct jobs *jobs, struct job_usage *usage)
{
    if (jobs->boot == 0 || usage->numbers[USAGE_BOOT] != (double)jobs->boot)
        usage->present &= ~USAGE_BIT(USAGE_BOOT_AT_START);
}

/* Without its processes: these may belong to any sheet, so all sheets are known first. */
static int restore_sheet(struct jobs *jobs, struct entry *entry, const struct job_sheet *sheet)
{
    size_t place;
    int code = sheet_find(jobs, entry, sheet->number, &place);

    if (code < 0)
        return code;
    struct job_sheet *kept = &entry->job.sheets[place];
    *kept = *sheet;
    kept->calls = NULL; /* the books have them */
    kept->call_count = 0;
    kept->own_cgroup = OWN_CGROUP_NOT_TOLD;
    if (sheet->status != SHEET_RUNNING) {
        kept->own_cgroup = sheet->own_cgroup;
        return 0;
    }
    struct part *part = &entry->sheets[place];
    part->group = sheet_new_group(jobs, entry, sheet->number);
    if (!part->group)
        return -ENOMEM;
    jobs->active_sheets++;
    forget_other_boot(jobs, &kept->usage);
    part->before = sheet->usage;
    part->has_gap = part->resumed = true;
    usage_forget(&kept->usage, USAGE_EXIT_CPU);
    return 0;
}

static void resume_sheet(struct jobs *jobs, struct entry *entry, const struct job_sheet *sheet)
{
    size_t place;

    if (sheet->status != SHEET_RUNNING || !sheet_is_known(entry, sheet->number, &place))
        return;
    struct job_sheet *kept = &entry->job.sheets[place];
    struct part *part = &entry->sheets[place];
    if (part->group && take_in_again(jobs, part->group, sheet->pid, sheet->pid_start_ticks))
        kept->own_cgroup = claim_again(jobs, part, kept->pid, kept->tries == 1, &kept->usage);
}

int jobs_restore(struct jobs *jobs, const struct job *job)
{
    const struct job_start start = {.job_id = job->id,
                                    .workspace = job->workspace,
                                    .config_hash = job->config_hash,
                                    .has_total = job->has_total,
                                    .total_sheets = job->total_sheets,
                                    .pid = job->pid,
                                    .owner = job->owner};
    int code = 0;

    if (job_check_name(job->id, NULL) < 0)
        return -EINVAL;
    if (entry_find(jobs, job->id))
        return -EEXIST;
    struct entry *entry = entry_new(jobs, &start);
    if (!entry)
        return -ENOMEM;
    jobs->running++;
    entry->restored = true;
    entry->job.started = job->started;
    entry->job.pid_start_ticks = job->pid_start_ticks;
    entry->job.runner = job->runner;
    entry->job.runner_start_ticks = job->runner_start_ticks;
    entry->job.usage = entry->part.before = job->usage;
    forget_other_boot(jobs, &entry->job.usage);
    entry->part.has_gap = true;
    code = entry_restore_members(entry, job);
    for (size_t i = 0; i < job->sheet_count && code == 0; i++)
        code = restore_sheet(jobs, entry, &job->sheets[i]);
    if (take_in_again(jobs, entry->part.group, job->pid, job->pid_start_ticks))
        entry->job.own_cgroup = claim_again(jobs, &entry->part, job->pid, true, &entry->job.usage);
    for (size_t i = 0; i < job->sheet_count && code == 0; i++)
        resume_sheet(jobs, entry, &job->sheets[i]);
    jobs_begin_found(jobs);
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

/* A sheet that nobody announced begins with its first process, though that is found later. */
static struct group *begin_with(struct group *sheet, const struct group *job, const struct process *process)
{
    const uint64_t born_ns =
        process->subject.born_ns > job->made_ns ? process->subject.born_ns : job->made_ns;

    if (born_ns < sheet->made_ns)
        sheet->made_ns = born_ns;
    return sheet;
}

/* Where a process belongs that inherited the number of a sheet. A sheet that nobody announced begins with it;
 * one that has ended stays so. */
static struct group *sheet_group(struct jobs *jobs, struct entry *entry, int64_t number,
                                 const struct process *process)
{
    size_t place;
    struct found_sheet *found = entry->found;

    if (sheet_is_known(entry, number, &place)) {
        enum sheet_status status = entry->job.sheets[place].status;
        if (entry->sheets[place].group)
            return entry->sheets[place].group;
        if (status != SHEET_RUNNING && status != SHEET_RETRYING)
            return entry->part.group;
    }
    while (found && found->number != number)
        found = found->next;
    if (found)
        return begin_with(found->group, entry->part.group, process);
    found = malloc(sizeof(*found));
    struct group *group = found ? group_new_sheet(jobs->tree, entry->part.group, number) : NULL;
    if (!group) {
        free(found);
        return entry->part.group;
    }
    *found = (struct found_sheet){.number = number, .group = group, .next = entry->found};
    entry->found = found;
    jobs->has_found = true;
    return begin_with(group, entry->part.group, process);
}

struct group *sheet_new_group(struct jobs *jobs, struct entry *entry, int64_t number)
{
    for (struct found_sheet **link = &entry->found; *link; link = &(*link)->next)
        if ((*link)->number == number) {
            struct found_sheet *found = *link;
            struct group *group = found->group;
            *link = found->next;
            free(found);
            return group;
        }
    return group_new_sheet(jobs->tree, entry->part.group, number);
}

void jobs_begin_found(struct jobs *jobs)
{
    struct entry *entry, *next;

    if (!jobs->has_found)
        return;
    jobs->has_found = false;
    HASH_ITER (hh, jobs->by_id, entry, next) {
        while (entry->found) {
            int64_t number = entry->found->number;
            size_t place;
            if (sheet_find(jobs, entry, number, &place) == 0)
                entry->sheets[place].unannounced =
                    sheet_begin(jobs, entry, place, &(struct sheet_start){0}) == 0;
            else /* there is no room for it: its processes are the job's */
                group_close(jobs->tree, sheet_new_group(jobs, entry, number));
        }
    }
}

static bool is_of(struct jobs *jobs, const struct process *process, uid_t owner)
{
    struct pid_reader *reader = tree_reader(jobs->tree);
    struct pid_identity identity;
    struct pid_dir dir;
    char text[STATUS_SIZE];

    pid_dir_init(&dir, process->subject.id);
    ssize_t length = pid_dir_read(&dir, reader, PID_FILE_STATUS, false, text, sizeof(text));
    pid_dir_close(&dir, reader);
    return length >= 0 && pid_identity_parse(text, (size_t)length, &identity) == 0 && identity.uid == owner;
}

/* Anybody can inherit, or make up, the name of a job: a user's processes join that user's jobs alone. */
bool jobs_may_join(struct jobs *jobs, const struct process *process, uid_t owner)
{
    return jobs->of_one_user || is_of(jobs, process, owner);
}

static const struct process *parent_of(struct jobs *jobs, const struct process *process)
{
    return process->stat.ppid > 0 ? tree_take_in(jobs->tree, process->stat.ppid) : NULL;
}

/* One that began as the user's may be another user's by now (sudo). */
bool jobs_may_announce(struct jobs *jobs, pid_t pid, uid_t uid)
{
    const struct process *process = tree_take_in(jobs->tree, pid);
    bool may = !process;

    for (unsigned i = 0; process && !may && i < ANCESTORS_MAX; i++) {
        may = is_of(jobs, process, uid);
        process = parent_of(jobs, process);
    }
    return may;
}

bool jobs_descends(struct jobs *jobs, pid_t pid, pid_t ancestor, uint64_t start_ticks)
{
    const struct process *process = tree_take_in(jobs->tree, pid);
    bool descends = false;

    for (unsigned i = 0; process && !descends && i < ANCESTORS_MAX; i++) {
        process = parent_of(jobs, process);
        descends = process && process->subject.id == ancestor && process->start_ticks == start_ticks;
    }
    return descends;
}

bool jobs_runs_within(struct jobs *jobs, pid_t inner, pid_t outer)
{
    const struct process *process = inner && outer && inner != outer ? tree_take_in(jobs->tree, outer) : NULL;

    return process && jobs_descends(jobs, inner, outer, process->start_ticks);
}

bool jobs_runs_within_sheet(struct jobs *jobs, pid_t pid, const struct group *sheet)
{
    const struct process *process = tree_take_in(jobs->tree, pid);
    bool is_within = false;

    for (unsigned i = 0; process && !is_within && i < ANCESTORS_MAX; i++) {
        const struct group *group = process->group;

        is_within =
            group && group != sheet && group->has_sheet && !group->closed && group->above == sheet->above;
        process = parent_of(jobs, process);
    }
    return is_within;
}

void jobs_note_sheets_within(struct jobs *jobs, struct entry *entry, const struct group *outer)
{
    for (size_t i = 0; i < entry->job.sheet_count; i++) {
        struct part *part = &entry->sheets[i];
        struct job_sheet *sheet = &entry->job.sheets[i];
        const struct process *runner =
            part->group && part->group != outer ? tree_find(jobs->tree, sheet->runner) : NULL;

        if (runner && runner->group == outer && runner->start_ticks == sheet->runner_start_ticks) {
            usage_set(&sheet->usage, USAGE_IS_WITHIN, true);
            part->changed = true;
        }
    }
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
    /* A member of the job may still have inherited a sheet of it. */
    if (process->group ? process->group != group : !jobs_may_join(jobs, process, entry->job.owner))
        return;
    int64_t number;
    if (sheet && read_number(sheet, &number))
        group = sheet_group(jobs, entry, number, process);
    if (group != process->group)
        group_join(jobs->tree, group, process, MEMBER_BY_VARIABLE);
}

/* Those that inherited the name and ran before it was announced. */
void jobs_claim_all(struct jobs *jobs)
{
    for (size_t i = 0; i < tree_count(jobs->tree); i++) {
        struct process *process = tree_process(jobs->tree, i);
        if (!(process->group && process->group->has_sheet) && !process->ended && process->passes > 0)
            jobs_claim(jobs, process);
    }
}
