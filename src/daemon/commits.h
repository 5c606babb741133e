/*
 * Answers that acknowledge a change of a job: sent once the history has it, so that a daemon that is killed
 * then still knows the job when it is started again.
 *
 * The writer's thread stores the changed jobs between two snapshots, and with them what has happened since
 * the last one: an event of a job is stored in the transaction that stores the job. The loop waits for
 * nothing. One commit is under way at a time, and the next one has all that changed meanwhile. An answer that
 * would wait for more than a second, or whose change is not stored, is sent with `durable: false`; the change
 * is stored later, if there is a history at all.
 */
#ifndef METRON_DAEMON_COMMITS_H
#define METRON_DAEMON_COMMITS_H

#include <uv.h>

#include "daemon/jobs/jobs.h"
#include "daemon/socket/call.h"
#include "store/writer.h"

struct commits;

/* Where the events of a commit come from, and where they go if it cannot be made (watch_take_events). */
struct commits_events {
    struct snapshot *(*take)(void *owner);
    void (*give_back)(void *owner, struct snapshot *events);
    void *owner;
};

/* All borrowed. `writer` NULL: nothing is stored. NULL: out of memory, or no room for one more descriptor. */
struct commits *commits_new(uv_loop_t *loop, struct jobs *jobs, struct writer *writer,
                            const struct commits_events *events);
/* A job has changed; the answer, an object that is still open, is finished here once that is stored. What a
 * method returns. */
int commits_await(struct commits *commits, struct call *call);
/* Hands what has changed to the writer, and sends all answers that wait. Before the writer ends; the loop may
 * have ended. NULL is nothing. */
void commits_free(struct commits *commits);

#endif
