/*
 * One target, its collectors and its windows: the part of the loop that measures. It knows no clock but the
 * stamps it takes, no files and no signals; `run` drives it.
 */
#ifndef METRON_LOOP_SAMPLER_H
#define METRON_LOOP_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/collector.h"
#include "schema/record.h"
#include "schema/registry.h"
#include "tree/tree.h"

struct sampler;

struct sampler_options {
    const struct registry *registry;       /* with its selection; must outlive the sampler */
    struct tree *tree;                     /* borrowed */
    const struct collect_context *context; /* what collectors may look at, but for tree and figures; copied */
    uint64_t start_ns;
    double usable_cores, online_cores;
    uint64_t record_rate_ns, summary_rate_ns; /* the least span of a rate (reduce/window.h) */
    bool machine; /* the machine itself is of interest: sampled also while nobody is alive, and a record has
                   * nothing but rates */
};

/* Opens the collectors that something was selected of. One that fails to open costs its own keys; its reason
 * is logged. */
struct sampler *sampler_new(const struct sampler_options *options, struct metron_error *error);
void sampler_free(struct sampler *sampler);

/* The baseline: counters as they stand when the target begins. */
void sampler_seed(struct sampler *sampler);
/* One sample of the living target. Returns how long it took; 0: nobody is alive, and it was none. */
uint64_t sampler_sample(struct sampler *sampler);
/* The last look, when the target has ended, at `end_ns`: counters and running values only. What the target
 * used it used until then; what is counted of the machine goes on. */
void sampler_finish(struct sampler *sampler, uint64_t end_ns);
/* Closes the window into `record`, whose wall time and elapsed seconds are filled in. */
int sampler_report(struct sampler *sampler, struct record *record);
/* The last pass over a source; NULL: it read nothing, or there was none. */
const struct pass *sampler_pass(const struct sampler *sampler, size_t source_index);
int sampler_summarise(struct sampler *sampler, struct record *record);
/* How often the passes of a collector failed, and how the last of them did (a negative errno; 0: none). */
uint64_t sampler_failures(const struct sampler *sampler, size_t collector_index, int *code);

/* The command was started: records count from here; `inherited_rss_bytes` is what its ru_maxrss began with.
 */
void sampler_begin(struct sampler *sampler, uint64_t start_ns, uint64_t inherited_rss_bytes);
/* CPU of programs that were run in order to measure, beside what collectors know of. */
void sampler_add_helper_cpu(struct sampler *sampler, double seconds);
/* The process that captures the command's output, and CPU seconds it has used so far; 0: it has ended. */
void sampler_set_capture(struct sampler *sampler, pid_t pid, double cpu_seconds);
void sampler_count_missed(struct sampler *sampler, uint64_t ticks);
/* What our programs in the kernel have taken so far, in the target's processes. Not called: there are none.
 */
void sampler_set_kernel_cpu(struct sampler *sampler, double seconds);
void sampler_end_process(struct sampler *sampler, uint64_t serial);

#endif
