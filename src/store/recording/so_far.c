/*
 * Only the last MiB of a usage.jsonl is looked at, so that a listing stays quick whatever runs. In the first
 * hours that is the whole file. Of a longer one:
 *
 * - CPU is recorded as what each window added, so that what came before is not known, but for what the ledger
 *   says those had used that lived then. With it the sum is a lower bound.
 * - Memory: the kernel's own marks only grow, and stand in the newest record. Levels that were sampled are
 *   the highest of the records that are looked at.
 *
 * The order of methods is that of reduce/headline.c. What is an upper bound there is not taken: of a run that
 * goes on, one wants to know what it has at least.
 */
#include "store/recording/so_far.h"

#include <math.h>
#include <string.h>

#include "base/json_reader.h"
#include "store/recording/tail.h"

enum key {
    GROUP_CPU,
    LEDGER_CPU,
    LIVING_CPU,
    PROCESS_MARK,
    EXIT_MARK,
    REAPED_MARK,
    GROUP_LEVEL,
    SHARES,
    RSS_AT_SHARES,
    RSS,
    KEY_COUNT
};

/* With their lengths: each is compared with every name of every record. */
#define KEY(TEXT)                                                                                            \
    {                                                                                                        \
        (TEXT), sizeof(TEXT) - 1                                                                             \
    }
static const struct json_text keys[KEY_COUNT] = {
    [GROUP_CPU] = KEY("cgroup_cpu_seconds"),      [LEDGER_CPU] = KEY("proc_cpu_seconds"),
    [LIVING_CPU] = KEY("ledger_live_seconds"),    [PROCESS_MARK] = KEY("proc_hwm_max"),
    [EXIT_MARK] = KEY("exit_max_rss_max"),        [REAPED_MARK] = KEY("rusage_max_rss"),
    [GROUP_LEVEL] = KEY("cgroup_mem_anon_shmem"), [SHARES] = KEY("smaps_pss_total"),
    [RSS_AT_SHARES] = KEY("smaps_rss_total"),     [RSS] = KEY("proc_rss_total"),
};

/* The records so far. */
struct seen {
    bool has[KEY_COUNT];
    double highest[KEY_COUNT], sum[KEY_COUNT]; /* the sums: of all but the first record */
    double first[KEY_COUNT];                   /* of the first record; 0: it has none */
    bool own_group;
    size_t records;
};

struct line {
    bool has[KEY_COUNT];
    double values[KEY_COUNT];
    bool has_values, own_group;
};

static void read_value(struct json_reader *reader, const struct json_text *name, struct line *line)
{
    struct json_text scope;
    size_t key = 0;

    while (key < KEY_COUNT &&
           (name->length != keys[key].length || memcmp(name->bytes, keys[key].bytes, name->length) != 0))
        key++;
    if (key < KEY_COUNT && json_read_number(reader, &line->values[key]))
        line->has[key] = isfinite(line->values[key]);
    else if (json_text_is(name, "cgroup_scope") && json_read_text(reader, &scope))
        line->own_group = json_text_is(&scope, "own");
    else
        (void)json_skip(reader);
}

/* False: it is no whole record. */
static bool read_line(struct json_reader *reader, const struct json_text *text, struct line *line)
{
    struct json_text name;

    *line = (struct line){0};
    json_reader_reset(reader, text->bytes, text->length);
    if (!json_enter_object(reader))
        return false;
    while (json_next_key(reader, &name)) {
        if (!json_text_is(&name, "measurements") || !json_enter_object(reader)) {
            (void)json_skip(reader);
            continue;
        }
        line->has_values = true;
        while (json_next_key(reader, &name))
            read_value(reader, &name, line);
    }
    return json_reader_end(reader, NULL) == 0 && line->has_values;
}

static void take(struct seen *seen, const struct line *line)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!line->has[i])
            continue;
        seen->highest[i] = seen->has[i] ? fmax(seen->highest[i], line->values[i]) : line->values[i];
        seen->has[i] = true;
        if (seen->records == 0)
            seen->first[i] = line->values[i];
        else
            seen->sum[i] += line->values[i];
    }
    seen->own_group = line->own_group;
    seen->records++;
}

static struct so_far_answer cpu_seconds(const struct seen *seen, bool is_whole)
{
    enum key key = seen->own_group && seen->has[GROUP_CPU] ? GROUP_CPU : LEDGER_CPU;

    if (is_whole)
        return (struct so_far_answer){.has = seen->has[key],
                                      .value = seen->first[key] + seen->sum[key],
                                      .source = keys[key].bytes,
                                      .note = &note_so_far};
    return (struct so_far_answer){.has = seen->has[LEDGER_CPU],
                                  .value = fmax(seen->first[LIVING_CPU], seen->first[LEDGER_CPU]) +
                                           seen->sum[LEDGER_CPU],
                                  .source = keys[LEDGER_CPU].bytes,
                                  .note = &note_so_far_in_part};
}

static void larger(struct so_far_answer *best, const struct seen *seen, enum key key, const char *source,
                   const struct note *note)
{
    if (seen->has[key] && (!best->has || seen->highest[key] > best->value))
        *best = (struct so_far_answer){true, seen->highest[key], source, note};
}

static struct so_far_answer peak_memory(const struct seen *seen, bool is_whole)
{
    /* Shares are read less often: one that was had while the tree was small says nothing about its peak. */
    static const double near_the_peak = 0.9;
    static const enum key marks[] = {PROCESS_MARK, EXIT_MARK, REAPED_MARK};
    const struct note *sampled = is_whole ? &note_sampled_so_far : &note_sampled_in_part;
    struct so_far_answer best = {0};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        larger(&best, seen, marks[i], keys[marks[i]].bytes, &note_largest_so_far);
    if (seen->own_group)
        larger(&best, seen, GROUP_LEVEL, "cgroup_peak_mem_anon_shmem", sampled);
    if (!seen->has[RSS_AT_SHARES] || !seen->has[RSS] ||
        seen->highest[RSS_AT_SHARES] >= near_the_peak * seen->highest[RSS])
        larger(&best, seen, SHARES, "smaps_peak_pss_total", sampled);
    return best;
}

bool so_far_read(const char *usage_path, struct so_far *out)
{
    struct seen seen = {0};
    struct json_reader reader;
    struct json_text text;
    struct line line;
    struct tail tail;

    *out = (struct so_far){0};
    if (tail_read(&tail, usage_path)) {
        json_reader_init(&reader, "", 0);
        bool is_whole = tail.is_whole;
        while (tail_next(&tail, &text)) {
            bool is_last = tail.at >= tail.length;
            if (read_line(&reader, &text, &line))
                take(&seen, &line);
            else
                is_whole = is_whole && is_last; /* that one may be about to be written */
        }
        json_reader_fini(&reader);
        out->cpu_seconds = cpu_seconds(&seen, is_whole);
        out->peak_memory = peak_memory(&seen, is_whole);
    }
    tail_fini(&tail);
    return seen.records > 0;
}
