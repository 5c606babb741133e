#include "reduce/headline.h"

static struct headline_answer answer(const struct record *summary, const char *key, const char *note)
{
    struct headline_answer answer = {.source = key, .note = note};
    answer.has = record_number(summary, key, &answer.value);
    return answer;
}

static void larger(struct headline_answer *best, struct headline_answer candidate)
{
    if (candidate.has && (!best->has || candidate.value > best->value))
        *best = candidate;
}

struct headline headline_of(const struct record *summary, const char *cpu_note, bool spawned_is_exact)
{
    struct headline headline = {0};

    headline.cpu_seconds = answer(summary, "proc_cpu_seconds", cpu_note);
    /* No own cgroup and no PSS here: the larger of the sampled sum, which counts shared pages once per
     * process, and what the kernel kept as the largest single process, of the sampled ones and of the reaped.
     * With one process in all there is nothing to be careful about. */
    double spawned;
    bool alone = spawned_is_exact && record_number(summary, "proc_spawned", &spawned) && spawned <= 1;
    const char *one = alone ? NULL : "largest single process; several may have held more at once";
    const char *sum = alone ? NULL : "upper bound: shared pages are counted once per process";
    larger(&headline.peak_memory_bytes, answer(summary, "proc_hwm_max", one));
    larger(&headline.peak_memory_bytes, answer(summary, "rusage_max_rss", one));
    larger(&headline.peak_memory_bytes, answer(summary, "proc_peak_rss_total", sum));
    headline.processes = answer(summary, "proc_spawned", spawned_is_exact ? NULL : "lower bound");
    return headline;
}
