/*
 * What a plot of a recorded run shows, before it is drawn: panels one above the other over the time since the
 * start, lines and levels in them, events along the time. plot_terminal and plot_cairo draw it.
 *
 *     plot_init (choose what is drawn: from the registry of the recording)
 *     plot_add_record, plot_add_event … (once through the files, in bounded memory), or plot_read
 *     plot_finish (the largest processes, the ranges)
 *
 * A record is one window: its value holds from the end of the one before to its own end, and is drawn so.
 */
#ifndef METRON_VIEW_PLOT_PLOT_H
#define METRON_VIEW_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "schema/recording.h"
#include "view/plot/marks.h"
#include "view/plot/series.h"
#include "view/plot/subjects.h"

#define PLOT_KEYS_MAX    24 /* more in one picture tell nothing */
#define PLOT_LINES_MAX   64
#define PLOT_PANELS_MAX  12
#define PLOT_LEVELS_MAX  3
#define PLOT_FEW_RECORDS 12 /* fewer make steps that look like a constant: it is said, and drawn as bands */
#define PLOT_COLOR_COUNT 7  /* a drawing has so many, one per key; from then on they come again */
#define PLOT_SHOWN_MAX   PLOT_COLOR_COUNT /* processes of one key: no two of them alike */

enum plot_role {
    PLOT_MAIN,    /* what the panel is about */
    PLOT_BESIDE,  /* another method of the same */
    PLOT_MEAN,    /* the mean over each window of a line above */
    PLOT_SUBJECT, /* one process or device, faint */
};

struct plot_line {
    enum plot_role role;
    unsigned color;
    bool per_second; /* an amount in seconds, shown as 100 x seconds of it per second */
    /* Of few records: the highest of each is the top of a band, whose bottom is the mean; both lines have it.
     */
    bool banded;
    const char *label;      /* the key, and what to know about it; of subjects NULL unless each has its own */
    struct plot_line *mean; /* of the same panel; NULL: none was recorded */
    struct plot_series series;
};

/* The processes or devices of a key. Each has its own highest value of the window, which they need not have
 * reached at the same instant, nor when the total was highest: one may lie above the total. */
struct plot_group {
    unsigned color;
    bool per_second;
    const struct recorded_key *key;
    const char *name;  /* the key, printable */
    const char *label; /* after plot_finish: "proc_rss of the 7 largest of 45 processes"; NULL: not shown */
    struct plot_subjects subjects;
};

/* The peak is that of a method which knows only the end (a high-water mark), and so has no line. */
enum plot_level_kind { PLOT_LIMIT, PLOT_HOST, PLOT_PEAK };

/* A line across a panel. One that lies far beyond what was used is told in words instead. */
struct plot_level {
    enum plot_level_kind kind;
    const char *label;
    double value;
    bool off_scale;
};

struct plot_panel {
    const char *title;     /* "CPU", "memory", "bytes" */
    const char *unit_note; /* "100 = one core"; NULL: none */
    const char *note;      /* after plot_finish: "the 7 largest of 45 processes"; NULL: none */
    enum unit unit;
    struct plot_line lines[PLOT_LINES_MAX];
    size_t line_count;
    struct plot_group *groups; /* PLOT_KEYS_MAX of them, in the arena */
    size_t group_count;
    struct plot_level levels[PLOT_LEVELS_MAX];
    size_t level_count;
    bool has_values;
    const char *empty; /* why it shows nothing, or not what it is about; NULL: it does */
    double low, high;  /* of the y axis */
};

/* In the order of what matters most. */
enum plot_mark { PLOT_MARK_OOM, PLOT_MARK_KILL, PLOT_MARK_SIGNAL, PLOT_MARK_ANOMALY, PLOT_MARK_SPAWN };
#define PLOT_MARK_COUNT 5

/* Where there is too little room for all, the start is told to the minute, and then not at all. */
enum plot_details { PLOT_DETAILS_ALL, PLOT_DETAILS_NO_SECONDS, PLOT_DETAILS_NO_START, PLOT_DETAILS_COUNT };

struct plot_sink;

struct plot {
    const struct recording *recording;
    /* After plot_finish, all printable: what ran, how it ended, and what stands behind that, from the most to
     * the least of it: " · 2 min 57 s · 2026-11-15 18:21:18 UTC · 3 records of up to 1 min 00 s". */
    const char *command, *cause, *details[PLOT_DETAILS_COUNT];
    double end; /* of the x axis, seconds since the start */
    struct plot_panel *panels[PLOT_PANELS_MAX];
    size_t panel_count;
    struct plot_marks marks[PLOT_MARK_COUNT];

    size_t record_count;
    double longest;    /* seconds of the longest window */
    size_t disordered; /* records that were left out: their time goes back */
    size_t damaged_usage, damaged_events, first_damaged_usage, first_damaged_event;

    /* inside */
    bool *wanted;             /* per key of the recording */
    struct plot_sink **sinks; /* per key of the recording */
    unsigned colors_used;
    double previous; /* end of the last window */
    struct arena arena;
};

struct plot_wish {
    const char *keys;   /* comma-separated keys and globs; NULL: CPU and memory */
    const char *cpu;    /* the key of the CPU panel; NULL: the best there is */
    const char *memory; /* the same of memory */
};

/* `recording` (with its keys) must outlive the plot. 0; -EINVAL: an unknown key or one that cannot be drawn;
 * -ENODATA: nothing to draw; -ENOMEM. plot_fini is safe after any. */
int plot_init(struct plot *plot, const struct recording *recording, const struct plot_wish *wish,
              struct metron_error *error);
int plot_add_record(struct plot *plot, const struct usage_record *record);
int plot_add_event(struct plot *plot, const struct recorded_event *event);
/* All records and events of the recording. -ENODATA: it has no records; -EBADMSG: all of them are damaged. */
int plot_read(struct plot *plot, struct metron_error *error);
int plot_finish(struct plot *plot);
/* What it does last: the texts that stand above the panels. 0 or -ENOMEM. */
int plot_titles_write(struct plot *plot);
void plot_fini(struct plot *plot);

/* What was passed over while reading, one line each from index 0; false: there is no more. */
bool plot_damage(const struct plot *plot, size_t index, struct metron_error *out);
/* What would show more, after plot_finish: a run of few records says how to have more. False: nothing to say.
 */
bool plot_advice(const struct plot *plot, struct metron_error *out);
/* A text of the recording, fit for terminals and pictures; NULL for want of memory. */
const char *plot_printable(struct plot *plot, const char *text);
bool plot_has_events(const struct plot *plot);
bool plot_has_few_records(const struct plot *plot);
const char *plot_mark_name(enum plot_mark kind, bool many); /* "OOM kill", "OOM kills" */
/* "memory (GiB)", "CPU (%, 100 = one core)"; out is returned. */
#define PLOT_TITLE_SIZE 96
char *plot_panel_title(const struct plot_panel *panel, const char *unit, char out[PLOT_TITLE_SIZE]);
/* Takes "1200x800" apart. False: it is none, or out of these bounds. */
bool plot_parse_size(const char *text, unsigned least, unsigned most, unsigned *width, unsigned *height);

#endif
