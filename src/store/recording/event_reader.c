#include "store/recording/event_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

enum word {
    WORD_TIMESTAMP,
    WORD_TYPE,
    WORD_SEEN,
    WORD_START_TIME,
    WORD_COMMAND,
    WORD_ANOMALY,
    WORD_SEVERITY,
    WORD_DESCRIPTION,
    WORD_SENDER, /* the last of the texts */
    WORD_PID,
    WORD_PPID,
    WORD_SENDER_PID,
    WORD_EXIT_CODE,
    WORD_SIGNAL,
    WORD_CPU,
    WORD_LIFETIME,
    WORD_MAX_RSS,
    WORD_READ,
    WORD_WRITTEN,
    WORD_COUNT,
};

static enum word word_of(const struct json_text *key)
{
    static const char *const names[WORD_COUNT] = {
        [WORD_TIMESTAMP] = "timestamp", [WORD_TYPE] = "event_type",
        [WORD_SEEN] = "seen",           [WORD_START_TIME] = "start_time",
        [WORD_COMMAND] = "command",     [WORD_ANOMALY] = "anomaly_type",
        [WORD_SEVERITY] = "severity",   [WORD_DESCRIPTION] = "description",
        [WORD_SENDER] = "sender",       [WORD_PID] = "pid",
        [WORD_PPID] = "ppid",           [WORD_SENDER_PID] = "sender_pid",
        [WORD_EXIT_CODE] = "exit_code", [WORD_SIGNAL] = "signal_num",
        [WORD_CPU] = "cpu_seconds",     [WORD_LIFETIME] = "lifetime_seconds",
        [WORD_MAX_RSS] = "max_rss",     [WORD_READ] = "read_bytes",
        [WORD_WRITTEN] = "write_bytes",
    };

    for (int word = 0; word < WORD_COUNT; word++)
        if (json_text_is(key, names[word]))
            return (enum word)word;
    return WORD_COUNT;
}

static void set_text(struct event_reader *reader, enum word word, const struct json_text *value)
{
    struct recorded_event *event = &reader->event;
    const char *text = field_text_copy(&reader->arena, value->bytes, value->length);

    if (!text) {
        reader->no_memory = true;
        return;
    }
    switch (word) {
    case WORD_TIMESTAMP:
        reader->has_wall = recording_parse_time(text, &event->wall);
        break;
    case WORD_TYPE:
        event->type = text;
        break;
    case WORD_SEEN:
        event->seen = text;
        break;
    case WORD_START_TIME:
        event->start_time = text;
        break;
    case WORD_COMMAND:
        event->command = text;
        break;
    case WORD_ANOMALY:
        event->anomaly_type = text;
        break;
    case WORD_SEVERITY:
        event->severity = text;
        break;
    case WORD_DESCRIPTION:
        event->description = text;
        break;
    default:
        event->sender_name = text;
        break;
    }
}

/* Whole numbers only, and no others than fit. */
static bool whole(double number, double least, double most, int64_t *out)
{
    if (!(number >= least && number <= most))
        return false;
    *out = (int64_t)number;
    return (double)*out == number;
}

static void set_number(struct recorded_event *event, enum word word, double number)
{
    int64_t integer;

    switch (word) {
    case WORD_PID:
    case WORD_PPID:
    case WORD_SENDER_PID:
        if (whole(number, 0, 0x7fffffff, &integer))
            *(word == WORD_PID    ? &event->pid
              : word == WORD_PPID ? &event->ppid
                                  : &event->sender_pid) = integer;
        break;
    case WORD_EXIT_CODE:
        event->has_exit_code = whole(number, -0x7fffffff, 0x7fffffff, &integer);
        event->exit_code = event->has_exit_code ? (int)integer : 0;
        break;
    case WORD_SIGNAL:
        event->has_signal = whole(number, 0, 1024, &integer);
        event->signal_num = event->has_signal ? (int)integer : 0;
        break;
    case WORD_CPU:
        event->has_use = true;
        event->cpu_seconds = number;
        break;
    case WORD_LIFETIME:
        event->lifetime_seconds = number;
        break;
    case WORD_MAX_RSS:
        event->max_rss = number;
        break;
    case WORD_READ:
        event->read_bytes = number;
        break;
    default:
        event->write_bytes = number;
        break;
    }
}

/* -- Lines -- */

static bool parse_line(struct event_reader *reader, const struct json_text *line)
{
    struct recorded_event *event = &reader->event;
    struct json_text key, text;
    double number;

    arena_reset(&reader->arena);
    *event = (struct recorded_event){.sender_pid = -1};
    reader->has_wall = false;
    json_reader_reset(&reader->json, line->bytes, line->length);
    if (!json_enter_object(&reader->json))
        return false;
    while (json_next_key(&reader->json, &key)) {
        enum word word = word_of(&key);

        if (word <= WORD_SENDER && json_read_text(&reader->json, &text))
            set_text(reader, word, &text);
        else if (word > WORD_SENDER && word < WORD_COUNT && json_read_number(&reader->json, &number))
            set_number(event, word, number);
        else
            (void)json_skip(&reader->json);
    }
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
