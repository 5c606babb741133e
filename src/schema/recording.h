/*
 * What was recorded of one run, as readers have it: the info.json of metron, or of con-duct (schema 0.2.x),
 * as flat named fields, and the registry of what its usage file holds. Plain data; store/ fills it in.
 *
 * Everything in it lives in its arena. Numbers are as the file has them (percent = 100 x).
 */
#ifndef METRON_SCHEMA_RECORDING_H
#define METRON_SCHEMA_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/units.h"
#include "schema/measurement.h"
#include "schema/note.h"

enum recording_kind { RECORDING_METRON, RECORDING_DUCT };
/* Lost: it says that it runs, and its metron is gone. Unknown: it has no info.json. */
enum recording_status { RECORDING_ENDED, RECORDING_RUNNING, RECORDING_LOST, RECORDING_UNKNOWN };
extern const char *const recording_status_names[];

enum field_kind { FIELD_NUMBER, FIELD_TEXT, FIELD_BOOLEAN, FIELD_JSON };

/*
 * Names: of execution_summary and the top level the key itself ("exit_code", "proc_peak_rss_total",
 * "command", "job"); deeper ones by their path ("system.hostname", "env.SLURM_JOB_ID", "provenance.tier",
 * "headline.cpu_seconds.source", "stall.cpu.share", "outcome.kind"). Lists, tallies and tables ("arguments",
 * "syscalls.by_call", "survivors.processes") are FIELD_JSON; info.json's list `peak_memory` is
 * "peak_memory_methods" here. The aliases come last and win:
 *
 *   status       "ended", "running", "lost" or "unknown"
 *   prefix       of its files, as they lie now
 *   id           of the run, see below
 *   wall         seconds: wall_clock_time; of a running one, from its start until now
 *   cpu_seconds  headline.cpu_seconds; absent for con-duct, which does not count CPU
 *   peak_memory  headline.peak_memory_bytes; for con-duct peak_rss, an estimate
 *   processes    headline.processes
 *
 * (The last three of a run that still runs, or was lost, are those of its last report.)
 *
 * Where they are wished for, what goes with the last four is a text of its own: wall_source, wall_note and
 * wall_bound ("lower", "upper", "estimate"; absent where it is none), cpu_seconds_source, …
 *
 * Of con-duct's fields those whose name would claim more than they are carry a note: peak_pcpu and
 * average_pcpu are made of averages over the life of each process.
 */
struct recorded_field {
    const char *name;
    enum field_kind kind;
    enum unit unit;     /* of a number */
    double number;      /* 0 or 1 of a boolean */
    const char *text;   /* of a text; of FIELD_JSON (arrays, tallies, per-device objects) as in the file */
    const char *source; /* of an alias: the key it was taken from; else NULL */
    enum bound bound;   /* of an alias */
    const char *note;   /* what to know about it, for people; NULL: nothing */
};

/* An alias that is a number: a question that is asked of every run, whoever recorded it. */
struct recorded_alias {
    const char *name;
    enum unit unit;
    const char *headline; /* what metron's info.json calls it in `headline`; NULL: it is not there */
};

enum { ALIAS_WALL, ALIAS_CPU_SECONDS, ALIAS_PEAK_MEMORY, ALIAS_PROCESSES, ALIAS_COUNT };
extern const struct recorded_alias recorded_aliases[ALIAS_COUNT];
/* NULL: it is none. */
const struct recorded_alias *recorded_alias_named(const char *name);
/* Which of "source", "note" and "bound" a field like "peak_memory_bound" is of an alias; NULL: none. */
const char *recorded_alias_part(const char *name);

/* One key of usage.jsonl. Where metron writes a time-weighted mean beside a key ("proc_ave_rss_total" beside
 * "proc_rss_total"), it is a key of its own here. */
struct recorded_key {
    const char *key;
    enum topic topic;
    enum bound bound;
    const char *source;    /* "proc"; of con-duct "ps" */
    const char *field;     /* where the source reads it; "" if not told */
    const char *statistic; /* "ave", or NULL */
    enum unit unit;
    enum scope scope;
    enum type type;
    enum reduce reduce;
    const char *note; /* NULL: nothing */
};

/* An id of a run: hex digits of a hash of its recorder, which is a process of a host since a boot; of one of
 * con-duct, which names none, of its start, its host and the name of its files. It stays when the files are
 * moved; a copy has the same. People see and type its beginning. Without an info.json it is made of the first
 * record and the name of the files: once con-duct has written its info.json, the id is another. */
enum { RECORDING_ID_DIGITS = 10, RECORDING_ID_SIZE = RECORDING_ID_DIGITS + 1 };

struct recording {
    uint64_t id;
    enum recording_kind kind;
    enum recording_status status;
    const char *path;        /* of its info.json */
    const char *made_info;   /* the text that stands in for an info.json that it does not have; else NULL */
    const char *usage_path;  /* where it lies now, beside info.json; NULL: there is none */
    const char *events_path; /* the same */
    double start_wall;       /* unix seconds; 0: unknown */
    struct recorded_field *fields;
    size_t field_count;
    struct recorded_key *keys; /* in the order of the recording; empty unless asked for */
    size_t key_count;
    struct arena arena;
};

/* "2026-11-15T07:42:53.123456+01:00" (or with Z, a blank for T, no fraction) as unix seconds. */
bool recording_parse_time(const char *text, double *out);

char *recording_id_text(uint64_t id, char out[RECORDING_ID_SIZE]); /* returns out */
void recording_fini(struct recording *recording);
/* NULL: there is no such field. */
const struct recorded_field *recording_field(const struct recording *recording, const char *name);
bool recording_number(const struct recording *recording, const char *name, double *out);
/* The first number of the summary whose key has this topic; needs the keys. */
bool recording_topic_number(const struct recording *recording, enum topic topic, double *out);
const char *recording_text(const struct recording *recording, const char *name); /* NULL: none */
/* How it ended, for people: its cause; of what ran already and was only attached to, whether it goes on.
 * NULL: nothing is known. */
const char *recording_cause(const struct recording *recording);
/* Whether the OOM killer ended it, or some of it. A kill in its group may have been of somebody else's
 * process; the exit code then decides. */
bool recording_met_oom_killer(const struct recording *recording);
/* Whether it did so at the limit of a control group, not because the host was out of memory. */
bool recording_met_limit(const struct recording *recording);
/* Whether it ended by a signal when the time of its batch job was up, whatever it made of that. */
bool recording_met_time_limit(const struct recording *recording);
/* Whether stall.cpu is of the run itself: how others waited says nothing of it. */
bool recording_waits_are_its_own(const struct recording *recording);
/* How long a reading of this key may be shown as the newest one, where its source is not read at every
 * sample: twice its interval, so that one reading may fail. 0: a record without the key has no value of it.
 */
double recording_hold_seconds(const struct recording *recording, const struct recorded_key *key);
/* The index of a key, or -1. */
ptrdiff_t recording_key_index(const struct recording *recording, const char *key);
/* The key that a summary key is made of ("proc_peak_rss_total" -> "proc_rss_total", delta keys themselves);
 * NULL: none. */
const struct recorded_key *recording_key_of_summary(const struct recording *recording,
                                                    const char *summary_key);

/* One value of a record. */
struct usage_value {
    uint32_t key;         /* index into the recording's keys */
    enum field_kind kind; /* NUMBER, TEXT, or JSON for a tally ({state: count}) */
    const char *subject;  /* pid ("4711", "4711#2") or device; NULL of a single */
    double number;
    double span; /* seconds up to the end of the record that a rate is of; 0: the time of the record */
    const char *text;
};

/* One key over the records, reduced as the registry says: for a run that has no summary. Begins as 0. */
struct recorded_total {
    bool seen;
    double value;
};
void recorded_total_take(struct recorded_total *total, enum reduce how, double number);
/* "proc_rss_total" and "peak" -> "proc_peak_rss_total", in the arena; NULL: out of memory. A key that does
 * not begin with its source keeps its name, as all do without a statistic (NULL). */
const char *recorded_key_statistic(struct arena *arena, const struct recorded_key *key,
                                   const char *statistic);

/* One record of usage.jsonl; borrowed until the next is read. */
struct usage_record {
    double elapsed; /* seconds since the start, of the window's end */
    double wall;    /* unix seconds; 0: not told */
    unsigned num_samples;
    struct usage_value *values; /* those asked for, in the order of the file */
    size_t count;
};

/* One line of events.jsonl; borrowed until the next is read. What is not told is NULL, or has no `has_`. */
struct recorded_event {
    double wall;
    const char *type;              /* "spawn", "exit", "kill", "signal", "oom", … */
    const char *seen;              /* "sampled", "reaped", "event" */
    int64_t pid, ppid, sender_pid; /* 0: not told; sender_pid -1: not told (0 is the kernel) */
    const char *start_time, *command, *sender_name;
    const char *anomaly_type, *severity, *description; /* of an anomaly */
    bool command_is_truncated;                         /* it ends with … */
    bool has_exit_code, has_signal, has_use;
    int exit_code, signal_num;
    /* has_use: */
    double cpu_seconds, lifetime_seconds;
    double max_rss, read_bytes, write_bytes; /* max_rss 0: not told */
};

#endif
