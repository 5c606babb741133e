#include "view/plot/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "store/recording/event_reader.h"
#include "store/recording/usage_reader.h"
#include "view/plot/choice.h"

#define COMMAND_SHOWN ((size_t)1000) /* bytes */
#define SUBJECT_SHOWN ((size_t)40)
#define TIME_MAX      1e12 /* seconds */

/* A level that far above all that was used would press the lines to the floor: it is told in words. */
static const double level_reach = 2.0;
static const double headroom = 1.06;
static const double peak_apart = 1.02; /* less cannot be seen */

bool plot_damage(const struct plot *plot, size_t index, struct metron_error *out)
{
    const struct {
        const char *path;
        size_t count, first;
    } files[] = {{plot->recording->usage_path, plot->damaged_usage, plot->first_damaged_usage},
                 {plot->recording->events_path, plot->damaged_events, plot->first_damaged_event}};

    for (size_t i = 0; i < 2; i++)
        if (files[i].count > 0 && index-- == 0) {
            (void)error_set(out, -EBADMSG, "%s: %zu damaged line%s passed over, the first in line %zu",
                            files[i].path, files[i].count, files[i].count == 1 ? "" : "s", files[i].first);
            return true;
        }
    if (plot->disordered > 0 && index == 0) {
        (void)error_set(out, -EBADMSG, "%s: %zu record%s left out: the time in them goes back",
                        plot->recording->usage_path, plot->disordered, plot->disordered == 1 ? "" : "s");
        return true;
    }
    return false;
}

bool plot_advice(const struct plot *plot, struct metron_error *out)
{
    static const double steps[] = {1, 2, 5, 10, 30, 60};
    /* Shorter than the default sample interval: that has to change as well. */
    const bool is_short = plot->end < PLOT_FEW_RECORDS;
    size_t step = 0;

    while (step + 1 < sizeof(steps) / sizeof(steps[0]) && plot->end / steps[step] > 300)
        step++;
    const double interval = is_short ? 0.2 : steps[step];
    if (plot->recording->kind != RECORDING_METRON || plot->record_count >= PLOT_FEW_RECORDS ||
        plot->longest < 4 * interval)
        return false;
    (void)error_set(out, 0, "only %zu record%s: metron run %s--report-interval %g records more often",
                    plot->record_count, plot->record_count == 1 ? "" : "s",
                    is_short ? "--sample-interval 0.1 " : "", interval);
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

bool plot_has_events(const struct plot *plot)
{
    for (size_t i = 0; i < PLOT_MARK_COUNT; i++)
        if (plot->marks[i].count > 0)
            return true;
    return false;
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
    const char *cause = recording_text(recording, "cause");
    double exit_code;

    if (recording->status == RECORDING_RUNNING)
        strbuf_adds(out, "still running");
    else if (recording->status == RECORDING_LOST)
        strbuf_adds(out, "lost: its recorder ended before it could tell how it went");
    else if (cause)
        text_printable(out, cause, strlen(cause));
    else if (recording_number(recording, "exit_code", &exit_code))
        strbuf_addf(out, "exited with code %.0f", exit_code);
    else
        strbuf_adds(out, "ended");
}

static void add_start(struct strbuf *out, const struct recording *recording)
{
    const char *written = recording_text(recording, "start_time");
    const time_t seconds = (time_t)recording->start_wall;
    struct tm parts;
    char text[32];

    /* As it was written, in the time zone of the machine that ran it; con-duct writes unix seconds. */
    if (written && recording->start_wall > 0) /* it could be read, so it looks like 2026-11-15T18:21:18 */
        strbuf_addf(out, " · %.10s %.8s", written, written + 11);
    else if (recording->start_wall > 0 && gmtime_r(&seconds, &parts) &&
             strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) > 0)
        strbuf_addf(out, " · %s", text);
}

/* A title has no lines: what ends one, and the indent of the next, is one blank. */
static void add_one_line(struct strbuf *out, const char *command)
{
    const size_t length = text_cut(command, COMMAND_SHOWN);

    for (size_t i = 0; i < length;) {
        const size_t blanks = strspn(command + i, " \t\n\r");
        const size_t word = strcspn(command + i + blanks, " \t\n\r");
        if (blanks > 0 && out->length > 0)
            strbuf_addc(out, ' ');
        i += blanks;
        if (i >= length)
            break;
        text_printable(out, command + i, i + word > length ? length - i : word);
        i += word;
    }
}

static bool has_few_records(const struct plot *plot)
{
    return plot->record_count > 0 && plot->record_count < PLOT_FEW_RECORDS;
}

/* Few records draw as long flat steps: how long each is stands in the title. */
static int write_records(struct plot *plot)
{
    char length[UNIT_TEXT_SIZE];

    if (!has_few_records(plot))
        return 0;
    (void)unit_human(UNIT_SECONDS, plot->longest, length);
    plot->records = plot->record_count == 1 ? arena_printf(&plot->arena, "1 record of %s", length)
                                            : arena_printf(&plot->arena, "%zu records, up to %s each",
                                                           plot->record_count, length);
    return plot->records ? 0 : -ENOMEM;
}

static int write_outcome(struct plot *plot)
{
    const struct recording *recording = plot->recording;
    struct strbuf text = STRBUF_INIT;
    char wall_text[UNIT_TEXT_SIZE];
    double wall;

    add_cause(&text, recording);
    if (recording_number(recording, "wall", &wall) && wall >= 0)
        strbuf_addf(&text, " · %s%s", unit_human(UNIT_SECONDS, wall, wall_text),
                    recording->status == RECORDING_RUNNING ? " so far" : "");
    add_start(&text, recording);
    plot->outcome = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return plot->outcome ? 0 : -ENOMEM;
}

static int write_titles(struct plot *plot)
{
    const char *command = recording_text(plot->recording, "command");
    struct strbuf text = STRBUF_INIT;

    add_one_line(&text, command ? command : plot->recording->path);
    plot->command = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return plot->command ? write_outcome(plot) : -ENOMEM;
}

int plot_init(struct plot *plot, const struct recording *recording, const struct plot_wish *wish,
              struct metron_error *error)
{
    *plot = (struct plot){.recording = recording};
    int code = plot_choose(plot, wish, error);
    if (code == 0 && write_titles(plot) < 0)
        code = error_set(error, -ENOMEM, "out of memory");
    return code;
}

static int sink_value(const struct plot_sink *sink, const struct usage_value *value, double begin, double end)
{
    const bool per_second = sink->line ? sink->line->per_second : sink->group->per_second;
    double number = value->number;

    if (sink->command) {
        if (value->kind == FIELD_TEXT && value->subject)
            plot_subjects_name(&sink->group->subjects, value->subject, value->text);
        return 0;
    }
    if (value->kind != FIELD_NUMBER || !isfinite(number))
        return 0;
    if (per_second && !(end > begin))
        return 0;
    if (per_second)
        number *= 100 / (end - begin);
    if (sink->line)
        return value->subject ? 0 : plot_series_add(&sink->line->series, begin, end, number);
    return value->subject ? plot_subjects_add(&sink->group->subjects, value->subject, begin, end, number) : 0;
}

int plot_add_record(struct plot *plot, const struct usage_record *record)
{
    const double begin = plot->previous, end = record->elapsed;
    int code = 0;

    if (!(end >= begin) || !(end < TIME_MAX)) {
        plot->disordered++;
        return 0;
    }
    for (size_t i = 0; code == 0 && i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        if (value->key >= plot->recording->key_count)
            continue;
        for (const struct plot_sink *sink = plot->sinks[value->key]; sink && code == 0; sink = sink->next)
            code = sink_value(sink, value, begin, end);
    }
    plot->longest = fmax(plot->longest, end - begin);
    plot->previous = end;
    plot->record_count++;
    return code;
}

int plot_add_event(struct plot *plot, const struct recorded_event *event)
{
    static const char *const types[] = {[PLOT_MARK_OOM] = "oom",
                                        [PLOT_MARK_KILL] = "kill",
                                        [PLOT_MARK_SIGNAL] = "signal",
                                        [PLOT_MARK_ANOMALY] = "monitor.anomaly",
                                        [PLOT_MARK_SPAWN] = "spawn"};

    if (!event->type || !(plot->recording->start_wall > 0))
        return 0;
    for (size_t i = 0; i < PLOT_MARK_COUNT; i++)
        if (strcmp(event->type, types[i]) == 0)
            return plot_marks_add(&plot->marks[i], event->wall - plot->recording->start_wall);
    return 0;
}

static int read_events(struct plot *plot, struct metron_error *error)
{
    struct event_reader *reader = NULL;
    const struct recorded_event *event;

    if (!plot->recording->events_path)
        return 0;
    int code = event_reader_open(plot->recording, &reader, error);
    if (code == -ENOENT)
        return 0;
    while (code >= 0) {
        code = event_reader_next(reader, &event);
        if (code <= 0)
            break;
        code = plot_add_event(plot, event);
    }
    if (code < 0 && !(error && error->message[0]))
        (void)error_set(error, code, "%s: %s", plot->recording->events_path, strerror(-code));
    if (reader)
        plot->damaged_events = event_reader_damaged(reader, &plot->first_damaged_event);
    event_reader_free(reader);
    return code < 0 ? code : 0;
}

static int read_usage(struct plot *plot, struct metron_error *error)
{
    struct usage_reader *reader = NULL;
    const struct usage_record *record;
    int code = usage_reader_open(plot->recording, plot->wanted, &reader, error);

    while (code >= 0) {
        code = usage_reader_next(reader, &record);
        if (code <= 0)
            break;
        code = plot_add_record(plot, record);
    }
    if (code < 0 && !(error && error->message[0]))
        (void)error_set(error, code, "%s: %s", plot->recording->usage_path, strerror(-code));
    if (reader)
        plot->damaged_usage = usage_reader_damaged(reader, &plot->first_damaged_usage);
    usage_reader_free(reader);
    return code < 0 ? code : 0;
}

int plot_read(struct plot *plot, struct metron_error *error)
{
    int code = read_usage(plot, error);

    if (code == 0 && plot->record_count == 0 && plot->damaged_usage > 0)
        code = error_set(error, -EBADMSG,
                         "%s: %zu damaged line%s (the first is line %zu) and no whole record, so there is "
                         "nothing to draw",
                         plot->recording->usage_path, plot->damaged_usage,
                         plot->damaged_usage == 1 ? "" : "s", plot->first_damaged_usage);
    else if (code == 0 && plot->record_count == 0)
        code = error_set(error, -ENODATA, "%s: the run has no records, so there is nothing to draw",
                         plot->recording->usage_path);
    return code == 0 ? read_events(plot, error) : code;
}

/* "4711 python3 train.py" */
static const char *subject_label(struct plot *plot, const struct plot_subject *subject)
{
    struct strbuf text = STRBUF_INIT;

    text_printable(&text, subject->name, strlen(subject->name));
    if (subject->command) {
        const size_t length = text_cut(subject->command, SUBJECT_SHOWN);
        strbuf_addc(&text, ' ');
        text_printable(&text, subject->command, length);
        if (subject->command[length])
            strbuf_adds(&text, "…");
    }
    const char *label = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return label;
}

static const char *group_label(struct plot *plot, const struct plot_group *group, size_t shown)
{
    const size_t all = group->subjects.seen_count;
    const bool devices = group->key->scope == SCOPE_PER_DEVICE;
    const char *what = devices ? "devices" : "processes";
    const char *peaks = group->key->reduce == REDUCE_MAX ? ", each at its own peak" : "";
    char count[UNIT_TEXT_SIZE];

    if (shown == all)
        return arena_printf(&plot->arena, "%s of %zu %s%s", group->name, all, what, peaks);
    return arena_printf(&plot->arena, "%s of the %zu largest of %s %s%s", group->name, shown,
                        unit_human(UNIT_COUNT, (double)all, count), what, peaks);
}

/* The largest processes of a group become lines. One alone says nothing that its total does not. */
static int show_group(struct plot *plot, struct plot_panel *panel, struct plot_group *group, bool alone)
{
    struct plot_subjects *subjects = &group->subjects;
    size_t shown = 0;

    if (subjects->count == 0 || (subjects->count == 1 && !alone && panel->line_count > 0))
        return 0;
    plot_subjects_sort(subjects);
    for (; shown < subjects->count && shown < PLOT_SHOWN_MAX && panel->line_count < PLOT_LINES_MAX; shown++) {
        struct plot_subject *subject = &subjects->followed[shown];
        struct plot_line *line = &panel->lines[panel->line_count++];
        *line = (struct plot_line){.role = alone ? PLOT_MAIN : PLOT_SUBJECT,
                                   .color = alone ? (unsigned)shown : group->color,
                                   .series = subject->series};
        subject->series = (struct plot_series){0};
        if (alone) {
            line->label = subject_label(plot, subject);
            if (!line->label)
                return -ENOMEM;
        }
    }
    if (alone)
        panel->title = group->name;
    if (alone && shown == subjects->seen_count)
        return 0; /* each has its own label */
    group->label = group_label(plot, group, shown);
    return group->label ? 0 : -ENOMEM;
}

/* With few records a step of the highest value would pass for what was used all the time. */
static int find_bands(struct plot *plot, struct plot_panel *panel)
{
    for (size_t i = 0; i < panel->line_count; i++) {
        struct plot_line *line = &panel->lines[i];
        struct plot_line *mean = line->mean;
        if (!mean || line->series.count == 0 || mean->series.count == 0)
            continue;
        line->banded = mean->banded = true;
        mean->label = "its mean";
        line->label = arena_printf(&plot->arena, "%s, highest in each record", line->label);
        if (!line->label)
            return -ENOMEM;
    }
    return 0;
}

/* What a method without a line says is shown where the line of the panel stays below it. */
static void drop_low_peaks(struct plot_panel *panel)
{
    size_t kept = 0;

    for (size_t i = 0; i < panel->level_count; i++) {
        const struct plot_series *series = &panel->lines[0].series;
        const bool told =
            panel->line_count > 0 && series->count > 0 && panel->levels[i].value <= series->high * peak_apart;
        if (panel->levels[i].kind != PLOT_PEAK || !told)
            panel->levels[kept++] = panel->levels[i];
    }
    panel->level_count = kept;
}

/* A level near what was used widens the panel; one far away is told. */
static void find_range(struct plot_panel *panel)
{
    double high = 0;

    drop_low_peaks(panel);
    for (size_t i = 0; i < panel->level_count; i++)
        if (panel->levels[i].kind == PLOT_PEAK)
            high = fmax(high, panel->levels[i].value);

    for (size_t i = 0; i < panel->line_count; i++) {
        const struct plot_series *series = &panel->lines[i].series;
        if (series->count == 0)
            continue;
        panel->has_values = true;
        panel->low = fmin(panel->low, series->low);
        high = fmax(high, series->high);
    }
    panel->high = high;
    for (size_t i = 0; i < panel->level_count; i++) {
        struct plot_level *level = &panel->levels[i];
        level->off_scale = !(level->value <= high * level_reach);
        if (!level->off_scale)
            panel->high = fmax(panel->high, level->value);
    }
    panel->high *= headroom;
    panel->low *= headroom;
    if (!(panel->high > panel->low))
        panel->high = panel->low + 1;
}

int plot_finish(struct plot *plot)
{
    double wall = 0;
    int code = 0;

    plot->end = plot->previous;
    if (plot->recording->status == RECORDING_ENDED && recording_number(plot->recording, "wall", &wall) &&
        wall < TIME_MAX)
        plot->end = fmax(plot->end, wall);
    if (!(plot->end > 0))
        plot->end = 1;
    for (size_t i = 0; i < plot->panel_count; i++) {
        struct plot_panel *panel = plot->panels[i];
        const bool alone = panel->line_count == 0 && panel->group_count == 1;
        for (size_t j = 0; code == 0 && j < panel->group_count; j++)
            code = show_group(plot, panel, &panel->groups[j], alone);
        if (code == 0 && has_few_records(plot))
            code = find_bands(plot, panel);
        find_range(panel);
    }
    return code == 0 ? write_records(plot) : code;
}

void plot_fini(struct plot *plot)
{
    for (size_t i = 0; i < plot->panel_count; i++) {
        struct plot_panel *panel = plot->panels[i];
        for (size_t j = 0; j < panel->line_count; j++)
            plot_series_fini(&panel->lines[j].series);
        for (size_t j = 0; j < panel->group_count; j++)
            plot_subjects_fini(&panel->groups[j].subjects);
    }
    for (size_t i = 0; i < PLOT_MARK_COUNT; i++)
        plot_marks_fini(&plot->marks[i]);
    arena_fini(&plot->arena);
    *plot = (struct plot){0};
}
