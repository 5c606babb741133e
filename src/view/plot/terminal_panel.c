/* One panel on a terminal: the values at its left, its lines in braille patterns. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "view/plot/canvas.h"
#include "view/plot/screen.h"

/* Inks: lines of the panel in the order of importance, then levels, then the bands of lines. */
enum { INK_LEVELS = 0x60, INK_BANDS = 0x80 };

static_assert(PLOT_LINES_MAX <= INK_LEVELS && PLOT_LEVELS_MAX <= INK_BANDS - INK_LEVELS &&
                  INK_BANDS + PLOT_LINES_MAX <= PLOT_CANVAS_BLANK,
              "one ink each");

struct area {
    struct plot_canvas canvas;
    const struct screen *screen;
    const struct plot_scale *values;
};

/* The ink of a line, and the line of an ink: the index. Of a band the mean comes first: the two change
 * places. */
static size_t ink_of(const struct plot_panel *panel, size_t index)
{
    const struct plot_line *line = &panel->lines[index];

    if (!line->banded)
        return index;
    if (line->mean)
        return (size_t)(line->mean - panel->lines);
    for (size_t i = 0; i < panel->line_count; i++)
        if (panel->lines[i].mean == line)
            return i;
    return index;
}

static long dot_x(const struct area *area, double seconds)
{
    const double width = (double)(2 * area->canvas.columns);
    const double x = floor(plot_scale_place(&area->screen->time, seconds) * width);

    return (long)fmin(fmax(x, 0), width - 1);
}

static long dot_y(const struct area *area, double value)
{
    const double last = (double)(4 * area->canvas.rows) - 1;
    const double y = round((1 - plot_scale_place(area->values, value)) * last);

    return isfinite(y) ? (long)fmin(fmax(y, 0), last) : (long)last;
}

/* Which dots of a line are left out, so that lines differ without colours: by columns. */
static bool is_gap(enum plot_role role, long x)
{
    switch (role) {
    case PLOT_BESIDE:
        return x % 4 == 3;
    case PLOT_MEAN:
        return x % 3 == 2;
    case PLOT_SUBJECT:
        return x % 2 == 1;
    default:
        return false;
    }
}

/* A hatching between the mean of each window and its highest value. */
static void draw_band(struct area *area, const struct plot_line *line, uint8_t ink)
{
    const struct plot_series *highest = &line->series, *mean = &line->mean->series;

    for (size_t i = 0, j = 0; i < highest->count; i++) {
        const struct plot_segment *window = &highest->segments[i];
        while (j < mean->count && mean->segments[j].begin < window->begin)
            j++;
        if (j == mean->count)
            return;
        const long right = dot_x(area, window->end), top = dot_y(area, window->high);
        const long bottom = dot_y(area, plot_segment_mean(&mean->segments[j]));
        if (mean->segments[j].begin > window->begin)
            continue;
        for (long x = dot_x(area, window->begin); x <= right; x++)
            if (x % 4 == 0)
                plot_canvas_column(&area->canvas, x, top, bottom, ink);
    }
}

/* The letter of a line, as far right on it as there is room. */
static void draw_letter(struct area *area, const struct plot_line *line, char letter, uint8_t ink)
{
    const struct plot_series *series = &line->series;

    for (size_t i = series->count; i-- > 0;) {
        const struct plot_segment *segment = &series->segments[i];
        const long left = dot_x(area, segment->begin) / 2, row = dot_y(area, segment->high) / 4;
        for (long column = dot_x(area, segment->end) / 2; column >= left; column--)
            if (plot_canvas_letter(&area->canvas, (size_t)column, (size_t)row, letter, ink))
                return;
    }
}

static void draw_line(struct area *area, const struct plot_line *line, uint8_t ink)
{
    const struct plot_series *series = &line->series;
    long before_x = -2, before_y = 0;

    for (size_t i = 0; i < series->count; i++) {
        const struct plot_segment *segment = &series->segments[i];
        const bool mean = line->role == PLOT_MEAN;
        const long left = dot_x(area, segment->begin), end = dot_x(area, segment->end);
        const long high = dot_y(area, mean ? plot_segment_mean(segment) : segment->high);
        const long low = dot_y(area, mean ? plot_segment_mean(segment) : segment->low);
        /* The end is where the next begins; the last one reaches it. */
        const long right = end > left && i + 1 < series->count ? end - 1 : end;
        if (left - before_x <= 1 && line->role != PLOT_SUBJECT && (!mean || line->banded))
            plot_canvas_column(&area->canvas, left, before_y, high, ink);
        for (long x = left; x <= right; x++)
            if (line->banded || !is_gap(line->role, x) || left == right)
                plot_canvas_column(&area->canvas, x, high, low, ink);
        before_x = right;
        before_y = low;
    }
}

static void draw_level(struct area *area, const struct plot_level *level, uint8_t ink)
{
    const long y = dot_y(area, level->value);

    for (long x = 0; x < (long)(2 * area->canvas.columns); x++)
        if (x % 4 < (level->kind == PLOT_PEAK ? 1 : 2))
            plot_canvas_dot(&area->canvas, x, y, ink);
}

static const char *ink_color(const struct plot_panel *panel, uint8_t ink, char text[8])
{
    if (ink == PLOT_CANVAS_BLANK)
        return NULL;
    const bool is_band = ink >= INK_BANDS;
    if (!is_band && ink >= INK_LEVELS)
        return screen_level_color(panel->levels[(ink - INK_LEVELS) % PLOT_LEVELS_MAX].kind);
    const size_t index = (size_t)(is_band ? ink - INK_BANDS : ink) % PLOT_LINES_MAX;
    const struct plot_line *line = &panel->lines[is_band ? index : ink_of(panel, index)];
    const bool is_bold = line->role == (line->banded ? PLOT_MEAN : PLOT_MAIN) && !is_band;
    (void)snprintf(text, 8, "%s%s",
                   is_bold                                 ? "1;"
                   : is_band || line->role == PLOT_SUBJECT ? "2;"
                                                           : "",
                   screen_line_color(line->color));
    return text;
}

/* A character of one ink; the letter of a line stays. */
static void write_ascii(const struct area *area, const struct plot_panel *panel, size_t column, size_t row)
{
    const size_t at = row * area->canvas.columns + column;
    const uint8_t ink = area->canvas.inks[at];
    char character = area->canvas.letters[at];

    if (!character && ink == PLOT_CANVAS_BLANK)
        character = ' ';
    else if (!character && ink >= INK_BANDS)
        character = SCREEN_ASCII_BAND;
    else if (!character && ink >= INK_LEVELS)
        character =
            panel->levels[ink - INK_LEVELS].kind == PLOT_PEAK ? SCREEN_ASCII_PEAK : SCREEN_ASCII_LEVEL;
    else if (!character)
        character =
            screen_ascii_line(panel->lines[ink_of(panel, ink)].role, panel->lines[ink_of(panel, ink)].banded);
    strbuf_addc(area->screen->out, character);
}

static void write_canvas_row(const struct area *area, const struct plot_panel *panel, size_t row)
{
    const struct screen *screen = area->screen;
    uint8_t ink = PLOT_CANVAS_BLANK;
    size_t used = area->canvas.columns;
    char text[8];

    while (used > 0 && plot_canvas_ink(&area->canvas, used - 1, row) == PLOT_CANVAS_BLANK)
        used--; /* no blanks at the end of a line */
    for (size_t column = 0; column < used; column++) {
        const uint8_t next = plot_canvas_ink(&area->canvas, column, row);
        /* A blank has no colour to be seen. */
        if (next != ink && next != PLOT_CANVAS_BLANK && screen->colors) {
            if (ink != PLOT_CANVAS_BLANK)
                strbuf_adds(screen->out, "\033[0m");
            screen_begin_color(screen, ink_color(panel, next, text));
            ink = next;
        }
        if (screen->ascii)
            write_ascii(area, panel, column, row);
        else
            plot_canvas_character(&area->canvas, column, row, screen->out);
    }
    if (ink != PLOT_CANVAS_BLANK && screen->colors)
        strbuf_adds(screen->out, "\033[0m");
    strbuf_addc(screen->out, '\n');
}

/* The tick whose place is in this row of characters; the upper of two. */
static bool row_label(const struct area *area, size_t row, char label[PLOT_LABEL_SIZE])
{
    for (size_t i = area->values->tick_count; i-- > 0;)
        if ((size_t)dot_y(area, plot_scale_tick(area->values, i)) / 4 == row) {
            (void)plot_scale_label(area->values, i, label);
            return true;
        }
    return false;
}

static void write_rows(const struct area *area, const struct plot_panel *panel)
{
    const struct screen *screen = area->screen;
    char label[PLOT_LABEL_SIZE];

    for (size_t row = 0; row < area->canvas.rows; row++) {
        const bool tick = row_label(area, row, label);
        screen_begin_color(screen, "90");
        strbuf_addf(screen->out, "%*s%s", (int)screen->gutter - 1, tick ? label : "", tick ? "┤" : "│");
        screen_end_color(screen, "90");
        if (panel->empty && row == area->canvas.rows / 2) {
            strbuf_adds(screen->out, "  ");
            (void)screen_add_cut(screen->out, panel->empty, screen->canvas - 2);
            strbuf_addc(screen->out, '\n');
        } else {
            write_canvas_row(area, panel, row);
        }
    }
}

static void draw_bands_and_letters(struct area *area, const struct plot_panel *panel)
{
    for (size_t i = 0; i < panel->line_count; i++) {
        const struct plot_line *line = &panel->lines[i];
        const char letter = screen_letter(panel, line);
        if (line->banded && line->mean)
            draw_band(area, line, (uint8_t)(INK_BANDS + i));
        if (letter)
            draw_letter(area, line, letter, (uint8_t)ink_of(panel, i));
    }
}

int screen_draw_panel(const struct screen *screen, const struct plot_panel *panel,
                      const struct plot_scale *values, size_t rows)
{
    static const enum plot_role order[] = {PLOT_MAIN, PLOT_BESIDE, PLOT_MEAN, PLOT_SUBJECT};
    struct area area = {.screen = screen, .values = values};
    int code = plot_canvas_init(&area.canvas, screen->canvas, rows, screen->colors || screen->ascii);

    if (code == 0) {
        /* Of inks that meet in a character the lowest is seen: they follow the order of lines, and lines
         * stand in it by their role. */
        for (size_t role = 0; role < sizeof(order) / sizeof(order[0]); role++)
            for (size_t i = 0; i < panel->line_count; i++)
                if (panel->lines[i].role == order[role] && screen_shows_line(screen, &panel->lines[i]))
                    draw_line(&area, &panel->lines[i], (uint8_t)ink_of(panel, i));
        for (size_t i = 0; i < panel->level_count; i++)
            if (!panel->levels[i].off_scale)
                draw_level(&area, &panel->levels[i], (uint8_t)(INK_LEVELS + i));
        draw_bands_and_letters(&area, panel);
        write_rows(&area, panel);
    }
    plot_canvas_fini(&area.canvas);
    return code;
}
