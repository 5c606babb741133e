/*
 * Inside daemon/: what jobs are made of. jobs.c begins and ends them, jobs_join.c finds
 * their processes, jobs_use.c looks at what they use.
 */
#ifndef METRON_DAEMON_JOBS_INNER_H
#define METRON_DAEMON_JOBS_INNER_H

#define HASH_NONFATAL_OOM 1 /* uthash would exit() */
#include <uthash.h>

#include "base/strbuf.h"
#include "daemon/jobs.h"
#include "tree/groups.h"

/* A job or a sheet, and who belongs to it. */
struct part {
    struct job_usage before; /* what it had used before: in another try, or under another daemon */
    struct group *group;     /* NULL: it has ended */
    pid_t awaited;           /* announced, and not seen yet; 0: none */
    unsigned await_ticks;
    bool changed;       /* to be told to the store */
    uint64_t rss_bytes; /* of this tick: the sum over its members, */
    bool has_rss;       /* if any was read */
    uint64_t hwm_bytes; /* the largest of one of them; 0: not read */
};

struct entry {
    struct job job; /* its texts are owned */
    struct part part;
    struct part *sheets; /* beside job.sheets */
    size_t sheet_capacity;
    uint64_t told_ns;  /* when it was last told to the store */
    uint64_t finished; /* in which order jobs were finished; 0: it runs */
    uint64_t group_serial;
    struct entry *next_replaced;
    UT_hash_handle hh;
};

struct jobs {
    struct tree *tree;
    struct entry *by_id;
    uint64_t finished;
    unsigned running, remembered, active_sheets;
    unsigned untold;         /* finished since the last tick */
    struct entry *replaced;  /* of these, those whose names are used again */
    uint64_t look_again_ns;  /* monotonic: not before */
    struct strbuf variables; /* scratch */
};

/* What it has used until now. */
void part_take(struct jobs *jobs, const struct part *part, struct job_usage *usage);
/* The process with this pid and its descendants are asked to join. It may be too young to be known, and is
 * awaited then. `start_ticks`: which process it is, 0 until it is seen. */
void part_adopt(struct jobs *jobs, struct part *part, pid_t pid, uint64_t *start_ticks);
void part_await(struct jobs *jobs, struct part *part, uint64_t *start_ticks);
/* Those that inherited a job's name and ran before it was announced. */
void jobs_claim_all(struct jobs *jobs);

struct entry *entry_find(const struct jobs *jobs, const char *job_id);
/* A job that runs, with nobody in it; NULL for want of memory. */
struct entry *entry_new(struct jobs *jobs, const struct job_start *start);
int job_check_name(const char *job_id, struct metron_error *error);
/* The sheet of this number, made if it is not there yet; one more try of it. 0 or a negative errno. */
int sheet_find(struct entry *entry, int64_t number, size_t *place);
int sheet_begin(struct jobs *jobs, struct entry *entry, size_t place, pid_t pid);
/* The store was told of those whose names are used again. */
void jobs_forget_replaced(struct jobs *jobs);

#endif
