/* metron plot: draw a recorded run: on the terminal here, into a file by the program metron-plot. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "probe/companion.h"
#include "store/recording/reader.h"
#include "view/plot/cairo.h"
#include "view/plot/plot.h"
#include "view/plot/terminal.h"

static const struct command_description description = {
    .name = "plot",
    .summary = "draw a recorded run",
    .usage = "[OPTION...] [RUN]",
    .description =
        "Draws what a run used over the time since its start. RUN is an info.json, another file of the "
        "run, its prefix, its id or the beginning of its name (metron ls has them), last, -1 or -2 (without "
        "it: the newest run that was recorded here); recordings of con-duct "
        "(schema 0.2) are read as well. With --output a picture is made (svg, png or pdf by the end of its "
        "name); else it is drawn on the terminal. The start is told in your time zone (TZ), which stands "
        "beside it.\n\n"
        "By default there are two panels: CPU (100 % = one core, with what the run may use) and memory (by "
        "the method that answers for the peak, or where that is known only at the end by the first other "
        "method; beside the sum of all RSS; with the limit and what the host has). The bold line is the "
        "whole run, drawn in steps: a record holds the highest value of its window. The thin line is the "
        "mean over each window. A run of fewer than 12 records is drawn as bands instead, from the mean up "
        "to the highest value; metron run records more often with its default intervals. The faint lines are "
        "the "
        "largest processes, each at its own peak in the window: one may lie above the whole run, which is "
        "read at other instants. A limit far above all that was used is told in words. Spawns, signals, "
        "kills, OOM kills and anomalies stand below.\n\n"
        "--cpu and --memory choose another method: any key of the recording in percent or in bytes; CPU "
        "seconds are drawn as the mean of each window. --keys draws any keys, those of one unit in one "
        "panel. Runs of any length are thinned to the width of the picture so that no peak is lost.",
    .examples = "  metron plot .metron/logs/2026.11.15T07.42.53-4711_\n"
                "  metron plot -o run.svg RUN\n"
                "  metron plot -o run.png --size 2400x1600 --cpu cgroup_cpu_seconds --memory smaps_pss_total "
                "RUN\n"
                "What was read and written, and the memory of each process:\n"
                "  metron plot --keys 'io_*_rate_total,proc_rss' RUN\n",
    .command = COMMAND_PLOT,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

static int complain(const struct metron_error *error, int code, int exit_code)
{
    log_error("%s", error->message[0] ? error->message : strerror(-code));
    return exit_code;
}

/* ---- a picture: another program's work ---- */

static const char *format_of(const char *output)
{
    static const char *const formats[] = {"svg", "png", "pdf"};
    const char *dot = strrchr(output, '.');

    for (size_t i = 0; dot && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcasecmp(dot + 1, formats[i]) == 0)
            return formats[i];
    return NULL;
}

static char *or_empty(const char *text)
{
    return (char *)(text ? text : "");
}

/* Becomes metron-plot. Returns only if that cannot be. */
static int become_plotter(const struct settings *settings, const struct recording *recording,
                          const struct plot_wish *wish)
{
    const char *output = settings_text(settings, SETTING_OUTPUT);
    const char *size = settings_text(settings, SETTING_SIZE);
    char path[PATH_MAX], level[24];

    if (companion_find("metron-plot", path) < 0) {
        log_error("this build of metron draws no pictures (metron-plot is not installed beside it; it needs "
                  "cairo); without --output the run is drawn on the terminal");
        return EXIT_TROUBLE;
    }
    (void)snprintf(level, sizeof(level), "%zu", settings_choice(settings, SETTING_LOG_LEVEL));
    char *const arguments[] = {(char *)"metron-plot",
                               level,
                               or_empty(format_of(output)),
                               or_empty(output),
                               or_empty(size ? size : "1200x800"),
                               (char *)(recording->status == RECORDING_RUNNING ? "alive" : "gone"),
                               or_empty(wish->keys),
                               or_empty(wish->cpu),
                               or_empty(wish->memory),
                               or_empty(recording->path),
                               or_empty(recording->made_info),
                               NULL};
    (void)execv(path, arguments);
    log_error("cannot start %s: %s", path, strerror(errno));
    return EXIT_TROUBLE;
}

/* ---- the terminal ---- */

/* What a user, or a test, says of the screen where there is none to ask. */
static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    const long number = text ? strtol(text, NULL, 10) : 0;

    return number > 0 && number <= PLOT_TERMINAL_MOST ? (unsigned)number : otherwise;
}

static void screen_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;

    *columns = from_environment("COLUMNS", 80);
    *rows = from_environment("LINES", 24);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 1) {
        *columns = size.ws_col;
        *rows = size.ws_row - 1u; /* the prompt comes back below */
    }
}

/* Whether the user's characters are not those of Unicode, as he has told (LC_ALL, LC_CTYPE, LANG). */
static bool is_ascii_only(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    if (setlocale(LC_CTYPE, ""))
        return strcasecmp(nl_langinfo(CODESET), "UTF-8") != 0;
    /* The machine does not have that locale; its name tells as much. */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return !strcasestr(value, "UTF-8") && !strcasestr(value, "utf8");
    }
    return true;
}

static int draw_on_terminal(struct plot *plot, const struct settings *settings)
{
    const char *size = settings_text(settings, SETTING_SIZE);
    struct metron_error error = {0};
    struct strbuf text = STRBUF_INIT;
    struct plot_terminal terminal = {.colors = command_colors(settings, STDOUT_FILENO),
                                     .ascii = is_ascii_only()};

    screen_size(&terminal.columns, &terminal.rows);
    if (size)
        (void)plot_parse_size(size, PLOT_TERMINAL_LEAST, PLOT_TERMINAL_MOST, &terminal.columns,
                              &terminal.rows);
    int code = plot_read(plot, &error);
    if (code == 0 && plot_finish(plot) < 0)
        code = error_set(&error, -ENOMEM, "out of memory");
    if (code == 0)
        code = plot_terminal_draw(plot, &terminal, &text, &error);
    int exit_code =
        code < 0 ? complain(&error, code, EXIT_TROUBLE) : command_print(strbuf_text(&text), text.length);
    for (size_t i = 0; code == 0 && plot_damage(plot, i, &error); i++)
        log_warning("%s", error.message);
    if (code == 0 && plot_advice(plot, &error))
        log_info("%s", error.message);
    strbuf_fini(&text);
    return exit_code;
}

/* ---- both ---- */

/* What can be told before any file is opened. */
static int check_usage(const struct settings *settings, int operands, const char *operand)
{
    const char *output = settings_text(settings, SETTING_OUTPUT);
    const char *size = settings_text(settings, SETTING_SIZE);
    const unsigned least = output ? PLOT_PICTURE_LEAST : PLOT_TERMINAL_LEAST;
    const unsigned most = output ? PLOT_PICTURE_MOST : PLOT_TERMINAL_MOST;
    unsigned width, height;

    if (operands > 1) {
        log_error("plot: one run at a time; '%s' is one too many", operand);
        return EXIT_WRONG_USAGE;
    }
    if (output && !format_of(output)) {
        log_error("--output: '%s' ends in neither .svg, .png nor .pdf", output);
        return EXIT_WRONG_USAGE;
    }
    if (size && !plot_parse_size(size, least, most, &width, &height)) {
        log_error("--size: '%s' is no WIDTHxHEIGHT with both from %u to %u %s", size, least, most,
                  output ? "(pixels)" : "(columns and lines)");
        return EXIT_WRONG_USAGE;
    }
    return EXIT_OK;
}

/* con-duct has two names for what is drawn of its recordings. One of metron has rates: its best is the
 * second. */
static struct plot_wish wish_of(const struct settings *settings, const struct recording *recording)
{
    const char *cpu = settings_text(settings, SETTING_CPU_KEY);
    bool is_duct = recording->kind == RECORDING_DUCT;

    if (cpu && is_duct && strcmp(cpu, "ps-pcpu") == 0)
        cpu = "total_pcpu";
    else if (cpu && strcmp(cpu, "ps-cpu-timepoint") == 0)
        cpu = is_duct ? "total_pcpu_rate" : NULL;
    return (struct plot_wish){.keys = settings_text(settings, SETTING_KEYS),
                              .cpu = cpu,
                              .memory = settings_text(settings, SETTING_MEMORY_KEY)};
}

static int plot_run(const struct settings *settings, const char *run)
{
    const struct recording_wish recording_wish = {.keys = true,
                                                  .describe = describe_known_key,
                                                  .lives = recorder_is_alive,
                                                  .now = clock_wall_seconds()};
    const char *output = settings_text(settings, SETTING_OUTPUT);
    struct metron_error error = {0};
    struct recording recording = {0};
    struct plot plot = {0};
    int exit_code;

    int code = recording_read(run, &recording_wish, &recording, &error);
    if (code < 0)
        return complain(&error, code, EXIT_TROUBLE);
    struct plot_wish wish = wish_of(settings, &recording);
    code = plot_init(&plot, &recording, &wish, &error);
    if (code < 0)
        exit_code = complain(&error, code, code == -EINVAL ? EXIT_WRONG_USAGE : EXIT_TROUBLE);
    else if (output)
        exit_code = become_plotter(settings, &recording, &wish);
    else
        exit_code = draw_on_terminal(&plot, settings);
    plot_fini(&plot);
    recording_fini(&recording);
    return exit_code;
}

static int plot_main(int argc, char **argv)
{
    struct settings settings;
    struct metron_error error = {0};
    char *path = NULL;
    int first = argc, exit_code;

    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        exit_code = check_usage(&settings, argc - first, argc - first > 1 ? argv[first + 1] : "");
        if (exit_code == EXIT_OK &&
            named_run(&settings, first < argc ? argv[first] : NULL, &path, &error) < 0)
            exit_code = complain(&error, error.code, EXIT_TROUBLE);
        else if (exit_code == EXIT_OK)
            exit_code = plot_run(&settings, path);
    }
    free(path);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_plot = {&description, plot_main};
