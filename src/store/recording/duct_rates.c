/*
 * CPU from con-duct's records. pcpu there is an average over the life of the process, so pcpu x etime is the
 * CPU time it had used by then, and the difference of two such is what it used between them. It is rounded:
 * pcpu to 0.1 %, etime to whole seconds. Hence:
 *
 * - pcpu_seconds, of each process: how much further pcpu x etime has come; over all records that is the
 *   pcpu x etime that the process was last seen with.
 * - pcpu_rate, of each process: over at least a second and a fiftieth of its age, because over less the 0.1 %
 *   alone would be more than 5 % of a core. Its span goes back to where the last one ended; that of a process
 *   that is seen for the first time, and began since the record before, to its beginning.
 * - total_pcpu_rate: what all used since the last total, also those that have ended by now, over that time.
 *   It waits for a fiftieth of the age of the oldest, and while a process may have used what its whole
 * seconds do not show yet, for ten times as long as that. Where it cannot be known what was used (a process
 *   with a life before the run, or a figure that fell) there is none, and the next begins there.
 */
#include "store/recording/duct_rates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash_table.h"
#include "store/recording/duct.h"

/* The share of the age over which a process is judged. */
#define BASELINE_SHARE 0.02
/* How much CPU may be missing in a total, as a share of its time. */
#define OPEN_SHARE 0.1
/* How far two estimates of the start of one process may lie apart. */
#define SAME_START_SECONDS 3.0
#define FIRST_ROOM         32

struct known_process {
    uint64_t pid;
    struct duct_sighting base; /* where its last rate ended */
    double base_end;           /* the end of that record */
    struct duct_sighting last; /* when its etime was seen to grow */
    double open;               /* CPU seconds that it may have used and that are in no total yet */
    double seconds;            /* that were added to records so far */
    uint64_t record;           /* when it was seen last */
    UT_hash_handle hh;
};

struct duct_rates {
    struct known_process *processes; /* owned; uthash by pid */
    size_t room;                     /* with so many of them those are forgotten that have gone */
    uint64_t record;
    double start;       /* of the run; 0: unknown */
    double previous;    /* the end of the record before; 0: unknown */
    double total_begin; /* of the total that is gathered; 0: unknown */
    double total_used;  /* CPU seconds since */
    bool total_seen;    /* some process was */
    bool total_lost;    /* what was used is not known */
    double gone_open;   /* the same of those that are forgotten, since the last total */
    bool is_exact;      /* pcpu is of a process that is not a second old, too: of another ps it is 0 */
    /* Of the record at hand: */
    double newest, oldest_age;
};

int duct_rates_new(double start, struct duct_rates **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    (*out)->room = FIRST_ROOM;
    (*out)->start = start > 0 ? start : 0;
    (*out)->previous = (*out)->total_begin = (*out)->start;
    return 0;
}

void duct_rates_free(struct duct_rates *rates)
{
    if (rates)
        HASH_FREE_ALL(rates->processes, free);
    free(rates);
}

/* Keeps the processes of this record and of the one before, and sets room for twice as many. */
static void forget_ended(struct duct_rates *rates)
{
    struct known_process *known = rates->processes, *next;

    HASH_CLEAR(hh, rates->processes);
    for (; known; known = next) {
        const bool is_kept = known->record + 1 >= rates->record;

        next = known->hh.next;
        if (is_kept)
            HASH_ADD(hh, rates->processes, pid, sizeof(known->pid), known);
        else
            rates->gone_open += known->open;
        if (!is_kept || !known->hh.tbl)
            free(known);
    }
    for (rates->room = FIRST_ROOM; HASH_COUNT(rates->processes) > rates->room / 2;)
        rates->room *= 2;
}

/* 0: it is no pid. */
static uint64_t parse_pid(const char *text)
{
    uint64_t pid = 0;

    for (; *text; text++) {
        if (*text < '0' || *text > '9' || pid > UINT32_MAX)
            return 0;
        pid = pid * 10 + (uint64_t)(*text - '0');
    }
    return pid;
}

static double used_by(const struct duct_sighting *sighting)
{
    return sighting->pcpu / 100 * sighting->etime;
}

static double birth_of(const struct duct_sighting *sighting)
{
    return sighting->wall - sighting->etime;
}

/* When the record ends; the time of its process stands in where it is not read yet. */
static double end_of(const struct usage_reader *reader, const struct duct_sighting *now)
{
    return reader->has_wall ? reader->record.wall : now->wall;
}

static void add_rate(struct usage_reader *reader, const char *subject, double rate, double span)
{
    if (reader->wanted[DUCT_PCPU_RATE])
        usage_add_rate(reader, DUCT_PCPU_RATE, subject, rate, span);
}

/* pcpu x etime may fall by rounding, what was used does not. */
static void add_seconds(struct usage_reader *reader, const char *subject, struct known_process *known,
                        double used)
{
    if (!(used > known->seconds))
        return;
    if (reader->wanted[DUCT_PCPU_SECONDS])
        usage_add_number(reader, DUCT_PCPU_SECONDS, subject, used - known->seconds);
    known->seconds = used;
}

/* What a process may have used in so many seconds that its age in whole ones does not show yet. */
static double open_of(struct duct_rates *rates, const struct duct_sighting *now, double seconds)
{
    rates->is_exact |= now->etime < 1 && now->pcpu > 0;
    return fmin(seconds, 1) * (now->etime >= 1 || rates->is_exact ? now->pcpu / 100 : 1);
}

/* Seen for the first time, or another one with this pid. */
static void begin_process(struct usage_reader *reader, const char *subject, struct known_process *known,
                          const struct duct_sighting *now)
{
    struct duct_rates *rates = reader->rates;
    const double birth = birth_of(now), used = used_by(now), end = end_of(reader, now);

    rates->gone_open += known->open;
    known->base = known->last = *now;
    known->base_end = end;
    known->open = now->etime < 1 ? open_of(rates, now, rates->previous > 0 ? end - rates->previous : 1) : 0;
    known->seconds = 0;
    if (rates->start == 0 || birth >= rates->start - SAME_START_SECONDS)
        add_seconds(reader, subject, known, used);
    else
        known->seconds = used; /* it was there before the run */
    if (rates->total_begin > 0 && birth >= rates->total_begin - SAME_START_SECONDS)
        rates->total_used += used;
    else
        rates->total_lost = true;
    if (now->etime >= 1 && rates->previous > 0 && end > rates->previous &&
        birth >= rates->previous - SAME_START_SECONDS)
        add_rate(reader, subject, now->pcpu, fmin(now->etime, end - rates->previous));
}

/* The time between two sightings by the clock is the truth, that in whole seconds only goes with pcpu. */
static void add_to_total(struct duct_rates *rates, struct known_process *known,
                         const struct duct_sighting *now)
{
    const double age = now->etime - known->last.etime, time = now->wall - known->last.wall;

    known->open = age > 0 ? 0 : fmax(known->open, open_of(rates, now, time));
    if (!(age > 0))
        return;
    rates->total_used += (used_by(now) - used_by(&known->last)) / age * (time > 0 ? time : age);
    known->last = *now;
}

static void continue_process(struct usage_reader *reader, const char *subject, struct known_process *known,
                             const struct duct_sighting *now)
{
    const double age = now->etime - known->base.etime, used = used_by(now) - used_by(&known->base);
    const double end = end_of(reader, now);

    add_seconds(reader, subject, known, used_by(now));
    add_to_total(reader->rates, known, now);
    if (age < 1 || age < BASELINE_SHARE * now->etime)
        return;
    add_rate(reader, subject, used > 0 ? 100 * used / age : 0, end - known->base_end);
    known->base = *now;
    known->base_end = end;
}

void duct_rates_see(struct usage_reader *reader, const char *subject, const struct duct_sighting *now)
{
    struct duct_rates *rates = reader->rates;
    uint64_t pid = parse_pid(subject);

    if (now->has_wall)
        rates->newest = fmax(rates->newest, now->wall);
    if (pid == 0 || !now->has_pcpu || !now->has_etime || !now->has_wall || !(now->pcpu >= 0)) {
        rates->gone_open += 1;
        return;
    }
    if (HASH_COUNT(rates->processes) >= rates->room)
        forget_ended(rates);

    struct known_process *known;

    HASH_FIND_OR_ADD(rates->processes, pid, &pid, known);
    if (!known) {
        reader->no_memory = true;
        return;
    }
    /* Both roundings: what looks like a fall of less is none. */
    const double tolerance = 0.001 * now->etime + now->pcpu / 100;

    if (known->record == 0 || now->etime < known->base.etime ||
        fabs(birth_of(now) - birth_of(&known->base)) > SAME_START_SECONDS) {
        begin_process(reader, subject, known, now);
    } else if (used_by(now) - used_by(&known->base) < -tolerance) { /* a figure that cannot be */
        known->base = known->last = *now;
        known->base_end = end_of(reader, now);
        known->open = 0;
        rates->total_lost = true;
    } else {
        continue_process(reader, subject, known, now);
    }
    known->record = rates->record;
    rates->total_seen = true;
    rates->oldest_age = fmax(rates->oldest_age, now->etime);
}

void duct_rates_begin(struct duct_rates *rates)
{
    rates->record++;
    rates->newest = rates->oldest_age = 0;
}

/* Whether all that was used in so long a time is known, but for a little: also of those that have gone. */
static bool is_known(const struct duct_rates *rates, double span)
{
    double open = rates->gone_open;

    for (const struct known_process *known = rates->processes; known; known = known->hh.next)
        open += known->open;
    return open <= OPEN_SHARE * span;
}

/* What was open at the end of a total stays out of the next if nothing more is heard of it. */
static void begin_total(struct duct_rates *rates, double end)
{
    for (struct known_process *known = rates->processes; known; known = known->hh.next)
        if (known->record != rates->record)
            known->open = 0;
    rates->total_begin = end;
    rates->total_used = rates->gone_open = 0;
    rates->total_seen = rates->total_lost = false;
}

void duct_rates_end(struct usage_reader *reader)
{
    struct duct_rates *rates = reader->rates;
    const double end = reader->has_wall ? reader->record.wall : rates->newest;
    const double span = end - rates->total_begin;

    if (!(end > 0))
        return;
    const bool is_due =
        rates->total_seen && span >= 1 && span >= BASELINE_SHARE * rates->oldest_age && is_known(rates, span);
    rates->total_lost |= rates->total_begin == 0 || span < 0;
    if (is_due && !rates->total_lost && reader->wanted[DUCT_TOTAL_PCPU_RATE])
        usage_add_rate(reader, DUCT_TOTAL_PCPU_RATE, NULL, 100 * fmax(0, rates->total_used) / span, span);
    if (is_due || rates->total_lost)
        begin_total(rates, end);
    rates->previous = end;
}
