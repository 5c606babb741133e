#include "daemon/jobs/jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/clock.h"
#include "daemon/jobs/inner.h"

/* Jobs that run at once, and finished ones that are remembered. */
#define RUNNING_MAX    4096
#define REMEMBERED_MAX 256
#define SHEETS_MAX     100000 /* of one job */
#define ALL_SHEETS_MAX 200000 /* of all that are known */
#define WORKSPACE_MAX  4096
#define HASH_MAX       255
/* Jobs that ended and are kept here, most of them because the store has yet to take them. */
#define ENDED_MAX 4096
/* A pass that took less may follow another at once. */
#define CHEAP_PASS_NS (5 * NS_PER_SECOND / 1000)
#define PAUSE_FACTOR  10

struct jobs *jobs_new(struct tree *tree)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));

    if (jobs)
        jobs->tree = tree;
    return jobs;
}

static void entry_free(struct jobs *jobs, struct entry *entry)
{
    part_release_cgroup(jobs, &entry->part);
    group_close(jobs->tree, entry->part.group);
    for (size_t i = 0; i < entry->job.sheet_count; i++) {
        part_release_cgroup(jobs, &entry->sheets[i]);
        group_close(jobs->tree, entry->sheets[i].group);
    }
    while (entry->found)
        group_close(jobs->tree, sheet_new_group(jobs, entry, entry->found->number));
    entry_forget_calls(jobs, entry);
    entry_forget_members(entry);
    free((char *)entry->job.id);
    free((char *)entry->job.workspace);
    free((char *)entry->job.config_hash);
    jobs->sheet_count -= entry->job.sheet_count;
    free(entry->job.sheets);
    free(entry->sheets);
    free(entry);
}

void jobs_free(struct jobs *jobs)
{
    struct entry *entry, *next;

    if (!jobs)
        return;
    HASH_ITER (hh, jobs->by_id, entry, next) {
        HASH_DEL(jobs->by_id, entry);
        entry_free(jobs, entry);
    }
    jobs_told(jobs);
    strbuf_fini(&jobs->scratch);
    free(jobs);
}

struct entry *entry_find(const struct jobs *jobs, const char *job_id)
{
    struct entry *entry;
    HASH_FIND_STR(jobs->by_id, job_id, entry);
    return entry;
}

static struct entry *find_running(const struct jobs *jobs, const char *job_id, struct metron_error *error)
{
    struct entry *entry = entry_find(jobs, job_id);

    if (entry && !entry->finished)
        return entry;
    (void)error_set(error, -ENOENT,
                    !entry                          ? "there is no job '%s'"
                    : entry->job.status == JOB_LOST ? "job '%s' has ended and is lost"
                                                    : "job '%s' has ended",
                    job_id);
    return NULL;
}

int job_check_name(const char *job_id, struct metron_error *error)
{
    size_t length = strlen(job_id);

    if (length == 0 || length > JOB_ID_MAX)
        return error_set(error, -EINVAL, "a job's name has 1 to %d bytes", JOB_ID_MAX);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)job_id[i] < ' ' || job_id[i] == 0x7f)
            return error_set(error, -EINVAL, "a job's name has no control characters");
    return 0;
}

void jobs_told(struct jobs *jobs)
{
    for (struct entry *entry = jobs->replaced, *next; entry; entry = next) {
        next = entry->next_replaced;
        entry_free(jobs, entry);
    }
    jobs->replaced = NULL;
    jobs->replaced_count = 0;
}

void jobs_forget_old(struct jobs *jobs)
{
    struct entry *entry, *next;

    if (jobs->remembered <= REMEMBERED_MAX)
        return;
    HASH_ITER (hh, jobs->by_id, entry, next) {
        if (!entry->finished || entry->part.changed || entry->finished + REMEMBERED_MAX > jobs->finished)
            continue;
        HASH_DEL(jobs->by_id, entry);
        entry_free(jobs, entry);
        jobs->remembered--;
    }
}

static bool copy_text(const char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

struct entry *entry_new(struct jobs *jobs, const struct job_start *start)
{
    struct entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    entry->job = (struct job){.has_total = start->has_total,
                              .total_sheets = start->total_sheets,
                              .pid = start->pid,
                              .owner = start->owner,
                              .started = clock_wall()};
    if (!(entry->job.id = strdup(start->job_id)) || !copy_text(&entry->job.workspace, start->workspace) ||
        !copy_text(&entry->job.config_hash, start->config_hash) ||
        !(entry->part.group = group_new(jobs->tree, start->job_id, NULL)))
        goto fail;
    entry->group_serial = entry->part.group->serial;
    usage_begin(jobs, &entry->job.usage);
    HASH_ADD_KEYPTR(hh, jobs->by_id, entry->job.id, strlen(entry->job.id), entry);
    if (!entry->hh.tbl)
        goto fail;
    return entry;
fail:
    entry_free(jobs, entry);
    return NULL;
}

/* The name is used again. The store has the one before, or is told of it with the next snapshot. */
static void replace(struct jobs *jobs, struct entry *entry)
{
    HASH_DEL(jobs->by_id, entry);
    jobs->remembered--;
    if (!entry->part.changed) {
        entry_free(jobs, entry);
        return;
    }
    struct entry **end = &jobs->replaced;
    while (*end)
        end = &(*end)->next_replaced;
    *end = entry;
    jobs->replaced_count++;
}

static bool has_too_many_ended(struct jobs *jobs)
{
    if (jobs->remembered + jobs->replaced_count < ENDED_MAX)
        return false;
    jobs_forget_old(jobs);
    return jobs->remembered + jobs->replaced_count >= ENDED_MAX;
}

/* They are kept as long as the job is, and told to whoever asks. */
static int check_texts(const struct job_start *start, struct metron_error *error)
{
    if (start->workspace && strlen(start->workspace) > WORKSPACE_MAX)
        return error_set(error, -EINVAL, "workspace has at most %d bytes", WORKSPACE_MAX);
    if (start->config_hash && strlen(start->config_hash) > HASH_MAX)
        return error_set(error, -EINVAL, "config_hash has at most %d bytes", HASH_MAX);
    return job_check_name(start->job_id, error);
}

static int no_process(pid_t pid, struct metron_error *error)
{
    if (kill(pid, 0) == 0 || errno == EPERM)
        return error_set(error, -ESRCH, "process %d is not watched: it is another user's, or the kernel's",
                         (int)pid);
    return error_set(error, -ESRCH, "there is no process %d", (int)pid);
}

/* Which process it is; 0: it is not watched, and whether it lives cannot be known. */
static uint64_t runner_start_ticks(struct jobs *jobs, pid_t runner)
{
    const struct process *process = runner ? tree_take_in(jobs->tree, runner) : NULL;

    return process ? process->start_ticks : 0;
}

int jobs_start(struct jobs *jobs, const struct job_start *start, struct metron_error *error)
{
    int code = check_texts(start, error);
    struct entry *entry = code < 0 ? NULL : entry_find(jobs, start->job_id);

    if (code < 0)
        return code;
    if (start->has_total && (start->total_sheets < 0 || start->total_sheets > SHEETS_MAX))
        return error_set(error, -EINVAL, "total_sheets is a number from 0 to %d", SHEETS_MAX);
    bool runs = entry && !entry->finished;
    if (runs && !jobs_runs_within(jobs, entry->job.runner, start->runner))
        return error_set(error, -EEXIST, "job '%s' runs already", start->job_id);
    if (!runs && jobs->running >= RUNNING_MAX)
        return error_set(error, -ENOSPC, "%d jobs run already", RUNNING_MAX);
    if (has_too_many_ended(jobs))
        return error_set(error, -ENOSPC, "%d jobs have ended and are not stored yet", ENDED_MAX);
    if (start->pid && !tree_take_in(jobs->tree, start->pid))
        return no_process(start->pid, error);
    if (entry && !runs)
        replace(jobs, entry);
    if (!runs && !(entry = entry_new(jobs, start)))
        return error_set(error, -ENOMEM, "no memory for a job");
    entry->part.changed = true;
    jobs->running += !runs;
    entry->job.pid = start->pid ? start->pid : entry->job.pid;
    entry->job.runner_start_ticks = runner_start_ticks(jobs, start->runner);
    entry->job.runner = entry->job.runner_start_ticks ? start->runner : 0;
    if (start->pid && jobs_take_in(jobs, entry->part.group, start->pid, &entry->job.pid_start_ticks) &&
        start->own_cgroup)
        entry->job.own_cgroup = part_claim_cgroup(jobs, &entry->part, start->pid, true, &entry->job.usage);
    jobs_claim_all(jobs);
    jobs_begin_found(jobs);
    entry_note_joined(jobs, entry);
    return runs;
}

bool sheet_is_known(const struct entry *entry, int64_t number, size_t *place)
{
    size_t low = 0, high = entry->job.sheet_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry->job.sheets[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    *place = low;
    return low < entry->job.sheet_count && entry->job.sheets[low].number == number;
}

static int sheet_insert(struct jobs *jobs, struct entry *entry, size_t place, int64_t number)
{
    struct job *job = &entry->job;

    if (job->sheet_count >= SHEETS_MAX || jobs->sheet_count >= ALL_SHEETS_MAX)
        return -ENOSPC;
    if (ARRAY_RESERVE(job->sheets, entry->sheet_capacity, job->sheet_count + 1) < 0 ||
        ARRAY_RESERVE(entry->sheets, entry->part_capacity, job->sheet_count + 1) < 0)
        return -ENOMEM;
    if (job->has_total && number > job->total_sheets)
        job->total_sheets = number; /* there are more than was said */
    size_t after = job->sheet_count++ - place;
    jobs->sheet_count++;
    (void)memmove(&job->sheets[place + 1], &job->sheets[place], after * sizeof(*job->sheets));
    (void)memmove(&entry->sheets[place + 1], &entry->sheets[place], after * sizeof(*entry->sheets));
    job->sheets[place] = (struct job_sheet){.number = number, .started = clock_wall()};
    entry->sheets[place] = (struct part){0};
    return 0;
}

/* The sheet of this number, made if it is not there yet. */
int sheet_find(struct jobs *jobs, struct entry *entry, int64_t number, size_t *place)
{
    return sheet_is_known(entry, number, place) ? 0 : sheet_insert(jobs, entry, *place, number);
}

int sheet_begin(struct jobs *jobs, struct entry *entry, size_t place, const struct sheet_start *start)
{
    struct job_sheet *sheet = &entry->job.sheets[place];
    struct part *part = &entry->sheets[place];
    bool is_new = !part->group, is_there = false;
    uint64_t runner_ticks = runner_start_ticks(jobs, start->runner);

    if (is_new) {
        part->group = sheet_new_group(jobs, entry, sheet->number);
        if (!part->group)
            return -ENOMEM;
        part->before = sheet->usage;                 /* of another try, */
        usage_forget(&sheet->usage, USAGE_EXIT_CPU); /* which the exits of this one do not include */
        part->has_gap = sheet->tries > 0 && sheet->usage.numbers[USAGE_SPAWNED_IS_EXACT] == 0;
        jobs->active_sheets++;
    }
    part->changed = true;
    if (sheet->tries == 0) {
        sheet->started = clock_wall();
        usage_begin(jobs, &sheet->usage);
    }
    usage_forget_outcome(&sheet->usage);
    sheet->status = SHEET_RUNNING;
    sheet->ended = (struct timespec){0};
    /* One that had begun by itself, or by a run within, is announced now: it is the same try. */
    sheet->tries += is_new || !(part->unannounced || jobs_runs_within(jobs, sheet->runner, start->runner));
    part->unannounced = false;
    sheet->runner = runner_ticks ? start->runner : 0;
    sheet->runner_start_ticks = runner_ticks;
    if (start->runner && jobs_runs_within_sheet(jobs, start->runner, part->group))
        usage_set(&sheet->usage, USAGE_IS_WITHIN, true);
    if (start->pid) {
        sheet->pid = start->pid;
        is_there = jobs_take_in(jobs, part->group, start->pid, &sheet->pid_start_ticks);
        jobs_note_sheets_within(jobs, entry, part->group);
    }
    if (is_there && start->own_cgroup)
        sheet->own_cgroup = part_claim_cgroup(jobs, part, start->pid, sheet->tries == 1, &sheet->usage);
    else if (start->pid || is_new)
        sheet->own_cgroup = part_do_without_cgroup(jobs, part, &sheet->usage);
    return 0;
}

/* Of the job it is known to have used at least what its sheets have; of those that ran within others what
 * these have. */
static void add_up_sheets(struct entry *entry)
{
    double sum = 0, seconds;
    bool is_low, is_known = false;

    for (size_t i = 0; i < entry->job.sheet_count; i++)
        if (!usage_has(&entry->job.sheets[i].usage, USAGE_IS_WITHIN) &&
            job_usage_cpu(&entry->job.sheets[i].usage, &seconds, &is_low)) {
            sum += seconds;
            is_known = true;
        }
    if (is_known)
        usage_raise(&entry->job.usage, USAGE_SHEETS_CPU, sum);
}

void sheet_end(struct jobs *jobs, struct entry *entry, size_t place, enum sheet_status status,
               const struct job_usage *reported)
{
    struct job_sheet *sheet = &entry->job.sheets[place];
    struct part *part = &entry->sheets[place];

    sheet->status = status;
    if (sheet->ended.tv_sec == 0)
        sheet->ended = clock_wall();
    if (part->group) /* else no start was reported, or it has ended already */
        part_take(jobs, part, &sheet->usage);
    if (reported && reported->present) {
        part_merge(part, &sheet->usage, reported, sheet->tries > 1);
        add_up_sheets(entry);
    }
    bool was_covered = part_is_covered(part);
    if (part->group) {
        part_release_cgroup(jobs, part);
        group_close(jobs->tree, part->group);
        jobs->active_sheets--;
    }
    *part = (struct part){.changed = true, .was_covered = was_covered};
}

/* What is used until now is still its own. A pass is cheap as long as there are not too many of them: at most
 * a tenth of the time. Its cost is its CPU time: on a busy machine it takes longer, and costs the same. */
static void look_again(struct jobs *jobs)
{
    uint64_t begin_ns = clock_thread_cpu_ns();

    if (clock_monotonic_ns() < jobs->look_again_ns)
        return;
    tree_refresh(jobs->tree);
    jobs_end_pass(jobs);
    uint64_t cost_ns = clock_thread_cpu_ns() - begin_ns;
    jobs->look_again_ns = cost_ns < CHEAP_PASS_NS ? 0 : clock_monotonic_ns() + PAUSE_FACTOR * cost_ns;
}

bool sheet_event_of(const char *name, size_t length, enum sheet_event *out)
{
    static const char *const names[] = {[SHEET_EVENT_STARTED] = "sheet.started",
                                        [SHEET_EVENT_COMPLETED] = "sheet.completed",
                                        [SHEET_EVENT_FAILED] = "sheet.failed",
                                        [SHEET_EVENT_RETRYING] = "sheet.retrying"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
            *out = (enum sheet_event)i;
            return true;
        }
    return false;
}

/* From before a restart, and the first snapshot is still to come. */
static void resume_now(struct jobs *jobs, struct entry *entry)
{
    if (!entry->restored)
        return;
    tree_refresh(jobs->tree);
    jobs_end_pass(jobs);
    entry_resume(jobs, entry);
}

/* A run inside a sheet inherits its number, and is a part of what the sheet's runner runs. */
static bool is_nested(struct jobs *jobs, const struct entry *entry, int64_t number, pid_t runner)
{
    size_t place;

    if (!runner || !sheet_is_known(entry, number, &place) || !entry->sheets[place].group)
        return false;
    const struct job_sheet *sheet = &entry->job.sheets[place];
    return sheet->runner && sheet->runner != runner &&
           jobs_descends(jobs, runner, sheet->runner, sheet->runner_start_ticks);
}

int jobs_sheet(struct jobs *jobs, const char *job_id, int64_t sheet_num, enum sheet_event event,
               const struct sheet_start *start, const struct job_usage *reported, struct metron_error *error)
{
    struct entry *entry = find_running(jobs, job_id, error);
    size_t place;

    if (!entry)
        return -ENOENT;
    if (is_nested(jobs, entry, sheet_num, start->runner))
        return error_set(error, -EPERM,
                         "process %d runs within sheet %lld of job '%s', and does not change it",
                         (int)start->runner, (long long)sheet_num, job_id);
    jobs_begin_found(jobs);
    resume_now(jobs, entry);
    if (event == SHEET_EVENT_COMPLETED || event == SHEET_EVENT_FAILED)
        look_again(jobs);
    int code = sheet_find(jobs, entry, sheet_num, &place);
    if (code == 0 && event == SHEET_EVENT_STARTED)
        code = sheet_begin(jobs, entry, place, start);
    if (code < 0)
        return error_set(error, code, "job '%s' has no room for sheet %lld", job_id, (long long)sheet_num);
    entry->part.changed = true;
    if (event == SHEET_EVENT_STARTED) {
        jobs_begin_found(jobs);
        entry_note_joined(jobs, entry);
    } else if (event == SHEET_EVENT_COMPLETED)
        sheet_end(jobs, entry, place, SHEET_COMPLETED, reported);
    else if (event == SHEET_EVENT_FAILED)
        sheet_end(jobs, entry, place, SHEET_FAILED, reported);
    else if (event == SHEET_EVENT_RETRYING) {
        entry->job.sheets[place].status = SHEET_RETRYING;
        entry->sheets[place].unannounced = false; /* the next start is another try */
        entry->sheets[place].changed = true;
    }
    return 0;
}

void entry_finish(struct jobs *jobs, struct entry *entry, enum job_status status,
                  const struct job_usage *reported)
{
    struct job *job = &entry->job;

    for (size_t i = 0; i < job->sheet_count; i++)
        if (job->sheets[i].status == SHEET_RUNNING || job->sheets[i].status == SHEET_RETRYING)
            sheet_end(jobs, entry, i, SHEET_LOST, NULL); /* nobody reported how it ended */
    part_take(jobs, &entry->part, &job->usage);
    if (reported && reported->present)
        part_merge(&entry->part, &job->usage, reported, false);
    bool was_covered = part_is_covered(&entry->part);
    part_release_cgroup(jobs, &entry->part);
    group_close(jobs->tree, entry->part.group);
    entry->part = (struct part){.changed = true, .was_covered = was_covered};
    entry_forget_members(entry);
    job->status = status;
    job->ended = clock_wall();
    entry->finished = ++jobs->finished;
    jobs->running--;
    jobs->remembered++;
}

int jobs_finish(struct jobs *jobs, const char *job_id, enum job_status status,
                const struct job_usage *reported, struct metron_error *error)
{
    struct entry *lost = entry_find(jobs, job_id);

    if (lost && lost->job.status == JOB_LOST) { /* now it is told how it ended */
        lost->job.status = status;
        if (reported && reported->present)
            part_merge(&lost->part, &lost->job.usage, reported, false);
        lost->part.changed = true;
        return 0;
    }
    struct entry *entry = find_running(jobs, job_id, error);
    if (!entry)
        return -ENOENT;
    jobs_begin_found(jobs);
    resume_now(jobs, entry);
    look_again(jobs);
    entry_finish(jobs, entry, status, reported);
    jobs_forget_old(jobs);
    return 0;
}

/* What was reported with its end stays. */
static void note_outcome(struct entry *entry, struct part *part, struct job_usage *usage, int wait_status)
{
    const bool by_signal = WIFSIGNALED(wait_status);

    if (!part->group && (usage_has(usage, USAGE_EXIT_CODE) || usage_has(usage, USAGE_SIGNAL)))
        return;
    usage_set_outcome(usage, by_signal ? USAGE_SIGNAL : USAGE_EXIT_CODE,
                      by_signal ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    part->changed = entry->part.changed = true;
}

static bool is_process(const struct process *process, pid_t pid, uint64_t start_ticks)
{
    return pid == process->subject.id && start_ticks && start_ticks == process->start_ticks;
}

void jobs_note_end(struct jobs *jobs, const struct process *process)
{
    const struct group *group = process->has_status ? process->group : NULL;
    struct entry *entry = group ? entry_find(jobs, group->job_id) : NULL;
    size_t place;

    if (!entry || entry->finished)
        return;
    if (is_process(process, entry->job.pid, entry->job.pid_start_ticks))
        note_outcome(entry, &entry->part, &entry->job.usage, process->wait_status);
    if (!group->has_sheet || !sheet_is_known(entry, group->sheet_num, &place))
        return;
    const struct job_sheet *sheet = &entry->job.sheets[place];
    if (is_process(process, sheet->pid, sheet->pid_start_ticks))
        note_outcome(entry, &entry->sheets[place], &entry->job.sheets[place].usage, process->wait_status);
}

void jobs_note_one_user(struct jobs *jobs)
{
    jobs->of_one_user = true;
}

void jobs_note_boot(struct jobs *jobs, const char *boot_id)
{
    uint64_t hash = 1469598103934665603ULL;

    for (const char *c = boot_id; c && *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    jobs->boot = boot_id ? hash >> 12 : 0; /* exact in a double */
}

const struct job *jobs_find(const struct jobs *jobs, const char *job_id)
{
    const struct entry *entry = entry_find(jobs, job_id);
    return entry ? &entry->job : NULL;
}

const struct job *jobs_of_process(const struct jobs *jobs, pid_t pid)
{
    const struct process *process = tree_find(jobs->tree, pid);
    const struct group *group = process ? process->group : NULL;

    while (group && group->above)
        group = group->above;
    /* Another job may have got its name since. */
    const struct entry *entry = group ? entry_find(jobs, group->job_id) : NULL;
    return entry && entry->group_serial == group->serial ? &entry->job : NULL;
}

void jobs_visit(const struct jobs *jobs, void (*visit)(void *context, const struct job *job), void *context)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next) {
        visit(context, &entry->job);
    }
}

unsigned jobs_running(const struct jobs *jobs)
{
    return jobs->running;
}

unsigned jobs_active_sheets(const struct jobs *jobs)
{
    return jobs->active_sheets;
}
