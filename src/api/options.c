/*
 * Options: settings of the one table, checked when they are set, and handed to the program metron on its
 * command line. Files and environment are its to read, so that both find the same.
 */
#include "api/options.h"

#include <errno.h>
#include <stdlib.h>

const char *metron_version(void)
{
    return METRON_VERSION;
}

struct metron_options *metron_options_new(void)
{
    return calloc(1, sizeof(struct metron_options));
}

void metron_options_free(struct metron_options *options)
{
    if (!options)
        return;
    settings_fini(&options->settings);
    free(options);
}

int metron_options_set(struct metron_options *options, const char *name, const char *value,
                       struct metron_error *error)
{
    int id = setting_find(name, true);

    if (id >= 0 && (!(settings_table[id].commands & (COMMAND_RUN | COMMAND_ATTACH)) || id == SETTING_FEED))
        return error_set(error, -ENOENT, "'%s' is a setting of neither run nor attach", name);
    if (!value && id >= 0) {
        settings_unset(&options->settings, (enum setting_id)id);
        return 0;
    }
    return settings_set(&options->settings, name, value ? value : "", SETTING_ORIGIN_COMMAND_LINE, NULL,
                        error);
}

void metron_options_on_record(struct metron_options *options, metron_record_callback *callback, void *context)
{
    options->callbacks.on_record = callback;
    options->callbacks.record_context = context;
}

void metron_options_on_event(struct metron_options *options, metron_event_callback *callback, void *context)
{
    options->callbacks.on_event = callback;
    options->callbacks.event_context = context;
}

void metron_options_on_log(struct metron_options *options, metron_log_callback *callback, void *context)
{
    options->callbacks.on_log = callback;
    options->callbacks.log_context = context;
}

static void add_word(struct strbuf *words, const struct setting *setting, const struct setting_value *value)
{
    if (setting->kind == SETTING_KIND_BOOLEAN)
        strbuf_addf(words, "--%s%s", value->flag ? "" : "no-", setting->name);
    else
        strbuf_addf(words, "--%s=%s", setting->name, value->text ? value->text : "");
    strbuf_addc(words, '\0');
}

int options_words(const struct metron_options *options, enum command command, struct strbuf *words,
                  struct metron_error *error)
{
    bool recorded = options && settings_has(&options->settings, SETTING_OUTPUT_PREFIX);

    for (int id = 0; options && id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        const struct setting_value *value = &options->settings.values[id];

        if (value->origin != SETTING_ORIGIN_COMMAND_LINE)
            continue;
        if (!(setting->commands & command))
            return error_set(error, -EINVAL, "%s is no setting of %s", setting->name,
                             command == COMMAND_RUN ? "run" : "attach");
        if (recorded || (id != SETTING_RECORD_TYPES && id != SETTING_CAPTURE_OUTPUTS))
            add_word(words, setting, value);
    }
    if (!recorded)
        strbuf_add(words, "--record-types=none", sizeof("--record-types=none"));
    if (!recorded && command == COMMAND_RUN)
        strbuf_add(words, "--capture-outputs=none", sizeof("--capture-outputs=none"));
    return words->failed ? error_set(error, -ENOMEM, "no memory for a command line") : 0;
}
