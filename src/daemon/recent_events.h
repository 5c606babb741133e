/*
 * The last events, as the socket gives them: JSON texts in a ring. An event has the members that the columns
 * of the history have, and all else in `details`.
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

/* An event as the socket gives it, of one whose members are all on one level. */
void recent_event_json(struct json *json, const char *text, size_t length);

/* Copies the text. For want of memory it is passed over. */
void recent_events_add(struct recent_events *recent, const char *text, size_t length);
/* The last `limit` of them, newest last: one array; of one job unless it is NULL. */
void recent_events_json(const struct recent_events *recent, size_t limit, const char *job_id,
                        struct json *json);
void recent_events_fini(struct recent_events *recent);

#endif
