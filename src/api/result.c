/*
 * Records and results are JSON, as the program told them; what is asked for is looked up in it.
 */
#include "api/result.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

struct metron_result {
    char *info, *summary; /* owned: info.json and its execution_summary; never NULL */
    char *path;           /* owned; NULL: nothing was written */
    char *sources[3];     /* owned; of the headline, as far as they are known */
    unsigned long long dropped;
};

static const char *const questions[] = {"cpu_seconds", "peak_memory_bytes", "processes"};

/* A string of the object; owned by the caller. NULL: it is not there. */
static char *find_text(const struct json_text *object, const char *key)
{
    struct strbuf text = STRBUF_INIT;

    (void)json_find_text(object, key, &text);
    return text.data;
}

static bool find_integer(const char *json, const char *key, int *out)
{
    const struct json_text object = {json, strlen(json)};
    double number;

    /* Out of the bounds of the type C does not say what becomes of it. */
    if (!json_find_number(&object, key, &number) || number < INT_MIN || number > INT_MAX ||
        number != (double)(int)number)
        return false;
    *out = (int)number;
    return true;
}

struct metron_result *result_new(const struct json_text *end)
{
    struct metron_result *result = calloc(1, sizeof(*result));
    struct json_text info, part, headline, discarded;
    double dropped;

    if (!result || !json_find(end, "info", &info))
        goto fail;
    result->info = strndup(info.bytes, info.length);
    if (json_find(&info, "execution_summary", &part))
        result->summary = strndup(part.bytes, part.length);
    if (!result->info || !result->summary)
        goto fail;
    if (json_find_number(end, "dropped", &dropped) && dropped >= 0 && dropped < 0x1p63)
        result->dropped = (unsigned long long)dropped;
    if (json_find(&info, "output_paths", &part) && json_find(end, "discarded", &discarded) &&
        !json_text_is(&discarded, "true"))
        result->path = find_text(&part, "info");
    for (size_t i = 0; i < 3 && json_find(&info, "headline", &headline); i++)
        if (json_find(&headline, questions[i], &part))
            result->sources[i] = find_text(&part, "source");
    return result;
fail:
    metron_result_free(result);
    return NULL;
}

void metron_result_free(struct metron_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < 3; i++)
        free(result->sources[i]);
    free(result->path);
    free(result->summary);
    free(result->info);
    free(result);
}

bool metron_result_exit_code(const struct metron_result *result, int *out)
{
    return find_integer(result->summary, "exit_code", out);
}

bool metron_result_signal(const struct metron_result *result, int *out)
{
    return find_integer(result->summary, "signal", out);
}

double metron_result_wall_seconds(const struct metron_result *result)
{
    double seconds = 0;

    (void)metron_result_number(result, "wall_clock_time", &seconds);
    return seconds;
}

bool metron_result_headline(const struct metron_result *result, const char *question, double *value,
                            const char **source)
{
    const struct json_text info = {result->info, strlen(result->info)};
    struct json_text headline, answer;
    double number;

    if (!json_find(&info, "headline", &headline) || !json_find(&headline, question, &answer) ||
        !json_find_number(&answer, "value", &number))
        return false;
    for (size_t i = 0; source && i < 3; i++)
        if (strcmp(question, questions[i]) == 0)
            *source = result->sources[i];
    if (value)
        *value = number;
    return true;
}

bool metron_result_number(const struct metron_result *result, const char *key, double *out)
{
    const struct json_text summary = {result->summary, strlen(result->summary)};

    return json_find_number(&summary, key, out);
}

const char *metron_result_summary_json(const struct metron_result *result)
{
    return result->summary;
}

const char *metron_result_info_json(const struct metron_result *result)
{
    return result->info;
}

const char *metron_result_info_path(const struct metron_result *result)
{
    return result->path;
}

unsigned long long metron_result_dropped(const struct metron_result *result)
{
    return result->dropped;
}

const char *metron_record_json(const struct metron_record *record)
{
    return record->text.bytes;
}

bool metron_record_number(const struct metron_record *record, const char *key, double *out)
{
    struct json_text measurements;

    return (json_find(&record->text, "measurements", &measurements) &&
            json_find_number(&measurements, key, out)) ||
           json_find_number(&record->text, key, out);
}
