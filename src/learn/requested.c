/*
 * Slurm's variables tell all. In a step (srun) each run is one task; in the batch script itself it has all
 * that the job has on its node:
 *
 *   memory  SLURM_MEM_PER_NODE, shared by the tasks of a step; or SLURM_MEM_PER_CPU for each CPU
 *   CPUs    SLURM_CPUS_PER_TASK in a step, SLURM_CPUS_ON_NODE outside
 *   time    SLURM_JOB_END_TIME less SLURM_JOB_START_TIME (Slurm 22.05 and later), or SLURM_TIMELIMIT
 *
 * Torque's tell the CPUs (PBS_NUM_PPN) and the time (PBS_WALLTIME, seconds) of a job on one node; of a job on
 * several nodes nobody knows which part of it this run was. LSF's tell the CPUs
 * (LSB_MCPU_HOSTS), Grid Engine's too (NSLOTS), of a job on one host.
 *
 * Left out are variables whose meaning differs from site to site or from job to job: PBS_RESC_MEM and
 * PBS_NCPUS, which some sites add to PBS (one in bytes, others with a unit); NCPUS of PBS Pro, which is the
 * number of threads where one was requested; and LSB_CG_MEMLIMIT, which is of the job here and of each of its
 * slots there. PBS Pro has nothing else.
 */
#include "learn/requested.h"

#include <string.h>

#include "base/units.h"

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

double requested_slurm_memory(const char *text)
{
    static const char letters[] = "KMGT";
    const char *end;

    if (!text)
        return 0;
    double value = whole_number(text, &end), unit = MEBIBYTE;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    if (letter) {
        unit = 1024;
        for (const char *at = letters; at < letter; at++)
            unit *= 1024;
        end++;
    }
    return *end == '\0' ? value * unit : 0;
}

double requested_slurm_time(const char *text)
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

static void read_slurm(const struct recording *recording, struct requested *out)
{
    double start = leading_number(recording, "env.SLURM_JOB_START_TIME");
    double end = leading_number(recording, "env.SLURM_JOB_END_TIME");
    double per_task = leading_number(recording, "env.SLURM_CPUS_PER_TASK");
    double on_node = leading_number(recording, "env.SLURM_CPUS_ON_NODE");
    double tasks = leading_number(recording, "env.SLURM_STEP_TASKS_PER_NODE");
    bool in_step = recording_field(recording, "env.SLURM_STEP_ID") != NULL;

    if (in_step)
        out->cpus = per_task > 0 ? per_task : (tasks == 1 ? on_node : 0);
    else
        out->cpus = on_node > 0 ? on_node : per_task;
    out->bytes = requested_slurm_memory(recording_text(recording, "env.SLURM_MEM_PER_NODE"));
    if (in_step && tasks > 1)
        out->bytes /= tasks;
    if (out->bytes == 0) /* 0 is "all of the node" */
        out->bytes = requested_slurm_memory(recording_text(recording, "env.SLURM_MEM_PER_CPU")) * out->cpus;
    out->seconds = start > 0 && end > start
                       ? end - start
                       : requested_slurm_time(recording_text(recording, "env.SLURM_TIMELIMIT"));
    out->end_wall = end;
}

/* Nodes and processors per node are 1 each where the job asked in another way ("procs=8"): then they do not
 * make up PBS_NP. */
static void read_torque(const struct recording *recording, struct requested *out)
{
    double nodes = leading_number(recording, "env.PBS_NUM_NODES");
    double per_node = leading_number(recording, "env.PBS_NUM_PPN");
    double all = leading_number(recording, "env.PBS_NP");

    if (nodes == 1 && (all == 0 || all == per_node))
        out->cpus = per_node;
    out->seconds = leading_number(recording, "env.PBS_WALLTIME");
}

double requested_lsf_cpus(const char *text)
{
    const char *end;

    if (!text)
        return 0;
    text += strspn(text, " ");
    text += strcspn(text, " "); /* the host */
    text += strspn(text, " ");
    double slots = whole_number(text, &end);
    return end > text && end[strspn(end, " ")] == '\0' ? slots : 0;
}

/* SGE_TASK_ID is there in every job of Grid Engine ("undefined" outside arrays); the other names are
 * anybody's. */
static bool is_of_grid_engine(const struct recording *recording)
{
    return recording_field(recording, "env.SGE_TASK_ID") != NULL;
}

static void read_grid_engine(const struct recording *recording, struct requested *out)
{
    if (is_of_grid_engine(recording) && leading_number(recording, "env.NHOSTS") == 1)
        out->cpus = leading_number(recording, "env.NSLOTS");
}

/* "4711", of an element of an array "4711.3" */
static const char *grid_engine_job(const struct recording *recording, struct arena *arena)
{
    const char *job = recording_text(recording, "env.JOB_ID");
    double element = leading_number(recording, "env.SGE_TASK_ID");

    if (!job || !is_of_grid_engine(recording))
        return NULL;
    return element > 0 ? arena_printf(arena, "%s.%.0f", job, element) : arena_strdup(arena, job);
}

/* The number of a job; the elements of LSF's arrays share one. */
static const char *job_of(const struct recording *recording, struct arena *arena)
{
    static const char *const names[] = {"env.SLURM_JOB_ID", "env.PBS_JOBID", "env.LSB_JOBID"};
    const char *index = recording_text(recording, "env.LSB_JOBINDEX");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *job = recording_text(recording, names[i]);
        if (job && i == 2 && index)
            return arena_printf(arena, "%s[%s]", job, index);
        if (job)
            return arena_strdup(arena, job);
    }
    return grid_engine_job(recording, arena);
}

static bool is_known(const struct requested *requested)
{
    return requested->bytes > 0 || requested->cpus > 0 || requested->seconds > 0;
}

void requested_read(const struct recording *recording, struct arena *arena, struct requested *out)
{
    *out = (struct requested){.job = job_of(recording, arena)};
    read_slurm(recording, out);
    if (!is_known(out))
        read_torque(recording, out);
    if (!is_known(out))
        out->cpus = requested_lsf_cpus(recording_text(recording, "env.LSB_MCPU_HOSTS"));
    if (!is_known(out))
        read_grid_engine(recording, out);
}
