/*
 * The log: a prefix, a level, a line, one write. errno is left as it was, so that a message may stand before
 * the code that looks at it.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

static enum log_level current_level = LOG_LEVEL_INFO;
static bool current_colors;
static void (*current_sink)(void *context, enum log_level level, const char *message);
static void *sink_context;

/* Info is what metron says by default: it needs no word for its level. */
static const struct {
    const char *word;
    const char *color;
} styles[] = {
    [LOG_LEVEL_NONE] = {"", ""},
    [LOG_LEVEL_ERROR] = {"error: ", "\033[31m"},
    [LOG_LEVEL_WARNING] = {"warning: ", "\033[33m"},
    [LOG_LEVEL_INFO] = {"", "\033[36m"},
    [LOG_LEVEL_DEBUG] = {"debug: ", "\033[2m"},
};

void log_setup(enum log_level level, bool colors)
{
    current_level = level;
    current_colors = colors;
}

void log_set_sink(void (*sink)(void *context, enum log_level level, const char *message), void *context)
{
    current_sink = sink;
    sink_context = context;
}

bool log_enabled(enum log_level level)
{
    return level != LOG_LEVEL_NONE && level <= current_level;
}

/* A terminal in raw mode (a run with --pty) does not return to the first column by itself. */
static const char *line_end(void)
{
    struct termios modes;
    return tcgetattr(STDERR_FILENO, &modes) == 0 && !(modes.c_oflag & OPOST) ? "\r\n" : "\n";
}

static void write_line(enum log_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void write_line(enum log_level level, const char *format, va_list arguments)
{
    int kept_errno = errno;
    struct strbuf text = STRBUF_INIT;
    struct strbuf line = STRBUF_INIT;

    strbuf_vaddf(&text, format, arguments);
    if (current_sink) {
        text_printable(&line, strbuf_text(&text), text.length);
        current_sink(sink_context, level, strbuf_text(&line));
        goto out;
    }
    if (current_colors)
        strbuf_adds(&line, styles[level].color);
    strbuf_adds(&line, "metron: ");
    strbuf_adds(&line, styles[level].word);
    if (current_colors)
        strbuf_adds(&line, "\033[0m");
    text_printable(&line, strbuf_text(&text), text.length);
    strbuf_adds(&line, line_end());

    if (text.failed || line.failed) {
        static const char lost[] = "metron: a message was lost: out of memory\n";

        (void)file_write_all(STDERR_FILENO, lost, sizeof(lost) - 1);
    } else {
        (void)file_write_all(STDERR_FILENO, line.data, line.length);
    }
out:
    strbuf_fini(&text);
    strbuf_fini(&line);
    errno = kept_errno;
}

#define DEFINE_LOG(name, level)                                                                              \
    void name(const char *format, ...)                                                                       \
    {                                                                                                        \
        if (!log_enabled(level))                                                                             \
            return;                                                                                          \
                                                                                                             \
        va_list arguments;                                                                                   \
                                                                                                             \
        va_start(arguments, format);                                                                         \
        write_line(level, format, arguments);                                                                \
        va_end(arguments);                                                                                   \
    }

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warning, LOG_LEVEL_WARNING)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
