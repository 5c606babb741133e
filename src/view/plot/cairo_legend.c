/* The legend above a panel of a picture. */
#include <stdio.h>

#include "view/plot/cairo_page.h"

#define LEGEND_ROW 18.0 /* units */
#define SWATCH     24.0
#define ENTRY_GAP  20.0

void page_dash(const struct plot_page *page, enum plot_role role)
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
        page_pen(page, color, PAGE_BAND_ALPHA, 1);
        page_fill(page, x, y - 5 * page->unit, width, 10 * page->unit);
        page_pen(page, color, 1, 1);
        page_line(page, x, y - 5 * page->unit, x + width, y - 5 * page->unit);
        return;
    }
    if (role == PLOT_SUBJECT) {
        for (int i = -1; i <= 1; i++) {
            page_pen(page, color, 0.45, 1);
            page_line(page, x, y + 3.5 * i * page->unit, x + width, y + 3.5 * i * page->unit);
        }
        return;
    }
    if (!banded)
        page_dash(page, role);
    page_pen(page, color, 1, role == PLOT_MAIN || banded ? 2.6 : role == PLOT_BESIDE ? 1.6 : 1.2);
    page_line(page, x, y, x + width, y);
    cairo_set_dash(page->cairo, NULL, 0, 0);
}

/* Entries one after the other, rows as needed; the words about levels that are off the scale at the right. */
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

static void legend_note(struct legend *legend, const struct plot_panel *panel)
{
    const struct plot_page *page = legend->page;

    if (!panel->note)
        return;
    page_pen(page, page_gray, 1, 1);
    if (legend->draw)
        page_text(page, legend->x, legend->y, PAGE_LEFT, panel->note);
    legend->x += page_text_width(page, panel->note) + ENTRY_GAP * page->unit;
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

double panel_legend(const struct plot_page *page, const struct plot_panel *panel, double top, bool draw)
{
    struct legend legend = {
        .page = page, .draw = draw, .x = page->left, .y = top + 12 * page->unit, .top = top};

    page_font(page, PAGE_SMALL, false);
    legend_note(&legend, panel);
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
