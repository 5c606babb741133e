/*
 * One run beside earlier ones, field by field: the numbers of all earlier runs in one column each, so that
 * thousands of them can be compared in little memory.
 *
 *     comparison_init(&comparison, now);
 *     for (every earlier run)
 *         comparison_add(&comparison, earlier);
 *     comparison_finish(&comparison);
 *
 * The fields are those of the recordings themselves. What was measured (a number with a unit, or one of the
 * aliases) is judged by learn/change.h; the rest are facts, which are the same or not. Numbers that were got
 * in different ways are never compared: peaks of memory are compared by one measure that all runs have
 * (learn/peaks.h); another alias that was taken from another key in an earlier run is compared with that
 * run's value of the same key, if it has one.
 */
#ifndef METRON_LEARN_COMPARISON_H
#define METRON_LEARN_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "learn/change.h"
#include "learn/limit.h"
#include "learn/peaks.h"
#include "schema/recording.h"

enum comparison_kind {
    COMPARISON_HEADLINE, /* wall, cpu_seconds, peak_memory, processes, exit_code */
    COMPARISON_MEASURED,
    COMPARISON_FACT,
};

enum comparison_state {
    COMPARISON_SAME,         /* within the noise, or equal */
    COMPARISON_CHANGED,      /* outside */
    COMPARISON_ONLY_BEFORE,  /* the run does not have it */
    COMPARISON_ONLY_NOW,     /* none of the earlier runs has it */
    COMPARISON_OTHER_METHOD, /* measured by another key than before */
    COMPARISON_VARIES,       /* a fact that differed among the earlier runs as well */
};

struct comparison_field {
    const char *name;
    enum comparison_kind kind;
    enum comparison_state state;
    bool is_number;
    enum unit unit;
    const char *note;   /* of the recording; NULL: none */
    const char *family; /* the source of its key in the registry; NULL: it is of no key */
    bool machine;       /* of the whole machine, whoever used it */
    bool has_now;
    /* Numbers. */
    double now;
    const char *source_now; /* of an alias; NULL: none */
    /* Earlier runs whose alias came from other keys: `by_key` of them have the run's key as well, and were
     * compared by it; `other_method` have not. One of those keys, and what the alias was there. */
    const char *source_before;
    double alias_before;
    size_t by_key, other_method;
    size_t other_source; /* earlier runs whose alias came from another key: by_key and other_method */
    /* A peak that is compared by another key than a headline's: `now` and `past` are that, under these
     * names, and the headline of the run itself is here. NULL: it is not. */
    const char *measure_now, *measure_before, *measure_meaning;
    double alias_now;
    double *past; /* owned; sorted once finished */
    size_t past_count, past_capacity;
    struct change change; /* if has_now and past_count > 0 */
    bool repeats;         /* an alias says the same */
    /* Facts, as text. */
    const char *text_now, *text_before; /* of the last earlier run; NULL: absent */
    double number_before;               /* of a fact that is a number; NaN of a text */
    size_t text_runs;
    bool text_varies;
};

struct comparison {
    struct comparison_field *fields; /* those of the run in its order, then those of the earlier ones */
    size_t count, capacity;
    size_t earlier; /* runs */
    struct peaks peaks;
    struct arena arena;
    void *index; /* by name */
    bool no_memory;
};

void comparison_init(struct comparison *comparison, const struct recording *now);
void comparison_add(struct comparison *comparison, const struct recording *earlier);
/* Judges every field: 0 or -ENOMEM. Nothing may be added afterwards. */
int comparison_finish(struct comparison *comparison);
void comparison_fini(struct comparison *comparison);
/* Judges a limit by the comparison, which is finished: the numbers it was judged by in *numbers, and in
 * `reason` why it could not be. */
enum limit_result comparison_judge(const struct comparison *comparison, const struct limit *limit,
                                   struct limit_numbers *numbers, struct metron_error *reason);
/* Whether it is one of the headline, which every run may have; or one that is not compared. */
bool comparison_is_headline(const char *name);
bool comparison_leaves_out(const char *name);
/* NULL: no run has such a field. */
const struct comparison_field *comparison_find(const struct comparison *comparison, const char *name);

#endif
