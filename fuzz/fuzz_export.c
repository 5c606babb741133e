/* A run of any bytes in every format of `metron export`. What is JSON there can be read, and every line of
 * the others ends. */
#include "made_run.h"
#include "publish/exporter.h"
#include "store/recording/event_reader.h"
#include "store/recording/usage_reader.h"

static void add_records(struct export *export)
{
    const struct recording *recording = export->recording;
    bool *wanted = calloc(recording->key_count + 1, sizeof(*wanted));
    struct usage_reader *reader = NULL;
    const struct usage_record *record;

    check(wanted != NULL);
    (void)export_wants(export, wanted);
    if (usage_reader_open(recording, wanted, &reader, NULL) == 0)
        while (usage_reader_next(reader, &record) == 1)
            check(export_record(export, record) == 0);
    usage_reader_free(reader);
    free(wanted);
}

static void add_events(struct export *export)
{
    struct event_reader *reader = NULL;
    const struct recorded_event *event;

    if (export->exporter->event && event_reader_open(export->recording, &reader, NULL) == 0)
        while (event_reader_next(reader, &event) == 1)
            check(export_event(export, event) == 0);
    event_reader_free(reader);
}

static void check_lines_of_json(const struct strbuf *text)
{
    const char *line = strbuf_text(text), *end = line + text->length;

    for (const char *newline; line < end; line = newline + 1) {
        newline = memchr(line, '\n', (size_t)(end - line));
        check(newline != NULL);
        check_json(line, (size_t)(newline - line));
    }
}

static void check_format(const struct export *export)
{
    const struct strbuf *out = &export->out;

    check(!out->failed && !export->second.failed);
    check(out->length == 0 || out->data[out->length - 1] == '\n');
    check(!memchr(strbuf_text(out), '\0', out->length));
    if (strcmp(export->exporter->name, "perfetto") == 0)
        check_json(strbuf_text(out), out->length);
    if (strcmp(export->exporter->name, "duct") == 0) {
        check_lines_of_json(out);
        check_json(strbuf_text(&export->second), export->second.length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct exporter *const exporters[] = {&exporter_csv,      &exporter_prometheus,
                                                       &exporter_nextflow, &exporter_snakemake,
                                                       &exporter_perfetto, &exporter_duct};
    struct made_run run;

    if (!made_run_open(&run, data, size))
        return 0;
    for (size_t i = 0; i < sizeof(exporters) / sizeof(exporters[0]); i++) {
        struct export export = {0};
        struct metron_error error = {0};

        if (export_init(&export, exporters[i], &run.recording, "p/", &error) == 0 &&
            export_begin(&export, &error) == 0) {
            add_records(&export);
            add_events(&export);
            check(export_end(&export) == 0);
            check_format(&export);
        } else {
            check(error.message[0] != '\0');
        }
        export_fini(&export);
    }
    made_run_close(&run);
    return 0;
}
