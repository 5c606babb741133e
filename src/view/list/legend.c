#include "view/list/legend.h"

#include <string.h>

#include "base/text.h"
#include "view/colors.h"
#include "view/text_width.h"
#include "view/wrap.h"

#define WIDTH_MAX 100 /* longer lines are hard to read */
#define WIDTH_MIN 60  /* on a narrower screen a line is broken, not cut to nothing */

bool run_table_has_methods(const struct listing_column *column)
{
    return column->method_count > 0 && strcmp(column->field, "wall") != 0;
}

static void add_text(struct strbuf *out, const char *text)
{
    text_printable(out, text, strlen(text));
}

/* How much of a note a legend tells. */
static size_t short_length(const char *note)
{
    return strcspn(note, ";:");
}

static bool is_told(const struct listing_method *method, size_t index)
{
    size_t length = short_length(method->notes[index]);

    for (size_t i = 0; i < index; i++)
        if (short_length(method->notes[i]) == length &&
            strncmp(method->notes[i], method->notes[index], length) == 0)
            return true;
    return false;
}

static void add_notes(struct strbuf *out, const struct listing_method *method, const char *before,
                      const char *behind)
{
    for (size_t i = 0; i < method->note_count; i++) {
        if (is_told(method, i))
            continue;
        strbuf_adds(out, i == 0 ? before : ", or ");
        strbuf_adds(out, i == 0 && method->without_note ? "some: " : "");
        text_printable(out, method->notes[i], short_length(method->notes[i]));
    }
    if (method->note_count > 0)
        strbuf_addf(out, "%s%s", method->note_count == LISTING_NOTES_MAX ? ", …" : "", behind);
}

/* Two columns of one field (its largest, its sum) have the same methods. */
static bool is_told_before(const struct run_listing *listing, const bool *shown, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const struct listing_column *column = &listing->columns[i];
        if (shown[i] && column->field && strcmp(column->field, listing->columns[index].field) == 0)
            return true;
    }
    return false;
}

static const char *title_of(const struct listing_column *column)
{
    return column->title ? column->title : column->name;
}

/* One line, cut if it has to be. */
static void add_line(struct strbuf *out, struct strbuf *line, size_t width)
{
    (void)text_fit_tail(out, strbuf_text(line), line->length, width, 0);
    strbuf_addc(out, '\n');
    out->failed = out->failed || line->failed;
    strbuf_reset(line);
}

/* One method goes with others into one line; of several each has a line and its letter. */
static void add_column(struct strbuf *single, struct strbuf *several, const struct listing_column *column,
                       size_t width)
{
    size_t count = run_table_has_methods(column) ? column->method_count : 0;
    struct strbuf line = STRBUF_INIT;

    if (count == 1) {
        strbuf_adds(single, single->length ? "; " : "");
        add_text(single, title_of(column));
        strbuf_adds(single, ": ");
        add_text(single, column->methods[0].source);
        add_notes(single, &column->methods[0], " (", ")");
    }
    for (size_t i = 0; count > 1 && i < count; i++) {
        add_text(&line, title_of(column));
        strbuf_addf(&line, " %c: ", (char)('a' + i));
        add_text(&line, column->methods[i].source);
        add_notes(&line, &column->methods[i], " (", ")");
        add_line(several, &line, width);
    }
    if (column->unsourced.note_count > 0) {
        add_text(&line, title_of(column));
        add_notes(&line, &column->unsourced, ": ", "");
        add_line(several, &line, width);
    }
    strbuf_fini(&line);
}

/* "ID: the folder of a run elsewhere comes before it: results/094cf" */
static void add_elsewhere(struct strbuf *out, const struct run_listing *listing, const bool *shown)
{
    const struct listing_row *row = listing->elsewhere;
    struct strbuf name = STRBUF_INIT, quoted = STRBUF_INIT;
    char id[RECORDING_ID_SIZE];
    bool has_id = false;

    for (size_t i = 0; i < listing->column_count; i++)
        has_id |= shown[i] && listing->columns[i].kind == COLUMN_ID;
    const char *slash = row && has_id ? strrchr(row->path, '/') : NULL;
    if (!slash)
        return;
    const char *path = row->path;
    for (; strncmp(path, "./", 2) == 0 && path + 2 < slash; path += 2)
        ;
    strbuf_add(&name, path, (size_t)(slash + 1 - path));
    strbuf_addf(&name, "%.*s", (int)run_listing_id_digits(listing, row->id), recording_id_text(row->id, id));
    text_shell_quote(&quoted, strbuf_text(&name));
    strbuf_adds(out, "ID: the folder of a run elsewhere comes before it: ");
    text_printable(out, strbuf_text(&quoted), quoted.length);
    strbuf_addc(out, '\n');
    strbuf_fini_part(&name, out);
    strbuf_fini_part(&quoted, out);
}

/* "no room for PROCS, SUM MEMORY" */
static void add_left_out(struct strbuf *out, const struct run_listing *listing, const bool *shown)
{
    bool any = false;

    for (size_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        if (shown[i] || column->hidden)
            continue;
        strbuf_adds(out, any ? ", " : "no room for ");
        strbuf_addf(out, "%s%s", column->over ? column->over : "", column->over ? " " : "");
        add_text(out, title_of(column));
        any = true;
    }
    strbuf_adds(out, any ? "\n" : "");
}

void run_table_legend(struct strbuf *out, const struct run_listing *listing,
                      const struct table_legend *legend)
{
    struct strbuf single = STRBUF_INIT, lines = STRBUF_INIT, wrapped = STRBUF_INIT;
    size_t width = legend->width && legend->width < WIDTH_MAX ? legend->width : WIDTH_MAX;

    for (size_t i = 0; i < listing->column_count; i++)
        if (legend->shown[i] && listing->columns[i].field && !is_told_before(listing, legend->shown, i))
            add_column(&single, &lines, &listing->columns[i], width > WIDTH_MIN ? width : WIDTH_MIN);
    /* Those that do not fit into one line have one each. */
    bool apart = single.data && text_width(strbuf_text(&single), single.length) > width;
    for (char *next; apart && (next = strstr(single.data, "; ")) != NULL;) {
        memmove(next, next + 1, strlen(next)); /* with its end */
        next[0] = '\n';
    }
    if (single.length > 0)
        strbuf_addf(&lines, "%s\n", strbuf_text(&single));
    if (legend->counted)
        strbuf_adds(&lines, "×: of how many runs\n");
    add_elsewhere(&lines, listing, legend->shown);
    add_left_out(&lines, listing, legend->shown);
    if (lines.length > 0) {
        wrap_lines(&wrapped, strbuf_text(&lines), 2, width);
        size_t length = wrapped.length > 0 ? wrapped.length - 1 : 0; /* the newline comes after the colour */
        strbuf_adds(out, legend->colors ? "\n" COLOR_DIM : "\n");
        strbuf_add(out, strbuf_text(&wrapped), length);
        strbuf_adds(out, legend->colors ? COLOR_END "\n" : "\n");
    }
    strbuf_fini_part(&single, out);
    strbuf_fini_part(&lines, out);
    strbuf_fini_part(&wrapped, out);
}
