/*
 * Groups: parts of a target that have books of their own. The daemon's jobs and sheets are groups.
 *
 * A process is in one group or in none. A group may stand in another (a sheet in its job): whoever is in it
 * is in that one as well. Who belongs is decided when a process is first seen, by its parent or by whoever
 * asks for it to join, and kept through setsid and re-parenting until it ends or another group asks for it.
 *
 * The books are the ledger's (tree/ledger.h): the living, and those that ended and that nobody in the group
 * inherits. What a process had used before it joined is not the group's. Where the kernel told of every end,
 * CPU is also known without inheritance, from what each process used itself, and that is taken.
 */
#ifndef METRON_TREE_GROUPS_H
#define METRON_TREE_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/job.h"
#include "schema/snapshot.h"
#include "tree/ledger.h"

struct tree;
struct process;

struct group {
    struct group *above; /* it stands in this one; NULL: in none */
    char *job_id;        /* owned */
    bool has_sheet;
    int64_t sheet_num;
    void *owner;      /* whoever made it may remember something here */
    void *cgroup;     /* for daemon/jobs: its own control group; NULL: none */
    uint64_t serial;  /* never given twice */
    uint64_t made_ns; /* monotonic */

    /* As of the last pass, or since it was made. */
    struct ledger ledger;
    unsigned living;  /* members that are no zombies */
    uint64_t spawned; /* members that were born in it */
    uint64_t exited;
    uint64_t joined; /* members it ever had */
    uint64_t came;   /* of those, that had no ancestor in it: each may have brought descendants */
    uint64_t root;   /* serial of the process that was named last: all its descendants are members; 0: none */
    bool is_found;   /* a member was found by its variables or control group: others may have been missed */
    uint64_t told_cpu_ns; /* what ended members had used themselves, as far as the kernel told */
    uint64_t own_cpu_ns;  /* what living ones have used themselves */
    bool missed;          /* a member may have exited without a report of what it had used, */
    bool unread;          /* nor was its clock read after its end */
    bool measured;        /* what a member had used was read or reported since it joined; */
    bool has_io;          /* its I/O too */
    uint64_t events_lost; /* when it was made */

    unsigned references; /* members, groups below, and one until it is closed */
    bool closed;
    struct group *next;
};

/* A new group; NULL for want of memory. It lives until it is closed and its last member has gone. */
struct group *group_new(struct tree *tree, const char *job_id, struct group *above);
struct group *group_new_sheet(struct tree *tree, struct group *job, int64_t sheet_num);
/* Nobody will ask about it any more. */
void group_close(struct tree *tree, struct group *group);

/* The member with this pid and all its living descendants join, but for those that are in a group below this
 * one already, or descend from the root of another one beside it: a sheet within this sheet. What they have
 * used until now is not the group's. Never within a pass. Returns how many joined; -ESRCH: there is no such
 * member. */
int group_adopt(struct tree *tree, struct group *group, pid_t pid, enum membership membership);
/* One process joins, as it was last read; what it has used by now stays with the group it was in. If it was
 * in none and is younger than the group, all it has used is the group's. */
void group_join(struct tree *tree, struct group *group, struct process *process, enum membership membership);
bool group_is_within(const struct group *group, const struct group *above);

/* What it has used, by every method that tells; peaks are the caller's, who sees every instant. */
void group_usage(const struct tree *tree, const struct group *group, struct job_usage *usage);

/* ---- inside tree/ ---- */

/* A process was born, or was first read: it is where its parent is. */
void group_inherit(struct tree *tree, struct process *process, const struct process *parent, bool told);
void groups_begin_pass(struct tree *tree);
/* It was counted in this pass. */
void groups_count(const struct tree *tree, struct process *process);
/* It is gone, and what it used is told any moment: until then what is known of it counts. */
void groups_count_missing(const struct tree *tree, struct process *process);
void groups_publish(struct tree *tree);
/* It was found to be gone; `heir`: the member that has inherited what it used, NULL: none. What no member of
 * a group inherits is kept there. */
void groups_settle(struct process *process, struct process *heir);
/* More than that was told of it since. */
void groups_add_gone(struct process *process, struct ledger_sum more);
/* The kernel told what it had used when it ended. */
void groups_told(const struct tree *tree, struct process *process, uint64_t cpu_ns, bool is_whole);
/* It leaves the tree. */
void groups_leave(struct tree *tree, struct process *process);
void groups_free(struct tree *tree);
/* Whose it is, for an event about it. */
void group_label(const struct process *process, struct event *event);

#endif
