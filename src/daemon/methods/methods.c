/*
 * What the daemon answers about itself and the machine. Jobs are in jobs.c.
 */
#include "daemon/methods/methods.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/daemon_state.h"

/* The rate of failures is that of jobs that ended so recently, and elevated if at least so many of them, and
 * more than half, failed or were lost. */
#define FAILURE_SECONDS 600
#define FAILURES_LEAST  3
/* A snapshot that was asked for is stored and published like any other. It is taken if the latest is older
 * than a second, or than the interval where that is shorter, and than so many times what the latest has
 * taken: those who ask all the time fill no history, and have at most a tenth of the daemon's time. */
#define FRESH_SECONDS 1.0
#define FRESH_FACTOR  10

static struct daemon *daemon_of(const struct call *call)
{
    return call_context(call);
}

static int answer_health(struct call *call, struct json *result)
{
    const struct daemon *daemon = daemon_of(call);

    json_object_begin(result);
    json_key_string(result, "status", "ok");
    json_key_integer(result, "pid", getpid());
    json_key_decimal(result, "uptime_seconds", watch_uptime(daemon->watch), 3);
    json_key_boolean(result, "shutting_down", daemon->stopping);
    json_object_end(result);
    return 0;
}

struct recent_ends {
    double now;
    unsigned all, failed;
};

static void count_recent_end(void *context, const struct job *job)
{
    struct recent_ends *ends = context;

    if (job->status == JOB_RUNNING || ends->now - clock_timespec_seconds(job->ended) > FAILURE_SECONDS)
        return;
    ends->all++;
    ends->failed += job->status == JOB_FAILED || job->status == JOB_LOST;
}

static void memory_json(const struct daemon *daemon, struct json *json, const char *key)
{
    const struct snapshot *latest = daemon->latest;
    double number;

    if (latest && value_row_find(&latest->columns->machine, &latest->machine, "daemon_rss_mb", &number))
        json_key_decimal(json, key, number, 3);
}

static int answer_ready(struct call *call, struct json *result)
{
    const struct daemon *daemon = daemon_of(call);
    struct recent_ends ends = {.now = clock_wall_seconds()};

    jobs_visit(daemon->jobs, count_recent_end, &ends);
    json_object_begin(result);
    json_key_string(result, "status", daemon->latest && !daemon->stopping ? "ready" : "not_ready");
    json_key_integer(result, "running_jobs", jobs_running(daemon->jobs));
    memory_json(daemon, result, "memory_mb");
    if (daemon->latest)
        json_key_integer(result, "child_processes", (int64_t)daemon->latest->process_count);
    json_key_boolean(result, "accepting_work", !daemon->stopping);
    json_key_boolean(result, "shutting_down", daemon->stopping);
    json_key_boolean(result, "failure_rate_elevated",
                     ends.failed >= FAILURES_LEAST && 2 * ends.failed > ends.all);
    json_key_decimal(result, "uptime_seconds", watch_uptime(daemon->watch), 3);
    json_object_end(result);
    return 0;
}

static void sink_json(const struct writer_sink_figures *sink, struct json *json)
{
    char key[64];

    if (sink->failing)
        json_key_string(json, sink->name, sink->last.message);
    (void)snprintf(key, sizeof(key), "%s_remark", sink->name);
    if (sink->remark.code)
        json_key_string(json, key, sink->remark.message);
}

static void store_json(struct daemon *daemon, struct json *json)
{
    struct writer_figures figures;
    struct writer_sink_figures sink;

    if (!daemon->writer)
        return;
    writer_figures(daemon->writer, &figures);
    json_key_object(json, "store");
    json_key_integer(json, "snapshots_written", (int64_t)figures.written);
    json_key_integer(json, "snapshots_dropped", (int64_t)figures.dropped);
    json_key_integer(json, "events_dropped",
                     (int64_t)(figures.dropped_events + watch_figures(daemon->watch).events_dropped));
    json_key_integer(json, "queue_length", (int64_t)figures.queue_length);
    json_key_decimal(json, "longest_delay_seconds", figures.longest_delay_seconds, 6);
    for (size_t i = 0; writer_sink_figures(daemon->writer, i, &sink); i++)
        sink_json(&sink, json);
    json_object_end(json);
}

static int answer_status(struct call *call, struct json *result)
{
    struct daemon *daemon = daemon_of(call);
    const struct watch_figures figures = watch_figures(daemon->watch);
    const struct snapshot *latest = daemon->latest;
    struct server_counts counts;

    server_count(daemon->server, &counts);
    json_object_begin(result);
    json_key_integer(result, "pid", getpid());
    json_key_decimal(result, "uptime_seconds", watch_uptime(daemon->watch), 3);
    json_key_integer(result, "running_jobs", jobs_running(daemon->jobs));
    json_key_integer(result, "total_jobs_active", jobs_running(daemon->jobs));
    memory_json(daemon, result, "memory_usage_mb");
    json_key_string(result, "version", daemon->options.version);
    json_key_decimal(result, "interval", daemon->options.interval, 3);
    json_key_integer(result, "ticks", (int64_t)figures.ticks);
    json_key_integer(result, "missed_ticks", (int64_t)figures.missed_ticks);
    json_key_decimal(result, "tick_seconds", figures.tick_seconds, 6);
    json_key_decimal(result, "longest_tick_seconds", figures.longest_tick_seconds, 6);
    json_key_decimal(result, "cpu_seconds", figures.cpu_seconds, 3);
    json_key_integer(result, "events_lost", (int64_t)figures.events_lost);
    json_key_string(result, "processes_seen_by", tree_method_name(tree_method(watch_tree(daemon->watch))));
    if (tree_method(watch_tree(daemon->watch)) != TREE_BPF && daemon->options.events->why_no_bpf.code)
        json_key_string(result, "why_no_kernel_events", daemon->options.events->why_no_bpf.message);
    json_key_string(result, "syscalls_counted_by", counting_method(daemon->counting));
    if (latest)
        json_key_integer(result, "processes", (int64_t)latest->process_count);
    json_key_integer(result, "clients", (int64_t)counts.clients);
    json_key_nonzero(result, "socket_remade", (int64_t)counts.remade);
    store_json(daemon, result);
    json_object_end(result);
    return 0;
}

static bool is_fresh(const struct daemon *daemon)
{
    const double interval = daemon->options.interval;
    const double age = daemon->latest ? watch_uptime(daemon->watch) - daemon->latest->uptime_seconds : 0;

    return daemon->latest && (age < (interval < FRESH_SECONDS ? interval : FRESH_SECONDS) ||
                              age < FRESH_FACTOR * watch_figures(daemon->watch).tick_seconds);
}

static int answer_top(struct call *call, struct json *result)
{
    const struct daemon *daemon = daemon_of(call);
    const char *job_id = NULL;
    bool fresh = false;

    if (call_text(call, "job_id", &job_id) == PARAM_WRONG)
        return call_wrong(call, "job_id", "the name of a job");
    if (call_boolean(call, "fresh", &fresh) == PARAM_WRONG)
        return call_wrong(call, "fresh", "true or false");
    if (fresh && !is_fresh(daemon))
        watch_look(daemon->watch);
    if (!daemon->latest)
        return call_fail(call, RPC_EXHAUSTED, "ask again in a moment", "no snapshot has been taken yet");
    if (job_id && !jobs_find(daemon->jobs, job_id))
        return call_no_such_job(call, job_id);
    snapshot_json(result, daemon->latest, job_id);
    return 0;
}

static int answer_top_stream(struct call *call, struct json *result)
{
    json_object_begin(result);
    json_key_string(result, "jsonl_path", daemon_of(call)->options.log_file);
    json_object_end(result);
    return 0;
}

static int answer_stream(struct call *call, struct json *result)
{
    struct daemon *daemon = daemon_of(call);
    struct bus_subscription wanted = {0};
    bool snapshots = true;

    if (call_texts(call, "events", &wanted.events, &wanted.event_count) == PARAM_WRONG)
        return call_wrong(call, "events", "an array of names such as \"sheet.started\" or \"sheet.*\"");
    if (call_text(call, "job_id", &wanted.job_id) == PARAM_WRONG)
        return call_wrong(call, "job_id", "the name of a job");
    if (call_boolean(call, "snapshots", &snapshots) == PARAM_WRONG)
        return call_wrong(call, "snapshots", "true or false");
    wanted.without_latest = !snapshots;
    (void)result;
    return call_subscribe(call, daemon->bus, &wanted);
}

static int answer_config(struct call *call, struct json *result)
{
    const struct daemon_options *options = &daemon_of(call)->options;

    options->config_json(result, options->config_context);
    return 0;
}

static int answer_shutdown(struct call *call, struct json *result)
{
    bool graceful = true;

    if (call_boolean(call, "graceful", &graceful) == PARAM_WRONG)
        return call_wrong(call, "graceful", "true or false");
    json_object_begin(result);
    json_key_string(result, "status", "shutting_down");
    json_key_boolean(result, "graceful", graceful);
    json_object_end(result);
    daemon_stop(daemon_of(call), graceful);
    return 0;
}

void daemon_context_json(const struct daemon *daemon, struct json *json, pid_t pid)
{
    const struct snapshot *latest = daemon->latest;
    const struct snapshot_process *process = latest && pid ? snapshot_find(latest, pid) : NULL;
    char hotspot[128];
    double number;

    if (process && value_row_find(&latest->columns->process, &process->values, "rss_mb", &number))
        json_key_decimal(json, "rss_mb", number, 1);
    if (process && value_row_find(&latest->columns->process, &process->values, "cpu_percent", &number))
        json_key_decimal(json, "cpu_pct", number, 1);
    if (process && snapshot_hotspot(process, hotspot, sizeof(hotspot)))
        json_key_string(json, "syscall_hotspot", hotspot);
    if (latest && value_row_find(&latest->columns->machine, &latest->machine, "daemon_rss_mb", &number))
        json_key_decimal(json, "daemon_rss_mb", number, 1);
    if (pid)
        return;
    json_key_integer(json, "running_jobs", jobs_running(daemon->jobs));
    json_key_integer(json, "active_sheets", jobs_active_sheets(daemon->jobs));
}

static int answer_context(struct call *call, struct json *result)
{
    int64_t pid = 0;

    if (call_integer(call, "pid", &pid) == PARAM_WRONG || pid < 0 || pid > INT32_MAX)
        return call_wrong(call, "pid", "a process's number");
    json_object_begin(result);
    daemon_context_json(daemon_of(call), result, (pid_t)pid);
    json_object_end(result);
    return 0;
}

const struct call_method daemon_methods[] = {
    {.name = "daemon.health", .answer = answer_health, .while_closing = true},
    {.name = "daemon.ready", .answer = answer_ready, .while_closing = true},
    {.name = "daemon.status", .answer = answer_status},
    {.name = "daemon.top", .answer = answer_top},
    {.name = "daemon.top.stream", .answer = answer_top_stream},
    {.name = "daemon.events", .answer = answer_last_events},
    {.name = "daemon.snapshots", .answer = answer_snapshots},
    {.name = "process.history", .answer = answer_process_history},
    {.name = "daemon.monitor.stream", .answer = answer_stream},
    {.name = "daemon.config", .answer = answer_config},
    {.name = "daemon.shutdown", .answer = answer_shutdown},
    {.name = "context.get", .answer = answer_context},
    {.name = "job.start", .answer = answer_job_start},
    {.name = "job.finish", .answer = answer_job_finish},
    {.name = "job.list", .answer = answer_job_list},
    {.name = "job.status", .answer = answer_job_status},
    {.name = "job.profile", .answer = answer_job_profile},
    {.name = "job.report", .answer = answer_job_report},
    {.name = "event.publish", .answer = answer_event_publish},
    {.name = "trace.start", .answer = answer_trace_start},
    {.name = "trace.stop", .answer = answer_trace_stop},
};
const size_t daemon_method_count = sizeof(daemon_methods) / sizeof(daemon_methods[0]);
