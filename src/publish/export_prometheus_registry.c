/*
 * Every number of a run's summary as a Prometheus sample, by the registry that the recording carries: a
 * family per key, a sample per statistic, and one per device, or per name in a tally, where the value is an
 * object of those. Samples are sorted by family first, because all of a family must stand together and two
 * keys may give one name; the label `source` then tells them apart.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"
#include "publish/export_prometheus.h"

struct sample {
    char *family; /* owned by the arena below */
    const struct recorded_key *key;
    const char *statistic; /* NULL: none */
    double value;          /* if not an object */
    const char *object;    /* {"0": 1.5, …}, or NULL */
};

struct samples {
    struct sample *items;
    size_t count, capacity;
    struct arena arena;
};

static bool ends_with(const struct strbuf *text, size_t from, const char *end)
{
    size_t length = strlen(end);

    return text->length >= from + length && memcmp(text->data + text->length - length, end, length) == 0;
}

static void cut_end(struct strbuf *text, size_t from, const char *end)
{
    if (ends_with(text, from, end)) {
        text->length -= strlen(end);
        text->data[text->length] = '\0';
    }
}

static bool is_counter(const struct recorded_key *key)
{
    return key->reduce == REDUCE_DELTA || (key->reduce == REDUCE_TALLY && key->unit != UNIT_NONE);
}

void prometheus_name(struct strbuf *out, const struct recording *recording, const struct recorded_key *key)
{
    static const char *const suffixes[] = {
        [UNIT_BYTES] = "_bytes",     [UNIT_SECONDS] = "_seconds",
        [UNIT_PERCENT] = "_ratio",   [UNIT_BYTES_PER_SECOND] = "_bytes_per_second",
        [UNIT_CELSIUS] = "_celsius", [UNIT_WATTS] = "_watts",
        [UNIT_JOULES] = "_joules",   [UNIT_COUNT] = NULL,
        [UNIT_NONE] = NULL};

    strbuf_adds(out, recording->kind == RECORDING_DUCT ? "metron_duct_" : "metron_");
    size_t from = out->length;
    for (const char *at = key->key; *at; at++)
        strbuf_addc(out, isascii(*at) && isalnum((unsigned char)*at) ? *at : '_');
    if (out->failed)
        return;
    cut_end(out, from, "_total");
    if (key->unit == UNIT_PERCENT)
        cut_end(out, from, "_pct");
    const char *suffix = suffixes[key->unit];
    if (suffix && !ends_with(out, from, suffix))
        strbuf_adds(out, suffix);
    if (is_counter(key))
        strbuf_adds(out, "_total");
}

/* Prometheus counts in whole units: a percent is a hundredth. */
static double base_unit(const struct recorded_key *key, double value)
{
    return key->unit == UNIT_PERCENT ? value / 100 : value;
}

static int add_sample(struct samples *samples, const struct recording *recording, const struct sample *sample)
{
    struct strbuf name = STRBUF_INIT;

    if (ARRAY_RESERVE(samples->items, samples->capacity, samples->count + 1) < 0)
        return -ENOMEM;
    struct sample *item = &samples->items[samples->count];
    *item = *sample;
    prometheus_name(&name, recording, sample->key);
    item->family = name.failed ? NULL : arena_strdup(&samples->arena, strbuf_text(&name));
    strbuf_fini(&name);
    if (!item->family)
        return -ENOMEM;
    samples->count++;
    return 0;
}

/* Which statistic of its key a summary key is; both are known to belong together. */
static const char *statistic_of(const char *summary_key, const struct recorded_key *key)
{
    if (strcmp(summary_key, key->key) == 0)
        return is_counter(key) ? NULL : "last";
    size_t source = strlen(key->source);
    const char *word = strncmp(summary_key, key->source, source) == 0 && summary_key[source] == '_'
                           ? summary_key + source + 1
                           : summary_key; /* con-duct's begin with it */
    if (strncmp(word, "low_", 4) == 0)
        return "low";
    return strncmp(word, "peak_", 5) == 0 ? "peak" : "average";
}

static int from_summary(struct samples *samples, const struct recording *recording)
{
    int code = 0;

    for (size_t i = 0; i < recording->field_count && code == 0; i++) {
        const struct recorded_field *field = &recording->fields[i];

        /* Aliases say again what a key has said; paths are no summary keys. */
        if (field->source || strchr(field->name, '.') ||
            (field->kind != FIELD_NUMBER && field->kind != FIELD_JSON))
            continue;
        const struct recorded_key *key = recording_key_of_summary(recording, field->name);
        if (!key || key->scope == SCOPE_PER_PID)
            continue;
        const struct sample sample = {.key = key,
                                      .statistic = statistic_of(field->name, key),
                                      .value = field->number,
                                      .object = field->kind == FIELD_JSON ? field->text : NULL};
        code = add_sample(samples, recording, &sample);
    }
    return code;
}

static int from_records(struct samples *samples, const struct export *export)
{
    static const char *const statistics[] = {
        [REDUCE_MAX] = "peak", [REDUCE_MIN] = "low", [REDUCE_LAST] = "last"};
    const struct recording *recording = export->recording;
    int code = 0;

    for (size_t i = 0; i < recording->key_count && code == 0; i++) {
        const struct recorded_key *key = &recording->keys[i];
        const struct sample sample = {
            .key = key,
            .statistic = is_counter(key) || key->reduce > REDUCE_LAST ? NULL : statistics[key->reduce],
            .value = export->totals[i].value};

        if (export->totals[i].seen)
            code = add_sample(samples, recording, &sample);
    }
    return code;
}

static int by_family(const void *a, const void *b)
{
    const struct sample *one = a, *other = b;
    int order = strcmp(one->family, other->family);

    if (order == 0 && one->key != other->key)
        order = one->key < other->key ? -1 : 1;
    if (order == 0)
        order = strcmp(one->statistic ? one->statistic : "", other->statistic ? other->statistic : "");
    return order;
}

static void print_object(struct export *export, const struct sample *sample, const struct strbuf *labels)
{
    const char *subject = sample->key->scope == SCOPE_PER_DEVICE ? "device" : "name";
    struct strbuf own = STRBUF_INIT, name = STRBUF_INIT;
    struct json_reader reader;
    struct json_text key;
    double value;

    json_reader_init(&reader, sample->object, strlen(sample->object));
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            strbuf_reset(&own);
            strbuf_reset(&name);
            strbuf_add(&own, strbuf_text(labels), labels->length);
            strbuf_add(&name, key.bytes, key.length);
            prometheus_label(&own, subject, strbuf_text(&name));
            if (json_read_number(&reader, &value))
                prometheus_sample(export, sample->family, strbuf_text(&own), base_unit(sample->key, value));
            else
                (void)json_skip(&reader);
        }
    json_reader_fini(&reader);
    strbuf_fini_part(&own, &export->out);
    strbuf_fini_part(&name, &export->out);
}

static void print_head(struct export *export, const struct sample *sample)
{
    const struct recorded_key *key = sample->key;
    struct strbuf help = STRBUF_INIT;

    strbuf_addf(&help, "%s of the recording", key->key);
    if (key->field && *key->field)
        strbuf_addf(&help, ": %s", key->field);
    if (key->note)
        strbuf_addf(&help, "; %s", key->note);
    prometheus_family(&export->out, sample->family, is_counter(key) ? "counter" : "gauge",
                      strbuf_text(&help));
    strbuf_fini_part(&help, &export->out);
}

static void print_sample(struct export *export, const struct sample *sample)
{
    struct strbuf labels = STRBUF_INIT;

    if (sample->statistic)
        prometheus_label(&labels, "statistic", sample->statistic);
    prometheus_label(&labels, "source", sample->key->key);
    if (sample->object)
        print_object(export, sample, &labels);
    else
        prometheus_sample(export, sample->family, strbuf_text(&labels),
                          base_unit(sample->key, sample->value));
    strbuf_fini_part(&labels, &export->out);
}

int prometheus_registry(struct export *export)
{
    struct samples samples = {0};
    int code = export->recording->status == RECORDING_ENDED ? from_summary(&samples, export->recording)
                                                            : from_records(&samples, export);

    if (samples.count > 0)
        qsort(samples.items, samples.count, sizeof(*samples.items), by_family);
    for (size_t i = 0; i < samples.count && code == 0; i++) {
        const struct sample *last = i ? &samples.items[i - 1] : NULL;

        if (last && by_family(last, &samples.items[i]) == 0)
            continue; /* the same key twice in a damaged summary: a series stands once */
        if (!last || strcmp(last->family, samples.items[i].family) != 0)
            print_head(export, &samples.items[i]);
        print_sample(export, &samples.items[i]);
    }
    free(samples.items);
    arena_fini(&samples.arena);
    return code;
}
