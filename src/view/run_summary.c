#include "view/run_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "view/colors.h"
#include "view/command_line.h"
#include "view/wrap.h"

enum { INDENT = 2, LABEL_WIDTH = 10, DUCT_LABEL_WIDTH = 14, ROOT_WIDTH = 40 };

#define TEXT_BYTES 500 /* of a text from outside that are shown */

#define WAITING_TOLD 0.005 /* of the time in system calls: less is rounded to nothing */

/* con-duct's names are longer than ours. */
static int label_width(const struct run_summary *summary)
{
    return summary->kind == RECORDING_DUCT ? DUCT_LABEL_WIDTH : LABEL_WIDTH;
}

static void add_label(struct strbuf *out, const struct run_summary *summary, const char *label)
{
    strbuf_addf(out, "%*s%-*s", INDENT, "", label_width(summary), label);
}

static void add_text(struct strbuf *out, const char *text)
{
    text_one_line_cut(out, text, TEXT_BYTES);
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

/* Without the folders before the program, which tell least. */
static const char *program_first(const char *command)
{
    const char *rest = command;

    for (const char *at = command; at && *at && *at != ' ' && *at != '\''; at++)
        if (*at == '/' && at[1] && at[1] != ' ')
            rest = at + 1;
    return rest;
}

/* "process 4711 (python train.py)", "3 processes (4711, 4712, 4713)" */
static void add_roots(struct strbuf *out, const struct run_attached *attached)
{
    static const size_t named = 4;
    const char *command = program_first(attached->roots[0].command);

    if (attached->root_count == 1) {
        strbuf_addf(out, "process %d", (int)attached->roots[0].pid);
        if (!command)
            return;
        strbuf_adds(out, " (");
        command_fit(out, command, strlen(command), ROOT_WIDTH, false);
        strbuf_addc(out, ')');
        return;
    }
    strbuf_addf(out, "%zu processes (", attached->root_count);
    for (size_t i = 0; i < attached->root_count && i < named; i++)
        strbuf_addf(out, "%s%d", i ? ", " : "", (int)attached->roots[i].pid);
    strbuf_adds(out, attached->root_count > named ? ", …)" : ")");
}

/* What is known of how it ended, or that it goes on. */
static void add_attached(struct strbuf *out, const struct run_summary *summary, bool colors)
{
    const struct run_attached *attached = summary->attached;
    const char *color = summary->exit_code == 0 ? COLOR_GREEN : COLOR_RED;
    bool one = attached->root_count == 1;
    bool ended = attached->ended_by && strcmp(attached->ended_by, "target") == 0;

    strbuf_adds(out, "metron: attached to ");
    add_roots(out, attached);
    unit_add(out, " for ", UNIT_SECONDS, summary->wall_seconds, "");
    if (summary->has_exit_code)
        strbuf_addf(out, ": %s%s%s%s", colors ? color : "", summary->cause, colors ? COLOR_END : "",
                    ended ? "" : "; its descendants go on");
    else if (ended)
        strbuf_adds(out, one ? "; it has ended" : "; they have ended");
    else
        strbuf_adds(out, one ? "; it goes on" : "; they go on");
    strbuf_addc(out, '\n');
}

/* Who recorded, how it ended, how long it took. */
static void add_outcome(struct strbuf *out, const struct run_summary *summary, bool colors)
{
    const char *color = COLOR_MAGENTA;

    if (summary->attached) {
        add_attached(out, summary, colors);
        return;
    }
    if (summary->has_exit_code)
        color = summary->exit_code == 0 ? COLOR_GREEN : COLOR_RED;
    else if (summary->status == RECORDING_RUNNING)
        color = COLOR_CYAN;
    strbuf_adds(out, summary->kind == RECORDING_METRON ? "metron: " : "con-duct: ");
    strbuf_adds(out, colors ? color : "");
    if (summary->status == RECORDING_LOST)
        strbuf_adds(out, "lost: its record was not completed, how the command ended is not known");
    else if (summary->status == RECORDING_RUNNING)
        strbuf_adds(out, "still running");
    else if (summary->status == RECORDING_UNKNOWN)
        strbuf_adds(out, "no info.json: how it ended is not known");
    else if (summary->cause)
        add_text(out, summary->cause);
    else if (summary->has_exit_code)
        strbuf_addf(out, "exited with code %d", summary->exit_code);
    else
        strbuf_adds(out, "no exit code was recorded");
    strbuf_adds(out, colors ? COLOR_END : "");
    if (!isnan(summary->wall_seconds))
        unit_add(out, ", wall time ", UNIT_SECONDS, summary->wall_seconds,
                 summary->status == RECORDING_RUNNING ? " so far" : "");
    strbuf_addc(out, '\n');
}

static void add_named_text(struct strbuf *out, const struct run_summary *summary, const char *label,
                           const char *text)
{
    if (!text || !text[0])
        return;
    add_label(out, summary, label);
    add_text(out, text);
    strbuf_addc(out, '\n');
}

static void add_start(struct strbuf *out, const struct run_summary *summary)
{
    char text[64];

    if (summary->start_wall > 0 &&
        *clock_local_text(summary->start_wall, "%Y-%m-%d %H:%M:%S", text, sizeof(text)))
        add_named_text(out, summary, "started", text);
}

static void add_cpu(struct strbuf *out, const struct run_summary *summary)
{
    const struct headline_answer *cpu = &summary->cpu;

    if (!cpu->has)
        return;
    add_label(out, summary, "cpu");
    unit_add(out, "", UNIT_SECONDS, cpu->value, "");
    /* Of one that runs it is up to its newest record, and the wall time until now: no share is made of both.
     */
    if (summary->wall_seconds > 0 && summary->status == RECORDING_ENDED) {
        double cores = cpu->value / summary->wall_seconds;
        unit_add(out, ", ", UNIT_PERCENT, 100 * cores, " of one core");
        if (summary->cpus > 0 && summary->cpus != 1) {
            unit_add(out, ", ", UNIT_PERCENT, 100 * cores / summary->cpus, "");
            strbuf_addf(out, " of the %.4g it may use", summary->cpus);
        }
    }
    add_method(out, cpu->source, cpu->note.text);
}

static void add_memory(struct strbuf *out, const struct run_summary *summary)
{
    static const double worth_telling = 0.01, nearly_all = 0.995;
    const struct headline_answer *memory = &summary->memory;

    if (!memory->has)
        return;
    add_label(out, summary, "memory");
    unit_add(out, "peak ", UNIT_BYTES, memory->value, "");
    double share = summary->memory_bytes > 0 ? memory->value / summary->memory_bytes : 0;
    if (share >= worth_telling) {
        /* The charge stops at the limit; what others are charged with does not. */
        if (share < nearly_all)
            unit_add(out, ", ", UNIT_PERCENT, 100 * share, "");
        else
            strbuf_adds(out, ", all");
        unit_add(out, " of the ", UNIT_BYTES, summary->memory_bytes, " it may use");
    }
    add_method(out, memory->source, memory->note.text);
    if (!summary->charge.has)
        return;
    add_label(out, summary, "");
    unit_add(out, "charged up to ", UNIT_BYTES, summary->charge.value, ", page cache included");
    add_method(out, summary->charge.source, NULL);
}

static void add_processes(struct strbuf *out, const struct run_summary *summary)
{
    const struct headline_answer *processes = &summary->processes;

    if (!processes->has)
        return;
    add_label(out, summary, "processes");
    bool is_bound = processes->note.bound == BOUND_LOWER;
    unit_add(out, is_bound ? "at least " : "", UNIT_COUNT, processes->value, "");
    if (!isnan(summary->processes_at_once))
        unit_add(out, ", up to ", UNIT_COUNT, summary->processes_at_once, " in a sample");
    char ran_already[48];
    const char *note = is_bound ? NULL : processes->note.text;
    if (summary->attached) {
        (void)snprintf(ran_already, sizeof(ran_already), "%zu ran already", summary->attached->processes);
        note = ran_already;
    }
    add_method(out, processes->source, note);
}

static void add_io(struct strbuf *out, const struct run_summary *summary)
{
    if (!summary->read_key)
        return;
    add_label(out, summary, "storage");
    unit_add(out, "", UNIT_BYTES, summary->read_bytes, " read, ");
    unit_add(out, "", UNIT_BYTES, summary->written_bytes, " written");
    strbuf_addf(out, " (%s, %s)\n", summary->read_key, summary->written_key);
}

/* The share of the wall time lost to waiting, if there was any to speak of. */
static void add_stalls(struct strbuf *out, const struct run_summary *summary)
{
    static const double worth_telling = 0.005;
    static const char *const resources[STALL_COUNT] = {"CPU", "memory", "I/O"};
    const struct headline_answer *first = NULL;

    for (int i = 0; i < STALL_COUNT; i++) {
        const struct headline_answer *stall = &summary->stalls[i];
        if (!stall->has || stall->value < worth_telling)
            continue;
        if (!first)
            add_label(out, summary, "stalled");
        unit_add(out, first ? ", " : "", UNIT_PERCENT, 100 * stall->value, " of the time for ");
        strbuf_adds(out, resources[i]);
        first = first ? first : stall;
    }
    if (!first)
        return;
    /* One name for the three: "cgroup_ave_psi_cpu_some_pct" as "cgroup_ave_psi_*_some_pct". */
    bool is_group = first->source && strncmp(first->source, "cgroup_", 7) == 0;
    add_method(out, is_group ? "cgroup_ave_psi_*_some_pct" : "psi_ave_*_some_pct", first->note.text);
}

/* ", most in openat (ENOENT)" */
static void add_failing(struct strbuf *out, const struct run_summary *summary)
{
    if (!summary->failing)
        return;
    strbuf_adds(out, summary->failing_errors < summary->syscall_errors ? ", most in " : ", in ");
    add_text(out, summary->failing);
    if (!summary->failing_error)
        return;
    strbuf_adds(out, " (");
    add_text(out, summary->failing_error);
    strbuf_addc(out, ')');
}

/* How many, and where their time went. That they could not be counted is a warning, and was given. */
static void add_syscalls(struct strbuf *out, const struct run_summary *summary)
{
    const char *between = "";

    if (!summary->syscall_method ||
        (isnan(summary->syscalls) && isnan(summary->syscall_errors) && !summary->hotspot))
        return;
    add_label(out, summary, "syscalls");
    if (!isnan(summary->syscalls)) {
        unit_add(out, summary->syscalls_are_low ? "at least " : "", UNIT_COUNT, summary->syscalls,
                 summary->syscalls == 1 ? " call" : " calls");
        between = ", ";
    }
    if (!isnan(summary->syscall_errors)) {
        unit_add(out, between, UNIT_COUNT, summary->syscall_errors,
                 summary->syscall_errors == 1 ? " error" : " errors");
        add_failing(out, summary);
        between = "; ";
    }
    if (summary->hotspot) {
        strbuf_addf(out, "%s%.0f %% of their time in ", between[0] ? "; " : "", 100 * summary->hotspot_share);
        add_text(out, summary->hotspot);
        if (summary->waiting_share >= WAITING_TOLD)
            strbuf_addf(out, ", %.0f %% waiting", 100 * summary->waiting_share);
    }
    if (summary->syscalls_lost > 0)
        unit_add(out, "; ", UNIT_COUNT, summary->syscalls_lost, " lost");
    strbuf_adds(out, " (by ");
    add_text(out, summary->syscall_method);
    strbuf_adds(out, ")\n");
}

static void add_own_cost(struct strbuf *out, const struct run_summary *summary)
{
    if (isnan(summary->own_cpu_seconds))
        return;
    add_label(out, summary, "metron");
    unit_add(out, "", UNIT_SECONDS, summary->own_cpu_seconds, " CPU");
    if (summary->wall_seconds > 0)
        unit_add(out, " (", UNIT_PERCENT, 100 * summary->own_cpu_seconds / summary->wall_seconds, ")");
    if (!isnan(summary->own_rss_bytes))
        unit_add(out, ", ", UNIT_BYTES, summary->own_rss_bytes, "");
    if (!isnan(summary->samples))
        unit_add(out, ", ", UNIT_COUNT, summary->samples, summary->samples == 1 ? " sample" : " samples");
    if (summary->missed_ticks > 0)
        unit_add(out, ", ", UNIT_COUNT, summary->missed_ticks, " missed");
    strbuf_addc(out, '\n');
}

static void add_survivors(struct strbuf *out, const struct run_summary *summary)
{
    if (!summary->survivors_in_all)
        return;
    add_label(out, summary, "outlived");
    unit_add(out, "by ", UNIT_COUNT, (double)summary->survivors_in_all,
             summary->survivors_in_all == 1 ? " process" : " processes");
    for (size_t i = 0; i < summary->survivor_count; i++)
        strbuf_addf(out, "%s %lld %s", i ? "," : ":", summary->survivors[i].pid,
                    summary->survivors[i].command);
    strbuf_adds(out, summary->survivor_count < summary->survivors_in_all ? ", …\n" : "\n");
}

/* con-duct's summary: its peaks and averages as they are called there, with what they really are. */
static void add_duct(struct strbuf *out, const struct run_summary *summary)
{
    const struct recording *recording = summary->recording;

    for (size_t i = 0; i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        bool is_named = strncmp(field->name, "peak_", 5) == 0 || strncmp(field->name, "average_", 8) == 0;
        if (!is_named || field->source || field->kind != FIELD_NUMBER)
            continue;
        strbuf_addf(out, "%*s", INDENT, "");
        add_text(out, field->name);
        for (size_t length = strlen(field->name); length < DUCT_LABEL_WIDTH; length++)
            strbuf_addc(out, ' ');
        unit_add(out, "", field->unit, field->number, "");
        add_method(out, NULL, field->note);
    }
}

static void add_record(struct strbuf *out, const struct run_summary *summary)
{
    const char *record = summary->prefix ? summary->prefix : summary->path;

    add_label(out, summary, "record");
    if (summary->discarded) {
        strbuf_adds(out, "removed, because the command failed so soon (--fail-time 0 keeps it)\n");
        return;
    }
    if (!record) {
        strbuf_adds(out, "none\n");
        return;
    }
    text_printable(out, record, strlen(record));
    strbuf_adds(out, summary->prefix ? "*\n" : "\n");
}

void run_summary_write(struct strbuf *out, const struct run_summary *summary, size_t width, bool colors)
{
    struct strbuf lines = STRBUF_INIT;

    add_outcome(&lines, summary, colors);
    add_named_text(&lines, summary, "command", summary->command);
    add_named_text(&lines, summary, "job", summary->job);
    add_named_text(&lines, summary, "message", summary->message);
    add_start(&lines, summary);
    if (summary->kind == RECORDING_DUCT) {
        add_duct(&lines, summary);
    } else {
        add_cpu(&lines, summary);
        add_memory(&lines, summary);
        add_processes(&lines, summary);
        add_io(&lines, summary);
        add_stalls(&lines, summary);
        add_syscalls(&lines, summary);
        add_own_cost(&lines, summary);
        add_survivors(&lines, summary);
    }
    add_record(&lines, summary);
    wrap_lines(out, strbuf_text(&lines), INDENT + (size_t)label_width(summary), width);
    strbuf_fini_part(&lines, out);
}
