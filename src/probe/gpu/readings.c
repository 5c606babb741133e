/*
 * The thread of the readings.
 *
 * It waits for being asked, reads, and leaves the result behind a lock, which it holds while it copies. The
 * loop only tries that lock, and keeps what it took before when it is held: it has its own copy anyhow.
 */
#include "probe/gpu/readings.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/worker.h"
#include "probe/privilege.h"

#define END_MS 300 /* for a call that is under way, and the library's own end */
/* The driver's utilization is that of up to a second: what is younger than that is new. */
#define NEW_SECONDS 1.0

struct reading {
    struct gpu_list list;
    struct metron_error error; /* code 0: none */
    uint64_t begin_ns;         /* 0: there was none yet */
};

struct gpu_readings {
    struct gpu_source *source;
    uint64_t wanted;
    struct worker worker; /* its news: there is a reading */
    atomic_bool urgent;   /* somebody waits for the next reading */

    pthread_mutex_t lock; /* of newest */
    struct reading newest;

    struct reading work; /* the thread's own */

    struct reading taken;   /* the loop's own, as is what follows */
    uint64_t unanswered_ns; /* the first time it was asked since a reading began; 0: it was not */
};

static bool left_behind; /* a thread was */

static void release(void *owner)
{
    struct gpu_readings *readings = owner;

    (void)pthread_mutex_destroy(&readings->lock);
    free(readings);
}

/* ---- the thread ---- */

static void read_once(struct gpu_readings *readings)
{
    struct reading *work = &readings->work;

    atomic_store(&readings->urgent, false);
    work->begin_ns = clock_monotonic_ns();
    work->error = (struct metron_error){0};
    (void)gpu_source_read(readings->source, readings->wanted, &work->list, &work->error);
    (void)pthread_mutex_lock(&readings->lock);
    readings->newest = *work;
    (void)pthread_mutex_unlock(&readings->lock);
    worker_notify(&readings->worker);
}

/* Waits until the source may be read again. What is asked for meanwhile is one reading, after this. */
static void rest(struct gpu_readings *readings)
{
    uint64_t period_ns = (uint64_t)(gpu_source_period(readings->source) * (double)NS_PER_SECOND);
    uint64_t end_ns = readings->work.begin_ns + period_ns, now_ns;
    bool asked = false;

    while (!worker_is_stopping(&readings->worker) && !atomic_load(&readings->urgent) &&
           (now_ns = clock_monotonic_ns()) < end_ns)
        asked = worker_wait(&readings->worker, (int)((end_ns - now_ns) / 1000000) + 1) || asked;
    if (asked)
        worker_wake(&readings->worker);
}

static void run(void *owner)
{
    struct gpu_readings *readings = owner;

    (void)privilege_drop(NULL, NULL); /* capabilities are each thread's own, and the driver needs none */
    while (!worker_is_stopping(&readings->worker)) {
        if (!worker_wait(&readings->worker, -1) || worker_is_stopping(&readings->worker))
            continue;
        read_once(readings);
        rest(readings);
    }
    gpu_source_close(readings->source);
}

/* ---- the loop's thread ---- */

int gpu_readings_new(struct gpu_readings **out, bool may_run_program, uint64_t wanted,
                     struct metron_error *error)
{
    struct gpu_readings *readings = NULL;
    struct gpu_source *source;
    int code = gpu_source_open(&source, may_run_program, error);

    *out = NULL;
    if (code < 0)
        return code;
    readings = calloc(1, sizeof(*readings));
    if (!readings) {
        gpu_source_close(source);
        return error_set(error, -ENOMEM, "no memory to look at GPUs");
    }
    const struct worker_options worker = {
        .name = "metron-gpu", .run = run, .release = release, .owner = readings};
    readings->source = source;
    readings->wanted = wanted;
    (void)pthread_mutex_init(&readings->lock, NULL);
    code = worker_start(&readings->worker, &worker);
    if (code < 0) {
        gpu_source_close(source);
        release(readings);
        return error_set(error, code, "cannot start the thread that reads GPUs: %s", strerror(-code));
    }
    *out = readings;
    return 0;
}

const char *gpu_readings_source(const struct gpu_readings *readings)
{
    return gpu_source_name(readings->source);
}

void gpu_readings_ask(struct gpu_readings *readings)
{
    if (readings->unanswered_ns == 0)
        readings->unanswered_ns = clock_monotonic_ns();
    worker_wake(&readings->worker);
}

static const struct reading *newest(struct gpu_readings *readings)
{
    if (pthread_mutex_trylock(&readings->lock) == 0) {
        if (readings->newest.begin_ns != readings->taken.begin_ns)
            readings->taken = readings->newest;
        (void)pthread_mutex_unlock(&readings->lock);
    }
    return &readings->taken;
}

void gpu_readings_wait(struct gpu_readings *readings, double seconds)
{
    const uint64_t now_ns = clock_monotonic_ns();
    const uint64_t end_ns = now_ns + (uint64_t)(seconds * (double)NS_PER_SECOND);

    atomic_store(&readings->urgent, true);
    gpu_readings_ask(readings);
    while (newest(readings)->begin_ns < now_ns && wake_wait(readings->worker.news_fd, clock_ms_until(end_ns)))
        ;
}

/* How old a reading may be, in seconds. */
static double age_limit(const struct gpu_readings *readings, double interval)
{
    const double period = gpu_source_period(readings->source);
    const double limit = 2 * (interval > period ? interval : period);

    return limit > NEW_SECONDS ? limit : NEW_SECONDS;
}

const struct gpu_list *gpu_readings_take(struct gpu_readings *readings, double interval, uint64_t *begin_ns,
                                         struct metron_error *error)
{
    const struct reading *taken = newest(readings);
    const uint64_t now_ns = clock_monotonic_ns();
    const uint64_t limit_ns = (uint64_t)(age_limit(readings, interval) * (double)NS_PER_SECOND);

    *begin_ns = taken->begin_ns;
    if (taken->begin_ns >= readings->unanswered_ns)
        readings->unanswered_ns = 0;
    if (readings->unanswered_ns && now_ns - readings->unanswered_ns > limit_ns)
        (void)error_set(error, -ETIME, "the driver of the GPUs does not answer");
    else if (taken->begin_ns == 0 || now_ns - taken->begin_ns > limit_ns) /* nobody asked for long */
        (void)error_set(error, -EAGAIN, "the driver of the GPUs does not answer yet");
    else if (taken->error.code < 0)
        *error = taken->error;
    else
        return &taken->list;
    return NULL;
}

bool gpu_readings_left_behind(void)
{
    return left_behind;
}

void gpu_readings_free(struct gpu_readings *readings)
{
    if (!readings)
        return;
    worker_stop(&readings->worker);
    (void)worker_await(&readings->worker, END_MS);
    if (!worker_free(&readings->worker))
        left_behind = true;
}
