#include "view/plot/plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "view/command_line.h"
#include "view/plot/choice.h"

#define SUBJECT_SHOWN ((size_t)41) /* columns */

/* A level that far above all that was used would press the lines to the floor: it is told in words. */
static const double level_reach = 2.0;
static const double headroom = 1.06;
static const double peak_apart = 1.02; /* less cannot be seen */

bool plot_has_events(const struct plot *plot)
{
    for (size_t i = 0; i < PLOT_MARK_COUNT; i++)
        if (plot->marks[i].count > 0)
            return true;
    return false;
}

bool plot_has_few_records(const struct plot *plot)
{
    return plot->record_count > 0 && plot->record_count < PLOT_FEW_RECORDS;
}

int plot_init(struct plot *plot, const struct recording *recording, const struct plot_wish *wish,
              struct metron_error *error)
{
    *plot = (struct plot){.recording = recording};
    return plot_choose(plot, wish, error);
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

    if (!(end >= begin) || !(end < PLOT_TIME_MAX)) {
        plot->disordered++;
        return 0;
    }
    for (size_t i = 0; code == 0 && i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        const double since = value->span > 0 ? fmax(0, end - value->span) : begin;
        if (value->key >= plot->recording->key_count)
            continue;
        for (const struct plot_sink *sink = plot->sinks[value->key]; sink && code == 0; sink = sink->next)
            code = sink_value(sink, value, since, end);
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

/* "4711 python3 train.py" */
static const char *subject_label(struct plot *plot, const struct recorded_key *key,
                                 const struct plot_subject *subject)
{
    struct strbuf text = STRBUF_INIT;

    if (key->scope == SCOPE_PER_DEVICE)
        strbuf_addf(&text, "%s ", key->source);
    text_printable(&text, subject->name, strlen(subject->name));
    if (subject->command) {
        struct strbuf line = STRBUF_INIT;
        text_one_line(&line, subject->command, strlen(subject->command));
        strbuf_addc(&text, ' ');
        (void)command_fit(&text, strbuf_text(&line), line.length, SUBJECT_SHOWN, false);
        strbuf_fini_part(&line, &text);
    }
    const char *label = text.failed ? NULL : arena_strdup(&plot->arena, strbuf_text(&text));
    strbuf_fini(&text);
    return label;
}

/* "the 7 largest of 45 processes" */
static const char *selection_of(struct plot *plot, const struct plot_group *group, size_t shown)
{
    const char *what = group->key->scope == SCOPE_PER_DEVICE ? "devices" : "processes";
    const size_t all = group->subjects.seen_count;
    char count[UNIT_TEXT_SIZE];

    if (shown == all)
        return arena_printf(&plot->arena, "%zu %s", all, what);
    return arena_printf(&plot->arena, "the %zu largest of %s %s", shown,
                        unit_human(UNIT_COUNT, (double)all, count), what);
}

/* The largest processes of a group become lines. */
static int show_subjects(struct plot *plot, struct plot_panel *panel, struct plot_group *group, bool alone,
                         size_t *shown)
{
    struct plot_subjects *subjects = &group->subjects;

    plot_subjects_sort(subjects);
    for (; *shown < subjects->count && *shown < PLOT_SHOWN_MAX && panel->line_count < PLOT_LINES_MAX;
         ++*shown) {
        struct plot_subject *subject = &subjects->followed[*shown];
        struct plot_line *line = &panel->lines[panel->line_count++];
        *line = (struct plot_line){.role = alone ? PLOT_MAIN : PLOT_SUBJECT,
                                   .color = alone ? (unsigned)*shown : group->color,
                                   .series = subject->series};
        subject->series = (struct plot_series){0};
        line->series.hold = 0; /* nobody knows whether it is there after its last reading */
        if (alone) {
            line->label = subject_label(plot, group->key, subject);
            if (!line->label)
                return -ENOMEM;
        }
    }
    return 0;
}

/* Those of a panel that has nothing else have names of their own, and then the panel says how many there are.
 * Else one alone says nothing that its total does not. */
static int show_group(struct plot *plot, struct plot_panel *panel, struct plot_group *group, bool alone)
{
    const struct plot_subjects *subjects = &group->subjects;
    size_t shown = 0;

    if (subjects->count == 0 || (subjects->count == 1 && !alone && panel->line_count > 0))
        return 0;
    int code = show_subjects(plot, panel, group, alone, &shown);
    const char *selection = code == 0 ? selection_of(plot, group, shown) : NULL;
    if (!selection)
        return -ENOMEM;
    if (alone) {
        panel->title = group->name;
        panel->note = shown < subjects->seen_count ? selection : NULL;
        return 0;
    }
    group->label = arena_printf(&plot->arena, "%s of %s%s", group->name, selection,
                                group->key->reduce == REDUCE_MAX ? ", each at its own peak" : "");
    return group->label ? 0 : -ENOMEM;
}

/* A legend names no line that nobody can find: a mean without values is not named, another says so. */
static int name_empty_lines(struct plot *plot, struct plot_panel *panel)
{
    for (size_t i = 0; i < panel->line_count; i++) {
        struct plot_line *line = &panel->lines[i];
        if (line->series.count > 0 || !line->label)
            continue;
        const bool is_mean = line->role == PLOT_MEAN;
        line->label = is_mean ? NULL : arena_printf(&plot->arena, "%s: no values", line->label);
        if (!line->label && !is_mean)
            return -ENOMEM;
    }
    return 0;
}

/* A source that is not read at every sample: its newest reading is shown until the next one, and so it is
 * said. */
static int hold_values(struct plot *plot, struct plot_panel *panel)
{
    for (size_t i = 0; i < panel->line_count; i++) {
        struct plot_line *line = &panel->lines[i];
        if (plot_series_hold(&line->series, plot->end) < 0)
            return -ENOMEM;
        if (!line->series.held || !line->label || line->role == PLOT_MEAN)
            continue;
        line->label = arena_printf(&plot->arena, "%s, held between readings", line->label);
        if (!line->label)
            return -ENOMEM;
    }
    return 0;
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

/* con-duct has no rates: they are derived, from whole seconds, which short processes do not reach. */
static const char *why_empty(const struct plot *plot, const struct plot_panel *panel)
{
    static const char rate[] = "total_pcpu_rate";

    for (size_t i = 0; plot->recording->kind == RECORDING_DUCT && i < panel->line_count; i++)
        if (panel->lines[i].series.count == 0 && panel->lines[i].label &&
            strncmp(panel->lines[i].label, rate, strlen(rate)) == 0)
            return "processes too short for a rate; --cpu ps-pcpu draws ps's averages";
    return panel->has_values ? NULL : "no values were recorded";
}

int plot_finish(struct plot *plot)
{
    double wall = 0;
    int code = 0;

    plot->end = plot->previous;
    if (plot->recording->status == RECORDING_ENDED && recording_number(plot->recording, "wall", &wall) &&
        wall < PLOT_TIME_MAX)
        plot->end = fmax(plot->end, wall);
    if (!(plot->end > 0))
        plot->end = 1;
    for (size_t i = 0; i < plot->panel_count; i++) {
        struct plot_panel *panel = plot->panels[i];
        const bool alone = panel->line_count == 0 && panel->group_count == 1;
        for (size_t j = 0; code == 0 && j < panel->group_count; j++)
            code = show_group(plot, panel, &panel->groups[j], alone);
        if (code == 0)
            code = hold_values(plot, panel);
        if (code == 0 && plot_has_few_records(plot))
            code = find_bands(plot, panel);
        find_range(panel);
        panel->empty = why_empty(plot, panel);
        if (code == 0 && panel->has_values)
            code = name_empty_lines(plot, panel);
    }
    return code == 0 ? plot_titles_write(plot) : code;
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
