/*
 * The table of settings, and looking things up in it. A new setting is one entry here and one name in the
 * enum; everything else (files, environment, options, help, man page) follows.
 */
#include "settings/table.h"

#include <ctype.h>
#include <string.h>

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
static const char *const consumers[] = {"people", "slurm", "nextflow", "snakemake", "k8s", NULL};
static const char *const export_formats[] = {"csv",      "prometheus", "nextflow", "snakemake",
                                             "perfetto", "duct",       NULL};
static const char *const log_levels[] = {"none", "error", "warning", "info", "debug", NULL};

const struct setting settings_table[SETTING_COUNT] = {
    [SETTING_OUTPUT_PREFIX] =
        {
            .name = "output-prefix",
            .letter = 'p',
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_RECORD,
            .initial = ".metron/logs/{datetime}-{pid}_",
            .placeholder = "P",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_TRACE,
            .meaning =
                "where the files of the run go; knows {datetime}, {pid}, {host}, {job} and {env:NAME}; "
                "missing folders are made, and a prefix that ends in / is a folder",
        },
    [SETTING_CLOBBER] =
        {
            .name = "clobber",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_RECORD,
            .initial = "no",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_TRACE,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "overwrite files of an earlier run with the same --output-prefix",
        },
    [SETTING_CAPTURE_OUTPUTS] =
        {
            .name = "capture-outputs",
            .letter = 'c',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_RECORD,
            .initial = "all",
            .choices = streams,
            .commands = COMMAND_RUN,
            .meaning = "which output of the command is recorded",
        },
    [SETTING_OUTPUTS] =
        {
            .name = "outputs",
            .letter = 'o',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "all",
            .choices = streams,
            .commands = COMMAND_RUN,
            .meaning = "which output of the command is shown",
        },
    [SETTING_RECORD_TYPES] =
        {
            .name = "record-types",
            .letter = 't',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_RECORD,
            .initial = "all",
            .choices = record_types,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning = "which files are written: info.json (system-summary), usage.jsonl and events.jsonl "
                       "(processes-samples), all, or none of them",
        },
    [SETTING_FAIL_TIME] =
        {
            .name = "fail-time",
            .alias = "f-t",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_RECORD,
            .initial = "3",
            .placeholder = "S",
            .lowest = -1e9,
            .highest = 1e9,
            .commands = COMMAND_RUN,
            .meaning =
                "remove the files of a command that fails within S seconds (not for want of memory); 0 keeps "
                "all, negative keeps none of a failing command",
        },
    [SETTING_ENVIRONMENT] =
        {
            .name = "environment",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_RECORD,
            .initial = "SLURM_,PBS_,LSB_JOBID,LSB_JOBINDEX,LSB_MCPU_HOSTS,OSG",
            .initial_text = "SLURM_, PBS_, LSB_JOBID, LSB_JOBINDEX, LSB_MCPU_HOSTS, OSG",
            .placeholder = "PREFIX,...",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_EMPTY_ALLOWED,
            .meaning = "record environment variables whose names begin so",
        },
    [SETTING_MASK_SECRETS] =
        {
            .name = "mask-secrets",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_RECORD,
            .initial = "yes",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "record *** for values that look secret by their name, place or beginning; a plain "
                       "argument is not masked (docs/schema.md, Secrets)",
        },
    [SETTING_SECRET_NAMES] =
        {
            .name = "secret-names",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_RECORD,
            .placeholder = "NAME,...",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT | SETTING_ONCE,
            .meaning = "mask the values of these options and variables as well: 'license' is --license, "
                       "ACME_LICENSE and licenseId",
        },
    [SETTING_SECRET_PATTERNS] =
        {
            .name = "secret-patterns",
            .kind = SETTING_KIND_PATTERNS,
            .group = SETTING_GROUP_RECORD,
            .placeholder = "REGEX,...",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT | SETTING_ONCE,
            .meaning =
                "mask what these POSIX extended regular expressions match, in each argument and value: "
                "'acme-[0-9a-f]{8,}'; a comma outside of {} and [] begins another",
        },
    [SETTING_MESSAGE] =
        {
            .name = "message",
            .letter = 'm',
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_LABEL,
            .placeholder = "TEXT",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_EMPTY_IS_ABSENT,
            .meaning = "a note to keep with the run",
        },
    [SETTING_JOB] =
        {
            .name = "job",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_LABEL,
            .placeholder = "NAME",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_EVENTS | COMMAND_REPORT,
            .traits = SETTING_EMPTY_IS_ABSENT,
            .meaning = "the job this run belongs to; a command that is started sees it as METRON_JOB; "
                       "events: only those of this job; report: of this job, as the daemon knows it",
        },
    [SETTING_SHEET] =
        {
            .name = "sheet",
            .kind = SETTING_KIND_INTEGER,
            .group = SETTING_GROUP_LABEL,
            .placeholder = "N",
            .lowest = 0,
            .highest = 2147483647,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_EMPTY_IS_ABSENT,
            .meaning = "the numbered step of the job; a command that is started sees it as METRON_SHEET",
        },
    [SETTING_CONFIG_HASH] =
        {
            .name = "config-hash",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_LABEL,
            .placeholder = "H",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_EMPTY_IS_ABSENT,
            .meaning = "what tells runs of the same configuration from others",
        },
    [SETTING_MODE] =
        {
            .name = "mode",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_COMMAND,
            .initial = "new-session",
            .choices = modes,
            .commands = COMMAND_RUN,
            .meaning =
                "measure the command and its descendants, in a session of their own, or the whole session "
                "metron is in (a batch job's shell); CPU is then not conserved",
        },
    [SETTING_WAIT] =
        {
            .name = "wait",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_COMMAND,
            .initial = "root",
            .choices = waits,
            .commands = COMMAND_RUN,
            .meaning =
                "the run ends when the command itself exits (root), or when its last descendant does (tree)",
        },
    [SETTING_PTY] =
        {
            .name = "pty",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_COMMAND,
            .initial = "no",
            .commands = COMMAND_RUN,
            .meaning =
                "give the command a terminal: progress bars and colours stay live and are recorded, in "
                "stdout",
        },
    [SETTING_KILL_AFTER] =
        {
            .name = "kill-after",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_COMMAND,
            .initial = "10",
            .placeholder = "S",
            .lowest = 0,
            .highest = 86400,
            .commands = COMMAND_RUN,
            .meaning = "seconds between SIGTERM and SIGKILL when metron is told to end the whole tree",
        },
    [SETTING_CGROUP] =
        {
            .name = "cgroup",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_COMMAND,
            .initial = "auto",
            .choices = cgroups,
            .commands = COMMAND_RUN,
            .meaning =
                "the control group that is measured: one made for the command (own), the one metron was "
                "started in (inherited), own where it can be had (auto), or none (off)",
        },
    [SETTING_SYSCALLS] =
        {
            .name = "syscalls",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_MEASURE,
            .initial = "off",
            .choices = syscalls,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning =
                "count the system calls of every process, their errors and their time: inside the kernel "
                "where that is permitted, else (metron run alone) with strace, which slows the command down "
                "a lot",
        },
    [SETTING_MEASUREMENTS] =
        {
            .name = "measurements",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_MEASURE,
            .initial = "default",
            .placeholder = "KEY,...",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning = "what is measured: keys, globs (proc_*) and the groups minimal, default and all; see "
                       "metron measurements",
        },
    [SETTING_SMAPS] =
        {
            .name = "smaps",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_MEASURE,
            .initial = "yes",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning =
                "read PSS, USS and swap of each process: what a tree really holds, but the kernel has to "
                "walk its page tables",
        },
    [SETTING_SMAPS_INTERVAL] =
        {
            .name = "smaps-interval",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "0",
            .placeholder = "S",
            .lowest = 0,
            .highest = 86400,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning =
                "seconds between readings of PSS; 0: five samples; a tree that has grown by a tenth is "
                "looked at sooner",
        },
    [SETTING_SMAPS_BUDGET] =
        {
            .name = "smaps-budget",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "0.2",
            .placeholder = "S",
            .lowest = 0,
            .highest = 3600,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning =
                "CPU seconds that one reading of PSS may take, never more than half a sample interval; what "
                "does not fit is left out and counted",
        },
    [SETTING_SMAPS_LIMIT] =
        {
            .name = "smaps-limit",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "8",
            .placeholder = "GiB",
            .lowest = 0,
            .highest = 1e9,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning = "processes with more resident memory are left out of readings of PSS, and counted",
        },
    [SETTING_BREAK_READERS] =
        {
            .name = "break-readers",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_MEASURE,
            .placeholder = "NAME,...",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT,
            .meaning = "make these readers fail, to see what depends on them: files of /proc/PID (statm, io, "
                       "smaps_rollup, ...), meminfo, loadavg, cpu, clock, connector, bpf, strace, "
                       "pressure, cgroup, ps",
        },
    [SETTING_SAMPLE_INTERVAL] =
        {
            .name = "sample-interval",
            .alias = "s-i",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "1",
            .placeholder = "S",
            .lowest = 0.01,
            .highest = 86400,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning = "seconds between samples, from 0.01",
        },
    [SETTING_REPORT_INTERVAL] =
        {
            .name = "report-interval",
            .alias = "r-i",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "60",
            .placeholder = "S",
            .lowest = 0.01,
            .highest = 31536000,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .meaning = "seconds between records in usage.jsonl, never below the sample interval",
        },
    [SETTING_EVENTS] =
        {
            .name = "events",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_MEASURE,
            .initial = "auto",
            .choices = events,
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_DAEMON,
            .meaning =
                "how births and deaths of processes are learnt: from the kernel as far as it tells (auto); "
                "by programs inside it, in place from the start (bpf); from its process connector alone; or "
                "only by looking (off)",
        },
    [SETTING_CHILDREN] =
        {
            .name = "children",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_MEASURE,
            .initial = "yes",
            .commands = COMMAND_ATTACH,
            .meaning = "follow the descendants of the processes as well, those to come included",
        },
    [SETTING_DURATION] =
        {
            .name = "duration",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "0",
            .initial_text = "until they have ended",
            .placeholder = "S",
            .lowest = 0,
            .highest = 31536000,
            .commands = COMMAND_ATTACH,
            .meaning = "end the recording after S seconds; the processes go on",
        },
    [SETTING_LIST_FORMAT] =
        {
            .name = "format",
            .letter = 'f',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "table",
            .choices = list_formats,
            .commands = COMMAND_LS,
            .traits = SETTING_OPTION_ONLY,
            .meaning =
                "how the runs are listed; summaries: what metron run says at its end, one after the other",
        },
    [SETTING_FIELDS] =
        {
            .name = "fields",
            .letter = 'F',
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "the usual ones",
            .placeholder = "FIELD,...",
            .commands = COMMAND_LS | COMMAND_DIFF,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning =
                "which fields: peak_memory, cpu_seconds, wall, any summary key (proc_peak_rss_total) or "
                "any field of info.json (system.hostname)",
        },
    [SETTING_SORT] =
        {
            .name = "sort",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "FIELD",
            .commands = COMMAND_LS,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .initial_text = "by start time",
            .meaning = "order by this field, smallest first; runs without it stand last",
        },
    [SETTING_REVERSE] =
        {
            .name = "reverse",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_LS,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "the other way round",
        },
    [SETTING_FILTER] =
        {
            .name = "filter",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "EXPR",
            .commands = COMMAND_LS,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning =
                "only runs for which EXPR holds: fields compared (== != < <= > >=) with numbers, sizes "
                "(2GiB), times (1h30m) and 'texts', matched (=~ 'REGEX'), and joined by and, or, not, ( )",
        },
    [SETTING_GROUP_BY] =
        {
            .name = "group-by",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "FIELD",
            .commands = COMMAND_LS,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "one row for all runs with the same FIELD (job: the ranks or tasks of one job)",
        },
    [SETTING_HUMANIZE] =
        {
            .name = "humanize",
            .letter = 'H',
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_PP,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "numbers as people write them, by the units of the recording: 1.5 GiB, 2 h 05 min",
        },
    [SETTING_OUTPUT] =
        {
            .name = "output",
            .letter = 'o',
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "the screen",
            .placeholder = "FILE",
            .commands = COMMAND_PLOT | COMMAND_EXPORT,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "where it goes: of a plot a file that ends in .svg, .png or .pdf; of export --format "
                       "duct a prefix",
        },
    [SETTING_KEYS] =
        {
            .name = "keys",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "CPU and memory",
            .placeholder = "KEY,...",
            .commands = COMMAND_PLOT,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning =
                "what is drawn: keys of the recording and globs (io_*_rate_total), keys of one unit in one "
                "panel",
        },
    [SETTING_CPU_KEY] =
        {
            .name = "cpu",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "the best that the recording has",
            .placeholder = "KEY",
            .commands = COMMAND_PLOT,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "the method for CPU where a recording has several",
        },
    [SETTING_MEMORY_KEY] =
        {
            .name = "memory",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "the best that the recording has",
            .placeholder = "KEY",
            .commands = COMMAND_PLOT,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "the method for memory where a recording has several",
        },
    [SETTING_SIZE] =
        {
            .name = "size",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "1200x800, or the terminal's",
            .placeholder = "WxH",
            .commands = COMMAND_PLOT,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "width and height, in pixels (of a file) or in columns and lines (of a terminal)",
        },
    [SETTING_AGAINST] =
        {
            .name = "against",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "GLOB",
            .commands = COMMAND_DIFF,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning =
                "compare RUN with all recorded runs that GLOB matches, and tell what lies outside their "
                "noise",
        },
    [SETTING_FAIL_IF] =
        {
            .name = "fail-if",
            .kind = SETTING_KIND_LIST,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "LIMIT,...",
            .commands = COMMAND_DIFF,
            .traits = SETTING_OPTION_ONLY | SETTING_ONCE,
            .meaning = "exit with 1 if a limit is passed: 'peak_memory > +10%', 'wall > +30s', "
                       "'cpu_seconds > 100'",
        },
    [SETTING_FOR] =
        {
            .name = "for",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "people",
            .choices = consumers,
            .commands = COMMAND_SUGGEST,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "also print the lines to paste, for this scheduler or workflow",
        },
    [SETTING_MARGIN] =
        {
            .name = "margin",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_SHOW,
            .initial = "20",
            .placeholder = "PERCENT",
            .lowest = 0,
            .highest = 1000,
            .commands = COMMAND_SUGGEST,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "safety margin on memory and wall time",
        },
    [SETTING_EXPORT_FORMAT] =
        {
            .name = "format",
            .letter = 'f',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "csv",
            .choices = export_formats,
            .commands = COMMAND_EXPORT,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "of which tool",
        },
    [SETTING_SUMMARY_FORMAT] =
        {
            .name = "summary-format",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_SHOW,
            .initial_text = "a short built-in one",
            .placeholder = "F",
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_EMPTY_ALLOWED,
            .meaning =
                "the summary at the end: {key}, {key:.2f}, and {key!S} for a human size, !E an exit code, "
                "!X green if true, !N green if there; an empty one shows none",
        },
    [SETTING_COLORS] =
        {
            .name = "colors",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "auto",
            .choices = colors,
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_TRACE |
                        COMMAND_READERS,
            .meaning = "colours in what metron itself says; auto: on a terminal and without NO_COLOR",
        },
    [SETTING_LOG_LEVEL] =
        {
            .name = "log-level",
            .letter = 'l',
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_SHOW,
            .initial = "info",
            .choices = log_levels,
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_TRACE |
                        COMMAND_READERS | COMMAND_CLIENTS,
            .meaning = "which messages about metron itself are shown",
        },
    [SETTING_QUIET] =
        {
            .name = "quiet",
            .letter = 'q',
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_RUN | COMMAND_ATTACH | COMMAND_CLIENTS,
            .meaning = "no summary, and no messages but warnings and errors",
        },
    [SETTING_FEED] =
        {
            .name = "feed",
            .kind = SETTING_KIND_INTEGER,
            .group = SETTING_GROUP_SHOW,
            .placeholder = "FD",
            .highest = 1 << 20,
            .commands = COMMAND_RUN | COMMAND_ATTACH,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "tell records, events, messages and the end to the socket that is open as this "
                       "descriptor, as JSON lines, and nothing on stderr; end when its other end is closed "
                       "(how libmetron uses metron)",
        },
    [SETTING_JSON] =
        {
            .name = "json",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_MEASUREMENTS | COMMAND_DOCTOR | COMMAND_LS | COMMAND_DIFF | COMMAND_SUGGEST |
                        COMMAND_REPORT | COMMAND_CLIENTS,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "print JSON, for programs",
        },
    [SETTING_MARKDOWN] =
        {
            .name = "markdown",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_MEASUREMENTS,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "print Markdown, for documents",
        },
    [SETTING_TRACE_FILE] =
        {
            .name = "trace-file",
            .letter = 'o',
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_RECORD,
            .placeholder = "FILE",
            .commands = COMMAND_TRACE,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "save to FILE, and show nothing",
        },
    [SETTING_INTERVAL] =
        {
            .name = "interval",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_MEASURE,
            .initial = "5",
            .placeholder = "S",
            .lowest = 0.1,
            .highest = 86400,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "seconds between two snapshots",
        },
    [SETTING_ENABLED] =
        {
            .name = "enabled",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_MEASURE,
            .initial = "yes",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "whether there is to be a daemon at all; 'no' has it end at once, with exit code 0",
        },
    [SETTING_WATCH] =
        {
            .name = "watch",
            .kind = SETTING_KIND_CHOICE,
            .group = SETTING_GROUP_MEASURE,
            .initial = "all",
            .choices = watches,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "which processes are shown and stored: all of the user (for root: of the machine), or "
                       "only those of jobs",
        },
    [SETTING_STRACE_ENABLED] =
        {
            .name = "strace-enabled",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_MEASURE,
            .initial = "no",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "count the system calls of jobs: inside the kernel where its events can be had, else "
                       "with strace from the start of a sheet to its end, which slows it down",
        },
    [SETTING_GPU_ENABLED] =
        {
            .name = "gpu-enabled",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_MEASURE,
            .initial = "yes",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "look at NVIDIA GPUs, by their library or nvidia-smi",
        },
    [SETTING_SOCKET] =
        {
            .name = "socket",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_STORE,
            .initial_text = "$XDG_RUNTIME_DIR/metron.sock, for root /run/metron/metron.sock",
            .placeholder = "PATH",
            .commands = COMMAND_CLIENTS | COMMAND_RUN | COMMAND_REPORT,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT,
            .meaning = "where the daemon listens",
        },
    [SETTING_SOCKET_GROUP] =
        {
            .name = "socket-group",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_STORE,
            .placeholder = "GROUP",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT,
            .meaning = "members of this group may use the socket as well; they see all command lines",
        },
    [SETTING_DATABASE] =
        {
            .name = "database",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_STORE,
            .initial_text = "$XDG_STATE_HOME/metron/monitor.db, for root /var/lib/metron/monitor.db",
            .placeholder = "PATH",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT,
            .meaning = "where the history is kept; off: nowhere",
        },
    [SETTING_DATABASE_CAP] =
        {
            .name = "database-cap",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_STORE,
            .initial = "2048",
            .placeholder = "MIB",
            .lowest = 0,
            .highest = 1e9,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "largest size of the history with its log (-wal): what is oldest goes first; 0: none",
        },
    [SETTING_RETENTION_HOURS] =
        {
            .name = "retention-hours",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_STORE,
            .initial = "24",
            .placeholder = "H",
            .lowest = 0.01,
            .highest = 1e6,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "how long every snapshot is kept",
        },
    [SETTING_RETENTION_DAYS] =
        {
            .name = "retention-days",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_STORE,
            .initial = "7",
            .placeholder = "D",
            .lowest = 0.001,
            .highest = 1e5,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "how long means and maxima of each minute are kept",
        },
    [SETTING_EVENTS_DAYS] =
        {
            .name = "events-days",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_STORE,
            .initial = "30",
            .placeholder = "D",
            .lowest = 0.001,
            .highest = 1e5,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "how long events are kept",
        },
    [SETTING_LOG_FILE] =
        {
            .name = "log-file",
            .kind = SETTING_KIND_TEXT,
            .group = SETTING_GROUP_STORE,
            .initial_text = "monitor.jsonl beside the history",
            .placeholder = "PATH",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL | SETTING_EMPTY_IS_ABSENT,
            .meaning = "where each snapshot is appended as a line of JSON; off: nowhere",
        },
    [SETTING_LOG_LIMIT] =
        {
            .name = "log-limit",
            .kind = SETTING_KIND_REAL,
            .group = SETTING_GROUP_STORE,
            .initial = "50",
            .placeholder = "MB",
            .lowest = 0.001,
            .highest = 1e6,
            .commands = COMMAND_DAEMON,
            .traits = SETTING_NOT_LOCAL,
            .meaning = "size at which the log becomes FILE.1, and that FILE.2",
        },
    [SETTING_DETACH] =
        {
            .name = "detach",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_STORE,
            .initial = "no",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "go to the background once it listens",
        },
    [SETTING_CHECK_CONFIG] =
        {
            .name = "check-config",
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_DAEMON,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "say what the settings are and where each comes from, and start nothing",
        },
    [SETTING_FOLLOW] =
        {
            .name = "follow",
            .letter = 'f',
            .kind = SETTING_KIND_BOOLEAN,
            .group = SETTING_GROUP_SHOW,
            .initial = "no",
            .commands = COMMAND_EVENTS,
            .traits = SETTING_OPTION_ONLY,
            .meaning = "show events as they happen, until Ctrl-C",
        },
};

const char *setting_group_title(enum setting_group group)
{
    static const char *const titles[] = {
        [SETTING_GROUP_RECORD] = "What is recorded",
        [SETTING_GROUP_LABEL] = "What it is called",
        [SETTING_GROUP_COMMAND] = "How the command runs",
        [SETTING_GROUP_MEASURE] = "How it is measured",
        [SETTING_GROUP_STORE] = "Where it listens, what it keeps",
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
