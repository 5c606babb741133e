/*
 * The order of a listing, and runs folded into groups: rows with the same value are brought together by
 * sorting, then neighbours are folded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/list/listing.h"

static int order_of(double a, double b)
{
    return (a > b) - (a < b);
}

/* Both are there. */
static int compare_cells(const struct listing_cell *a, const struct listing_cell *b)
{
    bool a_number = a->kind == FIELD_NUMBER || a->kind == FIELD_BOOLEAN;
    bool b_number = b->kind == FIELD_NUMBER || b->kind == FIELD_BOOLEAN;

    if (a_number != b_number)
        return a_number ? -1 : 1;
    return a_number ? order_of(a->number, b->number) : strcmp(a->text, b->text);
}

struct order {
    const struct run_listing *listing;
    const size_t *columns; /* the first decides, among equals the next; behind all of them the start */
    size_t count;
    bool reverse;
};

static int by_start(const struct listing_row *a, const struct listing_row *b, bool reverse)
{
    if ((a->start_wall > 0) != (b->start_wall > 0))
        return a->start_wall > 0 ? -1 : 1;
    int order = order_of(a->start_wall, b->start_wall);
    if (order == 0)
        order = strcmp(a->path, b->path);
    return reverse ? -order : order;
}

/* 0: by this column they are equal. */
static int by_column(const struct order *order, size_t index, const struct listing_row *a,
                     const struct listing_row *b)
{
    const struct listing_column *column = &order->listing->columns[index];

    /* Texts of instants are in many zones, and con-duct has numbers. */
    if (column->kind == COLUMN_START || (column->field && strcmp(column->field, "start_time") == 0))
        return a->start_wall > 0 && a->start_wall == b->start_wall ? 0 : by_start(a, b, order->reverse);
    if (column->kind == COLUMN_RUNS || column->kind == COLUMN_FAILED) {
        unsigned x = column->kind == COLUMN_RUNS ? a->runs : a->failed;
        unsigned y = column->kind == COLUMN_RUNS ? b->runs : b->failed;
        return x == y ? 0 : (x < y) != order->reverse ? -1 : 1;
    }
    const struct listing_cell *x = &a->cells[index], *y = &b->cells[index];
    if (x->there != y->there)
        return x->there ? -1 : 1;
    int compared = x->there ? compare_cells(x, y) : 0;
    return order->reverse ? -compared : compared;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    const struct listing_row *a = *(struct listing_row *const *)left,
                             *b = *(struct listing_row *const *)right;

    for (size_t i = 0; i < order->count; i++) {
        int compared = by_column(order, order->columns[i], a, b);
        if (compared != 0)
            return compared;
    }
    return by_start(a, b, order->reverse);
}

/* Letters then go down a table in their order. */
static void number_methods(struct run_listing *listing, size_t index)
{
    struct listing_column *column = &listing->columns[index];
    struct listing_method methods[LISTING_METHODS_MAX] = {0};
    uint32_t seen = 0, bits;
    size_t place[LISTING_METHODS_MAX], next = 0;

    for (size_t i = 0; i <= listing->count; i++) /* those that no row has any more come last */
        for (size_t j = 0; j < column->method_count; j++) {
            bits = i < listing->count ? listing->rows[i]->cells[index].methods : UINT32_MAX;
            if (!(bits & ~seen & (UINT32_C(1) << j)))
                continue;
            seen |= UINT32_C(1) << j;
            methods[next] = column->methods[j];
            place[j] = next++;
        }
    memcpy(column->methods, methods, next * sizeof(methods[0]));
    for (size_t i = 0; i < listing->count; i++) {
        struct listing_cell *cell = &listing->rows[i]->cells[index];
        bits = 0;
        for (size_t j = 0; j < next; j++)
            if (cell->methods & (UINT32_C(1) << j))
                bits |= UINT32_C(1) << place[j];
        cell->methods = bits;
    }
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void run_listing_sort(struct run_listing *listing, const size_t *columns, size_t count, bool reverse)
{
    struct order order = {.listing = listing, .columns = columns, .count = count, .reverse = reverse};

    if (listing->id_count > 1)
        qsort(listing->ids, listing->id_count, sizeof(*listing->ids), compare_ids);
    if (listing->count > 1)
        qsort_r(listing->rows, listing->count, sizeof(*listing->rows), compare_rows, &order);
    for (size_t i = 0; i < listing->column_count; i++)
        if (listing->columns[i].method_count > 1)
            number_methods(listing, i);
}

static bool is_replaced(enum listing_fold fold, const struct listing_cell *best,
                        const struct listing_cell *next)
{
    switch (fold) {
    case FOLD_MAX:
        return compare_cells(next, best) > 0;
    case FOLD_MIN:
        return compare_cells(next, best) < 0;
    case FOLD_WORST:
        return fabs(next->number) > fabs(best->number);
    default:
        return false;
    }
}

static bool is_number(const struct listing_cell *cell)
{
    return cell->kind == FIELD_NUMBER;
}

/* One more run's cell into the group's. */
static void fold_cell(const struct listing_column *column, struct listing_cell *group,
                      const struct listing_cell *next)
{
    unsigned with_value = group->with_value + next->with_value;
    uint32_t methods = group->methods | next->methods;
    uint8_t bound = group->bound | next->bound;

    if (!next->there)
        return;
    bool is_first = group->with_value == 0;
    bool is_shared = column->fold == FOLD_SHARED || column->fold == FOLD_SUM;

    if (!is_first && !group->there)
        return; /* they differ already */
    if (is_first || (!is_shared && is_replaced(column->fold, group, next))) {
        *group = *next;
    } else if (column->fold == FOLD_SUM && is_number(group) && is_number(next)) {
        group->number += next->number;
        group->note = group->note == next->note ? group->note : NULL;
    } else if (is_shared) {
        group->there = compare_cells(group, next) == 0;
    }
    group->with_value = with_value;
    group->methods = methods;
    group->bound = bound;
}

/* What a fold over runs says of those that have no value, and of those that go on. */
static int finish_cell(struct run_listing *listing, struct listing_column *column, struct listing_cell *cell,
                       const struct listing_row *row)
{
    bool grows = column->fold == FOLD_SUM || column->fold == FOLD_MAX;
    bool is_missing = cell->with_value < row->runs;

    if (!cell->there || !is_number(cell) || column->fold == FOLD_SHARED ||
        (!is_missing && !(grows && row->running > 0)))
        return 0;
    if (grows)
        cell->bound |= BOUND_LOWER;
    else if (column->fold == FOLD_MIN)
        cell->bound |= BOUND_UPPER;
    cell->note = is_missing ? arena_printf(&listing->arena, "of %u of %u runs; the others have none",
                                           cell->with_value, row->runs)
                            : "so far; some of the runs go on";
    column->has_notes = true;
    column->has_bounds = column->has_bounds || cell->bound != BOUND_NONE;
    return cell->note ? 0 : -ENOMEM;
}

static void fold_row(const struct run_listing *listing, struct listing_row *group,
                     const struct listing_row *next)
{
    bool earlier = next->start_wall > 0 && (group->start_wall <= 0 || next->start_wall < group->start_wall);

    for (size_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        bool start = column->field && strcmp(column->field, "start_time") == 0 && column->fold == FOLD_MIN;
        if (start && (earlier || !group->cells[i].there))
            group->cells[i] = next->cells[i];
        else if (!start)
            fold_cell(column, &group->cells[i], &next->cells[i]);
    }
    group->runs += next->runs;
    group->failed += next->failed;
    group->oom += next->oom;
    group->out_of_time += next->out_of_time;
    group->lost += next->lost;
    group->running += next->running;
    if (earlier)
        group->start_wall = next->start_wall;
    group->status = group->lost ? RECORDING_LOST : group->running ? RECORDING_RUNNING : RECORDING_ENDED;
}

static bool same_group(const struct listing_cell *a, const struct listing_cell *b)
{
    return a->there == b->there && (!a->there || compare_cells(a, b) == 0);
}

int run_listing_group(struct run_listing *listing, size_t column)
{
    size_t groups = 0;

    run_listing_sort(listing, &column, 1, false);
    listing->grouped = true;
    for (size_t i = 0; i < listing->count; i++) {
        struct listing_row *row = listing->rows[i];
        if (groups > 0 && same_group(&listing->rows[groups - 1]->cells[column], &row->cells[column]))
            fold_row(listing, listing->rows[groups - 1], row);
        else
            listing->rows[groups++] = row;
    }
    listing->count = groups;
    for (size_t i = 0; i < groups; i++) {
        struct listing_row *row = listing->rows[i];
        for (size_t j = 0; j < listing->column_count; j++)
            if (finish_cell(listing, &listing->columns[j], &row->cells[j], row) < 0)
                return -ENOMEM;
    }
    return 0;
}
