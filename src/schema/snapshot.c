/*
 * Snapshots: where they come from and go back to, and their JSON.
 *
 * The pool is a list of snapshots that nobody holds, under a lock that is held for a few instructions at a
 * time. It keeps a handful: a daemon needs one to fill, one to answer from and a few on their way to the
 * disk. What a burst took beyond that is freed, and so is the memory of a snapshot that was once far larger
 * than it is now: an hour after a fork bomb, the daemon is as small as before.
 *
 * The last one to let go frees the pool, be it its owner or whoever held the last snapshot.
 */
#include "schema/snapshot.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define FREE_MAX    4                         /* snapshots kept for the next use, */
#define FREE_BYTES  ((size_t)4 * 1024 * 1024) /* with no more memory than that, unless it is one */
#define SPARE_BYTES ((size_t)256 * 1024)      /* of events that an unused snapshot may hold */

struct snapshot_pool {
    pthread_mutex_t lock; /* of all below */
    struct snapshot *free;
    unsigned free_count;
    size_t free_bytes;
    size_t held; /* snapshots that somebody holds */
    bool closed; /* its owner has let go */
};

struct snapshot_pool *snapshot_pool_new(void)
{
    struct snapshot_pool *pool = calloc(1, sizeof(*pool));

    if (pool && pthread_mutex_init(&pool->lock, NULL) != 0) {
        free(pool);
        return NULL;
    }
    return pool;
}

static void snapshot_free(struct snapshot *snapshot)
{
    arena_fini(&snapshot->arena);
    free(snapshot->event_list);
    free(snapshot);
}

static void list_free(struct snapshot *first)
{
    for (struct snapshot *snapshot = first, *next; snapshot; snapshot = next) {
        next = snapshot->next_free;
        snapshot_free(snapshot);
    }
}

/* Nobody is left who could know of it. */
static void pool_destroy(struct snapshot_pool *pool)
{
    list_free(pool->free);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void snapshot_pool_free(struct snapshot_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    bool last = pool->held == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        pool_destroy(pool);
}

struct snapshot *snapshot_new(struct snapshot_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct snapshot *snapshot = pool->free;
    if (snapshot) {
        pool->free = snapshot->next_free;
        pool->free_count--;
        pool->free_bytes -= snapshot_bytes(snapshot);
    }
    pool->held++;
    pthread_mutex_unlock(&pool->lock);

    if (!snapshot && !(snapshot = calloc(1, sizeof(*snapshot)))) {
        pthread_mutex_lock(&pool->lock);
        pool->held--;
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
    *snapshot = (struct snapshot){.arena = snapshot->arena,
                                  .event_list = snapshot->event_list,
                                  .event_capacity = snapshot->event_capacity,
                                  .pool = pool,
                                  .references = 1};
    return snapshot;
}

struct snapshot *snapshot_hold(struct snapshot *snapshot)
{
    __atomic_add_fetch(&snapshot->references, 1, __ATOMIC_RELAXED);
    return snapshot;
}

/* Ready for its next use, with no more memory than that is likely to need. */
static void empty(struct snapshot *snapshot)
{
    arena_recycle(&snapshot->arena);
    if (snapshot->event_capacity * sizeof(*snapshot->event_list) > SPARE_BYTES) {
        free(snapshot->event_list);
        snapshot->event_list = NULL;
        snapshot->event_capacity = 0;
    }
}

void snapshot_release(struct snapshot *snapshot)
{
    if (!snapshot || __atomic_sub_fetch(&snapshot->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;

    struct snapshot_pool *pool = snapshot->pool;

    empty(snapshot);
    size_t bytes = snapshot_bytes(snapshot);
    pthread_mutex_lock(&pool->lock);
    /* The last one in is the first one out: those below it may be of a crowd that has gone long ago. */
    struct snapshot *large = NULL;
    if (pool->free_bytes > 2 * bytes * FREE_MAX + SPARE_BYTES) {
        large = pool->free;
        pool->free = NULL;
        pool->free_count = 0;
        pool->free_bytes = 0;
    }
    bool fits =
        pool->free_count == 0 || (pool->free_count < FREE_MAX && pool->free_bytes + bytes <= FREE_BYTES);
    bool kept = !pool->closed && fits;
    if (kept) {
        snapshot->next_free = pool->free;
        pool->free = snapshot;
        pool->free_count++;
        pool->free_bytes += bytes;
    }
    pool->held--;
    bool last = pool->closed && pool->held == 0;
    pthread_mutex_unlock(&pool->lock);
    list_free(large);
    if (!kept)
        snapshot_free(snapshot);
    if (last)
        pool_destroy(pool);
}

size_t snapshot_bytes(const struct snapshot *snapshot)
{
    return sizeof(*snapshot) + arena_held(&snapshot->arena) +
           snapshot->event_capacity * sizeof(*snapshot->event_list);
}

int snapshot_set_columns(struct snapshot *snapshot, const struct snapshot_columns *columns)
{
    snapshot->columns = columns;
    snapshot->machine.numbers =
        arena_alloc(&snapshot->arena, (columns->machine.count + 1) * sizeof(*snapshot->machine.numbers));
    return snapshot->machine.numbers ? 0 : -ENOMEM;
}

struct snapshot_process *snapshot_make_processes(struct snapshot *snapshot, size_t count)
{
    size_t width = snapshot->columns->process.count;
    struct snapshot_process *processes = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*processes));
    double *numbers = arena_alloc(&snapshot->arena, (count * width + 1) * sizeof(*numbers));

    if (!processes || !numbers)
        return NULL;
    for (size_t i = 0; i < count; i++)
        processes[i].values.numbers = numbers + i * width;
    return processes;
}

struct snapshot_gpu *snapshot_make_gpus(struct snapshot *snapshot, size_t count)
{
    size_t width = snapshot->columns->device.count;
    struct snapshot_gpu *gpus = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*gpus));
    double *numbers = arena_alloc(&snapshot->arena, (count * width + 1) * sizeof(*numbers));

    if (!gpus || !numbers)
        return NULL;
    for (size_t i = 0; i < count; i++)
        gpus[i].values.numbers = numbers + i * width;
    return gpus;
}

const struct snapshot_process *snapshot_find(const struct snapshot *snapshot, pid_t pid)
{
    size_t low = 0, high = snapshot->process_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (snapshot->processes[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < snapshot->process_count && snapshot->processes[low].pid == pid ? &snapshot->processes[low]
                                                                                : NULL;
}

const char *membership_name(enum membership membership)
{
    static const char *const names[] = {[MEMBER_OF_NONE] = NULL,
                                        [MEMBER_BY_CGROUP] = "cgroup",
                                        [MEMBER_BY_EVENTS] = "events",
                                        [MEMBER_BY_DESCENT] = "descent",
                                        [MEMBER_BY_VARIABLE] = "variable"};
    return names[membership];
}

/* -- System calls -- */

static double call_seconds(const struct snapshot_process *process)
{
    double seconds = 0;

    for (size_t i = 0; i < process->call_count; i++)
        seconds += process->calls[i].seconds;
    return isfinite(seconds) ? seconds : 0;
}

bool snapshot_hotspot(const struct snapshot_process *process, char *out, size_t size)
{
    const struct snapshot_call *most = process->call_count > 0 ? process->calls : NULL;
    double total = most ? call_seconds(process) : 0;

    if (size > 0)
        out[0] = '\0';
    if (!most || total <= 0)
        return false;

    int length = snprintf(out, size, "%s %.0f%%", most->name, 100 * most->seconds / total);

    return length > 0 && (size_t)length < size;
}

static void calls_json(struct json *json, const struct snapshot_process *process)
{
    double total = call_seconds(process);

    json_key_object(json, "syscall_counts");
    for (size_t i = 0; i < process->call_count; i++)
        json_key_integer(json, process->calls[i].name, (int64_t)process->calls[i].count);
    json_object_end(json);
    /* Without any time there are no shares of it. */
    if (total <= 0)
        return;
    json_key_object(json, "syscall_time_pct");
    for (size_t i = 0; i < process->call_count; i++)
        json_key_decimal(json, process->calls[i].name, 100 * process->calls[i].seconds / total, 2);
    json_object_end(json);
}

/* -- JSON -- */

/* No number is no measurement. */
static void key_decimal(struct json *json, const char *key, double value, unsigned digits)
{
    if (isfinite(value))
        json_key_decimal(json, key, value, digits);
}

void snapshot_process_members_json(struct json *json, const struct columns *columns,
                                   const struct snapshot_process *process)
{
    const char state[2] = {process->state, '\0'};

    json_key_integer(json, "pid", process->pid);
    json_key_integer(json, "ppid", process->ppid);
    command_json(json, process->command, process->command_is_truncated);
    json_key_string(json, "state", state[0] ? state : NULL);
    value_row_json(json, columns, &process->values);
    if (process->has_age)
        key_decimal(json, "age_seconds", process->age_seconds, 2);
    json_key_integer(json, "start_ticks", (int64_t)process->start_ticks);
    if (process->job_id) {
        json_key_string(json, "job_id", process->job_id);
        if (process->has_sheet)
            json_key_integer(json, "sheet_num", process->sheet_num);
        json_key_string(json, "membership", membership_name(process->membership));
    }
    if (process->calls)
        calls_json(json, process);
}

static bool is_of(const char *of, const char *job_id)
{
    return !job_id || (of && strcmp(of, job_id) == 0);
}

static void processes_json(struct json *json, const struct snapshot *snapshot, const char *job_id)
{
    size_t zombies = 0;

    json_key_array(json, "processes");
    for (size_t i = 0; i < snapshot->process_count; i++) {
        if (!is_of(snapshot->processes[i].job_id, job_id))
            continue;
        json_object_begin(json);
        snapshot_process_members_json(json, &snapshot->columns->process, &snapshot->processes[i]);
        json_object_end(json);
    }
    json_array_end(json);
    json_key_array(json, "zombie_pids");
    for (size_t i = 0; i < snapshot->process_count; i++) {
        if (snapshot->processes[i].state == 'Z' && is_of(snapshot->processes[i].job_id, job_id)) {
            json_integer(json, snapshot->processes[i].pid);
            zombies++;
        }
    }
    json_array_end(json);
    json_key_integer(json, "zombie_count", (int64_t)(job_id ? zombies : snapshot->zombie_count));
}

void snapshot_gpus_json(struct json *json, const struct snapshot *snapshot)
{
    json_array_begin(json);
    for (size_t i = 0; i < snapshot->gpu_count; i++) {
        json_object_begin(json);
        json_key_integer(json, "index", snapshot->gpus[i].index);
        value_row_json(json, &snapshot->columns->device, &snapshot->gpus[i].values);
        json_object_end(json);
    }
    json_array_end(json);
}

void snapshot_progress_json(struct json *json, const struct snapshot *snapshot, const char *job_id)
{
    json_array_begin(json);
    for (size_t i = 0; i < snapshot->job_count; i++) {
        const struct snapshot_job *job = &snapshot->jobs[i];

        if (!is_of(job->job_id, job_id))
            continue;
        json_object_begin(json);
        json_key_string(json, "job_id", job->job_id);
        if (job->has_total)
            json_key_integer(json, "total_sheets", job->total_sheets);
        if (job->has_completed)
            json_key_integer(json, "last_completed_sheet", job->last_completed_sheet);
        if (job->has_current)
            json_key_integer(json, "current_sheet", job->current_sheet);
        json_key_string(json, "status", job->status);
        json_object_end(json);
    }
    json_array_end(json);
}

void snapshot_members_json(struct json *json, const struct snapshot *snapshot, const char *job_id)
{
    json_key_decimal(json, "timestamp", clock_timespec_seconds(snapshot->wall), 6);
    json_key_integer(json, "daemon_pid", snapshot->daemon_pid);
    value_row_json(json, &snapshot->columns->machine, &snapshot->machine);
    processes_json(json, snapshot, job_id);
    if (snapshot->gpus) {
        json_key(json, "gpus");
        snapshot_gpus_json(json, snapshot);
    }
    json_key_string(json, "pressure_level", snapshot->pressure_level);
    json_key_integer(json, "running_jobs", snapshot->running_jobs);
    json_key_integer(json, "active_sheets", snapshot->active_sheets);
    json_key(json, "job_progress");
    snapshot_progress_json(json, snapshot, job_id);
    key_decimal(json, "conductor_uptime_seconds", snapshot->uptime_seconds, 3);
}

void snapshot_json(struct json *json, const struct snapshot *snapshot, const char *job_id)
{
    json_object_begin(json);
    snapshot_members_json(json, snapshot, job_id);
    json_object_end(json);
}
