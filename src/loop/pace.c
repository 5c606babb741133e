#include "loop/pace.h"

#include "base/clock.h"

/* A fast sample is followed within this, or the first one: a rate over less is too coarse for a record. */
#define FAST_RATE_NS (PACE_FAST_NS / 4)

static uint64_t to_ns(double seconds)
{
    return (uint64_t)(seconds * (double)NS_PER_SECOND);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t elapsed_ns(const struct pace *pace, uint64_t now_ns)
{
    const uint64_t start_ns = pace->ticker.start_ns;

    return start_ns && now_ns > start_ns ? now_ns - start_ns : 0;
}

static bool is_fast(const struct pace *pace, uint64_t now_ns)
{
    return pace->options.sample_auto && elapsed_ns(pace, now_ns) < PACE_FAST_UNTIL_NS;
}

static uint64_t sample_ns(const struct pace *pace, uint64_t now_ns)
{
    return is_fast(pace, now_ns) ? PACE_FAST_NS : to_ns(pace->options.sample_seconds);
}

void pace_init(struct pace *pace, const struct pace_options *options)
{
    *pace = (struct pace){.options = *options};
}

/* The next sample that is owed, or a fast one before it. */
static void set_next(struct pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
    pace->next_ns = pace->ticker.next_ns;
    if (!is_fast(pace, now_ns) || cost_ns >= PACE_FAST_COST_NS)
        return;
    const uint64_t passed = elapsed_ns(pace, now_ns) / PACE_FAST_NS;
    pace->next_ns = smaller(pace->next_ns, pace->ticker.start_ns + (passed + 1) * PACE_FAST_NS);
}

void pace_begin(struct pace *pace, uint64_t start_ns)
{
    ticker_init(&pace->ticker, start_ns, to_ns(pace->options.sample_seconds));
    set_next(pace, start_ns, 0);
    pace->next_report_ns = start_ns + to_ns(pace->options.report_seconds);
}

uint64_t pace_sampled(struct pace *pace, uint64_t now_ns, uint64_t cost_ns)
{
    const bool was_owed = pace->next_ns == pace->ticker.next_ns || now_ns >= pace->ticker.next_ns;
    const uint64_t missed = was_owed ? ticker_advance(&pace->ticker, now_ns) : 0;

    pace->has_sample = pace->has_sample || cost_ns > 0;
    set_next(pace, larger(now_ns, pace->next_ns), cost_ns);
    return missed;
}

void pace_resume(struct pace *pace, uint64_t now_ns)
{
    ticker_resume(&pace->ticker, now_ns);
    set_next(pace, now_ns, 0);
}

/* By the time that has passed. */
static uint64_t report_ns(const struct pace *pace, uint64_t now_ns)
{
    const uint64_t longest = to_ns(pace->options.report_seconds);

    if (!pace->options.report_auto)
        return longest;
    return larger(smaller(elapsed_ns(pace, now_ns) / PACE_SHARE, longest), sample_ns(pace, now_ns));
}

bool pace_report_is_due(const struct pace *pace, uint64_t now_ns)
{
    if (!pace->options.report_auto)
        return now_ns >= pace->next_report_ns;
    if (!pace->reported_ns || !pace->has_sample)
        return pace->has_sample;
    const double allowed =
        (double)elapsed_ns(pace, now_ns) / (double)NS_PER_SECOND * (double)PACE_BYTES_PER_SECOND;
    return now_ns + sample_ns(pace, now_ns) / 2 >= pace->reported_ns + report_ns(pace, now_ns) &&
           (double)(pace->bytes + pace->latest_bytes) <= allowed;
}

void pace_reported(struct pace *pace, uint64_t now_ns, uint64_t bytes)
{
    if (!pace->options.report_auto && now_ns >= pace->next_report_ns) {
        const uint64_t interval = report_ns(pace, now_ns);
        pace->next_report_ns += ((now_ns - pace->next_report_ns) / interval + 1) * interval;
    }
    if (!pace->reported_ns || pace_report_is_due(pace, now_ns))
        pace->latest_bytes = bytes; /* not of the rest at the end, which may be small */
    pace->reported_ns = now_ns;
    pace->has_sample = false;
    pace->bytes += bytes;
}

double pace_report_interval(const struct pace *pace, uint64_t now_ns)
{
    const double by_time = (double)report_ns(pace, now_ns) / (double)NS_PER_SECOND;
    const double by_size = (double)pace->latest_bytes / (double)PACE_BYTES_PER_SECOND;

    if (!pace->options.report_auto)
        return pace->options.report_seconds;
    return by_size > by_time ? by_size : by_time;
}

uint64_t pace_record_rate_ns(const struct pace *pace)
{
    return pace->options.sample_auto ? FAST_RATE_NS : to_ns(pace->options.sample_seconds) / 2;
}

uint64_t pace_summary_rate_ns(const struct pace *pace)
{
    const uint64_t sample = to_ns(pace->options.sample_seconds);

    return pace->options.sample_auto ? sample - PACE_FAST_NS / 2 : sample / 2;
}
