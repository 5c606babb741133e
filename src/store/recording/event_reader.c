#include "store/recording/event_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"
#include "store/recording/fields.h"
#include "store/recording/line_reader.h"
#include "store/recording/reader.h"

struct event_reader {
    struct line_reader lines;
    struct json_reader json;
    struct arena arena; /* of the texts of this event */
    struct recorded_event event;
    bool has_wall, no_memory;
};

static int reader_new(struct event_reader **out, struct metron_error *error)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return error_set(error, -ENOMEM, "no memory to read events");
    line_reader_init(&(*out)->lines, "", 0);
    json_reader_init(&(*out)->json, "", 0);
    return 0;
}

int event_reader_open(const struct recording *recording, struct event_reader **out,
                      struct metron_error *error)
{
    int code;

    *out = NULL;
    if (!recording->events_path)
        return error_set(error, -ENOENT, "%s: the run has no events.jsonl beside it", recording->path);
    code = reader_new(out, error);
    if (code == 0)
        code = line_reader_open(&(*out)->lines, recording->events_path, error);
    if (code < 0) {
        event_reader_free(*out);
        *out = NULL;
    }
    return code;
}

int event_reader_open_bytes(const char *bytes, size_t length, struct event_reader **out,
                            struct metron_error *error)
{
    int code = reader_new(out, error);

    if (code == 0)
        line_reader_init(&(*out)->lines, bytes, length);
    return code;
}

/* -- One value -- */

enum kind { KIND_TEXT, KIND_TIME, KIND_BOOLEAN, KIND_NUMBER, KIND_PID, KIND_EXIT_CODE, KIND_SIGNAL };

#define MEMBER(NAME, KIND, FIELD)                                                                            \
    {                                                                                                        \
        (NAME), (KIND), offsetof(struct recorded_event, FIELD)                                               \
    }
static const struct member {
    const char *name;
    enum kind kind;
    size_t offset;
} members[] = {
    MEMBER("timestamp", KIND_TIME, wall),
    MEMBER("event_type", KIND_TEXT, type),
    MEMBER("seen", KIND_TEXT, seen),
    MEMBER("start_time", KIND_TEXT, start_time),
    MEMBER("command", KIND_TEXT, command),
    MEMBER("command_truncated", KIND_BOOLEAN, command_is_truncated),
    MEMBER("anomaly_type", KIND_TEXT, anomaly_type),
    MEMBER("severity", KIND_TEXT, severity),
    MEMBER("description", KIND_TEXT, description),
    MEMBER("sender", KIND_TEXT, sender_name),
    MEMBER("pid", KIND_PID, pid),
    MEMBER("ppid", KIND_PID, ppid),
    MEMBER("sender_pid", KIND_PID, sender_pid),
    MEMBER("exit_code", KIND_EXIT_CODE, exit_code),
    MEMBER("signal_num", KIND_SIGNAL, signal_num),
    MEMBER("cpu_seconds", KIND_NUMBER, cpu_seconds),
    MEMBER("lifetime_seconds", KIND_NUMBER, lifetime_seconds),
    MEMBER("max_rss", KIND_NUMBER, max_rss),
    MEMBER("read_bytes", KIND_NUMBER, read_bytes),
    MEMBER("write_bytes", KIND_NUMBER, write_bytes),
};

static void set_text(struct event_reader *reader, enum kind kind, void *field, const struct json_text *value)
{
    const char *text = arena_copy(&reader->arena, value->bytes, value->length);

    if (!text)
        reader->no_memory = true;
    else if (kind == KIND_TIME)
        reader->has_wall = recording_parse_time(text, field);
    else
        *(const char **)field = text;
}

/* Whole numbers only, and no others than fit. */
static bool whole(double number, double least, double most, int64_t *out)
{
    if (!(number >= least && number <= most))
        return false;
    *out = (int64_t)number;
    return (double)*out == number;
}

static void set_number(struct recorded_event *event, enum kind kind, void *field, double number)
{
    int64_t integer;

    switch (kind) {
    case KIND_PID:
        if (whole(number, 0, 0x7fffffff, &integer))
            *(int64_t *)field = integer;
        break;
    case KIND_EXIT_CODE:
        event->has_exit_code = whole(number, -0x7fffffff, 0x7fffffff, &integer);
        event->exit_code = event->has_exit_code ? (int)integer : 0;
        break;
    case KIND_SIGNAL:
        event->has_signal = whole(number, 0, 1024, &integer);
        event->signal_num = event->has_signal ? (int)integer : 0;
        break;
    default:
        *(double *)field = number;
        event->has_use = event->has_use || field == &event->cpu_seconds;
        break;
    }
}

static void read_member(struct event_reader *reader, const struct json_text *key)
{
    const struct member *member = members, *end = members + ARRAY_LENGTH(members);
    struct json_text text;
    double number;
    bool yes;

    while (member < end && !json_text_is(key, member->name))
        member++;
    void *field = member < end ? (char *)&reader->event + member->offset : NULL;
    if (field && member->kind <= KIND_TIME && json_read_text(&reader->json, &text))
        set_text(reader, member->kind, field, &text);
    else if (field && member->kind == KIND_BOOLEAN && json_read_boolean(&reader->json, &yes))
        *(bool *)field = yes;
    else if (field && member->kind > KIND_BOOLEAN && json_read_number(&reader->json, &number))
        set_number(&reader->event, member->kind, field, number);
    else
        (void)json_skip(&reader->json);
}

/* -- Lines -- */

static bool parse_line(struct event_reader *reader, const struct json_text *line)
{
    struct recorded_event *event = &reader->event;
    struct json_text key;

    arena_reset(&reader->arena);
    *event = (struct recorded_event){.sender_pid = -1};
    reader->has_wall = false;
    json_reader_reset(&reader->json, line->bytes, line->length);
    if (!json_enter_object(&reader->json))
        return false;
    while (json_next_key(&reader->json, &key))
        read_member(reader, &key);
    /* The kernel has no pid, and is the only sender without one. */
    if (event->sender_name && event->sender_pid < 0 && strcmp(event->sender_name, "kernel") == 0)
        event->sender_pid = 0;
    return json_reader_end(&reader->json, NULL) == 0 && event->type && reader->has_wall;
}

int event_reader_next(struct event_reader *reader, const struct recorded_event **out)
{
    struct json_text line;

    for (;;) {
        int code = line_reader_next_filled(&reader->lines, &line);

        if (code != 1)
            return code;

        bool whole_line = parse_line(reader, &line);

        if (reader->no_memory || reader->json.scratch.failed)
            return -ENOMEM;
        if (whole_line) {
            *out = &reader->event;
            return 1;
        }
        line_reader_count_damage(&reader->lines);
    }
}

size_t event_reader_damaged(const struct event_reader *reader, size_t *first_line)
{
    return line_reader_damaged(&reader->lines, first_line);
}

void event_reader_free(struct event_reader *reader)
{
    if (!reader)
        return;
    line_reader_fini(&reader->lines);
    json_reader_fini(&reader->json);
    arena_fini(&reader->arena);
    free(reader);
}
