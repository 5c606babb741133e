#include "view/job_part.h"

#include <math.h>
#include <stddef.h>

#include "view/shown_text.h"

#define NUMBER(member)                                                                                       \
    {                                                                                                        \
#member, offsetof(struct job_part, member)                                                           \
    }

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    NUMBER(pid),         NUMBER(started),      NUMBER(ended),     NUMBER(total_sheets),
    NUMBER(cpu_seconds), NUMBER(wall_seconds), NUMBER(exit_code), NUMBER(signal_num),
};

static double *number_of(struct job_part *part, size_t index)
{
    return (void *)((char *)part + numbers[index].offset);
}

static void take_member(struct json_reader *reader, const struct json_text *key, struct job_part *part)
{
    double number;
    bool is_exact;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (json_text_is(key, numbers[i].name)) {
            if (!json_read_number(reader, number_of(part, i)))
                (void)json_skip(reader);
            return;
        }
    if (job_usage_read(reader, key, &part->usage))
        return;
    if (json_text_is(key, "job_id"))
        shown_text_read(reader, &part->name);
    else if (json_text_is(key, "status"))
        shown_text_read(reader, &part->status);
    else if (json_text_is(key, "workspace"))
        shown_text_read(reader, &part->workspace);
    else if (json_text_is(key, "config_hash"))
        shown_text_read(reader, &part->config_hash);
    else if (json_text_is(key, "sheet_num") && json_read_number(reader, &number))
        strbuf_addf(&part->name, "%.0f", number);
    else if (json_text_is(key, "cpu_is_exact") && json_read_boolean(reader, &is_exact))
        part->cpu_is_low = !is_exact;
    else if (json_text_is(key, "syscall_hotspots") && json_read_raw(reader, &part->calls))
        return;
    else if (!json_text_is(key, "sheets") || !json_read_raw(reader, &part->sheets))
        (void)json_skip(reader);
}

/* Its `usage` is taken as if it stood in the object itself. */
void job_part_read(struct json_reader *reader, struct job_part *part)
{
    struct json_text key;

    *part = (struct job_part){0};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *number_of(part, i) = NAN;
    if (!json_enter_object(reader)) {
        (void)json_skip(reader);
        return;
    }
    while (json_next_key(reader, &key)) {
        if (json_text_is(&key, "usage") && json_enter_object(reader))
            while (json_next_key(reader, &key))
                take_member(reader, &key, part);
        else
            take_member(reader, &key, part);
    }
}

void job_part_fini(struct job_part *part)
{
    strbuf_fini(&part->name);
    strbuf_fini(&part->status);
    strbuf_fini(&part->workspace);
    strbuf_fini(&part->config_hash);
}

double job_part_wall(const struct job_part *part, double now)
{
    double end = isnan(part->ended) ? now : part->ended;

    if (!isnan(part->wall_seconds) || isnan(part->started))
        return part->wall_seconds;
    return end > part->started ? end - part->started : 0; /* the wall clock may have been set back */
}

void job_part_status(const struct job_part *part, struct strbuf *out)
{
    strbuf_adds(out, strbuf_text(&part->status));
    if (part->signal_num > 0)
        strbuf_addf(out, " (signal %.0f)", part->signal_num);
    else if (part->exit_code > 0)
        strbuf_addf(out, " (exit code %.0f)", part->exit_code);
}

const enum job_usage_value job_memory_values[JOB_MEMORY_COUNT] = {
    [JOB_MEMORY_PSS] = USAGE_PEAK_PSS,
    [JOB_MEMORY_RSS] = USAGE_PEAK_RSS,
    [JOB_MEMORY_HWM] = USAGE_LARGEST_HWM,
    [JOB_MEMORY_CGROUP] = USAGE_PEAK_CGROUP,
};

bool job_memory(const struct job_usage *usage, enum job_memory *method)
{
    const double *used = usage->numbers;
    enum job_memory sum = usage_has(usage, USAGE_PEAK_PSS) ? JOB_MEMORY_PSS : JOB_MEMORY_RSS;
    bool has_sum = usage_has(usage, job_memory_values[sum]);

    if (usage_has(usage, USAGE_LARGEST_HWM) &&
        (!has_sum || used[USAGE_LARGEST_HWM] > used[job_memory_values[sum]]))
        *method = JOB_MEMORY_HWM;
    else
        *method = has_sum ? sum : JOB_MEMORY_CGROUP;
    return usage_has(usage, job_memory_values[*method]);
}

const char *job_memory_meaning(enum job_memory method)
{
    static const char *const meanings[] = {
        [JOB_MEMORY_PSS] = "sum of PSS, the largest in a snapshot",
        [JOB_MEMORY_RSS] = "sum of RSS, the largest in a snapshot; shared pages count in each",
        [JOB_MEMORY_HWM] = "of the largest single process; together they may have held more",
        [JOB_MEMORY_CGROUP] = "charged to its control group, page cache included",
    };

    return meanings[method];
}
