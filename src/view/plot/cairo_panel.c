/* One panel of a picture: its legend, its axis, its lines. */
#include <math.h>
#include <stdio.h>

#include "view/plot/cairo_page.h"

#define LEGEND_ROW   18.0
#define SWATCH       24.0
#define ENTRY_GAP    20.0
#define BAND_ALPHA   0.22
#define DENSE_SHARE  0.2  /* of segments that hold more than one value: the line becomes a band */
#define DENSE_HEIGHT 0.01 /* of the panel */

static void set_dash(const struct plot_page *page, enum plot_role role)
{
    const double mean[] = {2.5 * page->unit, 2 * page->unit}, beside[] = {8 * page->unit, 3 * page->unit};

    if (role == PLOT_MEAN)
        cairo_set_dash(page->cairo, mean, 2, 0);
    else if (role == PLOT_BESIDE)
        cairo_set_dash(page->cairo, beside, 2, 0);
}

static void draw_swatch(const struct plot_page *page, double x, double y, enum plot_role role, bool banded,
                        struct plot_color color)
{
    const double width = SWATCH * page->unit;

    if (banded && role == PLOT_MAIN) {
        page_pen(page, color, BAND_ALPHA, 1);
        cairo_rectangle(page->cairo, x, y - 5 * page->unit, width, 10 * page->unit);
        cairo_fill(page->cairo);
        page_pen(page, color, 1, 1);
        cairo_move_to(page->cairo, x, y - 5 * page->unit);
        cairo_line_to(page->cairo, x + width, y - 5 * page->unit);
        cairo_stroke(page->cairo);
        return;
    }
    if (role == PLOT_SUBJECT) {
        for (int i = -1; i <= 1; i++) {
            page_pen(page, color, 0.45, 1);
            cairo_move_to(page->cairo, x, y + 3.5 * i * page->unit);
            cairo_line_to(page->cairo, x + width, y + 3.5 * i * page->unit);
            cairo_stroke(page->cairo);
        }
        return;
    }
    if (!banded)
        set_dash(page, role);
    page_pen(page, color, 1, role == PLOT_MAIN || banded ? 2.6 : role == PLOT_BESIDE ? 1.6 : 1.2);
    cairo_move_to(page->cairo, x, y);
    cairo_line_to(page->cairo, x + width, y);
    cairo_stroke(page->cairo);
    cairo_set_dash(page->cairo, NULL, 0, 0);
}

/* Entries one after the other, rows as needed; the words about levels that are off the scale at the right.
 * Only measures without `draw`. Returns the height. */
struct legend {
    const struct plot_page *page;
    bool draw;
    double x, y, top;
};

static void legend_entry(struct legend *legend, enum plot_role role, bool banded, unsigned color,
                         const char *label)
{
    const struct plot_page *page = legend->page;
    const double left = page->left, room = page->right - left;
    double width = (SWATCH + 7) * page->unit + page_text_width(page, label);

    if (legend->x > left && legend->x + width > page->right) {
        legend->x = left;
        legend->y += LEGEND_ROW * page->unit;
    }
    if (legend->draw) {
        draw_swatch(page, legend->x, legend->y - 4 * page->unit, role, banded, page_color(color));
        page_pen(page, page_ink, 1, 1);
        (void)page_text_cut(page, legend->x + (SWATCH + 7) * page->unit, legend->y,
                            room - (SWATCH + 7) * page->unit, label);
    }
    legend->x += width + ENTRY_GAP * page->unit;
}

static void legend_levels(struct legend *legend, const struct plot_panel *panel)
{
    const struct plot_page *page = legend->page;
    char text[256] = "";
    size_t length = 0;

    for (size_t i = 0; i < panel->level_count; i++)
        if (panel->levels[i].off_scale && length < sizeof(text))
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "",
                                       panel->levels[i].label);
    if (length == 0 || length + 16 > sizeof(text))
        return;
    (void)snprintf(text + length, sizeof(text) - length, " (off scale)");
    const double width = page_text_width(page, text);
    if (legend->x > page->left && legend->x + width > page->right)
        legend->y += LEGEND_ROW * page->unit;
    if (legend->draw) {
        page_pen(page, page_gray, 1, 1);
        page_text(page, page->right, legend->y, PAGE_RIGHT, text);
    }
}

static double run_legend(const struct plot_page *page, const struct plot_panel *panel, double top, bool draw)
{
    struct legend legend = {
        .page = page, .draw = draw, .x = page->left, .y = top + 12 * page->unit, .top = top};

    page_font(page, PAGE_SMALL, false);
    for (int role = PLOT_MAIN; role <= PLOT_MEAN; role++)
        for (size_t i = 0; i < panel->line_count; i++) {
            const struct plot_line *line = &panel->lines[i];
            if (line->role != (enum plot_role)role || !line->label || (line->banded && role == PLOT_MEAN))
                continue;
            legend_entry(&legend, line->role, line->banded, line->color, line->label);
            if (line->banded)
                legend_entry(&legend, PLOT_MEAN, true, line->color, line->mean->label);
        }
    for (size_t i = 0; i < panel->group_count; i++)
        if (panel->groups[i].label)
            legend_entry(&legend, PLOT_SUBJECT, false, panel->groups[i].color, panel->groups[i].label);
    legend_levels(&legend, panel);
    return legend.y - legend.top + 9 * page->unit;
}

double panel_legend_height(const struct plot_page *page, const struct plot_panel *panel)
{
    return run_legend(page, panel, 0, false);
}

static double value_y(const struct plot_scale *values, struct plot_box box, double value)
{
    const double place = plot_scale_place(values, value);

    return box.bottom - fmin(fmax(place, -1), 2) * (box.bottom - box.top);
}

static void draw_axis(const struct plot_page *page, const struct plot_panel *panel,
                      const struct plot_scale *values, struct plot_box box)
{
    char text[PLOT_TITLE_SIZE];

    page_font(page, PAGE_SMALL, false);
    for (size_t i = 0; i < page->time.tick_count; i++) {
        const double x = page_x(page, plot_scale_tick(&page->time, i));
        page_pen(page, page_grid, 1, 0.8);
        cairo_move_to(page->cairo, x, box.top);
        cairo_line_to(page->cairo, x, box.bottom);
        cairo_stroke(page->cairo);
    }
    for (size_t i = 0; i < values->tick_count; i++) {
        const double tick = plot_scale_tick(values, i);
        const double y = value_y(values, box, tick);
        page_pen(page, tick == 0 ? page_gray : page_grid, 1, tick == 0 ? 1 : 0.8);
        cairo_move_to(page->cairo, box.left, y);
        cairo_line_to(page->cairo, box.right, y);
        cairo_stroke(page->cairo);
        page_pen(page, page_gray, 1, 1);
        page_text(page, box.left - 7 * page->unit, y + 4 * page->unit, PAGE_RIGHT,
                  plot_scale_label(values, i, text));
    }
    cairo_save(page->cairo);
    cairo_translate(page->cairo, 26 * page->unit, (box.top + box.bottom) / 2);
    cairo_rotate(page->cairo, -M_PI / 2);
    page_pen(page, page_ink, 1, 1);
    page_text(page, 0, 0, PAGE_CENTER, plot_panel_title(panel, values->unit, text));
    cairo_restore(page->cairo);
}

enum edge { EDGE_HIGH, EDGE_LOW, EDGE_MEAN, EDGE_BOTH };

static double edge_value(const struct plot_segment *segment, enum edge edge)
{
    return edge == EDGE_LOW ? segment->low : edge == EDGE_MEAN ? plot_segment_mean(segment) : segment->high;
}

/* Steps: each segment at its height, up or down to the next; a gap where there was nothing. */
static void step_path(const struct plot_page *page, const struct plot_series *series,
                      const struct plot_scale *values, struct plot_box box, enum edge edge)
{
    double before = -INFINITY;

    for (size_t i = 0; i < series->count; i++) {
        const struct plot_segment *segment = &series->segments[i];
        const double left = page_x(page, segment->begin), right = page_x(page, segment->end);
        const double y = value_y(values, box, edge_value(segment, edge));
        if (left - before > 0.5 * page->unit)
            cairo_move_to(page->cairo, left, y);
        else
            cairo_line_to(page->cairo, left, y);
        if (edge == EDGE_BOTH && segment->low < segment->high) {
            const double low = value_y(values, box, segment->low);
            cairo_line_to(page->cairo, (left + right) / 2, y);
            cairo_line_to(page->cairo, (left + right) / 2, low);
        } else {
            cairo_line_to(page->cairo, right, y);
        }
        before = right;
    }
}

/* The end of a row of segments that touch, from `first`. */
static size_t row_end(const struct plot_page *page, const struct plot_series *series, size_t first)
{
    size_t end = first + 1;

    while (end < series->count &&
           page_x(page, series->segments[end].begin) - page_x(page, series->segments[end - 1].end) <=
               0.5 * page->unit)
        end++;
    return end;
}

/* Fills what lies between two edges of the segments of each row; with `below` between the axis and the low
 * edge. As one shape: rectangles side by side would show their seams. */
static void fill_band(const struct plot_page *page, const struct plot_series *series,
                      const struct plot_scale *values, struct plot_box box, bool below)
{
    const double floor_y = value_y(values, box, fmax(values->low, 0));

    for (size_t first = 0, end; first < series->count; first = end) {
        end = row_end(page, series, first);
        for (size_t i = first; i < end; i++) {
            const struct plot_segment *segment = &series->segments[i];
            const double y = value_y(values, box, below ? segment->low : segment->high);
            cairo_line_to(page->cairo, page_x(page, segment->begin), y);
            cairo_line_to(page->cairo, page_x(page, segment->end), y);
        }
        for (size_t i = end; i-- > first;) {
            const struct plot_segment *segment = &series->segments[i];
            const double y = below ? floor_y : value_y(values, box, segment->low);
            cairo_line_to(page->cairo, page_x(page, segment->end), y);
            cairo_line_to(page->cairo, page_x(page, segment->begin), y);
        }
        cairo_close_path(page->cairo);
        cairo_new_sub_path(page->cairo);
    }
    cairo_fill(page->cairo);
}

/* Few records: what lies between the mean of each and its highest value was used some of the time, and what
 * is below the mean as a rule. */
static void draw_band(const struct plot_page *page, const struct plot_line *line,
                      const struct plot_scale *values, struct plot_box box)
{
    const struct plot_series *highest = &line->series, *mean = &line->mean->series;
    const double floor_y = value_y(values, box, fmax(values->low, 0));

    for (size_t i = 0, j = 0; i < highest->count; i++) {
        const struct plot_segment *window = &highest->segments[i];
        while (j < mean->count && mean->segments[j].begin < window->begin)
            j++;
        const bool has_mean = j < mean->count && mean->segments[j].begin == window->begin;
        const double left = page_x(page, window->begin), width = page_x(page, window->end) - left;
        const double top = value_y(values, box, window->high);
        const double middle = has_mean ? value_y(values, box, plot_segment_mean(&mean->segments[j])) : top;
        page_pen(page, page_color(line->color), BAND_ALPHA, 1);
        cairo_rectangle(page->cairo, left, top, width, middle - top);
        cairo_fill(page->cairo);
        page_pen(page, page_color(line->color), 0.07, 1);
        cairo_rectangle(page->cairo, left, middle, width, floor_y - middle);
        cairo_fill(page->cairo);
    }
}

static bool is_dense(const struct plot_series *series, const struct plot_scale *values)
{
    const double least = DENSE_HEIGHT * (values->high - values->low);
    size_t wide = 0;

    for (size_t i = 0; i < series->count; i++)
        wide += series->segments[i].high - series->segments[i].low > least;
    return (double)wide > DENSE_SHARE * (double)series->count && series->count > 50;
}

/* What is too short to be a line is a dot. */
static void draw_dot(const struct plot_page *page, const struct plot_line *line,
                     const struct plot_scale *values, struct plot_box box)
{
    const struct plot_segment *last = &line->series.segments[line->series.count - 1];
    const double x = page_x(page, last->end), y = value_y(values, box, last->high);
    const double radius = (line->role == PLOT_SUBJECT ? 1.4 : 3.5) * page->unit;

    cairo_new_path(page->cairo);
    cairo_arc(page->cairo, fmin(fmax(x, box.left), box.right), y, radius, 0, 2 * M_PI);
    cairo_fill(page->cairo);
}

static void draw_line(const struct plot_page *page, struct plot_line *line, const struct plot_scale *values,
                      struct plot_box box, bool filled)
{
    static const double widths[] = {
        [PLOT_MAIN] = 2.0, [PLOT_BESIDE] = 1.6, [PLOT_MEAN] = 1.1, [PLOT_SUBJECT] = 1.0};
    struct plot_color color = page_color(line->color);
    struct plot_series *series = &line->series;

    if (series->count == 0)
        return;
    const double pixel = (page->time.high - page->time.low) / (page->right - page->left);
    const double extent = (series->segments[series->count - 1].end - series->segments[0].begin) / pixel;
    const bool one_point = series->added == 1 && extent > 0.9 * (page->right - page->left);
    if (line->banded && line->mean)
        draw_band(page, line, values, box);
    plot_series_thin(series, pixel);
    const bool dense = is_dense(series, values);
    if (filled && !line->banded) {
        page_pen(page, color, 0.07, 1);
        fill_band(page, series, values, box, true);
    }
    if (dense && line->role != PLOT_MEAN) {
        page_pen(page, color, line->role == PLOT_SUBJECT ? 0.12 : 0.28, 1);
        fill_band(page, series, values, box, false);
    }
    double width = widths[line->role];
    if (line->banded)
        width = line->role == PLOT_MEAN ? 2.0 : 1.0;
    else if (dense && line->role == PLOT_MAIN)
        width = 1.2;
    page_pen(page, color, line->role == PLOT_SUBJECT ? 0.42 : 1, width);
    if (!line->banded)
        set_dash(page, line->role);
    step_path(page, series, values, box, line->role == PLOT_MEAN ? EDGE_MEAN : dense ? EDGE_HIGH : EDGE_BOTH);
    cairo_stroke(page->cairo);
    cairo_set_dash(page->cairo, NULL, 0, 0);
    if (extent < 2 || (one_point && line->role == (line->banded ? PLOT_MEAN : PLOT_MAIN)))
        draw_dot(page, line, values, box);
}

/* The label stands on its line, on white; a limit's at the right, the host's at the left, a peak's between
 * and below.
 */
static void draw_level(const struct plot_page *page, const struct plot_level *level,
                       const struct plot_scale *values, struct plot_box box)
{
    const double y = value_y(values, box, level->value), gap = 6 * page->unit;
    const double dash[] = {7 * page->unit, 4 * page->unit};
    const bool is_peak = level->kind == PLOT_PEAK;
    const struct plot_color color = level->kind == PLOT_LIMIT ? page_red : is_peak ? page_ink : page_gray;

    page_pen(page, color, 0.9, is_peak ? 0.8 : 1.3);
    cairo_set_dash(page->cairo, dash, 2, 0);
    cairo_move_to(page->cairo, box.left, y);
    cairo_line_to(page->cairo, box.right, y);
    cairo_stroke(page->cairo);
    cairo_set_dash(page->cairo, NULL, 0, 0);
    page_font(page, PAGE_SMALL - 1, false);
    const double width = page_text_width(page, level->label);
    const double x = level->kind == PLOT_LIMIT ? box.right - width - gap
                     : is_peak                 ? (box.left + box.right - width) / 2
                                               : box.left + gap;
    const bool above = !is_peak && y - 18 * page->unit > box.top - 6 * page->unit;
    const double baseline = above ? y - 5 * page->unit : y + 14 * page->unit;
    cairo_set_source_rgba(page->cairo, 1, 1, 1, 0.8);
    cairo_rectangle(page->cairo, x - 3 * page->unit, baseline - 10 * page->unit, width + 6 * page->unit,
                    13 * page->unit);
    cairo_fill(page->cairo);
    page_pen(page, color, 1, 1);
    page_text(page, x, baseline, PAGE_LEFT, level->label);
}

void panel_draw(const struct plot_page *page, const struct plot *plot, struct plot_panel *panel,
                const struct plot_scale *values, struct plot_box box)
{
    static const enum plot_role order[] = {PLOT_SUBJECT, PLOT_MAIN, PLOT_MEAN, PLOT_BESIDE};
    size_t mains = 0; /* what lies below several lines is nobody's */

    for (size_t i = 0; i < panel->line_count; i++)
        mains += panel->lines[i].role == PLOT_MAIN;
    (void)run_legend(page, panel, box.top - panel_legend_height(page, panel), true);
    draw_axis(page, panel, values, box);
    marks_draw(page, plot, box);
    cairo_save(page->cairo);
    cairo_rectangle(page->cairo, box.left - 4 * page->unit, box.top - 2 * page->unit,
                    box.right - box.left + 8 * page->unit, box.bottom - box.top + 4 * page->unit);
    cairo_clip(page->cairo);
    for (size_t role = 0; role < sizeof(order) / sizeof(order[0]); role++)
        for (size_t i = panel->line_count; i-- > 0;)
            if (panel->lines[i].role == order[role])
                draw_line(page, &panel->lines[i], values, box, order[role] == PLOT_MAIN && mains == 1);
    for (size_t i = 0; i < panel->level_count; i++)
        if (!panel->levels[i].off_scale)
            draw_level(page, &panel->levels[i], values, box);
    cairo_restore(page->cairo);
    if (!panel->has_values) {
        page_font(page, PAGE_SMALL + 1, false);
        page_pen(page, page_gray, 1, 1);
        page_text(page, (box.left + box.right) / 2, (box.top + box.bottom) / 2, PAGE_CENTER,
                  "no values were recorded");
    }
}
