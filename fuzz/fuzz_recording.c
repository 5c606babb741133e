/* info.json of metron and of con-duct: any bytes. No name stands twice, every field can be used, and who asks
 * for one field gets the same as who asks for all. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static bool lives(void *context, const struct recorder *recorder)
{
    (void)context;
    check(recorder->boot_id && recorder->pid > 0);
    return recorder->start_ticks % 2 == 0;
}

static void check_field(const struct recording *recording, const struct recorded_field *field)
{
    check(field->name != NULL);
    check(recording_field(recording, field->name) == field);
    check((field->kind == FIELD_TEXT || field->kind == FIELD_JSON) == (field->text != NULL));
    check(field->kind != FIELD_BOOLEAN || field->number == 0 || field->number == 1);
    (void)unit_name(field->unit);
}

static void check_key(const struct recording *recording, const struct recorded_key *key)
{
    check(key->key && key->source && key->field);
    check(recording_key_index(recording, key->key) >= 0);
    check(scope_names[key->scope] != NULL);
    check(type_names[key->type] != NULL);
    check(reduce_names[key->reduce] != NULL);
    (void)unit_name(key->unit);
}

/* The values of equal texts may lie elsewhere; a number may be none (of an alias whose time is now). */
static void check_alone(const uint8_t *data, size_t size, const struct recorded_field *field)
{
    const char *const names[] = {field->name, NULL};
    const struct recording_wish wish = {.fields = names, .keys = true, .lives = lives, .now = 2e9};
    struct recording alone;

    check(recording_parse((const char *)data, size, "/nowhere/info.json", &wish, &alone, NULL) == 0);
    check(alone.field_count == 1);
    check(alone.fields[0].kind == field->kind && alone.fields[0].unit == field->unit);
    check(memcmp(&alone.fields[0].number, &field->number, sizeof(double)) == 0);
    check(!field->text || strcmp(alone.fields[0].text, field->text) == 0);
    recording_fini(&alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct recording_wish wish = {.keys = true, .lives = lives, .now = 2e9};
    struct recording recording;
    struct metron_error error = {0};
    int code = recording_parse((const char *)data, size, "/nowhere/info.json", &wish, &recording, &error);

    check(code == error.code && (code == 0) == (error.message[0] == '\0'));
    check(code == 0 || !recording.arena.first);
    check(!recording.usage_path && !recording.events_path);
    for (size_t i = 0; i < recording.field_count; i++)
        check_field(&recording, &recording.fields[i]);
    for (size_t i = 0; i < recording.key_count; i++)
        check_key(&recording, &recording.keys[i]);
    for (size_t i = 0; i < recording.field_count; i += 1 + recording.field_count / 4)
        check_alone(data, size, &recording.fields[i]);
    recording_fini(&recording);
    return 0;
}
