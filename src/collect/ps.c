/*
 * The same processes as the program `ps` sees them, so that methods can be compared within one run.
 *
 * ps is run once per sample for the members of the tree, which costs more than everything else that metron
 * reads: nobody gets it without asking. Its CPU is added to metron's own. It is never part of the target. CPU
 * and ages are whole seconds there, so a rate from two samples a second apart is 0, 100 or more, and right in
 * the mean only.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/text.h"
#include "probe/ps_program.h"
#include "schema/secrets.h"

#define LIMIT_NS (2 * NS_PER_SECOND)

enum { RSS, VSZ, PMEM, CPU_SECONDS, ELAPSED, STATE, COMMAND, FIELD_COUNT };

static const char *const fields[FIELD_COUNT] = {
    [RSS] = "ps -o rss",           [VSZ] = "ps -o vsz",        [PMEM] = "ps -o pmem",
    [CPU_SECONDS] = "ps -o times", [ELAPSED] = "ps -o etimes", [STATE] = "ps -o stat",
    [COMMAND] = "ps -o args",
};

#define LEVEL(KEY, TOPIC, FIELD, UNIT, MEANING)                                                              \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_PER_PID, TYPE_GAUGE, UNIT, REDUCE_MAX, COST_PS, MEANING)
#define LEVEL_TOTAL(KEY, TOPIC, FIELD, UNIT, MEANING, ...)                                                   \
    MEASUREMENT(KEY, TOPIC, FIELD, SCOPE_SINGLE, TYPE_GAUGE, UNIT, REDUCE_MAX, COST_PS, MEANING,             \
                .collapse = COLLAPSE_SUM, __VA_ARGS__)

static const struct measurement measurements[] = {
    LEVEL("ps_rss", TOPIC_MEMORY, RSS, UNIT_BYTES, "resident memory as ps tells it, shared pages included"),
    LEVEL_TOTAL("ps_rss_total", TOPIC_MEMORY, RSS, UNIT_BYTES,
                "sum of ps_rss: counts a shared page once per process, an upper bound", .bound = BOUND_UPPER),
    LEVEL("ps_vsz", TOPIC_MEMORY_PART, VSZ, UNIT_BYTES, "virtual memory size as ps tells it"),
    LEVEL_TOTAL("ps_vsz_total", TOPIC_MEMORY_PART, VSZ, UNIT_BYTES, "sum of ps_vsz"),
    LEVEL("ps_pmem", TOPIC_MEMORY, PMEM, UNIT_PERCENT,
          "resident memory as ps tells it, in percent of the machine's memory, to one tenth"),
    LEVEL_TOTAL("ps_pmem_total", TOPIC_MEMORY, PMEM, UNIT_PERCENT,
                "sum of ps_pmem: counts a shared page once per process, and loses what is below a tenth",
                .bound = BOUND_ABOUT),
    MEASUREMENT(
        "ps_pdcpu", TOPIC_CPU, CPU_SECONDS, SCOPE_PER_PID, TYPE_COUNTER, UNIT_PERCENT, REDUCE_MAX, COST_PS,
        "CPU between two samples from what ps tells, 100 = one core; ps counts whole seconds, so a single "
        "value is off by up to a second per interval",
        .bound = BOUND_ABOUT, .derive = DERIVE_RATE, .ceiling = CEILING_USABLE_CORES),
    MEASUREMENT("ps_cpu_seconds", TOPIC_CPU, CPU_SECONDS, SCOPE_PER_PID, TYPE_COUNTER, UNIT_SECONDS,
                REDUCE_DELTA, COST_PS, "CPU seconds of the process itself as ps tells them, whole ones",
                .bound = BOUND_LOWER),
    MEASUREMENT("ps_etime", TOPIC_PROCESS_AGE, ELAPSED, SCOPE_PER_PID, TYPE_GAUGE, UNIT_SECONDS, REDUCE_LAST,
                COST_PS, "seconds since the process started as ps tells them, whole ones"),
    MEASUREMENT("ps_stat", TOPIC_PROCESS, STATE, SCOPE_PER_PID, TYPE_CATEGORICAL, UNIT_NONE, REDUCE_TALLY,
                COST_PS,
                "how many samples found the process in each state, the first letter of what ps prints"),
    MEASUREMENT("ps_cmd", TOPIC_PROCESS_COMMAND, COMMAND, SCOPE_PER_PID, TYPE_LABEL, UNIT_NONE, REDUCE_LAST,
                COST_PS,
                "command line as ps prints it; from the first value that looks secret on it is masked"),
};

struct ps_state {
    struct ps_program program;
    const struct process **members; /* of this pass, by pid */
    pid_t *pids;                    /* theirs */
    size_t count, member_capacity, pid_capacity;
    struct arena texts; /* what the rows of this pass point to */
    struct strbuf masked, line;
    /* Masked where they are recorded; NULL: none are. */
    const struct secrets *secrets;
    uint64_t begin_ns;
    const struct collect_context *context; /* during a pass */
    struct pass *pass;
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    struct ps_program program;
    int code = ps_program_init(&program);

    ps_program_fini(&program);
    if (code < 0)
        survey_all(&collector_ps.source, code == -ENOENT ? "there is no ps in PATH" : "ps cannot be run",
                   reasons);
    else if (strcmp(context->proc_root, "/proc") != 0)
        survey_all(&collector_ps.source, "ps reads /proc and no other folder", reasons);
}

static void close_state(void *state)
{
    struct ps_state *ps = state;

    ps_program_fini(&ps->program);
    free(ps->members);
    free(ps->pids);
    arena_fini(&ps->texts);
    strbuf_fini(&ps->masked);
    strbuf_fini(&ps->line);
    free(ps);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct ps_state *ps = calloc(1, sizeof(*ps));

    (void)cost;
    if (!ps)
        return -ENOMEM;
    ps->secrets = context->tuning ? context->tuning->secrets : &secrets_built_in;
    int code = ps_program_init(&ps->program);
    if (code < 0) {
        close_state(ps);
        return code;
    }
    *state = ps;
    return 0;
}

/* ---- whom to ask for ---- */

static int members_by_pid(const void *one, const void *other)
{
    pid_t a = (*(const struct process *const *)one)->subject.id;
    pid_t b = (*(const struct process *const *)other)->subject.id;

    return (a > b) - (a < b);
}

static int list_members(struct ps_state *ps, const struct tree *tree)
{
    size_t count = tree_count(tree);

    if (ARRAY_RESERVE(ps->members, ps->member_capacity, count) < 0 ||
        ARRAY_RESERVE(ps->pids, ps->pid_capacity, count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        ps->members[i] = tree_process(tree, i);
    if (count > 0)
        qsort(ps->members, count, sizeof(ps->members[0]), members_by_pid);
    for (size_t i = 0; i < count; i++)
        ps->pids[i] = ps->members[i]->subject.id;
    ps->count = count;
    return 0;
}

static int pids_in_order(const void *one, const void *other)
{
    pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;

    return (a > b) - (a < b);
}

/* NULL also for a pid that another process has got by now: whoever lived two seconds ago is older than that.
 */
static const struct process *find_member(const struct ps_state *ps, const struct ps_process *told)
{
    const pid_t *found = bsearch(&told->pid, ps->pids, ps->count, sizeof(ps->pids[0]), pids_in_order);
    if (!found)
        return NULL;
    const struct process *process = ps->members[found - ps->pids];
    uint64_t born_ns = process->subject.born_ns;
    int64_t age_ns = born_ns ? clock_elapsed_ns(born_ns, ps->begin_ns) : 0;

    if (told->has_elapsed && age_ns > 0 && (told->elapsed_seconds + 2) * NS_PER_SECOND < (uint64_t)age_ns)
        return NULL;
    return process;
}

/* ---- what it told ---- */

/* ps prints the arguments with blanks between and nothing else, so where a value ends cannot be known: from
 * the first secret one on, everything is masked. NULL: no memory. */
static const char *masked_arguments(struct ps_state *ps, const struct ps_process *told)
{
    struct strbuf *masked = &ps->masked, *line = &ps->line;
    const char *text = told->arguments;
    size_t same = 0;
    struct secrets_state state = {0};

    strbuf_reset(masked);
    strbuf_reset(line);
    secrets_mask_argument(masked, ps->secrets, &state, text, told->arguments_length);
    if (masked->failed)
        return NULL;
    while (same < told->arguments_length && same < masked->length && text[same] == masked->data[same])
        same++;
    if (same < told->arguments_length || same < masked->length) {
        while (same > 0 && text[same - 1] == SECRETS_MASK[0]) /* a star of the mask met one of the value */
            same--;
        text_printable(line, text, same);
        strbuf_adds(line, SECRETS_MASK);
    } else {
        text_printable(line, text, same);
    }
    return line->failed ? NULL : arena_strdup(&ps->texts, strbuf_text(line));
}

static const char *state_text(struct ps_state *ps, char state)
{
    const char text[] = {state, '\0'};

    return arena_strdup(&ps->texts, text);
}

static void on_process(void *context, const struct ps_process *told)
{
    struct ps_state *ps = context;
    const struct process *process = find_member(ps, told);
    /* Events were read when ps had ended, and may have told of an end. */
    struct row *row = process && !process->ended ? pass_row(ps->pass, &process->subject) : NULL;

    if (!row)
        return;
    row->stamp_ns = clock_monotonic_ns();
    row_number(row, CPU_SECONDS, (double)told->cpu_seconds);
    if (told->has_elapsed)
        row_number(row, ELAPSED, (double)told->elapsed_seconds);
    if (told->state != 'Z') { /* a zombie has no memory any more */
        row_number(row, RSS, (double)told->rss_bytes);
        row_number(row, VSZ, (double)told->vsize_bytes);
        row_number(row, PMEM, told->memory_fraction);
    }
    const char *state = state_text(ps, told->state);
    if (state)
        row_text(row, STATE, state);
    const char *arguments = masked_arguments(ps, told);
    if (arguments)
        row_text(row, COMMAND, arguments);
}

static void on_start(void *context, pid_t pid)
{
    const struct ps_state *ps = context;

    tree_ignore(ps->context->tree, pid);
}

static void on_end(void *context, pid_t pid, const struct rusage *usage)
{
    const struct ps_state *ps = context;

    tree_unignore(ps->context->tree, pid);
    if (usage)
        ps->context->figures->helper_cpu_seconds +=
            clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct ps_state *ps = state;
    const struct ps_visitor visitor = {on_start, on_end, on_process, ps};
    int code = list_members(ps, context->tree);

    if (code < 0)
        return code;
    arena_reset(&ps->texts);
    ps->context = context;
    ps->pass = pass;
    ps->begin_ns = clock_monotonic_ns();
    return ps_program_run(&ps->program, ps->pids, ps->count, LIMIT_NS, &visitor);
}

const struct collector collector_ps = {
    .source = SOURCE("ps", "the program ps (procps), run at every sample"),
    .opt_in = true,
    .survey = survey,
    .open = open_state,
    .collect = collect,
    .close = close_state,
};
