#include "publish/export_values.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json_number.h"

const char *const export_peak_rss[] = {"proc_peak_rss_total", "ps_peak_rss_total", "peak_rss", NULL};
const char *const export_peak_vsz[] = {"proc_peak_vsz_total", "ps_peak_vsz_total", "peak_vsz", NULL};
/* Bytes that reached the storage layer: the same counter of the kernel (task I/O accounting), from the
 * ledger, from the ends of all processes, from wait4. */
const char *const export_read_bytes[] = {"io_read_bytes_total", "exit_read_bytes_total", "rusage_in_bytes",
                                         NULL};
const char *const export_write_bytes[] = {"io_write_bytes_total", "exit_write_bytes_total",
                                          "rusage_out_bytes", NULL};
/* wait4 has those of the whole life; what was seen of the living is a part of it. */
const char *const export_ctx_voluntary[] = {"rusage_ctx_voluntary", "proc_ctx_voluntary_total", NULL};
const char *const export_ctx_involuntary[] = {"rusage_ctx_involuntary", "proc_ctx_involuntary_total", NULL};
const char *const export_minor_faults[] = {"proc_minor_faults_total", "exit_minor_faults_total", NULL};
const char *const export_major_faults[] = {"proc_major_faults_total", "exit_major_faults_total", NULL};

static bool find_one(const struct export *export, const char *name, double *value, const char **source)
{
    const struct recording *recording = export->recording;
    const struct recorded_field *field = recording_field(recording, name);

    if (field && field->kind == FIELD_NUMBER && isfinite(field->number)) {
        *value = field->number;
        *source = field->source ? field->source : field->name;
        return true;
    }
    if (recording->status == RECORDING_ENDED)
        return false;
    const struct recorded_key *key = recording_key_of_summary(recording, name);
    /* A mean cannot be made from maxima: only what the records were reduced to can be reduced further. And
     * what is known of processes that ended is not yet what all of them used. */
    if (!key || strstr(name, "_ave_") || strcmp(key->source, "rusage") == 0 ||
        strcmp(key->source, "exit") == 0)
        return false;
    const struct recorded_total *total = &export->totals[key - recording->keys];
    if (!total->seen || !isfinite(total->value))
        return false;
    *value = total->value;
    *source = name;
    return true;
}

bool export_find(const struct export *export, const char *const *names, double *value, const char **source)
{
    const char *ignored;

    for (; *names; names++)
        if (find_one(export, *names, value, source ? source : &ignored))
            return true;
    return false;
}

bool export_wall(const struct export *export, double *value)
{
    if (export->recording->status == RECORDING_ENDED)
        return recording_number(export->recording, "wall", value);
    *value = export->elapsed;
    return export->record_count > 0;
}

bool export_cpu_seconds(const struct export *export, double *value, const char **source)
{
    /* The headline of a run that ended; else the ledger, which needs no group of its own. */
    static const char *const names[] = {"cpu_seconds", "proc_cpu_seconds", NULL};

    return export_find(export, names, value, source);
}

bool export_peak_resident(const struct export *export, double *value)
{
    static const char *const marks[] = {"proc_hwm_max", "exit_max_rss_max", "rusage_max_rss", NULL};
    double mark;
    bool has = export_find(export, export_peak_rss, value, NULL);

    if (export_find(export, marks, &mark, NULL) && (!has || mark > *value)) {
        *value = mark;
        has = true;
    }
    return has;
}

bool export_mean_cpu(const struct export *export, double *percent)
{
    double wall, seconds;

    if (!export_wall(export, &wall) || !export_cpu_seconds(export, &seconds, NULL) || wall <= 0)
        return false;
    *percent = 100 * seconds / wall;
    return true;
}

bool export_number(struct strbuf *out, double value)
{
    char digits[JSON_NUMBER_SIZE];

    if (isfinite(value))
        strbuf_adds(out, json_number_text(value, digits));
    return isfinite(value);
}

void export_timestamp(struct strbuf *out, double wall)
{
    double seconds = floor(wall);
    long microseconds = lround((wall - seconds) * 1e6);
    struct tm parts;
    char text[32];

    if (microseconds >= 1000000) {
        microseconds -= 1000000;
        seconds += 1;
    }
    /* Not told; or past the year 8307, where the text would not fit. */
    if (!isfinite(wall) || wall == 0 || fabs(wall) > 2e11)
        return;
    time_t whole = (time_t)seconds;
    if (!gmtime_r(&whole, &parts) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        return;
    strbuf_addf(out, "%s.%06ld+00:00", text, microseconds);
}

void export_json_text(struct strbuf *out, const char *text)
{
    struct json json;

    json_init(&json, out, 0);
    json_string(&json, text);
}

void export_json_number(struct json *json, const char *key, bool has, double value)
{
    json_key(json, key);
    /* json_number has ten digits, which a time of day needs more of: the value is put in its place here. */
    if (!has || !export_number(json->out, value))
        strbuf_adds(json->out, "null");
    json->after_key = false;
    json->comma = true;
}
