#include <math.h>

#include "base/json.h"
#include "view/diff/text.h"

static const char *const states[] = {
    [COMPARISON_SAME] = "same",
    [COMPARISON_CHANGED] = "changed",
    [COMPARISON_ONLY_BEFORE] = "only_before",
    [COMPARISON_ONLY_NOW] = "only_now",
    [COMPARISON_OTHER_METHOD] = "other_method",
    [COMPARISON_VARIES] = "varies",
};

static void change_json(struct json *json, const struct change *change)
{
    double percent = 100 * (change->now - change->before) / fabs(change->before);

    json_key_number(json, "difference", change->now - change->before);
    if (isfinite(percent)) /* what was 0, or next to nothing, has no percent */
        json_key_number(json, "percent", percent);
    json_key_number(json, "allowed", change->allowed);
    if (change->noise_known) {
        json_key_number(json, "noise", change->noise);
        json_key_number(json, "lowest", change->lowest);
        json_key_number(json, "highest", change->highest);
    }
}

static void number_json(struct json *json, const struct comparison_field *field)
{
    bool compared = field->has_now && field->past_count > 0;

    json_object_begin(json);
    json_key_string(json, "name", field->name);
    json_key_string(json, "unit", unit_name(field->unit));
    json_key_string(json, "state", states[field->state]);
    if (field->past_count == 1)
        json_key_number(json, "before", field->past[0]);
    else if (compared)
        json_key_number(json, "before", field->change.before);
    if (field->has_now)
        json_key_number(json, "now", field->now);
    if (compared)
        change_json(json, &field->change);
    json_key_integer(json, "runs_before", (int64_t)field->past_count);
    json_key_string(json, "source", field->source_now);
    json_key_string(json, "source_before", field->source_before);
    if (field->measure_now) {
        json_key_string(json, "compared_by", field->measure_now);
        json_key_string(json, "compared_by_before", field->measure_before);
        json_key_number(json, "now_by_source", field->alias_now);
    }
    if (field->machine)
        json_key_boolean(json, "whole_machine", true);
    if (field->by_key)
        json_key_integer(json, "runs_compared_by_source", (int64_t)field->by_key);
    if (field->other_method)
        json_key_integer(json, "runs_not_compared", (int64_t)field->other_method);
    json_key_string(json, "note", field->note);
    json_object_end(json);
}

static void fact_json(struct json *json, const struct comparison_field *field)
{
    json_object_begin(json);
    json_key_string(json, "name", field->name);
    json_key_string(json, "state", states[field->state]);
    json_key_string(json, "before", field->text_before);
    json_key_string(json, "now", field->text_now);
    json_object_end(json);
}

static void limit_json(struct json *json, const struct diff_limit *limit)
{
    static const char *const results[] = {
        [LIMIT_KEPT] = "ok", [LIMIT_PASSED] = "fail", [LIMIT_NOT_JUDGED] = "not_judged"};

    json_object_begin(json);
    json_key_string(json, "limit", limit->limit->text);
    json_key_string(json, "field", limit->limit->field);
    json_key_string(json, "result", results[limit->result]);
    if (limit->numbers.has_before)
        json_key_number(json, "before", limit->numbers.before);
    if (limit->numbers.has_now)
        json_key_number(json, "now", limit->numbers.now);
    if (limit->result == LIMIT_NOT_JUDGED)
        json_key_string(json, "reason", limit->reason.message);
    json_object_end(json);
}

void diff_json(struct strbuf *out, const struct diff_page *page)
{
    const struct comparison *comparison = page->comparison;
    struct json json;

    json_init(&json, out, 2);
    json_object_begin(&json);
    json_key_string(&json, "now", page->now);
    json_key_string(&json, page->history ? "against" : "before", page->before);
    json_key_integer(&json, "runs_before", (int64_t)comparison->earlier);
    json_key_integer(&json, "runs_left_out", (int64_t)page->left_out);
    json_key_array(&json, "numbers");
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->fields[i].kind != COMPARISON_FACT &&
            diff_wants(page->fields, comparison->fields[i].name))
            number_json(&json, &comparison->fields[i]);
    json_array_end(&json);
    json_key_array(&json, "facts");
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_field *field = &comparison->fields[i];
        if (field->kind == COMPARISON_FACT && diff_wants(page->fields, field->name) &&
            (page->fields || field->state != COMPARISON_SAME))
            fact_json(&json, field);
    }
    json_array_end(&json);
    if (page->limit_count) {
        json_key_array(&json, "limits");
        for (size_t i = 0; i < page->limit_count; i++)
            limit_json(&json, &page->limits[i]);
        json_array_end(&json);
    }
    json_object_end(&json);
    strbuf_addc(out, '\n');
}
