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

#include "base/arena.h"
#include "base/json.h"
#include "schema/event.h"

/* How the command itself ended. */
enum outcome_kind {
    OUTCOME_UNKNOWN,
    OUTCOME_EXITED,
    OUTCOME_SIGNALED,
    OUTCOME_OOM, /* killed by the OOM killer */
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

/* Texts are borrowed; NULL: absent. */
struct outcome {
    enum outcome_kind kind;
    int exit_code; /* what metron exits with; attached: what the only root ended with */
    int signal;    /* 0: none */
    bool core_dumped;
    bool ended_by_metron, not_permitted; /* metron ended it; metron was not permitted to */
    const struct event_sender *sender;   /* of the signal; NULL: not known, or of no interest */
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
