/* A command line: the first line of the input is the command, each other one a word. Nothing runs: options
 * become settings, or a reason why not. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "daemon/socket/request.h"
#include "settings/environment.h"
#include "settings/options.h"
#include "settings/settings_json.h"

#define WORDS_MAX 64

/* By the bits of enum command. */
static const char *const commands[] = {"run",    "measurements", "doctor", "trace",   "ls",
                                       "pp",     "plot",         "diff",   "suggest", "report",
                                       "export", "attach",       "daemon", "job",     "events"};

static void check_error(int code, const struct metron_error *error)
{
    check(code >= 0 || code == error->code);
    check((code < 0) == (error->message[0] != '\0'));
    check_shown(error->message, strlen(error->message));
}

/* A value that was taken is taken again, and within its bounds. */
static void check_values(struct settings *settings)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const enum setting_id id = (enum setting_id)i;
        const struct setting *setting = &settings_table[i];

        if (settings_origin(settings, id) != SETTING_ORIGIN_COMMAND_LINE || !settings_has(settings, id))
            continue;
        check(settings_text(settings, id) != NULL);
        if (setting->kind == SETTING_KIND_INTEGER)
            check((double)settings_integer(settings, id) >= setting->lowest &&
                  (double)settings_integer(settings, id) <= setting->highest);
        if (setting->kind == SETTING_KIND_REAL)
            check(settings_real(settings, id) >= setting->lowest &&
                  settings_real(settings, id) <= setting->highest);
        char *text = strdup(settings_text(settings, id));
        check(text && settings_set_id(settings, id, text, SETTING_ORIGIN_COMMAND_LINE, NULL, NULL) == 0);
        free(text);
    }
}

static void check_settings(struct settings *settings, char **words)
{
    struct metron_error error = {0};
    struct strbuf text = STRBUF_INIT;
    struct json json;
    int code = settings_load_environment(settings, words, &error);

    check_error(code, &error);
    error = (struct metron_error){0};
    code = settings_check(settings, &error);
    check_error(code, &error);
    check_values(settings);
    json_init(&json, &text, 0);
    settings_json(&json, settings, NULL);
    check(request_check(strbuf_text(&text), text.length, NULL) == 0);
    strbuf_fini(&text);
}

static void parse(unsigned index, bool anywhere, int argc, char **words)
{
    const struct command_description command = {
        .name = commands[index], .command = (enum command)(1U << index), .options_anywhere = anywhere};
    char *argv[WORDS_MAX + 1]; /* options_parse may put them into another order */
    struct settings settings;
    struct metron_error error = {0};
    int first = -1;

    memcpy(argv, words, sizeof(argv));
    check(settings_init(&settings, command.command) == 0);
    int code = options_parse(&command, argc, argv, &settings, &first, &error);
    check(code == -EINVAL || (code >= OPTIONS_PARSED && code <= OPTIONS_USAGE));
    check_error(code, &error);
    check(first >= 1 && first <= argc);
    if (code == OPTIONS_PARSED)
        check_settings(&settings, words);
    settings_fini(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    char *words[WORDS_MAX + 1] = {NULL};
    int count = 0;

    while (at < end && count < WORDS_MAX) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        words[count] = strndup(at, (size_t)((stop ? stop : end) - at));
        check(words[count++] != NULL);
        at = stop ? stop + 1 : end;
    }
    for (unsigned i = 0; count > 0 && i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(words[0], commands[i]) == 0) {
            parse(i, false, count, words);
            parse(i, true, count, words);
        }
    while (count > 0)
        free(words[--count]);
    return 0;
}
