/*
 * Finding members that nobody told us of.
 *
 * A children file costs what the tree costs; a scan of /proc costs what the machine costs and is used only
 * where there is no other way. A listing may miss living children while their siblings die: so nothing is
 * ever removed here.
 */
#include "tree/members.h"

#include <errno.h>
#include <stdlib.h>

#include "probe/proc_scan.h"

static void visit_child(void *context, pid_t pid)
{
    struct tree *tree = context;
    if (pid != tree->self && !is_stranger(tree, pid) && !members_find(tree, pid))
        (void)members_add(tree, pid, 0);
}

void discover_children(struct tree *tree, struct process *process)
{
    uint32_t threads = process->passes > 0 ? process->stat.threads : UINT32_MAX;

    (void)pid_dir_children(&process->dir, &tree->reader, threads, process->passes > 1, visit_child, tree);
}

bool add_stranger(struct tree *tree, pid_t pid, bool is_descendant)
{
    struct stranger *strangers = reallocarray(tree->strangers, tree->stranger_count + 1, sizeof(*strangers));

    if (!strangers)
        return false;
    strangers[tree->stranger_count++] = (struct stranger){pid, is_descendant};
    tree->strangers = strangers;
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

static void visit_scanned(void *context, pid_t pid)
{
    struct scan *scan = context;
    struct tree *tree = scan->tree;
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    struct pid_dir dir;

    if (pid == tree->self || is_stranger(tree, pid))
        return;
    pid_dir_init(&dir, pid);
    ssize_t length = pid_dir_read(&dir, &tree->reader, PID_FILE_STAT, false, text, sizeof(text));
    pid_dir_close(&dir, &tree->reader);
    if (length < 0 || pid_stat_parse(text, (size_t)length, &stat) < 0)
        return;
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity ? scan->capacity * 2 : 256;
        struct scanned *items = realloc(scan->items, capacity * sizeof(*items));
        if (!items)
            return;
        scan->items = items;
        scan->capacity = capacity;
    }
    bool ours = (tree->options.reaps && stat.ppid == tree->self) ||
                (tree->options.session && stat.session == tree->options.session) ||
                members_find(tree, pid) != NULL;
    scan->items[scan->count++] = (struct scanned){pid, stat.ppid, stat.start_ticks, ours};
}

static int compare_age(const void *left, const void *right)
{
    const struct scanned *a = left, *b = right;
    if (a->start_ticks != b->start_ticks)
        return a->start_ticks < b->start_ticks ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

void discover_by_scan(struct tree *tree)
{
    struct scan scan = {.tree = tree};

    (void)proc_scan(&tree->reader, visit_scanned, &scan);
    /* Oldest first: a parent stands before its children, so one walk spreads membership to all generations.
     */
    if (scan.count)
        qsort(scan.items, scan.count, sizeof(*scan.items), compare_age);
    for (size_t i = 0; i < scan.count; i++) {
        const struct scanned *item = &scan.items[i];
        if (!members_find(tree, item->pid) && (item->wanted || members_find(tree, item->ppid)))
            (void)members_add(tree, item->pid, 0);
    }
    free(scan.items);
}
