/*
 * A Snakemake benchmark file: a header and one row, tabs between them, as Snakemake's own benchmark.py writes
 * it. Memory and I/O are in MiB, max_* the largest sum over the tree (max_rss at least the highest mark of a
 * single process, which no sample can miss), mean_load 100 x CPU seconds / wall
 * time, numbers with two digits after the point, `NA` for what was not measured.
 */
#include <math.h>

#include "base/units.h"
#include "publish/export_values.h"

static void add_fixed(struct strbuf *out, bool has, double value)
{
    if (has && isfinite(value))
        strbuf_addf(out, "%.2f", value);
    else
        strbuf_adds(out, "NA");
}

static void add_mebibytes(struct strbuf *out, bool has, double bytes)
{
    add_fixed(out, has, bytes / MEBIBYTE);
    strbuf_addc(out, '\t');
}

static void add_found(const struct export *export, struct strbuf *out, const char *const *names)
{
    double value = 0;
    bool has = export_find(export, names, &value, NULL);

    add_mebibytes(out, has, value);
}

/* "1:02:03", "2 days, 1:02:03": whole seconds, cut off. */
static void add_clock(struct strbuf *out, bool has, double seconds)
{
    if (!has || !isfinite(seconds) || seconds < 0 || seconds > 1e12) {
        strbuf_adds(out, "NA\t");
        return;
    }
    long long whole = (long long)seconds;
    long long days = whole / 86400, rest = whole % 86400;
    if (days > 0)
        strbuf_addf(out, "%lld day%s, ", days, days == 1 ? "" : "s");
    strbuf_addf(out, "%lld:%02lld:%02lld\t", rest / 3600, rest / 60 % 60, rest % 60);
}

static int snakemake_end(struct export *export)
{
    static const char *const uss[] = {"smaps_peak_uss_total", NULL};
    static const char *const pss[] = {"smaps_peak_pss_total", NULL};
    struct strbuf *out = &export->out;
    double wall = 0, load = 0, seconds = 0, resident = 0;
    bool has_wall = export_wall(export, &wall), has_load = export_mean_cpu(export, &load);
    bool has_resident = export_peak_resident(export, &resident);
    bool has_seconds = export_cpu_seconds(export, &seconds, NULL);

    strbuf_adds(out, "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n");
    add_fixed(out, has_wall, wall);
    strbuf_addc(out, '\t');
    add_clock(out, has_wall, wall);
    add_mebibytes(out, has_resident, resident);
    add_found(export, out, export_peak_vsz);
    add_found(export, out, uss);
    add_found(export, out, pss);
    add_found(export, out, export_read_bytes);
    add_found(export, out, export_write_bytes);
    add_fixed(out, has_load, load);
    strbuf_addc(out, '\t');
    add_fixed(out, has_seconds, seconds);
    strbuf_addc(out, '\n');
    return 0;
}

const struct exporter exporter_snakemake = {.name = "snakemake", .reduces = true, .end = snakemake_end};
