#include "schema/event.h"

#include <sys/wait.h>

#include "base/clock.h"

const char *event_type_name(enum event_type type)
{
    static const char *const names[] = {"spawn", "exit", "kill"};
    return names[type];
}

void event_json(struct json *json, const struct event *event)
{
    static const char *const seen[] = {"sampled", "reaped", "event"};
    char stamp[CLOCK_ISO_SIZE];

    json_object_begin(json);
    json_key_string(json, "timestamp", clock_iso8601(event->wall, 6, stamp));
    json_key_string(json, "event_type", event_type_name(event->type));
    json_key_integer(json, "pid", event->pid);
    json_key_string(json, "start_time", event->start_time);
    if (event->ppid)
        json_key_integer(json, "ppid", event->ppid);
    if (event->has_status && WIFEXITED(event->wait_status))
        json_key_integer(json, "exit_code", WEXITSTATUS(event->wait_status));
    if (event->has_status && WIFSIGNALED(event->wait_status))
        json_key_integer(json, "signal_num", WTERMSIG(event->wait_status));
    if (event->has_status && WCOREDUMP(event->wait_status))
        json_key_boolean(json, "core_dumped", true);
    json_key_string(json, "command", event->command);
    json_key_string(json, "seen", seen[event->seen]);
    json_object_end(json);
}
