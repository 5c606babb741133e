/*
 * Watching a machine: the loop of `run`, with every process of a user (or of the machine) as its target, and
 * a snapshot at every tick instead of a record at every report.
 *
 * Ticks lie on absolute deadlines; a late one is counted. In a storm of events there are more of them, each
 * as soon as so much has happened that it would take too much memory to wait. One thread samples; what is
 * made of a snapshot (stored, sent) must not take its time.
 */
#ifndef METRON_LOOP_WATCH_H
#define METRON_LOOP_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "collect/collector.h"
#include "loop/kernel_events.h"
#include "schema/registry.h"
#include "schema/snapshot.h"
#include "tree/tree.h"

struct secrets;

struct watch_options {
    uv_loop_t *loop; /* borrowed, as is all that follows */
    double interval; /* seconds */
    bool all_users;  /* every process of the machine, kernel threads left out; else those of our user */
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    struct kernel_events *events;
    const struct collect_context *context;
    const struct registry *registry;        /* with the selection of registry_select_columns */
    const struct snapshot_columns *columns; /* of its sources */
    void *owner;
    /* A pass was made and the snapshot has everything but its jobs. It is not kept by the watch. */
    void (*on_tick)(void *owner, struct snapshot *snapshot);
    /* A pass was made, and no snapshot of it yet: time for those that no group has. May be NULL. */
    void (*on_sampled)(void *owner);
    /* A process was first seen, and no sheet has it: time to say whose it is. May be NULL. */
    void (*on_found)(void *owner, struct process *process);
    /* It leaves the tree; its group is still known. May be NULL. */
    void (*on_end)(void *owner, const struct process *process);
};

struct watch_figures {
    uint64_t ticks, missed_ticks;
    double tick_seconds, longest_tick_seconds; /* the latest, and the longest of all */
    double cpu_seconds;                        /* of this process so far */
    uint64_t events_lost;                      /* they were never told, or there was no room for them */
    uint64_t events_dropped;                   /* told, and not stored: too many had to be carried over */
};

struct watch;

struct watch *watch_new(const struct watch_options *options, struct metron_error *error);
/* The first snapshot is taken at once. 0 or a negative errno. */
int watch_start(struct watch *watch);
/* From on_tick: the snapshot is not stored. Its events go with the next one, so that the store has them all
 * the same: the newest few MiB, what is older is counted as dropped. */
void watch_carry_events(struct watch *watch);
/* What has happened since the last tick, as far as the kernel has reported it, in its order: the snapshot to
 * come, of which only the events are there. Those before its told_count have been published; who publishes
 * more of them sets it. NULL: out of memory. Not inside a pass. */
struct snapshot *watch_pending(struct watch *watch);
/* Something else that happened, behind all that was published, and published now. Unlike what happens to
 * processes it never makes a snapshot due before its time. Its `data` is left out where a MiB of events waits
 * already. */
void watch_add_event(struct watch *watch, const struct event *event);
/* All that was published, as a snapshot that has nothing else: the caller's. The next snapshot has only the
 * rest, and what happens from now on. NULL: out of memory. Not inside a tick. */
struct snapshot *watch_take_events(struct watch *watch);
/* At once: they could not be stored. Takes the reference. */
void watch_return_events(struct watch *watch, struct snapshot *events);
/* One more snapshot, out of turn. */
void watch_look(struct watch *watch);
void watch_stop(struct watch *watch);
void watch_free(struct watch *watch);

struct tree *watch_tree(struct watch *watch);
struct watch_figures watch_figures(const struct watch *watch);
double watch_uptime(const struct watch *watch); /* seconds */
void watch_set_interval(struct watch *watch, double seconds);

#endif
