/*
 * One pass of one collector, and short ways to look at what it read: for the tests of collect/, with the real
 * processes of tree_fixture.h.
 */
#ifndef METRON_TESTS_COLLECTORS_FIXTURE_H
#define METRON_TESTS_COLLECTORS_FIXTURE_H

#include "collect/collectors.h"

#include "tree_fixture.h"

#include "probe/breakage.h"
#include "probe/cgroup/files.h"
#include "schema/registry.h"

static struct registry registry;
static struct pass pass;
static struct loop_figures figures;
static struct kernel_facts facts;
static struct allowance allowance;
static struct collect_context context;

static inline const struct collector *collector_named(const char *name)
{
    for (size_t i = 0; i < collector_count; i++)
        if (strcmp(collectors[i]->source.name, name) == 0)
            return collectors[i];
    fail_msg("no collector is called %s", name);
    return NULL;
}

/* One pass of one collector, opened for `cost` and for all of its fields. */
static inline void collect_as(const char *name, unsigned cost, enum pass_kind kind)
{
    const struct collector *collector = collector_named(name);
    void *state = NULL;

    pass_fini(&pass);
    assert_int_equal(pass_init(&pass, collector->source.field_count), 0);
    context.selected = UINT64_MAX;
    if (collector->open)
        assert_int_equal(collector->open(&context, cost, &state), 0);
    pass_begin(&pass, kind, clock_monotonic_ns());
    assert_int_equal((collector->collect ? collector->collect : collector->read)(state, &context, &pass), 0);
    if (collector->close)
        collector->close(state);
}

static inline void collect(const char *name, unsigned cost)
{
    collect_as(name, cost, PASS_SAMPLE);
}

/* Why a key cannot be measured, as its collector's survey says it; NULL: it can. */
static inline const char *reason_of(const char *key)
{
    const struct registry_entry *entry = registry_find(&registry, key);
    const char *reasons[64] = {0};

    if (!entry)
        fail_msg("there is no %s", key);
    if (collectors[entry->source_index]->survey)
        collectors[entry->source_index]->survey(&context, reasons);
    return reasons[entry->measurement->field];
}

static inline const struct row *row_of(pid_t pid)
{
    for (size_t i = 0; i < pass.count; i++)
        if (pass.rows[i].subject.id == pid)
            return &pass.rows[i];
    fail_msg("no row of %d", (int)pid);
    return NULL;
}

static inline bool has(const struct row *row, const char *key)
{
    return row_has(row, registry_find(&registry, key)->measurement->field);
}

static inline double number(const struct row *row, const char *key)
{
    if (!has(row, key))
        fail_msg("%s was not read", key);
    return row->values[registry_find(&registry, key)->measurement->field].number;
}

static inline const char *text(const struct row *row, const char *key)
{
    if (!has(row, key))
        fail_msg("%s was not read", key);
    return row->values[registry_find(&registry, key)->measurement->field].text;
}

#define number_is(KEY, WANTED)                                                                               \
    do {                                                                                                     \
        double got_ = number(&pass.single, (KEY));                                                           \
        if (fabs(got_ - (WANTED)) > 1e-6)                                                                    \
            fail_msg("%s is %.9g", (KEY), got_);                                                             \
    } while (0)

static inline void watch_tree(void **state)
{
    watch_begin(state);
    context.tree = watch.tree;
    context.of_machine = false;
}

/* ---- set-up ---- */

static inline int setup(void **state)
{
    (void)registry_init(&registry, collector_sources(), collector_count,
                        NULL); /* the first test says why not */
    return become_reaper(state);
}

static inline int teardown(void **state)
{
    (void)state;
    registry_fini(&registry);
    return 0;
}

static inline int readings_setup(void **state)
{
    figures = (struct loop_figures){0};
    allowance = (struct allowance){.cpus = 1, .memory_limit_bytes = CGROUP_NO_LIMIT};
    context = (struct collect_context){
        .proc_root = "/proc", .facts = &facts, .figures = &figures, .allowance = &allowance};
    if (kernel_facts_read("/proc", &facts) < 0)
        return -1;
    return watch_setup(state);
}

static inline int readings_teardown(void **state)
{
    breakage_set(NULL);
    pass_fini(&pass);
    return watch_teardown(state);
}

#define READS(NAME)                                                                                          \
    {                                                                                                        \
#NAME, NAME, readings_setup, readings_teardown, &by_listings                                         \
    }

#endif
