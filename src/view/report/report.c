#include "view/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "learn/headline_of_records.h"
#include "store/recording/event_reader.h"
#include "store/recording/usage_reader.h"
#include "view/report/methods.h"

static int read_usage(struct report_evidence *evidence, struct metron_error *error)
{
    const struct recording *recording = evidence->recording;
    const struct usage_record *record;
    struct usage_reader *reader = NULL;
    const ptrdiff_t cpu = parallelism_key(recording);
    double before = 0;

    bool *wanted = calloc(recording->key_count + 1, sizeof(*wanted));
    if (!wanted)
        return error_set(error, -ENOMEM, "no memory for the report of %s", recording->path);
    report_processes_want(evidence->processes, wanted);
    report_measures_want(&evidence->measures, wanted);
    if (cpu >= 0)
        wanted[cpu] = true;
    int code = usage_reader_open(recording, wanted, &reader, error);
    if (code == -ENOENT) {
        code = 0;
        goto out;
    }
    evidence->has_usage = code == 0;
    while (code == 0 && (code = usage_reader_next(reader, &record)) == 1) {
        double seconds = record->elapsed > before ? record->elapsed - before : 0;
        report_processes_add(evidence->processes, record, seconds);
        report_measures_add(&evidence->measures, record, seconds);
        before = record->elapsed;
        evidence->last_elapsed = record->elapsed;
        evidence->record_count++;
        code = cpu < 0 ? 0 : parallelism_add_record(&evidence->parallelism, record, cpu);
    }
    if (code < 0 && error && !error->message[0])
        (void)error_set(error, code, "%s: cannot be read: %s", recording->usage_path, strerror(-code));
    if (reader)
        evidence->usage_damage.lines = usage_reader_damaged(reader, &evidence->usage_damage.first);
out:
    usage_reader_free(reader);
    free(wanted);
    return code;
}

static int read_events(struct report_evidence *evidence, struct metron_error *error)
{
    const struct recorded_event *event;
    struct event_reader *reader = NULL;

    int code = event_reader_open(evidence->recording, &reader, error);
    if (code == -ENOENT)
        return 0;
    evidence->has_events = code == 0;
    while (code == 0 && (code = event_reader_next(reader, &event)) == 1) {
        report_events_add(&evidence->events, event, evidence->processes);
        code = 0;
    }
    if (code < 0 && error && !error->message[0])
        (void)error_set(error, code, "%s: cannot be read: %s", evidence->recording->events_path,
                        strerror(-code));
    if (reader)
        evidence->events_damage.lines = event_reader_damaged(reader, &evidence->events_damage.first);
    event_reader_free(reader);
    return code;
}

int report_evidence_read(struct report_evidence *evidence, const struct recording *recording,
                         struct metron_error *error)
{
    *evidence = (struct report_evidence){.recording = recording, .last_elapsed = -1};
    report_measures_init(&evidence->measures, recording);
    evidence->processes = report_processes_new(recording);
    parallelism_init(&evidence->parallelism, recording);
    int code = report_events_init(&evidence->events, recording);
    if (code < 0 || !evidence->processes || evidence->measures.failed)
        return error_set(error, -ENOMEM, "no memory for the report of %s", recording->path);
    /* First the records: the events then tell whose figures are known better. */
    code = read_usage(evidence, error);
    if (code == 0)
        code = parallelism_end(&evidence->parallelism, recording);
    if (code == 0)
        code = read_events(evidence, error);
    if (evidence->measures.from_records)
        (void)headline_of_totals(recording, evidence->measures.totals, &evidence->headline);
    report_measures_end(&evidence->measures);
    report_events_end(&evidence->events);
    return code;
}

void report_evidence_fini(struct report_evidence *evidence)
{
    report_measures_fini(&evidence->measures);
    parallelism_fini(&evidence->parallelism);
    report_processes_free(evidence->processes);
    report_events_fini(&evidence->events);
    *evidence = (struct report_evidence){0};
}

bool report_wall(const struct report_evidence *evidence, double *seconds)
{
    /* Of one that has not ended, the figures go up to the last record, so that is its time. */
    if (evidence->recording->status != RECORDING_ENDED && evidence->last_elapsed >= 0) {
        *seconds = evidence->last_elapsed;
        return true;
    }
    return recording_number(evidence->recording, "wall", seconds);
}

bool report_cpu_seconds(const struct report_evidence *evidence, double *seconds, const char **source,
                        const char **note)
{
    const struct recorded_field *headline = recording_field(evidence->recording, "cpu_seconds");
    const struct headline_answer *made = &evidence->headline.cpu_seconds;

    if (headline && headline->kind == FIELD_NUMBER) {
        *seconds = headline->number;
        *source = headline->source;
        *note = headline->note ? headline->note
                               : recording_text(evidence->recording, "headline.cpu_seconds.note");
        return true;
    }
    *seconds = made->value;
    *source = made->source;
    *note = "up to the last record";
    return made->has;
}

int run_report_page(const struct report_evidence *evidence, struct report_page *page)
{
    *page = (struct report_page){0};
    /* In the order of a reader: how did it end, what now; then what is behind it. */
    report_outcome(page, evidence);
    report_advice(page, evidence);
    report_cpu(page, evidence);
    report_parallelism(page, evidence);
    report_memory(page, evidence);
    report_stalls(page, evidence);
    report_io(page, evidence);
    report_devices(page, evidence);
    report_top_processes(page, evidence);
    report_compilations(page, evidence);
    report_happened(page, evidence);
    report_anomalies(page, evidence);
    report_syscalls(page, evidence);
    report_head(page, evidence);
    report_self(page, evidence);
    report_missing(page, evidence);
    return page->failed ? -ENOMEM : 0;
}
