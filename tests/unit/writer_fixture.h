/* A writer with two sinks that do as they are told, for the tests of store/writer. */
#ifndef METRON_TESTS_WRITER_FIXTURE_H
#define METRON_TESTS_WRITER_FIXTURE_H

#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "snapshot_fixture.h"

/* What a sink of these tests does, and what it saw. */
struct sink {
    unsigned sleep_us;    /* per write; atomic */
    int fails_with;       /* atomic */
    bool blocked;         /* atomic: stays in its write */
    unsigned writes;      /* atomic */
    unsigned idles;       /* atomic */
    bool untidy;          /* atomic: a write came before the upkeep after the previous one */
    bool idle_fails;      /* atomic */
    bool remarks;         /* atomic */
    bool takes_back;      /* atomic: the last remark, by another one */
    uint64_t ticks[4096]; /* of the snapshots it got */
    unsigned got;         /* atomic */
    struct sink *before;  /* must have had each snapshot before this one */
    bool disorder;        /* atomic */
};

#define GET(field)        __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

static struct snapshot_pool *pool;
static struct writer *writer;
static struct sink *one, *other; /* on the heap: a writer that is left behind keeps its sinks */
static uint64_t tick;
static size_t backlog_bytes; /* of the first one */

static inline int sink_write(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    struct sink *sink = context;

    while (GET(sink->blocked))
        (void)usleep(1000);
    if (GET(sink->sleep_us))
        (void)usleep(GET(sink->sleep_us));
    __atomic_add_fetch(&sink->writes, 1, __ATOMIC_RELEASE);
    if (sink->before && GET(sink->before->writes) < sink->writes)
        SET(sink->disorder, true);
    if (GET(sink->idles) + 1 < sink->writes)
        SET(sink->untidy, true);
    int code = GET(sink->fails_with);
    if (code == -EIO)
        return code; /* without a word */
    if (code < 0)
        return error_set(error, code, "the disk of %u is full", (unsigned)snapshot->tick);
    unsigned got = sink->got;
    sink->ticks[got % 4096] = snapshot->tick;
    SET(sink->got, got + 1);
    if (!GET(sink->remarks))
        return 0;
    if (!GET(sink->takes_back))
        (void)error_set(error, -EBADMSG, "begun anew with %u", (unsigned)snapshot->tick);
    return 1;
}

static inline int sink_idle(void *context, struct metron_error *error)
{
    struct sink *sink = context;

    __atomic_add_fetch(&sink->idles, 1, __ATOMIC_RELEASE);
    return GET(sink->idle_fails) ? error_set(error, -EIO, "cannot be cleaned up") : 0;
}

static inline int setup(void **state)
{
    (void)state;
    pool = snapshot_pool_new();
    one = calloc(1, sizeof(*one));
    other = calloc(1, sizeof(*other));
    tick = 0;
    backlog_bytes = 0;
    writer = NULL;
    return pool && one && other ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    int code = writer ? writer_stop(writer, -1, NULL) : 0;

    snapshot_pool_free(pool);
    free(one);
    free(other);
    return code;
}

static inline void start(struct writer_options options)
{
    const struct writer_sink sinks[] = {
        {"history", sink_write, sink_idle, one, backlog_bytes, NULL},
        {"log", sink_write, NULL, other, 0, NULL},
    };
    struct metron_error error = {0};

    other->before = one;
    if (writer_new(sinks, 2, &options, &writer, &error) < 0)
        fail_msg("%s", error.message);
}

static inline struct snapshot *next_snapshot(size_t processes)
{
    struct snapshot *snapshot = snapshot_of(pool, processes);

    assert_non_null(snapshot);
    snapshot->tick = ++tick;
    snapshot->event_count = 2;
    return snapshot;
}

static inline bool submit(size_t processes)
{
    struct snapshot *snapshot = next_snapshot(processes);
    bool taken = writer_submit(writer, snapshot);

    snapshot_release(snapshot);
    return taken;
}

static inline struct writer_figures figures(void)
{
    struct writer_figures out;

    writer_figures(writer, &out);
    return out;
}

/* Until the sinks were offered so many; a busy machine has a minute for it. */
static inline void await_offered(uint64_t count)
{
    for (int i = 0; i < 60000 && figures().offered < count; i++)
        (void)usleep(1000);
    assert_int_equal(figures().offered, count);
}

static inline int stop(double seconds, struct writer_figures *last)
{
    struct writer *stopped = writer;

    writer = NULL;
    return writer_stop(stopped, seconds, last);
}

/* Tells all news, as "history failed: why; " and "history recovered; ". */
static inline const char *all_news(void)
{
    static char text[2048];
    struct writer_news news;
    size_t length = 0;

    text[0] = '\0';
    while (writer_next_news(writer, &news)) {
        if (news.remark)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s: %s; ", news.sink,
                                       news.error.message);
        else if (news.recovered)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s recovered, %u lost; ",
                                       news.sink, (unsigned)news.lost);
        else
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s failed: %s; ", news.sink,
                                       news.error.message);
    }
    return text;
}

static inline void submit_and_wait(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(submit(1));
        await_offered(tick);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
