/* One panel of a picture: its axis, its lines and its levels. */
#include <math.h>

#include "view/plot/cairo_page.h"

#define DENSE_SHARE  0.2  /* of segments that hold more than one value: the line becomes a band */
#define DENSE_HEIGHT 0.01 /* of the panel */

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
        page_line(page, x, box.top, x, box.bottom);
    }
    for (size_t i = 0; i < values->tick_count; i++) {
        const double tick = plot_scale_tick(values, i);
        const double y = value_y(values, box, tick);
        page_pen(page, tick == 0 ? page_gray : page_grid, 1, tick == 0 ? 1 : 0.8);
        page_line(page, box.left, y, box.right, y);
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
        page_pen(page, page_color(line->color), PAGE_BAND_ALPHA, 1);
        page_fill(page, left, top, width, middle - top);
        page_pen(page, page_color(line->color), 0.07, 1);
        page_fill(page, left, middle, width, floor_y - middle);
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
        page_dash(page, line->role);
    step_path(page, series, values, box, line->role == PLOT_MEAN ? EDGE_MEAN : dense ? EDGE_HIGH : EDGE_BOTH);
    cairo_stroke(page->cairo);
    cairo_set_dash(page->cairo, NULL, 0, 0);
    if (extent < 2 || (one_point && line->role == (line->banded ? PLOT_MEAN : PLOT_MAIN)))
        draw_dot(page, line, values, box);
}

/* The label stands on its line, on white; a limit's at the right, the host's at the left, a peak's between
 * and below. */
static void draw_level(const struct plot_page *page, const struct plot_level *level,
                       const struct plot_scale *values, struct plot_box box)
{
    const double y = value_y(values, box, level->value), gap = 6 * page->unit;
    const bool is_peak = level->kind == PLOT_PEAK;
    /* A line of another method may lie on the same value: dots leave it to be seen. */
    const double dash[] = {(is_peak ? 1.5 : 7) * page->unit, 4 * page->unit};
    const struct plot_color color = level->kind == PLOT_LIMIT ? page_red : is_peak ? page_ink : page_gray;

    page_pen(page, color, 0.9, 1.3);
    cairo_set_dash(page->cairo, dash, 2, 0);
    page_line(page, box.left, y, box.right, y);
    cairo_set_dash(page->cairo, NULL, 0, 0);
    page_font(page, PAGE_SMALL - 1, false);
    const double width = page_text_width(page, level->label);
    const double x = level->kind == PLOT_LIMIT ? box.right - width - gap
                     : is_peak                 ? (box.left + box.right - width) / 2
                                               : box.left + gap;
    const bool above = !is_peak && y - 18 * page->unit > box.top - 6 * page->unit;
    const double baseline = above ? y - 5 * page->unit : y + 14 * page->unit;
    cairo_set_source_rgba(page->cairo, 1, 1, 1, 0.8);
    page_fill(page, x - 3 * page->unit, baseline - 10 * page->unit, width + 6 * page->unit, 13 * page->unit);
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
    (void)panel_legend(page, panel, box.top - panel_legend(page, panel, 0, false), true);
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
    if (panel->empty) {
        page_font(page, PAGE_SMALL + 1, false);
        page_pen(page, page_gray, 1, 1);
        page_text(page, (box.left + box.right) / 2, (box.top + box.bottom) / 2, PAGE_CENTER, panel->empty);
    }
}
