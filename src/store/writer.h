/*
 * The thread that stores snapshots, so that a slow disk never delays a sample.
 *
 * The loop's thread hands it snapshots through a bounded queue and goes on at once; the writer's thread hands
 * each one to every sink, in order. One sink that fails does not keep the others from theirs; it may be
 * offered again what it did not take. If the queue is full, the newest snapshot is not taken, and counted.
 *
 * The thread logs nothing: what befell a sink is asked for from the loop's thread, with writer_next_news.
 *
 * Between two snapshots changed jobs may be committed with what happened to them, where an answer waits until
 * they are on disk.
 *
 * writer_submit, writer_submit_last, writer_commit, writer_next_news and writer_stop are for one thread, the
 * one that made the writer.
 */
#ifndef METRON_STORE_WRITER_H
#define METRON_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "schema/snapshot.h"

#define WRITER_QUEUE_COUNT  256
#define WRITER_QUEUE_BYTES  ((size_t)8 * 1024 * 1024)
#define WRITER_SINKS_MAX    8
#define WRITER_STOP_SECONDS 5.0

/* All called in the writer's thread. `write`: 0; 1: taken, and `error` is a remark, or has code 0 if the
 * last remark holds no more; a negative errno: not taken, and why. `idle`: after each snapshot and at least
 * every second, for upkeep; what takes longer than a tick is done in parts; negative: it failed, and why. May
 * be NULL. */
struct writer_sink {
    const char *name; /* borrowed, for as long as the writer lives */
    int (*write)(void *context, const struct snapshot *snapshot, struct metron_error *error);
    int (*idle)(void *context, struct metron_error *error);
    void *context;
    size_t backlog_bytes; /* what it did not take is kept, the newest of it, up to so much, and offered again
                           * before the next snapshot; 0: nothing is */
    /* Stores the changed jobs and the events of a snapshot that has nothing else: 0, or a negative errno and
     * why. NULL: it stores no jobs. */
    int (*commit)(void *context, const struct snapshot *snapshot, struct metron_error *error);
};

struct writer_options {
    size_t queue_count, queue_bytes; /* 0: the defaults. One snapshot always fits into an empty queue. */
    void (*begin)(void); /* called first in the new thread, say to drop capabilities; may be NULL */
};

struct writer_figures {
    uint64_t offered;                    /* snapshots that every sink was offered */
    uint64_t written;                    /* and that every sink has taken */
    uint64_t dropped, dropped_processes; /* snapshots that none was given, and what was in them */
    uint64_t dropped_events;             /* of those that no sink, or one with a backlog, has in the end */
    size_t queue_length, queue_bytes;    /* now, without the one being written */
    double longest_delay_seconds;        /* from writer_submit until all sinks were through */
};

struct writer_sink_figures {
    const char *name;
    uint64_t written, failures;
    bool failing;               /* the last write failed */
    struct timespec since;      /* failing: since when, wall clock */
    struct metron_error last;   /* code 0: it never failed */
    struct metron_error remark; /* the last one, while it holds; code 0: none */
};

/* A sink failed, or is well again, or has something to tell of. */
struct writer_news {
    const char *sink;
    bool recovered, remark;
    double failed_seconds;     /* recovered: for how long it had failed */
    uint64_t lost;             /* recovered: snapshots that it missed, also because the queue was full, */
    bool lost_jobs;            /* and that it missed changed jobs, with them or in a commit */
    struct metron_error error; /* why; recovered: why it last failed; remark: what it is */
};

struct writer;

/* `options` may be NULL. Starts the thread. */
int writer_new(const struct writer_sink *sinks, size_t sink_count, const struct writer_options *options,
               struct writer **out, struct metron_error *error);
/* Takes a reference of its own. Never blocks, on nothing. False: the queue is full, the snapshot was not
 * taken, and is counted as dropped; its events and jobs are the caller's to offer again, with the next one.
 */
bool writer_submit(struct writer *writer, struct snapshot *snapshot);
/* The same of one after which there is none, before writer_stop: it is taken in any case, with the events of
 * those that were not. */
void writer_submit_last(struct writer *writer, struct snapshot *snapshot);
/* Has the changed jobs and the events of a snapshot that has nothing else stored, after all that was
 * submitted before. Takes a reference of its own and never blocks. One at a time. False: no sink stores jobs,
 * or the queue is full.
 */
bool writer_commit(struct writer *writer, struct snapshot *snapshot);
/* Poked (base/worker.h) once a commit is through; the writer's. */
int writer_commit_fd(const struct writer *writer);
/* Of the commit that is through: 0, the sinks that store jobs have it, and all before it; a negative errno:
 * they do not yet, and are offered it again as they are snapshots. */
int writer_commit_result(const struct writer *writer);
/* From any thread. Waits for none that does I/O. */
void writer_figures(struct writer *writer, struct writer_figures *out);
/* False: there is no such sink. */
bool writer_sink_figures(struct writer *writer, size_t index, struct writer_sink_figures *out);
/* What has happened and was not told yet; false: nothing. A failure is told once, and so is that the sink is
 * well again: after three snapshots in a row, so that one that comes and goes is not told at every tick. */
bool writer_next_news(struct writer *writer, struct writer_news *out);
/* Has what is queued written, for at most `seconds` (negative: the default); the rest is dropped and counted
 * (`last`, may be NULL, has the figures). The writer is gone then. 0: its thread has ended. -ETIMEDOUT: a
 * sink is stuck in a write a second later still; the thread is left behind with its sinks, which must not be
 * freed. */
int writer_stop(struct writer *writer, double seconds, struct writer_figures *last);

#endif
