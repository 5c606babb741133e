#include "schema/event.h"

#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

const char *event_name(const struct event *event)
{
    static const char *const names[] = {[EVENT_SPAWN] = "spawn",
                                        [EVENT_EXIT] = "exit",
                                        [EVENT_KILL] = "kill",
                                        [EVENT_SIGNAL] = "signal",
                                        [EVENT_OOM] = "oom"};
    return event->type == EVENT_OF_JOB ? event->name : names[event->type];
}

void command_json(struct json *json, const char *command, bool is_truncated)
{
    json_key_string(json, "command", command);
    if (command && is_truncated)
        json_key_boolean(json, "command_truncated", true);
}

/* How it ended, or which signal it was sent: one number under one name. */
static void status_json(struct json *json, const struct event *event)
{
    bool has_status = event->has_status;
    int status = event->wait_status;

    if (has_status && WIFEXITED(status))
        json_key_integer(json, "exit_code", WEXITSTATUS(status));
    if (has_status && WIFSIGNALED(status))
        json_key_integer(json, "signal_num", WTERMSIG(status));
    else if (event->signal_num && (event->type == EVENT_SIGNAL || event->type == EVENT_KILL))
        json_key_integer(json, "signal_num", event->signal_num);
    if (has_status && WCOREDUMP(status))
        json_key_boolean(json, "core_dumped", true);
}

/* A process may call itself "kernel": the kernel is who has no pid. */
static void sender_json(struct json *json, const struct event_sender *sender)
{
    json_key_nonzero(json, "sender_pid", sender->pid);
    json_key_string(json, "sender", sender->pid ? sender->name : "kernel");
}

static void use_json(struct json *json, const struct event_use *use)
{
    json_key_number(json, "cpu_seconds", use->cpu_seconds);
    if (use->lifetime_seconds > 0)
        json_key_number(json, "lifetime_seconds", use->lifetime_seconds);
    if (use->max_rss_bytes)
        json_key_number(json, "max_rss", (double)use->max_rss_bytes);
    json_key_number(json, "read_bytes", (double)use->read_bytes);
    json_key_number(json, "write_bytes", (double)use->write_bytes);
    json_key_number(json, "minor_faults", (double)use->minor_faults);
    json_key_number(json, "major_faults", (double)use->major_faults);
}

/* All but when it happened. */
static void body_json(struct json *json, const struct event *event)
{
    static const char *const seen[] = {"sampled", "reaped", "event"};

    json_key_string(json, "event_type", event_name(event));
    json_key_nonzero(json, "pid", event->pid);
    json_key_string(json, "start_time", event->start_time);
    json_key_nonzero(json, "ppid", event->ppid);
    status_json(json, event);
    if (event->sender && (event->type == EVENT_SIGNAL || event->type == EVENT_KILL))
        sender_json(json, event->sender);
    if (event->use && event->type == EVENT_EXIT)
        use_json(json, event->use);
    command_json(json, event->command, event->command_is_truncated);
    json_key_string(json, "job_id", event->job_id);
    if (event->has_sheet)
        json_key_integer(json, "sheet_num", event->sheet_num);
    if (event->type != EVENT_OF_JOB)
        json_key_string(json, "seen", seen[event->seen]);
    if (event->data) {
        json_key(json, "data");
        json_raw(json, event->data, strlen(event->data));
    }
}

void event_json(struct json *json, const struct event *event)
{
    char stamp[CLOCK_ISO_SIZE];

    json_object_begin(json);
    json_key_string(json, "timestamp", clock_iso8601(event->wall, 6, stamp));
    body_json(json, event);
    json_object_end(json);
}

void event_json_unix(struct json *json, const struct event *event)
{
    json_object_begin(json);
    json_key_decimal(json, "timestamp", clock_timespec_seconds(event->wall), 6);
    body_json(json, event);
    json_object_end(json);
}
