/*
 * What the parts of plot_terminal share: the screen, its colours, legends.
 */
#ifndef METRON_VIEW_PLOT_SCREEN_H
#define METRON_VIEW_PLOT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/plot/plot.h"
#include "view/plot/scale.h"

struct screen {
    struct strbuf *out;
    size_t columns;
    size_t gutter; /* columns left of the canvas, the axis line among them */
    size_t canvas; /* columns of the canvas */
    bool colors, ascii;
    struct plot_scale time;
};

/* As SGR has it ("36"); nothing is written without colours. */
const char *screen_line_color(unsigned index);
const char *screen_level_color(enum plot_level_kind kind);
void screen_begin_color(const struct screen *screen, const char *code);
void screen_end_color(const struct screen *screen, const char *code);
void screen_add_colored(const struct screen *screen, const char *code, const char *text);
/* Without colours faint cannot be told from bold: some lines are left out. */
bool screen_shows_line(const struct screen *screen, const struct plot_line *line);
/* What a line is called where several of a panel are alike but for their colour, as those of processes are: a
 * letter at its end and in the legend. NUL: it needs none. */
char screen_letter(const struct plot_panel *panel, const struct plot_line *line);
/* What lines are made of where there are no dots. */
char screen_ascii_line(enum plot_role role, bool banded);
#define SCREEN_ASCII_LEVEL '='
#define SCREEN_ASCII_PEAK  '_'
#define SCREEN_ASCII_BAND  ':'

size_t screen_columns_of(const char *text);
/* Adds a text in at most so many columns, with an ellipsis if it is cut. Returns the columns it took. */
size_t screen_add_cut(struct strbuf *out, const char *text, size_t most);
void screen_add_blanks(struct strbuf *out, size_t count);

/* Entries side by side, in rows; with `draw` they are written, else only counted. */
#define SCREEN_LEGEND_ROWS 3
#define SCREEN_LEGEND_MORE 4 /* columns of " +12" */
struct screen_legend {
    const struct screen *screen;
    bool draw;
    size_t column, rows;
    size_t kept; /* columns at the end of the last row, to tell how many more there are */
    size_t left_out;
};
void screen_legend_entry(struct screen_legend *legend, const char *color, const char *sign, const char *text);
void screen_legend_end(const struct screen_legend *legend);
/* The legend of a panel. Returns the rows it takes, at most SCREEN_LEGEND_ROWS. */
size_t screen_legend(const struct screen *screen, const struct plot_panel *panel,
                     const struct plot_scale *values, bool draw);

/* Nothing is written where nothing happened. */
void screen_write_events(const struct screen *screen, const struct plot *plot);
/* The axis with its ticks, and below them the labels. */
void screen_write_time(const struct screen *screen);
/* The rows of a panel, below its legend. 0 or -ENOMEM. */
int screen_draw_panel(const struct screen *screen, const struct plot_panel *panel,
                      const struct plot_scale *values, size_t rows);
/* Puts in the place of all other characters ones of ASCII that look alike, or '?', from `begin` on; columns
 * stay columns. */
void screen_to_ascii(struct strbuf *text, size_t begin);

#endif
