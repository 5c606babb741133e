/*
 * The screen, from the top: the command, how it ended, then for each panel its legend and its lines with the
 * values at their left, the events, and the time. Without colours faint cannot be told from bold: then only
 * the main lines are drawn, and those beside them with gaps; several main lines have letters.
 */
#include "view/plot/terminal.h"

#include <errno.h>
#include <string.h>

#include "view/plot/screen.h"
#include "view/text_width.h"

#define PANEL_ROWS_LEAST 3
#define COLUMNS_LEAST    30
#define GUTTER_MOST      12
#define CAUSE_LEAST      20 /* columns: "exited with code 137" */

void screen_begin_color(const struct screen *screen, const char *code)
{
    if (screen->colors && code)
        strbuf_addf(screen->out, "\033[%sm", code);
}

void screen_end_color(const struct screen *screen, const char *code)
{
    if (screen->colors && code)
        strbuf_adds(screen->out, "\033[0m");
}

void screen_add_colored(const struct screen *screen, const char *code, const char *text)
{
    screen_begin_color(screen, code);
    strbuf_adds(screen->out, text);
    screen_end_color(screen, code);
}

size_t screen_columns_of(const char *text)
{
    return text_width(text, strlen(text));
}

size_t screen_add_cut(struct strbuf *out, const char *text, size_t most)
{
    return text_fit_tail(out, text, strlen(text), most, 0);
}

void screen_add_blanks(struct strbuf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addc(out, ' ');
}

static void place_axes(struct screen *screen, const struct plot *plot, const struct plot_scale *values)
{
    size_t widest = 1;
    char label[PLOT_LABEL_SIZE];

    for (size_t i = 0; i < plot->panel_count; i++)
        for (size_t j = 0; j < values[i].tick_count; j++) {
            const size_t width = strlen(plot_scale_label(&values[i], j, label));
            widest = width > widest ? width : widest;
        }
    screen->gutter = (widest < GUTTER_MOST ? widest : GUTTER_MOST) + 2;
    screen->canvas = screen->columns - screen->gutter;
    plot_scale_init(&screen->time, UNIT_SECONDS, 0, plot->end, screen->canvas / 12);
}

/* How it ended, and behind it as much as fits. */
static void write_outcome(const struct screen *screen, const struct plot *plot)
{
    size_t i = 0;

    while (i + 1 < PLOT_DETAILS_COUNT &&
           screen_columns_of(plot->cause) + screen_columns_of(plot->details[i]) > screen->columns)
        i++;
    const size_t kept = screen_columns_of(plot->details[i]);
    const size_t used =
        screen_add_cut(screen->out, plot->cause,
                       screen->columns > kept + CAUSE_LEAST ? screen->columns - kept : CAUSE_LEAST);
    (void)screen_add_cut(screen->out, plot->details[i], screen->columns - used);
    strbuf_addc(screen->out, '\n');
}

int plot_terminal_draw(const struct plot *plot, const struct plot_terminal *terminal, struct strbuf *out,
                       struct metron_error *error)
{
    const unsigned columns = terminal->columns, rows = terminal->rows;
    const size_t begin = out->length;
    struct screen screen = {.out = out,
                            .columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns,
                            .colors = terminal->colors,
                            .ascii = terminal->ascii};
    struct plot_scale values[PLOT_PANELS_MAX];
    size_t needed = 4 + (plot_has_events(plot) ? 2 : 0); /* titles, time */
    int code = 0;

    for (size_t i = 0; i < plot->panel_count; i++)
        plot_scale_init(&values[i], plot->panels[i]->unit, plot->panels[i]->low, plot->panels[i]->high,
                        rows / plot->panel_count / 4 + 1);
    for (size_t i = 0; i < plot->panel_count; i++)
        needed += screen_legend(&screen, plot->panels[i], &values[i], false);
    const size_t least = needed + PANEL_ROWS_LEAST * plot->panel_count;
    if (rows < least)
        return error_set(error, -ENOSPC, "%u lines are too few for %zu panels: %zu would do (--size)", rows,
                         plot->panel_count, least);
    place_axes(&screen, plot, values);
    screen_begin_color(&screen, "1");
    (void)screen_add_cut(out, plot->command, screen.columns);
    screen_end_color(&screen, "1");
    strbuf_addc(out, '\n');
    write_outcome(&screen, plot);
    size_t left = rows - needed;
    for (size_t i = 0; code == 0 && i < plot->panel_count; i++) {
        const size_t height = left / (plot->panel_count - i);
        (void)screen_legend(&screen, plot->panels[i], &values[i], true);
        code = screen_draw_panel(&screen, plot->panels[i], &values[i], height);
        left -= height;
    }
    screen_write_events(&screen, plot);
    screen_write_time(&screen);
    if (terminal->ascii)
        screen_to_ascii(out, begin);
    return code < 0 || out->failed ? -ENOMEM : 0;
}
