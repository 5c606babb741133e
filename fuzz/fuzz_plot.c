/* A run of any bytes, drawn on a terminal: what is usually drawn, and every key. No more lines and columns
 * than there are. */
#include "made_run.h"
#include "view/plot/plot.h"
#include "view/plot/terminal.h"
#include "view/text_width.h"

static void check_size(const struct strbuf *text, const struct plot_terminal *terminal)
{
    const char *line = strbuf_text(text), *end = line + text->length;
    unsigned rows = 0;

    for (const char *newline; line < end; line = newline + 1, rows++) {
        newline = memchr(line, '\n', (size_t)(end - line));
        check(newline != NULL);
        check(text_width(line, (size_t)(newline - line)) <= terminal->columns);
    }
    check(rows <= terminal->rows);
}

static void check_plot(const struct recording *recording, const struct plot_wish *wish,
                       const struct plot_terminal *terminal)
{
    struct plot plot = {0};
    struct strbuf text = STRBUF_INIT;
    struct metron_error error = {0};

    if (plot_init(&plot, recording, wish, &error) == 0 && plot_read(&plot, &error) == 0) {
        check(plot_finish(&plot) == 0);
        if (plot_terminal_draw(&plot, terminal, &text, &error) == 0) {
            check_shown(strbuf_text(&text), text.length);
            check_size(&text, terminal);
        }
        (void)plot_advice(&plot, &error);
        (void)plot_damage(&plot, 0, &error);
    } else {
        check(error.message[0] != '\0');
    }
    plot_fini(&plot);
    strbuf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct plot_terminal terminal = {
        .columns = 30 + (unsigned)(size % 120), .rows = 10 + (unsigned)(size % 50), .ascii = size % 3 == 0};
    const struct plot_wish usual = {0}, all = {.keys = "*"};
    struct made_run run;

    if (!made_run_open(&run, data, size))
        return 0;
    check_plot(&run.recording, &usual, &terminal);
    check_plot(&run.recording, &all, &terminal);
    made_run_close(&run);
    return 0;
}
