/*
 * The columns of a Nextflow trace (trace.raw = true) that are known of a task: a header and one row, tabs
 * between them; bytes, milliseconds (points in time: since 1970) and percent as plain numbers, `-` for what
 * is missing. `name` is the job, with its sheet as Nextflow has a task's index: "align (3)".
 *
 * Nextflow's own watcher (command-trace.txt) adds up /proc/PID/status over the tree at each look and keeps
 * the largest sum of each column: rss and vmem are that of VmRSS and VmSize. Its peak_rss is that of the
 * high-water marks, which are not recorded as a sum; here it is the larger of `rss` and of the highest mark
 * of a single process, so never more than Nextflow's. %mem is in percent of the machine's memory, %cpu the
 * mean over the run, 100 being one core.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "publish/export_values.h"

static void add_number(struct strbuf *out, bool has, double value)
{
    if (!has || !export_number(out, value))
        strbuf_addc(out, '-');
    strbuf_addc(out, '\t');
}

/* Percent has one digit after the point there. */
static void add_percent(struct strbuf *out, bool has, double value)
{
    add_number(out, has, round(10 * value) / 10);
}

static void add_found(const struct export *export, struct strbuf *out, const char *const *names)
{
    double value = 0;
    bool has = export_find(export, names, &value, NULL);

    add_number(out, has, value);
}

/* A text in a table of tabs: no tab, no line feed, nothing that a terminal acts on. */
static void add_text(struct strbuf *out, const char *text, char after)
{
    if (!text || !*text)
        text = "-";
    text_printable(out, text, strlen(text));
    strbuf_addc(out, after);
}

/* The job, or job and sheet. */
static void add_name(const struct export *export, struct strbuf *out)
{
    const char *job = recording_text(export->recording, "job");
    struct strbuf name = STRBUF_INIT;
    double sheet = 0;

    if (job && recording_number(export->recording, "sheet", &sheet))
        strbuf_addf(&name, "%s (%.0f)", job, sheet);
    add_text(out, name.length > 0 ? strbuf_text(&name) : job, '\t');
    strbuf_fini_part(&name, out);
}

static void add_memory(const struct export *export, struct strbuf *out)
{
    double rss = 0, vsz = 0, peak = 0, total = 0;
    bool has_rss = export_find(export, export_peak_rss, &rss, NULL);
    bool has_vsz = export_find(export, export_peak_vsz, &vsz, NULL);
    bool has_peak = export_peak_resident(export, &peak);
    bool has_total = recording_number(export->recording, "system.memory_total", &total) && total > 0;

    add_percent(out, has_rss && has_total, has_total ? 100 * rss / total : 0);
    add_number(out, has_rss, rss);
    add_number(out, has_vsz, vsz);
    add_number(out, has_peak, peak);
    add_number(out, has_vsz, vsz);
}

static int nextflow_end(struct export *export)
{
    static const char *const rchar[] = {"io_rchar_total", NULL}, *const wchar[] = {"io_wchar_total", NULL};
    static const char *const syscr[] = {"io_syscr_total", NULL}, *const syscw[] = {"io_syscw_total", NULL};
    struct strbuf *out = &export->out;
    double wall = 0, cpu = 0;
    bool has_wall = export_wall(export, &wall), has_cpu = export_mean_cpu(export, &cpu);
    double exit_code = 0, start = export->recording->start_wall;
    bool has_exit = recording_number(export->recording, "exit_code", &exit_code);
    bool has_end = start > 0 && has_wall && export->recording->status == RECORDING_ENDED;

    strbuf_adds(out, "name\texit\tstart\tcomplete\trealtime\t%cpu\t%mem\trss\tvmem\tpeak_rss\tpeak_"
                     "vmem\trchar\twchar\tsyscr\tsyscw\t"
                     "read_bytes\twrite_bytes\tvol_ctxt\tinv_ctxt\thostname\tcpu_model\n");
    add_name(export, out);
    add_number(out, has_exit, exit_code);
    add_number(out, start > 0, round(1000 * start));
    add_number(out, has_end, round(1000 * (start + wall)));
    add_number(out, has_wall, round(1000 * wall));
    add_percent(out, has_cpu, cpu);
    add_memory(export, out);
    add_found(export, out, rchar);
    add_found(export, out, wchar);
    add_found(export, out, syscr);
    add_found(export, out, syscw);
    add_found(export, out, export_read_bytes);
    add_found(export, out, export_write_bytes);
    add_found(export, out, export_ctx_voluntary);
    add_found(export, out, export_ctx_involuntary);
    add_text(out, recording_text(export->recording, "system.hostname"), '\t');
    add_text(out, recording_text(export->recording, "system.cpu_model"), '\n');
    return 0;
}

const struct exporter exporter_nextflow = {.name = "nextflow", .reduces = true, .end = nextflow_end};
