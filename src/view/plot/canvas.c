#include "view/plot/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int plot_canvas_init(struct plot_canvas *canvas, size_t columns, size_t rows, bool apart)
{
    *canvas = (struct plot_canvas){.columns = columns, .rows = rows, .apart = apart};
    canvas->dots = calloc(columns * rows + 1, 1);
    canvas->inks = malloc(columns * rows + 1);
    canvas->letters = calloc(columns * rows + 1, 1);
    if (!canvas->dots || !canvas->inks || !canvas->letters)
        return -ENOMEM;
    memset(canvas->inks, PLOT_CANVAS_BLANK, columns * rows);
    return 0;
}

void plot_canvas_fini(struct plot_canvas *canvas)
{
    free(canvas->dots);
    free(canvas->inks);
    free(canvas->letters);
    *canvas = (struct plot_canvas){0};
}

void plot_canvas_dot(struct plot_canvas *canvas, long x, long y, uint8_t ink)
{
    /* The bits of a braille pattern (U+2800 and on), by row and column: the lowest row came later. */
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    if (x < 0 || y < 0 || (size_t)x >= 2 * canvas->columns || (size_t)y >= 4 * canvas->rows)
        return;
    const size_t at = (size_t)(y / 4) * canvas->columns + (size_t)(x / 2);
    if (canvas->apart && ink > canvas->inks[at])
        return;
    if (canvas->apart && ink < canvas->inks[at])
        canvas->dots[at] = 0;
    canvas->dots[at] |= bits[y % 4][x % 2];
    if (ink < canvas->inks[at])
        canvas->inks[at] = ink;
}

void plot_canvas_column(struct plot_canvas *canvas, long x, long y0, long y1, uint8_t ink)
{
    const long top = y0 < y1 ? y0 : y1, bottom = y0 < y1 ? y1 : y0;
    const long last = (long)(4 * canvas->rows) - 1;

    for (long y = top < 0 ? 0 : top; y <= bottom && y <= last; y++)
        plot_canvas_dot(canvas, x, y, ink);
}

bool plot_canvas_letter(struct plot_canvas *canvas, size_t column, size_t row, char letter, uint8_t ink)
{
    const size_t at = row * canvas->columns + column;

    if (column >= canvas->columns || row >= canvas->rows || canvas->letters[at])
        return false;
    canvas->letters[at] = letter;
    canvas->inks[at] = ink;
    return true;
}

void plot_canvas_character(const struct plot_canvas *canvas, size_t column, size_t row, struct strbuf *out)
{
    const uint8_t dots = canvas->dots[row * canvas->columns + column];
    const char letter = canvas->letters[row * canvas->columns + column];

    if (letter || dots == 0) {
        strbuf_addc(out, letter ? letter : ' ');
        return;
    }
    strbuf_addc(out, (char)0xe2);
    strbuf_addc(out, (char)(0xa0 | dots >> 6));
    strbuf_addc(out, (char)(0x80 | (dots & 0x3f)));
}

uint8_t plot_canvas_ink(const struct plot_canvas *canvas, size_t column, size_t row)
{
    return canvas->inks[row * canvas->columns + column];
}
