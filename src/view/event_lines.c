/*
 * An event of a process is called "exit", one of a job or sheet "sheet.started": of that only the last word
 * is shown, because the other columns say whom it is about.
 */
#include "view/event_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_reader.h"
#include "view/command_line.h"
#include "view/shown_text.h"
#include "view/text_width.h"

enum { TIME_WIDTH = 12, WHAT_WIDTH = 9, PID_WIDTH = 7, JOB_WIDTH = 14, HOW_WIDTH = 9, GAP = 2 };
#define COMMAND_COLUMN    (TIME_WIDTH + WHAT_WIDTH + PID_WIDTH + JOB_WIDTH + HOW_WIDTH + 5 * GAP)
#define COMMAND_NARROWEST 8
#define DOUBLE_ERROR_MS   0.0005 /* what a double of unix seconds is short of its text at most */

/* As much of an event as is shown; an absent number is NAN. */
struct happening {
    struct strbuf what, job, sender, command; /* printable; empty: absent */
    double timestamp, pid, sheet, exit_code, signal, sender_pid;
    bool core_dumped;
};

static void take_member(struct json_reader *reader, const struct json_text *key, struct happening *event)
{
    const struct {
        const char *name;
        double *number;
        struct strbuf *text;
    } members[] = {{"timestamp", &event->timestamp, NULL}, {"pid", &event->pid, NULL},
                   {"sheet_num", &event->sheet, NULL},     {"exit_code", &event->exit_code, NULL},
                   {"signal_num", &event->signal, NULL},   {"sender_pid", &event->sender_pid, NULL},
                   {"event", NULL, &event->what},          {"event_type", NULL, &event->what},
                   {"job_id", NULL, &event->job},          {"sender", NULL, &event->sender},
                   {"command", NULL, &event->command}};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!json_text_is(key, members[i].name))
            continue;
        if (members[i].text)
            shown_text_read(reader, members[i].text);
        else if (!json_read_number(reader, members[i].number))
            (void)json_skip(reader);
        return;
    }
    if (!json_text_is(key, "core_dumped") || !json_read_boolean(reader, &event->core_dumped))
        (void)json_skip(reader);
}

/* What a job runner puts into `data` is its own: only the process is taken from it. */
static void take_one(struct json_reader *reader, const struct json_text *key, struct happening *event)
{
    struct json_text inner;

    if (!json_text_is(key, "data") || !json_enter_object(reader)) {
        take_member(reader, key, event);
        return;
    }
    while (json_next_key(reader, &inner)) {
        if (json_text_is(&inner, "pid"))
            take_member(reader, &inner, event);
        else
            (void)json_skip(reader);
    }
}

static bool read_event(const char *json, size_t length, struct happening *event)
{
    struct json_reader reader;
    struct json_text key;

    *event = (struct happening){
        .timestamp = NAN, .pid = NAN, .sheet = NAN, .exit_code = NAN, .signal = NAN, .sender_pid = NAN};
    json_reader_init(&reader, json, length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            if (!json_text_is(&key, "details") || !json_enter_object(&reader))
                take_one(&reader, &key, event);
            else
                while (json_next_key(&reader, &key))
                    take_one(&reader, &key, event);
        }
    bool good = json_reader_end(&reader, NULL) == 0 && event->what.length > 0;
    json_reader_fini(&reader);
    return good;
}

static void release(struct happening *event)
{
    strbuf_fini(&event->what);
    strbuf_fini(&event->job);
    strbuf_fini(&event->sender);
    strbuf_fini(&event->command);
}

/* Left-aligned, and a gap. On a screen it is cut to its column; in a file it may push the others. */
static void add_cell(const struct event_lines *lines, struct strbuf *out, const char *text, size_t width)
{
    size_t length = strlen(text), taken;

    if (lines->width)
        taken = text_fit(out, text, length, width);
    else {
        strbuf_adds(out, text);
        taken = text_width(text, length);
    }
    strbuf_addf(out, "%*s", (int)(taken < width ? width - taken : 0) + GAP, "");
}

/* The time, and before it the day where that is another one than of the line before. */
static void add_time(struct event_lines *lines, struct strbuf *out, double timestamp)
{
    char text[64] = "-";
    struct tm broken;

    if (clock_local(timestamp, &broken)) {
        if (lines->day != broken.tm_yday) {
            (void)strftime(text, sizeof(text), "%Y-%m-%d\n", &broken);
            strbuf_adds(out, text);
            lines->day = broken.tm_yday;
        }
        (void)snprintf(text, sizeof(text), "%02d:%02d:%02d.%03d", broken.tm_hour, broken.tm_min,
                       broken.tm_sec, (int)((timestamp - floor(timestamp)) * 1000 + DOUBLE_ERROR_MS));
    }
    add_cell(lines, out, text, TIME_WIDTH);
}

/* How it ended, or which signal it was. */
static void add_how(const struct event_lines *lines, struct strbuf *out, const struct happening *event)
{
    char text[32] = "";
    const char *name = event->signal > 0 && event->signal < 128 ? sigabbrev_np((int)event->signal) : NULL;

    if (name)
        (void)snprintf(text, sizeof(text), "SIG%s", name);
    else if (event->signal >= 0)
        (void)snprintf(text, sizeof(text), "signal %.0f", event->signal);
    else if (event->exit_code >= 0)
        (void)snprintf(text, sizeof(text), "code %.0f", event->exit_code);
    add_cell(lines, out, text, HOW_WIDTH);
}

/* The sender of a signal precedes the command, of which a long one is cut. */
static void add_command(const struct event_lines *lines, struct strbuf *out, const struct happening *event)
{
    struct strbuf text = STRBUF_INIT;
    size_t room =
        lines->width > COMMAND_COLUMN + COMMAND_NARROWEST ? lines->width - COMMAND_COLUMN : COMMAND_NARROWEST;
    size_t used;

    if (event->sender.length > 0 || event->sender_pid >= 0)
        strbuf_adds(&text, "from");
    if (event->sender.length > 0)
        strbuf_addf(&text, " %s", strbuf_text(&event->sender));
    if (event->sender_pid >= 0)
        strbuf_addf(&text, " %.0f", event->sender_pid);
    if (text.length > 0)
        strbuf_adds(&text, event->core_dumped ? ", core dumped: " : ": ");
    else if (event->core_dumped)
        strbuf_adds(&text, "core dumped: ");
    used = lines->width ? text_fit_tail(out, strbuf_text(&text), text.length, room, 0) : 0;
    if (lines->width)
        (void)command_fit(out, strbuf_text(&event->command), event->command.length, room - used, false);
    else
        strbuf_addf(out, "%s%s", strbuf_text(&text), strbuf_text(&event->command));
    strbuf_fini(&text);
}

static void end_line(struct strbuf *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    strbuf_addc(out, '\n');
}

void event_lines_begin(struct event_lines *lines, size_t width, time_t now, struct strbuf *out)
{
    struct tm broken;

    *lines = (struct event_lines){.width = width, .day = localtime_r(&now, &broken) ? broken.tm_yday : -1};
    strbuf_addf(out, "%-*s  %-*s  %*s  %-*s  %-*s  COMMAND\n", TIME_WIDTH, "TIME", WHAT_WIDTH, "WHAT",
                PID_WIDTH, "PID", JOB_WIDTH, "JOB/SHEET", HOW_WIDTH, "HOW");
}

bool event_lines_add(struct event_lines *lines, const char *json, size_t length, struct strbuf *out)
{
    struct strbuf job = STRBUF_INIT;
    struct happening event;
    char pid[32] = "-";

    if (!read_event(json, length, &event)) {
        release(&event);
        return false;
    }
    const char *dot = strrchr(strbuf_text(&event.what), '.');
    add_time(lines, out, event.timestamp);
    add_cell(lines, out, dot && dot[1] ? dot + 1 : strbuf_text(&event.what), WHAT_WIDTH);
    if (event.pid >= 0)
        (void)snprintf(pid, sizeof(pid), "%.0f", event.pid);
    strbuf_addf(out, "%*s  ", PID_WIDTH, pid);
    strbuf_adds(&job, event.job.length > 0 ? strbuf_text(&event.job) : "-");
    if (event.sheet >= 0)
        strbuf_addf(&job, "/%.0f", event.sheet);
    add_cell(lines, out, strbuf_text(&job), JOB_WIDTH);
    add_how(lines, out, &event);
    add_command(lines, out, &event);
    end_line(out);
    strbuf_fini(&job);
    release(&event);
    return true;
}

bool event_is_of_job(const char *json, size_t length, const char *job)
{
    struct strbuf text = STRBUF_INIT;
    bool found = json_find_text(&(struct json_text){json, length}, "job_id", &text) &&
                 strcmp(strbuf_text(&text), job) == 0;

    strbuf_fini(&text);
    return found;
}
