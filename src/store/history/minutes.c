/*
 * One-minute means and maxima, made of the snapshots of a minute once it has ended; also of those that an
 * earlier daemon left.
 *
 * A mean is weighted by the time each snapshot stands for (since the one before it in the same daemon). A
 * sample that holds for many snapshots is read once: first the ranges of all snapshots are added up to the
 * time and the number of snapshots that each sample holds for, then the samples are read in the order they
 * lie in the file, some at a time. As with samples, a process whose minute is like its last one needs no
 * other row.
 *
 * A minute counts once its row is there. Rows of minute_samples that a crash left without one are in no
 * range, and go with the others of their age.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash_table.h"
#include "store/history/sql.h"
#include "store/history/state.h"

#define STEP_SAMPLES     2000                 /* read in one step */
#define LATE_SECONDS     120                  /* so long snapshots of a minute are waited for */
#define SUMS_BYTES       ((size_t)256 * 1024) /* malloc maps so many, and unmaps them when they are freed */
#define KEYFRAME_MINUTES 360
#define KEYFRAME_ROW     40 /* bytes of a row, about */
#define SPAN_MAX                                                                                             \
    (INT64_C(1) << 23) /* samples of a minute: 128 MiB to count them in; no disk takes as many               \
                        */

/* What holds for one sample; first as differences to the sample before it. */
struct held {
    int64_t ms;
    int64_t ticks;
};

struct quantity_sum {
    double by_ms, ms;
    double by_tick, ticks;
    double max;
};

/* A process in the minute under way. */
struct process_sum {
    int64_t process;
    UT_hash_handle hh;
    struct quantity_sum quantities[]; /* by column */
};

struct mean {
    bool has;
    double mean, max;
};

struct minute_values {
    int64_t process, sample;
};

struct minute_list {
    struct minute_values *entries; /* owned; by process */
    struct mean *means;            /* owned; of each entry one per column */
    size_t count, capacity, mean_capacity;
};

/* The minute under way. */
struct rollup {
    bool active;
    int64_t minute, first_tick, last_tick;
    int64_t base, last; /* samples */
    int64_t at;         /* the next sample to be read */
    struct held *held;  /* owned; by sample, from base */
    size_t held_capacity;
    unsigned width;           /* columns of a process that have a mean */
    struct process_sum *sums; /* a hash by the process; in the arena */
    struct arena arena;
    /* Of the minutes before: */
    bool loaded;
    int64_t done_tick; /* the last snapshot of the last minute made */
    int64_t last_id, last_sample, keyframe_id;
    uint64_t range_bytes;
    struct minute_list known, next;
};

static void list_fini(struct minute_list *list)
{
    free(list->entries);
    free(list->means);
    *list = (struct minute_list){0};
}

/* Between two minutes: a storm of processes makes this many MiB. */
static void give_back(struct rollup *rollup)
{
    free(rollup->held);
    rollup->held = NULL;
    rollup->held_capacity = 0;
    HASH_CLEAR(hh, rollup->sums);
    arena_fini(&rollup->arena);
    list_fini(&rollup->next);
}

void minutes_forget(struct history *history)
{
    if (!history->rollup)
        return;
    history->rollup->active = false;
    history->rollup->loaded = false;
    history->rollup->known.count = 0;
}

void minutes_free(struct history *history)
{
    struct rollup *rollup = history->rollup;

    if (!rollup)
        return;
    give_back(rollup);
    list_fini(&rollup->known);
    free(rollup);
    history->rollup = NULL;
}

static int load(struct history *history)
{
    struct rollup *rollup = history->rollup;
    sqlite3 *database = history->database;

    rollup->keyframe_id = 0;
    rollup->first_tick = 0;
    rollup->range_bytes = 0;
    int code = database_number(database,
                               "SELECT coalesce((SELECT last_tick FROM minutes ORDER BY id DESC LIMIT 1), 0)",
                               &rollup->done_tick);
    if (code == 0)
        code = database_number(database, "SELECT max(id) FROM minutes", &rollup->last_id);
    if (code == 0)
        code = database_number(database,
                               "SELECT max(coalesce((SELECT max(id) FROM minute_samples), 0),"
                               " coalesce((SELECT last_sample FROM minutes ORDER BY id DESC LIMIT 1), 0))",
                               &rollup->last_sample);
    rollup->loaded = code == 0;
    return code;
}

/* Nothing more is to come of this minute; by a clock that may have been set back. */
static bool is_late(int64_t minute, double now)
{
    return fabs(now - (double)(minute + 1) * 60) > LATE_SECONDS;
}

/* Whether the minute that was looked at last still goes on. */
static bool is_open(const struct history *history, double now)
{
    const struct rollup *rollup = history->rollup;

    return rollup->first_tick > rollup->done_tick &&
           (int64_t)(history->committed.wall / 60) == rollup->minute && !is_late(rollup->minute, now);
}

/* Finds the snapshots of the next minute that has ended: 1 if there are any. */
static int find_minute(struct history *history, double now)
{
    struct rollup *rollup = history->rollup;
    sqlite3_stmt *next = history_statement(history, SQL_MINUTE_NEXT);
    int64_t minute = 0;
    int found = 0, code = 0;
    bool ended = false;

    bind_integer(next, 1, true, rollup->done_tick);
    while (!ended && (code = database_step(history->database, next)) == 1) {
        int64_t id = sqlite3_column_int64(next, 0), at = sqlite3_column_int64(next, 1);

        if (found == 0) {
            rollup->first_tick = id;
            minute = at;
            found = 1;
        }
        if (at == minute)
            rollup->last_tick = id;
        ended = at != minute;
    }
    (void)sqlite3_reset(next);
    if (code < 0 || found == 0)
        return code;
    rollup->minute = minute;
    return ended || is_late(minute, now);
}

struct range_context {
    struct rollup *rollup;
    int64_t ms;
};

static int add_range(void *context, int64_t first, int64_t last)
{
    struct range_context *range = context;
    struct rollup *rollup = range->rollup;

    if (first < rollup->base || last > rollup->last || first > last)
        return -EBADMSG;
    struct held *from = &rollup->held[first - rollup->base], *to = &rollup->held[last - rollup->base + 1];
    from->ms += range->ms;
    from->ticks++;
    to->ms -= range->ms;
    to->ticks--;
    return 0;
}

static int reserve_held(struct rollup *rollup)
{
    if (rollup->last < rollup->base - 1)
        return -EBADMSG;
    if (rollup->last - rollup->base > SPAN_MAX)
        return -E2BIG;
    size_t count = (size_t)(rollup->last - rollup->base) + 2;

    if (ARRAY_RESERVE(rollup->held, rollup->held_capacity, count) < 0)
        return -ENOMEM;
    memset(rollup->held, 0, count * sizeof(*rollup->held));
    return 0;
}

/* The samples that the snapshots of the minute lie in. */
static int find_span(struct history *history, sqlite3_stmt *ticks)
{
    struct rollup *rollup = history->rollup;
    int code;

    rollup->base = INT64_MAX;
    rollup->last = 0;
    while ((code = database_step(history->database, ticks)) == 1) {
        int64_t first = sqlite3_column_int64(ticks, 2), last = sqlite3_column_int64(ticks, 3);

        rollup->base = first < rollup->base ? first : rollup->base;
        rollup->last = last > rollup->last ? last : rollup->last;
    }
    (void)sqlite3_reset(ticks);
    return code;
}

static int read_ticks(struct history *history)
{
    struct rollup *rollup = history->rollup;
    sqlite3_stmt *ticks = history_statement(history, SQL_MINUTE_TICKS);

    bind_integer(ticks, 1, true, rollup->first_tick);
    bind_integer(ticks, 2, true, rollup->last_tick);
    int code = find_span(history, ticks);
    if (code == 0)
        code = reserve_held(rollup);
    while (code == 0 && (code = database_step(history->database, ticks)) == 1) {
        struct range_context context = {rollup, sqlite3_column_int64(ticks, 1)};
        const char *text = (const char *)sqlite3_column_text(ticks, 4);

        code =
            text ? ranges_read(text, (size_t)sqlite3_column_bytes(ticks, 4), add_range, &context) : -EBADMSG;
    }
    (void)sqlite3_reset(ticks);
    for (int64_t i = 1; code == 0 && i <= rollup->last - rollup->base; i++) {
        rollup->held[i].ms += rollup->held[i - 1].ms;
        rollup->held[i].ticks += rollup->held[i - 1].ticks;
    }
    rollup->at = rollup->base;
    HASH_CLEAR(hh, rollup->sums);
    arena_reset(&rollup->arena);
    rollup->arena.chunk_bytes = SUMS_BYTES;
    rollup->active = code == 0;
    if (code == -E2BIG) { /* left out, for the sake of those that follow */
        rollup->done_tick = rollup->last_tick;
        code = 0;
    }
    return code;
}

static int add_sample(struct rollup *rollup, sqlite3_stmt *row, const struct held *held)
{
    int64_t process = sqlite3_column_int64(row, 1);
    struct process_sum *sum;

    HASH_FIND(hh, rollup->sums, &process, sizeof(process), sum);
    if (!sum) {
        sum = arena_alloc(&rollup->arena, sizeof(*sum) + rollup->width * sizeof(sum->quantities[0]));
        if (!sum)
            return -ENOMEM;
        sum->process = process;
        HASH_ADD(hh, rollup->sums, process, sizeof(process), sum);
        if (!sum->hh.tbl)
            return -ENOMEM;
    }
    struct quantity_sum *of = sum->quantities;
    for (unsigned i = 0; i < rollup->width; i++, of++) {
        double value = 0;

        if (!column_real(row, 2 + (int)i, &value))
            continue;
        of->max = of->ticks > 0 && of->max > value ? of->max : value;
        of->by_ms += value * (double)held->ms;
        of->ms += (double)held->ms;
        of->by_tick += value * (double)held->ticks;
        of->ticks += (double)held->ticks;
    }
    return 0;
}

static int read_samples(struct history *history)
{
    struct rollup *rollup = history->rollup;
    sqlite3_stmt *samples = history_statement(history, SQL_MINUTE_SAMPLES);
    int code = 0, read = 0;

    /* What is not held is not read, where much of it lies together. */
    while (rollup->at <= rollup->last && rollup->held[rollup->at - rollup->base].ticks == 0)
        rollup->at++;
    bind_integer(samples, 1, true, rollup->at);
    bind_integer(samples, 2, true, rollup->last);
    bind_integer(samples, 3, true, STEP_SAMPLES);
    while (code == 0 && (code = database_step(history->database, samples)) == 1) {
        int64_t id = sqlite3_column_int64(samples, 0);
        const struct held *held = &rollup->held[id - rollup->base];

        code = held->ticks > 0 ? add_sample(rollup, samples, held) : 0;
        rollup->at = id + 1;
        read++;
    }
    (void)sqlite3_reset(samples);
    if (read < STEP_SAMPLES)
        rollup->at = rollup->last + 1;
    return code;
}

static int compare_sums(const struct process_sum *a, const struct process_sum *b)
{
    return (a->process > b->process) - (a->process < b->process);
}

static void means_of(const struct rollup *rollup, const struct process_sum *sum, struct mean *out)
{
    for (unsigned i = 0; i < rollup->width; i++) {
        const struct quantity_sum *of = &sum->quantities[i];

        out[i] = (struct mean){.has = of->ticks > 0};
        if (of->ticks > 0) {
            out[i].mean = of->ms > 0 ? of->by_ms / of->ms : of->by_tick / of->ticks;
            out[i].max = of->max;
        }
    }
}

static bool means_equal(const struct mean *a, const struct mean *b, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        if (a[i].has != b[i].has || a[i].mean != b[i].mean || a[i].max != b[i].max)
            return false;
    return true;
}

static int values_write(struct history *history, struct minute_values *values, const struct mean *means)
{
    sqlite3_stmt *add = history_statement(history, SQL_MINUTE_SAMPLE_ADD);
    int place = 0;

    values->sample = ++history->rollup->last_sample;
    bind_integer(add, ++place, true, values->sample);
    bind_integer(add, ++place, true, values->process);
    for (unsigned i = 0; i < history->rollup->width; i++) {
        bind_real(add, ++place, means[i].has, means[i].mean);
        bind_real(add, ++place, means[i].has, means[i].max); /* whole, where its column is */
    }
    return history_run(history, add);
}

static int reserve_list(struct minute_list *list, size_t count, unsigned width)
{
    int code = ARRAY_RESERVE(list->entries, list->capacity, count);

    return code < 0 ? code : ARRAY_RESERVE(list->means, list->mean_capacity, count * width);
}

/* Both lists are by process: one walk. */
static int write_processes(struct history *history, bool keyframe)
{
    struct rollup *rollup = history->rollup;
    const unsigned width = rollup->width;
    int code = reserve_list(&rollup->next, HASH_COUNT(rollup->sums), width);
    size_t at = 0, i = 0;
    int64_t first = INT64_MAX;

    HASH_SORT(rollup->sums, compare_sums);
    for (const struct process_sum *sum = rollup->sums; sum && code == 0; sum = sum->hh.next, i++) {
        struct minute_values *values = &rollup->next.entries[i];
        const struct minute_values *known = rollup->known.entries;

        struct mean *means = &rollup->next.means[i * width];

        *values = (struct minute_values){.process = sum->process};
        means_of(rollup, sum, means);
        while (at < rollup->known.count && known[at].process < values->process)
            at++;
        bool held = !keyframe && at < rollup->known.count && known[at].process == values->process &&
                    means_equal(&rollup->known.means[at * width], means, width);
        if (held)
            values->sample = known[at].sample;
        else
            code = values_write(history, values, means);
        first = values->sample < first ? values->sample : first;
    }
    rollup->next.count = HASH_COUNT(rollup->sums);
    if (code == 0)
        code = id_set_begin(&history->ids, first == INT64_MAX ? rollup->last_sample + 1 : first,
                            rollup->last_sample);
    for (i = 0; i < rollup->next.count && code == 0; i++)
        id_set_add(&history->ids, rollup->next.entries[i].sample);
    if (code == 0)
        (void)id_set_ranges(&history->ids, &history->ranges);
    return code == 0 && history->ranges.failed ? -ENOMEM : code;
}

static int write_minute(struct history *history)
{
    struct rollup *rollup = history->rollup;
    bool keyframe = rollup->known.count == 0 || rollup->last_id - rollup->keyframe_id >= KEYFRAME_MINUTES ||
                    rollup->range_bytes > HASH_COUNT(rollup->sums) * KEYFRAME_ROW;
    int64_t last_sample = rollup->last_sample;
    int code = history_begin(history);

    if (code == 0 && !rollup->active) { /* the file was changed by others: begin anew */
        code = history_commit(history);
        return code < 0 ? code : 1;
    }
    if (code == 0)
        code = write_processes(history, keyframe);
    sqlite3_stmt *add = history_statement(history, SQL_MINUTE_ADD);
    bind_integer(add, 1, true, rollup->first_tick);
    bind_integer(add, 2, true, rollup->last_tick);
    bind_integer(add, 3, true, rollup->last_id + 1);
    bind_integer(add, 4, true, rollup->minute);
    bind_integer(add, 5, true, history->ids.base);
    bind_integer(add, 6, true, rollup->last_sample);
    (void)sqlite3_bind_text(add, 7, strbuf_text(&history->ranges), (int)history->ranges.length,
                            SQLITE_STATIC);
    if (code == 0)
        code = history_run(history, add);
    if (code == 0)
        code = history_commit(history);
    rollup->active = false;
    if (code < 0) {
        rollup->last_sample = last_sample;
        return code;
    }
    struct minute_list before = rollup->known;
    rollup->known = rollup->next;
    rollup->next = before;
    give_back(rollup);
    rollup->last_id++;
    rollup->done_tick = rollup->last_tick;
    if (keyframe) {
        rollup->keyframe_id = rollup->last_id;
        rollup->range_bytes = 0;
    }
    rollup->range_bytes += history->ranges.length;
    return 1;
}

int minutes_step(struct history *history, double now)
{
    int code = 0;

    if (!history->rollup && !(history->rollup = calloc(1, sizeof(*history->rollup))))
        return -ENOMEM;
    struct rollup *rollup = history->rollup;
    rollup->width = columns_with_mean(&history->options.columns->process);
    if (!rollup->loaded && (code = load(history)) < 0)
        return code;
    if (!rollup->active) {
        code = is_open(history, now) ? 0 : find_minute(history, now);
        if (code > 0)
            code = read_ticks(history);
        else
            return code;
        return code < 0 ? code : 1;
    }
    if (rollup->at <= rollup->last) {
        code = read_samples(history);
        return code < 0 ? code : 1;
    }
    return write_minute(history);
}
