#include "loop/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/collectors.h"
#include "reduce/window.h"

/* One collector of the table, open or not. */
struct opened {
    const struct collector *collector;
    bool active;
    bool failing;  /* its last pass failed: logged once */
    bool has_pass; /* its last pass has readings */
    int failure;   /* of the last failed pass, or of opening; 0: none */
    uint64_t failures;
    void *state;
    struct pass pass;
};

struct sampler {
    struct sampler_options options;
    struct collect_context context;
    struct loop_figures figures;
    uint64_t begin_ns; /* when the command was started */
    struct window *window;
    struct opened *opened; /* [collector_count] */
};

struct sampler *sampler_new(const struct sampler_options *options, struct metron_error *error)
{
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    struct window_options window_options = {
        .start_ns = options->start_ns,
        .tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second(),
        .usable_cores = options->usable_cores,
        .online_cores = options->online_cores,
        .record_rate_ns = options->record_rate_ns,
        .summary_rate_ns = options->summary_rate_ns,
        .rates_only = options->machine,
    };

    if (!sampler)
        goto fail;
    sampler->options = *options;
    sampler->begin_ns = options->start_ns;
    sampler->context = *options->context;
    sampler->context.tree = options->tree;
    sampler->context.figures = &sampler->figures;
    sampler->context.of_machine = options->machine;
    sampler->opened = calloc(collector_count, sizeof(*sampler->opened));
    sampler->window = window_new(options->registry, &window_options);
    if (!sampler->opened || !sampler->window)
        goto fail;
    for (size_t i = 0; i < collector_count; i++) {
        struct opened *opened = &sampler->opened[i];
        unsigned cost = registry_cost(options->registry, i, &opened->active);
        opened->collector = collectors[i];
        if (!opened->active)
            continue;
        if (pass_init(&opened->pass, opened->collector->source.field_count) < 0)
            goto fail;
        sampler->context.selected = registry_fields(options->registry, i);
        int code =
            opened->collector->open ? opened->collector->open(&sampler->context, cost, &opened->state) : 0;
        if (code < 0) {
            opened->active = false;
            opened->failure = code;
            opened->failures++;
            log_warning("%s cannot be read: %s; its measurements are absent", opened->collector->source.name,
                        strerror(-code));
        }
    }
    return sampler;
fail:
    (void)error_set(error, -ENOMEM, "no memory to measure with");
    sampler_free(sampler);
    return NULL;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; sampler->opened && i < collector_count; i++) {
        struct opened *opened = &sampler->opened[i];
        if (opened->active && opened->collector->close)
            opened->collector->close(opened->state);
        pass_fini(&opened->pass);
    }
    free(sampler->opened);
    window_free(sampler->window);
    free(sampler);
}

typedef int pass_function(void *state, const struct collect_context *context, struct pass *pass);

static void take_pass(struct sampler *sampler, size_t index, pass_function *function, enum pass_kind kind,
                      uint64_t stamp_ns)
{
    struct opened *opened = &sampler->opened[index];

    if (!opened->active || !function)
        return;
    pass_begin(&opened->pass, kind, stamp_ns);
    int code = function(opened->state, &sampler->context, &opened->pass);
    opened->has_pass = code == 0;
    if (code == COLLECT_NOT_DUE)
        return;
    if (code < 0) {
        opened->failures++;
        opened->failure = code;
        if (!opened->failing && !opened->collector->logs_failures)
            log_warning("%s could not be read: %s; its readings are missing", opened->collector->source.name,
                        strerror(-code));
        opened->failing = true;
        return;
    }
    opened->failing = false;
    if (window_fold(sampler->window, index, &opened->pass) < 0)
        log_warning("no memory for some readings of %s", opened->collector->source.name);
}

void sampler_seed(struct sampler *sampler)
{
    for (size_t i = 0; i < collector_count; i++) {
        take_pass(sampler, i, collectors[i]->collect, PASS_SEED, sampler->options.start_ns);
        take_pass(sampler, i, collectors[i]->read, PASS_SEED, sampler->options.start_ns);
    }
}

uint64_t sampler_sample(struct sampler *sampler)
{
    uint64_t begin_ns = clock_monotonic_ns();

    for (size_t i = 0; i < collector_count; i++)
        if (sampler->opened[i].active && collectors[i]->ask)
            collectors[i]->ask(sampler->opened[i].state, &sampler->context);
    tree_refresh(sampler->options.tree);
    if (tree_living(sampler->options.tree) == 0 && !sampler->options.machine)
        return 0;
    sampler->figures.samples++;
    window_count_sample(sampler->window);
    for (size_t i = 0; i < collector_count; i++)
        take_pass(sampler, i, collectors[i]->collect, PASS_SAMPLE, clock_monotonic_ns());
    uint64_t cost_ns = clock_monotonic_ns() - begin_ns;
    sampler->figures.sample_seconds = (double)cost_ns / (double)NS_PER_SECOND;
    return cost_ns;
}

void sampler_finish(struct sampler *sampler, uint64_t end_ns)
{
    tree_refresh(sampler->options.tree);
    for (size_t i = 0; i < collector_count; i++) {
        uint64_t stamp_ns = collectors[i]->of_machine ? clock_monotonic_ns() : end_ns;
        take_pass(sampler, i, collectors[i]->collect, PASS_FINAL, stamp_ns);
        take_pass(sampler, i, collectors[i]->read, PASS_FINAL, stamp_ns);
    }
    tree_forget_ended(sampler->options.tree);
}

int sampler_report(struct sampler *sampler, struct record *record)
{
    for (size_t i = 0; i < collector_count; i++)
        take_pass(sampler, i, collectors[i]->read, PASS_SAMPLE, clock_monotonic_ns());
    tree_forget_ended(sampler->options.tree); /* each is in one report */
    record->wall = clock_wall();
    record->elapsed_seconds = (double)(clock_monotonic_ns() - sampler->begin_ns) / (double)NS_PER_SECOND;
    return window_report(sampler->window, record);
}

const struct pass *sampler_pass(const struct sampler *sampler, size_t source_index)
{
    const struct opened *opened = &sampler->opened[source_index];
    return opened->has_pass ? &opened->pass : NULL;
}

int sampler_summarise(struct sampler *sampler, struct record *record)
{
    return window_summarise(sampler->window, record);
}

uint64_t sampler_failures(const struct sampler *sampler, size_t collector_index, int *code)
{
    *code = sampler->opened[collector_index].failure;
    return sampler->opened[collector_index].failures;
}

void sampler_begin(struct sampler *sampler, uint64_t start_ns, uint64_t inherited_rss_bytes)
{
    sampler->begin_ns = start_ns;
    window_begin(sampler->window, start_ns);
    sampler->context.spawner_maxrss_bytes = inherited_rss_bytes;
}

void sampler_add_helper_cpu(struct sampler *sampler, double seconds)
{
    sampler->figures.helper_cpu_seconds += seconds;
}

void sampler_count_missed(struct sampler *sampler, uint64_t ticks)
{
    sampler->figures.missed_ticks += ticks;
}

void sampler_set_capture(struct sampler *sampler, pid_t pid, double cpu_seconds)
{
    sampler->figures.capture_pid = pid;
    sampler->figures.capture_cpu_seconds = cpu_seconds;
}

void sampler_set_kernel_cpu(struct sampler *sampler, double seconds)
{
    sampler->figures.kernel_cpu_seconds = seconds;
    sampler->figures.has_kernel_cpu = true;
}

void sampler_end_process(struct sampler *sampler, uint64_t serial)
{
    window_end_subject(sampler->window, serial);
}
