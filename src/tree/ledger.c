#include "tree/ledger.h"

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

struct ledger_sum ledger_of_process(const struct pid_stat *stat, uint64_t cpu_ns)
{
    const double tick = 1.0 / (double)clock_ticks_per_second();
    double own = cpu_ns ? (double)cpu_ns / (double)NS_PER_SECOND
                        : (double)(stat->user_ticks + stat->system_ticks) * tick;
    return (struct ledger_sum){
        .cpu_seconds = own + (double)(stat->child_user_ticks + stat->child_system_ticks) * tick,
        .minor_faults = stat->minor_faults + stat->child_minor_faults,
        .major_faults = stat->major_faults + stat->child_major_faults,
    };
}

struct ledger_sum ledger_minus(struct ledger_sum a, struct ledger_sum b)
{
    return (struct ledger_sum){
        .cpu_seconds = a.cpu_seconds > b.cpu_seconds ? a.cpu_seconds - b.cpu_seconds : 0,
        .minor_faults = a.minor_faults > b.minor_faults ? a.minor_faults - b.minor_faults : 0,
        .major_faults = a.major_faults > b.major_faults ? a.major_faults - b.major_faults : 0,
    };
}

void ledger_add(struct ledger_sum *to, struct ledger_sum sum)
{
    to->cpu_seconds += sum.cpu_seconds;
    to->minor_faults += sum.minor_faults;
    to->major_faults += sum.major_faults;
}

void ledger_reap(struct ledger *ledger, const struct rusage *usage)
{
    struct ledger_sum sum = {
        .cpu_seconds = clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime),
        .minor_faults = (uint64_t)usage->ru_minflt,
        .major_faults = (uint64_t)usage->ru_majflt,
    };
    struct rusage *all = &ledger->reaped;

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

void ledger_publish(struct ledger *ledger)
{
    struct ledger_sum now = ledger->gone;
    struct ledger_sum *published = &ledger->published;

    ledger_add(&now, ledger->live);
    if (now.cpu_seconds > published->cpu_seconds)
        published->cpu_seconds = now.cpu_seconds;
    if (now.minor_faults > published->minor_faults)
        published->minor_faults = now.minor_faults;
    if (now.major_faults > published->major_faults)
        published->major_faults = now.major_faults;
}
