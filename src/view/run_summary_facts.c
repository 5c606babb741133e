/* The facts of a summary, taken from a run that has just ended or from the recording of one. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "schema/syscall_summary.h"
#include "view/command_line.h"
#include "view/recorded_list.h"
#include "view/run_summary.h"

#define SURVIVOR_WIDTH 40

/* A number of the summary by its key, as either has it. */
typedef bool find_number(const void *from, const char *key, double *out);

static bool in_info(const void *from, const char *key, double *out)
{
    const struct run_info *info = from;
    return info->summary && record_number(info->summary, key, out);
}

static bool in_recording(const void *from, const char *key, double *out)
{
    return recording_number(from, key, out);
}

static double number_or_none(find_number *find, const void *from, const char *key)
{
    double number;
    return find(from, key, &number) ? number : NAN;
}

/* What has the same name in both. */
static void take_numbers(struct run_summary *summary, find_number *find, const void *from)
{
    /* What reached storage, by the better of two methods. */
    static const char *const storage[][2] = {{"io_read_bytes_total", "io_write_bytes_total"},
                                             {"rusage_in_bytes", "rusage_out_bytes"}};

    summary->processes_at_once = number_or_none(find, from, "proc_peak_processes");
    summary->own_cpu_seconds = number_or_none(find, from, "self_cpu_seconds");
    summary->own_rss_bytes = number_or_none(find, from, "self_peak_rss");
    summary->missed_ticks = number_or_none(find, from, "self_missed_ticks");
    for (size_t i = 0; !summary->read_key && i < sizeof(storage) / sizeof(storage[0]); i++)
        if (find(from, storage[i][0], &summary->read_bytes) &&
            find(from, storage[i][1], &summary->written_bytes)) {
            summary->read_key = storage[i][0];
            summary->written_key = storage[i][1];
        }
}

static void take_survivor(struct run_summary *summary, double pid, const char *command)
{
    const size_t at = summary->survivor_count;
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;

    if (at == RUN_SUMMARY_SURVIVORS_MAX || !(pid > 0 && pid < 1e18))
        return;
    text_one_line(&line, command, strlen(command));
    (void)command_fit(&shown, strbuf_text(&line), line.length, SURVIVOR_WIDTH, false);
    size_t kept = text_cut(strbuf_text(&shown), sizeof(summary->survivors[at].command) - 1);
    summary->survivors[at].pid = (long long)pid;
    memcpy(summary->survivors[at].command, strbuf_text(&shown), kept);
    summary->survivors[at].command[kept] = '\0';
    summary->survivor_count++;
    strbuf_fini(&line);
    strbuf_fini(&shown);
}

static void take_recorded_survivors(struct run_summary *summary, const struct recording *recording)
{
    struct strbuf command = STRBUF_INIT;
    struct json_reader reader;
    struct json_text process;
    double pid;

    recorded_list_begin(&reader, recording, "survivors.processes");
    while (recorded_list_next(&reader, &process)) {
        strbuf_reset(&command);
        (void)json_find_text(&process, "command", &command);
        if (json_find_number(&process, "pid", &pid))
            take_survivor(summary, pid, strbuf_text(&command));
    }
    json_reader_fini(&reader);
    strbuf_fini(&command);
}

/* Sums are negative where they were not measured. */
static double measured(double sum)
{
    return sum < 0 ? NAN : sum;
}

static void take_info_syscalls(struct run_summary *summary, const struct run_info *info)
{
    struct syscall_sums sums;
    struct syscall_failing failing;

    if (!info->syscalls.method || !info->summary || !syscall_sums(info->summary, &sums))
        return;
    summary->syscall_method = info->syscalls.method;
    summary->syscalls = measured(sums.count);
    summary->syscall_errors = measured(sums.errors);
    summary->syscalls_lost = (double)info->syscalls.lost;
    summary->waiting_share = measured(sums.waiting_seconds) / sums.seconds;
    if (syscall_failing(info->summary, &failing)) {
        summary->failing = failing.name;
        summary->failing_errors = failing.errors;
        summary->failing_error = failing.error;
    }
    summary->syscalls_are_low = info->syscalls.note != NULL || info->syscalls.lost > 0;
    if (!syscall_hotspot(info->summary, &summary->hotspot, &summary->hotspot_share))
        summary->hotspot = NULL;
}

void run_summary_of_info(struct run_summary *summary, const struct run_info *info, bool discarded)
{
    *summary = (struct run_summary){
        .kind = RECORDING_METRON,
        .status = RECORDING_ENDED,
        .has_exit_code = run_info_has_exit(info),
        .exit_code = info->outcome.exit_code,
        .cause = info->cause ? info->cause : "did not start",
        .attached = info->attached.roots ? &info->attached : NULL,
        .wall_seconds = info->wall_seconds,
        .cpu = info->headline.cpu_seconds,
        .memory = info->headline.peak_memory_bytes,
        .charge = info->headline.memory_upper_bound,
        .processes = info->headline.processes,
        .cpus = info->may_use.cpus,
        .memory_bytes = (double)info->may_use.memory_bytes,
        .samples = info->num_samples,
        .survivors_in_all = info->survivors_in_all,
        .prefix = info->prefix,
        .discarded = discarded,
    };
    memcpy(summary->stalls, info->headline.stalls, sizeof(summary->stalls));
    take_numbers(summary, in_info, info);
    take_info_syscalls(summary, info);
    for (size_t i = 0; i < info->survivor_count; i++)
        take_survivor(summary, info->survivors[i].pid,
                      info->survivors[i].command ? info->survivors[i].command : "");
}

static struct headline_answer answer_of(const struct recording *recording, const char *alias)
{
    const struct recorded_field *field = recording_field(recording, alias);

    if (!field || field->kind != FIELD_NUMBER)
        return (struct headline_answer){0};
    return (struct headline_answer){true, field->number, field->source, {field->bound, field->note}, NULL};
}

struct headline_answer recorded_stall(const struct recording *recording, enum stall stall)
{
    static const char *const fields[STALL_COUNT][3] = {
        [STALL_CPU] = {"stall.cpu.share", "stall.cpu.source", "stall.cpu.note"},
        [STALL_MEMORY] = {"stall.memory.share", "stall.memory.source", "stall.memory.note"},
        [STALL_IO] = {"stall.io.share", "stall.io.source", "stall.io.note"},
    };
    struct headline_answer answer = {.source = recording_text(recording, fields[stall][1]),
                                     .note.text = recording_text(recording, fields[stall][2])};

    answer.has = recording_number(recording, fields[stall][0], &answer.value);
    return answer;
}

static void take_recorded_parts(struct run_summary *summary, const struct recording *recording)
{
    summary->charge.has =
        recording_number(recording, "headline.peak_memory_bytes.upper_bound.value", &summary->charge.value);
    summary->charge.source = recording_text(recording, "headline.peak_memory_bytes.upper_bound.source");
    for (int i = 0; i < STALL_COUNT; i++)
        summary->stalls[i] = recorded_stall(recording, (enum stall)i);
    summary->syscall_method = recording_text(recording, "syscalls.method");
    summary->syscalls = number_or_none(in_recording, recording, "syscalls.count");
    summary->syscall_errors = number_or_none(in_recording, recording, "syscalls.errors");
    summary->syscalls_lost = number_or_none(in_recording, recording, "syscalls.lost");
    summary->waiting_share = number_or_none(in_recording, recording, "syscalls.waiting_seconds") /
                             number_or_none(in_recording, recording, "syscalls.seconds");
    summary->failing = recording_text(recording, "syscalls.most_errors.name");
    summary->failing_error = recording_text(recording, "syscalls.most_errors.most_frequent_error");
    summary->failing_errors = number_or_none(in_recording, recording, "syscalls.most_errors.errors");
    summary->syscalls_are_low = recording_text(recording, "syscalls.bound") != NULL;
    if (recording_number(recording, "syscalls.hotspot.share", &summary->hotspot_share))
        summary->hotspot = recording_text(recording, "syscalls.hotspot.name");
}

void run_summary_of_recording(struct run_summary *summary, const struct recording *recording)
{
    double code, survivors;

    *summary = (struct run_summary){
        .kind = recording->kind,
        .status = recording->status,
        .cause = recording_cause(recording),
        .wall_seconds = number_or_none(in_recording, recording, "wall"),
        .command = recording_text(recording, "command"),
        .job = recording_text(recording, "job"),
        .message = recording_text(recording, "message"),
        .start_wall = recording->start_wall,
        .cpu = answer_of(recording, "cpu_seconds"),
        .memory = answer_of(recording, "peak_memory"),
        .processes = answer_of(recording, "processes"),
        .cpus = number_or_none(in_recording, recording, "system.may_use.cpus"),
        .memory_bytes = number_or_none(in_recording, recording, "system.may_use.memory"),
        .samples = number_or_none(in_recording, recording, "num_samples"),
        .prefix = recording_text(recording, "prefix"),
        .path = recording->path,
        .recording = recording,
    };
    if (recording_number(recording, "exit_code", &code) && code >= -255 && code <= 255) {
        summary->has_exit_code = true;
        summary->exit_code = (int)code;
    }
    take_recorded_parts(summary, recording);
    take_numbers(summary, in_recording, recording);
    if (recording_number(recording, "survivors.count", &survivors) && survivors > 0 && survivors < 1e9) {
        summary->survivors_in_all = (size_t)survivors;
        take_recorded_survivors(summary, recording);
    }
}
