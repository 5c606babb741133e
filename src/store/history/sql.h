/*
 * SQL over the columns that snapshots keep (schema/columns.h), written once for all of them.
 *
 * In a template, {P…} stands for what is between its braces once for each column of a process, {M…} for each
 * of the machine, {D…} for each of a device; {p…} and {m…} for those of them that have a mean. There $s is
 * the column's name in the tables, $t its type there, $n its name in the views and $d what divides the stored
 * value to give that of the views. So "INSERT INTO samples(id{P, $s}) VALUES(?{P, ?})" names every column and
 * a place for each.
 */
#ifndef METRON_STORE_HISTORY_SQL_H
#define METRON_STORE_HISTORY_SQL_H

#include "base/strbuf.h"
#include "schema/columns.h"

/* Appends the text that the template stands for; without columns, the template. */
void sql_expand(struct strbuf *out, const char *template, const struct snapshot_columns *columns);

/* How many columns of a list have a mean. */
unsigned columns_with_mean(const struct columns *columns);

#endif
