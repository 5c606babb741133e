/* The two files of con-duct's format, from what export_duct.c has counted. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"
#include "publish/export_duct.h"
#include "publish/export_values.h"

struct duct_process *duct_find(struct duct_process *processes, const char *subject)
{
    struct duct_process *process;

    /* By as much of it as is kept. */
    HASH_FIND(hh, processes, subject, strnlen(subject, sizeof(process->subject) - 1), process);
    return process;
}

struct duct_process *duct_process(struct duct_process **processes, const char *subject)
{
    struct duct_process *process = duct_find(*processes, subject);

    if (process)
        return process;
    process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    (void)snprintf(process->subject, sizeof(process->subject), "%s", subject);
    HASH_ADD_STR(*processes, subject, process);
    if (!process->hh.tbl) {
        free(process);
        return NULL;
    }
    return process;
}

void duct_forget(struct duct_process **processes)
{
    HASH_FREE_ALL(*processes, free);
}

void duct_age(struct strbuf *out, double seconds)
{
    long long whole = isfinite(seconds) && seconds > 0 && seconds < 1e12 ? (long long)seconds : 0;

    if (whole >= 86400)
        strbuf_addf(out, "%lld-", whole / 86400);
    if (whole >= 3600)
        strbuf_addf(out, "%02lld:", whole / 3600 % 24);
    strbuf_addf(out, "%02lld:%02lld", whole / 60 % 60, whole % 60);
}

/* {"R": 3, "S": 1} as numbers, and how many samples that were in all. */
static double add_states(struct json *json, const char *tally)
{
    struct strbuf state = STRBUF_INIT;
    struct json_reader reader;
    struct json_text name;
    double count, sum = 0;

    json_key_object(json, "stat");
    json_reader_init(&reader, tally, strlen(tally));
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &name)) {
            strbuf_reset(&state);
            strbuf_add(&state, name.bytes, name.length);
            if (json_read_number(&reader, &count)) {
                export_json_number(json, strbuf_text(&state), true, count);
                sum += isfinite(count) ? count : 0;
            } else {
                (void)json_skip(&reader);
            }
        }
    json_object_end(json);
    json_reader_fini(&reader);
    strbuf_fini(&state);
    return sum;
}

/* Writes one process; returns in how many samples it was seen. */
static double add_process(struct json *json, const struct duct_state *state,
                          const struct duct_process *process, const char *timestamp)
{
    struct strbuf age = STRBUF_INIT;
    double seen = 0;

    json_key_object(json, process->subject);
    if (process->has_pcpu)
        export_json_number(json, "pcpu", true, process->pcpu);
    if (process->has[DUCT_RSS] && state->memory_total > 0)
        export_json_number(json, "pmem", true, 100 * process->numbers[DUCT_RSS] / state->memory_total);
    if (process->has[DUCT_RSS])
        export_json_number(json, "rss", true, process->numbers[DUCT_RSS]);
    if (process->has[DUCT_VSZ])
        export_json_number(json, "vsz", true, process->numbers[DUCT_VSZ]);
    json_key_string(json, "timestamp", timestamp);
    if (process->has[DUCT_ETIME]) {
        duct_age(&age, process->numbers[DUCT_ETIME]);
        json_key_string(json, "etime", strbuf_text(&age));
    }
    if (process->has[DUCT_STAT])
        seen = add_states(json, process->texts[DUCT_STAT]);
    if (process->has[DUCT_CMD])
        json_key_string(json, "cmd", process->texts[DUCT_CMD]);
    json_object_end(json);
    strbuf_fini(&age);
    return seen;
}

/* In the order of time; of changes at one instant those that end something come first. */
static int by_time(const void *a, const void *b)
{
    const struct duct_change *one = a, *other = b;

    if (one->at != other->at)
        return one->at < other->at ? -1 : 1;
    return one->by < other->by ? -1 : one->by > other->by;
}

/* con-duct's total is the largest sum over those that were there at once. A record of ours also has processes
 * that followed each other: only those whose lives overlap are added. Without any process, the mean of the
 * tree since its start. */
static bool total_pcpu(struct export *export, double *total)
{
    struct duct_state *state = export->state;
    size_t count = 0;
    double sum = 0;

    if (ARRAY_RESERVE(state->changes, state->change_capacity, 2 * (size_t)HASH_COUNT(state->current)) < 0)
        return false;
    *total = 0;
    for (const struct duct_process *process = state->current; process; process = process->hh.next) {
        if (!process->has_pcpu)
            continue;
        *total = fmax(*total, process->pcpu); /* also of one that lived for no time at all */
        state->changes[count++] = (struct duct_change){process->begin, process->pcpu};
        state->changes[count++] = (struct duct_change){process->end, -process->pcpu};
    }
    if (count > 0)
        qsort(state->changes, count, sizeof(*state->changes), by_time);
    for (size_t i = 0; i < count; i++) {
        sum += state->changes[i].by;
        *total = fmax(*total, sum);
    }
    if (count == 0 && state->cpu_seconds > 0 && export->elapsed > 0) {
        *total = 100 * state->cpu_seconds / export->elapsed;
        return true;
    }
    return count > 0;
}

static void add_share(struct json *json, const struct duct_state *state, bool has, double rss)
{
    bool known = has && state->memory_total > 0;

    export_json_number(json, "pmem", known, known ? 100 * rss / state->memory_total : 0);
}

static void add_totals(struct export *export, struct json *json, unsigned num_samples, double seen_pcpu,
                       bool has_seen)
{
    struct duct_state *state = export->state;
    double pcpu = 0;
    bool has_pcpu = total_pcpu(export, &pcpu);

    json_key_object(json, "totals");
    add_share(json, state, true, state->singles[DUCT_RSS_TOTAL]);
    export_json_number(json, "pcpu", has_pcpu, pcpu);
    export_json_number(json, "rss", true, state->singles[DUCT_RSS_TOTAL]);
    export_json_number(json, "vsz", state->has_single[DUCT_VSZ_TOTAL], state->singles[DUCT_VSZ_TOTAL]);
    json_object_end(json);
    json_key_object(json, "averages");
    export_json_number(json, "rss", state->has_single[DUCT_RSS_AVERAGE], state->singles[DUCT_RSS_AVERAGE]);
    export_json_number(json, "vsz", state->has_single[DUCT_VSZ_AVERAGE], state->singles[DUCT_VSZ_AVERAGE]);
    add_share(json, state, state->has_single[DUCT_RSS_AVERAGE], state->singles[DUCT_RSS_AVERAGE]);
    export_json_number(json, "pcpu", has_seen, has_seen ? seen_pcpu : 0);
    json_key_integer(json, "num_samples", num_samples);
    json_object_end(json);
    if (has_pcpu && (!state->has_peak_pcpu || pcpu > state->peak_pcpu))
        state->peak_pcpu = pcpu;
    state->has_peak_pcpu = state->has_peak_pcpu || has_pcpu;
    if (has_seen) {
        state->average_pcpu_sum += seen_pcpu * num_samples;
        state->average_pcpu_weight += num_samples;
    }
}

/* The start of the run, before anything ran: sums over no process. con-duct, too, writes no averages of no
 * sample. */
static void write_start(struct export *export, double wall)
{
    static const char *const totals[] = {"pmem", "pcpu", "rss", "vsz"};
    struct duct_state *state = export->state;
    struct strbuf timestamp = STRBUF_INIT;
    struct json json;

    export_timestamp(&timestamp, wall);
    json_init(&json, &export->out, 0);
    json_object_begin(&json);
    json_key_string(&json, "timestamp", strbuf_text(&timestamp));
    json_key_integer(&json, "num_samples", 0);
    json_key_object(&json, "processes");
    json_object_end(&json);
    json_key_object(&json, "totals");
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
        export_json_number(&json, totals[i], true, 0);
    json_object_end(&json);
    json_key_object(&json, "averages");
    json_object_end(&json);
    json_object_end(&json);
    strbuf_addc(&export->out, '\n');
    strbuf_fini_part(&timestamp, &export->out);
    state->num_reports++;
}

int duct_write_record(struct export *export, const struct usage_record *record)
{
    struct duct_state *state = export->state;
    struct strbuf timestamp = STRBUF_INIT;
    struct json json;
    double seen_pcpu = 0;
    bool has_seen = false;

    if (state->num_reports == 0 && record->elapsed > 0)
        write_start(export, record->wall - record->elapsed);
    export_timestamp(&timestamp, record->wall);
    json_init(&json, &export->out, 0);
    json_object_begin(&json);
    json_key_string(&json, "timestamp", strbuf_text(&timestamp));
    json_key_integer(&json, "num_samples", record->num_samples);
    json_key_object(&json, "processes");
    for (const struct duct_process *process = state->current; process; process = process->hh.next) {
        /* One that was only told of at its end was in no sample. */
        if (!process->has[DUCT_RSS])
            continue;
        double seen = add_process(&json, state, process, strbuf_text(&timestamp));

        if (process->has_pcpu && process->has[DUCT_STAT] && record->num_samples > 0) {
            has_seen = true;
            seen_pcpu += process->pcpu * fmin(1, seen / record->num_samples);
        }
    }
    json_object_end(&json);
    add_totals(export, &json, record->num_samples, seen_pcpu, has_seen);
    json_object_end(&json);
    strbuf_addc(&export->out, '\n');
    state->num_reports++;
    bool failed = timestamp.failed;
    strbuf_fini(&timestamp);
    return failed ? -ENOMEM : 0;
}

static void add_null(struct json *json, const char *key)
{
    export_json_number(json, key, false, 0);
}

static void copy_text(struct json *json, const struct export *export, const char *key, const char *name)
{
    const char *text = recording_text(export->recording, name);

    if (text)
        json_key_string(json, key, text);
    else
        add_null(json, key);
}

static void copy_number(struct json *json, const struct export *export, const char *key, const char *name)
{
    double value = 0;
    bool has = recording_number(export->recording, name, &value);

    export_json_number(json, key, has, value);
}

static void add_found(struct json *json, const struct export *export, const char *key,
                      const char *const *names, double per_cent_of)
{
    double value = 0;
    bool has = export_find(export, names, &value, NULL);

    if (per_cent_of >= 0) { /* 0: of an unknown whole */
        has = has && per_cent_of > 0;
        value = has ? 100 * value / per_cent_of : 0;
    }
    export_json_number(json, key, has, value);
}

static void add_summary(struct json *json, const struct export *export)
{
    static const char *const ave_rss[] = {"proc_ave_rss_total", "ps_ave_rss_total", NULL};
    static const char *const ave_vsz[] = {"proc_ave_vsz_total", "ps_ave_vsz_total", NULL};
    const struct duct_state *state = export->state;
    double wall = 0, start = export->recording->start_wall;
    bool has_wall = export_wall(export, &wall), weighed = state->average_pcpu_weight > 0;

    json_key_object(json, "execution_summary");
    copy_number(json, export, "exit_code", "exit_code");
    copy_text(json, export, "command", "command");
    json_key_string(json, "logs_prefix", export->prefix);
    export_json_number(json, "wall_clock_time", has_wall, wall);
    add_found(json, export, "peak_rss", export_peak_rss, -1);
    add_found(json, export, "average_rss", ave_rss, -1);
    add_found(json, export, "peak_vsz", export_peak_vsz, -1);
    add_found(json, export, "average_vsz", ave_vsz, -1);
    add_found(json, export, "peak_pmem", export_peak_rss, state->memory_total);
    add_found(json, export, "average_pmem", ave_rss, state->memory_total);
    export_json_number(json, "peak_pcpu", state->has_peak_pcpu, state->peak_pcpu);
    export_json_number(json, "average_pcpu", weighed,
                       weighed ? state->average_pcpu_sum / state->average_pcpu_weight : 0);
    json_key_integer(json, "num_samples", (int64_t) export->sample_count);
    json_key_integer(json, "num_reports", (int64_t)state->num_reports);
    export_json_number(json, "start_time", start > 0, start);
    export_json_number(json, "end_time",
                       start > 0 && has_wall && export->recording->status == RECORDING_ENDED, start + wall);
    copy_text(json, export, "working_directory", "working_directory");
    json_object_end(json);
}

static void add_environment(struct json *json, const struct recording *recording)
{
    json_key_object(json, "env");
    for (size_t i = 0; i < recording->field_count; i++)
        if (recording->fields[i].kind == FIELD_TEXT && strncmp(recording->fields[i].name, "env.", 4) == 0)
            json_key_string(json, recording->fields[i].name + 4, recording->fields[i].text);
    json_object_end(json);
}

static void add_path(struct json *json, const struct export *export, const char *key, const char *name)
{
    struct strbuf path = STRBUF_INIT;

    strbuf_addf(&path, "%s%s", export->prefix, name);
    json_key_string(json, key, strbuf_text(&path));
    strbuf_fini_part(&path, json->out);
}

static void add_paths(struct json *json, const struct export *export)
{
    json_key_object(json, "output_paths");
    copy_text(json, export, "stdout", "output_paths.stdout");
    copy_text(json, export, "stderr", "output_paths.stderr");
    add_path(json, export, "usage", export->exporter->suffix);
    add_path(json, export, "info", export->exporter->second_suffix);
    json_key_string(json, "prefix", export->prefix);
    json_object_end(json);
}

int duct_write_info(struct export *export)
{
    const char *message = recording_text(export->recording, "message");
    struct json json;

    json_init(&json, &export->second, 0);
    json_object_begin(&json);
    copy_text(&json, export, "command", "command");
    json_key_object(&json, "system");
    copy_number(&json, export, "cpu_total", "system.cpu_total");
    copy_number(&json, export, "memory_total", "system.memory_total");
    copy_text(&json, export, "hostname", "system.hostname");
    copy_number(&json, export, "uid", "system.uid");
    copy_text(&json, export, "user", "system.user");
    json_object_end(&json);
    add_environment(&json, export->recording);
    add_null(&json, "gpu");
    json_key_string(&json, "duct_version", "metron " METRON_VERSION);
    json_key_string(&json, "schema_version", "0.2.2");
    add_summary(&json, export);
    add_paths(&json, export);
    copy_text(&json, export, "working_directory", "working_directory");
    json_key_string(&json, "message", message ? message : "");
    json_key_string(&json, "exported_by",
                    "metron " METRON_VERSION
                    "; pcpu is an average over the life of a process, estimated from its "
                    "largest rate in each record unless ps or the kernel counted it");
    json_object_end(&json);
    strbuf_addc(&export->second, '\n');
    return 0;
}
