/*
 * One job as a page, as a run's report is: a fact a line, each number with how it was got, then its sheets.
 * What was not measured has no line.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "view/job_part.h"
#include "view/job_table.h"
#include "view/report/page.h"
#include "view/wrap.h"

#define DETAIL_COLUMN 13
#define TIME_FORMAT   "%Y-%m-%d %H:%M:%S"

static void add_cpu(struct report_section *section, const struct job_part *part)
{
    static const struct {
        enum job_usage_value value;
        const char *what;
    } methods[] = {
        {USAGE_CGROUP_CPU, "of its control group"},
        {USAGE_EXIT_CPU, "of all its processes, as the kernel reported at their exits"},
        {USAGE_CPU, "of all its processes"},
        {USAGE_RUSAGE_CPU, "of the processes that were waited for"},
        {USAGE_SHEETS_CPU, "of all its sheets"},
    };
    const struct job_usage *usage = &part->usage;
    struct report_page *page = section->page;
    bool is_first = true;

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        double seconds = usage->numbers[methods[i].value];
        if (!usage_has(usage, methods[i].value))
            continue;
        report_sayf(section, is_first ? "cpu" : "", "%s%s %s",
                    part->cpu_is_low && seconds == part->cpu_seconds ? "at least " : "",
                    report_human(page, UNIT_SECONDS, seconds), methods[i].what)
            ->source = job_usage_columns[methods[i].value].name;
        is_first = false;
    }
    if (usage_has(usage, USAGE_LEFT_CGROUP))
        (void)report_say(section, "", "a process ran outside its control group, which did not count it",
                         job_usage_columns[USAGE_LEFT_CGROUP].name);
    if (part->cpu_is_low && !is_first)
        (void)report_say(section, "", "not every process was followed to its end", "cpu_is_exact");
}

static void add_memory(struct report_section *section, const struct job_usage *usage)
{
    struct report_page *page = section->page;
    const char *label = "memory";

    for (unsigned i = 0; i < JOB_MEMORY_COUNT; i++) {
        enum job_usage_value value = job_memory_values[i];
        if (!usage_has(usage, value))
            continue;
        report_sayf(section, label, "peak %s, %s", report_human(page, UNIT_BYTES, usage->numbers[value]),
                    job_memory_meaning(i))
            ->source = job_usage_columns[value].name;
        label = "";
    }
    if (usage->numbers[USAGE_OOM_KILLS] > 0)
        report_sayf(section, label, "%.0f killed by the OOM killer", usage->numbers[USAGE_OOM_KILLS])
            ->source = "oom_kills";
}

static void add_processes(struct report_section *section, const struct job_usage *usage)
{
    bool is_exact = usage->numbers[USAGE_SPAWNED_IS_EXACT] != 0;
    struct report_page *page = section->page;

    if (!usage_has(usage, USAGE_SPAWNED))
        return;
    const char *text = report_text_of(page, "%s%s spawned", is_exact ? "" : "at least ",
                                      report_human(page, UNIT_COUNT, usage->numbers[USAGE_SPAWNED]));
    if (usage_has(usage, USAGE_PEAK_PROCESSES))
        text = report_text_of(page, "%s, up to %s in a snapshot", text,
                              report_human(page, UNIT_COUNT, usage->numbers[USAGE_PEAK_PROCESSES]));
    (void)report_say(section, "processes", text,
                     is_exact ? "told by the kernel" : "seen in snapshots: shorter lives are missed");
}

static void add_facts(struct report_section *section, const struct job_part *part)
{
    const struct job_usage *usage = &part->usage;
    struct report_page *page = section->page;
    char from[32], to[32];

    clock_local_text(part->started, TIME_FORMAT, from, sizeof(from));
    clock_local_text(part->ended, TIME_FORMAT, to, sizeof(to));
    if (from[0])
        report_sayf(section, "time", "from %s%s%s", from, to[0] ? " to " : "", to);
    if (part->pid > 0)
        report_sayf(section, "process", "%.0f and its descendants", part->pid);
    (void)report_say(section, "workspace", report_told(strbuf_text(&part->workspace)).text, NULL);
    (void)report_say(section, "config", report_told(strbuf_text(&part->config_hash)).text, NULL);
    add_cpu(section, part);
    add_memory(section, usage);
    add_processes(section, usage);
    if (usage_has(usage, USAGE_READ) && usage_has(usage, USAGE_WRITTEN))
        report_sayf(section, "storage", "%s read, %s written",
                    report_human(page, UNIT_BYTES, usage->numbers[USAGE_READ]),
                    report_human(page, UNIT_BYTES, usage->numbers[USAGE_WRITTEN]));
    if (!isnan(part->total_sheets))
        report_sayf(section, "sheets", "%.0f in all", part->total_sheets);
}

/* {name: {count, seconds}}, most time first. */
static void add_calls(struct report_section *section, const struct json_text *calls)
{
    enum { SHOWN = 8 };
    struct {
        const char *name;
        double count, seconds;
    } shown[SHOWN], next;
    struct json_reader reader;
    struct json_text key;
    double whole = 0;
    size_t count = 0;

    json_reader_init(&reader, calls->bytes, calls->length);
    if (calls->length && json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            next.name = report_text_of(section->page, "%.*s", (int)key.length, key.bytes);
            next.count = next.seconds = 0;
            if (json_enter_object(&reader))
                while (json_next_key(&reader, &key))
                    if (!json_read_number(&reader, json_text_is(&key, "count") ? &next.count : &next.seconds))
                        (void)json_skip(&reader);
            whole += next.seconds;
            if (count < SHOWN)
                shown[count++] = next;
        }
    json_reader_fini(&reader);
    for (size_t i = 0; i < count; i++)
        report_sayf(section, i ? "" : "syscalls", "%s %.0f calls, %.1f %% of their time", shown[i].name,
                    shown[i].count, whole > 0 ? 100 * shown[i].seconds / whole : 0);
}

/* Events are stored a little later, and not all have a code: but the job's own is known. */
static void add_exits(struct report_section *section, const struct job_part *part,
                      const struct job_happenings *happenings)
{
    bool has_failed = part->exit_code > 0 && isnan(part->signal_num);
    unsigned long long failed = happenings->failed ? happenings->failed : has_failed;

    report_sayf(section, "exits",
                "failed %s%llu with another code than 0, killed %llu by a signal, %llu by "
                "the OOM killer; %llu signals ended nobody",
                happenings->unknown || failed > happenings->failed ? "at least " : "", failed,
                (unsigned long long)happenings->kills, (unsigned long long)happenings->ooms,
                (unsigned long long)happenings->signals);
    if (happenings->unknown)
        report_sayf(section, "", "of %llu it is not known how they ended",
                    (unsigned long long)happenings->unknown);
}

static void add_details(struct report_section *section, const struct job_part *part,
                        const struct job_happenings *happenings, double wall)
{
    if (!isnan(part->cpu_seconds) && wall > 0)
        report_sayf(section, "cores", "%.2f on average", part->cpu_seconds / wall);
    if (happenings)
        add_exits(section, part, happenings);
    add_calls(section, &part->calls);
}

static void write_page(struct strbuf *out, const char *json, size_t length, bool is_report,
                       const struct job_happenings *happenings, double now, size_t width)
{
    struct report_page page = {0};
    struct strbuf title = STRBUF_INIT, status = STRBUF_INIT;
    struct json_reader reader, sheets;
    struct job_part part;

    json_reader_init(&reader, json, length);
    job_part_read(&reader, &part);
    double wall = job_part_wall(&part, now);
    job_part_status(&part, &status);
    bool runs = strcmp(strbuf_text(&part.status), "running") == 0;
    struct report_section *section = report_section_add(&page, "job", NULL);
    strbuf_addf(&title, "job %s: %s%s%s\n", strbuf_text(&part.name),
                status.length > 0 ? strbuf_text(&status) : "status unknown",
                isnan(wall) ? ""
                : runs      ? " for "
                            : " after ",
                isnan(wall) ? "" : report_human(&page, UNIT_SECONDS, wall));
    wrap_lines(out, strbuf_text(&title), DETAIL_COLUMN, width);
    add_facts(section, &part);
    if (is_report)
        add_details(section, &part, happenings, wall);
    report_page_text(out, &page, width, false);
    out->failed |= page.failed || title.failed;
    if (part.sheets.length > 2) {
        strbuf_addc(out, '\n');
        json_reader_init(&sheets, part.sheets.bytes, part.sheets.length);
        (void)job_rows_write(out, "SHEET", &sheets, now, width);
        json_reader_fini(&sheets);
    }
    report_page_fini(&page);
    strbuf_fini(&title);
    strbuf_fini(&status);
    job_part_fini(&part);
    json_reader_fini(&reader);
}

void job_page_write(struct strbuf *out, const char *json, size_t length, double now, size_t width)
{
    write_page(out, json, length, false, NULL, now, width);
}

void job_report_write(struct strbuf *out, const char *json, size_t length,
                      const struct job_happenings *happenings, double now)
{
    write_page(out, json, length, true, happenings, now, 0);
}
