/*
 * The last events, as the socket gives them: JSON texts in a ring.
 */
#ifndef METRON_DAEMON_RECENT_EVENTS_H
#define METRON_DAEMON_RECENT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define RECENT_EVENTS_MAX 200

struct recent_events {
    char *texts[RECENT_EVENTS_MAX]; /* owned */
    uint64_t count;                 /* ever added */
};

/* Copies the text. For want of memory it is passed over. */
void recent_events_add(struct recent_events *recent, const char *text, size_t length);
/* The last `limit` of them, newest last: one array; of one job unless it is NULL. */
void recent_events_json(const struct recent_events *recent, size_t limit, const char *job_id,
                        struct json *json);
void recent_events_fini(struct recent_events *recent);

#endif
