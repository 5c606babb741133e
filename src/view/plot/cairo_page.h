/*
 * What the parts of plot_cairo share: the page, its fonts and colours.
 */
#ifndef METRON_VIEW_PLOT_CAIRO_PAGE_H
#define METRON_VIEW_PLOT_CAIRO_PAGE_H

#include <cairo.h>
#include <stdbool.h>

#include "view/plot/plot.h"
#include "view/plot/scale.h"

struct plot_color {
    double red, green, blue;
};

struct plot_box {
    double left, top, right, bottom;
};

struct plot_page {
    cairo_t *cairo;
    double width, height;
    double unit;        /* what all sizes are multiples of: 1 on a page of 1200 x 800 */
    double left, right; /* of all panels */
    struct plot_scale time;
};

enum page_align { PAGE_LEFT, PAGE_CENTER, PAGE_RIGHT };

#define PAGE_SMALL      12.0 /* font sizes, in units */
#define PAGE_TITLE      17.0
#define PAGE_BAND_ALPHA 0.22

extern const struct plot_color page_ink, page_gray, page_grid, page_red;

struct plot_color page_color(unsigned index);
struct plot_color page_mark_color(enum plot_mark kind);
void page_pen(const struct plot_page *page, struct plot_color color, double alpha, double width);
/* With that pen. */
void page_line(const struct plot_page *page, double x, double y, double to_x, double to_y);
void page_fill(const struct plot_page *page, double x, double y, double width, double height);
void page_font(const struct plot_page *page, double size, bool bold);
double page_text_width(const struct plot_page *page, const char *text);
/* Text whose baseline is at y. */
void page_text(const struct plot_page *page, double x, double y, enum page_align align, const char *text);
/* The same, cut to `width` with an ellipsis. Returns the width it took. */
double page_text_cut(const struct plot_page *page, double x, double y, double width, const char *text);
double page_x(const struct plot_page *page, double seconds);

/* How a line is told from those of other roles, until the dash is set back. */
void page_dash(const struct plot_page *page, enum plot_role role);

/* The rows of legend above a panel; only measured without `draw`. Returns their height. */
double panel_legend(const struct plot_page *page, const struct plot_panel *panel, double top, bool draw);
/* The panel in `box`, and its legend above it. */
void panel_draw(const struct plot_page *page, const struct plot *plot, struct plot_panel *panel,
                const struct plot_scale *values, struct plot_box box);

/* Events: the lane below all panels, and thin lines up through each. */
double lane_height(const struct plot_page *page, const struct plot *plot);
void lane_draw(const struct plot_page *page, const struct plot *plot, struct plot_box box);
void marks_draw(const struct plot_page *page, const struct plot *plot, struct plot_box panel);

#endif
