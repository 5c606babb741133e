#include "tree/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/own_io.h"
#include "tree/groups.h"
#include "tree/members.h"

/* Linux' own upper bound on pids (PID_MAX_LIMIT): a count for each is virtual until a pid is seen. */
#define PID_LIMIT ((size_t)4 * 1024 * 1024)
/* Where more events come than can be read, a pass does not try to catch up with them. */
#define EVENTS_PER_PASS 32768
static void tree_choose_method(struct tree *tree)
{
    tree->source = tree->options.source;
    tree->told_from_start = tree->source != NULL;
    if (tree->source)
        tree->method = lifecycle_method(tree->source) == LIFECYCLE_BPF ? TREE_BPF : TREE_CONNECTOR;
    else
        /* A session's orphans leave our sight (their new parent is not ours): only a scan finds them again.
         */
        tree->method = tree->reader.has_children_files && tree->options.scope != TREE_OF_SESSION &&
                               tree->options.scope != TREE_OF_MACHINE
                           ? TREE_LISTINGS
                           : TREE_SCAN;
}

/* Everybody who belongs to the target by now, with the source telling of them. Nobody is missed: who is born
 * meanwhile is told of, or found by the next pass. */
static int follow_found(struct tree *tree)
{
    for (size_t i = 0; i < tree->options.root_count; i++)
        if (!members_add_running(tree, &tree->options.roots[i]))
            return -ENOMEM;
    if (tree->options.root_count == 1)
        tree->root = tree->options.roots[0].pid;
    discover_by_scan(tree);
    return tree->source ? follow_all(tree, tree->source, 0, discover_by_scan) : 0;
}

struct tree *tree_new(const struct tree_options *options, struct metron_error *error)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    if (!tree) {
        (void)error_set(error, -ENOMEM, "no memory to follow processes");
        return NULL;
    }
    tree->options = *options;
    tree->self = getpid();
    tree->pid_max = PID_LIMIT;
    tree->suspended_ns = clock_suspended_ns();
    tree_anchor_wall(tree);
    tree->incarnations = mmap(NULL, PID_LIMIT * sizeof(*tree->incarnations), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tree->incarnations == MAP_FAILED)
        tree->incarnations = NULL;
    if (options->scope == TREE_OF_MACHINE)
        discover_prepare(tree);
    int code = pid_reader_init(&tree->reader, options->proc_root, options->facts, options->kept_descriptors);
    if (!tree->incarnations || code < 0) {
        code = code < 0 ? code : -ENOMEM;
        (void)error_set(error, code, "cannot follow processes under '%s': %s", options->proc_root,
                        strerror(-code));
        tree_free(tree);
        return NULL;
    }
    tree->options.facts = NULL;
    tree_choose_method(tree);
    if (options->reaps)
        discover_strangers(tree);
    if (options->scope != TREE_OF_COMMAND) {
        code = follow_found(tree);
        if (code < 0) {
            (void)error_set(error, code, "the %s cannot be followed: %s",
                            options->scope == TREE_OF_SESSION ? "session" : "processes", strerror(-code));
            tree_free(tree);
            return NULL;
        }
    }
    tree->options.roots = NULL;
    tree->found = tree->count;
    for (size_t i = 0; i < tree->count; i++) {
        tree->members[i]->was_there = true;
        tree->members[i]->announced_spawn = true; /* it began before, and not here */
    }
    return tree;
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    members_free(tree);
    groups_free(tree);
    if (tree->passed_over)
        (void)munmap(tree->passed_over, PID_LIMIT / 8);
    if (tree->incarnations)
        (void)munmap(tree->incarnations, PID_LIMIT * sizeof(*tree->incarnations));
    free(tree->strangers);
    free(tree->ended);
    free(tree->task_index);
    pid_reader_fini(&tree->reader);
    strbuf_fini(&tree->line);
    free(tree);
}

int tree_add_root(struct tree *tree, pid_t pid)
{
    tree->root = pid;
    struct process *root = members_find(tree, pid);
    if (!root)
        root = members_add(tree, pid, 0);
    if (!root)
        return -ENOMEM;
    if (tree->options.read_io)
        member_read_io(tree, root); /* opened now, it can be read when the command has ended, however soon */
    return 0;
}

bool process_is_zombie(const struct process *process)
{
    return process->stat.state == 'Z' && process->stat.threads <= 1;
}

/* The kernel tells of an end when the process leaves its CPU for the last time: on a busy machine that may be
 * long after somebody has waited for it. */
static bool word_may_come(struct process *process)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!process->missing_ns)
        process->missing_ns = now_ns;
    return now_ns - process->missing_ns < TREE_AWAIT_NS;
}

/* A member that is not there any more: nothing is left of it but, perhaps, the kernel's word on its end. */
static void refresh_gone(struct tree *tree, struct process *process)
{
    if (tree->events_read < EVENTS_PER_PASS)
        tree_read_events(tree);
    if (process->ended)
        return;
    settle_unreaped(tree, process);
    if (tree->method == TREE_BPF && process->announced_spawn && !process->announced_exit &&
        word_may_come(process)) {
        groups_count_missing(tree, process);
        return;
    }
    /* One that was only ever a number in a listing leaves as it came, unannounced. */
    if (process->announced_spawn)
        announce_exit(tree, process, SEEN_SAMPLED, clock_monotonic_ns());
    members_end(tree, process);
}

/* Waited for, and the kernel has not told of its end yet. */
static void refresh_reaped(struct tree *tree, struct process *process)
{
    if (word_may_come(process))
        return;
    announce_exit(tree, process, SEEN_REAPED, clock_monotonic_ns());
    members_end(tree, process);
}

static void refresh_member(struct tree *tree, struct process *process)
{
    if (process->was_reaped) {
        refresh_reaped(tree, process);
        return;
    }
    int code = member_read(tree, process);
    if (code == -ESRCH) {
        refresh_gone(tree, process);
        return;
    }
    announce_pending(tree, process);
    /* Unreadable this time: the ledger keeps what it held of it. */
    if (code == 0)
        member_count(tree, process);
    ledger_add(&tree->ledger.live, process->counted);
    groups_count(tree, process);
    if (!process_is_zombie(process)) {
        tree->living++;
        return;
    }
    tree->zombies++;
    /* Its threads were told to have ended; that it was the last of them is seen only now. */
    if (process->has_last_status)
        announce_exit(tree, process, SEEN_EVENT, clock_monotonic_ns());
}

void tree_refresh(struct tree *tree)
{
    tree->suspended_ns = clock_suspended_ns();
    if (tree->options.scope == TREE_OF_MACHINE)
        tree_follow_wall(tree);
    tree_read_events(tree);
    bool list = tree->method == TREE_LISTINGS;
    bool scan = tree->method == TREE_SCAN || tree->scan_once || discover_is_due(tree);
    tree->scan_once = false;
    tree->living = tree->zombies = 0;
    tree->events_read = 0;
    tree->ledger.live = (struct ledger_sum){0};
    groups_begin_pass(tree);
    tasks_read(tree);
    /* Listings and scans add to the list while it is walked: children come after their parents, and are read
     * after them. Processes that events add meanwhile are left to the next pass: a storm of them has no end.
     */
    size_t end = tree->count;
    for (size_t i = 0;; i++) {
        /* Only once it is known who has ended: a reused pid must lend its children to nobody. */
        if (i == end && scan) {
            discover_by_scan(tree);
            if (tree->method == TREE_BPF)
                (void)follow_all(tree, tree->source, i, discover_by_scan);
            scan = false;
            end = tree->count;
        }
        if (i == end && list && tree->options.reaps)
            discover_orphans(tree);
        if (list)
            end = tree->count;
        if (i == end)
            break;
        struct process *process = tree->members[i];
        if (!process->ended)
            refresh_member(tree, process);
        if (list && !process->ended)
            discover_children(tree, process);
    }
    ledger_publish(&tree->ledger);
    groups_publish(tree);
    members_sweep(tree);
}

unsigned tree_command_alive(struct tree *tree)
{
    unsigned alive = 0;

    tree_refresh(tree);
    for (size_t i = 0; i < tree->count; i++)
        alive += tree->members[i]->of_command && !tree->members[i]->was_reaped &&
                 !tree->members[i]->missing_ns && !process_is_zombie(tree->members[i]);
    return alive;
}

void tree_ignore(struct tree *tree, pid_t pid)
{
    (void)add_stranger(tree, pid, false);
}

void tree_unignore(struct tree *tree, pid_t pid)
{
    tree_read_events(tree); /* what was told of it is passed over while it is still known as none of ours */
    (void)forget_stranger(tree, pid);
}

bool tree_has_strangers(const struct tree *tree)
{
    return tree->stranger_count > 0;
}

void tree_before_reap(struct tree *tree, pid_t pid)
{
    char text[256];
    struct pid_dir dir;

    tree->last_pid = 0;
    if (!tree->options.read_io || is_stranger(tree, pid))
        return;
    /* Its io file is there until it is reaped; after that only what reached storage is told (wait4), and what
     * passed through read and write would be lost in our own counters. A zombie's files belong to root: an
     * ordinary user can only read it through a descriptor from before. */
    struct process *process = members_find(tree, pid);
    bool known = process && process->dir.kept[PID_FILE_IO] >= 0;
    pid_dir_init(&dir, pid);
    ssize_t length =
        pid_dir_read(known ? &process->dir : &dir, &tree->reader, PID_FILE_IO, known, text, sizeof(text));
    if (length > 0 && pid_io_parse(text, (size_t)length, &tree->last_io) == 0) {
        tree->last_pid = pid;
        tree->has_io = true;
    } else {
        tree->has_children_io = own_io_of_children(&tree->children_io, &tree->children_io_threads) == 0;
    }
    pid_dir_close(&dir, &tree->reader);
}

/* What the process that was just reaped had read and written; NULL: not known. */
static const struct pid_io *io_of_reaped(struct tree *tree, const struct process *process)
{
    struct pid_io after;
    unsigned threads;

    if (!tree->options.read_io)
        return NULL;
    if (tree->last_pid)
        return &tree->last_io;
    if (tree->has_children_io && own_io_of_children(&after, &threads) == 0 &&
        threads == tree->children_io_threads) {
        tree->last_io = pid_io_minus(&after, &tree->children_io);
        tree->has_io = true;
        return &tree->last_io;
    }
    tree->io_missed = true;
    return process && process->has_io ? &process->io : NULL; /* the last that was seen of it */
}

void tree_reap(struct tree *tree, pid_t pid, int wait_status, const struct rusage *usage)
{
    uint64_t now_ns = clock_monotonic_ns();

    tree_read_events(tree); /* the dead one's own events come first */
    if (forget_stranger(tree, pid))
        return;
    struct process *process = members_find(tree, pid);
    if (!process)
        process = members_add(tree, pid, 0);
    ledger_reap(&tree->ledger, usage, io_of_reaped(tree, process));
    tree->last_pid = 0;
    if (!process)
        return;
    if (!process->has_status)
        process->wait_status = wait_status;
    process->has_status = true;
    announce_spawn(tree, process, 0, SEEN_REAPED, now_ns);
    if (tree->method == TREE_BPF && !process->announced_exit) {
        process->was_reaped = true; /* what it had used is told any moment */
        process->fresh = false;
        return;
    }
    announce_exit(tree, process, SEEN_REAPED, now_ns);
    members_end(tree, process);
    members_sweep(tree);
}

static bool send_signal(struct tree *tree, struct process *process, int signal)
{
    pid_t pid = process->subject.id;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    process->signal_refused = false;
    if (fd < 0 && errno != ENOSYS)
        return false;
    /* The descriptor is taken before identity is checked: from here on a reused pid cannot be hit. */
    int code = member_read(tree, process);
    if (code == 0 &&
        (fd < 0 ? kill(pid, signal) : (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0)) < 0)
        code = -errno;
    if (fd >= 0)
        (void)close(fd);
    process->signal_refused = code == -EPERM;
    return code == 0;
}

unsigned tree_signal(struct tree *tree, int signal)
{
    unsigned reached = 0;

    tree_refresh(tree);
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (process->of_command && !process->was_reaped && !process_is_zombie(process) &&
            send_signal(tree, process, signal))
            reached++;
    }
    return reached;
}

struct process *tree_find(const struct tree *tree, pid_t pid)
{
    return members_find(tree, pid);
}

struct process *tree_take_in(struct tree *tree, pid_t pid)
{
    tree_read_events(tree);
    struct process *process = members_find(tree, pid);
    bool is_new = !process;
    size_t from = tree->count;
    if (is_new && !(process = discover_one(tree, pid)))
        return NULL;
    if (is_new && tree->method == TREE_BPF)
        (void)follow_all(tree, tree->source, from, discover_by_scan);
    process->by_tasks = false; /* as it is now, not as the latest pass saw it */
    if (member_read(tree, process) == 0)
        return process;
    /* One that was known leaves with the next pass, which tells of its end. */
    if (is_new) {
        members_end(tree, process);
        members_sweep(tree);
    }
    return NULL;
}

size_t tree_count(const struct tree *tree)
{
    return tree->count;
}

struct process *tree_process(const struct tree *tree, size_t index)
{
    return tree->members[index];
}

unsigned tree_living(const struct tree *tree)
{
    return tree->living;
}

unsigned tree_zombies(const struct tree *tree)
{
    return tree->zombies;
}

const struct ledger *tree_ledger(const struct tree *tree)
{
    return &tree->ledger;
}

bool tree_note_hwm(struct tree *tree, struct process *process, uint64_t bytes)
{
    if (!bytes) /* before Linux 6.16 it is gone when the process ends */
        return false;
    /* The mark only grows, and is another one after exec: one that differs from the first was set since. */
    if (process->was_there && !process->hwm_is_ours) {
        process->hwm_is_ours = process->hwm_before && bytes != process->hwm_before;
        if (!process->hwm_before)
            process->hwm_before = bytes;
        if (!process->hwm_is_ours)
            return false;
    }
    if (bytes > tree->ledger.hwm_bytes)
        tree->ledger.hwm_bytes = bytes;
    return true;
}

void tree_note_resident(struct tree *tree, const struct process *process, uint64_t bytes)
{
    if (process->was_there && process->hwm_before && !process->hwm_is_ours && bytes > tree->ledger.hwm_bytes)
        tree->ledger.hwm_bytes = bytes;
}

bool tree_has_io(const struct tree *tree)
{
    return tree->has_io;
}

bool tree_io_missed(const struct tree *tree)
{
    return tree->io_missed;
}

void tree_settle(struct tree *tree)
{
    ledger_settle(&tree->ledger);
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (process->was_reaped || process->missing_ns) {
            announce_exit(tree, process, process->was_reaped ? SEEN_REAPED : SEEN_SAMPLED,
                          clock_monotonic_ns());
            members_end(tree, process);
            continue;
        }
        announce_pending(tree, process);
        announce_spared(tree, process);
        /* Nobody will reap it while we look: that it has ended is said now. */
        if (tree->options.scope == TREE_OF_ROOTS && process_is_zombie(process))
            announce_exit(tree, process, SEEN_SAMPLED, clock_monotonic_ns());
    }
    members_sweep(tree);
}

/* Nobody could end unseen: each was told of, and what those had used that nobody inherits is known. */
static bool books_are_whole(const struct tree *tree)
{
    if (tree->options.reaps)
        return true;
    return tree->options.scope == TREE_OF_ROOTS && !tree->ended_unread &&
           (tree->options.alone || (tree->told_from_start && tree_events_lost(tree) == 0));
}

const struct note *tree_cpu_missing(struct tree *tree)
{
    if (!books_are_whole(tree))
        return &note_ended_unseen;
    if (tree->dropped_children && tree->options.reaps)
        return &note_ignored_sigchld;
    if (tree->ledger.dropped_cpu_seconds <= 0)
        return NULL;
    tree->cpu_missing = note_dropped_by_kernel(tree->ledger.dropped_cpu_seconds, tree->cpu_missing_text);
    return &tree->cpu_missing;
}

uint64_t tree_spawned(const struct tree *tree)
{
    return tree->spawned;
}

uint64_t tree_exited(const struct tree *tree)
{
    return tree->exited;
}

uint64_t tree_killed(const struct tree *tree)
{
    return tree->killed;
}

uint64_t tree_events_lost(const struct tree *tree)
{
    return tree->events_lost + (tree->source ? lifecycle_lost(tree->source) : 0);
}

bool tree_counts_all(const struct tree *tree)
{
    return tree->told_from_start && tree_events_lost(tree) == 0 && tree->options.scope != TREE_OF_SESSION;
}

enum tree_method tree_method(const struct tree *tree)
{
    return tree->method;
}

const char *tree_method_name(enum tree_method method)
{
    static const char *const names[] = {[TREE_BPF] = "bpf",
                                        [TREE_CONNECTOR] = "connector",
                                        [TREE_LISTINGS] = "listings",
                                        [TREE_SCAN] = "scan"};
    return names[method];
}

const char *tree_method_reason(const struct tree *tree)
{
    return tree->source ? NULL : tree->options.why_no_source;
}

size_t tree_found(const struct tree *tree)
{
    return tree->found;
}

bool tree_root_status(const struct tree *tree, int *wait_status)
{
    *wait_status = tree->root_status;
    return tree->has_root_status;
}

uint64_t tree_root_end_ns(const struct tree *tree)
{
    return tree->root_end_ns;
}

bool tree_root_was_oom_killed(const struct tree *tree)
{
    return tree->root_oom;
}

const struct event_sender *tree_root_killer(const struct tree *tree)
{
    return tree->has_root_killer ? &tree->root_killer : NULL;
}

struct pid_reader *tree_reader(struct tree *tree)
{
    return &tree->reader;
}
