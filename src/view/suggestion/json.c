#include <string.h>

#include "base/json.h"
#include "view/suggestion/text.h"

static const char *const words[PAST_END_COUNT] = {
    [PAST_SUCCEEDED] = "succeeded",
    [PAST_FAILED] = "failed",
    [PAST_SIGNALLED] = "signalled",
    [PAST_OUT_OF_MEMORY] = "out_of_memory",
    [PAST_OUT_OF_TIME] = "out_of_time",
    [PAST_RUNNING] = "running",
    [PAST_LOST] = "lost",
    [PAST_UNKNOWN] = "unknown",
    [PAST_NOT_STARTED] = "not_started",
    [PAST_ATTACHED] = "attached",
};

static void requested_json(struct json *json, const struct suggestion_requested *requested)
{
    if (!requested->runs)
        return;
    json_key_object(json, "requested");
    json_key_integer(json, "runs", (int64_t)requested->runs);
    json_key_number(json, "lowest", requested->lowest);
    json_key_number(json, "highest", requested->highest);
    json_key_object(json, "used_percent");
    json_key_number(json, "lowest", 100 * requested->used_lowest);
    json_key_number(json, "median", 100 * requested->used_median);
    json_key_number(json, "highest", 100 * requested->used_highest);
    json_object_end(json);
    json_object_end(json);
}

static void suggested_json(struct json *json, const char *key, const struct suggested *suggested,
                           double margin)
{
    if (!suggested->has)
        return;
    json_key_object(json, key);
    json_key_number(json, "value", suggested->value);
    json_key_integer(json, "runs", (int64_t)suggested->runs);
    if (suggested->runs) {
        json_key_number(json, "quantile", suggested->quantile);
        json_key_number(json, "base", suggested->base);
        json_key_number(json, "smallest", suggested->smallest);
        json_key_number(json, "largest", suggested->largest);
        json_key_integer(json, "fitting", (int64_t)suggested->fitting);
    }
    json_key_number(json, "margin_percent", 100 * margin);
    if (suggested->floor_by != FLOOR_NONE) {
        json_key_object(json, "floor");
        json_key_number(json, "value", suggested->floor);
        json_key_number(json, suggested->floor_by == FLOOR_LIMIT ? "limit" : "peak", suggested->floor_of);
        json_key_string(json, "source", suggested->floor_source);
        json_key_boolean(json, "raised", suggested->raised);
        json_object_end(json);
    }
    requested_json(json, &suggested->requested);
    json_object_end(json);
}

static void runs_json(struct json *json, const struct suggestion *suggestion, size_t unreadable)
{
    json_key_object(json, "runs");
    json_key_integer(json, "found", (int64_t)(suggestion->found + unreadable));
    json_key_integer(json, "counted", (int64_t)suggestion->counted);
    json_key_boolean(json, "none_succeeded", suggestion->none_succeeded);
    for (int end = 0; end < PAST_END_COUNT; end++)
        json_key_integer(json, words[end], (int64_t)suggestion->ended[end]);
    json_key_integer(json, "unreadable", (int64_t)unreadable);
    json_object_end(json);
}

static void sources_json(struct json *json, const struct suggestion *suggestion)
{
    json_key_array(json, "memory_sources");
    for (size_t i = 0; i < suggestion->source_count; i++) {
        json_object_begin(json);
        json_key_string(json, "source", suggestion->sources[i].source);
        json_key_integer(json, "runs", (int64_t)suggestion->sources[i].runs);
        json_key_string(json, "bound", bound_name(suggestion->sources[i].bound));
        json_key_string(json, "note", suggestion->sources[i].note);
        json_object_end(json);
    }
    json_array_end(json);
}

/* Seconds at so many busy cores, over all runs that count for the CPUs. */
static void busy_json(struct json *json, const struct suggestion *suggestion)
{
    if (!suggestion->cpus.has)
        return;
    json_key_boolean(json, "cpus_are_lower_bound", suggestion->cpus_are_lower_bound);
    json_key_array(json, "busy_cores");
    for (size_t group = 0; group < PARALLELISM_GROUPS; group++) {
        if (suggestion->busy[group] <= 0)
            continue;
        json_object_begin(json);
        json_key_integer(json, "first", (int64_t)parallelism_group_first(group));
        json_key_integer(json, "last", (int64_t)parallelism_group_last(group));
        json_key_number(json, "seconds", suggestion->busy[group]);
        json_object_end(json);
    }
    json_array_end(json);
}

/* What the numbers do not tell, or not of all. */
static void doubts_json(struct json *json, const struct suggestion *suggestion)
{
    const struct together *together = &suggestion->together;

    json_key_integer(json, "peaks_sampled", (int64_t)suggestion->memory_sampled);
    json_key_integer(json, "peaks_of_largest_process", (int64_t)suggestion->memory_of_one);
    if (suggestion->bursts) {
        json_key_object(json, "hidden_bursts");
        json_key_integer(json, "runs", (int64_t)suggestion->bursts);
        json_key_number(json, "most_cores", suggestion->burst);
        json_object_end(json);
    }
    if (suggestion->throttled)
        json_key_integer(json, "held_back_by_cpu_quota", (int64_t)suggestion->throttled);
    if (suggestion->waited_perhaps)
        json_key_integer(json, "perhaps_waited_for_cpu", (int64_t)suggestion->waited_perhaps);
    if (suggestion->waited) {
        json_key_object(json, "waited_for_cpu");
        json_key_integer(json, "runs", (int64_t)suggestion->waited);
        json_key_number(json, "lowest_percent", 100 * suggestion->wait_lowest);
        json_key_number(json, "highest_percent", 100 * suggestion->wait_highest);
        json_object_end(json);
    }
    if (together->runs < 2)
        return;
    json_key_object(json, "together");
    json_key_string(json, "job", together->job);
    json_key_integer(json, "runs", (int64_t)together->runs);
    if (suggestion->memory.has)
        json_key_number(json, "memory_bytes", (double)together->runs * suggestion->memory.value);
    if (suggestion->cpus.has)
        json_key_number(json, "cpus", (double)together->runs * suggestion->cpus.value);
    json_key_number(json, "held_bytes", together->memory_bytes);
    json_key_number(json, "used_cpus", together->cpus);
    json_object_end(json);
}

static void lines_json(struct json *json, const char *key, const char *text)
{
    json_key_array(json, key);
    while (*text) {
        size_t length = strcspn(text, "\n");
        json_bytes(json, text, length);
        text += length + (text[length] == '\n');
    }
    json_array_end(json);
}

void suggestion_json(struct strbuf *out, const struct suggestion *suggestion, size_t unreadable,
                     enum suggestion_consumer consumer)
{
    struct json json;
    struct strbuf lines = STRBUF_INIT;

    json_init(&json, out, 2);
    json_object_begin(&json);
    runs_json(&json, suggestion, unreadable);
    suggested_json(&json, "memory_bytes", &suggestion->memory, suggestion->margin);
    suggested_json(&json, "cpus", &suggestion->cpus, 0);
    suggested_json(&json, "wall_seconds", &suggestion->wall, suggestion->margin);
    sources_json(&json, suggestion);
    busy_json(&json, suggestion);
    doubts_json(&json, suggestion);
    suggestion_warnings(&lines, suggestion);
    lines_json(&json, "warnings", strbuf_text(&lines));
    if (consumer != SUGGESTION_FOR_PEOPLE) {
        strbuf_reset(&lines);
        suggestion_assumptions(&lines, suggestion, consumer);
        lines_json(&json, "assumptions", strbuf_text(&lines));
        strbuf_reset(&lines);
        suggestion_lines(&lines, suggestion, consumer);
        lines_json(&json, "lines", strbuf_text(&lines));
    }
    json_object_end(&json);
    strbuf_addc(out, '\n');
    strbuf_fini_part(&lines, out);
}
