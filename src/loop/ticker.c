#include "loop/ticker.h"

#define EARLY_SHARE 10
#define EARLIEST_NS 10000000ULL

void ticker_init(struct ticker *ticker, uint64_t start_ns, uint64_t interval_ns)
{
    uint64_t first = interval_ns / EARLY_SHARE;

    if (first < EARLIEST_NS)
        first = EARLIEST_NS;
    if (first > interval_ns)
        first = interval_ns;
    *ticker = (struct ticker){start_ns, interval_ns, start_ns + first};
}

/* The first deadline after `now_ns`. */
static uint64_t deadline_after(const struct ticker *ticker, uint64_t now_ns)
{
    uint64_t next = ticker->next_ns;

    if (next <= now_ns && next < ticker->start_ns + ticker->interval_ns)
        next = ticker->start_ns + ticker->interval_ns;
    if (next <= now_ns)
        next += ((now_ns - next) / ticker->interval_ns + 1) * ticker->interval_ns;
    return next;
}

uint64_t ticker_advance(struct ticker *ticker, uint64_t now_ns)
{
    uint64_t served = ticker->next_ns;

    ticker->next_ns = deadline_after(ticker, now_ns > served ? now_ns : served);
    /* Full deadlines strictly between the one served and the next. The early one stands for the start. */
    if (served < ticker->start_ns + ticker->interval_ns)
        served = ticker->start_ns;
    return (ticker->next_ns - served) / ticker->interval_ns - 1;
}

void ticker_resume(struct ticker *ticker, uint64_t now_ns)
{
    ticker->next_ns = deadline_after(ticker, now_ns);
}
