/*
 * Who belongs to a target.
 *
 * A member is identified by (pid, start time). Members stand in the order in which they were found, parents
 * before their children, and a pass reads them in that order: the ledger depends on it. Members are learnt
 * from
 *  - the process connector, where it answers: every fork, exec and exit as it happens, nothing is listed;
 *  - else the children files of every member, and our own children (orphans that we adopted), at every pass;
 *  - a scan of /proc: for a session, once for processes that run already, after lost events, and where the
 *    kernel has no children files.
 * A child absent from a listing is not dead: only its own stat decides. Whether the target has ended is
 * decided here and nowhere else. A process that vanishes or cannot be read costs its own reading and nothing
 * more.
 *
 * A process that has not run has not changed itself: where its CPU clock, read anew in every pass, has not
 * moved, its files are not read again, but for its resident memory (collect/proc.c). Most processes of a
 * large tree sleep, and cost one or two short calls each. What others can do to a sleeping process is looked
 * after: the end of its parent at once; what is rare (limits set from outside, pages written into it) when
 * its files are read again, after TREE_LOOK_AGAIN_NS at the latest.
 */
#ifndef METRON_TREE_TREE_H
#define METRON_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/strbuf.h"
#include "probe/lifecycle.h"
#include "probe/pid/dir.h"
#include "probe/pid/stat.h"
#include "schema/event.h"
#include "schema/note.h"
#include "schema/snapshot.h"
#include "schema/subject.h"
#include "tree/ledger.h"

struct group;

/* What one reading of a process found in its files. Each reading begins with everything absent (member_take);
 * the reader of a value marks it. Kept for as long as the process does not run. */
struct process_files {
    uint64_t rss_bytes, hwm_bytes, swap_bytes, voluntary_switches, involuntary_switches, fd_limit;
    bool has_rss, has_hwm, has_swap, has_switches, has_fd_limit;
    bool were_read; /* by collect/proc.c, in this reading */
};

/* Its open descriptors, which it cannot change without running. */
struct process_fds {
    uint64_t count;
    bool is_known;
    uint64_t cpu_ns; /* its CPU clock when they were counted; 0: they were not */
};

struct process {
    struct subject subject; /* subject.id is the pid */
    uint64_t start_ticks;   /* 0 until stat was read */
    char start_time[CLOCK_ISO_SIZE];
    char ppid_text[12];
    struct pid_dir dir;
    struct pid_stat stat; /* as of the last pass */
    uint64_t stat_ns;     /* monotonic, when the clock was read (or stat, without clock) */
    uint64_t cpu_ns;      /* its CPU clock; 0: not read */
    struct pid_io io;     /* as of the last pass that could read it */
    bool has_io;
    bool was_there;             /* it lived before we began to follow: what it had used by then is not ours */
    bool has_heir;              /* its parent is a member and inherits its times, as of the last pass */
    struct ledger_sum baseline; /* what it had used before we began to follow; zero for those born since */
    struct ledger_sum counted;  /* what the ledger holds of it now */
    bool is_settled;            /* it is gone, and the books are closed over it: */
    bool was_inherited;         /* another member has what it used */
    uint64_t inherited_pass;    /* the pass in which its stat was last read, */
    uint64_t inherited_ticks;   /* what it had inherited since the previous pass, */
    uint64_t claimed_ticks;     /* how much of that is known from which process, */
    uint64_t inherited_before;  /* and what it has inherited in all */
    pid_t heir_above;           /* who inherited from its parent, found to be gone */
    uint64_t heir_above_pass;   /* in this pass */
    bool has_last_use;          /* the kernel told what it had used when it ended: nothing of it is missing */
    uint64_t hwm_before;        /* was there: its high-water mark at the first look; 0: not looked yet */
    bool hwm_is_ours;           /* it is another one by now: the peak is of our time */
    uint64_t image;             /* changes at exec: what the command line was read for */
    uint64_t execs;             /* that the kernel reported */
    char *command;              /* masked, one line; owned; NULL if not read */
    bool has_arguments;         /* the command is not only a name in brackets */
    bool command_is_truncated;  /* it is cut, and ends with … */
    unsigned passes;            /* in how many passes it was read */
    uint64_t looked_ns;         /* monotonic, when stat was read: it has not run since */
    bool look_again; /* something outside has changed it: read them in the next pass all the same */
    struct process_files files;    /* the rest of its files, as of the last reading */
    struct process_fds fds;        /* for collect/proc.c */
    uint64_t last_cpu_ns, last_ns; /* when it last read them: the CPU clock, and monotonic; 0: never */
    bool has_children;             /* it was seen to be a parent */
    struct switches {              /* context switches: a thread that ends takes its own count with it */
        uint64_t last, ended;
    } voluntary, involuntary;
    bool fresh;             /* it was read in the latest pass: what is said above is of now */
    bool told_of_birth;     /* by the connector: then event_threads counts all its threads */
    unsigned event_threads; /* threads begun and not ended, as the connector told */
    bool has_last_status;   /* of one whose birth was not told: how the latest of its threads ended */
    int last_status;
    uint64_t kernel_id;    /* of its system calls; 0: none */
    bool command_is_told;  /* by the kernel, of the program it has: no need to read it */
    bool was_reaped;       /* waited for: only the kernel's word on its end is still to come */
    uint64_t missing_ns;   /* monotonic: it is gone since, and its end was not told; 0: it is there */
    bool by_tasks;         /* the latest pass read it in one go with the others (tree/tasks.c), */
    size_t task_order;     /* in this place, */
    size_t task_slot;      /* its threads added up in that one; both from 1 */
    bool spawn_is_pending; /* its birth is said once its command line is known: */
    enum event_seen spawn_seen;
    pid_t forker;
    uint64_t forked_ns;
    bool use_is_told; /* what it had used when it ended: */
    struct event_use use;
    struct deadly_signal { /* one that ends it, unless it is blocked; number 0: none */
        int number;
        pid_t sender;
        uint64_t stamp_ns;
        char name[16];
        bool was_said; /* as a signal that did not end it, since it was blocked */
    } deadly;
    struct group *group; /* the part of the target that it is in (tree/groups.h); NULL: none */
    enum membership membership;
    uint64_t names_no_job;            /* for daemon/jobs: the image whose variables were looked at in vain */
    uint64_t listed;                  /* likewise: the listing of a control group that had it last */
    struct ledger_sum group_baseline; /* what it had used before it joined, */
    uint64_t group_baseline_ns;       /* and that of its own CPU clock */
    uint64_t joined_ns;               /* monotonic, when it joined or was born */
    uint64_t group_own_ns;            /* what the groups' own_cpu_ns holds of it, */
    uint64_t group_own_pass;          /* as of this pass */
    const struct group *heir_group;   /* settled: from this one on upwards somebody inherits what it used */
    bool adopting;                    /* group_adopt: it joins, and so do its children */
    bool not_awaited; /* the command has exited, and nobody waits for this one's exit (tree_awaits_exits) */
    bool of_command;  /* the command or a descendant of it, not just a member of its session */
    bool ended;       /* gone: leaves at the end of the pass */
    bool announced_spawn, announced_exit;
    int wait_status;
    bool has_status;
    bool signal_refused; /* the last tree_signal() was not permitted: it runs as another user */
    UT_hash_handle hh;   /* by subject.id, while it lives */
    struct process *next_free;
};

/* Who belongs to the target. */
enum tree_scope {
    TREE_OF_COMMAND, /* a command that is started (tree_add_root) and its descendants */
    TREE_OF_SESSION, /* everybody in a session, a command among them */
    TREE_OF_ROOTS,   /* processes that run already, with or without their descendants */
    TREE_OF_MACHINE, /* everybody of a user, or of the machine; threads of the kernel are nobody */
};

/* A process that runs already; the pid alone may be another's by now. */
struct tree_root {
    pid_t pid;
    uint64_t start_ticks; /* field 22 of its stat */
};

#define TREE_LOOK_AGAIN_NS (5 * NS_PER_SECOND)
/* So long one that is gone stays a member, if the kernel's word on its end is still to come. */
#define TREE_AWAIT_NS (NS_PER_SECOND / 2)

/* How members are learnt: told by the kernel (our programs in it, or its process connector), or looked for.
 */
enum tree_method { TREE_BPF, TREE_CONNECTOR, TREE_LISTINGS, TREE_SCAN };

/* What was told of a process when it ended. */
struct ended {
    struct subject subject;
    struct lifecycle_use use;
    uint64_t max_rss_bytes; /* 0: not told */
    double lifetime_seconds;
};

/* Of all that ended. */
struct ended_sum {
    struct lifecycle_use use;
    uint64_t max_rss_bytes; /* the largest */
    uint64_t processes;
    bool is_whole; /* everybody's end was told, from the start */
};

struct secrets;

/* The longest command line that can be had. */
#define TREE_COMMAND_BYTES 16383

struct tree_options {
    const char *proc_root;            /* "/proc" */
    const struct kernel_facts *facts; /* of that root; borrowed while the tree is made */
    int kept_descriptors;             /* how many files may stay open */
    uint64_t start_ns;                /* members born before it have a baseline */
    enum tree_scope scope;
    bool reaps;                    /* we are their sub-reaper */
    pid_t session;                 /* of TREE_OF_SESSION */
    const struct tree_root *roots; /* of TREE_OF_ROOTS; borrowed while the tree is made */
    size_t root_count;
    bool all_users; /* TREE_OF_MACHINE: not only ours */
    bool alone;     /* TREE_OF_ROOTS: without their descendants, and without what those leave to them */
    struct lifecycle *source;  /* what the kernel tells; NULL: it is not asked. Borrowed */
    const char *why_no_source; /* text that outlives the tree; NULL with a source */
    bool read_clock;           /* CPU clocks are wanted */
    bool read_io;              /* I/O counters are wanted */
    size_t command_bytes;      /* command lines are wanted, and cut at so many bytes; 0: they are not */
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    void (*on_event)(void *context, const struct event *event); /* may be NULL */
    void (*on_end)(void *context,
                   const struct process *process); /* a member leaves, its group still known; may be NULL */
    /* It was read for the first time, or has another program since, and is in no sheet: may be NULL. */
    void (*on_found)(void *context, struct process *process);
    void *context;
};

struct tree;

struct tree *tree_new(const struct tree_options *options, struct metron_error *error);
void tree_free(struct tree *tree);

/* The command was started: the first member. */
int tree_add_root(struct tree *tree, pid_t pid);
/* Takes in what the kernel has told since. To be called often enough (lifecycle_is_patient). */
void tree_read_events(struct tree *tree);
/* Listens to another source from now on; nobody gets lost in between. The one before is read to its end and
 * not used any more. 0, or a negative errno: the new one could not take over, all stays as it was. */
int tree_listen(struct tree *tree, struct lifecycle *source);
/* Processes may be read in one go from now on, where that is cheaper. Borrowed. */
void tree_use_tasks(struct tree *tree, struct bpf_programs *programs);
/* How many passes read processes one by one, and how many in one go. */
void tree_passes(const struct tree *tree, uint64_t *one_by_one, uint64_t *in_one_go);
/* The last process has ended: waits a moment for what the kernel has yet to tell of those that did. */
void tree_drain(struct tree *tree);
/* If this member has exited a moment ago, waits until the kernel reports it: a quarter of a second at most,
 * and no longer than is left of `patience_ns`. */
void tree_await_exit(struct tree *tree, pid_t pid, uint64_t *patience_ns);
/* One pass: finds new members, reads every member, drops the gone, closes the books. */
void tree_refresh(struct tree *tree);
/* A child of ours has ended and is about to be reaped: what must be read of it before that. */
void tree_before_reap(struct tree *tree, pid_t pid);
/* We reaped a child. Never call it inside a pass. */
void tree_reap(struct tree *tree, pid_t pid, int wait_status, const struct rusage *usage);
/* The command has exited: whether a descendant of it is on its way out, because it was killed or has begun to
 * exit, or whether its exit is still to be reported. It did not outlive the command. `is_first`: of several
 * calls. */
bool tree_awaits_exits(struct tree *tree, bool is_first);
/* Sends a signal to the command and every living descendant of it; returns how many were reached. Those that
 * may not be signalled have `signal_refused`. */
unsigned tree_signal(struct tree *tree, int signal);

/* Looks again: how many of the command and its descendants are alive. 0: the command's tree is empty. */
unsigned tree_command_alive(struct tree *tree);
/* A program that we run in order to measure is no part of the target: from its start until it was waited for.
 */
void tree_ignore(struct tree *tree, pid_t pid);
void tree_unignore(struct tree *tree, pid_t pid);
/* Whether this process had children before the command: they are nobody's business here. */
bool tree_has_strangers(const struct tree *tree);

struct process *tree_find(const struct tree *tree, pid_t pid); /* the living member; NULL: none */
/* TREE_OF_MACHINE: the same, and looks for it if it is too young to be known. */
struct process *tree_take_in(struct tree *tree, pid_t pid);
size_t tree_count(const struct tree *tree); /* members, zombies included, as of the last pass */
struct process *tree_process(const struct tree *tree, size_t index);
/* Ended and not waited for. A process whose main thread alone has left shows as Z too, but lives on. */
bool process_is_zombie(const struct process *process);
unsigned tree_living(const struct tree *tree); /* members that are not zombies, as of the last pass */
unsigned tree_zombies(const struct tree *tree);
const struct ledger *tree_ledger(const struct tree *tree);
/* The high-water mark of a process was read. False: it may be from before we began to follow, and says
 * nothing. */
bool tree_note_hwm(struct tree *tree, struct process *process, uint64_t bytes);
/* What it holds now was read: of one whose high-water mark says nothing, that is what is known. */
void tree_note_resident(struct tree *tree, const struct process *process, uint64_t bytes);
bool tree_io_missed(const struct tree *tree); /* what somebody that ended had read and written is not known */
bool tree_has_io(const struct tree *tree);    /* I/O counters of somebody were read */
/* The last pass has been made: what is missing in the ledger now is lost. */
void tree_settle(struct tree *tree);
/* What the ledger is known to miss; NULL: nothing. Borrowed. */
const struct note *tree_cpu_missing(struct tree *tree);
/* Those whose end was told, with what they had used, since tree_forget_ended; and all of them together. */
size_t tree_ended_count(const struct tree *tree);
const struct ended *tree_ended(const struct tree *tree, size_t index);
void tree_forget_ended(struct tree *tree);
struct ended_sum tree_ended_sum(const struct tree *tree);
/* CPU seconds that living members have used themselves, as of the last pass. */
double tree_living_cpu_seconds(const struct tree *tree);
uint64_t tree_spawned(const struct tree *tree);
uint64_t tree_exited(const struct tree *tree);
uint64_t tree_killed(const struct tree *tree);      /* of those, known to have died of SIGKILL */
uint64_t tree_events_lost(const struct tree *tree); /* that the kernel had no room for */
bool tree_counts_all(const struct tree *tree);      /* every spawn and exit was told, none lost */
enum tree_method tree_method(const struct tree *tree);
const char *tree_method_name(enum tree_method method);   /* "bpf", "connector", "listings", "scan" */
const char *tree_method_reason(const struct tree *tree); /* why the kernel does not tell; NULL if it does */
size_t tree_found(const struct tree *tree);              /* how many ran already when we began */
/* When the only root ended (monotonic), as the kernel reported it; 0: it did not. */
uint64_t tree_root_end_ns(const struct tree *tree);
bool tree_root_was_oom_killed(const struct tree *tree); /* the kernel told so */
/* TREE_OF_ROOTS with one root: how it ended. False: it lives, or the kernel did not tell. */
bool tree_root_status(const struct tree *tree, int *wait_status);
/* Who sent the signal that ended the command; NULL: not told. Its name is borrowed from the tree. */
const struct event_sender *tree_root_killer(const struct tree *tree);
struct pid_reader *tree_reader(struct tree *tree); /* the shared reader, for collectors */

#endif
