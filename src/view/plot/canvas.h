/*
 * A screen of dots: each character is a braille pattern, two dots wide and four high, with one ink.
 *
 * Ink is a number that the caller turns into colours. A character has one colour: of several inks in it the
 * lowest is shown, and with `apart` only its dots, so the most important line should have it. A letter stands
 * in the place of all dots.
 */
#ifndef METRON_VIEW_PLOT_CANVAS_H
#define METRON_VIEW_PLOT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define PLOT_CANVAS_BLANK 0xff /* the ink of a character without dots */

struct plot_canvas {
    size_t columns, rows; /* characters */
    bool apart;           /* inks do not share a character */
    uint8_t *dots, *inks; /* owned; one per character */
    char *letters;        /* owned; NUL: the dots */
};

/* 0 or -ENOMEM */
int plot_canvas_init(struct plot_canvas *canvas, size_t columns, size_t rows, bool apart);
void plot_canvas_fini(struct plot_canvas *canvas);
/* Dots count from the top left corner; those beyond the canvas are left out. */
void plot_canvas_dot(struct plot_canvas *canvas, long x, long y, uint8_t ink);
/* All dots of a column from y0 to y1, in any order. */
void plot_canvas_column(struct plot_canvas *canvas, long x, long y0, long y1, uint8_t ink);
/* Columns and rows of characters. False: there is a letter already, or no such place. */
bool plot_canvas_letter(struct plot_canvas *canvas, size_t column, size_t row, char letter, uint8_t ink);
/* Appends one character. */
void plot_canvas_character(const struct plot_canvas *canvas, size_t column, size_t row, struct strbuf *out);
uint8_t plot_canvas_ink(const struct plot_canvas *canvas, size_t column, size_t row);

#endif
