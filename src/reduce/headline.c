#include "reduce/headline.h"

#include "base/units.h"

static struct headline_answer answer(const struct record *summary, const char *key, const struct note *note)
{
    struct headline_answer answer = {.source = key, .note = note ? *note : (struct note){0}};
    answer.has = record_number(summary, key, &answer.value);
    return answer;
}

static void larger(struct headline_answer *best, struct headline_answer candidate)
{
    if (candidate.has && (!best->has || candidate.value > best->value))
        *best = candidate;
}

/* The sum of shares is read less often than resident memory, and cannot be read of everybody: one that was
 * only had while the tree was small says nothing about its peak. */
static bool shares_are_of_the_peak(const struct record *summary)
{
    static const double near_the_peak = 0.9;
    double shares, at_reading, at_peak;

    if (!record_number(summary, "smaps_peak_pss_total", &shares))
        return false;
    return !record_number(summary, "smaps_peak_rss_total", &at_reading) ||
           !record_number(summary, "proc_peak_rss_total", &at_peak) || at_reading >= near_the_peak * at_peak;
}

/* With neither an own group nor shares: the lower of two upper bounds. */
static struct headline_answer memory_bound(const struct record *summary, bool alone)
{
    double shares;
    const struct note *note =
        record_number(summary, "smaps_peak_pss_total", &shares) ? &note_shares_unread : &note_shared_pages;
    struct headline_answer sum = answer(summary, "proc_peak_rss_total", alone ? NULL : note);
    struct headline_answer group = answer(summary, "cgroup_peak_mem_anon_shmem", &note_others_in_group);

    return !alone && sum.has && group.has && group.value < sum.value ? group : sum;
}

/* With one process in all there is nothing to be careful about. */
static bool is_alone(const struct record *summary, const struct headline_method_facts *facts)
{
    double spawned;

    return facts->spawned_is_exact && record_number(summary, "proc_spawned", &spawned) &&
           spawned + (double)facts->found <= 1;
}

/* The most that the kernel reports of a single process. Where it is more than any sample saw of the whole,
 * the samples missed that moment, and what the others held in it. */
static struct headline_answer largest_mark(const struct record *summary,
                                           const struct headline_method_facts *facts)
{
    struct headline_answer best = {0};
    const struct note *note = !is_alone(summary, facts) ? &note_largest_process
                              : facts->attached         ? &note_since_attached
                                                        : NULL;

    larger(&best, answer(summary, "proc_hwm_max", note));
    larger(&best, answer(summary, "exit_max_rss_max", note));
    larger(&best, answer(summary, "rusage_max_rss", note));
    return best;
}

static struct headline_answer peak_memory(const struct record *summary,
                                          const struct headline_method_facts *facts)
{
    struct headline_answer best = largest_mark(summary, facts);
    double value;
    bool alone = is_alone(summary, facts);
    bool own = facts->own_cgroup && record_number(summary, "cgroup_peak_mem_anon_shmem", &value);
    bool shares = shares_are_of_the_peak(summary);
    const struct note *sampled = alone ? NULL : &note_sampled;

    if (own)
        larger(&best, answer(summary, "cgroup_peak_mem_anon_shmem", sampled));
    if (shares)
        larger(&best, answer(summary, "smaps_peak_pss_total", sampled));
    if (!own && !shares)
        larger(&best, memory_bound(summary, alone));
    return best;
}

static const struct {
    const char *source;
    enum bound bound;
    const char *method, *bias;
    const char *inherited_bias; /* where the group is not the target's own; NULL: the same */
    const char *attached_bias;  /* where processes ran already; NULL: the same */
} methods[] = {
    {"cgroup_mem_peak", BOUND_UPPER, "largest charge of the control group, kept by the kernel",
     "page cache is included; pages that others read first are charged to them",
     "page cache is included, and whoever else is in the group", NULL},
    {"cgroup_peak_mem_anon_shmem", BOUND_NONE, "anonymous and shared memory of the control group, sampled",
     "a peak between two samples is missed", "whoever else is in the group is included; sampled", NULL},
    {"smaps_peak_pss_total", BOUND_NONE, "sum of proportional shares of all processes, sampled",
     "a peak between two readings is missed; pages shared with others count in part", NULL, NULL},
    {"proc_peak_rss_total", BOUND_UPPER, "sum of resident memory of all processes, sampled",
     "a shared page is counted once per process: too high where memory is shared", NULL, NULL},
    {"proc_hwm_max", BOUND_LOWER, "largest high-water mark of a single process, kept by the kernel",
     "one process only: too low where several hold memory at once", NULL,
     "one process only; of one that ran already what was sampled, until it is above its mark of before"},
    {"exit_max_rss_max", BOUND_LOWER,
     "largest resident memory of a single process at its end, kept by the kernel",
     "one process only: too low where several hold memory at once", NULL, NULL},
    {"rusage_max_rss", BOUND_LOWER, "largest resident memory of a single reaped process, from wait4",
     "one process only: too low where several hold memory at once", NULL, NULL},
};

/* What is less than a single process held is at least that, whatever the method. */
static enum bound bound_beside(enum bound bound, double value, const struct headline_answer *mark)
{
    if (mark->has && value < mark->value)
        return BOUND_LOWER;
    return bound == BOUND_LOWER ? mark->note.bound : bound;
}

static void compare_methods(const struct record *summary, const struct headline_method_facts *facts,
                            struct headline *headline)
{
    const struct headline_answer mark = largest_mark(summary, facts);

    _Static_assert(sizeof(methods) / sizeof(methods[0]) <= HEADLINE_METHODS_MAX, "room for every method");
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        struct headline_method *method = &headline->memory_methods[headline->memory_method_count];
        if (!record_number(summary, methods[i].source, &method->value))
            continue;
        method->source = methods[i].source;
        method->bound = methods[i].bound;
        method->method = methods[i].method;
        method->bias = methods[i].bias;
        if (!facts->own_cgroup && methods[i].inherited_bias) {
            method->bias = methods[i].inherited_bias;
            method->bound = BOUND_UPPER; /* of whoever else is in the group too */
        }
        method->bound = bound_beside(method->bound, method->value, &mark);
        if (facts->attached && methods[i].attached_bias)
            method->bias = methods[i].attached_bias;
        headline->memory_method_count++;
    }
}

/* The target's own group tells best; the group it shares with others next; the machine last. */
static struct headline_answer stall(const struct record *summary, const struct headline_method_facts *facts,
                                    const char *group_key, const char *machine_key)
{
    const struct note *whose = facts->attached ? &note_of_targets_group : &note_of_metrons_group;
    struct headline_answer share = answer(summary, group_key, facts->own_cgroup ? NULL : whose);
    share.of = facts->own_cgroup ? "run" : "group";
    if (!share.has) {
        share = answer(summary, machine_key, &note_of_machine);
        share.of = "machine";
    }
    share.value /= 100; /* the edge says percent */
    return share;
}

/* Of two numbers that should be the same: the share of the larger, and at least so much, that they may
 * differ. */
#define CPU_TOLERANCE          0.01
#define CPU_TOLERANCE_SECONDS  0.05
#define CHARGE_TOLERANCE       0.10
#define CHARGE_TOLERANCE_BYTES (64.0 * 1024 * 1024) /* libraries are charged to whoever read them first */

static bool cpu_exceeds(double larger_seconds, double smaller_seconds)
{
    double difference = larger_seconds - smaller_seconds;
    return difference > CPU_TOLERANCE_SECONDS && difference > CPU_TOLERANCE * larger_seconds;
}

/* By the kernel's word on everybody who ended. The total is there only if nobody's end was missed. */
static struct headline_answer cpu_by_exits(const struct record *summary,
                                           const struct headline_method_facts *facts)
{
    bool some_live = facts->living_cpu_seconds > 0;
    struct headline_answer exits =
        answer(summary, "exit_cpu_seconds_total", some_live ? &note_with_living : NULL);

    exits.has = exits.has && facts->living_cpu_seconds >= 0;
    exits.value += facts->living_cpu_seconds;
    return exits;
}

/* The own group's count; else that of the exits; else the ledger's. None of them ever counts too much: where
 * one of the others has more than the group, processes have been moved out of it. */
static struct headline_answer cpu_seconds(const struct record *summary,
                                          const struct headline_method_facts *facts)
{
    struct headline_answer group = answer(summary, "cgroup_cpu_seconds", NULL);
    struct headline_answer other = cpu_by_exits(summary, facts);

    if (!other.has)
        other = answer(summary, "proc_cpu_seconds", facts->cpu_note);
    if (!facts->own_cgroup || !group.has)
        return other;
    if (!other.has || !cpu_exceeds(other.value, group.value))
        return group;
    if (!other.note.text)
        other.note = note_left_group;
    return other;
}

/* Those that were born, and those that were there. */
static struct headline_answer processes(const struct record *summary,
                                        const struct headline_method_facts *facts)
{
    const struct note *note = facts->spawned_is_exact ? NULL : &note_spawns_unseen;

    if (facts->found)
        note = note ? &note_with_found_unseen : &note_with_found;
    struct headline_answer all = answer(summary, "proc_spawned", note);
    all.value += (double)facts->found;
    return all;
}

struct headline headline_of(const struct record *summary, const struct headline_method_facts *facts)
{
    struct headline headline = {0};
    bool own = facts->own_cgroup;

    headline.cpu_seconds = cpu_seconds(summary, facts);
    headline.peak_memory_bytes = peak_memory(summary, facts);
    if (own)
        headline.memory_upper_bound = answer(summary, "cgroup_mem_peak", &note_page_cache);
    /* Pages that somebody else read first are charged to him: then it is no bound. */
    if (headline.memory_upper_bound.value < headline.peak_memory_bytes.value)
        headline.memory_upper_bound.has = false;
    headline.processes = processes(summary, facts);
    headline.stalls[STALL_CPU] = stall(summary, facts, "cgroup_ave_psi_cpu_some_pct", "psi_ave_cpu_some_pct");
    headline.stalls[STALL_MEMORY] =
        stall(summary, facts, "cgroup_ave_psi_memory_some_pct", "psi_ave_memory_some_pct");
    headline.stalls[STALL_IO] = stall(summary, facts, "cgroup_ave_psi_io_some_pct", "psi_ave_io_some_pct");
    compare_methods(summary, facts, &headline);
    return headline;
}

bool headline_ledger_misses(const struct record *summary, const struct headline_method_facts *facts)
{
    struct headline_answer exits = cpu_by_exits(summary, facts);
    double group, ledger;

    if (!record_number(summary, "proc_cpu_seconds", &ledger))
        return false;
    return (exits.has && cpu_exceeds(exits.value, ledger)) ||
           (facts->own_cgroup && record_number(summary, "cgroup_cpu_seconds", &group) &&
            cpu_exceeds(group, ledger));
}

/* What two methods count, and what it means that the first has more, or the second; NULL: that is no
 * disagreement. */
static void compare_cpu(struct strbuf *out, const char *first_counts, double first, const char *second_name,
                        double second, const char *if_first_has_more, const char *if_second_has_more)
{
    char texts[2][UNIT_TEXT_SIZE];
    const char *meaning = cpu_exceeds(first, second)   ? if_first_has_more
                          : cpu_exceeds(second, first) ? if_second_has_more
                                                       : NULL;

    if (meaning)
        strbuf_addf(out, "CPU: %s %s, %s %s: %s\n", first_counts, unit_human(UNIT_SECONDS, first, texts[0]),
                    second_name, unit_human(UNIT_SECONDS, second, texts[1]), meaning);
}

static void compare_cpu_methods(struct strbuf *out, const struct record *summary,
                                const struct headline_method_facts *facts)
{
    const bool own = facts->own_cgroup;
    const char *group_counts = own ? "its control group counts" : "the control group it began in counts";
    struct headline_answer exits = cpu_by_exits(summary, facts);
    struct headline_answer ledger = answer(summary, "proc_cpu_seconds", NULL);
    struct headline_answer group = answer(summary, "cgroup_cpu_seconds", NULL);

    group.has = group.has && (own || facts->began_in_cgroup);
    if (group.has && ledger.has)
        compare_cpu(out, group_counts, group.value, "/proc readings", ledger.value,
                    own ? "the kernel dropped the times of processes that ended; the group is right" : NULL,
                    "some of its processes left the group; the /proc readings are right");
    if (group.has && exits.has)
        compare_cpu(out, group_counts, group.value, "exit reports", exits.value,
                    own ? "a process in the group was not followed; the group is right" : NULL,
                    "some of its processes left the group; the exit reports are right");
    if (!own && exits.has && ledger.has)
        compare_cpu(out, "exit reports count", exits.value, "/proc readings", ledger.value,
                    "the kernel dropped the times of processes that ended; the exit reports are right",
                    "the exit of a process was not reported; the /proc readings are right");
}

void headline_disagreements(struct strbuf *out, const struct record *summary,
                            const struct headline_method_facts *facts)
{
    double charge, shares;
    char first[UNIT_TEXT_SIZE], second[UNIT_TEXT_SIZE];

    compare_cpu_methods(out, summary, facts);
    if ((facts->own_cgroup || facts->began_in_cgroup) && record_number(summary, "cgroup_mem_peak", &charge) &&
        record_number(summary, "smaps_peak_pss_total", &shares) &&
        shares - charge > CHARGE_TOLERANCE * shares && shares - charge > CHARGE_TOLERANCE_BYTES)
        strbuf_addf(out,
                    "memory: the processes held %s (smaps_pss_total), their control group was charged %s: "
                    "some of it is charged to another group\n",
                    unit_human(UNIT_BYTES, shares, first), unit_human(UNIT_BYTES, charge, second));
}
