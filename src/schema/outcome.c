#include "schema/outcome.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/units.h"

static void json_key_if(struct json *json, const char *key, bool is_true)
{
    if (is_true)
        json_key_boolean(json, key, true);
}

static void sender_json(struct json *json, const struct event_sender *sender)
{
    if (!sender)
        return;
    json_key_object(json, "sender");
    json_key_nonzero(json, "pid", sender->pid);
    json_key_string(json, "command", sender->pid ? sender->name : "kernel");
    json_object_end(json);
}

static void json_key_wall(struct json *json, const char *key, struct timespec wall, int digits)
{
    char stamp[CLOCK_ISO_SIZE];

    json_key_string(json, key, clock_iso8601(wall, digits, stamp));
}

static void received_json(struct json *json, const struct received *received)
{
    static const char *const origins[] = {NULL, "process", "outside", "terminal", "kernel", "library"};

    if (!received)
        return;
    json_key_object(json, "received");
    json_key_nonzero(json, "signal", received->signal);
    json_key_string(json, "from", origins[received->from]);
    if (received->from == FROM_PROCESS) {
        json_key_integer(json, "pid", received->pid);
        json_key_integer(json, "uid", received->uid);
        json_key_string(json, "command", received->command[0] ? received->command : NULL);
    }
    json_key_wall(json, "time", received->wall, 6);
    json_key_if(json, "after_exit", received->after_exit);
    json_object_end(json);
}

static void time_limit_json(struct json *json, const struct time_limit *limit)
{
    if (!limit->source)
        return;
    json_key_object(json, "time_limit");
    json_key_wall(json, "end", (struct timespec){.tv_sec = (time_t)limit->end_wall}, 0);
    json_key_string(json, "source", limit->source);
    json_object_end(json);
}

void outcome_json(struct json *json, const struct outcome *outcome)
{
    static const char *const kinds[] = {NULL,         "exited",      "signaled",     "oom",
                                        "time_limit", "not_started", "still_running"};
    static const char *const victims[] = {NULL, "command", "processes", "group"};
    static const char *const limits[] = {NULL, "own", "parent", "ancestor", "host"};

    if (outcome->kind == OUTCOME_UNKNOWN)
        return;
    json_key_object(json, "outcome");
    json_key_string(json, "kind", kinds[outcome->kind]);
    json_key_integer(json, "exit_code", outcome->exit_code);
    json_key_nonzero(json, "signal", outcome->signal);
    json_key_if(json, "core_dumped", outcome->core_dumped);
    sender_json(json, outcome->sender);
    received_json(json, outcome->received);
    time_limit_json(json, &outcome->time_limit);
    json_key_if(json, "ended_by_metron", outcome->ended_by_metron);
    json_key_if(json, "not_permitted", outcome->not_permitted);
    json_key_string(json, "error", outcome->error);
    json_key_string(json, "oom_victim", victims[outcome->oom_victim]);
    json_key_if(json, "oom_likely", outcome->oom_likely);
    json_key_nonzero(json, "oom_kills", (int64_t)outcome->oom_kills);
    json_key_string(json, "limit_of", limits[outcome->limit_of]);
    json_key_nonzero(json, "limit_bytes", (int64_t)outcome->limit_bytes);
    json_key_string(json, "limit_group", outcome->limit_group);
    json_object_end(json);
}

static void add_limit(struct strbuf *out, const struct outcome *outcome)
{
    char limit[UNIT_TEXT_SIZE] = "";

    if (outcome->limit_bytes)
        (void)unit_human(UNIT_BYTES, (double)outcome->limit_bytes, limit);
    switch (outcome->limit_of) {
    case LIMIT_OF_OWN:
        strbuf_addf(out, " at its own limit%s%s", limit[0] ? " of " : "", limit);
        break;
    case LIMIT_OF_PARENT:
    case LIMIT_OF_ANCESTOR:
        strbuf_addf(out, " at the limit of %s (%s%s%s)",
                    outcome->limit_of == LIMIT_OF_PARENT ? "its parent group" : "a group above its own",
                    limit, limit[0] ? " of " : "", outcome->limit_group ? outcome->limit_group : "?");
        break;
    case LIMIT_OF_HOST:
        strbuf_adds(out, ": the host was out of memory");
        break;
    case LIMIT_OF_UNKNOWN:
        strbuf_adds(out, "; whose limit it was cannot be seen from here");
        break;
    }
}

static void add_signal_name(struct strbuf *out, int signal)
{
    const char *name = sigabbrev_np(signal);

    if (name)
        strbuf_addf(out, "SIG%s", name);
    else
        strbuf_addf(out, "signal %d", signal);
}

static void add_process(struct strbuf *out, const char *name, pid_t pid)
{
    strbuf_addf(out, "%s (pid %d)", name && name[0] ? name : "a process", (int)pid);
}

static void add_origin(struct strbuf *out, const struct received *received)
{
    switch (received->from) {
    case FROM_NOBODY:
        break;
    case FROM_PROCESS:
        strbuf_adds(out, ", sent to metron by ");
        add_process(out, received->command, received->pid);
        break;
    case FROM_OUTSIDE:
        strbuf_adds(out, ", sent to metron from outside its container");
        break;
    case FROM_TERMINAL:
        strbuf_adds(out, " from the terminal");
        break;
    case FROM_KERNEL:
        strbuf_adds(out, ", sent to metron by the kernel");
        break;
    case FROM_LIBRARY:
        strbuf_adds(out, " on request of the program that started it");
        break;
    }
}

/* Behind how the command ended, which may be by another signal or by none. */
static void add_received(struct strbuf *out, const struct outcome *outcome)
{
    const struct received *received = outcome->received;

    if (received->after_exit)
        strbuf_adds(out, "; what it had left running ended");
    if (received->signal && (received->after_exit || received->signal != outcome->signal)) {
        strbuf_adds(out, " after ");
        add_signal_name(out, received->signal);
    }
    add_origin(out, received);
}

static void add_end(struct strbuf *out, const struct outcome *outcome)
{
    const struct event_sender *sender = outcome->sender;

    if (outcome->signal) {
        strbuf_adds(out, "killed by ");
        add_signal_name(out, outcome->signal);
        strbuf_adds(out, outcome->core_dumped ? ", core dumped" : "");
    } else {
        strbuf_addf(out, "exited with code %d", outcome->exit_code);
    }
    if (sender && sender->pid) {
        strbuf_adds(out, ", sent by ");
        add_process(out, sender->name, sender->pid);
    } else if (sender) {
        strbuf_adds(out, ", sent by the kernel");
    }
    if (outcome->not_permitted)
        strbuf_adds(out, "; metron was not permitted to end it");
    else if (outcome->received && !sender)
        add_received(out, outcome);
    if (outcome->time_limit.source && outcome->kind != OUTCOME_TIME_LIMIT)
        strbuf_adds(out, "; the time limit of its job was reached");
    if (outcome->oom_victim == OOM_VICTIM_NONE)
        return;
    strbuf_addf(out, "; the OOM killer killed %llu %s", (unsigned long long)outcome->oom_kills,
                outcome->oom_victim == OOM_VICTIM_GROUP ? "in its group" : "of its processes");
    add_limit(out, outcome);
}

const char *outcome_cause(struct arena *arena, const struct outcome *outcome)
{
    struct strbuf text = STRBUF_INIT;

    switch (outcome->kind) {
    case OUTCOME_UNKNOWN:
        return NULL;
    case OUTCOME_TIME_LIMIT:
        strbuf_adds(&text, "time limit reached: ");
        add_end(&text, outcome);
        break;
    case OUTCOME_EXITED:
    case OUTCOME_SIGNALED:
        add_end(&text, outcome);
        break;
    case OUTCOME_OOM:
        if (outcome->oom_likely) {
            strbuf_adds(&text, "killed by SIGKILL, likely by the OOM killer: it has killed on this machine "
                               "meanwhile");
            break;
        }
        strbuf_adds(&text, "killed by the OOM killer");
        add_limit(&text, outcome);
        break;
    case OUTCOME_NOT_STARTED:
        strbuf_addf(&text, "could not be started: %s", outcome->error ? outcome->error : "no memory");
        break;
    case OUTCOME_STILL_RUNNING:
        strbuf_adds(&text, outcome->not_permitted ? "still runs: metron was not permitted to end it"
                                                  : "does not end, not even at SIGKILL");
        break;
    }
    const char *cause = text.failed ? NULL : arena_strdup(arena, strbuf_text(&text));
    strbuf_fini(&text);
    return cause;
}
