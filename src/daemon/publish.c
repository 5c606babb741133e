/*
 * Events: those of processes, as a snapshot has them, and what happens to jobs and sheets. All of them go to
 * the subscribers of the bus and to the last ones that daemon.events answers with; the snapshot takes them to
 * the store, or a commit does before it (daemon/commits.h).
 *
 * What happens to a job is published at once. The events of processes that came before it are published
 * first, so that the exit of a job's process precedes the end of the job; but those of processes that may yet
 * be found to be a job's wait for the next pass.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "daemon/daemon_state.h"
#include "tree/groups.h"

/* What comes with the event of a sheet is published whole; remembered and stored only if it is no longer. */
#define RECORDED_DATA_MAX 4096

/* As daemon.events gives it: into the ring, and into `text`. */
static void remember_event(struct daemon *daemon, const struct event *event, struct strbuf *text)
{
    struct strbuf flat = STRBUF_INIT;
    struct json json;

    json_init(&json, &flat, 0);
    event_json_unix(&json, event);
    json_init(&json, text, 0);
    recent_event_json(&json, strbuf_text(&flat), flat.length);
    text->failed |= flat.failed;
    if (!text->failed)
        recent_events_add(&daemon->events, strbuf_text(text), text->length);
    strbuf_fini(&flat);
}

/* A process's event has its name also as `event`, as all others do. */
static void publish_event(struct daemon *daemon, const struct event *event)
{
    const char *name = event_name(event);
    struct strbuf text = STRBUF_INIT;

    remember_event(daemon, event, &text);
    if (!text.failed && bus_is_wanted(daemon->bus, name, event->job_id)) {
        strbuf_reset(&daemon->text);
        strbuf_addf(&daemon->text, "{\"event\":\"%s\",%s", name, text.data + 1);
        if (!daemon->text.failed)
            (void)bus_publish(daemon->bus, name, event->job_id, strbuf_text(&daemon->text),
                              daemon->text.length);
    }
    strbuf_fini(&text);
}

/* Those of no job are watched, since they may become a job's, and not shown. Of those that have been
 * published they are left out already. Returns where those before `end` end then. */
static size_t leave_out_events(struct snapshot *snapshot, size_t end)
{
    struct event *events = snapshot->events;
    size_t kept = snapshot->told_count, behind = snapshot->event_count - end;

    for (size_t i = kept; i < end; i++)
        if (events[i].job_id)
            events[kept++] = events[i];
    if (behind > 0)
        (void)memmove(&events[kept], &events[end], behind * sizeof(*events));
    snapshot->event_count = kept + behind;
    return kept;
}

/* Whether the event is of a process that no pass has read yet: it may be a job's by its variable, which the
 * kernel sets up only at the end of exec. */
static bool is_undecided(const struct daemon *daemon, const struct event *event)
{
    const struct process *process = event->job_id ? NULL : tree_find(watch_tree(daemon->watch), event->pid);

    return process && process->passes == 0 && !process->group && !process->announced_exit &&
           event->start_time && strcmp(event->start_time, process->start_time) == 0;
}

/* Moves those events behind all others, and returns where they begin. */
static size_t put_off_undecided(const struct daemon *daemon, struct snapshot *snapshot)
{
    struct event *events = snapshot->events, *put_off = NULL;
    size_t kept = snapshot->told_count, count = 0, capacity = 0;

    if (jobs_running(daemon->jobs) == 0)
        return snapshot->event_count;
    for (size_t i = kept; i < snapshot->event_count; i++)
        if (is_undecided(daemon, &events[i]) && ARRAY_RESERVE(put_off, capacity, count + 1) == 0)
            put_off[count++] = events[i];
        else
            events[kept++] = events[i];
    if (count > 0)
        (void)memcpy(&events[kept], put_off, count * sizeof(*events));
    free(put_off);
    return kept;
}

/* One that was born in a job and found to be its only later: the event of its birth named none yet. */
static void label_events(struct daemon *daemon, struct snapshot *snapshot)
{
    for (size_t i = snapshot->told_count; i < snapshot->event_count; i++) {
        struct event *event = &snapshot->events[i];
        const struct process *process =
            event->job_id ? NULL : tree_find(watch_tree(daemon->watch), event->pid);

        if (!process || !process->group || process->joined_ns != process->subject.born_ns ||
            !event->start_time || strcmp(event->start_time, process->start_time) != 0)
            continue;
        group_label(process, event);
        event->job_id = arena_strdup(&snapshot->arena, event->job_id);
    }
}

/* In a storm only those that will be remembered are worth a text, unless somebody listens. */
void daemon_publish_snapshot_events(struct daemon *daemon, struct snapshot *snapshot, bool is_tick)
{
    label_events(daemon, snapshot);
    size_t end = is_tick ? snapshot->event_count : put_off_undecided(daemon, snapshot);
    if (daemon->options.jobs_only)
        end = leave_out_events(snapshot, end);
    size_t first = snapshot->told_count;
    if (end - first > RECENT_EVENTS_MAX && bus_subscriber_count(daemon->bus) == 0)
        first = end - RECENT_EVENTS_MAX;
    for (size_t i = first; i < end; i++)
        publish_event(daemon, &snapshot->events[i]);
    snapshot->told_count = end;
}

/* Behind all that happened to processes before. */
static void record_event(struct daemon *daemon, const struct event *event)
{
    struct snapshot *pending = watch_pending(daemon->watch);
    struct strbuf text = STRBUF_INIT;

    if (!pending)
        return;
    daemon_publish_snapshot_events(daemon, pending, false);
    if (daemon->history)
        watch_add_event(daemon->watch, event);
    remember_event(daemon, event, &text);
    strbuf_fini(&text);
}

void daemon_await_exit(struct daemon *daemon, const char *job_id, bool has_sheet, int64_t sheet_num)
{
    const struct job *job = jobs_find(daemon->jobs, job_id);
    pid_t pid = job ? job->pid : 0;

    for (size_t i = 0; job && has_sheet && i < job->sheet_count; i++)
        if (job->sheets[i].number == sheet_num)
            pid = job->sheets[i].pid;
    if (pid)
        tree_await_exit(watch_tree(daemon->watch), pid, &daemon->patience_ns);
}

static bool is_recorded(const char *event)
{
    enum sheet_event sheet;

    return sheet_event_of(event, strlen(event), &sheet) || strcmp(event, "job.started") == 0 ||
           strcmp(event, "job.finished") == 0;
}

/* `monitor.event` of the format: what happened, to whom, and what is known of it. */
void daemon_publish(struct daemon *daemon, const char *event, const char *job_id, bool has_sheet,
                    int64_t sheet_num, const char *data)
{
    const struct event recorded = {.type = EVENT_OF_JOB,
                                   .name = event,
                                   .wall = clock_wall(),
                                   .job_id = job_id,
                                   .has_sheet = has_sheet,
                                   .sheet_num = sheet_num,
                                   .data = data && strlen(data) <= RECORDED_DATA_MAX ? data : NULL};
    struct json json;

    if (is_recorded(event))
        record_event(daemon, &recorded);
    if (!bus_is_wanted(daemon->bus, event, job_id))
        return;
    strbuf_reset(&daemon->text);
    json_init(&json, &daemon->text, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", event);
    json_key_decimal(&json, "timestamp", clock_timespec_seconds(recorded.wall), 6);
    json_key_string(&json, "job_id", job_id);
    if (has_sheet)
        json_key_integer(&json, "sheet_num", sheet_num);
    if (data) {
        json_key(&json, "data");
        rpc_raw_value(&json, &(struct json_text){data, strlen(data)});
    }
    json_object_end(&json);
    if (!daemon->text.failed)
        (void)bus_publish(daemon->bus, event, job_id, strbuf_text(&daemon->text), daemon->text.length);
}

void daemon_publish_finished(struct daemon *daemon, const struct job *job)
{
    struct strbuf data = STRBUF_INIT;
    struct json json;

    json_init(&json, &data, 0);
    json_object_begin(&json);
    json_key_string(&json, "outcome", job_status_names[job->status]);
    job_end_json(&json, &job->usage, job->ended);
    json_object_end(&json);
    if (!data.failed)
        daemon_publish(daemon, "job.finished", job->id, false, 0, strbuf_text(&data));
    strbuf_fini(&data);
}
