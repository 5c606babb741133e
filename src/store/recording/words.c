#include "store/recording/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/recording/duct.h"
#include "store/recording/older.h"
#include "store/recording/usage_only.h"
#include "store/run_files.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *const recording_facts[] = {
    USAGE_ONLY_FIELD,
    "schema_version",
    "metron_version",
    "duct_version",
    "status",
    "recorder.pid",
    "recorder.start_ticks",
    "recorder.boot_id",
    "system.hostname",
    "start_time",
    "wall_clock_time",
    "peak_rss",
    "headline.cpu_seconds.value",
    "headline.cpu_seconds.source",
    "headline.cpu_seconds.bound",
    "headline.cpu_seconds.note",
    "headline.peak_memory_bytes.value",
    "headline.peak_memory_bytes.source",
    "headline.peak_memory_bytes.bound",
    "headline.peak_memory_bytes.note",
    "headline.processes.value",
    "headline.processes.source",
    "headline.processes.bound",
    "headline.processes.note",
    "stall.cpu.share",
    "stall.cpu.note",
    "stall.memory.share",
    "stall.memory.note",
    "stall.io.share",
    "stall.io.note",
    "cause",
    NULL,
};

/* -- Whose it is -- */

/* "1.4" -> 1; -1: it does not begin with a number and a dot. */
static long major_of(const char *version)
{
    char *end;
    long major = *version >= '0' && *version <= '9' ? strtol(version, &end, 10) : -1;

    return major >= 0 && *end == '.' ? major : -1;
}

int recording_recognize(struct recording *recording, const struct field_list *list,
                        struct metron_error *error)
{
    const char *schema = field_list_text(list, "schema_version");
    const char *usage_only = field_list_text(list, USAGE_ONLY_FIELD);

    if (usage_only) {
        recording->kind = strcmp(usage_only, "metron") == 0 ? RECORDING_METRON : RECORDING_DUCT;
        return 0;
    }
    if (field_list_text(list, "duct_version")) {
        recording->kind = RECORDING_DUCT;
        if (!schema)
            return error_set(error, -EBADMSG, "%s: a recording of con-duct without schema_version",
                             recording->path);
        if (strncmp(schema, "0.2.", 4) != 0)
            return error_set(error, -ENOTSUP, "%s: schema %.40s of con-duct is not known here, only 0.2.x",
                             recording->path, schema);
        return 0;
    }
    if (!field_list_text(list, "metron_version"))
        return error_set(error, -EBADMSG,
                         "%s: no recording of metron or con-duct: it has neither metron_version nor "
                         "duct_version",
                         recording->path);
    recording->kind = RECORDING_METRON;
    if (!schema || major_of(schema) < 0)
        return error_set(error, -EBADMSG, "%s: a recording of metron without a schema_version like 1.0",
                         recording->path);
    if (major_of(schema) != 1)
        return error_set(error, -ENOTSUP,
                         "%s: schema %.40s is not known here, only 1.x; read it with the metron that wrote "
                         "it (%.40s) or a newer one",
                         recording->path, schema, field_list_text(list, "metron_version"));
    return 0;
}

/* -- Status and aliases -- */

/* con-duct's is a number, which may be any: past the year 9999 it is damage, and no time_t. */
static double start_of(const struct field_list *list)
{
    static const double year_10000 = 253402300800.0;

    const char *text = field_list_text(list, "start_time");
    const struct recorded_field *number = field_list_find(list, "start_time", FIELD_NUMBER);
    double start = 0;

    if (text)
        return recording_parse_time(text, &start) ? start : 0;
    return number && number->number > 0 && number->number < year_10000 ? number->number : 0;
}

bool recording_says_running(const struct field_list *list)
{
    const char *status = field_list_text(list, "status");

    return status && strcmp(status, "running") == 0;
}

static enum recording_status status_of(const struct recording *recording, const struct field_list *list,
                                       const struct recording_wish *wish)
{
    if (field_list_text(list, USAGE_ONLY_FIELD))
        return RECORDING_UNKNOWN;
    if (recording->kind == RECORDING_DUCT || !recording_says_running(list))
        return RECORDING_ENDED;

    const struct recorded_field *pid = field_list_find(list, "recorder.pid", FIELD_NUMBER);
    const struct recorded_field *ticks = field_list_find(list, "recorder.start_ticks", FIELD_NUMBER);
    const char *boot = field_list_text(list, "recorder.boot_id");

    if (!wish->lives)
        return RECORDING_RUNNING;
    /* One that cannot be asked for is gone: an older or a damaged one, or none of this machine. */
    if (!pid || !(pid->number >= 1 && pid->number <= 0x7fffffff) || !boot || !ticks ||
        !(ticks->number >= 0 && ticks->number < 0x1p63))
        return RECORDING_LOST;

    const struct recorder recorder = {
        .boot_id = boot,
        .hostname = field_list_text(list, "system.hostname"),
        .pid = (pid_t)pid->number,
        .start_ticks = (uint64_t)ticks->number,
        .start_wall = recording->start_wall,
        .usage_path = recording->usage_path,
    };
    return wish->lives(wish->context, &recorder) ? RECORDING_RUNNING : RECORDING_LOST;
}

static const struct recorded_field *headline_part(const struct field_list *list,
                                                  const struct recorded_alias *alias, const char *part,
                                                  enum field_kind kind)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "headline.%s.%s", alias->headline, part);
    return field_list_find(list, name, kind);
}

/* What info.json has of the headline. False: it has no such answer. */
static bool read_answer(const struct field_list *list, const struct recorded_alias *alias,
                        struct headline_answer *out)
{
    const struct recorded_field *value = headline_part(list, alias, "value", FIELD_NUMBER);
    const struct recorded_field *source = headline_part(list, alias, "source", FIELD_TEXT);
    const struct recorded_field *bound = headline_part(list, alias, "bound", FIELD_TEXT);
    const struct recorded_field *note = headline_part(list, alias, "note", FIELD_TEXT);

    if (!value)
        return false;
    *out = (struct headline_answer){
        .has = true,
        .value = value->number,
        .source = source ? source->text : value->name,
        .note = {bound_named(bound ? bound->text : NULL), note ? note->text : NULL},
    };
    return true;
}

/* Only then are the records worth reading. */
static bool asks_for_headline(const char *const *fields)
{
    for (const char *const *field = fields; field && *field; field++)
        for (size_t i = 0; i < ALIAS_COUNT; i++)
            if (recorded_aliases[i].headline &&
                strncmp(*field, recorded_aliases[i].name, strlen(recorded_aliases[i].name)) == 0)
                return true;
    return !fields;
}

static void add_answer(const struct recording *recording, struct field_list *list,
                       const struct recorded_alias *alias, const struct headline_answer *answer)
{
    const char *note = answer->note.text;

    if (!answer->has)
        return;
    if (recording->status != RECORDING_ENDED) {
        note = note_until_now(list->arena, note, recording->status != RECORDING_RUNNING);
        list->no_memory |= !note;
    }
    field_list_add(list, &(struct recorded_field){.name = alias->name,
                                                  .kind = FIELD_NUMBER,
                                                  .unit = alias->unit,
                                                  .number = answer->value,
                                                  .source = answer->source,
                                                  .bound = answer->note.bound,
                                                  .note = note});
}

static void add_headline(const struct recording *recording, struct field_list *list,
                         const struct recording_wish *wish)
{
    struct headline_answer answers[ALIAS_COUNT] = {0};
    struct headline headline;
    bool any = false;

    for (size_t i = 0; i < ALIAS_COUNT; i++)
        if (recorded_aliases[i].headline)
            any |= read_answer(list, &recorded_aliases[i], &answers[i]);
    bool has_no_end = recording->status == RECORDING_RUNNING || recording->status == RECORDING_UNKNOWN;
    if (!any && has_no_end && wish->make_headline && asks_for_headline(wish->fields) &&
        wish->make_headline(recording, &headline)) {
        answers[ALIAS_CPU_SECONDS] = headline.cpu_seconds;
        answers[ALIAS_PEAK_MEMORY] = headline.peak_memory_bytes;
        answers[ALIAS_PROCESSES] = headline.processes;
    }
    for (size_t i = 0; i < ALIAS_COUNT; i++)
        add_answer(recording, list, &recorded_aliases[i], &answers[i]);
}

static void add_wall(const struct recording *recording, struct field_list *list, double now)
{
    const struct recorded_field *wall = field_list_find(list, "wall_clock_time", FIELD_NUMBER);
    struct recorded_field alias = {.name = recorded_aliases[ALIAS_WALL].name,
                                   .kind = FIELD_NUMBER,
                                   .unit = recorded_aliases[ALIAS_WALL].unit};

    if (wall) {
        alias.number = wall->number;
        alias.source = "wall_clock_time";
    } else if (recording->status == RECORDING_RUNNING && now > 0 && recording->start_wall > 0 &&
               now >= recording->start_wall) {
        alias.number = now - recording->start_wall;
        alias.source = "start_time";
        alias.note = "from the start until now: it still runs";
    } else {
        return;
    }
    field_list_add(list, &alias);
}

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_field(uint64_t hash, const struct field_list *list, const char *name)
{
    const char *text = field_list_text(list, name);
    const struct recorded_field *number = field_list_find(list, name, FIELD_NUMBER);

    if (text)
        return hash_bytes(hash, text, strlen(text) + 1);
    return number ? hash_bytes(hash, &number->number, sizeof(number->number)) : hash_bytes(hash, "", 1);
}

/* Its start is not known to the last digit before the command runs: a recorder is enough, it records one run.
 */
static uint64_t make_id(const struct recording *recording, const struct field_list *list)
{
    static const char *const names[] = {"system.hostname", "recorder.pid", "recorder.start_ticks",
                                        "recorder.boot_id"};
    const char *slash = strrchr(recording->path, '/'), *file = slash ? slash + 1 : recording->path;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < COUNT(names); i++)
        hash = hash_field(hash, list, names[i]);
    if (!field_list_find(list, "recorder.pid", FIELD_NUMBER))
        hash = hash_field(hash, list, "start_time");
    if (recording->kind == RECORDING_DUCT || field_list_text(list, USAGE_ONLY_FIELD))
        hash = hash_bytes(hash, file, strlen(file));
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15); /* the last bytes reach the first digits */
    return hash >> (64 - 4 * RECORDING_ID_DIGITS);
}

static void add_texts(const struct recording *recording, struct field_list *list)
{
    ptrdiff_t length = run_prefix_length(recording->path);
    char id[RECORDING_ID_SIZE], *kept = arena_strdup(list->arena, recording_id_text(recording->id, id));

    list->no_memory |= !kept;
    if (kept)
        field_list_add(list, &(struct recorded_field){.name = "id", .kind = FIELD_TEXT, .text = kept});
    field_list_add(list, &(struct recorded_field){.name = "status",
                                                  .kind = FIELD_TEXT,
                                                  .text = recording_status_names[recording->status]});
    if (length < 0)
        return;

    char *prefix = arena_copy(list->arena, recording->path, (size_t)length);

    if (!prefix)
        list->no_memory = true;
    else
        field_list_add(list, &(struct recorded_field){.name = "prefix", .kind = FIELD_TEXT, .text = prefix});
}

static void add_part(struct field_list *list, const char *alias, const char *part, const char *text)
{
    char name[64];

    if (!text)
        return;
    (void)snprintf(name, sizeof(name), "%s_%s", alias, part);
    field_list_add(list, &(struct recorded_field){.name = name, .kind = FIELD_TEXT, .text = text});
}

/* What goes with an alias, as fields that can be listed and asked for. */
static void add_parts(struct field_list *list)
{
    for (size_t i = 0; i < ALIAS_COUNT; i++) {
        const char *name = recorded_aliases[i].name;
        const struct recorded_field *alias = field_list_find(list, name, FIELD_NUMBER);
        if (!alias)
            continue;
        /* The list may move when it grows. */
        const char *source = alias->source, *note = alias->note;
        enum bound bound = alias->bound;
        add_part(list, name, "source", source);
        add_part(list, name, "note", note);
        add_part(list, name, "bound", bound_name(bound));
    }
}

static void add_numbers(const struct recording *recording, struct field_list *list,
                        const struct recording_wish *wish)
{
    add_wall(recording, list, wish->now);
    const struct recorded_field *peak = field_list_find(list, "peak_rss", FIELD_NUMBER);
    if (recording->kind == RECORDING_METRON)
        add_headline(recording, list, wish);
    else if (peak)
        field_list_add(list, &(struct recorded_field){.name = recorded_aliases[ALIAS_PEAK_MEMORY].name,
                                                      .kind = FIELD_NUMBER,
                                                      .unit = recorded_aliases[ALIAS_PEAK_MEMORY].unit,
                                                      .number = peak->number,
                                                      .source = "peak_rss",
                                                      .bound = BOUND_ABOUT,
                                                      .note = duct_peak_note});
}

void recording_conclude(struct recording *recording, struct field_list *list,
                        const struct recording_wish *wish)
{
    recording->start_wall = start_of(list);
    recording->id = make_id(recording, list);
    recording->status = status_of(recording, list, wish);
    if (recording->kind == RECORDING_METRON && recording->status != RECORDING_UNKNOWN)
        older_add_facts(list, field_list_text(list, "schema_version"));
    add_texts(recording, list);
    add_numbers(recording, list, wish);
    if (wish->parts)
        add_parts(list);
}

/* -- Units -- */

/* "headline.peak_memory_bytes.value" and "….upper_bound.value" are in the unit of their alias. */
static enum unit headline_unit(const char *name)
{
    static const char begin[] = "headline.";

    if (strncmp(name, begin, sizeof(begin) - 1) != 0 || !text_ends_with(name, ".value"))
        return UNIT_NONE;
    name += sizeof(begin) - 1;
    for (size_t i = 0; i < ALIAS_COUNT; i++) {
        const char *headline = recorded_aliases[i].headline;
        size_t length = headline ? strlen(headline) : 0;

        if (headline && strncmp(name, headline, length) == 0 && name[length] == '.')
            return recorded_aliases[i].unit;
    }
    return UNIT_NONE;
}

/* The schema's own words; what was measured has its unit in the registry. */
static enum unit fixed_unit(const char *name)
{
    static const struct {
        const char *name;
        enum unit unit;
    } words[] = {
        {"wall_clock_time", UNIT_SECONDS},
        {"num_samples", UNIT_COUNT},
        {"num_reports", UNIT_COUNT},
        {"system.memory_total", UNIT_BYTES},
        {"system.cpu_total", UNIT_COUNT},
        {"system.cpu_usable", UNIT_COUNT},
        {"system.may_use.memory", UNIT_BYTES},
        {"system.may_use.cpus", UNIT_COUNT},
        {"provenance.sample_interval", UNIT_SECONDS},
        {"provenance.report_interval", UNIT_SECONDS},
        {"provenance.events_lost", UNIT_COUNT},
        {"syscalls.count", UNIT_COUNT},
        {"syscalls.errors", UNIT_COUNT},
        {"syscalls.seconds", UNIT_SECONDS},
        {"syscalls.lost", UNIT_COUNT},
        {"survivors.count", UNIT_COUNT},
        {"outcome.limit_bytes", UNIT_BYTES},
        {"outcome.oom_kills", UNIT_COUNT},
    };

    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].unit;
    return headline_unit(name);
}

void recording_label(const struct recording *recording, struct field_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct recorded_field *field = &list->items[i];
        const struct recorded_key *key;

        if (field->source) /* an alias has its own */
            continue;
        if (list->marks[i].in_summary && recording->kind == RECORDING_DUCT &&
            duct_field_words(field->name, &field->unit, &field->note))
            continue;
        key = list->marks[i].in_summary && recording->kind == RECORDING_METRON
                  ? recording_key_of_summary(recording, field->name)
                  : NULL;
        field->unit = key ? key->unit : fixed_unit(field->name);
    }
}

/* -- Into the recording -- */

int recording_keep(struct recording *recording, const struct field_list *list, const struct field_wish *wish,
                   struct metron_error *error)
{
    if (list->too_many)
        return error_set(error, -EFBIG, "%s: more than %d fields", recording->path, RECORDING_FIELDS_MAX);

    size_t size = list->count * sizeof(*recording->fields);
    struct recorded_field *fields = arena_alloc(&recording->arena, size ? size : 1);

    if (!fields || list->no_memory)
        return error_set(error, -ENOMEM, "%s: no memory to read it", recording->path);
    recording->fields = fields;
    for (size_t i = 0; i < list->count; i++)
        if (field_wish_names(wish, list->items[i].name))
            fields[recording->field_count++] = list->items[i];
    return 0;
}
