#include "view/suggestion/lines.h"

#include <math.h>

#include "base/units.h"

/* Slurm's M and Nextflow's MB are 2^20 bytes; Snakemake's mb is 10^6, and its runtime minutes. */
static double mebibytes(const struct suggestion *suggestion)
{
    return ceil(suggestion->memory.value / MEBIBYTE);
}

static double minutes(const struct suggestion *suggestion)
{
    return ceil(suggestion->wall.value / 60);
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
    size_t tasks = suggestion->together.runs;
    double cpus = suggestion->cpus.has ? suggestion->cpus.value : 1; /* Slurm gives each task one */

    if (tasks > 1)
        strbuf_addf(out, "#SBATCH --ntasks=%zu\n", tasks);
    if (suggestion->memory.has && tasks > 1)
        strbuf_addf(out, "#SBATCH --mem-per-cpu=%.0fM\n", ceil(mebibytes(suggestion) / cpus));
    else if (suggestion->memory.has)
        strbuf_addf(out, "#SBATCH --mem=%.0fM\n", mebibytes(suggestion));
    if (suggestion->cpus.has)
        strbuf_addf(out, "#SBATCH --cpus-per-task=%.0f\n", cpus);
    if (suggestion->wall.has)
        slurm_time(out, minutes(suggestion));
}

static void nextflow(struct strbuf *out, const struct suggestion *suggestion)
{
    strbuf_adds(out, "process {\n");
    if (suggestion->memory.has)
        strbuf_addf(out, "    memory = '%.0f MB'\n", mebibytes(suggestion));
    if (suggestion->cpus.has)
        strbuf_addf(out, "    cpus = %.0f\n", suggestion->cpus.value);
    if (suggestion->wall.has)
        strbuf_addf(out, "    time = '%.0f min'\n", minutes(suggestion));
    strbuf_adds(out, "}\n");
}

static void snakemake(struct strbuf *out, const struct suggestion *suggestion)
{
    if (suggestion->cpus.has)
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
    if (!suggestion->memory.has && !suggestion->cpus.has)
        return;
    strbuf_adds(out, "resources:\n  requests:\n");
    if (suggestion->cpus.has)
        strbuf_addf(out, "    cpu: \"%.0f\"\n", suggestion->cpus.value);
    if (suggestion->memory.has)
        strbuf_addf(out, "    memory: %.0fMi\n  limits:\n    memory: %.0fMi\n", mebibytes(suggestion),
                    mebibytes(suggestion));
}

void suggestion_lines(struct strbuf *out, const struct suggestion *suggestion,
                      enum suggestion_consumer consumer)
{
    static void (*const writers[])(struct strbuf *, const struct suggestion *) = {
        [SUGGESTION_FOR_SLURM] = slurm,
        [SUGGESTION_FOR_NEXTFLOW] = nextflow,
        [SUGGESTION_FOR_SNAKEMAKE] = snakemake,
        [SUGGESTION_FOR_K8S] = kubernetes,
    };

    if (consumer != SUGGESTION_FOR_PEOPLE)
        writers[consumer](out, suggestion);
}

const char *suggestion_comment(enum suggestion_consumer consumer)
{
    switch (consumer) {
    case SUGGESTION_FOR_PEOPLE:
        return "";
    case SUGGESTION_FOR_NEXTFLOW:
        return "// ";
    case SUGGESTION_FOR_SLURM:
    case SUGGESTION_FOR_SNAKEMAKE:
    case SUGGESTION_FOR_K8S:
        return "# ";
    }
    return "";
}
