/*
 * Options over argp. argp is kept silent, because its messages are not ours; what went wrong is found again
 * by looking at the word where it stopped.
 *
 * Keys: a short option's letter, or KEY_LONG + id for one without; KEY_NEGATED + id for --no-NAME.
 */
#include "settings/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "base/suggest.h"

enum {
    KEY_HELP = 'h',
    KEY_USAGE = 0x200,
    KEY_LONG = 0x1000,
    KEY_NEGATED = 0x2000,
};

#define NEGATED_SIZE 64
#define MASK         '\1' /* for the - of a number that is an operand */
/* name, alias, negated name; help, usage, the end */
#define OPTIONS_MAX (3 * SETTING_COUNT + 3)

struct option_table {
    struct argp_option options[OPTIONS_MAX];
    size_t count;
    char negated[SETTING_COUNT][NEGATED_SIZE]; /* "no-clobber" */
};

struct parsing {
    const struct command_description *command;
    const struct option_table *table;
    struct settings *settings;
    struct metron_error *error;
    int *first_operand;
    bool given[SETTING_COUNT];
    int next;   /* the word after the last one that was taken whole, or the one being taken */
    int result; /* options_result, or what an option's value failed with */
};

static void add_option(struct option_table *table, const char *name, int key, const char *argument, int flags,
                       const struct setting *setting)
{
    table->options[table->count++] = (struct argp_option){
        .name = name,
        .key = key,
        .arg = argument,
        .flags = flags,
        .doc = setting ? setting->meaning : NULL,
        .group = setting ? (int)setting->group + 1 : -1,
    };
}

static void table_build(struct option_table *table, enum command command)
{
    *table = (struct option_table){0};
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        bool boolean = setting->kind == SETTING_KIND_BOOLEAN;

        if (!(setting->commands & command))
            continue;
        add_option(table, setting->name, setting->letter ? setting->letter : KEY_LONG + id,
                   boolean ? NULL : (setting->placeholder ? setting->placeholder : "WORD"),
                   setting->bare ? OPTION_ARG_OPTIONAL : 0, setting);
        if (setting->alias)
            add_option(table, setting->alias, 0, NULL, OPTION_ALIAS, setting);
        if (boolean) {
            (void)snprintf(table->negated[id], NEGATED_SIZE, "no-%s", setting->name);
            add_option(table, table->negated[id], KEY_NEGATED + id, NULL, 0, setting);
        }
    }
    add_option(table, "help", KEY_HELP, NULL, 0, NULL);
    add_option(table, "usage", KEY_USAGE, NULL, 0, NULL);
}

/* The setting of a key, or -1. */
static int setting_of_key(int key, enum command command)
{
    if (key >= KEY_LONG)
        return key & ~(KEY_LONG | KEY_NEGATED);
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (settings_table[id].letter == key && (settings_table[id].commands & command))
            return id;
    }
    return -1;
}

/* What an option takes, an alias being as the option before it is. */
static bool takes_value(const struct argp_option *option)
{
    while (option->flags & OPTION_ALIAS)
        option--;
    return option->arg != NULL;
}

/* An abbreviation that fits several names: all of them are told. */
static int explain_ambiguous(const struct parsing *parsing, const char *name)
{
    const struct option_table *table = parsing->table;
    struct strbuf names = STRBUF_INIT;
    size_t length = strlen(name);

    for (size_t i = 0; i < table->count; i++) {
        const char *known = table->options[i].name;

        if (strncmp(known, name, length) == 0)
            strbuf_addf(&names, "%s--%s", names.length > 0 ? ", " : "", known);
    }
    int result = error_set(parsing->error, -EINVAL, "%s: '--%s' could be any of %s", parsing->command->name,
                           name, strbuf_text(&names));

    strbuf_fini(&names);
    return result;
}

static int explain_long(const struct parsing *parsing, const char *word)
{
    const struct option_table *table = parsing->table;
    const char *command = parsing->command->name;
    size_t length = strcspn(word + 2, "=");
    size_t found = 0;
    size_t matches = 0;
    struct suggest suggest;
    char nearest[SUGGEST_TEXT_SIZE];
    char name[NEGATED_SIZE];

    (void)snprintf(name, sizeof(name), "%.*s", (int)(length < NEGATED_SIZE ? length : NEGATED_SIZE - 1),
                   word + 2);
    suggest_init(&suggest, name);
    for (size_t i = 0; i < table->count; i++) {
        const char *known = table->options[i].name;

        suggest_offer(&suggest, known);
        if (strncmp(known, word + 2, length) != 0)
            continue;
        found = i;
        matches++;
        if (known[length] == '\0') { /* written in full: it is no abbreviation of others */
            matches = 1;
            break;
        }
    }
    if (matches == 0)
        return error_set(parsing->error, -EINVAL, "%s: unknown option '--%s'%s; see 'metron %s --help'",
                         command, name, suggest_text(&suggest, "--", nearest), command);
    if (matches > 1)
        return explain_ambiguous(parsing, name);
    return error_set(parsing->error, -EINVAL, "%s: option '--%s' %s; see 'metron %s --help'", command,
                     table->options[found].name,
                     takes_value(&table->options[found]) ? "needs a value" : "takes no value", command);
}

/* Letters before the one that is wrong are flags that were taken. */
static int explain_short(const struct parsing *parsing, const char *word)
{
    const char *command = parsing->command->name;

    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        int id = setting_of_key(*letter, parsing->command->command);

        if (id < 0)
            return error_set(parsing->error, -EINVAL, "%s: unknown option '-%c'; see 'metron %s --help'",
                             command, *letter, command);
        if (settings_table[id].kind != SETTING_KIND_BOOLEAN)
            break;
    }
    return error_set(parsing->error, -EINVAL, "%s: option '%s' needs a value; see 'metron %s --help'",
                     command, word, command);
}

/* What to do instead of giving an option twice. */
static const char *way_out(const struct setting *setting)
{
    if (setting == &settings_table[SETTING_FILTER])
        return "join them with 'and'";
    return setting->kind == SETTING_KIND_LIST || setting->kind == SETTING_KIND_PATTERNS
               ? "join them with a comma"
               : "leave one out";
}

/* An option that needs no value has the next word if that is one: it may be the command to run. */
static const char *value_or_bare(const struct setting *setting, struct argp_state *state)
{
    const char *next = state->next < state->argc ? state->argv[state->next] : "";

    for (size_t i = 0; setting->choices[i]; i++)
        if (strcasecmp(next, setting->choices[i]) == 0) {
            state->next++;
            return next;
        }
    return setting->bare;
}

/* "a" and the words behind it as "a,b". */
static void join_words(const struct parsing *parsing, struct argp_state *state, struct strbuf *list)
{
    for (; state->next < state->argc; state->next++) {
        const char *next = state->argv[state->next];

        if (next[0] == '-' || next[0] == MASK || next[0] == '\0' || parsing->command->is_operand(next))
            return;
        strbuf_addf(list, ",%s", next);
    }
}

/* The value as the settings take it. `joined` is room for it. */
static const char *whole_value(const struct parsing *parsing, const struct setting *setting,
                               const char *value, struct argp_state *state, struct strbuf *joined)
{
    if (!value && setting->bare)
        return value_or_bare(setting, state);
    /* Only behind a word of its own: what follows -Fa or --fields=a is no more of it. */
    if (!value || !(setting->traits & SETTING_WORDS) || !parsing->command->is_operand || state->next < 1 ||
        state->argv[state->next - 1] != value)
        return value;
    strbuf_adds(joined, value);
    join_words(parsing, state, joined);
    return joined->failed ? value : strbuf_text(joined);
}

static int take_setting(struct parsing *parsing, int key, const char *value, struct argp_state *state)
{
    struct strbuf joined = STRBUF_INIT;
    int id = setting_of_key(key, parsing->command->command);
    const struct setting *setting;
    struct metron_error reason = {0};

    if (id < 0 || id >= SETTING_COUNT)
        return ARGP_ERR_UNKNOWN;
    setting = &settings_table[id];
    if (setting->kind == SETTING_KIND_BOOLEAN)
        value = key >= KEY_NEGATED ? "no" : "yes";
    else
        value = whole_value(parsing, setting, value, state, &joined);
    if (parsing->given[id] && (setting->traits & SETTING_ONCE)) {
        parsing->result = error_set(parsing->error, -EINVAL, "%s: --%s was given twice; %s",
                                    parsing->command->name, setting->name, way_out(setting));
        return EINVAL;
    }
    parsing->given[id] = true;
    parsing->result = settings_set_id(parsing->settings, (enum setting_id)id, value,
                                      SETTING_ORIGIN_COMMAND_LINE, NULL, &reason);
    strbuf_fini(&joined);
    if (parsing->result < 0) {
        (void)error_set(parsing->error, parsing->result, "%s: --%s: %s", parsing->command->name,
                        setting->name, reason.message);
        return EINVAL;
    }
    return 0;
}

static error_t take_key(int key, char *value, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    error_t result = 0;

    switch (key) {
    case KEY_HELP:
    case KEY_USAGE:
        /* What follows is not parsed: it need not be right for someone who asks for help. An error is the
         * only end of parsing inside a word (-hp). */
        parsing->result = key == KEY_USAGE ? OPTIONS_USAGE : OPTIONS_HELP;
        return EINVAL;
    case ARGP_KEY_ARG:
        *parsing->first_operand = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_ERROR:
    case ARGP_KEY_INIT:
    case ARGP_KEY_END:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_FINI:
        return 0;
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        if (value && value[0] == MASK)
            value[0] = '-';
        result = take_setting(parsing, key, value, state);
        parsing->next = state->next;
        return result;
    }
}

/* The option that argp refused: the first that was not taken. Where options may follow operands, argp has
 * passed over the operands before it. */
static const char *stopped_at(const struct parsing *parsing, int argc, char **argv)
{
    int at = parsing->next;

    while (at < argc && (argv[at][0] != '-' || argv[at][1] == '\0'))
        at++;
    return at < argc ? argv[at] : "-";
}

/* argp would take -2 for an option. While it parses, such a word begins with another byte. */
static void mask_numbers(int argc, char **argv, char from, char to)
{
    for (int i = 1; i < argc && (from != '-' || strcmp(argv[i], "--") != 0); i++)
        if (argv[i][0] == from && argv[i][1] != '\0' &&
            argv[i][1 + strspn(argv[i] + 1, "0123456789")] == '\0')
            argv[i][0] = to;
}

int options_parse(const struct command_description *command, int argc, char **argv, struct settings *settings,
                  int *first_operand, struct metron_error *error)
{
    struct option_table table;
    struct parsing parsing = {
        .command = command,
        .table = &table,
        .settings = settings,
        .error = error,
        .first_operand = first_operand,
        .next = 1,
    };

    table_build(&table, command->command);
    *first_operand = argc;

    const unsigned order = command->options_anywhere ? 0 : ARGP_IN_ORDER;
    const struct argp argp = {.options = table.options, .parser = take_key};
    if (command->numbers_are_operands)
        mask_numbers(argc, argv, '-', MASK);
    error_t result = argp_parse(&argp, argc, argv, order | ARGP_SILENT, NULL, &parsing);
    if (command->numbers_are_operands)
        mask_numbers(argc, argv, MASK, '-');

    if (result == 0 || parsing.result != 0)
        return parsing.result;
    if (result == ENOMEM)
        return error_set(error, -ENOMEM, "%s: out of memory", command->name);

    const char *word = stopped_at(&parsing, argc, argv);

    /* As other argp programs have it. It cannot be an option of ours: getopt's sign of an error is '?' too.
     */
    if (strcmp(word, "-?") == 0)
        return OPTIONS_HELP;
    if (strncmp(word, "--", 2) == 0)
        return explain_long(&parsing, word);
    return explain_short(&parsing, word);
}
