/*
 * Units by the way that leads to a number. What was measured has its unit in the recording's registry, the
 * fields of info.json have theirs from store/; only the words of a record, of an event and of the lists in
 * info.json, which are no fields of a recording, are named here.
 */
#include "view/pretty/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "store/recording/reader.h"

#define PATH_SIZE 512

struct word {
    const char *name; /* with * */
    enum unit unit;
    double scale; /* to the number that the unit is for */
};

static const struct word record_words[] = {
    {"elapsed", UNIT_SECONDS, 1},
    {"num_samples", UNIT_COUNT, 1},
    {"averages.num_samples", UNIT_COUNT, 1},
    /* Of events, as schema/event.c writes them. */
    {"cpu_seconds", UNIT_SECONDS, 1},
    {"lifetime_seconds", UNIT_SECONDS, 1},
    {"max_rss", UNIT_BYTES, 1},
    {"read_bytes", UNIT_BYTES, 1},
    {"write_bytes", UNIT_BYTES, 1},
    {"minor_faults", UNIT_COUNT, 1},
    {"major_faults", UNIT_COUNT, 1},
};

static const struct word info_words[] = {
    {"peak_memory.value", UNIT_BYTES, 1},
    {"stall.*.share", UNIT_PERCENT, 100},
    {"syscalls.hotspot.share", UNIT_PERCENT, 100},
    {"syscalls.by_call.*.count", UNIT_COUNT, 1},
    {"syscalls.by_call.*.errors", UNIT_COUNT, 1},
    {"syscalls.by_call.*.seconds", UNIT_SECONDS, 1},
    {"syscalls.by_call.*.seconds_per_call", UNIT_SECONDS, 1},
    {"syscalls.by_call.*.time_pct", UNIT_PERCENT, 1},
    {"provenance.collectors.*.failed_passes", UNIT_COUNT, 1},
};

/* -- The registry, by name -- */

static int compare_units(const void *a, const void *b)
{
    return strcmp(((const struct pretty_unit *)a)->name, ((const struct pretty_unit *)b)->name);
}

static struct pretty_unit *find_unit(const struct pretty_units *units, const char *name)
{
    struct pretty_unit wanted = {.name = name};

    return units->count ? bsearch(&wanted, units->units, units->count, sizeof(wanted), compare_units) : NULL;
}

static int index_units(struct pretty_units *units)
{
    const struct recording *recording = &units->recording;
    size_t room = units->is_info ? recording->field_count : recording->key_count;

    units->units = calloc(room + 1, sizeof(*units->units));
    if (!units->units)
        return -ENOMEM;
    for (size_t i = 0; units->is_info && i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];

        /* An alias is no field of the file. */
        if (field->kind == FIELD_NUMBER && field->unit != UNIT_NONE && !field->source)
            units->units[units->count++] = (struct pretty_unit){field->name, field->unit, field->note};
    }
    for (size_t i = 0; !units->is_info && i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];

        if (type_is_number(key->type) && key->unit != UNIT_NONE)
            units->units[units->count++] = (struct pretty_unit){key->key, key->unit, key->note};
    }
    if (units->count > 0)
        qsort(units->units, units->count, sizeof(*units->units), compare_units);
    return 0;
}

int pretty_units_init(struct pretty_units *out, const char *path, const char *bytes, size_t length,
                      struct metron_error *error)
{
    const struct recording_wish wish = {.keys = true, .units_only = true, .info_only = true};
    struct metron_error no_info = {0};

    *out = (struct pretty_units){0};

    int code = recording_parse(bytes, length, path ? path : "stdin", &wish, &out->recording, &no_info);

    out->is_info = code == 0;
    if (code == -ENOTSUP || code == -ENOMEM)
        return error_set(error, code, "%s", no_info.message);
    if (code < 0 && !path)
        return error_set(error, -ENOENT, "stdin tells no units unless it is an info.json");
    if (code < 0)
        code = recording_read(path, &wish, &out->recording, error);
    if (code < 0)
        return code;
    code = index_units(out);
    if (code < 0) {
        pretty_units_fini(out);
        return error_set(error, code, "no memory for the units");
    }
    return 0;
}

void pretty_units_fini(struct pretty_units *units)
{
    free(units->units);
    recording_fini(&units->recording);
    *units = (struct pretty_units){0};
}

/* -- The unit of a number -- */

/* "a.b.c"; false: it is longer than any that has a unit. */
static bool join(const struct pretty_path *path, char out[PATH_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < path->count; i++) {
        size_t length = strlen(path->names[i]);

        if (used + length + 2 > PATH_SIZE)
            return false;
        if (i > 0)
            out[used++] = '.';
        memcpy(out + used, path->names[i], length);
        used += length;
    }
    out[used] = '\0';
    return true;
}

/* A word of the tables above as a unit; UNIT_NONE: there is none. */
static enum unit find_word(const struct word *words, size_t count, const char *name, double *scale)
{
    for (size_t i = 0; i < count; i++) {
        if (text_glob(words[i].name, name)) {
            *scale = words[i].scale;
            return words[i].unit;
        }
    }
    return UNIT_NONE;
}

/* What is known of the number at a path: an entry of the registry, or else a bare unit. */
struct found {
    struct pretty_unit *entry;
    enum unit unit;
    double scale;
};

static struct found find_in_info(const struct pretty_units *units, const struct pretty_path *path)
{
    struct found found = {.scale = 1};
    char name[PATH_SIZE];

    if (strcmp(path->names[0], "execution_summary") == 0) {
        if (path->count == 2)
            found.entry = find_unit(units, path->names[1]);
        if (path->count != 3)
            return found;

        /* A value per device. Of a tally, {state: count}, the numbers have no unit. */
        const struct recorded_key *key = recording_key_of_summary(&units->recording, path->names[1]);

        found.unit = key && type_is_number(key->type) ? key->unit : UNIT_NONE;
        return found;
    }
    if (!join(path, name))
        return found;
    found.entry = find_unit(units, name);
    if (!found.entry)
        found.unit = find_word(info_words, sizeof(info_words) / sizeof(*info_words), name, &found.scale);
    return found;
}

/* con-duct's records: processes.PID.rss, totals.rss, averages.rss. */
static struct pretty_unit *find_in_duct(const struct pretty_units *units, const struct pretty_path *path)
{
    char name[PATH_SIZE];
    const char *group = path->names[0];

    if (path->count == 3 && strcmp(group, "processes") == 0)
        return find_unit(units, path->names[2]);
    if (path->count != 2 || strlen(path->names[1]) > PATH_SIZE / 2)
        return NULL;
    if (strcmp(group, "totals") == 0)
        (void)stpcpy(stpcpy(name, "total_"), path->names[1]);
    else if (strcmp(group, "averages") == 0)
        (void)stpcpy(stpcpy(name, "average_"), path->names[1]);
    else
        return NULL;
    return find_unit(units, name);
}

static struct found find_in_record(const struct pretty_units *units, const struct pretty_path *path)
{
    struct found found = {.scale = 1};
    char name[PATH_SIZE];

    if (units->recording.kind == RECORDING_DUCT)
        found.entry = find_in_duct(units, path);
    else if (path->count >= 2 && path->count <= 3 && strcmp(path->names[0], "measurements") == 0)
        found.entry = find_unit(units, path->names[1]);
    if (!found.entry && path->count <= 2 && join(path, name))
        found.unit =
            find_word(record_words, sizeof(record_words) / sizeof(*record_words), name, &found.scale);
    return found;
}

/* con-duct has points in time as numbers. */
static bool is_instant(const struct pretty_units *units, const struct pretty_path *path)
{
    return units->is_info && units->recording.kind == RECORDING_DUCT && path->count == 2 &&
           strcmp(path->names[0], "execution_summary") == 0 &&
           (strcmp(path->names[1], "start_time") == 0 || strcmp(path->names[1], "end_time") == 0);
}

bool pretty_units_number(void *context, const struct pretty_path *path, double number,
                         struct pretty_text *out)
{
    const struct pretty_units *units = context;

    if (path->count == 0)
        return false;
    if (is_instant(units, path)) {
        out->note = NULL;
        return *clock_local_text(number, "%Y-%m-%d %H:%M:%S %Z", out->text, sizeof(out->text)) != '\0';
    }

    struct found found = units->is_info ? find_in_info(units, path) : find_in_record(units, path);
    enum unit unit = found.entry ? found.entry->unit : found.unit;

    if (unit == UNIT_NONE)
        return false;
    (void)unit_human(unit, number * found.scale, out->text);
    out->note = NULL;
    if (found.entry) {
        out->note = found.entry->note;
        found.entry->note = NULL;
    }
    return true;
}
