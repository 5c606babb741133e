/*
 * One job, as a run's summary is: a fact a line, each number with how it was got. What was not measured has
 * no line.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "view/job_part.h"
#include "view/job_rows.h"
#include "view/job_table.h"
#include "view/wrap.h"

#define MEBIBYTE      (1024.0 * 1024)
#define DETAIL_COLUMN 13

static void add_human(struct strbuf *out, enum unit unit, double value)
{
    char text[UNIT_TEXT_SIZE];
    strbuf_adds(out, unit_human(unit, value, text));
}

static void add_time(struct strbuf *out, const char *what, double seconds)
{
    char text[64];
    struct tm broken;

    if (!clock_local(seconds, &broken))
        return;
    (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &broken);
    strbuf_addf(out, "%s %s", what, text);
}

static void add_cpu(struct strbuf *out, const struct job_part *part)
{
    const char *title = "  cpu        ";

    if (part->cgroup_cpu_seconds >= 0) {
        strbuf_adds(out, title);
        add_human(out, UNIT_SECONDS, part->cgroup_cpu_seconds);
        strbuf_adds(out, " of its control group (cgroup_cpu_seconds)\n");
        title = "             ";
    }
    if (part->proc_cpu_seconds >= 0) {
        strbuf_addf(out, "%s%s", title, part->cpu_is_low ? "at least " : "");
        add_human(out, UNIT_SECONDS, part->proc_cpu_seconds);
        strbuf_adds(out, " of all its processes (proc_cpu_seconds)\n");
        if (part->cpu_is_low)
            strbuf_adds(out, "             some exited while no daemon ran (cpu_is_exact)\n");
    }
}

static void add_memory(struct strbuf *out, const struct job_part *part)
{
    const struct {
        enum job_memory method;
        double mebibytes;
        const char *key;
    } peaks[] = {{JOB_MEMORY_PSS, part->peak_pss_mb, "peak_pss_mb"},
                 {JOB_MEMORY_RSS, part->peak_rss_mb, "peak_rss_mb"},
                 {JOB_MEMORY_HWM, part->largest_hwm_mb, "largest_hwm_mb"},
                 {JOB_MEMORY_CGROUP, part->peak_cgroup_mb, "peak_cgroup_mb"}};
    const char *title = "  memory     peak ";

    for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
        if (peaks[i].mebibytes < 0)
            continue;
        strbuf_adds(out, title);
        add_human(out, UNIT_BYTES, peaks[i].mebibytes * MEBIBYTE);
        strbuf_addf(out, ", %s (%s)\n", job_memory_meaning(peaks[i].method), peaks[i].key);
        title = "             peak ";
    }
    if (part->oom_kills > 0)
        strbuf_addf(out, "             %.0f killed by the OOM killer (oom_kills)\n", part->oom_kills);
}

static void add_processes(struct strbuf *out, const struct job_part *part)
{
    if (part->spawned < 0)
        return;
    strbuf_addf(out, "  processes  %s", part->exact ? "" : "at least ");
    add_human(out, UNIT_COUNT, part->spawned);
    strbuf_adds(out, " spawned");
    if (part->peak_processes >= 0) {
        strbuf_adds(out, ", up to ");
        add_human(out, UNIT_COUNT, part->peak_processes);
        strbuf_adds(out, " in a snapshot");
    }
    strbuf_adds(out,
                part->exact ? " (told by the kernel)\n" : " (seen in snapshots: shorter lives are missed)\n");
}

static void add_storage(struct strbuf *out, const struct job_part *part)
{
    if (part->read_bytes < 0 || part->write_bytes < 0)
        return;
    strbuf_adds(out, "  storage    ");
    add_human(out, UNIT_BYTES, part->read_bytes);
    strbuf_adds(out, " read, ");
    add_human(out, UNIT_BYTES, part->write_bytes);
    strbuf_adds(out, " written\n");
}

static void add_facts(struct strbuf *out, const struct job_part *part, double now)
{
    double wall = job_part_wall(part, now);
    bool runs = strcmp(strbuf_text(&part->status), "running") == 0;

    strbuf_addf(out, "job %s: %s", strbuf_text(&part->name),
                part->status.length > 0 ? strbuf_text(&part->status) : "status unknown");
    if (wall >= 0) {
        strbuf_adds(out, runs ? " for " : " after ");
        add_human(out, UNIT_SECONDS, wall);
    }
    strbuf_adds(out, "\n");
    if (part->started >= 0) {
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
    add_memory(out, part);
    add_processes(out, part);
    add_storage(out, part);
    if (part->total_sheets >= 0)
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
