#include "view/suggestion/lines.h"

#include <math.h>

#include "base/units.h"

/* Slurm's M, PBS's mb, LSF's MB, Grid Engine's M and Nextflow's MB are 2^20 bytes; Snakemake's mb is 10^6,
 * and its runtime minutes. */
static double mebibytes(const struct suggestion *suggestion)
{
    return ceil(suggestion->memory.value / MEBIBYTE);
}

static double minutes(const struct suggestion *suggestion)
{
    return ceil(suggestion->wall.value / 60);
}

/* HH:MM:SS, of more than a day too. */
static void add_hours(struct strbuf *out, const struct suggestion *suggestion)
{
    long long left = (long long)minutes(suggestion);

    strbuf_addf(out, "%02lld:%02lld:00", left / 60, left % 60);
}

static double ranks(const struct suggestion *suggestion)
{
    return suggestion->together.runs > 1 ? (double)suggestion->together.runs : 1;
}

/* A lower bound is no request: the run may need all that it had. */
static bool has_cpus(const struct suggestion *suggestion)
{
    return suggestion->cpus.has && !suggestion->cpus_are_lower_bound;
}

/* Of one run; schedulers give it one. */
static double cpus(const struct suggestion *suggestion)
{
    return has_cpus(suggestion) ? suggestion->cpus.value : 1;
}

/* --time=D-HH:MM:SS, days only where there are any. */
static void slurm_time(struct strbuf *out, double all_minutes)
{
    long long left = (long long)all_minutes;
    long long days = left / 1440, hours = left / 60 % 24;

    strbuf_adds(out, "#SBATCH --time=");
    if (days)
        strbuf_addf(out, "%lld-", days);
    strbuf_addf(out, "%02lld:%02lld:00\n", hours, left % 60);
}

/* --mem is for all tasks on a node, and how many will be there is not known: ranks get theirs by the CPU. */
static void slurm(struct strbuf *out, const struct suggestion *suggestion)
{
    if (ranks(suggestion) > 1)
        strbuf_addf(out, "#SBATCH --ntasks=%.0f\n", ranks(suggestion));
    if (suggestion->memory.has && ranks(suggestion) > 1)
        strbuf_addf(out, "#SBATCH --mem-per-cpu=%.0fM\n", ceil(mebibytes(suggestion) / cpus(suggestion)));
    else if (suggestion->memory.has)
        strbuf_addf(out, "#SBATCH --mem=%.0fM\n", mebibytes(suggestion));
    if (has_cpus(suggestion))
        strbuf_addf(out, "#SBATCH --cpus-per-task=%.0f\n", cpus(suggestion));
    if (suggestion->wall.has)
        slurm_time(out, minutes(suggestion));
}

/* A chunk for each rank. */
static void pbs(struct strbuf *out, const struct suggestion *suggestion)
{
    strbuf_addf(out, "#PBS -l select=%.0f", ranks(suggestion));
    if (has_cpus(suggestion))
        strbuf_addf(out, ":ncpus=%.0f", cpus(suggestion));
    if (suggestion->memory.has)
        strbuf_addf(out, ":mem=%.0fmb", mebibytes(suggestion));
    strbuf_adds(out, ranks(suggestion) > 1 ? ":mpiprocs=1\n" : "\n");
    if (suggestion->wall.has) {
        strbuf_adds(out, "#PBS -l walltime=");
        add_hours(out, suggestion);
        strbuf_addc(out, '\n');
    }
}

/* Memory is reserved for the job on each of its hosts: ranks are kept on one, so that it is for all. */
static void lsf(struct strbuf *out, const struct suggestion *suggestion)
{
    double memory = ranks(suggestion) * mebibytes(suggestion);
    long long left = (long long)minutes(suggestion);

    strbuf_addf(out, "#BSUB -n %.0f\n", ranks(suggestion) * cpus(suggestion));
    strbuf_adds(out, "#BSUB -R \"span[hosts=1]");
    if (suggestion->memory.has)
        strbuf_addf(out, " rusage[mem=%.0fMB]\"\n#BSUB -M %.0fMB\n", memory, memory);
    else
        strbuf_adds(out, "\"\n");
    if (suggestion->wall.has)
        strbuf_addf(out, "#BSUB -W %lld:%02lld\n", left / 60, left % 60);
}

/* h_vmem is for each slot, and a slot is a CPU. */
static void grid_engine(struct strbuf *out, const struct suggestion *suggestion)
{
    double slots = ranks(suggestion) * cpus(suggestion);

    if (slots > 1)
        strbuf_addf(out, "#$ -pe smp %.0f\n", slots);
    if (suggestion->memory.has)
        strbuf_addf(out, "#$ -l h_vmem=%.0fM\n", ceil(mebibytes(suggestion) / cpus(suggestion)));
    if (suggestion->wall.has) {
        strbuf_adds(out, "#$ -l h_rt=");
        add_hours(out, suggestion);
        strbuf_addc(out, '\n');
    }
}

static void nextflow(struct strbuf *out, const struct suggestion *suggestion)
{
    strbuf_adds(out, "process {\n");
    if (suggestion->memory.has)
        strbuf_addf(out, "    memory = '%.0f MB'\n", mebibytes(suggestion));
    if (has_cpus(suggestion))
        strbuf_addf(out, "    cpus = %.0f\n", suggestion->cpus.value);
    if (suggestion->wall.has)
        strbuf_addf(out, "    time = '%.0f min'\n", minutes(suggestion));
    strbuf_adds(out, "}\n");
}

static void snakemake(struct strbuf *out, const struct suggestion *suggestion)
{
    if (has_cpus(suggestion))
        strbuf_addf(out, "    threads: %.0f\n", suggestion->cpus.value);
    if (!suggestion->memory.has && !suggestion->wall.has)
        return;
    strbuf_adds(out, "    resources:\n");
    if (suggestion->memory.has)
        strbuf_addf(out, "        mem_mb=%.0f%s\n", ceil(suggestion->memory.value / 1e6),
                    suggestion->wall.has ? "," : "");
    if (suggestion->wall.has)
        strbuf_addf(out, "        runtime=%.0f\n", minutes(suggestion));
}

/* No limit on CPU: it would throttle what a request already makes room for. */
static void kubernetes(struct strbuf *out, const struct suggestion *suggestion)
{
    if (suggestion->wall.has)
        strbuf_addf(out, "# in the spec of the Job: activeDeadlineSeconds: %.0f\n", 60 * minutes(suggestion));
    if (!suggestion->memory.has && !has_cpus(suggestion))
        return;
    strbuf_adds(out, "resources:\n  requests:\n");
    if (has_cpus(suggestion))
        strbuf_addf(out, "    cpu: \"%.0f\"\n", suggestion->cpus.value);
    if (suggestion->memory.has)
        strbuf_addf(out, "    memory: %.0fMi\n  limits:\n    memory: %.0fMi\n", mebibytes(suggestion),
                    mebibytes(suggestion));
}

void suggestion_lines(struct strbuf *out, const struct suggestion *suggestion,
                      enum suggestion_consumer consumer)
{
    static void (*const writers[])(struct strbuf *, const struct suggestion *) = {
        [SUGGESTION_FOR_SLURM] = slurm,       [SUGGESTION_FOR_PBS] = pbs,
        [SUGGESTION_FOR_LSF] = lsf,           [SUGGESTION_FOR_SGE] = grid_engine,
        [SUGGESTION_FOR_NEXTFLOW] = nextflow, [SUGGESTION_FOR_SNAKEMAKE] = snakemake,
        [SUGGESTION_FOR_K8S] = kubernetes,
    };

    if (consumer != SUGGESTION_FOR_PEOPLE)
        writers[consumer](out, suggestion);
}

/* Torque has no select: all of the job is on one node, with its ranks. */
static void pbs_assumptions(struct strbuf *out, const struct suggestion *suggestion)
{
    strbuf_addf(out, "these lines are for PBS Pro and OpenPBS; Torque takes instead: -l nodes=1:ppn=%.0f",
                ranks(suggestion) * cpus(suggestion));
    if (suggestion->memory.has)
        strbuf_addf(out, ",mem=%.0fmb", ranks(suggestion) * mebibytes(suggestion));
    if (suggestion->wall.has) {
        strbuf_adds(out, ",walltime=");
        add_hours(out, suggestion);
    }
    strbuf_addc(out, '\n');
}

static void lsf_assumptions(struct strbuf *out, const struct suggestion *suggestion)
{
    if (ranks(suggestion) > 1)
        strbuf_adds(out, "all ranks are on one host; on several, leave span out and reserve the memory of "
                         "those on each host\n");
    if (!suggestion->memory.has)
        return;
    strbuf_adds(out,
                "memory with a unit needs LSF 10.1.0.2 or newer; older ones take a number in the unit of "
                "LSF_UNIT_FOR_LIMITS (lsf.conf), which is KB for -M and MB for mem where it is not set\n"
                "mem is reserved for the whole job on its host; where your site reserves it for each task "
                "(RESOURCE_RESERVE_PER_TASK=Y), divide it by the number after -n\n");
}

static void grid_engine_assumptions(struct strbuf *out, const struct suggestion *suggestion)
{
    if (ranks(suggestion) * cpus(suggestion) > 1)
        strbuf_adds(out,
                    "smp stands for your site's parallel environment of one host: qconf -spl lists them\n");
    if (suggestion->memory.has)
        strbuf_adds(out,
                    "h_vmem is for each slot, and limits the address space, which is larger than the memory "
                    "held: if it does not suffice, request more, or what your site has for memory "
                    "(mem_free, m_mem_free)\n");
}

void suggestion_assumptions(struct strbuf *out, const struct suggestion *suggestion,
                            enum suggestion_consumer consumer)
{
    if (consumer == SUGGESTION_FOR_PBS)
        pbs_assumptions(out, suggestion);
    else if (consumer == SUGGESTION_FOR_LSF)
        lsf_assumptions(out, suggestion);
    else if (consumer == SUGGESTION_FOR_SGE)
        grid_engine_assumptions(out, suggestion);
}

const char *suggestion_comment(enum suggestion_consumer consumer)
{
    switch (consumer) {
    case SUGGESTION_FOR_PEOPLE:
        return "";
    case SUGGESTION_FOR_NEXTFLOW:
        return "// ";
    case SUGGESTION_FOR_SLURM:
    case SUGGESTION_FOR_PBS:
    case SUGGESTION_FOR_LSF:
    case SUGGESTION_FOR_SGE:
    case SUGGESTION_FOR_SNAKEMAKE:
    case SUGGESTION_FOR_K8S:
        return "# ";
    }
    return "";
}
