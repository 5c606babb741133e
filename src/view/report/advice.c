/*
 * Section of a report: what to do next. Each rule looks at numbers of this run and says nothing unless they
 * support it; what it says has those numbers in it.
 */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "learn/suggestion.h"
#include "view/report/report.h"

/* From where on something is worth a sentence; shares where no unit is named. */
#define NEAR_THE_LIMIT   0.9
#define MEMORY_STALL     0.1
#define IO_STALL         0.2
#define MOST_OF_THE_CPU  0.5
#define MANY_PROCESSES   20
#define BUSY             0.8 /* of the CPUs */
#define MISSED_TICKS     0.1
#define IDLE             0.05 /* cores: of what uses less, nothing is known of the CPUs it needs */
#define SHORTEST_TO_TELL 1.0  /* seconds: of shorter runs averages say little, and little can be saved */

struct advice {
    struct report_item *table;
    struct report_page *page;
    const struct report_evidence *evidence;
};

static void advise(const struct advice *advice, const char *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void advise(const struct advice *advice, const char *about, const char *format, ...)
{
    struct report_value *row = report_add_row(advice->table);
    va_list arguments;

    if (!row)
        return;
    va_start(arguments, format);
    row[0] = report_text(about);
    row[1] = report_text(report_vtext_of(advice->page, format, arguments));
    va_end(arguments);
}

static bool number_of(const struct advice *advice, const char *field, double *out)
{
    return recording_number(advice->evidence->recording, field, out);
}

/* The memory limit that was in force: the group's own as it was seen, else what it may use. */
static bool limit_of(const struct advice *advice, double *limit)
{
    const struct report_measure *seen =
        report_measure_of(&advice->evidence->measures, TOPIC_MEMORY_LIMIT, "peak");

    if (seen)
        *limit = seen->value;
    return seen != NULL || number_of(advice, "system.may_use.memory", limit);
}

static bool was_oom(const struct advice *advice)
{
    const struct report_measure *kills =
        report_measure_of(&advice->evidence->measures, TOPIC_PROCESS_OOM_KILLS, NULL);

    return advice->evidence->events.oom_count > 0 || (kills && kills->value > 0) ||
           recording_field(advice->evidence->recording, "outcome.oom_victim");
}

/* Killed for memory: its peak is a lower bound, so the next request cannot be taken from it. */
static bool advise_oom(const struct advice *advice)
{
    struct report_page *page = advice->page;
    double peak = 0, limit = 0, code = 0;

    if (!was_oom(advice))
        return false;
    bool has_peak = number_of(advice, "peak_memory", &peak), has_limit = limit_of(advice, &limit);
    if (recording_met_limit(advice->evidence->recording) && has_limit && has_peak)
        advise(advice, "memory",
               "The OOM killer struck at a limit of %s, when at least %s was held. What it needs "
               "is more than that, and not known from this run: begin with %s.",
               report_human(page, UNIT_BYTES, limit), report_human(page, UNIT_BYTES, peak),
               report_human(page, UNIT_BYTES, suggestion_round_memory(SUGGESTION_BEYOND_LIMIT * limit)));
    else
        advise(advice, "memory",
               "The OOM killer struck: the peak of this run is a lower bound of what it needs.");
    if (number_of(advice, "exit_code", &code) && code == 0)
        advise(advice, "outcome",
               "It exited with 0 although the OOM killer killed one of its processes: its result may not be "
               "complete.");
    return true;
}

static void advise_memory(const struct advice *advice)
{
    struct report_page *page = advice->page;
    const struct report_measure *swap =
        report_measure_of(&advice->evidence->measures, TOPIC_MEMORY_SWAP, "peak");
    const struct recorded_field *headline = recording_field(advice->evidence->recording, "peak_memory");
    double peak = 0, limit = 0;

    if (advise_oom(advice))
        return;
    if (number_of(advice, "peak_memory", &peak) && number_of(advice, "system.may_use.memory", &limit) &&
        limit > 0 && peak / limit >= NEAR_THE_LIMIT)
        advise(advice, "memory",
               "Its peak of %s is %s of the %s it may use: a slightly larger input may be killed.",
               report_human(page, UNIT_BYTES, peak), report_human(page, UNIT_PERCENT, 100 * peak / limit),
               report_human(page, UNIT_BYTES, limit));
    if (swap && swap->value > 0)
        advise(advice, "memory", "Up to %s of it was in swap: memory was short.",
               report_human(page, UNIT_BYTES, swap->value));
    if (headline && headline->bound == BOUND_UPPER && advice->evidence->recording->kind == RECORDING_METRON)
        advise(advice, "memory",
               "The peak of %s is an upper bound (%s). A control group of its own (metron run --cgroup "
               "own), or --smaps, tells what was really held; metron doctor says what works here.",
               report_human(page, UNIT_BYTES, headline->number), headline->source ? headline->source : "?");
}

/* It came to its own end: what was cut short would have gone on otherwise. */
static bool is_whole(const struct advice *advice)
{
    double signal;

    return advice->evidence->recording->status == RECORDING_ENDED && !number_of(advice, "signal", &signal) &&
           !was_oom(advice);
}

static const struct report_measure *throttled_of(const struct report_evidence *evidence)
{
    return report_measure_of(&evidence->measures, TOPIC_CPU_THROTTLED, NULL);
}

/* Of a run that has not ended too: how long it was held back is in its records. */
struct cpu_shortage report_cpu_shortage(const struct report_evidence *evidence)
{
    struct cpu_shortage shortage = cpu_shortage_of(evidence->recording);
    const struct report_measure *throttled = throttled_of(evidence);
    double wall;

    if (throttled && report_wall(evidence, &wall) && wall > 0)
        shortage.throttled = throttled->value / wall;
    return shortage;
}

/* How many CPUs are enough for it, as far as it had all that it could use. */
static void advise_cores(const struct advice *advice, const struct cpu_shortage *shortage)
{
    const struct parallelism *parallelism = &advice->evidence->parallelism;
    struct report_page *page = advice->page;
    const struct report_measure *peak = report_measure_of(&advice->evidence->measures, TOPIC_CPU, "peak");
    const char *source, *note;
    double seconds, wall, cpus;

    if (!report_cpu_seconds(advice->evidence, &seconds, &source, &note) ||
        !report_wall(advice->evidence, &wall) || wall < SHORTEST_TO_TELL || !is_whole(advice) ||
        !number_of(advice, "system.may_use.cpus", &cpus) || cpu_shortage_is_long(shortage) ||
        parallelism->records == 0 || seconds < IDLE * wall ||
        recording_field(advice->evidence->recording, "attached.children"))
        return;
    size_t enough = parallelism_enough(parallelism);
    double longer = 100 * (parallelism_stretch(parallelism, enough) - 1);
    if (cpus < 2 || (double)enough > cpus / 2)
        return;
    if (cpu_shortage_is_possible(shortage)) {
        advise(advice, "cpu",
               "It ran on busy CPUs and may have waited for one: that it used %.2f of its %.4g CPUs is no "
               "reason to request fewer. Run it where CPUs are free.",
               seconds / wall, cpus);
        return;
    }
    const char *most = peak ? report_text_of(page, ", %.2f at most", peak->value / 100) : "";
    const char *how_long =
        longer < 0.5 ? "no longer"
                     : report_text_of(page, "about %s longer", report_human(page, UNIT_PERCENT, longer));
    const char *doubt = "";
    if (parallelism_hides_bursts(parallelism, peak ? peak->value / 100 : NAN))
        doubt = report_text_of(
            page,
            " But its records, of up to %s, average bursts: record it with --report-interval 1 "
            "before you do.",
            report_human(page, UNIT_SECONDS, parallelism->longest));
    advise(advice, "cpu",
           "It kept %.2f of its %.4g CPUs busy on average%s. With %zu it would take %s: request %zu.%s",
           seconds / wall, cpus, most, enough, how_long, enough, doubt);
}

/* Its processes waited for a CPU: for each other, or for others? What it used is a lower bound then. */
static void advise_waiting(const struct advice *advice, double share)
{
    struct report_page *page = advice->page;
    const struct report_measure *machine =
        report_measure_of(&advice->evidence->measures, TOPIC_MACHINE_CPU, "ave");
    const char *source, *note, *why = "";
    double seconds, wall, cpus, cores;

    if (!report_wall(advice->evidence, &wall) || wall < SHORTEST_TO_TELL ||
        !number_of(advice, "system.may_use.cpus", &cpus) ||
        !report_cpu_seconds(advice->evidence, &seconds, &source, &note))
        return;
    const char *waited = report_human(page, UNIT_PERCENT, 100 * share);
    if (seconds / wall >= BUSY * cpus) {
        advise(advice, "cpu",
               "It kept the %.4g CPUs it may use busy, and %s of the time some of it waited for one of them: "
               "with more CPUs it would be faster.",
               cpus, waited);
        return;
    }
    if (machine && number_of(advice, "system.cpu_total", &cores) && machine->value >= 100 * BUSY * cores)
        why = report_text_of(page, ": others kept the machine busy (%.1f of its %.4g CPUs)",
                             machine->value / 100 < cores ? machine->value / 100 : cores, cores);
    advise(
        advice, "cpu",
        "%s of the time it waited for a CPU%s. The %.2f cores that it used are a lower bound, and its times "
        "say little: run it where CPUs are free before you request fewer.",
        waited, why, seconds / wall);
}

static void advise_stalls(const struct advice *advice, const struct cpu_shortage *shortage)
{
    struct report_page *page = advice->page;
    const struct report_measure *throttled = throttled_of(advice->evidence);
    double share;

    if (shortage->throttled >= CPU_SHORTAGE_THROTTLED)
        advise(advice, "cpu", "Its quota held it back for %s (%s): a larger one would make it faster.",
               report_human(page, UNIT_SECONDS, throttled->value), throttled->name);
    else if (shortage->waited > CPU_SHORTAGE_WAITED)
        advise_waiting(advice, shortage->waited);
    if (number_of(advice, "stall.memory.share", &share) && share >= MEMORY_STALL)
        advise(advice, "memory",
               "%s of the time was lost for want of memory (%s): with more of it it would be faster.",
               report_human(page, UNIT_PERCENT, 100 * share),
               recording_text(advice->evidence->recording, "stall.memory.source"));
    if (number_of(advice, "stall.io.share", &share) && share >= IO_STALL)
        advise(advice, "io", "%s of the time some process waited for I/O (%s).",
               report_human(page, UNIT_PERCENT, 100 * share),
               recording_text(advice->evidence->recording, "stall.io.source"));
}

static void advise_programs(const struct advice *advice)
{
    const struct report_events *events = &advice->evidence->events;
    struct report_page *page = advice->page;
    struct report_program first;
    double wall;

    if (!report_wall(advice->evidence, &wall) || wall < SHORTEST_TO_TELL ||
        !report_programs_top(events, &first, 1) || first.with_use < MANY_PROCESSES ||
        !(events->cpu_seconds > 0) || first.cpu_seconds < MOST_OF_THE_CPU * events->cpu_seconds)
        return;
    advise(advice, "processes",
           "%s of the CPU was in %s processes of %s, %s each on average: that is where time can be saved.",
           report_human(page, UNIT_PERCENT, 100 * first.cpu_seconds / events->cpu_seconds),
           report_human(page, UNIT_COUNT, (double)first.with_use),
           first.name[0] ? first.name : REPORT_NOT_TOLD,
           report_human(page, UNIT_SECONDS, first.cpu_seconds / (double)first.with_use));
}

static bool is_false(const struct advice *advice, const char *field)
{
    const struct recorded_field *found = recording_field(advice->evidence->recording, field);
    return found && found->kind == FIELD_BOOLEAN && found->number == 0;
}

/* How the next recording of the same would tell more. */
static void advise_measuring(const struct advice *advice)
{
    const struct report_measures *measures = &advice->evidence->measures;
    const struct report_measure *missed = report_measure_of(measures, TOPIC_SELF_MISSED, NULL);
    const struct report_measure *taken = report_measure_of(measures, TOPIC_SELF_SAMPLES, NULL);
    const struct recorded_field *cpu = recording_field(advice->evidence->recording, "cpu_seconds");
    struct report_page *page = advice->page;
    double survivors, interval = 0;

    bool lacks_cpu = is_false(advice, "provenance.cpu_is_conserved") && cpu && cpu->source &&
                     strcmp(cpu->source, "proc_cpu_seconds") == 0;
    if (lacks_cpu && recording_field(advice->evidence->recording, "attached.children"))
        advise(advice, "cpu",
               "The CPU seconds are a lower bound: what some processes used between their last sample and "
               "their end is not known. With kernel events it is: metron doctor says what they need here.");
    else if (lacks_cpu)
        advise(advice, "cpu",
               "The CPU seconds are a lower bound: some were dropped by the kernel. A control group of its "
               "own (metron run --cgroup own) counts them all.");
    if (is_false(advice, "provenance.spawned_is_exact"))
        advise(advice, "processes",
               "Processes that lived between two samples may have been missed. With kernel events none is: "
               "metron doctor says what they need here.");
    if (number_of(advice, "survivors.count", &survivors) && survivors > 0)
        advise(advice, "processes",
               "%s outlived the command; what %s used afterwards is not in these figures: metron run "
               "--wait tree waits for such.",
               survivors == 1 ? "A process" : report_human(page, UNIT_COUNT, survivors),
               survivors == 1 ? "it" : "they");
    if (missed && taken && missed->value > MISSED_TICKS * (missed->value + taken->value) &&
        number_of(advice, "provenance.sample_interval", &interval))
        advise(advice, "metron",
               "%s samples were missed, %s were taken: an interval longer than %s (--sample-interval) "
               "would be kept.",
               report_human(page, UNIT_COUNT, missed->value), report_human(page, UNIT_COUNT, taken->value),
               report_human(page, UNIT_SECONDS, interval));
    if (advice->evidence->recording->kind == RECORDING_DUCT)
        advise(advice, "cpu",
               "How much CPU it used cannot be told exactly from this recording: metron run counts CPU "
               "seconds.");
}

/* Signals that a program earns by a fault of its own. */
static bool is_crash(int number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (faults[i] == number)
            return true;
    return false;
}

/* Where to look for the reason of a failure. */
static void advise_failure(const struct advice *advice)
{
    const struct recording *recording = advice->evidence->recording;
    const struct report_events *events = &advice->evidence->events;
    const char *captured = recording_text(recording, "output_paths.stderr");
    const char *prefix = recording_text(recording, "prefix");
    struct stat file;
    double code, signal;

    if (!number_of(advice, "exit_code", &code) || code == 0 || was_oom(advice))
        return;
    if (recording_met_time_limit(recording)) {
        advise(advice, "outcome",
               "The time of its job was up (%s): request more, or let it write checkpoints.",
               recording_text(recording, "outcome.time_limit.source"));
        return;
    }
    bool by_another = events->root_killer_is_told && events->root_killer != 0;
    if (number_of(advice, "signal", &signal) && is_crash((int)signal) && !by_another)
        advise(advice, "outcome",
               "SIG%s is a fault of the program itself: with a core file (ulimit -c unlimited "
               "before it runs) gdb or coredumpctl shows where.",
               sigabbrev_np((int)signal));
    /* By where its files lie now: the recorded path is from where it ran. */
    const char *path = captured && prefix ? report_text_of(advice->page, "%sstderr", prefix) : NULL;
    if (path && stat(path, &file) == 0 && file.st_size > 0)
        advise(advice, "outcome", "See %s, where its stderr was captured.", path);
}

void report_advice(struct report_page *page, const struct report_evidence *evidence)
{
    enum { ROWS = 12 };
    static const struct report_column columns[] = {
        {"about", "", UNIT_NONE, NULL, REPORT_CUT},
        {"text", "", UNIT_NONE, NULL, REPORT_PROSE},
    };
    struct report_section *section = report_section_add(page, "next", "What to do next");
    const struct advice advice = {.table = report_add_table(section, "advice", NULL, columns, 2, ROWS),
                                  .page = page,
                                  .evidence = evidence};
    const struct cpu_shortage shortage = report_cpu_shortage(evidence);

    advise_failure(&advice);
    advise_memory(&advice);
    advise_cores(&advice, &shortage);
    advise_stalls(&advice, &shortage);
    advise_programs(&advice);
    advise_measuring(&advice);
}
