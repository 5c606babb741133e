/*
 * Inside daemon/jobs/: what jobs are made of. jobs.c begins and ends them, join.c finds their processes,
 * cgroup.c has their control groups, use.c reads what they use, resume.c goes on after a restart, lost.c
 * ends those that nothing is left of.
 */
#ifndef METRON_DAEMON_JOBS_INNER_H
#define METRON_DAEMON_JOBS_INNER_H

#include "base/hash_table.h"
#include "base/strbuf.h"
#include "daemon/jobs/cgroup.h"
#include "daemon/jobs/jobs.h"
#include "tree/groups.h"

/* A job or a sheet, and who belongs to it. */
struct part {
    struct job_usage before;   /* what it had used before: in another try, or under another daemon */
    struct group *group;       /* NULL: it has ended */
    struct job_cgroup *cgroup; /* its own; NULL: none */
    bool unannounced;      /* a sheet that began by itself, with a process that had inherited its number */
    bool has_gap;          /* nobody watched it for a while: who was born then is not in `spawned` */
    bool resumed;          /* it began under another daemon: `before` has a part of this try too */
    bool changed;          /* to be stored */
    bool was_covered;      /* it has ended, and its runner had followed all of it */
    uint64_t rss_bytes;    /* of this tick: the sum over its members, */
    bool has_rss;          /* if any was read */
    uint64_t abandoned_ns; /* monotonic: since then nothing is left of it; 0: something is. lost.c */
    struct timespec abandoned; /* the same by the wall clock, */
    double abandoned_boot;     /* and in seconds since boot */
    uint64_t hwm_bytes;        /* the largest of one of them; 0: not read */
};

/* What a job was like when its PSS was read. */
struct pss_look {
    uint64_t rss_bytes;
    double cpu_seconds; /* of its living members */
    uint64_t joined, exited;
};

/* A sheet that began with a process that had inherited its number. Its group is made as soon as the process
 * is found; the sheet itself once that pass is over (jobs_begin_found). */
struct found_sheet {
    int64_t number;
    struct group *group;
    struct found_sheet *next;
};

struct entry {
    struct job job; /* its texts are owned */
    struct part part;
    struct part *sheets; /* beside job.sheets */
    size_t sheet_capacity, part_capacity;
    struct found_sheet *found;  /* owned */
    uint64_t told_ns;           /* when it was last stored */
    uint64_t finished;          /* in which order jobs were finished; 0: it runs */
    bool restored;              /* from before a restart, and not resumed yet: resume.c */
    struct job_member *members; /* owned; job.members */
    size_t member_capacity;
    uint64_t noted_ns; /* monotonic, when they were noted */
    uint64_t group_serial;
    uint64_t pss_tried_ns; /* monotonic, when a pass for its PSS last began; 0: never */
    struct pss_look pss;   /* the last pass that was not torn */
    struct entry *next_replaced;
    UT_hash_handle hh;
};

struct jobs {
    struct tree *tree;
    struct call_books *books; /* NULL: system calls are not counted */
    struct entry *by_id;
    uint64_t finished;
    unsigned running, remembered, active_sheets;
    bool of_one_user;       /* jobs_note_one_user */
    bool has_found;         /* sheets that are to begin (struct found_sheet) */
    size_t sheet_count;     /* of all of them */
    uint64_t finished_told; /* of those that are finished, the last one that a snapshot has */
    struct entry *replaced; /* those whose names are used again, until the store has taken them */
    unsigned replaced_count;
    uint64_t look_again_ns;     /* monotonic: not before */
    struct job_cgroup *cgroups; /* of all parts */
    unsigned cgroup_count;
    uint64_t listings; /* of their members, so far */
    uint64_t boot;     /* a number for this boot; 0: not known */
    struct strbuf scratch;
};

/* What it has used until now. */
void part_take(struct jobs *jobs, const struct part *part, struct job_usage *usage);
/* Its runner, or another client, has reported what it used; what was seen of it is in `usage` already.
 * `is_again`: of the last of several tries. */
void part_merge(const struct part *part, struct job_usage *usage, const struct job_usage *reported,
                bool is_again);
/* Whether its runner has followed all of it: no process came from elsewhere. */
bool part_is_covered(const struct part *part);
/* It begins now. */
void usage_begin(const struct jobs *jobs, struct job_usage *usage);
/* The process with this pid and its descendants join. False: there is no such process, or it has ended.
 * `start_ticks`: which process it is; 0: it was not seen. */
bool jobs_take_in(struct jobs *jobs, struct group *group, pid_t pid, uint64_t *start_ticks);
/* The control group of `pid` becomes the part's, if it is its alone; else why not is logged. `is_first`: what
 * it has counted is all the part's; else it goes on from `usage`. */
enum own_cgroup part_claim_cgroup(struct jobs *jobs, struct part *part, pid_t pid, bool is_first,
                                  struct job_usage *usage);
/* It has none, or none any more. */
enum own_cgroup part_do_without_cgroup(struct jobs *jobs, struct part *part, struct job_usage *usage);
void part_release_cgroup(struct jobs *jobs, struct part *part);
/* With the usage of a pass: the members of all jobs that run, for a daemon that is started later. */
void jobs_note_members(struct jobs *jobs);
/* Between two passes: those that joined since. */
void entry_note_joined(struct jobs *jobs, struct entry *entry);
void entry_forget_members(struct entry *entry);
/* As the store has them. 0 or -ENOMEM. */
int entry_restore_members(struct entry *entry, const struct job *job);
/* After a pass, of a job from before a restart: adds what its members used meanwhile. */
void entry_resume(struct jobs *jobs, struct entry *entry);
/* Whether the process is a child of the ancestor, or a child's child, and so on. */
bool jobs_descends(struct jobs *jobs, pid_t pid, pid_t ancestor, uint64_t start_ticks);
/* Whether the process or an ancestor of it is in another sheet of the same job, which runs. */
bool jobs_runs_within_sheet(struct jobs *jobs, pid_t pid, const struct group *sheet);
/* The sheets that were announced before the one that they run within: their runners are in it. */
void jobs_note_sheets_within(struct jobs *jobs, struct entry *entry, const struct group *outer);
/* Whether a process that nobody announced may join a job of this user. */
bool jobs_may_join(struct jobs *jobs, const struct process *process, uid_t owner);
/* Those that inherited a job's name and ran before it was announced. */
void jobs_claim_all(struct jobs *jobs);
/* Outside a pass: the sheets begin whose first processes jobs_claim found. */
void jobs_begin_found(struct jobs *jobs);
/* The group that a sheet begins with: that of the processes that were found to be its own, else a new one.
 * NULL: out of memory. */
struct group *sheet_new_group(struct jobs *jobs, struct entry *entry, int64_t number);

struct entry *entry_find(const struct jobs *jobs, const char *job_id);
/* A job that runs, with nobody in it; NULL for want of memory. */
struct entry *entry_new(struct jobs *jobs, const struct job_start *start);
void entry_finish(struct jobs *jobs, struct entry *entry, enum job_status status,
                  const struct job_usage *reported);
/* Those that were finished long ago make room, if the store knows of them. */
void jobs_forget_old(struct jobs *jobs);
int job_check_name(const char *job_id, struct metron_error *error);
/* The sheet of this number, made if it is not there yet; one more try of it. 0 or a negative errno. */
int sheet_find(struct jobs *jobs, struct entry *entry, int64_t number, size_t *place);
/* Where it is; false: there is none yet. */
bool sheet_is_known(const struct entry *entry, int64_t number, size_t *place);
int sheet_begin(struct jobs *jobs, struct entry *entry, size_t place, const struct sheet_start *start);
void sheet_end(struct jobs *jobs, struct entry *entry, size_t place, enum sheet_status status,
               const struct job_usage *reported);
/* What its processes have called; of sheets that have ended too, if that may have changed (calls.c). */
void entry_take_calls(struct jobs *jobs, struct entry *entry, bool of_ended);
void sheet_take_calls(struct jobs *jobs, struct entry *entry, size_t place);
void entry_restore_calls(struct jobs *jobs, struct entry *entry, const struct job *job);
void entry_forget_calls(struct jobs *jobs, const struct entry *entry);

#endif
