/*
 * A plot on a terminal: lines of braille patterns (or of ASCII), in colour or not, exactly as wide and high
 * as told.
 */
#ifndef METRON_VIEW_PLOT_TERMINAL_H
#define METRON_VIEW_PLOT_TERMINAL_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "view/plot/plot.h"

#define PLOT_TERMINAL_LEAST 10 /* lines; and columns are at least 30 */
#define PLOT_TERMINAL_MOST  2000

struct plot_terminal {
    unsigned columns, rows;
    bool colors;
    bool ascii; /* nothing but ASCII is written */
};

/* Appends a finished plot: at most `rows` lines of at most `columns` columns. -ENOSPC: that is too small for
 * its panels (the message says what would do); -ENOMEM. */
int plot_terminal_draw(const struct plot *plot, const struct plot_terminal *terminal, struct strbuf *out,
                       struct metron_error *error);

#endif
