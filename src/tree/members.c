#include "tree/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/text.h"
#include "probe/process_clock.h"
#include "schema/secrets.h"
#include "tree/groups.h"

#define FREE_MAX 1024
/* The clocks are read one after the other, and a busy machine may come between: less is no step. */
#define STEP_SECONDS 0.5

struct timespec tree_wall(const struct tree *tree, uint64_t stamp_ns)
{
    /* The monotonic clock stands still while the machine is suspended, the wall clock does not. */
    int64_t offset_ns =
        clock_elapsed_ns(tree->anchor_ns, stamp_ns) + tree->suspended_ns - tree->anchor_suspended_ns;
    int64_t total_ns = (int64_t)tree->anchor_wall.tv_nsec + offset_ns;
    int64_t second = (int64_t)NS_PER_SECOND;
    int64_t seconds = total_ns / second;
    int64_t rest = total_ns % second;
    if (rest < 0) {
        rest += second;
        seconds--;
    }
    return (struct timespec){tree->anchor_wall.tv_sec + (time_t)seconds, (long)rest};
}

void tree_anchor_wall(struct tree *tree)
{
    tree->anchor_wall = clock_wall();
    tree->anchor_ns = clock_monotonic_ns();
    tree->anchor_suspended_ns = tree->suspended_ns;
}

void tree_follow_wall(struct tree *tree)
{
    struct timespec told = tree_wall(tree, clock_monotonic_ns()), now = clock_wall();
    double apart = (double)(now.tv_sec - told.tv_sec) + (double)(now.tv_nsec - told.tv_nsec) / 1e9;

    if (apart > STEP_SECONDS || apart < -STEP_SECONDS)
        tree_anchor_wall(tree);
}

struct process *members_find(const struct tree *tree, pid_t pid)
{
    struct process *process;
    HASH_FIND(hh, tree->by_pid, &pid, sizeof(pid), process);
    return process;
}

static uint32_t next_incarnation(struct tree *tree, pid_t pid)
{
    if (pid < 0 || (size_t)pid >= tree->pid_max)
        return 1;
    if (tree->incarnations[pid] < UINT16_MAX)
        tree->incarnations[pid]++;
    return tree->incarnations[pid];
}

void members_set_birth(const struct tree *tree, struct process *process, uint64_t born_ns)
{
    if (!born_ns || process->subject.born_ns)
        return;
    process->subject.born_ns = born_ns;
    clock_iso8601(tree_wall(tree, born_ns), 2, process->start_time);
}

/* A storm of processes leaves no more memory behind than the next ones are likely to need. */
static void set_free(struct tree *tree, struct process *process)
{
    if (tree->free_count >= FREE_MAX) {
        free(process);
        return;
    }
    process->next_free = tree->free_list;
    tree->free_list = process;
    tree->free_count++;
}

struct process *members_add(struct tree *tree, pid_t pid, uint64_t born_ns)
{
    if (ARRAY_RESERVE(tree->members, tree->capacity, tree->count + 1) < 0)
        return NULL;
    struct process *process = tree->free_list;
    if (process) {
        tree->free_list = process->next_free;
        tree->free_count--;
    } else {
        process = malloc(sizeof(*process));
    }
    if (!process)
        return NULL;
    *process = (struct process){
        .subject = {.serial = ++tree->next_serial, .id = pid, .incarnation = next_incarnation(tree, pid)},
        .event_threads = 1,
    };
    members_set_birth(tree, process, born_ns);
    pid_dir_init(&process->dir, pid);
    HASH_ADD(hh, tree->by_pid, subject.id, sizeof(pid), process);
    if (!process->hh.tbl) { /* no memory for the map */
        set_free(tree, process);
        return NULL;
    }
    tree->members[tree->count++] = process;
    return process;
}

bool member_is_of_command(const struct tree *tree, const struct process *process,
                          const struct process *parent)
{
    return tree->options.reaps || tree->options.scope == TREE_OF_ROOTS || process->subject.id == tree->root ||
           (parent && parent->of_command);
}

/* Its children, asleep or not, have another parent from now on. */
static void orphan_children(struct tree *tree, const struct process *parent)
{
    for (size_t i = 0; parent->has_children && i < tree->count; i++)
        if (tree->members[i]->stat.ppid == parent->subject.id)
            tree->members[i]->look_again = true;
}

void members_end(struct tree *tree, struct process *process)
{
    if (process->ended)
        return;
    process->ended = true;
    orphan_children(tree, process);
    HASH_DEL(tree->by_pid, process);
    pid_dir_close(&process->dir, &tree->reader);
    if (tree->options.on_end)
        tree->options.on_end(tree->options.context, process);
    groups_leave(tree, process);
}

void members_sweep(struct tree *tree)
{
    size_t kept = 0;
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (!process->ended) {
            tree->members[kept++] = process;
            continue;
        }
        free(process->command);
        process->command = NULL;
        set_free(tree, process);
    }
    tree->count = kept;
}

void members_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (!process->ended) {
            HASH_DEL(tree->by_pid, process);
            pid_dir_close(&process->dir, &tree->reader);
        }
        free(process->command);
        free(process);
    }
    for (struct process *process = tree->free_list, *next; process; process = next) {
        next = process->next_free;
        free(process);
    }
    free(tree->members);
    tree->members = NULL;
    tree->free_list = NULL;
    tree->count = 0;
}

/* One that was told to be born and not to have executed a program has its parent's. */
static void command_label(const struct tree *tree, const struct process *process, struct event *event)
{
    const struct process *parent =
        process->command || !process->kernel_id ? NULL : members_find(tree, process->forker);
    const struct process *of = parent ? parent : process;

    event->command = of->command;
    event->command_is_truncated = of->command_is_truncated;
}

void announce_pending(struct tree *tree, struct process *process)
{
    if (!process->spawn_is_pending)
        return;
    process->spawn_is_pending = false;
    if (!tree->options.on_event)
        return;
    struct event event = {
        .type = EVENT_SPAWN,
        .seen = process->spawn_seen,
        .wall = tree_wall(tree, process->forked_ns),
        .pid = process->subject.id,
        .start_time = process->start_time[0] ? process->start_time : NULL,
        .ppid = process->forker,
    };
    command_label(tree, process, &event);
    group_label(process, &event);
    tree->options.on_event(tree->options.context, &event);
}

void announce_spawn(struct tree *tree, struct process *process, pid_t parent, enum event_seen seen,
                    uint64_t stamp_ns)
{
    if (process->announced_spawn)
        return;
    process->announced_spawn = true;
    tree->spawned++;
    process->spawn_is_pending = true;
    process->spawn_seen = seen;
    process->forker = parent;
    process->forked_ns = stamp_ns;
    /* Our programs in the kernel tell the command line in a moment; else what is known now is all there is.
     */
    if (tree->method != TREE_BPF || seen != SEEN_EVENT)
        announce_pending(tree, process);
}

void announce_exit(struct tree *tree, struct process *process, enum event_seen seen, uint64_t stamp_ns)
{
    if (process->announced_exit)
        return;
    process->announced_exit = true;
    tree->exited++;
    if (!process->has_status && process->has_last_status) {
        process->wait_status = process->last_status;
        process->has_status = true;
    }
    if (process->was_there && process->subject.id == tree->root && process->has_status) {
        tree->has_root_status = true;
        tree->root_status = process->wait_status;
    }
    if (seen == SEEN_EVENT && process->subject.id == tree->root)
        tree->root_end_ns = stamp_ns;
    int signal =
        process->has_status && WIFSIGNALED(process->wait_status) ? WTERMSIG(process->wait_status) : 0;
    if (signal == SIGKILL)
        tree->killed++;
    if (!process->use_is_told)
        ended_miss(tree);
    announce_pending(tree, process);
    if (process->deadly.number != signal)
        announce_spared(tree, process);
    if (signal && process->deadly.number && process->subject.id == tree->root) {
        (void)memcpy(tree->root_killer_name, process->deadly.name, sizeof(tree->root_killer_name));
        tree->root_killer = (struct event_sender){process->deadly.sender, tree->root_killer_name};
        tree->has_root_killer = true;
    }
    if (!tree->options.on_event)
        return;
    const struct event_sender sender = {process->deadly.sender,
                                        process->deadly.name[0] ? process->deadly.name : NULL};
    struct event event = {
        .type = EVENT_EXIT,
        .seen = seen,
        .wall = tree_wall(tree, stamp_ns),
        .pid = process->subject.id,
        .start_time = process->start_time[0] ? process->start_time : NULL,
        .has_status = process->has_status,
        .wait_status = process->wait_status,
    };
    command_label(tree, process, &event);
    group_label(process, &event);
    if (signal) {
        event.type = EVENT_KILL;
        event.sender = process->deadly.number ? &sender : NULL;
        tree->options.on_event(tree->options.context, &event);
        event.type = EVENT_EXIT;
        event.sender = NULL;
        process->deadly.number = 0; /* it has done its work: a zombie may stay for long */
    }
    event.use = process->use_is_told ? &process->use : NULL;
    tree->options.on_event(tree->options.context, &event);
}

static void set_start(const struct tree *tree, struct process *process, uint64_t start_ticks)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
    uint64_t start_ns = start_ticks * tick_ns - (uint64_t)tree->suspended_ns;

    process->start_ticks = start_ticks;
    /* stat cuts the start down to a tick: who was not there before is not older than the run. */
    if (!process->was_there && clock_elapsed_ns(tree->options.start_ns, start_ns) <= 0)
        start_ns = tree->options.start_ns + 1;
    members_set_birth(tree, process, start_ns);
}

struct process *members_add_running(struct tree *tree, const struct tree_root *root)
{
    struct process *process = members_find(tree, root->pid);

    if (!process)
        process = members_add(tree, root->pid, 0);
    if (!process)
        return NULL;
    process->was_there = true;
    set_start(tree, process, root->start_ticks);
    return process;
}

/* A hash of what exec changes; where stat hides the stack (another user's process), the name alone. Its stat
 * may have been read before an exec that the kernel reported. */
static uint64_t image_of(const struct process *process)
{
    const struct pid_stat *stat = &process->stat;
    uint64_t hash = 1469598103934665603ULL ^ stat->start_stack ^ process->execs;
    for (const char *c = stat->comm; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    return hash | 1;
}

/* Takes the text in tree->line over as the command. */
static void keep_command(struct tree *tree, struct process *process, bool is_truncated)
{
    char *copy = tree->line.failed ? NULL : strdup(strbuf_text(&tree->line));

    if (!copy)
        return;
    free(process->command);
    process->command = copy;
    process->command_is_truncated = is_truncated;
}

void member_set_command(struct tree *tree, struct process *process, const char *arguments, size_t length,
                        bool is_truncated)
{
    if (length > tree->options.command_bytes) {
        length = tree->options.command_bytes;
        is_truncated = true;
    }
    if (is_truncated) /* no character is cut in two */
        length = text_whole_characters(arguments, length);
    strbuf_reset(&tree->line);
    secrets_mask_arguments(&tree->line, tree->options.secrets, arguments, length);
    strbuf_adds(&tree->line, is_truncated ? "…" : "");
    keep_command(tree, process, is_truncated);
    process->has_arguments = true;
}

static void read_command(struct tree *tree, struct process *process)
{
    char bytes[TREE_COMMAND_BYTES + 1];

    process->image = image_of(process);
    if (process->command_is_told) {
        process->command_is_told = false; /* until it gives itself another name */
        return;
    }
    ssize_t length =
        pid_dir_read(&process->dir, &tree->reader, PID_FILE_CMDLINE, false, bytes, sizeof(bytes));
    if (length > 0) {
        member_set_command(tree, process, bytes, (size_t)length, length == sizeof(bytes));
        return;
    }
    /* A process that exits has given its memory back before it is a zombie: its command is the one it had. */
    if (process->has_arguments && process->stat.vsize_bytes == 0)
        return;
    /* Kernel threads and processes in the middle of exec have none: their name in brackets, as ps has it. */
    strbuf_reset(&tree->line);
    strbuf_addc(&tree->line, '[');
    strbuf_adds(&tree->line, process->stat.comm);
    strbuf_addc(&tree->line, ']');
    keep_command(tree, process, false);
    process->has_arguments = false;
}

/* Whether what stat shows is the process we know; settles it at the first reading. */
static bool same_process(const struct tree *tree, struct process *process, const struct pid_stat *stat)
{
    if (process->start_ticks)
        return process->start_ticks == stat->start_ticks;
    if (process->subject.born_ns) {
        /* Known from an event: whoever had this pid at that moment started before it; a later start is a
         * reused pid. */
        uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
        if (stat->start_ticks > (process->subject.born_ns + (uint64_t)tree->suspended_ns) / tick_ns + 1)
            return false;
    }
    set_start(tree, process, stat->start_ticks);
    return true;
}

/* A process that no longer lets us look keeps what it last showed. The file is kept open from the first time
 * on: of a zombie an ordinary user cannot open it any more. */
void member_read_io(struct tree *tree, struct process *process)
{
    char text[256];
    ssize_t length = pid_dir_read(&process->dir, &tree->reader, PID_FILE_IO, true, text, sizeof(text));

    if (length > 0 && pid_io_parse(text, (size_t)length, &process->io) == 0)
        process->has_io = tree->has_io = true;
}

/* Its CPU clock stands where it stood when its files were read. A pid used again would have another clock; a
 * process that is gone has none. One that runs since less than a tick of the kernel's has the clock of before
 * (the sum of a whole process is brought up to date no sooner): the next pass looks at it. */
static bool has_not_run(const struct process *process, uint64_t cpu_ns, uint64_t now_ns)
{
    /* Not all in the same pass. */
    const uint64_t spread_ns = process->subject.serial % 64 * (NS_PER_SECOND / 32);

    return cpu_ns && cpu_ns == process->cpu_ns && process->passes > 0 && process->fresh &&
           !process->look_again && now_ns - process->looked_ns + spread_ns < TREE_LOOK_AGAIN_NS;
}

/* What depends on who else is a member: it may change while the process itself sleeps. */
static void relate(struct tree *tree, struct process *process)
{
    struct process *parent = members_find(tree, process->stat.ppid);

    process->has_heir = parent != NULL;
    if (parent)
        parent->has_children = true;
    if (process->has_children && (process->stat.ignored_signals & SIGCHLD_BIT))
        tree->dropped_children = true;
    if (!process->of_command)
        process->of_command = member_is_of_command(tree, process, parent);
}

/* A pass may read it more than once: all that it inherited since the previous pass counts together. */
static void note_inherited(const struct tree *tree, struct process *process, const struct pid_stat *stat)
{
    uint64_t ticks = stat->child_user_ticks + stat->child_system_ticks;

    if (process->inherited_pass != tree->passes)
        process->inherited_ticks = process->claimed_ticks = 0;
    process->inherited_pass = tree->passes;
    process->inherited_ticks += ticks - process->inherited_before;
    process->inherited_before = ticks;
}

int member_take(struct tree *tree, struct process *process, const struct pid_stat *stat, uint64_t cpu_ns,
                uint64_t stamp_ns)
{
    process->fresh = false;
    if (!same_process(tree, process, stat))
        return -ESRCH;
    process->fresh = true;
    if (process->passes == 0 || stat->ppid != process->stat.ppid)
        (void)snprintf(process->ppid_text, sizeof(process->ppid_text), "%d", (int)stat->ppid);
    note_inherited(tree, process, stat);
    process->stat = *stat;
    process->files = (struct process_files){0};
    process->looked_ns = stamp_ns;
    process->look_again = false;
    process->cpu_ns = cpu_ns;
    return 0;
}

/* What it holds now. One that is followed alone is counted without what it inherited. */
static struct ledger_sum held_by(const struct tree *tree, const struct process *process)
{
    struct pid_stat stat = process->stat;

    if (tree->options.alone) {
        stat.child_user_ticks = stat.child_system_ticks = 0;
        stat.child_minor_faults = stat.child_major_faults = 0;
    }
    return ledger_of_process(&stat, process->cpu_ns, process->has_io ? &process->io : NULL);
}

void member_count(const struct tree *tree, struct process *process)
{
    process->counted = ledger_minus(held_by(tree, process), process->baseline);
}

/* What follows from it, once the rest is read. */
static void member_settle(struct tree *tree, struct process *process)
{
    const struct pid_stat *stat = &process->stat;

    if (process->passes == 0 && process->was_there) {
        process->baseline = held_by(tree, process);
        process->event_threads = stat->threads;
    }
    if (tree->options.command_bytes && process->image != image_of(process) && stat->state != 'Z')
        read_command(tree, process);
    if (stat->state == 'Z')
        orphan_children(tree, process);
}

int member_read_stat(struct tree *tree, struct process *process, struct pid_stat *stat)
{
    char text[PID_STAT_SIZE];
    /* Kept open from the second pass on: most processes are short, and never have one. */
    ssize_t length =
        pid_dir_read(&process->dir, &tree->reader, PID_FILE_STAT, process->passes > 0, text, sizeof(text));

    if (length < 0)
        return (int)length;
    if (pid_stat_parse(text, (size_t)length, stat) < 0)
        return -EBADMSG;
    /* A process that only an event has named yet has no start. */
    return process->start_ticks && stat->start_ticks != process->start_ticks ? -ESRCH : 0;
}

bool member_has_ended(struct tree *tree, struct process *process)
{
    struct pid_stat stat;
    int code = member_read_stat(tree, process, &stat);

    return code < 0 ? code == -ESRCH : stat.state == 'Z' && stat.threads <= 1;
}

int member_read_inherited(struct tree *tree, struct process *process)
{
    struct pid_stat stat;
    int code = member_read_stat(tree, process, &stat);

    if (code == 0)
        note_inherited(tree, process, &stat);
    return code;
}

/* stat and io of a member, and whether it is still the one we know. */
static int look_at(struct tree *tree, struct process *process, uint64_t cpu_ns, uint64_t stamp_ns)
{
    struct pid_stat stat;

    process->fresh = false;
    int code = member_read_stat(tree, process, &stat);
    if (code < 0)
        return code;
    code = member_take(tree, process, &stat, cpu_ns, stamp_ns);
    if (code < 0)
        return code;
    if (tree->options.read_io)
        member_read_io(tree, process);
    member_settle(tree, process);
    return 0;
}

/* From its files, unless it has not run since they were read. */
static int member_read_files(struct tree *tree, struct process *process)
{
    uint64_t cpu_ns = 0;
    /* The clock first: should the pid be reused in between, the stat read after it shows another start; and
     * whoever runs after it was read moves it. */
    uint64_t stamp_ns = clock_monotonic_ns();

    if (tree->options.read_clock && process_clock_read(process->subject.id, &cpu_ns) < 0)
        cpu_ns = 0;
    int code = has_not_run(process, cpu_ns, stamp_ns) ? 0 : look_at(tree, process, cpu_ns, stamp_ns);
    if (code == 0)
        process->stat_ns = stamp_ns;
    return code;
}

void member_found(struct tree *tree, struct process *process)
{
    bool has_sheet = process->group && process->group->has_sheet;

    if (!has_sheet && tree->options.on_found)
        tree->options.on_found(tree->options.context, process);
}

int member_read(struct tree *tree, struct process *process)
{
    const uint64_t image = process->image;

    if (process->by_tasks) {
        process->stat_ns = process->looked_ns;
        member_settle(tree, process);
    } else {
        int code = member_read_files(tree, process);
        if (code < 0)
            return code;
    }
    process->passes++;
    relate(tree, process);
    if (process->passes == 1 && !process->adopting)
        group_inherit(tree, process, members_find(tree, process->stat.ppid), false);
    if (!process->adopting && (process->passes == 1 || process->image != image))
        member_found(tree, process);
    announce_spawn(tree, process, process->stat.ppid, SEEN_SAMPLED, process->subject.born_ns);
    return 0;
}
