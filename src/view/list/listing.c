#include "view/list/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

void run_listing_init(struct run_listing *listing)
{
    *listing = (struct run_listing){0};
}

void run_listing_fini(struct run_listing *listing)
{
    arena_fini(&listing->arena);
    free(listing->columns);
    free(listing->rows);
    free(listing->ids);
    *listing = (struct run_listing){0};
}

int run_listing_add_column(struct run_listing *listing, struct listing_column column)
{
    if (ARRAY_RESERVE(listing->columns, listing->column_capacity, listing->column_count + 1) < 0)
        return -ENOMEM;
    listing->columns[listing->column_count++] = column;
    return 0;
}

/* The same note of thousands of runs is kept once. NULL: for want of memory. */
static const char *keep_note(struct run_listing *listing, struct listing_method *method, const char *note)
{
    for (size_t i = 0; i < method->note_count; i++)
        if (strcmp(method->notes[i], note) == 0)
            return method->notes[i];
    note = arena_strdup(&listing->arena, note);
    if (note && method->note_count < LISTING_NOTES_MAX)
        method->notes[method->note_count++] = note;
    return note;
}

/* More methods than there are letters end up under the last one, which then says so. */
static struct listing_method *find_method(struct run_listing *listing, struct listing_column *column,
                                          const char *source)
{
    for (size_t i = 0; i < column->method_count; i++)
        if (strcmp(column->methods[i].source, source) == 0)
            return &column->methods[i];
    if (column->method_count == LISTING_METHODS_MAX) {
        column->methods[LISTING_METHODS_MAX - 1].source = "other methods";
        return &column->methods[LISTING_METHODS_MAX - 1];
    }
    source = arena_strdup(&listing->arena, source);
    if (!source)
        return NULL;
    column->methods[column->method_count].source = source;
    return &column->methods[column->method_count++];
}

/* Cuts a text to the column's limit, between characters. */
static const char *keep_text(struct run_listing *listing, const struct listing_column *column,
                             const char *text)
{
    size_t length = column->limit ? text_cut(text, column->limit) : strlen(text);

    return text[length] ? arena_printf(&listing->arena, "%.*s…", (int)length, text)
                        : arena_strdup(&listing->arena, text);
}

static int fill_method(struct run_listing *listing, struct listing_column *column, struct listing_cell *cell,
                       const struct recorded_field *field)
{
    struct listing_method *method =
        field->source ? find_method(listing, column, field->source) : &column->unsourced;

    if (!method)
        return -ENOMEM;
    if (field->source)
        cell->methods = UINT32_C(1) << (unsigned)(method - column->methods);
    method->without_note = method->without_note || !field->note;
    cell->bound = (uint8_t)field->bound;
    column->has_bounds = column->has_bounds || cell->bound != BOUND_NONE;
    if (field->note) {
        cell->note = keep_note(listing, method, field->note);
        column->has_notes = true;
        if (!cell->note)
            return -ENOMEM;
    }
    return 0;
}

static int fill_cell(struct run_listing *listing, struct listing_column *column, struct listing_cell *cell,
                     const struct recording *recording)
{
    const struct recorded_field *field = column->field ? recording_field(recording, column->field) : NULL;

    if (!field)
        return 0;
    cell->there = true;
    cell->kind = (uint8_t)field->kind;
    cell->unit = (uint8_t)field->unit;
    cell->number = field->number;
    cell->with_value = 1;
    if (field->kind == FIELD_TEXT || field->kind == FIELD_JSON) {
        cell->text = keep_text(listing, column, field->text);
        if (!cell->text)
            return -ENOMEM;
    }
    return fill_method(listing, column, cell, field);
}

static int push_row(struct run_listing *listing, struct listing_row *row)
{
    if (ARRAY_RESERVE(listing->rows, listing->capacity, listing->count + 1) < 0)
        return -ENOMEM;
    listing->rows[listing->count++] = row;
    return 0;
}

static bool met_oom_killer(const struct recording *recording)
{
    double kills;

    if (recording_field(recording, "outcome.kind"))
        return recording_met_oom_killer(recording);
    return recording_number(recording, "cgroup_oom_kills", &kills) && kills > 0;
}

int run_listing_add(struct run_listing *listing, const struct recording *recording, const char *text)
{
    struct listing_row *row = arena_alloc(&listing->arena, sizeof(*row));
    double exit_code = 0;

    if (!row)
        return -ENOMEM;
    row->cells = arena_alloc(&listing->arena, listing->column_count * sizeof(*row->cells));
    row->path = arena_strdup(&listing->arena, recording->path);
    row->text = text ? arena_strdup(&listing->arena, text) : NULL;
    if (!row->cells || !row->path || (text && !row->text))
        return -ENOMEM;
    row->id = recording->id;
    row->start_wall = recording->start_wall;
    row->status = recording->status;
    row->runs = 1;
    row->lost = recording->status == RECORDING_LOST;
    row->running = recording->status == RECORDING_RUNNING;
    row->failed = recording_number(recording, "exit_code", &exit_code) && exit_code != 0;
    row->oom = met_oom_killer(recording);
    row->out_of_time = recording_met_time_limit(recording);
    for (size_t i = 0; i < listing->column_count; i++) {
        int code = fill_cell(listing, &listing->columns[i], &row->cells[i], recording);
        if (code < 0)
            return code;
    }
    return push_row(listing, row);
}

int run_listing_note_id(struct run_listing *listing, uint64_t id)
{
    if (ARRAY_RESERVE(listing->ids, listing->id_capacity, listing->id_count + 1) < 0)
        return -ENOMEM;
    listing->ids[listing->id_count++] = id;
    return 0;
}

/* How many digits two ids have in common; a copy of a run has all of them, and nothing tells it apart. */
static size_t shared_digits(uint64_t a, uint64_t b)
{
    size_t digits = RECORDING_ID_DIGITS;

    for (uint64_t differs = a ^ b; differs; differs >>= 4)
        digits--;
    return digits;
}

size_t run_listing_id_digits(const struct run_listing *listing, uint64_t id)
{
    size_t low = 0, high = listing->id_count, digits = LISTING_ID_LEAST;

    while (low < high) { /* the first that is not smaller */
        size_t middle = low + (high - low) / 2;
        if (listing->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < listing->id_count && listing->ids[high] == id)
        high++;
    if (low > 0 && shared_digits(listing->ids[low - 1], id) >= digits)
        digits = shared_digits(listing->ids[low - 1], id) + 1;
    if (high < listing->id_count && shared_digits(listing->ids[high], id) >= digits)
        digits = shared_digits(listing->ids[high], id) + 1;
    return digits;
}

ptrdiff_t run_listing_column(const struct run_listing *listing, const char *name)
{
    for (size_t i = 0; i < listing->column_count; i++)
        if (strcmp(listing->columns[i].name, name) == 0)
            return (ptrdiff_t)i;
    for (size_t i = 0; i < listing->column_count; i++)
        if (listing->columns[i].field && strcmp(listing->columns[i].field, name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

char *listing_cell_source(const struct listing_column *column, const struct listing_cell *cell,
                          char out[LISTING_SOURCE_SIZE])
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < column->method_count && used < LISTING_SOURCE_SIZE; i++) {
        if (!(cell->methods & (UINT32_C(1) << i)))
            continue;
        int added = snprintf(out + used, LISTING_SOURCE_SIZE - used, "%s%s", used ? "+" : "",
                             column->methods[i].source);
        used += added > 0 ? (size_t)added : 0;
    }
    return out;
}
