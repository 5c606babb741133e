#include "learn/peaks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* In the order of preference. Names of one line are one measure, as the collectors and con-duct call it. */
enum rank { RANK_MARK, RANK_SAMPLED, RANK_RESIDENT };

static const struct {
    enum rank rank;
    const char *keys[3];
    const char *meaning;
} table[PEAK_MEASURES] = {
    {RANK_MARK, {"proc_hwm_max"}, "the largest single process, kept by the kernel"},
    {RANK_MARK, {"exit_max_rss_max"}, "the largest single process, kept by the kernel"},
    {RANK_MARK, {"rusage_max_rss"}, "the largest single process, kept by the kernel"},
    {RANK_SAMPLED, {"cgroup_peak_mem_anon_shmem"}, "sampled"},
    {RANK_SAMPLED, {"smaps_peak_pss_total"}, "sampled"},
    {RANK_RESIDENT,
     {"proc_peak_rss_total", "ps_peak_rss_total", "peak_rss"},
     "the largest sum of resident memory that a sample saw"},
};

/* What a group shares with others is not of the run. */
static bool is_of_the_run(const struct recording *recording, const char *key)
{
    const char *scope = recording_text(recording, "provenance.cgroup_scope");

    return strncmp(key, "cgroup_", strlen("cgroup_")) != 0 || (scope && strcmp(scope, "own") == 0);
}

static const char *find(const struct recording *recording, size_t measure, double *value)
{
    for (size_t i = 0; i < sizeof(table[0].keys) / sizeof(table[0].keys[0]) && table[measure].keys[i]; i++)
        if (recording_number(recording, table[measure].keys[i], value) && fabs(*value) < 1e20 &&
            is_of_the_run(recording, table[measure].keys[i]))
            return table[measure].keys[i];
    return NULL;
}

/* What the run held: its headline. Where that is of a group that others share, what is known of the run alone
 * instead, but for sums of resident memory, which are too large. 0: not known. */
static double held_by(const struct recording *recording)
{
    const char *source = recording_text(recording, "headline.peak_memory_bytes.source");
    double held = 0, value;

    if (!source || is_of_the_run(recording, source))
        return recording_number(recording, "peak_memory", &held) ? held : 0;
    for (size_t i = 0; i < PEAK_MEASURES; i++)
        if (table[i].rank != RANK_RESIDENT && find(recording, i, &value))
            held = fmax(held, value);
    return held;
}

static void cover(struct peak_measure *measure, const struct recording *recording, double value)
{
    double held = held_by(recording);

    if (held > 0)
        measure->covered = fmin(measure->covered, value / held);
}

void peaks_init(struct peaks *peaks, const struct recording *now)
{
    *peaks = (struct peaks){0};
    for (size_t i = 0; i < PEAK_MEASURES; i++) {
        struct peak_measure *measure = &peaks->measures[i];
        measure->meaning = table[i].meaning;
        measure->covered = 1;
        measure->key_now = find(now, i, &measure->now);
        if (measure->key_now)
            cover(measure, now, measure->now);
    }
}

int peaks_add(struct peaks *peaks, const struct recording *earlier)
{
    double value;

    for (size_t i = 0; i < PEAK_MEASURES; i++) {
        struct peak_measure *measure = &peaks->measures[i];
        const char *key = find(earlier, i, &value);
        if (!key)
            continue;
        if (ARRAY_RESERVE(measure->past, measure->capacity, measure->count + 1) < 0)
            return -ENOMEM;
        measure->past[measure->count++] = value;
        if (!measure->key_before)
            measure->key_before = key;
        cover(measure, earlier, value);
    }
    return 0;
}

struct peak_measure *peaks_measure(struct peaks *peaks, bool marks)
{
    struct peak_measure *best = NULL;
    enum rank best_rank = RANK_MARK;

    for (size_t i = 0; i < PEAK_MEASURES; i++) {
        struct peak_measure *measure = &peaks->measures[i];
        enum rank rank = table[i].rank;
        if (!measure->key_now || measure->count == 0 || measure->covered < PEAK_COVERED_LEAST ||
            (marks && rank != RANK_MARK))
            continue;
        if (!best || measure->count > best->count ||
            (measure->count == best->count && rank == best_rank && measure->covered > best->covered)) {
            best = measure;
            best_rank = rank;
        }
    }
    return best;
}

void peaks_fini(struct peaks *peaks)
{
    for (size_t i = 0; i < PEAK_MEASURES; i++)
        free(peaks->measures[i].past);
    *peaks = (struct peaks){0};
}
