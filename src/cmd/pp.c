/*
 * metron pp: pretty-print a file of a recorded run. Files are read piece by piece
 * (store/recording/json_pieces.h) and written as they are read, so that a file of any length takes little
 * memory and a pipe is followed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd/commands.h"
#include "cmd/newest.h"
#include "store/recording/json_pieces.h"
#include "store/recording/reader.h"
#include "store/run_files.h"
#include "view/colors.h"
#include "view/pretty/pretty.h"
#include "view/pretty/units.h"

#define COMPLAINTS_MAX 10 /* in one file; then only their number is told */

static const struct command_description description = {
    .name = "pp",
    .summary = "pretty-print a file of a recorded run",
    .usage = "[OPTION...] [FILE|RUN...]",
    .description =
        "Prints files of recorded runs so that people can read them: info.json, usage.jsonl and events.jsonl "
        "of metron, info.json, usage.json and usage.jsonl of con-duct, or any other JSON, as a document or "
        "as a value a line. A RUN, named by its prefix, its folder, its id (metron ls) or last, is "
        "its info.json. Each value has a "
        "line of its own, with an indent; numbers and strings are exactly as they stand in the file. Without "
        "FILE, or with -, it reads stdin.\n\n"
        "With --humanize numbers are as people write them (1.5 GiB, 2 h 05 min, 98.2 %), by the units that "
        "the recording tells of itself: an info.json has them, for the other files the info.json beside them "
        "is read. What has no unit (pids, exit codes) stays as it is. The output is then no JSON any more."
        "\n\n"
        "A damaged line is named on stderr and passed over, the others are shown, and the exit code is 1; so "
        "it is for a file that is no JSON or cannot be read. A line, or a document, may have 64 MiB.",
    .examples = "  metron pp .metron/logs/2026.11.15T07.42.53-4711_\n"
                "  metron pp -H .metron/logs/2026.11.15T07.42.53-4711_usage.jsonl | less\n"
                "  tail -f .metron/logs/2026.11.15T07.42.53-4711_events.jsonl | metron pp\n",
    .command = COMMAND_PP,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

/* One command under way. */
struct pp {
    const struct settings *settings;
    bool humanize;
    bool colors;
    bool trouble; /* something could not be shown */
    bool broken;  /* stdout takes no more */
    bool any_head;
    struct strbuf out;
};

static bool flush(void *context, struct strbuf *out)
{
    struct pp *pp = context;

    if (!pp->broken && out->length > 0)
        pp->broken = command_print(out->data, out->length) != EXIT_OK;
    strbuf_reset(out);
    return !pp->broken;
}

/* -- One file -- */

/* Says what is wrong, up to a limit: a file of noise has as many damaged lines as it has lines. */
static void complain(struct pp *pp, const struct metron_error *error, size_t *complaints)
{
    pp->trouble = true;
    if (++*complaints <= COMPLAINTS_MAX)
        log_error("%s", error->message);
}

/* Without a recording nothing is known of any number. */
static void learn_units(struct pretty_options *options, struct pretty_units *units, const char *path,
                        const struct json_text *first)
{
    struct metron_error error = {0};

    if (pretty_units_init(units, strcmp(path, "-") == 0 ? NULL : path, first->bytes, first->length, &error) <
        0) {
        log_warning("numbers stay as they are, for want of a recording with their units: %s", error.message);
        return;
    }
    options->number = pretty_units_number;
    options->number_context = units;
}

/* Whether to write what there is before more is read: a pipe may let us wait. */
static bool is_followed(int fd)
{
    struct stat status;

    return fstat(fd, &status) < 0 || !S_ISREG(status.st_mode);
}

static void print_pieces(struct pp *pp, struct json_pieces *pieces, const char *path)
{
    struct json_text piece;
    struct pretty_units units = {0};
    struct pretty_options options = {.colors = pp->colors, .flush = flush, .flush_context = pp};
    struct metron_error error = {0};
    bool first = true, followed = is_followed(pieces->fd);
    size_t complaints = 0;
    int code;

    while (!pp->broken && (code = json_pieces_next(pieces, &piece, &error)) != 0) {
        if (code > 0 && first && pp->humanize)
            learn_units(&options, &units, path, &piece);
        first = first && code < 0;
        if (code > 0)
            code = pretty_print(&pp->out, piece.bytes, piece.length, &options, &error);
        if (followed || code < 0)
            (void)flush(pp, &pp->out);
        if (code < 0 && code != -ECANCELED)
            complain(pp, &error, &complaints);
    }
    (void)flush(pp, &pp->out);
    if (complaints > COMPLAINTS_MAX)
        log_error("%s: %zu more lines are no JSON", pieces->name, complaints - COMPLAINTS_MAX);
    pretty_units_fini(&units);
}

static void print_head(struct pp *pp, const char *path)
{
    strbuf_adds(&pp->out, pp->any_head ? "\n" : "");
    pp->any_head = true;
    strbuf_adds(&pp->out, pp->colors ? COLOR_BOLD "==> " : "==> ");
    if (strcmp(path, "-") == 0)
        path = "stdin";
    text_printable(&pp->out, path, strlen(path));
    strbuf_adds(&pp->out, pp->colors ? " <==" COLOR_END "\n" : " <==\n");
    (void)flush(pp, &pp->out);
}

/* `named`: by the user, who may want a pipe to be followed. */
static void print_file(struct pp *pp, const char *path, bool named)
{
    struct json_pieces pieces;
    struct metron_error error = {0};

    int code =
        named ? json_pieces_open(&pieces, path, &error) : json_pieces_open_regular(&pieces, path, &error);
    if (code < 0) {
        log_error("%s", error.message);
        pp->trouble = true;
    } else {
        print_pieces(pp, &pieces, path);
    }
    json_pieces_fini(&pieces);
}

/* -- What was named -- */

/* The info.json of a run; its usage file, where that is all there is. */
static int find_run(const char *named, struct strbuf *path, struct metron_error *error)
{
    int code = recording_find(named, path, error);

    struct stat status;

    if (code == 0 &&
        (stat(strbuf_text(path), &status) < 0 || (S_ISREG(status.st_mode) && status.st_size == 0))) {
        char *info = strdup(strbuf_text(path));
        bool found = info && recording_usage_beside(info, path);

        free(info);
        return found ? 0 : error_set(error, -ENOENT, "%s: no such run", named);
    }
    return code;
}

/* A file, or a run by its prefix or its folder, of which the info.json is meant. One that is called as the
 * files of a run are and is not there is not looked for beside it: somebody wants that very file. */
static int find_file(const struct settings *settings, const char *named, struct strbuf *path,
                     struct metron_error *error)
{
    char *run = NULL;
    struct stat status = {0};
    int code = strcmp(named, "-") == 0 || stat(named, &status) == 0 ? 0 : -errno;

    if (named[0] == '\0')
        return error_set(error, -ENOENT, "an empty path names no file and no run");
    if (S_ISDIR(status.st_mode))
        return find_run(named, path, error);
    if (code == -ENOENT && run_prefix_length(named) < 0) {
        code = named_run(settings, named, &run, error);
        if (code == 0)
            code = find_run(run, path, error);
        free(run);
        return code;
    }
    strbuf_adds(path, named);
    return path->failed ? error_set(error, -ENOMEM, "%s: no memory to read it", named) : 0;
}

static void print_named(struct pp *pp, const char *named, bool with_head)
{
    struct strbuf path = STRBUF_INIT;
    struct metron_error error = {0};

    if (find_file(pp->settings, named, &path, &error) < 0) {
        log_error("%s", error.message);
        pp->trouble = true;
    } else {
        if (with_head)
            print_head(pp, strbuf_text(&path));
        print_file(pp, strbuf_text(&path), strcmp(strbuf_text(&path), named) == 0);
    }
    strbuf_fini(&path);
}

static int pp_main(int argc, char **argv)
{
    struct settings settings;
    struct pp pp = {.settings = &settings, .out = STRBUF_INIT};
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    if (first == argc && isatty(STDIN_FILENO)) {
        log_error("pp: which file or run? Name one, or - to type it; see 'metron pp --help'");
        exit_code = EXIT_WRONG_USAGE;
        goto out;
    }
    pp.humanize = settings_flag(&settings, SETTING_HUMANIZE);
    pp.colors = command_colors(&settings, STDOUT_FILENO);
    if (first == argc)
        print_file(&pp, "-", true);
    for (int i = first; i < argc && !pp.broken; i++)
        print_named(&pp, argv[i], argc - first > 1);
    exit_code = pp.trouble || pp.broken ? EXIT_TROUBLE : EXIT_OK;
out:
    strbuf_fini(&pp.out);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_pp = {&description, pp_main};
