/*
 * What processes read and wrote: /proc/PID/io. The kernel's file of a process includes its waited-for
 * children, so the total of the tree is the ledger's: living + reaped, nothing lost when a process ends,
 * nothing counted twice. The tree reads the file, in the same pass as stat, because the ledger depends on the
 * order.
 */
#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "probe/breakage.h"
#include "probe/pid/files.h"

enum {
    READ_BYTES,
    WRITE_BYTES,
    RCHAR,
    WCHAR,
    SYSCR,
    SYSCW,
    BLOCKED_SECONDS,
    TREE_READ_BYTES,
    TREE_WRITE_BYTES,
    TREE_RCHAR,
    TREE_WCHAR,
    TREE_SYSCR,
    TREE_SYSCW,
    FIELD_COUNT
};

static const char *const fields[FIELD_COUNT] = {
    [READ_BYTES] = "io.read_bytes",
    [WRITE_BYTES] = "io.write_bytes",
    [RCHAR] = "io.rchar",
    [WCHAR] = "io.wchar",
    [SYSCR] = "io.syscr",
    [SYSCW] = "io.syscw",
    [BLOCKED_SECONDS] = "stat.delayacct_blkio_ticks",
    [TREE_READ_BYTES] = "ledger: living + reaped",
    [TREE_WRITE_BYTES] = "ledger: living + reaped",
    [TREE_RCHAR] = "ledger: living + reaped",
    [TREE_WCHAR] = "ledger: living + reaped",
    [TREE_SYSCR] = "ledger: living + reaped",
    [TREE_SYSCW] = "ledger: living + reaped",
};

#define OWN(KEY, TOPIC, FIELD, UNIT, MEANING, ...)                                                           \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_PER_PID, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST_IO, MEANING,        \
                __VA_ARGS__)
#define TOTAL(KEY, TOPIC, FIELD, UNIT, MEANING)                                                              \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST_IO, MEANING)
#define RATE(KEY, TOPIC, SCOPE, FIELD, UNIT, COST, MEANING)                                                  \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE, TYPE_COUNTER, UNIT, REDUCE_MAX, COST, MEANING,                     \
                .derive = DERIVE_RATE)

static const struct measurement measurements[] = {
    OWN("io_read_bytes", TOPIC_IO_READ, READ_BYTES, UNIT_BYTES,
        "bytes fetched from storage by the process and the children it waited for",
        COLUMN("read_bytes", "read_bytes")),
    TOTAL("io_read_bytes_total", TOPIC_IO_READ, TREE_READ_BYTES, UNIT_BYTES,
          "bytes fetched from storage by the whole tree, conserved like CPU"),
    OWN("io_write_bytes", TOPIC_IO_WRITE, WRITE_BYTES, UNIT_BYTES,
        "bytes sent towards storage by the process and the children it waited for, counted when a page is "
        "dirtied",
        COLUMN("write_bytes", "write_bytes")),
    TOTAL("io_write_bytes_total", TOPIC_IO_WRITE, TREE_WRITE_BYTES, UNIT_BYTES,
          "bytes sent towards storage by the whole tree, conserved like CPU"),
    OWN("io_rchar", TOPIC_IO_READ_CALLS, RCHAR, UNIT_BYTES,
        "bytes that read calls returned, from cache and pipes too, waited-for children included"),
    TOTAL("io_rchar_total", TOPIC_IO_READ_CALLS, TREE_RCHAR, UNIT_BYTES,
          "bytes that read calls of the whole tree returned"),
    OWN("io_wchar", TOPIC_IO_WRITE_CALLS, WCHAR, UNIT_BYTES,
        "bytes handed to write calls, to pipes and terminals too, waited-for children included"),
    TOTAL("io_wchar_total", TOPIC_IO_WRITE_CALLS, TREE_WCHAR, UNIT_BYTES,
          "bytes handed to write calls by the whole tree"),
    OWN("io_syscr", TOPIC_IO_READ_CALLS, SYSCR, UNIT_COUNT, "read calls, waited-for children included"),
    TOTAL("io_syscr_total", TOPIC_IO_READ_CALLS, TREE_SYSCR, UNIT_COUNT, "read calls of the whole tree"),
    OWN("io_syscw", TOPIC_IO_WRITE_CALLS, SYSCW, UNIT_COUNT, "write calls, waited-for children included"),
    TOTAL("io_syscw_total", TOPIC_IO_WRITE_CALLS, TREE_SYSCW, UNIT_COUNT, "write calls of the whole tree"),
    RATE("io_read_rate", TOPIC_IO_READ, SCOPE_PER_PID, READ_BYTES, UNIT_BYTES_PER_SECOND, COST_IO,
         "bytes fetched from storage per second between two samples; jumps when the process waits for a "
         "child, whose I/O it takes over"),
    RATE("io_read_rate_total", TOPIC_IO_READ, SCOPE_SINGLE, TREE_READ_BYTES, UNIT_BYTES_PER_SECOND, COST_IO,
         "bytes fetched from storage per second by the whole tree"),
    RATE("io_write_rate", TOPIC_IO_WRITE, SCOPE_PER_PID, WRITE_BYTES, UNIT_BYTES_PER_SECOND, COST_IO,
         "bytes sent towards storage per second between two samples; jumps when the process waits for a "
         "child, whose I/O it takes over"),
    RATE("io_write_rate_total", TOPIC_IO_WRITE, SCOPE_SINGLE, TREE_WRITE_BYTES, UNIT_BYTES_PER_SECOND,
         COST_IO, "bytes sent towards storage per second by the whole tree"),
    RATE("io_blocked_pct", TOPIC_IO, SCOPE_PER_PID, BLOCKED_SECONDS, UNIT_PERCENT, COST_STAT,
         "time that threads of the process waited for storage, 100 = one thread all the time"),
};

static void survey(const struct collect_context *context, const char *reasons[]);
static int collect(void *state, const struct collect_context *context, struct pass *pass);

const struct collector collector_io = {
    .source = SOURCE("io", "/proc/PID/io, and the waits for storage in /proc/PID/stat"),
    .survey = survey,
    .collect = collect,
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    char path[512], text[256];
    struct pid_io io;

    (void)snprintf(path, sizeof(path), "%s/self/io", context->proc_root);
    ssize_t length = breakage_has("io") ? -EIO : file_read(AT_FDCWD, path, text, sizeof(text));
    if (length <= 0 || pid_io_parse(text, (size_t)length, &io) < 0)
        survey_all(&collector_io.source,
                   length == -ENOENT ? "the kernel has no /proc/PID/io (CONFIG_TASK_IO_ACCOUNTING)"
                                     : "/proc/PID/io cannot be read",
                   reasons);
    reasons[BLOCKED_SECONDS] = NULL;
    if (breakage_has("stat"))
        reasons[BLOCKED_SECONDS] = "/proc/PID/stat cannot be read";
    else if (!context->facts->delay_accounting)
        reasons[BLOCKED_SECONDS] =
            "the kernel does not count delays; sysctl kernel.task_delayacct=1 turns it on";
}

static void read_process(const struct process *process, struct row *row)
{
    const struct pid_io *io = &process->io;

    row_number(row, BLOCKED_SECONDS, (double)process->stat.blocked_ticks / (double)clock_ticks_per_second());
    if (!process->has_io)
        return;
    row_number(row, READ_BYTES, (double)io->read_bytes);
    row_number(row, WRITE_BYTES, (double)io->write_bytes);
    row_number(row, RCHAR, (double)io->rchar);
    row_number(row, WCHAR, (double)io->wchar);
    row_number(row, SYSCR, (double)io->syscr);
    row_number(row, SYSCW, (double)io->syscw);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    static const unsigned char totals[][2] = {
        {TREE_READ_BYTES, LEDGER_READ_BYTES}, {TREE_WRITE_BYTES, LEDGER_WRITE_BYTES},
        {TREE_RCHAR, LEDGER_RCHAR},           {TREE_WCHAR, LEDGER_WCHAR},
        {TREE_SYSCR, LEDGER_SYSCR},           {TREE_SYSCW, LEDGER_SYSCW},
    };
    struct tree *tree = context->tree;
    const uint64_t *counts = tree_ledger(tree)->published.counts;

    (void)state;
    for (size_t i = 0; i < tree_count(tree); i++) {
        const struct process *process = tree_process(tree, i);
        struct row *row = process->fresh ? pass_row(pass, &process->subject) : NULL;
        if (!row)
            continue;
        row->stamp_ns = process->stat_ns;
        read_process(process, row);
    }
    /* Before the command starts there is nobody to read, and nothing was done: a true 0. */
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
        if (tree_has_io(tree) || pass->kind == PASS_SEED)
            row_number(&pass->single, totals[i][0], (double)counts[totals[i][1]]);
    return 0;
}
