/*
 * When samples are due: on absolute deadlines, start + k x interval, so that nothing drifts; and once early,
 * after a tenth of the first interval (at least 10 ms), so that a command shorter than the interval is seen
 * at all. Arithmetic only.
 */
#ifndef METRON_LOOP_TICKER_H
#define METRON_LOOP_TICKER_H

#include <stdint.h>

struct ticker {
    uint64_t start_ns, interval_ns;
    uint64_t next_ns; /* the next deadline */
};

void ticker_init(struct ticker *ticker, uint64_t start_ns, uint64_t interval_ns);
/* The deadline was served at `now_ns`: sets the next one after it and returns how many full deadlines were
 * missed. */
uint64_t ticker_advance(struct ticker *ticker, uint64_t now_ns);
/* We were stopped: sets the next deadline after `now_ns`; what lay in between was not missed. */
void ticker_resume(struct ticker *ticker, uint64_t now_ns);

#endif
