/*
 * The event bus: what happens is published once and reaches everybody who wants to hear of it.
 *
 * Each subscriber has a queue of its own, bounded in messages and in bytes. One that does not keep up loses
 * its oldest messages, is told how many, and delays nobody. The text of a message is kept once, however many
 * queues it is in. Of what soon grows old, such as snapshots, only the latest is kept, beside the queue.
 *
 * All of it belongs to one thread, the loop's.
 */
#ifndef METRON_PUBLISH_BUS_H
#define METRON_PUBLISH_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

#define BUS_SUBSCRIBERS_MAX   1024
#define BUS_PATTERNS_MAX      64
#define BUS_PATTERN_BYTES_MAX 255
#define BUS_QUEUE_COUNT       1000
#define BUS_QUEUE_BYTES       ((size_t)1024 * 1024)

struct bus;
struct bus_subscriber;

/* What somebody wants to hear of. Everything is copied. */
struct bus_subscription {
    const char *const
        *events;        /* names such as sheet.started; sheet.* is all that begin with "sheet."; * is all */
    size_t event_count; /* 0: all */
    const char *job_id; /* only what is of this job; NULL: all */
    size_t queue_count, queue_bytes; /* 0: the defaults */
    bool without_latest;             /* nothing of bus_publish_latest */
    /* There is something to take, where before there was nothing: a message, or the number of those lost. May
     * publish, subscribe, take and unsubscribe. May be NULL. */
    void (*wake)(void *context);
    void *context;
};

struct bus_message {
    const char *event, *job_id; /* job_id: NULL if it is of none */
    const char *text;           /* NUL-terminated */
    size_t length;
};

struct bus *bus_new(void); /* NULL for want of memory */
/* With all its subscribers. Not from within a wake. Messages that were taken stay until they are released. */
void bus_free(struct bus *bus);

/* -EINVAL: a pattern is malformed; -E2BIG: too many or too long; -EAGAIN: too many subscribers; -ENOMEM. It
 * hears of what is published after this. */
int bus_subscribe(struct bus *bus, const struct bus_subscription *subscription, struct bus_subscriber **out,
                  struct metron_error *error);
void bus_unsubscribe(struct bus_subscriber *subscriber); /* NULL is nothing; its wake is not called again */

/* Whether anybody would hear of it: else its text need not be made. */
bool bus_is_wanted(const struct bus *bus, const char *event, const char *job_id);
/* `text`: the params of the notification, as JSON; copied once. Returns how many got it, or -ENOMEM. */
int bus_publish(struct bus *bus, const char *event, const char *job_id, const char *text, size_t length);

/* Writes the params for those who asked for this job; NULL: for those who asked for all. */
typedef void bus_write(void *context, const char *job_id, struct strbuf *text);
/* Publishes what takes the place of the one before, whatever its size: who has not taken that one yet gets
 * this one in its stead, and loses nothing else for it. Everybody who wants `event` gets it, whichever job
 * they asked for: `write` is called once for each such job. Without memory for it there is none this time. */
void bus_publish_latest(struct bus *bus, const char *event, bus_write *write, void *context);

/* The oldest message, to be released after use; NULL: none. `dropped`: messages lost before it, since it was
 * last asked; may be more than 0 where there is no message. */
const struct bus_message *bus_take(struct bus_subscriber *subscriber, uint64_t *dropped);
void bus_message_release(const struct bus_message *message); /* NULL is nothing */
size_t bus_subscriber_count(const struct bus *bus);

#endif
