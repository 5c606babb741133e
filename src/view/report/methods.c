#include "view/report/methods.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double report_difference(double a, double b)
{
    double larger = fmax(fabs(a), fabs(b));

    return larger > 0 ? fabs(a - b) / larger : 0;
}

/* -- Names -- */

const char *report_names(struct report_page *page, const char *const *names, size_t count)
{
    enum { LEAST_IN_COMMON = 6 };
    size_t head = count ? strlen(names[0]) : 0, tail = head;
    bool same = true;

    for (size_t i = 1; i < count; i++) {
        size_t length = strlen(names[i]), first = strlen(names[0]), at = 0, behind = 0;
        while (at < head && names[i][at] == names[0][at])
            at++;
        while (behind < tail && behind < length - at && behind < first - at &&
               names[i][length - 1 - behind] == names[0][first - 1 - behind])
            behind++;
        same &= length == first && at == first;
        head = at;
        tail = behind < tail ? behind : tail;
    }
    if (count == 0 || same)
        return count ? names[0] : NULL;
    if (head + tail >= LEAST_IN_COMMON)
        return report_text_of(page, "%.*s*%s", (int)head, names[0], names[0] + strlen(names[0]) - tail);
    const char *all = names[0];
    for (size_t i = 1; i < count; i++)
        all = report_text_of(page, "%s, %s", all, names[i]);
    return all;
}

const char *report_list(struct report_page *page, const char *before, const char *one, bool is_last)
{
    return before ? report_text_of(page, "%s%s%s", before, is_last ? " and " : ", ", one) : one;
}

/* -- All of a group -- */

void report_add_measures(struct report_section *section, const struct report_measures *measures,
                         const char *name, enum topic group, enum unit unit)
{
    const bool is_rate = unit == UNIT_PERCENT || unit == UNIT_BYTES_PER_SECOND;
    struct report_page *page = section->page;
    struct report_column *columns = report_alloc(page, 3 * sizeof(*columns));

    if (!columns)
        return;
    columns[0] = (struct report_column){.name = is_rate ? "mean" : "value", .unit = unit};
    columns[1] = (struct report_column){.name = is_rate ? "peak" : "key", .unit = is_rate ? unit : UNIT_NONE};
    columns[2] = (struct report_column){.name = is_rate ? "key" : "field"};
    struct report_item *table =
        report_for_programs(report_add_table(section, name, NULL, columns, 3, measures->count));
    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        struct report_value *row = report_measure_in(measure, group, unit) ? report_add_row(table) : NULL;
        if (!row)
            continue;
        const char *mean_name = is_rate ? recorded_key_statistic(&page->arena, measure->key, "ave") : NULL;
        const struct report_measure *mean = mean_name ? report_measure_find(measures, mean_name) : NULL;
        row[0] = report_number(mean ? mean->value : is_rate ? NAN : measure->value);
        row[1] = is_rate ? report_number(measure->value) : report_text(measure->name);
        row[2] = is_rate ? report_text(measure->key->key) : report_told(measure->key->field);
    }
}

void report_add_duct_fields(struct report_section *section, const struct recording *recording,
                            enum topic group)
{
    for (size_t i = 0; recording->kind == RECORDING_DUCT && i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        const struct recorded_key *key = field->kind == FIELD_NUMBER && !field->source
                                             ? recording_key_of_summary(recording, field->name)
                                             : NULL;
        if (key && topic_group(key->topic) == group)
            report_add_number(section, field->name, field->name, field->unit, field->number, NULL,
                              field->note);
    }
}

void report_add_conserved(struct report_section *section, const struct recording *recording, const char *name,
                          const char *lacks)
{
    char field[64];

    (void)snprintf(field, sizeof(field), "provenance.%s", name);
    const struct recorded_field *conserved = recording_field(recording, field);
    if (!conserved || conserved->kind != FIELD_BOOLEAN)
        return;
    bool is_conserved = conserved->number != 0;
    report_add_boolean(section, name, is_conserved ? NULL : "incomplete", is_conserved)->say = lacks;
}

/* -- CPU -- */

/* The CPU seconds of one topic by one source; NULL: it has none. */
static const struct report_measure *cpu_of(const struct report_measures *measures, const char *source,
                                           enum topic topic)
{
    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        if (report_measure_in(measure, TOPIC_CPU, UNIT_SECONDS) && measure->key->topic == topic &&
            strcmp(measure->key->source, source) == 0)
            return measure;
    }
    return NULL;
}

/* False: this source does not count all CPU. */
static bool total_of(struct report_page *page, const struct report_measures *measures, const char *source,
                     struct report_cpu_total *out)
{
    const struct report_measure *user = cpu_of(measures, source, TOPIC_CPU_USER);
    const struct report_measure *system = cpu_of(measures, source, TOPIC_CPU_SYSTEM);
    const struct report_measure *all = cpu_of(measures, source, TOPIC_CPU);

    *out = (struct report_cpu_total){.source = source, .user = -1, .system = -1, .all = all};
    if (user && system) {
        const char *const names[] = {user->name, system->name};
        out->user = user->value;
        out->system = system->value;
        out->seconds = user->value + system->value;
        out->key = report_names(page, names, 2);
    }
    if (all) {
        out->seconds = all->value;
        out->key = all->name;
    }
    return all || (user && system);
}

size_t report_cpu_totals(struct report_page *page, const struct report_measures *measures,
                         struct report_cpu_total *out, size_t limit)
{
    size_t count = 0;

    for (size_t i = 0; i < measures->count && count < limit; i++) {
        const char *source = measures->items[i].key->source;
        bool is_known = !report_measure_in(&measures->items[i], TOPIC_CPU, UNIT_SECONDS);
        for (size_t j = 0; j < count && !is_known; j++)
            is_known = strcmp(out[j].source, source) == 0;
        if (!is_known)
            count += total_of(page, measures, source, &out[count]);
    }
    return count;
}

/* -- Bytes in and out -- */

size_t report_pairs(const struct report_measures *measures, enum topic read, enum topic written,
                    enum unit unit, struct report_pair *out, size_t limit)
{
    size_t count = 0;

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        const bool is_read = measure->key->topic == read;
        if (!report_measure_in(measure, TOPIC_IO, unit) || (!is_read && measure->key->topic != written))
            continue;
        size_t at = 0;
        while (at < count && strcmp(report_pair_source(&out[at]), measure->key->source) != 0)
            at++;
        if (at == limit)
            continue;
        if (at == count)
            out[count++] = (struct report_pair){0};
        const struct report_measure **place = is_read ? &out[at].read : &out[at].written;
        *place = *place ? *place : measure;
    }
    return count;
}

const char *report_pair_source(const struct report_pair *pair)
{
    return pair->read ? pair->read->key->source : pair->written->key->source;
}

const char *report_pair_text(struct report_page *page, const struct report_pair *pair)
{
    const char *read = pair->read ? report_human(page, pair->read->key->unit, pair->read->value) : "";
    const char *written =
        pair->written ? report_human(page, pair->written->key->unit, pair->written->value) : "";

    return report_text_of(page, "%s%s%s%s%s", read, pair->read ? " read" : "",
                          pair->read && pair->written ? ", " : "", written, pair->written ? " written" : "");
}

const char *report_pair_key(struct report_page *page, const struct report_pair *pair)
{
    const char *names[2];
    size_t count = 0;

    if (pair->read)
        names[count++] = pair->read->name;
    if (pair->written)
        names[count++] = pair->written->name;
    return report_names(page, names, count);
}

static bool same(const struct report_measure *a, const struct report_measure *b)
{
    return !a || !b || report_difference(a->value, b->value) <= REPORT_AGREE;
}

bool report_pairs_agree(const struct report_pair *a, const struct report_pair *b)
{
    return same(a->read, b->read) && same(a->written, b->written);
}
