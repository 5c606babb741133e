/*
 * Finding members that nobody told us of.
 *
 * A children file costs what the tree costs; a scan of /proc costs what the machine costs and is used only
 * where there is no other way. A listing may miss living children while their siblings die: so nothing is
 * ever removed here.
 */
#include "tree/members.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/pid/dir.h"
#include "probe/pid/files.h"
#include "probe/proc_scan.h"

/* Where events tell of everybody, a scan now and then finds whom they do not: processes that change to our
 * user, and those that the kernel starts. */
#define SCAN_EVERY_PASSES 10
/* So often everybody is looked at anew who was passed over: the pid may be another's, or the user changed. */
#define FORGET_EVERY_SCANS 16

static void visit_child(void *context, pid_t pid)
{
    struct tree *tree = context;
    if (pid != tree->self && !is_stranger(tree, pid) && !members_find(tree, pid))
        (void)members_add(tree, pid, 0);
}

void discover_children(struct tree *tree, struct process *process)
{
    uint32_t threads = process->passes > 0 ? process->stat.threads : UINT32_MAX;

    if (tree->options.alone)
        return;
    (void)pid_dir_children(&process->dir, &tree->reader, threads, process->passes > 1, visit_child, tree);
}

bool add_stranger(struct tree *tree, pid_t pid, bool is_descendant)
{
    if (ARRAY_RESERVE(tree->strangers, tree->stranger_capacity, tree->stranger_count + 1) < 0)
        return false;
    tree->strangers[tree->stranger_count++] = (struct stranger){pid, is_descendant};
    return true;
}

static void visit_stranger(void *context, pid_t pid)
{
    (void)add_stranger(context, pid, false);
}

/* A shell that runs `exec metron run X > >(tee log)` leaves us a child that is not the command's. */
void discover_strangers(struct tree *tree)
{
    struct pid_dir self;
    pid_dir_init(&self, tree->self);
    (void)pid_dir_children(&self, &tree->reader, UINT32_MAX, false, visit_stranger, tree);
    pid_dir_close(&self, &tree->reader);
}

bool is_stranger(const struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->stranger_count; i++)
        if (tree->strangers[i].pid == pid)
            return true;
    return false;
}

bool forget_stranger(struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->stranger_count; i++)
        if (tree->strangers[i].pid == pid) {
            tree->strangers[i] = tree->strangers[--tree->stranger_count];
            return true;
        }
    return false;
}

void forget_descendant(struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->stranger_count; i++)
        if (tree->strangers[i].pid == pid && tree->strangers[i].is_descendant) {
            tree->strangers[i] = tree->strangers[--tree->stranger_count];
            return;
        }
}

void discover_orphans(struct tree *tree)
{
    /* Any of our threads may be the one that adopts. */
    struct pid_dir self;
    pid_dir_init(&self, tree->self);
    (void)pid_dir_children(&self, &tree->reader, UINT32_MAX, false, visit_child, tree);
    pid_dir_close(&self, &tree->reader);
}

struct scanned {
    pid_t pid, ppid;
    uint64_t start_ticks;
    bool wanted;
};

struct scan {
    struct tree *tree;
    struct scanned *items;
    size_t count, capacity;
};

void discover_prepare(struct tree *tree)
{
    tree->passed_over = mmap(NULL, tree->pid_max / 8, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tree->passed_over == MAP_FAILED)
        tree->passed_over = NULL;
}

bool discover_is_due(const struct tree *tree)
{
    return tree->options.scope == TREE_OF_MACHINE &&
           (!tree->options.all_users || tree->passes % SCAN_EVERY_PASSES == 0);
}

/* Whether a process is a user's, and of the right one. Who is not is remembered for a while. */
static bool is_to_be_watched(struct tree *tree, pid_t pid)
{
    const size_t place = (size_t)pid / 64;
    const uint64_t bit = UINT64_C(1) << ((unsigned)pid % 64);
    struct pid_stat stat = {0};
    struct pid_identity identity;
    struct pid_dir dir;
    char text[2048];

    if (pid <= 0 || (size_t)pid >= tree->pid_max)
        return false;
    /* Cheap to ask, and it changes when a process becomes ours. Of one that hides from us root is the owner.
     */
    bool is_ours = !tree->options.all_users && pid_dir_owner(&tree->reader, pid) == geteuid();
    if (!is_ours && tree->passed_over && (tree->passed_over[place] & bit))
        return false;
    pid_dir_init(&dir, pid);
    ssize_t length = pid_dir_read(&dir, &tree->reader, PID_FILE_STATUS, false, text, sizeof(text));
    int code = length < 0 ? (int)length : pid_identity_parse(text, (size_t)length, &identity);
    /* One that is exiting has no memory either. */
    if (code == 0 && !identity.has_memory) {
        length = pid_dir_read(&dir, &tree->reader, PID_FILE_STAT, false, text, sizeof(text));
        code = length < 0 ? (int)length : pid_stat_parse(text, (size_t)length, &stat);
    }
    pid_dir_close(&dir, &tree->reader);
    if (code < 0)
        return false;
    if (!(stat.flags & PID_KERNEL_THREAD) && (tree->options.all_users || identity.uid == getuid()))
        return true;
    if (tree->passed_over)
        tree->passed_over[place] |= bit;
    return false;
}

struct process *discover_one(struct tree *tree, pid_t pid)
{
    if (is_stranger(tree, pid) || !is_to_be_watched(tree, pid))
        return NULL;
    return members_add(tree, pid, 0);
}

static void visit_scanned(void *context, pid_t pid)
{
    struct scan *scan = context;
    struct tree *tree = scan->tree;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    struct pid_dir dir;

    if ((pid == tree->self && tree->options.scope != TREE_OF_MACHINE) || is_stranger(tree, pid))
        return;
    if (tree->options.scope == TREE_OF_MACHINE && (members_find(tree, pid) || !is_to_be_watched(tree, pid)))
        return;
    pid_dir_init(&dir, pid);
    ssize_t length = pid_dir_read(&dir, &tree->reader, PID_FILE_STAT, false, text, sizeof(text));
    pid_dir_close(&dir, &tree->reader);
    if (length < 0 || pid_stat_parse(text, (size_t)length, &stat) < 0)
        return;
    if (ARRAY_RESERVE(scan->items, scan->capacity, scan->count + 1) < 0)
        return;
    bool ours = (tree->options.reaps && stat.ppid == tree->self) ||
                (tree->options.scope == TREE_OF_SESSION && stat.session == tree->options.session) ||
                tree->options.scope == TREE_OF_MACHINE || members_find(tree, pid) != NULL;
    scan->items[scan->count++] = (struct scanned){pid, stat.ppid, stat.start_ticks, ours};
}

static int compare_age(const void *left, const void *right)
{
    const struct scanned *a = left, *b = right;
    if (a->start_ticks != b->start_ticks)
        return a->start_ticks < b->start_ticks ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Those of them who belong; returns how many were added. */
static size_t add_members(struct tree *tree, const struct scanned *items, size_t count)
{
    size_t added = 0;

    for (size_t i = 0; i < count; i++)
        if (!members_find(tree, items[i].pid) && (items[i].wanted || members_find(tree, items[i].ppid)))
            added += members_add(tree, items[i].pid, 0) != NULL;
    return added;
}

/* Oldest first: a parent stands before its children, so one walk spreads membership to all generations. Of
 * those who began in one tick a child may stand first, where pids began anew. */
static void add_by_age(struct tree *tree, struct scanned *items, size_t count)
{
    size_t end;

    if (count)
        qsort(items, count, sizeof(*items), compare_age);
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && items[end].start_ticks == items[i].start_ticks; end++)
            ;
        while (add_members(tree, items + i, end - i) > 0 && end > i + 1)
            ;
    }
}

void discover_by_scan(struct tree *tree)
{
    struct scan scan = {.tree = tree};

    if (tree->options.alone)
        return;
    if (tree->passed_over && ++tree->scans % FORGET_EVERY_SCANS == 0)
        (void)madvise(tree->passed_over, tree->pid_max / 8, MADV_DONTNEED);
    (void)proc_scan(&tree->reader, visit_scanned, &scan);
    add_by_age(tree, scan.items, scan.count);
    free(scan.items);
}
