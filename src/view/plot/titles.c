/* All that a plot says in words, whoever draws it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "view/command_line.h"
#include "view/plot/plot.h"

#define COMMAND_SHOWN ((size_t)1000) /* bytes */
#define START_SIZE    48

static bool is_auto(const struct plot *plot, const char *field)
{
    const struct recorded_field *found = recording_field(plot->recording, field);
    return found && found->kind == FIELD_BOOLEAN && found->number != 0;
}

bool plot_advice(const struct plot *plot, struct metron_error *out)
{
    static const double worth_it = 0.8; /* seconds: four of the first records of a run without intervals */

    if (plot->recording->kind != RECORDING_METRON || plot->record_count >= PLOT_FEW_RECORDS ||
        plot->longest < worth_it ||
        (is_auto(plot, "provenance.sample_interval_auto") &&
         is_auto(plot, "provenance.report_interval_auto")))
        return false;
    (void)error_set(out, 0, "only %zu record%s: metron run records more often with its default intervals",
                    plot->record_count, plot->record_count == 1 ? "" : "s");
    return true;
}

const char *plot_printable(struct plot *plot, const char *text)
{
    struct strbuf printable = STRBUF_INIT;

    text_printable(&printable, text, strlen(text));
    const char *copy = printable.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&printable));
    strbuf_fini(&printable);
    return copy;
}

const char *plot_mark_name(enum plot_mark kind, bool many)
{
    static const char *const names[][2] = {[PLOT_MARK_OOM] = {"OOM kill", "OOM kills"},
                                           [PLOT_MARK_KILL] = {"fatal signal", "fatal signals"},
                                           [PLOT_MARK_SIGNAL] = {"signal", "signals"},
                                           [PLOT_MARK_ANOMALY] = {"anomaly", "anomalies"},
                                           [PLOT_MARK_SPAWN] = {"spawn", "spawns"}};
    return names[kind][many];
}

char *plot_panel_title(const struct plot_panel *panel, const char *unit, char out[PLOT_TITLE_SIZE])
{
    const bool has_unit = unit[0] && !(strcmp(unit, "%") == 0 && strcmp(panel->title, "percent") == 0);
    const char *note = panel->unit_note ? panel->unit_note : "";
    const int length = (int)text_cut(panel->title, PLOT_TITLE_SIZE / 2);

    if (has_unit || note[0])
        (void)snprintf(out, PLOT_TITLE_SIZE, "%.*s (%s%s%s)", length, panel->title, has_unit ? unit : "",
                       has_unit && note[0] ? ", " : "", note);
    else
        (void)snprintf(out, PLOT_TITLE_SIZE, "%.*s", length, panel->title);
    return out;
}

bool plot_parse_size(const char *text, unsigned least, unsigned most, unsigned *width, unsigned *height)
{
    unsigned long numbers[2] = {0, 0};
    const char *cursor = text;

    for (int i = 0; i < 2; i++) {
        size_t digits = strspn(cursor, "0123456789");
        if (digits == 0 || digits > 6)
            return false;
        numbers[i] = strtoul(cursor, NULL, 10);
        cursor += digits;
        if (i == 0 && *cursor != 'x' && *cursor != 'X')
            return false;
        cursor += i == 0;
    }
    if (*cursor || numbers[0] < least || numbers[0] > most || numbers[1] < least || numbers[1] > most)
        return false;
    *width = (unsigned)numbers[0];
    *height = (unsigned)numbers[1];
    return true;
}

/* How it ended: as metron tells it, or by con-duct's exit code. */
static void add_cause(struct strbuf *out, const struct recording *recording)
{
    const char *cause = recording_cause(recording);
    double exit_code;

    if (recording->status == RECORDING_RUNNING)
        strbuf_adds(out, "still running");
    else if (recording->status == RECORDING_LOST)
        strbuf_adds(out, "lost: its recorder ended before it could tell how it went");
    else if (recording->status == RECORDING_UNKNOWN)
        strbuf_adds(out, "no info.json: how it ended is not known");
    else if (cause)
        text_printable(out, cause, strlen(cause));
    else if (recording_number(recording, "exit_code", &exit_code))
        strbuf_addf(out, "exited with code %.0f", exit_code);
    else
        strbuf_adds(out, "ended");
}

/* When it began, in the time zone of whoever looks, as metron ls has it, and that zone. The zone of the
 * machine that wrote it is known of metron's recordings only. "": not known. */
static void write_start(const struct recording *recording, bool seconds, char out[START_SIZE])
{
    const time_t start = (time_t)recording->start_wall;
    char zone[16] = "UTC";
    struct tm parts;

    out[0] = '\0';
    if (!(recording->start_wall > 0) || !localtime_r(&start, &parts))
        return;
    if (parts.tm_gmtoff != 0)
        (void)snprintf(zone, sizeof(zone), "%c%02ld:%02ld", parts.tm_gmtoff < 0 ? '-' : '+',
                       labs(parts.tm_gmtoff) / 3600 % 100, labs(parts.tm_gmtoff) / 60 % 60);
    const size_t length =
        strftime(out, START_SIZE - sizeof(zone), seconds ? "%Y-%m-%d %H:%M:%S " : "%Y-%m-%d %H:%M ", &parts);
    (void)snprintf(out + length, sizeof(zone), "%s", length > 0 ? zone : "");
}

/* Few records draw as long flat steps: how long each is stands in the title. */
static void add_records(struct strbuf *out, const struct plot *plot)
{
    char length[UNIT_TEXT_SIZE];

    if (!plot_has_few_records(plot))
        return;
    (void)unit_human(UNIT_SECONDS, plot->longest, length);
    if (plot->record_count == 1)
        strbuf_addf(out, " · 1 record of %s", length);
    else
        strbuf_addf(out, " · %zu records of up to %s", plot->record_count, length);
}

static const char *write_details(struct plot *plot, enum plot_details details)
{
    const struct recording *recording = plot->recording;
    struct strbuf text = STRBUF_INIT;
    char wall_text[UNIT_TEXT_SIZE], start[START_SIZE] = "";
    double wall;

    if (recording_number(recording, "wall", &wall) && wall >= 0)
        strbuf_addf(&text, " · %s%s", unit_human(UNIT_SECONDS, wall, wall_text),
                    recording->status == RECORDING_RUNNING ? " so far" : "");
    if (details != PLOT_DETAILS_NO_START)
        write_start(recording, details == PLOT_DETAILS_ALL, start);
    if (start[0])
        strbuf_addf(&text, " · %s", start);
    add_records(&text, plot);
    const char *copy = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return copy;
}

int plot_titles_write(struct plot *plot)
{
    const char *command = recording_text(plot->recording, "command");
    struct strbuf text = STRBUF_INIT;

    command = command ? command : plot->recording->path;
    text_one_line_cut(&text, command, COMMAND_SHOWN);
    plot->command = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_reset(&text);
    add_cause(&text, plot->recording);
    plot->cause = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    for (int i = 0; i < PLOT_DETAILS_COUNT; i++) {
        plot->details[i] = write_details(plot, (enum plot_details)i);
        if (!plot->details[i])
            return -ENOMEM;
    }
    return plot->command && plot->cause ? 0 : -ENOMEM;
}
