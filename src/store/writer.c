/*
 * The writer's thread and its queue.
 *
 * The queue is a ring between two threads, without a lock: the loop's thread alone moves `tail`, the writer's
 * alone `head`. With a lock, a writer that was put aside by the scheduler while it held it would delay a
 * sample after all.
 *
 * What befell the sinks is behind a lock, held while a few hundred bytes are copied, never during a write.
 */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/worker.h"

#define IDLE_MS       1000
#define STUCK_SECONDS 1.0 /* after the time limit, for the write that is under way */
#define WELL_AFTER    3   /* snapshots in a row */
/* Upkeep that fails so often in a row, once a second at least, does not come right by itself. */
#define UPKEEP_PATIENCE 30

struct queued {
    struct snapshot *snapshot;
    size_t bytes;
    uint64_t submitted_ns;
    bool is_commit;
};

/* What a sink did not take, the oldest first. Of the writer's thread alone. */
struct backlog {
    struct queued *first;
    size_t count, capacity, bytes;
};

/* From a failure until it is well again a sink is ailing. A failure that is over before it was told of is
 * told of all the same, and then that it is over; one that comes back before that is still the same one. */
struct sink_state {
    struct writer_sink_figures figures;
    bool ailing;
    bool untold;                   /* that it is ailing */
    bool told;                     /* that it is ailing, and not yet that it is well again */
    unsigned well;                 /* writes in a row that succeeded since the last failure */
    bool lost_jobs;                /* changed jobs were lost, and the loop does not know yet */
    uint64_t lost;                 /* snapshots since it began to fail, those in the backlog not among them */
    uint64_t dropped_before;       /* writer.dropped when the write began that failed first */
    uint64_t failed_ns, mended_ns; /* when it began to fail, and the first success after the last failure */
    bool has_remark;               /* to be reported */
    unsigned upkeep_failed;        /* so many times in a row; of the writer's thread alone */
};

struct writer {
    struct writer_sink sinks[WRITER_SINKS_MAX];
    size_t sink_count;
    struct writer_options options;
    struct worker worker; /* its news: a commit is through, */
    int commit_result;    /* atomic: with this */

    struct queued *ring;                                 /* queue_count of them */
    size_t head, tail, bytes;                            /* atomic; head and tail only grow */
    uint64_t offered, longest_delay_ns;                  /* atomic */
    uint64_t dropped, dropped_processes, dropped_events; /* atomic */
    uint64_t stop_at_ns;                                 /* atomic; 0: not to stop */

    pthread_mutex_t lock; /* of states */
    struct sink_state states[WRITER_SINKS_MAX];
    struct backlog backlogs[WRITER_SINKS_MAX];
};

#define LOAD(field)       __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define STORE(field, new) __atomic_store_n(&(field), (new), __ATOMIC_RELEASE)
#define ADD(field, more)  __atomic_add_fetch(&(field), (more), __ATOMIC_RELEASE)

static void writer_free(void *owner)
{
    struct writer *writer = owner;

    pthread_mutex_destroy(&writer->lock);
    for (size_t i = 0; i < writer->sink_count; i++)
        free(writer->backlogs[i].first);
    free(writer->ring);
    free(writer);
}

/* -- The writer's thread -- */

static void note_success(struct sink_state *state, uint64_t now_ns)
{
    state->figures.written++;
    state->figures.failing = false;
    if (!state->ailing)
        return;
    if (state->well++ == 0)
        state->mended_ns = now_ns;
    if (state->well >= WELL_AFTER)
        state->ailing = false;
}

static void note_failure(struct sink_state *state, uint64_t now_ns, uint64_t dropped_before,
                         const struct metron_error *error)
{
    state->figures.failures++;
    if (!state->figures.failing)
        state->figures.since = clock_wall();
    state->figures.failing = true;
    state->figures.last = *error;
    state->well = 0;
    if (!state->ailing && !state->told && !state->untold) {
        state->lost = 0;
        state->dropped_before = dropped_before;
        state->failed_ns = now_ns;
    }
    state->ailing = true;
    state->untold = !state->told;
}

static void note_remark(struct sink_state *state, const struct metron_error *error)
{
    state->figures.remark = *error;
    state->has_remark = error->code != 0;
}

static void count_dropped(struct writer *writer, const struct snapshot *snapshot)
{
    ADD(writer->dropped, 1);
    ADD(writer->dropped_processes, snapshot->process_count);
}

/* There is no next one that could have its events. */
static void give_up(struct writer *writer, const struct snapshot *snapshot, bool is_commit)
{
    if (!is_commit)
        count_dropped(writer, snapshot);
    ADD(writer->dropped_events, snapshot->event_count);
}

/* ---- what a sink did not take ---- */

static void backlog_pop(struct backlog *backlog)
{
    snapshot_release(backlog->first->snapshot);
    backlog->bytes -= backlog->first->bytes;
    backlog->count--;
    (void)memmove(backlog->first, backlog->first + 1, backlog->count * sizeof(*backlog->first));
}

/* The sink will never have it. */
static void lose(struct writer *writer, size_t index, const struct queued *one)
{
    struct sink_state *state = &writer->states[index];

    if (writer->sinks[index].backlog_bytes > 0)
        ADD(writer->dropped_events, one->snapshot->event_count);
    pthread_mutex_lock(&writer->lock);
    state->lost += !one->is_commit;
    state->lost_jobs = true;
    pthread_mutex_unlock(&writer->lock);
}

static void keep_for_later(struct writer *writer, size_t index, const struct queued *one)
{
    struct backlog *backlog = &writer->backlogs[index];
    size_t most = writer->sinks[index].backlog_bytes;

    if (one->bytes > most || ARRAY_RESERVE(backlog->first, backlog->capacity, backlog->count + 1) < 0) {
        lose(writer, index, one);
        return;
    }
    backlog->first[backlog->count++] = *one;
    (void)snapshot_hold(one->snapshot);
    backlog->bytes += one->bytes;
    while (backlog->bytes > most) {
        lose(writer, index, backlog->first);
        backlog_pop(backlog);
    }
}

static int try_write(struct writer *writer, size_t index, const struct queued *one)
{
    const struct writer_sink *sink = &writer->sinks[index];
    struct sink_state *state = &writer->states[index];
    struct metron_error error = {0};
    uint64_t dropped =
        LOAD(writer->dropped); /* one that waits for a lock until it fails may fill the queue */
    int code = (one->is_commit ? sink->commit : sink->write)(sink->context, one->snapshot, &error);
    uint64_t now_ns = clock_monotonic_ns();

    if (code < 0 && error.code == 0)
        error_set(&error, code, "%s: %s", sink->name, strerror(-code));
    pthread_mutex_lock(&writer->lock);
    if (code < 0)
        note_failure(state, now_ns, dropped, &error);
    else if (!one->is_commit) /* only snapshots are counted */
        note_success(state, now_ns);
    if (code > 0)
        note_remark(state, &error);
    pthread_mutex_unlock(&writer->lock);
    return code;
}

static int write_backlog(struct writer *writer, size_t index)
{
    struct backlog *backlog = &writer->backlogs[index];
    int code = 0;

    while (backlog->count > 0 && (code = try_write(writer, index, backlog->first)) >= 0)
        backlog_pop(backlog);
    return code < 0 ? code : 0;
}

static void write_to(struct writer *writer, size_t index, const struct queued *one)
{
    int code = write_backlog(writer, index);

    if (code == 0)
        code = try_write(writer, index, one);
    if (code < 0)
        keep_for_later(writer, index, one);
}

/* The backlog first: it has the same jobs as they were earlier. What is acknowledged may have been in a
 * snapshot that the sink has lost: nothing is certain until all jobs were offered again. */
static int commit_to(struct writer *writer, size_t index, const struct queued *one)
{
    int code = write_backlog(writer, index);

    pthread_mutex_lock(&writer->lock);
    if (code == 0 && writer->states[index].lost_jobs)
        code = -EIO;
    pthread_mutex_unlock(&writer->lock);
    if (code == 0)
        code = try_write(writer, index, one);
    if (code < 0)
        keep_for_later(writer, index, one);
    return code;
}

static void commit_one(struct writer *writer, const struct queued *one)
{
    int code = 0;

    for (size_t i = 0; i < writer->sink_count && code == 0; i++)
        if (writer->sinks[i].commit)
            code = commit_to(writer, i, one);
    STORE(writer->commit_result, code);
    worker_notify(&writer->worker);
}

/* One more than the queue may hold: the last one finds room in any case. */
static size_t ring_size(const struct writer *writer)
{
    return writer->options.queue_count + 1;
}

/* Takes the oldest out of the queue; false: it is empty. */
static bool queue_take(struct writer *writer, struct queued *out)
{
    size_t head = LOAD(writer->head);

    if (head == LOAD(writer->tail))
        return false;
    *out = writer->ring[head % ring_size(writer)];
    ADD(writer->bytes, -out->bytes);
    STORE(writer->head, head + 1);
    return true;
}

static void write_one(struct writer *writer, const struct queued *one)
{
    for (size_t i = 0; i < writer->sink_count; i++)
        write_to(writer, i, one);

    uint64_t delay_ns = clock_monotonic_ns() - one->submitted_ns;

    if (delay_ns > LOAD(writer->longest_delay_ns))
        STORE(writer->longest_delay_ns, delay_ns);
    ADD(writer->offered, 1);
}

/* That it fails is told once, if it does not pass by itself, until it succeeds again. */
static void upkeep_of(struct writer *writer, size_t index)
{
    const struct writer_sink *sink = &writer->sinks[index];
    struct sink_state *state = &writer->states[index];
    struct metron_error error = {0};

    if (sink->idle(sink->context, &error) >= 0) {
        state->upkeep_failed = 0;
        return;
    }
    if (state->upkeep_failed > UPKEEP_PATIENCE || state->upkeep_failed++ < UPKEEP_PATIENCE)
        return;
    pthread_mutex_lock(&writer->lock);
    note_remark(state, &error);
    pthread_mutex_unlock(&writer->lock);
}

static void upkeep(struct writer *writer)
{
    for (size_t i = 0; i < writer->sink_count; i++)
        if (writer->sinks[i].idle)
            upkeep_of(writer, i);
}

/* There is no next one before which it could be offered again. */
static void give_up_backlogs(struct writer *writer)
{
    for (size_t i = 0; i < writer->sink_count; i++)
        for (struct backlog *backlog = &writer->backlogs[i]; backlog->count > 0; backlog_pop(backlog))
            lose(writer, i, backlog->first);
}

static void run(void *owner)
{
    struct writer *writer = owner;
    struct queued one;

    if (writer->options.begin)
        writer->options.begin();
    for (;;) {
        /* Asked before the queue: what was submitted before the stop is seen. */
        uint64_t stop_at_ns = LOAD(writer->stop_at_ns);

        if (queue_take(writer, &one)) {
            bool in_time = stop_at_ns == 0 || clock_monotonic_ns() < stop_at_ns;
            if (one.is_commit && in_time)
                commit_one(writer, &one);
            else if (in_time)
                write_one(writer, &one);
            else
                give_up(writer, one.snapshot, one.is_commit);
            snapshot_release(one.snapshot);
            if (one.is_commit)
                continue; /* upkeep would keep the next answer waiting */
        } else if (stop_at_ns != 0) {
            break;
        } else if (worker_wait(&writer->worker, IDLE_MS)) {
            continue;
        }
        if (stop_at_ns == 0)
            upkeep(writer);
    }
    give_up_backlogs(writer);
}

/* -- The loop's thread -- */

static size_t queue_length(struct writer *writer)
{
    return LOAD(writer->tail) - LOAD(writer->head);
}

static void queue_put(struct writer *writer, struct snapshot *snapshot, size_t bytes, bool is_commit)
{
    size_t tail = LOAD(writer->tail);

    writer->ring[tail % ring_size(writer)] =
        (struct queued){snapshot_hold(snapshot), bytes, clock_monotonic_ns(), is_commit};
    ADD(writer->bytes, bytes);
    STORE(writer->tail, tail + 1);
    worker_wake(&writer->worker);
}

/* False: there is no room. */
static bool queue_offer(struct writer *writer, struct snapshot *snapshot, bool is_commit)
{
    size_t bytes = snapshot_bytes(snapshot);
    size_t length = queue_length(writer);
    const struct writer_options *options = &writer->options;

    if (length >= options->queue_count || (length > 0 && LOAD(writer->bytes) + bytes > options->queue_bytes))
        return false;
    queue_put(writer, snapshot, bytes, is_commit);
    return true;
}

bool writer_submit(struct writer *writer, struct snapshot *snapshot)
{
    if (queue_offer(writer, snapshot, false))
        return true;
    count_dropped(writer, snapshot);
    return false;
}

bool writer_commit(struct writer *writer, struct snapshot *snapshot)
{
    for (size_t i = 0; i < writer->sink_count; i++)
        if (writer->sinks[i].commit)
            return queue_offer(writer, snapshot, true);
    return false;
}

int writer_commit_fd(const struct writer *writer)
{
    return writer->worker.news_fd;
}

int writer_commit_result(const struct writer *writer)
{
    return LOAD(writer->commit_result);
}

void writer_submit_last(struct writer *writer, struct snapshot *snapshot)
{
    if (queue_length(writer) < ring_size(writer))
        queue_put(writer, snapshot, snapshot_bytes(snapshot), false);
    else
        give_up(writer, snapshot, false);
}

static uint64_t written_by_all(struct writer *writer)
{
    uint64_t least = UINT64_MAX;

    pthread_mutex_lock(&writer->lock);
    for (size_t i = 0; i < writer->sink_count; i++)
        if (writer->states[i].figures.written < least)
            least = writer->states[i].figures.written;
    pthread_mutex_unlock(&writer->lock);
    return writer->sink_count > 0 ? least : 0;
}

void writer_figures(struct writer *writer, struct writer_figures *out)
{
    size_t head = LOAD(writer->head); /* first: it never passes the tail */

    *out = (struct writer_figures){
        .offered = LOAD(writer->offered),
        .written = written_by_all(writer),
        .dropped = LOAD(writer->dropped),
        .dropped_processes = LOAD(writer->dropped_processes),
        .dropped_events = LOAD(writer->dropped_events),
        .queue_length = LOAD(writer->tail) - head,
        .queue_bytes = LOAD(writer->bytes),
        .longest_delay_seconds = (double)LOAD(writer->longest_delay_ns) / (double)NS_PER_SECOND,
    };
}

bool writer_sink_figures(struct writer *writer, size_t index, struct writer_sink_figures *out)
{
    if (index >= writer->sink_count)
        return false;
    pthread_mutex_lock(&writer->lock);
    *out = writer->states[index].figures;
    pthread_mutex_unlock(&writer->lock);
    return true;
}

static bool news_of(struct sink_state *state, uint64_t dropped, struct writer_news *out)
{
    *out = (struct writer_news){.sink = state->figures.name, .error = state->figures.last};
    if (state->has_remark) {
        state->has_remark = false;
        out->remark = true;
        out->error = state->figures.remark;
        return true;
    }
    if (state->untold) {
        state->untold = false;
        state->told = true;
        return true;
    }
    if (!state->told || state->ailing)
        return false;
    state->told = false;
    out->recovered = true;
    out->lost = state->lost + dropped - state->dropped_before;
    out->lost_jobs = state->lost_jobs;
    state->lost_jobs = false;
    out->failed_seconds = (double)(state->mended_ns - state->failed_ns) / (double)NS_PER_SECOND;
    return true;
}

bool writer_next_news(struct writer *writer, struct writer_news *out)
{
    bool found = false;

    pthread_mutex_lock(&writer->lock);
    for (size_t i = 0; i < writer->sink_count && !found; i++)
        found = news_of(&writer->states[i], LOAD(writer->dropped), out);
    pthread_mutex_unlock(&writer->lock);
    return found;
}

/* -- Beginning and end -- */

int writer_new(const struct writer_sink *sinks, size_t sink_count, const struct writer_options *options,
               struct writer **out, struct metron_error *error)
{
    struct writer *writer = sink_count <= WRITER_SINKS_MAX ? calloc(1, sizeof(*writer)) : NULL;
    const struct worker_options worker = {
        .name = "metron-writer", .run = run, .release = writer_free, .owner = writer};

    *out = NULL;
    if (!writer)
        return error_set(error, sink_count <= WRITER_SINKS_MAX ? -ENOMEM : -E2BIG,
                         "cannot start the writer: no room for %zu sinks", sink_count);
    pthread_mutex_init(&writer->lock, NULL);
    if (options)
        writer->options = *options;
    if (writer->options.queue_count == 0)
        writer->options.queue_count = WRITER_QUEUE_COUNT;
    if (writer->options.queue_bytes == 0)
        writer->options.queue_bytes = WRITER_QUEUE_BYTES;
    writer->sink_count = sink_count;
    for (size_t i = 0; i < sink_count; i++) {
        writer->sinks[i] = sinks[i];
        writer->states[i].figures.name = sinks[i].name;
    }
    writer->ring = calloc(ring_size(writer), sizeof(*writer->ring));
    int code = writer->ring ? worker_start(&writer->worker, &worker) : -ENOMEM;
    if (code < 0) {
        writer_free(writer);
        return error_set(error, code, "cannot start the thread that stores snapshots: %s", strerror(-code));
    }
    *out = writer;
    return 0;
}

int writer_stop(struct writer *writer, double seconds, struct writer_figures *last)
{
    double limit = seconds < 0 ? WRITER_STOP_SECONDS : seconds < 3600 ? seconds : 3600;

    STORE(writer->stop_at_ns, clock_monotonic_ns() + (uint64_t)(limit * (double)NS_PER_SECOND) + 1);
    worker_wake(&writer->worker);
    (void)worker_await(&writer->worker, (int64_t)((limit + STUCK_SECONDS) * 1000));
    if (last)
        writer_figures(writer, last);
    return worker_free(&writer->worker) ? 0 : -ETIMEDOUT;
}
