/*
 * Every setting of metron, in one table: what it is called, what it may be, what it means, who may set it.
 * Files, environment, command line, --help and the man pages are all made from it.
 */
#ifndef METRON_SETTINGS_TABLE_H
#define METRON_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum setting_id {
    SETTING_OUTPUT_PREFIX,
    SETTING_CLOBBER,
    SETTING_CAPTURE_OUTPUTS,
    SETTING_OUTPUTS,
    SETTING_RECORD_TYPES,
    SETTING_FAIL_TIME,
    SETTING_ENVIRONMENT,
    SETTING_MASK_SECRETS,
    SETTING_SECRET_NAMES,
    SETTING_SECRET_PATTERNS,
    SETTING_MESSAGE,
    SETTING_JOB,
    SETTING_SHEET,
    SETTING_CONFIG_HASH,
    SETTING_TOTAL_SHEETS,
    SETTING_WORKSPACE,
    SETTING_MODE,
    SETTING_WAIT,
    SETTING_PTY,
    SETTING_KILL_AFTER,
    SETTING_CGROUP,
    SETTING_SYSCALLS,
    SETTING_MEASUREMENTS,
    SETTING_SMAPS,
    SETTING_SMAPS_INTERVAL,
    SETTING_SMAPS_BUDGET,
    SETTING_SMAPS_LIMIT,
    SETTING_BREAK_READERS,
    SETTING_SAMPLE_INTERVAL,
    SETTING_REPORT_INTERVAL,
    SETTING_EVENTS,
    SETTING_CHILDREN,
    SETTING_DURATION,
    SETTING_LIST_FORMAT,
    SETTING_FIELDS,
    SETTING_SORT,
    SETTING_REVERSE,
    SETTING_FILTER,
    SETTING_GROUP_BY,
    SETTING_HUMANIZE,
    SETTING_OUTPUT,
    SETTING_KEYS,
    SETTING_CPU_KEY,
    SETTING_MEMORY_KEY,
    SETTING_SIZE,
    SETTING_AGAINST,
    SETTING_FAIL_IF,
    SETTING_FOR,
    SETTING_MARGIN,
    SETTING_EXPORT_FORMAT,
    SETTING_HISTORY,
    SETTING_SUMMARY_FORMAT,
    SETTING_COLORS,
    SETTING_LOG_LEVEL,
    SETTING_QUIET,
    SETTING_FEED,
    SETTING_JSON,
    SETTING_MARKDOWN,
    SETTING_TRACE_FILE,
    SETTING_INTERVAL,
    SETTING_ENABLED,
    SETTING_WATCH,
    SETTING_STRACE_ENABLED,
    SETTING_GPU_ENABLED,
    SETTING_SOCKET,
    SETTING_SOCKET_GROUP,
    SETTING_DATABASE,
    SETTING_DATABASE_CAP,
    SETTING_RETENTION_HOURS,
    SETTING_RETENTION_DAYS,
    SETTING_EVENTS_DAYS,
    SETTING_LOG_FILE,
    SETTING_LOG_LIMIT,
    SETTING_DETACH,
    SETTING_CHECK_CONFIG,
    SETTING_FOLLOW,
    SETTING_NEWEST,
    SETTING_YES,
    SETTING_OLDER_THAN,
    SETTING_KEEP_FAILED,
    SETTING_COUNT,
};

/* The words of each choice, in the order of its table entry. */
enum choice_streams {
    CHOICE_STREAMS_ALL,
    CHOICE_STREAMS_NONE,
    CHOICE_STREAMS_STDOUT,
    CHOICE_STREAMS_STDERR,
};
enum choice_record_types {
    CHOICE_RECORD_TYPES_ALL,
    CHOICE_RECORD_TYPES_SYSTEM_SUMMARY,
    CHOICE_RECORD_TYPES_PROCESSES_SAMPLES,
    CHOICE_RECORD_TYPES_NONE,
};
enum choice_mode { CHOICE_MODE_NEW_SESSION, CHOICE_MODE_CURRENT_SESSION };
enum choice_wait { CHOICE_WAIT_ROOT, CHOICE_WAIT_TREE };
/* In the order of enum cgroup_mode (probe/cgroup/target.h). */
enum choice_syscalls { CHOICE_SYSCALLS_OFF, CHOICE_SYSCALLS_SUMMARY };
enum choice_cgroup { CHOICE_CGROUP_AUTO, CHOICE_CGROUP_OWN, CHOICE_CGROUP_INHERITED, CHOICE_CGROUP_OFF };
enum choice_events { CHOICE_EVENTS_AUTO, CHOICE_EVENTS_BPF, CHOICE_EVENTS_CONNECTOR, CHOICE_EVENTS_OFF };
enum choice_watch { CHOICE_WATCH_ALL, CHOICE_WATCH_JOBS };
enum choice_colors { CHOICE_COLORS_AUTO, CHOICE_COLORS_ALWAYS, CHOICE_COLORS_NEVER };
enum choice_list_format {
    CHOICE_LIST_FORMAT_TABLE,
    CHOICE_LIST_FORMAT_JSON,
    CHOICE_LIST_FORMAT_JSONL,
    CHOICE_LIST_FORMAT_CSV,
    CHOICE_LIST_FORMAT_YAML,
    CHOICE_LIST_FORMAT_SUMMARIES,
};
enum choice_for {
    CHOICE_FOR_PEOPLE,
    CHOICE_FOR_SLURM,
    CHOICE_FOR_PBS,
    CHOICE_FOR_LSF,
    CHOICE_FOR_SGE,
    CHOICE_FOR_NEXTFLOW,
    CHOICE_FOR_SNAKEMAKE,
    CHOICE_FOR_K8S
};
enum choice_export_format {
    CHOICE_EXPORT_FORMAT_CSV,
    CHOICE_EXPORT_FORMAT_PROMETHEUS,
    CHOICE_EXPORT_FORMAT_NEXTFLOW,
    CHOICE_EXPORT_FORMAT_SNAKEMAKE,
    CHOICE_EXPORT_FORMAT_PERFETTO,
    CHOICE_EXPORT_FORMAT_DUCT,
};
/* SETTING_LOG_LEVEL's words are in the order of enum log_level (base/log.h). */

/* Commands that take settings as options; bits. */
enum command {
    COMMAND_RUN = 1 << 0,
    COMMAND_MEASUREMENTS = 1 << 1,
    COMMAND_DOCTOR = 1 << 2,
    COMMAND_TRACE = 1 << 3,
    COMMAND_LS = 1 << 4,
    COMMAND_PP = 1 << 5,
    COMMAND_PLOT = 1 << 6,
    COMMAND_DIFF = 1 << 7,
    COMMAND_SUGGEST = 1 << 8,
    COMMAND_REPORT = 1 << 9,
    COMMAND_EXPORT = 1 << 10,
    COMMAND_ATTACH = 1 << 11,
    COMMAND_DAEMON = 1 << 12,
    COMMAND_JOB = 1 << 13,
    COMMAND_EVENTS = 1 << 14,
    COMMAND_RM = 1 << 15,
    COMMAND_GC = 1 << 16,
    COMMAND_REMOVERS = COMMAND_RM | COMMAND_GC,
    COMMAND_CLIENTS = COMMAND_DAEMON | COMMAND_JOB | COMMAND_EVENTS,
    COMMAND_READERS = COMMAND_LS | COMMAND_PP | COMMAND_PLOT | COMMAND_DIFF | COMMAND_SUGGEST |
                      COMMAND_REPORT | COMMAND_EXPORT,
};

enum setting_kind {
    SETTING_KIND_BOOLEAN,
    SETTING_KIND_INTEGER,
    SETTING_KIND_REAL,
    SETTING_KIND_TEXT,
    SETTING_KIND_CHOICE,
    SETTING_KIND_LIST,     /* comma-separated, kept as text: see settings_list_next */
    SETTING_KIND_PATTERNS, /* the same; each item is a POSIX extended regular expression */
};

/* Headings of --help, in their order. */
enum setting_group {
    SETTING_GROUP_RECORD,
    SETTING_GROUP_LABEL,
    SETTING_GROUP_COMMAND,
    SETTING_GROUP_MEASURE,
    SETTING_GROUP_STORE,
    SETTING_GROUP_REMOVE,
    SETTING_GROUP_SHOW,
    SETTING_GROUP_COUNT,
};

enum setting_trait {
    SETTING_NOT_LOCAL = 1 << 0,       /* a file in the working folder may not set it */
    SETTING_OPTION_ONLY = 1 << 1,     /* the command line alone may set it */
    SETTING_EMPTY_IS_ABSENT = 1 << 2, /* an empty text takes the value away */
    SETTING_EMPTY_ALLOWED = 1 << 3,   /* an empty text is a value; with neither it is an error */
    SETTING_WORDS = 1 << 5, /* a list whose items may be words of their own on a command line: -F a b */
    SETTING_ONCE = 1 << 4,  /* twice on a command line is an error: the second would hide the first */
};

struct setting {
    const char *name;  /* "sample-interval"; files: sample_interval; environment: METRON_SAMPLE_INTERVAL */
    const char *alias; /* second long option, or NULL */
    char letter;       /* short option, or 0 */
    enum setting_kind kind;
    enum setting_group group;
    const char *bare;           /* the value where the option has none; NULL: it must have one */
    const char *initial;        /* the default as text; NULL: none, the setting is absent */
    const char *initial_text;   /* how documents name a default that is no plain value, or NULL */
    const char *placeholder;    /* of the option's argument; NULL for booleans and choices */
    const char *const *choices; /* NULL-terminated words of a choice, else NULL */
    double lowest, highest;     /* of integers and reals, both included */
    double automatic;           /* what "auto" stands for where it is a value; 0: it is none */
    unsigned commands;          /* enum command: who takes it as an option */
    unsigned traits;            /* enum setting_trait */
    const char *meaning;        /* one line, no full stop */
};

extern const struct setting settings_table[SETTING_COUNT];

/* A word of con-duct's as the choice of ours that does the same; else the word itself. */
const char *setting_choice_of_others(const struct setting *setting, const char *word);
const char *setting_group_title(enum setting_group group);
/* The section of a file that holds settings of one command alone ("run"), or 0 if there is none so named. */
unsigned command_of_section(const char *section);

/* Finds by name, `-` and `_` alike; with `aliases` also by alias. -1: no such setting. */
int setting_find(const char *name, bool aliases);
/* The same by the name of an environment variable, which need not end at `length`. */
int setting_find_variable(const char *variable, size_t length);
/* "sample_interval", as files have it. Returns out. */
#define SETTING_KEY_SIZE 48
char *setting_key(const struct setting *setting, char out[SETTING_KEY_SIZE]);

#endif
