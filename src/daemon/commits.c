#include "daemon/commits.h"

#include <stdlib.h>
#include <utlist.h>

#include "base/clock.h"
#include "daemon/wake_watch.h"

#define PATIENCE_MS 1000

struct answer {
    struct call *call;
    uint64_t since_ns;
    bool is_committed; /* the commit under way has its change */
    struct answer *prev, *next;
};

struct commits {
    uv_timer_t timer;
    struct jobs *jobs;
    struct writer *writer;
    struct wake_watch *done;
    struct commits_events events;
    bool is_under_way, is_wanted; /* the second: by a caller that does not wait */
    uint64_t begun_ns;            /* the one under way */
    struct answer *waiting;       /* the oldest first */
};

static int finish(struct json *result, bool durable)
{
    if (!durable)
        json_key_boolean(result, "durable", false);
    json_object_end(result);
    return 0;
}

static void send_answer(struct commits *commits, struct answer *answer, bool durable)
{
    DL_DELETE(commits->waiting, answer);
    (void)finish(call_result(answer->call), durable);
    call_resume(answer->call);
    free(answer);
}

static void send_all_answers(struct commits *commits)
{
    while (commits->waiting)
        send_answer(commits, commits->waiting, false);
}

static bool hand_over(struct commits *commits)
{
    struct snapshot *snapshot = commits->events.take(commits->events.owner);

    if (!snapshot)
        return false;
    if (jobs_copy_changed(commits->jobs, snapshot) == 0 && writer_commit(commits->writer, snapshot)) {
        jobs_told(commits->jobs);
        snapshot_release(snapshot);
        return true;
    }
    jobs_tell_again(commits->jobs, snapshot);
    snapshot->changed_job_count = 0;
    commits->events.give_back(commits->events.owner, snapshot);
    return false;
}

/* Begins the next one, if a caller wants it. */
static void begin(struct commits *commits)
{
    struct answer *answer;

    if (commits->is_under_way || (!commits->waiting && !commits->is_wanted))
        return;
    bool taken = hand_over(commits);
    commits->is_under_way = taken;
    commits->is_wanted = false; /* or the next tick stores it */
    commits->begun_ns = clock_monotonic_ns();
    if (!taken)
        send_all_answers(commits);
    DL_FOREACH(commits->waiting, answer)
    {
        answer->is_committed = true;
    }
}

static void on_done(void *context)
{
    struct commits *commits = context;
    bool durable = writer_commit_result(commits->writer) == 0;

    commits->is_under_way = false;
    while (commits->waiting && commits->waiting->is_committed)
        send_answer(commits, commits->waiting, durable);
    begin(commits);
}

static void on_timer(uv_timer_t *timer)
{
    struct commits *commits = timer->data;
    uint64_t now_ns = clock_monotonic_ns();
    const uint64_t patience_ns = PATIENCE_MS * (NS_PER_SECOND / 1000);

    while (commits->waiting && now_ns - commits->waiting->since_ns >= patience_ns)
        send_answer(commits, commits->waiting, false);
    if (!commits->waiting)
        return;
    uint64_t left_ns = patience_ns - (now_ns - commits->waiting->since_ns);
    (void)uv_timer_start(timer, on_timer, left_ns / (NS_PER_SECOND / 1000) + 1, 0);
}

/* A history that is stuck keeps nobody waiting but the first. */
static bool is_stuck(const struct commits *commits)
{
    return commits->is_under_way &&
           clock_monotonic_ns() - commits->begun_ns >= PATIENCE_MS * (NS_PER_SECOND / 1000);
}

int commits_await(struct commits *commits, struct call *call)
{
    bool wait = true;

    (void)call_boolean(call, "wait", &wait);
    wait = wait && !is_stuck(commits);

    struct answer *answer = wait && commits->writer ? calloc(1, sizeof(*answer)) : NULL;

    if (!wait && commits->writer) {
        commits->is_wanted = true;
        begin(commits);
    }
    if (answer)
        answer->call = call_defer(call);
    if (!answer || !answer->call) {
        free(answer);
        return finish(call_result(call), false);
    }
    answer->since_ns = clock_monotonic_ns();
    DL_APPEND(commits->waiting, answer);
    if (!uv_is_active((uv_handle_t *)&commits->timer))
        (void)uv_timer_start(&commits->timer, on_timer, PATIENCE_MS, 0);
    begin(commits);
    return CALL_LATER;
}

struct commits *commits_new(uv_loop_t *loop, struct jobs *jobs, struct writer *writer,
                            const struct commits_events *events)
{
    struct commits *commits = calloc(1, sizeof(*commits));

    if (!commits)
        return NULL;
    commits->jobs = jobs;
    commits->writer = writer;
    commits->events = *events;
    commits->timer.data = commits;
    (void)uv_timer_init(loop, &commits->timer); /* never fails */
    if (writer)
        commits->done = wake_watch_new(loop, writer_commit_fd(writer), on_done, commits);
    if (commits->done || !writer)
        return commits;
    commits_free(commits);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void commits_free(struct commits *commits)
{
    if (!commits)
        return;
    if (commits->writer && commits->done) /* an end without a last snapshot: what is not on its way yet */
        (void)hand_over(commits);
    send_all_answers(commits);
    wake_watch_free(commits->done);
    if (uv_is_closing((uv_handle_t *)&commits->timer))
        free(commits); /* the daemon has closed its loop */
    else
        uv_close((uv_handle_t *)&commits->timer, on_closed);
}
