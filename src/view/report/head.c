/* Sections of a report: which run it was, and how it ended. */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "view/command_line.h"
#include "view/recorded_list.h"
#include "view/report/report.h"

/* "2026-11-15T18:21:23.155014+00:00" -> "2026-11-15 18:21:23 +00:00": as it was written, without the
 * fraction. */
static const char *time_for_people(struct report_page *page, const char *iso)
{
    enum { DATE = 10, TIME = 19 };
    size_t length = strlen(iso);

    if (length < TIME || iso[DATE] != 'T')
        return iso;
    const char *zone = iso + TIME;
    if (*zone == '.')
        zone += 1 + strspn(zone + 1, "0123456789");
    return report_text_of(page, "%.10s %.8s%s%s", iso, iso + DATE + 1, *zone ? " " : "", zone);
}

static const char *start_of(struct report_page *page, const struct recording *recording)
{
    const char *start = recording_text(recording, "start_time");
    time_t seconds = (time_t)recording->start_wall;
    struct tm utc;
    char text[40];

    if (!start && recording->start_wall > 0 && gmtime_r(&seconds, &utc) &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S+00:00", &utc))
        start = report_text_of(page, "%s", text);
    return start;
}

static const char *filled(const struct recording *recording, const char *field)
{
    const char *text = recording_text(recording, field);
    return text && text[0] ? text : NULL;
}

/* "2026-11-15 18:21:40 +00:00 ada@node17:/home/ada/project" */
static void say_start(struct report_section *section, const struct recording *recording, const char *start)
{
    struct report_page *page = section->page;
    const char *user = filled(recording, "system.user"), *host = filled(recording, "system.hostname");
    const char *folder = filled(recording, "working_directory");

    report_sayf(section, "started", "%s%s%s%s%s%s%s", start ? time_for_people(page, start) : "",
                user || host || folder ? " " : "", user ? user : "", user && host ? "@" : "",
                host ? host : "", (user || host) && folder ? ":" : "", folder ? folder : "");
}

/* "metron 0.1.0, schema 1.0, tier: own cgroup (no kernel events: switched off), kernel 6.18.44" */
static void add_recorder(struct report_section *section, const struct recording *recording)
{
    struct report_page *page = section->page;
    bool is_metron = recording->kind == RECORDING_METRON;
    const char *version = recording_text(recording, is_metron ? "metron_version" : "duct_version");
    const char *schema = recording_text(recording, "schema_version");
    const char *tier = recording_text(recording, "provenance.tier");
    const char *reason = recording_text(recording, "provenance.tier_reason");
    const char *kernel = filled(recording, "system.kernel");
    const char *name = is_metron ? "metron" : "con-duct";
    const char *text = recording->status == RECORDING_UNKNOWN
                           ? report_text_of(page, "%s, by the look of its records", name)
                           : report_text_of(page, "%s%s%s, schema %s", name, version ? " " : "",
                                            version ? version : "", schema ? schema : "?");
    const char *no_group = recording_text(recording, "provenance.cgroup_reason");

    (void)report_add_text(section, "recorded_by", NULL, text);
    (void)report_add_text(section, "info", NULL, recording->path);
    (void)report_add_text(section, "tier", NULL, tier);
    (void)report_add_text(section, "tier_reason", NULL, reason);
    if (reason && no_group && strcmp(reason, no_group) == 0)
        reason = NULL; /* it stands below, with what was not measured */
    if (tier)
        text = report_text_of(page, "%s, tier: %s%s%s%s", text, tier, reason ? " (" : "",
                              reason ? reason : "", reason ? ")" : "");
    if (kernel)
        text = report_text_of(page, "%s, kernel %s", text, kernel);
    (void)report_say(section, "recorded by", text, NULL);
}

/* "Debian GNU/Linux 12 (bookworm), x86_64, AMD EPYC 7763 64-Core Processor". con-duct records the first two
 * from 0.2.3 on. */
static void add_machine(struct report_section *section, const struct recording *recording)
{
    const char *os = filled(recording, "system.os"), *cpu = filled(recording, "system.cpu_model");
    const char *arch = filled(recording, "system.arch");

    os = os ? os : filled(recording, "system.distro_pretty_name");
    (void)report_add_text(section, "os", NULL, os);
    (void)report_add_text(section, "cpu_model", NULL, cpu);
    if (os || arch || cpu)
        report_sayf(section, "machine", "%s%s%s%s%s", os ? os : "", os && arch ? ", " : "", arch ? arch : "",
                    (os || arch) && cpu ? ", " : "", cpu ? cpu : "");
}

void report_head(struct report_page *page, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    struct report_section *section = report_section_add(page, "run", "This recording");
    static const struct {
        const char *field, *name, *label; /* label NULL: on the screen it is elsewhere */
    } texts[] = {
        {"command", "command", NULL},
        {"working_directory", "working_directory", NULL},
        {"system.hostname", "hostname", NULL},
        {"system.kernel", "kernel", NULL},
        {"system.arch", "arch", NULL},
        {"system.user", "user", NULL},
        {"message", "message", NULL},
        {"job", "job", "job"},
        {"config_hash", "config_hash", "configuration"},
    };
    double sheet;

    const char *start = start_of(page, recording);
    say_start(section, recording, start);
    (void)report_add_text(section, "start_time", NULL, start);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        (void)report_add_text(section, texts[i].name, texts[i].label, filled(recording, texts[i].field));
    if (recording_number(recording, "sheet", &sheet))
        (void)report_add_number(section, "sheet", "sheet", UNIT_NONE, sheet, NULL, NULL);
    add_recorder(section, recording);
    add_machine(section, recording);
}

/* "timeout (pid 811)". A signal that metron passed on counts as sent by the process that it received it from.
 */
static const char *sender_of(struct report_section *section, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    const struct report_events *events = &evidence->events;
    const char *from = recording_text(recording, "outcome.received.from");
    const char *name = recording_text(recording, "outcome.received.command");
    double metron = 0, pid = 0;
    bool by_metron = !events->root_killer_is_told || (recording_number(recording, "recorder.pid", &metron) &&
                                                      (double)events->root_killer == metron);

    if (from && by_metron)
        return recording_number(recording, "outcome.received.pid", &pid)
                   ? report_text_of(section->page, "%s (pid %.0f)", name ? name : "process", pid)
                   : from;
    if (!events->root_killer_is_told)
        return NULL;
    return events->root_killer > 0 ? report_text_of(section->page, "%s (pid %lld)", events->root_killer_name,
                                                    (long long)events->root_killer)
                                   : events->root_killer_name;
}

/* On the screen only what the cause does not say already; the OOM killer has one signal, from the kernel. */
static void add_signal(struct report_section *section, const struct report_evidence *evidence, bool by_oom)
{
    double number;

    if (!recording_number(evidence->recording, "signal", &number) || !(number > 0 && number < 128))
        return;
    const char *name = sigabbrev_np((int)number);
    const char *label = recording_field(evidence->recording, "outcome.kind") ? NULL : "signal";
    struct report_item *item = report_add_number(section, "signal", label, UNIT_NONE, number, NULL, NULL);
    item->say = report_text_of(section->page, "%d%s%s%s", (int)number, name ? " (SIG" : "", name ? name : "",
                               name ? ")" : "");
    const char *sender = sender_of(section, evidence);
    bool is_in_sentence = by_oom || recording_field(evidence->recording, "outcome.sender.command") ||
                          recording_field(evidence->recording, "outcome.sender.pid") ||
                          recording_field(evidence->recording, "outcome.received.from");
    (void)report_add_text(section, "signal_sender", is_in_sentence ? NULL : "sent by", sender);
}

/* "2: 6845 python3 simulate.py 3, 6850 python3 simulate.py 3" */
static void say_survivors(struct report_section *section, struct report_item *item,
                          const struct report_item *table)
{
    enum { NAMED = 3, COMMAND_WIDTH = 40 };
    struct report_page *page = section->page;
    const char *say = report_human(page, UNIT_COUNT, item->value.number);

    for (size_t i = 0; i < table->row_count && i < NAMED; i++) {
        const struct report_value *row = &table->cells[i * table->column_count];
        const char *command = row[1].kind == REPORT_TEXT ? row[1].text : "?";
        struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;

        text_one_line(&line, command, strlen(command));
        (void)command_fit(&shown, strbuf_text(&line), line.length, COMMAND_WIDTH, false);
        say = report_text_of(page, "%s%s%.0f %s", say, i ? ", " : ": ", row[0].number, strbuf_text(&shown));
        strbuf_fini(&line);
        strbuf_fini(&shown);
    }
    if (item->value.number > NAMED && table->row_count)
        say = report_text_of(page, "%s, …", say);
    item->say = say;
    item->one_line = true;
}

static void add_survivors(struct report_section *section, const struct recording *recording)
{
    static const struct report_column columns[] = {{"pid", "", UNIT_NONE, NULL, REPORT_CUT},
                                                   REPORT_COMMAND_COLUMNS("", NULL, REPORT_CUT)};
    enum { ROWS = 8 };
    struct json_reader reader;
    struct json_text process;
    struct report_value *row;
    double count, pid;
    bool is_truncated;

    if (!recording_number(recording, "survivors.count", &count))
        return;
    struct report_item *item =
        report_add_number(section, "survivors", "outlived by", UNIT_COUNT, count, NULL, NULL);
    struct report_item *table =
        report_for_programs(report_add_table(section, "surviving_processes", NULL, columns, 3, ROWS));
    recorded_list_begin(&reader, recording, "survivors.processes");
    while (recorded_list_next(&reader, &process) && (row = report_add_row(table))) {
        if (json_find_number(&process, "pid", &pid) && pid > 0)
            row[0] = report_number(pid);
        row[1] = report_found(section->page, &process, "command");
        if (json_find_boolean(&process, "command_truncated", &is_truncated) && is_truncated)
            row[2] = report_boolean(true);
    }
    json_reader_fini(&reader);
    say_survivors(section, item, table);
}

/* What is known of one that has no outcome. */
static void add_no_outcome(struct report_section *section, const struct report_evidence *evidence)
{
    static const char *const outcomes[] = {[RECORDING_RUNNING] = "still running",
                                           [RECORDING_LOST] = "lost: how it ended is not known",
                                           [RECORDING_UNKNOWN] = "not known: the run has no info.json"};
    bool lost = evidence->recording->status == RECORDING_LOST;
    struct report_item *item =
        report_add_text(section, "cause", "outcome", outcomes[evidence->recording->status]);
    item->tone = lost ? REPORT_BAD : REPORT_PLAIN;
    if (evidence->recording->status == RECORDING_UNKNOWN)
        (void)report_add_remark(section, "It still runs, its recorder was killed, or it was recorded with "
                                         "-t processes-samples. All that is known is in its usage file.");
    if (lost)
        (void)report_add_remark(section,
                                "Its record was not completed: metron was killed, the machine went down, or "
                                "the disk was full. The command itself may have gone on.");
    if (evidence->last_elapsed >= 0)
        (void)report_add_remark(
            section,
            report_text_of(section->page, "All figures are up to its last record, %s after the start.",
                           report_human(section->page, UNIT_SECONDS, evidence->last_elapsed)));
    else
        (void)report_add_remark(section, "It has no record yet: there are no figures.");
}

void report_outcome(struct report_page *page, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    struct report_section *section = report_section_add(page, "outcome", "Outcome");
    const char *cause = recording_cause(recording);
    const struct report_measure *ooms = report_measure_of(&evidence->measures, TOPIC_PROCESS_OOM_KILLS, NULL);
    const char *kind = recording_text(recording, "outcome.kind");
    const bool by_oom = recording_field(recording, "outcome.oom_victim");
    double exit_code;

    if (filled(recording, "command"))
        (void)report_say_command(section, "command", "", filled(recording, "command"));
    (void)report_say(section, "message", filled(recording, "message"), NULL);
    (void)report_add_text(section, "status", NULL, recording_status_names[recording->status]);
    bool has_code = recording_number(recording, "exit_code", &exit_code);
    if (!cause && has_code) {
        cause = report_text_of(page, "exited with code %.0f", exit_code);
        kind = "exited";
    }
    struct report_item *item = report_add_text(section, "cause", "outcome", cause);
    (void)report_add_text(section, "kind", NULL, recording_text(recording, "outcome.kind"));
    (void)report_add_text(section, "time_limit", NULL, recording_text(recording, "outcome.time_limit.end"));
    if (has_code)
        item->tone = exit_code == 0 ? REPORT_GOOD : REPORT_BAD;
    if (cause && has_code && !(kind && strcmp(kind, "exited") == 0))
        item->say = report_text_of(page, "%s; exit code %.0f", cause, exit_code);
    if (!cause)
        add_no_outcome(section, evidence);
    if (has_code) /* on the screen it is in the sentence */
        report_add_number(section, "exit_code", NULL, UNIT_NONE, exit_code, NULL, NULL);
    add_signal(section, evidence, by_oom);
    if (ooms)
        report_add_number(section, "oom_kills", ooms->value > 0 && !by_oom ? "OOM kills" : NULL, UNIT_COUNT,
                          ooms->value, ooms->name, NULL);
    add_survivors(section, recording);
}
