/* Below all panels of a terminal: the events, and the axis of time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/plot/screen.h"

static size_t marks_in(const struct screen *screen, const struct plot_marks *marks, size_t column)
{
    const double width = screen->time.high / (double)screen->canvas;
    const double begin = (double)column * width;

    return plot_marks_between(marks, begin, column + 1 == screen->canvas ? INFINITY : begin + width);
}

static const char *const mark_signs[] = {
    [PLOT_MARK_OOM] = "✖", [PLOT_MARK_KILL] = "▼", [PLOT_MARK_SIGNAL] = "▽", [PLOT_MARK_ANOMALY] = "◆"};
static const char *const mark_colors[] = {[PLOT_MARK_OOM] = "1;31",
                                          [PLOT_MARK_KILL] = "31",
                                          [PLOT_MARK_SIGNAL] = "33",
                                          [PLOT_MARK_ANOMALY] = "35",
                                          [PLOT_MARK_SPAWN] = "90"};

static size_t most_spawns(const struct screen *screen, const struct plot_marks *marks)
{
    size_t most = 1;

    for (size_t column = 0; column < screen->canvas; column++) {
        const size_t count = marks_in(screen, marks, column);
        most = count > most ? count : most;
    }
    return most;
}

static void write_event(const struct screen *screen, const struct plot *plot, size_t column, size_t most)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    for (int kind = 0; kind < PLOT_MARK_COUNT; kind++) {
        const size_t count = marks_in(screen, &plot->marks[kind], column);
        if (count == 0)
            continue;
        const double height = sqrt((double)count / (double)most);
        screen_add_colored(screen, mark_colors[kind],
                           kind == PLOT_MARK_SPAWN ? bars[(size_t)fmin(fmax(ceil(height * 8) - 1, 0), 7)]
                                                   : mark_signs[kind]);
        return;
    }
    strbuf_addc(screen->out, ' ');
}

static bool has_event_at(const struct screen *screen, const struct plot *plot, size_t column)
{
    for (size_t i = 0; i < PLOT_MARK_COUNT; i++)
        if (marks_in(screen, &plot->marks[i], column) > 0)
            return true;
    return false;
}

static void fill_legend(struct screen_legend *legend, const struct plot *plot)
{
    char text[96], count[UNIT_TEXT_SIZE];

    legend->column = strlen("events");
    for (int kind = 0; kind < PLOT_MARK_COUNT; kind++) {
        const size_t marks = plot->marks[kind].count;
        if (marks == 0)
            continue;
        (void)snprintf(text, sizeof(text), "%s %s", unit_human(UNIT_COUNT, (double)marks, count),
                       plot_mark_name((enum plot_mark)kind, marks != 1));
        screen_legend_entry(legend, mark_colors[kind], kind == PLOT_MARK_SPAWN ? "▄" : mark_signs[kind],
                            text);
    }
}

void screen_write_events(const struct screen *screen, const struct plot *plot)
{
    struct screen_legend trial = {.screen = screen, .rows = SCREEN_LEGEND_ROWS};
    const size_t most = most_spawns(screen, &plot->marks[PLOT_MARK_SPAWN]);

    if (!plot_has_events(plot))
        return;
    screen_add_colored(screen, "1", "events");
    fill_legend(&trial, plot);
    struct screen_legend legend = {.screen = screen,
                                   .draw = true,
                                   .rows = SCREEN_LEGEND_ROWS,
                                   .kept = trial.left_out ? SCREEN_LEGEND_MORE : 0};
    fill_legend(&legend, plot);
    screen_legend_end(&legend);
    screen_add_blanks(screen->out, screen->gutter);
    size_t used = screen->canvas;
    while (used > 0 && !has_event_at(screen, plot, used - 1))
        used--;
    for (size_t column = 0; column < used; column++)
        write_event(screen, plot, column, most);
    strbuf_addc(screen->out, '\n');
}

static const char *short_unit(const char *unit)
{
    static const char *const units[][2] = {
        {"milliseconds", "ms"}, {"seconds", "s"}, {"minutes", "min"}, {"hours", "h"}, {"days", "d"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(units[i][0], unit) == 0)
            return units[i][1];
    return unit;
}

/* The unit stands behind the first label. */
void screen_write_time(const struct screen *screen)
{
    struct strbuf labels = STRBUF_INIT;
    size_t column = 0, written = 0;
    char label[PLOT_LABEL_SIZE], text[PLOT_LABEL_SIZE + 32];

    screen_begin_color(screen, "90");
    screen_add_blanks(screen->out, screen->gutter - 1);
    strbuf_adds(screen->out, "└");
    for (size_t i = 0; i < screen->time.tick_count; i++) {
        const double place = plot_scale_place(&screen->time, plot_scale_tick(&screen->time, i));
        const size_t at = (size_t)fmin(place * (double)screen->canvas, (double)screen->canvas - 1);
        for (; column < at; column++)
            strbuf_adds(screen->out, "─");
        if (column < screen->canvas)
            strbuf_adds(screen->out, "┬");
        column++;
        const bool first = i == 0;
        (void)snprintf(text, sizeof(text), "%s%s%s", plot_scale_label(&screen->time, i, label),
                       first ? " " : "", first ? short_unit(screen->time.unit) : "");
        /* Centered on its tick, but not past the edge. */
        const size_t width = strlen(text), tick = screen->gutter + at;
        size_t begin = tick > strlen(label) / 2 ? tick - strlen(label) / 2 : 0;
        if (begin + width > screen->columns)
            begin = screen->columns - width;
        if (begin < written + (i > 0))
            begin = written + (i > 0);
        if (begin + width > screen->columns)
            continue;
        screen_add_blanks(&labels, begin - written);
        strbuf_adds(&labels, text);
        written = begin + width;
    }
    for (; column < screen->canvas; column++)
        strbuf_adds(screen->out, "─");
    strbuf_addc(screen->out, '\n');
    strbuf_adds(screen->out, strbuf_text(&labels));
    screen_end_color(screen, "90");
    strbuf_addc(screen->out, '\n');
    strbuf_fini_part(&labels, screen->out);
}
