/*
 * Events that a snapshot brings to the store: copied into it with all they point to, and counted in bytes, so
 * that whoever fills it can stop in time.
 *
 * The list itself is one block that grows: in the arena every smaller one before it would stay, and a storm
 * of processes would take twice its memory.
 */
#include "schema/snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

size_t event_bytes(const struct event *event)
{
    return sizeof(*event) + text_bytes(event->start_time) + text_bytes(event->command) +
           text_bytes(event->job_id) + text_bytes(event->name) + text_bytes(event->data) +
           (event->sender ? sizeof(*event->sender) + text_bytes(event->sender->name) : 0) +
           (event->use ? sizeof(*event->use) : 0);
}

static const char *keep_text(struct arena *arena, const char *text, bool *whole)
{
    const char *copy = text ? arena_strdup(arena, text) : NULL;

    *whole = *whole && (copy || !text);
    return copy;
}

int snapshot_add_event(struct snapshot *snapshot, const struct event *event)
{
    struct arena *arena = &snapshot->arena;
    bool whole = true;

    if (ARRAY_RESERVE(snapshot->event_list, snapshot->event_capacity, snapshot->event_count + 1) < 0)
        return -ENOMEM;
    snapshot->events = snapshot->event_list;
    struct event *kept = &snapshot->event_list[snapshot->event_count];
    *kept = *event;
    kept->start_time = keep_text(arena, event->start_time, &whole);
    kept->command = keep_text(arena, event->command, &whole);
    kept->job_id = keep_text(arena, event->job_id, &whole);
    kept->name = keep_text(arena, event->name, &whole);
    kept->data = keep_text(arena, event->data, &whole);
    if (event->sender) {
        struct event_sender *sender = arena_alloc(arena, sizeof(*sender));
        if (!sender)
            return -ENOMEM;
        *sender = (struct event_sender){event->sender->pid, keep_text(arena, event->sender->name, &whole)};
        kept->sender = sender;
    }
    if (event->use) {
        struct event_use *use = arena_alloc(arena, sizeof(*use));
        if (!use)
            return -ENOMEM;
        *use = *event->use;
        kept->use = use;
    }
    if (!whole)
        return -ENOMEM;
    snapshot->event_bytes += event_bytes(event);
    snapshot->event_count++;
    return 0;
}
