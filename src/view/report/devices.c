/* Section of a report: the GPUs, a row each, with all that the summary has of them. */
#include <string.h>

#include "base/json_reader.h"
#include "view/report/report.h"

enum { COLUMNS_MAX = 24, DEVICES_MAX = 64 };

/* What a line of the screen has room for: of a share and of power the mean, of a level the peak. */
static bool is_shown_first(const char *name, const struct recorded_key *key)
{
    const bool is_mean = strstr(name, "_ave_") != NULL;

    return strcmp(name, key->key) == 0 || is_mean == (key->unit == UNIT_PERCENT || key->unit == UNIT_WATTS);
}

static struct report_value *row_of(struct report_item *table, const struct json_text *device)
{
    for (size_t i = 0; i < table->row_count; i++) {
        struct report_value *row = &table->cells[i * table->column_count];
        if (row[0].text && json_text_is(device, row[0].text))
            return row;
    }
    return NULL;
}

/* {"0": 37, "1": 12}: a cell in the row of each device. */
static void add_values(struct report_page *page, struct report_item *table, size_t column, const char *json)
{
    struct json_reader reader;
    struct json_text device;
    double number;

    json_reader_init(&reader, json, strlen(json));
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &device)) {
            struct report_value *row = row_of(table, &device);
            if (!row && (row = report_add_row(table)))
                row[0] = report_text(report_text_of(page, "%.*s", (int)device.length, device.bytes));
            if (!json_read_number(&reader, &number))
                json_skip(&reader);
            else if (row)
                row[column] = report_number(number);
        }
    json_reader_fini(&reader);
}

void report_devices(struct report_page *page, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    struct report_section *section = report_section_add(page, "gpus", "GPUs (all processes of the machine)");
    struct report_column *columns = report_alloc(page, COLUMNS_MAX * sizeof(*columns));
    const char *values[COLUMNS_MAX];
    size_t count = 0;

    if (!columns)
        return;
    columns[count++] = (struct report_column){"device", "GPU", UNIT_NONE, NULL, REPORT_CUT};
    for (size_t i = 0; i < recording->field_count && count < COLUMNS_MAX; i++) {
        const struct recorded_field *field = &recording->fields[i];
        const struct recorded_key *key =
            field->kind == FIELD_JSON ? recording_key_of_summary(recording, field->name) : NULL;
        if (!key || key->topic != TOPIC_GPU || key->scope != SCOPE_PER_DEVICE)
            continue;
        struct recorded_key named = *key;
        named.key = field->name;
        values[count] = field->text;
        columns[count++] =
            (struct report_column){field->name, report_column_title(page, &named), key->unit, key->key,
                                   is_shown_first(field->name, key) ? REPORT_CUT : REPORT_LUXURY};
    }
    struct report_item *table = report_add_table(section, "devices", NULL, columns, count, DEVICES_MAX);
    for (size_t column = 1; column < count; column++)
        add_values(page, table, column, values[column]);
}
