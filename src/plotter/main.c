/*
 * metron-plot: draws a recorded run into a file.
 *
 *     metron-plot LOG_LEVEL svg|png|pdf FILE WIDTHxHEIGHT alive|gone KEYS CPU MEMORY RUN MADE_INFO
 *
 * A program of its own because cairo and what it brings take longer to load than metron may take to start.
 * `metron plot` starts it with everything decided: what is not asked for is an empty argument; `alive` says
 * that a run which is not yet ended is still being recorded; the log level is a number (enum log_level);
 * MADE_INFO is the text that stands in for a missing info.json (store/recording/usage_only.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "store/recording/reader.h"
#include "view/plot/cairo.h"
#include "view/plot/plot.h"

enum argument {
    LEVEL = 1,
    FORMAT,
    OUTPUT,
    SIZE,
    RECORDER,
    KEYS,
    CPU,
    MEMORY,
    RUN,
    MADE_INFO,
    ARGUMENT_COUNT
};

static bool as_told(void *context, const struct recorder *recorder)
{
    (void)recorder;
    return *(const bool *)context;
}

static const char *if_any(const char *text)
{
    return text[0] ? text : NULL;
}

/* As readable as the user's umask says: he named it. Through links: the link stays one. Should it lead to the
 * recording, that stays too. */
static int write_picture(const char *path, const struct recording *recording, const struct strbuf *picture,
                         struct metron_error *error)
{
    if (file_is_same(path, recording->path) || file_is_same(path, recording->usage_path) ||
        file_is_same(path, recording->events_path))
        return error_set(error, -EINVAL, "-o %s would overwrite the recording itself", path);

    char *real = realpath(path, NULL);
    int code = file_replace(AT_FDCWD, real ? real : path, strbuf_text(picture), picture->length, 0666);

    free(real);
    return code < 0 ? error_set(error, code, "cannot write %s: %s", path, strerror(-code)) : 0;
}

static int draw(char **arguments, struct metron_error *error)
{
    static const char *const formats[] = {[PLOT_SVG] = "svg", [PLOT_PNG] = "png", [PLOT_PDF] = "pdf"};
    bool alive = strcmp(arguments[RECORDER], "alive") == 0;
    const struct recording_wish recording_wish = {
        .keys = true, .lives = as_told, .context = &alive, .now = clock_wall_seconds()};
    const struct plot_wish wish = {
        .keys = if_any(arguments[KEYS]), .cpu = if_any(arguments[CPU]), .memory = if_any(arguments[MEMORY])};
    struct metron_error damage;
    struct recording recording = {0};
    struct plot plot = {0};
    struct strbuf picture = STRBUF_INIT;
    unsigned width, height;
    size_t format = 0;
    int code;

    while (format <= PLOT_PDF && strcmp(formats[format], arguments[FORMAT]) != 0)
        format++;
    if (format > PLOT_PDF ||
        !plot_parse_size(arguments[SIZE], PLOT_PICTURE_LEAST, PLOT_PICTURE_MOST, &width, &height))
        return error_set(error, -EINVAL,
                         "metron-plot is for 'metron plot' to call; see 'metron plot --help'");
    code = arguments[MADE_INFO][0] ? recording_parse(arguments[MADE_INFO], strlen(arguments[MADE_INFO]),
                                                     arguments[RUN], &recording_wish, &recording, error)
                                   : recording_read(arguments[RUN], &recording_wish, &recording, error);
    if (code < 0)
        return code;
    code = plot_init(&plot, &recording, &wish, error);
    if (code == 0)
        code = plot_read(&plot, error);
    if (code == 0 && plot_finish(&plot) < 0)
        code = error_set(error, -ENOMEM, "out of memory");
    if (code == 0)
        code = plot_cairo_draw(&plot, (enum plot_format)format, width, height, &picture, error);
    if (code == 0) {
        for (size_t i = 0; plot_damage(&plot, i, &damage); i++)
            log_warning("%s", damage.message);
        if (plot_advice(&plot, &damage))
            log_info("%s", damage.message);
        code = write_picture(arguments[OUTPUT], &recording, &picture, error);
    }
    strbuf_fini(&picture);
    plot_fini(&plot);
    recording_fini(&recording);
    return code;
}

int main(int argc, char **argv)
{
    struct metron_error error = {0};

    log_setup(LOG_LEVEL_INFO, false);
    if (argc != ARGUMENT_COUNT) {
        log_error("metron-plot is for 'metron plot' to call; see 'metron plot --help'");
        return 2;
    }
    log_setup((enum log_level)strtol(argv[LEVEL], NULL, 10), false);
    int code = draw(argv, &error);
    if (code < 0)
        log_error("%s", error.message[0] ? error.message : strerror(-code));
    return code < 0;
}
