/*
 * Names of a job's states, and its JSON as the socket has it: unix seconds, memory in MiB under names that
 * end in `_mb`, CPU in seconds, I/O in bytes. What was not measured or not told is left out.
 */
#include "schema/job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "schema/snapshot.h"

const char *const job_status_names[] = {[JOB_RUNNING] = "running",
                                        [JOB_COMPLETED] = "completed",
                                        [JOB_FAILED] = "failed",
                                        [JOB_CANCELLED] = "cancelled",
                                        [JOB_LOST] = "lost"};
const char *const sheet_status_names[] = {[SHEET_RUNNING] = "running",
                                          [SHEET_RETRYING] = "retrying",
                                          [SHEET_COMPLETED] = "completed",
                                          [SHEET_FAILED] = "failed",
                                          [SHEET_LOST] = "lost"};

int job_status_of_outcome(const char *outcome, size_t length, enum job_status *out)
{
    static const struct {
        const char *word;
        enum job_status status;
    } outcomes[] = {
        {"completed", JOB_COMPLETED}, {"success", JOB_COMPLETED},   {"failed", JOB_FAILED},
        {"failure", JOB_FAILED},      {"cancelled", JOB_CANCELLED},
    };

    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        if (strlen(outcomes[i].word) == length && memcmp(outcomes[i].word, outcome, length) == 0) {
            *out = outcomes[i].status;
            return 0;
        }
    }
    return -EINVAL;
}

const struct job_usage_column job_usage_columns[USAGE_COUNT] = {
    [USAGE_CPU] = {"proc_cpu_seconds", "cpu_seconds", USAGE_SECONDS, USAGE_ADDS_UP},
    [USAGE_CGROUP_CPU] = {"cgroup_cpu_seconds", "cgroup_cpu_seconds", USAGE_SECONDS, 0},
    [USAGE_PEAK_RSS] = {"peak_rss_mb", "peak_rss_bytes", USAGE_MEMORY, 0},
    [USAGE_PEAK_PSS] = {"peak_pss_mb", "peak_pss_bytes", USAGE_MEMORY, 0},
    [USAGE_LARGEST_HWM] = {"largest_hwm_mb", "largest_hwm_bytes", USAGE_MEMORY, 0},
    [USAGE_PEAK_CGROUP] = {"peak_cgroup_mb", "peak_cgroup_bytes", USAGE_MEMORY, 0},
    [USAGE_OOM_KILLS] = {"oom_kills", "oom_kills", USAGE_COUNTED, 0},
    [USAGE_READ] = {"read_bytes", "read_bytes", USAGE_COUNTED, USAGE_ADDS_UP},
    [USAGE_WRITTEN] = {"write_bytes", "write_bytes", USAGE_COUNTED, USAGE_ADDS_UP},
    [USAGE_SPAWNED] = {"spawned", "spawned", USAGE_COUNTED, USAGE_ADDS_UP | USAGE_FROM_ZERO},
    [USAGE_EXITED] = {"exited", "exited", USAGE_COUNTED, USAGE_ADDS_UP | USAGE_FROM_ZERO},
    [USAGE_SPAWNED_IS_EXACT] = {"spawned_is_exact", "spawned_is_exact", USAGE_FLAG, USAGE_FROM_ZERO},
    [USAGE_UNIQUE_PROCESSES] = {"unique_processes", "unique_processes", USAGE_COUNTED,
                                USAGE_ADDS_UP | USAGE_FROM_ZERO},
    [USAGE_PEAK_PROCESSES] = {"peak_processes", "peak_processes", USAGE_COUNTED, 0},
    [USAGE_MEMORY_LIMIT] = {"memory_limit_mb", "memory_limit_bytes", USAGE_MEMORY, 0},
    [USAGE_CPU_PERIODS] = {"cgroup_cpu_periods", "cgroup_cpu_periods", USAGE_COUNTED, 0},
    [USAGE_CPU_THROTTLED_PERIODS] = {"cgroup_cpu_throttled_periods", "cgroup_cpu_throttled_periods",
                                     USAGE_COUNTED, 0},
    [USAGE_CPU_IS_LOW] = {NULL, "cpu_is_low", USAGE_FLAG, USAGE_FROM_ZERO},
    [USAGE_EXIT_CPU] = {"exit_cpu_seconds", "exit_cpu_seconds", USAGE_SECONDS, 0},
    [USAGE_RUSAGE_CPU] = {"rusage_cpu_seconds", "rusage_cpu_seconds", USAGE_SECONDS, USAGE_ADDS_UP},
    [USAGE_SHEETS_CPU] = {"sheets_cpu_seconds", "sheets_cpu_seconds", USAGE_SECONDS, 0},
    [USAGE_RUSAGE_RSS] = {"rusage_max_rss_mb", "rusage_max_rss_bytes", USAGE_MEMORY, 0},
    [USAGE_WALL] = {NULL, "wall_seconds", USAGE_SECONDS, 0},
    [USAGE_BOOT_AT_START] = {NULL, "boot_seconds_at_start", USAGE_SECONDS, 0},
    [USAGE_BOOT] = {NULL, "boot", USAGE_COUNTED, 0},
    [USAGE_EXIT_CODE] = {NULL, "exit_code", USAGE_COUNTED, 0},
    [USAGE_SIGNAL] = {NULL, "signal_num", USAGE_COUNTED, 0},
    [USAGE_IS_WITHIN] = {NULL, "is_within", USAGE_FLAG, 0},
    [USAGE_LEFT_CGROUP] = {"left_cgroup", "left_cgroup", USAGE_FLAG, 0},
};

static void key_seconds(struct json *json, const char *key, double seconds)
{
    if (isfinite(seconds))
        json_key_decimal(json, key, seconds, 6);
}

/* A time of 0 is none. */
static void key_time(struct json *json, const char *key, struct timespec time)
{
    if (time.tv_sec != 0 || time.tv_nsec != 0)
        key_seconds(json, key, clock_timespec_seconds(time));
}

/* Of two counts of the same: within the kernel's ticks both say the same. */
static bool is_more(double seconds, double than)
{
    return seconds > 1.01 * than + 0.05;
}

const char *job_usage_cpu(const struct job_usage *usage, double *seconds, bool *is_low)
{
    static const enum job_usage_value methods[] = {USAGE_CGROUP_CPU, USAGE_EXIT_CPU, USAGE_CPU,
                                                   USAGE_RUSAGE_CPU, USAGE_SHEETS_CPU};
    enum job_usage_value best = USAGE_COUNT;

    for (size_t i = ARRAY_LENGTH(methods); i-- > 0;) {
        bool is_whole = (methods[i] == USAGE_CGROUP_CPU && usage->numbers[USAGE_LEFT_CGROUP] == 0) ||
                        methods[i] == USAGE_EXIT_CPU ||
                        (methods[i] == USAGE_CPU && usage->numbers[USAGE_CPU_IS_LOW] == 0);
        if (is_whole && usage_has(usage, methods[i]))
            best = methods[i];
    }
    *is_low = best == USAGE_COUNT;
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        double seconds_by_it = usage->numbers[methods[i]];
        if (usage_has(usage, methods[i]) &&
            (best == USAGE_COUNT || (*is_low ? seconds_by_it > usage->numbers[best]
                                             : is_more(seconds_by_it, usage->numbers[best])))) {
            best = methods[i];
            *is_low = true;
        }
    }
    if (best == USAGE_COUNT)
        return NULL;
    *seconds = usage->numbers[best];
    return job_usage_columns[best].name;
}

static void key_usage(struct json *json, const struct job_usage_column *column, double number)
{
    switch (column->kind) {
    case USAGE_COUNTED:
        json_key_integer(json, column->name, (int64_t)number);
        break;
    case USAGE_SECONDS:
        key_seconds(json, column->name, number);
        break;
    case USAGE_MEMORY:
        json_key_decimal(json, column->name, number / MEBIBYTE, 3);
        break;
    case USAGE_FLAG:
        json_key_boolean(json, column->name, number != 0);
        break;
    }
}

void job_usage_members_json(struct json *json, const struct job_usage *usage)
{
    double cpu_seconds;
    bool is_low;
    const char *cpu_source = job_usage_cpu(usage, &cpu_seconds, &is_low);

    if (cpu_source && isfinite(cpu_seconds)) {
        key_seconds(json, "cpu_seconds", cpu_seconds);
        json_key_string(json, "cpu_source", cpu_source);
        if (is_low)
            json_key_boolean(json, "cpu_is_exact", false);
    }
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (job_usage_columns[i].name && usage_is_known(usage, i))
            key_usage(json, &job_usage_columns[i], usage->numbers[i]);
}

bool job_usage_read(struct json_reader *reader, const struct json_text *key, struct job_usage *usage)
{
    for (unsigned i = 0; i < USAGE_COUNT; i++) {
        const struct job_usage_column *column = &job_usage_columns[i];
        double number;
        bool flag;

        if (!column->name || !json_text_is(key, column->name))
            continue;
        if (column->kind == USAGE_FLAG && json_read_boolean(reader, &flag))
            usage_set(usage, i, flag);
        else if (column->kind != USAGE_FLAG && json_read_number(reader, &number))
            usage_set(usage, i, column->kind == USAGE_MEMORY ? number * MEBIBYTE : number);
        else
            (void)json_skip(reader);
        return true;
    }
    return false;
}

/* More than any machine counts, and exact in a double. */
#define REPORTED_MAX 9007199254740992.0

static bool take_reported(struct json_reader *reader, unsigned value, struct job_usage *usage)
{
    const struct job_usage_column *column = &job_usage_columns[value];
    double number = 0;
    bool flag = false;

    bool is_read =
        column->kind == USAGE_FLAG ? json_read_boolean(reader, &flag) : json_read_number(reader, &number);
    number *= column->kind == USAGE_MEMORY ? MEBIBYTE : 1;
    if (!is_read || !(number >= 0 && number <= REPORTED_MAX) ||
        (column->kind == USAGE_COUNTED && number != floor(number)))
        return false;
    usage_set(usage, value, column->kind == USAGE_FLAG ? flag : number);
    return true;
}

/* The method that a `cpu_source` names; USAGE_COUNT: none that a client can have. */
static enum job_usage_value reported_method(struct json_reader *reader)
{
    static const enum job_usage_value methods[] = {USAGE_CGROUP_CPU, USAGE_EXIT_CPU, USAGE_CPU,
                                                   USAGE_RUSAGE_CPU};
    struct json_text text;

    if (json_read_text(reader, &text))
        for (size_t i = 0; i < ARRAY_LENGTH(methods); i++)
            if (json_text_is(&text, job_usage_columns[methods[i]].name))
                return methods[i];
    return USAGE_COUNT;
}

/* What a client shows as its best: cpu_seconds, cpu_source and cpu_is_exact. */
struct reported_cpu {
    double seconds; /* negative: none */
    enum job_usage_value method;
};

static bool take_reported_member(struct json_reader *reader, const struct json_text *key,
                                 struct job_usage *out, struct reported_cpu *best)
{
    bool is_exact;

    if (json_text_is(key, "cpu_seconds"))
        return json_read_number(reader, &best->seconds) && best->seconds >= 0 &&
               best->seconds <= REPORTED_MAX;
    if (json_text_is(key, "cpu_source"))
        return (best->method = reported_method(reader)) != USAGE_COUNT;
    if (json_text_is(key, "cpu_is_exact")) {
        if (!json_read_boolean(reader, &is_exact))
            return false;
        usage_set(out, USAGE_CPU_IS_LOW, !is_exact);
        return true;
    }
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (job_usage_columns[i].name && i != USAGE_SHEETS_CPU &&
            json_text_is(key, job_usage_columns[i].name))
            return take_reported(reader, i, out);
    (void)json_skip(reader);
    return true;
}

int job_usage_parse(const struct json_text *object, struct job_usage *out, struct metron_error *error)
{
    struct reported_cpu best = {.seconds = -1, .method = USAGE_COUNT};
    struct json_reader reader;
    struct json_text key;
    int code = 0;

    *out = (struct job_usage){0};
    json_reader_init(&reader, object->bytes, object->length);
    if (!json_enter_object(&reader))
        code = error_set(error, -EINVAL, "usage is not an object");
    while (code == 0 && json_next_key(&reader, &key)) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%.*s", (int)key.length, key.bytes);
        if (!take_reported_member(&reader, &key, out, &best))
            code = error_set(error, -EINVAL, "usage.%s cannot have been measured so", name);
    }
    json_reader_fini(&reader);
    if (code == 0 && best.seconds >= 0 && best.method == USAGE_COUNT)
        code = error_set(error, -EINVAL, "usage.cpu_seconds needs its method, as usage.cpu_source");
    if (code == 0 && best.seconds >= 0 && !usage_has(out, best.method))
        usage_set(out, best.method, best.seconds);
    return code;
}

bool job_wall_seconds(const struct job_usage *usage, bool has_ended, double *seconds)
{
    bool runs = !has_ended && usage_has(usage, USAGE_BOOT_AT_START);

    *seconds = runs ? clock_boot_seconds() - usage->numbers[USAGE_BOOT_AT_START] : usage->numbers[USAGE_WALL];
    return runs || usage_has(usage, USAGE_WALL);
}

void job_usage_json(struct json *json, const struct job_usage *usage)
{
    json_object_begin(json);
    job_usage_members_json(json, usage);
    json_object_end(json);
}

void job_end_json(struct json *json, const struct job_usage *usage, struct timespec ended)
{
    double seconds;

    if (job_wall_seconds(usage, ended.tv_sec != 0, &seconds))
        json_key_decimal(json, "wall_seconds", seconds, 6);
    if (usage_has(usage, USAGE_EXIT_CODE))
        json_key_integer(json, "exit_code", (int64_t)usage->numbers[USAGE_EXIT_CODE]);
    if (usage_has(usage, USAGE_SIGNAL))
        json_key_integer(json, "signal_num", (int64_t)usage->numbers[USAGE_SIGNAL]);
}

static void key_own_cgroup(struct json *json, enum own_cgroup own)
{
    if (own != OWN_CGROUP_NOT_TOLD)
        json_key_boolean(json, "own_cgroup", own == OWN_CGROUP_HELD);
}

void job_calls_json(struct json *json, const struct snapshot_call *calls, size_t count)
{
    if (!calls)
        return;
    json_key_object(json, "syscall_hotspots");
    for (size_t i = 0; i < count; i++) {
        json_key_object(json, calls[i].name);
        json_key_integer(json, "count", (int64_t)calls[i].count);
        json_key_decimal(json, "seconds", calls[i].seconds, 6);
        json_object_end(json);
    }
    json_object_end(json);
}

static void sheet_json(struct json *json, const struct job_sheet *sheet)
{
    json_object_begin(json);
    json_key_integer(json, "sheet_num", sheet->number);
    json_key_string(json, "status", sheet_status_names[sheet->status]);
    json_key_nonzero(json, "pid", sheet->pid);
    json_key_nonzero(json, "runner", sheet->runner);
    key_own_cgroup(json, sheet->own_cgroup);
    key_time(json, "started", sheet->started);
    key_time(json, "ended", sheet->ended);
    job_end_json(json, &sheet->usage, sheet->ended);
    json_key_integer(json, "tries", sheet->tries);
    json_key(json, "usage");
    job_usage_json(json, &sheet->usage);
    job_calls_json(json, sheet->calls, sheet->call_count);
    json_object_end(json);
}

void job_sheets_json(struct json *json, const struct job *job)
{
    json_array_begin(json);
    for (size_t i = 0; i < job->sheet_count; i++)
        sheet_json(json, &job->sheets[i]);
    json_array_end(json);
}

void job_members_json(struct json *json, const struct job *job)
{
    json_key_string(json, "job_id", job->id);
    json_key_string(json, "workspace", job->workspace);
    json_key_string(json, "config_hash", job->config_hash);
    if (job->has_total)
        json_key_integer(json, "total_sheets", job->total_sheets);
    json_key_string(json, "status", job_status_names[job->status]);
    json_key_nonzero(json, "pid", job->pid);
    json_key_nonzero(json, "runner", job->runner);
    key_own_cgroup(json, job->own_cgroup);
    key_time(json, "started", job->started);
    key_time(json, "ended", job->ended);
    job_end_json(json, &job->usage, job->ended);
    json_key(json, "usage");
    job_usage_json(json, &job->usage);
    job_calls_json(json, job->calls, job->call_count);
    json_key(json, "sheets");
    job_sheets_json(json, job);
}

void job_json(struct json *json, const struct job *job)
{
    json_object_begin(json);
    job_members_json(json, job);
    json_object_end(json);
}
