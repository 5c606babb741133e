/*
 * Inside tree/: the list of members and what happens to one of them. Not for other rooms.
 */
#ifndef METRON_TREE_MEMBERS_H
#define METRON_TREE_MEMBERS_H

#include <signal.h>

#include "tree/tree.h"

/* In the mask of ignored signals: the kernel then reaps the children itself, and drops their times. */
#define SIGCHLD_BIT (UINT64_C(1) << (SIGCHLD - 1))

/* A child of ours that is none of the target's; or a descendant of one, which the kernel told of. */
struct stranger {
    pid_t pid;
    bool is_descendant;
};

struct tree {
    struct tree_options options;
    struct pid_reader reader;
    struct process **members; /* in the order found: parents first */
    size_t count, capacity;
    struct process *by_pid;     /* the living ones, hashed */
    struct process *free_list;  /* ended ones, their memory used again, */
    size_t free_count;          /* a few of them */
    uint16_t *incarnations;     /* how often each pid was seen in this run; pages touched on demand */
    struct stranger *strangers; /* none of the target's */
    size_t stranger_count, stranger_capacity;
    struct group *groups; /* parts with books of their own */
    uint64_t next_group;
    uint64_t
        *passed_over; /* a bit per pid: looked at, and nobody (threads of the kernel, others' processes) */
    unsigned scans;
    size_t pid_max;
    uint64_t next_serial;
    pid_t self, root;
    size_t found;                  /* members that were there when we began */
    bool ended_unread;             /* nobody inherits from one that ended, and its last use is not known */
    bool has_root_status;          /* how the only root ended, */
    int root_status;               /* where the kernel told */
    struct lifecycle *source;      /* what the kernel tells; NULL: nothing */
    bool told_from_start;          /* there was one before the command began */
    uint64_t events_lost;          /* by sources before this one */
    uint64_t events_read;          /* since the pass began */
    bool scan_once;                /* events were lost: the next pass scans /proc */
    struct bpf_programs *programs; /* to read processes in one go; NULL: cannot */
    uint64_t passes, task_passes;  /* all, and those that did */
    struct task_index *task_index; /* scratch of it (tasks.c) */
    size_t task_index_capacity, task_slots;
    struct ended *ended; /* told since the last report */
    size_t ended_count, ended_capacity;
    struct ended_sum ended_sum;
    bool ended_missed; /* somebody's end was not told */
    bool root_oom;
    uint64_t root_end_ns; /* 0: not reported */
    bool has_root_killer;
    struct event_sender root_killer;
    char root_killer_name[16];
    enum tree_method method;
    struct ledger ledger;
    bool dropped_children; /* a parent that ignores SIGCHLD was seen */
    bool io_missed;        /* I/O counters of somebody who ended could not be read */
    bool has_io;           /* I/O counters of somebody were read */
    struct note cpu_missing;
    char cpu_missing_text[NOTE_TEXT_SIZE];
    pid_t last_pid; /* about to be reaped, and what its io file said: 0 if it could not be read */
    struct pid_io last_io;
    struct pid_io children_io; /* where that fails: of all that we reaped before it */
    bool has_children_io;
    unsigned children_io_threads; /* of ours, at that time */
    uint64_t spawned, exited, killed;
    unsigned living, zombies;
    struct timespec anchor_wall; /* these two name the same instant */
    uint64_t anchor_ns;
    int64_t suspended_ns, anchor_suspended_ns;
    struct strbuf line; /* scratch */
};

/* The living member with this pid, or NULL. */
struct process *members_find(const struct tree *tree, pid_t pid);
/* Adds a member; its identity is settled when stat is read. `born_ns` 0: not known yet. NULL for want of
 * memory. */
struct process *members_add(struct tree *tree, pid_t pid, uint64_t born_ns);
/* When it was born, as an event told; what is known already stays. */
void members_set_birth(const struct tree *tree, struct process *process, uint64_t born_ns);
/* The member has gone: out of the pid map at once, out of the list when members_sweep is called. */
void members_end(struct tree *tree, struct process *process);
void members_sweep(struct tree *tree);
void members_free(struct tree *tree);

/* Has the source follow every member from this place on, and those that `look` (which drops nobody) finds
 * meanwhile. 0 or a negative errno. */
int follow_all(struct tree *tree, struct lifecycle *source, size_t from, void (*look)(struct tree *tree));
/* A signal that should have ended it did not, or not yet (events.c). */
void announce_spared(struct tree *tree, struct process *process);
/* What is known of it by now is said: its birth, if that is still pending. */
void announce_pending(struct tree *tree, struct process *process);
/* The kernel has told of its end: remembers what it had used (ended.c). */
void ended_add(struct tree *tree, struct process *process, const struct lifecycle_event *event);
/* It has ended, and what it had used was not told. */
void ended_miss(struct tree *tree);

/* Reads all members in one go, if that is cheaper than one by one (tasks.c). */
void tasks_read(struct tree *tree);

/* Sets the program's command line from its arguments, each ended by NUL, masked. `is_truncated`: they are
 * only the beginning of it. */
void member_set_command(struct tree *tree, struct process *process, const char *arguments, size_t length,
                        bool is_truncated);
/* Begins a reading of a member with its stat, and settles its identity: nothing else of it is known yet. 0 or
 * -ESRCH: it is another process. */
int member_take(struct tree *tree, struct process *process, const struct pid_stat *stat, uint64_t cpu_ns,
                uint64_t stamp_ns);

/* Announcements; each once per process. */
void announce_spawn(struct tree *tree, struct process *process, pid_t parent, enum event_seen seen,
                    uint64_t stamp_ns);
void announce_exit(struct tree *tree, struct process *process, enum event_seen seen, uint64_t stamp_ns);

/* Remembers the children that we have now as none of the target's. */
void discover_strangers(struct tree *tree);
bool is_stranger(const struct tree *tree, pid_t pid);
/* One more of them; false for want of memory. */
bool add_stranger(struct tree *tree, pid_t pid, bool is_descendant);
/* The pid is in use again: if a stranger's descendant had it, that one has ended. */
void forget_descendant(struct tree *tree, pid_t pid);
/* It has ended, and its pid may be anybody's: true if it was one. */
bool forget_stranger(struct tree *tree, pid_t pid);

/* Adds one that runs already. NULL for want of memory. */
struct process *members_add_running(struct tree *tree, const struct tree_root *root);
/* It is one of the target's processes, not just a member of the command's session. */
bool member_is_of_command(const struct tree *tree, const struct process *process,
                          const struct process *parent);
/* What the ledger holds of it, as it was last read. */
void member_count(const struct tree *tree, struct process *process);
/* It is gone: what it had used is its heir's, or stays in the books (ended.c). Once for each. */
void settle_unreaped(struct tree *tree, struct process *process);
/* It was read after its exit: those of its children that it had waited for are settled. */
void settle_children(struct tree *tree, struct process *heir);
/* The kernel told what it had used itself when it ended: it is counted to the last (ended.c). */
void count_last_use(struct tree *tree, struct process *process, const struct lifecycle_use *use);

/* Finds members that are not known yet: children of `process`, of ourselves, of everybody (a scan). */
void discover_children(struct tree *tree, struct process *process);
void discover_orphans(struct tree *tree);
void discover_by_scan(struct tree *tree);
/* TREE_OF_MACHINE: gets ready; whether it is time for a scan although events tell; whether this process is
 * one to watch, taken in if it is (else NULL). */
void discover_prepare(struct tree *tree);
bool discover_is_due(const struct tree *tree);
struct process *discover_one(struct tree *tree, pid_t pid);

/* Reads stat (and clock) of a member and settles its identity. 0; -ESRCH: it has gone; another negative
 * errno: it could not be read this time. */
int member_read(struct tree *tree, struct process *process);
/* It may be of a group by what it has inherited: calls on_found, unless it is in a sheet. */
void member_found(struct tree *tree, struct process *process);

/* Its stat as it is now, which is not taken as a reading of the member. 0, or a negative errno; -ESRCH: it is
 * gone, or another process has its pid. */
int member_read_stat(struct tree *tree, struct process *process, struct pid_stat *stat);
/* Looks at its stat alone: it is a zombie, or gone. */
bool member_has_ended(struct tree *tree, struct process *process);
/* Reads again how much it has inherited, and nothing else. 0, or a negative errno; -ESRCH: it is gone. */
int member_read_inherited(struct tree *tree, struct process *process);

/* Its I/O counters; the file stays open, if it may. */
void member_read_io(struct tree *tree, struct process *process);

/* Wall time of a monotonic stamp, whatever steps the wall clock has made since it was looked at. */
struct timespec tree_wall(const struct tree *tree, uint64_t stamp_ns);
/* Looks at the wall clock: as it is now, times are told from now on. */
void tree_anchor_wall(struct tree *tree);
/* The same, if that clock was set meanwhile (a step of NTP's, a virtual machine that was resumed): a daemon
 * lives for months, beside others that tell times by it. A start time that was told stays as it is. */
void tree_follow_wall(struct tree *tree);

#endif
