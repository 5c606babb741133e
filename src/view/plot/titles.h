/*
 * The words above a plot: what ran, how it ended, how long it took and when it began.
 */
#ifndef METRON_VIEW_PLOT_TITLES_H
#define METRON_VIEW_PLOT_TITLES_H

#include "view/plot/plot.h"

/* Fills in command, cause and details, once all records are there. 0 or -ENOMEM. */
int plot_titles_write(struct plot *plot);

#endif
