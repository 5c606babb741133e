/*
 * How a run ended, as data, and the same as a sentence for people (`cause`). Programs go by the data: nobody
 * reads the sentence.
 *
 * The sentence is made here and not in view/, because info.json holds it, and the rooms that write that file
 * (loop/, store/) may not include view/.
 */
#ifndef METRON_SCHEMA_OUTCOME_H
#define METRON_SCHEMA_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/json.h"
#include "schema/event.h"

/* How the command itself ended. */
enum outcome_kind {
    OUTCOME_UNKNOWN,
    OUTCOME_EXITED,
    OUTCOME_SIGNALED,
    OUTCOME_OOM,        /* killed by the OOM killer */
    OUTCOME_TIME_LIMIT, /* killed, or failed after a signal to end, when the time of its batch job was up */
    OUTCOME_NOT_STARTED,
    OUTCOME_STILL_RUNNING, /* metron could not end it */
};

/* Whom the OOM killer killed. */
enum oom_victim {
    OOM_VICTIM_NONE,
    OOM_VICTIM_COMMAND,
    OOM_VICTIM_PROCESSES, /* others of the target */
    OOM_VICTIM_GROUP,     /* somebody in its control group, which may be none of the target */
};

/* Whose memory limit the OOM killer acted on. */
enum limit_of { LIMIT_OF_UNKNOWN, LIMIT_OF_OWN, LIMIT_OF_PARENT, LIMIT_OF_ANCESTOR, LIMIT_OF_HOST };

enum received_from {
    FROM_NOBODY,   /* nothing was received */
    FROM_PROCESS,  /* of this pid namespace */
    FROM_OUTSIDE,  /* a process outside metron's pid namespace: the kernel does not say which */
    FROM_TERMINAL, /* a key */
    FROM_KERNEL,   /* an alarm, a hangup */
    FROM_LIBRARY,  /* no signal: the program that started the run through libmetron asked for its end */
};

/* A signal or a request that metron received: it ended the command with it, or passed the signal on. */
struct received {
    enum received_from from;
    int signal; /* 0: none */
    struct timespec wall;
    pid_t pid; /* FROM_PROCESS, as are the next two */
    uid_t uid;
    char command[64]; /* name of that process, as the kernel has it; "": it had ended */
    bool after_exit;  /* the command itself had ended already: metron ended what it had left running */
};

/* When the time of the batch job is up that a run belongs to. */
struct time_limit {
    const char *source; /* the variable that says so; NULL: none does */
    double end_wall;    /* unix seconds */
};

/* Texts are borrowed; NULL: absent. */
struct outcome {
    enum outcome_kind kind;
    int exit_code; /* what metron exits with; attached: what the only root ended with */
    int signal;    /* 0: none */
    bool core_dumped;
    bool ended_by_metron, not_permitted; /* metron ended it; metron was not permitted to */
    const struct event_sender *sender;   /* of the signal; NULL: not known, or of no interest */
    const struct received *received;     /* NULL: the command did not end because of one */
    struct time_limit time_limit;        /* reached; source NULL: not, or not known */
    const char *error;                   /* why it was not started */

    enum oom_victim oom_victim;
    uint64_t oom_kills;
    bool oom_likely; /* only likely: the kill was counted for the whole machine */
    enum limit_of limit_of;
    uint64_t limit_bytes;    /* 0: not known */
    const char *limit_group; /* its path, where it is not the target's own */
};

/* The key `outcome` and its object; nothing where the kind is unknown. */
void outcome_json(struct json *json, const struct outcome *outcome);
/* NULL: the kind is unknown, or there is no memory. */
const char *outcome_cause(struct arena *arena, const struct outcome *outcome);

#endif
