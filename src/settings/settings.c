/*
 * Values and their texts. A text is checked and turned into its typed value once, when it is set; a value
 * that is refused changes nothing.
 */
#include "settings/settings.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "base/suggest.h"

static int parse_boolean(const char *text, struct setting_value *out, struct metron_error *error)
{
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (size_t value = 0; value < 2; value++) {
            if (strcasecmp(text, words[i][value]) == 0) {
                out->flag = value == 1;
                return 0;
            }
        }
    }
    return error_set(error, -EINVAL, "'%s' is neither yes nor no (true, false, on, off, 1 and 0 do as well)",
                     text);
}

static int parse_choice(const struct setting *setting, const char *text, struct setting_value *out,
                        struct metron_error *error)
{
    struct strbuf words = STRBUF_INIT;

    text = setting_choice_of_others(setting, text);
    for (size_t i = 0; setting->choices[i]; i++) {
        if (strcasecmp(text, setting->choices[i]) == 0) {
            out->choice = i;
            strbuf_fini(&words);
            return 0;
        }
        strbuf_addf(&words, "%s%s", i == 0 ? "" : ", ", setting->choices[i]);
    }
    int result = error_set(error, -EINVAL, "'%s' is not one of: %s", text, strbuf_text(&words));

    strbuf_fini(&words);
    return result;
}

static int check_range(const struct setting *setting, const char *text, double value,
                       struct metron_error *error)
{
    if (value < setting->lowest || value > setting->highest)
        return error_set(error, -EINVAL, "'%s' is out of range (from %.10g to %.10g)", text, setting->lowest,
                         setting->highest);
    return 0;
}

static int parse_real(const struct setting *setting, const char *text, struct setting_value *out,
                      struct metron_error *error)
{
    char *end;
    double value = strtod(text, &end);

    if (setting->automatic > 0 && strcasecmp(text, "auto") == 0) {
        out->real = setting->automatic;
        out->is_auto = true;
        return 0;
    }
    if (end == text || *end != '\0' || !isfinite(value))
        return error_set(error, -EINVAL,
                         setting->placeholder && strcmp(setting->placeholder, "PERCENT") == 0
                             ? "'%s' is not a number of percent, like 50"
                         : setting->automatic > 0 ? "'%s' is neither a number nor auto"
                                                  : "'%s' is not a number",
                         text);
    out->real = value;
    return check_range(setting, text, value, error);
}

static int parse_integer(const struct setting *setting, const char *text, struct setting_value *out,
                         struct metron_error *error)
{
    char *end;

    errno = 0;
    out->integer = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        return error_set(error, -EINVAL, "'%s' is not a whole number", text);
    if (errno == ERANGE)
        return error_set(error, -EINVAL, "'%s' is out of range (from %.10g to %.10g)", text, setting->lowest,
                         setting->highest);
    return check_range(setting, text, (double)out->integer, error);
}

/* Each has to compile. Only the text is kept, as of any list. */
static int parse_patterns(const char *text, struct metron_error *error)
{
    const char *cursor = text, *item;
    size_t length;
    int result = 0;

    while (result == 0 && (item = settings_list_next(&cursor, &length)) != NULL) {
        char *pattern = strndup(item, length);
        char reason[128] = "";
        regex_t compiled;

        if (!pattern)
            return error_set(error, -ENOMEM, "out of memory");
        int wrong = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
        if (wrong) {
            (void)regerror(wrong, &compiled, reason, sizeof(reason));
            result = error_set(error, -EINVAL,
                               "cannot compile the pattern '%s': %s (use POSIX extended syntax, as grep -E "
                               "does)",
                               pattern, reason);
        } else {
            regfree(&compiled);
        }
        free(pattern);
    }
    return result;
}

static int parse_value(const struct setting *setting, const char *text, struct setting_value *out,
                       struct metron_error *error)
{
    if (text[0] == '\0' && !(setting->traits & SETTING_EMPTY_ALLOWED))
        return error_set(error, -EINVAL, "the value is empty");
    switch (setting->kind) {
    case SETTING_KIND_BOOLEAN:
        return parse_boolean(text, out, error);
    case SETTING_KIND_INTEGER:
        return parse_integer(setting, text, out, error);
    case SETTING_KIND_REAL:
        return parse_real(setting, text, out, error);
    case SETTING_KIND_CHOICE:
        return parse_choice(setting, text, out, error);
    case SETTING_KIND_PATTERNS:
        return parse_patterns(text, error);
    case SETTING_KIND_TEXT:
    case SETTING_KIND_LIST:
        break;
    }
    return 0;
}

static void value_fini(struct setting_value *value)
{
    free(value->text);
    free(value->where);
    *value = (struct setting_value){0};
}

int settings_set_id(struct settings *settings, enum setting_id id, const char *value,
                    enum setting_origin origin, const char *where, struct metron_error *error)
{
    const struct setting *setting = &settings_table[id];
    struct setting_value parsed = {.origin = origin};
    bool absent = value[0] == '\0' && (setting->traits & SETTING_EMPTY_IS_ABSENT);
    int result = absent ? 0 : parse_value(setting, value, &parsed, error);

    if (result < 0 || origin < settings->values[id].origin)
        return result;
    if (!absent)
        parsed.text = strdup(value);
    if (where)
        parsed.where = strdup(where);
    if ((!absent && !parsed.text) || (where && !parsed.where)) {
        value_fini(&parsed);
        return error_set(error, -ENOMEM, "out of memory");
    }
    value_fini(&settings->values[id]);
    settings->values[id] = parsed;
    return 0;
}

int settings_set(struct settings *settings, const char *name, const char *value, enum setting_origin origin,
                 const char *where, struct metron_error *error)
{
    int id = setting_find(name, true);

    if (id < 0) {
        struct suggest suggest;
        char nearest[SUGGEST_TEXT_SIZE];

        suggest_init(&suggest, name);
        for (id = 0; id < SETTING_COUNT; id++)
            suggest_offer(&suggest, settings_table[id].name);
        return error_set(error, -ENOENT, "unknown setting '%s'%s", name, suggest_text(&suggest, "", nearest));
    }

    struct metron_error reason = {0};
    int result = settings_set_id(settings, (enum setting_id)id, value, origin, where, &reason);

    if (result < 0)
        return error_set(error, result, "%s: %s", settings_table[id].name, reason.message);
    return 0;
}

void settings_unset(struct settings *settings, enum setting_id id)
{
    value_fini(&settings->values[id]);
}

void settings_move(struct settings *to, struct settings *from, enum setting_id id)
{
    value_fini(&to->values[id]);
    to->values[id] = from->values[id];
    from->values[id] = (struct setting_value){.moved = true};
}

int settings_init(struct settings *settings, unsigned commands)
{
    *settings = (struct settings){.commands = commands};
    for (int id = 0; id < SETTING_COUNT; id++) {
        const char *initial = settings_table[id].initial;
        int result = 0;

        if (initial)
            result =
                settings_set_id(settings, (enum setting_id)id, initial, SETTING_ORIGIN_DEFAULT, NULL, NULL);
        if (result < 0)
            return result;
    }
    return 0;
}

void settings_fini(struct settings *settings)
{
    for (int id = 0; id < SETTING_COUNT; id++)
        value_fini(&settings->values[id]);
}

int settings_check(const struct settings *settings, struct metron_error *error)
{
    double sample = settings_real(settings, SETTING_SAMPLE_INTERVAL);
    double report = settings_real(settings, SETTING_REPORT_INTERVAL);

    if (report < sample && !settings_is_auto(settings, SETTING_REPORT_INTERVAL))
        return error_set(error, -EINVAL,
                         "report-interval %s (%s) is below sample-interval %.10g (%s): a record needs at "
                         "least one sample. Set "
                         "sample-interval to at most %s",
                         settings_text(settings, SETTING_REPORT_INTERVAL),
                         settings_origin_text(settings, SETTING_REPORT_INTERVAL), sample,
                         settings_is_auto(settings, SETTING_SAMPLE_INTERVAL)
                             ? "auto"
                             : settings_origin_text(settings, SETTING_SAMPLE_INTERVAL),
                         settings_text(settings, SETTING_REPORT_INTERVAL));
    return 0;
}

bool settings_has(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].text != NULL;
}

const char *settings_text(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].text;
}

double settings_real(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].real;
}

bool settings_is_auto(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].is_auto;
}

long long settings_integer(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].integer;
}

bool settings_flag(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].flag;
}

size_t settings_choice(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].choice;
}

enum setting_origin settings_origin(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].origin;
}

const char *settings_origin_text(const struct settings *settings, enum setting_id id)
{
    const struct setting_value *value = &settings->values[id];

    if (value->where)
        return value->where;
    return value->origin == SETTING_ORIGIN_COMMAND_LINE ? "command line" : "default";
}

/* Up to the comma or the end; over {…} and […]. */
static size_t item_length(const char *item)
{
    size_t length = 0;

    while ((length += strcspn(item + length, ",{[")), item[length] == '{' || item[length] == '[') {
        const char *close = strchr(item + length, item[length] == '{' ? '}' : ']');

        length = close ? (size_t)(close - item) : length + 1;
    }
    return length;
}

const char *settings_list_next(const char **cursor, size_t *length)
{
    static const char blanks[] = " \t\r\n";
    const char *at = *cursor;

    for (;;) {
        at += strspn(at, blanks);
        if (*at == '\0') {
            *cursor = at;
            return NULL;
        }
        if (*at != ',')
            break;
        at++;
    }

    size_t count = item_length(at);

    *cursor = at + count;
    while (strchr(blanks, at[count - 1]))
        count--;
    *length = count;
    return at;
}
