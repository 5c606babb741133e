/*
 * metron export: write a recorded run in another tool's format. Reads the run with store/, hands record by
 * record to an exporter of publish/, and writes away what comes out whenever it has grown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/export_file.h"
#include "cmd/export_history.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "publish/exporter.h"
#include "store/recording/event_reader.h"
#include "store/recording/line_reader.h"
#include "store/recording/reader.h"
#include "store/recording/usage_reader.h"

static const struct command_description description = {
    .name = "export",
    .summary = "write a recorded run, or the daemon's history, for another tool",
    .usage = "[OPTION...] [RUN | --history FILE]",
    .description =
        "Writes a recorded run, of metron or of con-duct, as another tool has it. RUN is a run's info.json, "
        "another of its files, their common prefix, its id or the beginning of its name (metron ls has "
        "them), "
        "last, -1 or -2 (without it: the newest run that was recorded here). "
        "What was not measured is that format's mark for it, or is left out; it is never 0. Of a damaged "
        "recording what can be read is written, and the exit code is 1. A file that -o names is written "
        "aside and renamed, so that nobody sees half of it.\n\n"
        "csv: a row per record; elapsed (seconds), timestamp, num_samples, then every single key, under its "
        "own name. An empty cell was not measured; a tally is JSON. Values of single processes are left "
        "out. PSS, USS and swap hold their newest reading: smaps_age has its age, 0 where it was "
        "measured.\n\n"
        "prometheus: a textfile (*.prom) for node_exporter, what the run used: metron_run_* under the names "
        "of process-exporter, and every number of the summary. Labels: run (the last part of its prefix), "
        "metron_job, host and command; source is the key it was taken from; statistic says peak, average, "
        "low or last.\n\n"
        "nextflow: a header and a row of a raw trace (bytes, milliseconds, percent; - is missing). rss and "
        "vmem are the largest sums over the tree; peak_rss is at least the highest mark of a single "
        "process.\n\n"
        "snakemake: a benchmark file (MiB and seconds; NA is missing).\n\n"
        "perfetto: a trace for ui.perfetto.dev and chrome://tracing: lifetimes of processes, numbers as "
        "counters, signals and kills as instants.\n\n"
        "duct: a recording as con-duct 0.2.2 has it, for its ls, pp and plot. -o is the prefix of its "
        "usage.jsonl and info.json. pcpu is, as there, an average over the life of a process.\n\n"
        "--history FILE writes the daemon's history instead of a run, for tools that create indexes or "
        "otherwise need tables: an SQLite file with the tables snapshots, process_metrics and "
        "process_events, whose rows and columns are those of the views that docs/daemon.md describes. It "
        "needs no daemon, and one may be writing meanwhile. The history is --database, else the user's, "
        "else the system's. FILE is private (mode 0600), and complete once it is there; one that exists is "
        "replaced only with --clobber. -o, --format and RUN do not apply.",
    .examples = "  metron export .metron/logs/2026.11.15T07.42.53-4711_ > run.csv\n"
                "  metron export --format prometheus -o /var/lib/node_exporter/align.prom RUN\n"
                "  metron export --format perfetto -o trace.json RUN\n"
                "  metron export --format duct -o .duct/logs/align_ RUN\n"
                "  metron export --history history.db\n"
                "  metron export --history history.db --database /var/lib/metron/monitor.db\n",
    .command = COMMAND_EXPORT,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

#define WRITE_SIZE ((size_t)64 << 10)

struct job {
    struct recording recording;
    struct export export;
    struct export_file out, second;
    bool *wanted;
    bool had_usage;
    bool damaged; /* some of it could not be read, and was named */
};

static int write_away(struct job *job, size_t from, struct metron_error *error)
{
    int code = 0;

    if (job->export.out.length >= from)
        code = export_file_write(&job->out, &job->export.out, error);
    if (code == 0 && job->second.fd >= 0 && job->export.second.length >= from)
        code = export_file_write(&job->second, &job->export.second, error);
    return code;
}

static void tell_damage(struct job *job, const char *path, size_t count, size_t first_line)
{
    struct metron_error damage;

    if (!line_reader_tell_damage(path, count, first_line, &damage))
        return;
    log_warning("%s", damage.message);
    job->damaged = true;
}

/* The code, with a reason for a person if nobody has given one. */
static int with_reason(int code, struct metron_error *error)
{
    return error && !error->message[0] ? error_set(error, code, "cannot export the run: %s", strerror(-code))
                                       : code;
}

static int export_records(struct job *job, struct metron_error *error)
{
    struct usage_reader *reader = NULL;
    const struct usage_record *record;
    size_t first_line;

    if (!export_wants(&job->export, job->wanted) && job->export.exporter->record == NULL &&
        job->recording.status == RECORDING_ENDED)
        return 0;
    int code = usage_reader_open(&job->recording, job->wanted, &reader, error);
    if (code < 0)
        return code;
    job->had_usage = true;
    while (code == 0 && (code = usage_reader_next(reader, &record)) == 1) {
        code = export_record(&job->export, record);
        if (code == 0)
            code = write_away(job, WRITE_SIZE, error);
    }
    size_t damaged = usage_reader_damaged(reader, &first_line);
    tell_damage(job, job->recording.usage_path, damaged, first_line);
    usage_reader_free(reader);
    return code < 0 ? with_reason(code, error) : 0;
}

static int export_events(struct job *job, struct metron_error *error)
{
    struct event_reader *reader = NULL;
    const struct recorded_event *event;
    size_t first_line;

    if (!job->export.exporter->event)
        return 0;
    int code = event_reader_open(&job->recording, &reader, error);
    if (code < 0)
        return code;
    while (code == 0 && (code = event_reader_next(reader, &event)) == 1) {
        code = export_event(&job->export, event);
        if (code == 0)
            code = write_away(job, WRITE_SIZE, error);
    }
    size_t damaged = event_reader_damaged(reader, &first_line);
    tell_damage(job, job->recording.events_path, damaged, first_line);
    event_reader_free(reader);
    return code < 0 ? with_reason(code, error) : 0;
}

/* Records and events; a file that the run does not have is no trouble for a format that can do without. */
static int export_all(struct job *job, struct metron_error *error)
{
    int code = export_records(job, error);

    if (code == -ENOENT && !job->export.exporter->needs_records) {
        *error = (struct metron_error){0};
        log_debug("%s: the run has no usage file", job->recording.path);
        code = 0;
    }
    if (code < 0)
        return code;
    code = export_events(job, error);
    if (code == -ENOENT && job->had_usage) {
        *error = (struct metron_error){0};
        code = 0;
    }
    if (code == 0)
        code = export_end(&job->export);
    if (code == 0)
        code = write_away(job, 0, error);
    if (job->export.processes_left_out)
        log_warning("too many processes: some have no name in the trace, and no lifetime unless an event "
                    "told of it");
    return code < 0 ? with_reason(code, error) : 0;
}

/* "PREFIX" + "usage.jsonl". A recording, which only its owner may read: as metron run makes them. */
static int open_one(struct export_file *file, const char *prefix, const char *suffix,
                    struct metron_error *error)
{
    struct strbuf path = STRBUF_INIT;

    strbuf_addf(&path, "%s%s", prefix, suffix);
    int code = path.failed ? -ENOMEM : export_file_open(file, strbuf_text(&path), true, 0600, error);
    strbuf_fini(&path);
    return code < 0 ? with_reason(code, error) : 0;
}

/* What the command wrote lies beside the rest, and is nowhere else. */
static bool replaces_captured(const struct export_file *file, const struct recording *recording)
{
    static const char *const names[] = {"stdout", "stderr"};
    const char *prefix = recording_text(recording, "prefix");
    struct strbuf path = STRBUF_INIT;
    bool replaces = false;

    for (size_t i = 0; prefix && i < sizeof(names) / sizeof(names[0]); i++) {
        strbuf_reset(&path);
        strbuf_addf(&path, "%s%s", prefix, names[i]);
        replaces = replaces || export_file_replaces(file, strbuf_text(&path));
    }
    strbuf_fini(&path);
    return replaces;
}

static int open_output(struct job *job, const struct exporter *exporter, const char *output,
                       struct metron_error *error)
{
    const struct recording *recording = &job->recording;
    int code;

    if (exporter->suffix) {
        code = file_make_folders(output, error);
        if (code == 0)
            code = open_one(&job->out, output, exporter->suffix, error);
        return code == 0 ? open_one(&job->second, output, exporter->second_suffix, error) : code;
    }
    code = export_file_open(&job->out, output, false, 0666, error);
    if (code == 0 &&
        (export_file_replaces(&job->out, recording->path) ||
         export_file_replaces(&job->out, recording->usage_path) ||
         export_file_replaces(&job->out, recording->events_path) || replaces_captured(&job->out, recording)))
        code = error_set(error, -EINVAL, "-o %s would overwrite the recording itself", output);
    return code;
}

static int export_run(struct job *job, const char *path, const struct exporter *exporter, const char *output,
                      struct metron_error *error)
{
    const struct recording_wish wish = {.keys = true,
                                        .describe = describe_known_key,
                                        .lives = recorder_is_alive,
                                        .now = clock_wall_seconds()};
    int code = recording_read(path, &wish, &job->recording, error);

    if (code == 0)
        code = export_init(&job->export, exporter, &job->recording, output, error);
    if (code < 0)
        return code;
    job->wanted = calloc(job->recording.key_count + 1, sizeof(*job->wanted));
    if (!job->wanted)
        return error_set(error, -ENOMEM, "no memory to export the run");
    /* Before a file is made: this is where a format says that it cannot be had. */
    code = export_begin(&job->export, error);
    if (code == 0)
        code = open_output(job, exporter, output, error);
    if (code == 0)
        code = export_all(job, error);
    if (code == 0)
        code = export_file_commit(&job->out, error);
    if (code == 0)
        code = export_file_commit(&job->second, error);
    return code;
}

static int export_main(int argc, char **argv)
{
    struct settings settings;
    struct metron_error error = {0};
    struct job job = {.out = EXPORT_FILE_INIT, .second = EXPORT_FILE_INIT};
    char *path = NULL;
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    exit_code = EXIT_WRONG_USAGE;
    if (!export_history_check(&settings, argc - first))
        goto out;
    if (settings_has(&settings, SETTING_HISTORY)) {
        exit_code = export_history(&settings);
        goto out;
    }
    const struct exporter *exporter = exporter_find(settings_text(&settings, SETTING_EXPORT_FORMAT));
    const char *output = settings_text(&settings, SETTING_OUTPUT);
    if (argc - first > 1) {
        log_error("one run at a time: metron export [OPTION...] RUN");
    } else if (exporter->suffix && (!output || strcmp(output, "-") == 0)) {
        log_error("--format %s writes two files: -o PREFIX says where", exporter->name);
    } else if (named_run(&settings, first < argc ? argv[first] : NULL, &path, &error) < 0 ||
               export_run(&job, path, exporter, output, &error) < 0) {
        if (error.code != -EPIPE) /* a reader that went away has seen enough */
            log_error("%s", error.message);
        exit_code = EXIT_TROUBLE;
    } else {
        exit_code = job.damaged ? EXIT_TROUBLE : EXIT_OK; /* what could be read is written all the same */
    }
out:
    export_fini(&job.export);
    export_file_fini(&job.out);
    export_file_fini(&job.second);
    free(job.wanted);
    free(path);
    recording_fini(&job.recording);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_export = {&description, export_main};
