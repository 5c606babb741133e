#include "view/daemon_status.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "base/units.h"

enum figure {
    PID,
    UPTIME,
    JOBS,
    MEMORY,
    INTERVAL,
    TICKS,
    MISSED,
    TICK,
    LONGEST,
    CPU,
    LOST,
    PROCESSES,
    CLIENTS,
    WRITTEN,
    DROPPED,
    QUEUED,
    DELAY,
    EVENTS_DROPPED,
    FIGURE_COUNT
};

static const char *const names[FIGURE_COUNT] = {
    [PID] = "pid",
    [UPTIME] = "uptime_seconds",
    [JOBS] = "running_jobs",
    [MEMORY] = "memory_usage_mb",
    [INTERVAL] = "interval",
    [TICKS] = "ticks",
    [MISSED] = "missed_ticks",
    [TICK] = "tick_seconds",
    [LONGEST] = "longest_tick_seconds",
    [CPU] = "cpu_seconds",
    [LOST] = "events_lost",
    [PROCESSES] = "processes",
    [CLIENTS] = "clients",
    [WRITTEN] = "snapshots_written",
    [DROPPED] = "snapshots_dropped",
    [QUEUED] = "queue_length",
    [DELAY] = "longest_delay_seconds",
    [EVENTS_DROPPED] = "events_dropped",
};

struct status {
    bool has[FIGURE_COUNT];
    double values[FIGURE_COUNT];
    struct strbuf version;
    struct strbuf seen_by; /* how births and ends of processes are learnt */
    struct strbuf why_not; /* the kernel does not tell of them; empty: it does, or it is not told */
    struct strbuf trouble; /* of the store: lines */
};

/* A sink of the store fails, or has something to report. */
static void take_trouble(struct status *status, struct json_reader *reader, const struct json_text *key)
{
    static const char suffix[] = "_remark";
    size_t length = sizeof(suffix) - 1;
    bool is_remark = key->length > length && memcmp(key->bytes + key->length - length, suffix, length) == 0;
    struct json_text text;

    strbuf_adds(&status->trouble, is_remark ? "  remark    " : "  trouble   ");
    text_printable(&status->trouble, key->bytes, key->length - (is_remark ? length : 0));
    strbuf_adds(&status->trouble, ": ");
    if (json_read_text(reader, &text))
        text_printable(&status->trouble, text.bytes, text.length);
    strbuf_addc(&status->trouble, '\n');
}

static void take(struct status *status, struct json_reader *reader, const struct json_text *key,
                 bool of_store)
{
    struct json_text text;

    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (json_text_is(key, names[i])) {
            status->has[i] = json_read_number(reader, &status->values[i]);
            if (!status->has[i])
                (void)json_skip(reader);
            return;
        }
    if (json_text_is(key, "version") && json_read_text(reader, &text))
        text_printable(&status->version, text.bytes, text.length);
    else if (json_text_is(key, "processes_seen_by") && json_read_text(reader, &text))
        text_printable(&status->seen_by, text.bytes, text.length);
    else if (json_text_is(key, "why_no_kernel_events") && json_read_text(reader, &text))
        text_printable(&status->why_not, text.bytes, text.length);
    else if (of_store && json_peek(reader) == JSON_STRING)
        take_trouble(status, reader, key);
    else
        (void)json_skip(reader);
}

static void read_status(struct status *status, const char *bytes, size_t length)
{
    struct json_reader reader;
    struct json_text key;

    json_reader_init(&reader, bytes, length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            if (json_text_is(&key, "store") && json_enter_object(&reader))
                while (json_next_key(&reader, &key))
                    take(status, &reader, &key, true);
            else
                take(status, &reader, &key, false);
        }
    json_reader_fini(&reader);
}

static void add_seconds(struct strbuf *out, double seconds)
{
    char text[UNIT_TEXT_SIZE];
    strbuf_adds(out, unit_human(UNIT_SECONDS, seconds, text));
}

/* "3 snapshots" */
static void add_count(struct strbuf *out, double count, const char *one, const char *many)
{
    char text[UNIT_TEXT_SIZE];
    strbuf_addf(out, "%s %s", unit_human(UNIT_COUNT, count, text), count == 1 ? one : many);
}

static void add_watched(struct strbuf *out, const struct status *status)
{
    strbuf_adds(out, "  watches   ");
    if (status->has[PROCESSES])
        add_count(out, status->values[PROCESSES], "process", "processes");
    else
        strbuf_adds(out, "no snapshot yet");
    if (status->has[INTERVAL])
        strbuf_addf(out, ", a snapshot every %g s", status->values[INTERVAL]);
    if (status->has[JOBS]) {
        strbuf_adds(out, "; ");
        add_count(out, status->values[JOBS], "running job", "running jobs");
    }
    strbuf_addc(out, '\n');
    if (status->seen_by.length > 0)
        strbuf_addf(out, "  learns    of births and ends by %s%s%s\n", strbuf_text(&status->seen_by),
                    status->why_not.length > 0 ? "; no kernel events: " : "", strbuf_text(&status->why_not));
}

static void add_ticks(struct strbuf *out, const struct status *status)
{
    if (!status->has[TICKS])
        return;
    strbuf_adds(out, "  snapshots ");
    add_count(out, status->values[TICKS], "taken", "taken");
    if (status->has[MISSED]) {
        strbuf_adds(out, ", ");
        add_count(out, status->values[MISSED], "missed", "missed");
    }
    if (status->has[TICK] && status->has[LONGEST]) {
        strbuf_adds(out, "; the latest took ");
        add_seconds(out, status->values[TICK]);
        strbuf_adds(out, ", the longest ");
        add_seconds(out, status->values[LONGEST]);
    }
    strbuf_addc(out, '\n');
}

static void add_cost(struct strbuf *out, const struct status *status)
{
    const double *values = status->values;

    if (!status->has[CPU] && !status->has[MEMORY])
        return;
    strbuf_adds(out, "  cost      ");
    if (status->has[CPU]) {
        add_seconds(out, values[CPU]);
        strbuf_adds(out, " CPU");
    }
    if (status->has[CPU] && status->has[UPTIME] && values[UPTIME] > 0)
        strbuf_addf(out, " (%.2f %% of a core)", 100 * values[CPU] / values[UPTIME]);
    if (status->has[MEMORY])
        strbuf_addf(out, "%s%.1f MiB", status->has[CPU] ? ", " : "", values[MEMORY]);
    strbuf_addc(out, '\n');
}

static void add_store(struct strbuf *out, const struct status *status)
{
    const double *values = status->values;

    if (!status->has[WRITTEN]) {
        strbuf_adds(out, "  store     none: no history and no log are kept\n");
        return;
    }
    strbuf_adds(out, "  store     ");
    add_count(out, values[WRITTEN], "snapshot written", "snapshots written");
    if (status->has[DROPPED]) {
        strbuf_adds(out, ", ");
        add_count(out, values[DROPPED], "dropped", "dropped");
    }
    if (status->has[QUEUED] && values[QUEUED] > 0) {
        strbuf_adds(out, ", ");
        add_count(out, values[QUEUED], "waiting", "waiting");
    }
    if (status->has[DELAY]) {
        strbuf_adds(out, "; the longest wait ");
        add_seconds(out, values[DELAY]);
    }
    strbuf_addc(out, '\n');
}

/* Only what is not as it should be. */
static void add_lost(struct strbuf *out, const struct status *status)
{
    if (status->has[LOST] && status->values[LOST] > 0) {
        strbuf_adds(out, "  events    ");
        add_count(out, status->values[LOST], "lost on the way from the kernel\n",
                  "lost on the way from the kernel\n");
    }
    if (status->has[EVENTS_DROPPED] && status->values[EVENTS_DROPPED] > 0) {
        strbuf_adds(out, "  events    ");
        add_count(out, status->values[EVENTS_DROPPED], "not stored\n", "not stored\n");
    }
}

void daemon_status_write(struct strbuf *out, const char *json, size_t length)
{
    struct status status = {0};

    read_status(&status, json, length);
    strbuf_addf(out, "metron daemon %s", strbuf_text(&status.version));
    if (status.has[PID])
        strbuf_addf(out, ", pid %.0f", status.values[PID]);
    if (status.has[UPTIME]) {
        strbuf_adds(out, ", up ");
        add_seconds(out, status.values[UPTIME]);
    }
    strbuf_addc(out, '\n');
    add_watched(out, &status);
    add_ticks(out, &status);
    add_cost(out, &status);
    if (status.has[CLIENTS]) {
        strbuf_adds(out, "  clients   ");
        add_count(out, status.values[CLIENTS], "connected, this one\n", "connected, this one included\n");
    }
    add_store(out, &status);
    add_lost(out, &status);
    strbuf_adds(out, strbuf_text(&status.trouble));
    strbuf_fini(&status.version);
    strbuf_fini(&status.seen_by);
    strbuf_fini(&status.why_not);
    strbuf_fini(&status.trouble);
}
