#include "reduce/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "reduce/window_inner.h"

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
    window->latest = calloc(registry->count + 1, sizeof(*window->latest));
    window->pass_ns = calloc(registry->source_count + 1, sizeof(*window->pass_ns));
    window->row_plans = calloc(registry->source_count + 1, sizeof(*window->row_plans));
    if (!window->plans || !window->cells || !window->run || !window->latest || !window->pass_ns ||
        !window->row_plans) {
        window_free(window);
        return NULL;
    }
    for (size_t i = 0; i < registry->source_count; i++)
        window->pass_ns[i] = options->start_ns;
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        if (!entry->selected || (options->rates_only && m->derive != DERIVE_RATE))
            continue;
        bool by_row = m->scope != SCOPE_SINGLE || m->collapse != COLLAPSE_NONE;
        window->plans[window->plan_count] = (struct plan){
            .source = entry->source,
            .measurement = m,
            .source_index = entry->source_index,
            .slot = window->plan_count,
            .cell = by_row ? window->row_plans[entry->source_index]++ : 0,
            .by_row = by_row,
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
        struct cell *cell = tracked_cell(tracked, &window->plans[i]);
        if (cell)
            statistic_fini(&cell->statistic, type);
        if (tracked->run)
            statistic_fini(&tracked->run[i], type);
    }
    for (size_t i = 0; i < window->registry->source_count; i++)
        free(tracked->cells[i]);
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
    free(window->latest);
    state_names_fini(&window->names);
    free(window->pass_ns);
    free(window->row_plans);
    free(window->ended);
    free(window);
}

/* A derived value, ready to be collapsed and reduced. */
struct derived {
    bool has;      /* there is a value */
    bool fell;     /* there is none because the counter fell */
    bool is_whole; /* the rate of a newborn: of all its life, however short */
    double number;
    double amount, seconds; /* of a rate: what was counted, and in what time */
};

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SECOND : 0;
}

static double tick_seconds(const struct window *window)
{
    return (double)window->options.tick_ns / (double)NS_PER_SECOND;
}

static struct derived derive_rate(const struct window *window, const struct pass *pass, const struct row *row,
                                  uint64_t pass_before_ns, double number, struct previous *previous)
{
    const double tick = tick_seconds(window);
    struct derived derived = {0};

    if (previous->stamp_ns) {
        derived.seconds = seconds_between(previous->stamp_ns, row->stamp_ns);
        derived.amount = number - previous->number;
        derived.fell = derived.amount < 0;
        derived.has = !derived.fell;
        derived.number = derived.seconds > 0 ? derived.amount / derived.seconds : 0;
    } else if (row != &pass->single && row->subject.born_ns &&
               clock_elapsed_ns(pass_before_ns, row->subject.born_ns) > 0) {
        derived.seconds = seconds_between(row->subject.born_ns, row->stamp_ns);
        derived.has = derived.is_whole = true;
        derived.number = number / fmax(derived.seconds, tick);
        derived.amount = derived.number * derived.seconds;
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
    } else if (row != &pass->single &&
               clock_elapsed_ns(window->options.start_ns, row->subject.born_ns) >= 0) {
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

double window_ceiling(const struct window *window, const struct measurement *m)
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

/* The least seconds of a rate. `alone`: at the end a rest that is all there was is a rate. */
static double least_seconds(const struct window *window, uint64_t span_ns, bool alone)
{
    const double tick = tick_seconds(window);
    return alone ? tick / 2 : fmax(tick / 2, (double)span_ns / (double)NS_PER_SECOND);
}

static void statistic_take(const struct window *window, const struct measurement *m,
                           const struct derived *derived, double least, struct statistic *statistic)
{
    const double ceiling = window_ceiling(window, m);
    const bool is_rate = m->derive == DERIVE_RATE;
    double number = derived->number;

    /* A rate misses one interval; a sum of increments is not the sum any more. */
    if (derived->fell && is_rate)
        statistic_drop_rate(statistic);
    else if (derived->fell)
        statistic->fell = true;
    if (!derived->has || !isfinite(number))
        return;
    if (!is_rate) {
        statistic_fold(statistic, m->reduce, number, derived->seconds);
        return;
    }
    /* The mean takes what was really counted: the part above the ceiling belongs to an earlier interval.
     * (Only a mean that is above it in the end is cut: its interval was the first.) */
    statistic_fold_mean(statistic, derived->amount, derived->seconds);
    if (derived->is_whole ||
        statistic_take_rate(statistic, derived->amount, derived->seconds, least, &number))
        statistic_fold(statistic, m->reduce, ceiling > 0 && number > ceiling ? ceiling : number, 0);
}

/* The rest at the end is too short for a rate of its own. Joined to the latest one it is another: no mean is
 * above its peak. */
static void run_take(const struct window *window, const struct plan *plan, const struct derived *derived,
                     bool final)
{
    const struct measurement *m = plan->measurement;
    const double ceiling = window_ceiling(window, m);
    struct statistic *run = &window->run[plan->slot];
    struct rate_span *latest = &window->latest[plan->slot];
    const double least = least_seconds(window, window->options.summary_rate_ns, final && !run->has);

    if (m->derive != DERIVE_RATE) {
        statistic_take(window, m, derived, least, run);
        return;
    }
    struct rate_span span = {run->waiting.amount + derived->amount, run->waiting.seconds + derived->seconds};
    statistic_take(window, m, derived, least, run);
    if (derived->fell)
        *latest = (struct rate_span){0};
    if (!derived->has)
        return;
    if (run->waiting.seconds <= 0 && span.seconds > 0) {
        *latest = span;
    } else if (final && latest->seconds > 0) {
        double rate = (latest->amount + span.amount) / (latest->seconds + span.seconds);
        statistic_fold(run, m->reduce, ceiling > 0 && rate > ceiling ? ceiling : rate, 0);
    }
}

static struct tracked *tracked_new(struct window *window, const struct plan *plan,
                                   const struct subject *subject)
{
    struct tracked *tracked =
        calloc(1, sizeof(*tracked) + window->registry->source_count * sizeof(tracked->cells[0]));
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

/* The subject of a row, with cells for the row's source. */
static struct tracked *window_track(struct window *window, const struct plan *plan,
                                    const struct subject *subject)
{
    struct tracked *tracked;

    HASH_FIND(hh, window->subjects, &subject->serial, sizeof(subject->serial), tracked);
    if (!tracked && !(tracked = tracked_new(window, plan, subject)))
        return NULL;
    struct cell **cells = &tracked->cells[plan->source_index];
    if (!*cells)
        *cells = calloc(window->row_plans[plan->source_index], sizeof(**cells));
    return *cells ? tracked : NULL;
}

/* What is no number: labels, states, amounts per state. `run`: of the whole run, NULL where that is not kept.
 */
static int fold_words(struct window *window, const struct plan *plan, const struct pass *pass,
                      const struct row *row, struct statistic *here, struct statistic *run)
{
    const struct measurement *m = plan->measurement;
    const union value *value = &row->values[m->field];

    if (measurement_has_amounts(m)) {
        bool seed = pass->kind == PASS_SEED;
        if (run && row == &pass->single && !seed)
            here->has = run->has = true; /* no call at all was measured too; a subject is then left out */
        return statistic_fold_amounts(here, run, &window->names, value->amounts, seed);
    }
    if (pass->kind != PASS_SAMPLE)
        return 0;
    if (m->type == TYPE_LABEL)
        return statistic_fold_text(here, value->text);
    int code = statistic_fold_state(here, &window->names, value->text);
    if (run && statistic_fold_state(run, &window->names, value->text) < 0)
        code = -ENOMEM;
    return code;
}

static bool is_words(const struct measurement *m)
{
    return m->type == TYPE_LABEL || m->type == TYPE_CATEGORICAL;
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
        struct cell *cell = tracked_cell(tracked, plan);

        if (is_words(m)) {
            bool counted = m->collapse == COLLAPSE_COUNT; /* a state of the target as a whole */
            struct statistic *here = counted ? &window->cells[plan->slot].statistic : &cell->statistic;
            struct statistic *run = counted        ? &window->run[plan->slot]
                                    : tracked->run ? &tracked->run[plan->slot]
                                                   : NULL;
            if (fold_words(window, plan, pass, row, here, run) < 0)
                code = -ENOMEM;
            continue;
        }

        struct derived derived = plan_derive(window, plan, pass, row, &cell->previous);
        if (m->collapse == COLLAPSE_NONE) {
            const struct window_options *options = &window->options;
            statistic_take(window, m, &derived, least_seconds(window, options->record_rate_ns, false),
                           &cell->statistic);
            if (tracked->run)
                statistic_take(window, m, &derived, least_seconds(window, options->summary_rate_ns, false),
                               &tracked->run[plan->slot]);
            continue;
        }
        struct derived *total = &totals[i];
        total->fell = total->fell || derived.fell;
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
    const bool final = pass->kind == PASS_FINAL;

    if (plan->by_row) {
        derived.seconds = seconds_between(window->pass_ns[plan->source_index], pass->stamp_ns);
        derived.amount = derived.number * derived.seconds;
    } else {
        if (!row_has(&pass->single, m->field))
            return 0;
        if (is_words(m))
            return fold_words(window, plan, pass, &pass->single, &cell->statistic, run);
        derived = plan_derive(window, plan, pass, &pass->single, &cell->previous);
    }
    const bool only_record = final && !window->has_reported && !cell->statistic.has;
    statistic_take(window, m, &derived, least_seconds(window, window->options.record_rate_ns, only_record),
                   &cell->statistic);
    run_take(window, plan, &derived, final);
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

    for (size_t i = 0; i < pass->count; i++) {
        if (fold_row(window, plans, count, pass, &pass->rows[i], totals) < 0)
            code = -ENOMEM;
        if (pass->rows[i].ended)
            window_end_subject(window, pass->rows[i].subject.serial);
    }
    for (size_t i = 0; i < count; i++)
        if (plans[i].measurement->scope == SCOPE_SINGLE &&
            fold_single(window, &plans[i], pass, &totals[i]) < 0)
            code = -ENOMEM;
    window->pass_ns[source_index] = pass->stamp_ns;
    return code;
}

void window_begin(struct window *window, uint64_t stamp_ns)
{
    for (size_t i = 0; i < window->plan_count; i++) {
        struct previous *seed = &window->cells[i].previous;
        if (seed->stamp_ns && seed->number == 0)
            seed->stamp_ns = stamp_ns;
    }
}

void window_count_sample(struct window *window)
{
    window->num_samples++;
    window->run_samples++;
}

void window_end_subject(struct window *window, uint64_t serial)
{
    /* Without memory it is remembered until the window goes: no worse than having lived on. */
    if (ARRAY_RESERVE(window->ended, window->ended_capacity, window->ended_count + 1) == 0)
        window->ended[window->ended_count++] = serial;
}

/* The report is made: nothing is kept of those that ended before it. */
static void window_forget_ended(struct window *window)
{
    for (size_t i = 0; i < window->ended_count; i++) {
        struct tracked *tracked;
        HASH_FIND(hh, window->subjects, &window->ended[i], sizeof(window->ended[i]), tracked);
        if (!tracked || tracked->run)
            continue;
        HASH_DEL(window->subjects, tracked);
        tracked_free(window, tracked);
    }
    window->ended_count = 0;
}

void window_begin_next(struct window *window)
{
    struct tracked *tracked, *next;

    for (size_t i = 0; i < window->plan_count; i++)
        statistic_reset(&window->cells[i].statistic, window->plans[i].measurement->type);
    window_forget_ended(window);
    HASH_ITER (hh, window->subjects, tracked, next) {
        for (size_t i = 0; i < window->plan_count; i++) {
            struct cell *cell = tracked_cell(tracked, &window->plans[i]);
            if (cell)
                statistic_reset(&cell->statistic, window->plans[i].measurement->type);
        }
    }
    window->num_samples = 0;
    window->has_reported = true;
}
