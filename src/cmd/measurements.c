/* metron measurements: every key with source, type, unit and reduction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/availability.h"
#include "cmd/commands.h"
#include "view/measurements.h"

static const struct command_description description = {
    .name = "measurements",
    .summary = "list every measurement: key, type, unit, reduction, cost, meaning",
    .usage = "[OPTION...] [KEY...]",
    .description =
        "Lists what metron can measure, by source. A KEY may be a glob or a group (minimal, default, all), "
        "as in metron run --measurements; without one everything is listed, also what cannot be read here.",
    .examples = "  metron measurements\n"
                "  metron measurements 'proc_*' --json\n",
    .command = COMMAND_MEASUREMENTS,
    .options_anywhere = true,
};

/* Leaves only what the operands name in the registry. */
static int narrow(struct availability *availability, char **operands, struct metron_error *error)
{
    struct registry *registry = &availability->registry;
    struct strbuf list = STRBUF_INIT;
    size_t kept = 0;

    for (; *operands; operands++)
        strbuf_addf(&list, "%s,", *operands);
    /* What cannot be read here is listed too: its reason is set aside while the choice is made. */
    const char **reasons = calloc(registry->count + 1, sizeof(*reasons));
    if (!reasons)
        return error_set(error, -ENOMEM, "no memory for the list of measurements");
    for (size_t i = 0; i < registry->count; i++) {
        reasons[i] = registry->entries[i].reason;
        registry->entries[i].reason = NULL;
    }
    int code = registry_select(registry, strbuf_text(&list), availability->opt_in, error);
    strbuf_fini(&list);
    for (size_t i = 0; i < registry->count; i++) {
        registry->entries[i].reason = reasons[i];
        if (registry->entries[i].selected)
            registry->entries[kept++] = registry->entries[i];
    }
    registry->count = kept;
    free(reasons);
    return code;
}

static int measurements_main(int argc, char **argv)
{
    struct settings settings;
    struct availability availability = {0};
    struct metron_error error = {0};
    struct strbuf text = STRBUF_INIT;
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    exit_code = EXIT_WRONG_USAGE;
    const struct availability_options looking = {
        .proc_root = "/proc", .look_only = true, .tuning = {.smaps = true}};
    if (availability_init(&availability, &looking, &error) < 0)
        exit_code = EXIT_TROUBLE;
    else if (first < argc)
        (void)narrow(&availability, argv + first, &error);
    if (error.code) {
        log_error("%s", error.message);
        goto out;
    }
    if (settings_flag(&settings, SETTING_MARKDOWN))
        measurements_markdown(&text, &availability.registry);
    else if (settings_flag(&settings, SETTING_JSON))
        measurements_json(&text, &availability.registry);
    else
        measurements_table(&text, &availability.registry, availability.sources, command_page_width(160));
    exit_code = command_print(strbuf_text(&text), text.length);
out:
    strbuf_fini(&text);
    availability_fini(&availability);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_measurements = {&description, measurements_main};
