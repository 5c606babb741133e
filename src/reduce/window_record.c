/* From a window to the record of it, and to the summary of the run. */
#include <errno.h>

#include "reduce/window_inner.h"

/* Begins an entry; the caller fills its values. NULL for want of memory. */
static struct record_entry *record_add(struct record *record, const struct plan *plan, const char *statistic,
                                       size_t capacity)
{
    struct record_entry *entry = &record->entries[record->count];
    const char *key = plan->measurement->key;

    if (statistic) {
        char text[MEASUREMENT_KEY_SIZE];
        key = arena_strdup(&record->arena,
                           measurement_statistic_key(plan->source, plan->measurement, statistic, text));
    }
    struct record_value *values = arena_alloc(&record->arena, capacity * sizeof(*values));
    if (!key || !values)
        return NULL;
    *entry = (struct record_entry){.key = key, .measurement = plan->measurement, .values = values};
    record->count++;
    return entry;
}

static int record_single(struct record *record, const struct plan *plan, const char *statistic,
                         const struct statistic *from)
{
    if (!from->has || from->fell)
        return 0;
    struct record_entry *entry = record_add(record, plan, statistic, 1);
    if (!entry)
        return -ENOMEM;
    entry->count = 1;
    return statistic_value(from, plan->measurement->type, &record->arena, &entry->values[0]);
}

static double mean_of(const struct window *window, const struct plan *plan, const struct statistic *from)
{
    const double ceiling = window_ceiling(window, plan->measurement);
    const double mean = statistic_mean(from);

    return ceiling > 0 && mean > ceiling ? ceiling : mean;
}

static int record_mean(const struct window *window, struct record *record, const struct plan *plan,
                       const struct statistic *from)
{
    struct statistic mean = *from;
    mean.value = mean_of(window, plan, from);
    return record_single(record, plan, "ave", &mean);
}

/* What a subject has to show for a plan, in this window or (devices) in the whole run; NULL: nothing. */
static const struct statistic *subject_statistic(const struct tracked *tracked, const struct plan *plan,
                                                 bool run)
{
    const struct statistic *statistic = NULL;

    if (run) {
        statistic = tracked->run ? &tracked->run[plan->slot] : NULL;
    } else {
        const struct cell *cell = tracked_cell(tracked, plan);
        statistic = cell ? &cell->statistic : NULL;
    }
    return statistic && statistic->has && !statistic->fell ? statistic : NULL;
}

/* One entry with a value per subject; none if no subject has one. */
static int record_subjects(const struct window *window, struct record *record, const struct plan *plan,
                           const char *name, bool run, bool mean)
{
    size_t count = 0;
    struct tracked *tracked, *next;

    HASH_ITER (hh, window->subjects, tracked, next) {
        count += subject_statistic(tracked, plan, run) != NULL;
    }
    if (count == 0)
        return 0;
    struct record_entry *entry = record_add(record, plan, name, count);
    if (!entry)
        return -ENOMEM;
    HASH_ITER (hh, window->subjects, tracked, next) {
        const struct statistic *from = subject_statistic(tracked, plan, run);
        if (!from)
            continue;
        struct record_value *value = &entry->values[entry->count];
        value->subject = tracked->subject;
        if (mean)
            value->number = mean_of(window, plan, from);
        else if (statistic_value(from, plan->measurement->type, &record->arena, value) < 0)
            return -ENOMEM;
        entry->count++;
    }
    return 0;
}

static int record_begin(const struct window *window, struct record *record)
{
    arena_recycle(&record->arena);
    record->count = 0;
    /* At most two entries a measurement: its value and its mean. */
    record->entries = arena_alloc(&record->arena, (window->plan_count + 1) * 2 * sizeof(*record->entries));
    return record->entries ? 0 : -ENOMEM;
}

int window_report(struct window *window, struct record *record)
{
    int code = record_begin(window, record);

    record->num_samples = window->num_samples;
    for (size_t i = 0; i < window->plan_count && code == 0; i++) {
        const struct plan *plan = &window->plans[i];
        const struct statistic *single = &window->cells[i].statistic;
        if (plan->measurement->scope != SCOPE_SINGLE) {
            code = record_subjects(window, record, plan, NULL, false, false);
            continue;
        }
        code = record_single(record, plan, NULL, single);
        if (code == 0 && plan->measurement->reduce == REDUCE_MAX)
            code = record_mean(window, record, plan, single);
    }
    window_begin_next(window);
    return code;
}

int window_summarise(const struct window *window, struct record *record)
{
    int code = record_begin(window, record);

    record->num_samples = window->run_samples;
    for (size_t i = 0; i < window->plan_count && code == 0; i++) {
        const struct plan *plan = &window->plans[i];
        const struct measurement *m = plan->measurement;
        if (m->scope == SCOPE_PER_PID || m->type == TYPE_LABEL)
            continue;
        if (m->scope == SCOPE_PER_DEVICE) {
            code = record_subjects(window, record, plan, reduce_statistic(m->reduce), true, false);
            if (code == 0 && m->reduce == REDUCE_MAX)
                code = record_subjects(window, record, plan, "ave", true, true);
            continue;
        }
        code = record_single(record, plan, reduce_statistic(m->reduce), &window->run[i]);
        if (code == 0 && m->reduce == REDUCE_MAX)
            code = record_mean(window, record, plan, &window->run[i]);
    }
    return code;
}
