/*
 * Help and man pages. Text is filled to 80 columns by words; columns are counted in characters, not bytes.
 */
#include "settings/options_help.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH  80
#define COLUMN 28 /* where the meaning of an option begins */

static size_t characters(const char *text, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void add_spaces(struct strbuf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addc(out, ' ');
}

/* Words of `text`, filled from `column` on with `indent` before every further line; a newline at the end. */
static void add_filled(struct strbuf *out, const char *text, size_t column, size_t indent)
{
    bool first = true;

    for (;;) {
        text += strspn(text, " \n");
        size_t length = strcspn(text, " \n");
        size_t width = characters(text, length);

        if (length == 0)
            break;
        if (!first && column + 1 + width > WIDTH) {
            strbuf_addc(out, '\n');
            add_spaces(out, indent);
            column = indent;
        } else if (!first) {
            strbuf_addc(out, ' ');
            column++;
        }
        strbuf_add(out, text, length);
        column += width;
        text += length;
        first = false;
    }
    strbuf_addc(out, '\n');
}

/* Each paragraph of `text` on its own, with an empty line between two. One that begins with a blank is a
 * table, and stays as it is. */
static void add_paragraphs(struct strbuf *out, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        struct strbuf paragraph = STRBUF_INIT;

        strbuf_add(&paragraph, text, length);
        if (text[0] == ' ')
            strbuf_addf(out, "%s\n", strbuf_text(&paragraph));
        else
            add_filled(out, strbuf_text(&paragraph), 0, 0);
        strbuf_fini(&paragraph);
        text += length + (end ? 2 : 0);
        if (*text != '\0')
            strbuf_addc(out, '\n');
    }
}

/* A boolean that is on by default is offered as the option that turns it off. */
static bool is_negated(const struct setting *setting)
{
    return setting->kind == SETTING_KIND_BOOLEAN && setting->initial && strcmp(setting->initial, "yes") == 0;
}

/* "S", "all|none|stdout|stderr", or nothing for a boolean. */
static void add_argument(struct strbuf *out, const struct setting *setting)
{
    if (setting->kind == SETTING_KIND_CHOICE) {
        for (size_t i = 0; setting->choices[i]; i++)
            strbuf_addf(out, "%s%s", i > 0 ? "|" : "", setting->choices[i]);
    } else if (setting->kind != SETTING_KIND_BOOLEAN) {
        strbuf_adds(out, setting->placeholder);
    }
}

/* "  -p, --output-prefix P" */
static void add_option_names(struct strbuf *out, const struct setting *setting)
{
    if (setting->letter)
        strbuf_addf(out, "  -%c, ", setting->letter);
    else
        strbuf_adds(out, "      ");
    strbuf_addf(out, "--%s%s", is_negated(setting) ? "no-" : "", setting->name);
    if (setting->alias)
        strbuf_addf(out, ", --%s", setting->alias);
    if (setting->kind != SETTING_KIND_BOOLEAN) {
        strbuf_addc(out, ' ');
        add_argument(out, setting);
    }
}

/* The meaning, and the default where there is one to name. */
static void add_meaning(struct strbuf *out, const struct setting *setting)
{
    if (is_negated(setting))
        strbuf_addf(out, "do not %s", setting->meaning);
    else
        strbuf_adds(out, setting->meaning);
    if (setting->kind == SETTING_KIND_BOOLEAN)
        return;
    if (setting->initial_text || setting->initial)
        strbuf_addf(out, " (default: %s)", setting->initial_text ? setting->initial_text : setting->initial);
}

static void add_option(struct strbuf *out, const char *names, const char *meaning)
{
    size_t width = characters(names, strlen(names));

    strbuf_adds(out, names);
    if (width + 2 > COLUMN) {
        strbuf_addc(out, '\n');
        width = 0;
    }
    add_spaces(out, COLUMN - width);
    add_filled(out, meaning, COLUMN, COLUMN);
}

static bool group_is_used(enum setting_group group, enum command command)
{
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (settings_table[id].group == group && (settings_table[id].commands & command))
            return true;
    }
    return false;
}

/* How many options of a command files and the environment may set, and all it has. */
static size_t count_settings(enum command command, size_t *all)
{
    size_t lasting = 0;

    *all = 0;
    for (int id = 0; id < SETTING_COUNT; id++) {
        if (!(settings_table[id].commands & command))
            continue;
        ++*all;
        lasting += !(settings_table[id].traits & SETTING_OPTION_ONLY);
    }
    return lasting;
}

/* "--colors and --log-level": those that do. */
static void add_lasting_names(struct strbuf *out, enum command command, size_t count)
{
    size_t named = 0;

    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];

        if (!(setting->commands & command) || (setting->traits & SETTING_OPTION_ONLY))
            continue;
        strbuf_addf(out, "%s--%s", named == 0 ? "" : named + 1 == count ? " and " : ", ", setting->name);
        named++;
    }
}

/* How options are made to last; nothing where none can be. */
static void add_lasting(struct strbuf *out, enum command command)
{
    size_t all, count = count_settings(command, &all);
    bool measures = command == COMMAND_RUN || command == COMMAND_ATTACH;

    if (count == 0)
        return;
    if (count == all)
        strbuf_adds(out, "Each option");
    else
        add_lasting_names(out, command, count);
    strbuf_addf(out,
                " can be made to last: as a line (%s) in /etc/metron/metron.conf, "
                "$XDG_CONFIG_HOME/metron/metron.conf or .metron/metron.conf, or in the environment (%s); the "
                "command line wins over all, then the environment, then the last of these files.%s",
                measures ? "sample_interval = 1" : "colors = never",
                measures ? "METRON_SAMPLE_INTERVAL=1" : "METRON_COLORS=never",
                measures ? " Flags take --no- before their name to turn them off." : "");
}

void options_usage(const struct command_description *command, struct strbuf *out)
{
    strbuf_addf(out, "Usage: metron %s %s\n", command->name, command->usage);
}

void options_help(const struct command_description *command, struct strbuf *out)
{
    struct strbuf names = STRBUF_INIT;
    struct strbuf meaning = STRBUF_INIT;

    options_usage(command, out);
    strbuf_addc(out, '\n');
    add_paragraphs(out, command->description);
    for (enum setting_group group = 0; group < SETTING_GROUP_COUNT; group++) {
        if (!group_is_used(group, command->command))
            continue;
        strbuf_addf(out, "\n%s:\n", setting_group_title(group));
        for (int id = 0; id < SETTING_COUNT; id++) {
            const struct setting *setting = &settings_table[id];

            if (setting->group != group || !(setting->commands & command->command))
                continue;
            strbuf_reset(&names);
            strbuf_reset(&meaning);
            add_option_names(&names, setting);
            add_meaning(&meaning, setting);
            add_option(out, strbuf_text(&names), strbuf_text(&meaning));
        }
    }
    strbuf_adds(out, "\nOther:\n");
    add_option(out, "  -h, --help", "print this and exit");
    add_option(out, "      --usage", "print the usage line and exit");
    strbuf_reset(&meaning);
    add_lasting(&meaning, command->command);
    if (meaning.length > 0) {
        strbuf_addc(out, '\n');
        add_filled(out, strbuf_text(&meaning), 0, 0);
    }
    if (command->examples) {
        strbuf_addf(out, "\nExamples:\n%s", command->examples);
        if (out->length > 0 && out->data[out->length - 1] != '\n')
            strbuf_addc(out, '\n');
    }
    out->failed = out->failed || names.failed || meaning.failed;
    strbuf_fini(&names);
    strbuf_fini(&meaning);
}

/* roff: a backslash and a hyphen that is meant to be typed are escaped, and no line begins as a request. */
static void add_roff(struct strbuf *out, const char *text)
{
    for (bool line_start = true; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            strbuf_adds(out, "\\&");
        if (*text == '\\')
            strbuf_adds(out, "\\e");
        else if (*text == '-')
            strbuf_adds(out, "\\-");
        else
            strbuf_addc(out, *text);
        line_start = *text == '\n';
    }
}

static void add_roff_line(struct strbuf *out, const char *text)
{
    add_roff(out, text);
    strbuf_addc(out, '\n');
}

/* .TP
 * \fB-p\fR, \fB--output-prefix\fR \fIP\fR */
static void add_roff_names(struct strbuf *out, const struct setting *setting)
{
    struct strbuf argument = STRBUF_INIT;

    strbuf_adds(out, ".TP\n");
    if (setting->letter)
        strbuf_addf(out, "\\fB\\-%c\\fR, ", setting->letter);
    strbuf_adds(out, "\\fB\\-\\-");
    if (is_negated(setting))
        strbuf_adds(out, "no\\-");
    add_roff(out, setting->name);
    strbuf_adds(out, "\\fR");
    if (setting->alias) {
        strbuf_adds(out, ", \\fB\\-\\-");
        add_roff(out, setting->alias);
        strbuf_adds(out, "\\fR");
    }
    if (setting->kind != SETTING_KIND_BOOLEAN) {
        strbuf_adds(out, " \\fI");
        add_argument(&argument, setting);
        add_roff(out, strbuf_text(&argument));
        strbuf_adds(out, "\\fR");
    }
    strbuf_addc(out, '\n');
    out->failed = out->failed || argument.failed;
    strbuf_fini(&argument);
}

static void add_roff_options(struct strbuf *out, enum command command)
{
    struct strbuf meaning = STRBUF_INIT;

    for (enum setting_group group = 0; group < SETTING_GROUP_COUNT; group++) {
        if (!group_is_used(group, command))
            continue;
        strbuf_addf(out, ".SS %s\n", setting_group_title(group));
        for (int id = 0; id < SETTING_COUNT; id++) {
            const struct setting *setting = &settings_table[id];

            if (setting->group != group || !(setting->commands & command))
                continue;
            strbuf_reset(&meaning);
            add_meaning(&meaning, setting);
            add_roff_names(out, setting);
            add_roff_line(out, strbuf_text(&meaning));
        }
    }
    strbuf_adds(out, ".SS Other\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a short help and exit\n");
    strbuf_adds(out, ".TP\n\\fB\\-\\-usage\\fR\nprint the usage line and exit\n");
    out->failed = out->failed || meaning.failed;
    strbuf_fini(&meaning);
}

static void add_upper(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++)
        strbuf_addc(out, *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
}

/* An empty line is a new paragraph; one that begins with a blank is a table. */
static void add_roff_paragraphs(struct strbuf *out, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        struct strbuf paragraph = STRBUF_INIT;

        strbuf_add(&paragraph, text, length);
        strbuf_adds(out, text[0] == ' ' ? ".nf\n" : "");
        add_roff_line(out, strbuf_text(&paragraph));
        strbuf_adds(out, text[0] == ' ' ? ".fi\n" : "");
        strbuf_fini(&paragraph);
        text += length + (end ? 2 : 0);
        if (*text != '\0')
            strbuf_adds(out, ".PP\n");
    }
}

void options_man(const struct command_description *command, const char *version, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_adds(out, ".TH METRON\\-");
    add_upper(out, command->name);
    strbuf_addf(out, " 1 \"\" \"%s\" \"metron\"\n.SH NAME\nmetron\\-%s \\- ", version, command->name);
    add_roff_line(out, command->summary);
    strbuf_addf(out, ".SH SYNOPSIS\n\\fBmetron %s\\fR ", command->name);
    add_roff_line(out, command->usage);
    strbuf_adds(out, ".SH DESCRIPTION\n");
    add_roff_paragraphs(out, command->description);
    strbuf_adds(out, ".SH OPTIONS\n");
    add_roff_options(out, command->command);
    add_lasting(&text, command->command);
    if (text.length > 0) {
        strbuf_adds(out, ".SH SETTINGS\n");
        add_roff_line(out, strbuf_text(&text));
    }
    if (command->examples) {
        strbuf_adds(out, ".SH EXAMPLES\n.nf\n");
        add_roff_line(out, command->examples);
        strbuf_adds(out, ".fi\n");
    }
    out->failed = out->failed || text.failed;
    strbuf_fini(&text);
    strbuf_adds(out, ".SH SEE ALSO\n\\fBmetron\\fR(1)\n");
}
