/*
 * Processes of a Perfetto trace: what is remembered of them, their lifetimes as slices, and what happened to
 * them as instants. A slice is begun by the spawn event and ended by the exit event, each written as it is
 * read; one whose end is not known stays open, which Perfetto shows so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "publish/export_perfetto.h"
#include "publish/export_values.h"

struct perfetto_process *perfetto_find(const struct perfetto_state *state, const char *subject)
{
    struct perfetto_process *process;

    /* By as much of it as is kept. */
    HASH_FIND(hh, state->processes, subject, strnlen(subject, sizeof(process->subject) - 1), process);
    return process;
}

long long perfetto_pid(const char *subject)
{
    long long pid = strtoll(subject, NULL, 10);

    return pid > 0 ? pid : PERFETTO_RUN_PID;
}

struct perfetto_process *perfetto_new(struct perfetto_state *state, const char *subject)
{
    struct perfetto_process *process = calloc(1, sizeof(*process));

    if (!process) {
        state->failed = true;
        return NULL;
    }
    (void)snprintf(process->subject, sizeof(process->subject), "%s", subject);
    process->pid = perfetto_pid(subject);
    HASH_ADD_STR(state->processes, subject, process);
    if (!process->hh.tbl) {
        free(process);
        state->failed = true;
        return NULL;
    }
    return process;
}

double perfetto_sum(struct perfetto_state *state, struct perfetto_process *process, size_t key, double value)
{
    if (!process->sums)
        process->sums = calloc(state->key_count, sizeof(*process->sums));
    if (!process->sums) {
        state->failed = true;
        return value;
    }
    process->sums[key] += value;
    return process->sums[key];
}

void perfetto_level(struct perfetto_state *state, struct perfetto_process *process, size_t key)
{
    if (!process->levels)
        process->levels = calloc(state->key_count / 8 + 1, 1);
    if (process->levels)
        process->levels[key / 8] |= (unsigned char)(1U << key % 8);
    else
        state->failed = true;
}

void perfetto_gone(struct perfetto_process *process)
{
    free(process->sums);
    free(process->levels);
    process->sums = NULL;
    process->levels = NULL;
    process->previous_alive = NULL;
    process->alive = false;
}

/* The process of the records that an event is about: the same pid and start. */
static struct perfetto_process *find_started(const struct perfetto_state *state,
                                             const struct recorded_event *event)
{
    enum { REUSED_MAX = 64 };
    char subject[sizeof(((struct perfetto_process *)0)->subject)];

    for (int i = 1; i <= REUSED_MAX; i++) {
        if (i == 1)
            (void)snprintf(subject, sizeof(subject), "%" PRId64, event->pid);
        else
            (void)snprintf(subject, sizeof(subject), "%" PRId64 "#%d", event->pid, i);
        struct perfetto_process *process = perfetto_find(state, subject);
        if (!process)
            return NULL;
        if (!event->start_time || !process->start_time[0] ||
            strcmp(event->start_time, process->start_time) == 0)
            return process;
    }
    return NULL;
}

struct arguments {
    struct strbuf *out;
    bool begun;
};

static void begin_argument(struct arguments *arguments, const char *name)
{
    strbuf_addf(arguments->out, "%s\"%s\":", arguments->begun ? "," : ",\"args\":{", name);
    arguments->begun = true;
}

static void add_text(struct arguments *arguments, const char *name, const char *text)
{
    if (!text)
        return;
    begin_argument(arguments, name);
    export_json_text(arguments->out, text);
}

static void add_number(struct arguments *arguments, const char *name, double value)
{
    begin_argument(arguments, name);
    if (!export_number(arguments->out, value))
        strbuf_adds(arguments->out, "null");
}

static void add_details(struct strbuf *out, const struct recorded_event *event)
{
    struct arguments arguments = {.out = out};

    if (event->ppid > 0)
        add_number(&arguments, "ppid", (double)event->ppid);
    if (event->has_exit_code)
        add_number(&arguments, "exit_code", event->exit_code);
    if (event->has_signal)
        add_number(&arguments, "signal_num", event->signal_num);
    if (event->sender_pid >= 0)
        add_number(&arguments, "sender_pid", (double)event->sender_pid);
    add_text(&arguments, "sender", event->sender_name);
    if (event->has_use) {
        add_number(&arguments, "cpu_seconds", event->cpu_seconds);
        if (event->max_rss > 0)
            add_number(&arguments, "max_rss", event->max_rss);
        add_number(&arguments, "read_bytes", event->read_bytes);
        add_number(&arguments, "write_bytes", event->write_bytes);
    }
    add_text(&arguments, "seen", event->seen);
    strbuf_adds(out, arguments.begun ? "}}" : "}");
}

static void add_instant(struct export *export, const struct recorded_event *event, double at)
{
    const char *signal = event->has_signal ? sigabbrev_np(event->signal_num) : NULL;
    char name[64];

    if (strcmp(event->type, "oom") == 0)
        (void)snprintf(name, sizeof(name), "OOM kill");
    else if (signal)
        (void)snprintf(name, sizeof(name), "%s SIG%s",
                       strcmp(event->type, "kill") == 0 ? "killed by" : event->type, signal);
    else if (event->has_signal)
        (void)snprintf(name, sizeof(name), "%.40s %d", event->type, event->signal_num);
    else
        (void)snprintf(name, sizeof(name), "%.*s", (int)text_cut(event->type, sizeof(name) - 1), event->type);
    perfetto_open(export, 'i', event->pid > 0 ? event->pid : PERFETTO_RUN_PID, at);
    strbuf_adds(&export->out, event->pid > 0 ? ",\"s\":\"p\"" : ",\"s\":\"g\"");
    perfetto_name(export, name);
    add_details(&export->out, event);
}

int perfetto_event(struct export *export, const struct recorded_event *event)
{
    struct perfetto_state *state = export->state;

    if (state->start_wall <= 0)
        state->start_wall = event->wall;
    double at = 1e6 * (event->wall - state->start_wall);
    at = at > 0 ? at : 0;
    if (!event->type || !perfetto_is_time(at))
        return 0;
    /* Without its pid it is of no process's track. */
    if (event->pid > 0 && strcmp(event->type, "spawn") == 0) {
        struct perfetto_process *process = find_started(state, event);

        if (process)
            process->has_slice = true;
        if (event->command && !(process && process->command[0]))
            perfetto_metadata(export, event->pid, "process_name", "name", event->command);
        perfetto_open(export, 'B', event->pid, at);
        perfetto_name(export, process && process->command[0] ? process->command
                              : event->command               ? event->command
                                                             : "process");
        add_details(&export->out, event);
    } else if (event->pid > 0 && strcmp(event->type, "exit") == 0) {
        perfetto_open(export, 'E', event->pid, at);
        add_details(&export->out, event);
    } else {
        add_instant(export, event, at);
    }
    return 0;
}

void perfetto_sampled_lifetimes(struct export *export)
{
    const struct perfetto_state *state = export->state;

    for (const struct perfetto_process *process = state->processes; process; process = process->hh.next) {
        const double duration = process->last > process->first ? process->last - process->first : 0;

        if (process->has_slice || !perfetto_is_time(process->first) || !perfetto_is_time(duration))
            continue;
        perfetto_open(export, 'X', process->pid, process->first);
        strbuf_adds(&export->out, ",\"dur\":");
        (void)export_number(&export->out, duration);
        perfetto_name(export, process->command[0] ? process->command : "process");
        strbuf_adds(&export->out, ",\"args\":{\"seen\":\"sampled\"}}");
    }
}

static void process_free(struct perfetto_process *process)
{
    perfetto_gone(process);
    free(process);
}

void perfetto_fini(struct export *export)
{
    struct perfetto_state *state = export->state;

    if (!state)
        return;
    HASH_FREE_ALL(state->processes, process_free);
    free(state->sums);
    free(state);
}
