#include "cmd/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "loop/feed.h"
#include "probe/breakage.h"
#include "schema/secrets.h"
#include "settings/environment.h"
#include "settings/files.h"
#include "settings/options_help.h"

#define NARROWEST 20 /* columns of a terminal; one that says less does not know its size */

bool command_colors(const struct settings *settings, int fd)
{
    const char *variable = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool no_color = variable && variable[0];
    size_t wanted = settings_choice(settings, SETTING_COLORS);

    /* NO_COLOR is about this user's screen: only a word on this very command line is stronger. */
    if (no_color && settings_origin(settings, SETTING_COLORS) != SETTING_ORIGIN_COMMAND_LINE)
        return false;
    if (wanted != CHOICE_COLORS_AUTO)
        return wanted == CHOICE_COLORS_ALWAYS;
    return isatty(fd) && !no_color && !(terminal && strcmp(terminal, "dumb") == 0);
}

size_t command_width(int fd)
{
    struct winsize size;

    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROWEST ? size.ws_col : 80;
}

size_t command_page_width(size_t otherwise)
{
    static const unsigned long widest = 10000;
    const char *columns = getenv("COLUMNS");
    const unsigned long given = columns ? strtoul(columns, NULL, 10) : 0;
    const size_t width = command_width(STDOUT_FILENO);

    if (width)
        return width;
    return given >= NARROWEST && given <= widest ? given : otherwise;
}

int command_print(const char *text, size_t length)
{
    int code = file_write_all(STDOUT_FILENO, text, length);

    if (code == 0)
        return EXIT_OK;
    if (code != -EPIPE)
        log_error("cannot write to stdout: %s", strerror(-code));
    return EXIT_TROUBLE;
}

int command_print_data(const char *text, size_t length)
{
    struct strbuf shown = STRBUF_INIT;

    if (!isatty(STDOUT_FILENO))
        return command_print(text, length);
    text_printable_lines(&shown, text, length);
    int code = shown.failed ? EXIT_TROUBLE : command_print(strbuf_text(&shown), shown.length);
    if (shown.failed)
        log_error("no memory for what is to be shown");
    strbuf_fini(&shown);
    return code;
}

static int print_help(const struct command_description *description, bool whole)
{
    struct strbuf text = STRBUF_INIT;

    if (whole)
        options_help(description, &text);
    else
        options_usage(description, &text);
    int code = command_print(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return code;
}

static int break_readers(const char *list, struct metron_error *error)
{
    unsigned length;
    const char *unknown = list ? breakage_unknown(list, &length) : NULL;

    if (unknown)
        return error_set(error, -EINVAL, "--break-readers: there is no reader '%.*s'", (int)length, unknown);
    breakage_set(list);
    return 0;
}

static struct secrets secrets; /* of the settings in force */

/* The daemon calls it again when it reads its settings anew: the rules change in place. */
static int set_secrets(const struct settings *settings)
{
    const char *names = settings_text(settings, SETTING_SECRET_NAMES);
    const char *patterns = settings_text(settings, SETTING_SECRET_PATTERNS);
    struct secrets fresh = {.off = !settings_flag(settings, SETTING_MASK_SECRETS)};
    const char *item;
    size_t length;
    int code = 0;

    while (code == 0 && names && (item = settings_list_next(&names, &length)) != NULL)
        code = secrets_add_name(&fresh, item, length);
    while (code == 0 && patterns && (item = settings_list_next(&patterns, &length)) != NULL)
        code = secrets_add_pattern(&fresh, item, length);
    secrets_fini(code == 0 ? &secrets : &fresh);
    if (code == 0)
        secrets = fresh;
    return code;
}

const struct secrets *command_secrets(void)
{
    return &secrets;
}

void command_failed(const struct metron_error *error)
{
    if (feed_current())
        feed_fail(feed_current(), error);
    else
        log_error("%s", error->message);
}

/* Before anything else can fail: whoever is fed is told. */
static int open_feed(const struct settings *settings, struct metron_error *error)
{
    if (!settings_has(settings, SETTING_FEED))
        return 0;
    return feed_open((int)settings_integer(settings, SETTING_FEED), error);
}

bool command_begin(const struct command_description *description, int argc, char **argv,
                   struct settings *settings, int *first_operand, int *exit_code)
{
    struct metron_error error = {0};
    struct settings_places places;
    char user_file[SETTINGS_PATH_SIZE];

    log_setup(LOG_LEVEL_INFO, false);
    *exit_code = EXIT_WRONG_USAGE;
    /* doctor shows what run would use */
    int code = settings_init(settings, description->command == COMMAND_DOCTOR ? COMMAND_DOCTOR | COMMAND_RUN
                                                                              : description->command);
    if (code == 0)
        code = options_parse(description, argc, argv, settings, first_operand, &error);
    if (code == OPTIONS_HELP || code == OPTIONS_USAGE) {
        *exit_code = print_help(description, code == OPTIONS_HELP);
        return false;
    }
    if (code == 0)
        code = open_feed(settings, &error);
    if (code == 0) {
        settings_places_init(&places, user_file);
        if (description->command == COMMAND_DAEMON)
            places.local_file = NULL; /* it belongs to no folder */
        code = settings_load_files(settings, &places, &error);
    }
    if (code == 0)
        code = settings_load_environment(settings, environ, &error);
    if (code == 0)
        code = settings_check(settings, &error);
    if (code == 0)
        code = break_readers(settings_text(settings, SETTING_BREAK_READERS), &error);
    if (code == 0)
        code = set_secrets(settings);
    if (code < 0) {
        if (!error.message[0])
            (void)error_set(&error, code, "%s", strerror(-code));
        command_failed(&error);
        return false;
    }
    enum log_level level = (enum log_level)settings_choice(settings, SETTING_LOG_LEVEL);
    if (settings_flag(settings, SETTING_QUIET) && level > LOG_LEVEL_WARNING)
        level = LOG_LEVEL_WARNING;
    log_setup(level, command_colors(settings, STDERR_FILENO));
    for (size_t i = 0; i < settings->notice_count; i++)
        log_warning("%s", settings->notices[i].message);
    size_t cursor = 0, length;
    for (const char *name; (name = settings_unknown_variable(environ, &cursor, &length)) != NULL;)
        log_debug("the environment variable %.*s is no setting of metron", (int)length, name);
    return true;
}
