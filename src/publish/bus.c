/*
 * The event bus.
 *
 * Publishing has two parts: first the message is put into every queue that it is for, then those who slept
 * are woken. No callback runs during the first part, so that everybody hears everything in the same order,
 * even if a callback publishes in turn. Who unsubscribes while callbacks run is only marked, and freed after
 * the last of them.
 *
 * A queue is a ring that grows up to its limit: most subscribers never have more than a few messages waiting.
 *
 * The latest message (bus_publish_latest) has a place between those of the queue, and its successor takes
 * that place: a subscriber whose queue is never empty gets it all the same.
 */
#include "publish/bus.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#define FIRST_SLOTS 8

/* What bus_take hands out, and how many hold it. The texts follow it in memory. */
struct shared_message {
    struct bus_message public; /* first: the one is found from the other */
    unsigned references;
    char bytes[];
};

struct bus_subscriber {
    struct bus *bus;
    struct bus_subscriber *prev, *next;
    char **events;
    size_t event_count;
    char *job_id;
    size_t queue_count, queue_bytes;
    void (*wake)(void *context);
    void *context;

    struct shared_message **slots;
    size_t slot_count, first, length; /* length messages from slots[first] on */
    size_t bytes;                     /* of their texts */
    uint64_t dropped;                 /* since it was last asked */
    bool without_latest;
    struct shared_message *latest; /* NULL: none waits */
    size_t before_latest;          /* so many messages of the queue come first */
    uint64_t latest_round;         /* of the bus, in which it was given one */
    bool wake_due, gone;
};

struct bus {
    struct bus_subscriber *subscribers; /* the eldest first */
    size_t count;                       /* without those that are gone */
    unsigned waking;                    /* how many bus_publish are calling back */
    uint64_t round;                     /* of bus_publish_latest */
    bool sweep_due;                     /* some are gone, and still in the list */
};

struct bus *bus_new(void)
{
    return calloc(1, sizeof(struct bus));
}

/* -- Messages -- */

static struct shared_message *message_new(const char *event, const char *job_id, const char *text,
                                          size_t length)
{
    size_t event_size = strlen(event) + 1;
    size_t job_size = job_id ? strlen(job_id) + 1 : 0;
    struct shared_message *message =
        length < SIZE_MAX / 2 ? malloc(sizeof(*message) + event_size + job_size + length + 1) : NULL;

    if (!message)
        return NULL;

    char *event_copy = message->bytes;
    char *job_copy = event_copy + event_size;
    char *text_copy = job_copy + job_size;

    memcpy(event_copy, event, event_size);
    if (job_id)
        memcpy(job_copy, job_id, job_size);
    memcpy(text_copy, text, length);
    text_copy[length] = '\0';
    message->public = (struct bus_message){event_copy, job_id ? job_copy : NULL, text_copy, length};
    message->references = 1;
    return message;
}

static void message_drop(struct shared_message *message)
{
    if (--message->references == 0)
        free(message);
}

void bus_message_release(const struct bus_message *message)
{
    /* It was handed out as constant to others; here it is what it was. */
    if (message)
        message_drop((struct shared_message *)message);
}

/* -- Filters -- */

/* A name, a name and ".*", or "*". */
static bool is_pattern(const char *pattern)
{
    size_t length = strlen(pattern);
    const char *star = strchr(pattern, '*');

    if (length == 0)
        return false;
    return !star || (star == pattern + length - 1 && (length == 1 || (length > 2 && star[-1] == '.')));
}

static bool pattern_matches(const char *pattern, const char *event)
{
    size_t length = strlen(pattern);

    if (pattern[length - 1] == '*')
        return strncmp(pattern, event, length - 1) == 0;
    return strcmp(pattern, event) == 0;
}

static bool wants_event(const struct bus_subscriber *subscriber, const char *event)
{
    if (subscriber->gone)
        return false;
    for (size_t i = 0; i < subscriber->event_count; i++) {
        if (pattern_matches(subscriber->events[i], event))
            return true;
    }
    return subscriber->event_count == 0;
}

static bool is_for(const struct bus_subscriber *subscriber, const char *event, const char *job_id)
{
    if (subscriber->job_id && (!job_id || strcmp(subscriber->job_id, job_id) != 0))
        return false;
    return wants_event(subscriber, event);
}

/* -- Subscribers -- */

static struct shared_message *queue_take(struct bus_subscriber *subscriber)
{
    if (subscriber->length == 0)
        return NULL;

    struct shared_message *message = subscriber->slots[subscriber->first];

    subscriber->first = (subscriber->first + 1) % subscriber->slot_count;
    subscriber->length--;
    subscriber->bytes -= message->public.length;
    if (subscriber->before_latest > 0)
        subscriber->before_latest--;
    return message;
}

static struct shared_message *latest_take(struct bus_subscriber *subscriber)
{
    struct shared_message *message = subscriber->latest;

    subscriber->latest = NULL;
    return message;
}

static void subscriber_free(struct bus_subscriber *subscriber)
{
    struct shared_message *message;

    while ((message = queue_take(subscriber)) != NULL || (message = latest_take(subscriber)) != NULL)
        message_drop(message);
    for (size_t i = 0; i < subscriber->event_count; i++)
        free(subscriber->events[i]);
    free(subscriber->events);
    free(subscriber->job_id);
    free(subscriber->slots);
    free(subscriber);
}

static void sweep(struct bus *bus)
{
    struct bus_subscriber *subscriber, *next;

    DL_FOREACH_SAFE(bus->subscribers, subscriber, next)
    {
        if (subscriber->gone) {
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the last one is the first one's prev */
            DL_DELETE(bus->subscribers, subscriber);
            subscriber_free(subscriber);
        }
    }
    bus->sweep_due = false;
}

void bus_free(struct bus *bus)
{
    struct bus_subscriber *subscriber, *next;

    if (!bus)
        return;
    assert(bus->waking == 0);
    DL_FOREACH_SAFE(bus->subscribers, subscriber, next)
    subscriber_free(subscriber);
    free(bus);
}

static int check_subscription(const struct bus *bus, const struct bus_subscription *subscription,
                              struct metron_error *error)
{
    if (bus->count >= BUS_SUBSCRIBERS_MAX)
        return error_set(error, -EAGAIN, "there are %d subscribers already: try again later",
                         BUS_SUBSCRIBERS_MAX);
    if (subscription->event_count > BUS_PATTERNS_MAX)
        return error_set(error, -E2BIG, "%zu event names are more than %d: use a prefix such as sheet.*",
                         subscription->event_count, BUS_PATTERNS_MAX);
    for (size_t i = 0; i < subscription->event_count; i++) {
        const char *pattern = subscription->events[i];

        if (strnlen(pattern, BUS_PATTERN_BYTES_MAX + 1) > BUS_PATTERN_BYTES_MAX)
            return error_set(error, -E2BIG, "an event name has more than %d bytes", BUS_PATTERN_BYTES_MAX);
        if (!is_pattern(pattern))
            return error_set(
                error, -EINVAL,
                "'%s' is no event name: write one such as sheet.started, or a prefix such as sheet.*",
                pattern);
    }
    return 0;
}

static int copy_filters(struct bus_subscriber *subscriber, const struct bus_subscription *subscription)
{
    if (subscription->job_id && !(subscriber->job_id = strdup(subscription->job_id)))
        return -ENOMEM;
    if (subscription->event_count == 0)
        return 0;
    subscriber->events = calloc(subscription->event_count, sizeof(*subscriber->events));
    if (!subscriber->events)
        return -ENOMEM;
    while (subscriber->event_count < subscription->event_count) {
        char *copy = strdup(subscription->events[subscriber->event_count]);

        if (!copy)
            return -ENOMEM;
        subscriber->events[subscriber->event_count++] = copy;
    }
    return 0;
}

int bus_subscribe(struct bus *bus, const struct bus_subscription *subscription, struct bus_subscriber **out,
                  struct metron_error *error)
{
    int code = check_subscription(bus, subscription, error);

    *out = NULL;
    if (code < 0)
        return code;

    struct bus_subscriber *subscriber = calloc(1, sizeof(*subscriber));

    if (!subscriber || copy_filters(subscriber, subscription) < 0) {
        if (subscriber)
            subscriber_free(subscriber);
        return error_set(error, -ENOMEM, "no memory for another subscriber");
    }
    subscriber->bus = bus;
    subscriber->queue_count = subscription->queue_count ? subscription->queue_count : BUS_QUEUE_COUNT;
    subscriber->queue_bytes = subscription->queue_bytes ? subscription->queue_bytes : BUS_QUEUE_BYTES;
    subscriber->without_latest = subscription->without_latest;
    subscriber->wake = subscription->wake;
    subscriber->context = subscription->context;
    DL_APPEND(bus->subscribers, subscriber);
    bus->count++;
    *out = subscriber;
    return 0;
}

void bus_unsubscribe(struct bus_subscriber *subscriber)
{
    if (!subscriber || subscriber->gone)
        return;

    struct bus *bus = subscriber->bus;

    subscriber->gone = true;
    bus->count--;
    bus->sweep_due = true;
    if (bus->waking == 0)
        sweep(bus);
}

size_t bus_subscriber_count(const struct bus *bus)
{
    return bus->count;
}

/* -- Publishing and taking -- */

bool bus_is_wanted(const struct bus *bus, const char *event, const char *job_id)
{
    for (const struct bus_subscriber *subscriber = bus->subscribers; subscriber;
         subscriber = subscriber->next) {
        if (is_for(subscriber, event, job_id))
            return true;
    }
    return false;
}

/* Doubles the ring, up to the limit on messages. */
static bool queue_grow(struct bus_subscriber *subscriber)
{
    size_t count = subscriber->slot_count ? 2 * subscriber->slot_count : FIRST_SLOTS;

    if (count > subscriber->queue_count)
        count = subscriber->queue_count;

    struct shared_message **slots = calloc(count, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < subscriber->length; i++)
        slots[i] = subscriber->slots[(subscriber->first + i) % subscriber->slot_count];
    free(subscriber->slots);
    subscriber->slots = slots;
    subscriber->slot_count = count;
    subscriber->first = 0;
    return true;
}

static void drop_oldest(struct bus_subscriber *subscriber)
{
    message_drop(queue_take(subscriber));
    subscriber->dropped++;
}

/* False: it could not be kept, and was counted. */
static bool queue_add(struct bus_subscriber *subscriber, struct shared_message *message)
{
    size_t length = message->public.length;

    /* One that could never fit must not drive out those that do. */
    if (length > subscriber->queue_bytes) {
        subscriber->dropped++;
        return false;
    }
    while (subscriber->length > 0 && (subscriber->length >= subscriber->queue_count ||
                                      subscriber->bytes + length > subscriber->queue_bytes))
        drop_oldest(subscriber);
    if (subscriber->length == subscriber->slot_count && !queue_grow(subscriber)) {
        if (subscriber->length == 0) {
            subscriber->dropped++;
            return false;
        }
        drop_oldest(subscriber);
    }
    subscriber->slots[(subscriber->first + subscriber->length) % subscriber->slot_count] = message;
    subscriber->length++;
    subscriber->bytes += length;
    message->references++;
    return true;
}

/* To be called before it gets something. */
static void note_wake(struct bus_subscriber *subscriber)
{
    bool sleeps = subscriber->length == 0 && subscriber->dropped == 0 && !subscriber->latest;

    subscriber->wake_due = subscriber->wake_due || (sleeps && subscriber->wake);
}

static void wake_all(struct bus *bus)
{
    bus->waking++;
    for (struct bus_subscriber *subscriber = bus->subscribers; subscriber; subscriber = subscriber->next) {
        if (!subscriber->wake_due || subscriber->gone)
            continue;
        subscriber->wake_due = false;
        subscriber->wake(subscriber->context);
    }
    bus->waking--;
    if (bus->waking == 0 && bus->sweep_due)
        sweep(bus);
}

int bus_publish(struct bus *bus, const char *event, const char *job_id, const char *text, size_t length)
{
    if (!bus_is_wanted(bus, event, job_id))
        return 0;

    struct shared_message *message = message_new(event, job_id, text, length);
    int got = 0;

    for (struct bus_subscriber *subscriber = bus->subscribers; subscriber; subscriber = subscriber->next) {
        if (!is_for(subscriber, event, job_id))
            continue;
        note_wake(subscriber);
        if (message)
            got += queue_add(subscriber, message);
        else
            subscriber->dropped++;
    }
    if (message)
        message_drop(message);
    else
        got = -ENOMEM;
    wake_all(bus);
    return got;
}

static void latest_put(struct bus_subscriber *subscriber, struct shared_message *message)
{
    note_wake(subscriber);
    if (subscriber->latest)
        message_drop(subscriber->latest);
    else
        subscriber->before_latest = subscriber->length;
    subscriber->latest = message;
    message->references++;
}

static bool wants_latest(const struct bus_subscriber *subscriber, const char *event)
{
    return !subscriber->without_latest && wants_event(subscriber, event);
}

static bool is_same_job(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Gives it to all from this one on who want the same. */
static void latest_share(struct bus *bus, struct bus_subscriber *first, const char *event,
                         struct shared_message *message)
{
    for (struct bus_subscriber *other = first; other; other = other->next) {
        if (!is_same_job(other->job_id, first->job_id) || !wants_latest(other, event))
            continue;
        other->latest_round = bus->round;
        if (message)
            latest_put(other, message);
    }
}

void bus_publish_latest(struct bus *bus, const char *event, bus_write *write, void *context)
{
    bus->round++;
    for (struct bus_subscriber *first = bus->subscribers; first; first = first->next) {
        struct strbuf text = STRBUF_INIT;

        if (first->latest_round == bus->round || !wants_latest(first, event))
            continue;
        write(context, first->job_id, &text);
        struct shared_message *message =
            text.failed ? NULL : message_new(event, first->job_id, strbuf_text(&text), text.length);
        strbuf_fini(&text);
        latest_share(bus, first, event, message);
        if (message)
            message_drop(message);
    }
    wake_all(bus);
}

const struct bus_message *bus_take(struct bus_subscriber *subscriber, uint64_t *dropped)
{
    bool is_latest = subscriber->latest && subscriber->before_latest == 0;
    struct shared_message *message = is_latest ? latest_take(subscriber) : queue_take(subscriber);

    *dropped = subscriber->dropped;
    subscriber->dropped = 0;
    return message ? &message->public : NULL;
}
