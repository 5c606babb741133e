#include "learn/parallelism.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/recording/usage_reader.h"

void parallelism_init(struct parallelism *parallelism, const struct recording *recording)
{
    double wall;

    *parallelism = (struct parallelism){0};
    if (recording->status == RECORDING_ENDED && recording_number(recording, "wall", &wall) && wall > 0)
        parallelism->part = wall / PARALLELISM_PARTS;
}

void parallelism_fini(struct parallelism *parallelism)
{
    free(parallelism->levels);
    *parallelism = (struct parallelism){0};
}

/* Spreads the CPU of a record evenly over the tenths that it lies in. */
static void add_to_parts(struct parallelism *parallelism, double begin, double end, double cores)
{
    for (size_t i = 0; parallelism->part > 0 && i < PARALLELISM_PARTS; i++) {
        double from = fmax(begin, (double)i * parallelism->part);
        double to = fmin(end, (double)(i + 1) * parallelism->part);
        if (to > from)
            parallelism->cpu_of_parts[i] += cores * (to - from);
    }
}

int parallelism_add(struct parallelism *parallelism, double elapsed, double cpu_seconds)
{
    double begin = parallelism->elapsed, seconds = elapsed - begin, cores = cpu_seconds / seconds;

    if (!(seconds > 0) || !isfinite(elapsed))
        return 0;
    parallelism->elapsed = elapsed;
    if (!(cores >= 0) || cores > PARALLELISM_CORES_MAX)
        return 0; /* not measured, or damaged */
    size_t level = (size_t)(2 * cores);
    if (ARRAY_RESERVE(parallelism->levels, parallelism->level_capacity, level + 1) < 0)
        return -ENOMEM;
    for (; parallelism->level_count <= level; parallelism->level_count++)
        parallelism->levels[parallelism->level_count] = (struct parallelism_level){0};
    parallelism->levels[level].seconds += seconds;
    parallelism->levels[level].cpu_seconds += cpu_seconds;
    parallelism->records++;
    parallelism->seconds += seconds;
    parallelism->longest = fmax(parallelism->longest, seconds);
    add_to_parts(parallelism, begin, elapsed, cores);
    return 0;
}

static double level_seconds(const struct parallelism *parallelism, size_t level)
{
    return level < parallelism->level_count ? parallelism->levels[level].seconds : 0;
}

double parallelism_busy(const struct parallelism *parallelism, size_t cores)
{
    return (cores ? level_seconds(parallelism, 2 * cores - 1) : 0) + level_seconds(parallelism, 2 * cores);
}

size_t parallelism_most(const struct parallelism *parallelism)
{
    return parallelism->level_count / 2;
}

double parallelism_stretch(const struct parallelism *parallelism, size_t cpus)
{
    double seconds = 0;

    for (size_t i = 0; i < parallelism->level_count; i++)
        seconds +=
            i < 2 * cpus ? parallelism->levels[i].seconds : parallelism->levels[i].cpu_seconds / (double)cpus;
    return parallelism->seconds > 0 ? seconds / parallelism->seconds : 1;
}

size_t parallelism_enough(const struct parallelism *parallelism)
{
    size_t cpus = 1;

    while (parallelism_stretch(parallelism, cpus) > 1 + PARALLELISM_LONGER)
        cpus++;
    return cpus;
}

bool parallelism_hides_bursts(const struct parallelism *parallelism, double most_cores)
{
    return parallelism->longest * PARALLELISM_PARTS > parallelism->seconds &&
           most_cores > (double)parallelism_enough(parallelism) + 0.5;
}

size_t parallelism_group(size_t cores)
{
    size_t group = cores < 2 ? cores : 2;

    while (cores > parallelism_group_last(group))
        group++;
    return group;
}

size_t parallelism_group_first(size_t group)
{
    return group ? parallelism_group_last(group - 1) + 1 : 0;
}

size_t parallelism_group_last(size_t group)
{
    return group ? (size_t)1 << (group - 1) : 0;
}

/* The ledger's CPU, or that of the run's own group where this is its headline: both grow as the CPU is used.
 * What the kernel or wait4 reports of ended processes comes all at once, when they end. */
ptrdiff_t parallelism_key(const struct recording *recording)
{
    static const char own_group[] = "cgroup_cpu_seconds";
    const struct recorded_field *headline = recording_field(recording, "cpu_seconds");
    bool is_of_group = headline && headline->source && strcmp(headline->source, own_group) == 0;

    return recording_key_index(recording, is_of_group ? own_group : "proc_cpu_seconds");
}

int parallelism_add_record(struct parallelism *parallelism, const struct usage_record *record, ptrdiff_t key)
{
    double cpu_seconds = NAN;

    for (size_t i = 0; i < record->count; i++)
        if (record->values[i].key == (uint32_t)key && record->values[i].kind == FIELD_NUMBER)
            cpu_seconds = record->values[i].number;
    return parallelism_add(parallelism, record->elapsed, cpu_seconds);
}

static int read_records(const struct recording *recording, ptrdiff_t key, struct parallelism *out)
{
    const struct usage_record *record;
    struct usage_reader *reader = NULL;
    bool *wanted = calloc(recording->key_count, sizeof(*wanted));

    if (!wanted)
        return -ENOMEM;
    wanted[key] = true;
    int code = usage_reader_open(recording, wanted, &reader, NULL);
    while (code == 0 && usage_reader_next(reader, &record) > 0)
        code = parallelism_add_record(out, record, key);
    usage_reader_free(reader);
    free(wanted);
    return code == -ENOMEM ? code : 0;
}

int parallelism_end(struct parallelism *parallelism, const struct recording *recording)
{
    double wall, cpu_seconds;

    if (parallelism->records > 0 || !recording_number(recording, "wall", &wall) ||
        !recording_number(recording, "cpu_seconds", &cpu_seconds))
        return 0;
    parallelism->elapsed = 0;
    return parallelism_add(parallelism, wall, cpu_seconds);
}

int parallelism_read(const struct recording *recording, struct parallelism *out)
{
    ptrdiff_t key = parallelism_key(recording);
    int code = 0;

    parallelism_init(out, recording);
    if (key >= 0 && recording->usage_path)
        code = read_records(recording, key, out);
    return code == 0 ? parallelism_end(out, recording) : code;
}

/* -- What kept it from using more -- */

struct cpu_shortage cpu_shortage_of(const struct recording *recording)
{
    struct cpu_shortage shortage = {NAN, NAN, NAN, NAN};
    double share, wall, throttled, busy, cpus;

    if (recording_number(recording, "stall.cpu.share", &share) && share >= 0 && share <= 1)
        *(recording_waits_are_its_own(recording) ? &shortage.waited : &shortage.others) = share;
    else if (recording_number(recording, "sys_ave_cpu_pct", &busy) &&
             recording_number(recording, "system.cpu_total", &cpus) && cpus > 0)
        shortage.busy = busy / 100 / cpus;
    if (recording_number(recording, "cgroup_cpu_throttled_seconds", &throttled) && throttled >= 0 &&
        recording_number(recording, "wall", &wall) && wall > 0)
        shortage.throttled = throttled / wall;
    return shortage;
}

bool cpu_shortage_is_long(const struct cpu_shortage *shortage)
{
    return shortage->waited > CPU_SHORTAGE_WAITED || shortage->throttled >= CPU_SHORTAGE_THROTTLED;
}

bool cpu_shortage_is_possible(const struct cpu_shortage *shortage)
{
    return !cpu_shortage_is_long(shortage) &&
           (shortage->others > CPU_SHORTAGE_WAITED || shortage->busy >= CPU_SHORTAGE_BUSY);
}
