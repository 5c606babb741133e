#include "view/daemon_status.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "base/units.h"

/* A number of the answer, if it is there. */
static bool add_number(struct strbuf *out, const struct json_text *status, const char *key,
                       const char *before, enum unit unit, const char *after)
{
    double value;
    bool has = json_find_number(status, key, &value);

    if (has)
        unit_add(out, before, unit, value, after);
    return has;
}

/* "3 snapshots" */
static bool add_count(struct strbuf *out, const struct json_text *status, const char *key, const char *before,
                      const char *one, const char *many)
{
    double count;
    bool has = json_find_number(status, key, &count);

    if (has)
        unit_add(out, before, UNIT_COUNT, count, count == 1 ? one : many);
    return has;
}

static bool add_text(struct strbuf *out, const struct json_text *status, const char *key, const char *before)
{
    struct strbuf text = STRBUF_INIT;
    bool has = json_find_text(status, key, &text);

    if (has) {
        strbuf_adds(out, before);
        text_printable(out, strbuf_text(&text), text.length);
    }
    strbuf_fini_part(&text, out);
    return has;
}

static void add_watched(struct strbuf *out, const struct json_text *status)
{
    double interval;

    strbuf_adds(out, "  watches   ");
    if (!add_count(out, status, "processes", "", " process", " processes"))
        strbuf_adds(out, "no snapshot yet");
    if (json_find_number(status, "interval", &interval))
        strbuf_addf(out, ", a snapshot every %g s", interval);
    (void)add_count(out, status, "running_jobs", "; ", " running job", " running jobs");
    strbuf_addc(out, '\n');
    /* How it learns of births and ends of processes, and why the kernel does not report them. */
    if (!add_text(out, status, "processes_seen_by", "  learns    of births and ends by "))
        return;
    (void)add_text(out, status, "why_no_kernel_events", "; no kernel events: ");
    strbuf_addc(out, '\n');
}

static void add_ticks(struct strbuf *out, const struct json_text *status)
{
    double latest, longest;

    if (!add_number(out, status, "ticks", "  snapshots ", UNIT_COUNT, " taken"))
        return;
    (void)add_number(out, status, "missed_ticks", ", ", UNIT_COUNT, " missed");
    if (json_find_number(status, "tick_seconds", &latest) &&
        json_find_number(status, "longest_tick_seconds", &longest)) {
        unit_add(out, "; the latest took ", UNIT_SECONDS, latest, "");
        unit_add(out, ", the longest ", UNIT_SECONDS, longest, "");
    }
    strbuf_addc(out, '\n');
}

static void add_cost(struct strbuf *out, const struct json_text *status)
{
    double cpu, memory, uptime;
    bool has_cpu = json_find_number(status, "cpu_seconds", &cpu);
    bool has_memory = json_find_number(status, "memory_usage_mb", &memory);

    if (!has_cpu && !has_memory)
        return;
    strbuf_adds(out, "  cost      ");
    if (has_cpu)
        unit_add(out, "", UNIT_SECONDS, cpu, " CPU");
    if (has_cpu && json_find_number(status, "uptime_seconds", &uptime) && uptime > 0)
        strbuf_addf(out, " (%.2f %% of a core)", 100 * cpu / uptime);
    if (has_memory)
        strbuf_addf(out, "%s%.1f MiB", has_cpu ? ", " : "", memory);
    strbuf_addc(out, '\n');
}

static void add_store(struct strbuf *out, const struct json_text *store)
{
    double queued;

    if (!add_count(out, store, "snapshots_written", "  store     ", " snapshot written",
                   " snapshots written")) {
        strbuf_adds(out, "  store     none: no history and no log are kept\n");
        return;
    }
    (void)add_number(out, store, "snapshots_dropped", ", ", UNIT_COUNT, " dropped");
    if (json_find_number(store, "queue_length", &queued) && queued > 0)
        unit_add(out, ", ", UNIT_COUNT, queued, " waiting");
    (void)add_number(out, store, "longest_delay_seconds", "; the longest wait ", UNIT_SECONDS, "");
    strbuf_addc(out, '\n');
}

/* Only what is not as it should be. */
static void add_lost(struct strbuf *out, const struct json_text *status, const char *key, const char *how)
{
    double lost;

    if (json_find_number(status, key, &lost) && lost > 0)
        unit_add(out, "  events    ", UNIT_COUNT, lost, how);
}

/* Its texts: a sink fails, or has something to report. */
static void add_trouble(struct strbuf *out, const struct json_text *store)
{
    static const char suffix[] = "_remark";
    static const size_t length = sizeof(suffix) - 1;
    struct json_reader reader;
    struct json_text key, text;

    json_reader_init(&reader, store->bytes, store->length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            if (json_peek(&reader) != JSON_STRING) {
                (void)json_skip(&reader);
                continue;
            }
            bool is_remark =
                key.length > length && memcmp(key.bytes + key.length - length, suffix, length) == 0;
            strbuf_adds(out, is_remark ? "  remark    " : "  trouble   ");
            text_printable(out, key.bytes, key.length - (is_remark ? length : 0));
            strbuf_adds(out, ": ");
            if (json_read_text(&reader, &text))
                text_printable(out, text.bytes, text.length);
            strbuf_addc(out, '\n');
        }
    json_reader_fini(&reader);
}

void daemon_status_write(struct strbuf *out, const char *json, size_t length)
{
    const struct json_text status = {json, length};
    struct json_text store = {"", 0};
    double pid;

    (void)json_find(&status, "store", &store);
    strbuf_adds(out, "metron daemon ");
    (void)add_text(out, &status, "version", "");
    if (json_find_number(&status, "pid", &pid))
        strbuf_addf(out, ", pid %.0f", pid);
    (void)add_number(out, &status, "uptime_seconds", ", up ", UNIT_SECONDS, "");
    strbuf_addc(out, '\n');
    add_watched(out, &status);
    add_ticks(out, &status);
    add_cost(out, &status);
    (void)add_count(out, &status, "clients", "  clients   ", " connected, this one\n",
                    " connected, this one included\n");
    add_store(out, &store);
    add_lost(out, &status, "events_lost", " lost on the way from the kernel\n");
    add_lost(out, &store, "events_dropped", " not stored\n");
    add_trouble(out, &store);
}
