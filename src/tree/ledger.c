#include "tree/ledger.h"

#include <stddef.h>

#include "base/clock.h"

static struct timeval timeval_add(struct timeval a, struct timeval b)
{
    struct timeval sum = {a.tv_sec + b.tv_sec, a.tv_usec + b.tv_usec};
    if (sum.tv_usec >= 1000000) {
        sum.tv_sec++;
        sum.tv_usec -= 1000000;
    }
    return sum;
}

static void add_io(struct ledger_sum *sum, const struct pid_io *io)
{
    sum->counts[LEDGER_RCHAR] += io->rchar;
    sum->counts[LEDGER_WCHAR] += io->wchar;
    sum->counts[LEDGER_SYSCR] += io->syscr;
    sum->counts[LEDGER_SYSCW] += io->syscw;
    sum->counts[LEDGER_READ_BYTES] += io->read_bytes;
    sum->counts[LEDGER_WRITE_BYTES] += io->write_bytes;
}

struct ledger_sum ledger_of_process(const struct pid_stat *stat, uint64_t cpu_ns, const struct pid_io *io)
{
    const double tick = 1.0 / (double)clock_ticks_per_second();
    double own = cpu_ns ? (double)cpu_ns / (double)NS_PER_SECOND
                        : (double)(stat->user_ticks + stat->system_ticks) * tick;
    struct ledger_sum sum = {
        .cpu_seconds = own + (double)(stat->child_user_ticks + stat->child_system_ticks) * tick,
        .counts = {[LEDGER_MINOR_FAULTS] = stat->minor_faults + stat->child_minor_faults,
                   [LEDGER_MAJOR_FAULTS] = stat->major_faults + stat->child_major_faults},
    };
    if (io)
        add_io(&sum, io);
    return sum;
}

struct ledger_sum ledger_minus(struct ledger_sum a, struct ledger_sum b)
{
    struct ledger_sum rest = {.cpu_seconds =
                                  a.cpu_seconds > b.cpu_seconds ? a.cpu_seconds - b.cpu_seconds : 0};

    for (size_t i = 0; i < LEDGER_COUNT; i++)
        rest.counts[i] = a.counts[i] > b.counts[i] ? a.counts[i] - b.counts[i] : 0;
    return rest;
}

void ledger_add(struct ledger_sum *to, struct ledger_sum sum)
{
    to->cpu_seconds += sum.cpu_seconds;
    for (size_t i = 0; i < LEDGER_COUNT; i++)
        to->counts[i] += sum.counts[i];
}

void ledger_reap(struct ledger *ledger, const struct rusage *usage, const struct pid_io *io)
{
    static const uint64_t block_bytes = 512;
    struct ledger_sum sum = {
        .cpu_seconds = clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime),
        .counts = {[LEDGER_MINOR_FAULTS] = (uint64_t)usage->ru_minflt,
                   [LEDGER_MAJOR_FAULTS] = (uint64_t)usage->ru_majflt},
    };
    struct rusage *all = &ledger->reaped;

    if (io) {
        add_io(&sum, io);
    } else {
        sum.counts[LEDGER_READ_BYTES] = (uint64_t)usage->ru_inblock * block_bytes;
        sum.counts[LEDGER_WRITE_BYTES] = (uint64_t)usage->ru_oublock * block_bytes;
    }
    ledger_add(&ledger->gone, sum);
    ledger->reaped_cpu_seconds += sum.cpu_seconds;
    ledger->reaped_count++;
    all->ru_utime = timeval_add(all->ru_utime, usage->ru_utime);
    all->ru_stime = timeval_add(all->ru_stime, usage->ru_stime);
    all->ru_nvcsw += usage->ru_nvcsw;
    all->ru_nivcsw += usage->ru_nivcsw;
    all->ru_inblock += usage->ru_inblock;
    all->ru_oublock += usage->ru_oublock;
    if (usage->ru_maxrss > all->ru_maxrss)
        all->ru_maxrss = usage->ru_maxrss;
}

/* Less than this is not told from what a tick of each process may hide. */
#define DROP_SECONDS 0.1
#define DROP_SHARE   0.005

static void note_dropped(struct ledger *ledger, double deficit)
{
    if (deficit > DROP_SECONDS && deficit > DROP_SHARE * ledger->published.cpu_seconds &&
        deficit > ledger->dropped_cpu_seconds)
        ledger->dropped_cpu_seconds = deficit;
}

void ledger_publish(struct ledger *ledger)
{
    struct ledger_sum now = ledger->gone;
    struct ledger_sum *published = &ledger->published;
    double smallest;

    ledger_add(&now, ledger->live);
    smallest = published->cpu_seconds - now.cpu_seconds;
    for (size_t i = LEDGER_PATIENCE - 1; i > 0; i--)
        ledger->deficits[i] = ledger->deficits[i - 1];
    ledger->deficits[0] = smallest;
    for (size_t i = 1; i < LEDGER_PATIENCE; i++)
        if (ledger->deficits[i] < smallest)
            smallest = ledger->deficits[i];
    note_dropped(ledger, smallest);

    if (now.cpu_seconds > published->cpu_seconds)
        published->cpu_seconds = now.cpu_seconds;
    for (size_t i = 0; i < LEDGER_COUNT; i++)
        if (now.counts[i] > published->counts[i])
            published->counts[i] = now.counts[i];
}

void ledger_settle(struct ledger *ledger)
{
    note_dropped(ledger, ledger->deficits[0]);
}
