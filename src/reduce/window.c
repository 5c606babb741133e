#include "reduce/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* uthash would exit() */
#include <uthash.h>

#include "base/clock.h"
#include "reduce/statistic.h"

/* What the derivation of the next reading needs to know of the one before. */
struct previous {
    double number;
    uint64_t stamp_ns; /* 0: there is none */
};

/* One selected measurement. Its `slot` indexes the statistics of the window or of a subject. */
struct plan {
    const struct source *source;
    const struct measurement *measurement;
    size_t source_index;
    size_t slot;
    bool by_row; /* read from the rows of subjects, not from the single row */
};

struct cell {
    struct previous previous;
    struct statistic statistic;
};

struct tracked {
    uint64_t serial;
    struct subject subject;
    bool ended;
    UT_hash_handle hh;
    struct statistic *run; /* [plan_count] for devices, NULL for processes */
    struct cell cells[];   /* [plan_count] */
};

struct window {
    const struct registry *registry;
    struct window_options options;
    struct plan *plans;
    size_t plan_count;
    struct cell *cells;    /* singles, by slot: this window */
    struct statistic *run; /* singles, by slot: the whole run */
    uint64_t *pass_ns;     /* per source: stamp of the pass before */
    struct tracked *subjects;
    unsigned num_samples, run_samples;
};

struct window *window_new(const struct registry *registry, const struct window_options *options)
{
    struct window *window = calloc(1, sizeof(*window));
    if (!window)
        return NULL;
    window->registry = registry;
    window->options = *options;
    window->plans = calloc(registry->count + 1, sizeof(*window->plans));
    window->cells = calloc(registry->count + 1, sizeof(*window->cells));
    window->run = calloc(registry->count + 1, sizeof(*window->run));
    window->pass_ns = calloc(registry->source_count + 1, sizeof(*window->pass_ns));
    if (!window->plans || !window->cells || !window->run || !window->pass_ns) {
        window_free(window);
        return NULL;
    }
    for (size_t i = 0; i < registry->source_count; i++)
        window->pass_ns[i] = options->start_ns;
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        if (!entry->selected)
            continue;
        const struct measurement *m = entry->measurement;
        window->plans[window->plan_count] = (struct plan){
            .source = entry->source,
            .measurement = m,
            .source_index = entry->source_index,
            .slot = window->plan_count,
            .by_row = m->scope != SCOPE_SINGLE || m->collapse != COLLAPSE_NONE,
        };
        window->plan_count++;
    }
    return window;
}

/* The subject must be out of the window's map. */
static void tracked_free(const struct window *window, struct tracked *tracked)
{
    for (size_t i = 0; i < window->plan_count; i++) {
        enum type type = window->plans[i].measurement->type;
        statistic_fini(&tracked->cells[i].statistic, type);
        if (tracked->run)
            statistic_fini(&tracked->run[i], type);
    }
    free(tracked->run);
    free(tracked);
}

void window_free(struct window *window)
{
    if (!window)
        return;
    struct tracked *tracked = window->subjects, *next;
    HASH_CLEAR(hh, window->subjects); /* the map; the chain of subjects is still there to walk */
    for (; tracked; tracked = next) {
        next = tracked->hh.next;
        tracked_free(window, tracked);
    }
    for (size_t i = 0; i < window->plan_count; i++) {
        statistic_fini(&window->cells[i].statistic, window->plans[i].measurement->type);
        statistic_fini(&window->run[i], window->plans[i].measurement->type);
    }
    free(window->plans);
    free(window->cells);
    free(window->run);
    free(window->pass_ns);
    free(window);
}

/* A derived value, ready to be collapsed and reduced. */
struct derived {
    bool has;       /* there is a value */
    bool fell;      /* there is none because the counter fell */
    bool mean_only; /* too short an interval for a peak */
    double number;
    double seconds; /* the time it stands for */
};

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SECOND : 0;
}

static struct derived derive_rate(const struct window *window, const struct pass *pass, const struct row *row,
                                  uint64_t pass_before_ns, double number, struct previous *previous)
{
    const double tick = (double)window->options.tick_ns / (double)NS_PER_SECOND;
    struct derived derived = {0};

    if (previous->stamp_ns) {
        double seconds = seconds_between(previous->stamp_ns, row->stamp_ns);
        double increment = number - previous->number;
        bool too_short = seconds < tick / 2;
        if (too_short && pass->kind != PASS_FINAL)
            return derived; /* carried: `previous` stays */
        derived.fell = increment < 0;
        derived.has = !derived.fell && seconds > 0;
        derived.mean_only = too_short;
        derived.number = derived.has ? increment / seconds : 0;
        derived.seconds = seconds;
    } else if (row != &pass->single && row->subject.born_ns && row->subject.born_ns > pass_before_ns) {
        double age = seconds_between(row->subject.born_ns, row->stamp_ns);
        derived.has = true;
        derived.number = number / (age > tick ? age : tick);
        derived.seconds = age;
    }
    *previous = (struct previous){number, row->stamp_ns};
    return derived;
}

static struct derived derive_increment(const struct window *window, const struct pass *pass,
                                       const struct row *row, double number, struct previous *previous)
{
    struct derived derived = {0};

    if (previous->stamp_ns) {
        derived.fell = number < previous->number;
        derived.has = !derived.fell;
        derived.number = number - previous->number;
    } else if (row != &pass->single && row->subject.born_ns >= window->options.start_ns) {
        derived.has = true; /* born while we watch: all it has done, it did here */
        derived.number = number;
    }
    *previous = (struct previous){number, row->stamp_ns};
    return derived;
}

static struct derived plan_derive(const struct window *window, const struct plan *plan,
                                  const struct pass *pass, const struct row *row, struct previous *previous)
{
    const struct measurement *m = plan->measurement;
    double number = row->values[m->field].number;
    uint64_t pass_before_ns = window->pass_ns[plan->source_index];

    if (m->type == TYPE_GAUGE) {
        bool counts =
            pass->kind == PASS_SAMPLE || (pass->kind == PASS_FINAL && (m->kept || m->reduce == REDUCE_LAST));
        return (struct derived){
            .has = counts, .number = number, .seconds = seconds_between(pass_before_ns, pass->stamp_ns)};
    }
    if (pass->kind == PASS_SEED) {
        *previous = (struct previous){number, row->stamp_ns};
        return (struct derived){0};
    }
    if (m->derive == DERIVE_RATE)
        return derive_rate(window, pass, row, pass_before_ns, number, previous);
    return derive_increment(window, pass, row, number, previous);
}

/* 0: there is none, or it is not known. */
static double ceiling_of(const struct window *window, const struct measurement *m)
{
    switch (m->ceiling) {
    case CEILING_ONE:
        return 1;
    case CEILING_USABLE_CORES:
        return window->options.usable_cores;
    case CEILING_ONLINE_CORES:
        return window->options.online_cores;
    case CEILING_NONE:
        break;
    }
    return 0;
}

static void statistic_take(const struct window *window, const struct measurement *m,
                           const struct derived *derived, struct statistic *statistic)
{
    double number = derived->number;

    /* A rate misses one interval; a sum of increments is not the sum any more. */
    if (derived->fell && m->derive == DERIVE_NONE)
        statistic->fell = true;
    if (!derived->has || !isfinite(number))
        return;
    double ceiling = ceiling_of(window, m);
    if (ceiling > 0 && number > ceiling)
        number = ceiling;
    if (!derived->mean_only)
        statistic_fold(statistic, m->reduce, number, 0);
    /* The mean takes what was really counted: the part above the ceiling belongs to an earlier interval. */
    statistic_fold_mean(statistic, derived->number, derived->seconds);
}

static struct tracked *window_track(struct window *window, const struct plan *plan,
                                    const struct subject *subject)
{
    struct tracked *tracked;

    HASH_FIND(hh, window->subjects, &subject->serial, sizeof(subject->serial), tracked);
    if (tracked)
        return tracked;
    tracked = calloc(1, sizeof(*tracked) + window->plan_count * sizeof(tracked->cells[0]));
    if (!tracked)
        return NULL;
    if (plan->measurement->scope == SCOPE_PER_DEVICE) {
        tracked->run = calloc(window->plan_count, sizeof(*tracked->run));
        if (!tracked->run) {
            free(tracked);
            return NULL;
        }
    }
    tracked->serial = subject->serial;
    tracked->subject = *subject;
    HASH_ADD(hh, window->subjects, serial, sizeof(tracked->serial), tracked);
    if (!tracked->hh.tbl) { /* no memory for the map */
        free(tracked->run);
        free(tracked);
        return NULL;
    }
    return tracked;
}

/* A state of the target as a whole counts in the window and in the run. */
static int fold_state_twice(struct statistic *window, struct statistic *run, const char *state)
{
    return statistic_fold_state(window, state) < 0 || statistic_fold_state(run, state) < 0 ? -ENOMEM : 0;
}

/* The readings of one subject: per-subject values, and this subject's part of each total. */
static int fold_row(struct window *window, const struct plan *plans, size_t count, const struct pass *pass,
                    const struct row *row, struct derived *totals)
{
    struct tracked *tracked = NULL;
    int code = 0;

    for (size_t i = 0; i < count; i++) {
        const struct plan *plan = &plans[i];
        const struct measurement *m = plan->measurement;
        if (!plan->by_row || !row_has(row, m->field))
            continue;
        if (!tracked && !(tracked = window_track(window, plan, &row->subject)))
            return -ENOMEM;
        struct cell *cell = &tracked->cells[plan->slot];

        if (m->type == TYPE_LABEL || m->type == TYPE_CATEGORICAL) {
            const char *text = row->values[m->field].text;
            if (pass->kind != PASS_SAMPLE)
                continue;
            if (m->type == TYPE_LABEL)
                code = statistic_fold_text(&cell->statistic, text);
            else if (m->collapse == COLLAPSE_COUNT)
                code = fold_state_twice(&window->cells[plan->slot].statistic, &window->run[plan->slot], text);
            else
                code = statistic_fold_state(&cell->statistic, text);
            continue;
        }

        struct derived derived = plan_derive(window, plan, pass, row, &cell->previous);
        if (m->collapse == COLLAPSE_NONE) {
            statistic_take(window, m, &derived, &cell->statistic);
            if (tracked->run)
                statistic_take(window, m, &derived, &tracked->run[plan->slot]);
            continue;
        }
        struct derived *total = &totals[i];
        total->fell = total->fell || derived.fell;
        total->mean_only = total->mean_only || derived.mean_only;
        if (!derived.has)
            continue;
        if (m->collapse == COLLAPSE_SUM)
            total->number += derived.number;
        else if (!total->has || derived.number > total->number)
            total->number = derived.number;
        total->has = true;
    }
    return code;
}

static int fold_single(struct window *window, const struct plan *plan, const struct pass *pass,
                       const struct derived *total)
{
    const struct measurement *m = plan->measurement;
    struct cell *cell = &window->cells[plan->slot];
    struct statistic *run = &window->run[plan->slot];
    struct derived derived = *total;

    if (plan->by_row) {
        derived.seconds = seconds_between(window->pass_ns[plan->source_index], pass->stamp_ns);
    } else {
        if (!row_has(&pass->single, m->field))
            return 0;
        if (m->type == TYPE_LABEL || m->type == TYPE_CATEGORICAL) {
            const char *text = pass->single.values[m->field].text;
            if (pass->kind != PASS_SAMPLE)
                return 0;
            if (m->type == TYPE_LABEL)
                return statistic_fold_text(&cell->statistic, text);
            return fold_state_twice(&cell->statistic, run, text);
        }
        derived = plan_derive(window, plan, pass, &pass->single, &cell->previous);
    }
    statistic_take(window, m, &derived, &cell->statistic);
    statistic_take(window, m, &derived, run);
    return 0;
}

int window_fold(struct window *window, size_t source_index, const struct pass *pass)
{
    size_t first = 0;
    while (first < window->plan_count && window->plans[first].source_index != source_index)
        first++;
    size_t count = 0;
    while (first + count < window->plan_count && window->plans[first + count].source_index == source_index)
        count++;
    const struct plan *plans = window->plans + first;
    struct derived totals[UINT8_MAX + 1] = {0}; /* a source has at most so many measurements */
    int code = 0;

    for (size_t i = 0; i < pass->count; i++)
        if (fold_row(window, plans, count, pass, &pass->rows[i], totals) < 0)
            code = -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (plans[i].measurement->scope == SCOPE_SINGLE &&
            fold_single(window, &plans[i], pass, &totals[i]) < 0)
            code = -ENOMEM;
    window->pass_ns[source_index] = pass->stamp_ns;
    return code;
}

void window_count_sample(struct window *window)
{
    window->num_samples++;
    window->run_samples++;
}

void window_end_subject(struct window *window, uint64_t serial)
{
    struct tracked *tracked;
    HASH_FIND(hh, window->subjects, &serial, sizeof(serial), tracked);
    if (tracked)
        tracked->ended = true;
}

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

static int record_mean(struct record *record, const struct plan *plan, const struct statistic *from)
{
    struct statistic mean = *from;
    mean.value = statistic_mean(from);
    return record_single(record, plan, "ave", &mean);
}

/* What a subject has to show for a plan, in this window or (devices) in the whole run; NULL: nothing. */
static const struct statistic *subject_statistic(const struct tracked *tracked, const struct plan *plan,
                                                 bool run)
{
    if (run && !tracked->run)
        return NULL;
    const struct statistic *statistic =
        run ? &tracked->run[plan->slot] : &tracked->cells[plan->slot].statistic;
    return statistic->has && !statistic->fell ? statistic : NULL;
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
            value->number = statistic_mean(from);
        else if (statistic_value(from, plan->measurement->type, &record->arena, value) < 0)
            return -ENOMEM;
        entry->count++;
    }
    return 0;
}

static int record_begin(const struct window *window, struct record *record)
{
    arena_reset(&record->arena);
    record->count = 0;
    /* At most two entries a measurement: its value and its mean. */
    record->entries = arena_alloc(&record->arena, (window->plan_count + 1) * 2 * sizeof(*record->entries));
    return record->entries ? 0 : -ENOMEM;
}

static void window_begin_next(struct window *window)
{
    struct tracked *tracked, *next;

    for (size_t i = 0; i < window->plan_count; i++)
        statistic_reset(&window->cells[i].statistic, window->plans[i].measurement->type);
    HASH_ITER (hh, window->subjects, tracked, next) {
        if (tracked->ended && !tracked->run) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): HASH_ITER took `next` before this one goes */
            HASH_DEL(window->subjects, tracked);
            tracked_free(window, tracked);
            continue;
        }
        for (size_t i = 0; i < window->plan_count; i++)
            statistic_reset(&tracked->cells[i].statistic, window->plans[i].measurement->type);
    }
    window->num_samples = 0;
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
            code = record_mean(record, plan, single);
    }
    window_begin_next(window);
    return code;
}

/* The name a measurement's main statistic has in a summary; NULL: its own key. */
static const char *summary_statistic(const struct measurement *measurement)
{
    if (measurement->reduce == REDUCE_MAX)
        return "peak";
    return measurement->reduce == REDUCE_MIN ? "low" : NULL;
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
            code = record_subjects(window, record, plan, summary_statistic(m), true, false);
            if (code == 0 && m->reduce == REDUCE_MAX)
                code = record_subjects(window, record, plan, "ave", true, true);
            continue;
        }
        code = record_single(record, plan, summary_statistic(m), &window->run[i]);
        if (code == 0 && m->reduce == REDUCE_MAX)
            code = record_mean(record, plan, &window->run[i]);
    }
    return code;
}
