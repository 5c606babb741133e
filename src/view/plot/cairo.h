/*
 * A plot as a picture, by cairo. Only the program metron-plot contains this: metron itself links no cairo.
 */
#ifndef METRON_VIEW_PLOT_CAIRO_H
#define METRON_VIEW_PLOT_CAIRO_H

#include "base/error.h"
#include "base/strbuf.h"
#include "view/plot/plot.h"

enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_PDF };

#define PLOT_PICTURE_LEAST 200 /* pixels, of width and height */
#define PLOT_PICTURE_MOST  8192

/* Draws a finished plot, whose lines are thinned to the picture's resolution by it. `width` and `height` are
 * pixels, of PDF points. The picture is appended to `out`. -ENOSPC: it is too small for the panels; -ENOMEM;
 * -EIO: cairo's complaint is in `error`. */
int plot_cairo_draw(struct plot *plot, enum plot_format format, unsigned width, unsigned height,
                    struct strbuf *out, struct metron_error *error);

#endif
