/* The events of a run: a lane below the panels with the spawns as bars and the rest as marks, and thin lines
 * up through the panels where a mark stands for something that changed them. */
#include <math.h>
#include <stdio.h>

#include "view/plot/cairo_page.h"

#define BAR_WIDTH   3.0
#define LINES_MOST  40 /* more of a kind would hide what they mark */
#define LANE_ROW    18.0
#define LANE_HEIGHT 24.0

double lane_height(const struct plot_page *page, const struct plot *plot)
{
    return plot_has_events(plot) ? (LANE_ROW + LANE_HEIGHT + 10) * page->unit : 0;
}

struct columns {
    size_t count;
    double width; /* pixels */
    double seconds;
};

static struct columns columns_of(const struct plot_page *page)
{
    const double room = page->right - page->left;
    const double count = floor(room / (BAR_WIDTH * page->unit));

    return (struct columns){(size_t)fmax(count, 1), room / fmax(count, 1), page->time.high / fmax(count, 1)};
}

/* The last column takes what came after the end as well. */
static size_t column_count(const struct plot_marks *marks, const struct columns *columns, size_t i)
{
    const double begin = (double)i * columns->seconds;

    return plot_marks_between(marks, begin, i + 1 == columns->count ? INFINITY : begin + columns->seconds);
}

static void draw_spawns(const struct plot_page *page, const struct plot_marks *marks, struct plot_box box)
{
    const struct columns columns = columns_of(page);
    const double height = box.bottom - box.top;
    size_t most = 1;

    for (size_t i = 0; i < columns.count; i++) {
        const size_t count = column_count(marks, &columns, i);
        most = count > most ? count : most;
    }
    page_pen(page, page_mark_color(PLOT_MARK_SPAWN), 0.85, 1);
    for (size_t i = 0; i < columns.count; i++) {
        const size_t count = column_count(marks, &columns, i);
        /* The root of it: one spawn is still seen beside a burst of a thousand. */
        const double bar = fmax(height * sqrt((double)count / (double)most), 2 * page->unit);
        if (count > 0)
            cairo_rectangle(page->cairo, box.left + (double)i * columns.width, box.bottom - bar,
                            columns.width - 0.5 * page->unit, bar);
    }
    cairo_fill(page->cairo);
}

static void draw_triangle(const struct plot_page *page, double x, double y)
{
    const double size = 5 * page->unit;

    cairo_move_to(page->cairo, x, y);
    cairo_line_to(page->cairo, x - size, y + 1.7 * size);
    cairo_line_to(page->cairo, x + size, y + 1.7 * size);
    cairo_close_path(page->cairo);
    cairo_fill(page->cairo);
}

static size_t filled_columns(const struct plot_marks *marks, const struct columns *columns)
{
    size_t filled = 0;

    for (size_t i = 0; i < columns->count; i++)
        filled += column_count(marks, columns, i) > 0;
    return filled;
}

static void draw_marks(const struct plot_page *page, enum plot_mark kind, const struct plot_marks *marks,
                       struct plot_box lane)
{
    const struct columns columns = columns_of(page);

    page_pen(page, page_mark_color(kind), 0.9, 1);
    for (size_t i = 0; i < columns.count; i++)
        if (column_count(marks, &columns, i) > 0)
            draw_triangle(page, lane.left + ((double)i + 0.5) * columns.width, lane.top);
}

void marks_draw(const struct plot_page *page, const struct plot *plot, struct plot_box panel)
{
    const struct columns columns = columns_of(page);
    const double dash[] = {2 * page->unit, 3 * page->unit};

    cairo_set_dash(page->cairo, dash, 2, 0);
    for (int kind = PLOT_MARK_SPAWN - 1; kind >= 0; kind--) {
        const struct plot_marks *marks = &plot->marks[kind];
        if (marks->count == 0 || filled_columns(marks, &columns) > LINES_MOST)
            continue;
        page_pen(page, page_mark_color((enum plot_mark)kind), 0.75, 1);
        for (size_t i = 0; i < columns.count; i++) {
            const double x = panel.left + ((double)i + 0.5) * columns.width;
            if (column_count(marks, &columns, i) == 0)
                continue;
            page_line(page, x, panel.top, x, panel.bottom);
        }
    }
    cairo_set_dash(page->cairo, NULL, 0, 0);
}

static void draw_lane_legend(const struct plot_page *page, const struct plot *plot, double y)
{
    double x = page->left;
    char text[96], count[UNIT_TEXT_SIZE];

    page_font(page, PAGE_SMALL, false);
    for (int kind = 0; kind < PLOT_MARK_COUNT; kind++) {
        const struct plot_marks *marks = &plot->marks[kind];
        if (marks->count == 0)
            continue;
        page_pen(page, page_mark_color((enum plot_mark)kind), 0.9, 1);
        if (kind == PLOT_MARK_SPAWN) {
            page_fill(page, x + 3 * page->unit, y - 10 * page->unit, 4 * page->unit, 10 * page->unit);
        } else {
            draw_triangle(page, x + 5 * page->unit, y - 9 * page->unit);
        }
        (void)snprintf(text, sizeof(text), "%s %s", unit_human(UNIT_COUNT, (double)marks->count, count),
                       plot_mark_name((enum plot_mark)kind, marks->count != 1));
        page_pen(page, page_ink, 1, 1);
        page_text(page, x + 15 * page->unit, y, PAGE_LEFT, text);
        x += 15 * page->unit + page_text_width(page, text) + 20 * page->unit;
    }
}

void lane_draw(const struct plot_page *page, const struct plot *plot, struct plot_box box)
{
    if (plot_has_events(plot)) {
        const double top = box.top + (LANE_ROW + 6) * page->unit;
        const struct plot_box lane = {box.left, top, box.right, box.bottom};
        draw_lane_legend(page, plot, top - 6 * page->unit);
        if (plot->marks[PLOT_MARK_SPAWN].count > 0)
            draw_spawns(page, &plot->marks[PLOT_MARK_SPAWN], lane);
        for (int kind = PLOT_MARK_SPAWN - 1; kind >= 0; kind--)
            if (plot->marks[kind].count > 0)
                draw_marks(page, (enum plot_mark)kind, &plot->marks[kind], lane);
    }
    page_pen(page, page_gray, 1, 1);
    page_line(page, box.left, box.bottom, box.right, box.bottom);
}
