#include "view/list/cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json_number.h"
#include "base/text.h"
#include "learn/quantile.h"
#include "view/colors.h"
#include "view/command_line.h"
#include "view/list/legend.h"

/* For want of memory the answer is yes: it costs three columns, not the truth. */
static bool any_share_a_minute(const struct run_listing *listing)
{
    double *minutes = malloc((listing->count + 1) * sizeof(*minutes));
    bool share = !minutes;
    size_t count = 0;

    for (size_t i = 0; minutes && i < listing->count; i++)
        if (listing->rows[i]->start_wall > 0)
            minutes[count++] = floor(listing->rows[i]->start_wall / 60);
    quantile_sort(minutes, count);
    for (size_t i = 1; minutes && i < count; i++)
        share = share || minutes[i] == minutes[i - 1];
    free(minutes);
    return share;
}

void run_cell_init(struct run_cell *cell, const struct run_listing *listing)
{
    struct tm tm;
    bool any = false;

    *cell = (struct run_cell){.listing = listing, .same_year = true};
    for (size_t i = 0; i < listing->count; i++) {
        const double start = listing->rows[i]->start_wall;
        if (start <= 0 || !clock_local(start, &tm))
            continue;
        if (any && tm.tm_year != cell->year)
            cell->same_year = false;
        cell->year = tm.tm_year;
        any = true;
    }
    cell->same_year = cell->same_year && any;
    cell->seconds = !listing->grouped && any_share_a_minute(listing);
}

void run_cell_fini(struct run_cell *cell)
{
    strbuf_fini(&cell->value);
    strbuf_fini(&cell->tag);
}

static void make_start(struct run_cell *out, const struct listing_row *row)
{
    static const char *const formats[2][2] = {{"%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"},
                                              {"%m-%d %H:%M", "%m-%d %H:%M:%S"}};
    char text[32] = "";

    if (row->start_wall > 0)
        (void)clock_local_text(row->start_wall, formats[out->same_year][out->seconds], text, sizeof(text));
    strbuf_adds(&out->value, text[0] ? text : "-");
}

static void add_count(struct run_cell *out, const struct listing_row *row, unsigned count)
{
    if (row->runs <= 1 || count == 0)
        return;
    strbuf_addf(&out->value, " ×%u", count);
    out->counted = true;
}

/* A run may end well although the OOM killer took one of its processes: that deserves to be seen. */
static void add_mark(struct run_cell *out, const struct listing_row *row, const char *word, unsigned count)
{
    if (!count)
        return;
    strbuf_addf(&out->value, "%s%s", row->runs > 1 ? ", " : " ", word);
    add_count(out, row, count);
    out->color = COLOR_RED;
}

/* The exit code; of one that has none, how it stands; of a group the worst, and of how many. */
static void make_outcome(struct run_cell *out, const struct listing_row *row, const struct listing_cell *cell)
{
    const char *word = row->lost ? "lost" : row->running ? "running" : NULL;
    char exact[JSON_NUMBER_SIZE];

    if (word && row->failed == 0) {
        strbuf_adds(&out->value, word);
        add_count(out, row, row->lost ? row->lost : row->running);
        out->color = row->lost ? COLOR_MAGENTA : COLOR_CYAN;
    } else if (cell->there) {
        strbuf_adds(&out->value, json_number_text(cell->number, exact));
        add_count(out, row, row->failed);
        out->color = cell->number == 0 ? COLOR_GREEN : COLOR_RED;
    } else {
        strbuf_addc(&out->value, '-');
    }
    add_mark(out, row, "oom", row->oom);
    add_mark(out, row, "time", row->out_of_time);
}

/* As it is pasted behind another command: short, and quoted where a shell wants it. */
static void make_prefix(struct run_cell *out, const struct listing_row *row)
{
    static const char suffix[] = "info.json";
    const char *folder = out->listing->folder, *path = row->path;
    struct strbuf name = STRBUF_INIT, quoted = STRBUF_INIT;
    size_t length = folder ? strlen(folder) : 0;

    if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
        path += length + 1;
    while (strncmp(path, "./", 2) == 0 && strcmp(path + 2, suffix) != 0)
        path += 2;
    strbuf_add(&name, path, strlen(path) - (text_ends_with(path, suffix) ? sizeof(suffix) - 1 : 0));
    if (name.length == 0) /* it lies right here */
        strbuf_adds(&name, suffix);
    text_shell_quote(&quoted, strbuf_text(&name));
    text_printable(&out->value, strbuf_text(&quoted), quoted.length);
    strbuf_fini_part(&name, &out->value);
    strbuf_fini_part(&quoted, &out->value);
}

static void make_number(struct run_cell *out, const struct listing_cell *cell)
{
    static const char *const signs[] = {"", "≥", "≤", "~"};
    char text[UNIT_TEXT_SIZE], exact[JSON_NUMBER_SIZE];

    strbuf_adds(&out->value, signs[cell->bound & 3]);
    /* A number without a unit may be anything, a process or a port: no digit of it is dropped. */
    strbuf_adds(&out->value, cell->unit == UNIT_NONE ? json_number_text(cell->number, exact)
                                                     : unit_human((enum unit)cell->unit, cell->number, text));
}

static void make_field(struct run_cell *out, const struct listing_column *column,
                       const struct listing_cell *cell)
{
    if (!cell->there) {
        strbuf_adds(&out->value, cell->with_value > 0 ? "(several)" : "-");
        return;
    }
    switch ((enum field_kind)cell->kind) {
    case FIELD_NUMBER:
        make_number(out, cell);
        break;
    case FIELD_BOOLEAN:
        strbuf_adds(&out->value, cell->number != 0 ? "true" : "false");
        break;
    case FIELD_TEXT:
    case FIELD_JSON:
        text_one_line(&out->value, cell->text, strlen(cell->text));
        break;
    }
    for (size_t i = 0; run_table_has_methods(column) && column->method_count > 1 && i < column->method_count;
         i++)
        if (cell->methods & (UINT32_C(1) << i))
            strbuf_addc(&out->tag, (char)('a' + i));
}

void run_cell_make(struct run_cell *out, const struct listing_row *row, size_t index)
{
    const struct listing_column *column = &out->listing->columns[index];
    const struct listing_cell *cell = &row->cells[index];

    strbuf_reset(&out->value);
    strbuf_reset(&out->tag);
    out->color = NULL;
    switch (column->kind) {
    case COLUMN_START:
        make_start(out, row);
        break;
    case COLUMN_OUTCOME:
        make_outcome(out, row, cell);
        break;
    case COLUMN_ID: {
        char id[RECORDING_ID_SIZE];
        strbuf_addf(&out->value, "%.*s", (int)run_listing_id_digits(out->listing, row->id),
                    recording_id_text(row->id, id));
        break;
    }
    case COLUMN_PREFIX:
        make_prefix(out, row);
        break;
    case COLUMN_RUNS:
        strbuf_addf(&out->value, "%u", row->runs);
        break;
    case COLUMN_FAILED:
        strbuf_addf(&out->value, "%u", row->failed);
        break;
    case COLUMN_FIELD:
        make_field(out, column, cell);
        break;
    }
}
