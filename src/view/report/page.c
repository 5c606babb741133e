#include "view/report/page.h"

void report_page_fini(struct report_page *page)
{
    arena_fini(&page->arena);
    *page = (struct report_page){0};
}

const char *report_vtext_of(struct report_page *page, const char *format, va_list arguments)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_vaddf(&text, format, arguments);
    const char *kept = text.failed ? NULL : arena_strdup(&page->arena, strbuf_text(&text));
    strbuf_fini(&text);
    page->failed |= !kept;
    return kept ? kept : "";
}

const char *report_text_of(struct report_page *page, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const char *text = report_vtext_of(page, format, arguments);
    va_end(arguments);
    return text;
}

const char *report_human(struct report_page *page, enum unit unit, double value)
{
    char text[UNIT_TEXT_SIZE];

    return report_text_of(page, "%s", unit_human(unit, value, text));
}

void *report_alloc(struct report_page *page, size_t size)
{
    void *memory = arena_alloc(&page->arena, size);

    page->failed |= !memory;
    return memory;
}

struct report_section *report_section_add(struct report_page *page, const char *name, const char *title)
{
    struct report_section *section = report_alloc(page, sizeof(*section));

    page->spare_section.page = page;
    if (!section)
        return &page->spare_section;
    *section = (struct report_section){.page = page, .name = name, .title = title};
    if (page->last)
        page->last->next = section;
    else
        page->first = section;
    page->last = section;
    return section;
}

static struct report_item *item_add(struct report_section *section, enum report_item_kind kind,
                                    const char *name, const char *label)
{
    struct report_item *item = report_alloc(section->page, sizeof(*item));

    if (!item)
        return &section->page->spare_item;
    *item = (struct report_item){.kind = kind, .name = name, .label = label};
    item->for_programs = kind == REPORT_FACT && !label;
    if (section->last)
        section->last->next = item;
    else
        section->first = item;
    section->last = item;
    return item;
}

struct report_item *report_add_number(struct report_section *section, const char *name, const char *label,
                                      enum unit unit, double value, const char *source, const char *note)
{
    if (!isfinite(value))
        return &section->page->spare_item;
    struct report_item *item = item_add(section, REPORT_FACT, name, label);
    item->value = report_number(value);
    item->unit = unit;
    item->source = source;
    item->note = note;
    return item;
}

struct report_item *report_add_text(struct report_section *section, const char *name, const char *label,
                                    const char *text)
{
    struct report_item *item =
        text ? item_add(section, REPORT_FACT, name, label) : &section->page->spare_item;

    item->value = report_text(text);
    return item;
}

struct report_item *report_add_boolean(struct report_section *section, const char *name, const char *label,
                                       bool value)
{
    struct report_item *item = item_add(section, REPORT_FACT, name, label);

    item->value = report_boolean(value);
    return item;
}

struct report_item *report_say(struct report_section *section, const char *label, const char *text,
                               const char *source)
{
    struct report_item *item = report_add_text(section, "", label, text);

    item->for_people = true;
    item->source = source;
    return item;
}

struct report_item *report_sayf(struct report_section *section, const char *label, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    struct report_item *item =
        report_say(section, label, report_vtext_of(section->page, format, arguments), NULL);
    va_end(arguments);
    return item;
}

struct report_item *report_say_command(struct report_section *section, const char *label, const char *text,
                                       const char *command)
{
    struct report_item *item = report_say(section, label, text, NULL);

    item->one_line = true;
    item->command = command ? command : REPORT_NOT_TOLD;
    return item;
}

struct report_item *report_for_programs(struct report_item *item)
{
    item->for_programs = true;
    return item;
}

struct report_item *report_add_remark(struct report_section *section, const char *text)
{
    return item_add(section, REPORT_REMARK, "remarks", text);
}

struct report_item *report_add_table(struct report_section *section, const char *name, const char *title,
                                     const struct report_column *columns, size_t column_count, size_t rows)
{
    struct report_item *table = item_add(section, REPORT_TABLE, name, title);

    if (table == &section->page->spare_item)
        return table; /* it has room for no row */
    table->columns = columns;
    table->column_count = column_count;
    table->cells = report_alloc(section->page, (rows * column_count + 1) * sizeof(*table->cells));
    table->row_capacity = table->cells ? rows : 0;
    return table;
}

struct report_value *report_add_row(struct report_item *table)
{
    if (table->row_count == table->row_capacity)
        return NULL;
    return &table->cells[table->row_count++ * table->column_count];
}

struct report_value report_found(struct report_page *page, const struct json_text *object, const char *key)
{
    struct strbuf text = STRBUF_INIT;
    const char *found = json_find_text(object, key, &text) && text.length
                            ? report_text_of(page, "%s", strbuf_text(&text))
                            : NULL;

    page->failed |= text.failed;
    strbuf_fini(&text);
    return report_text(found);
}

bool report_item_is_empty(const struct report_item *item)
{
    return item->kind == REPORT_TABLE && item->row_count == 0;
}

bool report_section_is_empty(const struct report_section *section)
{
    for (const struct report_item *item = section->first; item; item = item->next)
        if (!report_item_is_empty(item) && !item->for_people)
            return false;
    return true;
}

bool report_column_is_empty(const struct report_item *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++)
        if (table->cells[row * table->column_count + column].kind != REPORT_ABSENT)
            return false;
    return true;
}
