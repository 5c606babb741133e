/*
 * What each process really holds, shared pages divided among those who map them: /proc/PID/smaps_rollup.
 *
 * The kernel walks the page tables of the process for every read, and holds its address space against changes
 * meanwhile (mmap, munmap): this costs the target, not only us. Measured on Linux 6.18: 12 us for a process
 * of a few pages, 25 us for `sleep`, 0.2 ms for a Python of 22 MiB; 8.5 ms per GiB of private 4 KiB pages,
 * 10.7 ms per GiB of shared ones, 0.05 ms per GiB of huge pages (0.1 us each). Another machine took 21 ms per
 * GiB. Hence
 *  - an interval of its own, five samples. Beyond it there is a pass whenever the sum of resident memory is a
 *    twentieth above any at which a pass was made, so that a sampled peak is not missed: this adds as many
 * passes as the logarithm of the memory. (What grows while resident memory does not, as pages of a fork that
 * are written to, is seen at the interval.)
 *  - a limit on the size of a process: 8 GiB are a stall of 70 to 170 ms;
 *  - a budget of CPU time for a pass: before each read the time it should take, by the speed of earlier ones,
 *    is compared with what is left. It is our CPU time: on a busy machine a pass takes longer and costs the
 *    same, and no process is left out because of it. A process that did not fit is the first in the next
 *    pass. What is expected can be wrong, by one read of a process below the limit;
 *  - ten times the budget on the wall: a read waits for a process that changes its mappings all the time.
 * Processes that are passed over are counted. A total is there only if every living process was read in the
 * same pass, and if no process started, exited or changed much meanwhile (is_torn): a sum with a hole is not
 * the sum. A pass like that is made again with the next sample, a few times; a tree that never holds still
 * has no such total.
 *
 * What is remembered between passes only decides when to look, and at whom.
 */
#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/breakage.h"
#include "probe/smaps.h"

enum { PSS, USS, SWAP, RSS_TOTAL, PSS_TOTAL, USS_TOTAL, SWAP_TOTAL, SKIPPED, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [PSS] = "smaps_rollup: Pss",
    [USS] = "smaps_rollup: Private_Clean + Private_Dirty + Private_Hugetlb",
    [SWAP] = "smaps_rollup: SwapPss",
    [RSS_TOTAL] = "sum of Rss over all living processes",
    [PSS_TOTAL] = "sum of Pss over all living processes",
    [USS_TOTAL] = "sum of Private_* over all living processes",
    [SWAP_TOTAL] = "sum of SwapPss over all living processes",
    [SKIPPED] = "processes passed over",
};

#define HELD(KEY, TOPIC, SCOPE, FIELD, MEANING, ...)                                                         \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX, COST_SMAPS, MEANING,           \
                __VA_ARGS__)

static const struct measurement measurements[] = {
    HELD("smaps_pss", TOPIC_MEMORY, SCOPE_PER_PID, PSS,
         "resident memory with each shared page divided by the number of its mappings; no hugetlbfs pages"),
    HELD("smaps_pss_total", TOPIC_MEMORY, SCOPE_SINGLE, PSS_TOTAL,
         "sum of smaps_pss: what the tree really holds; absent unless every living process was read and none "
         "came or went meanwhile"),
    HELD("smaps_rss_total", TOPIC_MEMORY, SCOPE_SINGLE, RSS_TOTAL,
         "sum of resident memory in the same reading: its peak below that of proc_rss_total means that "
         "smaps_pss_total was not read at the peak",
         .bound = BOUND_UPPER),
    HELD("smaps_uss", TOPIC_MEMORY_PART, SCOPE_PER_PID, USS,
         "resident memory that nobody else maps: what would be free if the process ended"),
    HELD("smaps_uss_total", TOPIC_MEMORY_PART, SCOPE_SINGLE, USS_TOTAL,
         "sum of smaps_uss: leaves out what the processes share among each other; absent unless every living "
         "process was read"),
    HELD("smaps_swap", TOPIC_MEMORY_SWAP, SCOPE_PER_PID, SWAP,
         "memory in swap, a shared page divided by its sharers (SwapPss); no tmpfs or other shared memory"),
    HELD("smaps_swap_total", TOPIC_MEMORY_SWAP, SCOPE_SINGLE, SWAP_TOTAL,
         "sum of smaps_swap: a shared page counts once; absent unless every living process was read"),
    MEASUREMENT("smaps_skipped", TOPIC_OTHER, SKIPPED, SCOPE_SINGLE, TYPE_COUNTER, UNIT_COUNT, REDUCE_DELTA,
                COST_SMAPS,
                "times a process was passed over: too large, no time left in the pass, or not permitted"),
};

/* What is taken for granted until reads have told: 25 ms per GiB, as if one GiB had been read. */
#define FIRST_BYTES        ((double)(1 << 30))
#define FIRST_SECONDS      0.025
#define SPEED_MEMORY_BYTES (8 * FIRST_BYTES)
/* Of a read, whatever the size. */
#define READ_SECONDS 40e-6
/* How much larger than ever before the target must be for a pass out of turn. */
#define GROWTH 1.05
/* How often a pass that was of no instant is made again at once. */
#define TORN_TRIES 3
/* So much of the memory of a tree may come and go during a pass whatever its size. */
#define FEW_BYTES (1024.0 * 1024)

struct smaps_state {
    double page_bytes;
    uint64_t last_ns;              /* when the latest pass began; 0: there was none */
    double largest_rss_bytes;      /* the largest sum of resident memory that a pass was made at */
    double read_bytes, read_spent; /* resident bytes of recent reads, and the seconds they took */
    size_t first;                  /* whom to begin with: the index of a member */
    unsigned torn;                 /* passes in a row that were of no instant */
    uint64_t skipped;
};

/* One pass over the members. */
struct walk {
    struct smaps_state *smaps;
    const struct collect_context *context;
    struct pass *pass;
    uint64_t begin_ns;     /* CPU time of this thread */
    uint64_t wall_end_ns;  /* no read begins after that */
    double budget;         /* seconds of CPU time */
    double rss_bytes;      /* of all that are no one else's, read or not */
    double seen_bytes;     /* resident memory of those that were read */
    double moved_bytes;    /* by how much that differs from what it was when the sample began */
    double vanished_bytes; /* of those that ended during the pass */
    double pss_bytes, uss_bytes, swap_bytes;
    unsigned read;
    bool has_hole;
    bool out_of_time; /* somebody was passed over for it */
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    char path[512], text[SMAPS_SIZE];
    struct smaps smaps;

    if (context->tuning && !context->tuning->smaps) {
        survey_all(&collector_smaps.source, "switched off (--no-smaps)", reasons);
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/self/smaps_rollup", context->proc_root);
    ssize_t length = breakage_has("smaps_rollup") ? -EIO : file_read(AT_FDCWD, path, text, sizeof(text));
    if (length <= 0 || smaps_parse(text, (size_t)length, &smaps) < 0)
        survey_all(&collector_smaps.source,
                   length == -ENOENT
                       ? "the kernel has no /proc/PID/smaps_rollup: before Linux 4.14, or built "
                         "without CONFIG_PROC_PAGE_MONITOR"
                       : "/proc/PID/smaps_rollup cannot be read",
                   reasons);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct smaps_state *smaps = malloc(sizeof(*smaps));

    (void)context;
    (void)cost;
    if (!smaps)
        return -ENOMEM;
    *smaps = (struct smaps_state){
        .page_bytes = (double)sysconf(_SC_PAGESIZE), .read_bytes = FIRST_BYTES, .read_spent = FIRST_SECONDS};
    *state = smaps;
    return 0;
}

static double cpu_seconds_since(uint64_t begin_ns)
{
    return (double)(clock_thread_cpu_ns() - begin_ns) / (double)NS_PER_SECOND;
}

/* As of this sample where the proc collector reads it (statm); else as stat told when the process last ran, a
 * little behind. */
static double resident_bytes(const struct smaps_state *smaps, const struct process *process)
{
    if (process->files.has_rss)
        return (double)process->files.rss_bytes;
    return (double)process->stat.rss_pages * smaps->page_bytes;
}

static double smaps_interval(const struct collect_tuning *tuning)
{
    return tuning->smaps_interval > 0 ? tuning->smaps_interval : 5 * tuning->sample_interval;
}

/* The latest pass was of no instant, and the next may not be: not of a tree that never holds still. */
static bool is_hopeful(const struct smaps_state *smaps)
{
    return smaps->torn > 0 && smaps->torn <= TORN_TRIES;
}

/* Ticks come a little early or late: half a sample before its time a pass is due. */
static bool is_due(const struct smaps_state *smaps, const struct collect_tuning *tuning, uint64_t now_ns,
                   double rss_bytes)
{
    double elapsed = (double)(now_ns - smaps->last_ns) / (double)NS_PER_SECOND;

    return !smaps->last_ns || is_hopeful(smaps) ||
           elapsed + tuning->sample_interval / 2 >= smaps_interval(tuning) ||
           rss_bytes > GROWTH * smaps->largest_rss_bytes;
}

static void learn_speed(struct smaps_state *smaps, double bytes, double seconds)
{
    smaps->read_bytes += bytes;
    smaps->read_spent += seconds > READ_SECONDS ? seconds - READ_SECONDS : 0;
    if (smaps->read_bytes > SPEED_MEMORY_BYTES) {
        smaps->read_bytes /= 2;
        smaps->read_spent /= 2;
    }
}

/* A file that was opened just before an exec is of the memory before it, which is gone: only the second
 * -ESRCH is the process itself. Never kept open, for the same reason. */
static ssize_t read_rollup(struct tree *tree, struct process *process, char *text, size_t capacity)
{
    ssize_t length = -ESRCH;

    for (int attempt = 0; attempt < 2 && length == -ESRCH; attempt++)
        length = pid_dir_read(&process->dir, tree_reader(tree), PID_FILE_SMAPS, false, text, capacity);
    return length;
}

static void pass_over(struct walk *walk)
{
    walk->smaps->skipped++;
    walk->has_hole = true;
}

static void read_process(struct walk *walk, struct process *process)
{
    struct smaps_state *smaps = walk->smaps;
    struct tree *tree = walk->context->tree;
    char text[SMAPS_SIZE];
    struct smaps held;
    uint64_t begin_ns = clock_thread_cpu_ns();
    ssize_t length = read_rollup(tree, process, text, sizeof(text));

    if (length == -ESRCH) { /* it ended: what it held alone is gone, what it shared is in nobody's sum */
        walk->vanished_bytes += resident_bytes(smaps, process);
        return;
    }
    struct row *row = NULL;
    if (length > 0 && smaps_parse(text, (size_t)length, &held) == 0)
        row = pass_row(walk->pass, &process->subject);
    if (!row) {
        pass_over(walk);
        return;
    }
    learn_speed(smaps, resident_bytes(smaps, process), cpu_seconds_since(begin_ns));
    row_number(row, PSS, (double)held.pss_bytes);
    row_number(row, USS, (double)held.uss_bytes);
    row_number(row, SWAP, (double)held.swap_bytes);
    if (process->files.has_rss)
        walk->moved_bytes += (double)held.rss_bytes - resident_bytes(smaps, process);
    walk->seen_bytes += (double)held.rss_bytes;
    walk->pss_bytes += (double)held.pss_bytes;
    walk->uss_bytes += (double)held.uss_bytes;
    walk->swap_bytes += (double)held.swap_bytes;
    walk->read++;
}

static bool is_too_large(const struct walk *walk, const struct process *process)
{
    return resident_bytes(walk->smaps, process) > (double)walk->context->tuning->smaps_limit_bytes;
}

static bool has_time(struct walk *walk, const struct process *process)
{
    struct smaps_state *smaps = walk->smaps;
    double left = walk->budget - cpu_seconds_since(walk->begin_ns);
    double expected = READ_SECONDS + resident_bytes(smaps, process) * smaps->read_spent / smaps->read_bytes;

    if (clock_monotonic_ns() > walk->wall_end_ns)
        return false;
    if (expected <= left)
        return true;
    /* With the whole time left: should the speed be taken for too slow a one, no read would ever put it
     * right. So it is believed a little less each time. */
    if (walk->read == 0 && !walk->out_of_time)
        smaps->read_spent *= 0.9;
    return false;
}

static void visit(struct walk *walk, size_t index)
{
    struct process *process = tree_process(walk->context->tree, index);
    struct smaps_state *smaps = walk->smaps;

    if (process->ended || process_is_zombie(process))
        return;
    /* It has no memory of its own, and the other's was or will be read. */
    if (tree_reader(walk->context->tree)->live && smaps_is_shared(process->subject.id, process->stat.ppid))
        return;
    walk->rss_bytes += resident_bytes(smaps, process);
    /* One whose first thread has left shows as Z: it lives on, without a rollup. */
    if (!process->fresh || process->stat.state == 'Z' || is_too_large(walk, process)) {
        pass_over(walk);
    } else if (has_time(walk, process)) {
        read_process(walk, process);
    } else {
        if (!walk->out_of_time)
            smaps->first = index;
        walk->out_of_time = true;
        pass_over(walk);
    }
}

/* Processes are read one after the other. Pages that go from one owner to several meanwhile are counted as
 * both, and what a process shared that was born or ended meanwhile is in nobody's sum: such a sum is of no
 * instant. */
static bool is_torn(const struct walk *walk, uint64_t spawned_before)
{
    struct tree *tree = walk->context->tree;
    double tolerance = 0.02 * walk->seen_bytes;

    tree_read_events(tree);
    return tree_spawned(tree) != spawned_before || walk->vanished_bytes > tolerance ||
           (walk->read > 1 && fabs(walk->moved_bytes) > tolerance + FEW_BYTES);
}

static void walk_members(struct smaps_state *smaps, const struct collect_context *context, struct pass *pass)
{
    const struct collect_tuning *tuning = context->tuning;
    const double half_sample = tuning->sample_interval / 2;
    size_t count = tree_count(context->tree);
    size_t first = smaps->first < count ? smaps->first : 0;
    struct walk walk = {
        .smaps = smaps,
        .context = context,
        .pass = pass,
        .begin_ns = clock_thread_cpu_ns(),
        .budget = tuning->smaps_budget < half_sample ? tuning->smaps_budget : half_sample,
    };

    walk.wall_end_ns = clock_monotonic_ns() + (uint64_t)(10 * walk.budget * (double)NS_PER_SECOND);
    uint64_t spawned = tree_spawned(context->tree);

    smaps->first = 0;
    for (size_t i = 0; i < count; i++)
        visit(&walk, (first + i) % count);
    bool torn = is_torn(&walk, spawned);
    smaps->torn = torn ? smaps->torn + 1 : 0;
    if (is_hopeful(smaps))
        return;
    if (walk.rss_bytes > smaps->largest_rss_bytes)
        smaps->largest_rss_bytes = walk.rss_bytes;
    if (walk.has_hole || walk.read == 0 || torn)
        return;
    row_number(&pass->single, RSS_TOTAL, walk.seen_bytes);
    row_number(&pass->single, PSS_TOTAL, walk.pss_bytes);
    row_number(&pass->single, USS_TOTAL, walk.uss_bytes);
    row_number(&pass->single, SWAP_TOTAL, walk.swap_bytes);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct smaps_state *smaps = state;

    /* Nobody is there yet, or any more: the counter is all there is to tell. */
    if (pass->kind == PASS_SAMPLE) {
        double rss_bytes = 0;

        for (size_t i = 0; i < tree_count(context->tree); i++)
            if (!process_is_zombie(tree_process(context->tree, i)))
                rss_bytes += resident_bytes(smaps, tree_process(context->tree, i));
        if (!is_due(smaps, context->tuning, pass->stamp_ns, rss_bytes))
            return COLLECT_NOT_DUE;
        smaps->last_ns = pass->stamp_ns;
        walk_members(smaps, context, pass);
    }
    row_number(&pass->single, SKIPPED, (double)smaps->skipped);
    return 0;
}

const struct collector collector_smaps = {
    .source = SOURCE("smaps", "/proc/PID/smaps_rollup"),
    .interval = smaps_interval,
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = free,
};
