#include "learn/past_run.h"

#include <math.h>
#include <string.h>

#include "learn/requested.h"
#include "learn/work.h"

const char *const past_run_fields[] = {
    "status",
    "exit_code",
    "signal",
    "outcome.kind",
    "outcome.oom_victim",
    "outcome.limit_of",
    "outcome.time_limit.source",
    "outcome.ended_by_metron",
    "command",
    "peak_memory",
    "cpu_seconds",
    "wall",
    "attached.children",
    "stall.cpu.share",
    "stall.cpu.of",
    "cgroup_cpu_throttled_seconds",
    "sys_ave_cpu_pct",
    "system.cpu_total",
    "proc_peak_pdcpu_total",
    "job",
    "system.may_use.memory",
    "env.SLURM_JOB_ID",
    "env.SLURM_MEM_PER_NODE",
    "env.SLURM_MEM_PER_CPU",
    "env.SLURM_CPUS_PER_TASK",
    "env.SLURM_CPUS_ON_NODE",
    "env.SLURM_STEP_ID",
    "env.SLURM_STEP_TASKS_PER_NODE",
    "env.SLURM_JOB_START_TIME",
    "env.SLURM_JOB_END_TIME",
    "env.SLURM_TIMELIMIT",
    "env.PBS_JOBID",
    "env.PBS_NUM_NODES",
    "env.PBS_NUM_PPN",
    "env.PBS_NP",
    "env.PBS_WALLTIME",
    "env.LSB_JOBID",
    "env.LSB_JOBINDEX",
    "env.LSB_MCPU_HOSTS",
    "env.SGE_TASK_ID",
    "env.JOB_ID",
    "env.NSLOTS",
    "env.NHOSTS",
    NULL,
};

/* Whether the time that was requested had passed when it ended, give or take the grace that schedulers leave
 * between their first signal and the last. */
static bool time_was_up(const struct recording *recording, const struct past_run *run, double job_end)
{
    static const double grace_seconds = 90, nearly = 0.95;

    if (run->requested_seconds <= 0 || isnan(run->wall_seconds))
        return false;
    if (run->wall_seconds >= nearly * run->requested_seconds)
        return true;
    return job_end > 0 && recording->start_wall > 0 && run->requested_seconds > 10 * grace_seconds &&
           recording->start_wall + run->wall_seconds >= job_end - grace_seconds;
}

static enum past_end how_it_ended(const struct recording *recording, const struct past_run *run,
                                  double job_end)
{
    bool is_out_of_memory = recording_met_oom_killer(recording);
    const char *kind = recording_text(recording, "outcome.kind");
    double exit_code, signal;

    if (recording->status == RECORDING_RUNNING)
        return PAST_RUNNING;
    if (recording->status == RECORDING_LOST)
        return PAST_LOST;
    if (recording_field(recording, "attached.children") && !is_out_of_memory)
        return PAST_ATTACHED;
    if (!recording_number(recording, "exit_code", &exit_code))
        return PAST_UNKNOWN;
    if (is_out_of_memory)
        return PAST_OUT_OF_MEMORY;
    if (exit_code == 0)
        return PAST_SUCCEEDED;
    if (kind && strcmp(kind, "not_started") == 0)
        return PAST_NOT_STARTED;
    if (recording_met_time_limit(recording))
        return PAST_OUT_OF_TIME;
    /* con-duct has a signal as a negative exit code; a shell as 128 more. */
    bool by_signal = recording_number(recording, "signal", &signal) || exit_code < 0 ||
                     (exit_code > 128 && exit_code <= 128 + 64);
    if ((by_signal || recording_field(recording, "outcome.ended_by_metron")) &&
        time_was_up(recording, run, job_end))
        return PAST_OUT_OF_TIME;
    return by_signal ? PAST_SIGNALLED : PAST_FAILED;
}

/* What is beyond any machine's reach is damage, not a measurement. */
static double measured(const struct recording *recording, const char *name)
{
    static const double beyond = 1e18;
    double value;

    return recording_number(recording, name, &value) && value >= 0 && value < beyond ? value : NAN;
}

static const char *kept(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

/* The kernel keeps some peaks itself; the peak of what is only looked at now and then has the statistic in
 * its name: "proc_peak_rss_total", con-duct's "peak_rss". */
static bool is_sampled(const struct recorded_field *memory)
{
    return memory->source &&
           (strstr(memory->source, "_peak_") || strncmp(memory->source, "peak_", strlen("peak_")) == 0);
}

static void take_parallelism(const struct recording *recording, struct past_run *out)
{
    struct parallelism parallelism;

    double most = measured(recording, "proc_peak_pdcpu_total") / 100;

    out->cpus = out->burst = NAN;
    if (parallelism_read(recording, &parallelism) == 0 && parallelism.records > 0) {
        out->cpus = (double)parallelism_enough(&parallelism);
        if (parallelism_hides_bursts(&parallelism, most))
            out->burst = most;
        for (size_t cores = 0; cores <= parallelism_most(&parallelism); cores++)
            out->busy[parallelism_group(cores)] += parallelism_busy(&parallelism, cores);
    }
    parallelism_fini(&parallelism);
}

void past_run_read(const struct recording *recording, struct arena *arena, struct past_run *out)
{
    const struct recorded_field *memory = recording_field(recording, "peak_memory");
    struct requested requested;

    requested_read(recording, arena, &requested);
    *out = (struct past_run){
        .memory_bytes = measured(recording, "peak_memory"),
        .cpu_seconds = measured(recording, "cpu_seconds"),
        .wall_seconds = measured(recording, "wall"),
        .shortage = cpu_shortage_of(recording),
        .start_wall = recording->start_wall,
        .job = kept(arena, recording_text(recording, "job")),
        .batch = requested.job,
        .requested_bytes = requested.bytes,
        .requested_cpus = requested.cpus,
        .requested_seconds = requested.seconds,
    };
    if (memory) {
        out->memory_source = kept(arena, memory->source);
        out->memory_note = kept(arena, memory->note);
        out->memory_sampled = is_sampled(memory);
        out->memory_bound = memory->bound;
        /* The marks that the kernel keeps are of one process each. */
        out->memory_of_one = memory->bound == BOUND_LOWER && !out->memory_sampled;
    }
    take_parallelism(recording, out);
    out->work = work_name(arena, recording_text(recording, "command"));
    out->end = how_it_ended(recording, out, requested.end_wall);
    /* Where the host itself had none left, the run's own limit was not what it met. */
    if (out->end == PAST_OUT_OF_MEMORY && recording_met_limit(recording))
        out->memory_limit_bytes = fmax(0, measured(recording, "system.may_use.memory"));
}
