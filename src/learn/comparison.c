#include "learn/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/text.h"
#include "learn/quantile.h"

/* More names than any recording has; who has more is damaged, or up to something. */
#define FIELDS_MAX 16384

struct name_entry {
    const char *name; /* in the arena */
    size_t place;
    UT_hash_handle hh;
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What differs between any two runs, and what repeats other fields. */
bool comparison_leaves_out(const char *name)
{
    static const char *const names[] = {"start_time", "end_time", "prefix", "id", "logs_prefix"};
    static const char *const folders[] = {"output_paths.", "recorder.",  "headline.", "outcome.",
                                          "stall.",        "survivors.", "syscalls."};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (begins_with(name, folders[i]))
            return true;
    return false;
}

/* What no counter of 64 bits can hold is damage. */
static bool is_sound(double number)
{
    return fabs(number) < 1e20;
}

static bool is_left_out(const struct recorded_field *field)
{
    return field->kind == FIELD_JSON || comparison_leaves_out(field->name) ||
           (field->kind == FIELD_NUMBER && !is_sound(field->number));
}

bool comparison_is_headline(const char *name)
{
    return recorded_alias_named(name) || strcmp(name, "exit_code") == 0;
}

static enum comparison_kind kind_of(const struct recorded_field *field, const struct recorded_key *key)
{
    if (field->kind == FIELD_NUMBER && comparison_is_headline(field->name))
        return COMPARISON_HEADLINE;
    if (field->kind != FIELD_NUMBER || strchr(field->name, '.'))
        return COMPARISON_FACT;
    return field->unit != UNIT_NONE || key ? COMPARISON_MEASURED : COMPARISON_FACT;
}

/* NULL: there is none. */
static struct comparison_field *field_named(const struct comparison *comparison, const char *name)
{
    const struct name_entry *names = comparison->index, *entry;

    HASH_FIND_STR(names, name, entry);
    return entry ? &comparison->fields[entry->place] : NULL;
}

/* A copy in the arena; NULL of NULL, and for want of memory, which is remembered. */
static const char *kept(struct comparison *comparison, const char *text)
{
    const char *copy = text ? arena_strdup(&comparison->arena, text) : NULL;

    comparison->no_memory |= text && !copy;
    return copy;
}

/* The column of this field, made if there is none. NULL: no room, or there are too many. */
static struct comparison_field *column(struct comparison *comparison, const struct recording *recording,
                                       const struct recorded_field *field)
{
    struct name_entry *names = comparison->index;
    struct comparison_field *found = field_named(comparison, field->name);

    if (found || comparison->count == FIELDS_MAX)
        return found;
    struct name_entry *entry = arena_alloc(&comparison->arena, sizeof(*entry));
    char *name = arena_strdup(&comparison->arena, field->name);
    if (!entry || !name ||
        ARRAY_RESERVE(comparison->fields, comparison->capacity, comparison->count + 1) < 0) {
        comparison->no_memory = true;
        return NULL;
    }
    *entry = (struct name_entry){.name = name, .place = comparison->count};
    HASH_ADD_KEYPTR(hh, names, name, strlen(name), entry);
    comparison->index = names;
    if (!entry->hh.tbl) {
        comparison->no_memory = true;
        return NULL;
    }
    const struct recorded_key *key =
        field->kind == FIELD_NUMBER ? recording_key_of_summary(recording, field->name) : NULL;
    found = &comparison->fields[comparison->count++];
    *found = (struct comparison_field){
        .name = name,
        .kind = kind_of(field, key),
        .family = kept(comparison, key ? key->source : NULL),
        .machine = key && topic_is_of_machine(key->topic),
        .is_number = field->kind == FIELD_NUMBER,
        .unit = field->unit,
        .note = kept(comparison, field->note),
    };
    return found;
}

/* A fact as text, in the arena. */
static const char *fact_text(struct comparison *comparison, const struct recorded_field *field)
{
    char amount[UNIT_TEXT_SIZE];
    const char *text;

    switch (field->kind) {
    case FIELD_NUMBER:
        if (field->unit != UNIT_NONE)
            return kept(comparison, unit_human(field->unit, field->number, amount));
        text = arena_printf(&comparison->arena, "%.10g", field->number);
        comparison->no_memory |= !text;
        return text;
    case FIELD_BOOLEAN:
        return field->number != 0 ? "yes" : "no";
    case FIELD_TEXT:
    case FIELD_JSON:
        break;
    }
    return kept(comparison, field->text ? field->text : "");
}

void comparison_init(struct comparison *comparison, const struct recording *now)
{
    *comparison = (struct comparison){0};
    peaks_init(&comparison->peaks, now);
    for (size_t i = 0; i < now->field_count; i++) {
        const struct recorded_field *field = &now->fields[i];
        struct comparison_field *into = is_left_out(field) ? NULL : column(comparison, now, field);
        if (!into)
            continue;
        into->has_now = true;
        into->now = field->number;
        into->source_now = kept(comparison, field->source);
        if (into->kind == COMPARISON_FACT)
            into->text_now = fact_text(comparison, field);
    }
}

static void keep_number(struct comparison *comparison, struct comparison_field *into, double number)
{
    if (ARRAY_RESERVE(into->past, into->past_capacity, into->past_count + 1) < 0)
        comparison->no_memory = true;
    else
        into->past[into->past_count++] = number;
}

/* An alias that was taken from another key: by the key of the run now, if there is one. */
static void add_other_method(struct comparison *comparison, struct comparison_field *into,
                             const struct recording *earlier, const struct recorded_field *field)
{
    double number;

    if (!into->source_before) {
        into->source_before = kept(comparison, field->source);
        into->alias_before = field->number;
    }
    into->other_source++;
    /* Peaks have more to choose from, see compare_peaks(). */
    if (strcmp(into->name, recorded_aliases[ALIAS_PEAK_MEMORY].name) != 0 &&
        recording_number(earlier, into->source_now, &number) && is_sound(number)) {
        into->by_key++;
        keep_number(comparison, into, number);
    } else {
        into->other_method++;
    }
}

static void add_number(struct comparison *comparison, struct comparison_field *into,
                       const struct recording *earlier, const struct recorded_field *field)
{
    if (into->has_now && into->source_now && field->source && strcmp(into->source_now, field->source) != 0)
        add_other_method(comparison, into, earlier, field);
    else
        keep_number(comparison, into, field->number);
}

/* con-duct and metron quote one command in two ways. */
static bool is_same_text(const struct comparison_field *field, const char *a, const char *b)
{
    return strcmp(field->name, "command") == 0 ? text_shell_is_same(a, b) : strcmp(a, b) == 0;
}

static bool is_as_before(const struct comparison_field *into, const struct recorded_field *field)
{
    if (!into->text_before)
        return false;
    return field->kind == FIELD_TEXT ? field->text && is_same_text(into, field->text, into->text_before)
                                     : field->number == into->number_before;
}

/* Of facts only one is kept, and whether all were the same: nothing is copied for most runs. */
static void add_fact(struct comparison *comparison, struct comparison_field *into,
                     const struct recorded_field *field)
{
    into->text_runs++;
    if (into->text_varies || is_as_before(into, field))
        return;
    const char *text = fact_text(comparison, field);
    if (!text)
        return;
    into->text_varies = into->text_before && !is_same_text(into, text, into->text_before);
    into->text_before = text;
    into->number_before = field->kind == FIELD_TEXT ? NAN : field->number;
}

void comparison_add(struct comparison *comparison, const struct recording *earlier)
{
    comparison->earlier++;
    comparison->no_memory |= peaks_add(&comparison->peaks, earlier) < 0;
    for (size_t i = 0; i < earlier->field_count; i++) {
        const struct recorded_field *field = &earlier->fields[i];
        struct comparison_field *into = is_left_out(field) ? NULL : column(comparison, earlier, field);
        if (!into)
            continue;
        if (into->kind == COMPARISON_FACT)
            add_fact(comparison, into, field);
        else if (field->kind == FIELD_NUMBER)
            add_number(comparison, into, earlier, field);
    }
}

static enum comparison_state state_of_fact(const struct comparison *comparison,
                                           const struct comparison_field *field)
{
    if (field->text_varies || (field->text_runs > 0 && field->text_runs < comparison->earlier))
        return COMPARISON_VARIES;
    if (!field->text_before)
        return COMPARISON_ONLY_NOW;
    if (!field->text_now)
        return COMPARISON_ONLY_BEFORE;
    return is_same_text(field, field->text_now, field->text_before) ? COMPARISON_SAME : COMPARISON_CHANGED;
}

/* An exit code is no amount: it is new, or it was there before. */
static bool is_new(const struct comparison_field *field)
{
    for (size_t i = 0; i < field->past_count; i++)
        if (field->past[i] == field->now)
            return false;
    return true;
}

static enum comparison_state state_of_number(struct comparison_field *field)
{
    if (field->past_count == 0 && field->other_method == 0)
        return COMPARISON_ONLY_NOW;
    if (!field->has_now)
        return COMPARISON_ONLY_BEFORE;
    if (field->past_count == 0)
        return COMPARISON_OTHER_METHOD;
    change_judge(field->unit, field->past, field->past_count, field->now, &field->change);
    if (strcmp(field->name, "exit_code") == 0)
        field->change.outside = is_new(field);
    return field->change.outside ? COMPARISON_CHANGED : COMPARISON_SAME;
}

/* By a mark of the kernel where there is one; else by the headline where all were measured in one way; else
 * by what else all have. */
static void compare_peaks(struct comparison *comparison)
{
    struct comparison_field *peak = field_named(comparison, recorded_aliases[ALIAS_PEAK_MEMORY].name);

    if (!peak || !peak->source_now || !peak->has_now || (peak->past_count == 0 && peak->other_method == 0))
        return;
    struct peak_measure *measure = peaks_measure(&comparison->peaks, peak->other_source == 0);
    if (!measure || (peak->other_source == 0 && strcmp(measure->key_now, peak->source_now) == 0))
        return;
    peak->measure_now = measure->key_now;
    peak->measure_before = measure->key_before;
    peak->measure_meaning = measure->meaning;
    peak->alias_now = peak->now;
    if (strcmp(measure->key_now, peak->source_now) != 0)
        peak->note = NULL;
    peak->now = measure->now;
    free(peak->past);
    peak->past = measure->past;
    peak->past_count = measure->count;
    peak->past_capacity = measure->capacity;
    measure->past = NULL;
    measure->count = measure->capacity = 0;
    peak->by_key = strcmp(measure->key_now, peak->source_now) == 0 ? peak->other_source : 0;
    peak->other_method = comparison->earlier - peak->past_count;
    quantile_sort(peak->past, peak->past_count);
    peak->state = state_of_number(peak);
}

/* A key that an alias was taken from repeats it. */
static void drop_repeated(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_field *alias = &comparison->fields[i];
        const char *name = alias->measure_now ? alias->measure_now : alias->source_now;
        struct comparison_field *key = name ? field_named(comparison, name) : NULL;
        if (key && key != alias && alias->kind == COMPARISON_HEADLINE &&
            alias->state != COMPARISON_OTHER_METHOD)
            key->repeats = true;
    }
}

int comparison_finish(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        struct comparison_field *field = &comparison->fields[i];
        quantile_sort(field->past, field->past_count);
        field->state =
            field->kind == COMPARISON_FACT ? state_of_fact(comparison, field) : state_of_number(field);
    }
    compare_peaks(comparison);
    drop_repeated(comparison);
    return comparison->no_memory ? -ENOMEM : 0;
}

void comparison_fini(struct comparison *comparison)
{
    struct name_entry *names = comparison->index;

    HASH_CLEAR(hh, names);
    for (size_t i = 0; i < comparison->count; i++)
        free(comparison->fields[i].past);
    free(comparison->fields);
    peaks_fini(&comparison->peaks);
    arena_fini(&comparison->arena);
    *comparison = (struct comparison){0};
}

const struct comparison_field *comparison_find(const struct comparison *comparison, const char *name)
{
    return field_named(comparison, name);
}

enum limit_result comparison_judge(const struct comparison *comparison, const struct limit *limit,
                                   struct limit_numbers *numbers, struct metron_error *reason)
{
    const struct comparison_field *field = comparison_find(comparison, limit->field);

    *numbers = (struct limit_numbers){0};
    if (!field || !field->is_number)
        return limit_judge(limit, numbers, reason);
    numbers->unit = field->unit;
    numbers->has_now = field->has_now;
    numbers->now = field->now;
    if (field->measure_now && !limit->relative) { /* of itself, not of what it can be compared by */
        numbers->now = field->alias_now;
        return limit_judge(limit, numbers, reason);
    }
    if (field->kind == COMPARISON_FACT) {
        numbers->has_before =
            field->text_before && !isnan(field->number_before) && field->state != COMPARISON_VARIES;
        numbers->before = field->number_before;
    } else if (field->past_count > 0) {
        numbers->has_before = true;
        numbers->before = quantile_median(field->past, field->past_count);
    }
    if (limit->relative && field->state == COMPARISON_OTHER_METHOD) {
        (void)error_set(reason, -EINVAL, "it was measured by %s before and by %s now, which do not compare",
                        field->source_before, field->source_now);
        return LIMIT_NOT_JUDGED;
    }
    return limit_judge(limit, numbers, reason);
}
