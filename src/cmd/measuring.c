#include "cmd/measuring.h"

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "loop/feed.h"
#include "view/run_summary.h"
#include "view/summary_format.h"

void measuring_options(struct run_options *options, const struct settings *settings)
{
    size_t types = settings_choice(settings, SETTING_RECORD_TYPES);

    *options = (struct run_options){
        .prefix_pattern = settings_text(settings, SETTING_OUTPUT_PREFIX),
        .prefix_is_default = settings_origin(settings, SETTING_OUTPUT_PREFIX) == SETTING_ORIGIN_DEFAULT,
        .clobber = settings_flag(settings, SETTING_CLOBBER),
        .record_samples = types == CHOICE_RECORD_TYPES_ALL || types == CHOICE_RECORD_TYPES_PROCESSES_SAMPLES,
        .record_summary = types == CHOICE_RECORD_TYPES_ALL || types == CHOICE_RECORD_TYPES_SYSTEM_SUMMARY,
        .feed = feed_current(),
        .message = settings_text(settings, SETTING_MESSAGE),
        .job = settings_text(settings, SETTING_JOB),
        .config_hash = settings_text(settings, SETTING_CONFIG_HASH),
        .has_sheet = settings_has(settings, SETTING_SHEET),
        .sheet = settings_integer(settings, SETTING_SHEET),
        .pace = {.sample_seconds = settings_real(settings, SETTING_SAMPLE_INTERVAL),
                 .report_seconds = settings_real(settings, SETTING_REPORT_INTERVAL),
                 .sample_auto = settings_is_auto(settings, SETTING_SAMPLE_INTERVAL),
                 .report_auto = settings_is_auto(settings, SETTING_REPORT_INTERVAL)},
        .environment_prefixes = settings_text(settings, SETTING_ENVIRONMENT),
        .secrets = command_secrets(),
        .metron_version = METRON_VERSION,
    };
}

void measuring_looking(struct availability_options *looking, const struct settings *settings)
{
    static const double gibibyte = 1024.0 * 1024 * 1024;

    *looking = (struct availability_options){
        .proc_root = "/proc",
        .events = (enum events_mode)settings_choice(settings, SETTING_EVENTS),
        .syscalls = settings_choice(settings, SETTING_SYSCALLS) == CHOICE_SYSCALLS_SUMMARY,
        .tuning = {.secrets = command_secrets(),
                   .sample_interval = settings_real(settings, SETTING_SAMPLE_INTERVAL),
                   .smaps = settings_flag(settings, SETTING_SMAPS),
                   .smaps_interval = settings_real(settings, SETTING_SMAPS_INTERVAL),
                   .smaps_budget = settings_real(settings, SETTING_SMAPS_BUDGET),
                   .smaps_limit_bytes = (uint64_t)(settings_real(settings, SETTING_SMAPS_LIMIT) * gibibyte),
                   .gpu_off = !settings_flag(settings, SETTING_GPU_ENABLED)},
    };
}

int measuring_look(struct availability *availability, const struct availability_options *looking,
                   const struct settings *settings, struct metron_error *error)
{
    const char *format = settings_text(settings, SETTING_SUMMARY_FORMAT);

    if (availability_init(availability, looking, error) < 0)
        return EXIT_TROUBLE;
    if (availability_select(availability, settings_text(settings, SETTING_MEASUREMENTS), error) < 0)
        return EXIT_WRONG_USAGE;
    if (format && summary_format_check(format, &availability->registry, error) < 0)
        return EXIT_WRONG_USAGE;
    return EXIT_OK;
}

void measuring_use(struct run_options *options, struct availability *availability)
{
    options->context = &availability->context;
    options->events = &availability->events;
    options->syscalls = availability->syscalls;
    options->why_no_syscalls =
        availability->why_no_syscalls.code ? availability->why_no_syscalls.message : NULL;
    options->registry = &availability->registry;
    options->collectors = availability->sources;
    options->collector_count = availability->registry.source_count;
}

void measuring_summary(const struct run *run, const struct settings *settings)
{
    const struct run_info *info = run_get_info(run);
    const char *format = settings_text(settings, SETTING_SUMMARY_FORMAT);
    bool colors = command_colors(settings, STDERR_FILENO);
    struct strbuf text = STRBUF_INIT;
    struct run_summary summary;

    if (feed_current()) {
        feed_end(feed_current(), info, run_was_discarded(run));
        return;
    }
    if (!log_enabled(LOG_LEVEL_INFO))
        return;
    if (format) {
        summary_format_write(&text, format, info, colors); /* its lines are the user's to break */
    } else {
        run_summary_of_info(&summary, info, run_was_discarded(run));
        run_summary_write(&text, &summary, command_width(STDERR_FILENO), colors);
    }
    (void)file_write_all(STDERR_FILENO, strbuf_text(&text), text.length);
    strbuf_fini(&text);
}
