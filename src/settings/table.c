/*
 * The table of settings, and looking things up in it. A new setting is one entry here and one name in the
 * enum; everything else (files, environment, options, help, man page) follows.
 */
#include "settings/table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const streams[] = {"all", "none", "stdout", "stderr", NULL};
static const char *const record_types[] = {"all", "system-summary", "processes-samples", "none", NULL};
static const char *const modes[] = {"new-session", "current-session", NULL};
static const char *const waits[] = {"root", "tree", NULL};
static const char *const cgroups[] = {"auto", "own", "inherited", "off", NULL};
static const char *const syscalls[] = {"off", "summary", NULL};
static const char *const events[] = {"auto", "bpf", "connector", "off", NULL};
static const char *const watches[] = {"all", "jobs", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const list_formats[] = {"table", "json", "jsonl", "csv", "yaml", "summaries", NULL};
static const char *const consumers[] = {"people",   "slurm",     "pbs", "lsf", "sge",
                                        "nextflow", "snakemake", "k8s", NULL};
static const char *const export_formats[] = {"csv",      "prometheus", "nextflow", "snakemake",
                                             "perfetto", "duct",       NULL};
static const char *const log_levels[] = {"none", "error", "warning", "info", "debug", NULL};

/* One row for a setting: its name, kind, group in --help, the commands that take it, its meaning, and
 * whatever else of struct setting it has. */
#define SETTING(ID, NAME, KIND, GROUP, COMMANDS, MEANING, ...)                                               \
    [SETTING_##ID] = {.name = (NAME),                                                                        \
                      .kind = SETTING_KIND_##KIND,                                                           \
                      .group = SETTING_GROUP_##GROUP,                                                        \
                      .commands = (COMMANDS),                                                                \
                      .meaning = (MEANING),                                                                  \
                      __VA_ARGS__}

const struct setting settings_table[SETTING_COUNT] = {
    SETTING(OUTPUT_PREFIX, "output-prefix", TEXT, RECORD, COMMAND_RUN | COMMAND_ATTACH | COMMAND_TRACE,
            "where the files of the run go; knows {datetime}, {pid}, {host}, {job} and {env:NAME}; "
            "missing folders are made, and a prefix that ends in / is a folder",
            .letter = 'p', .initial = ".metron/logs/{datetime}-{pid}_", .placeholder = "P"),
    SETTING(CLOBBER, "clobber", BOOLEAN, RECORD,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_TRACE | COMMAND_EXPORT,
            "overwrite files of an earlier run with the same --output-prefix, or FILE of --history",
            .initial = "no", .traits = SETTING_NOT_LOCAL),
    SETTING(CAPTURE_OUTPUTS, "capture-outputs", CHOICE, RECORD, COMMAND_RUN,
            "which output of the command is recorded", .letter = 'c', .initial = "all", .choices = streams),
    SETTING(OUTPUTS, "outputs", CHOICE, SHOW, COMMAND_RUN, "which output of the command is shown",
            .letter = 'o', .initial = "all", .choices = streams),
    SETTING(RECORD_TYPES, "record-types", CHOICE, RECORD, COMMAND_RUN | COMMAND_ATTACH,
            "which files are written: info.json (system-summary), usage.jsonl and events.jsonl "
            "(processes-samples), all, or none of them",
            .letter = 't', .initial = "all", .choices = record_types),
    SETTING(FAIL_TIME, "fail-time", REAL, RECORD, COMMAND_RUN,
            "remove the files of a command that fails within S seconds (unless memory ran out); 0 keeps "
            "all, negative keeps none of a failing command",
            .alias = "f-t", .initial = "3", .placeholder = "S", .lowest = -1e9, .highest = 1e9),
    SETTING(ENVIRONMENT, "environment", LIST, RECORD, COMMAND_RUN | COMMAND_ATTACH,
            "record environment variables whose names begin so",
            .initial = "SLURM_,PBS_,LSB_JOBID,LSB_JOBINDEX,LSB_MCPU_HOSTS,SGE_TASK_ID,JOB_ID,NSLOTS,"
                       "NHOSTS,OSG",
            .initial_text = "SLURM_, PBS_, LSB_JOBID, LSB_JOBINDEX, LSB_MCPU_HOSTS, SGE_TASK_ID, JOB_ID, "
                            "NSLOTS, NHOSTS, OSG",
            .placeholder = "PREFIX,...", .traits = SETTING_EMPTY_ALLOWED),
    SETTING(MASK_SECRETS, "mask-secrets", BOOLEAN, RECORD, COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            "record *** for values that look secret by their name, place or beginning; a plain "
            "argument is not masked (docs/schema.md, Secrets)",
            .initial = "yes", .traits = SETTING_NOT_LOCAL),
    SETTING(SECRET_NAMES, "secret-names", LIST, RECORD, COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            "mask the values of these options and variables as well: 'license' is --license, "
            "ACME_LICENSE and licenseId",
            .placeholder = "NAME,...", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT | SETTING_ONCE),
    SETTING(SECRET_PATTERNS, "secret-patterns", PATTERNS, RECORD,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            "mask what these POSIX extended regular expressions match, in each argument and value: "
            "'acme-[0-9a-f]{8,}'; a comma outside of {} and [] begins another",
            .placeholder = "REGEX,...", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT | SETTING_ONCE),
    SETTING(MESSAGE, "message", TEXT, LABEL, COMMAND_RUN | COMMAND_ATTACH, "a note to keep with the run",
            .letter = 'm', .placeholder = "TEXT", .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(JOB, "job", TEXT, LABEL, COMMAND_RUN | COMMAND_ATTACH | COMMAND_EVENTS | COMMAND_REPORT,
            "the job this run belongs to; a command that is started sees it as METRON_JOB; "
            "events: only those of this job; report: of this job, as the daemon knows it",
            .placeholder = "NAME", .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(SHEET, "sheet", INTEGER, LABEL, COMMAND_RUN | COMMAND_ATTACH,
            "the numbered step of the job; a command that is started sees it as METRON_SHEET",
            .placeholder = "N", .lowest = 0, .highest = 2147483647, .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(CONFIG_HASH, "config-hash", TEXT, LABEL, COMMAND_RUN | COMMAND_ATTACH | COMMAND_JOB,
            "identifies runs of the same configuration; job: with start", .placeholder = "H",
            .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(TOTAL_SHEETS, "total-sheets", INTEGER, LABEL, COMMAND_RUN | COMMAND_JOB,
            "how many sheets the job has in all, for its progress; job: with start", .placeholder = "N",
            .lowest = 0, .highest = 4096, .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(WORKSPACE, "workspace", TEXT, LABEL, COMMAND_RUN | COMMAND_JOB,
            "the folder that the job works in, instead of the working directory; job: with start",
            .placeholder = "FOLDER", .traits = SETTING_EMPTY_IS_ABSENT),
    SETTING(MODE, "mode", CHOICE, COMMAND, COMMAND_RUN,
            "measure the command and its descendants, in a session of their own, or the whole session "
            "metron is in (a batch job's shell); CPU is then not conserved",
            .initial = "new-session", .choices = modes),
    SETTING(WAIT, "wait", CHOICE, COMMAND, COMMAND_RUN,
            "the run ends when the command itself exits (root), or when its last descendant does (tree)",
            .initial = "root", .choices = waits),
    SETTING(PTY, "pty", BOOLEAN, COMMAND, COMMAND_RUN,
            "give the command a terminal: progress bars and colours stay live and are recorded, in stdout",
            .initial = "no"),
    SETTING(KILL_AFTER, "kill-after", REAL, COMMAND, COMMAND_RUN,
            "seconds between SIGTERM and SIGKILL when metron is told to end the whole tree", .initial = "10",
            .placeholder = "S", .lowest = 0, .highest = 86400),
    SETTING(CGROUP, "cgroup", CHOICE, COMMAND, COMMAND_RUN,
            "the control group that is measured: one made for the command (own), the one metron was "
            "started in (inherited), own where it can be had (auto), or none (off)",
            .initial = "auto", .choices = cgroups),
    SETTING(SYSCALLS, "syscalls", CHOICE, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "count the system calls of every process, their errors and their time: inside the kernel where "
            "that is permitted, else with strace, which slows the processes down a lot",
            .initial = "off", .choices = syscalls),
    SETTING(MEASUREMENTS, "measurements", LIST, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "what is measured: keys, globs (proc_*) and the groups minimal, default and all; see "
            "metron measurements. What metron itself costs (self_*) is always measured",
            .initial = "default", .placeholder = "KEY,..."),
    SETTING(SMAPS, "smaps", BOOLEAN, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "read PSS, USS and swap of each process: what a tree really holds, but the kernel has to "
            "walk its page tables",
            .initial = "yes"),
    SETTING(SMAPS_INTERVAL, "smaps-interval", REAL, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "seconds between readings of PSS; 0: five sample intervals (auto: 5); a tree that has grown by a "
            "twentieth is read sooner",
            .initial = "0", .placeholder = "S", .lowest = 0, .highest = 86400),
    SETTING(SMAPS_BUDGET, "smaps-budget", REAL, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "CPU seconds that one reading of PSS may take, never more than half a sample interval; what "
            "does not fit is left out and counted",
            .initial = "0.2", .placeholder = "S", .lowest = 0, .highest = 3600),
    SETTING(SMAPS_LIMIT, "smaps-limit", REAL, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
            "processes with more resident memory are left out of readings of PSS, and counted",
            .initial = "8", .placeholder = "GiB", .lowest = 0, .highest = 1e9),
    SETTING(BREAK_READERS, "break-readers", LIST, MEASURE,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR,
            "make these readers fail, to see what depends on them: files of /proc/PID (statm, io, "
            "smaps_rollup, ...), meminfo, loadavg, cpu, clock, connector, bpf, strace, pressure, cgroup, ps",
            .placeholder = "NAME,...", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT),
    SETTING(
        SAMPLE_INTERVAL, "sample-interval", REAL, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
        "seconds between samples, from 0.01; auto: 1, and for the first 10 seconds 0.2 while a sample costs "
        "less than 4 ms",
        .alias = "s-i", .initial = "auto", .automatic = 1, .placeholder = "S", .lowest = 0.01,
        .highest = 86400),
    SETTING(
        REPORT_INTERVAL, "report-interval", REAL, MEASURE, COMMAND_RUN | COMMAND_ATTACH,
        "seconds between records in usage.jsonl, never below the sample interval; auto: 1 % of the time that "
        "has passed, at most 60, and more where usage.jsonl would grow by more than 64 KiB a second",
        .alias = "r-i", .initial = "auto", .automatic = 60, .placeholder = "S", .lowest = 0.01,
        .highest = 31536000),
    SETTING(EVENTS, "events", CHOICE, MEASURE, COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            "how births and deaths of processes are learnt: from the kernel as far as it tells (auto); "
            "by programs inside it, in place from the start (bpf); from its process connector alone; or "
            "only by looking (off)",
            .initial = "auto", .choices = events),
    SETTING(CHILDREN, "children", BOOLEAN, MEASURE, COMMAND_ATTACH,
            "follow the descendants of the processes as well, those to come included", .initial = "yes"),
    SETTING(DURATION, "duration", REAL, MEASURE, COMMAND_ATTACH,
            "end the recording after S seconds; the processes go on", .initial = "0",
            .initial_text = "until they have ended", .placeholder = "S", .lowest = 0, .highest = 31536000),
    SETTING(LIST_FORMAT, "format", CHOICE, SHOW, COMMAND_LS,
            "how the runs are listed; summaries: what metron run says at its end, one after the other",
            .letter = 'f', .initial = "table", .choices = list_formats, .traits = SETTING_OPTION_ONLY),
    SETTING(FIELDS, "fields", LIST, SHOW, COMMAND_LS | COMMAND_DIFF,
            "which fields: peak_memory, cpu_seconds, wall, any summary key (proc_peak_rss_total) or "
            "any field of info.json (system.hostname)",
            .letter = 'F', .initial_text = "the usual ones", .placeholder = "FIELD,...",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE | SETTING_WORDS),
    SETTING(SORT, "sort", LIST, SHOW, COMMAND_LS,
            "order by this field, smallest first, by the next among equals; runs without it stand last",
            .alias = "sort-by", .initial_text = "by start time", .placeholder = "FIELD,...",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE | SETTING_WORDS),
    SETTING(REVERSE, "reverse", BOOLEAN, SHOW, COMMAND_LS, "the other way round", .initial = "no",
            .traits = SETTING_OPTION_ONLY),
    SETTING(FILTER, "filter", TEXT, SHOW, COMMAND_LS | COMMAND_SUGGEST,
            "only runs for which EXPR holds: fields compared (== != < <= > >=) with numbers, sizes "
            "(2GiB), times (1h30m) and 'texts', matched (=~ 'REGEX'), and joined by and, or, not, ( )",
            .alias = "eval-filter", .letter = 'e', .placeholder = "EXPR",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(GROUP_BY, "group-by", TEXT, SHOW, COMMAND_LS,
            "one row for all runs with the same FIELD (job: the ranks or tasks of one job)",
            .placeholder = "FIELD", .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(HUMANIZE, "humanize", BOOLEAN, SHOW, COMMAND_PP,
            "numbers as people write them, by the units of the recording: 1.5 GiB, 2 h 05 min", .letter = 'H',
            .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(OUTPUT, "output", TEXT, SHOW, COMMAND_PLOT | COMMAND_EXPORT,
            "where it goes: of a plot a file that ends in .svg, .png or .pdf; of export --format "
            "duct a prefix",
            .letter = 'o', .initial_text = "the screen", .placeholder = "FILE",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(KEYS, "keys", LIST, SHOW, COMMAND_PLOT,
            "what is drawn: keys of the recording and globs (io_*_rate_total), keys of one unit in one panel",
            .initial_text = "CPU and memory", .placeholder = "KEY,...",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(
        CPU_KEY, "cpu", TEXT, SHOW, COMMAND_PLOT,
        "the method for CPU where a recording has several; of con-duct's also ps-pcpu and ps-cpu-timepoint",
        .initial_text = "the best that the recording has", .placeholder = "KEY",
        .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(MEMORY_KEY, "memory", TEXT, SHOW, COMMAND_PLOT,
            "the method for memory where a recording has several",
            .initial_text = "the best that the recording has", .placeholder = "KEY",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(SIZE, "size", TEXT, SHOW, COMMAND_PLOT,
            "width and height, in pixels (of a file) or in columns and lines (of a terminal)",
            .initial_text = "1200x800, or the terminal's", .placeholder = "WxH",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(AGAINST, "against", TEXT, SHOW, COMMAND_DIFF,
            "compare RUN with all recorded runs that GLOB matches, and tell what lies outside their noise",
            .placeholder = "GLOB", .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(FAIL_IF, "fail-if", LIST, SHOW, COMMAND_DIFF,
            "print FAIL and exit with 1 if one of these holds: 'peak_memory > +10%', 'wall > +30s', "
            "'cpu_seconds > 100'",
            .placeholder = "LIMIT,...", .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(FOR, "for", CHOICE, SHOW, COMMAND_SUGGEST,
            "also print the lines to paste, for this scheduler or workflow", .initial = "people",
            .choices = consumers, .traits = SETTING_OPTION_ONLY),
    SETTING(MARGIN, "margin", REAL, SHOW, COMMAND_SUGGEST, "safety margin on memory and wall time",
            .initial = "20", .placeholder = "PERCENT", .lowest = 0, .highest = 1000,
            .traits = SETTING_OPTION_ONLY),
    SETTING(EXPORT_FORMAT, "format", CHOICE, SHOW, COMMAND_EXPORT, "of which tool", .letter = 'f',
            .initial = "csv", .choices = export_formats, .traits = SETTING_OPTION_ONLY),
    SETTING(HISTORY, "history", TEXT, SHOW, COMMAND_EXPORT,
            "write no run, but the daemon's history into FILE, an SQLite file with plain tables",
            .placeholder = "FILE", .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(SUMMARY_FORMAT, "summary-format", TEXT, SHOW, COMMAND_RUN | COMMAND_ATTACH,
            "the summary at the end: {key}, {key:.2f}, and {key!S} for a human size, !E an exit code, "
            "!X green if true, !N green if there; an empty one shows none",
            .initial_text = "a short built-in one", .placeholder = "F", .traits = SETTING_EMPTY_ALLOWED),
    SETTING(COLORS, "colors", CHOICE, SHOW,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_TRACE |
                COMMAND_READERS | COMMAND_REMOVERS,
            "colours in what metron itself says; auto: on a terminal and without NO_COLOR; without a word: "
            "always",
            .bare = "always", .initial = "auto", .choices = colors),
    SETTING(LOG_LEVEL, "log-level", CHOICE, SHOW,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_TRACE |
                COMMAND_READERS | COMMAND_REMOVERS | COMMAND_CLIENTS,
            "which messages about metron itself are shown", .letter = 'l', .initial = "info",
            .choices = log_levels),
    SETTING(QUIET, "quiet", BOOLEAN, SHOW,
            COMMAND_RUN | COMMAND_ATTACH | COMMAND_TRACE | COMMAND_EXPORT | COMMAND_CLIENTS,
            "no summary, no trace on the terminal, and no messages but warnings and errors", .letter = 'q',
            .initial = "no"),
    SETTING(FEED, "feed", INTEGER, SHOW, COMMAND_RUN | COMMAND_ATTACH,
            "tell records, events, messages and the end to the socket that is open as this descriptor, as "
            "JSON lines, and nothing on stderr; end when its other end is closed (how libmetron uses metron)",
            .placeholder = "FD", .highest = 1 << 20, .traits = SETTING_OPTION_ONLY),
    SETTING(JSON, "json", BOOLEAN, SHOW,
            COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_LS | COMMAND_DIFF | COMMAND_SUGGEST |
                COMMAND_REPORT | COMMAND_CLIENTS,
            "print JSON, for programs", .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(MARKDOWN, "markdown", BOOLEAN, SHOW, COMMAND_MEASUREMENTS, "print Markdown, for documents",
            .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(TRACE_FILE, "trace-file", TEXT, RECORD, COMMAND_TRACE, "save to FILE", .letter = 'o',
            .placeholder = "FILE", .traits = SETTING_OPTION_ONLY),
    SETTING(INTERVAL, "interval", REAL, MEASURE, COMMAND_DAEMON, "seconds between two snapshots",
            .initial = "5", .placeholder = "S", .lowest = 0.1, .highest = 86400, .traits = SETTING_NOT_LOCAL),
    SETTING(ENABLED, "enabled", BOOLEAN, MEASURE, COMMAND_DAEMON,
            "run the daemon; 'no' ends it at once, with exit code 0", .initial = "yes",
            .traits = SETTING_NOT_LOCAL),
    SETTING(WATCH, "watch", CHOICE, MEASURE, COMMAND_DAEMON,
            "which processes are shown and stored: all of the user (for root: of the machine), or "
            "only those of jobs",
            .initial = "all", .choices = watches, .traits = SETTING_NOT_LOCAL),
    SETTING(STRACE_ENABLED, "strace-enabled", BOOLEAN, MEASURE, COMMAND_DAEMON,
            "count the system calls of jobs: inside the kernel where its events can be had, else "
            "with strace from the start of a sheet to its end, which slows it down",
            .initial = "no", .traits = SETTING_NOT_LOCAL),
    SETTING(GPU_ENABLED, "gpu-enabled", BOOLEAN, MEASURE, COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            "read NVIDIA GPUs, by their library; the daemon also by nvidia-smi", .initial = "yes",
            .traits = SETTING_NOT_LOCAL),
    SETTING(SOCKET, "socket", TEXT, STORE, COMMAND_CLIENTS | COMMAND_RUN | COMMAND_REPORT,
            "where the daemon listens",
            .initial_text = "$XDG_RUNTIME_DIR/metron.sock, for root /run/metron/metron.sock",
            .placeholder = "PATH", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT),
    SETTING(SOCKET_GROUP, "socket-group", TEXT, STORE, COMMAND_DAEMON,
            "members of this group may use the socket as well; they see all command lines",
            .placeholder = "GROUP", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT),
    SETTING(DATABASE, "database", TEXT, STORE, COMMAND_DAEMON | COMMAND_EXPORT,
            "where the history is kept; off: nowhere",
            .initial_text = "$XDG_STATE_HOME/metron/monitor.db, for root /var/lib/metron/monitor.db",
            .placeholder = "PATH", .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT),
    SETTING(DATABASE_CAP, "database-cap", REAL, STORE, COMMAND_DAEMON,
            "largest size of the history with its log (-wal): what is oldest goes first, running jobs stay; "
            "0: none",
            .initial = "2048", .placeholder = "MIB", .lowest = 0, .highest = 1e9,
            .traits = SETTING_NOT_LOCAL),
    SETTING(RETENTION_HOURS, "retention-hours", REAL, STORE, COMMAND_DAEMON,
            "how long every snapshot is kept", .initial = "24", .placeholder = "H", .lowest = 0.01,
            .highest = 1e6, .traits = SETTING_NOT_LOCAL),
    SETTING(RETENTION_DAYS, "retention-days", REAL, STORE, COMMAND_DAEMON,
            "how long means and maxima of each minute are kept", .initial = "7", .placeholder = "D",
            .lowest = 0.001, .highest = 1e5, .traits = SETTING_NOT_LOCAL),
    SETTING(EVENTS_DAYS, "events-days", REAL, STORE, COMMAND_DAEMON, "how long events are kept",
            .initial = "30", .placeholder = "D", .lowest = 0.001, .highest = 1e5,
            .traits = SETTING_NOT_LOCAL),
    SETTING(LOG_FILE, "log-file", TEXT, STORE, COMMAND_DAEMON,
            "where each snapshot is appended as a line of JSON; off: nowhere",
            .initial_text = "monitor.jsonl beside the history", .placeholder = "PATH",
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT),
    SETTING(LOG_LIMIT, "log-limit", REAL, STORE, COMMAND_DAEMON,
            "size at which the log becomes FILE.1, and that FILE.2", .initial = "50", .placeholder = "MB",
            .lowest = 0.001, .highest = 1e6, .traits = SETTING_NOT_LOCAL),
    SETTING(DETACH, "detach", BOOLEAN, STORE, COMMAND_DAEMON, "go to the background once it listens",
            .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(CHECK_CONFIG, "check-config", BOOLEAN, SHOW, COMMAND_DAEMON,
            "say what the settings are and where each comes from, and start nothing", .initial = "no",
            .traits = SETTING_OPTION_ONLY),
    SETTING(FOLLOW, "follow", BOOLEAN, SHOW, COMMAND_EVENTS, "show events as they happen, until Ctrl-C",
            .letter = 'f', .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(NEWEST, "newest", INTEGER, SHOW, COMMAND_LS,
            "only the N runs that began last, of those that --filter leaves", .letter = 'n',
            .initial_text = "all", .placeholder = "N", .lowest = 1, .highest = 1e9,
            .traits = SETTING_OPTION_ONLY),
    SETTING(YES, "yes", BOOLEAN, REMOVE, COMMAND_REMOVERS, "remove without asking", .letter = 'y',
            .initial = "no", .traits = SETTING_OPTION_ONLY),
    SETTING(OLDER_THAN, "older-than", TEXT, REMOVE, COMMAND_GC,
            "runs that ended longer ago than this: 30d, 12h, 2w", .placeholder = "TIME",
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE),
    SETTING(KEEP_FAILED, "keep-failed", BOOLEAN, REMOVE, COMMAND_GC,
            "keep runs that failed, met the OOM killer, or ended in a way that is not known", .initial = "no",
            .traits = SETTING_OPTION_ONLY),
};

const char *setting_choice_of_others(const struct setting *setting, const char *word)
{
    static const struct {
        enum setting_id id;
        const char *theirs, *ours;
    } words[] = {{SETTING_LOG_LEVEL, "critical", "error"},
                 {SETTING_LIST_FORMAT, "auto", "table"},
                 {SETTING_LIST_FORMAT, "pyout", "table"},
                 {SETTING_LIST_FORMAT, "json_pp", "json"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (setting == &settings_table[words[i].id] && strcasecmp(word, words[i].theirs) == 0)
            return words[i].ours;
    return word;
}

const char *setting_group_title(enum setting_group group)
{
    static const char *const titles[] = {
        [SETTING_GROUP_RECORD] = "What is recorded",
        [SETTING_GROUP_LABEL] = "What it is called",
        [SETTING_GROUP_COMMAND] = "How the command runs",
        [SETTING_GROUP_MEASURE] = "How it is measured",
        [SETTING_GROUP_STORE] = "Where it listens, what it keeps",
        [SETTING_GROUP_REMOVE] = "What is removed",
        [SETTING_GROUP_SHOW] = "What is shown",
    };

    return titles[group];
}

unsigned command_of_section(const char *section)
{
    static const struct {
        const char *name;
        unsigned command;
    } sections[] = {{"run", COMMAND_RUN}, {"attach", COMMAND_ATTACH}, {"daemon", COMMAND_DAEMON}};

    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (strcmp(section, sections[i].name) == 0)
            return sections[i].command;
    return 0;
}

static bool same_name(const char *canonical, const char *name)
{
    for (; *canonical != '\0' && *name != '\0'; canonical++, name++) {
        if (*canonical != (*name == '_' ? '-' : *name))
            return false;
    }
    return *canonical == *name;
}

int setting_find(const char *name, bool aliases)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];

        if (same_name(setting->name, name))
            return id;
        if (aliases && setting->alias && same_name(setting->alias, name))
            return id;
    }
    return -1;
}

int setting_find_variable(const char *variable, size_t length)
{
    static const char prefix[] = "METRON_";
    const size_t prefix_length = sizeof(prefix) - 1;

    if (length <= prefix_length || memcmp(variable, prefix, prefix_length) != 0)
        return -1;
    for (int id = 0; id < SETTING_COUNT; id++) {
        const char *name = settings_table[id].name;
        size_t at = prefix_length;

        while (at < length && *name != '\0') {
            char upper = *name == '-' ? '_' : (char)toupper((unsigned char)*name);

            if (variable[at] != upper)
                break;
            at++;
            name++;
        }
        if (at == length && *name == '\0')
            return id;
    }
    return -1;
}

char *setting_key(const struct setting *setting, char out[SETTING_KEY_SIZE])
{
    size_t i = 0;

    for (; setting->name[i] != '\0' && i + 1 < SETTING_KEY_SIZE; i++)
        out[i] = setting->name[i] == '-' ? '_' : setting->name[i];
    out[i] = '\0';
    return out;
}
