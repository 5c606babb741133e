/*
 * info.json into a recording. One walk over the bytes: what stands in execution_summary keeps its name, what
 * stands deeper is named by its path, and what nobody wants is passed over without being looked at. Which
 * program wrote it is known only at the end, because the keys of an object have no order; so the meaning of
 * what was gathered is worked out afterwards (store/recording/words.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "store/recording/duct.h"
#include "store/recording/fields.h"
#include "store/recording/older.h"
#include "store/recording/reader.h"
#include "store/recording/usage_only.h"
#include "store/recording/words.h"
#include "store/run_files.h"

/* Objects below this depth are kept as they stand. */
#define FLATTEN_DEPTH 6

struct parser {
    struct json_reader json;
    struct recording *out;
    struct field_wish wish;
    struct field_list fields;
    bool keys_wanted, units_only;
    struct strbuf path;        /* of the object that is walked */
    struct recorded_key *keys; /* owned, until they move into the arena */
    size_t key_count, key_capacity;
};

/* -- Fields -- */

/* A copy: the key may lie where the next text is going to. */
static void path_set(struct parser *parser, const struct json_text *key)
{
    strbuf_reset(&parser->path);
    strbuf_add(&parser->path, key->bytes, key->length);
    parser->fields.no_memory |= parser->path.failed;
}

static void path_enter(struct parser *parser, const struct json_text *key)
{
    strbuf_addc(&parser->path, '.');
    strbuf_add(&parser->path, key->bytes, key->length);
    parser->fields.no_memory |= parser->path.failed;
}

static void path_leave(struct parser *parser, size_t length)
{
    if (parser->path.failed)
        return;
    parser->path.length = length;
    parser->path.data[length] = '\0';
}

/* Lists by name, of which each entry is a row and not a field. */
static bool is_table(const char *path)
{
    return strcmp(path, "syscalls.by_call") == 0;
}

static void read_registry(struct parser *parser);

/* The value at parser->path, `depth` objects below the top level: taken or passed over, or an object that was
 * entered and is now to be walked. */
static bool enter_or_take(struct parser *parser, int depth)
{
    const char *path = strbuf_text(&parser->path);
    size_t length = parser->path.length;

    if (json_peek(&parser->json) != JSON_OBJECT || depth == FLATTEN_DEPTH || is_table(path)) {
        if (field_wish_takes(&parser->wish, path, length))
            field_list_read(&parser->fields, &parser->json, path, length, false);
        else
            (void)json_skip(&parser->json);
        return false;
    }
    if (strcmp(path, "provenance.measurements") == 0) {
        read_registry(parser);
        return false;
    }
    if (!field_wish_takes_below(&parser->wish, path, length) &&
        !(parser->keys_wanted && strcmp(path, "provenance") == 0)) {
        (void)json_skip(&parser->json);
        return false;
    }
    return json_enter_object(&parser->json);
}

/* The value at parser->path with all below it. */
static void read_value(struct parser *parser)
{
    size_t lengths[FLATTEN_DEPTH + 1]; /* of the paths of the objects that are open */
    struct json_text key;
    int depth = 0;

    if (enter_or_take(parser, depth))
        lengths[depth++] = parser->path.length;
    while (depth > 0) {
        path_leave(parser, lengths[depth - 1]);
        if (!json_next_key(&parser->json, &key)) {
            depth--;
            continue;
        }
        path_enter(parser, &key);
        if (enter_or_take(parser, depth))
            lengths[depth++] = parser->path.length;
    }
}

static void read_summary(struct parser *parser)
{
    struct json_text key;

    if (!json_enter_object(&parser->json)) {
        (void)json_skip(&parser->json);
        return;
    }
    while (json_next_key(&parser->json, &key)) {
        if (!field_wish_takes(&parser->wish, key.bytes, key.length)) {
            (void)json_skip(&parser->json);
            continue;
        }
        path_set(parser, &key);
        field_list_read(&parser->fields, &parser->json, strbuf_text(&parser->path), parser->path.length,
                        true);
    }
}

static void read_top(struct parser *parser)
{
    static const char methods[] = "peak_memory_methods";
    struct json_text key;

    if (!json_enter_object(&parser->json))
        return;
    while (json_next_key(&parser->json, &key)) {
        if (json_text_is(&key, "execution_summary")) {
            read_summary(parser);
            continue;
        }
        /* The list of all methods leaves its name to the alias, the one answer. */
        if (json_text_is(&key, "peak_memory"))
            key = (struct json_text){methods, sizeof(methods) - 1};

        path_set(parser, &key);
        read_value(parser);
    }
}

/* -- The registry -- */

static enum unit unit_named(const struct json_text *name)
{
    for (int unit = UNIT_NONE; unit <= UNIT_JOULES; unit++)
        if (json_text_is(name, unit_name((enum unit)unit)))
            return (enum unit)unit;
    return UNIT_NONE;
}

/* The place of a name among those up to `last`; `otherwise`: it is none of them. */
static int named(const struct json_text *name, const char *const *names, int last, int otherwise)
{
    for (int i = 0; i <= last; i++)
        if (json_text_is(name, names[i]))
            return i;
    return otherwise;
}

static const char *keep_text(struct parser *parser, const struct json_text *text)
{
    const char *copy = arena_copy(&parser->out->arena, text->bytes, text->length);

    if (!copy)
        parser->fields.no_memory = true;
    return copy ? copy : "";
}

/* Keys of one source follow each other. */
static const char *source_named(struct parser *parser, const struct json_text *name)
{
    const char *before = parser->key_count > 0 ? parser->keys[parser->key_count - 1].source : "";

    return json_text_is(name, before) ? before : keep_text(parser, name);
}

static void add_key(struct parser *parser, const struct recorded_key *key)
{
    if (parser->key_count == RECORDING_FIELDS_MAX) {
        parser->fields.too_many = true;
        return;
    }
    if (ARRAY_RESERVE(parser->keys, parser->key_capacity, parser->key_count + 1) < 0)
        parser->fields.no_memory = true;
    else
        parser->keys[parser->key_count++] = *key;
}

/* Beside each single key reduced by max its time-weighted mean is written. */
static void add_mean(struct parser *parser, const struct recorded_key *key)
{
    struct recorded_key mean = *key;

    if (key->scope != SCOPE_SINGLE || key->reduce != REDUCE_MAX || key->type == TYPE_LABEL ||
        key->type == TYPE_CATEGORICAL)
        return;
    mean.key = recorded_key_statistic(&parser->out->arena, key, "ave");
    mean.statistic = "ave";
    if (!mean.key)
        parser->fields.no_memory = true;
    else if (mean.key != key->key)
        add_key(parser, &mean);
}

enum word {
    WORD_SOURCE,
    WORD_FIELD,
    WORD_TOPIC,
    WORD_UNIT,
    WORD_BOUND,
    WORD_SCOPE,
    WORD_TYPE,
    WORD_REDUCE,
    WORD_COUNT
};

/* `next`: most likely, since metron writes them in this order. */
static enum word word_of(const struct json_text *text, unsigned next)
{
    static const char *const names[WORD_COUNT] = {"source", "field", "topic", "unit",
                                                  "bound",  "scope", "type",  "reduce"};

    for (unsigned i = 0; i < WORD_COUNT; i++)
        if (json_text_is(text, names[(next + i) % WORD_COUNT]))
            return (enum word)((next + i) % WORD_COUNT);
    return WORD_COUNT;
}

static void set_word(struct parser *parser, struct recorded_key *key, enum word word,
                     const struct json_text *value)
{
    switch (word) {
    case WORD_SOURCE:
        key->source = source_named(parser, value);
        break;
    case WORD_FIELD:
        key->field = keep_text(parser, value);
        break;
    case WORD_UNIT:
        key->unit = unit_named(value);
        break;
    case WORD_SCOPE:
        key->scope = (enum scope)named(value, scope_names, SCOPE_PER_DEVICE, SCOPE_SINGLE);
        break;
    case WORD_TYPE:
        key->type = (enum type)named(value, type_names, TYPE_CATEGORICAL, TYPE_GAUGE);
        break;
    case WORD_REDUCE:
        key->reduce = (enum reduce)named(value, reduce_names, REDUCE_TALLY, REDUCE_LAST);
        break;
    case WORD_TOPIC:
        key->topic = topic_named(value->bytes, value->length);
        break;
    case WORD_BOUND:
        key->bound = bound_named(keep_text(parser, value));
        break;
    case WORD_COUNT:
        break;
    }
}

static void read_key(struct parser *parser, const char *name)
{
    struct recorded_key key = {
        .key = name, .source = "", .field = "", .topic = TOPIC_COUNT, .reduce = REDUCE_LAST};
    struct json_text text, value;
    enum word word = WORD_COUNT - 1; /* before the first */

    if (parser->units_only)
        key.topic = TOPIC_OTHER;
    while (json_next_key(&parser->json, &text)) {
        word = word_of(&text, word + 1);
        if (word != WORD_COUNT && !(parser->units_only && (word == WORD_TOPIC || word == WORD_BOUND)) &&
            json_read_text(&parser->json, &value))
            set_word(parser, &key, word, &value);
        else
            (void)json_skip(&parser->json);
    }
    if (key.topic == TOPIC_COUNT)
        older_describe_key(&key);
    add_key(parser, &key);
    add_mean(parser, &key);
}

static void read_registry(struct parser *parser)
{
    struct json_text text;

    if (!parser->keys_wanted) {
        (void)json_skip(&parser->json);
        return;
    }
    (void)json_enter_object(&parser->json);
    while (json_next_key(&parser->json, &text)) {
        const char *name = keep_text(parser, &text);

        if (json_enter_object(&parser->json))
            read_key(parser, name);
        else
            (void)json_skip(&parser->json);
    }
}

static void keep_keys(struct parser *parser)
{
    struct recording *out = parser->out;
    bool duct = out->kind == RECORDING_DUCT;
    const struct recorded_key *keys = duct ? duct_keys : parser->keys;
    size_t count = duct ? DUCT_KEY_COUNT : parser->key_count;

    if (!parser->keys_wanted || count == 0)
        return;
    out->keys = arena_alloc(&out->arena, count * sizeof(*keys));
    if (!out->keys) {
        parser->fields.no_memory = true;
        return;
    }
    memcpy(out->keys, keys, count * sizeof(*keys));
    out->key_count = count;
}

/* -- The whole -- */

/* Where another file lies: beside info.json, whatever that says, because folders are moved. */
static const char *sibling(struct parser *parser, const char *name)
{
    struct recording *out = parser->out;
    ptrdiff_t length = run_prefix_length(out->path);

    if (length < 0)
        return NULL;

    char *path = arena_printf(&out->arena, "%.*s%s", (int)length, out->path, name);

    parser->fields.no_memory |= !path;
    return path && access(path, F_OK) == 0 ? path : NULL;
}

static void find_files(struct parser *parser)
{
    struct recording *out = parser->out;

    out->usage_path = sibling(parser, run_file_names[RUN_USAGE]);
    if (out->kind == RECORDING_METRON)
        out->events_path = sibling(parser, run_file_names[RUN_EVENTS]);
    else if (!out->usage_path)
        out->usage_path = sibling(parser, RUN_DUCT_USAGE_NAME);
}

static int conclude(struct parser *parser, const struct recording_wish *wish, struct metron_error *error)
{
    struct recording *out = parser->out;
    int code = recording_recognize(out, &parser->fields, error);

    if (code < 0)
        return code;
    if (field_list_text(&parser->fields, USAGE_ONLY_FIELD)) {
        out->made_info =
            arena_copy(&out->arena, parser->json.begin, (size_t)(parser->json.end - parser->json.begin));
        parser->fields.no_memory |= !out->made_info;
    }
    if (!wish->info_only || recording_says_running(&parser->fields))
        find_files(parser);
    keep_keys(parser);
    recording_conclude(out, &parser->fields, wish);
    recording_label(out, &parser->fields);
    return recording_keep(out, &parser->fields, &parser->wish, error);
}

int recording_parse(const char *bytes, size_t length, const char *path, const struct recording_wish *wish,
                    struct recording *out, struct metron_error *error)
{
    static const struct recording_wish everything = {.fields = NULL};
    struct metron_error inner = {0};
    struct parser parser = {.out = out};
    int code;

    if (!wish)
        wish = &everything;
    *out = (struct recording){0};
    parser.keys_wanted = wish->keys;
    parser.units_only = wish->units_only;
    parser.fields.arena = &out->arena;
    field_wish_init(&parser.wish, wish->fields, recording_facts);
    json_reader_init(&parser.json, bytes, length);
    out->path = arena_strdup(&out->arena, path);
    if (!out->path) {
        code = error_set(error, -ENOMEM, "%s: no memory to read it", path);
        goto out;
    }
    if (json_peek(&parser.json) != JSON_OBJECT) {
        code = error_set(error, -EBADMSG,
                         "%s: no recording of metron or con-duct: it does not begin as a JSON object", path);
        goto out;
    }
    read_top(&parser);
    code = json_reader_end(&parser.json, &inner);
    if (code < 0)
        error_set(error, code, "%s: damaged: %s", path, inner.message);
    else
        code = conclude(&parser, wish, error);
out:
    json_reader_fini(&parser.json);
    field_list_fini(&parser.fields);
    strbuf_fini(&parser.path);
    free(parser.keys);
    if (code < 0)
        recording_fini(out);
    return code;
}
