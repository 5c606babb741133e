/* The smaps collector over a tree. Time is the stamp of the pass, so that nobody waits. */
#ifndef METRON_TESTS_SMAPS_FIXTURE_H
#define METRON_TESTS_SMAPS_FIXTURE_H

#include "collect/collectors.h"

#include "tree_fixture.h"

extern const struct collector collector_smaps;

enum { NO_LIMIT_GIB = 1024 };

static struct {
    struct pass pass;
    struct loop_figures figures;
    struct collect_tuning tuning;
    struct collect_context context;
    void *state;
    uint64_t stamp_ns;
} with;

static const struct collect_tuning at_every_sample = {.smaps = true,
                                                      .sample_interval = 60,
                                                      .smaps_interval = 1e-6,
                                                      .smaps_budget = 60,
                                                      .smaps_limit_bytes = (uint64_t)NO_LIMIT_GIB << 30};

static inline unsigned field_of(const char *key)
{
    const struct source *source = &collector_smaps.source;

    for (size_t i = 0; i < source->measurement_count; i++)
        if (strcmp(source->measurements[i].key, key) == 0)
            return source->measurements[i].field;
    fail_msg("no key %s", key);
    return 0;
}

static inline const struct row *row_of(pid_t pid)
{
    for (size_t i = 0; i < with.pass.count; i++)
        if (with.pass.rows[i].subject.id == pid)
            return &with.pass.rows[i];
    return NULL;
}

static inline double held(const struct row *row, const char *key)
{
    if (!row || !row_has(row, field_of(key)))
        fail_msg("%s was not read", key);
    return row->values[field_of(key)].number;
}

static inline bool has_total(void)
{
    bool has = row_has(&with.pass.single, field_of("smaps_pss_total"));

    assert_int_equal(has, row_has(&with.pass.single, field_of("smaps_uss_total")));
    assert_int_equal(has, row_has(&with.pass.single, field_of("smaps_swap_total")));
    return has;
}

static inline double skipped(void)
{
    return held(&with.pass.single, "smaps_skipped");
}

static inline void watch_tree(void **state)
{
    watch_begin(state);
    with.context.tree = watch.tree;
    with.tuning = at_every_sample;
    assert_int_equal(collector_smaps.open(&with.context, COST_SMAPS, &with.state), 0);
}

/* A pass, `seconds` after the one before. */
static inline int pass_after(double seconds, enum pass_kind kind)
{
    with.stamp_ns += (uint64_t)(seconds * (double)NS_PER_SECOND);
    pass_begin(&with.pass, kind, with.stamp_ns);
    return collector_smaps.collect(with.state, &with.context, &with.pass);
}

static inline void look(void)
{
    tree_refresh(watch.tree);
    assert_int_equal(pass_after(1, PASS_SAMPLE), 0);
}

static inline int setup(void **state)
{
    memset(&with, 0, sizeof(with));
    with.context =
        (struct collect_context){.proc_root = "/proc", .figures = &with.figures, .tuning = &with.tuning};
    with.stamp_ns = clock_monotonic_ns();
    return pass_init(&with.pass, collector_smaps.source.field_count) < 0 ? -1 : watch_setup(state);
}

static inline int teardown(void **state)
{
    if (with.state)
        collector_smaps.close(with.state);
    pass_fini(&with.pass);
    return watch_teardown(state);
}

#define BY(WAY, NAME)                                                                                        \
    {                                                                                                        \
#NAME "_" #WAY, NAME, setup, teardown, &(WAY)                                                        \
    }
#define LIVE(NAME) BY(by_listings, NAME)

#endif
