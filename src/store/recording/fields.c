#include "store/recording/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MIX UINT64_C(0x9E3779B97F4A7C15)

/* Names differ at their ends: those sixteen bytes and the length are enough. Equal hashes are compared. */
static uint32_t field_name_hash(const char *name, size_t length)
{
    uint64_t head = 0, tail = 0;

    if (length >= sizeof(head)) {
        memcpy(&head, name, sizeof(head));
        memcpy(&tail, name + length - sizeof(tail), sizeof(tail));
    } else {
        memcpy(&head, name, length);
    }

    uint64_t hash = (head * MIX) ^ ((tail ^ length) * (MIX >> 1 | 1));

    hash ^= hash >> 29;
    return (uint32_t)((hash * MIX) >> 32);
}

/* -- What is wanted -- */

static void filter_add(struct field_wish *wish, const char *const *names)
{
    for (; names && *names; names++) {
        uint32_t hash = field_name_hash(*names, strlen(*names));

        wish->filter[hash >> 6 & 3] |= UINT64_C(1) << (hash & 63);
    }
}

void field_wish_init(struct field_wish *wish, const char *const *names, const char *const *always)
{
    *wish = (struct field_wish){.names = names, .always = always};
    filter_add(wish, names);
    filter_add(wish, always);
}

static bool is_among(const char *const *names, const char *name, size_t length)
{
    for (; names && *names; names++)
        if (strncmp(*names, name, length) == 0 && (*names)[length] == '\0')
            return true;
    return false;
}

static bool is_among_below(const char *const *names, const char *path, size_t length)
{
    for (; names && *names; names++)
        if (strncmp(*names, path, length) == 0 && (*names)[length] == '.')
            return true;
    return false;
}

bool field_wish_takes(const struct field_wish *wish, const char *name, size_t length)
{
    if (!wish->names)
        return true;

    uint32_t hash = field_name_hash(name, length);

    if (!(wish->filter[hash >> 6 & 3] >> (hash & 63) & 1))
        return false;
    return is_among(wish->names, name, length) || is_among(wish->always, name, length);
}

bool field_wish_takes_below(const struct field_wish *wish, const char *path, size_t length)
{
    return !wish->names || is_among_below(wish->names, path, length) ||
           is_among_below(wish->always, path, length);
}

bool field_wish_names(const struct field_wish *wish, const char *name)
{
    return !wish->names || is_among(wish->names, name, strlen(name));
}

/* -- The list -- */

const struct recorded_field *field_list_find(const struct field_list *list, const char *name,
                                             enum field_kind kind)
{
    uint32_t hash = field_name_hash(name, strlen(name));

    for (size_t i = 0; i < list->count; i++)
        if (list->marks[i].hash == hash && list->items[i].kind == kind &&
            strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

const char *field_list_text(const struct field_list *list, const char *name)
{
    const struct recorded_field *field = field_list_find(list, name, FIELD_TEXT);

    return field ? field->text : NULL;
}

/* The place of this name: where it stands already, or a new one. NULL: there is no room. */
static struct recorded_field *place(struct field_list *list, const char *name, size_t length, bool in_summary)
{
    uint32_t hash = field_name_hash(name, length);

    for (size_t i = 0; i < list->count; i++)
        if (list->marks[i].hash == hash && strncmp(list->items[i].name, name, length) == 0 &&
            list->items[i].name[length] == '\0') {
            list->marks[i].in_summary |= in_summary;
            return &list->items[i];
        }
    if (list->count == RECORDING_FIELDS_MAX) {
        list->too_many = true;
        return NULL;
    }
    if (ARRAY_RESERVE(list->items, list->item_capacity, list->count + 1) < 0 ||
        ARRAY_RESERVE(list->marks, list->mark_capacity, list->count + 1) < 0) {
        list->no_memory = true;
        return NULL;
    }
    list->marks[list->count] = (struct field_mark){hash, in_summary};
    list->items[list->count] = (struct recorded_field){0};
    return &list->items[list->count++];
}

static void add(struct field_list *list, const char *name, size_t length, const struct recorded_field *field,
                bool in_summary)
{
    struct recorded_field *item = place(list, name, length, in_summary);

    if (!item)
        return;

    const char *kept = item->name ? item->name : arena_copy(list->arena, name, length);

    if (!kept) {
        list->no_memory = true;
        list->count--;
        return;
    }
    *item = *field;
    item->name = kept;
}

void field_list_add(struct field_list *list, const struct recorded_field *field)
{
    add(list, field->name, strlen(field->name), field, false);
}

void field_list_read(struct field_list *list, struct json_reader *json, const char *name, size_t length,
                     bool in_summary)
{
    struct recorded_field field = {0};
    struct json_text text = {0};
    bool truth = false, has = false;

    switch (json_peek(json)) {
    case JSON_NUMBER:
        field.kind = FIELD_NUMBER;
        has = json_read_number(json, &field.number);
        break;
    case JSON_STRING:
        field.kind = FIELD_TEXT;
        has = json_read_text(json, &text);
        break;
    case JSON_BOOLEAN:
        field.kind = FIELD_BOOLEAN;
        has = json_read_boolean(json, &truth);
        field.number = truth;
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        field.kind = FIELD_JSON;
        has = json_read_raw(json, &text);
        break;
    case JSON_NULL:
    case JSON_NOTHING:
        (void)json_skip(json);
        break;
    }
    if (!has)
        return;
    if (field.kind == FIELD_TEXT || field.kind == FIELD_JSON) {
        field.text = arena_copy(list->arena, text.bytes, text.length);
        if (!field.text) {
            list->no_memory = true;
            return;
        }
    }
    add(list, name, length, &field, in_summary);
}

void field_list_fini(struct field_list *list)
{
    free(list->items);
    free(list->marks);
    *list = (struct field_list){0};
}
