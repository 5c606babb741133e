/*
 * A recording as con-duct (schema 0.2.2) would have made it: usage.jsonl and info.json, for con-duct's own
 * ls, pp and plot. Bytes and percent; null for what was not measured, as con-duct has it. The captured stdout
 * and stderr stay where they are: output_paths names them, and none of those commands opens them.
 *
 * con-duct's pcpu is an average over the life of a process: CPU seconds / age. metron records a process's
 * rate instead, the largest of each window. So the CPU seconds of a process are, best first: what the kernel
 * reported at its end (over its age then), what ps counted, and else its rate x the time it lived in the
 * window, scaled down where the processes together would have used more than the conserved ledger counted.
 * With one sample per record the last is exact but for the first and the last moments of a process; with more
 * it is an upper bound within that of the ledger. `exported_by` in info.json says so.
 *
 * con-duct samples as soon as the command runs, and its plots begin at its first record. Ours has its end, so
 * a record without processes comes before it, of the start of the run.
 *
 * A record without resident memory (the last one, when nobody lives any more) is none of con-duct's, and is
 * left out.
 */
#include "publish/export_duct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds: starts are in ticks of the clock, so lives that touch may seem to overlap by so much. */
#define START_TICK 0.01

/* What a process must have, and under which keys, best first. */
static const char *const places[DUCT_PLACES][3] = {
    [DUCT_RSS] = {"proc_rss", "ps_rss"},
    [DUCT_VSZ] = {"proc_vsz", "ps_vsz"},
    [DUCT_ETIME] = {"proc_etime", "ps_etime"},
    [DUCT_STAT] = {"proc_stat", "ps_stat"},
    [DUCT_CMD] = {"proc_cmd", "ps_cmd"},
    [DUCT_RATE] = {"proc_pdcpu", "ps_pdcpu"},
    [DUCT_CPU_AT_END] = {"exit_cpu_seconds"},
    [DUCT_LIFETIME] = {"exit_lifetime_seconds"},
    [DUCT_CPU_COUNTED] = {"proc_own_cpu_seconds", "ps_cpu_seconds"},
    [DUCT_START] = {"proc_start_time"},
    [DUCT_RSS_TOTAL] = {"proc_rss_total", "ps_rss_total"},
    [DUCT_RSS_AVERAGE] = {"proc_ave_rss_total", "ps_ave_rss_total"},
    [DUCT_VSZ_TOTAL] = {"proc_vsz_total", "ps_vsz_total"},
    [DUCT_VSZ_AVERAGE] = {"proc_ave_vsz_total", "ps_ave_vsz_total"},
    [DUCT_CPU_SECONDS] = {"proc_cpu_seconds"},
};

static ptrdiff_t place_key(const struct recording *recording, size_t place)
{
    ptrdiff_t index = -1;

    for (size_t i = 0; i < 3 && places[place][i] && index < 0; i++)
        index = recording_key_index(recording, places[place][i]);
    return index;
}

static bool duct_wants(const struct recording *recording, const struct recorded_key *key)
{
    for (size_t i = 0; i < DUCT_PLACES; i++)
        if (place_key(recording, i) == key - recording->keys)
            return true;
    return false;
}

static int duct_begin(struct export *export, struct metron_error *error)
{
    const struct recording *recording = export->recording;

    if (recording->kind == RECORDING_DUCT)
        return error_set(error, -EINVAL, "%s is con-duct's own recording already: copy its files",
                         recording->path ? recording->path : "this");
    struct duct_state *state = calloc(1, sizeof(*state));
    export->state = state;
    if (!state)
        return -ENOMEM;
    for (size_t i = 0; i < DUCT_PLACES; i++)
        state->keys[i] = place_key(recording, i);
    (void)recording_number(recording, "system.memory_total", &state->memory_total);
    return 0;
}

/* Sorts the values of a record by process. */
static int take_values(struct duct_state *state, const struct usage_record *record)
{
    for (size_t i = 0; i < DUCT_PLACES; i++)
        state->has_single[i] = false;
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        size_t place = 0;

        while (place < DUCT_PLACES && state->keys[place] != (ptrdiff_t)value->key)
            place++;
        if (place == DUCT_PLACES)
            continue;
        if (!value->subject) {
            state->has_single[place] = value->kind == FIELD_NUMBER && isfinite(value->number);
            state->singles[place] = value->number;
            continue;
        }
        struct duct_process *process = duct_process(&state->current, value->subject);
        if (!process)
            return -ENOMEM;
        process->has[place] = value->kind == FIELD_NUMBER ? isfinite(value->number) : value->text != NULL;
        process->numbers[place] = value->number;
        process->texts[place] = value->text;
    }
    return 0;
}

/* How much CPU of this window each process had, by its rate. */
static double estimate(const struct duct_process *process, double window)
{
    double life = window;

    if (process->has[DUCT_ETIME] && process->numbers[DUCT_ETIME] < life)
        life = process->numbers[DUCT_ETIME];
    return process->has[DUCT_RATE] ? process->numbers[DUCT_RATE] / 100 * life : 0;
}

/* What is known of when a process lived: from its beginning until it was sampled last, or ended. */
static void find_life(struct duct_process *process, const struct usage_record *record)
{
    const double age = process->has[DUCT_ETIME] ? process->numbers[DUCT_ETIME] : 0;

    if (!process->has[DUCT_START] || !recording_parse_time(process->texts[DUCT_START], &process->begin))
        process->begin = record->wall - age;
    process->end = process->begin + age;
    if (process->has[DUCT_LIFETIME])
        process->end = fmax(process->end, process->begin + process->numbers[DUCT_LIFETIME] - START_TICK);
}

/* What was used up to the end goes with the age at the end, which no sample saw. */
static double age_of(const struct duct_process *process)
{
    if (process->has[DUCT_CPU_AT_END] && process->has[DUCT_LIFETIME])
        return process->numbers[DUCT_LIFETIME];
    return process->has[DUCT_ETIME] ? process->numbers[DUCT_ETIME] : 0;
}

/* CPU seconds since the beginning of each process, and with its age con-duct's pcpu. */
static void count_cpu(struct export *export, const struct usage_record *record)
{
    struct duct_state *state = export->state;
    double estimated = 0, scale = 1;

    for (const struct duct_process *process = state->current; process; process = process->hh.next)
        estimated += estimate(process, export->window);
    if (state->has_single[DUCT_CPU_SECONDS] && estimated > state->singles[DUCT_CPU_SECONDS])
        scale = fmax(0, state->singles[DUCT_CPU_SECONDS]) / estimated;
    for (struct duct_process *process = state->current; process; process = process->hh.next) {
        const struct duct_process *before = duct_find(state->previous, process->subject);

        process->cpu_seconds = before ? before->cpu_seconds : 0;
        process->has_cpu = before && before->has_cpu;
        if (process->has[DUCT_CPU_AT_END])
            process->cpu_seconds = process->numbers[DUCT_CPU_AT_END];
        else if (process->has[DUCT_CPU_COUNTED])
            process->cpu_seconds += process->numbers[DUCT_CPU_COUNTED];
        else
            process->cpu_seconds += scale * estimate(process, export->window);
        process->has_cpu = process->has_cpu || process->has[DUCT_CPU_AT_END] ||
                           process->has[DUCT_CPU_COUNTED] || process->has[DUCT_RATE];
        process->has_pcpu = process->has_cpu && process->has[DUCT_RSS] && age_of(process) > 0;
        if (process->has_pcpu)
            process->pcpu = 100 * process->cpu_seconds / age_of(process);
        find_life(process, record);
    }
}

static int duct_record(struct export *export, const struct usage_record *record)
{
    struct duct_state *state = export->state;
    int code = take_values(state, record);

    if (code == 0) {
        count_cpu(export, record);
        if (state->has_single[DUCT_CPU_SECONDS])
            state->cpu_seconds += state->singles[DUCT_CPU_SECONDS];
        if (state->has_single[DUCT_RSS_TOTAL])
            code = duct_write_record(export, record);
        duct_forget(&state->previous);
        state->previous = state->current;
        state->current = NULL;
    }
    return code;
}

static void duct_fini(struct export *export)
{
    struct duct_state *state = export->state;

    if (!state)
        return;
    duct_forget(&state->current);
    duct_forget(&state->previous);
    free(state->changes);
    free(state);
}

const struct exporter exporter_duct = {
    .name = "duct",
    .suffix = "usage.jsonl",
    .second_suffix = "info.json",
    .reduces = true,
    .wants = duct_wants,
    .begin = duct_begin,
    .record = duct_record,
    .end = duct_write_info,
    .fini = duct_fini,
};
