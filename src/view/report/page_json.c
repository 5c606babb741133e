/* A page as one JSON object: numbers exact, with their units and sources. */
#include "base/json.h"
#include "view/report/page.h"

static void value_json(struct json *json, const struct report_value *value)
{
    if (value->kind == REPORT_TEXT)
        json_string(json, value->text);
    else if (value->kind == REPORT_BOOLEAN)
        json_boolean(json, value->number != 0);
    else
        json_number(json, value->number);
}

static void fact_json(struct json *json, const struct report_item *fact)
{
    json_key(json, fact->name);
    /* A bare number, as an exit code is, needs no words. */
    bool is_bare = fact->unit == UNIT_NONE && !fact->source && !fact->note;
    if (fact->value.kind != REPORT_NUMBER || is_bare) {
        value_json(json, &fact->value);
        return;
    }
    json_object_begin(json);
    json_key_number(json, "value", fact->value.number);
    if (fact->unit != UNIT_NONE)
        json_key_string(json, "unit", unit_name(fact->unit));
    json_key_string(json, "source", fact->source);
    json_key_string(json, "note", fact->note);
    json_object_end(json);
}

static void table_json(struct json *json, const struct report_item *table)
{
    json_key_object(json, table->name);
    json_key_object(json, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct report_column *column = &table->columns[i];
        if (report_column_is_empty(table, i))
            continue;
        json_key_object(json, column->name);
        if (column->unit != UNIT_NONE)
            json_key_string(json, "unit", unit_name(column->unit));
        json_key_string(json, "source", column->source);
        json_object_end(json);
    }
    json_object_end(json);
    json_key_array(json, "rows");
    for (size_t row = 0; row < table->row_count; row++) {
        json_object_begin(json);
        for (size_t i = 0; i < table->column_count; i++) {
            const struct report_value *cell = &table->cells[row * table->column_count + i];
            if (cell->kind == REPORT_ABSENT)
                continue;
            json_key(json, table->columns[i].name);
            value_json(json, cell);
        }
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void remarks_json(struct json *json, const struct report_section *section)
{
    bool any = false;

    for (const struct report_item *item = section->first; item; item = item->next) {
        if (item->kind != REPORT_REMARK || item->for_people)
            continue;
        if (!any) {
            json_key_array(json, "remarks");
        }
        any = true;
        json_string(json, item->label);
    }
    if (any)
        json_array_end(json);
}

void report_page_json(struct strbuf *out, const struct report_page *page)
{
    struct json json;

    json_init(&json, out, 2);
    json_object_begin(&json);
    for (const struct report_section *section = page->first; section; section = section->next) {
        if (report_section_is_empty(section))
            continue;
        json_key_object(&json, section->name);
        for (const struct report_item *item = section->first; item; item = item->next) {
            if (item->for_people)
                continue;
            if (item->kind == REPORT_FACT)
                fact_json(&json, item);
            else if (item->kind == REPORT_TABLE && !report_item_is_empty(item))
                table_json(&json, item);
        }
        remarks_json(&json, section);
        json_object_end(&json);
    }
    json_object_end(&json);
    strbuf_addc(out, '\n');
}
