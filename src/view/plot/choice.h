/*
 * Which keys of a recording are drawn, and in which panels: by its registry, and by what was asked for.
 */
#ifndef METRON_VIEW_PLOT_CHOICE_H
#define METRON_VIEW_PLOT_CHOICE_H

#include "view/plot/plot.h"

/* Where the values of a key go. */
struct plot_sink {
    struct plot_line *line;   /* of a single key */
    struct plot_group *group; /* of one with a value per process or device */
    bool command;             /* the values are the names of the group's processes */
    struct plot_sink *next;
};

/* Fills in panels, sinks and wanted keys. As plot_init. */
int plot_choose(struct plot *plot, const struct plot_wish *wish, struct metron_error *error);

#endif
