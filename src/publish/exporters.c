/*
 * The table of formats, and what they have in common: counting the records, and the reduction of the single
 * numbers of a run that has no summary (it still runs, or its metron is gone). A run that ended has one, made
 * from every sample and the kernel's last word, and it is taken instead.
 */
#include "publish/exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct exporter *const exporters[] = {
    &exporter_csv,       &exporter_prometheus, &exporter_nextflow,
    &exporter_snakemake, &exporter_perfetto,   &exporter_duct,
};

const struct exporter *exporter_find(const char *name)
{
    for (size_t i = 0; i < sizeof(exporters) / sizeof(exporters[0]); i++)
        if (strcmp(exporters[i]->name, name) == 0)
            return exporters[i];
    return NULL;
}

int export_init(struct export *export, const struct exporter *exporter, const struct recording *recording,
                const char *prefix, struct metron_error *error)
{
    *export = (struct export){.exporter = exporter, .recording = recording, .prefix = prefix};
    export->totals = calloc(recording->key_count + 1, sizeof(*export->totals));
    if (!export->totals)
        return error_set(error, -ENOMEM, "no memory to export the run");
    return 0;
}

static bool is_reduced(const struct export *export, const struct recorded_key *key)
{
    return export->exporter->reduces && export->recording->status != RECORDING_ENDED &&
           key->scope == SCOPE_SINGLE && !key->statistic && type_is_number(key->type);
}

bool export_wants(const struct export *export, bool *wanted)
{
    const struct recording *recording = export->recording;
    bool any = false;

    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];

        wanted[i] =
            (export->exporter->wants && export->exporter->wants(recording, key)) || is_reduced(export, key);
        any = any || wanted[i];
    }
    return any;
}

/* The first failure to get memory is remembered by the buffers. */
static int finish(const struct export *export, int code)
{
    return code == 0 && (export->out.failed || export->second.failed) ? -ENOMEM : code;
}

int export_begin(struct export *export, struct metron_error *error)
{
    int code = export->exporter->begin ? export->exporter->begin(export, error) : 0;

    code = finish(export, code);
    if (code == -ENOMEM)
        (void)error_set(error, code, "no memory to export the run");
    return code;
}

int export_record(struct export *export, const struct usage_record *record)
{
    const struct recording *recording = export->recording;

    export->window = record->elapsed > export->elapsed ? record->elapsed - export->elapsed : 0;
    export->elapsed = record->elapsed > export->elapsed ? record->elapsed : export->elapsed;
    export->record_count++;
    export->sample_count += record->num_samples;
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        const struct recorded_key *key = &recording->keys[value->key];

        if (value->kind == FIELD_NUMBER && is_reduced(export, key))
            recorded_total_take(&export->totals[value->key], key->reduce, value->number);
    }
    return finish(export, export->exporter->record ? export->exporter->record(export, record) : 0);
}

int export_event(struct export *export, const struct recorded_event *event)
{
    return finish(export, export->exporter->event ? export->exporter->event(export, event) : 0);
}

int export_end(struct export *export)
{
    return finish(export, export->exporter->end ? export->exporter->end(export) : 0);
}

void export_fini(struct export *export)
{
    if (export->exporter && export->exporter->fini)
        export->exporter->fini(export);
    strbuf_fini(&export->out);
    strbuf_fini(&export->second);
    free(export->totals);
    export->totals = NULL;
}
