/* The legend above a panel on a terminal, and what lines look like there: their colours, signs and letters.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "view/plot/screen.h"

const char *screen_line_color(unsigned index)
{
    static const char *const colors[PLOT_COLOR_COUNT] = {"36", "32", "33", "35", "34", "31", "37"};

    return colors[index % PLOT_COLOR_COUNT];
}

const char *screen_level_color(enum plot_level_kind kind)
{
    static const char *const colors[] = {[PLOT_LIMIT] = "31", [PLOT_HOST] = "90", [PLOT_PEAK] = "1"};

    return colors[kind];
}

static bool shows(const struct screen *screen, enum plot_role role)
{
    return screen->colors || role == PLOT_MAIN || role == PLOT_BESIDE;
}

bool screen_shows_line(const struct screen *screen, const struct plot_line *line)
{
    return line->banded || shows(screen, line->role);
}

static size_t count_mains(const struct plot_panel *panel)
{
    size_t count = 0;

    for (size_t i = 0; i < panel->line_count; i++)
        count += panel->lines[i].role == PLOT_MAIN;
    return count;
}

char screen_letter(const struct plot_panel *panel, const struct plot_line *line)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t index = 0;

    if (line->role != PLOT_MAIN || count_mains(panel) < 2)
        return '\0';
    for (const struct plot_line *other = panel->lines; other < line; other++)
        index += other->role == PLOT_MAIN;
    return index < sizeof(letters) - 1 ? letters[index] : '\0';
}

char screen_ascii_line(enum plot_role role, bool banded)
{
    static const char signs[] = {
        [PLOT_MAIN] = '*', [PLOT_BESIDE] = 'o', [PLOT_MEAN] = '-', [PLOT_SUBJECT] = '.'};
    return banded && role == PLOT_MEAN ? '*' : banded ? '-' : signs[role];
}

void screen_legend_entry(struct screen_legend *legend, const char *color, const char *sign, const char *text)
{
    const struct screen *screen = legend->screen;
    const size_t width = screen_columns_of(sign) + 1 + screen_columns_of(text);
    size_t columns = screen->columns - (legend->rows == SCREEN_LEGEND_ROWS ? legend->kept : 0);

    if (legend->left_out > 0 || (legend->column > 0 && legend->column + 2 + width > columns)) {
        if (legend->rows == SCREEN_LEGEND_ROWS) {
            legend->left_out++;
            return;
        }
        legend->rows++;
        legend->column = 0;
        columns = screen->columns - (legend->rows == SCREEN_LEGEND_ROWS ? legend->kept : 0);
        if (legend->draw)
            strbuf_addc(screen->out, '\n');
    }
    const size_t gap = legend->column > 0 ? 2 : 0;
    const size_t room = columns - legend->column - gap;
    if (legend->draw) {
        screen_add_blanks(screen->out, gap);
        screen_add_colored(screen, color, sign);
        strbuf_addc(screen->out, ' ');
        (void)screen_add_cut(screen->out, text, room - screen_columns_of(sign) - 1);
    }
    legend->column += gap + (width < room ? width : room);
}

void screen_legend_end(const struct screen_legend *legend)
{
    if (legend->draw && legend->left_out > 0)
        strbuf_addf(legend->screen->out, " +%zu", legend->left_out);
    if (legend->draw)
        strbuf_addc(legend->screen->out, '\n');
}

#define SIGN_SIZE 16

/* A piece of the line: "⠶⠶"; of one with a letter "⠶a". */
static const char *sign_of(const struct screen *screen, enum plot_role role, bool banded, char letter,
                           char out[SIGN_SIZE])
{
    static const char *const signs[] = {
        [PLOT_MAIN] = "⠶⠶", [PLOT_BESIDE] = "⠒⠂", [PLOT_MEAN] = "⠒⠒", [PLOT_SUBJECT] = "⠂⠂"};
    const char piece = screen_ascii_line(role, banded);
    const char *sign = !banded ? signs[role] : role == PLOT_MEAN ? "⠶⠶" : "⡏⠉";

    if (screen->ascii)
        (void)snprintf(out, SIGN_SIZE, "%c%c", piece, letter ? letter : piece);
    else if (letter)
        (void)snprintf(out, SIGN_SIZE, "%.3s%c", sign, letter); /* a braille pattern has three bytes */
    else
        (void)snprintf(out, SIGN_SIZE, "%s", sign);
    return out;
}

static void legend_title(struct screen_legend *legend, const struct plot_panel *panel,
                         const struct plot_scale *values)
{
    char title[PLOT_TITLE_SIZE], text[2 * PLOT_TITLE_SIZE];
    struct strbuf shown = STRBUF_INIT;

    (void)snprintf(text, sizeof(text), "%s%s%s", plot_panel_title(panel, values->unit, title),
                   panel->note ? ", " : "", panel->note ? panel->note : "");
    legend->column = screen_add_cut(&shown, text, legend->screen->columns);
    if (legend->draw) {
        screen_add_colored(legend->screen, "1", strbuf_text(&shown));
    }
    strbuf_fini_part(&shown, legend->screen->out);
}

/* Lines that have letters should all be named: each gets its share of the rows. */
static size_t most_of_label(const struct screen *screen, const struct plot_panel *panel)
{
    const size_t mains = count_mains(panel);
    const size_t beside = mains < 2 ? 1 : mains < (size_t)2 * SCREEN_LEGEND_ROWS ? 2 : 3;

    return (screen->columns - (beside > 1 ? SCREEN_LEGEND_MORE : 0)) / beside - (beside > 1 ? 5 : 0);
}

static void legend_lines(struct screen_legend *legend, const struct plot_panel *panel, enum plot_role role)
{
    const struct screen *screen = legend->screen;
    const size_t most = most_of_label(screen, panel);
    struct strbuf label = STRBUF_INIT;
    char sign[SIGN_SIZE];

    for (size_t i = 0; i < panel->line_count; i++) {
        const struct plot_line *line = &panel->lines[i];
        const char letter = screen_letter(panel, line);
        if (line->role != role || !line->label || !screen_shows_line(screen, line) ||
            (line->banded && role == PLOT_MEAN))
            continue;
        strbuf_reset(&label);
        (void)screen_add_cut(&label, line->label, letter ? most : SIZE_MAX);
        screen_legend_entry(legend, screen_line_color(line->color),
                            sign_of(screen, role, line->banded, letter, sign), strbuf_text(&label));
        screen->out->failed = screen->out->failed || label.failed;
        if (line->banded)
            screen_legend_entry(legend, screen_line_color(line->color),
                                sign_of(screen, PLOT_MEAN, true, '\0', sign), line->mean->label);
    }
    strbuf_fini(&label);
}

/* The most important first: what comes last may find no room. */
static void fill_legend(struct screen_legend *legend, const struct plot_panel *panel,
                        const struct plot_scale *values)
{
    char text[192], sign[SIGN_SIZE];

    legend_title(legend, panel, values);
    legend_lines(legend, panel, PLOT_MAIN);
    legend_lines(legend, panel, PLOT_BESIDE);
    for (size_t i = 0; i < panel->level_count; i++) {
        const struct plot_level *level = &panel->levels[i];
        (void)snprintf(text, sizeof(text), "%s%s", level->label, level->off_scale ? " (off scale)" : "");
        screen_legend_entry(legend, screen_level_color(level->kind),
                            level->off_scale           ? "↑"
                            : level->kind == PLOT_PEAK ? "┈┈"
                                                       : "╌╌",
                            text);
    }
    legend_lines(legend, panel, PLOT_MEAN);
    for (size_t i = 0; i < panel->group_count; i++)
        if (panel->groups[i].label && shows(legend->screen, PLOT_SUBJECT))
            screen_legend_entry(legend, screen_line_color(panel->groups[i].color),
                                sign_of(legend->screen, PLOT_SUBJECT, false, '\0', sign),
                                panel->groups[i].label);
}

size_t screen_legend(const struct screen *screen, const struct plot_panel *panel,
                     const struct plot_scale *values, bool draw)
{
    struct screen_legend trial = {.screen = screen, .rows = 1};

    fill_legend(&trial, panel, values);
    if (draw) {
        struct screen_legend legend = {
            .screen = screen, .draw = true, .rows = 1, .kept = trial.left_out ? SCREEN_LEGEND_MORE : 0};
        fill_legend(&legend, panel, values);
        screen_legend_end(&legend);
    }
    return trial.rows;
}
