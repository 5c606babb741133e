/*
 * The screen, from the top: the command, how it ended, then for each panel its legend and its lines with the
 * values at their left, the events, and the time. Without colours faint cannot be told from bold: then only
 * the main lines are drawn, and those beside them with gaps; several main lines have letters.
 */
#include "view/plot/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "view/plot/ascii.h"
#include "view/plot/screen.h"
#include "view/text_width.h"

#define LEGEND_ROWS_MOST 3
#define LEGEND_MORE      4 /* columns of " +12" */
#define PANEL_ROWS_LEAST 3
#define COLUMNS_LEAST    30
#define GUTTER_MOST      12

const char *screen_line_color(unsigned index)
{
    static const char *const colors[PLOT_COLOR_COUNT] = {"36", "32", "33", "35", "34", "31", "37"};

    return colors[index % PLOT_COLOR_COUNT];
}

void screen_begin_color(const struct screen *screen, const char *code)
{
    if (screen->colors && code)
        strbuf_addf(screen->out, "\033[%sm", code);
}

void screen_end_color(const struct screen *screen, const char *code)
{
    if (screen->colors && code)
        strbuf_adds(screen->out, "\033[0m");
}

static size_t columns_of(const char *text)
{
    return text_width(text, strlen(text));
}

/* Returns the columns it took. */
static size_t add_cut(struct strbuf *out, const char *text, size_t most)
{
    if (columns_of(text) <= most) {
        strbuf_adds(out, text);
        return columns_of(text);
    }
    if (most == 0)
        return 0;
    const size_t head = text_head(text, strlen(text), most - 1);
    strbuf_add(out, text, head);
    strbuf_adds(out, "…");
    return text_width(text, head) + 1;
}

bool screen_shows(const struct screen *screen, enum plot_role role)
{
    return screen->colors || role == PLOT_MAIN || role == PLOT_BESIDE;
}

bool screen_shows_line(const struct screen *screen, const struct plot_line *line)
{
    return line->banded || screen_shows(screen, line->role);
}

static size_t count_mains(const struct plot_panel *panel)
{
    size_t count = 0;

    for (size_t i = 0; i < panel->line_count; i++)
        count += panel->lines[i].role == PLOT_MAIN;
    return count;
}

char screen_letter(const struct plot_panel *panel, const struct plot_line *line)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t index = 0;

    if (line->role != PLOT_MAIN || count_mains(panel) < 2)
        return '\0';
    for (const struct plot_line *other = panel->lines; other < line; other++)
        index += other->role == PLOT_MAIN;
    return index < sizeof(letters) - 1 ? letters[index] : '\0';
}

char screen_ascii_line(enum plot_role role, bool banded)
{
    static const char signs[] = {
        [PLOT_MAIN] = '*', [PLOT_BESIDE] = 'o', [PLOT_MEAN] = '-', [PLOT_SUBJECT] = '.'};
    return banded && role == PLOT_MEAN ? '*' : banded ? '-' : signs[role];
}

static void add_blanks(struct strbuf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addc(out, ' ');
}

/* ---- legend ---- */

/* Entries side by side, in rows; with `draw` they are written, else only counted. */
struct legend {
    const struct screen *screen;
    bool draw;
    size_t column, rows;
    size_t kept; /* columns at the end of the last row, to tell how many more there are */
    size_t left_out;
};

static void legend_entry(struct legend *legend, const char *color, const char *sign, const char *text)
{
    const struct screen *screen = legend->screen;
    const size_t width = columns_of(sign) + 1 + columns_of(text);
    size_t columns = screen->columns - (legend->rows == LEGEND_ROWS_MOST ? legend->kept : 0);

    if (legend->left_out > 0 || (legend->column > 0 && legend->column + 2 + width > columns)) {
        if (legend->rows == LEGEND_ROWS_MOST) {
            legend->left_out++;
            return;
        }
        legend->rows++;
        legend->column = 0;
        columns = screen->columns - (legend->rows == LEGEND_ROWS_MOST ? legend->kept : 0);
        if (legend->draw)
            strbuf_addc(screen->out, '\n');
    }
    const size_t gap = legend->column > 0 ? 2 : 0;
    const size_t room = columns - legend->column - gap;
    if (legend->draw) {
        add_blanks(screen->out, gap);
        screen_begin_color(screen, color);
        strbuf_adds(screen->out, sign);
        screen_end_color(screen, color);
        strbuf_addc(screen->out, ' ');
        (void)add_cut(screen->out, text, room - columns_of(sign) - 1);
    }
    legend->column += gap + (width < room ? width : room);
}

static void legend_end(const struct legend *legend)
{
    if (legend->draw && legend->left_out > 0)
        strbuf_addf(legend->screen->out, " +%zu", legend->left_out);
    if (legend->draw)
        strbuf_addc(legend->screen->out, '\n');
}

#define SIGN_SIZE 16

/* A piece of the line: "⠶⠶"; of one with a letter "⠶a". */
static const char *sign_of(const struct screen *screen, enum plot_role role, bool banded, char letter,
                           char out[SIGN_SIZE])
{
    static const char *const signs[] = {
        [PLOT_MAIN] = "⠶⠶", [PLOT_BESIDE] = "⠒⠂", [PLOT_MEAN] = "⠒⠒", [PLOT_SUBJECT] = "⠂⠂"};
    const char piece = screen_ascii_line(role, banded);
    const char *sign = !banded ? signs[role] : role == PLOT_MEAN ? "⠶⠶" : "⡏⠉";

    if (screen->ascii)
        (void)snprintf(out, SIGN_SIZE, "%c%c", piece, letter ? letter : piece);
    else if (letter)
        (void)snprintf(out, SIGN_SIZE, "%.3s%c", sign, letter); /* a braille pattern has three bytes */
    else
        (void)snprintf(out, SIGN_SIZE, "%s", sign);
    return out;
}

static void legend_title(struct legend *legend, const struct plot_panel *panel,
                         const struct plot_scale *values)
{
    char text[PLOT_TITLE_SIZE];

    (void)plot_panel_title(panel, values->unit, text);
    if (legend->draw) {
        screen_begin_color(legend->screen, "1");
        (void)add_cut(legend->screen->out, text, legend->screen->columns);
        screen_end_color(legend->screen, "1");
    }
    legend->column = columns_of(text);
}

/* Lines that have letters should all be named: each gets its share of the rows. */
static size_t most_of_label(const struct screen *screen, const struct plot_panel *panel)
{
    const size_t mains = count_mains(panel);
    const size_t beside = mains < 2 ? 1 : mains < (size_t)2 * LEGEND_ROWS_MOST ? 2 : 3;

    return (screen->columns - (beside > 1 ? LEGEND_MORE : 0)) / beside - (beside > 1 ? 5 : 0);
}

static void legend_lines(struct legend *legend, const struct plot_panel *panel, enum plot_role role)
{
    const struct screen *screen = legend->screen;
    const size_t most = most_of_label(screen, panel);
    struct strbuf label = STRBUF_INIT;
    char sign[SIGN_SIZE];

    for (size_t i = 0; i < panel->line_count; i++) {
        const struct plot_line *line = &panel->lines[i];
        const char letter = screen_letter(panel, line);
        if (line->role != role || !line->label || !screen_shows_line(screen, line) ||
            (line->banded && role == PLOT_MEAN))
            continue;
        strbuf_reset(&label);
        (void)add_cut(&label, line->label, letter ? most : SIZE_MAX);
        legend_entry(legend, screen_line_color(line->color),
                     sign_of(screen, role, line->banded, letter, sign), strbuf_text(&label));
        screen->out->failed = screen->out->failed || label.failed;
        if (line->banded)
            legend_entry(legend, screen_line_color(line->color), sign_of(screen, PLOT_MEAN, true, '\0', sign),
                         line->mean->label);
    }
    strbuf_fini(&label);
}

/* The most important first: what comes last may find no room. */
static void fill_legend(struct legend *legend, const struct plot_panel *panel,
                        const struct plot_scale *values)
{
    static const char *const colors[] = {[PLOT_LIMIT] = "31", [PLOT_HOST] = "90", [PLOT_PEAK] = "1"};
    char text[192], sign[SIGN_SIZE];

    legend_title(legend, panel, values);
    legend_lines(legend, panel, PLOT_MAIN);
    legend_lines(legend, panel, PLOT_BESIDE);
    for (size_t i = 0; i < panel->level_count; i++) {
        const struct plot_level *level = &panel->levels[i];
        (void)snprintf(text, sizeof(text), "%s%s", level->label, level->off_scale ? " (off scale)" : "");
        legend_entry(legend, colors[level->kind],
                     level->off_scale           ? "↑"
                     : level->kind == PLOT_PEAK ? "┈┈"
                                                : "╌╌",
                     text);
    }
    legend_lines(legend, panel, PLOT_MEAN);
    for (size_t i = 0; i < panel->group_count; i++)
        if (panel->groups[i].label && screen_shows(legend->screen, PLOT_SUBJECT))
            legend_entry(legend, screen_line_color(panel->groups[i].color),
                         sign_of(legend->screen, PLOT_SUBJECT, false, '\0', sign), panel->groups[i].label);
}

/* Returns the rows it takes, at most LEGEND_ROWS_MOST. */
static size_t run_legend(const struct screen *screen, const struct plot_panel *panel,
                         const struct plot_scale *values, bool draw)
{
    struct legend trial = {.screen = screen, .rows = 1};

    fill_legend(&trial, panel, values);
    if (draw) {
        struct legend legend = {
            .screen = screen, .draw = true, .rows = 1, .kept = trial.left_out ? LEGEND_MORE : 0};
        fill_legend(&legend, panel, values);
        legend_end(&legend);
    }
    return trial.rows;
}

/* ---- events and time ---- */

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
        screen_begin_color(screen, mark_colors[kind]);
        strbuf_adds(screen->out, kind == PLOT_MARK_SPAWN
                                     ? bars[(size_t)fmin(fmax(ceil(height * 8) - 1, 0), 7)]
                                     : mark_signs[kind]);
        screen_end_color(screen, mark_colors[kind]);
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

static void write_events(const struct screen *screen, const struct plot *plot)
{
    struct legend legend = {.screen = screen, .draw = true, .rows = LEGEND_ROWS_MOST};
    const size_t most = most_spawns(screen, &plot->marks[PLOT_MARK_SPAWN]);
    char text[96], count[UNIT_TEXT_SIZE];

    if (!plot_has_events(plot))
        return;
    screen_begin_color(screen, "1");
    strbuf_adds(screen->out, "events");
    screen_end_color(screen, "1");
    legend.column = strlen("events");
    for (int kind = 0; kind < PLOT_MARK_COUNT; kind++) {
        const size_t marks = plot->marks[kind].count;
        if (marks == 0)
            continue;
        (void)snprintf(text, sizeof(text), "%s %s", unit_human(UNIT_COUNT, (double)marks, count),
                       plot_mark_name((enum plot_mark)kind, marks != 1));
        legend_entry(&legend, mark_colors[kind], kind == PLOT_MARK_SPAWN ? "▄" : mark_signs[kind], text);
    }
    legend_end(&legend);
    add_blanks(screen->out, screen->gutter);
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

/* The axis with its ticks, and below them the labels; the unit stands behind the first one. */
static void write_time(const struct screen *screen)
{
    struct strbuf labels = STRBUF_INIT;
    size_t column = 0, written = 0;
    char label[PLOT_LABEL_SIZE], text[PLOT_LABEL_SIZE + 32];

    screen_begin_color(screen, "90");
    add_blanks(screen->out, screen->gutter - 1);
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
        add_blanks(&labels, begin - written);
        strbuf_adds(&labels, text);
        written = begin + width;
    }
    for (; column < screen->canvas; column++)
        strbuf_adds(screen->out, "─");
    strbuf_addc(screen->out, '\n');
    strbuf_adds(screen->out, strbuf_text(&labels));
    screen_end_color(screen, "90");
    strbuf_addc(screen->out, '\n');
    screen->out->failed = screen->out->failed || labels.failed;
    strbuf_fini(&labels);
}

/* ---- the screen ---- */

static void place_axes(struct screen *screen, const struct plot *plot, const struct plot_scale *values)
{
    size_t widest = 1;
    char label[PLOT_LABEL_SIZE];

    for (size_t i = 0; i < plot->panel_count; i++)
        for (size_t j = 0; j < values[i].tick_count; j++) {
            const size_t width = strlen(plot_scale_label(&values[i], j, label));
            widest = width > widest ? width : widest;
        }
    screen->gutter = (widest < GUTTER_MOST ? widest : GUTTER_MOST) + 2;
    screen->canvas = screen->columns - screen->gutter;
    plot_scale_init(&screen->time, UNIT_SECONDS, 0, plot->end, screen->canvas / 12);
}

/* How many records there are is not cut. */
static void write_outcome(const struct screen *screen, const struct plot *plot)
{
    static const char between[] = " · ";
    const size_t kept = plot->records ? columns_of(between) + columns_of(plot->records) : 0;

    (void)add_cut(screen->out, plot->outcome, screen->columns > kept ? screen->columns - kept : 0);
    if (plot->records && screen->columns > kept) {
        strbuf_adds(screen->out, between);
        strbuf_adds(screen->out, plot->records);
    }
    strbuf_addc(screen->out, '\n');
}

int plot_terminal_draw(const struct plot *plot, const struct plot_terminal *terminal, struct strbuf *out,
                       struct metron_error *error)
{
    const unsigned columns = terminal->columns, rows = terminal->rows;
    const size_t begin = out->length;
    struct screen screen = {.out = out,
                            .columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns,
                            .colors = terminal->colors,
                            .ascii = terminal->ascii};
    struct plot_scale values[PLOT_PANELS_MAX];
    size_t needed = 4 + (plot_has_events(plot) ? 2 : 0); /* titles, time */
    int code = 0;

    for (size_t i = 0; i < plot->panel_count; i++)
        plot_scale_init(&values[i], plot->panels[i]->unit, plot->panels[i]->low, plot->panels[i]->high,
                        rows / plot->panel_count / 4 + 1);
    for (size_t i = 0; i < plot->panel_count; i++)
        needed += run_legend(&screen, plot->panels[i], &values[i], false);
    const size_t least = needed + PANEL_ROWS_LEAST * plot->panel_count;
    if (rows < least)
        return error_set(error, -ENOSPC, "%u lines are too few for %zu panels: %zu would do (--size)", rows,
                         plot->panel_count, least);
    place_axes(&screen, plot, values);
    screen_begin_color(&screen, "1");
    (void)add_cut(out, plot->command, screen.columns);
    screen_end_color(&screen, "1");
    strbuf_addc(out, '\n');
    write_outcome(&screen, plot);
    size_t left = rows - needed;
    for (size_t i = 0; code == 0 && i < plot->panel_count; i++) {
        const size_t height = left / (plot->panel_count - i);
        (void)run_legend(&screen, plot->panels[i], &values[i], true);
        code = screen_draw_panel(&screen, plot->panels[i], &values[i], height);
        left -= height;
    }
    write_events(&screen, plot);
    write_time(&screen);
    if (terminal->ascii)
        plot_to_ascii(out, begin);
    return code < 0 || out->failed ? -ENOMEM : 0;
}
