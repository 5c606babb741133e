/*
 * A listing as a table for people: human units, numbers to the right, texts cut to the width of the screen,
 * and below it by which method each number was got. Where a column has several, each value carries a letter.
 */
#ifndef METRON_VIEW_LIST_TABLE_H
#define METRON_VIEW_LIST_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/list/listing.h"

/* `width` 0: as wide as it gets. */
void run_table_write(struct strbuf *out, const struct run_listing *listing, size_t width, bool colors);

#endif
