#include "learn/suggestion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "learn/quantile.h"

#define GIB (1024 * MEBIBYTE)

enum resource { MEMORY, CPUS, WALL };

/* Of one resource of a run. */
struct amounts {
    double used;      /* NAN: not measured */
    double requested; /* 0: not known */
};

static struct amounts amounts_of(const struct past_run *run, enum resource resource)
{
    if (resource == MEMORY)
        return (struct amounts){run->memory_bytes, run->requested_bytes};
    if (resource == WALL)
        return (struct amounts){run->wall_seconds, run->requested_seconds};
    return (struct amounts){run->cpus, run->requested_cpus};
}

static double round_up(double value, double step)
{
    return ceil(value / step - 1e-9) * step; /* no step more for the last bit of a product */
}

double suggestion_round_memory(double bytes)
{
    static const struct {
        double below, step;
    } steps[] = {
        {GIB, 64 * MEBIBYTE}, {4 * GIB, 128 * MEBIBYTE}, {16 * GIB, 512 * MEBIBYTE}, {64 * GIB, GIB}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (bytes < steps[i].below)
            return fmax(round_up(bytes, steps[i].step), 64 * MEBIBYTE);
    return round_up(bytes, 4 * GIB);
}

double suggestion_round_time(double seconds)
{
    return fmax(round_up(seconds, 60), 60);
}

static double same(double cpus)
{
    return cpus;
}

static bool is_counted(const struct past_run *run, bool none_succeeded)
{
    if (!none_succeeded)
        return run->end == PAST_SUCCEEDED;
    return run->end != PAST_RUNNING && run->end != PAST_LOST && run->end != PAST_NOT_STARTED;
}

/* As far as is known: what waited, or was watched for a while only, shows less. */
static bool had_all_it_could_use(const struct past_run *run)
{
    return run->end != PAST_ATTACHED && !cpu_shortage_is_long(&run->shortage) &&
           !cpu_shortage_is_possible(&run->shortage);
}

/* Whether it counts for this resource. */
static bool is_counted_for(const struct past_run *run, const struct suggestion *suggestion,
                           enum resource resource)
{
    if (!is_counted(run, suggestion->none_succeeded) || isnan(amounts_of(run, resource).used))
        return false;
    return resource != CPUS || suggestion->cpus_are_lower_bound || had_all_it_could_use(run);
}

/* The numbers of the counted runs into `values`, sorted: how many. */
static size_t gather(const struct past_run *runs, size_t count, const struct suggestion *suggestion,
                     enum resource resource, double *values)
{
    size_t gathered = 0;

    for (size_t i = 0; i < count; i++)
        if (is_counted_for(&runs[i], suggestion, resource))
            values[gathered++] = amounts_of(&runs[i], resource).used;
    quantile_sort(values, gathered);
    return gathered;
}

/* `quantile` 0: the largest of few runs, and one of them that few exceed of many. */
static void take_quantile(struct suggested *out, const double *sorted, size_t count, double quantile)
{
    if (count == 0)
        return;
    if (quantile <= 0)
        quantile = count < SUGGESTION_MANY_RUNS ? 1 : SUGGESTION_QUANTILE;
    out->has = true;
    out->runs = count;
    out->quantile = quantile;
    /* CPUs are whole: the fewest that are enough for so many of the runs */
    out->base = quantile == SUGGESTION_CPU_QUANTILE ? quantile_reached(sorted, count, quantile)
                                                    : quantile_sorted(sorted, count, quantile);
    out->smallest = sorted[0];
    out->largest = sorted[count - 1];
}

static size_t count_fitting(const double *sorted, size_t count, double value)
{
    size_t fitting = 0;

    while (fitting < count && sorted[fitting] <= value)
        fitting++;
    return fitting;
}

static void compare_requests(const struct past_run *runs, size_t count, bool none_succeeded,
                             enum resource resource, double *values, struct suggestion_requested *out)
{
    for (size_t i = 0; i < count; i++) {
        struct amounts amounts = amounts_of(&runs[i], resource);
        if (resource == CPUS) /* of all that was paid for, on average */
            amounts.used = runs[i].cpu_seconds / runs[i].wall_seconds;
        if (!is_counted(&runs[i], none_succeeded) || !isfinite(amounts.used) || amounts.requested <= 0)
            continue;
        out->lowest = out->runs ? fmin(out->lowest, amounts.requested) : amounts.requested;
        out->highest = out->runs ? fmax(out->highest, amounts.requested) : amounts.requested;
        values[out->runs++] = amounts.used / amounts.requested;
    }
    if (out->runs == 0)
        return;
    quantile_sort(values, out->runs);
    out->used_lowest = values[0];
    out->used_median = quantile_median(values, out->runs);
    out->used_highest = values[out->runs - 1];
}

static void raise_floor(struct suggested *out, enum suggestion_floor by, double of, double factor,
                        const char *source)
{
    if (!(of * factor > out->floor)) /* nor where it was not measured */
        return;
    out->floor_by = by;
    out->floor_source = by == FLOOR_PEAK ? source : NULL;
    out->floor_of = of;
    out->floor = of * factor;
}

/* What those that were cut off need at least. */
static void find_floors(const struct past_run *runs, size_t count, struct suggestion *out)
{
    double beyond = fmax(SUGGESTION_BEYOND_LIMIT, 1 + out->margin);

    for (size_t i = 0; i < count; i++) {
        const struct past_run *run = &runs[i];
        if (run->end == PAST_OUT_OF_MEMORY)
            out->killed_limit = fmax(out->killed_limit, run->memory_limit_bytes);
        if (run->end == PAST_OUT_OF_MEMORY)
            raise_floor(&out->memory, run->memory_bytes > run->memory_limit_bytes ? FLOOR_PEAK : FLOOR_LIMIT,
                        fmax(run->memory_limit_bytes, run->memory_bytes), beyond, run->memory_source);
        else if (run->end == PAST_SIGNALLED)
            raise_floor(&out->memory, FLOOR_PEAK, run->memory_bytes, 1 + out->margin, run->memory_source);
        else if (run->end == PAST_OUT_OF_TIME)
            raise_floor(&out->wall, FLOOR_LIMIT, fmax(run->requested_seconds, run->wall_seconds), beyond,
                        NULL);
    }
}

/* The margin, the floor, and what would have fitted. */
static void settle(struct suggested *out, double margin, double (*rounded)(double), const double *sorted,
                   size_t count)
{
    double wanted = out->has ? out->base * (1 + margin) : 0;

    out->raised = out->floor > wanted;
    out->has = out->has || out->floor > 0;
    if (!out->has)
        return;
    out->value = rounded(out->raised ? out->floor : wanted);
    out->fitting = count_fitting(sorted, count, out->value);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void count_source(struct suggestion *out, const struct past_run *run)
{
    for (size_t i = 0; i < out->source_count; i++)
        if (same_text(out->sources[i].source, run->memory_source) &&
            same_text(out->sources[i].note, run->memory_note)) {
            out->sources[i].runs++;
            return;
        }
    if (out->source_count == SUGGESTION_SOURCES_MAX)
        out->more_sources++;
    else
        out->sources[out->source_count++] =
            (struct suggestion_source){run->memory_source, run->memory_note, run->memory_bound, 1};
}

static void find_sources(const struct past_run *runs, size_t count, struct suggestion *out)
{
    for (size_t i = 0; i < count; i++)
        if (!isnan(runs[i].memory_bytes) && is_counted(&runs[i], out->none_succeeded)) {
            count_source(out, &runs[i]);
            out->memory_sampled += runs[i].memory_sampled;
            out->memory_of_one += runs[i].memory_of_one;
        }
    for (size_t i = 1; i < out->source_count; i++) /* most runs first; of equal ones the first seen */
        for (size_t j = i; j > 0 && out->sources[j].runs > out->sources[j - 1].runs; j--) {
            struct suggestion_source moved = out->sources[j];
            out->sources[j] = out->sources[j - 1];
            out->sources[j - 1] = moved;
        }
}

static void find_shortage(const struct past_run *runs, size_t count, struct suggestion *out)
{
    size_t all = 0, with_all_they_could_use = 0;

    for (size_t i = 0; i < count; i++) {
        const struct cpu_shortage *shortage = &runs[i].shortage;

        if (!is_counted(&runs[i], out->none_succeeded) || isnan(runs[i].cpus))
            continue;
        all++;
        with_all_they_could_use += had_all_it_could_use(&runs[i]);
        out->throttled += shortage->throttled >= CPU_SHORTAGE_THROTTLED;
        out->waited_perhaps += cpu_shortage_is_possible(shortage);
        if (!(shortage->waited > CPU_SHORTAGE_WAITED))
            continue;
        out->wait_lowest = out->waited ? fmin(out->wait_lowest, shortage->waited) : shortage->waited;
        out->wait_highest = fmax(out->wait_highest, shortage->waited);
        out->waited++;
    }
    out->cpus_are_lower_bound = all > 0 && with_all_they_could_use == 0;
}

static void add_up_busy(const struct past_run *runs, size_t count, struct suggestion *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_counted_for(&runs[i], out, CPUS))
            continue;
        for (size_t group = 0; group < PARALLELISM_GROUPS; group++)
            out->busy[group] += runs[i].busy[group];
        out->bursts += runs[i].burst > 0;
        out->burst = fmax(out->burst, runs[i].burst);
    }
}

static void find_work(const struct past_run *runs, size_t count, struct suggestion *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (!runs[i].work || !is_counted(&runs[i], out->none_succeeded))
            continue;
        while (at < out->work_count && strcmp(out->work[at], runs[i].work) != 0)
            at++;
        if (at < out->work_count)
            continue;
        if (at < SUGGESTION_WORK_MAX)
            out->work[out->work_count++] = runs[i].work;
        else
            out->more_work = true;
    }
}

static void find_failed_peak(const struct past_run *runs, size_t count, struct suggestion *out)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i].end == PAST_FAILED && runs[i].memory_bytes > fmax(out->memory.value, out->failed_peak))
            out->failed_peak = runs[i].memory_bytes;
}

int suggestion_make(const struct past_run *runs, size_t count, double margin, struct suggestion *out)
{
    const struct {
        struct suggested *out;
        double quantile, margin;
        double (*rounded)(double);
    } resources[] = {
        [MEMORY] = {&out->memory, 0, margin, suggestion_round_memory},
        [CPUS] = {&out->cpus, SUGGESTION_CPU_QUANTILE, 0, same},
        [WALL] = {&out->wall, 0, margin, suggestion_round_time},
    };
    double *values = calloc(count + 1, sizeof(*values));

    *out = (struct suggestion){.margin = margin, .found = count};
    if (!values || together_find(runs, count, &out->together) < 0) {
        free(values);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        out->ended[runs[i].end]++;
    out->none_succeeded = out->ended[PAST_SUCCEEDED] == 0;
    for (size_t i = 0; i < count; i++)
        out->counted += is_counted(&runs[i], out->none_succeeded);
    find_shortage(runs, count, out);
    add_up_busy(runs, count, out);
    find_floors(runs, count, out);
    for (enum resource i = MEMORY; i <= WALL; i++) {
        struct suggested *suggested = resources[i].out;
        size_t have = gather(runs, count, out, i, values);
        take_quantile(suggested, values, have, resources[i].quantile);
        settle(suggested, resources[i].margin, resources[i].rounded, values, have);
        compare_requests(runs, count, out->none_succeeded, i, values, &suggested->requested);
    }
    find_sources(runs, count, out);
    find_work(runs, count, out);
    if (out->memory.has)
        find_failed_peak(runs, count, out);
    free(values);
    return 0;
}
