/*
 * A listing of runs: rows of cells, taken from recordings one by one, sorted, and folded into groups. Of a
 * recording only the cells are kept.
 *
 *     run_listing_init(&listing);
 *     run_listing_add_column(&listing, (struct listing_column){.name = "wall", .field = "wall"});
 *     for (every recording)
 *         run_listing_add(&listing, &recording, NULL);
 *     run_listing_group(&listing, column); … run_listing_sort(&listing, …);
 *
 * A value that was got by a method (an alias such as peak_memory) keeps its source, and what is known of it:
 * two methods are told apart in every format.
 */
#ifndef METRON_VIEW_LIST_LISTING_H
#define METRON_VIEW_LIST_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "schema/recording.h"

#define LISTING_METHODS_MAX 26
#define LISTING_NOTES_MAX   4

/* What a group's cell is made of its runs'. */
enum listing_fold {
    FOLD_SHARED, /* the value that all have that have any; absent if they differ */
    FOLD_SUM,
    FOLD_MAX,
    FOLD_MIN,
    FOLD_WORST, /* of exit codes: the one furthest from 0 */
};

enum listing_kind {
    COLUMN_FIELD,
    COLUMN_OUTCOME, /* the exit code, or how it stands if there is none; tables only */
    COLUMN_START,   /* the local time of the start; tables only */
    COLUMN_ID,      /* the beginning of the run's id, as long as it has to be; tables only */
    COLUMN_PREFIX,  /* the prefix of the run's files, to be pasted; tables only */
    COLUMN_RUNS,    /* of a group: how many */
    COLUMN_FAILED,  /* of a group: how many ended with another exit code than 0 */
};

struct listing_cell {
    bool there;
    uint8_t kind;        /* enum field_kind */
    uint8_t unit;        /* enum unit, of a number */
    uint8_t bound;       /* enum bound */
    uint32_t methods;    /* bits: which of the column's */
    unsigned with_value; /* of a group: how many runs have it */
    double number;
    const char *text; /* of texts and JSON */
    const char *note; /* NULL: nothing to know */
};

struct listing_method {
    const char *source;
    const char *notes[LISTING_NOTES_MAX];
    size_t note_count;
    bool without_note; /* there are runs with nothing to know */
};

struct listing_column {
    const char *name;  /* as programs have it; borrowed */
    const char *title; /* in tables; NULL: the name */
    const char *over;  /* a word above the title ("SUM"), or NULL */
    const char *field; /* of the recording; borrowed */
    enum listing_kind kind;
    enum listing_fold fold;
    unsigned drop;      /* where a table has no room: those with the lowest go first; 0: it stays */
    bool drop_if_same;  /* so early only if all rows say the same */
    unsigned drop_else; /* and else */
    bool hidden;        /* only to sort or group by */
    size_t limit;       /* bytes of text that are kept; 0: all */
    /* filled in by the rows: */
    bool has_notes, has_bounds;
    struct listing_method methods[LISTING_METHODS_MAX];
    size_t method_count;
    struct listing_method unsourced; /* what is known of values without a source */
};

struct listing_row {
    const char *path; /* of the info.json; of a group that of its first run */
    const char *text; /* what the caller gave */
    uint64_t id;      /* of a group that of its first run */
    double start_wall;
    enum recording_status status; /* of a group: lost if one is, else running if one is */
    unsigned runs, failed, lost, running;
    unsigned oom, out_of_time;  /* how many met the OOM killer, and the time limit of their job */
    struct listing_cell *cells; /* one per column */
};

struct run_listing {
    struct arena arena;
    struct listing_column *columns; /* owned */
    size_t column_count, column_capacity;
    struct listing_row **rows; /* owned; the rows lie in the arena */
    size_t count, capacity;
    uint64_t *ids; /* owned: of all runs that were read, listed or not; in order once sorted */
    size_t id_count, id_capacity;
    bool grouped;
    const struct listing_row *elsewhere; /* one whose id names it only behind its folder; NULL: none */
    const char *folder; /* paths below it are told relative to it; NULL: as they are. Borrowed */
};

void run_listing_init(struct run_listing *listing);
void run_listing_fini(struct run_listing *listing);
/* All columns come before the first row. 0 or -ENOMEM. */
int run_listing_add_column(struct run_listing *listing, struct listing_column column);
/* `text` is copied (may be NULL). 0 or -ENOMEM. */
int run_listing_add(struct run_listing *listing, const struct recording *recording, const char *text);

/* An id that a short one must not be taken for: of every run that was read. 0 or -ENOMEM. */
int run_listing_note_id(struct run_listing *listing, uint64_t id);
/* How many digits of it are shown: at least LISTING_ID_LEAST, and so many that they mean one of the noted. Of
 * a sorted listing. */
#define LISTING_ID_LEAST 5
size_t run_listing_id_digits(const struct run_listing *listing, uint64_t id);

/* Orders by the first column, among equals by the next, and then by start; rows without the value stand last
 * either way round. Methods are then numbered in the order in which they come first. */
void run_listing_sort(struct run_listing *listing, const size_t *columns, size_t count, bool reverse);
/* Folds all rows with the same value of a column into one, those without it too. 0 or -ENOMEM. */
int run_listing_group(struct run_listing *listing, size_t column);

/* Which column has this name (or, if none, this field); -1: none. */
ptrdiff_t run_listing_column(const struct run_listing *listing, const char *name);
/* "proc_cpu_seconds", or "a+b" where a group has several. Returns out. */
#define LISTING_SOURCE_SIZE 512
char *listing_cell_source(const struct listing_column *column, const struct listing_cell *cell,
                          char out[LISTING_SOURCE_SIZE]);

#endif
