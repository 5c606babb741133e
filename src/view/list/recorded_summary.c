#include "view/list/recorded_summary.h"

#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "view/colors.h"
#include "view/wrap.h"

#define COMMAND_BYTES 500 /* of a command that are shown */

/* con-duct's names are longer than ours. */
static size_t label_width(const struct recording *recording)
{
    return recording->kind == RECORDING_DUCT ? 14 : 10;
}

static void add_label(struct strbuf *out, const struct recording *recording, const char *label)
{
    strbuf_addf(out, "  %-*s", (int)label_width(recording), label);
}

static void add_text(struct strbuf *out, const char *text)
{
    size_t length = text_cut(text, COMMAND_BYTES);

    text_printable(out, text, length);
    if (text[length])
        strbuf_adds(out, "…");
}

/* Who recorded, how it ended, how long it took. */
static void add_outcome(struct strbuf *out, const struct recording *recording, bool colors)
{
    const char *cause = recording_text(recording, "cause"), *color = COLOR_MAGENTA;
    char wall[UNIT_TEXT_SIZE];
    double exit_code, seconds;

    strbuf_adds(out, recording->kind == RECORDING_METRON ? "metron: " : "con-duct: ");
    bool ended = recording_number(recording, "exit_code", &exit_code);
    if (ended)
        color = exit_code == 0 ? COLOR_GREEN : COLOR_RED;
    else if (recording->status == RECORDING_RUNNING)
        color = COLOR_CYAN;
    strbuf_adds(out, colors ? color : "");
    if (recording->status == RECORDING_LOST)
        strbuf_adds(out, "lost: its metron is gone, and how the command ended is not known");
    else if (recording->status == RECORDING_RUNNING)
        strbuf_adds(out, "still running");
    else if (cause)
        add_text(out, cause);
    else if (ended)
        strbuf_addf(out, "exited with %.0f", exit_code);
    else
        strbuf_adds(out, "no exit code was recorded");
    strbuf_adds(out, colors ? COLOR_END : "");
    if (recording_number(recording, "wall", &seconds))
        strbuf_addf(out, ", wall time %s%s", unit_human(UNIT_SECONDS, seconds, wall),
                    recording->status == RECORDING_RUNNING ? " so far" : "");
    strbuf_addc(out, '\n');
}

static void add_named_text(struct strbuf *out, const struct recording *recording, const char *label,
                           const char *field)
{
    const char *text = recording_text(recording, field);

    if (!text || !text[0])
        return;
    add_label(out, recording, label);
    add_text(out, text);
    strbuf_addc(out, '\n');
}

/* " (source; note)", and the end of the line. */
static void add_method(struct strbuf *out, const char *source, const char *note)
{
    if (source || note) {
        strbuf_adds(out, " (");
        if (source)
            add_text(out, source);
        if (source && note)
            strbuf_adds(out, "; ");
        if (note)
            add_text(out, note);
        strbuf_addc(out, ')');
    }
    strbuf_addc(out, '\n');
}

static void add_cpu(struct strbuf *out, const struct recording *recording)
{
    const struct recorded_field *cpu = recording_field(recording, "cpu_seconds");
    double wall = 0, cpus = 0;
    char text[UNIT_TEXT_SIZE];

    if (!cpu)
        return;
    add_label(out, recording, "cpu");
    strbuf_adds(out, unit_human(UNIT_SECONDS, cpu->number, text));
    (void)recording_number(recording, "wall", &wall);
    (void)recording_number(recording, "system.may_use.cpus", &cpus);
    if (wall > 0)
        strbuf_addf(out, ", %s of one core", unit_human(UNIT_PERCENT, 100 * cpu->number / wall, text));
    if (wall > 0 && cpus > 0 && cpus != 1)
        strbuf_addf(out, ", %s of the %.4g it may use",
                    unit_human(UNIT_PERCENT, 100 * cpu->number / wall / cpus, text), cpus);
    add_method(out, cpu->source, cpu->note);
}

static void add_memory(struct strbuf *out, const struct recording *recording)
{
    static const double worth_telling = 0.01;
    const struct recorded_field *memory = recording_field(recording, "peak_memory");
    double may_use = 0, bound;
    char text[UNIT_TEXT_SIZE];

    if (!memory)
        return;
    add_label(out, recording, "memory");
    strbuf_addf(out, "peak %s", unit_human(UNIT_BYTES, memory->number, text));
    (void)recording_number(recording, "system.may_use.memory", &may_use);
    double share = may_use > 0 ? memory->number / may_use : 0;
    if (share >= worth_telling) {
        if (share < 0.995)
            strbuf_addf(out, ", %s of", unit_human(UNIT_PERCENT, 100 * share, text));
        else
            strbuf_adds(out, ", all of");
        strbuf_addf(out, " the %s it may use", unit_human(UNIT_BYTES, may_use, text));
    }
    add_method(out, memory->source, memory->note);
    if (!recording_number(recording, "headline.peak_memory_bytes.upper_bound.value", &bound))
        return;
    add_label(out, recording, "");
    strbuf_addf(out, "charged up to %s, page cache included", unit_human(UNIT_BYTES, bound, text));
    add_method(out, recording_text(recording, "headline.peak_memory_bytes.upper_bound.source"), NULL);
}

static void add_processes(struct strbuf *out, const struct recording *recording)
{
    const struct recorded_field *processes = recording_field(recording, "processes");
    double at_once;
    char text[UNIT_TEXT_SIZE];

    if (!processes)
        return;
    add_label(out, recording, "processes");
    bool bound = processes->note && strncmp(processes->note, "lower bound", 11) == 0;
    strbuf_addf(out, "%s%s", bound ? "at least " : "", unit_human(UNIT_COUNT, processes->number, text));
    if (recording_number(recording, "proc_peak_processes", &at_once))
        strbuf_addf(out, ", up to %s in a sample", unit_human(UNIT_COUNT, at_once, text));
    add_method(out, processes->source, bound ? NULL : processes->note);
}

/* What reached storage, by the better of two methods. */
static void add_io(struct strbuf *out, const struct recording *recording)
{
    static const char *const keys[][2] = {{"io_read_bytes_total", "io_write_bytes_total"},
                                          {"rusage_in_bytes", "rusage_out_bytes"}};
    double in, written;
    char text[UNIT_TEXT_SIZE];

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!recording_number(recording, keys[i][0], &in) ||
            !recording_number(recording, keys[i][1], &written))
            continue;
        add_label(out, recording, "storage");
        strbuf_addf(out, "%s read", unit_human(UNIT_BYTES, in, text));
        strbuf_addf(out, ", %s written (%s, %s)\n", unit_human(UNIT_BYTES, written, text), keys[i][0],
                    keys[i][1]);
        return;
    }
}

/* The share of the wall time lost to waiting, if there was any to speak of. */
static void add_stalls(struct strbuf *out, const struct recording *recording)
{
    static const double worth_telling = 0.005;
    static const char *const names[][4] = {
        {"stall.cpu.share", "stall.cpu.source", "stall.cpu.note", "CPU"},
        {"stall.memory.share", "stall.memory.source", "stall.memory.note", "memory"},
        {"stall.io.share", "stall.io.source", "stall.io.note", "I/O"},
    };
    const char *const *first = NULL;
    double share;
    char text[UNIT_TEXT_SIZE];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!recording_number(recording, names[i][0], &share) || share < worth_telling)
            continue;
        if (first)
            strbuf_adds(out, ", ");
        else
            add_label(out, recording, "stalled");
        first = first ? first : names[i];
        strbuf_addf(out, "%s of the time for %s", unit_human(UNIT_PERCENT, 100 * share, text), names[i][3]);
    }
    if (!first)
        return;
    /* One name for the three: "cgroup_ave_psi_cpu_some_pct" as "cgroup_ave_psi_*_some_pct". */
    const char *source = recording_text(recording, first[1]);
    bool group = source && strncmp(source, "cgroup_", 7) == 0;
    add_method(out, group ? "cgroup_ave_psi_*_some_pct" : "psi_ave_*_some_pct",
               recording_text(recording, first[2]));
}

static void add_syscalls(struct strbuf *out, const struct recording *recording)
{
    const char *method = recording_text(recording, "syscalls.method");
    const char *hotspot = recording_text(recording, "syscalls.hotspot.name");
    double count, errors, share;
    char text[UNIT_TEXT_SIZE];

    if (!method || !recording_number(recording, "syscalls.count", &count))
        return;
    add_label(out, recording, "syscalls");
    strbuf_addf(out, "%s call%s", unit_human(UNIT_COUNT, count, text), count == 1 ? "" : "s");
    if (recording_number(recording, "syscalls.errors", &errors))
        strbuf_addf(out, ", %s error%s", unit_human(UNIT_COUNT, errors, text), errors == 1 ? "" : "s");
    if (hotspot && recording_number(recording, "syscalls.hotspot.share", &share)) {
        strbuf_adds(out, "; most of their time in ");
        add_text(out, hotspot);
        strbuf_addf(out, " (%.0f %%)", 100 * share);
    }
    strbuf_adds(out, " (by ");
    add_text(out, method);
    strbuf_adds(out, ")\n");
}

static void add_own_cost(struct strbuf *out, const struct recording *recording)
{
    double cpu, wall, rss, samples, missed;
    char text[UNIT_TEXT_SIZE];

    if (!recording_number(recording, "self_cpu_seconds", &cpu))
        return;
    add_label(out, recording, "metron");
    strbuf_addf(out, "%s CPU", unit_human(UNIT_SECONDS, cpu, text));
    if (recording_number(recording, "wall", &wall) && wall > 0)
        strbuf_addf(out, " (%s)", unit_human(UNIT_PERCENT, 100 * cpu / wall, text));
    if (recording_number(recording, "self_peak_rss", &rss))
        strbuf_addf(out, ", %s", unit_human(UNIT_BYTES, rss, text));
    if (recording_number(recording, "num_samples", &samples))
        strbuf_addf(out, ", %s sample%s", unit_human(UNIT_COUNT, samples, text), samples == 1 ? "" : "s");
    if (recording_number(recording, "self_missed_ticks", &missed) && missed > 0)
        strbuf_addf(out, ", %s missed", unit_human(UNIT_COUNT, missed, text));
    strbuf_addc(out, '\n');
}

static void add_survivors(struct strbuf *out, const struct recording *recording)
{
    double count;
    char text[UNIT_TEXT_SIZE];

    if (!recording_number(recording, "survivors.count", &count))
        return;
    add_label(out, recording, "outlived");
    strbuf_addf(out, "by %s process%s\n", unit_human(UNIT_COUNT, count, text), count == 1 ? "" : "es");
}

static void add_start(struct strbuf *out, const struct recording *recording)
{
    time_t seconds = (time_t)recording->start_wall;
    struct tm tm;
    char text[64];

    if (recording->start_wall <= 0 || !localtime_r(&seconds, &tm) ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
        return;
    add_label(out, recording, "started");
    strbuf_addf(out, "%s\n", text);
}

/* con-duct's summary: its peaks and averages as they are called there, with what they really are. */
static void add_duct(struct strbuf *out, const struct recording *recording)
{
    char text[UNIT_TEXT_SIZE];

    for (size_t i = 0; i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        bool named = strncmp(field->name, "peak_", 5) == 0 || strncmp(field->name, "average_", 8) == 0;
        if (!named || field->source || field->kind != FIELD_NUMBER)
            continue;
        strbuf_adds(out, "  ");
        add_text(out, field->name);
        for (size_t length = strlen(field->name); length < label_width(recording); length++)
            strbuf_addc(out, ' ');
        strbuf_adds(out, unit_human(field->unit, field->number, text));
        add_method(out, NULL, field->note);
    }
}

static void add_lines(struct strbuf *out, const struct recording *recording, bool colors)
{
    const char *prefix = recording_text(recording, "prefix");

    add_outcome(out, recording, colors);
    add_named_text(out, recording, "command", "command");
    add_named_text(out, recording, "job", "job");
    add_named_text(out, recording, "message", "message");
    add_start(out, recording);
    if (recording->kind == RECORDING_DUCT) {
        add_duct(out, recording);
    } else {
        add_cpu(out, recording);
        add_memory(out, recording);
        add_processes(out, recording);
        add_io(out, recording);
        add_stalls(out, recording);
        add_syscalls(out, recording);
        add_own_cost(out, recording);
        add_survivors(out, recording);
    }
    add_label(out, recording, "record");
    text_printable(out, prefix ? prefix : recording->path, strlen(prefix ? prefix : recording->path));
    strbuf_adds(out, prefix ? "*\n" : "\n");
}

void recorded_summary_write(struct strbuf *out, const struct recording *recording, size_t width, bool colors)
{
    struct strbuf lines = STRBUF_INIT;

    add_lines(&lines, recording, colors);
    wrap_lines(out, strbuf_text(&lines), 2 + label_width(recording), width);
    out->failed = out->failed || lines.failed;
    strbuf_fini(&lines);
}
