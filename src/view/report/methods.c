#include "view/report/methods.h"

#include <math.h>
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
    for (size_t i = 1; i < count && all; i++)
        all = report_text_of(page, "%s, %s", all, names[i]);
    return all;
}

const char *report_list(struct report_page *page, const char *before, const char *one, bool is_last)
{
    return before ? report_text_of(page, "%s%s%s", before, is_last ? " and " : ", ", one) : one;
}

/* -- CPU -- */

static bool is_of(const struct report_measure *measure, const char *source, const char *part)
{
    return report_is_cpu(measure) && strcmp(measure->key->source, source) == 0 &&
           strstr(measure->key->key, part);
}

static const struct report_measure *cpu_part(const struct report_measures *measures, const char *source,
                                             const char *part)
{
    for (size_t i = 0; i < measures->count; i++)
        if (is_of(&measures->items[i], source, part))
            return &measures->items[i];
    return NULL;
}

/* False: this source does not count all CPU. */
static bool total_of(struct report_page *page, const struct report_measures *measures, const char *source,
                     struct report_cpu_total *out)
{
    const struct report_measure *user = cpu_part(measures, source, "cpu_user");
    const struct report_measure *system = cpu_part(measures, source, "cpu_system");
    const struct report_measure *all = cpu_part(measures, source, "cpu_seconds");

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
        bool is_known = !report_is_cpu(&measures->items[i]);
        for (size_t j = 0; j < count && !is_known; j++)
            is_known = strcmp(out[j].source, source) == 0;
        if (!is_known)
            count += total_of(page, measures, source, &out[count]);
    }
    return count;
}

/* -- Bytes in and out -- */

static bool has_any(const char *key, const char *const parts[2])
{
    return strstr(key, parts[0]) || strstr(key, parts[1]);
}

size_t report_pairs(const struct report_measures *measures, report_choice *choose, const char *part,
                    bool without, struct report_pair *out, size_t limit)
{
    static const char *const reads[] = {"read", "_in_"}, *const writes[] = {"write", "_out_"};
    size_t count = 0;

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        const char *key = measure->key->key;
        bool is_read = has_any(key, reads) || strstr(key, "rchar");
        if (!choose(measure) || (strstr(key, part) != NULL) == without ||
            (!is_read && !has_any(key, writes) && !strstr(key, "wchar")) ||
            (measure->statistic && strcmp(measure->statistic, "peak") != 0))
            continue;
        size_t at = 0;
        for (; at < count; at++) {
            const struct report_measure *known = out[at].read ? out[at].read : out[at].written;
            if (strcmp(known->key->source, measure->key->source) == 0)
                break;
        }
        if (at == limit)
            continue;
        if (at == count)
            out[count++] = (struct report_pair){0};
        const struct report_measure **place = is_read ? &out[at].read : &out[at].written;
        *place = *place ? *place : measure;
    }
    return count;
}

const char *report_pair_text(struct report_page *page, const struct report_pair *pair)
{
    char read[UNIT_TEXT_SIZE] = "", written[UNIT_TEXT_SIZE] = "";

    if (pair->read)
        unit_human(pair->read->key->unit, pair->read->value, read);
    if (pair->written)
        unit_human(pair->written->key->unit, pair->written->value, written);
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
