/*
 * SQL over the columns that snapshots keep (schema/columns.h), written once for all of them.
 *
 * In a template, {P…} stands for what is between its braces once for each column of a process, {M…} for each
 * of the machine, {D…} for each of a device; {p…} and {m…} for those of them that have a mean; {U…} for each
 * value of what a job has used (schema/job.h). There $s is the column's name in the tables, $t its type
 * there, $n its name in the views and $d what divides the stored value to give that of the views. So "INSERT
 * INTO samples(id{P, $s}) VALUES(?{P, ?})" names every column and a place for each.
 */
#ifndef METRON_STORE_HISTORY_SQL_H
#define METRON_STORE_HISTORY_SQL_H

#include "base/strbuf.h"
#include "schema/columns.h"
#include "schema/job.h"

/* Appends the text that the template stands for; without columns only {U…} is expanded. */
void sql_expand(struct strbuf *out, const char *template, const struct snapshot_columns *columns);

/* The type of a column in the tables. */
const char *column_type(const struct measurement *measurement);
const char *usage_type(const struct job_usage_column *column);

/* How many columns of a list have a mean. */
unsigned columns_with_mean(const struct columns *columns);

#endif
