/*
 * Every process of the target from /proc/PID, and the target as a whole.
 *
 * stat and the CPU clock were read by tree/ in this pass; what else the selection needs is read here, file by
 * file: a file that nobody selected is not opened, and one that cannot be read costs its own values alone.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "probe/breakage.h"

enum {
    /* of each process */
    RSS,
    VSZ,
    HWM,
    SWAP,
    PMEM,
    CPU_SECONDS,
    ELAPSED,
    STATE,
    COMMAND,
    PPID,
    START_TIME,
    THREADS,
    FDS,
    FD_LIMIT,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    CTX_VOLUNTARY,
    CTX_INVOLUNTARY,
    /* of the target */
    HWM_MAX,
    TREE_CPU_SECONDS,
    TREE_MINOR_FAULTS,
    TREE_MAJOR_FAULTS,
    PROCESSES,
    ZOMBIES,
    SPAWNED,
    EXITED,
    FIELD_COUNT
};

static const char *const fields[FIELD_COUNT] = {
    [RSS] = "statm.resident",
    [VSZ] = "stat.vsize",
    [HWM] = "status.VmHWM",
    [SWAP] = "status.VmSwap",
    [PMEM] = "statm.resident / what the target may use",
    [CPU_SECONDS] = "process CPU clock",
    [ELAPSED] = "now - stat.starttime",
    [STATE] = "stat.state",
    [COMMAND] = "cmdline",
    [PPID] = "stat.ppid",
    [START_TIME] = "stat.starttime",
    [THREADS] = "stat.num_threads",
    [FDS] = "entries of fd/",
    [FD_LIMIT] = "limits: Max open files (soft)",
    [MINOR_FAULTS] = "stat.minflt",
    [MAJOR_FAULTS] = "stat.majflt",
    [CTX_VOLUNTARY] = "task/*/status.voluntary_ctxt_switches",
    [CTX_INVOLUNTARY] = "task/*/status.nonvoluntary_ctxt_switches",
    [HWM_MAX] = "largest status.VmHWM so far",
    [TREE_CPU_SECONDS] = "ledger: living + reaped",
    [TREE_MINOR_FAULTS] = "ledger: living + reaped",
    [TREE_MAJOR_FAULTS] = "ledger: living + reaped",
    [PROCESSES] = "members alive",
    [ZOMBIES] = "members in state Z",
    [SPAWNED] = "members found",
    [EXITED] = "members ended",
};

#define LEVEL(KEY, TOPIC, FIELD, UNIT, COST, MEANING, ...)                                                   \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_PER_PID, TYPE_GAUGE, UNIT, REDUCE_MAX, COST, MEANING, __VA_ARGS__)
#define LEVEL_TOTAL(KEY, TOPIC, FIELD, UNIT, COST, MEANING, ...)                                             \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_GAUGE, UNIT, REDUCE_MAX, COST, MEANING,                \
                .collapse = COLLAPSE_SUM, __VA_ARGS__)
#define COUNT_OWN(KEY, TOPIC, FIELD, COST, MEANING, ...)                                                     \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_PER_PID, TYPE_COUNTER, UNIT_COUNT, REDUCE_DELTA, COST, MEANING,     \
                __VA_ARGS__)
#define COUNT_SINGLE(KEY, TOPIC, FIELD, UNIT, COST, MEANING, ...)                                            \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_COUNTER, UNIT, REDUCE_DELTA, COST, MEANING, __VA_ARGS__)
#define LABEL(KEY, TOPIC, FIELD, COST, MEANING)                                                              \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_PER_PID, TYPE_LABEL, UNIT_NONE, REDUCE_LAST, COST, MEANING)

static const struct measurement measurements[] = {
    LEVEL("proc_rss", TOPIC_MEMORY, RSS, UNIT_BYTES, COST_STATM, "resident memory, shared pages included",
          COLUMN("rss_mb", "rss")),
    LEVEL_TOTAL(
        "proc_rss_total", TOPIC_MEMORY, RSS, UNIT_BYTES, COST_STATM,
        "sum of resident memory over the processes: counts a shared page once per process, an upper bound",
        .bound = BOUND_UPPER),
    LEVEL("proc_vsz", TOPIC_MEMORY_PART, VSZ, UNIT_BYTES, COST_STAT, "virtual memory size",
          COLUMN("vms_mb", "vms")),
    LEVEL_TOTAL("proc_vsz_total", TOPIC_MEMORY_PART, VSZ, UNIT_BYTES, COST_STAT,
                "sum of virtual memory sizes"),
    LEVEL("proc_hwm", TOPIC_MEMORY_MARK, HWM, UNIT_BYTES, COST_STATUS,
          "the kernel's high-water mark of resident memory since exec: a spike between samples is not lost"),
    MEASUREMENT(
        "proc_hwm_max", TOPIC_MEMORY_MARK, HWM_MAX, SCOPE_SINGLE, TYPE_GAUGE, UNIT_BYTES, REDUCE_LAST,
        COST_STATUS,
        "the largest high-water mark of a single process so far, ended ones included; of one that ran "
        "before, what was sampled, until its mark rises",
        .bound = BOUND_LOWER),
    LEVEL("proc_swap", TOPIC_MEMORY_SWAP, SWAP, UNIT_BYTES, COST_STATUS | COST_SYSTEM,
          "memory in swap, without tmpfs and other shared memory", COLUMN("swap_mb", "swap")),
    LEVEL_TOTAL("proc_swap_total", TOPIC_MEMORY_SWAP, SWAP, UNIT_BYTES, COST_STATUS | COST_SYSTEM,
                "sum of proc_swap: a page that several processes share counts in each", .bound = BOUND_UPPER),
    LEVEL(
        "proc_pmem", TOPIC_MEMORY, PMEM, UNIT_PERCENT, COST_STATM,
        "resident memory in percent of what the target may use: the machine's, or the lowest limit above it"),
    LEVEL_TOTAL(
        "proc_pmem_total", TOPIC_MEMORY, PMEM, UNIT_PERCENT, COST_STATM,
        "sum of proc_pmem: like proc_rss_total an upper bound, since shared pages count once per process",
        .bound = BOUND_UPPER),
    MEASUREMENT("proc_pdcpu", TOPIC_CPU, CPU_SECONDS, SCOPE_PER_PID, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX,
                COST_STAT | COST_CLOCK,
                "CPU of the process itself between two samples, 100 = one core; resolved to one kernel tick",
                .derive = DERIVE_RATE, .ceiling = CEILING_USABLE_CORES, COLUMN("cpu_percent", "cpu")),
    MEASUREMENT(
        "proc_own_cpu_seconds", TOPIC_CPU, CPU_SECONDS, SCOPE_PER_PID, TYPE_COUNTER, UNIT_SECONDS,
        REDUCE_DELTA, COST_STAT | COST_CLOCK,
        "CPU seconds of the process itself, without its children; what it used after its last sample is "
        "only in the totals",
        .bound = BOUND_LOWER),
    MEASUREMENT(
        "proc_pdcpu_total", TOPIC_CPU, TREE_CPU_SECONDS, SCOPE_SINGLE, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX,
        COST_STAT | COST_CLOCK,
        "CPU of the whole tree between two samples from the ledger, 100 = one core; short children counted",
        .derive = DERIVE_RATE, .ceiling = CEILING_USABLE_CORES),
    COUNT_SINGLE(
        "proc_cpu_seconds", TOPIC_CPU, TREE_CPU_SECONDS, UNIT_SECONDS, COST_STAT | COST_CLOCK,
        "CPU seconds of the whole tree from the ledger: living + reaped, nothing lost when a process ends"),
    MEASUREMENT("proc_etime", TOPIC_PROCESS_AGE, ELAPSED, SCOPE_PER_PID, TYPE_GAUGE, UNIT_SECONDS,
                REDUCE_LAST, COST_STAT, "seconds since the process started"),
    MEASUREMENT("proc_stat", TOPIC_PROCESS, STATE, SCOPE_PER_PID, TYPE_CATEGORICAL, UNIT_NONE, REDUCE_TALLY,
                COST_STAT,
                "how many samples found the process in each state (R running, S sleeping, D disk, Z zombie, "
                "T stopped)"),
    LABEL("proc_cmd", TOPIC_PROCESS_COMMAND, COMMAND, COST_STAT | COST_CMDLINE,
          "command line, values that look secret masked"),
    LABEL("proc_ppid", TOPIC_PROCESS, PPID, COST_STAT, "pid of the parent"),
    LABEL("proc_start_time", TOPIC_PROCESS_START, START_TIME, COST_STAT,
          "when the process started: with the pid, its identity"),
    LEVEL("proc_threads", TOPIC_THREAD, THREADS, UNIT_COUNT, COST_STAT, "threads",
          COLUMN("threads", "threads")),
    LEVEL_TOTAL("proc_threads_total", TOPIC_THREAD, THREADS, UNIT_COUNT, COST_STAT,
                "threads of all processes"),
    LEVEL("proc_fds", TOPIC_FILE, FDS, UNIT_COUNT, COST_FD, "open file descriptors",
          COLUMN("open_fds", "open_fds")),
    LEVEL_TOTAL("proc_fds_total", TOPIC_FILE, FDS, UNIT_COUNT, COST_FD,
                "open file descriptors of all processes that let us look", .bound = BOUND_LOWER),
    LEVEL("proc_fd_limit", TOPIC_FILE, FD_LIMIT, UNIT_COUNT, COST_LIMITS,
          "soft limit of open file descriptors; absent where there is none", COLUMN("fd_limit", "fd_limit")),
    COUNT_OWN("proc_minor_faults", TOPIC_FAULT, MINOR_FAULTS, COST_STAT,
              "page faults without I/O, of the process itself"),
    COUNT_SINGLE("proc_minor_faults_total", TOPIC_FAULT, TREE_MINOR_FAULTS, UNIT_COUNT, COST_STAT,
                 "page faults without I/O of the whole tree, conserved like CPU"),
    COUNT_OWN("proc_major_faults", TOPIC_FAULT_MAJOR, MAJOR_FAULTS, COST_STAT,
              "page faults with I/O, of the process itself", COLUMN("major_faults", "major_faults")),
    COUNT_SINGLE("proc_major_faults_total", TOPIC_FAULT_MAJOR, TREE_MAJOR_FAULTS, UNIT_COUNT, COST_STAT,
                 "page faults with I/O of the whole tree, conserved like CPU"),
    COUNT_OWN("proc_ctx_voluntary", TOPIC_SWITCH, CTX_VOLUNTARY, COST_STATUS | COST_TASKS,
              "times a living thread of the process gave up the CPU to wait",
              COLUMN("ctx_voluntary", "ctx_voluntary")),
    MEASUREMENT(
        "proc_ctx_voluntary_total", TOPIC_SWITCH, CTX_VOLUNTARY, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT,
        REDUCE_DELTA, COST_STATUS | COST_TASKS,
        "sum of proc_ctx_voluntary: what was seen while alive, not conserved (rusage_ctx_voluntary is)",
        .bound = BOUND_LOWER, .collapse = COLLAPSE_SUM),
    COUNT_OWN("proc_ctx_involuntary", TOPIC_SWITCH, CTX_INVOLUNTARY, COST_STATUS | COST_TASKS,
              "times a living thread of the process was taken off the CPU"),
    MEASUREMENT(
        "proc_ctx_involuntary_total", TOPIC_SWITCH, CTX_INVOLUNTARY, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT,
        REDUCE_DELTA, COST_STATUS | COST_TASKS,
        "sum of proc_ctx_involuntary: what was seen while alive, not conserved (rusage_ctx_involuntary is)",
        .bound = BOUND_LOWER, .collapse = COLLAPSE_SUM),
    MEASUREMENT("proc_processes", TOPIC_PROCESS, PROCESSES, SCOPE_SINGLE, TYPE_GAUGE, UNIT_COUNT, REDUCE_MAX,
                COST_STAT, "processes alive at once"),
    MEASUREMENT("proc_zombies", TOPIC_PROCESS_ZOMBIES, ZOMBIES, SCOPE_SINGLE, TYPE_GAUGE, UNIT_COUNT,
                REDUCE_MAX, COST_STAT, "processes that ended and were not waited for"),
    COUNT_SINGLE(
        "proc_spawned", TOPIC_PROCESS, SPAWNED, UNIT_COUNT, COST_NOTHING,
        "processes that began, the command included; a lower bound unless the kernel reported every event",
        .bound = BOUND_LOWER),
    COUNT_SINGLE("proc_exited", TOPIC_PROCESS, EXITED, UNIT_COUNT, COST_NOTHING,
                 "processes that ended; a lower bound unless the kernel reported every event",
                 .bound = BOUND_LOWER),
};

/* Of the whole machine the costly files are read where they may matter: from so many descriptors on the
 * limit, above half a core the context switches. The kernel's iterator reads them of all. */
#define FDS_MIN 64

struct proc_state {
    unsigned cost;
    bool of_machine; /* the target is everybody */
    uint64_t page_bytes;
    double may_use_bytes;    /* 0: not known */
    unsigned long swap_used; /* on the machine */
    bool swap_changed;       /* since the pass before */
};

static bool can_read(const struct collect_context *context, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/self/%s", context->proc_root, name);
    return !breakage_has(name) && access(path, R_OK) == 0;
}

/* What each field is read from, by the cost of its measurements. */
static void survey(const struct collect_context *context, const char *reasons[])
{
    static const struct {
        unsigned cost;
        const char *file, *reason;
    } files[] = {
        {COST_STATM, "statm", "/proc/PID/statm cannot be read"},
        {COST_STATUS, "status", "/proc/PID/status cannot be read"},
        {COST_TASKS, "task", "/proc/PID/task cannot be read"},
        {COST_FD, "fd", "/proc/PID/fd cannot be read"},
        {COST_LIMITS, "limits", "/proc/PID/limits cannot be read"},
        {COST_CMDLINE, "cmdline", "/proc/PID/cmdline cannot be read"},
    };
    char self[512];
    (void)snprintf(self, sizeof(self), "%s/self", context->proc_root);
    if (access(self, F_OK) != 0) {
        survey_all(&collector_proc.source, "/proc is not mounted", reasons);
        return;
    }
    unsigned missing = can_read(context, "stat") ? 0 : COST_STAT;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (!can_read(context, files[i].file))
            missing |= files[i].cost;
    for (size_t i = 0; i < sizeof(measurements) / sizeof(measurements[0]); i++) {
        const struct measurement *m = &measurements[i];
        if (m->cost & missing & COST_STAT)
            reasons[m->field] = "/proc/PID/stat cannot be read";
        for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++)
            if (m->cost & missing & files[j].cost)
                reasons[m->field] = files[j].reason;
    }
    if (!context->allowance || context->allowance->memory_bytes == 0)
        reasons[PMEM] = "it is not known how much memory the target may use";
}

static int proc_open(const struct collect_context *context, unsigned cost, void **state)
{
    struct proc_state *proc = malloc(sizeof(*proc));
    if (!proc)
        return -ENOMEM;
    *proc = (struct proc_state){
        .cost = cost,
        .of_machine = context->of_machine,
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
        .may_use_bytes = context->allowance ? (double)context->allowance->memory_bytes : 0,
    };
    *state = proc;
    return 0;
}

static const char *state_text(char state)
{
    static const char texts[][2] = {"R", "S", "D", "Z", "T", "t", "X", "x", "K", "W", "P", "I"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i][0] == state)
            return texts[i];
    return "?";
}

static void read_stat(const struct proc_state *proc, struct process *process, struct row *row)
{
    const struct pid_stat *stat = &process->stat;

    if (process->cpu_ns) {
        row_number(row, CPU_SECONDS, (double)process->cpu_ns / (double)NS_PER_SECOND);
    } else {
        double ticks = (double)(stat->user_ticks + stat->system_ticks);
        row_number(row, CPU_SECONDS, ticks / (double)clock_ticks_per_second());
    }
    row_number(row, ELAPSED,
               (double)(int64_t)(process->stat_ns - process->subject.born_ns) / (double)NS_PER_SECOND);
    row_text(row, STATE, state_text(stat->state));
    row_text(row, PPID, process->ppid_text);
    row_text(row, START_TIME, process->start_time);
    row_number(row, MINOR_FAULTS, (double)stat->minor_faults);
    row_number(row, MAJOR_FAULTS, (double)stat->major_faults);
    if ((proc->cost & COST_CMDLINE) && process->command)
        row_text(row, COMMAND, process->command);
    if (stat->state == 'Z')
        return; /* what follows is memory and threads, which a zombie no longer has */
    row_number(row, VSZ, (double)stat->vsize_bytes);
    row_number(row, THREADS, (double)stat->threads);
}

/* The sum over living threads falls when one ends: what was seen of it stays counted. */
static uint64_t switches(struct switches *seen, uint64_t sum)
{
    if (sum < seen->last)
        seen->ended += seen->last - sum;
    seen->last = sum;
    return seen->ended + sum;
}

static void read_status(const struct proc_state *proc, struct tree *tree, struct process *process)
{
    struct process_files *files = &process->files;
    uint32_t threads = proc->cost & COST_TASKS ? process->stat.threads : 1;
    struct pid_status status;

    if (pid_dir_status(&process->dir, tree_reader(tree), threads, process->passes > 1, &status) < 0)
        return;
    /* Marks of the busy alone would pass for the largest of all. */
    files->has_hwm = status.has_hwm && !proc->of_machine && tree_note_hwm(tree, process, status.hwm_bytes);
    files->hwm_bytes = status.hwm_bytes;
    files->has_swap = status.has_swap;
    files->swap_bytes = status.swap_bytes;
    files->has_switches = status.has_switches;
    if (status.has_switches) {
        files->voluntary_switches = switches(&process->voluntary, status.voluntary_switches);
        files->involuntary_switches = switches(&process->involuntary, status.involuntary_switches);
    }
}

/* Since its files were last read. */
static bool uses_half_a_core(const struct process *process)
{
    return process->last_cpu_ns &&
           2 * (process->cpu_ns - process->last_cpu_ns) > process->stat_ns - process->last_ns;
}

/* Its other files, as far as they are wanted. The kernel's iterator reads all but its descriptors. */
static void read_files(const struct proc_state *proc, struct tree *tree, struct process *process)
{
    struct pid_reader *reader = tree_reader(tree);
    struct process_files *files = &process->files;
    struct process_fds *fds = &process->fds;
    const bool is_busy = uses_half_a_core(process);

    files->were_read = true;
    process->last_cpu_ns = process->cpu_ns;
    process->last_ns = process->stat_ns;
    if ((proc->cost & COST_FD) &&
        (!process->by_tasks || !process->cpu_ns || fds->cpu_ns != process->cpu_ns)) {
        fds->is_known = pid_dir_count_fds(&process->dir, reader, process->passes > 1, &fds->count) == 0;
        fds->cpu_ns = process->cpu_ns;
    }
    if (process->by_tasks)
        return;
    if ((proc->cost & (COST_STATUS | COST_TASKS)) && (is_busy || !proc->of_machine))
        read_status(proc, tree, process);
    if ((proc->cost & COST_LIMITS) && (!proc->of_machine || (fds->is_known && fds->count >= FDS_MIN)))
        files->has_fd_limit = pid_dir_open_file_limit(&process->dir, reader, &files->fd_limit) == 0 &&
                              files->fd_limit != UINT64_MAX;
}

/* In every pass: the kernel takes pages of a process away while it sleeps. */
static void read_resident(const struct proc_state *proc, struct tree *tree, struct process *process)
{
    char text[256];
    struct pid_statm statm;
    ssize_t length = pid_dir_read(&process->dir, tree_reader(tree), PID_FILE_STATM, process->passes > 1, text,
                                  sizeof(text));

    process->files.has_rss = length > 0 && pid_statm_parse(text, (size_t)length, &statm) == 0;
    if (process->files.has_rss)
        process->files.rss_bytes = statm.resident_pages * proc->page_bytes;
}

/* Of a process that sleeps too, once the machine's swap has changed; where that is unused, none is. */
static void read_swap(const struct proc_state *proc, struct tree *tree, struct process *process, bool slept)
{
    struct pid_status status = {.has_swap = proc->swap_used == 0};

    if (proc->swap_used && process->files.has_swap && !(slept && proc->swap_changed))
        return;
    if (proc->swap_used)
        (void)pid_dir_status(&process->dir, tree_reader(tree), 1, process->passes > 1, &status);
    process->files.has_swap = status.has_swap;
    process->files.swap_bytes = status.swap_bytes;
}

static void put_files(const struct proc_state *proc, const struct process *process, struct row *row)
{
    const struct process_files *files = &process->files;

    if (files->has_rss)
        row_number(row, RSS, (double)files->rss_bytes);
    if (files->has_rss && proc->may_use_bytes > 0)
        row_number(row, PMEM, (double)files->rss_bytes / proc->may_use_bytes);
    if (files->has_hwm)
        row_number(row, HWM, (double)files->hwm_bytes);
    if (files->has_swap)
        row_number(row, SWAP, (double)files->swap_bytes);
    if (files->has_switches) {
        row_number(row, CTX_VOLUNTARY, (double)files->voluntary_switches);
        row_number(row, CTX_INVOLUNTARY, (double)files->involuntary_switches);
    }
    if (process->fds.is_known)
        row_number(row, FDS, (double)process->fds.count);
    if (files->has_fd_limit)
        row_number(row, FD_LIMIT, (double)files->fd_limit);
}

static int proc_collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct proc_state *proc = state;
    struct tree *tree = context->tree;
    const struct ledger *ledger = tree_ledger(tree);
    struct row *single = &pass->single;
    struct sysinfo machine;

    if ((proc->cost & COST_SYSTEM) && sysinfo(&machine) == 0) {
        proc->swap_changed = proc->swap_used != machine.totalswap - machine.freeswap;
        proc->swap_used = machine.totalswap - machine.freeswap;
    }
    for (size_t i = 0; i < tree_count(tree); i++) {
        struct process *process = tree_process(tree, i);
        struct row *row = process->fresh ? pass_row(pass, &process->subject) : NULL;
        if (!row)
            continue;
        row->stamp_ns = process->stat_ns;
        read_stat(proc, process, row);
        if (process->stat.state == 'Z')
            continue; /* it has no memory and no files any more */
        bool slept = process->files.were_read;
        if (!slept)
            read_files(proc, tree, process);
        if ((proc->cost & COST_STATM) && !process->by_tasks)
            read_resident(proc, tree, process);
        if ((proc->cost & COST_SYSTEM) && !process->by_tasks)
            read_swap(proc, tree, process, slept);
        if (process->files.has_rss)
            tree_note_resident(tree, process, process->files.rss_bytes);
        put_files(proc, process, row);
    }
    if (ledger->hwm_bytes)
        row_number(single, HWM_MAX, (double)ledger->hwm_bytes);
    row_number(single, TREE_CPU_SECONDS, ledger->published.cpu_seconds);
    row_number(single, TREE_MINOR_FAULTS, (double)ledger->published.counts[LEDGER_MINOR_FAULTS]);
    row_number(single, TREE_MAJOR_FAULTS, (double)ledger->published.counts[LEDGER_MAJOR_FAULTS]);
    row_number(single, PROCESSES, tree_living(tree));
    row_number(single, ZOMBIES, tree_zombies(tree));
    row_number(single, SPAWNED, (double)tree_spawned(tree));
    row_number(single, EXITED, (double)tree_exited(tree));
    return 0;
}

const struct collector collector_proc = {
    .source = SOURCE("proc", "/proc/PID/{stat,statm,status,cmdline,fd,limits} and the process CPU clock"),
    .survey = survey,
    .open = proc_open,
    .collect = proc_collect,
    .close = free,
};
