#include "cmd/run_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "store/filter/filter.h"

/* The reason, the expression, and a caret below the place. */
static void report_trouble(const struct run_filter *filter, const char *where,
                           const struct metron_error *error, size_t place)
{
    struct strbuf lines = STRBUF_INIT;
    size_t width = command_width(STDERR_FILENO);

    log_error("%s%s--filter: %s", where, *where ? ": " : "", error->message);
    filter_point(&lines, filter->text, place, (width ? width : 80) - 4);
    if (log_enabled(LOG_LEVEL_ERROR)) {
        for (const char *line = strbuf_text(&lines); *line; line = strchr(line, '\n') + 1)
            (void)dprintf(STDERR_FILENO, "  %.*s\n", (int)strcspn(line, "\n"), line);
    }
    strbuf_fini(&lines);
    if (strstr(filter->text, "re.search") || strstr(filter->text, "re.match"))
        log_info("an expression here is not Python: instead of re.search('PATTERN', FIELD) write FIELD =~ "
                 "'PATTERN'");
}

int run_filter_init(struct run_filter *filter, const struct settings *settings)
{
    struct metron_error error = {0};
    size_t place;

    *filter = (struct run_filter){.text = settings_text(settings, SETTING_FILTER)};
    if (!filter->text || filter_parse(filter->text, &filter->filter, &place, &error) == 0)
        return EXIT_OK;
    report_trouble(filter, "", &error, place);
    return EXIT_WRONG_USAGE;
}

void run_filter_fini(struct run_filter *filter)
{
    filter_free(filter->filter);
    *filter = (struct run_filter){0};
}

const char *const *run_filter_fields(const struct run_filter *filter)
{
    static const char *const none[] = {NULL};

    return filter->filter ? filter_fields(filter->filter) : none;
}

int run_filter_holds(const struct run_filter *filter, const struct recording *recording)
{
    struct metron_error error = {0};
    size_t place = 0;
    int holds = filter->filter ? filter_holds(filter->filter, recording, &place, &error) : 1;

    if (holds == -EINVAL)
        report_trouble(filter, recording->path, &error, place);
    return holds;
}

void run_filter_say_none(size_t runs)
{
    log_info("--filter holds for none of %zu run%s", runs, runs == 1 ? "" : "s");
}
