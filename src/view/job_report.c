#include "view/job_report.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

#define CALLS_SHOWN 8
#define LABEL_WIDTH 14

static void add_label(struct strbuf *out, const char *label)
{
    strbuf_addf(out, "  %-*s", LABEL_WIDTH, label);
}

static void add_quantity(struct strbuf *out, const char *label, enum unit unit, double value,
                         const char *note)
{
    char text[UNIT_TEXT_SIZE];

    add_label(out, label);
    strbuf_addf(out, "%s%s%s%s\n", unit_human(unit, value, text), note ? " (" : "", note ? note : "",
                note ? ")" : "");
}

static void add_time(struct strbuf *out, const char *label, struct timespec when)
{
    char text[64];

    if (when.tv_sec == 0 ||
        !*clock_local_text((double)when.tv_sec, "%Y-%m-%d %H:%M:%S %z", text, sizeof(text)))
        return;
    add_label(out, label);
    strbuf_addf(out, "%s\n", text);
}

static void add_text(struct strbuf *out, const char *label, const char *text)
{
    if (!text)
        return;
    add_label(out, label);
    text_printable(out, text, strlen(text));
    strbuf_addc(out, '\n');
}

static double wall_of(struct timespec started, struct timespec ended, double now)
{
    return (ended.tv_sec ? clock_timespec_seconds(ended) : now) - clock_timespec_seconds(started);
}

static void add_outcome(struct strbuf *out, const struct job_report *report)
{
    const struct job *job = report->job;

    strbuf_adds(out, "Job ");
    text_printable(out, job->id, strlen(job->id));
    strbuf_addf(out, ": %s\n\n", job_status_name(job->status));
    add_text(out, "workspace", job->workspace);
    add_text(out, "configuration", job->config_hash);
    add_time(out, "started", job->started);
    add_time(out, "ended", job->ended);
    add_quantity(out, "wall time", UNIT_SECONDS, wall_of(job->started, job->ended, report->now),
                 job->ended.tv_sec ? NULL : "so far");
}

static void add_cpu(struct strbuf *out, const struct job_usage *usage, double wall)
{
    const char *by_ledger = usage->numbers[USAGE_CPU_IS_LOW] != 0
                                ? "ledger, at least: some processes exited while no daemon ran"
                                : "ledger: its processes, ended ones included";
    char text[UNIT_TEXT_SIZE];
    double seconds;
    bool of_group = usage_has(usage, USAGE_CGROUP_CPU);

    strbuf_adds(out, "\nCPU\n");
    if (!job_usage_cpu(usage, &seconds)) {
        strbuf_adds(out, "  not measured\n");
        return;
    }
    add_label(out, "seconds");
    strbuf_addf(out, "%s", unit_human(UNIT_SECONDS, seconds, text));
    if (wall > 0)
        strbuf_addf(out, ", %.2f cores on average", seconds / wall);
    strbuf_addf(out, " (%s)\n", of_group ? "its own control group" : by_ledger);
    if (of_group && usage_has(usage, USAGE_CPU))
        add_quantity(out, "seconds", UNIT_SECONDS, usage->numbers[USAGE_CPU], by_ledger);
}

static void add_memory(struct strbuf *out, const struct job_usage *usage)
{
    static const struct {
        enum job_usage_value value;
        const char *note;
    } methods[] = {
        {USAGE_PEAK_PSS, "sum of PSS: what it really held"},
        {USAGE_PEAK_RSS, "sum of RSS: an upper bound, shared pages count once per process"},
        {USAGE_LARGEST_HWM, "largest single process, by its high-water mark"},
        {USAGE_PEAK_CGROUP, "charged to its own control group, page cache included"},
    };
    bool was_measured = false;

    strbuf_adds(out, "\nMemory\n");
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (usage_has(usage, methods[i].value)) {
            add_quantity(out, "peak", UNIT_BYTES, usage->numbers[methods[i].value], methods[i].note);
            was_measured = true;
        }
    if (!was_measured)
        strbuf_adds(out, "  not measured\n");
}

static void add_processes(struct strbuf *out, const struct job_report *report)
{
    const struct job_usage *usage = &report->job->usage;
    const struct job_happenings *happenings = report->happenings;

    strbuf_adds(out, "\nProcesses\n");
    add_quantity(out, "seen", UNIT_COUNT, usage->numbers[USAGE_UNIQUE_PROCESSES],
                 usage->numbers[USAGE_SPAWNED_IS_EXACT] != 0 ? NULL : "at least: not every birth was told");
    add_quantity(out, "at once", UNIT_COUNT, usage->numbers[USAGE_PEAK_PROCESSES], NULL);
    if (usage_has(usage, USAGE_READ)) {
        add_quantity(out, "read", UNIT_BYTES, usage->numbers[USAGE_READ], "from storage");
        add_quantity(out, "written", UNIT_BYTES, usage->numbers[USAGE_WRITTEN], "to storage");
    }
    if (!happenings)
        return;
    add_quantity(out, "failed", UNIT_COUNT, (double)happenings->failed, "ended with another code than 0");
    add_quantity(out, "killed", UNIT_COUNT, (double)happenings->kills, "by a signal");
    add_quantity(out, "OOM kills", UNIT_COUNT, (double)happenings->ooms, NULL);
    add_quantity(out, "signals", UNIT_COUNT, (double)happenings->signals, "that ended nobody");
}

static void add_sheets(struct strbuf *out, const struct job_report *report)
{
    const struct job *job = report->job;
    char wall[UNIT_TEXT_SIZE], cpu[UNIT_TEXT_SIZE], memory[UNIT_TEXT_SIZE];

    if (job->sheet_count == 0)
        return;
    strbuf_addf(out, "\nSheets\n  %6s  %-10s  %12s  %10s  %10s  %5s\n", "sheet", "status", "wall time", "CPU",
                "peak RSS", "tries");
    for (size_t i = 0; i < job->sheet_count; i++) {
        const struct job_sheet *sheet = &job->sheets[i];
        const struct job_usage *usage = &sheet->usage;
        double seconds;
        strbuf_addf(out, "  %6lld  %-10s  %12s  %10s  %10s  %5u\n", (long long)sheet->number,
                    sheet_status_name(sheet->status),
                    unit_human(UNIT_SECONDS, wall_of(sheet->started, sheet->ended, report->now), wall),
                    job_usage_cpu(usage, &seconds) ? unit_human(UNIT_SECONDS, seconds, cpu) : "-",
                    usage_has(usage, USAGE_PEAK_RSS)
                        ? unit_human(UNIT_BYTES, usage->numbers[USAGE_PEAK_RSS], memory)
                        : "-",
                    sheet->tries);
    }
}

static void add_calls(struct strbuf *out, const struct job_report *report)
{
    struct strbuf name = STRBUF_INIT;
    double whole = 0;

    if (!report->calls)
        return;
    for (size_t i = 0; i < report->call_count; i++)
        whole += report->calls[i].seconds;
    strbuf_adds(out, "\nSystem calls\n");
    for (size_t i = 0; i < report->call_count && i < CALLS_SHOWN; i++) {
        const struct snapshot_call *call = &report->calls[i];
        strbuf_reset(&name);
        text_printable(&name, call->name, strlen(call->name));
        strbuf_addf(out, "  %-16s  %12llu calls  %5.1f %% of their time\n", strbuf_text(&name),
                    (unsigned long long)call->count, whole > 0 ? 100 * call->seconds / whole : 0);
    }
    strbuf_fini(&name);
}

void job_report_write(struct strbuf *out, const struct job_report *report)
{
    const struct job *job = report->job;

    add_outcome(out, report);
    add_cpu(out, &job->usage, wall_of(job->started, job->ended, report->now));
    add_memory(out, &job->usage);
    add_processes(out, report);
    add_sheets(out, report);
    add_calls(out, report);
}
