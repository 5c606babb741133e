#include "tree/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/connector.h"
#include "probe/own_io.h"
#include "tree/members.h"

/* Linux' own upper bound on pids (PID_MAX_LIMIT): a count for each is virtual until a pid is seen. */
#define PID_LIMIT ((size_t)4 * 1024 * 1024)
/* Events are read within a fraction of a second. */
#define EVENT_AGE_LIMIT_NS (60 * NS_PER_SECOND)

static void tree_choose_method(struct tree *tree)
{
    struct metron_error error = {0};

    tree->connector_fd = -1;
    if (tree->options.connector)
        tree->connector_fd = connector_open(&error);
    else
        (void)error_set(&error, -ECANCELED, "switched off");
    if (tree->connector_fd >= 0) {
        tree->method = TREE_CONNECTOR;
        return;
    }
    (void)snprintf(tree->connector_reason, sizeof(tree->connector_reason), "%s", error.message);
    /* A session's orphans leave our sight (their new parent is not ours): only a scan finds them again. */
    tree->method = tree->reader.has_children_files && !tree->options.session ? TREE_LISTINGS : TREE_SCAN;
}

struct tree *tree_new(const struct tree_options *options, struct metron_error *error)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    if (!tree) {
        (void)error_set(error, -ENOMEM, "no memory to follow processes");
        return NULL;
    }
    tree->options = *options;
    tree->connector_fd = -1;
    tree->self = getpid();
    tree->pid_max = PID_LIMIT;
    tree->wall_at_start = clock_wall();
    tree->monotonic_at_start_ns = clock_monotonic_ns();
    tree->suspended_ns = tree->suspended_at_start_ns = clock_suspended_ns();
    tree->incarnations = mmap(NULL, PID_LIMIT * sizeof(*tree->incarnations), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tree->incarnations == MAP_FAILED)
        tree->incarnations = NULL;
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
    if (options->session)
        discover_by_scan(tree);
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
    if (tree->connector_fd >= 0)
        connector_close(tree->connector_fd);
    if (tree->incarnations)
        (void)munmap(tree->incarnations, PID_LIMIT * sizeof(*tree->incarnations));
    free(tree->strangers);
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

/* The member that forked, or NULL: one that has ended forks no more, its pid is somebody else's by now. */
static struct process *forking_member(const struct tree *tree, pid_t pid)
{
    struct process *process = members_find(tree, pid);
    return process && !process->announced_exit ? process : NULL;
}

static void on_fork(struct tree *tree, const struct connector_event *event)
{
    struct process *process = members_find(tree, event->tgid);

    if (event->pid != event->tgid) {
        if (process)
            process->event_threads++;
        return;
    }
    if (process && process->announced_exit) {
        members_end(tree, process); /* the pid is in use again, whoever has it */
        process = NULL;
    }
    struct process *parent = forking_member(tree, event->parent_tgid);
    /* Our own child is the command, or a process it cloned as our child (CLONE_PARENT): both belong. */
    bool of_us = event->parent_tgid == tree->self && (tree->options.reaps || event->pid == tree->root);
    if ((!parent && !of_us) || is_stranger(tree, event->pid))
        return;
    if (!process)
        process = members_add(tree, event->pid, event->stamp_ns);
    if (!process)
        return;
    members_set_birth(tree, process, event->stamp_ns);
    process->told_of_birth = true;
    if (parent)
        parent->has_children = true;
    process->of_command = tree->options.reaps || event->pid == tree->root || (parent && parent->of_command);
    announce_spawn(tree, process, event->parent_tgid, SEEN_EVENT, event->stamp_ns);
}

static void on_exit_event(struct tree *tree, const struct connector_event *event)
{
    struct process *process = members_find(tree, event->tgid);

    /* A main thread may leave long before the others: the process ends with its last thread, which takes the
     * exit code with it. Where threads may have begun before we listened, only its own stat can tell. */
    if (!process || !process->told_of_birth || process->event_threads == 0 || --process->event_threads > 0)
        return;
    process->wait_status = event->wait_status;
    process->has_status = true;
    announce_exit(tree, process, SEEN_EVENT, event->stamp_ns);
}

static void visit_event(void *context, const struct connector_event *told)
{
    struct tree *tree = context;
    struct connector_event copy = *told;
    const struct connector_event *event = &copy;
    uint64_t now_ns = clock_monotonic_ns();

    /* The kernel's stamp is of the initial time namespace; in another one our clock is not that one. */
    if (copy.stamp_ns > now_ns || now_ns - copy.stamp_ns > EVENT_AGE_LIMIT_NS)
        copy.stamp_ns = now_ns;

    switch (event->what) {
    case CONNECTOR_FORK:
        on_fork(tree, event);
        break;
    case CONNECTOR_EXEC: {
        struct process *process = members_find(tree, event->tgid);
        if (process)
            process->image = 0; /* read the command line anew */
        break;
    }
    case CONNECTOR_EXIT:
        on_exit_event(tree, event);
        break;
    }
}

int tree_events_fd(const struct tree *tree)
{
    return tree->connector_fd;
}

void tree_read_events(struct tree *tree)
{
    bool lost = false;
    int code;

    if (tree->connector_fd < 0)
        return;
    do {
        code = connector_read(tree->connector_fd, visit_event, tree);
        if (code == -ENOBUFS) {
            tree->events_lost++;
            lost = true;
        }
    } while (code > 0 || code == -ENOBUFS);
    if (!lost)
        return;
    /* The loss is told before what had been queued: only now is nothing known any more of who has which
     * threads. */
    tree->scan_once = true;
    for (size_t i = 0; i < tree->count; i++)
        tree->members[i]->told_of_birth = false;
}

bool process_is_zombie(const struct process *process)
{
    return process->stat.state == 'Z' && process->stat.threads <= 1;
}

/* The books of a member that nobody reaps for us: kept if no other member inherits them. */
static void settle_unreaped(struct tree *tree, const struct process *process)
{
    if (!tree->options.reaps && !process->has_heir)
        ledger_add(&tree->ledger.gone, process->counted);
}

static void refresh_member(struct tree *tree, struct process *process)
{
    int code = member_read(tree, process);

    if (code == -ESRCH) {
        if (process->passes > 0)
            settle_unreaped(tree, process);
        /* One that was only ever a number in a listing leaves as it came, unannounced. */
        if (process->announced_spawn)
            announce_exit(tree, process, SEEN_SAMPLED, clock_monotonic_ns());
        members_end(tree, process);
        return;
    }
    /* Unreadable this time: the ledger keeps what it held of it. */
    if (code == 0)
        process->counted = ledger_minus(
            ledger_of_process(&process->stat, process->cpu_ns, process->has_io ? &process->io : NULL),
            process->baseline);
    ledger_add(&tree->ledger.live, process->counted);
    if (process_is_zombie(process))
        tree->zombies++;
    else
        tree->living++;
}

void tree_refresh(struct tree *tree)
{
    tree->suspended_ns = clock_suspended_ns();
    tree_read_events(tree);
    bool list = tree->method == TREE_LISTINGS;
    bool scan = tree->method == TREE_SCAN || tree->scan_once;
    tree->scan_once = false;
    tree->living = tree->zombies = 0;
    tree->ledger.live = (struct ledger_sum){0};
    /* The list grows while it is walked: children come after their parents, and are read after them. */
    for (size_t i = 0;; i++) {
        /* Only once it is known who has ended: a reused pid must lend its children to nobody. Both may add:
         * then the walk goes on. */
        if (i == tree->count && scan) {
            discover_by_scan(tree);
            scan = false;
        }
        if (i == tree->count && list && tree->options.reaps)
            discover_orphans(tree);
        if (i == tree->count)
            break;
        struct process *process = tree->members[i];
        if (!process->ended)
            refresh_member(tree, process);
        if (list && !process->ended)
            discover_children(tree, process);
    }
    ledger_publish(&tree->ledger);
    members_sweep(tree);
}

unsigned tree_command_alive(struct tree *tree)
{
    unsigned alive = 0;

    tree_refresh(tree);
    for (size_t i = 0; i < tree->count; i++)
        alive += tree->members[i]->of_command && !process_is_zombie(tree->members[i]);
    return alive;
}

void tree_ignore(struct tree *tree, pid_t pid)
{
    (void)add_stranger(tree, pid);
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
    process->wait_status = wait_status;
    process->has_status = true;
    announce_spawn(tree, process, 0, SEEN_REAPED, now_ns);
    announce_exit(tree, process, SEEN_REAPED, now_ns);
    members_end(tree, process);
    members_sweep(tree);
}

static bool send_signal(struct tree *tree, struct process *process, int signal)
{
    pid_t pid = process->subject.id;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return errno == ENOSYS && member_read(tree, process) == 0 && kill(pid, signal) == 0;
    /* The descriptor is taken before identity is checked: from here on a reused pid cannot be hit. */
    bool sent = member_read(tree, process) == 0 && syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    (void)close(fd);
    return sent;
}

unsigned tree_signal(struct tree *tree, int signal)
{
    unsigned reached = 0;

    tree_refresh(tree);
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (process->of_command && !process_is_zombie(process) && send_signal(tree, process, signal))
            reached++;
    }
    return reached;
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

void tree_note_hwm(struct tree *tree, uint64_t bytes)
{
    if (bytes > tree->ledger.hwm_bytes)
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
}

const char *tree_cpu_missing(struct tree *tree)
{
    if (!tree->options.reaps)
        return "not conserved: what ended unseen and was not inherited is missing";
    if (tree->dropped_children)
        return "not conserved: a process ignored SIGCHLD, and the kernel drops the CPU of its children";
    if (tree->ledger.dropped_cpu_seconds > 0) {
        (void)snprintf(
            tree->cpu_missing, sizeof(tree->cpu_missing),
            "not conserved: at least %.2f s of CPU were dropped by the kernel with the processes that "
            "had used them",
            tree->ledger.dropped_cpu_seconds);
        return tree->cpu_missing;
    }
    return NULL;
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
    return tree->events_lost;
}

bool tree_counts_all(const struct tree *tree)
{
    return tree->method == TREE_CONNECTOR && tree->events_lost == 0 && !tree->options.session;
}

enum tree_method tree_method(const struct tree *tree)
{
    return tree->method;
}

const char *tree_method_reason(const struct tree *tree)
{
    return tree->method == TREE_CONNECTOR ? NULL : tree->connector_reason;
}

struct pid_reader *tree_reader(struct tree *tree)
{
    return &tree->reader;
}
