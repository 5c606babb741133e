#include "daemon/daemon.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "probe/privilege.h"
#include "store/history/reader.h"

/* Upkeep of the history: so much at once, that a snapshot never waits long for it. */
#define UPKEEP_SECONDS 0.05
/* What it did not take while its file was locked, or its disk full. */
#define HISTORY_BACKLOG_BYTES ((size_t)4 * 1024 * 1024)
#define HISTORY               "history"
/* How long clients have to read their last answers. */
#define LINGER_MS 1000

/* ---- the store, in the writer's thread ---- */

static int store_history(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    struct daemon *daemon = context;
    return history_write(daemon->history, snapshot, error);
}

static int store_jobs(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    struct daemon *daemon = context;
    return history_write_jobs(daemon->history, snapshot, error);
}

static int keep_history_up(void *context, struct metron_error *error)
{
    struct daemon *daemon = context;
    return history_maintain(daemon->history, clock_wall_seconds(), UPKEEP_SECONDS, error);
}

/* Capabilities are each thread's own, and files need none. */
static void drop_privilege(void)
{
    (void)privilege_drop(NULL, NULL);
}

static struct snapshot *take_events(void *owner)
{
    struct daemon *daemon = owner;
    struct snapshot *pending = watch_pending(daemon->watch);

    if (pending)
        daemon_publish_snapshot_events(daemon, pending, false);
    return watch_take_events(daemon->watch);
}

static void give_events_back(void *owner, struct snapshot *events)
{
    struct daemon *daemon = owner;
    watch_return_events(daemon->watch, events);
}

static int open_store(struct daemon *daemon, struct metron_error *error)
{
    const struct daemon_options *options = &daemon->options;
    struct writer_sink sinks[2];
    size_t count = 0;

    if (options->database) {
        const struct history_options history = {.path = options->database,
                                                .columns = options->columns,
                                                .full_hours = options->full_hours,
                                                .minute_days = options->minute_days,
                                                .event_days = options->event_days,
                                                .size_cap_bytes = options->database_cap_bytes,
                                                .upgrade = options->upgrade};
        int code = history_open(&history, &daemon->history, error);
        if (code < 0)
            return code;
        daemon->restores_later = code > 0; /* and why: the first write will report it */
        if (history_set_aside(daemon->history))
            log_warning("the history was damaged; it is kept as '%s', a new one is begun",
                        history_set_aside(daemon->history));
        sinks[count++] = (struct writer_sink){HISTORY, store_history,         keep_history_up,
                                              daemon,  HISTORY_BACKLOG_BYTES, store_jobs};
    }
    if (options->log_file) {
        daemon->log = snapshot_log_new(options->log_file, options->log_limit_bytes);
        if (!daemon->log)
            return error_set(error, -ENOMEM, "no memory for the log");
        sinks[count++] = (struct writer_sink){"log", snapshot_log_write, NULL, daemon->log, 0, NULL};
    }
    const struct writer_options writing = {.begin = drop_privilege};
    int code = count ? writer_new(sinks, count, &writing, &daemon->writer, error) : 0;
    if (code < 0)
        return code;
    const struct commits_events events = {take_events, give_events_back, daemon};
    daemon->commits =
        commits_new(&daemon->loop, daemon->jobs, daemon->history ? daemon->writer : NULL, &events);
    return daemon->commits ? 0 : error_set(error, -ENOMEM, "no memory for the daemon");
}

static void restore_jobs(struct daemon *daemon, double before);

static void tell_news(struct daemon *daemon)
{
    struct writer_news news;

    while (daemon->writer && writer_next_news(daemon->writer, &news)) {
        if (news.remark)
            log_warning("%s: %s", news.sink, news.error.message);
        else if (news.recovered && news.lost == 0)
            log_info("%s: works again after %.0f s; nothing is missing in it", news.sink,
                     news.failed_seconds);
        else if (news.recovered)
            log_info("%s: works again after %.0f s; %llu snapshot%s missing in it", news.sink,
                     news.failed_seconds, (unsigned long long)news.lost, news.lost == 1 ? " is" : "s are");
        else
            log_warning("%s: %s; sampling goes on", news.sink, news.error.message);
        if (strcmp(news.sink, HISTORY) == 0 && ((news.remark && news.error.code != -EFBIG) || news.lost_jobs))
            jobs_tell_all(daemon->jobs);
        if (strcmp(news.sink, HISTORY) == 0 && news.recovered && daemon->restores_later)
            restore_jobs(daemon, clock_wall_seconds() - watch_uptime(daemon->watch));
    }
}

/* ---- ticks ---- */

/* Processes of no job, likewise. */
static void leave_out_processes(struct snapshot *snapshot)
{
    size_t processes = 0;

    snapshot->zombie_count = 0;
    for (size_t i = 0; i < snapshot->process_count; i++)
        if (snapshot->processes[i].job_id) {
            snapshot->zombie_count += snapshot->processes[i].state == 'Z';
            snapshot->processes[processes++] = snapshot->processes[i];
        }
    snapshot->process_count = processes;
}

/* The job that the process of a lost one belongs to now; NULL: none, or the process has exited. */
static const struct job *find_successor(const struct daemon *daemon, const struct job *lost)
{
    const struct process *process = tree_find(watch_tree(daemon->watch), lost->pid);
    const struct job *job = process ? jobs_of_process(daemon->jobs, lost->pid) : NULL;

    return job && job != lost && process->start_ticks == lost->pid_start_ticks ? job : NULL;
}

static void tell_lost(void *context, const struct job *job)
{
    struct daemon *daemon = context;
    const struct job *successor = find_successor(daemon, job);

    if (successor)
        log_warning("job '%s' is lost: its process %d was moved to job '%s', and it has no other; "
                    "'metron job finish' records how it ended",
                    job->id, (int)job->pid, successor->id);
    else
        log_warning("job '%s' is lost: all its processes have exited and nobody reported how it ended; "
                    "'metron job finish' records it",
                    job->id);
    daemon_publish_finished(daemon, job);
}

static void write_snapshot(void *context, const char *job_id, struct strbuf *text)
{
    const struct daemon *daemon = context;
    struct json json;

    json_init(&json, text, 0);
    json_object_begin(&json);
    json_key_string(&json, "event", "monitor.snapshot");
    snapshot_members_json(&json, daemon->latest, job_id);
    json_object_end(&json);
}

static void store(struct daemon *daemon, struct snapshot *snapshot)
{
    if (daemon->writer && daemon->stopping) {
        writer_submit_last(daemon->writer, snapshot);
    } else if (daemon->writer && !writer_submit(daemon->writer, snapshot)) {
        jobs_tell_again(daemon->jobs, snapshot);
        watch_carry_events(daemon->watch);
        return;
    }
    jobs_told(daemon->jobs);
}

/* Somebody may have removed it: without it nobody can connect, or stop the daemon with metron. */
static void keep_socket(struct daemon *daemon)
{
    struct metron_error error = {0};
    int code = daemon->stopping ? 0 : server_mend_socket(daemon->server, &error);

    if (code > 0)
        log_warning("socket '%s' or its lock was removed; they are made anew", daemon->options.socket);
    else if (code < 0 && !daemon->unreachable)
        log_warning("the socket was removed, clients cannot connect: %s", error.message);
    daemon->unreachable = code < 0;
}

static void on_tick(void *owner, struct snapshot *snapshot)
{
    struct daemon *daemon = owner;

    daemon->patience_ns = DAEMON_PATIENCE_NS;
    if (daemon->unsettled)
        jobs_settle_restored(daemon->jobs, daemon->last_heard, tell_lost, daemon);
    daemon->unsettled = false;
    jobs_lose_abandoned(daemon->jobs, clock_monotonic_ns(),
                        (uint64_t)(daemon->options.lost_after * (double)NS_PER_SECOND), tell_lost, daemon);
    counting_tick(daemon->counting, snapshot);
    if (jobs_observe(daemon->jobs, snapshot) < 0)
        log_warning("no memory for all jobs of this snapshot");
    jobs_pss_tick(daemon->pss);
    if (daemon->options.jobs_only)
        leave_out_processes(snapshot);
    tell_news(daemon); /* may restore jobs, which brings events */
    keep_socket(daemon);
    daemon_publish_snapshot_events(daemon, snapshot, true);
    snapshot_release(daemon->latest);
    daemon->latest = snapshot_hold(snapshot);
    bus_publish_latest(daemon->bus, "monitor.snapshot", write_snapshot, daemon);
    store(daemon, snapshot); /* last: from now on it is the writer's too */
}

static void on_sampled(void *owner)
{
    struct daemon *daemon = owner;

    if (daemon->jobs)
        jobs_end_pass(daemon->jobs);
}

static void on_found(void *owner, struct process *process)
{
    struct daemon *daemon = owner;

    if (daemon->jobs)
        jobs_claim(daemon->jobs, process);
}

static void on_end(void *owner, const struct process *process)
{
    struct daemon *daemon = owner;
    counting_end(daemon->counting, process);
    if (daemon->jobs)
        jobs_note_end(daemon->jobs, process);
}

/* ---- begin and end ---- */

static int restore_job(void *context, const struct job *job)
{
    struct daemon *daemon = context;

    int code = jobs_restore(daemon->jobs, job);
    if (code < 0)
        log_warning("job '%s' of before cannot go on: %s", job->id, strerror(-code));
    return 0;
}

/* `before`: unix seconds; what was stored since is ours. */
static void restore_jobs(struct daemon *daemon, double before)
{
    struct history_reader *reader;
    struct metron_error error;

    if (!daemon->history)
        return;
    daemon->restores_later = false;
    daemon->unsettled = true;
    int code = history_reader_open(daemon->options.database, &reader, &error);
    if (code == 0) {
        if (history_read_last_time(reader, before, &daemon->last_heard, NULL) < 0)
            daemon->last_heard = clock_wall(); /* it has no snapshot, and therefore no job */
        code = history_read_running_jobs(reader, restore_job, daemon, &error);
        history_reader_close(reader);
    }
    if (code < 0)
        log_warning("jobs of before cannot go on: %s", error.message);
}

static int open_watch(struct daemon *daemon, struct metron_error *error)
{
    const struct daemon_options *options = &daemon->options;

    const struct watch_options watch = {
        .loop = &daemon->loop,
        .interval = options->interval,
        .all_users = options->all_users,
        .secrets = options->secrets,
        .events = options->events,
        .context = options->context,
        .registry = options->registry,
        .columns = options->columns,
        .owner = daemon,
        .on_tick = on_tick,
        .on_found = on_found,
        .on_end = on_end,
        .on_sampled = on_sampled,
    };

    daemon->watch = watch_new(&watch, error);
    if (!daemon->watch)
        return error && error->code ? error->code : -ENOMEM;
    daemon->jobs = jobs_new(watch_tree(daemon->watch));
    if (daemon->jobs && options->context->facts->boot_id[0])
        jobs_note_boot(daemon->jobs, options->context->facts->boot_id);
    if (daemon->jobs && !options->all_users)
        jobs_note_one_user(daemon->jobs);
    daemon->pss = daemon->jobs ? jobs_pss_new(&daemon->loop, daemon->jobs) : NULL;
    daemon->bus = bus_new();
    if (daemon->jobs && options->count_calls)
        daemon->counting =
            counting_new(&daemon->loop, watch_tree(daemon->watch), daemon->jobs, options->events);
    daemon->traces = traces_new(&daemon->loop, options->trace_folder);
    bool whole = daemon->pss && daemon->bus && daemon->traces && (daemon->counting || !options->count_calls);
    return whole ? 0 : error_set(error, -ENOMEM, "no memory for the daemon");
}

int daemon_new(const struct daemon_options *options, struct daemon **out, struct metron_error *error)
{
    struct daemon *daemon = calloc(1, sizeof(*daemon));
    int code = daemon ? uv_loop_init(&daemon->loop) : -ENOMEM;

    if (code < 0) {
        free(daemon);
        return error_set(error, code, "no memory for the daemon");
    }
    daemon->loop_open = true;
    daemon->options = *options;
    *out = daemon;
    return 0;
}

int daemon_open(struct daemon *daemon, struct metron_error *error)
{
    const struct server_options server = {.loop = &daemon->loop,
                                          .path = daemon->options.socket,
                                          .group = daemon->options.socket_group,
                                          .methods = daemon_methods,
                                          .method_count = daemon_method_count,
                                          .context = daemon};
    int code = open_watch(daemon, error);

    /* The socket first: whoever has it has the files as well. */
    if (code == 0)
        code = server_new(&server, &daemon->server, error);
    if (code == 0)
        code = open_store(daemon, error);
    if (code == 0 && !daemon->restores_later)
        restore_jobs(daemon, INFINITY);
    return code;
}

int daemon_run(struct daemon *daemon, struct metron_error *error)
{
    int code = watch_start(daemon->watch);

    if (code < 0)
        return error_set(error, code, "cannot watch: %s", uv_strerror(code));
    (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    return 0;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* All but the program's signals, which do not keep the loop running: without a handler they would kill it. */
static void close_unless_signal(uv_handle_t *handle, void *context)
{
    if (handle->type != UV_SIGNAL)
        close_handle(handle, context);
}

static void on_closed(void *context)
{
    struct daemon *daemon = context;

    daemon->server = NULL;
    uv_walk(&daemon->loop, close_unless_signal, NULL);
}

void daemon_stop(struct daemon *daemon, bool graceful)
{
    if (daemon->stopping)
        return;
    daemon->stopping = true;
    daemon->abrupt = !graceful;
    if (graceful) {
        jobs_tell_running(daemon->jobs); /* the next daemon goes on from here */
        watch_look(daemon->watch);
    }
    watch_stop(daemon->watch);
    if (graceful) {
        counting_stop(daemon->counting);
        traces_close(daemon->traces);
    }
    server_close(daemon->server, graceful ? LINGER_MS : 0, on_closed, daemon);
}

void daemon_set_jobs_only(struct daemon *daemon, bool jobs_only)
{
    daemon->options.jobs_only = jobs_only;
}

void daemon_set_interval(struct daemon *daemon, double seconds)
{
    daemon->options.interval = seconds;
    watch_set_interval(daemon->watch, seconds);
}

uv_loop_t *daemon_loop(struct daemon *daemon)
{
    return &daemon->loop;
}

/* What is queued is written; a sink that is stuck keeps what is its own. */
static int close_store(struct daemon *daemon)
{
    struct writer_figures last = {0};

    commits_free(daemon->commits);
    daemon->commits = NULL;
    int code = daemon->writer ? writer_stop(daemon->writer, -1, &last) : 0;

    daemon->writer = NULL;
    if (last.dropped)
        log_warning("%llu snapshots were not stored: the disk was too slow",
                    (unsigned long long)last.dropped);
    if (code == -ETIMEDOUT) {
        log_warning("the store does not answer: what was queued is lost");
        return code;
    }
    history_close(daemon->history);
    snapshot_log_free(daemon->log);
    return 0;
}

int daemon_free(struct daemon *daemon)
{
    if (!daemon)
        return 0;
    if (daemon->server) {
        server_close(daemon->server, 0, on_closed, daemon);
        (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    }
    int code = close_store(daemon);
    if (daemon->abrupt)
        return -ETIMEDOUT; /* straces leave when they see us gone */
    counting_free(daemon->counting);
    daemon->counting = NULL;
    jobs_pss_free(daemon->pss);
    jobs_free(daemon->jobs);
    watch_free(daemon->watch);
    bus_free(daemon->bus);
    snapshot_release(daemon->latest);
    recent_events_fini(&daemon->events);
    strbuf_fini(&daemon->text);
    if (daemon->loop_open) {
        uv_walk(&daemon->loop, close_handle, NULL);
        (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&daemon->loop);
    }
    traces_free(daemon->traces);
    free(daemon);
    return code;
}
