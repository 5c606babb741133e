/*
 * Folding on arrival gives what buffering everything and reducing at the end gives.
 *
 * Random passes (births, deaths, reused pids, fields that could not be read, counters that fall, intervals
 * too short for a rate) go to a window and into a plain list. When the run is over, every record is made a
 * second time from that list, by the slowest and simplest means, and compared entry by entry.
 */
#include "reduce/window.h"

#include "window_fixture.h"

#include <stdio.h>

enum {
    STEPS = 160,
    RUNS = 20,
    PROCESSES = 6,
    SERIALS_MAX = 256,
    MEASUREMENTS_MAX = 32,
    PASSES_MAX = STEPS + 8
};

struct reading {
    uint64_t serial; /* 0: the single row */
    uint64_t born_ns, stamp_ns;
    unsigned field;
    double number;
    const char *text;
};

struct buffered {
    enum fixture_source source;
    enum pass_kind kind;
    uint64_t stamp_ns;
    unsigned window;
    size_t first, count; /* its readings */
};

static struct reading readings[PASSES_MAX * (PROCESSES + 2) * T_FIELDS];
static size_t reading_count;
static struct buffered passes[PASSES_MAX];
static size_t pass_count;
static char subject_names[SERIALS_MAX][SUBJECT_NAME_SIZE];
static uint64_t serial_count;
static uint64_t random_state;

static unsigned below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

/* ---- the slow way ---- */

struct derived_value {
    bool has, fell, is_whole;
    double number, seconds;
    double amount; /* of a rate */
};

static struct derived_value derived[MEASUREMENTS_MAX][SERIALS_MAX][PASSES_MAX];
static bool is_derived[MEASUREMENTS_MAX][SERIALS_MAX];

static const struct reading *find(const struct buffered *pass, uint64_t serial, unsigned field)
{
    for (size_t i = pass->first; i < pass->first + pass->count; i++)
        if (readings[i].serial == serial && readings[i].field == field)
            return &readings[i];
    return NULL;
}

static uint64_t pass_before(size_t index)
{
    for (size_t i = index; i-- > 0;)
        if (passes[i].source == passes[index].source)
            return passes[i].stamp_ns;
    return FIXTURE_START_NS;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* What one counter did up to one of its readings, given the reading it is compared with. */
static struct derived_value counted(const struct measurement *m, size_t index, const struct reading *now,
                                    const struct reading *before)
{
    bool rate = m->derive == DERIVE_RATE;

    if (before) {
        double span = seconds(before->stamp_ns, now->stamp_ns);
        double increment = now->number - before->number;
        if (increment < 0)
            return (struct derived_value){.fell = true};
        if (!rate)
            return (struct derived_value){.has = true, .number = increment};
        return (struct derived_value){
            .has = true, .number = span > 0 ? increment / span : 0, .seconds = span, .amount = increment};
    }
    if (now->serial == 0 || now->born_ns == 0)
        return (struct derived_value){0};
    if (!rate) /* born since the start */
        return (struct derived_value){.has = true, .number = now->number};
    if (now->born_ns <= pass_before(index))
        return (struct derived_value){0};
    double age = seconds(now->born_ns, now->stamp_ns);
    double number = now->number / fmax(age, FIXTURE_TICK_NS / 1e9);
    return (struct derived_value){
        .has = true, .is_whole = true, .number = number, .seconds = age, .amount = number * age};
}

/* The values of one measurement of one subject, one for each pass. */
static void derive(enum fixture_source source, const struct measurement *m, uint64_t serial,
                   struct derived_value values[PASSES_MAX])
{
    const struct reading *before = NULL;

    for (size_t i = 0; i < pass_count; i++) {
        const struct reading *now = passes[i].source == source ? find(&passes[i], serial, m->field) : NULL;
        values[i] = (struct derived_value){0};
        if (!now)
            continue;
        if (m->type == TYPE_GAUGE) {
            values[i].has = passes[i].kind == PASS_SAMPLE ||
                            (passes[i].kind == PASS_FINAL && (m->kept || m->reduce == REDUCE_LAST));
            values[i].number = now->number;
            values[i].seconds = seconds(pass_before(i), passes[i].stamp_ns);
            continue;
        }
        if (passes[i].kind != PASS_SEED)
            values[i] = counted(m, i, now, before);
        before = now;
    }
}

static const struct derived_value *values_of(const struct registry_entry *entry, uint64_t serial);

/* The same for a total: over all subjects, pass by pass. */
static void collapse(const struct registry_entry *entry, struct derived_value totals[PASSES_MAX])
{
    const struct measurement *m = entry->measurement;

    memset(totals, 0, PASSES_MAX * sizeof(*totals));
    for (uint64_t serial = 1; serial <= serial_count; serial++) {
        const struct derived_value *one = values_of(entry, serial);
        for (size_t i = 0; i < pass_count; i++) {
            totals[i].fell |= one[i].fell;
            totals[i].seconds = seconds(pass_before(i), passes[i].stamp_ns);
            if (!one[i].has)
                continue;
            if (m->collapse == COLLAPSE_SUM)
                totals[i].number += one[i].number;
            else
                totals[i].number = totals[i].has ? fmax(totals[i].number, one[i].number) : one[i].number;
            totals[i].has = true;
        }
    }
    for (size_t i = 0; i < pass_count; i++)
        totals[i].amount = totals[i].number * totals[i].seconds;
}

/* All windows of a run are reduced from the same values: they are derived once. Serial 0 is the single row,
 * or the total. */
static const struct derived_value *values_of(const struct registry_entry *entry, uint64_t serial)
{
    const enum fixture_source source = (enum fixture_source)entry->source_index;
    const size_t index = (size_t)(entry - bench.registry.entries);

    assert_true(index < MEASUREMENTS_MAX);
    if (!is_derived[index][serial] && serial == 0 && entry->measurement->collapse != COLLAPSE_NONE)
        collapse(entry, derived[index][serial]);
    else if (!is_derived[index][serial])
        derive(source, entry->measurement, serial, derived[index][serial]);
    is_derived[index][serial] = true;
    return derived[index][serial];
}

struct reduced {
    bool has;
    double value, mean;
};

#define WHOLE_RUN UINT32_MAX

static bool in_window(size_t index, unsigned window)
{
    return window == WHOLE_RUN || passes[index].window == window;
}

/* What is joined to a rate by a pass: true once that spans enough. `*span` is what was joined so far. */
static bool spans_enough(const struct derived_value *value, double least, struct derived_value *span,
                         double *number)
{
    span->amount += value->amount;
    span->seconds += value->seconds;
    if (!(span->seconds > 0) || span->seconds < least)
        return false;
    *number = span->amount / span->seconds;
    *span = (struct derived_value){0};
    return true;
}

static struct reduced reduce(const struct measurement *m, const struct derived_value values[PASSES_MAX],
                             unsigned window)
{
    const double tick = FIXTURE_TICK_NS / 1e9;
    const double least = fmax(tick / 2, window == WHOLE_RUN ? bench_summary_rate : bench_record_rate);
    const bool rate = m->derive == DERIVE_RATE;
    struct derived_value span = {0}, latest = {0};
    static const double ceilings[] = {[CEILING_NONE] = INFINITY,
                                      [CEILING_ONE] = 1,
                                      [CEILING_USABLE_CORES] = FIXTURE_CORES,
                                      [CEILING_ONLINE_CORES] = FIXTURE_ONLINE};
    struct reduced out = {0};
    double area = 0, time = 0;

    for (size_t i = 0; i < pass_count; i++) {
        const struct derived_value *value = &values[i];
        bool alone = window == WHOLE_RUN && passes[i].kind == PASS_FINAL && !out.has;
        double number = value->number;
        const struct derived_value joined = {.amount = span.amount + value->amount,
                                             .seconds = span.seconds + value->seconds};
        if (value->fell && rate)
            span = latest = (struct derived_value){0};
        if (in_window(i, window) && value->fell && !rate)
            return (struct reduced){0};
        if (!value->has)
            continue;
        if (in_window(i, window)) {
            area += rate ? value->amount : number * value->seconds;
            time += value->seconds;
        }
        /* An interval before the window may still be joined to one in it. */
        if (rate && !value->is_whole) {
            if (spans_enough(value, alone ? tick / 2 : least, &span, &number))
                latest = joined;
            else if (window == WHOLE_RUN && passes[i].kind == PASS_FINAL && latest.seconds > 0)
                number = (latest.amount + joined.amount) / (latest.seconds + joined.seconds);
            else
                continue;
        }
        if (!in_window(i, window))
            continue;
        number = fmin(number, ceilings[m->ceiling]);
        if (m->reduce == REDUCE_DELTA)
            out.value += number;
        else if (!out.has || m->reduce == REDUCE_LAST)
            out.value = number;
        else
            out.value = m->reduce == REDUCE_MAX ? fmax(out.value, number) : fmin(out.value, number);
        out.has = true;
    }
    out.mean = fmin(time > 0 ? area / time : out.value, ceilings[m->ceiling]);
    return out;
}

/* ---- the comparison ---- */

static unsigned run_number, compared_window;
static size_t entries_wanted, values_compared;

static void compare_number(const char *key, const char *subject, bool has, double wanted)
{
    const struct record_value *value = value_of(key, subject);

    if (has != (value != NULL))
        fail_msg("run %u, window %u: %s of %s is %s", run_number, compared_window, key,
                 subject ? subject : "the target", value ? "there" : "absent");
    if (!has)
        return;
    values_compared++;
    if (fabs(value->number - wanted) > 1e-9 * (fabs(wanted) + 1))
        fail_msg("run %u, window %u: %s of %s is %.12g, not %.12g", run_number, compared_window, key,
                 subject ? subject : "the target", value->number, wanted);
}

static void compare_text(enum fixture_source source, const struct measurement *m, uint64_t serial,
                         unsigned window, size_t *found)
{
    static const char *const states[] = {"R", "S", "D"};
    bool all = m->collapse == COLLAPSE_COUNT;
    const char *subject = serial ? subject_names[serial] : NULL;
    const char *last = NULL;
    double counts[3] = {0};

    for (size_t i = 0; i < pass_count; i++) {
        if (!in_window(i, window) || passes[i].source != source || passes[i].kind != PASS_SAMPLE)
            continue;
        for (size_t j = passes[i].first; j < passes[i].first + passes[i].count; j++) {
            const struct reading *reading = &readings[j];
            if (reading->field != m->field || (!all && reading->serial != serial))
                continue;
            last = reading->text;
            for (size_t k = 0; k < 3; k++)
                counts[k] += strcmp(states[k], reading->text) == 0;
        }
    }
    *found += last != NULL;
    if (m->type == TYPE_LABEL && last)
        text_is(m->key, subject, last, __LINE__);
    for (size_t k = 0; m->type == TYPE_CATEGORICAL && k < 3; k++)
        assert_float_equal(tallied(m->key, subject, states[k]), counts[k], 0);
    values_compared += last != NULL;
}

static void compare_subjects(const struct registry_entry *entry, unsigned window, const char *key,
                             const char *mean_key)
{
    const struct measurement *m = entry->measurement;
    size_t found = 0;

    for (uint64_t serial = 1; serial <= serial_count; serial++) {
        if (m->type >= TYPE_LABEL) {
            compare_text((enum fixture_source)entry->source_index, m, serial, window, &found);
            continue;
        }
        struct reduced wanted = reduce(m, values_of(entry, serial), window);
        compare_number(key, subject_names[serial], wanted.has, wanted.value);
        if (mean_key)
            compare_number(mean_key, subject_names[serial], wanted.has, wanted.mean);
        found += wanted.has;
    }
    entries_wanted += found > 0 ? (mean_key ? 2 : 1) : 0;
    if (found > 0)
        assert_int_equal(entry_of(key)->count, found);
    else
        assert_null(entry_of(key));
}

static void compare_single(const struct registry_entry *entry, unsigned window, const char *key,
                           const char *mean_key)
{
    const struct measurement *m = entry->measurement;
    size_t found = 0;

    if (m->type >= TYPE_LABEL) {
        compare_text((enum fixture_source)entry->source_index, m, 0, window, &found);
        entries_wanted += found > 0;
        return;
    }
    struct reduced wanted = reduce(m, values_of(entry, 0), window);
    compare_number(key, NULL, wanted.has, wanted.value);
    if (mean_key)
        compare_number(mean_key, NULL, wanted.has, wanted.mean);
    entries_wanted += wanted.has ? (mean_key ? 2 : 1) : 0;
}

static void compare_record(unsigned window)
{
    bool summary = window == WHOLE_RUN;

    compared_window = window;
    entries_wanted = 0;
    for (size_t i = 0; i < bench.registry.count; i++) {
        const struct registry_entry *entry = &bench.registry.entries[i];
        const struct measurement *m = entry->measurement;
        char main_key[MEASUREMENT_KEY_SIZE], mean_key[MEASUREMENT_KEY_SIZE];
        const char *statistic = m->reduce == REDUCE_MAX ? "peak" : m->reduce == REDUCE_MIN ? "low" : NULL;
        bool has_mean = m->reduce == REDUCE_MAX && (m->scope == SCOPE_SINGLE || summary);

        if (summary && (m->scope == SCOPE_PER_PID || m->type == TYPE_LABEL))
            continue;
        if (summary && statistic)
            measurement_statistic_key(entry->source, m, statistic, main_key);
        else
            (void)snprintf(main_key, sizeof(main_key), "%s", m->key);
        measurement_statistic_key(entry->source, m, "ave", mean_key);
        if (m->scope == SCOPE_SINGLE)
            compare_single(entry, window, main_key, has_mean ? mean_key : NULL);
        else
            compare_subjects(entry, window, main_key, has_mean ? mean_key : NULL);
    }
    assert_int_equal(bench.record.count, entries_wanted); /* and nothing else */
}

/* ---- the random run ---- */

struct actor {
    uint64_t serial; /* 0: nobody */
    int32_t pid;
    uint32_t incarnation;
    uint64_t born_ns;
    double ops, cores;
};

static struct actor actors[PROCESSES];
static uint32_t incarnations[PROCESSES];
static double grand, tree_cores, u_cores, machine, stalled, energy[2];
static const char *const state_texts[] = {"R", "S", "D"};

/* Puts one reading into the row and into the list; now and then it could not be read. */
static void read_field(struct row *row, bool single, unsigned field, double number, const char *text)
{
    if (below(8) == 0)
        return;
    if (text)
        row_text(row, field, text);
    else
        row_number(row, field, number);
    assert_true(reading_count < sizeof(readings) / sizeof(readings[0]));
    readings[reading_count++] = (struct reading){.serial = single ? 0 : row->subject.serial,
                                                 .born_ns = single ? 0 : row->subject.born_ns,
                                                 .stamp_ns = row->stamp_ns,
                                                 .field = field,
                                                 .number = number,
                                                 .text = text};
}

static uint64_t new_serial(int32_t id, uint32_t incarnation)
{
    const struct subject subject = {.id = id, .incarnation = incarnation};

    assert_true(++serial_count < SERIALS_MAX);
    (void)subject_name(&subject, subject_names[serial_count]);
    return serial_count;
}

static void advance(double *counter, unsigned most)
{
    *counter = below(40) == 0 ? *counter / 2 : *counter + below(most); /* now and then it falls */
}

static void act(struct actor *actor, size_t index, uint64_t now_ns)
{
    if (actor->serial && below(6) == 0) {
        window_end_subject(bench.window, actor->serial);
        actor->serial = 0;
    }
    if (!actor->serial && below(3) == 0) {
        *actor = (struct actor){.pid = (int32_t)(100 + index),
                                .incarnation = ++incarnations[index],
                                .born_ns = below(5) == 0 ? 0 : now_ns - below(100) * 1000000};
        if (actor->born_ns && actor->born_ns <= FIXTURE_START_NS)
            actor->born_ns = FIXTURE_START_NS + 1;
        actor->serial = new_serial(actor->pid, actor->incarnation);
    }
    advance(&actor->ops, 50);
    actor->cores += below(1000) / 1024.0;
    if (below(50) == 0)
        actor->cores /= 2;
}

static void read_processes(uint64_t now_ns)
{
    for (size_t i = 0; i < PROCESSES; i++) {
        struct actor *actor = &actors[i];
        act(actor, i, now_ns);
        if (!actor->serial)
            continue;
        const struct subject subject = {actor->serial, actor->pid, actor->incarnation, actor->born_ns};
        struct row *row = pass_row(&bench.pass[SOURCE_T], &subject);
        assert_non_null(row);
        row->stamp_ns = now_ns + i * 100; /* one after the other */
        read_field(row, false, LEVEL, below(1000), NULL);
        read_field(row, false, CORES, actor->cores, NULL);
        read_field(row, false, OPS, actor->ops, NULL);
        read_field(row, false, STATE, 0, state_texts[below(3)]);
        read_field(row, false, NAME, 0, state_texts[below(3)]);
    }
}

static void take_pass(enum fixture_source source, enum pass_kind kind, uint64_t now_ns, unsigned window)
{
    struct pass *pass = &bench.pass[source];
    struct row *single = &pass->single;

    pass_begin(pass, kind, now_ns);
    passes[pass_count] = (struct buffered){source, kind, now_ns, window, reading_count, 0};
    if (source == SOURCE_T) {
        read_processes(now_ns);
        advance(&grand, 100);
        tree_cores += below(3000) / 1024.0;
        read_field(single, true, GRAND, grand, NULL);
        read_field(single, true, TREE_CORES, tree_cores, NULL);
        read_field(single, true, FREE, below(500), NULL);
        read_field(single, true, NOW, below(500), NULL);
        read_field(single, true, LOAD, below(500), NULL);
        if (kind == PASS_SAMPLE) {
            read_field(single, true, BANNER, 0, state_texts[below(3)]);
            read_field(single, true, MOOD, 0, state_texts[below(3)]);
        }
    } else if (source == SOURCE_U) {
        u_cores += below(3000) / 1024.0;
        machine += below(9000) / 1024.0;
        read_field(single, true, U_CORES, u_cores, NULL);
        read_field(single, true, U_MACHINE, machine, NULL);
        stalled += below(1500) / 1024.0;
        read_field(single, true, U_LOAD, below(500), NULL);
        read_field(single, true, U_STALLED, stalled, NULL);
        read_field(single, true, U_KEPT, below(500), NULL);
    } else {
        for (int32_t index = 0; index < 2; index++) {
            const struct subject subject = {.serial = 1 + (uint64_t)index, .id = index, .incarnation = 1};
            struct row *row = pass_row(pass, &subject);
            assert_non_null(row);
            energy[index] += below(100);
            read_field(row, false, D_TEMPERATURE, below(90), NULL);
            read_field(row, false, D_ENERGY, energy[index], NULL);
        }
    }
    passes[pass_count].count = reading_count - passes[pass_count].first;
    pass_count++;
    fold(source);
}

static void random_run(void)
{
    static struct record records[STEPS + 2];
    uint64_t now_ns = FIXTURE_START_NS;
    unsigned window = 0;

    reading_count = pass_count = 0;
    serial_count = 0;
    memset(is_derived, 0, sizeof(is_derived));
    memset(actors, 0, sizeof(actors));
    memset(incarnations, 0, sizeof(incarnations));
    grand = tree_cores = u_cores = machine = stalled = energy[0] = energy[1] = 0;
    (void)new_serial(0, 1); /* the two devices */
    (void)new_serial(1, 1);
    for (size_t source = 0; source < SOURCE_COUNT; source++)
        take_pass((enum fixture_source)source, PASS_SEED, now_ns, 0);
    for (unsigned step = 0; step < STEPS; step++) {
        now_ns += below(5) == 0 ? 1000000 + below(6000000) : 10000000 + (uint64_t)below(2000) * 1000000;
        if (below(8) > 0) {
            take_pass((enum fixture_source)(below(6) < 4 ? SOURCE_T : 1 + below(2)), PASS_SAMPLE, now_ns,
                      window);
            continue;
        }
        assert_int_equal(window_report(bench.window, &records[window]), 0);
        window++;
    }
    now_ns += 20000000;
    for (size_t source = 0; source < SOURCE_COUNT; source++)
        take_pass((enum fixture_source)source, PASS_FINAL, now_ns, window);
    assert_int_equal(window_report(bench.window, &records[window]), 0);

    struct record kept = bench.record;
    for (unsigned i = 0; i <= window; i++) {
        bench.record = records[i];
        compare_record(i);
        record_fini(&records[i]);
    }
    bench.record = kept;
    summarise();
    compare_record(WHOLE_RUN);
}

static void folding_on_arrival_equals_reducing_everything_at_the_end(void **state)
{
    values_compared = 0;
    for (run_number = 0; run_number < RUNS; run_number++) {
        random_state = 88172645463325252ULL + run_number * 7919ULL;
        assert_int_equal(bench_setup(state), 0);
        if (run_number % 2)
            bench_rates(0.5, 1.5);
        random_run();
        (void)bench_teardown(state);
    }
    assert_true(values_compared > (size_t)RUNS * STEPS); /* it was not a comparison of nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_on_arrival_equals_reducing_everything_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
