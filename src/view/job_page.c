/*
 * One job, as a run's summary is: a fact a line, each number with how it was got. What was not measured has
 * no line.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "view/job_part.h"
#include "view/job_rows.h"
#include "view/job_table.h"
#include "view/wrap.h"

#define DETAIL_COLUMN 13

static void add_human(struct strbuf *out, enum unit unit, double value)
{
    char text[UNIT_TEXT_SIZE];
    strbuf_adds(out, unit_human(unit, value, text));
}

static void add_time(struct strbuf *out, const char *what, double seconds)
{
    char text[64];

    if (*clock_local_text(seconds, "%Y-%m-%d %H:%M:%S", text, sizeof(text)))
        strbuf_addf(out, "%s %s", what, text);
}

static void add_cpu(struct strbuf *out, const struct job_part *part)
{
    const struct job_usage *usage = &part->usage;
    const char *title = "  cpu        ";

    if (usage_has(usage, USAGE_CGROUP_CPU)) {
        strbuf_adds(out, title);
        add_human(out, UNIT_SECONDS, usage->numbers[USAGE_CGROUP_CPU]);
        strbuf_adds(out, " of its control group (cgroup_cpu_seconds)\n");
        title = "             ";
    }
    if (usage_has(usage, USAGE_CPU)) {
        strbuf_addf(out, "%s%s", title, part->cpu_is_low ? "at least " : "");
        add_human(out, UNIT_SECONDS, usage->numbers[USAGE_CPU]);
        strbuf_adds(out, " of all its processes (proc_cpu_seconds)\n");
        if (part->cpu_is_low)
            strbuf_adds(out, "             some exited while no daemon ran (cpu_is_exact)\n");
    }
}

static void add_memory(struct strbuf *out, const struct job_usage *usage)
{
    const char *title = "  memory     peak ";

    for (unsigned i = 0; i < JOB_MEMORY_COUNT; i++) {
        enum job_usage_value value = job_memory_values[i];
        if (!usage_has(usage, value))
            continue;
        strbuf_adds(out, title);
        add_human(out, UNIT_BYTES, usage->numbers[value]);
        strbuf_addf(out, ", %s (%s)\n", job_memory_meaning(i), job_usage_columns[value].name);
        title = "             peak ";
    }
    if (usage->numbers[USAGE_OOM_KILLS] > 0)
        strbuf_addf(out, "             %.0f killed by the OOM killer (oom_kills)\n",
                    usage->numbers[USAGE_OOM_KILLS]);
}

static void add_processes(struct strbuf *out, const struct job_usage *usage)
{
    bool is_exact = usage->numbers[USAGE_SPAWNED_IS_EXACT] != 0;

    if (!usage_has(usage, USAGE_SPAWNED))
        return;
    strbuf_addf(out, "  processes  %s", is_exact ? "" : "at least ");
    add_human(out, UNIT_COUNT, usage->numbers[USAGE_SPAWNED]);
    strbuf_adds(out, " spawned");
    if (usage_has(usage, USAGE_PEAK_PROCESSES)) {
        strbuf_adds(out, ", up to ");
        add_human(out, UNIT_COUNT, usage->numbers[USAGE_PEAK_PROCESSES]);
        strbuf_adds(out, " in a snapshot");
    }
    strbuf_adds(out,
                is_exact ? " (told by the kernel)\n" : " (seen in snapshots: shorter lives are missed)\n");
}

static void add_storage(struct strbuf *out, const struct job_usage *usage)
{
    if (!usage_has(usage, USAGE_READ) || !usage_has(usage, USAGE_WRITTEN))
        return;
    strbuf_adds(out, "  storage    ");
    add_human(out, UNIT_BYTES, usage->numbers[USAGE_READ]);
    strbuf_adds(out, " read, ");
    add_human(out, UNIT_BYTES, usage->numbers[USAGE_WRITTEN]);
    strbuf_adds(out, " written\n");
}

static void add_facts(struct strbuf *out, const struct job_part *part, double now)
{
    double wall = job_part_wall(part, now);
    bool runs = strcmp(strbuf_text(&part->status), "running") == 0;

    strbuf_addf(out, "job %s: %s", strbuf_text(&part->name),
                part->status.length > 0 ? strbuf_text(&part->status) : "status unknown");
    if (!isnan(wall)) {
        strbuf_adds(out, runs ? " for " : " after ");
        add_human(out, UNIT_SECONDS, wall);
    }
    strbuf_adds(out, "\n");
    if (!isnan(part->started)) {
        add_time(out, "  time       from", part->started);
        add_time(out, " to", part->ended);
        strbuf_adds(out, "\n");
    }
    if (part->pid > 0)
        strbuf_addf(out, "  process    %.0f and its descendants\n", part->pid);
    if (part->workspace.length > 0)
        strbuf_addf(out, "  workspace  %s\n", strbuf_text(&part->workspace));
    if (part->config_hash.length > 0)
        strbuf_addf(out, "  config     %s\n", strbuf_text(&part->config_hash));
    add_cpu(out, part);
    add_memory(out, &part->usage);
    add_processes(out, &part->usage);
    add_storage(out, &part->usage);
    if (!isnan(part->total_sheets))
        strbuf_addf(out, "  sheets     %.0f in all\n", part->total_sheets);
}

void job_page_write(struct strbuf *out, const char *json, size_t length, double now, size_t width)
{
    struct strbuf facts = STRBUF_INIT;
    struct json_reader reader;
    struct job_part part;

    json_reader_init(&reader, json, length);
    job_part_read(&reader, &part);
    add_facts(&facts, &part, now);
    wrap_lines(out, strbuf_text(&facts), DETAIL_COLUMN, width);
    if (part.sheets.length > 2) {
        struct json_reader sheets;
        strbuf_addc(out, '\n');
        json_reader_init(&sheets, part.sheets.bytes, part.sheets.length);
        (void)job_rows_write(out, "SHEET", &sheets, now, width);
        json_reader_fini(&sheets);
    }
    strbuf_fini(&facts);
    job_part_fini(&part);
    json_reader_fini(&reader);
}
