#include "store/recording/usage_only.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "store/recording/fields.h"
#include "store/recording/line_reader.h"

enum { PCPU, PMEM, RSS, VSZ, AMOUNTS };
static const char *const amounts[AMOUNTS] = {"pcpu", "pmem", "rss", "vsz"};

/* A key of metron's records. */
struct seen_key {
    char *name; /* owned */
    UT_hash_handle hh;
};

/* One line. */
struct line {
    bool of_metron, of_duct, has_wall, has_elapsed;
    double wall, elapsed, num_samples;
    bool has_total[AMOUNTS], has_average[AMOUNTS];
    double totals[AMOUNTS], averages[AMOUNTS];
};

struct survey {
    struct json_reader json;
    struct seen_key *keys; /* uthash by name, in the order in which they came */
    bool of_duct, no_memory;
    size_t records;
    double start, samples;
    bool has_peak[AMOUNTS];
    double peaks[AMOUNTS], weighted[AMOUNTS], weights[AMOUNTS];
};

static void free_key(struct seen_key *key)
{
    free(key->name);
    free(key);
}

static void remember_key(struct survey *survey, const struct json_text *name)
{
    struct seen_key *key;

    HASH_FIND(hh, survey->keys, name->bytes, name->length, key);
    if (key || HASH_COUNT(survey->keys) == RECORDING_FIELDS_MAX)
        return;
    key = calloc(1, sizeof(*key));
    if (key)
        key->name = strndup(name->bytes, name->length);
    if (!key || !key->name) {
        free(key);
        survey->no_memory = true;
        return;
    }
    HASH_ADD_KEYPTR(hh, survey->keys, key->name, strlen(key->name), key);
    if (!key->hh.tbl) {
        free_key(key);
        survey->no_memory = true;
    }
}

/* Always true: it was an object of that name. */
static bool read_measurements(struct survey *survey)
{
    struct json_text key;

    while (json_next_key(&survey->json, &key)) {
        remember_key(survey, &key);
        (void)json_skip(&survey->json);
    }
    return true;
}

static bool read_amounts(struct json_reader *json, bool has[AMOUNTS], double numbers[AMOUNTS])
{
    struct json_text key;

    while (json_next_key(json, &key)) {
        size_t i = 0;

        while (i < AMOUNTS && !json_text_is(&key, amounts[i]))
            i++;
        if (i < AMOUNTS && json_read_number(json, &numbers[i]))
            has[i] = true;
        else
            (void)json_skip(json);
    }
    return true;
}

static bool read_time(struct json_reader *json, double *out)
{
    struct json_text text;
    char stamp[40];

    if (json_peek(json) != JSON_STRING || !json_read_text(json, &text) || text.length >= sizeof(stamp))
        return false;
    memcpy(stamp, text.bytes, text.length);
    stamp[text.length] = '\0';
    return recording_parse_time(stamp, out);
}

static void read_member(struct survey *survey, const struct json_text *key, struct line *line)
{
    struct json_reader *json = &survey->json;

    if (json_text_is(key, "timestamp") && json_peek(json) == JSON_STRING)
        line->has_wall = read_time(json, &line->wall);
    else if (json_text_is(key, "elapsed") && json_read_number(json, &line->elapsed))
        line->has_elapsed = true;
    else if (json_text_is(key, "num_samples") && json_read_number(json, &line->num_samples))
        ;
    else if (json_text_is(key, "measurements") && json_enter_object(json))
        line->of_metron = read_measurements(survey);
    else if (json_text_is(key, "totals") && json_enter_object(json))
        line->of_duct = read_amounts(json, line->has_total, line->totals);
    else if (json_text_is(key, "averages") && json_enter_object(json))
        (void)read_amounts(json, line->has_average, line->averages);
    else
        (void)json_skip(json);
}

static void take_line(struct survey *survey, const struct line *line)
{
    if (survey->records == 0) {
        survey->of_duct = line->of_duct;
        survey->start = line->wall - (line->has_elapsed ? line->elapsed : 0);
    }
    survey->records++;
    survey->samples += line->num_samples;
    for (size_t i = 0; i < AMOUNTS; i++) {
        if (line->has_total[i])
            survey->peaks[i] =
                survey->has_peak[i] ? fmax(survey->peaks[i], line->totals[i]) : line->totals[i];
        survey->has_peak[i] |= line->has_total[i];
        if (line->has_average[i] && line->num_samples > 0) {
            survey->weighted[i] += line->averages[i] * line->num_samples;
            survey->weights[i] += line->num_samples;
        }
    }
}

static void read_line(struct survey *survey, const struct json_text *bytes)
{
    struct line line = {0};
    struct json_text key;

    json_reader_reset(&survey->json, bytes->bytes, bytes->length);
    if (!json_enter_object(&survey->json))
        return;
    while (json_next_key(&survey->json, &key))
        read_member(survey, &key, &line);
    if (json_reader_end(&survey->json, NULL) == 0 && line.has_wall && line.of_metron != line.of_duct)
        take_line(survey, &line);
}

/* What a file says of numbers may add up to more than a number can be. */
static void key_number_if_any(struct json *json, const char *key, double number)
{
    if (isfinite(number))
        json_key_number(json, key, number);
}

/* A key of the record has a statistic in the summary: "peak_rss", "average_rss". */
static void write_duct_summary(struct json *json, const struct survey *survey)
{
    char name[32];

    for (size_t i = 0; i < AMOUNTS; i++) {
        (void)snprintf(name, sizeof(name), "peak_%s", amounts[i]);
        if (survey->has_peak[i])
            json_key_number(json, name, survey->peaks[i]);
        (void)snprintf(name, sizeof(name), "average_%s", amounts[i]);
        if (survey->weights[i] > 0)
            key_number_if_any(json, name, survey->weighted[i] / survey->weights[i]);
    }
}

static void write_info(const struct survey *survey, key_describer *describe, struct strbuf *out)
{
    struct json json;

    json_init(&json, out, 0);
    json_object_begin(&json);
    json_key_string(&json, USAGE_ONLY_FIELD, survey->of_duct ? "con-duct" : "metron");
    json_key_object(&json, "execution_summary");
    if (isfinite(survey->start))
        json_key_decimal(&json, "start_time", survey->start, 6);
    key_number_if_any(&json, "num_samples", survey->samples);
    json_key_integer(&json, "num_reports", (int64_t)survey->records);
    if (survey->of_duct)
        write_duct_summary(&json, survey);
    json_object_end(&json);
    json_key_object(&json, "provenance");
    json_key_object(&json, "measurements");
    for (const struct seen_key *key = survey->keys; key && describe; key = key->hh.next)
        describe(&json, key->name);
    json_object_end(&json);
    json_object_end(&json);
    json_object_end(&json);
}

static bool survey_lines(struct line_reader *lines, key_describer *describe, struct strbuf *out)
{
    struct survey survey = {0};
    struct json_text line;

    json_reader_init(&survey.json, "", 0);
    while (line_reader_next_filled(lines, &line) == 1)
        read_line(&survey, &line);
    bool is_run = survey.records > 0 && !survey.no_memory;
    if (is_run)
        write_info(&survey, describe, out);
    HASH_FREE_ALL(survey.keys, free_key);
    json_reader_fini(&survey.json);
    line_reader_fini(lines);
    return is_run && !out->failed;
}

bool usage_only_info_of_bytes(const char *bytes, size_t length, key_describer *describe, struct strbuf *out)
{
    struct line_reader lines;

    line_reader_init(&lines, bytes, length);
    return survey_lines(&lines, describe, out);
}

bool usage_only_info(const char *info_path, key_describer *describe, struct strbuf *out)
{
    struct strbuf usage = STRBUF_INIT;
    struct line_reader lines;

    bool is_open =
        recording_usage_beside(info_path, &usage) && line_reader_open(&lines, strbuf_text(&usage), NULL) == 0;
    strbuf_fini(&usage);
    return is_open && survey_lines(&lines, describe, out);
}
