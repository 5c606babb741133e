/*
 * What is requested is told by Slurm's variables. In a step (srun) each run is one task; in the batch script
 * itself it has all that the job has on its node:
 *
 *   memory  SLURM_MEM_PER_NODE, shared by the tasks of a step; or SLURM_MEM_PER_CPU for each CPU
 *   CPUs    SLURM_CPUS_PER_TASK in a step, SLURM_CPUS_ON_NODE outside
 *   time    SLURM_JOB_END_TIME less SLURM_JOB_START_TIME (Slurm 22.05 and later), or SLURM_TIMELIMIT
 */
#include "learn/past_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const past_run_fields[] = {
    "status",
    "exit_code",
    "signal",
    "cause",
    "command",
    "peak_memory",
    "cpu_seconds",
    "wall",
    "num_samples",
    "stall.cpu.share",
    "stall.cpu.note",
    "job",
    "env.SLURM_JOB_ID",
    "system.may_use.memory",
    "env.SLURM_MEM_PER_NODE",
    "env.SLURM_MEM_PER_CPU",
    "env.SLURM_CPUS_PER_TASK",
    "env.SLURM_CPUS_ON_NODE",
    "env.SLURM_STEP_ID",
    "env.SLURM_STEP_TASKS_PER_NODE",
    "env.SLURM_JOB_START_TIME",
    "env.SLURM_JOB_END_TIME",
    "env.SLURM_TIMELIMIT",
    NULL,
};

/* No machine has that much of anything. */
static const double too_much = 1e15;

/* Digits and nothing else: no sign, no exponent. *end is behind them. */
static double whole_number(const char *text, const char **end)
{
    double value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    *end = text;
    return value < too_much ? value : 0;
}

/* A whole number at the start of an environment variable ("4", "4(x2)"); 0: none. */
static double leading_number(const struct recording *recording, const char *name)
{
    const char *text = recording_text(recording, name), *end;
    double value;

    if (text)
        return whole_number(text, &end);
    /* con-duct writes texts, but who knows */
    return recording_number(recording, name, &value) && value >= 1 && value < too_much ? value : 0;
}

double past_run_slurm_memory(const char *text)
{
    static const char letters[] = "KMGT";
    const char *end;

    if (!text)
        return 0;
    double value = whole_number(text, &end), unit = 1048576;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    if (letter) {
        unit = 1024;
        for (const char *at = letters; at < letter; at++)
            unit *= 1024;
        end++;
    }
    return *end == '\0' ? value * unit : 0;
}

double past_run_slurm_time(const char *text)
{
    double parts[3] = {0}, days = 0;
    int count = 0;
    const char *end, *dash = text ? strchr(text, '-') : NULL;

    if (!text || *text < '0' || *text > '9')
        return 0;
    if (dash) {
        days = whole_number(text, &end);
        if (end != dash)
            return 0;
        text = dash + 1;
    }
    for (;;) {
        if (*text < '0' || *text > '9' || count == 3)
            return 0;
        parts[count++] = whole_number(text, &end);
        if (*end == '\0')
            break;
        if (*end != ':')
            return 0;
        text = end + 1;
    }
    double seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]; /* after days, or all three */
    if (!dash && count < 3)
        seconds = parts[0] * 60 + parts[1];
    seconds += days * 86400;
    return seconds < 1e12 ? seconds : 0;
}

static void read_requests(const struct recording *recording, struct past_run *out)
{
    double start = leading_number(recording, "env.SLURM_JOB_START_TIME");
    double end = leading_number(recording, "env.SLURM_JOB_END_TIME");
    double per_task = leading_number(recording, "env.SLURM_CPUS_PER_TASK");
    double on_node = leading_number(recording, "env.SLURM_CPUS_ON_NODE");
    double tasks = leading_number(recording, "env.SLURM_STEP_TASKS_PER_NODE");
    bool in_step = recording_field(recording, "env.SLURM_STEP_ID") != NULL;

    if (in_step)
        out->requested_cpus = per_task > 0 ? per_task : (tasks == 1 ? on_node : 0);
    else
        out->requested_cpus = on_node > 0 ? on_node : per_task;
    out->requested_bytes = past_run_slurm_memory(recording_text(recording, "env.SLURM_MEM_PER_NODE"));
    if (in_step && tasks > 1)
        out->requested_bytes /= tasks;
    if (out->requested_bytes == 0) /* 0 is "all of the node" */
        out->requested_bytes =
            past_run_slurm_memory(recording_text(recording, "env.SLURM_MEM_PER_CPU")) * out->requested_cpus;
    out->requested_seconds = start > 0 && end > start
                                 ? end - start
                                 : past_run_slurm_time(recording_text(recording, "env.SLURM_TIMELIMIT"));
}

/* Whether the time that was requested had passed when it ended, give or take the grace that schedulers leave
 * between their first signal and the last. */
static bool time_was_up(const struct recording *recording, const struct past_run *run)
{
    static const double grace_seconds = 90, nearly = 0.95;
    double job_end = leading_number(recording, "env.SLURM_JOB_END_TIME");

    if (run->requested_seconds <= 0 || run->wall_seconds < 0)
        return false;
    if (run->wall_seconds >= nearly * run->requested_seconds)
        return true;
    return job_end > 0 && recording->start_wall > 0 && run->requested_seconds > 10 * grace_seconds &&
           recording->start_wall + run->wall_seconds >= job_end - grace_seconds;
}

static bool mentions(const char *text, const char *words)
{
    return text && strstr(text, words);
}

/* A kill "in its group" may have been of somebody else's process. */
static bool is_out_of_memory(const char *cause, double exit_code)
{
    return mentions(cause, "OOM killer") && !(exit_code == 0 && mentions(cause, "in its group"));
}

/* 126 and 127 are of a shell as well, whose command then was seen. */
static bool is_not_started(const struct recording *recording, double exit_code)
{
    double samples;

    return (exit_code == 126 || exit_code == 127) && !recording_field(recording, "peak_memory") &&
           !(recording_number(recording, "num_samples", &samples) && samples > 0);
}

static enum past_end how_it_ended(const struct recording *recording, const struct past_run *run)
{
    const char *cause = recording_text(recording, "cause");
    double exit_code, signal;

    if (recording->status == RECORDING_RUNNING)
        return PAST_RUNNING;
    if (recording->status == RECORDING_LOST)
        return PAST_LOST;
    if (!recording_number(recording, "exit_code", &exit_code))
        return PAST_UNKNOWN;
    if (is_out_of_memory(cause, exit_code))
        return PAST_OUT_OF_MEMORY;
    if (exit_code == 0)
        return PAST_SUCCEEDED;
    if (is_not_started(recording, exit_code))
        return PAST_NOT_STARTED;
    /* con-duct has a signal as a negative exit code; a shell as 128 more. */
    bool by_signal = recording_number(recording, "signal", &signal) || exit_code < 0 ||
                     (exit_code > 128 && exit_code <= 128 + 64);
    if ((by_signal || mentions(cause, "ended through metron")) && time_was_up(recording, run))
        return PAST_OUT_OF_TIME;
    return by_signal ? PAST_SIGNALLED : PAST_FAILED;
}

/* What is beyond any machine's reach is damage, not a measurement. */
static double measured(const struct recording *recording, const char *name)
{
    static const double beyond = 1e18;
    double value;

    return recording_number(recording, name, &value) && value >= 0 && value < beyond ? value : -1;
}

static const char *kept(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

/* "/opt/bin/sort -n x" -> "sort"; a program whose name had to be quoted is named with its quotes. */
static const char *program_of(struct arena *arena, const char *command)
{
    static const size_t longest = 64;

    if (!command || !command[0])
        return NULL;
    size_t length = command[0] == '\'' ? 1 + strcspn(command + 1, "\'") + 1 : strcspn(command, " ");
    if (command[0] != '\'')
        for (size_t i = length; i-- > 0;)
            if (command[i] == '/' && i + 1 < length) {
                command += i + 1;
                length -= i + 1;
                break;
            }
    return arena_printf(arena, "%.*s", (int)(length < longest ? length : longest), command);
}

/* The kernel keeps some peaks itself; the peak of what is only looked at now and then has the statistic in
 * its name: "proc_peak_rss_total", con-duct's "peak_rss". */
static bool is_sampled(const struct recorded_field *memory)
{
    return mentions(memory->source, "_peak_") ||
           (memory->source && strncmp(memory->source, "peak_", strlen("peak_")) == 0) ||
           (memory->note && strcmp(memory->note, "sampled") == 0);
}

/* Of the run itself: how others on the machine waited says nothing of it. */
static double cpu_wait_of(const struct recording *recording)
{
    double share = measured(recording, "stall.cpu.share");

    return share <= 1 && !recording_field(recording, "stall.cpu.note") ? share : -1;
}

void past_run_read(const struct recording *recording, struct arena *arena, struct past_run *out)
{
    const struct recorded_field *memory = recording_field(recording, "peak_memory");

    *out = (struct past_run){
        .memory_bytes = measured(recording, "peak_memory"),
        .cpu_seconds = measured(recording, "cpu_seconds"),
        .wall_seconds = measured(recording, "wall"),
        .cpu_wait = cpu_wait_of(recording),
        .start_wall = recording->start_wall,
        .job = kept(arena, recording_text(recording, "job")),
        .batch = kept(arena, recording_text(recording, "env.SLURM_JOB_ID")),
    };
    if (memory) {
        out->memory_source = kept(arena, memory->source);
        out->memory_note = kept(arena, memory->note);
        out->memory_sampled = is_sampled(memory);
        out->memory_of_one = mentions(memory->note, "several may have held more");
    }
    out->program = program_of(arena, recording_text(recording, "command"));
    read_requests(recording, out);
    out->end = how_it_ended(recording, out);
    /* Where the host itself had none left, the run's own limit was not what it met. */
    if (out->end == PAST_OUT_OF_MEMORY && mentions(recording_text(recording, "cause"), "limit") &&
        !mentions(recording_text(recording, "cause"), "cannot be seen"))
        out->memory_limit_bytes = fmax(0, measured(recording, "system.may_use.memory"));
}
