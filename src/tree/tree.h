/*
 * Who belongs to a target.
 *
 * A member is identified by (pid, start time). Members stand in the order in which they were found, parents
 * before their children, and a pass reads them in that order: the ledger depends on it. Members are learnt
 * from
 *  - the process connector, where it answers: every fork, exec and exit as it happens, nothing is listed;
 *  - else the children files of every member, and our own children (orphans that we adopted), at every pass;
 *  - a scan of /proc: for a session, after lost events, and where the kernel has no children files.
 * A child absent from a listing is not dead: only its own stat decides. Whether the target has ended is
 * decided here and nowhere else. A process that vanishes or cannot be read costs its own reading and nothing
 * more.
 */
#ifndef METRON_TREE_TREE_H
#define METRON_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#define HASH_NONFATAL_OOM 1 /* uthash would exit() */
#include <uthash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "probe/pid_dir.h"
#include "probe/pid_stat.h"
#include "schema/event.h"
#include "schema/subject.h"
#include "tree/ledger.h"

struct process {
    struct subject subject; /* subject.id is the pid */
    uint64_t start_ticks;   /* 0 until stat was read */
    char start_time[CLOCK_ISO_SIZE];
    char ppid_text[12];
    struct pid_dir dir;
    struct pid_stat stat;       /* as of the last pass */
    uint64_t stat_ns;           /* monotonic, when the clock was read (or stat, without clock) */
    uint64_t cpu_ns;            /* its CPU clock; 0: not read */
    bool was_there;             /* it lived before we began to follow: what it had used by then is not ours */
    bool has_heir;              /* its parent is a member and inherits its times, as of the last pass */
    struct ledger_sum baseline; /* what it had used before we began to follow; zero for those born since */
    struct ledger_sum counted;  /* what the ledger holds of it now */
    uint64_t image;             /* changes at exec: what the command line was read for */
    char *command;              /* masked, one line; owned; NULL if not read */
    unsigned passes;            /* in how many passes it was read */
    bool has_children;          /* it was seen to be a parent */
    struct switches {           /* context switches: a thread that ends takes its own count with it */
        uint64_t last, ended;
    } voluntary, involuntary;
    bool fresh;             /* it was read in the latest pass: what is said above is of now */
    bool told_of_birth;     /* by the connector: then event_threads counts all its threads */
    unsigned event_threads; /* threads begun and not ended, as the connector told */
    bool of_command;        /* the command or a descendant of it, not just a member of its session */
    bool ended;             /* gone: leaves at the end of the pass */
    bool announced_spawn, announced_exit;
    int wait_status;
    bool has_status;
    UT_hash_handle hh; /* by subject.id, while it lives */
    struct process *next_free;
};

enum tree_method { TREE_CONNECTOR, TREE_LISTINGS, TREE_SCAN };

struct tree_options {
    const char *proc_root;            /* "/proc" */
    const struct kernel_facts *facts; /* of that root; borrowed while the tree is made */
    int kept_descriptors;             /* how many files may stay open */
    uint64_t start_ns;                /* members born before it have a baseline */
    bool reaps;                       /* we are their sub-reaper */
    pid_t session;                    /* follow this session as well; 0: none */
    bool connector;                   /* use it where it answers */
    bool read_clock;                  /* CPU clocks are wanted */
    bool read_commands;               /* command lines are wanted */
    bool mask_secrets;
    void (*on_event)(void *context, const struct event *event);   /* may be NULL */
    void (*on_end)(void *context, const struct process *process); /* a member leaves; may be NULL */
    void *context;
};

struct tree;

struct tree *tree_new(const struct tree_options *options, struct metron_error *error);
void tree_free(struct tree *tree);

/* The command was started: the first member. */
int tree_add_root(struct tree *tree, pid_t pid);
/* Descriptor to poll for kernel events, -1 without. Read them with tree_read_events, often enough. */
int tree_events_fd(const struct tree *tree);
void tree_read_events(struct tree *tree);
/* One pass: finds new members, reads every member, drops the gone, closes the books. */
void tree_refresh(struct tree *tree);
/* We reaped a child. Never call it inside a pass. */
void tree_reap(struct tree *tree, pid_t pid, int wait_status, const struct rusage *usage);
/* Sends a signal to the command and every living descendant of it; returns how many were reached. */
unsigned tree_signal(struct tree *tree, int signal);

/* Looks again: how many of the command and its descendants are alive. 0: the command's tree is empty. */
unsigned tree_command_alive(struct tree *tree);
/* Whether this process had children before the command: they are nobody's business here. */
bool tree_has_strangers(const struct tree *tree);

size_t tree_count(const struct tree *tree); /* members, zombies included, as of the last pass */
struct process *tree_process(const struct tree *tree, size_t index);
/* Ended and not waited for. A process whose main thread alone has left shows as Z too, but lives on. */
bool process_is_zombie(const struct process *process);
unsigned tree_living(const struct tree *tree); /* members that are not zombies, as of the last pass */
unsigned tree_zombies(const struct tree *tree);
const struct ledger *tree_ledger(const struct tree *tree);
void tree_note_hwm(struct tree *tree, uint64_t bytes); /* a high-water mark was read */
/* A parent was seen that ignores SIGCHLD: the kernel drops its children's times. */
void tree_note_dropped_children(struct tree *tree);
/* What the ledger is known to miss; NULL: nothing. Static. */
const char *tree_cpu_missing(const struct tree *tree);
uint64_t tree_spawned(const struct tree *tree);
uint64_t tree_exited(const struct tree *tree);
uint64_t tree_events_lost(const struct tree *tree); /* times the kernel dropped events for us */
bool tree_counts_all(const struct tree *tree);      /* every spawn and exit was told, none lost */
enum tree_method tree_method(const struct tree *tree);
const char *tree_method_reason(const struct tree *tree); /* why not the connector; NULL if it is in force */
struct pid_reader *tree_reader(struct tree *tree);       /* the shared reader, for collectors */

#endif
