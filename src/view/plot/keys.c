#include "view/plot/keys.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "view/recorded_list.h"

static const struct recorded_key *find_key(const struct recording *recording, const char *name)
{
    const ptrdiff_t index = name ? recording_key_index(recording, name) : -1;

    if (index < 0)
        return NULL;
    assert(recording->keys);
    return &recording->keys[index];
}

/* The same quantity of each process: "proc_rss" of "proc_rss_total", "rss" of "total_rss". */
const struct recorded_key *plot_key_per_process(const struct recording *recording,
                                                const struct recorded_key *total)
{
    const size_t length = strlen(total->key);
    char name[PLOT_KEY_SIZE];

    if (length >= sizeof(name))
        return NULL;
    if (text_ends_with(total->key, "_total"))
        (void)snprintf(name, sizeof(name), "%.*s", (int)(length - strlen("_total")), total->key);
    else if (strncmp(total->key, "total_", strlen("total_")) == 0)
        (void)snprintf(name, sizeof(name), "%s", total->key + strlen("total_"));
    else
        return NULL;
    const struct recorded_key *key = find_key(recording, name);
    return key && key->scope == SCOPE_PER_PID && key->unit == total->unit ? key : NULL;
}

/* The mean that the recording has of a key: "proc_ave_rss_total" of "proc_rss_total". */
const struct recorded_key *plot_key_of_mean(const struct recording *recording, const struct recorded_key *key)
{
    const size_t source = strlen(key->source);
    char name[PLOT_KEY_SIZE];

    if (strncmp(key->key, key->source, source) != 0 || key->key[source] != '_')
        return NULL;
    (void)snprintf(name, sizeof(name), "%s_ave%s", key->source, key->key + source);
    const struct recorded_key *mean = find_key(recording, name);
    return mean && mean->statistic && mean->scope == SCOPE_SINGLE && mean->unit == key->unit ? mean : NULL;
}

const struct recorded_key *plot_key_of(const struct recording *recording, enum topic topic, enum unit unit,
                                       enum type type, enum scope scope)
{
    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];
        if (key->topic == topic && key->unit == unit && key->type == type && key->scope == scope &&
            !key->statistic)
            return key;
    }
    return NULL;
}

int plot_key_unknown(const struct recording *recording, const char *name, const char *option,
                     struct metron_error *error)
{
    struct suggest suggest;
    char nearest[SUGGEST_TEXT_SIZE];

    suggest_init(&suggest, name);
    for (size_t i = 0; i < recording->key_count; i++)
        if (type_is_number(recording->keys[i].type))
            suggest_offer(&suggest, recording->keys[i].key);
    return error_set(error, -EINVAL, "%s: the recording has no key '%s'%s", option, name,
                     suggest_text(&suggest, "", nearest));
}

/* The key of --cpu or --memory. */
int plot_key_asked(const struct recording *recording, const char *name, const char *option,
                   const enum unit units[2], const struct recorded_key **out, struct metron_error *error)
{
    const struct recorded_key *key = find_key(recording, name);

    if (!key)
        return plot_key_unknown(recording, name, option, error);
    if (!type_is_number(key->type) || (key->unit != units[0] && key->unit != units[1]))
        return error_set(error, -EINVAL,
                         "%s: '%s' is in %s, not in %s; --keys draws it in a panel of its own", option, name,
                         type_is_number(key->type) ? unit_name(key->unit) : "words", unit_name(units[0]));
    *out = key;
    return 0;
}

const struct recorded_key *plot_key_of_cpu(const struct recording *recording)
{
    const struct recorded_key *rate =
        plot_key_of(recording, TOPIC_CPU, UNIT_PERCENT, TYPE_COUNTER, SCOPE_SINGLE);
    const struct recorded_key *seconds =
        find_key(recording, recording_text(recording, "headline.cpu_seconds.source"));

    if (rate)
        return rate;
    /* The seconds of each window. */
    if (seconds && seconds->unit == UNIT_SECONDS && seconds->reduce == REDUCE_DELTA &&
        seconds->scope == SCOPE_SINGLE)
        return seconds;
    return plot_key_of(recording, TOPIC_CPU, UNIT_PERCENT, TYPE_COUNTER, SCOPE_PER_PID);
}

/* What was held at each time. A key reduced by its last value (a high-water mark) knows only the end: it has
 * no curve. */
static bool is_memory_curve(const struct recorded_key *key)
{
    return key->unit == UNIT_BYTES && key->type == TYPE_GAUGE && key->scope == SCOPE_SINGLE &&
           key->reduce == REDUCE_MAX && !key->statistic;
}

const struct recorded_key *plot_key_of_memory_total(const struct recording *recording)
{
    const struct recorded_key *held =
        plot_key_of(recording, TOPIC_MEMORY, UNIT_BYTES, TYPE_GAUGE, SCOPE_SINGLE);

    /* Where what is held was not measured, a part of it, in all or of each process. */
    for (int scope = SCOPE_SINGLE; !held && scope <= SCOPE_PER_PID; scope++)
        for (size_t i = 0; !held && i < recording->key_count; i++) {
            const struct recorded_key *key = &recording->keys[i];
            if ((int)key->scope == scope && topic_group(key->topic) == TOPIC_MEMORY &&
                key->unit == UNIT_BYTES && !key->statistic &&
                (scope == SCOPE_PER_PID || is_memory_curve(key)))
                held = key;
        }
    return held;
}

/* The key of usage.jsonl that a method's peak is the peak of, if it has a curve. */
const struct recorded_key *plot_key_of_method(const struct recording *recording, const char *source)
{
    const struct recorded_key *key = source ? recording_key_of_summary(recording, source) : NULL;

    return key && is_memory_curve(key) ? key : NULL;
}

/* What the answer to "how much memory?" was taken from, as it is in each record; where that is known only at
 * the end, the first method of the recording's own list that has a curve. */
const struct recorded_key *plot_key_of_headline_memory(const struct recording *recording)
{
    const struct recorded_field *peak = recording_field(recording, "peak_memory");
    const struct recorded_key *found = peak ? plot_key_of_method(recording, peak->source) : NULL;
    struct strbuf source = STRBUF_INIT;
    struct json_reader reader;
    struct json_text method;

    recorded_list_begin(&reader, recording, "peak_memory_methods");
    while (!found && recorded_list_next(&reader, &method)) {
        strbuf_reset(&source);
        if (json_find_text(&method, "source", &source))
            found = plot_key_of_method(recording, strbuf_text(&source));
    }
    json_reader_fini(&reader);
    strbuf_fini(&source);
    return found;
}
